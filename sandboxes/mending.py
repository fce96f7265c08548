"""What is mended on intake, since it is only a matter of form; each step says what it changed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sandboxes.compose_file import Service, only_service
from sandboxes.config import decode, parse_config
from sandboxes.digests import GITIGNORE, HARBORIGNORE, SINGLE_FILES, UploadRules, package_ignores
from sandboxes.errors import TaskRefused
from sandboxes.files import EXECUTABLE, TaskFile, printable
from sandboxes.kinds import IMAGE
from sandboxes.task import CONFIG, DOCKERFILE, VERIFIER_DOCKERFILE

SINGLES = (*SINGLE_FILES, GITIGNORE, HARBORIGNORE)
COMPOSE = "environment/docker-compose.yaml"
COMPOSE_NAMES = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
DATA_FOLDERS = frozenset({"data", "expected", "fixtures", "golden", "held", "pristine", "testdata"})
"""What lies in a folder of such a name is compared or handed over, whatever it starts with. An evolved task
keeps copies of what the solver is given in the ones called `held` and `pristine`."""

_BOM = b"\xef\xbb\xbf"

Files = Mapping[str, TaskFile]
Mended = tuple[Files, list[str]]


def mended(files: Files, left_out: Iterable[str]) -> Mended:
    """The files as they are kept, with a sentence for each kind of change. Raises `TaskRefused`."""
    kept, warnings = _without_ignored(files, left_out)
    for mend in (_without_bom, _with_unix_lines, _with_exec_bits, _without_compose, _with_dockerfile):
        kept, said = mend(kept)
        warnings += said
    return kept, warnings + _same_elsewhere(kept)


def _without_ignored(files: Files, left_out: Iterable[str]) -> Mended:
    """Without the leavings of editors and Python, and without what `.harborignore` names."""
    rules, uploads = package_ignores(files), UploadRules(files)
    named = {path for path in files if rules.match_file(path) and path not in SINGLES}
    # Under environment/ an editor's swap file may be what the task is about.
    rubbish = {path for path in named if GITIGNORE not in files and not path.startswith("environment/")}
    hidden = {path for path in files if uploads.leave_out(path) and not path.endswith(HARBORIGNORE)}
    kept = {path: file for path, file in files.items() if path not in rubbish | hidden}
    # Harbor runs a task with what .gitignore names, and publishes it without; here the run counts.
    unpublished = named - rubbish - hidden
    return kept, [
        *_warning("left out", {*left_out, *rubbish, *hidden}),
        *_warning("kept, though Harbor publishes the task without it", unpublished),
    ]


def _warning(what: str, paths: Iterable[str]) -> list[str]:
    names = sorted(paths)
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return [f"{what}: {', '.join(printable(name) for name in names[:20])}{more}"] if names else []


def _without_bom(files: Files) -> Mended:
    changed = {
        path: TaskFile(file.data.removeprefix(_BOM), file.mode)
        for path, file in files.items()
        if file.data.startswith(_BOM) and _is_form(path, file)
    }
    return {**files, **changed}, _warning("byte order mark removed", changed)


def _with_unix_lines(files: Files) -> Mended:
    changed = {
        path: TaskFile(file.data.replace(b"\r\n", b"\n"), file.mode)
        for path, file in files.items()
        if _is_form(path, file) and b"\r\n" in file.data
    }
    return {**files, **changed}, _warning("CRLF line ends changed to LF", changed)


def _with_exec_bits(files: Files) -> Mended:
    changed = {
        path: TaskFile(file.data, EXECUTABLE)
        for path, file in files.items()
        if _is_script(path, file) and file.data.startswith(b"#!") and not file.executable
    }
    return {**files, **changed}, _warning("executable bit set", changed)


def _is_form(path: str, file: TaskFile) -> bool:
    """Whether line ends and marks are a matter of form here: never in what the solver is given to work on."""
    if path in (CONFIG, DOCKERFILE, VERIFIER_DOCKERFILE) or "/" not in path and path.endswith(".md"):
        return file.link is None
    return _is_script(path, file) and b"\0" not in file.data


def _is_script(path: str, file: TaskFile) -> bool:
    if file.link is not None or not path.startswith(("tests/", "solution/")):
        return False
    if not DATA_FOLDERS.isdisjoint(path.split("/")[1:-1]):
        return False
    return path.endswith(".sh") or file.data.removeprefix(_BOM).startswith(b"#!")


def _without_compose(files: Files) -> Mended:
    """Without a compose file whose only service is Harbor's `main` and that says no more than a Dockerfile.

    Raises `TaskRefused` for any other.
    """
    found = [path for path in files if _is_compose(path)]
    if not found:
        return files, []
    for path in found:
        if path != COMPOSE:
            raise TaskRefused(path, f"compose: a file of this name is not supported; Harbor reads {COMPOSE}")
    service = only_service(decode(files[COMPOSE].data, COMPOSE), COMPOSE, "main")
    for mount in service.volumes:
        raise TaskRefused(COMPOSE, f"compose: the mount `{mount}` of service `main` is not supported")
    says: tuple[tuple[str, object], ...] = (
        ("environment", service.env),
        ("image", service.image),
        ("working_dir", service.workdir),
    )
    for key, value in says:
        if value:
            raise TaskRefused(COMPOSE, f"compose: `{key}` of service `main` is not supported")
    if (service.context.strip("./"), service.dockerfile) != ("", Service.dockerfile):
        raise TaskRefused(COMPOSE, "compose: `build` of service `main` is not that of environment/Dockerfile")
    kept = {path: file for path, file in files.items() if path != COMPOSE}
    return kept, [f"left out: {COMPOSE}, whose only service `main` adds nothing to the Dockerfile"]


def _is_compose(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder in ("environment", "tests") and name in COMPOSE_NAMES


def _with_dockerfile(files: Files) -> Mended:
    """With a prebuilt image written as the Dockerfile that stands for it, where there is none beside it."""
    if DOCKERFILE in files or CONFIG not in files or any(path.startswith(f"{DOCKERFILE}/") for path in files):
        return files, []
    image = parse_config(files[CONFIG].data, CONFIG).environment.docker_image
    if not image:
        return files, []
    if not IMAGE.fullmatch(image):
        raise TaskRefused(CONFIG, f"environment.docker_image: {image[:100]!r} is no name of an image")
    kept = {
        **files,
        DOCKERFILE: TaskFile.text(f"FROM {image}\n"),
        CONFIG: TaskFile(_without_image(files[CONFIG].data), files[CONFIG].mode),
    }
    said = f"environment.docker_image moved to {DOCKERFILE} (FROM {image}), which is built instead"
    return kept, [said]


def _without_image(data: bytes) -> bytes:
    """`task.toml` without that line; everything else in it stays as it is written."""
    try:
        document = tomlkit.parse(data.decode())
        document["environment"].remove("docker_image")
        return tomlkit.dumps(document).encode()
    except (TOMLKitError, RecursionError, AttributeError) as error:
        reason = f"environment.docker_image cannot be moved to a Dockerfile ({error}); write one"
        raise TaskRefused(CONFIG, reason) from None


def _same_elsewhere(files: Files) -> list[str]:
    """Names that are one on macOS and Windows. Linux tells them apart, and so does the container."""
    folded: dict[str, str] = {}
    twins = {path for path in files if folded.setdefault(_as_macos_compares(path), path) != path}
    return _warning(
        "names that differ in case or accents' form only, so a download unpacks on Linux alone", twins
    )


def _as_macos_compares(path: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
