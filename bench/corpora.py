"""Texts to measure on, by name: real ones where the reader has them, made ones anywhere.

    corpora(Path("/somewhere"), 4_000_000)     # the files of /somewhere/corpora (or of the folder itself), 4 MB of each at most
    corpora(None, 4_000_000)                   # texts made here, of nothing but Python's own library and a seed: no download
    hard(4_000_000)                            # texts that lexers with restarts, long lookaheads, or tables of characters are slow on

Made texts are the same on every run of one Python version. What they are biased towards: their words are random, so lengths of
runs vary more than in a language and no word comes back often; prose is documentation, as it is and as books print it; JSON is regular.
"""

from __future__ import annotations

import json
import random
import re
import sysconfig
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from pydoc_data.topics import topics

import bitlex

SCRIPTS = {
    "greek": (0x391, 0x3CE), "cyrillic": (0x410, 0x44F), "hebrew": (0x5D0, 0x5EA), "arabic": (0x627, 0x64A), "devanagari": (0x905, 0x94D),
    "thai": (0xE01, 0xE4D), "georgian": (0x10D0, 0x10F0), "hangul": (0xAC00, 0xB300), "vietnamese": (0x1EA0, 0x1EF9),
}  # fmt: skip
PAUSES = (" ", " ", " ", " ", " ", ", ", ". ", "\n", ": ", " (", ") ", " – ", "!\n\n")
JOINER, PRESENTATION = "\u200d", "\ufe0f"


class Text:
    """A text in both forms, and its beginnings, which slow engines are measured on."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text, self.data = name, text, text.encode()
        self.beginnings: dict[int, Text] = {}

    def beginning(self, size: int) -> Text:
        """Itself, or the whole characters of its first `size` bytes."""
        if size >= len(self.data):
            return self
        if size not in self.beginnings:
            self.beginnings[size] = Text(self.name, self.data[:size].decode("utf-8", "ignore"))
        return self.beginnings[size]


def corpora(folder: Path | None, size: int) -> list[Text]:
    """The files of `folder`, or texts made here, each of `size` bytes at most."""
    if folder is None:
        return [Text(name, text) for name, text in made(size).items()]
    inner = folder / "corpora"
    files = sorted(path for path in (inner if inner.is_dir() else folder).iterdir() if path.is_file())
    texts = [Text(path.stem, path.read_bytes()[:size].decode("utf-8", "ignore")) for path in files]
    if not any(text.data for text in texts):
        raise SystemExit(f"no text in {folder}")
    return [text for text in texts if text.data]


def made(size: int) -> dict[str, str]:
    """Eleven texts of `size` bytes."""
    chance = random.Random(20)
    library = Path(sysconfig.get_path("stdlib"))
    headers = Path(sysconfig.get_path("include"))
    c_files = sorted(headers.rglob("*.h")) or sorted((Path(bitlex.__file__).parent / "generated" / "c").glob("*.[ch]"))
    return {
        "english": cut(documentation(), size),
        "typographic": cut(map(typographic, documentation()), size),
        "chinese": cut(ideographs(chance, kana=False), size),
        "japanese": cut(ideographs(chance, kana=True), size),
        "russian": cut(words(chance, ["cyrillic"]), size),
        "scripts": cut(words(chance, list(SCRIPTS)), size),
        "emoji": cut(emoji(chance), size),
        "c": cut(read(c_files), size),
        "python": cut(read(sorted(library.glob("*.py"))), size),
        "json": cut(objects(chance), size),
        "numbers": cut((f"{chance.uniform(-180, 180):.{chance.randrange(9)}f}," + "\n" * (n % 4 == 0) for n in count()), size),
    }


def cut(parts: Iterable[str], size: int) -> str:
    """The parts in order, from the first again when they end, up to `size` bytes."""
    taken, length = [], 0
    for part in parts:
        taken.append(part)
        length += len(part.encode())
        if length >= size:
            break
    text = "".join(taken)
    text *= -(-size // max(1, len(text.encode())))
    return text.encode()[:size].decode("utf-8", "ignore")


def documentation() -> Iterator[str]:
    return (str(topics[name]) for name in sorted(topics))


def typographic(text: str) -> str:
    """The quotation marks and dashes that books and pages of the web have, for those of ASCII: bytes are not ASCII then, and words begin there."""
    opened = re.sub(r"""(?<![^\s(\[])["'](?=\w)""", lambda found: "“" if found[0] == '"' else "‘", text)
    return re.sub(r"\s?--?\s", "—", opened).replace('"', "”").replace("'", "’")


def read(files: list[Path]) -> Iterator[str]:
    return (path.read_text(encoding="utf-8", errors="ignore") for path in files)


def words(chance: random.Random, scripts: list[str]) -> Iterator[str]:
    letters = {name: [c for c in map(chr, range(*SCRIPTS[name])) if unicodedata.category(c)[0] in "LM"] for name in scripts}
    for number in count():
        script = scripts[number // 40 % len(scripts)]
        yield "".join(chance.choices(letters[script], k=1 + int(chance.expovariate(0.2)))) + chance.choice(PAUSES)


def ideographs(chance: random.Random, kana: bool) -> Iterator[str]:
    characters = [chr(c) for c in range(0x4E00, 0x5E00)]
    for _ in count():
        run = chance.choices(characters, k=chance.randrange(1, 4 if kana else 18))
        if kana:
            first = chance.choice((0x3042, 0x3042, 0x30A2))
            run += [chr(first + chance.randrange(70)) for _ in range(chance.randrange(1, 9))]
        yield "".join(run) + chance.choice(("", "", "，", "、", "。", "。\n", "「", "」"))


def emoji(chance: random.Random) -> Iterator[str]:
    faces = [c for c in map(chr, range(0x1F300, 0x1F700)) if unicodedata.category(c) == "So"]
    for _ in count():
        face = chance.choice(faces)
        more = chance.choice(("", "", PRESENTATION, chance.choice("🏻🏼🏽🏾🏿"), JOINER + chance.choice(faces)))
        yield f"{face}{more} {unicodedata.name(face).lower()}" + chance.choice(PAUSES)


def objects(chance: random.Random) -> Iterator[str]:
    names = ("id", "name", "tags", "score", "created_at", "isActive", "url", "parent")
    for number in count():
        value = {name: chance.choice((number, chance.random() * 1e4, None, True, f"item {number}", [1, 2, number])) for name in names}
        yield json.dumps({"items": [value]}, indent=chance.choice((None, 2, 4))) + "\n"


def anything(chance: random.Random, between: tuple[int, int], size: int) -> str:
    """Code points of a range, each as likely as any other, but for surrogates, which no UTF-8 has."""
    points = chance.choices(range(*between), k=size)
    return cut((chr(point) for point in points if not 0xD800 <= point < 0xE000), size)


def hard(size: int) -> list[Text]:
    """Documentation, to compare with; then runs without end, the shortest possible pieces, and characters of which none is near the one before."""
    given = {
        "one letter": "a", "spaces": " ", "newlines": "\n", "tabs": "\t", "digits": "7", "a1 a1": "a1", "space tab": " \t",
        "space NEL": " \x85\x85", "marks": "\u0301", "apostrophes": "'t", "quotes": '"', "中AAAA": "A",
    }  # fmt: skip
    texts = {"documentation": cut(documentation(), size)} | {name: unit * (size // len(unit.encode())) for name, unit in given.items()}
    texts["中AAAA"] = "中" + texts["中AAAA"][:-3]
    chance = random.Random(20)
    ranges = {
        "random two-byte": (0x80, 0x800), "random BMP": (0x20, 0x10000), "random plane 1": (0x10000, 0x20000), "random": (0x20, 0x110000),
    }  # fmt: skip
    texts |= {name: anything(chance, between, size) for name, between in ranges.items()}
    return [Text(name, text) for name, text in texts.items()]
