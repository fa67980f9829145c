"""What the commands for tokens have in common: how a tokenizer, its special tokens and the inputs are chosen."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..decompression import COMPRESSED
from ..documents import Around
from ..inputs import FORMS, STANDARD_INPUT, Found, Source, find
from ..opening import is_open_here
from ..outputs import refuse_inputs
from . import as_text

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = [
    "AS_THEY_COME", "INPUTS", "NAMED", "TOKENIZER", "around", "refuse_device", "refuse_outputs", "sources", "special", "tokenizer", "tokenizer_files",
    "tokenizer_of", "which_inputs", "which_special", "which_tokenizer",
]  # fmt: skip

TOKENIZER = """\
tokenizers (-t):
  a file        .tiktoken ranks, tokenizer.json, tekken.json, a minbpe model, or what 'bitlex vocab --save' wrote; a folder with a
                tokenizer.json. Its content says what it is. Rank files that are not known need --family or --pattern, and --special
  a name        cl100k_base and the others of OpenAI (from BITLEX_VOCABULARY, from tiktoken's cache, or fetched into that); or of a model on
                the Hugging Face hub, such as Qwen/Qwen3-8B (needs huggingface_hub)
"""
INPUTS = """\
inputs:
  paths, globs in quotes ('data/**/*.jsonl.gz', ** for folders in folders), '-' for standard input. Files that end in .gz, .bz2, .xz and
  .zst are decompressed. --input says what a file is, else its name does: .jsonl, .ndjson and .parquet; text otherwise
    text      a file is one document. It is mapped into memory; one that is compressed, or comes from a pipe, is read
    lines     a line is one, without the line break at its end
    jsonl     a line is one: a string, or what is at --field of an object. Empty lines are passed over
    parquet   a row is one: the column --field (needs pyarrow)
"""
NAMED = "name a file"  # instead of what is no file, where nothing goes to standard output
AS_THEY_COME = """\
  All but a file that is mapped take the same memory, however long: text from a pipe or a compressed file is done in parts, as are lines.
"""


def which_tokenizer(to: argparse.ArgumentParser, *, positional: bool = False) -> None:
    if positional:
        to.add_argument("tokenizer", metavar="TOKENIZER", help="a file, or a name on the hub; see below")
    else:
        to.add_argument("-t", "--tokenizer", required=True, metavar="TOKENIZER", help="a file, or a name on the hub; see below")
    own = to.add_argument_group("for rank files")
    which = own.add_mutually_exclusive_group()
    which.add_argument("--family", help="the family that cuts the text, as 'bitlex families' lists them")
    which.add_argument("--pattern", type=as_text, help="the regular expression that does, as tiktoken would run it")
    own.add_argument("--special", action="append", type=named, metavar="NAME=ID", help="a special token, not the known ones; as often as needed")
    own.add_argument("--name", help="which one is meant, of a file that is published under several names (o200k_harmony)")


def named(given: str) -> tuple[str, int]:
    """A special token and its id, for argparse."""
    from ..vocabulary import MOST_IDS

    name, _, number = as_text(given).rpartition("=")
    if not name or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"not NAME=ID: {given!r}")
    if len(number.lstrip("0")) > 7 or int(number) >= MOST_IDS:
        raise argparse.ArgumentTypeError(f"{given!r}: an id may be up to {MOST_IDS - 1:,}")
    return name, int(number)


def tokenizer(options: argparse.Namespace) -> Tokenizer:
    asked: dict[str, Any] = {name: getattr(options, name) for name in ("family", "pattern", "name") if getattr(options, name) is not None}
    if options.special is not None:
        asked["special"] = distinct(options.special)
    return tokenizer_of(options.tokenizer, **asked)


def distinct(special: list[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, number in special:
        if found.setdefault(name, number) != number:
            raise ValueError(f"--special: {name!r} is given as {found[name]} and as {number}")
    return found


def tokenizer_of(source: str, **asked: Any) -> Tokenizer:
    """The tokenizer of a file or a name, with the options of rank files."""
    from ..compat.rank_files import is_name
    from ..hub import tokenizer_json
    from ..tokenizer import Tokenizer

    if is_name(source) and (source != "gpt2" or asked):  # gpt2 is a model, too, with the same tokens
        found = Tokenizer.from_tiktoken(source, **asked)
    else:
        path = tokenizer_json(source)
        try:
            found = Tokenizer.from_file(path, **asked)
        except TypeError as error:  # a saved one is complete
            raise ValueError(f"{source}: {error}") from None
    if "name" in asked:
        refuse_unknown(asked["name"], source, found)
    return found


def refuse_unknown(name: str, source: str, found: Tokenizer) -> None:
    """A name that a published file has not: a misspelled one would be a label, and the tokenizer the usual one. A file of one's own has none."""
    from difflib import get_close_matches

    from ..vocabularies.published import published

    if found.description.format != "tiktoken":
        raise ValueError(f"{source}: --name says which one is meant of a rank file that is published under several names, and this is none")
    names = [one.name for one in published(found.description.digest)]
    if names and name not in names:
        meant = "".join(f" (did you mean {one}?)" for one in get_close_matches(name, names, n=1))
        raise ValueError(f"{source}: is published as {' and '.join(names)}, and not as {name!r}{meant}")


def tokenizer_files(source: str) -> list[str]:
    """What a tokenizer is read from, if that is here and not far away: an input, like any other."""
    from ..hub import tokenizer_json

    return [str(tokenizer_json(source))] if os.path.exists(source) else []


def which_special(to: argparse.ArgumentParser, *, around: bool = True) -> None:
    own = to.add_argument_group("special tokens in the text (default: what the tokenizer's own library does)")
    which = own.add_mutually_exclusive_group()
    which.add_argument(
        "--allow-special", action="append", type=as_text, metavar="NAME", help="take it for what it is; 'all': take all; as often as needed"
    )
    which.add_argument("--ordinary", action="store_true", help="take none: they are text like any other")
    if around:
        own.add_argument("--add-special-tokens", action="store_true", help="put around each document what the model's template does")
        own.add_argument("--append", type=as_text, metavar="NAME", help="put this special token behind each document")


def special(options: argparse.Namespace, chosen: Tokenizer) -> dict[str, Any]:
    """What the methods of a Tokenizer take."""
    if options.ordinary:
        return {"allowed_special": (), "disallowed_special": ()}
    if options.allow_special is None:
        return {}
    for name in options.allow_special:
        if name != "all":
            special_id("--allow-special", name, options, chosen)
    if "all" in options.allow_special:
        return {"allowed_special": "all"}
    return {"allowed_special": options.allow_special}


def special_id(option: str, name: str, options: argparse.Namespace, chosen: Tokenizer) -> int:
    if name not in chosen.special_tokens:
        raise ValueError(f"{option}: {name!r} is no special token of {options.tokenizer}; 'bitlex vocab' lists them")
    return chosen.special_tokens[name]


def around(options: argparse.Namespace, chosen: Tokenizer) -> Around:
    """The ids to put before and behind each document."""
    before, behind = (chosen.description.prefix, chosen.description.suffix) if options.add_special_tokens else ((), ())
    if options.append is not None:
        behind = (*behind, special_id("--append", options.append, options, chosen))
    return Around(before, behind)


def which_inputs(to: argparse.ArgumentParser) -> None:
    to.add_argument("files", nargs="*", metavar="FILE", help="see below; '-', or none at all, is standard input")
    to.add_argument("--input", choices=FORMS, help="what the files are (default: what their names say)")
    to.add_argument(
        "--field", type=as_text, default="text", metavar="NAME.NAME", help="where a document is, in jsonl and parquet (default: %(default)s)"
    )
    to.add_argument("--threads", type=int, default=0, metavar="N", help="how many; 0, the default: as many as there are cores")


def sources(options: argparse.Namespace, found: list[Found] | None = None) -> list[Source]:
    found = find(options.files or [STANDARD_INPUT]) if found is None else found
    return [Source(one.path, options.input, options.field) for one in found]


def refuse_outputs(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """No output may take the place of an input, or be named as what is compressed, and is not."""
    outputs = list(outputs)
    refuse_inputs(inputs, outputs)
    for output in map(PurePath, outputs):
        if output.suffix in COMPRESSED:
            raise ValueError(f"{output}: what is written is not compressed; give it a name without {output.suffix}")


def refuse_device(path: str | None, instead: str = "leave -o out for standard output") -> None:
    """Said to those who mean standard output by /dev/stdout, which may be a file, or by "-"; and what to do `instead`."""
    if path is None or os.path.isdir(path):
        return
    if path == STANDARD_INPUT:
        raise ValueError(f"-: {instead}; a file of that name is ./-")
    if os.path.exists(path) and (is_open_here(path) or not os.path.isfile(path)):
        raise ValueError(f"{path}: a device or a pipe, of which a file cannot take the place; {instead}")
