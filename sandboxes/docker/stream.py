"""One attached command of a container, read so that no output is lost and memory stays flat.

A bare `docker exec` hangs, or returns early and loses output, when a background child keeps the pipe. So
the command runs under a small shell which prints a marker on both streams once the *command* has ended,
and then waits until we hang up. What comes before a marker is the command's; nothing after it is read.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from sandboxes.capture import Capture

# Arguments: folder, command. It starts when it reads a line, because bytes that come together with the
# HTTP header would be swallowed by docker-py's buffered reader. That line is the marker: as an argument it
# would stand in /proc for the command to read. The kernel's own count of OOM kills is read before and
# after: for an exec'd process State.OOMKilled stays false (measured, 20.10).
# The traps keep a `kill 0` of the command from ending the shell; a caught signal is not inherited.
WRAPPER = r"""
trap : HUP INT TERM
_envevo_ooms() {
  _envevo_n=0
  for _envevo_f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$_envevo_f" ] || continue
    while read -r _envevo_k _envevo_v; do
      [ "$_envevo_k" = oom_kill ] && _envevo_n=$_envevo_v
    done <"$_envevo_f"
  done
}
_envevo_cwd=$1
shift
read -r _envevo_mark
_envevo_ooms
_envevo_before=$_envevo_n
if cd -- "$_envevo_cwd"; then unset OLDPWD; "$@" </dev/null; _envevo_code=$?; else _envevo_code=126; fi
_envevo_ooms
printf '%s\n' "$_envevo_mark"
printf '%s%s %s\n' "$_envevo_mark" "$_envevo_code" "$((_envevo_n - _envevo_before))" >&2
read -r _envevo_go
"""

STDOUT, STDERR = 1, 2
BLOCK = 1 << 16
TRAILER_BYTES = 64  # an exit code and a count; whatever is longer is not ours


@dataclass
class Marked:
    """One stream up to its marker; `trailer` is what stands behind the marker on its line.

    A command that finds the marker out can print one of its own, which ends its stream there. Behind it at
    most `TRAILER_BYTES` are waited for, so it gains neither memory nor time of ours.
    """

    marker: bytes
    capture: Capture
    trailer: bytes | None = None
    _pending: bytes = b""

    @property
    def ended(self) -> bool:
        return self.trailer is not None

    def feed(self, data: bytes) -> None:
        if self.ended:
            return
        self._pending += data
        before, found, behind = self._pending.partition(self.marker)
        if found and (b"\n" in behind[:TRAILER_BYTES] or len(behind) > TRAILER_BYTES):
            self.capture.feed(before)
            self.trailer = behind[:TRAILER_BYTES].partition(b"\n")[0]
            self._pending = b""
        elif not found:
            keep = len(self.marker) - 1  # a marker may be cut in two by a frame
            self.capture.feed(self._pending[:-keep])
            self._pending = self._pending[-keep:]

    def close(self) -> None:
        """The stream broke off: what is pending was output."""
        if not self.ended:
            self.capture.feed(self._pending)


@dataclass
class Attached:
    """The hijacked connection of an exec, with a deadline on the monotonic clock."""

    connection: socket.socket
    deadline: float
    _buffer: bytearray = field(default_factory=bytearray)

    def start(self, marker: str) -> None:
        self.connection.sendall(marker.encode() + b"\n")

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Pieces of output with their stream's number. Raises `TimeoutError` at the deadline."""
        while header := self._exactly(8):
            stream, left = struct.unpack(">BxxxL", header)
            while left:
                data = self._some(left)
                if not data:
                    return
                left -= len(data)
                yield stream, data

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._some(size - len(data))
            if not more:
                return b""
            data += more
        return data

    def _some(self, size: int) -> bytes:
        if not self._buffer:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            try:
                self._buffer += self.connection.recv(BLOCK)
            except ConnectionResetError:
                return b""
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


@dataclass(frozen=True)
class Ended:
    """How the command ended: its exit code and the OOM kills meanwhile; None where the shell died first."""

    exit_code: int | None
    oom_kills: int


def follow(attached: Attached, marker: str, stdout: Capture, stderr: Capture) -> Ended:
    """Start the command and read until both markers. Raises `TimeoutError` at the deadline."""
    streams = {STDOUT: Marked(marker.encode(), stdout), STDERR: Marked(marker.encode(), stderr)}
    attached.start(marker)
    try:
        for stream, data in attached.frames():
            if stream in streams:  # an engine's complaint about the user comes without frames
                streams[stream].feed(data)
            if all(each.ended for each in streams.values()):
                break
    finally:
        for each in streams.values():
            each.close()
    return _numbers(streams[STDERR].trailer)


def _numbers(trailer: bytes | None) -> Ended:
    # Whoever reads the shell's memory finds the marker and can print one: only its own result suffers.
    parts = (trailer or b"").split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or int(parts[0]) > 255:
        return Ended(None, 0)
    return Ended(int(parts[0]), int(parts[1]))
