"""Where a grader could read it differently, our verdict on a small task is Harbor's."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from sandboxes.backends import open_backend
from sandboxes.base import Limits
from sandboxes.intake import read_folder
from sandboxes.trial import oracle, run_trial
from tests import harbor

pytestmark = [pytest.mark.harbor, pytest.mark.docker]

REWARD = "/logs/verifier/reward.txt"
BASE = "FROM debian:bookworm-slim\nWORKDIR /app\n"
VERIFIER = "FROM debian:bookworm-slim\nCOPY . /tests/\n"
SEPARATE = """\
schema_version = "1.4"
artifacts = ["/app/out"]
[agent]
timeout_sec = 60
[environment]
network_mode = "no-network"
[verifier]
timeout_sec = 60
environment_mode = "separate"
"""
SHARED = SEPARATE.replace('environment_mode = "separate"\n', "").replace('artifacts = ["/app/out"]\n', "")


def table(toml: str = SEPARATE, *, solve: str, check: str, **more: str) -> dict[str, str]:
    """A task whose reward is 1 if the shell condition `check` holds for the tests, else 0."""
    test = f"#!/bin/bash\nif {check}; then echo 1; else echo 0; fi > {REWARD}\n"
    files = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": BASE,
        "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
        "tests/test.sh": test,
    }
    if toml != SHARED:
        files["tests/Dockerfile"] = VERIFIER
    return {**files, **more}


# Many questions to one task: each trial of Harbor's takes eight seconds.
HANDED_OVER = """\
mkdir -p out/r2/deep /var/real/in /app/two; echo two > out/r2/f; ln -s r2 out/current
ln -s ../f out/r2/deep/up; ln -s gone out/dangling; ln -s /etc/passwd out/absolute
rm /data/junk; echo x > /var/real/in/f; ln -s /var/real /app/real; ln -s /var/real/in/f /app/file
ln -s real/in /app/nested; mkfifo out/pipe"""
SEEN = """\
[ -z "$(ls -A /data)" ] && [ -d /data ] && [ "$(readlink /app/out/current)" = r2 ] &&
[ "$(cat /app/out/r2/deep/up)" = two ] && [ -L /app/out/dangling ] && [ ! -L /app/out/absolute ] &&
[ ! -e /app/out/pipe ] && [ -d /app/real ] && [ ! -L /app/real ] && [ -f /app/real/in/f ] &&
[ ! -e /app/file ] && [ ! -L /app/file ] && [ -d /logs/artifacts ] && [ ! -e /logs/artifacts/old ]"""
DATA = BASE + "RUN mkdir /data && touch /data/junk\n"

TASKS = {
    "links and an emptied folder": table(
        SEPARATE.replace('"/app/out"', '"/app/out", "/data", "/app/real", "/app/file"'),
        solve=HANDED_OVER,
        check=SEEN,
        **{
            "environment/Dockerfile": DATA,
            "tests/Dockerfile": VERIFIER
            + "RUN mkdir -p /data /logs/artifacts && touch /data/junk /logs/artifacts/old\n",
        },
    ),
    "patterns that leave out": table(
        SEPARATE.replace(
            '"/app/out"', '{source = "/app/out", exclude = ["*.tmp", "in/a", "/b", "c/", "[!k]x"]}'
        ),
        solve="mkdir -p out/in/a out/b out/c; touch out/k.tmp out/in/a/f out/b/f out/c/f out/kx out/yx",
        check='[ "$(cd /app/out; find . -type f | sort | xargs)" = "./b/f ./c/f ./kx" ]',
    ),
    "an entrypoint": table(
        solve="for i in $(seq 100); do [ -e /ready ] && break; sleep 0.1; done; cp /ready out",
        check="grep -q started /app/out",
        **{
            "environment/Dockerfile": BASE
            + 'COPY start /start\nRUN chmod 755 /start\nENTRYPOINT ["/start"]\n',
            "environment/start": '#!/bin/sh\necho started > /ready\nexec "$@"\n',
        },
    ),
    "the tests' user in shared mode": table(
        SHARED.replace("[agent]\n", '[agent]\nuser = "nobody"\n'),
        solve="id -un > out",
        check='[ "$(cat /app/out) $(id -un)" = "nobody root" ]',
        **{"environment/Dockerfile": BASE + "RUN chmod 777 /app\n"},
    ),
    "scripts without a first line, and logs": table(
        solve="true",
        check="true",
        **{
            "tests/Dockerfile": VERIFIER + "RUN mkdir -p /logs/verifier && touch /logs/verifier/old\n",
            "solution/solve.sh": "x=(a b); [[ 1 == 1 ]] && echo ${x[1]} > out\n",
            "tests/test.sh": "x=(0 1); [[ $(cat /app/out) == b && ! -e /logs/verifier/old ]]; "
            f"echo ${{x[1 - $?]}} > {REWARD}\n",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TASKS)
def test_our_reward_is_harbors(what: str, tmp_path: Path) -> None:
    task = tmp_path / "task"
    for path, text in TASKS[what].items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(text)
    instance = f"agree-{secrets.token_hex(4)}"
    host = os.environ.get("DOCKER_HOST", "")
    backend = open_backend("docker", instance=instance, folder=tmp_path, docker_host=host)
    trial = run_trial(backend, read_folder(task).task, oracle, limits=Limits(memory_mb=512), labels={})
    theirs = harbor.reward(task, "oracle", tmp_path / "jobs")
    assert trial.reward is not None, trial.summary
    assert (trial.reward.value, theirs) == (1.0, 1.0), trial
