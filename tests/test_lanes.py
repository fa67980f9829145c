"""The vector tiers at the places where they are most likely to be wrong: the ends of texts, and bytes that are not UTF-8.

A text of every length around several vectors is cut off anywhere, also inside a character, and then spoilt by a stray byte; the
pieces are those of the pure tier. Random machines are the business of native_harness.c.
"""

from __future__ import annotations

import random

import numpy
import pytest

import bitlex

FILLS = ("\u00e9", "\u4e2d", "\U0001f600", "a\u4e2d", "ab\U0001f600 ", "\u00e9 1", "\u0967", "\U00100000")
STRAY = b"\x80\xbf\xc0\xc3\xe0\xe4\xed\xf0\xf4\xffa"


@pytest.mark.parametrize("fill", FILLS)
def test_texts_that_are_cut_off_and_spoilt(fill: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = bitlex.lexer("cl100k")
    assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.lexer("cl100k")
    chance = random.Random(fill)
    data = (fill * 800).encode()
    for length in range(384, 384 + 130):
        text = bytearray(data[:length])
        assert one.spans(text).tolist() == two.spans(text).tolist()
        for _ in range(3):
            text[chance.randrange(length)] = chance.choice(STRAY)
            assert one.spans(text).tolist() == two.spans(text).tolist()


def test_single_characters_among_ascii(vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code point, and each ill-formed beginning of one, where few bytes of 64 are not ASCII: these are decoded apart."""
    each = r"[a-z0-9 .,]+|\ufffd|[^\ufffd]"  # so that what one takes for a character, and another for several, are different pieces
    ones = [bitlex.lexer("cl100k"), bitlex.compile(each, dialect="python")]
    assert ones[1].tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "portable")
    twos = [bitlex.lexer("cl100k"), bitlex.compile(each, dialect="python")]
    points = [chr(point).encode() for point in (*range(0x80, 0xD800), *range(0xE000, 0x12000), *range(0x12000, 0x110000, 7))]
    inner = [bytes([byte]) for byte in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xF0)]
    spoilt = [bytes([lead]) + a + b + c for lead in range(0x80, 0x100) for a in inner for b in inner for c in inner]
    for units in (points, spoilt):
        text = b"".join(unit + b" they said, 12 of them." for unit in units)
        for one, two in zip(ones, twos, strict=True):
            assert numpy.array_equal(one.spans(text), two.spans(text))


REMEMBERING = (  # a quote, or a comment, changes the meaning of all that follows; the last is too large for AVX2
    r'''"(?:[^"\\]|\\[\s\S])*"|[A-Za-z]+|\s+|[^\s"A-Za-z]+|"''',
    r'''/\*[\s\S]*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9A-Za-z.]*|[-+*/%=<>!&|]+|\s+|[\s\S]''',
)


@pytest.mark.parametrize("pattern", REMEMBERING)
def test_machines_that_do_not_forget(pattern: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many blocks, so that two guesses are made, prove right, prove wrong, and are given up."""
    one = bitlex.compile(pattern, dialect="python")
    if vector_tier == "avx512":
        assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.compile(pattern, dialect="python")
    chance = random.Random(pattern)
    for rare in (3, 30, 300, 3_000, 30_000):
        words = ("/*", "*/", '"', '\\"', "//", "\n", "1.5", "é", "中文", "😀")
        text = "".join(chance.choice(words) if chance.randrange(rare) == 0 else chance.choice(("ab ", "x", " = ")) for _ in range(30_000))
        assert one.spans(text.encode()).tolist() == two.spans(text.encode()).tolist()
        assert one.split(text) == two.split(text)


def native_and_pure(name: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bitlex.Lexer, bitlex.Lexer]:
    """A lexer on the tier that is in BITLEX_TIER, and the same in Python."""
    one = bitlex.lexer(name)
    assert one.tier == tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    return one, bitlex.lexer(name)


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_bytes_of_all_kinds(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leads and bytes that may follow them, in any order: every byte decides anew where a character starts."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    kinds = (b"\x80\x8f\x90\x9f\xa0\xbf", b"\xc1\xc2\xdf", b"\xe0\xe1\xed\xef", b"\xf0\xf3\xf4\xf5\xff", b"aB1 '\n", bytes(range(256)))
    for length in (384, 400, 4_095, 6_144, 6_145, 20_000):
        for weights in ((8, 2, 2, 2, 1, 1), (20, 1, 8, 1, 1, 0), (30, 0, 0, 10, 1, 0), (1, 1, 1, 1, 20, 1)):
            text = bytes(chance.choice(kind) for kind in chance.choices(kinds, weights, k=length))
            assert one.spans(text).tolist() == two.spans(text).tolist()


SHORT = (b"\xc3a", b"\xe4\xb8a", b"\xe4aa", b"\xf0\x9f\x98a", b"\xf0\x9faa", b"\xf0aaa")  # a byte or more too few
WRONG = (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xffaaa")


@pytest.mark.parametrize("mistake", [*SHORT, *WRONG])
def test_mistakes_that_cancel_out(mistake: bytes, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one lead lacks is too much elsewhere, so that there are as many bytes inside characters as all leads together ask for."""
    one, two = native_and_pure("cl100k", vector_tier, monkeypatch)
    chance = random.Random(mistake)
    well_formed = "é".encode() * 30_000  # long enough that the next text is taken for it, too
    for _ in range(60):
        text = bytearray("".join(chance.choice("aé中😀") for _ in range(chance.randrange(400, 900))).encode())
        for at, inserted in ((chance.randrange(len(text)), mistake), (chance.randrange(len(text)), b"\x80" * chance.randrange(4))):
            while text[at] & 0xC0 == 0x80:  # between characters
                at -= 1
            text[at:at] = inserted
        one.count(well_formed)
        assert one.spans(text).tolist() == two.spans(text).tolist()


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_counters_in_blocks_that_are_not_full(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes get other steps where digits, counted in threes, were guessed wrong; of any length, and whatever follows them."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    for _ in range(200):
        length, between = chance.randrange(384, 6_145), chance.choice(("", "a", " ", "中", "\t \n"))
        text = "".join("7" * chance.randrange(1, 2_000) + between for _ in range(40))[:length]
        assert one.spans(text.encode()).tolist() == two.spans(text.encode()).tolist()


@pytest.mark.parametrize("name", ["cl100k", "o200k", "deepseek_v3"])
def test_guesses_of_few_steps(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are longer than a short guess for hundreds of blocks, in which guesses are long by and by, and prose, in which they are not."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    for fill in (" ", "\t", "\n", "7", "中"):
        hard = "".join(fill * chance.randrange(5, 14) + chance.choice(("a", "x1", ".\n", "'s")) for _ in range(80_000))
        text = hard + "as it was said, and done. " * 4_000 + hard[:200_000]
        assert one.spans(text.encode()).tolist() == two.spans(text.encode()).tolist()


def test_what_is_ill_formed_beside_the_last_plane(vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead that may be followed by nothing is not taken for one of the last plane, of which a machine tells characters apart."""
    pattern = "[\U00100000-\U0010abcd]+|\ufffd{1,2}|[a-z]+|\\s+|[^a-z\\s\ufffd\U00100000-\U0010abcd]+"
    one = bitlex.compile(pattern, dialect="python")
    assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.compile(pattern, dialect="python")
    chance = random.Random(7)
    characters = ("\U00100000", "\U0010abce", "\U000fffff", "\ufffd", "\xe9", "中", "ab ")
    units = (*(text.encode() for text in characters), b"\xf4", b"\xf4\x80", b"\xf4\x8f\xbf", b"\xff", b"\xfe\x80\xbf", b"\x80")
    for length in (400, 6_144, 30_000):
        for rare in (1, 2, 9):
            text = b"".join(chance.choice(units) if chance.randrange(rare) == 0 else b"\xf4\x80\x80\x80" for _ in range(length))
            assert one.spans(text).tolist() == two.spans(text).tolist()


@pytest.mark.parametrize("name", ["cl100k", "o200k", "bytelevel"])
def test_texts_that_jump_about(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code points from anywhere, for long enough that rows are no longer looked for, and a script, for which they are again."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    for most in (0x800, 0x10000, 0x20000, 0x110000):
        points = [point for point in (chance.randrange(most) for _ in range(9_000)) if not 0xD800 <= point < 0xE000]
        text = "".join(map(chr, points[:4_000])) + "Привет, мир! " * 200 + "".join(map(chr, points[4_000:]))
        assert one.split(text) == two.split(text)
        assert one.spans(text.encode()).tolist() == two.spans(text.encode()).tolist()


def test_texts_that_jump_about_in_more_chunks_than_are_in_memory(vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class with code points in each 4,096 of all planes, so that many of these are looked up one by one."""
    within = "".join(f"{chr(first + 7)}-{chr(first + 0x7FF)}" for first in range(0, 0x110000, 0x1000) if first != 0xD000)
    pattern = f"[{within}]+|[^{within}]"
    one = bitlex.compile(pattern, dialect="python")
    assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.compile(pattern, dialect="python")
    chance = random.Random(11)
    for most in (0x10000, 0x30000, 0x110000):
        points = [point for point in (chance.randrange(most) for _ in range(9_000)) if not 0xD800 <= point < 0xE000]
        text = "".join(map(chr, points))
        assert one.split(text) == two.split(text)
        assert one.spans(text.encode()).tolist() == two.spans(text.encode()).tolist()


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_rows_of_the_first_characters(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts below U+1000 that have few rows of 64, as many as there are at hand, or more; in turns, and with longer characters among them."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    for count in (1, 2, 3, 4, 5, 8, 9, 12, 40):
        units: list[str] = []
        for turn in range(3):
            rows = [64 * chance.randrange(2, 64 if turn == 2 else 32) for _ in range(count)]
            others, plain = chance.choice(("", "—“”", "—中😀\U00100000")), chance.choice((8, 37))
            for _ in range(3_000):
                kind = chance.randrange(40)
                common = chr(chance.choice(rows) + chance.randrange(64))
                units.append(chance.choice(" a1\n") if kind < plain else chance.choice(others) if others and kind == plain else common)
        text = "".join(units)
        assert one.spans(text).tolist() == two.spans(text).tolist()
        data = bytearray(text.encode())
        assert one.spans(data).tolist() == two.spans(data).tolist()
        for _ in range(20):
            data[chance.randrange(len(data))] = chance.choice(STRAY)
        assert one.spans(data).tolist() == two.spans(data).tolist()


def test_what_is_ill_formed_at_borders_of_english(vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few characters of two and three bytes, at each place around the border of two vectors and of two blocks; whole, or cut off, and perhaps
    with a byte further on that belongs to none, so that there are as many as there should be."""
    pattern = r"[a-z]*\ufffd|[a-z]+|[^a-z\ufffd]"  # so that what is ill-formed goes with what is before, and nothing else does
    one = bitlex.compile(pattern, dialect="python")
    assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "portable")
    two = bitlex.compile(pattern, dialect="python")
    text = "As it was said: “there’s no such café” (à la carte), and so on. ".encode() * 130
    units = ("é".encode(), "’".encode(), b"\xc3", b"\xe2\x80", b"\xe2", b"\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xc1\x81", b"\xf0\x80\x80")
    for border in (512, 6_144):  # a multiple of 256, where it is asked whether there is anything but ASCII
        for at in range(border - 4, border + 3):
            for unit in units:
                for further in (0, 64, 131, 3_000):
                    data = bytearray(text)
                    data[border - 30 : border + 160] = b"x" * 190
                    data[border + 2_990 : border + 3_010] = b"x" * 20
                    if further:
                        data[border + further] = 0x80
                    data[at : at + len(unit)] = unit
                    assert numpy.array_equal(one.spans(data), two.spans(data)), (at, unit, further)


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_runs_of_one_length(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters of one length for a while, then of another: what waits to be looked up is done at any place, and when it is much."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    kinds = ("a ", "ж ", "жи", "文,", "中文", "文😀", "\U00100000", "a—b", "é", "\u0967中a")
    for longest in (8, 70, 600, 3_000):
        text = "".join(chance.choice(kinds) * chance.randrange(1, longest) for _ in range(40_000 // longest))
        data = bytearray(text.encode())
        assert one.spans(data).tolist() == two.spans(data).tolist()
        for _ in range(len(data) // 500):
            data[chance.randrange(len(data))] = chance.choice(STRAY)
        assert one.spans(data).tolist() == two.spans(data).tolist()


@pytest.mark.parametrize("astral", ["", "😀"])
def test_surrogates_in_a_str(astral: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them, in units of two and of four bytes: for UTF-8, which has none, they may stand for something else."""
    one, two = native_and_pure("cl100k", vector_tier, monkeypatch)
    points = [*range(0xD700, 0xE100), *map(ord, "ab 12\n"), *map(ord, astral)] * 4
    random.Random(astral).shuffle(points)
    text = "".join(map(chr, points))
    assert one.spans(text).tolist() == two.spans(text).tolist()


@pytest.mark.parametrize("name", ["cl100k", "o200k", "deepseek_v3", "longcat", "superbpe"])
def test_runs_over_many_blocks(name: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tells the backward state is many blocks ahead, and these are the same again, or nearly: at any distance from a border."""
    one, two = native_and_pure(name, vector_tier, monkeypatch)
    chance = random.Random(name)
    for unit in (" ", " \t", "\n", "1", "A", "\u3000", "'"):  # what repeats from block to block, and what does not
        for blocks in (1, 2, 4, 5, 9, 10, 66):
            if blocks > 10 and unit not in " 1":
                continue
            run = unit * ((blocks * 6144 + chance.randrange(-300, 300)) // len(unit))
            odd = chance.randrange(len(run))  # one unit that is another, anywhere in it
            for before, text, behind in (("", run, ""), ("a", run, "b"), ("\n", run, "\n"), ("中", run[:odd] + "x" + run[odd:], " 5")):
                data = before + text + behind
                assert one.spans(data).tolist() == two.spans(data).tolist()
                if blocks < 10:
                    assert one.spans(data.encode()).tolist() == two.spans(data.encode()).tolist()
