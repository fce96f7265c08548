"""Probes: scripts that try to get a task's reward without solving it. One file each.

A module of this folder with a module-level `PROBE` is one, and so is each entry point of group
`envevo.probes`. None of them may get anything but 0, or a verifier that comes to no verdict.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType

from agents.probes.probe import ALONE, VOLLEYS, Probe
from agents.roles import AgentsError

ENTRY_POINTS = "envevo.probes"

__all__ = ["ALONE", "ENTRY_POINTS", "VOLLEYS", "Probe", "probes"]


@cache
def probes() -> Mapping[str, Probe]:
    """Every probe by name, sorted. Raises `AgentsError` for two of one name, and for what is no `Probe`."""
    found: dict[str, Probe] = {}
    for probe in (*_shipped(), *(point.load() for point in entry_points(group=ENTRY_POINTS))):
        if not isinstance(probe, Probe):
            raise AgentsError(f"{probe!r} in group {ENTRY_POINTS} is not an agents.probes.Probe")
        if probe.name in found:
            raise AgentsError(f"two probes are called {probe.name}")
        found[probe.name] = probe
    return MappingProxyType(dict(sorted(found.items())))


def _shipped() -> list[object]:
    modules = [import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return [module.PROBE for module in modules if hasattr(module, "PROBE")]
