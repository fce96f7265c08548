"""What the values of settings have to look like.

Each function returns the value as it is used, or raises `ValueError` with the sentence that stands behind the
variable's name. Only the form is looked at: whether something answers at an address is the doctor's question.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import available_timezones

import dj_database_url

BROKERS = ("redis", "rediss", "redis+socket")
ENGINES = ("unix", "tcp", "ssh", "http", "https", "npipe")
LONGEST_INSTANCE = 100
_HOST = re.compile(r"\*|\.?\w[\w-]*(\.\w[\w-]*)*|\[[0-9A-Fa-f:.]+\]")
_ORIGIN = re.compile(r"https?://(\*\.)?[^/\s?#*]+")
_HEADER = re.compile(r"[A-Za-z0-9-]*")
_IN_IMAGE_NAME = re.compile(r"([a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)?")


def database(address: str) -> str:
    if not address:
        return address
    wanted = "write postgresql://user:password@host:port/name, or sqlite:///path"
    if not address.startswith(("postgresql://", "postgres://", "sqlite:///")):
        raise ValueError(wanted)
    try:
        parsed = dj_database_url.parse(address)
    except (ValueError, dj_database_url.ParseError) as problem:
        raise ValueError(f"{wanted}, with % escapes for what an address cannot hold") from problem
    if parsed["NAME"] in ("", ":memory:"):
        raise ValueError(f"it names no database; {wanted}")
    return address


def broker(address: str) -> str:
    if not address:
        return address
    wanted = "write redis://user:password@host:port/number"
    try:
        parts = urlsplit(address)
        placed = parts.port is None or parts.port > 0
    except ValueError as problem:
        raise ValueError(f"{wanted}, with % escapes for what an address cannot hold") from problem
    if parts.scheme not in BROKERS or not placed:
        raise ValueError(wanted)
    if parts.scheme != "redis+socket" and not (parts.hostname and re.fullmatch(r"(/\d*)?", parts.path)):
        raise ValueError(wanted)
    return address


def engine(address: str) -> str:
    if address and urlsplit(address).scheme not in ENGINES:
        raise ValueError("write unix:///path/of/the/socket, tcp://host:port or ssh://user@host")
    return address


def hosts(names: list[str]) -> list[str]:
    for name in names:
        if not _HOST.fullmatch(name):
            raise ValueError(f"{name!r} is no host name; write it without scheme, port and path")
    return names


def origins(names: list[str]) -> list[str]:
    for name in names:
        if not _ORIGIN.fullmatch(name):
            raise ValueError(f"{name!r} is no origin; write one like https://envevo.example.org")
    return names


def header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError(f"{name!r} is no header's name; write one like X-Forwarded-For")
    return name


def instance(name: str) -> str:
    if not _IN_IMAGE_NAME.fullmatch(name) or len(name) > LONGEST_INSTANCE:
        raise ValueError(
            f"{name!r} cannot be in an image's name; write small letters and digits, with - . or _ between"
        )
    return name


def zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name!r} is no time zone; write one like Europe/Berlin")
    return name


def pulse(file: Path | None) -> Path | None:
    if file is None:
        return None
    if file.is_dir() or not file.parent.is_dir():
        raise ValueError(f"{file} cannot be a file; name one in a folder that is there")
    return file.resolve()


def readable(file: Path | None) -> Path | None:
    if file is None:
        return None
    if not file.is_file() or not os.access(file, os.R_OK):
        raise ValueError(f"{file} is no file that this user may read")
    return file.resolve()


def folder(place: Path) -> Path:
    """Made, where it is not there yet."""
    place = place.resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"{place} cannot be made a folder ({problem.strerror})") from problem
    if not os.access(place, os.W_OK | os.X_OK):
        raise ValueError(f"this user may not write into {place}")
    return place
