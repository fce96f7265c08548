"""Head and tail of a stream."""

import pytest

from sandboxes.capture import Capture
from sandboxes.docker.stream import Marked


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 10])
@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 57])
@pytest.mark.parametrize("piece", [1, 3, 100])
def test_it_keeps_half_head_and_half_tail_and_counts_the_rest(limit: int, size: int, piece: int) -> None:
    data = bytes(range(size))
    capture = Capture(limit)
    for start in range(0, size, piece):
        capture.feed(data[start : start + piece])
    if size <= limit:
        assert (capture.kept, capture.cut) == (data, 0)
    else:
        tail = limit - limit // 2
        assert capture.kept == data[: limit // 2] + (data[-tail:] if tail else b"")
        assert capture.cut == size - limit


@pytest.mark.parametrize("piece", [1, 2, 5, 1000])
def test_a_marker_ends_a_stream_wherever_it_is_cut(piece: int) -> None:
    data = b"output MAR MARKMARK7 1\nfrom a background child"
    stream = Marked(b"MARKMARK", Capture(100))
    for start in range(0, len(data), piece):
        stream.feed(data[start : start + piece])
    stream.close()
    assert (stream.capture.kept, stream.trailer) == (b"output MAR ", b"7 1")


def test_a_stream_that_breaks_off_is_all_output() -> None:
    stream = Marked(b"MARKMARK", Capture(100))
    stream.feed(b"output MARK")
    stream.close()
    assert (stream.capture.kept, stream.ended) == (b"output MARK", False)
