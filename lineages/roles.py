"""Who may do what: viewer < reviewer < operator < admin, each a Django group of that name.

A person has the highest role of their groups, and every lower one with it. A superuser is an admin. An
account without a group may sign in and is told whom to ask.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Lowest first.

    A viewer reads and downloads. A reviewer decides on plans and candidates, overrides verdicts and
    withdraws environments. An operator starts, pauses and cancels work, imports, runs campaigns, frees
    what is held back. An admin gives people their roles and voids failures of gates.
    """

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


def role_of(user: Any) -> Role | None:
    """The person's role, read once for each request's user object; None for an account without any."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return None
    if user.is_superuser:
        return Role.ADMIN
    if not hasattr(user, "_envevo_role"):
        names = set(user.groups.values_list("name", flat=True))
        held = [role for role in Role if role in names]
        user._envevo_role = held[-1] if held else None
    found: Role | None = user._envevo_role
    return found


def may(user: Any, role: Role) -> bool:
    """Whether the person has this role or a higher one."""
    held = role_of(user)
    return held is not None and held.rank >= role.rank
