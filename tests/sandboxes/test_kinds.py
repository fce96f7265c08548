"""Kinds of tasks beside the plain one, and each field of task.toml: supported, harmless or refused."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from sandboxes.errors import TaskRefused
from sandboxes.files import TaskFile
from sandboxes.intake import Intake, admit
from sandboxes.trial import environment_context
from tests.sandboxes.tasks import TOML, with_changes

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "import-tasks.md"
COMPOSE = "environment/docker-compose.yaml"

Changes = dict[str, TaskFile | bytes | None]


def taken(changes: Changes) -> Intake:
    return admit(with_changes(changes))


def refused(changes: Changes) -> str:
    with pytest.raises(TaskRefused) as caught:
        taken(changes)
    return str(caught.value)


# A prebuilt image

PREBUILT = b"""\
# made by hand
schema_version = "1.4"

[environment]
cpus = 1  # one is enough
docker_image = "ghcr.io/x/y:1"  # prebuilt
when = 2026-01-02T03:04:05Z

[verifier]
env = { KEY = "${KEY}" }
"""


def test_a_prebuilt_image_becomes_a_dockerfile_and_one_line_of_task_toml_goes() -> None:
    intake = taken({"task.toml": PREBUILT, "environment/Dockerfile": None})

    assert intake.task.text("environment/Dockerfile") == "FROM ghcr.io/x/y:1\n"
    diff = list(difflib.ndiff(PREBUILT.decode().splitlines(), intake.task.text("task.toml").splitlines()))
    assert [line for line in diff if line[0] in "+-"] == ['- docker_image = "ghcr.io/x/y:1"  # prebuilt']
    assert (
        "environment.docker_image moved to environment/Dockerfile (FROM ghcr.io/x/y:1)" in intake.warnings[0]
    )


@pytest.mark.parametrize(
    "toml",
    ['environment.docker_image = "x"\n', 'environment = { cpus = 1, docker_image = "x" }\n'],
    ids=["dotted", "inline"],
)
def test_however_the_key_is_written_it_goes(toml: str) -> None:
    intake = taken({"task.toml": toml.encode(), "environment/Dockerfile": None})

    assert intake.task.config.environment.docker_image is None
    assert environment_context(intake.task)["Dockerfile"].data == b"FROM x\n"


def test_with_a_dockerfile_beside_it_the_image_wins_as_in_harbor_and_that_is_said() -> None:
    intake = taken({"task.toml": PREBUILT})

    assert environment_context(intake.task)["Dockerfile"].data == b"FROM ghcr.io/x/y:1\n"
    assert intake.warnings == (
        "environment.docker_image is what runs are made from; environment/Dockerfile is not built",
    )


@pytest.mark.parametrize("dockerfile", [None, b"FROM debian\n"], ids=["alone", "beside a Dockerfile"])
@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("envevo/base", "may not be built on"),
        ("sha256:" + "0" * 64, "image id"),
        (r"debian\nRUN evil", "no name of an image"),
        ("debian AS x", "no name of an image"),
        ("$EVIL", "no name of an image"),
    ],
)
def test_what_no_dockerfile_may_build_on_no_prebuilt_image_may_be(
    image: str, words: str, dockerfile: bytes | None
) -> None:
    toml = TOML + f'[environment]\ndocker_image = "{image}"\n'.encode()

    assert words in refused({"task.toml": toml, "environment/Dockerfile": dockerfile})


# Compose and multi-step


def test_a_compose_file_that_says_no_more_than_a_dockerfile_is_left_out_with_a_warning() -> None:
    compose = b"services:\n  main:\n    build:\n      context: .\n    command: [sh, -c, sleep infinity]\n"

    intake = taken({COMPOSE: compose})

    assert COMPOSE not in intake.task
    assert intake.warnings == (
        f"left out: {COMPOSE}, whose only service `main` adds nothing to the Dockerfile",
    )


def service(text: str) -> bytes:
    return f"services:\n  main:\n    build: .\n    {text}\n".encode()


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (service("x: y") + b"  db: {image: postgres}\n", "compose: service `db`"),
        (service("volumes: ['./x:/y']"), "compose: the mount `./x:/y` of service `main`"),
        (service("environment: [A=b]"), "compose: `environment` of service `main`"),
        (service("healthcheck: {test: x}"), "compose: `healthcheck` of service `main`"),
        (service("depends_on: [db]"), "compose: `depends_on` of service `main`"),
        (service("privileged: true"), "service `main` asks for privileged mode"),
        (service("network_mode: host"), "service `main` asks for the host's network"),
        (service("volumes: ['/var/run/docker.sock:/x']"), "the engine's socket (docker.sock)"),
        (service("volumes: [{type: bind, source: /run/docker.sock}]"), "the engine's socket (docker.sock)"),
        (service("build2: x"), "compose: `build2`"),
        (b"services: {main: {build: ./other}}\n", "`build` of service `main` is not that"),
        (b"services: {main: {build: {context: ., target: x}}}\n", "compose: `build.target`"),
        (b"services: {main: {image: x}}\n", "compose: `image` of service `main`"),
        (b"services: {}\n", "compose: there is no service"),
        (b"services: [\n", "environment/docker-compose.yaml:2:1: not YAML"),
        (b"include: [x]\nservices: {main: {}}\n", "compose: `include`"),
    ],
)
def test_any_other_compose_file_is_refused_by_what_it_asks_for(compose: bytes, words: str) -> None:
    assert words in refused({COMPOSE: compose})


@pytest.mark.parametrize("path", ["environment/compose.yml", "tests/docker-compose.yaml"])
def test_a_compose_file_of_another_name_or_place_is_refused(path: str) -> None:
    assert f"{path}: compose: a file of this name is not supported" in refused({path: service("")})


def test_a_multi_step_task_is_called_one_though_it_has_no_instruction() -> None:
    steps = TOML + b'\n[[steps]]\nname = "one"\n'

    changes: Changes = {"task.toml": steps, "instruction.md": None, "tests/test.sh": None}

    assert refused(changes).startswith("task.toml:6: this is a multi-step task")


# Each field of task.toml, by table: (the lines, and the word of a refusal or of a warning, or "" for neither)

SUPPORTED, HARMLESS, REFUSED = "supported", "kept, no effect here", "refused"
FIELDS: dict[str, tuple[str, str, str]] = {
    "schema_version": ('schema_version = "1.3"', SUPPORTED, ""),
    "version": ('version = "1.0"', SUPPORTED, ""),
    "source": ('source = "x"', HARMLESS, ""),
    "artifacts": ('artifacts = ["/app/x"]', SUPPORTED, ""),
    "artifacts.service": ('artifacts = [{source = "/x", service = "db"}]', REFUSED, "service `db`"),
    "multi_step_reward_strategy": ('multi_step_reward_strategy = "mean"', HARMLESS, ""),
    "steps": ('[[steps]]\nname = "a"', REFUSED, "multi-step"),
    "task.name": ('[task]\nname = "a/b"', SUPPORTED, ""),
    "task.version": ('[task]\nname = "a/b"\nversion = "1"\nauthors = [{name = "A"}]', HARMLESS, ""),
    "metadata": ('[metadata]\ncategory = "x"\nanything = {a = 1}', SUPPORTED, ""),
    "agent.timeout_sec": ("[agent]\ntimeout_sec = 5", SUPPORTED, ""),
    "agent.user": ('[agent]\nuser = "root"', SUPPORTED, ""),
    "agent.network_mode": ('[agent]\nnetwork_mode = "no-network"', HARMLESS, ""),
    "agent.allowed_hosts": (
        '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a"]',
        REFUSED,
        "agent.network_mode",
    ),
    "verifier.timeout_sec": ("[verifier]\ntimeout_sec = 5", SUPPORTED, ""),
    "verifier.env": ('[verifier]\nenv = {A = "${A}"}', SUPPORTED, ""),
    "verifier.user": ('[verifier]\nuser = "root"', SUPPORTED, ""),
    "verifier.environment_mode": (
        'artifacts = ["/app"]\n[verifier]\nenvironment_mode = "separate"',
        SUPPORTED,
        "",
    ),
    "verifier.environment": ('artifacts = ["/app"]\n[verifier.environment]\ncpus = 1', SUPPORTED, ""),
    "verifier.environment.docker_image": (
        '[verifier.environment]\ndocker_image = "x"',
        REFUSED,
        "without tests/Dockerfile",
    ),
    "verifier.collect": ('[[verifier.collect]]\ncommand = "x"', REFUSED, "collect"),
    "verifier.network_mode": ('[verifier]\nnetwork_mode = "public"', HARMLESS, ""),
    "verifier.allowed_hosts": (
        '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a"]',
        REFUSED,
        "verifier.network_mode",
    ),
    "solution.env": ('[solution]\nenv = {A = "b"}', SUPPORTED, ""),
    "environment.build_timeout_sec": ("[environment]\nbuild_timeout_sec = 5", SUPPORTED, ""),
    "environment.docker_image": (
        '[environment]\ndocker_image = "x"',
        SUPPORTED,
        "docker_image is what runs are made",
    ),
    "environment.os": ('[environment]\nos = "windows"', REFUSED, "only Linux"),
    "environment.cpus": ("[environment]\ncpus = 0.5", SUPPORTED, ""),
    "environment.memory_mb": ("[environment]\nmemory_mb = 512", SUPPORTED, ""),
    "environment.memory": ('[environment]\nmemory = "1G"', SUPPORTED, ""),
    "environment.storage_mb": ("[environment]\nstorage_mb = 512", SUPPORTED, ""),
    "environment.storage": ('[environment]\nstorage = "1G"', SUPPORTED, ""),
    "environment.gpus": ("[environment]\ngpus = 1", REFUSED, "GPU"),
    "environment.gpu_types": ('[environment]\ngpu_types = ["h100"]', REFUSED, "GPU"),
    "environment.tpu": ('[environment]\ntpu = {type = "v4", topology = "2x2"}', REFUSED, "TPU"),
    "environment.env": ('[environment]\nenv = {A = "${A:-b}"}', SUPPORTED, ""),
    "environment.skills_dir": ('[environment]\nskills_dir = "/skills"', HARMLESS, "skills_dir is kept"),
    "environment.workdir": ('[environment]\nworkdir = "/app"', SUPPORTED, ""),
    "environment.network_mode": ('[environment]\nnetwork_mode = "no-network"', SUPPORTED, ""),
    "environment.allowed_hosts": (
        '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a"]',
        REFUSED,
        "environment.network_mode",
    ),
    "environment.allow_internet": ("[environment]\nallow_internet = false", SUPPORTED, ""),
    "environment.healthcheck": ('[environment.healthcheck]\ncommand = "x"', HARMLESS, "healthcheck is kept"),
    "environment.mcp_servers": (
        '[[environment.mcp_servers]]\nname = "x"\nurl = "y"',
        HARMLESS,
        "mcp_servers is kept",
    ),
}


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_of_task_toml_is_treated_as_its_table_says(field: str) -> None:
    toml, treatment, words = FIELDS[field]
    files: Changes = {"task.toml": toml.encode() + b"\n"}

    if treatment == REFUSED:
        assert words in refused(files)
        return
    intake = taken(files)
    assert intake.task.text("task.toml") == toml + "\n", "kept as it is written"
    assert [words in warning for warning in intake.warnings] == [True] * bool(words)


def test_the_table_of_the_docs_is_this_one() -> None:
    section = DOCS.read_text().partition("## Each field of task.toml")[2]
    rows = re.findall(r"^\| `([\w.]+)` \| (\S[^|]*?) \|", section, re.MULTILINE)

    assert dict(rows) == {field: treatment for field, (_, treatment, _) in FIELDS.items()}
