"""Texts that tokenizers go wrong on, without end: each kind by itself, and two kinds one behind the other.

    source = HardStrings([b"ab", b"c"], specials=["<|endoftext|>"], text="some book")
    kind, text = source.make(random.Random("any seed"))

In: the tokens and special tokens of a vocabulary, and a text if there is one. Out: str of 0 to some 2,000 characters, most of them short,
some with lone surrogates (`surrogates=False`: none). What is made depends on the seed alone. Rejected: texts drawn evenly from all
strings, in which no two neighbours ever merge.
"""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

APOSTROPHES = "''''''\u2019\u02bc\uff07`´"
ENDINGS = (
    "s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "VE", "M", "LL", "D", "Re", "vE", "lL", "Ll", "\u017f", "\u0130", "K", "l", "r", "v",
    "e", "ſs", "se",
)  # fmt: skip
WORDS = (
    "a", "I", "he", "They", "WE", "ŉ", "ǅ", "ß", "жук", "Що", "λόγος", "שלום", "ابت", "हिन्दी", "ไทย", "한국", "中文", "カナ", "ｱ", "ꙁ", "𐐀𐐨", "Ა",
    "İ", "ʰ", "ª", "١", "Ⅷ", "²",
)  # fmt: skip
SPACES = "      \n\n\n\r\r\n\t\x0b\x0c\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2007\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
EMOJI = (
    "😀", "👩\u200d🚀", "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "🇯", "1\ufe0f\u20e3", "#\u20e3", "❤\ufe0f", "☺",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f", "\u200d", "\ufe0f", "🫨", "🏿", " ", "\n",
)  # fmt: skip
ASCII = "".join(map(chr, range(0x20, 0x7F)))
SYMBOLS = "()[]{}<>|=+-*/\\\"'`~!@#$%^&;:?_.,\n    //\n"
LENGTHS = (1, 1, 2, 3, 4, 5, 6, 8, 8, 10, 12, 16, 20, 24, 32, 40, 64, 100, 200, 600)  # in parts, which mostly are characters
LONGEST = 2000


@cache
def of_category(*categories: str) -> str:
    return "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in categories)


@dataclass
class HardStrings:
    tokens: Sequence[bytes]
    specials: Sequence[str] = ()
    text: str = ""
    surrogates: bool = True
    letters: list[str] = field(init=False)

    def __post_init__(self) -> None:
        decoded = [token.decode("utf-8", "replace") for token in self.tokens]
        self.letters = [token for token in decoded if token.isalpha()] or ["a", "b"]
        self.kinds: dict[str, Callable[[random.Random], str]] = {
            "code points": code_points, "one block": one_block, "tokens": self.some_tokens, "changed tokens": self.changed_tokens,
            "one piece": self.one_piece, "repetition": self.repetition, "run": run, "spaces": spaces, "contractions": contractions,
            "digits": digits, "emoji": emoji, "marks": marks, "cases": cases, "symbols": symbols, "Hangul": hangul,
        }  # fmt: skip
        if self.specials:
            self.kinds["special tokens"] = self.some_specials
        if self.text:
            self.kinds["text"] = self.part_of_text
        if self.surrogates:
            self.kinds["surrogates"] = surrogates
        self.names = [*self.kinds, "two kinds", "two kinds"]

    def make(self, rng: random.Random) -> tuple[str, str]:
        """The name of a kind, and a text of it."""
        name = rng.choice(self.names)
        if name in self.kinds:
            return name, self.kinds[name](rng)[:LONGEST]
        first, second = rng.choice(self.names[:-2]), rng.choice(self.names[:-2])
        return name, (self.kinds[first](rng)[:LONGEST] + rng.choice(("", "", " ", "\n", "'")) + self.kinds[second](rng))[:LONGEST]

    def some_tokens(self, rng: random.Random) -> str:
        return b"".join(rng.choices(self.tokens, k=rng.choice(LENGTHS[:-2]))).decode("utf-8", "replace")

    def changed_tokens(self, rng: random.Random) -> str:
        """Tokens with one byte of each put in, left out or replaced; what is not UTF-8 then becomes U+FFFD."""
        changed = []
        for token in rng.choices(self.tokens, k=rng.choice(LENGTHS[:12])):
            at = rng.randrange(len(token) + 1)
            byte = bytes([rng.choice((rng.randrange(128), rng.randrange(256), 0x20, 0x27))])
            changed.append(token[:at] + rng.choice((byte, b"")) + token[at + rng.randrange(2) :])
        return b"".join(changed).decode("utf-8", "replace")

    def one_piece(self, rng: random.Random) -> str:
        """Letters only, which hardly any pattern cuts: what is to be merged gets long."""
        return rng.choice((" ", "")) + "".join(rng.choices(self.letters, k=rng.choice(LENGTHS[:-3])))

    def repetition(self, rng: random.Random) -> str:
        unit = rng.choice((self.some_tokens, code_points, contractions, digits, self.one_piece, symbols))(rng)[: rng.randint(1, 7)]
        return rng.choice(("", " ", "a", "\n")) + unit * rng.choice((2, 3, 5, 9, 17, 40, 150)) + unit[: rng.randrange(len(unit) + 1)]

    def some_specials(self, rng: random.Random) -> str:
        """Special tokens, whole and cut short, among other text."""
        parts = []
        for _ in range(rng.choice(LENGTHS[:9])):
            special = rng.choice(self.specials)
            parts.append(rng.choice((special, special, special[:-1], special[1:], special[: rng.randrange(len(special))], special.upper())))
            parts.append(rng.choice(("", "", " ", "\n", "a", "<", "<|", rng.choice(WORDS))))
        return "".join(parts)

    def part_of_text(self, rng: random.Random) -> str:
        """Some of a text, sometimes with a character more or less."""
        at, length = rng.randrange(len(self.text)), rng.choice(LENGTHS) * 3
        found = self.text[at : at + length]
        at = rng.randrange(len(found))
        if rng.random() < 0.5:
            return found
        return found[:at] + rng.choice(("", code_points(rng)[:1], " ", "\n", "'")) + found[at + rng.randrange(2) :]


def code_points(rng: random.Random) -> str:
    """Of all planes; or of the lower ones only."""
    top = rng.choice((0x110000, 0x110000, 0x20000, 0x10000, 0x3000, 0x800, 0x100))
    found = (int(rng.random() * top) for _ in range(rng.choice(LENGTHS)))
    return "".join([chr(point) for point in found if not 0xD800 <= point <= 0xDFFF])


def one_block(rng: random.Random) -> str:
    """Of 128 neighbours, and spaces."""
    start = 128 * rng.choice((rng.randrange(0x200), rng.randrange(0x400), rng.randrange(0x2200)))
    if 0xD800 <= start <= 0xDFFF:
        start = 0x3040
    return "".join([" " if number >= 128 else chr(start + number) for number in rng.choices(range(140), k=rng.choice(LENGTHS))])


def run(rng: random.Random) -> str:
    c = rng.choice(ASCII + SPACES + "é中文😀\u0301\u200d١²ǅ\ufffd\0")
    return rng.choice(("", "", "a", " ", "\n")) + c * min(int(rng.paretovariate(0.4)), LONGEST) + rng.choice(("", "", "b", " ", "'s"))


def spaces(rng: random.Random) -> str:
    found = rng.choices(SPACES + rng.choice(("", "a", "a1.", "中é'", SPACES)), k=rng.choice(LENGTHS[:-1]))
    return "".join([c * rng.choice((1, 1, 1, 2, 3, 9)) for c in found])


def contractions(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.choice(LENGTHS[:9])):
        parts += [rng.choice((*WORDS, "", " ")), rng.choice(APOSTROPHES) * rng.choice((1, 1, 1, 2)), rng.choice(ENDINGS)]
        parts.append(rng.choice(("", "", " ", *WORDS)))
    return "".join(parts)


def digits(rng: random.Random) -> str:
    pool = rng.choice(("0123456789", "0123456789 .,-", "0123456789", of_category("Nd"), of_category("Nd", "No", "Nl")))
    return "".join(rng.choices(pool + rng.choice(("", "", "a", " ", "\n", ".e")), k=rng.choice(LENGTHS)))


def emoji(rng: random.Random) -> str:
    return "".join(rng.choices(EMOJI, k=rng.choice(LENGTHS[:-2])))


def marks(rng: random.Random) -> str:
    """Letters and what combines with them, in any order, often where it cannot."""
    pool, letters = of_category("Mn", "Mc", "Me"), "aeioAEnсиλ中あ ค1.'\u1100\uac00\u0915"
    found = [rng.choice(letters) + "".join(rng.choices(pool, k=rng.choice((0, 1, 1, 2, 3)))) for _ in range(rng.choice(LENGTHS[:-2]))]
    text = "".join(found)
    return unicodedata.normalize("NFD", "éÅñữ각한ὕ" + text) if rng.random() < 0.3 else text


def cases(rng: random.Random) -> str:
    """Letters of all categories, which some patterns tell apart."""
    wide = [of_category(category) for category in ("Ll", "Lu", "Lt", "Lm", "Mn")]
    pools = ("abcdefgh", "ABCDEFGH", *wide, of_category("Lo")[::97], " ", "'")
    chosen = rng.sample(pools, rng.randint(2, 4))
    return "".join([rng.choice(rng.choice(chosen)) for _ in range(rng.choice(LENGTHS[:-1]))])


def symbols(rng: random.Random) -> str:
    signs, marks = of_category("Sm", "So", "Sk", "Sc"), of_category("Pd", "Ps", "Pe", "Po", "Pi", "Pf", "Pc")
    pool = rng.choice((SYMBOLS, SYMBOLS, ASCII, signs + "  \n", marks + " \r\n/"))
    return "".join(rng.choices(pool, k=rng.choice(LENGTHS)))


def hangul(rng: random.Random) -> str:
    """Syllables, letters that compose to them, and fillers."""
    bounds = rng.choice(((0x1100, 0x11FF), (0xAC00, 0xD7A3), (0x3130, 0x318F), (0x1100, 0x1175), (0xA960, 0xA97F), (0x1161, 0x11C2)))
    text = "".join([chr(rng.randint(*bounds)) for _ in range(rng.choice(LENGTHS[:-1]))])
    return unicodedata.normalize("NFD", text) + text if rng.random() < 0.3 else text


def surrogates(rng: random.Random) -> str:
    parts = ("\ud83d\ude00", "\ud83d", "\ude00", "\ude00\ud83d", "\ud800", "\udfff", "\udbff\udfff", "a", " ", "中", "\n", "😀", "'s", "1")
    return rng.choice(parts[:7]) + "".join(rng.choices(parts, k=rng.choice(LENGTHS[:-2])))
