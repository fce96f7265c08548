"""Every way in which a model's server is known to misbehave: how the question ends, and the rows it leaves.

The roles' own machinery asks over the ledger, by each of the three APIs. The server counts what reached it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from agents.answers import structured
from agents.line import Waits
from agents.loop import Bounds, converse
from agents.models import Book, Can, ModelSpec, Price, Role
from agents.prompting import Prompt
from agents.providers.errors import ProviderError
from agents.roles import AgentsError
from agents.tools.list_files import ListFiles
from agents.tools.read_file import ReadFile
from agents.tools.submit import Submit
from agents.tools.write_file import WriteFile
from agents.workspace import Workspace
from lineages.library.calls import AgentCall, Conversation, ModelPause
from lineages.library.ledger import Directly, LedgerLine, Scope
from sandboxes.files import TaskFile
from tests.model_servers.misbehaving import Misbehaving, serving

pytestmark = pytest.mark.django_db

PATHS = {"anthropic": "", "openai": "/v1", "openai-chat": "/v1"}
"""Behind the server's address, as each SDK wants it."""
PROMPT = Prompt("test", "d" * 64, "Plan with care.", "What is next?")
FILES = {
    "instruction.md": TaskFile.text("Sort it.\n"),
    "tests/test.sh": TaskFile.text("exit 1\n"),
    "environment/link": TaskFile(link="/etc"),
}


class Planned(BaseModel):
    """The form that the server's good answer has."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    steps: list[str]
    note: str = ""
    score: float = 0.0


@dataclass(frozen=True)
class Ending:
    """How a question ended: the conversation's outcome, those of its requests, and what was raised."""

    conversation: str
    requests: tuple[str, ...]
    raised: str = ""


OPEN = Conversation.OPEN
TAKEN = Ending("answered", ("answered",))
UNUSABLE = Ending("not_usable", ("answered",) * 3, "NotUsable")
CUT = Ending("cut_off", ("cut_off",) * 2, "CutOff")


def failed(outcome: str, raised: str) -> Ending:
    """A server's fault leaves the question open: nobody answered it."""
    return Ending(OPEN, (outcome,), raised)


ANSWERS = {
    "good": TAKEN,
    "fenced": TAKEN,
    "backticks-inside": TAKEN,
    "two-objects": TAKEN,
    "nul": TAKEN,
    "surrogate": TAKEN,
    "no-usage": TAKEN,
    "other-model": TAKEN,
    "strict-params": TAKEN,
    "trailing-comma": UNUSABLE,
    "raw-newline": UNUSABLE,
    "bad-escape": UNUSABLE,
    "nan": UNUSABLE,
    "wrong-type": UNUSABLE,
    "empty": UNUSABLE,
    "prose-only": UNUSABLE,
    "approve-itself": UNUSABLE,
    "truncated": CUT,
    "truncated-but-valid": CUT,
    "truncated-tool": CUT,
    "refusal": Ending("refused", ("refused",), "Refused"),
    "429-no-hint": failed("overloaded", "Overloaded"),
    "529-then-ok": failed("overloaded", "Overloaded"),
    "500": failed("server_broke", "ServerBroke"),
    "502-html": failed("server_broke", "ServerBroke"),
    "200-html": failed("server_broke", "ServerBroke"),
    "hang": failed("too_slow", "TooSlow"),
    "cut-connection": failed("unreachable", "Unreachable"),
    "401": failed("key_refused", "Waits"),
    "404-model": failed("no_such_model", "Waits"),
    "no-money": failed("no_money", "Waits"),
    "413": failed("too_long", "TooLong"),
    "422": failed("not_taken", "NotTaken"),
}
"""Of `structured`, for a model with no patience: a passing fault is raised at once."""

WORK = {
    "tool-loop": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "unknown-tool": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "tool-bad-args": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "traversal": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "edits-tests-only": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "no-change": Ending("no_progress", ("answered",) * 4, "NoProgress"),
    "truncated-tool": CUT,
    "refusal": Ending("refused", ("refused",), "Refused"),
    "prose-only": Ending("no_progress", ("answered",) * 3, "NoProgress"),
    "empty": Ending("no_progress", ("answered",) * 2, "NoProgress"),
}
"""Of `converse`, with tools on a copy of files that refuses to write tests."""


@pytest.fixture(scope="module")
def server() -> Iterator[Misbehaving]:
    with serving() as running:
        yield running


@dataclass
class Desk:
    """One API, and what has been asked over it so far."""

    kind: str
    server: Misbehaving
    asked: int = 0

    def line(self, mode: str) -> tuple[LedgerLine, ModelSpec]:
        self.asked += 1
        spec = ModelSpec(
            name="tested",
            provider=self.kind,
            model=mode,
            base_url=f"{self.server.address}{PATHS[self.kind]}",
            key=SecretStr("key-for-tests"),
            timeout_seconds=1,
            patience_seconds=0,
            price=Price(input=Decimal(1), output=Decimal(1)),
            can=Can(schema=False, tools=True),
        )
        scope = Scope(author="tested", input_digest="0" * 64, other=f"modes:{self.asked}")
        return LedgerLine(Directly(), Book(models={"tested": spec}), scope), spec

    def ended(self, mode: str, before: int, raised: Exception | None) -> Ending:
        """What is stored of the newest conversation, after a look whether the server saw as much."""
        talk = Conversation.objects.latest("pk")
        calls = list(talk.calls.order_by("number", "again"))
        assert len(calls) == self.server.asked[mode] - before, f"{mode}: a row for each request"
        for call in calls:
            assert (call.cost is None) is _unknown(mode, call), f"{mode}: {call.outcome} cost {call.cost}"
        ModelPause.objects.all().delete()
        return Ending(
            talk.outcome, tuple(call.outcome for call in calls), type(raised).__name__ if raised else ""
        )


def _unknown(mode: str, call: AgentCall) -> bool:
    """Whether nobody can know what the request cost."""
    return mode == "no-usage" or call.outcome in ("server_broke", "too_slow", "unreachable")


@pytest.fixture(params=list(PATHS))
def desk(request: pytest.FixtureRequest, server: Misbehaving) -> Desk:
    return Desk(request.param, server)


def tried(ask: Any) -> Exception | None:
    try:
        ask()
    except (AgentsError, ProviderError, Waits) as problem:
        return problem
    return None


def test_every_answer_ends_in_its_named_outcome_with_a_row_and_a_cost_for_each_request(desk: Desk) -> None:
    ended = {}
    for mode in ANSWERS:
        line, spec = desk.line(mode)
        before = desk.server.asked[mode]
        raised = tried(
            lambda line=line, spec=spec: structured(
                line,
                Role.PROPOSER,
                spec,
                subject="round 0",
                prompt=PROMPT,
                values={},
                form=Planned,
                name="plan",
            )
        )
        ended[mode] = desk.ended(mode, before, raised)

    assert ended == ANSWERS


def test_work_with_tools_ends_in_its_named_outcome_and_no_file_is_changed(desk: Desk) -> None:
    ended = {}
    for mode in WORK:
        line, spec = desk.line(mode)
        workspace = Workspace(FILES, lambda path: "tests stay" if path.startswith("tests/") else None)
        before = desk.server.asked[mode]
        tools: Sequence[Any] = (
            ListFiles(workspace),
            ReadFile(workspace),
            WriteFile(workspace),
            Submit(lambda handed: ["nothing is bound"] if not handed.bindings else []),
        )
        raised = tried(
            lambda line=line, spec=spec, tools=tools: converse(
                line,
                Role.MODIFIER,
                spec,
                subject="candidate 0",
                prompt=PROMPT,
                values={},
                tools=tools,
                bounds=Bounds(turns=8),
            )
        )
        ended[mode] = desk.ended(mode, before, raised)
        assert workspace.changes() == {}, f"{mode} changed a file"

    assert ended == WORK
