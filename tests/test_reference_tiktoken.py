"""tiktoken itself: families, sets of all code points, and each value that dialects.py has for fancy-regex.

tiktoken shows no boundaries; a vocabulary that holds every piece does (see oracle.py). Unmatched text it drops, which in our terms is
behavior "removed", inverted; empty matches it does not survive. BITLEX_ALL=1 tries every code point in every context (minutes);
by default these are the first and last code point of every run of every cell, and 20,000 more (see texts.py).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest

from engines import fastest
from generator import LimitError, PatternError, Program, compile_family, compile_pattern, families
from generator.codeset import CodeSet
from generator.dialects import DIALECTS, dialect
from generator.pin_unicode import BINARY
from generator.properties import load
from generator.resolve import resolve
from generator.syntax import parse
from generator.tree import Chars
from oracle import BYTES, Tiktoken, encoding, tiktoken_agrees
from texts import (
    EVERY,
    SCALARS,
    TORTURE,
    at_the_ends,
    code_points,
    edges,
    in_contexts,
    points_of,
    random_texts,
    representatives,
    tuples,
)

FANCY = [name for name, one in families().items() if one.dialect == "fancy"]


def cut(program: Program, texts: Sequence[str]) -> None:
    pattern = program.plans[0].pattern
    engine, reference = fastest(program), Tiktoken(pattern, texts)
    for text in texts:
        assert [text[a:b] for a, b in engine(text)] == reference(text), text


@pytest.mark.parametrize("name", FANCY)
def test_families(name: str) -> None:
    program = compile_family(families()[name])
    cut(program, list(tuples(representatives(program.cells, surrogates=False), 3)))


@pytest.mark.parametrize("name", FANCY)
def test_longer_texts(name: str) -> None:
    program = compile_family(families()[name])
    alphabet = representatives(program.raw, surrogates=False)
    cut(program, [*TORTURE, *random_texts(alphabet, 500, seed=2)])


@pytest.mark.parametrize("name", FANCY)
def test_code_points_in_contexts(name: str) -> None:
    program = compile_family(families()[name])
    engine, pattern = fastest(program), program.plans[0].pattern
    for text in in_contexts(code_points(program.raw, name)):
        pieces = [text[a:b] for a, b in engine(text)]
        wrong = tiktoken_agrees(pattern, text, pieces)
        assert wrong is None, pieces[wrong - 2 : wrong + 3]


@pytest.mark.parametrize("name", FANCY)
def test_code_points_at_the_ends_of_a_text(name: str) -> None:
    program = compile_family(families()[name])
    cut(program, list(at_the_ends([chr(c) for c in sorted(edges(program.raw))])))


# --- where tiktoken does something else: these hold as long as docs/proof.md says so ----------------------------------------------------------


@pytest.mark.parametrize("name", FANCY)
def test_surrogates(name: str) -> None:
    """tiktoken reads a lone one as U+FFFD, which moves no boundary, and a pair as the character it stands for, which can."""
    program = compile_family(families()[name])
    texts = [text for text in tuples(("\ud800", "a", "A", "1", " ", "\n", "'", "."), 4) if "\ud800" in text]
    pattern, replaced = program.plans[0].pattern, [text.replace("\ud800", "\ufffd") for text in texts]
    engine, reference = fastest(program), Tiktoken(pattern, [*replaced, "\U0001d400x"])
    for text, shown in zip(texts, replaced, strict=True):
        assert [shown[a:b] for a, b in engine(text)] == reference(text), ascii(text)
    assert reference("\ud835\udc00x") == ["\U0001d400x"]
    assert engine("\ud835\udc00x") == [(0, 2), (2, 3)]


@pytest.mark.parametrize("name", FANCY)
def test_a_million_spaces(name: str) -> None:
    """fancy-regex gives up after a million steps back."""
    program = compile_family(families()[name])
    engine, pattern = fastest(program), program.plans[0].pattern
    for spaces in (999_998, 999_999):
        text = " " * spaces + "x"
        pieces = [text[a:b] for a, b in engine(text)]
        assert pieces == [" " * (spaces - 1), " x"]
        if spaces == 999_998:
            assert tiktoken_agrees(pattern, text, pieces) is None
        else:
            with pytest.raises(BaseException, match="StackOverflow"):  # a panic, which is no Exception
                tiktoken_agrees(pattern, text, pieces)


# --- patterns -------------------------------------------------------------------------------------------------------------------------------

PATTERNS = (
    "a+", "a+?b", "a++", "a|ab", "(?>a|ab)c", "(?>ab|a)b", "a*+b", "(?:a|b)*+1", "a{2,3}", "a{,2}b", "a{2}+", "a{1,2}+", "a(?=b)", "a(?=a*b)", "a(?!a*b)", "(?<=a)b",
    "(?<!a)b", r"\ba", r"a\b", r"a\B", "^a", "a$", "(?m)^a", "(?m:a$)", r"\Aa", r"a\z", r"a\Z", r"\Ga", r"(?!\G)[ab]", "a(?:|b)*1", "(?:a*)*b", "(?:a|b*)*1",
    "(?:(?=a).|b)+", "(?i:[a-b])+", "[a-c&&[^b]]", "[a[b1]]+", "[a-c--b]+", "[a~~b]+", "a{,}b", "a{,}+b", r"\<a", r"a\>", r"(\<a|1)+", r"\<?b",
    "b(?:1||a)+", "b(?:a*?|1)+", "(?:b(?:1||a)+)+", "b(?:1||a){2,}", "b(?:1||a)*\n|b", "b(?:1||a)*?\n|b", "b(?:|a)*", "b(?:|a)+", "^b(?:1||a)+", "b(?:(?:a||1)*|b)+",
    "b(?:(?:1|)+|a)+\n?", "(?:a(?:(?:b||1)+|\n)*)+1", "a(?:b?1?|(?:1|)\n)*", r"\h+", "(?s:.)+", ".+", r"[^\n]+\n?", "(?:a{1,2}){2}", "(?:a??)*?b", r"[a\n]+?\Z",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: str) -> None:
    cut(compile_pattern(pattern, behavior="removed", invert=True), list(tuples("ab1\n", 5)))


# --- sets: all code points ------------------------------------------------------------------------------------------------------------------


def ours(pattern: str) -> CodeSet:
    tree = resolve(parse(pattern, dialect("fancy")), load("16.0"), dialect("fancy"), pattern)
    assert isinstance(tree, Chars)
    return tree.points & SCALARS


def theirs(pattern: str) -> CodeSet:
    made = encoding(pattern, BYTES)
    return points_of(made.decode_bytes(made.encode_ordinary(EVERY)).decode())


CLASSES = (
    r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"[\w]", r"[\W]", r"\h", r"\H", r"[\h]", ".", "(?s:.)", *(f"[[:{n}:]]" for n in (
        "alpha", "alnum", "digit", "space", "blank", "cntrl", "graph", "print", "punct", "xdigit", "word", "^alpha", "^punct")), "[^[:punct:]]",
    *(rf"\p{{{n}}}" for n in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "LC", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Punct", "S", "Z", "C", "Cn", "Co",
                              "Any", "Han", "Latin", "Greek", "Common", "Script=Han", "sc=Han", "gc=Lu", "Alphabetic", "White_Space", "^L")), r"\P{L}", r"\pL",
    r"(?i:\p{Lu})", r"(?i:\p{Lt})", r"(?i:\P{Lu})", r"(?i:[^\p{Lu}])", r"(?i:[\P{Lu}a])", r"(?i:\w)", "(?i:s)", "(?i:k)", "(?i:i)", "(?i:[a-z])", "(?i:[^a-z])", "(?i:[[^k]])",
    "(?i:[a&&A])", "(?i:\u01c6)", "(?i:\u00df)", "(?i:\u00b5)", "(?i:\u0130)", "[a-z&&[^aeiou]]", "[^a-z&&[^aeiou]]", "[a[bc]d]", r"[\p{L}--[a-z]]", r"[\p{L}&&\p{Lu}]",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[^\s\p{L}\p{N}]", r"[^\r\n\p{L}\p{N}]", "[]a]", "[a-]", "[-a]", "[]-k]", "[^]-k]", "[--a]", "[^--a]", "[---]", "[--/]", "[--]", "[]~~a]", "[a--]", "[^a&&]", "[^&&a]", "[^&&]", r"[\w~~\d]", r"[\w~~\d~~a]",
    r"[a-c~~[b-d]]", "[[:upper:]]", "[[:^lower:]]", "[[:ascii:]]", "(?i:[[:alpha:]])", "(?i:[[:^alpha:]])", "(?i:[^[:alpha:]])", "(?i:[[:word:]])", "(?i:[[:upper:]])",
    "(?i:[[:^upper:]1])", "(?i:[a-k~~[:lower:]])", r"\x{41}", r"\u0041", r"\U00000041", "\\\u00b2", "[\\\u0662]",
    *(rf"\p{{{n}}}" for n in BINARY), *(rf"(?i:\p{{{n}}})" for n in BINARY), r"\p{Upper}", r"\P{ID_Start}", r"\p{Extended_Pictographic}", "[[:upper:]]", "[[:^lower:]]", "(?i:[[:upper:]])",
    r"(?i:[^\p{Lowercase}])", r"(?i:[\P{Uppercase}a])", r"[\p{ID_Continue}--\p{Han}]",
)  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_sets_of_all_code_points(pattern: str) -> None:
    assert ours(pattern) == theirs(pattern)


# --- the dialect, value by value ------------------------------------------------------------------------------------------------------------

WITNESSES = {
    "counted_empty": ("(?:a|b*){2}c", "xaabc"), "passes_empty": ("b(?:c||a)+", "bcac"),
    "possessive_counts": ("a{1,2}+a", "xaaaaax"), "class_sets": ("[a[b]]+", "ab]x"), "class_difference": ("[a-c--b]+", "abc-"), "bare_property": (r"\pL", "pLxp"),
    "lazy_exact": ("a{2}?", "xaab"), "bare_count": ("a{,}b", "xaab a{,}b"), "caret": ("^a", "a\na\n"), "dollar": ("a$", "a\na\n"), "capital_z": (r"a\Z", "ba\n", "ba\n\n"),
    "word_edges": (r"\<a|a\>", "aa aa"), "class_leading": ("[]-k]", "ab"), "class_ends": ("[+--]", "+,-"), "braced": (r"\x{41}|\u{42}", "AB"), "fold_starts": (r"(?i:t)a|\P{L}", "\u0345\u0345"),
    "h": (r"\h", "af\t "), "multiline_flag": ("(?m:^.)", "a\n\nb"), "dotall_flag": ("(?s:.)", "\n"), "posix": ("[[:alpha:]]", "a\u00e9"),
    "word_joiners": (r"\w", "a\u200c\u200d"), "word_latin1_numbers": (r"\w", "a\u00b2\u00bd"), "fold_properties": (r"(?i:\p{Lu})", "aA\u0131\u0138"), "fold_escaped": (r"(?i:\é)", "\u00e9\u00c9"), "fold_dots": ("(?i:i)", "iI\u0130\u0131"),
    "fold_members": ("(?i:[a&&A])", "aA"), "fold_strings": ("(?i:ss)", "\u00dfss"), "empty": (r"a|(?=b)|\Gc", "abc"),
    "hex_code_points": (r"\xE9", "\u00e9"), "long_escape": (r"\U00000041", "A"), "property_values": (r"\p{gc=Lu}", "aA"), "unknown": (r"\ea|\H", "\x1baz"), "unicode_flag": ("(?u:a)", "a"),
    "group_names": ("(?P<a>x)(?<b>y)(?'c'z)", "xyz"), "unrepeated": ("(?:^|b)*a", "ba"),
}  # fmt: skip
OTHERS: dict[str, tuple[object, ...]] = {
    "caret": ("line",), "dollar": ("final", "line"), "capital_z": ("end", "final"), "h": ("horizontal",), "multiline_flag": ("dot",), "fold_properties": ("same", "cased"),
    "posix": ("unicode", "compatible"), "unknown": ("e", "H"), "group_names": (("(?P<", "(?<"), ("(?P<", "(?'"), ("(?<", "(?'")), "unrepeated": (("branches", "anchor"),), "empty": ("retry",), "class_ends": ((), ("&&",)), "braced": ("", "x", "u"),
}  # fmt: skip
# What is refused is below, what is refused here alone in test_patterns.py, what is taken out in test_lifted.py, what is joined in test_optimized.py.
ELSEWHERE = {"name", "refuses", "surrogates", "flag_groups", "stacks", "lifts", "optimizes", "largest_count", "missing"}


def test_every_value_of_the_dialect_has_a_witness() -> None:
    assert {field.name for field in dataclasses.fields(DIALECTS["fancy"])} == set(WITNESSES) | ELSEWHERE


@pytest.mark.parametrize("field", WITNESSES)
def test_the_dialect_value_by_value(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, *texts = WITNESSES[field]
    rules = DIALECTS["fancy"]

    def pieces() -> object:
        try:
            engine = fastest(compile_pattern(pattern, behavior="removed", invert=True))
        except PatternError as error:
            return error.reason
        return [[text[a:b] for a, b in engine(text)] for text in texts]

    reference = Tiktoken(pattern, texts)
    assert pieces() == [reference(text) for text in texts]
    for other in OTHERS.get(field, (not getattr(rules, field),)):
        monkeypatch.setitem(DIALECTS, "fancy", dataclasses.replace(rules, **{field: other}))  # type: ignore[arg-type]
        assert pieces() != [reference(text) for text in texts], f"{field}={other!r} would go unnoticed"


# --- what is refused ------------------------------------------------------------------------------------------------------------------------

REFUSED = ("\\x\u0662\u0662", "\\x{\u0662}", "\\u\u0660\u0660\u0666\u0661", "a(?=a)*", "(?<!a){0}b", r"a\G{2}", "(?:)*a", "(?i:(?!a))?b", "(?:(?:(?=a)))+a", r"[\S-a]", r"[\p{L}-\d]", r"[\w-&&a]", r"\uD83D\uDE00", r"\x{DFFF}", "a{99999999999}", "a{1,4294967296}")
REPEATED = ("^*a", "(?:^|b)*a", "()*a", "((?=a))*a", "(?:(?=a)(?=ab))*a", "(?:(?=a)|(?=b))*b", "(?>(?=a))+a", "[[:^^alpha:]]+", r"[\S-]+", r"[!-&&a]+", "a{1,0000000003}", "a{00000000002,}b")


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_the_engine_refuses(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"Error compiling regex|Parsing error"):
        encoding(pattern, BYTES)
    with pytest.raises(PatternError):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", REPEATED)
def test_what_it_takes_that_looks_alike(pattern: str) -> None:
    cut(compile_pattern(pattern, behavior="removed", invert=True), [*tuples("ab1", 4), *random_texts("ab[]:^-&!", 100, seed=4)])


def test_loops_over_what_may_be_empty() -> None:
    """Those that are taken are read as the engine reads them, which comes by what one iteration left out before the next, or after it."""
    source, texts = random.Random(1), ["c" + text for text in tuples("ab", 5)]

    def body(depth: int) -> str:
        if depth == 2 or source.random() < 0.5:
            return source.choice(("a", "b", "a?", "b?", "a??", "b??", "a*", "b*?", "a+?", "b+", "[ab]?"))
        branches = ("".join(body(depth + 1) for _ in range(source.randint(0, 2))) for _ in range(source.randint(1, 3)))
        return "(?:" + "|".join(branches) + ")" + source.choice(("", "?", "??", "*", "+"))

    taken = refused = 0
    for _ in range(150):
        pattern = f"c(?:{body(0)}{body(0)}){source.choice('+*')}"
        try:
            engine = fastest(compile_pattern(pattern, behavior="removed", invert=True))
        except PatternError:
            refused += 1
            continue
        reference = Tiktoken(pattern, texts)
        assert [[text[a:b] for a, b in engine(text)] for text in texts] == [reference(text) for text in texts], pattern
        taken += 1
    assert taken > 50 and refused > 20, (taken, refused)


def test_the_largest_count() -> None:
    """One that is too large to be read is refused for another reason than one that is too large a lexer."""
    with pytest.raises(ValueError, match="error building NFA"):
        encoding("a{4294967295}", BYTES)
    with pytest.raises(LimitError):
        compile_pattern("a{4294967295}")
    with pytest.raises(ValueError, match="error parsing pattern"):
        encoding("a{4294967296}", BYTES)


def test_counts_that_are_text_again() -> None:
    """From where they are no numbers to it: we read none of these."""
    assert Tiktoken("a{18446744073709551616}|b", ["a{18446744073709551616}"])("a{18446744073709551616}") == ["a{18446744073709551616}"]
    with pytest.raises(PatternError, match="takes no count above"):
        compile_pattern("a{18446744073709551616}|b")


@pytest.mark.parametrize("name", DIALECTS["fancy"].missing)
def test_properties_that_there_are_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = DIALECTS["fancy"]
    patterns = [rf"\p{{{name}}}", rf"[^a\P{{{name.upper()}}}]", *(rf"\p{{{kind}={name}}}" for kind in ("gc" if name == "surrogate" else "sc",) if "=" not in name)]
    for pattern in patterns:
        with pytest.raises(ValueError, match="Error compiling regex"):
            encoding(pattern, BYTES)
        with pytest.raises(PatternError, match="this engine knows no property"):
            compile_pattern(pattern, dialect="fancy")
    monkeypatch.setitem(DIALECTS, "fancy", dataclasses.replace(rules, missing=()))
    for pattern in patterns:
        assert compile_pattern(pattern, dialect="fancy")
