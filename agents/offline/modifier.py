"""The offline modifier: builds what the plan says, and repairs on a gate's evidence only."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from agents.offline.compose import Composer, Placement
from agents.offline.families import families
from agents.offline.objects import subjects
from agents.offline.operator import Operator, Site, Subject, Variant
from agents.offline.reading import desk
from agents.plan import Change, Use
from agents.roles import BuildOrder, Built, CannotBuild, Evidence

REPAIRABLE = frozenset({"oracle"})


class OfflineModifier:
    """An `agents.roles.Modifier`.

    A repair draws the delivery anew, of the same variant, since that is what the plan says: other names,
    other cuts, another order. It does so when a person asks for changes, and when the reference solution
    failed on something that is not ours: there the delivery may have been in the way. Everything else that
    a check finds is a fault of an operator, which building again would not mend.
    """

    def build(self, order: BuildOrder) -> Built:
        """Raises `CannotBuild`."""
        if order.revision:
            _check_repairable(order)
        composer = Composer(order.parent, order.composition)
        bindings, used = [], []
        for number, change in enumerate(order.plan.changes, start=len(order.composition.uses) + 1):
            placement = _placement(order, composer, change, number)
            bindings.append(composer.place(placement))
            used.append(f"{placement.use.operator}/{placement.use.variant} on {placement.subject.path}")
        return Built(
            changes=composer.finish(order.generation),
            bindings=tuple(bindings),
            composition=composer.composition,
            notes="; ".join(used),
        )


def _placement(order: BuildOrder, composer: Composer, change: Change, number: int) -> Placement:
    operator = families().get(change.operator)
    if operator is None:
        raise CannotBuild(f"the plan names no operator that is here ({change.operator or 'none'})")
    subject = _subject(order, composer, change, operator)
    variant = _variant(operator, change)
    site = Site(number, operator.name, desk(composer.reading.workdir))
    draw = f"{change.pair.key}/{operator.name}/{variant.name}/{order.revision}"
    rng = Random(f"{order.rng_seed}/{order.generation}/{draw}")
    part = operator.make(subject, variant, site, rng)
    use = Use(
        operator=operator.name,
        variant=variant.name,
        subject=subject.path,
        generation=order.generation,
        key=change.pair.key,
        needed=part.needed,
    )
    return Placement(
        subject=subject,
        site=site,
        part=part,
        requirement=operator.requirement(subject, site),
        use=use,
        before=operator.before,
    )


def _subject(order: BuildOrder, composer: Composer, change: Change, operator: Operator) -> Subject:
    found = [
        subject
        for subject in subjects(order.parent, order.plan.before, order.composition)
        if subject.path == change.subject and not operator.refusal(subject)
    ]
    if not found:
        raise CannotBuild(f"{operator.name} cannot work on {change.subject or 'nothing'}")
    return found[0]


def _variant(operator: Operator, change: Change) -> Variant:
    try:
        return operator.variant(change.variant)
    except KeyError:
        raise CannotBuild(f"{operator.name} has no variant {change.variant}") from None


def _check_repairable(order: BuildOrder) -> None:
    for failure in order.failures:
        if failure.gate not in REPAIRABLE:
            raise CannotBuild(f"{failure.gate} failed, which another draw does not mend: {failure.summary}")
        ours = _named(failure, _own_names(order))
        if ours:
            raise CannotBuild(f"{failure.gate} failed in {ours}, which is this plan's own part")
    if not order.failures and not order.wishes:
        raise CannotBuild("a repair was asked for without any evidence")


def _own_names(order: BuildOrder) -> Iterable[str]:
    for binding in order.previous.bindings if order.previous else ():
        yield binding.solution_block.rsplit("/", 1)[-1]
        yield from (unit.rsplit("/", 1)[-1] for unit in binding.test_units)


def _named(failure: Evidence, names: Iterable[str]) -> str:
    """The first of the names that the evidence blames: a runner says `NAME failed`, a unit `unit NAME:`."""
    text = f"{failure.summary}\n{failure.detail}"
    return next((name for name in names if f"{name} failed" in text or f"unit {name}:" in text), "")
