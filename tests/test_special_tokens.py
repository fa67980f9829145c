"""Special tokens in texts: found as tiktoken and Hugging Face tokenizers find them, refused with a message that helps, in linear time."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import Any

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from bitlex.pure_token_stream import PureTokenStream
from bitlex.streams import pure_machine
from bitlex.token_streams import Adapted, PieceEncoder, make_token_stream
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken
from small_vocabularies import TRAINED, describe, pure

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")

CONTENTS = ("<|end|>", "<|end|>more", "<|fim|>", "[INST]", "é!", "<", "😀x", " lead", "\n\n!")
ADDED = tuple(AddedToken(300 + at, content) for at, content in enumerate(CONTENTS))
SPECIAL = {token.content: token.id for token in ADDED}
DISTINCT = tuple(token for token in ADDED if token.content not in ("<", "<|end|>more"))  # none begins like another
PATTERN = r"(?s:.+)"


def define(tokens: dict[bytes, int], text: bytes, start: int) -> tuple[int, int, int] | None:
    """The first place at which a token starts, and the longest there."""
    for at in range(start, len(text)):
        here = [token for token in tokens if text.startswith(token, at)]
        if here:
            longest = max(here, key=len)
            return at, at + len(longest), tokens[longest]
    return None


@pytest.mark.parametrize("seed", range(40))
def test_search(seed: int) -> None:
    """Over few letters, so that tokens begin like one another, lie in one another and overlap; with up to four first bytes and more."""
    rng = random.Random(seed)
    letters = b"ab<|>"[: rng.choice((2, 3, 5))]
    tokens = {bytes(rng.choices(letters, k=rng.randint(1, 5))): at for at in range(rng.choice((0, 1, 3, 30)))}
    specials = native.Specials(tokens)
    for _ in range(100):
        text = bytes(rng.choices(letters + b"xy", k=rng.randint(0, 30)))
        for start in range(len(text) + 1):
            assert specials.find(text, start) == define(tokens, text, start)
    assert specials.find(b"", 0) is None and specials.find(b"ab", 3) is None and specials.find(b"ab", -1) is None


@pytest.mark.parametrize("tokens", [(b"<|a|>", b"<|b|>"), (b"<|a|>", b"<a>"), (b"<|a|>", b"|b"), (b"<|a|>", b"<"), (b"<|a|>", b"ab|", b"|b")])
def test_search_at_every_place(tokens: tuple[bytes, ...]) -> None:
    """Among first bytes without second ones, and second ones without first ones, at every place of a long text of every length, cut everywhere."""
    found = {token: at for at, token in enumerate(tokens)}
    specials = native.Specials(found)
    for around in (b"x", b"<", b"|", b"|x<"):
        for at in range(140):
            text = (around * 140)[:at] + tokens[at % len(tokens)] + (around * 140)[: 80 - at % 7]
            for end in range(at, min(at + 8, len(text))):
                assert specials.find(text[:end], 0) == define(found, text[:end], 0)
            for start in (0, at // 2, at, at + 1):
                assert specials.find(text, start) == define(found, text, start)


def overlapping(rng: random.Random) -> dict[bytes, int]:
    """Tokens of two or three letters that share long beginnings, and pieces of them: where one is not met, others may be in what was read."""
    letters = b"abc"[: rng.choice((2, 3))]
    period = bytes(rng.choices(letters, k=rng.choice((1, 2, 3))))
    tokens = [(period * 9)[: rng.randint(1, 9)] + bytes(rng.choices(letters, k=rng.randint(0, 2))) for _ in range(rng.choice((1, 3, 10)))]
    for token in rng.choices(tokens, k=rng.choice((0, 2, 6))):
        start = rng.randrange(len(token))
        tokens.append(token[start : start + rng.choice((1, 2, 5))])
    return {token: 300 + at for at, token in enumerate(dict.fromkeys(tokens))}


@pytest.mark.parametrize("seed", range(20))
def test_overlapping(seed: int) -> None:
    """One after another in whole texts, and in streams cut in every way: as they are defined, and part by part as in Python."""
    rng = random.Random(seed)
    tokenizer = Tokenizer(describe(TRAINED, family=None, pre_tokenizer={"type": "Split", "pattern": {"Regex": "x|[abc]"}, "behavior": "Isolated", "invert": False}))
    for _ in range(6):
        tokens = overlapping(rng)
        specials = native.Specials(tokens)
        allowed = {token: number for token, number in tokens.items() if rng.random() < 0.8}
        for length in (*range(8), 40, 300):
            text = bytes(rng.choices(b"abcx", (9, 9, rng.choice((0, 1, 9)), rng.choice((0, 1))), k=length))
            if rng.random() < 0.5:
                text = (rng.choice(list(tokens)) * length)[:length]
            for start in range(min(length, 20)):
                assert specials.find(text, start) == define(tokens, text, start)
            for disallowed in ({}, {token: number for token, number in tokens.items() if token not in allowed}):
                compare_streams(tokenizer, text, allowed, disallowed, rng)


def compare_streams(tokenizer: Tokenizer, text: bytes, allowed: dict[bytes, int], disallowed: dict[bytes, int], rng: random.Random) -> None:
    encoder = tokenizer._encoder
    expected: Any = None
    if define(disallowed, text, 0) is None:
        ids, offsets = encoder.encode_with_offsets(text, encoder.specials(allowed), encoder.specials(disallowed), 1)
        expected = [(number, *place) for number, place in zip(ids.tolist(), offsets.reshape(-1, 2).tolist(), strict=True)]
        found, at = [], 0
        while (one := define(allowed, text, at)) is not None:
            found.append((one[2], *one[:2]))
            at = one[1]
        assert [one for one in expected if one[0] >= 300] == found
    places = range(1, len(text))
    ways = [list(places)] + [[at for at in places if rng.random() < 0.2] for _ in range(3)]
    if len(text) < 8:
        ways = [[at for at in places if way >> at & 1] for way in range(0, 1 << len(text), 2)]
    for way in ways:
        parts = [text[start:end] for start, end in pairwise([0, *way, len(text)])]
        fast = fed(make_token_stream(tokenizer, allowed, disallowed, 1 << 20, 2), parts)
        slow = fed(Adapted(PureTokenStream(pure_machine(tokenizer.lexer), PieceEncoder(tokenizer), allowed, disallowed, 1 << 20), 2), parts)
        assert fast == slow, parts
        assert expected is None or [one for part in fast for one in part] == expected, parts
        assert (expected is None) == isinstance(fast[-1], str)


def fed(stream: Any, parts: list[bytes]) -> list[Any]:
    """(id, start, end) of each part and of the end, up to the message of an error."""
    made: list[Any] = []
    try:
        for part in [*parts, None]:
            ids, offsets = stream.finish() if part is None else stream.feed(part)
            made.append([(number, *place) for number, place in zip(ids.tolist(), offsets.reshape(-1, 2).tolist(), strict=True)])
    except ValueError as error:
        made.append(str(error))
    return made


def test_what_is_no_special_token() -> None:
    for wrong in ({b"": 1}, {"a": 1}, {b"a": 2**21}):
        with pytest.raises(ValueError, match=r"expected \{bytes that are not empty: id below 2\*\*21\}"):
            native.Specials(wrong)
    kinds: tuple[Any, ...] = ([], None, "a")
    for kind in kinds:
        with pytest.raises(TypeError):
            native.Specials(kind)
    with pytest.raises(OverflowError):
        native.Specials({b"a": -1})
    with pytest.raises(TypeError):
        native.Specials({b"a": 1}).find(b"a")


def tokenizer_with(added: tuple[AddedToken, ...]) -> Tokenizer:
    return Tokenizer(describe(TRAINED, added, family=None, pre_tokenizer={"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}))


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    return tokenizer_with(ADDED)


@pytest.fixture(scope="module")
def distinct() -> Tokenizer:
    return tokenizer_with(DISTINCT)


@pytest.fixture(scope="module")
def theirs() -> tiktoken.Encoding:
    ranks = dict(TRAINED.ids)
    return tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={token.content: token.id for token in DISTINCT})


texts = st.lists(st.one_of(st.sampled_from([*CONTENTS, "<|", "|>", "the", "[INS", "😀", "\ud83d", "\ude00x"]), st.characters()), max_size=12).map("".join)
kinds = st.one_of(st.just("all"), st.sets(st.sampled_from([token.content for token in DISTINCT])))


@settings(max_examples=400, deadline=None)
@given(text=texts, allowed=kinds, disallowed=st.one_of(kinds, st.none()))
def test_as_tiktoken(distinct: Tokenizer, theirs: tiktoken.Encoding, text: str, allowed: Any, disallowed: Any) -> None:
    """With tokens none of which begins like another: of such, tiktoken takes the first in the order of a hash map, another in each process."""
    ours = distinct
    spelled = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # tiktoken refuses before it mends surrogates, ours after
    options = {"allowed_special": allowed} | ({} if disallowed is None else {"disallowed_special": disallowed})
    expected: list[int] | None
    try:
        expected = theirs.encode(spelled, **options)
    except ValueError:
        expected = None
    for encode in (ours.encode, lambda *a, **o: ours.encode_to_numpy(*a, **o).tolist(), lambda *a, **o: ours.encode_with_offsets(*a, **o)[0].tolist()):
        if expected is None:
            with pytest.raises(ValueError, match="the text has the special token"):
                encode(text, **options)
        else:
            assert encode(text, **options) == expected
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)


def test_the_longest_of_two(ours: Tokenizer) -> None:
    assert ours.encode("<|end|>more<|end|>", allowed_special="all") == [301, 300]
    assert ours.encode("<|end|>more", allowed_special={"<|end|>"}, disallowed_special=()) == [300, *ours.encode_ordinary("more")]


MESSAGE = (
    "the text has the special token '[INST]', at byte 6. To have it encoded as that token, pass allowed_special={'[INST]'} or "
    "allowed_special='all'; to have it encoded as any other text, disallowed_special=()"
)


def test_messages(ours: Tokenizer) -> None:
    for run in (ours.encode, ours.encode_to_numpy, ours.count, ours.encode_with_offsets):
        with pytest.raises(ValueError, match=f"^{re.escape(MESSAGE)}$"):
            run("é xyz[INST]")
    with pytest.raises(ValueError, match=f"^{re.escape(MESSAGE)}$"):
        pure(ours).refuse("é xyz[INST]", pure(ours).specials({b"[INST]": 303}))
    for name in ("encode_batch", "encode_batch_to_numpy", "encode_batch_flat", "count_batch"):
        with pytest.raises(ValueError, match=f"^{re.escape('texts[1]: ' + MESSAGE)}$"):
            getattr(ours, name)(["a", "é xyz[INST]"])
    with pytest.raises(ValueError, match=r"^allowed_special is 'some'; it may be 'all', or a collection of special tokens$"):
        ours.encode("a", allowed_special="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^disallowed_special: '<nothing>' is no special token of small$"):
        ours.encode("a", disallowed_special=["<nothing>"])


def test_by_convention() -> None:
    text = "a[INST]"
    plain = [97, *b"[INST]"]
    for convention, expected in (("tiktoken", None), ("huggingface", [97, 303]), ("tekken", plain)):
        tokenizer = Tokenizer(describe(TRAINED, ADDED, convention=convention))
        if expected is None:
            with pytest.raises(ValueError, match="special token"):
                tokenizer.encode(text)
        else:
            assert tokenizer.encode(text) == expected
        assert tokenizer.encode(text, allowed_special={"[INST]"}) == [97, 303]
        assert tokenizer.encode(text, allowed_special="all") == [97, 303]
        assert tokenizer.encode(text, allowed_special=(), disallowed_special=()) == tokenizer.encode_ordinary(text) == plain
        assert tokenizer.encode(text, disallowed_special=("<|end|>",), allowed_special=()) == plain
        assert tokenizer.special_tokens == SPECIAL
        assert tokenizer.decode([97, 303, 300], skip_special_tokens=True) == "a"
        assert tokenizer.decode([97, 303, 300]) == "a[INST]<|end|>"


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from([*CONTENTS, "the", " and"]), st.characters(codec="utf-8")), max_size=10))
def test_as_tokenizers(hugging: tuple[Tokenizer, tokenizers.Tokenizer], parts: list[str]) -> None:
    ours, theirs = hugging
    text = "".join(parts)
    expected = theirs.encode(text, add_special_tokens=False)
    ids, offsets = ours.encode_with_offsets(text)
    assert ids.tolist() == expected.ids
    assert [tuple(pair) for pair in offsets.tolist()] == expected.offsets
    assert ours.decode(ids) == theirs.decode(expected.ids, skip_special_tokens=False)


@pytest.fixture(scope="module")
def hugging() -> tuple[Tokenizer, tokenizers.Tokenizer]:
    from bitlex.vocabularies.byte_alphabet import ALPHABET
    from tokenizing import tokenizer_json

    spell = dict(enumerate(ALPHABET))
    words = [token.decode("latin-1").translate(spell) for token in TRAINED.tokens()[256:]]
    merges = [[left, right] for word in words for left, right in cuts(word, {*words, *ALPHABET})][:200]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    source = tokenizer_json(tuple(words), merges, pre_tokenizer=byte_level, decoder=byte_level)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(source))
    theirs.add_special_tokens(list(CONTENTS))
    return Tokenizer.from_huggingface(theirs), theirs


def cuts(word: str, known: set[str]) -> list[tuple[str, str]]:
    return [(word[:at], word[at:]) for at in range(1, len(word)) if word[:at] in known and word[at:] in known]
