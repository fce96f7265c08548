"""The only place that reads the environment (with `value_files` and `values`, which it alone uses).

Every setting has a working default, so a bare checkout runs; a wrong value refuses to start and names the
variable. Variables are `ENVEVO_` and the field's name in capitals. With `_FILE` behind that, a variable names
a file that holds the value, so that a secret stands in no process's environment. The variables that a models
file names for keys are read in the same two ways.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import tempfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, AliasChoices, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from agents.models import Book, ModelsError, book_of
from envevo_site import values
from envevo_site.value_files import PREFIX, UnusableFile, ValuesInFiles, value_of

LONGEST_SOCKET_PATH = 100
BASE = Path(__file__).resolve().parent.parent


def _memory_share() -> int:
    """Mebibytes for each sandbox when all slots are taken."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(512, total // (os.cpu_count() or 1))


class Config(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore")

    var: Annotated[Path, AfterValidator(values.folder)] = Field(
        BASE / "var", validate_default=True, description="folder for everything that this installation writes"
    )
    database_url: Annotated[str, AfterValidator(values.database)] = Field(
        "", description="PostgreSQL address; empty: SQLite in the var folder"
    )
    database_password: str = Field("", repr=False, description="for an address without one")
    redis_url: Annotated[str, AfterValidator(values.broker)] = Field(
        "", description="broker address; empty: an embedded Redis on a socket in the var folder"
    )
    redis_password: str = Field("", repr=False, description="for an address without one")
    blobs: Annotated[Path, AfterValidator(values.folder)] | None = Field(
        None, description="folder of stored content, shared by all machines; empty: var/blobs"
    )
    secret_key: str = Field(
        "", repr=False, description="signs sessions; empty: made once and kept in the var folder"
    )
    debug: bool = False
    allowed_hosts: Annotated[list[str], NoDecode, AfterValidator(values.hosts)] = Field(
        ["localhost", "127.0.0.1", "[::1]"], description="host names that are answered"
    )
    csrf_trusted_origins: Annotated[list[str], NoDecode, AfterValidator(values.origins)] = Field(
        [], description="origins that may send forms, with scheme"
    )
    secure_cookies: bool = Field(False, description="set when the site is served over https")
    session_hours: float = Field(
        12, ge=0.01, le=8_760, description="how long a sign-in lasts without a page being opened"
    )
    login_failures: int = Field(
        5, ge=1, description="wrong passwords for one name from one address before that pair is refused"
    )
    login_lock_minutes: float = Field(15, gt=0, le=525_600, description="how long it is refused then")
    proxy_header: Annotated[str, AfterValidator(values.header)] = Field(
        "",
        description="header where our own proxy adds the client's address, as X-Forwarded-For; empty: none",
    )
    time_zone: Annotated[str, AfterValidator(values.zone)] = "UTC"
    instance: Annotated[str, AfterValidator(values.instance)] = Field(
        "", description="labels this installation's sandboxes; empty: from the var folder's path"
    )
    sandbox: Literal["auto", "docker", "bubblewrap"] = "auto"
    docker_host: Annotated[str, AfterValidator(values.engine)] = Field(
        "",
        validation_alias=AliasChoices("ENVEVO_DOCKER_HOST", "DOCKER_HOST"),
        description="the engine's address, also read from DOCKER_HOST; empty: the usual socket",
    )
    untrusted_in_bubblewrap: bool = Field(False, description="let model-made code run in bubblewrap")
    build_network: bool = Field(False, description="let image builds reach the network")
    slots: int = Field(
        max(1, os.cpu_count() or 1), ge=1, le=256, description="sandboxes at once on this machine"
    )
    sandbox_memory_mb: int = Field(
        _memory_share(), ge=64, le=2**24, description="the most memory of one sandbox"
    )
    sandbox_cpus: float = Field(
        float(os.cpu_count() or 1), ge=0.01, le=4_096, description="the most cpus of one sandbox"
    )
    lease_seconds: int = Field(
        60, ge=2, le=86_400, description="how long a worker that went silent keeps its work"
    )
    lease_beat_seconds: float = Field(10, gt=0, description="how often a working worker says that it lives")
    disk_floor_mb: int = Field(
        2048, ge=0, description="free mebibytes below which no work starts in a sandbox of this machine"
    )
    images_mb: int = Field(
        20480, ge=0, description="the most that images of this installation take on a machine"
    )
    upload_max_mb: int = Field(1024, ge=1, description="the most mebibytes of one uploaded archive")
    collect_hours: float = Field(
        6, gt=0, le=87_600, description="how often stored content without a use is looked for"
    )
    orphan_hours: float = Field(
        24, ge=1, le=87_600, description="how long it stays after it was found without a use"
    )
    sweep_seconds: int = Field(30, ge=1, le=86_400, description="how often forgotten work is looked for")
    pulse: Annotated[Path | None, AfterValidator(values.pulse)] = Field(
        None, description="file that a worker and beat touch as a sign of life; empty: none"
    )
    fault_retries: int = Field(
        3, ge=0, le=16, description="tries after an infrastructure error before a person is asked"
    )
    fault_backoff_seconds: float = Field(10, ge=0, le=86_400)
    models: Annotated[Path | None, AfterValidator(values.readable)] = Field(
        None, description="the models file; empty: models.toml beside manage.py, where there is one"
    )
    budget_evolution: Decimal | None = Field(
        None, ge=0, le=10**7, description="US dollars of model requests for one evolution; empty: no bound"
    )
    budget_lineage: Decimal | None = Field(
        None, ge=0, le=10**7, description="the same for all evolutions of a lineage"
    )
    budget_day: Decimal | None = Field(None, ge=0, le=10**7, description="the same for all requests of a day")

    @field_validator("allowed_hosts", "csrf_trusted_origins", mode="before")
    @classmethod
    def _comma_list(cls, value: object) -> object:
        return (
            [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value
        )

    @model_validator(mode="after")
    def _beats_within_lease(self) -> Config:
        if self.lease_beat_seconds * 2 > self.lease_seconds:
            raise ValueError(
                "ENVEVO_LEASE_BEAT_SECONDS: it must be at most half of ENVEVO_LEASE_SECONDS, "
                "or live workers lose work"
            )
        return self

    @model_validator(mode="after")
    def _passwords_have_an_address(self) -> Config:
        for name in ("database", "redis"):
            address, password = getattr(self, f"{name}_url"), getattr(self, f"{name}_password")
            if password and (not urlsplit(address).hostname or urlsplit(address).password):
                raise ValueError(
                    f"ENVEVO_{name.upper()}_PASSWORD: it is for an ENVEVO_{name.upper()}_URL with a host and "
                    "without a password"
                )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, ValuesInFiles(settings_cls), env_settings

    def instance_name(self) -> str:
        return self.instance or hashlib.sha256(str(self.var).encode()).hexdigest()[:8]

    def broker(self) -> str:
        return _with_password(self.redis_url, self.redis_password) or f"redis+socket://{self.broker_socket()}"

    def broker_socket(self) -> Path:
        """Where the embedded Redis listens. A socket's path is short: a deep var folder gets another."""
        beside = self.var / "redis" / "redis.sock"
        if len(str(beside)) <= LONGEST_SOCKET_PATH:
            return beside
        return Path(tempfile.gettempdir()) / f"envevo-{self.instance_name()}" / "redis.sock"

    def database(self) -> str:
        address = _with_password(self.database_url, self.database_password)
        return address or f"sqlite:///{self.var}/envevo.sqlite3"

    def book(self) -> Book:
        """The models and teams that may be asked, with their keys. Raises `ModelsError`, `UnusableFile`."""
        place = self.models or BASE / "models.toml"
        if self.models is None and not place.exists():
            return book_of("", value_of)
        try:
            text = place.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise ModelsError(f"{place} cannot be read ({problem})") from problem
        return book_of(text, value_of, where=str(place))

    def signing_key(self) -> str:
        """The secret key; made on first use and readable by its owner alone."""
        if self.secret_key:
            return self.secret_key
        kept = self.var / "secret_key"
        self.var.mkdir(parents=True, exist_ok=True)
        if not kept.exists():
            handle, unfinished = tempfile.mkstemp(dir=self.var)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(50))
            with suppress(FileExistsError):  # a process that starts beside this one was faster
                os.link(unfinished, kept)
            os.unlink(unfinished)
        return kept.read_text()


def _with_password(address: str, password: str) -> str:
    if not password:
        return address
    parts = urlsplit(address)
    user, _, where = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{where}").geturl()


def load() -> Config:
    """The configuration of the environment. A wrong value ends the process with a line for each variable."""
    try:
        return Config()
    except UnusableFile as problem:
        lines = [str(problem)]
    except ValidationError as problem:
        lines = [_sentence(error) for error in problem.errors()]
    sys.exit(_refusal(lines))


def load_book(config: Config) -> Book:
    """The models of the configuration. A wrong file ends the process with a line for each fault."""
    try:
        return config.book()
    except (ModelsError, UnusableFile) as problem:
        sys.exit(_refusal(str(problem).splitlines()))


def _refusal(lines: list[str]) -> str:
    return "envevo does not start, its settings are wrong:\n  " + "\n  ".join(lines)


def _sentence(error: ErrorDetails) -> str:
    """The variable and what is wrong with it. What concerns two of them says itself which."""
    said = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    if not error["loc"]:
        return said
    field = str(error["loc"][0]).upper().removeprefix(PREFIX)
    return f"{PREFIX}{field}: {said}"


CONFIG = load()
