"""The played model: a competent one that decides from the conversation it is sent, and remembers nothing.

Asked for a form it fills it; given tools it goes through its moves, the next one being as many as it has
made. So it is the same after any restart of ours or of the server's. It builds what `playbook` knows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.providers.base import Answered, Json, Question, Results, Said, Stop, ToolCall, Usage
from tests.model_servers.playbook import Play, next_play, play_of
from tests.model_servers.speech import Answer, NotSpoken

CHARS_A_TOKEN = 4
PAIR = re.compile(
    r"^\d+\. key (?P<key>.+?): origin: \w+; scenario: (?P<scenario>.*?); skill: (?P<skill>.*?); "
    r"tool: (?P<tool>[^;\n]*)",
    re.MULTILINE,
)
EDIT = re.compile(
    r"^- (?:insert|replace) key (?P<key>.+?): origin:.*?; tool: (?P<tool>[^;\n]*)", re.MULTILINE
)
CRITERION = re.compile(r"^- (\w+) \(", re.MULTILINE)
QUOTABLE = re.compile(r"^(?:summary: .+|schema_version = .+|version = .+)$", re.MULTILINE)
FAILURES = "What the checks found"
NEXT = re.compile(r"\n\n(?:The|What|Earlier|Requirements)\b[^\n]*:\n")
"""A title: a line of its own that ends with a colon."""
ARTIFACTS = re.compile(r"^artifacts = \[(.*?)\]", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^solution/steps/(\d\d)-([\w-]+) \d+", re.MULTILINE)
"""As a line of the list of files."""

Move = tuple[tuple[str, Mapping[str, Json]], ...]
"""The calls of one turn: a tool's name and its arguments."""


def played(question: Question) -> Answer:
    """What it says to this, with what that takes in tokens. Raises `NotSpoken` for a form not known."""
    said = _say(question)
    before = sum(len(_written(turn)) for turn in question.turns[:-1]) + len(question.system)
    now = len(_written(question.turns[-1]))
    written = len(said.text) + sum(len(call.written) for call in said.calls) + len(said.thought)
    cached = before // CHARS_A_TOKEN if len(question.turns) > 1 else 0
    usage = Usage(
        input=(before + now) // CHARS_A_TOKEN + 1, output=written // CHARS_A_TOKEN + 1, cached=cached
    )
    return Answer(said.text, said.calls, said.stop, usage, said.thought)


def _say(question: Question) -> Answer:
    prompt = _written(question.turns[0])
    form = question.schema.form if question.schema else _described(question.system)
    if form:
        return Answer(json.dumps(_filled(form, prompt)), thought="I look at what is asked.")
    tools = {tool.name for tool in question.tools}
    if "ready" in tools:
        return _move(question, [(("ready", _ready("")),)])
    if "submit_solution" in tools:
        return _move(question, _solving())
    if "submit" in tools:
        if problem := _refused(question):
            return Answer(f"I cannot go on: {problem}")
        return _move(question, _building(prompt))
    return Answer("Ready.")


def _described(system: str) -> Json:
    """The form that a system text ends with, of a model that is said to know no schemas; else None."""
    found = system.rpartition("JSON schema:\n")
    return json.loads(found[2]) if found[0] else None


def _written(turn: Said | Answered | Results) -> str:
    """Everything in a turn that is text."""
    if isinstance(turn, Said):
        return turn.text
    if isinstance(turn, Answered):
        return "\n".join([turn.text, *(call.written for call in turn.calls)])
    return "\n".join([*(result.text for result in turn.results), turn.text])


# Forms


def _filled(form: Mapping[str, Json], prompt: str) -> Json:
    fields = set(form.get("properties", ()))
    fill = next((fill for needed, fill in _FORMS if needed <= fields), None)
    if fill is None:
        raise NotSpoken(f"the played model knows no form with the fields {sorted(fields)}")
    return fill(prompt)


def _ready(prompt: str) -> Json:
    return {"ready": True}


def _proposal(prompt: str) -> Json:
    pairs = [match.groupdict() for match in PAIR.finditer(_section(prompt, "The sequence"))]
    observed = [{name: pair[name] for name in ("scenario", "skill", "tool")} for pair in pairs]
    play = next_play({*(pair["tool"] for pair in pairs), *(edit["tool"] for edit in EDIT.finditer(prompt))})
    base = {"observed": observed, "summary": "", "rationale": "", "edits": [], "nothing": ""}
    if "Direction: length." not in prompt:
        return {**base, "nothing": "Every pair that may be replaced is as rare as this work allows."}
    if play is None:
        return {**base, "nothing": "Nothing is left that these files could still be turned into."}
    after = pairs[-1]["key"] if pairs else ""
    edit = {"kind": "insert", "key": "", "after": after, "target": play.made}
    edit |= {"scenario": play.scenario, "skill": play.skill, "tool": play.tool}
    return {
        **base,
        "edits": [edit],
        "summary": f"The finished files become {play.made} by {play.tool}",
        "rationale": f"To {play.skill} needs every file that was finished before, byte for byte; the test "
        f"makes {play.made} again from them in another way and compares.",
    }


def _review(prompt: str) -> Json:
    """Every criterion passes, each with a quote that occurs."""
    quote = found[0] if (found := QUOTABLE.search(prompt)) else ""
    return {
        "verdicts": [
            {"criterion": key, "verdict": "pass", "explanation": f"Met: {key}.", "quote": quote}
            for key in CRITERION.findall(_section(prompt, "The rubric"))
        ]
    }


def _section(prompt: str, title: str) -> str:
    """What stands under the title that begins so, to the next one."""
    found = re.search(rf"^{title}[^\n]*:\n(.*?)(?={NEXT.pattern}|\Z)", prompt, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def _failure(prompt: str) -> Json:
    quote = found[0] if (found := QUOTABLE.search(prompt)) else ""
    verdict = "too_hard" if quote else "unclear"
    return {"verdict": verdict, "explanation": "The tries gave up.", "quote": quote}


def _estimates(prompt: str) -> Json:
    keys = [match["key"] for match in PAIR.finditer(prompt)]
    told = {"scenario": 0.1, "skill": 0.05, "reason": "About as usual as sorting a list."}
    return {"estimates": [{"key": key, **told} for key in keys]}


def _attacks(prompt: str) -> Json:
    script = "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt"
    idea = "Writes the reward before the tests do."
    return {"attacks": [{"name": "forge", "script": script, "idea": idea}]}


_FORMS: Sequence[tuple[frozenset[str], Callable[[str], Json]]] = (
    (frozenset({"edits"}), _proposal),
    (frozenset({"verdicts"}), _review),
    (frozenset({"estimates"}), _estimates),
    (frozenset({"attacks"}), _attacks),
    (frozenset({"quote"}), _failure),
    (frozenset({"ready"}), _ready),
)


# Tools


def _move(question: Question, moves: Sequence[Move]) -> Answer:
    made = sum(isinstance(turn, Answered) for turn in question.turns)
    if made >= len(moves):
        return Answer("I am done.")
    seed = hashlib.sha256(_written(question.turns[0]).encode()).hexdigest()[:8]
    calls = tuple(
        ToolCall(f"call_{seed}_{made}_{at}", name, arguments, json.dumps(arguments))
        for at, (name, arguments) in enumerate(moves[made])
    )
    return Answer(
        f"Step {made + 1} of {len(moves)}.", calls, Stop.TOOLS, thought=f"Next is {moves[made][0][0]}."
    )


def _refused(question: Question) -> str:
    """What a tool last turned down; two of the APIs have only words for it."""
    last = question.turns[-1]
    results = last.results if isinstance(last, Results) else ()
    wrong = (result.text for result in results if result.error or result.text.startswith("Error: "))
    return next(wrong, "")


def _solving() -> list[Move]:
    script = "mkdir -p /app/out && ls /app > /app/out/listing.txt"
    return [(("shell", {"command": "ls -la"}),), (("submit_solution", {"script": script}),)]


@dataclass(frozen=True, slots=True)
class _Job:
    """One changed pair of the plan, and the paths of its parts. `there`: they were written already."""

    key: str
    play: Play
    number: int
    artifacts: tuple[str, ...]
    there: bool

    @property
    def slips(self) -> bool:
        return bool(self.play.slip[0])

    @property
    def step(self) -> str:
        return f"solution/steps/{self.number}-{self.play.name}"

    @property
    def unit(self) -> str:
        return f"tests/units/{self.number - 50:02d}-{self.play.name}"

    @property
    def note(self) -> str:
        return f"environment/overlay{self.play.note_path}"

    @property
    def binding(self) -> Json:
        return {
            "key": self.key,
            "solution_block": self.step,
            "test_units": [self.unit],
            "environment_paths": [self.note],
            "requirement": self.play.requirement,
        }


def _building(prompt: str) -> list[Move]:
    jobs = list(_jobs(prompt))
    submission = {
        "bindings": [job.binding for job in jobs],
        "artifacts": [job.play.made for job in jobs],
        "notes": "Each unit makes its file again in another way.",
    }
    gates: Move = (("run_gates", submission),)
    submit: Move = (("submit", submission),)
    if any(job.there for job in jobs):
        return [*_mending(jobs), gates, submit]
    first = _section(prompt, FAILURES).strip() == "none"
    slips = first and any(job.slips for job in jobs)
    # Who slips does not ask the gates first, or there would be nothing to repair.
    return [*_writing(jobs, slips=slips), *([] if slips else [gates]), submit]


def _jobs(prompt: str) -> Iterator[_Job]:
    """Read from the plan, the settings of the task and the list of its files, as the prompt shows them."""
    listed = ARTIFACTS.search(prompt)
    artifacts = tuple(re.findall(r'"([^"]+)"', listed[1])) if listed else ()
    steps = {name: int(number) for number, name in STEP.findall(prompt)}
    last = max(steps.values(), default=50)
    for edit in EDIT.finditer(_section(prompt, "The plan")):
        play = play_of(edit["tool"].strip())
        if play is None:
            continue
        there = play.name in steps
        last += not there
        yield _Job(edit["key"], play, steps.get(play.name, last), artifacts, there)


def _writing(jobs: Sequence[_Job], *, slips: bool) -> list[Move]:
    """Everything anew."""
    moves: list[Move] = [(("list_files", {}),), (("read_file", {"path": "task.toml"}),)]
    for job in jobs:
        play = job.play
        unit = play.unit(job.artifacts, slipped=slips and job.slips)
        typo = play.step(job.artifacts).replace("# To ", "# Too ", 1)
        moves += [
            (
                ("write_file", {"path": job.step, "text": typo}),
                ("write_file", {"path": job.note, "text": play.note(job.artifacts)}),
            ),
            (("replace_text", {"path": job.step, "old": "# Too ", "new": "# To "}),),
            (("write_file", {"path": job.unit, "text": unit}),),
        ]
    moves.append((("run_command", {"command": "bash -n /tests/test.sh && ls /solution/steps"}),))
    return moves


def _mending(jobs: Sequence[_Job]) -> list[Move]:
    moves: list[Move] = []
    for job in jobs:
        wrong, right = job.play.slip
        moves.append((("read_file", {"path": job.unit}),))
        if job.slips:
            moves.append((("replace_text", {"path": job.unit, "old": wrong, "new": right}),))
    return moves
