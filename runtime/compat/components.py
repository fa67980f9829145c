"""The parts of a tokenizer.json as objects of the package tokenizers, which transformers asks a tokenizer for, and gives it.

    component("post_processor", {"type": "ByteLevel", ...})          # tokenizers.processors.ByteLevel(...)
    as_json(tokenizers.processors.ByteLevel())                       # {"type": "ByteLevel", ...}
    post_processor = Component("post_processor", "...")              # in the class: an attribute that is read and set so

Invariant: there and back, nothing changes. Rejected: classes of our own for all parts, which nothing else would take.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["Component", "as_json", "component"]

EMPTY: dict[str, Any] = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
    "post_processor": None, "decoder": None, "model": {"type": "BPE", "vocab": {}, "merges": []},
}  # fmt: skip


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


class Component:
    """An attribute of a tokenizer: the field of that name, in its `_fields`; set by its `_replace`."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, tokenizer: Any, kind: type) -> Any:
        return self if tokenizer is None else component(self.name, tokenizer._fields.get(self.name))

    def __set__(self, tokenizer: Any, value: Any) -> None:
        tokenizer._replace(self.name, value)
