"""What a word of a shell script evaluates to, where that can be told without running anything."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Iterator, Mapping

from tree_sitter import Node

LONGEST_WORD = 1 << 20
MOST_ITEMS = 10_000
DEFAULTS = frozenset({":-", "-", ":=", "="})


class Words:
    """Evaluates words. `None` stands for a value that only a run could tell."""

    def __init__(
        self, variables: Mapping[str, str | None], arrays: Mapping[str, list[str | None]] | None = None
    ) -> None:
        self.variables = variables
        self.arrays = arrays if arrays is not None else {}

    def value(self, node: Node) -> str | None:
        kind = node.type
        if kind in ("word", "number", "special_variable_name", "variable_name", "heredoc_content"):
            return unescape(text(node))
        if kind == "raw_string":
            return text(node)[1:-1]
        if kind == "ansi_c_string":
            return text(node)[2:-1].replace("\\n", "\n").replace("\\t", "\t")
        if kind == "string":
            return self._filled(node, start=1, end=1)
        if kind == "concatenation":
            return join(self.value(child) for child in node.children)
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node)
        if kind == "command_substitution":
            return self._substitution(node)
        return None

    def body(self, node: Node) -> str | None:
        """The text of a heredoc's body."""
        return self._filled(node, start=0, end=0)

    def _filled(self, node: Node, start: int, end: int) -> str | None:
        """A quoted text: expansions evaluated, everything between them taken as it stands."""
        source = node.text or b""
        at, stop, parts = start, len(source) - end, list[str | None]()
        for child in node.named_children:
            if child.type not in ("simple_expansion", "expansion", "command_substitution"):
                continue
            parts.append(source[at : child.start_byte - node.start_byte].decode("utf-8", "replace"))
            parts.append(self.value(child))
            at = child.end_byte - node.start_byte
        parts.append(source[at:stop].decode("utf-8", "replace"))
        return join(parts)

    def items(self, node: Node) -> list[str | None] | None:
        """The words that `${name[@]}` becomes, quoted or not; None for any other word."""
        name, mark, _ = text(node).strip('"').removeprefix("${").partition("[")
        whole = mark and text(node).strip('"') in (f"${{{name}[@]}}", f"${{{name}[*]}}")
        found = self.arrays.get(name) if whole else None
        return found if found is None or len(found) <= MOST_ITEMS else None

    def _expansion(self, node: Node) -> str | None:
        """A variable, an element of an array, or `${name:-word}` and its like."""
        first, *rest = [*node.named_children, None]
        if first is None or first.type == "subscript":
            return self._element(text(node)) if first else None
        name = text(first)
        if text(node) in (f"${name}", f"${{{name}}}"):
            return self.variables.get(name)
        default = node.children[2].type if len(node.children) > 2 else ""
        if default not in DEFAULTS or len(rest) != 2 or rest[0] is None:
            return None
        known = self.variables.get(name, "")
        return known if known or known is None else self.value(rest[0])

    def _element(self, word: str) -> str | None:
        name, _, index = word.removeprefix("${").removesuffix("]}").partition("[")
        if name == "BASH_SOURCE":
            return self.variables.get("0")
        items = self.arrays.get(name, [])
        small = index.isdecimal() and len(index) < 9  # Python makes no number of thousands of digits
        return items[int(index)] if small and int(index) < len(items) else None

    def _substitution(self, node: Node) -> str | None:
        """`$(dirname X)`, `$(basename X)`, `$(pwd)` and `$(cd X && pwd)` of constants, else unknown."""
        if len(node.named_children) != 1:
            return None
        inner = node.named_children[0]
        return self._folder(inner) if inner.type == "list" else self._printed(self._constants(inner))

    def _constants(self, node: Node) -> list[str]:
        """The words of a command without its redirections; none where one is unknown."""
        command = node.named_children[0] if node.type == "redirected_statement" else node
        words = [self.value(child) for child in command_words(command)] if command.type == "command" else []
        known = [word for word in words if word is not None]
        return known if len(known) == len(words) else []

    def _folder(self, node: Node) -> str | None:
        """What `cd X && pwd` prints."""
        if text(node.children[1]) != "&&" or len(node.named_children) != 2:
            return None
        go, say = ([word for word in self._constants(one) if word != "-P"] for one in node.named_children)
        here = self.variables.get("PWD")
        if go[:1] != ["cd"] or say != ["pwd"] or not here:
            return None
        return posixpath.normpath(posixpath.join(here, next(iter([w for w in go[1:] if w != "--"]), here)))

    def _printed(self, known: list[str]) -> str | None:
        if known == ["pwd"]:
            return self.variables.get("PWD")
        if known[:1] in (["dirname"], ["basename"]) and len(known) > 1:
            head, tail = posixpath.split(known[-1])
            return (head or ".") if known[0] == "dirname" else tail
        return None


def text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def unescape(word: str) -> str:
    out, escaped = [], False
    for character in word:
        if character == "\\" and not escaped:
            escaped = True
            continue
        if not (escaped and character == "\n"):
            out.append(character)
        escaped = False
    return "".join(out)


def join(parts: Iterable[str | None]) -> str | None:
    """The parts as one word; None where one is not known, or for more than any real word has.

    `a=$a$a` a few dozen times would be more than the machine's memory.
    """
    known, length = [], 0
    for part in parts:
        length += len(part or "")
        if part is None or length > LONGEST_WORD:
            return None
        known.append(part)
    return "".join(known)


def command_words(node: Node) -> Iterator[Node]:
    """The name and the arguments of a `command` node, without assignments and redirections."""
    for child in node.children:
        if child.type == "command_name":
            yield child.children[0]
        elif child.is_named and child.type not in (
            "variable_assignment",
            "file_redirect",
            "herestring_redirect",
        ):
            yield child


def is_glob(word: str) -> bool:
    return any(character in word for character in "*?[")


def expand(word: str, paths: Iterable[str]) -> list[str]:
    """Paths that a glob matches as a shell would (a `*` stays inside its folder), sorted."""
    return sorted(
        path for path in paths if path.count("/") == word.count("/") and fnmatch.fnmatchcase(path, word)
    )
