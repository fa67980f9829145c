"""The catalogue and the reading of a tokenizer.json's pre_tokenizer."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from generator.families import Step, byte_level_regex, catalogue, families, family, read_family
from generator.pretokenizer import DIGITS_UNICODE, steps_from_pre_tokenizer
from generator.properties import TABLES

NAMES = [
    "gpt2", "bytelevel", "bytelevel_prefix", "cl100k", "llama3", "qwen2", "qwen3_5", "o200k", "tekken", "kimi_k2", "nanochat",
    "seed_coder", "exaone_moe", "bloom", "clip", "deepseek_v3", "deepseek_llm", "deepseek_coder", "starcoder", "falcon", "viking",
    "superbpe", "minicpm5", "laguna", "tiny_aya", "longcat",
]  # fmt: skip
ALIASES = {
    "r50k_base": "gpt2", "p50k_base": "gpt2", "p50k_edit": "gpt2", "cl100k_base": "cl100k", "cl100k_hf": "llama3", "glm4": "llama3",
    "phi4": "llama3", "qwen3": "qwen2", "Qwen2.5": "qwen2", "o200k_harmony": "o200k", "gpt-oss": "o200k", "deepseek-r1": "deepseek_v3",
}  # fmt: skip
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def test_every_family_is_there_in_order() -> None:
    assert [name for name in families() if name in NAMES] == NAMES
    assert {name: one.name for name, one in families().items()} == {name: name for name in families()}


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias: str, name: str) -> None:
    assert family(alias) is families()[name]


def test_an_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(ValueError, match="no family 'cl100'; did you mean cl100k"):
        family("cl100")
    with pytest.raises(ValueError, match="no family 'zzz'; there are gpt2, bytelevel,"):
        family("zzz")


def test_dialects_and_references() -> None:
    fancy = {name for name in NAMES if families()[name].dialect == "fancy"}
    assert fancy == {"gpt2", "cl100k", "o200k", "kimi_k2", "nanochat"}
    for one in families().values():
        assert one.reference and one.source.startswith("https://")
    for one in (families()[name] for name in NAMES):
        assert one.reference == ("tiktoken 0.14.0 (fancy-regex 0.19)" if one.name in fancy else "tokenizers 0.23.3 (Oniguruma)")
        assert one.unicode == "16.0"
        assert all((step.unicode == "17.0") == (step.kind == "Digits") for step in one.steps)


def test_patterns_that_are_easy_to_spoil() -> None:
    assert byte_level_regex() == GPT2
    assert family("qwen2").steps[0].regex == family("llama3").steps[0].regex.replace(r"\p{N}{1,3}", r"\p{N}")  # type: ignore[union-attr]
    seed = family("seed_coder").steps[0].regex
    assert seed is not None and seed.count("\r\n") == 3 and r"\r" not in seed
    assert family("deepseek_v3").steps[1].regex == "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
    letters = family("deepseek_llm").steps[1].regex
    assert letters is not None and all(chr(c) in letters for c in (0x1F7D, 0x1FD3, 0x1FDB, 0x2126, 0x212A))  # NFC changes these
    assert family("laguna").steps[0].behavior == "merged_with_next"
    assert family("clip").steps[0].behavior == "removed" and family("clip").steps[0].invert
    assert [step.kind for step in family("falcon").steps] == ["Punctuation", "ByteLevel", "Digits", "Split"]
    assert family("starcoder").steps == (
        Step("Digits", individual=True, unicode=DIGITS_UNICODE), Step("ByteLevel", add_prefix_space=False, use_regex=True),
    )  # fmt: skip


def test_the_file_is_ascii_so_that_no_editor_normalizes_it() -> None:
    text = (TABLES / "families.toml").read_bytes()
    assert text.isascii() and b"\r" not in text


def test_patterns_equal_those_of_the_installed_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("tiktoken_ext.openai_public", reason="tiktoken is not installed")
    for loader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(openai, loader, lambda *paths, **more: {})  # ranks are downloaded, and not needed
    for name in ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"):
        assert getattr(openai, name)()["pat_str"] == family(name).steps[0].regex


def test_byte_level_regex_splits_as_byte_level_of_the_installed_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    text = "I'll say  'store 123 abc\u00bd \n\n x\u0301\u4e2d 's'S  "
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(byte_level_regex()), "isolated").pre_tokenize_str(text)
    whole = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert [span for _, span in split] == [span for _, span in whole]


# --- mistakes in the catalogue ---------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "aliases": [], "dialect": "fancy", "unicode": "16.0", "reference": "r", "source": "s",
    "steps": [{"type": "Split", "regex": "a", "behavior": "isolated"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dialect": "pcre"}, "family 'x': key 'dialect': 'pcre' is not one of fancy, oniguruma, python"),
        ({"unicode": "13.0"}, "family 'x': key 'unicode': '13.0' is not one of 14.0"),
        ({"unicode": 16.0}, "family 'x': key 'unicode': 16.0 is not a str"),
        ({"colour": "red"}, "family 'x': key 'colour': unknown"),
        ({"steps": []}, "family 'x': key 'steps': empty"),
        ({"steps": [{"type": "Split", "regex": "a"}]}, "family 'x', step 1: key 'behavior': missing"),
        ({"steps": [{"type": "Split", "behavior": "isolated"}]}, "key 'regex': Split needs either a regex or a string"),
        ({"steps": [{"type": "Digits", "regex": "a"}]}, "key 'regex': Digits has no such key"),
        ({"steps": [{"type": "Digits", "individual": "yes"}]}, "key 'individual': 'yes' is not a bool"),
        ({"steps": [{"type": "Metaspace"}]}, "key 'type': 'Metaspace' is not one of Split, Digits"),
        ({"steps": [{"type": []}]}, r"key 'type': \[\] is not one of"),
        ({"steps": ["Split"]}, "family 'x', step 1: key 'type': 'Split' is not a table"),
        ({"aliases": [1]}, "key 'aliases': 1 is not a str"),
    ],
)
def test_mistakes_name_file_family_and_key(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^families.toml: .*{message}"):
        read_family("x", {**GOOD, **change})


@pytest.mark.parametrize("missing", ["dialect", "unicode", "reference", "source", "steps"])
def test_missing_keys(missing: str) -> None:
    with pytest.raises(ValueError, match=f"families.toml: family 'x': key '{missing}': missing"):
        read_family("x", {key: value for key, value in GOOD.items() if key != missing})


def test_names_are_unique_identifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in ({"x": {**GOOD, "aliases": ["x"]}}, {"x": GOOD, "y": {**GOOD, "aliases": ["x"]}}, {"X": GOOD}, {"x-y": GOOD}):
        monkeypatch.setattr(sys.modules[Step.__module__], "read_file", lambda broken=broken: {"families": broken})
        with pytest.raises(ValueError, match="is taken or not a lower-case identifier"):
            catalogue.__wrapped__()


# --- tokenizer.json --------------------------------------------------------------------------------------------------------------

LAST = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def sequence(*members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(members)}


def test_files_in_their_own_spelling_give_the_steps_of_the_catalogue() -> None:
    def regex(name: str, number: int = 0) -> dict[str, str]:
        text = family(name).steps[number].regex
        assert text is not None
        return {"Regex": text}

    assert steps_from_pre_tokenizer(sequence(split(regex("qwen2")), LAST)) == family("qwen2").steps
    three = [split(regex("deepseek_v3", number)) for number in range(3)]
    assert steps_from_pre_tokenizer(sequence(*three, LAST)) == family("deepseek_v3").steps
    assert steps_from_pre_tokenizer(sequence(sequence(*three), LAST)) == family("deepseek_v3").steps
    merged = split(regex("laguna"), "MergedWithNext")
    assert steps_from_pre_tokenizer(sequence(merged, split(regex("laguna", 1)), LAST)) == family("laguna").steps
    assert steps_from_pre_tokenizer(sequence(split(regex("clip"), "Removed", invert=True), LAST)) == family("clip").steps
    digits = {"type": "Digits", "individual_digits": True}
    plain = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}  # old files have no use_regex: it is true
    assert steps_from_pre_tokenizer(sequence(digits, plain)) == family("starcoder").steps
    assert steps_from_pre_tokenizer({**plain, "add_prefix_space": True}) == family("bytelevel_prefix").steps
    assert steps_from_pre_tokenizer(
        sequence({"type": "Punctuation", "behavior": "Contiguous"}, plain, {"type": "Digits", "individual_digits": False},
                 split({"Regex": "[0-9][0-9][0-9]"}))
    ) == family("falcon").steps  # fmt: skip


def test_small_pre_tokenizers() -> None:
    assert steps_from_pre_tokenizer(None) == ()
    assert steps_from_pre_tokenizer(LAST) == ()
    assert steps_from_pre_tokenizer({**LAST, "add_prefix_space": True}) == (
        Step("ByteLevel", add_prefix_space=True, use_regex=False),
    )
    assert steps_from_pre_tokenizer(sequence(LAST, {"type": "Whitespace"})) == (
        Step("ByteLevel", use_regex=False),
        Step("Whitespace"),
    )
    assert steps_from_pre_tokenizer({"type": "WhitespaceSplit"}) == (Step("WhitespaceSplit"),)
    assert steps_from_pre_tokenizer({"type": "Punctuation"}) == (Step("Punctuation"),)
    assert steps_from_pre_tokenizer({"type": "BertPreTokenizer"}) == (Step("WhitespaceSplit"), Step("Punctuation"))
    assert steps_from_pre_tokenizer({"type": "CharDelimiterSplit", "delimiter": "|"}) == (
        Step("Split", string="|", behavior="removed"),
    )
    assert steps_from_pre_tokenizer({"type": "FixedLength", "length": 3}) == (Step("Split", regex=r"[\s\S]{1,3}"),)
    assert steps_from_pre_tokenizer({"type": "FixedLength"}) == (Step("Split", regex=r"[\s\S]{1,5}"),)
    assert steps_from_pre_tokenizer(split({"String": r"\s+"})) == (Step("Split", string=r"\s+"),)
    assert steps_from_pre_tokenizer({"type": "Digits", "individual_digits": True}, "16.0")[0].unicode == "16.0"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "Metaspace", "replacement": "\u2581"}, "'Metaspace' is not supported; supported are Split, .*Sequence"),
        ({"type": "UnicodeScripts"}, "'UnicodeScripts' is not supported"),
        (sequence({"type": "Whitespace"}, {"type": "Metaspace"}), r"pre_tokenizer.pretokenizers\[1\]: key 'type': 'Metaspace'"),
        ({"type": "Sequence"}, "key 'pretokenizers': not a list"),
        ({"type": []}, "is not supported"),
        ({}, "None is not supported"),
        ("Whitespace", "not an object"),
        (split({"Glob": "a"}), "key 'pattern': neither"),
        (split({"Regex": "a", "String": "a"}), "key 'pattern': neither"),
        (split({"Regex": "a"}, "Sideways"), "key 'behavior': 'sideways' is not one of isolated"),
        ({"type": "Split", "behavior": "Isolated"}, "key 'pattern': neither"),
        ({"type": "Digits"}, "key 'individual_digits': missing"),
        ({"type": "Digits", "individual_digits": 1}, "key 'individual_digits': 1 is not a bool"),
        ({"type": "CharDelimiterSplit"}, "key 'string': None is not a str"),
        ({"type": "FixedLength", "length": 0}, "key 'length': 0 is not a number of characters, 1 or more"),
        ({"type": "FixedLength", "length": "3"}, "key 'length': '3' is not a number"),
        ({"type": "Whitespace", "lang": "en"}, "key 'lang': Whitespace has no such key"),
    ],
)
def test_what_is_not_understood_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        steps_from_pre_tokenizer(given)


@pytest.mark.parametrize("name", ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "FixedLength", "Punctuation", "Digits"])
def test_the_reference_writes_what_we_read(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = getattr(tokenizers.pre_tokenizers, name)()
    assert steps_from_pre_tokenizer(json.loads(tokenizer.to_str())["pre_tokenizer"])
