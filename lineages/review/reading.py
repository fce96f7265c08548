"""What the proposer of a plan read the parent's sequence as, out of its stored answer."""

from __future__ import annotations

from dataclasses import dataclass

from agents.finding_json import NoObject, parsed
from agents.modelled.agreement import Agreement, agreement
from agents.modelled.forms import ObservedPair, Proposal
from agents.models import MANUAL, Role
from lineages.growth.models import Plan
from lineages.library import blobs, recording, reserving


@dataclass(frozen=True, slots=True)
class Reading:
    """The steps that a model read, and how far they agree with those that the plan began with."""

    model: str
    observed: tuple[ObservedPair, ...]
    agreement: Agreement


def reading_of(plan: Plan) -> Reading | None:
    """None where no model proposed it, or where its answer is not stored, or holds no proposal (any more)."""
    subject = f"{plan.attempt.direction} round {plan.round}"
    asked = plan.attempt.conversations.filter(role=Role.PROPOSER, subject=subject)
    call = recording.last_answer(asked)
    if call is None or call.conversation_id is None or call.provider == MANUAL:
        return None
    try:
        stored = reserving.stored_reply(call.conversation_id, call.number)
        observed = parsed(stored[1].text, Proposal).observed if stored else ()
    except (NoObject, blobs.BlobLost):
        return None
    if not observed:
        return None
    return Reading(call.author, observed, agreement(observed, plan.draft.before))
