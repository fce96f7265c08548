"""The rubrics as people have made them: each change is a new version, and old ones stay readable.

The shipped wording is version 1. Work is judged by the version that its recipe pins, so that a criterion
which a person adds today changes no verdict of yesterday: a run under it is a new result.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction

from agents.rubrics import SHIPPED, Criterion, Rubric
from lineages.library.rubric_rows import RubricCriterion, RubricVersion

PLAN, ENVIRONMENT = "plan", "environment"
NAMES = tuple(SHIPPED)
KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
AS_SHIPPED = "As shipped."
RACES = 5


class UnknownRubric(Exception):
    """No wording of that version is kept here."""


class RubricRefused(Exception):
    """No version was made; the message says what is wrong."""


class RubricMoved(Exception):
    """Somebody made a version meanwhile; the message says which is today's."""


@dataclass(frozen=True, slots=True)
class Line:
    """A criterion with what its row holds beside the wording: the key of the review it was found in."""

    criterion: Criterion
    found_in: int | None = None


def today(name: str) -> Rubric:
    """The wording that recipes made from now on pin."""
    return rubric_of(newest(name))


def of_version(version: str) -> Rubric:
    """The wording that a recipe or an audit names. Raises `UnknownRubric`."""
    shipped = next((each for each in SHIPPED.values() if each.version == version), None)
    if shipped:
        return shipped
    row = RubricVersion.objects.filter(version=version).first()
    if row is None:
        raise UnknownRubric(f"no rubric of the version {version[:8]} is kept here")
    return rubric_of(row)


def pinned(name: str, version: str) -> Rubric:
    """The wording of that version; today's where it is not kept, as of an older release."""
    try:
        return of_version(version)
    except UnknownRubric:
        return today(name)


def known(*versions: str) -> bool:
    """Whether the wording of all of them is kept."""
    with contextlib.suppress(UnknownRubric):
        return all(of_version(version) for version in versions)
    return False


def newest(name: str) -> RubricVersion:
    """Today's version. What is shipped becomes it where nobody has changed the rubric yet.

    Raises `KeyError` for a name that is none of `NAMES`.
    """
    shipped = SHIPPED[name]
    row = RubricVersion.objects.filter(name=name).first()
    if row is not None and (row.by_id is not None or row.version == shipped.version):
        return row
    with contextlib.suppress(IntegrityError):  # another process was first
        _stored(name, row, [Line(each) for each in shipped.criteria], by=None, note=AS_SHIPPED)
    return RubricVersion.objects.filter(name=name)[0]


def rubric_of(row: RubricVersion) -> Rubric:
    """A version with its criteria, as the roles read it."""
    return Rubric(row.name, tuple(line.criterion for line in _lines(row)))


def add_criterion(
    name: str,
    criterion: Criterion,
    *,
    by: User,
    note: str = "",
    found_in: models.Model | None = None,
) -> RubricVersion:
    """A version with one more criterion, at its end. `found_in` is the review that found it wanting.

    Raises `RubricRefused` for a key that is taken or no key.
    """
    if not KEY.fullmatch(criterion.key):
        raise RubricRefused("A key is a small letter, then up to 39 small letters, digits and underscores.")

    def edit(lines: Sequence[Line]) -> list[Line]:
        if criterion.key in {line.criterion.key for line in lines}:
            raise RubricRefused(f"The {name} rubric has a criterion {criterion.key} already.")
        return [*lines, Line(criterion, found_in.pk if found_in else None)]

    return _changed(name, edit, by=by, note=note or f"Added {criterion.key}.")


def change_criterion(
    name: str, key: str, wording: Mapping[str, str], *, seen: int, by: User, note: str
) -> RubricVersion:
    """A version in which the criterion has another `title` or `question`.

    `seen` is the ordinal that the person looked at. Raises `RubricMoved`, and `RubricRefused` where nothing
    of the wording changes.
    """

    def edit(lines: Sequence[Line]) -> list[Line]:
        old = _line(lines, name, key)
        new = replace(old, criterion=replace(old.criterion, **wording))
        if new.criterion == old.criterion:
            raise RubricRefused("Neither the title nor the question has changed.")
        return [new if line is old else line for line in lines]

    return _changed(name, edit, seen=seen, by=by, note=note)


def retire_criterion(name: str, key: str, *, seen: int, by: User, note: str) -> RubricVersion:
    """A version without the criterion. Raises as `change_criterion`, and for the last one that is left."""

    def edit(lines: Sequence[Line]) -> list[Line]:
        old = _line(lines, name, key)
        if len(lines) == 1:
            raise RubricRefused("A rubric keeps at least one criterion.")
        return [line for line in lines if line is not old]

    return _changed(name, edit, seen=seen, by=by, note=note)


def _changed(
    name: str,
    edit: Callable[[Sequence[Line]], list[Line]],
    *,
    by: User,
    note: str,
    seen: int | None = None,
) -> RubricVersion:
    """The edit of today's version as the next one; again where somebody else made one at the same moment."""
    for _ in range(RACES):
        last = newest(name)
        if seen is not None and last.ordinal != seen:
            raise RubricMoved(f"The {name} rubric is at version {last.ordinal} by now; nothing was stored.")
        with contextlib.suppress(IntegrityError):
            return _stored(name, last, edit(_lines(last)), by=by, note=note)
    raise RubricMoved(f"Too many people change the {name} rubric at once: try again.")


def _stored(
    name: str, last: RubricVersion | None, lines: Sequence[Line], *, by: User | None, note: str
) -> RubricVersion:
    """Raises `IntegrityError` where another version has taken the ordinal."""
    rubric = Rubric(name, tuple(line.criterion for line in lines))
    with transaction.atomic():
        row = RubricVersion.objects.create(
            name=name, version=rubric.version, ordinal=last.ordinal + 1 if last else 1, note=note, by=by
        )
        RubricCriterion.objects.bulk_create(
            RubricCriterion(
                rubric=row,
                position=position,
                key=line.criterion.key,
                title=line.criterion.title,
                question=line.criterion.question,
                origin=line.criterion.origin,
                found_in_id=line.found_in,
            )
            for position, line in enumerate(lines)
        )
    return row


def _lines(row: RubricVersion) -> list[Line]:
    return [
        Line(Criterion(each.key, each.title, each.question, each.origin), each.found_in_id)
        for each in row.criteria.all()
    ]


def _line(lines: Sequence[Line], name: str, key: str) -> Line:
    found = next((line for line in lines if line.criterion.key == key), None)
    if found is None:
        raise RubricRefused(f"The {name} rubric has no criterion {key}.")
    return found
