"""build: the environment's image, and the separate verifier's, build on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from lineages.gates.base import Gate, Input, Outcome, Result, Subject
from sandboxes.config import EnvironmentConfig
from sandboxes.errors import BuildFailed, TimedOut, Unsupported
from sandboxes.task import Task
from sandboxes.trial import contexts


def check(subject: Subject) -> Outcome:
    wanted = _too_much(subject)
    if wanted:
        return Outcome(Result.ERROR, wanted)
    notes = list(_less(subject))
    for folder, context in contexts(subject.task).items():
        try:
            image = subject.backend.build(context, timeout=_seconds(subject, folder))
        except BuildFailed as problem:
            return Outcome(
                Result.FAILED, f"{folder}/Dockerfile does not build: {problem}", detail=problem.log
            )
        except TimedOut as problem:
            return Outcome(Result.FAILED, f"{folder}/Dockerfile did not build in time: {problem}")
        except Unsupported as problem:
            return Outcome(Result.ERROR, str(problem))
        notes += [f"{folder}/Dockerfile: {note}" for note in image.notes]
    return Outcome(Result.PASSED, _summary(subject), detail="\n".join(notes))


def _settings(task: Task) -> dict[str, EnvironmentConfig]:
    """What the task asks of the machine, for its solver's sandbox and for that of its tests."""
    solver, tests = task.config.environment, task.config.verifier.environment
    return {"environment": solver, "tests": tests or solver}


def _seconds(subject: Subject, folder: str) -> float:
    """As a trial has it: the machine's own limit holds too."""
    return min(_settings(subject.task)[folder].build_timeout_sec, subject.limits.seconds)


def _too_much(subject: Subject) -> str:
    """What the task wants beyond what this machine gives a sandbox; it would be judged on less."""
    wants = max(each.memory_mb or 0 for each in _settings(subject.task).values())
    if wants > subject.limits.memory_mb:
        return (
            f"The task wants {wants} MiB of memory, a sandbox here gets at most {subject.limits.memory_mb}: "
            "raise ENVEVO_SANDBOX_MEMORY_MB."
        )
    return ""


def _less(subject: Subject) -> Iterator[str]:
    """What the task gets less of than it wants, which fails nothing by itself."""
    settings, most = _settings(subject.task).values(), subject.limits
    cpus = max(each.cpus or 0 for each in settings)
    if cpus > most.cpus:
        yield f"The task wants {cpus:g} cpus and runs on {most.cpus:g} here: slower, not otherwise."
    disk = max(each.storage_mb or 0 for each in settings)
    if disk > most.disk_mb:
        yield f"The task wants {disk} MiB of storage, of which a sandbox here may fill {most.disk_mb}."


def _summary(subject: Subject) -> str:
    if subject.backend.provisional:
        return f"The files are in place; {subject.backend.name} does not build Dockerfiles."
    return "The images build from a clean context."


GATE = Gate(
    name="build",
    version=2,
    title="The images build",
    failing="Nobody can run this task here: an image does not come out of its Dockerfile.",
    cost="a build, cached by content",
    waivable=False,
    inputs=frozenset({Input.ENVIRONMENT, Input.TESTS, Input.CONFIG, Input.BACKEND, Input.BASE}),
    check=check,
    after=("static",),
    sandbox=True,
    profiles=frozenset({"fast", "paper", "standard", "strict"}),
)
