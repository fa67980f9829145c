"""Tokens as a page for the browser. In: ids with their bytes. Out: chunks of one HTML file that needs nothing else.

    "".join(page("cl100k_base", [(15339, b"hello"), (1917, b" world")]))

A token is a span whose attributes say what a style sheet shows when the pointer is on it, or when it has the focus. Invariant: nothing
in a token is read as HTML; what cannot be seen is escaped as in `formats`. Rejected: scripts (a page without them opens anywhere, and
hides nothing); the text in one attribute of the whole (a token may be part of a character).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from html import escape

from .formats import printable, visible

__all__ = ["page"]

COLORS = 5  # by turns
HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>
:root {{ color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --note: #1b1f24; --noted: #ffffff;
  --c0: #cfe8ff; --c1: #d8f3d0; --c2: #ffe3c2; --c3: #f6d3e8; --c4: #e2dbff; --special: #ffd24a; }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e8eaed; --page: #14171a; --note: #e8eaed; --noted: #14171a;
  --c0: #17405f; --c1: #1f4a1c; --c2: #5a3a12; --c3: #56264a; --c4: #3a2f6b; --special: #7a5b00; }} }}
body {{ margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 1rem/1.7 system-ui, sans-serif; }}
pre {{ font: 1rem/1.9 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }}
i {{ font-style: normal; position: relative; border-radius: .2em; padding: .1em 0; }}
.c0 {{ background: var(--c0); }} .c1 {{ background: var(--c1); }} .c2 {{ background: var(--c2); }} .c3 {{ background: var(--c3); }}
.c4 {{ background: var(--c4); }} .s {{ background: var(--special); }}
i:hover, i:focus {{ outline: 2px solid var(--text); z-index: 1; }}
i:hover::after, i:focus::after {{ content: "id " attr(data-id) "\\A bytes " attr(data-bytes) "\\A at " attr(data-at); white-space: pre;
  position: absolute; left: 0; top: 1.9em; z-index: 2; padding: .4em .6em; border-radius: .3em; background: var(--note);
  color: var(--noted); font-size: .85rem; line-height: 1.4; pointer-events: none; }}
</style>
</head>
<body>
<h1>{name}</h1>
<pre>"""
FOOT = """</pre>
<p>{count:,} tokens, {size:,} bytes</p>
</body>
</html>
"""


def page(name: str, tokens: Iterable[tuple[int, bytes]], special: Collection[int] = ()) -> Iterator[str]:
    """The page. `special`: the ids that are marked."""
    yield HEAD.format(name=escape(printable(name)))
    at = count = 0
    for number, token in tokens:
        kind = "s" if number in special else f"c{count % COLORS}"
        shown = "\\n\n".join(escape(visible(line)) for line in token.split(b"\n"))
        place = f"{at}-{at + len(token)}"
        yield f'<i class="{kind}" tabindex="0" data-id="{number}" data-bytes="{token.hex(" ")}" data-at="{place}">{shown}</i>'
        at += len(token)
        count += 1
    yield FOOT.format(count=count, size=at)
