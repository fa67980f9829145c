"""What the generator says when it cannot go on: the place in the pattern, one sentence why, and what to do.

    PatternError: a backreference is not a regular expression
      (a+)\\1
          ^^
    a lexer has no memory of what a group matched; write the repetition out

`PatternError` is about the text of a pattern, `LimitError` about the size of what it means. Both are `ValueError`s, so callers
that only know "bad argument" keep working.
"""

from __future__ import annotations

__all__ = ["LimitError", "PatternError", "printable"]

WINDOW = 100


def printable(text: str) -> str:
    """A text that was given, in one line: control characters, which a terminal would obey, and whatever else it does not show, as escapes.

    bitlex.formats has one of its own, for the command: neither package is imported for so little by the other.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class PatternError(ValueError):
    """A pattern that is malformed, or asks for what no lexer can do. `.pattern`, `.span`, `.reason` and `.advice` are public."""

    def __init__(self, reason: str, pattern: str, span: tuple[int, int], advice: str = "") -> None:
        self.reason, self.pattern, self.span, self.advice = reason, pattern, span, advice
        super().__init__(self._render())

    def __reduce__(self) -> tuple[type[PatternError], tuple[str, str, tuple[int, int], str]]:
        return type(self), (self.reason, self.pattern, self.span, self.advice)

    def _render(self) -> str:
        first, last = self.span
        # Long patterns are shown around the fault only, and control characters as one printable column each.
        left = max(0, min(first - WINDOW // 2, len(self.pattern) - WINDOW))
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.pattern[left : left + WINDOW])
        lead = "..." if left else ""
        tail = "..." if left + WINDOW < len(self.pattern) else ""
        width = max(1, min(last, left + WINDOW) - first)
        lines = [self.reason, f"  {lead}{shown}{tail}", "  " + " " * (len(lead) + first - left) + "^" * width]
        if self.advice:
            lines.append(self.advice)
        return "\n".join(lines)


class LimitError(ValueError):
    """The pattern is well-formed, but its lexer is larger than the limits in force (`generator.limits.Limits`)."""
