"""Audits: a leased run of the gates that fills its gaps, keeps its evidence and is bound to its content."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from agents.authors import author
from agents.plan import Binding, Judgement, PlanDraft
from agents.rubrics import ENVIRONMENT_RUBRIC, Rubric
from agents.scripted import ACCEPT, REJECT, Script
from lineages.gates import all_gates, profile
from lineages.gates.base import Finding, Subject, found
from lineages.growth import jobs, loops
from lineages.growth.briefs import _failures
from lineages.growth.models import Evolution
from lineages.growth.subjects import of_environment
from lineages.library import audits, blobs, machine, recording
from lineages.library.calls import CommandRun
from lineages.library.models import Audit, Environment, GateFinding, GateResult, Job, Voiding
from lineages.library.snapshots import store
from lineages.lifecycle import Busy, LeaseLost, cancel, claim
from sandboxes.base import Limits
from sandboxes.files import TaskFile
from sandboxes.task import Task
from tests import factories
from tests.lineages.conftest import begin
from tests.lineages.test_decisions import step_to, vouch, vouch_for_seed
from tests.tasks import words

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]

PAPER = ["build", "invalid_test", "oracle", "rubrics", "static"]


class Judge:
    """A rubric verifier that gives its answers in turn; an error among them is raised."""

    def __init__(self, *answers: Judgement | Exception) -> None:
        self._answers = list(answers)

    def judge(
        self,
        task: Task,
        plan: PlanDraft | None,
        bindings: tuple[Binding, ...],
        rubric: Rubric = ENVIRONMENT_RUBRIC,
    ) -> Judgement:
        answer = self._answers.pop(0) if self._answers else ACCEPT
        if isinstance(answer, Exception):
            raise answer
        return answer


def subject(changes: Mapping[str, str | bytes] | None = None, **fields: Any) -> Subject:
    """`words`, changed, on this machine's sandboxes."""
    files = {path: _file(text, executable=path.endswith(".sh")) for path, text in (changes or {}).items()}
    whole = Subject(
        task=words().replace(files),
        backend=machine.backend(),
        limits=Limits(memory_mb=256),
        labels={},
        judge=Judge(),
        judge_name="scripted",
        rubric="1" * 64,
    )
    return replace(whole, **fields)


def _file(content: str | bytes, *, executable: bool) -> TaskFile:
    return TaskFile(
        content if isinstance(content, bytes) else content.encode(), 0o755 if executable else 0o644
    )


def opened(one: Subject) -> Audit:
    return audits.open_audit(store(one.task), one, profile="paper")


def finished(one: Subject) -> Audit:
    audit = opened(one)
    audits.run(audit, one)
    audit.refresh_from_db()
    return audit


def keys_of(one: Subject) -> dict[str, str]:
    """What the profile of these tests asks of it, by gate."""
    return audits.keys_of("paper", audits.with_profile(one, "paper"))


def gates_of(audit: Audit) -> list[str]:
    return sorted(audit.results.values_list("gate", flat=True))


# one run


def test_an_audit_that_every_gate_accepts_is_accepted_with_its_evidence() -> None:
    one = subject()

    audit = finished(one)

    assert (audit.status, audit.lease_token, audit.provisional) == (Audit.Status.ACCEPTED, "", True)
    assert gates_of(audit) == PAPER
    assert dict(audit.results.values_list("gate", "key")) == keys_of(one)
    assert audit.history().get().to_status == "accepted"
    oracle = audit.results.get(gate="oracle")
    assert (oracle.reward, oracle.weaker, oracle.seconds > 0) == (1.0, False, True)
    call = audit.calls.get()
    assert (call.role, call.author, call.input_digest) == ("rubric_verifier", "scripted", one.task.digest)
    assert Judgement.model_validate_json(blobs.read(call.output_id or "")) == ACCEPT
    assert call.tokens is None and call.cost is None


def test_commands_and_their_output_are_kept_in_order_and_can_be_read() -> None:
    audit = finished(
        subject(
            {
                "solution/parts/first.sh": "#!/bin/bash\necho working\necho careful >&2\n"
                "mkdir -p /app/out\nprintf ready > /app/out/first\n",
                "tests/units/first.sh": '#!/bin/bash\necho checking\n[ "$(cat /app/out/first)" = ready ]\n',
            }
        )
    )

    solution, tests = CommandRun.objects.filter(result__audit=audit, result__gate="oracle")
    assert (solution.position, solution.command, solution.exit_code) == (0, "/solution/solve.sh", 0)
    assert (tests.position, tests.command, tests.exit_code) == (1, "/tests/test.sh", 0)
    assert blobs.read(solution.stdout_id) == b"working\n"
    assert blobs.read(solution.stderr_id) == b"careful\n"
    assert blobs.read(tests.stdout_id) == b"checking\n"
    assert 0 < solution.seconds < 30 and solution.started_at <= tests.started_at
    untouched = CommandRun.objects.get(result__audit=audit, result__gate="invalid_test", position=0)
    assert untouched.command == "/tests/test.sh"


def test_output_that_is_no_text_is_kept_byte_for_byte() -> None:
    raw = bytes(range(256)) + b"\xed\xa0\x80"
    printed = "".join(f"\\x{byte:02x}" for byte in raw)

    audit = finished(
        subject(
            {
                "solution/parts/first.sh": f"#!/bin/bash\nprintf '{printed}'\nexit 1\n",
                "tests/units/first.sh": f"#!/bin/bash\nprintf '{printed}' >&2\nexit 1\n",
            }
        )
    )

    assert audit.status == Audit.Status.REJECTED
    solution, tests = CommandRun.objects.filter(result__audit=audit, result__gate="oracle")
    assert blobs.read(solution.stdout_id) == blobs.read(tests.stderr_id) == raw
    detail = audit.results.get(gate="oracle").detail
    assert "\N{REPLACEMENT CHARACTER}" in detail and "\0" not in detail and "[exit 1" in detail


def test_a_reward_that_is_no_text_is_a_failure_and_no_fault() -> None:
    audit = finished(
        subject({"tests/test.sh": r"#!/bin/bash" "\nprintf '1\\0\\xff' > /logs/verifier/reward.txt\n"})
    )

    assert audit.status == Audit.Status.REJECTED
    assert {audit.results.get(gate=gate).outcome for gate in ("oracle", "invalid_test")} == {"failed"}
    assert "UTF-8" in audit.results.get(gate="oracle").summary


def test_a_flood_of_output_is_cut_and_says_by_how_much() -> None:
    flood = "#!/bin/bash\nhead -c 3000000 /dev/zero\nmkdir -p /app/out\nprintf ready > /app/out/first\n"

    audit = finished(subject({"solution/parts/first.sh": flood}))

    command = CommandRun.objects.filter(result__audit=audit, result__gate="oracle").get(position=0)
    kept = Limits().output_bytes
    assert (len(blobs.read(command.stdout_id)), command.cut) == (kept, 3_000_000 - kept)
    assert audit.status == Audit.Status.ACCEPTED


# a run that was cut short


def test_a_half_done_audit_is_completed_without_repeating() -> None:
    one = subject()
    audit = opened(one)
    done = {
        gate.name: factories.gate_result(audit, gate.name, key=keys_of(one)[gate.name], summary="from before")
        for gate in profile("paper")
        if gate.name in ("static", "build", "oracle")
    }

    audits.run(audit, one)

    assert audit.status == Audit.Status.ACCEPTED
    assert gates_of(audit) == PAPER
    for name, row in done.items():
        assert (row.pk, "from before") == audit.results.values_list("pk", "summary").get(gate=name)
    assert not CommandRun.objects.filter(result__gate="oracle").exists(), "its solution did not run again"


def test_what_failed_before_the_break_still_counts() -> None:
    one = subject()
    audit = opened(one)
    keys = keys_of(one)
    factories.gate_result(audit, "static", key=keys["static"], outcome="failed", summary="no good")

    audits.run(audit, one)

    assert (audit.status, audit.last_reason) == (Audit.Status.REJECTED, "no good")
    assert set(audit.results.exclude(gate="static").values_list("outcome", flat=True)) == {"not_run"}


def test_an_audit_that_is_opened_again_is_the_half_done_one() -> None:
    one = subject()
    half_done = opened(one)
    keys = keys_of(one)
    factories.gate_result(half_done, "static", key=keys["static"])

    assert opened(one) == half_done
    assert Audit.objects.count() == 1


@pytest.mark.parametrize(
    "now",
    [
        {"judge_name": "somebody else"},
        {"rubric": "2" * 64},
        {"judge_version": "another code"},
    ],
    ids=lambda now: next(iter(now)),
)
def test_what_was_begun_under_other_conditions_is_not_gone_on_with(now: dict[str, Any]) -> None:
    one = subject()
    half_done = opened(one)
    keys = keys_of(one)
    for gate in ("static", "rubrics"):
        factories.gate_result(half_done, gate, key=keys[gate])

    assert opened(replace(one, **now)) != half_done


def test_what_an_older_version_of_a_gate_said_is_not_gone_on_with() -> None:
    one = subject()
    half_done = opened(one)
    oracle = next(gate for gate in profile("paper") if gate.name == "oracle")
    factories.gate_result(half_done, "oracle", gate_version=0, key=replace(oracle, version=0).key(one))

    assert opened(one) != half_done


def test_another_judges_half_done_audit_is_not_gone_on_with(seed: Environment, script: Script) -> None:
    script.judge = lambda *judged: REJECT
    task = words()
    other = subject(task=task, judge_name="somebody else")
    vouch(seed.snapshot, other)
    Audit.objects.update(status=Audit.Status.QUEUED)
    evolution = begin(seed, directions=("length",))

    loops.advance(evolution.pk)

    assert Evolution.objects.get().status == "cancelled"
    assert "the parent did not pass its audit" in Evolution.objects.get().last_reason


# who runs it


def test_an_audit_that_another_worker_runs_is_not_run_twice() -> None:
    one = subject()
    audit = opened(one)
    lease = claim(Audit.objects.get(pk=audit.pk))
    assert lease is not None

    with pytest.raises(Busy, match="another worker runs it"):
        audits.run(audit, one)

    assert not GateResult.objects.exists()
    assert Audit.objects.get().lease_token == lease.token, "the holder keeps it"


def test_an_audit_that_is_settled_is_not_run_again() -> None:
    one = subject()
    audit = vouch(store(one.task), one)

    with pytest.raises(Busy, match="it is accepted"):
        audits.run(audit, one)

    assert GateResult.objects.count() == len(PAPER)


def test_an_audit_of_a_worker_that_went_silent_is_taken_over() -> None:
    one = subject()
    audit = opened(one)
    assert claim(Audit.objects.get(pk=audit.pk)) is not None
    Audit.objects.update(lease_until="2001-01-01T00:00:00Z")

    audits.run(audit, one)

    assert audit.status == Audit.Status.ACCEPTED


def test_losing_a_lease_ends_what_runs_and_stores_nothing_more(settings: Any) -> None:
    settings.SLOTS = 2

    audit, seconds = cut_off(settings, when_running=2)

    assert seconds < TESTS_SECONDS - 1, "the tests were to go on for longer"
    assert (audit.status, audit.lease_token) == (Audit.Status.QUEUED, "")
    assert not set(gates_of(audit)) & {"oracle", "invalid_test"}
    assert not sandboxes_of(audit)


def test_losing_a_lease_starts_nothing_that_still_waited_for_a_slot(settings: Any) -> None:
    settings.SLOTS = 1

    audit, seconds = cut_off(settings, when_running=1)

    assert seconds < TESTS_SECONDS - 1


TESTS_SECONDS = 5
SLEEPER = b"sleep\x00616.25\x00"


def cut_off(settings: Any, *, when_running: int) -> tuple[Audit, float]:
    """An audit whose worker loses a lease once so many tests run; how long it then took to give up."""
    settings.LEASE_BEAT_SECONDS = 0.1
    config = words().text("task.toml").replace("timeout_sec = 30.0", f"timeout_sec = {TESTS_SECONDS}.0", 1)
    one = subject({"tests/units/first.sh": "#!/bin/bash\nexec sleep 616.25\n", "task.toml": config})
    audit, lost_at = opened(one), []
    job = Job.objects.create(job_kind="audit", subject="x", status=Job.Status.QUEUED)
    held = claim(job)
    assert held is not None

    def take_away() -> None:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and sleepers() < when_running:
                time.sleep(0.05)
            cancel(Job.objects.get(pk=job.pk), Job.Status.CANCELLED, reason="enough")
            lost_at.append(time.monotonic())
        finally:
            connection.close()

    person = threading.Thread(target=take_away)
    person.start()
    with pytest.raises(LeaseLost):
        audits.run(audit, one, held)
    seconds = time.monotonic()
    person.join()
    audit.refresh_from_db()
    return audit, seconds - lost_at[0]


def sleepers() -> int:
    """How many sandboxes sit in the test above."""
    return sum(cmdline(process) == SLEEPER for process in Path("/proc").glob("[0-9]*"))


def cmdline(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


# what is current


def current(one: Subject) -> Audit | None:
    return audits.current(store(one.task), one, profile_name="standard")


def test_an_accepted_audit_is_current_until_something_changes() -> None:
    one = subject()
    audit = vouch(store(one.task), one, asks="standard")

    assert current(one) == audit
    assert current(subject({"environment/data.txt": "more"})) is None
    assert current(replace(one, judge_name="somebody else")) is None
    assert current(replace(one, rubric="2" * 64)) is None
    assert current(replace(one, parent=words().replace({"README.md": _file("x", executable=False)}))) is None


def test_evidence_of_an_older_version_of_a_gate_is_not_current() -> None:
    one = subject()
    audit = vouch(store(one.task), one, asks="standard")
    oracle = next(gate for gate in profile("standard") if gate.name == "oracle")

    audit.results.filter(gate="oracle").update(key=replace(oracle, version=oracle.version - 1).key(one))

    assert current(one) is None


@pytest.mark.parametrize("status", ["queued", "rejected", "error"])
def test_only_an_accepted_audit_is_current(status: str) -> None:
    one = subject()
    vouch(store(one.task), one, asks="standard")
    Audit.objects.update(status=status)

    assert current(one) is None


def test_an_audit_of_another_profile_is_not_current() -> None:
    one = subject()
    vouch(store(one.task), one, asks="standard")
    Audit.objects.update(profile="fast")

    assert current(one) is None


def test_a_missing_gate_makes_an_audit_not_current() -> None:
    one = subject()
    audit = vouch(store(one.task), one, asks="standard")
    audit.results.filter(gate="rubrics").delete()

    assert current(one) is None


def test_the_newest_current_audit_is_given_and_the_latest_whatever_came_of_it() -> None:
    one = subject()
    vouch(store(one.task), one, asks="standard")
    good = vouch(store(one.task), one, asks="standard")
    bad = vouch(store(one.task), one, outcome="failed", asks="standard")

    assert current(one) == good
    assert audits.latest(store(one.task)) == bad


# which evidence counts


def test_a_candidates_half_done_audit_serves_nobody_else() -> None:
    """Another candidate of the same content may have been built by another plan, which gates judge too."""
    one = subject()
    candidate = factories.waiting_candidate()
    audit = opened(one)
    assert opened(one) == audit

    type(candidate).objects.filter(pk=candidate.pk).update(audit=audit)

    assert opened(one) != audit


def test_the_repairer_hears_every_finding_with_what_to_write_instead() -> None:
    """The warnings too, named as such; what a person voided is none of its business."""
    candidate = factories.waiting_candidate()
    outcomes = {"static": "failed", "oracle": "failed", "rubrics": "failed"}
    audit = factories.audit(candidate.snapshot, outcomes=outcomes)
    type(candidate).objects.filter(pk=candidate.pk).update(audit=audit)
    static, rubrics = audit.results.get(gate="static"), audit.results.get(gate="rubrics")
    for n, fields in enumerate(
        [{"path": "tests/test.sh", "line": 3, "repair": "RUN apt-get install -y jq=1.6"}, {"warning": True}]
    ):
        GateFinding.objects.create(result=static, position=n, text=f"finding {n}", **fields)
    Voiding.objects.create(gate="rubrics", key=rubrics.key, result=rubrics, reason="so", by=factories.user())

    told = {each.gate: each for each in _failures(type(candidate).objects.get(pk=candidate.pk))}

    assert told.keys() == {"static", "oracle"}
    assert told["static"].summary == "The static gate said so."
    assert told["static"].detail.splitlines() == [
        "tests/test.sh:3 finding 0",
        "Write instead: RUN apt-get install -y jq=1.6",
        "warning: finding 1",
    ]


@pytest.mark.parametrize(
    ("profile_name", "repeats", "counts"),
    [("standard", 0, True), ("standard", 3, True), ("standard", 2, False), ("strict", 0, True)]
    + [("strict", 3, False), ("strict", 9, True), ("fast", 0, False), ("paper", 5, False)],
)
def test_less_than_a_lineage_needs_does_not_take_the_place_of_the_evidence_that_is_shown(
    profile_name: str, repeats: int, counts: bool
) -> None:
    seed = factories.seed()
    whole = factories.audit(seed.snapshot, outcomes={"oracle": "failed"})
    later = factories.audit(seed.snapshot, profile=profile_name, repeats=repeats)

    assert audits.latest(seed) == (later if counts else whole)


@pytest.mark.parametrize("status", ["queued", "error", "abandoned"])
def test_what_came_to_no_verdict_does_not_take_its_place_either(status: str) -> None:
    seed = factories.seed()
    whole = factories.audit(seed.snapshot)
    factories.audit(seed.snapshot, status=status)

    assert audits.latest(seed) == whole


def test_what_judged_the_content_alone_or_beside_another_parent_is_no_evidence_for_a_child() -> None:
    """Beside no parent the gates that compare with one have nothing to say."""
    seed = factories.seed()
    child = factories.environment(seed.lineage, generation=1, parent=seed)
    factories.audit(child.snapshot)
    factories.audit(child.snapshot, parent=factories.snapshot())
    assert audits.latest(child) is None

    own = factories.audit(child.snapshot, parent=seed.snapshot, profile="fast")
    factories.audit(child.snapshot)
    assert audits.latest(child) == own


def test_a_quick_look_in_docker_makes_nothing_firm_that_was_only_asked_in_bubblewrap() -> None:
    snapshot = factories.snapshot()
    assert audits.provisional(snapshot, None)
    factories.audit(snapshot, provisional=True)
    for quick in ({"profile": "fast"}, {"repeats": 1}, {"outcomes": {"oracle": "failed"}}):
        factories.audit(snapshot, backend="docker", **quick)  # type: ignore[arg-type]
        assert audits.provisional(snapshot, None), quick

    factories.audit(snapshot, backend="docker", profile="strict")
    assert not audits.provisional(snapshot, None)
    assert audits.provisional(snapshot, factories.snapshot()), "beside another parent it was never asked"


def test_a_lineage_that_asks_no_more_is_firm_by_what_it_asks() -> None:
    snapshot = factories.snapshot()
    factories.audit(snapshot, backend="docker", profile="fast")

    assert not audits.provisional(snapshot, None)


# findings


def with_findings(monkeypatch: pytest.MonkeyPatch, findings: Sequence[Finding]) -> Audit:
    """What an audit keeps of a `static` that says this and fails."""
    said = replace(all_gates()["static"], check=lambda one: found(findings, "all is well"))
    monkeypatch.setitem(all_gates(), "static", said)
    return finished(subject())


def test_more_findings_than_are_kept_are_counted_in_place_of_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "MOST_FINDINGS", 3)
    many = [Finding("only a warning", warning=True), *(Finding(f"no {n}") for n in range(4))]

    kept = with_findings(monkeypatch, many).results.get(gate="static").findings.all()

    assert [each.text for each in kept] == [
        "no 0",
        "no 1",
        "and 3 more of the same gate, which are not kept",
    ]


def test_exactly_as_many_findings_as_are_kept_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_FINDINGS", 3)

    audit = with_findings(monkeypatch, [Finding(f"no {n}") for n in range(3)])

    texts = audit.results.get(gate="static").findings.values_list("text", flat=True)
    assert list(texts) == ["no 0", "no 1", "no 2"]


def test_a_path_that_no_task_may_have_breaks_no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/usr/" + "x/" * 600 + "a\0b\udcff"

    audit = with_findings(monkeypatch, [Finding("is a copy", path=path, line=3)])

    assert audit.status == Audit.Status.REJECTED
    kept = audit.results.get(gate="static").findings.get()
    assert kept.path == "" and kept.text.startswith("/usr/x/x/") and kept.text.endswith(": is a copy")


# voided


@pytest.mark.parametrize(("voided", "over"), [((), False), (("static",), True), (("build",), False)])
def test_a_gate_is_passed_over_once_all_that_it_waits_for_is_voided(
    voided: tuple[str, ...], over: bool
) -> None:
    audit = factories.audit(factories.snapshot(), outcomes={"static": "failed", "oracle": "not_run"})
    for gate in voided:
        row = audit.results.get(gate=gate)
        Voiding.objects.create(gate=gate, key=row.key, result=row, reason="so", by=factories.user())

    assert audits.passed_over(audit) is over


# of an environment, again


@pytest.fixture
def child(seed: Environment, script: Script) -> Environment:
    """A grown environment whose gates were vouched for."""
    vouch_for_seed(seed)
    evolution = step_to(begin(seed, directions=("length",)), "accepted")
    assert evolution.child is not None
    return evolution.child


def test_a_person_may_have_the_gates_run_again_and_the_child_is_judged_with_its_plan(
    child: Environment,
) -> None:
    ada = factories.user("ada")
    job = jobs.request_audit(child, ada)
    assert jobs.request_audit(child, factories.user("bob")) == job, "one request is enough"

    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.done, job.note, job.started_by) == (Job.Status.DONE, 1, "", ada)
    audit = audits.latest(child)
    assert audit is not None and audit.judge == "offline"
    assert audit.parent == child.parent.snapshot  # type: ignore[union-attr]
    assert gates_of(audit) == sorted(gate.name for gate in profile("standard"))
    conformance = audit.results.get(gate="conformance")
    assert (conformance.outcome, conformance.commands.count() > 0) == ("passed", True)


def left_by_a_dead_worker(child: Environment, *, version: int) -> tuple[Job, Audit]:
    """A job whose audit already holds what that version of `static` said."""
    job = jobs.request_audit(child, factories.user("ada"), profile="fast")
    one = of_environment(child, author("offline"))
    job.audit = audits.open_audit(child.snapshot, one, profile="fast", parent=child.parent.snapshot)  # type: ignore[union-attr]
    job.save(update_fields=["audit"])
    static = replace(all_gates()["static"], version=version)
    key = static.key(one)
    factories.gate_result(job.audit, "static", key=key, outcome="failed", summary="from before")
    return job, job.audit


def test_a_job_goes_on_with_the_audit_that_its_dead_worker_began(child: Environment) -> None:
    job, half_done = left_by_a_dead_worker(child, version=all_gates()["static"].version)
    count = Audit.objects.count()

    jobs.run(job.pk)

    half_done.refresh_from_db()
    assert (half_done.status, half_done.last_reason) == (Audit.Status.REJECTED, "from before")
    assert Audit.objects.count() == count


def test_a_job_does_not_go_on_with_what_an_older_gate_said(child: Environment) -> None:
    job, half_done = left_by_a_dead_worker(child, version=0)

    jobs.run(job.pk)

    half_done.refresh_from_db()
    assert half_done.status != Audit.Status.REJECTED


def test_an_audit_of_something_that_is_gone_is_noted_and_given_up(settings: Any) -> None:
    settings.FAULT_RETRIES, settings.FAULT_BACKOFF_SECONDS = 1, 0
    job = Job.objects.create(job_kind="audit", subject="gone/g0", status=Job.Status.QUEUED)

    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.tries, job.lease_token) == (Job.Status.QUEUED, 1, "")
    jobs.run(job.pk)

    job.refresh_from_db()
    assert job.status == Job.Status.FAILED
    assert "there is no environment 'gone/g0'" in job.note
    assert not Audit.objects.exists()


def test_no_sandbox_gets_more_than_the_settings_say(settings: Any) -> None:
    settings.SANDBOX_MEMORY_MB, settings.SANDBOX_CPUS = 64, 0.5

    subject = audits.subject_of(store(words()), author("offline"), ENVIRONMENT_RUBRIC)

    assert (subject.limits.memory_mb, subject.limits.cpus) == (64, 0.5)


def sandboxes_of(audit: Audit) -> list[Mapping[str, str]]:
    """Labels of the sandboxes that run for this audit."""
    seen: list[Mapping[str, str]] = []

    def live(labels: Mapping[str, str]) -> bool:
        seen.append(labels)
        return True

    machine.backend().sweep(live)
    return [labels for labels in seen if labels.get("audit") == str(audit.pk)]
