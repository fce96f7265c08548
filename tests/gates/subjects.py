"""Small tasks as subjects on this machine's own sandboxes, for gates that run trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents.authors import author
from lineages.gates.base import Once, Subject
from lineages.library import machine
from sandboxes.base import Limits
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.tasks import words

Changes = Mapping[str, str | None]

SHARED = {
    "task.toml": 'schema_version = "1.4"\n\n[verifier]\ntimeout_sec = 30.0\n',
    "tests/Dockerfile": None,
}
"""What makes `words` a task whose tests run on the solver's own file system."""


def changed(task: Task, changes: Changes) -> Task:
    return task.replace(
        {path: None if text is None else TaskFile.text(text) for path, text in changes.items()}
    )


def subject(changes: Changes | None = None, **fields: object) -> Subject:
    """`words` with these files, and nothing known of it; `fields` are the subject's own."""
    judge = author("offline")
    one = Subject(
        task=changed(words(), changes or {}),
        backend=machine.backend(),
        limits=Limits(memory_mb=256),
        labels={"test": "gates"},
        judge=judge.rubric_verifier,
        judge_name=judge.name,
        rubric="1" * 64,
    )
    return replace(one, **fields)  # type: ignore[arg-type]


def with_files(one: Subject, changes: Changes) -> Subject:
    """The same subject with other files, of which nothing has been run yet."""
    return replace(one, task=changed(one.task, changes), once=Once())
