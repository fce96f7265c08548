"""The failure judge: whether a task that nobody solved is too hard or broken."""

from __future__ import annotations

from dataclasses import dataclass

from agents.answers import structured
from agents.modelled.forms import FailureAnswer
from agents.modelled.quotes import Quotes
from agents.modelled.role import Modelled
from agents.modelled.showing import NONE, ends, room_for, show_task
from agents.models import Role
from agents.prompting import prompt
from agents.quoting import quoted
from agents.roles import FailureVerdict
from sandboxes.task import Task

UNCLEAR = "unclear"
TRY_CHARS = 6_000


@dataclass(frozen=True)
class ModelFailureJudge(Modelled):
    """An `agents.roles.FailureJudge`. A verdict whose quote is not found after all comes out as `unclear`."""

    def explain(self, task: Task, tries: tuple[str, ...]) -> FailureVerdict:
        """Raises `agents.line.ModelTrouble`."""
        shown = show_task(task, room_for(self.spec))
        checks = _Checks(Quotes((*shown.texts, *(end for text in tries for end in ends(text, TRY_CHARS)))))
        answer = structured(
            self.speaking,
            Role.FAILURE_JUDGE,
            self.spec,
            subject="failure",
            prompt=prompt(Role.FAILURE_JUDGE),
            values={"task": shown.text, "tries": _tries(tries)},
            form=FailureAnswer,
            name="failure_verdict",
            check=checks,
        )
        needed = answer.verdict != UNCLEAR
        explanation, quote = checks.quotes.kept(answer.explanation, answer.quote, needed=needed)
        return FailureVerdict(answer.verdict if quote else UNCLEAR, explanation, quote)


def _tries(tries: tuple[str, ...]) -> str:
    parts = [quoted(f"try {number}", text, limit=TRY_CHARS) for number, text in enumerate(tries, start=1)]
    return "\n\n".join(parts) or NONE


@dataclass
class _Checks:
    """About the quote it asks once."""

    quotes: Quotes
    asked: bool = False

    def __call__(self, answer: FailureAnswer) -> list[str]:
        if not answer.explanation.strip():
            return ["the explanation is empty"]
        if self.asked or answer.verdict == UNCLEAR:
            return []
        problems = self.quotes.problems([(answer.verdict, answer.quote)])
        self.asked = bool(problems)
        return problems
