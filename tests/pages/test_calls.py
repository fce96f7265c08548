"""The page of one call of a role."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from lineages.library import blobs
from lineages.library.calls import AgentCall, CommandRun

pytestmark = pytest.mark.django_db


def call(**fields: object) -> AgentCall:
    return AgentCall.objects.create(
        role="proposer",
        author="offline",
        outcome="answered",
        input_digest="a" * 64,
        started_at=datetime.now(UTC),
        seconds=0.25,
        **fields,
    )


def test_a_call_shows_its_answer_and_the_commands_that_ran_for_it(web: Client) -> None:
    made = call(output_id=blobs.keep_one(b'{"summary": "Split <the> log"}'))
    CommandRun.objects.create(
        call=made,
        position=0,
        command="sh -c 'command -v awk'",
        exit_code=0,
        stdout_id=blobs.keep_one(b"/usr/bin/awk\n"),
        stderr_id=blobs.keep_one(b""),
        started_at=made.started_at,
        seconds=0.1,
    )

    page = web.get(f"/calls/{made.pk}/").content.decode()

    assert "Split &lt;the&gt; log" in page
    assert "/usr/bin/awk" in page
    assert "command -v awk" in page


def test_a_refusal_shows_its_sentence_and_no_answer(web: Client) -> None:
    made = call(error="no input is left")

    page = web.get(f"/calls/{made.pk}/").content.decode()

    assert "no input is left" in page
    assert "No answer is stored" in page
    assert "No command ran in a sandbox for this call." in page


def test_a_call_whose_answer_the_blob_folder_has_lost_is_not_found(web: Client) -> None:
    digest = blobs.keep_one(b'{"summary": "only here"}')
    made = call(output_id=digest)
    (Path(settings.BLOBS) / digest[:2] / digest[2:]).unlink()

    assert web.get(f"/calls/{made.pk}/").status_code == 404
