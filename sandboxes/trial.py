"""One trial: a solver works in the task's environment, then the verifier decides, somewhere else.

Separate mode (`verifier.environment_mode = "separate"`): only the declared artifacts leave the
solver's sandbox; the tests run in a fresh sandbox built from `tests/Dockerfile`. Shared mode: the
solver's sandbox is stopped, and the tests run in a fresh one made from its files, with `/tests` and
`/logs/verifier` made new; the result is marked `weaker`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sandboxes.base import Backend, ExecResult, Image, Limits, Sandbox
from sandboxes.config import EnvironmentConfig
from sandboxes.digests import UploadRules
from sandboxes.errors import (
    BuildFailed,
    MachineFault,
    OutOfMemory,
    SandboxDied,
    SandboxError,
    TimedOut,
    Unsupported,
)
from sandboxes.files import TaskFile
from sandboxes.handover import (
    CONVENTION,
    Delivery,
    collect,
    deliver,
    make_folders,
    run_plumbing,
    variables,
)
from sandboxes.recording import Recorded, run_script
from sandboxes.reward import Reward, reward_in
from sandboxes.task import SOLVE, VERIFIER_DOCKERFILE, Task
from sandboxes.unit_results import UnitResult
from sandboxes.variation import PLAIN, Variation

PASS_MARK = 1.0
NOTHING = TaskFile.text("#!/bin/sh\n", executable=True)
SOLVER_SECONDS = 3600.0  # where task.toml has no agent.timeout_sec; Harbor then waits for ever

LOGS = "/logs/verifier"
SOLVER_FOLDERS = ("/logs/agent", LOGS, CONVENTION)
COMPOSE = "environment/docker-compose.yaml"

# Debian's own order has /usr/local first, where a shared-mode solver puts its own `cat`. An image that
# orders its PATH otherwise (python:3.11 does) keeps it, or its interpreter would not be found.
USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEM_FIRST = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"

REMOVE = 'rm -rf -- "$@"'
MAKE_RUNNABLE = "[ ! -e /tests/test.sh ] || chmod +x /tests/test.sh"


class TrialOutcome(StrEnum):
    """What became of a trial. Only `PASSED` and `FAILED` carry a reward that counts."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    OOM = "oom"


@dataclass(frozen=True, slots=True)
class Solved:
    """What a solver left in separate mode: all that its grading depends on. It can be graded again."""

    deliveries: tuple[Delivery, ...]
    commands: tuple[ExecResult, ...] = ()

    @property
    def artifacts(self) -> Mapping[str, TaskFile]:
        """The regular files that left the solver's sandbox, by absolute path."""
        return {
            path: file
            for delivery in self.deliveries
            for path, file in delivery.files.items()
            if file.link is None
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished trial. `reward` is None unless the verifier ran to its end and left a legal one.

    `summary` is a sentence for a person. `commands` are the solver's and then the verifier's, in order;
    `artifacts` the files that left the solver's sandbox; `log` the builder's output where an image did not
    build. `units` are the answers of single tests, empty where the verifier does not tell them apart.
    `solved` is what can be graded again: None in shared mode, and where the solver did not come to an end.
    `graded_again`: this trial was only the grading of an earlier solver's work.
    """

    outcome: TrialOutcome
    reward: Reward | None
    summary: str
    weaker: bool
    commands: tuple[ExecResult, ...]
    artifacts: Mapping[str, TaskFile]
    seconds: float
    log: str = ""
    units: tuple[UnitResult, ...] = ()
    solved: Solved | None = None
    graded_again: bool = False


Solver = Callable[[Task, Sandbox], None]
"""Works in the sandbox; raises `SandboxError` when it cannot go on. Its exit code decides nothing."""


def run_trial(
    backend: Backend,
    task: Task,
    solver: Solver,
    *,
    limits: Limits,
    labels: Mapping[str, str],
    variation: Variation = PLAIN,
) -> Trial:
    """Run one trial in fresh sandboxes.

    The task's memory, cpus and time limits hold; `limits` is the most that this machine gives. Whatever
    the task or its solver does wrong is an outcome. Raises `MachineFault` and `SandboxDied`, which say
    nothing of it.
    """
    run = _Run(backend, task, limits, labels, variation)
    return run.trial(lambda: run.separate(solver) if task.separate else run.shared(solver))


def grade(
    backend: Backend,
    task: Task,
    solved: Solved,
    *,
    limits: Limits,
    labels: Mapping[str, str],
    variation: Variation = PLAIN,
) -> Trial:
    """Only the second half of a trial in separate mode: the task's tests on what a solver left before.

    Raises `ValueError` for a task in shared mode, whose tests need the solver's whole file system, and what
    `run_trial` raises.
    """
    if not task.separate:
        raise ValueError("only a task with a separate verifier can be graded again")
    run = _Run(backend, task, limits, labels, variation)
    return run.trial(lambda: run.again(solved))


def contexts(task: Task) -> dict[str, Mapping[str, TaskFile]]:
    """The images that a trial will ask for, by the folder they are built from. Raises `Unsupported`."""
    environment, verifier = environment_context(task), verifier_context(task)
    return {"environment": environment} | ({} if verifier == environment else {"tests": verifier})


def environment_context(task: Task) -> Mapping[str, TaskFile]:
    """What the solver's image is built from. Raises `Unsupported` for a task of several containers."""
    if COMPOSE in task:
        raise Unsupported(f"{COMPOSE} asks for several containers; only a Dockerfile is supported.")
    return _context(task.under("environment"), task.config.environment.docker_image)


def verifier_context(task: Task) -> Mapping[str, TaskFile]:
    """What the image of the tests is built from: the solver's, where the task brings none for them."""
    if not task.separate or not brings_its_tests(task):
        return environment_context(task)
    return _context(task.under("tests"), _own_image(task))


def brings_its_tests(task: Task) -> bool:
    """As in Harbor: an image of the verifier's own holds /tests itself, and nothing is put there."""
    return bool(_own_image(task)) or VERIFIER_DOCKERFILE in task


def _own_image(task: Task) -> str | None:
    settings = task.config.verifier.environment
    return settings.docker_image if settings else None


def nop(task: Task, sandbox: Sandbox) -> None:
    """The solver that does nothing."""


def oracle(task: Task, sandbox: Sandbox) -> None:
    """The reference solution, run as Harbor runs it."""
    oracle_without(())(task, sandbox)


def oracle_without(blocks: Collection[str]) -> Solver:
    """The reference solution with some of its files emptied, given by their paths in the task (`solution/…`).

    An emptied file is a script that does nothing, so that a solution which lists its steps by name still
    runs. The solver raises `ValueError` for a path that the task does not have.
    """

    def solve(task: Task, sandbox: Sandbox) -> None:
        missing = [path for path in blocks if path not in task or not path.startswith("solution/")]
        if missing:
            raise ValueError(f"not a solution file of this task: {', '.join(missing)}")
        if SOLVE not in task:
            raise SandboxError(f"The task has no {SOLVE}.")
        files = _uploaded(task, "solution") | {path.removeprefix("solution/"): NOTHING for path in blocks}
        files["solve.sh"] = _runnable(files["solve.sh"])
        sandbox.write_files(files, "/solution")
        env = {"DEBIAN_FRONTEND": "noninteractive", **variables(task.config.solution.env)}
        run_script(sandbox, "/solution/solve.sh", task.config.agent.timeout_sec or SOLVER_SECONDS, env)

    return solve


def _uploaded(task: Task, folder: str) -> dict[str, TaskFile]:
    """A folder of the task without what its `.harborignore` files keep back, keyed relative to it."""
    rules = UploadRules(task.files)
    return {
        name: file for name, file in task.under(folder).items() if not rules.leave_out(f"{folder}/{name}")
    }


def _runnable(file: TaskFile) -> TaskFile:
    return replace(file, mode=file.mode | 0o111)


class _Phase(StrEnum):
    ENVIRONMENT = "The environment"
    VERIFIER = "The tests' image"
    SOLVER = "The solver"
    HANDOVER = "Reading what the solver left"
    TESTS = "The tests"


class _Ended(Exception):
    """The trial is over before there is a reward."""

    def __init__(self, outcome: TrialOutcome, summary: str, log: str = "") -> None:
        super().__init__(summary)
        self.outcome = outcome
        self.summary = summary
        self.log = log


@contextmanager
def _phase(phase: _Phase) -> Iterator[None]:
    try:
        yield
    except (MachineFault, SandboxDied):
        raise
    except TimedOut as error:
        late = "build" if phase in (_Phase.ENVIRONMENT, _Phase.VERIFIER) else "end"
        summary = f"{phase} did not {late} within {error.seconds:g} seconds."
        if phase is _Phase.TESTS:
            summary += " A reward written before that does not count."
        raise _Ended(TrialOutcome.TIMEOUT, summary) from error
    except OutOfMemory as error:
        raise _Ended(TrialOutcome.OOM, f"{phase} ran out of memory. {error}") from error
    except BuildFailed as error:
        raise _Ended(TrialOutcome.ERROR, f"{phase} does not build: {error}", error.log) from error
    except SandboxError as error:
        raise _Ended(TrialOutcome.ERROR, f"{phase}: {error}") from error


@dataclass
class _Run:
    backend: Backend
    task: Task
    limits: Limits
    labels: Mapping[str, str]
    variation: Variation
    commands: list[ExecResult] = field(default_factory=list)
    solved: Solved | None = None
    _solver_commands: int = 0
    _graded_again: bool = False

    def trial(self, rewarded: Callable[[], Reward]) -> Trial:
        started = time.monotonic()
        reward: Reward | None = None
        log = ""
        try:
            found = rewarded()
            outcome, summary = self._verdict(found)
            reward = found if found.ok else None
        except _Ended as ended:
            outcome, summary, log = ended.outcome, ended.summary, ended.log
        return Trial(
            outcome=outcome,
            reward=reward,
            summary=summary,
            weaker=not self.task.separate,
            commands=tuple(self.commands),
            artifacts=self.solved.artifacts if self.solved else {},
            seconds=time.monotonic() - started,
            log=log,
            solved=self.solved,
            graded_again=self._graded_again,
        )

    def separate(self, solver: Solver) -> Reward:
        environment, verifier = self._build_both()
        with self._solving(environment, solver) as box, _phase(_Phase.HANDOVER):
            deliveries = tuple(collect(box, self.task.config.artifacts))
            self.solved = Solved(deliveries, tuple(self.commands))
        return self._graded(verifier, self.solved)

    def again(self, solved: Solved) -> Reward:
        config = self.task.config
        with _phase(_Phase.VERIFIER):
            settings = config.verifier.environment or config.environment
            verifier = self._build(verifier_context(self.task), settings)
        self._graded_again = True
        self.solved = solved
        self.commands += solved.commands
        self._solver_commands = len(solved.commands)
        return self._graded(verifier, solved)

    def _graded(self, verifier: Image, solved: Solved) -> Reward:
        settings = self.task.config.verifier.environment or self.task.config.environment
        image = self._configured(verifier, settings, self.task.config.verifier.user)
        with (
            _phase(_Phase.TESTS),
            self.backend.open(image, self._capped(settings), labels=self.labels) as box,
        ):
            make_folders(box, [LOGS, CONVENTION], empty=True)
            deliver(box, solved.deliveries)
            if not brings_its_tests(self.task):
                box.write_files(_uploaded(self.task, "tests"), "/tests")
            return self._run_tests(box, {}, None)

    def shared(self, solver: Solver) -> Reward:
        config = self.task.config
        with _phase(_Phase.ENVIRONMENT):
            environment = self._build(environment_context(self.task), config.environment)
        with self._solving(environment, solver) as box, _phase(_Phase.TESTS), self._forked(box) as fork:
            # The answer too: a test that looks for the reference solution must not find it.
            run_plumbing(fork, REMOVE, ["/tests", "/solution", LOGS])
            make_folders(fork, [LOGS])
            fork.write_files(_uploaded(self.task, "tests"), "/tests")
            # The fork's own user is the agent's, whom the tests are not run as.
            user = environment.user if config.verifier.user is None else str(config.verifier.user)
            return self._run_tests(fork, _guarded(fork.image.env), user)

    def _verdict(self, reward: Reward) -> tuple[TrialOutcome, str]:
        """Outcome and summary for a verifier that ran to its end."""
        last = self.commands[-1]
        if reward.value is None:
            return (
                TrialOutcome.ERROR,
                f"The tests ended (exit code {last.exit_code}) without a reward. {reward.reason}",
            )
        if reward.value >= PASS_MARK:
            return TrialOutcome.PASSED, f"The tests passed. {reward.reason}"
        hints = " ".join(filter(None, (self._solver_hint(), self._artifact_hint())))
        return TrialOutcome.FAILED, f"The tests did not pass. {reward.reason} {hints}".strip()

    def _solver_hint(self) -> str:
        code = self.commands[self._solver_commands - 1].exit_code if self._solver_commands else 0
        return f"The solver's last command ended with exit code {code}." if code else ""

    def _artifact_hint(self) -> str:
        if not self.task.separate:
            return ""
        if not self.task.config.artifacts:
            return "The task declares no artifacts, so its tests see nothing of the solver's work."
        deliveries = self.solved.deliveries if self.solved else ()
        missing = [each.source for each in deliveries if not each.there and each.source != CONVENTION]
        if not missing:
            return ""
        refused = " ".join(f"Not taken: {each.refused}." for each in deliveries if each.refused)
        if refused:
            return refused
        some = any(each.files or each.there and each.source != CONVENTION for each in deliveries)
        arrived = "" if some else "No artifact arrived. "
        return f"{arrived}Not there after the solver: {', '.join(missing)}."

    def _build_both(self) -> tuple[Image, Image]:
        config = self.task.config
        settings = config.verifier.environment or config.environment
        with _phase(_Phase.ENVIRONMENT):
            contexts = environment_context(self.task), verifier_context(self.task)
        with ThreadPoolExecutor(max_workers=2) as pool:
            environment = pool.submit(self._build, contexts[0], config.environment)
            same = contexts[0] == contexts[1]
            verifier = environment if same else pool.submit(self._build, contexts[1], settings)
        return _result(environment, _Phase.ENVIRONMENT), _result(verifier, _Phase.VERIFIER)

    def _build(self, context: Mapping[str, TaskFile], settings: EnvironmentConfig) -> Image:
        return self.backend.build(context, timeout=min(settings.build_timeout_sec, self.limits.seconds))

    @contextmanager
    def _solving(self, environment: Image, solver: Solver) -> Iterator[Sandbox]:
        """The solver's sandbox after its turn, with every process of it ended."""
        settings = self.task.config.environment
        with _phase(_Phase.SOLVER):
            image = self._configured(environment, settings, self.task.config.agent.user)
            with self.backend.open(image, self._capped(settings), labels=self.labels) as box:
                make_folders(box, SOLVER_FOLDERS, empty=True)
                solver(self.task, self._recorded(box))
                self._solver_commands = len(self.commands)
                box.stop()
                yield box

    def _forked(self, box: Sandbox) -> AbstractContextManager[Sandbox]:
        return self.backend.fork(box, self._capped(self.task.config.environment), labels=self.labels)

    def _recorded(self, box: Sandbox) -> Recorded:
        return Recorded(box, self.commands, self.limits.seconds)

    def _run_tests(self, box: Sandbox, env: Mapping[str, str], user: str | None) -> Reward:
        run_plumbing(box, MAKE_RUNNABLE)
        config = self.task.config.verifier
        env = {**env, **variables(config.env)}
        # Among a solver's files the first bash on the path may be its own.
        bash = "bash" if self.task.separate else "/bin/bash"
        run_script(self._recorded(box), "/tests/test.sh", config.timeout_sec, env, user, bash)
        box.stop()
        return reward_in(box, LOGS)

    def _configured(self, image: Image, settings: EnvironmentConfig, user: str | int | None) -> Image:
        return replace(
            image,
            env={**image.env, **variables(settings.env), **self.variation.env},
            workdir=settings.workdir or image.workdir,
            user=image.user if user is None else str(user),
        )

    def _capped(self, settings: EnvironmentConfig) -> Limits:
        most = self.limits
        return replace(
            most,
            memory_mb=min(settings.memory_mb or most.memory_mb, most.memory_mb),
            cpus=min(settings.cpus or most.cpus, most.cpus),
            disk_mb=min(settings.storage_mb or most.disk_mb, most.disk_mb),
        )


def _result(image: Future[Image], phase: _Phase) -> Image:
    with _phase(phase):
        return image.result()


def _context(files: Mapping[str, TaskFile], prebuilt: str | None) -> Mapping[str, TaskFile]:
    return {"Dockerfile": TaskFile.text(f"FROM {prebuilt}\n")} if prebuilt else files


def _guarded(env: Mapping[str, str]) -> dict[str, str]:
    """Variables for tests among a solver's files: no start-up file, and the system's tools first."""
    path = env.get("PATH", USUAL_PATH)
    return {"PATH": SYSTEM_FIRST if path == USUAL_PATH else path, "BASH_ENV": "", "ENV": ""}
