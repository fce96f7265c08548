"""From a proposal to a plan: keys and the new sequence are made by code, invalid edits are named."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from agents.modelled.forms import Edit, Proposal
from agents.plan import Change, Pair, PlanDraft, Sequence
from agents.roles import Brief

MOST_CHARS = 300
"""Of a scenario, a skill, a tool or a path; a summary is one sentence."""
MOST_RATIONALE = 4_000
MOST_EDITS = 20
"""So a plan is always shown whole to who reviews it."""
SLUG = 40
_FIELD = re.compile(r";\s*(?:origin|scenario|skill|tool|target|block)\s*:", re.IGNORECASE)
"""How the next field begins where a pair is shown."""
_COMMAND = re.compile(r"[\w\[.+-]{1,60}")


def command(tool: str) -> bool:
    """Whether a pair's tool can be the name of a command."""
    return _COMMAND.fullmatch(tool) is not None


def problems_of(brief: Brief, proposal: Proposal) -> list[str]:
    """Sentences on what keeps the proposal from being a plan; whether the plan is legal is asked later."""
    if len(proposal.nothing) > MOST_RATIONALE:
        return [f"`nothing` has at most {MOST_RATIONALE:,} characters"]
    if proposal.nothing.strip():
        return ["`nothing` says that there is no plan, but there are edits"] if proposal.edits else []
    if len(proposal.edits) > MOST_EDITS:
        return [f"{len(proposal.edits)} edits are more than anybody reviews; give at most {MOST_EDITS}"]
    if not proposal.edits:
        return ["there are no edits: give at least one, or say in `nothing` why there is no plan"]
    problems = [
        f"edit {number}: {problem}"
        for number, edit in enumerate(proposal.edits, start=1)
        for problem in _edit_problems(brief.sequence, edit)
    ]
    return [*problems, *_whole_problems(brief, proposal)]


def _edit_problems(parent: Sequence, edit: Edit) -> Iterator[str]:
    keys = parent.keys()
    if edit.kind == "insert":
        yield from _reference("after", edit.after, ("", *keys))
        yield from _reference("key", edit.key, ("",))
    else:
        yield from _reference("key", edit.key, keys)
        yield from _reference("after", edit.after, ("",))
    for name in ("scenario", "skill", "tool"):
        text = getattr(edit, name)
        if not text.strip() or not _one_line(text):
            yield f"`{name}` has to be one line of 1 to {MOST_CHARS} characters"
        elif _FIELD.search(text):
            yield f"`{name}` holds the beginning of another field; say one thing in each"
    if edit.target and not _is_place(edit.target):
        yield f"`target` has to be an absolute path in the container, not {edit.target[:80]!r}"


def _one_line(text: str) -> bool:
    """Whether nothing in it would begin another line of a list, in which it is shown to a reviewer."""
    return len(text) <= MOST_CHARS and len(text.splitlines()) <= 1


def _is_place(path: str) -> bool:
    """Whether it can be a file's absolute path."""
    plain = path.startswith("/") and path == posixpath.normpath(path)
    return plain and _one_line(path) and not _FIELD.search(path)


def _reference(name: str, given: str, allowed: Collection[str]) -> Iterator[str]:
    if given in allowed:
        return
    if allowed == ("",):
        yield f"`{name}` has to be empty for this kind of edit, not {given[:80]!r}"
    else:
        yield f"`{name}` is {given[:80]!r}, which is no key of the sequence"


def _whole_problems(brief: Brief, proposal: Proposal) -> Iterator[str]:
    if brief.sequence.pairs and not proposal.observed:
        yield "`observed` is empty: read the sequence of the task first"
    replaced = [edit.key for edit in proposal.edits if edit.kind == "replace"]
    if len(set(replaced)) != len(replaced):
        yield "one pair is replaced twice"
    for name, text, most in (
        ("summary", proposal.summary, MOST_CHARS),
        ("rationale", proposal.rationale, MOST_RATIONALE),
    ):
        if not text.strip() or len(text) > most:
            yield f"`{name}` has to have 1 to {most:,} characters"
    if not _one_line(proposal.summary):
        yield "`summary` has to be one line"
    known = {_content(pair): pair.key for pair in brief.sequence.pairs}
    for number, edit in enumerate(proposal.edits, start=1):
        twin = known.get((edit.scenario, edit.skill, edit.tool, edit.target))
        if edit.kind == "insert" and twin:
            yield f"edit {number}: this step is there already, as {twin}"


def _content(pair: Pair) -> tuple[str, str, str, str]:
    return pair.scenario, pair.skill, pair.tool, pair.target


def draft_of(brief: Brief, proposal: Proposal) -> PlanDraft:
    """The plan of a proposal that has no problems."""
    changes: list[Change] = []
    taken = set(brief.sequence.keys())
    for edit in proposal.edits:
        change = _replaced(brief.sequence, edit) if edit.kind == "replace" else _inserted(brief, edit, taken)
        taken.add(change.pair.key)
        changes.append(change)
    return PlanDraft(
        direction=brief.direction,
        effort=brief.effort,
        before=brief.sequence,
        after=_after(brief.sequence, proposal, changes),
        changes=tuple(changes),
        summary=proposal.summary.strip(),
        rationale=proposal.rationale.strip(),
    )


def _replaced(parent: Sequence, edit: Edit) -> Change:
    old = next(pair for pair in parent.pairs if pair.key == edit.key)
    new = {
        "scenario": edit.scenario,
        "skill": edit.skill,
        "tool": edit.tool,
        "target": edit.target or old.target,
        "origin": old.origin if old.origin == "extracted" else "owned",
    }
    return Change(kind="replace", pair=old.model_copy(update=new))


def _inserted(brief: Brief, edit: Edit, taken: Collection[str]) -> Change:
    key = _new_key(brief.generation, edit.skill, taken)
    pair = Pair(
        key=key,
        scenario=edit.scenario,
        skill=edit.skill,
        tool=edit.tool,
        origin="owned",
        target=edit.target,
    )
    return Change(kind="insert", pair=pair)


def _new_key(generation: int, skill: str, taken: Collection[str]) -> str:
    """`m03:sign-outputs`, with a number where that is taken."""
    slug = re.sub(r"[^a-z0-9]+", "-", skill.lower())[:SLUG].strip("-") or "step"
    key, number = f"m{generation:02d}:{slug}", 2
    while key in taken:
        key, number = f"m{generation:02d}:{slug}-{number}", number + 1
    return key


def _after(parent: Sequence, proposal: Proposal, changes: list[Change]) -> Sequence:
    """The child's sequence: inserts behind the pair that they name, in the order they are given."""
    behind: dict[str, list[Pair]] = {}
    replaced: dict[str, Pair] = {}
    for edit, change in zip(proposal.edits, changes, strict=True):
        if edit.kind == "insert":
            behind.setdefault(edit.after, []).append(change.pair)
        else:
            replaced[edit.key] = change.pair
    pairs = list(behind.get("", ()))
    for pair in parent.pairs:
        pairs += [replaced.get(pair.key, pair), *behind.get(pair.key, ())]
    return Sequence(pairs=tuple(pairs))
