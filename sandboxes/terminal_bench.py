"""An old Terminal-Bench task (`task.yaml`), mapped to the format of today.

The mapping follows what that format's harness does: one container called `client`, tests copied to /tests,
`run-tests.sh` run there as root, and the verdict read from pytest's short summary, never from the exit
status. What has no counterpart is refused in words that name it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from sandboxes.compose_file import Service, only_service
from sandboxes.config import decode
from sandboxes.dockerfile import Instruction, instructions
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, TaskFile
from sandboxes.plain_yaml import read, read_table
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, SOLVE, TEST

OLD_CONFIG = "task.yaml"
COMPOSE = "docker-compose.yaml"
RUN_TESTS = "run-tests.sh"
SOLUTION = "solution.sh"
TYPED_SOLUTION = "solution.yaml"
CLIENT = "client"

AGENT_SECONDS, TEST_SECONDS = 360.0, 60.0
"""That harness's own limits where task.yaml says none."""

_IN_CONTAINER = {
    "T_BENCH_TEST_DIR": "/tests",
    "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
}
_LOG_VOLUMES = (
    "${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}",
    "${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}",
)
_IMAGE_NAME = "${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}"
_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_]\w*))")
_MAPPED = ("instruction", "parser_name", "max_agent_timeout_sec", "max_test_timeout_sec")
_OF_THE_HARNESS = ("run_tests_in_same_shell", "disable_asciinema")
_FETCHES = re.compile(r"\b(curl|wget|apt-get|apt|pip3?|uvx?|npm|git clone)\b")
_KEYS_OF_TMUX = re.compile(r"(?:[CMS]-\S+|Enter|Escape|Tab|Space|BSpace|Up|Down|Left|Right)\s*")

Files = Mapping[str, TaskFile]


def convert(files: Files) -> tuple[dict[str, TaskFile], list[str]]:
    """The task's files in today's format, and a sentence for each thing that was mapped or left out.

    Raises `TaskRefused` for what cannot be mapped; where task.yaml is to blame its words start with
    "Terminal-Bench task.yaml".
    """
    told = _Told(read_table(decode(_data(files, OLD_CONFIG), OLD_CONFIG), OLD_CONFIG))
    told.check()
    service = _service(files)
    environment, dockerfile_notes = _environment(files, service)
    converted = {
        CONFIG: TaskFile.text(_config(told, service)),
        INSTRUCTION: TaskFile.text(told.instruction()),
        SOLVE: _solution(files),
        **environment,
        **_tests(files, told),
    }
    first = "converted from a Terminal-Bench task.yaml: verify before use"
    return converted, [first, *dockerfile_notes, *_notes(files, told, service)]


@dataclass(frozen=True)
class _Told:
    """What task.yaml says. Every method raises `TaskRefused` for a value that cannot be mapped."""

    table: Mapping[str, Any]

    def instruction(self) -> str:
        if "descriptions" in self.table:
            raise refusal("`descriptions` (several instructions) is not supported; keep one `instruction`")
        return self.text("instruction", None)

    def text(self, key: str, default: str | None) -> str:
        value = self.table.get(key, default)
        if not isinstance(value, str):
            raise refusal(f"`{key}` is missing" if value is None else f"`{key}` is no text")
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self.table.get(key, str(default))
        found = _number(value)
        if found is None or found <= 0:
            raise refusal(f"`{key}: {value}` is no number of seconds")
        return float(found)

    def check(self) -> None:
        self.instruction()
        if self.text("parser_name", "pytest") != "pytest":
            raise refusal(f"`parser_name: {self.table['parser_name']}` is not supported, only pytest is")
        if self.text("run_tests_in_same_shell", "false").lower() in ("true", "yes", "on"):
            raise refusal("`run_tests_in_same_shell: true` is not supported; tests have a shell of their own")

    def metadata(self) -> Iterator[tuple[str, Any]]:
        for key, value in self.table.items():
            if key in (*_MAPPED, *_OF_THE_HARNESS):
                continue
            number = _number(value) if key.endswith(("_min", "_sec")) else None
            yield key, value if number is None else number


def refusal(reason: str) -> TaskRefused:
    return TaskRefused(OLD_CONFIG, f"Terminal-Bench task.yaml: {reason}")


def _data(files: Files, path: str) -> bytes:
    if path not in files or files[path].link is not None:
        raise refusal(f"there is no file {path} beside it")
    return files[path].data


def _number(value: object) -> int | float | None:
    try:
        found = float(str(value))
    except ValueError:
        return None
    if not math.isfinite(found):
        return None
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


def _config(told: _Told, service: Service) -> str:
    document = tomlkit.document()
    document["schema_version"] = "1.4"
    document["metadata"] = dict(told.metadata())
    document["agent"] = {"timeout_sec": told.seconds("max_agent_timeout_sec", AGENT_SECONDS)}
    document["verifier"] = {
        "timeout_sec": told.seconds("max_test_timeout_sec", TEST_SECONDS),
        "user": "root",  # as that harness runs the tests, whatever the image's user is
    }
    environment: dict[str, Any] = {}
    if service.workdir:
        environment["workdir"] = _expanded(service.workdir, "working_dir")
    variables = {name: _expanded(value, name) for name, value in (service.env or {}).items()}
    if variables:
        environment["env"] = variables
    if environment:
        document["environment"] = environment
    return tomlkit.dumps(document)


def _expanded(value: str, name: str) -> str:
    """A value of the compose file with the harness's variables filled in, as its harness would."""

    def fill(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if variable not in _IN_CONTAINER:
            raise TaskRefused(COMPOSE, f"compose: ${{{variable}}} in `{name}` is not supported")
        return _IN_CONTAINER[variable]

    if "$$" in value:
        raise TaskRefused(COMPOSE, f"compose: `$$` in `{name}` is not supported")
    return _VARIABLE.sub(fill, value)


def _service(files: Files) -> Service:
    if COMPOSE not in files:
        return Service()
    service = only_service(decode(_data(files, COMPOSE), COMPOSE), COMPOSE, CLIENT)
    for volume in service.volumes:
        if volume not in _LOG_VOLUMES:
            raise TaskRefused(COMPOSE, f"compose: the host mount `{volume}` is not supported")
    if service.image and service.image != _IMAGE_NAME and "$" in service.image:
        raise TaskRefused(COMPOSE, f"compose: the image `{service.image}` is not supported")
    return replace(service, image="" if service.image == _IMAGE_NAME else service.image)


def _environment(files: Files, service: Service) -> tuple[dict[str, TaskFile], list[str]]:
    """The build context: every file below it but the solution, the tests and what the harness reads."""
    root = _inside(service.context, "build.context")
    inside = {
        path.removeprefix(root): file
        for path, file in files.items()
        if path.startswith(root) and not _kept_from_solver(path)
    }
    named = _inside(service.dockerfile, "build.dockerfile").rstrip("/") or "Dockerfile"
    outside = [path for path in files if not path.startswith(root) and not _kept_from_solver(path)]
    notes = [f"left out, outside the build context: {', '.join(sorted(outside)[:20])}"] if outside else []
    if named not in inside and service.image:
        inside[named] = TaskFile.text(f"FROM {service.image}\n")
        notes.append(f"environment/Dockerfile made of the image that {COMPOSE} names")
    if named not in inside:
        raise refusal(f"there is no {root}{named} beside it")
    if named != "Dockerfile":
        inside["Dockerfile"] = inside.pop(named)
        notes.append(f"{named} moved to {DOCKERFILE}")
    _check_copies(decode(inside["Dockerfile"].data, root + named), root + named)
    return {f"environment/{path}": file for path, file in inside.items()}, notes


def _inside(path: str, key: str) -> str:
    """A folder below the task's, with a slash at its end; "" for the task's own."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "$" in path:
        raise TaskRefused(COMPOSE, f"compose: `{key}: {path}` leads out of the task")
    return "".join(f"{part}/" for part in parts)


def _kept_from_solver(path: str) -> bool:
    singles = (OLD_CONFIG, COMPOSE, RUN_TESTS, SOLUTION, TYPED_SOLUTION)
    return path in singles or path.startswith("tests/")


def _check_copies(text: str, path: str) -> None:
    for step in instructions(text):
        for source in _sources(step):
            if _kept_from_solver(source) or source == "tests":
                reason = f"{step.name} {source} brings what the solver must not see into the image"
                raise TaskRefused(path, f"Terminal-Bench: {reason}; take it out", step.line)


def _sources(step: Instruction) -> Iterator[str]:
    if step.name in ("COPY", "ADD") and step.flag("from") is None:
        for word in (step.json or step.value.split())[:-1]:
            yield word.removeprefix("./").strip("/")


def _tests(files: Files, told: _Told) -> dict[str, TaskFile]:
    tests = {path: file for path, file in files.items() if path.startswith("tests/")}
    for path in (TEST, f"tests/{RUN_TESTS}"):
        if path in tests:
            raise refusal(f"{path} stands where the converted task has its own file; rename it")
    script = _data(files, RUN_TESTS)
    return {**tests, f"tests/{RUN_TESTS}": TaskFile(script, EXECUTABLE), TEST: TaskFile(_TEST, EXECUTABLE)}


_TEST = b"""\
#!/bin/bash
# Made on import: runs this task's run-tests.sh and writes the reward that the Terminal-Bench harness would
# give. It reads pytest's short summary (-rA): something passed, and nothing failed.
export TEST_DIR=/tests
output=/logs/verifier/run-tests.txt
bash "$TEST_DIR/run-tests.sh" < /dev/null > "$output" 2>&1
cat "$output"

summary=no passed=no failed=no
colour=$'\\e''\\[[0-9;]*m'
while IFS= read -r line || [ -n "$line" ]; do
  while [[ $line =~ $colour ]]; do line=${line/"${BASH_REMATCH[0]}"/}; done
  case $summary:$line in
    no:*=*"short test summary info"*=*) summary=yes ;;
    yes:PASSED\\ * | yes:XFAIL\\ *) passed=yes ;;
    yes:FAILED\\ * | yes:ERROR\\ * | yes:XPASS\\ *) failed=yes ;;
  esac
done < "$output"

if [ "$passed:$failed" = yes:no ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""


def _solution(files: Files) -> TaskFile:
    if SOLUTION in files:
        return TaskFile(_data(files, SOLUTION), EXECUTABLE)
    if TYPED_SOLUTION not in files:
        raise refusal(f"there is neither {SOLUTION} nor {TYPED_SOLUTION} beside it")
    steps = read(decode(_data(files, TYPED_SOLUTION), TYPED_SOLUTION), TYPED_SOLUTION)
    if isinstance(steps, dict):
        steps = steps.get("commands")
    if not isinstance(steps, list) or not steps:
        raise TaskRefused(TYPED_SOLUTION, "this file holds no list of commands")
    lines = [_typed(step, number) for number, step in enumerate(steps, start=1)]
    return TaskFile(("#!/bin/bash\n" + "\n".join(lines) + "\n").encode(), EXECUTABLE)


def _typed(step: object, number: int) -> str:
    """One command of a solution that was typed, where a script can hold it as it stands."""
    command = step.get("command") if isinstance(step, dict) else None
    if not isinstance(step, dict) or not isinstance(command, str) or not command.strip():
        raise TaskRefused(TYPED_SOLUTION, f"Terminal-Bench {TYPED_SOLUTION}: command {number} is no command")
    waits = str(step.get("block", "false")).lower() == "true"
    entered = str(step.get("append_enter", "true")).lower() == "true"
    if not waits or not entered or _KEYS_OF_TMUX.fullmatch(command):
        reason = f"command {number} is typed into a running program; write the solution as {SOLUTION}"
        raise TaskRefused(TYPED_SOLUTION, f"Terminal-Bench {TYPED_SOLUTION}: {reason}")
    return command


def _notes(files: Files, told: _Told, service: Service) -> Iterator[str]:
    yield f"{OLD_CONFIG}: mapped to {CONFIG} (time limits, tests as root, metadata as text) and {INSTRUCTION}"
    yield (
        f"{RUN_TESTS}: run by a {TEST} made for it; the reward is 1 where pytest's short summary has a "
        "PASSED or XFAIL line and no FAILED, ERROR or XPASS line"
    )
    if COMPOSE in files:
        gone = ", ".join(("the log mounts", *service.dropped))
        yield f"{COMPOSE}: service `{CLIENT}` is the Dockerfile alone now; left out: {gone}"
    if SOLUTION not in files:
        yield f"{TYPED_SOLUTION}: its commands joined into {SOLVE}"
    elif TYPED_SOLUTION in files:
        yield f"{TYPED_SOLUTION}: left out, {SOLUTION} is the reference solution"
    harness = [key for key in _OF_THE_HARNESS if key in told.table]
    if harness:
        yield f"{OLD_CONFIG}: left out, of the old harness alone: {', '.join(harness)}"
    if found := _FETCHES.search(decode(_data(files, RUN_TESTS), RUN_TESTS)):
        yield f"{RUN_TESTS} calls {found[0]}, and the verifier has no network: bake its tools into the image"
