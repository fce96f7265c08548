"""Six tasks in the manner of those that people publish for Terminal-Bench; each is honest."""
# ruff: noqa: E501  (texts as they stand in their files)

from __future__ import annotations

TOML = """version = "1.0"

[metadata]
author_name = "A. Person"
author_email = "person@a-place.example"
difficulty = "medium"
category = "data-processing"
tags = ["json", "logs"]
expert_time_estimate_min = 20.0

[verifier]
timeout_sec = 900.0

[agent]
timeout_sec = 900.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory = "2G"
storage = "10G"
"""
TEST_SH = """#!/bin/bash
set -u
# Everything is in the image already.
cd /app
python3 -m pytest /tests/test_outputs.py -rA --tb=short
if [ $? -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""


def published(files: dict[str, str]) -> dict[str, str]:
    return {"task.toml": TOML, "tests/test.sh": TEST_SH, **files}


PY = "FROM python:3.12-slim-bookworm\nRUN pip install --no-cache-dir pytest==8.4.1\nWORKDIR /app\n"

RESULT = published(
    {
        "instruction.md": """You are given web server access logs in `/app/logs/access.log` (combined log format).

Write a summary to `/app/result.json` that holds a JSON object with:

- `total_requests`: the number of lines that parse
- `status_counts`: an object from status code (as a string) to the number of requests
- `top_paths`: a list of the 5 most requested paths, each an object with `path` and `hits`, most hits first (ties in alphabetical order)
- `error_rate`: 5xx responses divided by all, rounded to 4 decimal places
- `busiest_hour`: the hour in ISO format, e.g. `2025-01-31T14:00`

Lines that do not parse are to be skipped.
""",
        "environment/Dockerfile": PY + "COPY logs/ /app/logs/\n",
        "environment/logs/access.log": "".join(
            f'10.0.0.{n % 7} - - [31/Jan/2025:{n % 24:02d}:00:01 +0000] "GET /p{n % 9} HTTP/1.1" {200 if n % 11 else 503} 123 "-" "curl"\n'
            for n in range(200)
        ),
        "solution/solve.sh": """#!/bin/bash
set -euo pipefail
cat > /app/summarise.py <<'PY'
import json, re, collections
pattern = re.compile(r'(\\S+) \\S+ \\S+ \\[([^\\]]+)\\] "(\\w+) (\\S+) [^"]*" (\\d{3}) (\\d+|-)')
rows = [m.groups() for m in map(pattern.match, open('/app/logs/access.log')) if m]
json.dump({'total_requests': len(rows)}, open('/app/result.json', 'w'))
PY
python3 /app/summarise.py
""",
        "tests/test_outputs.py": '''"""Checks of the summary."""
import json
import os
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

RESULT_PATH = Path("/app/result.json")
LOG_PATH = Path("/app/logs/access.log")
LINE = re.compile(r'(\\S+) \\S+ \\S+ \\[([^\\]]+)\\] "(\\w+) (\\S+) [^"]*" (\\d{3}) (\\d+|-)')


def _parse_log():
    rows = []
    with open(LOG_PATH) as handle:
        for line in handle:
            match = LINE.match(line)
            if match:
                rows.append({"ip": match[1], "when": match[2], "path": match[4], "status": match[5]})
    return rows


@pytest.fixture(scope="module")
def result():
    assert RESULT_PATH.exists(), f"{RESULT_PATH} was not written"
    return json.loads(RESULT_PATH.read_text())


@pytest.fixture(scope="module")
def rows():
    return _parse_log()


def test_file_is_valid_json():
    assert os.path.getsize("/app/result.json") > 10
    data = json.loads(RESULT_PATH.read_text())
    assert isinstance(data, dict)


def test_required_keys(result):
    required = ["total_requests", "status_counts", "top_paths", "error_rate", "busiest_hour"]
    for key in required:
        assert key in result, f"missing {key}"


def test_total(result, rows):
    assert result["total_requests"] == len(rows)


def test_status_counts(result, rows):
    expected = Counter(row["status"] for row in rows)
    assert result["status_counts"] == dict(expected)
    assert result["status_counts"]["503"] == expected["503"]


def test_top_paths(result, rows):
    expected = sorted(Counter(row["path"] for row in rows).items(), key=lambda kv: (-kv[1], kv[0]))[:5]
    assert len(result["top_paths"]) == 5
    for got, (path, hits) in zip(result["top_paths"], expected):
        assert got["path"] == path
        assert got["hits"] == hits
    assert [p["path"] for p in result["top_paths"]] == [path for path, _ in expected]


def test_error_rate(result, rows):
    errors = sum(1 for row in rows if row["status"].startswith("5"))
    assert abs(result["error_rate"] - errors / len(rows)) < 1e-4
    assert 0 <= result["error_rate"] <= 1
    assert result["error_rate"] == pytest.approx(errors / len(rows), abs=0.0001)


def test_busiest_hour(result):
    datetime.fromisoformat(result["busiest_hour"])
    assert re.match(r"^\\d{4}-\\d{2}-\\d{2}T\\d{2}:00$", result["busiest_hour"])
''',
    }
)

SERVER = published(
    {
        "instruction.md": """Build a small HTTP key-value service in `/app`.

Requirements:
1. It listens on port 8080 and is started by `bash /app/start.sh`, which must return once the server is up.
2. `GET /health` answers 200 with `{"status": "ok"}`.
3. `PUT /kv/<key>` stores the request's body and answers 201 for a new key, 200 for a known one.
4. `GET /kv/<key>` answers `{"key": ..., "value": ...}`, or 404 with `{"error": "not found"}`.
5. Values survive a restart.
6. Answers come in under 500 ms.
""",
        "environment/Dockerfile": "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pytest python3-requests curl \\\n && rm -rf /var/lib/apt/lists/*\nWORKDIR /app\n",
        "solution/solve.sh": """#!/bin/bash
cat > /app/server.py <<'PY'
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"status": "ok"}')
ThreadingHTTPServer(('0.0.0.0', 8080), Handler).serve_forever()
PY
cat > /app/start.sh <<'SH'
#!/bin/bash
nohup python3 /app/server.py >/tmp/server.log 2>&1 &
for i in $(seq 50); do curl -s localhost:8080/health && exit 0; sleep 0.1; done
exit 1
SH
""",
        "tests/test.sh": """#!/bin/bash
# Start the service, wait for it, and test it.
if [ "$PWD" = "/" ]; then
  echo "Error: no working directory set."
  exit 1
fi
bash /app/start.sh > /tmp/start.log 2>&1 &
for i in $(seq 1 30); do
  if curl -sf http://localhost:8080/health > /dev/null; then break; fi
  sleep 1
done
code=$(curl -s -o /tmp/body.json -w '%{http_code}' http://127.0.0.1:8080/kv/none)
if [ "$code" != "404" ]; then
  echo "expected 404, got $code"
  echo 0 > /logs/verifier/reward.txt
  exit 0
fi
python3 -m pytest -rA /tests/test_outputs.py
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
""",
        "tests/test_outputs.py": """import json
import os
import socket
import subprocess
import time

import requests

BASE_URL = os.environ.get("BASE_URL", "http://localhost:8080")


def wait_for_port(port, timeout=30):
    deadline = time.time() + timeout
    while time.time() < deadline:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.2)
    return False


def test_start_script():
    assert os.path.isfile("/app/start.sh")
    assert wait_for_port(8080)


def test_health():
    r = requests.get(f"{BASE_URL}/health", timeout=5)
    assert r.status_code == 200
    assert r.json()["status"] == "ok"


def test_put_get():
    r = requests.put(f"{BASE_URL}/kv/alpha", data="1", timeout=5)
    assert r.status_code in (200, 201)
    r = requests.get(BASE_URL + "/kv/alpha", timeout=5)
    body = r.json()
    assert body == {"key": "alpha", "value": "1"}


def test_missing():
    out = subprocess.run(["curl", "-s", "http://localhost:8080/kv/zzz"], capture_output=True, text=True)
    assert json.loads(out.stdout)["error"] == "not found"


def test_fast():
    start = time.time()
    requests.get(f"{BASE_URL}/kv/alpha", timeout=5)
    elapsed = time.time() - start
    assert elapsed < 0.5


def test_persists():
    subprocess.run("pkill -f server; sleep 1; bash /app/start.sh", shell=True, timeout=60)
    assert requests.get(f"{BASE_URL}/kv/alpha", timeout=5).json()["value"] == "1"
""",
    }
)

GIT = published(
    {
        "instruction.md": """The repository in `/app/repo` had a secret committed by accident: the file `config/prod.env`.

Remove it from the whole history of all branches, keep every other file and every commit message, and
make sure that the old objects are gone too. Then write the number of commits on `main` to `/app/commits.txt`.
""",
        "environment/Dockerfile": """FROM ubuntu:24.04
RUN apt-get update && apt-get install -y git python3-pytest && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY setup.sh /tmp/setup.sh
RUN bash /tmp/setup.sh && rm /tmp/setup.sh
""",
        "environment/setup.sh": """#!/bin/bash
set -e
git init -b main /app/repo && cd /app/repo
git config user.email dev@a-place.example && git config user.name Dev
echo hello > README.md && git add . && git commit -m "first"
mkdir config && echo "DB_PASSWORD=hunter2hunter2" > config/prod.env && git add . && git commit -m "add config"
git rm -q config/prod.env && git commit -m "oops"
git checkout -b feature && echo feature > feature.txt && git add . && git commit -m "feature"
git checkout main
""",
        "solution/solve.sh": """#!/bin/bash
cd /app/repo
git filter-branch --force --index-filter 'git rm --cached --ignore-unmatch config/prod.env' -- --all
rm -rf .git/refs/original && git reflog expire --expire=now --all && git gc --prune=now --aggressive
git rev-list --count main > /app/commits.txt
""",
        "tests/test_outputs.py": """import subprocess
from pathlib import Path

REPO = "/app/repo"


def git(*args, check=True):
    result = subprocess.run(["git", "-C", REPO, *args], capture_output=True, text=True)
    if check:
        assert result.returncode == 0, result.stderr
    return result.stdout


def test_secret_gone():
    log = git("log", "--all", "--format=%H", "--", "config/prod.env")
    assert log.strip() == ""
    objects = git("cat-file", "--batch-all-objects", "--batch-check")
    for line in objects.splitlines():
        sha, kind, _ = line.split()
        if kind == "blob":
            assert "hunter2hunter2" not in git("cat-file", "-p", sha)


def test_branches():
    branches = git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert set(branches) == {"main", "feature"}


def test_files_kept():
    assert (Path(REPO) / "README.md").read_text() == "hello\\n"
    assert "feature.txt" in git("ls-tree", "-r", "--name-only", "feature").splitlines()
    assert not (Path(REPO) / ".git" / "refs" / "original").exists()


def test_messages():
    assert git("log", "--format=%s", "main").splitlines() == ["oops", "add config", "first"]


def test_count():
    assert int(Path("/app/commits.txt").read_text().strip()) == 3
""",
    }
)

DATA = published(
    {
        "instruction.md": """Merge the sales exports in `/app/data` (`north.csv`, `south.csv`, `west.csv`) into `/app/output/merged.csv`.

The columns differ: see `/app/data/README.md`. The merged file has the header
`order_id,date,region,amount_eur`, dates as YYYY-MM-DD, amounts with two decimals, rows sorted by `order_id`.
Drop duplicates (the same `order_id`), the first one wins. Also write `/app/output/report.txt`, whose first line is
`Total: <sum>` with two decimals.
""",
        "environment/Dockerfile": PY + "COPY data /app/data\n",
        "environment/data/README.md": "north: id;day;amount\nsouth: order,when,total\nwest: order_id,date,amount_eur\n",
        "environment/data/north.csv": "id;day;amount\n1;01.02.2025;3,50\n",
        "environment/data/south.csv": "order,when,total\n2,2025/02/01,4.5\n",
        "environment/data/west.csv": "order_id,date,amount_eur\n3,2025-02-01,5\n",
        "solution/solve.sh": "#!/bin/bash\nmkdir -p /app/output\npython3 - <<'PY'\nimport csv\nrows = [('1', '2025-02-01', 'north', '3.50'), ('2', '2025-02-01', 'south', '4.50')]\nwith open('/app/output/merged.csv', 'w', newline='') as f:\n    w = csv.writer(f); w.writerow(['order_id', 'date', 'region', 'amount_eur']); w.writerows(rows)\nopen('/app/output/report.txt', 'w').write('Total: 13.00\\n')\nPY\n",
        "tests/test_outputs.py": """import csv
import hashlib
import re
from decimal import Decimal
from pathlib import Path

OUTPUT = Path("/app/output")
MERGED = OUTPUT / "merged.csv"
EXPECTED_HEADER = ["order_id", "date", "region", "amount_eur"]


def read_rows():
    with MERGED.open(newline="") as f:
        return list(csv.DictReader(f))


def test_exists():
    for name in ("merged.csv", "report.txt"):
        assert (OUTPUT / name).is_file(), f"{name} is missing"


def test_header():
    with open(MERGED, newline="") as f:
        header = next(csv.reader(f))
    assert header == EXPECTED_HEADER


def test_rows():
    rows = read_rows()
    assert len(rows) == 3
    ids = [int(r["order_id"]) for r in rows]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    for r in rows:
        assert re.fullmatch(r"\\d{4}-\\d{2}-\\d{2}", r["date"])
        assert re.fullmatch(r"\\d+\\.\\d{2}", r["amount_eur"])
        assert r["region"] in {"north", "south", "west"}


def test_total():
    rows = read_rows()
    total = sum(Decimal(r["amount_eur"]) for r in rows)
    first = (OUTPUT / "report.txt").read_text().splitlines()[0]
    assert first.startswith("Total: ")
    assert Decimal(first.split(":")[1]) == total
    assert total > 12


def test_inputs_untouched():
    digest = hashlib.sha256(Path("/app/data/north.csv").read_bytes()).hexdigest()
    assert len(digest) == 64
""",
    }
)

CBUILD = published(
    {
        "instruction.md": """The C project in /app/src does not build. Fix it so that `make` in /app/src makes the binary `/app/src/wordfreq`,
without warnings under `-Wall -Wextra -Werror`, and without memory errors.

`wordfreq FILE N` prints the N most frequent words with their counts, one "word count" pair a line.
It must end with code 2 and a usage message on standard error when called without arguments.
""",
        "environment/Dockerfile": """FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y gcc make python3 python3-pytest valgrind && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY src/ /app/src/
""",
        "environment/src/Makefile": "CFLAGS = -O2 -Wall -Wextra -Werror\nwordfreq: main.o table.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o wordfreq\n",
        "environment/src/main.c": '#include <stdio.h>\n#include "table.h"\nint main(int argc, char **argv) { unused; return 0 }\n',
        "environment/src/table.c": '#include "table.h"\nint hash(const char *s) { int h; while (*s) h = h * 31 + *s++; return h; }\n',
        "environment/src/table.h": "int hash(const char *s);\n",
        "solution/solve.sh": '#!/bin/bash\nset -e\ncd /app/src\ncat > main.c <<\'C\'\n#include <stdio.h>\n#include "table.h"\nint main(int argc, char **argv) { (void)argv; if (argc < 3) { fprintf(stderr, "usage: wordfreq FILE N\\n"); return 2; } return 0; }\nC\nmake clean && make\n',
        "tests/test_outputs.py": """import os
import shutil
import subprocess
import tempfile

import pytest

SRC = "/app/src"
BINARY = os.path.join(SRC, "wordfreq")


def run(cmd, **kw):
    return subprocess.run(cmd, capture_output=True, text=True, timeout=60, **kw)


@pytest.fixture(scope="session", autouse=True)
def build():
    run(["make", "clean"], cwd=SRC)
    result = run(["make"], cwd=SRC)
    assert result.returncode == 0, result.stderr
    assert "warning:" not in result.stderr


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the cat the dog the end cat\\n")
    return str(path)


def test_binary():
    assert os.path.exists(BINARY)
    assert os.access(BINARY, os.X_OK)


def test_top(corpus):
    result = run([BINARY, corpus, "2"])
    assert result.stdout.splitlines() == ["the 3", "cat 2"]


def test_usage():
    result = run([BINARY])
    assert result.returncode == 2
    assert "usage" in result.stderr.lower()


def test_memory(corpus):
    result = run(["valgrind", "--error-exitcode=99", "--leak-check=full", BINARY, corpus, "2"])
    assert result.returncode != 99


def test_big_input():
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as f:
        for n in range(100000):
            f.write(f"word{n % 1000} ")
    result = run([BINARY, f.name, "10"])
    assert len(result.stdout.splitlines()) == 10


def test_flags():
    makefile = open("/app/src/Makefile").read()
    for flag in ("-Wall", "-Wextra", "-Werror"):
        assert flag in makefile


def test_clean_copy():
    shutil.copytree(SRC, "/tmp/copy", dirs_exist_ok=True)
    assert run(["make", "-B"], cwd="/tmp/copy").returncode == 0
""",
    }
)

SQLITE = published(
    {
        "instruction.md": """The SQLite database `/app/shop.db` is slow and inconsistent. Its schema is in `/app/schema.sql`.

- Add whatever index makes the query in `/app/slow.sql` use no full scan.
- Delete orders whose customer does not exist.
- Make a table `customer_totals` with the columns `customer_id`, `orders` and `total_cents`, one row for each customer, also for
  those without orders (0 and 0).
- `PRAGMA integrity_check` must say ok, and the file must stay below 5 MB.
""",
        "environment/Dockerfile": PY
        + "COPY schema.sql slow.sql make_db.py /app/\nRUN python3 /app/make_db.py && rm /app/make_db.py\n",
        "environment/schema.sql": "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\nCREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, cents INTEGER, placed_at TEXT);\n",
        "environment/slow.sql": "SELECT * FROM orders WHERE customer_id = ? AND placed_at > ?;\n",
        "environment/make_db.py": "import sqlite3\ndb = sqlite3.connect('/app/shop.db')\ndb.executescript(open('/app/schema.sql').read())\ndb.executemany('INSERT INTO customers VALUES (?, ?)', [(n, f'c{n}') for n in range(50)])\ndb.executemany('INSERT INTO orders VALUES (?, ?, ?, ?)', [(n, n % 60, n * 7, '2025-01-01') for n in range(1000)])\ndb.commit()\n",
        "solution/solve.sh": """#!/bin/bash
sqlite3 /app/shop.db <<'SQL'
CREATE INDEX orders_by_customer ON orders (customer_id, placed_at);
DELETE FROM orders WHERE customer_id NOT IN (SELECT id FROM customers);
CREATE TABLE customer_totals AS SELECT c.id AS customer_id, count(o.id) AS orders, coalesce(sum(o.cents), 0) AS total_cents
FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
SQL
""",
        "tests/test_outputs.py": """import os
import sqlite3

import pytest

DB = "/app/shop.db"


@pytest.fixture
def db():
    conn = sqlite3.connect(f"file:{DB}?mode=ro", uri=True)
    conn.row_factory = sqlite3.Row
    yield conn
    conn.close()


def test_integrity(db):
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert os.path.getsize(DB) < 5 * 1024 * 1024


def test_plan(db):
    query = open("/app/slow.sql").read()
    plan = " ".join(row["detail"] for row in db.execute("EXPLAIN QUERY PLAN " + query, (1, "2025")))
    assert "SCAN" not in plan
    assert "USING INDEX" in plan


def test_columns(db):
    columns = [row["name"] for row in db.execute("PRAGMA table_info(customer_totals)")]
    assert columns == ["customer_id", "orders", "total_cents"]
    rows = db.execute("SELECT * FROM customer_totals ORDER BY customer_id").fetchall()
    assert len(rows) == 50
    assert rows[0]["customer_id"] == 0
    for row in rows:
        want = db.execute("SELECT count(*) AS n, coalesce(sum(cents), 0) AS s FROM orders WHERE customer_id = ?", (row["customer_id"],)).fetchone()
        assert (row["orders"], row["total_cents"]) == (want["n"], want["s"])


def test_orphans(db):
    orphans = db.execute("SELECT count(*) FROM orders WHERE customer_id NOT IN (SELECT id FROM customers)").fetchone()[0]
    assert orphans == 0
""",
    }
)

SIX = {"logs": RESULT, "server": SERVER, "git": GIT, "sales": DATA, "c": CBUILD, "sqlite": SQLITE}
