"""A resolved tree -> the same pattern as text for the `regex` module, version 1, every set spelled out as ranges.

    Repeat(Chars(digits), 1, 3, "possessive")   ->   (?>(?:[\\U00000030-\\U00000039]){1,3})

So the module's Unicode version, flags and reading of the source text play no part: what is left to it is to backtrack. `universe`
cuts every set down to the code points that the texts to come are made of; then matching does not walk hundreds of ranges.
"""

from __future__ import annotations

from .codeset import ALL, CodeSet
from .tree import Alternate, Atomic, Chars, Concat, Look, Node, Repeat, SearchStart

__all__ = ["Unspelled", "spell"]

NEVER = "(?!)"


class Unspelled(ValueError):
    """A loop that passes over empty iterations: the module ends it."""


def spell(tree: Node, universe: CodeSet = ALL, *, anchored: bool = True) -> str:
    """`anchored` False: the spelling for a search at which \\G does not hold. Unspelled for what the module does not do."""

    def all_of(items: tuple[Node, ...]) -> list[str]:
        return [spell(item, universe, anchored=anchored) for item in items]

    match tree:
        case Chars(points):
            return ranges(points & universe)
        case SearchStart():
            return r"\G" if anchored else NEVER
        case Concat(items):
            return "(?:" + "".join(all_of(items)) + ")"
        case Alternate(branches):
            return "(?:" + "|".join(all_of(branches)) + ")"
        case Repeat(passes=True):
            raise Unspelled("a loop over what may be empty, as the regex crate has it")
        case Repeat(item, low, high, mode):
            body = f"(?:{all_of((item,))[0]}){{{low},{'' if high is None else high}}}"
            return f"(?>{body})" if mode == "possessive" else body + "?" if mode == "lazy" else body
        case Atomic(item):
            return f"(?>{all_of((item,))[0]})"
        case Look(item, ahead, negative):
            return f"(?{'' if ahead else '<'}{'!' if negative else '='}{all_of((item,))[0]})"
    raise AssertionError(f"not a resolved tree: {tree}")


def ranges(points: CodeSet) -> str:
    if not points:
        return NEVER
    return "[" + "".join(rf"\U{a:08X}" if a == b else rf"\U{a:08X}-\U{b:08X}" for a, b in points.ranges) + "]"
