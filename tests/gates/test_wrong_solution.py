"""wrong_solution: what is made of a reference, and what the gate says of tests that overlook it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lineages.gates import wrong_solution
from lineages.gates.base import Outcome, Result
from lineages.gates.mutants import Files, Kind, Mutant, outputs, sample, trying
from lineages.gates.mutants.outputs import lost, more_by, output_mutants
from lineages.gates.mutants.solutions import solution_mutants
from lineages.gates.mutants.trying import Tried, named_paths, with_outputs
from lineages.gates.trials import solved
from sandboxes.base import Limits
from sandboxes.files import TaskFile
from sandboxes.handover import Delivery
from sandboxes.task import Task
from sandboxes.trial import Solved, Trial, TrialOutcome
from tests.gates.subjects import subject

SUM = "/app/out/sum.txt"
CONFIG = 'schema_version = "1.4"\nartifacts = ["/app/out"]\n\n[verifier]\nenvironment_mode = "separate"\n'
INSTRUCTION = "Write the sum of each line of /app/data/numbers.txt, one a line, to /app/out/sum.txt.\n"
SOLVE = """#!/bin/bash
set -eu
mkdir -p /app/out
awk '{ print $1 + $2 }' /app/data/numbers.txt > /app/out/sum.txt
"""
NUMBERS = "3 4\n20 1\n100 9\n"
REWARD = "mkdir -p /logs/verifier\nif {check}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
STRICT = "printf '7\\n21\\n109\\n' | cmp -s - /app/out/sum.txt"
LAX = "grep -q 21 /app/out/sum.txt"


def task(
    check: str = STRICT,
    files: Mapping[str, str] | None = None,
    *,
    solve: str = SOLVE,
    separate: bool = True,
) -> Task:
    texts = {
        "task.toml": CONFIG if separate else 'schema_version = "1.4"\n',
        "instruction.md": INSTRUCTION,
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY numbers.txt /app/data/\n",
        "environment/numbers.txt": NUMBERS,
        "solution/solve.sh": solve,
        "tests/test.sh": "#!/bin/bash\n" + REWARD.format(check=check),
        **({"tests/Dockerfile": "FROM debian:bookworm-slim\nCOPY . /tests/\n"} if separate else {}),
        **(files or {}),
    }
    return Task.of(
        {path: TaskFile.text(text, executable=path.endswith(".sh")) for path, text in texts.items()}
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six mutants are as good here as twelve."""
    monkeypatch.setattr(wrong_solution, "MOST", 6)


@dataclass
class Desk:
    """Mutants of files in memory, graded by a function: the judging alone, without a sandbox."""

    passes: Callable[[Files], bool]
    reference: Files
    before: Files = field(default_factory=dict)
    runs: Callable[[Mutant], Files] = lambda mutant: {}
    second: Files | None = None
    left_out: Sequence[str] = ()
    first: Trial = field(init=False)

    def __post_init__(self) -> None:
        self.first = self._graded(self.reference)

    def output(self, mutant: Mutant) -> Tried:
        changed = {**self.reference, **mutant.outputs}
        return Tried(self._graded({path: file for path, file in changed.items() if file}))

    def solution(self, mutant: Mutant) -> Tried:
        left = self.runs(mutant)
        return Tried(self._graded(left), left)

    def again(self) -> Files:
        return self.reference if self.second is None else self.second

    def _graded(self, left: Files) -> Trial:
        outcome = TrialOutcome.PASSED if self.passes(left) else TrialOutcome.FAILED
        return Trial(outcome, None, "", weaker=False, commands=(), artifacts=left, seconds=0)

    def judged(self, instruction: str = INSTRUCTION, more: Mapping[str, str] | None = None) -> Outcome:
        """What the gate says of all mutants of the outputs."""
        asked = task(files={"instruction.md": instruction, **(more or {})})
        return wrong_solution.judge(asked, self, output_mutants(self.reference, self.before))


def texts(**contents: str) -> Files:
    return {f"/app/out/{name.replace('_', '.')}": TaskFile.text(text) for name, text in contents.items()}


def failures(outcome: Outcome) -> list[str]:
    return [finding.text for finding in outcome.findings if not finding.warning]


def warnings(outcome: Outcome) -> list[str]:
    return [finding.text for finding in outcome.findings if finding.warning]


SUMS = texts(sum_txt="7\n21\n109\n")


def mutants_of(content: str, before: str | None = None) -> dict[str, Mutant]:
    there = {SUM: TaskFile.text(before)} if before is not None else {}
    return {each.what: each for each in output_mutants({SUM: TaskFile.text(content)}, there)}


def changed_to(mutant: Mutant) -> str | None:
    file = mutant.outputs[mutant.place]
    return file.data.decode() if file else None


def test_tests_that_compare_everything_turn_every_wrong_solution_down(few: None) -> None:
    outcome = wrong_solution.check(subject(task=task()))
    assert outcome.result is Result.PASSED, outcome.detail
    assert outcome.findings == ()
    assert outcome.runs == outcome.runs_passed
    assert re.search(r"number off by one: (\d) of \1 turned down", outcome.detail)


def test_an_output_of_which_no_test_reads_all_is_named_with_what_the_tests_said(few: None) -> None:
    outcome = wrong_solution.check(subject(task=task(LAX)))
    assert outcome.result is Result.FAILED
    assert failures(outcome)
    assert all(SUM in text for text in failures(outcome))
    assert not any("no file there" in text for text in failures(outcome))
    assert outcome.runs_passed < outcome.runs
    assert outcome.commands


def test_in_shared_mode_outputs_are_changed_in_the_solvers_own_sandbox(few: None) -> None:
    outcome = wrong_solution.check(subject(task=task(separate=False)))
    assert (outcome.result, outcome.weaker) == (Result.PASSED, True), outcome.detail
    assert re.search(r"number off by one: (\d) of \1 turned down", outcome.detail)
    assert outcome.runs == outcome.runs_passed >= 3


def test_a_folder_that_is_too_large_to_look_at_is_told_in_shared_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wrong_solution, "MOST", 3)
    big = f"{SOLVE}mkdir -p /app/big\nhead -c 5000 /dev/zero > /app/big/file\n"
    one = task(
        solve=big, separate=False, files={"instruction.md": f"{INSTRUCTION}Fill the folder /app/big/.\n"}
    )
    outcome = wrong_solution.check(subject(task=one, limits=Limits(memory_mb=256, read_bytes=3000)))
    (said,) = [text for text in warnings(outcome) if "/app/big " in text]
    assert "3,000 bytes" in said
    assert (outcome.result, outcome.runs >= 1) == (Result.PASSED, True), outcome.summary


def test_an_output_that_is_a_link_is_told_in_shared_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_solution, "MOST", 1)
    linked = f"{SOLVE}mv /app/out/sum.txt /srv/sum\nln -s /srv/sum /app/out/sum.txt\n"
    outcome = wrong_solution.check(subject(task=task(solve=linked, separate=False)))
    told = warnings(outcome)
    assert trying.NOTHING_SEEN in told
    assert f"{SUM} is a link, a special file or behind a link; it is not changed." in told
    assert (outcome.result, outcome.runs) == (Result.NOT_APPLICABLE, 0)


def test_a_reference_that_passes_only_once_is_a_failure_in_shared_mode() -> None:
    one = subject(task=task(separate=False))
    solved(one)
    again = replace(one, task=task("false", separate=False))
    outcome = wrong_solution.check(again)
    assert outcome.result is Result.FAILED
    assert outcome.summary.startswith("The reference passed once and not the next time")


def test_a_mutant_that_never_ends_is_turned_down_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "LEAST_SECONDS", 1.0)
    monkeypatch.setattr(trying, "TIMES_AS_LONG", 0.1)
    endless = Mutant(
        Kind.COMMAND,
        "solution/solve.sh",
        "`x` dropped",
        solution={"solution/solve.sh": TaskFile.text("while :; do sleep 1; done\n", executable=True)},
    )
    one = subject(task=task())
    outcome = wrong_solution.judge(one.task, trying.trying(one), [endless])
    assert (outcome.result, outcome.runs_passed, outcome.runs) == (Result.PASSED, 1, 1)
    assert "timeout: `x` dropped" in outcome.detail


def test_nothing_is_said_where_the_reference_does_not_pass() -> None:
    assert wrong_solution.check(subject(task=task("false"))).result is Result.NOT_RUN


def test_an_output_that_need_not_be_there_is_a_failure_with_what_to_ask_instead() -> None:
    outcome = Desk(lambda left: True, SUMS).judged()
    missing = next(finding for finding in outcome.findings if "no file there" in finding.text)
    assert (missing.warning, missing.path, missing.repair) == (False, "tests/test.sh", f"[ -s {SUM} ]")
    assert outcome.result is Result.FAILED
    assert (outcome.runs_passed, outcome.runs) == (0, len(outcome.findings))


def test_an_output_that_the_instruction_does_not_name_is_a_warning() -> None:
    both = {**SUMS, **texts(trace_log="3 lines\n")}
    outcome = Desk(lambda left: left.get(SUM) == SUMS[SUM], both).judged()
    assert outcome.result is Result.PASSED
    assert warnings(outcome)
    assert all("/app/out/trace.log" in text for text in warnings(outcome))


def test_an_output_named_in_a_description_that_the_instruction_names_counts_as_named() -> None:
    told = {"environment/README.md": "Write the sums to sum.txt in /app/out.\n"}
    desk = Desk(lambda left: True, SUMS)
    assert failures(desk.judged("Do what /app/README.md says.\n", told))
    assert not failures(desk.judged("Write the sums somewhere.\n", told))


def test_another_order_of_lines_fails_only_where_the_instruction_asks_for_one() -> None:
    desk = Desk(lambda left: SUM in left and sorted(left[SUM].data) == sorted(SUMS[SUM].data), SUMS)
    loose = desk.judged()
    assert (loose.result, failures(loose)) == (Result.PASSED, [])
    assert any("exchanged" in text and "does not ask for an order" in text for text in warnings(loose))
    assert any(
        "lines 2 and 3 exchanged" in text
        for text in failures(desk.judged(INSTRUCTION + "Keep them in order.\n"))
    )


def test_a_line_twice_fails_only_where_the_instruction_asks_for_each_once() -> None:
    desk = Desk(lambda left: SUM in left and set(left[SUM].data.split()) == {b"7", b"21", b"109"}, SUMS)
    assert any("there twice" in text for text in warnings(desk.judged()))
    assert any("there twice" in text for text in failures(desk.judged(INSTRUCTION + "Each line once.\n")))


def test_a_program_may_be_written_otherwise_but_not_be_missing() -> None:
    script = texts(sum_sh="#!/bin/sh\nexec echo 21\n# three\n")
    outcome = Desk(lambda left: True, script).judged("Write /app/out/sum.sh, which prints 21.\n")
    assert any("it is a program" in text and "dropped" in text for text in warnings(outcome))
    assert [text for text in failures(outcome) if "no file" not in text and "empty file" not in text] == []
    assert len(failures(outcome)) == 2


def test_what_differs_from_run_to_run_accuses_no_test() -> None:
    desk = Desk(lambda left: SUM in left, SUMS, second=texts(sum_txt="7\n21\n110\n"))
    outcome = desk.judged()
    assert any("off by one" in text and "another content each time" in text for text in warnings(outcome))
    assert not any("off by one" in text for text in failures(outcome))


def test_a_mutant_that_leaves_the_same_bytes_is_not_counted() -> None:
    desk = Desk(lambda left: True, SUMS, runs=lambda mutant: SUMS)
    outcome = wrong_solution.judge(task(), desk, solution_mutants(task()))
    assert (outcome.result, outcome.runs, outcome.findings) == (Result.NOT_APPLICABLE, 0, ())
    assert "2 left what the reference leaves" in outcome.detail


def test_an_emptied_step_with_full_reward_fails_and_is_named() -> None:
    steps = {"solution/steps/50-seed": SOLVE, "solution/steps/51-note": "echo 12 > /app/out/note.txt\n"}
    both = {**SUMS, **texts(note_txt="12\n")}
    desk = Desk(lambda left: SUM in left, both, runs=lambda each: SUMS if "51" in each.place else {})
    outcome = wrong_solution.judge(task(files=steps), desk, solution_mutants(task(files=steps)))
    assert [finding.path for finding in outcome.findings] == ["solution/steps/51-note"]
    assert failures(outcome) == [
        "With solution/steps/51-note emptied the full reward is still given, "
        "though /app/out/note.txt is missing."
    ]


def test_a_step_that_nothing_hangs_on_is_a_warning() -> None:
    steps = {"solution/steps/50-seed": SOLVE, "solution/steps/51-note": "echo 12\n"}
    desk = Desk(lambda left: SUM in left, SUMS, runs=lambda each: SUMS if "51" in each.place else {})
    outcome = wrong_solution.judge(task(files=steps), desk, solution_mutants(task(files=steps)))
    assert (outcome.result, outcome.runs_passed, outcome.runs) == (Result.PASSED, 1, 1)
    assert warnings(outcome) == [
        "With solution/steps/51-note emptied nothing else is left: no output hangs on this step."
    ]


def test_a_step_missed_only_where_the_reference_differs_from_itself_is_a_warning() -> None:
    step = {"solution/steps/50-seed": SOLVE}
    other = texts(sum_txt="another\n")
    desk = Desk(lambda left: True, SUMS, runs=lambda mutant: other, second=other)
    outcome = wrong_solution.judge(task(files=step), desk, solution_mutants(task(files=step)))
    assert (outcome.result, len(warnings(outcome))) == (Result.PASSED, 1)


@pytest.mark.parametrize(
    ("left", "fails"),
    [
        ("109\n21\n7\n", False),
        (" 7\n21\n109\n", False),
        ("7\n21\n109\n109\n", False),
        ("7\n22\n109\n", True),
        ("", True),
    ],
)
def test_a_wrong_solution_fails_the_task_where_an_output_lost_something(left: str, fails: bool) -> None:
    desk = Desk(lambda left: True, SUMS, runs=lambda mutant: texts(sum_txt=left))
    outcome = wrong_solution.judge(task(), desk, solution_mutants(task())[:1])
    assert (outcome.result is Result.FAILED) is fails
    assert [finding.line for finding in outcome.findings] == [3]


def test_each_mistake_changes_one_place_of_an_output() -> None:
    found = {what: changed_to(mutant) for what, mutant in mutants_of("id,n\na,9\nb,10\n", "old\n").items()}
    assert found == {
        "no file there": None,
        "an empty file there": "",
        "the file as it was before the work": "old\n",
        "its last line dropped": "id,n\na,9\n",
        "its line 2 dropped": "id,n\nb,10\n",
        "its line 2 there twice": "id,n\na,9\na,9\nb,10\n",
        "its lines 2 and 3 exchanged": "id,n\nb,10\na,9\n",
        "9 off by one (10) in its line 2": "id,n\na,10\nb,10\n",
        "10 off by one (11) in its line 3": "id,n\na,9\nb,11\n",
    }


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("x\0y 1\n", {Kind.MISSING, Kind.EMPTIED}),
        ("# 3 of a remark\nword\n", {Kind.MISSING, Kind.EMPTIED, Kind.DROPPED, Kind.DOUBLED}),
        ("a1 3fb2 v1.2.3\n", {Kind.MISSING, Kind.EMPTIED, Kind.DOUBLED}),
    ],
)
def test_what_no_mistake_can_be_made_in_is_left_alone(content: str, kinds: set[Kind]) -> None:
    assert {mutant.kind for mutant in mutants_of(content).values()} == kinds


def test_a_number_of_each_column_is_changed() -> None:
    rows = "".join(f"{n},x,{n + 100},{n + 200}\n" for n in range(10, 20))
    wrong = {
        mutant.what.split()[0][0] for mutant in mutants_of(rows).values() if mutant.kind is Kind.OFF_BY_ONE
    }
    assert wrong == {"1", "2"}
    assert len([each for each in mutants_of(rows).values() if each.kind is Kind.OFF_BY_ONE]) == 5


def test_of_too_much_no_line_is_changed_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST_BYTES", 6)
    monkeypatch.setattr(outputs, "MOST_BYTES_IN_ALL", 8)
    made = texts(a_txt="1\n2\n3\n", b_txt="4\n5\n", c_txt="1\n2\n3\n4\n")
    kinds = {path: {each.kind for each in output_mutants(made, {}, [path])} for path in made}
    assert [Kind.DROPPED in each for each in kinds.values()] == [True, True, False]
    told = wrong_solution._possible(task(), Desk(lambda left: True, made)).left_out
    assert [(finding.text, finding.warning) for finding in told] == [
        ("/app/out/b.txt, /app/out/c.txt: too much to change a line or a number in it.", True)
    ]


def test_of_too_many_outputs_the_first_are_changed_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_solution, "MOST_OUTPUTS", 1)
    possible = wrong_solution._possible(task(), Desk(lambda left: True, {**texts(a_txt="1\n"), **SUMS}))
    assert {each.place for each in [*possible.named, *possible.others]} == {SUM}
    (told,) = possible.left_out
    assert told.text == "The reference leaves 2 outputs; only 1 of them are changed."


def test_an_output_that_is_as_it_was_before_is_none() -> None:
    assert mutants_of("1\n", "1\n") == {}


def test_a_file_that_the_reference_removes_may_be_left() -> None:
    (left,) = output_mutants({}, {"/app/lock": TaskFile.text("pid 3\n")})
    assert (left.kind, changed_to(left)) == (Kind.STALE, "pid 3\n")


@pytest.mark.parametrize(
    ("number", "step", "wrong"),
    [(b"9", 1, b"10"), (b"09", 1, b"10"), (b"007", 1, b"008"), (b"12.50", 1, b"13.50"), (b"0", -1, b"0")],
)
def test_a_wrong_number_keeps_its_form(number: bytes, step: int, wrong: bytes) -> None:
    assert more_by(number, step) == wrong


def test_commands_are_dropped_and_numbers_changed_where_a_command_reads_them() -> None:
    script = "#!/bin/bash\nset -e\nsort -n a | head -n 3 > /app/out/b\nn=5\ncut -c 2 /data/v1/7.txt\n"
    made = {
        mutant.solution["solution/solve.sh"].data.decode().splitlines()[mutant.line - 1]
        for mutant in solution_mutants(task(solve=script))
    }
    assert made == {
        ": | head -n 3 > /app/out/b",
        "sort -n a | cat > /app/out/b",
        "sort -n a | head -n 4 > /app/out/b",
        ":",
        "cut -c 3 /data/v1/7.txt",
    }


def test_a_loops_condition_stays_or_the_loop_would_never_end() -> None:
    script = "#!/bin/bash\nwhile read -r line; do\necho $line\ndone < a\n"
    assert [each.what for each in solution_mutants(task(solve=script))] == [
        "`echo $line` dropped in line 3 of solution/solve.sh"
    ]


@pytest.mark.parametrize(
    ("first", "changed"),
    [
        ("#!/usr/bin/env python3", False),
        ("#!/bin/bash", True),
        ("#!/usr/bin/env -S bash -e", True),
        ("", True),
    ],
)
def test_only_what_a_shell_runs_is_read_as_shell(first: str, changed: bool) -> None:
    assert bool(solution_mutants(task(solve=f"{first}\nprint 3\n"))) is changed


def test_a_chain_of_thousands_of_commands_is_read_to_its_end() -> None:
    found = solution_mutants(task(solve="#!/bin/bash\n" + "one && " * 1500 + "last\n"))
    assert (len(found), found[0].what.split("`")[1], found[-1].what.split("`")[1]) == (1501, "one", "last")


def test_a_sample_is_the_same_each_time_and_leaves_out_no_kind() -> None:
    many = list(mutants_of("".join(f"{n},{n * n}\n" for n in range(50)), "old\n").values())
    chosen = sample(many, 10)
    assert chosen == sample(list(reversed(many)), 10)
    assert {mutant.kind for mutant in chosen} == {mutant.kind for mutant in many}
    assert len(sample(many, 1000)) == len(many)


def test_lines_in_another_order_or_with_other_spaces_lose_nothing() -> None:
    reference = {SUM: TaskFile.text("a 1\nb 2\n"), "/app/out/x": TaskFile.text("1\n")}
    assert lost(reference, {SUM: TaskFile.text("b  2\na 1\n"), "/app/out/x": TaskFile.text("1\n")}, {}) == {}
    assert lost(reference, {SUM: TaskFile.text("a 1\nb 3\n")}, {}) == {
        SUM: "lacks or has otherwise 1 of its lines",
        "/app/out/x": "is missing",
    }


def test_a_changed_output_is_handed_over_where_the_reference_left_it() -> None:
    folder = Delivery("/app/out", True, {SUM: TaskFile.text("1\n")})
    file = Delivery("/app/note", False, {"/app/note": TaskFile.text("n\n")})
    left = with_outputs(Solved((folder, file)), {"/app/note": None, "/app/out/new": TaskFile.text("2\n")})
    assert [sorted(each.files) for each in left.deliveries] == [["/app/out/new", SUM], []]
    assert [each.there for each in left.deliveries] == [True, False]


def test_paths_are_found_in_the_words_of_an_instruction() -> None:
    text = (
        "Read `/app/data/in.csv`, write **out/totals.csv** (see /app/README.md). E.g. 3.5 of https://x.y/z."
    )
    found = named_paths(text)
    assert {"/app/data/in.csv", "out/totals.csv", "/app/README.md"} <= set(found)
    assert not any(each.endswith(".") for each in found)
