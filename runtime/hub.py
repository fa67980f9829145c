"""Names of models on the Hugging Face hub: a name in, the path of its tokenizer.json out, fetched by the package huggingface_hub."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

__all__ = ["fetch", "tokenizer_json"]

FILES = (".bitlex", ".json", ".model", ".tiktoken")  # what ends so is no name, and need not be asked for far away
NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def tokenizer_json(source: Any) -> Any:
    """The source itself if it is no name: a path that is there, the tokenizer.json of a folder, or an object in memory."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    path = Path(source)
    if path.is_dir():
        return path / "tokenizer.json"
    if path.exists() or not NAME.fullmatch(str(source)) or path.suffix in FILES:
        return path
    return fetch(str(source))


def fetch(name: str, **options: Any) -> str:
    """The path of the tokenizer.json of a model. `options` are those of huggingface_hub.hf_hub_download, as `revision` and `token`."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise FileNotFoundError(
            f"{name}: no such file; to fetch the tokenizer of a model by its name, install huggingface_hub"
        ) from None
    path: str = hf_hub_download(repo_id=name, filename="tokenizer.json", **options)
    return path
