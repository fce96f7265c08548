from __future__ import annotations

import sys
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandParser

from lineages.management.commands._output import Exit, emit, leave, plain_errors, table
from lineages.people import accounts
from lineages.roles import Role, held_by


class Command(BaseCommand):
    help = "Who may sign in, and as what: list the accounts, add one, give one another role."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listing = verbs.add_parser("list", help="every account with its role")
        adding = verbs.add_parser("add", help="make an account; its password is printed once")
        giving = verbs.add_parser("role", help="give an account another role")
        for each in (adding, giving):
            each.add_argument("name", metavar="NAME")
            each.add_argument("role", choices=[*Role, accounts.NONE])
        giving.add_argument("--reason", required=True, help="stays in the history")
        for each in (listing, adding, giving):
            each.add_argument(
                "--json", action="store_true", help="machine-readable answer on standard output"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        verb = {"list": self.list, "add": self.add, "role": self.role}[options["verb"]]
        with plain_errors():
            try:
                verb(options)
            except (accounts.LastAdmin, accounts.NameTaken) as refused:
                print(f"error: {refused}", file=sys.stderr)
                leave(Exit.FAILED)

    def list(self, options: dict[str, Any]) -> None:
        rows = [_row(user) for user in accounts.people()]
        if options["json"]:
            emit({"people": rows})
            return
        heading = ("name", "role", "active", "last sign-in")
        table([heading, *(tuple(str(value) for value in row.values()) for row in rows)], self.stdout.write)

    def add(self, options: dict[str, Any]) -> None:
        try:
            user, password = accounts.create(options["name"], _role(options["role"]), by=None)
        except ValidationError as problem:
            raise ValueError(" ".join(problem.messages)) from problem
        if options["json"]:
            emit({"name": user.get_username(), "role": options["role"], "password": password})
        else:
            self.stdout.write(f"{user.get_username()} ({options['role']}) signs in with: {password}")

    def role(self, options: dict[str, Any]) -> None:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise ValueError(f"there is no account {options['name']!r}")
        accounts.set_role(user, _role(options["role"]), reason=options["reason"], by=None)
        if options["json"]:
            emit({"name": user.get_username(), "role": options["role"]})
        else:
            self.stdout.write(f"{user.get_username()} is {options['role']} now")


def _role(word: str) -> Role | None:
    return None if word == accounts.NONE else Role(word)


def _row(user: User) -> dict[str, Any]:
    return {
        "name": user.get_username(),
        "role": str(held_by(user) or accounts.NONE),
        "active": user.is_active,
        "last_login": user.last_login.isoformat(timespec="seconds") if user.last_login else None,
    }
