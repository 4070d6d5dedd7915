"""Which line holds the registers: each PTX line with what is live there, and who at the peak.

Two counts stand at each instruction, both in 32-bit registers a thread:

    live  what is live in the PTX as it is written (`analysis.pressure`)
    asm   what the code that ptxas makes of the line holds at most, where it is there; else what
          the assembler is taken to hold: its own order within the block, and nothing for what it
          keeps in the constant bank (`nvir.assembler.registers`)

The columns beside them are those of `nvdisasm -plr`: `^` written here, `v` read, `x` both,
`:` alive; a column stands for a register for as long as it is alive, and is then given to another.
The peak is that of `asm`; below the listing stand the registers that are alive there, the widest
and longest-lived first, with their definition, last use and the reason why they are alive.

Cost     Linear in the instructions times the registers alive at them.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from nvir.analysis.liveness import Liveness
from nvir.analysis.places import SourceLines
from nvir.analysis.pressure import width
from nvir.assembler.registers import RegisterEstimate
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ir.values import Value
from nvir.report.facts import FunctionFacts, function_facts
from nvir.report.real import with_real_counts
from nvir.sm.body import MachineBody
from nvir.sm.profile import profile_for

SCHEMA = "nvir.lines/1"
LEGEND = (
    "live: 32-bit registers alive as written · asm: {} · ^ written  v read  x both  : alive"
)


LINE = 400  # characters of a line that is shown for each of its instructions

# ---------------------------------------------------------------- the listing


@attrs.frozen(eq=False)
class ListedLine:
    """One instruction, or the label of a block (`instruction` None).

    live, scheduled, predicates   see the module's docstring; of a label what enters the block
    marks   register name -> one of "^ v x :"
    """

    line: int
    text: str
    source: tuple[int, int] | None
    live: int
    scheduled: int | None
    predicates: int
    marks: dict[str, str]
    instruction: Instruction | None = None


@attrs.frozen
class LiveValue:
    """A register that is alive at the peak. Lines are the PTX's, 0 where there is none."""

    name: str
    type: str
    registers: int
    defined: int
    last_use: int
    why: str


@attrs.frozen(eq=False)
class LineListing:
    """The rows of one function. `columns` gives each register its column, counted from 0.

    `predicted` is the model's count of registers; `estimate` is that of the real code where
    `source` is "ptxas".
    """

    function: Function
    rows: tuple[ListedLine, ...]
    columns: dict[str, int]
    max_live: int
    estimate: RegisterEstimate
    peak: ListedLine | None
    at_peak: tuple[LiveValue, ...]
    source: SourceLines
    predicted: int
    origin: str = "model"

    @property
    def peak_place(self) -> str | None:
        """The source line of the peak, "file.cu:12"."""
        i = self.peak.instruction if self.peak is not None else None
        return self.source.place(i) if i is not None else None

    def to_json(self) -> dict[str, Any]:
        """One entry of "functions" in a document of schema `nvir.lines/1`."""
        peak = self.peak
        return {
            "name": str(self.function.name),
            "kind": self.function.kind,
            "registers": {
                "max_live": self.max_live, "scheduled": self.estimate.max_live,
                "predicted": self.predicted, "source": self.origin,
                **({"real": self.estimate.registers} if self.origin == "ptxas" else {}),
            },
            "peak": None if peak is None else {
                "line": peak.line or None, "source": self.peak_place, "live": peak.live,
                "scheduled": peak.scheduled, "values": [attrs.asdict(v) for v in self.at_peak],
            },
            "lines": [
                {
                    "line": r.line or None,
                    "source": self.source.place(r.instruction) if r.instruction else None,
                    "text": r.text, "live": r.live, "scheduled": r.scheduled,
                    "predicates": r.predicates,
                    "writes": [n for n, m in r.marks.items() if m in "^x"],
                    "reads": [n for n, m in r.marks.items() if m in "vx"],
                }
                for r in self.rows
            ],
        }


def line_listing(
    function: Function, module: Module, text: list[str] | None = None,
    facts: FunctionFacts | None = None, *, arch: str | None = None,
    body: MachineBody | None = None,
) -> LineListing:
    """The listing of a function. `text` is the PTX by lines, to show it as it stands there;
    `facts` saves work where they are known; `body` is the real code, with lines of that text."""
    arch = arch or module.target
    facts = facts or function_facts(function, module, profile_for(arch), arch=arch)
    live, pressure = facts.live, facts.pressure
    estimate = with_real_counts(facts.estimate, function, body)
    counts = zip(pressure.counts, pressure.predicates, strict=True)
    written = dict(zip(pressure.instructions, counts, strict=True))
    source = SourceLines(function, module, text)
    rows: list[ListedLine] = []
    for block in function.blocks:
        rows.extend(_block_rows(block, live, written, estimate, source, text))
    peak = next((r for r in rows if r.instruction is estimate.peak and estimate.peak), None)
    held: tuple[LiveValue, ...] = ()
    if peak is not None and peak.instruction is not None and not peak.instruction.is_phi:
        held = tuple(explain_values(peak.instruction, live, estimate))
    return LineListing(
        function, tuple(rows), _columns(rows), pressure.max_live, estimate, peak, held, source,
        facts.estimate.registers, "model" if estimate is facts.estimate else "ptxas",
    )


def live_values(at: Instruction, live: Liveness) -> list[Value]:
    """The values that are live behind an instruction, or that it reads, as the text is written."""
    block = at.block
    assert block is not None
    alive = dict.fromkeys(live.live_out_values(block))
    for i in reversed(block):
        if i is not at:
            for r in i.results:
                alive.pop(r, None)
        alive.update((v, None) for v in i.operands if v.is_tracked)
        if i is at:
            break
    return [v for v in alive if v.type.bits > 1 and v.type.name != "cc"]


def _addresses(
    estimate: RegisterEstimate, at: Instruction, live: Liveness, held: list[Value]
) -> Iterator[Value]:
    """Of what is live at an instruction of real code the parameters that accesses go to, which the
    model leaves in the constant bank, as far as there are registers for them."""
    room = estimate.counts.get(at, 0) - sum(map(estimate.width, held))
    for v in dict.fromkeys(live_values(at, live)):
        fits = v not in held and _is_parameter(v) and estimate.width(v) <= room
        if fits and any(u.form.addresses for u in v.users):
            room -= estimate.width(v)
            yield v


def _is_parameter(v: Value) -> bool:
    d = v.definer
    while d is not None and d.form.spelling.startswith("cvta"):
        d = d.operands[0].definer
    return d is not None and d.form.spelling.startswith("ld.param")


def _name(v: Value) -> str:
    """The register of a value: values that were one register in the text are one here."""
    return v.name or f"%v{id(v):x}"


def _block_rows(
    block: Block, live: Liveness, written: dict[Instruction, tuple[int, int]],
    estimate: RegisterEstimate, source: SourceLines, text: list[str] | None,
) -> list[ListedLine]:
    """The rows of a block, made from its end backwards."""
    alive = dict.fromkeys(map(_name, live.live_out_values(block)))
    rows: list[ListedLine] = []
    for i in reversed(block):
        if i.form.is_phi:
            break
        marks = dict.fromkeys(alive, ":")
        for r in i.results:
            if r.type.name != "cc":
                marks[_name(r)] = "^"
                alive.pop(_name(r), None)
        for v in i.operands:
            if v.is_tracked and v.type.name != "cc":
                n = _name(v)
                marks[n] = "x" if marks.get(n) in ("^", "x") else "v"
                alive[n] = None
        count, predicates = written.get(i, (0, 0))
        numbers = source.numbers(i)
        rows.append(ListedLine(
            i.line, _text(i, text), numbers[-1] if numbers else None, count,
            estimate.counts.get(i), predicates, marks, i,
        ))
    for phi in block.phis:
        alive[_name(phi)] = None
    entering = 0
    for v in {*live.live_in_values(block), *block.phis}:
        entering += width(v.type)
    through = dict.fromkeys(alive, ":")
    rows.append(ListedLine(block.line, f"{block.name}:", None, entering, None, 0, through))
    rows.reverse()
    return rows


def _text(i: Instruction, text: list[str] | None) -> str:
    """Its line, or of a line of many instructions itself."""
    if text is not None and 0 < i.line <= len(text) and len(text[i.line - 1]) <= LINE:
        return " ".join(text[i.line - 1].split())
    return " ".join(str(i).split())


def _columns(rows: list[ListedLine]) -> dict[str, int]:
    """A column for each register, free again behind its last row."""
    last: dict[str, int] = {}
    for k, row in enumerate(rows):
        for n in row.marks:
            last[n] = k
    ends: dict[int, list[str]] = {}
    for n, k in last.items():
        ends.setdefault(k, []).append(n)
    free: list[int] = []
    columns: dict[str, int] = {}
    width_used = 0
    for k, row in enumerate(rows):
        for n in row.marks:
            if n not in columns:
                if free:
                    columns[n] = free.pop(0)
                else:
                    columns[n] = width_used
                    width_used += 1
        for n in ends.get(k, ()):
            bisect.insort(free, columns[n])
    return columns


# ---------------------------------------------------------------- who and why


def explain_values(
    peak: Instruction, live: Liveness, estimate: RegisterEstimate
) -> Iterator[LiveValue]:
    """What is live at the peak: what the operation takes inside, then values, widest first, then
    those that live longest, last what the other copies of a loop hold that the assembler unrolls.
    """
    inner = _innermost(peak, live)
    values = estimate.live_at(peak) or live_values(peak, live)
    if estimate.real:
        values += list(_addresses(estimate, peak, live, values))
    found = held_values(values, peak, live, estimate.width)
    rest = estimate.counts.get(peak, 0) - sum(v.registers for v in found)
    inside = min(rest, estimate.scratch.get(peak, 0))  # of real code all that has no name
    if inside > 0:
        yield LiveValue(
            f"({peak.form.spelling})", "", inside, _line_of(peak), _line_of(peak),
            "taken by the operation itself",
        )
    yield from found
    rest -= max(inside, 0)
    if rest > 0:
        at, copied = _line_of(peak), inner is not None and estimate.copies(inner) > 1
        name, why = ("(copies)", "in other copies of the unrolled loop") if copied else (
            "(parts)", "parts of values that the text does not name, such as sums of addresses")
        yield LiveValue(name, "", rest, at, at, why)


def _innermost(at: Instruction, live: Liveness) -> Loop | None:
    """The innermost loop around an instruction."""
    around = [x for x in natural_loops(live.function) if at.block in x.members]
    return max(around, key=lambda x: x.depth, default=None)


def held_values(
    values: Iterable[Value], at: Instruction, live: Liveness,
    registers: Callable[[Value], int] = lambda v: width(v.type),
) -> list[LiveValue]:
    """Registers that are alive at an instruction, and why: the widest first, then those that
    live longest. `registers` says how many a value takes."""
    inner = _innermost(at, live)
    seen: set[str] = set()
    found = []
    for v in values:
        if _name(v) in seen:
            continue
        seen.add(_name(v))
        d = v.definer
        defined = _line_of(d) if d is not None else 0
        uses = sorted(_line_of(u) for u in v.users)
        last = uses[-1] if uses else 0
        found.append(LiveValue(
            v.name or "?", str(v.type), registers(v), defined, last, _why(v, at, inner, live),
        ))
    found.sort(key=lambda v: (-v.registers, -(abs(v.last_use - v.defined)), v.name))
    return found


def _line_of(i: Instruction) -> int:
    """The line of an instruction; of a phi that of its label."""
    if i.form.is_phi and i.block is not None:
        return i.block.line
    return i.line if i.line > 0 else 0


def _why(v: Value, peak: Instruction, loop: Loop | None, live: Liveness) -> str:
    """Why a value is alive at the peak, by the outermost loop that keeps it."""
    d = v.definer
    users = list(v.users)
    outermost: Loop | None = None
    x = loop
    while x is not None:
        inside = x.members
        if d is not None and d.is_phi and d.block is x.header:
            return f"carried around loop {x.header.name}"
        carried = [u for u in users if u.is_phi and u.block is x.header]
        if carried and d is not None and d.block in inside:
            return f"next value of {carried[0].name or '?'} in loop {x.header.name}"
        if (d is None or d.block not in inside) and live.is_live_in(v, x.header):
            outermost = x
        x = x.parent
    if outermost is not None:
        inside = outermost.members
        within = [u for u in users if u.block in inside and not u.is_phi]
        if within:
            at = ", ".join(map(str, sorted({_line_of(u) for u in within})[:3]))
            return f"invariant in loop {outermost.header.name}, used at line {at}"
        return f"only passes through loop {outermost.header.name}, used behind it"
    if d is peak:
        return "made here"
    later = [_line_of(u) for u in users if u is peak]
    if later:
        return "used here"
    lines = sorted({_line_of(u) for u in users} - {0})
    after = [n for n in lines if n > peak.line] or lines
    return f"used at line {after[0]}" if after else "used"


def module_json(listings: list[LineListing], arch: str) -> dict[str, Any]:
    """The document of schema `nvir.lines/1`."""
    return {"schema": SCHEMA, "arch": arch, "functions": [x.to_json() for x in listings]}
