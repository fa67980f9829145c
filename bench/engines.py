"""Everything that can split a text like a given lexer: ours by tier, a table DFA, regular expression engines, other people's code.

    for engine in engines(subject, absent):
        run = engine.prepare(text)          # all that can be done beforehand is done here
        result = run()                      # this is what is timed
        engine.offsets(result, text)        # its pieces, (n, 2) in bytes: to be compared, not timed

An engine puts out one of three things: "count" (a number), "spans" (offsets in 32 bits) or "split" (a list). One that cannot be had
goes into `absent` with the reason. Rejected: subprocesses for peers (their start would be timed, or a protocol invented).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Any

import numpy as np

import bitlex
from bitlex.generator import Step

from .corpora import Text
from .native import Pcre2Jit, TableDfa, Unavailable
from .offsets import Offsets, in_bytes, nothing, of_ends, of_pieces
from .subject import Subject

Run = Callable[[], Any]
TIERS = ("avx512", "avx2", "neon", "portable", "pure")
KILOBYTE = 1_000
WHOLE, LISTS, SLOW, SLOWEST = 1 << 40, 1_000 * KILOBYTE, 250 * KILOBYTE, 60 * KILOBYTE  # bytes that an engine is measured on
PACKAGES = (  # looked through for a pretokenizer, in vain: versions of November 2026
    "bpe-openai", "fastokens", "iree-tokenizer", "kitoken", "morpheme", "quicktok-v1", "riptoken", "rs-bpe", "snaptokens", "splintr-rs",
    "tiktoken", "tokenizers 1.0.0rc3", "tokie", "toktok-rs", "tuetoken", "wordchipper",
)  # fmt: skip


@dataclass(frozen=True)
class Engine:
    name: str
    version: str
    output: str
    prepare: Callable[[Text], Run]
    offsets: Callable[[Any, Text], Offsets]
    limit: int = WHOLE
    ours: bool = False  # made from bitlex's automata: must agree, or the run has failed

    def count(self, result: Any) -> int:
        return result if isinstance(result, int) else len(result)


def engines(subject: Subject, absent: dict[str, str]) -> list[Engine]:
    """All that this machine has, ours first and of ours the fastest."""
    found = ours(subject, absent)
    for name, make in {"table DFA": table_dfa, "PCRE2 JIT in C": pcre2_in_c, **PYTHON}.items():
        try:
            found += make(subject)
        except Unavailable as reason:
            absent[f"{name}, {subject.name}"] = str(reason)
        except (ImportError, PackageNotFoundError):
            absent[name] = "not installed"
    return found


def ours(subject: Subject, absent: dict[str, str]) -> list[Engine]:
    found = []
    for tier in TIERS:
        lexer = subject.lexer(tier)
        if lexer.tier != tier:
            absent[f"bitlex {tier}, {subject.name}"] = "this processor, or this build, does not have it, or the machine is too large for it"
            continue
        name, version, slow = f"bitlex {tier}", bitlex.__version__, tier == "pure"
        found += [
            Engine(name, version, "count", calling(lexer, "count"), nothing, SLOW if slow else WHOLE, True),
            Engine(name, version, "spans", calling(lexer, "spans"), of_ends, SLOW if slow else WHOLE, True),
            Engine(name, version, "split", calling(lexer, "split"), of_pieces, SLOW if slow else LISTS, True),
        ]
    return found


def calling(lexer: bitlex.Lexer, output: str) -> Callable[[Text], Run]:
    """Offsets are of bytes, which need no conversion to be compared; lists are of str, as people want them. Runs are not written in
    Python where short texts are timed: a frame would cost what a tenth of the call does."""

    def prepare(text: Text) -> Run:
        function = getattr(lexer, output)
        subject = text.text if output == "split" and not lexer.bytewise else text.data
        return partial(function, subject)

    return prepare


def table_dfa(subject: Subject) -> list[Engine]:
    return in_c("table DFA", "", TableDfa(subject.program), WHOLE, True)


def pcre2_in_c(subject: Subject) -> list[Engine]:
    made = Pcre2Jit(subject.patterns)
    return in_c("PCRE2 JIT in C", made.version, made, LISTS, False)


def in_c(name: str, version: str, made: TableDfa | Pcre2Jit, limit: int, is_ours: bool) -> list[Engine]:
    def counting(text: Text) -> Run:
        buffers = made.buffers(text.data, keep=False)
        return lambda: made.count(text.data, buffers)

    def spanning(text: Text) -> Run:
        buffers = made.buffers(text.data, keep=True)
        return lambda: made.spans(text.data, buffers)

    return [
        Engine(name, version, "count", counting, nothing, limit, is_ours),
        Engine(name, version, "spans", spanning, of_ends, limit, is_ours),
    ]


def module_regex(subject: Subject) -> list[Engine]:
    regex = import_module("regex")
    compiled = [regex.compile(pattern, regex.V1) for pattern in subject.patterns]
    return matchers("regex", installed_version("regex"), compiled, SLOW)


def module_pcre2(subject: Subject) -> list[Engine]:
    pcre2 = import_module("pcre2")
    try:
        compiled = [pcre2.compile(pattern, jit=True) for pattern in subject.patterns]
    except pcre2.PatternError as error:
        raise Unavailable(f"does not take the pattern: {error}") from None
    return matchers("pcre2 (Python)", installed_version("pcre2"), compiled, SLOWEST)


def matchers(name: str, version: str, compiled: Sequence[Any], limit: int) -> list[Engine]:
    """Split with objects that have findall and finditer. What lies between matches is a piece, which findall does not give."""

    def pieces(text: str, step: int = 0) -> Iterator[str]:
        if step == len(compiled):
            yield text
            return
        at = 0
        for match in compiled[step].finditer(text):
            if at < match.start():
                yield from pieces(text[at : match.start()], step + 1)
            at = match.end()
            if match.start() < at:
                yield from pieces(match.group(), step + 1)
        if at < len(text):
            yield from pieces(text[at:], step + 1)

    def prepare(text: Text) -> Run:
        if len(compiled) == 1 and "".join(compiled[0].findall(text.text)) == text.text:
            return partial(compiled[0].findall, text.text)
        return lambda: list(pieces(text.text))

    return [Engine(name, version, "split", prepare, of_pieces, limit)]


def tokenizers_split(subject: Subject) -> list[Engine]:
    tokenizers = import_module("tokenizers")
    pre_tokenizers = tokenizers.pre_tokenizers

    def one(step: Step) -> Any:
        if step.kind == "Split":
            pattern = step.string if step.regex is None else tokenizers.Regex(step.regex)
            return pre_tokenizers.Split(pattern, step.behavior, step.invert)
        if step.kind == "Digits":
            return pre_tokenizers.Digits(step.individual)
        if step.kind == "Punctuation":
            return pre_tokenizers.Punctuation(step.behavior)
        if step.kind == "ByteLevel":
            return pre_tokenizers.ByteLevel(step.add_prefix_space, use_regex=step.use_regex)
        raise Unavailable(f"its step {step.kind} is not built here")

    made = pre_tokenizers.Sequence([one(step) for step in subject.steps])
    if subject.program.continuation:
        raise Unavailable("it cuts inside characters, of which tokenizers does not tell the offsets")

    def offsets(result: Any, text: Text) -> Offsets:
        return in_bytes(np.array([span for _, span in result], np.int64).reshape(-1, 2), text)

    version = installed_version("tokenizers")
    return [Engine("tokenizers", version, "split", lambda text: partial(made.pre_tokenize_str, text.text), offsets, SLOWEST)]


def pure_tiktoken(subject: Subject) -> list[Engine]:
    module = import_module("puretiktoken")
    split = {"cl100k": "pretokenize_cl100k", "o200k": "pretokenize_o200k"}.get(subject.name)
    if split is None:
        raise Unavailable("knows cl100k and o200k only")
    function = getattr(module, split)
    return [Engine("puretiktoken", installed_version("puretiktoken"), "split", lambda text: partial(function, text.text), of_pieces, SLOW)]


def gigatoken_iterator(subject: Subject) -> list[Engine]:
    if subject.name != "gpt2":
        raise Unavailable("shows its pretokenizer for gpt2 only")
    pretokenizer = import_module("gigatoken.gigatoken_rs").pretokenizer
    version = installed_version("gigatoken")
    return [Engine("gigatoken", version, "split", lambda text: lambda: list(pretokenizer(text.data)), of_pieces, LISTS)]


PYTHON: dict[str, Callable[[Subject], list[Engine]]] = {
    "regex": module_regex, "pcre2 (Python)": module_pcre2, "tokenizers": tokenizers_split, "puretiktoken": pure_tiktoken,
    "gigatoken": gigatoken_iterator,
}  # fmt: skip
