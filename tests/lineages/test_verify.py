"""`verify` over many tasks: what each is worth, what is counted, and what outlives an interruption."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from lineages.gates import all_gates
from lineages.library.models import Audit, Environment, GateFinding, GateResult, Snapshot, Voiding
from lineages.library.snapshots import store
from lineages.library.verifying import VOIDED, Verdict, judge
from lineages.management.commands._output import INTERRUPTED, Bar
from sandboxes.bundle import write_bundle
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.lineages.commands import Runner, Said, in_a_shell
from tests.tasks import words
from tests.workers import ROOT, kill, until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capfd)


VACUOUS = {"tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"}
NAMES_THE_TESTS = {"instruction.md": "Write ready to /app/out/first, as tests/test.sh wants it.\n"}
TOO_BIG = {"task.toml": words().text("task.toml").replace("memory_mb = 256", "memory_mb = 16000000")}
SLOW = {"solution/solve.sh": "#!/bin/bash\nmkdir -p /app/out; printf ready > /app/out/first; sleep 600\n"}
MULTI_STEP = {"task.toml": words().text("task.toml") + '\n[[steps]]\nname = "one"\n'}
TWO_SERVICES = {"environment/docker-compose.yaml": "services:\n  main: {build: .}\n  db: {image: 'x:1'}\n"}
BAD_TOML = {"task.toml": 'note = "\\s"\n'}


def task(folder: Path, changes: dict[str, str] | None = None, *, say: str = "") -> Path:
    """A good task at `folder`, with files changed; `say` makes its content differ from others."""
    for path, file in words().files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(file.mode)
    for path, text in (changes or {}).items():
        (folder / path).write_text(text)
    if say:
        with (folder / "instruction.md").open("a") as stream:
            stream.write(f"{say}\n")
    return folder


def tasks(folder: Path, count: int, changes: dict[str, str] | None = None) -> Path:
    for number in range(count):
        task(folder / f"t{number}", changes, say=f"This is task {number}.")
    return folder


def by_name(said: Said) -> dict[str, dict[str, Any]]:
    return {Path(each["path"]).name: each for each in said.json["tasks"]}


# many tasks


def test_five_tasks_on_two_workers_are_all_judged_and_none_is_imported(run: Runner, tmp_path: Path) -> None:
    said = run("verify", tasks(tmp_path, 5), "--profile", "fast", "--jobs", 2, "--json")

    assert said.code == 0, said.err
    assert (said.json["verdict"], said.json["found"], said.json["verified"]) == ("passed", 5, 5)
    assert said.json["counts"] == {"accept": 5, "fix": 0, "reject": 0, "error": 0}
    assert [Path(each["path"]).name for each in said.json["tasks"]] == [f"t{n}" for n in range(5)]
    assert said.json["by_gate"]["oracle"]["passed"] == 5
    assert Audit.objects.filter(status=Audit.Status.ACCEPTED).count() == 5
    assert not Environment.objects.exists()


def test_what_comes_in_is_what_was_verified_and_what_was_refused(run: Runner, tmp_path: Path) -> None:
    task(tmp_path / "good")
    task(tmp_path / "vacuous", VACUOUS)
    task(tmp_path / "deep" / "waivable", NAMES_THE_TESTS)
    task(tmp_path / "steps", MULTI_STEP)
    task(tmp_path / "services", TWO_SERVICES)
    task(tmp_path / "toml", BAD_TOML)
    task(tmp_path / "big", TOO_BIG)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "task.yaml").write_text("instruction: |-\n  Do it.\n")
    (tmp_path / "notes").mkdir()

    said = run("verify", tmp_path, "--profile", "fast", "--json")

    assert said.code == 3, "a machine that failed has to be looked at first"
    told = by_name(said)
    assert {name: each["verdict"] for name, each in told.items()} == {
        "good": "accept",
        "vacuous": "reject",
        "waivable": "fix",
        "steps": "reject",
        "services": "reject",
        "toml": "reject",
        "big": "error",
        "old": "reject",
    }
    assert (said.json["found"], said.json["verified"], said.json["refused"]) == (8, 4, 4)
    assert told["vacuous"]["why"].startswith("invalid_test: ")
    assert "multi-step" in told["steps"]["why"] and told["steps"]["digest"] is None
    assert "service `db`; a task has one container" in told["services"]["why"]
    assert "task.toml:1:11: not valid TOML" in told["toml"]["why"]
    assert "memory" in told["big"]["why"]
    assert told["old"]["why"].startswith("refused: ")
    assert "no task in notes" in said.err


def test_an_old_terminal_bench_folder_is_converted_and_judged(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    texts = {
        "task.yaml": "instruction: |-\n  Write ready to /app/answer.\n",
        "Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
        "solution.sh": "#!/bin/bash\nprintf ready > /app/answer\n",
        "run-tests.sh": "#!/bin/bash\n"
        'if [ "$(cat /app/answer)" = ready ]; then w=PASSED; else w=FAILED; fi\n'
        'echo "=========================== short test summary info ===="\necho "$w test_x.py::test_it"\n',
        "tests/test_x.py": "def test_it(): assert open('/app/answer').read() == 'ready'\n",
    }
    for path, text in texts.items():
        (tmp_path / path).write_text(text)

    said = run("verify", tmp_path, "--profile", "fast", "--json")

    (only,) = said.json["tasks"]
    assert only["warnings"][0].startswith("converted from a Terminal-Bench task.yaml")
    assert {row["gate"]: row["reward"] for row in only["gates"] if row["gate"] == "oracle"} == {"oracle": 1.0}


def test_an_archive_of_many_tasks_is_one_table(run: Runner, tmp_path: Path) -> None:
    tasks(tmp_path / "in", 2)
    task(tmp_path / "in" / "vacuous", VACUOUS)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted((tmp_path / "in").rglob("*")):
            archive.write(path, path.relative_to(tmp_path / "in"))

    said = run("verify", tmp_path / "all.zip", "--profile", "fast")

    assert said.code == 1
    shown = [line.split()[:2] for line in said.out.splitlines() if ".zip/" in line]
    assert shown == [
        ["accept", str(tmp_path / "all.zip" / "t0")],
        ["accept", str(tmp_path / "all.zip" / "t1")],
        ["reject", str(tmp_path / "all.zip" / "vacuous")],
    ]
    assert (
        "3 found: 2 accept, 0 fix, 1 reject, 0 error; 3 verified (0 of them taken over), 0 refused"
        in said.out
    )
    assert any(line.split()[:3] == ["invalid_test", "2", "1"] for line in said.out.splitlines())


def test_the_same_content_under_two_names_is_judged_once_and_told_twice(run: Runner, tmp_path: Path) -> None:
    task(tmp_path / "one")
    task(tmp_path / "two")

    said = run("verify", tmp_path, "--profile", "fast", "--json")

    assert [(each["verdict"], each["taken_over"]) for each in said.json["tasks"]] == [
        ("accept", False),
        ("accept", True),
    ]
    assert Audit.objects.count() == 1


# what a verdict means


def audited(status: str, *failed: str, repairs: tuple[str, ...] = ()) -> Audit:
    """An audit that ended so, in which these gates failed, each with a finding for each of `repairs`."""
    audit = Audit.objects.create(
        snapshot=store(words()), status=status, profile="strict", backend="docker", judge="offline"
    )
    for gate in failed:
        row = GateResult.objects.create(
            audit=audit,
            gate=gate,
            gate_version=1,
            key=gate,
            outcome="failed",
            summary="so",
            started_at=datetime.now(UTC),
            seconds=1,
        )
        for position, repair in enumerate(repairs):
            GateFinding.objects.create(result=row, position=position, text="x", repair=repair)
    return audit


@pytest.mark.parametrize(
    ("status", "failed", "repairs", "verdict"),
    [
        ("accepted", (), (), Verdict.ACCEPT),
        ("rejected", ("static",), (), Verdict.FIX),
        ("rejected", ("static", "rubrics"), ("", "write this"), Verdict.FIX),
        ("rejected", ("oracle",), (), Verdict.REJECT),
        ("rejected", ("oracle",), ("write this", "and this"), Verdict.FIX),
        ("rejected", ("oracle",), ("write this", ""), Verdict.REJECT),
        ("rejected", ("static", "invalid_test"), (), Verdict.REJECT),
        ("error", ("oracle",), (), Verdict.ERROR),
    ],
)
def test_a_verdict_is_what_a_person_can_still_do(
    status: str, failed: tuple[str, ...], repairs: tuple[str, ...], verdict: Verdict
) -> None:
    assert not all_gates()["oracle"].waivable and all_gates()["static"].waivable

    assert judge(audited(status, *failed, repairs=repairs))[0] is verdict


def test_the_reason_names_the_gravest_gate() -> None:
    assert judge(audited("rejected", "static", "oracle")) == (Verdict.REJECT, "oracle: so")


# again


def test_resume_judges_only_what_is_new_or_has_changed(run: Runner, tmp_path: Path) -> None:
    tasks(tmp_path, 2)
    task(tmp_path / "vacuous", VACUOUS)
    run("verify", tmp_path, "--profile", "fast")
    task(tmp_path / "t1", {"tests/units/first.sh": words().text("tests/units/first.sh") + "# the same\n"})

    said = run("verify", tmp_path, "--profile", "fast", "--resume", "--json")

    told = by_name(said)
    assert {name: (each["verdict"], each["taken_over"]) for name, each in told.items()} == {
        "t0": ("accept", True),
        "t1": ("accept", False),
        "vacuous": ("reject", True),
    }
    assert [row["gate"] for row in told["t0"]["gates"]], "the evidence is told again"
    assert Audit.objects.count() == 4


def test_without_resume_everything_is_judged_anew(run: Runner, tmp_path: Path) -> None:
    run("verify", task(tmp_path), "--profile", "fast")
    run("verify", tmp_path, "--profile", "fast")

    assert Audit.objects.filter(status=Audit.Status.ACCEPTED).count() == 2


def test_resume_asks_again_where_other_repeats_are_wanted_or_a_person_voided_the_failure(
    run: Runner, tmp_path: Path, admin_user: User
) -> None:
    task(tmp_path, NAMES_THE_TESTS)
    assert run("verify", tmp_path, "--profile", "fast", "--json").json["tasks"][0]["verdict"] == "fix"
    row = GateResult.objects.get(gate="static")
    Voiding.objects.create(gate="static", key=row.key, result=row, reason="it is a game", by=admin_user)

    said = run("verify", tmp_path, "--profile", "fast", "--resume", "--json")

    (only,) = said.json["tasks"]
    assert (only["taken_over"], only["verdict"]) == (False, "accept")


def test_resume_asks_again_where_a_gate_was_passed_over_for_what_is_voided_now(
    run: Runner, tmp_path: Path, admin_user: User
) -> None:
    """Another failure still stands, but more would be said today."""
    task(tmp_path, {**NAMES_THE_TESTS, "solution/solve.sh": "#!/bin/bash\nexit 1\n"})
    first = run("verify", tmp_path, "--profile", "fast", "--json").json["tasks"][0]
    assert {row["gate"]: row["outcome"] for row in first["gates"]}["oracle"] == "not_run"
    row = GateResult.objects.get(gate="static")
    for name in ("static", "kept_tests"):
        Voiding.objects.create(gate=name, key=row.key, result=row, reason="it is a game", by=admin_user)

    (only,) = run("verify", tmp_path, "--profile", "fast", "--resume", "--json").json["tasks"]

    assert (only["taken_over"], only["verdict"]) == (False, "reject")
    assert only["why"].startswith("oracle: ")
    (again,) = run("verify", tmp_path, "--profile", "fast", "--resume", "--json").json["tasks"]
    assert again["taken_over"], "and what was asked then is taken over"


def test_what_was_voided_between_the_verdict_and_its_reading_is_an_error_to_ask_again() -> None:
    assert judge(audited("rejected")) == (Verdict.ERROR, VOIDED)


def test_regrade_grades_what_a_solver_left_and_runs_no_solver(run: Runner, tmp_path: Path) -> None:
    task(tmp_path)
    run("verify", tmp_path, "--profile", "fast")
    (tmp_path / "tests/units/second.sh").write_text("#!/bin/bash\ntrue\n")

    said = run("verify", tmp_path, "--profile", "fast", "--regrade", "--json")

    gates = {row["gate"]: row for row in said.json["gates"]}
    assert (gates["oracle"]["outcome"], gates["oracle"]["graded_again"]) == ("passed", True)
    commands = GateResult.objects.filter(gate="oracle").latest("id").commands.all()
    assert not [each.command for each in commands if "solve.sh" in each.command]


def test_repeats_are_those_that_were_asked_for(run: Runner, tmp_path: Path) -> None:
    run("verify", task(tmp_path), "--profile", "fast", "--repeats", 7)

    assert Audit.objects.get().repeats == 7


# evidence


def test_the_evidence_of_what_failed_is_shown_with_the_end_of_its_output(run: Runner, tmp_path: Path) -> None:
    changes = {"solution/solve.sh": "#!/bin/bash\nseq 100; echo -e 'oh \\033[31mno'\n"}

    said = run("verify", task(tmp_path, changes), "--profile", "fast")

    assert said.code == 1
    assert "oracle: failed. The reference solution does not pass its tests" in said.out
    assert "  | oh \\x1b[31mno" in said.out and "\x1b" not in said.out
    assert said.out.splitlines()[-1].startswith("reject: oracle: The reference solution does not pass")


def test_all_evidence_goes_to_files_that_stand_as_the_tasks_do(run: Runner, tmp_path: Path) -> None:
    task(tmp_path / "in" / "a" / "good")
    task(tmp_path / "in" / "bad", {"solution/solve.sh": "#!/bin/bash\nseq 3000\n"})
    task(tmp_path / "in" / "steps", MULTI_STEP)

    run("verify", tmp_path / "in", "--profile", "fast", "--evidence", tmp_path / "out")

    told = {
        name: json.loads((tmp_path / "out" / name / "task.json").read_text())
        for name in ("a/good", "bad", "steps")
    }
    assert {name: each["verdict"] for name, each in told.items()} == {
        "a/good": "accept",
        "bad": "reject",
        "steps": "reject",
    }
    oracle = (tmp_path / "out" / "bad" / "oracle.txt").read_text()
    assert "does not pass" in oracle and "\n1500\n" in oracle and "[exit 0" in oracle
    assert (tmp_path / "out" / "a" / "good" / "invalid_test.txt").is_file()


def test_evidence_of_gates_that_were_not_asked_this_time_does_not_stay_beside_it(
    run: Runner, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "steps"
    out.mkdir(parents=True)
    for name in ("oracle.txt", "adversary.txt", "notes.txt"):
        (out / name).write_text("from before")

    run("verify", task(tmp_path / "steps", MULTI_STEP), "--profile", "fast", "--evidence", tmp_path / "out")

    assert {path.name for path in out.iterdir()} == {"task.json", "notes.txt"}


def test_a_place_for_evidence_that_is_no_folder_is_wrong_use_before_anything_runs(
    run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")

    said = run("verify", task(tmp_path / "t"), "--evidence", tmp_path / "file")

    assert (said.code, said.out) == (2, "") and "no folder to write to: File exists" in said.err
    assert not Audit.objects.exists() and (tmp_path / "file").read_text() == "mine"


def test_a_folder_for_evidence_that_we_may_not_write_to_is_wrong_use(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system is asked, since for an admin's account no folder is closed."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)

    said = run("verify", task(tmp_path / "t"), "--evidence", tmp_path)

    assert (said.code, said.out) == (2, "") and "that we may not write to" in said.err
    assert not Audit.objects.exists()


def test_evidence_that_cannot_be_written_says_where_and_how_it_goes_on(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "out" / "steps" / "task.json").mkdir(parents=True)

    said = run(
        "verify", task(tmp_path / "steps", MULTI_STEP), "--profile", "fast", "--evidence", tmp_path / "out"
    )

    assert said.code == 2 and "Traceback" not in said.err
    assert f"the evidence in {tmp_path / 'out' / 'steps'} could not be written: Is a directory" in said.err
    assert "--resume goes on" in said.err


# the bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_one_line_renews_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = Bar(lambda: 4)

    bar.step("accept a", "1 accept")
    bar.step("reject b", "1 accept, 1 reject")
    bar.end()

    written = terminal.getvalue()
    assert written.count("\r") == 2 and written.count("\n") == 1
    assert "[############............] 2/4 1 accept, 1 reject" in written


def test_elsewhere_each_task_is_a_plain_line_and_standard_output_is_the_answer_alone(
    run: Runner, tmp_path: Path
) -> None:
    said = run("verify", tasks(tmp_path, 2), "--profile", "fast", "--json")

    assert "\r" not in said.err and "1/2 accept " in said.err and "2/2 accept " in said.err
    assert said.out.startswith("{") and json.loads(said.out)


# wrong use, interruptions


@pytest.mark.parametrize(
    "option", [("--jobs", "0"), ("--repeats", "0"), ("--repeats", "-1"), ("--repeats", "101")]
)
def test_a_wrong_number_is_wrong_use(run: Runner, option: tuple[str, str], tmp_path: Path) -> None:
    said = run("verify", task(tmp_path), *option)

    assert (said.code, said.out) == (2, "")
    assert option[1] in said.err and not Audit.objects.exists()


@pytest.mark.parametrize("absent", ["/no/such/task", "./task", "../task"])
def test_a_path_that_is_not_there_is_not_taken_for_a_reference(run: Runner, absent: str) -> None:
    said = run("verify", absent)

    assert (said.code, said.out) == (2, "")
    assert f"there is no file or folder '{absent}'" in said.err


def test_an_empty_target_is_not_the_current_folder(run: Runner) -> None:
    said = run("verify", "")

    assert (said.code, said.out) == (2, "") and "TARGET is empty" in said.err


def test_what_lies_beside_the_tasks_and_is_none_is_named(run: Runner, tmp_path: Path) -> None:
    """A good archive is not said to hold no task: nobody looked."""
    task(tmp_path / "steps", MULTI_STEP)
    (tmp_path / "notes").mkdir()
    (tmp_path / "more.tar.gz").write_bytes(b"\x1f\x8bgarbage")

    said = run("verify", tmp_path, "--profile", "fast", "--json")

    assert said.json["left_out"] == ["notes", "more.tar.gz"]
    assert (said.json["found"], said.json["refused"]) == (1, 1)
    assert "no task in notes\n" in said.err
    assert "not looked into, verify each by itself: more.tar.gz" in said.err


def test_many_tasks_say_how_many_of_them_have_warnings(run: Runner, tmp_path: Path) -> None:
    tasks(tmp_path, 2, TOO_BIG)
    task(tmp_path / "t1" / "inner")

    said = run("verify", tmp_path, "--profile", "fast")

    assert "1 with warnings of what was mended or left out" in said.out


@contextmanager
def verifying(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process group of its own, on the test's database."""
    environment = in_a_shell(ENVEVO_LEASE_SECONDS="2", ENVEVO_LEASE_BEAT_SECONDS="0.5")
    command = [sys.executable, "manage.py", "verify", str(folder), "--profile", "fast", "--jobs", "2", *words]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
        # Tests that run in the background ignore Ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        kill(process)  # type: ignore[arg-type]


def slow_and_quick(folder: Path) -> Path:
    """Three tasks, of which the second takes ten minutes."""
    task(folder / "a")
    task(folder / "b", SLOW | {"task.toml": words().text("task.toml").replace("30.0", "900.0")})
    return task(folder / "c", say="Another one.").parent


def until_only_the_slow_one_runs(process: subprocess.Popen[str]) -> None:
    assert process.stderr
    for line in process.stderr:
        if " 2/3 " in line:
            break
    until(lambda: Audit.objects.filter(status=Audit.Status.QUEUED).count() == 1, "the slow one", every=0.1)


def test_ctrl_c_gives_up_what_runs_tells_what_is_done_and_resume_goes_on(run: Runner, tmp_path: Path) -> None:
    slow_and_quick(tmp_path)
    with verifying(tmp_path, "--json") as process:
        until_only_the_slow_one_runs(process)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == INTERRUPTED, err
    told = json.loads(out)
    assert told["interrupted"] and told["counts"]["accept"] == 2 and told["found"] == 3
    assert "2 of 3 are judged" in err and "Traceback" not in err
    assert [audit.status for audit in Audit.objects.order_by("status")] == [
        "abandoned",
        "accepted",
        "accepted",
    ]
    task(tmp_path / "b", {"solution/solve.sh": words().text("solution/solve.sh")}, say="Quick now.")
    said = run("verify", tmp_path, "--profile", "fast", "--resume", "--json")
    assert said.code == 0
    assert {name: each["taken_over"] for name, each in by_name(said).items()} == {
        "a": True,
        "b": False,
        "c": True,
    }


def test_after_a_kill_the_same_command_finishes_the_audit_that_was_left(tmp_path: Path) -> None:
    slow_and_quick(tmp_path)
    with verifying(tmp_path) as process:
        until_only_the_slow_one_runs(process)
        kill(process)  # type: ignore[arg-type]
    (left,) = Audit.objects.filter(status=Audit.Status.QUEUED)

    with verifying(tmp_path, "--resume") as process:
        until(lambda: left.results.filter(gate="oracle").exists() or bool(_token(left)), "it to be claimed")
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)

    assert Snapshot.objects.count() == 3
    assert Audit.objects.count() == 3, "the half-done audit is gone on with, the finished ones are taken over"


def _token(audit: Audit) -> str:
    audit.refresh_from_db()
    return audit.lease_token


def test_a_good_task_is_good_in_an_archive_of_its_own(run: Runner, tmp_path: Path) -> None:
    good = Task.of({path: TaskFile(file.data, file.mode) for path, file in words().files.items()})
    write_bundle(good, "words", tmp_path / "words.tar.gz", "tar.gz")

    said = run("verify", tmp_path / "words.tar.gz", "--profile", "fast", "--json")

    assert said.code == 0
    assert said.json["digest"] == good.digest and said.json["gates"] == said.json["tasks"][0]["gates"]
