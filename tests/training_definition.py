"""Training by its definition: pieces in the order of the text in, merges out. All pairs are counted again for each merge; that is all.

Of all pairs of neighbours the most frequent one becomes a token everywhere, from left to right; of equals the first in the text, or the one
of smaller ids. "aaa" has the pair "aa" twice. A pair that has the bytes of one of the first tokens is left as it is.

Pieces that are equal are at any time the same tokens, since a merge is made everywhere. So each is looked at once, where it is first, and counts
as often as it is there: no count is another, and no pair is met first elsewhere, as its first place lies in the first of equal pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

__all__ = ["learn"]


def learn(
    pieces: Iterable[bytes], merges: int, *, smaller_first: bool, tokens: list[bytes], longest: int = 1 << 30, least: int = 1,
) -> list[tuple[int, int, int]]:  # fmt: skip
    """(left id, right id, how often the pair was there) of each merge; the first makes the id behind `tokens`."""
    ids = {token: number for number, token in enumerate(tokens) if token}
    times = Counter(pieces)
    words = [[ids[piece[at : at + 1]] for at in range(len(piece)) if piece[at : at + 1] in ids] for piece in times]
    all_tokens, lengths = list(tokens), [len(token) for token in tokens]
    made = []
    for _ in range(merges):
        counts: dict[tuple[int, int], int] = {}
        for word, count in zip(words, times.values(), strict=True):
            for pair in zip(word, word[1:], strict=False):
                if lengths[pair[0]] + lengths[pair[1]] <= longest and all_tokens[pair[0]] + all_tokens[pair[1]] not in ids:
                    counts[pair] = counts.get(pair, 0) + count
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair)) if smaller_first else max(counts, key=counts.__getitem__)
        if counts[best] < least:
            break
        made.append((*best, counts[best]))
        words = [merged(word, best, len(lengths)) for word in words]
        lengths.append(lengths[best[0]] + lengths[best[1]])
        all_tokens.append(all_tokens[best[0]] + all_tokens[best[1]])
    return made


def merged(word: list[int], pair: tuple[int, int], number: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            out.append(number)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out
