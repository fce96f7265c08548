"""Running a command: its result, its streams, its time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandboxes.base import Backend, Limits, Sandbox
from sandboxes.errors import MachineFault, SandboxDied, SandboxError, TimedOut, Unsupported
from tests.sandboxes.conftest import DOCKER_HOST, INSTANCE, LIMITS

PRINTER = """
import resource, sys
from pathlib import Path
from sandboxes.backends import open_backend
from sandboxes.base import Limits
from sandboxes.files import TaskFile
name, instance, folder, host = sys.argv[1:]
backend = open_backend(name, instance=instance, folder=Path(folder), docker_host=host)
image = backend.build({"Dockerfile": TaskFile.text("FROM debian:bookworm-slim\\n")}, timeout=120)
with backend.open(image, Limits(), labels={}) as box:
    box.exec(["head", "-c", "1000000", "/dev/zero"], timeout=60)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = box.exec(["head", "-c", str(64 << 20), "/dev/zero"], timeout=120)
    print(done.cut, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def sh(box: Sandbox, script: str, *, timeout: float = 60, **options: str) -> bytes:
    done = box.exec(["sh", "-c", script], timeout=timeout, **options)  # type: ignore[arg-type]
    assert done.ok, done.stderr
    return done.stdout


def test_a_failing_command_is_a_result(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "echo out; echo err >&2; exit 7"], timeout=60)
    assert (done.exit_code, done.stdout, done.stderr, done.cut) == (7, b"out\n", b"err\n", 0)


def test_a_result_says_what_ran_when_and_for_how_long(box: Sandbox) -> None:
    before = datetime.now(UTC)
    done = box.exec(["sleep", "0.3"], timeout=60)
    assert done.argv == ("sleep", "0.3")
    assert before <= done.started_at <= datetime.now(UTC)
    assert 0.3 <= done.seconds < 20


def test_a_command_that_is_not_there_gives_127(box: Sandbox) -> None:
    assert box.exec(["no-such-command"], timeout=60).exit_code == 127


def test_a_command_killed_by_a_signal_gives_128_plus_its_number(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "kill -9 $$"], timeout=60).exit_code == 137


def test_a_command_that_kills_its_process_group_is_a_result(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "kill -15 0; sleep 5"], timeout=60).exit_code == 143


def test_arguments_arrive_as_they_are(box: Sandbox) -> None:
    arguments = ["a b", "", "*", "$HOME", "'", '"', "-n", "new\nline", "größe", "\\"]
    done = box.exec(["printf", "[%s]", *arguments], timeout=60)
    assert done.stdout.decode() == "".join(f"[{argument}]" for argument in arguments)


def test_standard_input_is_empty(box: Sandbox) -> None:
    started = time.monotonic()
    done = box.exec(["sh", "-c", "read -r line; echo read gave $?; cat"], timeout=60)
    assert (done.stdout, time.monotonic() - started < 20) == (b"read gave 1\n", True)


def test_the_working_folder_is_the_images(box: Sandbox) -> None:
    assert box.image.workdir == "/app"
    assert sh(box, "pwd") == b"/app\n"


def test_another_working_folder_can_be_given(box: Sandbox) -> None:
    assert sh(box, "pwd", cwd="/usr/share") == b"/usr/share\n"


def test_a_working_folder_that_is_not_there_gives_126(box: Sandbox) -> None:
    assert box.exec(["true"], timeout=60, cwd="/not/there").exit_code == 126


def test_variables_of_the_image_and_of_the_command_are_set(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", 'echo "$GREETING, $NAME"'], timeout=60, env={"NAME": "Jürgen = $x"})
    assert done.stdout.decode() == "good morning, Jürgen = $x\n"


def test_a_variable_of_the_command_wins_and_lasts_for_it_alone(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "echo $GREETING"], timeout=60, env={"GREETING": "x"}).stdout == b"x\n"
    assert sh(box, "echo $GREETING") == b"good morning\n"


def test_there_is_a_path_and_a_home(box: Sandbox) -> None:
    assert sh(box, 'command -v awk >/dev/null && cd && [ "$PWD" = /root ] && echo yes') == b"yes\n"


def test_output_that_is_no_text_arrives_as_it_is(box: Sandbox) -> None:
    done = box.exec(["printf", r"\377\376\200 \000 \355\240\200 \360\237"], timeout=60)
    assert done.stdout == b"\xff\xfe\x80 \0 \xed\xa0\x80 \xf0\x9f"


def test_long_output_keeps_head_and_tail_and_counts_the_rest(box: Sandbox) -> None:
    script = "echo FIRST; head -c 300000 /dev/zero | tr '\\0' A; echo LAST; echo E >&2"
    done = box.exec(["sh", "-c", script], timeout=60)
    assert len(done.stdout) == LIMITS.output_bytes
    assert done.stdout.startswith(b"FIRST\nAAA") and done.stdout.endswith(b"AAALAST\n")
    assert done.stderr == b"E\n"
    assert done.cut == len("FIRST\n") + 300_000 + len("LAST\n") - LIMITS.output_bytes


def test_memory_stays_flat_however_much_is_printed(backend: Backend, trees: Path) -> None:
    # In a process of its own: the most that this one ever used may be far above what it uses now.
    command = [
        sys.executable,
        "-c",
        PRINTER,
        backend.name,
        INSTANCE,
        str(trees / "installation"),
        DOCKER_HOST,
    ]
    told = subprocess.run(command, capture_output=True, check=True, timeout=200).stdout.split()
    cut, grown_kib = map(int, told)
    assert cut == (64 << 20) - Limits().output_bytes
    assert grown_kib < 16 << 10


def test_what_was_printed_before_a_limit_is_kept(box: Sandbox) -> None:
    with pytest.raises(TimedOut) as late:
        box.exec(["sh", "-c", "echo so far; echo said >&2; sleep 60"], timeout=1)
    assert (late.value.kept.stdout, late.value.kept.stderr) == (b"so far\n", b"said\n")


def test_a_user_that_does_not_exist_is_unsupported(box: Sandbox) -> None:
    with pytest.raises(Unsupported, match="ghost"):
        box.exec(["true"], timeout=60, user="ghost")


@pytest.mark.parametrize("script", ["kill -9 -1; sleep 9", "kill -9 1; kill 1; kill -9 $PPID; sleep 9"])
def test_a_command_that_kills_everything_says_nothing_of_the_machine(box: Sandbox, script: str) -> None:
    try:
        done = box.exec(["sh", "-c", script], timeout=60)
    except SandboxError as error:
        assert not isinstance(error, SandboxDied | MachineFault), error
    else:
        assert done.exit_code in (0, 1, 137)
    assert sh(box, "echo still here") == b"still here\n"


def test_a_shell_that_a_command_removed_says_nothing_of_the_machine(box: Sandbox) -> None:
    sh(box, "rm -f /bin/sh /bin/dash /usr/bin/sh /usr/bin/dash")
    with pytest.raises(SandboxError) as caught:
        box.exec(["true"], timeout=60)
    assert not isinstance(caught.value, SandboxDied | MachineFault)


class Soft(Exception):
    pass


def test_an_exception_in_the_caller_ends_the_command(box: Sandbox) -> None:
    def interrupt(*_: object) -> None:
        raise Soft

    sh(box, "true")
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1)
    started = time.monotonic()
    try:
        with pytest.raises(Soft):
            box.exec(["sh", "-c", "while :; do echo x >> /app/beats; sleep 0.05; done"], timeout=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 10
    beats = box.read_files(["/app/beats"])["/app/beats"].data
    time.sleep(0.3)
    assert beats and box.read_files(["/app/beats"])["/app/beats"].data == beats


def test_a_background_child_that_holds_the_pipe_delays_nothing(box: Sandbox) -> None:
    started = time.monotonic()
    done = box.exec(["sh", "-c", "sleep 60 & sleep 0.2; echo the end"], timeout=50)
    assert (done.exit_code, done.stdout) == (0, b"the end\n")
    assert time.monotonic() - started < 20


def test_no_output_is_lost_to_a_background_child(box: Sandbox) -> None:
    script = "(while :; do sleep 1; done) & i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done"
    assert sh(box, f"{script}; echo last").endswith(b"line 498\nline 499\nlast\n")


def test_a_background_process_lives_on_between_commands(box: Sandbox) -> None:
    sh(box, "sleep 60 >/dev/null 2>&1 & echo $! > /tmp/pid")
    assert sh(box, "kill -0 $(cat /tmp/pid) && echo alive") == b"alive\n"


def test_the_time_limit_ends_children_too(box: Sandbox) -> None:
    script = """trap '' TERM HUP INT
    write() { trap '' TERM HUP; while :; do echo x >> /app/beats; sleep 0.05; done; }
    write & setsid sh -c 'while :; do echo y >> /app/beats; sleep 0.05; done' &
    while :; do sleep 1; done"""
    started = time.monotonic()
    with pytest.raises(TimedOut) as caught:
        box.exec(["sh", "-c", script], timeout=1)
    assert caught.value.seconds == 1
    assert time.monotonic() - started < 20
    beats = box.read_files(["/app/beats"])["/app/beats"].data
    time.sleep(0.3)
    assert beats and box.read_files(["/app/beats"])["/app/beats"].data == beats


def test_another_command_can_run_after_the_time_limit(box: Sandbox) -> None:
    with pytest.raises(TimedOut):
        box.exec(["sh", "-c", "echo kept > /app/file; sleep 60"], timeout=1)
    assert sh(box, "cat /app/file") == b"kept\n"


def test_ended_children_leave_no_zombies(box: Sandbox) -> None:
    script = """for i in $(seq 40); do ( sleep 0.05 & ) ; done; sleep 0.6
    cat /proc/[0-9]*/status 2>/dev/null | grep -c '^State:.Z'"""
    assert box.exec(["sh", "-c", script], timeout=60).stdout == b"0\n"
