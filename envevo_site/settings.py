"""Django settings; values come from `envevo_site.config`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF

from agents.models import Book
from envevo_site.config import BASE, CONFIG, load_book

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
    "axes",
    "lineages",
]
MIDDLEWARE = [
    "envevo_site.health.HealthMiddleware",
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
    "envevo_site.middleware.RoleMiddleware",
    "envevo_site.middleware.SlidingSessionMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",  # last: it answers for a login that is refused
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
                "lineages.roles.for_templates",
            ],
        },
    }
]

DATABASES: dict[str, Any] = {
    # Health checks: after a restart of the server a kept connection is replaced, not an error on a page.
    "default": dj_database_url.parse(CONFIG.database(), conn_max_age=60, conn_health_checks=True)
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # WAL alone loses most read-then-write transactions with four writers; IMMEDIATE loses none.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
else:  # a server that went without a word costs a page seconds, not the minutes of TCP
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 10)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesBackend", "django.contrib.auth.backends.ModelBackend"]
AXES_FAILURE_LIMIT = CONFIG.login_failures
AXES_COOLOFF_TIME = timedelta(minutes=CONFIG.login_lock_minutes)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # the pair: nobody locks another person out
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "envevo_site.errors.too_many_logins"
AXES_CLIENT_IP_CALLABLE = "envevo_site.logins.client_address"
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True  # it would keep a row of every sign-in for ever
AXES_VERBOSE = False
PROXY_HEADER = CONFIG.proxy_header
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
SESSION_COOKIE_AGE = int(CONFIG.session_hours * 3600)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
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
    },
    "pulse": {  # the other queue may be silent for hours, and its workers want to hear that they still hear
        "task": "envevo_site.pulse",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS, "queue": "agents"},
    },
}
PULSE = CONFIG.pulse
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "beat" / "schedule")
(VAR / "beat").mkdir(parents=True, exist_ok=True)  # beat does not make it

BLOBS = CONFIG.blobs or VAR / "blobs"
UPLOADS = BLOBS / "uploads"  # what all machines share; a blob's folder has two hexadecimal digits
UPLOADS.mkdir(parents=True, exist_ok=True)  # Django refuses to start without it
UPLOAD_MAX_BYTES = CONFIG.upload_max_mb * 1024 * 1024
FILE_UPLOAD_HANDLERS = ["lineages.growth.uploads.ToDisk"]
FILE_UPLOAD_TEMP_DIR = UPLOADS  # on the disk where an upload stays, so that keeping it is a rename
DATA_UPLOAD_MAX_NUMBER_FILES = None  # the handler takes one, and says what to do with many
SANDBOXES = VAR / "sandboxes"
SLOTS_FOLDER = VAR / "slots"
SLOTS = CONFIG.slots
DISK_FLOOR_MB = CONFIG.disk_floor_mb
IMAGES_MB = CONFIG.images_mb
COLLECT_HOURS = CONFIG.collect_hours
ORPHAN_HOURS = CONFIG.orphan_hours
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
MODELS: Book = load_book(CONFIG)
BUDGET_EVOLUTION = CONFIG.budget_evolution
BUDGET_LINEAGE = CONFIG.budget_lineage
BUDGET_DAY = CONFIG.budget_day

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"lineages": {"level": "INFO"}, "sandboxes": {"level": "INFO"}},
}
