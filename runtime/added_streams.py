"""Added tokens in a text that comes in parts: what `Search.cut` of added.py does, as far as nothing that follows can change it.

    cutting = AddedStream(Search({"<s>": AddedToken(5, "<s>", rstrip=True)}))
    list(cutting.feed("a <s", False))        # [("a ", None)]
    list(cutting.feed("> ", False))          # [("<s>", AddedToken(5, ...)), (" ", TAKEN)]
    list(cutting.feed(" b", True))           # [(" ", TAKEN), ("b", None)]

What waits: that which may be the beginning of a token; white space, if a token that may follow takes it (`lstrip`); and a token before
which or behind which no word character may stand (`single_word`), until it is known what stands there. Invariants: the slices that come
out, joined, are the text; white space that belongs to two by the definition is the later one's, and what comes as TAKEN belongs to the
token before. Rejected: to hold white space behind a token with `rstrip` until it ends (the token is settled, and it may be a gigabyte).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .added import WHITE_SPACE, Search, is_word, white_space
from .pure_stream import Copyable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from .vocabulary import AddedToken

    What: TypeAlias = "AddedToken | Taken | None"

__all__ = ["TAKEN", "AddedStream"]


class Taken:
    """Stands for the token before."""


TAKEN: Final = Taken()


class AddedStream(Copyable):
    """`search`: what finds the tokens in a whole text."""

    def __init__(self, search: Search) -> None:
        self.tokens, self.lstrip = search.texts, search.lstrip
        self.reset()

    def reset(self) -> None:
        """Begin another text."""
        self.white: list[str] = []  # white space that a token may take, which begins behind it,
        self.blanks = 0  # and how much that is
        self.text = ""  # what is not cut yet; no token that is taken begins before `seek`
        self.seek = 0
        self.before = ""  # the character before the text
        self.taking = False  # whether white space is that of the token before

    def copy(self) -> AddedStream:
        twin = object.__new__(AddedStream)
        twin.__dict__.update(self.__dict__)
        twin.white = list(self.white)
        return twin

    @property
    def held(self) -> int:
        return len(self.text) + self.blanks

    def feed(self, more: str, ends: bool) -> Iterator[tuple[str, What]]:
        """What is settled now: text without a token, tokens, white space that the token before takes. Nothing that is empty."""
        if not self.tokens.tokens:
            if more:
                yield more, None
            return
        text = self.text + more
        done, seek = 0, self.seek
        while True:
            match, limit = self.tokens.search(text, seek, ends)
            if match is None:
                break
            at, end = match.span()
            token: AddedToken = self.tokens.tokens[match.group()]
            seek = end
            if token.single_word:
                if end == len(text) and not ends:
                    limit = seek = at
                    break
                if is_word(text[at - 1] if at else self.before) or is_word(text[end : end + 1]):
                    continue
            if self.taking:
                to = white_space(text, done, len(text) if token.lstrip else at)
                if to > done:
                    yield text[done:to], TAKEN
                done = to
            start = max(at, done)
            while token.lstrip and start > done and text[start - 1] in WHITE_SPACE:
                start -= 1
            white = self.taken_back()
            own, white = (white, "") if token.lstrip and start == done else ("", white)
            if white or start > done:
                yield white + text[done:start], None
            yield own + text[start:end], token
            done, self.taking = end, token.rstrip
        yield from self.rest(text, done, limit, ends)
        self.before = text[limit - 1] if limit else self.before
        self.text, self.seek = text[limit:], max(seek, limit) - limit

    def taken_back(self) -> str:
        """The white space that waits, no more of which does."""
        white = "".join(self.white)
        self.white.clear()
        self.blanks = 0
        return white

    def rest(self, text: str, done: int, limit: int, ends: bool) -> Iterator[tuple[str, What]]:
        """What is behind the last token, up to where one may begin."""
        if self.taking:
            to = white_space(text, done, limit)
            if to > done:
                yield text[done:to], TAKEN
            done, self.taking = to, to == limit and text[to : to + 1] in WHITE_SPACE  # or at the end of what is known
        last = limit
        while self.lstrip and not ends and last > done and text[last - 1] in WHITE_SPACE:
            last -= 1
        if last > done or (ends and self.white):
            yield self.taken_back() + text[done:last], None
        if last < limit:
            self.white.append(text[last:limit])
            self.blanks += limit - last
