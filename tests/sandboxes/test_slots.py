"""Slots of a machine."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandboxes.slots import NoSlot, slots

HOLDER = """
import sys, time
from pathlib import Path
from sandboxes.slots import slots
with slots(Path(sys.argv[1]), 1).take():
    print("held", flush=True)
    time.sleep(60)
"""


def test_there_are_as_many_as_asked_for(tmp_path: Path) -> None:
    machine = slots(tmp_path, 2)
    with machine.take() as one, machine.take() as two:
        assert {one, two} == {0, 1}
        with pytest.raises(NoSlot, match="All 2 slots"), machine.take(timeout=0.1):
            pass
    with machine.take(timeout=0):
        pass


def test_a_slot_is_free_again_after_an_error(tmp_path: Path) -> None:
    machine = slots(tmp_path, 1)
    with pytest.raises(ZeroDivisionError), machine.take():
        raise ZeroDivisionError
    with machine.take(timeout=0):
        pass


def test_a_waiting_thread_gets_the_slot_when_it_is_free(tmp_path: Path) -> None:
    machine = slots(tmp_path, 1)
    got: list[int] = []

    def wait() -> None:
        with machine.take() as number:
            got.append(number)

    thread = threading.Thread(target=wait)
    with machine.take():
        thread.start()
        thread.join(0.2)
        assert not got
    thread.join(10)
    assert got == [0]


def test_kill_9_frees_a_slot(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    machine = slots(tmp_path, 1)
    with pytest.raises(NoSlot), machine.take(timeout=0.1):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with machine.take(timeout=5):
        pass


def test_a_machine_without_slots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        slots(tmp_path, 0)
