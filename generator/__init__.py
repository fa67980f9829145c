"""The generator: the text of a pretokenizer pattern in, a lexer out that splits exactly as the pattern's engine does.

    pattern --syntax--> tree --resolve--> tree over sets --cells--> partition
            --nfa--> program --suffix, split--> machine --bimachine--> canonical tables --sequence--> stages
            --pack--> Tables --emit--> Python and C source

Each stage is a pure function in a file of its own; `compile_steps` below is the table of contents. Only `__main__` writes files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .bimachine import Bimachine, canonical
from .bytelevel import Widened, byte_view, leading
from .cells import Partition, partition
from .codeset import CodeSet
from .dialects import dialect as dialect_named
from .errors import LimitError, PatternError
from .families import Family, Step, families, family
from .limits import Limits
from .nfa import Nfa, build
from .pretokenizer import steps_from_pre_tokenizer
from .properties import check_version
from .resolve import sets
from .sequence import Prefixed, chain
from .split import Split
from .steps import Plan, plans

__all__ = [
    "Family", "LimitError", "Limits", "PatternError", "Program", "Step", "compile_family", "compile_pattern", "compile_steps",
    "families", "family", "steps_from_pre_tokenizer",
]  # fmt: skip

SPACE = CodeSet.of(" ")


@dataclass(frozen=True)
class Program:
    """A compiled lexer before packing, with what it was made from.

    `raw` is the partition that `nfas` and `splits` speak of; `cells` the coarser one of the stages, in which code points that no
    text tells apart are one cell.
    """

    name: str
    dialect: str
    unicode: str
    steps: tuple[Step, ...]
    plans: tuple[Plan, ...]
    raw: Partition
    nfas: tuple[Nfa, ...]
    splits: tuple[Bimachine, ...]  # of each step alone, over the raw cells
    cells: Partition
    stages: tuple[Bimachine, ...]
    continuation: tuple[int, ...] = ()  # bytewise programs: the cell of each byte 80..BF inside a code point


def compile_steps(steps: Sequence[Step], dialect: str, unicode: str, name: str = "custom", limits: Limits | None = None) -> Program:
    """Compile a sequence of steps. PatternError for what cannot be a lexer, LimitError for what would be too large a one."""
    try:
        return compiled(steps, dialect, unicode, name, (limits or Limits()).started())
    except RecursionError:  # trees are followed by recursion, and the caller may have used up much of the stack
        raise LimitError("this pattern is nested too deeply for what is left of the interpreter's stack; write it with fewer groups and quantifiers "
                         "in each other, or call sys.setrecursionlimit(...) if you trust it") from None  # fmt: skip


def compiled(steps: Sequence[Step], dialect: str, unicode: str, name: str, limits: Limits) -> Program:
    """`compile_steps`, with the clock started."""
    dialect_named(dialect)  # both are checked also where no step needs them
    check_version(unicode)
    for step in steps:
        limits.check("characters", len(step.regex or step.string or ""))
    planned = plans(steps, dialect, unicode, limits)
    of_bytes = set().union(*(sets(plan.tree) for plan in planned if plan.bytewise))
    of_points = set().union({SPACE}, *(sets(plan.tree) for plan in planned if not plan.bytewise))
    raw = partition(of_points | {leading(points) for points in of_bytes}, limits)
    view, continuation = byte_view(raw, of_bytes) if any(plan.bytewise for plan in planned) else (raw, ())
    nfas = tuple(build(plan.tree, view if plan.bytewise else raw, plan.pattern, limits) for plan in planned)
    splits = tuple(split(plan, nfa, raw, view.count, limits) for plan, nfa in zip(planned, nfas, strict=True))
    for plan, machine in zip(planned, splits, strict=True):
        refuse_others(plan, machine, raw, view if plan.bytewise else raw, limits)
    cells, stages, merged = merge_cells(raw, chain(splits, limits))
    inside = tuple(merged[cell] for cell in continuation)
    return Program(name, dialect, unicode, tuple(steps), planned, raw, nfas, splits, cells, stages, inside)


def compile_family(known: Family, limits: Limits | None = None) -> Program:
    """The lexer of a catalogue family."""
    return compile_steps(known.steps, known.dialect, known.unicode, known.name, limits)


def compile_pattern(
    pattern: str, *, unicode: str = "16.0", dialect: str = "fancy", behavior: str = "isolated", invert: bool = False,
    name: str = "custom", limits: Limits | None = None,
) -> Program:  # fmt: skip
    """The lexer of one pattern."""
    step = Step("Split", regex=pattern, behavior=behavior, invert=invert)  # type: ignore[arg-type]
    return compile_steps((step,), dialect, unicode, name, limits)


def refuse_others(plan: Plan, machine: Bimachine, cells: Partition, view: Partition, limits: Limits) -> None:
    """PatternError for a pattern that its engine may read in another way, if that splits otherwise."""

    def differs(other: Plan) -> bool:
        return split(other, build(other.tree, view, plan.pattern, limits), cells, view.count, limits) != machine

    if plan.other is not None and differs(plan.other):
        raise PatternError("these alternatives begin alike, and this engine may take that out of them, which changes what matches",
                           plan.pattern, plan.other_span, "write what they begin with once, before a group of the rest: a?(?:b|c)")  # fmt: skip
    if plan.stopped is not None and differs(plan.stopped):
        raise PatternError("this engine may end a loop early whose body prefers nothing to something", plan.pattern, plan.stopped_span,
                           "repeat something that cannot be empty, or put what may be last")  # fmt: skip
    if plan.optimized is not None and differs(plan.optimized):
        raise PatternError("these loops are over the same thing, and this engine may join them, which changes what matches",
                           plan.pattern, plan.optimized_span, "write one of them out: aa* for a+, (?:aa*)? for a*")  # fmt: skip
    if plan.optimized is not None:
        refuse_others(plan.optimized, machine, cells, view, limits)


def split(plan: Plan, nfa: Nfa, cells: Partition, symbols: int, limits: Limits) -> Bimachine:
    machine = canonical(Split(nfa, plan.behavior, plan.invert, plan.empty, plan.pattern, limits), limits)
    if plan.prefix:
        machine = canonical(Prefixed(machine, cells.masks[SPACE].bit_length() - 1), limits)
    return machine if machine.symbols == symbols else canonical(Widened(machine, symbols - machine.symbols), limits)


def merge_cells(raw: Partition, stages: tuple[Bimachine, ...]) -> tuple[Partition, tuple[Bimachine, ...], list[int]]:
    """Make cells that no stage tells apart one cell; the new cell of each old one comes with it."""
    count = stages[0].symbols
    numbers: dict[tuple[tuple[int, ...], ...], int] = {}
    first: list[int] = []
    merged = []
    for cell in range(count):
        key = tuple(stage.columns[cell::count] for stage in stages)
        if key not in numbers:
            numbers[key] = len(numbers)
            first.append(cell)
        merged.append(numbers[key])
    kept = tuple(
        Bimachine(tuple(c for at in range(0, stage.symbols, count) for c in (stage.columns[at + f] for f in first)),
                  stage.backward, stage.labels, stage.forward, stage.output)
        for stage in stages
    )  # fmt: skip
    return raw.merged(tuple(merged)), kept, merged
