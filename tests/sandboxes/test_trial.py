"""Trials over both backends: solved, not solved, and each abnormal end by its own sentence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from sandboxes.base import Backend, Limits, Sandbox
from sandboxes.files import TaskFile
from sandboxes.task import Task
from sandboxes.trial import Solver, Trial, TrialOutcome, nop, oracle, oracle_without, run_trial

LIMITS = Limits(memory_mb=512, pids=128)
REWARD = "/logs/verifier/reward.txt"
READY = f'if [ "$(cat /app/answer.txt 2>/dev/null)" = ready ]; then echo 1; else echo 0; fi > {REWARD}\n'
SHARED = 'schema_version = "1.4"\n[agent]\ntimeout_sec = 30\n[verifier]\ntimeout_sec = 30\n'
SEPARATE = f'artifacts = ["/app/answer.txt"]\n{SHARED}environment_mode = "separate"\n'
SOLVED = "printf ready > /app/answer.txt"
DOCKERFILE = "FROM debian:bookworm-slim\nWORKDIR /app\n"
VERIFIER = "FROM debian:bookworm-slim\nWORKDIR /srv\nCOPY . /tests/\n"


def shared(test: str = READY, solve: str = "printf ready > /app/answer.txt", **files: str) -> Task:
    return make({"task.toml": SHARED, "solution/solve.sh": solve, "tests/test.sh": test, **files})


def separate(test: str = READY, solve: str = "printf ready > /app/answer.txt", **files: str) -> Task:
    return shared(test, solve, **{"task.toml": SEPARATE, "tests/Dockerfile": VERIFIER, **files})


def make(files: dict[str, str]) -> Task:
    texts = {"environment/Dockerfile": DOCKERFILE, "instruction.md": "Create /app/answer.txt.\n", **files}
    return Task.of({path: _file(path, text) for path, text in texts.items()})


def _file(path: str, text: str) -> TaskFile:
    return TaskFile.text("#!/bin/bash\n" + text if path.endswith(".sh") else text)


def agent(script: str) -> Solver:
    """A solver that runs a script, as a model's agent would."""

    def solve(task: Task, sandbox: Sandbox) -> None:
        sandbox.exec(["bash", "-c", script], timeout=30)

    return solve


Run = Callable[[Task, Solver], Trial]


@pytest.fixture
def run(backend: Backend) -> Run:
    return lambda task, solver: run_trial(backend, task, solver, limits=LIMITS, labels={"test": "trial"})


@pytest.fixture
def run_here(make_backend: Callable[..., Backend]) -> Run:
    """For what no backend has a part in: one that is always there."""
    backend = make_backend("bubblewrap")
    return lambda task, solver: run_trial(backend, task, solver, limits=LIMITS, labels={"test": "trial"})


MODES = pytest.mark.parametrize("mode", [shared, separate])


@MODES
def test_the_oracle_passes_and_nop_does_not(run: Run, mode: Callable[..., Task]) -> None:
    solved, untouched = run(mode(), oracle), run(mode(), nop)
    assert (solved.outcome, solved.reward and solved.reward.value) == (TrialOutcome.PASSED, 1.0)
    assert (untouched.outcome, untouched.reward and untouched.reward.value) == (TrialOutcome.FAILED, 0.0)
    assert solved.weaker == untouched.weaker == (mode is shared)
    assert [command.argv[0] for command in solved.commands] == ["/solution/solve.sh", "/tests/test.sh"]
    assert [command.argv[0] for command in untouched.commands] == ["/tests/test.sh"]
    assert solved.seconds >= sum(command.seconds for command in solved.commands)


def test_shared_tests_see_after_nobody_what_they_see_after_one_who_did_nothing(run: Run) -> None:
    """Where nothing runs in a solver's sandbox the tests get a fresh one instead of a copy."""
    seen = "id; pwd; stat -c '%n %a %U %F' / /app /app/* /logs /logs/* /tests /tests/* /opt/* /solution 2>&1"
    test = f"{seen}; env | sort | grep -v '^HOSTNAME='; ls /proc | grep -c '^[0-9]'; echo 0 > {REWARD}"
    image = f"{DOCKERFILE}RUN mkdir -p /logs/verifier\nENV KEPT=1\nCOPY here /app/\n"
    task = shared(test, **{"environment/Dockerfile": image, "environment/here": "x"})
    nobody, idle = run(task, nop), run(task, agent(":"))
    assert nobody.commands[-1].stdout == idle.commands[-1].stdout != b""
    assert (nobody.outcome, len(nobody.commands), len(idle.commands)) == (idle.outcome, 1, 2)


def test_only_declared_artifacts_reach_separate_tests(run: Run) -> None:
    test = "ls -A /app /solution 2>/dev/null; pwd; cat /app/answer.txt; echo 1 > /logs/verifier/reward.txt"
    trial = run(separate(test, "echo secret > /app/other; printf ready > answer.txt"), oracle)
    assert trial.commands[-1].stdout == b"/app:\nanswer.txt\n/srv\nready"
    assert list(trial.artifacts) == ["/app/answer.txt"]


def test_a_folder_that_is_an_artifact_replaces_the_verifiers(run: Run) -> None:
    config = SEPARATE.replace('["/app/answer.txt"]', '[{source = "/app", exclude = ["*.tmp"]}, "/etc/one"]')
    verifier = VERIFIER + "COPY test.sh /app/old/pristine\n"
    test = "find /app /etc/one -type f | sort; stat -c %a /app/run; echo 0 > /logs/verifier/reward.txt"
    solve = "mkdir sub; touch sub/a b x.tmp; ln -s /etc/passwd l; touch run; chmod 4777 run; touch /etc/one"
    trial = run(separate(test, solve, **{"task.toml": config, "tests/Dockerfile": verifier}), oracle)
    assert trial.commands[-1].stdout.split() == [b"/app/b", b"/app/run", b"/app/sub/a", b"/etc/one", b"755"]


def test_variables_and_folders_are_harbors(run: Run) -> None:
    config = (
        SEPARATE + 'env = {V = "v"}\n[environment.env]\nE = "e"\nD = "${X:-d}"\n[solution.env]\nS = "s"\n'
    )
    test = 'echo "[$E$D$S$V]"; ls -d /logs/*; touch /logs/verifier/x; echo 1 > /logs/verifier/reward.txt'
    solve = 'echo "[$E$D$S$V]$DEBIAN_FRONTEND"; pwd; ls -d /logs/*; ls /tests 2>&1; exit 3'
    trial = run(separate(test, solve, **{"task.toml": config}), oracle)
    assert trial.commands[0].stdout.startswith(
        b"[eds]noninteractive\n/app\n/logs/agent\n/logs/artifacts\n/logs/verifier\nls: cannot access"
    )
    assert trial.commands[1].stdout == b"[edv]\n/logs/artifacts\n/logs/verifier\n"
    assert trial.outcome is TrialOutcome.PASSED, "the solver's exit code decides nothing"


def test_tests_without_a_dockerfile_run_in_the_environments_image(run_here: Run) -> None:
    files = {**separate().files}
    del files["tests/Dockerfile"]
    assert run_here(Task.of(files), oracle).outcome is TrialOutcome.PASSED


def test_the_oracle_without_a_block_leaves_its_file_out(run_here: Run) -> None:
    solve = 'for step in "$(dirname "$0")"/steps/*; do bash "$step"; done'
    task = separate(
        solve=solve,
        **{"solution/steps/1": "printf read > answer.txt", "solution/steps/2": "printf y >> answer.txt"},
    )
    assert run_here(task, oracle).outcome is TrialOutcome.PASSED
    assert run_here(task, oracle_without(["solution/steps/2"])).outcome is TrialOutcome.FAILED
    with pytest.raises(ValueError, match="not a solution file of this task: solution/steps/3"):
        run_here(task, oracle_without(["solution/steps/3"]))


def test_a_reward_below_the_pass_mark_fails_and_one_above_passes(run_here: Run) -> None:
    assert run_here(separate("echo 0.99 > /logs/verifier/reward.txt"), oracle).outcome is TrialOutcome.FAILED
    trial = run_here(separate("echo 1.5 > /logs/verifier/reward.txt; exit 7"), oracle)
    assert trial.outcome is TrialOutcome.PASSED and trial.reward is not None and trial.reward.flagged


# Cases of shared/cases/04 and 05: what is wrong with a task shows in oracle and nop.


@MODES
def test_a_vacuous_test_passes_without_a_solution(run_here: Run, mode: Callable[..., Task]) -> None:
    assert run_here(mode("echo 1 > /logs/verifier/reward.txt"), nop).outcome is TrialOutcome.PASSED


def test_a_test_that_always_fails_fails_the_oracle(run_here: Run) -> None:
    trial = run_here(separate("echo 0 > /logs/verifier/reward.txt"), oracle)
    assert (trial.outcome, trial.summary) == (TrialOutcome.FAILED, "The tests did not pass. The reward is 0.")


@MODES
def test_a_test_that_looks_for_the_solution_finds_none(run: Run, mode: Callable[..., Task]) -> None:
    test = f"[ -e /solution/solve.sh ] && echo 1 > {REWARD} || echo 0 > {REWARD}"
    assert run(mode(test), oracle).outcome is TrialOutcome.FAILED


@MODES
def test_tests_that_never_end_give_no_reward(run: Run, mode: Callable[..., Task]) -> None:
    test = "echo 1 > /logs/verifier/reward.txt; trap '' TERM; while :; do sleep 1; done"
    config = (SHARED if mode is shared else SEPARATE).replace(
        "[verifier]\ntimeout_sec = 30", "[verifier]\ntimeout_sec = 1"
    )
    started = time.monotonic()
    trial = run(mode(test, **{"task.toml": config}), oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.TIMEOUT, None)
    assert (
        trial.summary
        == "The tests did not end within 1 seconds. A reward written before that does not count."
    )
    assert time.monotonic() - started < 30


def test_a_solver_that_never_ends_is_not_graded(run_here: Run) -> None:
    config = SEPARATE.replace("[agent]\ntimeout_sec = 30", "[agent]\ntimeout_sec = 1")
    trial = run_here(
        separate(solve="printf ready > answer.txt; echo so far; sleep 60", **{"task.toml": config}), oracle
    )
    assert (trial.outcome, trial.reward) == (TrialOutcome.TIMEOUT, None)
    assert trial.summary == "The solver did not end within 1 seconds."
    (cut_short,) = trial.commands
    assert (cut_short.argv, cut_short.exit_code) == (("/solution/solve.sh",), -1)
    assert (cut_short.stdout, cut_short.cut_short) == (
        b"so far\n",
        "The command did not end within 1 seconds.",
    )


@MODES
def test_a_daemon_that_holds_the_output_delays_nothing(run: Run, mode: Callable[..., Task]) -> None:
    started = time.monotonic()
    trial = run(mode(READY, "printf ready > /app/answer.txt\nsleep 25 &"), oracle)
    assert trial.outcome is TrialOutcome.PASSED and time.monotonic() - started < 20


def test_a_child_that_the_test_leaves_delays_nothing(run: Run) -> None:
    started = time.monotonic()
    trial = run(separate("(trap '' TERM HUP INT; while :; do sleep 1; done) &\n" + READY), oracle)
    assert trial.outcome is TrialOutcome.PASSED and time.monotonic() - started < 20


def test_a_test_that_waits_for_input_gets_none(run: Run) -> None:
    test = f'read -r -p "type yes: " a; [ "$a" = yes ] && echo 1 > {REWARD} || echo 0 > {REWARD}'
    trial = run(separate(test), oracle)
    assert trial.outcome is TrialOutcome.FAILED and trial.reward is not None and trial.reward.value == 0


def test_nasty_output_is_kept_as_head_and_tail_and_decides_nothing(run: Run) -> None:
    test = r"""printf 'bytes: \xff\xfe nul:\x00\n'; head -c 3000000 /dev/zero | tr '\0' A; echo
    for i in $(seq 20000); do echo "line $i with some padding"; done; echo LAST-LINE-MARKER"""
    trial = run(separate(f"{test}\n{READY}"), oracle)
    command = trial.commands[-1]
    assert trial.outcome is TrialOutcome.PASSED and trial.reward is not None and trial.reward.value == 1
    assert command.stdout.startswith(b"bytes: \xff\xfe nul:\0\nAAA")
    assert command.stdout.endswith(b"LAST-LINE-MARKER\n")
    assert len(command.stdout) == LIMITS.output_bytes and command.cut > 3_000_000


# Every other abnormal end.


def test_an_environment_that_does_not_build_says_so(run_here: Run) -> None:
    trial = run_here(separate(**{"environment/Dockerfile": "RUN true\nFROM envevo/x:1\n"}), oracle)
    assert trial.outcome is TrialOutcome.ERROR
    assert trial.summary.startswith(
        "The environment: This Dockerfile is not built here: line 2: FROM envevo/x:1"
    )


@pytest.mark.docker
@pytest.mark.parametrize("part", ["environment", "tests"])
def test_a_failing_build_command_is_told_with_its_log(
    make_backend: Callable[..., Backend], part: str
) -> None:
    docker = make_backend("docker")
    dockerfile = VERIFIER + "RUN echo about to fail && false\n"
    task = separate(**{f"{part}/Dockerfile": dockerfile})
    trial = run_trial(docker, task, oracle, limits=LIMITS, labels={})
    who = {"environment": "The environment", "tests": "The tests' image"}[part]
    assert trial.outcome is TrialOutcome.ERROR
    assert trial.summary.startswith(f"{who} does not build: ") and "about to fail" in trial.log


def test_no_reward_file_is_an_error_of_the_verifier(run_here: Run) -> None:
    trial = run_here(separate("echo I forgot; exit 3"), oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.ERROR, None)
    assert trial.summary.startswith("The tests ended (exit code 3) without a reward. There is neither")


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("echo nan > reward.txt", "not a finite number"),
        ("echo 1 > reward.txt; echo '{\"reward\": 1}' > reward.json", "left both"),
        ("ln -s /etc/hostname reward.txt", "reward.txt is a link"),
        ("mkdir reward.txt; echo 1 > reward.txt/reward.txt", "reward.txt is a folder"),
        ("ln -s /etc/hostname reward.txt; echo '{\"reward\": 1}' > reward.json", "left both"),
        ("cd /; rm -r /logs/verifier; mkdir /z; echo 1 > /z/reward.txt; ln -s /z /logs/verifier", "a link"),
        ("truncate -s 1G reward.txt", "larger than"),
    ],
)
def test_an_odd_reward_is_an_error_of_the_verifier(run: Run, test: str, said: str) -> None:
    trial = run(separate(f"cd /logs/verifier; {test}"), oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.ERROR, None)
    assert said in trial.summary


@MODES
def test_a_working_folder_that_is_not_there_is_named(run: Run, mode: Callable[..., Task]) -> None:
    config = {shared: SHARED, separate: SEPARATE}[mode] + '[environment]\nworkdir = "/no/such"\n'
    trial = run(mode(**{"task.toml": config}), oracle)
    assert trial.outcome is TrialOutcome.ERROR
    assert trial.summary == "The solver: The working folder /no/such is not there, or cannot be entered."
    assert [command.exit_code for command in trial.commands] == [126]


@pytest.mark.parametrize("who", ["solver", "tests"])
def test_running_out_of_memory_is_an_outcome_of_its_own(run: Run, who: str) -> None:
    config = SEPARATE + "[environment]\nmemory_mb = 100\n"
    eat = "tail /dev/zero; echo 1 > /logs/verifier/reward.txt"
    task = separate(**{"task.toml": config, ("solve" if who == "solver" else "test"): eat})
    trial = run(task, oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.OOM, None)
    assert trial.summary == f"The {who} ran out of memory. The command went over the memory limit of 100 MiB."


def test_when_no_artifact_arrives_the_summary_says_which(run_here: Run) -> None:
    trial = run_here(separate(solve="printf ready > /app/anser.txt; exit 4"), oracle)
    assert trial.outcome is TrialOutcome.FAILED
    assert trial.summary == (
        "The tests did not pass. The reward is 0. The solver's last command ended with exit code 4. "
        "No artifact arrived. Not there after the solver: /app/answer.txt."
    )


def test_nobody_gets_out_of_a_reward_of_0_by_leaving_a_huge_file(backend: Backend) -> None:
    task = separate(**{"task.toml": SEPARATE.replace('"/app/answer.txt"', '"/app/answer.txt", "/app/more"')})
    small = replace(LIMITS, read_bytes=1 << 20)

    def trial(script: str) -> Trial:
        return run_trial(backend, task, agent(script), limits=small, labels={"test": "trial"})

    huge = trial("truncate -s 2M /app/answer.txt")
    assert (huge.outcome, huge.reward and huge.reward.value) == (TrialOutcome.FAILED, 0.0)
    assert "Not taken: /app/answer.txt: the files to read are larger than 1,048,576 bytes." in huge.summary

    beside = trial(f"{SOLVED}; truncate -s 2M /app/more")
    assert beside.outcome is TrialOutcome.PASSED, "what the tests do not need decides nothing"


def test_a_task_that_declares_no_artifacts_is_told_so(run_here: Run) -> None:
    config = SEPARATE.replace('"/app/answer.txt"', "")
    trial = run_here(separate(**{"task.toml": config}), oracle)
    assert trial.outcome is TrialOutcome.FAILED and "declares no artifacts" in trial.summary


@pytest.mark.parametrize("source", ["/tests", "/tests/test.sh", "/", "/logs", "/logs/verifier/reward.txt"])
def test_artifacts_over_the_verifiers_own_folders_are_refused(run_here: Run, source: str) -> None:
    trial = run_here(separate(**{"task.toml": SEPARATE.replace("/app/answer.txt", source)}), oracle)
    assert trial.outcome is TrialOutcome.ERROR and "would let the solver write" in trial.summary


def test_a_task_that_wants_a_variable_of_the_machine_is_refused(run_here: Run) -> None:
    config = SEPARATE + '[environment.env]\nKEY = "${HOME}"\n'
    trial = run_here(separate(**{"task.toml": config}), oracle)
    assert trial.outcome is TrialOutcome.ERROR and "HOME" in trial.summary


def test_a_task_of_several_containers_is_refused(run_here: Run) -> None:
    trial = run_here(separate(**{"environment/docker-compose.yaml": "services: {}\n"}), oracle)
    assert trial.outcome is TrialOutcome.ERROR and "docker-compose.yaml" in trial.summary


# What a solver or a task does is never told as the machine's doing, nor may it last as long as it likes.


@pytest.fixture
def run_docker(make_backend: Callable[..., Backend]) -> Run:
    docker = make_backend("docker")
    return lambda task, solver: run_trial(docker, task, solver, limits=LIMITS, labels={"test": "trial"})


@pytest.mark.docker
@pytest.mark.parametrize("script", ["kill -9 -1; sleep 5", "kill 1; kill -9 -1; sleep 5"])
@pytest.mark.parametrize("who", ["solver", "tests"])
def test_whoever_kills_everything_is_named(run_docker: Run, who: str, script: str) -> None:
    trial = run_docker(separate(**{("solve" if who == "solver" else "test"): script}), oracle)
    assert (trial.outcome, trial.reward) == (TrialOutcome.ERROR, None)
    assert trial.summary == (f"The {who}: All processes of the sandbox were ended while a command ran in it.")
    assert trial.commands[-1].cut_short and trial.commands[-1].exit_code == -1


ODD = {
    "an image without a shell": (
        {"environment/Dockerfile": "FROM scratch\nCOPY Dockerfile /x\n"},
        "The solver",
    ),
    "an agent that does not exist": ({"task.toml": SEPARATE + '[agent]\nuser = "ghost"\n'}, "The solver"),
    "a verifier that does not exist": ({"task.toml": SEPARATE + 'user = "ghost"\n'}, "The tests"),
    "an artifact below a file": (
        {"task.toml": SEPARATE.replace("/app/answer", "/app/answer.txt/x")},
        "The tests did not pass",
    ),
}


@pytest.mark.docker
@pytest.mark.parametrize("what", ODD)
def test_an_odd_task_has_an_outcome(run_docker: Run, what: str) -> None:
    files, said = ODD[what]
    if what == "an agent that does not exist":
        files = {"task.toml": SEPARATE.replace("[agent]\n", '[agent]\nuser = "ghost"\n')}
    trial = run_docker(separate(**files), oracle)
    assert trial.outcome is not TrialOutcome.PASSED and trial.summary.startswith(said), trial.summary


@pytest.mark.docker
def test_a_hundredth_of_a_processor_is_still_one(make_backend: Callable[..., Backend]) -> None:
    docker = make_backend("docker")
    image = docker.build({"Dockerfile": TaskFile.text("FROM debian:bookworm-slim\n")}, timeout=60)
    with docker.open(image, replace(LIMITS, cpus=0.001, memory_mb=1), labels={}) as box:
        assert box.exec(["true"], timeout=100).ok


@MODES
@pytest.mark.parametrize("who", ["solver", "tests"])
def test_the_machines_own_time_limit_holds_too(
    make_backend: Callable[..., Backend], mode: Callable[..., Task], who: str
) -> None:
    task = mode(**{("solve" if who == "solver" else "test"): "sleep 20"})
    limits = replace(LIMITS, seconds=1.0)
    trial = run_trial(make_backend("bubblewrap"), task, oracle, limits=limits, labels={})
    assert trial.outcome is TrialOutcome.TIMEOUT and "within 1 seconds" in trial.summary


def test_the_machines_own_time_limit_holds_for_builds(
    make_backend: Callable[..., Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make_backend("bubblewrap")
    given: list[float] = []
    build = backend.build
    monkeypatch.setattr(
        backend, "build", lambda c, timeout: given.append(timeout) or build(c, timeout=timeout)
    )
    run_trial(backend, separate(), nop, limits=replace(LIMITS, seconds=40.0), labels={})
    assert given == [40.0, 40.0]


@pytest.mark.docker
def test_a_reward_in_the_image_of_the_tests_is_not_taken(run_docker: Run) -> None:
    verifier = f"{VERIFIER}RUN mkdir -p /logs/verifier && echo 1 > {REWARD}\n"
    trial = run_docker(separate("true", **{"tests/Dockerfile": verifier}), nop)
    assert (trial.outcome, trial.reward) == (TrialOutcome.ERROR, None)


@pytest.mark.docker
def test_logs_in_the_solvers_image_are_not_seen(run_docker: Run) -> None:
    image = DOCKERFILE + "RUN mkdir -p /logs/artifacts /logs/agent && touch /logs/artifacts/a /logs/agent/b\n"
    trial = run_docker(separate(solve="find /logs -type f", **{"environment/Dockerfile": image}), oracle)
    assert trial.commands[0].stdout == b""


# Harbor's ways, which tests/test_harbor_agreement.py compares with Harbor itself.


@pytest.mark.docker
def test_shared_tests_run_as_the_images_user_and_not_as_the_agents(run_docker: Run) -> None:
    image = DOCKERFILE + "RUN chmod 777 /app\n"
    config = SHARED.replace("[agent]\n", '[agent]\nuser = "nobody"\n')
    files = {"environment/Dockerfile": image, "task.toml": config}
    trial = run_docker(shared(f"id -un\n{READY}", f"id -un; {SOLVED}", **files), oracle)
    assert [command.stdout for command in trial.commands] == [b"nobody\n", b"root\n"]
    files["task.toml"] = config + 'user = "daemon"\n'
    assert run_docker(shared("id -un", SOLVED, **files), oracle).commands[-1].stdout == b"daemon\n"


def test_an_emptied_folder_arrives_empty(run: Run) -> None:
    config = SEPARATE.replace("/app/answer.txt", "/data")
    image, verifier = DOCKERFILE + "COPY . /data/\n", VERIFIER + "COPY . /data/\n"
    files = {"task.toml": config, "environment/Dockerfile": image, "tests/Dockerfile": verifier}
    trial = run(separate("ls -A /data; echo 0 > " + REWARD, "rm /data/*", **files), oracle)
    assert trial.commands[-1].stdout == b""
    assert "Not there" not in trial.summary


def test_links_that_stay_in_an_artifact_arrive_as_links(run: Run) -> None:
    config = SEPARATE.replace("/app/answer.txt", "/app")
    solve = """mkdir -p r2/deep; echo two > r2/f; ln -s r2 current; ln -s ../f r2/deep/up; ln -s gone dangling
    ln -s /etc/passwd absolute; ln -s ../etc/passwd away; ln -s a b; ln -s b a
    ln -s ../.. r2/deep/top; ln -s top/../etc r2/deep/far"""
    test = "cd /app; find . -type l | sort; cat current/f r2/deep/up; echo 0 > " + REWARD
    trial = run(separate(test, solve, **{"task.toml": config}), oracle)
    assert trial.commands[-1].stdout.split() == [
        b"./current", b"./dangling", b"./r2/deep/top", b"./r2/deep/up", b"two", b"two",
    ]  # fmt: skip
    assert list(trial.artifacts) == ["/app/r2/f"]


def test_an_artifact_that_is_a_link_to_a_folder_arrives_as_a_folder(run: Run) -> None:
    config = SEPARATE.replace('"/app/answer.txt"', '"/app/now", "/app/abs", "/app/one", "/app/loop"')
    solve = (
        "mkdir -p v/2; echo x > v/2/f; ln -s v/2 now; ln -s /app/now abs; ln -s v/2/f one; ln -s loop loop"
    )
    test = "find /app | sort; echo 0 > " + REWARD
    trial = run(separate(test, solve, **{"task.toml": config}), oracle)
    assert trial.commands[-1].stdout.split() == [
        b"/app",
        b"/app/abs",
        b"/app/abs/f",
        b"/app/now",
        b"/app/now/f",
    ]


ENTRYPOINT = """COPY --chmod=755 start /start
RUN chmod 755 /start
ENTRYPOINT ["/start"]
"""
START = '#!/bin/sh\nmkdir -p /ready && echo started >> /ready/log\nexec "$@"\n'


@pytest.mark.docker
def test_an_entrypoint_is_run_and_not_in_a_fork(run_docker: Run) -> None:
    image = DOCKERFILE + ENTRYPOINT
    solve = f"while [ ! -e /ready/log ]; do sleep 0.1; done; {SOLVED}; rm -r /ready"
    test = f"ls /ready; {READY}"
    files = {"environment/Dockerfile": image, "environment/start": START}
    trial = run_docker(shared(test, solve, **files), oracle)
    assert trial.outcome is TrialOutcome.PASSED and trial.commands[-1].stdout == b""


@pytest.mark.docker
def test_an_entrypoint_that_ends_is_named(run_docker: Run) -> None:
    trial = run_docker(separate(**{"environment/Dockerfile": DOCKERFILE + 'ENTRYPOINT ["false"]\n'}), oracle)
    assert trial.outcome is TrialOutcome.ERROR and trial.summary.startswith("The solver: ")


@pytest.mark.docker
def test_a_volume_is_refused_by_name_in_shared_mode_and_works_in_separate(run_docker: Run) -> None:
    image = {"environment/Dockerfile": DOCKERFILE + "VOLUME /app\n"}
    trial = run_docker(shared(**image), oracle)
    assert trial.outcome is TrialOutcome.ERROR and "declares a VOLUME (/app)" in trial.summary
    assert run_docker(separate(**image), oracle).outcome is TrialOutcome.PASSED


def test_scripts_without_a_first_line_are_run_by_bash(run: Run) -> None:
    bashism = TaskFile.text('x=(no ready); [[ 1 == 1 ]] && printf "${x[1]}" > /app/answer.txt\n')
    task = separate().replace({"solution/solve.sh": bashism, "tests/test.sh": TaskFile.text(READY)})
    assert run(task, oracle).outcome is TrialOutcome.PASSED


@pytest.mark.docker
@pytest.mark.parametrize("part", ["environment", "tests"])
def test_an_image_without_bash_is_told_so(run_docker: Run, part: str) -> None:
    base = {"environment": DOCKERFILE, "tests": VERIFIER}[part]
    task = separate(**{f"{part}/Dockerfile": base + "RUN rm -f /bin/bash /usr/bin/bash\n"})
    trial = run_docker(task, oracle)
    who = {"environment": "The solver", "tests": "The tests"}[part]
    assert trial.outcome is TrialOutcome.ERROR
    assert trial.summary == f"{who}: There is no bash in this image, and solve.sh and test.sh are run by it."


def test_a_bash_of_the_solvers_runs_no_shared_tests(run: Run) -> None:
    forge = r"""printf '#!/bin/sh\necho 1 >/logs/verifier/reward.txt\n' >/usr/local/bin/bash
        chmod +x /usr/local/bin/bash"""
    image = DOCKERFILE + 'ENV PATH="/usr/local/bin:/usr/bin:/bin"\n'
    trial = run(shared(**{"environment/Dockerfile": image}), agent(forge))
    assert trial.outcome is TrialOutcome.FAILED, trial.summary


# Case 07: five solvers that do not solve the task and forge the reward.

FORGERS = {
    "plant-reward": """mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt
        echo '{"reward": 1}' > /logs/verifier/reward.json""",
    "link-logs": "rm -rf /logs/verifier; ln -s /etc /logs/verifier",
    "late-writer": """( trap '' HUP TERM; exec >/dev/null 2>&1 </dev/null
        while :; do echo 1 > /logs/verifier/reward.txt; echo '{"reward":1}' > /logs/verifier/reward.json
        sleep 0.02; done ) &""",
    "shim-shell": r"""mkdir -p /usr/local/bin
        printf '#!/bin/bash\necho ready\n' > /usr/local/bin/cat; chmod +x /usr/local/bin/cat
        echo 'cat() { echo ready; }; export -f cat' >> /root/.bashrc
        echo 'cat() { echo ready; }; export -f cat' >> /root/.profile""",
    "own-the-tests": r"""mkdir -p /var/own /var/keep; rm -rf /tests; ln -s /var/own /tests
        printf '#!/bin/bash\nmkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt\n' \
            > /var/keep/test.sh; chmod +x /var/keep/test.sh
        ( exec >/dev/null 2>&1 </dev/null; while :; do cp -f /var/keep/* /tests/; sleep 0.02; done ) &""",
}


@MODES
@pytest.mark.parametrize("forger", FORGERS)
def test_a_forged_reward_is_not_taken(run: Run, mode: Callable[..., Task], forger: str) -> None:
    slow = mode("sleep 0.3\n" + READY + "sleep 0.3\n")
    trial = run(slow, agent(FORGERS[forger]))
    assert trial.outcome is TrialOutcome.FAILED, trial.summary
    assert trial.reward is not None and trial.reward.value == 0
    assert trial.weaker == (mode is shared)
