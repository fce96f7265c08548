"""The build context of an image, before any backend builds it."""

from __future__ import annotations

from collections.abc import Mapping

from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.errors import BuildFailed, Unsupported
from sandboxes.files import TaskFile

DOCKERFILE = "Dockerfile"


def dockerfile_text(context: Mapping[str, TaskFile], *, build_network: bool = False) -> str:
    """The text of the context's Dockerfile, which we would build.

    Raises `BuildFailed` when there is none, `Unsupported` when the policy refuses it.
    """
    if DOCKERFILE not in context:
        raise BuildFailed("There is no Dockerfile to build.")
    text = context[DOCKERFILE].data.decode("utf-8", "replace")
    try:
        check_policy(text, build_network=build_network)
    except PolicyViolation as violation:
        raise Unsupported(f"This Dockerfile is not built here: {violation}.") from violation
    return text
