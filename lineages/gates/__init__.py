"""The gates, one file each, and the profiles that choose among them.

`profile(name)` gives the gates of a profile in an order that respects `after`; a gate names its profiles in
its own file.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.metadata import entry_points

from lineages.gates.base import Gate

ENTRY_POINTS = "envevo.gates"


@dataclass(frozen=True, slots=True)
class Profile:
    """How much is asked. `repeats`: how often the solved and the untouched run are made, the first included.

    `thorough`: each attack and each wrong solution by itself, where otherwise several share a trial.
    """

    name: str
    title: str
    repeats: int
    thorough: bool = False


PROFILES = {
    each.name: each
    for each in (
        Profile("fast", "what a person waits for: complete, solvable, not for nothing", repeats=1),
        Profile("paper", "the paper's three verifiers (section 4.1) and no more: for comparison", repeats=1),
        Profile("standard", "what a lineage needs: also stable, unhackable, bound to its plan", repeats=3),
        Profile(
            "strict", "what a release needs: every gate, each attack by itself", repeats=5, thorough=True
        ),
    )
}


@cache
def all_gates() -> dict[str, Gate]:
    """Every gate in this folder, and those that installed packages offer, by name."""
    here = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.GATE for module in here if hasattr(module, "GATE")]
    found += [point.load() for point in entry_points(group=ENTRY_POINTS)]
    return {gate.name: gate for gate in found}


def profile(name: str) -> list[Gate]:
    """The gates of a profile, each behind those it waits for. Raises `ValueError` for an unknown profile."""
    settings(name)
    gates = {gate.name: gate for gate in all_gates().values() if name in gate.profiles}
    # Lists, not sets: the order of a set of words differs from process to process.
    order = TopologicalSorter(
        {gate.name: [name for name in gate.after if name in gates] for gate in gates.values()}
    )
    return [gates[each] for each in order.static_order()]


def settings(name: str) -> Profile:
    """The profile of that name. Raises `ValueError` for an unknown one."""
    if name not in PROFILES:
        raise ValueError(f"there is no gate profile {name!r}; there are: {', '.join(PROFILES)}")
    return PROFILES[name]
