"""The bubblewrap backend."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from sandboxes import dockerfile
from sandboxes.base import RECENT_SECONDS, Image, Limits, Sandbox
from sandboxes.bubblewrap.box import BubblewrapSandbox
from sandboxes.bubblewrap.cgroups import Cgroup, homes
from sandboxes.bubblewrap.view import (
    Tree,
    bwrap,
    check,
    give,
    lowered,
    make_skeleton,
    overlay_works,
    reachable,
    remove_tree,
)
from sandboxes.context import dockerfile_text
from sandboxes.digests import content_digest
from sandboxes.errors import MachineFault
from sandboxes.files import TaskFile
from sandboxes.usage import Kept, trim

OPEN_PLACE = Path("/var/lib/envevo/bubblewrap")
OS_RELEASE = Path("/etc/os-release")


class BubblewrapBackend:
    """Sandboxes as private folders below `folder`, with this machine's own tools.

    Nothing is installed: `build` places the files that a Dockerfile copies, honours WORKDIR and ENV, and
    says in the image's notes which RUN lines did not run.
    """

    name = "bubblewrap"
    provisional = True

    def __init__(self, *, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        home = folder if reachable(folder) else _open_folder(folder)
        self._images = home / "images"
        self._boxes = home / "boxes"
        for each in (self._images, self._boxes):
            each.mkdir(parents=True, exist_ok=True)

    def identity(self) -> str:
        version = subprocess.run(
            [bwrap(), "--version"], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
        system = "overlay" if self._overlay else "read-only"
        groups = ",".join(sorted(homes())) or "none"
        user = "root" if os.geteuid() == 0 and not lowered() else "ordinary"
        return (
            f"bubblewrap {version} {platform.machine()} {_system()} usr={system} cgroups={groups} user={user}"
        )

    def check(self) -> None:
        check()

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        text = dockerfile_text(context)
        digest = content_digest(context)
        copied = dockerfile.copies(text, context)
        image = Image(
            id=digest,
            backend=self.name,
            workdir=dockerfile.workdir(text),
            env=dockerfile.env(text),
            notes=(*(f"not run: {line}" for line in dockerfile.runs(text)), *copied.notes),
        )
        try:
            os.utime(self._images / digest)  # its time is that of the last use, for `trim`
        except FileNotFoundError:
            self._place(image, {target: _copied(context, copied, target) for target in copied.files})
        return image

    def bases(self, context: Mapping[str, TaskFile]) -> Mapping[str, str]:
        return {}

    @contextmanager
    def open(self, image: Image, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        with self._box(image, limits, labels, Tree(self._images / image.id)) as box:
            yield box

    @contextmanager
    def fork(self, sandbox: Sandbox, limits: Limits, *, labels: Mapping[str, str]) -> Iterator[Sandbox]:
        assert isinstance(sandbox, BubblewrapSandbox)
        sandbox.stop()
        with self._box(sandbox.image, limits, labels, sandbox.tree) as box:
            yield box

    def sweep(self, is_live: Callable[[Mapping[str, str]], bool]) -> int:
        removed = 0
        for record in sorted(self._boxes.glob("*.json")):
            with suppress(FileNotFoundError):  # its own worker was faster
                known = json.loads(record.read_text())
                if not is_live(known["labels"]):
                    _end_processes(record.with_suffix(""))
                    _forget(record, Cgroup(tuple(map(Path, known["cgroups"]))))
                    removed += 1
        return removed

    def room(self) -> int | None:
        return shutil.disk_usage(self._images).free

    def trim(self, *, keep: int, floor: int, unused_for: float = RECENT_SECONDS) -> int:
        return trim(
            self._kept(),
            keep=keep,
            short_of_room=lambda: shutil.disk_usage(self._images).free < floor,
            unused_for=unused_for,
            remove=self._drop,
        )

    def _kept(self) -> Iterator[Kept]:
        for each in self._images.iterdir():
            with suppress(FileNotFoundError):  # another worker was faster
                used = each.stat().st_mtime
                # Half of one, which somebody makes or removes just now, or died over.
                if not each.name.startswith(".") or used < time.time() - RECENT_SECONDS:
                    yield Kept(name=each.name, size=_bytes(each), used=used)

    def _drop(self, image: Kept) -> bool:
        """Under another name first, so that nobody starts from half of it. One that was used stays."""
        place, going = self._images / image.name, self._images / f".going-{secrets.token_hex(8)}"
        try:
            if place.stat().st_mtime > image.used:
                return False
            place.rename(going)
        except FileNotFoundError:
            return False
        remove_tree(going)
        return True

    @cached_property
    def _overlay(self) -> bool:
        return overlay_works(self._boxes / f"probe-{secrets.token_hex(8)}")

    def _place(self, image: Image, copies: Mapping[str, TaskFile]) -> None:
        """Make the image's tree under another name first, so that a half-made one is never used."""
        new = Tree(self._images / f".new-{secrets.token_hex(8)}")
        try:
            new.make()
            make_skeleton(new.root)
            give(new.folder)
            box = BubblewrapSandbox(image, new, Limits(), Cgroup(()), self._overlay)
            box.write_files({}, image.workdir)
            box.write_files(copies, "/")
            with suppress(OSError):  # another worker was faster
                new.folder.rename(self._images / image.id)
        finally:
            remove_tree(new.folder)

    @contextmanager
    def _box(
        self, image: Image, limits: Limits, labels: Mapping[str, str], source: Tree
    ) -> Iterator[Sandbox]:
        name = secrets.token_hex(12)
        record = self._boxes / f"{name}.json"
        cgroup = Cgroup.planned(name)
        try:
            # The record comes first: whatever is made after it can be swept, wherever we die.
            _write(record, {"labels": dict(labels), "cgroups": [str(each) for each in cgroup.folders]})
            tree = Tree(record.with_suffix(""))
            with _machine("making a sandbox"):
                cgroup.make(limits)
                tree.copy_of(source)
            box = BubblewrapSandbox(image, tree, limits, cgroup, self._overlay)
            try:
                yield box
            finally:
                box.stop()
        finally:
            _forget(record, cgroup)


def _bytes(folder: Path) -> int:
    """What the files below take; a file that goes meanwhile takes nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def _open_folder(folder: Path) -> Path:
    """For root alone: a place that the sandbox's user can reach, always the same one for a closed folder."""
    home = OPEN_PLACE / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    return home


def _forget(record: Path, cgroup: Cgroup) -> None:
    cgroup.remove()
    remove_tree(record.with_suffix(""))
    record.unlink(missing_ok=True)


def _write(record: Path, value: Mapping[str, object]) -> None:
    new = record.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.rename(record)


@contextmanager
def _machine(doing: str) -> Iterator[None]:
    try:
        yield
    except subprocess.CalledProcessError as error:
        raise MachineFault(f"{doing}: {error.stderr.decode('utf-8', 'replace').strip()}") from error
    except OSError as error:
        raise MachineFault(f"{doing}: {error}") from error


def _end_processes(folder: Path) -> None:
    """Kill the bwrap processes that name this sandbox's folder; where there are no control groups, too."""
    needle = os.fsencode(folder / "root")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if needle in (process / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def _system() -> str:
    with suppress(OSError):
        lines = dict(line.partition("=")[::2] for line in OS_RELEASE.read_text().splitlines())
        return "-".join(lines.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))
    return platform.system()


def _copied(context: Mapping[str, TaskFile], copied: dockerfile.Copies, target: str) -> TaskFile:
    file = context[copied.files[target]]
    return replace(file, mode=copied.modes.get(target, file.mode))
