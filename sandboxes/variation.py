"""How one run of a trial may differ from another without the task being another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Variation:
    """Variables for the solver and for the tests, and an order of the tests.

    `order` seeds a shuffle of the tests where their runner lets itself be shuffled (docs/sandboxes.md);
    None leaves them as they are. `label` tells a person, e.g. "TZ=<+1245>-12:45, tests shuffled".
    """

    label: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    order: int | None = None


PLAIN = Variation()
