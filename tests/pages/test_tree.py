"""Where the nodes of a lineage's tree stand."""

from __future__ import annotations

from itertools import pairwise

from lineages.library.tree import LANE, RADIUS, STEP, Item, layout


def item(key: str, parent: str = "", column: int = 0, **fields: object) -> Item:
    named = {"label": key, "kind": "skill", "value": "1.00", "href": f"/{key}", "title": key}
    return Item(key=key, parent=parent, column=column, **{**named, **fields})  # type: ignore[arg-type]


def test_an_empty_lineage_has_an_empty_tree() -> None:
    assert layout([]).nodes == ()


def test_a_chain_stays_in_one_lane_with_a_step_between_generations() -> None:
    nodes = layout([item("a"), item("b", "a", 1), item("c", "b", 2)]).nodes
    assert {node.y for node in nodes} == {nodes[0].y}
    assert [right.x - left.x for left, right in pairwise(nodes)] == [STEP, STEP]


def test_a_second_child_opens_a_lane_below_everything_the_first_one_grew() -> None:
    items = [item("a"), item("b", "a", 1), item("late", "a", 1), item("c", "b", 2), item("c2", "b", 2)]
    lanes = {node.item.key: node.lane for node in layout(items).nodes}
    assert lanes == {"a": 0, "b": 0, "c": 0, "c2": 1, "late": 2}


def test_no_two_nodes_share_a_place() -> None:
    items = [item("0")] + [item(str(n), str((n - 1) // 3), 1 + (n > 3) + (n > 12)) for n in range(1, 40)]
    nodes = layout(items).nodes
    assert len(nodes) == len(items) == len({(node.x, node.y) for node in nodes})


def test_an_edge_runs_from_rim_to_rim() -> None:
    tree = layout([item("a"), item("b", "a", 1)])
    parent, child = tree.nodes
    assert tree.edges[0].path == f"M{parent.x + RADIUS} {parent.y}H{child.x - RADIUS}"


def test_an_edge_to_a_lower_lane_ends_at_that_lanes_height() -> None:
    tree = layout([item("a"), item("b", "a", 1), item("c", "a", 1)])
    parent, _, lower = tree.nodes
    assert lower.y - parent.y == LANE
    assert f" {lower.y}H{lower.x - RADIUS}" in tree.edges[1].path


def test_an_evolution_at_work_is_dashed_with_its_edge() -> None:
    tree = layout([item("a"), item("b", "a", 1, tentative=True)])
    assert [edge.tentative for edge in tree.edges] == [True]


def test_a_node_whose_parent_is_not_drawn_is_a_root_of_its_own() -> None:
    tree = layout([item("a"), item("stray", "gone", 3)])
    assert tree.edges == ()
    assert {node.lane for node in tree.nodes} == {0, 1}


def test_the_dots_of_the_gates_stand_centred_under_the_node() -> None:
    (node,) = layout([item("a", outcomes=("passed", "failed", "passed"))]).nodes
    assert [dot.outcome for dot in node.dots] == ["passed", "failed", "passed"]
    assert node.dots[0].x + node.dots[-1].x == 2 * node.x


def test_the_dots_of_many_gates_stay_between_the_nodes_beside() -> None:
    node, beside = layout([item("a", outcomes=("passed",) * 20), item("b", "a", 1)]).nodes
    assert len(node.dots) == 20
    assert all(abs(dot.x - node.x) < (beside.x - node.x) // 2 for dot in node.dots)
    assert len({(dot.x, dot.y) for dot in node.dots}) == 20


def test_a_lineage_of_five_hundred_generations_does_not_recurse() -> None:
    tree = layout([item(str(n), str(n - 1), n) for n in range(500)])
    assert len(tree.edges) == 499


def test_the_drawing_is_large_enough_for_every_node() -> None:
    tree = layout([item("a"), item("b", "a", 1), item("c", "a", 1)])
    assert all(node.x + RADIUS < tree.width and node.y + RADIUS < tree.height for node in tree.nodes)
