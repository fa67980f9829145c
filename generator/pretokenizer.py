"""The `pre_tokenizer` object of a tokenizer.json as steps.

In: the object as `json.load` gives it, in the spelling of Hugging Face tokenizers. Out: the steps of families.py:

    steps_from_pre_tokenizer({"type": "Split", "pattern": {"Regex": "\\\\s+"}, "behavior": "Removed", "invert": False})
    # (Step(kind="Split", regex="\\\\s+", behavior="removed"),)

Sequences are flattened. CharDelimiterSplit, FixedLength and BertPreTokenizer become the steps that they are made of. A ByteLevel that
stands last, has no regex and adds no space is left out: it changes no piece.

Invariant: what is not understood is refused. A pattern given as a String is a literal and is never taken for a regex, even where
its author meant one: that is what the reference does, too. Rejected: Metaspace and UnicodeScripts, which are no split at a pattern
of the text itself (one rewrites spaces first, the other has a table of scripts and rules of its own).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .errors import LimitError
from .families import KEYS, Step, mistake, step

__all__ = ["DIGITS_UNICODE", "steps_from_pre_tokenizer"]

# tokenizers 0.22.2 and later ask the Rust compiler what a digit is, and that has Unicode 17.
DIGITS_UNICODE = "17.0"
NESTING = 150  # as of groups in a pattern; tokenizers itself reads no JSON that is as deep as half of these Sequences


def steps_from_pre_tokenizer(obj: Mapping[str, Any] | None, digits_unicode: str = DIGITS_UNICODE) -> tuple[Step, ...]:
    """The steps of a pre_tokenizer object. None, as in `"pre_tokenizer": null`, gives none: the text is one piece."""
    if obj is None:
        return ()
    try:
        steps = flatten(obj, digits_unicode, "pre_tokenizer")
    except RecursionError:  # other values may be nested, too, which a message would show, or the caller has used up much of the stack
        raise LimitError("this pre_tokenizer is nested too deeply for what is left of the interpreter's stack; "
                         "write its steps in one Sequence, and its values as they are in a tokenizer.json") from None  # fmt: skip
    if steps and steps[-1] == Step("ByteLevel", add_prefix_space=False, use_regex=False):
        steps.pop()
    return tuple(steps)


def flatten(obj: object, digits_unicode: str, where: str, depth: int = 0) -> list[Step]:
    if not isinstance(obj, Mapping):
        raise mistake(where, "type", f"not an object: {obj!r}")
    kind = obj.get("type")
    if kind == "Sequence":
        if depth == NESTING:
            raise LimitError(f"this pre_tokenizer has Sequences nested more than {NESTING} deep; write their steps in one, which means the same")
        members = obj.get("pretokenizers")
        if not isinstance(members, list):
            raise mistake(where, "pretokenizers", "not a list")
        return [found for i, one in enumerate(members) for found in flatten(one, digits_unicode, f"{where}.pretokenizers[{i}]", depth + 1)]
    if kind == "BertPreTokenizer":
        return [Step("WhitespaceSplit"), Step("Punctuation")]
    if kind == "CharDelimiterSplit":
        return [step({"type": "Split", "string": obj.get("delimiter"), "behavior": "removed"}, where)]
    if kind == "FixedLength":
        length = obj.get("length", 5)
        if type(length) is not int or length < 1:
            raise mistake(where, "length", f"{length!r} is not a number of characters, 1 or more")
        return [step({"type": "Split", "regex": rf"[\s\S]{{1,{length}}}", "behavior": "isolated"}, where)]
    if not isinstance(kind, str) or kind not in KEYS:
        supported = ", ".join([*KEYS, "Sequence", "BertPreTokenizer", "CharDelimiterSplit", "FixedLength"])
        raise mistake(where, "type", f"{kind!r} is not supported; supported are {supported}")
    fields = {key: value for key, value in obj.items() if key != "trim_offsets"}  # moves offsets, never a cut
    if kind == "Split":
        fields |= pattern_field(fields.pop("pattern", None), where)
    if kind == "Digits":
        individual = fields.pop("individual_digits", fields.get("individual"))
        if not isinstance(individual, bool):
            raise mistake(where, "individual_digits", "missing" if individual is None else f"{individual!r} is not a bool")
        fields["individual"] = individual
        fields["unicode"] = digits_unicode
    if kind == "ByteLevel":
        fields.setdefault("use_regex", True)
    if isinstance(fields.get("behavior"), str):
        fields["behavior"] = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", fields["behavior"]).lower()
    return [step(fields, where)]


def pattern_field(pattern: object, where: str) -> dict[str, object]:
    if isinstance(pattern, Mapping) and len(pattern) == 1:
        for spelling, key in (("Regex", "regex"), ("String", "string")):
            if spelling in pattern:
                return {key: pattern[spelling]}
    raise mistake(where, "pattern", f'neither {{"Regex": ...}} nor {{"String": ...}}: {pattern!r}')
