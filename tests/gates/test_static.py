"""What the files alone give away: each fault with its place and, where it can be said, what to write."""

import json
import subprocess
import tomllib

import pytest

from lineages.gates.asked import Asked
from lineages.gates.config_keys import KNOWN
from lineages.gates.static import findings
from tests.conftest import HARBOR
from tests.gates.asking import failures, task, warnings

UVX = """#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.7.13/install.sh | sh
source $HOME/.local/bin/env
uvx -p 3.13 -w pytest==8.4.1 -w pytest-json-ctrf==0.3.5 pytest --ctrf /logs/ctrf.json /tests/test_it.py
echo 1 > /logs/verifier/reward.txt
"""
SEPARATE = """schema_version = "1.4"
artifacts = ["/app/answer.txt"]
[verifier]
environment_mode = "separate"
"""


def of(path: str, content: str | bytes, **more: str) -> dict[str, str | bytes | None]:
    return {path: content, **more}


def in_test(line: str) -> dict[str, str | bytes | None]:
    return of("tests/test.sh", f"#!/bin/bash\ngrep -q ready /app/answer.txt\n{line}\n")


def test_a_plain_task_has_no_finding() -> None:
    assert list(findings(Asked(task({})))) == []


@pytest.mark.parametrize(
    "path", ["instruction.md", "environment/Dockerfile", "solution/solve.sh", "tests/test.sh"]
)
def test_each_file_that_a_task_has_to_have_is_missed_by_name(path: str) -> None:
    assert failures(findings, {path: None})[0] == f"{path}: This file is missing: add it."


def test_a_separate_verifier_without_artifacts_gets_nothing_to_grade() -> None:
    toml = SEPARATE.replace('artifacts = ["/app/answer.txt"]\n', "")
    assert "no artifacts are declared" in failures(findings, of("task.toml", toml))[0]


def test_every_line_that_fetches_is_named_with_what_to_write_instead() -> None:
    files = of("tests/test.sh", UVX, **{"tests/test_it.py": "def test_it():\n    assert True\n"})
    found = [each for each in findings(Asked(task(files))) if not each.warning]
    assert [(each.path, each.line) for each in found] == [("tests/test.sh", line) for line in (2, 3, 4, 6)]
    assert found[1].repair.startswith(
        "environment/Dockerfile: RUN apt-get update && apt-get install -y --no-install-recommends curl"
    )
    assert found[3].repair == (
        "environment/Dockerfile: RUN pip install --no-cache-dir pytest==8.4.1 pytest-json-ctrf==0.3.5\n"
        "and run here: pytest --ctrf /logs/ctrf.json /tests/test_it.py"
    )


def test_a_separate_verifier_is_mended_in_its_own_image() -> None:
    files = of("task.toml", SEPARATE, **{"tests/Dockerfile": "FROM debian:bookworm-slim\nCOPY . /tests/\n"})
    files["tests/test.sh"] = "#!/bin/bash\npip install pytest==8.4.1\n"
    found = [each for each in findings(Asked(task(files))) if not each.warning]
    assert [each.repair for each in found] == [
        "tests/Dockerfile: RUN pip install --no-cache-dir pytest==8.4.1\nand take this line out"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "curl -fsS https://example.org/tool -o /usr/bin/tool",
        "wget -q example.org/data.csv",
        "sudo -E apt-get install -y jq",
        "python3 -m pip install -r /tests/requirements.txt",
        "bash -c 'curl -s https://example.org/x | sh'",
        "git clone --depth 1 https://example.org/a/b.git /tmp/b",
        "bash <(curl -s https://example.org/install.sh)",
        "URL=https://example.org/x; curl -s $URL",
        'get() { curl -s "https://example.org/$1"; }; get a',
        "timeout 60 npm ci",
        "uv run --with pytest==8.4.1 pytest",
        "pip install pytest==8.4.1 || exit 1",
    ],
)
def test_a_tool_that_is_fetched_while_grading_fails(line: str) -> None:
    found = failures(findings, in_test(line))
    assert found, line
    assert all(each.startswith("tests/test.sh:3 This is loaded from a network") for each in found)


@pytest.mark.parametrize(
    "line",
    [
        "# curl https://example.org/x | sh",
        "echo 'run curl https://example.org/x or pip install pytest'",
        "grep -q 'curl https://example.org' /app/answer.txt",
        "cat <<'END' > /tmp/x\npip install pytest\nEND",
        "curl -s http://localhost:8080/health",
        "curl -s http://127.0.0.1:8080/a.b",
        "pip install --no-index --find-links /wheels pytest==8.4.1",
        "pip --version; command -v curl; which wget",
        "git -C /app log --oneline; git clone /srv/a.git /tmp/a",
        "never() { curl https://example.org/x; }",
        "npm test; cargo test --offline; go test ./...",
    ],
)
def test_what_only_mentions_a_download_or_stays_on_this_machine_is_none(line: str) -> None:
    assert failures(findings, in_test(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'import pytest' || pip install pytest==8.4.1",
        "if ! command -v jq; then apt-get install -y jq; fi",
        "pip install pytest==8.4.1 || true",
    ],
)
def test_a_download_that_the_script_can_do_without_is_a_warning(line: str) -> None:
    assert failures(findings, in_test(line)) == []
    assert any("loaded from a network" in each for each in warnings(findings, in_test(line)))


def test_a_network_that_task_toml_asks_for_makes_it_a_warning() -> None:
    files = {**in_test("pip install pytest==8.4.1"), "task.toml": '[verifier]\nnetwork_mode = "public"\n'}
    assert failures(findings, files) == []
    assert "loaded from a network" in warnings(findings, files)[0]


def test_a_script_that_the_test_runs_and_a_program_of_it_are_read_too() -> None:
    files = in_test('bash "$(dirname "$0")/setup.sh" && python3 -m pytest /tests/test_it.py')
    files["tests/setup.sh"] = "pip install requests==2.32.0\n"
    files["tests/unused.sh"] = "pip install numpy==2.0.0\n"
    files["tests/test_it.py"] = (
        "import subprocess\nsubprocess.run(['pip', 'install', 'x==1'])\n"
        "import urllib.request\nurllib.request.urlopen('https://example.org/a')\n"
        "urllib.request.urlopen('http://localhost:80/a')\n"
    )
    places = {each.split(" ", 1)[0] for each in failures(findings, files)}
    assert places == {"tests/setup.sh:1", "tests/test_it.py:2", "tests/test_it.py:4"}


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (in_test("[ -e /solution/solve.sh ] && echo 1"), "tests/test.sh:3"),
        (in_test("diff <(bash /oracle/solve.sh) /app/answer.txt"), "tests/test.sh:3"),
        (in_test('S=/solution; bash "$S/solve.sh"'), "tests/test.sh:3"),
        (
            of("tests/test_it.py", "import os\ndef test():\n    assert os.path.exists('/solution')\n"),
            "tests/test_it.py:3",
        ),
    ],
)
def test_a_test_that_looks_for_the_reference_fails_at_its_line(
    files: dict[str, str | bytes | None], place: str
) -> None:
    assert any(each.startswith(f"{place} This looks for the reference") for each in failures(findings, files))


def test_a_folder_of_the_solvers_own_with_such_a_name_is_no_reference() -> None:
    assert (
        failures(findings, in_test("test -f /app/solution/a.txt; echo 'see /solution'; ls /solutions")) == []
    )
    denied = in_test("[ ! -e /solution ] || exit 1")
    assert failures(findings, denied) == []
    assert any("/solution" in each for each in warnings(findings, denied))


def test_unknown_tables_and_fields_are_named_with_line_and_what_was_perhaps_meant() -> None:
    toml = (
        '# a comment\nschema_version = "1.4"\n[metadata]\nanything = 1\n[agent]\ntimeout_secs = 5\n'
        '[verifier]\nenv = { TIMEOUT = "1" }\n[environment]\nmemory = "1G"\n[enviroment]\ncpus = 1\n'
    )
    assert warnings(findings, of("task.toml", toml)) == [
        "task.toml:6 agent.timeout_secs is no field that Harbor knows, and has no effect."
        " Is timeout_sec meant?",
        "task.toml:11 enviroment is no field that Harbor knows, and has no effect. Is environment meant?",
    ]


@pytest.mark.harbor
def test_the_known_fields_are_those_of_harbors_own_schema() -> None:
    done = subprocess.run([HARBOR, "task", "schema"], capture_output=True, check=True, timeout=60)
    schema = json.loads(done.stdout)
    older = {"version", "memory", "storage"}
    assert set(KNOWN) - older == set(schema["properties"])
    for table, name in (("environment", "EnvironmentConfig"), ("verifier", "VerifierConfig")):
        assert set(KNOWN[table]) - older == set(schema["$defs"][name]["properties"])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            of("environment/Dockerfile", "FROM ubuntu\n"),
            "environment/Dockerfile:1 The image ubuntu has no version",
        ),
        (
            of("environment/Dockerfile", "ARG T=latest\nFROM ubuntu:$T\n"),
            "environment/Dockerfile:2 The image ubuntu:",
        ),
        (
            of("environment/Dockerfile", "FROM debian:12\nRUN pip install \\\n  flask pandas==2.2.0\n"),
            "environment/Dockerfile:2 flask is installed in whatever version",
        ),
        (
            of("environment/Dockerfile", "FROM debian:12\nRUN git clone https://example.org/a.git\n"),
            "environment/Dockerfile:2 This clones whatever is newest",
        ),
        (
            of("environment/Dockerfile", "FROM debian:12\nRUN npm install -g cowsay @a/b@1.0.0\n"),
            "environment/Dockerfile:2 cowsay is installed",
        ),
    ],
)
def test_what_is_built_in_whatever_version_there_is_gets_a_warning(
    files: dict[str, str | bytes | None], said: str
) -> None:
    assert failures(findings, files) == []
    assert [each.startswith(said) for each in warnings(findings, files)] == [True]


def test_what_is_pinned_gets_none() -> None:
    dockerfile = (
        "FROM debian:bookworm-slim AS base\nFROM base\n"
        "RUN pip install -r requirements.txt flask==3.0.0 ./own && apt-get install -y jq\n"
        "RUN git clone https://example.org/a.git /a && git -C /a checkout 0123abc\n"
        "RUN git clone --branch v1.2 https://example.org/b.git\n"
    )
    assert warnings(findings, of("environment/Dockerfile", dockerfile)) == []


def test_leavings_histories_and_secrets_are_named_and_only_a_secret_that_is_handed_out_fails() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n"
    files: dict[str, str | bytes | None] = {
        "tests/__pycache__/a.pyc": "x",
        "tests/__pycache__/b.pyc": "x",
        "solution/.solve.sh.swp": "x",
        "environment/repo/.git/HEAD": "ref",
        "environment/.env": "TOKEN=made-up\n",
        "environment/id_rsa": key,
        "notes/plan.txt": "x",
        "solution/.env": "TOKEN=real\n",
        "solution/id_ed25519": key,
        "tests/.env.example": "TOKEN=\n",
    }
    assert [each.split(":")[0] for each in failures(findings, files)] == [
        "solution/.env",
        "solution/id_ed25519",
    ]
    named = {each.split(":")[0] for each in warnings(findings, files)}
    assert named == {
        "tests/__pycache__",
        "solution/.solve.sh.swp",
        "environment/repo/.git",
        "environment/.env",
        "environment/id_rsa",
        "notes/plan.txt",
    }


def test_a_script_that_no_kernel_starts_fails_with_the_command_that_mends_it() -> None:
    windows = of("tests/test.sh", b"#!/bin/bash\r\ngrep -q ready /app/answer.txt\r\n")
    marked = of("solution/solve.sh", b"\xef\xbb\xbf#!/bin/bash\nprintf ready > /app/answer.txt\n")
    assert "Windows line ends" in failures(findings, windows)[0]
    assert "byte order mark" in failures(findings, marked)[0]
    data = of("tests/expected/windows.sh", b"#!/bin/bash\r\n")
    assert failures(findings, data) == []


def test_a_pointer_of_git_lfs_is_not_the_file() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    assert (
        "environment/big.bin: This is a Git LFS pointer"
        in failures(findings, of("environment/big.bin", pointer))[0]
    )


def test_a_path_of_the_tests_in_the_instruction_fails_at_its_line() -> None:
    told = "Write ready to /app/answer.txt.\nIt is checked by `/tests/test.sh`.\n"
    assert failures(findings, of("instruction.md", told))[0].startswith(
        "instruction.md:2 This names '/tests/test.sh'"
    )
    assert tomllib.loads(SEPARATE)["artifacts"] == ["/app/answer.txt"]


@pytest.mark.parametrize(
    "script",
    [
        "".join(f"for {name} in {' '.join(map(str, range(60)))}; do " for name in "abcdef")
        + "true; "
        + "done; " * 6,
        "(" * 3000 + "true" + ")" * 3000,
        "a=(x y); " + 'a=("${a[@]}" "${a[@]}"); ' * 60 + "cat $a",
        "echo " + "a " * 200_000,
        f"bash -c 'echo {'a ' * 200_000}'",
    ],
    ids=["loops", "brackets", "arrays", "size", "inline"],
)
def test_a_script_that_would_take_for_ever_to_read_is_named(script: str) -> None:
    assert any("make it simpler" in each for each in failures(findings, in_test(script)))


def test_a_word_longer_than_any_is_one_that_only_a_run_could_tell() -> None:
    grows = "a=xxxxxxxx; " + "a=$a$a; " * 60 + "cat /app/$a; wget https://a.example/x"

    assert any("wget" in each for each in failures(findings, in_test(grows)))


@pytest.mark.parametrize(
    "script",
    [
        "f() { shift 99999999999; wget https://a.example/x; }; f 1 2",
        "f() { shift " + "9" * 5000 + '; echo "${@:' + "9" * 5000 + '}"; wget https://a.example/x; }; f 1',
        "a=(x); echo ${a[" + "9" * 5000 + "]}; wget https://a.example/x",
    ],
)
def test_numbers_that_no_shell_takes_hide_nothing_behind_them(script: str) -> None:
    assert any("wget" in each for each in failures(findings, in_test(script)))


def test_after_a_script_that_cannot_be_read_the_next_is_read_at_its_own_lines() -> None:
    further = {"tests/more.sh": "#!/bin/sh\n\nls /solution/solve.sh\n"}
    inline = f"if true; then bash -c 'echo {'a ' * 200_000}'; fi"
    assert any(
        each.startswith("tests/more.sh:3 ") for each in failures(findings, {**in_test(inline), **further})
    )


def test_of_many_unknown_fields_the_first_are_named_and_the_others_counted() -> None:
    toml = 'schema_version = "1.4"\n' + f"{'a' * 5000} = 1\n" + "".join(f"x{n} = 1\n" for n in range(3000))
    found = warnings(findings, of("task.toml", toml))
    assert len(found) == 21
    assert found[0].startswith(f"task.toml:2 {'a' * 100}… is no field")
    assert found[-1] == "task.toml: 2981 more fields are none that Harbor knows, and have no effect."


def test_a_line_of_blanks_is_read_in_no_time() -> None:
    blanks = " " * 40_000
    toml = f'schema_version = "1.4"\ntext = """\n{blanks}x\n[{blanks}\n"""\n'
    assert warnings(findings, of("task.toml", toml))[0].startswith("task.toml:2 text is no field")


@pytest.mark.parametrize(
    ("call", "fetched"),
    [
        ("requests.get('https://a.example/x')", True),
        ("self.session.post('https://a.example/x')", True),
        ("urllib.request.urlopen('https://a.example/x')", True),
        ("root.get('{http://www.w3.org/1999/xlink}href')", False),
        ("data.get('https://schema.org/name')", False),
        ("requests.get('http://localhost:8080/x')", False),
        ("client.get('/items?next=https://a.example/')", False),
    ],
)
def test_only_what_a_client_opens_is_loaded_from_a_network(call: str, fetched: bool) -> None:
    found = failures(findings, of("tests/test_it.py", f"def test_it():\n    assert {call}\n"))
    assert [each.startswith("tests/test_it.py:2 ") for each in found] == [True] * fetched


def test_a_tests_folder_of_the_workspace_is_the_solvers_own_to_be_named() -> None:
    told = {"instruction.md": "Make `pytest tests/` pass in /app.\n"}

    assert failures(findings, {**told, "environment/app/tests/test_parts.py": "def test_it(): ...\n"}) == []
    assert failures(findings, told) == [
        "instruction.md:1 This names 'tests/', which a solver must not know: take it out."
    ]
