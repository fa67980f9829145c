"""Any stage of a program as text for people, or as Graphviz: what `--show` prints, and the generator's warnings.

    show(program, "cells")      cell 4  letters of one kind ...  141,020 code points: A B C ...
"""

from __future__ import annotations

from collections.abc import Iterable

from . import Program
from .bimachine import Bimachine
from .cells import Partition
from .codeset import CodeSet
from .dfa import Dfa, determinize, minimize
from .errors import printable
from .limits import Limits
from .measure import agreement, cover, lookahead
from .nfa import CHAR, SPLIT, Nfa
from .peek2 import unreachable, winners
from .split import CONTINUE
from .tree import Alternate, Atomic, Chars, Concat, Look, Node, Repeat, SearchStart

__all__ = ["STAGES", "show", "warnings"]

STAGES = ("tree", "cells", "nfa", "dfa", "machine", "bimachine", "measures", "peek2")
LETTERS = ".SD"  # continue, start, drop


def show(program: Program, stage: str, dot: bool = False) -> str:
    """The stage of every step of a program (of the whole program for the bimachine)."""
    if stage == "cells":
        return cells(program.cells)
    if stage == "bimachine":
        return bimachines_dot(program) if dot else bimachines(program)
    if stage == "measures":
        return "\n\n".join(measures(machine, program.cells) for machine in program.stages)
    parts = []
    for number, (plan, nfa) in enumerate(zip(program.plans, program.nfas, strict=True)):
        title = f"step {number + 1} of {len(program.plans)}: {plan.behavior}{' inverted' if plan.invert else ''}  {printable(plan.pattern)}"
        if stage == "tree":
            body = tree(plan.tree)
        elif stage == "nfa":
            body = nfa_dot(nfa) if dot else nfa_text(nfa, program.raw)
        elif stage == "peek2":
            body = peek2(nfa, program.raw)
        else:
            dfa = determinize(nfa, Limits())
            dfa = minimize(dfa, Limits()) if stage == "machine" else dfa
            body = dfa_dot(dfa, program.raw) if dot else dfa_text(dfa, program.raw)
        parts.append(body if dot else f"{title}\n{body}")
    return "\n\n".join(parts)


def warnings(program: Program) -> Iterable[str]:
    """What the author of a pattern would want to know: alternatives that can never match."""
    for number, (plan, nfa) in enumerate(zip(program.plans, program.nfas, strict=True)):
        for alternative in unreachable(nfa, Limits()) if len(nfa.code) < 1000 else ():
            first, last = nfa.alternatives[alternative]
            where = f"step {number + 1}, " if len(program.plans) > 1 else ""
            yield f"{where}alternative {alternative} can never match: {printable(plan.pattern[first:last])}"


def character(code_point: int) -> str:
    c = chr(code_point)
    return c if c.isprintable() and not c.isspace() else f"U+{code_point:04X}"


def points(codes: CodeSet, most: int = 6) -> str:
    """A set in a few words: its first ranges and its size."""
    shown = [character(a) if a == b else f"{character(a)}-{character(b)}" for a, b in codes.ranges[:most]]
    more = f" ... {len(codes):,} code points" if len(codes.ranges) > most else ""
    return " ".join(shown) + more


def names(partition: Partition) -> list[str]:
    return [points(partition.members(cell), 3) for cell in range(partition.count)] + ["end"]


def cells(partition: Partition) -> str:
    rows = [f"cell {cell:3}  {len(partition.members(cell)):>9,}  {points(partition.members(cell), 10)}" for cell in range(partition.count)]
    return "\n".join(rows)


def tree(node: Node, depth: int = 0) -> str:
    lead = "  " * depth
    match node:
        case Chars(codes):
            return f"{lead}one of {points(codes)}"
        case SearchStart():
            return f"{lead}where the search started"
        case Concat(items):
            return "\n".join([f"{lead}in a row"] + [tree(item, depth + 1) for item in items])
        case Alternate(branches):
            return "\n".join([f"{lead}the first that matches of"] + [tree(branch, depth + 1) for branch in branches])
        case Repeat(item, low, high, mode):
            return f"{lead}{low} to {'any number' if high is None else high} times, {mode}\n{tree(item, depth + 1)}"
        case Look(item, ahead, negative):
            return f"{lead}{'not ' if negative else ''}{'followed' if ahead else 'preceded'} by\n{tree(item, depth + 1)}"
        case Atomic(item):
            return f"{lead}once and for all\n{tree(item, depth + 1)}"
    raise AssertionError(f"not resolved: {node}")


def mask(bits: int, count: int) -> str:
    chosen = [str(c) if c < count else "end" for c in range(count + 1) if bits >> c & 1]
    return "{" + " ".join(chosen) + "}" if 2 * len(chosen) <= count + 2 else "not {" + " ".join(
        str(c) if c < count else "end" for c in range(count + 1) if not bits >> c & 1) + "}"  # fmt: skip


def nfa_text(nfa: Nfa, partition: Partition) -> str:
    rows = [f"start {nfa.start}; cells as in --show cells before merging ({partition.count})"]
    for at, i in enumerate(nfa.code):
        what = f" {mask(i.mask, nfa.cells)}" if i.op in (CHAR, "PEEK", "BEHIND") else ""
        other = f", else {i.other}" if i.op == SPLIT else f" ({'not ' if i.negative else ''}{i.other})" if i.op == "LOOK" else ""
        rows.append(f"{at:4} {i.op:6}{what}" + (f" -> {i.next}" if i.next >= 0 else "") + other)
    return "\n".join(rows)


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def nfa_dot(nfa: Nfa) -> str:
    rows = [f"  {at} [label={quote(i.op if i.op != CHAR else mask(i.mask, nfa.cells))}];" for at, i in enumerate(nfa.code)]
    rows += [f"  {at} -> {i.next};" for at, i in enumerate(nfa.code) if i.next >= 0]
    rows += [f"  {at} -> {i.other} [style=dashed];" for at, i in enumerate(nfa.code) if i.other >= 0]
    return "digraph nfa {\n" + "\n".join(rows) + "\n}"


def edges(dfa: Dfa, state: int, count: int) -> dict[tuple[int, bool], list[int]]:
    found: dict[tuple[int, bool], list[int]] = {}
    for symbol in range(count + 1):
        key = dfa.next[state][symbol], dfa.matched[state][symbol]
        if key != (-1, False):
            found.setdefault(key, []).append(symbol)
    return found


def dfa_text(dfa: Dfa, partition: Partition) -> str:
    rows = [f"{len(dfa.next)} states; a match starts in state {', '.join(map(str, dict.fromkeys(dfa.starts)))}"]
    for state in range(len(dfa.next)):
        rows.append(f"state {state}")
        for (next, matched), symbols in edges(dfa, state, partition.count).items():
            bits = sum(1 << s for s in symbols)
            end = "match ends before; " if matched else ""
            rows.append(f"    {mask(bits, partition.count):30} {end}{'stop' if next < 0 else f'-> {next}'}")
    return "\n".join(rows)


def dfa_dot(dfa: Dfa, partition: Partition) -> str:
    """States in two rings can end a match; an edge in bold ends one before it goes on to look for a longer one. Cells have numbers."""
    rows = [f'  legend [shape=plaintext, label={quote("".join(f"{c}  {name}{chr(10)}" for c, name in enumerate(names(partition)[:-1])))}];']
    for state in range(len(dfa.next)):
        rows.append(f"  {state} [shape=circle{', peripheries=2' if any(dfa.matched[state]) else ''}];")
        for (next, matched), symbols in edges(dfa, state, partition.count).items():
            if next >= 0:
                label = mask(sum(1 << s for s in symbols), partition.count)
                rows.append(f"  {state} -> {next} [label={quote(label)}{', style=bold' if matched else ''}];")
    return "digraph dfa {\n  rankdir=LR;\n" + "\n".join(rows) + "\n}"


def bimachines(program: Program) -> str:
    rows = []
    for number, stage in enumerate(program.stages):
        rows.append(f"stage {number + 1} of {len(program.stages)}: {len(set(stage.columns))} columns, {len(stage.backward)} backward states, "
                    f"{len(stage.forward)} forward states, {len(stage.forward[0])} labels")  # fmt: skip
        if len(program.stages) == 1:
            rows += [f"  column {c:3}: {name}" for c, name in enumerate(names(program.cells)[:-1])]
        rows.append("  backward: state -> state/label before each column")
        rows += [f"  {r:4} " + " ".join(f"{t}/{g}".rjust(6) for t, g in zip(stage.backward[r], stage.labels[r], strict=True))
                 for r in range(len(stage.backward))]  # fmt: skip
        rows.append("  forward: state -> state and letter after each label (. continue, S start, D drop)")
        rows += [f"  {f:4} " + " ".join(f"{t}{LETTERS[o]}".rjust(4) for t, o in zip(stage.forward[f], stage.output[f], strict=True))
                 for f in range(len(stage.forward))]  # fmt: skip
    return "\n".join(rows)


def measures(machine: Bimachine, partition: Partition) -> str:
    """How long texts must be to say everything about a machine, how far it looks ahead, and a text for each of its transitions."""
    if machine.symbols != partition.count or len(set(partition.cell_of)) < partition.count:
        raise ValueError("only a lexer of one stage over code points can be measured in characters")
    smallest = [partition.members(cell).ranges[0][0] for cell in range(partition.count)]

    def text(word: Iterable[int]) -> str:
        return ascii("".join(chr(smallest[symbol]) for symbol in word))

    ahead = lookahead(machine)
    longest = agreement(machine, machine)
    rows = [f"texts of at most {longest} characters meet every combination of prefix state, cell and suffix state"]
    if ahead.symbols is not None:
        rows.append(f"a stream holds back at most {ahead.symbols} characters")
    else:
        shown = f"after {text(ahead.text)} the letter of character {ahead.at} is open, and stays so while {text(ahead.again)} is repeated"
        rows.append(f"no number of characters decides every letter: {shown}")
    for (kind, state, entry), word in sorted(cover(machine).items()):
        rows.append(f"{kind:8} state {state:3}, {'column' if kind == 'backward' else 'label '} {entry:3}: {text(word)}")
    return "\n".join(rows)


def bimachines_dot(program: Program) -> str:
    rows = []
    for number, stage in enumerate(program.stages):
        for kind, table, letters in (("r", stage.backward, stage.labels), ("f", stage.forward, stage.output)):
            for state, row in enumerate(table):
                grouped: dict[tuple[int, int], list[int]] = {}
                for symbol, next in enumerate(row):
                    grouped.setdefault((next, letters[state][symbol] if kind == "f" else CONTINUE), []).append(symbol)
                for (next, letter), symbols in grouped.items():
                    label = " ".join(map(str, symbols)) + (f" : {LETTERS[letter]}" if kind == "f" else "")
                    rows.append(f"  {kind}{number}_{state} -> {kind}{number}_{next} [label={quote(label)}];")
    return "digraph bimachine {\n  rankdir=LR;\n" + "\n".join(rows) + "\n}"


def peek2(nfa: Nfa, partition: Partition) -> str:
    """Rows: the first cell; columns: the second. Several numbers: two cells do not decide, the rest of the text does; "-" is a gap."""
    table = winners(nfa, Limits())
    width = max(len(entry(v)) for v in table.values()) + 1
    labels = names(partition)
    rows = ["      " + "".join(str(c if c < nfa.cells else "end").rjust(max(width, 4)) for c in range(nfa.cells + 1))]
    for first in range(nfa.cells):
        cellsin = "".join(entry(table[first, second]).rjust(max(width, 4)) for second in range(nfa.cells + 1))
        rows.append(f"{first:5} {cellsin}   {labels[first]}")
    return "\n".join(rows)


def entry(found: frozenset[int]) -> str:
    return "/".join("-" if n < 0 else str(n) for n in sorted(found, key=lambda n: (n < 0, n)))
