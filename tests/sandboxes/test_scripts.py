"""What `scripts/base-image` and `scripts/services` must never do, with stand-ins for what they call."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OWN = "unix:///run/envevo-1/docker.sock"
DOCKER = """#!/bin/sh
echo "$@" >>{calls}
case $1 in image | pull) exit 1 ;; import) exit 0 ;; esac
"""
HALF = "#!/bin/sh\necho mmdebstrap >>{calls}\nfor last; do :; done\necho half >$last\nexit {code}\n"


def base_image(folder: Path, host: str, code: int) -> tuple[int, str, str]:
    """Exit code, standard error and calls of `base-image` where no registry answers."""
    calls = folder / "calls"
    for name, text in (("docker", DOCKER), ("mmdebstrap", HALF)):
        (folder / name).write_text(text.format(calls=calls, code=code))
        (folder / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DOCKER_HOST": host}
    ran = subprocess.run([SCRIPTS / "base-image"], env=env, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stderr, calls.read_text()


@pytest.mark.parametrize("code", [1, 0])
def test_half_a_root_is_not_imported(tmp_path: Path, code: int) -> None:
    failed, _, calls = base_image(tmp_path, OWN, code)
    assert failed and "mmdebstrap" in calls and "import" not in calls


@pytest.mark.parametrize("host", ["", "unix:///var/run/docker.sock", "tcp://example.com:2375"])
def test_an_engine_of_somebody_elses_gets_no_stand_in(tmp_path: Path, host: str) -> None:
    failed, said, calls = base_image(tmp_path, host, 0)
    assert not failed and "debian:bookworm-slim is skipped: no registry answers" in said
    assert "mmdebstrap" not in calls


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with servers of its own, none of which runs."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "services", tmp_path / "scripts")
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="pid files are in /run")
def test_down_leaves_a_process_alone_that_has_a_number_of_old(checkout: Path) -> None:
    number = subprocess.run(["cksum"], input=f"{checkout}\n", capture_output=True, text=True, check=True)
    run = Path(f"/run/envevo-{number.stdout.split()[0]}")
    run.mkdir()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            (run / "docker.pid").write_text(str(stranger.pid))
            subprocess.run([checkout / "scripts" / "services", "down"], check=True, timeout=30)
            with pytest.raises(subprocess.TimeoutExpired):
                stranger.wait(0.3)
        finally:
            stranger.kill()
            shutil.rmtree(run)


def sourced(checkout: Path, script: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """`script` run where the functions of `services` are known."""
    text = (checkout / "scripts" / "services").read_text()
    (checkout / "scripts" / "part").write_text(text[: text.index("case ${1:-} in\n  up")] + script)
    command = ["bash", str(checkout / "scripts" / "part")]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=30)


def test_plugins_that_cannot_be_had_stop_nothing(checkout: Path) -> None:
    script = 'mkdir -p "$state"; install_plugins() { false; echo never; }\nfetch_plugins\necho went on\n'
    ran = sourced(checkout, script, {})
    assert (ran.returncode, ran.stdout) == (0, "went on\n")
    assert "plugins are missing" in ran.stderr


@pytest.mark.parametrize(
    ("listed", "answer"),
    [
        (
            "Debian Debian-Security http://s/\nDebian Debian http://m/\nDebian Debian http://n/\n",
            "http://m/\n",
        ),
        ("Docker Docker http://d/\n", "none\n"),
        ("", "none\n"),
    ],
)
def test_the_mirror_is_debians_own_or_none(checkout: Path, listed: str, answer: str) -> None:
    script = 'apt-get() { printf %s "$LISTED"; }\ndebian_mirror || echo none\n'
    ran = sourced(checkout, script, {"LISTED": listed})
    assert ran.stdout == answer
