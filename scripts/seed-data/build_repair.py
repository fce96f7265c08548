"""Makes the data of seeds/build-repair: thirteen inputs, and the six expected outputs.

    python3 scripts/seed-data/build_repair.py [SEED_FOLDER]

The release is built here from the pristine texts, the graph as it ought to be and the versions that ought to
be locked: that gives the expected outputs. Every fault is then put in on purpose and noted at that moment, so
the list of faults is what was done, not what a search found. Same bytes on every run; the seed's test never
sees this file.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

rng = random.Random(20260915)

RELEASE_DAY, TAG = "2026-09-15", "R7"
GOALS = ("guide.txt", "index.txt", "plaques.txt")
WORDS = """
amber anchor archive attic barge basin beacon bellows bronze canal candle carving cedar chapel chart
clay cloister copper coral crane crypt delta dome drawing ember engine ferry flint forge fresco
garden gate glass granite gull hall harbour hearth helm herring inlet iron ivory kelp keel kiln
ladder lamp lantern ledger lens linen loom marble marsh mast mill mosaic net oak oar orchard organ
pearl pier pilot plaster press quarry quay reed reef rope rudder sail salt sand scroll seal shell
slate sloop spire stair stone tar tide tiller tower vault vellum walnut wharf window winter
""".split()


@dataclass
class Recipe:
    rule: str
    inputs: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def digest(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()


# --- sources ---------------------------------------------------------------------------------------


def sentence(count: int) -> str:
    words = [rng.choice(WORDS) for _ in range(count)]
    words[rng.randrange(count)] = rng.choice(
        ("@{house}", "@{season}", "@{line}", "@{closed}", "@{motto}", "50%", "R&D", "a\\b", "@{nobody}")
    )
    return " ".join(words).capitalize() + "."


def write_text(title: str, includes: Iterable[str] = ()) -> str:
    """A text with a title, remarks, ragged blanks, several paragraphs, and a line for each include."""
    lines = [f"# {title}, {rng.choice(WORDS)} edition", f"== {title.title()}", ""]
    for _ in range(rng.randint(2, 4)):
        lines += [
            sentence(rng.randint(4, 13)) + " " * rng.choice((0, 0, 2)) for _ in range(rng.randint(1, 3))
        ]
        lines.append(rng.choice(("", "   ")))
    for name in includes:
        lines.insert(rng.randrange(3, len(lines)), f"%include {name}")
    if rng.random() < 0.4:
        lines += [f"== {rng.choice(WORDS).title()} Of {title.title()}", sentence(6)]
    return "".join(line + "\n" for line in lines)


def version_key(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))


@dataclass
class Source:
    """`locked` is the version that the release takes; `texts` are the bytes of each version."""

    name: str
    locked: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    wants: list[str] = field(default_factory=list)
    events: list[tuple[str, str, str]] = field(default_factory=list)  # day, event, version


HALLS = [f"halls/{number:02d}" for number in range(1, 13)]
NOTES = [f"notes/{number:02d}" for number in range(1, 10)]
ROOMS = ["rooms/east", "rooms/north", "rooms/south", "rooms/west"]
PRESSED = ["pressed/colophon", "pressed/cover", "pressed/map", "pressed/plates", "pressed/spine"]
DRAFTS = [f"draft/{word}" for word in ("annex", "cellar", "roof", "yard")]


def name_sources() -> dict[str, Source]:
    names = rng.sample(WORDS, 44)
    found = [f"hall-{name}" for name in names[:12]] + [f"note-{name}" for name in names[12:28]]
    found += [f"panel-{name}" for name in names[28:40]] + [f"sketch-{name}" for name in names[40:]]
    return {name: Source(name) for name in found}


SOURCES = name_sources()
NAMES = list(SOURCES)
INCLUDES = {NAMES[at]: [NOTES[at % 9]] for at in (0, 2, 3, 5, 6, 8, 9, 11)}
INCLUDES[NAMES[5]].append(NOTES[2])
UNDECLARED = [("halls/03", NOTES[2]), ("halls/06", NOTES[5]), ("halls/10", NOTES[0])]
"""Edges that only the text of a source shows: nothing in the book says so."""
LOST_EDGE = ("halls/09", NOTES[8])
"""The same, since an edit took it out of the book."""


def ladder(count: int) -> list[str]:
    """Versions in rising order, with numbers of two digits and of two parts among them."""
    major, minor, patch, found = 1, rng.randint(0, 8), 0, []
    for _ in range(count):
        found.append(f"{major}.{minor}" if patch == 0 and rng.random() < 0.5 else f"{major}.{minor}.{patch}")
        step = rng.random()
        if step < 0.3:
            patch += rng.choice((1, 9))
        elif step < 0.85:
            minor, patch = minor + rng.choice((1, 2)), 0
        else:
            major, minor, patch = major + 1, 0, 0
    return found


def draw_versions(source: Source, trick: int) -> None:
    """Publishes a few versions so that the one before the last is right, each time for another reason."""
    versions = ladder(3)
    days = sorted(f"2026-0{rng.randint(1, 8)}-{rng.randint(10, 28)}" for _ in versions)
    for version, day in zip(versions, days, strict=True):
        source.events.append((day, "publish", version))
        source.texts[version] = write_text(source.name.replace("-", " "), INCLUDES.get(source.name, ()))
    low, right, high = versions
    source.locked = right
    if trick == 0:  # the highest came after the release
        source.events[-1] = ("2026-09-16", "publish", high)
    elif trick == 1:
        source.events.append(("2026-09-02", "yank", high))
    elif trick == 2:
        source.wants += [f">={low}", f"<{high}"]
    elif trick == 3:
        source.events += [("2026-09-03", "yank", right), ("2026-09-09", "unyank", right)]
        source.wants.append(f"!={high}")
    elif trick == 4:  # a yank that comes too late
        source.locked = high
        source.events.append(("2026-09-16", "yank", high))
    else:
        source.wants.append(f"~{'.'.join(right.split('.')[:2])}")
        tilde = version_key(right)[:2]
        source.locked = max((v for v in versions if version_key(v)[:2] == tilde), key=version_key)


for position, one in enumerate(SOURCES.values()):
    draw_versions(one, position % 6)

# --- the graph ------------------------------------------------------------------------------------


def base_book() -> dict[str, Recipe]:
    """The book as it stands at the start of the journal."""
    book: dict[str, Recipe] = {}
    for at, target in enumerate(HALLS):
        inputs = [f"src:{NAMES[at]}"] + ([f"src:{NAMES[12 + at]}"] if at % 3 == 0 else [])
        wanted = [
            note for name in inputs for note in INCLUDES.get(name[4:], ()) if (target, note) not in UNDECLARED
        ]
        book[target] = Recipe("fill", inputs, sorted(set(wanted)))
    for at, target in enumerate(NOTES):
        book[target] = Recipe("strip", [f"src:{NAMES[16 + at]}"])
    for at, target in enumerate(ROOMS):
        book[target] = Recipe(
            "join", HALLS[at * 3 : at * 3 + 3], options={"separator": f"---- {target[6:]} ----"}
        )
        book[f"text/{target[6:]}"] = Recipe("wrap", [target], options={"width": str((60, 64, 72, 48)[at])})
    for at, target in enumerate(PRESSED):
        panels = [f"src:{name}" for name in NAMES[28 + 2 * at : 30 + 2 * at]]
        book[target] = Recipe(
            "press",
            [*panels, *([ROOMS[at]] if at < 2 else [])],
            options={"ink": "black", "sheets": str(at + 2)},
        )
    for at, target in enumerate(DRAFTS):
        book[target] = Recipe("strip", [f"src:{NAMES[40 + at]}", NOTES[at]])
    book["index.txt"] = Recipe("index", list(ROOMS))
    book["plaques.txt"] = Recipe("number", [PRESSED[3], PRESSED[2], NOTES[8]])
    book["guide.txt"] = Recipe(
        "join", [PRESSED[1], *(f"text/{r[6:]}" for r in ROOMS), PRESSED[0]], options={"separator": "~~~"}
    )
    return book


EDITS: list[tuple[str, str, str]] = [
    ("with", "text/east", "width=58"),
    ("tag", "-", "R5"),
    ("add-from", "rooms/north", NOTES[6]),
    ("add-from", "index.txt", "draft/roof"),
    ("revert", "-", "4"),
    ("drop-from", "guide.txt", PRESSED[0]),
    ("add-from", "guide.txt", PRESSED[4]),
    ("add-from", "guide.txt", PRESSED[0]),
    ("rule", NOTES[7], "join"),
    ("revert", "-", "9"),
    ("add-needs", NOTES[3], "text/west"),  # 11: no cycle, but changes the order
    ("with", PRESSED[1], "ink=sepia"),
    ("with", PRESSED[1], "ink=red"),
    ("revert", "-", "13"),
    ("add-needs", "notes/01", "rooms/east"),  # 15: a cycle through two declared edges
    ("tag", "-", "R6"),
    ("with", "rooms/south", "separator=* * *"),
    ("add-from", "plaques.txt", f"src:{NAMES[38]}"),
    ("with", "text/south", "width=44"),
    ("revert", "-", "19"),
    ("revert", "-", "20"),  # so 19 counts
    ("add-needs", NOTES[5], "text/north"),  # 22: a cycle through an include that nobody declared
    ("add-from", "halls/05", "notes/04"),
    ("drop-from", "rooms/west", "halls/11"),
    ("revert", "-", "24"),
    ("add-needs", PRESSED[2], "plaques.txt"),  # 26: a cycle of two
    ("add-from", "draft/yard", "draft/annex"),
    ("with", PRESSED[3], "plates=12"),
    ("drop-needs", "halls/09", NOTES[8]),
    ("add-from", "text/west", NOTES[7]),
    ("add-needs", "halls/12", "halls/05"),  # 31: closes a circle with 11 and 23, which may stay
    ("rule", NOTES[0], "join"),
    ("tag", "-", TAG),
    ("revert", "-", "12"),
    ("with", "text/north", "width=80"),
    ("add-from", "guide.txt", "draft/cellar"),
    ("revert", "-", "30"),
    ("tag", "-", "R8"),
]
CYCLES = [
    ("notes/01", "rooms/east"),
    (NOTES[5], "text/north"),
    (PRESSED[2], "plaques.txt"),
    ("halls/12", "halls/05"),
]
RENAMES = [("2026-03-02", "hall-lobby", NAMES[3]), ("2026-05-11", "note-lobby", "note-foyer")]
RENAMES += [("2026-06-20", "note-foyer", NAMES[19]), ("2026-08-30", "panel-old", NAMES[31])]
RENAMES += [("2026-09-20", NAMES[34], "panel-new"), ("2026-02-14", "sketch-old", NAMES[41])]
OLD_NAMES = {("halls/04", NAMES[3]): "hall-lobby", (NOTES[3], NAMES[19]): "note-lobby"}
OLD_NAMES |= {(PRESSED[1], NAMES[31]): "panel-old", (DRAFTS[1], NAMES[41]): "sketch-old"}


def counted(edits: list[tuple[str, str, str]]) -> list[int]:
    """The numbers of the edits that count for the release, told by hand from the remarks above."""
    undone = {4, 9, 13, 20, 24}
    last = 1 + edits.index(("tag", "-", TAG))
    return [number for number in range(1, last) if number not in undone]


def apply(book: dict[str, Recipe], op: str, target: str, value: str) -> None:
    recipe = book.get(target, Recipe(""))
    if op == "with":
        key, _, text = value.partition("=")
        recipe.options[key] = text
    elif op == "rule":
        recipe.rule = value
    elif op.startswith("add-"):
        (recipe.inputs if op == "add-from" else recipe.needs).append(value)
    elif op.startswith("drop-"):
        (recipe.inputs if op == "drop-from" else recipe.needs).remove(value)


def release_book() -> dict[str, Recipe]:
    book = base_book()
    for number in counted(EDITS):
        apply(book, *EDITS[number - 1])
    for target, needed in CYCLES:
        book[target].needs.remove(needed)
    for target, note in (*UNDECLARED, LOST_EDGE):
        book[target].needs.append(note)
    return book


def build_order(book: dict[str, Recipe]) -> list[str]:
    wanted, waiting = set(), list(GOALS)
    while waiting:
        target = waiting.pop()
        if target not in wanted:
            wanted.add(target)
            waiting += [name for name in book[target].inputs + book[target].needs if ":" not in name]
    order: list[str] = []
    while len(order) < len(wanted):
        order.append(min(t for t in wanted - set(order) if ready(book[t], order)))
    return order


def ready(recipe: Recipe, done: list[str]) -> bool:
    return all(":" in name or name in done for name in recipe.inputs + recipe.needs)


# --- settings and rules ---------------------------------------------------------------------------

SETTINGS_BASE = """# The house style, for all guides.
house = The Old Lantern Works
season = spring
motto=@{house}, since 1871
line = Tram 4
closed = Mondays
"""
SETTINGS_SITE = """# This year
season = autumn
house += at @{quarter}
quarter = Tar Quay
  line += and   bus 12
unset closed
closed += 1 November
unset motto
"""
VALUES = {"house": "The Old Lantern Works at Tar Quay", "season": "autumn", "line": "Tram 4 and   bus 12"}
VALUES |= {"quarter": "Tar Quay", "closed": "1 November"}


def fill(text: str, made: dict[str, str]) -> str:
    lines = []
    for line in text.splitlines(keepends=True):
        included = line.startswith("%include ")
        lines.append(made[line.split()[1]] if included else line)
    return re.sub(r"@\{(\w+)\}", lambda found: VALUES.get(found[1], found[0]), "".join(lines))


def wrap(text: str, width: int) -> str:
    paragraphs = [" ".join(block.split()) for block in re.split(r"\n(?: *\n)+", text.strip("\n"))]
    return "\n\n".join("\n".join(folded(block.split(), width)) for block in paragraphs if block) + "\n"


def folded(words: list[str], width: int) -> list[str]:
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def strip(text: str) -> str:
    kept = [line.rstrip(" ") for line in text.splitlines() if not line.startswith("#")]
    return "".join(line + "\n" for line in kept if line)


def number(text: str) -> str:
    count, lines = 0, []
    for line in text.splitlines():
        count += line != ""
        lines.append(f"{count:4d}  {line}\n" if line else "\n")
    return "".join(lines)


def index(names: list[str], texts: list[str]) -> str:
    found = []
    for name, text in zip(names, texts, strict=True):
        for at, line in enumerate(text.splitlines(), start=1):
            if line.startswith("== "):
                found.append(f"{line[3:]}\t{name}\t{at}\n")
    return "".join(sorted(found))


def pressed_text(target: str) -> str:
    ink = [
        f"{rng.choice(WORDS)}{'.' * rng.randint(2, 9)}{rng.randint(1, 99)}" for _ in range(rng.randint(9, 14))
    ]
    return f"[{target}]\n" + "".join(line + "\n" for line in ink)


def made_by(target: str, recipe: Recipe, texts: list[str], made: dict[str, str]) -> str:
    whole = "".join(texts)
    if recipe.rule == "join":
        separator = recipe.options.get("separator")
        return (f"{separator}\n" if separator else "").join(texts)
    if recipe.rule == "wrap":
        return wrap(whole, int(recipe.options["width"]))
    if recipe.rule == "index":
        return index(recipe.inputs, texts)
    rules = {
        "fill": lambda: fill(whole, made),
        "strip": lambda: strip(whole),
        "number": lambda: number(whole),
    }
    rules["press"] = lambda: pressed_text(target)
    return rules[recipe.rule]()


def key_of(recipe: Recipe, texts: list[str]) -> str:
    options = [f"{key}={value}" for key, value in sorted(recipe.options.items())]
    return digest("".join(line + "\n" for line in [recipe.rule, *options, *map(digest, texts)]))[:16]


BOOK = release_book()
ORDER = build_order(BOOK)
MADE: dict[str, str] = {}
KEYS: dict[str, str] = {}


def text_of(name: str) -> str:
    source = SOURCES.get(name[4:]) if name.startswith("src:") else None
    return source.texts[source.locked] if source else MADE[name]


for goal in ORDER:
    read = [text_of(name) for name in BOOK[goal].inputs]
    KEYS[goal] = key_of(BOOK[goal], read)
    MADE[goal] = made_by(goal, BOOK[goal], read, MADE)
USED = sorted({name[4:] for goal in ORDER for name in BOOK[goal].inputs if name.startswith("src:")})

# --- faults ---------------------------------------------------------------------------------------

FAULTS: list[tuple[str, str, str]] = [("cycle", *edge) for edge in CYCLES]
FAULTS += [("undeclared", *edge) for edge in (*UNDECLARED, LOST_EDGE)]
FAULTS += [("renamed", target, old) for (target, _), old in OLD_NAMES.items() if target in ORDER]
FAULTS += [("unneeded", target, "-") for target in BOOK if target not in ORDER]


def spoil(text: str, line: int) -> str:
    """One line of the text with one character exchanged."""
    lines = text.splitlines()
    at = rng.randrange(max(1, len(lines[line])))
    old = lines[line][at : at + 1]
    lines[line] = lines[line][:at] + ("x" if old != "x" else "y") + lines[line][at + 1 :]
    return "".join(one + "\n" for one in lines)


def vault_copies(name: str, version: str, text: str, damage: int) -> dict[str, str]:
    """What each vault holds; the damage is noted where the release needs that version."""
    lines = rng.sample(range(text.count("\n")), 3)
    copies = dict.fromkeys("abc", text)
    if damage == 0:  # no copy is whole, but no line is bad twice
        copies = {vault: spoil(text, line) for vault, line in zip("abc", lines, strict=True)}
    elif damage == 1:
        copies["a"] = text.replace("\n", "\n\n", 1)
        copies["c"] = spoil(text, lines[0])
    elif damage == 2:
        copies["a"] = copies["b"] = spoil(text, lines[1])
    elif damage == 3:
        copies["b"] = "".join(text.splitlines(keepends=True)[:-1])
        del copies["c"]
    elif damage == 4:
        del copies["a"]
    if name in USED and version == SOURCES[name].locked:
        FAULTS.extend(("damaged", f"{name}@{version}", vault) for vault in copies if copies[vault] != text)
    return copies


SUM_WRONG = {USED[at] for at in (4, 13, 22, 29)}


def draw_vaults() -> dict[str, list[tuple[str, str, str]]]:
    """The entries of each vault: name, version, text."""
    vaults: dict[str, list[tuple[str, str, str]]] = {vault: [] for vault in "abc"}
    for at, source in enumerate(SOURCES.values()):
        for version, text in source.texts.items():
            damage = (
                9 if source.name in SUM_WRONG else (at if version == source.locked else rng.randrange(9)) % 9
            )
            for vault, copy in vault_copies(source.name, version, text, damage).items():
                if rng.random() < 0.08:  # an earlier entry, which a later one replaces
                    vaults[vault].append((source.name, version, write_text("draft of " + source.name)))
                vaults[vault].append((source.name, version, copy))
    for entries in vaults.values():
        order = sorted(range(len(entries)), key=lambda at: (rng.random(), at))
        entries[:] = in_turn(entries, order)
    return vaults


def in_turn(entries: list[tuple[str, str, str]], order: list[int]) -> list[tuple[str, str, str]]:
    """Shuffled, but of several entries for one version the last stays the last."""
    places: dict[tuple[str, str], list[int]] = {}
    for place, at in enumerate(order):
        places.setdefault(entries[at][:2], []).append(place)
    shuffled = [entries[at] for at in order]
    for found in places.values():
        for place, at in zip(found, sorted(order[place] for place in found), strict=True):
            shuffled[place] = entries[at]
    return shuffled


VAULTS = draw_vaults()
VAULT_FORMS = {"a": ("", "\n"), "b": ("| ", "\n"), "c": ("", "\r\n")}


def vault_text(vault: str) -> str:
    prefix, end = VAULT_FORMS[vault]
    lines = []
    for name, version, text in VAULTS[vault]:
        body = text.splitlines()
        lines += [f">>> {name} {version} {len(body)}", *(prefix + line for line in body)]
    return "".join(line + end for line in lines)


def catalogue_text() -> str:
    rows = []
    for source in SOURCES.values():
        for day, event, version in source.events:
            told = digest(source.texts[version]) if event == "publish" else "-"
            if event == "publish" and source.name in SUM_WRONG and version == source.locked:
                FAULTS.append(("sum", f"{source.name}@{version}", told))
                told = told[8:] + told[:8]
            rows.append("\t".join((day, event, source.name, version, told)))
    return "".join(row + "\n" for row in ["day\tevent\tname\tversion\tsha256", *sorted(rows)])


def wants_text() -> str:
    old = {new: former for (_, new), former in OLD_NAMES.items()}
    rows = [
        f"{old.get(source.name, source.name)} {want}" for source in SOURCES.values() for want in source.wants
    ]
    rows.sort(key=lambda _: rng.random())
    return "# name, then a condition; all conditions of a name apply\n" + "".join(row + "\n" for row in rows)


def lock_text() -> str:
    rows = []
    for at, name in enumerate(USED):
        source, old = SOURCES[name], min(SOURCES[name].texts, key=version_key)
        if at % 5 == 0:
            FAULTS.append(("lock", name, "-"))
            continue
        version = old if at % 3 == 0 else source.locked
        if version != source.locked:
            FAULTS.append(("lock", name, version))
        rows.append(f"{name}\t{version}\t{digest(source.texts[version])}")
    return "".join(row + "\n" for row in ["name\tversion\tsha256", *rows])


def recipes_text() -> str:
    book, blocks = base_book(), []
    for target in sorted(book, key=lambda _: rng.random()):
        recipe = book[target]
        lines = [f"target {target}", f"  rule {recipe.rule}"]
        for name in recipe.inputs:
            old = OLD_NAMES.get((target, name.removeprefix("src:")))
            lines.append(f"  from src:{old}" if old else f"  from {name}")
        lines += [f"  needs {name}" for name in recipe.needs]
        lines += [f"  with {key}={value}" for key, value in recipe.options.items()]
        blocks.append("".join(line + "\n" for line in lines))
    return "\n".join(blocks)


def edits_text() -> str:
    rows = []
    for at, (op, target, value) in enumerate(EDITS, start=1):
        day = f"2026-{7 + at // 18:02d}-{1 + (at * 3) % 26:02d}"
        rows.append("\t".join((str(at), day, rng.choice(("ilse", "matti", "autofix")), op, target, value)))
    rows.sort(key=lambda _: rng.random())
    return "".join(row + "\n" for row in ["seq\tday\tauthor\top\ttarget\tvalue", *rows])


def renames_text() -> str:
    return "".join("\t".join(row) + "\n" for row in [("day", "old", "new"), *sorted(RENAMES)])


CACHE: list[tuple[str, str, str, str, str]] = []  # id, target, key, sum, text


def cached(target: str, key: str, text: str, *, corrupt: bool = False) -> str:
    entry = f"c{rng.randrange(16**6):06x}"
    CACHE.append((entry, target, key, digest(text), spoil(text, 1) if corrupt else text))
    return entry


def draw_cache() -> None:
    for target in ORDER:
        pressed = BOOK[target].rule == "press"
        for _ in range(rng.randint(1, 3) if pressed else rng.choice((0, 0, 1))):
            stale = Recipe(BOOK[target].rule, options={"ink": rng.choice(WORDS)})
            entry = cached(target, key_of(stale, [sentence(4)]), pressed_text(target))
            FAULTS.append(("stale", entry, target))
        if pressed:
            FAULTS.append(("corrupt", cached(target, KEYS[target], MADE[target], corrupt=True), target))
        if pressed or rng.random() < 0.15:
            cached(target, KEYS[target], MADE[target])
    for target in (*DRAFTS[:3], "halls/13"):
        entry = cached(target, digest(target)[:16], pressed_text(target))
        FAULTS.append(("orphan", entry, target))
    CACHE.sort(key=lambda entry: entry[0])


def cache_text() -> str:
    rows = ["\t".join(entry[:4]) for entry in CACHE]
    return "".join(row + "\n" for row in ["id\ttarget\tkey\tsha256", *rows])


def objects_text() -> str:
    shuffled = sorted(CACHE, key=lambda entry: entry[3])
    return "".join(f">>> {entry[0]} {entry[4].count(chr(10))}\n{entry[4]}" for entry in shuffled)


def inputs() -> dict[str, str]:
    draw_cache()
    found = {f"vault-{vault}.txt": vault_text(vault) for vault in "abc"}
    found |= {"recipes.txt": recipes_text(), "edits.tsv": edits_text(), "renames.tsv": renames_text()}
    found |= {"catalogue.tsv": catalogue_text(), "wants.txt": wants_text(), "lock.tsv": lock_text()}
    found |= {"settings-base.txt": SETTINGS_BASE, "settings-site.txt": SETTINGS_SITE}
    return found | {"cache.tsv": cache_text(), "cache-objects.txt": objects_text()}


def outputs() -> dict[str, str]:
    """Needs the faults of `inputs`."""
    lock = [
        f"{name}\t{SOURCES[name].locked}\t{digest(SOURCES[name].texts[SOURCES[name].locked])}"
        for name in USED
    ]
    order = [f"{at}\t{name}\t{digest(MADE[name])}" for at, name in enumerate(ORDER, start=1)]
    tables = {
        "lock.tsv": ["name\tversion\tsha256", *lock],
        "order.tsv": ["position\ttarget\tsha256", *order],
        "faults.tsv": ["kind\tobject\tdetail", *sorted("\t".join(fault) for fault in FAULTS)],
    }
    texts = {name: "".join(row + "\n" for row in rows) for name, rows in tables.items()}
    return texts | {goal: MADE[goal] for goal in GOALS}


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "build-repair"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    for name, text in inputs().items():
        write(seed / "environment" / "data" / name, text)
    for name, text in outputs().items():
        write(seed / "tests" / "expected" / name, text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
