"""Who was asked what: conversations with models, each request of them, the tools and commands that ran.

An `AgentCall` of a model is inserted as `sent`, with the most that it may cost, before the request leaves,
and settled before its answer is read. One that stays `sent` is money that may have been spent: its worker
died, and nobody knows. An author without a model has calls too, one for each thing it was asked, without
a conversation, tokens or a price.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from lineages.library.models import Audit, Blob, GateResult, Lineage


class Conversation(models.Model):
    """One question put to one role, answered in one or more requests.

    `scope` says what it is about as a word and a number ("attempt:12"), `subject` which part of that ("round
    0"); `opening` is the digest of how it began. A role that asks the same again is given the same
    conversation and what was answered in it. `outcome` is `open` until it ended.
    """

    OPEN = "open"
    ANSWERED = "answered"

    scope = models.CharField(max_length=80)
    role = models.CharField(max_length=20)
    model = models.CharField(max_length=40)
    subject = models.CharField(max_length=120)
    opening = models.CharField(max_length=64)
    prompt_name = models.CharField(max_length=40)
    prompt_digest = models.CharField(max_length=64)
    attempt = models.ForeignKey(
        "lineages.Attempt", null=True, blank=True, on_delete=models.CASCADE, related_name="conversations"
    )
    audit = models.ForeignKey(
        Audit, null=True, blank=True, on_delete=models.CASCADE, related_name="conversations"
    )
    outcome = models.CharField(max_length=20, default=OPEN)
    note = models.TextField(blank=True)
    opened_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "role", "model", "subject", "opening"], name="a_question_is_put_once"
            )
        ]

    def __str__(self) -> str:
        return f"conversation {self.pk} with {self.model} as {self.role}"


class AgentCall(models.Model):
    """One request to a model, or one thing asked of an author without one.

    `number` counts the requests of a conversation from 0, `again` the tries of one of them. `cost` and
    `reserved` are in US dollars; null is unknown, never 0. `billed` is null where nobody can know.
    `tokens` is input and output together; `input_tokens` includes `cached_tokens` and
    `cache_written_tokens`, `output_tokens` includes `thinking_tokens`. `output` is what the role made of the
    last answer, `error` what the role or the provider refused with. `lineage` and `evolution` are those that
    it was made for.
    """

    SENT = "sent"
    ANSWERED = "answered"

    role = models.CharField(max_length=20)
    author = models.CharField(max_length=40)
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="calls"
    )
    number = models.PositiveSmallIntegerField(default=0)
    again = models.PositiveSmallIntegerField(default=0)
    audit = models.ForeignKey(Audit, null=True, blank=True, on_delete=models.CASCADE, related_name="calls")
    attempt = models.ForeignKey(
        "lineages.Attempt", null=True, blank=True, on_delete=models.CASCADE, related_name="calls"
    )
    lineage = models.ForeignKey(
        Lineage, null=True, blank=True, on_delete=models.SET_NULL, related_name="calls"
    )
    evolution = models.ForeignKey(
        "lineages.Evolution", null=True, blank=True, on_delete=models.SET_NULL, related_name="calls"
    )
    outcome = models.CharField(max_length=20)
    error = models.TextField(blank=True)
    input_digest = models.CharField(max_length=64)
    output = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    provider = models.CharField(max_length=20, blank=True)
    served = models.CharField(max_length=120, blank=True)
    sent_body = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    received_body = models.ForeignKey(Blob, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    request_id = models.CharField(max_length=120, blank=True)
    stop = models.CharField(max_length=10, blank=True)
    tokens = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True)
    cache_written_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    thinking_tokens = models.PositiveIntegerField(null=True, blank=True)
    reserved = models.DecimalField(null=True, blank=True, max_digits=14, decimal_places=6)
    reserved_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(null=True, blank=True, max_digits=14, decimal_places=6)
    priced_by = models.CharField(max_length=60, blank=True)
    billed = models.BooleanField(null=True, blank=True)
    started_at = models.DateTimeField()
    seconds = models.FloatField(default=0.0)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["author", "started_at"]),
            models.Index(fields=["started_at"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "number", "again"], name="a_request_is_numbered_once"
            )
        ]

    @property
    def unsettled(self) -> bool:
        """Sent, and nobody said what came of it."""
        return self.outcome == self.SENT


class ToolRun(models.Model):
    """One call of a tool in a conversation: what the model wrote, and what it was told.

    `number` is the request's whose answer asked for it. `cut` counts the characters left out of the result.
    """

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="tools")
    number = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    call_id = models.CharField(max_length=200)
    tool = models.CharField(max_length=80)
    written = models.TextField(blank=True)
    result = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    error = models.BooleanField(default=False)
    cut = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["number", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "number", "position"], name="a_tool_call_is_answered_once"
            )
        ]


class ModelPause(models.Model):
    """A model that nobody asks for now: until a time, or, where `until` is null, until a person goes on."""

    model = models.CharField(max_length=40, unique=True)
    until = models.DateTimeField(null=True, blank=True)
    reason = models.TextField()
    at = models.DateTimeField(db_default=Now())


class LedgerLock(models.Model):
    """One row, updated first in every reservation, so that these come one after another."""

    turn = models.PositiveBigIntegerField(default=0)


class CommandRun(models.Model):
    """One command that ran in a sandbox, for a gate or for a role; its output is in blobs."""

    result = models.ForeignKey(
        GateResult, null=True, blank=True, on_delete=models.CASCADE, related_name="commands"
    )
    call = models.ForeignKey(
        AgentCall, null=True, blank=True, on_delete=models.CASCADE, related_name="commands"
    )
    position = models.PositiveSmallIntegerField()
    command = models.TextField()
    exit_code = models.IntegerField()
    cut_short = models.TextField(blank=True)
    stdout = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    stderr = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    cut = models.PositiveBigIntegerField(default=0)
    started_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(result__isnull=False) ^ models.Q(call__isnull=False),
                name="a_command_serves_a_gate_or_a_role",
            )
        ]
