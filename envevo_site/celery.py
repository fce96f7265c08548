"""The Celery application. The database is the queue; messages only nudge (docs/architecture.md)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envevo_site.settings")

app = Celery("envevo")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
