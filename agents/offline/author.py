"""The offline author: rules and operators in place of a model. It never claims to be one."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache

from agents import hidden_paths
from agents.offline import reading, rubric_verifier
from agents.offline.extract import ScriptExtractor
from agents.offline.modifier import OfflineModifier
from agents.offline.plan_reviewer import OfflinePlanReviewer
from agents.offline.proposer import OfflineProposer
from agents.offline.rubric_verifier import OfflineRubricVerifier
from agents.roles import Author

NAME = "offline"

JUDGES_CODE = (rubric_verifier, reading, hidden_paths)


def offline_author() -> Author:
    """An author whose every role is deterministic. Trusted: all it delivers is made by code of ours."""
    return Author(
        name=NAME,
        trusted=True,
        extractor=ScriptExtractor(),
        proposer=OfflineProposer(),
        plan_reviewer=OfflinePlanReviewer(),
        modifier=OfflineModifier(),
        rubric_verifier=OfflineRubricVerifier(),
        version=_code_of_the_judge(),
    )


@cache
def _code_of_the_judge() -> str:
    """A hash of the code that judges: another version of it may judge otherwise."""
    sources = (inspect.getsource(module) for module in JUDGES_CODE)
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]
