"""Every role, played over loopback by the recorded model, through each of the three APIs and its SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from anthropic import Anthropic  # noqa: TID251 - its own reading of the answers is what is tested
from openai import OpenAI  # noqa: TID251
from pydantic import SecretStr

from agents.memory_line import MemoryLine
from agents.modelled.adversary import ModelAdversary
from agents.modelled.estimator import ModelEstimator
from agents.modelled.failure_judge import ModelFailureJudge
from agents.modelled.modifier import ModelModifier
from agents.modelled.plan_reviewer import ModelPlanReviewer
from agents.modelled.proposer import ModelProposer
from agents.modelled.rubric_verifier import ModelRubricVerifier
from agents.modelled.solver import ModelSolver
from agents.models import Can, ModelSpec
from agents.plan import Direction, Effort, PlanDraft
from agents.providers.base import Answered, Question, Said, Schema
from agents.providers.errors import NotTaken, Overloaded
from agents.providers.opening import open_provider
from agents.providers.tiny import tiny_call
from agents.roles import BuildOrder, Built, Evidence, NothingToPropose
from agents.rubrics import ENVIRONMENT_RUBRIC, PLAN_RUBRIC
from sandboxes.base import ExecResult
from sandboxes.task import INSTRUCTION, Task
from tests.agents.growing import Grown, brief
from tests.agents.tasks import SEPARATE, regions
from tests.model_servers.recorded import KINDS, RecordedServer, recorded

WIRES = ("/v1/messages", "/v1/responses", "/v1/chat/completions")


@pytest.fixture(scope="module")
def server() -> Iterator[RecordedServer]:
    with recorded() as running:
        yield running


@pytest.fixture(params=KINDS)
def spec(request: pytest.FixtureRequest, server: RecordedServer) -> ModelSpec:
    return spec_of(request.param, server)


def spec_of(kind: str, server: RecordedServer, **can: bool) -> ModelSpec:
    return ModelSpec(
        name="recorded",
        provider=kind,
        model="recorded-1",
        base_url=f"{server.url}/v1",
        key=SecretStr("k"),
        can=Can(**{"thinking": kind != "openai-chat", **can}),
    )


def line_to(spec: ModelSpec) -> MemoryLine:
    return MemoryLine({spec.name: spec}, open_provider)


def parent() -> Grown:
    return Grown.seed(regions(SEPARATE))


@dataclass
class Bench:
    """Says that all is well, and remembers what it was asked."""

    asked: list[str] = field(default_factory=list)

    def run(self, task: Task, command: str, *, seconds: float) -> ExecResult:
        self.asked.append(command)
        return ran(command)

    def gates(self, built: Built) -> tuple[Evidence, ...]:
        self.asked.append("gates")
        return ()


@dataclass
class Room:
    asked: list[str] = field(default_factory=list)

    def run(self, command: str, *, seconds: float) -> ExecResult:
        self.asked.append(command)
        return ran(command)


def ran(command: str) -> ExecResult:
    return ExecResult(("sh", "-c", command), 0, b"50-seed\n", b"", 0, 0.1, datetime.now(UTC))


def proposed(spec: ModelSpec, of: Grown, direction: Direction = Direction.LENGTH) -> PlanDraft:
    return ModelProposer(spec, line_to(spec)).propose(brief(of, direction, Effort.HIGH))


def ordered(of: Grown, plan: PlanDraft, bench: Bench | None = None) -> BuildOrder:
    return BuildOrder(of.task, of.composition, plan, of.generation + 1, "test", bench=bench or Bench())


def grown(spec: ModelSpec, of: Grown) -> Grown:
    """The child after a repair, where there has to be one."""
    plan = proposed(spec, of)
    order = ordered(of, plan)
    built = ModelModifier(spec, line_to(spec)).build(order)
    if "cut -d' ' -f2" in unit_of(built):
        built = ModelModifier(spec, line_to(spec)).build(repair(order, built))
    return Grown(of.task.replace(built.changes), plan.after, built.composition, of.generation + 1)


def repair(order: BuildOrder, built: Built) -> BuildOrder:
    failed = Evidence("oracle", "failed", "The reference solution did not get the full reward.", "see there")
    return replace(order, revision=1, previous=built, failures=(failed,))


def unit_of(built: Built) -> str:
    (path,) = built.bindings[0].test_units
    file = built.changes[path]
    assert file is not None
    return file.data.decode()


# What goes over the wire is what the SDKs read.


def test_anthropic_s_sdk_reads_the_answers(server: RecordedServer) -> None:
    client = Anthropic(api_key="k", base_url=server.url, max_retries=0)

    said = client.messages.create(
        model="m", max_tokens=100, messages=[{"role": "user", "content": "Are you there?"}]
    )

    assert (said.content[0].type, said.stop_reason, said.model) == ("text", "end_turn", "m")
    assert said.usage.input_tokens > 0 and said.usage.output_tokens > 0


def test_openai_s_sdk_reads_the_answers_of_both_its_apis(server: RecordedServer) -> None:
    client = OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)

    said = client.responses.create(model="m", input="Are you there?")
    chat = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Are you there?"}])

    assert (said.output_text, said.status) == ("Ready.", "completed")
    assert said.usage is not None and said.usage.total_tokens > 1
    assert (chat.choices[0].message.content, chat.choices[0].finish_reason) == ("Ready.", "stop")
    assert chat.usage is not None and chat.usage.total_tokens > 1


# The roles


def test_the_proposer_inserts_one_pair_with_a_tool_that_is_new(spec: ModelSpec) -> None:
    seed = parent()

    plan = proposed(spec, seed)

    (change,) = plan.changes
    assert plan.after.pairs[:-1] == seed.sequence.pairs and plan.after.pairs[-1] == change.pair
    assert change.pair.tool == "sha256sum"
    assert change.pair.tool not in {pair.tool for pair in seed.sequence.pairs}


def test_it_says_why_it_has_nothing_in_the_other_directions(spec: ModelSpec) -> None:
    with pytest.raises(NothingToPropose, match="as rare as this work allows"):
        proposed(spec, parent(), Direction.SKILL)


def test_both_reviewers_answer_every_criterion_with_a_quote_that_occurs(spec: ModelSpec) -> None:
    seed = parent()
    plan = proposed(spec, seed)

    on_plan = ModelPlanReviewer(spec, line_to(spec)).review(brief(seed, Direction.LENGTH, Effort.HIGH), plan)
    on_task = ModelRubricVerifier(spec, line_to(spec)).judge(seed.task, None, ())

    assert tuple(verdict.criterion for verdict in on_plan.verdicts) == PLAN_RUBRIC.keys
    assert tuple(verdict.criterion for verdict in on_task.verdicts) == ENVIRONMENT_RUBRIC.keys
    assert all(verdict.verdict == "pass" and verdict.quote for verdict in on_plan.verdicts)
    assert all(verdict.verdict == "pass" and verdict.quote for verdict in on_task.verdicts)


def test_the_modifier_slips_once_and_repairs_only_what_was_wrong(spec: ModelSpec) -> None:
    seed, line = parent(), line_to(spec)
    order = ordered(seed, proposed(spec, seed))

    first = ModelModifier(spec, line).build(order)
    second = ModelModifier(spec, line).build(repair(order, first))

    assert "cut -d' ' -f2" in unit_of(first) and "cut -d' ' -f1" in unit_of(second)
    (unit,) = first.bindings[0].test_units
    assert {path for path in second.changes if second.changes[path] != first.changes.get(path)} == {unit}
    assert [conversation.outcome for conversation in line.conversations.values()] == ["answered"] * 2
    assert order.bench is not None and "gates" in order.bench.asked  # type: ignore[attr-defined]


def test_three_generations_each_add_a_step_a_unit_a_note_and_a_sentence(spec: ModelSpec) -> None:
    child = parent()

    for generation in (1, 2, 3):
        before, child = child, grown(spec, child)
        new = child.task.files.keys() - before.task.files.keys()
        assert len([path for path in new if path.startswith("solution/steps/5") and "seed" not in path]) == 1
        assert len([path for path in new if path.startswith("tests/units/0") and "seed" not in path]) == 1
        assert len([path for path in new if path.startswith("environment/overlay/app/notes/")]) == 1
        assert child.task.text(INSTRUCTION).count("\n- ") == generation

    assert [artifact.source for artifact in child.task.config.artifacts] == [
        "/app/totals.txt", "/app/out/checksums.txt", "/app/out/sizes.tsv", "/app/out/packed.gz",
    ]  # fmt: skip


def test_what_the_model_thought_goes_back_to_it_as_it_came(spec: ModelSpec) -> None:
    seed, line = parent(), line_to(spec)

    ModelModifier(spec, line).build(ordered(seed, proposed(spec, seed)))

    (conversation,) = line.conversations.values()
    last = conversation.asked[-1][1].turns
    answered = [turn for turn in last if isinstance(turn, Answered)]
    thought = ["signature", "encrypted_content"]
    assert len(answered) >= 5
    for turn in answered:
        assert any(word in json.dumps(turn.content) for word in thought) == spec.can.thinking


def test_solver_adversary_estimator_and_failure_judge_answer_too(spec: ModelSpec) -> None:
    seed, room = parent(), Room()

    script = ModelSolver(spec, line_to(spec)).solve(seed.task, room)
    attacks = ModelAdversary(spec, line_to(spec)).attack(seed.task)
    estimates = ModelEstimator(spec, line_to(spec)).estimate(seed.sequence, "data")
    verdict = ModelFailureJudge(spec, line_to(spec)).explain(seed.task, ("I gave up.",))

    assert room.asked == ["ls -la"] and "/app/out" in script
    assert [attack.name for attack in attacks] == ["forge"]
    assert tuple(estimate.key for estimate in estimates) == seed.sequence.keys()
    assert (verdict.verdict, bool(verdict.quote)) == ("too_hard", True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_schemas_is_asked_in_words_and_answers_the_same(
    kind: str, server: RecordedServer
) -> None:
    seed = parent()

    assert proposed(spec_of(kind, server, schema=False), seed) == proposed(spec_of(kind, server), seed)


# The server


@pytest.mark.parametrize("kind", KINDS)
def test_every_second_request_is_turned_down_where_it_is_told_to(kind: str) -> None:
    with recorded(overloaded=2) as server:
        spec = spec_of(kind, server)
        proposed(spec, parent())
        with pytest.raises(Overloaded) as raised:
            proposed(spec, parent())
        proposed(spec, parent())

        assert raised.value.retry_after == 0
        assert server.count == {"requests": 3, "answered": 2, "overloaded": 1}


@pytest.mark.parametrize("can", [{}, {"schema": False}, {"schema": False, "tools": False}])
def test_the_doctor_finds_it_ready_by_form_by_tool_and_by_text(spec: ModelSpec, can: dict[str, bool]) -> None:
    able = spec.model_copy(update={"can": Can(**{"thinking": spec.can.thinking, **can})})

    assert tiny_call(open_provider(able), able) == ""


def test_a_form_that_it_does_not_know_is_turned_down_and_the_next_question_answered(spec: ModelSpec) -> None:
    form = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    strange = Question("", (Said("Which?"),), 100, schema=Schema("colour", form))

    with pytest.raises(NotTaken, match="400, .*no form with the fields .'colour'."):
        open_provider(spec).reply(strange)

    assert tiny_call(open_provider(spec), spec) == ""


@pytest.mark.parametrize(("wire", "body"), [
    (WIRES[0], {"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
        {"role": "user", "content": "and the result?"}]}),
    (WIRES[0], {"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "of y"}]},
        {"role": "user", "content": "b"}]}),
    (WIRES[1], {"model": "m", "input": [
        {"role": "user", "content": "a"},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"role": "user", "content": "and the result?"}]}),
    (WIRES[2], {"model": "m", "messages": [
        {"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "c", "content": "of no call"}]}),
    (WIRES[2], {"model": "m", "messages": [{"role": "assistant", "content": "I begin."}]}),
])  # fmt: skip
def test_what_a_real_server_refuses_is_refused(wire: str, body: object, server: RecordedServer) -> None:
    client = OpenAI(api_key="k", base_url=server.url, max_retries=0)

    with pytest.raises(Exception, match="400"):
        client.post(wire, cast_to=dict, body=body)
