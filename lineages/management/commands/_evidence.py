"""What the gates said of one task: as JSON, as lines for a terminal, as files of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from lineages.gates import all_gates
from lineages.gates.base import Result
from lineages.library import blobs
from lineages.library.calls import CommandRun
from lineages.library.models import GateFinding, GateResult
from lineages.library.rendering import visible
from lineages.library.verifying import REFUSED, Judged
from sandboxes.text import clean

SPEAKING = (Result.FAILED, Result.ERROR)
"""Outcomes whose evidence is shown without being asked for."""
TAIL_LINES = 20


def results(judged: Judged) -> list[GateResult]:
    """Its gates in the order they answered; none where it was refused or the machine failed first."""
    if judged.audit is None:
        return []
    return list(GateResult.objects.filter(audit=judged.audit).prefetch_related("findings"))


def as_json(judged: Judged) -> dict[str, Any]:
    return {
        "path": judged.path,
        "digest": judged.digest or None,
        "verdict": judged.verdict,
        "why": judged.why,
        "taken_over": judged.taken_over,
        "warnings": list(judged.warnings),
        "gates": [_refused(judged)] if judged.refused else [_gate(row) for row in results(judged)],
    }


def _gate(row: GateResult) -> dict[str, Any]:
    return {
        "gate": row.gate,
        "outcome": row.outcome,
        "reward": row.reward,
        "seconds": round(row.seconds, 3),
        "summary": row.summary,
        "runs": row.runs,
        "runs_passed": row.runs_passed,
        "weaker": row.weaker,
        "graded_again": row.graded_again,
        "findings": [_finding(each) for each in row.findings.all()],
        "detail": row.detail if row.outcome in SPEAKING else "",
    }


def _finding(finding: GateFinding) -> dict[str, Any]:
    return {
        "text": finding.text,
        "path": finding.path or None,
        "line": finding.line or None,
        "warning": finding.warning,
        "repair": finding.repair,
    }


def _refused(judged: Judged) -> dict[str, Any]:
    """What is no task has no digest and no audit; what speaks against it is in its files."""
    return {
        "gate": "static",
        "outcome": Result.FAILED,
        "reward": None,
        "seconds": 0.0,
        "summary": judged.why.removeprefix(REFUSED),
        "runs": 0,
        "runs_passed": 0,
        "weaker": False,
        "graded_again": False,
        "findings": [],
        "detail": "",
    }


def lines(row: GateResult) -> Iterator[str]:
    """What to know of a gate that stands in the way, and every warning of one that does not."""
    findings = [each for each in row.findings.all() if row.outcome in SPEAKING or each.warning]
    if not findings and row.outcome not in SPEAKING:
        return
    yield f"{row.gate}: {row.outcome}. {plain(row.summary)}"
    if row.runs:
        yield f"  {row.runs_passed} of {row.runs} runs did as they should"
    for finding in findings:
        yield from (f"  {line}" for line in _found(finding))
    if row.outcome in SPEAKING and row.detail:
        told = row.detail.splitlines()
        if len(told) > TAIL_LINES:
            yield f"  [… {len(told) - TAIL_LINES} lines before; --evidence FOLDER writes all …]"
        yield from (f"  | {plain(line)}" for line in told[-TAIL_LINES:])


def _found(finding: GateFinding) -> Iterator[str]:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    yield plain(f"{'warning: ' if finding.warning else ''}{place}{': ' if place else ''}{finding.text}")
    if finding.repair:
        first, *rest = finding.repair.splitlines()
        yield f"  repair: {plain(first)}"
        yield from (f"          {plain(line)}" for line in rest)


def plain(text: str) -> str:
    """On one line, with nothing in it that a terminal obeys: a stranger wrote it."""
    return clean(visible(text)).replace("\n", "\\n")


def write(judged: Judged, folder: Path, root: str) -> None:
    """`task.json`, and a text file for each gate with all that it said and every command's output.

    They stand below `folder` as the task stands below `root`. Files of an earlier run are replaced, and those
    of gates that were not asked this time removed. Raises `OSError` that names the folder.
    """
    place = folder.joinpath(*_parts(judged.path, root))
    try:
        _write(judged, place)
    except OSError as problem:
        sentence = f"the evidence in {place} could not be written: {problem.strerror or problem}"
        raise OSError(problem.errno, f"{sentence}; the same command with --resume goes on") from problem


def _write(judged: Judged, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name in all_gates():
        (place / f"{name}.txt").unlink(missing_ok=True)
    told = json.dumps(as_json(judged), indent=2) + "\n"
    (place / "task.json").write_text(told, encoding="utf-8", errors="surrogateescape")
    for row in results(judged):
        (place / f"{row.gate}.txt").write_bytes(b"".join(_pieces(row)))


def _parts(path: str, root: str) -> tuple[str, ...]:
    """Where a task's evidence goes: its path below the target, or its own name where it is the target."""
    inner = PurePath(path)
    if inner.is_relative_to(root) and inner != PurePath(root):
        inner = inner.relative_to(root)
        return tuple(part for part in inner.parts if part not in ("..", "/"))
    return (inner.name or "task",) if Path(root).exists() else tuple(inner.parts)


def _pieces(row: GateResult) -> Iterator[bytes]:
    yield f"{row.gate}: {row.outcome}. {row.summary}\n".encode(errors="replace")
    if row.runs:
        yield f"{row.runs_passed} of {row.runs} runs did as they should\n".encode()
    for finding in row.findings.all():
        yield "".join(f"{line}\n" for line in _found(finding)).encode(errors="replace")
    yield f"\n{row.detail}\n".encode(errors="replace")
    for command in CommandRun.objects.filter(result=row):
        yield f"\n$ {command.command}\n".encode(errors="replace")
        for stream, digest in (("stdout", command.stdout_id), ("stderr", command.stderr_id)):
            yield f"--- {stream}\n".encode() + blobs.read(digest) + b"\n"
        cut = f", {command.cut} bytes cut" if command.cut else ""
        yield f"[exit {command.exit_code}{cut}, {command.seconds:.1f} s]\n".encode()
