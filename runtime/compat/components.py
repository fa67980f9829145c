"""The parts of a tokenizer.json as objects of the package tokenizers, which transformers asks a tokenizer for, and gives it.

    component("post_processor", {"type": "ByteLevel", ...})          # tokenizers.processors.ByteLevel(...)
    as_json(tokenizers.processors.ByteLevel())                       # {"type": "ByteLevel", ...}
    completed({"type": "ByteLevel", ...})                            # with "use_regex": True, which older files leave out
    post_processor = Component("post_processor", "...")              # in the class: an attribute that is read and set so

Invariant: there and back, nothing changes. Rejected: classes of our own for all parts, which nothing else would take.
"""

from __future__ import annotations

import json
from operator import itemgetter
from typing import Any

__all__ = ["EMPTY", "Component", "as_json", "completed", "completed_model", "component"]

EMPTY: dict[str, Any] = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
    "post_processor": None, "decoder": None, "model": {"type": "BPE", "vocab": {}, "merges": []},
}  # fmt: skip
# What tokenizers fills in where a file leaves it out: of the model, and of other parts.
MODEL: dict[str, Any] = {
    "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
    "byte_fallback": False, "ignore_merges": False,
}  # fmt: skip
LEFT_OUT: dict[str, dict[str, Any]] = {"ByteLevel": {"use_regex": True}, "Punctuation": {"behavior": "Isolated"}}


def component(name: str, found: dict[str, Any] | None) -> Any:
    """The object of a field; None if the field is null. ImportError where tokenizers is not installed."""
    if found is None:
        return None
    import tokenizers

    return getattr(tokenizers.Tokenizer.from_str(json.dumps({**EMPTY, name: found})), name)


def as_json(source: Any) -> dict[str, Any] | None:
    """The field of an object."""
    if source is None:
        return None
    found: dict[str, Any] = json.loads(source.__getstate__())
    return found


def completed(found: Any) -> Any:
    """A field as tokenizers writes it, where the file leaves something out."""
    if isinstance(found, list):
        return [completed(one) for one in found]
    if not isinstance(found, dict):
        return found
    kind = found.get("type")
    more = LEFT_OUT.get(kind, {}) if isinstance(kind, str) else {}
    return {key: completed(value) for key, value in found.items()} | {key: value for key, value in more.items() if key not in found}


def completed_model(found: dict[str, Any]) -> dict[str, Any]:
    """The model as tokenizers writes it: all options, tokens in order of their ids, merges as pairs."""
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in found["merges"] if merge[:8] != "#version"]
    options = {key: default if found.get(key) is None else found[key] for key, default in MODEL.items()}
    return {**options, "vocab": dict(sorted(found["vocab"].items(), key=itemgetter(1))), "merges": merges}


class Component:
    """An attribute of a tokenizer: the field of that name, in its `_fields`; set by its `_replace`."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, tokenizer: Any, kind: type) -> Any:
        return self if tokenizer is None else component(self.name, tokenizer._fields.get(self.name))

    def __set__(self, tokenizer: Any, value: Any) -> None:
        tokenizer._replace(self.name, value)
