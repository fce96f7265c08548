"""Memory, processes, file sizes."""

from __future__ import annotations

import pytest

from sandboxes.base import Sandbox
from sandboxes.errors import OutOfMemory
from tests.sandboxes.contract.test_commands import sh

EATER = "tail /dev/zero"


def test_the_memory_limit_is_an_error_of_its_own(box: Sandbox) -> None:
    with pytest.raises(OutOfMemory, match="192 MiB"):
        box.exec(["sh", "-c", EATER], timeout=60)


def test_a_child_that_ran_out_of_memory_is_noticed_too(box: Sandbox) -> None:
    with pytest.raises(OutOfMemory):
        box.exec(["sh", "-c", f"{EATER}; echo 0 > /app/reward; exit 0"], timeout=60)


def test_another_command_can_run_after_the_memory_limit(box: Sandbox) -> None:
    with pytest.raises(OutOfMemory):
        box.exec(["sh", "-c", EATER], timeout=60)
    assert sh(box, "echo still here") == b"still here\n"


def test_a_kill_9_is_not_taken_for_the_memory_limit(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "kill -9 $$"], timeout=60).exit_code == 137


def test_the_number_of_processes_is_limited(box: Sandbox) -> None:
    script = "for i in $(seq 200); do sleep 20 & done; echo started all"
    done = box.exec(["sh", "-c", script], timeout=60)
    assert b"started all" not in done.stdout
    assert b"fork" in done.stderr.lower()


def test_a_file_cannot_grow_past_the_disk_limit(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "head -c 100000000 /dev/zero > /app/big"], timeout=60)
    assert not done.ok
    assert sh(box, "stat -c %s /app/big") == b"%d\n" % (64 << 20)


def test_all_files_together_stay_under_the_disk_limit(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "for i in 1 2 3; do head -c 30000000 /dev/zero > /app/$i; done"], timeout=60)
    assert not done.ok
