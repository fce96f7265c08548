"""Prompt files: what they are made of, and that nothing in them is forgotten."""

from __future__ import annotations

import pytest

from agents import prompting
from agents.prompting import PromptError, prompt, read_prompt

TEXT = "You are $who.\n---\nLook at $what. It costs $$5.\n"
SHIPPED = sorted(path.stem for path in prompting.FOLDER.glob("*.md"))


def test_the_part_above_the_line_is_the_systems_and_the_part_below_is_ours() -> None:
    system, user = read_prompt("x", TEXT).fill(who="a judge", what="this")
    assert system == "You are a judge."
    assert user == "Look at this. It costs $5."


def test_a_placeholder_in_what_is_put_in_stays_as_it_is() -> None:
    _, user = read_prompt("x", TEXT).fill(who="a", what="$who and ${what} and $$")
    assert "$who and ${what} and $$" in user


def test_a_line_of_three_dashes_below_the_first_is_text() -> None:
    assert read_prompt("x", "a\n---\nb\n---\nc").user == "b\n---\nc"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"who": "a"}, r"asks for \$what, which nobody gave it"),
        ({"who": "a", "what": "b", "when": "c", "why": "d"}, r"has no place for \$when, \$why"),
    ],
)
def test_an_undefined_and_an_unused_variable_are_errors_that_name_it(
    values: dict[str, str], told: str
) -> None:
    with pytest.raises(PromptError, match=told):
        read_prompt("x", TEXT).fill(**values)


@pytest.mark.parametrize("text", ["no line", "a\n--- \nb", "\n---\nb", "a\n---\n  \n", "a costs $5\n---\nb"])
def test_a_file_without_two_parts_or_with_a_bare_dollar_is_refused(text: str) -> None:
    with pytest.raises(PromptError, match=r"prompts/x\.md has"):
        read_prompt("x", text)


def test_the_digest_changes_with_any_byte() -> None:
    digests = {read_prompt("x", text).digest for text in (TEXT, TEXT + "\n", TEXT.replace("judge", "jury"))}
    assert len(digests) == 2
    assert read_prompt("x", TEXT).named == {"name": "x", "digest": read_prompt("x", TEXT).digest}


@pytest.mark.parametrize("name", ["nothing_here", "../models", "", "A"])
def test_a_prompt_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(PromptError, match="there is no prompt"):
        prompt(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_prompt_that_we_ship_can_be_read(name: str) -> None:
    assert prompt(name).name == name
