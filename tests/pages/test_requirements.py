"""What is open of an environment's requirements, as a table: rows and today's keys in, sentences out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lineages.gates import all_gates, profile
from lineages.gates.base import Input
from lineages.library.models import Audit, Environment, GateResult
from lineages.library.requirements import Requirement, State, Today, grouped, requirements

KEYS = {gate.name: f"{gate.name}-today" for gate in profile("standard")}
TODAY = Today(KEYS, backend="docker", judge="offline", rubric="r1")


def audit(**fields: Any) -> Audit:
    made_with = {"profile": "standard", "backend": "docker", "judge": "offline", "rubric": "r1"}
    return Audit(**{**made_with, "status": Audit.Status.ACCEPTED, **fields})


def answers(**changes: dict[str, Any]) -> list[GateResult]:
    """Every gate passed by the key of today, but for what `changes` says of some."""
    return [
        GateResult(
            **{
                "pk": number,
                "gate": gate.name,
                "gate_version": gate.version,
                "key": KEYS[gate.name],
                "outcome": "passed",
                "summary": f"{gate.name} said so.",
                **changes.get(gate.name, {}),
            }
        )
        for number, gate in enumerate(profile("standard"), 1)
    ]


def only(found: list[Requirement]) -> Requirement:
    (one,) = found
    return one


def test_nothing_is_open_where_every_gate_accepts_by_todays_keys() -> None:
    assert requirements(audit(), answers(), today=TODAY) == []


@pytest.mark.parametrize(
    ("outcome", "state", "said"),
    [
        ("failed", State.FAILED, "static said so. An admin may void it with a reason."),
        ("error", State.ERROR, "static said so. Nothing is said about the task: verify again."),
        ("not_run", State.NOT_RUN, "static said so."),
    ],
)
def test_an_answer_that_is_not_accepted_is_open_and_leads_to_it(
    outcome: str, state: State, said: str
) -> None:
    one = only(requirements(audit(), answers(static={"outcome": outcome}), today=TODAY))
    assert (one.gate, one.state, one.sentence, one.blocks) == ("static", state, said, True)
    assert one.link.startswith("/gates/")


def test_a_failure_that_always_stands_says_so() -> None:
    one = only(requirements(audit(), answers(oracle={"outcome": "failed"})))
    assert one.sentence == "oracle said so. No person may void it: the task has to change."


def test_what_is_not_applicable_or_voided_is_not_open() -> None:
    rows = answers(conformance={"outcome": "not_applicable"}, static={"outcome": "failed"})
    for row in rows:
        row.voiding = row.gate == "static"  # type: ignore[attr-defined]
    assert requirements(audit(), rows, today=TODAY) == []


@pytest.mark.parametrize(
    ("status", "state", "said"),
    [
        ("queued", State.WAITING, "has not come to it yet"),
        ("abandoned", State.UNASKED, "given up"),
        ("accepted", State.UNASKED, "verify to ask it"),
    ],
)
def test_a_gate_without_an_answer_waits_or_was_never_asked(status: str, state: State, said: str) -> None:
    rows = [row for row in answers() if row.gate != "static"]
    one = only(requirements(audit(status=status), rows))
    assert (one.gate, one.state) == ("static", state) and said in one.sentence


def test_without_an_audit_the_whole_standard_profile_is_open_under_one_sentence() -> None:
    found = requirements(None, [])
    assert {one.gate for one in found} == {gate.name for gate in profile("standard")}
    assert len(grouped(found)) == 1


OPTIONAL = [gate.name for gate in all_gates().values() if not gate.required]


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_cannot_be_asked_here_is_told_and_blocks_nothing(name: str) -> None:
    rows = [
        GateResult(
            pk=1,
            gate=gate.name,
            gate_version=gate.version,
            key="",
            outcome="not_run" if gate.name == name else "passed",
            summary="No model is configured.",
        )
        for gate in profile("strict")
    ]
    one = only(requirements(audit(profile="strict"), rows))
    assert (one.state, one.sentence, one.blocks) == (State.UNCHECKED, "No model is configured.", False)


def test_another_version_of_a_gate_is_told_by_its_number() -> None:
    version = all_gates()["static"].version
    one = only(
        requirements(audit(), answers(static={"gate_version": version - 1, "key": "old"}), today=TODAY)
    )
    assert one.state is State.OUTDATED
    assert f"it answered in version {version - 1}, today it is {version}" in one.sentence
    assert "It stays accepted" in one.sentence


def test_another_judge_and_another_rubric_are_told_by_what_the_audit_kept() -> None:
    moved = answers(rubrics={"key": "old"})
    assert "The judge was ada" in only(requirements(audit(judge="ada"), moved, today=TODAY)).sentence
    assert "another wording" in only(requirements(audit(rubric="r0"), moved, today=TODAY)).sentence


def test_what_stands_in_a_key_that_did_not_move_is_not_suspected() -> None:
    """Every key with the backend in it moved, none other: it was the backend, or its base image."""
    of_machine = {gate.name for gate in profile("standard") if {Input.BACKEND, Input.BASE} & gate.inputs}
    moved = answers(**{name: {"key": "old"} for name in of_machine})
    for one in requirements(audit(), moved, today=TODAY):
        assert one.gate in of_machine
        assert "the backend" in one.sentence and "rubric" not in one.sentence and "judge" not in one.sentence


def test_evidence_of_another_backend_is_not_compared() -> None:
    of_machine = {gate.name for gate in profile("standard") if {Input.BACKEND, Input.BASE} & gate.inputs}
    moved = answers(**{name: {"key": "old"} for name in of_machine})
    assert requirements(audit(), moved, today=replace(TODAY, backend="bubblewrap")) == []


def test_nothing_is_called_outdated_where_today_is_not_known() -> None:
    moved = answers(static={"key": "old"})
    assert requirements(audit(), moved) == []
    assert requirements(audit(), moved, today=Today(problem="no engine answers")) == []


def test_a_failure_of_old_evidence_says_both() -> None:
    one = only(requirements(audit(), answers(static={"outcome": "failed", "key": "old"}), today=TODAY))
    assert one.state is State.FAILED and one.sentence.endswith("Ask it again.")


def test_an_environment_that_is_held_back_or_provisional_says_so_the_worst_first() -> None:
    held = Environment(pk=7, quarantined=True, provisional=True)
    found = requirements(audit(), answers(static={"outcome": "failed"}), environment=held)
    assert [one.state for one in found] == [State.HELD_BACK, State.FAILED, State.PROVISIONAL]
    assert [one.blocks for one in found] == [True, True, False]


def test_a_verdict_from_before_its_failure_was_voided_is_open_until_it_is_asked_again() -> None:
    rows = answers(static={"outcome": "failed"})
    for row in rows:
        row.voiding = row.gate == "static"  # type: ignore[attr-defined]
    one = only(requirements(audit(status="rejected"), rows, today=TODAY))
    assert (one.gate, one.state, one.blocks) == ("", State.OUTDATED, True)
    assert "voided since it was rejected: verify again" in one.sentence


@pytest.mark.parametrize(
    ("status", "state"),
    [("queued", State.WAITING), ("abandoned", State.UNASKED), ("error", State.UNASKED)],
)
def test_answers_that_are_all_accepted_are_no_verdict(status: str, state: State) -> None:
    one = only(requirements(audit(status=status), answers(), today=TODAY))
    assert (one.gate, one.state, one.blocks) == ("", state, True)


@pytest.mark.parametrize(
    ("name", "title"),
    [("long-gone", "long-gone (no gate of this name is installed)"), ("attacker", "No attack")],
)
@pytest.mark.parametrize(
    ("outcome", "open_"), [("failed", True), ("error", True), ("passed", False), ("not_applicable", False)]
)
def test_what_a_gate_said_that_the_profile_no_longer_has_is_open_where_it_decided(
    name: str, title: str, outcome: str, open_: bool
) -> None:
    gone = GateResult(pk=99, gate=name, gate_version=1, key="k", outcome=outcome, summary="It said so.")
    status = "rejected" if open_ else "accepted"
    found = requirements(audit(status=status), [*answers(), gone], today=TODAY)
    assert bool(found) is open_
    for one in found:
        assert one.title.startswith(title) and one.state == outcome and one.link == "/gates/99/"
        assert "The profile asks this no more: verify again." in one.sentence


def test_an_audit_of_a_profile_that_there_is_no_more_says_so() -> None:
    one = only(requirements(audit(profile="paranoid"), [], today=TODAY))
    assert (one.state, one.blocks) == (State.UNASKED, True)
    assert "no profile called paranoid" in one.sentence


def test_what_did_not_run_names_the_gate_that_it_waits_for() -> None:
    rows = answers(
        build={"outcome": "failed"},
        oracle={"outcome": "not_run", "summary": "Not run, because build did not pass."},
    )
    found = requirements(audit(status="rejected"), rows, today=TODAY)
    assert [(one.gate, one.state) for one in found] == [("build", State.FAILED), ("oracle", State.NOT_RUN)]
    assert found[1].sentence == "Not run, because build did not pass."
