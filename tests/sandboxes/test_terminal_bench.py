"""Old Terminal-Bench tasks: mapped in every part, or refused in words that name what is unsupported."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandboxes.errors import TaskRefused
from sandboxes.intake import Intake, find_tasks, read_folder

INSTRUCTION = (
    "Create /app/answer.txt holding exactly the word ready.\n"
    'Keep: this colon, "these quotes" and the trailing backslash \\'
)
TASK = """\
instruction: |-
  Create /app/answer.txt holding exactly the word ready.
  Keep: this colon, "these quotes" and the trailing backslash \\
author_name: case author
difficulty: easy
category: robustness-case
tags: [no, on, 1.10]
parser_name: pytest
max_agent_timeout_sec: 90
max_test_timeout_sec: 30
run_tests_in_same_shell: false
expert_time_estimate_min: 12
"""
COMPOSE = """\
services:
  client:
    build: { dockerfile: Dockerfile }
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["TEST_DIR=${T_BENCH_TEST_DIR}"]
    volumes: ["${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}"]
"""
FILES = {
    "task.yaml": TASK,
    "docker-compose.yaml": COMPOSE,
    "Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY data /app/data\n",
    "data/words.txt": "one\r\ntwo\r\n",
    "run-tests.sh": "#!/bin/bash\npython3 -m pytest $TEST_DIR/test_outputs.py -rA\n",
    "solution.sh": "#!/bin/bash\nprintf ready > /app/answer.txt\n",
    "tests/test_outputs.py": "def test_it():\n    assert open('/app/answer.txt').read() == 'ready'\n",
}


def put(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    for path, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
    return folder


def converted(folder: Path, changes: Mapping[str, str | None] | None = None) -> Intake:
    return read_folder(put(folder, changes))


def refused(folder: Path, changes: Mapping[str, str | None]) -> str:
    with pytest.raises(TaskRefused) as caught:
        converted(folder, changes)
    return str(caught.value)


def test_every_part_of_an_old_task_has_its_place_in_the_new_one(tmp_path: Path) -> None:
    task = converted(tmp_path).task

    made = ("task.toml", "tests/test.sh")
    assert {path: file.data.decode() for path, file in task.files.items() if path not in made} == {
        "instruction.md": INSTRUCTION,
        "environment/Dockerfile": FILES["Dockerfile"],
        "environment/data/words.txt": "one\r\ntwo\r\n",
        "solution/solve.sh": FILES["solution.sh"],
        "tests/run-tests.sh": FILES["run-tests.sh"],
        "tests/test_outputs.py": FILES["tests/test_outputs.py"],
    }
    assert tomllib.loads(task.text("task.toml")) == {
        "schema_version": "1.4",
        "metadata": {
            "author_name": "case author",
            "difficulty": "easy",
            "category": "robustness-case",
            "tags": ["no", "on", "1.10"],
            "expert_time_estimate_min": 12,
        },
        "agent": {"timeout_sec": 90},
        "verifier": {"timeout_sec": 30, "user": "root"},
        "environment": {"env": {"TEST_DIR": "/tests"}},
    }
    assert all(
        task.files[path].executable for path in ("solution/solve.sh", "tests/test.sh", "tests/run-tests.sh")
    )


def test_the_result_is_warned_about_and_each_mapping_is_told(tmp_path: Path) -> None:
    warnings = converted(tmp_path, {"run-tests.sh": "curl -LsSf x | sh\npytest -rA\n"}).warnings

    assert warnings[0] == "converted from a Terminal-Bench task.yaml: verify before use"
    for words in (
        "task.yaml: mapped to task.toml",
        "run-tests.sh: run by a tests/test.sh made for it",
        "docker-compose.yaml: service `client` is the Dockerfile alone now; left out: the log mounts",
        "left out, of the old harness alone: run_tests_in_same_shell",
        "run-tests.sh calls curl, and the verifier has no network",
    ):
        assert any(words in warning for warning in warnings), words


def test_it_is_found_in_a_folder_of_many_and_its_limits_have_that_harness_defaults(tmp_path: Path) -> None:
    put(tmp_path / "old", {"task.yaml": "instruction: Go.\n", "docker-compose.yaml": None})

    (folder,) = find_tasks(tmp_path)
    config = read_folder(folder).task.config

    assert (config.agent.timeout_sec, config.verifier.timeout_sec) == (360, 60)


@pytest.mark.parametrize(
    ("scalar", "instruction"),
    [
        ("|\n  a\n    b\n", "a\n  b\n"),
        ("|+\n  a\n\n", "a\n\n"),
        (">-\n  one\n  line\n", "one line"),
        ('"caf\\u00e9: \\"x\\""', 'café: "x"'),
        ("1.10", "1.10"),
        ("no", "no"),
    ],
)
def test_the_instruction_is_the_text_that_yaml_says_and_not_a_byte_more(
    tmp_path: Path, scalar: str, instruction: str
) -> None:
    assert (
        converted(tmp_path, {"task.yaml": f"instruction: {scalar}"}).task.text("instruction.md")
        == instruction
    )


def test_crlf_and_a_mark_are_mended_in_scripts_and_never_in_data(tmp_path: Path) -> None:
    crlf = {name: FILES[name].replace("\n", "\r\n") for name in ("run-tests.sh", "solution.sh", "Dockerfile")}

    taken = converted(tmp_path, {**crlf, "task.yaml": "\ufeff" + TASK.replace("\n", "\r\n")})

    assert taken.task.text("instruction.md") == INSTRUCTION
    assert taken.task.text("solution/solve.sh") == FILES["solution.sh"]
    assert taken.task.text("environment/data/words.txt") == "one\r\ntwo\r\n"
    assert any(
        "CRLF line ends changed to LF: environment/Dockerfile" in warning for warning in taken.warnings
    )


def test_a_context_of_its_own_and_another_name_of_the_dockerfile_are_followed(tmp_path: Path) -> None:
    changes = {
        "docker-compose.yaml": "services: {client: {build: {context: client, dockerfile: Dockerfile.agent}}}",
        "client/Dockerfile.agent": "FROM debian:bookworm-slim\n",
        "client/data.txt": "x",
    }

    taken = converted(tmp_path, changes)

    environment = taken.task.under("environment")
    assert set(environment) == {"Dockerfile", "data.txt"}
    assert "left out, outside the build context: Dockerfile, data/words.txt" in taken.warnings


def test_variables_and_the_working_folder_of_the_service_come_along(tmp_path: Path) -> None:
    compose = """\
services:
  client:
    build: .
    working_dir: /srv
    environment: {MODE: "no", LOGS: "${T_BENCH_CONTAINER_LOGS_PATH}/x"}
"""
    config = converted(tmp_path, {"docker-compose.yaml": compose}).task.config

    assert config.environment.workdir == "/srv"
    assert config.environment.env == {"MODE": "no", "LOGS": "/logs/x"}


def test_a_prebuilt_image_becomes_a_dockerfile(tmp_path: Path) -> None:
    compose = "services: {client: {image: 'ghcr.io/x/y:1'}}\n"

    taken = converted(tmp_path, {"docker-compose.yaml": compose, "Dockerfile": None})

    assert taken.task.text("environment/Dockerfile") == "FROM ghcr.io/x/y:1\n"


SUMMARY = "==== short test summary info ====\n"


@pytest.mark.parametrize(
    ("output", "status", "reward"),
    [
        (SUMMARY + "PASSED tests/x.py::a\nPASSED tests/x.py::b\n", 0, "1"),
        (SUMMARY + "PASSED tests/x.py::a\n", 3, "1"),  # the harness never looks at the status
        (SUMMARY + "PASSED tests/x.py::a\nFAILED tests/x.py::b - assert PASSED\n", 0, "0"),
        (SUMMARY + "ERROR tests/x.py\nPASSED tests/x.py::a\n", 0, "0"),
        (SUMMARY + "PASSED tests/x.py::a\nXFAIL tests/x.py::b\nSKIPPED [1] tests/x.py:3: no\n", 0, "1"),
        (SUMMARY + "PASSED tests/x.py::a\nXPASS tests/x.py::b\n", 0, "0"),
        (SUMMARY + "SKIPPED [1] tests/x.py:3: no\n", 0, "0"),
        ("PASSED tests/x.py::a\n", 0, "0"),  # printed, but not in the summary
        ("1 passed in 0.01s\n", 0, "0"),
        ("", 0, "0"),
        (f"\x1b[36m\x1b[1m{SUMMARY[:-1]}\x1b[0m\n\x1b[32mPASSED\x1b[0m x.py::\x1b[1ma\x1b[0m", 0, "1"),
        (SUMMARY.replace("\n", "\r\n") + "PASSED tests/x.py::a\r\n", 0, "1"),
    ],
)  # fmt: skip
def test_the_reward_is_what_that_harness_reads_from_the_summary(
    tmp_path: Path, output: str, status: int, reward: str
) -> None:
    script = converted(tmp_path / "task").task.text("tests/test.sh")
    tests, logs = tmp_path / "tests", tmp_path / "logs"
    tests.mkdir()
    logs.mkdir()
    (tests / "output").write_bytes(output.encode())
    (tests / "run-tests.sh").write_text(f'cat "$TEST_DIR/output"; exit {status}\n')

    here = script.replace("/logs/verifier", str(logs)).replace("/tests", str(tests))
    subprocess.run(["bash", "-c", here], check=True, capture_output=True)

    assert (logs / "reward.txt").read_text() == f"{reward}\n"


def test_commands_that_were_typed_become_a_script_where_each_waits_for_its_end(tmp_path: Path) -> None:
    typed = "- {command: cd /app, block: true}\n- {command: printf ready > answer.txt, block: true}\n"

    taken = converted(tmp_path, {"solution.sh": None, "solution.yaml": typed})

    assert taken.task.text("solution/solve.sh") == "#!/bin/bash\ncd /app\nprintf ready > answer.txt\n"
    assert "solution.yaml: its commands joined into solution/solve.sh" in taken.warnings


def service(text: str) -> dict[str, str]:
    return {"docker-compose.yaml": f"services:\n  client:\n    build: .\n    {text}\n"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task.yaml": "category: x\n"}, "Terminal-Bench task.yaml: `instruction` is missing"),
        ({"task.yaml": TASK + "descriptions: [{key: base}]\n"}, "`descriptions` (several instructions)"),
        ({"task.yaml": TASK.replace("pytest", "swebench")}, "`parser_name: swebench` is not supported"),
        ({"task.yaml": TASK.replace("shell: false", "shell: true")}, "`run_tests_in_same_shell: true`"),
        ({"task.yaml": TASK.replace("_sec: 90", "_sec: soon")}, "`max_agent_timeout_sec: soon` is no number"),
        ({"task.yaml": TASK.replace("_sec: 30", "_sec: -1")}, "`max_test_timeout_sec: -1` is no number"),
        ({"task.yaml": "instruction: 'x\n"}, "task.yaml:2:1: not YAML that is read here"),
        ({"task.yaml": "instruction: &x y\nother: *x\n"}, "task.yaml:2:8: not YAML that is read here: an"),
        ({"task.yaml": "instruction: a\ninstruction: b\n"}, "the key 'instruction' for the second time"),
        ({"task.yaml": "instruction: " + "[" * 1000 + "]" * 1000}, "nesting of more than 50 levels"),
        ({"task.yaml": "- instruction\n"}, "no table of keys"),
        ({"task.yaml": "instruction: x\n? [a]\n: b\n"}, "a key that is no text"),
        ({"task.yaml": "instruction: !!python/object/apply:os.system [id]\n"}, "2002:python/object/apply"),
        ({"task.yaml": "instruction: !!binary aGVsbG8=\n"}, "the type tag:yaml.org,2002:binary"),
        ({"task.yaml": TASK + "<<: {max_agent_timeout_sec: 5}\n"}, "a merge key (<<)"),
        ({"task.yaml": "instruction: a\n---\ninstruction: b\n"}, "task.yaml:2:1: not YAML that is read here"),
        ({"task.yaml": "instruction: [a, b]\n"}, "`instruction` is no text"),
        ({"run-tests.sh": None}, "there is no file run-tests.sh beside it"),
        ({"Dockerfile": None}, "there is no Dockerfile beside it"),
        ({"solution.sh": None}, "there is neither solution.sh nor solution.yaml"),
        ({"tests/test.sh": "x"}, "tests/test.sh stands where the converted task has its own file"),
        ({"solution.sh": None, "solution.yaml": "- command: vim\n"}, "command 1 is typed into"),
        ({"solution.sh": None, "solution.yaml": "- {command: C-c, block: true}"}, "command 1 is typed"),
        ({"solution.sh": None, "solution.yaml": "[]\n"}, "no list of commands"),
        ({"Dockerfile": "FROM debian\nCOPY tests /t\n"}, "Dockerfile:2: Terminal-Bench: COPY tests brings"),
        ({"Dockerfile": "FROM debian\nADD ./solution.sh /s\n"}, "ADD solution.sh brings"),
        ({"docker-compose.yaml": COMPOSE + "  db: {image: postgres}\n"}, "compose: service `db`"),
        ({"docker-compose.yaml": COMPOSE + "networks: {}\n"}, "compose: `networks` is not supported"),
        (service("privileged: true"), "service `client` asks for privileged mode"),
        (service("network_mode: host"), "asks for the host's network"),
        (service("pid: host"), "asks for the host's pid"),
        (service("cap_add: [NET_ADMIN]"), "asks for `cap_add`"),
        (service("devices: [/dev/kvm]"), "asks for `devices`"),
        (service("volumes: ['/run/docker.sock:/x']"), "the engine's socket (docker.sock)"),
        (service("volumes: ['/etc:/host']"), "the host mount `/etc:/host`"),
        (service("ports: ['80:80']"), "compose: `ports` of service `client`"),
        (service("command: nginx"), "it has to sleep"),
        (service("environment: [TOKEN]"), "gives TOKEN no value of its own"),
        (service("environment: ['A=${SECRET}']"), "${SECRET} in `A`"),
        (service("working_dir: $HOME"), "${HOME} in `working_dir`"),
        (service("image: '$REGISTRY/x'"), "the image `$REGISTRY/x`"),
        ({"docker-compose.yaml": "services: {client: {build: {context: ../x}}}\n"}, "leads out of the task"),
        ({"docker-compose.yaml": "services: {client: {build: {args: {A: b}}}}\n"}, "compose: `build.args`"),
        ({"docker-compose.yaml": "services: {main: {build: .}}\n"}, "compose: service `main`"),
        ({"docker-compose.yaml": "services: []\n"}, "there is no service"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused_by_its_name(
    tmp_path: Path, changes: Mapping[str, str | None], words: str
) -> None:
    assert words in refused(tmp_path, changes)


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"run-tests.sh": None})
    (tmp_path / "run-tests.sh").symlink_to("solution.sh")

    with pytest.raises(TaskRefused, match=r"run-tests\.sh"):
        read_folder(tmp_path)


def test_a_task_of_todays_format_with_a_task_yaml_beside_it_is_not_an_old_one(tmp_path: Path) -> None:
    put(tmp_path, {"task.toml": "[task\n"})

    with pytest.raises(TaskRefused, match="not valid TOML"):
        read_folder(tmp_path)


def test_a_conversion_gives_the_same_task_every_time(tmp_path: Path) -> None:
    assert converted(tmp_path / "a").task == converted(tmp_path / "b").task
