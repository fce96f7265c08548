"""The tools that a model calls, each by what it says, does and leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.plan import Composition
from agents.roles import Built, Evidence
from agents.tools.base import Submitted, Tool, ToolError, spec_of
from agents.tools.delete_file import DeleteFile
from agents.tools.list_files import ListFiles
from agents.tools.read_file import ReadFile
from agents.tools.replace_text import ReplaceText
from agents.tools.run_command import RunCommand
from agents.tools.run_gates import RunGates
from agents.tools.shell import Shell
from agents.tools.submit import Submit, SubmitArguments
from agents.tools.submit_solution import LONGEST, SubmitSolution
from agents.tools.write_file import WriteFile
from agents.workspace import Workspace
from sandboxes.base import ExecResult
from sandboxes.errors import BuildFailed, Kept, MachineFault, OutOfMemory, SandboxDied, TimedOut
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.tasks import words

BUILT = Built({}, (), Composition())


class Bench:
    """A workbench and a solver's room: answers with what a test gave it, and keeps what it was asked."""

    def __init__(self, answer: ExecResult | Exception | None = None, found: Any = ()) -> None:
        self.answer, self.found = answer, found
        self.asked: list[tuple[str, float]] = []
        self.tasks: list[Task] = []
        self.built: list[Built] = []

    def run(self, *given: Any, seconds: float) -> ExecResult:
        *tasks, command = given
        self.tasks += tasks
        self.asked.append((command, seconds))
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return self.answer

    def gates(self, built: Built) -> tuple[Evidence, ...]:
        self.built.append(built)
        if isinstance(self.found, Exception):
            raise self.found
        return tuple(self.found)


def result(stdout: bytes = b"", stderr: bytes = b"", *, code: int = 0, cut: int = 0) -> ExecResult:
    return ExecResult(("sh",), code, stdout, stderr, cut, 1.25, datetime.now(UTC))


def use(tool: Tool[Any], **arguments: Any) -> str:
    return tool.run(tool.arguments(**arguments)).text


def refusal(tool: Tool[Any], **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        use(tool, **arguments)
    return str(caught.value)


@pytest.fixture
def files() -> Workspace:
    return Workspace({**words().files, "environment/link": TaskFile(link="data")})


def all_tools(files: Workspace) -> list[Tool[Any]]:
    bench = Bench()
    return [
        ListFiles(files),
        ReadFile(files),
        WriteFile(files),
        ReplaceText(files),
        DeleteFile(files),
        RunCommand(files, bench),
        RunGates(bench, lambda: BUILT),
        Submit(lambda _: ()),
        Shell(bench),
        SubmitSolution(),
    ]


def test_every_tool_is_described_and_each_of_its_arguments_too(files: Workspace) -> None:
    for tool in all_tools(files):
        spec = spec_of(tool)
        assert len(spec.description) > 30
        assert spec.parameters["additionalProperties"] is False
        for name, field in spec.parameters["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"


def test_what_changes_the_shared_state_is_made_again_and_what_only_looks_is_not(files: Workspace) -> None:
    assert {tool.name: tool.replays for tool in all_tools(files)} == {
        "list_files": False,
        "read_file": False,
        "write_file": True,
        "replace_text": True,
        "delete_file": True,
        "run_command": False,
        "run_gates": False,
        "submit": True,
        "shell": True,
        "submit_solution": True,
    }


def test_a_list_shows_sizes_modes_and_where_a_link_leads(files: Workspace) -> None:
    files.write("tests/new/60-a", "#!/bin/sh\n")
    assert use(ListFiles(files), folder="tests/new") == "tests/new/60-a 10 executable"
    assert use(ListFiles(files), folder="environment/link") == "environment/link -> data (a link)"
    assert use(ListFiles(Workspace({}))) == "There are no files."


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({}, "tests/x, lines 1 to 3 of 3:\none\ntwo\nthree\n"),
        ({"first": 2}, "tests/x, lines 2 to 3 of 3:\ntwo\nthree\n"),
        ({"first": 2, "last": 2}, "tests/x, lines 2 to 2 of 3:\ntwo\n"),
        ({"last": 99}, "tests/x, lines 1 to 3 of 3:\none\ntwo\nthree\n"),
    ],
)
def test_lines_of_a_file_are_shown_as_they_are(files: Workspace, arguments: Any, shown: str) -> None:
    files.write("tests/x", "one\ntwo\nthree\n")
    assert use(ReadFile(files), path="tests/x", **arguments) == shown


def test_lines_that_a_file_has_not_are_an_error_that_says_how_many_there_are(files: Workspace) -> None:
    files.write("tests/x", "one\n")
    files.write("tests/empty", "")
    assert "has 1 lines" in refusal(ReadFile(files), path="tests/x", first=2)
    assert "none from 3 to 1" in refusal(ReadFile(files), path="tests/x", first=3, last=1)
    assert use(ReadFile(files), path="tests/empty") == "tests/empty is empty."


@settings(deadline=None)
@given(st.text("a\n\r", min_size=1, max_size=30))
def test_a_whole_file_is_shown_to_the_byte(text: str) -> None:
    files = Workspace({})
    files.write("tests/x", text)
    assert use(ReadFile(files), path="tests/x").partition("\n")[2] == text


def test_edits_say_what_they_did(files: Workspace) -> None:
    assert use(WriteFile(files), path="tests/x", text="#!/bin/sh\na\n") == (
        "tests/x has 12 bytes now, executable."
    )
    assert use(ReplaceText(files), path="tests/x", old="a", new="b") == "Replaced in tests/x, from line 2."
    assert files.read("tests/x") == "#!/bin/sh\nb\n"
    assert use(DeleteFile(files), path="tests/x") == "tests/x is gone."
    assert files.changes() == {}


def test_a_command_runs_on_the_files_as_they_are_now_and_is_kept(files: Workspace) -> None:
    bench = Bench(result(b"out\xff\n", b"err\n", code=3, cut=7))
    tool = RunCommand(files, bench)
    files.write("tests/x", "x")
    done = tool.run(tool.arguments(command="ls", seconds=5))
    assert bench.asked == [("ls", 5)]
    assert "tests/x" in bench.tasks[0]
    assert done.commands == (bench.answer,)
    assert done.text == (
        "Exit code 3, after 1.2 s; 7 bytes of what it printed were left out.\n"
        "Standard output:\nout\ufffd\n\nStandard errors:\nerr\n"
    )


def test_a_command_that_prints_nothing_says_so_and_gets_no_more_time_than_there_is(files: Workspace) -> None:
    bench = Bench(result())
    assert use(RunCommand(files, bench, longest=30), command="true", seconds=9_999) == (
        "Exit code 0, after 1.2 s. It printed nothing."
    )
    assert bench.asked == [("true", 30)]


def over(kind: Callable[..., Exception], *arguments: Any) -> Exception:
    problem = kind(*arguments)
    problem.kept = Kept(b"so far", b"", 0)  # type: ignore[attr-defined]
    return problem


@pytest.mark.parametrize(
    "problem", [over(TimedOut, "ended after 5 s", 5.0), over(OutOfMemory, "no memory left")]
)
def test_a_limit_is_a_result_with_what_was_printed_by_then(files: Workspace, problem: Exception) -> None:
    for tool in (RunCommand(files, Bench(problem)), Shell(Bench(problem))):
        done = tool.run(tool.arguments(command="sleep 9"))  # type: ignore[arg-type]
        (kept,) = done.commands
        assert done.text == f"It was ended: {problem}.\nStandard output:\nso far"
        assert (kept.cut_short, kept.stdout, kept.exit_code) == (str(problem), b"so far", -1)


def test_an_image_that_does_not_build_is_told_with_its_log(files: Workspace) -> None:
    problem = BuildFailed("step 3 failed", "no such file: x")
    for tool, more in (
        (RunCommand(files, Bench(problem)), {"command": "ls"}),
        (RunGates(Bench(found=problem), lambda: BUILT), {}),
    ):
        said = refusal(tool, **more)
        assert "step 3 failed" in said and "no such file: x" in said


@pytest.mark.parametrize("fault", [MachineFault("no engine"), SandboxDied("swept")])
def test_a_fault_that_is_not_the_models_passes_through(files: Workspace, fault: Exception) -> None:
    for tool, more in (
        (RunCommand(files, Bench(fault)), {"command": "ls"}),
        (Shell(Bench(fault)), {"command": "ls"}),
        (RunGates(Bench(found=fault), lambda: BUILT), {}),
    ):
        with pytest.raises(type(fault)):
            use(tool, **more)


def test_no_command_runs_on_files_that_are_no_task() -> None:
    bench = Bench(result())
    assert "no task.toml" in refusal(RunCommand(Workspace({}), bench), command="ls")
    assert bench.asked == []


def test_the_gates_say_what_they_found_and_nothing_is_submitted() -> None:
    found = [Evidence("oracle", "failed", "the reference fails", "unit 60-a: 1"), Evidence("x", "error", "y")]
    bench = Bench(found=found)
    assert use(RunGates(bench, lambda: BUILT)) == (
        "oracle: failed. the reference fails\nunit 60-a: 1\n\nx: error. y"
    )
    assert bench.built == [BUILT]
    assert use(RunGates(Bench(), lambda: BUILT)) == "The quick gates pass."


SUBMISSION = {
    "bindings": [
        {
            "key": "k",
            "solution_block": "solution/steps/60-a",
            "test_units": ["tests/units/60-a"],
            "environment_paths": [],
            "requirement": "Write it.",
        }
    ],
    "artifacts": ["/app/out"],
}


def test_a_submission_without_complaints_ends_the_work_with_itself() -> None:
    with pytest.raises(Submitted) as caught:
        use(Submit(lambda _: []), **SUBMISSION)
    value = caught.value.value
    assert isinstance(value, SubmitArguments)
    assert value.bindings[0].test_units == ("tests/units/60-a",)
    assert value.artifacts == ("/app/out",) and value.notes == ""


def test_complaints_keep_a_submission_back_and_are_all_told() -> None:
    said = refusal(
        Submit(lambda given: [f"{given.bindings[0].key} is bound twice", "no units"]), **SUBMISSION
    )
    assert said == "Nothing was handed in:\n- k is bound twice\n- no units"


def test_a_solution_is_its_script_and_an_empty_or_endless_one_is_refused() -> None:
    with pytest.raises(Submitted) as caught:
        use(SubmitSolution(), script="#!/bin/sh\ntrue\n")
    assert caught.value.value == "#!/bin/sh\ntrue\n"
    assert "is empty" in refusal(SubmitSolution(), script=" \n")
    assert "more than" in refusal(SubmitSolution(), script="x" * (LONGEST + 1))


def test_a_shell_command_runs_in_the_room_with_its_limit() -> None:
    room = Bench(result(b"hi\n"))
    assert "hi" in use(Shell(room, longest=10), command="echo hi", seconds=99)
    assert room.asked == [("echo hi", 10)] and room.tasks == []
