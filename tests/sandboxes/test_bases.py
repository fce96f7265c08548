"""Which images a Dockerfile needs, and an image whose base is not what it was."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest
from docker import DockerClient

from sandboxes.base import Backend
from sandboxes.dockerfile import bases
from sandboxes.files import TaskFile
from sandboxes.transfer import pack
from tests.sandboxes.conftest import DOCKER_HOST, INSTANCE, LIMITS
from tests.sandboxes.contract.test_commands import sh

DEBIAN = "debian:bookworm-slim"


@pytest.mark.parametrize(
    ("dockerfile", "expected"),
    [
        ("FROM debian:12\n", ("debian:12",)),
        ("from --platform=linux/amd64 debian AS x\n", ("debian",)),
        ("FROM scratch\nCOPY a /\n", ()),
        ("FROM a:1 AS one\nFROM b:2\nCOPY --from=one /x /x\nCOPY --from=0 /x /y\nCOPY --from=c:3 /x /z\n",
         ("a:1", "b:2", "c:3")),
        ("FROM a AS One\nFROM ONE\nFROM a\nCOPY --from=1 / /\n", ("a",)),
        ("ARG T=12\nARG N=debian:$T\nFROM ${N}\nARG T=13\nFROM debian:${T:-9}\n", ("debian:12",)),
        ("FROM a\nRUN --mount=type=cache,target=/c --mount=type=bind,from=b,source=/ true\n", ("a", "b")),
        ('FROM a\nCOPY --from="b" /x /\nRUN --mount=from="c" true\n', ("a", "b", "c")),
        ("FROM a\nCOPY <<EOF /x\nFROM b\nEOF\n# FROM c\nRUN echo 'FROM d'\n", ("a",)),
        ("COPY a b\n", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_every_image_that_a_dockerfile_needs_is_named_once(
    dockerfile: str, expected: tuple[str, ...]
) -> None:
    assert bases(dockerfile) == expected


def context(dockerfile: str) -> dict[str, TaskFile]:
    return {"Dockerfile": TaskFile.text(dockerfile)}


def test_a_backend_that_starts_from_the_machine_has_no_bases(make_backend: Callable[..., Backend]) -> None:
    assert make_backend("bubblewrap").bases(context(f"FROM {DEBIAN}\n")) == {}


@pytest.fixture
def docker(make_backend: Callable[..., Backend]) -> Backend:
    return make_backend("docker")


@pytest.fixture
def client() -> DockerClient:
    return DockerClient(base_url=DOCKER_HOST, timeout=60)


@pytest.fixture
def base(client: DockerClient) -> Callable[[str], str]:
    """Makes one image name lead to a new image with this content; gives the name."""
    name = secrets.token_hex(6)

    def make(content: str) -> str:
        container = client.containers.create(DEBIAN)
        with pack({"/content": TaskFile.text(f"{content}\n")}) as archive:
            container.put_archive("/opt", archive.read())
        # The label has the image removed with the others of this run of the tests.
        container.commit(f"base-{name}", "1", conf={"Labels": {"org.envevo.instance": INSTANCE}})
        container.remove()
        return f"base-{name}:1"

    return make


@pytest.mark.docker
def test_the_engine_tells_the_ids_of_the_images_that_it_has(docker: Backend, client: DockerClient) -> None:
    text = f"FROM {DEBIAN} AS x\nFROM no/such-image:1\nCOPY --from=x / /\nCOPY --from=Not:a:name / /\n"
    assert docker.bases(context(text)) == {
        DEBIAN: client.images.get(DEBIAN).id,
        "no/such-image:1": "",
        "Not:a:name": "",
    }
    assert docker.bases({}) == {}


@pytest.mark.docker
def test_an_image_is_built_again_when_its_base_is_another_one(
    docker: Backend, base: Callable[[str], str]
) -> None:
    name = base("one")
    files = context(f"FROM {name}\nRUN cat /opt/content > /seen\n")
    first, ids = docker.build(files, timeout=120), docker.bases(files)
    assert docker.build(files, timeout=120) == first, "and not before"
    base("two")
    second = docker.build(files, timeout=120)
    assert second.id != first.id and docker.bases(files)[name] != ids[name]
    with docker.open(second, LIMITS, labels={"test": "bases"}) as box:
        assert sh(box, "cat /seen") == b"two\n"


@pytest.mark.docker
def test_a_copied_from_image_counts_as_a_base(docker: Backend, base: Callable[[str], str]) -> None:
    files = context(f"FROM {DEBIAN}\nCOPY --from={base('one')} /opt/content /seen\n")
    first = docker.build(files, timeout=120)
    base("two")
    assert docker.build(files, timeout=120).id != first.id
