"""ξ of a task whose history is unknown (paper, section 4.1), from its solution script and its inputs."""

from __future__ import annotations

from collections.abc import Iterable

from agents.composition import SEED_STEP
from agents.offline.reading import Reading, blocks, desk, read_task
from agents.offline.shell import Command
from agents.offline.vocabulary import PLUMBING, VERBS, kind, rarity
from agents.plan import Pair, Sequence
from sandboxes.task import Task

MAX_VERBS = 3


class ScriptExtractor:
    """An `agents.roles.Extractor` that parses; it runs nothing and needs no model."""

    def extract(self, task: Task) -> Sequence:
        """One implicit pair for each delivered file that the solution reads, then one for each segment.

        A segment is the commands up to the writing of a file that is kept. Keys are `in:<path>` and
        `seg:<n>`, so the same task gives the same keys.
        """
        reading = read_task(task)
        pairs = [*_implicit(reading, task), *_extracted(reading)]
        return Sequence(pairs=tuple(pairs))


def _implicit(reading: Reading, task: Task) -> Iterable[Pair]:
    order = blocks(task)
    # What an evolved task hands over is no plain input, and the restored file is a pair of its own.
    handed = f"{desk(reading.workdir)}/" if SEED_STEP in task else None
    for path, tool in reading.readers.items():
        if handed and path.startswith(handed):
            continue
        first = next(command for command in reading.commands if path in command.reads)
        data = reading.deliveries[path].file.data
        yield Pair(
            key=f"in:{path}",
            scenario=f"plain {kind(path, data)}",
            skill="read records",
            tool=tool,
            origin="implicit",
            target=path,
            block=first.block or order[0],
        )


def _extracted(reading: Reading) -> Iterable[Pair]:
    for number, (target, commands) in enumerate(segments(reading), start=1):
        yield Pair(
            key=f"seg:{number}",
            scenario=_scenario(commands, target),
            skill=_skill(commands),
            tool=_tool(commands),
            origin="extracted",
            target=target,
            block=commands[-1].block,
        )


def segments(reading: Reading) -> list[tuple[str, list[Command]]]:
    """The kept files in order of writing, each with the commands that led to it.

    Commands after the last one belong to nothing; a script that writes nothing known is one segment.
    """
    found: list[tuple[str, list[Command]]] = []
    pending: list[Command] = []
    for command in reading.commands:
        pending.append(command)
        target = next((path for path in command.writes if path in reading.outputs), None)
        if target is None:
            continue
        if found and found[-1][0] == target:
            found[-1][1].extend(pending)
        else:
            found.append((target, pending))
        pending = []
    if not found and pending:
        found.append(("", pending))
    return found


def _scenario(commands: list[Command], target: str) -> str:
    read = list(dict.fromkeys(kind(path) for command in commands for path in command.reads))
    made = kind(target) if target else "files"
    return f"{' and '.join(read[:2])} turned into a {made}" if read else f"a new {made}"


def _main(commands: list[Command]) -> list[str]:
    """The names that carry the skill, without plumbing where there is anything else."""
    names = list(dict.fromkeys(command.name for command in commands if command.name not in ("?", ":")))
    return [name for name in names if name not in PLUMBING] or names or ["bash"]


def _skill(commands: list[Command]) -> str:
    rarest = sorted(_main(commands), key=rarity, reverse=True)
    verbs = dict.fromkeys(VERBS.get(name, f"use {name}") for name in rarest)
    return ", ".join(list(verbs)[:MAX_VERBS])


def _tool(commands: list[Command]) -> str:
    return max(_main(commands), key=rarity)
