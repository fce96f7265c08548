"""Both backends, for every test that asks for `backend`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxes.backends import DOCKER_SOCKET
from sandboxes.base import Backend, Image, Limits, Sandbox
from sandboxes.bubblewrap import BubblewrapBackend
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
def make_backend(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Backend]:
    """A backend by name; "" as its installation is the one of this run of the tests."""

    def make(name: str, installation: str = "") -> Backend:
        if name == "docker":
            return DockerBackend(instance=f"{INSTANCE}{installation}", address=DOCKER_HOST)
        return BubblewrapBackend(folder=folder_of_bubblewrap(tmp_path_factory, installation))

    return make


def folder_of_bubblewrap(factory: pytest.TempPathFactory, installation: str = "") -> Path:
    return factory.getbasetemp() / f"bubblewrap{installation}"


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
