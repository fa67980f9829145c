"""`bitlex vocab`: a tokenizer in; what it is, its tokens, or its fast-loading form out."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ..formats import json_shown, visible
from . import Commands, as_text
from .choosing import NAMED, TOKENIZER, refuse_device, refuse_outputs, tokenizer, tokenizer_files, which_tokenizer
from .console import complain, print_table, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..tokenizer import Tokenizer

__all__ = ["add"]

VOCAB = """\
what is printed:
  what the tokenizer is, its special tokens, its longest tokens, and which tokens no merging reaches: text is only encoded to those where
  it is a piece by itself and pieces are looked up whole, and otherwise never. With --id, --token or --list, tokens: the id, how many
  bytes, and the token as 'bitlex split' prints it. With --json, all of it as JSON

examples:
  bitlex vocab cl100k_base.tiktoken
  bitlex vocab tokenizer.json --id 15339 --token ' world'
  bitlex vocab Qwen/Qwen3-8B --save qwen3.bitlex
  bitlex vocab mine.tiktoken --family cl100k --special '<|end|>=100300' --list | less
"""
SHOWN = 5  # examples
WIDEST = 60  # characters of one


def add(commands: Commands) -> None:
    mine = commands.add("vocab", run_vocab, "say what a tokenizer is, look up its tokens, or save it", TOKENIZER, VOCAB)
    which_tokenizer(mine, positional=True)
    mine.add_argument("--id", action="append", type=int, default=[], metavar="ID", help="print this token; may be given several times")
    mine.add_argument("--token", action="append", type=as_text, default=[], metavar="TEXT", help="print the token that is this text; the same")
    mine.add_argument("--list", action="store_true", help="print all tokens")
    mine.add_argument("--save", metavar="FILE", help="write the form that loads in milliseconds; it is there when it is whole")
    mine.add_argument("--json", action="store_true", help="print JSON")


def run_vocab(options: argparse.Namespace) -> int:
    chosen = tokenizer(options)
    if options.save is not None:
        refuse_device(options.save, NAMED)
        refuse_outputs(tokenizer_files(options.tokenizer), [options.save])
        chosen.save(options.save)
    if options.id or options.token or options.list:
        return print_tokens(options, chosen)
    if options.save is not None and not options.json:
        return 0
    about = facts(chosen)
    if options.json:
        print(json_shown(about, indent=2))
    else:
        rows = [(name.replace("_", " ") if not at else "", line) for name, value in about.items() for at, line in enumerate(in_words(value))]
        print_table(rows)
    return 0


def print_tokens(options: argparse.Namespace, chosen: Tokenizer) -> int:
    code = 0
    wanted = all_ids(chosen) if options.list else []
    for number in options.id:
        if bytes_of(chosen, number) is None:
            code = complain(f"{number} is no token of {chosen.name}")
        else:
            wanted.append(number)
    for text in options.token:
        found = chosen.token_to_id(text if text in chosen.special_tokens else text.encode("utf-8", "surrogateescape"))
        if found is None:
            code = complain(f"{text!r} is no token of {chosen.name}")
        else:
            wanted.append(found)
    if options.json:
        print(json.dumps([one(chosen, number) for number in wanted], indent=2))
    elif options.list:
        write(f"{number}\t{len(data)}\t{visible(data)}\n".encode() for number, data in with_bytes(chosen, wanted))
    elif wanted:
        special = dict.fromkeys(chosen.special_tokens.values(), "special")
        rows = [(str(n), str(len(data)), special.get(n, ""), visible(data)) for n, data in with_bytes(chosen, wanted)]
        print_table([("ID", "BYTES", "KIND", "TOKEN"), *rows])
    return code


def all_ids(chosen: Tokenizer) -> list[int]:
    return [number for number in range(chosen.vocabulary_size) if bytes_of(chosen, number) is not None]


def bytes_of(chosen: Tokenizer, number: int) -> bytes | None:
    try:
        return chosen.token_bytes(number)
    except (KeyError, ValueError, OverflowError):
        return None


def with_bytes(chosen: Tokenizer, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    return ((number, chosen.token_bytes(number)) for number in numbers)


def one(chosen: Tokenizer, number: int) -> dict[str, Any]:
    data = chosen.token_bytes(number)
    return {
        "id": number, "text": data.decode("utf-8", "surrogateescape"), "bytes": list(data),
        "special": number in chosen.special_tokens.values(),
    }  # fmt: skip


def facts(chosen: Tokenizer) -> dict[str, Any]:
    """What there is to say about a tokenizer."""
    description = chosen.description
    vocabulary = description.vocabulary
    numbers = all_ids(chosen)
    ordinary = [number for number in numbers if number < len(vocabulary) and vocabulary.token_bytes(number)]
    longest = sorted(ordinary, key=lambda number: -len(vocabulary.token_bytes(number)))[:SHOWN]
    around = [list(description.prefix), list(description.suffix)]
    present = vocabulary.ids
    return {
        "name": chosen.name, "format": description.format, "digest": description.digest,
        "family": description.family, "steps": [dict(step) for step in chosen.lexer.steps],
        "engine": f"{chosen.lexer.dialect}, Unicode {chosen.lexer.unicode}",
        "normalizer": description.normalizer, "prefix_space": description.prefix_space, "convention": description.convention,
        "ids": chosen.vocabulary_size, "tokens": len(numbers), "ids_without_token": chosen.vocabulary_size - len(numbers),
        "merges": "by rank" if vocabulary.merges is None else len(vocabulary.merges) // 12, "pieces_are_looked_up_whole": vocabulary.whole,
        "bytes_without_token": [byte for byte in range(256) if bytes([byte]) not in present],
        "template": around, "special_tokens": dict(chosen.special_tokens),
        "longest_tokens": [one(chosen, number) for number in longest],
        "tokens_not_reached_by_merging": [one(chosen, number) for number in not_merged(chosen)],
    }  # fmt: skip


def not_merged(chosen: Tokenizer) -> list[int]:
    """The tokens whose own bytes do not merge to them."""
    from dataclasses import replace

    from ..compiler import compile
    from ..encoders import make_encoder
    from ..vocabulary import Vocabulary

    known = chosen.description.vocabulary
    bare = Vocabulary(known.blob, known.starts, known.merges, False)
    encoder = make_encoder(replace(chosen.description, vocabulary=bare), compile(None))  # which cuts nothing
    tokens = [(number, token) for number, token in enumerate(bare.tokens()) if token]
    missing = bytes(byte for byte in range(256) if bytes([byte]) not in bare.ids)
    if missing:  # what has such a byte is not reached, and cannot be tried
        tokens = [(number, token) for number, token in tokens if not any(byte in missing for byte in token)]
    found = encoder.encode_batch([token for _, token in tokens], None, None, 1)
    merged = {number for (number, _), ids in zip(tokens, found, strict=True) if ids == [number]}
    return [number for number, token in enumerate(known.tokens()) if token and number not in merged]


def in_words(value: Any) -> list[str]:
    """A fact in one line, or in several."""
    if value is None or value == [] or value == {} or value == [[], []]:
        return ["none"]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, int):
        return [f"{value:,}"]
    if isinstance(value, dict):
        lines = [f"{number:>7}  {visible(name.encode())}" for name, number in value.items()]
    elif isinstance(value, list) and isinstance(value[0], dict):
        lines = [token_in_words(each) if "bytes" in each else json.dumps(each, ensure_ascii=False) for each in value]
    elif isinstance(value, list):
        lines = [", ".join(map(str, value))]
    else:
        lines = [str(value)]
    more = [f"and {len(lines) - SHOWN:,} more: --json has them all"] if len(lines) > SHOWN else []
    return lines[:SHOWN] + more


def token_in_words(token: dict[str, Any]) -> str:
    shown = visible(bytes(token["bytes"]))
    return f"{token['id']:>7}  {len(token['bytes'])} bytes: [{shown if len(shown) <= WIDEST else shown[:WIDEST] + '...'}]"
