"""How values read on a page: times, numbers, words and colours for states."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lineages.gates import all_gates
from lineages.library import rendering, shelf

register = template.Library()
register.filter("in_order", shelf.in_order)

GLYPHS = {"scenario": "σ", "skill": "κ", "length": "L", "": "•"}
WORDS = {
    "plan_review": "plan under review",
    "plan_approval": "plan waits",
    "sign_off": "sign-off waits",
    "no_plan": "no plan left",
    "plans_spent": "plan rounds spent",
    "repairs_spent": "repairs spent",
    "not_applicable": "not applicable",
    "not_run": "not run",
    "unasked": "not asked yet",
    "unchecked": "not checked here",
    "held_back": "held back",
    "approve": "approved",
    "reject": "rejected",
    "changes": "asked for changes",
    "abandoned": "evolution ended",
    "overruled": "approval overridden",
    "seed": "seed only",
    "sent": "not settled",
}
TONES = {
    "good": "accepted passed pass approve done ok finished imported freed answered".split(),
    "bad": (
        "failed fail rejected reject error exhausted no_plan plans_spent refused repairs_spent"
        " overruled withdrawn held_back cut_off not_usable no_progress out_of_bounds"
    ).split(),
    "wait": "plan_approval sign_off changes waiting paused voided stopped outdated sent".split(),
    "busy": "drafting plan_review building verifying repairing queued running open".split(),
}
MARKS = {"good": "✓", "bad": "✕", "wait": "●", "busy": "◌", "idle": "–"}


@register.filter
def glyph(direction: str) -> str:
    return GLYPHS.get(direction, "•")


@register.filter
def words(code: str) -> str:
    """A status, outcome or decision as a person would say it."""
    return WORDS.get(code, str(code).replace("_", " "))


@register.filter
def visible(text: object) -> str:
    """What a task or an author wrote, with every character that could hide or reorder others written out."""
    return "" if text is None else rendering.visible(str(text))


@register.filter
def gate_title(name: str) -> str:
    """What the gate checks, in a few words; its name where no such gate is installed."""
    known = all_gates().get(name)
    return known.title if known else words(name)


@register.filter
def tone(code: str) -> str:
    """The colour class of a status, outcome or verdict; colour never stands alone, `mark` goes with it."""
    return next((name for name, codes in TONES.items() if str(code) in codes), "idle")


@register.filter
def mark(code: str) -> str:
    return MARKS[tone(code)]


@register.simple_tag
def badge(code: str) -> SafeString:
    return format_html(
        '<span class="badge {}"><span aria-hidden="true">{}</span> {}</span>',
        tone(code),
        mark(code),
        words(code),
    )


@register.simple_tag
def ago(when: datetime | None) -> SafeString | str:
    """`3 min ago`, with the full time as title; static/page.js keeps it true."""
    if when is None:
        return "–"
    iso = timezone.localtime(when).isoformat(timespec="seconds")
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>', iso, iso, since(when, timezone.now())
    )


def since(when: datetime, now: datetime) -> str:
    """In the largest unit that fits, rounded down."""
    past = max(now - when, timedelta())
    if past < timedelta(minutes=1):
        return "just now"
    for size, unit in ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min")):
        if past >= size:
            return f"{past // size} {unit} ago"
    raise AssertionError("a minute or more fits one of the units")


@register.filter
def seconds(value: float) -> str:
    """A duration: `4 ms`, `1.25 s`, `12 s`, `3 min 05 s`."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.0f} s"
    return f"{int(value) // 60} min {int(value) % 60:02d} s"


@register.filter
def nats(value: float) -> str:
    return f"{value:.2f}"


@register.filter
def signed(value: float | None) -> str:
    """With its sign, and a real minus; nothing where there is nothing to compare with."""
    if value is None:
        return ""
    return f"{value:+.2f}".replace("-", "−") if isinstance(value, float) else f"{value:+d}".replace("-", "−")


@register.filter
def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


@register.filter
def octal(mode: int) -> str:
    return f"{mode & 0o777:03o}"
