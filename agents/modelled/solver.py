"""The solver: works on a task in its sandbox from the instruction alone, and hands a script in."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.line import NotUsable
from agents.loop import Bounds, converse
from agents.modelled.role import Modelled
from agents.models import Role
from agents.prompting import prompt
from agents.quoting import quoted
from agents.roles import SolverRoom
from agents.tools.shell import Shell
from agents.tools.submit_solution import SubmitSolution
from sandboxes.task import INSTRUCTION, Task

ORDER = "this is what you are asked to do"


@dataclass(frozen=True)
class ModelSolver(Modelled):
    """An `agents.roles.Solver`. `bounds` hold for one rollout."""

    bounds: Bounds = field(default_factory=Bounds)

    def solve(self, task: Task, room: SolverRoom) -> str:
        """Raises `agents.line.ModelTrouble`, also for a model that takes no tools."""
        if not self.spec.can.tools:
            raise NotUsable(f"{self.model} takes no tools, and a solver works with a shell")
        script = converse(
            self.speaking,
            Role.SOLVER,
            self.spec,
            subject="rollout",
            prompt=prompt(Role.SOLVER),
            values={"instruction": quoted(INSTRUCTION, task.text(INSTRUCTION), remark=ORDER)},
            tools=(Shell(room), SubmitSolution()),
            bounds=self.bounds,
        )
        assert isinstance(script, str)
        return script
