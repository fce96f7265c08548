"""Which words of a text for the solver name what only graders may know: tests and the solution."""

from __future__ import annotations

from collections.abc import Iterator

from sandboxes.task import Task

AROUND = "`'\"()[]{}<>,.;:!?*"
OURS_ALONE = ("tests/", "solution/", "solve.sh", "test.sh")
FOLDERS = ("/tests", "/solution")


def hidden_words(text: str, task: Task) -> Iterator[tuple[int, str]]:
    """Each such word with the number of its line, from 1.

    Words are whole ones: a file `/app/tests/a.py` or `resolve.sh` of the solver's own is none of them.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        for word in line.split():
            name = word.strip(AROUND)
            if is_hidden(name, task):
                yield number, name


def is_hidden(name: str, task: Task) -> bool:
    """Whether a word is a path of the tests or the solution, rather than one of the solver's own files."""
    path = name.removeprefix("/")
    if path == name and _in_workspace(path, task):
        return False
    ours = path.startswith(("tests/", "solution/")) and (path in task or bool(task.under(path)))
    return ours or name.rstrip("/") in FOLDERS or name in OURS_ALONE


def _in_workspace(path: str, task: Task) -> bool:
    """Whether the environment has a file or folder of that relative name: it is the solver's own."""
    return any(f"/{path.strip('/')}/" in f"/{own}/" for own in task.under("environment"))
