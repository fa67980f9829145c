"""What tiktoken.load has: rank files in, from a path or an address; the rank of each token out.

    load_tiktoken_bpe("qwen.tiktoken")                          # {b"!": 0, b'"': 1, ...}
    dump_tiktoken_bpe({b"a": 0}, "one.tiktoken")

Tokenizers of models (Llama 3's and Kimi's, for example) take their ranks from here, and make an Encoding of them. What an address has is
kept in the cache of tiktoken, under the same names. Invariant: what tiktoken 0.14 returns for the same content. Rejected: a cache of files
that are on the disk already, which gives the old content of one that has changed.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING

from ...outputs import whole_files
from ...vocabularies.byte_alphabet import ALPHABET, to_bytes
from ..rank_files import cached, chosen_cache, download

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "check_hash", "data_gym_to_mergeable_bpe_ranks", "dump_tiktoken_bpe", "load_tiktoken_bpe", "read_file", "read_file_cached"
]  # fmt: skip

SPECIAL = (b"<|endoftext|>", b"<|startoftext|>")  # which encoder.json may have beside the tokens that are merged


def read_file(blobpath: str) -> bytes:
    """What is at a path, or an address; those that are not of the web are read by the package blobfile. OSError if it cannot be had."""
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    if blobpath.startswith(("http://", "https://")):
        return download(blobpath)
    try:
        import blobfile
    except ImportError as error:
        raise ImportError(f"{blobpath} is read by the package blobfile: pip install blobfile") from error
    data: bytes = blobfile.read_bytes(blobpath)
    return data


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether this is the SHA-256 of the data."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """The same; what comes from an address is kept. ValueError if it has another SHA-256."""
    place = cached(blobpath) if "://" in blobpath else None
    if place is not None:
        with suppress(OSError):
            kept = place.read_bytes()
            if expected_hash is None or check_hash(kept, expected_hash):
                return kept
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise ValueError(f"{blobpath}: the SHA-256 is {hashlib.sha256(data).hexdigest()}, not {expected_hash}; is it whole?")
    if place is not None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with whole_files(place) as (file,):
                file.write(data)
        except OSError:
            if chosen_cache() is not None:  # who says where it is to be kept is told that it cannot
                raise
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks of a file. ValueError for a line that is not a token in base64 and a number."""
    ranks = {}
    for number, line in enumerate(read_file_cached(tiktoken_bpe_file, expected_hash).splitlines(), 1):
        if line:
            try:
                token, rank = line.split()
                ranks[b64decode(token)] = int(rank)
            except ValueError as error:
                raise ValueError(f"{tiktoken_bpe_file}: line {number} is {line!r:.80}, not a token in base64 and its rank") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write ranks. The file is there when it is whole. ValueError for an address."""
    if "://" in tiktoken_bpe_file:
        raise ValueError(f"{tiktoken_bpe_file}: only files are written")
    with whole_files(tiktoken_bpe_file) as (file,):
        for token, rank in sorted(bpe_ranks.items(), key=itemgetter(1)):
            file.write(b64encode(token) + b" %d\n" % rank)


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str, encoder_json_file: str, vocab_bpe_hash: str | None = None, encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:  # fmt: skip
    """The ranks of GPT-2's two files: merges, in their order, and ids, which are compared with these. `clobber_one_byte_tokens`: the ids of
    bytes are those of the second file. AssertionError if the files differ."""
    lines = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    ranks = {bytes([byte]): rank for rank, byte in enumerate(sorted(range(256), key=ALPHABET.__getitem__))}
    for rank, line in enumerate(lines, 256):
        first, second = line.split()
        ranks[spelled(first) + spelled(second)] = rank
    ids = {spelled(token): number for token, number in json.loads(read_file_cached(encoder_json_file, encoder_json_hash)).items()}
    ids = {token: number for token, number in ids.items() if token not in SPECIAL}
    if clobber_one_byte_tokens:
        ranks |= {token: number for token, number in ids.items() if len(token) == 1}
    if ranks != ids:
        raise AssertionError(f"{encoder_json_file} has other ids than the merges of {vocab_bpe_file} make")
    return ranks


def spelled(token: str) -> bytes:
    """The bytes of a token; KeyError for one that is not of the byte alphabet."""
    try:
        return to_bytes(token)
    except UnicodeEncodeError as error:
        raise KeyError(token[error.start]) from None
