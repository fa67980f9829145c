"""The generated lexers: `from bitlex.generated import cl100k` is a lexer.

DO NOT EDIT. Written by: python -m generator --all

The tables lie in `python/` (a module a family) and in `c/` (source and header a family, and the loop that runs them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import Lexer

FAMILIES: dict[str, tuple[str, ...]] = {
    "gpt2": ("r50k", "p50k", "r50k_base", "p50k_base", "p50k_edit"),
    "bytelevel": ("gpt2_hf", "gpt_neox", "roberta", "phi2"),
    "bytelevel_prefix": ("pagnol",),
    "cl100k": ("cl100k_base",),
    "llama3": ("cl100k_hf", "llama3_1", "glm4", "glm5", "phi4", "olmo2", "olmo3", "granite4", "smollm3", "dbrx", "falcon3"),
    "qwen2": ("qwen", "qwen1_5", "qwen2_5", "qwen3"),
    "qwen3_5": ("qwen3_6", "qwen3_8"),
    "o200k": ("o200k_base", "o200k_harmony", "gpt_oss", "llama4", "phi4_mini"),
    "tekken": ("mistral_nemo", "ministral", "devstral", "magistral", "apertus"),
    "kimi_k2": ("kimi", "moonlight", "kimi_linear"),
    "nanochat": (),
    "seed_coder": ("seed_oss",),
    "exaone_moe": ("k_exaone",),
    "bloom": ("poro",),
    "clip": (),
    "deepseek_v3": ("deepseek_r1", "deepseek_v4"),
    "deepseek_llm": ("deepseek_v2", "deepseek_coder_v2"),
    "deepseek_coder": (),
    "starcoder": ("starcoder2", "smollm", "smollm2", "command_r", "exaone3"),
    "falcon": ("falcon_7b", "falcon_40b"),
    "viking": (),
    "superbpe": ("olmo2_superbpe",),
    "minicpm5": (),
    "laguna": (),
    "tiny_aya": ("cohere2moe",),
    "longcat": ("longcat_flash",),
}


def __getattr__(name: str) -> Lexer:
    if name in FAMILIES:
        from .. import lexer

        return lexer(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*FAMILIES, "FAMILIES"]
