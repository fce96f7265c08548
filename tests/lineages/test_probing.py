"""Attacks that once worked are kept for their lineage: by the gate that found them, and by people."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from lineages.gates.adversary import Step, command
from lineages.gates.surroundings import KeptProbe
from lineages.library import probing, recording
from lineages.library.models import Audit, Environment, GateResult, Probe
from sandboxes.base import ExecResult

pytestmark = pytest.mark.django_db

SCRIPT = "printf 'it''s 1\n' >/logs/verifier/reward.txt\n"
DOOR = KeptProbe("back-door", SCRIPT, "Found by a reviewer")


def result(
    seed: Environment, *turns: tuple[Step, ...], gate: str = "adversary", outcome: str = "failed"
) -> GateResult:
    """A stored result as an audit leaves it: for each turn its command, then the tests."""
    audit = Audit.objects.create(snapshot=seed.snapshot, backend="bubblewrap", judge="offline")
    row = GateResult.objects.create(
        audit=audit, gate=gate, gate_version=1, key="0" * 64, outcome=outcome, summary="",
        started_at=datetime.now(UTC), seconds=1,
    )  # fmt: skip
    ran = [ran for turn in turns for ran in (command(turn), ["/tests/test.sh"])]
    recording.store_commands(
        [ExecResult(tuple(argv), 0, b"", b"", 0, 0.1, datetime.now(UTC)) for argv in ran], result=row
    )
    return row


def said(*words: str) -> str:
    out = StringIO()
    call_command("probe", *words, stdout=out)
    return out.getvalue()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    call_command("probe", *words, "--json")
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as left:
        call_command("probe", *words)
    return left.value.code, capsys.readouterr().err


def test_a_probe_that_got_a_reward_is_kept_with_its_script_for_the_lineage(seed: Environment) -> None:
    found = result(seed, (Step("late_writer", "Tries.", SCRIPT),))

    (row,) = probing.keep_what_worked(found, seed.lineage)

    assert row.name.startswith("late_writer-")
    assert (row.script, row.found_in, row.added_by) == (SCRIPT, found, None)
    assert row.origin == f"Found by the gate adversary in {seed.snapshot}"
    (kept,) = probing.kept_for(seed.lineage)
    assert kept == KeptProbe(row.name, SCRIPT, row.origin)


def test_probes_that_worked_only_together_are_kept_as_one(seed: Environment) -> None:
    turn = (Step("one", "Tries.", SCRIPT), Step("two", "Tries.", "true"))

    (row,) = probing.keep_what_worked(result(seed, turn), seed.lineage)

    assert row.name.startswith("one+two-")
    assert row.script == command(turn)[2]


def test_what_a_lineage_has_already_is_not_kept_twice(seed: Environment) -> None:
    probing.keep(seed.lineage, DOOR)

    assert probing.keep_what_worked(result(seed, (Step("other", "Tries.", SCRIPT),)), seed.lineage) == ()
    assert Probe.objects.count() == 1


def test_the_same_probe_with_another_script_is_kept_beside_the_first(seed: Environment) -> None:
    turns = (Step("found_answers", "Tries.", SCRIPT),), (Step("found_answers", "Tries.", "true"),)

    rows = probing.keep_what_worked(result(seed, *turns), seed.lineage)

    assert len({row.name for row in rows}) == 2


@pytest.mark.parametrize(("gate", "outcome"), [("oracle", "failed"), ("adversary", "passed")])
def test_nothing_is_kept_of_another_gate_or_where_nothing_worked(
    gate: str, outcome: str, seed: Environment
) -> None:
    found = result(seed, (Step("late_writer", "Tries.", SCRIPT),), gate=gate, outcome=outcome)

    assert probing.keep_what_worked(found, seed.lineage) == ()
    assert not Probe.objects.exists()


def test_an_attack_of_a_role_gets_a_name_without_spaces(seed: Environment) -> None:
    found = result(seed, (Step("a door in the back", "Tries.", SCRIPT),), gate="attacker")

    (row,) = probing.keep_what_worked(found, seed.lineage)

    assert row.name.startswith("a-door-in-the-back-")


def test_a_script_that_came_in_several_arguments_is_kept_as_it_was(seed: Environment) -> None:
    long = f"# {'its ' * 60_000}\nexit 0\n"

    (row,) = probing.keep_what_worked(result(seed, (Step("long", "Tries.", long),)), seed.lineage)

    assert row.script == long


def test_whatever_a_model_calls_its_attack_the_result_is_stored(
    seed: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    turns = (Step("\x1b[2J\n", "Tries.", SCRIPT),), (Step("much", "Tries.", "x" * 500_001),)

    rows = probing.keep_what_worked(result(seed, *turns, gate="attacker"), seed.lineage)

    assert [row.script for row in rows] == [SCRIPT]
    assert rows[0].name.startswith("[2J-")
    assert "is not kept: the script is longer" in caplog.text


def test_a_task_of_no_lineage_has_no_kept_probes(seed: Environment) -> None:
    probing.keep(seed.lineage, DOOR)

    assert probing.kept_for(None) == ()


@pytest.mark.parametrize(
    ("probe", "sentence"),
    [
        (KeptProbe("two words", "true", ""), "is no name"),
        (KeptProbe("", "true", ""), "is no name"),
        (KeptProbe("n" * 81, "true", ""), "is no name"),
        (KeptProbe("\x1b[2Jgone", "true", ""), "is no name"),
        (KeptProbe("empty", " \n", ""), "the script is empty"),
        (KeptProbe("long", "x" * 500_001, ""), "longer than 500000 bytes"),
        (KeptProbe("nul", "true\0", ""), "cannot be stored"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(
    probe: KeptProbe, sentence: str, seed: Environment
) -> None:
    with pytest.raises(probing.NotKept, match=sentence):
        probing.keep(seed.lineage, probe)
    assert not Probe.objects.exists()


def test_a_person_adds_an_attack_from_a_file_and_sees_it_in_the_list(
    seed: Environment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "back-door.sh"
    file.write_text(SCRIPT)

    assert "words keeps the probe back-door" in said(
        "add", "words", str(file), "--origin", "Found by a reviewer"
    )

    assert probing.kept_for(seed.lineage) == (DOOR,)
    assert "Found by a reviewer" in said("list", "words")
    (row,) = told(capsys, "list")["probes"]
    assert (row["lineage"], row["name"], row["script"]) == ("words", "back-door", SCRIPT)


def test_a_person_adds_an_attack_from_standard_input(
    seed: Environment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(SCRIPT))

    row = told(capsys, "add", "words", "--name", "back-door")

    assert row["script"] == SCRIPT
    assert probing.kept_for(seed.lineage)[0].origin == "Added by hand"


def test_a_removed_probe_is_replayed_no_more(seed: Environment) -> None:
    probing.keep(seed.lineage, DOOR)

    assert "no more" in said("remove", "words", "back-door")

    assert probing.kept_for(seed.lineage) == ()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "nowhere", "{file}"), "there is no lineage 'nowhere'"),
        (("list", "nowhere"), "there is no lineage 'nowhere'"),
        (("add", "words"), "needs a name"),
        (("add", "words", "{file}.missing"), "No such file"),
        (("add", "words", "{binary}"), "is no text"),
        (("add", "words", "{file}", "--name", "two words"), "is no name"),
        (("add", "words", "{file}", "--name", "back-door"), "another probe called 'back-door'"),
        (("remove", "words", "nothing"), "keeps no probe called 'nothing'"),
    ],
)
def test_wrong_use_is_told_in_a_sentence_with_exit_code_2(
    words: tuple[str, ...],
    sentence: str,
    seed: Environment,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probing.keep(seed.lineage, DOOR)
    (tmp_path / "file").write_text("true\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    monkeypatch.setattr("sys.stdin", StringIO("true\n"))
    places = {"file": tmp_path / "file", "binary": tmp_path / "binary"}

    code, error = refused(capsys, *(word.format(**places) for word in words))

    assert code == 2
    assert sentence in error
    assert probing.kept_for(seed.lineage) == (DOOR,)
