"""The verdict, written before anybody asks for it, in both of Harbor's forms."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import script
from sandboxes.task import Task

PASSED = '{"results": {"summary": {"tests": 1, "passed": 1, "failed": 0}, "tests": []}}'


def _script(task: Task) -> str:
    return script(
        "mkdir -p /logs/verifier",
        "printf 1 >/logs/verifier/reward.txt",
        """printf '{"reward": 1.0}' >/logs/verifier/reward.json""",
        f"printf '%s' '{PASSED}' >/logs/verifier/ctrf.json",
        "ls -l /logs/verifier",
    )


PROBE = Probe(
    name="planted_reward",
    title="A planted reward",
    tries="Leaves reward.txt, reward.json and ctrf.json in the log folder before the tests start.",
    script=_script,
    volley=1,
)
