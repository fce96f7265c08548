"""Pages of accepted environments and of the evidence behind them."""

from __future__ import annotations

import io
import json
import posixpath
import re
from dataclasses import dataclass
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from lineages.gates import PROFILES, all_gates, profile
from lineages.library import alignment, answers, blobs, bundles, rendering, replies, shelf, transcript
from lineages.library.calls import AgentCall, CommandRun
from lineages.library.gate_context import gates, shown_audit
from lineages.library.models import Audit, Environment, GateResult, Snapshot, SnapshotFile
from lineages.pages import nothing_new, page, unchanged
from sandboxes.config import parse_config
from sandboxes.errors import TaskRefused
from sandboxes.task import CONFIG


@dataclass(frozen=True, slots=True)
class Command:
    """A command that ran, with its output ready to read."""

    run: CommandRun
    argv: str
    streams: tuple[tuple[str, rendering.Shown], ...]


def environment_context(environment: Environment) -> dict[str, Any]:
    """What the page of an environment (from `one`) shows of its content and its evidence."""
    before = environment.parent.sequence if environment.parent else environment.sequence
    return {
        **gates(environment, shown_audit(environment)),
        "shared": _shared(environment.snapshot),
        "instruction": _instruction(environment.snapshot),
        "rows": alignment.align(before, environment.sequence),
        "terms": shelf.terms(environment),
        "calls": shelf.calls(environment),
        "children": environment.children.all(),
        "evolution": getattr(environment, "evolution", None),
    }


@require_safe
def environment_gates(request: HttpRequest, pk: int) -> HttpResponse:
    """The gates alone: what the environment's page polls while an audit runs; earlier audits by `audit`."""
    environment = one(pk)
    context = gates(environment, shown_audit(environment, request.GET.get("audit", "")))
    if nothing_new(request, context["stamp"]):
        return unchanged()
    return page(request, "lineages/environment_gates.html", context, "gates")


@require_safe
def gate_list(request: HttpRequest) -> HttpResponse:
    """Every gate that is installed, and the profiles that choose among them."""
    named = {name: [gate.name for gate in profile(name)] for name in PROFILES}
    order = [name for names in (named["strict"], *named.values()) for name in names]
    known = all_gates()
    context = {
        "gates": [known[name] for name in dict.fromkeys([*order, *known])],
        "profiles": [(each, len(named[each.name])) for each in PROFILES.values()],
    }
    return render(request, "lineages/gate_list.html", context)


@require_safe
def environment_file(request: HttpRequest, pk: int, path: str = "") -> HttpResponse:
    environment = one(pk)
    files = list(environment.snapshot.files.select_related("blob"))
    parents = list(environment.parent.snapshot.files.all()) if environment.parent else []
    chosen = _chosen(files, path)
    context = {
        "environment": environment,
        "entries": list(shelf.entries(files, parents)),
        "chosen": chosen,
        "shown": _shown(chosen),
    }
    return render(request, "lineages/environment_file.html", context)


@require_safe
def environment_raw(request: HttpRequest, pk: int, path: str) -> FileResponse:
    """One file, byte for byte, only ever as an attachment."""
    file = get_object_or_404(SnapshotFile, snapshot__environments=pk, path=path, link="")
    return attachment(io.BytesIO(stored(file.blob_id)), posixpath.basename(path))


@require_safe
def environment_download(request: HttpRequest, pk: int, form: str) -> FileResponse:
    filename, content = bundles.bundle(one(pk), form)
    return attachment(content, filename)


def gate_page(request: HttpRequest, pk: int, *, status: int = 200, **said: Any) -> HttpResponse:
    """What a gate said, on what evidence, and whether a person voided it."""
    result = get_object_or_404(GateResult.objects.select_related("audit__snapshot"), pk=pk)
    snapshot = result.audit.snapshot
    environment = _judged(result.audit)
    shelf.with_voidings([result])
    places, found = answers.places(result, environment)
    gate = all_gates().get(result.gate)
    context = {
        "result": result,
        "gate": gate,
        "voidable": gate is None or gate.waivable,
        "places": places,
        "found": found,
        "detail": rendering.output(result.detail.encode()),
        "commands": [_command(run) for run in result.commands.all()],
        "environment": environment,
        "candidate": snapshot.candidates.select_related("attempt__evolution__lineage").last(),
        **said,
    }
    return render(request, "lineages/gate_detail.html", context, status=status)


def _judged(audit: Audit) -> Environment | None:
    """The environment that an audit is of; where only others have its content, the first of those."""
    found = audit.snapshot.environments.select_related("lineage")
    return found.filter(parent__snapshot=audit.parent_id).first() or found.first()


@require_safe
def call_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """What a role was asked for, what it answered, and the commands that ran for it; of a model's request
    also what it took and the bodies as they went over the wire."""
    related = ("attempt", "conversation")
    call = get_object_or_404(AgentCall.objects.select_related(*related), pk=pk)
    answer = json.loads(stored(call.output_id)) if call.output_id else None
    made = json.dumps(answer, indent=2, ensure_ascii=False).encode() if answer else b""
    bodies = [(name, _body(call, name)) for name in ("sent", "received")] if call.conversation else []
    context = {
        "call": call,
        "answer": rendering.output(made),
        "bodies": [(name, shown) for name, shown in bodies if shown],
        "commands": [_command(run) for run in call.commands.all()],
    }
    return render(request, "lineages/call_detail.html", context)


@require_safe
def call_body(request: HttpRequest, pk: int, body: str) -> FileResponse:
    """What was sent or received, byte for byte, only ever as an attachment."""
    call = get_object_or_404(AgentCall, pk=pk)
    data = _wire(call, body)
    if data is None:
        raise Http404
    return attachment(io.BytesIO(data), f"call-{pk}-{body}.json")


@require_safe
def command_output(request: HttpRequest, pk: int, stream: str) -> FileResponse:
    run = get_object_or_404(CommandRun, pk=pk)
    digest = run.stdout_id if stream == "stdout" else run.stderr_id
    return attachment(io.BytesIO(stored(digest)), f"command-{pk}-{stream}.log")


def attachment(content: Any, filename: str) -> FileResponse:
    """A download that no browser opens in our origin, under a name without paths or control characters."""
    name = re.sub(r"[\x00-\x1f\x7f/\\]+", "_", filename) or "file"
    response = FileResponse(
        content, as_attachment=True, filename=name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


def one(pk: int) -> Environment:
    """The environment with that key, with what its pages show of it; 404 where there is none."""
    related = ("lineage", "snapshot", "parent__lineage", "parent__snapshot", "evolution")
    return get_object_or_404(Environment.objects.select_related(*related), pk=pk)


def _shared(snapshot: Snapshot) -> bool:
    """Whether the tests run where the solver worked, so that what it left there can forge the result."""
    file = snapshot.files.filter(path=CONFIG).first()
    try:
        return file is not None and not parse_config(stored(file.blob_id), CONFIG).verifier.separate
    except TaskRefused:
        return False  # it never became a task


def _instruction(snapshot: Snapshot) -> rendering.Shown | None:
    file = snapshot.files.filter(path="instruction.md").first()
    return rendering.markdown(stored(file.blob_id).decode("utf-8-sig", errors="replace")) if file else None


def _chosen(files: list[SnapshotFile], path: str) -> SnapshotFile | None:
    """The file asked for; without a path the first one that says most about a task."""
    by_path = {file.path: file for file in files}
    if path and path not in by_path:
        raise Http404
    wanted = (path, "solution/solve.sh", "task.toml") if not path else (path,)
    return next((by_path[each] for each in wanted if each in by_path), files[0] if files else None)


def _shown(file: SnapshotFile | None) -> rendering.Shown | None:
    if file is None:
        return None
    if file.link:
        return rendering.code("link", f"→ {file.link}".encode())
    return rendering.code(file.path, stored(file.blob_id))


def _body(call: AgentCall, name: str) -> rendering.Shown | None:
    data = _wire(call, name)
    return rendering.output(transcript.readable(data)) if data else None


def _wire(call: AgentCall, name: str) -> bytes | None:
    """The body as it went over the wire; None where there is none."""
    digest = call.sent_body_id if name == "sent" else call.received_body_id
    kept = stored(digest) if digest else b""
    if name == "received" and transcript.answered(kept):
        kept = replies.unpacked(kept).raw  # a reply is kept with its body in it
    return kept or None


def _command(run: CommandRun) -> Command:
    stdout = rendering.output(stored(run.stdout_id), run.cut)
    stderr = rendering.output(stored(run.stderr_id))
    return Command(run, rendering.visible(run.command), (("stdout", stdout), ("stderr", stderr)))


def stored(digest: str) -> bytes:
    """Stored content; what is lost is not found, rather than a page that breaks."""
    try:
        return blobs.read(digest)
    except blobs.BlobLost as lost:
        raise Http404 from lost
