from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from lineages.growth import loops
from lineages.growth.evolving import RecipeSettings, start
from lineages.library import machine
from lineages.library.importing import import_folders
from lineages.library.models import Environment
from lineages.management.commands._output import Exit, leave, plain_errors, progress
from lineages.management.commands.evolve import evolutions_from, exit_code, show, tell
from lineages.management.commands.serve import address, serve, taken
from lineages.roles import Role

SEED = "log-forensics"
GENERATIONS = 3
USER = "demo"


class Command(BaseCommand):
    help = "The main job from nothing: import the bundled seeds, grow three generations, serve the dashboard."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="stop after the table")
        parser.add_argument("--bind", type=address, default="127.0.0.1:8000", metavar="HOST:PORT")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["no_serve"] and taken(options["bind"]):
            leave(Exit.MACHINE)
        progress("preparing the database")
        call_command("migrate", verbosity=0)
        with plain_errors():
            backend = machine.backend()
            backend.check()
            progress(
                f"sandboxes: {backend.identity()}{' (provisional evidence)' if backend.provisional else ''}"
            )
            seed = import_seeds()
            first = start(seed, RecipeSettings(), generations=GENERATIONS)
            last = loops.drive(first, tell=tell)
        show(evolutions_from(first), last, self.stdout.write)
        code = exit_code(last)
        if options["no_serve"] or code:
            leave(code)
            return
        self.stdout.write(f"\n  http://{options['bind']}\n  login: {USER}\n  password: {fresh_password()}\n")
        self.stdout.flush()  # whoever reads a file or a pipe needs the password while it serves
        leave(serve(options["bind"]))


def import_seeds() -> Environment:
    """Take in the bundled seeds; returns the one that the demo grows."""
    report = import_folders([settings.SEEDS])
    progress(f"seeds: {len(report.imported)} imported, {len(report.unchanged)} unchanged")
    for path, refusal in report.refused:
        progress(f"refused {path}: {refusal}")
        leave(Exit.FAILED)
    known = {item.path.name: item.environment for item in [*report.imported, *report.unchanged]}
    return known[SEED]


def fresh_password() -> str:
    """Give the demo user a new random password."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(username=USER, defaults={"is_staff": True})
    user.groups.add(Group.objects.get(name=Role.ADMIN))
    user.set_password(password)
    user.save(update_fields=["password"])
    return password
