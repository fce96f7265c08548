"""Our `verify` against the same two trials issued as plain `docker` commands: a ratio of wall times.

    python bench/verify_overhead.py [--task seeds/log-forensics] [--runs 3]

Both have the images built already and run the oracle and the empty solution side by side: the containers
with the same limits, the solution, the artifacts over to a second container, the tests, the reward. Verify
also reads and checks the task, runs the other gates of the profile, judges by rubric and stores all
evidence. Its time is told twice: as a command, and without what the command needs to start. The goal is at
most 1.15 of the plain commands.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANAGE = [sys.executable, str(ROOT / "manage.py")]
SAFE = (
    "--network=none --cap-drop=ALL --cap-add=CHOWN --cap-add=DAC_OVERRIDE --cap-add=FOWNER --cap-add=SETUID "
    "--cap-add=SETGID --cap-add=KILL --security-opt=no-new-privileges --init --pids-limit=512"
).split()


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"docker {' '.join(words[:3])} …: {done.stderr.strip()}")
    return done.stdout


class Plain:
    """The two trials of a task as somebody would write them in a shell script."""

    def __init__(self, task: Path) -> None:
        self.task = task
        self.config = tomllib.loads((task / "task.toml").read_text())
        self.images = {each: f"envevo-bench/{each}" for each in ("environment", "tests")}
        for folder, tag in self.images.items():
            docker("build", "--quiet", "--tag", tag, str(task / folder))

    def run(self) -> None:
        with ThreadPoolExecutor(max_workers=2) as pool:
            rewards = list(pool.map(self.trial, (True, False)))
        if [float(each) for each in rewards] != [1.0, 0.0]:
            sys.exit(f"the plain commands got the rewards {rewards}, not 1 and 0")

    def trial(self, solved: bool) -> str:
        solver, verifier = (f"envevo-bench-{uuid.uuid4().hex}" for _ in range(2))
        try:
            self.start(solver, self.images["environment"])
            docker("exec", solver, "mkdir", "-p", "/logs/agent", "/logs/verifier", "/logs/artifacts")
            if solved:
                docker("cp", f"{self.task}/solution", f"{solver}:/solution")
                docker("exec", solver, "bash", "/solution/solve.sh")
            docker("kill", solver)
            self.start(verifier, self.images["tests"])
            docker("exec", verifier, "mkdir", "-p", "/logs/verifier", "/app/out")
            with tempfile.TemporaryDirectory() as folder:
                if solved:
                    for artifact in self.config["artifacts"]:
                        docker("cp", f"{solver}:{artifact}", f"{folder}/one")
                        docker("cp", f"{folder}/one", f"{verifier}:{artifact}")
            docker("exec", verifier, "bash", "/tests/test.sh")
            return docker("exec", verifier, "cat", "/logs/verifier/reward.txt")
        finally:
            docker("rm", "--force", "--volumes", solver, verifier)

    def start(self, name: str, image: str) -> None:
        asked = self.config["environment"]
        limits = [f"--memory={asked['memory_mb']}m", f"--cpus={asked['cpus']}"]
        docker("run", "--detach", "--name", name, *SAFE, *limits, image, "sleep", "infinity")


def took(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def manage(environment: dict[str, str], *words: str) -> None:
    subprocess.run([*MANAGE, *words], env=environment, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--task", type=Path, default=ROOT / "seeds" / "log-forensics")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as var:
        own = {"ENVEVO_VAR": var, "ENVEVO_DATABASE_URL": "", "ENVEVO_SANDBOX": "docker", "ENVEVO_BLOBS": ""}
        environment = {**os.environ, **own}
        plain = Plain(chosen.task)
        manage(environment, "migrate", "-v0")
        manage(environment, "verify", str(chosen.task))
        ours, theirs, starts = [], [], []
        for _ in range(chosen.runs):  # in turn, so that a busy moment falls on both
            theirs.append(took(plain.run))
            ours.append(took(lambda: manage(environment, "verify", str(chosen.task))))
            starts.append(took(lambda: manage(environment, "campaign", "list")))
    a, b, start = (statistics.median(each) for each in (ours, theirs, starts))
    print(f"verify {a:.2f} s, plain docker commands {b:.2f} s, start of a command {start:.2f} s")
    print(f"ratio {a / b:.2f}; without the start {(a - start) / b:.2f} (goal: at most 1.15)")


if __name__ == "__main__":
    main()
