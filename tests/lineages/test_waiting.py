"""Work that waits for an answer: nothing is lost, nothing is asked twice, and who waits is woken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as conf
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from agents.authors import author
from agents.line import Waits
from agents.models import book_of
from agents.plan import Judgement, PlanDraft
from agents.roles import Brief
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC
from agents.scripted import ACCEPT, Script, insert_one
from lineages import casting
from lineages.desk import Gone
from lineages.gates import all_gates
from lineages.gates.base import Outcome, Result, Subject
from lineages.growth import evolving, jobs, loops
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Evolution
from lineages.growth.nudge import wake, wake_waiting
from lineages.growth.subjects import of_environment
from lineages.library import audits, by_hand, importing, machine
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, Environment
from lineages.library.sources import Source
from lineages.lifecycle import LeaseLost
from lineages.management.commands._output import Exit
from lineages.management.commands.evolve import exit_code
from sandboxes.intake import read_folder
from tests import factories
from tests.lineages.conftest import begin, grow
from tests.lineages.test_decisions import vouch, vouch_for_seed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

LONG = Waits("an answer by a person", seconds=300, forever=True)
SEEDS = conf.SEEDS
NOTHING = json.dumps({"observed": [], "edits": [], "summary": "", "rationale": "", "nothing": "No idea."})
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


def test_a_model_that_is_gone_from_the_book_fails_its_evolutions_with_its_name_until_it_is_back(
    seed: Environment, settings: Any
) -> None:
    settings.FAULT_BACKOFF_SECONDS = 0
    settings.UNTRUSTED_IN_BUBBLEWRAP = True
    with_ada = book_of('[models.ada]\nprovider = "manual"\n', lambda _: None)
    settings.MODELS = with_ada
    evolution = begin(seed, author="ada")

    settings.MODELS = book_of("", lambda _: None)
    gone = grow(evolution)
    assert (gone.status, gone.failed_in) == ("failed", "drafting")
    assert "there is no model called 'ada'; there is: manual" in gone.fault
    assert casting.warnings(gone.recipe.cast) == (
        "a model of this recipe is gone: there is no model called 'ada'; there is: manual",
    )

    settings.MODELS = with_ada
    evolving.move_back(gone, by=None)
    asked_of_ada = grow(gone)
    assert asked_of_ada.waiting_for == "an answer by a person"
    assert by_hand.waiting().get().role == "rubric_verifier"


def test_a_recipe_without_a_model_has_the_digest_that_it_had_before_there_were_models() -> None:
    recipe = RecipeSettings(effort="low", directions=("length", "skill"), seed=7).recipe()

    known = {
        "approval": "auto",
        "author": "offline",
        "directions": "length,skill",
        "effort": "low",
        "environment_rubric": ENVIRONMENT_RUBRIC.version,
        "plan_rounds": 3,
        "plan_rubric": PLAN_RUBRIC.version,
        "profile": "standard",
        "repairs": 3,
        "seed": 7,
    }
    assert recipe.digest == hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    assert recipe.cast == ""


def test_no_judge_is_asked_where_what_the_author_makes_may_not_run(
    seed: Environment, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    put_off = grow(begin(seed, author="manual"))

    assert (put_off.status, put_off.faults, put_off.fault) == ("drafting", 0, "")
    assert put_off.waiting_for == (
        "a Docker engine, since what manual made is not trusted in bubblewrap "
        "(ENVEVO_UNTRUSTED_IN_BUBBLEWRAP=true allows it)"
    )
    assert put_off.retry_at and put_off.retry_at > timezone.now() + loops.PATIENCE
    assert exit_code(put_off) == Exit.MACHINE
    assert "Traceback" not in caplog.text
    assert not by_hand.waiting().exists() and not Audit.objects.exists()


def test_an_evolution_that_was_not_trusted_here_goes_on_once_it_is(seed: Environment, settings: Any) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    put_off = grow(begin(seed, author="manual"))
    settings.UNTRUSTED_IN_BUBBLEWRAP = True
    type(put_off).objects.filter(pk=put_off.pk).update(retry_at=None)

    assert grow(put_off).waiting_for == "an answer by a person"


def test_a_job_whose_content_is_not_trusted_here_waits_and_uses_up_no_try(settings: Any) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    grown = factories.accepted(factories.evolution(recipe=factories.recipe(author="manual")))
    assert grown.child
    job = jobs.request_audit(grown.child, factories.user())

    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.tries, job.note) == ("queued", 0, "")
    assert job.waiting_for.startswith("a Docker engine, since what manual made is not trusted")
    assert job.retry_at and job.retry_at > timezone.now() + loops.PATIENCE


@pytest.mark.parametrize("names", [["a" * 120], [f"model-{number}" for number in range(40)]])
def test_what_many_or_long_names_wait_for_fits_into_a_row(names: list[str], settings: Any) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = False
    makers = [SimpleNamespace(name=name, trusted=False) for name in names]

    with pytest.raises(machine.Untrusted) as refused:
        machine.backend_for(makers)

    assert names[0][:40] in refused.value.waits_for
    assert len(refused.value.waits_for) <= (Evolution._meta.get_field("waiting_for").max_length or 0)


def test_an_evolution_that_waits_for_a_person_and_is_cancelled_asks_nobody_any_more(
    settings: Any,
) -> None:
    settings.UNTRUSTED_IN_BUBBLEWRAP = True
    seed = vouched("build-repair", "manual")
    evolution = grow(begin(seed, author="manual"))
    (question,) = by_hand.waiting()
    assert (evolution.waiting_for, question.role) == ("an answer by a person", "proposer")

    evolving.cancel(evolution, by=None)
    assert not by_hand.waiting().exists()

    by_hand.answer(question, user=factories.user(), text=NOTHING)
    wake(evolution)
    assert loops.advance(evolution.pk) == []
    assert evolution.attempts.get().outcome == "abandoned" and not evolution.attempts.get().plans.exists()


def vouched(name: str, by: str) -> Environment:
    """A shipped seed that this author's judge has accepted."""
    folder = Source(SEEDS / name, name, lambda: read_folder(SEEDS / name))
    (planted,) = importing.take_in([folder])
    assert isinstance(planted, importing.Imported)
    snapshot = planted.environment.snapshot
    vouch(snapshot, audits.subject_of(snapshot, casting.named(by), ENVIRONMENT_RUBRIC))
    return planted.environment


def test_a_long_reason_is_cut_and_says_so(seed: Environment, script: Script) -> None:
    def propose(brief: Brief) -> PlanDraft:
        raise Waits(f"a model: {'no ' * 200}", seconds=300, forever=True)

    script.propose = propose
    vouch_for_seed(seed)
    reason = grow(begin(seed)).waiting_for

    assert len(reason) == loops.LONGEST_REASON and reason.startswith("a model: no ") and reason.endswith("…")
