"""How one regex engine reads a pattern: every difference between engines that a pretokenizer can meet, as data.

    DIALECTS["oniguruma"].dollar        # "line": $ also holds before every newline

`fancy` is fancy-regex (tiktoken), `oniguruma` is Oniguruma as Hugging Face tokenizers builds it, `python` is the `regex` module in
its default version 0. Each value was measured against the engine; the tests compare all of them again where the engine installs.
Rejected: subclasses of a parser per engine, which hide that the engines differ in some forty values and agree in everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DIALECTS", "PECULIAR", "Dialect", "dialect"]


@dataclass(frozen=True)
class Dialect:
    name: str
    possessive_counts: bool  # X{2,3}+ is possessive; otherwise it is (?:X{2,3})+
    lazy_exact: bool  # X{2}? is X{2}; otherwise it is (?:X{2})?
    counted_empty: bool  # X{2} of an X that can be empty is XX; otherwise an empty X may end it, depending on its size: refused
    passes_empty: bool  # an iteration of a loop over nothing, but the first, is passed over; otherwise it ends the loop
    class_sets: bool  # nested [a[bc]] and && inside classes
    class_difference: bool  # [a--b] and [a~~b]
    class_ends: tuple[str, ...]  # what makes the - before it a character: [+-&&a] has + and -
    class_leading: bool  # [--a] has - and a, and []-k] has ], - and k; otherwise these are ranges
    bare_property: bool  # \pL is \p{L}; otherwise it is the letters "pL"
    braced: str  # which of \x{41} and \u{41} there are
    bare_count: bool  # {,} is {0,}; otherwise it is literal text
    largest_count: int  # n in X{n} and X{,n}; refused above it, also what fancy-regex takes for text again: from two to the power of 64 on
    caret: str  # "start", or "line": also after each newline
    dollar: str  # "end", "final": also before a final newline, "line": also before each newline
    capital_z: str  # \Z: "end", "final", or "finals": also before any number of final newlines
    word_edges: bool  # \< and \> are the start and the end of a word; otherwise they are the characters
    hex_code_points: bool  # \xE9 is U+00E9; otherwise a byte of a character: refused
    long_escape: bool  # \U00000041 is a code point; otherwise \U is the letter
    surrogates: bool  # \uD83D is a code point; otherwise refused
    property_values: bool  # \p{gc=Lu}; otherwise refused
    missing: tuple[str, ...]  # loose names of properties, perhaps with a kind, that there are elsewhere: refused
    unknown: str  # letters that are escapes elsewhere: refused
    h: str  # \h: "hex" digits or "horizontal" space
    group_names: tuple[str, ...]  # how a group that has a name begins; otherwise refused
    flag_groups: bool  # (?i:...) is a group that is kept, as (...) is
    stacks: bool  # X{2}{3} is (?:X{2}){3}; otherwise refused
    unrepeated: tuple[str, ...]  # what has no quantifier: a "look", an "anchor", a "start" (\G), "nothing", or "branches" one of which is such
    multiline_flag: str  # what (?m) does: "anchors" or "dot"
    dotall_flag: bool  # (?s) exists
    unicode_flag: bool  # (?u) exists, and changes nothing
    posix: str  # [[:alpha:]] and its kin: "ascii"; "unicode"; or "compatible" (UTS #18, Annex C): [[:digit:]] is, no letter is [[:punct:]]
    word_joiners: bool  # \w holds U+200C and U+200D
    word_latin1_numbers: bool  # bare \w holds the superscripts and fractions of Latin-1, [\w] does not
    fold_properties: str  # (?i:\p{Lu}) matches: "same" what \p{Lu} does, "closed" what folds to that, too, "cased" all of Lu, Ll, Lt
    fold_escaped: bool  # (?i:\é) matches É; otherwise é alone
    fold_dots: bool  # (?i:i) matches U+0130 and (?i:I) U+0131, and the other way round
    fold_members: bool  # (?i:[a&&A]) folds each member, then takes the intersection; otherwise the class is folded once, at the end
    fold_starts: bool  # a match starts only where, by case, one of the sets that it may start with has a character (`by_case`)
    fold_strings: bool  # (?i:ss) matches U+00DF: several characters fold to one
    lifts: bool  # in places, alternatives that begin alike have their beginning taken out: refused where it matters (`lifted`)
    optimizes: bool  # loops over the same thing, with what may be missing between them, are joined: refused where it matters (`optimized`)
    empty: str  # after an accepted empty match: "retry" at the same place, "advance" one character, or "refuse" to compile
    refuses: tuple[str, ...]  # what else is refused here alone, since the engine does so or reads it in a way of its own; see `PECULIAR`


PECULIAR = {  # by example
    "small properties": r"\pl", "qualified classes": "[[:script=latin:]]", "nameless classes": "[[:^:]]", "ranges from classes": "[[:alpha:]-z]",
    "groups behind (?<!": "(?<!(a))b", "(?<! in (?<=": "(?<=(?<!a))b", "approximate matches": "a{e}", "large counts": "a{100001",
}  # fmt: skip
DIALECTS = {
    "fancy": Dialect(
        name="fancy", possessive_counts=True, lazy_exact=True, counted_empty=True, passes_empty=True, class_sets=True,
        class_difference=True, class_ends=("-",), class_leading=True, bare_property=True, braced="xu", bare_count=True, largest_count=2**32 - 1,
        caret="start", dollar="end", capital_z="finals", word_edges=True, hex_code_points=True, long_escape=True, surrogates=False,
        property_values=True, missing=("unknown", "zzzz", "hrkt", "katakanaorhiragana", "surrogate", "gc=cs"), unknown="",
        h="hex", group_names=("(?P<", "(?<", "(?'"), flag_groups=False, stacks=False,
        unrepeated=("look", "start", "nothing"), multiline_flag="anchors", dotall_flag=True, unicode_flag=True, posix="ascii",
        word_joiners=True, word_latin1_numbers=False, fold_properties="closed", fold_escaped=False, fold_dots=False, fold_members=True,
        fold_starts=False, fold_strings=False, lifts=True, optimizes=True, empty="advance", refuses=(),
    ),
    "oniguruma": Dialect(
        name="oniguruma", possessive_counts=False, lazy_exact=False, counted_empty=False, passes_empty=False, class_sets=True,
        class_difference=False, class_ends=("&&",), class_leading=False, bare_property=False, braced="x", bare_count=False, largest_count=100_000,
        caret="line", dollar="line", capital_z="final", word_edges=False, hex_code_points=False, long_escape=False, surrogates=True,
        property_values=False, missing=("hrkt", "katakanaorhiragana"), unknown="", h="hex", group_names=("(?<", "(?'"), flag_groups=True, stacks=True,
        unrepeated=("look", "anchor", "branches"), multiline_flag="dot", dotall_flag=False, unicode_flag=False, posix="unicode",
        word_joiners=False, word_latin1_numbers=True, fold_properties="same", fold_escaped=True, fold_dots=False, fold_members=False,
        fold_starts=False, fold_strings=True, lifts=False, optimizes=False, empty="retry",
        refuses=("nameless classes", "ranges from classes", "groups behind (?<!", "(?<! in (?<=", "large counts"),
    ),
    "python": Dialect(
        name="python", possessive_counts=True, lazy_exact=True, counted_empty=True, passes_empty=False, class_sets=False,
        class_difference=False, class_ends=(), class_leading=False, bare_property=True, braced="", bare_count=True, largest_count=2**32 - 2,
        caret="start", dollar="final", capital_z="end", word_edges=False, hex_code_points=True, long_escape=True, surrogates=True,
        property_values=True, missing=(), unknown="He", h="horizontal", group_names=("(?P<", "(?<"), flag_groups=False, stacks=False, unrepeated=(),
        multiline_flag="anchors", dotall_flag=True, unicode_flag=True, posix="compatible", word_joiners=True, word_latin1_numbers=False,
        fold_properties="cased", fold_escaped=True, fold_dots=True, fold_members=True, fold_starts=True, fold_strings=False,
        lifts=False, optimizes=False, empty="refuse", refuses=("small properties", "qualified classes", "approximate matches"),
    ),
}  # fmt: skip


def dialect(name: str) -> Dialect:
    """The dialect of that name, or ValueError naming those there are."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]
