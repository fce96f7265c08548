"""Whether a new test does more than look at the solver's work.

All tests of a task run as one user in one container. So one of them can end the script that runs them, write
the reward itself, change a test beside it, or leave a process behind that does so later: then it decides
for all. A unit has no need of any of that: it tells by its exit code. This reads the scripts, words put
together from constants too; who hides it better is found by wrong solutions (`wrong_solution`) or by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tree_sitter import Node, Parser

from agents.offline.shell import LANGUAGE
from agents.reaching import reaches
from agents.stated import Told
from lineages.gates.commands import LARGEST_SCRIPT, Walk, is_data
from sandboxes.task import TEST, Task

ENDS_OR_STAYS = frozenset("kill pkill killall setsid nohup disown coproc at batch crontab eval".split())


def deciding(task: Task, paths: Iterable[str]) -> Iterator[str]:
    """A sentence for each of these files of the tests that reaches beyond its own verdict."""
    for path in paths:
        if path.startswith("tests/") and path in task and not is_data(path) and path != TEST:
            found = next(_found(task, path), "")
            if found:
                yield f"{path} {found}: a test tells by its exit code, and decides for no other."


def _found(task: Task, path: str) -> Iterator[str]:
    text = task.text(path)
    beyond = reaches(text)
    if beyond:
        yield f"has {beyond} in it"
    if path.endswith(".py") or len(text) > LARGEST_SCRIPT:
        return
    if _in_background(Parser(LANGUAGE).parse(text.encode()).root_node):
        yield "leaves a process in the background"
    walk = Walk(task, Told(task))
    walk.start(path)
    for used in walk.found:
        name = (used.words[0] or "").rsplit("/", 1)[-1] if used.words and not used.is_test else ""
        if name in ENDS_OR_STAYS:
            yield f"runs {name} (line {used.line})"


def _in_background(root: Node) -> bool:
    """Whether a command of the script ends with `&`."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "&":
            return True
        waiting += node.children
    return False
