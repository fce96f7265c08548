"""contract: what the tests ask for is said or can be found, and what is said is tested.

The deterministic part: paths, file names, keys, columns, labels and thresholds that the syntax of the tests
shows. Whether the wording of the instruction describes what is tested is judged by the criteria `described`
and `tested` of the environment rubric.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from agents.composition import SEED_TEST, SEED_UNIT
from lineages.gates.asked import Ask, Asked, asked_of
from lineages.gates.base import Finding, Gate, Input, Outcome, Subject, found
from lineages.gates.outputs import untested
from lineages.gates.python_tests.origin import is_graders
from sandboxes.task import INSTRUCTION

NAMES = {"key": "the key", "member": "the key or item", "column": "the column", "label": "the words"}
MAY_BE_ANSWERS = frozenset({"count", "label", "member"})
MEASURES = {"threshold": "the bound", "count": "the number"}
SYSTEM = re.compile(r"/(?:usr|bin|sbin|lib|lib64|etc|run|proc|sys|dev|boot|var/(?:lib|log|run|cache))(?:/|$)")
"""What packages bring, of which a task's files say nothing."""
PATH = re.compile(r"(?:/[\w.@%+=,~-]+)+/?")
KNOWN_FORMATS = frozenset(
    "type features geometry coordinates properties crs bbox cells cell_type nbformat dependencies"
    " devDependencies scripts version name compilerOptions openapi paths info servers components schemas"
    " jsonrpc method params services image ports volumes kind apiVersion"
    " metadata spec @context @type $schema".split()
)
"""Keys of formats that a format's name alone stands for (GeoJSON, OpenAPI, package.json …)."""
SAME_KINDS = {
    **dict.fromkeys(("path", "mention"), ("path", "mention")),
    **dict.fromkeys(("key", "column"), ("key", "column", "member")),
}
"""Of what is told as one, the other needs no telling."""
LARGE = 100_000
"""A count's bound from here on keeps a grader from reading for ever; nothing is asked by it."""


def check(subject: Subject) -> Outcome:
    return found(
        findings(asked_of(subject)),
        "What the tests ask for is said or can be found, and each file that is asked for is tested.",
    )


def findings(tests: Asked) -> Iterator[Finding]:
    """Hidden requirements first, then programs that cannot be read, then files nobody tests."""
    if INSTRUCTION not in tests.task:
        return
    yield from _hidden_asks(tests)
    yield from tests.unreadable
    yield from untested(tests)


def _hidden_asks(tests: Asked) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for ask in sorted(tests.asks, key=lambda ask: (ask.path, ask.line, ask.kind == "member")):
        same = {(kind, ask.value) for kind in SAME_KINDS.get(ask.kind, (ask.kind,))}
        if (ask.kind, ask.value) not in seen and _is_hidden(ask, tests):
            seen |= same
            yield _hidden(ask, tests)


def _is_hidden(ask: Ask, tests: Asked) -> bool:
    if ask.kind in ("path", "mention"):
        return _is_required(ask, tests) and not tests.told.says_path(ask.value)
    if SEED_UNIT in tests.task and ask.path != SEED_TEST:
        return False  # each sentence of an evolved task is bound to its units, which conformance checks
    if ask.kind in NAMES:
        return (
            ask.value not in KNOWN_FORMATS
            and any(letter.isalpha() for letter in ask.value)
            and not tests.told.says(ask.value)
        )
    if ask.kind in MEASURES:
        number = float(ask.value)
        large = ask.kind == "count" and number >= LARGE
        return number not in (0, 1) and not large and not tests.told.says_number(number)
    return False


def _is_required(ask: Ask, tests: Asked) -> bool:
    """Whether it is a place where a solver works, and no file that the tests bring or make."""
    path = ask.value.rstrip("/")
    if ask.kind == "path" and not path.startswith("/"):
        path = f"{tests.told.workdir.rstrip('/')}/{path}"
    if not PATH.fullmatch(path) or is_graders(path) or SYSTEM.match(path):
        return False
    if ask.kind == "mention" and path.split("/")[1] not in tests.roots:
        return False
    return path not in tests.written and path.rsplit("/", 1)[-1] not in tests.own_names


def _has_another_place(ask: Ask, tests: Asked) -> bool:
    """Whether the same name is looked for elsewhere on the same line, where it is said to be."""
    name = posixpath.basename(ask.value)
    others = (other for other in tests.asks if (other.path, other.line) == (ask.path, ask.line))
    return ask.kind in ("path", "mention") and any(
        other.kind == ask.kind
        and other.value != ask.value
        and posixpath.basename(other.value) == name
        and tests.told.says_path(other.value)
        for other in others
    )


def _hidden(ask: Ask, tests: Asked) -> Finding:
    """A failure, or a warning where the environment may yet show it, or where it may be an answer."""
    what = {**NAMES, **MEASURES}.get(ask.kind, "the path")
    unsure = tests.told.open_ended and ask.kind != "threshold"
    may = " The image is made of more than its files show, so look." if unsure else ""
    return Finding(
        f"A test asks for {what} {ask.value!r}, which neither the instruction nor the environment says.{may}",
        ask.path,
        ask.line,
        warning=unsure or ask.kind in MAY_BE_ANSWERS or _has_another_place(ask, tests),
        repair=f"Say {ask.value} in instruction.md, or let the environment show it.",
    )


GATE = Gate(
    name="contract",
    version=1,
    title="The tests ask for what is said, and what is said is tested",
    failing="A requirement is known to the tests alone, or a file that is asked for is never looked at.",
    cost="reads files",
    inputs=frozenset({Input.ENVIRONMENT, Input.TESTS, Input.INSTRUCTION, Input.CONFIG}),
    check=check,
    after=("static",),
)
