"""The attacks that once got a reward in a lineage: kept, and replayed on every descendant."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from dataclasses import replace

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from lineages.gates.adversary import fired
from lineages.gates.base import Result
from lineages.gates.surroundings import KeptProbe
from lineages.library.models import Audit, GateResult, Lineage, Probe
from sandboxes.text import clean

log = logging.getLogger(__name__)

LONGEST_NAME = 80
LONGEST_SCRIPT = 500_000  # bytes; a command line holds it
GATES = ("adversary", "attacker")


class NotKept(ValueError):
    """An attack that is not kept, or is there already under another script; the message says why."""


def kept_for(lineage: Lineage | None) -> tuple[KeptProbe, ...]:
    """What a lineage keeps, oldest first; nothing for a task that belongs to none."""
    if lineage is None:
        return ()
    return tuple(KeptProbe(row.name, row.script, row.origin) for row in lineage.probes.all())


def keep(
    lineage: Lineage, probe: KeptProbe, result: GateResult | None = None, by: User | None = None
) -> Probe:
    """The row of a kept probe, made where it was not there. The lineage's audits are outdated by a new one.

    Raises `NotKept` for a name or script that cannot be stored, and when the name has another script.
    """
    _check(probe)
    row, _ = Probe.objects.get_or_create(
        lineage=lineage,
        name=probe.name,
        defaults={"script": probe.script, "origin": clean(probe.origin), "found_in": result, "added_by": by},
    )
    if row.script != probe.script:
        raise NotKept(f"{lineage.slug} keeps another probe called {probe.name!r}: give this one another name")
    return row


def remove(lineage: Lineage, name: str) -> None:
    """Raises `NotKept` where there is none of that name."""
    deleted, _ = lineage.probes.filter(name=name).delete()
    if not deleted:
        raise NotKept(f"{lineage.slug} keeps no probe called {name!r}")


def concerned(audit: Audit) -> QuerySet[Lineage]:
    """The lineages that an audit's content belongs to, or would: those of the content, or of its parent."""
    held = [each for each in (audit.snapshot_id, audit.parent_id) if each]
    return Lineage.objects.filter(environments__snapshot__in=held).distinct()


def keep_what_worked(result: GateResult, lineage: Lineage) -> tuple[Probe, ...]:
    """Keep the attacks that a stored result of `adversary` or `attacker` says got a reward.

    Of another gate, or of one that did not fail, there are none. What the lineage has already is not kept
    twice; a probe of the kit differs from task to task, so its name here has a part of its script's hash.
    What cannot be kept is logged: a result is stored whatever a model called its attack.
    """
    if result.gate not in GATES or result.outcome != Result.FAILED:
        return ()
    known = {probe.script for probe in kept_for(lineage)}
    kept = []
    with transaction.atomic():
        for probe in _that_worked(result):
            if probe.script in known:
                continue
            try:
                kept.append(keep(lineage, probe, result))
            except NotKept as reason:
                log.warning("an attack that worked on %s is not kept: %s", lineage.slug, reason)
    return tuple(kept)


def _that_worked(result: GateResult) -> Iterator[KeptProbe]:
    """A failed result holds the commands of the turns that got a reward, and of no other."""
    origin = f"Found by the gate {result.gate} in {result.audit.snapshot}"
    for row in result.commands.all():
        if turn := fired(shlex.split(row.command)):
            names, script = turn
            probe = KeptProbe("-".join(_plain(names).split()), script, origin)
            yield replace(probe, name=f"{probe.name[: LONGEST_NAME - 9]}-{probe.digest[:8]}")


def _plain(name: str) -> str:
    return "".join(each if each.isprintable() else " " for each in name)


def _check(probe: KeptProbe) -> None:
    if not 0 < len(probe.name) <= LONGEST_NAME or not probe.name.isprintable() or " " in probe.name:
        raise NotKept(f"{probe.name!r} is no name: 1 to {LONGEST_NAME} characters that are seen, no space")
    if len(probe.script.encode("utf-8", "replace")) > LONGEST_SCRIPT:
        raise NotKept(f"the script is longer than {LONGEST_SCRIPT} bytes")
    if not probe.script.strip():
        raise NotKept("the script is empty")
    if probe.script != clean(probe.script):
        raise NotKept("the script holds characters that cannot be stored: NUL, or broken UTF-8")
