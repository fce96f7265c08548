"""Pieces of shell that probes share. Only `/bin/sh` is taken for granted."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

from agents.probes.places import folders, outputs
from sandboxes.task import Task

# The system's own tools first, for a probe must not fall for the one before it.
START = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH; exec 2>&1 </dev/null; umask 0"

# Writes the verdict, then ends the test script that runs it, so that nothing is written over it. The
# outermost process first: this shell is the last one, or it would end before the others.
FORGE = """mkdir -p /logs/verifier
rm -f /logs/verifier/reward.json
echo 1 >/logs/verifier/reward.txt
p=$$ chain= kill=
while [ "${p:-1}" -gt 1 ] 2>/dev/null; do
  chain="$p $chain"
  tr '\\0' '\\n' <"/proc/$p/cmdline" 2>/dev/null | grep -qx /tests/test.sh && kill=$chain
  while read -r key value; do [ "$key" != PPid: ] || p=$value; done <"/proc/$p/status" || break
done
[ -z "$kill" ] || kill -9 $kill"""

# Writes the verdict again and again, each time as a whole, for it may be ended at any moment.
KEEP_FORGING = """( trap '' HUP INT TERM QUIT PIPE
  while :; do
    echo 1 >/logs/verifier/.again && mv -f /logs/verifier/.again /logs/verifier/reward.txt
    sleep 0.01
  done ) >/dev/null 2>&1 </dev/null &"""


def script(*lines: str) -> str:
    return "\n".join([START, *lines, ""])


def words(values: Iterable[str]) -> str:
    return " ".join(quote(value) for value in values)


def write(path: str, text: str, *, runnable: bool = False) -> str:
    """A command that writes `text` to `path`, which is shell already: a quoted name, or `"$p/x"`."""
    made = f"printf '%s' {quote(text)} >{path}"
    return f"{made} && chmod 755 {path}" if runnable else made


def each_output(task: Task, body: str) -> str:
    """`body` for every output as `$p`, in a folder that is there. What is a folder itself is left out."""
    return _loop(
        outputs(task), f'[ ! -d "$p" ] || [ -L "$p" ] || continue\nmkdir -p "${{p%/*}}" || continue\n{body}'
    )


def each_folder(task: Task, body: str, *more: str) -> str:
    """`body` for every folder of which something travels to the tests, as `$p`, and for `more` (shell)."""
    return _loop(folders(task), f'mkdir -p "$p" || continue\n{body}', *more)


def _loop(paths: Iterable[str], body: str, *more: str) -> str:
    return f"for p in {' '.join([words(paths), *more])}; do\n{body}\ndone"
