"""Names of models on the hub: what is a name, what is a path, and what is said where a package is missing."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bitlex.hub import tokenizer_json
from bitlex.tokenizer import Tokenizer
from tokenizing import tokenizer_json as content


def hf_hub_url(name: str, file: str, *, revision: str | None) -> str:
    return f"https://hub/{name}/{revision}/{file}"


def try_to_load_from_cache(name: str, file: str, cache: str | None, revision: str | None) -> str | None:
    return None


def get_hf_file_metadata(url: str, *, token: str | None) -> None:
    pass


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    """A hub that has every model, and what it was asked for."""
    asked: list[tuple[str, str]] = []
    (tmp_path / "fetched.json").write_text(json.dumps(content()))

    def hf_hub_download(*, repo_id: str, filename: str) -> str:
        asked.append((repo_id, filename))
        return str(tmp_path / "fetched.json")

    hub = ModuleType("huggingface_hub")
    for function in (hf_hub_download, hf_hub_url, try_to_load_from_cache, get_hf_file_metadata):
        setattr(hub, function.__name__, function)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.chdir(tmp_path)
    return asked


@pytest.mark.parametrize("name", ["gpt2", "Qwen/Qwen3-8B", "a.b-c_d/e.f-1"])
def test_names_are_fetched(fetched: list[tuple[str, str]], name: str) -> None:
    assert Tokenizer.from_huggingface(name).encode("a") == Tokenizer.from_huggingface("fetched.json").encode("a")
    assert fetched == [(name, "tokenizer.json")]


@pytest.mark.parametrize("path", ["no such file.json", "gpt2.json", "../gpt2", "/gpt2", "a/b/c", "-x", ".hidden", "a/.b"])
def test_paths_are_not(fetched: list[tuple[str, str]], path: str) -> None:
    with pytest.raises(FileNotFoundError):
        Tokenizer.from_huggingface(path)
    assert fetched == []


def test_what_is_there_is_taken(fetched: list[tuple[str, str]], tmp_path: Path) -> None:
    folder = tmp_path / "gpt2"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(content()))
    for source in ("gpt2", folder, folder / "tokenizer.json", str(folder / "tokenizer.json")):
        assert len(Tokenizer.from_huggingface(source).encode("é")) == 2
    assert fetched == []
    other: Any = object()
    assert tokenizer_json(other) is other


def test_without_a_network(fetched: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Any = sys.modules["huggingface_hub"]

    def refused(url: str, *, token: str | None) -> None:
        raise ConnectionError(f"no way to {url}")

    monkeypatch.setattr(hub, "get_hf_file_metadata", refused)
    with pytest.raises(FileNotFoundError, match=r"^tokens/cl100k: no such file, and the Hugging Face hub cannot be reached .*: no way to https:"):
        Tokenizer.from_huggingface("tokens/cl100k")
    assert fetched == []
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda *_: "kept.json")  # then hf_hub_download has it, with or without a network
    assert Tokenizer.from_huggingface("Qwen/Qwen3-8B").encode("a") and fetched


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception, name: str) -> str:
    """What is said where asking for the model of a name raises this."""

    def refused(url: str, *, token: str | None) -> None:
        raise error

    monkeypatch.setattr(sys.modules["huggingface_hub"], "get_hf_file_metadata", refused)
    with pytest.raises(FileNotFoundError) as found:
        Tokenizer.from_huggingface(name)
    return str(found.value)


@pytest.mark.parametrize("kind", ["ConnectTimeout", "ReadTimeout", "RemoteProtocolError", "TooManyRedirects", "UnsupportedProtocol", "ConnectError", "ProxyError"])
def test_a_hub_that_does_not_answer_as_it_should(fetched: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    try:
        httpx: Any = importlib.import_module("httpx")
    except ImportError:
        httpx = pytest.importorskip("httpx2", reason="neither httpx nor httpx2, one of which huggingface_hub asks by, is installed")
    told = "x/y: no such file, and the Hugging Face hub cannot be reached to look for such a model: "
    assert failing(monkeypatch, getattr(httpx, kind)("as\nit is"), "x/y") == f"{told}as it is"
    assert failing(monkeypatch, getattr(httpx, kind)(""), "x/y") == f"{told}{kind}"
    assert fetched == []


@pytest.mark.parametrize("kind", ["ConnectTimeout", "ReadTimeout", "SSLError", "TooManyRedirects", "MissingSchema", "InvalidSchema"])
def test_the_same_by_requests(fetched: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    requests = pytest.importorskip("requests", reason="requests, by which huggingface_hub asked before, is not installed")
    told = "x/y: no such file, and the Hugging Face hub cannot be reached to look for such a model: why"
    assert failing(monkeypatch, getattr(requests.exceptions, kind)("why"), "x/y") == told


def test_what_the_hub_has_not(fetched: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def error(*names: str) -> Exception:
        kind: type = Exception
        for name in names:
            kind = type(name, (kind,), {})
        made: Exception = kind("404 Client Error")
        return made

    absent = error("HfHubHTTPError", "RepositoryNotFoundError")
    told = "and the Hugging Face hub has no such model, or shows it only to those who may see it"
    assert failing(monkeypatch, absent, "notes") == f"notes: no such file, {told}"
    assert failing(monkeypatch, absent, "cl100k") == f"cl100k: no such file (did you mean cl100k_base?), {told}"
    assert failing(monkeypatch, absent, "gpt2") == f"gpt2: no such file, {told}"
    assert failing(monkeypatch, error("EntryNotFoundError", "RemoteEntryNotFoundError"), "x/y") == (
        "x/y: no such file, and the model of this name on the Hugging Face hub has no tokenizer.json"
    )
    assert failing(monkeypatch, error("HFValidationError"), "my--notes") == "my--notes: no such file, and it is no name on the Hugging Face hub"
    for other in (error("RepositoryNotFoundError", "GatedRepoError"), error("HfHubHTTPError")):  # what the hub says then is to the point
        with pytest.raises(type(other)):
            failing(monkeypatch, other, "x/y")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(FileNotFoundError, match=r"^Qwen/Qwen3-8B: no such file; to fetch the tokenizer of a model by its name, install huggingface_hub$"):
        Tokenizer.from_huggingface("Qwen/Qwen3-8B")
