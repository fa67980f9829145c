"""What threads do in the C extension, for a thread sanitizer to watch: `python threads_program.py FOLDER`, an error if results differ.

Counting and merging of training, with runs that are written down; texts encoded by several threads, alone and in batches; lexing; and
threads of Python that have all of it in common.
"""

import sys
from pathlib import Path
from typing import Any

import bitlex
from bitlex.training import counting
from test_sharing import share

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))]
TEXTS += [(" 中文字 слово \U0001f600 naïve\n" * 3000)[at:] for at in range(3)]


def main(folder: Path) -> None:
    assert folder in Path(bitlex.__file__).parents, "the extension that is watched lies in this folder"
    whole = "".join(TEXTS)
    expected = bitlex.train(TEXTS, 600, threads=1)
    assert bitlex.train(TEXTS, 600, threads=4).description.digest == expected.description.digest
    assert bitlex.train(TEXTS, 600, threads=4, memory=100_000, spill=folder).description.digest == expected.description.digest
    path = folder / "whole.txt"
    path.write_text(whole, encoding="utf-8")
    counting.WINDOW = 100_000
    once = bitlex.train(path, 600, threads=1).description.digest
    for memory in (1, 300_000):
        assert bitlex.train(path, 600, threads=4, memory=memory, spill=folder).description.digest == once
    ids = [expected.encode(text) for text in TEXTS]
    assert expected.encode_batch(TEXTS, threads=4) == ids
    assert expected.encode_to_numpy(whole, threads=4).tolist() == expected.encode(whole)
    encoder: Any = expected._encoder
    special = encoder.specials({b"the ": 900})
    assert encoder.encode(whole, special, encoder.specials({b"\xff": 901}), 4, 1) == encoder.encode(whole, special, None, 1)
    for tokenizer in (expected, bitlex.train(TEXTS, 256)):  # and where there are more ids than room was asked for
        encoder = tokenizer._encoder
        alone, places = encoder.encode_with_offsets(whole, None, None, 1)
        for found, wanted in zip(encoder.encode_with_offsets(whole, None, None, 4, 1), (alone, places), strict=True):
            assert found.tolist() == wanted.tolist()
        assert encoder.encode_window(whole.encode() * 9, None, None, 4, 1, True, 0, True, None)[0] > 0
        side_by_side, begins = encoder.encode_batch_flat(TEXTS * 20, None, None, 4)
        assert side_by_side.tolist() == [id for text in TEXTS * 20 for id in encoder.encode(text, None, None, 1)] and len(begins) == 20 * len(TEXTS) + 1
    assert expected.decode_batch(ids, threads=4) == TEXTS
    assert expected.count_batch(TEXTS, threads=4) == list(map(len, ids))
    lexer = bitlex.lexer("o200k")
    assert lexer.spans(whole, threads=4).tolist() == lexer.spans(whole).tolist()
    assert lexer.split_batch(TEXTS, threads=4) == list(map(lexer.split, TEXTS))
    share(expected, lexer, 20)


main(Path(sys.argv[1]))
