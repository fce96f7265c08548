"""Which commands load something from another machine, and what to put into an image instead."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

Arguments = tuple[str | None, ...]

HERE = re.compile(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|[\w-]+|", re.IGNORECASE)
"""Hosts that are this machine, or a name without a dot, which no public machine has; `file:///x` has none."""
ADDRESS = re.compile(r"(?:(\w+)://)?(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:\s]+)")
VALUED = frozenset(
    "-o --output -O -d --data -H --header -X --request -w --write-out -m --max-time -u --user -A --user-agent"
    " --retry --retry-delay --connect-timeout --cacert -x --proxy -b -c -e -F -T -D --data-binary --data-raw"
    " --output-document -P --directory-prefix -t --tries --timeout --unix-socket".split()
)
OFFLINE = frozenset({"--offline", "--no-index", "--prefer-offline", "--no-network"})
INSTALLS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("apt-get", "apt", "aptitude"), frozenset({"update", "install", "upgrade", "build-dep", "download"})
    ),
    "apk": frozenset({"add", "update", "upgrade", "fetch"}),
    **dict.fromkeys(("dnf", "yum", "zypper"), frozenset({"install", "update", "upgrade", "makecache"})),
    **dict.fromkeys(("pip", "pip3", "pipx"), frozenset({"install", "download", "run"})),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"), frozenset({"install", "i", "ci", "add", "dlx", "update"})
    ),
    "uv": frozenset({"sync", "add", "pip", "tool", "run", "lock", "python"}),
    "poetry": frozenset({"install", "add", "update", "lock"}),
    **dict.fromkeys(("conda", "mamba", "micromamba"), frozenset({"install", "create", "update"})),
    "gem": frozenset({"install", "update"}),
    "bundle": frozenset({"install", "update"}),
    "cargo": frozenset({"install", "fetch", "add", "update"}),
    "go": frozenset({"get", "install"}),
    "playwright": frozenset({"install", "install-deps"}),
}
"""What each package manager does over the network, by its first word that is no option."""
ALWAYS = frozenset({"uvx", "cpan", "cpanm", "rustup"})
GIT = frozenset({"clone", "fetch", "pull", "ls-remote"})


def fetches(words: Sequence[str | None]) -> bool:
    """Whether a command loads something from another machine. What only a run could tell is taken for no."""
    if not words or words[0] is None:
        return False
    name, arguments = posixpath.basename(words[0]), tuple(words[1:])
    name, arguments = as_module(name, arguments)
    if OFFLINE.intersection(word for word in arguments if word) or "--version" in arguments:
        return False
    if name in ("curl", "wget"):
        return any(not _is_here(word) for word in _addresses(arguments))
    if name == "git":
        verb, rest = _verb(arguments)
        return verb in GIT and any("://" in word or "@" in word for word in rest if not _is_here(word))
    if name in ALWAYS:
        return bool(arguments)
    if name == "npx":  # what is installed already runs without a network
        return any(word and (word in ("-y", "--yes") or "@" in word[1:]) for word in arguments)
    verb, rest = _verb(arguments)
    return verb in INSTALLS.get(name, frozenset()) and not _only_local(name, verb, rest, arguments)


def as_module(name: str, arguments: Arguments) -> tuple[str, Arguments]:
    """`python3 -m pip install x` is `pip install x`."""
    if re.fullmatch(r"python[\d.]*", name) and len(arguments) > 1 and arguments[0] == "-m" and arguments[1]:
        return arguments[1], arguments[2:]
    return name, arguments


def fetches_text(address: str) -> bool:
    """Whether an address, as a program opens it, is another machine's."""
    return "://" in address and not _is_here(address)


def _addresses(arguments: Arguments) -> Iterator[str]:
    for before, word in zip((None, *arguments), arguments, strict=False):
        if word and not word.startswith("-") and before not in VALUED:
            yield word


def _is_here(address: str) -> bool:
    if address.startswith(("/", "./", "../", "~")):
        return True
    found = ADDRESS.match(address)
    return found is None or found[1] == "file" or HERE.fullmatch(found[2]) is not None


def _verb(arguments: Arguments) -> tuple[str, list[str]]:
    plain = [word for word in arguments if word and not word.startswith("-")]
    return (plain[0], plain[1:]) if plain else ("", [])


def _only_local(name: str, verb: str, rest: list[str], given: Arguments) -> bool:
    if name == "uv" and verb == "pip":
        return rest[:1] not in (["install"], ["sync"]) or _only_local("pip", "install", rest[1:], given)
    if name == "uv" and verb == "run":
        return not {"-w", "--with", "--from"} & {word.partition("=")[0] for word in given if word}
    if name in ("cargo", "go"):
        return "--path" in given or all(word.startswith((".", "/")) for word in rest)
    if name == "uv" and verb in ("tool", "python"):
        return rest[:1] not in (["install"], ["run"], ["upgrade"])
    if name in ("pip", "pip3") and rest:
        return all(word.startswith((".", "/")) and not word.endswith(".txt") for word in rest)
    return False


def repair(words: Sequence[str | None], dockerfile: str) -> str:
    """The lines that make the command needless, and the one to run instead where there is one."""
    plain = [word if word is not None else "…" for word in words]
    name, arguments = as_module(posixpath.basename(plain[0]), tuple(plain[1:]))
    known = [word or "" for word in arguments]
    image, instead = REPAIRS.get(name, _as_it_is)(name, known)
    lines = [f"{dockerfile}: {image}"] if image else []
    if instead is not None:
        lines.append(f"and run here: {instead}" if instead else "and take this line out")
    return "\n".join(lines)


def _as_it_is(name: str, arguments: list[str]) -> tuple[str, str | None]:
    return f"RUN {shlex.join([name, *arguments])}", ""


def _apt(name: str, arguments: list[str]) -> tuple[str, str | None]:
    verb, packages = _verb(tuple(arguments))
    if verb != "install":
        return "", ""
    listed = shlex.join(packages)
    return (
        f"RUN apt-get update && apt-get install -y --no-install-recommends {listed}"
        " && rm -rf /var/lib/apt/lists/*",
        "",
    )


def _pip(name: str, arguments: list[str]) -> tuple[str, str | None]:
    return f"RUN pip install --no-cache-dir {shlex.join(arguments[1:])}", ""


def _uv(name: str, arguments: list[str]) -> tuple[str, str | None]:
    if arguments[:2] == ["pip", "install"]:
        rest = [word for word in arguments[2:] if word != "--system"]
        return f"RUN pip install --no-cache-dir {shlex.join(rest)}", ""
    if arguments[:1] == ["run"]:
        return _uvx(name, arguments[1:])
    if arguments[:2] == ["tool", "run"]:
        return _uvx(name, arguments[2:])
    return f"RUN uv {shlex.join(arguments)}", ""


def _uvx(name: str, arguments: list[str]) -> tuple[str, str | None]:
    """`uvx -w pytest==8.4.1 pytest -rA`: what is brought along, and the tool that is then run."""
    brought, rest = [], list(arguments)
    while rest and rest[0].startswith("-"):
        option, _, value = rest.pop(0).partition("=")
        if option in ("-w", "--with", "--from", "-p", "--python", "--with-requirements", "--index-url"):
            value = value or (rest.pop(0) if rest else "")
            if option in ("-w", "--with", "--from"):
                brought += value.split(",")
            elif option == "--with-requirements":
                brought += ["-r", value]
    tool = rest[0].partition("@")[0] if rest else ""
    packages = {re.split(r"[=<>!~\[ ]", name)[0].lower() for name in brought}
    if tool and tool.lower() not in packages and tool not in ("python", "python3"):
        brought.insert(0, rest[0].replace("@", "==", 1))
    image = f"RUN pip install --no-cache-dir {shlex.join(brought)}" if brought else ""
    return image, shlex.join([tool, *rest[1:]]) if tool else ""


def _npx(name: str, arguments: list[str]) -> tuple[str, str | None]:
    rest = [word for word in arguments if word not in ("-y", "--yes", "-q", "--quiet")]
    package = rest[0] if rest else ""
    tool = re.sub(r"(?<=.)@.*", "", package).rsplit("/", 1)[-1]
    return f"RUN npm install -g {shlex.quote(package)}", shlex.join([tool, *rest[1:]])


def _download(name: str, arguments: list[str]) -> tuple[str, str | None]:
    url = next((word for word in _addresses(tuple(arguments)) if not _is_here(word)), "")
    if "astral.sh/uv" in url:
        return "", ""  # it brings uv, which is not needed once the tools are in the image
    return f"RUN {shlex.join([name, *arguments])}  # or COPY what it loads", ""


REPAIRS: Mapping[str, Callable[[str, list[str]], tuple[str, str | None]]] = {
    "apt-get": _apt,
    "apt": _apt,
    "pip": _pip,
    "pip3": _pip,
    "uv": _uv,
    "uvx": _uvx,
    "npx": _npx,
    "curl": _download,
    "wget": _download,
}
