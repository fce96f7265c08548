"""Floor 3: settings, addresses, the Celery application."""

from envevo_site.celery import app as celery_app

__all__ = ["celery_app"]
