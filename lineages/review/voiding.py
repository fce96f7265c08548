"""A person voids a gate's failure: from then on it does not stand under the key that it was given for."""

from __future__ import annotations

from django.contrib.auth.models import User

from lineages.gates import all_gates
from lineages.gates.base import Result
from lineages.library.models import GateResult, Voiding
from lineages.reasons import needed


class NothingToVoid(ValueError):
    """Only a failure can be voided."""


class NotWaivable(NothingToVoid):
    """Nobody may void this gate's failure: a task that it fails is of no use, whatever the reason."""


def void(result: GateResult, *, reason: str, by: User) -> tuple[Voiding, bool]:
    """The voiding of the failure's gate and key, and whether it is new: the first one with its reason stays.

    What had been decided by the failure stays as it is; the gate's next run is accepted under this key.
    Raises `NothingToVoid` for another outcome, `NotWaivable` for a gate whose failure always stands,
    `ReasonNeeded` without a reason.
    """
    reason = needed(reason)
    if result.outcome != Result.FAILED:
        raise NothingToVoid(f"the {result.gate} gate said {result.outcome}; only a failure can be voided")
    gate = all_gates().get(result.gate)
    if gate and not gate.waivable:
        raise NotWaivable(f"no person may void a failure of the {gate.name} gate: the task has to change")
    return Voiding.objects.get_or_create(
        gate=result.gate, key=result.key, defaults={"result": result, "reason": reason, "by": by}
    )
