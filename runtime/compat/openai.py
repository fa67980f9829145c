"""Facts of tiktoken 0.14: which encodings OpenAI publishes, in which files, and which model uses which.

    FILES["p50k_edit"]                 # "p50k_base": its ranks are those of that file
    encoding_of("gpt-4o-2024-05-13")   # "o200k_base"
    similar("cl100k")                  # "cl100k_base"

The tables are those of tiktoken/model.py and tiktoken_ext/openai_public.py. Invariant: the same answer for every name, by the first
prefix in order where the name itself is not listed. The digests of the files stand in vocabularies/published.py. Rejected: the two
files of gpt2 (`vocab.bpe`, `encoder.json`), which make the ranks that r50k_base has.
"""

from __future__ import annotations

__all__ = ["FILES", "URL", "encoding_of", "similar"]

URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"

# The file with the ranks of each encoding, in the order in which tiktoken lists them.
FILES = {
    "gpt2": "r50k_base", "r50k_base": "r50k_base", "p50k_base": "p50k_base", "p50k_edit": "p50k_base",
    "cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "o200k_harmony": "o200k_base",
}  # fmt: skip

MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 text-embedding-3-small "
                   "text-embedding-3-large",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 "
                 "davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
                 "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
                 "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
                 "code-search-babbage-code-001 code-search-ada-code-001",
    "gpt2": "gpt2 gpt-2",
}  # fmt: skip

# In order: the first that a name begins with decides.
PREFIXES = (
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)


def encoding_of(model: str) -> str | None:
    """The name of the encoding that a model uses; None if it is not known."""
    for encoding, names in MODELS.items():
        if model in names.split():
            return encoding
    for encoding, prefixes in PREFIXES:
        if model.startswith(tuple(prefixes.split())):
            return encoding
    return None


def similar(name: str) -> str | None:
    """The encoding that may have been meant by a name that is none: that of a model, or one spelled alike; None if nothing comes close."""
    from difflib import get_close_matches

    return encoding_of(name) or next(iter(get_close_matches(name, FILES, n=1)), None)
