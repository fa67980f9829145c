"""Methods that go to C without a Python function between: what comes out is what their functions give, whatever is said, and however often."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bitlex.added import searches
from bitlex.added_search import stretches
from bitlex.compat.tiktoken import Encoding
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken
from small_vocabularies import TRAINED, describe, pure

NOT_GIVEN = object()
TOKENS = (AddedToken(300, "<s>"), AddedToken(301, "<t>"), AddedToken(302, "é!"))
LSTRIP = (*TOKENS, AddedToken(303, "<l>", lstrip=True))
TEMPLATE: Any = ((300, 0), ("A", 0), (301, 0), (300, 0))
TOKENIZERS = {
    "tiktoken": Tokenizer(describe(TRAINED, TOKENS)),
    "huggingface": Tokenizer(describe(TRAINED, TOKENS, convention="huggingface", single=TEMPLATE)),
    "tekken": Tokenizer(describe(TRAINED, TOKENS, convention="tekken", single=TEMPLATE[:2])),
    "no tokens": Tokenizer(describe(TRAINED)),
    "in NFC": Tokenizer(describe(TRAINED, TOKENS, convention="huggingface", normalizer="NFC", single=TEMPLATE[1:])),
    "by the definition": Tokenizer(describe(TRAINED, LSTRIP, convention="huggingface", single=TEMPLATE)),
    "with a space": Tokenizer(describe(TRAINED, (*TOKENS, AddedToken(303, " t")), convention="huggingface", prefix_space=True, single=TEMPLATE)),
    "a space alone": Tokenizer(describe(TRAINED, convention="huggingface", prefix_space=True)),
    "all of it": Tokenizer(describe(TRAINED, (*LSTRIP, AddedToken(304, "e\u0301\u0323", normalized=True)), convention="huggingface", prefix_space=True,
                                    normalizer="NFC", single=TEMPLATE)),
}
TEXTS: tuple[Any, ...] = (
    "", "the thing", "the <s>thing<t>", "<t>", " é!e\u0301 the", "e\u0301<s>", "中文 <s>", "\ud83d\ude42 <t> \udc00", b"the <s> \xff", bytearray(b"<t>"), 5, None,
    "thing \u1eb9\u0301", " the thing", " thing", b"thing and", b" thing", bytearray(b"thing"), "the <l> thing", " <l>", "x" * 300 + " and\u00e9",
)
ALLOWED: tuple[Any, ...] = (NOT_GIVEN, None, "all", (), set(), frozenset({"<s>"}), {"<s>", "é!"}, ["<t>"], {"<u>"}, "some", 5, ([],))
DISALLOWED: tuple[Any, ...] = (NOT_GIVEN, None, "all", (), ("<s>",), [], frozenset({"<t>", "é!"}), {"<u>"}, 5)


def outcome(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a call gives, or how it fails."""
    try:
        found = call(*arguments, **options)
    except (TypeError, ValueError, KeyError) as error:
        return type(error), str(error)
    if isinstance(found, tuple):
        return [(part.dtype, part.shape, part.tolist()) for part in found]
    return (found.dtype, found.tolist()) if isinstance(found, np.ndarray) else (type(found), found)


def given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not NOT_GIVEN}


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_what_is_said_of_special_tokens(kind: str) -> None:
    """Each choice twice and in both orders, as the function writes down what it found out when it is first asked."""
    tokenizer = TOKENIZERS[kind]
    again = Tokenizer(tokenizer.description)
    for name in ("encode", "encode_to_numpy", "count", "encode_with_offsets"):
        method, function = getattr(tokenizer, name), inspect.unwrap(getattr(Tokenizer, name))
        for allowed, disallowed in itertools.chain(itertools.product(ALLOWED, DISALLOWED), itertools.product(ALLOWED[::-1], DISALLOWED[::-1])):
            special = given(allowed_special=allowed, disallowed_special=disallowed)
            for text in TEXTS:
                expected = outcome(function, again, text, **special)
                assert outcome(method, text, **special) == outcome(method, text, **special) == expected, (name, text, special)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_other_arguments(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    for name, options in (
        ("encode", {"add_special_tokens": (True, False, 1, None), "threads": (1, 2, 0, True, -1, "1", 1 << 70)}),
        ("encode_ordinary", {"threads": (1, 2, -1), "allowed_special": ((),), "add_special_tokens": (True,)}),
        ("encode_to_numpy", {"dtype": (None, "uint16", "int64", "float32"), "threads": (1, 2), "add_special_tokens": (True,)}),
        ("count", {"threads": (1, 2, 1.0), "add_special_tokens": (False,), "dtype": (None,)}),
        ("encode_with_offsets", {"threads": (1,), "allowed_special": ("all", ())}),
    ):
        method, function = getattr(tokenizer, name), inspect.unwrap(getattr(Tokenizer, name))
        for values in itertools.product(*((NOT_GIVEN, *values) for values in options.values())):
            said = given(**dict(zip(options, values, strict=True)))
            for text in TEXTS:
                assert outcome(method, text, **said) == outcome(function, tokenizer, text, **said), (name, text, said)
        assert outcome(method) == outcome(function, tokenizer)
        assert outcome(method, "the", "the", "the") == outcome(function, tokenizer, "the", "the", "the")
        assert outcome(method, text="the") == outcome(function, tokenizer, text="the")
        assert outcome(method, "the", **{"".join(["thr", "eads"]): 1}) == outcome(function, tokenizer, "the", threads=1)  # a name that is another object


@pytest.mark.parametrize("kind", ["by the definition", "with a space", "a space alone", "all of it", "in NFC"])
def test_texts_that_are_not_cut(kind: str) -> None:
    """Are encoded as the definition says, which cuts all of them: with tokens anywhere, or almost, and what NFC changes."""
    tokenizer = TOKENIZERS[kind]
    description, encoder, rng = tokenizer.description, pure(tokenizer), random.Random(kind)
    search = searches(description.added, description.normalizer)
    parts = ["the", " thing", " ", "<s>", "<t", ">", "<l>", " t", "e\u0301", "\u1eb9\u0301", "\u0323", "\u00e9", "!", "\n", "\u4e2d", "\U0001f642"]
    for number in range(1500):
        text = "".join(rng.choices(parts if number % 2 else parts[:3] + parts[8:], k=rng.randint(0, 9)))
        ids: list[int] = []
        for stretch, token in stretches(description, text, search):
            ids += encoder.encode(stretch, None, None, 1) if token is None else [token]
        assert tokenizer.encode(text) == tokenizer.encode(text.encode()) == tokenizer.encode(text, threads=2) == ids
        assert tokenizer.encode_batch([text, "the"])[0] == ids and tokenizer.count(text) == len(ids)
        assert tokenizer.encode_with_offsets(text)[0].tolist() == ids


BATCHES = {"encode_batch": "encode", "encode_batch_to_numpy": "encode_to_numpy", "count_batch": "count"}


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_many_texts(kind: str) -> None:
    """Of which some are encoded together, and others one by one; of those that are wrong, the first is told of."""
    tokenizer: Any = TOKENIZERS[kind]
    rng = random.Random(kind)
    chosen: list[dict[str, Any]] = [{}, {"allowed_special": ()}, {"disallowed_special": list(tokenizer.special_tokens)[:1]}]
    chosen += [{"allowed_special": "all", "threads": 2}]
    for number in range(150):
        texts = rng.choices(TEXTS if number % 3 == 0 else [text for text in TEXTS if isinstance(text, (str, bytes))], k=rng.randint(0, 8))
        for said in chosen:
            special = {name: value for name, value in said.items() if name != "threads"}
            for batch, one in BATCHES.items():
                expected: Any = []
                for at, text in enumerate(texts):
                    found = outcome(inspect.unwrap(getattr(Tokenizer, one)), tokenizer, text, **special)
                    if isinstance(found[1], str):
                        expected = (found[0], f"texts[{at}]: {found[1]}")
                        break
                    expected.append(found[1])
                made = outcome(getattr(tokenizer, batch), texts, **said)
                assert (made if isinstance(expected, tuple) else [one.tolist() if isinstance(one, np.ndarray) else one for one in made[1]]) == expected
            flat = outcome(tokenizer.encode_batch_flat, iter(texts), **said)
            wanted = outcome(tokenizer.encode_batch, texts, **said)
            if isinstance(wanted[1], str):
                assert flat == wanted
            else:
                assert flat[0][2] == [id for ids in wanted[1] for id in ids] and flat[1][2] == [0, *itertools.accumulate(map(len, wanted[1]))]


def test_an_array_of_the_callers() -> None:
    for tokenizer in TOKENIZERS.values():
        function = inspect.unwrap(Tokenizer.encode_into)
        for text in TEXTS:
            for special in ({}, {"allowed_special": ()}, {"disallowed_special": ()}, {"allowed_special": "all", "threads": 1}):
                ours, theirs = np.zeros(40, np.int64), np.zeros(40, np.int64)
                found = outcome(tokenizer.encode_into, text, ours, **special), outcome(tokenizer.encode_into, text, out=ours, **special)
                assert found == (outcome(function, tokenizer, text, theirs, **special),) * 2
                assert isinstance(found[0][1], str) or np.array_equal(ours[: found[0][1]], theirs[: found[0][1]])


def test_choices_that_change() -> None:
    """A set is what it holds at the time of the call, and an iterator can be asked but once."""
    tokenizer: Any = TOKENIZERS["tiktoken"]
    chosen = {"<s>"}
    for _ in range(3):
        chosen.clear()
        with pytest.raises(ValueError, match="special token '<s>'"):
            tokenizer.encode("<s>", allowed_special=chosen)
        chosen.add("<s>")
        assert tokenizer.encode("<s>", allowed_special=chosen) == [300]
        assert tokenizer.encode("<s>", allowed_special=iter(["<s>"])) == [300]


def test_more_choices_than_are_remembered() -> None:
    tokens = tuple(AddedToken(300 + at, f"<{at}>") for at in range(100))
    tokenizer = Tokenizer(describe(TRAINED, tokens))
    encoding = Encoding("x", pat_str=tokenizer.lexer.pattern, mergeable_ranks=dict(TRAINED.ids), special_tokens=dict(tokenizer.special_tokens))
    for _ in range(2):
        for at in range(100):
            for encode in (tokenizer.encode, encoding.encode):
                assert encode(f"<{at}>", allowed_special={f"<{at}>"}) == [300 + at]
                with pytest.raises(ValueError, match=f"<{99 - at}>"):
                    encode(f"<{99 - at}>", allowed_special={f"<{at}>"})


@pytest.mark.parametrize("name", ["encode", "encode_ordinary", "encode_to_numpy"])
def test_drop_in_of_tiktoken(name: str) -> None:
    """Its functions, of an encoding that was never asked anything, say what is right: tests of the drop-in compare them with tiktoken's."""
    ranks, pattern = dict(TRAINED.ids), TOKENIZERS["tiktoken"].lexer.pattern
    special = {token.content: token.id for token in TOKENS}
    encoding: Any = Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    function = inspect.unwrap(getattr(Encoding, name))
    chosen = [{}] if name == "encode_ordinary" else [
        given(allowed_special=allowed, disallowed_special=disallowed) for allowed, disallowed in itertools.product(ALLOWED[:-2], DISALLOWED)
    ]  # fmt: skip
    for said in [*chosen, *chosen[::-1], {"threads": 1}, {"add_special_tokens": False}]:
        for text in TEXTS:
            new = Encoding._of_tokenizer("x", TOKENIZERS["tiktoken"])
            expected = outcome(function, new, text, **said)
            assert outcome(getattr(encoding, name), text, **said) == outcome(getattr(encoding, name), text, **said) == expected, (text, said)
    assert outcome(encoding.encode, "<s>", disallowed_special=iter(["<s>"]))[0] is ValueError
    assert encoding.encode("<s>", disallowed_special=iter([])) == encoding.encode("<s>", disallowed_special=())
    for other in (copy.copy(encoding), copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding)), type("Mine", (Encoding,), {})("x", pat_str=pattern,
                  mergeable_ranks=ranks, special_tokens=special)):  # fmt: skip
        assert np.array_equal(getattr(other, name)("the thing"), getattr(encoding, name)("the thing"))
    assert weakref.ref(encoding)() is encoding


def test_what_calls_go_to_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
    monkeypatch.delenv("BITLEX_TIER", raising=False)
    encoder = Tokenizer(describe(TRAINED, TOKENS))._encoder
    wrong: Any
    for wrong in ((), (encoder, None, None), (5, None, None, {}), (encoder, None, None, ()), (encoder, None, None, {}, 5), (encoder, None, None, {}, (1, 2), ((),))):
        with pytest.raises(TypeError):
            native.Direct(*wrong)
    tokenizer: Any = Tokenizer(describe(TRAINED))
    tokenizer._direct = native.Direct(encoder, 5, None, {((), None): (None,), (None, ()): (None, 5)})
    for special in ({}, {"disallowed_special": ()}):
        with pytest.raises(TypeError, match="expected Specials or None, got int"):
            tokenizer.encode("the", **special)
    assert tokenizer.encode("the", allowed_special=()) == inspect.unwrap(Tokenizer.encode)(tokenizer, "the", allowed_special=())
