"""The gates on pages: what is open, what each of them found and where, what may be asked of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from agents.authors import author
from lineages.gates import PROFILES, all_gates, profile
from lineages.growth import currency, jobs
from lineages.growth.subjects import of_environment
from lineages.library import audits, machine, shelf
from lineages.library.models import Audit, Environment, GateFinding, GateResult, Job, Solve, Voiding
from sandboxes.errors import MachineFault
from tests import factories

pytestmark = pytest.mark.django_db


def audited(environment: Environment, **fields: Any) -> Audit:
    """All gates of the standard profile passed, by the keys of today."""
    subject = of_environment(environment, author("offline"))
    audit = factories.audit(environment.snapshot, outcomes={}, rubric=subject.rubric, **fields)
    audit.results.all().delete()
    keys = audits.keys_of(audit.profile, audits.asked(audit, subject))
    for gate in profile(audit.profile):
        factories.gate_result(audit, gate.name, key=keys[gate.name], gate_version=gate.version)
    return audit


def finding(of: GateResult, **fields: Any) -> GateFinding:
    return GateFinding.objects.create(result=of, position=of.findings.count(), **fields)


def detail(environment: Environment) -> str:
    return reverse("environment_detail", args=[environment.pk])


def open_now(environment: Environment) -> str:
    return reverse("environment_requirements", args=[environment.pk])


def test_with_nothing_open_an_environment_says_so_in_a_sentence(web: Client) -> None:
    seed = factories.seed()
    audited(seed)
    html = web.get(open_now(seed)).content.decode()
    assert "Nothing is open." in html and "All of it is of today." in html


def test_the_page_of_an_environment_asks_for_what_is_of_today_only_once_it_is_shown(web: Client) -> None:
    seed = factories.seed()
    audit = audited(seed)
    html = web.get(detail(seed)).content.decode()
    assert f'hx-get="{open_now(seed)}?audit={audit.pk}" hx-trigger="load"' in html
    assert "All of it is of today." not in html
    assert "hx-get" not in web.get(open_now(seed), headers={"HX-Request": "true"}).content.decode()


def test_evidence_of_another_version_of_its_gate_is_named_and_stays_accepted(web: Client) -> None:
    seed = factories.seed()
    audited(seed).results.filter(gate="static").update(gate_version=0, key="0" * 64)
    html = web.get(open_now(seed)).content.decode()
    assert "1 requirement is open" in html and "It stays accepted" in html
    assert f"answered in version 0, today it is {all_gates()['static'].version}" in html


def test_an_engine_that_does_not_answer_breaks_no_page(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(process: int) -> None:
        raise MachineFault("no engine answers here")

    seed = factories.seed()
    audited(seed)
    monkeypatch.setattr(machine, "_opened", silent)
    assert web.get(detail(seed)).status_code == 200
    response = web.get(open_now(seed))
    assert response.status_code == 200
    assert "could not be checked: no engine answers here" in response.content.decode()


def test_an_engine_that_hangs_is_waited_for_no_longer_than_said(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = factories.seed()
    audited(seed)
    monkeypatch.setattr(currency, "PATIENCE_SECONDS", 0.0)
    html = web.get(open_now(seed)).content.decode()
    assert "the sandbox backend did not answer within 0 seconds" in html


def test_an_audit_whose_judge_is_gone_says_that_it_cannot_be_checked(web: Client) -> None:
    seed = factories.seed()
    factories.audit(seed.snapshot, judge="long-gone")
    assert "no author called" in web.get(open_now(seed)).content.decode()


def test_every_gate_of_the_profile_has_its_row_whether_it_answered_or_not(web: Client) -> None:
    seed = factories.seed()
    factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    rows = web.get(detail(seed)).context["gate_rows"]
    assert [row.name for row in rows][: len(profile("standard"))] == [
        gate.name for gate in profile("standard")
    ]
    unanswered = {row.name for row in rows if row.result is None}
    assert unanswered == {gate.name for gate in profile("standard")} - set(factories.GATES)


def test_runs_warnings_and_grading_again_stand_in_the_table(web: Client) -> None:
    seed = factories.seed()
    audit = factories.audit(seed.snapshot, outcomes={})
    audit.results.filter(gate="oracle").update(runs=3, runs_passed=2, graded_again=True, weaker=True)
    finding(audit.results.get(gate="static"), text="no version is pinned", warning=True)
    html = web.get(detail(seed)).content.decode()
    for expected in ("2 of 3", "graded again", "weaker", "1 warning"):
        assert expected in html


def test_a_finding_leads_to_its_line_where_the_environment_has_that_file(web: Client) -> None:
    seed = factories.seed()
    result = factories.audit(seed.snapshot, outcomes={"static": "failed"}).results.get(gate="static")
    finding(result, text="names a test", path="instruction.md", line=3, repair="Write the words.")
    finding(result, text="an answer", path="/usr/share/answer", line=1)
    link = reverse("environment_file", args=[seed.pk, "instruction.md"]) + "#L3"
    for address in (detail(seed), reverse("gate_detail", args=[result.pk])):
        html = web.get(address).content.decode()
        assert f'href="{link}"' in html and "instruction.md:3" in html
        assert "/usr/share/answer:1" in html and "#L1" not in html
    assert 'id="L3"' in web.get(link).content.decode()
    assert "Write the words." in web.get(reverse("gate_detail", args=[result.pk])).content.decode()


def test_what_a_task_made_a_gate_quote_is_data(web: Client) -> None:
    hostile = "<script>alert(1)</script>\u202e\u3164" + "x" * 5000
    seed = factories.seed()
    result = factories.audit(seed.snapshot, outcomes={"static": "failed"}).results.get(gate="static")
    finding(result, text=hostile, path=hostile[:900], line=1, repair=hostile)
    for address in (detail(seed), open_now(seed), reverse("gate_detail", args=[result.pk])):
        html = web.get(address).content.decode()
        assert "<script>alert" not in html and "\u202e" not in html and "\u3164" not in html, address


def test_many_findings_are_counted_and_lead_to_the_gates_own_page(web: Client) -> None:
    seed = factories.seed()
    result = factories.audit(seed.snapshot, outcomes={"static": "failed"}).results.get(gate="static")
    GateFinding.objects.bulk_create(
        GateFinding(result=result, position=n, text=f"finding {n}") for n in range(450)
    )
    assert "446 more" in web.get(detail(seed)).content.decode()
    html = web.get(reverse("gate_detail", args=[result.pk])).content.decode()
    assert "finding 399" in html and "finding 400" not in html and "The first 400 of 450" in html


@pytest.mark.parametrize("many", [1, 30])
def test_the_page_takes_as_many_queries_however_much_was_found(
    web: Client, django_assert_max_num_queries: Any, many: int
) -> None:
    seed = factories.seed()
    for _ in range(2):
        audit = factories.audit(seed.snapshot, outcomes={"static": "failed"})
    for result in audit.results.all():
        for n in range(many):
            finding(result, text="x", path=f"environment/{n}", line=n)
    for address, most in ((detail(seed), 27), (open_now(seed), 20)):
        with django_assert_max_num_queries(most):
            web.get(address)


def test_an_environment_with_a_shared_verifier_says_that_the_result_can_be_forged(web: Client) -> None:
    separate = factories.CONFIG + '[verifier]\nenvironment_mode = "separate"\n'
    shared, own = factories.seed(), factories.seed(snapshot=factories.snapshot({"task.toml": separate}))
    words = "Shared verifier, the result can be forged."
    assert words in web.get(detail(shared)).content.decode()
    assert words not in web.get(detail(own)).content.decode()


def test_a_verification_asks_the_profile_and_the_repeats_that_were_chosen(web: Client) -> None:
    seed = factories.seed()
    web.post(reverse("environment_verify", args=[seed.pk]), {"profile": "strict", "repeats": "7"})
    job = Job.objects.get()
    assert (job.profile, job.repeats, job.regrade) == ("strict", 7, False)


def test_a_second_request_with_other_choices_hears_that_one_waits(web: Client) -> None:
    address = reverse("environment_verify", args=[factories.seed().pk])
    web.post(address, {"profile": "strict"})
    html = web.post(address, {"profile": "fast"}, follow=True).content.decode()
    assert "Nothing was queued: a verification with other choices waits already." in html
    assert Job.objects.get().profile == "strict"


@pytest.mark.parametrize("sent", [{"profile": "nope"}, {"repeats": "0"}, {"repeats": "999"}])
def test_a_choice_that_there_is_not_queues_nothing(web: Client, sent: dict[str, str]) -> None:
    seed = factories.seed()
    html = web.post(reverse("environment_verify", args=[seed.pk]), sent, follow=True).content.decode()
    assert "Nothing was queued:" in html and not Job.objects.exists()


def test_grading_again_is_offered_where_solvers_left_something(web: Client) -> None:
    seed = factories.seed()
    result = factories.audit(seed.snapshot).results.get(gate="oracle")
    assert "Grade again" not in web.get(detail(seed)).content.decode()
    Solve.objects.create(key="1" * 64, result=result)
    assert "Grade again" in web.get(detail(seed)).content.decode()
    web.post(reverse("environment_verify", args=[seed.pk]), {"profile": "standard", "regrade": "on"})
    assert Job.objects.get().regrade


def test_earlier_verifications_stay_within_reach(web: Client) -> None:
    seed = factories.seed()
    first = factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    factories.audit(seed.snapshot)
    quick = factories.audit(seed.snapshot, profile="fast")
    html = web.get(detail(seed)).content.decode()
    gates = reverse("environment_gates", args=[seed.pk])
    assert f'href="{gates}?audit={first.pk}"' in html
    assert "The newest verification asked the <strong>fast</strong> profile" in html
    assert web.get(gates, {"audit": quick.pk}).context["audit"] == quick
    other = factories.audit(factories.snapshot())
    for wrong in (str(other.pk), "x", "9" * 30):
        assert web.get(gates, {"audit": wrong}).status_code == 404


def test_a_candidate_shows_what_is_open_of_it(web: Client) -> None:
    candidate = factories.waiting_candidate()
    parent = candidate.attempt.evolution.parent.snapshot
    audit = factories.audit(candidate.snapshot, outcomes={"oracle": "failed"}, parent=parent)
    type(candidate).objects.filter(pk=candidate.pk).update(audit=audit)
    html = web.get(reverse("candidate_detail", args=[candidate.pk])).content.decode()
    assert "open</strong> of the standard profile" in html and "No person may void it" in html


def test_the_list_of_gates_says_of_each_what_failing_means_and_who_may_void_it(web: Client) -> None:
    html = web.get(reverse("gate_list")).content.decode()
    for gate in all_gates().values():
        assert f'<tr id="{gate.name}">' in html
    assert "its own reference solution does not" in html and "<strong>never</strong>" in html
    for each in PROFILES.values():
        assert f"{len(profile(each.name))} gates" in html


def test_an_evolution_and_a_campaign_choose_their_profile(web: Client) -> None:
    seed = factories.seed()
    for address in (reverse("evolution_start", args=[seed.pk]), reverse("campaign_start")):
        html = web.get(address).content.decode()
        for each in PROFILES.values():
            assert f'value="{each.name}"' in html and escape(each.title) in html
    sent = {"generations": 1, "effort": "high", "directions": ["skill"], "approval": "auto"}
    web.post(reverse("evolution_start", args=[seed.pk]), {**sent, "profile": "strict"})
    evolution = seed.evolutions.get()
    assert evolution.recipe.profile == "strict"
    assert "strict gates" in web.get(reverse("evolution_detail", args=[evolution.pk])).content.decode()


def test_a_worker_asks_what_was_chosen(web: Client) -> None:
    seed = factories.seed()
    web.post(
        reverse("environment_verify", args=[seed.pk]),
        {"profile": "fast", "repeats": "1", "regrade": "on"},
    )
    jobs.run(Job.objects.get().pk)
    audit = Audit.objects.get()
    assert (audit.profile, audit.repeats, audit.regrade) == ("fast", 1, True)
    assert {row.gate for row in audit.results.all()} == {gate.name for gate in profile("fast")}


def test_a_voiding_of_a_gate_that_nobody_may_void_hides_no_failure(web: Client) -> None:
    """It may be older than the rule; the next audit does not heed it either."""
    seed = factories.seed()
    audit = factories.audit(seed.snapshot, outcomes={"oracle": "failed", "static": "failed"})
    for result in audit.results.filter(outcome="failed"):
        Voiding.objects.create(
            gate=result.gate, key=result.key, result=result, reason="was fine", by=factories.user()
        )
    stands, voided = (audit.results.get(gate=gate) for gate in ("oracle", "static"))
    assert "No person may void it" in web.get(open_now(seed)).content.decode()
    for result, shown in ((stands, False), (voided, True)):
        html = web.get(reverse("gate_detail", args=[result.pk])).content.decode()
        assert ("voided by" in html) is shown


def test_a_quick_look_that_is_all_there_is_says_what_it_leaves_out(web: Client) -> None:
    seed = factories.seed()
    audited(seed, profile="fast")
    html = " ".join(web.get(open_now(seed)).content.decode().split())
    left = len(profile("standard")) - len(set(profile("standard")) & set(profile("fast")))
    assert f"It leaves out {left} gates that a lineage needs by the standard profile." in html
    audited(seed)
    assert "It leaves out" not in web.get(open_now(seed)).content.decode()


@pytest.mark.parametrize("asks", [{"profile": "paranoid"}, {"status": "queued"}, {"status": "error"}])
def test_an_audit_of_whatever_kind_breaks_no_page(web: Client, asks: dict[str, str]) -> None:
    seed = factories.seed()
    audit = factories.audit(seed.snapshot, outcomes={"long-gone": "failed", "oracle": "error"}, **asks)
    gone = audit.results.get(gate="long-gone")
    for address in (detail(seed), open_now(seed), reverse("gate_detail", args=[gone.pk])):
        response = web.get(address)
        assert response.status_code == 200, address
        assert "Nothing is open" not in response.content.decode()
    assert "No gate of this name is installed any more" in response.content.decode()


def test_a_result_leads_to_the_environment_that_it_judged(web: Client) -> None:
    """Another lineage may hold the same content beside another parent."""
    other = factories.seed()
    own = factories.environment(
        factories.seed().lineage, generation=1, parent=factories.seed(), snapshot=other.snapshot
    )
    assert own.parent is not None
    result = factories.audit(other.snapshot, parent=own.parent.snapshot).results.first()
    assert result is not None
    assert web.get(reverse("gate_detail", args=[result.pk])).context["environment"] == own


def test_a_gate_that_runs_commands_is_not_said_to_read_files_where_it_kept_none(web: Client) -> None:
    audit = factories.audit(factories.seed().snapshot, outcomes={"oracle": "not_run"})
    for gate, reads in (("static", True), ("oracle", False)):
        result = audit.results.get(gate=gate)
        html = web.get(reverse("gate_detail", args=[result.pk])).content.decode()
        assert ("it reads the files" in html) is reads


def test_the_line_of_a_lineage_shows_the_same_evidence_as_the_page_of_the_environment(web: Client) -> None:
    seed = factories.seed()
    whole = factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    factories.audit(seed.snapshot, profile="fast")
    factories.audit(seed.snapshot, outcomes={"oracle": "error"}, status="error")
    factories.audit(seed.snapshot, parent=factories.snapshot())
    assert web.get(detail(seed)).context["audit"] == whole
    (shown,) = shelf.newest_results([seed.snapshot_id]).values()
    assert {row.audit for row in shown} == {whole}
