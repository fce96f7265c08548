"""Django settings; values come from `envevo_site.config`."""

from __future__ import annotations

from typing import Any

import dj_database_url
from csp.constants import NONE, SELF

from envevo_site.config import BASE, CONFIG

VAR = CONFIG.var
SECRET_KEY = CONFIG.signing_key()
DEBUG = CONFIG.debug
ALLOWED_HOSTS = CONFIG.allowed_hosts
CSRF_TRUSTED_ORIGINS = CONFIG.csrf_trusted_origins

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "csp",
    "lineages",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "envevo_site.middleware.HtmxLoginMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "envevo_site.urls"
WSGI_APPLICATION = "envevo_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES: dict[str, Any] = {"default": dj_database_url.parse(CONFIG.database(), conn_max_age=60)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # WAL alone loses most read-then-write transactions with four writers; IMMEDIATE loses none.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "envevo_site.errors.csrf_failure"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = CONFIG.time_zone
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE / "static"]
STATIC_ROOT = VAR / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns about a folder that is not there
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = CONFIG.secure_cookies
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

CELERY_BROKER_URL = CONFIG.broker()
EMBEDDED_BROKER = None if CONFIG.redis_url else CONFIG.broker_socket()
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "agents"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A redelivered message costs one failed claim; the visibility timeout only bounds how late one may come.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 3,
    "socket_timeout": 10,
    "global_keyprefix": f"envevo-{CONFIG.instance_name()}-",
}
SWEEP_SECONDS = CONFIG.sweep_seconds
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "lineages.tasks.sweep",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS},
    }
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "beat" / "schedule")
(VAR / "beat").mkdir(parents=True, exist_ok=True)  # beat does not make it

BLOBS = CONFIG.blobs or VAR / "blobs"
SANDBOXES = VAR / "sandboxes"
SLOTS_FOLDER = VAR / "slots"
SLOTS = CONFIG.slots
SANDBOX_MEMORY_MB = CONFIG.sandbox_memory_mb
SANDBOX_CPUS = CONFIG.sandbox_cpus
INSTANCE = CONFIG.instance_name()
SANDBOX = CONFIG.sandbox
DOCKER_HOST = CONFIG.docker_host
UNTRUSTED_IN_BUBBLEWRAP = CONFIG.untrusted_in_bubblewrap
BUILD_NETWORK = CONFIG.build_network
LEASE_SECONDS = CONFIG.lease_seconds
LEASE_BEAT_SECONDS = CONFIG.lease_beat_seconds
FAULT_RETRIES = CONFIG.fault_retries
FAULT_BACKOFF_SECONDS = CONFIG.fault_backoff_seconds
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
SEEDS = BASE / "seeds"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"lineages": {"level": "INFO"}, "sandboxes": {"level": "INFO"}},
}
