"""leaks: what of the solution and the tests can be read in the built image."""

from __future__ import annotations

import base64
import importlib.util
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from django.conf import settings

from lineages.gates import leaks
from lineages.gates.base import Outcome, Result
from lineages.gates.image_search import OWN_ENVIRONMENT, Search
from lineages.gates.secrets import secrets
from sandboxes.backends import open_backend
from sandboxes.base import Backend, Image
from sandboxes.bubblewrap import BubblewrapBackend
from sandboxes.context import environment_context
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.gates.subjects import subject
from tests.tasks import words

SOLVE = """#!/bin/bash
set -euo pipefail
mkdir -p /app/out
awk -F, '$3 == "closed" { n[$2]++ } END { for (d in n) print d, n[d] }' /app/tickets.csv > /app/out/closed
sed -n 's/^ticket-\\([0-9]*\\),.*overdue.*/\\1/p' /app/tickets.csv | sort -n > /app/out/overdue
join -t, -1 2 -2 1 <(sort -t, -k2,2 /app/tickets.csv) /app/desks.csv > /app/out/joined
"""
LINES = "\n".join(SOLVE.splitlines()[3:])
TICKETS = "".join(
    f"ticket-{n},desk-{n % 3},{'closed' if n % 2 else 'open'},since monday\n" for n in range(40)
)
EXPECTED = "".join(f"desk-{n},{n * 17 + 3} closed,{n * 5} overdue\n" for n in range(6))
BASE = {
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /app/\n",
    "environment/tickets.csv": TICKETS,
    "solution/solve.sh": SOLVE,
    "tests/expected/desks.csv": EXPECTED,
}
Files = Mapping[str, str | bytes]


class WithSteps(BubblewrapBackend):
    """Its images hold `left` below /app besides, as if a RUN line of the Dockerfile had left it there."""

    left: Files = {}

    def build(self, context: Mapping[str, TaskFile], *, timeout: float) -> Image:
        return super().build({**context, **_files(self.left)}, timeout=timeout)


def _files(texts: Files) -> dict[str, TaskFile]:
    return {
        path: TaskFile(text if isinstance(text, bytes) else text.encode()) for path, text in texts.items()
    }


def task(changes: Files | None = None) -> Task:
    return words().replace(_files({**BASE, **(changes or {})}))


def asked(changes: Files | None = None, *, left: Files | None = None) -> Outcome:
    backend = WithSteps(folder=settings.SANDBOXES)
    backend.left = left or {}
    return leaks.check(subject(task=task(changes), backend=backend))


def test_an_image_without_solution_and_tests_passes() -> None:
    said = asked()
    assert (said.result, said.findings) == (Result.PASSED, ())
    assert said.summary.startswith("None of the 5 files of the solution and the tests")


def test_a_copied_solution_is_found_with_its_place_in_the_image_and_where_it_came_from() -> None:
    said = asked({"environment/old/solve.sh": SOLVE})
    (finding,) = said.findings
    assert said.result is Result.FAILED
    assert (finding.path, finding.line) == ("solution/solve.sh", 1)
    assert "the whole file stands in /app/old/solve.sh (from old/solve.sh of the environment)" in finding.text
    assert ".dockerignore" in finding.repair


def test_a_copy_with_a_few_lines_more_is_found_too() -> None:
    said = asked({"environment/README.md": f"How it was done last time:\n{LINES}\nDo not lose this.\n"})
    assert (said.result, said.findings[0].line) == (Result.FAILED, 4)


def test_what_a_build_step_left_is_found_by_its_lines() -> None:
    said = asked(left={"build/trace.log": f"+ starting\n{LINES}\n+ done\n"})
    (finding,) = said.findings
    assert (said.result, finding.path, finding.line) == (Result.FAILED, "solution/solve.sh", 4)
    assert "3 of its 3 telling lines stand in /app/build/trace.log" in finding.text


def test_expected_values_inside_a_larger_file_are_found() -> None:
    said = asked(left={"cache/run.log": f"checking\n{EXPECTED}all fine\n"})
    assert (said.result, said.findings[0].path) == (Result.FAILED, "tests/expected/desks.csv")


def test_an_editors_copy_of_a_test_is_found_under_any_name() -> None:
    said = asked(left={"x/.unit.sh~": task().files["tests/units/first.sh"].data})
    assert [finding.path for finding in said.findings] == ["tests/units/first.sh"]
    assert "/app/x/.unit.sh~" in said.summary


def test_an_input_that_the_tests_keep_too_is_no_leak() -> None:
    said = asked({"tests/pristine/app/tickets.csv": TICKETS, "tests/tickets.csv": TICKETS})
    assert (said.result, said.findings) == (Result.PASSED, ())


def test_expected_values_that_stand_in_an_input_are_a_warning() -> None:
    said = asked({"tests/expected/tickets.csv": TICKETS})
    assert said.result is Result.PASSED
    assert [(finding.path, finding.warning) for finding in said.findings] == [
        ("tests/expected/tickets.csv", True)
    ]


def test_the_bytes_that_were_taken_away_may_not_lie_there_as_they_were() -> None:
    plain = "the ledger of desk nine, as it was before it was taken apart\n" * 3
    held = {"tests/held/app/ledger": plain}
    assert asked({**held, "environment/kept/ledger": plain}).result is Result.FAILED
    assert asked(held).result is Result.PASSED


def test_too_little_to_tell_is_not_looked_for() -> None:
    said = asked({"tests/expected/answer": "42\n", "environment/limits": "42\n"})
    assert (said.result, said.findings) == (Result.PASSED, ())


COMPILED = "def test_desks_are_counted():\n    assert open('/app/out/closed').read()\n"


def compiled(source: str, *, by_hash: bool = False) -> bytes:
    """What Python keeps of a source, without its code."""
    head = importlib.util.MAGIC_NUMBER + (1 if by_hash else 0).to_bytes(4, "little")
    return head + bytes(4) + len(source).to_bytes(4, "little") + b"code"


@pytest.mark.parametrize("by_hash", [False, True])
def test_a_shells_history_is_shown_and_compiled_tests_are_a_leak(by_hash: bool) -> None:
    tests = {"tests/test_desks.py": COMPILED}
    kept = compiled(COMPILED, by_hash=by_hash)
    left: Files = {".bash_history": "ls\n", "__pycache__/test_desks.cpython-311.pyc": kept}
    said = asked(tests, left=left)
    assert said.result is Result.FAILED
    assert "test_desks.cpython-311.pyc of the image is compiled" in said.summary
    assert [finding.warning for finding in said.findings] == [False, True]


def test_a_module_of_somebody_elses_with_the_same_name_is_none_of_the_tests() -> None:
    tests = {"tests/__init__.py": "", "tests/main.py": COMPILED, "tests/a[b]*.py": COMPILED}
    left: Files = {
        "lib/__pycache__/__init__.cpython-312.pyc": compiled(""),
        "lib/__pycache__/main.cpython-312.pyc": compiled(COMPILED + "# another\n"),
        "lib/__pycache__/axyz.cpython-312.pyc": compiled(COMPILED),
        "lib/__pycache__/main.short.pyc": b"\0\1",
    }
    assert asked(tests, left=left).findings == ()


def test_a_name_with_a_line_feed_hides_nothing_and_breaks_nothing() -> None:
    said = asked(left={"a\nb": SOLVE, "c\n/etc/passwd": f"{LINES}\n", "d": "plain\n"})
    assert said.result is Result.FAILED
    assert any("line feed" in finding.text and finding.warning for finding in said.findings)
    assert any("/app/a\nb" in finding.text and not finding.warning for finding in said.findings)


def test_odd_names_are_found_like_any_other() -> None:
    names = ("back\\slash", "two  gaps ", "-rf", "ünï", "\udcff\udcfe")
    by_line = asked(left=dict.fromkeys(names, f"{LINES}\n"))
    whole = asked(left=dict.fromkeys(names, SOLVE))
    assert (len(by_line.findings), len(whole.findings)) == (len(names), len(names))


def test_a_lying_grep_cannot_break_the_search() -> None:
    class Lying(Search):
        def _told(self, argv: Sequence[str]) -> list[str] | None:
            return ["relative", "/nope", "/a\0b", "git relative", "name /nope.x.pyc", "odd", "  ", "line"]

    one = subject(task=task({}))
    image = one.backend.build(environment_context(one.task), timeout=60)
    with one.backend.open(image, one.limits, labels=one.labels) as sandbox:
        search = Lying(sandbox, secrets(one.task))
        assert list(search.run({"nope": frozenset({3})})) == []
    assert search.names == []


@dataclass(frozen=True)
class Repository:
    folder: Path

    def git(self, *words: str) -> None:
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
        env = {**os.environ, **who, "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *words], cwd=self.folder, env=env, check=True, capture_output=True)

    def commit(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        self.git("add", ".")
        self.git("commit", "-m", f"Write {name}")

    @property
    def files(self) -> dict[str, bytes]:
        return {
            f"environment/{path.relative_to(self.folder)}": path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and "hooks" not in path.parts
        }


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.git("init", "-q")
    made.commit("tickets.csv", TICKETS)
    return made


def test_a_solution_that_was_committed_and_removed_is_found_in_the_history(repository: Repository) -> None:
    repository.commit("fix.sh", f"# a first try\n{LINES}\n")
    repository.git("reset", "--hard", "HEAD~1")  # no branch reaches it any more
    said = asked(repository.files)
    (finding,) = said.findings
    assert (said.result, finding.path) == (Result.FAILED, "solution/solve.sh")
    assert "the git history in /app/.git" in finding.text


def test_a_history_is_unpacked(repository: Repository) -> None:
    repository.commit("run.sh", SOLVE)
    repository.commit("run.sh", "true\n")
    repository.git("gc", "-q", "--prune=now")
    said = asked(repository.files)
    assert "the whole file stands in the git history in /app/.git" in said.summary


def test_a_history_that_hides_an_input_on_purpose_is_the_task(repository: Repository) -> None:
    ledger = "".join(f"{n} entries of the ledger for desk {n * 3}\n" for n in range(20))
    repository.commit("ledger", ledger)
    repository.git("rm", "-q", "ledger")
    repository.git("commit", "-m", "Take the ledger away")
    said = asked({**repository.files, "tests/held/app/ledger": ledger})
    assert (said.result, said.findings) == (Result.PASSED, ())


def _only(monkeypatch: pytest.MonkeyPatch, *tools: str) -> Files:
    """An image in which no other command is where commands are looked for."""
    monkeypatch.setitem(OWN_ENVIRONMENT, "PATH", "/app/tools")
    dockerfile = BASE["environment/Dockerfile"]
    wrappers = {
        f"environment/tools/{tool}": f'#!/bin/sh\nPATH=/usr/bin:/bin exec {tool} "$@"\n' for tool in tools
    }
    return {"environment/Dockerfile": dockerfile, **wrappers}


def executable(one: Task) -> Task:
    return one.replace(
        {
            path: TaskFile(file.data, 0o755)
            for path, file in one.files.items()
            if path.startswith("environment/tools/")
        }
    )


def judged(one: Task) -> Outcome:
    return leaks.check(subject(task=executable(one)))


def test_without_git_loose_objects_are_read_and_packs_are_said_to_be_unread(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = _only(monkeypatch, "find", "grep", "head", "sed", "sha256sum", "sort")
    repository.commit("run.sh", SOLVE)
    repository.commit("run.sh", "true\n")
    loose = judged(task({**tools, **repository.files}))
    assert "the whole file stands in the git history in /app/.git" in loose.summary
    repository.git("gc", "-q", "--prune=now")
    packed = judged(task({**tools, **repository.files}))
    assert packed.result is Result.PASSED
    assert any(finding.warning and "has no git" in finding.text for finding in packed.findings)


def test_an_image_without_tools_is_read_where_the_dockerfile_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = judged(task({**_only(monkeypatch), "environment/old/solve.sh": SOLVE}))
    assert said.result is Result.FAILED
    assert "/app/old/solve.sh" in said.summary
    assert any(finding.warning and "has no sh, find or grep" in finding.text for finding in said.findings)


def test_tools_that_a_variable_of_the_image_puts_first_are_not_asked() -> None:
    dockerfile = (
        "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /app/\n"
        "ENV PATH=/app/tools:/usr/bin:/bin LD_PRELOAD=/app/none.so\n"
    )
    names = ("find", "grep", "sha256sum", "head", "git")
    tools = {f"environment/tools/{name}": "#!/bin/sh\nexit 0\n" for name in names}
    said = judged(task({"environment/Dockerfile": dockerfile, "environment/old/run.sh": SOLVE, **tools}))
    assert (said.result, [finding.warning for finding in said.findings]) == (Result.FAILED, [False])


def test_a_single_line_of_several_may_be_a_coincidence() -> None:
    assert asked(left={"notes": LINES.splitlines()[0]}).result is Result.PASSED


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Backend]:
    address = os.environ.get("DOCKER_HOST", "")
    backend = open_backend("docker", instance="tests-leaks", folder=tmp_path, docker_host=address)
    yield backend
    backend.trim(keep=0, floor=0, unused_for=0)


@pytest.mark.docker
def test_what_a_run_line_left_is_found_in_the_built_image(engine: Backend) -> None:
    dockerfile = (
        "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY encoded /app/\n"
        "RUN mkdir /srv/try && base64 -d encoded > /srv/try/run.sh && rm encoded\n"
        "RUN cp /srv/try/run.sh /usr/share/\nVOLUME /srv/try\n"
    )
    encoded = base64.b64encode(f"{LINES}\ntrue\n".encode())
    one = subject(task=task({"environment/Dockerfile": dockerfile, "environment/encoded": encoded}))
    said = leaks.check(replace(one, backend=engine))
    assert (said.result, len(said.findings)) == (Result.FAILED, 1)
    assert "stand in /srv/try/run.sh of the image" in said.summary
    thorough = leaks.check(replace(one, backend=engine, thorough=True))
    assert ["/usr/share/run.sh" in finding.text for finding in thorough.findings].count(True) == 1
