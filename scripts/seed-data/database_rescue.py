"""Makes the data of seeds/database-rescue: a damaged store, and the eight expected outputs.

    python3 scripts/seed-data/database_rescue.py [SEED_FOLDER]

A small store is run: transactions change rows in pages, pages are written out now and then, everything is
logged. What was committed at each moment is kept beside it, and that gives the expected outputs. Only then
are pages and log damaged. Same bytes on every run; the seed's test never sees this file.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from zlib import adler32

PAGE, HALF, SEGMENT = 1024, 512, 90
TABLES = {
    "members": ("MEMB", ("id", "name", "branch", "joined")),
    "tools": ("TOOL", ("id", "name", "bought", "cents")),
    "loans": ("LOAN", ("id", "member", "tool", "lent", "back")),
    "fees": ("FEES", ("id", "loan", "booked", "cents", "note")),
}
PARENTS = {"loans": (("member", "members"), ("tool", "tools")), "fees": (("loan", "loans"),)}
SLOTS = {"members": 9, "tools": 10, "loans": 14, "fees": 12}
FIRST_NAMES = (
    "Aino Bjørn Chloë Dörte Emil Françoise Grete Håkon Ilse João Kärt Łucja Mónica Nils Özge".split()
)
LAST_NAMES = 'Berg|Falk de|la|Cruz Øyen "Kit"|Moss Sørli Tamm, jr. Vogt\\Ahn Wójcik Ylönen Zeller'.split()
BRANCHES = ("Harbour", "Mill Lane", "North|South", "Old Dairy, yard")
TOOLS = (
    "belt sander",
    'drill 1/2"',
    "tile cutter",
    "ladder, 4 m",
    "chain hoist",
    "router",
    "heat gun",
    "jack|stand",
)
NOTES = (
    "",
    "",
    "late",
    "late, waived in part",
    "cord cut",
    'says "was so before"',
    "bit lost|replaced",
    "a\\b",
)
Row = tuple[str, ...]
Slot = tuple[str, Row]
Place = tuple[str, int, int]


@dataclass
class Change:
    """One change of a slot. `undone` is the LSN at which it was taken back, 0 if it never was."""

    lsn: int
    place: Place
    before: Slot
    after: Slot
    undone: int = 0


@dataclass
class Transaction:
    number: int
    changes: list[Change] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    saves: dict[str, int] = field(default_factory=dict)
    gid: str = ""
    prepared: int = 0
    ended: tuple[int, str] = (0, "")


@dataclass(frozen=True)
class Copy:
    """A page as it was once: everything up to `lsn` is in it."""

    table: str
    number: int
    lsn: int
    slots: tuple[Slot, ...]
    epoch: int


@dataclass
class Store:
    rng: random.Random
    epoch: int = 2
    lsn: int = 0
    next_txn: int = 700
    images: bool = False
    pages: dict[tuple[str, int], list[Slot]] = field(default_factory=dict)
    next_key: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 100))
    open: dict[int, Transaction] = field(default_factory=dict)
    all: dict[int, Transaction] = field(default_factory=dict)
    locks: dict[tuple[str, str], int] = field(default_factory=dict)
    log: dict[int, str] = field(default_factory=dict)
    touched: dict[tuple[str, int], int] = field(default_factory=dict)
    imaged: set[tuple[str, int]] = field(default_factory=set)
    copies: list[Copy] = field(default_factory=list)
    image_copies: list[Copy] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)

    # --- the log ------------------------------------------------------------------------------

    def note(self, txn: int, *words: str) -> int:
        self.lsn += 1
        body = "\t".join((str(self.lsn), str(txn), *words))
        self.log[self.lsn] = f"{body}\t{adler32(body.encode()):08x}"
        if txn:
            self.all[txn].records.append(self.lsn)
        return self.lsn

    def copy_of(self, key: tuple[str, int]) -> Copy:
        return Copy(*key, self.lsn, tuple(self.pages[key]), self.epoch)

    def image(self, key: tuple[str, int]) -> None:
        self.imaged.add(key)
        slots = [f"{at}{state}{joined(row)}" for at, (state, row) in enumerate(self.pages[key])]
        self.note(0, "IMG", key[0], str(key[1]), *slots)
        self.image_copies.append(self.copy_of(key))

    # --- changes ------------------------------------------------------------------------------

    def change(self, txn: Transaction, place: Place, after: Slot, *words: str) -> None:
        key = place[:2]
        if self.images and key not in self.imaged and key in self.pages and self.rng.random() < 0.09:
            self.image(key)
        slots = self.pages.setdefault(key, [])
        while len(slots) <= place[2]:
            slots.append(("F", ()))
        lsn = self.note(txn.number, words[0], place[0], str(place[1]), str(place[2]), *words[1:])
        txn.changes.append(Change(lsn, place, slots[place[2]], after))
        slots[place[2]] = after
        self.touched[key] = lsn

    def undo(self, changes: list[Change], lsn: int) -> None:
        for change in reversed(changes):
            if not change.undone:
                change.undone = lsn
                table, number, slot = change.place
                before = change.before if change.before[0] == "L" else ("F", ())
                self.pages[table, number][slot] = before
                self.touched[table, number] = lsn

    def free_place(self, table: str) -> Place:
        """A slot that holds nothing, never one that an open transaction emptied."""
        held = {change.place for txn in self.open.values() for change in txn.changes}
        numbers = [number for name, number in self.pages if name == table]
        free = [
            (table, number, at)
            for number in numbers
            for at in range(SLOTS[table])
            if (table, number, at) not in held
            and (at >= len(self.pages[table, number]) or self.pages[table, number][at][0] != "L")
            and (at == 0 or at <= len(self.pages[table, number]))
            and self.room(table, number) > 90
        ]
        if free and self.rng.random() < 0.9:
            return self.rng.choice(free)
        return table, max(numbers, default=-1) + 1, 0

    def room(self, table: str, number: int) -> int:
        return PAGE - 32 - sum(4 + len(joined(row).encode()) for _, row in self.pages[table, number])

    def live(self, table: str) -> dict[str, tuple[Place, Row]]:
        return {
            row[0]: ((name, number, at), row)
            for (name, number), slots in self.pages.items()
            if name == table
            for at, (state, row) in enumerate(slots)
            if state == "L"
        }

    def usable(self, txn: Transaction, table: str) -> list[str]:
        return [key for key in self.live(table) if self.locks.get((table, key), txn.number) == txn.number]

    def lock(self, txn: Transaction, table: str, key: str) -> None:
        self.locks[table, key] = txn.number

    # --- what transactions do -----------------------------------------------------------------

    def begin(self) -> Transaction:
        txn = Transaction(self.next_txn)
        self.next_txn += self.rng.choice((1, 1, 2))
        self.open[txn.number] = self.all[txn.number] = txn
        self.note(txn.number, "BEGIN")
        return txn

    def insert(self, txn: Transaction, table: str) -> None:
        refs = {}
        for column, parent in PARENTS.get(table, ()):
            choices = self.usable(txn, parent)
            if not choices:
                return
            refs[column] = self.rng.choice(choices)
            self.lock(txn, parent, refs[column])
        key = str(self.next_key[table])
        self.next_key[table] += self.rng.choice((1, 1, 1, 3))
        row = drawn_row(self.rng, table, key, refs)
        self.lock(txn, table, key)
        self.change(txn, self.free_place(table), ("L", row), "INS", joined(row))

    def update(self, txn: Transaction, table: str) -> None:
        keys = self.usable(txn, table)
        if not keys:
            return
        key = self.rng.choice(keys)
        place, row = self.live(table)[key]
        columns = TABLES[table][1]
        fixed = {"id", *(column for column, _ in PARENTS.get(table, ()))}
        names = [name for name in columns if name not in fixed]
        picked = self.rng.sample(names, self.rng.choice((1, 1, 2)) if len(names) > 1 else 1)
        new, words = list(row), []
        for name in sorted(picked, key=columns.index):
            at = columns.index(name)
            new[at] = drawn_value(self.rng, name if table != "tools" or name != "name" else "tool")
            words += [name, escaped(row[at]), escaped(new[at])]
        self.lock(txn, table, key)
        if self.room(*place[:2]) > 60:
            self.change(txn, place, ("L", tuple(new)), "UPD", *words)

    def delete(self, txn: Transaction, table: str) -> None:
        # What an open transaction deleted may come back, and refer to the row again.
        rows = [(child, row) for child in PARENTS for _, row in self.live(child).values()]
        rows += [(c.place[0], c.before[1]) for other in self.open.values() for c in other.changes]
        used = {
            key for child, row in rows if row for parent, key in references(child, row) if parent == table
        }
        keys = [key for key in self.usable(txn, table) if key not in used]
        if keys:
            key = self.rng.choice(keys)
            place, row = self.live(table)[key]
            self.lock(txn, table, key)
            self.change(txn, place, ("D", row), "DEL", joined(row))

    def act(self, txn: Transaction) -> None:
        roll = self.rng.random()
        table = self.rng.choice(("loans", "loans", "loans", "fees", "fees", "members", "tools"))
        saves = [name for name, at in txn.saves.items() if at < len(txn.changes)]
        if roll < 0.09:
            name = self.rng.choice("ab")
            self.note(txn.number, "SAVE", name)
            txn.saves[name] = len(txn.changes)
        elif roll < 0.22 and saves:
            name = self.rng.choice(saves)
            lsn = self.note(txn.number, "BACK", name)
            self.undo(txn.changes[txn.saves[name] :], lsn)
            txn.saves = {other: at for other, at in txn.saves.items() if at <= txn.saves[name]}
        elif roll < 0.55:
            self.insert(txn, table)
        elif roll < 0.85:
            self.update(txn, table)
        else:
            self.delete(txn, self.rng.choice(("loans", "fees", "fees", "members", "tools")))

    def end(self, txn: Transaction, outcome: str) -> None:
        lsn = self.note(txn.number, outcome)
        txn.ended = (lsn, outcome)
        if outcome == "ABORT":
            self.undo(txn.changes, lsn)
        del self.open[txn.number]
        self.locks = {what: holder for what, holder in self.locks.items() if holder != txn.number}

    def prepare(self, txn: Transaction) -> None:
        txn.gid = f"g-{txn.number * 7 % 1000:03}-{self.epoch}"
        txn.prepared = self.note(txn.number, "PREPARE", txn.gid)
        self.decisions[txn.gid] = self.rng.choice(("commit", "commit", "abort"))

    def step(self) -> None:
        if len(self.open) < 6 and self.rng.random() < 0.2 or not self.open:
            self.begin()
        txn = self.rng.choice(list(self.open.values()))
        if txn.gid:
            if self.rng.random() < 0.05:
                self.end(txn, self.decisions[txn.gid].upper())
        elif len(txn.changes) > 2 and self.rng.random() < 0.3:
            kind = self.rng.random()
            if kind < 0.3:
                self.prepare(txn)
            else:
                self.end(txn, "COMMIT" if kind < 0.76 else "ABORT")
        else:
            self.act(txn)
        if self.pages and self.rng.random() < 0.4:
            self.copies.append(self.copy_of(self.rng.choice(list(self.pages))))

    def run(self, until: int) -> None:
        while self.lsn < until:
            self.step()

    def settle(self) -> None:
        """No transaction stays open."""
        for txn in list(self.open.values()):
            self.end(txn, self.decisions[txn.gid].upper() if txn.gid else "COMMIT")


# --- rows ---------------------------------------------------------------------------------------


def references(table: str, row: Row) -> list[tuple[str, str]]:
    """The parents' tables and keys."""
    return [(parent, row[TABLES[table][1].index(column)]) for column, parent in PARENTS.get(table, ())]


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\p")


def joined(row: Row) -> str:
    return "|".join(map(escaped, row))


def drawn_value(rng: random.Random, name: str) -> str:
    day = f"202{rng.randrange(3, 6)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    drawn: dict[str, Callable[[], str]] = {
        "name": lambda: f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES).replace('|', ' ', 1)}",
        "tool": lambda: f"{rng.choice(TOOLS)} no. {rng.randrange(1, 30)}",
        "branch": lambda: rng.choice(BRANCHES),
        "cents": lambda: str(rng.randrange(50, 9000)),
        "note": lambda: rng.choice(NOTES),
        "back": lambda: rng.choice(("", day)),
    }
    return drawn.get(name, lambda: day)()


def drawn_row(rng: random.Random, table: str, key: str, refs: dict[str, str]) -> Row:
    fixed = {"id": key, **refs}
    return tuple(
        fixed[name]
        if name in fixed
        else drawn_value(rng, "tool" if (table, name) == ("tools", "name") else name)
        for name in TABLES[table][1]
    )


# --- the story ----------------------------------------------------------------------------------


def fill(store: Store) -> None:
    for table, count in (("members", 40), ("tools", 45), ("loans", 130), ("fees", 70)):
        for start in range(0, count, 10):
            txn = store.begin()
            for _ in range(min(10, count - start)):
                store.insert(txn, table)
            store.end(txn, "COMMIT")


@dataclass(frozen=True)
class Story:
    store: Store  # as the true history went on, until long after the point
    other: Store  # the branch that was given up
    dump: dict[tuple[str, int], Copy]
    changed: dict[tuple[str, int], int]
    index: dict[str, list[tuple[str, Place]]]
    third: int  # first LSN of epoch 3
    first: int  # of the log that is left
    fork: int  # first LSN of the new epoch
    point: int  # the last LSN before the gap
    end: int


def play() -> Story:
    store = Store(random.Random(9))
    fill(store)
    store.run(490)
    store.epoch, third = 3, store.lsn + 1
    store.run(620)
    dump = {key: store.copy_of(key) for key in store.pages}
    store.run(690)
    store.settle()
    store.note(0, "CHECKPOINT")
    store.copies += [store.copy_of(key) for key in store.pages if store.rng.random() < 0.9]
    changed = dict(store.touched)
    index = {table: [(key, place) for key, (place, _) in store.live(table).items()] for table in TABLES}
    first, store.images = store.lsn + 1, True
    store.run(first + 205)
    fork = store.lsn + 1
    other = copy.deepcopy(store)
    other.rng = random.Random(99)
    other.run(fork + 70)
    store.epoch, store.rng = 4, random.Random(7)
    for txn in list(store.open.values()):
        if not txn.gid:
            store.end(txn, "ABORT")
    store.run(fork + 330)
    point = next(lsn for lsn in range(fork + 268, store.lsn) if store.log[lsn].split("\t")[2] == "COMMIT") - 1
    return Story(store, other, dump, changed, index, third, first, fork, point, store.lsn)


# --- what was true at the point -----------------------------------------------------------------


def outcome(txn: Transaction, point: int, decisions: dict[str, str]) -> str:
    lsn, how = txn.ended
    if lsn and lsn <= point:
        return "committed" if how == "COMMIT" else "aborted"
    if txn.gid and txn.prepared <= point:
        return "prepared-committed" if decisions.get(txn.gid) == "commit" else "prepared-aborted"
    return "in-flight"


def counts(change: Change, how: str, point: int) -> bool:
    """Whether a change is part of the state at the point."""
    taken_back = change.undone and change.undone <= point
    return change.lsn <= point and not taken_back and how in ("committed", "prepared-committed")


def true_state(story: Story) -> dict[Place, Row]:
    """The committed rows, from all changes ever made, in their order."""
    decided: list[tuple[int, Place, Slot]] = []
    for txn in story.store.all.values():
        how = outcome(txn, story.point, DECIDED)
        decided += [(c.lsn, c.place, c.after) for c in txn.changes if counts(c, how, story.point)]
    state: dict[Place, Slot] = {}
    for _, place, after in sorted(decided):
        state[place] = after
    return {place: row for place, (kind, row) in state.items() if kind == "L"}


# --- damage -------------------------------------------------------------------------------------


def page_bytes(page: Copy) -> bytes:
    body = "".join(
        f"{state}{len(joined(row).encode()):03}{joined(row)}" for state, row in page.slots
    ).encode()
    head = f"PAGE{TABLES[page.table][0]}{page.epoch:02}{page.number:04}{page.lsn:08}{len(page.slots):02}"
    plain = (head + "0" * 8).encode() + body
    assert len(plain) <= PAGE
    plain = plain.ljust(PAGE, b".")
    return plain[:24] + f"{adler32(plain):08x}".encode() + plain[32:]


def torn(new: Copy, old: Copy) -> bytes:
    return page_bytes(new)[:HALF] + page_bytes(old)[HALF:]


def reads_well(data: bytes) -> bool:
    return adler32(data[:24] + b"0" * 8 + data[32:]) == int(data[24:32], 16)


@dataclass
class Files:
    pages: dict[str, list[bytes]]
    held: dict[str, list[Copy | None]]  # what stands at each position; None where it cannot be read


def damage(story: Story) -> Files:
    rng = random.Random(31)
    files = Files({}, {})
    spare = {"members": 1, "tools": 1, "loans": 4, "fees": 2}  # pages that may be lost for good
    for table in TABLES:
        numbers = sorted(number for name, number in story.store.pages if name == table)
        numbers = numbers[:-1] if table in ("loans", "fees") else numbers  # the last was never written
        held: list[Copy | None] = []
        raw: list[bytes] = []
        for number in numbers:
            copies = [found for found in story.store.copies if (found.table, found.number) == (table, number)]
            page, data = spoilt(story, rng, (table, number), copies)
            if not (page and usable(story, page)) and not elsewhere(story, (table, number)):
                spare[table] -= 1
                while spare[table] < 0 and not (page and usable(story, page)):
                    page, data = spoilt(story, rng, (table, number), copies)
            held.append(page)
            raw.append(data)
        misplace(story, rng, table, held, raw)
        files.held[table], files.pages[table] = held, raw
    return files


def elsewhere(story: Story, key: tuple[str, int]) -> bool:
    """Whether a page can be had without the file."""
    found = [page for page in story.store.image_copies if (page.table, page.number) == key]
    found += [story.dump[key]] if key in story.dump else []
    return key not in story.changed or any(usable(story, page) for page in found)


def spoilt(
    story: Story, rng: random.Random, key: tuple[str, int], copies: list[Copy]
) -> tuple[Copy | None, bytes]:
    """What became of one page's place: right, torn, from before, or from after the point."""
    changed = story.changed.get(key, 0)
    right = [found for found in copies if changed <= found.lsn <= story.point]
    ahead = [found for found in copies if found.lsn > story.point]
    stale = [found for found in copies if found.lsn < changed]
    kind = rng.random()
    halves = [torn(new, old) for new in right[-2:] for old in copies]
    halves = [data for data in halves if not reads_well(data)]
    if kind < 0.42 and halves:
        return None, rng.choice(halves)
    given_up = [found for found in story.other.copies if (found.table, found.number) == key]
    given_up = [found for found in given_up if found.lsn >= story.fork]
    if kind < 0.54 and given_up:
        return given_up[-1], page_bytes(given_up[-1])
    if kind < 0.62 and ahead:
        return ahead[-1], page_bytes(ahead[-1])
    if kind < 0.67 and stale:
        return stale[-1], page_bytes(stale[-1])
    best = rng.choice(right) if right else copies[-1] if copies else None
    if best is None:
        return None, b"\xff" * PAGE
    return best, page_bytes(best)


def misplace(story: Story, rng: random.Random, table: str, held: list[Copy | None], raw: list[bytes]) -> None:
    """One page's newer copy went to another's place."""
    if len(held) < 6:
        return
    mine, other = rng.sample(range(len(held)), 2)
    copies = [
        found
        for found in story.store.copies
        if (found.table, found.number) == (table, mine) and story.changed.get((table, mine), 0) <= found.lsn
        and found.lsn <= story.point
    ]  # fmt: skip
    if copies:
        held[other], raw[other] = copies[-1], page_bytes(copies[-1])


def usable(story: Story, page: Copy) -> bool:
    if page.epoch != (2 if page.lsn < story.third else 3 if page.lsn < story.fork else 4):
        return False
    return story.changed.get((page.table, page.number), 0) <= page.lsn <= story.point


def base_of(story: Story, files: Files, key: tuple[str, int]) -> tuple[str, int]:
    """Where the page is best taken from, and the LSN; the order settles equals."""
    table, number = key
    held = files.held[table]
    found: list[tuple[int, int, str]] = []
    for position, page in enumerate(held):
        if page and page.number == number and usable(story, page):
            here = position == number
            found.append((page.lsn, 4 if here else 3, "file" if here else "elsewhere"))
    images = [page for page in story.store.image_copies if (page.table, page.number) == key]
    found += [(page.lsn, 2, "image") for page in images if usable(story, page)]
    dumped = story.dump.get(key)
    if dumped and any(state == "L" for state, _ in dumped.slots) and usable(story, dumped):
        found.append((dumped.lsn, 1, "dump"))
    if found:
        lsn, _, source = max(found)
        return source, lsn
    return ("none", 0) if key in story.changed else ("new", 0)


# --- the expected outputs -----------------------------------------------------------------------


def csv_field(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if set(value) & set(',"') else value


def csv_line(values: Iterable[object]) -> str:
    return ",".join(csv_field(str(value)) for value in values)


def change_list(story: Story) -> list[tuple[Change, str]]:
    return [
        (change, outcome(txn, story.point, DECIDED))
        for txn in story.store.all.values()
        for change in txn.changes
        if story.first <= change.lsn <= story.point
    ]


def outputs(story: Story, files: Files) -> dict[str, list[str]]:
    changes = change_list(story)
    keys = {change.place[:2] for change, _ in changes}
    keys |= {(table, number) for table in TABLES for number in range(len(files.held[table]))}
    bases = {key: base_of(story, files, key) for key in keys}
    winners = [change for change, how in changes if counts(change, how, story.point)]
    state = true_state(story)
    lost: list[tuple[str, str, str]] = []
    kept: dict[str, dict[str, Row]] = {table: {} for table in TABLES}
    inserted = {change.place for change in winners if change.before[0] != "L"}
    for place, row in state.items():
        if bases[place[:2]][0] == "none" and place not in inserted:
            lost.append((place[0], row[0], "page"))
        else:
            kept[place[0]][row[0]] = row
    for table in ("loans", "fees"):
        for key, row in list(kept[table].items()):
            if any(parent not in kept[name] for name, parent in references(table, row)):
                lost.append((table, key, "orphan"))
                del kept[table][key]
    made = {f"{table}.csv": table_lines(table, kept[table]) for table in TABLES}
    order = list(TABLES)
    lost.sort(key=lambda found: (order.index(found[0]), int(found[1])))
    made["lost.csv"] = ["table,id,reason", *map(csv_line, lost)]
    made["pages.csv"] = ["table,page,source,lsn"] + [
        csv_line((*key, *bases[key])) for key in sorted(bases, key=lambda key: (order.index(key[0]), key[1]))
    ]
    made["transactions.csv"] = transaction_lines(story)
    made["report.txt"] = report_lines(story, files, kept, lost)
    return made


def table_lines(table: str, rows: dict[str, Row]) -> list[str]:
    return [csv_line(TABLES[table][1]), *(csv_line(rows[key]) for key in sorted(rows, key=int))]


def transaction_lines(story: Story) -> list[str]:
    lines = ["txn,first,last,changes,outcome"]
    for number, txn in sorted(story.store.all.items()):
        seen = [lsn for lsn in txn.records if story.first <= lsn <= story.point]
        if seen:
            changes = sum(lsn in seen for lsn in (change.lsn for change in txn.changes))
            lines.append(csv_line((number, seen[0], seen[-1], changes, outcome(txn, story.point, DECIDED))))
    return lines


def report_lines(
    story: Story, files: Files, kept: dict[str, dict[str, Row]], lost: list[tuple[str, str, str]]
) -> list[str]:
    open_loans = sum(row[4] == "" for row in kept["loans"].values())
    return [
        f"consistent_lsn={story.point}",
        f"from_mirror={sum(story.first <= lsn <= story.point for lsn in BAD_PRIMARY)}",
        f"unreadable_pages={sum(page is None for held in files.held.values() for page in held)}",
        f"lost_rows={sum(reason == 'page' for _, _, reason in lost)}",
        f"orphans={sum(reason == 'orphan' for _, _, reason in lost)}",
        f"open_loans={open_loans}",
        f"fees_cents={sum(int(row[3]) for row in kept['fees'].values())}",
    ]


# --- the files ----------------------------------------------------------------------------------

STORY = play()
DECIDED = {gid: how for gid, how in sorted(STORY.store.decisions.items()) if int(gid[2:5]) % 5}
"""What the coordinator still knows; of the others nothing was kept, which means abort."""
RNG = random.Random(5)
LSNS = range(STORY.first, STORY.point + 1)
BAD_PRIMARY = set(RNG.sample(LSNS, 26)) | {STORY.point + 1}
BAD_MIRROR = set(RNG.sample(sorted(set(LSNS) - BAD_PRIMARY), 22)) | {STORY.point + 1}


def spans(first: int, last: int) -> list[tuple[int, int]]:
    return [(at, min(at + SEGMENT - 1, last)) for at in range(first, last + 1, SEGMENT)]


def segments() -> list[tuple[int, int, int, int, Store]]:
    """number, epoch, first, last, and whose log."""
    old = [(3, a, b, STORY.other) for a, b in spans(STORY.first, STORY.other.lsn)]
    new = [(4, a, b, STORY.store) for a, b in spans(STORY.fork, STORY.end)]
    return [(31 + at, *what) for at, what in enumerate(old + new)]


def bad_line(rng: random.Random, line: str) -> str:
    kind = rng.random()
    if kind < 0.3:
        return line[: rng.randrange(4, len(line) - 9)]
    at = rng.randrange(len(line) - 9)
    if kind < 0.6:
        return line[:at] + "?" * min(6, len(line) - at)
    digits = [i for i, c in enumerate(line[:-9]) if c.isdigit()]
    at = rng.choice(digits[1:])
    return line[:at] + str((int(line[at]) + rng.randrange(1, 9)) % 10) + line[at + 1 :]


def segment_text(segment: tuple[int, int, int, int, Store], bad: set[int], rng: random.Random) -> str:
    number, epoch, first, last, store = segment
    lines = [f"SEGMENT {number} EPOCH {epoch} FIRST {first} LAST {last}"]
    for lsn in range(first, last + 1):
        hit = lsn in bad and not (epoch == 3 and lsn >= STORY.fork)
        if hit and rng.random() < 0.25:
            continue
        lines.append(bad_line(rng, store.log[lsn]) if hit else store.log[lsn])
    # What the file held before it was used again; in the last one, the very records that are missing.
    old = STORY.point - 2 if last == STORY.end else first - rng.randrange(120, 400)
    lines += [STORY.store.log[lsn] for lsn in range(old, min(old + rng.randrange(5, 12), first))]
    return "".join(line + "\n" for line in lines)


def dump_text(table: str) -> str:
    lines = [csv_line(("page", "lsn", "slot", *TABLES[table][1]))]
    for (name, number), page in sorted(STORY.dump.items()):
        if name == table:
            lines += [
                csv_line((number, page.lsn, at, *row))
                for at, (state, row) in enumerate(page.slots)
                if state == "L"
            ]
    return "".join(line + "\n" for line in lines)


def inputs(files: Files) -> dict[str, bytes]:
    made: dict[str, bytes] = {f"pages/{table}.pages": b"".join(files.pages[table]) for table in TABLES}
    rng = random.Random(12)
    for segment in segments():
        for folder, bad in (("wal", BAD_PRIMARY), ("mirror", BAD_MIRROR)):
            name = f"{folder}/{segment[0]:04}.wal"
            made[name] = segment_text(segment, bad, rng).encode()
    for table in TABLES:
        made[f"dump/{table}.csv"] = dump_text(table).encode()
        rows = [f"{key} {place[1]} {place[2]}\n" for key, place in STORY.index[table]]
        rng.shuffle(rows)
        made[f"index/{table}.idx"] = "".join(rows).encode()
    listed = [f"{table}\t{number}\t{lsn}\n" for (table, number), lsn in sorted(STORY.changed.items())]
    made["checkpoint.tsv"] = "".join(["table\tpage\tlsn\n", *listed]).encode()
    made["history.tsv"] = (
        f"epoch\tfirst\treason\n2\t1\tnew disks\n3\t{STORY.third}\tmirror joined\n4\t{STORY.fork}\tfailover\n"
    ).encode()
    decided = "".join(f"{gid}\t{how}\n" for gid, how in DECIDED.items())
    made["coordinator.tsv"] = f"gid\tdecision\n{decided}".encode()
    schema = "".join(f"{table} {code} {' '.join(columns)}\n" for table, (code, columns) in TABLES.items())
    keys = "".join(f"{t}.{column} -> {parent}.id\n" for t, refs in PARENTS.items() for column, parent in refs)
    made["schema.txt"] = (schema + keys).encode()
    return made


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "database-rescue"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    files = damage(STORY)
    for name, data in inputs(files).items():
        write(seed / "environment" / "data" / name, data)
    for name, lines in outputs(STORY, files).items():
        write(seed / "tests" / "expected" / name, "".join(line + "\n" for line in lines).encode())


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main()
