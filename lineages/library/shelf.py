"""What the pages of an environment read from the database, in a number of queries that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Case, F, Q, QuerySet, When

from agents.plan import PlanDraft
from lineages import difficulty
from lineages.gates import profile
from lineages.gates.base import Result
from lineages.library import audits, blobs
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, Environment, GateResult, Snapshot, SnapshotFile, Voiding

TERMS = (
    ("L", "execution length"),
    ("N", "scenario novelty, nats"),
    ("R", "skill rarity, nats"),
    ("D_T", "difficulty N + R, nats"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the file tree: a folder, or a `file` with its `change` against the parent (new, changed)."""

    depth: int
    name: str
    file: SnapshotFile | None = None
    change: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of D_T; `delta` against the parent is None for a seed."""

    symbol: str
    meaning: str
    value: float
    delta: float | None


def entries(files: Iterable[SnapshotFile], parents: Iterable[SnapshotFile] = ()) -> Iterator[Entry]:
    """The files as an indented tree. With no `parents`, nothing is marked as changed."""
    before = {file.path: _content(file) for file in parents}
    open_folders: list[str] = []
    for file in files:
        *folders, name = file.path.split("/")
        shared = _shared(open_folders, folders)
        for depth in range(shared, len(folders)):
            yield Entry(depth, folders[depth])
        open_folders = folders
        yield Entry(len(folders), name, file, _change(file, before))


def changed_files(before: Snapshot, after: Snapshot) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Content of the files that differ, on either side. Raises `BlobLost` for a lost blob."""
    old = {file.path: file for file in before.files.all()}
    new = {file.path: file for file in after.files.all()}
    differ = [path for path in {*old, *new} if _content(old.get(path)) != _content(new.get(path))]
    return tuple({path: _read(files[path]) for path in differ if path in files} for files in (old, new))  # type: ignore[return-value]


def terms(environment: Environment) -> list[Term]:
    """D_T's terms with their change against the parent."""
    return _terms(_stored(environment), _stored(environment.parent) if environment.parent else None)


def forecast(draft: PlanDraft, domain: str) -> list[Term]:
    """D_T's terms of a plan's new sequence, with their change against the old one."""
    reference = difficulty.shipped()
    before, after = (difficulty.difficulty(each, domain, reference) for each in (draft.before, draft.after))
    return _terms(_measured(after), _measured(before))


def calls(environment: Environment) -> QuerySet[AgentCall]:
    """Every call that this environment's evolution and audits made."""
    of_it = Q(audit__snapshot=environment.snapshot_id) | Q(attempt__evolution__child=environment)
    return AgentCall.objects.filter(of_it).distinct().order_by("started_at", "id")


def newest_results(snapshots: Iterable[int]) -> dict[int, list[GateResult]]:
    """Gate results of the audit of each snapshot (by primary keys) that `audits.latest` gives, of those that
    are settled, in two queries."""
    settled = Audit.objects.filter(_with_own_parent(), snapshot__in=snapshots)
    settled = settled.exclude(status=Audit.Status.QUEUED)
    counts = audits.asked_all() & Q(status__in=[Audit.Status.ACCEPTED, Audit.Status.REJECTED])
    the_last_wins = settled.annotate(rank=Case(When(counts, then=1), default=0)).order_by("rank", "id")
    newest = dict(the_last_wins.values_list("snapshot_id", "id"))
    results: dict[int, list[GateResult]] = {snapshot: [] for snapshot in newest}
    for result in GateResult.objects.filter(audit__in=newest.values()).select_related("audit"):
        results[result.audit.snapshot_id].append(result)
    with_voidings(result for found in results.values() for result in found)
    return {snapshot: in_order(found) for snapshot, found in results.items()}


def _with_own_parent() -> Q:
    """Audits that judged an environment beside its own parent, a seed beside none."""
    seeds = Q(parent=None, snapshot__environments__parent=None)
    return seeds | Q(snapshot__environments__parent__snapshot=F("parent"))


def with_voidings(results: Iterable[GateResult]) -> list[GateResult]:
    """Each with its `voiding`: a person's word that this failure does not stand, or None. One query.

    A gate that nobody may void has none, whatever was stored once: its failure stands.
    """
    found = list(results)
    keys = {result.key for result in found if result.outcome == Result.FAILED}
    stored = Voiding.objects.filter(key__in=keys).exclude(gate__in=audits.never_voided())
    voidings = stored.select_related("by") if keys else ()
    known = {(voiding.gate, voiding.key): voiding for voiding in voidings}
    for result in found:
        failed = result.outcome == Result.FAILED
        result.voiding = known.get((result.gate, result.key)) if failed else None  # type: ignore[attr-defined]
    return found


def in_order(results: Iterable[GateResult] | None) -> list[GateResult]:
    """As the strict profile, which has every gate, runs them; those that are not installed come last.

    A template hands in None for a candidate whose audit has not been opened yet.
    """
    ranks = {gate.name: rank for rank, gate in enumerate(profile("strict"))}
    return sorted(results or (), key=lambda result: ranks.get(result.gate, len(ranks)))


def _stored(environment: Environment) -> tuple[float, ...]:
    return (environment.length, environment.novelty, environment.rarity, environment.difficulty)


def _measured(of: difficulty.Difficulty) -> tuple[float, ...]:
    return (of.length, of.novelty, of.rarity, of.total)


def _terms(values: tuple[float, ...], before: tuple[float, ...] | None) -> list[Term]:
    if before is None:
        return [Term(*name, value, None) for name, value in zip(TERMS, values, strict=True)]
    return [Term(*name, new, new - old) for name, new, old in zip(TERMS, values, before, strict=True)]


def _content(file: SnapshotFile | None) -> tuple[str, int, str] | None:
    return (file.blob_id, file.mode, file.link) if file else None


def _change(file: SnapshotFile, before: dict[str, tuple[str, int, str] | None]) -> str:
    if not before:
        return ""
    if file.path not in before:
        return "new"
    return "changed" if before[file.path] != _content(file) else ""


def _shared(left: list[str], right: list[str]) -> int:
    """How many leading folders two paths have in common."""
    for depth, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return depth
    return min(len(left), len(right))


def _read(file: SnapshotFile) -> bytes:
    return f"→ {file.link}\n".encode() if file.link else blobs.read(file.blob_id)
