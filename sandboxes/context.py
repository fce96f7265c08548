"""What a task's images are built from, before any backend builds them."""

from __future__ import annotations

from collections.abc import Mapping

from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.errors import BuildFailed, Unsupported
from sandboxes.files import TaskFile
from sandboxes.task import VERIFIER_DOCKERFILE, Task

DOCKERFILE = "Dockerfile"
COMPOSE = "environment/docker-compose.yaml"


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


def contexts(task: Task) -> dict[str, Mapping[str, TaskFile]]:
    """The images that a trial will ask for, by the folder they are built from. Raises `Unsupported`."""
    environment, verifier = environment_context(task), verifier_context(task)
    return {"environment": environment} | ({} if verifier == environment else {"tests": verifier})


def environment_context(task: Task) -> Mapping[str, TaskFile]:
    """What the solver's image is built from. Raises `Unsupported` for a task of several containers."""
    if COMPOSE in task:
        raise Unsupported(f"{COMPOSE} asks for several containers; only a Dockerfile is supported.")
    return _context(task.under("environment"), task.config.environment.docker_image)


def verifier_context(task: Task) -> Mapping[str, TaskFile]:
    """What the image of the tests is built from: the solver's, where the task brings none for them."""
    if not task.separate or not brings_its_tests(task):
        return environment_context(task)
    return _context(task.under("tests"), _own_image(task))


def brings_its_tests(task: Task) -> bool:
    """As in Harbor: an image of the verifier's own holds /tests itself, and nothing is put there."""
    return bool(_own_image(task)) or VERIFIER_DOCKERFILE in task


def _own_image(task: Task) -> str | None:
    settings = task.config.verifier.environment
    return settings.docker_image if settings else None


def _context(files: Mapping[str, TaskFile], prebuilt: str | None) -> Mapping[str, TaskFile]:
    return {"Dockerfile": TaskFile.text(f"FROM {prebuilt}\n")} if prebuilt else files
