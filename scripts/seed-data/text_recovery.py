"""Makes the data of seeds/text-recovery: twenty-four inputs, and the six expected outputs.

    python3 scripts/seed-data/text_recovery.py [SEED_FOLDER]

Letters are composed in clean Unicode first. Copies of them lose a few characters each; which copy is best,
and what register, concordance and list of damage say, follows from that. Only then are the copies written the
way five old systems would have. Same bytes on every run; the seed's test never sees this file.
"""

from __future__ import annotations

import base64
import random
import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

rng = random.Random(19870412)

LOST = "\ufffd"
BATCHES = ("mail", "dump", "dos", "terminal", "scans")  # the order settles equals

# --- language -------------------------------------------------------------------------------------

NOUNS = {
    "de": (
        "Fährverbindung Brücke Hafenmühle Kästen Größe Übung Straße Öfen Tür "
        "Küste Werft Hafenmeister Flaschenzug"
    ).split(),
    "sv": (
        "färjelinjen sjöbodarna ångare brädgård klyka tågvirke ö gästhamn käl mått årtal segelmakare idé"
    ).split(),
    "da": "færge bådhus ærinde måleskib sejl kølvand øvelse tovværk årsag havnefoged påfyldning".split(),
    "fr": "écluse château boîte forêt façade goélette maître hélice étoupe ficelle cœur".split(),
    "pl": "łódź żaglowiec prom święto kąt ćwiczenie źródło kotwica węzeł mgła przystań".split(),
    "it": "città lunedì perché qualità caffè venerdì rotta àncora però virtù così".split(),
    "en": (
        "ferry flagstaff boat-house office afflux shelf half-tide coffer-dam ledger fifth "
        "harbourmaster signal-mast"
    ).split(),
}
SENTENCES = {
    "de": (
        "Die {} lag drei Tage vor der {}.",
        'Er schrieb: "Die {} war schöner als jede {}."',
        "Wir prüfen {} und {} erst nächste Woche ...",
        "Für die {} fehlen noch {} Schrauben; bitte höflich mahnen!",
        "Herr Möller & Söhne liefern die {} später - wie üblich.",
    ),
    "sv": (
        "Vår {} låg kvar vid {} hela våren.",
        'Hon sade: "Även en {} behöver {}."',
        "Räkningen för {} gäller {} dagar ...",
        "Båten går före {}, så skicka {} genast!",
        "Bröderna Åström & Co målade om {} - igen.",
    ),
    "da": (
        "Vores {} blev liggende ved {} hele året.",
        'De råbte: "Først {}, så {}!"',
        "Prøven af {} må vente på {} ...",
        "Vi får {} fra Ærø og {} fra Rømø.",
        "Regningen for {} er på 40 kr. - uden {}.",
    ),
    "fr": (
        "La {} n'a pas été prête avant {}.",
        'Il répète: "Où est la {}, où est {}?"',
        "Après {}, la {} a coûté très cher ...",
        "Voilà {} - déjà trouvée près de {}.",
        "L'équipe d'août préfère {} à {}.",
    ),
    "pl": (
        "Nasz {} stał długo obok {}.",
        'Zapytał: "Gdzie jest {} i {}?"',
        "Później {} będzie tańszy niż {} ...",
        "Proszę wysłać {} - także {}.",
        "Dziękujemy za {}, pół roku później.",
    ),
    "it": (
        "La {} è più bella di {}.",
        'Disse: "Perché {} e non {}?"',
        "Da lunedì {} sarà là con {} ...",
        "Già venerdì {} - cioè {} - arriverà.",
        "C'è {} & {} per metà del prezzo.",
    ),
    "en": (
        "From the {} we could see the {} and five flags.",
        "From here on the {} is yours, he's said.",
        'They call it "the {}" - a half-tide affair of the {}.',
        "The office didn't find the {} ... nor the {}.",
        "Coffer-dam and boat-house were filled; the {} stood fast at half-tide.",
    ),
}
PEOPLE = (
    ("Jörg Möller", "J. Möller; Moller, Jörg; Kapitän Möller"),
    ("Åsa Lindström", "A. Lindström; Lindstrom Åsa; Fru Lindström"),
    ("Søren Kjær", "S. Kjær; Kjaer, Søren; Havnefogden"),
    ("Hélène Français", "Mme Français; H. Francais"),
    ("Łucja Wójcik", "L. Wojcik; Pani Wójcik"),
    ("Nicolò Città", "N. Citta; Sig. Città"),
    ("Edith Flagg", "E. Flagg; Miss Flagg; Flagg (office)"),
    ("Harbour Museum", "The Museum; Museum, Harbour; H.M."),
)
MONTHS = {
    "jan": 1, "januar": 1, "feb": 2, "février": 2, "märz": 3, "mar": 3, "mars": 3, "apr": 4, "avril": 4,
    "mai": 5, "maj": 5, "may": 5, "juni": 6, "czerwiec": 6, "juli": 7, "lipiec": 7, "aug": 8, "août": 8,
    "sep": 9, "wrzesień": 9, "okt": 10, "ottobre": 10, "oct": 10, "nov": 11, "dicembre": 12, "dec": 12,
}  # fmt: skip
STOPWORDS = (
    "under where there their hole after apres przed obok niz dlugo hele "
    "ligge schon woche from nasta could five"
)
ISO646 = {
    "646-de": {"@": "§", "[": "Ä", "\\": "Ö", "]": "Ü", "{": "ä", "|": "ö", "}": "ü", "~": "ß"},
    "646-se": {
        "@": "É",
        "[": "Ä",
        "\\": "Ö",
        "]": "Å",
        "^": "Ü",
        "`": "é",
        "{": "ä",
        "|": "ö",
        "}": "å",
        "~": "ü",
    },
    "646-dk": {"[": "Æ", "\\": "Ø", "]": "Å", "{": "æ", "|": "ø", "}": "å"},
}
MARKS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", ",": "\u0327"}
PRETTY = (
    ("...", "\u2026"),
    (" - ", " \u2013 "),
    ("'", "\u2019"),
)
NORMALISE = {
    "\u2026": "...", "\u2013": "-", "\u2014": "-", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u00a0": " ", "\u00ad": "", "\ufb00": "ff", "\ufb01": "fi",
    "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\u25a0": LOST,
}  # fmt: skip


@dataclass(frozen=True)
class Letter:
    name: str
    day: date
    written: str  # the day as the catalogue has it
    sender: str
    receiver: str
    sender_as: str
    receiver_as: str
    paragraphs: tuple[str, ...]
    subject: str
    language: str


@dataclass(frozen=True)
class Copy:
    letter: Letter
    batch: str
    paragraphs: tuple[str, ...]  # with LOST where a character is gone

    @property
    def lost(self) -> int:
        return sum(paragraph.count(LOST) for paragraph in self.paragraphs)


def sentence(language: str) -> str:
    text = rng.choice(SENTENCES[language])
    while "{}" in text:
        text = text.replace("{}", rng.choice(NOUNS[language]), 1)
    return text[0].upper() + text[1:]


def paragraph(language: str) -> str:
    return " ".join(sentence(language) for _ in range(rng.randrange(2, 6)))


def written(day: date) -> str:
    """A day in one of the catalogue's forms."""
    short = f"{day.year % 100:02}"
    names = [name for name, number in MONTHS.items() if number == day.month]
    name = rng.choice(names)
    name = name.upper() if rng.random() < 0.2 else name.capitalize()
    old = day - timedelta(days=13)
    old_names = [n for n, number in MONTHS.items() if number == old.month]
    return rng.choice(
        (
            day.isoformat(),
            f"{day.day}.{day.month}.{day.year}",
            f"{day.day:02}.{day.month:02}.{short}",
            f"{day.month}/{day.day}/{day.year}",
            f"{day.month}/{day.day}/{short}",
            f"{day.day} {name} {day.year}",
            f"{day.day}. {name} {short}",
            f"{old.day} {rng.choice(old_names)} {old.year} O.S.",
            f"{old.day}.{old.month}.{old.year % 100:02} O.S.",
        )
    )


def alias(index: int) -> str:
    name, others = PEOPLE[index]
    text = rng.choice([name, *others.split("; ")])
    return rng.choice((str, str, str.upper, str.lower, lambda t: t.replace(" ", "  ")))(text)


def draw_letters() -> list[Letter]:
    letters = []
    for number in range(1, 121):
        language = rng.choice([*SENTENCES, "en", "en"])
        day = date(1979, 1, 20) + timedelta(days=rng.randrange(9400))
        sender, receiver = rng.sample(range(len(PEOPLE)), 2)
        odd = rng.random() < 0.05
        texts = tuple(paragraph(language) for _ in range(rng.randrange(1, 5)))
        subject = " ".join(rng.choice(texts).split()[: rng.randrange(3, 7)]).rstrip(' .,;:"-&')
        name = f"L{number * 3 + rng.randrange(3):04}"
        letters.append(
            Letter(name, day, written(day), "unknown" if odd else PEOPLE[sender][0], PEOPLE[receiver][0],
                   "a friend" if odd else alias(sender), alias(receiver), texts, subject, language)
        )  # fmt: skip
    return letters


def spoil(letter: Letter, batch: str) -> Copy:
    texts = [list(text) for text in letter.paragraphs]
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        text = rng.choice(texts)
        places = [i for i, c in enumerate(text) if c.isalpha()]
        text[rng.choice(places)] = LOST
    return Copy(letter, batch, tuple("".join(text) for text in texts))


# --- what five systems wrote ----------------------------------------------------------------------


def encodable(text: str, table: dict[str, bytes]) -> bool:
    return all(ord(c) < 128 or c in table or c == LOST for c in text)


def code_page(codec: str, start: int = 0x80) -> dict[str, bytes]:
    table = {}
    for byte in range(start, 256):
        try:
            table[bytes([byte]).decode(codec)] = bytes([byte])
        except UnicodeDecodeError:
            continue
    return table


PAGES = {
    "cp437": code_page("cp437"),
    "cp850": code_page("cp850"),
    "windows-1252": code_page("cp1252"),
    "iso-8859-2": code_page("iso-8859-2", 0xA0),
}


def decomposed(char: str, variant: str) -> str | None:
    """The overstrike for a character, if its mark is the terminal's own and not a national letter."""
    parts = unicodedata.normalize("NFD", char)
    mark = {m: k for k, m in MARKS.items()}.get(parts[1:])
    if len(parts) != 2 or mark is None or mark in ISO646[variant] or not parts[0].isascii():
        return None
    return f"{parts[0]}\b{mark}"


def terminal_char(char: str, variant: str) -> str | None:
    national = {letter: byte for byte, letter in ISO646[variant].items()}
    if char == LOST:
        return "\x1a"
    if char in national:
        return national[char]
    if char.isascii():
        return None if char in ISO646[variant] else char
    return decomposed(char, variant)


def terminal_variants(copy: Copy) -> list[str]:
    text = "".join(copy.paragraphs)
    return [name for name in ISO646 if all(terminal_char(c, name) is not None for c in text)]


def terminal(copies: list[Copy]) -> bytes:
    lines = []
    for copy in copies:
        variant = rng.choice(terminal_variants(copy))
        lines.append(f"%% {copy.letter.name} {variant}")
        for at, text in enumerate(copy.paragraphs):
            lines += [""] * (rng.choice((1, 1, 2)) if at else 0)
            for line in textwrap.wrap(text, 60, break_on_hyphens=False, break_long_words=False):
                lines.append(mistyped("".join(terminal_char(c, variant) or "" for c in line)))
        lines += [""] * rng.choice((0, 1))
    return "".join(line + "\n" for line in lines).encode("ascii")


def mistyped(line: str) -> str:
    """Here and there letters that were rubbed out again."""
    words = line.split(" ")
    for at, word in enumerate(words):
        if rng.random() < 0.05 and word[:2].isalpha() and "\b" not in word:
            wrong = "".join(rng.choice("aeiou{}") for _ in range(rng.choice((1, 2))))
            cut = rng.randrange(1, len(word) + 1)
            words[at] = word[:cut] + wrong + "\x7f" * len(wrong) + word[cut:]
    return " ".join(words)


def dos(copies: list[Copy]) -> bytes:
    made = b""
    for copy in copies:
        text = "".join(copy.paragraphs)
        page = rng.choice([name for name in ("cp437", "cp850") if encodable(text, PAGES[name])])
        made += f"%% {copy.letter.name} {page}\r\n".encode()
        for paragraph_ in copy.paragraphs:
            made += b"\x8d\n".join(dos_bytes(line, page) for line in broken(paragraph_, "\x1f", 48)) + b"\r\n"
        made += b"\x1a"
        if rng.random() < 0.6:
            rest = rng.choice(copies).paragraphs[0]
            rest = "".join(c for c in rest if c.isascii())
            made += rest[: rng.randrange(10, 90)].encode() + b"\x8d\n" + rest[:30].encode()
        made += b"\r\n"
    return made


def dos_bytes(line: str, page: str) -> bytes:
    return b"".join(b"\x7f" if c == LOST else c.encode() if c.isascii() else PAGES[page][c] for c in line)


def broken(text: str, hyphen: str, width: int) -> list[str]:
    """Lines of about a width; a word that goes over the end may be broken after `hyphen`.

    With "\\x1f" further soft hyphens that no line end needed stand about, as "\\x1e".
    """
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) + 1 <= width:
            line = f"{line} {word}" if line else word
            continue
        cut = cut_of(word, width - len(line) - 2)
        if cut and rng.random() < 0.8:
            hyphened = word[:cut].endswith("-") and hyphen == "-"
            lines.append(f"{line} {word[:cut]}" + ("" if hyphened else hyphen))
            line = word[cut:]
        elif line.endswith(("-", "\u2013")):
            line = f"{line} {word}"
        else:
            lines.append(line)
            line = word
    lines.append(line)
    if hyphen == "\x1f":
        lines = [
            re.sub(r"(?<=[aeiou])(?=[bdst][aeiou])", lambda _: rng.choice(("", "", "\x1e")), text)
            for text in lines
        ]
    return lines


def cut_of(word: str, room: int) -> int:
    """After how many characters a word may be broken; 0: nowhere. At its own hyphen if it has one."""
    if "-" in word[1:-1]:
        if LOST in word:
            return 0
        at = word.index("-", 1) + 1
        return at if at <= room + 1 else 0
    places = [i for i in range(2, min(len(word) - 2, room)) if word[i - 2 : i + 2].isalpha()]
    return rng.choice(places) if places else 0


def pretty(text: str) -> str:
    for plain, nice in PRETTY:
        if rng.random() < 0.6:
            text = text.replace(plain, nice)
    if rng.random() < 0.7:
        first, last = rng.choice((("\u201e", "\u201c"), ("\u201c", "\u201d"), ("\u00ab", "\u00bb")))
        text = re.sub(r'"([^"]*)"', rf"{first}\1{last}", text)
    return text.replace(" kr.", "\u00a0kr.")


# mail


def mail(copies: list[Copy]) -> bytes:
    made = b""
    for copy in copies:
        if rng.random() < 0.15:
            made += (
                b"From list@lists.example Mon Mar  3 10:00:00 1997\nSubject: =?utf-8?q?Tide_t=C3=A2bles?=\n"
            )
            made += b"Content-Type: text/plain; charset=utf-8\n\nNo letter at all.\n\n"
        made += message(copy)
    return made


def message(copy: Copy) -> bytes:
    texts = [pretty(text) for text in copy.paragraphs]
    whole = "".join(texts)
    labels = [("utf-8", "")]
    if encodable(whole, PAGES["windows-1252"]):
        labels = [("utf-8", ""), ("windows-1252", "windows-1252"), ("iso-8859-1", "windows-1252")]
    if encodable(whole, PAGES["iso-8859-2"]):
        labels += [("ISO-8859-2", "iso-8859-2")] * 2
    label, page = rng.choice(labels)
    flowed = rng.random() < 0.55
    lines = flowed_lines(texts) if flowed else plain_lines(texts)
    body = "".join(line + "\n" for line in lines)
    data = body.encode() if not page else page_encoded(body, page)
    transfer = rng.choice(("8bit", "quoted-printable", "quoted-printable", "base64"))
    if transfer == "base64":
        data = b"".join(base64.b64encode(data[i : i + 54]) + b"\n" for i in range(0, len(data), 54))
    elif transfer == "quoted-printable":
        data = quoted_printable(data)
    data = re.sub(rb"(?m)^(>*From )", rb">\1", data)
    heads = [
        f"X-Letter: {copy.letter.name}",
        f"Subject: {encoded_subject(copy.letter.subject)}",
        f'Content-Type: text/plain;\n\tcharset="{label}"' + (";\n format=flowed" if flowed else ""),
        f"Content-Transfer-Encoding: {transfer}",
        f"Date: {copy.letter.day:%d %b %Y} 12:00:00 +0000",
    ]
    rng.shuffle(heads)
    heads = [
        head if rng.random() < 0.6 else head.split(":")[0].lower() + ":" + head.split(":", 1)[1]
        for head in heads
    ]
    start = f"From archive@museum.example {copy.letter.day:%a %b %d} 12:00:00 {copy.letter.day.year}\n"
    return (start + "\n".join(heads) + "\n\n").encode() + data + b"\n"


def page_encoded(text: str, page: str) -> bytes:
    gone = b"\x81" if page == "windows-1252" else b"\x95"
    table = PAGES[page]
    return b"".join(gone if c == LOST else c.encode() if ord(c) < 128 else table[c] for c in text)


def flowed_lines(texts: list[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        if lines and rng.random() < 0.25:
            lines.append("> " + sentence("en"))
        wrapped = textwrap.wrap(text, 66, break_on_hyphens=False, break_long_words=False)
        flowing = [line + " " for line in wrapped[:-1]] + wrapped[-1:]
        lines += [" " + line if line.startswith(("From ", ">", " ")) else line for line in flowing]
        lines += [""] * rng.choice((0, 1))
    return [*lines, *signature()]


def plain_lines(texts: list[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        lines += textwrap.wrap(text, 66, break_on_hyphens=False, break_long_words=False)
        lines.append("")
        if rng.random() < 0.2:
            lines += ["> " + sentence("en"), ">From the list.", ""]
    return [*lines, *signature()]


def signature() -> list[str]:
    return ["-- ", "sent from the reading room", "- 2 -"] if rng.random() < 0.5 else []


def quoted_printable(data: bytes) -> bytes:
    made = []
    for line in data.split(b"\n")[:-1]:
        words = [chr(b) if 32 <= b < 127 and b != 61 else f"={b:02X}" for b in line]
        if words and words[-1] == " ":
            words[-1] = "=20"
        row = ""
        for word in words:
            if len(row) + len(word) > 72:
                made.append(row + "=")
                row = ""
            row += word
        made.append(row)
    return "".join(row + "\n" for row in made).encode()


def encoded_subject(subject: str) -> str:
    """Encoded words, the blanks between them inside; ASCII words may stay plain."""
    words = subject.split(" ")
    made: list[str] = []
    encoded_before = False
    for at, word in enumerate(words):
        if word.isascii() and not (at and rng.random() < 0.2):
            made.append(word)
            encoded_before = False
            continue
        text = (" " if encoded_before else "") + word
        if len(word) > 5 and rng.random() < 0.5:
            cut = rng.randrange(2, len(text) - 1)
            made.append(encoded_word(text[:cut]))
            text = text[cut:]
        made.append(encoded_word(text))
        encoded_before = True
    text = made[0]
    for word in made[1:]:
        text += ("\n " if rng.random() < 0.2 else " ") + word
    return text


def encoded_word(text: str) -> str:
    charset, page = "utf-8", ""
    if rng.random() < 0.5 and encodable(text, PAGES["windows-1252"]):
        charset, page = "iso-8859-1", "windows-1252"
    elif rng.random() < 0.5 and encodable(text, PAGES["iso-8859-2"]):
        charset, page = "ISO-8859-2", "iso-8859-2"
    data = page_encoded(text, page) if page else text.encode()
    if rng.random() < 0.5:
        return f"=?{charset}?B?{base64.b64encode(data).decode()}?="
    quoted = (chr(b) if b < 128 and chr(b).isalnum() else "_" if b == 32 else f"={b:02X}" for b in data)
    return f"=?{charset}?q?{''.join(quoted)}?="


# dump


def misread(text: str) -> str:
    """UTF-8 taken for windows-1252 once, the five bytes that it leaves open as C1 controls."""
    return "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in text.encode())


def undone(text: str) -> str | None:
    back = {misread_byte(b): bytes([b]) for b in range(256)}
    if text.isascii() or not all(c in back for c in text):
        return None
    try:
        return b"".join(back[c] for c in text).decode()
    except UnicodeDecodeError:
        return None


def misread_byte(b: int) -> str:
    return bytes([b]).decode("cp1252", "ignore") or chr(b)


def dump(copies: list[Copy]) -> bytes:
    rows: list[tuple[str, int, str, str]] = []
    for copy in copies:
        text = "\n".join(pretty(text) for text in copy.paragraphs)
        size = rng.randrange(90, 260)
        parts = [text[i : i + size] for i in range(0, len(text), size)]
        for number, part in enumerate(parts, 1):
            if rng.random() < 0.15:
                rows.append((copy.letter.name, number, "live", part[::-1]))
            rows.append((copy.letter.name, number, "live", part))
            if rng.random() < 0.1:
                rows.append((copy.letter.name, number, "deleted", "void"))
    numbered = list(enumerate(rows, 1001))
    rng.shuffle(numbered)
    lines = ["row\tletter\tpart\tstate\ttext"]
    for row, (name, number, state, text) in numbered:
        lines.append(f"{row}\t{name}\t{number}\t{state}\t{dumped(text)}")
    return "".join(line + "\n" for line in lines).encode()


def dumped(text: str) -> str:
    assert undone(text) is None, text
    text = text.replace("&", "&amp;")
    text = "".join(f"&#{ord(c)};" if ord(c) > 127 and rng.random() < 0.06 else c for c in text)
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    wanted = text
    for _ in range(rng.choice((0, 1, 1, 2))):
        text = misread(text)
    again = text
    while (back := undone(again)) is not None:
        again = back
    assert again == wanted
    return text


# scans


def scans(copies: list[Copy]) -> dict[str, bytes]:
    pages: list[tuple[int, str]] = []
    for copy in copies:
        leaf = leaves(copy)
        gap = rng.random() < 0.08 and copy.letter.name not in ONLY_SCANNED
        for number, lines in enumerate(leaf, 1):
            if gap and number == len(leaf):
                continue
            for each in again(lines):
                head = f"{copy.letter.name} / {number} of {len(leaf)}".ljust(30) + "HARBOUR MUSEUM"
                foot = f"- {rng.randrange(1, 400)} -".center(60).rstrip()
                page = "\n".join([head, *[""] * rng.choice((0, 1)), *each, foot]) + "\n"
                pages.append((rng.randrange(3), page))
    rng.shuffle(pages)
    for at, (scan, page) in rng.sample(list(enumerate(pages)), 8):
        pages.insert(rng.randrange(at + 1) if scan == 0 else 0, (0, misreading(page)))
    return {f"scans/scan-{n + 1}.txt": "\f".join(p for at, p in pages if at == n).encode() for n in range(3)}


def misreading(page: str) -> str:
    """An earlier scan of a page, with as many unreadable characters but other letters here and there."""
    head, *lines = page.split("\n")
    return "\n".join([head, *(re.sub(r"(?<=[a-z])[eo](?=[a-z])", "c", line, count=1) for line in lines)])


def leaves(copy: Copy) -> list[list[str]]:
    lines: list[str] = []
    for text in copy.paragraphs:
        text = pretty(text)
        rows = broken(text, "-", 38)
        lines += ["  " + rows[0], *rows[1:]]
    size = rng.randrange(6, 15)
    return [[scanned(line) for line in lines[i : i + size]] for i in range(0, len(lines), size)]


def scanned(line: str) -> str:
    begun = line.split()[-1].strip("\"'\u201c\u201e\u00ab(")
    line = line.replace(LOST, "\u25a0")
    if rng.random() < 0.5:
        for ligature in ("\ufb03", "\ufb04", "\ufb01", "\ufb02", "\ufb00"):
            line = line.replace(NORMALISE[ligature], ligature)
    if rng.random() < 0.35:
        line = "".join(unicodedata.normalize("NFD", c) if c in COMPOSED else c for c in line)
    if rng.random() < 0.2:
        line = re.sub(r"(?<=[aeo])(?=[lnr][aeio])", "\u00ad", line, count=1)
    if line.endswith("-") and rng.random() < 0.25 and not any(word.startswith(begun) for word in HYPHENED):
        line = line[:-1] + "\u00ad"
    return line


def again(lines: list[str]) -> Iterable[list[str]]:
    """A page, now and then scanned twice with more unreadable characters the first time or the second."""
    if rng.random() < 0.8:
        return [lines]
    worse = list(lines)
    at = rng.randrange(len(worse))
    places = [i for i, c in enumerate(worse[at]) if c.isascii() and c.isalpha()]
    for place in rng.sample(places, min(2, len(places))):
        worse[at] = worse[at][:place] + "\u25a0" + worse[at][place + 1 :]
    return rng.sample([lines, worse], 2)


# --- expected -------------------------------------------------------------------------------------


def fold(text: str) -> str:
    return "".join(FOLDING.get(c, c.lower()) for c in text if c in FOLDING or c.isascii() and c.isalnum())


def folding_of(char: str) -> str:
    special = {"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "œ": "oe"}
    low = char.lower()
    return special.get(low) or unicodedata.normalize("NFD", low)[0]


def best_copies(copies: list[Copy]) -> dict[str, Copy]:
    best: dict[str, Copy] = {}
    for copy in sorted(copies, key=lambda c: (c.lost, BATCHES.index(c.batch))):
        best.setdefault(copy.letter.name, copy)
    return best


Erratum = tuple[str, int, int, str, str]


def draw_errata(best: dict[str, Copy]) -> list[Erratum]:
    errata: list[Erratum] = []
    for name, copy in sorted(best.items()):
        for number, text in enumerate(copy.paragraphs, 1):
            for at, word in enumerate(text.split(" "), 1):
                whole = copy.letter.paragraphs[number - 1].split(" ")[at - 1]
                if LOST in word and rng.random() < 0.4:
                    errata.append((name, number, at, word, whole))
                elif rng.random() < 0.006:
                    errata.append((name, number, at, word, word + "(sic)"))
                elif rng.random() < 0.004:
                    errata.append((name, number, at, word + "x", word))
    name = sorted(best)[4]
    word = best[name].paragraphs[0].split(" ")[1]
    errata += [(name, 1, 2, word, "first-" + word), (name, 1, 2, "first-" + word, "second-" + word)]
    errata += [(name, 9, 1, word, "x"), (name, 1, 900, word, "x"), ("L9999", 1, 1, "The", "This")]
    return errata


def corrected(
    best: dict[str, Copy], errata: list[Erratum]
) -> tuple[dict[str, list[list[str]]], list[Erratum]]:
    texts = {name: [text.split(" ") for text in copy.paragraphs] for name, copy in best.items()}
    refused = []
    for erratum in errata:
        name, number, at, was, new = erratum
        text = texts.get(name, [])
        if number <= len(text) and at <= len(text[number - 1]) and text[number - 1][at - 1] == was:
            text[number - 1][at - 1] = new
        else:
            refused.append(erratum)
    return texts, refused


def outputs(copies: list[Copy]) -> dict[str, list[str]]:
    catalogued = {letter.name: letter for letter in LETTERS if letter.name not in UNCATALOGUED}
    best = BEST
    texts, refused = corrected(best, ERRATA)
    order = sorted(best, key=lambda name: (catalogued[name].day, name))
    letters, register = (
        [],
        ["letter\tdate\tfrom\tto\tcopies\tused\tparagraphs\twords\tcharacters\tlost\tsubject"],
    )
    places: dict[str, list[str]] = {}
    damage: list[tuple[str, int, int, str]] = [(name, n, at, "erratum") for name, n, at, _, _ in refused]
    damage += [(name, 0, 0, "missing") for name in catalogued if name not in best]
    damage += [(name, 0, 0, "uncatalogued") for name in {c.letter.name for c in copies} & UNCATALOGUED]
    for name in order:
        letter, rows = catalogued[name], [" ".join(words) for words in texts[name]]
        letters += [f"== {name}", *rows, ""]
        mine = [copy for copy in copies if copy.letter.name == name]
        subject = letter.subject if any(copy.batch == "mail" for copy in mine) else ""
        register.append("\t".join(map(str, (
            name, letter.day, letter.sender, letter.receiver, len(mine), best[name].batch, len(rows),
            sum(map(len, texts[name])), sum(map(len, rows)), sum(row.count(LOST) for row in rows), subject,
        ))))  # fmt: skip
        for number, words in enumerate(texts[name], 1):
            for at, word in enumerate(words, 1):
                if LOST in word:
                    damage.append((name, number, at, "lost"))
                elif len(fold(word)) >= 5 and fold(word) not in STOPWORDS.split():
                    places.setdefault(fold(word), []).append(f"{name}:{number}.{at}")
    concordance = ["word\tcount\tplaces"]
    concordance += [f"{word}\t{len(found)}\t{' '.join(found)}" for word, found in sorted(places.items())]
    rows = ["letter\tparagraph\tword\twhat", *("\t".join(map(str, row)) for row in sorted(damage))]
    systems = ["system\tcopies\tused\tlost"]
    for batch in BATCHES:
        mine = [copy for copy in copies if copy.batch == batch and copy.letter.name not in UNCATALOGUED]
        used = sum(copy is best[copy.letter.name] for copy in mine)
        systems.append(f"{batch}\t{len(mine)}\t{used}\t{sum(copy.lost for copy in mine)}")
    persons = ["name\tsent\treceived\tfirst\tlast"]
    for name in sorted(name for name, _ in PEOPLE):
        sent = [catalogued[x].day for x in order if catalogued[x].sender == name]
        got = [catalogued[x].day for x in order if catalogued[x].receiver == name]
        persons.append(f"{name}\t{len(sent)}\t{len(got)}\t{min(sent + got)}\t{max(sent + got)}")
    return {
        "systems.tsv": systems,
        "persons.tsv": persons,
        "letters.txt": letters,
        "register.tsv": register,
        "concordance.tsv": concordance,
        "damage.tsv": rows,
    }


# --- the archive ----------------------------------------------------------------------------------

LETTERS = draw_letters()
UNCATALOGUED = {letter.name for letter in rng.sample(LETTERS, 4)}
UNFOUND = {letter.name for letter in rng.sample([x for x in LETTERS if x.name not in UNCATALOGUED], 3)}
LETTER_CHARS = sorted(
    {c for letter in LETTERS for text in letter.paragraphs for c in text if not c.isascii()}
)
COMPOSED = {c for c in LETTER_CHARS if len(unicodedata.normalize("NFD", c)) == 2}
EXTRA = "ÁÀÂÇÈÊËÍÎÏÑÓÒÔÚÙÛáâçêëíîïñóôúûÿŃńŚśŹźĄąĘęĆć"
FOLDING = {
    c: folding_of(c) for c in sorted(set(LETTER_CHARS) | set(EXTRA) | set("ÄÖÜÅÆØŁŻßÉ")) if c.isalpha()
}
HYPHENED = ("boat-house", "half-tide", "Coffer-dam", "coffer-dam", "Half-tide", "Boat-house", "signal-mast")


def draw_copies() -> list[Copy]:
    copies = []
    for letter in LETTERS:
        if letter.name in UNFOUND:
            continue
        probe = Copy(letter, "", letter.paragraphs)
        text = "".join(letter.paragraphs)
        possible = ["mail", "dump", "scans", *["scans"] * (3 if letter.language == "en" else 1)]
        possible += ["terminal"] * 2 if terminal_variants(probe) else []
        possible += ["dos"] * 2 if any(encodable(text, PAGES[page]) for page in ("cp437", "cp850")) else []
        picked = {rng.choice(possible) for _ in range(rng.choice((1, 2, 2, 3)))}
        copies += [spoil(letter, batch) for batch in sorted(picked)]
    return copies


COPIES = draw_copies()
ONLY_SCANNED = {
    letter.name for letter in LETTERS if {c.batch for c in COPIES if c.letter is letter} == {"scans"}
} - set(sorted(x.name for x in LETTERS)[20:40])
MADE: dict[str, bytes] = {}
WRITERS: dict[str, Callable[[list[Copy]], bytes]] = {
    "terminal": terminal,
    "dos": dos,
    "mail": mail,
    "dump": dump,
}


def of_batch(batch: str) -> list[Copy]:
    found = [copy for copy in COPIES if copy.batch == batch]
    rng.shuffle(found)
    return found


for batch_, suffix in (("terminal", "txt"), ("dos", "dat"), ("mail", "mbox"), ("dump", "tsv")):
    MADE[f"{batch_}.{suffix}"] = WRITERS[batch_](of_batch(batch_))
MADE |= scans(of_batch("scans"))


def complete(copy: Copy) -> bool:
    """Whether no page of a scanned letter is missing."""
    if copy.batch != "scans":
        return True
    text = b"".join(data for name, data in MADE.items() if name.startswith("scans/")).decode()
    found = set(re.findall(rf"{copy.letter.name} / (\d+) of (\d+)", text))
    return len(found) == int(next(iter(found))[1]) if found else False


USABLE = [copy for copy in COPIES if complete(copy)]
BEST = best_copies([copy for copy in USABLE if copy.letter.name not in UNCATALOGUED])
ERRATA = draw_errata(BEST)


def table(rows: Iterable[tuple[object, ...]], *header: str) -> bytes:
    return "".join("\t".join(map(str, row)) + "\n" for row in [header, *rows]).encode()


def point(text: str) -> str:
    return " ".join(f"{ord(c):04X}" for c in text)


def lists() -> dict[str, bytes]:
    made = {}
    for name, page in PAGES.items():
        made[f"charsets/{name}.tsv"] = table(
            ((f"{b[0]:02X}", point(c)) for c, b in page.items()), "byte", "character"
        )
    for name, national in ISO646.items():
        rows = ((f"{ord(b):02X}", point(c)) for b, c in sorted(national.items()))
        made[f"charsets/{name}.tsv"] = table(rows, "byte", "character")
    composed = {c: unicodedata.normalize("NFD", c) for c in sorted(set(FOLDING))}
    pairs = [(point(p[0]), point(p[1]), point(c)) for c, p in composed.items() if len(p) == 2]
    made["compose.tsv"] = table(pairs, "letter", "mark", "character")
    struck = [(p[0], key, point(c)) for c, p in composed.items() for key, m in MARKS.items() if p[1:] == m]
    made["overstrike.tsv"] = table(struck, "letter", "mark", "character")
    made["normalise.tsv"] = table(
        ((point(c), point(t)) for c, t in NORMALISE.items()), "character", "becomes"
    )
    made["folding.tsv"] = table(((point(c), t) for c, t in FOLDING.items()), "character", "folded")
    made["months.tsv"] = table(MONTHS.items(), "name", "month")
    made["people.tsv"] = table(PEOPLE, "name", "also")
    catalogue = [
        (x.name, x.written, x.sender_as, x.receiver_as) for x in LETTERS if x.name not in UNCATALOGUED
    ]
    rng.shuffle(catalogue)
    made["catalogue.tsv"] = table(catalogue, "letter", "date", "from", "to")
    made["errata.tsv"] = table(ERRATA, "letter", "paragraph", "word", "was", "is")
    made["hyphenated.txt"] = "".join(word + "\n" for word in HYPHENED).encode()
    made["stopwords.txt"] = "".join(word + "\n" for word in sorted(STOPWORDS.split())).encode()
    return made


def main() -> None:
    here = Path(__file__).resolve().parents[2] / "seeds" / "text-recovery"
    seed = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    for name, data in (MADE | lists()).items():
        write(seed / "environment" / "data" / name, data)
    for name, lines in outputs(USABLE).items():
        write(seed / "tests" / "expected" / name, "".join(line + "\n" for line in lines).encode())


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main()
