"""What goes from the solver's sandbox to the verifier's: the declared artifacts, as Harbor 0.26 moves them.

As there, only regular files, folders, and links that lead from one place of a folder to another arrive. Of
empty folders only a declared one does.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sandboxes.base import Found, Sandbox
from sandboxes.config import Artifact
from sandboxes.errors import SandboxError, TooMuch, Unsupported
from sandboxes.files import TaskFile, follow
from sandboxes.transfer import absolute

CONVENTION = "/logs/artifacts"  # Harbor hands this folder over without being told
PLUMBING_SECONDS = 120
ROOT = "0"
# Of our own commands: a solver may have put a `mkdir` of its own where the image looks first.
SYSTEM_FIRST = "/usr/bin:/bin:/usr/sbin:/sbin"
MAX_LINKS = 8  # of an artifact's own path, one leading to the next

# A solver that could write here would write the verdict.
LOGS = "/logs/verifier"
VERIFIERS_OWN = ("/tests", LOGS)

# Arguments: folders, which become real, empty where `-e` comes first, and open to every user.
FOLDERS = """
empty=; [ "$1" != -e ] || { empty=1; shift; }
for d do
  [ -d "$d" ] && [ ! -L "$d" ] || rm -f -- "$d"
  mkdir -p -- "$d" && chmod 777 -- "$d" || exit 1
  [ -z "$empty" ] || find "$d" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + || exit 1
done"""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One declared artifact: its files, and links below it, by absolute path. A folder may be empty.

    `refused` says why one that stood there was not taken.
    """

    source: str
    folder: bool
    files: Mapping[str, TaskFile]
    refused: str = ""

    @property
    def there(self) -> bool:
        return self.folder or bool(self.files)


def collect(sandbox: Sandbox, declared: Sequence[Artifact]) -> list[Delivery]:
    """Read the declared artifacts from a stopped sandbox; what is missing is a `Delivery` that is not there.

    Of overlapping entries the first wins. One that holds too much is not there either, so that nobody gets
    out of a reward of 0 by leaving a huge file. Raises `Unsupported` for an entry that would let the solver
    write the verifier's own folders.
    """
    deliveries: list[Delivery] = []
    for artifact in _with_convention(declared):
        source = _checked(artifact)
        if not any(_nested(source, earlier.source) for earlier in deliveries):
            deliveries.append(_taken(sandbox, source, artifact.exclude))
    return deliveries


def _taken(sandbox: Sandbox, source: str, exclude: Sequence[str]) -> Delivery:
    try:
        return _delivery(sandbox, source, exclude)
    except TooMuch as refusal:
        return Delivery(source, folder=False, files={}, refused=str(refusal))


def _delivery(sandbox: Sandbox, source: str, exclude: Sequence[str]) -> Delivery:
    at = source
    found = sandbox.find(at, exclude=exclude) if source.startswith("/") else None
    for _ in range(MAX_LINKS):
        target = _target(found, at)
        if target is None:
            break
        at = target
        found = sandbox.find(at, exclude=exclude)
    if found is None or _target(found, at) or at != source and not found.folder:
        return Delivery(source, folder=False, files={})  # Harbor hands over no link that leads to a file
    files = {posixpath.relpath(path, at): file for path, file in found.files.items()}
    kept = _without_stray_links(files)
    return Delivery(source, found.folder, {_joined(source, path): file for path, file in kept.items()})


def _joined(source: str, relative: str) -> str:
    return source if relative == "." else posixpath.join(source, relative)


def _target(found: Found | None, at: str) -> str | None:
    """Where the way goes on when what was found is a link itself."""
    link = found.files[at].link if found and at in found.files else None
    return None if link is None else absolute(posixpath.join(posixpath.dirname(at), link))


def _without_stray_links(files: Mapping[str, TaskFile]) -> dict[str, TaskFile]:
    """Without links that are absolute, leave the folder, by name or when followed, or go in a circle."""
    return {path: file for path, file in files.items() if file.link is None or _stays(files, path, file.link)}


def _stays(files: Mapping[str, TaskFile], path: str, link: str) -> bool:
    by_name = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    outside = by_name == ".." or by_name.startswith(("../", "/"))
    return not outside and follow(files, path) is not None


def _with_convention(declared: Sequence[Artifact]) -> Iterator[Artifact]:
    if not any(artifact.source.rstrip("/") == CONVENTION for artifact in declared):
        yield Artifact(source=CONVENTION)
    yield from declared


def _checked(artifact: Artifact) -> str:
    """The artifact's path; a relative one stays as it is, and is never found (as in Harbor)."""
    if artifact.service not in (None, "main"):
        raise Unsupported(
            f"The artifact {artifact.source} is in the service {artifact.service}; there is only main."
        )
    if not artifact.source.startswith("/"):
        return artifact.source
    source = absolute(artifact.source)
    if any(_nested(source, own) for own in VERIFIERS_OWN):
        raise Unsupported(f"The artifact {source} would let the solver write the tests or the reward.")
    return source


def _nested(one: str, other: str) -> bool:
    return f"{one.rstrip('/')}/".startswith(f"{other.rstrip('/')}/") or f"{other}/".startswith(
        f"{one.rstrip('/')}/"
    )


def deliver(sandbox: Sandbox, deliveries: Sequence[Delivery]) -> None:
    """Put the artifacts at their own paths: a folder replaces what was there, a file comes beside it."""
    there = [delivery for delivery in deliveries if delivery.there]
    make_folders(sandbox, [each.source for each in there if each.folder], empty=True)
    make_folders(sandbox, [posixpath.dirname(each.source) for each in there if not each.folder])
    for delivery in there:
        root = delivery.source if delivery.folder else posixpath.dirname(delivery.source)
        files = {posixpath.relpath(p, root): _as_data(f) for p, f in delivery.files.items()}
        if files:
            sandbox.write_files(files, root)


def _as_data(file: TaskFile) -> TaskFile:
    """Modes as `tarfile`'s data filter leaves them: the owner may write, nobody else may."""
    return replace(file, mode=file.mode & 0o755 | 0o600)


def make_folders(sandbox: Sandbox, folders: Sequence[str], *, empty: bool = False) -> None:
    """Make folders that every user may write to. Raises `SandboxError` when that fails."""
    wanted = [folder for folder in folders if folder != "/"]
    if wanted:
        run_plumbing(sandbox, FOLDERS, ["-e", *wanted] if empty else wanted)


def run_plumbing(sandbox: Sandbox, script: str, arguments: Sequence[str] = ()) -> bytes:
    """A command of ours, as root; gives what it printed. Raises `SandboxError` when it fails."""
    argv = ["/bin/sh", "-c", script, "sh", *arguments]
    path = ":".join(filter(None, (SYSTEM_FIRST, sandbox.image.env.get("PATH"))))
    done = sandbox.exec(argv, timeout=PLUMBING_SECONDS, cwd="/", env={"PATH": path}, user=ROOT)
    if not done.ok:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise SandboxError(f"The sandbox could not be prepared: {said or f'exit code {done.exit_code}'}")
    return done.stdout


def variables(table: Mapping[str, str]) -> dict[str, str]:
    """An env table of `task.toml` with `${VAR:-default}` filled in; nothing is taken from this machine.

    Raises `Unsupported` for a `${VAR}` without a default.
    """
    return {name: _VARIABLE.sub(_default, value) for name, value in table.items()}


def _default(match: re.Match[str]) -> str:
    if match[2] is None:
        raise Unsupported(
            f"The task wants the variable {match[1]} from the machine; it gets none, give it a default."
        )
    return match[2]
