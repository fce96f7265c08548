"""Makes the data of seeds/data-wrangling: six inputs, and the three expected outputs.

    python3 scripts/seed-data/data_wrangling.py [SEED_FOLDER]

Sales are drawn in canonical form first (business date, pieces, amount, currency) and booked with exact
fractions: that gives the expected outputs. The same sales, with their older versions and corrections, are
then written the way three selling systems would. Same bytes on every run; the seed's test never sees
this file.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

rng = random.Random(20260331)

FIRST, LAST = date(2026, 1, 1), date(2026, 3, 31)
SUMMER_TIME = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
CUT_OFF = datetime(2026, 4, 10, 12, 0, tzinfo=UTC)
UNITS = {"SEK": 1, "NOK": 1, "DKK": 1, "ISK": 100, "HUF": 100}


@dataclass(frozen=True)
class Product:
    sku: str
    valid_from: date
    name: str
    box: int
    vat: int


@dataclass(frozen=True)
class Row:
    """One row of an export, in canonical terms. `pieces` is None where a box size decides."""

    source: str
    entry: str
    version: str
    moment: datetime  # local; agents know only the day
    sku: str
    quantity: int
    unit: str
    currency: str
    cents: int | None  # None: the amount cannot be read
    state: str = ""  # training, cancelled
    day: date | None = None  # set by a correction
    pieces: int | None = None  # set by a correction
    void: bool = False
    spoilt: str = ""  # what stands where an amount should

    @property
    def date(self) -> date:
        if self.day:
            return self.day
        return self.moment.date() if self.source == "agents" else (self.moment - timedelta(hours=4)).date()


@dataclass(frozen=True)
class Correction:
    number: int
    received: datetime
    entry: str
    field: str
    value: str


@dataclass
class Books:
    ledger: list[tuple[Row, int, int]] = field(default_factory=list)  # row, pieces, net euro cents
    exceptions: list[tuple[str, int, str, str]] = field(default_factory=list)


# --- reference data -------------------------------------------------------------------------------

NAMES = (
    "Day ticket", "Bicycle", "Car under 5 m", "Dog, small", "Cabin, inside", "Cabin, outside", "Tea",
    "Coffee, large", 'Mug "Sound Line"', "Chart of the isles", "Postcards", "Rye bread", "Smoked herring",
    "Rain cape", "Torch", "Blanket, wool", "Binoculars", "Playing cards", "Sea salt", "Honey", "Apple juice",
    "Lamp oil",
)  # fmt: skip


def draw_products() -> list[Product]:
    rows = []
    for index, name in enumerate(NAMES):
        sku = f"{rng.choice('TSFG')}{100 + index * 7}{rng.choice('ABC')}"
        box, vat = rng.choice((6, 10, 20, 24, 48)), rng.choice((0, 9, 13, 22))
        starts = date(2026, 2, 9) if name == "Honey" else date(2025, rng.randrange(1, 12), 1)
        rows.append(Product(sku, starts, name, box, vat))
        if vat == 22:  # the new rate
            rows.append(Product(sku, date(2026, 2, 1), name, box, 24))
        if index % 4 == 0:  # another supplier, other boxes
            later = rng.choice((date(2026, 1, 17), date(2026, 2, 20), date(2026, 3, 15)))
            before = [r for r in rows if r.sku == sku and r.valid_from <= later]
            after = [r for r in rows if r.sku == sku and r.valid_from > later]
            rows = [r for r in rows if r not in after] + [replace(r, box=box + 6) for r in after]
            rows.append(replace(max(before, key=lambda r: r.valid_from), valid_from=later, box=box + 6))
    rng.shuffle(rows)
    return rows


def product_on(sku: str, day: date) -> Product | None:
    valid = [p for p in PRODUCTS if p.sku == sku and p.valid_from <= day]
    return max(valid, key=lambda p: p.valid_from) if valid else None


def draw_rates() -> list[tuple[date, str, int]]:
    """(day, currency, millionths of a euro for the currency's units), as quoted, corrections at the end."""
    now = {"SEK": 90_500, "NOK": 85_200, "DKK": 133_900, "ISK": 686_500, "HUF": 248_400}
    quoted, day = [], date(2025, 12, 29)
    while day <= date(2026, 4, 2):
        holiday = day.weekday() > 4 or day in (date(2026, 1, 1), date(2026, 1, 6), date(2026, 2, 24))
        for currency in now:
            now[currency] += rng.randrange(-4, 5) * 100
            if not holiday and not (currency == "HUF" and day > date(2026, 3, 10)):
                quoted.append((day, currency, now[currency]))
        day += timedelta(days=1)
    wrong = rng.sample(quoted[40:], 9)
    return quoted + [(day, currency, micro + rng.randrange(20, 60) * 100) for day, currency, micro in wrong]


def rate_on(currency: str, day: date) -> Fraction | None:
    if currency == "EUR":
        return Fraction(1)
    known = {d: micro for d, c, micro in RATES if c == currency and day - timedelta(days=7) <= d <= day}
    return Fraction(known[max(known)], 1_000_000 * UNITS[currency]) if known else None


# --- sales ----------------------------------------------------------------------------------------


def draw_moment() -> datetime:
    """A local moment; nights, both ends of the quarter and the change to summer time come up often."""
    kind = rng.random()
    if kind < 0.06:
        day = rng.choice((date(2025, 12, 31), date(2026, 1, 1), date(2026, 3, 31), date(2026, 4, 1)))
    elif kind < 0.12:
        day = rng.choice((date(2026, 3, 29), date(2026, 3, 30), date(2026, 3, 31)))
    else:
        day = FIRST + timedelta(days=rng.randrange((LAST - FIRST).days + 1))
    hour = rng.choice((0, 2, 3, 3, 4, 4)) if rng.random() < 0.22 else rng.randrange(5, 24)
    hour = 4 if day == SUMMER_TIME.date() and hour == 3 else hour  # no such hour on that day
    return datetime(day.year, day.month, day.day, hour, rng.randrange(60), rng.randrange(60))


def draw_cents(currency: str) -> int:
    if currency in ("ISK", "HUF"):
        cents = rng.randrange(300, 90_000) * 100
    elif currency == "EUR":
        cents = rng.randrange(150, 40_000)
    else:
        cents = rng.choice((rng.randrange(20, 3000) * 500, rng.randrange(1500, 400_000)))
    return -cents if rng.random() < 0.07 else cents


def draw_row(source: str, entry: str, version: str, currencies: str, units: str = "PC") -> Row:
    currency = rng.choice(currencies.split())
    sku = rng.choice(PRODUCTS).sku if rng.random() > 0.015 else rng.choice(("T999X", "G104Z"))
    quantity = rng.randrange(1, 40) if source == "agents" else rng.randrange(1, 7)
    cents = draw_cents(currency)
    quantity = -quantity if cents < 0 else quantity
    unit = rng.choice(units.split())
    return Row(source, entry, version, draw_moment(), sku, quantity, unit, currency, cents)


def revise(row: Row, version: str) -> Row:
    """A later version of the same entry; now and then nothing but the version is new."""
    kind = rng.random()
    if kind < 0.2:
        return replace(row, version=version)
    if kind < 0.7:
        return replace(row, version=version, cents=draw_cents(row.currency), spoilt="")
    if kind < 0.85:
        return replace(row, version=version, quantity=row.quantity + 1)
    return replace(row, version=version, moment=draw_moment())


def scatter(rows: list[Row], later: list[Row]) -> list[Row]:
    """`later` rows go to places of chance, not always behind the row that they replace."""
    for row in later:
        rows.insert(rng.randrange(len(rows)), row)
    return rows


def draw_kiosk() -> list[Row]:
    rows, later = [], []
    for till in (1, 2, 3, 7, 12, 99):
        for receipt in range(rng.randrange(1, 300), 100_000)[: 30 if till == 99 else 200]:
            version = f"{rng.choice((1, 1, 8)):09}"
            row = draw_row("kiosk", f"K{till}-{receipt:06}", version, "EUR EUR EUR SEK DKK ISK")
            row = replace(row, state="training" if till == 99 else "")
            if rng.random() < 0.02:
                spoilt = rng.choice(("?", "12,5O", "14.50", "1.20,00", "", "7,5"))
                row = replace(row, cents=None, spoilt=spoilt)
            rows.append(row)
            if rng.random() < 0.07:
                later.append(revise(row, f"{int(row.version) + rng.choice((0, 1, 2, 3)):09}"))
    return scatter(rows, later)


def draw_web() -> list[Row]:
    rows, later = [], []
    for order in range(4400, 4780):
        for line in range(1, rng.choice((1, 1, 2, 3, 4)) + 1):
            stamp = datetime(2026, 4, 2) + timedelta(minutes=rng.randrange(8000))
            version = f"{stamp:%Y-%m-%dT%H:%M:00Z}"
            row = draw_row("web", f"W{order}-{line}", version, "EUR EUR SEK NOK ISK HUF")
            row = replace(row, state="cancelled" if rng.random() < 0.04 else "")
            rows.append(row)
            if rng.random() < 0.09:
                stamp += timedelta(minutes=rng.choice((-900, -60, 0, 60, 900)))
                other = revise(row, f"{stamp:%Y-%m-%dT%H:%M:00Z}")
                later.append(replace(other, state=rng.choice(("", "", "cancelled"))))
    return scatter(rows, later)


def draw_agents() -> list[Row]:
    rows, later = [], []
    for number in range(310_200, 310_780):
        row = draw_row("agents", f"A{number}", "", "EUR SEK SEK NOK NOK DKK HUF", "PC PC DZ BX BX")
        if rng.random() < 0.01:
            row = replace(row, cents=-rng.randrange(1, 5))  # less than half a cent
        if rng.random() < 0.025:
            row = replace(row, cents=None, spoilt=rng.choice(("", "n/a", "1.204.50", "88,00")))
        rows.append(row)
        if rng.random() < 0.06:
            later.append(revise(row, ""))
    return scatter(rows, later)


# --- corrections ----------------------------------------------------------------------------------


def draw_corrections() -> list[Correction]:
    rows = {row.entry: row for row in survivors(KIOSK + WEB + AGENTS)[0]}
    entries = rng.sample(sorted(rows), 95) + [row.entry for row in rows.values() if row.cents is None][::3]
    drawn: list[tuple[datetime, str, str, str]] = []
    for entry in entries:
        row = rows[entry]
        received = datetime(2026, 4, 3, tzinfo=UTC) + timedelta(minutes=rng.randrange(10_300))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            what = rng.choice("amount amount quantity sku date void".split()) if row.cents else "amount"
            drawn.append((received, entry, what, draw_value(what, row)))
            received += timedelta(minutes=rng.choice((0, 25, 70, 130)))
            if rng.random() < 0.5:
                drawn.append((received, entry, what, draw_value(what, row)))
                received += timedelta(minutes=rng.choice((25, 70, 130)))
    for minutes in (-61, -60, -59, -1, 0, 1, 59, 60, 61, 119, 120, 121, 179, 200, 900):  # around the cut-off
        entry = rng.choice(sorted(rows))
        value = draw_value("amount", rows[entry])
        drawn.append((CUT_OFF + timedelta(minutes=minutes), entry, "amount", value))
    drawn += [(CUT_OFF - timedelta(days=3), *rest) for rest in clashes(list(rows.values()))]
    for entry in ("K4-000200", "W4999-1", "A310999", "K12-999999", "W4401-9", "A000001"):
        drawn.append((datetime(2026, 4, 6, 9, rng.randrange(60), tzinfo=UTC), entry, "void", "yes"))
    drawn.append((CUT_OFF + timedelta(days=1), "A311999", "void", "yes"))
    numbers = list(range(1, len(drawn) + 1))
    rng.shuffle(numbers)
    corrections = [Correction(n, *rest) for n, rest in zip(numbers, drawn, strict=True)]
    rng.shuffle(corrections)
    return corrections


def clashes(rows: list[Row]) -> Iterable[tuple[str, str, str]]:
    """Corrections after which two neighbouring reasons apply, so that their order counts."""
    unreadable = [row for row in rows if row.cents is None]
    for state in ("training", "cancelled"):
        yield from ((row.entry, "void", "yes") for row in [r for r in rows if r.state == state][4:6])
    yield from ((row.entry, "void", "yes") for row in unreadable[1:6:3])
    yield from ((row.entry, "date", "2026-04-02") for row in unreadable[2:6:3])
    unrated = [row for row in rows if row.currency == "HUF" and date(2026, 3, 18) < row.date <= LAST]
    yield from ((row.entry, "sku", "t-999-x") for row in unrated[2:5])


def draw_value(what: str, row: Row) -> str:
    if what == "amount":
        return plain(draw_cents(row.currency))
    if what == "quantity":
        return str(rng.randrange(1, 60))
    if what == "sku":
        return rng.choice((str.lower, str.upper, dashed))(rng.choice(PRODUCTS).sku)
    if what == "date":
        return str(FIRST + timedelta(days=rng.randrange(-3, 93)))
    return rng.choice(("yes", "yes", "no"))


def corrected(row: Row, correction: Correction) -> Row:
    value = correction.value
    match correction.field:
        case "amount":
            return replace(row, cents=int(Fraction(value) * 100))
        case "quantity":
            return replace(row, pieces=int(value))
        case "sku":
            return replace(row, sku=value.upper().replace("-", "").replace(" ", ""))
        case "date":
            return replace(row, day=date.fromisoformat(value))
        case _:
            return replace(row, void=value == "yes")


# --- booking --------------------------------------------------------------------------------------


def survivors(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The highest version of each entry, further down among equals; and the others."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.entry not in best or row.version >= best[row.entry].version:
            best[row.entry] = row
    kept = {id(row) for row in best.values()}
    return [r for r in rows if id(r) in kept], [r for r in rows if id(r) not in kept]


def half_away(value: Fraction) -> int:
    whole = int(abs(value) + Fraction(1, 2))
    return -whole if value < 0 else whole


def fault(row: Row) -> str:
    if row.state:
        return row.state
    if row.void:
        return "voided"
    if row.cents is None:
        return "bad-amount"
    if not FIRST <= row.date <= LAST:
        return "out-of-period"
    if not product_on(row.sku, row.date):
        return "no-product"
    return "" if rate_on(row.currency, row.date) else "no-rate"


def book() -> Books:
    books = Books()
    records: dict[int, int] = {}
    for rows in (KIOSK, WEB, AGENTS):
        records |= {id(row): number for number, row in enumerate(rows, 1)}
    kept, replaced = survivors(KIOSK + WEB + AGENTS)
    books.exceptions = [(row.source, records[id(row)], row.entry, "superseded") for row in replaced]
    entries = {row.entry: row for row in kept}
    for number, c in enumerate(CORRECTIONS, 1):
        reason = "late" if c.received > CUT_OFF else "" if c.entry in entries else "unknown-entry"
        if reason:
            books.exceptions.append(("corrections", number, c.entry, reason))
    final = dict(entries)
    for c in sorted(CORRECTIONS, key=lambda c: (c.received, c.number)):
        if c.received <= CUT_OFF and c.entry in final:
            final[c.entry] = corrected(final[c.entry], c)
    for entry, row in final.items():
        if reason := fault(row):
            books.exceptions.append((row.source, records[id(entries[entry])], entry, reason))
        else:
            books.ledger.append((row, pieces(row), net_cents(row)))
    books.ledger.sort(key=lambda booked: (str(booked[0].date), booked[0].entry))
    books.exceptions.sort()
    return books


def pieces(row: Row) -> int:
    if row.pieces is not None:
        return row.pieces
    product = product_on(row.sku, row.date)
    assert product
    return row.quantity * {"PC": 1, "DZ": 12, "BX": product.box}[row.unit]


def net_cents(row: Row) -> int:
    product, rate = product_on(row.sku, row.date), rate_on(row.currency, row.date)
    assert product and rate and row.cents is not None
    vat = 0 if row.source == "agents" else product.vat
    return half_away(row.cents * rate / (1 + Fraction(vat, 100)))


# --- the three systems' ways of writing -----------------------------------------------------------


def plain(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def dashed(sku: str) -> str:
    return f"{sku[0]}-{sku[1:4]}-{sku[4]}"


def kiosk_amount(cents: int) -> str:
    grouped = f"{abs(cents) // 100:,}".replace(",", ".") if rng.random() < 0.7 else str(abs(cents) // 100)
    return f"{'-' if cents < 0 else ''}{grouped},{abs(cents) % 100:02}"


def kiosk_memo(row: Row) -> str:
    kind = rng.random()
    if kind < 0.70:
        return ""
    if kind < 0.82:
        return rng.choice(("paid in cash", "group", "member's price", "coupon 5,00"))
    if kind < 0.90:
        return '"window seat; deck 2"'
    if kind < 0.95:
        return '"said ""keep the change"""'
    if kind < 0.98:
        return '"two bags;\none ""fragile"""'
    till, receipt = row.entry[1:].split("-")
    return f'"should have been:\n{till};{receipt};9;{row.moment:%d.%m.%Y %H:%M};T100A;1;1,00;EUR;"'


def kiosk_lines() -> Iterable[str]:
    yield "till;receipt;rev;sold_at;sku;qty;amount;currency;memo"
    for row in KIOSK:
        till, receipt = row.entry[1:].split("-")
        till = till.zfill(2) if rng.random() < 0.4 else till
        receipt = receipt.lstrip("0") if rng.random() < 0.5 else receipt
        sku = rng.choice((row.sku, row.sku.lower(), dashed(row.sku).lower(), f'"{row.sku[:4]} {row.sku[4]}"'))
        amount = row.spoilt if row.cents is None else kiosk_amount(row.cents)
        amount = f'"{amount}"' if rng.random() < 0.2 else amount
        yield ";".join((till, receipt, str(int(row.version)), f"{row.moment:%d.%m.%Y %H:%M}", sku,
                        str(row.quantity), amount, row.currency, kiosk_memo(row)))  # fmt: skip


def to_utc(local: datetime) -> datetime:
    summer, winter = ((local - timedelta(hours=h)).replace(tzinfo=UTC) for h in (3, 2))
    return summer if summer >= SUMMER_TIME else winter


def web_lines() -> Iterable[str]:
    yield "order\tline\tupdated\tcreated\tsku\tqty\tcurrency\tamount_minor\tstatus"
    for row in WEB:
        order, line = row.entry[1:].split("-")
        assert row.cents is not None
        minor = row.cents // 100 if row.currency == "ISK" else row.cents
        status = row.state or ("refunded" if minor < 0 else "paid")
        created = f"{to_utc(row.moment):%Y-%m-%dT%H:%M:%SZ}"
        yield "\t".join((order, line, row.version, created, dashed(row.sku), str(row.quantity), row.currency,
                         str(minor), status))  # fmt: skip


def behind(text: str) -> str:
    return text[1:] + "-" if text.startswith("-") else text


def agents_lines() -> Iterable[str]:
    yield "* AGENTS' SALES 2026/1, NET. REMARKS BEGIN WITH AN ASTERISK"
    for number, row in enumerate(AGENTS):
        if number % 48 == 0:
            yield f"* PAGE {number // 48 + 1:>3}"
        amount = row.spoilt if row.cents is None else behind(plain(row.cents))
        sku = rng.choice((row.sku, dashed(row.sku)))
        yield (f"{row.entry[1:]}{row.moment:%y%m%d}{sku:<12}{behind(str(row.quantity)):>6}{row.unit}"
               f"{row.currency}{amount:>12}")  # fmt: skip
    yield f"* END, {len(AGENTS)} RECORDS"


def corrections_lines() -> Iterable[str]:
    yield "no,received,entry,field,value,note"
    for c in CORRECTIONS:
        zone = timezone(timedelta(hours=rng.choice((0, 2, 3, 3, -5))))
        note = rng.choice(("", "", "by phone", '"agent called, twice"', '"see ""April"" folder"'))
        yield f"{c.number},{c.received.astimezone(zone).isoformat()},{c.entry},{c.field},{c.value},{note}"


def products_lines() -> Iterable[str]:
    yield "sku,valid_from,name,box,vat"
    for p in PRODUCTS:
        name = '"' + p.name.replace('"', '""') + '"' if set(p.name) & set(',"') else p.name
        yield f"{p.sku},{p.valid_from},{name},{p.box},{p.vat}"


def rates_lines() -> Iterable[str]:
    yield "date,currency,units,eur"
    for day, currency, micro in RATES:
        yield f"{day},{currency},{UNITS[currency]},{micro / 1_000_000:.4f}"


def outputs(books: Books) -> dict[str, list[str]]:
    ledger = ["entry,date,source,sku,pieces,currency,amount,net_eur"]
    months: dict[tuple[str, str], list[int]] = {}
    for row, count, net in books.ledger:
        assert row.cents is not None
        words = (row.entry, row.date, row.source, row.sku, count, row.currency, plain(row.cents), plain(net))
        ledger.append(",".join(map(str, words)))
        total = months.setdefault((f"{row.date:%Y-%m}", row.sku), [0, 0, 0])
        months[f"{row.date:%Y-%m}", row.sku] = [total[0] + 1, total[1] + count, total[2] + net]
    totals = ["month,sku,entries,pieces,net_eur"]
    for key, (n, count, net) in sorted(months.items()):
        totals.append(f"{','.join(key)},{n},{count},{plain(net)}")
    n, count, net = (sum(values) for values in zip(*months.values(), strict=True))
    totals.append(f"TOTAL,,{n},{count},{plain(net)}")
    exceptions = ["source,record,entry,reason", *(",".join(map(str, e)) for e in books.exceptions)]
    return {"ledger.csv": ledger, "exceptions.csv": exceptions, "totals.csv": totals}


PRODUCTS = draw_products()
RATES = draw_rates()
KIOSK, WEB, AGENTS = draw_kiosk(), draw_web(), draw_agents()
CORRECTIONS = draw_corrections()

EXPORTS: dict[str, tuple[Callable[[], Iterable[str]], str, str]] = {
    "kiosk.csv": (kiosk_lines, "", "\n"),
    "web.tsv": (web_lines, "\ufeff", "\r\n"),
    "agents.txt": (agents_lines, "", "\n"),
    "corrections.csv": (corrections_lines, "", "\n"),
    "products.csv": (products_lines, "", "\n"),
    "rates.csv": (rates_lines, "", "\n"),
}


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "data-wrangling"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    for name, (lines, start, end) in EXPORTS.items():
        write(seed / "environment" / "data" / name, start + "".join(line + end for line in lines()))
    for name, rows in outputs(book()).items():
        write(seed / "tests" / "expected" / name, "".join(row + "\n" for row in rows))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
