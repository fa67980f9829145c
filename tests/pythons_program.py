"""What the extension does in some Python, as text: `python pythons_program.py`, with bitlex on its path and nothing else, numpy neither.

Everything that hangs on how a Python has its objects: lists of ids and ints, str of every width, streams, batches, threads, pickles, errors.
The text is to be the same in all Pythons.
"""

import copy
import gc
import hashlib
import importlib
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import bitlex
import bitlex._native

TEXT = "It's 1234 naïve words\r\n\t中文字符 слово \U0001f600\U0001f44d " * 40
WIDTHS: list[Any] = ["plain ASCII, and more of it " * 50, "caf\xe9 cr\xe8me " * 50, "слово и дело " * 50, "\U0001f600 и \U0001f44d" * 50, "", "x" * 5_000]


def say(name: str, found: Any) -> None:
    spelled = repr(found)
    print(name, spelled if len(spelled) < 100 else hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest())


def outcome(run: Any, *arguments: Any) -> Any:
    try:
        return run(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def lex() -> None:
    compiled = bitlex.compile(r"\p{L}+|\p{N}|[^\p{L}\p{N}]")
    for lexer in (bitlex.lexer("cl100k"), bitlex.lexer("o200k"), compiled):
        for text in [*WIDTHS, TEXT, TEXT.encode(), b"\xff\xc3(" * 300]:
            say(lexer.name, lexer.split(text))
            say(lexer.name, (lexer.count(text), [*lexer.iterate(text)][-3:]))
            stream, found = lexer.stream(), []
            for at in range(0, len(text), 7):
                found += stream.feed(text[at : at + 7])
            say(lexer.name, found + stream.finish())
        say(lexer.name, lexer.split_batch([*WIDTHS, TEXT], threads=2))


def encode(tokenizer: bitlex.Tokenizer) -> None:
    for text in [*WIDTHS, TEXT, TEXT.encode(), "lone \ud800 half", "a<|end|>b"]:
        ids = tokenizer.encode(text, allowed_special="all")
        assert all(type(number) is int and number == int(str(number)) for number in ids)
        assert all(number is int(str(number)) for number in ids if number <= 256)
        say("ids", ids)
        say("text", tokenizer.decode(ids))
        say("text", tokenizer.decode(tuple(ids)))
        say("bytes", tokenizer.decode_bytes([int(str(number)) for number in ids]))
        say("count", tokenizer.count(text, allowed_special="all"))
        stream, found = tokenizer.stream(allowed_special="all"), []
        for at in range(0, len(text), 50):
            found += stream.feed(text[at : at + 50])
            stream = stream.copy()
        assert found + stream.finish() == ids or "\ud800" in text
        decoding = tokenizer.decode_stream()
        say("decoded", "".join(map(decoding.feed, ids)) + decoding.finish())
        say("refused", outcome(tokenizer.encode, text))
    batch = tokenizer.encode_batch([*WIDTHS, TEXT] * 20, threads=3)
    say("batch", batch)
    say("batch", tokenizer.decode_batch(batch, threads=2))
    for wrong in ([1, "x"], [1, -1], [2**40], 7, [1.5], [None]):
        say("wrong", outcome(tokenizer.decode, wrong))
    say("wrong", outcome(tokenizer.encode, 7))


def outlive() -> None:
    kept = []
    words = " ".join(f"{chr(97 + number % 26)}{number**3:x}" for number in range(4_000))
    for size in (300, 1_000, 3_000):  # each has more ids than there were
        tokenizer = bitlex.train([words], size)
        kept.append((tokenizer.encode(words), tokenizer.decode(tokenizer.encode(words)) == words))
        del tokenizer
        gc.collect()
    say("kept", kept)


IN_AN_INTERPRETER = """
import bitlex
text = {text!r}
tokenizer = bitlex.train([text], 300)
for _ in range(30):
    ids = tokenizer.encode(text)
    assert (hash(tuple(ids)), tokenizer.decode(ids)) == ({expected}, text)
    assert tokenizer.encode_batch([text] * 3, threads=2) == [ids] * 3
    assert bitlex.lexer("cl100k").count(text) == {count}
"""


def interpreters() -> None:
    """Several at once, with a GIL each: from Python 3.13 on, whose module of that name makes such."""
    if sys.version_info < (3, 13):
        return
    module: Any = importlib.import_module("_interpreters")
    expected, count = hash(tuple(bitlex.train([TEXT], 300).encode(TEXT))), bitlex.lexer("cl100k").count(TEXT)
    program = IN_AN_INTERPRETER.format(text=TEXT, expected=expected, count=count)

    def failure(_: int) -> Any:
        number = module.create()
        failed = module.exec(number, program)
        module.destroy(number)
        return failed

    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(failure, range(3))] == [None] * 3


def main() -> None:
    assert bitlex._native.__file__ and "numpy" not in sys.modules
    lex()
    tokenizer = bitlex.train([*WIDTHS, TEXT], 340, special_tokens=["<|end|>"])
    say("digest", tokenizer.description.digest)
    for same in (tokenizer, pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        encode(same)
    outlive()
    interpreters()


main()
