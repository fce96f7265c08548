"""The adversary: ways to the reward without the work, to be tried by the gate that asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agents.answers import structured
from agents.modelled.forms import Attacks
from agents.modelled.role import Modelled
from agents.modelled.showing import room_for, show_task
from agents.models import Role
from agents.prompting import prompt
from agents.roles import Attack
from sandboxes.task import Task

MOST_ATTACKS = 5
MOST_SCRIPT, MOST_IDEA = 20_000, 500
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,59}")


@dataclass(frozen=True)
class ModelAdversary(Modelled):
    """An `agents.roles.Adversary`."""

    def attack(self, task: Task) -> tuple[Attack, ...]:
        """Raises `agents.line.ModelTrouble`."""
        answer = structured(
            self.speaking,
            Role.ADVERSARY,
            self.spec,
            subject="attacks",
            prompt=prompt(Role.ADVERSARY),
            values={"task": show_task(task, room_for(self.spec)).text},
            form=Attacks,
            name="attacks",
            check=lambda given: list(_problems(given)),
        )
        return tuple(Attack(each.name, each.script, each.idea) for each in answer.attacks)


def _problems(answer: Attacks) -> Iterator[str]:
    if len(answer.attacks) > MOST_ATTACKS:
        yield f"{len(answer.attacks)} attacks are too many; give the {MOST_ATTACKS} likeliest"
    for name, times in Counter(each.name for each in answer.attacks).items():
        if times > 1:
            yield f"{times} attacks are called {name[:60]!r}"
    for number, each in enumerate(answer.attacks, start=1):
        if not NAME.fullmatch(each.name):
            yield f"attack {number}: `name` is a short name of letters, digits, spaces and - _ ."
        if not each.script.strip() or len(each.script) > MOST_SCRIPT:
            yield f"attack {number}: `script` has 1 to {MOST_SCRIPT:,} characters"
        if not each.idea.strip() or len(each.idea) > MOST_IDEA:
            yield f"attack {number}: `idea` is one sentence of at most {MOST_IDEA} characters"
