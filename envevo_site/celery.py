"""The Celery application. The database is the queue; messages only nudge (docs/architecture.md)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envevo_site.settings")

app = Celery("envevo")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["consumer"].add("envevo_site.liveness:Hearing")  # by name: only a worker loads it


@app.task(name="envevo_site.pulse")
def pulse() -> None:
    """Does nothing; that it came is what counts (`liveness.Hearing`)."""
