"""Hugging Face tokenizers itself: families, patterns under every behavior, sets, and each value that dialects.py has for Oniguruma.

BITLEX_ALL=1 tries every code point in every context and at the ends of a text, and longer tuples (about 40 minutes in all); by default
these are the first and last code point of every run of every cell, and 20,000 more in the contexts (see texts.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from engines import fastest
from generator import LimitError, PatternError, Program, Step, compile_family, compile_pattern, compile_steps, families
from generator.codeset import CodeSet
from generator.dialects import DIALECTS, dialect
from generator.families import byte_level_regex
from generator.pin_unicode import BINARY
from generator.properties import load
from generator.resolve import resolve
from generator.syntax import parse
from generator.tree import Chars
from oracle import BEHAVIORS, Module, Span, Tokenizers, byte_level
from texts import (
    EVERY,
    SCALARS,
    THOROUGH,
    TORTURE,
    at_the_ends,
    code_points,
    edges,
    in_contexts,
    random_texts,
    representatives,
    tuples,
)

ONIGURUMA = [name for name, one in families().items() if one.dialect == "oniguruma"]


# --- families ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONIGURUMA)
def test_families(name: str) -> None:
    program = compile_family(families()[name])
    engine, reference = fastest(program), Tokenizers(program.steps)
    alphabet = representatives(program.cells, surrogates=False)
    for text in [*TORTURE, *tuples(alphabet, 3), *random_texts(alphabet, 300, seed=1)]:
        assert engine(text) == reference(text), text


@pytest.mark.parametrize("name", ONIGURUMA)
def test_code_points_in_contexts(name: str) -> None:
    program = compile_family(families()[name])
    assert difference(program, code_points(program.raw, name)) is None


def difference(program: Program, chosen: Sequence[str]) -> tuple[str, list[Span], list[Span]] | None:
    """Where the first long text is cut differently, with the pieces that only we and only the engine have there."""
    engine, reference = fastest(program), Tokenizers(program.steps)
    for text in in_contexts(chosen):
        ours, theirs = engine(text), reference(text)
        if ours != theirs:
            only, missing = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
            at = min(only + missing)[0]
            return text[max(at - 10, 0) : at + 10], only[:3], missing[:3]
    return None


@pytest.mark.parametrize("name", ONIGURUMA)
def test_code_points_at_the_ends_of_a_text(name: str) -> None:
    program = compile_family(families()[name])
    engine, reference = fastest(program), Tokenizers(program.steps)
    chosen = EVERY if THOROUGH else [chr(c) for c in sorted(edges(program.raw))]
    for text in at_the_ends(chosen):
        assert engine(text) == reference(text), text


@pytest.mark.parametrize("version", ["15.1", "17.0"])
@pytest.mark.parametrize("name", ["qwen2", "tekken", "deepseek_coder"])
def test_another_unicode_version_would_be_noticed(name: str, version: str) -> None:
    program = compile_family(dataclasses.replace(families()[name], unicode=version))
    assert difference(program, [chr(c) for c in sorted(edges(program.raw))])


# --- patterns -----------------------------------------------------------------------------------------------------------------------------

PATTERNS = (
    "a", "a+", "a+?", "a++", "(?:ab)+", "a|ab", "ab|a", "(?>a|ab)c", "(?>ab|a)b", "(?>a*)b", "a*+b?", "(?:a|b)*+b", "a{2}", "a{2,3}", "a{,2}b", "a{2,}?",
    "(?:a{1,2}){2}", "(?:a?){3}b", "a*", "a*?", "(?=a)", "(?=(?:aa)+b)", "(?!a)", "a(?=b)", "a(?!b)", "a(?=a*b)", "a(?!a*b)", "(?<=a)b", "(?<!a)b", "(?<=a)",
    r"\b", r"\B", r"\ba", r"a\b", "^", "$", "^a", "a$", r"\A", r"\z", r"\Z", r"\Aa", r"a\z", r"a\Z", r"\Ga", r"(?!\G)a", "^a+$", "(?i:a)", "(?i:[a-b])",
    "[a-c&&[^b]]", "[a[b1]]", "[^a[b]]", "[[:alpha:]]", "[[:^alpha:]]", r"\h", r"\h+", r"\H", "(?m:.)", ".", ".+", "a|", "|a", "(?:|a)+", "(?:a|)*", "(a*)*",
    "(a*)+", "(a|b*)*", "(?:a??)*b", "(?:a*?b?)*", "", "(?:)", "a.b", r"\n", "\n+(?!\n)", r"a\n?", "a(?:b(?:a|b)+|1)?", "(?:a|b|ab)+?1",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_under_every_behavior(pattern: str) -> None:
    texts = list(tuples("ab1\n", 4))
    for behavior in BEHAVIORS:
        for invert in (False, True):
            step = Step("Split", regex=pattern, behavior=behavior, invert=invert)  # type: ignore[arg-type]
            program = compile_steps((step,), "oniguruma", "16.0")
            engine, reference, definition = fastest(program), Tokenizers(program.steps), Module(program.plans)
            for text in texts:
                assert engine(text) == reference(text) == definition(text), (behavior, invert, text)


REGEXES = {step.regex: f"{name}-{number}" for name, one in families().items() for number, step in enumerate(one.steps, 1) if step.regex is not None}
REGEXES[byte_level_regex()] = "ByteLevel"


@pytest.mark.parametrize("pattern", REGEXES, ids=REGEXES.get)
def test_regexes_of_the_catalogue_under_every_behavior(pattern: str) -> None:
    """Also those of families that tiktoken reads: as Oniguruma reads them they may be other lexers, and must be the right ones."""
    for behavior in BEHAVIORS:
        for invert in (False, True):
            program = compile_steps((Step("Split", regex=pattern, behavior=behavior, invert=invert),), "oniguruma", "16.0")  # type: ignore[arg-type]
            engine, reference = fastest(program), Tokenizers(program.steps)
            alphabet = representatives(program.raw, surrogates=False)
            longest, most = (3, 100_000) if THOROUGH else (2, 1_000)
            while len(alphabet) ** (longest + 1) <= most:
                longest += 1
            for text in [*TORTURE, *tuples(alphabet, longest), *random_texts(alphabet, 100, seed=3)]:
                assert engine(text) == reference(text), (behavior, invert, text)


STEPS = (
    (Step("Split", string="a.b", behavior="isolated"),), (Step("Split", string="", behavior="isolated"),), (Step("Split", string="a", behavior="merged_with_previous"),),
    (Step("Digits", individual=True, unicode="17.0"),), (Step("Digits", individual=False, unicode="17.0"),), (Step("Whitespace"),), (Step("WhitespaceSplit"),),
    *((Step("Punctuation", behavior=behavior),) for behavior in BEHAVIORS),  # type: ignore[arg-type]
    (Step("ByteLevel", add_prefix_space=True, use_regex=True),), (Step("ByteLevel", add_prefix_space=True, use_regex=False),),
    (Step("Digits", individual=True, unicode="17.0"), Step("ByteLevel", add_prefix_space=True, use_regex=True)),
    (Step("WhitespaceSplit"), Step("Punctuation")), (Step("Whitespace"), Step("Split", regex="^.|a$", behavior="isolated")),
    (Step("Split", regex="a", behavior="removed"), Step("Split", regex=r"\Gb|b$", behavior="isolated"), Step("Split", regex="(?<!b)1", behavior="removed")),
    (Step("Punctuation", behavior="contiguous"), Step("ByteLevel"), Step("Digits", unicode="17.0")),
    (Step("WhitespaceSplit"), Step("ByteLevel"), Step("Split", regex="\u00b2|\u00c2", behavior="removed")),
    (Step("ByteLevel", use_regex=False), Step("Split", string="")), (Step("ByteLevel", use_regex=False), Step("Split", regex="()|(?:)")),
)  # fmt: skip


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "+".join(step.kind for step in steps))
def test_other_steps(steps: tuple[Step, ...]) -> None:
    program = compile_steps(steps, "oniguruma", "16.0")
    reference = Tokenizers(steps)
    if reference.bytewise and any(step.behavior == "removed" or step.kind == "WhitespaceSplit" for step in steps):
        # Byte counts of the pieces do not say where dropped text was; the pieces themselves do.
        engine = fastest(program)
        for text in tuples("a\u00b2\u0132 1", 4):
            shown = byte_level(text)
            assert [shown[a:b] for a, b in engine(text)] == [piece for piece, _ in reference.made.pre_tokenize_str(text)], text
        return
    engine = fastest(program)
    for text in [*TORTURE, *tuples("ab1 .\u0661\u00b2_\n", 4)]:
        assert engine(text) == reference(text), text


# --- sets: all code points ------------------------------------------------------------------------------------------------------------------


def ours(pattern: str, name: str = "oniguruma", unicode: str = "16.0") -> CodeSet:
    tree = resolve(parse(pattern, dialect(name)), load(unicode), dialect(name), pattern)
    assert isinstance(tree, Chars)
    return tree.points & SCALARS


def theirs(pattern: str) -> CodeSet:
    """By what Split calls: of Split itself, most of the time goes into offsets, for which nobody asks here."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    regex, part = tokenizers.Regex(pattern), 16_384  # all at once take twice as long
    gaps = (str(gap) for at in range(0, len(EVERY), part) for gap in tokenizers.NormalizedString(EVERY[at : at + part]).split(regex, "removed"))
    return SCALARS - CodeSet((ord(gap[0]), ord(gap[-1])) for gap in gaps)


CLASSES = (
    r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"[\w]", r"[\W]", r"[^\w]", r"\h", r"\H", r"[\h]", ".", "(?m:.)", *(f"[[:{n}:]]" for n in (
        "alpha", "alnum", "digit", "space", "blank", "cntrl", "graph", "print", "punct", "xdigit", "word", "^alpha", "^punct")), "[^[:punct:]]",
    *(rf"\p{{{n}}}" for n in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "LC", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Punct", "S", "Z", "C", "Cn", "Co",
                              "Any", "Han", "Hiragana", "Latin", "Greek", "Common", "Alphabetic", "White_Space", "^L")), r"\P{L}", r"\P{^L}",
    r"(?i:\p{Lu})", r"(?i:\p{Lt})", r"(?i:\P{Lu})", r"(?i:[^\p{Lu}])", r"(?i:\w)", "(?i:s)", "(?i:k)", "(?i:i)", "(?i:[a-z])", "(?i:[^a-z])", "(?i:[^k])",
    "(?i:[a&&A])", "(?i:\u01c6)", "(?i:[\u03b1-\u03c9&&[^\u03c5\u03b9\u03c9\u03b7\u03b1\u03c1]])", "(?i:\u00b5)", "(?i:\u13a0)", "[a-z&&[^aeiou]]", "[^a-z&&[^aeiou]]",
    "[a[bc]d]", "[a&&]", "[&&a]", "[^&&]", "[^a&&]", "[[:ascii:]]", "[]-k]", r"[\p{L}&&\p{Lu}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[^(\s|[.,!?\u2026])]", r"[\pL]", r"\U", r"[\U00000041]", r"[\b]", "[]a]", "[a-]", "[-a]", r"[\d-]", r"\x{41}", "\\\u00b2", "[\\\u0662]",
    *(rf"\p{{{n}}}" for n in BINARY), *(rf"(?i:\p{{{n}}})" for n in BINARY), r"\p{Upper}", r"\P{ID_Start}", r"\p{Extended_Pictographic}", "[[:upper:]]", "[[:^lower:]]",
    r"(?i:\P{Uppercase})", r"[\p{ID_Continue}&&[^\p{Han}]]",
)  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_sets_of_all_code_points(pattern: str) -> None:
    assert ours(pattern) == theirs(pattern)


@pytest.mark.parametrize("pattern", ["(?i:ss)", "(?i:s(?:s))", "(?i:(?:s)s)", "(?i:s(?#x)s)", "(?i:ss{1})", "(?i:(?:s{1,1}){1}s)", "(?i:\u00df)", "(?i:[\u00dfx])", r"(?i:[\p{Ll}])", "(?i:[[^k]])", "(?i:st)", "(?i:ffi)"])
def test_strings_that_fold_are_refused(pattern: str) -> None:
    """Oniguruma lets one code point match several letters here, or several one: our lexers would be wrong, so there are none."""
    with pytest.raises(PatternError, match=r"under .* this engine lets U"):
        compile_pattern(pattern, dialect="oniguruma")


@pytest.mark.parametrize("pattern", ["(?i:s{2})", "(?i:s[s])", "(?i:[s][s])", "(?i:s+)", "(?i:s)s", "(?i:(?:a|s)s)", "(?i:ss{1}?)"])
def test_strings_that_do_not_fold(pattern: str) -> None:
    program = compile_pattern(pattern, dialect="oniguruma")
    engine, reference = fastest(program), Tokenizers(program.steps)
    for text in tuples("sS\u00df\u017fx", 3):
        assert engine(text) == reference(text), text


@pytest.mark.parametrize("pattern", ["(?:a*b*){2}", "(?:a|){2,}b", "((?=a)){3}", "(?:(?![ab])(?:[^a]){2}?){2}?"])
def test_counted_repetitions_of_what_can_be_empty_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="may end a counted repetition early"):
        compile_pattern(pattern, dialect="oniguruma")
    assert compile_pattern(pattern, dialect="fancy")


@pytest.mark.parametrize("body", ["a?", "a??", "a*", "a*?", "a*+", "[ab]{0,2}", "[ab]{0,2}?"])
@pytest.mark.parametrize("count", ["{2}", "{3}", "{2,}", "{1,2}", "{0,3}"])
def test_counted_repetitions_of_one_set_are_what_they_say(body: str, count: str) -> None:
    for behind in ("", "b", "[ab]", "(?!b)"):
        program = compile_pattern(f"(?:{body}){count}{behind}", dialect="oniguruma")
        engine, reference = fastest(program), Tokenizers(program.steps)
        for text in tuples("ab1", 5):
            assert engine(text) == reference(text), (behind, text)


def test_why_counted_repetitions_of_what_can_be_empty_are_refused() -> None:
    """Written out, as the pattern reads, the repetition gives other pieces than the engine does."""
    twice = "(?:(?![ab])(?:[^a]){2}?)"
    assert theirs_on(f"{twice}{{2}}?", "\nba") != theirs_on(f"(?:{twice}{twice})?", "\nba")


def theirs_on(pattern: str, text: str) -> list[tuple[int, int]]:
    step = Step("Split", regex=pattern)
    return [(start, end) for start, end in Tokenizers((step,))(text)]


# --- the dialect, value by value -------------------------------------------------------------------------------------------------------------

# For each field of Dialect, a pattern and texts that tokenizers reads as our table says, and as no other value of the field would.
WITNESSES = {
    "passes_empty": ("b(?:c||a)+", "bcac"), "possessive_counts": ("a{1,2}+", "xaaaaax"), "lazy_exact": ("a{2}?", "xab"), "class_sets": ("[a[b]]+", "ab]x"), "class_difference": ("[a~~b]+", "a~b"),
    "bare_property": (r"\pL", "pLxp"), "bare_count": ("a{,}b", "xaab a{,}b"), "caret": ("^", "a\nb\n"), "dollar": ("$", "a\nb\n"),
    "capital_z": (r"a\Z", "ba\n", "ba\n\n"), "word_edges": (r"\<a", "a <a"), "class_leading": ("[]-k]", "ab"), "class_ends": ("[&-&&%-+]", "x%&x"), "braced": (r"\x{41}", "xAx"), "fold_starts": (r"(?i:t)a|\P{L}", "\u0345\u0345"), "h": (r"\h", "af\t "), "multiline_flag": ("(?m:^.)", "a\n\nb"),
    "posix": ("[[:alpha:]]|[[:digit:]]", "\u00e9\u00e9\u0661\u0661"), "word_joiners": (r"\w", "a\u200c\u200d"), "word_latin1_numbers": (r"\w", "a\u00b2\u00bd"),
    "fold_properties": (r"(?i:\p{Lu})", "aa"), "fold_escaped": (r"(?i:\é)a", "x\u00c9a"), "fold_dots": ("(?i:i)", "iI\u0130\u0131"), "fold_members": ("(?i:[a&&A])", "aA"), "empty": (r"\Ga|(?=a)", "xab"),
    "long_escape": (r"\U00000041", "A U00000041"), "surrogates": (r"\x{D83D}|a", "ab"), "unknown": (r"\ea|\H", "\x1baz"), "group_names": ("(?<b>y)(?'c'z)", "xyz"), "flag_groups": ("(?i:(?=a))*a", "xaa"),
    "stacks": ("a{2}{3}", "xaaaaaaa"), "unrepeated": ("(?:)*a", "aab"),
    "lifts": ("[ab]?a|[ab]?b", "ab"), "optimizes": ("a+b?a+", "a ab"),
}  # fmt: skip
OTHERS: dict[str, tuple[object, ...]] = {
    "caret": ("start",), "dollar": ("end", "final"), "capital_z": ("end", "finals"), "h": ("horizontal",), "multiline_flag": ("anchors",), "fold_properties": ("closed", "cased"),
    "posix": ("ascii", "compatible"), "unknown": ("e", "H"), "group_names": (("(?<",), ("(?'",)), "unrepeated": (("nothing",),), "empty": ("advance",), "class_ends": ((), ("-",)), "braced": ("", "u"),
}  # fmt: skip
# See the tests of flags, folding strings and counted repetitions; what is refused is below, and what is refused here alone in test_patterns.py.
ELSEWHERE = {"name", "dotall_flag", "fold_strings", "counted_empty", "hex_code_points", "property_values", "unicode_flag", "largest_count", "missing", "refuses"}


def test_every_value_of_the_dialect_has_a_witness() -> None:
    assert {field.name for field in dataclasses.fields(DIALECTS["oniguruma"])} == set(WITNESSES) | ELSEWHERE


@pytest.mark.parametrize("field", WITNESSES)
def test_the_dialect_value_by_value(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, *texts = WITNESSES[field]
    rules = DIALECTS["oniguruma"]

    def pieces() -> object:
        try:
            engine = fastest(compile_pattern(pattern, dialect="oniguruma"))
        except PatternError as error:
            return error.reason
        return [engine(text) for text in texts]

    reference = Tokenizers((Step("Split", regex=pattern, behavior="isolated"),))
    wanted = [reference(text) for text in texts]
    assert pieces() == wanted
    for other in OTHERS.get(field, (not getattr(rules, field),)):
        monkeypatch.setitem(DIALECTS, "oniguruma", dataclasses.replace(rules, **{field: other}))  # type: ignore[arg-type]
        assert pieces() != wanted, f"{field}={other!r} would go unnoticed"


# --- what is refused -------------------------------------------------------------------------------------------------------------------------

REFUSED = (
    "a(?=a)*", "(?<!a){0,1}?b", "^+", "$?", r"\Aa|\z*", r"\b??a", r"a\G+", "(?:^|a)+", "(?:(?:(?=a)))*a", r"\u{41}", r"\xE9", r"[\xE9]", "(?P<x>a)", "(?u:a)",
    r"\p{gc=Lu}", r"[\S-a]", r"[\p{L}--]", "[[:alpha:]-z]", r"[a\w-\d]", "(?<!(a))b", "(?<!(?<n>a))b", "(?<=(?<!a))b", "(?<=a|(?:(?<!b)))b",
    "[[:^:]]", "a{99999999999}", "a{0,100001}", "a{00100001}", "a{100001x", "a{1,100001x", "{100001",
)  # fmt: skip
TAKEN = (
    "((?=a))*a", "(?<x>^)*a", "(?>(?=a))+a", "(?i:(?=a))*a", "(?:(?=a)(?=ab))*a", "()*a", "[&-&&%-+]+", "[^]&-&&]+", "[[:^^alpha:]]+", r"[\S-]+", r"[\w-&&a]+", "[[b]-a]+", "(?<=(a))b",
    "(?<!(?i:a))b", "(?<!(?<!a))b", "(?<!(?<=a))b", "(?<!a)(?<=b)", "a{1,0000000003}", "a{00000000002,}b", "a{,0000000002}", "a{00001x",
)  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_the_engine_refuses(pattern: str) -> None:
    with pytest.raises(ValueError, match="Oniguruma error"):
        Tokenizers((Step("Split", regex=pattern),))
    with pytest.raises(PatternError):
        compile_pattern(pattern, dialect="oniguruma")


@pytest.mark.parametrize("pattern", TAKEN)
def test_what_it_takes_that_looks_alike(pattern: str) -> None:
    program = compile_pattern(pattern, dialect="oniguruma", behavior="removed")
    engine, reference = fastest(program), Tokenizers(program.steps)
    for text in [*tuples("ab1", 4), *random_texts("ab[]:^-&!%+", 200, seed=4)]:
        assert engine(text) == reference(text), text


def test_the_largest_count() -> None:
    assert theirs_on("a{100000}|b", "ab")
    with pytest.raises(LimitError):
        compile_pattern("a{100000}|b", dialect="oniguruma")


def test_bytes_of_a_character() -> None:
    """Two escapes of the engine that are one character, and that we do not read."""
    assert theirs_on(r"\xC3\xA9", "a\u00e9b") == theirs_on(r"\x{E9}", "a\u00e9b") == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(PatternError, match=r"\\xC3 is a byte of a character"):
        compile_pattern(r"\xC3\xA9", dialect="oniguruma")


def test_flags() -> None:
    with pytest.raises(ValueError, match="undefined group option"):
        Tokenizers((Step("Split", regex="(?s:.)", behavior="isolated"),))
    with pytest.raises(PatternError, match="flag 's' is not supported"):
        compile_pattern("(?s:.)", dialect="oniguruma")


def test_surrogates() -> None:
    """The engine takes none; to us one is a code point like any other."""
    program = compile_family(families()["llama3"])
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        Tokenizers(program.steps)("a\ud800b")
    assert fastest(program)("a\ud800b") == [(0, 1), (1, 3)]


@pytest.mark.parametrize("name", DIALECTS["oniguruma"].missing)
def test_properties_that_there_are_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = DIALECTS["oniguruma"]
    patterns = [rf"\p{{{name}}}", rf"[^a\P{{{name.upper()}}}]"]
    for pattern in patterns:
        with pytest.raises(ValueError, match="Oniguruma error"):
            Tokenizers((Step("Split", regex=pattern),))
        with pytest.raises(PatternError, match="this engine knows no property"):
            compile_pattern(pattern, dialect="oniguruma")
    monkeypatch.setitem(DIALECTS, "oniguruma", dataclasses.replace(rules, missing=()))
    for pattern in patterns:
        assert compile_pattern(pattern, dialect="oniguruma")
