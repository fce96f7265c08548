"""How people name an environment, and what they are told when a name fits none or several."""

from __future__ import annotations

import pytest

from lineages.library.models import Environment
from lineages.library.references import NoSuchEnvironment, find
from tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.lifecycle]


@pytest.fixture
def tree() -> dict[str, Environment]:
    """A seed with two children and a grandchild, by reference."""
    lineage = factories.lineage("words")
    seed = factories.seed(lineage)
    first = factories.environment(lineage, generation=1, parent=seed)
    second = factories.environment(lineage, generation=1, parent=seed, k=2)
    tenth = factories.environment(lineage, generation=10, parent=first)
    return {each.reference: each for each in (seed, first, second, tenth)}


@pytest.mark.parametrize("reference", ["words/g0", "words/g1", "words/g1.2", "words/g10"])
def test_every_environment_is_found_by_the_reference_it_shows(
    reference: str, tree: dict[str, Environment]
) -> None:
    assert find(reference) == tree[reference]


def test_the_first_of_a_generation_may_be_named_with_its_k(tree: dict[str, Environment]) -> None:
    assert find("words/g1.1") == tree["words/g1"]


@pytest.mark.parametrize("length", [6, 12, 64])
def test_a_digest_is_found_by_its_beginning(length: int, tree: dict[str, Environment]) -> None:
    child = tree["words/g1.2"]

    assert find(child.snapshot.digest[:length]) == child


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("words/g2", "there is no environment 'words/g2'"),
        ("words/g1.3", "there is no environment"),
        ("words/g1.0", "there is no environment"),
        ("others/g0", "there is no environment"),
        ("words/g99999999999999999999", "there is no environment"),
        ("words/1", "is not a reference: write <lineage>/g<generation>, e.g. words/g0"),
        ("words/", "is not a reference"),
        ("words/g", "is not a reference"),
        ("words/g-1", "is not a reference"),
        ("words/g1.x", "is not a reference"),
        ("words/g1.2.3", "is not a reference"),
        ("words/gg1", "is not a reference"),
        ("words/g1/", "is not a reference"),
        ("words", "neither <lineage>/g<generation> nor at least 6 digits of a digest"),
        ("", "neither"),
        ("abcde", "at least 6 digits"),
        ("ABCDEF0", "neither"),
        ("%%%%%%", "neither"),
        ("000000", "no environment's digest begins with 000000"),
    ],
)
def test_a_name_that_fits_nothing_is_told_what_is_wrong(
    reference: str, says: str, tree: dict[str, Environment]
) -> None:
    with pytest.raises(NoSuchEnvironment, match=says):
        find(reference)


def test_a_beginning_of_two_digests_names_both_and_asks_for_more(tree: dict[str, Environment]) -> None:
    one, other = tree["words/g0"].snapshot, tree["words/g1"].snapshot
    for snapshot, last in ((one, "1"), (other, "2")):
        snapshot.digest = "abcdef" + "0" * 57 + last
        snapshot.save()

    with pytest.raises(NoSuchEnvironment, match="give more digits") as told:
        find("abcdef0")

    assert "words/g0" in str(told.value) and "words/g1" in str(told.value)
    assert find(one.digest) == tree["words/g0"]


def test_a_digest_that_two_environments_share_asks_for_one_of_their_names(
    tree: dict[str, Environment],
) -> None:
    seed = tree["words/g0"]
    twin = factories.environment(seed.lineage, generation=2, parent=seed, snapshot=seed.snapshot)

    with pytest.raises(NoSuchEnvironment, match="name one of them") as told:
        find(seed.snapshot.digest)

    assert "words/g0" in str(told.value) and twin.reference in str(told.value)
