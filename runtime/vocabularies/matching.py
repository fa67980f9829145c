"""Which family of the catalogue splits every text as the pre_tokenizer of a file does, so that its generated lexer can be used.

    family_of({"type": "Sequence", "pretokenizers": [...]}, "oniguruma")        # "llama3", or None

Invariant: only what is known to be equal. Either the steps, the dialect and the Unicode version are those of the family; or the
steps are one pattern which both dialects read alike and which matches every text, so that it makes no difference whether the text it
leaves is dropped. Which patterns these are was decided from their machines; the tests decide it again for every family.
Rejected: comparing machines at each load (it compiles the pattern, which is what a family saves).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..generator import Step

__all__ = ["ALIKE", "COMPLETE", "UNICODE", "family_of", "matches_of"]

UNICODE = "16.0"  # of tiktoken 0.14 and of tokenizers 0.23, and so of every family

# One pattern, the same machine in the fancy and in the Oniguruma dialect, and every text is matched from end to end.
ALIKE = frozenset({
    "exaone_moe", "gpt2", "kimi_k2", "llama3", "nanochat", "o200k", "qwen2", "qwen3_5", "seed_coder", "tekken",
})  # fmt: skip

# The same, but only in its own dialect.
COMPLETE = frozenset({"cl100k"})


def matches_of(pattern: str) -> dict[str, Any]:
    """What keeps the matches of a pattern and drops the rest, as tiktoken and minbpe do, as a pre_tokenizer."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}


def family_of(pre_tokenizer: Mapping[str, Any], dialect: str) -> str | None:
    """The family that splits every text as this does, read in this dialect and Unicode 16.0; None if none is known to.

    ValueError for a pre_tokenizer that is malformed or not supported.
    """
    from ..generator import families, steps_from_pre_tokenizer

    wanted = steps_from_pre_tokenizer(pre_tokenizer)
    kept = tuple(replace(step, behavior="isolated", invert=False) for step in wanted) if keeps_matches(wanted) else wanted
    for name, family in families().items():
        if family.dialect == dialect and family.steps == (kept if name in COMPLETE else wanted):
            return name
        if name in ALIKE and family.steps == kept and dialect in ("fancy", "oniguruma"):
            return name
    return None


def keeps_matches(steps: tuple[Step, ...]) -> bool:
    """Whether it is one Split that keeps its matches and nothing else."""
    return len(steps) == 1 and steps[0].behavior == "removed" and steps[0].invert
