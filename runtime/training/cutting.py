"""What cuts the text that is learned from: a family, a regular expression or a Lexer in; a Lexer out, and how a Description names it.

    cutting("gpt2", rule)                   # the family
    cutting(r"\\p{L}+|\\s+|.", rule)          # read in the dialect of the rule's trainer, Unicode version included
    cutting(bitlex.compile(...), rule)      # as it is
    cutting(None, rule)                     # nothing: each text is one piece

Invariant: the tokenizer that is trained cuts as the text was cut. A str that is the name of a family is that family.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..catalogue import canonical_name, families, lexer
from ..compiler import compile
from ..lexers import Lexer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..tokenizer import Tokenizer
    from .rules import Rule

__all__ = ["Cutting", "cutting", "cutting_of", "for_minbpe", "pre_tokenizer_of"]


@dataclass(frozen=True, slots=True)
class Cutting:
    """A lexer, and what a Description says of it."""

    lexer: Lexer
    family: str | None
    pre_tokenizer: Mapping[str, Any] | None
    dialect: Literal["fancy", "oniguruma", "python"]
    unicode: str


def cutting(pattern: str | Lexer | None, rule: Rule) -> Cutting:
    """The lexer for a pattern. ValueError (PatternError) for one that cannot be a lexer."""
    if isinstance(pattern, str) and is_family(pattern):
        pattern = lexer(pattern)
    if isinstance(pattern, Lexer):
        family = pattern.name if pattern._about["family"] else None
        split = None if family else pre_tokenizer_of(pattern.steps)
        return Cutting(pattern, family, split, pattern.dialect, pattern.unicode)  # type: ignore[arg-type]
    if pattern is not None and not isinstance(pattern, str):
        raise TypeError(f"pattern: expected a str, a Lexer or None, got {type(pattern).__name__}")
    from ..vocabularies.matching import matches_of

    split = None if pattern is None else matches_of(pattern)
    if split is not None and rule.keeps_unmatched:
        split |= {"behavior": "Isolated", "invert": False}
    made = compile(split, dialect=rule.dialect, unicode=rule.unicode)
    return Cutting(made, None, split, rule.dialect, rule.unicode)


def cutting_of(pattern: str | Lexer | None, extend: Tokenizer | None, rule: Rule) -> Cutting:
    """What a training is asked for by these two, of which one goes without the other; GPT-2's by neither, nothing by "". With a warning, if a
    regular expression may have been meant as the name of a family."""
    from ..tokenizer import Tokenizer

    if not isinstance(extend, Tokenizer | None):
        raise TypeError(f"extend is {extend!r:.80}; it may be a Tokenizer, which Tokenizer.from_file reads")
    if extend is None:
        if (misspelled := may_be_family(pattern)) is not None:
            warnings.warn(f"pattern {pattern!r} is read as a regular expression: {misspelled}", stacklevel=3)
        return cutting("gpt2" if pattern is None else pattern or None, rule)
    if pattern is not None:
        raise ValueError("pattern goes without extend, which has its own")
    return cutting(extend.lexer, rule)


def for_minbpe(pattern: str) -> Lexer | str:
    """A pattern as minbpe would read it; of a family, its regular expression."""
    if not is_family(pattern) or len(lexer(pattern).steps) != 1 or "regex" not in lexer(pattern).steps[0]:
        return pattern
    from ..vocabularies.matching import matches_of
    from ..vocabularies.minbpe import REGEX_UNICODE

    return compile(matches_of(lexer(pattern).pattern), dialect="python", unicode=REGEX_UNICODE)


def is_family(pattern: str) -> bool:
    wanted = pattern.lower().replace("-", "_").replace(".", "_")
    return any(wanted == name or wanted in aliases for name, aliases in families().items())


def may_be_family(pattern: object) -> str | None:
    """What is said of a pattern that looks like the name of a family, and is spelled as none; None of any other."""
    if isinstance(pattern, str) and re.fullmatch(r"[A-Za-z][\w.-]+", pattern):
        try:
            canonical_name(pattern)
        except ValueError as error:
            return str(error)
    return None


SPELLED = {"individual": "individual_digits"}
WRITTEN: dict[str, dict[str, Any]] = {  # what a tokenizer.json has to say, also where it is nothing special
    "Split": {"behavior": "isolated", "invert": False}, "Digits": {"individual_digits": False}, "Punctuation": {"behavior": "isolated"},
    "ByteLevel": {"add_prefix_space": False, "trim_offsets": True, "use_regex": True},
}  # fmt: skip


def pre_tokenizer_of(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The steps of a lexer as the pre_tokenizer of a tokenizer.json; ValueError where that cannot say them."""
    from ..generator import Step, steps_from_pre_tokenizer

    made = [in_json(step) for step in steps]
    found = None if not made else made[0] if len(made) == 1 else {"type": "Sequence", "pretokenizers": made}
    if steps_from_pre_tokenizer(found) != tuple(Step(**step) for step in steps):
        raise ValueError(f"these steps have no form in a tokenizer.json: {list(map(dict, steps))}")
    return found


def in_json(step: Mapping[str, Any]) -> dict[str, Any]:
    given = {SPELLED.get(key, key): value for key, value in step.items() if key not in ("kind", "unicode", "regex", "string")}
    fields = WRITTEN.get(step["kind"], {}) | given
    if step["kind"] == "Split":
        fields = {"pattern": {"Regex": step["regex"]} if step.get("regex") is not None else {"String": step["string"]}} | fields
    if "behavior" in fields:
        fields["behavior"] = "".join(word.capitalize() for word in fields["behavior"].split("_"))
    return {"type": step["kind"]} | fields
