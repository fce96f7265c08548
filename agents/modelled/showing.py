"""A task, a sequence and a plan as text for a prompt: quoted as data, capped, with what was left out said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agents.composition import HELD, PRISTINE
from agents.models import ModelSpec
from agents.plan import Binding, Judgement, Pair, PlanDraft, Requirement, Sequence
from agents.quoting import quoted
from agents.roles import Evidence
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, TEST, VERIFIER_DOCKERFILE, Task

MOST_CHARS = 120_000
"""Of a task's files in one prompt, for a model with room for them."""
FILE_CHARS = 16_000
FAILURE_CHARS = 12_000
LISTED = 200
"""As many files are listed by name."""
SNIFFED = 8_192
FIRST = (INSTRUCTION, DOCKERFILE, CONFIG, TEST, VERIFIER_DOCKERFILE)
NONE = "none"


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` for the prompt; `texts` is what it shows, in which a quote has to occur."""

    text: str
    texts: tuple[str, ...]


def room_for(spec: ModelSpec) -> int:
    """Characters of a task that go into one prompt: about a third of what the model takes."""
    return min(MOST_CHARS, spec.context_tokens * 4 // 3)


def show_task(task: Task, room: int) -> Shown:
    """Its texts, the telling ones first, then the list of all files with their sizes."""
    parts: list[str] = []
    texts: list[str] = []
    left_out: list[str] = []
    for path in sorted(_readable(task), key=_weight):
        text = task.text(path)
        if room <= 0:
            left_out.append(path)
            continue
        parts.append(quoted(path, text, limit=min(FILE_CHARS, room)))
        texts.append(text)
        room -= min(len(text), FILE_CHARS)
    listing = _listing(task)
    if left_out:
        parts.append(f"Not shown for want of room: {len(left_out)} texts, of which the list has the names.")
    parts.append(quoted("all files, with their sizes in bytes", listing))
    return Shown("\n\n".join(parts), (*texts, listing))


def _readable(task: Task) -> Iterator[str]:
    """Texts. What was set aside for the verifier is data, and what a seed's image had is there already."""
    for path, file in task.files.items():
        aside = path.startswith((f"{HELD}/", f"{PRISTINE}/"))
        if file.link is None and not aside and b"\0" not in file.data[:SNIFFED]:
            yield path


def _weight(path: str) -> tuple[int, str]:
    if path in FIRST:
        return FIRST.index(path), path
    folders = ("solution/", "tests/", "environment/overlay/", "environment/")
    found = (at for at, folder in enumerate(folders) if path.startswith(folder))
    return len(FIRST) + next(found, len(folders)), path


def _listing(task: Task) -> str:
    lines = [
        f"{path} -> {file.link}" if file.link else f"{path} {len(file.data)}"
        for path, file in task.files.items()
    ]
    more = len(lines) - LISTED
    return "\n".join([*lines[:LISTED], *([f"and {more} more files"] if more > 0 else [])])


def show_pairs(sequence: Sequence) -> str:
    lines = [f"{number}. {pair_words(pair)}" for number, pair in enumerate(sequence.pairs, start=1)]
    return quoted("sequence", "\n".join(lines)) if lines else NONE


def pair_words(pair: Pair) -> str:
    told = {
        "origin": pair.origin,
        "scenario": pair.scenario,
        "skill": pair.skill,
        "tool": pair.tool,
        "target": pair.target,
        "block": pair.block,
    }
    return f"key {pair.key}: " + "; ".join(f"{name}: {value}" for name, value in told.items() if value)


def plan_words(plan: PlanDraft) -> str:
    """A plan as its readers see it; quotes of it are looked up in this."""
    before = {pair.key: pair for pair in plan.before.pairs}
    lines = [f"summary: {plan.summary}", f"rationale: {plan.rationale}", "edits:"]
    for change in plan.changes:
        lines.append(f"- {change.kind} {pair_words(change.pair)}")
        old = before.get(change.pair.key)
        if old is not None:
            lines.append(f"  in place of {pair_words(old)}")
    order = ", ".join(plan.after.keys())
    return "\n".join([*lines, f"the new sequence: {order}"])


def show_plan(plan: PlanDraft | None) -> str:
    return quoted("plan", plan_words(plan)) if plan else "none: this is a seed"


def show_history(history: Iterable[tuple[PlanDraft, Judgement | None]]) -> str:
    parts = [
        quoted(f"plan {number}", f"{plan_words(plan)}\n\n{_fate(judgement)}")
        for number, (plan, judgement) in enumerate(history, start=1)
    ]
    return "\n\n".join(parts) or NONE


def _fate(judgement: Judgement | None) -> str:
    if judgement is None:
        return "It was sent back before it was judged."
    failed = [f"- {failure.criterion}: {failure.explanation}" for failure in judgement.failures]
    return "\n".join(["turned down for:", *failed]) if failed else "It was accepted."


def show_bindings(bindings: Iterable[Binding]) -> str:
    lines = [
        f"{binding.key}: step {binding.solution_block}; units {', '.join(binding.test_units)}; "
        f"environment {', '.join(binding.environment_paths)}; requirement: {binding.requirement}"
        for binding in bindings
    ]
    return quoted("bindings", "\n".join(lines)) if lines else NONE


def show_requirements(requirements: Iterable[Requirement]) -> str:
    lines = [f"{requirement.key}: {requirement.text}" for requirement in requirements]
    return quoted("requirements", "\n".join(lines)) if lines else NONE


def show_failures(failures: Iterable[Evidence]) -> str:
    parts = [
        quoted(
            f"{failure.gate}: {failure.outcome}",
            f"{failure.summary}\n{failure.detail}".rstrip(),
            limit=FAILURE_CHARS,
        )
        for failure in failures
    ]
    return "\n\n".join(parts) or NONE


def show_wishes(wishes: Iterable[str]) -> str:
    return "\n\n".join(quoted("wish", wish) for wish in wishes) or NONE
