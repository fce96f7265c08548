"""The gates, one file each; `profile(name)` gives those of a profile in an order that respects `after`."""

from __future__ import annotations

import pkgutil
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.metadata import entry_points

from lineages.gates.base import Gate

ENTRY_POINTS = "envevo.gates"


@cache
def all_gates() -> dict[str, Gate]:
    """Every gate in this folder, and those that installed packages offer, by name."""
    here = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.GATE for module in here if hasattr(module, "GATE")]
    found += [point.load() for point in entry_points(group=ENTRY_POINTS)]
    return {gate.name: gate for gate in found}


def profile(name: str) -> list[Gate]:
    """The gates of a profile, each behind those it waits for. Raises `ValueError` for an unknown profile."""
    gates = {gate.name: gate for gate in all_gates().values() if name in gate.profiles}
    if not gates:
        known = sorted({profile for gate in all_gates().values() for profile in gate.profiles})
        raise ValueError(f"there is no gate profile {name!r}; there are: {', '.join(known)}")
    order = TopologicalSorter({gate.name: set(gate.after) & gates.keys() for gate in gates.values()})
    return [gates[each] for each in order.static_order()]
