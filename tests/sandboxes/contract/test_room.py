"""What an installation's images take, and which go when there is too little room."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import docker
import pytest

from sandboxes.base import Backend, Image, Limits
from sandboxes.errors import SandboxError
from sandboxes.files import TaskFile
from sandboxes.usage import Kept, trim

LIMITS = Limits(memory_mb=256)
PLENTY = 1 << 50


@pytest.fixture
def own(backend: Backend, make_backend: Callable[..., Backend]) -> Backend:
    """An installation without any images yet."""
    return make_backend(backend.name, f"room{secrets.token_hex(4)}")


def built(backend: Backend, serial: str) -> Image:
    text = f"FROM debian:bookworm-slim\nWORKDIR /app\nCOPY {serial} /app/{serial}\n"
    return backend.build(
        {"Dockerfile": TaskFile.text(text), serial: TaskFile.text(serial * 1000)}, timeout=120
    )


def test_the_room_is_told_in_bytes(backend: Backend) -> None:
    room = backend.room()
    assert room is not None and 1 << 20 < room < 1 << 60


def test_what_was_used_last_stays_and_the_rest_goes_oldest_first(own: Backend) -> None:
    built(own, "first")
    time.sleep(1.1)  # an engine tells times in seconds
    built(own, "second")
    time.sleep(1.1)
    built(own, "first")

    assert own.trim(keep=1, floor=0, unused_for=0.9) > 0, "the second, which is older now"
    assert own.trim(keep=1, floor=0, unused_for=1e9) == 0
    assert own.trim(keep=0, floor=0, unused_for=0) > 0, "the first was still there"
    assert own.trim(keep=0, floor=0, unused_for=0) == 0, "there is nothing left"


def test_what_was_removed_is_built_again_when_it_is_needed(own: Backend) -> None:
    before = built(own, "again")
    assert own.trim(keep=0, floor=0, unused_for=0) > 0

    with own.open(built(own, "again"), LIMITS, labels={}) as box:
        assert box.image.workdir == before.workdir
        assert box.exec(["cat", "again"], timeout=20).stdout == b"again" * 1000
    own.trim(keep=0, floor=0, unused_for=0)


def test_an_image_of_the_last_minutes_stays_also_when_room_is_short(own: Backend) -> None:
    built(own, "young")
    assert own.trim(keep=0, floor=PLENTY) == 0
    assert own.trim(keep=PLENTY, floor=0, unused_for=0) == 0, "there is room, and little to keep"
    assert own.trim(keep=PLENTY, floor=PLENTY, unused_for=0) > 0, "too little room wherever it went"


def test_another_installations_images_are_left_alone(own: Backend, backend: Backend, image: Image) -> None:
    built(own, "mine")
    own.trim(keep=0, floor=0, unused_for=0)
    with backend.open(image, LIMITS, labels={}) as box:
        assert box.exec(["cat", "/app/seed.txt"], timeout=20).stdout == b"a seed\n"


@pytest.mark.docker
def test_content_with_a_name_of_somebody_elses_stays_under_that_name(
    make_backend: Callable[..., Backend],
) -> None:
    own, name = make_backend("docker", f"room{secrets.token_hex(4)}"), f"somebody/{secrets.token_hex(6)}"
    engine = docker.from_env()
    engine.images.get(built(own, "named").id).tag(name)
    try:
        own.trim(keep=0, floor=0, unused_for=0)

        assert engine.images.get(name).tags == [f"{name}:latest"]
    finally:
        engine.images.remove(name)


def test_several_workers_that_trim_at_once_all_come_to_an_end(
    backend: Backend, make_backend: Callable[..., Backend]
) -> None:
    """An old engine counts what images take for one caller at a time and refuses the others."""
    instance = f"room{secrets.token_hex(4)}"
    workers = [make_backend(backend.name, instance) for _ in range(4)]
    for serial in ("one", "two"):
        built(workers[0], serial)

    with ThreadPoolExecutor(4) as pool:
        freed = list(pool.map(lambda worker: worker.trim(keep=0, floor=0, unused_for=0), workers))

    assert sum(freed) > 0
    assert workers[0].trim(keep=0, floor=0, unused_for=0) == 0


def test_trims_and_builds_at_once_break_nothing_that_another_try_does_not_mend(own: Backend) -> None:
    """Without any age that protects it, an image may go between `build` and `open`: a machine's fault."""
    stop = threading.Event()

    def trim_again_and_again() -> None:
        while not stop.is_set():
            own.trim(keep=0, floor=0, unused_for=0)

    with ThreadPoolExecutor(1) as pool:
        trimming = pool.submit(trim_again_and_again)
        try:
            for serial in ("busy", "busy"):
                with suppress(SandboxError), own.open(built(own, serial), LIMITS, labels={}) as box:
                    assert box.exec(["cat", serial], timeout=20).exit_code == 0
        finally:
            stop.set()
        trimming.result()
    assert built(own, "busy").backend == own.name
    own.trim(keep=0, floor=0, unused_for=0)


@pytest.mark.parametrize(
    ("keep", "short", "removable", "gone"),
    [
        (60, 0, {"a", "b", "c"}, []),  # 10 + 20 + 30 fit
        (50, 0, {"a", "b", "c"}, ["a"]),  # 60 - 10
        (35, 0, {"a", "b", "c"}, ["a", "b"]),  # 60 - 10 - 20
        (50, 0, {"b", "c"}, ["b"]),  # a is in use
        (0, 0, {"a", "b", "c"}, ["a", "b", "c"]),
        (60, 2, {"a", "b", "c"}, ["a", "b"]),  # room comes with the second
    ],
)
def test_images_go_until_they_fit_and_there_is_room(
    keep: int, short: int, removable: set[str], gone: list[str]
) -> None:
    images = [Kept("c", 30, 3.0), Kept("a", 10, 1.0), Kept("b", 20, 2.0)]
    removed: list[str] = []

    def remove(image: Kept) -> bool:
        if image.name in removable:
            removed.append(image.name)
        return image.name in removable

    freed = trim(images, keep=keep, short_of_room=lambda: len(removed) < short, unused_for=60, remove=remove)
    assert removed == gone
    assert freed == sum(image.size for image in images if image.name in gone)
