"""Rubrics as rows: a change is a new version, and work is judged by the version that its recipe pins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from agents.plan import Judgement
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC, SHIPPED, Criterion, Rubric
from agents.scripted import ACCEPT, Script
from lineages.growth.evolving import RecipeSettings
from lineages.growth.models import Recipe
from lineages.growth.subjects import of_candidate, of_environment
from lineages.library import audits, rubrics
from lineages.library.models import Environment
from lineages.library.rubric_rows import RubricCriterion, RubricVersion
from tests import factories
from tests.lineages.conftest import begin, grow
from tests.lineages.test_lifecycle import at_once

pytestmark = pytest.mark.django_db

POLITE = Criterion("polite", "Is polite", "Is nobody insulted?", "found in words:g1")


@pytest.fixture
def ada(db: None) -> User:
    return factories.user("ada")


def test_the_shipped_wording_is_version_one_with_an_origin_for_every_criterion() -> None:
    for name, shipped in SHIPPED.items():
        row = rubrics.newest(name)

        assert (row.ordinal, row.version, row.by) == (1, shipped.version, None)
        assert rubrics.today(name) == shipped
        assert all(line.origin for line in row.criteria.all())
    assert RubricVersion.objects.count() == 2, "looking again stores nothing"


def test_an_origin_is_no_part_of_what_verdicts_are_bound_to() -> None:
    (plain,) = (Rubric("plan", (Criterion("a", "A", "A?", origin),)).version for origin in ("here",))
    assert plain == Rubric("plan", (Criterion("a", "A", "A?", "elsewhere"),)).version


def test_a_new_criterion_makes_a_new_version_and_leaves_the_old_one_readable(ada: User) -> None:
    row = rubrics.add_criterion("environment", POLITE, by=ada, note="an insult in g1")

    assert (row.ordinal, row.by, row.note) == (2, ada, "an insult in g1")
    now = rubrics.today("environment")
    assert now.criteria == (*ENVIRONMENT_RUBRIC.criteria, POLITE)
    assert (now.version, now.criteria[-1].origin) == (row.version, "found in words:g1")
    assert rubrics.of_version(row.version) == now
    assert rubrics.of_version(ENVIRONMENT_RUBRIC.version) == ENVIRONMENT_RUBRIC
    assert rubrics.today("plan") == PLAN_RUBRIC, "the other rubric stays"


def test_a_criterion_keeps_the_review_it_was_found_in(ada: User) -> None:
    review = factories.review(factories.plan(factories.attempt(factories.evolution())))

    rubrics.add_criterion("plan", POLITE, by=ada, found_in=review)
    row = rubrics.change_criterion("plan", "specific", {"title": "Exact"}, seen=2, by=ada, note="shorter")

    assert row.criteria.get(key="polite").found_in == review
    assert row.criteria.get(key="specific").title == "Exact"


def test_a_key_is_there_once_and_is_a_word(ada: User) -> None:
    for key, why in (("solvable", "already"), ("Not a key", "small letter"), ("", "small letter")):
        with pytest.raises(rubrics.RubricRefused, match=why):
            rubrics.add_criterion("plan", Criterion(key, "T", "Q?"), by=ada)
    assert rubrics.newest("plan").ordinal == 1


def test_a_retired_criterion_is_judged_no_more_and_the_wording_before_is_current_again(ada: User) -> None:
    added = rubrics.add_criterion("plan", POLITE, by=ada)

    row = rubrics.retire_criterion("plan", "polite", seen=added.ordinal, by=ada, note="it said nothing")

    assert (row.ordinal, row.version) == (3, PLAN_RUBRIC.version)
    assert rubrics.today("plan") == PLAN_RUBRIC
    assert "polite" in rubrics.of_version(added.version).keys
    with pytest.raises(rubrics.RubricRefused, match="no criterion polite"):
        rubrics.retire_criterion("plan", "polite", seen=3, by=ada, note="again")


def test_who_changes_an_older_version_is_told_and_nothing_is_stored(ada: User) -> None:
    rubrics.add_criterion("plan", POLITE, by=ada)

    with pytest.raises(rubrics.RubricMoved, match="version 2"):
        rubrics.change_criterion("plan", "polite", {"title": "Kind"}, seen=1, by=ada, note="kinder")
    with pytest.raises(rubrics.RubricRefused, match="has changed"):
        rubrics.change_criterion("plan", "polite", {"title": "Is polite"}, seen=2, by=ada, note="same")
    assert rubrics.newest("plan").ordinal == 2


def test_the_last_criterion_stays(ada: User) -> None:
    for seen, key in enumerate(PLAN_RUBRIC.keys[1:], start=1):
        rubrics.retire_criterion("plan", key, seen=seen, by=ada, note="less")

    with pytest.raises(rubrics.RubricRefused, match="at least one"):
        rubrics.retire_criterion("plan", PLAN_RUBRIC.keys[0], seen=len(PLAN_RUBRIC.keys), by=ada, note="less")


def test_another_shipped_wording_replaces_what_nobody_changed_and_nothing_else(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rubrics.newest("plan")
    rubrics.add_criterion("environment", POLITE, by=ada)
    for name in SHIPPED:
        monkeypatch.setitem(SHIPPED, name, Rubric(name, (*SHIPPED[name].criteria[:3],)))

    assert rubrics.today("plan") == SHIPPED["plan"]
    assert rubrics.newest("plan").ordinal == 2
    assert rubrics.of_version(PLAN_RUBRIC.version) == PLAN_RUBRIC, "from its row"
    assert rubrics.today("environment").keys[-1] == "polite"
    with pytest.raises(rubrics.UnknownRubric, match="aaaaaaaa"):
        rubrics.of_version("a" * 64)


@pytest.mark.lifecycle
@pytest.mark.django_db(transaction=True)
def test_of_people_who_add_at_once_nobody_is_lost(ada: User) -> None:
    def adding(key: str) -> Callable[[], int]:
        return lambda: rubrics.add_criterion("plan", Criterion(key, key, "Q?"), by=ada).ordinal

    assert sorted(at_once(adding("one"), adding("two"), adding("three"))) == [2, 3, 4]
    assert {"one", "two", "three"} < set(rubrics.today("plan").keys)
    assert RubricCriterion.objects.filter(rubric=rubrics.newest("plan")).count() == 11


# what is judged by which


def test_a_recipe_pins_the_rubrics_of_its_day(ada: User) -> None:
    before = RecipeSettings().recipe()
    row = rubrics.add_criterion("environment", POLITE, by=ada)
    after = RecipeSettings().recipe()

    assert before.environment_rubric == ENVIRONMENT_RUBRIC.version
    assert (after.environment_rubric, after.plan_rubric) == (row.version, PLAN_RUBRIC.version)
    assert before != after and RecipeSettings().recipe() == after


@pytest.fixture
def asked() -> dict[str, list[Rubric]]:
    return {"plan": [], "environment": []}


@pytest.fixture
def listening(script: Script, asked: dict[str, list[Rubric]]) -> Script:
    def review(brief: object, plan: object) -> Judgement:
        asked["plan"].append(brief.rubric)  # type: ignore[attr-defined]
        return ACCEPT

    def judge(task: object, plan: object, bindings: object, rubric: Rubric) -> Judgement:
        asked["environment"].append(rubric)
        return ACCEPT

    script.review, script.judge = review, judge
    return script


def test_a_lineage_goes_on_by_the_rubrics_that_it_pins(
    seed: Environment, listening: Script, asked: dict[str, list[Rubric]], ada: User
) -> None:
    first = begin(seed, directions=("length",), generations=2)
    rubrics.add_criterion("plan", POLITE, by=ada)
    rubrics.add_criterion("environment", POLITE, by=ada)

    second = grow(first)

    assert (second.status, second.generation) == ("accepted", 2)
    assert {each.version for each in asked["plan"]} == {PLAN_RUBRIC.version}
    assert {each.version for each in asked["environment"]} == {ENVIRONMENT_RUBRIC.version}
    candidate = second.attempts.get().candidate
    assert candidate is not None and candidate.audit is not None
    assert candidate.audit.rubric == ENVIRONMENT_RUBRIC.version


def test_what_is_started_now_is_judged_by_todays_rubrics_and_is_a_new_result(
    seed: Environment, listening: Script, asked: dict[str, list[Rubric]], ada: User
) -> None:
    grow(begin(seed, directions=("length",)))
    rubrics.add_criterion("plan", POLITE, by=ada)
    row = rubrics.add_criterion("environment", POLITE, by=ada)
    asked["plan"].clear(), asked["environment"].clear()

    evolution = grow(begin(seed, directions=("length",)))

    assert evolution.status == "accepted"
    assert [each.keys[-1] for each in asked["plan"]] == ["polite"]
    assert {each.version for each in asked["environment"]} == {row.version}, "the seed's too"
    judged = seed.snapshot.audits.order_by("pk")
    assert [audit.rubric for audit in judged] == [ENVIRONMENT_RUBRIC.version, row.version]
    old, new = (audit.results.get(gate="rubrics").key for audit in judged)
    assert old != new


def test_an_environment_is_judged_again_by_the_rubric_it_was_grown_by(
    seed: Environment, listening: Script, ada: User
) -> None:
    evolution = grow(begin(seed, directions=("length",)))
    row = rubrics.add_criterion("environment", POLITE, by=ada)
    author = listening.author("scripted")
    candidate, child = evolution.attempts.get().candidate, evolution.child
    assert candidate is not None and child is not None

    assert of_candidate(candidate, author).criteria == ENVIRONMENT_RUBRIC
    assert of_environment(child, author).rubric == ENVIRONMENT_RUBRIC.version
    assert of_environment(seed, author).rubric == row.version
    assert audits.current(child.snapshot, of_environment(child, author), profile_name="paper")


def test_work_whose_rubrics_are_not_kept_stops_with_a_sentence(seed: Environment, listening: Script) -> None:
    evolution = begin(seed, directions=("length",))
    Recipe.objects.update(plan_rubric="a" * 64)

    evolution = grow(evolution)

    assert evolution.status == "failed"
    assert "not kept here: cancel it and start another" in evolution.fault
