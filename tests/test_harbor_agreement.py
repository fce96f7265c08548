"""Our verdicts and Harbor's rewards: on seeds, on what grew, and where a grader could read it differently.

Harbor takes seconds for a trial, so all that is asked of one of its agents is asked in one run.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from lineages.growth import loops
from lineages.growth.evolving import RecipeSettings, start
from lineages.library.references import find
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Limits
from sandboxes.intake import find_tasks, read_folder
from sandboxes.trial import Solver, Trial, nop, oracle, run_trial
from tests import harbor
from tests.lineages.commands import shell

pytestmark = [pytest.mark.harbor, pytest.mark.docker]

SEEDS = [folder.name for folder in find_tasks(settings.SEEDS)]
AT_ONCE = 2
LIMIT_SECONDS = 400

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


# One task for what ought to disturb nobody: open pipes, children left behind, input, bytes, dead children.
ROUGH = table(
    SHARED,
    solve="printf ready > out; for i in $(seq 50); do ( sleep 0.05 & ); done; sleep 600 &",
    check='[ "$(cat out)" = ready ]',
    **{
        "tests/test.sh": f"""\
#!/bin/bash
printf '\\xff\\xfe nul:\\x00 \\033[2J <script>alert(1)</script>\\n'
head -c 300000 /dev/zero | tr '\\0' A; echo
if read -r answer; then exit 1; fi
( trap "" TERM HUP INT; while :; do sleep 1; done ) &
[ "$(cat /app/out)" = ready ] && echo 1 > {REWARD} || echo 0 > {REWARD}
"""
    },
)
NEVER_ENDS = table(
    SHARED.replace("[verifier]\ntimeout_sec = 60", "[verifier]\ntimeout_sec = 2"),
    solve="true",
    check="true",
    **{"tests/test.sh": f"#!/bin/bash\necho 1 > {REWARD}\ntrap '' TERM\nwhile :; do sleep 1; done\n"},
)

SAME: dict[str, tuple[dict[str, str], float | str]] = {
    **{name: (files, 1.0) for name, files in TASKS.items()},
    "rough": (ROUGH, 1.0),
    "tests that never pass": (table(SHARED, solve="echo x > out", check="false"), 0.0),
    "passes the second time in one container": (
        table(SHARED, solve="true", check="[ -e /app/seen ] || ! touch /app/seen"),
        0.0,
    ),
    "tests that never end": (NEVER_ENDS, "VerifierTimeoutError"),
}
"""The reward of the reference solution by both, or Harbor's exception where both give none."""

DIFFERENT: dict[str, tuple[dict[str, str], float | str, float | None]] = {
    "tests that look for the solution": (
        table(SHARED, solve="true", check="[ -e /solution/solve.sh ]"),
        1.0,
        0.0,
    ),
    "a folder of logs that became a link": (
        table(SHARED, solve="rm -rf /logs/verifier; ln -s /etc /logs/verifier", check="false"),
        "DownloadVerifierDirError",
        0.0,
    ),
    "both reward files": (
        table(
            SHARED,
            solve="true",
            check="false",
            **{
                "tests/test.sh": f"#!/bin/bash\necho 0 > {REWARD}\n"
                "echo '{\"reward\": 1}' > /logs/verifier/reward.json\n"
            },
        ),
        1.0,
        None,
    ),
    "a reward that is written late": (
        table(
            SHARED,
            solve="( trap '' HUP TERM; exec >/dev/null 2>&1 </dev/null; while :; do echo 1 > "
            f"{REWARD}; sleep 0.01; done ) &",
            check="sleep 1; false",
            **{"tests/test.sh": f"#!/bin/bash\necho 0 > {REWARD}\nsleep 1\n"},
        ),
        1.0,
        0.0,
    ),
    "a tool that the solver put in front": (
        table(
            SHARED,
            solve="printf '#!/bin/bash\\necho ready\\n' > /usr/local/bin/cat; chmod +x /usr/local/bin/cat",
            check='[ "$(cat /app/nothing)" = ready ]',
        ),
        1.0,
        0.0,
    ),
}
"""What the reference solution gets from Harbor, and from us: the reasons are in docs/harbor.md."""

ODD = {
    **{what: files for what, (files, _) in SAME.items()},
    **{what: row[0] for what, row in DIFFERENT.items()},
}


def written(files: Mapping[str, str], task: Path) -> Path:
    for path, text in files.items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(text)
    return task


def folder_name(what: str) -> str:
    return what.replace(" ", "-").replace(",", "")


def our_backend(folder: Path) -> Backend:
    host = os.environ.get("DOCKER_HOST", "")
    instance = f"agree-{secrets.token_hex(4)}"
    return open_backend("docker", instance=instance, folder=folder, docker_host=host)


def our_trials(folder: Path, scratch: Path, solver: Solver) -> dict[str, Trial]:
    """Our own trial of each task in the folder, by name."""
    backend = our_backend(scratch)

    def tried(task: Path) -> Trial:
        return run_trial(backend, read_folder(task).task, solver, limits=Limits(memory_mb=512), labels={})

    found = sorted(folder.iterdir())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip((each.name for each in found), pool.map(tried, found), strict=True))


def value(trial: Trial) -> float | None:
    return trial.reward.value if trial.reward else None


def grown(folder: Path, seeds: list[str], generations: int, profile: str) -> Path:
    """The accepted generations of these seeds, exported."""
    for seed in seeds:
        call_command("import_tasks", settings.SEEDS / seed)
        recipe = RecipeSettings(profile=profile, seed=4)
        loops.drive(start(find(f"{seed}/g0"), recipe, generations=generations), tell=lambda _: None)
        for generation in range(1, generations + 1):
            reference = f"{seed}/g{generation}"
            call_command("export", reference, "--out", folder / reference.replace("/", "-"))
    return folder


def verdicts(folder: Path) -> dict[str, tuple[str, float, float]]:
    """Of our `verify` in Docker, by the task: the verdict, and the rewards of the oracle and of nothing."""
    command = ("verify", folder, "--profile", "fast", "--json")
    said = shell(*command, limit=LIMIT_SECONDS, ENVEVO_SANDBOX="docker")
    assert said.out, said.err
    told = {}
    for each in said.json["tasks"]:
        rewards = {row["gate"]: row["reward"] for row in each["gates"]}
        told[Path(each["path"]).name] = (each["verdict"], rewards["oracle"], rewards["invalid_test"])
    return told


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(900)
def test_harbor_gives_what_we_give_on_lineages_and_on_odd_tasks(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    for what, files in ODD.items():
        written(files, odd / folder_name(what))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # Harbor mostly waits, so what needs no lineage is asked while one grows.
        theirs = pool.submit(harbor.rewards, odd, "oracle", tmp_path / "odd-oracle", limit=LIMIT_SECONDS)
        ours = pool.submit(our_trials, odd, tmp_path / "odd-ours", oracle)
        lineages = grown(tmp_path / "lineages", ["log-forensics", "data-wrangling"], 2, "fast")
        untouched = pool.submit(harbor.rewards, lineages, "nop", tmp_path / "nop", limit=LIMIT_SECONDS)
        solved = pool.submit(harbor.rewards, lineages, "oracle", tmp_path / "oracle", limit=LIMIT_SECONDS)
        verified = verdicts(lineages)

    generations = {each.name for each in lineages.iterdir()}
    assert len(generations) == 4
    assert solved.result() == dict.fromkeys(generations, 1.0)
    assert untouched.result() == dict.fromkeys(generations, 0.0)
    assert verified == dict.fromkeys(generations, ("accept", 1.0, 0.0))
    assert harbor.lint(*lineages.iterdir()) == []
    assert_as_expected(theirs.result(), ours.result())


def assert_as_expected(theirs: Mapping[str, float | str], ours: Mapping[str, Trial]) -> None:
    """On each odd task Harbor's answer and ours are the ones in `SAME` and `DIFFERENT`."""
    expected: dict[str, tuple[float | str, float | None]] = {}
    for what, (_, reward) in SAME.items():
        expected[what] = (reward, reward if isinstance(reward, float) else None)
    expected |= {what: (harbors, own) for what, (_, harbors, own) in DIFFERENT.items()}
    for what, rewards in expected.items():
        name = folder_name(what)
        assert (theirs[name], value(ours[name])) == rewards, (what, ours[name])


def test_what_passes_untouched_passes_untouched_in_harbor(tmp_path: Path) -> None:
    task = written(table(SHARED, solve="true", check="true"), tmp_path / "tasks" / "task")

    (ours,) = our_trials(task.parent, tmp_path, nop).values()

    assert (value(ours), harbor.reward(task, "nop", tmp_path / "jobs")) == (1.0, 1.0)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(7200)
def test_harbor_solves_every_generation_of_two_whole_lineages_and_every_seed(tmp_path: Path) -> None:
    lineages = grown(tmp_path / "lineages", ["text-recovery", "service-debugging"], 15, "standard")
    for seed in SEEDS:
        shutil.copytree(settings.SEEDS / seed, lineages / seed)

    solved = harbor.rewards(lineages, "oracle", tmp_path / "oracle", limit=3000)
    untouched = harbor.rewards(lineages, "nop", tmp_path / "nop", limit=3000)

    assert (set(solved.values()), set(untouched.values())) == ({1.0}, {0.0})
    assert len(solved) == len(untouched) == 2 * 15 + len(SEEDS)
    assert set(verdicts(lineages).values()) == {("accept", 1.0, 0.0)}
    assert harbor.lint(*lineages.iterdir()) == []
