"""What a gate may know beyond its task: the archive, the sets marked as benchmarks, and kept probes.

Looked up by the library before the gates run. Each has a version, which stands in the keys of the gates
that read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from agents.plan import PlanDraft
from sandboxes.task import Task


@dataclass(frozen=True, slots=True)
class Earlier:
    """One environment that was accepted before. `relation`: `ancestor`, `sibling` or `elsewhere`.

    `task` is there for ancestors and siblings; of others only likeness was looked up: `likeness` is the
    estimated share of common shingles, from 0 to 1.
    """

    reference: str
    relation: str
    digest: str
    task: Task | None = None
    plan: PlanDraft | None = None
    likeness: float = 0.0


@dataclass(frozen=True, slots=True)
class Archive:
    """The accepted environments that a new one may repeat. `version` is a hash of which they are."""

    version: str
    earlier: tuple[Earlier, ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """The sets marked as benchmarks, and what of this task stands in them.

    `names` are the marked sets; `hits` gives, for a normalised 13-token run of the task's text, where it
    stands: `set: task`.
    """

    version: str
    names: tuple[str, ...]
    hits: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class KeptProbe:
    """An attack that once got a reward in this lineage, replayed on every descendant.

    `script` runs with `/bin/sh` in the solver's turn, in its sandbox. `origin` says where it was found.
    """

    name: str
    script: str
    origin: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.name}\0{self.script}".encode()).hexdigest()
