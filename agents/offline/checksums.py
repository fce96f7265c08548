"""Checksums that the standard library of Python does not have."""

from __future__ import annotations


def cksum(data: bytes) -> int:
    """The CRC that POSIX `cksum` prints."""
    crc, length = 0, len(data)
    tail = b""
    while length:
        tail += bytes([length & 0xFF])
        length >>= 8
    for byte in data + tail:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ (0x04C11DB7 if crc & 0x80000000 else 0)
        crc &= 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF
