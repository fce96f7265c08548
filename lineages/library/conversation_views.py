"""A whole conversation with a model: what was asked, what it said, which tools it called, the cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.html import escape
from django.views.decorators.http import require_safe

from lineages.library import rendering, transcript
from lineages.library.calls import AgentCall, Conversation, ToolRun
from lineages.library.money import ASKED, SENT, UNKNOWN, spent_on
from lineages.library.rendering import Shown
from lineages.library.views import stored
from lineages.pages import page_number

REQUESTS_A_PAGE = 20
MOST_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of a tool with its result; `run` is None while it has none."""

    name: str
    written: Shown
    run: ToolRun | None
    result: Shown | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its tries. `so_far` is what is known of the cost so far: not all, where `unsure`."""

    number: int
    tries: tuple[AgentCall, ...]
    system: Shown | None
    said: tuple[Shown, ...]
    thought: Shown | None
    text: Shown | None
    tools: tuple[Tool, ...]
    so_far: Decimal
    unsure: bool


@require_safe
def conversation_detail(request: HttpRequest, pk: int) -> HttpResponse:
    related = ("attempt__evolution__lineage", "audit__snapshot")
    conversation = get_object_or_404(Conversation.objects.select_related(*related), pk=pk)
    number = page_number(request)
    found = exchanges(conversation, page=number)
    context = {
        "conversation": conversation,
        "exchanges": found,
        "money": spent_on(conversation.calls.all()),
        "number": number,
        "previous": number - 1,
        "next": number + 1 if _last_number(conversation) >= number * REQUESTS_A_PAGE else 0,
        "open": conversation.outcome == Conversation.OPEN,
    }
    return render(request, "lineages/conversation_detail.html", context)


def exchanges(conversation: Conversation, *, page: int = 0) -> list[Exchange]:
    """Those of one page, counted from 1, or all of them for 0."""
    calls = list(conversation.calls.order_by("number", "again"))
    costs = dict(conversation.calls.filter(ASKED).values_list("pk", "cost"))
    open_ones = set(conversation.calls.filter(UNKNOWN | SENT).values_list("pk", flat=True))
    runs = list(conversation.tools.order_by("number", "position"))
    found: list[Exchange] = []
    so_far, unsure = Decimal(0), False
    first = (page - 1) * REQUESTS_A_PAGE if page else 0
    end = page * REQUESTS_A_PAGE if page else len(calls)
    for number, tries in groupby(calls, key=lambda call: call.number):
        asked = tuple(tries)
        so_far += sum((costs.get(call.pk) or Decimal(0) for call in asked), Decimal(0))
        unsure = unsure or any(call.pk in open_ones for call in asked)
        if first <= number < end:
            made = [run for run in runs if run.number == number]
            found.append(_exchange(number, asked, made, so_far=so_far, unsure=unsure))
    return found


def _exchange(
    number: int, tries: tuple[AgentCall, ...], runs: Sequence[ToolRun], *, so_far: Decimal, unsure: bool
) -> Exchange:
    sent = next((call.sent_body_id for call in tries if call.sent_body_id), None)
    asked = transcript.asked(stored(sent)) if sent else None
    answer = _answer(tries)
    return Exchange(
        number=number,
        tries=tries,
        system=_shown(asked.system) if asked and number == 0 else None,
        said=tuple(words(text) for text in asked.texts) if asked else (),
        thought=_shown(answer.thought) if answer else None,
        text=_shown(answer.text) if answer else None,
        tools=tuple(_tools(answer.calls if answer else (), runs)),
        so_far=so_far,
        unsure=unsure,
    )


def _answer(tries: Iterable[AgentCall]) -> transcript.Answer | None:
    """Of the newest try that has one."""
    found = None
    for call in tries:
        if call.received_body_id:
            found = transcript.answered(stored(call.received_body_id)) or found
    return found


def _tools(wanted: Sequence[transcript.Wanted], runs: Sequence[ToolRun]) -> Iterator[Tool]:
    """Each run beside what the model wrote for it, then calls that nobody has run yet."""
    for run in runs:
        yield Tool(run.tool, words(run.written), run, rendering.output(stored(run.result_id)))
    for call in wanted[len(runs) :]:
        yield Tool(call.tool, words(call.written), None, None)


def words(text: str) -> Shown:
    """What somebody said, whole but for what is past a length that nobody reads."""
    notes: tuple[str, ...] = ()
    if len(text) > MOST_CHARACTERS:
        left = len(text) - MOST_CHARACTERS
        notes = (f"{left:,} of {len(text):,} characters are not shown; the stored body has them all.",)
    return Shown(escape(rendering.visible(text[:MOST_CHARACTERS])), text.count("\n") + 1, notes)


def _shown(text: str) -> Shown | None:
    return words(text) if text.strip() else None


def _last_number(conversation: Conversation) -> int:
    last = conversation.calls.order_by("-number").values_list("number", flat=True).first()
    return -1 if last is None else last
