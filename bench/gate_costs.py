"""What each gate of a profile costs in Docker, and how much of an audit's time is no sandbox's work.

    python bench/gate_costs.py [--profile standard] [--runs 1] [--generations 3] [SEED ...]

Two seeds and a child that is grown from the first of them. *By gate*: the gates are asked one after the
other, images built before; what several read (the reference run, the untouched run) is charged to the first
that asks for it. *No sandbox's work*: a whole audit is run as a worker runs it, gates side by side; each call
to the backend or a sandbox is timed, in whatever thread, and what is left of the audit's wall time when no
such call was under way is ours: reading, judging, storing, waiting for nothing. The goal is at most 10 %.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "envevo_site.settings",
    "ENVEVO_VAR": tempfile.mkdtemp(prefix="envevo-bench-"),
    "ENVEVO_DATABASE_URL": "",
    "ENVEVO_BLOBS": "",
    "ENVEVO_SANDBOX": "docker",
}
sys.path.insert(0, str(ROOT))

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402

from agents.authors import author  # noqa: E402
from lineages.gates import PROFILES, profile  # noqa: E402
from lineages.gates.base import Once, Subject  # noqa: E402
from lineages.growth import loops  # noqa: E402
from lineages.growth.evolving import RecipeSettings, start  # noqa: E402
from lineages.growth.subjects import of_environment  # noqa: E402
from lineages.library import audits, machine  # noqa: E402
from lineages.library.importing import Imported, import_paths  # noqa: E402
from lineages.library.models import Environment  # noqa: E402
from sandboxes.base import Backend, Image, Limits, Sandbox  # noqa: E402

SEEDS = ("log-forensics", "build-repair")


@dataclass
class Calls:
    """When calls into sandboxes began and ended, in all threads."""

    spans: list[tuple[float, float]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def timed(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.spans.append((began, time.monotonic()))

    def seconds(self) -> float:
        """Wall time in which at least one call was under way."""
        total, until = 0.0, 0.0
        for began, ended in sorted(self.spans):
            total += max(0.0, ended - max(began, until))
            until = max(until, ended)
        return total


@dataclass(frozen=True)
class Timed:
    """A sandbox, or a backend, whose methods are timed."""

    inner: Any
    calls: Calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return partial(self._call, found) if callable(found) else found

    def _call(self, method: Any, *args: Any, **named: Any) -> Any:
        with self.calls.timed():
            return method(*args, **named)


class TimedBackend(Timed):
    @contextmanager
    def open(self, image: Image, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        with self._opened(self.inner.open(image, limits, labels=labels)) as box:
            yield box

    @contextmanager
    def fork(self, sandbox: Any, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        with self._opened(self.inner.fork(sandbox.inner, limits, labels=labels)) as box:
            yield box

    @contextmanager
    def _opened(self, context: Any) -> Iterator[Any]:
        with self.calls.timed():
            box = context.__enter__()
        try:
            yield Timed(box, self.calls)
        finally:
            with self.calls.timed():
                context.__exit__(None, None, None)


def planted(name: str) -> Environment:
    (found,) = import_paths([ROOT / "seeds" / name])
    if not isinstance(found, Imported):
        sys.exit(f"{name}: {found}")
    return found.environment


def grown(seed: Environment, generations: int) -> Environment:
    """The newest child of so many generations, each judged by the quick gates alone."""
    evolution = loops.drive(
        start(seed, RecipeSettings(profile="fast"), generations=generations), tell=lambda _: None
    )
    if evolution.child is None or evolution.child.generation != generations:
        sys.exit(f"{seed} did not come to generation {generations}: {evolution.status}")
    return evolution.child


def by_gate(subject: Subject, profile_name: str) -> dict[str, float]:
    """Seconds of each gate, one after the other, in the order of the profile."""
    asked = replace(audits.with_profile(subject, profile_name), once=Once())
    costs = {}
    for gate in profile(profile_name):
        began = time.monotonic()
        gate.check(asked)
        costs[gate.name] = time.monotonic() - began
    return costs


def whole(environment: Environment, subject: Subject, profile_name: str) -> tuple[float, float]:
    """Wall seconds of an audit, and those of them in which no sandbox was called."""
    calls = Calls()
    timed = replace(subject, backend=TimedBackend(subject.backend, calls), once=Once())
    parent = environment.parent.snapshot if environment.parent else None
    audit = audits.open_audit(environment.snapshot, timed, profile=profile_name, parent=parent)
    began = time.monotonic()
    audits.run(audit, timed)
    seconds = time.monotonic() - began
    audit.refresh_from_db()
    print(f"{environment}: {audit.status} {audit.last_reason}".rstrip(), file=sys.stderr)
    return seconds, seconds - calls.seconds()


def median(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in costs) for name in costs[0]}


def measure(environment: Environment, chosen: argparse.Namespace) -> None:
    subject = of_environment(environment, author("offline"))
    whole(environment, subject, chosen.profile)  # builds the images
    costs = median([by_gate(subject, chosen.profile) for _ in range(chosen.runs)])
    audited = [whole(environment, subject, chosen.profile) for _ in range(chosen.runs)]
    total = sum(costs.values())
    print(f"{environment}, {chosen.profile}, one gate after the other: {total:.1f} s")
    for name, seconds in sorted(costs.items(), key=lambda each: -each[1]):
        print(f"  {name:18} {seconds:7.2f} s {seconds / total:6.1%}")
    seconds, ours = (statistics.median(each) for each in zip(*audited, strict=True))
    print(f"  as an audit, gates side by side: {seconds:.2f} s")
    print(
        f"  of which no sandbox's work: {ours:.2f} s, {ours / seconds:.1%} (goal: at most 10 %)", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seeds", metavar="SEED", nargs="*", default=SEEDS)
    parser.add_argument("--profile", choices=PROFILES, default="standard")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--generations", type=int, default=3)
    chosen = parser.parse_args()
    backend: Backend = machine.backend()
    call_command("migrate", verbosity=0)
    try:
        seeds = [planted(name) for name in chosen.seeds]
        for environment in (*seeds, grown(seeds[0], chosen.generations)):
            measure(environment, chosen)
    finally:
        backend.trim(keep=0, floor=0, unused_for=0)


if __name__ == "__main__":
    main()
