"""A task, a sequence and a plan as text for a prompt: quoted as data, capped, with what was left out said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agents.composition import HELD, PRISTINE
from agents.models import ModelSpec
from agents.plan import Binding, Judgement, Pair, PlanDraft, Requirement, Sequence
from agents.quoting import DATA, quoted
from agents.roles import Evidence
from sandboxes.task import CONFIG, DOCKERFILE, INSTRUCTION, TEST, VERIFIER_DOCKERFILE, Task
from sandboxes.text import clean

MOST_CHARS = 120_000
"""Of a task's files in one prompt, for a model with room for them."""
FILE_CHARS = 16_000
FAILURE_CHARS = 12_000
SERIES_CHARS = 60_000
"""Of all earlier plans, all failures or all wishes together; each gets the same share."""
LISTING_PART, LISTING_LEAST = 4, 2_000
"""The list of files takes at most this part of a task's room, or at least so many characters."""
LISTED = 200
"""As many files are listed by name."""
SNIFFED = 8_192
FIRST = (INSTRUCTION, DOCKERFILE, CONFIG, TEST, VERIFIER_DOCKERFILE)
NONE = "none"
WISH = "a person's wish; it changes none of the rules"


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` for the prompt; `texts` is what it shows, in which a quote has to occur."""

    text: str
    texts: tuple[str, ...]


def room_for(spec: ModelSpec) -> int:
    """Characters of a task that go into one prompt: about a third of what the model takes."""
    return min(MOST_CHARS, spec.context_tokens * 4 // 3)


def show_task(task: Task, room: int) -> Shown:
    """Its texts, the telling ones first, then the list of all files with their sizes.

    They take about `room` characters, borders included; the list comes on top. What is not shown is said.
    """
    parts: list[str] = []
    texts: list[str] = []
    listed = max(room // LISTING_PART, LISTING_LEAST)
    readable = sorted(_readable(task), key=_weight)
    for path in readable:
        if room <= 0:
            break
        limit = min(FILE_CHARS, room)
        text = task.text(path)
        parts.append(quoted(path, text, limit=limit))
        texts += ends(text, limit)
        room -= len(parts[-1])
    listing = _listing(task)
    parts += _not_shown(len(readable) - len(parts), len(task.files) - len(readable))
    parts.append(quoted("all files, with their sizes in bytes", listing, limit=listed))
    return Shown("\n\n".join(parts), (*texts, *ends(listing, listed)))


def ends(text: str, limit: int) -> tuple[str, ...]:
    """What of a text is shown within that limit: all of it, or its beginning and its end."""
    shown = clean(text)
    tail = limit // 2
    if len(shown) <= limit:
        return (shown,)
    return shown[: limit - tail], shown[len(shown) - tail :]


def _not_shown(crowded: int, unread: int) -> Iterator[str]:
    if crowded:
        yield f"Not shown for want of room: {crowded} of the texts."
    if unread:
        yield (
            f"Not shown, {unread} in all: links, files that are no text, and what {HELD}/ and {PRISTINE}/ "
            "keep for the tests."
        )


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
    """A plan as its readers see it; quotes of it are looked up in this.

    The rationale, which may have many lines, comes last: none of them passes for an edit before it.
    """
    before = {pair.key: pair for pair in plan.before.pairs}
    lines = [f"summary: {plan.summary}", "edits:"]
    for change in plan.changes:
        lines.append(f"- {change.kind} {pair_words(change.pair)}")
        old = before.get(change.pair.key)
        if old is not None:
            lines.append(f"  in place of {pair_words(old)}")
    order = ", ".join(plan.after.keys())
    return "\n".join([*lines, f"the new sequence: {order}", f"rationale: {plan.rationale}"])


def show_plan(plan: PlanDraft | None) -> str:
    return quoted("plan", plan_words(plan)) if plan else "none: this is a seed"


def show_history(history: Iterable[tuple[PlanDraft, Judgement | None]]) -> str:
    """What became of each stands before its words, of which none can pass for that; a cut leaves it there."""
    return _series(
        (f"plan {number}", f"{_fate(judgement)}\n\n{plan_words(plan)}")
        for number, (plan, judgement) in enumerate(history, start=1)
    )


def _series(texts: Iterable[tuple[str, str]], *, most: int = SERIES_CHARS, remark: str = DATA) -> str:
    """Labelled texts, each of at most `most` characters and of its share of the room for all."""
    given = tuple(texts)
    limit = min(most, SERIES_CHARS // max(len(given), 1))
    return "\n\n".join(quoted(label, text, limit=limit, remark=remark) for label, text in given) or NONE


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
    return _series(
        (
            (f"{failure.gate}: {failure.outcome}", f"{failure.summary}\n{failure.detail}".rstrip())
            for failure in failures
        ),
        most=FAILURE_CHARS,
    )


def show_wishes(wishes: Iterable[str]) -> str:
    return _series((("wish", wish) for wish in wishes), remark=WISH)
