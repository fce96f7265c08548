"""Results made of the words of the instruction, for tests that look for words."""

from __future__ import annotations

from agents.probes.places import has_outputs
from agents.probes.probe import Probe
from agents.probes.shell import each_output, script, write
from sandboxes.task import INSTRUCTION, Task

MOST = 20_000  # characters: all of it has to fit into one argument of a command


def _script(task: Task) -> str:
    text = task.text(INSTRUCTION).replace("\0", "")[:MOST]
    alone = "\n".join(dict.fromkeys(word.strip("`'\".,;:()") for word in text.split()))
    return script(
        write("/var/tmp/.words", f"{text}\n{alone}\nok\nPASS\nsuccess\ndone\ntrue\n"),
        each_output(task, 'rm -f "$p"; cp /var/tmp/.words "$p" && echo "$p"'),
    )


PROBE = Probe(
    name="instruction_words",
    title="The instruction as its own answer",
    tries="Fills every result with the instruction, each of its words, and words of success.",
    script=_script,
    applies=lambda task: has_outputs(task) and INSTRUCTION in task,
)
