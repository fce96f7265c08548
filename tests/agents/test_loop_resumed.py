"""The agent loop, taken up again after a killed worker."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agents.loop import Bounds, converse
from agents.memory_line import MemoryConversation
from agents.models import ModelSpec, Role
from agents.providers.base import Question, Reply, Results, Turn
from agents.providers.errors import ServerBroke, TooLong
from agents.tools.shell import Shell
from agents.tools.submit_solution import SubmitSolution
from agents.turns import tokens_of
from sandboxes.base import ExecResult
from tests.agents.scripted_models import (
    PROMPT,
    SPEC,
    VALUES,
    Scripted,
    Step,
    call,
    called,
    cut,
    line_to,
    only,
    said,
)
from tests.agents.talking import SMALL, Bench, Desk, submit, write


class Killed(BaseException):
    """A worker is gone: nothing catches this."""


class Mortal(MemoryConversation):
    """Its process ends at the n-th thing that it does, before or after that was stored."""

    left: int | None = None

    def _lives(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise Killed

    def ask(self, number: int, question: Question) -> Reply:
        self._lives()
        reply = super().ask(number, question)
        self._lives()
        return reply

    def keep_results(self, *args: Any) -> None:
        self._lives()
        super().keep_results(*args)
        self._lives()

    def end(self, outcome: str, *, note: str = "") -> None:
        self._lives()
        super().end(outcome, note=note)


class OneConversation:
    """A line with one conversation, which dies at `left`."""

    def __init__(self, provider: Scripted, spec: ModelSpec, left: int | None) -> None:
        self.talk = Mortal(spec, provider, Role.MODIFIER, "", {})
        self.talk.left = left
        self.openings: list[Question] = []

    def open(self, *_: Any, opening: Question, **__: Any) -> MemoryConversation:
        self.openings.append(opening)
        self.talk.reached = -1
        return self.talk


def script() -> list[Step]:
    edit = called(
        call("write_file", path="tests/a", text="one"),
        call("run_command", command="first"),
        call("write_file", path="../a", text="no"),
    )
    return [
        edit,
        said("thinking aloud"),
        cut("", call("write_file", path="tests/a", text="half")),
        called(call("read_file", path="tests/a")),
        said(""),
        write("tests/b", "two " * 1_500),
        write("tests/c", "two " * 1_500),
        called(call("run_command", command="second")),
        write("tests/a", "three"),
        called(call("submit_solution", script=" ")),
        submit(),
    ]


def run_to_its_end(
    left: int | None, spec: ModelSpec, server: type[Scripted] = Scripted
) -> tuple[list[Desk], Scripted, OneConversation]:
    provider = server(script())
    line = OneConversation(provider, spec, left)
    bench, sittings = Bench(), []
    while len(sittings) < 3:
        sittings.append(Desk(bench))
        try:
            assert sittings[-1].talk(line, spec=spec) == "done"
        except Killed:
            continue
        return sittings, provider, line
    raise AssertionError("killed more than once")


@pytest.mark.parametrize("spec", [SPEC, SMALL], ids=["room for all", "pairs left out"])
def test_killed_at_any_moment_it_ends_the_same_and_no_answered_request_is_asked_twice(
    spec: ModelSpec,
) -> None:
    (whole,), unbroken, _ = run_to_its_end(None, spec)
    assert ("are left out here" in repr(unbroken.questions)) == (spec is SMALL)
    for left in range(200):
        sittings, provider, line = run_to_its_end(left, spec)
        assert sittings[-1].files.files == whole.files.files
        assert [number for number, _ in line.talk.asked] == list(range(11))
        assert _texts(provider) == _texts(unbroken)
        assert line.openings[0] == line.openings[-1]
        assert line.talk.outcome == "answered"
        ran = whole.bench.ran
        again = [command for command in set(ran) if sittings[-1].bench.ran.count(command) > 1]
        # Only a command whose result was never stored runs a second time.
        assert len(again) <= 1 and len(line.talk.commands) == len(ran)
        if len(sittings) == 1:
            assert left > 25
            return
    raise AssertionError("it never came to its end")


class Narrow(Scripted):
    """A server with room for few tokens: it says so of every longer question, however often it is asked."""

    def reply(self, question: Question) -> Reply:
        if tokens_of(question.turns) > 3_000:
            raise TooLong("the prompt is too long")
        return super().reply(question)


def test_killed_at_any_moment_at_a_server_that_takes_less_than_it_says_it_ends_the_same() -> None:
    (whole,), unbroken, line = run_to_its_end(None, SPEC, Narrow)
    numbers = sorted(line.talk.replies)
    assert numbers[-1] >= len(numbers), "some requests were turned down"
    for left in range(0, 60, 3):
        sittings, provider, line = run_to_its_end(left, SPEC, Narrow)
        assert sittings[-1].files.files == whole.files.files
        assert sorted(line.talk.replies) == numbers
        assert _texts(provider) == _texts(unbroken)


def _texts(provider: Scripted) -> list[list[str]]:
    """What was sent, without the ids of the calls, which every script makes anew."""
    return [[_text(turn) for turn in question.turns] for question in provider.questions]


def _text(turn: Turn) -> str:
    results = [result.text for result in turn.results] if isinstance(turn, Results) else []
    return "\n".join([type(turn).__name__, turn.text, *results])


def test_a_command_whose_result_was_stored_is_not_run_again() -> None:
    provider = Scripted([called(call("run_command", command="once")), ServerBroke("gone"), submit()])
    line, bench = line_to(provider), Bench()
    with pytest.raises(ServerBroke):
        Desk(bench).talk(line)
    assert Desk(bench).talk(line) == "done"
    assert bench.ran == ["once"]


def test_an_answer_that_was_paid_for_is_used_although_it_passed_a_bound() -> None:
    provider = Scripted([write("tests/a"), submit()])
    line = OneConversation(provider, SPEC, left=5)  # the second answer is stored, its results are not
    with pytest.raises(Killed):
        Desk().talk(line, tokens=40)
    assert sorted(line.talk.replies) == [0, 1] and sorted(line.talk.kept) == [0]
    assert Desk().talk(line, tokens=40) == "done"


class Room:
    """A solver's room: what a command leaves is seen by those after it."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, command: str, *, seconds: float) -> ExecResult:
        self.ran.append(command)
        return ExecResult(("sh",), 0, " ".join(self.ran).encode(), b"", 0, 0.1, datetime.now(UTC))


def test_a_solvers_new_room_is_brought_to_where_the_old_one_was() -> None:
    steps = [called(call("shell", command=name)) for name in ("one", "two")]
    provider = Scripted([*steps, ServerBroke("gone"), called(call("shell", command="three")), submit()])
    line, rooms = line_to(provider), [Room(), Room()]
    for room, ends in zip(rooms, (False, True), strict=True):
        try:
            value = converse(
                line,
                Role.SOLVER,
                SPEC,
                subject="rollout",
                prompt=PROMPT,
                values=VALUES,
                tools=(Shell(room), SubmitSolution()),
                bounds=Bounds(),
            )
        except ServerBroke:
            assert not ends
        else:
            assert ends and value == "done"
    assert rooms[0].ran == ["one", "two"]
    assert rooms[1].ran == ["one", "two", "three"]
    assert "one two three" in only(line).kept[2][0].text
    assert len(only(line).commands) == 3
