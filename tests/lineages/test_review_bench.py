"""Reviewers are measured: a frozen set, one fault in each faulty case, people's overrules beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Book, book_of
from agents.plan import CriterionVerdict, Judgement, Verdict
from agents.reviewing.cases import ANY, Case, EnvironmentCase, Label, PlanCase, digest_of
from agents.reviewing.frozen import FROZEN
from agents.reviewing.growing import OFFLINE
from agents.reviewing.tally import Answer, Count, tally
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC, SHIPPED, Criterion
from lineages.growth.models import Review
from lineages.library import rubrics
from lineages.library.calls import AgentCall
from lineages.library.rubric_rows import ReviewBench
from lineages.review.bench import people, running
from tests import factories
from tests.lineages.commands import Runner, Said
from tests.model_servers.recorded import models_file, recorded

Bench = Callable[..., Said]
DECIDED_BY_RULES = {"direction", "effort", "goal_kept"}
"""The rules of edits refuse such a plan before the offline reviewer sees it, and it says so."""


@cache
def whole_set() -> tuple[Case, ...]:
    return running.frozen_cases()


def faulty() -> list[Case]:
    return [case for case in whole_set() if case.label.fails]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Bench:
    """The command, with these options."""
    runner = Runner(capsys)
    return lambda *words: runner("review_bench", *words)


def named(name: str) -> Case:
    return next(case for case in whole_set() if case.name == name)


def test_the_set_is_frozen() -> None:
    assert digest_of(whole_set()) == FROZEN, (
        "a seed, an operator or a planting has changed: look at the cases, then freeze the new digest"
    )


def test_the_digest_is_that_of_content_and_labels() -> None:
    first, *others = whole_set()

    for label in (replace(first.label, fails="harder"), replace(first.label, passes=())):
        assert digest_of([replace(first, label=label), *others]) != FROZEN
    assert digest_of(others) != FROZEN


def test_every_criterion_has_a_case_that_fails_it_and_sound_ones() -> None:
    for rubric in SHIPPED.values():
        failed = {case.label.fails for case in faulty() if case.rubric == rubric.name}
        sound = [case for case in whole_set() if case.rubric == rubric.name and not case.label.fails]
        assert failed == set(rubric.keys)
        assert len(sound) > 10 and all(case.label.passes == rubric.keys for case in sound)


def test_each_fault_is_of_its_own_kind_and_changes_what_is_judged() -> None:
    kinds = [case.label.kind for case in faulty()]
    assert len(kinds) == len(set(kinds)) == 35

    sound = [case.facts for case in whole_set() if not case.label.fails]
    assert all(case.facts not in sound for case in faulty())
    assert len({case.name for case in whole_set()}) == len(whole_set())


def test_one_planting_changes_one_thing() -> None:
    for case in faulty():
        if isinstance(case, EnvironmentCase):
            origin = named(case.name.split(" ", 1)[0])
            assert isinstance(origin, EnvironmentCase)
            assert len(list(case.task.changed_paths(origin.task))) == 1, case.name


def test_sound_cases_pass_the_offline_judges() -> None:
    for case in whole_set():
        if not case.label.fails:
            assert case.judged_by(OFFLINE, SHIPPED[case.rubric]).accepted, case.name


def test_a_command_that_is_absent_is_absent_for_the_reviewer() -> None:
    case = next(case for case in faulty() if case.label.kind == "an unsolvable tool")
    assert isinstance(case, PlanCase) and case.absent

    failures = case.judged_by(OFFLINE, PLAN_RUBRIC).failures

    assert [failure.criterion for failure in failures] == ["solvable"]


# counting


def said(**verdicts: str) -> Judgement:
    return Judgement(
        verdicts=tuple(
            CriterionVerdict(criterion=key, verdict=Verdict(verdict), explanation="so")
            for key, verdict in verdicts.items()
        )
    )


@pytest.mark.parametrize(
    ("label", "judgement", "expected"),
    [
        (Label("x", fails="harder"), said(harder="fail"), {"harder": (1, 0, 0, 0)}),
        (Label("x", fails="harder"), said(harder="pass", effort="fail"), {"harder": (1, 1, 0, 0)}),
        (Label("x", fails="harder"), said(harder="not_applicable"), {"harder": (1, 1, 0, 0)}),
        (Label("x", fails="harder"), said(effort="fail"), {}),
        (Label("x", fails="harder"), None, {}),
        (Label("x", passes=("effort",)), said(effort="fail", harder="fail"), {"effort": (0, 0, 1, 1)}),
        (Label("x", passes=("effort",)), said(effort="not_applicable"), {"effort": (0, 0, 1, 0)}),
        (Label("x", fails=ANY), said(effort="fail"), {ANY: (1, 0, 0, 0)}),
        (Label("x", fails=ANY), said(effort="pass"), {ANY: (1, 1, 0, 0)}),
    ],
)
def test_a_judgement_counts_for_what_is_known_of_its_case(
    label: Label, judgement: Judgement | None, expected: dict[str, tuple[int, ...]]
) -> None:
    case = replace(whole_set()[0], label=label)

    counts = tally([Answer(case, judgement)])

    assert counts == {("plan", key): Count(*numbers) for key, numbers in expected.items()}


def test_what_people_said_is_counted_apart() -> None:
    case = whole_set()[0]
    mine = replace(case, label=Label("overruled by ada", passes=("effort",), by_person=True))

    counts = tally([Answer(mine, said(effort="fail"))])

    assert counts == {("people: plan", "effort"): Count(sound=1, accused=1)}


# running


@pytest.mark.django_db
def test_the_offline_judges_accuse_nobody_and_say_what_they_miss(bench: Bench) -> None:
    ran = bench("--json")

    told = ran.json
    assert (ran.code, told["cases_digest"], told["frozen"], told["unanswered"]) == (0, FROZEN, True, 0)
    assert told["cost"] == "0"
    assert all(line["accused"] == 0 for line in told["criteria"])
    missed = {each["kind"] for each in told["answers"] if each["said"].startswith("missed")}
    assert missed - {case.label.kind for case in faulty() if case.label.fails in DECIDED_BY_RULES} == {
        "an object that is not there",
        "a result written out",
        "a test of nothing",
        "an artifact that is not declared",
    }
    row = ReviewBench.objects.get()
    assert (row.model, row.cases, row.cases_digest) == ("offline", len(whole_set()), FROZEN)
    assert (row.plan_rubric, row.environment_rubric) == (PLAN_RUBRIC.version, ENVIRONMENT_RUBRIC.version)
    assert row.lines.count() == len(told["criteria"]) == 18
    assert sum(row.lines.values_list("faults", flat=True)) == len(faulty())


@pytest.mark.django_db
def test_a_part_of_the_set_is_told_from_the_whole(bench: Bench) -> None:
    ran = bench("--rubric", "plan", "--limit", 5)

    assert ran.code == 0 and "5 cases (a part of the frozen set), 0 without an answer." in ran.out
    assert "5/5 plan: " in ran.err
    row = ReviewBench.objects.get()
    assert set(row.lines.values_list("rubric", flat=True)) == {"plan"} and row.cases_digest != FROZEN


@pytest.mark.django_db
def test_a_criterion_that_people_added_is_judged_and_not_counted(ada: User, bench: Bench) -> None:
    row = rubrics.add_criterion("plan", Criterion("polite", "Is polite", "Is nobody insulted?"), by=ada)

    bench("--rubric", "plan", "--limit", "2")

    bench = ReviewBench.objects.get()
    assert bench.plan_rubric == row.version
    assert not bench.lines.filter(criterion="polite").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [["--model", "nobody"], ["--limit", "0"], ["--rubric", "poem"]])
def test_a_wrong_word_is_refused(wrong: list[str], bench: Bench) -> None:
    assert bench(*wrong).code == 2
    assert not ReviewBench.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["openai"])
def test_a_model_is_asked_over_the_ledger_and_its_cost_is_told(
    kind: str, bench: Bench, settings: Any, tmp_path: Path
) -> None:
    with recorded() as server:
        settings.MODELS = book(models_file(tmp_path / "models.toml", server).read_text())
        ran = bench("--model", kind, "--limit", 3, "--json")

        told = ran.json
        assert (ran.code, told["served"], told["unanswered"]) == (0, "recorded-1", 0)
        assert server.count["requests"] == AgentCall.objects.count() >= 3
        assert set(AgentCall.objects.values_list("author", flat=True)) == {kind}
        spent = sum(AgentCall.objects.values_list("cost", flat=True))
        assert float(told["cost"]) == float(spent) > 0

        bench("--model", kind, "--limit", 3)
        assert server.count["requests"] == AgentCall.objects.count() >= 6, "another run asks again"


@pytest.mark.django_db
def test_an_interrupted_run_goes_on_where_it_stopped(settings: Any, tmp_path: Path) -> None:
    cases = running.chosen(["plan"], limit=3)

    def interrupt(answer: Answer) -> None:
        if answer.case is cases[1]:
            raise KeyboardInterrupt

    with recorded() as server:
        settings.MODELS = book(models_file(tmp_path / "models.toml", server).read_text())
        with pytest.raises(KeyboardInterrupt):
            running.run("openai", cases, interrupt)
        paid = server.count["requests"]
        assert not ReviewBench.objects.exists()

        row = running.run("openai", cases, lambda answer: None).row

        last = AgentCall.objects.filter(conversation=AgentCall.objects.last().conversation).count()
        assert server.count["requests"] == paid + last == AgentCall.objects.count()
    assert (row.cases, row.unanswered) == (3, 0)


@pytest.mark.django_db
def test_a_person_in_a_models_place_is_waited_for_and_nothing_is_counted(bench: Bench, settings: Any) -> None:
    settings.MODELS = book("")

    ran = bench("--model", "manual", "--limit", 2)

    assert ran.code == 3 and "waits: " in ran.err and "run it again" in ran.err
    assert not ReviewBench.objects.exists()
    assert AgentCall.objects.get().outcome == AgentCall.SENT
    bench("--model", "manual", "--limit", "2")
    assert AgentCall.objects.count() == 1, "the same question is not put twice"


@pytest.mark.django_db
def test_a_model_that_does_not_answer_is_no_accuser(bench: Bench, settings: Any, tmp_path: Path) -> None:
    with recorded() as server:
        text = models_file(tmp_path / "models.toml", server).read_text()
    settings.MODELS = book(text.replace("patience_seconds = 60", "patience_seconds = 0"))

    ran = bench("--model", "openai", "--limit", "2", "--json")

    told = ran.json
    assert (ran.code, told["unanswered"], told["criteria"]) == (0, 2, [])
    assert Decimal(told["cost"]) == 0, "no connection, no bill"


def book(text: str) -> Book:
    return book_of(text, lambda name: "a-key")


# people's overrules


@pytest.fixture
def ada(db: None) -> User:
    user: User = factories.user("ada")
    return user


def overruled_plan(ada: User, decision: str, **failed: str) -> Review:
    """A role's review with its verdicts, and Ada's word against it."""
    seed = factories.seed()
    plan = factories.plan(factories.attempt(factories.evolution(seed)), factories.draft(seed))
    was = "reject" if decision == "approve" else "approve"
    review = Review.objects.create(plan=plan, role="plan_reviewer", reviewer="offline", decision=was)
    for name, verdict in failed.items():
        factories.criterion(review, name, verdict)
    return factories.review(plan, user=ada, decision=decision, supersedes=review, comment="no")


def test_an_overruled_rejection_says_that_what_had_failed_is_sound(ada: User) -> None:
    overruled_plan(ada, "approve", specific="fail", effort="pass")

    (case,) = people.cases()

    assert isinstance(case, PlanCase)
    assert case.label == Label("overruled by ada", passes=("specific",), by_person=True)
    row = running.run("offline", [case], lambda answer: None).row
    line = row.lines.get()
    assert (line.rubric, line.criterion, line.sound, line.accused) == ("people: plan", "specific", 1, 1)


def test_an_overruled_approval_is_a_fault_and_has_the_name_that_a_person_gave_it(ada: User) -> None:
    review = overruled_plan(ada, "reject", specific="pass")
    assert people.label_of(review).fails == ANY

    rubrics.add_criterion("plan", Criterion("polite", "Is polite", "Is it?"), by=ada, found_in=review)

    assert people.label_of(review).fails == "polite"


def test_an_overruled_candidate_is_an_environment_with_its_plan(ada: User) -> None:
    candidate = factories.waiting_candidate()
    review = Review.objects.create(
        candidate=candidate, role="rubric_verifier", reviewer="offline", decision="reject"
    )
    factories.criterion(review, "described", "fail")
    factories.review(candidate, user=ada, decision="approve", supersedes=review)

    (case,) = people.cases()

    assert isinstance(case, EnvironmentCase) and case.plan == candidate.plan.draft
    assert case.label.passes == ("described",) and len(case.bindings) == 1
    assert running.chosen(["plan"], limit=1)[-1].rubric == "plan", "of the other rubric it is no case"


def test_who_was_overruled_in_turn_has_no_say(ada: User) -> None:
    mine = overruled_plan(ada, "approve", specific="fail")
    factories.review(mine.plan, user=factories.user("bob"), decision="reject", supersedes=mine)

    assert people.cases() == []
