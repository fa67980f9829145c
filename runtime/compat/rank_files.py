"""The rank files of OpenAI: the name of an encoding in, the content of its file out, from the disk or fetched.

    on_disk("cl100k_base")              # (b"IQ== 0\\nIg== 1\\n...", "/tmp/data-gym-cache/9b5ad71b2ce5302211f9c61530b329a4922fc6a4")

`on_disk` looks in BITLEX_VOCABULARY, a directory with files as `cl100k_base.tiktoken`, and in the cache that tiktoken keeps
(TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR, or data-gym-cache among the temporary files), where a file is called by the SHA-1 of its
address. `fetched` downloads it into that cache. Invariant: a file is only taken if its SHA-256 is that of the published one, wherever
it is, and appears in the cache when it is whole. Rejected: a cache of our own (everything would be there twice).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..outputs import whole_files
from ..vocabularies import Description, VocabularyError, read, refuse_types
from ..vocabularies.published import digest_of
from .openai import FILES, URL

__all__ = ["description", "fetched", "is_name", "on_disk", "read_published"]

SECONDS = 60


def is_name(source: object) -> bool:
    """Whether this is the name of an encoding, and no file of that name is there."""
    return isinstance(source, str) and source in FILES and not Path(source).exists()


def description(encoding: str, *, name: str | None = None, **options: Any) -> Description:
    """All of an encoding, from the disk or fetched. `name` and `options` as in `load` of its file."""
    refuse_types(name=name)
    found = read(*(on_disk(encoding) or fetched(encoding)), name=name if name in FILES else encoding, **options)
    return found if name is None else replace(found, name=name)


def on_disk(name: str) -> tuple[bytes, str] | None:
    """The content of the file of an encoding, and its path; None if it is nowhere."""
    directory = os.environ.get("BITLEX_VOCABULARY")
    if directory:
        path = Path(directory, f"{FILES[name]}.tiktoken")
        if path.exists():
            return read_published(name, path), str(path)
    found = cached(URL.format(FILES[name]))
    if found is not None:
        with suppress(OSError):  # it is not there, or another user's
            data = found.read_bytes()
            if hashlib.sha256(data).hexdigest() == digest_of(name):
                return data, str(found)
    return None


def read_published(name: str, path: str | os.PathLike[str]) -> bytes:
    """The content of a file, if it is that of an encoding."""
    data = Path(path).read_bytes()
    check(data, name, str(path))
    return data


def fetched(name: str) -> tuple[bytes, str]:
    """The content of the file of an encoding, downloaded and put in the cache, and its address."""
    address = URL.format(FILES[name])
    data = download(address, "put the file in a directory and name that in BITLEX_VOCABULARY, or ")
    check(data, name, address)
    path = cached(address)
    if path is not None:
        with suppress(OSError):  # there is no need of a cache
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_files(path) as (file,):
                file.write(data)
    return data, address


def check(data: bytes, name: str, where: str) -> None:
    digest = hashlib.sha256(data).hexdigest()
    if digest != digest_of(name):
        raise VocabularyError(f"{where}: not the published file of {name}, whose SHA-256 is {digest_of(name)}, but {digest}")


def cached(address: str) -> Path | None:
    """Where tiktoken keeps what is at an address; None if an empty variable says that it keeps nothing, or nothing can be written anywhere."""
    directory = chosen_cache()
    if directory is None:
        try:
            directory = str(Path(tempfile.gettempdir(), "data-gym-cache"))
        except FileNotFoundError:  # all that it tries is read-only
            return None
    return Path(directory, hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()) if directory else None


def chosen_cache() -> str | None:
    """The directory that a variable names; None if none does."""
    return os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))


def download(address: str, offline: str = "") -> bytes:
    """What is at an address; ConnectionError, which is an OSError, if it cannot be had. `offline`: what else helps where there is no net."""
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(address, timeout=SECONDS) as answer:
            data: bytes = answer.read()
            return data
    except (OSError, HTTPException) as error:  # an answer that ends too soon is one of the latter
        raise ConnectionError(
            f"{address} cannot be had ({error}). Offline, {offline}set TIKTOKEN_CACHE_DIR to a directory where tiktoken has put it"
        ) from error
