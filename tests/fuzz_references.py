"""Arbitrary pattern text against the engines themselves: what they match is what we do, and what they refuse is refused.

    python -m tests.fuzz_references 600            ten minutes from a fresh seed (make fuzz)
    python -m tests.fuzz_references 60 --seed 7    the same again: a failure prints the pattern and the seed

fuzz_patterns.py checks what is made of a pattern's tree; this checks the reading of it, which is where dialects differ: `[&-&&x]`, `\\u{41}`,
`(?=a)*`. An engine answers in a process of its own, which is killed where it hangs or panics for too long.
Invariant: a pattern is taken here only if its engine takes it; then both match the same in texts of a character of each cell, and of what
patterns are made of. What is refused here and taken there is counted only: refusing is documented, guessing is not.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from generator import LimitError, Limits, PatternError, Step, compile_pattern

sys.path.insert(0, str(Path(__file__).parent))  # as in fuzz_patterns.py
from engines import spans_of
from fuzz_patterns import ANYTHING, PARTS, WELL_FORMED, look_for, run, texts_for
from oracle import Tiktoken, Tokenizers, regex

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 5.0  # seconds for one pattern
UNICODE = {"oniguruma": "16.0", "fancy": "16.0", "python": "18.0"}  # of the packages that the tests install
MORE = (
    r"\xC3", r"\x{41}", r"\u{41}", r"\U00000041", r"\e", r"\a", r"\v", r"\0", r"\101", r"\cA", r"\N", r"\O", r"\y", r"\H", r"\pl", r"\p{^L}", r"\p{gc=Lu}",
    r"\p{Greek}", r"\p{alpha}", r"\P{IsL}", "(?x:", "(?u:", "(?-i:", "(?i-s:", "(?'n'", "(?<n>", "(?^", "(?|", "(?~", "[[", "]]", "[a-", "[-", "&", "~", "+-", "[[:^", ":]]",
    "[[:alnum:]]", "[[:space:]", "{2}?", "{1,2}+", "{,2}?", "{0}", "(*", r"\k<n>", r"\g<1>", "(?(1)", "*?", "++", "?+", "A-Z", r"\s-", r"-\d", "a&&b", "^&&",
)  # fmt: skip
SEVERAL = st.lists(st.sampled_from((*PARTS, *MORE)), min_size=1, max_size=8).map("".join)
CLASSES = st.builds("[{}]{}".format, SEVERAL, st.sampled_from(("", "+", "*", "{2}")))
PATTERNS = st.one_of(ANYTHING, SEVERAL, CLASSES, st.builds(lambda a, b, c: a + b + c, WELL_FORMED, SEVERAL, WELL_FORMED))


def by_regex(pattern: str, _: list[str]) -> Callable[[str], list[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = regex.compile(pattern, regex.V0)
    except (regex.error, RecursionError) as error:
        raise ValueError(str(error)) from None
    return lambda text: [found.span() for found in compiled.finditer(text) if found.end() > found.start()]


def by_tokenizers(pattern: str, _: list[str]) -> Callable[[str], list[Any]]:
    return Tokenizers((Step("Split", regex=pattern, behavior="removed", invert=True),))


ENGINES: dict[str, Callable[[str, list[str]], Callable[[str], list[Any]]]] = {
    "oniguruma": by_tokenizers, "fancy": Tiktoken, "python": by_regex,
}  # fmt: skip


def serve(dialect: str) -> None:
    """Lines of [pattern, texts] -> lines of what the engine makes of each text, None where it gives up; or of why it refuses the pattern."""
    for line in sys.stdin:
        pattern, texts = json.loads(line)
        answer: Any = []
        try:
            engine = ENGINES[dialect](pattern, texts)
        except ValueError as error:
            answer = str(error)
        else:
            for text in texts:
                try:
                    answer.append(engine(text))
                except BaseException as error:  # a panic of Rust code is no Exception
                    if "Panic" not in type(error).__name__:
                        raise
                    answer.append(None)
                    break
        print(json.dumps(answer), flush=True)


class Engine:
    """An engine in a process of its own. Ask it, and it answers, or None: it does not in time, or has died."""

    def __init__(self, dialect: str) -> None:
        self.command = [sys.executable, "-m", "tests.fuzz_references", "serve", dialect]
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, pattern: str, texts: list[str]) -> Any:
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([pattern, texts]) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        answer = self.process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self.close()
        return None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process = None


def check(pattern: str, dialect: str, engine: Engine) -> str:
    """What became of the pattern: "refused" here, "alone" (the engine does not answer), "broken off" (it gives up at some text: tiktoken does
    where a match is empty), or "compared"."""
    if any("\ud800" <= c <= "\udfff" for c in pattern):
        return "refused"
    try:
        program = compile_pattern(pattern, dialect=dialect, behavior="removed", invert=True, unicode=UNICODE[dialect], limits=Limits(seconds=3))
    except (PatternError, LimitError):
        return "refused"
    texts = [text for text in texts_for(program) if not any("\ud800" <= c <= "\udfff" for c in text)]
    answer = engine(pattern, texts)
    assert not isinstance(answer, str), f"{pattern!a} is taken here, and the engine says: {answer}"
    cell_of = program.cells.lookup()
    for text, wanted in zip(texts, answer or [], strict=False):
        spans = spans_of(program.stages[0].letters([cell_of[ord(c)] for c in text]))
        found: Any = [text[a:b] for a, b in spans] if dialect == "fancy" else [list(span) for span in spans]
        assert wanted is None or found == wanted, f"{pattern!a} on {text!a}: {found}, and the engine says {wanted}"
    return "alone" if not answer else "compared" if answer[-1] is not None else "broken off"


def search(dialect: str, examples: int, seed: int | None = None) -> Counter[str]:
    """Check so many patterns: always the same ones, or those of a seed. What became of them."""
    engine = Engine(dialect)
    try:
        return look_for(PATTERNS, lambda pattern: check(pattern, dialect, engine), examples, seed)
    finally:
        engine.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        sys.exit(run("fuzz_references", search))
