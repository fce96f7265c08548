"""The estimator: p_T of each pair, how usual its scenario and its skill are in all work of the domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agents.answers import structured
from agents.modelled.forms import Estimates
from agents.modelled.role import Modelled
from agents.modelled.showing import show_pairs
from agents.models import Role
from agents.plan import Sequence
from agents.prompting import prompt
from agents.quoting import quoted
from agents.roles import Estimate


@dataclass(frozen=True)
class ModelEstimator(Modelled):
    """An `agents.roles.Estimator`. It searches the web where its model can."""

    def estimate(self, sequence: Sequence, domain: str) -> tuple[Estimate, ...]:
        """Raises `agents.line.ModelTrouble`. An empty sequence is asked of nobody."""
        if not sequence.pairs:
            return ()
        answer = structured(
            self.speaking,
            Role.ESTIMATOR,
            self.spec,
            subject="estimates",
            prompt=prompt(Role.ESTIMATOR),
            values={"domain": quoted("domain", domain), "pairs": show_pairs(sequence)},
            form=Estimates,
            name="estimates",
            check=lambda given: list(_problems(sequence, given)),
            web_search=self.spec.can.web_search,
        )
        return tuple(Estimate(each.key, each.scenario, each.skill, each.reason) for each in answer.estimates)


def _problems(sequence: Sequence, answer: Estimates) -> Iterator[str]:
    given = tuple(each.key for each in answer.estimates)
    if given != sequence.keys():
        yield f"the keys have to be {', '.join(sequence.keys())}, each once and in this order"
    for each in answer.estimates:
        if not (0 < each.scenario <= 1 and 0 < each.skill <= 1):
            yield f"{each.key[:80]}: a probability is above 0 and at most 1"
        if not each.reason.strip():
            yield f"{each.key[:80]}: the reason is empty"
