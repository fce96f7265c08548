"""What the shell scripts of the tests ask of the solver's work: paths, keys, labels, columns, thresholds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineages.gates.commands import Walk, Words
from lineages.gates.python_tests.asks import HEADER
from lineages.gates.python_tests.origin import is_graders

Found = tuple[str, str, str, int]
"""Kind, value, path, line."""

SAYS = frozenset("echo printf fail die log set export return exit read trap cd".split())
READERS = frozenset(
    "cat head tail wc diff cmp md5sum sha1sum sha256sum sha512sum stat od xxd file sort uniq jq grep egrep"
    " fgrep awk sed cut tr python3 python sqlite3 tar unzip zcat gzip readlink realpath ls find".split()
)
FILE_TESTS = frozenset("-e -f -d -s -r -w -x -L -h".split())
LESS_OR_MORE = frozenset("-lt -le -gt -ge < > <= >=".split())
RELATIVE = re.compile(r"(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,6}")
JQ_KEY = re.compile(
    r"(?<![\w\"\])])\.([A-Za-z_]\w*)|(?<=[\w\])])\.([A-Za-z_]\w*)|\[\"([^\"\\]+)\"\]|has\(\"([^\"\\]+)\"\)"
)
JQ_STRING = re.compile(r"(?<!\[)(?<!has\()\"(?:[^\"\\]|\\.)*\"")
ANCHORED = re.compile(r"\^?((?:#+ )?[A-Za-z][\w -]{2,40}[:=])")
SUBSTITUTED = re.compile(r"\$\((?!\()|`")
COUNTED = re.compile(r"\$\(\s*(?:stat|wc|du|ls|find|grep\s+-\w*c)|\bwc\b|\bstat\b|-c\b")


def shell_asks(walk: Walk) -> Iterator[Found]:
    """What the walked scripts ask for. Paths that the tests make themselves are kind `written`."""
    for path in walk.written:
        yield "written", path, "", 0
    for path, script, line in walk.read:
        yield "path", path, script, line
    for used in walk.found:
        yield from _of_test(used, walk) if used.is_test else _of_command(used, walk)


def _of_command(used: Words, walk: Walk) -> Iterator[Found]:
    name, *arguments = (word or "" for word in used.words)
    name = name.rsplit("/", 1)[-1]
    if name in SAYS:
        return
    for word in arguments:
        if word.startswith("/") and "\n" not in word and " " not in word:
            yield "path" if name in READERS else "mention", word, used.path, used.line
    if name == "jq":
        yield from (("key", key, used.path, used.line) for key in _jq_keys(arguments))
    if name in ("grep", "egrep", "fgrep") and _about_solvers(arguments):
        yield from (("label", label, used.path, used.line) for label in _labels(arguments))
    if name in ("cat", "head", "tail", "wc", "diff", "cmp", "jq"):
        last = arguments[-1] if len(arguments) > (name == "jq") else ""
        if RELATIVE.fullmatch(last) and walk.absolute(last):
            yield "path", walk.absolute(last) or "", used.path, used.line


def _about_solvers(arguments: list[str]) -> bool:
    """Whether a file is named, and none of the tests' own."""
    paths = [word for word in arguments if word.startswith("/")]
    return bool(paths) and not any(map(is_graders, paths))


def _labels(arguments: list[str]) -> Iterator[str]:
    patterns = [word for word in arguments if not word.startswith(("-", "/"))][:1]
    for pattern in patterns:
        if found := ANCHORED.match(pattern):
            yield found[1]


def _jq_keys(arguments: list[str]) -> Iterator[str]:
    """The keys that a filter goes down by; what it compares them with are answers."""
    files = [word for word in arguments if word.startswith("/")]
    plain = [word for word in arguments if word and not word.startswith(("-", "/"))]
    if any(map(is_graders, files)) or not plain:
        return
    filter_ = JQ_STRING.sub("", plain[0])
    for found in JQ_KEY.finditer(filter_):
        yield next(group for group in found.groups() if group)


def _of_test(used: Words, walk: Walk) -> Iterator[Found]:
    words = [word or "" for word in used.words]
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if before in FILE_TESTS:
            absolute = walk.absolute(word) if RELATIVE.fullmatch(word) else word
            if absolute and absolute.startswith("/"):
                yield "path", absolute, used.path, used.line
        elif word.startswith("/") and " " not in word:
            yield "mention", word, used.path, used.line
        if before in ("=", "==") and HEADER.fullmatch(word):
            yield from (("column", column, used.path, used.line) for column in re.split(r"[,;\t|]", word))
        if word in LESS_OR_MORE:
            yield from _threshold(before, after, used, walk)


def _threshold(left: str, right: str, used: Words, walk: Walk) -> Iterator[Found]:
    """A number that something measured is compared with."""
    if re.fullmatch(r"\d+(?:\.\d+)?", right):
        source = walk.sources.get((used.path, used.line), "")
        kind = _measured(source, walk)
        if kind:
            yield kind, right, used.path, used.line


def _measured(source: str, walk: Walk) -> str:
    """`count` or `threshold` for what a command printed, "" for a number of the tests' own."""
    text = source
    for name in re.findall(r"\$\{?(\w+)", source):
        text += " ".join(walk.assigned.get(name, []))
    if not SUBSTITUTED.search(text):
        return ""
    return "count" if COUNTED.search(text) else "threshold"
