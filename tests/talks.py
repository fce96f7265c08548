"""Conversations as rows, as the ledger leaves them: questions, answers, tools, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from agents.modelled.forms import Proposal, RubricAnswer
from agents.modelled.judging import rubric_words
from agents.providers.base import Question, Reply, Said, Schema, Stop, ToolCall, ToolSpec, Usage
from agents.rubrics import PLAN_RUBRIC, Rubric
from agents.tools.base import spec_of
from agents.tools.list_files import ListFiles
from agents.tools.submit import Submit
from agents.tools.write_file import WriteFile
from lineages.growth.models import Attempt
from lineages.library import blobs, replies
from lineages.library.calls import AgentCall, Conversation, ToolRun
from tests import factories

PLAN = "The plan:\n\n```\nThe text arrives in shuffled parts.\n- mine (A fence): not a criterion\n```"


def talk(model: str = "opus", of: Attempt | None = None, **fields: Any) -> Conversation:
    defaults = {
        "scope": f"attempt:{of.pk if of else 0}",
        "role": "proposer",
        "subject": f"round {Conversation.objects.count()}",
        "opening": "a" * 64,
        "prompt_name": fields.get("role", "proposer"),
        "prompt_digest": "b" * 64,
    }
    return Conversation.objects.create(model=model, attempt=of, **{**defaults, **fields})


def request(of: Attempt | None, cost: str | None, model: str = "opus", **fields: Any) -> AgentCall:
    """One request of a conversation of its own, settled and billed unless said otherwise."""
    made = fields.pop("conversation", None) or talk(model, of, role=fields.get("role", "proposer"))
    defaults = {
        "role": made.role,
        "conversation": made,
        "author": made.model,
        "provider": "anthropic",
        "cost": None if cost is None else Decimal(cost),
        "billed": True,
        "input_tokens": 1000,
        "output_tokens": 100,
        "evolution": of.evolution if of else None,
        "lineage": of.evolution.lineage if of else None,
    }
    return factories.call(of, **{**defaults, **fields})


def kept(question: Question) -> str:
    """The blob of a question, as `by_hand` has it."""
    return blobs.keep_one(replies.written(replies.question_json(question)))


def packed(text: str = "", calls: Sequence[ToolCall] = (), content: Any = None, raw: bytes = b"") -> str:
    """The blob of a reply."""
    stop = Stop.TOOLS if calls else Stop.END
    reply = Reply(text, tuple(calls), stop, content or {"text": text}, Usage(1000, 100), raw)
    return blobs.keep_one(replies.packed(reply))


def asked(
    question: Question, of: Attempt | None = None, *, role: str = "proposer", **fields: Any
) -> AgentCall:
    """A question that waits for a person."""
    of = of or factories.attempt(factories.evolution(status="plan_review"))
    defaults = {
        "role": role,
        "provider": "manual",
        "outcome": AgentCall.SENT,
        "billed": False,
        "input_tokens": None,
        "output_tokens": None,
        "sent_body_id": kept(question),
    }
    return request(of, "0", "manual", **{**defaults, **fields})


def review_question(rubric: Rubric = PLAN_RUBRIC) -> Question:
    text = f"Judge this plan.\n\nThe rubric:\n\n{rubric_words(rubric)}\n\n{PLAN}"
    schema = Schema("plan_review", RubricAnswer.model_json_schema())
    return Question("You judge a plan.", (Said(text),), 1000, schema=schema)


def proposal_question() -> Question:
    return Question(
        "You make tasks harder.",
        (Said("Propose."),),
        1000,
        schema=Schema("proposal", Proposal.model_json_schema()),
    )


def tools() -> tuple[ToolSpec, ...]:
    return tuple(spec_of(tool) for tool in (ListFiles, WriteFile, Submit))  # type: ignore[arg-type]


def build_question(*turns: Any) -> Question:
    return Question("You build.", (Said("Build the plan."), *turns), 1000, tools=tools())


def tool_run(of: Conversation, number: int, tool: str, result: str, **fields: Any) -> ToolRun:
    defaults = {"position": 0, "call_id": "c", "written": "{}"}
    kept_result = blobs.keep_one(result.encode())
    return ToolRun.objects.create(
        conversation=of, number=number, tool=tool, result_id=kept_result, **{**defaults, **fields}
    )


def built(of: Attempt, first: str = "<b>secret</b>\u202e") -> Conversation:
    """Three requests with Messages bodies: a tool, a failed try and a second one, an answer."""
    conversation = talk(of=of, role="modifier")
    messages: list[Mapping[str, Any]] = [{"role": "user", "content": "Build the plan."}]
    call = ToolCall("c1", "write_file", {"path": "tests/units/01", "text": first})
    content = [
        {"type": "thinking", "thinking": "First the test.", "signature": "x"},
        {"type": "text", "text": "I write a test."},
        {"type": "tool_use", "id": "c1", "name": "write_file", "input": dict(call.arguments or {})},
    ]
    sent = {"model": "m", "system": [{"type": "text", "text": "You build."}], "messages": messages}
    request(
        of,
        "0.25",
        conversation=conversation,
        sent_body_id=blobs.keep_one(json.dumps(sent).encode()),
        received_body_id=packed("I write a test.", [call], content, raw=b'{"as": "received"}'),
        served="claude-opus-5-0",
        request_id="req_1",
        stop="tools",
    )
    tool_run(
        conversation, 0, "write_file", "tests/units/01 has 15 bytes now.", written=json.dumps({"a": first})
    )
    messages += [
        {"role": "assistant", "content": content},
        {
            "role": "user",
            "content": [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "Two left."}],
        },
    ]
    body = blobs.keep_one(json.dumps(sent).encode())
    failed = {"outcome": "overloaded", "error": "the server is overloaded", "billed": False}
    request(of, "0", conversation=conversation, number=1, sent_body_id=body, **failed)
    request(
        of,
        None,
        conversation=conversation,
        number=1,
        again=1,
        sent_body_id=body,
        received_body_id=packed("Done.", content=[{"type": "text", "text": "Done."}]),
    )
    return conversation
