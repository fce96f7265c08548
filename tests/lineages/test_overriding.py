"""A person's word against a reviewer's: exactly what the design says follows, once, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents.roles import BuildOrder, Built
from agents.scripted import REJECT, Script, break_one, build_one
from lineages.gates import all_gates, profile
from lineages.growth import history, loops
from lineages.growth.branching import differences
from lineages.growth.briefs import _failures
from lineages.growth.evolving import CannotStart
from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Recipe, Review
from lineages.growth.subjects import of_candidate
from lineages.growth.withdrawing import withdraw
from lineages.library import audits
from lineages.library.models import Audit, Environment, GateResult, Voiding
from lineages.lifecycle import LeaseLost, Stale, claim
from lineages.reasons import ReasonNeeded
from lineages.review.overriding import Follows, follows, override
from lineages.review.voiding import NothingToVoid, void
from sandboxes.files import TaskFile
from tests import factories
from tests.lineages.conftest import begin, grow
from tests.lineages.test_decisions import (
    CHANGES,
    REJECTED,
    newest_candidate,
    newest_plan,
    on_candidate,
    on_plan,
    step_to,
    vouch_for_seed,
    wins,
)
from tests.lineages.test_lifecycle import at_once

pytestmark = pytest.mark.django_db(transaction=True)

WHY = "The reviewer misread the second pair."
LENGTH = {"directions": ("length",)}


@pytest.fixture
def ada() -> User:
    return factories.user("ada")  # type: ignore[no-any-return]


@pytest.fixture
def seed(seed: Environment, script: Script) -> Environment:
    vouch_for_seed(seed)
    return seed


@pytest.fixture
def rejected(seed: Environment, script: Script) -> Review:
    """The rejection of the newest plan, while the proposer has not been asked for another."""
    script.review = lambda brief, plan: REJECT
    evolution = begin(seed, **LENGTH)
    loops.advance(evolution.pk)
    loops.advance(evolution.pk)
    return last_review(newest_plan(evolution))


@pytest.fixture
def failed_rubric(seed: Environment, script: Script) -> Review:
    """The rubric's verdict on the only candidate of an evolution that ended over it."""
    script.judge = lambda *judged: REJECT
    evolution = grow(begin(seed, repairs=0, **LENGTH))
    assert evolution.status == "exhausted"
    return last_review(newest_candidate(evolution))


def last_review(of: Plan | Candidate) -> Review:
    review = of.reviews.order_by("-pk").first()
    assert review is not None
    return review


def voided_in(evolution: Evolution) -> list[tuple[User | None, str]]:
    """By whom and why failures were voided, as the evolution's history tells it."""
    return [(each.by, each.reason) for each in history.of_evolution(evolution) if each.to_status == "voided"]


def overridden(review: Review, by: User, reason: str = WHY) -> Evolution:
    """An override from the page as it is now."""
    shown = follows(Review.objects.get(pk=review.pk))
    assert shown is not None
    return override(review, shown=shown, reason=reason, by=by)


def test_overriding_the_newest_plans_rejection_has_it_built_where_it_is(rejected: Review, ada: User) -> None:
    evolution = overridden(rejected, ada)

    assert (evolution.status, Evolution.objects.count()) == ("building", 1)
    mine = Review.objects.get(supersedes=rejected)
    assert (mine.user, mine.decision, mine.comment, mine.subject) == (ada, "approve", WHY, rejected.plan)
    move = evolution.history().last()
    assert (move.by, move.from_status, move.to_status, move.reason) == (ada, "drafting", "building", WHY)
    assert evolution.attempts.get().outcome == Attempt.Outcome.OPEN
    grown = grow(evolution)
    assert grown.status == "accepted"
    assert grown.attempts.get().plans.count() == 1, "no further round was asked for"


@pytest.mark.lifecycle
def test_the_worker_that_drafts_another_plan_meanwhile_loses(rejected: Review, ada: User) -> None:
    lease = claim(rejected.subject.attempt.evolution)
    assert lease is not None

    overridden(rejected, ada)

    with pytest.raises(LeaseLost):
        lease.beat()


def test_a_plan_whose_evolution_failed_while_drafting_goes_on_too(rejected: Review, ada: User) -> None:
    failed = {"status": "failed", "failed_in": "drafting", "fault": "no engine answers", "faults": 3}
    Evolution.objects.filter(pk=rejected.subject.attempt.evolution_id).update(**failed)

    evolution = overridden(rejected, ada)

    assert (evolution.status, evolution.fault, evolution.faults, evolution.failed_in) == (
        "building",
        "",
        0,
        "",
    )


def test_a_rejected_plan_of_a_closed_attempt_starts_a_new_evolution_there(
    rejected: Review, ada: User, script: Script
) -> None:
    old = grow(rejected.subject.attempt.evolution)
    assert old.status == "exhausted"

    new = overridden(rejected, ada)

    mine = Review.objects.get(supersedes=rejected)
    assert (new.status, new.origin, new.started_by) == ("building", mine, ada)
    assert (new.parent, new.recipe, new.ordinal) == (old.parent, old.recipe, 2)
    attempt = new.attempts.get()
    plan = attempt.plans.get()
    assert (attempt.ordinal, attempt.direction, plan.round) == (0, "length", 0)
    assert (plan.copied_from, plan.draft) == (rejected.plan, rejected.subject.draft)  # type: ignore[union-attr]
    old.refresh_from_db()
    assert (old.status, old.attempts.get().outcome) == ("exhausted", "plans_spent"), "it never reopens"
    assert grow(new).status == "accepted"


def test_after_the_rubrics_changed_a_new_evolution_begins_by_todays(
    rejected: Review, ada: User, script: Script
) -> None:
    old = grow(rejected.subject.attempt.evolution)
    Recipe.objects.filter(pk=old.recipe_id).update(digest="before", plan_rubric="a" * 64)

    new = overridden(rejected, ada)

    before = Recipe.objects.get(pk=old.recipe_id)
    assert [each.name for each in differences(before, new.recipe)] == ["plan rubric"]
    assert grow(new).status == "accepted"


def test_an_older_round_starts_a_new_evolution_while_its_attempt_goes_on(rejected: Review, ada: User) -> None:
    old = rejected.subject.attempt.evolution
    loops.advance(old.pk)

    new = overridden(rejected, ada)

    old.refresh_from_db()
    assert (old.status, new.pk != old.pk, new.status) == ("plan_review", True, "building")


def test_the_other_directions_follow_the_overridden_one(seed: Environment, script: Script, ada: User) -> None:
    script.review = lambda brief, plan: REJECT
    old = grow(begin(seed, plan_rounds=1))
    review = Review.objects.get(role="plan_reviewer")

    new = overridden(review, ada)

    assert new.directions[0] == "length"
    assert sorted(new.directions) == sorted(old.directions)


def test_a_persons_rejection_and_wish_can_be_overridden_too(seed: Environment, ada: User) -> None:
    evolution = begin(seed, approval="plans", **LENGTH)
    first = newest_plan(step_to(evolution, "plan_approval"))
    on_plan(first, CHANGES, ada, comment="Use another file.")

    assert overridden(last_review(first), factories.user("bob")).status == "building"

    second = begin(seed, approval="plans", **LENGTH)
    plan = newest_plan(step_to(second, "plan_approval"))
    on_plan(plan, REJECTED, ada, comment="no")
    assert follows(last_review(plan)) == Follows.START_AT_PLAN
    assert not Voiding.objects.exists()


@pytest.mark.lifecycle
def test_a_failed_rubric_starts_a_new_evolution_at_its_candidate(
    failed_rubric: Review, ada: User, script: Script
) -> None:
    old = failed_rubric.candidate
    assert old is not None

    new = overridden(failed_rubric, ada)

    assert (new.status, new.origin) == ("verifying", Review.objects.get(supersedes=failed_rubric))
    copy = newest_candidate(new)
    assert (copy.copied_from, copy.snapshot, copy.n) == (old, old.snapshot, 0)
    assert copy.plan.copied_from == old.plan
    assert [row.value for row in copy.bindings.all()] == [row.value for row in old.bindings.all()]
    failure = GateResult.objects.get(audit=old.audit, gate="rubrics")
    voiding = Voiding.objects.get()
    assert (voiding.gate, voiding.key, voiding.reason, voiding.by) == ("rubrics", failure.key, WHY, ada)
    author = script.author("scripted")
    assert all_gates()["rubrics"].key(of_candidate(copy, author)) == failure.key
    assert voided_in(new) == voided_in(old.attempt.evolution) == [(ada, WHY)], "in both histories"


def test_the_voided_rubric_fails_again_and_its_candidate_is_accepted(
    failed_rubric: Review, ada: User
) -> None:
    new = grow(overridden(failed_rubric, ada))

    assert new.status == "accepted"
    assert new.child is not None and new.child.snapshot == failed_rubric.subject.snapshot  # type: ignore[union-attr]
    audit = newest_candidate(new).audit
    assert audit is not None and audit.status == "accepted"
    assert audit.results.get(gate="rubrics").outcome == "failed", "what the judge says is kept as it is"
    assert new.attempts.get().candidates.count() == 1, "no repair was used"
    assert follows(last_review(newest_candidate(new))) is None


def test_a_candidate_under_repair_goes_back_to_its_gates(
    seed: Environment, script: Script, ada: User
) -> None:
    script.judge = lambda *judged: REJECT
    evolution = begin(seed, **LENGTH)
    for _ in range(4):
        loops.advance(evolution.pk)
    candidate = newest_candidate(evolution)
    assert [each.gate for each in _failures(candidate)] == ["rubrics"]

    same = overridden(last_review(candidate), ada)

    assert (same.pk, same.status) == (evolution.pk, "verifying")
    assert _failures(Candidate.objects.select_related("audit").get(pk=candidate.pk)) == []
    assert grow(same).status == "accepted"
    assert same.attempts.get().candidates.count() == 1
    assert voided_in(same) == [(ada, WHY)]


def test_another_gates_failure_stands_beside_a_voided_rubric(
    seed: Environment, script: Script, ada: User
) -> None:
    script.judge, script.build = (lambda *judged: REJECT), break_one
    evolution = grow(begin(seed, repairs=0, **LENGTH))

    new = grow(overridden(last_review(newest_candidate(evolution)), ada))

    assert new.status == "exhausted"
    assert not seed.children.exists()


@pytest.mark.lifecycle
def test_overriding_an_approval_closes_the_attempt_whoever_works_on_it(seed: Environment, ada: User) -> None:
    evolution = step_to(begin(seed, directions=("length", "skill")), "building")
    Evolution.objects.filter(pk=evolution.pk).update(direction_order="length,skill")
    lease = claim(evolution)
    assert lease is not None
    review = last_review(newest_plan(evolution))

    same = overridden(review, ada)

    assert (same.pk, same.status) == (evolution.pk, "drafting")
    attempt = same.attempts.get()
    assert (attempt.outcome, attempt.reason) == (Attempt.Outcome.OVERRULED, WHY)
    with pytest.raises(LeaseLost):
        lease.beat()
    loops.advance(same.pk)
    assert same.attempts.last().direction == "skill"
    assert follows(Review.objects.get(supersedes=review)) == Follows.START_AT_PLAN


def test_overriding_an_approval_after_acceptance_withdraws_the_child(seed: Environment, ada: User) -> None:
    evolution = grow(begin(seed, generations=2, **LENGTH)).previous
    assert evolution is not None and evolution.child is not None
    review = last_review(newest_plan(evolution))
    assert follows(review) == Follows.WITHDRAW

    overridden(review, ada)

    held = Environment.objects.filter(quarantined=True)
    assert [each.reference for each in held] == ["words/g1", "words/g2"]
    evolution.refresh_from_db()
    assert (evolution.status, evolution.attempts.get().outcome) == ("accepted", "accepted")
    assert evolution.child.quarantines.get().reason == WHY


def test_an_override_can_be_overridden_and_each_review_once(rejected: Review, ada: User) -> None:
    bob = factories.user("bob")
    overridden(rejected, ada)
    mine = Review.objects.get(supersedes=rejected)

    overridden(mine, bob, "It was right.")

    assert follows(Review.objects.get(pk=rejected.pk)) is None
    assert rejected.subject.attempt.evolution.attempts.get().outcome == Attempt.Outcome.OVERRULED
    with pytest.raises(Stale):
        override(rejected, shown=Follows.BUILD, reason=WHY, by=ada)
    assert Review.objects.filter(role="person").count() == 2


def test_what_changed_since_the_page_was_drawn_is_not_overridden(rejected: Review, ada: User) -> None:
    evolution = rejected.subject.attempt.evolution
    loops.advance(evolution.pk)

    with pytest.raises(Stale):
        override(rejected, shown=Follows.BUILD, reason=WHY, by=ada)

    evolution.refresh_from_db()
    assert (evolution.status, Evolution.objects.count()) == ("plan_review", 1)
    assert not Review.objects.filter(role="person").exists()


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_an_override_needs_a_reason(rejected: Review, ada: User, reason: str) -> None:
    with pytest.raises(ReasonNeeded):
        overridden(rejected, ada, reason)
    assert rejected.subject.attempt.evolution.version == 2
    assert not Review.objects.filter(role="person").exists()


@pytest.mark.lifecycle
@pytest.mark.parametrize("ended", [False, True])
def test_of_overrides_at_once_one_is_stored(rejected: Review, ended: bool) -> None:
    if ended:
        grow(rejected.subject.attempt.evolution)
    shown = follows(rejected)
    assert shown is not None
    people = [factories.user(name) for name in ("ada", "bob", "cid", "dee")]

    answers = at_once(
        *[lambda by=by: override(rejected, shown=shown, reason=WHY, by=by) for by in people]  # type: ignore[misc]
    )

    assert len(wins(answers)) == 1
    assert Review.objects.filter(supersedes=rejected).count() == 1
    assert Evolution.objects.count() == 1 + ended


@pytest.mark.lifecycle
def test_an_override_and_a_worker_at_once_leave_one_of_the_two_outcomes(rejected: Review, ada: User) -> None:
    evolution = rejected.subject.attempt.evolution

    answers = at_once(
        lambda: override(rejected, shown=Follows.BUILD, reason=WHY, by=ada),
        lambda: loops.advance(evolution.pk),
    )

    evolution.refresh_from_db()
    wins(answers)
    stored = Review.objects.filter(supersedes=rejected).exists()
    rounds = evolution.attempts.get().plans.count()
    # A worker that comes after the override builds already.
    assert (evolution.status, rounds) in (
        [("building", 1), ("verifying", 1)] if stored else [("plan_review", 2)]
    )


def test_nothing_starts_from_a_withdrawn_parent_by_an_override(rejected: Review, ada: User) -> None:
    old = grow(rejected.subject.attempt.evolution)
    withdraw(old.parent, reason="hackable", by=ada)

    with pytest.raises(CannotStart, match="withdrawn"):
        overridden(rejected, ada)

    assert not Review.objects.filter(supersedes=rejected).exists()


def test_a_sign_off_that_was_refused_comes_back_with_its_gates_still_passed(
    seed: Environment, ada: User
) -> None:
    evolution = step_to(begin(seed, approval="environments", **LENGTH), "sign_off")
    candidate = newest_candidate(evolution)
    on_candidate(candidate, CHANGES, ada, comment="Rename the file.")

    same = overridden(last_review(candidate), factories.user("bob"))

    assert same.status == "verifying"
    assert step_to(same, "sign_off").attempts.get().candidates.count() == 1
    assert GateResult.objects.filter(gate="oracle", audit__candidates=candidate).count() == 1


def test_only_a_failure_can_be_voided_and_the_first_reason_stays(failed_rubric: Review, ada: User) -> None:
    audit = failed_rubric.subject.audit  # type: ignore[union-attr]
    with pytest.raises(NothingToVoid):
        void(audit.results.get(gate="static"), reason=WHY, by=ada)
    failure = audit.results.get(gate="rubrics")

    assert void(failure, reason=WHY, by=ada)[1]
    assert not void(failure, reason="another", by=factories.user("bob"))[1]

    assert Voiding.objects.get().reason == WHY
    audit.refresh_from_db()
    assert audit.status == "rejected", "what was decided by it stays"


def test_what_waits_for_a_voided_gate_runs_and_the_audit_is_accepted(
    seed: Environment, script: Script, ada: User
) -> None:
    def with_a_pointer(order: BuildOrder) -> Built:
        built = build_one(order)
        (note,) = (path for path in built.changes if path.startswith("environment/notes/"))
        pointer = TaskFile.text("version https://git-lfs.github.com/spec/v1\n")
        return replace(built, changes={**built.changes, note: pointer})

    script.build = with_a_pointer
    candidate = newest_candidate(grow(begin(seed, repairs=0, **LENGTH)))
    assert candidate.audit is not None
    assert candidate.audit.results.get(gate="oracle").outcome == "not_run"
    void(candidate.audit.results.get(gate="static"), reason=WHY, by=ada)

    subject = of_candidate(candidate, script.author("scripted"))
    again = audits.open_audit(candidate.snapshot, subject, profile="paper")
    audits.run(again, subject)

    again.refresh_from_db()
    assert again.status == "accepted"
    assert again.results.get(gate="static").outcome == "failed"
    assert again.results.get(gate="oracle").outcome == "passed"


def test_what_was_passed_over_before_its_failure_was_voided_is_not_accepted_unrun(
    seed: Environment, script: Script, ada: User
) -> None:
    evolution = step_to(begin(seed, **LENGTH), "verifying")
    candidate = newest_candidate(evolution)
    subject = of_candidate(candidate, script.author("scripted"))
    audit = audits.open_audit(candidate.snapshot, subject, profile="paper", parent=seed.snapshot)
    keys = audits.keys_of("paper", audits.asked(audit, subject))
    for gate in profile("paper"):
        outcome = "failed" if gate.name == "static" else "not_run"
        factories.gate_result(
            audit, gate.name, key=keys[gate.name], gate_version=gate.version, outcome=outcome
        )
    void(audit.results.get(gate="static"), reason=WHY, by=ada)
    Candidate.objects.filter(pk=candidate.pk).update(audit=audit)

    loops.advance(evolution.pk)

    audit.refresh_from_db()
    assert audit.status == "error"
    assert "voided meanwhile" in audit.last_reason and "oracle" in audit.last_reason
    evolution.refresh_from_db()
    assert (evolution.status, evolution.faults) == ("verifying", 1), "another audit comes"
    assert not seed.children.exists()


def test_a_verdict_whose_call_is_lost_voids_nothing_of_others(failed_rubric: Review, ada: User) -> None:
    other = factories.audit(factories.snapshot(), outcomes={"rubrics": "failed"})
    assert not other.calls.exists()
    Review.objects.filter(pk=failed_rubric.pk).update(call=None)

    overridden(Review.objects.get(pk=failed_rubric.pk), ada)

    assert not Voiding.objects.exists()


def test_no_twin_of_what_an_override_withdrew_begins_by_overriding_that(seed: Environment, ada: User) -> None:
    evolution = grow(begin(seed, **LENGTH))
    approval = last_review(newest_plan(evolution))
    overridden(approval, ada)
    mine = Review.objects.get(supersedes=approval)

    assert follows(mine) is None
    with pytest.raises(Stale):
        override(mine, shown=Follows.START_AT_PLAN, reason=WHY, by=ada)

    assert Evolution.objects.count() == 1


def in_the_middle(script: Script, role: str, review_of: Callable[[], Review], by: User) -> None:
    """Somebody overrides while this role of a worker thinks; the role answers after that."""
    answer = getattr(script, role)

    def interrupted(*asked: Any) -> Any:
        setattr(script, role, answer)
        try:
            overridden(review_of(), by)
        finally:
            connection.close()
        return answer(*asked)

    setattr(script, role, interrupted)


@pytest.mark.lifecycle
@pytest.mark.parametrize(
    ("stands_in", "role", "becomes", "rows"),
    [
        ("drafting", "propose", "building", (1, 0)),
        ("building", "build", "drafting", (1, 0)),
        ("verifying", "judge", "drafting", (1, 1)),
        ("repairing", "build", "verifying", (1, 1)),
    ],
)
def test_what_a_worker_answers_after_an_override_is_stored_nowhere(
    seed: Environment,
    script: Script,
    ada: User,
    stands_in: str,
    role: str,
    becomes: str,
    rows: tuple[int, int],
) -> None:
    if stands_in == "drafting":
        script.review = lambda brief, plan: REJECT
    if stands_in == "repairing":
        script.judge = lambda *judged: REJECT
    evolution = begin(seed, directions=("length", "skill"))
    while evolution.status != stands_in or not Review.objects.exists():
        assert loops.advance(evolution.pk)
        evolution.refresh_from_db()
    in_the_middle(script, role, lambda: Review.objects.latest("pk"), ada)

    loops.advance(evolution.pk)

    evolution.refresh_from_db()
    assert (evolution.status, evolution.lease_token, evolution.faults) == (becomes, "", 0)
    assert (Plan.objects.count(), Candidate.objects.count()) == rows
    assert Review.objects.latest("pk").user == ada, "and no verdict came after the person's"
    assert not Audit.objects.filter(status="queued").exists()
    assert not seed.children.exists()
