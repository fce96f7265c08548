"""Tables and fields of `task.toml` that Harbor does not know (0.26, schema 1.4), with their lines.

Harbor reads such a file and ignores them, so a misspelt limit has no effect and nobody is told.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from lineages.gates.base import Finding
from sandboxes.config import line_of
from sandboxes.task import CONFIG, Task

MOST = 20
"""As many are named one by one."""
LONGEST = 100

Keys = Mapping[str, Any]
"""A field's name → the fields of its table, or None for a value, or a table in which anything may stand."""


def _fields(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split())


_HEALTHCHECK = _fields("command interval_sec retries start_interval_sec start_period_sec timeout_sec")
_ENVIRONMENT = {
    **_fields(
        "allow_internet allowed_hosts build_timeout_sec cpus docker_image env gpu_types gpus memory_mb"
    ),
    **_fields("network_mode os skills_dir storage_mb workdir memory storage"),
    "healthcheck": _HEALTHCHECK,
    "mcp_servers": _fields("args command headers name transport url"),
    "tpu": _fields("topology type"),
}
_AGENT = _fields("allowed_hosts network_mode timeout_sec user")
_VERIFIER = {
    **_fields("allowed_hosts env environment_mode network_mode timeout_sec user"),
    "collect": _fields("command service timeout_sec user"),
    "environment": _ENVIRONMENT,
}
_ARTIFACT = _fields("destination exclude service source")
KNOWN: Keys = {
    **_fields("metadata multi_step_reward_strategy schema_version source version"),
    "agent": _AGENT,
    "artifacts": _ARTIFACT,
    "environment": _ENVIRONMENT,
    "solution": _fields("env"),
    "steps": {
        **_fields("min_reward name"),
        "agent": _AGENT,
        "artifacts": _ARTIFACT,
        "healthcheck": _HEALTHCHECK,
        "verifier": _VERIFIER,
    },
    "task": {**_fields("description keywords name version"), "authors": _fields("email name")},
    "verifier": _VERIFIER,
}


def unknown_keys(task: Task) -> Iterator[Finding]:
    """A warning for each, naming the field that was perhaps meant."""
    text = task.text(CONFIG).removeprefix("\ufeff")
    unknown = list(_unknown(tomllib.loads(text), KNOWN))
    for parts, known in unknown[:MOST]:
        name = ".".join(parts)
        near = difflib.get_close_matches(parts[-1][:LONGEST], known, 1, 0.75)
        shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
        yield Finding(
            f"{shown} is no field that Harbor knows, and has no effect."
            + (f" Is {near[0]} meant?" if near else ""),
            CONFIG,
            line_of(text, parts) or 0,
            warning=True,
        )
    if len(unknown) > MOST:
        said = f"{len(unknown) - MOST} more fields are none that Harbor knows, and have no effect."
        yield Finding(said, CONFIG, warning=True)


def _unknown(table: Mapping[str, Any], known: Keys) -> Iterator[tuple[tuple[str, ...], Keys]]:
    for key, value in table.items():
        if key not in known:
            yield (key,), known
        elif known[key] is not None:
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict):
                    for parts, of in _unknown(inner, known[key]):
                        yield (key, *parts), of
