"""Messages to workers. Losing one costs a sweep's period, doubling one a failed claim."""

from __future__ import annotations

import logging
import socket
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

AGENTS = "agents"
SANDBOXES = "sandboxes"
REDIS_PORT = 6379
KNOCK_SECONDS = 1.0


def send(task: str, row: int, *, queue: str, swept: bool = False) -> None:
    """Name a row to a worker, once this transaction is committed.

    A swept message is forgotten when the next sweep comes. A broker that does not answer is logged and
    otherwise no matter: the rows are the queue, and the sweep finds them.
    """
    expires = settings.SWEEP_SECONDS if swept else None
    transaction.on_commit(lambda: _send(f"lineages.tasks.{task}", row, queue, expires))


def _send(task: str, row: int, queue: str, expires: int | None) -> None:
    try:
        _knock()
        current_app.send_task(task, args=[row], queue=queue, expires=expires, retry=False)
    except (OperationalError, OSError) as problem:
        log.warning("the broker does not answer (%s); the sweep will find %s(%s)", problem, task, row)


def _knock() -> None:
    """Raises `OSError` at once when nothing listens: the Redis client would try for six seconds first."""
    if settings.EMBEDDED_BROKER:
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(KNOCK_SECONDS)
            knock.connect(str(settings.EMBEDDED_BROKER))
        return
    where = urlsplit(settings.CELERY_BROKER_URL)
    if where.scheme in ("redis", "rediss") and where.hostname:
        socket.create_connection((where.hostname, where.port or REDIS_PORT), KNOCK_SECONDS).close()
