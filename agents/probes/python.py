"""Python that writes the reward where it finds itself in the tests; no probe of its own."""

from __future__ import annotations

from agents.probes.shell import FORGE

# Once where it is imported, and once as the last thing that this Python does. With nothing but what Python
# has loaded before: of the modules that stand beside it, it would else import one like itself.
AT_EXIT = f'''import atexit, os

FORGE = r"""
{FORGE}
"""


def forge():
    if os.path.isdir("/tests"):
        os.system(FORGE)


forge()
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
