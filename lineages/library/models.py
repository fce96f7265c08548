"""Content-addressed tasks, lineages of accepted environments, and audits with their evidence."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.plan import Composition, Sequence
from lineages.lifecycle import Leased


class Blob(models.Model):
    """Bytes stored once, in the blob folder, under their hex SHA-256.

    `orphan_since`: when a sweep first saw that no row refers to them; storing the content again forgets it.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    size = models.PositiveBigIntegerField()
    orphan_since = models.DateTimeField(null=True, blank=True)


class Snapshot(models.Model):
    """A task's stored content. `digest` identifies it; `source_digest` is Harbor's own."""

    digest = models.CharField(max_length=64, unique=True)
    source_digest = models.CharField(max_length=64, db_index=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.digest[:12]


class SnapshotFile(models.Model):
    """One file of a snapshot; `link` is the target of a symbolic link, whose blob is empty."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=1024)
    mode = models.PositiveSmallIntegerField()
    link = models.CharField(max_length=1024, blank=True)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "path"], name="one_file_a_path")]
        ordering = ["path"]


class Lineage(models.Model):
    """A seed and the tree that grows from it. `slug` is how people refer to it."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    domain = models.CharField(max_length=80, default="general")
    source = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class Environment(models.Model):
    """An accepted node of a lineage; generation 0 is the seed.

    `k` numbers the environments of one generation from 1 and is never reused. `length`, `novelty`,
    `rarity` and `difficulty` are D_T and its terms in nats (docs/method.md) under the reference table
    whose digest is `reference_table`. `provisional`: its evidence is from a backend that does not build the
    Dockerfile. `source_digest` is Harbor's digest of the files as they were found, before anything was
    mended on import. `quarantined` is true while a `Quarantine` of it is open; starting an evolution from
    it, accepting a child of it and withdrawing it all update this row first, so that they never pass each
    other unseen.
    """

    lineage = models.ForeignKey(Lineage, on_delete=models.CASCADE, related_name="environments")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="environments")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    generation = models.PositiveIntegerField()
    k = models.PositiveIntegerField(default=1)
    direction = models.CharField(max_length=10, blank=True)
    sequence_json = models.JSONField()
    composition_json = models.JSONField()
    length = models.PositiveIntegerField(default=0)
    novelty = models.FloatField(default=0)
    rarity = models.FloatField(default=0)
    difficulty = models.FloatField(default=0)
    reference_table = models.CharField(max_length=64, blank=True)
    provisional = models.BooleanField(default=False)
    quarantined = models.BooleanField(default=False, db_default=False)
    warnings = models.TextField(blank=True)
    source_digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["lineage", "generation", "k"], name="k_is_given_once"),
            models.UniqueConstraint(
                fields=["snapshot"], condition=models.Q(generation=0), name="one_seed_for_each_content"
            ),
        ]
        ordering = ["generation", "k"]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        """`<lineage>/g<generation>`, with `.k` from the second one on."""
        suffix = f".{self.k}" if self.k > 1 else ""
        return f"{self.lineage.slug}/g{self.generation}{suffix}"

    @property
    def sequence(self) -> Sequence:
        return Sequence.model_validate(self.sequence_json)

    @property
    def composition(self) -> Composition:
        return Composition.model_validate(self.composition_json)


class Quarantine(models.Model):
    """Why an environment is held back: it, or the ancestor `origin`, was withdrawn by a person.

    A held environment is not fed, stands in no new release and has no children. A person frees each one by
    itself, with a reason.
    """

    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="quarantines")
    origin = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="held_back")
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    freed_reason = models.TextField(blank=True)
    freed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    freed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["environment", "origin"],
                condition=models.Q(freed_at__isnull=True),
                name="held_back_once_for_an_origin",
            )
        ]


class Audit(Leased):
    """A leased run of a gate profile over a snapshot.

    `repeats`: how often the solved and the untouched run are made; 0 is as the profile says. `regrade`: what
    solvers left in earlier audits is graded again where nothing but tests, rubric or gates changed since.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        ERROR = "error"
        ABANDONED = "abandoned"

    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {
        Status.QUEUED: frozenset({Status.ACCEPTED, Status.REJECTED, Status.ERROR, Status.ABANDONED}),
    }
    WORKABLE: ClassVar[frozenset[str]] = frozenset({Status.QUEUED})

    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="audits")
    parent = models.ForeignKey(Snapshot, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    profile = models.CharField(max_length=20, default="standard")
    repeats = models.PositiveSmallIntegerField(default=0, db_default=0)
    regrade = models.BooleanField(default=False, db_default=False)
    backend = models.CharField(max_length=20)
    provisional = models.BooleanField(default=False)
    judge = models.CharField(max_length=40)
    rubric = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]


class GateResult(models.Model):
    """What one gate said in one audit, and the key of everything that the answer depended on.

    `runs` of the same thing were made, `runs_passed` did as they should; both 0 where nothing is repeated.
    `graded_again`: a solver's earlier work was graded, the solver was not run.
    """

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="results")
    gate = models.CharField(max_length=40)
    repeat = models.PositiveSmallIntegerField(default=0)
    gate_version = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=64)
    outcome = models.CharField(max_length=16)
    reward = models.FloatField(null=True, blank=True)
    summary = models.TextField()
    detail = models.TextField(blank=True)
    weaker = models.BooleanField(default=False)
    runs = models.PositiveSmallIntegerField(default=0, db_default=0)
    runs_passed = models.PositiveSmallIntegerField(default=0, db_default=0)
    graded_again = models.BooleanField(default=False, db_default=False)
    started_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "gate", "repeat"], name="a_gate_answers_once_in_an_audit"
            )
        ]
        ordering = ["id"]


class GateFinding(models.Model):
    """One thing that a gate saw, at a place of the task where there is one; `line` 0 is no line."""

    result = models.ForeignKey(GateResult, on_delete=models.CASCADE, related_name="findings")
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
    path = models.CharField(max_length=1024, blank=True)
    line = models.PositiveIntegerField(default=0)
    warning = models.BooleanField(default=False)
    repair = models.TextField(blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["result", "position"], name="findings_have_an_order")]


class Solve(models.Model):
    """What a solver left in a trial of separate mode, by the hash of all it hung on: not the tests.

    It is graded again, instead of the solver being run again, where only tests or gates have changed.
    """

    key = models.CharField(max_length=64, unique=True)
    result = models.ForeignKey(GateResult, on_delete=models.CASCADE, related_name="solves")
    created_at = models.DateTimeField(db_default=Now())


class Handover(models.Model):
    """One declared artifact of a solve: a folder, or a single file, that left the solver's sandbox."""

    solve = models.ForeignKey(Solve, on_delete=models.CASCADE, related_name="handovers")
    position = models.PositiveSmallIntegerField()
    source = models.TextField()
    folder = models.BooleanField()
    refused = models.TextField(blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["solve", "position"], name="handovers_have_an_order")]


class HandoverFile(models.Model):
    """One file of an artifact, by its absolute path in the sandbox; `link` and `blob` as in a snapshot."""

    handover = models.ForeignKey(Handover, on_delete=models.CASCADE, related_name="files")
    path = models.TextField()
    mode = models.PositiveSmallIntegerField()
    link = models.TextField(blank=True)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["id"]


class Probe(models.Model):
    """An attack that once got a reward in a lineage: it is replayed on every descendant."""

    lineage = models.ForeignKey(Lineage, on_delete=models.CASCADE, related_name="probes")
    name = models.CharField(max_length=80)
    script = models.TextField()
    origin = models.TextField()
    found_in = models.ForeignKey(
        GateResult, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["lineage", "name"], name="a_lineage_keeps_a_probe_once")
        ]


class Sketch(models.Model):
    """The shingles of a snapshot, sampled so that the likeness of two can be estimated.

    `values` are the smallest hashes, 8 bytes each, in order.
    """

    snapshot = models.OneToOneField(Snapshot, on_delete=models.CASCADE, related_name="sketch")
    values = models.BinaryField()


class SketchBand(models.Model):
    """One band of a sketch: two snapshots that share a band may be alike, others are not looked at."""

    sketch = models.ForeignKey(Sketch, on_delete=models.CASCADE, related_name="bands")
    band = models.BigIntegerField(db_index=True)


class BenchmarkSet(models.Model):
    """A set of tasks that is marked as a benchmark: nothing of it may stand in what we train on."""

    name = models.CharField(max_length=120, unique=True)
    digest = models.CharField(max_length=64)
    tasks = models.PositiveIntegerField()
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name"]


class BenchmarkGram(models.Model):
    """A run of 13 tokens of a benchmark's task, by the first 8 bytes of its hash as a signed number."""

    benchmark = models.ForeignKey(BenchmarkSet, on_delete=models.CASCADE, related_name="grams")
    gram = models.BigIntegerField(db_index=True)
    task = models.CharField(max_length=200)


class Voiding(models.Model):
    """A person's word that a gate's failure under this key does not stand, with the reason.

    It holds for the key alone: once anything that the answer depended on changes, the gate decides again.
    """

    gate = models.CharField(max_length=40)
    key = models.CharField(max_length=64)
    result = models.ForeignKey(GateResult, on_delete=models.CASCADE, related_name="voidings")
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["gate", "key"], name="a_failure_is_voided_once")]


class Job(Leased):
    """Anything long without states of its own. `kind` names its file in `lineages.growth.jobs`."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {
        Status.QUEUED: frozenset({Status.DONE, Status.FAILED, Status.CANCELLED}),
    }
    WORKABLE: ClassVar[frozenset[str]] = frozenset({Status.QUEUED})

    job_kind = models.CharField(max_length=20)
    subject = models.CharField(max_length=200)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=1)
    tries = models.PositiveSmallIntegerField(default=0)
    note = models.TextField(blank=True)
    audit = models.ForeignKey(Audit, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    upload = models.CharField(max_length=200, blank=True)
    """The uploaded file in the uploads folder that an `import` job reads."""
    profile = models.CharField(max_length=20, default="standard", db_default="standard")
    repeats = models.PositiveSmallIntegerField(default=0, db_default=0)
    regrade = models.BooleanField(default=False, db_default=False)
    """With `profile` and `repeats`: what an `audit` job asks of its audit (see `Audit`)."""


class ImportedTask(models.Model):
    """What became of one task that an import job found."""

    class Outcome(models.TextChoices):
        IMPORTED = "imported"
        UNCHANGED = "unchanged", "already there"
        REFUSED = "refused"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="tasks")
    path = models.CharField(max_length=1024)
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    environment = models.ForeignKey(
        Environment, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.TextField(blank=True)
    warnings = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["job", "path"], name="a_task_is_counted_once")]
