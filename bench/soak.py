"""The long proof: every bundled seed grown as far as it goes, at each effort, by the real commands.

    python bench/soak.py [--sandbox docker] [--efforts low high max] [--generations 15] [--out FILE]
    python bench/soak.py [--sandbox docker] --trust [--generations 15] …     (then trust.py does the rest)

It works in a folder of its own (`--var`); a run that was stopped goes on there. The answer is one dated
table of what each lineage reached, what that took, and why one ended early, as `manage.py report` reads it
from the rows that the run left.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sandbox", choices=["bubblewrap", "docker"], default="bubblewrap")
    parser.add_argument("--efforts", nargs="+", default=["low", "high", "max"])
    parser.add_argument("--generations", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0, help="of the recipe")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", nargs="+", type=Path, default=[ROOT / "seeds"], help="task folders")
    parser.add_argument("--var", type=Path, default=ROOT / "var" / "soak")
    parser.add_argument("--out", type=Path, help="a file to write the table to as well")
    parser.add_argument("--trust", nargs=argparse.REMAINDER, help="the words after it are trust.py's")
    chosen = parser.parse_args()
    soak = Soak(chosen.var / chosen.sandbox, chosen.sandbox)
    soak.manage("migrate", "-v0")
    soak.manage("import_tasks", *map(str, chosen.seeds))
    if chosen.trust is not None:
        sys.exit(soak.trust(chosen.trust))
    for effort in chosen.efforts:
        soak.grow(effort, chosen)
    text = f"{heading(chosen)}\n\n{soak.read('report', *map(name_of, chosen.efforts))}"
    if chosen.out:
        chosen.out.write_text(text)
    print(text)


class Soak:
    """The product's commands on an installation of their own."""

    def __init__(self, var: Path, sandbox: str) -> None:
        own = {"ENVEVO_VAR": str(var), "ENVEVO_BLOBS": str(var / "blobs"), "ENVEVO_SANDBOX": sandbox}
        self._environment = {**os.environ, **own, "ENVEVO_DATABASE_URL": "", "ENVEVO_REDIS_URL": ""}

    def manage(self, *words: str) -> None:
        subprocess.run(_command(*words), env=self._environment, check=True)

    def read(self, *words: str) -> str:
        return subprocess.run(
            _command(*words), env=self._environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def trust(self, words: list[str]) -> int:
        """Ask what grew, by bench/trust.py in this installation; its exit code."""
        script = [sys.executable, str(ROOT / "bench" / "trust.py"), *words]
        return subprocess.run(script, env=self._environment, check=False).returncode

    def grow(self, effort: str, chosen: argparse.Namespace) -> None:
        """One campaign over all seeds, driven by several processes as a machine's workers would."""
        name = name_of(effort)
        known = subprocess.run(
            _command("campaign", "show", name), env=self._environment, capture_output=True, check=False
        )
        if known.returncode:
            self.manage(
                "campaign", "start", name, "--all-seeds", "--effort", effort, "--seed", str(chosen.seed),
                "--generations", str(chosen.generations), "--parallel", str(chosen.processes),
            )  # fmt: skip
        drive = _command("campaign", "drive", name)
        driving = [subprocess.Popen(drive, env=self._environment) for _ in range(chosen.processes)]
        codes = [each.wait() for each in driving]
        if any(codes):
            sys.exit(f"{name}: its processes ended with {codes}")


def _command(*words: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *words]


def name_of(effort: str) -> str:
    return f"soak-{effort}"


def heading(chosen: argparse.Namespace) -> str:
    return (
        f"## {datetime.now(UTC):%Y-%m-%d}, sandbox {chosen.sandbox}\n\n"
        f"{chosen.generations} generations asked for, recipe seed {chosen.seed}, "
        f"{chosen.processes} processes on {os.cpu_count()} processors."
    )


if __name__ == "__main__":
    main()
