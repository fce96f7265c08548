"""The page of a lineage at 15 and at 300 generations: queries, and time as a ratio.

    python bench/lineage_page.py [--runs 5]

The rows are made as the tests make them; the page is the real one, from login to bytes, without a network.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ |= {"ENVEVO_VAR": tempfile.mkdtemp(prefix="envevo-bench-"), "ENVEVO_DATABASE_URL": ""}
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
sys.path.insert(0, str(ROOT))

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from tests import factories  # noqa: E402


def measured(generations: int, client: Client, runs: int) -> tuple[int, float]:
    """Queries and milliseconds of the page of a lineage of so many generations."""
    slug = factories.chain(generations)[0].lineage.slug
    address = f"/lineages/{slug}/"
    client.get(address)
    times = []
    for _ in range(runs):
        started = time.monotonic()
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(address)
        times.append((time.monotonic() - started) * 1000)
    if answer.status_code != 200:
        sys.exit(f"{address} answered {answer.status_code}")
    return len(asked), statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    call_command("migrate", verbosity=0)
    client = Client(SERVER_NAME="localhost")
    client.force_login(factories.user())
    few, short = measured(15, client, chosen.runs)
    many, long = measured(300, client, chosen.runs)
    print(f"15 generations: {few} queries, {short:.0f} ms; 300: {many} queries, {long:.0f} ms")
    print(f"20 × the generations take {long / short:.1f} × the time and {many / few:.2f} × the queries")


if __name__ == "__main__":
    main()
