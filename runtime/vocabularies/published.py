"""Rank files that are published, by the SHA-256 of the file: what they are called, which family cuts the text, their special tokens.

    published(digest)             # the Published ones with these ranks, the usual one first; () if the file is not known

A rank file says nothing about itself; these facts stand in the code of those who publish it, named at each entry. Files of the same
ranks with other special tokens have several entries. Invariant: where one id has two names, `spelled` says which one it decodes to.
Rejected: guessing by the name of a file or by the number of its ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["Published", "digest_of", "is_published", "published"]


@dataclass(frozen=True)
class Published:
    """`special`: the id of each special token. `spelled`: what an id of several names decodes to."""

    name: str
    family: str
    special: Mapping[str, int]
    spelled: Mapping[int, str] = field(default_factory=dict)


def numbered(first: int, *names: str) -> dict[str, int]:
    return {name: first + at for at, name in enumerate(names)}


def reserved(kind: str, start: int, end: int) -> list[str]:
    return [f"<|{kind}reserved_special_token_{n}|>" for n in range(start, end)]


END_OF_TEXT = "<|endoftext|>"
GPT2 = {END_OF_TEXT: 50256}


def r50k() -> tuple[Published, ...]:
    return Published("r50k_base", "gpt2", GPT2), Published("gpt2", "gpt2", GPT2)


def p50k() -> tuple[Published, ...]:
    edit = GPT2 | numbered(50281, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
    return Published("p50k_base", "gpt2", GPT2), Published("p50k_edit", "gpt2", edit)


def cl100k() -> tuple[Published, ...]:
    special = numbered(100257, END_OF_TEXT, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
    return (Published("cl100k_base", "cl100k", special | {"<|endofprompt|>": 100276}),)


def o200k() -> tuple[Published, ...]:
    base = {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}
    harmony = base | {
        "<|startoftext|>": 199998, "<|reserved_200000|>": 200000, "<|reserved_200001|>": 200001, "<|return|>": 200002,
        "<|constrain|>": 200003, "<|reserved_200004|>": 200004, "<|channel|>": 200005, "<|start|>": 200006, "<|end|>": 200007,
        "<|message|>": 200008, "<|reserved_200009|>": 200009, "<|reserved_200010|>": 200010, "<|reserved_200011|>": 200011,
        "<|call|>": 200012,
    } | {f"<|reserved_{number}|>": number for number in range(200013, 201088)}  # fmt: skip
    both = {200018: "<|endofprompt|>"}  # also <|reserved_200018|>; this is the one that tiktoken decodes it to
    return Published("o200k_base", "o200k", base), Published("o200k_harmony", "o200k", harmony, both)


def qwen() -> tuple[Published, ...]:
    """The tokenizer code of Qwen 1 also normalizes to NFC, by Python's own tables; that is no part of the rank file."""
    special = numbered(151643, END_OF_TEXT, "<|im_start|>", "<|im_end|>", *(f"<|extra_{n}|>" for n in range(205)))
    return (Published("qwen", "qwen2", special),)


def llama3() -> tuple[Published, ...]:
    first = numbered(
        128000, "<|begin_of_text|>", "<|end_of_text|>", *reserved("", 0, 4), "<|start_header_id|>", "<|end_header_id|>",
        *reserved("", 4, 5), "<|eot_id|>", *reserved("", 5, 251),
    )  # fmt: skip
    later = numbered(
        128000, "<|begin_of_text|>", "<|end_of_text|>", *reserved("", 0, 2), "<|finetune_right_pad_id|>", "<|step_id|>",
        "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>", *reserved("", 2, 246),
    )  # fmt: skip
    return Published("llama3", "llama3", first), Published("llama3_1", "llama3", later)


def llama4() -> tuple[Published, ...]:
    text, vision, reasoning = "text_post_train_", "vision_", "reasoning_"
    names = [
        "<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
        "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>", *reserved(text, 0, 6),
        "<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *reserved(text, 8, 69),
        "<|image_start|>", "<|image_end|>", *reserved(vision, 0, 2), "<|tile_x_separator|>", "<|tile_y_separator|>",
        *reserved(vision, 2, 6), "<|image|>", *reserved(vision, 6, 7), "<|patch|>", *reserved(vision, 7, 1048),
        *reserved(reasoning, 0, 8), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>", *reserved("", 0, 904),
    ]  # fmt: skip
    return (Published("llama4", "o200k", numbered(200000, *names)),)


def kimi() -> tuple[Published, ...]:
    """What the 256 ids from 163584 on mean differs among the models: `special=` takes it from their tokenizer_config.json."""
    return (Published("kimi_k2", "kimi_k2", {}),)


# The digests of the OpenAI files stand in tiktoken 0.14.0, tiktoken_ext/openai_public.py; those of Llama are of the files in the
# package llama-models 0.3.0, Meta's own, whose tokenizer.py has the special tokens ("llama3" has those of its first release); the one
# of Qwen is of the file in the package dashscope 2.0.2; that of Kimi of moonshotai/Kimi-K2-Instruct.
KNOWN: dict[str, Callable[[], tuple[Published, ...]]] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": r50k,
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": p50k,
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": cl100k,
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": o200k,
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": qwen,
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": llama3,
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": llama4,
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": kimi,
}


def published(digest: str) -> tuple[Published, ...]:
    """What is published with the ranks of this file, the usual one first."""
    return KNOWN[digest]() if digest in KNOWN else ()


def is_published(name: str) -> bool:
    """Whether some rank file is published under this name."""
    return any(one.name == name for entries in KNOWN.values() for one in entries())


def digest_of(name: str) -> str:
    """The SHA-256 of the rank file that is published under this name; KeyError if none is."""
    for digest, entries in KNOWN.items():
        if any(one.name == name for one in entries()):
            return digest
    raise KeyError(name)
