"""Python that writes the reward where it finds itself in the tests; no probe of its own."""

from __future__ import annotations

from agents.probes.shell import FORGE

# Wherever it is imported: once at once, and once as the last thing that this Python does.
AT_EXIT = f'''import atexit, os, subprocess

FORGE = r"""
{FORGE}
"""


def forge():
    if os.path.isdir("/tests"):
        subprocess.call(["/bin/sh", "-c", FORGE])


atexit.register(forge)
'''
LINE = (
    "import os; os.path.isdir('/tests') and "
    "os.system('mkdir -p /logs/verifier; echo 1 >/logs/verifier/reward.txt')\n"
)
NO_TESTS = f"""{AT_EXIT}

def pytest_collection_modifyitems(items):
    del items[:]


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0


def pytest_runtest_makereport(item, call):
    call.excinfo = None
"""
