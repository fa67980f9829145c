"""Names of models on the Hugging Face hub: a name in, the path of its tokenizer.json out, fetched by the package huggingface_hub."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .compat.openai import similar

__all__ = ["fetch", "tokenizer_json"]

FILE = "tokenizer.json"
FILES = (".bitlex", ".json", ".model", ".tiktoken")  # what ends so is no name, and need not be asked for far away
NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

# Kinds of errors, of the packages that huggingface_hub asks by (requests, httpx), where no answer comes, or none of the hub.
UNREACHABLE = {
    "ChunkedEncodingError", "ConnectionError", "DecodingError", "InvalidSchema", "InvalidURL", "LocalEntryNotFoundError", "MissingSchema",
    "OfflineModeIsEnabled", "Timeout", "TooManyRedirects", "TransportError",
}  # fmt: skip
# The same of its own, where there is nothing of that name, and what is said of it then.
ABSENT = {
    "HFValidationError": "it is no name on the Hugging Face hub",
    "RepositoryNotFoundError": "the Hugging Face hub has no such model, or shows it only to those who may see it",
    "EntryNotFoundError": f"the model of this name on the Hugging Face hub has no {FILE}",
}


def tokenizer_json(source: Any) -> Any:
    """The source itself if it is no name: a path that is there, the tokenizer.json of a folder, or an object in memory."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    path = Path(source)
    if os.path.isdir(source):
        return path / FILE
    if os.path.lexists(source) or not NAME.fullmatch(str(source)) or path.suffix in FILES:
        return source
    return fetch(str(source))


def fetch(name: str, **options: Any) -> str:
    """The path of the tokenizer.json of a model. `options` are those of huggingface_hub.hf_hub_download, as `revision` and `token`.

    What is not in its cache is asked for once before: without a network, hf_hub_download tries again and again, for 20 seconds.
    """
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
    except ImportError:
        raise FileNotFoundError(
            f"{name}: no such file{meant(name)}; to fetch the tokenizer of a model by its name, install huggingface_hub"
        ) from None
    revision, token = options.get("revision"), options.get("token")
    try:
        if not isinstance(try_to_load_from_cache(name, FILE, options.get("cache_dir"), revision), str):
            get_hf_file_metadata(hf_hub_url(name, FILE, revision=revision), token=token)
        path: str = hf_hub_download(repo_id=name, filename=FILE, **options)
        return path
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        if not UNREACHABLE.isdisjoint(kinds):
            why = f"the Hugging Face hub cannot be reached to look for such a model: {' '.join(str(error).split()) or kinds[0]}"
        elif "GatedRepoError" not in kinds and not ABSENT.keys().isdisjoint(kinds):
            why = next(ABSENT[kind] for kind in kinds if kind in ABSENT)
        else:
            raise
        raise FileNotFoundError(f"{name}: no such file{meant(name)}, and {why}") from error


def meant(name: str) -> str:
    """What is said of a name that is like that of an encoding."""
    encoding = similar(name)
    return "" if encoding is None or encoding == name else f" (did you mean {encoding}?)"
