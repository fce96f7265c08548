"""Where the parts of an evolved task lie, for those who write one and those who check it.

solution/solve.sh       runs solution/steps/NN-* in order; the seed's script is step 50
tests/test.sh           runs tests/units/NN-* and takes the least reward; the parent's test is unit 00
environment/overlay/    files delivered to the container, by absolute path
tests/pristine/         what the environment of a shared-mode seed was, for its separate verifier
tests/held/             the bytes of what was taken away, at their container path
"""

from __future__ import annotations

STEPS = "solution/steps"
UNITS = "tests/units"
OVERLAY = "environment/overlay"
PRISTINE = "tests/pristine"
HELD = "tests/held"
SEED_SOLVE = "solution/seed-solve.sh"
SEED_TEST = "tests/seed-test.sh"
SEED_STEP = f"{STEPS}/50-seed"
SEED_UNIT = f"{UNITS}/00-seed"

IGNORES = ("environment/.dockerignore", "environment/Dockerfile.dockerignore")
"""Lists of what the image's builder leaves out; an evolved task's let the overlay through."""

FRAME = frozenset(
    {
        *IGNORES,
        "task.toml",
        "instruction.md",
        "environment/Dockerfile",
        "solution/solve.sh",
        "tests/test.sh",
        "tests/Dockerfile",
        SEED_SOLVE,
        SEED_TEST,
        SEED_STEP,
        SEED_UNIT,
    }
)
"""Files that every evolved task has; they belong to no pair."""


def is_frame(path: str) -> bool:
    """Whether a changed file belongs to the frame of an evolved task rather than to one pair."""
    return path in FRAME or path.startswith((f"{PRISTINE}/", f"{HELD}/"))
