"""no_undo: what is there already is not accepted again."""

from __future__ import annotations

from lineages.gates import no_undo
from lineages.gates.base import Outcome, Result
from lineages.gates.surroundings import Archive, Earlier
from sandboxes.task import Task
from tests.gates.subjects import Changes, changed, subject
from tests.tasks import FIRST_UNIT, words

SEED = words()


def with_step(task: Task, name: str, does: str) -> Task:
    """One more block of the solution, one more unit, one more sentence and one more input."""
    return changed(
        task,
        {
            "instruction.md": f"{task.text('instruction.md')}Write what {does} says to /app/out/{name}.\n",
            f"solution/parts/{name}.sh": f"#!/bin/bash\nsort /app/in/{name} | {does} > /app/out/{name}\n",
            f"tests/units/{name}.sh": FIRST_UNIT.replace("first", name),
            f"environment/in/{name}": f"what {does} needs\n",
        },
    )


def without_step(task: Task, name: str) -> Changes:
    return {
        f"solution/parts/{name}.sh": None,
        f"tests/units/{name}.sh": None,
        f"environment/in/{name}": None,
    }


PARENT = with_step(SEED, "packed", "gzip -9 --stdout")


def asked(child: Task, parent: Task, *earlier: Earlier) -> Outcome:
    return no_undo.check(subject(task=child, parent=parent, archive=Archive("0" * 64, earlier)))


def ancestor(task: Task, generation: int) -> Earlier:
    return Earlier(f"words/g{generation}", "ancestor", task.digest, task)


def sibling(task: Task) -> Earlier:
    return Earlier("words/g2", "sibling", task.digest, task)


LINE = (ancestor(PARENT, 1), ancestor(SEED, 0))


def test_without_an_archive_nothing_is_compared() -> None:
    assert no_undo.check(subject()).result is Result.NOT_APPLICABLE


def test_a_child_with_a_step_of_its_own_passes() -> None:
    said = asked(with_step(PARENT, "counted", "uniq --count"), PARENT, *LINE)
    assert (said.result, said.findings) == (Result.PASSED, ())
    assert "none of the 2 earlier environments" in said.summary


def test_an_earlier_state_is_known_again_under_another_name_and_with_other_comments() -> None:
    back = changed(
        SEED,
        {
            "task.toml": SEED.text("task.toml").replace("words", "other"),
            "solution/solve.sh": f"{SEED.text('solution/solve.sh')}\n# Once more.\n",
        },
    )
    said = asked(back, PARENT, *LINE)
    assert said.result is Result.FAILED
    assert said.summary.startswith("It is words/g0 again")


def test_taking_back_the_parents_step_is_no_step_however_it_is_worded() -> None:
    reworded = {"instruction.md": "Write the word ready to the file first below /app/out, please.\n"}
    back = changed(PARENT, {**without_step(PARENT, "packed"), **reworded})
    said = asked(back, PARENT, *LINE)
    (finding,) = said.findings
    assert (said.result, finding.path) == (Result.FAILED, "solution/parts/packed.sh")
    assert "as it was in words/g0" in finding.text


def test_a_scenario_replaced_by_another_kind_is_new() -> None:
    replaced = with_step(changed(PARENT, without_step(PARENT, "packed")), "signed", "sha256sum --tag")
    assert asked(replaced, PARENT, *LINE).result is Result.PASSED


def test_taking_back_an_older_step_is_no_step_either() -> None:
    both = with_step(with_step(PARENT, "counted", "uniq --count"), "signed", "sha256sum --tag")
    said = asked(changed(both, without_step(both, "counted")), both, ancestor(both, 3), *LINE)
    assert (said.result, said.findings[0].path) == (Result.FAILED, "solution/parts/counted.sh")


def test_the_change_of_a_sibling_is_not_made_twice() -> None:
    one = with_step(PARENT, "counted", "uniq --count")
    renamed = changed(
        one, {"solution/parts/counted.sh": f"{one.text('solution/parts/counted.sh')}# As ever.\n"}
    )
    said = asked(renamed, PARENT, *LINE, sibling(one))
    assert (said.result, "words/g2" in said.summary) == (Result.FAILED, True)


def test_another_step_on_the_same_text_is_another_change() -> None:
    one, other = with_step(PARENT, "counted", "uniq --count"), with_step(PARENT, "signed", "sha256sum --tag")
    assert asked(one, PARENT, *LINE, sibling(other)).result is Result.PASSED


def test_a_near_duplicate_of_another_lineage_is_told_with_its_likeness() -> None:
    alike = Earlier("letters/g0", "elsewhere", "1" * 64, likeness=0.93)
    said = no_undo.check(subject(archive=Archive("0" * 64, (alike,))))
    assert said.result is Result.FAILED
    assert "about 93% those of letters/g0" in said.summary


def test_a_little_in_common_is_no_duplicate() -> None:
    alike = Earlier("letters/g0", "elsewhere", "1" * 64, likeness=0.6)
    assert no_undo.check(subject(archive=Archive("0" * 64, (alike,)))).result is Result.PASSED
