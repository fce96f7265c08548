"""Rubrics as rows: versions that never change, each with its criteria and where these came from."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class RubricVersion(models.Model):
    """One wording of one rubric (`plan` or `environment`). `version` is `agents.rubrics.Rubric.version`.

    `ordinal` counts the versions of that rubric from 1; the highest is today's. Who goes back to an earlier
    wording makes another row of the same `version`: what was judged by it is current again.
    """

    name = models.CharField(max_length=20)
    version = models.CharField(max_length=64, db_index=True)
    ordinal = models.PositiveIntegerField()
    note = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name", "-ordinal"]
        constraints = [models.UniqueConstraint(fields=["name", "ordinal"], name="one_rubric_an_ordinal")]

    def __str__(self) -> str:
        return f"{self.name} rubric, version {self.ordinal}"


class RubricCriterion(models.Model):
    """One line of one version. `origin` says in words where it comes from, `found_in` the review that did."""

    rubric = models.ForeignKey(RubricVersion, on_delete=models.CASCADE, related_name="criteria")
    position = models.PositiveSmallIntegerField()
    key = models.SlugField(max_length=40)
    title = models.CharField(max_length=80)
    question = models.TextField()
    origin = models.CharField(max_length=200)
    found_in = models.ForeignKey(
        "lineages.Review", null=True, blank=True, on_delete=models.SET_NULL, related_name="criteria_found"
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["rubric", "key"], name="a_rubric_names_a_criterion_once"),
            models.UniqueConstraint(fields=["rubric", "position"], name="one_criterion_a_position"),
        ]


class ReviewBench(models.Model):
    """A run of `review_bench`: how a model's reviewing roles did on labelled plans and environments."""

    model = models.CharField(max_length=40)
    served = models.CharField(max_length=120, blank=True)
    cases_digest = models.CharField(max_length=64)
    plan_rubric = models.CharField(max_length=64)
    environment_rubric = models.CharField(max_length=64)
    cases = models.PositiveIntegerField()
    unanswered = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]


class ReviewBenchLine(models.Model):
    """One criterion of such a run: planted faults, those it missed, sound cases, those it accused."""

    bench = models.ForeignKey(ReviewBench, on_delete=models.CASCADE, related_name="lines")
    rubric = models.CharField(max_length=20)
    criterion = models.CharField(max_length=40)
    faults = models.PositiveIntegerField()
    missed = models.PositiveIntegerField()
    sound = models.PositiveIntegerField()
    accused = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["bench", "rubric", "criterion"], name="one_line_a_criterion")
        ]
