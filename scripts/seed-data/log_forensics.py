"""Makes the data of seeds/log-forensics: six inputs, and the three expected outputs.

    python3 scripts/seed-data/log_forensics.py [SEED_FOLDER]

A night is played out in true time first: who sits where, which connection is whose, which request is
hostile. The expected outputs are that truth. The logs are the same truth as five clocks and a gateway
tell it. Same bytes on every run. The test of the seed never sees this file.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

START = datetime(2025, 12, 31, 15, 0, tzinfo=UTC)
PORTAL = "203.0.113.80:443"
GATEWAYS = ("198.51.100.20", "198.51.100.21")
STATIC = "10.20.4.5"  # a wall terminal that never asks for a lease

AT_HOME = "192.0.2.210"

EDGE_AHEAD, APP_AHEAD, DHCP_AHEAD = 47, -95, 210  # seconds; the edge's until it was stepped
HOURS = 3600  # seconds

Ask = tuple[str, str, int, int]
"""Method, path, status, bytes."""

rng = random.Random(20251231)


def at(clock: str, day: int = 0) -> int:
    """`HH:MM:SS` of 31 December (day 0) or 1 January (day 1), UTC, in seconds since `START`."""
    hours, minutes, seconds = map(int, clock.split(":"))
    return day * 24 * HOURS + hours * HOURS + minutes * 60 + seconds - 15 * HOURS


ROTATED, REFORMATTED, STEPPED = at("21:30:00"), at("22:50:00"), at("02:13:20", 1)
OVERLAP = 41  # lines that the rotation left in both files
END = at("09:00:00", 1)
FOLD = 2.0  # seconds until syslog writes "last message repeated"


@dataclass
class Connection:
    """One TCP connection to the portal, from a workstation, an inside or an outside address."""

    client: str
    times: list[float] = field(default_factory=list)
    source: str = ""  # address:port as the portal sees it

    @property
    def first(self) -> float:
        return min(self.times)

    @property
    def last(self) -> float:
        return max(self.times)

    @property
    def inside(self) -> bool:
        return self.client.startswith(("ws-", "10."))


@dataclass
class Request:
    time: float
    connection: Connection
    method: str
    path: str
    status: int
    size: int
    session: str
    rid: str
    agent: str


@dataclass
class Login:
    time: float
    connection: Connection
    account: str
    session: str = ""  # empty: it failed
    folded: int = 0  # "last message repeated" that many times


@dataclass
class Session:
    id: str
    account: str
    opened: float
    client: str
    guessed: bool = False


connections: list[Connection] = []
requests: list[Request] = []
logins: list[Login] = []
sessions: dict[str, Session] = {}
used: set[str] = set()

AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",
    "ChartSync/4.2 (pilot office)",
    "curl/7.88.1",
)
FORGED_AGENTS = ("curl/8.5.0 rid=00000000 sid=none", "x st=404 by=0 sid=q8d2 rid=ffffffff")


def unique(alphabet: str, length: int) -> str:
    while (word := "".join(rng.choices(alphabet, k=length))) in used:
        pass
    used.add(word)
    return word


def connect(client: str) -> Connection:
    connections.append(Connection(client))
    return connections[-1]


def touch(connection: Connection, time: float) -> float:
    connection.times.append(time)
    return time


def request(connection: Connection, time: float, session: str, ask: Ask, agent: str = "") -> None:
    given = unique("0123456789abcdef", 8), agent or rng.choice(AGENTS)
    requests.append(Request(touch(connection, time), connection, *ask, session, *given))


def download(smallest: int = 40_000, largest: int = 2_400_000) -> Ask:
    """Mostly a document taken; sometimes something that only looks like it."""
    path, size, kind = (
        f"/docs/{rng.randrange(1000, 1460)}/file",
        rng.randrange(smallest, largest),
        rng.random(),
    )
    if kind < 0.60:
        return "GET", path, 200, size
    if kind < 0.76:
        return "GET", f"{path}?part={rng.randrange(1, 5)}", 206, size // 3
    if kind < 0.82:
        return "HEAD", path, 200, 0
    if kind < 0.88:
        return "GET", path, 403, rng.randrange(300, 900)
    return "GET", path + rng.choice((".sig", "d")), 200, rng.randrange(500, 9000)


def any_ask() -> Ask:
    page, kind = f"/docs/{rng.randrange(1000, 1460)}", rng.random()
    if kind < 0.28:
        return download()
    if kind < 0.50:
        return "GET", page, 200, rng.randrange(3000, 22000)
    if kind < 0.68:
        path = f"/tiles/{rng.randrange(8, 15)}/{rng.randrange(4000)}/{rng.randrange(4000)}.png"
        return ("GET", path, 304, 0) if rng.random() < 0.3 else ("GET", path, 200, rng.randrange(900, 60000))
    if kind < 0.80:
        path = f"/search?q={rng.choice(('buoy', 'sid=4', 'wreck+12', 'quay'))}&page={rng.randrange(1, 4)}"
        return "GET", path, 200, rng.randrange(2000, 9000)
    if kind < 0.90:
        return "POST", f"{page}/notes", 201, rng.randrange(80, 400)
    return "GET", "/health", rng.choice((200, 500)), rng.randrange(20, 60)


def try_login(connection: Connection, time: float, account: str, folded: int = 0) -> None:
    """A failed login, and `folded` more in the next two seconds, which syslog folds into one line."""
    logins.append(Login(touch(connection, time), connection, account, folded=folded))
    for attempt in range(1 + folded):
        when = time + 0.2 + attempt * FOLD / (1 + folded)
        request(connection, when, "-", ("POST", "/login", 401, rng.randrange(200, 260)))


def log_in(
    client: str, time: float, account: str, guessed: bool = False, via: Connection | None = None
) -> str:
    """A successful login; returns the new session."""
    connection = via or connect(client)
    session = unique("abcdefghjkmnpqrstuvwxyz23456789", 12)
    logins.append(Login(touch(connection, time), connection, account, session))
    request(connection, time + 0.3, "-", ("POST", "/login", 302, 0))
    sessions[session] = Session(session, account.lower(), time, client, guessed)
    return session


def browse(client: str, session: str, start: float, end: float, count: int, *, greedy: bool = False) -> None:
    """`count` requests between start and end, in bursts of one connection each."""
    left = count
    while left > 0:
        burst = min(left, rng.randrange(1, 9))
        time = rng.uniform(start, end - 40)
        connection = connect(client)
        for _ in range(burst):
            ask = download(300_000, 6_000_000) if greedy and rng.random() < 0.75 else any_ask()
            forged = greedy and rng.random() < 0.12
            request(connection, time, session, ask, rng.choice(FORGED_AGENTS) if forged else "")
            time += rng.uniform(0.4, 5.0)
        left -= burst


# --- who has which address when -------------------------------------------------------------------

PLACES = ("quay", "lock", "mole", "buoy", "ferry", "slip", "crane", "bight")
ORDINARY = [f"ws-{place}-{number:02}" for number, place in enumerate(PLACES * 3, start=11)]
PEOPLE = (
    "aholm bnilsen cstrand dvik eaune fmoen gloe hsund ilarsen jdahl kberge llund mhansen nfjeld onygard "
    "prud qlie rfoss skvam tberg ueide vhaug whelle yopdal"
).split()


@dataclass
class Lease:
    name: str
    address: str
    start: float
    end: float


leases: list[Lease] = [
    # The address of ws-pilot-03 goes to ws-dredge-05 eighty seconds after it was given back.
    Lease("ws-pilot-03", "10.20.4.66", at("17:05:00"), at("19:20:00")),
    Lease("ws-dredge-05", "10.20.4.66", at("19:21:20"), at("22:40:00")),
    Lease("ws-pilot-03", "10.20.4.67", at("19:33:00"), at("23:58:00")),
    # ws-survey-01 roams: same workstation, another address, its session goes on.
    Lease("ws-survey-01", "10.20.4.70", at("18:00:00"), at("20:10:00")),
    Lease("ws-radar-08", "10.20.4.70", at("20:12:30"), at("01:00:00", 1)),
    Lease("ws-survey-01", "10.20.4.71", at("20:13:00"), at("23:30:00")),
    Lease("ws-tidal-07", "10.20.4.61", at("19:50:00"), at("23:45:00")),
    Lease("ws-lock-02", "10.20.4.62", at("00:40:00", 1), at("03:30:00", 1)),
    Lease("ws-quay-11", "10.20.4.63", at("00:05:00", 1), at("04:30:00", 1)),
    Lease("ws-mole-04", "10.20.4.64", at("16:00:00"), at("19:00:00")),
    Lease("ws-ferry-09", "10.20.4.64", at("19:02:00"), at("08:30:00", 1)),
    Lease("ws-mole-04", "10.20.4.65", at("19:03:00"), at("02:30:00", 1)),
]
SCRIPTED = {lease.name for lease in leases}


def ordinary_leases() -> None:
    stays = []
    for name in ORDINARY:
        if name in SCRIPTED:
            continue
        start = rng.uniform(at("15:10:00"), at("19:00:00"))
        while start < END - 2 * HOURS:
            end = min(start + rng.uniform(2, 6) * HOURS, END - 600)
            stays.append((start, end, name))
            start = end + rng.uniform(0.2, 3) * HOURS
    free_from: dict[str, float] = {f"10.20.4.{n}": 0 for n in range(20, 44)}
    for start, end, name in sorted(stays):
        free = [address for address, since in free_from.items() if since + 75 <= start]
        address = max(free, key=lambda a: (free_from[a], a))
        leases.append(Lease(name, address, start, end))
        free_from[address] = end


def leased_address(client: str, first: float, last: float) -> str:
    if client.startswith("10."):  # without a lease
        return client
    found = [x.address for x in leases if x.name == client and x.start + 5 <= first and last <= x.end - 5]
    assert len(found) == 1, (client, first, last)
    return found[0]


# --- the night ------------------------------------------------------------------------------------


def ordinary_work() -> None:
    accounts = dict(zip(ORDINARY, PEOPLE, strict=True))
    for lease in list(leases):
        if lease.name in SCRIPTED:
            continue
        time = lease.start + rng.uniform(60, 900)
        while time < lease.end - 1800:
            account = accounts[lease.name]
            typed = rng.choice((account, account, account.capitalize()))
            connection = connect(lease.name)
            for _ in range(rng.choice((0, 0, 0, 1, 2))):
                try_login(connection, time, typed, folded=rng.choice((0, 0, 1)))
                time += rng.uniform(14, 25)
            session = log_in(lease.name, time, typed, via=connection)
            end = min(time + rng.uniform(0.4, 2.2) * HOURS, lease.end - 60)
            browse(lease.name, session, time + 5, end, rng.randrange(6, 30))
            time = end + rng.uniform(300, 5400)


def outside_noise() -> None:
    for host in range(40, 74):
        connection = connect(f"192.0.2.{host}")
        time = rng.uniform(600, END - 600)
        for _ in range(rng.randrange(2, 12)):
            try_login(connection, time, rng.choice((*PEOPLE, "admin", "root", "svc-print")))
            time += rng.uniform(2, 30)
    for _ in range(6):  # sessions from before the collection: no login of theirs is in the logs
        client, session = rng.choice((STATIC, "192.0.2.200", "192.0.2.201")), unique("abcdefgh23456789", 12)
        browse(client, session, 60, 3 * HOURS, 9, greedy=client != STATIC)
    for _ in range(40):
        connection, time = connect(f"192.0.2.{rng.randrange(80, 120)}"), rng.uniform(60, END - 60)
        request(connection, time, "-", ("GET", "/robots.txt", 404, 153))


def taken_over_leases() -> None:
    """ws-dredge-05 carries on a session of ws-pilot-03 from the same inside address."""
    session = log_in("ws-pilot-03", at("17:40:11"), "skvam")
    browse("ws-pilot-03", session, at("17:41:00"), at("19:15:00"), 24)
    browse("ws-pilot-03", session, at("19:17:30"), at("19:19:30"), 5)
    for second in (102, 131, 170, 188):
        connection = connect("ws-dredge-05")
        for step in range(3):
            request(connection, at("19:20:00") + second + step * 1.7, session, download(900_000, 4_000_000))
    browse("ws-pilot-03", session, at("19:40:00"), at("20:30:00"), 9)
    # Later somebody helps himself to another address that ws-pilot-03 gave back, and to the same session.
    browse("10.20.4.67", session, at("00:20:00", 1), at("01:30:00", 1), 11, greedy=True)
    own = log_in("ws-dredge-05", at("19:52:40"), "yopdal")
    browse("ws-dredge-05", own, at("19:53:00"), at("22:20:00"), 22)


def roaming() -> None:
    session = log_in("ws-survey-01", at("18:20:00"), "whelle")
    browse("ws-survey-01", session, at("18:21:00"), at("20:08:00"), 25)
    browse("ws-survey-01", session, at("20:14:00"), at("22:58:00"), 31)
    other = log_in("ws-radar-08", at("20:15:30"), "Vhaug")
    browse("ws-radar-08", other, at("20:16:00"), at("23:40:00"), 26)


def sprayed_from_inside() -> None:
    """Nine failures from one workstation, over many ports and both outside addresses."""
    for minute, account, folded in (
        ("20:38:02", "aholm", 0), ("20:39:10", "cstrand", 0), ("20:40:31", "jdahl", 2),
        ("20:42:44", "Ekrogh", 0), ("20:44:05", "nfjeld", 0), ("20:45:58", "ekrogh", 1),
    ):  # fmt: skip
        try_login(connect("ws-tidal-07"), at(minute), account, folded)
    session = log_in("ws-tidal-07", at("20:47:10"), "ekrogh", guessed=True)
    browse("ws-tidal-07", session, at("20:48:00"), at("23:35:00"), 64, greedy=True)


def guessed_from_outside() -> None:
    connection = connect("192.0.2.177")
    try_login(connection, at("03:05:00", 1), "svc-print", folded=5)
    session = log_in("192.0.2.177", at("03:06:30", 1), "svc-print", guessed=True)
    browse("192.0.2.177", session, at("03:07:00", 1), at("05:10:00", 1), 48, greedy=True)
    for step in range(7):
        try_login(connect("192.0.2.178"), at("05:30:00", 1) + step * 20.5, "Rfoss")
    both = log_in("192.0.2.178", at("05:34:20", 1), "rfoss", guessed=True)
    browse("192.0.2.178", both, at("05:35:00", 1), at("07:00:00", 1), 22, greedy=True)
    browse("192.0.2.179", both, at("06:05:00", 1), at("07:10:00", 1), 17, greedy=True)


def stolen_across_the_step() -> None:
    session = log_in("ws-quay-11", at("00:31:05", 1), "jdahl")
    browse("ws-quay-11", session, at("00:32:00", 1), at("03:00:00", 1), 46)
    browse("ws-lock-02", session, at("01:10:00", 1), at("02:50:00", 1), 39, greedy=True)
    for second in range(-55, 60, 6):  # both at work while the edge's clock is set back
        connection = connect(("ws-quay-11", "ws-lock-02")[second % 4 == 1])
        request(connection, STEPPED + second + 0.5, session, any_ask())
    own = log_in("ws-lock-02", at("02:55:00", 1), "fmoen")
    browse("ws-lock-02", own, at("02:56:00", 1), at("03:20:00", 1), 8)


def near_misses() -> None:
    # Exactly six failures, the first of them exactly 600 s before: guessed.
    for second in (600, 480, 300, 120, 60, 20):
        try_login(connect("ws-ferry-09"), at("23:20:00") - second + 0.25, "onygard")
    session = log_in("ws-ferry-09", at("23:20:00") + 0.25, "onygard", guessed=True)
    browse("ws-ferry-09", session, at("23:21:00"), at("00:50:00", 1), 24, greedy=True)
    # One second more: clean.
    for second in (601, 480, 300, 120, 60, 20):
        try_login(connect("ws-ferry-09"), at("04:20:00", 1) - second + 0.25, "onygard")
    session = log_in("ws-ferry-09", at("04:20:00", 1) + 0.25, "onygard")
    browse("ws-ferry-09", session, at("04:21:00", 1), at("06:00:00", 1), 21, greedy=True)
    # Five failures and a folded message of another program: clean.
    for second in (200, 160, 120, 80, 40):
        try_login(connect("ws-mole-04"), at("22:05:00") - second, "tberg")
    session = log_in("ws-mole-04", at("22:05:00"), "tberg")
    browse("ws-mole-04", session, at("22:06:00"), at("23:50:00"), 26)
    # Two workstations behind one gateway, four failures each: clean.
    for second in (230, 200, 170, 140):
        try_login(connect("ws-mole-04"), at("00:20:00", 1) - second, "tberg")
        try_login(connect("ws-radar-08"), at("00:20:00", 1) - second + 9, "vhaug")
    session = log_in("ws-mole-04", at("00:20:00", 1), "tberg")
    browse("ws-mole-04", session, at("00:21:00", 1), at("02:00:00", 1), 18)
    # Eight failures of somebody else on the account: clean.
    for step in range(8):
        try_login(connect("192.0.2.150"), at("16:50:00") + step * 11, "tberg")
    session = log_in("ws-mole-04", at("16:53:00"), "tberg")
    browse("ws-mole-04", session, at("16:54:00"), at("18:40:00"), 17)
    # A pilot at home, whose failures were at the secure shell (see `auth_log`): clean.
    session = log_in(AT_HOME, at("19:05:00"), "ilarsen")
    browse(AT_HOME, session, at("19:06:00"), at("20:40:00"), 19)
    wall = log_in(STATIC, at("16:10:00"), "wall")
    browse(STATIC, wall, at("16:11:00"), at("08:00:00", 1), 70)


# --- the gateway ----------------------------------------------------------------------------------


@dataclass
class Mapping:
    protocol: str
    inside: str
    outside: str
    target: str
    start: float
    end: float


mappings: list[Mapping] = []


def map_ports() -> None:
    """Gives each connection a source; a port that has just become free is taken first."""
    free_from = {f"{gateway}:{port}": -1e9 for gateway in GATEWAYS for port in range(40960, 40990)}
    for connection in sorted(connections, key=lambda c: c.first):
        if not connection.inside:
            connection.source = f"{connection.client}:{rng.randrange(20000, 61000)}"
            continue
        start, end = connection.first - rng.uniform(2.2, 3.5), connection.last + rng.uniform(2.2, 5)
        gateway = rng.choice(GATEWAYS)
        free = [s for s, since in free_from.items() if s.startswith(gateway) and since + 4 <= start]
        connection.source = max(free, key=lambda s: (free_from[s], s))
        free_from[connection.source] = end
        address = leased_address(connection.client, connection.first, connection.last)
        inside = f"{address}:{rng.randrange(49152, 65535)}"
        mappings.append(Mapping("tcp", inside, connection.source, PORTAL, start, end))
        decoy(connection.source, start, end)


def decoy(outside: str, start: float, end: float) -> None:
    """The same outside port at the same time, for another protocol or another target."""
    inside = f"10.20.4.{rng.randrange(20, 72)}:{rng.randrange(49152, 65535)}"
    start, end, kind = start - rng.uniform(1, 60), end + rng.uniform(1, 90), rng.random()
    if kind < 0.25:
        target = rng.choice(("192.0.2.9:443", "203.0.113.80:22", "203.0.113.8:443"))
        mappings.append(Mapping("tcp", inside, outside, target, start, end))
    elif kind < 0.45:
        mappings.append(Mapping("udp", inside, outside, PORTAL, start, end))


# --- what the hosts wrote -------------------------------------------------------------------------


def raw(time: float, ahead: float = 0, zone: int = 0) -> datetime:
    return (START + timedelta(seconds=time + ahead)).astimezone(timezone(timedelta(hours=zone)))


def true_utc(time: float) -> str:
    return f"{raw(time):%Y-%m-%dT%H:%M:%SZ}"


def edge_line(entry: Request) -> str:
    ahead = EDGE_AHEAD if entry.time < STEPPED else 0
    moment = raw(entry.time, ahead, 1)
    source = entry.connection.source
    if entry.time < REFORMATTED:
        stamp, asked = f"{moment:%d/%b/%Y:%H:%M:%S %z}", f"{entry.method} {entry.path} HTTP/1.1"
        words = (source, "- -", f"[{stamp}]", f'"{asked}"', entry.status, entry.size or "-",
                 f'"{entry.agent}"', entry.rid, entry.session)  # fmt: skip
        return " ".join(map(str, words))
    epoch_ms = int(moment.timestamp() * 1000)
    return (
        f"ts={epoch_ms // 1000}.{epoch_ms % 1000:03} cl={source} m={entry.method} p={entry.path} "
        f'st={entry.status} by={entry.size} ua="{entry.agent}" rid={entry.rid} sid={entry.session}'
    )


def edge_logs() -> tuple[list[str], list[str]]:
    ordered = sorted(requests, key=lambda r: r.time)
    old = ["# edge1 access log, format 1", *(edge_line(r) for r in ordered if r.time < ROTATED)]
    new = [*old[-OVERLAP:]]
    marks = [(REFORMATTED, "# edge1 access log, format 2"), (STEPPED, "# clock stepped")]
    for entry in ordered:
        while marks and entry.time >= marks[0][0]:
            new.append(marks.pop(0)[1])
        if entry.time >= ROTATED:
            new.append(edge_line(entry))
    return old, new


def syslog_stamp(time: float) -> str:
    moment = raw(time, APP_AHEAD, 2)
    return f"{moment:%b} {moment.day:>2} {moment:%H:%M:%S} app2"


def auth_log() -> list[str]:
    entries: list[tuple[float, list[str]]] = []

    def write_down(time: float, message: str, folded: int = 0) -> None:
        lines = [f"{syslog_stamp(time)} {message}"]
        if folded:
            times = "time" if folded == 1 else "times"
            lines.append(f"{syslog_stamp(time + FOLD)} last message repeated {folded} {times}")
        entries.append((time, lines))

    for login in logins:
        verdict, tail = ("ok", f"sid={login.session}") if login.session else ("failed", "reason=password")
        message = f"portald[913]: login {verdict} user={login.account} from={login.connection.source} {tail}"
        write_down(login.time, message, login.folded)
    for time in range(90, END, 1740):
        write_down(time, f"CRON[{rng.randrange(2000, 9000)}]: (root) CMD (run-parts /etc/cron.hourly)")
    # Between tberg's failures and his login:
    write_down(at("22:04:30"), "CRON[7781]: (tides) error: no new table", folded=4)
    for step in range(9):
        source = f"{AT_HOME}:{51300 + step}"
        write_down(
            at("18:58:00") + step * 31, f"sshd[6120]: login failed user=ilarsen from={source} reason=key"
        )
    for _ in range(120):
        user, source = rng.choice(("root", "jdahl", "tberg")), f"192.0.2.{rng.randrange(20, 60)}"
        message = f"login failed user={user} from={source}:{rng.randrange(30000, 60000)} reason=key"
        write_down(rng.uniform(60, END), f"sshd[{rng.randrange(2000, 9000)}]: {message}")
    return [line for _, lines in sorted(entries, key=lambda entry: entry[0]) for line in lines]


def nat_log() -> list[str]:
    lines = []
    for entry in mappings:
        what = f"{entry.protocol} {entry.inside} {entry.outside} {entry.target}"
        lines.append((entry.start, f"{stamp_ms(entry.start)} ADD {what}"))
        if entry.end < END:
            lines.append((entry.end, f"{stamp_ms(entry.end)} DEL {what}"))
    return [line for _, line in sorted(lines)]


def stamp_ms(time: float) -> str:
    moment = raw(time)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def dhcp_table() -> list[str]:
    hardware = {name: "02:00:" + ":".join(f"{rng.randrange(256):02x}" for _ in range(4)) for name in
                sorted({lease.name for lease in leases})}  # fmt: skip
    rows = []
    for lease in leases:
        granted = lease.start
        while granted < lease.end:
            renewed = min(granted + 2 * HOURS, lease.end)
            released = dhcp_stamp(lease.end) if renewed == lease.end else ""
            row = (lease.address, hardware[lease.name], lease.name, dhcp_stamp(granted),
                   dhcp_stamp(granted + 4 * HOURS), released)  # fmt: skip
            rows.append((granted, ";".join(row)))
            granted = renewed
    return ["address;hardware;name;granted;expires;released", *(row for _, row in sorted(rows))]


def dhcp_stamp(time: float) -> str:
    return f"{raw(time, DHCP_AHEAD, 1):%d.%m.%Y %H:%M:%S}"


CLOCKS = (
    "host,period,zone,seconds_ahead",
    "gw1,all,+0000,0",
    f"edge1,before-step,+0100,{EDGE_AHEAD}",
    "edge1,after-step,+0100,0",
    f"app2,all,+0200,{APP_AHEAD}",
    f"dhcp1,all,+0100,{DHCP_AHEAD}",
)


# --- what is true ---------------------------------------------------------------------------------


def judge() -> tuple[dict[str, str], list[Request]]:
    by_session: dict[str, list[Request]] = defaultdict(list)
    for entry in requests:
        by_session[entry.session].append(entry)
    verdicts, hostile = {}, []
    for session in sessions.values():
        foreign = [r for r in by_session[session.id] if r.connection.client != session.client]
        verdicts[session.id] = "guessed" if session.guessed else "stolen" if foreign else "clean"
        hostile += by_session[session.id] if session.guessed else foreign
    return verdicts, sorted(hostile, key=lambda r: (true_utc(r.time), r.rid))


def outputs() -> dict[str, list[str]]:
    verdicts, hostile = judge()
    count: dict[str, int] = defaultdict(int)
    size: dict[str, int] = defaultdict(int)
    for entry in requests:
        count[entry.session] += 1
        size[entry.session] += entry.size
    table = ["session,account,opened_utc,client,requests,bytes,verdict"]
    for s in sorted(sessions.values(), key=lambda s: (true_utc(s.opened), s.id)):
        row = (s.id, s.account, true_utc(s.opened), s.client, count[s.id], size[s.id], verdicts[s.id])
        table.append(",".join(map(str, row)))
    acts = ["time_utc,rid,session,account,client,method,path,status,bytes"]
    for r in hostile:
        act = (true_utc(r.time), r.rid, r.session, sessions[r.session].account, r.connection.client, r.method,
               r.path, r.status, r.size)  # fmt: skip
        acts.append(",".join(map(str, act)))
    return {"sessions.csv": table, "hostile.csv": acts, "report.txt": report(hostile)}


def report(hostile: list[Request]) -> list[str]:
    taken = [r for r in hostile if r.method == "GET" and r.status in (200, 206)
             and r.path.split("?")[0].endswith("/file")]  # fmt: skip
    return [
        f"first_hostile={true_utc(hostile[0].time)} {hostile[0].rid}",
        "clients=" + ",".join(sorted({r.connection.client for r in hostile})),
        "accounts=" + ",".join(sorted({sessions[r.session].account for r in hostile})),
        f"documents={len({r.path.split('/')[2] for r in taken})}",
        f"exfiltrated_bytes={sum(r.size for r in taken)}",
    ]


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "log-forensics"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    ordinary_leases()
    taken_over_leases()
    roaming()
    sprayed_from_inside()
    guessed_from_outside()
    stolen_across_the_step()
    near_misses()
    ordinary_work()
    outside_noise()
    map_ports()
    old, new = edge_logs()
    data = seed / "environment" / "data"
    write(data / "edge-access.log.1", old)
    write(data / "edge-access.log", new)
    write(data / "auth.log", auth_log())
    write(data / "nat.log", nat_log())
    write(data / "dhcp.csv", dhcp_table())
    write(data / "clocks.csv", CLOCKS)
    for name, lines in outputs().items():
        write(seed / "tests" / "expected" / name, lines)


if __name__ == "__main__":
    main()
