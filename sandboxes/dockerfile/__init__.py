"""What a Dockerfile says: its instructions, what it copies, starts from, and what we do not build."""

from sandboxes.dockerfile.bases import bases
from sandboxes.dockerfile.copying import Copies, copies
from sandboxes.dockerfile.policy import PolicyViolation, check_policy
from sandboxes.dockerfile.reading import Instruction, env, expand, instructions, runs, workdir

__all__ = [
    "Copies",
    "Instruction",
    "PolicyViolation",
    "bases",
    "check_policy",
    "copies",
    "env",
    "expand",
    "instructions",
    "runs",
    "workdir",
]
