"""What a gate said becomes rows: its result with findings and commands, and what is kept of it for later."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from agents.plan import Judgement
from lineages.gates.base import Finding, Gate, Outcome, Result, Subject
from lineages.library import blobs, probing, solves
from lineages.library.calls import AgentCall, CommandRun, Conversation
from lineages.library.models import Audit, GateFinding, GateResult
from sandboxes.base import ExecResult
from sandboxes.text import clean

MOST_FINDINGS = 2000
LONGEST_PATH = 1024


@dataclass(frozen=True)
class Answer:
    """What one gate said, and when."""

    gate: Gate
    outcome: Outcome
    started_at: datetime
    seconds: float


def store(audit: Audit, subject: Subject, answer: Answer) -> GateResult:
    """The answer as rows, inside the caller's transaction, with all that the gate left behind."""
    outcome = answer.outcome
    result = GateResult.objects.create(
        audit=audit,
        gate=answer.gate.name,
        gate_version=answer.gate.version,
        key=answer.gate.key(subject),
        outcome=outcome.result,
        reward=outcome.reward,
        summary=clean(outcome.summary),
        detail=clean(outcome.detail),
        weaker=outcome.weaker,
        runs=outcome.runs,
        runs_passed=outcome.runs_passed,
        graded_again=outcome.graded_again,
        started_at=answer.started_at,
        seconds=answer.seconds,
    )
    store_commands(outcome.commands, result=result)
    _store_findings(outcome, result)
    solves.keep(outcome.kept, result)
    if result.gate in probing.GATES and outcome.result is Result.FAILED:
        for lineage in probing.concerned(audit):
            probing.keep_what_worked(result, lineage)
    if outcome.judgement:
        _store_judgement(audit, subject, answer, outcome.judgement)
    return result


def _store_judgement(audit: Audit, subject: Subject, answer: Answer, judgement: Judgement) -> None:
    """With the last request where a model judged, else as a call of its own."""
    role, kept = "rubric_verifier", blobs.keep_one(judgement.model_dump_json().encode())
    last = last_answer(audit.conversations.filter(role=role))
    if last:
        AgentCall.objects.filter(pk=last.pk).update(output=kept)
        return
    AgentCall.objects.create(
        role=role,
        author=subject.judge_name,
        audit=audit,
        outcome=AgentCall.ANSWERED,
        input_digest=subject.task.digest,
        output_id=kept,
        started_at=answer.started_at,
        seconds=answer.seconds,
    )


def last_answer(conversations: QuerySet[Conversation]) -> AgentCall | None:
    """The newest request of these conversations that was answered."""
    answered = AgentCall.objects.filter(conversation__in=conversations, outcome=AgentCall.ANSWERED)
    return answered.order_by("pk").last()


def _store_findings(outcome: Outcome, result: GateResult) -> None:
    """The first `MOST_FINDINGS`, and in place of the last one how many are left out where there are more."""
    findings, more = outcome.findings, len(outcome.findings) - MOST_FINDINGS + 1
    if more > 1:
        left_out = Finding(f"and {more} more of the same gate, which are not kept", warning=True)
        findings = (*findings[: MOST_FINDINGS - 1], left_out)
    GateFinding.objects.bulk_create(
        _finding(finding, result, position) for position, finding in enumerate(findings)
    )


def _finding(finding: Finding, result: GateResult, position: int) -> GateFinding:
    """A path that is longer than a task's may be, such as one of an image, stands in the text."""
    path, text = clean(finding.path), clean(finding.text)
    if len(path) > LONGEST_PATH:
        path, text = "", f"{path}: {text}"
    return GateFinding(
        result=result,
        position=position,
        text=text,
        path=path,
        line=finding.line,
        warning=finding.warning,
        repair=clean(finding.repair),
    )


def store_commands(
    commands: Sequence[ExecResult],
    *,
    result: GateResult | None = None,
    call: AgentCall | None = None,
    after: int = 0,
) -> None:
    """Keep every command with its output, for the page of what it served; `after` are there already."""
    outputs = iter(blobs.keep(_outputs(commands)))
    CommandRun.objects.bulk_create(
        CommandRun(
            result=result,
            call=call,
            position=position,
            command=clean(shlex.join(command.argv)),
            exit_code=command.exit_code,
            cut_short=clean(command.cut_short),
            stdout_id=next(outputs),
            stderr_id=next(outputs),
            cut=command.cut,
            started_at=command.started_at,
            seconds=command.seconds,
        )
        for position, command in enumerate(commands, start=after)
    )


def _outputs(commands: Sequence[ExecResult]) -> Iterator[bytes]:
    for command in commands:
        yield command.stdout
        yield command.stderr
