"""Whether what grew can be trusted: every attack, repeat and wrong solution on the seeds and a whole lineage.

    python bench/soak.py --trust [--sandbox docker] [--generations 15]      (in an installation of its own)
    python bench/trust.py [--lineage log-forensics] [--generations 15] [--repeats 10]      (in this one)

The lineage is grown by the real commands with the profile *standard*; the seeds are asked meanwhile, then
every generation: by the gates `repeat` (so many repeats), `adversary` and `wrong_solution` (each probe and
each mutant by itself), and all of them by Harbor's lint as they are exported. The other gates of the profile
said yes before a generation was accepted, and are not asked again. A line is told for each environment when
it is done, and kept in the installation's folder: a run that was stopped goes on there, and asks again only
what has changed since. Exit code 1: a gate did not accept, lint found something, or the lineage ended early.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envevo_site.settings")
sys.path.insert(0, str(ROOT))

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402

from agents.authors import author  # noqa: E402
from lineages.gates import all_gates  # noqa: E402
from lineages.gates.base import Once, Outcome, Result, Subject  # noqa: E402
from lineages.growth.subjects import of_environment  # noqa: E402
from lineages.library import audits  # noqa: E402
from lineages.library.bundles import export, name_of  # noqa: E402
from lineages.library.models import Environment, Lineage  # noqa: E402
from sandboxes.backends import open_backend  # noqa: E402
from sandboxes.base import Backend  # noqa: E402
from sandboxes.bundle import BundleFormat  # noqa: E402
from sandboxes.errors import SandboxError  # noqa: E402
from sandboxes.intake import find_tasks  # noqa: E402

HARBOR = ROOT / "scripts" / "harbor"
GATES = ("repeat", "adversary", "wrong_solution")
CAMPAIGN = "soak-trust"


@dataclass(frozen=True)
class Said:
    """A gate's answer under its key. `runs` were made and `passed` of them were as they should be."""

    key: str
    result: str
    summary: str
    runs: int
    passed: int
    warnings: int
    seconds: float

    @classmethod
    def of(cls, key: str, outcome: Outcome, seconds: float) -> Said:
        warnings = sum(finding.warning for finding in outcome.findings)
        return cls(key, outcome.result, outcome.summary, outcome.runs, outcome.runs_passed, warnings, seconds)

    @property
    def well(self) -> bool:
        return Result(self.result).accepted

    @property
    def short(self) -> str:
        return f"{self.passed} of {self.runs}" if self.runs else self.result.replace("_", " ")


@dataclass(frozen=True)
class Line:
    """What the gates said of one environment, by their names."""

    environment: str
    said: Mapping[str, Said]

    @property
    def well(self) -> bool:
        return all(said.well for said in self.said.values())

    @property
    def seconds(self) -> float:
        return sum(said.seconds for said in self.said.values())

    def __str__(self) -> str:
        told = ", ".join(f"{name} {said.short}" for name, said in self.said.items())
        why = [said.summary for said in self.said.values() if not said.well]
        return "; ".join([f"{self.environment}: {told} ({self.seconds:.0f} s)", *why])


class Book:
    """The lines that were told so far, in a file; of an environment the newest counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        read = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
        self._said = {
            line["environment"]: {name: Said(**said) for name, said in line["said"].items()} for line in read
        }

    def still(self, environment: str, keys: Mapping[str, str]) -> dict[str, Said]:
        """The answers that hang on nothing that has changed since."""
        said = self._said.get(environment, {})
        return {name: said[name] for name in keys if name in said and said[name].key == keys[name]}

    def add(self, line: Line) -> None:
        with self._lock, self._path.open("a") as file:
            file.write(f"{json.dumps(asdict(line))}\n")


def main() -> None:
    chosen = arguments()
    began = time.monotonic()
    own_backend().sweep(lambda labels: False)  # what a run that was killed has left
    book = Book(Path(settings.VAR) / "trust.jsonl")
    pool = ThreadPoolExecutor(max(2, chosen.at_once))
    try:
        # Growing is one of the jobs: its own gates fill what is left of the machine.
        growing = pool.submit(grow, chosen)
        every = seeds()
        asking = [pool.submit(asked, each, chosen, book) for each in every]
        growing.result()
        grown = generations(chosen.lineage)
        asking += [pool.submit(asked, each, chosen, book) for each in grown]
        lines = [each.result() for each in asking]
    except SandboxError as problem:
        sys.exit(f"The machine failed, no task did: {problem} Run it again: it goes on where it was.")
    finally:
        pool.shutdown(cancel_futures=True)
    found = lint([*every, *grown])
    text = "\n".join(report(lines, found, chosen, time.monotonic() - began))
    if chosen.out:
        chosen.out.write_text(text)
    print(text)
    sys.exit(not all(line.well for line in lines) or bool(found) or len(grown) < chosen.generations)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lineage", default="log-forensics", help="the seed that is grown")
    parser.add_argument("--effort", default="high")
    parser.add_argument("--generations", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--gates", nargs="+", choices=GATES, default=list(GATES))
    # One more than processors: some probes wait more than they work.
    at_once = 1 + (os.cpu_count() or 1)
    parser.add_argument("--at-once", type=int, default=at_once, help="environments at a time")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most for one command of a trial")
    parser.add_argument("--out", type=Path, help="a file to write the table to as well")
    return parser.parse_args()


def grow(chosen: argparse.Namespace) -> None:
    """The lineage, as far as it goes; an earlier run's is gone on with. Raises `CalledProcessError`."""
    manage = [sys.executable, str(ROOT / "manage.py"), "campaign"]
    known = subprocess.run([*manage, "show", CAMPAIGN], capture_output=True, check=False).returncode == 0
    if not known:
        words = ["--generations", str(chosen.generations), "--effort", chosen.effort, "--parallel", "1"]
        start = [*manage, "start", CAMPAIGN, f"{chosen.lineage}/g0", *words]
        subprocess.run(start, check=True, stdout=sys.stderr)
    subprocess.run([*manage, "drive", CAMPAIGN], check=True, stdout=sys.stderr)


def seeds() -> list[Environment]:
    slugs = [folder.name for folder in find_tasks(settings.SEEDS)]
    return list(Environment.objects.filter(lineage__slug__in=slugs, generation=0).order_by("lineage__slug"))


def generations(slug: str) -> list[Environment]:
    lineage = Lineage.objects.get(slug=slug)
    return list(lineage.environments.filter(generation__gt=0).order_by("generation", "k"))


def asked(environment: Environment, chosen: argparse.Namespace, book: Book) -> Line:
    """What the gates say of it, told as a line. Raises `SandboxError` where the machine is at fault."""
    try:
        subject = strictly(environment, chosen.repeats, chosen.seconds)
    finally:
        connection.close()
    keys = {name: all_gates()[name].key(subject) for name in chosen.gates}
    said = book.still(environment.reference, keys)
    missing = [name for name in keys if name not in said]
    for name in missing:
        began = time.monotonic()
        outcome = all_gates()[name].check(subject)
        said[name] = Said.of(keys[name], outcome, time.monotonic() - began)
    line = Line(environment.reference, {name: said[name] for name in keys})
    if missing:
        book.add(line)
    print(line, file=sys.stderr, flush=True)
    return line


def strictly(environment: Environment, repeats: int, seconds: float) -> Subject:
    subject = of_environment(environment, author("offline"))
    # Tests that a probe makes hang are waited for as long as this, in each environment.
    limits = replace(subject.limits, seconds=seconds)
    mine = replace(subject, backend=own_backend(), limits=limits, once=Once())
    return audits.with_profile(mine, "strict", repeats)


@cache
def own_backend() -> Backend:
    """Not the installation's, whose sandboxes are ended by every sweep unless a lease holds them."""
    return open_backend(
        settings.SANDBOX,
        instance=f"{settings.INSTANCE}-trust",
        folder=settings.SANDBOXES / "trust",
        docker_host=settings.DOCKER_HOST,
        build_network=settings.BUILD_NETWORK,
    )


def lint(environments: Sequence[Environment]) -> list[str]:
    """Harbor's findings on these environments as they are exported, by its default rules."""
    with tempfile.TemporaryDirectory(prefix="envevo-bench-") as folder:
        tasks = [Path(folder) / name_of(each) for each in environments]
        for each, task in zip(environments, tasks, strict=True):
            export(each, task, BundleFormat.DIR)
        done = subprocess.run([HARBOR, "lint", *tasks, "--json"], capture_output=True, text=True, check=False)
    try:
        return [json.dumps(each) for each in json.loads(done.stdout)]
    except json.JSONDecodeError:
        sys.exit(f"Harbor's lint did not answer: {done.stdout[-1000:]}{done.stderr[-1000:]}")


def report(
    lines: Sequence[Line], found: Sequence[str], chosen: argparse.Namespace, seconds: float
) -> Iterator[str]:
    """The dated table, for docs/soak.md."""
    grown = [line for line in lines if not line.environment.endswith("/g0")]
    yield f"## {datetime.now(UTC):%Y-%m-%d}, trust, sandbox {settings.SANDBOX}\n"
    yield (
        f"{len(grown)} of {chosen.generations} generations of {chosen.lineage} (effort {chosen.effort}) and "
        f"{len(lines) - len(grown)} seeds; {chosen.at_once} at a time on {os.cpu_count()} processors, "
        f"{seconds / 60:.1f} minutes, what an earlier run had asked left out.\n"
    )
    yield f"| environment | {' | '.join(chosen.gates)} | warnings | seconds |"
    yield f"| --- | {'---: | ' * (len(chosen.gates) + 2)}".rstrip()
    for line in lines:
        told = " | ".join(said.short if said.well else f"**{said.short}**" for said in line.said.values())
        warnings = sum(said.warnings for said in line.said.values())
        yield f"| {line.environment} | {told} | {warnings} | {line.seconds:.0f} |"
    yield ""
    for name in chosen.gates:
        shares = f"{share(name, grown)} over the generations, {share(name, lines)} with the seeds"
        yield f"- `{name}`, as it should be: {shares}."
    yield f"- Harbor's lint of all {len(lines)}, exported: {len(found)} findings."
    yield from (f"  - {each}" for each in found)
    yield from (f"- {line}" for line in lines if not line.well)


def share(name: str, lines: Iterable[Line]) -> str:
    said = [line.said[name] for line in lines]
    return f"{sum(each.passed for each in said)} of {sum(each.runs for each in said)}"


if __name__ == "__main__":
    main()
