"""leaks: the built image and its git histories hold neither solution, nor tests, nor expected values.

The image is searched, not the Dockerfile: `COPY . .`, a layer of the base and a log that a build step left
are all seen. What a later layer deleted is not there for a solver either.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from lineages.gates.base import WHOLE_TASK, Finding, Gate, Input, Outcome, Subject, found
from lineages.gates.image_search import HISTORIES, Leak, Search, told
from lineages.gates.secrets import LEAST_BYTES, Secret, is_script, secrets
from sandboxes import dockerfile
from sandboxes.base import Image, Sandbox
from sandboxes.context import dockerfile_text, environment_context
from sandboxes.files import TaskFile
from sandboxes.task import Task

MOST_FINDINGS = 50
REPAIR = "Keep it out of the image: name it in environment/.dockerignore, or copy single files only."


def check(subject: Subject) -> Outcome:
    task, hidden = subject.task, secrets(subject.task)
    context = environment_context(task)
    image = subject.backend.build(context, timeout=task.config.environment.build_timeout_sec)
    placed = _placed(context)
    with subject.backend.open(image, subject.limits, labels=subject.labels) as sandbox:
        search = _search(subject, sandbox, hidden, placed)
        leaks = [*search.run(_compiled(task)), *_variables(image, hidden)]
        if search.unsure:
            leaks += search.read(_folders(image, placed))
    shown = _findings(leaks, search, placed, hidden)
    outcome = found(shown, _summary(subject, hidden), most=MOST_FINDINGS)
    return Outcome(
        outcome.result, outcome.summary, findings=outcome.findings, commands=tuple(search.commands)
    )


def _search(
    subject: Subject, sandbox: Sandbox, hidden: Sequence[Secret], placed: Mapping[str, str]
) -> Search:
    shared = subject.backend.provisional
    return Search(sandbox, hidden, placed=tuple(placed), shared=shared, thorough=subject.thorough)


def _placed(context: Mapping[str, TaskFile]) -> Mapping[str, str]:
    """Where the Dockerfile puts which file of the environment."""
    return dockerfile.copies(dockerfile_text(context, build_network=True), context).files


def _folders(image: Image, placed: Mapping[str, str]) -> list[str]:
    """The folders that the Dockerfile works in, none of them below another."""
    folders = (
        {posixpath.dirname(place) for place in placed} | {image.workdir} | {"/solution", "/tests", "/tmp"}
    )
    folders -= {"/"}
    return sorted(one for one in folders if not any(one.startswith(f"{other}/") for other in folders))


def _compiled(task: Task) -> Mapping[str, frozenset[int]]:
    """Modules of the solution and the tests with their sizes, unless the environment has one of the name."""
    sizes: defaultdict[str, set[int]] = defaultdict(set)
    for path, file in task.files.items():
        if path.startswith(("solution/", "tests/")) and len(file.data.strip()) >= LEAST_BYTES:
            sizes[_module(path)].add(len(file.data))
    own = {_module(path) for path in task.files if path.startswith("environment/")}
    return {module: frozenset(sizes[module]) for module in sorted(sizes.keys() - own - {""})}


def _module(path: str) -> str:
    name = posixpath.basename(path)
    return name.removesuffix(".py") if name.endswith(".py") else ""


def _variables(image: Image, hidden: Sequence[Secret]) -> Iterator[Leak]:
    for name, value in image.env.items():
        yield from told(f"the variable {name}", value.encode(), hidden)


def _findings(
    leaks: Sequence[Leak], search: Search, placed: Mapping[str, str], hidden: Sequence[Secret]
) -> list[Finding]:
    known = {secret.path: secret for secret in hidden}
    whole = {(leak.place, leak.path) for leak in leaks if not leak.numbers}
    shown = dict.fromkeys(leak for leak in leaks if not (leak.numbers and (leak.place, leak.path) in whole))
    findings = [_finding(leak, placed, known[leak.path]) for leak in shown]
    return [*findings, *_names(search), *(_unsure(text) for text in dict.fromkeys(search.unsure))]


def _finding(leak: Leak, placed: Mapping[str, str], secret: Secret) -> Finding:
    origin = f" (from {placed[leak.place]} of the environment)" if leak.place in placed else ""
    what = (
        f"{len(leak.numbers)} of its {len(secret.lines)} telling lines stand in"
        if leak.numbers
        else "the whole file stands in"
    )
    line = leak.numbers[0] if leak.numbers else 1 if is_script(leak.path) else 0
    text = f"{what} {leak.place}{origin} of the image: whoever solves the task can read it there."
    return Finding(text, path=leak.path, line=line, warning=secret.open, repair=REPAIR)


def _names(search: Search) -> Iterator[Finding]:
    for place in search.names:
        if posixpath.basename(place) in HISTORIES:
            yield Finding(f"{place} of the image is a shell's history: look at what it tells.", warning=True)
        else:
            yield Finding(f"{place} of the image is compiled from the solution or the tests.", repair=REPAIR)
    for place in search.folders:
        yield Finding(f"{place} stands in the image, where tests or solution belong.", warning=True)


def _unsure(text: str) -> Finding:
    return Finding(f"{text}: beyond that only the folders that the Dockerfile names were read.", warning=True)


def _summary(subject: Subject, hidden: Sequence[Secret]) -> str:
    where = "what the Dockerfile places" if subject.backend.provisional else "the image"
    return f"None of the {len(hidden)} files of the solution and the tests stands in {where}."


GATE = Gate(
    name="leaks",
    version=1,
    title="The image gives nothing away",
    failing="The solution, the tests or expected values can be read in the image.",
    cost="one sandbox, no trial",
    inputs=WHOLE_TASK | {Input.BACKEND, Input.BASE, Input.THOROUGH},
    check=check,
    after=("static", "build"),
    sandbox=True,
)
