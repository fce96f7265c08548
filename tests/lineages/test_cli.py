"""The commands as a script uses them: exact JSON keys, exit codes, and which stream says what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from agents.scripted import REJECT, Script
from lineages.gates import profile
from lineages.growth.models import Evolution, Plan
from lineages.library.models import Audit, Environment, GateResult, Lineage, Snapshot
from lineages.library.snapshots import load
from sandboxes.bundle import write_bundle
from sandboxes.digests import content_digest
from sandboxes.files import TaskFile
from sandboxes.intake import read_folder
from sandboxes.task import Task
from tests.lineages.commands import Runner, shell
from tests.lineages.conftest import begin, grow

pytestmark = pytest.mark.django_db(transaction=True)

TOML = """\
# A comment that has to survive.
schema_version = "1.4"
zebra = "an unknown key, before the tables"

[task]
name    = "envevo-tests/till"   # odd spacing

[verifier]
timeout_sec = 20.0

[agent]
timeout_sec = 20.0

[environment]
memory_mb = 256

[metadata]
category = "data-wrangling"
author_name = "tests"

[ours.deep]
list = [ 1,2,
  3 ]
"""
SALES = "".join(f"{10 + n % 4},{n % 7 + 1}\n" for n in range(24))
PRICES = "10,250\n11,75\n12,1999\n13,5\n"
SOLVE = """\
#!/bin/bash
set -e
sort -t, -k1,1 /app/sales.csv > /tmp/sales
sort -t, -k1,1 /app/prices.csv > /tmp/prices
join -t, /tmp/sales /tmp/prices |
  awk -F, '{ sum[$1] += $2 * $3 } END { for (id in sum) print id "," sum[id] }' |
  sort -t, -k1,1 > /app/revenue.csv
"""
REVENUE = "10,6000\n11,1725\n12,43978\n13,105\n"
TEST = f"""\
#!/bin/bash
# The revenue of every item, and nothing else.
cat > /tmp/expected <<'END'
{REVENUE}END
reward=0
cmp -s /tmp/expected /app/revenue.csv && reward=1
echo "$reward" > /logs/verifier/reward.txt
"""
INSTRUCTION = """\
`/app/sales.csv` has a line `item,sold` for each sale and `/app/prices.csv` a line `item,cents` for each item.
Write the revenue of each item in cents to `/app/revenue.csv`, as lines `item,cents` sorted by item.
"""


def till(changes: Mapping[str, str | None] | None = None) -> Task:
    """A shared-mode task with two inputs and one output; `changes` replaces or removes files."""
    texts: dict[str, str | None] = {
        "task.toml": TOML,
        "instruction.md": INSTRUCTION,
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY *.csv /app/\n",
        "environment/sales.csv": SALES,
        "environment/prices.csv": PRICES,
        "solution/solve.sh": SOLVE,
        "tests/test.sh": TEST,
        **(changes or {}),
    }
    return Task.of({path: _file(path, text) for path, text in texts.items() if text is not None})


def _file(path: str, text: str) -> TaskFile:
    return TaskFile.text(text, executable=path.endswith(".sh"))


def put(task: Task, folder: Path) -> Path:
    """The task as a folder on the disk."""
    write_bundle(task, folder.name, folder, "dir")
    return folder


def broken(folder: Path) -> Path:
    """A task whose task.toml is wrong in line 5, column 10: two commas."""
    put(till(), folder)
    (folder / "task.toml").write_text('schema_version = "1.4"\n\n[task]\nname = "a/b"\nodd = [1,, 2]\n')
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capfd)


# import_tasks


def test_an_import_answers_with_reference_digest_and_warnings(run: Any, tmp_path: Path) -> None:
    folder = put(till(), tmp_path / "till")
    (folder / "notes.txt").write_text("not part of a task")

    said = run("import_tasks", folder, "--json")

    assert said.code == 0
    assert said.json == {
        "imported": [
            {
                "path": str(folder),
                "reference": "till/g0",
                "digest": till().digest,
                "warnings": ["left out: notes.txt"],
            }
        ],
        "unchanged": [],
        "refused": [],
    }


def test_the_same_task_twice_is_unchanged_the_second_time(run: Any, tmp_path: Path) -> None:
    folder = put(till(), tmp_path / "till")
    run("import_tasks", folder)

    said = run("import_tasks", folder, "--json")

    assert said.code == 0
    assert (said.json["imported"], said.json["refused"]) == ([], [])
    assert said.json["unchanged"] == [
        {"path": str(folder), "reference": "till/g0", "digest": till().digest, "warnings": []}
    ]
    assert Environment.objects.count() == 1


def test_a_broken_task_among_three_is_refused_with_its_line_and_column(run: Any, tmp_path: Path) -> None:
    put(till(), tmp_path / "one")
    broken(tmp_path / "two")
    put(till({"environment/sales.csv": SALES + "10,1\n"}), tmp_path / "three")

    said = run("import_tasks", tmp_path, "--json")

    assert said.code == 1
    assert [item["reference"] for item in said.json["imported"]] == ["one/g0", "three/g0"]
    (refused,) = said.json["refused"]
    assert refused.keys() == {"path", "reason", "line", "column"}
    assert (refused["path"], refused["line"], refused["column"]) == (str(tmp_path / "two"), 5, 10)
    assert "task.toml" in refused["reason"] and "not valid TOML" in refused["reason"]
    assert Lineage.objects.count() == 2


def test_the_counts_that_people_read_add_up(run: Any, tmp_path: Path) -> None:
    put(till(), tmp_path / "one")
    put(till(), tmp_path / "same")
    broken(tmp_path / "two")

    said = run("import_tasks", tmp_path, tmp_path / "nowhere")

    assert said.code == 1
    assert "4 found: 1 imported, 1 unchanged, 2 refused" in said.out
    assert "there is no such folder" in said.out
    assert "two" in said.out and "task.toml:5:10: not valid TOML" in said.out


def test_a_path_that_is_not_utf_8_is_told_all_the_same(run: Any, tmp_path: Path) -> None:
    folder = put(till(), tmp_path / "till")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.rename(odd)

    assert "imported   caf/g0" in run("import_tasks", odd).out
    assert "unchanged  caf/g0" in run("import_tasks", odd).out
    assert run("import_tasks", odd, "--json").json["unchanged"][0]["path"] == str(odd)
    assert "there is no such folder" in run("import_tasks", odd / "nowhere").out


# verify

ANSWER = set(
    "target profile digest verdict interrupted found verified refused left_out counts by_gate".split()
) | {"gates", "tasks"}

OF_A_GATE = set(
    "gate outcome reward seconds summary runs runs_passed weaker graded_again findings detail".split()
)


def verified(task: Task, folder: Path, form: str) -> str:
    """The task as a target of `verify`."""
    if form == "reference":
        call_command("import_tasks", put(task, folder))
        return f"{folder.name}/g0"
    write_bundle(task, "till", folder, form)
    return str(folder)


@pytest.mark.parametrize(
    ("form", "asked"), [("dir", "standard"), ("reference", "fast"), ("zip", "fast"), ("tar.gz", "fast")]
)
def test_a_good_task_passes_in_whatever_form_it_comes(
    run: Any, form: str, asked: str, tmp_path: Path
) -> None:
    target = verified(till(), tmp_path / "till", form)

    said = run("verify", target, "--json", *(() if asked == "standard" else ("--profile", asked)))

    assert said.code == 0
    assert said.json.keys() == ANSWER
    assert (said.json["target"], said.json["digest"]) == (target, till().digest)
    assert said.json["verdict"] == "passed"
    gates = {gate.pop("gate"): gate for gate in said.json["gates"]}
    assert all(gate.keys() == OF_A_GATE - {"gate"} for gate in gates.values())
    assert {gate["outcome"] for gate in gates.values()} <= {"passed", "not_applicable"}
    assert gates.keys() == {gate.name for gate in profile(asked)}
    expected = {name: answer for name, answer in EXPECTED.items() if name in gates}
    assert {name: (gates[name]["outcome"], gates[name]["reward"]) for name in expected} == expected
    assert "verifying" in said.err


EXPECTED = {
    "static": ("passed", None),
    "build": ("passed", None),
    "oracle": ("passed", 1.0),
    "invalid_test": ("passed", 0.0),
    "rubrics": ("passed", None),
    "kept_tests": ("not_applicable", None),
    "conformance": ("not_applicable", None),
}


PASSES_UNTOUCHED = {"tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"}
DOES_NOTHING = {"solution/solve.sh": "#!/bin/bash\ntrue\n"}
NEVER_ENDS = {
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\nsleep 600\n",
    "task.toml": TOML.replace("timeout_sec = 20.0", "timeout_sec = 1.0", 1),
}
NO_REWARD = {"tests/test.sh": "#!/bin/bash\nexit 0\n"}
ODD_REWARD = {"tests/test.sh": "#!/bin/bash\necho nearly > /logs/verifier/reward.txt\n"}
NO_BUILD = {"environment/Dockerfile": "FROM debian:bookworm-slim\nCOPY lost.csv /app/\n"}


@pytest.mark.parametrize(
    ("changes", "gate", "telling"),
    [
        (PASSES_UNTOUCHED, "invalid_test", "pass before anything is done"),
        (DOES_NOTHING, "oracle", "does not pass its tests (reward 0"),
        (NEVER_ENDS, "oracle", "did not end within 1 seconds"),
        (NO_REWARD, "oracle", "without a reward"),
        (ODD_REWARD, "oracle", "'nearly'"),
    ],
    ids=["vacuous test", "oracle fails", "never-ending test", "no reward file", "odd reward"],
)
def test_a_bad_task_fails_by_a_named_gate_with_a_sentence(
    run: Any, changes: dict[str, str | None], gate: str, telling: str, tmp_path: Path
) -> None:
    said = run("verify", put(till(changes), tmp_path / "till"), "--profile", "fast", "--json")

    assert (said.code, said.json["verdict"]) == (1, "failed")
    gates = {row["gate"]: row for row in said.json["gates"]}
    assert gates[gate]["outcome"] == "failed"
    assert telling in gates[gate]["summary"]
    assert Audit.objects.get().status == Audit.Status.REJECTED, "nothing stays queued"
    assert not Environment.objects.exists(), "verifying imports nothing"


@pytest.mark.docker
def test_a_dockerfile_that_does_not_build_is_its_own_failure(tmp_path: Path) -> None:
    said = shell("verify", put(till(NO_BUILD), tmp_path / "till"), "--json", ENVEVO_SANDBOX="docker")

    assert (said.code, said.json["verdict"]) == (1, "failed")
    gates = {row["gate"]: row for row in said.json["gates"]}
    assert gates["build"]["outcome"] == "failed"
    assert gates["build"]["summary"].startswith("environment/Dockerfile does not build")
    assert {gates[gate]["outcome"] for gate in ("oracle", "invalid_test", "conformance")} == {"not_run"}
    assert "lost.csv" in GateResult.objects.get(gate="build").detail


def test_a_task_without_a_dockerfile_fails_and_nothing_of_it_is_kept(run: Any, tmp_path: Path) -> None:
    folder = put(till({"environment/Dockerfile": None}), tmp_path / "till")

    said = run("verify", folder, "--json")

    assert (said.code, said.json["verdict"]) == (1, "failed")
    assert (said.json["target"], said.json["digest"]) == (str(folder), None)
    (gate,) = said.json["gates"]
    assert gate.keys() == OF_A_GATE
    assert (gate["gate"], gate["outcome"]) == ("static", "failed")
    assert gate["summary"].startswith("environment/Dockerfile: this file is missing; add")
    assert not Snapshot.objects.exists() and not Audit.objects.exists()


def test_a_refused_task_says_why_to_a_person_too(run: Any, tmp_path: Path) -> None:
    said = run("verify", put(till({"environment/Dockerfile": None}), tmp_path / "till"))

    assert said.code == 1
    assert said.out.startswith("reject: refused: environment/Dockerfile: this file is missing; add")


@pytest.mark.parametrize("target", ["nothing/g0", "till/3", "abc", "0123456789"])
def test_verifying_what_does_not_exist_is_wrong_use(run: Any, target: str) -> None:
    said = run("verify", target, "--json")

    assert (said.code, said.out) == (2, "")
    assert "error: " in said.err and target in said.err


def test_an_unknown_profile_is_wrong_use_and_leaves_no_audit_behind(run: Any, tmp_path: Path) -> None:
    said = run("verify", put(till(), tmp_path / "till"), "--profile", "no-such")

    assert said.code == 2
    assert not Audit.objects.exists()


# evolve

PAPER = ("--author", "scripted", "--profile", "paper")
KEYS = {"generation", "reference", "direction", "digest", "attempts", "difficulty"}


def test_the_offline_author_grows_three_generations_and_the_first_is_graded_apart(
    run: Any, tmp_path: Path
) -> None:
    run("import_tasks", put(till(), tmp_path / "till"))

    grow = ("evolve", "till/g0", "--generations", 3, "--seed", 7, "--author", "offline")
    said = run(*grow, "--profile", "fast", "--json")

    assert said.code == 0, said.err
    answer = said.json
    assert answer.keys() == {"lineage", "status", "waiting_for", "generations"}
    assert (answer["lineage"], answer["status"]) == ("till", "accepted")
    assert [each["reference"] for each in answer["generations"]] == ["till/g1", "till/g2", "till/g3"]
    totals = [Environment.objects.get(generation=0).difficulty]
    for place, each in enumerate(answer["generations"], start=1):
        child = Environment.objects.get(generation=place)
        assert each.keys() == KEYS
        assert each["difficulty"].keys() == {"length", "novelty", "rarity", "total"}
        assert (each["generation"], each["digest"]) == (place, child.snapshot.digest)
        assert each["direction"] in {"scenario", "skill", "length"}
        assert each["attempts"] == child.evolution.attempts.count() >= 1
        totals.append(each["difficulty"]["total"])
    assert totals == sorted(totals) and len(set(totals)) == 4, "each is harder than its parent"

    seed, first = (Environment.objects.get(generation=n).snapshot for n in (0, 1))
    assert not load(seed).separate and load(first).separate
    weaker = GateResult.objects.filter(gate="oracle", outcome="passed")
    assert weaker.get(audit__snapshot=seed).weaker
    assert not weaker.get(audit__snapshot=first).weaker
    assert "generation 3" in said.err and "accepted" in said.err

    run("export", "till/g3", "--out", tmp_path / "g3.zip", "--format", "zip")
    again = run("verify", tmp_path / "g3.zip", "--json")
    assert (again.code, again.json["verdict"], again.json["digest"]) == (0, "passed", child.snapshot.digest)


def test_the_first_round_of_plans_waits_for_a_person(seed: Environment, script: Script, run: Any) -> None:
    said = run("evolve", "words/g0", *PAPER, "--approve", "plans", "--json")

    assert said.code == 0
    assert said.json == {
        "lineage": "words",
        "status": "plan_approval",
        "waiting_for": "",
        "generations": [],
    }
    assert Plan.objects.count() == 1
    assert not seed.children.exists()


def test_an_evolution_that_comes_to_nothing_is_exit_1_with_what_grew(
    seed: Environment, script: Script, run: Any
) -> None:
    script.judge = lambda *judged: REJECT

    said = run("evolve", "words/g0", *PAPER)

    assert said.code == 1
    assert "words/g0: cancelled — the parent did not pass its audit" in said.out


def test_an_evolution_that_is_exhausted_says_of_each_direction_why(
    seed: Environment, script: Script, run: Any
) -> None:
    script.review = lambda brief, plan: REJECT

    said = run("evolve", "words/g0", *PAPER, "--directions", "length")

    assert said.code == 1
    assert "words/g0: exhausted — no child by length" in said.out
    assert "  length: plan rounds spent — no plan accepted in 3 rounds" in said.out


@pytest.mark.parametrize(
    ("words", "telling"),
    [
        (["--author", "nobody"], "no author called 'nobody'"),
        (["--generations", "16"], "cap of 15"),
        (["--generations", "0"], "at least one generation"),
        (["--effort", "heroic"], ""),
        (["--directions", "sideways"], ""),
        (["--approve", "everything"], ""),
        (["--seed", str(10**30)], ""),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_a_wrong_option_is_wrong_use_and_starts_nothing(
    words: list[str], telling: str, seed: Environment, run: Any
) -> None:
    said = run("evolve", "words/g0", *words, "--json")

    assert (said.code, said.out) == (2, "")
    assert telling in said.err
    assert not Evolution.objects.exists()


def test_evolving_what_does_not_exist_is_wrong_use(run: Any) -> None:
    said = run("evolve", "nothing/g0", "--json")

    assert (said.code, said.out) == (2, "")
    assert "there is no environment 'nothing/g0'" in said.err


# export


@pytest.fixture
def planted(run: Any, tmp_path: Path) -> str:
    run("import_tasks", put(till(), tmp_path / "till"))
    return "till/g0"


@pytest.mark.parametrize("form", ["dir", "zip", "tar.gz"])
def test_an_export_says_where_it_went(run: Any, form: str, planted: str, tmp_path: Path) -> None:
    out = tmp_path / "out"

    said = run("export", planted, "--out", out, "--format", form, "--json")

    assert said.code == 0
    assert said.json == {"reference": planted, "digest": till().digest, "path": str(out), "format": form}
    assert out.is_dir() if form == "dir" else out.is_file()


@pytest.mark.parametrize("form", ["dir", "zip", "tar.gz"])
def test_an_export_never_writes_over_something(run: Any, form: str, planted: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep this")

    said = run("export", planted, "--out", out, "--format", form)

    assert (said.code, said.out) == (1, "")
    assert "already exists and is not empty" in said.err
    assert [path.name for path in out.iterdir()] == ["mine"]
    assert (out / "mine").read_text() == "keep this"


def test_an_exported_seed_is_what_was_imported_byte_for_byte(run: Any, planted: str, tmp_path: Path) -> None:
    run("export", planted, "--out", tmp_path / "out")

    assert (tmp_path / "out" / "task.toml").read_bytes() == TOML.encode(), "comments, order, unknown keys"
    assert content_digest(read_folder(tmp_path / "out").task.files) == till().digest
    assert os.access(tmp_path / "out" / "solution" / "solve.sh", os.X_OK)
    assert not os.access(tmp_path / "out" / "environment" / "sales.csv", os.X_OK)


def test_an_exported_seed_that_is_imported_again_is_unchanged(run: Any, planted: str, tmp_path: Path) -> None:
    run("export", planted, "--out", tmp_path / "another-name")

    said = run("import_tasks", tmp_path / "another-name", "--json")

    assert [item["reference"] for item in said.json["unchanged"]] == [planted]
    assert said.json["imported"] == []


def test_an_exported_child_passes_as_a_bundle(
    seed: Environment, script: Script, run: Any, tmp_path: Path
) -> None:
    grow(begin(seed, directions=("length",)))
    run("export", "words/g1", "--out", tmp_path / "child.zip", "--format", "zip")

    said = run("verify", tmp_path / "child.zip", "--profile", "fast", "--json")

    assert (said.code, said.json["verdict"]) == (0, "passed")
    assert said.json["digest"] == Environment.objects.get(generation=1).snapshot.digest


def test_exporting_what_does_not_exist_is_wrong_use_and_writes_nothing(run: Any, tmp_path: Path) -> None:
    said = run("export", "nothing/g0", "--out", tmp_path / "out")

    assert (said.code, said.out) == (2, "")
    assert not (tmp_path / "out").exists()


# processes


def test_a_process_keeps_json_on_one_stream_and_progress_on_the_other(tmp_path: Path) -> None:
    folder = put(till(PASSES_UNTOUCHED), tmp_path / "till")

    said = shell("verify", folder, "--profile", "fast", "--json")

    assert said.code == 1
    assert said.json["verdict"] == "failed"
    assert "verifying" in said.err and "{" not in said.err


def test_a_process_that_is_used_wrongly_leaves_with_2(tmp_path: Path) -> None:
    assert shell("evolve", "nothing/g0").code == 2
    assert shell("evolve").code == 2


def test_a_machine_without_an_engine_is_at_fault_and_not_the_task(seed: Environment) -> None:
    said = shell("verify", "words/g0", "--json", ENVEVO_SANDBOX="docker", DOCKER_HOST="unix:///nowhere.sock")

    assert (said.code, said.out) == (3, "")
    assert "error: " in said.err and "Traceback" not in said.err
    assert not Audit.objects.exists()


def test_a_database_that_was_never_migrated_is_the_machine_s_fault(tmp_path: Path) -> None:
    said = shell(
        "import_tasks",
        put(till(), tmp_path / "till"),
        ENVEVO_DATABASE_URL=f"sqlite:///{tmp_path}/fresh.sqlite3",
    )

    assert said.code == 3
    assert "Traceback" not in said.err
    assert "migrate" in said.err
