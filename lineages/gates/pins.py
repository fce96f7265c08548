"""What a task installs without saying in which version: tomorrow's build is another environment."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from lineages.gates.base import Finding
from lineages.gates.commands import Walk, Words
from lineages.gates.fetches import as_module, fetches
from sandboxes.dockerfile import expand, instructions
from sandboxes.dockerfile.reading import command, last_stage
from sandboxes.task import DOCKERFILE, VERIFIER_DOCKERFILE, Task

PINNED = re.compile(r"==|@|===|\.whl$|\.tar\.gz$|://|^[./~]")
VALUED = frozenset(
    {
        "-r",
        "-c",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-t",
        "--target",
        "--requirement",
        "--constraint",
        "--prefix",
        "--python",
        "-p",
    }
)
TOOLS_WITH = frozenset({"-w", "--with", "--from"})


def unpinned(task: Task, walk: Walk) -> Iterator[Finding]:
    """A warning for each image, package and repository without a version, in Dockerfiles and the tests."""
    for path in (DOCKERFILE, VERIFIER_DOCKERFILE):
        if path in task:
            yield from _images(path, task.text(path))
            runs = _runs(task, path, walk)
            for used in runs:
                yield from _of(used, runs)
    for used in walk.found:
        yield from _of(used, walk.found)


def _images(path: str, text: str) -> Iterator[Finding]:
    stages: set[str] = {"scratch"}
    defaults: dict[str, str] = {}
    for step in instructions(text):
        words = step.value.split()
        if step.name == "ARG" and words:
            name, _, value = words[0].partition("=")
            defaults[name] = value.strip("\"'")
        if step.name != "FROM" or not words:
            continue
        image = expand(words[0], defaults)
        name, _, tag = image.rpartition("/")[-1].partition(":")
        if image.lower() not in stages and "@" not in image and tag in ("", "latest"):
            said = f"The image {image} has no version: write a tag that stays, or its digest."
            yield Finding(
                said, path, step.line, warning=True, repair=f"FROM {image.partition(':')[0]}:<version>"
            )
        if len(words) == 3 and words[1].upper() == "AS":
            stages.add(words[2].lower())


def _runs(task: Task, path: str, walk: Walk) -> list[Words]:
    """The commands of a Dockerfile's last stage, each at the line of its instruction."""
    found = []
    for step, _ in last_stage(task.text(path)).steps:
        if step.name == "RUN":
            found += [
                Words(each.words, path, step.line, each.optional) for each in walk.of_text(command(step))
            ]
    return found


def _of(used: Words, beside: Sequence[Words]) -> Iterator[Finding]:
    words = used.words
    if used.is_test or not words or words[0] is None:
        return
    name, arguments = as_module(posixpath.basename(words[0]), tuple(words[1:]))
    plain = [word for word in arguments if word is not None]
    for package in _packages(name, plain):
        yield Finding(
            f"{package} is installed in whatever version there is: write one.",
            used.path,
            used.line,
            warning=True,
            repair=f"{package}{'@' if name in ('npm', 'npx', 'yarn', 'pnpm', 'go') else '=='}<version>",
        )
    if name == "git" and "clone" in plain[:3] and fetches(words) and not _is_fixed(used, plain, beside):
        said = "This clones whatever is newest: check out a revision, or clone a tag with --branch."
        yield Finding(said, used.path, used.line, warning=True)


def _packages(name: str, arguments: list[str]) -> Iterator[str]:
    if name in ("pip", "pip3") and arguments[:1] == ["install"]:
        yield from _without_pins(arguments[1:])
    elif name == "uv" and arguments[:2] == ["pip", "install"]:
        yield from _without_pins(arguments[2:])
    elif name == "uvx" or (name == "uv" and arguments[:2] == ["tool", "run"]):
        yield from _of_uvx(arguments if name == "uvx" else arguments[2:])
    elif name in ("npm", "pnpm") and arguments[:1] in (["install"], ["i"], ["add"]):
        plain = (word for word in arguments[1:] if not word.startswith(("-", ".", "/")))
        yield from (word for word in plain if "@" not in word[1:])


def _without_pins(arguments: list[str]) -> Iterator[str]:
    for before, word in zip(["", *arguments], arguments, strict=False):
        if not word.startswith("-") and before not in VALUED and not PINNED.search(word):
            yield word


def _of_uvx(arguments: list[str]) -> Iterator[str]:
    brought, at = [], 0
    while at < len(arguments) and arguments[at].startswith("-"):
        valued = arguments[at] in TOOLS_WITH | VALUED
        if arguments[at] in TOOLS_WITH and at + 1 < len(arguments):
            brought += arguments[at + 1].split(",")
        at += 1 + valued
    tool = arguments[at] if at < len(arguments) else ""
    names = {re.split(r"[=<>!~\[@]", package)[0] for package in brought}
    yield from _without_pins([*brought, *([tool] if tool and tool not in names else [])])


def _is_fixed(used: Words, arguments: list[str], beside: Sequence[Words]) -> bool:
    if any(word.partition("=")[0] in ("--branch", "-b", "--revision") for word in arguments):
        return True
    later = (other.words for other in beside if (other.path, other.line) >= (used.path, used.line))
    return any(words[:1] == ("git",) and {"checkout", "reset", "switch"} & set(words) for words in later)
