"""bitlex.compat.huggingface as the backend of a fast tokenizer of transformers, next to the original; where transformers is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bitlex.compat.huggingface import Tokenizer
from test_compat_huggingface import KINDS

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXTS = ["hello <new> world", "é中 e\u0301 word <s>", ""]
CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda one: one(TEXTS).data,
    "padded": lambda one: one(TEXTS, padding=True, return_offsets_mapping=True, return_special_tokens_mask=True).data,
    "cut": lambda one: one(TEXTS, truncation=True, max_length=5, stride=1, return_overflowing_tokens=True).data,
    "pair": lambda one: one("hello", "world").data,
    "words": lambda one: one(["hello", "world"], is_split_into_words=True).word_ids(),
    "places": lambda one: one("hello world").char_to_token(7),
    "arrays": lambda one: {
        key: found.tolist() for key, found in one(TEXTS, padding="max_length", max_length=20, return_tensors="np").data.items()
    },
    "special tokens as text": lambda one: one("a<pad>", split_special_tokens=True).data,
    "tokens": lambda one: (one.tokenize("hello <new> é"), one("hello").tokens(), one.convert_ids_to_tokens([1, 2, 260])),
    "ids": lambda one: one.convert_tokens_to_ids(["\u0120wor", "<new>", "nonsense"]),
    "decoded": lambda one: (one.decode(one.encode("hello é<pad>"), skip_special_tokens=True), one.batch_decode([[65, 66], [67]])),
    "joined": lambda one: one.convert_tokens_to_string(["\u0120w", "hello"]),
    "sizes": lambda one: (len(one), one.vocab_size, one.get_vocab(), one.num_special_tokens_to_add(True)),
    "added": lambda one: sorted(map(str, one.added_tokens_decoder.values())),
}


def fast(source: Any) -> Any:
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=source)
    made.add_special_tokens({"pad_token": "<pad>"})
    made.add_tokens(["<new>"])
    return made


@pytest.mark.parametrize("name", ["plain", "template", "roberta", "byte level, template"])
def test_as_a_backend(name: str, tmp_path: Path) -> None:
    data = json.dumps(KINDS[name])
    mine, theirs = fast(Tokenizer.from_str(data)), fast(tokenizers.Tokenizer.from_str(data))
    assert type(mine.backend_tokenizer) is Tokenizer
    for what, call in CALLS.items():
        assert call(mine) == call(theirs), what
    mine.save_pretrained(tmp_path)
    assert transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)(TEXTS).data == theirs(TEXTS).data
