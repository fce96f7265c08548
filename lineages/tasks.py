"""The three Celery tasks. Each is a call; what it does lives elsewhere."""

from __future__ import annotations

from celery import shared_task

from lineages import sweeping
from lineages.growth import campaigns, jobs, loops
from lineages.growth.nudge import nudge


@shared_task
def advance(evolution_id: int) -> None:
    for ready in loops.advance(evolution_id):
        nudge(ready)
    campaigns.turn_of(evolution_id)


@shared_task
def run_job(job_id: int) -> None:
    jobs.run(job_id)


@shared_task(queue="sandboxes")
def sweep() -> None:
    sweeping.sweep()
