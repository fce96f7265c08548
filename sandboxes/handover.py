"""What goes from the solver's sandbox to the verifier's: the declared artifacts, as Harbor 0.26 moves them.

Of what Harbor moves, links inside a folder and empty folders do not arrive here: only regular files do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sandboxes.base import Sandbox
from sandboxes.config import Artifact
from sandboxes.errors import SandboxError, Unsupported
from sandboxes.files import TaskFile
from sandboxes.transfer import absolute

CONVENTION = "/logs/artifacts"  # Harbor hands this folder over without being told
PLUMBING_SECONDS = 120
ROOT = "0"

# A solver that could write here would write the verdict.
VERIFIERS_OWN = ("/tests", "/logs/verifier")

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
    """One declared artifact: its files by absolute path; none when it was not there."""

    source: str
    files: Mapping[str, TaskFile]

    @property
    def is_file(self) -> bool:
        return self.source in self.files


def collect(sandbox: Sandbox, declared: Sequence[Artifact]) -> list[Delivery]:
    """Read the declared artifacts from a stopped sandbox; what is missing is a `Delivery` without files.

    Of overlapping entries the first wins. Raises `Unsupported` for an entry that would let the solver
    write the verifier's own folders, `SandboxError` when there is too much to read.
    """
    deliveries: list[Delivery] = []
    for artifact in _with_convention(declared):
        source = _checked(artifact)
        if not any(_nested(source, earlier.source) for earlier in deliveries):
            files = sandbox.read_files([source], exclude=artifact.exclude) if source.startswith("/") else {}
            deliveries.append(Delivery(source, files))
    return deliveries


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
    there = [delivery for delivery in deliveries if delivery.files]
    make_folders(sandbox, [each.source for each in there if not each.is_file], empty=True)
    make_folders(sandbox, [posixpath.dirname(each.source) for each in there if each.is_file])
    for delivery in there:
        root = posixpath.dirname(delivery.source) if delivery.is_file else delivery.source
        sandbox.write_files(
            {posixpath.relpath(p, root): _as_data(f) for p, f in delivery.files.items()}, root
        )


def _as_data(file: TaskFile) -> TaskFile:
    """Modes as `tarfile`'s data filter leaves them: the owner may write, nobody else may."""
    return replace(file, mode=file.mode & 0o755 | 0o600)


def make_folders(sandbox: Sandbox, folders: Sequence[str], *, empty: bool = False) -> None:
    """Make folders that every user may write to. Raises `SandboxError` when that fails."""
    wanted = [folder for folder in folders if folder != "/"]
    if wanted:
        run_plumbing(sandbox, FOLDERS, ["-e", *wanted] if empty else wanted)


def run_plumbing(sandbox: Sandbox, script: str, arguments: Sequence[str] = ()) -> None:
    """A command of ours, as root. Raises `SandboxError` when it fails."""
    argv = ["/bin/sh", "-c", script, "sh", *arguments]
    done = sandbox.exec(argv, timeout=PLUMBING_SECONDS, cwd="/", user=ROOT)
    if not done.ok:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise SandboxError(f"The sandbox could not be prepared: {said or f'exit code {done.exit_code}'}")


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
