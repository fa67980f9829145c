"""A place without width -> lookarounds of one character that say the same, as an engine has it.

    \\b      ->  (?<=\\w)(?!\\w)|(?<!\\w)(?=\\w)
    $        ->  (?!.)                   in the dialect where it is the very end of the text, . being any character

Invariant: what stands for an anchor has no anchor in it but \\G, which only a search knows.
"""

from __future__ import annotations

from .codeset import ALL, CodeSet
from .dialects import Dialect
from .tree import Alternate, Anchor, Chars, Concat, Look, Node, Repeat, SearchStart

__all__ = ["anchor"]


def anchor(node: Anchor, dialect: Dialect, word: CodeSet) -> Node:
    """`word`: what \\b calls a word character."""
    span = node.span

    def place(points: CodeSet, *, ahead: bool, negative: bool) -> Look:
        return Look(Chars(points, span), ahead, negative, span)

    newline = CodeSet.of("\n")
    end, start = place(ALL, ahead=True, negative=True), place(ALL, ahead=False, negative=True)
    final = Alternate((end, Look(Concat((Chars(newline, span), end), span), True, False, span)), span)
    line_end = place(~newline, ahead=True, negative=True)
    finals = Look(Concat((Repeat(Chars(newline, span), 0, None, "greedy", span), end), span), True, False, span)
    kinds: dict[str, Node] = {"end": end, "start": start, "final": final, "finals": finals, "line": line_end}
    match node.what:
        case "G":
            return SearchStart(span)
        case "A":
            return start
        case "z":
            return end
        case "Z":
            return kinds[dialect.capital_z]
        case "$":
            return kinds["line" if node.multiline else dialect.dollar]
        case "^" if node.multiline or dialect.caret == "line":
            after = place(~newline, ahead=False, negative=True)
            # Oniguruma alone: a newline that ends the text opens no line after it.
            not_last = place(ALL, ahead=True, negative=False)
            return Alternate((start, Concat((after, not_last), span)), span) if dialect.caret == "line" else after
        case "^":
            return start
    before, behind = place(word, ahead=True, negative=False), place(word, ahead=False, negative=False)
    no_before, no_behind = place(word, ahead=True, negative=True), place(word, ahead=False, negative=True)
    opens, closes = Concat((no_behind, before), span), Concat((behind, no_before), span)
    inner = Alternate((Concat((behind, before), span), Concat((no_behind, no_before), span)), span)
    edges: dict[str, Node] = {"<": opens, ">": closes, "b": Alternate((closes, opens), span), "B": inner}
    return edges[node.what]
