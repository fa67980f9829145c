"""Vocabularies that merge by rank, and those that list their merges: from one to the other, where that changes no id.

    merges_by_rank(Vocabulary.from_ranks([b"a", b"b", b"ab"]))     # the triples (0, 1, 2)

In a vocabulary of ranks two tokens merge if their bytes together are a token. Only one pair ever does so for each token: the two that its
bytes have merged to before it is made (docs/tokens.md), also by way of tokens of higher ranks: it then merges as soon as these are there. A
token whose bytes never merge to two is never made. Invariant: the vocabulary with these merges gives the same ids for every piece. So a
list of merges can do without, if it is the one that follows from the ranks. Rejected: to compare encodings of some texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from ..vocabulary import MOST_IDS, Vocabulary, VocabularyError

__all__ = ["check_ranks", "merges_by_rank"]


def merges_by_rank(vocabulary: Vocabulary) -> bytes:
    """The merges of a vocabulary by the ranks of its tokens, as triples of uint32."""
    ids = vocabulary.ids
    made = array("I")
    for number, token in enumerate(vocabulary.tokens()):
        if len(token) > 1:
            parts = parts_before(ids, token)
            if len(parts) == 2:
                made.extend((ids[parts[0]], ids[parts[1]], number))
    return made.tobytes()


def parts_before(ids: Mapping[bytes, int], token: bytes) -> list[bytes]:
    """The two that the bytes of a token merge to before it is made; more if it never is."""
    parts = [token[at : at + 1] for at in range(len(token))]
    none = MOST_IDS
    ranks = [ids.get(left + right, none) for left, right in zip(parts, parts[1:], strict=False)]
    while len(parts) > 2 and (lowest := min(ranks)) < none:
        at = ranks.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        for here in (at - 1, at):
            if 0 <= here < len(ranks):
                ranks[here] = ids.get(parts[here] + parts[here + 1], none)
    return parts


def check_ranks(vocabulary: Vocabulary, where: str) -> None:
    """VocabularyError unless the merges of a vocabulary are those that follow from its ranks, and no token is made otherwise."""
    if vocabulary.merges is None:
        return
    flat = memoryview(vocabulary.merges).cast("I")
    expected = memoryview(merges_by_rank(vocabulary)).cast("I")
    if flat != expected:
        at = next((at for at, (one, other) in enumerate(zip(flat, expected, strict=False)) if one != other), min(len(flat), len(expected)))
        raise VocabularyError(f"{where}: merge {at // 3} is not where the ids of tokens would have it; a rank file has no other merges")
    made = set(flat[2::3])
    if not vocabulary.whole:
        for number, token in enumerate(vocabulary.tokens()):
            if len(token) > 1 and number not in made:
                raise VocabularyError(f"{where}: token {number}, {token!r}, is made by no merge; a rank file would take it whole")
