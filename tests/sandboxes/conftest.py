"""Both backends, for every test that asks for `backend`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import docker
import docker.errors
import pytest

from sandboxes.backends import DOCKER_SOCKET
from sandboxes.base import Backend, Image, Limits, Sandbox
from sandboxes.bubblewrap import BubblewrapBackend
from sandboxes.bubblewrap.view import remove_tree
from sandboxes.docker import DockerBackend
from sandboxes.files import TaskFile

BACKENDS = ("bubblewrap", pytest.param("docker", marks=pytest.mark.docker))
INSTANCE = f"test-{os.getpid()}"  # two runs of the suite never sweep each other
DOCKER_HOST = os.environ.get("DOCKER_HOST") or DOCKER_SOCKET
LIMITS = Limits(memory_mb=192, pids=64, disk_mb=64, output_bytes=4096, read_bytes=1 << 20)
DOCKERFILE = """\
FROM debian:bookworm-slim
WORKDIR /app
ENV GREETING="good morning"
COPY seed.txt /app/
RUN touch /app/made-by-run
"""


@pytest.fixture(scope="session")
def trees() -> Iterator[Path]:
    """Where bubblewrap keeps its trees: pytest's own folders are closed to the sandboxes' user."""
    folder = Path(tempfile.mkdtemp(prefix="envevo-trees-"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@pytest.fixture(scope="session")
def make_backend(trees: Path) -> Iterator[Callable[..., Backend]]:
    """A backend by name; "" as its installation is the one of this run of the tests."""

    def make(name: str, installation: str = "") -> Backend:
        if name == "docker":
            return DockerBackend(
                instance=f"{INSTANCE}{installation}",
                address=DOCKER_HOST,
                folder=trees / f"docker{installation}",
            )
        return BubblewrapBackend(folder=trees / f"installation{installation}")

    yield make
    with suppress(docker.errors.DockerException):  # there may be no engine
        remove_our_images(docker.DockerClient(base_url=DOCKER_HOST, timeout=60))


def remove_our_images(client: docker.DockerClient) -> None:
    for image in client.images.list(filters={"label": f"org.envevo.instance={INSTANCE}"}):
        client.images.remove(image.id, force=True)


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest, make_backend: Callable[..., Backend]) -> Iterator[Backend]:
    made = make_backend(request.param)
    yield made
    assert made.sweep(lambda labels: False) == 0, "a test left a sandbox behind"


@pytest.fixture(scope="module")
def image(backend: Backend) -> Image:
    context = {"Dockerfile": TaskFile.text(DOCKERFILE), "seed.txt": TaskFile.text("a seed\n")}
    return backend.build(context, timeout=120)


@pytest.fixture
def box(backend: Backend, image: Image) -> Iterator[Sandbox]:
    with backend.open(image, LIMITS, labels={"test": "box"}) as sandbox:
        yield sandbox
