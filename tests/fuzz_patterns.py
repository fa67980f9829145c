"""Arbitrary pattern text, looked for by hypothesis: a machine equal to the `regex` module, or a PatternError; never anything else.

    python -m tests.fuzz_patterns 600            ten minutes from a fresh seed (make fuzz)
    python -m tests.fuzz_patterns 60 --seed 7    the same again: a failure prints the pattern and the seed

Text is put together from what patterns are made of, in any order, with arbitrary characters between, or is nothing but those; most of
it is malformed, and the rest means odd things. What both `regex` and the python dialect take must be the same lexer. For the other two
dialects the module runs the tree as it was read (generator/backtracking.py), so that all is checked but the reading, for which
fuzz_references.py asks their own engines. test_arbitrary_patterns.py runs this for a while, always the same examples.
Rejected: atheris (what it mutates are bytes, which are hardly ever patterns, and its failures do not shrink to something readable).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import regex
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from generator import LimitError, Limits, PatternError, Program, compile_pattern
from generator.backtracking import Module
from generator.codeset import CodeSet
from generator.dialects import DIALECTS
from generator.spell import Unspelled

sys.path.insert(0, str(Path(__file__).parent))  # so that files here find each other by bare names, as they do under pytest
from engines import spans_of

EXAMPLES = 100  # of a dialect with one seed
MEMORY = 4 << 30  # bytes of one process
PATIENCE = 2.0  # seconds for one search of the module
PARTS = (
    "a", "b", "s", "K", "1", " ", "\n", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)", "(?s)", "(?m)", "(?#x)", "[", "]",
    "[^", "-", "\\", "^", "$", ".", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{", "}", ",", "|", r"\p{L}", r"\P{Lu}", r"\pN", r"\s", r"\S", r"\d",
    r"\w", r"\W", r"\b", r"\B", r"\A", r"\Z", r"\z", r"\G", r"\h", r"\x41", r"\u0061", "&&", "--", "||", "~~", "[:alpha:]", "[:^word:]", "[:upper:]", r"\p{Lower}", r"\P{ID_Start}", ":", "{,}", r"\<", r"\>", r"\1", "(?P<n>",
    "(?1)", r"\R", r"\X", r"\K", r"\n", "é", "\u017f", r"\/", r"\-", "#", "=",
)  # fmt: skip
ATOMS = st.sampled_from(("a", "b", "s", "K", "1", " ", "\n", ".", "é", "ſ", "[ab]", "[^a]", r"\s", r"\S", r"\w", r"\d", r"\p{L}", "(?i:k)", "(?i:[^s])", r"(?i:[\P{Lu}s])", r"(?i:\P{L})", r"(?i:\P{Lower})", r"(?i:[\p{Upper}1])", r"[^\s\w]"))
PLACES = st.sampled_from((r"\b", r"\B", "^", "$", r"\A", r"\Z", r"\z", r"\G", "(?<=a)", r"(?<!\s)"))
QUANTIFIERS = st.sampled_from(("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{,2}", "{2,}?", "{1,2}+"))
GROUPS = st.sampled_from(("(?:", "(", "(?=", "(?!", "(?>", "(?i:", "(?s:", "(?<n>"))


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds(lambda group, item, times: f"{group}{item}){times}", GROUPS, inner, st.one_of(st.just(""), QUANTIFIERS)),
        st.builds(lambda item, times: item + times, inner, QUANTIFIERS),
    )


WELL_FORMED = st.recursive(st.one_of(ATOMS, PLACES), nested, max_leaves=8)
def characters(most: int, alphabet: str | None = None) -> st.SearchStrategy[str]:
    """So many, one by one: into whole texts hypothesis puts strings of the modules that happen to be loaded, and a seed would not say it all."""
    return st.lists(st.characters() if alphabet is None else st.sampled_from(alphabet), max_size=most).map("".join)


ANYTHING = st.one_of(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=10).map("".join),
    st.lists(st.one_of(st.sampled_from(PARTS), st.characters()), min_size=1, max_size=12).map("".join),
    characters(12),
    st.builds(lambda part, times, rest: part * times + rest, st.sampled_from(PARTS), st.integers(1, 100), characters(4, "a)]}")),
)
PATTERNS = st.one_of(ANYTHING, WELL_FORMED, st.builds(lambda a, b, c: a + b + c, WELL_FORMED, ANYTHING, WELL_FORMED))


def texts_for(program: Program) -> list[str]:
    """Short ones over a character of each cell and what the parts above are about; the same for the same pattern."""
    cells = program.raw
    some = [chr(cells.starts[cells.cell_of.index(cell)]) for cell in range(cells.count)]
    chance = random.Random(program.plans[0].pattern.encode("utf-8", "surrogatepass"))
    characters = [*"aabsK1 \n\u00e9\u017f,-]", *some]
    pairs = map("".join, product(chance.sample(some, min(len(some), 8)), repeat=2))
    return [*pairs, *("".join(chance.choices(characters, k=chance.randint(1, 7))) for _ in range(25))]


def check(pattern: str, dialect: str) -> str:
    """What became of the pattern: "refused", "alone" (there was nobody to compare with) or "compared". AssertionError for a wrong one."""
    begun = time.monotonic()
    refused: ValueError | None = None
    try:
        program = compile_pattern(pattern, dialect=dialect, unicode="18.0", limits=Limits(seconds=3))
    except (PatternError, LimitError) as error:
        refused = error
    assert time.monotonic() - begun < 20, f"the limit on time does not hold for {pattern!a}"
    if isinstance(refused, PatternError):
        first, last = refused.span
        assert refused.pattern == pattern and 0 <= first <= last <= len(pattern), (refused.span, pattern)
    if refused is not None:
        return "refused"
    texts, cell_of = texts_for(program), program.cells.lookup()
    if dialect == "python":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = regex.compile(pattern, regex.V0)
        except (regex.error, RecursionError):
            return "alone"
    else:
        try:
            module = Module(program.plans, CodeSet.of(*"".join(texts)), PATIENCE)
        except Unspelled:
            return "alone"
    for text in texts:
        pieces = spans_of(program.stages[0].letters([cell_of[ord(c)] for c in text]))
        try:
            if dialect == "python":
                cuts = {0}.union(*(found.span() for found in compiled.finditer(text, timeout=PATIENCE)))
                wanted = list(pairwise([*sorted(cut for cut in cuts if cut < len(text)), len(text)]))
            else:
                wanted = module(text)
        except TimeoutError:  # the module takes forever for what is linear here
            return "alone"
        assert pieces == wanted, (pattern, text)
    return "compared"


def search(dialect: str, examples: int, seed_: int | None = None) -> Counter[str]:
    """Check so many patterns: always the same ones, or those of a seed. What became of them."""
    return look_for(PATTERNS, lambda pattern: check(pattern, dialect), examples, seed_)


def look_for(patterns: st.SearchStrategy[str], checked: Callable[[str], str], examples: int, seed_: int | None) -> Counter[str]:
    """Give so many of these to `checked`: what it said of them. A pattern that it raises AssertionError for is made as short as can be."""
    became: Counter[str] = Counter()
    chosen = settings(
        max_examples=examples, derandomize=seed_ is None, database=None, deadline=None, print_blob=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example],
    )  # fmt: skip

    @chosen
    @given(pattern=patterns)
    def examine(pattern: str) -> None:
        became[checked(pattern)] += 1

    (examine if seed_ is None else seed(seed_)(examine))()
    return became


def bound_memory() -> None:
    """A pattern that would take all memory is a MemoryError then, and is shown, instead of the end of this process."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(program: str, search: Callable[[str, int, int], Counter[str]]) -> int:
    """The command of this file, and of fuzz_references.py."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.{program}", description="Arbitrary pattern text against engines.")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, help="where to begin (default: a fresh one)")
    chosen = parser.parse_args()
    bound_memory()
    first = random.SystemRandom().randrange(10**9) if chosen.seed is None else chosen.seed
    until, became, number = time.monotonic() + chosen.seconds, Counter[str](), first
    while time.monotonic() < until:
        for dialect in DIALECTS:
            try:
                became += search(dialect, EXAMPLES, number)
            except BaseException:
                print(f"with the {dialect} dialect; again: python -m tests.{program} 1 --seed {number}", file=sys.stderr)
                raise
        number += 1
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(became.items()))
    print(f"{became.total():,} patterns: {counts}, no difference; seeds {first} to {number - 1}")
    return 0


if __name__ == "__main__":
    sys.exit(run("fuzz_patterns", search))
