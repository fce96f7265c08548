"""YAML of strangers, read as text: every scalar stays the string that was written.

So `no`, `on` and `1.10` are not made into False, True and 1.1, and no type of Python can be asked for.
"""

from __future__ import annotations

from typing import Any

import yaml

from sandboxes.errors import TaskRefused
from sandboxes.files import printable

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 50

_PLAIN_TAGS = (None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map")))


class _Unwanted(yaml.MarkedYAMLError):
    """What YAML allows and no task needs."""


class _Loader(yaml.BaseLoader):
    """Refuses what means more than the text that stands there.

    Aliases (a few lines of them stand for gigabytes), merge keys, types (`!!binary` is other text), keys
    given twice, and deep nesting.
    """

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        at: yaml.Mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _Unwanted(problem="an alias (*name); write it out", problem_mark=at)
        tag = getattr(self.peek_event(), "tag", None)  # type: ignore[no-untyped-call]
        if tag not in _PLAIN_TAGS:
            raise _Unwanted(problem=f"the type {printable(str(tag))}; write the value out", problem_mark=at)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unwanted(problem=f"nesting of more than {MAX_DEPTH} levels", problem_mark=at)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _Unwanted(problem="a key that is no text", problem_mark=key.start_mark)
            if key.value == "<<" and not key.style:
                raise _Unwanted(problem="a merge key (<<); write it out", problem_mark=key.start_mark)
            if key.value in seen:
                raise _Unwanted(
                    problem=f"the key {key.value!r} for the second time", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_table(text: str, path: str) -> dict[str, Any]:
    """Like `read`, for a document that has to be one mapping."""
    found = read(text, path)
    if not isinstance(found, dict):
        raise TaskRefused(path, "this file holds no table of keys")
    return found


def read(text: str, path: str) -> Any:
    """What the document says, made of strings, lists and mappings.

    Raises `TaskRefused` with line and column for bad YAML, an alias or a key given twice.
    """
    if len(text) > MAX_BYTES:
        raise TaskRefused(path, f"this file is larger than {MAX_BYTES >> 20} MiB")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  (a BaseLoader: it makes nothing but text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise TaskRefused(path, f"not YAML that is read here: {error.problem}", line, column) from None
    except yaml.YAMLError as error:
        raise TaskRefused(path, f"not valid YAML: {' '.join(str(error).split())[:200]}") from None
