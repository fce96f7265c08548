"""Makes the data of seeds/service-debugging: inputs, recorded run, and the five expected outputs.

    python3 scripts/seed-data/service_debugging.py [SEED_FOLDER]

Requests are drawn while a desk that keeps the contract answers them: that gives the expected outputs. They
are then written as three frontends would log them. The recorded run is what the faulty workers in the
seed's `environment/service` (written by hand) make of these logs, so it needs bash, awk and sort. Same
bytes on every run; the seed's test never sees this file.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

rng = random.Random(20260603)

START = int(datetime(2026, 6, 3, 20, 0, tzinfo=UTC).timestamp())
HOURS, REQUESTS = 74, 620
WINDOW, LONGEST, OFFSET = 86400, 4320, timedelta(hours=2)
AHEAD = {"east": -388, "north": 505, "west": 0}
STATIONS = {
    "HB-01-01": "Alte Fähre",
    "HB-01-02": "A+B Quay",
    "HB-01-13": "50% Mole",
    "HB-02-01": "Kai %2B",
    "HB-02-02": "Sörland & Söhne",
    "KL-01-01": "Harbour Gate 1",
    "KL-01-10": "Harbour Gate 10",
    "KL-02-01": "Smörgåsbord=Hall",
}
ROUTES = [("KL", "C"), ("HB", "A"), ("HB-01", "B"), ("KL-01-10", "A"), ("HB-01-1", "C"), ("KL-02", "B")]
CLASSES = {"regular": 0, "student": 25, "partner": 40}
HOLIDAYS = {"2026-05-25": 50, "2026-06-04": 30, "2026-06-06": 15}
TARIFFS = [
    (zone, size, day, rate + step, 9 * (rate + step) + 5)
    for step, day in ((0, "2025-10-01"), (8, "2026-04-01"), (31, "2026-06-20"), (17, "2026-06-05"))
    for zone, factor in (("A", 3), ("B", 4), ("C", 5))
    for size, rate in (("S", 21 * factor), ("M", 33 * factor), ("L", 47 * factor))
]
NUMBERS = {"S": (1, 2, 3), "M": (2, 3, 9, 10, 11, 12), "L": (8, 12)}


@dataclass
class Rental:
    ref: str
    client: str
    locker: str
    start: int
    until: int
    minutes: int
    rate: int
    cap: int
    percent: int
    paid: int

    def cost(self, minutes: int) -> int:
        days, hours = divmod(-(-minutes // 60), 24)
        gross = days * self.cap + min(hours * self.rate, self.cap)
        return (gross * (100 - self.percent) * 2 + 100) // 200

    def row(self) -> str:
        words = (
            self.ref,
            self.client,
            self.start,
            self.until,
            self.minutes,
            self.rate,
            self.cap,
            self.percent,
        )
        return "\t".join(map(str, (*words, self.paid)))


@dataclass
class Request:
    """`fields` are what the client sent, before encoding."""

    time: int
    frontend: str
    rid: str
    client: str
    key: str
    fields: dict[str, str]

    @property
    def op(self) -> str:
        return self.fields.get("op", "")


@dataclass
class Answer:
    """What the workers add to a request, and the response."""

    intake: tuple[object, ...]
    route: tuple[object, ...] = ("-", "-")
    price: tuple[object, ...] = ("-", "-", "-", "-")
    status: str = ""
    locker: str = "-"
    amount: int = 0
    balance: object = "-"

    def desk(self) -> tuple[object, ...]:
        return self.status, self.locker, self.amount, self.balance


def zone_of(station: str) -> str:
    return max(
        ((prefix, zone) for prefix, zone in ROUTES if station.startswith(prefix)), key=lambda r: len(r[0])
    )[1]


def local_day(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC) + OFFSET:%Y-%m-%d}"


def tariff(zone: str, size: str, day: str) -> tuple[int, int]:
    rows = [row for row in TARIFFS if row[:2] == (zone, size) and row[2] <= day]
    return max(rows, key=lambda row: row[2])[3:]


def whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 1 <= int(text) <= LONGEST else None


class Desk:
    """Answers by the contract."""

    def __init__(self) -> None:
        self.accounts: dict[str, list[object]] = {}
        self.balance: dict[str, int] = {}
        self.lockers = [f"{s}/{size}-{n}" for s in STATIONS for size, found in NUMBERS.items() for n in found]
        self.rentals: dict[str, Rental] = {}
        self.seen: dict[tuple[str, str], tuple[int, str]] = {}
        self.answers: dict[str, Answer] = {}

    def free(self, station: str, size: str, time: int) -> str:
        taken = {rental.locker for rental in self.rentals.values() if rental.until > time}
        start = f"{station}/{size}-"
        found = [one for one in self.lockers if one.startswith(start) and one not in taken]
        return min(found, key=lambda one: int(one.removeprefix(start)), default="")

    def answer(self, request: Request) -> Answer:
        first = self.repeats(request)
        answer = Answer(self.intake(request, first))
        if answer.intake[2] == "reserve":
            self.priced(request, answer)
        if first != "-":
            same = self.answers[first]
            answer.status, answer.locker, answer.amount, answer.balance = (
                same.status,
                same.locker,
                same.amount,
                same.balance,
            )
        else:
            self.carry_out(request, answer)
        self.answers[request.rid] = answer
        return answer

    def repeats(self, request: Request) -> str:
        known = self.seen.get((request.client, request.key))
        if request.key == "-":
            return "-"
        if known and request.time - known[0] < WINDOW:
            return known[1]
        self.seen[request.client, request.key] = (request.time, request.rid)
        return "-"

    def intake(self, request: Request, first: str) -> tuple[object, ...]:
        told = request.fields
        minutes = whole(told.get("minutes", ""))
        op, station, size, length, ref, cents = "invalid", "-", "-", "-", "-", "-"
        if request.op == "reserve" and minutes and told.get("station") and told.get("size") in NUMBERS:
            op, station, size, length = "reserve", told["station"], told["size"], str(minutes)
        elif request.op == "extend" and minutes and told.get("ref"):
            op, ref, length = "extend", told["ref"], str(minutes)
        elif request.op == "release" and told.get("ref"):
            op, ref = "release", told["ref"]
        elif request.op == "topup" and "." in told.get("amount", ""):
            op, cents = "topup", str(int(told["amount"].replace(".", "")))
        return request.client, first, op, station, size, length, ref, cents

    def priced(self, request: Request, answer: Answer) -> None:
        ids = {name: one for one, name in STATIONS.items()}
        station = ids.get(request.fields["station"])
        if station is None:
            answer.route = ("?", "?")
            return
        answer.route = (station, zone_of(station))
        day, size = local_day(request.time), request.fields["size"]
        rate, cap = tariff(zone_of(station), size, day)
        kind = str(self.accounts[request.client][0]) if request.client in self.accounts else "regular"
        percent = max(CLASSES[kind], HOLIDAYS.get(day, 0))
        minutes = int(request.fields["minutes"])
        rental = Rental(request.rid, request.client, "", request.time, 0, minutes, rate, cap, percent, 0)
        answer.price = (rate, cap, percent, rental.cost(minutes))

    def carry_out(self, request: Request, answer: Answer) -> None:
        if request.client not in self.balance:
            answer.status = "no-account"
            return
        op = str(answer.intake[2])
        if op == "invalid":
            answer.status = "invalid"
        elif op == "topup":
            answer.status, answer.amount = "credited", int(str(answer.intake[7]))
        elif op == "reserve":
            self.reserve(request, answer)
        else:
            self.change(request, answer, op)
        self.balance[request.client] += answer.amount
        answer.balance = self.balance[request.client]

    def reserve(self, request: Request, answer: Answer) -> None:
        station, size = str(answer.route[0]), request.fields["size"]
        locker = "" if station == "?" else self.free(station, size, request.time)
        if not locker:
            answer.status = "unknown-station" if station == "?" else "full"
            return
        rate, cap, percent, price = (int(str(one)) for one in answer.price)
        if price > self.balance[request.client]:
            answer.status = "declined"
            return
        minutes = int(request.fields["minutes"])
        until = request.time + 60 * minutes
        rental = Rental(
            request.rid, request.client, locker, request.time, until, minutes, rate, cap, percent, price
        )
        self.rentals[request.rid] = rental
        answer.status, answer.locker, answer.amount = "reserved", locker, -price

    def change(self, request: Request, answer: Answer, op: str) -> None:
        rental = self.rentals.get(request.fields["ref"])
        if rental is None or rental.client != request.client:
            answer.status = "foreign" if rental else "unknown"
            return
        answer.locker = rental.locker
        if rental.until <= request.time:
            answer.status = "ended"
        elif op == "release":
            used = max(1, -(-(request.time - rental.start) // 60))
            answer.status, answer.amount = "released", max(0, rental.paid - rental.cost(used)) // 2
            rental.until = request.time
        else:
            self.extend(request, answer, rental)

    def extend(self, request: Request, answer: Answer, rental: Rental) -> None:
        minutes = int(request.fields["minutes"])
        charge = rental.cost(rental.minutes + minutes) - rental.paid
        if rental.minutes + minutes > LONGEST:
            answer.status = "too-long"
        elif charge > self.balance[request.client]:
            answer.status = "declined"
        else:
            answer.status, answer.amount = "extended", -charge
            rental.minutes += minutes
            rental.until += 60 * minutes
            rental.paid += charge


# --- the state at the start -----------------------------------------------------------------------

CLIENTS = [f"c{number:03d}" for number in range(1, 37)]


@dataclass
class Start:
    """Accounts and lockers as the snapshot has them, and the journal's rows since the row before it."""

    accounts: list[str] = field(default_factory=list)
    lockers: list[str] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)


def draw_rental(number: int, locker: str, client: str) -> Rental:
    start = START - rng.randint(600, 20000)
    minutes = rng.choice((480, 900, 1440, 2880))
    rate, cap = tariff(zone_of(locker.split("/")[0]), locker.split("/")[1][0], local_day(start))
    rental = Rental(f"s{number:04d}", client, locker, start, start + 60 * minutes, minutes, rate, cap, 25, 0)
    rental.paid = rental.cost(minutes)
    return rental


EMPTY = "\t".join(("-", "-", *"0000000"))


def draw_start(desk: Desk) -> Start:
    """The desk's true state; what the journal brings is taken off again for the snapshot."""
    for client in CLIENTS:
        desk.balance[client] = rng.choice((400, 1500, 4000, 9000, 20000)) + rng.randint(0, 99)
        desk.accounts[client] = [rng.choice(list(CLASSES))]
    start, sequence, before = Start(), 4700, dict(desk.balance)
    rows: list[str] = []
    rented = rng.sample(desk.lockers, 22)
    for number, locker in enumerate(rented, start=1):
        rental = draw_rental(number, locker, rng.choice(CLIENTS))
        desk.rentals[rental.ref] = rental
        if number > 12:
            rows += [f"rent\t{locker}\t{rental.row()}", f"pay\t{rental.client}\t{-rental.paid}"]
            before[rental.client] += rental.paid
    gone = [locker for locker in desk.lockers if locker not in rented][:3]
    rows[4:4] = [f"free\t{locker}" for locker in gone]
    old = [f"pay\t{rng.choice(CLIENTS)}\t{rng.randint(-900, 900)}" for _ in range(9)]
    numbered = [f"{sequence + at}\t{row}\tend" for at, row in enumerate([*old, *rows], start=1)]
    start.journal = ["seq\tkind\tof\tvalues"]
    for at, row in enumerate(numbered):
        start.journal += [row, row] if at in (11, 12, 18, 23) else [row]
    start.journal.append(f"{sequence + len(numbered) + 1}\tpay\t{CLIENTS[7]}\t-12")
    held = {rental.locker: rental for rental in list(desk.rentals.values())[:12]}
    held |= {locker: draw_rental(90 + at, locker, CLIENTS[at]) for at, locker in enumerate(gone)}
    start.lockers = [
        f"# applied {sequence + len(old)}",
        "locker\tref\tclient\tstart\tuntil\tminutes\trate\tcap\tpercent\tpaid",
    ]
    start.lockers += [f"{one}\t{held[one].row() if one in held else EMPTY}" for one in desk.lockers]
    start.accounts = ["client\tclass\tbalance"]
    start.accounts += [f"{client}\t{desk.accounts[client][0]}\t{before[client]}" for client in CLIENTS]
    return start


# --- requests -------------------------------------------------------------------------------------


def draw_times() -> list[tuple[int, str]]:
    """Moments and frontends in the order of arrival; bursts, so that the frontends' clocks matter."""
    found: list[tuple[int, str]] = []
    while len(found) < REQUESTS:
        moment = START + int(rng.random() * HOURS * 3600)
        moment -= moment % 600 if rng.random() < 0.5 else 0  # so that some come just when a rental ends
        for _ in range(rng.choice((1, 1, 2, 4, 7))):
            found.append((moment, rng.choice(list(AHEAD))))
            moment += rng.choice((0, 3, 20, 45, 90, 240))
    return sorted(found[:REQUESTS])


class Crowd:
    """Draws what clients ask next, knowing what the desk answered."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.sent: list[Request] = []

    def next(self, time: int, frontend: str) -> Request:
        rid = f"{frontend[0]}{len(self.sent) + 1:04d}"
        request = self.again(time, frontend, rid) if rng.random() < 0.13 else None
        if request is None:
            client = "c099" if rng.random() < 0.01 else rng.choice(CLIENTS)
            key = "-" if rng.random() < 0.2 else f"k{rng.randint(1, 1500)}"
            request = Request(time, frontend, rid, client, key, {})
            draw = rng.choices(
                (self.reserve, self.extend, self.release, self.topup, self.nonsense), (45, 16, 16, 14, 5)
            )[0]
            request.fields = draw(request)
        self.sent.append(request)
        return request

    def again(self, time: int, frontend: str, rid: str) -> Request | None:
        """An earlier request once more: soon after, or about a day later."""
        old = [
            one for one in self.sent if one.key != "-" and (time - one.time < 900 or time - one.time > 40000)
        ]
        if not old:
            return None
        one = rng.choice(old)
        return Request(time, frontend, rid, one.client, one.key, dict(one.fields))

    def reserve(self, request: Request) -> dict[str, str]:
        name = "Harbour Gate 2" if rng.random() < 0.03 else rng.choice(list(STATIONS.values()))
        minutes = rng.choice((30, 60, 60, 90, 120, 180, 240, 601, 1380, 1440, 1500, 2880, 4320))
        text = f"0{minutes}" if rng.random() < 0.05 else str(minutes)
        return {"op": "reserve", "station": name, "size": rng.choice("SMMMLL"), "minutes": text}

    def ref(self, request: Request) -> str:
        rentals = list(self.desk.rentals.values())
        running = [one for one in rentals if one.until > request.time and one.client != "c099"]
        if running and rng.random() < 0.85:
            fresh = [one for one in running if one.start == request.time]
            rental = rng.choice(fresh or running)
            if rng.random() < 0.95:
                request.client = rental.client
            return rental.ref
        if rng.random() < 0.2:
            return f"x{rng.randint(1, 99)}"
        rental = rng.choice(rentals)
        request.client = rental.client
        return rental.ref

    def extend(self, request: Request) -> dict[str, str]:
        return {
            "op": "extend",
            "ref": self.ref(request),
            "minutes": str(rng.choice((30, 60, 61, 240, 1440, 2000))),
        }

    def release(self, request: Request) -> dict[str, str]:
        return {"op": "release", "ref": self.ref(request)}

    def topup(self, request: Request) -> dict[str, str]:
        return {"op": "topup", "amount": f"{rng.choice((4, 8, 9, 16, 19, 32, 64))}.{rng.randint(0, 99):02d}"}

    def nonsense(self, request: Request) -> dict[str, str]:
        fields = self.reserve(request)
        wrong = rng.choice(
            ({"minutes": "90min"}, {"minutes": "1e3"}, {"minutes": "4321"}, {"size": "XL"}, {"op": "rent"})
        )
        return fields | wrong


def encoded(text: str) -> str:
    out, hexadecimal = [], rng.choice(("02x", "02X", "02X"))
    for byte in text.encode():
        char = chr(byte)
        if char.isascii() and (char.isalnum() or char in "-._~"):
            out.append(char)
        elif char == " ":
            out.append(rng.choice(("+", "%20")))
        else:
            out.append(f"%{byte:{hexadecimal}}")
    return "".join(out)


def query(request: Request) -> str:
    pairs = [f"{name}={encoded(value)}" for name, value in request.fields.items()]
    rng.shuffle(pairs)
    if rng.random() < 0.06:
        name, value = rng.choice(list(request.fields.items()))
        pairs = [
            f"{name}=17",
            *(pair for pair in pairs if not pair.startswith(f"{name}=")),
            f"{name}={encoded(value)}",
        ]
    if rng.random() < 0.1:
        pairs.append(f"lang={rng.choice(('de', 'sv'))}")
    return "&".join(pairs)


def log_lines(requests: list[Request], frontend: str) -> Iterator[str]:
    for one in requests:
        if one.frontend == frontend:
            yield f"{one.time + AHEAD[frontend]} {one.rid} {one.client} {one.key} {query(one)}"


# --- the files ------------------------------------------------------------------------------------


def table(header: str, rows: list[tuple[object, ...]]) -> str:
    return "".join(line + "\n" for line in [header, *("\t".join(map(str, row)) for row in rows)])


def inputs(start: Start, requests: list[Request]) -> dict[str, str]:
    found = {f"requests-{name}.log": lines(log_lines(requests, name)) for name in AHEAD}
    tables: dict[str, tuple[str, list[tuple[object, ...]]]] = {
        "frontends.tsv": ("frontend\tahead", list(AHEAD.items())),
        "stations.tsv": ("station\tname", list(STATIONS.items())),
        "routes.tsv": ("prefix\tzone", list(ROUTES)),
        "classes.tsv": ("class\tpercent", list(CLASSES.items())),
        "holidays.tsv": ("day\tpercent", list(HOLIDAYS.items())),
        "tariffs.tsv": ("zone\tsize\tvalid_from\trate\tcap", list(TARIFFS)),
    }
    found |= {name: table(*parts) for name, parts in tables.items()}
    found |= {"accounts.tsv": lines(start.accounts), "lockers.tsv": lines(start.lockers)}
    return found | {"journal.tsv": lines(start.journal).removesuffix("\n")}


def lines(rows: Iterator[str] | list[str]) -> str:
    return "".join(row + "\n" for row in rows)


SPANS = {
    "intake": "rid\tclient\trepeats\top\tstation\tsize\tminutes\tref\tcents",
    "route": "rid\tstation\tzone",
    "price": "rid\trate\tcap\tpercent\tprice",
    "desk": "rid\tstatus\tlocker\tamount\tbalance",
}


def recorded_run(seed: Path) -> dict[str, str]:
    """What the faulty service leaves, under the names that the seed's data has for it."""
    with tempfile.TemporaryDirectory() as out:
        run = seed / "environment" / "service" / "run.sh"
        subprocess.run(["bash", str(run), str(seed / "environment" / "data"), out], check=True)
        found = {}
        for stage, header in SPANS.items():
            found[f"spans-{stage}.tsv"] = (
                header + "\n" + (Path(out) / f"spans-{stage}.tsv").read_text("utf-8")
            )
        after = (Path(out) / "accounts-after.tsv").read_text("utf-8")
        return found | {"accounts-recorded.tsv": "client\tbalance\n" + after}


def by_first(text: str) -> dict[str, str]:
    found = (line.partition("\t") for line in text.splitlines()[1:])
    return {key: rest for key, _, rest in found}


def outputs(desk: Desk, requests: list[Request], recorded: dict[str, str]) -> dict[str, str]:
    spans = {stage: by_first(recorded[f"spans-{stage}.tsv"]) for stage in SPANS}
    responses: list[tuple[object, ...]] = []
    wrong: list[tuple[object, ...]] = []
    for one in requests:
        answer = desk.answers[one.rid]
        parts = {"intake": answer.intake, "route": answer.route, "price": answer.price, "desk": answer.desk()}
        right = {stage: "\t".join(map(str, values)) for stage, values in parts.items()}
        responses.append((one.rid, *answer.desk()))
        if right["desk"] != spans["desk"][one.rid]:
            stage = next(stage for stage in SPANS if right[stage] != spans[stage][one.rid])
            told = (text.replace("\t", " ") for text in (spans["desk"][one.rid], right["desk"]))
            wrong.append((one.rid, stage, *told))
    last = requests[-1].time
    held = {rental.locker: rental for rental in desk.rentals.values() if rental.until > last}
    lockers = [
        (one, held[one].ref, held[one].until) if one in held else (one, "-", "-") for one in desk.lockers
    ]
    paid = by_first(recorded["accounts-recorded.tsv"])
    accounts = [(one, desk.balance[one], desk.balance[one] - int(paid[one])) for one in CLIENTS]
    blame = [(stage, *blamed(wrong, stage)) for stage in SPANS]
    return {
        "responses.tsv": table(SPANS["desk"], responses),
        "lockers.tsv": table("locker\tref\tuntil", list(lockers)),
        "accounts.tsv": table("client\tbalance\tdue", list(accounts)),
        "wrong.tsv": table("rid\tstage\trecorded\tright", wrong),
        "stages.tsv": table("stage\twrong\tfirst", list(blame)),
    }


def blamed(wrong: list[tuple[object, ...]], stage: str) -> tuple[int, object]:
    found = [row[0] for row in wrong if row[1] == stage]
    return len(found), found[0] if found else "-"


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "service-debugging"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    desk = Desk()
    start, crowd = draw_start(desk), Crowd(desk)
    for time, frontend in draw_times():
        desk.answer(crowd.next(time, frontend))
    for name, text in inputs(start, crowd.sent).items():
        write(seed / "environment" / "data" / name, text)
    recorded = recorded_run(seed)
    for name, text in recorded.items():
        write(seed / "environment" / "data" / name, text)
    for name, text in outputs(desk, crowd.sent, recorded).items():
        write(seed / "tests" / "expected" / name, text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
