"""Building images."""

from __future__ import annotations

import io
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from docker import DockerClient

from sandboxes.base import Backend
from sandboxes.docker import DockerBackend, builder
from sandboxes.errors import BuildFailed, MachineFault, TimedOut, Unsupported
from sandboxes.files import TaskFile
from tests.sandboxes.conftest import DOCKER_HOST, INSTANCE, LIMITS
from tests.sandboxes.contract.test_commands import sh
from tests.sandboxes.contract.test_life import eventually, processes

FROM = "FROM debian:bookworm-slim\n"


def context(dockerfile: str, **files: str) -> dict[str, TaskFile]:
    return {
        "Dockerfile": TaskFile.text(dockerfile),
        **{name: TaskFile.text(text) for name, text in files.items()},
    }


@pytest.fixture
def docker(make_backend: Callable[..., Backend]) -> Backend:
    return make_backend("docker")


def test_files_settings_and_modes_are_placed(backend: Backend) -> None:
    files = context(
        f"{FROM}ENV A=1 B='two words'\nWORKDIR /srv/work\nCOPY . ./\nCOPY --chmod=640 x /etc/x\n", x="1"
    )
    files["run.sh"] = TaskFile.text("#!/bin/sh\necho ran\n", executable=True)
    image = backend.build(files, timeout=120)
    assert (image.backend, image.workdir, image.env["B"]) == (backend.name, "/srv/work", "two words")
    with backend.open(image, LIMITS, labels={}) as box:
        assert sh(box, './run.sh; echo "$A $B"; stat -c %a /etc/x') == b"ran\n1 two words\n640\n"


def test_the_same_content_gives_the_same_image_and_another_another(backend: Backend) -> None:
    one = backend.build(context(f"{FROM}COPY x /x\n", x="1"), timeout=120)
    again = backend.build(context(f"{FROM}COPY x /x\n", x="1"), timeout=120)
    other = backend.build(context(f"{FROM}COPY x /x\n", x="2"), timeout=120)
    assert one.id == again.id != other.id


def test_a_context_without_a_dockerfile_does_not_build(backend: Backend) -> None:
    with pytest.raises(BuildFailed, match="no Dockerfile"):
        backend.build({"x": TaskFile.text("")}, timeout=60)


@pytest.mark.parametrize(
    "dockerfile",
    [
        f"FROM envevo/{INSTANCE}:0123\n",
        f"{FROM}RUN --network=host true\n",
        f"# syntax=evil/frontend\n{FROM}",
        f"{FROM}ADD http://127.0.0.1:1/x /x\n",
        f"{FROM}LABEL org.envevo.fork=1\n",
    ],
    ids=["our own image", "the host's network", "another frontend", "a download", "our own label"],
)
def test_what_the_policy_refuses_is_not_built(backend: Backend, dockerfile: str) -> None:
    with pytest.raises(Unsupported, match="not built here: line"):
        backend.build(context(dockerfile), timeout=60)


def test_bubblewrap_notes_what_it_does_not_run(make_backend: Callable[..., Backend]) -> None:
    image = make_backend("bubblewrap").build(context(f"{FROM}RUN apt-get install -y jq\n"), timeout=60)
    assert image.notes == ("not run: apt-get install -y jq",)


def test_bubblewrap_replaces_no_system_folder(make_backend: Callable[..., Backend]) -> None:
    backend = make_backend("bubblewrap")
    image = backend.build(context(FROM), timeout=60)
    with (
        backend.open(image, LIMITS, labels={}) as box,
        pytest.raises(Unsupported, match="/proc is the machine's own"),
    ):
        box.write_files({"proc": TaskFile(link="tmp")}, "/")


@pytest.mark.docker
def test_a_build_has_no_network(docker: Backend) -> None:
    image = docker.build(
        context(f"{FROM}RUN cut -d: -f1 /proc/net/dev | tail -n +3 > /interfaces\n"), timeout=120
    )
    with docker.open(image, LIMITS, labels={}) as box:
        assert sh(box, "cat /interfaces").split() == [b"lo"]


@pytest.mark.docker
def test_a_build_that_may_use_the_network_fetches_what_it_adds(tmp_path: Path) -> None:
    served: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        files = context(f"{FROM}ADD http://127.0.0.1:{server.server_port}/x /x\n")
        for build_network, said in ((False, "builds here do not have"), (True, "404")):
            docker = DockerBackend(
                instance=INSTANCE, address=DOCKER_HOST, folder=tmp_path, build_network=build_network
            )
            with pytest.raises((Unsupported, BuildFailed), match=said):
                docker.build(files, timeout=60)
            assert bool(served) == build_network
        server.shutdown()


@pytest.mark.docker
def test_an_image_with_a_forks_label_but_not_its_tag_is_not_swept(
    docker: Backend, engine: DockerClient
) -> None:
    name = f"envevo/{INSTANCE}:made-up"
    labels = {"org.envevo.instance": INSTANCE, "org.envevo.fork": "1"}
    engine.images.build(fileobj=io.BytesIO(f"{FROM}RUN true\n".encode()), tag=name, labels=labels)
    docker.sweep(lambda labels: False)
    assert engine.images.get(name)
    engine.images.remove(name)


@pytest.mark.docker
def test_a_failed_build_keeps_head_and_tail_of_its_log(docker: Backend) -> None:
    noise = "seq 40000; echo the very end; exit 7"
    with pytest.raises(BuildFailed) as caught:
        docker.build(context(f"{FROM}RUN {noise}\n"), timeout=120)
    assert "7" in str(caught.value)
    assert "the very end" in caught.value.log and "debian:bookworm-slim" in caught.value.log
    assert len(caught.value.log) <= builder.LOG_BYTES


@pytest.fixture
def registry() -> Iterator[tuple[str, list[int]]]:
    """An address that a `FROM` can name, and the status that its registry answers."""
    status = [404]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(200 if self.path == "/v2/" else status[0])

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", status
        server.shutdown()


@pytest.mark.docker
def test_an_image_that_its_registry_does_not_have_does_not_build(
    docker: Backend, registry: tuple[str, list[int]]
) -> None:
    with pytest.raises(BuildFailed, match="not found"):
        docker.build(context(f"FROM {registry[0]}/none:1\n"), timeout=60)


@pytest.mark.docker
def test_a_registry_that_has_had_enough_of_us_says_nothing_of_the_task(
    docker: Backend, registry: tuple[str, list[int]]
) -> None:
    registry[1][:] = [429]
    with pytest.raises(MachineFault, match="registry does not answer.*429"):
        docker.build(context(f"FROM {registry[0]}/none:2\n"), timeout=60)


@pytest.mark.docker
def test_a_registry_that_is_away_says_nothing_of_the_task_and_a_command_cannot_feign_it(
    docker: Backend,
) -> None:
    with pytest.raises(MachineFault, match="registry does not answer.*connection refused") as caught:
        docker.build(context("FROM 127.0.0.1:1/none:3\n"), timeout=60)
    said = str(caught.value).split("definition: ")[-1].replace('"', '\\"')
    for feigned in (f"ERROR: {said}", "no space left on device"):
        with pytest.raises(BuildFailed, match="exit code"):
            docker.build(context(f'{FROM}RUN false "{feigned}"\n'), timeout=60)


@pytest.mark.docker
def test_the_time_limit_ends_the_build(docker: Backend) -> None:
    seconds = f"300.{secrets.randbelow(10**9)}"
    started = time.monotonic()
    with pytest.raises(TimedOut) as caught:
        docker.build(context(f"{FROM}RUN sleep {seconds}\n"), timeout=3)
    assert caught.value.seconds == 3 and time.monotonic() - started < 30
    assert eventually(lambda: not processes(seconds))


BUILD = """
import sys
from sandboxes.docker.builder import Builder
from sandboxes.files import TaskFile
Builder(sys.argv[1]).build({"Dockerfile": TaskFile.text(sys.argv[2])}, sys.argv[3], {}, timeout=300)
"""


@pytest.mark.docker
def test_a_build_ends_with_a_worker_that_is_killed() -> None:
    seconds = f"300.{secrets.randbelow(10**9)}"
    arguments = [DOCKER_HOST, f"{FROM}RUN sleep {seconds}\n", f"envevo/{INSTANCE}:never"]
    with subprocess.Popen([sys.executable, "-c", BUILD, *arguments]) as worker:
        assert eventually(lambda: bool(processes(seconds)), 60)
        time.sleep(1)  # until the client has nothing more to print, of which it would die too
        assert processes(arguments[-1])
        worker.kill()
    assert eventually(lambda: not processes(seconds) and not processes(arguments[-1]))


@pytest.mark.docker
def test_heredocs_are_built_or_refused_by_name(docker: Backend) -> None:
    files = context(f"{FROM}COPY <<EOF /x\nline $((1))\nEOF\nRUN <<EOF\necho ran > /y\nEOF\n")
    if not builder.Builder(DOCKER_HOST).heredocs:  # e.g. the BuildKit in an engine of version 20.10
        with pytest.raises(Unsupported, match="line 2 of the .* heredoc.*install docker-buildx"):
            docker.build(files, timeout=120)
        return
    with docker.open(docker.build(files, timeout=120), LIMITS, labels={}) as box:
        assert sh(box, "cat /x /y") == b"line $((1))\nran\n"


@pytest.mark.docker
def test_without_buildkit_heredocs_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(builder, "_answers", lambda command: False)
    legacy = DockerBackend(instance=INSTANCE, address=DOCKER_HOST, folder=tmp_path)
    with pytest.raises(Unsupported, match="line 2 of the .* heredoc.*install docker-buildx"):
        legacy.build(context(f"{FROM}RUN <<EOF\necho {secrets.token_hex(4)}\nEOF\n"), timeout=60)
    image = legacy.build(context(f"{FROM}RUN echo {secrets.token_hex(4)} > /x\n"), timeout=120)
    assert image.id.startswith("sha256:") and "legacy" in legacy.identity()


def test_a_machine_without_a_docker_command_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineFault, match="install Docker's client"):
        builder.Builder("unix:///nowhere").build(context(FROM), "tag", {}, timeout=10)


@pytest.mark.docker
def test_an_engine_that_is_away_is_the_machines_fault() -> None:
    with pytest.raises(MachineFault, match="could not be built"):
        builder.Builder("unix:///nowhere/docker.sock").build(context(FROM), "tag", {}, timeout=30)
