"""A branch from any generation by another recipe."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.casting import Cast
from agents.models import JUDGING, Role
from agents.scripted import Script
from lineages.growth import branching
from lineages.growth.branching import Difference
from lineages.growth.evolving import RecipeSettings, start
from lineages.growth.models import Evolution
from lineages.library.models import Environment
from tests import factories
from tests.lineages.conftest import begin, grow
from tests.lineages.test_decisions import vouch_for_seed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def grown(seed: Environment, script: Script) -> list[Environment]:
    """A lineage of two generations."""
    vouch_for_seed(seed)
    grow(begin(seed, generations=2, directions=("length",)))
    return list(seed.lineage.environments.order_by("generation"))


def test_another_recipe_grows_a_branch_from_any_generation(grown: list[Environment]) -> None:
    low = RecipeSettings(author="scripted", directions=("length",), profile="paper", effort="low", seed=7)
    first = Evolution.objects.order_by("pk").first()
    assert first is not None

    for generation, k in [(0, 2), (1, 2), (2, 1)]:
        branch = grow(start(grown[generation], low))

        assert branch.status == "accepted" and branch.child is not None
        assert (branch.child.parent, branch.child.generation) == (grown[generation], generation + 1)
        assert branch.child.k == k, "k is the next one of its generation"
        assert branch.recipe != first.recipe
        names = [change.name for change in branching.differences(first.recipe, branch.recipe)]
        assert names == ["effort", "seed"]


def test_the_pages_say_what_a_branch_differs_in_and_the_tree_shows_it(grown: list[Environment]) -> None:
    client = Client()
    client.force_login(factories.user("ada"))
    parent = grown[1]
    form = client.get(f"/environments/{parent.pk}/evolve/").content.decode()
    assert "It was grown" in form and "effort <strong>high</strong>" in form
    assert re.search(r'value="high"[^>]*checked', form)
    assert len(re.findall(r"\schecked\s*>", form)) == 4, "effort, direction, gates, who decides: as it was"

    fields = {"generations": 1, "effort": "low", "directions": ["length"], "approval": "plans", "seed": 0}
    answer = client.post(f"/environments/{parent.pk}/evolve/", fields)

    page = client.get(answer["Location"]).content.decode()
    assert "A branch:" in page and "Effort: <strong>low</strong>, there high" in page
    assert "Who decides: <strong>plans</strong>, there auto" in page
    child = factories.environment(parent.lineage, generation=2, parent=parent, k=2)
    tree = client.get(f"/lineages/{parent.lineage.slug}/").content.decode()
    assert f'aria-label="{child.reference};' in tree


def test_models_stand_in_words_and_a_branch_names_only_the_roles_that_differ() -> None:
    opus = Cast(dict.fromkeys(Role, "opus"))
    careful = Cast({**opus.models, **dict.fromkeys(JUDGING, "gpt")})
    before = factories.recipe(cast=opus.text, author="opus")
    after = factories.recipe(cast=careful.text, author="opus")
    without = factories.recipe(author="opus")
    parent = factories.seed()
    factories.evolution(parent, recipe=after)
    client = Client()
    client.force_login(factories.user("ada"))

    form = client.get(f"/environments/{parent.pk}/evolve/").content.decode()

    assert "models <strong>opus; plan reviewer and rubric verifier by gpt</strong>" in form
    assert "proposer=" not in form
    assert branching.differences(before, after) == [
        Difference(
            "models", "plan reviewer and rubric verifier by opus", "plan reviewer and rubric verifier by gpt"
        )
    ]
    assert branching.differences(without, before) == [Difference("models", "none", "opus")]
    assert branching.differences(before, factories.recipe(cast=opus.text, author="opus")) == []


def test_equal_settings_are_the_same_recipe_and_no_branch(grown: list[Environment]) -> None:
    made = branching.grown_by(grown[2])
    assert made is not None

    again = start(grown[2], RecipeSettings(author="scripted", directions=("length",), profile="paper"))

    assert again.recipe == made.recipe
    assert branching.differences(made.recipe, again.recipe) == []
