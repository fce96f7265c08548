"""The scripts that run an evolved task's parts. They are read by people: keep them short."""

from __future__ import annotations

SOLVE_RUNNER = """#!/bin/bash
# Runs the blocks of the reference solution in order of their numbers, and stops at the first that fails.
# steps/50-seed is the seed's own solution; lower numbers come before it, higher ones after it.
here=$(cd "$(dirname "$0")" && pwd)
for step in "$here"/steps/*; do
    echo "== ${step##*/}"
    bash "$step" || { status=$?; echo "${step##*/} failed with $status" >&2; exit "$status"; }
done
"""

SEED_STEP_TEXT = """# The seed's own solution, unchanged.
exec {interpreter} "$(dirname "$0")/../seed-solve.sh"
"""

SEED_UNIT_TEXT = """# The seed's own test, unchanged.
exec {interpreter} "$(dirname "$0")/../seed-test.sh"
"""

TEST_RUNNER = """#!/bin/bash
# Runs every unit by itself; the reward is the least of theirs, written once, at the end.
# A unit is worth 1 if it exits 0, else 0. The seed's own test alone may leave a reward file, and then it is
# worth what stands there; one that cannot be read leaves no reward at all, an error of the verifier.
here=$(cd "$(dirname "$0")" && pwd)
logs=/logs/verifier
mkdir -p "$logs"

# The number in the reward file that a unit left: "reward", else its only number, else its smallest.
number() {
    if [ -f "$logs/reward.json" ]; then
        python3 -I - "$logs/reward.json" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
print(found["reward"] if "reward" in found else min(found.values()))
END
    else
        tr -d ' \\t\\r\\n' < "$logs/reward.txt"
    fi
}

least=""
for unit in "$here"/units/*; do
    rm -f "$logs/reward.txt" "$logs/reward.json"
    bash "$unit"
    status=$?
    if [[ ${unit##*/} == 00-seed && ( -e $logs/reward.txt || -e $logs/reward.json ) ]]; then
        value=$(number)
    else
        value=$((status == 0))
    fi
    echo "== ${unit##*/}: $value"
    if ! [[ $value =~ ^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$ ]]; then
        rm -f "$logs/reward.txt" "$logs/reward.json"
        echo "${unit##*/} left no reward that can be read" >&2
        exit 1
    fi
    least=$(printf '%s\\n' ${least:+"$least"} "$value" | LC_ALL=C sort -g | head -n 1)
done
rm -f "$logs/reward.txt" "$logs/reward.json"
[ -n "$least" ] || exit 1
echo "$least" > "$logs/reward.txt"
"""


def interpreter(script: str) -> str:
    """How the seed's script is run: as its first line says, `bash` where it says nothing."""
    first = script.split("\n", 1)[0]
    if not first.startswith("#!"):
        return "bash"
    return first[2:].strip() or "bash"
