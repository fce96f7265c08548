"""Work that waits for an answer: nothing is lost, nothing is asked twice, and who waits is woken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from agents.authors import author
from agents.line import Waits
from agents.plan import Judgement, PlanDraft
from agents.roles import Brief
from agents.scripted import ACCEPT, Script, insert_one
from lineages.desk import Gone
from lineages.gates import all_gates
from lineages.gates.base import Outcome, Result, Subject
from lineages.growth import loops
from lineages.growth.models import Evolution
from lineages.growth.nudge import wake, wake_waiting
from lineages.growth.subjects import of_environment
from lineages.library import audits
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, Environment
from lineages.lifecycle import LeaseLost
from tests.lineages.conftest import begin, grow
from tests.lineages.test_decisions import vouch_for_seed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

LONG = Waits("an answer by a person", seconds=300, forever=True)
Answers = Callable[[Subject], Outcome]


def wakes(how: Callable[[], object]) -> Callable[[Brief], PlanDraft]:
    """A proposer that is answered just before it says that it waits; the next time it has a plan."""
    tries: list[int] = []

    def propose(brief: Brief) -> PlanDraft:
        tries.append(1)
        if len(tries) > 1:
            return insert_one(brief)
        how()
        connection.close()
        raise LONG

    return propose


@pytest.mark.parametrize("everybody", [False, True])
def test_who_is_answered_while_its_step_still_runs_is_not_put_off_for_that(
    everybody: bool, seed: Environment, script: Script
) -> None:
    vouch_for_seed(seed)
    evolution = begin(seed)
    script.propose = wakes(wake_waiting if everybody else lambda: wake(evolution))

    assert loops.advance(evolution.pk) == [evolution]
    evolution.refresh_from_db()
    assert (evolution.status, evolution.waiting_for, evolution.lease_token) == ("drafting", "", "")

    assert loops.advance(evolution.pk) == [evolution]
    evolution.refresh_from_db()
    assert evolution.status == "plan_review"


def test_who_waits_is_put_off_with_the_reason_and_drive_leaves_it_until_it_is_woken(
    seed: Environment, script: Script
) -> None:
    vouch_for_seed(seed)
    script.propose = wakes(lambda: None)
    evolution = grow(begin(seed))

    assert (evolution.status, evolution.waiting_for) == ("drafting", "an answer by a person")
    assert loops.advance(evolution.pk) == [], "it is not due"
    assert (evolution.faults, AgentCall.objects.count()) == (0, 0)

    wake(evolution)
    (on,) = loops.advance(evolution.pk)
    assert (on.status, on.waiting_for) == ("plan_review", "")


def paper(seed: Environment, monkeypatch: pytest.MonkeyPatch, **checks: Answers) -> tuple[Audit, Subject]:
    """An audit by the five gates of the paper, which pass at once but for those that are given."""
    for name in ("static", "build", "oracle", "invalid_test", "rubrics"):
        check = checks.get(name, lambda _: Outcome(Result.PASSED, "well"))
        monkeypatch.setitem(all_gates(), name, replace(all_gates()[name], check=check))
    subject = of_environment(seed, author("offline"))
    return audits.open_audit(seed.snapshot, subject, profile="paper"), subject


def asked(times: list[str], name: str, *answers: Waits | Result) -> Answers:
    """A gate that is told these, one after the other; what it was asked for is noted in `times`."""
    left = list(answers)

    def check(_: Subject) -> Outcome:
        times.append(name)
        said = left.pop(0)
        if isinstance(said, Waits):
            raise said
        return Outcome(said, name)

    return check


def test_where_gates_wait_the_others_answers_stay_and_only_those_are_asked_again(
    seed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[str] = []
    audit, subject = paper(
        seed,
        monkeypatch,
        static=asked(times, "static", Result.PASSED),
        build=asked(times, "build", Result.PASSED),
        rubrics=asked(times, "rubrics", LONG, Result.PASSED),
        oracle=asked(times, "oracle", Waits("its turn", seconds=2), Result.PASSED),
    )

    with pytest.raises(Waits, match="its turn"):
        audits.run(audit, subject)

    audit.refresh_from_db()
    assert (audit.status, audit.lease_token) == ("queued", "")
    assert {"static", "build"} <= set(audit.results.values_list("gate", flat=True))
    assert not audit.results.filter(gate__in=["rubrics", "oracle"]).exists()

    audits.run(audit, subject)

    audit.refresh_from_db()
    assert audit.status == "accepted"
    assert sorted(times) == ["build", "oracle", "oracle", "rubrics", "rubrics", "static"]


@pytest.mark.parametrize("error", [LeaseLost("no longer held"), Gone("leaving")])
def test_a_gate_that_was_told_to_stop_says_nothing_of_the_task(
    error: Exception, seed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: Subject) -> Outcome:
        raise error

    audit, subject = paper(seed, monkeypatch, rubrics=stopped)

    with pytest.raises(type(error)):
        audits.run(audit, subject)

    audit.refresh_from_db()
    assert audit.status == "queued" and not audit.results.filter(outcome="error").exists()


def test_an_evolution_that_waits_in_its_parents_audit_asks_the_judge_only_when_it_is_due(
    seed: Environment, script: Script
) -> None:
    times: list[int] = []

    def judge(*_: Any) -> Judgement:
        times.append(1)
        if len(times) == 1:
            raise LONG
        return ACCEPT

    script.judge = judge
    evolution = grow(begin(seed, directions=("length",)))
    assert evolution.waiting_for == "an answer by a person"
    loops.advance(evolution.pk)
    assert len(times) == 1

    Evolution.objects.update(retry_at=Now() - timedelta(seconds=1))
    assert grow(evolution).status == "accepted"
    assert len(times) == 3, "again for the seed, and once for the child"
