"""A rubric review by a model: each criterion exactly once, with quotes that code looks up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agents.answers import structured
from agents.modelled.forms import GivenVerdict, RubricAnswer
from agents.modelled.quotes import Quotes
from agents.modelled.role import Modelled
from agents.models import Role
from agents.plan import CriterionVerdict, Judgement, Verdict
from agents.prompting import prompt
from agents.rubrics import Rubric

MOST_CHARS = 2_000
"""Characters of an explanation or a quote."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: `values` fill the prompt, `texts` are where a quote has to occur."""

    role: Role
    subject: str
    form: str
    values: Mapping[str, str]
    texts: tuple[str, ...]
    rubric: Rubric


def judge(judge: Modelled, case: Case) -> Judgement:
    """Raises `agents.line.ModelTrouble` where no usable answer comes."""
    checks = _Checks(case.rubric, Quotes(case.texts))
    answer = structured(
        judge.speaking,
        case.role,
        judge.spec,
        subject=case.subject,
        prompt=prompt(case.role),
        values={**case.values, "rubric": rubric_words(case.rubric)},
        form=RubricAnswer,
        name=case.form,
        check=checks,
    )
    given = {verdict.criterion: verdict for verdict in answer.verdicts}
    return Judgement(verdicts=tuple(_stored(given[key], checks.quotes) for key in case.rubric.keys))


def rubric_words(rubric: Rubric) -> str:
    """The rubric is ours, so it stands in no fence."""
    return "\n".join(f"- {each.key} ({each.title}): {each.question}" for each in rubric.criteria)


def _stored(given: GivenVerdict, quotes: Quotes) -> CriterionVerdict:
    verdict = Verdict(given.verdict)
    explanation, quote = quotes.kept(given.explanation, given.quote, needed=verdict is Verdict.FAIL)
    return CriterionVerdict(criterion=given.criterion, verdict=verdict, explanation=explanation, quote=quote)


@dataclass
class _Checks:
    """What is wrong with an answer. About quotes it asks once: a judge may be right without one."""

    rubric: Rubric
    quotes: Quotes
    asked: bool = field(default=False)

    def __call__(self, answer: RubricAnswer) -> list[str]:
        problems = [*self._wrong_keys(answer), *_wrong_words(answer)]
        if problems or self.asked:
            return problems
        failures = [(each.criterion, each.quote) for each in answer.verdicts if each.verdict == "fail"]
        problems = self.quotes.problems(failures)
        self.asked = bool(problems)
        return problems

    def _wrong_keys(self, answer: RubricAnswer) -> Iterator[str]:
        given = Counter(verdict.criterion for verdict in answer.verdicts)
        for key in self.rubric.keys:
            if given[key] != 1:
                yield f"criterion {key} was answered {given[key]} times; answer it once"
        for key in given.keys() - set(self.rubric.keys):
            yield f"there is no criterion {key[:80]!r} in the rubric"


def _wrong_words(answer: RubricAnswer) -> Iterator[str]:
    for verdict in answer.verdicts:
        if not verdict.explanation.strip():
            yield f"{verdict.criterion[:80]}: the explanation is empty"
        elif max(len(verdict.explanation), len(verdict.quote)) > MOST_CHARS:
            yield f"{verdict.criterion[:80]}: no more than {MOST_CHARS:,} characters in a text"
