"""`task.toml`, as far as we use it (harbor 0.26, schema 1.4; the legacy names are understood).

Unknown keys are never an error and are not looked at: what is stored and exported is the file itself.
A file that does not parse is refused, never replaced by defaults.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NoReturn

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sandboxes.errors import TaskRefused

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([GMK])", re.IGNORECASE)
_MIB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}


def _no_bool(value: Any) -> Any:
    # pydantic would read true as 1, so that `timeout_sec = true` would be a second.
    if isinstance(value, bool):
        raise ValueError("true and false are no value for this key")
    return value


MAX_SECONDS = 7 * 24 * 3600
Seconds = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)]
Mebibytes = Annotated[int, BeforeValidator(_no_bool), Field(gt=0)]
User = Annotated[str | int, BeforeValidator(_no_bool)]


def _settable(table: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in table.items():
        if not name or "=" in name or "\0" in name:
            raise ValueError(f"{name!r} is no name of a variable")
        if "\0" in value:
            raise ValueError(f"the value of {name} has a NUL in it, which no variable can hold")
    return table


Variables = Annotated[Mapping[str, str], AfterValidator(_settable)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Artifact(_Table):
    """A file or folder of the container that leaves it after the agent's turn."""

    source: str = Field(min_length=1)
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None

    @field_validator("source", "destination")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        if value and ".." in PurePosixPath(value).parts:
            raise ValueError("an artifact's path has no '..' in it")
        if value and "\0" in value:
            raise ValueError("an artifact's path has no NUL in it")
        return value or None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return {"source": value} if isinstance(value, str) else value


class TaskInfo(_Table):
    """`[task]`; `name` is "" only where the whole table is absent."""

    name: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _has_two_parts(cls, value: str) -> str:
        if not _NAME.fullmatch(value) or ".." in value:
            raise ValueError("a task's name has the form org/name, of letters, digits, '.', '_' and '-'")
        return value


NetworkMode = Literal["public", "no-network", "allowlist"]


class AgentConfig(_Table):
    timeout_sec: Seconds | None = None
    user: User | None = None
    network_mode: NetworkMode | None = None


class EnvironmentConfig(_Table):
    """`[environment]` and `[verifier.environment]`; sizes in mebibytes."""

    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: str = "linux"
    cpus: Annotated[float, BeforeValidator(_no_bool), Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: Mebibytes | None = None
    storage_mb: Mebibytes | None = None
    gpus: Annotated[int, BeforeValidator(_no_bool)] | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: Mapping[str, Any] | None = None
    skills_dir: str | None = None
    env: Variables = Field(default_factory=dict)
    workdir: str | None = None
    user: User | None = None
    network_mode: NetworkMode = "public"
    healthcheck: Mapping[str, Any] | None = None
    mcp_servers: tuple[Mapping[str, Any], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_older_schemas(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        table = _with_sizes(value)
        named = {"network_mode", "allowed_hosts"} & table.keys()
        if isinstance(table.get("allow_internet"), bool) and not named:
            table["network_mode"] = "public" if table["allow_internet"] else "no-network"
        return table

    @field_validator("workdir")
    @classmethod
    def _is_a_folder(cls, value: str | None) -> str | None:
        if value is not None and (not value.startswith("/") or "\0" in value):
            raise ValueError(f"workdir = {value!r} is no absolute path")
        return value

    @field_validator("os")
    @classmethod
    def _is_linux(cls, value: str) -> str:
        if value.lower() != "linux":
            raise ValueError(f"os = {value!r} is not supported, only Linux containers are")
        return "linux"

    @field_validator("gpus", "gpu_types", "tpu")
    @classmethod
    def _needs_no_accelerator(cls, value: object, info: ValidationInfo) -> object:
        if value:
            kind = "TPU" if info.field_name == "tpu" else "GPU"
            raise ValueError(f"tasks that need a {kind} are not supported")
        return value


class VerifierConfig(_Table):
    timeout_sec: Seconds = 600.0
    env: Variables = Field(default_factory=dict)
    user: User | None = None
    network_mode: NetworkMode | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentConfig | None = None
    collect: tuple[Mapping[str, Any], ...] = ()

    @property
    def separate(self) -> bool:
        """Whether the tests run in a container of their own; a `verifier.environment` alone implies it."""
        return self.environment_mode == "separate" or self.environment is not None

    @field_validator("collect")
    @classmethod
    def _no_hooks(cls, value: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
        if value:
            raise ValueError("[[verifier.collect]] hooks are not supported")
        return value

    @model_validator(mode="after")
    def _mode_fits_environment(self) -> VerifierConfig:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError('environment_mode = "shared" does not go with a [verifier.environment] table')
        return self


class SolutionConfig(_Table):
    env: Variables = Field(default_factory=dict)


class TaskConfig(_Table):
    """The whole of `task.toml`. `${VAR}` in env tables stays as written.

    `metadata` is a free table in Harbor: odd values in it are read as nothing, never refused.
    """

    schema_version: str = "1.4"
    artifacts: tuple[Artifact, ...] = ()
    task: TaskInfo = Field(default_factory=TaskInfo)
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    agent: AgentConfig = Field(default_factory=AgentConfig)
    environment: EnvironmentConfig = Field(default_factory=EnvironmentConfig)
    verifier: VerifierConfig = Field(default_factory=VerifierConfig)
    solution: SolutionConfig = Field(default_factory=SolutionConfig)

    @property
    def task_name(self) -> str:
        """`task.name`, or "" where there is no [task] table."""
        return self.task.name

    @property
    def category(self) -> str:
        return _label(self.metadata.get("category"))

    @property
    def difficulty(self) -> str:
        return _label(self.metadata.get("difficulty"))

    @model_validator(mode="before")
    @classmethod
    def _from_older_schemas(cls, value: Any) -> Any:
        if isinstance(value, dict) and "version" in value:
            return {"schema_version": value["version"], **value}
        return value


def _label(value: object) -> str:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def parse_config(data: bytes, path: str) -> TaskConfig:
    """Parse a `task.toml`; a byte order mark before it is tolerated.

    Raises `TaskRefused` with the line and column of bad TOML, or the key of a wrong value and its line
    where that can be found.
    """
    text = decode(data, path)
    _check_size(path, text)
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise TaskRefused(path, "the TOML is nested too deeply") from None
    except ValueError as error:
        raise _bad_syntax(path, text, error) from None
    _refuse_unsupported(path, text, raw)
    try:
        return TaskConfig.model_validate(raw)
    except ValidationError as error:
        raise _bad_value(path, text, error) from None


MAX_CHARACTERS = 1024 * 1024
MAX_PARTS = 100
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*){{{MAX_PARTS}}}")


def _check_size(path: str, text: str) -> None:
    """Reading takes the square of a key's parts; no honest file comes near these."""
    if len(text) > MAX_CHARACTERS:
        raise TaskRefused(path, f"this file has more than {MAX_CHARACTERS:,} characters")
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise TaskRefused(path, f"a key of more than {MAX_PARTS} parts", line)


def decode(data: bytes, path: str) -> str:
    """UTF-8 text without its byte order mark. Raises `TaskRefused` with the line of the first wrong byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"this line is not UTF-8 ({error.reason}); save the file as UTF-8"
        raise TaskRefused(path, reason, line) from None


def _refuse_unsupported(path: str, text: str, raw: Mapping[str, Any]) -> None:
    if raw.get("steps"):
        reason = "this is a multi-step task ([[steps]]); multi-step tasks are not supported yet"
        raise TaskRefused(path, reason, line_of(text, ("steps",)))
    if isinstance(raw.get("task"), dict) and "name" not in raw["task"]:
        reason = 'task.name: a [task] table needs a name = "org/name"'
        raise TaskRefused(path, reason, line_of(text, ("task",)))


MAX_DIGITS = 4300
_TOO_LONG = re.compile(rf"(?<![\w\"'])[+-]?[0-9_]{{{MAX_DIGITS + 1},}}")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def _bad_syntax(path: str, text: str, error: ValueError) -> TaskRefused:
    message = str(error)
    place = _POSITION.search(message)
    reason = f"not valid TOML: {_POSITION.sub('', message)}"
    if place is None:  # the words are Python's, about an integer
        number = _TOO_LONG.search(text)
        line = text.count("\n", 0, number.start()) + 1 if number else None
        return TaskRefused(path, f"not valid TOML: a number of more than {MAX_DIGITS:,} digits", line)
    if place[1] is None:  # "at end of document"
        lines = text.splitlines() or [""]
        return TaskRefused(path, reason, len(lines), len(lines[-1]) + 1)
    return TaskRefused(path, reason, int(place[1]), int(place[2]))


def _bad_value(path: str, text: str, error: ValidationError) -> TaskRefused:
    first = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    message = first["msg"].removeprefix("Value error, ")
    return TaskRefused(path, f"{key}: {message}", line_of(text, first["loc"]))


_HEADER = re.compile(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"([A-Za-z0-9_.\-\"' \t]+)=")
"""Neither may try gaps twice: a line of 50,000 blanks took hours."""


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """The line of the longest known part of a key, by reading headers and keys line by line."""
    wanted = [str(part) for part in location if isinstance(part, str)]
    table: list[str] = []
    best: tuple[int, int | None] = (0, None)
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = found = _parts(header[1])
        elif key := _KEY.match(line):
            found = table + _parts(key[1])
        else:
            continue
        if wanted[: len(found)] == found and len(found) > best[0]:
            best = (len(found), number)
    return best[1]


def _parts(key: str) -> list[str]:
    return [part.strip().strip("\"'") for part in key.split(".")]


def _with_sizes(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with `memory = "2G"` and `storage = "10G"` moved to their names of today."""
    known = dict(table)
    for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
        if old not in table:
            continue
        size = _mebibytes(old, table[old])
        if table.get(new, size) != size:
            raise ValueError(f"{old} = {table[old]!r} and {new} = {table[new]!r} contradict each other")
        known[new] = size
    return known


def _mebibytes(key: str, value: object) -> int:
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        _wrong_size(key, value)
    size = float(match[1]) * _MIB[match[2].upper()]
    return int(size) if math.isfinite(size) else _wrong_size(key, value)


def _wrong_size(key: str, value: object) -> NoReturn:
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
    raise ValueError(f'{key} = {shown} is not a size; write {key}_mb = 2048, or {key} = "2G"')
