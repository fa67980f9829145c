"""bitlex: split text exactly as the pretokenizer patterns of language models do, by lexers generated from the patterns.

    import bitlex
    lexer = bitlex.lexer("cl100k")           # bitlex.families() names them all
    lexer.split("I'm here 12345")            # ["I", "'m", " here", " ", "123", "45"]
    lexer.spans(b"I'm here 12345")           # array([ 1,  3,  8,  9, 12, 14], dtype=int32): where each piece ends
    bitlex.compile(r"\\w+|\\W").split("a b")   # your own pattern: ["a", " ", "b"]

Only names are here. Importing bitlex loads neither numpy nor the generator; the first call that needs one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .catalogue import families, lexer
from .compiler import compile
from .lexers import Lexer
from .version import __version__

if TYPE_CHECKING:
    from .comparison import difference, same
    from .generator import LimitError, Limits, PatternError
    from .tokenizer import Tokenizer
    from .training import train
    from .training.regex_tokenizer import RegexTokenizer
    from .vocabulary import VocabularyError

__all__ = [
    "Lexer", "LimitError", "Limits", "PatternError", "RegexTokenizer", "Tokenizer", "VocabularyError", "__version__", "compile", "difference",
    "families", "lexer", "same", "train",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in ("LimitError", "Limits", "PatternError"):
        from . import generator

        return getattr(generator, name)
    if name == "Tokenizer":
        from .tokenizer import Tokenizer

        return Tokenizer
    if name == "RegexTokenizer":
        from .training.regex_tokenizer import RegexTokenizer

        return RegexTokenizer
    if name == "train":
        from .training import train

        return train
    if name == "VocabularyError":
        from .vocabulary import VocabularyError

        return VocabularyError
    if name in ("difference", "same"):
        from . import comparison

        return getattr(comparison, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
