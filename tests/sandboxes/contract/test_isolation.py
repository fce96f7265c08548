"""What cannot be seen or done from inside."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sandboxes.base import Backend, Image, Sandbox
from tests.sandboxes.conftest import LIMITS
from tests.sandboxes.contract.test_commands import sh

# CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID
ALLOWED_CAPABILITIES = 0b1110_1011


def test_there_is_no_network(box: Sandbox) -> None:
    interfaces = sh(box, "tail -n +3 /proc/net/dev | cut -d: -f1").split()
    assert interfaces == [b"lo"]
    done = box.exec(["bash", "-c", "exec 3<>/dev/tcp/1.1.1.1/53"], timeout=60)
    assert not done.ok and b"unreachable" in done.stderr.lower()


def test_a_server_inside_can_be_reached_inside(box: Sandbox) -> None:
    script = """my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:8080") or die "listen: $!";
    if (!fork) { my $c = IO::Socket::INET->new("127.0.0.1:8080") or die "no: $!"; print $c "hello"; exit }
    print $s->accept->getline;"""
    done = box.exec(["perl", "-MIO::Socket::INET", "-e", script], timeout=30)
    assert (done.stdout, done.stderr) == (b"hello", b"")


def test_no_variable_of_the_worker_is_seen(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVEVO_CANARY", "do-not-tell")
    seen = sh(box, "env; cat /proc/[0-9]*/environ 2>/dev/null; true")
    assert b"do-not-tell" not in seen and b"ENVEVO" not in seen


def test_no_file_of_the_machine_is_seen(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do-not-tell")
    assert not box.exec(["cat", str(secret)], timeout=60).ok
    here = Path(__file__).resolve()
    for path in (here, Path("/var/run/docker.sock"), Path("/etc/machine-id"), Path(f"/proc/1/root{here}")):
        assert not box.exec(["test", "-s", str(path)], timeout=60).ok, path


def test_homes_and_passwords_of_the_machine_are_not_seen(box: Sandbox) -> None:
    assert sh(box, "ls -A /home") == b""
    assert not sh(box, "ls -A /root").strip() or b".ssh" not in sh(box, "ls -A /root")
    shadow = Path("/etc/shadow")
    if os.access(shadow, os.R_OK):
        done = box.exec(["cat", "/etc/shadow"], timeout=60)
        assert done.stdout != shadow.read_bytes()


def test_paths_of_the_machine_are_not_named(box: Sandbox) -> None:
    seen = sh(box, "cat /proc/self/mountinfo | grep -v '^[0-9]* [0-9]* [0-9:]* / / '; cat /proc/1/cmdline")
    assert b"bubblewrap" not in seen and b"/tmp/" not in seen


def test_no_process_of_the_machine_is_seen(box: Sandbox) -> None:
    assert int(sh(box, "ls -d /proc/[0-9]* | wc -l")) < 12


def test_no_device_of_the_machine_is_there(box: Sandbox) -> None:
    assert sh(box, "find /dev -type b; ls /dev/kmsg /dev/mem /dev/kvm 2>/dev/null; true") == b""


def test_devices_of_the_machine_cannot_be_changed(box: Sandbox) -> None:
    # To the modes that they have: if this were allowed, nothing would change but the time.
    before = os.stat("/dev/null").st_ctime_ns
    box.exec(["chmod", "666", "/dev/null", "/dev/zero", "/dev/full"], timeout=60)
    assert os.stat("/dev/null").st_ctime_ns == before


def test_the_kernel_cannot_be_set(box: Sandbox) -> None:
    # Only opened: if one of them were writable, writing would be felt on the machine.
    script = """cd /proc; find sys sysrq-trigger fs irq bus mtrr -type f 2>/dev/null |
    while read -r file; do true 2>/dev/null >> "$file" && echo "$file"; done; true"""
    assert sh(box, script) == b""


def test_root_has_only_the_listed_capabilities(box: Sandbox) -> None:
    lines = dict(line.split(b":\t", 1) for line in sh(box, "grep ^Cap /proc/self/status").splitlines())
    assert sh(box, "id -u") == b"0\n"
    for name in (b"CapEff", b"CapBnd", b"CapPrm"):
        assert int(lines[name], 16) | ALLOWED_CAPABILITIES == ALLOWED_CAPABILITIES


def test_no_program_gains_privileges(box: Sandbox) -> None:
    assert sh(box, "grep NoNewPrivs /proc/self/status").split() == [b"NoNewPrivs:", b"1"]


def test_no_namespace_can_be_made_inside(box: Sandbox) -> None:
    assert not box.exec(["unshare", "--user", "--map-root-user", "true"], timeout=60).ok
    assert not box.exec(["mount", "-t", "tmpfs", "none", "/mnt"], timeout=60).ok


def test_two_sandboxes_do_not_see_each_other(backend: Backend, image: Image) -> None:
    with (
        backend.open(image, LIMITS, labels={"test": "one"}) as one,
        backend.open(image, LIMITS, labels={"test": "two"}) as two,
    ):
        script = "echo one > /app/mine; echo one > /tmp/mine; echo one > /usr/local/mine; exec sleep 2.4242"
        busy = threading.Thread(target=one.exec, args=(["sh", "-c", script],), kwargs={"timeout": 60})
        busy.start()
        seen = sh(two, "sleep 1; ls /app /tmp /usr/local; cat /proc/[0-9]*/cmdline 2>/dev/null; true")
        busy.join()
        assert b"mine" not in seen and b"2.4242" not in seen
        assert sh(one, "cat /app/mine /tmp/mine /usr/local/mine") == b"one\n" * 3


def test_what_one_sandbox_changes_the_next_one_does_not_find(backend: Backend, image: Image) -> None:
    for _ in range(2):
        with backend.open(image, LIMITS, labels={"test": "fresh"}) as box:
            sh(box, "[ ! -e /app/new ] && [ ! -e /usr/local/bin/new ] && [ -e /usr/bin/perl ]")
            sh(
                box,
                "echo > /app/new; echo > /usr/local/bin/new; rm /usr/bin/perl; echo >> /app/seed.txt",
            )


def test_the_tools_are_the_images_own(box: Sandbox) -> None:
    assert sh(box, "ls /usr/bin | wc -l") != b"%d\n" % len(os.listdir("/usr/bin"))


def test_every_system_folder_can_be_written_to(box: Sandbox) -> None:
    assert sh(box, "touch /usr/share/perl5/new /usr/lib/new /usr/local/bin/new && echo yes") == b"yes\n"


def test_other_users_exist(box: Sandbox) -> None:
    done = box.exec(["id", "-un"], timeout=60, user="nobody")
    assert done.stdout == b"nobody\n"


def test_root_gives_files_to_other_users(box: Sandbox) -> None:
    assert sh(box, "chown nobody /app/seed.txt && stat -c %U /app/seed.txt") == b"nobody\n"


def test_root_opens_what_nobody_may_read(box: Sandbox) -> None:
    assert (
        sh(box, "mkdir -m 0 closed; echo text > closed/file; chmod 0 closed/file; cat closed/file")
        == b"text\n"
    )


def test_the_image_holds_what_the_dockerfile_copies(box: Sandbox) -> None:
    assert sh(box, "cat /app/seed.txt") == b"a seed\n"


def test_the_dockerfiles_commands_were_run(box: Sandbox) -> None:
    assert sh(box, "ls /app/made-by-run") == b"/app/made-by-run\n"
