"""Signs of life for health checks: the age of a file says when a process last did what it is for.

Answering a ping is not enough. After a broker's restart a worker may be connected, answer pings and never
be given a message again, so a worker's file is touched by messages that reach it and by work under way.
Where `ENVEVO_PULSE` names no file, all of this does nothing.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from celery import bootsteps
from celery.beat import ScheduleEntry, Scheduler
from celery.worker import state
from django.conf import settings

LOOK_SECONDS = 5.0
LONG_AGO = timedelta(days=1)


class Hearing(bootsteps.StartStopStep):
    """In a worker's main process: touches the file while messages arrive or work is under way."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self.enabled = bool(settings.PULSE)
        self._seen = 0

    def start(self, consumer: Any) -> None:
        touch()
        consumer.timer.call_repeatedly(LOOK_SECONDS, self._look)  # the consumer ends its timers itself

    def _look(self) -> None:
        accepted = sum(state.total_count.values())
        if state.active_requests or accepted != self._seen:
            self._seen = accepted
            touch()


class Timekeeper(Scheduler):
    """For `celery beat -S`: everything is due at the start; touches the file when a message is out.

    It keeps no schedule on disk, since a sweep too many does no harm.
    """

    def setup_schedule(self) -> None:
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - LONG_AGO

    def apply_async(self, entry: ScheduleEntry, *args: Any, **options: Any) -> Any:
        sent = super().apply_async(entry, *args, **options)
        touch()
        return sent


def touch() -> None:
    if settings.PULSE:
        Path(settings.PULSE).touch()
