"""Withdrawing an environment: what is below is held back and stopped, and nothing slips past."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.scripted import Script
from lineages.gates import all_gates
from lineages.growth import jobs, loops
from lineages.growth.evolving import CannotStart, RecipeSettings, cancel, start
from lineages.growth.models import Attempt, Evolution
from lineages.growth.withdrawing import (
    ParentHeld,
    cancel_below,
    free,
    hold_back,
    withdraw,
)
from lineages.library.models import Environment, GateResult, Job, Quarantine
from lineages.library.snapshots import store
from lineages.lifecycle import LeaseLost, Stale, claim
from lineages.reasons import ReasonNeeded
from lineages.review.decisions import decide_candidate
from lineages.review.voiding import void
from sandboxes.files import TaskFile
from tests import factories
from tests.lineages.conftest import begin
from tests.lineages.test_decisions import newest_candidate, step_to, vouch_for_candidate, vouch_for_seed
from tests.lineages.test_lifecycle import at_once
from tests.tasks import words

pytestmark = pytest.mark.django_db(transaction=True)

WHY = "The reward can be had without solving it."


@pytest.fixture
def ada() -> User:
    return factories.user("ada")  # type: ignore[no-any-return]


@pytest.fixture
def bob() -> User:
    return factories.user("bob")  # type: ignore[no-any-return]


def held() -> list[str]:
    return [
        each.reference for each in Environment.objects.filter(quarantined=True).order_by("generation", "k")
    ]


def hold(environment: Environment) -> Quarantine:
    return Quarantine.objects.get(environment=environment, freed_at=None)


def wrong(answers: list[object]) -> list[object]:
    expected = (Stale, CannotStart, ParentHeld)
    return [each for each in answers if isinstance(each, Exception) and not isinstance(each, expected)]


def test_the_whole_subtree_is_held_back_and_nothing_beside_it(ada: User) -> None:
    seed, first, second, third = factories.chain(3)
    beside = factories.environment(seed.lineage, generation=2, parent=first, k=2)

    withdraw(second, reason=f"  {WHY}\n", by=ada)

    rows = Quarantine.objects.values_list("environment", "origin", "reason", "by", "freed_at")
    assert set(rows) == {(each.pk, second.pk, WHY, ada.pk, None) for each in (second, third)}
    assert set(Environment.objects.filter(quarantined=True)) == {second, third}
    assert not Environment.objects.get(pk=beside.pk).quarantined


@pytest.mark.lifecycle
def test_open_evolutions_below_are_cancelled_whoever_works_on_them(ada: User) -> None:
    seed, first, second = factories.chain(2)
    working = factories.evolution(second)
    attempt = factories.attempt(working)
    failed = factories.evolution(first, status="failed", failed_in="building")
    waiting = factories.waiting_plan(second).attempt.evolution
    above = factories.evolution(seed)
    lease = claim(working)
    assert lease is not None

    withdraw(first, reason=WHY, by=ada)

    for each in (working, failed, waiting):
        each.refresh_from_db()
        assert each.status == "cancelled"
        assert (each.history().last().by, "was withdrawn" in each.last_reason) == (ada, True)
    with pytest.raises(LeaseLost):
        lease.beat()
    attempt.refresh_from_db()
    assert attempt.outcome == Attempt.Outcome.ABANDONED
    above.refresh_from_db()
    assert above.status == "drafting"


def test_nothing_starts_from_what_is_held_back(ada: User) -> None:
    first = factories.chain(1)[1]
    withdraw(first, reason=WHY, by=ada)

    with pytest.raises(CannotStart, match="withdrawn"):
        start(first, RecipeSettings())

    assert not first.evolutions.exists()


def test_a_withdrawal_needs_a_reason_and_happens_once(ada: User, bob: User) -> None:
    seed = factories.seed()
    with pytest.raises(ReasonNeeded):
        withdraw(seed, reason=" ", by=ada)
    assert held() == []

    withdraw(seed, reason=WHY, by=ada)
    with pytest.raises(Stale):
        withdraw(seed, reason="another", by=bob)

    assert hold(seed).by == ada


@pytest.mark.lifecycle
def test_a_descendant_that_is_held_already_is_held_for_both(ada: User, bob: User) -> None:
    seed, first = factories.chain(1)
    withdraw(first, reason="flaky", by=bob)

    withdraw(seed, reason=WHY, by=ada)

    own, inherited = first.quarantines.order_by("pk")
    assert (own.origin, own.by, inherited.origin, inherited.by) == (first, bob, seed, ada)
    free(hold(seed), reason="mended", by=ada)
    assert not free(inherited, reason="mended", by=ada), "its own hold is still open"
    assert Environment.objects.get(pk=first.pk).quarantined
    assert free(own, reason="steady now", by=bob)
    assert held() == []


def test_what_is_held_back_is_freed_one_by_one_from_the_top(ada: User, bob: User) -> None:
    seed, first, second = factories.chain(2)
    withdraw(seed, reason=WHY, by=ada)

    with pytest.raises(ParentHeld, match="free it first"):
        free(hold(first), reason="fine", by=bob)
    assert free(hold(seed), reason="mended", by=bob)
    freed = hold(first)
    assert free(freed, reason="looked at it", by=bob)

    freed.refresh_from_db()
    assert (freed.freed_by, freed.freed_reason, freed.freed_at is not None) == (bob, "looked at it", True)
    assert held() == [second.reference]
    assert start(first, RecipeSettings()).status == "drafting"
    with pytest.raises(Stale):
        free(freed, reason="again", by=ada)
    with pytest.raises(ReasonNeeded):
        free(hold(second), reason="", by=ada)


def test_it_can_be_withdrawn_again_after_it_was_freed(ada: User) -> None:
    seed = factories.seed()
    withdraw(seed, reason="first", by=ada)
    free(hold(seed), reason="mended", by=ada)

    withdraw(seed, reason="second", by=ada)

    assert list(seed.quarantines.values_list("reason", flat=True)) == ["first", "second"]
    assert held() == [seed.reference]


def test_an_evolution_whose_withdrawal_was_cut_short_ends_with_its_next_step(ada: User) -> None:
    evolution = factories.evolution()
    attempt = factories.attempt(evolution)
    hold_back(evolution.parent, reason=WHY, by=ada)  # and then the process died

    assert loops.advance(evolution.pk) == []

    evolution.refresh_from_db()
    attempt.refresh_from_db()
    assert (evolution.status, attempt.outcome) == ("cancelled", "abandoned")


def test_a_sign_off_under_a_withdrawn_parent_accepts_nothing(ada: User) -> None:
    candidate = factories.waiting_candidate()
    evolution = candidate.attempt.evolution
    hold_back(evolution.parent, reason=WHY, by=ada)

    with pytest.raises(Stale):
        decide_candidate(candidate, version=4, decision="approve", comment="", by=ada)

    assert not evolution.parent.children.exists()
    assert not candidate.reviews.filter(role="person").exists()


@pytest.mark.lifecycle
def test_starts_and_a_withdrawal_at_once_leave_no_open_evolution(ada: User) -> None:
    first = factories.chain(1)[1]

    answers = at_once(
        *[lambda: start(Environment.objects.get(pk=first.pk), RecipeSettings()) for _ in range(4)],
        lambda: withdraw(first, reason=WHY, by=ada),
    )

    assert wrong(answers) == []
    assert first.reference in held()
    assert not Evolution.objects.exclude(status__in=Evolution.ENDED).exists()


@pytest.mark.lifecycle
def test_acceptances_and_a_withdrawal_at_once_leave_no_free_child(
    seed: Environment, script: Script, ada: User
) -> None:
    """Each evolution has its last step to do, by a worker, and would go on with a next generation."""
    vouch_for_seed(seed)
    evolutions = [begin(seed, generations=2, directions=("length",)) for _ in range(3)]
    for evolution in evolutions:
        step_to(evolution, "verifying")
        vouch_for_candidate(newest_candidate(evolution))

    answers = at_once(
        *[lambda each=each: loops.advance(each.pk) for each in evolutions],  # type: ignore[misc]
        lambda: withdraw(seed, reason=WHY, by=ada),
    )

    assert wrong(answers) == []
    assert not Environment.objects.filter(quarantined=False).exists()
    assert Quarantine.objects.count() == Environment.objects.count()
    assert not Evolution.objects.exclude(status__in=Evolution.ENDED).exists()


@pytest.mark.lifecycle
def test_freeing_and_withdrawing_the_parent_at_once_never_frees_under_a_held_one(
    ada: User, bob: User
) -> None:
    seed, first = factories.chain(1)
    withdraw(first, reason="flaky", by=ada)
    own = hold(first)

    answers = at_once(
        lambda: free(own, reason="steady", by=bob),
        lambda: withdraw(Environment.objects.get(pk=seed.pk), reason=WHY, by=ada),
    )

    assert wrong(answers) == []
    first.refresh_from_db()
    assert first.quarantined
    assert first.quarantines.filter(origin=seed, freed_at=None).exists()


@pytest.mark.lifecycle
def test_two_holds_freed_at_once_leave_it_free(ada: User, bob: User) -> None:
    seed, first = factories.chain(1)
    withdraw(first, reason="flaky", by=ada)
    withdraw(seed, reason=WHY, by=ada)
    free(hold(seed), reason="mended", by=ada)
    one, other = first.quarantines.filter(freed_at=None)

    answers = at_once(
        lambda: free(one, reason="a", by=ada),
        lambda: free(other, reason="b", by=bob),
    )

    assert sorted(answers) == [False, True]  # type: ignore[type-var]
    assert held() == []


@pytest.mark.lifecycle
def test_withdrawals_of_an_ancestor_and_its_descendant_at_once_both_stand(ada: User, bob: User) -> None:
    chain = factories.chain(4)

    answers = at_once(*[lambda each=each: withdraw(each, reason=WHY, by=ada) for each in chain])  # type: ignore[misc]

    assert wrong(answers) == []
    assert len(held()) == 5
    for each in chain:
        assert each.quarantines.filter(origin=each).count() == 1
        assert each.quarantines.count() == each.generation + 1


@pytest.mark.lifecycle
def test_a_cancel_takes_an_evolution_from_whoever_claims_it_at_that_moment(ada: User) -> None:
    evolution = factories.evolution()

    answers = at_once(
        *[lambda: claim(Evolution.objects.get(pk=evolution.pk)) for _ in range(3)],
        lambda: cancel(Evolution.objects.get(pk=evolution.pk), by=ada, reason="too dear"),
    )

    assert wrong(answers) == [] and not isinstance(answers[-1], Exception)
    evolution.refresh_from_db()
    assert (evolution.status, evolution.lease_token, evolution.last_reason) == ("cancelled", "", "too dear")
    with pytest.raises(Stale):
        cancel(evolution, by=ada)


def test_cancelling_below_goes_on_until_nothing_is_open(ada: User) -> None:
    first = factories.chain(1)[1]
    evolutions = [factories.evolution(first) for _ in range(3)]

    cancel_below([first], "withdrawn", by=ada)

    assert {Evolution.objects.get(pk=each.pk).status for each in evolutions} == {"cancelled"}


def reverified(seed: Environment, by: User | None) -> None:
    job = Job.objects.create(job_kind="audit", subject=seed.reference, status="queued", started_by=by)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.status == "done", job.note


@pytest.fixture
def broken() -> Environment:
    """A seed whose solution does not pass its own test."""
    task = words().replace({"solution/parts/first.sh": TaskFile.text("true\n", executable=True)})
    return factories.seed(factories.lineage("broken"), snapshot=store(task))


def passed_before(seed: Environment, *, gate: str = "oracle", gate_version: int | None = None) -> None:
    version = all_gates()[gate].version if gate_version is None else gate_version
    audit = factories.audit(seed.snapshot, outcomes={gate: "not_run"})
    audit.results.filter(gate=gate).update(outcome="passed", gate_version=version)


def test_a_gate_that_fails_when_it_runs_again_withdraws_what_it_had_passed(
    broken: Environment, ada: User
) -> None:
    passed_before(broken)

    reverified(broken, ada)

    found = hold(broken)
    assert (found.by, found.reason.split(":")[0]) == (ada, "the oracle gate failed when it ran again")


@pytest.mark.parametrize("before", ["never passed", "an older version passed"])
def test_what_this_version_of_the_gate_never_passed_is_not_withdrawn(
    broken: Environment, ada: User, before: str
) -> None:
    if before == "an older version passed":
        passed_before(broken, gate_version=0)

    reverified(broken, ada)

    assert held() == []


def test_a_voided_failure_withdraws_nothing(ada: User) -> None:
    telling = words().replace({"instruction.md": TaskFile.text("Look at /tests/test.sh.\n")})
    seed = factories.seed(factories.lineage("telling"), snapshot=store(telling))
    passed_before(seed, gate="static")
    reverified(seed, ada)
    free(hold(seed), reason="it tells what anybody may know", by=ada)
    void(GateResult.objects.get(gate="static", outcome="failed"), reason="known", by=ada)

    reverified(seed, ada)

    assert held() == []


def test_the_export_of_what_is_withdrawn_is_refused_with_the_reason_unless_asked_for(
    ada: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = factories.seed()
    withdraw(seed, reason=WHY, by=ada)

    with pytest.raises(SystemExit) as left:
        call_command("export", seed.reference, "--out", str(tmp_path / "no"))

    assert left.value.code == 1
    assert f"is withdrawn by ada: {WHY}" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    call_command("export", seed.reference, "--out", str(tmp_path / "yes"), "--withdrawn")
    assert (tmp_path / "yes" / "task.toml").exists()
