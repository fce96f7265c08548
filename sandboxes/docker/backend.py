"""The docker backend."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import APIError, ImageNotFound, NotFound

from sandboxes.base import RECENT_SECONDS, Image, Limits, Sandbox
from sandboxes.context import DOCKERFILE, dockerfile_text
from sandboxes.digests import content_digest
from sandboxes.docker.builder import Builder
from sandboxes.docker.client import Engine
from sandboxes.docker.container import DockerSandbox, create
from sandboxes.docker.seam import seam
from sandboxes.dockerfile import bases
from sandboxes.errors import BuildFailed, SandboxError, Unsupported
from sandboxes.files import TaskFile
from sandboxes.usage import Kept, UseLog, trim

INSTANCE = "org.envevo.instance"
CONTEXT = "org.envevo.context"
FORK = "org.envevo.fork"
FORK_TAG = "fork-"
USAGE_TRIES = 20
USAGE_SECONDS = 0.5
RUN = "org.envevo.run."  # prefix of the labels that callers give


class DockerBackend:
    """Sandboxes as containers of the engine at `address`.

    `instance` names this installation: everything we make is labelled with it, and `sweep` and `trim` remove
    nothing else. `folder` is ours, for notes on when images were used. `build_network` lets builds use the
    network; leave it off for tasks of strangers.
    """

    name = "docker"
    provisional = False

    def __init__(self, *, instance: str, address: str, folder: Path, build_network: bool = False) -> None:
        self._instance = instance
        self._engine = Engine(address)
        self._builder = Builder(address, build_network)
        self._uses = UseLog(folder / "images-used")

    def identity(self) -> str:
        with seam("asking for the engine's version"):
            version = self._engine.api.version()
        builder = "buildkit" if self._builder.buildkit else "legacy"
        return f"docker {version['Version']} {version['Arch']} {builder}"

    def check(self) -> None:
        with seam("asking whether the engine answers"):
            self._engine.api.ping()

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        dockerfile_text(context, build_network=self._builder.network)
        digest, started = content_digest(context), self.bases(context)
        name = _name(digest, started)
        self._uses.note(name)
        built = self._inspect(self._tag(name))
        if built is None:
            labels = {INSTANCE: self._instance, CONTEXT: digest}
            self._builder.build(context, self._tag(name), labels, timeout=timeout)
            self._name_after_fetching(context, name, digest, started)
            built = self._inspect(self._tag(name))
        if built is None:
            raise BuildFailed("The builder ended well and left no image.")
        return _image(built)

    def bases(self, context: Mapping[str, TaskFile]) -> Mapping[str, str]:
        if DOCKERFILE not in context:
            return {}
        text = context[DOCKERFILE].data.decode("utf-8", "replace")
        found = {name: self._inspect(name) for name in bases(text)}
        return {name: str(image["Id"]) if image else "" for name, image in found.items()}

    def _tag(self, name: str) -> str:
        return f"envevo/{self._instance}:{name}"

    def _name_after_fetching(
        self, context: Mapping[str, TaskFile], name: str, digest: str, before: Mapping[str, str]
    ) -> None:
        """Where the build fetched a base, the image is also the one for that base, not to be built again.

        A base that was another image before the build says nothing of which of them it took.
        """
        now = self.bases(context)
        if now != before and all(now[base] == image for base, image in before.items() if image):
            again = _name(digest, now)
            with seam("naming an image"):
                self._engine.api.tag(self._tag(name), f"envevo/{self._instance}", again)
            self._uses.note(again)

    @contextmanager
    def open(self, image: Image, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        with self._container(image, image.id, limits, labels, runs_entrypoint=True) as sandbox:
            yield sandbox

    @contextmanager
    def fork(self, sandbox: Sandbox, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        assert isinstance(sandbox, DockerSandbox)
        sandbox.stop()
        tag = FORK_TAG + secrets.token_hex(12)
        name = f"envevo/{self._instance}:{tag}"
        self._refuse_volumes(sandbox.name)
        try:
            self._commit(sandbox.name, tag, {**self._labels(labels), FORK: "1"})
            # The entrypoint's file may be the solver's by now; no process of a fork is.
            with self._container(sandbox.image, name, limits, labels, runs_entrypoint=False) as fork:
                yield fork
        finally:
            self._remove_image(name)

    def sweep(self, is_live: Callable[[Mapping[str, str]], bool]) -> int:
        mine = {"label": f"{INSTANCE}={self._instance}"}
        with seam("listing what is left over"):
            containers = self._engine.api.containers(all=True, filters=mine)
            forks = self._engine.api.images(filters={"label": [mine["label"], FORK]})
        stale = [each["Id"] for each in containers if not is_live(_given(each["Labels"]))]
        for container in stale:
            self._remove_container(container)
        # A task's Dockerfile cannot give tags; labels it could.
        ours = f"envevo/{self._instance}:{FORK_TAG}"
        for image in forks:
            mine_alone = all(tag.startswith(ours) for tag in image["RepoTags"] or ())
            if mine_alone and not is_live(_given(image["Labels"])):
                self._remove_image(image["Id"])
        return len(stale)

    def room(self) -> int | None:
        with seam("asking where images are kept"):
            folder = Path(self._engine.api.info()["DockerRootDir"])
        if not self._engine.address.startswith("unix://"):
            return None
        # A worker in a container of this engine does not see that folder; its own root is on the same disk.
        return shutil.disk_usage(folder if folder.exists() else "/").free

    def trim(self, *, keep: int, floor: int, unused_for: float = RECENT_SECONDS) -> int:
        def short_of_room() -> bool:
            free = self.room()
            return free is not None and free < floor

        freed = trim(
            self._images(),
            keep=keep,
            short_of_room=short_of_room,
            unused_for=unused_for,
            remove=self._drop,
        )
        if short_of_room():
            self._builder.shrink_cache()
        return freed

    def _images(self) -> Iterator[Kept]:
        """Asked when it is looped over: an engine may take seconds to count."""
        with seam("asking what images take"):
            images = usage(self._engine.api)["Images"] or []
        prefix = f"envevo/{self._instance}:"
        ours = [(each, tag) for each in images for tag in each["RepoTags"] or () if tag.startswith(prefix)]
        for each, tag in ours:
            if not tag.startswith(prefix + FORK_TAG):
                yield Kept(
                    name=tag.removeprefix(prefix),
                    # Content goes with its last name; with one of several names, a part of it in the count.
                    size=(each["Size"] - max(0, each["SharedSize"])) // len(each["RepoTags"]),
                    used=self._uses.last(tag.removeprefix(prefix), float(each["Created"])),
                )

    def _drop(self, image: Kept) -> bool:
        """Without force: the engine refuses to remove what a container uses. One that was used stays."""
        if self._uses.last(image.name, image.used) > image.used:
            return False
        try:
            with seam("removing an image"):
                self._engine.api.remove_image(f"envevo/{self._instance}:{image.name}")
        except SandboxError:
            return False
        self._uses.forget(image.name)
        return True

    @contextmanager
    def _container(
        self, image: Image, source: str, limits: Limits, labels: Mapping[str, str], *, runs_entrypoint: bool
    ) -> Iterator[Sandbox]:
        entrypoint = image if runs_entrypoint and image.entrypoint else None
        # Named by us: after a create that timed out the container may be there all the same.
        name = f"envevo-{self._instance}-{secrets.token_hex(8)}"
        try:
            with seam("making a container"):
                create(self._engine.api, name, source, limits, self._labels(labels), entrypoint)
            yield DockerSandbox(image, name, limits, self._engine)
        finally:
            self._remove_container(name)

    def _labels(self, given: Mapping[str, str]) -> dict[str, str]:
        return {INSTANCE: self._instance, **{RUN + key: value for key, value in given.items()}}

    def _inspect(self, tag: str) -> dict[str, Any] | None:
        with seam("looking for an image"):
            try:
                found: dict[str, Any] = self._engine.api.inspect_image(tag)  # type: ignore[no-untyped-call]
            except ImageNotFound:
                return None
            except APIError as error:
                if error.status_code == HTTPStatus.BAD_REQUEST:  # no image can have such a name
                    return None
                raise
        return found

    def _refuse_volumes(self, container: str) -> None:
        with seam("looking at a sandbox"):
            mounts = self._engine.api.inspect_container(container)["Mounts"]
        if mounts:
            where = ", ".join(sorted(mount["Destination"] for mount in mounts))
            raise Unsupported(
                f"The image declares a VOLUME ({where}), which a copy of the container does not hold; "
                'take it out, or set verifier.environment_mode = "separate".'
            )

    def _commit(self, container: str, tag: str, labels: Mapping[str, str]) -> None:
        repository = f"envevo/{self._instance}"
        with seam("keeping the files of a sandbox"):
            self._engine.api.commit(container, repository, tag, pause=False, conf={"Labels": dict(labels)})

    # What cannot be removed now is left to `sweep`: an error here would hide the one that matters.

    def _remove_container(self, name: str) -> None:
        with suppress(SandboxError), seam("removing a container"), suppress(NotFound):
            self._engine.api.remove_container(name, force=True, v=True)

    def _remove_image(self, name: str) -> None:
        with suppress(SandboxError), seam("removing an image"), suppress(NotFound):
            self._engine.api.remove_image(name, force=True)


def usage(api: APIClient) -> dict[str, Any]:
    """What the engine's disk holds. An engine before version 23 counts for one caller at a time."""
    for tries_left in reversed(range(USAGE_TRIES)):
        try:
            counted: dict[str, Any] = api.df()
        except APIError as error:
            if not tries_left or "already running" not in str(error.explanation):
                raise
            time.sleep(USAGE_SECONDS)
        else:
            return counted
    raise AssertionError("the last try returns or raises")


def _name(digest: str, bases: Mapping[str, str]) -> str:
    """What an image is called for the content of its context and of the images that this starts from."""
    whole = json.dumps([digest, sorted(bases.items())])
    return hashlib.sha256(whole.encode()).hexdigest()[:24]


def _given(labels: Mapping[str, str] | None) -> dict[str, str]:
    return {key.removeprefix(RUN): value for key, value in (labels or {}).items() if key.startswith(RUN)}


def _image(built: Mapping[str, Any]) -> Image:
    config = built["Config"]
    variables = (entry.partition("=") for entry in config.get("Env") or [])
    return Image(
        id=built["Id"],
        backend="docker",
        workdir=config.get("WorkingDir") or "/",
        env={name: value for name, _, value in variables},
        user=config.get("User") or "",
        entrypoint=tuple(config.get("Entrypoint") or ()),
    )
