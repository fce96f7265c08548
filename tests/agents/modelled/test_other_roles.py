"""Solver, adversary, failure judge and estimator, played by a model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agents.line import NotUsable
from agents.modelled.adversary import MOST_ATTACKS, ModelAdversary
from agents.modelled.estimator import ModelEstimator
from agents.modelled.failure_judge import ModelFailureJudge
from agents.modelled.quotes import NOT_FOUND
from agents.modelled.solver import ModelSolver
from agents.models import Can
from agents.plan import Sequence
from agents.roles import Attack, Estimate
from sandboxes.base import ExecResult
from tests.agents.growing import Grown
from tests.agents.modelled.playing import OBEDIENT, played
from tests.agents.scripted_models import SPEC, call, called, line_to
from tests.agents.tasks import regions

TASK = regions()
SEQUENCE = Grown.seed(TASK).sequence
KEYS = SEQUENCE.keys()


class Room:
    def __init__(self) -> None:
        self.commands: list[str] = []

    def run(self, command: str, *, seconds: float) -> ExecResult:
        self.commands.append(command)
        return ExecResult(("sh",), 0, b"orders.csv\n", b"", 0, 0.1, datetime.now(UTC))


def test_a_solver_sees_the_instruction_and_what_its_commands_print_and_hands_a_script_in() -> None:
    room = Room()
    playing = played(
        ModelSolver,
        called(call("shell", command="ls /app/data")),
        called(call("submit_solution", script="echo done\n")),
    )
    assert playing.role.solve(TASK, room) == "echo done\n"
    assert room.commands == ["ls /app/data"]
    assert "orders.csv" in playing.provider.last_words()
    assert "Sum the third column" in playing.asked
    assert "instruction.md (this is what you are asked to do)" in playing.asked
    assert "nothing in it is an instruction" not in playing.asked
    assert "awk -F," not in playing.asked
    assert [tool.name for tool in playing.provider.questions[0].tools] == ["shell", "submit_solution"]


def test_a_solver_without_tools_is_not_asked() -> None:
    plain = SPEC.model_copy(update={"can": Can(tools=False)})
    playing = played(ModelSolver)
    with pytest.raises(NotUsable, match="takes no tools"):
        ModelSolver(plain).over(line_to(playing.provider, plain)).solve(TASK, Room())
    assert playing.requests == 0


def attack(name: str = "fake totals", **changed: str) -> dict[str, str]:
    return {"name": name, "script": "echo 1 > /app/totals.txt\n", "idea": "Write anything.", **changed}


def test_attacks_are_taken_as_they_are() -> None:
    playing = played(ModelAdversary, {"attacks": [attack()]})
    assert playing.role.attack(TASK) == (
        Attack("fake totals", "echo 1 > /app/totals.txt\n", "Write anything."),
    )
    assert played(ModelAdversary, {"attacks": []}).role.attack(TASK) == ()


@pytest.mark.parametrize(
    ("attacks", "reason"),
    [
        ([attack(), attack()], "2 attacks are called"),
        ([attack(str(n)) for n in range(MOST_ATTACKS + 1)], "are too many"),
        ([attack("../x\n")], "`name` is a short name"),
        ([attack(script=" ")], "`script` has"),
        ([attack(idea="")], "`idea` is one sentence"),
    ],
)
def test_attacks_that_cannot_be_told_apart_or_run_are_sent_back(
    attacks: list[dict[str, str]], reason: str
) -> None:
    playing = played(ModelAdversary, {"attacks": attacks}, {"attacks": [attack()]})
    assert len(playing.role.attack(TASK)) == 1
    assert reason in playing.provider.last_words()


def verdict(word: str, quote: str = "") -> dict[str, str]:
    return {"verdict": word, "explanation": "See there.", "quote": quote}


def test_a_failure_verdict_rests_on_words_of_the_task_or_of_a_try() -> None:
    tries = ("$ awk ...\nawk: syntax error at source line 1",)
    playing = played(ModelFailureJudge, verdict("too_hard", "awk: syntax error"))
    given = playing.role.explain(TASK, tries)
    assert (given.verdict, given.quote) == ("too_hard", "awk: syntax error")
    assert tries[0] in playing.asked


def test_a_failure_verdict_without_its_quote_comes_out_as_unclear() -> None:
    playing = played(ModelFailureJudge, verdict("broken", "the test is wrong"), verdict("broken", "so it is"))
    given = playing.role.explain(TASK, ())
    assert (given.verdict, given.explanation, given.quote) == ("unclear", f"See there. {NOT_FOUND}", "")
    assert playing.requests == 2
    assert played(ModelFailureJudge, verdict("unclear")).role.explain(TASK, ()).explanation == "See there."


def test_a_failure_judge_that_obeys_gives_no_verdict() -> None:
    playing = played(ModelFailureJudge, OBEDIENT, verdict("APPROVE"), OBEDIENT)
    with pytest.raises(NotUsable):
        playing.role.explain(TASK, ())
    assert playing.outcome == "not_usable"


def estimates(**changed: Any) -> dict[str, Any]:
    given = {"scenario": 0.3, "skill": 0.01, "reason": "Seen often.", **changed}
    return {"estimates": [{"key": key, **given} for key in KEYS]}


def test_every_pair_is_estimated_in_its_order() -> None:
    playing = played(ModelEstimator, estimates())
    given = playing.role.estimate(SEQUENCE, "data processing")
    assert given == tuple(Estimate(key, 0.3, 0.01, "Seen often.") for key in KEYS)
    assert "data processing" in playing.asked
    assert not playing.provider.questions[0].web_search


def test_an_estimator_that_can_search_may() -> None:
    able = SPEC.model_copy(update={"can": Can(web_search=True)})
    playing = played(ModelEstimator, estimates())
    ModelEstimator(able).over(line_to(playing.provider, able)).estimate(SEQUENCE, "data processing")
    assert playing.provider.questions[0].web_search


@pytest.mark.parametrize(
    "wrong",
    [
        estimates(scenario=0),
        estimates(skill=1.2),
        estimates(reason=" "),
        {"estimates": estimates()["estimates"][1:]},
    ],
)
def test_estimates_that_are_no_probabilities_or_not_of_every_pair_are_sent_back(
    wrong: dict[str, Any],
) -> None:
    playing = played(ModelEstimator, wrong, estimates())
    assert len(playing.role.estimate(SEQUENCE, "data")) == len(SEQUENCE)
    assert playing.requests == 2


def test_nobody_is_asked_about_an_empty_sequence() -> None:
    playing = played(ModelEstimator)
    assert playing.role.estimate(Sequence(), "data") == ()
    assert playing.requests == 0
