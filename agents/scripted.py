"""An author that does as its script says: the fake beside the real ones, for tests.

Its default answers grow the smallest real child: one inserted pair, one more file that the solution runs,
one more test unit, one more sentence. It works on tasks whose solution runs `solution/parts/*` and whose
test runs `tests/units/*`. A test replaces the answers that it is about.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from agents.plan import (
    Binding,
    Change,
    CriterionVerdict,
    Judgement,
    Pair,
    PlanDraft,
    Sequence,
    Verdict,
)
from agents.roles import Author, Brief, BuildOrder, Built
from sandboxes.files import TaskFile
from sandboxes.task import INSTRUCTION, Task

THINKING_SECONDS = 0.5
ACCEPT = Judgement(
    verdicts=(CriterionVerdict(criterion="scripted", verdict=Verdict.PASS, explanation="as the script says"),)
)
REJECT = Judgement(
    verdicts=(CriterionVerdict(criterion="scripted", verdict=Verdict.FAIL, explanation="as the script says"),)
)


def insert_one(brief: Brief) -> PlanDraft:
    """A length plan of one pair, whatever the direction is called; its key is new in the lineage."""
    number = f"{brief.generation}-{len(brief.history)}"
    pair = Pair(
        key=f"part:{number}",
        scenario="result file",
        skill="write a word",
        tool=f"printf-{number}",
        origin="owned",
        target=f"/app/out/{number}",
        block=f"solution/parts/{number}.sh",
    )
    return PlanDraft(
        direction=brief.direction,
        effort=brief.effort,
        before=brief.sequence,
        after=Sequence(pairs=(*brief.sequence.pairs, pair)),
        changes=(Change(kind="insert", pair=pair),),
        summary=f"One more word, in /app/out/{number}",
        rationale="one more thing to do",
    )


def build_one(order: BuildOrder) -> Built:
    """The child that `insert_one` plans."""
    (change,) = order.plan.changes
    target, block = change.pair.target, change.pair.block
    unit = f"tests/units/{block.rsplit('/', 1)[-1]}"
    requirement = f"Write the word ready to {target}."
    note = f"environment/notes/{change.pair.key.removeprefix('part:')}.txt"
    step = f"#!/bin/bash\nmkdir -p /app/out\nprintf ready > {target}\n"
    check = f'#!/bin/bash\n[ "$(cat {target} 2>/dev/null)" = ready ]\n'
    return Built(
        changes={
            block: TaskFile.text(step, executable=True),
            unit: TaskFile.text(check, executable=True),
            note: TaskFile.text(requirement),
            INSTRUCTION: TaskFile.text(f"{order.parent.text(INSTRUCTION).rstrip()}\n{requirement}\n"),
        },
        bindings=(
            Binding(
                key=change.pair.key,
                solution_block=block,
                test_units=(unit,),
                environment_paths=(note,),
                requirement=requirement,
            ),
        ),
        composition=order.composition,
    )


@dataclass
class Script:
    """The answers of every role; each may raise what the real role may raise."""

    extract: Callable[[Task], Sequence] = lambda task: Sequence()
    propose: Callable[[Brief], PlanDraft] = insert_one
    review: Callable[[Brief, PlanDraft], Judgement] = lambda brief, plan: ACCEPT
    build: Callable[[BuildOrder], Built] = build_one
    judge: Callable[..., Judgement] = lambda *judged: ACCEPT

    def author(self, name: str) -> Author:
        return Author(
            name=name,
            trusted=True,
            extractor=self,
            proposer=self,
            plan_reviewer=self,
            modifier=self,
            rubric_verifier=self,
        )


def clumsy() -> Script:
    """Takes its time over every answer, and its first build is broken: for tests that kill workers."""

    def propose(brief: Brief) -> PlanDraft:
        time.sleep(THINKING_SECONDS)
        return insert_one(brief)

    def review(brief: Brief, plan: PlanDraft) -> Judgement:
        time.sleep(THINKING_SECONDS)
        return ACCEPT

    def build(order: BuildOrder) -> Built:
        time.sleep(THINKING_SECONDS)
        return build_one(order) if order.revision else break_one(order)

    return Script(propose=propose, review=review, build=build)


def picky() -> Script:
    """Rejects every plan it is shown: for tests in which a person knows better."""
    return Script(review=lambda brief, plan: REJECT)


def break_one(order: BuildOrder) -> Built:
    """The child of `build_one` with a unit that can never pass."""
    built = build_one(order)
    (unit,) = built.bindings[0].test_units
    return Built({**built.changes, unit: TaskFile.text("exit 1\n")}, built.bindings, built.composition)


SCRIPTS: dict[str, Script] = {}
"""Scripts by author name: empty in the product, filled by tests."""
