"""Who may do what: viewer < reviewer < operator < admin, each a Django group of that name.

A person has the highest role of their groups, and every lower one with it. A superuser is an admin. An
account without a group may sign in and is told whom to ask.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest


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
    if not hasattr(user, "_envevo_role"):
        user._envevo_role = held_by(user)
    found: Role | None = user._envevo_role
    return found


def held_by(user: User) -> Role | None:
    """The role of an account, whether or not its owner may sign in."""
    if user.is_superuser:
        return Role.ADMIN
    names = {group.name for group in user.groups.all()}
    held = [role for role in Role if role in names]
    return held[-1] if held else None


def may(user: Any, role: Role) -> bool:
    """Whether the person has this role or a higher one."""
    held = role_of(user)
    return held is not None and held.rank >= role.rank


def admins() -> list[str]:
    """The names of those who can give a role."""
    held = User.objects.filter(Q(is_superuser=True) | Q(groups__name=Role.ADMIN), is_active=True)
    return list(held.order_by("username").values_list("username", flat=True).distinct())


def for_templates(request: HttpRequest) -> dict[str, Any]:
    """What a page may offer the person who looks at it. What it does not offer is refused all the same."""
    held = role_of(getattr(request, "user", None))
    rank = held.rank if held else -1
    return {
        "role": held,
        "may_review": rank >= Role.REVIEWER.rank,
        "may_operate": rank >= Role.OPERATOR.rank,
        "may_admin": rank >= Role.ADMIN.rank,
    }
