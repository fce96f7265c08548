"""D_T, the off-policy difficulty of a sequence, in nats (paper, section 3). Pure; no Django.

    D_T(ξ) = Σ_t [ −ln p_T(σ_t | g) − ln p_T(κ_t | σ_t, g) ]  =  N + R

p_T is a frozen reference table shipped in `lineages/reference/` and identified by its digest: counts of
(domain, scenario class, tool) judged by hand, and the command counts of the NL2Bash corpus as a prior of
tools only. It holds no descendants and knows no model. The estimator is `counts`, first version:

    ν = −ln[(n(c,g) + 5·p0(c)) / (n(g) + 5)]      p0(c) = (n(c) + 1) / (N + V + 1)
    ρ = −ln[(n(κ,c) + 5·p1(κ)) / (n(c) + 5)]      p1(κ) = (n(κ) + ½) / (Nκ + ½(Vκ + 1))

A scenario's class c is the nearest shipped centroid by the cosine of their word counts, `unseen` below
0.35; κ is a pair's tool.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from agents.plan import Direction, Pair, Sequence

REFERENCE = Path(__file__).parent / "reference"
WORD = re.compile(r"\w\w+")
UNSEEN = "unseen"
NEAREST = 0.35
LEAST_RISE = 0.1
STRENGTH = 5.0
"""How many observations a prior weighs."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """D_T of one sequence. `length` L and `distinct` L_eff are counts of pairs, the others nats."""

    length: int
    distinct: int
    novelty: float
    rarity: float

    @property
    def total(self) -> float:
        return self.novelty + self.rarity


@dataclass(frozen=True)
class Reference:
    """The frozen counts that p_T is estimated from."""

    joint: Counter[tuple[str, str, str]]
    centroids: tuple[tuple[str, str], ...]
    commands: Counter[str]
    digest: str

    def novelty(self, scenario_class: str, domain: str) -> float:
        """ν in nats, for one scenario class under one domain."""
        of_class = self._sum(scenario=scenario_class)
        prior = (of_class + 1) / (self.joint.total() + len(self.centroids) + 1)
        seen = self._sum(scenario=scenario_class, domain=domain)
        return -math.log((seen + STRENGTH * prior) / (self._sum(domain=domain) + STRENGTH))

    def rarity(self, tool: str, scenario_class: str) -> float:
        """ρ in nats, for one tool under one scenario class."""
        prior = (self.commands[tool] + 0.5) / (self.commands.total() + 0.5 * (len(self.commands) + 1))
        seen = self._sum(scenario=scenario_class, tool=tool)
        return -math.log((seen + STRENGTH * prior) / (self._sum(scenario=scenario_class) + STRENGTH))

    def classify(self, scenario: str) -> str:
        """The nearest scenario class, or `UNSEEN`."""
        words = _words(scenario)
        near, place = max((_cosine(words, each), -place) for place, each in enumerate(self._vectors))
        return self.centroids[-place][0] if near >= NEAREST else UNSEEN

    @cached_property
    def _vectors(self) -> tuple[Counter[str], ...]:
        return tuple(_words(words) for _, words in self.centroids)

    def _sum(self, *, domain: str = "", scenario: str = "", tool: str = "") -> int:
        return sum(
            count
            for (g, c, k), count in self.joint.items()
            if domain in ("", g) and scenario in ("", c) and tool in ("", k)
        )


def _words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    """Of two word counts; 0 where one of them is empty."""
    lengths = math.sqrt(_dot(one, one) * _dot(other, other))
    return _dot(one, other) / lengths if lengths else 0.0


def _dot(one: Counter[str], other: Counter[str]) -> int:
    return sum(count * other[word] for word, count in one.items())


def difficulty(sequence: Sequence, domain: str, reference: Reference) -> Difficulty:
    """D_T and its terms. `domain` is that of the lineage, the same for parent and child."""
    classes = [(_class_of(reference, pair), pair.tool) for pair in sequence.pairs]
    return Difficulty(
        length=len(classes),
        distinct=len(set(classes)),
        novelty=sum(reference.novelty(scenario, domain) for scenario, _ in classes),
        rarity=sum(reference.rarity(tool, scenario) for scenario, tool in classes),
    )


def idle_levers(
    direction: Direction, before: Sequence, after: Sequence, domain: str, reference: Reference
) -> list[str]:
    """Why the lever that a plan declares does not move, in sentences; empty when it does.

    length: L and L_eff rise. scenario: Σ Δν of the replaced pairs is at least `LEAST_RISE`, and no smaller
    than |Σ Δρ|. skill: Σ Δρ of the replaced pairs is at least `LEAST_RISE`.
    """
    old, new = (difficulty(sequence, domain, reference) for sequence in (before, after))
    novelty, rarity = new.novelty - old.novelty, new.rarity - old.rarity
    if direction is Direction.LENGTH:
        risen = new.length > old.length and new.distinct > old.distinct
        return (
            [] if risen else [f"L_eff stays at {old.distinct}: the inserted pairs repeat ones that are there"]
        )
    if direction is Direction.SKILL:
        return [] if rarity >= LEAST_RISE else [f"the skills become {rarity:+.2f} nats rarer, too little"]
    if novelty < LEAST_RISE:
        return [f"the scenarios become {novelty:+.2f} nats more novel, too little"]
    return (
        [] if abs(rarity) <= novelty else [f"rarity moves by {rarity:+.2f} nats, novelty only {novelty:+.2f}"]
    )


def _class_of(reference: Reference, pair: Pair) -> str:
    return reference.classify(pair.scenario)


@cache
def shipped() -> Reference:
    """The reference table in the package."""
    files = {name: (REFERENCE / f"{name}.tsv").read_bytes() for name in ("pairs", "scenarios", "commands")}
    rows = {
        name: list(csv.DictReader(data.decode().splitlines(), delimiter="\t")) for name, data in files.items()
    }
    joint = Counter(
        {(row["domain"], row["scenario"], row["tool"]): int(row["count"]) for row in rows["pairs"]}
    )
    uses = Counter({row["command"]: int(row["uses"]) for row in rows["commands"]})
    uses["find"] = min(uses["find"], uses["xargs"])  # the corpus was gathered around find
    return Reference(
        joint=joint,
        centroids=tuple((row["scenario"], row["words"]) for row in rows["scenarios"]),
        commands=uses,
        digest=hashlib.sha256(b"\0".join(files.values())).hexdigest(),
    )
