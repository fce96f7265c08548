"""Who plays which role, and what an author made of models says of itself."""

from __future__ import annotations

import pytest

from agents.authors import model_author
from agents.casting import Cast
from agents.modelled.plan_reviewer import ModelPlanReviewer
from agents.models import Book, ModelsError, Role, book_of
from agents.prompting import prompt
from agents.roles import Speaks, over
from tests.agents.scripted_models import Scripted, line_to

TEXT = """
[models.opus]
provider = "anthropic"
model = "big"
[models.opus-again]
provider = "anthropic"
model = "big"
effort = "max"
[models.gpt]
provider = "openai"
model = "other"
[teams.careful]
default = "opus"
plan_reviewer = "gpt"
rubric_verifier = "gpt"
[teams.sly]
default = "opus"
plan_reviewer = "opus-again"
rubric_verifier = "opus-again"
"""
BOOK = book_of(TEXT, lambda _: "key")


def cast(name: str, book: Book = BOOK) -> Cast:
    team = book.team(name)
    assert team is not None
    return Cast.of(team, book)


def test_a_cast_names_a_model_for_each_role_and_reads_back_as_written() -> None:
    text = cast("careful").text
    assert text == (
        "proposer=opus plan_reviewer=gpt modifier=opus rubric_verifier=gpt solver=opus adversary=opus "
        "failure_judge=opus estimator=opus"
    )
    assert Cast.read(text) == cast("careful")
    assert Cast.read(text).model_of(Role.PLAN_REVIEWER) == "gpt"
    assert hash(Cast.read(text)) == hash(cast("careful"))


WHOLE = cast("opus").text


@pytest.mark.parametrize(
    "text", ["", "proposer=opus", f"{WHOLE} solver=gpt", WHOLE.replace("solver=opus", "solver=")]
)
def test_what_is_no_whole_cast_is_refused(text: str) -> None:
    with pytest.raises(ModelsError, match="no cast"):
        Cast.read(text)


def test_a_model_that_judges_its_own_work_is_warned_of_and_allowed() -> None:
    assert cast("careful").warnings == ()
    assert cast("opus").warnings == (
        "opus reviews the plans that it proposes itself",
        "opus verifies the environments that it builds itself",
    )
    assert model_author(cast("opus"), BOOK).name == "opus"


def test_two_names_of_one_model_are_seen_through_and_people_are_not_warned_of() -> None:
    assert cast("sly").warnings == ()
    assert cast("sly").warnings_in(BOOK) == (
        "opus-again, the plan reviewer, is the same model as opus, the proposer",
        "opus-again, the rubric verifier, is the same model as opus, the modifier",
    )
    assert cast("careful").warnings_in(BOOK) == ()
    assert cast("manual").warnings_in(BOOK) == ()


def test_a_cast_is_said_in_words_and_a_difference_names_only_the_roles_that_differ() -> None:
    alone, careful = cast("opus"), cast("careful")
    assert alone.said == "opus"
    assert careful.said == "opus; plan reviewer and rubric verifier by gpt"
    everybody = Cast(dict(zip(Role, "abcdefgh", strict=True)))
    assert everybody.said.startswith("a; plan reviewer by b; modifier by c;")
    assert careful.unlike(alone) == "plan reviewer and rubric verifier by gpt"
    assert alone.unlike(careful) == "plan reviewer and rubric verifier by opus"
    making = "proposer, modifier, solver, adversary, failure judge and estimator"
    assert cast("gpt").unlike(careful) == f"{making} by gpt"
    assert alone.unlike(alone) == ""


def test_an_author_is_called_as_in_the_book_and_its_code_is_not_trusted() -> None:
    author = model_author(cast("careful"), BOOK)
    assert (author.name, author.trusted) == ("careful", False)
    assert model_author(cast("careful"), BOOK, name="mine").name == "mine"
    for role in (author.proposer, author.plan_reviewer, author.modifier, author.rubric_verifier):
        assert isinstance(role, Speaks)
    assert None not in (author.solver, author.adversary, author.failure_judge, author.estimator)
    assert isinstance(author.plan_reviewer, ModelPlanReviewer)
    assert author.plan_reviewer.model == "gpt"


def test_the_version_follows_whom_an_audit_hears_and_not_who_makes() -> None:
    version = model_author(cast("careful"), BOOK).version
    other = book_of(TEXT.replace('model = "other"', 'model = "newer"'), lambda _: "key")
    making = book_of(TEXT.replace('model = "big"', 'model = "bigger"'), lambda _: None)
    assert model_author(cast("careful", other), other).version != version
    assert model_author(cast("careful", making), making).version != version, "opus solves and attacks, too"
    apart = Cast({**dict.fromkeys(Role, "gpt"), Role.PROPOSER: "opus", Role.MODIFIER: "opus"})
    assert model_author(apart, making).version == model_author(apart, BOOK).version
    moved = book_of(
        TEXT.replace('model = "other"', 'model = "other"\nbase_url = "http://here"'), lambda _: None
    )
    assert model_author(cast("careful", moved), moved).version != version, "another server is another judge"
    assert model_author(cast("opus"), BOOK).version != model_author(cast("opus-again"), BOOK).version


def test_a_model_that_left_the_book_is_named() -> None:
    with pytest.raises(ModelsError, match="'opus'"):
        model_author(cast("opus"), Book())


def test_a_role_without_a_line_is_a_fault_of_the_caller_and_gets_one_by_over() -> None:
    reviewer = model_author(cast("careful"), BOOK).plan_reviewer
    assert isinstance(reviewer, ModelPlanReviewer)
    with pytest.raises(RuntimeError, match=r"call over\(line\) first"):
        _ = reviewer.speaking
    line = line_to(Scripted([]))
    assert over(reviewer, line).speaking is line
    assert reviewer.line is None


def test_every_role_has_its_prompt() -> None:
    assert len({prompt(role).digest for role in Role}) == len(Role)
