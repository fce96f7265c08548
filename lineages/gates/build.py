"""build: the environment's image, and the separate verifier's, build on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from lineages.gates.base import Gate, Input, Outcome, Result, Subject
from sandboxes.errors import BuildFailed, TimedOut, Unsupported
from sandboxes.trial import contexts


def check(subject: Subject) -> Outcome:
    wanted = _too_much(subject)
    if wanted:
        return Outcome(Result.ERROR, wanted)
    notes = list(_slower(subject))
    for folder, context in contexts(subject.task).items():
        try:
            image = subject.backend.build(context, timeout=subject.task.config.environment.build_timeout_sec)
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


def _too_much(subject: Subject) -> str:
    """What the task wants beyond what this machine gives a sandbox; it would be judged on less."""
    wants, most = subject.task.config.environment, subject.limits
    if (wants.memory_mb or 0) > most.memory_mb:
        return (
            f"The task wants {wants.memory_mb} MiB of memory, a sandbox here gets at most {most.memory_mb}: "
            "raise ENVEVO_SANDBOX_MEMORY_MB."
        )
    return ""


def _slower(subject: Subject) -> Iterator[str]:
    cpus = subject.task.config.environment.cpus
    if cpus and cpus > subject.limits.cpus:
        yield f"The task wants {cpus:g} cpus and runs on {subject.limits.cpus:g} here: slower, not otherwise."


def _summary(subject: Subject) -> str:
    if subject.backend.provisional:
        return f"The files are in place; {subject.backend.name} does not build Dockerfiles."
    return "The images build from a clean context."


GATE = Gate(
    name="build",
    version=1,
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
