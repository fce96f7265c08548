"""One trial: a solver works in the task's environment, then the verifier decides, somewhere else.

Separate mode (`verifier.environment_mode = "separate"`): only the declared artifacts leave the
solver's sandbox; the tests run in a fresh sandbox built from `tests/Dockerfile`. Shared mode: the
solver's sandbox is stopped, and the tests run in a fresh one made from its files, with `/tests` and
`/logs/verifier` made new; the result is marked `weaker`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from sandboxes.arranging import Told, arrange, told
from sandboxes.base import Backend, ExecResult, Image, Limits, Sandbox
from sandboxes.config import EnvironmentConfig
from sandboxes.context import brings_its_tests, contexts, environment_context, verifier_context
from sandboxes.explaining import Graded, verdict
from sandboxes.files import TaskFile
from sandboxes.handover import (
    CONVENTION,
    LOGS,
    Delivery,
    collect,
    deliver,
    make_folders,
    run_plumbing,
    variables,
)
from sandboxes.outcomes import Ended, Phase, TrialOutcome, phase
from sandboxes.recording import Recorded, run_script
from sandboxes.reward import Reward, reward_in
from sandboxes.sharing import prepare
from sandboxes.solvers import Solver, nop, oracle, oracle_without, runnable, uploaded
from sandboxes.task import Task
from sandboxes.unit_results import UnitResult
from sandboxes.variation import PLAIN, Variation

__all__ = [
    "Solved",
    "Solver",
    "Trial",
    "TrialOutcome",
    "contexts",
    "environment_context",
    "grade",
    "nop",
    "oracle",
    "oracle_without",
    "run_trial",
    "verifier_context",
]

SOLVER_FOLDERS = ("/logs/agent", LOGS, CONVENTION)

MAKE_RUNNABLE = "[ ! -e /tests/test.sh ] || chmod +x /tests/test.sh"


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
    build. `units` are the answers of single tests by name, empty where the verifier does not tell them apart;
    `shuffled` says whether they ran in another order than the task's, as `Variation.order` asks.
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
    shuffled: bool = False
    solved: Solved | None = None
    graded_again: bool = False


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
    _told: Told = Told()

    def trial(self, rewarded: Callable[[], Reward]) -> Trial:
        started = time.monotonic()
        reward: Reward | None = None
        log = ""
        try:
            found = rewarded()
            outcome, summary = self._verdict(found)
            reward = found if found.ok and outcome is not TrialOutcome.NETWORK else None
        except Ended as ended:
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
            units=self._told.units,
            shuffled=self._told.shuffled,
            solved=self.solved,
            graded_again=self._graded_again,
        )

    def separate(self, solver: Solver) -> Reward:
        environment, verifier = self._build_both()
        with self._solving(environment, solver) as box, phase(Phase.HANDOVER):
            deliveries = tuple(collect(box, self.task.config.artifacts))
            self.solved = Solved(deliveries, tuple(self.commands))
        return self._graded(verifier, self.solved)

    def again(self, solved: Solved) -> Reward:
        config = self.task.config
        with phase(Phase.VERIFIER):
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
            phase(Phase.TESTS),
            self.backend.open(image, self._capped(settings), labels=self.labels) as box,
        ):
            make_folders(box, [LOGS, CONVENTION], empty=True)
            deliver(box, solved.deliveries)
            self._bring_tests(box, there=brings_its_tests(self.task))
            return self._run_tests(box, {}, None)

    def shared(self, solver: Solver) -> Reward:
        config = self.task.config
        with phase(Phase.ENVIRONMENT):
            environment = self._build(environment_context(self.task), config.environment)
        with self._left(environment, solver) as fork, phase(Phase.TESTS):
            env = prepare(fork, self.task, lambda: self._untouched(fork.image))
            self._bring_tests(fork, there=False)
            # The fork's own user is the agent's, whom the tests are not run as.
            user = environment.user if config.verifier.user is None else str(config.verifier.user)
            return self._run_tests(fork, env, user)

    def _verdict(self, reward: Reward) -> tuple[TrialOutcome, str]:
        before = self.commands[: self._solver_commands]
        return verdict(
            Graded(
                task=self.task,
                reward=reward,
                tests=self.commands[-1],
                solver=before[-1] if before else None,
                deliveries=self.solved.deliveries if self.solved else (),
                units=self._told.units,
            )
        )

    def _build_both(self) -> tuple[Image, Image]:
        config = self.task.config
        settings = config.verifier.environment or config.environment
        with phase(Phase.ENVIRONMENT):
            contexts = environment_context(self.task), verifier_context(self.task)
        with ThreadPoolExecutor(max_workers=2) as pool:
            environment = pool.submit(self._build, contexts[0], config.environment)
            same = contexts[0] == contexts[1]
            verifier = environment if same else pool.submit(self._build, contexts[1], settings)
        return _result(environment, Phase.ENVIRONMENT), _result(verifier, Phase.VERIFIER)

    def _build(self, context: Mapping[str, TaskFile], settings: EnvironmentConfig) -> Image:
        return self.backend.build(context, timeout=min(settings.build_timeout_sec, self.limits.seconds))

    @contextmanager
    def _solving(self, environment: Image, solver: Solver) -> Iterator[Sandbox]:
        """The solver's sandbox after its turn, with every process of it ended."""
        settings = self.task.config.environment
        with phase(Phase.SOLVER):
            image = self._configured(environment, settings, self.task.config.agent.user)
            with self.backend.open(image, self._capped(settings), labels=self.labels) as box:
                make_folders(box, SOLVER_FOLDERS, empty=True)
                solver(self.task, self._recorded(box))
                self._solver_commands = len(self.commands)
                box.stop()
                yield box

    @contextmanager
    def _left(self, environment: Image, solver: Solver) -> Iterator[Sandbox]:
        """A sandbox with the files that the solver left, in which nothing of it runs."""
        if solver is nop and not environment.entrypoint:
            # Nothing ran before its turn or in it, so a copy would hold what a fresh one does.
            settings = self.task.config.environment
            with phase(Phase.SOLVER):
                image = self._configured(environment, settings, self.task.config.agent.user)
                with self._untouched(image) as box:
                    make_folders(box, SOLVER_FOLDERS, empty=True)
                    yield box
        else:
            with self._solving(environment, solver) as box, phase(Phase.TESTS), self._forked(box) as fork:
                yield fork

    def _forked(self, box: Sandbox) -> AbstractContextManager[Sandbox]:
        return self.backend.fork(box, self._capped(self.task.config.environment), labels=self.labels)

    def _untouched(self, image: Image) -> AbstractContextManager[Sandbox]:
        """What the solver's sandbox was like before its turn."""
        limits = self._capped(self.task.config.environment)
        return self.backend.open(replace(image, entrypoint=()), limits, labels=self.labels)

    def _recorded(self, box: Sandbox) -> Recorded:
        return Recorded(box, self.commands, self.limits.seconds)

    def _bring_tests(self, box: Sandbox, *, there: bool) -> None:
        """Put the tests into a sandbox, unless they are there, and make their script one that can be run."""
        files = {} if there else uploaded(self.task, "tests")
        script = files.get("test.sh")
        if script is not None and script.link is None:
            files["test.sh"] = runnable(script)
        if not there:
            box.write_files(files, "/tests")
        if script is None or script.link is not None:
            run_plumbing(box, MAKE_RUNNABLE)

    def _run_tests(self, box: Sandbox, env: Mapping[str, str], user: str | None) -> Reward:
        config = self.task.config.verifier
        arranged = arrange(box, self.task, self.variation.order)
        env = arranged.env(box.image.env, {**variables(config.env), **env})
        # Among a solver's files the first bash on the path may be its own.
        bash = "bash" if self.task.separate else "/bin/bash"
        run_script(self._recorded(box), "/tests/test.sh", config.timeout_sec, env, user, bash)
        box.stop()
        self._told = told(box, arranged, self.commands[-1])
        return reward_in(box, LOGS)

    def _configured(self, image: Image, settings: EnvironmentConfig, user: str | int | None) -> Image:
        return replace(
            image,
            env=self.variation.beside({**image.env, **variables(settings.env)}),
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


def _result(image: Future[Image], name: Phase) -> Image:
    with phase(name):
        return image.result()
