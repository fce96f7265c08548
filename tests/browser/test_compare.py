"""Comparing in Chromium: from two ticks in a lineage to a line that can be sent to somebody."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Locator, Page, expect

from lineages.growth import loops
from lineages.growth.evolving import RecipeSettings, start
from lineages.library.importing import import_folders
from lineages.library.models import Environment
from tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.timeout(300)]

BEFORE = "".join(f"step {n}\n" for n in range(1, 31))


@pytest.fixture
def compared(signed_in: Page, live_server: Any) -> Page:
    """A seed and a child of which three files differ, side by side."""
    old = {"instruction.md": BEFORE, "a b.sh": "#!/bin/bash\ncut -f2 a.csv\n", "gone.bin": b"\0\1"}
    new = {
        "instruction.md": BEFORE.replace("step 15\n", "step 15b\n"),
        "a b.sh": "#!/bin/bash\ncut -f3 a.csv\n",
    }
    seed = factories.seed(factories.lineage("words"), snapshot=factories.snapshot(old))
    factories.environment(seed.lineage, generation=1, parent=seed, snapshot=factories.snapshot(new))
    signed_in.goto(f"{live_server.url}/compare/words:g0/words:g1/")
    return signed_in


def background(cell: Locator) -> str:
    return str(cell.evaluate("cell => getComputedStyle(cell).backgroundColor"))


def test_g0_and_g3_of_a_grown_lineage_are_ticked_compared_and_a_line_is_sent_on(
    signed_in: Page, live_server: Any
) -> None:
    (seed,) = import_folders([settings.SEEDS / "log-forensics"]).imported
    recipe = RecipeSettings(profile="fast")
    loops.drive(start(seed.environment, recipe, generations=3), tell=lambda evolution: None)
    assert Environment.objects.filter(generation=3).exists()
    page = signed_in
    page.goto(f"{live_server.url}/lineages/log-forensics/")
    page.get_by_label("Compare log-forensics/g0").check()
    page.get_by_label("Compare log-forensics/g3").check()
    page.get_by_role("button", name="Compare the two ticked").click()
    expect(page).to_have_url(f"{live_server.url}/compare/log-forensics:g0/log-forensics:g3/")
    expect(page.get_by_role("heading", level=1)).to_have_text("log-forensics/g0 against log-forensics/g3")
    changed = page.get_by_role("navigation", name="Changed files").get_by_role("listitem")
    expect(changed.first).to_contain_text("instruction.md")

    file = page.get_by_role("region", name="changed instruction.md")
    added = file.locator("td.add a").first
    number = added.inner_text()
    plain = background(file.locator("td.text.add").first)
    added.click()
    address = f"{live_server.url}/compare/log-forensics:g0/log-forensics:g3/#instruction.md:R{number}"
    expect(page).to_have_url(address)

    page.goto("about:blank")
    page.goto(address)
    line = page.locator("td.text.add", has=page.locator("ins")).first
    expect(line).to_be_in_viewport()
    assert background(line) != plain, "the line that the address names is highlighted"
    other = page.locator("td.text.add", has=page.locator("ins")).nth(1)
    assert background(other) == plain, "and no other one"


def test_keys_go_from_file_to_file_and_along_the_lines(compared: Page) -> None:
    page, titles = compared, compared.locator(".compare-file h3")
    page.keyboard.press("n")
    expect(titles.nth(0)).to_be_focused()
    page.keyboard.press("n")
    expect(titles.nth(1)).to_be_focused()
    expect(titles.nth(1)).to_be_in_viewport()
    page.keyboard.press("p")
    expect(titles.nth(0)).to_be_focused()
    numbers = page.locator(".compared").first.locator("a")
    stops = [numbers.nth(at).get_attribute("tabindex") for at in range(numbers.count())]
    assert stops == [None, None, *["-1"] * (len(stops) - 2)], "one for each side"
    numbers.first.focus()
    for key, name in [("ArrowDown", "L2"), ("ArrowRight", "R2"), ("ArrowUp", "R1"), ("ArrowLeft", "L1")]:
        page.keyboard.press(key)
        expect(page.locator(f"[id='a%20b.sh:{name}']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{page.url.split('#')[0]}#a%20b.sh:L1")


def test_keys_pass_over_the_numbers_that_a_narrow_screen_hides(compared: Page) -> None:
    page = compared
    page.set_viewport_size({"width": 400, "height": 900})
    page.locator("[id='instruction.md:R14']").focus()
    for key, name in [("ArrowDown", "R15"), ("ArrowLeft", "L15"), ("ArrowUp", "L15"), ("ArrowRight", "R15")]:
        page.keyboard.press(key)
        expect(page.locator(f"[id='instruction.md:{name}']")).to_be_focused()


def test_a_line_of_a_file_with_a_space_in_its_name_is_found_again(compared: Page) -> None:
    page = compared
    page.goto(f"{page.url}#a%20b.sh:R2")
    line = page.locator("[id='a%20b.sh:R2']")
    assert line.evaluate("line => line.matches(':target')")


def test_equal_lines_stand_once_on_a_narrow_screen_and_twice_on_a_wide_one(compared: Page) -> None:
    page = compared
    same = page.get_by_role("region", name="changed instruction.md").get_by_text("step 14", exact=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert [same.nth(at).is_visible() for at in range(2)] == [True, True]
    page.set_viewport_size({"width": 400, "height": 900})
    assert [same.nth(at).is_visible() for at in range(2)] == [False, True]


@pytest.mark.parametrize("view", ["split", "unified"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing_and_nothing_sticks_out(compared: Page, view: str, width: int, scheme: Any) -> None:
    page = compared
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{page.url}?view={view}")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.querySelector('main').scrollWidth") <= width
