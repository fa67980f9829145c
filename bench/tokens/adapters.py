"""How each tokenizer is opened and called: a vocabulary's files in, functions that take a text out. Runs in any Python, without bitlex.

    opened = ADAPTERS["tiktoken"].open(Files(kind="ranks", path="cl100k_base.tiktoken", ...), threads=1)
    opened.outputs["list"]("hello world")                  # [15339, 1917]
    as_ids(opened.outputs["list"]("hello world"))          # array("I", [15339, 1917]), of whatever came out

An output is a "list" of int, an "array" (numpy, or bytes that numpy reads in place), or an "object" from which ids can be had but have
not been. `outputs` begins with what is cheapest, and has only what the package itself makes: ids only, nothing put around them. What
cannot be opened is an Unavailable that says why. This file and worker.py are run by the interpreters of others, so they import nothing
but Python's own library and the tokenizer. Rejected: the packages' imitations of each other's interfaces (they cost time of their own).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


class Unavailable(Exception):
    """A tokenizer that cannot be measured with this vocabulary; the message is the reason."""


@dataclass(frozen=True)
class Files:
    """A vocabulary as one tokenizer is given it. kind: "ranks", "json", "saved" (by bitlex), or "name" for those that bring their own
    files. What follows `name` is what rank files do not say; `published`: bitlex knows it by the file's digest."""

    kind: str
    path: str
    name: str
    family: str | None = None
    pattern: str | None = None
    special: Mapping[str, int] | None = None
    published: bool = True


@dataclass(frozen=True)
class Opened:
    """`decode`, to "str" or to "bytes", takes what `prepare` makes of a list of ids; `batch` takes a list of texts."""

    outputs: Mapping[str, Call]
    decode: Mapping[str, Call]
    prepare: Call = list
    batch: Call | None = None


@dataclass(frozen=True)
class Adapter:
    """`reads`: kinds of files, the best first; `limit`: how many bytes of a text are enough for one that is slow."""

    module: str
    package: str
    reads: Sequence[str]
    open: Callable[[Files, int], Opened]
    limit: int = 1 << 40


def as_ids(result: Any) -> array[int]:
    """The ids of what came out, for one text or, one after another, for several."""
    if isinstance(result, tuple):  # a flat batch, and where its texts begin
        return as_ids(result[0])
    if hasattr(result, "ids"):
        return as_ids(result.ids)
    if hasattr(result, "layout"):  # of the package awkward
        return as_ids(import_module("awkward").flatten(result).to_numpy())
    ids = array("I")
    if isinstance(result, bytes):
        ids.frombytes(result)
    elif hasattr(result, "astype"):
        ids.frombytes(result.astype("uint32").tobytes())
    elif result and not isinstance(result[0], int):
        for one in result:
            ids.extend(as_ids(one))
    else:
        ids.extend(result)
    return ids


def array_of(ids: Sequence[int]) -> Any:
    numpy = import_module("numpy")
    return numpy.array(ids, numpy.uint32)


def embedded(files: Files, names: Sequence[str]) -> str:
    """Its name, if it is among those that a package brings with it."""
    if files.name not in names:
        raise Unavailable("brings its own vocabularies, and this is none of them")
    return files.name


def attribute_ids(encode: Call) -> Call:
    return lambda text: encode(text).ids


def first_of_batch(encode_batch: Call) -> Call:
    """The ids of one text, as bytes or as an array, from a function that takes several."""
    return lambda text: encode_batch([text])[0]


def open_bitlex(files: Files, threads: int) -> Opened:
    tokenizer_class = import_module("bitlex").Tokenizer
    options = {} if files.kind != "ranks" or files.published else {"family": files.family, "special": files.special}
    tokenizer = tokenizer_class.from_file(files.path, **options)
    outputs: dict[str, Call] = {"array": tokenizer.encode_to_numpy, "list": tokenizer.encode}
    if threads > 1:  # otherwise there is no layer in between, where a call of 50 bytes is timed
        outputs = {output: partial(call, threads=threads) for output, call in outputs.items()}
    decode = {"str": tokenizer.decode, "bytes": tokenizer.decode_bytes}
    return Opened(outputs, decode, array_of, partial(tokenizer.encode_batch_to_numpy, threads=threads))


def open_tiktoken(files: Files, threads: int) -> Opened:
    ranks = import_module("tiktoken.load").load_tiktoken_bpe(files.path)
    encoding = import_module("tiktoken").Encoding(
        name=files.name, pat_str=files.pattern, mergeable_ranks=ranks, special_tokens=dict(files.special or {})
    )
    outputs = {"list": encoding.encode_ordinary}
    if threads == 1:
        outputs["array"] = encoding.encode_to_numpy
    decode = {"str": encoding.decode, "bytes": encoding.decode_bytes}
    return Opened(outputs, decode, batch=partial(encoding.encode_ordinary_batch, num_threads=threads))


def open_tokenizers(files: Files, threads: int, arrays: bool = False) -> Opened:
    module = import_module("tokenizers")
    if hasattr(module.Encoding, "ids_array") != arrays:
        raise Unavailable("the package installed here is of another version; --python names an interpreter that has it")
    tokenizer = module.Tokenizer.from_file(files.path)
    encode = partial(tokenizer.encode, add_special_tokens=False)
    batch = partial(tokenizer.encode_batch, add_special_tokens=False)
    decode = {"str": partial(tokenizer.decode, skip_special_tokens=False)}
    return Opened({"object": encode, "list": attribute_ids(encode)}, decode, batch=batch)


def open_tokenizers_1(files: Files, threads: int) -> Opened:
    opened = open_tokenizers(files, threads, arrays=True)
    encode = opened.outputs["object"]
    return Opened({**opened.outputs, "array": lambda text: encode(text).ids_array}, opened.decode, batch=opened.batch)


def open_gigatoken(files: Files, threads: int) -> Opened:
    tokenizer_class = import_module("gigatoken").Tokenizer
    if files.kind == "ranks":
        known = {"gpt2": "gpt2", "cl100k": "gpt4", "o200k": "o200k", "qwen2": "qwen2"}
        if files.family not in known:
            raise Unavailable(f"does not know the pattern of {files.family}")
        tokenizer = tokenizer_class.from_tiktoken(files.path, known[files.family], dict(files.special or {}))
    else:
        tokenizer = tokenizer_class.from_json(Path(files.path).read_bytes())
    return Opened({"array": tokenizer.encode}, {"bytes": tokenizer.decode}, array_of, tokenizer.encode_batch)


def open_fastokens(files: Files, threads: int) -> Opened:
    tokenizer_class = import_module("fastokens").Tokenizer
    if files.kind == "ranks":
        tokenizer = tokenizer_class.from_tiktoken(files.path, pattern=files.pattern, special_tokens=dict(files.special or {}))
    else:
        tokenizer = tokenizer_class.from_file(files.path)
    return objects_and_flat_batches(tokenizer)


def open_snaptokens(files: Files, threads: int) -> Opened:
    return objects_and_flat_batches(import_module("snaptokens").Tokenizer.from_file(files.path))


def objects_and_flat_batches(tokenizer: Any) -> Opened:
    """fastokens and snaptokens: an object that keeps its ids to itself until they are asked for, and batches in one buffer."""
    flat = tokenizer.encode_batch_flat
    outputs = {"object": tokenizer.encode, "array": first_of_batch(flat), "list": attribute_ids(tokenizer.encode)}
    return Opened(outputs, {"str": tokenizer.decode}, batch=flat)


def open_rs_bpe(files: Files, threads: int) -> Opened:
    module = import_module("rs_bpe").openai
    tokenizer = getattr(module, embedded(files, ("cl100k_base", "o200k_base")))()
    batch = tokenizer.encode_batch
    if threads > 1:
        options = module.ParallelOptions(min_batch_size=20, chunk_size=100, max_threads=threads)
        batch = partial(tokenizer.encode_batch_parallel, options=options)
    return Opened({"list": tokenizer.encode}, {"str": tokenizer.decode}, batch=batch)


def open_bpe_openai(files: Files, threads: int) -> Opened:
    module = import_module("bpe_openai")
    encoding = module.get_encoding(embedded(files, module.list_encoding_names()))
    batch = partial(encoding.encode_ordinary_batch, num_threads=threads)
    return Opened({"list": encoding.encode_ordinary}, {"str": encoding.decode}, batch=batch)


def open_toktok(files: Files, threads: int) -> Opened:
    """Its public functions count only; the tokenizer beneath is said to be there for those who want ids."""
    module = import_module("toktok")
    tokenizer = module._encoding(embedded(files, module._BUILTIN))
    outputs = {"array": tokenizer.encode_to_numpy, "list": tokenizer.encode_ordinary}
    return Opened(outputs, {"str": tokenizer.decode}, batch=tokenizer.encode_batch)


def open_quicktok(files: Files, threads: int) -> Opened:
    try:
        tokenizer = import_module("quicktok").get_encoding(files.name)
    except (KeyError, ValueError, OSError, RuntimeError):
        raise Unavailable("brings its own vocabularies, and this is none of them") from None
    batch = partial(tokenizer.encode_batch, threads=threads)
    return Opened({"list": tokenizer.encode_ordinary, "array": first_of_batch(batch)}, {"str": tokenizer.decode}, batch=batch)


def open_tokie(files: Files, threads: int) -> Opened:
    tokenizer = import_module("tokie").Tokenizer.from_json(files.path)
    encode: Call = partial(tokenizer.encode, add_special_tokens=False)
    flat = partial(tokenizer.encode_batch_flat, add_special_tokens=False)
    outputs: dict[str, Call] = {"object": encode, "array": first_of_batch(flat), "list": attribute_ids(encode)}
    return Opened(outputs, {"str": tokenizer.decode}, batch=flat)


def open_kitoken(files: Files, threads: int) -> Opened:
    kitoken = import_module("kitoken").Kitoken
    tokenizer = (kitoken.from_tiktoken_file if files.kind == "ranks" else kitoken.from_tokenizers_file)(files.path)
    return Opened({"list": tokenizer.encode}, {"bytes": tokenizer.decode}, batch=tokenizer.encode_all)


def open_iree(files: Files, threads: int) -> Opened:
    tokenizer_class = import_module("iree.tokenizer").Tokenizer
    from_ranks = partial(tokenizer_class.from_tiktoken, encoding=files.name)
    tokenizer = (from_ranks if files.kind == "ranks" else tokenizer_class.from_file)(files.path)
    outputs = {"array": tokenizer.encode_to_array, "list": tokenizer.encode}
    return Opened(outputs, {"str": tokenizer.decode}, batch=tokenizer.encode_batch_to_array)


ADAPTERS = {
    "bitlex": Adapter("bitlex", "bitlex", ("ranks", "json"), open_bitlex),
    "tiktoken": Adapter("tiktoken", "tiktoken", ("ranks",), open_tiktoken),
    "tokenizers": Adapter("tokenizers", "tokenizers", ("json",), open_tokenizers, 1_000_000),
    "tokenizers 1": Adapter("tokenizers", "tokenizers", ("json",), open_tokenizers_1),
    "gigatoken": Adapter("gigatoken", "gigatoken", ("ranks", "json"), open_gigatoken),
    "fastokens": Adapter("fastokens", "fastokens", ("ranks", "json"), open_fastokens),
    "snaptokens": Adapter("snaptokens", "snaptokens", ("json",), open_snaptokens),
    "rs-bpe": Adapter("rs_bpe", "rs-bpe", ("name",), open_rs_bpe),
    "bpe-openai": Adapter("bpe_openai", "bpe-openai", ("name",), open_bpe_openai),
    "toktok-rs": Adapter("toktok", "toktok-rs", ("name",), open_toktok),
    "quicktok-v1": Adapter("quicktok", "quicktok-v1", ("name",), open_quicktok),
    "tokie": Adapter("tokie", "tokie", ("json",), open_tokie),
    "kitoken": Adapter("kitoken", "kitoken", ("ranks", "json"), open_kitoken),
    "iree-tokenizer": Adapter("iree.tokenizer", "iree-tokenizer", ("ranks", "json"), open_iree),
}
