"""Inputs: paths, globs and standard input in; their documents out, in order, each with the line or row that it stands in.

    for found in find(["notes.txt", "shards/**/*.jsonl.gz", "-"]):
        for document in Source(found.path, field="text").documents():
            ...                                    # Document(number=7, text="..."); None: no more input is waiting at the moment

    text      the whole file is one document: mapped into memory where it can be, else read; a long one may be read some at a time
    lines     each line is one, without the line break at its end
    jsonl     each line is a JSON object, and the document is the string at `field`; a line that is a string is one itself
    parquet   each row is one: the column `field` (needs pyarrow)

Files whose names end in .gz, .bz2, .xz or .zst are decompressed on the way (.zst needs zstandard). Invariant: what is malformed or cut
short is an InputError that says where, never a document less; but for `text`, memory does not grow with the file. Rejected: guessing by
content what a file is (a JSONL file is a text, too); leaving out rows without a text (the documents would no longer match the rows).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from .cached import cached_property
from .decompression import COMPRESSED, decompressed
from .lexers import each_of
from .opening import STANDARD_INPUT, mapped, may_wait, nothing_is_there, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BYTE_ORDER_MARK", "FORMS", "STANDARD_INPUT", "Document", "Found", "InputError", "Source", "find", "form_of"]

FORMS = ("text", "lines", "jsonl", "parquet")
BY_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
CHUNK = 1 << 16  # bytes read at a time
KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", list: "an array", dict: "an object"}  # as JSON says it
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class InputError(ValueError):
    """An input that cannot be read, or is not what it should be. The message begins with the file and the line or row."""


class Document(NamedTuple):
    """A text, and the number of its line or row in the file, from 1 on; 0 for a whole file."""

    number: int
    text: str | bytes | memoryview


class Found(NamedTuple):
    """A file, and its path below the folder that a glob starts in; the name of the file itself where there was no glob."""

    path: str
    name: str


def find(arguments: Iterable[str | os.PathLike[str]]) -> list[Found]:
    """The files that arguments stand for: a path that is there, itself; a glob, what it matches, sorted; "-", standard input.

    A folder that a glob would look into, and may not, is among what it matches: reading it says why.
    """
    if isinstance(arguments, (str, bytes, os.PathLike)):
        raise TypeError(f"expected a list of paths, got one {type(arguments).__name__}")
    found = []
    for argument in map(os.fsdecode, each_of(arguments, "paths")):
        if not argument:
            raise InputError("the name of an input is empty")
        if argument == STANDARD_INPUT:
            found.append(Found(argument, "stdin"))
        elif os.path.lexists(argument) or not glob.has_magic(argument):
            found.append(Found(argument, os.path.basename(argument)))
        else:
            root = fixed_part(argument)
            files = {path for path in glob.iglob(argument, recursive=True) if not os.path.isdir(path)} | set(closed_folders(argument))
            if not files:
                raise InputError(f"{argument}: no file matches")
            found.extend(Found(path, below(path, root)) for path in sorted(files))
    return found


def below(path: str, root: str) -> str:
    """Where a file lies in a folder, as if it were in there: a glob may lead out of it again, by "..", and outputs must not follow."""
    parts = PurePath(os.path.relpath(path, root)).parts
    inside = [part for part in parts if part != os.pardir]
    return os.path.join(*inside) if inside else os.curdir


def closed_folders(pattern: str) -> Iterator[str]:
    """The folders that a glob looks into and cannot list, which the module glob passes over."""
    parts = PurePath(pattern).parts
    for at, part in enumerate(parts):
        if glob.has_magic(part) and parts[at - 1 : at] != ("**",):
            looked_into = os.path.join(*parts[:at] or (os.curdir,), part if part == "**" else "", "")
            for folder in glob.iglob(looked_into, recursive=True):
                try:
                    os.scandir(folder).close()
                except OSError:
                    yield os.path.dirname(folder).removeprefix(os.path.join(os.curdir, ""))


def fixed_part(pattern: str) -> str:
    """The folder in which a glob starts: the parts of its path before the first one with a wildcard."""
    parts = PurePath(pattern).parts
    wild = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return os.path.join(*parts[:wild]) if wild else os.curdir


def form_of(path: str) -> str:
    """What the name of a file says that it is; text if it says nothing."""
    name = PurePath(path)
    return BY_SUFFIX.get((PurePath(name.stem) if name.suffix in COMPRESSED else name).suffix, "text")


class Source:
    """One input. While its documents are read, `position` of `size` bytes of the file are behind, which gave `length` bytes of input."""

    def __init__(self, path: str, form: str | None = None, field: str = "text") -> None:
        if form and form not in FORMS:
            raise ValueError(f"input is {form!r}; it may be {', '.join(map(repr, FORMS[:-1]))} or {FORMS[-1]!r}")
        self.path = path
        self.form = form or form_of(path)
        self.field = field
        self.position = self.length = 0

    @cached_property
    def size(self) -> int:
        """Bytes of the file; 0 where that is not known."""
        try:
            return 0 if self.path == STANDARD_INPUT else os.path.getsize(self.path)
        except OSError:  # reading it will say so
            return 0

    def place(self, number: int) -> str:
        """What messages about a document begin with."""
        if not number:
            return self.path
        return f"{self.path}: {'row' if self.form == 'parquet' else 'line'} {number}"

    def error(self, number: int, what: object) -> InputError:
        return InputError(f"{self.place(number)}: {what}")

    def documents(self) -> Iterator[Document | None]:
        """Its documents; None whenever there are no more for the moment, in a pipe that is still open."""
        for group in self.groups():
            if group:
                yield from group
            else:
                yield None

    def groups(self) -> Iterator[list[Document]]:
        """Its documents, those that were read together at a time; none of them whenever there are no more for the moment."""
        read = {"text": self.whole, "lines": self.each_line, "jsonl": self.each_object, "parquet": self.each_row}[self.form]
        try:
            yield from read()
        except OSError as error:
            raise self.error(0, error.strerror or error) from None

    @cached_property
    def is_compressed(self) -> bool:
        """Whether its name says so."""
        return PurePath(self.path).suffix in COMPRESSED

    @property
    def comes_in_parts(self) -> bool:
        """Whether it is one text that is not there to be mapped: compressed, or from a pipe, a terminal or a device."""
        if self.form != "text":
            return False
        if self.is_compressed:
            return True
        try:
            if self.path != STANDARD_INPUT:
                return may_wait(self.path)  # who writes to a pipe writes to the first that opens it, and to nobody when that closes it
            with opened(self.path) as file:
                return may_wait(file)
        except (OSError, ValueError):  # reading it will say so, or it is no file of the system
            return False

    def parts(self) -> Iterator[bytes | None]:
        """Such a text, some bytes at a time; None whenever there are no more for the moment."""
        try:
            with opened(self.path) as file:
                yield from self.chunks(file)
        except OSError as error:
            raise self.error(0, error.strerror or error) from None

    def is_long(self, least: int) -> bool:
        """Whether it is one text in a file, of which there are so many bytes, or more: a quarter of these, if it is compressed."""
        if self.form != "text" or (self.path != STANDARD_INPUT and self.size < (least // 4 if self.is_compressed else least)):
            return False
        try:
            if self.path != STANDARD_INPUT:
                return not may_wait(self.path)
            with opened(self.path) as file:
                return not may_wait(file) and os.fstat(file.fileno()).st_size - file.tell() >= least
        except (OSError, ValueError):  # reading it will say so, or it is no file of the system
            return False

    @contextmanager
    def reader(self) -> Iterator[Callable[[memoryview], int]]:
        """What puts the next bytes of a long text in memory: how many, and 0 at its end."""
        with opened(self.path) as file:
            chunks = self.chunks(file) if self.is_compressed else None
            rest = memoryview(b"")

            def read(memory: memoryview) -> int:
                nonlocal rest
                try:
                    if chunks is None:
                        count = int(file.readinto(memory))  # type: ignore[attr-defined]
                        self.position += count
                        self.length += count
                        return count
                    if not rest:
                        rest = memoryview(next(filter(None, chunks), b""))
                except OSError as error:
                    raise self.error(0, error.strerror or error) from None
                count = min(len(rest), len(memory))
                memory[:count] = rest[:count]
                rest = rest[count:]
                return count

            yield read

    def whole(self) -> Iterator[list[Document]]:
        with opened(self.path) as file:
            if self.is_compressed:
                text: Any = b"".join(chunk for chunk in self.chunks(file) if chunk is not None)
            else:
                text = mapped(file)
                self.position = self.length = len(text)
        yield [Document(0, text)]

    def chunks(self, file: BinaryIO) -> Iterator[bytes | None]:
        """The bytes of a file, decompressed, some at a time."""
        suffix = PurePath(self.path).suffix
        try:
            for chunk in decompressed(suffix, self.raw(file)) if suffix in COMPRESSED else self.raw(file):
                self.length += len(chunk or b"")
                yield chunk
        except ValueError as error:
            raise self.error(0, error) from None

    def raw(self, file: BinaryIO) -> Iterator[bytes | None]:
        waits = may_wait(file)
        while True:
            if waits and nothing_is_there(file):
                yield None
            chunk = file.read1(CHUNK) if waits else file.read(CHUNK)  # type: ignore[attr-defined]
            if not chunk:
                return
            self.position += len(chunk)
            yield chunk

    def lines(self) -> Iterator[tuple[int, list[bytes]]]:
        """The number of a line, and it and some that follow, without \\n: none is made up behind the last line break. No lines: there are
        no more for the moment."""
        with opened(self.path) as file:
            number, parts = 1, [b""]
            for chunk in self.chunks(file):
                if chunk is None:
                    yield number, []
                    continue
                *whole, rest = chunk.split(b"\n")
                if whole:
                    whole[0] = b"".join([*parts, whole[0]])
                    yield number, whole
                    number += len(whole)
                    parts = []
                parts.append(rest)
            if any(parts):
                yield number, [b"".join(parts)]

    def each_line(self) -> Iterator[list[Document]]:
        for number, lines in self.lines():
            yield documents_of(number, [line.removesuffix(b"\r") for line in lines])

    def each_object(self) -> Iterator[list[Document]]:
        for number, lines in self.lines():
            group: list[Document] = self.plain_objects(number, lines)
            if group:
                yield group
                continue
            try:
                group.extend(self.of_objects(number, lines))
            except InputError:
                if group:  # what stands before the line that is wrong
                    yield group
                raise
            if group or not lines:
                yield group

    def plain_objects(self, number: int, lines: list[bytes]) -> list[Document]:
        """The documents of lines that are all objects with a string at `field`, as most are, in half of the time; none of any others."""
        from .json_rows import quick

        loads = quick()
        if loads is None or "." in self.field or not lines or not lines[0].startswith(b"{") or not all(lines):
            return []
        try:
            texts = [row[self.field] for row in map(loads, lines)]
        except (ValueError, LookupError, TypeError):
            return []
        return documents_of(number, texts) if {str}.issuperset(map(type, texts)) else []

    def of_objects(self, number: int, lines: list[bytes]) -> Iterator[Document]:
        """The documents of lines that have any."""
        from .json_rows import JSONDecodeError, json_of, mistake

        if number == 1 and lines:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        for at, data in enumerate(lines, number):
            if not data or data.isspace():
                continue
            try:
                value = json_of(data)
            except (JSONDecodeError, RecursionError) as error:
                raise self.error(at, f"not JSON: {mistake(error)}") from None
            except UnicodeDecodeError as error:
                raise self.error(at, not_utf8(error)) from None
            yield Document(at, value if isinstance(value, str) else self.text_of(value, at))

    def each_row(self) -> Iterator[list[Document]]:
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            raise self.error(0, "Parquet needs pyarrow: pip install 'bitlex[files]'") from None
        if self.path == STANDARD_INPUT:
            raise self.error(0, "Parquet is read from a file, not from standard input")
        if may_wait(self.path) and not os.path.isdir(self.path):
            raise self.error(0, "Parquet is read from a file, not from a pipe or a device")
        if PurePath(self.path).suffix in COMPRESSED:
            raise self.error(0, "Parquet is not read out of a compressed file; decompress it first")
        try:
            # Else pyarrow reads the column ahead, through the whole file, or as much of it as a group of rows has.
            with opened(self.path) as raw, parquet.ParquetFile(raw, pre_buffer=False, buffer_size=CHUNK) as file:
                names = file.schema_arrow.names
                column = self.field if self.field in names else self.field.split(".")[0]
                if column not in names:
                    raise self.error(0, f"no column {column!r}; there are {', '.join(names)}")
                if names.count(column) > 1:
                    raise self.error(0, f"there are {names.count(column)} columns {column!r}")
                number, rows = 0, file.metadata.num_rows
                for batch in file.iter_batches(batch_size=1024, columns=[column]):
                    self.length += batch.nbytes
                    if texts := sound_texts(batch.column(0)) if column == self.field else None:
                        yield documents_of(number + 1, texts)
                        number += len(texts)
                    else:
                        for group in self.row_by_row(batch, number):
                            yield group
                            number += len(group)
                    self.position = self.size * number // rows
        except (ArrowException, UnicodeDecodeError) as error:  # a name of a column may be no UTF-8 either
            raise self.error(0, error) from None

    def row_by_row(self, batch: Any, behind: int) -> Iterator[list[Document]]:
        """The documents of a batch; where a row is wrong, those that stand before it come first."""
        group: list[Document] = []
        try:
            for number, row in enumerate(self.values(batch, behind), behind + 1):
                group.append(Document(number, self.text_of(row, number)))
        except InputError:
            if group:
                yield group
            raise
        if group:
            yield group

    def values(self, batch: Any, behind: int) -> Iterator[Any]:
        """The rows of a batch in Python; what is none is told with its number. Before the batch are `behind` others."""
        try:
            yield from batch.to_pylist()
            return
        except ValueError:  # strings are not checked when they are written, and some values have no object
            pass
        for at in range(len(batch)):
            try:
                yield from batch.slice(at, 1).to_pylist()
            except UnicodeDecodeError as error:
                raise self.error(behind + at + 1, not_utf8(error)) from None
            except ValueError as error:
                raise self.error(behind + at + 1, error) from None

    def text_of(self, value: Any, number: int) -> str | bytes:
        """The text at `field` of an object or a row: a key of that name, or the names of keys one inside the other, with dots."""
        keys = [self.field] if isinstance(value, dict) and self.field in value else self.field.split(".")
        for key in keys:
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and len(key) < 20 and int(key) < len(value):
                value = value[int(key)]
            else:
                raise self.error(number, f"nothing at {self.field!r}; say --field, or field=")
        if not isinstance(value, (str, bytes)):
            raise self.error(number, f"what is at {self.field!r} is no text, but {KINDS.get(type(value), type(value).__name__)}")
        return value


def documents_of(number: int, texts: list[Any]) -> list[Document]:
    """Documents that stand one behind the other, made without a call of Python for each."""
    return list(map(partial(tuple.__new__, Document), zip(range(number, number + len(texts)), texts, strict=True)))


def sound_texts(column: Any) -> list[bytes] | None:
    """The texts of a column, if each of its rows has one, and strings are UTF-8, of which nobody made sure when they were written."""
    from .arrow import texts_of

    try:
        column.validate(full=True)
    except ValueError:
        return None
    return texts_of(column)


def not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8: byte 0x{error.object[error.start]:02x}, at byte {error.start + 1}"
