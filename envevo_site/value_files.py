"""Settings whose values stand in files: `ENVEVO_SECRET_KEY_FILE` names the file of `ENVEVO_SECRET_KEY`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

PREFIX = "ENVEVO_"
IN_FILE = "_FILE"


class UnusableFile(Exception):
    """A variable that names a file from which no value can be taken; the message is its line."""


class ValuesInFiles(PydanticBaseSettingsSource):
    """Values of `ENVEVO_<NAME>_FILE`: the named file's text without the white space around it.

    Raises `UnusableFile` for a file that is missing, unreadable or empty, for a setting that is given both
    ways, and for a name that is no setting: a secret must never be replaced by a default without a word.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = f"{PREFIX}{field_name.upper()}{IN_FILE}"
        place = os.environ.get(variable)
        if place is None:
            return None, field_name, False
        if os.environ.get(variable.removesuffix(IN_FILE)):
            raise UnusableFile(f"{variable}: {variable.removesuffix(IN_FILE)} is set too; keep one of them")
        return _text_of(variable, place), field_name, False

    def __call__(self) -> dict[str, Any]:
        self._refuse_unknown()
        found = {
            _key(name, field): self.get_field_value(field, name)[0] for name, field in self._fields.items()
        }
        return {key: value for key, value in found.items() if value is not None}

    @property
    def _fields(self) -> dict[str, FieldInfo]:
        return self.settings_cls.model_fields

    def _refuse_unknown(self) -> None:
        known = {f"{PREFIX}{name.upper()}{IN_FILE}" for name in self._fields}
        named = {each for each in os.environ if each.startswith(PREFIX) and each.endswith(IN_FILE)}
        for variable in sorted(named - known):
            raise UnusableFile(f"{variable}: there is no setting {variable.removesuffix(IN_FILE)}")


def _key(name: str, field: FieldInfo) -> str:
    """Under what the settings class looks for a value: a field with other names is not found by its own."""
    others = field.validation_alias
    return str(others.choices[0]) if isinstance(others, AliasChoices) else name


def value_of(variable: str) -> str | None:
    """Of any variable: what it says, or what the file has that the one with `_FILE` behind names.

    None where neither is set. Raises `UnusableFile` as the settings do.
    """
    value, place = os.environ.get(variable), os.environ.get(variable + IN_FILE)
    if place is None:
        return value or None
    if value:
        raise UnusableFile(f"{variable}{IN_FILE}: {variable} is set too; keep one of them")
    return _text_of(variable + IN_FILE, place)


def _text_of(variable: str, place: str) -> str:
    try:
        text = Path(place).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UnusableFile(f"{variable}: {place or 'an empty name'} cannot be read ({problem})") from problem
    if not text:
        raise UnusableFile(f"{variable}: {place} is empty; write the value into it")
    return text
