"""People's decisions on plans and candidates: one row, one move, and nothing at all for who came late."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.authors import author
from agents.plan import PlanDraft
from agents.roles import Brief, BuildOrder, Built
from agents.rubrics import ENVIRONMENT_RUBRIC
from agents.scripted import ACCEPT, REJECT, Script, build_one, insert_one
from lineages.gates import profile
from lineages.gates.base import Subject
from lineages.growth import loops
from lineages.growth.models import Attempt, Candidate, Evolution, Plan, Review
from lineages.growth.subjects import of_candidate
from lineages.library import audits
from lineages.library.models import Audit, Environment, Snapshot
from lineages.lifecycle import Move, Stale
from lineages.reasons import ReasonNeeded
from lineages.review.decisions import decide_candidate, decide_plan
from tests import factories
from tests.lineages.conftest import begin
from tests.lineages.test_lifecycle import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

APPROVE, REJECTED, CHANGES = Review.Decision.APPROVE, Review.Decision.REJECT, Review.Decision.CHANGES
SCRIPTED = "scripted"


def vouch(snapshot: Snapshot, subject: Subject, *, outcome: str = "passed", asks: str = "paper") -> Audit:
    """An audit as a run would have left it, with today's keys: for tests that are about what follows."""
    audit = audits.open_audit(snapshot, subject, profile=asks, regrade=True)
    keys = audits.keys_of(asks, audits.asked(audit, subject))
    for gate in profile(asks):
        factories.gate_result(
            audit, gate.name, key=keys[gate.name], gate_version=gate.version, outcome=outcome
        )
    audit.status = Audit.Status.ACCEPTED if outcome == "passed" else Audit.Status.REJECTED
    audit.save(update_fields=["status"])
    return audit


def vouch_for_seed(seed: Environment) -> None:
    subject = audits.subject_of(seed.snapshot, author(SCRIPTED), ENVIRONMENT_RUBRIC)
    vouch(seed.snapshot, subject)


def vouch_for_candidate(candidate: Candidate, *, outcome: str = "passed") -> None:
    subject = of_candidate(candidate, author(SCRIPTED))
    candidate.audit = vouch(candidate.snapshot, subject, outcome=outcome)
    candidate.save(update_fields=["audit"])


def step_to(evolution: Evolution, status: str) -> Evolution:
    """Steps without a sandbox, until the evolution has that status; what is built is vouched for."""
    for _ in range(20):
        evolution.refresh_from_db()
        if evolution.status == status:
            return evolution
        built = Candidate.objects.filter(attempt__evolution=evolution, audit=None).first()
        if built:
            vouch_for_candidate(built)
        loops.advance(evolution.pk)
    raise AssertionError(f"it came to {evolution.status} and not to {status}: {evolution.fault}")


def newest_plan(evolution: Evolution) -> Plan:
    plan = Plan.objects.filter(attempt__evolution=evolution).latest("pk")
    assert isinstance(plan, Plan)
    return plan


def newest_candidate(evolution: Evolution) -> Candidate:
    candidate = Candidate.objects.filter(attempt__evolution=evolution).latest("pk")
    assert isinstance(candidate, Candidate)
    return candidate


def on_plan(
    plan: Plan, decision: str, by: User, *, comment: str = "", version: int | None = None
) -> Evolution:
    """A decision on the page of the plan as it is now, or as it was at `version`."""
    fresh = Plan.objects.get(pk=plan.pk)
    version = fresh.attempt.evolution.version if version is None else version
    return decide_plan(fresh, version=version, decision=decision, comment=comment, by=by)


def on_candidate(
    candidate: Candidate, decision: str, by: User, *, comment: str = "", version: int | None = None
) -> Evolution:
    fresh = Candidate.objects.get(pk=candidate.pk)
    version = fresh.attempt.evolution.version if version is None else version
    return decide_candidate(fresh, version=version, decision=decision, comment=comment, by=by)


def people() -> list[str]:
    return list(Review.objects.filter(role="person").order_by("pk").values_list("decision", flat=True))


def wins(answers: list[object]) -> list[object]:
    """The answers that are not `Stale`; anything else that was raised fails the test."""
    odd = [answer for answer in answers if isinstance(answer, Exception) and not isinstance(answer, Stale)]
    assert not odd, odd
    return [answer for answer in answers if not isinstance(answer, Stale)]


@pytest.fixture
def ada() -> User:
    return factories.user("ada")  # type: ignore[no-any-return]


@pytest.fixture
def bob() -> User:
    return factories.user("bob")  # type: ignore[no-any-return]


@pytest.fixture
def seed(seed: Environment, script: Script) -> Environment:
    """A seed whose audit has been accepted, and a script to answer for its author."""
    vouch_for_seed(seed)
    return seed


@pytest.fixture
def waiting(seed: Environment) -> Plan:
    """A plan that the reviewer accepted and a person has to approve; each direction would give one."""
    evolution = begin(seed, approval="both")
    Evolution.objects.filter(pk=evolution.pk).update(direction_order="length,length,length")
    return newest_plan(step_to(evolution, "plan_approval"))


@pytest.fixture
def built(waiting: Plan, ada: User) -> Candidate:
    """A candidate that passed its gates and waits for a person's sign-off."""
    return newest_candidate(step_to(on_plan(waiting, APPROVE, ada), "sign_off"))


# plans


def test_approving_a_plan_lets_it_be_built_and_says_who_did(waiting: Plan, ada: User) -> None:
    evolution = on_plan(waiting, APPROVE, ada, comment="good")

    assert evolution.status == "building"
    review = waiting.reviews.get(role="person")
    assert (review.user, review.reviewer, review.decision, review.comment) == (ada, "ada", "approve", "good")
    move = evolution.history().last()
    assert (move.by, move.from_status, move.to_status) == (ada, "plan_approval", "building")
    assert waiting.attempt.outcome == Attempt.Outcome.OPEN
    assert not Candidate.objects.exists(), "the worker builds, not the person's request"


def test_rejecting_a_plan_closes_its_attempt_for_good(waiting: Plan, ada: User) -> None:
    evolution = on_plan(waiting, REJECTED, ada, comment="No test can tell.")

    attempt = Attempt.objects.get(pk=waiting.attempt_id)
    assert evolution.status == "drafting"
    assert (attempt.outcome, attempt.reason) == (Attempt.Outcome.REJECTED, "No test can tell.")
    assert attempt.closed_at is not None


def test_after_a_rejection_the_next_direction_starts_from_the_same_parent(
    waiting: Plan, ada: User, script: Script
) -> None:
    briefs: list[Brief] = []
    script.propose = lambda brief: briefs.append(brief) or insert_one(brief)  # type: ignore[func-returns-value]
    evolution = on_plan(waiting, REJECTED, ada, comment="no")

    loops.advance(evolution.pk)

    first, second = evolution.attempts.all()
    assert (first.ordinal, second.ordinal, second.outcome) == (0, 1, Attempt.Outcome.OPEN)
    (brief,) = briefs
    assert brief.task.digest == evolution.parent.snapshot.digest
    assert (brief.history, brief.wishes) == ((), ()), "the new direction starts with nothing held against it"


def test_rejecting_every_direction_exhausts_the_evolution(seed: Environment, ada: User) -> None:
    evolution = begin(seed, approval="plans", directions=("length",))

    on_plan(newest_plan(step_to(evolution, "plan_approval")), REJECTED, ada, comment="no")

    step_to(evolution, "exhausted")
    assert list(evolution.attempts.values_list("outcome", flat=True)) == ["rejected"]
    assert not seed.children.exists()


def test_asking_for_changes_hands_the_wish_to_the_proposer(waiting: Plan, ada: User, script: Script) -> None:
    briefs: list[Brief] = []
    script.propose = lambda brief: briefs.append(brief) or insert_one(brief)  # type: ignore[func-returns-value]

    evolution = on_plan(waiting, CHANGES, ada, comment="Use another file.")
    step_to(evolution, "plan_approval")

    (brief,) = briefs
    assert brief.wishes == ("Use another file.",)
    assert [draft for draft, _ in brief.history] == [waiting.draft]
    second = newest_plan(evolution)
    assert (second.attempt, second.round, second.wish) == (waiting.attempt, 1, "Use another file.")
    assert Attempt.objects.get().outcome == Attempt.Outcome.OPEN


def test_a_plan_that_a_person_sent_back_is_not_shown_as_accepted(
    waiting: Plan, ada: User, script: Script
) -> None:
    briefs: list[Brief] = []
    script.propose = lambda brief: briefs.append(brief) or insert_one(brief)  # type: ignore[func-returns-value]

    step_to(on_plan(waiting, CHANGES, ada, comment="Use another file."), "plan_approval")

    assert briefs[0].history == ((waiting.draft, None),)


def test_rounds_that_a_person_asked_for_do_not_count(seed: Environment, ada: User, script: Script) -> None:
    evolution = begin(seed, approval="plans", plan_rounds=2, directions=("length",))
    for _ in range(3):
        plan = newest_plan(step_to(evolution, "plan_approval"))
        on_plan(plan, CHANGES, ada, comment="Another one.")
    answers = iter([REJECT])
    script.review = lambda brief, plan: next(answers, ACCEPT)

    step_to(evolution, "plan_approval")

    wishes = list(Plan.objects.order_by("round").values_list("wish", flat=True))
    assert wishes == ["", "Another one.", "Another one.", "Another one.", ""], "a round of its own was left"


def test_when_its_own_rounds_are_spent_a_person_may_still_ask(
    seed: Environment, ada: User, script: Script
) -> None:
    evolution = begin(seed, approval="plans", plan_rounds=1, directions=("length",))
    on_plan(newest_plan(step_to(evolution, "plan_approval")), CHANGES, ada, comment="Another one.")
    script.review = lambda brief, plan: REJECT

    step_to(evolution, "exhausted")

    assert list(Plan.objects.values_list("wish", flat=True)) == ["", "Another one."]
    assert Attempt.objects.get().outcome == Attempt.Outcome.PLANS_SPENT


@pytest.mark.parametrize("decision", [REJECTED, CHANGES])
@pytest.mark.parametrize("comment", ["", " \n\t"])
def test_a_decision_against_a_plan_needs_a_reason(
    decision: str, comment: str, waiting: Plan, ada: User
) -> None:
    before = Move.objects.count()

    with pytest.raises(ReasonNeeded, match="Say in a sentence why"):
        on_plan(waiting, decision, ada, comment=comment)

    assert people() == []
    assert Move.objects.count() == before
    assert Evolution.objects.get().status == "plan_approval"
    assert Attempt.objects.get().outcome == Attempt.Outcome.OPEN


@pytest.mark.parametrize("decision", [APPROVE, REJECTED, CHANGES])
def test_a_decision_on_an_old_page_is_stale_and_leaves_no_review(
    decision: str, waiting: Plan, ada: User
) -> None:
    evolution = waiting.attempt.evolution
    before = Move.objects.count()

    with pytest.raises(Stale):
        on_plan(waiting, decision, ada, comment="late", version=evolution.version - 1)

    assert people() == []
    assert Move.objects.count() == before
    assert Attempt.objects.get().outcome == Attempt.Outcome.OPEN


def test_a_decision_on_an_older_plan_is_stale(waiting: Plan, ada: User, bob: User) -> None:
    evolution = on_plan(waiting, CHANGES, ada, comment="Another one.")
    step_to(evolution, "plan_approval")

    with pytest.raises(Stale):
        on_plan(waiting, APPROVE, bob)

    assert people() == ["changes"]
    assert on_plan(newest_plan(evolution), APPROVE, bob).status == "building"


def test_a_plan_of_an_attempt_that_was_rejected_is_decided_no_more(
    waiting: Plan, ada: User, bob: User
) -> None:
    evolution = on_plan(waiting, REJECTED, ada, comment="no")
    step_to(evolution, "plan_approval")

    with pytest.raises(Stale):
        on_plan(waiting, APPROVE, bob)

    assert people() == ["reject"]
    assert Attempt.objects.get(pk=waiting.attempt_id).outcome == Attempt.Outcome.REJECTED


def test_a_word_that_is_no_decision_is_refused(waiting: Plan, ada: User) -> None:
    with pytest.raises(ValueError, match="maybe"):
        on_plan(waiting, "maybe", ada, comment="well")

    assert people() == []


def test_a_comment_that_no_database_keeps_is_mended(waiting: Plan, ada: User) -> None:
    evolution = on_plan(waiting, REJECTED, ada, comment="no\0 \ud800way")

    mended = "no\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}way"
    assert Review.objects.get(role="person").comment == mended
    assert Attempt.objects.get().reason == mended
    assert evolution.last_reason == mended


# races over a plan


def test_of_two_who_approve_at_once_one_wins_and_the_other_is_told(
    waiting: Plan, ada: User, bob: User
) -> None:
    before = Move.objects.count()

    answers = at_once(*[lambda who=who: on_plan(waiting, APPROVE, who) for who in (ada, bob)])

    (winner,) = wins(answers)
    assert isinstance(winner, Evolution) and winner.status == "building"
    assert people() == ["approve"]
    assert Move.objects.count() == before + 1


def test_of_an_approval_and_a_rejection_at_once_one_wins(waiting: Plan, ada: User, bob: User) -> None:
    before = Move.objects.count()

    answers = at_once(
        lambda: on_plan(waiting, APPROVE, ada), lambda: on_plan(waiting, REJECTED, bob, comment="no")
    )

    (winner,) = wins(answers)
    assert isinstance(winner, Evolution)
    (decision,) = people()
    attempt = Attempt.objects.get()
    assert (decision, winner.status, attempt.outcome) in {
        ("approve", "building", "open"),
        ("reject", "drafting", "rejected"),
    }
    assert Move.objects.count() == before + 1


def test_of_many_different_decisions_at_once_one_wins(waiting: Plan, ada: User, bob: User) -> None:
    before = Move.objects.count()
    calls: list[Any] = [
        lambda who=who, decision=decision: on_plan(waiting, decision, who, comment="why")
        for who in (ada, bob)
        for decision in (APPROVE, REJECTED, CHANGES)
    ]

    answers = at_once(*calls)

    assert len(wins(answers)) == 1
    assert len(people()) == 1
    assert Move.objects.count() == before + 1


# candidates


def test_signing_off_makes_the_environment_with_its_k(built: Candidate, ada: User) -> None:
    evolution = on_candidate(built, APPROVE, ada, comment="ship it")

    child = Environment.objects.get(generation=1)
    assert evolution.status == "accepted"
    assert evolution.child == child
    assert (child.k, child.snapshot, child.parent) == (1, built.snapshot, evolution.parent)
    assert built.reviews.get(role="person").user == ada
    assert Attempt.objects.get().outcome == Attempt.Outcome.ACCEPTED
    assert evolution.history().last().by == ada


def test_a_second_child_of_one_parent_gets_the_next_k(seed: Environment, ada: User) -> None:
    for _ in range(2):
        evolution = step_to(begin(seed, approval="environments", directions=("length",)), "sign_off")
        on_candidate(newest_candidate(evolution), APPROVE, ada)

    assert [(child.generation, child.k, child.reference) for child in seed.children.all()] == [
        (1, 1, "words/g1"),
        (1, 2, "words/g1.2"),
    ]


def test_signing_off_one_of_several_generations_starts_the_next(seed: Environment, ada: User) -> None:
    evolution = begin(seed, approval="environments", generations=3, directions=("length",))
    step_to(evolution, "sign_off")

    on_candidate(newest_candidate(evolution), APPROVE, ada)

    following = Evolution.objects.get(previous=evolution)
    assert (following.status, following.generations_left) == ("drafting", 2)
    assert following.parent == Environment.objects.get(generation=1)


def test_asking_for_changes_hands_the_wish_to_the_modifier(
    built: Candidate, ada: User, script: Script
) -> None:
    orders: list[BuildOrder] = []

    def build(order: BuildOrder) -> Built:
        orders.append(order)
        return build_one(order)

    script.build = build
    evolution = on_candidate(built, CHANGES, ada, comment="Name the file.")
    assert evolution.status == "repairing"

    step_to(evolution, "sign_off")

    (order,) = orders
    assert (order.revision, order.wishes) == (1, ("Name the file.",))
    assert order.failures == ()
    assert order.previous is not None
    second = newest_candidate(evolution)
    assert (second.n, second.wish, second.attempt) == (1, "Name the file.", built.attempt)
    assert not Environment.objects.filter(generation=1).exists()


def test_repairs_that_a_person_asked_for_do_not_count(seed: Environment, ada: User) -> None:
    evolution = step_to(begin(seed, approval="environments", repairs=1, directions=("length",)), "sign_off")
    for _ in range(2):
        on_candidate(newest_candidate(evolution), CHANGES, ada, comment="Name the file.")
        step_to(evolution, "sign_off")
    on_candidate(newest_candidate(evolution), CHANGES, ada, comment="Name it again.")
    step_to(evolution, "verifying")
    vouch_for_candidate(newest_candidate(evolution), outcome="failed")

    loops.advance(evolution.pk)

    evolution.refresh_from_db()
    assert evolution.status == "repairing", "the one repair of its own is still there"
    wishes = list(Candidate.objects.order_by("n").values_list("wish", flat=True))
    assert wishes == ["", "Name the file.", "Name the file.", "Name it again."]


def test_rejecting_a_candidate_closes_its_attempt_and_the_next_direction_is_drafted(
    built: Candidate, ada: User
) -> None:
    evolution = on_candidate(built, REJECTED, ada, comment="too easy")

    assert evolution.status == "drafting"
    assert Attempt.objects.get().outcome == Attempt.Outcome.REJECTED
    loops.advance(evolution.pk)
    assert [each.outcome for each in evolution.attempts.all()] == ["rejected", "open"]
    assert not Environment.objects.filter(generation=1).exists()


@pytest.mark.parametrize("decision", [APPROVE, REJECTED, CHANGES])
def test_a_decision_on_an_older_candidate_is_stale(
    decision: str, built: Candidate, ada: User, bob: User
) -> None:
    evolution = on_candidate(built, CHANGES, ada, comment="Name the file.")
    step_to(evolution, "sign_off")

    with pytest.raises(Stale):
        on_candidate(built, decision, bob, comment="late")

    assert people() == ["approve", "changes"]
    assert not Environment.objects.filter(generation=1).exists()


@pytest.mark.parametrize("decision", [APPROVE, REJECTED, CHANGES])
def test_a_sign_off_from_an_old_page_is_stale(decision: str, built: Candidate, ada: User) -> None:
    with pytest.raises(Stale):
        on_candidate(built, decision, ada, comment="late", version=built.attempt.evolution.version - 1)

    assert people() == ["approve"]
    assert not Environment.objects.filter(generation=1).exists()
    assert Evolution.objects.get().status == "sign_off"


@pytest.mark.parametrize("decision", [REJECTED, CHANGES])
def test_a_decision_against_a_candidate_needs_a_reason(decision: str, built: Candidate, ada: User) -> None:
    with pytest.raises(ReasonNeeded):
        on_candidate(built, decision, ada, comment="  ")

    assert people() == ["approve"]
    assert Evolution.objects.get().status == "sign_off"


def test_a_word_that_is_no_decision_on_a_candidate_is_refused(built: Candidate, ada: User) -> None:
    with pytest.raises(ValueError, match="maybe"):
        on_candidate(built, "maybe", ada, comment="well")

    assert people() == ["approve"]
    assert Evolution.objects.get().status == "sign_off"


def test_of_two_who_sign_off_at_once_one_makes_the_environment(
    built: Candidate, ada: User, bob: User
) -> None:
    before = Move.objects.count()

    answers = at_once(*[lambda who=who: on_candidate(built, APPROVE, who) for who in (ada, bob)])

    assert len(wins(answers)) == 1
    assert people() == ["approve", "approve"], "one for the plan, one for the candidate"
    assert Environment.objects.filter(generation=1).count() == 1
    assert Move.objects.count() == before + 1


def test_of_a_sign_off_and_a_rejection_at_once_one_wins(built: Candidate, ada: User, bob: User) -> None:
    answers = at_once(
        lambda: on_candidate(built, APPROVE, ada), lambda: on_candidate(built, REJECTED, bob, comment="no")
    )

    assert len(wins(answers)) == 1
    evolution = Evolution.objects.get(pk=built.attempt.evolution_id)
    children = Environment.objects.filter(generation=1).count()
    assert (evolution.status, children, people()[-1]) in {
        ("accepted", 1, "approve"),
        ("drafting", 0, "reject"),
    }


def test_two_children_signed_off_at_once_get_a_k_each(seed: Environment, ada: User, bob: User) -> None:
    started = [begin(seed, approval="environments", directions=("length",)) for _ in range(2)]
    candidates = [newest_candidate(step_to(evolution, "sign_off")) for evolution in started]

    answers = at_once(
        *[
            lambda who=who, candidate=candidate: on_candidate(candidate, APPROVE, who)
            for who, candidate in zip((ada, bob), candidates, strict=True)
        ]
    )

    assert len(wins(answers)) == 2
    assert sorted(seed.children.values_list("k", flat=True)) == [1, 2]


def test_the_draft_that_was_approved_is_the_draft_that_is_built(
    waiting: Plan, ada: User, script: Script
) -> None:
    asked: list[PlanDraft] = []
    script.build = lambda order: asked.append(order.plan) or build_one(order)  # type: ignore[func-returns-value]

    step_to(on_plan(waiting, APPROVE, ada), "verifying")

    assert asked == [waiting.draft]
    assert newest_candidate(waiting.attempt.evolution).plan == waiting
