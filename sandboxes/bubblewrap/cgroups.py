"""Control groups for one sandbox, in v1, v2 and hybrid layouts, wherever we may write."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sandboxes.base import Limits

CONTROLLERS = ("memory", "pids", "cpu")
CPU_PERIOD = 100_000
LEAST_QUOTA = 1000  # the kernel refuses less
EMPTY_SECONDS = 5


@cache
def homes() -> Mapping[str, Path]:
    """For each controller that we may use, the folder in which a group of it can be made. Probed once."""
    # In a hybrid layout v2 is mounted as well, with the controllers that v1 did not take.
    return {name: home for name, home in _candidates() if name in CONTROLLERS and _can_make(home, name)}


def _candidates() -> Iterator[tuple[str, Path]]:
    mounts = list(_mounts())
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for mount in mounts:
            if names and set(names.split(",")) & mount.controllers:
                yield from ((name, mount.below(path)) for name in names.split(","))
            elif not names and mount.unified:
                # v2: a group with processes in it can have no limited children, so ours go beside our own.
                home = mount.below(path)
                yield from ((name, home if home == mount.point else home.parent) for name in CONTROLLERS)


@dataclass(frozen=True)
class _Mount:
    point: Path
    root: str
    unified: bool
    controllers: frozenset[str]

    def below(self, path: str) -> Path:
        inside = os.path.relpath(path, self.root)
        return self.point if inside.startswith("..") else Path(os.path.normpath(self.point / inside))


def _mounts() -> Iterator[_Mount]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ")[:3]
        if kind in ("cgroup", "cgroup2"):
            root, point = left.split(" ")[3:5]
            yield _Mount(Path(point), root, kind == "cgroup2", frozenset(options.split(",")))


def _can_make(home: Path, controller: str) -> bool:
    probe = home / f"envevo-probe-{os.getpid()}"
    try:
        if (home / "cgroup.subtree_control").exists():
            (home / "cgroup.subtree_control").write_text(f"+{controller}")
        probe.mkdir()
    except OSError:
        return False
    try:
        return any(probe.glob(f"{controller}.*"))
    finally:
        probe.rmdir()


@dataclass(frozen=True)
class Cgroup:
    """The groups of one sandbox; empty where the machine gives us none."""

    folders: tuple[Path, ...]

    @classmethod
    def planned(cls, name: str) -> Cgroup:
        """The groups that `make` will make, so that they can be recorded before."""
        return cls(tuple(sorted({home / f"envevo-{name}" for home in homes().values()})))

    def make(self, limits: Limits) -> None:
        for folder in self.folders:
            folder.mkdir()
        for folder in self.folders:
            _limit(folder, limits)

    @property
    def entries(self) -> list[str]:
        """The files into which a process writes its own id to be inside."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def oom_kills(self) -> int:
        return max((_oom_kills(folder) for folder in self.folders), default=0)

    def kill(self) -> None:
        """End every process inside, whatever namespace it is in."""
        self._until_empty(lambda pid: os.kill(pid, signal.SIGKILL))

    def remove(self) -> None:
        self.kill()
        for folder in self.folders:
            with suppress(OSError):  # still busy: `sweep` comes again
                folder.rmdir()

    def _until_empty(self, do: Callable[[int], None]) -> None:
        deadline = time.monotonic() + EMPTY_SECONDS
        while (pids := self._pids()) and time.monotonic() < deadline:
            for pid in pids:
                with suppress(ProcessLookupError):
                    do(pid)
            time.sleep(0.01)

    def _pids(self) -> Sequence[int]:
        pids: set[int] = set()
        for folder in self.folders:
            with suppress(OSError):
                pids.update(map(int, (folder / "cgroup.procs").read_text().split()))
        return sorted(pids)


def _limit(folder: Path, limits: Limits) -> None:
    memory = str(limits.memory_mb << 20)
    quota = str(max(int(limits.cpus * CPU_PERIOD), LEAST_QUOTA))
    # Order matters on v1: memory+swap may never be below memory. A file that is missing is another version's.
    for name, value in (
        ("memory.limit_in_bytes", memory),
        ("memory.memsw.limit_in_bytes", memory),
        ("memory.max", memory),
        ("memory.swap.max", "0"),
        ("pids.max", str(limits.pids)),
        ("cpu.cfs_quota_us", quota),
        ("cpu.max", f"{quota} {CPU_PERIOD}"),
    ):
        if (folder / name).exists():
            (folder / name).write_text(value)


def _oom_kills(folder: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        with suppress(OSError):
            for line in (folder / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0
