"""The offline author: rules and operators in place of a model. It never claims to be one."""

from __future__ import annotations

from agents.offline.extract import ScriptExtractor
from agents.offline.modifier import OfflineModifier
from agents.offline.plan_reviewer import OfflinePlanReviewer
from agents.offline.proposer import OfflineProposer
from agents.offline.rubric_verifier import OfflineRubricVerifier
from agents.roles import Author

NAME = "offline"


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
    )
