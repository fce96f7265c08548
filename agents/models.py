"""The models that an installation may ask, as `models.toml` says them. Reads no environment and no file.

    [models.opus]
    provider = "anthropic"            # anthropic | openai | openai-chat | manual
    model = "claude-opus-5"
    key_variable = "ANTHROPIC_API_KEY"

    [teams.careful]                   # who plays which role; `default` plays the others
    default = "opus"
    plan_reviewer = "gpt"
    rubric_verifier = "gpt"

`book_of` reads the text; whoever calls it hands in the values of the key variables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
RESERVED = ("offline",)
MANUAL = "manual"


class Role(StrEnum):
    """The roles that a model can play (`docs/method.md`)."""

    PROPOSER = "proposer"
    PLAN_REVIEWER = "plan_reviewer"
    MODIFIER = "modifier"
    RUBRIC_VERIFIER = "rubric_verifier"
    SOLVER = "solver"
    ADVERSARY = "adversary"
    FAILURE_JUDGE = "failure_judge"
    ESTIMATOR = "estimator"


MAKING = (Role.PROPOSER, Role.MODIFIER)
JUDGING = (Role.PLAN_REVIEWER, Role.RUBRIC_VERIFIER)


class ModelsError(Exception):
    """A models file that cannot be used; the message names the place and what to write."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Price(Part):
    """US dollars for a million tokens; in place of what genai-prices says. 0 is a price: it costs nothing."""

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cached: Decimal | None = Field(None, ge=0, description="of cached input; absent: as input")
    cache_written: Decimal | None = Field(None, ge=0, description="of input written to a cache; as input")


class Can(Part):
    """What a model takes. `doctor` finds out by one tiny call whether the words are right."""

    temperature: bool = False
    schema_: bool = Field(True, alias="schema", description="structured answers by JSON schema")
    tools: bool = True
    thinking: bool = False
    web_search: bool = False
    cache: bool = Field(True, description="prompt caching, where the API wants to be told of it")


class ModelSpec(Part):
    """One model. Limits hold for all workers together."""

    name: str = Field("", description="its name in models.toml")
    provider: Literal["anthropic", "openai", "openai-chat", "manual"]
    model: str = ""
    base_url: str = ""
    key_variable: str = ""
    key: SecretStr | None = Field(None, exclude=True, repr=False)
    effort: Literal["", "low", "medium", "high", "max"] = ""
    temperature: float | None = Field(None, ge=0, le=2)
    context_tokens: int = Field(200_000, ge=1_000)
    max_output_tokens: int = Field(32_000, ge=16)
    output_name: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_completion_tokens", description="what Chat Completions calls the limit on the answer"
    )
    timeout_seconds: float = Field(600, gt=0, le=3_600)
    patience_seconds: float = Field(600, ge=0, description="how long one request is tried again for")
    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)
    at_once: int | None = Field(None, ge=1, description="requests under way at the same time")
    price: Price | None = None
    can: Can = Can()

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("it must begin with http:// or https://")
        return value.rstrip("/")


class Team(Part):
    """Which model plays which role; `default` plays those that are not named."""

    default: str
    proposer: str = ""
    plan_reviewer: str = ""
    modifier: str = ""
    rubric_verifier: str = ""
    solver: str = ""
    adversary: str = ""
    failure_judge: str = ""
    estimator: str = ""

    def model_of(self, role: Role) -> str:
        return str(getattr(self, role)) or self.default


class _File(Part):
    models: dict[Annotated[str, Field(pattern=NAME)], ModelSpec] = {}
    teams: dict[Annotated[str, Field(pattern=NAME)], Team] = {}


class Book(Part):
    """All models and teams, by name. `manual`, a person who answers on a page, is always one of them."""

    models: Mapping[str, ModelSpec] = {}
    teams: Mapping[str, Team] = {}

    def model(self, name: str) -> ModelSpec:
        """Raises `ModelsError`, which names those that there are."""
        if name not in self.models:
            raise ModelsError(
                f"there is no model called {name!r}; there is: {', '.join(sorted(self.models))}"
            )
        return self.models[name]

    def team(self, name: str) -> Team | None:
        """The team of that name, or the one of that single model; None for any other name."""
        if name in self.teams:
            return self.teams[name]
        return Team(default=name) if name in self.models else None


def book_of(text: str, keys: Callable[[str], str | None], *, where: str = "models.toml") -> Book:
    """Read a models file. `keys` gives the value of a key variable, or None where it is not set.

    A missing key is no error here, since a file may name more models than are used: asking such a model is
    (`KeyRefused`). Raises `ModelsError` for anything else, with the place.
    """
    try:
        written = tomllib.loads(text)
        _check_written(written.get("models"), where)
        read = _File.model_validate(written)
    except tomllib.TOMLDecodeError as problem:
        raise ModelsError(f"{where}: {problem}") from problem
    except ValidationError as problem:
        raise ModelsError("\n".join(_sentence(where, error) for error in problem.errors())) from problem
    models = {name: _ready(name, spec, keys, where) for name, spec in read.models.items()}
    models[MANUAL] = ModelSpec(name=MANUAL, provider="manual", model="a person")
    _check_names(models, read.teams, where)
    return Book(models=models, teams=read.teams)


def _check_written(tables: object, where: str) -> None:
    """What the form has for the program's own use, and would take from the file without a word."""
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if name == MANUAL:
            raise ModelsError(
                f"{where}: models.{MANUAL} is the person who answers on a page and is there without a table; "
                "choose another name"
            )
        if isinstance(table, dict) and "key" in table:
            raise ModelsError(
                f"{where}: models.{name}.key: a key never stands in the file; put it into an environment "
                "variable and write that one's name as key_variable"
            )
        if isinstance(table, dict) and "name" in table:
            raise ModelsError(
                f"{where}: models.{name}.name: a model has the name of its table, which is {name}; "
                "leave the line out, or write model for the name that the server knows"
            )


def _ready(name: str, spec: ModelSpec, keys: Callable[[str], str | None], where: str) -> ModelSpec:
    if spec.provider != MANUAL and not spec.model:
        raise ModelsError(f"{where}: models.{name}.model is missing: the name that the server knows")
    if spec.provider == "openai-chat" and not spec.base_url:
        raise ModelsError(f"{where}: models.{name}.base_url is missing: the server's address, with /v1")
    if spec.max_output_tokens >= spec.context_tokens:
        raise ModelsError(
            f"{where}: models.{name}.max_output_tokens is {spec.max_output_tokens:,}, which leaves no room "
            f"for a question: context_tokens is {spec.context_tokens:,} and holds both"
        )
    key = keys(spec.key_variable) if spec.key_variable else None
    return spec.model_copy(update={"name": name, "key": SecretStr(key) if key else None})


def _check_names(models: Mapping[str, ModelSpec], teams: Mapping[str, Team], where: str) -> None:
    for name in (*models, *teams):
        if name in RESERVED:
            raise ModelsError(f"{where}: {name} is the author without a model; choose another name")
    for name in teams.keys() & models.keys():
        raise ModelsError(f"{where}: {name} is a model and a team; rename one")
    for name, team in teams.items():
        for role in Role:
            if team.model_of(role) not in models:
                raise ModelsError(
                    f"{where}: teams.{name}.{role} is {team.model_of(role)!r}, which is no model here"
                )


def _sentence(where: str, error: Mapping[str, object]) -> str:
    place = ".".join(str(part) for part in error["loc"])  # type: ignore[attr-defined]
    return f"{where}: {place}: {error['msg']}"
