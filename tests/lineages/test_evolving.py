"""Starting, stopping and continuing evolutions: what a person does to them, and what races with it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from agents.roles import AgentsError, Brief
from agents.scripted import Script, insert_one
from lineages.growth import evolving, loops
from lineages.growth.acceptance import accept
from lineages.growth.evolving import CannotStart, RecipeSettings, start
from lineages.growth.models import Attempt, Evolution, Plan, Recipe
from lineages.growth.work import close
from lineages.library.models import Audit, Environment
from lineages.lifecycle import LeaseLost, Move, Stale, claim, move
from tests import factories
from tests.lineages.conftest import begin
from tests.lineages.test_decisions import step_to, vouch_for_seed
from tests.lineages.test_lifecycle import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

LENGTH = {"directions": ("length",)}


@pytest.fixture
def ada() -> User:
    return factories.user("ada")  # type: ignore[no-any-return]


@pytest.fixture
def seed(seed: Environment, script: Script) -> Environment:
    vouch_for_seed(seed)
    return seed


def fresh(evolution: Evolution) -> Evolution:
    return Evolution.objects.get(pk=evolution.pk)


def reasons(evolution: Evolution) -> list[str]:
    return list(evolution.history().values_list("reason", flat=True))


# recipes


def test_equal_settings_are_one_recipe_whoever_asks(seed: Environment) -> None:
    first = start(seed, RecipeSettings(seed=3, effort="low"))
    second = start(factories.seed(), RecipeSettings(seed=3, effort="low"))

    assert first.recipe == second.recipe
    assert Recipe.objects.count() == 1


@pytest.mark.parametrize(
    "change",
    [
        {"effort": "low"},
        {"directions": ("skill",)},
        {"directions": ("length", "skill", "scenario")},
        {"approval": "plans"},
        {"author": "scripted"},
        {"seed": 1},
        {"plan_rounds": 2},
        {"repairs": 2},
        {"profile": "fast"},
    ],
    ids=lambda change: "-".join(change),
)
def test_each_changed_setting_is_another_recipe(change: dict[str, Any]) -> None:
    plain = RecipeSettings().recipe()

    changed = RecipeSettings(**change).recipe()

    assert changed != plain
    assert changed.digest != plain.digest
    assert RecipeSettings(**change).recipe() == changed


def test_a_recipe_says_what_was_chosen_and_pins_the_rubrics() -> None:
    recipe = RecipeSettings(directions=("skill", "length", "skill"), approval="both", seed=-5).recipe()

    assert (recipe.directions, recipe.effort, recipe.author, recipe.seed) == (
        "skill,length",
        "high",
        "offline",
        -5,
    )
    assert recipe.approves_plans and recipe.approves_environments
    assert len(recipe.plan_rubric) == len(recipe.environment_rubric) == 64


def test_making_the_same_recipe_at_once_makes_one(seed: Environment) -> None:
    answers = at_once(*[lambda: RecipeSettings(seed=77).recipe().pk] * 4)

    assert len(set(answers)) == 1
    assert Recipe.objects.filter(seed=77).count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"effort": "heroic"},
        {"directions": ("sideways",)},
        {"directions": ()},
        {"approval": "sometimes"},
        {"profile": "none"},
        {"author": "nobody"},
    ],
    ids=lambda wrong: str(*wrong.values()),
)
def test_a_wrong_setting_starts_nothing(wrong: dict[str, Any], seed: Environment) -> None:
    with pytest.raises((ValueError, AgentsError)):
        start(seed, RecipeSettings(**wrong))

    assert not Evolution.objects.exists() and not Recipe.objects.exists()


# the order of directions


def order(parent: Environment, **settings: Any) -> str:
    return start(parent, RecipeSettings(**settings)).direction_order


def test_the_order_of_directions_is_the_same_for_the_same_seed_parent_and_ordinal() -> None:
    first = factories.seed()
    second = factories.environment(factories.lineage(), generation=1, parent=None, snapshot=first.snapshot)

    for seed in range(4):
        assert order(first, seed=seed) == order(second, seed=seed)


def test_the_order_depends_on_the_recipes_seed_the_parent_and_the_ordinal() -> None:
    parent = factories.seed()
    twins = [
        factories.environment(factories.lineage(), generation=1, parent=None, snapshot=parent.snapshot)
        for _ in range(12)
    ]
    by_seed = {order(twin, seed=number) for number, twin in enumerate(twins)}
    by_parent = {order(factories.seed()) for _ in range(12)}
    by_ordinal = {order(parent) for _ in range(12)}

    for orders in (by_seed, by_parent, by_ordinal):
        assert len(orders) > 1
        assert all(sorted(each.split(",")) == ["length", "scenario", "skill"] for each in orders)


def test_a_chosen_direction_alone_is_the_whole_order(seed: Environment) -> None:
    assert order(seed, directions=("skill",)) == "skill"


# starting


def test_a_start_is_a_row_that_waits_for_a_worker(seed: Environment, ada: User) -> None:
    evolution = start(seed, RecipeSettings(), generations=2, by=ada)

    assert (evolution.status, evolution.ordinal, evolution.generations_left) == ("drafting", 1, 2)
    assert (evolution.parent, evolution.lineage, evolution.started_by) == (seed, seed.lineage, ada)
    assert not evolution.attempts.exists() and not evolution.history().exists()


@pytest.mark.parametrize(
    ("generation", "asked", "fits"), [(0, 15, True), (0, 16, False), (14, 1, True), (15, 1, False)]
)
def test_no_lineage_passes_fifteen_generations(generation: int, asked: int, fits: bool) -> None:
    parent = factories.environment(factories.lineage(), generation=generation, parent=None)

    if fits:
        assert start(parent, RecipeSettings(), generations=asked).generations_left == asked
    else:
        with pytest.raises(CannotStart, match="cap of 15"):
            start(parent, RecipeSettings(), generations=asked)
        assert not Evolution.objects.exists() and not Recipe.objects.exists()


@pytest.mark.parametrize("generations", [0, -1])
def test_less_than_one_generation_is_no_evolution(generations: int, seed: Environment) -> None:
    with pytest.raises(CannotStart, match="at least one"):
        start(seed, RecipeSettings(), generations=generations)

    assert not Evolution.objects.exists()


def test_starts_from_one_parent_at_the_same_time_get_an_ordinal_each(seed: Environment) -> None:
    answers = at_once(*[lambda: start(Environment.objects.get(pk=seed.pk), RecipeSettings()).ordinal] * 3)

    assert sorted(answers) == [1, 2, 3]  # type: ignore[type-var]


def test_an_ordinal_is_given_once(seed: Environment) -> None:
    started = begin(seed)

    with pytest.raises(IntegrityError):
        Evolution.objects.create(
            lineage=seed.lineage, parent=seed, recipe=started.recipe, ordinal=1, status="drafting"
        )


# cancelling


def test_cancelling_takes_the_row_out_of_a_workers_hands(seed: Environment, ada: User) -> None:
    evolution = begin(seed, **LENGTH)
    lease = claim(evolution)
    assert lease is not None
    with lease.writing():
        attempt = Attempt.objects.create(evolution=evolution, ordinal=0, direction="length")

    evolving.cancel(fresh(evolution), by=ada, reason="enough")

    with pytest.raises(LeaseLost), lease.writing():
        Plan.objects.create(attempt=attempt, round=0, draft_json={})
    with pytest.raises(Stale):
        lease.move("plan_review")
    lease.release()
    evolution.refresh_from_db()
    attempt.refresh_from_db()
    assert (evolution.status, evolution.lease_token, evolution.last_reason) == ("cancelled", "", "enough")
    assert evolution.history().get().by == ada
    assert (attempt.outcome, attempt.reason) == ("abandoned", "enough")
    assert not Plan.objects.exists()


def test_a_step_that_is_cancelled_while_it_thinks_stores_nothing(
    seed: Environment, script: Script, ada: User, settings: Any
) -> None:
    settings.LEASE_BEAT_SECONDS = 0.05
    evolution = begin(seed, **LENGTH)

    def propose(brief: Brief) -> Any:
        try:
            evolving.cancel(fresh(evolution), by=ada, reason="enough")
        finally:
            connection.close()
        return insert_one(brief)

    script.propose = propose

    assert loops.advance(evolution.pk) == []

    assert fresh(evolution).status == "cancelled"
    assert not Plan.objects.exists()
    assert reasons(evolution) == ["enough"]
    assert (fresh(evolution).faults, fresh(evolution).fault) == (0, ""), "losing a lease is no fault"


@pytest.mark.parametrize("status", ["accepted", "exhausted", "cancelled"])
def test_what_has_ended_is_not_cancelled(status: str, seed: Environment, ada: User) -> None:
    evolution = begin(seed)
    Evolution.objects.filter(pk=evolution.pk).update(status=status)

    with pytest.raises(Stale, match=f"already {status}"):
        evolving.cancel(evolution, by=ada)

    assert fresh(evolution).status == status
    assert not Move.objects.exists()


def test_a_failed_evolution_may_be_cancelled(seed: Environment, ada: User) -> None:
    evolution = begin(seed)
    Evolution.objects.filter(pk=evolution.pk).update(status="failed", failed_in="drafting")

    evolving.cancel(evolution, by=ada)

    assert fresh(evolution).status == "cancelled"


def test_cancelling_what_ends_at_that_moment_is_stale(seed: Environment, ada: User) -> None:
    evolution = begin(seed)
    attempt = Attempt.objects.create(evolution=evolution, ordinal=0, direction="length")
    person = Evolution.objects.get(pk=evolution.pk)

    def cancel() -> object:
        try:
            return evolving.cancel(person, by=ada)
        except (Stale, ValueError) as problem:
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            close(attempt, Attempt.Outcome.PLANS_SPENT, "spent")
            move(evolution, "exhausted")
            answer = pool.submit(cancel)
            time.sleep(0.5)

        assert isinstance(answer.result(10), Stale), answer.result()
    assert fresh(evolution).status == "exhausted"


def test_cancelling_beside_a_worker_that_closes_its_attempt_stops_neither(
    seed: Environment, ada: User
) -> None:
    evolution = begin(seed, **LENGTH)
    lease = claim(evolution)
    assert lease is not None
    attempt = Attempt.objects.create(evolution=evolution, ordinal=0, direction="length")
    holds, go_on = threading.Event(), threading.Event()

    def worker() -> None:
        with lease.writing():
            holds.set()
            go_on.wait(10)
            close(attempt, Attempt.Outcome.NO_PLAN, "no idea")
        lease.release()

    def person() -> None:
        holds.wait(10)
        threading.Timer(0.5, go_on.set).start()
        evolving.cancel(fresh(evolution), by=ada)

    answers = at_once(worker, person)

    assert answers == [None, None]
    assert fresh(evolution).status == "cancelled"


# pausing


def test_a_paused_evolution_is_not_worked_on_until_it_is_resumed(seed: Environment, ada: User) -> None:
    evolution = begin(seed, **LENGTH)
    evolving.pause(evolution, by=ada)

    assert loops.advance(evolution.pk) == []
    assert fresh(evolution).status == "drafting" and not Plan.objects.exists()
    assert loops.drive(evolution, tell=lambda _: None).status == "drafting", "it does not wait for ever"

    evolving.resume(evolution, by=ada)

    loops.advance(evolution.pk)
    assert fresh(evolution).status == "plan_review"
    assert reasons(evolution) == ["paused", "resumed", ""]
    assert [move.by for move in evolution.history()] == [ada, ada, None]


def test_pausing_or_resuming_twice_is_one_note(seed: Environment, ada: User) -> None:
    evolution = begin(seed)
    for _ in range(2):
        evolving.pause(evolution, by=ada)
    since = fresh(evolution).paused_at
    for _ in range(2):
        evolving.resume(evolution, by=ada)

    assert since is not None and fresh(evolution).paused_at is None
    assert reasons(evolution) == ["paused", "resumed"]
    assert fresh(evolution).version == 0, "an open page stays valid"


def test_a_step_that_runs_when_its_evolution_is_paused_ends_first(seed: Environment, ada: User) -> None:
    evolution = begin(seed, **LENGTH)
    lease = claim(evolution)
    assert lease is not None

    evolving.pause(fresh(evolution), by=ada)
    lease.move("plan_review")

    assert fresh(evolution).status == "plan_review"
    assert claim(fresh(evolution)) is None


def test_a_pause_holds_for_the_next_generation_too(seed: Environment, ada: User) -> None:
    evolution = step_to(begin(seed, generations=2, **LENGTH), "verifying")
    lease = claim(evolution)
    assert lease is not None
    evolving.pause(fresh(evolution), by=ada)

    candidate = evolution.attempts.get().candidate
    assert candidate is not None
    accept(evolution, candidate, token=lease.token)

    following = Evolution.objects.get(previous=evolution)
    assert loops.advance(following.pk) == []
    assert not following.attempts.exists()


# failing and coming back


def failed(seed: Environment, script: Script, settings: Any) -> Evolution:
    """An evolution whose proposer's service went away for good."""
    settings.FAULT_BACKOFF_SECONDS, settings.FAULT_RETRIES = 0, 0

    def away(brief: Brief) -> Any:
        raise ConnectionError("away")

    script.propose = away
    evolution = begin(seed, **LENGTH)
    loops.advance(evolution.pk)
    script.propose = insert_one
    return fresh(evolution)


def test_an_operator_moves_a_failed_evolution_back_to_where_it_failed(
    seed: Environment, script: Script, settings: Any, ada: User
) -> None:
    evolution = failed(seed, script, settings)
    assert (evolution.status, evolution.failed_in) == ("failed", "drafting")

    evolving.move_back(evolution, by=ada)

    assert (evolution.status, evolution.failed_in, evolution.faults, evolution.fault) == (
        "drafting",
        "",
        0,
        "",
    )
    assert evolution.history().last().by == ada
    assert [ready.pk for ready in loops.advance(evolution.pk)] == [evolution.pk]
    assert fresh(evolution).status == "plan_review"


def test_what_has_not_failed_is_not_moved_back(seed: Environment, ada: User) -> None:
    evolution = begin(seed)

    with pytest.raises(Stale, match="not failed"):
        evolving.move_back(evolution, by=ada)

    assert not Move.objects.exists()


def test_of_two_who_move_back_at_once_one_is_stale(
    seed: Environment, script: Script, settings: Any, ada: User
) -> None:
    evolution = failed(seed, script, settings)
    copies = [fresh(evolution) for _ in range(2)]

    answers = at_once(*[lambda copy=copy: evolving.move_back(copy, by=ada) for copy in copies])

    assert sorted(type(answer).__name__ for answer in answers) == ["NoneType", "Stale"], answers
    assert reasons(evolution).count("moved back") == 1


def test_a_fault_waits_before_the_next_try(seed: Environment, script: Script, settings: Any) -> None:
    settings.FAULT_BACKOFF_SECONDS, settings.FAULT_RETRIES = 60, 3

    def away(brief: Brief) -> Any:
        raise ConnectionError("away")

    script.propose = away
    evolution = begin(seed, **LENGTH)

    assert loops.advance(evolution.pk) == [], "nobody is nudged before the wait is over"
    assert loops.advance(evolution.pk) == []

    evolution.refresh_from_db()
    assert (evolution.faults, evolution.fault, evolution.status) == (1, "ConnectionError: away", "drafting")
    assert evolution.lease_token == ""
    assert not evolution.history().exists(), "a fault is no move"


# who works on it


def test_a_step_is_done_by_one_of_many_workers(seed: Environment, script: Script) -> None:
    asked: list[Brief] = []

    def slow(brief: Brief) -> Any:
        asked.append(brief)
        time.sleep(0.3)
        return insert_one(brief)

    script.propose = slow
    evolution = begin(seed, **LENGTH)

    at_once(*[lambda: loops.advance(evolution.pk)] * 3)

    assert len(asked) == 1
    assert Plan.objects.count() == 1
    assert Move.objects.count() == 1


def test_a_worker_that_was_away_too_long_stores_nothing_over_its_successor(
    seed: Environment, script: Script
) -> None:
    evolution = begin(seed, **LENGTH)
    away, back = threading.Event(), threading.Event()

    def propose(brief: Brief) -> Any:
        if not away.is_set():
            away.set()
            back.wait(10)
        return insert_one(brief)

    def first() -> None:
        try:
            loops.advance(evolution.pk)
        finally:
            connection.close()

    script.propose = propose
    with ThreadPoolExecutor(1) as pool:
        ghost = pool.submit(first)
        assert away.wait(10)
        Evolution.objects.filter(pk=evolution.pk).update(lease_until=Now() - timedelta(seconds=1))
        loops.advance(evolution.pk)
        back.set()
        ghost.result(20)

    assert fresh(evolution).status == "plan_review"
    assert Plan.objects.count() == 1
    assert Move.objects.count() == 1
    assert (fresh(evolution).faults, evolution.attempts.count()) == (0, 1)


def test_while_another_audits_the_parent_an_evolution_waits(seed: Environment, script: Script) -> None:
    Audit.objects.update(status=Audit.Status.QUEUED)
    assert claim(Audit.objects.get()) is not None
    evolution = begin(seed, **LENGTH)

    assert loops.advance(evolution.pk) == []
