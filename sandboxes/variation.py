"""How one run of a trial may differ from another without the task being another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# As POSIX writes them, so that no image needs a database of zones: some odd minutes, and both ends of a day.
ZONES = ("<+1245>-12:45", "<-0930>9:30", "<+14>-14", "<-12>12", "<+0545>-5:45", "<-0330>3:30", "<+0845>-8:45")
LOCALES = ("C.UTF-8", "C", "POSIX")  # those that every image has


@dataclass(frozen=True, slots=True)
class Variation:
    """Variables for the solver and for the tests, and an order of the tests.

    A variable that the task sets itself stays as the task has it. `order` seeds a shuffle of the tests where
    their runner lets itself be shuffled (docs/sandboxes.md); None leaves them as they are. `label` tells a
    person, e.g. "TZ=<+1245>-12:45, tests shuffled".
    """

    label: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    order: int | None = None

    def beside(self, own: Mapping[str, str]) -> dict[str, str]:
        """The variables of `own`, and those of the variation that it does not settle.

        Who sets LANG or one part of the locale has settled LC_ALL, which would win over them.
        """
        settled = {*own}
        if any(name == "LANG" or name.startswith("LC_") for name in own):
            settled.add("LC_ALL")
        return {**{name: value for name, value in self.env.items() if name not in settled}, **own}


PLAIN = Variation()


def variations(n: int) -> tuple[Variation, ...]:
    """`n` different ones, always the same; the first is `PLAIN`. Raises `ValueError` for less than one."""
    if n < 1:
        raise ValueError("there is at least one run")
    return (PLAIN, *(_varied(number) for number in range(1, n)))


def _varied(number: int) -> Variation:
    zone = ZONES[(number - 1) % len(ZONES)]
    locale = LOCALES[(number - 1) % len(LOCALES)]
    label = f"TZ={zone}, LC_ALL={locale}, tests shuffled (seed {number})"
    return Variation(label, {"TZ": zone, "LC_ALL": locale}, order=number)
