"""Methods of Python classes that go to C without a Python function between, where a call says nothing unusual.

    class Tokenizer:
        __slots__ = ("_direct",)                        # what `calls_of` made for each object
        @direct
        def encode(self, text, *, allowed_special=None): ...

In: a method, and what it would find out for each call. Out: a method that gives the same in C (_calling.c says for which calls). For short
texts, the way through Python takes up to three quarters of the time. Where there is no extension, methods stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from .encoders import Encoder
    from .tokenizer import Special

    Method = TypeVar("Method", bound=Callable[..., Any])

__all__ = ["as_key", "as_keys", "calls_of", "direct"]


def direct(method: Method) -> Method:
    """The method, called from C where its arguments allow that."""
    try:
        from ._native import DirectMethod
    except ImportError:
        return method
    return DirectMethod(method)  # type: ignore[return-value]


def calls_of(encoder: Encoder, allowed: Any, disallowed: Any, policies: dict[Any, Any], **said: Any) -> Any:
    """What `direct` methods of an object go to, or None where its encoder is in Python.

    allowed, disallowed   what finds special tokens where a call says nothing of them, or None
    policies              the same two for what calls say, (allowed_special, disallowed_special); the methods put here what they found out
    unsaid                what is meant by a call that says something of one of them only
    around                the ids before and behind those of a text, where special tokens are added
    nfc                   whether only a text in NFC may go there
    strict                whether only a str may
    again                 whether a text goes to the method after all if it has a special token that is disallowed, or is wrong otherwise
    prefix                whether a text gets a space in front, unless it begins with one
    """
    try:
        from ._native import Direct
        from ._native import Encoder as Native
    except ImportError:
        return None
    return Direct(encoder, allowed, disallowed, policies, **said) if isinstance(encoder, Native) else None


def as_key(special: Special | None, what: str) -> Any:
    """What tells a choice of special tokens from another."""
    if special is None:
        return None
    try:
        key = special if isinstance(special, (str, tuple, frozenset)) else frozenset(special)
        hash(key)
        return key
    except TypeError:  # none, or one of things that cannot be looked up
        raise TypeError(f"{what} is {special!r}; it may be 'all', or a collection of special tokens") from None


def as_keys(allowed: Special | None, disallowed: Special | None) -> tuple[Any, Any]:
    """Both choices of a call, for all that needs them: one may be an iterator, which can be asked but once."""
    return as_key(allowed, "allowed_special"), as_key(disallowed, "disallowed_special")
