"""Which model plays which role: what a recipe pins, as one line of text.

proposer=opus plan_reviewer=gpt modifier=opus rubric_verifier=gpt solver=opus …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agents.models import JUDGING, MAKING, MANUAL, Book, ModelsError, Role, Team

OWN_WORK = {
    Role.PLAN_REVIEWER: "reviews the plans that it proposes",
    Role.RUBRIC_VERIFIER: "verifies the environments that it builds",
}


@dataclass(frozen=True)
class Cast:
    """The name of a model for each role, all of them."""

    models: Mapping[Role, str]

    @classmethod
    def of(cls, team: Team, book: Book) -> Cast:
        """Raises `ModelsError` for a model that the book does not have."""
        return cls(MappingProxyType({role: book.model(team.model_of(role)).name for role in Role}))

    @classmethod
    def read(cls, text: str) -> Cast:
        """What `text` says. Raises `ModelsError` unless it names each role once and nothing else."""
        words = [word.partition("=") for word in text.split()]
        named = {role: model for role, _, model in words}
        if len(words) != len(named) or set(named) != set(Role) or not all(named.values()):
            raise ModelsError(f"this is no cast, which names a model for each role: {text[:200]!r}")
        return cls(MappingProxyType({role: named[role] for role in Role}))

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def text(self) -> str:
        """The roles in their order; two casts are the same if their texts are."""
        return " ".join(f"{role}={self.models[role]}" for role in Role)

    def model_of(self, role: Role) -> str:
        return self.models[role]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what is allowed but to be known: a model that judges its own work, by its name."""
        return self._warned(lambda name: name)

    def warnings_in(self, book: Book) -> tuple[str, ...]:
        """The same, where two names of the book may stand for one model of one server."""
        return self._warned(lambda name: _identity(book, name))

    @property
    def said(self) -> str:
        """In words: "opus", or "opus; plan reviewer and rubric verifier by gpt"."""
        names = list(self.models.values())
        main = max(dict.fromkeys(names), key=names.count)
        others = [role for role in Role if self.models[role] != main]
        return "; ".join([main, *self._played(others)])

    def unlike(self, other: Cast) -> str:
        """In words, who plays the roles that `other` has played by another model; empty for the same cast."""
        return "; ".join(self._played(role for role in Role if self.models[role] != other.models[role]))

    def _played(self, roles: Iterable[Role]) -> list[str]:
        of_model: dict[str, list[str]] = {}
        for role in roles:
            of_model.setdefault(self.models[role], []).append(_words(role))
        return [f"{_listed(played)} by {model}" for model, played in of_model.items()]

    def _warned(self, identity: Callable[[str], object]) -> tuple[str, ...]:
        """A person who answers may be another each time, so `manual` is not warned of."""
        return tuple(
            self._warning(maker, judge)
            for maker, judge in zip(MAKING, JUDGING, strict=True)
            if self.models[judge] != MANUAL and identity(self.models[maker]) == identity(self.models[judge])
        )

    def _warning(self, maker: Role, judge: Role) -> str:
        made, judged = self.models[maker], self.models[judge]
        if made == judged:
            return f"{judged} {OWN_WORK[judge]} itself"
        return f"{judged}, the {_words(judge)}, is the same model as {made}, the {_words(maker)}"


def _identity(book: Book, name: str) -> tuple[str, str]:
    spec = book.model(name)
    return spec.base_url or spec.provider, spec.model


def _words(role: Role) -> str:
    return role.replace("_", " ")


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
