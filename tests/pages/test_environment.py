"""The pages of an environment: what is on them, what leaves them, and what they never do."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from lineages.library.models import Audit, Job
from sandboxes.files import TaskFile
from tests import factories
from tests.pages.conftest import seen


def url(environment: Any, name: str = "detail", *more: object) -> str:
    return reverse(f"environment_{name}", args=[environment.pk, *more])


def test_it_shows_terms_sequence_gates_and_instruction(web: Client) -> None:
    _, child = factories.chain(1)
    html = web.get(url(child)).content.decode()
    for expected in ("6.00", "+1.00", "plain text file", "read records", "invalid test", "Count the words"):
        assert expected in html
    assert f'href="{reverse("environment_detail", args=[child.parent_id])}"' in html


def test_what_differs_from_the_parent_is_marked(web: Client) -> None:
    seed = factories.seed()
    after = factories.draft(seed).after
    child = factories.environment(seed.lineage, generation=1, parent=seed, sequence=after)
    html = web.get(url(child)).content.decode()
    assert "was: plain text file" in html and "replaced" in html


def test_a_seed_has_nothing_to_differ_from(web: Client) -> None:
    html = web.get(url(factories.seed())).content.decode()
    assert "was:" not in html and "Marked:" not in html


def test_provisional_and_weaker_evidence_say_what_that_means(web: Client) -> None:
    seed = factories.seed(provisional=True)
    audit = factories.audit(seed.snapshot, outcomes={}, provisional=True)
    result = factories.gate_result(audit, "late", weaker=True)
    assert "does not build the Dockerfile" in web.get(url(seed)).content.decode()
    html = web.get(reverse("gate_detail", args=[result.pk])).content.decode()
    assert "does not build the Dockerfile" in html and "on the solver's own file system" in html


def test_warnings_of_the_import_stay_visible(web: Client) -> None:
    html = web.get(
        url(factories.seed(warnings="solve.sh: CR LF\ntask.toml: byte order mark"))
    ).content.decode()
    assert "<li>solve.sh: CR LF</li>" in html and "<li>task.toml: byte order mark</li>" in html


def test_a_hostile_instruction_is_text(web: Client) -> None:
    hostile = (
        '<script>alert(1)</script> [x](javascript:alert(1)) <form hx-post="/x" hx-trigger="load"></form>'
    )
    html = web.get(
        url(factories.seed(snapshot=factories.snapshot({"instruction.md": hostile})))
    ).content.decode()
    assert (
        "<script>alert" not in html and 'href="javascript:' not in html and '<form hx-post="/x"' not in html
    )
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert '<div class="prose" hx-disable>' in html


def test_nothing_that_a_task_says_hides_on_its_pages(web: Client) -> None:
    hidden, written_out = "a\U000e0041\u3164b", "a⟨U+E0041⟩⟨U+3164⟩b"
    path = f"environment/{hidden}.txt"
    made = factories.snapshot({"instruction.md": hidden, path: hidden})
    seed = factories.seed(factories.lineage(title=hidden, domain=hidden), snapshot=made, warnings=hidden)
    result = factories.gate_result(factories.audit(made), "late", summary=hidden)
    factories.command(result, stdout=hidden.encode(), command=hidden)
    slug, gate = seed.lineage.slug, reverse("gate_detail", args=[result.pk])
    for address in (url(seed), url(seed, "file", path), f"/lineages/{slug}/", "/lineages/", gate):
        html = web.get(address).content.decode()
        assert "\U000e0041" not in html and "\u3164" not in html, address
        assert written_out in html, address


def test_a_task_without_an_instruction_says_so(web: Client) -> None:
    seed = factories.seed(snapshot=factories.snapshot({"instruction.md": None}))
    assert "no instruction.md" in web.get(url(seed)).content.decode()


def test_verify_again_queues_one_job_however_often_it_is_pressed(web: Client) -> None:
    seed = factories.seed()
    for _ in range(2):
        response = web.post(url(seed, "verify"))
        assert response.status_code == 302 and response["Location"] == url(seed)
    job = Job.objects.get()
    assert (job.job_kind, job.subject, job.status) == ("audit", seed.reference, "queued")
    assert job.started_by.username == "ada"


def test_looking_at_a_page_never_queues_anything(web: Client) -> None:
    seed = factories.seed()
    response = web.get(url(seed, "verify"))
    assert response.status_code == 302 and response["Location"] == url(seed)
    web.get(url(seed))
    assert not Job.objects.exists()


def test_the_gates_are_polled_only_while_a_verification_is_open(web: Client, htmx: Client) -> None:
    seed = factories.seed()
    factories.audit(seed.snapshot)
    assert "data-poll" not in web.get(url(seed)).content.decode()
    web.post(url(seed, "verify"))
    polling = htmx.get(url(seed, "gates")).content.decode()
    assert 'hx-trigger="every 3s, wake"' in polling and "is queued" in polling
    Job.objects.update(status=Job.Status.DONE)
    assert "data-poll" not in htmx.get(url(seed, "gates")).content.decode()


def test_a_poll_that_shows_everything_already_gets_no_content(web: Client, htmx: Client) -> None:
    seed = factories.seed()
    web.post(url(seed, "verify"))
    stamp = seen(htmx.get(url(seed, "gates")))
    assert htmx.get(url(seed, "gates"), {"seen": stamp}).status_code == 204
    factories.audit(seed.snapshot)
    assert htmx.get(url(seed, "gates"), {"seen": stamp}).status_code == 200


def test_a_poll_shows_when_a_worker_takes_the_verification_up(web: Client, htmx: Client) -> None:
    seed = factories.seed()
    web.post(url(seed, "verify"))
    stamp = seen(htmx.get(url(seed, "gates")))
    Job.objects.update(lease_token="x")
    response = htmx.get(url(seed, "gates"), {"seen": stamp})
    assert response.status_code == 200 and "Verification runs" in response.content.decode()


def test_the_results_shown_are_the_newest_settled_ones(web: Client) -> None:
    seed = factories.seed()
    factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    newest = factories.audit(seed.snapshot)
    factories.audit(seed.snapshot, status=Audit.Status.QUEUED)
    assert web.get(url(seed)).context["audit"] == newest


def test_files_show_as_a_tree_with_what_the_child_changed(web: Client) -> None:
    seed = factories.seed(snapshot=factories.snapshot({"environment/text.txt": "seed\n"}))
    changed = {"environment/text.txt": "child\n", "environment/overlay/app/new.txt": "new\n"}
    child = factories.environment(
        seed.lineage, generation=1, parent=seed, snapshot=factories.snapshot(changed)
    )
    response = web.get(url(child, "files"))
    marks = {entry.file.path: entry.change for entry in response.context["entries"] if entry.file}
    assert {path for path, change in marks.items() if change == "changed"} == {"environment/text.txt"}
    assert {path for path, change in marks.items() if change == "new"} == {"environment/overlay/app/new.txt"}
    assert "solution/solve.sh" in response.content.decode()


@pytest.mark.parametrize("name", ['a"; x=é中.txt', "100%.txt", "a b#c?d.txt", "<b>.txt"])
def test_a_file_of_any_name_opens_and_downloads(web: Client, name: str) -> None:
    path = f"environment/{name}"
    seed = factories.seed(snapshot=factories.snapshot({path: "odd\n"}))
    assert web.get(url(seed, "file", path)).status_code == 200
    response = web.get(url(seed, "raw", path))
    assert b"".join(response.streaming_content) == b"odd\n"


def test_a_raw_file_is_an_attachment_that_no_browser_opens(web: Client) -> None:
    path = 'environment/a"; x=é中.html'
    response = web.get(url(factories.seed(snapshot=factories.snapshot({path: "<script>"})), "raw", path))
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    said = response["Content-Disposition"]
    assert (
        said.startswith("attachment; filename*=utf-8''a%22%3B%20x%3D")
        and "\n" not in said
        and "/" not in said
    )


def test_a_binary_file_is_named_not_shown(web: Client) -> None:
    seed = factories.seed(snapshot=factories.snapshot({"environment/a.bin": b"\0\1\2"}))
    html = web.get(url(seed, "file", "environment/a.bin")).content.decode()
    assert "Binary file" in html and '<pre class="code"' not in html


def test_a_link_shows_where_it_points_and_has_no_raw_form(web: Client) -> None:
    seed = factories.seed(snapshot=factories.snapshot({"environment/l": TaskFile(link="text.txt")}))
    assert "→ text.txt" in web.get(url(seed, "file", "environment/l")).content.decode()
    assert web.get(url(seed, "raw", "environment/l")).status_code == 404


@pytest.mark.parametrize("path", ["nope", "../../../etc/passwd", "environment"])
def test_a_path_that_is_not_in_the_snapshot_is_not_found(web: Client, path: str) -> None:
    seed = factories.seed()
    assert web.get(f"/environments/{seed.pk}/files/{path}").status_code == 404
    assert web.get(f"/environments/{seed.pk}/raw/{path}").status_code == 404


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_download_is_one_attachment_named_after_lineage_and_generation(web: Client, form: str) -> None:
    seed = factories.seed(factories.lineage("ocr-table"))
    response = web.get(url(seed, "download", form))
    assert response["Content-Disposition"] == f'attachment; filename="ocr-table-g0.{form}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert len(b"".join(response.streaming_content)) > 200


def test_a_gate_shows_every_command_with_argv_exit_code_and_both_streams(web: Client) -> None:
    result = factories.gate_result(
        factories.audit(factories.seed().snapshot, outcomes={}), "late", outcome="failed"
    )
    factories.command(result, stdout=b"<b>out</b>\xff\0", stderr=b"LAST-LINE-MARKER", exit_code=3, cut=4096)
    html = web.get(reverse("gate_detail", args=[result.pk])).content.decode()
    for expected in (
        "bash /tests/test.sh",
        "exit 3",
        "&lt;b&gt;out&lt;/b&gt;",
        "LAST-LINE-MARKER",
        "were not stored",
    ):
        assert expected in html
    assert "<b>out</b>" not in html and "\x00" not in html


def test_stored_output_downloads_byte_for_byte(web: Client) -> None:
    result = factories.gate_result(factories.audit(factories.seed().snapshot, outcomes={}), "late")
    run = factories.command(result, stdout=b"\xff\xfe\0out", stderr=b"err")
    for stream, data in (("stdout", b"\xff\xfe\0out"), ("stderr", b"err")):
        response = web.get(reverse("command_output", args=[run.pk, stream]))
        assert b"".join(response.streaming_content) == data
        assert response["Content-Disposition"].startswith("attachment")


def test_a_gate_of_a_candidate_leads_back_to_the_candidate(web: Client) -> None:
    candidate = factories.waiting_candidate()
    html = web.get(reverse("gate_detail", args=[candidate.audit.results.first().pk])).content.decode()
    assert reverse("candidate_detail", args=[candidate.pk]) in html
