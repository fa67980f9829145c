"""AddedToken of Hugging Face tokenizers: the text of a token that is found before a text is cut, and its flags.

    AddedToken("<mask>", lstrip=True)           # normalized unless it is special, or the argument says otherwise

Invariant: equal by all flags, hashed by content, never less or greater, as the original. Rejected: vocabulary.AddedToken, which has an
id and does not change.
"""

from __future__ import annotations

import warnings
from typing import Any

from .arguments import flag, text, typed

__all__ = ["AddedToken", "token_of"]

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class AddedToken:
    """A token to be added to a tokenizer. `special` may be set later, and `normalized` follows it unless it was given."""

    def __init__(self, content: str | None = None, **flags: bool) -> None:
        self.content = content if content is not None else ""
        self.special = flags.pop("special", False)
        self._flags: dict[str, bool] = {}
        for name, value in flags.items():
            if name in FLAGS:
                self._flags[name] = flag(value)
            else:
                warnings.warn(f"{name}= is no option of AddedToken, and is ignored", stacklevel=2)

    @property
    def content(self) -> str:
        """What is looked for in a text. It may be set, as `special` may."""
        return self._content

    @content.setter
    def content(self, value: str) -> None:
        self._content = text(value)

    @property
    def special(self) -> bool:
        """Whether it is left out when ids are decoded."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = flag(value)

    @property
    def single_word(self) -> bool:
        """Whether it counts only where no letter, digit, mark or underscore stands beside it."""
        return self._flags.get("single_word", False)

    @property
    def lstrip(self) -> bool:
        """Whether white space before it belongs to it."""
        return self._flags.get("lstrip", False)

    @property
    def rstrip(self) -> bool:
        """Whether white space behind it belongs to it."""
        return self._flags.get("rstrip", False)

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in the normalized text."""
        return self._flags.get("normalized", not self.special)

    def __getstate__(self) -> dict[str, Any]:
        names = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what is said of it; the rest stays as it is, or is that of a new one."""
        if "_content" not in self.__dict__:
            self.__init__()  # type: ignore[misc]
        for name, value in typed(state, dict).items():
            if typed(name, str) in FLAGS:
                self._flags[name] = flag(value)
            elif name in ("content", "special"):
                setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddedToken):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash(self.content)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        flags = ", ".join(f"{name}={getattr(self, name)}" for name in ("rstrip", "lstrip", "single_word", "normalized", "special"))
        return f'AddedToken("{self.content}", {flags})'


def token_of(source: Any, special: bool) -> AddedToken:
    """A token of its text, or a copy of one, of this class or of tokenizers'. `special` makes it that, and the one it is of, too."""
    if isinstance(source, str):
        try:
            return AddedToken(source, special=special)
        except UnicodeEncodeError as error:
            raise TypeError(f"expected str that has UTF-8, or AddedToken: {error}") from None
    if not isinstance(source, AddedToken) and type(source).__name__ != "AddedToken":
        raise TypeError(f"expected str or AddedToken, got {type(source).__name__}")
    if special:
        source.special = True
    made = AddedToken()
    made.__setstate__(source.__getstate__())
    return made
