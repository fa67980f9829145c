"""What tiktoken.model has: the name of a model in, that of its encoding out, or the encoding itself.

    encoding_name_for_model("gpt-4o-2024-05-13")        # "o200k_base"
    MODEL_TO_ENCODING["mine"] = "cl100k_base"           # then it is known, too

Invariant: the tables of tiktoken 0.14, which are looked through at each call; the first prefix in order decides. Rejected: asking
openai.py, whose tables do not change.
"""

from __future__ import annotations

from ..openai import MODELS, PREFIXES
from ..tiktoken_encoding import Encoding
from .registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]

MODEL_TO_ENCODING: dict[str, str] = {name: encoding for encoding, names in MODELS.items() for name in names.split()}
MODEL_PREFIX_TO_ENCODING: dict[str, str] = {prefix: encoding for encoding, prefixes in PREFIXES for prefix in prefixes.split()}


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding that a model uses; KeyError if that is not known."""
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, encoding in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return encoding
    raise KeyError(f"which encoding {model_name} uses is not known; name the encoding itself, by get_encoding")


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding that a model uses; KeyError if that is not known."""
    return get_encoding(encoding_name_for_model(model_name))
