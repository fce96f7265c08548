from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from lineages import sweeping
from lineages.gates import PROFILES, profile
from lineages.gates.base import Result
from lineages.library import machine
from lineages.library.models import Audit
from lineages.library.verifying import Asked, Batch, Judged, Verdict
from lineages.management.commands import _evidence as evidence
from lineages.management.commands._output import (
    INTERRUPTED,
    Bar,
    Exit,
    emit_with,
    leave,
    plain_errors,
    progress,
    table,
)
from lineages.management.commands._targets import Targets

MOST_REPEATS = 100
SHOWN_APART = 5
WHOLE = {Exit.WELL: "passed", Exit.FAILED: "failed", Exit.MACHINE: "error"}


class Command(BaseCommand):
    requires_system_checks = []  # they import every page, which takes as long as everything else here
    help = (
        "Run the gates over any Harbor task, without importing it: a task folder, a folder of many, an "
        "archive (zip, tar, tar.gz) of one or many, or an environment's reference."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("target", metavar="TARGET")
        parser.add_argument("--profile", default="standard", help=f"one of {', '.join(PROFILES)}")
        parser.add_argument("--repeats", type=int, help="runs to repeat, from 1; else as the profile says")
        parser.add_argument(
            "--regrade", action="store_true", help="grade what solvers left in earlier audits"
        )
        parser.add_argument("--resume", action="store_true", help="take over what was judged already")
        parser.add_argument("--jobs", type=int, default=settings.SLOTS, help="tasks at a time")
        parser.add_argument(
            "--evidence", type=Path, metavar="FOLDER", help="write all evidence to files there"
        )
        parser.add_argument("--json", action="store_true", help="machine-readable answer on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors():
            run = Run(options)
            try:
                run.all()
            except KeyboardInterrupt:
                run.interrupted = True
            run.bar.end()
        if options["json"]:
            emit_with(run.as_json(), "tasks", map(evidence.as_json, run.judged))
        elif run.total == 1 and run.judged:
            self._show_one(run.judged[0])
        else:
            self._show_many(run)
        if run.interrupted:
            left = f"{len(run.judged)} of {run.total} are judged"
            print(f"interrupted: {left}; the same command with --resume goes on from there", file=sys.stderr)
            sys.exit(INTERRUPTED)
        leave(run.code)

    def _show_one(self, judged: Judged) -> None:
        rows = [("gate", "outcome", "reward", "runs", "seconds", "")]
        found = evidence.results(judged)
        for row in found:
            reward = "" if row.reward is None else f"{row.reward:g}"
            runs = f"{row.runs_passed} of {row.runs}" if row.runs else ""
            seconds = f"{row.seconds:.1f}"
            rows.append((row.gate, row.outcome, reward, runs, seconds, evidence.plain(row.summary)))
        if found:
            table(rows, self.stdout.write)
        for row in found:
            told = list(evidence.lines(row))
            if told:
                self.stdout.write("\n" + "\n".join(told))
        provisional = judged.audit and Audit.objects.get(pk=judged.audit).provisional
        note = " (provisional: no Dockerfile was built)" if provisional else ""
        why = f": {evidence.plain(judged.why)}" if judged.why else ""
        self.stdout.write(f"{judged.verdict}{why}{note}")

    def _show_many(self, run: Run) -> None:
        rows = [("verdict", "task", "")]
        rows += [(each.verdict, evidence.plain(each.path), evidence.plain(each.why)) for each in run.judged]
        table(rows, self.stdout.write)
        self.stdout.write("")
        table([("gate", *Result), *run.by_gate()], self.stdout.write)
        refused = sum(each.refused for each in run.judged)
        taken = sum(each.taken_over for each in run.judged)
        warned = sum(bool(each.warnings) for each in run.judged)
        note = f"; {warned} with warnings of what was mended or left out (--json has them)" if warned else ""
        self.stdout.write(
            f"\n{run.total} found: {run.counted()}; {len(run.judged) - refused} verified "
            f"({taken} of them taken over), {refused} refused{note}"
        )


def _writable(folder: Path | None) -> Path | None:
    """The folder for evidence, made. Raises `ValueError` where there can be none."""
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"--evidence {folder} is no folder to write to: {problem.strerror}") from problem
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"--evidence {folder} is a folder that we may not write to")
    return folder


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN_APART
    shown = ", ".join(map(evidence.plain, names[:SHOWN_APART]))
    return f"{shown} and {more} more" if more > 0 else shown


class Run:
    """One call of the command: what was asked, and what has been judged of it, in the order it was found."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Raises as `plain_errors` expects, before anything is stored or run."""
        profile(options["profile"])
        if options["repeats"] is not None and not 1 <= options["repeats"] <= MOST_REPEATS:
            raise ValueError(f"--repeats is a number from 1 to {MOST_REPEATS}, not {options['repeats']}")
        self.target: str = options["target"]
        options["repeats"] = options["repeats"] or 0  # as the profile says
        self.asked = Asked(**{key: options[key] for key in ("profile", "repeats", "regrade", "resume")})
        self.evidence = _writable(options["evidence"])
        self.interrupted = False
        self._batch = Batch(self.asked, options["jobs"])
        self._targets = Targets(self.target)
        self._backend = machine.backend_for(())
        self._done: list[Judged] = []
        self._counts: Counter[Verdict] = Counter()
        self.bar = Bar(lambda: self.total)
        sweeping.tidy()
        self._say(options["jobs"])

    def _say(self, jobs: int) -> None:
        what = f"verifying {self.target} by the profile {self.asked.profile} in {self._backend.name}"
        progress(f"{what}, {jobs} at a time")
        if self._backend.provisional:
            progress(f"warning: {self._backend.name} is for tasks that you trust; use Docker for others")
        if self._targets.apart:
            progress(f"warning: no task in {_some(self._targets.apart)}")
        if self._targets.archives:
            some = _some(self._targets.archives)
            progress(f"warning: archives in a folder are not looked into, verify each by itself: {some}")

    def all(self) -> None:
        with closing(self._batch.run(self._targets)) as outcomes:
            for judged in outcomes:
                self._take(judged)

    def _take(self, judged: Judged) -> None:
        self._done.append(judged)
        self._counts[judged.verdict] += 1
        if self.evidence:
            evidence.write(judged, self.evidence, self.target)
        for warning in judged.warnings if self.total == 1 else ():
            progress(f"warning: {evidence.plain(warning)}")
        why = f": {evidence.plain(judged.why)}" if judged.why else ""
        self.bar.step(f"{judged.verdict} {evidence.plain(judged.path)}{why}", self.counted())

    @property
    def total(self) -> int:
        return self._targets.total

    @property
    def judged(self) -> list[Judged]:
        return sorted(self._done, key=lambda each: each.position)

    @property
    def code(self) -> Exit:
        if self._counts[Verdict.ERROR]:
            return Exit.MACHINE
        return Exit.FAILED if self._counts[Verdict.FIX] + self._counts[Verdict.REJECT] else Exit.WELL

    def counted(self) -> str:
        return ", ".join(f"{self._counts[verdict]} {verdict}" for verdict in Verdict)

    def by_gate(self) -> Iterable[tuple[str, ...]]:
        found = Counter(pair for each in self._done for pair in each.outcomes)
        for gate in profile(self.asked.profile):
            yield (gate.name, *(str(found[gate.name, outcome]) for outcome in Result))

    def as_json(self) -> dict[str, Any]:
        """All but the tasks. `digest` and `gates` are those of the only task, where there is one."""
        judged = self.judged
        only = evidence.as_json(judged[0]) if self.total == 1 and judged else {"digest": None, "gates": []}
        return {
            "target": self.target,
            "profile": self.asked.profile,
            "digest": only["digest"],
            "verdict": WHOLE[self.code],
            "interrupted": self.interrupted,
            "found": self.total,
            "verified": sum(not each.refused for each in judged),
            "refused": sum(each.refused for each in judged),
            "left_out": [*self._targets.apart, *self._targets.archives],
            "counts": {verdict: self._counts[verdict] for verdict in Verdict},
            "by_gate": {row[0]: dict(zip(Result, map(int, row[1:]), strict=True)) for row in self.by_gate()},
            "gates": only["gates"],
        }
