"""Import: send one archive, watch its tasks come in, see what became of each."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from lineages.growth import jobs, uploads
from lineages.growth.jobs import importing
from lineages.library.models import Environment, ImportedTask, Job
from lineages.pages import for_role, nothing_new, page, page_number, person, posted, stamp, unchanged
from lineages.roles import Role

ROWS = 200
NEWEST = 10


@require_http_methods(["GET", "HEAD", "POST"])
@for_role(Role.OPERATOR)
def import_start(request: HttpRequest) -> HttpResponse:
    """The form; an archive that came with it is queued, and its page shows how that goes."""
    refused = ""
    if request.method == "POST":
        try:
            stored, name = uploads.taken(request)
        except uploads.UploadRefused as reason:
            refused = str(reason)
        else:
            job = _queue(stored, name, request)
            return redirect("import_detail", pk=job.pk)
    context = {
        "refused": refused,
        "field": uploads.FIELD,
        "most": uploads.most(),
        "newest": _counted(Job.objects.filter(job_kind=importing.KIND).order_by("-pk")[:NEWEST]),
    }
    return render(request, "lineages/import_start.html", context, status=422 if refused else 200)


def _queue(stored: str, name: str, request: HttpRequest) -> Job:
    job = Job.objects.create(
        job_kind=importing.KIND,
        subject=name,
        upload=stored,
        status=Job.Status.QUEUED,
        started_by=person(request),
    )
    jobs.nudge(job)
    return job


@require_safe
def import_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Progress, then a row for each task; asked again by its own fragment until the import ends."""
    job = _job(pk)
    counts = _counts(job)
    current = stamp(job.version, job.done, job.total, job.note, job.retry_at, counts)
    if nothing_new(request, current):
        return unchanged()
    outcome = request.GET.get("outcome", "")
    outcome = outcome if outcome in ImportedTask.Outcome.values else ""
    number = page_number(request)
    rows = list(_rows(job, outcome)[(number - 1) * ROWS : number * ROWS + 1])
    context = {
        "job": job,
        "counts": counts,
        "rows": rows[:ROWS],
        "outcome": outcome,
        "number": number,
        "previous": number - 1,
        "next": number + 1 if len(rows) > ROWS else 0,
        "stamp": current,
        "polls": job.status == Job.Status.QUEUED,
        "failure": job.last_reason if job.status == Job.Status.FAILED else "",
    }
    return page(request, "lineages/import_detail.html", context, "detail")


@posted("import_detail", Role.OPERATOR)
def import_verify(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the gates look at every seed that this import made."""
    job = _job(pk)
    made = job.tasks.filter(outcome=ImportedTask.Outcome.IMPORTED, environment__isnull=False)
    seeds = Environment.objects.filter(pk__in=made.values("environment")).select_related("lineage")
    queued = jobs.request_audits(seeds, person(request))
    messages.success(request, f"Queued: the verification of {queued} seed{'s' * (queued != 1)}.")
    return redirect("import_detail", pk=pk)


def _job(pk: int) -> Job:
    return get_object_or_404(Job.objects.select_related("started_by"), pk=pk, job_kind=importing.KIND)


def _rows(job: Job, outcome: str) -> Any:
    rows = job.tasks.select_related("environment__lineage")
    return rows.filter(outcome=outcome) if outcome else rows


def _counts(job: Job) -> list[tuple[str, str, int]]:
    """Each outcome with its words and how many tasks ended so."""
    found = dict(job.tasks.order_by().values_list("outcome").annotate(Count("pk")))
    return [(str(code), str(label), found.get(code, 0)) for code, label in ImportedTask.Outcome.choices]


def _counted(found: Any) -> list[tuple[Job, list[tuple[str, str, int]]]]:
    return [(job, _counts(job)) for job in found]
