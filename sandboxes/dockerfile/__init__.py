"""What a Dockerfile says: its instructions, the files it copies, and what we do not build."""

from sandboxes.dockerfile.copying import Copies, copies
from sandboxes.dockerfile.policy import PolicyViolation, check_policy
from sandboxes.dockerfile.reading import Instruction, env, expand, instructions, runs, workdir

__all__ = [
    "Copies",
    "Instruction",
    "PolicyViolation",
    "check_policy",
    "copies",
    "env",
    "expand",
    "instructions",
    "runs",
    "workdir",
]
