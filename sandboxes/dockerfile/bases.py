"""Which images a Dockerfile starts from or copies from."""

from __future__ import annotations

from collections.abc import Iterator

from dockerfile_parse.parser import image_from

from sandboxes.dockerfile.reading import Instruction, arguments, expand, instructions

SCRATCH = "scratch"


def bases(text: str) -> tuple[str, ...]:
    """The images of every FROM, `COPY --from=` and `RUN --mount=…,from=`, each once, in their order.

    Left out are the file's own stages, by name or number, and `scratch`.
    """
    found: dict[str, None] = {}
    own = {"", SCRATCH}
    variables: dict[str, str] = {}
    stages = 0
    for step in instructions(text):
        if step.name == "ARG" and not stages:  # FROM sees no other variables than these
            variables |= arguments(step, variables)
        for image in _images(step, variables):
            if image.lower() not in own:
                found[image] = None
        if step.name == "FROM":
            own |= {str(stages), (image_from(step.value)[1] or "").lower()}
            stages += 1
    return tuple(found)


def _images(step: Instruction, variables: dict[str, str]) -> Iterator[str]:
    if step.name == "FROM":
        yield expand(image_from(step.value)[0] or "", variables)
    elif step.name in ("COPY", "ADD"):
        yield (step.flag("from") or "").strip("\"'")
    elif step.name == "RUN":
        for flag in step.flags:
            if flag.lower().startswith("--mount="):
                options = (each.partition("=") for each in flag[8:].replace('"', "").split(","))
                yield from (image.strip() for key, _, image in options if key.strip().lower() == "from")
