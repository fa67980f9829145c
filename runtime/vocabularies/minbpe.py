"""Models of minbpe: a pattern, special tokens, and one merge on each line.

    minbpe v1
    (the pattern, or nothing for a BasicTokenizer)
    1
    <|endoftext|> 258
    101 32
    256 116

Version 2 is ours, for what version 1 cannot hold or notice: the pattern and the special tokens are JSON strings, the number of merges
stands before them, and a checksum at the end, so that a file that was cut or edited is found out, wherever.

In: the bytes of a `.model` file. Out: a Description. The bytes are ids 0 to 255, and the merges make 256 and on. minbpe merges all
places of the lowest merge at once, from left to right, which is one after another: no id in a merge is higher than what it makes.

Invariant: what is read is what minbpe reads, whose lines are stripped; what it would overwrite is refused: a pair twice, one id for
two things. Also refused: two merges that make the same bytes (one of the two is then an id that bytes do not find), and a pattern with
a capturing group (`findall` would give the group, not the match). Rejected: guessing where a line was cut that holds no pair.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from binascii import crc32  # also of a Python without zlib

from ..formats import visible
from ..vocabulary import MOST_BYTES, Description, Vocabulary, VocabularyError, buffers
from .json_fields import quoted
from .matching import matches_of
from .tiktoken import special_tokens

__all__ = ["CHECKED", "MAGIC", "REGEX_UNICODE", "VERSION", "checksum_line", "has_group", "read_minbpe", "readable"]

MAGIC = b"minbpe "
VERSION = "minbpe v1"
CHECKED = "minbpe v2"
REGEX_UNICODE = "18.0"  # of the regex module, 2026.9.29 and later


def read_minbpe(data: bytes, where: str, name: str | None = None) -> Description:
    """The Description of a `.model` file; `where` begins the messages of errors."""
    try:
        lines = [line.strip() for line in data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{where}: byte {error.start} is not UTF-8") from None
    if lines[0] == CHECKED:
        lines = checked_lines(data, where)
    elif lines[0] != VERSION:
        raise VocabularyError(f"{where}: line 1: {lines[0]!r} is neither {VERSION!r} nor {CHECKED!r}")
    elif lines[-1] == "":
        lines.pop()
    if len(lines) < 3:
        raise VocabularyError(f"{where}: ends after line {len(lines)}; a pattern and the number of special tokens should follow")
    checked = lines[0] == CHECKED
    pattern = string(lines[1], where, 2) if checked else lines[1]
    if has_group(pattern):
        raise VocabularyError(f"{where}: line 2: a capturing group, of which minbpe takes what it caught instead of the match")
    (count,) = numbers(lines[2], 1, where, 3)
    if len(lines) < 3 + count:
        raise VocabularyError(f"{where}: ends after line {len(lines)}, before the {count} special tokens that line 3 tells of")
    special: dict[str, int] = {}
    for at, line in enumerate(lines[3 : 3 + count], 4):
        fields = line.rsplit(" ", 1) if checked else line.split()
        content = string(fields[0], where, at) if checked else fields[0] if fields else ""
        if len(fields) != 2 or not is_number(fields[1]) or content in special:
            raise VocabularyError(f"{where}: line {at}: {quoted(line)} is not a new special token and its id")
        special[content] = int(fields[1])
    sizes, total = [1] * 256, 256
    merges = array("I")
    for at, line in enumerate(lines[3 + count + checked :], 4 + count + checked):
        pair = numbers(line, 2, where, at)
        if max(pair) >= len(sizes):
            raise VocabularyError(f"{where}: line {at}: {max(pair)} is no token yet; this merge makes {len(sizes)}")
        merges.extend((*pair, len(sizes)))
        sizes.append(sizes[pair[0]] + sizes[pair[1]])
        total += sizes[-1]
        if total > MOST_BYTES:  # each line may double what the one before it makes: found out before there are any bytes
            raise VocabularyError(f"{where}: line {at}: all tokens up to here have {total:,} bytes, more than {MOST_BYTES:,}")
    tokens = [bytes([byte]) for byte in range(256)]
    for at in range(0, len(merges), 3):
        tokens.append(tokens[merges[at]] + tokens[merges[at + 1]])
    return describe(Vocabulary(*buffers(tokens), merges.tobytes(), False), pattern, special, data, where, name)


def checked_lines(data: bytes, where: str) -> list[str]:
    """The lines of a file of version 2 but the last, if none is missing and nothing was changed."""
    lines = data.decode().split("\n")
    whole = lines[-1] == ""
    last = len(lines) - whole
    if not whole or not lines[last - 1].startswith("checksum "):
        raise VocabularyError(f"{where}: line {last}: the file was cut short: it does not end with its checksum")
    del lines[last - 1 :]
    if (count := next(iter(numbers(lines[2], 1, where, 3)), 0) if len(lines) > 2 else 0) + 4 > len(lines):
        raise VocabularyError(f"{where}: line {last}: the number of merges is missing, behind the {count} special tokens that line 3 tells of")
    (merges,) = numbers(lines[3 + count], 1, where, 4 + count)
    if 4 + count + merges != len(lines):
        found = len(lines) - 4 - count
        raise VocabularyError(f"{where}: line {last}: {found} merges stand before it, not {merges}, as line {4 + count} says")
    if data[: data.rindex(b"checksum ")] + checksum_line(data[: data.rindex(b"checksum ")]) != data:
        at = first_malformed(lines, count, where)
        raise VocabularyError(f"{where}: line {at or last}: the file was edited: its checksum is that of another")
    return lines


def first_malformed(lines: list[str], count: int, where: str) -> int:
    """The first line of a merge that cannot be one; 0 if all could be."""
    for at, line in enumerate(lines[4 + count :]):
        fields = line.split(" ")
        if len(fields) != 2 or not all(is_number(field) and int(field) < 256 + at for field in fields):
            return 5 + count + at
    return 0


def checksum_line(data: bytes) -> bytes:
    return b"checksum %08x\n" % crc32(data)


def string(line: str, where: str, at: int) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise VocabularyError(f"{where}: line {at}: {quoted(line)} is no JSON string")
    return found


def describe(
    vocabulary: Vocabulary, pattern: str, special: dict[str, int], data: bytes, where: str, name: str | None
) -> Description:
    try:
        vocabulary.check()
    except VocabularyError as error:
        raise VocabularyError(f"{where}: {error}") from None
    added = special_tokens(special, where)
    decoded: dict[int, bytes] = {}
    for token in added:
        if token.id < len(vocabulary) or token.id in decoded:
            raise VocabularyError(f"{where}: special token {token.content!r} has the id {token.id} of another token")
        decoded[token.id] = token.content.encode()
    digest = hashlib.sha256(data).hexdigest()
    return Description(
        vocabulary=vocabulary, pre_tokenizer=matches_of(pattern) if pattern else None, dialect="python",
        unicode=REGEX_UNICODE, family=None, added=added,
        decoded=decoded, convention="tiktoken", name=name or digest[:12], format="minbpe", digest=digest,
    )  # fmt: skip


def numbers(line: str, count: int, where: str, at: int) -> list[int]:
    fields = line.split()
    if len(fields) != count or not all(map(is_number, fields)):
        raise VocabularyError(f"{where}: line {at}: {quoted(line)} is not {'a number' if count == 1 else 'two ids'}")
    return [int(field) for field in fields]


def is_number(field: str) -> bool:
    """Whether this can be an id, or how many of something there are. `int` takes other digits, too, and refuses thousands of them."""
    return field.isascii() and field.isdigit() and len(field.lstrip("0")) <= 10


def has_group(pattern: str) -> bool:
    """Whether a pattern captures: a parenthesis outside of a class that is not (?...), or (?P<name>...) or (?<name>...)."""
    classes = r"\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]"
    bare = re.sub(rf"\\.|{classes}", "", pattern, flags=re.DOTALL)
    return re.search(r"\((?!\?)|\(\?P?<(?![=!])", bare) is not None


def readable(description: Description) -> bytes:
    """The tokens, for people: each with the two that it was made of, and its id. No program reads it."""
    tokens = description.vocabulary.tokens()
    flat = memoryview(description.vocabulary.merges or b"").cast("I").tolist()
    parts = {made: (left, right) for left, right, made in zip(flat[::3], flat[1::3], flat[2::3], strict=True)}
    lines = []
    for number, token in enumerate(tokens):
        if number in parts:
            left, right = parts[number]
            lines.append(f"[{visible(tokens[left])}][{visible(tokens[right])}] -> [{visible(token)}] {number}\n")
        else:
            lines.append(f"[{visible(token)}] {number}\n")
    lines += [f"[{visible(token.content.encode())}] {token.id}\n" for token in description.added]
    return "".join(lines).encode()
