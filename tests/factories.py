"""Rows for tests: plain functions that make lineages, environments and evolutions in the database.

Everything has a default; what a test is about, it says. Nothing here runs a step: the rows are written as
a step would leave them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone

from agents.plan import Change, Composition, Pair, PlanDraft, Sequence
from agents.providers.base import Reply, Stop, Usage
from lineages.growth.models import (
    Attempt,
    Candidate,
    Evolution,
    PairBinding,
    Plan,
    Recipe,
    Review,
    ReviewedCriterion,
)
from lineages.library import blobs, replies
from lineages.library.calls import AgentCall, CommandRun, Conversation
from lineages.library.models import Audit, Environment, GateResult, Lineage, Snapshot
from lineages.library.snapshots import store
from lineages.lifecycle import Move
from sandboxes.files import TaskFile
from sandboxes.task import Task

_numbers = itertools.count(1)

CONFIG = 'version = "1.0"\n[metadata]\ncategory = "data"\n[agent]\ntimeout_sec = 60.0\n'
FILES = {
    "task.toml": CONFIG,
    "instruction.md": "# Count the words\n\nWrite how many words `/app/text.txt` has to `/app/count.txt`.\n",
    "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\nCOPY text.txt /app/text.txt\n",
    "environment/text.txt": "one two three\n",
    "solution/solve.sh": "#!/bin/bash\nwc -w < /app/text.txt > /app/count.txt\n",
    "tests/test.sh": '#!/bin/bash\n[ "$(cat /app/count.txt)" = 3 ] && echo 1 > /logs/verifier/reward.txt\n',
}
GATES = ("static", "build", "oracle", "invalid_test", "rubrics")


def user(name: str = "ada", role: str = "operator", **fields: Any) -> Any:
    """The account of that name, made on first use with that role; its password is its name."""
    known = get_user_model().objects.filter(username=name).first()
    if known:
        return known
    made = get_user_model().objects.create_user(name, password=name, **fields)
    if role:
        made.groups.add(Group.objects.get_or_create(name=role)[0])
    return made


def task(changes: Mapping[str, str | bytes | TaskFile | None] | None = None) -> Task:
    """A small task folder. Each call without `changes` gives other content, so that digests differ."""
    files: dict[str, TaskFile] = {path: _file(path, content) for path, content in FILES.items()}
    for path, content in (changes or {"environment/serial.txt": str(next(_numbers))}).items():
        if content is None:
            files.pop(path, None)
        else:
            files[path] = _file(path, content)
    return Task.of(files)


def snapshot(changes: Mapping[str, str | bytes | TaskFile | None] | None = None) -> Snapshot:
    return store(task(changes))


def pair(key: str = "read-text", **fields: Any) -> Pair:
    defaults = {
        "scenario": "plain text file",
        "skill": "read records",
        "tool": "wc",
        "origin": "implicit",
        "target": "/app/text.txt",
    }
    return Pair(key=key, **{**defaults, **fields})


def sequence(*pairs: Pair) -> Sequence:
    return Sequence(
        pairs=pairs or (pair(), pair("count", scenario="word count", skill="aggregate", origin="extracted"))
    )


def lineage(slug: str = "", **fields: Any) -> Lineage:
    slug = slug or f"words-{next(_numbers)}"
    return Lineage.objects.create(slug=slug, **{"title": slug.replace("-", " "), "domain": "data", **fields})


def seed(of: Lineage | None = None, **fields: Any) -> Environment:
    """Generation 0 of a (new) lineage."""
    return environment(of or lineage(), generation=0, parent=None, **fields)


def environment(of: Lineage, *, generation: int, parent: Environment | None, **fields: Any) -> Environment:
    steps = fields.pop("sequence", None) or sequence()
    defaults = {
        "snapshot": fields.pop("snapshot", None) or snapshot(),
        "k": 1,
        "direction": "scenario" if generation else "",
        "sequence_json": steps.model_dump(mode="json"),
        "composition_json": Composition().model_dump(mode="json"),
        "length": len(steps),
        "novelty": 3.0 + generation,
        "rarity": 2.0,
        "difficulty": 5.0 + generation,
    }
    return Environment.objects.create(
        lineage=of, generation=generation, parent=parent, **{**defaults, **fields}
    )


def chain(generations: int, of: Lineage | None = None) -> list[Environment]:
    """A seed and `generations` descendants, each with its accepted evolution and audit. Oldest first."""
    grown = [seed(of)]
    audit(grown[0].snapshot)
    for _ in range(generations):
        grown.append(accepted(evolution(grown[-1], ordinal=1)).child)
    return grown


def recipe(**fields: Any) -> Recipe:
    defaults = {"digest": f"{next(_numbers):064x}", "plan_rubric": "1" * 64, "environment_rubric": "2" * 64}
    return Recipe.objects.create(**{**defaults, **fields})


def evolution(parent: Environment | None = None, **fields: Any) -> Evolution:
    parent = parent or seed()
    defaults = {
        "recipe": fields.pop("recipe", None) or recipe(),
        "ordinal": parent.evolutions.count() + 1,
        "status": Evolution.Status.DRAFTING,
        "direction_order": "scenario,skill,length",
    }
    return Evolution.objects.create(lineage=parent.lineage, parent=parent, **{**defaults, **fields})


def attempt(of: Evolution, **fields: Any) -> Attempt:
    ordinal = of.attempts.count()
    return Attempt.objects.create(evolution=of, **{"ordinal": ordinal, "direction": "scenario", **fields})


def draft(parent: Environment, direction: str = "scenario", **fields: Any) -> PlanDraft:
    """A legal scenario edit of the parent's first pair."""
    before = parent.sequence
    first = before.pairs[0]
    new = first.model_copy(update={"scenario": "records split over shuffled parts", "origin": "owned"})
    defaults = {
        "direction": direction,
        "effort": "high",
        "before": before,
        "after": Sequence(pairs=(new, *before.pairs[1:])),
        "changes": (Change(kind="replace", pair=new),),
        "summary": "The text arrives in shuffled parts",
        "rationale": "The parts have to be put in order by their manifest before anything can be counted.",
    }
    return PlanDraft.model_validate({**defaults, **fields})


def plan(of: Attempt, drafted: PlanDraft | None = None, **fields: Any) -> Plan:
    drafted = drafted or draft(of.evolution.parent, of.direction)
    return Plan.objects.create(
        attempt=of, **{"round": of.plans.count(), "draft_json": drafted.model_dump(mode="json"), **fields}
    )


def waiting_plan(parent: Environment | None = None, **fields: Any) -> Plan:
    """The plan of an evolution that waits for a person's approval, reviewed by the plan reviewer."""
    waiting = evolution(
        parent, status=Evolution.Status.PLAN_APPROVAL, version=2, recipe=recipe(approval="plans")
    )
    made = plan(attempt(waiting), **fields)
    review(made)
    return made


def candidate(of: Plan, **fields: Any) -> Candidate:
    """A revision of the child with an accepted audit and one binding."""
    revision = of.attempt.candidates.count()
    defaults = {
        "n": revision,
        "snapshot": fields.pop("snapshot", None) or snapshot(),
        "composition_json": Composition().model_dump(mode="json"),
    }
    made = Candidate.objects.create(attempt=of.attempt, plan=of, **{**defaults, **fields})
    if "audit" not in fields:
        made.audit = audit(made.snapshot, parent=of.attempt.evolution.parent.snapshot)
        made.save(update_fields=["audit"])
    PairBinding.objects.create(
        candidate=made,
        key="read-text",
        solution_block="solution/steps/49-join",
        test_units="tests/units/01-restored",
        environment_paths="environment/overlay/app/parts",
        requirement="Restore /app/text.txt byte for byte from /app/parts.",
    )
    return made


def waiting_candidate(parent: Environment | None = None, **fields: Any) -> Candidate:
    """The candidate of an evolution that waits for a person's sign-off."""
    waiting = evolution(
        parent, status=Evolution.Status.SIGN_OFF, version=4, recipe=recipe(approval="environments")
    )
    return candidate(plan(attempt(waiting)), **fields)


def accepted(of: Evolution, **fields: Any) -> Evolution:
    """An evolution at its end: attempt, plan, candidate, child and moves."""
    tried = attempt(of, direction=of.directions[0], outcome=Attempt.Outcome.ACCEPTED)
    made = candidate(plan(tried, draft(of.parent)))
    of.child = environment(
        of.lineage,
        generation=of.generation,
        parent=of.parent,
        snapshot=made.snapshot,
        direction=tried.direction,
        **fields,
    )
    of.status = Evolution.Status.ACCEPTED
    of.save()
    moved(of, Evolution.Status.DRAFTING, Evolution.Status.ACCEPTED)
    return of


def moved(row: Any, before: str, after: str, **fields: Any) -> Move:
    return Move.objects.create(kind=row.kind, row=row.pk, from_status=before, to_status=after, **fields)


def audit(of: Snapshot, *, outcomes: Mapping[str, str] | None = None, **fields: Any) -> Audit:
    """A settled audit; every gate passed unless `outcomes` says otherwise."""
    outcomes = {**dict.fromkeys(GATES, "passed"), **(outcomes or {})}
    good = set(outcomes.values()) <= {"passed", "not_applicable"}
    defaults = {
        "status": Audit.Status.ACCEPTED if good else Audit.Status.REJECTED,
        "backend": "bubblewrap",
        "judge": "offline",
    }
    made = Audit.objects.create(snapshot=of, **{**defaults, **fields})
    for gate, outcome in outcomes.items():
        gate_result(made, gate, outcome=outcome)
    return made


def gate_result(of: Audit, gate: str = "oracle", **fields: Any) -> GateResult:
    defaults = {
        "gate_version": 1,
        "key": f"{next(_numbers):064x}",
        "outcome": "passed",
        "summary": f"The {gate} gate said so.",
        "started_at": timezone.now() - timedelta(minutes=3),
        "seconds": 1.25,
    }
    return GateResult.objects.create(audit=of, gate=gate, **{**defaults, **fields})


def command(of: GateResult, *, stdout: bytes = b"", stderr: bytes = b"", **fields: Any) -> CommandRun:
    kept_out, kept_err = blobs.keep([stdout, stderr])
    defaults = {
        "position": of.commands.count(),
        "command": "bash /tests/test.sh",
        "exit_code": 0,
        "started_at": timezone.now() - timedelta(minutes=2),
        "seconds": 0.4,
    }
    return CommandRun.objects.create(
        result=of, stdout_id=kept_out, stderr_id=kept_err, **{**defaults, **fields}
    )


def call(of: Attempt | None = None, **fields: Any) -> AgentCall:
    defaults = {
        "role": "proposer",
        "author": "offline",
        "outcome": "answered",
        "input_digest": "0" * 64,
        "started_at": timezone.now(),
        "seconds": 0.02,
    }
    return AgentCall.objects.create(attempt=of, **{**defaults, **fields})


def conversation(of: Attempt | Audit | None = None, **fields: Any) -> Conversation:
    """A model's, about an attempt or an audit."""
    about = {"audit": of} if isinstance(of, Audit) else {"attempt": of}
    defaults = {
        "scope": f"{of._meta.model_name}:{of.pk}" if of else f"bench:{next(_numbers)}",
        "role": "proposer",
        "model": "opus",
        "subject": "round 0",
        "opening": f"{next(_numbers):064x}",
        "prompt_name": "proposer",
        "prompt_digest": "3" * 64,
    }
    return Conversation.objects.create(**{**defaults, **about, **fields})


def model_call(of: Conversation | None = None, *, said: str = "Ordered parts.", **fields: Any) -> AgentCall:
    """A request of a conversation that was answered and cost three cents, as the ledger leaves it."""
    of = of or conversation()
    evolution = of.attempt.evolution if of.attempt else None
    reply = Reply(said, (), Stop.END, [{"type": "text", "text": said}], Usage(10_000, 1_000), said.encode())
    sent, received = blobs.keep([b'{"model": "claude-opus-5"}', replies.packed(reply)])
    defaults = {
        "role": of.role,
        "author": of.model,
        "number": of.calls.count(),
        "audit": of.audit,
        "evolution": evolution,
        "lineage": evolution.lineage if evolution else None,
        "outcome": "answered",
        "provider": "anthropic",
        "served": "claude-opus-5",
        "sent_body_id": sent,
        "received_body_id": received,
        "stop": "end",
        "tokens": 11_000,
        "input_tokens": 10_000,
        "cached_tokens": 0,
        "cache_written_tokens": 0,
        "output_tokens": 1_000,
        "reserved": Decimal("0.9"),
        "reserved_tokens": 42_000,
        "cost": Decimal("0.03"),
        "priced_by": "models.toml",
        "billed": True,
        "seconds": 4.5,
    }
    return call(of.attempt, conversation=of, **{**defaults, **fields})


def review(of: Plan | Candidate, **fields: Any) -> Review:
    """By the plan reviewer with three passed criteria, or by a person where `user` is given."""
    person = fields.get("user")
    defaults = {
        "role": "person" if person else "plan_reviewer",
        "reviewer": person.get_username() if person else "offline",
        "decision": Review.Decision.APPROVE,
    }
    subject = {"plan": of} if isinstance(of, Plan) else {"candidate": of}
    made = Review.objects.create(**subject, **{**defaults, **fields})
    if not person:
        criterion(made, "one lever", explanation="Only the scenario changes.")
        criterion(
            made,
            "harder",
            explanation="Counting needs the parts in order.",
            quote="put in order by their manifest",
        )
        criterion(made, "testable", explanation="The restored file is pinned by its hash.")
    return made


def criterion(of: Review, name: str, verdict: str = "pass", **fields: Any) -> ReviewedCriterion:
    return ReviewedCriterion.objects.create(
        review=of, criterion=name, verdict=verdict, **{"explanation": "", **fields}
    )


def _file(path: str, content: str | bytes | TaskFile) -> TaskFile:
    if isinstance(content, TaskFile):
        return content
    if isinstance(content, bytes):
        return TaskFile(content)
    return TaskFile.text(content, executable=path.endswith(".sh"))
