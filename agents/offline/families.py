"""The operators there are: every module of `operators/`, and the entry points of group `envevo.operators`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

from agents.offline import operators
from agents.offline.operator import Operator
from agents.roles import AgentsError

GROUP = "envevo.operators"


@cache
def families() -> Mapping[str, Operator]:
    """Operators by name, sorted. Raises `AgentsError` for two of one name, and for what is no `Operator`."""
    found: dict[str, Operator] = {}
    for operator in (*_shipped(), *(point.load() for point in entry_points(group=GROUP))):
        if not isinstance(operator, Operator):
            raise AgentsError(f"{operator!r} in group {GROUP} is not an agents.offline.operator.Operator")
        if operator.name in found:
            raise AgentsError(f"two operators are called {operator.name}")
        found[operator.name] = operator
    return MappingProxyType(dict(sorted(found.items())))


def _shipped() -> list[object]:
    names = sorted(module.name for module in pkgutil.iter_modules(operators.__path__))
    return [importlib.import_module(f"{operators.__name__}.{name}").OPERATOR for name in names]
