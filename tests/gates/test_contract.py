"""A requirement that only the tests know fails, at its line; the innocent twin beside it passes."""

import pytest

from agents.stated import MOST_READ
from lineages.gates.asked import SECONDS, Asked
from lineages.gates.base import MOST_FINDINGS
from lineages.gates.contract import findings
from tests.gates.asking import failures, task, warnings

PYTEST = "#!/bin/bash\npython3 -m pytest /tests/test_it.py && echo 1 > /logs/verifier/reward.txt\n"
TOLD = "Write the figures to `/app/out/result.json`, with the key `total`.\n"
OPENS = """import json, os
from pathlib import Path

def test_it():
    data = json.load(open('/app/out/result.json'))
"""


def python(body: str, told: str = TOLD) -> dict[str, str | bytes | None]:
    return {"instruction.md": told, "tests/test.sh": PYTEST, "tests/test_it.py": OPENS + body}


def shell(body: str, told: str = "Write ready to /app/answer.txt.\n") -> dict[str, str | bytes | None]:
    head = "#!/bin/bash\ngrep -q ready /app/answer.txt || exit 1\n"
    return {"instruction.md": told, "tests/test.sh": head + body}


HIDDEN_IN_PYTHON = [
    ("    assert os.path.exists('/app/out/audit.log')\n", "the path '/app/out/audit.log'", 6),
    (
        "    folder = '/app/secret'\n    assert open(os.path.join(folder, 'a.txt')).read()\n",
        "/app/secret/a.txt",
        7,
    ),
    (
        "    name = 'gallery'\n    assert Path(f'/app/out/{name}.html').read_text()\n",
        "/app/out/gallery.html",
        7,
    ),
    (
        "    for part in ('one', 'two'):\n        assert (Path('/app/out') / part).is_file()\n",
        "/app/out/one",
        7,
    ),
    ("    assert 'n_records' in data and data['total'] == 3\n", "the key 'n_records'", 6),
    ("    assert data['total'] == data['checksum']\n", "the key 'checksum'", 6),
    ("    assert data.get('mean') is not None\n", "the key 'mean'", 6),
    ("    assert set(data) == {'total', 'weights'} and data['total']\n", "the key 'weights'", 6),
    ("    assert data == {'total': 3, 'spread': 1}\n", "the key 'spread'", 6),
    ("    assert data['total'] >= 0.93\n", "the bound '0.93'", 6),
    ("    LEAST = 0.93\n    assert data['total'] >= LEAST\n", "the bound '0.93'", 7),
    ("    assert 0 <= data['total'] <= 0.07\n", "the bound '0.07'", 6),
    ("    assert data.pop('mean') == 1\n", "the key 'mean'", 6),
    ("    assert {'total', 'weights'}.issubset(data.keys())\n", "the key 'weights'", 6),
    ("    assert data['total']['pool_size'] == 4\n", "the key 'pool_size'", 6),
    ("    import subprocess\n    subprocess.run('sort /app/out/all.txt', shell=True)\n", "all.txt", 7),
    (
        "    import shutil\n    shutil.copy('/app/out/model.bin', '/tmp/model.bin')\n",
        "the path '/app/out/model.bin'",
        7,
    ),
]


@pytest.mark.parametrize(("body", "what", "line"), HIDDEN_IN_PYTHON)
def test_what_only_a_python_test_knows_fails_at_its_line(body: str, what: str, line: int) -> None:
    found = failures(findings, python(body))
    assert any(what in each and each.startswith(f"tests/test_it.py:{line} ") for each in found), found


@pytest.mark.parametrize(("body", "what", "line"), HIDDEN_IN_PYTHON)
def test_the_same_passes_where_the_instruction_says_it(body: str, what: str, line: int) -> None:
    told = TOLD + (
        "`/app/secret/a.txt`, gallery.html and audit.log are wanted in /app/out, in parts one and two."
        " Keys: n_records, checksum, mean, weights, spread, pool_size. The total is at least 93 %, or up"
        " to 7 % in all.txt and model.bin. Grand total: N.\n"
    )
    assert failures(findings, python(body, told)) == []


MAY_BE_ANSWERS = [
    ("    assert 'weights' in data\n", "the key or item 'weights'"),
    ("    for name in ('weights',):\n        assert name in data\n", "the key or item 'weights'"),
    ("    assert {'total', 'weights'} <= set(data)\n", "the key or item 'weights'"),
    ("    missing = [k for k in ('weights',) if k not in data]\n    assert not missing\n", "item 'weights'"),
    ("    assert data['total']['monday'] == 4\n", "the key or item 'monday'"),
    ("    assert data['total'] == {'monday': 4}\n", "the key or item 'monday'"),
    ("    assert 3.1 < data['total'] < 3.2\n", "the number '3.1'"),
    ("    x = data['total']\n    assert x > 7.5\n    assert x < 7.9\n", "the number '7.9'"),
    ("    assert -75 <= data['total'] <= 75\n", "the number '75'"),
    (
        "    import re\n    text = open('/app/out/result.json').read()\n"
        "    assert re.search(r'^Sum of all: \\d', text)\n",
        "the words 'Sum of all:'",
    ),
    (
        "    for place in ('/app/out/result.json', '/workspace/result.json'):\n"
        "        if os.path.exists(place):\n            break\n",
        "the path '/workspace/result.json'",
    ),
]


@pytest.mark.parametrize(("body", "what"), MAY_BE_ANSWERS)
def test_what_may_be_an_answer_or_another_place_is_a_warning(body: str, what: str) -> None:
    assert failures(findings, python(body)) == []
    assert any(what in each for each in warnings(findings, python(body)))


@pytest.mark.parametrize(
    "body",
    [
        "    assert not os.path.exists('/app/out/result.json.tmp') and not Path('/app/lock').exists()\n",
        "    import time\n    start = time.time()\n"
        "    if time.time() - start > 37:\n        raise TimeoutError\n",
        "    import subprocess\n"
        "    subprocess.run(['python3', '/app/out/result.json', '/app/out/mine.txt'])\n"
        "    assert open('/app/out/mine.txt').read()\n",
        "    import shutil\n    shutil.copy('/app/out/result.json', '/app/kept.json')\n"
        "    assert open('/app/kept.json').read()\n",
    ],
)
def test_what_nobody_has_to_make_is_no_requirement(body: str) -> None:
    assert [*failures(findings, python(body)), *warnings(findings, python(body))] == []


def test_the_same_passes_where_a_file_of_the_environment_shows_it() -> None:
    files = python("    assert data['n_records'] == 3\n")
    files["environment/Dockerfile"] = "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY layout.md /app/\n"
    files["environment/layout.md"] = "| n_records | how many |\n"
    assert failures(findings, files) == []
    files["environment/Dockerfile"] = "FROM debian:bookworm-slim\nWORKDIR /app\n"
    assert len(failures(findings, files)) == 1  # a note that is never copied tells nobody


@pytest.mark.parametrize(
    "body",
    [
        "    assert data['total'] == 4711\n",
        "    assert data['total'] == 'an answer that is worked out'\n",
        "    assert abs(data['total'] - 3.5) < 1e-6\n",
        "    assert len(data) > 0 and data['total'] > 0\n",
        "    ours = {'total': 3, 'note': 'x'}\n    assert data['total'] == ours['total'], ours['note']\n",
        "    ours = json.load(open('/tests/expected.json'))\n    assert ours['inner'] and data['total']\n",
        "    log = Path('/tmp/ours.txt')\n    log.write_text('x')\n    assert log.read_text()\n",
        "    Path('/app/out/ours.cfg').write_text('x')\n    assert Path('/app/out/ours.cfg').exists()\n",
        "    assert data['total'], 'look at /app/elsewhere/notes.txt'\n",
        "    limit = 12\n    assert limit < 30 and data['total']\n",
        "    assert os.path.getsize('/app/out/result.json') < 5_000_000\n",
        "    assert os.access('/usr/bin/gcc', os.X_OK) and data['total']\n",
        '    """Reads /app/nowhere/else.txt as well."""\n    assert data["total"]\n',
    ],
)
def test_answers_tolerances_and_what_is_the_graders_own_need_not_be_said(body: str) -> None:
    assert failures(findings, python(body)) == []


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("test -f /app/audit.log || exit 1\n", "'/app/audit.log'"),
        ('OUT=/app/hidden\n[ -s "$OUT/list.txt" ] || exit 1\n', "'/app/hidden/list.txt'"),
        ("for n in a b; do\n  cmp -s /tests/$n /app/part-$n.bin || exit 1\ndone\n", "'/app/part-a.bin'"),
        (
            'is() { [[ -f /app/$1 ]]; }\ncheck() { shift; "$@"; }\ncheck it is notes.md || exit 1\n',
            "'/app/notes.md'",
        ),
        ("[ \"$(head -n 1 /app/answer.txt)\" = 'id,colour' ] || exit 1\n", "the column 'colour'"),
        ("jq -e '.summary.rows == 3' /app/answer.txt || exit 1\n", "the key 'summary'"),
        ("score=$(awk '{print $2}' /app/answer.txt)\n[ \"$score\" -ge 85 ] || exit 1\n", "the bound '85'"),
        (
            "python3 - <<'END'\nimport json\nassert json.load(open('/app/answer.txt'))['depth']\nEND\n",
            "'depth'",
        ),
        ("cd /app && cat levels.tsv | wc -l || exit 1\n", "'/app/levels.tsv'"),
    ],
)
def test_what_only_a_shell_test_knows_fails(body: str, what: str) -> None:
    found = failures(findings, shell(body))
    assert any(what in each and each.startswith("tests/test.sh:") for each in found), found
    assert failures(findings, shell("")) == []


@pytest.mark.parametrize("pattern", ["^elapsed=", "^Grand total:"])
def test_words_that_a_text_has_to_have_may_be_an_answer_and_are_a_warning(pattern: str) -> None:
    files = shell(f"grep -q '{pattern}' /app/answer.txt || exit 1\n")
    assert failures(findings, files) == []
    assert f"the words {pattern[1:]!r}" in warnings(findings, files)[0]


def test_what_other_programs_and_known_formats_give_is_no_requirement_of_the_task() -> None:
    files = python(
        "    import subprocess\n"
        "    probe = json.loads(subprocess.check_output(['ffprobe', '-of', 'json', '/app/v.mp4']))\n"
        "    assert probe['streams'] and data['total'] and data['features'][0]['geometry']\n",
        TOLD + "Cut v.mp4.\n",
    )
    assert failures(findings, files) == []
    files["tests/test_it.py"] = str(files["tests/test_it.py"]).replace(
        "'ffprobe', '-of', 'json'", "'python3', '/app/own.py'"
    )
    files["instruction.md"] = TOLD + "It is own.py that cuts v.mp4.\n"
    assert len(failures(findings, files)) == 1


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ("at most 500 ms", "0.5"),
        ("in 2 minutes", "120"),
        ("under 1,500 bytes", "1500"),
        ("over 90 %", "0.9"),
    ],
)
def test_a_bound_may_be_said_in_another_unit(said: str, bound: str) -> None:
    files = python(f"    assert data['total'] <= {bound}\n", TOLD + f"It is {said}.\n")
    assert failures(findings, files) == []
    assert len(failures(findings, python(f"    assert data['total'] <= {bound}\n"))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "echo '/app/nowhere.txt is what was looked for' >&2\n",
        'passed=$((passed + 1))\n[ "$passed" -ge 5 ] || true\n',
        "[ $(stat -c %s /app/answer.txt) -lt 5000000 ] || exit 1\n",
        "sort /app/answer.txt > /tmp/sorted.txt\ncmp -s /tmp/sorted.txt /tests/expected.txt\n",
        "cp /tests/driver.sh /app/driver.sh\nbash /app/driver.sh\n",
        "# test -f /app/comment.txt\n",
        "jq -e '.ready' /tests/cases.json\n",
        "status=$?\n[ $status -gt 3 ] && exit 1\n",
    ],
)
def test_messages_counters_caps_and_the_graders_own_files_are_no_requirements(body: str) -> None:
    assert failures(findings, shell(body)) == []


def test_a_file_that_is_asked_for_and_never_looked_at_fails_at_the_line_of_its_sentence() -> None:
    told = "Write ready to /app/answer.txt.\n\nAlso write a summary to `/app/summary.md`.\n"
    assert failures(findings, shell("", told)) == [
        "instruction.md:3 /app/summary.md is asked for, but no test looks at it."
    ]
    assert failures(findings, shell("test -s /app/summary.md || exit 1\n", told)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "You may write scratch files such as `/app/scratch.py`.",
        "Do not write to `/app/config.ini`.",
        "The service reads `/app/service.conf` and writes nothing.",
        "Run `make test` to see what is wrong.",
    ],
)
def test_what_a_solver_may_do_or_must_not_do_needs_no_test(sentence: str) -> None:
    assert failures(findings, shell("", f"Write ready to /app/answer.txt.\n{sentence}\n")) == []


def test_what_a_program_of_the_image_writes_is_described_where_the_image_makes_files_of_its_own() -> None:
    told = "Write ready to /app/answer.txt.\nThe service stores its state in `/app/state.db`.\n"
    made = "FROM debian:bookworm-slim\nWORKDIR /app\nRUN sqlite3 /app/state.db < /dev/null\n"
    said = {**shell("", told), "environment/Dockerfile": made}
    assert (failures(findings, said), len(warnings(findings, said))) == ([], 1)
    assert failures(findings, shell("", told))[0].startswith("instruction.md:2 /app/state.db is asked for")
    asked = told.replace("The service stores", "Store")
    assert failures(findings, {**said, "instruction.md": asked})


def test_data_of_the_tests_counts_as_looking() -> None:
    files = shell(
        "diff -r /tests/expected /app/out\n", "Write ready to /app/answer.txt and `/app/out/b.csv`.\n"
    )
    assert failures(findings, {**files, "tests/expected/b.csv": "x\n"}) == []


def test_where_the_image_is_made_of_more_than_its_files_it_is_a_warning() -> None:
    files = shell("test -f /app/src/main.c || exit 1\n")
    files["environment/Dockerfile"] = (
        "FROM debian:bookworm-slim\nWORKDIR /app\nRUN tar -xf /opt/x.tar -C /app\n"
    )
    assert failures(findings, files) == []
    assert "'/app/src/main.c'" in warnings(findings, files)[0]


def test_a_program_that_would_hang_the_reader_is_stopped_and_named() -> None:
    doubling = "x = 'a'\n" + "".join(f"x{n} = [{', '.join(['x'] * 60)}]\n" for n in range(3))
    deep = "assert " + "(" * 150 + "open('/app/answer.txt')" + ")" * 150 + "\n"
    for source in (doubling, deep, "x = " + "-" * 200_000 + "1\n", "a" * (2 << 20)):
        tests = Asked(task({**shell(""), "tests/test_it.py": source}))
        assert all(each.path == "tests/test_it.py" for each in findings(tests))
    assert SECONDS <= 30


def test_a_program_of_another_language_version_is_a_warning() -> None:
    found = warnings(findings, {**shell(""), "tests/test_it.py": "print 'two'\n"})
    assert len(found) == 1
    assert "cannot be read" in found[0]


def test_nothing_that_a_program_says_is_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    witness = tmp_path_factory.mktemp("host") / "ran"
    source = f"open({str(witness)!r}, 'w').write('x')\nimport os\nos._exit(0)\n"
    list(findings(Asked(task({**shell(""), "tests/test_it.py": source}))))
    assert not witness.exists()


def test_a_large_environment_is_read_up_to_a_limit_and_what_is_missed_is_a_warning() -> None:
    large: dict[str, str | bytes | None] = {
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY data /app/data\n",
        "environment/data": b"k1x k2x " * (MOST_READ // 8) + b"weights",
    }
    body = "".join(f"    assert data['k{n}']\n" for n in range(500)) + "    assert data['weights']\n"
    found = list(findings(Asked(task({**python(body), **large}))))
    assert len(found) > MOST_FINDINGS and all(each.warning for each in found)
