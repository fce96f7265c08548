"""Two tasks against each other: what is shown, how it is addressed, and what a page never does for size."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from lineages.growth import sides
from lineages.library import comparing, diff_rendering, differences, differing
from lineages.library.models import Environment
from lineages.templatetags.comparing import others
from sandboxes.files import TaskFile
from tests import factories

Files = Mapping[str, str | bytes | TaskFile | None]
PATH = "environment/data/x.csv"


def url(left: str, right: str) -> str:
    return reverse("compare_detail", args=[left, right])


def pair_of(before: Files, after: Files, slug: str = "words") -> tuple[Environment, Environment]:
    """A seed and its child with these files."""
    seed = factories.seed(factories.lineage(slug), snapshot=factories.snapshot({"z": "0", **before}))
    child = factories.environment(
        seed.lineage, generation=1, parent=seed, snapshot=factories.snapshot({"z": "0", **after})
    )
    return seed, child


@pytest.fixture
def compared(web: Client) -> Callable[..., Any]:
    """The answer to comparing two tasks that differ in these files; other arguments go into the address."""

    def get(before: Files, after: Files, **query: str) -> Any:
        pair_of(before, after)
        return web.get(url("words:g0", "words:g1"), query)

    return get


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", response.content.decode()))


def notes(response: Any) -> dict[str, tuple[str, ...]]:
    return {file.change.path: file.notes for file in response.context["files"]}


# what it shows


def test_it_shows_both_sides_mutation_terms_sequence_and_files_in_this_order(web: Client) -> None:
    factories.chain(3, of=factories.lineage("words"))
    html = web.get(url("words:g0", "words:g3")).content.decode()
    places = [html.index(f'id="{name}-title"') for name in ("mutation", "terms", "sequence", "files")]
    assert places == sorted(places) and html.index('class="sides"') < places[0]
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))
    assert "words/g0 against words/g3" in said
    assert "environment · generation 3 · scenario · DT 8.00 nats" in said
    assert "DT difficulty N + R, nats 5.00 8.00 +3.00" in said


def test_mutation_counts_tokens_files_and_test_units(compared: Callable[..., Any]) -> None:
    response = compared(
        {"instruction.md": "Count the words.", "environment/a": "1"},
        {"instruction.md": "Count the long words.", "environment/b": "2", "tests/units/01-x": "t"},
    )
    said = text(response)
    assert "Instruction tokens 20 % 4 1 0 –" in said
    assert "Environment files 50 % 2 1 1 0" in said
    assert "Verifier test units 100 % 0 1 1 0" in said


def test_changed_files_come_first_then_added_removed_renamed_and_modes(compared: Callable[..., Any]) -> None:
    response = compared(
        {"environment/a": "1", "gone": "g", "environment/old": "long content", "environment/m": "m"},
        {
            "environment/a": "2",
            "come": "c",
            "environment/new": "long content",
            "environment/m": TaskFile(b"m", 0o755),
        },
    )
    assert [(each.kind, each.path) for each in response.context["changes"]] == [
        ("changed", "environment/a"),
        ("added", "come"),
        ("removed", "gone"),
        ("renamed", "environment/new"),
        ("mode", "environment/m"),
    ]
    assert notes(response)["environment/m"] == ("Mode 644 → 755.",)
    assert notes(response)["environment/new"] == ("The content is the same.",)
    assert "environment/old → environment/new" in text(response)
    assert "7 files the same on both sides" in text(response)
    assert '<details class="listed">' in response.content.decode(), "the unchanged ones are not open"


def test_content_that_went_away_twice_is_not_called_renamed(compared: Callable[..., Any]) -> None:
    response = compared({"a": "same text", "b": "same text"}, {"c": "same text"})
    assert {each.kind for each in response.context["changes"]} == {"added", "removed"}


def test_the_words_that_changed_are_marked_inside_their_lines(compared: Callable[..., Any]) -> None:
    html = compared({"s.sh": "cut -f2 a.csv\n"}, {"s.sh": "cut -f3 a.csv\n"}).content.decode()
    assert re.search(r'<del>.*?<span class="[^"]*\bword">f2</span>.*?</del>', html)
    assert re.search(r'<ins>.*?<span class="[^"]*\bword">f3</span>.*?</ins>', html)


def test_code_has_syntax_colours_by_its_name_or_its_first_line(compared: Callable[..., Any]) -> None:
    html = compared(
        {"a.py": "x = 1\n", "run": "#!/bin/bash\necho a\n"},
        {"a.py": "def x():\n", "run": "#!/bin/bash\necho 'b'\n"},
    ).content.decode()
    assert '<span class="k">def</span>' in html or '<span class="k word">def</span>' in html
    assert '<span class="nb">echo</span>' in html


def test_equal_sides_say_that_every_file_is_the_same(web: Client) -> None:
    factories.seed(factories.lineage("words"))
    response = web.get(url("words:g0", "words:g0"))
    assert "Every file is the same on both sides." in text(response)
    assert response.context["changes"] == ()


def test_side_by_side_is_the_default_and_the_address_alone_remembers_unified(web: Client) -> None:
    pair_of({PATH: "a\nb\n"}, {PATH: "a\nc\n"})
    address = url("words:g0", "words:g1")
    assert 'class="compared code split-view"' in web.get(address).content.decode()
    assert 'class="compared code unified-view"' in web.get(address, {"view": "unified"}).content.decode()
    assert 'class="compared code split-view"' in web.get(address, {"view": "<x>"}).content.decode()


def test_exchanging_the_sides_keeps_the_view_and_the_file_that_is_open(web: Client) -> None:
    moved = "a content that moved\n"
    pair_of({"a b?.txt": "1", "old": moved, "gone": "1"}, {"a b?.txt": "2", "new": moved, "come": "2"})
    address = url("words:g0", "words:g1")
    for file in ("a b?.txt", "new", "gone", "come", ""):
        html = web.get(address, {"view": "unified", "file": file}).content.decode()
        [link] = re.findall(r'href="([^"]+)"\s+data-key="x"', html)
        exchanged = web.get(unescape(link))
        assert exchanged.status_code == 200 and exchanged.context["view"] == "unified"
        assert (exchanged.context["left"].name, exchanged.context["right"].name) == ("words:g1", "words:g0")
        assert bool(exchanged.context["alone"]) is bool(file)
    assert "file=old" in unescape(
        re.findall(r'href="([^"]+)"\s+data-key="x"', web.get(address, {"file": "new"}).content.decode())[0]
    )


def test_a_hunk_has_three_lines_around_it_and_a_file_alone_has_all(web: Client) -> None:
    lines = [f"line {n}" for n in range(1, 41)]
    pair_of({PATH: "\n".join(lines)}, {PATH: "\n".join([*lines[:19], "other", *lines[20:]])})
    address = url("words:g0", "words:g1")
    hunk, whole = web.get(address).content.decode(), web.get(address, {"file": PATH}).content.decode()
    assert f'id="{PATH}:R17"' in hunk and f'id="{PATH}:R23"' in hunk
    assert f'id="{PATH}:R16"' not in hunk and "16 unchanged lines" in hunk and "17 unchanged lines" in hunk
    assert all(f'id="{PATH}:R{n}"' in whole for n in range(1, 41)) and "unchanged line" not in whole
    assert "Whole file" in hunk and "Whole file" not in whole
    assert web.get(address, {"file": "z"}).status_code == 404, "it does not differ"


def test_each_line_has_an_address_of_its_own_and_its_number_leads_there(compared: Callable[..., Any]) -> None:
    html = compared(
        {"a b.txt": "1\n2\n", "a%20b.txt": "1\n"}, {"a b.txt": "1\n3\n", "a%20b.txt": "2\n"}
    ).content
    numbers = re.findall(r'<a id="([^"]+)" href="#([^"]+)">', html.decode())
    ids = re.findall(r'\sid="([^"]+)"', html.decode())
    assert numbers and all(name == target for name, target in numbers)
    assert len(ids) == len(set(ids)) and not any(" " in each for each in ids)
    assert {"a%20b.txt:L2", "a%20b.txt:R2", "a%2520b.txt:R1"} <= {name for name, _ in numbers}


def test_line_ends_final_line_feeds_and_undecodable_bytes_are_said(compared: Callable[..., Any]) -> None:
    response = compared(
        {"crlf": "a\r\nb\r\n", "end": "a\n", "raw": b"\xff\n", "empty": None},
        {"crlf": "a\nb\n", "end": "a", "raw": b"\\xff\n", "empty": ""},
    )
    assert notes(response) == {
        "crlf": ("Only line ends differ.",),
        "end": ("Only the left one ends with a line feed.",),
        "raw": ("Only bytes that are not UTF-8 differ.",),
        "empty": ("The file is empty.",),
    }


def test_a_link_is_shown_as_a_link_and_has_nothing_to_download(compared: Callable[..., Any]) -> None:
    response = compared(
        {"environment/l": TaskFile(link="text.txt")}, {"environment/l": TaskFile(link="Dockerfile")}
    )
    assert notes(response)["environment/l"] == ("A symbolic link, shown by its target.",)
    assert "→ text.txt" in text(response) and "→ Dockerfile" in text(response)
    assert "/raw/environment/l" not in response.content.decode()


def test_a_link_in_a_files_place_is_named_by_its_side_and_never_taken_for_equal_text(
    compared: Callable[..., Any],
) -> None:
    response = compared(
        {"came": "→ x\n", "went": TaskFile(link="x")}, {"came": TaskFile(link="x"), "went": "→ x\n"}
    )
    assert notes(response) == {
        "came": ("The right one is a symbolic link, shown by its target.",),
        "went": ("The left one is a symbolic link, shown by its target.",),
    }


def test_an_empty_file_is_not_said_to_end_with_a_line_feed(compared: Callable[..., Any]) -> None:
    assert notes(compared({"came": "", "went": "a"}, {"came": "a", "went": ""})) == {"came": (), "went": ()}


def test_a_binary_file_is_named_by_its_sizes_and_offered_on_each_side(compared: Callable[..., Any]) -> None:
    response = compared({"a.bin": b"\0" * 12_345}, {"a.bin": b"\0" * 12_400})
    assert notes(response)["a.bin"] == ("Binary, 12,345 → 12,400 bytes.",)
    html = response.content.decode()
    for side in Environment.objects.all():
        assert f'href="{reverse("environment_raw", args=[side.pk, "a.bin"])}"' in html
    assert '<table class="compared' not in html


def test_what_is_on_one_side_only_has_one_size(compared: Callable[..., Any]) -> None:
    response = compared({}, {"a.bin": b"\0" * 12_400})
    assert notes(response) == {"a.bin": ("Binary, 12,400 bytes.",)}


# what nobody may do with it


def test_hostile_content_and_names_are_text(compared: Callable[..., Any]) -> None:
    name = "environment/<img src=x>'.html"
    html = compared(
        {name: "<script>alert(1)</script>\n"}, {name: "<script>alert(2)</script> &amp; {{ x }}\n"}
    ).content.decode()
    assert "<script>alert" not in html and "<img" not in html
    assert "&amp;amp;" in html and "{{ x }}" in re.sub(r"<[^>]+>", "", html)


def test_nothing_hides_in_a_comparison(compared: Callable[..., Any]) -> None:
    path = "environment/a\U000e0041.txt"
    html = compared({path: "if\u202e\u3164\r\x07\n"}, {path: "if\n"}).content.decode()
    assert not set(html) & set("\U000e0041\u202e\u3164\x07")
    said = re.sub(r"<[^>]+>", "", html)
    assert "if⟨U+202E⟩⟨U+3164⟩\\r\\x07" in said and "a⟨U+E0041⟩.txt" in said


@pytest.mark.parametrize(
    "name",
    [
        "words",
        "words:g",
        "words:g-1",
        "words:g1.",
        "words:g" + "9" * 40,
        "candidate:",
        "candidate:x",
        "a\0:g0",
    ]
    + ["candidate:" + "9" * 30, "candidate:99", "nothing:g0", "words:g7", "..:g0", "é:g0", "words:g١"],
)
def test_a_name_that_fits_nothing_is_not_found(web: Client, name: str) -> None:
    factories.seed(factories.lineage("words"))
    assert web.get(url(name, "words:g0")).status_code == 404
    assert web.get(url("words:g0", name)).status_code == 404


def test_a_name_of_any_characters_opens_alone_and_downloads(
    compared: Callable[..., Any], web: Client
) -> None:
    names = [
        "environment/a b#c?d%e&f=g+h.txt", "environment/quo\"te'.txt", "environment/a:L1",
        "environment/%2e%2e/x", "environment/é ü", "environment/" + "d/" * 100 + "x",
    ]  # fmt: skip
    response = compared(dict.fromkeys(names, "1\n2\n"), dict.fromkeys(names, "1\n3\n"))
    html = response.content.decode()
    downloads = [unescape(each) for each in re.findall(r'href="([^"]+/raw/[^"]+)"', html)]
    assert len(downloads) == 2 * len(names)
    assert {b"".join(web.get(each).streaming_content) for each in downloads} == {b"1\n2\n", b"1\n3\n"}
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for name in names:
        alone = web.get(url("words:g0", "words:g1"), {"file": name})
        assert [file.change.path for file in alone.context["files"]] == [name]


# what is too much


@pytest.mark.timeout(30)
def test_a_line_of_five_megabytes_is_answered_with_a_sentence(compared: Callable[..., Any]) -> None:
    response = compared({PATH: "a b" * 1_700_000}, {PATH: "a b" * 1_700_000 + "c"})
    assert notes(response)[PATH] == ("Too large to compare here: 5,100,000 → 5,100,001 bytes.",)
    assert len(response.content) < 100_000 and f"/raw/{PATH}" in response.content.decode()


@pytest.mark.timeout(30)
def test_two_hundred_thousand_lines_are_answered_with_a_sentence(compared: Callable[..., Any]) -> None:
    response = compared({PATH: "\n" * 200_000}, {PATH: "\n" * 200_001})
    assert notes(response)[PATH] == ("Too large to compare here: 200,000 → 200,001 lines.",)
    assert len(response.content) < 100_000


@pytest.mark.timeout(30)
def test_repetitive_files_are_given_up_rather_than_waited_for(compared: Callable[..., Any]) -> None:
    dice = random.Random(1)
    before, after = ("".join(dice.choice(["x\n", "y\n", "\n"]) for _ in range(15_000)) for _ in range(2))
    many = {f"environment/{n}": before for n in range(5)}
    response = compared(many, {path: f"{n}\n{after}" for n, path in enumerate(many)})
    first, *_, last = (said for said in notes(response).values())
    assert first == ("Too different to be lined up here: 15,000 → 15,001 lines.",)
    assert last == first, "the page's allowance was spent before"
    assert "Open this file alone" in text(response)


def test_a_long_line_is_cut_with_a_sentence(compared: Callable[..., Any]) -> None:
    response = compared({PATH: "a" * 300_000 + "\n"}, {PATH: "b" * 300_000 + "\n"})
    assert notes(response)[PATH] == ("Lines are cut at 600 characters; the download has them whole.",)
    assert "299,400 more characters" in text(response) and len(response.content) < 100_000


def test_what_is_not_coloured_or_marked_for_its_size_is_said(compared: Callable[..., Any]) -> None:
    long = "".join(f"value = {n}\n" for n in range(6_000))
    block = "".join(f"value = {n} + 1\n" for n in range(40))
    dice = random.Random(1)
    words = [" ".join(dice.choice("abcd") for _ in range(250)) for _ in range(2)]
    response = compared(
        {"long.py": long, "long.txt": long, "block.py": block, "words.py": words[0], "short.py": "a = 1\n"},
        {
            "long.py": f"{long}a = 1\n",
            "long.txt": f"{long}a = 1\n",
            "block.py": block.replace("+", "-"),
            "words.py": words[1],
            "short.py": "a = 2\n",
        },
    )
    assert notes(response) == {
        "long.py": ("No syntax colours: the file is longer than 64,000 characters.",),
        "long.txt": (),
        "block.py": (diff_rendering.UNMARKED,),
        "words.py": (diff_rendering.UNMARKED,),
        "short.py": (),
    }


def test_a_page_that_has_coloured_and_marked_enough_says_so_at_each_file(
    compared: Callable[..., Any], web: Client
) -> None:
    many = {f"{n}.py": "".join(f"value = {n} + {line}\n" for line in range(2_000)) for n in range(6)}
    said = list(notes(compared(many, {path: f"{text}a = 1\n" for path, text in many.items()})).items())
    assert said[0][1] == ()
    assert said[-1][1][0].startswith("No syntax colours: this page colours as much as it can.")
    assert notes(web.get(url("words:g0", "words:g1"), {"file": said[-1][0]}))[said[-1][0]] == ()
    change = comparing.compare(*Environment.objects.order_by("pk").values_list("snapshot", flat=True))[
        0
    ].changes[0]
    spent = diff_rendering.Ink(marking=differing.Budget(0))
    alike = differences.Difference(
        change, ("a = 1",), ("a = 2",), (differing.Hunk(0, (differing.Row(0, 0, alike=True),)),)
    )
    assert diff_rendering.draw(alike, spent, "split").notes == (diff_rendering.UNMARKED,)


def test_many_lines_end_with_a_sentence_and_a_link_to_the_file_alone(compared: Callable[..., Any]) -> None:
    changed = "".join(f"{n} new\n" for n in range(700))
    response = compared(
        {PATH: "".join(f"{n} old\n" for n in range(700)), "one": None}, {PATH: changed, "one": changed}
    )
    assert notes(response)[PATH] == ("200 more lines are not shown.", diff_rendering.UNMARKED)
    assert notes(response)["one"] == ("640 more lines are not shown.",)
    assert response.content.decode().count("Open this file alone") == 2
    assert [(file.difference.added, file.difference.removed) for file in response.context["files"]] == [
        (700, 700),
        (700, 0),
    ]


def test_a_page_that_is_full_says_so_and_the_file_still_opens_alone(db: Any) -> None:
    seed, child = pair_of({"a": "1\n", "b": "1\n"}, {"a": "2\n", "b": "2\n"})
    comparison, _ = comparing.compare(seed.snapshot_id, child.snapshot_id)
    for page in (differences.Allowance(bytes=6), differences.Allowance(rows=1)):
        first, second = (differences.difference(change, page) for change in comparison.changes)
        assert first.notes == () and len(first.hunks) == 1
        assert second.notes == ("Not compared here: this page shows as much as it can.",)
        assert second.more and second.hunks == ()
    alone = differences.difference(comparison.changes[1], differences.Allowance(), alone=True)
    assert alone.notes == () and not alone.more and len(alone.hunks) == 1


def test_more_files_than_a_page_draws_are_listed_with_their_links(compared: Callable[..., Any]) -> None:
    many = {f"environment/many/{n:04}": f"{n}\n" for n in range(230)}
    response = compared({"z": "0"}, many)
    assert len(response.context["files"]) == 200 and response.context["rest_count"] == 30
    assert "30 more files differ, and are not shown on this page" in text(response)
    assert "file=environment%2Fmany%2F0229" in response.content.decode()


def test_content_that_was_lost_is_said_where_it_would_stand(
    compared: Callable[..., Any], web: Client
) -> None:
    compared({PATH: "only here 1\n"}, {PATH: "only here 2\n"})
    file = Environment.objects.get(generation=1).snapshot.files.get(path=PATH)
    (Path(settings.BLOBS) / file.blob_id[:2] / file.blob_id[2:]).unlink()
    response = web.get(url("words:g0", "words:g1"))
    assert response.status_code == 200
    assert notes(response)[PATH] == ("Its stored content is lost: restore the blob folder from a backup.",)


def test_the_number_of_queries_does_not_grow_with_the_files(
    web: Client, django_assert_max_num_queries: Any
) -> None:
    many = {f"environment/{n}": f"{n}\n" for n in range(120)}
    pair_of({"a": "1"}, {"a": "2"}, "few")
    pair_of(dict.fromkeys(many, "old\n"), many, "many")
    for slug in ("few", "many"):
        with django_assert_max_num_queries(6):
            assert web.get(url(f"{slug}:g0", f"{slug}:g1")).status_code == 200


# candidates, and other lineages


def test_a_candidate_is_compared_by_its_plans_sequence_and_offers_its_own_files(web: Client) -> None:
    seed = factories.seed(factories.lineage("words"))
    candidate = factories.waiting_candidate(seed, snapshot=factories.snapshot({"environment/new": "x\n"}))
    response = web.get(url("words:g0", f"candidate:{candidate.pk}"))
    said, html = text(response), response.content.decode()
    assert f"words/g0 against candidate {candidate.pk}" in said
    assert "first build for words/g1 · generation 1 · scenario" in said
    assert "records split over shuffled parts" in said
    raw = reverse("candidate_raw", args=[candidate.pk, "environment/new"])
    assert f'href="{raw}"' in html and f'href="{reverse("candidate_detail", args=[candidate.pk])}"' in html
    download = web.get(raw)
    assert b"".join(download.streaming_content) == b"x\n"
    assert (
        download["Content-Type"] == "application/octet-stream"
        and "attachment" in download["Content-Disposition"]
    )
    assert web.get(reverse("candidate_raw", args=[candidate.pk, "nope"])).status_code == 404


def test_two_candidates_of_two_lineages_compare_too(web: Client) -> None:
    one, other = factories.waiting_candidate(), factories.waiting_candidate()
    assert web.get(url(f"candidate:{one.pk}", f"candidate:{other.pk}")).status_code == 200


def test_difficulties_of_different_domains_come_with_a_warning(web: Client) -> None:
    for slug, domain in (("one", "data"), ("two", "data"), ("three", "logs")):
        factories.seed(factories.lineage(slug, domain=domain))
    warned = "the differences say little"
    assert warned not in text(web.get(url("one:g0", "two:g0")))
    assert warned in text(web.get(url("one:g0", "three:g0")))


def test_the_second_environment_of_a_generation_has_its_k_in_its_name(web: Client) -> None:
    seed = factories.seed(factories.lineage("words"))
    factories.environment(seed.lineage, generation=1, parent=seed)
    factories.environment(seed.lineage, generation=1, parent=seed, k=2)
    response = web.get(url("words:g1", "words:g1.2"))
    assert (response.context["left"].title, response.context["right"].title) == ("words/g1", "words/g1.2")


# how to get there


def test_two_ticked_environments_lead_to_their_comparison(web: Client) -> None:
    factories.chain(2, of=factories.lineage("words"))
    response = web.get(reverse("compare_choose"), {"side": ["words:g0", "words:g2"]})
    assert response.status_code == 302 and response["Location"] == url("words:g0", "words:g2")


@pytest.mark.parametrize(
    ("ticked", "said"),
    [(["words:g0"], "One was ticked."), (["words:g0", "words:g1", "words:g2"], "3 were ticked")],
)
def test_other_than_two_are_asked_for_again(web: Client, ticked: list[str], said: str) -> None:
    factories.chain(2, of=factories.lineage("words"))
    response = web.get(reverse("compare_choose"), {"side": ticked})
    assert response.status_code == 200 and said in text(response)
    assert 'value="words:g0"' in response.content.decode(), "what was ticked is not lost"


def test_names_are_taken_as_people_write_them_and_refused_with_a_reason(web: Client) -> None:
    factories.chain(1, of=factories.lineage("words"))
    address = reverse("compare_choose")
    assert web.get(address, {"left": "words/g0", "right": " words/g1 "})["Location"] == url(
        "words:g0", "words:g1"
    )
    response = web.get(address, {"left": "words/g0", "right": "<b>/g9"})
    assert response.status_code == 200 and "is neither an environment" in text(response)
    assert "There is no environment words/g9." in text(
        web.get(address, {"left": "words/g9", "right": "words/g0"})
    )
    blank = web.get(address)
    assert blank.status_code == 200 and 'class="wrong"' not in blank.content.decode()


def test_an_environment_leads_to_its_parent_the_seed_and_the_others_of_its_lineage(
    web: Client, django_assert_num_queries: Any
) -> None:
    grown = factories.chain(3, of=factories.lineage("words"))
    html = web.get(reverse("environment_detail", args=[grown[3].pk])).content.decode()
    assert f'href="{url("words:g2", "words:g3")}"' in html and f'href="{url("words:g0", "words:g3")}"' in html
    assert re.findall(r'<option value="(words[^"]+)"', html) == ["words:g0", "words:g1", "words:g2"]
    with django_assert_num_queries(1):
        assert [sides.name_of(each) for each in others(grown[1])] == ["words:g0", "words:g2", "words:g3"]
    alone = factories.seed()
    assert "compare" not in web.get(reverse("environment_detail", args=[alone.pk])).content.decode()


def test_a_candidate_leads_to_its_parent_and_the_candidate_before(web: Client) -> None:
    first = factories.waiting_candidate(factories.seed(factories.lineage("words")))
    repair = factories.candidate(first.plan)
    html = web.get(reverse("candidate_detail", args=[repair.pk])).content.decode()
    assert f'href="{url("words:g0", f"candidate:{repair.pk}")}"' in html
    assert f'href="{url(f"candidate:{first.pk}", f"candidate:{repair.pk}")}"' in html
    assert (
        "the previous candidate" not in web.get(reverse("candidate_detail", args=[first.pk])).content.decode()
    )


def test_a_lineage_lets_two_generations_be_ticked_without_a_script(web: Client) -> None:
    grown = factories.chain(2, of=factories.lineage("words"))
    html = web.get(reverse("lineage_detail", args=["words"])).content.decode()
    assert re.search(rf'<form method="get"\s+action="{reverse("compare_choose")}"\s+id="compare-two"', html)
    boxes = re.findall(r'<input type="checkbox"\s+name="side"\s+value="([^"]+)"\s+form="compare-two"', html)
    assert boxes == [f"words:g{each.generation}" for each in grown]


def test_nobody_compares_without_a_login(db: Any) -> None:
    factories.chain(1, of=factories.lineage("words"))
    for address in (url("words:g0", "words:g1"), reverse("compare_choose"), "/candidates/1/raw/z"):
        assert Client().get(address)["Location"].startswith("/login/")


def test_a_withdrawn_side_is_called_so(web: Client) -> None:
    seed, first = factories.chain(1)
    address = f"/compare/{seed.lineage.slug}:g0/{seed.lineage.slug}:g1/"
    assert "withdrawn" not in web.get(address).content.decode()

    Environment.objects.filter(pk=first.pk).update(quarantined=True)
    assert "withdrawn environment" in web.get(address).content.decode()
