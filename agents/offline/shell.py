"""The commands of a shell script in order, with the files that each reads and writes.

A parser (tree-sitter-bash), never regular expressions; nothing is run. What only a run could tell is left
out and marked: `Command.known` is False where a command may write files that its words do not name.
Loops are walked once for each constant item, branches all, functions where they are called.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from agents.offline.arguments import Effects, effects
from agents.offline.vocabulary import DESTINATION_LAST, PYTHON, SHELLS, WRAPPERS
from agents.offline.words import Words, command_words, expand, is_glob, text

LANGUAGE = Language(tree_sitter_bash.language())
MAX_LOOP_ITEMS = 64
MAX_DEPTH = 8


@dataclass
class Command:
    """One simple command. Paths are absolute; `block` is the script it stands in."""

    name: str
    block: str
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    known: bool = True


class Script:
    """Walks scripts and collects commands.

    `existing` are container paths of files that exist before; `scripts` maps container paths of further
    scripts (the solution's own) to their text, walked when a command runs them. Scripts that are written
    from a heredoc on the way are known from there on.
    """

    def __init__(self, existing: Iterable[str], workdir: str, scripts: Mapping[str, str]) -> None:
        self.commands: list[Command] = []
        self.files = set(existing)
        self.cwd: str | None = workdir
        self.scripts = dict(scripts)
        self.variables: dict[str, str | None] = {"PWD": workdir}
        self.functions: dict[str, Node] = {}
        self.block = ""
        self.depth = 0
        self.arrays: dict[str, list[str | None]] = {}
        self.words = Words(self.variables, self.arrays)

    def run(self, path: str, block: str) -> None:
        """Walk the script at the container path `path`; its commands get `block`."""
        self.block = block
        self._source(path, ())

    def _source(self, path: str, arguments: tuple[str | None, ...]) -> None:
        if self.depth >= MAX_DEPTH or path not in self.scripts:
            return
        script = self.scripts[path].encode()
        with_arguments = {"0": path, **{str(n): value for n, value in enumerate(arguments, start=1)}}
        self._inside(lambda: self.visit(Parser(LANGUAGE).parse(script).root_node), with_arguments)

    def _inside(self, walk: Callable[[], None], variables: Mapping[str, str | None]) -> None:
        """Walk with positional parameters set, and put back what they were."""
        before = {name: self.variables.get(name) for name in variables}
        self.variables.update(variables)
        self.depth += 1
        walk()
        self.depth -= 1
        self.variables.update(before)

    def visit(self, node: Node) -> None:
        handler: Callable[[Node], None] = getattr(self, f"_{node.type}", self._children)
        handler(node)

    def _children(self, node: Node) -> None:
        for child in node.named_children:
            self.visit(child)

    def _subshell(self, node: Node) -> None:
        cwd = self.cwd
        self._children(node)
        self._go(cwd)

    _command_substitution = _subshell
    _process_substitution = _subshell

    def _go(self, cwd: str | None) -> None:
        self.cwd = self.variables["PWD"] = cwd

    def _function_definition(self, node: Node) -> None:
        self.functions[text(node.named_children[0])] = node.named_children[-1]

    def _variable_assignment(self, node: Node) -> None:
        name, value = node.named_children[0], node.named_children[1:]
        if value and value[0].type == "array":
            self._array(text(name), value[0], more="+=" in {child.type for child in node.children})
            return
        known = self.words.value(value[0]) if len(value) == 1 else ("" if not value else None)
        plain = name.type == "variable_name" and "+=" not in {child.type for child in node.children}
        self._children(node)
        self.variables[text(name)] = known if plain else None

    def _array(self, name: str, node: Node, *, more: bool) -> None:
        self._children(node)
        items = [item for child in node.named_children for item in self._expanded(child)]
        self.arrays[name] = [*self.arrays.get(name, []), *items] if more else items
        self.variables[name] = next(iter(self.arrays[name]), "")

    def _for_statement(self, node: Node) -> None:
        name = text(node.named_children[0])
        body = node.named_children[-1]
        items: list[str | None] = []
        for child in node.named_children[1:-1]:
            self._children(child)
            items.extend(self._expanded(child))
        for item in items[:MAX_LOOP_ITEMS] or [None]:
            self.variables[name] = item
            self.visit(body)

    def _while_statement(self, node: Node) -> None:
        self._children(node)

    def _redirected_statement(self, node: Node) -> None:
        first = len(self.commands)
        redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
        heredoc = next((child for child in redirects if child.type == "heredoc_redirect"), None)
        written = self._heredoc_text(heredoc) if heredoc else None
        for child in node.named_children:
            if child.type.endswith("_redirect"):
                continue
            if child.type == "command" and heredoc is not None:
                self._command(child, written)
            else:
                self.visit(child)
        if len(self.commands) == first:
            self.commands.append(Command(":", self.block))
        own = self.commands[first:]
        for redirect in redirects:
            self._redirect(redirect, own)
        if written is not None and ">>" not in text(node).partition("\n")[0]:
            self._keep_script(written, self.commands[first:])

    def _keep_script(self, written: str, own: list[Command]) -> None:
        """What a heredoc put into a file, which a later command may run."""
        if len(own) == 1 and own[0].name in ("cat", "tee"):
            self.scripts.update(dict.fromkeys(own[0].writes, written))

    def _heredoc_text(self, node: Node) -> str | None:
        body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
        start = next((text(child) for child in node.named_children if child.type == "heredoc_start"), "")
        if body is None:
            return ""
        quoted = start[:1] in "'\"\\"
        return text(body) if quoted else self.words.body(body)

    def _redirect(self, node: Node, own: list[Command]) -> None:
        if node.type == "heredoc_redirect":
            self._heredoc_rest(node, own)
        elif node.type == "file_redirect":
            operator = next((child.type for child in node.children if not child.is_named), ">")
            self._apply(operator, node.named_children[-1], own)
        else:
            self._children(node)

    def _heredoc_rest(self, node: Node, own: list[Command]) -> None:
        """What stands on the line of a heredoc's start: redirections, a pipe, an `&&` list."""
        for child in node.named_children:
            if child.type == "file_redirect":
                self._redirect(child, own)
            elif not child.type.startswith("heredoc_") and child.type != "file_descriptor":
                self.visit(child)

    def _apply(self, operator: str, target: Node, own: list[Command]) -> None:
        if target.type == "process_substitution":
            self.visit(target)
            return
        word = self.words.value(target)
        if operator in (">&", "<&") and text(target).lstrip("-").isdigit():
            return
        path = self.absolute(word) if word is not None else None
        if path is None:
            own[-1].known = own[-1].known and operator == "<"
        elif path.startswith("/dev/"):
            return
        elif operator == "<":
            own[0].reads.append(path)
        else:
            own[-1].writes.append(path)
            self._wrote([path])

    def _declaration_command(self, node: Node) -> None:
        self._children(node)

    def _command(self, node: Node, heredoc: str | None = None) -> None:
        for child in node.named_children:
            if child.type not in ("word", "raw_string", "number"):
                self._children(child) if child.type != "variable_assignment" else None
        words: list[str | None] = []
        for child in command_words(node):
            words.extend(self._expanded(child))
        own = len(self.commands)
        self._called(words, heredoc)
        for child in node.named_children:
            if child.type in ("file_redirect", "herestring_redirect") and len(self.commands) > own:
                self._redirect(child, self.commands[own:])

    def _expanded(self, node: Node) -> list[str | None]:
        """The words that one word becomes: globs over the known files, unquoted lists split."""
        items = self.words.items(node)
        if items is not None:
            return list(items)
        value = self.words.value(node)
        if value is None or node.type in ("string", "raw_string"):
            return [value]
        if node.type in ("simple_expansion", "expansion") and " " in value:
            return list(value.split())
        pattern = self.absolute(value) if is_glob(value) else None
        return list(expand(pattern, self.files)) or [value] if pattern else [value]

    def _called(self, words: list[str | None], heredoc: str | None) -> None:
        while len(words) > 1 and words[0] and posixpath.basename(words[0]) in WRAPPERS:
            words = _unwrapped(posixpath.basename(words[0]), words[1:])
        if not words or words[0] is None:
            self.commands.append(Command("?", self.block, known=False))
            return
        name, arguments = posixpath.basename(words[0]), tuple(words[1:])
        if words[0] in self.functions and self.depth < MAX_DEPTH:
            body = self.functions[words[0]]
            numbered = {str(n): value for n, value in enumerate(arguments, start=1)}
            self._inside(lambda: self.visit(body), numbered)
        elif name == "cd":
            self._go(self.absolute(arguments[-1]) if arguments and arguments[-1] else None)
        elif self._script_of(name, words) in self.scripts and name not in PYTHON:
            self._source(self._script_of(name, words), tuple(words[2:] if name in SHELLS else words[1:]))
        else:
            self._note(name, arguments, heredoc)

    def _script_of(self, name: str, words: list[str | None]) -> str:
        word = (
            next((word for word in words[1:] if word and not word.startswith("-")), None)
            if name in SHELLS
            else words[0]
        )
        return self.absolute(word) or "" if word and "/" in word else ""

    def _note(self, name: str, arguments: tuple[str | None, ...], heredoc: str | None) -> None:
        found: Effects = effects(name, arguments, heredoc, self)
        copies = self._copied_scripts(arguments) if name in DESTINATION_LAST else {}
        self.commands.append(Command(name, self.block, found.reads, found.writes, found.removes, found.known))
        self._wrote(found.writes)
        self.scripts.update(copies)
        self.files.difference_update(found.removes)

    def _copied_scripts(self, arguments: tuple[str | None, ...]) -> dict[str, str]:
        """What a copy brings to where a later command may run it, its last word a folder or not."""
        paths = [self.absolute(word) for word in arguments if word and not word.startswith("-")]
        found: dict[str, str] = {}
        for source in filter(None, paths[:-1]):
            for path, script in self.scripts.items():
                if paths[-1] and (path == source or path.startswith(source + "/")):
                    landed = paths[-1] + path[len(source) :]
                    found[landed] = found[f"{paths[-1]}/{path[source.rfind('/') + 1 :]}"] = script
        return found

    def _wrote(self, paths: list[str]) -> None:
        self.files.update(paths)
        for path in paths:
            self.scripts.pop(path, None)

    def absolute(self, word: str | None) -> str | None:
        """The container path that a word names from the current folder; None if the folder is unknown."""
        if not word or "\n" in word:
            return None
        if word.startswith("/"):
            return posixpath.normpath("/" + word.lstrip("/"))
        return posixpath.normpath(posixpath.join(self.cwd, word)) if self.cwd else None


def _unwrapped(wrapper: str, rest: list[str | None]) -> list[str | None]:
    """The words of the command that a wrapper runs: options, `VAR=value` and durations skipped."""
    while rest and rest[0] is not None and (rest[0].startswith("-") or (wrapper == "env" and "=" in rest[0])):
        rest = rest[1:]
    if wrapper == "timeout":
        rest = rest[1:]
    return rest or [None]
