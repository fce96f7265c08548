"""Our trials against Harbor's on the same ten tasks, `oracle` and no-op each, in shared and separate mode.

    python bench/against_harbor.py [--tasks 10] [--as-shipped 2]

The tasks are the bundled seeds, then small generated ones. Each mode has four rows: Harbor with its wait for
a container's stop taken away (scripts/harbor), and as it comes, on the first tasks alone and scaled to all,
since it is slow; ours as the public function `run_trial`, the same two trials a task; and ours as a user has
it, `verify --profile fast`, which judges by more gates, makes one more trial a task and stores the evidence.
Everything runs two at a time, with all layers in the engine's cache. Who gets another reward than 1 and 0
ends the measurement. Goals: our two trials take at most 0.35 of Harbor's in shared mode, and 0.15 in
separate mode.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomlkit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sandboxes.backends import open_backend  # noqa: E402
from sandboxes.base import Backend, Limits  # noqa: E402
from sandboxes.intake import find_tasks, read_folder  # noqa: E402
from sandboxes.task import Task  # noqa: E402
from sandboxes.trial import Solver, nop, oracle, run_trial  # noqa: E402

HARBOR = ROOT / "scripts" / "harbor"
AT_ONCE = 2
GOALS = {"shared": 0.35, "separate": 0.15}
RIGHT = {"oracle": 1.0, "nop": 0.0}
STOCK = ("--env", "docker")
"""Said aloud, it keeps scripts/harbor from choosing its own environment, which has no wait."""

SMALL = {
    "task.toml": """\
schema_version = "1.4"
artifacts = ["/app/out/sum.txt"]

[agent]
timeout_sec = 60

[verifier]
environment_mode = "separate"
timeout_sec = 60

[environment]
cpus = 1
memory_mb = 512
""",
    "instruction.md": "Write the sum of the numbers in /app/numbers.txt to /app/out/sum.txt.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY numbers.txt /app/\n",
    "solution/solve.sh": """\
#!/bin/bash
mkdir -p /app/out
awk '{ sum += $1 } END { print sum }' /app/numbers.txt > /app/out/sum.txt
""",
    "tests/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /tests/\n",
}


def small(folder: Path, number: int) -> Path:
    """A generated task: add up forty numbers."""
    numbers = [(number + 3) * each % 97 for each in range(40)]
    test = (
        f'#!/bin/bash\nif [ "$(cat /app/out/sum.txt)" = {sum(numbers)} ]; then r=1; else r=0; fi\n'
        "echo $r > /logs/verifier/reward.txt\n"
    )
    texts = {**SMALL, "environment/numbers.txt": "\n".join(map(str, numbers)) + "\n", "tests/test.sh": test}
    for path, text in texts.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755 if path.endswith(".sh") else 0o644)
    return folder


def tasks(folder: Path, count: int) -> list[Path]:
    """The bundled seeds and as many small tasks as are missing, all in separate mode."""
    seeds = find_tasks(ROOT / "seeds")[:count]
    copied = [Path(shutil.copytree(seed, folder / seed.name)) for seed in seeds]
    return copied + [small(folder / f"small-{number}", number) for number in range(count - len(seeds))]


def shared(separate: list[Path], folder: Path) -> list[Path]:
    """The same tasks, graded where the solver worked, as most public ones are."""
    made = []
    for task in separate:
        copy = Path(shutil.copytree(task, folder / task.name))
        (copy / "tests" / "Dockerfile").unlink()
        config = copy / "task.toml"
        read = tomlkit.parse(config.read_text())
        read.pop("artifacts")
        read["verifier"].pop("environment_mode")
        config.write_text(tomlkit.dumps(read))
        made.append(copy)
    return made


def took(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def warm(folders: list[Path]) -> None:
    """Every layer into the engine's cache, so that nobody pays for another's build."""
    for task in folders:
        for context in (task / "environment", task / "tests"):
            if (context / "Dockerfile").exists():
                subprocess.run(["docker", "build", "--quiet", str(context)], check=True, capture_output=True)


def harbor(tasks: Path, *more: str) -> None:
    """Both of Harbor's agents over a folder of tasks, a run each."""
    for agent in RIGHT:
        with tempfile.TemporaryDirectory() as jobs:
            words = ["run", "-p", str(tasks), "-a", agent, "-o", jobs, "-n", str(AT_ONCE), "-q", *more]
            done = subprocess.run([str(HARBOR), *words], capture_output=True, text=True, check=False)
            results = [json.loads(each.read_text()) for each in Path(jobs).glob("*/*__*/result.json")]
        if len(results) != len(list(tasks.iterdir())):
            sys.exit(f"Harbor left tasks out: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        for result in results:
            check(result["task_name"], agent, harbors_reward(result))


def harbors_reward(result: Mapping[str, object]) -> object:
    verified = result["verifier_result"]
    return verified["rewards"]["reward"] if isinstance(verified, dict) else result["exception_info"]


def ours(tasks: list[Path]) -> None:
    """The same two trials a task, by the public function."""
    read = [(path.name, read_folder(path).task) for path in tasks]
    with tempfile.TemporaryDirectory() as folder:
        backend = open_backend(
            "docker",
            instance=f"bench-{secrets.token_hex(4)}",
            folder=Path(folder),
            docker_host=os.environ.get("DOCKER_HOST", ""),
        )
        solvers: dict[str, Solver] = {"oracle": oracle, "nop": nop}
        trials = [(backend, name, task, agent, solvers[agent]) for agent in RIGHT for name, task in read]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(trial, trials))


def trial(what: tuple[Backend, str, Task, str, Solver]) -> None:
    backend, name, task, agent, solver = what
    done = run_trial(backend, task, solver, limits=Limits(memory_mb=2048), labels={})
    check(name, agent, done.reward.value if done.reward else done.summary)


def check(task: str, agent: str, reward: object) -> None:
    if reward != RIGHT[agent]:
        sys.exit(f"{task}: {agent} got {reward}, not {RIGHT[agent]}; no figure is worth anything")


def verify(tasks: Path) -> float:
    """The seconds of the command, as a user has it, in an installation of its own."""
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as var:
        own = {"ENVEVO_VAR": var, "ENVEVO_DATABASE_URL": "", "ENVEVO_SANDBOX": "docker", "ENVEVO_BLOBS": ""}
        environment = {**os.environ, **own}
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True)
        words = ["verify", str(tasks), "--profile", "fast", "--jobs", str(AT_ONCE), "--json"]
        started = time.monotonic()
        done = subprocess.run([*manage, *words], env=environment, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
    if done.returncode:
        sys.exit(f"verify ended with {done.returncode}: {done.stderr[-2000:]}")
    return seconds


def measure(mode: str, folders: list[Path], as_shipped: int) -> None:
    count = len(folders)
    warm(folders)
    fast = took(lambda: harbor(folders[0].parent))
    mine = took(lambda: ours(folders))
    command = verify(folders[0].parent)
    with tempfile.TemporaryDirectory() as few:
        for folder in folders[:as_shipped]:
            shutil.copytree(folder, Path(few) / folder.name)
        shipped = took(lambda: harbor(Path(few), *STOCK)) / as_shipped * count
    print(f"{mode} mode, {count} tasks, oracle and no-op each, {AT_ONCE} at a time:")
    print(f"  Harbor without its stop wait     {fast:7.1f} s")
    print(f"  Harbor as shipped                {shipped:7.1f} s (from {as_shipped} of the tasks)")
    for name, seconds in (("ours, the same trials", mine), ("ours, verify --profile fast", command)):
        print(
            f"  {name:32} {seconds:7.1f} s: {seconds / fast:.2f} of the former, "
            f"{seconds / shipped:.2f} of Harbor as shipped (goal {GOALS[mode]})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--as-shipped", type=int, default=2, help="how many of them for Harbor as it comes")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as folder:
        separate = tasks(Path(folder) / "separate", chosen.tasks)
        (Path(folder) / "shared").mkdir()
        measure("shared", shared(separate, Path(folder) / "shared"), chosen.as_shipped)
        measure("separate", separate, chosen.as_shipped)


if __name__ == "__main__":
    main()
