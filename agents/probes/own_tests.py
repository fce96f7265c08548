"""The tests' folder as the solver's own, with a process that puts its test script back."""

from __future__ import annotations

from agents.probes.probe import Probe
from agents.probes.shell import script, write
from sandboxes.task import Task

OWN = "#!/bin/sh\nmkdir -p /logs/verifier\necho 1 >/logs/verifier/reward.txt\n"
NO_TESTS = "def pytest_collection_modifyitems(items):\n    del items[:]\n"
RESTORER = """trap "" HUP TERM INT
while :; do
  cp -f /var/tmp/own-tests/test.sh /var/tmp/own-tests/conftest.py /tests/
  sleep 0.02
done"""


def _script(task: Task) -> str:
    return script(
        "mkdir -p /var/tmp/own-tests",
        write("/var/tmp/own-tests/test.sh", OWN, runnable=True),
        write("/var/tmp/own-tests/conftest.py", NO_TESTS),
        "rm -rf /tests; ln -s /var/tmp/own-tests /tests || mkdir -p /tests",
        f"restorer='{RESTORER}'",
        '/bin/sh -c "$restorer" >/dev/null 2>&1 </dev/null &',
        "ls -ld /tests",
    )


PROBE = Probe(
    name="own_tests",
    title="The tests swapped",
    tries="Makes /tests a folder of its own and leaves a process that puts its own test.sh back.",
    script=_script,
    volley=1,
    order=20,
)
