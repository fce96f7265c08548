"""What we do not build, whoever asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from dockerfile_parse.parser import image_from

from sandboxes.dockerfile.reading import HEREDOC, Instruction, arguments, expand, instructions, words_of
from sandboxes.errors import SandboxesError

OUR_IMAGES = "envevo"
OUR_LABELS = "org.envevo"
# Reading takes the square of these; no honest Dockerfile comes near.
MAX_CHARACTERS = 64 * 1024
MAX_INSTRUCTIONS = 500
MAX_DEPTH = 8


class PolicyViolation(SandboxesError):
    """A Dockerfile asks for something that we do not build. `line` counts from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason, line)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


_DIRECTIVE = re.compile(r"\s*(?:#|//)\s*(syntax|escape|check)\s*=\s*(\S*)", re.IGNORECASE)
_OFFICIAL_SYNTAX = re.compile(r"(?:docker\.io/)?docker/dockerfile:1(?:\.[0-9]+)*")
_IMAGE_ID = re.compile(r"(?:sha256:)?[0-9a-f]{4,64}")
_READABLE_VARIABLE = re.compile(r"\$(?:\w+|\{\w+(?::?[-+][^{}$]*)?\})")


def check_policy(text: str, *, build_network: bool = False) -> None:
    """Raises `PolicyViolation` for what we do not build.

    Refused: `# syntax=` other than docker/dockerfile:1, another escape character, our own images and
    image ids in FROM, `--from` and mounts, RUN with `--network=host`, `--security` or `--device`, our own
    labels, here-documents with an odd delimiter, and, unless `build_network` says that builds may use the
    network, ADD of a URL or a repository: the engine itself would fetch it, with the machine's network.
    """
    if len(text) > MAX_CHARACTERS:
        raise PolicyViolation(f"the Dockerfile has more than {MAX_CHARACTERS:,} characters", 1)
    lines = text.replace("\r\n", "\n").split("\n")
    if len(instructions(text)) > MAX_INSTRUCTIONS:
        raise PolicyViolation(f"the Dockerfile has more than {MAX_INSTRUCTIONS} instructions", 1)
    _check_characters(lines)
    _check_directives(lines)
    known: dict[str, str] = {}
    building = False
    for step in _suspects(text):
        building = building or step.name == "FROM"
        if step.name == "ARG" and not building:  # FROM sees no other variables than these
            known |= arguments(step, known)
        for each in (step, *_triggers(step)):
            _check_step(each, known)
            if each.name == "ADD" and not build_network:
                _check_sources(each)


def _suspects(text: str) -> Iterator[Instruction]:
    """All instructions, and those in the bodies of heredocs: what we take for one, a builder may not."""
    pending = [(step, 0) for step in reversed(instructions(text))]
    while pending:
        step, depth = pending.pop()
        yield step
        if step.heredocs and depth == MAX_DEPTH:
            raise PolicyViolation(f"here-documents are nested more than {MAX_DEPTH} deep", step.line)
        for body in reversed(step.heredocs):
            inner = reversed(instructions(body))
            pending += [(replace(found, line=step.line), depth + 1) for found in inner]


# Whether these end a line or count as blank, no two readers agree.
_BAD_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def _check_characters(lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if _BAD_CHARACTERS.search(line):
            raise PolicyViolation("there is a control character in this line; take it out", number)


def _check_directives(lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#!"):
            continue
        if line.lstrip().startswith("{"):
            raise PolicyViolation("a Dockerfile in JSON is not supported", number)
        if not line.lstrip().startswith(("#", "//")):
            return
        _check_directive(line, number)


def _check_directive(line: str, number: int) -> None:
    directive = _DIRECTIVE.match(line)
    name, value = (directive[1].lower(), directive[2]) if directive else ("", "")
    if name == "syntax" and not _OFFICIAL_SYNTAX.fullmatch(value):
        raise PolicyViolation(f"# syntax={value} is not allowed, only docker/dockerfile:1 is", number)
    if name == "escape" and value != "\\":
        raise PolicyViolation("an # escape= other than the backslash is not supported", number)


def _triggers(step: Instruction) -> Iterator[Instruction]:
    """What an ONBUILD holds for later builds."""
    if step.name == "ONBUILD":
        for inner in instructions(step.value):
            yield replace(inner, line=step.line)
            yield from _triggers(inner)


def _check_step(step: Instruction, known: Mapping[str, str]) -> None:
    if step.name == "FROM":
        _check_base(step, known)
    elif step.name == "RUN":
        _check_run(step)
    elif step.name == "LABEL":
        _check_labels(step)
    if step.name in ("RUN", "COPY", "ADD", "ONBUILD"):
        _check_heredocs(step)
    image = step.flag("from")
    if step.name in ("COPY", "ADD") and image is not None:
        _check_image(image, step, "--from=")


_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*:/|[^/:]+@[^/:]+:", re.IGNORECASE)


def _check_sources(step: Instruction) -> None:
    """Of an ADD. The builder takes quotes off and fills variables in, in the JSON form too."""
    if "://" in step.value:
        raise PolicyViolation("ADD fetches from the network, which builds here do not have", step.line)
    for word in (step.json or tuple(words_of(step.value)))[:-1]:
        if "$" in word:
            raise PolicyViolation(f"ADD {word}: a variable is not supported here, use COPY", step.line)
        if _REMOTE.match(expand(word, {})):
            raise PolicyViolation(f"ADD {word}: builds here have no network", step.line)


def _check_labels(step: Instruction) -> None:
    words = words_of(step.value)
    names = words if words and "=" in words[0] else words[:1]
    for name in (word.partition("=")[0] for word in names):
        if "$" in name or expand(name, {}).lower().startswith(OUR_LABELS):
            raise PolicyViolation(f"LABEL {name}: labels of this installation are not for images", step.line)


_OPENS_HEREDOC = re.compile(r"\d*<<-?[^<]")


def _check_heredocs(step: Instruction) -> None:
    """Where the builder sees another end of a here-document than we do, it sees other instructions."""
    for word in words_of(step.value):
        if _OPENS_HEREDOC.match(word) and not HEREDOC.fullmatch(word):
            raise PolicyViolation(f"{word}: this way to write a here-document is not supported", step.line)


def _check_run(step: Instruction) -> None:
    for flag in step.flags:
        name, _, value = flag[2:].partition("=")
        if name.lower() == "network" and value.strip("\"'").lower() not in ("none", "default"):
            raise PolicyViolation(f"RUN {flag} is not allowed", step.line)
        if name.lower() in ("security", "device"):
            raise PolicyViolation(f"RUN {flag} is not allowed", step.line)
        if name.lower() == "mount":
            for option in value.replace('"', "").split(","):
                key, _, image = option.partition("=")
                if key.strip().lower() == "from":
                    _check_image(image, step, "--mount from=")


def _check_base(step: Instruction, known: Mapping[str, str]) -> None:
    image = image_from(step.value)[0] or ""
    if "$" in _READABLE_VARIABLE.sub("", image):
        raise PolicyViolation(f"FROM {image}: this way to write a variable is not supported", step.line)
    _check_image(expand(image, known), step, "FROM ")


def _check_image(image: str, step: Instruction, place: str) -> None:
    name = image.strip("\"'").lower()
    image = image[:200]  # from here on it is only shown
    if OUR_IMAGES in re.split(r"[/:@]", name)[:-1] or name == OUR_IMAGES:
        raise PolicyViolation(f"{place}{image}: images of this installation may not be built on", step.line)
    if _IMAGE_ID.fullmatch(name) and not name.isdigit():
        raise PolicyViolation(f"{place}{image}: this is an image id; name an image", step.line)
    if "$" in name:
        raise PolicyViolation(f"{place}{image}: a variable is not supported here", step.line)
