"""The public face: `Lexer` on every tier, `lexer`, `families` and `compile`.

Every tier (see conftest.py) runs through every test; what they compute is compared with splits written out here, and with each other
on texts that mix everything. What a pattern means is the business of the generator's own tests.
"""

from __future__ import annotations

import array
import copy
import mmap
import os
import pickle
import platform
import subprocess
import sys
import threading
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

import bitlex
from generator import Step, family
from texts import tuples

TEXT = "I'm here 12345"
PIECES = ["I", "'m", " here", " ", "123", "45"]
MIXED = "It's \u00e9t\u00e9\u0301  \r\n\n 12345\u0663 \u4f60\u597d\u3000\u3042 "
MIXED += "\U0001f468\u200d\U0001f469 \ud83d x\tx \u017fT'LL'\u017f \x00\x85 end  "
SPACES = {"type": "WhitespaceSplit"}


@pytest.fixture
def cl100k(tier: str) -> bitlex.Lexer:
    return bitlex.lexer("cl100k")


def kinds(data: bytes) -> list[Any]:
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    spaced = numpy.frombuffer(data, numpy.uint8)
    return [
        data, bytearray(data), memoryview(data), memoryview(b"<" + data + b">")[1:-1], mapped, spaced, spaced.view(numpy.int8),
        array.array("B", data), spaced.reshape(2, -1),
    ]  # fmt: skip


def test_the_first_example(cl100k: bitlex.Lexer, tier: str) -> None:
    assert cl100k.tier == tier
    assert cl100k.split(TEXT) == PIECES
    assert cl100k.split(TEXT.encode()) == [piece.encode() for piece in PIECES]
    assert cl100k.count(TEXT) == 6
    assert list(cl100k.iterate(TEXT)) == PIECES
    ends = cl100k.spans(TEXT)
    assert ends.tolist() == [1, 3, 8, 9, 12, 14]
    assert ends.dtype == numpy.int32


def test_str_and_bytes_count_in_their_own_units(cl100k: bitlex.Lexer) -> None:
    text = "\u00e9t\u00e9 \u4f60\u597d!"
    assert cl100k.spans(text).tolist() == [3, 6, 7]
    assert cl100k.spans(text.encode()).tolist() == [5, 12, 13]
    assert [piece.decode() for piece in cl100k.split(text.encode())] == cl100k.split(text)


def test_everything_bytes_like_is_read_alike(cl100k: bitlex.Lexer) -> None:
    data = TEXT.encode()
    for text in kinds(data):
        assert cl100k.split(text) == [piece.encode() for piece in PIECES]
        assert all(type(piece) is bytes for piece in [*cl100k.split(text), *cl100k.iterate(text)])
        assert list(cl100k.iterate(text)) == cl100k.split(data)
        assert cl100k.spans(text).tolist() == [1, 3, 8, 9, 12, 14]
        assert cl100k.count(text) == 6


def test_empty_texts(cl100k: bitlex.Lexer) -> None:
    dropping = bitlex.compile(SPACES)
    for empty in ("", b"", bytearray(), memoryview(b""), numpy.zeros(0, numpy.uint8), numpy.zeros((0, 3), numpy.uint8)):
        for lexer in (cl100k, dropping):
            assert lexer.split(empty) == list(lexer.iterate(empty)) == []
            assert not lexer.explain(empty)
            assert lexer.count(empty) == 0
            assert lexer.spans(empty).shape == ((0, 2) if lexer.drops else (0,))
            assert lexer.spans(empty).dtype == numpy.int32


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (5, TypeError, "expected str or a bytes-like object, got int"),
        (None, TypeError, "expected str or a bytes-like object, got NoneType"),
        (["a"], TypeError, "expected str or a bytes-like object, got list"),
        (array.array("I", [1]), TypeError, "expected str or a bytes-like object, got array with items of 4 bytes"),
        (numpy.zeros(3), TypeError, "expected str or a bytes-like object, got ndarray with items of 8 bytes"),
        (memoryview(b"abcd")[::2], BufferError, "expected bytes that lie side by side, got memoryview with gaps; give a copy of it"),
    ],
)  # fmt: skip
def test_wrong_texts(cl100k: bitlex.Lexer, text: Any, error: type[Exception], message: str) -> None:
    for method in (cl100k.split, cl100k.iterate, cl100k.spans, cl100k.count, cl100k.explain):
        with pytest.raises(error) as caught:
            method(text)
        assert str(caught.value) == message


def test_bytes_that_are_not_utf8_come_out_as_they_were(cl100k: bitlex.Lexer) -> None:
    data = b"a\xff\xfe \xe4\xbd b\xf0\x9f\x91 \xed\xa0\x80c\xc0\xaf\x80" + "\u4f60".encode()[:2]
    pieces = cl100k.split(data)
    assert b"".join(pieces) == data
    places = [end - start for start, end in pairwise([0, *cl100k.spans(data).tolist()])]
    assert [len(piece) for piece in pieces] == places
    replaced = cl100k.split(data.decode("utf-8", "replace"))
    assert [piece.decode("utf-8", "replace") for piece in pieces] == replaced


def test_pieces_tile_the_text_where_nothing_is_dropped(cl100k: bitlex.Lexer) -> None:
    assert not cl100k.drops
    assert "".join(cl100k.split(MIXED)) == MIXED
    assert cl100k.spans(MIXED)[-1] == len(MIXED)


def test_dropping_lexers_give_pairs(tier: str) -> None:
    lexer = bitlex.compile(SPACES)
    assert lexer.drops
    for text in ("  ab\u00e9 c  ", "  ab\u00e9 c  ".encode()):
        spans = lexer.spans(text)
        assert spans.shape == (2, 2)
        assert spans.dtype == numpy.int32
        assert [text[start:end] for start, end in spans.tolist()] == lexer.split(text) == list(lexer.iterate(text))
    assert lexer.spans("  ab c").tolist() == [[2, 4], [5, 6]]


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="/proc/cpuinfo says what the processor has, and is not here")
def test_the_best_tier_of_the_processor_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the system's word, not by ours: else a tier that is never taken would only skip its tests."""
    pytest.importorskip("bitlex._native", reason="the C extension was not built")
    monkeypatch.delenv("BITLEX_TIER", raising=False)
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if {"avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512_vbmi2"} <= flags:
        best = "avx512"
    elif {"avx2", "bmi2"} <= flags:
        best = "avx2"
    else:
        best = "neon" if platform.machine() == "aarch64" else "portable"
    assert {bitlex.lexer(name).tier for name in bitlex.families()} == {best}


@pytest.mark.parametrize("name", bitlex.families())
def test_tiers_agree_on_every_family(name: str, native_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = bitlex.lexer(name)
    assert one.tier == native_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.lexer(name)
    assert two.tier == "pure"
    data = MIXED.encode("utf-8", "surrogatepass")
    in_bytes = (data, data * 50, data[::-1], MIXED.encode("utf-16-le", "surrogatepass"))
    in_str = () if one.bytewise else (MIXED, MIXED * 50, MIXED[::-1])
    for text in (*in_bytes, *in_str):
        assert one.split(text) == two.split(text)
        assert one.spans(text).tolist() == two.spans(text).tolist()
        assert one.count(text) == two.count(text) == len(two.split(text))


@pytest.mark.parametrize("name", bitlex.families())
def test_threads_and_batches_change_nothing(name: str) -> None:
    lexer = bitlex.lexer(name)
    data = MIXED.encode("utf-8", "surrogatepass")
    long = 300 if lexer.tier == "pure" else 20_000  # three parts and more
    texts: list[Any] = [b"", data, data * 50, bytearray(data * 7), (data * long)[:-1], b" " * 1_000_000 + data]
    texts += [] if lexer.bytewise else ["", MIXED, MIXED * 50, MIXED * long, "1" * 1_000_000]
    texts = [text[:20_000] for text in texts] if lexer.tier == "pure" else texts
    expected = [lexer.spans(text) for text in texts]
    for threads in (1, 2, 3, 7, 0):
        for text, spans in zip(texts, expected, strict=True):
            numpy.testing.assert_array_equal(lexer.spans(text, threads=threads), spans)
            assert lexer.count(text, threads=threads) == len(spans)
            assert len(text) > 10_000 or lexer.split(text, threads=threads) == lexer.split(text)
        for found, spans in zip(lexer.spans_batch(texts, threads=threads), expected, strict=True):
            numpy.testing.assert_array_equal(found, spans)
            assert (found.dtype, found.shape, found.flags.writeable) == (spans.dtype, spans.shape, spans.flags.writeable)
        assert lexer.count_batch(texts, threads=threads) == [len(spans) for spans in expected]
    assert lexer.split_batch(texts[:4], threads=2) == [lexer.split(text) for text in texts[:4]]
    assert lexer.split(texts[-1], threads=2) == lexer.split(texts[-1])


def test_batches(cl100k: bitlex.Lexer) -> None:
    assert cl100k.split_batch([TEXT, "a b", ""]) == [PIECES, ["a", " b"], []]
    in_bytes: list[bytes | bytearray] = [TEXT.encode(), bytearray(b"a b")]
    assert cl100k.split_batch(iter(in_bytes), threads=2) == [[p.encode() for p in PIECES], [b"a", b" b"]]
    assert cl100k.count_batch(("a b", b"c")) == [2, 1]
    assert [spans.tolist() for spans in cl100k.spans_batch(["a b", numpy.frombuffer(b"c", numpy.uint8)])] == [[1, 3], [1]]
    nothing: list[str] = []
    assert (cl100k.count_batch(nothing), cl100k.split_batch(nothing), cl100k.spans_batch(nothing)) == ([], [], [])
    for method in (cl100k.split_batch, cl100k.count_batch, cl100k.spans_batch):
        with pytest.raises(TypeError, match=r"^texts\[1\]: expected str or a bytes-like object, got NoneType$"):
            method(["a", None, "b"])  # type: ignore[list-item]
        for one in (TEXT, TEXT.encode(), bytearray(b"a")):
            with pytest.raises(TypeError, match="expected a list of texts, got one"):
                method(one)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected a list of texts, got int"):
            method(3)  # type: ignore[arg-type, call-overload]


def test_numbers_of_threads(cl100k: bitlex.Lexer) -> None:
    for method, text in ((cl100k.split, TEXT), (cl100k.count, TEXT), (cl100k.spans, TEXT), (cl100k.split_batch, [TEXT]),
                         (cl100k.count_batch, [TEXT]), (cl100k.spans_batch, [TEXT])):  # fmt: skip
        run: Any = method
        expected = run(text)
        for threads in (0, 1, 2, 100_000, True, numpy.int64(2)):
            assert numpy.all(numpy.asarray(run(text, threads=threads), dtype=object) == numpy.asarray(expected, dtype=object))
        with pytest.raises(ValueError, match="threads is -1; it may be 0"):
            run(text, threads=-1)
        for wrong in (2.0, "2", None):
            with pytest.raises(TypeError):
                run(text, threads=wrong)


def test_lexers_that_cut_inside_characters_refuse_str(tier: str) -> None:
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    cut = {"type": "Split", "pattern": {"String": "\u00c2"}, "behavior": "MergedWithPrevious", "invert": False}
    lexer = bitlex.compile({"type": "Sequence", "pretokenizers": [level, cut]})
    assert lexer.bytewise
    assert lexer.split("x\u00b2".encode()) == [b"x\xc2", b"\xb2"]
    assert lexer.spans("x\u00b2".encode()).tolist() == [2, 3]
    for method in (lexer.split, lexer.iterate, lexer.spans, lexer.count, lexer.explain):
        with pytest.raises(ValueError, match="cuts inside characters, so it reads bytes"):
            method("x")
    for batch in (lexer.split_batch, lexer.spans_batch, lexer.count_batch):
        with pytest.raises(ValueError, match=r"^texts\[1\]: this lexer cuts inside characters, so it reads bytes"):
            batch([b"x", "x"])


def test_iterate_is_lazy_and_complains_at_once(cl100k: bitlex.Lexer) -> None:
    pieces = cl100k.iterate("a b " * 100_000)
    assert [next(pieces), next(pieces)] == ["a", " b"]
    with pytest.raises(TypeError):
        cl100k.iterate(3)  # type: ignore[call-overload]


@pytest.mark.skipif(sys.maxsize < 1 << 32 or not hasattr(mmap, "MAP_ANONYMOUS"), reason="needs a large address space")
def test_offsets_are_64_bits_wide_from_2_to_the_31_on() -> None:
    lexer = bitlex.compile(None)  # the whole text is one piece, so that this is quick
    if lexer.tier == "pure":
        pytest.skip("too slow in pure Python")
    size = (1 << 31) + 5
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ) as zeros:
        ends = lexer.spans(zeros)
        assert ends.tolist() == [size]
        assert ends.dtype == numpy.int64
        batch = lexer.spans_batch([b"abc", zeros], threads=2)
        assert [spans.tolist() for spans in batch] == [[3], [size]]
        assert [spans.dtype.name for spans in batch] == ["int32", "int64"]


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_keep_what_is_in_them(threads: int) -> None:
    """Their memory is that of earlier ones, which nobody has any more; and may have been too small or too large at first."""
    pytest.importorskip("bitlex._native", reason="large texts are not for the lexers in Python")
    lexer = bitlex.compile("a|b+", unicode="16.0")
    made = []
    for length in (100_000, 1_500_000, 240_000, 3_000_000, 600_000):
        for unit, ends in (("a", [1]), ("abbb", [1, 4]), ("b" * length, [length]), ("aabb", [1, 2, 4])):
            expected = (numpy.arange(0, length, len(unit))[:, None] + ends).ravel()
            made.append((lexer.spans(unit * (length // len(unit)), threads=threads), expected))
            if len(made) % 3 == 0:
                del made[len(made) // 2]
    assert all(numpy.array_equal(found, expected) for found, expected in made)


def test_large_arrays_of_two_sizes_have_memory_that_is_kept() -> None:
    """What is let go of one size does not take the place of the other."""
    pytest.importorskip("bitlex._native", reason="large texts are not for the lexers in Python")
    resource = pytest.importorskip("resource", reason="only Unix tells how many pages were made")
    lexer, turns = bitlex.lexer("cl100k"), 8
    texts = [b"a, " * 400_000, b"a, " * 1_500_000]

    def pages_made() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for text in texts:
            lexer.spans(text, threads=1)
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    pages_made()
    assert sum(pages_made() for _ in range(turns)) < 32 * turns


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells how much memory a process takes now")
def test_very_large_arrays_have_memory_that_is_given_back() -> None:
    """And so have smaller ones, which would keep what was left by a larger one for as long as they are there. In a process in which nothing else
    was left."""
    pytest.importorskip("bitlex._native", reason="large texts are not for the lexers in Python")
    program = """if True:
        import mmap, numpy, bitlex
        lexer = bitlex.compile("a|b+", unicode="16.0")

        def taken():
            return int(open("/proc/self/statm").read().split()[1]) * mmap.PAGESIZE >> 20

        small = [lexer.spans(b"a" * 1_300_000, threads=1)]  # 5 MB
        before = taken()
        lexer.spans(b"a" * 24_000_000, threads=1)  # 92 MB
        print(taken() - before)
        lexer.spans(b"a" * 7_500_000, threads=1)  # 29 MB, which stay for the next
        small.append(lexer.spans(b"a" * 1_300_000, threads=1))
        print(taken() - before, numpy.array_equal(small[0], small[1]))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    after_large, after_small, same = done.stdout.split()
    assert int(after_large) < 40 and int(after_small) < 20 and same == "True", done.stdout


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells how much is mapped, and so how much more may be")
def test_threads_do_nothing_where_there_is_no_memory_for_what_comes_out() -> None:
    pytest.importorskip("bitlex._native", reason="large texts are not for the lexers in Python")
    program = """if True:
        import resource, bitlex
        lexer, text = bitlex.compile("a|b+", unicode="16.0"), b"a" * 60_000_000
        few = len(lexer.spans(text[:6_000_000], threads=2))
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (150 << 20), resource.RLIM_INFINITY))
        try:
            lexer.spans(text, threads=2)
        except MemoryError:
            print(few, len(lexer.spans(text[:6_000_000], threads=2)), lexer.count(text, threads=2))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "6000000 6000000 60000000\n"


def test_explain_names_the_alternative(cl100k: bitlex.Lexer) -> None:
    found = cl100k.explain("it's 1\u00e9")
    assert [one.piece for one in found] == cl100k.split("it's 1\u00e9")
    assert [one.source for one in found[:2]] == [r"[^\r\n\p{L}\p{N}]?+\p{L}++", "'(?i:[sdmt]|ll|ve|re)"]
    assert [one.alternative for one in found[:2]] == [1, 0]
    assert {one.step for one in found} == {0}
    in_bytes = cl100k.explain("it's 1\u00e9".encode() + b"\xff")
    assert [(one.start, one.end, one.piece) for one in in_bytes][-2:] == [(6, 8, "\u00e9".encode()), (8, 9, b"\xff")]


def test_what_was_compiled_once_is_compiled_again_without_limits() -> None:
    long = bitlex.compile("(?#" + "x" * 200_001 + ")a|.", limits=bitlex.Limits(characters=10**6))
    assert [found.source[-1] for found in long.explain("ab")] == ["a", "."]
    assert bitlex.same(long, "a|.")


def test_explain_tells_steps_apart_and_shows_gaps(tier: str) -> None:
    digits = {"type": "Digits", "individual_digits": True}
    words = {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": False}
    lexer = bitlex.compile({"type": "Sequence", "pretokenizers": [digits, words]})
    found = lexer.explain("1ab!")
    assert [(one.piece, one.step, one.source) for one in found] == [("1", 0, r"\p{N}"), ("ab", 1, "[a-z]+"), ("!", 1, "")]
    assert found[-1].alternative is None
    assert lexer.pattern == "Digits(individual=True, unicode='17.0') then Split(regex='[a-z]+')"


DIGITS = {"type": "Digits", "individual_digits": True}
DROPPING = [
    {"type": "WhitespaceSplit"}, {"type": "Whitespace"},
    *({"type": "Split", "pattern": {"Regex": one}, "behavior": "Removed", "invert": invert} for one in (r"\s", "[a-z]+") for invert in (False, True)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DROPPING)))
def test_explain_has_the_pieces_of_split(number: int) -> None:
    """Also where a step drops all that it matches, in front of another and behind one."""
    for steps in ([DROPPING[number]], [DIGITS, DROPPING[number]], [DROPPING[number], DIGITS], [DROPPING[number], {"type": "Punctuation"}, DROPPING[0]]):
        lexer = bitlex.compile({"type": "Sequence", "pretokenizers": steps})
        for text in tuples("a1 !", 4):
            found = lexer.explain(text)
            assert [one.piece for one in found] == lexer.split(text)
            assert all(text[one.start : one.end] == one.piece for one in found)


@pytest.mark.parametrize("name", bitlex.families())
def test_a_family_is_compiled_again_from_what_it_says(name: str) -> None:
    lexer = bitlex.lexer(name)
    lexer.pattern.encode()  # no surrogates, which stood for what is behind the BMP
    assert [Step(**step) for step in lexer.steps] == list(family(name).steps)  # type: ignore[arg-type, union-attr]
    if name not in ("bytelevel_prefix", "falcon"):
        text = "it's 12 \U00010400\U0001f642 \u4e2d!\n"
        assert [one.piece for one in lexer.explain(text)] == lexer.split(text)


def test_families_and_aliases(tier: str) -> None:
    known = bitlex.families()
    assert "cl100k_base" in known["cl100k"]
    assert bitlex.lexer("cl100k") is bitlex.lexer("cl100k_base") is bitlex.lexer("CL100K-base")
    known.clear()
    assert bitlex.families()
    with pytest.raises(ValueError, match="no family 'cl100'; did you mean cl100k"):
        bitlex.lexer("cl100")
    with pytest.raises(ValueError, match="no family 'zzzzzz'; there are gpt2, "):
        bitlex.lexer("zzzzzz")
    with pytest.raises(TypeError, match="expected the name of a family, got int"):
        bitlex.lexer(3)  # type: ignore[arg-type]
    from bitlex.generated import cl100k  # type: ignore[attr-defined]

    assert cl100k is bitlex.lexer("cl100k")


def test_properties(cl100k: bitlex.Lexer, tier: str) -> None:
    assert (cl100k.name, cl100k.dialect, cl100k.unicode) == ("cl100k", "fancy", "16.0")
    assert cl100k.pattern.startswith("'(?i:[sdmt]|ll|ve|re)|")
    assert cl100k.steps == ({"kind": "Split", "regex": cl100k.pattern},)
    assert "tiktoken" in cl100k.reference
    assert cl100k.source.startswith("https://")
    assert 2 < cl100k.cells <= 255
    assert all(backward > 0 and forward > 0 for backward, forward in cl100k.states)
    assert repr(cl100k) == f"<bitlex.Lexer cl100k: fancy, Unicode 16.0, {tier}>"
    cl100k.steps[0]["regex"] = "changed"
    assert cl100k.steps[0]["regex"] == cl100k.pattern != "changed"
    for name in ("name", "tier", "other"):
        with pytest.raises(AttributeError):
            setattr(cl100k, name, "changed")


def test_a_compiled_pattern_equals_its_family(cl100k: bitlex.Lexer, tier: str) -> None:
    mine = bitlex.compile(cl100k.pattern, name="mine")
    assert (mine.name, mine.tier, mine.reference, mine.source) == ("mine", tier, "", "")
    assert (mine.cells, mine.states, mine.steps) == (cl100k.cells, cl100k.states, cl100k.steps)
    assert mine.split(MIXED) == cl100k.split(MIXED)


def test_what_a_pattern_leaves_unmatched(tier: str) -> None:
    assert bitlex.compile("[a-z]+").split("ab, cd") == ["ab", ", ", "cd"]
    assert bitlex.compile("[a-z]+", behavior="removed", invert=True).split("ab, cd") == ["ab", "cd"]  # what tiktoken does
    assert bitlex.compile("[a-z]+", behavior="removed").split("ab, cd") == [", "]
    assert bitlex.compile("-", behavior="merged_with_previous").split("a-b") == ["a-", "b"]


def test_pre_tokenizer_objects(tier: str) -> None:
    whole = bitlex.compile(None)
    assert (whole.split("a b"), whole.dialect, whole.pattern) == (["a b"], "oniguruma", "the whole text")
    level = bitlex.compile({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True})
    assert level.split("it's me") == ["it", "'s", " me"]
    assert bitlex.compile(SPACES, dialect="fancy").dialect == "fancy"
    for extra in ({"behavior": "removed"}, {"invert": False}):
        with pytest.raises(TypeError, match="go with a regular expression"):
            bitlex.compile(SPACES, **extra)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="'Metaspace' is not supported"):
        bitlex.compile({"type": "Metaspace"})


def test_unicode_versions_differ() -> None:
    letter = "\U00010d50"  # GARAY SMALL LETTER A, of Unicode 16.0
    assert bitlex.compile(r"\p{L}+", unicode="16.0").split(f"{letter}a") == [f"{letter}a"]
    assert bitlex.compile(r"\p{L}+", unicode="15.1").split(f"{letter}a") == [letter, "a"]


def test_patterns_that_are_refused() -> None:
    with pytest.raises(bitlex.PatternError) as caught:
        bitlex.compile(r"(a+)\1")
    assert isinstance(caught.value, ValueError)
    assert r"(a+)\1" in str(caught.value)
    assert "^" in str(caught.value)
    with pytest.raises(bitlex.LimitError, match="Limits"):
        bitlex.compile("(?:a{1,90}){1,90}", limits=bitlex.Limits(instructions=100))
    for arguments in ({"unicode": "1.0"}, {"dialect": "perl"}, {"behavior": "kept"}):
        with pytest.raises(ValueError, match=next(iter(arguments.values()))):
            bitlex.compile("a", **arguments)  # type: ignore[call-overload]
    for pattern in (3, b"a", ["a"]):
        with pytest.raises(TypeError, match=f"^pattern: expected a str, a pre_tokenizer object or None, got {type(pattern).__name__}$"):
            bitlex.compile(pattern)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^limits: expected bitlex.Limits or None, got int$"):
        bitlex.compile("a", limits=5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^unicode: expected a str such as '16\.0', got float$"):
        bitlex.compile("a", unicode=16.0)  # type: ignore[call-overload]


def test_pickles_and_copies(cl100k: bitlex.Lexer, tier: str) -> None:
    assert pickle.loads(pickle.dumps(cl100k)) is copy.deepcopy(cl100k) is cl100k
    assert len(pickle.dumps(cl100k)) < 100
    mine = bitlex.compile(r"\w+|\s", name="mine")
    for again in (pickle.loads(pickle.dumps(mine)), copy.deepcopy(mine), copy.copy(mine)):
        assert (repr(again), again.steps, again.states) == (repr(mine), mine.steps, mine.states)
        assert again.split(MIXED) == mine.split(MIXED)
        assert again.explain("a b") == mine.explain("a b")
        assert weakref.ref(again)() is again


def test_threads_share_a_lexer(cl100k: bitlex.Lexer) -> None:
    texts = [MIXED.encode("utf-8", "replace") * n + b"\xff" * n for n in range(1, 9)]
    expected = [cl100k.split(text) for text in texts]
    found: dict[int, list[list[bytes]]] = {}

    def work(number: int) -> None:
        found[number] = [cl100k.split(text) for text in texts for _ in range(3)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number] == [one for one in expected for _ in range(3)] for number in range(4))


def test_importing_loads_neither_numpy_nor_the_generator() -> None:
    program = (  # from Python 3.14 on, argparse itself takes some of them
        "import argparse, sys; argparse.ArgumentParser(); theirs = set(sys.modules)\n"
        "import bitlex; bitlex.lexer('cl100k').split('a b'); bitlex.families(); import bitlex.cli; bitlex.cli.parser()\n"
        "print([m for m in sys.modules.keys() - theirs if m.startswith(('numpy', 'jinja2', 'bitlex.generator', 'dataclasses', 'inspect'))\n"
        "       and not m.startswith('bitlex.generated')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_names() -> None:
    assert set(bitlex.__all__) <= set(dir(bitlex))
    assert all(getattr(bitlex, name) is not None for name in bitlex.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bitlex.nothing
