"""Recipes, evolutions, and everything that happens inside one: attempts, plans, candidates, reviews."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.plan import Binding, Composition, PlanDraft
from lineages.library.calls import AgentCall
from lineages.library.models import Audit, Environment, Lineage, Snapshot
from lineages.lifecycle import Leased


class Recipe(models.Model):
    """An immutable row of settings. `digest` is that of all the others; equal settings are one recipe.

    `cast` is which model plays which role, as `agents.models` writes it; empty where no model does.
    """

    class Approval(models.TextChoices):
        AUTO = "auto"
        PLANS = "plans"
        ENVIRONMENTS = "environments"
        BOTH = "both"

    digest = models.CharField(max_length=64, unique=True)
    author = models.CharField(max_length=40, default="offline")
    cast = models.CharField(max_length=500, blank=True, default="", db_default="")
    effort = models.CharField(max_length=8, default="high")
    directions = models.CharField(max_length=40, default="scenario,skill,length")
    plan_rounds = models.PositiveSmallIntegerField(default=3)
    repairs = models.PositiveSmallIntegerField(default=3)
    profile = models.CharField(max_length=20, default="standard")
    approval = models.CharField(max_length=12, choices=Approval.choices, default=Approval.AUTO)
    plan_rubric = models.CharField(max_length=64)
    environment_rubric = models.CharField(max_length=64)
    seed = models.BigIntegerField(default=0)

    @property
    def approves_plans(self) -> bool:
        return self.approval in (self.Approval.PLANS, self.Approval.BOTH)

    @property
    def approves_environments(self) -> bool:
        return self.approval in (self.Approval.ENVIRONMENTS, self.Approval.BOTH)


class Campaign(Leased):
    """Many lineages under one budget and one deadline.

    Limits that are null do not bound. `cost_limit` is in US dollars of model calls, `hours_limit` in hours
    of sandbox time, `accepted_limit` in environments. `parallel` is how many of its evolutions are open at
    once. It is `stopped` when a limit or the deadline is reached; an operator who moves one may resume it.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        STOPPED = "stopped"
        FINISHED = "finished"
        CANCELLED = "cancelled"

    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {
        Status.RUNNING: frozenset({Status.STOPPED, Status.FINISHED, Status.CANCELLED}),
        Status.STOPPED: frozenset({Status.RUNNING, Status.CANCELLED}),
    }
    WORKABLE: ClassVar[frozenset[str]] = frozenset({Status.RUNNING})

    slug = models.SlugField(max_length=80, unique=True)
    recipe = models.ForeignKey(Recipe, on_delete=models.PROTECT, related_name="campaigns")
    generations = models.PositiveSmallIntegerField(default=1)
    parallel = models.PositiveSmallIntegerField(default=4)
    cost_limit = models.DecimalField(null=True, blank=True, max_digits=12, decimal_places=2)
    hours_limit = models.FloatField(null=True, blank=True)
    accepted_limit = models.PositiveIntegerField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.slug


class Evolution(Leased):
    """One try to grow a child from a parent.

    `generations_left` counts this one: the accepting transaction starts the next from the child while more
    than one is left. `direction_order` is drawn once, from the recipe's seed, the parent and `ordinal`.
    """

    class Status(models.TextChoices):
        DRAFTING = "drafting"
        PLAN_REVIEW = "plan_review"
        PLAN_APPROVAL = "plan_approval"
        BUILDING = "building"
        VERIFYING = "verifying"
        REPAIRING = "repairing"
        SIGN_OFF = "sign_off"
        ACCEPTED = "accepted"
        EXHAUSTED = "exhausted"
        CANCELLED = "cancelled"
        FAILED = "failed"

    ENDED: ClassVar[frozenset[str]] = frozenset(
        {Status.ACCEPTED, Status.EXHAUSTED, Status.CANCELLED, Status.FAILED}
    )
    HUMAN: ClassVar[frozenset[str]] = frozenset({Status.PLAN_APPROVAL, Status.SIGN_OFF})
    WORKABLE: ClassVar[frozenset[str]] = frozenset(
        {Status.DRAFTING, Status.PLAN_REVIEW, Status.BUILDING, Status.VERIFYING, Status.REPAIRING}
    )
    _ANY_OPEN: ClassVar[frozenset[str]] = frozenset({Status.EXHAUSTED, Status.CANCELLED, Status.FAILED})
    TRANSITIONS: ClassVar[dict[str, frozenset[str]]] = {
        # To building where a person overrides the rejection of the newest plan.
        Status.DRAFTING: frozenset({Status.PLAN_REVIEW, Status.BUILDING}) | _ANY_OPEN,
        Status.PLAN_REVIEW: frozenset({Status.DRAFTING, Status.PLAN_APPROVAL, Status.BUILDING}) | _ANY_OPEN,
        Status.PLAN_APPROVAL: frozenset({Status.BUILDING, Status.DRAFTING, Status.PLAN_REVIEW}) | _ANY_OPEN,
        Status.BUILDING: frozenset({Status.VERIFYING, Status.DRAFTING}) | _ANY_OPEN,
        Status.VERIFYING: frozenset({Status.REPAIRING, Status.DRAFTING, Status.SIGN_OFF, Status.ACCEPTED})
        | _ANY_OPEN,
        Status.REPAIRING: frozenset({Status.VERIFYING, Status.DRAFTING}) | _ANY_OPEN,
        Status.SIGN_OFF: frozenset({Status.ACCEPTED, Status.REPAIRING, Status.DRAFTING}) | _ANY_OPEN,
        Status.FAILED: WORKABLE | {Status.CANCELLED},
    }

    lineage = models.ForeignKey(Lineage, on_delete=models.CASCADE, related_name="evolutions")
    parent = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="evolutions")
    recipe = models.ForeignKey(Recipe, on_delete=models.PROTECT, related_name="evolutions")
    ordinal = models.PositiveIntegerField()
    generations_left = models.PositiveSmallIntegerField(default=1)
    direction_order = models.CharField(max_length=40)
    child = models.OneToOneField(
        Environment, null=True, blank=True, on_delete=models.PROTECT, related_name="evolution"
    )
    previous = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="successor"
    )
    origin = models.OneToOneField(
        "lineages.Review", null=True, blank=True, on_delete=models.PROTECT, related_name="started"
    )
    campaign = models.ForeignKey(
        Campaign, null=True, blank=True, on_delete=models.SET_NULL, related_name="evolutions"
    )
    faults = models.PositiveSmallIntegerField(default=0)
    fault = models.TextField(blank=True)
    failed_in = models.CharField(max_length=20, blank=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["parent", "ordinal"], name="one_evolution_an_ordinal"),
        ]

    def __str__(self) -> str:
        return f"evolution {self.pk} of {self.parent_id}"

    @property
    def ended(self) -> bool:
        return self.status in self.ENDED

    @property
    def waits_for_person(self) -> bool:
        return self.status in self.HUMAN

    @property
    def generation(self) -> int:
        """The child's generation."""
        return self.parent.generation + 1

    @property
    def directions(self) -> list[str]:
        return self.direction_order.split(",")


class CampaignEntry(models.Model):
    """One environment that a campaign grows from. `evolution` is its first one, once started."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="entries")
    position = models.PositiveIntegerField()
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="+")
    evolution = models.OneToOneField(
        Evolution, null=True, blank=True, on_delete=models.SET_NULL, related_name="campaign_entry"
    )
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "environment"], name="a_campaign_grows_from_it_once"),
            models.UniqueConstraint(fields=["campaign", "position"], name="one_entry_a_position"),
        ]


class Attempt(models.Model):
    """One direction inside an evolution. A closed attempt never reopens."""

    class Outcome(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        NO_PLAN = "no_plan", "no plan left"
        PLANS_SPENT = "plans_spent", "plan rounds spent"
        REFUSED = "refused", "modifier refused"
        REPAIRS_SPENT = "repairs_spent", "repairs spent"
        REJECTED = "rejected", "rejected by a person"
        OVERRULED = "overruled", "approval overridden by a person"
        ABANDONED = "abandoned", "evolution ended"

    evolution = models.ForeignKey(Evolution, on_delete=models.CASCADE, related_name="attempts")
    ordinal = models.PositiveSmallIntegerField()
    direction = models.CharField(max_length=10)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, default=Outcome.OPEN)
    reason = models.TextField(blank=True)
    opened_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["evolution", "ordinal"], name="one_attempt_an_ordinal"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.ordinal} ({self.direction})"

    @property
    def plan(self) -> Plan | None:
        return self.plans.order_by("-round").first()

    @property
    def candidate(self) -> Candidate | None:
        return self.candidates.order_by("-n").first()


class Plan(models.Model):
    """One round of an attempt. `wish` is what a person asked for when they wanted this round.

    `copied_from` is the plan of an earlier evolution that a person's override took up again.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="plans")
    round = models.PositiveSmallIntegerField()
    draft_json = models.JSONField()
    wish = models.TextField(blank=True)
    copied_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="copies"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["round"]
        constraints = [models.UniqueConstraint(fields=["attempt", "round"], name="one_plan_a_round")]

    @property
    def draft(self) -> PlanDraft:
        return PlanDraft.model_validate(self.draft_json)


class Candidate(models.Model):
    """One revision of the child: 0 is the modifier's, n the n-th repair.

    `copied_from` is the candidate of an earlier evolution that a person's override took up again.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="candidates")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="candidates")
    n = models.PositiveSmallIntegerField()
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="candidates")
    composition_json = models.JSONField()
    notes = models.TextField(blank=True)
    wish = models.TextField(blank=True)
    audit = models.ForeignKey(
        Audit, null=True, blank=True, on_delete=models.SET_NULL, related_name="candidates"
    )
    copied_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="copies"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["n"]
        constraints = [models.UniqueConstraint(fields=["attempt", "n"], name="one_candidate_a_revision")]

    @property
    def composition(self) -> Composition:
        return Composition.model_validate(self.composition_json)


class PairBinding(models.Model):
    """What one changed pair of the plan became in a candidate's files."""

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="bindings")
    key = models.TextField()
    solution_block = models.TextField()
    test_units = models.TextField()
    environment_paths = models.TextField()
    requirement = models.TextField()

    @property
    def value(self) -> Binding:
        return Binding(
            key=self.key,
            solution_block=self.solution_block,
            test_units=tuple(self.test_units.splitlines()),
            environment_paths=tuple(self.environment_paths.splitlines()),
            requirement=self.requirement,
        )


class Review(models.Model):
    """A verdict on a plan or a candidate, by a role or by a person.

    A person's review that `supersedes` another is an override; a review is superseded once at most.
    """

    class Decision(models.TextChoices):
        APPROVE = "approve"
        REJECT = "reject"
        CHANGES = "changes", "ask for changes"

    plan = models.ForeignKey(Plan, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews")
    candidate = models.ForeignKey(
        Candidate, null=True, blank=True, on_delete=models.CASCADE, related_name="reviews"
    )
    role = models.CharField(max_length=20)
    reviewer = models.CharField(max_length=150)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="reviews"
    )
    decision = models.CharField(max_length=8, choices=Decision.choices)
    comment = models.TextField(blank=True)
    supersedes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    call = models.ForeignKey(AgentCall, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(plan__isnull=False) ^ models.Q(candidate__isnull=False),
                name="a_review_is_of_a_plan_or_a_candidate",
            ),
            models.UniqueConstraint(
                fields=["plan", "role"],
                condition=models.Q(user__isnull=True),
                name="a_role_reviews_a_plan_once",
            ),
        ]

    @property
    def subject(self) -> Plan | Candidate:
        """What was reviewed."""
        subject = self.plan or self.candidate
        assert subject is not None, "the constraint has one of them set"
        return subject


class ReviewedCriterion(models.Model):
    """One line of a rubric review."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="criteria")
    criterion = models.TextField()
    verdict = models.CharField(max_length=16)
    explanation = models.TextField()
    quote = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
