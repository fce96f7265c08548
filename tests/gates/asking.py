"""Small tasks for the gates that read tests, and what such a gate finds in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineages.gates.asked import Asked
from lineages.gates.base import Finding
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.sandboxes.tasks import with_changes

Findings = Callable[[Asked], Iterator[Finding]]


def task(files: dict[str, str | bytes | None]) -> Task:
    """The plain task of these tests with files changed, added, or (None) taken away."""
    changes: dict[str, TaskFile | bytes | None] = {
        path: content.encode() if isinstance(content, str) else content for path, content in files.items()
    }
    return Task.of(with_changes(changes))


def failures(findings: Findings, files: dict[str, str | bytes | None]) -> list[str]:
    """Every failure as it reads."""
    return [str(each) for each in findings(Asked(task(files))) if not each.warning]


def warnings(findings: Findings, files: dict[str, str | bytes | None]) -> list[str]:
    return [str(each) for each in findings(Asked(task(files))) if each.warning]
