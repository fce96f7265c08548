from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser
from django.core.management.color import no_style
from django.db import DatabaseError, DataError, IntegrityError, connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from django.db.models.functions import Now

from lineages.library.models import Snapshot
from lineages.lifecycle import Leased
from lineages.management.commands._output import INTERRUPTED, plain_errors, table

OLD = "old"
LEFT_BEHIND = {"sessions"}  # people sign in again
CHUNK = 500


class Command(BaseCommand):
    help = "Copy every row of a SQLite database into this installation's own, which has to be new."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=existing, metavar="PATH", help="the SQLite file; it stays as it is")

    def handle(self, *args: Any, **options: Any) -> None:
        opened = {OLD: dj_database_url.parse(f"sqlite:///{options['path']}"), **connections.settings}
        connections.settings[OLD] = connections.configure_settings(opened)[OLD]
        with plain_errors(), _all_or_nothing():
            if problem := _damaged() or _unfit():
                raise ValueError(problem)
            copied = copy()
        table([("rows of", "copied"), *((name, str(count)) for name, count in copied)], self.stdout.write)


def existing(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_file():
        raise ArgumentTypeError(f"there is no file {text}")
    return path


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Says what ended the copying, and that nothing of it is kept, other than of other commands' work.

    Raises `ValueError` for a row that breaks a rule of the new database: SQLite is not strict about all.
    """
    try:
        yield
    except (IntegrityError, DataError) as problem:
        said = str(problem).splitlines()[0]
        raise ValueError(f"a row does not fit into the new database ({said}); nothing is stored") from problem
    except KeyboardInterrupt:
        print("interrupted: nothing is stored, begin again", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _damaged() -> str:
    """Why the old file cannot be read, in a sentence; nothing where it can, or is empty."""
    try:
        with connections[OLD].cursor() as cursor:
            cursor.execute("PRAGMA quick_check(1)")
            found = str(cursor.fetchone()[0])
    except DatabaseError as problem:
        found = str(problem)
    return "" if found == "ok" else f"the old file is no sound SQLite database ({found}); take a good copy"


def _unfit() -> str:
    """Why one of the two databases cannot be used, in a sentence; nothing where both can."""
    applied = [set(MigrationRecorder(connections[name]).applied_migrations()) for name in (OLD, "default")]
    if applied[0] != applied[1]:
        return "the two databases are not at the same migrations; run `manage.py migrate` for both"
    held = {"lease_token__gt": "", "lease_until__gte": Now()}
    if any(model._default_manager.using(OLD).filter(**held).exists() for model in Leased.__subclasses__()):
        return "the old database is being worked on; stop its workers, or wait for their leases to end"
    if any(model._default_manager.exists() for model in (get_user_model(), Snapshot)):
        return "this installation's database has people or tasks already, and would lose them"
    return ""


def copy() -> list[tuple[str, int]]:
    """Every table's name and number of rows. All of it is stored, or nothing.

    Keys stay what they were, so what migrations put into the new database goes first. Rows may come before
    those they refer to: references are judged at the commit. Raises `ValueError` where rows are missing then.
    """
    models = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in LEFT_BEHIND and model._meta.managed and not model._meta.proxy
    ]
    with transaction.atomic():
        for model in models:
            connection.cursor().execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608
        copied = [(model._meta.label, _copy_rows(model)) for model in models]
        for reset in connection.ops.sequence_reset_sql(no_style(), models):
            connection.cursor().execute(reset)
    return copied


def _copy_rows(model: type[Model]) -> int:
    """Row by row and raw, so that no field puts today's date in place of what was stored."""
    rows = model._base_manager.using(OLD).order_by("pk")
    for row in rows.iterator(chunk_size=CHUNK):
        row.save_base(raw=True, using="default", force_insert=True)
    kept = model._base_manager.using("default").count()
    if kept != (count := rows.count()):
        raise ValueError(f"{model._meta.label}: {count} rows, of which {kept} arrived; nothing is stored")
    return count
