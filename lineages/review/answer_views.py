"""A person in a model's place: the questions that wait for one, and a form in which one is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from agents.models import MANUAL
from agents.providers.base import Json
from agents.rubrics import Rubric
from lineages.growth.nudge import wake
from lineages.library import blobs, by_hand, rubrics
from lineages.library.by_hand import Called, NotAnAnswer
from lineages.library.calls import AgentCall
from lineages.library.conversation_views import exchanges
from lineages.lifecycle import Stale
from lineages.pages import nothing_new, page, page_number, person, require, stamp, uncached, unchanged
from lineages.review.answer_again import in_fields, last_answer
from lineages.review.answer_forms import (
    AnswerForm,
    JsonForm,
    RubricForm,
    SchemaForm,
    WordsForm,
    checked,
)
from lineages.roles import Role
from lineages.templatetags.pages import words

LIST_ROWS = 50
FIELDS, JSON, WORDS, TOOL = "fields", "json", "words", "tool-"
RUBRICS = {"plan_review": rubrics.PLAN, "environment_review": rubrics.ENVIRONMENT}


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to answer. `key` comes back with what was typed; `tool` names the tool that is called."""

    key: str
    title: str
    about: str
    form: Any
    tool: str = ""

    @property
    def kind(self) -> str:
        """Which template lays its fields out."""
        return "rubric" if isinstance(self.form, RubricForm) else type(self.form).__name__

    def answer(self, asked: Mapping[str, Json]) -> tuple[str, tuple[Called, ...]] | None:
        """Text and calls; None where the form says what is wrong."""
        if isinstance(self.form, WordsForm):
            return (self.form.cleaned_data["words"], ()) if self.form.is_valid() else None
        assert isinstance(self.form, AnswerForm)
        written = checked(self.form, "" if self.tool or not asked["schema"] else asked["schema"]["name"])
        if not written:
            return None
        return ("", (Called(self.tool, written),)) if self.tool else (written, ())


@require_safe
def answer_list(request: HttpRequest) -> HttpResponse:
    """Asked again by its own fragment, since the next question of a conversation comes within seconds."""
    number = page_number(request)
    related = ("conversation", "evolution__parent__lineage")
    found = by_hand.waiting().select_related(*related)
    rows = list(found[(number - 1) * LIST_ROWS : number * LIST_ROWS + 1])
    current = stamp([call.pk for call in rows])
    if nothing_new(request, current):
        return unchanged()
    context = {
        "rows": rows[:LIST_ROWS],
        "number": number,
        "previous": number - 1,
        "next": number + 1 if len(rows) > LIST_ROWS else 0,
        "stamp": current,
    }
    return page(request, "lineages/answer_list.html", context, "list")


@require_http_methods(["GET", "HEAD", "POST"])
def call_answer(request: HttpRequest, pk: int) -> HttpResponse:
    """One question with the conversation that led to it. 409 with the fresh page if somebody was faster."""
    if request.method == "POST":
        require(request, Role.REVIEWER)
    call = get_object_or_404(_questions(), pk=pk)
    return _answered(request, call) if request.method == "POST" else _show(request, call)


def _answered(request: HttpRequest, call: AgentCall) -> HttpResponse:
    """Staleness first: an answer to what was answered already is never judged by its form."""
    if not call.unsettled:
        return _beaten(request, call)
    asked = _asked(call)
    offers = list(_offers(call, asked, request.POST))
    chosen = next((each for each in offers if each.key == request.POST.get("form")), None)
    if chosen is None:
        return _show(request, call, offers=offers, wrong="Choose one of the forms below.", status=422)
    answer = chosen.answer(asked)
    if answer is None:
        return _show(request, call, offers=offers, chosen=chosen.key, status=422)
    try:
        evolution = by_hand.answer(call, user=person(request), text=answer[0], calls=answer[1])
    except NotAnAnswer as problem:
        chosen.form.add_error(None, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
        return _show(request, call, offers=offers, chosen=chosen.key, status=422)
    except Stale:
        return _beaten(request, get_object_or_404(_questions(), pk=call.pk))
    if evolution:
        wake(evolution)
    messages.success(request, f"Stored: your answer as {words(call.role)}.")
    return redirect("answer_list")


def _beaten(request: HttpRequest, call: AgentCall) -> HttpResponse:
    """The fresh page, one sentence, and what was typed, to be copied from."""
    by = "You" if call.served == person(request).get_username() else call.served or "Somebody"
    conflict = f"{by} answered this question before; your answer was not stored."
    typed = {
        name: value
        for name, value in request.POST.items()
        if name not in ("csrfmiddlewaretoken", "form") and isinstance(value, str) and value.strip()
    }
    return _show(request, call, conflict=conflict, typed=typed, status=409)


def _show(
    request: HttpRequest,
    call: AgentCall,
    *,
    offers: list[Offer] | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    if offers is None:
        offers = list(_offers(call, _asked(call))) if call.unsettled else []
    schema = _asked(call)["schema"] if call.unsettled else None
    context = {
        "call": call,
        "conversation": call.conversation,
        "exchanges": exchanges(call.conversation) if call.conversation else [],
        "offers": offers,
        "schema": json.dumps(schema["form"], indent=2, ensure_ascii=False) if schema else "",
        "chosen": "" if len(offers) > 1 else offers[0].key if offers else "",
        "next": by_hand.waiting().exclude(pk=call.pk).first(),
        **said,
    }
    return uncached(render(request, "lineages/call_answer.html", context, status=status))


def _offers(call: AgentCall, asked: Mapping[str, Json], data: Any = None) -> Iterator[Offer]:
    """Every way in which this question can be answered; the one that was sent has what was typed."""
    sent = data.get("form") if data is not None else None

    def bound(key: str) -> Any:
        return data if sent == key else None

    schema = asked["schema"]
    if schema:
        yield from _whole_answers(call, asked, bound)
        return
    for tool in asked["tools"]:
        key = f"{TOOL}{tool['name']}"
        form = SchemaForm(tool["parameters"], bound(key), prefix=key)
        yield Offer(key, tool["name"], tool["description"], form, tool=tool["name"])
    about = "Without calling a tool." if asked["tools"] else ""
    yield Offer(WORDS, "Say something", about, WordsForm(bound(WORDS), prefix=WORDS))


def _whole_answers(
    call: AgentCall, asked: Mapping[str, Json], bound: Callable[[str], Any]
) -> Iterator[Offer]:
    """By fields and as JSON; both begin with the answer that was not taken, where there was one."""
    schema, before = asked["schema"], last_answer(call)
    rubric, begun = _rubric(call, schema["name"], asked), in_fields(before)
    form = (
        RubricForm(rubric, bound(FIELDS), initial=begun)
        if rubric
        else SchemaForm(schema["form"], bound(FIELDS), initial=begun)
    )
    yield Offer(FIELDS, schema["name"].replace("_", " "), schema["form"].get("description", ""), form)
    text = {"answer": json.dumps(before, indent=2, ensure_ascii=False)} if before else {}
    whole = JsonForm(bound(JSON), prefix=JSON, initial=text)
    yield Offer(JSON, "As JSON", "The whole answer at once.", whole)


def _rubric(call: AgentCall, name: str, asked: Mapping[str, Json]) -> Rubric | None:
    """The rubric that is asked about: the recipe's or today's, if it is the one in the question."""
    if name not in RUBRICS:
        return None
    which = RUBRICS[name]
    pinned = getattr(call.evolution.recipe, f"{which}_rubric") if call.evolution else ""
    found = rubrics.pinned(which, pinned)
    text = "\n".join(str(turn.get("said", "")) for turn in asked["turns"])
    return found if all(f"- {key} (" in text for key in found.keys) else None


def _questions() -> Any:
    related = ("conversation__attempt", "evolution__recipe", "evolution__parent__lineage", "attempt")
    return AgentCall.objects.filter(provider=MANUAL).select_related(*related)


def _asked(call: AgentCall) -> Mapping[str, Json]:
    try:
        return by_hand.question(call)
    except blobs.BlobLost as lost:
        raise Http404 from lost
