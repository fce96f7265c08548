"""build: the environment's image, and the separate verifier's, build without a network."""

from __future__ import annotations

from lineages.gates.base import Gate, Input, Outcome, Result, Subject
from sandboxes.errors import BuildFailed, TimedOut, Unsupported


def check(subject: Subject) -> Outcome:
    task = subject.task
    contexts = ["environment"] + (["tests"] if task.separate else [])
    notes: list[str] = []
    for folder in contexts:
        try:
            image = subject.backend.build(
                task.under(folder), timeout=task.config.environment.build_timeout_sec
            )
        except BuildFailed as problem:
            return Outcome(
                Result.FAILED, f"{folder}/Dockerfile does not build: {problem}", detail=problem.log
            )
        except TimedOut as problem:
            return Outcome(Result.FAILED, f"{folder}/Dockerfile did not build in time: {problem}")
        except Unsupported as problem:
            return Outcome(Result.ERROR, str(problem))
        notes += [f"{folder}/Dockerfile: {note}" for note in image.notes]
    return Outcome(Result.PASSED, _summary(subject, notes), detail="\n".join(notes))


def _summary(subject: Subject, notes: list[str]) -> str:
    if subject.backend.provisional:
        tail = f" {len(notes)} instruction(s) were not run." if notes else ""
        return f"The files are in place; {subject.backend.name} does not build Dockerfiles.{tail}"
    return "The images build from a clean context, without a network."


GATE = Gate(
    name="build",
    version=1,
    title="The images build",
    inputs=frozenset({Input.ENVIRONMENT, Input.TESTS, Input.CONFIG, Input.BACKEND}),
    check=check,
    after=("static",),
    sandbox=True,
    profiles=frozenset({"fast", "standard"}),
)
