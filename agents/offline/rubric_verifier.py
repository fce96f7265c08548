"""The offline rubric verifier: each criterion of the environment rubric as a check over the files.

It judges what can be told from text. What a run has to show is for the oracle, the empty solution and
the conformance gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from agents.composition import HELD, OVERLAY, PRISTINE, SEED_UNIT, UNITS
from agents.hidden_paths import hidden_words
from agents.offline.compose import HEADING
from agents.offline.reading import read_task
from agents.plan import Binding, CriterionVerdict, Judgement, PlanDraft, Verdict
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from sandboxes.dockerfile import copies
from sandboxes.task import DOCKERFILE, INSTRUCTION, Task

MAX_FILE = 8 << 20
MAX_TASK = 64 << 20
MAX_UNIT = 256 << 10
MIN_SECRET = 12
PLACEHOLDERS = ("TODO:", "<insert")
VERIFIERS_PLACE = "/logs/verifier"
INSTALLS = re.compile(r"(?<![\w/.-])(pip3? install|apt-get|apt install|uvx|npm install)(?![\w.-])")
FETCHES = re.compile(r"(?<![\w/.-])(curl|wget|git\s+clone)\s.*?(?:\w+://|git@)(?:[^\s/'\"@]*@)?([^\s/:'\"]+)")
HERE = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|\[.*|")
"""Hosts that are this machine; `file:///x` has none."""
Finding = tuple[Verdict, str, str]
"""A verdict, its explanation, and a quote."""


class OfflineRubricVerifier:
    """An `agents.roles.RubricVerifier`."""

    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        case = _Case(task, plan, bindings)
        verdicts = []
        for key in rubric.keys:
            verdict, explanation, quote = CHECKS.get(key, _unknown)(case)
            verdicts.append(
                CriterionVerdict(criterion=key, verdict=verdict, explanation=explanation, quote=quote)
            )
        return Judgement(verdicts=tuple(verdicts))


def _passed(explanation: str) -> Finding:
    return Verdict.PASS, explanation, ""


def _unknown(case: _Case) -> Finding:
    return Verdict.NOT_APPLICABLE, "No check of ours knows this criterion: a person or a model judges it.", ""


def _failed(explanation: str, quote: str = "") -> Finding:
    return Verdict.FAIL, explanation, quote


class _Case:
    """A built task, with its texts at hand."""

    def __init__(self, task: Task, plan: PlanDraft | None, bindings: tuple[Binding, ...]) -> None:
        self.task, self.plan, self.bindings = task, plan, bindings
        self.instruction = task.text(INSTRUCTION) if INSTRUCTION in task else ""
        # A note that the image's builder leaves out tells nobody anything.
        landed = copies(task.text(DOCKERFILE), task.under("environment")).files if DOCKERFILE in task else {}
        self.notes = {
            path: task.text(path)
            for path in sorted(f"environment/{name}" for name in landed.values())
            if path.startswith(f"{OVERLAY}/") and path.endswith(".md")
        }
        # Originals that were set aside are data, not tests.
        self.tests = {
            path: task.text(path)
            for path in task.files
            if path.startswith("tests/") and not path.startswith((f"{HELD}/", f"{PRISTINE}/"))
        }

    @property
    def told(self) -> str:
        return "\n".join([self.instruction, *self.notes.values()])


def _described(case: _Case) -> Finding:
    """Files that leave the solver's container and that a test names must be named to the solver."""
    read = "\n".join(case.tests.values())
    for path in _looked_at(case):
        name = path.rsplit("/", 1)[-1]
        if name in read and name not in case.told:
            return _failed(
                f"A test looks at {path}, of which neither the instruction nor a note says anything.", name
            )
    silent = [path for path in case.notes if _container(path) not in case.instruction]
    if silent:
        return _failed(f"The instruction does not name the note {_container(silent[0])}.", "")
    return _passed("Every file that a test looks at is named in the instruction or in a note it names.")


def _looked_at(case: _Case) -> list[str]:
    reading = read_task(case.task)
    declared = [artifact.source for artifact in case.task.config.artifacts]
    files = [path for path in declared if path != reading.workdir]
    return files or list(reading.outputs)


def _container(path: str) -> str:
    return path[len(OVERLAY) :]


def _tested(case: _Case) -> Finding:
    for binding in case.bindings:
        missing = [unit for unit in binding.test_units if unit not in case.task]
        if missing or not binding.test_units:
            return _failed(f"No test unit stands behind: {binding.requirement}", binding.requirement)
        if binding.requirement not in case.instruction:
            return _failed("The instruction does not ask for what a unit tests.", binding.requirement)
    asked = case.instruction.partition(HEADING)[2].count("\n- ")
    units = [path for path in case.tests if path.startswith(f"{UNITS}/") and path != SEED_UNIT]
    if asked > len(units):
        return _failed(f"There are {asked} further requirements and {len(units)} units.", HEADING)
    return _passed("Every requirement has its unit.") if case.tests else _failed("There are no tests.")


def _informative_tests(case: _Case) -> Finding:
    if not case.bindings:
        return Verdict.NOT_APPLICABLE, "A seed's tests are taken as they are.", ""
    for unit in _units(case):
        lines = case.tests[unit].splitlines()
        if not any(line.startswith("# Unit ") for line in lines[:3]) or "fail " not in case.tests[unit]:
            return _failed(f"{unit} does not say what it checks, or nothing when it fails.", unit)
    return _passed("Every unit says what it checks and what failed.")


def _units(case: _Case) -> list[str]:
    return [unit for binding in case.bindings for unit in binding.test_units if unit in case.tests]


def _no_test_paths(case: _Case) -> Finding:
    told = [name for _, name in hidden_words(case.told, case.task)]
    told += [VERIFIERS_PLACE] if VERIFIERS_PLACE in case.told else []
    if told:
        return _failed(f"The solver is told of {told[0]}.", told[0])
    return _passed("Neither the instruction nor a note names tests or solution.")


def _not_in_image(case: _Case) -> Finding:
    """No file of the image has the content of a test, of the solution, or of what was taken away."""
    secret = {
        file.data: path for path, file in case.task.files.items() if path.startswith(("solution/", "tests/"))
    }
    public = {file.data: path for path, file in case.task.under(PRISTINE).items()}
    held = {file.data: path for path, file in case.task.under(HELD).items()}
    for path, file in case.task.under("environment").items():
        leaks = file.data in held or (
            file.data in secret and file.data not in public and path != "Dockerfile"
        )
        if leaks and len(file.data) >= MIN_SECRET:
            return _failed(
                f"environment/{path} has the content of {held.get(file.data) or secret[file.data]}.", path
            )
    return _passed(
        "No file of the image has the content of a test, of the solution, or of an original set aside."
    )


def _not_hardcoded(case: _Case) -> Finding:
    """No line of ours in the solution carries a long word that only the tests know."""
    for binding in case.bindings:
        step = case.task.text(binding.solution_block) if binding.solution_block in case.task else ""
        for unit in binding.test_units:
            secret = _carried(step, case.tests.get(unit, ""), case.told)
            if secret:
                return _failed(f"{binding.solution_block} carries a value that {unit} expects.", secret)
    return _passed("No block of the solution carries a value that a test expects.")


def _carried(step: str, unit: str, told: str) -> str:
    """The first long hexadecimal or numeric word that step and unit share and the solver is not told."""
    words = {word.strip("\"'") for word in unit.split()}
    long = [word for word in words if len(word) >= MIN_SECRET and all(c in "0123456789abcdef" for c in word)]
    return next((word for word in sorted(long) if word in step and word not in told), "")


def _graded_apart(case: _Case) -> Finding:
    if not case.task.separate:
        if case.bindings:
            return _failed("An evolved task has to be graded in a container of its own.")
        return (
            Verdict.NOT_APPLICABLE,
            "A seed may be graded in the solver's container; its first evolution ends that.",
            "",
        )
    if not case.task.config.artifacts:
        return _failed("Nothing leaves the solver's container: there are no artifacts.")
    return _passed("The tests run apart, on declared artifacts.")


def _no_network(case: _Case) -> Finding:
    for path, text in case.tests.items():
        if path.endswith("Dockerfile"):
            continue
        code = [line for line in text.replace("\\\n", " ").splitlines() if not line.lstrip().startswith("#")]
        word = next((word for line in code if (word := _fetches(line))), "")
        if word:
            return _failed(f"{path} installs or downloads something while it grades.", word)
    return _passed("Nothing is installed or downloaded to grade.")


def _fetches(line: str) -> str:
    """The words of a line that install something, or load it from another machine; "" where none do.

    An address that a variable holds is not known, and so not held against the line.
    """
    found = INSTALLS.search(line)
    if found:
        return found[1]
    return next((match[1] for match in FETCHES.finditer(line) if not _is_here(match[2])), "")


def _is_here(host: str) -> bool:
    return host.startswith("$") or HERE.fullmatch(host) is not None


def _instruction(case: _Case) -> Finding:
    if not case.instruction.strip():
        return _failed("There is no instruction.")
    word = next((word for word in PLACEHOLDERS if word in case.instruction), "")
    if word:
        return _failed("The instruction has a placeholder.", word)
    seed, heading, _ = case.instruction.partition(HEADING)
    words, cap = len(case.instruction.split()), max(len(seed.split()) * 16 // 10, len(seed.split()) + 180)
    if heading and words > cap:
        return _failed(f"The instruction has {words} words, and its cap is {cap}.", HEADING)
    return _passed(f"It has {words} words.")


def _bounded(case: _Case) -> Finding:
    sizes = {path: len(file.data) for path, file in case.task.files.items()}
    largest = max(sizes, key=lambda path: sizes[path])
    if sizes[largest] > MAX_FILE or sum(sizes.values()) > MAX_TASK:
        return _failed(
            f"The task has {sum(sizes.values())} bytes, {largest} alone {sizes[largest]}.", largest
        )
    unit = next((unit for unit in _units(case) if sizes[unit] > MAX_UNIT), "")
    return (
        _failed(f"{unit} has {sizes[unit]} bytes.", unit)
        if unit
        else _passed(f"{sum(sizes.values())} bytes in all.")
    )


CHECKS: Mapping[str, Callable[[_Case], Finding]] = {
    "described": _described,
    "tested": _tested,
    "informative_tests": _informative_tests,
    "no_test_paths": _no_test_paths,
    "not_in_image": _not_in_image,
    "not_hardcoded": _not_hardcoded,
    "graded_apart": _graded_apart,
    "no_network": _no_network,
    "instruction": _instruction,
    "bounded": _bounded,
}
