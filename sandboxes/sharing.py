"""A shared verifier's tests run among the solver's files: what of those would speak in them is taken out.

A solver who was root can still have replaced the shell, a library, or Python's own start-up files, and
nothing undoes that. What else a program reads of its own accord is made to be the image's again: the loader's
list of libraries, pytest's settings above `/tests`, and which file a command is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from posixpath import basename

from sandboxes.base import Found, Kind, Sandbox
from sandboxes.errors import SandboxError
from sandboxes.files import TaskFile
from sandboxes.handover import FOLDERS, LOGS, run_plumbing, variables
from sandboxes.task import INSTRUCTION, Task

Fresh = Callable[[], AbstractContextManager[Sandbox]]
"""Opens a sandbox in which no solver was."""

ETC = "/etc"
LOADER = f"{ETC}/ld.so.preload"
# pytest reads the first of these that it finds on the way up from /tests, and what that names.
ABOVE_THE_TESTS = tuple(
    f"/{name}"
    for name in (
        "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg",
        "setup.py", "pyproject.toml",
    )
)  # fmt: skip
USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MOST_NAMES = 2000

# Arguments: what is to go. The folder that it stands in becomes a real one; the answer too is to go: a test
# that looks for the reference solution must not find it.
REMOVE = """
for d do
  p=${d%/*}
  [ -z "$p" ] || { [ -d "$p" ] && [ ! -L "$p" ]; } || rm -f -- "$p" || exit 1
  rm -rf -- "$d" || exit 1
done"""
# Argument: a PATH. Names that stand in more than one of its folders, however those are called.
SEVERAL = """
set -f; IFS=:
for f in $1; do case $f in /*) ( cd -P -- "$f" 2>/dev/null && pwd );; esac; done | sort -u |
while IFS= read -r f; do ls -A -- "$f"; done | sort | uniq -d"""
# Arguments: a PATH, then what is to go. The folder of the reward is made anew; answers as `SEVERAL`.
# One command, since each costs an engine as much as some tests take.
RENEW = f"""path=$1; shift
{REMOVE}
set -- {LOGS}
{FOLDERS}
set -- "$path"
{SEVERAL}"""
# Arguments: a PATH, then names. For each a line: the file that it is, empty where there is none.
FIRST = """
set -f; path=$1 IFS=:; shift
for name do
  found=
  for f in $path; do case $f in /*) [ ! -f "$f/$name" ] || { found=$f/$name; break; };; esac; done
  echo "$found"
done"""
# Arguments: a new folder, then for each link in it where that leads.
LINKS = 'd=$1; shift; mkdir -p -- "$d" && chmod 755 -- "$d" && ln -s -- "$@" "$d/"'

_COMMAND = re.compile(r"[\w.+@\[-]+")


def prepare(fork: Sandbox, task: Task, fresh: Fresh) -> dict[str, str]:
    """Make the tests' folders new in a copy of the solver's sandbox; gives variables for the tests.

    No command has run in `fork` since the solver's turn. Raises `SandboxError` where the solver left it so
    that this cannot be done, and what the sandboxes raise.
    """
    _as_in_the_image(fork, task, fresh)
    own = variables(task.config.verifier.env)
    path = own.get("PATH") or fork.image.env.get("PATH") or USUAL_PATH
    several = _commands(run_plumbing(fork, RENEW, [path, "/tests", "/solution", LOGS]))
    # A start-up file that the image names may be the solver's by now.
    start_up = {name: own.get(name, "") for name in ("BASH_ENV", "ENV")}
    return {**start_up, "PATH": _path(fork, path, several, fresh)}


def _as_in_the_image(fork: Sandbox, task: Task, fresh: Fresh) -> None:
    watched = [LOADER, *(path for path in ABOVE_THE_TESTS if not _asked_for(path, task, fork.image.workdir))]
    seen = dict(fork.look([ETC, *watched]))
    if ETC in seen and seen.pop(ETC).kind is not Kind.FOLDER:
        raise SandboxError(f"The solver has replaced the folder {ETC}.")  # no look goes through a link there
    if not seen:
        return
    with fresh() as untouched:
        own = {path: untouched.find(path) for path in seen}
    # The loader's list first, and from outside: any command, also one of ours, would follow it.
    if LOADER in seen and seen[LOADER].kind is not Kind.FOLDER:
        kept = _files(own[LOADER], LOADER) or {LOADER: TaskFile()}
        fork.write_files(_relative(kept), "/")
    above = [path for path in seen if path != LOADER]
    if above:
        run_plumbing(fork, REMOVE, above)
        kept = {each: file for path in above for each, file in _files(own[path], path).items()}
        fork.write_files(_relative(kept), "/")


def _files(found: Found | None, path: str) -> dict[str, TaskFile]:
    return dict(found.files) if found and (found.folder or path in found.files) else {}


def _relative(files: Mapping[str, TaskFile]) -> dict[str, TaskFile]:
    return {path.lstrip("/"): file for path, file in files.items()}


def _asked_for(path: str, task: Task, workdir: str) -> bool:
    """Whether the instruction names this file, so that it is the solver's to make."""
    text = task.text(INSTRUCTION) if INSTRUCTION in task else ""
    names = [path, basename(path), f"./{basename(path)}"] if workdir == "/" else [path]
    return any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text) for name in names)


def _path(fork: Sandbox, path: str, names: Sequence[str], fresh: Fresh) -> str:
    """This PATH; before it a folder with each command that a file of the solver's stands in front of.

    `names` are those that stand in more than one of its folders.
    """
    if not names:
        return path
    now = _first(fork, path, names)
    with fresh() as untouched:
        own = _first(untouched, path, names)
    hidden = [was for was, found in zip(own, now, strict=True) if was and was != found]
    if not hidden:
        return path
    folder = f"/opt/envevo-{secrets.token_hex(8)}"
    run_plumbing(fork, LINKS, [folder, *hidden])
    return f"{folder}:{path}"


def _commands(told: bytes) -> list[str]:
    """The names of commands in the answer of `SEVERAL`."""
    names = sorted(
        {name for name in told.decode("utf-8", "replace").splitlines() if _COMMAND.fullmatch(name)}
    )
    if len(names) > MOST_NAMES:
        raise SandboxError(f"More than {MOST_NAMES} commands stand in several folders of the PATH.")
    return names


def _first(sandbox: Sandbox, path: str, names: Sequence[str]) -> list[str]:
    return run_plumbing(sandbox, FIRST, [path, *names]).decode("utf-8", "replace").splitlines()
