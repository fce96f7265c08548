"""A fault of one kind, and the search for a sound case that has a place for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Fault(Generic[S, P]):
    """`plant` gives what comes of a sound case with the fault in it; None where it has no place for one."""

    kind: str
    criterion: str
    plant: Callable[[S], P | None]


def placed(faults: Sequence[Fault[S, P]], sound: Sequence[S]) -> Iterator[tuple[Fault[S, P], S, P]]:
    """Each fault once, in one of the sound cases, taken in turn so that all serve. Raises `LookupError`."""
    for number, fault in enumerate(faults):
        first = number % len(sound)
        turned = [*sound[first:], *sound[:first]]
        found = next(((one, made) for one in turned if (made := fault.plant(one)) is not None), None)
        if found is None:
            raise LookupError(f"nothing sound has a place for {fault.kind}")
        yield fault, *found
