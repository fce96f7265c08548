"""What a task has to have and what is not supported, each refused or warned about by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandboxes.config import TaskConfig, decode
from sandboxes.dockerfile import PolicyViolation, check_policy
from sandboxes.errors import TaskRefused
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, SOLVE, TEST, VERIFIER_DOCKERFILE, Task

IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,500}")
A_FOLDER = "this is a folder where a file belongs"

REQUIRED = {
    INSTRUCTION: "add the text that the agent is given",
    DOCKERFILE: "add the Dockerfile that builds the agent's container",
    TEST: "add the script that decides and writes /logs/verifier/reward.txt",
    SOLVE: "add the reference solution, a script that solves the task",
}


def check_supported(task: Task) -> None:
    """Raises `TaskRefused` for a task of another kind, or one that lacks what it has to have."""
    _refuse_other_kinds(task)
    for path, advice in REQUIRED.items():
        if task.under(path):
            raise TaskRefused(path, A_FOLDER)
        if path not in task:
            raise TaskRefused(path, f"this file is missing; {advice}")
    for path in (CONFIG, VERIFIER_DOCKERFILE, *REQUIRED):
        if path in task and task.files[path].link is not None:
            raise TaskRefused(path, "this is a link; put the file itself there")
    if not decode(task.files[INSTRUCTION].data, INSTRUCTION).strip():
        raise TaskRefused(INSTRUCTION, f"this file is empty; {REQUIRED[INSTRUCTION]}")
    for path in (DOCKERFILE, VERIFIER_DOCKERFILE):
        if path in task:
            _check_dockerfile(path, decode(task.files[path].data, path))
    _check_images(task.config)


def _check_dockerfile(path: str, text: str) -> None:
    try:
        check_policy(text, build_network=True)  # whether builds have one is the backend's to say
    except PolicyViolation as violation:
        raise TaskRefused(path, violation.reason, violation.line) from None


def _check_images(config: TaskConfig) -> None:
    """A prebuilt image is held to what a Dockerfile's FROM is held to."""
    for key, table in (
        ("environment", config.environment),
        ("verifier.environment", config.verifier.environment),
    ):
        if table is None or not table.docker_image:
            continue
        image = table.docker_image
        if not IMAGE.fullmatch(image):
            raise TaskRefused(CONFIG, f"{key}.docker_image: {image[:100]!r} is no name of an image")
        try:
            check_policy(f"FROM {image}\n", build_network=True)
        except PolicyViolation as violation:
            raise TaskRefused(CONFIG, f"{key}.docker_image: {violation.reason}") from None


def _refuse_other_kinds(task: Task) -> None:
    verifier = task.config.verifier.environment
    if verifier and verifier.docker_image and VERIFIER_DOCKERFILE not in task:
        reason = "verifier.environment.docker_image without tests/Dockerfile is not supported; write one"
        raise TaskRefused(CONFIG, reason)
    for key, mode in _networks(task.config):
        if mode == "allowlist":
            reason = f'{key}.network_mode = "allowlist" is not supported: sandboxes here have no network'
            raise TaskRefused(CONFIG, reason)
    for artifact in task.config.artifacts:
        if artifact.service not in (None, "", "main"):
            reason = f"artifacts: service `{artifact.service}` is not supported; a task has one container"
            raise TaskRefused(CONFIG, reason)


def _networks(config: TaskConfig) -> Iterator[tuple[str, str | None]]:
    yield "environment", config.environment.network_mode
    yield "agent", config.agent.network_mode
    yield "verifier", config.verifier.network_mode
    if config.verifier.environment:
        yield "verifier.environment", config.verifier.environment.network_mode


def not_run_here(config: TaskConfig) -> Iterator[str]:
    """What is kept in the task and changes nothing here, a sentence each."""
    for key in ("healthcheck", "mcp_servers", "skills_dir"):
        if getattr(config.environment, key):
            yield f"environment.{key} is kept in the task, but has no effect in runs here"
    if config.environment.docker_image:
        yield "environment.docker_image is what runs are made from; environment/Dockerfile is not built"
    verifier = config.verifier.environment
    if verifier and verifier.docker_image:
        yield "verifier.environment.docker_image is what the tests run in; tests/Dockerfile is not built"
