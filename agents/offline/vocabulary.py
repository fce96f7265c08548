"""What shell commands are called in words, how common they are, and which of their arguments they write.

Tables only. A command that is not here is taken for rare, and for one whose writes are unknown.
"""

from __future__ import annotations

from types import MappingProxyType

COMMON = """
    [ test true : export set cd return local source . wait shift eval exec unset trap exit
    find xargs grep sort rm sed echo awk ls cut cat chmod wc head tr tail mv read uniq mkdir tar cp
    dirname tee sh split pwd perl readlink basename date ln md5sum rev diff du gzip comm tac bash paste seq
    od nl fold printf join touch sleep python python3 expr dd base64 iconv jq sqlite3
""".split()
"""Most common first: builtins, then the order of use in the NL2Bash corpus."""

PLUMBING = frozenset(
    """
    [ test true : export set cd return local read source . wait shift eval exec unset trap exit echo printf
    mkdir rm touch chmod cat ls cp mv pwd sleep xargs tee bash sh date basename dirname
    """.split()
)
"""Commands that carry no skill of their own where another one stands beside them."""

VERBS = MappingProxyType(
    {
        "find": "search files",
        "grep": "filter lines",
        "egrep": "filter lines",
        "sort": "sort records",
        "sed": "rewrite text",
        "awk": "compute over fields",
        "cut": "select columns",
        "wc": "count records",
        "head": "take the first records",
        "tail": "take the last records",
        "tr": "translate characters",
        "uniq": "group equal records",
        "paste": "join columns",
        "join": "join records by key",
        "comm": "compare record sets",
        "diff": "compare files",
        "cmp": "compare files",
        "tar": "unpack an archive",
        "gzip": "compress files",
        "gunzip": "decompress files",
        "zcat": "decompress files",
        "unzip": "unpack an archive",
        "split": "split a file",
        "jq": "query json",
        "sqlite3": "query a database",
        "sha256sum": "compute checksums",
        "md5sum": "compute checksums",
        "openssl": "apply cryptography",
        "python3": "run a python program",
        "python": "run a python program",
        "perl": "run a perl program",
        "gcc": "compile a program",
        "make": "build a program",
        "git": "work with version history",
        "iconv": "convert encodings",
        "basenc": "decode text",
        "base64": "decode text",
        "dd": "copy blocks",
        "od": "inspect bytes",
        "xxd": "inspect bytes",
        "tac": "reverse records",
        "bc": "compute numbers",
        "printf": "write text",
        "echo": "write text",
        "cat": "copy text",
        "cp": "copy files",
        "mv": "move files",
        "touch": "create a file",
        "tee": "write text",
        "read": "read records",
    }
)

WRAPPERS = frozenset("exec env sudo time nice nohup command builtin stdbuf xargs timeout".split())
"""Commands that run the command named by their arguments."""

PURE = frozenset(
    """
    [ test true false : export set cd echo printf ls exit return local read wait shift unset trap pwd sleep
    grep egrep fgrep cut wc head tail tr uniq paste join comm diff cmp date basename dirname seq readlink
    realpath md5sum sha1sum sha256sum sha512sum b2sum cksum cat tac rev nl fold fmt pr expand unexpand column
    od xxd hexdump strings jq bc dc zcat bzcat xzcat file stat du df find chmod chown mkdir rmdir rm expr
    factor numfmt base64 base32 basenc tsort shuf awk sed sort command which type hash id whoami uname
    declare typeset readonly
    """.split()
)
"""Commands that write nothing but their output, unless `IN_PLACE` or `OUTPUT_OPTIONS` says so."""

DESTINATION_LAST = frozenset("cp mv install ln".split())
WRITES_ARGUMENTS = frozenset("tee touch truncate".split())
OUTPUT_OPTIONS = MappingProxyType(
    {
        "sort": ("-o", "--output"),
        "gcc": ("-o",),
        "cc": ("-o",),
        "g++": ("-o",),
        "iconv": ("-o", "--output"),
        "curl": ("-o", "--output"),
        "wget": ("-O",),
        "openssl": ("-out",),
        "xxd": (),
    }
)
PYTHON = frozenset("python python3".split())
SHELLS = frozenset("bash sh source .".split())

KINDS = MappingProxyType(
    {
        "csv": "csv file",
        "tsv": "tab separated file",
        "json": "json file",
        "jsonl": "json lines file",
        "ndjson": "json lines file",
        "log": "log file",
        "txt": "text file",
        "md": "text file",
        "xml": "xml file",
        "yaml": "yaml file",
        "yml": "yaml file",
        "toml": "config file",
        "ini": "config file",
        "conf": "config file",
        "cfg": "config file",
        "py": "python source",
        "sh": "shell script",
        "c": "c source",
        "sql": "sql script",
        "db": "database file",
        "sqlite": "database file",
        "gz": "compressed file",
        "tar": "archive",
        "zip": "archive",
        "html": "html file",
    }
)


def kind(path: str, data: bytes | None = None) -> str:
    """What a file is, in words: by its suffix, else by its content."""
    name = path.rsplit("/", 1)[-1]
    suffix = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if suffix in KINDS:
        return KINDS[suffix]
    if data is not None and b"\0" in data:
        return "binary file"
    return "text file"


def rarity(command: str) -> int:
    """Higher is rarer; commands outside the table are the rarest."""
    return COMMON.index(command) if command in COMMON else len(COMMON)
