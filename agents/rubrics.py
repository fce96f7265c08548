"""The two rubrics as data. A criterion's wording is ours; the ideas are published ones.

Plans: the paper asks for plans that are solvable, specific, not redundant and within their effort.
Environments: the paper's quality criteria, and the eleven of `harbor check` (harbor 0.26).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric: `key` for machines, `title` for a table, `question` for who judges."""

    key: str
    title: str
    question: str


@dataclass(frozen=True)
class Rubric:
    name: str
    criteria: tuple[Criterion, ...]

    @cached_property
    def version(self) -> str:
        """Hex SHA-256 over all wording; verdicts are bound to it."""
        lines = [f"{criterion.key}\0{criterion.title}\0{criterion.question}\n" for criterion in self.criteria]
        return sha256("".join([self.name, "\n", *lines]).encode()).hexdigest()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(criterion.key for criterion in self.criteria)


PLAN_RUBRIC = Rubric(
    "plan",
    (
        Criterion(
            "solvable",
            "Can be solved",
            (
                "Does everything the plan needs exist: the objects it works on, and every tool in the "
                "parent's image?"
            ),
        ),
        Criterion(
            "specific",
            "Is specific",
            (
                "Does every change name its object, its shape and what will be asked, so that two people "
                "would build the same?"
            ),
        ),
        Criterion(
            "direction",
            "Keeps to its direction",
            "Does every change move the declared lever and leave the other two as they were?",
        ),
        Criterion(
            "effort",
            "Keeps to its effort",
            "Is the edit no larger than the effort allows: one pair, one contiguous span, or anything?",
        ),
        Criterion(
            "harder",
            "Makes it harder",
            (
                "Does the lever move: a common scenario becomes a rare one, a skill comes with a rarer tool, "
                "a new step is one that the parent's sequence does not have?"
            ),
        ),
        Criterion(
            "non_redundant",
            "Repeats nothing",
            (
                "Does the plan avoid the operators and objects of the last generation, a third use of any "
                "operator, and plans already turned down?"
            ),
        ),
        Criterion(
            "bounded",
            "Stays in bounds",
            (
                "Do the requirements fit the instruction's cap of words, and does no obstacle stand more than"
                " three deep?"
            ),
        ),
        Criterion(
            "goal_kept",
            "Keeps the goal",
            (
                "Do the pairs that the plan does not change stay as they are and in their order, so that the "
                "seed's own work is still the task?"
            ),
        ),
    ),
)

ENVIRONMENT_RUBRIC = Rubric(
    "environment",
    (
        Criterion(
            "described",
            "Tests ask nothing hidden",
            (
                "Is every file that a test looks at named in the instruction, or in a note that the "
                "instruction names?"
            ),
        ),
        Criterion(
            "tested",
            "Requirements are tested",
            "Does a test unit stand behind every requirement?",
        ),
        Criterion(
            "informative_tests",
            "Tests say what is wrong",
            "Does every unit say what it checks, and what failed when it fails?",
        ),
        Criterion(
            "no_test_paths",
            "No word of tests or solution",
            (
                "Do the instruction and the notes keep silent about the paths of the tests and of the "
                "reference solution?"
            ),
        ),
        Criterion(
            "not_in_image",
            "No answers in the image",
            (
                "Are the tests, the solution and every original that was taken away absent from the solver's "
                "image?"
            ),
        ),
        Criterion(
            "not_hardcoded",
            "The solution works for its result",
            (
                "Does the reference solution compute its results, instead of carrying the values that the "
                "tests expect?"
            ),
        ),
        Criterion(
            "graded_apart",
            "Graded apart",
            (
                "Do the tests run in a container of their own, on declared artifacts that cover what they "
                "look at?"
            ),
        ),
        Criterion(
            "no_network",
            "Needs no network to grade",
            "Do the tests run without installing or downloading anything?",
        ),
        Criterion(
            "instruction",
            "The instruction is fit to read",
            "Is there an instruction, without placeholders, and within its cap of words?",
        ),
        Criterion(
            "bounded",
            "Stays in bounds",
            "Is the task small enough to be stored for every generation, with no file out of proportion?",
        ),
    ),
)
