"""Rank files of tiktoken: a token in base64 and its rank on each line, in the order in which tokens merge. And tiktoken's Encoding.

    IQ== 0
    Ig== 1

In: the bytes of such a file, or an Encoding in memory. Out: a Description. A file says nothing but the ranks; what cuts the text and
which special tokens there are is known of published files by their digest (published.py), and must be given for others.

Invariant: what is read is what tiktoken reads; what tiktoken would overwrite, or panic at later, is refused: a token twice, a rank
twice, a token with a byte that is no token. The empty token, which Whisper's file has as "= 50256", is an id that decodes to nothing.
Rejected: reading line by line (three times slower); only a file that is not as it should be is read so, to name the line.
"""

from __future__ import annotations

import hashlib
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from operator import index, itemgetter
from typing import Any

from ..catalogue import canonical_name
from ..vocabulary import MOST_IDS, AddedToken, Description, Vocabulary, VocabularyError
from .json_fields import quoted
from .matching import UNICODE, family_of, matches_of
from .published import Published, is_published, published

__all__ = ["BASE64", "looks_like_ranks", "of_encoding", "parse_ranks", "read_tiktoken", "special_tokens"]

BASE64 = rb"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+"  # binascii's own strict mode lets "YWJj=" pass
# The whole of a file as tiktoken writes it: in each line a token, a space and a number.
AS_WRITTEN = rb"(?:(?=[^ ])" + BASE64 + rb" [0-9]{1,20}+(?:\r?\n|\Z))++"


def looks_like_ranks(data: bytes) -> bool:
    """Whether the first line that is not empty is a token and a rank."""
    return re.match(rb"\s*[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t]*(?:[\r\n]|$)", data) is not None


def read_tiktoken(
    data: bytes, where: str, *, name: str | None = None, family: str | None = None, pattern: str | None = None,
    special: Mapping[str, int] | None = None,
) -> Description:  # fmt: skip
    """The Description of a rank file; `where` begins the messages of errors.

    name     what to call it; of files that are published under several names, it also says which one is meant ("o200k_harmony")
    family   the family of the catalogue that cuts the text; or
    pattern  the regular expression that does, in tiktoken's dialect
    special  the ids of special tokens, instead of those that are known
    """
    digest = hashlib.sha256(data).hexdigest()
    known = chosen(published(digest), name)
    if known is not None and name is not None and name != known.name and is_published(name):
        raise VocabularyError(f"{where}: name= is {name}, and this is the file of {known.name}")
    if family is not None and pattern is not None:
        raise VocabularyError(f"{where}: both family= and pattern= are given")
    if family is not None:
        try:
            family = canonical_name(family)
        except ValueError as error:
            raise VocabularyError(f"{where}: {error}") from None
    if known is None and family is None and pattern is None:
        raise VocabularyError(f"{where}: a rank file that is not known (SHA-256 {digest}): say family= or pattern=, and special=")
    return describe(
        fast_vocabulary(data) or parse_ranks(data, where), where, digest, name=name or (known.name if known else digest[:12]),
        family=family or (known.family if known else None), pattern=pattern,
        special=special if special is not None else (known.special if known else {}), spelled=known.spelled if known else {},
    )  # fmt: skip


def of_encoding(encoding: Any, name: str | None = None) -> Description:
    """The Description of a tiktoken.Encoding. Its digest is that of the rank file that tiktoken would write of it."""
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    lines = [b"%b %d\n" % (b2a_base64(token, newline=False), rank) for token, rank in sorted(ranks.items(), key=itemgetter(1))]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    known = chosen(published(digest), encoding.name)
    special = {content: int(index(number)) for content, number in encoding._special_tokens.items()}  # tiktoken takes numpy's, too
    spelled = known.spelled if known and known.special == special else {}
    where = f"Encoding {encoding.name!r}"
    return describe(ranks, where, digest, name=name or encoding.name, pattern=encoding._pat_str, special=special, spelled=spelled)


def chosen(found: tuple[Published, ...], name: str | None) -> Published | None:
    """The one of that name, else the usual one, if there is any."""
    return next((one for one in found if one.name == name), found[0] if found else None)


def describe(
    tokens: Mapping[bytes, int] | list[bytes] | Vocabulary, where: str, digest: str, *, name: str, special: Mapping[str, int],
    spelled: Mapping[int, str], family: str | None = None, pattern: str | None = None,
) -> Description:  # fmt: skip
    decoded: dict[int, bytes] = {}
    if isinstance(tokens, Mapping) and b"" in tokens:
        decoded[index(tokens[b""])] = b""
        tokens = {token: number for token, number in tokens.items() if token}
    try:
        vocabulary = tokens if isinstance(tokens, Vocabulary) else Vocabulary.from_ranks(tokens)
    except VocabularyError as error:
        raise VocabularyError(f"{where}: {error}") from None
    for number in decoded:
        if not 0 <= number < MOST_IDS:
            raise VocabularyError(f"{where}: the empty token has the id {number}")
        if number < len(vocabulary) and vocabulary.token_bytes(number):
            raise VocabularyError(f"{where}: the empty token has the id {number} of another one")
    split = None if pattern is None else matches_of(pattern)
    added = special_tokens(special, where)
    for token in added:
        if token.id < len(vocabulary) and vocabulary.token_bytes(token.id):
            raise VocabularyError(f"{where}: special token {token.content!r} has the id {token.id} of another token")
        if decoded.setdefault(token.id, token.content.encode()) != token.content.encode() and token.id not in spelled:
            raise VocabularyError(f"{where}: special token {token.content!r} has the id {token.id} of another one")
    decoded |= {number: content.encode() for number, content in spelled.items()}
    return Description(
        vocabulary=vocabulary, pre_tokenizer=split, dialect="fancy", unicode=UNICODE,
        family=family if split is None else family_of(split, "fancy"), added=added, decoded=decoded, convention="tiktoken",
        name=name, format="tiktoken", digest=digest,
    )  # fmt: skip


def special_tokens(special: Mapping[str, int], where: str) -> tuple[AddedToken, ...]:
    """Special tokens in order of their ids, checked."""
    if not isinstance(special, Mapping):
        raise TypeError(f"special is {special!r:.80}; it may be a dict of ids by special tokens")
    for content, number in special.items():
        if not content or not isinstance(content, str):
            raise VocabularyError(f"{where}: special token {content!r} is no text")
        if type(number) is not int or not 0 <= number < MOST_IDS:
            raise VocabularyError(f"{where}: special token {content!r} has the id {number!r}, which is not an id below {MOST_IDS}")
        try:
            content.encode()
        except UnicodeEncodeError:
            raise VocabularyError(f"{where}: special token {content!r} has a lone surrogate") from None
    return tuple(AddedToken(number, content) for content, number in sorted(special.items(), key=lambda item: item[1]))


def fast_vocabulary(data: bytes) -> Vocabulary | None:
    """The vocabulary of a file as it should be, read by the C extension; None where there is none, or the file is another."""
    try:
        from .._native import parse_ranks
    except ImportError:
        return None
    tables = parse_ranks(data)
    return None if tables is None else Vocabulary(tables[0], tables[1], None, True)


def parse_ranks(data: bytes, where: str) -> Mapping[bytes, int] | list[bytes]:
    """The ranks of a file: its tokens in order of them if they go from 0 on, line by line; else the rank of each."""
    if re.fullmatch(AS_WRITTEN, data) is None:
        return line_by_line(data, where)
    fields = data.split()
    tokens = list(map(a2b_base64, fields[::2]))
    ranks = list(map(int, fields[1::2]))
    if ranks == list(range(len(ranks))):
        return tokens
    numbers = dict(zip(tokens, ranks, strict=True))
    return numbers if len(numbers) == len(tokens) else line_by_line(data, where)


def line_by_line(data: bytes, where: str) -> dict[bytes, int]:
    """The same, with the number of the line in a message; and as tiktoken reads what it would not write: empty lines, other spaces."""
    numbers: dict[bytes, int] = {}
    for at, line in enumerate(data.splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2:
            raise VocabularyError(f"{where}: line {at}: {len(fields)} fields where a token and its rank should be")
        if fields[0] != b"=" and re.fullmatch(BASE64, fields[0]) is None:
            raise VocabularyError(f"{where}: line {at}: {quoted(fields[0])} is not base64")
        if not fields[1].isdigit() or len(fields[1].lstrip(b"0")) > 10:
            raise VocabularyError(f"{where}: line {at}: {quoted(fields[1])} is not a rank")
        token = a2b_base64(fields[0])
        if token in numbers:
            raise VocabularyError(f"{where}: line {at}: token {quoted(token)} again")
        numbers[token] = int(fields[1])
    return numbers
