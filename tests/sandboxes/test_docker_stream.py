"""The reading of one command's streams, without an engine."""

from __future__ import annotations

import socket
import struct
import threading
import time

from sandboxes.capture import Capture
from sandboxes.docker.stream import STDERR, STDOUT, Attached, Ended, Marked, follow

MARK = "0123456789abcdef"


def frame(stream: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


def followed(*frames: bytes) -> tuple[Ended, bytes, bytes]:
    """What is made of these bytes, after which the engine hangs up."""
    ours, theirs = socket.socketpair()
    out, err = Capture(4096), Capture(4096)
    with ours, theirs:

        def engine() -> None:
            assert theirs.recv(100) == MARK.encode() + b"\n", (
                "the marker is no argument that /proc would tell"
            )
            for each in frames:
                theirs.sendall(each)
            theirs.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=engine)
        thread.start()
        ended = follow(Attached(ours, time.monotonic() + 20), MARK, out, err)
        thread.join()
    return ended, out.kept, err.kept


def test_what_comes_before_the_markers_is_the_commands() -> None:
    mark = MARK.encode()
    ended, out, err = followed(
        frame(STDOUT, b"out" + mark[:5]),
        frame(STDOUT, mark[5:] + b"\n"),
        frame(STDERR, b"err" + mark + b"7 1\n"),
    )
    assert (ended, out, err) == (Ended(7, 1), b"out", b"err")


def test_a_stream_that_breaks_off_is_output_without_a_code() -> None:
    ended, out, _ = followed(frame(STDOUT, b"out" + MARK.encode()[:5]))
    assert (ended, out) == (Ended(None, 0), b"out" + MARK.encode()[:5])


def test_a_complaint_without_frames_is_no_output() -> None:
    ended, out, err = followed(b"unable to find user ghost: no matching entries in passwd file\r\n")
    assert (ended, out, err) == (Ended(None, 0), b"", b"")


def test_a_code_that_no_command_has_is_none() -> None:
    mark = MARK.encode()
    ended, _, _ = followed(frame(STDOUT, mark + b"\n"), frame(STDERR, mark + b"9" * 40 + b" 0\n"))
    assert ended == Ended(None, 0)


def test_a_planted_marker_costs_neither_memory_nor_time() -> None:
    stream = Marked(MARK.encode(), Capture(4096))
    stream.feed(b"out" + MARK.encode())
    started = time.process_time()
    for _ in range(400):
        stream.feed(b"\0" * 100_000)
    assert time.process_time() - started < 0.5
    assert (stream.ended, stream.capture.kept, len(stream._pending)) == (True, b"out", 0)
