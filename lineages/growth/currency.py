"""Whether an environment's evidence is of today: what the keys of its gates would be now."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from agents.roles import AgentsError
from lineages import casting
from lineages.gates import PROFILES
from lineages.growth.subjects import of_environment
from lineages.library import audits, machine
from lineages.library.blobs import BlobLost
from lineages.library.models import Audit, Environment
from lineages.library.requirements import Today
from sandboxes.errors import SandboxesError

PATIENCE_SECONDS = 5.0
"""How long a page waits for an engine."""

T = TypeVar("T")


def today(environment: Environment, audit: Audit) -> Today:
    """The keys that `audit` would give now, by the same judge; else the sentence that says why not.

    An engine that does not answer, or not in time, is such a sentence.
    """
    if audit.profile not in PROFILES:
        return Today(problem=f"there is no profile called {audit.profile} any more")
    try:
        _in_time(machine.backend)
        subject = audits.asked(audit, of_environment(environment, casting.named(audit.judge)))
        keys = _in_time(lambda: audits.keys_of(audit.profile, subject))
    except TimeoutError:
        return Today(problem=f"the sandbox backend did not answer within {PATIENCE_SECONDS:g} seconds")
    except (SandboxesError, AgentsError, BlobLost) as problem:
        return Today(problem=str(problem))
    return Today(keys, subject.backend.name, subject.judge_name, subject.rubric)


def _in_time(ask: Callable[[], T]) -> T:
    """What `ask` gives, or `TimeoutError`; then a thread stays until the engine's own limit ends it."""
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return pool.submit(_asked, ask).result(timeout=PATIENCE_SECONDS)
    finally:
        pool.shutdown(wait=False)


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    finally:
        connections.close_all()
