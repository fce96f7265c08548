"""From a solution script to the sequence of pairs, by table."""

from __future__ import annotations

import pytest

from agents.offline.extract import ScriptExtractor
from agents.offline.reading import read_task
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests.agents.growing import Grown, built, plan_of
from tests.agents.tasks import LIST, ORDERS, SOLVE, TOTALS, regions, solved_by

A_LOG, B_LOG, SETTINGS = "/app/logs/a.log", "/app/logs/b.log", "/etc/app/config.json"


def inputs(task: Task) -> list[tuple[str, str]]:
    pairs = ScriptExtractor().extract(task).pairs
    return [(pair.target, pair.tool) for pair in pairs if pair.origin == "implicit"]


def outputs(task: Task) -> list[tuple[str, str]]:
    pairs = ScriptExtractor().extract(task).pairs
    return [(pair.target, pair.tool) for pair in pairs if pair.origin == "extracted"]


READS = {
    "an absolute argument": ("cat /app/regions.txt", [(LIST, "cat")]),
    "an argument below WORKDIR": ("wc -l data/orders.csv", [(ORDERS, "wc")]),
    "an argument after cd": ("cd data && sort -t, -k2 orders.csv", [(ORDERS, "sort")]),
    "cd inside a subshell only": (
        "(cd data; head orders.csv); head regions.txt",
        [(ORDERS, "head"), (LIST, "head")],
    ),
    "a redirection": ("tr a-z A-Z < regions.txt", [(LIST, "tr")]),
    "a loop's redirection": ("while read -r line; do echo; done < regions.txt", [(LIST, "read")]),
    "a constant variable": ('IN=/app/regions.txt\nsort "$IN"', [(LIST, "sort")]),
    "variables in variables": ('D=/app\nIN="$D/data/orders.csv"\ncut -d, -f1 "${IN}"', [(ORDERS, "cut")]),
    "a loop over words": ('for n in a b; do grep x "logs/$n.log"; done', [(A_LOG, "grep"), (B_LOG, "grep")]),
    "a glob": ("cat logs/*.log", [(A_LOG, "cat"), (B_LOG, "cat")]),
    "a folder": ("grep -r first /app/logs", [(A_LOG, "grep"), (B_LOG, "grep")]),
    "a function's argument": ('show() { cut -c1-3 "$1"; }\nshow regions.txt', [(LIST, "cut")]),
    "command substitution": ('n=$(grep -c north regions.txt)\necho "$n"', [(LIST, "grep")]),
    "process substitution": (
        "diff <(sort regions.txt) <(sort logs/a.log)",
        [(LIST, "sort"), (A_LOG, "sort")],
    ),
    "a branch": (
        "if [ -n x ]; then uniq regions.txt; else nl logs/a.log; fi",
        [(LIST, "uniq"), (A_LOG, "nl")],
    ),
    "a wrapper": ("env LC_ALL=C timeout 5 sort regions.txt", [(LIST, "sort")]),
    "an option with =": ("mytool --input=/etc/app/config.json", [(SETTINGS, "mytool")]),
    "a quoted word with spaces": ("awk '{ print $1 }' \"regions.txt\"", [(LIST, "awk")]),
    "python from a heredoc": (
        "python3 - <<'EOF'\nfrom pathlib import Path\nbase = Path('/app')\nopen(base / 'regions.txt')\nEOF",
        [(LIST, "python3")],
    ),
    "python with an f-string": (
        'python3 -c \'D = "/app/data"\nopen(f"{D}/orders.csv")\'',
        [(ORDERS, "python3")],
    ),
    "an array": (
        'files=(regions.txt logs/*.log)\ncat "${files[@]}"',
        [(A_LOG, "cat"), (B_LOG, "cat"), (LIST, "cat")],
    ),
    "an array in a loop": (
        'f=(logs/a.log)\nf+=(logs/b.log)\nfor x in "${f[@]}"; do wc "$x"; done',
        [(A_LOG, "wc"), (B_LOG, "wc")],
    ),
    "an element of an array": ('f=(x logs/b.log)\nwc "${f[1]}"', [(B_LOG, "wc")]),
    "a default": ('cd "${APP:-/app/logs}"\ntac b.log', [(B_LOG, "tac")]),
    "a default that is not needed": ('APP=/app\ncd "${APP:-/x}"\ntac regions.txt', [(LIST, "tac")]),
    "a python script written before": (
        "cat > /app/solve.py <<'EOF'\nopen('/app/regions.txt')\nEOF\npython3 /app/solve.py",
        [(LIST, "python3")],
    ),
    "a shell script written before": (
        "cat <<'EOF' > /tmp/x.sh\nuniq /app/regions.txt\nEOF\nchmod +x /tmp/x.sh\nbash /tmp/x.sh",
        [(LIST, "uniq")],
    ),
    "a script that is written over": (
        "cat > /tmp/x.sh <<'EOF'\nuniq /app/regions.txt\nEOF\n: > /tmp/x.sh\nbash /tmp/x.sh",
        [],
    ),
    "only a comment": ("# cat /app/regions.txt\necho done", []),
    "only text": ("cat <<'EOF'\n/app/regions.txt\nEOF", []),
    "a file made by the script itself": ("echo x > regions.txt\ncat regions.txt", []),
}


@pytest.mark.parametrize("case", sorted(READS))
def test_inputs_are_found(case: str) -> None:
    script, expected = READS[case]
    assert inputs(solved_by(f"#!/bin/bash\n{script}\n")) == expected


WRITES = {
    "a redirection": ("sort regions.txt > out.txt", [("/app/out.txt", "sort")]),
    "appending twice is one segment": ("echo a > o.txt; echo b >> o.txt", [("/app/o.txt", "echo")]),
    "a pipe's rarest command": ("grep x regions.txt | awk '{ print }' > o.txt", [("/app/o.txt", "awk")]),
    "two files": (
        "sort regions.txt > a.txt; wc -l a.txt > b.txt",
        [("/app/a.txt", "sort"), ("/app/b.txt", "wc")],
    ),
    "what is removed is not kept": (
        "sort regions.txt > tmp.txt; uniq tmp.txt > o.txt; rm tmp.txt",
        [("/app/o.txt", "uniq")],
    ),
    "what is moved is kept where it went": ("sort regions.txt > t; mv t o.txt", [("/app/o.txt", "sort")]),
    "scratch": ("sort regions.txt > /tmp/x; uniq /tmp/x > o.txt", [("/app/o.txt", "uniq")]),
    "tee": ("sort regions.txt | tee o.txt > /dev/null", [("/app/o.txt", "sort")]),
    "sort -o": ("sort -o o.txt regions.txt", [("/app/o.txt", "sort")]),
    "a heredoc": ("cat > o.txt <<EOF\nhello\nEOF", [("/app/o.txt", "cat")]),
    "a heredoc into a pipe": ("cat <<EOF | sort > o.txt\nb\na\nEOF", [("/app/o.txt", "sort")]),
    "errors are no output": ("sort regions.txt > o.txt 2>&1", [("/app/o.txt", "sort")]),
    "python": (
        "python3 <<'EOF'\nimport json\nwith open('/app/o.json', 'w') as out:\n    json.dump({}, out)\nEOF",
        [("/app/o.json", "python3")],
    ),
    "write_text": (
        'python3 -c \'from pathlib import Path; Path("o.txt").write_text("x")\'',
        [("/app/o.txt", "python3")],
    ),
    "nothing known is one segment": ("frobnicate regions.txt", [("", "frobnicate")]),
}


@pytest.mark.parametrize("case", sorted(WRITES))
def test_segments_end_where_a_kept_file_is_written(case: str) -> None:
    script, expected = WRITES[case]
    assert outputs(solved_by(f"#!/bin/bash\n{script}\n")) == expected


INCOMPLETE = {
    "an unknown program": "frobnicate > /app/o.txt",
    "an unknown name": 'echo x > /app/o.txt; echo y > "$1"',
    "an unknown command": 'echo x > /app/o.txt; "$TOOL" x',
    "python with a computed name": 'python3 -c \'open(sys.argv[1], "w"); open("/app/o.txt", "w")\'',
    "python that does not parse": "python3 -c 'open(('",
    "an unpacked archive": "echo x > /app/o.txt; tar -xf x.tar",
    "nothing written": "cat regions.txt",
}


@pytest.mark.parametrize("case", sorted(INCOMPLETE))
def test_writes_that_cannot_be_told_are_said_to_be_incomplete(case: str) -> None:
    assert not read_task(solved_by(f"#!/bin/bash\n{INCOMPLETE[case]}\n")).complete


def test_the_writes_of_plain_tools_are_complete() -> None:
    assert read_task(regions()).complete


def test_a_script_in_the_solution_folder_is_walked_too() -> None:
    task = regions(
        {
            "solution/solve.sh": '#!/bin/bash\nbash "$(dirname "$0")/helper.sh" data/orders.csv\n',
            "solution/helper.sh": 'sort "$1" > /app/totals.txt\n',
        }
    )
    assert inputs(task) == [(ORDERS, "sort")]
    assert outputs(task) == [(TOTALS, "sort")]


FOLDERS = (
    'DIR="$(cd "$(dirname "$0")" && pwd)"',
    'DIR=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd -P)',
    'DIR="$( cd "$( dirname "${BASH_SOURCE[0]}" )" >/dev/null 2>&1 && pwd )"',
)


@pytest.mark.parametrize("line", FOLDERS)
def test_the_scripts_own_folder_is_known(line: str) -> None:
    program = "open('/app/totals.txt', 'w').write(open('/app/data/orders.csv').read())\n"
    task = regions(
        {"solution/solve.sh": f'#!/bin/bash\n{line}\npython3 "$DIR/s.py"\n', "solution/s.py": program}
    )
    assert inputs(task) == [(ORDERS, "python3")]
    assert outputs(task) == [(TOTALS, "python3")]
    assert read_task(task).complete


COPIES = (
    "cp /solution/s.py /app/work.py\npython3 /app/work.py",
    "cp -f /solution/s.py /app/\ncd /app && python3 s.py",
    "cp -r /solution/lib /srv/lib\npython3 /srv/lib/s.py",
    "cp -r /solution/lib /opt\npython3 /opt/lib/s.py",
    'install -m 755 "$(dirname "$0")/s.py" /usr/local/bin/work\npython3 /usr/local/bin/work',
)


@pytest.mark.parametrize("lines", COPIES)
def test_a_program_is_known_where_the_solution_copies_it(lines: str) -> None:
    program = "open('/app/totals.txt', 'w').write(open('/app/data/orders.csv').read())\n"
    files = {"solution/solve.sh": f"#!/bin/bash\n{lines}\n"}
    task = regions({**files, "solution/s.py": program, "solution/lib/s.py": program})

    assert inputs(task) == [(ORDERS, "python3")]
    assert TOTALS in read_task(task).outputs


def test_a_copied_program_that_is_written_over_is_not_known_any_more() -> None:
    lines = "cp /solution/s.py /app/s.py\nsort names > /app/s.py\npython3 /app/s.py"
    program = "open('/app/data/orders.csv')\n"
    assert inputs(regions({"solution/solve.sh": f"#!/bin/bash\n{lines}\n", "solution/s.py": program})) == []


@pytest.mark.parametrize("first", ["#!/bin/bash", "#!/usr/bin/env bash", "#!/bin/sh -e", "set -e"])
def test_the_seeds_own_script_is_found_behind_its_step(first: str) -> None:
    parent = Grown.seed(regions({"solution/solve.sh": SOLVE.replace("#!/bin/bash", first)}))
    child, _ = built(parent, plan_of(parent, "pointer_chain", "names", ORDERS))
    assert TOTALS in read_task(child.task).outputs


def test_pairs_say_what_kind_of_file_it_is_and_stay_the_same() -> None:
    first, again = (ScriptExtractor().extract(regions()) for _ in range(2))
    assert first == again
    assert [pair.key for pair in first.pairs] == [f"in:{LIST}", f"in:{ORDERS}", "seg:1"]
    assert [pair.scenario for pair in first.pairs[:2]] == ["plain text file", "plain csv file"]
    assert first.pairs[2].skill == "compute over fields, sort records"
    assert {pair.block for pair in first.pairs} == {"solution/solve.sh"}


def test_of_an_evolved_task_the_steps_are_walked_in_their_order() -> None:
    parent = Grown.seed(regions())
    child, _ = built(parent, plan_of(parent, "shuffled_parts", "by_position", ORDERS))
    child, _ = built(child, plan_of(child, "line_ledger", "offsets", TOTALS))
    pairs = ScriptExtractor().extract(child.task).pairs
    targets = [pair.target for pair in pairs if pair.origin == "extracted"]
    assert targets.index(ORDERS) < targets.index(TOTALS)
    assert targets[-1] == "/app/handover/02-line-ledger.ledger"
    by_target = {pair.target: pair.block for pair in pairs}
    assert by_target[TOTALS] == "solution/steps/50-seed"
    assert by_target[ORDERS] == "solution/steps/49-shuffled-parts"


@pytest.mark.parametrize("script", ["", "if then (", "cat <<EOF", "f() { f; }\nf", "$((", "\0\0"])
def test_odd_scripts_are_read_without_an_error(script: str) -> None:
    ScriptExtractor().extract(solved_by(script))


def test_what_an_evolved_task_hands_over_is_no_input_of_its_own() -> None:
    parent = Grown.seed(regions())
    child, _ = built(parent, plan_of(parent, "mislabeled_archive", "one_of_many", ORDERS))
    assert [path for path, _ in inputs(child.task)] == [LIST]
    own = solved_by("#!/bin/bash\nsort handover/list.txt > /app/totals.txt\n").replace(
        {
            "environment/handover/list.txt": TaskFile.text("x\n"),
            "environment/Dockerfile": TaskFile.text("FROM debian\nWORKDIR /app\nCOPY handover/ handover/\n"),
        }
    )
    assert inputs(own) == [("/app/handover/list.txt", "sort")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "grows",
    [
        "a=x\n" + "a=$a$a\n" * 60 + 'cat "$a"',
        "a=(x)\n" + 'a+=("${a[@]}")\n' * 60 + 'cat "${a[@]}"',
        f"a=(x)\ncat ${{a[{'9' * 6000}]}}",
    ],
    ids=["a word", "an array", "a subscript"],
)
def test_a_script_whose_words_would_fill_the_memory_is_read_to_its_end(grows: str) -> None:
    assert inputs(solved_by(f"{grows}\nsort /app/regions.txt\n")) == [(LIST, "sort")]
