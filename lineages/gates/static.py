"""static: what can be said from the files alone."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator

from agents.hidden_paths import hidden_words
from lineages.gates.asked import Asked, asked_of
from lineages.gates.base import WHOLE_TASK, Finding, Gate, Outcome, Subject, found
from lineages.gates.belonging import foreign_files
from lineages.gates.commands import LARGEST_SCRIPT, is_data
from lineages.gates.config_keys import unknown_keys
from lineages.gates.fetches import fetches, fetches_text, repair
from lineages.gates.pins import unpinned
from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, SOLVE, TEST, VERIFIER_DOCKERFILE, Task

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
LARGEST_INSTRUCTION = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
REFERENCES = ("/solution", "/oracle")
"""Where a reference solution is put while it runs; nothing of it is there when a solver is graded."""


def check(subject: Subject) -> Outcome:
    return found(
        findings(asked_of(subject)),
        "Every required file is there and nothing in the files speaks against the task.",
    )


def findings(tests: Asked) -> Iterator[Finding]:
    """Everything that the files give away, failures and warnings."""
    task = tests.task
    yield from _missing(task)
    yield from _instruction(task)
    yield from _dockerfiles(task)
    for path, file in task.files.items():
        if file.data.startswith(LFS_POINTER):
            said = "This is a Git LFS pointer, not the file: fetch it with `git lfs pull` and import again."
            yield Finding(said, path)
    yield from _line_ends(task)
    yield from _fetching(tests)
    yield from _looking(tests)
    yield from _unreadable(tests)
    yield from foreign_files(task)
    yield from unknown_keys(task)
    yield from unpinned(task, tests.walk)


def _missing(task: Task) -> Iterator[Finding]:
    for path in (INSTRUCTION, DOCKERFILE, SOLVE, TEST):
        if path not in task:
            yield Finding("This file is missing: add it.", path)
    if task.separate and not task.config.artifacts:
        said = "A separate verifier is wanted, but no artifacts are declared: no work can reach the tests."
        yield Finding(said, CONFIG, repair='artifacts = ["/app/…"]')


def _instruction(task: Task) -> Iterator[Finding]:
    if INSTRUCTION not in task:
        return
    text = task.text(INSTRUCTION)
    if not text.strip():
        yield Finding("The instruction is empty: say what is to be done.", INSTRUCTION)
    if len(text) > LARGEST_INSTRUCTION:
        said = f"The instruction has {len(text)} characters, more than {LARGEST_INSTRUCTION}: shorten it."
        yield Finding(said, INSTRUCTION)
    for number, name in hidden_words(text, task):
        yield Finding(f"This names {name!r}, which a solver must not know: take it out.", INSTRUCTION, number)


def _dockerfiles(task: Task) -> Iterator[Finding]:
    for path in (DOCKERFILE, VERIFIER_DOCKERFILE):
        if path not in task:
            continue
        try:
            check_policy(task.text(path), build_network=True)  # the build says no where it has none
        except PolicyViolation as problem:
            yield Finding(problem.reason, path, problem.line)


def _line_ends(task: Task) -> Iterator[Finding]:
    """Scripts that no kernel starts. Import mends them; what an author wrote later comes here."""
    for path, file in task.files.items():
        if not path.startswith(("tests/", "solution/")) or is_data(path):
            continue
        first = file.data.split(b"\n", 1)[0]
        script = first.removeprefix(BYTE_ORDER_MARK).startswith(b"#!")
        if script and first.endswith(b"\r"):
            said = "This script has Windows line ends, so no interpreter is found: end its lines with LF."
            yield Finding(said, path, 1, repair=f"sed -i 's/\\r$//' {path}")
        if script and first.startswith(BYTE_ORDER_MARK):
            said = "A byte order mark stands before #!, with which no interpreter is found: take it out."
            yield Finding(said, path, 1, repair=f"sed -i '1s/^\\xef\\xbb\\xbf//' {path}")


def _fetching(tests: Asked) -> Iterator[Finding]:
    """What the tests load from a network. Where one was asked for in so many words it is a warning."""
    allowed = _network_asked_for(tests.task)
    place = VERIFIER_DOCKERFILE if tests.task.separate else DOCKERFILE
    for used in tests.run:
        if not used.is_test and fetches(used.words):
            words = [word if word is not None else "…" for word in used.words]
            yield _fetched(
                shlex.join(words)[:120], used.path, used.line, allowed or used.optional, repair(words, place)
            )
    for ask in tests.python_asks:
        words = ask.value.split("\0") if "\0" in ask.value else ask.value.split()
        if ask.kind == "runs" and fetches(words):
            yield _fetched(" ".join(words)[:120], ask.path, ask.line, allowed, repair(words, place))
        elif ask.kind == "fetches" and fetches_text(ask.value):
            copied = f"{place}: COPY what stands there, and read it from the file"
            yield _fetched(ask.value[:120], ask.path, ask.line, allowed, copied)


def _fetched(what: str, path: str, line: int, tolerated: bool, mending: str) -> Finding:
    said = f"This is loaded from a network while the work is graded, and graders have none: {what}"
    return Finding(said, path, line, warning=tolerated, repair=mending)


def _network_asked_for(task: Task) -> bool:
    """Whether task.toml says itself that graders have a network; Harbor's silent default does not."""
    raw = tomllib.loads(task.text(CONFIG).removeprefix("\ufeff"))
    verifier = raw.get("verifier", {})
    tables = (
        [verifier.get("environment", {}), verifier]
        if task.separate
        else [verifier, raw.get("environment", {})]
    )
    return any(
        table.get("network_mode") == "public" or table.get("allow_internet") is True for table in tables
    )


def _unreadable(tests: Asked) -> Iterator[Finding]:
    for path in tests.walk.unreadable:
        said = (
            f"This script has more than {LARGEST_SCRIPT >> 10} KiB, or more loops, brackets or variables in "
            "others than can be read: make it simpler."
        )
        yield Finding(said, path)


def _looking(tests: Asked) -> Iterator[Finding]:
    """Tests that look for the reference solution instead of the work."""
    for used in tests.walk.found:
        if used.words[:1] in (("echo",), ("printf",)):
            continue
        for word in used.words:
            if word and _is_reference(word) and word not in tests.task:
                yield _looked(word, used.path, used.line, used.denied)
    for ask in tests.python_asks:
        if ask.kind in ("mention", "path") and _is_reference(ask.value):
            yield _looked(ask.value, ask.path, ask.line, False)


def _is_reference(word: str) -> bool:
    return any(word == folder or word.startswith(folder + "/") for folder in REFERENCES)


def _looked(word: str, path: str, line: int, denied: bool) -> Finding:
    if denied:
        said = f"This asks that {word} is not there; it never is when a solver is graded."
        return Finding(said, path, line, warning=True)
    return Finding(f"This looks for the reference at {word} instead of at the work: take it out.", path, line)


GATE = Gate(
    name="static",
    version=2,
    title="The files are complete and safe to build",
    failing="Something in the files makes the task unusable or unsafe to build.",
    cost="reads files",
    inputs=WHOLE_TASK,
    check=check,
    profiles=frozenset({"fast", "paper", "standard", "strict"}),
)
