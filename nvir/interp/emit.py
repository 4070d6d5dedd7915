"""A segment as generated Python over lane vectors.

    %r3 = add.s32 %r1, 4             x1 = v[1]
    %f2 = ld.global.f32 [%rd5]       x3 = (x1 + k0)
    @%p1 st.shared.f32 [a], %f2      x2 = f1(c, v[5])
                                     v[2] = x2
                                     f2(c, k1, (x2,), v[7])

`v` holds the lane vector of each value by its slot, `c` is the group that runs. Only values that
other segments read go through `v`. Each segment has two forms. In the *whole* form the vectors are
those of the table itself: used where the group is all lanes that still live, so that results may
replace what is in the table. The *part* form gathers its inputs for the group's lanes (`s`) and
puts results back for them alone.

A vector of one element stands for a value that all lanes agree on. numpy broadcasts it, so
parameters, loop counters and what is computed from them cost one element instead of thousands.

Guards    A pure operation is computed in all lanes and selected; memory is touched only under it.
Errors    Each line of code belongs to one instruction (`Code.lines`), which the traceback names.
Cost      Ten to twenty microseconds an instruction and form, when first reached.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nvir.interp.layout import Array, register_dtype
from nvir.interp.leaves import Register, ScalarLeaf, real
from nvir.interp.meaning.lanes import fit, register
from nvir.interp.rows import unsupported
from nvir.ir import IMM, Form, Instruction, Param, Type, Variable
from nvir.ir.types import SCALARS
from nvir.ir.values import (
    Argument,
    Constant,
    Result,
    SpecialRegister,
    Symbol,
    SymbolOffset,
    Undef,
    Value,
)

if TYPE_CHECKING:
    from nvir.interp.plan import Edge, FunctionPlan, Segment


class SegmentCode:
    """Python of a segment: `run(c, v, s)`, and the instruction of each of its lines.

    Python takes 50 microseconds to compile a line, and most lines of most kernels run a few times
    only. So a segment starts as a list of *pieces*, one closure a line, made by factories that all
    lines of one pattern share (`x3 = k1(x4, x5)`): 5 microseconds a line, and 0.2 more at each run.
    What has run `HOT` times is compiled as a whole.
    """

    __slots__ = ("_names", "_text", "left", "lines", "pieces", "run")

    def __init__(
        self, body: list[str], lines: list[Instruction | None], names: dict[str, Any]
    ) -> None:
        self._text, self._names, self.lines = body, names, lines
        self.left = HOT
        self.pieces, self.run = in_pieces(body, names)

    def compile(self) -> None:
        """Make one function of the lines."""
        text = "def run(c, v, s):\n " + "\n ".join(self._text or ["pass"]) + "\n"
        exec(_compiled(text), self._names)
        self.run, self.pieces = self._names["run"], ()

    def guilty(self, frame: Any, line: int) -> Any:
        """The instruction at which a frame of the code stands, or None if it is another's."""
        if frame.f_code is not self.run.__code__:
            return None
        if not self.pieces:
            return self.lines[line - 2]
        if frame.f_locals["pieces"] is not self.pieces:
            return None
        now = frame.f_locals["piece"]
        return next(i for p, i in zip(self.pieces, self.lines, strict=True) if p is now)


HOT = 256
_NAME = re.compile(r"(?<!['%.\w])([xgk]?\d+)\b(?!'|\.\d)")  # names and numbers, but not in strings
_factories: dict[str, Callable[..., Any]] = {}
_known: dict[str, Any] = {}


def in_pieces(body: list[str], names: dict[str, Any]) -> tuple[Any, Callable[..., Any]]:
    """The pieces of a body, and a function that runs one after the other."""
    if len(_known) > 1 << 17:
        _known.clear()
    pieces = tuple([_piece(line, names) for line in body])

    def run(c: Any, v: Any, s: Any) -> Any:
        x: dict[str, Any] = {}
        result = None
        for piece in pieces:
            result = piece(c, v, s, x)
        return result

    return pieces, run


def _piece(line: str, names: dict[str, Any]) -> Any:
    """A line as a closure; a line that names no object of its segment has the same one always."""
    known = _known.get(line)
    if known is None:
        known = _known[line] = _parse(line)
    if known.__class__ is not tuple:
        return known
    factory, args, objects = known
    args = args.copy()
    for n, name in objects:
        args[n] = names[name]
    return factory(*args)


def _parse(line: str) -> Any:
    """The piece of a line; or its factory, arguments, and which of these are objects (k1 …)."""
    parts = _NAME.split(line)
    args: list[Any] = []
    objects = []
    for n in range(1, len(parts), 2):
        token = parts[n]
        kind = token[0]
        if kind == "k":
            objects.append((len(args), token))
            args.append(None)
        elif kind == "x" or kind == "g":
            args.append(token)
            kind = "x"
        else:
            args.append(int(token))
            kind = "0"
        parts[n] = kind
    key = "\0".join(parts)
    factory = _factories.get(key)
    if factory is None:
        factory = _factories[key] = _factory(parts)
    return (factory, args, objects) if objects else factory(*args)


def _factory(parts: list[str]) -> Callable[..., Any]:
    """What makes the pieces of one pattern: text, the first letter of a name or number, text …"""
    text = parts[0]
    holes = [f"_{n}" for n in range(len(parts) // 2)]
    for hole, kind, more in zip(holes, parts[1::2], parts[2::2], strict=True):
        text += (f"x[{hole}]" if kind == "x" else hole) + more
    source = f"def make({', '.join(holes)}):\n def piece(c, v, s, x):\n  {text}\n return piece\n"
    space = dict(_COMMON)
    exec(compile(source, "<nvir piece>", "exec"), space)
    made: Callable[..., Any] = space["make"]
    return made


def take(a: Array, s: Any) -> Array:
    """The lanes `s` of a vector; one of a single element stays as it is."""
    return a if len(a) == 1 else a[s]


def put(c: Any, slot: int, x: Array) -> None:
    """Set a value in the group's lanes only."""
    if slot not in c.table.owned:
        c.table.own(slot, x)
    c.v[slot][c.sel] = x


def select(p: Array, a: Array, b: Array) -> Array:
    """`a` where the guard holds, else the fallback."""
    if len(p) == 1:
        return a if p[0] else b
    return np.where(p if a.ndim == 1 else p[:, None], a, b)


_COMMON: dict[str, Any] = {
    "take": take, "put": put, "select": select, "where": np.where, "fit": fit,
    "u2": np.uint16, "u4": np.uint32, "u8": np.uint64, "i2": np.int16, "i4": np.int32,
    "i8": np.int64, "f4": np.float32, "f8": np.float64,
}


@functools.lru_cache(maxsize=1 << 14)
def slot_marks(shape: str) -> tuple[tuple[str, str], ...]:
    """What stands before ("!", "-") and after (".b0", ".h1") each slot of a form's shape."""
    pieces = shape.split("%s")
    out = []
    for k in range(len(pieces) - 1):
        before = pieces[k][-1:] if pieces[k][-1:] in ("!", "-") else ""
        after = ""
        tail = pieces[k + 1]
        if tail[:1] == "." and tail[1:2] in ("b", "h"):
            after = tail[1:].split(",")[0].strip(" }]|")
        out.append((before, after))
    return tuple(out)


@functools.lru_cache(maxsize=1 << 14)
def source_marks(form: Form) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(marks of each written source, selectors of each result)."""
    marks = slot_marks(form.shape)
    sources = {~s: m for s, m in zip(form.slots, marks, strict=False) if s < 0}
    results = {s: m[1] for s, m in zip(form.slots, marks, strict=False) if s >= 0}
    return (
        tuple(sources[k] for k in range(len(sources))),
        tuple(results[k] for k in range(len(results))),
    )


class Emitter:
    """Writes one form of one segment. Row functions (rows/) call the methods below."""

    def __init__(self, plan: FunctionPlan, segment: Segment | None, whole: bool) -> None:
        self.plan, self.segment, self.whole = plan, segment, whole
        self.program = plan.program
        self.code: list[str] = []
        self.lines: list[Instruction | None] = []
        self.names: dict[str, Any] = dict(_COMMON)
        self.bound: dict[int, str] = {}
        self.kept: list[Any] = []
        self.local: dict[Value, str] = {}
        self.instr: Any = None
        self.guard = ""

    # ------------------------------------------------------------ writing

    def line(self, text: str) -> None:
        self.code.append(text)
        self.lines.append(self.instr)

    def bind(self, thing: Any) -> str:
        """A name for an object in the generated code."""
        name = self.bound.get(id(thing))
        if name is None:
            name = f"k{len(self.bound)}"
            self.bound[id(thing)] = name
            self.names[name] = thing
            self.kept.append(thing)
        return name

    def constant(self, value: int, dtype: Any) -> str:
        """A name for a vector of one element, cut to the dtype's width."""
        return self.bind(self.program.constant(value, np.dtype(dtype)))

    # ------------------------------------------------------------ reading

    def value(self, value: Value, type: str = "b32") -> str:
        """An expression for a value; `type` says what a literal is."""
        name = self.local.get(value)
        if name is not None:
            return name
        if value.__class__ in _IN_TABLE:
            slot = self.plan.slot(value)
            name = self.local[value] = f"x{slot}"
            self.line(f"{name} = v[{slot}]" if self.whole else f"{name} = take(v[{slot}], s)")
            return name
        return self._immediate(value, type)

    def _immediate(self, value: Value, type: str) -> str:
        if isinstance(value, Constant):
            if type == "b128":
                return self.bind(self.program.pair(int(value.value)))
            return self.constant(literal_bits(value, type), register(type))
        if isinstance(value, Undef):
            dtype = register_dtype(value.type)
            if value.type.bits == 128:
                return self.bind(np.zeros((1, 2), dtype))
            return self.constant(0, dtype)
        if isinstance(value, SpecialRegister):
            return f"c.special({value.name!r})"
        if type in SCALARS and SCALARS[type].kind == "f":
            raise unsupported(self.instr, f"the address of {value.name} as a number of type {type}")
        return self.address_of(value, register_dtype(value.type))[0]

    def address_of(self, value: Value, dtype: Any = np.uint64) -> tuple[str, str]:
        """(expression, space) of a symbol's address in its own space."""
        symbol: Any = value
        offset, generic = 0, False
        if isinstance(value, SymbolOffset):
            symbol, offset, generic = value.symbol, value.offset, value.generic
        space, base = self.program.place(self.plan, symbol)
        base += offset
        if space == "local":
            if generic:
                base += self.program.windows.local
            return f"c.frame_address({base})", "" if generic else space
        if generic and space == "shared":
            base, space = base + self.program.windows.shared, ""
        return self.constant(base, dtype), space

    def source(self, k: int, type: str = "b32") -> str:
        """The k-th written source, complemented where `!` stands before it."""
        if k >= len(self.instr.operands):
            raise unsupported(self.instr, f"operand {k + 1} of {len(self.instr.operands)}")
        text = self.value(self.instr.operands[k], type)
        marks = source_marks(self.instr.form)[0]
        if k < len(marks) and marks[k][0] == "!":
            return f"(~{text})"
        return text

    def address(self, base: int, offset: int) -> tuple[str, str]:
        """(expression, space of the symbol or "") of an address operand."""
        value = self.instr.operands[base]
        extra = 0
        if offset >= 0:
            extra = int(self.instr.operands[offset].value)
        if isinstance(value, Symbol | SymbolOffset):
            if extra:
                symbol = value
                if isinstance(value, SymbolOffset):
                    symbol, extra = value.symbol, extra + value.offset
                value = SymbolOffset(symbol, extra)  # type: ignore[arg-type]
            return self.address_of(value)
        if isinstance(value, Constant):
            return self.constant(int(value.value) + extra, np.uint64), ""
        text = self.value(value, "b64")
        if extra:
            dtype = register_dtype(value.type)
            return f"({text} + {self.constant(extra, dtype)})", ""
        return text, ""

    # ------------------------------------------------------------ results

    def results(
        self, call: str, *, multiple: bool = False, pure: bool = True,
        types: Sequence[str] | None = None,
    ) -> None:
        """Assign the results of the instruction from an expression.

        `multiple` says that the expression gives a tuple. `types` are the PTX types of what it
        gives, where these may be narrower than the registers. Under a guard, results keep the
        fallbacks where it is false.
        """
        i = self.instr
        results = i.results
        names = [f"x{self.plan.slot(r)}" for r in results]
        if multiple:
            self.line(f"{', '.join(names)}, *_ = {call}")
        elif names:
            self.line(f"{names[0]} = {call}")
        else:
            self.line(call)
            return
        for k, (name, r) in enumerate(zip(names, results, strict=True)):
            if types is not None:
                self._fit(name, types[min(k, len(types) - 1)], r.type)
            if self.guard:
                fallback = self.value(i.fallbacks[k])
                self.line(f"{name} = select({self.guard}, {name}, {fallback})")
            self.define(r, name)

    def _fit(self, name: str, type: str, target: Type) -> None:
        have, want = register(type) if type != "b128" else np.dtype("u8"), register_dtype(target)
        if have != want:
            self.line(f"{name} = fit({name}, {type!r}, {self.bind(want)})")

    def define(self, value: Value, name: str) -> None:
        """A value is in this local name; store it where others will look."""
        self.local[value] = name
        if self.escapes(value):
            slot = self.plan.slot(value)
            self.line(f"v[{slot}] = {name}" if self.whole else f"put(c, {slot}, {name})")

    def escapes(self, value: Value) -> bool:
        """Whether another segment, a phi or a special reads the value."""
        segment, of = self.segment, self.plan.segment_of
        special = None if segment is None else _instruction(segment.special)
        for user in value.users:
            if user is special or of.get(user) is not segment or user.form.is_phi:
                return True
            if user.form.terminator and user.form.name == "ret":
                return True
        return False

    # ------------------------------------------------------------ the whole

    def instruction(self, i: Instruction) -> None:
        """Write one instruction."""
        self.instr = i
        self.guard = ""
        g = i.guard
        if g is not None:
            text = self.value(g)
            if i.form.guard == "!":
                self.line(f"g{len(self.code)} = ~{text}")
                self.guard = f"g{len(self.code) - 1}"
            else:
                self.guard = text
        self.program.rows.emit(self, i)

    def finish(self, last: str = "") -> SegmentCode:
        """Compile what was written."""
        body = [*self.code]
        lines = [*self.lines]
        if last:
            body.append(last)
            lines.append(self.instr)
        return SegmentCode(body, lines, self.names)


@functools.lru_cache(maxsize=1 << 13)
def _compiled(text: str) -> Any:
    """The code object of a text; a kernel that is launched again finds it here."""
    return compile(text, "<nvir segment>", "exec")


_IN_TABLE = (Instruction, Result, Argument, ScalarLeaf, Register)


def _instruction(special: Any) -> Any:
    return None if special is None else real(special.instruction)


def literal_bits(value: Constant, type: str) -> int:
    """The bits of a literal where the instruction wants `type`."""
    if value.type is IMM or value.type.name == type:
        return int(value.value)
    from nvir.interp.literals import convert

    return convert(value, type)


def compile_segment(segment: Segment, whole: bool) -> SegmentCode:
    """One form of a segment. Its value is the branch's predicate or index, if it has one."""
    e = Emitter(segment.plan, segment, whole)
    trace = segment.plan.program.trace
    for i in segment.instructions:
        e.instruction(i)
        if trace is not None:
            e.line(f"c.wave.trace(c, {e.bind(i)}, {_traced(e, i)})")
    last = ""
    term = segment.term
    if term is not None:
        e.instr = term
        choice = e.program.rows.choice(e, term)
        last = f"return {choice}" if choice else ""
    return e.finish(last)


def _traced(e: Emitter, i: Instruction) -> str:
    names = [e.local[x] for r in i.results for x in e.plan.leaves(r) if x in e.local]
    return f"({', '.join(names)}{',' if names else ''})"


def register_name(type: Type) -> str:
    """The untyped PTX name of the register that holds a scalar of either level."""
    dtype = register_dtype(type)
    if dtype.kind == "b":
        return "pred"
    return "b128" if type.bits > 64 else f"b{8 * dtype.itemsize}"


def compile_edge(plan: FunctionPlan, edge: Edge, whole: bool) -> SegmentCode:
    """The phis of an edge, all at once."""
    e = Emitter(plan, None, whole)
    names = []
    changed = {phi for phi, _ in edge.moves}
    for phi, value in edge.moves:
        name = e.value(value, register_name(phi.type))
        if not whole and value in changed:  # the lanes may be a view of what is about to change
            e.line(f"{name} = {name}.copy()")
        names.append((plan.slot(phi), name))
    for slot, name in names:
        e.line(f"v[{slot}] = {name}" if whole else f"put(c, {slot}, {name})")
    return e.finish()


__all__ = ["Emitter", "Param", "SegmentCode", "Variable", "compile_edge", "compile_segment"]
