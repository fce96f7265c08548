"""How a conversation ends: said once, whichever way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from agents.line import Conversation, ModelTrouble, Refused
from agents.providers.base import Reply

ANSWERED = "answered"
MOST_SAID = 500


@contextlib.contextmanager
def ending(conversation: Conversation) -> Iterator[None]:
    """End it as answered, or with the outcome and the sentence of the `ModelTrouble` that leaves the block.

    Anything else that leaves it, `Waits` or a fault, leaves the conversation open: it is taken up again.
    """
    try:
        yield
    except ModelTrouble as trouble:
        conversation.end(trouble.outcome, note=str(trouble))
        raise
    conversation.end(ANSWERED)


def refusal(reply: Reply) -> Refused:
    said = reply.text.strip()[:MOST_SAID]
    return Refused(f"the model refused: {said}" if said else "the model refused without a word")
