"""What the operators' scripts run, read by the shell parser, against what they say they need."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from random import Random

import pytest
from tree_sitter import Node, Parser

from agents.offline.families import families
from agents.offline.operator import Operator, Part, Site, Subject, Variant
from agents.offline.shell import LANGUAGE
from agents.offline.vocabulary import WRAPPERS
from agents.offline.words import command_words, text
from tests.agents.growing import DESK
from tests.agents.tasks import ORDERS, TOTALS, orders

SHAPES = [
    pytest.param(operator, variant, id=f"{operator.name}-{variant.name}")
    for operator in families().values()
    for variant in operator.variants
]
SHELL = frozenset(
    "[ : break cd continue do done echo exit export for local mapfile printf pwd read return set shift"
    " test trap true while".split()
)
"""Builtins of bash; its keywords, because the parser stumbles over `16#$byte` and takes some for commands."""
EVERYWHERE = frozenset("basename cat cp dirname ln ls mkdir mktemp mv rm wc".split())
"""What every image with bash has, as the runners and the frames of steps and units need."""


def names(node: Node) -> Iterator[str]:
    """The commands of a script, those behind a wrapper too."""
    if node.type == "command":
        words = [text(word) for word in command_words(node)]
        yield posixpath.basename(words[0])
        if words[0] in WRAPPERS:
            yield from (word for word in words[1:] if word.isalnum() and not word.isdigit())
    for child in node.named_children:
        yield from names(child)


def functions(node: Node) -> Iterator[str]:
    if node.type == "function_definition":
        yield text(node.named_children[0])
    for child in node.named_children:
        yield from functions(child)


def commands(script: str) -> frozenset[str]:
    root = Parser(LANGUAGE).parse(script.encode()).root_node
    return frozenset(names(root)) - frozenset(functions(root))


def made(operator: Operator, variant: Variant) -> Part:
    input_, output = Subject(ORDERS, "in", data=orders().encode()), Subject(TOTALS, "", output=True)
    subject = input_ if operator.before else output
    return operator.make(subject, variant, Site(1, operator.name, DESK), Random("a"))


@pytest.mark.parametrize(("operator", "variant"), SHAPES)
def test_the_tool_of_a_variant_is_a_command_of_its_step(operator: Operator, variant: Variant) -> None:
    run = commands(made(operator, variant).step)
    assert variant.tool in run
    assert variant.tool in operator.tools | SHELL


@pytest.mark.parametrize(("operator", "variant"), SHAPES)
def test_every_tool_that_a_step_or_unit_runs_is_declared(operator: Operator, variant: Variant) -> None:
    part = made(operator, variant)
    run = commands(part.step) | commands(part.unit)
    assert run - SHELL - EVERYWHERE <= operator.tools, sorted(run - SHELL - EVERYWHERE - operator.tools)


@pytest.mark.parametrize("name", sorted(families()))
def test_no_tool_is_declared_that_nothing_runs(name: str) -> None:
    operator = families()[name]
    parts = [made(operator, variant) for variant in operator.variants]
    run = frozenset[str]().union(*(commands(part.step) | commands(part.unit) for part in parts))
    assert operator.tools <= run, sorted(operator.tools - run)
