"""The rubrics that envevo is shipped with, which people add to (`lineages.library.rubrics`).

A criterion's wording is ours; the ideas are published ones. Plans: the paper asks for plans that are
solvable, specific, not redundant and within their effort. Environments: the paper's quality criteria, and
the eleven of `harbor check` (harbor 0.26). `docs/rubrics.md` has them with their sources.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric: `key` for machines, `title` for a table, `question` for who judges.

    `origin` says in words where it comes from; it is no part of the wording that verdicts are bound to.
    """

    key: str
    title: str
    question: str
    origin: str = field(default="", compare=False)


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


PAPER = "arXiv 2609.04128"
HARBOR = "harbor check 0.26"

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
            origin=f"{PAPER}, 4.1: a plan must be solvable",
        ),
        Criterion(
            "specific",
            "Is specific",
            (
                "Does every change name its object, its shape and what will be asked, so that two people "
                "would build the same?"
            ),
            origin=f"{PAPER}, 4.1: a plan must be specific",
        ),
        Criterion(
            "direction",
            "Keeps to its direction",
            "Does every change move the declared lever and leave the other two as they were?",
            origin=f"{PAPER}, 3 and 4.1: one of three levers moves",
        ),
        Criterion(
            "effort",
            "Keeps to its effort",
            "Is the edit no larger than the effort allows: one pair, one contiguous span, or anything?",
            origin=f"{PAPER}, 4.1: effort bounds the edit",
        ),
        Criterion(
            "harder",
            "Makes it harder",
            (
                "Does the lever move: a common scenario becomes a rare one, a skill comes with a rarer tool, "
                "a new step is one that the parent's sequence does not have?"
            ),
            origin=f"{PAPER}, 3: a lever of off-policy difficulty rises",
        ),
        Criterion(
            "non_redundant",
            "Repeats nothing",
            (
                "Does the plan avoid the operators and objects of the last generation, a third use of any "
                "operator, and plans already turned down?"
            ),
            origin=f"{PAPER}, 4.1: plans are not redundant",
        ),
        Criterion(
            "bounded",
            "Stays in bounds",
            (
                "Do the requirements fit the instruction's cap of words, and does no obstacle stand more than"
                " three deep?"
            ),
            origin="ours: instructions and obstacles that only pile up",
        ),
        Criterion(
            "goal_kept",
            "Keeps the goal",
            (
                "Do the pairs that the plan does not change stay as they are and in their order, so that the "
                "seed's own work is still the task?"
            ),
            origin=f"{PAPER}, 4.1: a plan is a difference to the parent's sequence",
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
            origin=f"{HARBOR}: behavior_in_task_description, file_reference_mentioned",
        ),
        Criterion(
            "tested",
            "Requirements are tested",
            "Does a test unit stand behind every requirement?",
            origin=f"{HARBOR}: behavior_in_tests",
        ),
        Criterion(
            "informative_tests",
            "Tests say what is wrong",
            "Does every unit say what it checks, and what failed when it fails?",
            origin=f"{HARBOR}: informative_test_structure",
        ),
        Criterion(
            "no_test_paths",
            "No word of tests or solution",
            (
                "Do the instruction and the notes keep silent about the paths of the tests and of the "
                "reference solution?"
            ),
            origin=f"{HARBOR}: anti_cheating_measures; the paths are ours",
        ),
        Criterion(
            "not_in_image",
            "No answers in the image",
            (
                "Are the tests, the solution and every original that was taken away absent from the solver's "
                "image?"
            ),
            origin=f"{HARBOR}: tests_or_solution_in_image; originals taken away are ours",
        ),
        Criterion(
            "not_hardcoded",
            "The solution works for its result",
            (
                "Does the reference solution compute its results, instead of carrying the values that the "
                "tests expect?"
            ),
            origin=f"{HARBOR}: hardcoded_solution",
        ),
        Criterion(
            "graded_apart",
            "Graded apart",
            (
                "Do the tests run in a container of their own, on declared artifacts that cover what they "
                "look at?"
            ),
            origin=f"{HARBOR}: anti_cheating_measures, in the separate mode of its verifier",
        ),
        Criterion(
            "no_network",
            "Needs no network to grade",
            "Do the tests run without installing or downloading anything?",
            origin=f"{HARBOR}: test_deps_in_image",
        ),
        Criterion(
            "instruction",
            "The instruction is fit to read",
            "Is there an instruction, without placeholders, and within its cap of words?",
            origin=f"{HARBOR}: typos; the cap of words is ours",
        ),
        Criterion(
            "bounded",
            "Stays in bounds",
            "Is the task small enough to be stored for every generation, with no file out of proportion?",
            origin="ours: every generation is stored",
        ),
    ),
)

SHIPPED = {rubric.name: rubric for rubric in (PLAN_RUBRIC, ENVIRONMENT_RUBRIC)}
