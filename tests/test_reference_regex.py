"""The `regex` module as a reference of its own: the python dialect, on patterns as they are written and with its own Unicode version."""

from __future__ import annotations

import dataclasses

import pytest

from engines import fastest
from generator import LimitError, PatternError, compile_family, compile_pattern, families
from generator.dialects import DIALECTS, dialect
from generator.pin_unicode import BINARY
from generator.properties import load
from generator.resolve import resolve
from generator.syntax import parse
from generator.tree import Chars
from oracle import original, regex
from texts import TORTURE, points_of, random_texts, representatives, tuples

UNICODE = "18.0"  # of regex 2026.11.15
EVERY = "".join(map(chr, range(0x110000)))

PATTERNS = (
    "a+", "a+?b", "a++", "a|ab", "(?>a|ab)c", "(?>ab|a)b", "a*+b", "(?:a|b)*+1", "a{2,3}", "a{,2}b", "a{2}+", "a{1,2}+", "a{2}?", "a(?=b)", "a(?=a*b)", "a(?!a*b)", "(?<=a)b",
    "(?<!a)b", r"\ba", r"a\b", r"a\B", "^a", "a$", "(?m)^a", "(?m:a$)", r"\Aa", r"a\Z", r"\Ga", r"(?!\G)[ab]", "a(?:|b)*1", "(?:a*)*b", "(?:a|b*)*1", "(?:(?=a).|b)+",
    "(?i:[a-b])+", r"\h+", "(?s:.)+", ".+", r"[^\n]+\n?", "(?:a{1,2}){2}", "(?:a??)*?b", r"\p{L}+|[^\p{L}]", "(?P<x>a)b",
    "a{1,0000000003}", "a{00000000002,}b",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_as_they_are_written(pattern: str) -> None:
    program = compile_pattern(pattern, dialect="python", unicode=UNICODE, behavior="removed", invert=True)
    engine = fastest(program)
    for text in [*tuples("ab1\n", 4), *TORTURE, "a\ud800b"]:
        assert engine(text) == original(pattern, text, version=0), text


STARTS = (
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", r"(?i:a)|\P{Lu}", r"(?i:')|\P{Lu}",
    r"(?i:x)?[^\p{Lu}]", "(?i:x)|.", r"(?i:x)|\w+|\W", r"(?i:k)|[^\P{L}b]", r"(?i:\p{Lu}x)|[\p{L}b]+", r"(?=(?i:k))\w|\d|[^a-z]", r"(?=(?i:k))\w|\d|[^a-z1]", r"(?<!x)(?i:k)|\P{L}",
    r"(?!x)(?i:k)|\P{L}", r"(?>(?i:k))|\P{L}", r"(?i:k)*\P{L}", r"(?i:[k-m])|\P{L}", r"\b(?i:k)|\P{L}", r"(?i:k)|\p{Lu}|\P{Lu}", r"(?i:kk)+|\p{Lt}x|\P{Ll}", r"(?i:\p{Lu})+", r"(?i:\u00df)x|[^a]", r"(?i:s)|[^a]b?",
    r"(?i:kk)|[^\s\S]+", r"(?i:k)|[\p{Lu}b\P{Lu}]x", r"(?i:kk)|[^\P{L}]", r"(?i:[^\P{Lu}]k)|[^\p{^L}]", r"(?i:[^\P{Lu}]k)|\P{L}",
    r"(?i:'s|'t)|\P{Lu}+", r"(?i:'s)|\P{Lu}+", r"(?i:')|\P{Lu}+", r"(?i: )a|\P{Lu}+", r"(?i:-)s|\P{L}+", r"(?i:'\w)|\P{L}+", r"(?i:['])s|\P{Lu}+", r"(?i:'-)(?:s)|\P{Lu}+",
    r"(?i:'?s)|\P{Lu}+", r"(?:(?i:')t|(?i:')s)|\P{Lu}+", r"(?i:'(?:s|t))|\P{Lu}+", r"(?i:1s|1t|2)|\P{Lu}+", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\s\p{L}]",
)  # fmt: skip


@pytest.mark.parametrize("pattern", STARTS)
def test_where_a_match_may_start(pattern: str) -> None:
    """Each code point, next to others: where one of the sets that a match may start with is under (?i), some are passed over."""
    program = compile_pattern(pattern, dialect="python", unicode=UNICODE, behavior="removed", invert=True)
    assert fastest(program)(EVERY) == original(pattern, EVERY, version=0)


SETS = (r"\P{L}", r"[^\p{Letter}]", r"\p{Lu}", r"\P{Lu}", r"\d", r"\W", r"[^\w]", "[ak]", "[ka]", r"[^a\P{L}]", "k")
CASED = ("\u0345", "\u03b9", "\u1fbe", "a", "A", "k", "\u212a", "\u01c5", "\u02b0", "\u0301", "1", ".", "A\u0345a")


@pytest.mark.parametrize("first", [f"(?i:{one})+" for one in SETS] + [f"{one}+" for one in SETS])
def test_where_a_match_of_two_sets_may_start(first: str) -> None:
    """Sets that are the same to the module, however they are written, are one, which is read as it is alone; and \\d is under no (?i)."""
    for second in [f"(?i:{one})+" for one in SETS] + [f"{one}+" for one in SETS]:
        pattern = f"{first}|{second}"
        engine = fastest(compile_pattern(pattern, dialect="python", unicode=UNICODE, behavior="removed", invert=True))
        for text in CASED:
            assert engine(text) == original(pattern, text, version=0), (pattern, text)


@pytest.mark.parametrize("name", [name for name, one in families().items() if one.dialect == "fancy"])
def test_families_as_they_are_written(name: str) -> None:
    """On the representatives of the raw cells, where the module's Unicode version agrees with the family's; version 1 for nested sets."""
    program = compile_family(families()[name])
    engine, newer = fastest(program), compile_pattern(program.plans[0].pattern, unicode=UNICODE)
    later = fastest(newer)
    alphabet = [c for c in representatives(program.raw) if all(engine(t) == later(t) for t in (c, "a" + c, c + "a", "1" + c, c + "1", " " + c, c + c))]
    assert len(alphabet) > 0.8 * program.raw.count
    for text in [*tuples(alphabet, 2), *random_texts(alphabet, 500, seed=3)]:
        assert engine(text) == original(program.plans[0].pattern, text), text


CLASSES = (
    r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"[\w]", r"[\W]", r"\h", ".", "(?s:.)", *(f"[[:{n}:]]" for n in (
        "alpha", "alnum", "digit", "space", "blank", "cntrl", "graph", "print", "punct", "xdigit", "word", "^alpha", "^punct")), "[^[:punct:]]",
    *(rf"\p{{{n}}}" for n in ("L", "Lu", "Ll", "Lt", "LC", "M", "N", "Nd", "P", "Punct", "S", "Z", "C", "Cn", "Cs", "Any", "Han", "Latin", "Common", "Script=Han", "gc=Lu",
                              "Alphabetic", "White_Space", "^L")), r"\P{L}", r"\pL", r"(?i:\p{Lu})", r"(?i:\P{Lu})", r"(?i:[\p{Lu}])", r"(?i:[^\p{Lt}])", r"(?i:\p{Greek})",
    r"(?i:[\p{Greek}a])", r"(?i:[\p{Lt}I])", r"(?i:[\P{Lu}x])", r"(?i:[^\p{^Lu}x])", r"(?i:[x\P{L}])", r"(?i:[^x\P{L}])", r"(?i:[\P{L}\d])", r"(?i:[i\P{Lu}])", r"[^\w\W]",
    r"[^\p{L}b\P{L}]", "[[:alpha:][:^alpha:]]", r"[^\d\p{Lu}\D]", "[[:ascii:]]", r"(?i:[\p{Lu}\P{Lu}])", "[--/]", "[--[:alpha:] k]", "[K[:^alpha:]--[:punct:]]", "(?i:i)", "(?i:I)", "(?i:\u0131)", "(?i:\u0130)", "(?i:[h-j])", "(?i:[^H-J])", "(?i:k)", "(?i:s)", "(?i:\u00df)", "[]a]", "[a-]", r"\x41",
    *(rf"\p{{{n}}}" for n in BINARY), *(rf"(?i:\p{{{n}}})" for n in BINARY), r"\p{Upper}", r"\P{ID_Start}", r"\p{Extended_Pictographic}", "[[:upper:]]", "[[:^lower:]]", "(?i:[[:upper:]])",
    r"(?i:\P{Uppercase})", r"(?i:[^\p{Lowercase}])", r"(?i:[\P{Uppercase}a])", r"(?i:[\p{Lowercase}1])", r"(?i:[[:^lower:]x])", r"\p{ID_Continue}",
    r"[^\P{AHex}[:xdigit:]]", r"(?i:[^\p{AHex}[:^xdigit:]])", "[^[:xdigit:][:^xdigit:]]", "\\\u00b2", "[\\\u0662]",
)  # fmt: skip


@pytest.mark.parametrize("pattern", CLASSES)
def test_sets_of_all_code_points(pattern: str) -> None:
    tree = resolve(parse(pattern, dialect("python")), load(UNICODE), dialect("python"), pattern)
    assert isinstance(tree, Chars)
    assert tree.points == points_of("".join(regex.compile(pattern, regex.V0).findall(EVERY)))


WITNESSES = {
    "counted_empty": ("(?:a|b*){2}c", "xaabc"), "passes_empty": ("b(?:c||a)+", "bcac"),
    "possessive_counts": ("a{1,2}+a", "xaaaaax"), "class_sets": ("[a[b]+", "ab[x"), "bare_property": (r"\pL", "pLxp"),
    "lazy_exact": ("a{2}?", "xaab"), "bare_count": ("a{,}b", "xaab a{,}b"), "caret": ("^a", "a\na\n"), "dollar": ("a$", "ba\n", "ba\n\n"), "capital_z": (r"a\Z", "ba\n", "ba\n\n"),
    "h": (r"\h", "af\t "), "multiline_flag": ("(?m:^.)", "a\n\nb"), "dotall_flag": ("(?s:.)", "\n"), "posix": ("[[:alpha:]]|[[:digit:]]", "a\u00e9\u0661"), "word_joiners": (r"\w", "a\u200c\u200d"),
    "word_latin1_numbers": (r"\w", "a\u00b2\u00bd"), "fold_properties": (r"(?i:\p{Lu})", "aA\u0131\u0138"), "fold_escaped": (r"(?i:\é)", "\u00e9\u00c9"), "fold_dots": ("(?i:i)", "iI\u0130\u0131"), "fold_strings": ("(?i:ss)", "\u00dfss"),
    "word_edges": (r"\<a|a\>", "a <a>"), "class_leading": ("[]-k]", "]-k"), "class_ends": ("[+--]|[!-&&]", "+,-%"), "fold_starts": (r"(?i:t)a|\P{L}", "\u0345\u0345"),
    "hex_code_points": (r"\xE9", "\u00e9"), "long_escape": (r"\U00000041", "A"), "property_values": (r"\p{gc=Lu}", "aA"), "surrogates": (r"\uD83D|a", "a"), "unicode_flag": ("(?u:a)", "a"),
    "group_names": ("(?P<a>x)(?<b>y)", "xy"), "unrepeated": ("(?=a)*^*a", "aa"),
    "lifts": ("[ab]?a|[ab]?b", "ab"), "optimizes": ("a+b?a+", "a ab"),
}  # fmt: skip
OTHERS: dict[str, tuple[object, ...]] = {
    "caret": ("line",), "dollar": ("end", "line"), "capital_z": ("final", "finals"), "h": ("hex",), "multiline_flag": ("dot",), "fold_properties": ("same", "closed"),
    "posix": ("ascii", "unicode"), "group_names": (("(?<",), ("(?P<",)), "unrepeated": (("look",), ("anchor",)), "class_ends": (("-",), ("&&",)),
}  # fmt: skip
# Version 0 has no operators between sets; what is refused is below, and what is refused here alone in test_patterns.py.
ELSEWHERE = {"name", "class_difference", "fold_members", "braced", "empty", "unknown", "flag_groups", "stacks", "largest_count", "missing", "refuses"}


def test_every_value_of_the_dialect_has_a_witness() -> None:
    assert {field.name for field in dataclasses.fields(DIALECTS["python"])} == set(WITNESSES) | ELSEWHERE


@pytest.mark.parametrize("field", WITNESSES)
def test_the_dialect_value_by_value(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, *texts = WITNESSES[field]
    rules = DIALECTS["python"]

    def pieces() -> object:
        try:
            engine = fastest(compile_pattern(pattern, dialect="python", unicode=UNICODE, behavior="removed", invert=True))
        except PatternError as error:
            return error.reason
        return [engine(text) for text in texts]

    wanted = [original(pattern, text, version=0) for text in texts]
    assert pieces() == wanted
    for other in OTHERS.get(field, (not getattr(rules, field),)):
        monkeypatch.setitem(DIALECTS, "python", dataclasses.replace(rules, **{field: other}))  # type: ignore[arg-type]
        assert pieces() != wanted, f"{field}={other!r} would go unnoticed"


# --- what is refused ------------------------------------------------------------------------------------------------------------------------

REFUSED = ("\\x\u0662\u0662", "\\u\u0660\u0660\u0666\u0661", r"\x{41}", r"\u{41}", r"\e", r"[\H]", "(?'x'a)", "[[:foo bar:]]", "[[: :]]", "[[:^:]]", "[a[:1:]]", "{d", "a{dx}", "({s)", "a{i,d", "b|{e}", "a{99999999999}", "a{1,4294967295}")
READ_AS_PROPERTIES = ("[[: alpha:]]", "[[:al-pha:]]", "[[:^ alpha:]]", "[[:L&:]]", "[[:sc=Greek:]]", "[a-[:script:latin:]]")


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_the_module_refuses(pattern: str) -> None:
    with pytest.raises(regex.error):
        regex.compile(pattern, regex.V0)
    with pytest.raises(PatternError):
        compile_pattern(pattern, dialect="python")


def test_the_largest_count() -> None:
    assert regex.compile("a{1,4294967294}", regex.V0).fullmatch("aa")
    with pytest.raises(LimitError):
        compile_pattern("a{1,4294967294}", dialect="python")


def test_a_property_of_a_small_letter_is_two_letters() -> None:
    assert regex.compile(r"\pl", regex.V0).fullmatch("pl")
    with pytest.raises(PatternError, match="a property needs a name"):
        compile_pattern(r"\pl", dialect="python")


@pytest.mark.parametrize("pattern", READ_AS_PROPERTIES)
def test_properties_in_places_where_we_read_none(pattern: str) -> None:
    assert regex.compile(pattern, regex.V0).fullmatch("\u03b1" if "Greek" in pattern else "a") or "^" in pattern
    with pytest.raises(PatternError, match="this engine reads a property here"):
        compile_pattern(pattern, dialect="python")


@pytest.mark.parametrize("pattern", ["[[:^^alpha:]]+", "[[:alpha]:]+", r"[\S-a]+", "[!-&&]+", "{a+", "a{1e}", "a{1<=e", "a{,e}", "{1d"])
def test_what_looks_like_something_else(pattern: str) -> None:
    engine = fastest(compile_pattern(pattern, dialect="python", unicode=UNICODE, behavior="removed", invert=True))
    for text in [*random_texts("ab[]:^-&! ", 200, seed=4), *random_texts(["{", "a{", "1e}", "1<=e", ",e}", "{1d", "a"], 100, seed=4)]:
        assert engine(text) == original(pattern, text, version=0), text
