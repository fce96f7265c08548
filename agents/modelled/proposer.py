"""The proposer: reads the sequence, edits it as asked, and is told by code what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from agents.answers import structured
from agents.line import NoProgress
from agents.modelled.drafting import command, draft_of, problems_of
from agents.modelled.forms import Proposal
from agents.modelled.repeats import NEAR, repeated
from agents.modelled.role import Modelled
from agents.modelled.showing import (
    room_for,
    show_history,
    show_pairs,
    show_requirements,
    show_task,
    show_wishes,
)
from agents.models import Role
from agents.offline.compose import Composer
from agents.plan import PlanDraft
from agents.prompting import prompt
from agents.roles import Brief, CannotBuild, NothingToPropose

MOST_REPEATS = 2
"""So often may one round bring a plan that was turned down; then it ends."""


@dataclass(frozen=True)
class ModelProposer(Modelled):
    """An `agents.roles.Proposer`.

    Its own reading of the sequence (`observed`) is part of the stored answer; the plan starts from the
    recorded one, since the next generation rests on that.
    """

    def propose(self, brief: Brief) -> PlanDraft:
        """Raises `NothingToPropose`, also for a task that could not be built on, and `ModelTrouble`."""
        _refuse_unbuildable(brief)
        proposal = structured(
            self.speaking,
            Role.PROPOSER,
            self.spec,
            subject=f"{brief.direction} round {len(brief.history)}",
            prompt=prompt(Role.PROPOSER),
            values={
                "direction": brief.direction,
                "effort": brief.effort,
                "generation": str(brief.generation),
                "pairs": show_pairs(brief.sequence),
                "requirements": show_requirements(brief.composition.requirements),
                "task": show_task(brief.task, room_for(self.spec)).text,
                "history": show_history(brief.history),
                "wishes": show_wishes(brief.wishes),
            },
            form=Proposal,
            name="proposal",
            check=_Checks(brief),
        )
        if proposal.nothing.strip():
            raise NothingToPropose(proposal.nothing.strip())
        return draft_of(brief, proposal)


def _refuse_unbuildable(brief: Brief) -> None:
    """Before anything is paid for."""
    try:
        Composer(brief.task, brief.composition)
    except CannotBuild as refusal:
        raise NothingToPropose(str(refusal)) from refusal


@dataclass
class _Checks:
    """What is wrong with a proposal: its form, the rules of edits, and what was proposed before."""

    brief: Brief
    repeats: int = 0

    def __call__(self, proposal: Proposal) -> list[str]:
        problems = problems_of(self.brief, proposal)
        if problems or proposal.nothing.strip():
            return problems
        plan = draft_of(self.brief, proposal)
        problems = list(self.brief.rules(plan)) if self.brief.rules else []
        return problems or self._missing(plan) or self._repeats(plan)

    def _missing(self, plan: PlanDraft) -> list[str]:
        """Tools that a plan brings in and the parent's image lacks: asked of the image, once for each."""
        known = {pair.tool for pair in self.brief.sequence.pairs}
        new = {change.pair.tool for change in plan.changes} - known
        unnamed = sorted(tool for tool in new if not command(tool))
        if unnamed:
            return [f"`tool` is {tool[:80]!r}, which is no name of one command" for tool in unnamed]
        there = self.brief.probe(tuple(sorted(new))) if new else frozenset()
        return [f"the parent's image has no command {tool}" for tool in sorted(new - there)]

    def _repeats(self, plan: PlanDraft) -> list[str]:
        """Raises `NoProgress` when the model was told so before."""
        earlier = [draft for draft, _ in self.brief.history]
        # What a person asked for may be a small thing.
        problem = repeated(plan, earlier, near=1.0 if self.brief.wishes else NEAR)
        if not problem:
            return []
        self.repeats += 1
        if self.repeats >= MOST_REPEATS:
            raise NoProgress(f"the model repeats itself: {problem}")
        return [problem]
