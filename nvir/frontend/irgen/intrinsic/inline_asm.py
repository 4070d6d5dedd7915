"""Inline assembly, in the seven phases of the notes.

    asm("add.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));

    1 template        fragments: literal text, and operands with an optional modifier
    2 reconstruction  LLVM's spelling: %1 is $1, %h0 is ${0:h}, %% is %, $ is $$
    3 constraints     outputs first, then inputs; "+r" is "=r" and an input tied to it at the end
    4 clobbers        ~{memory}, ~{name}
    5 object          InlineAsm and its call: void, one value or a struct of several
    6 results         `asmresult` of each, stored where it belongs
    7 cleanup         nothing is kept

A template with `%` before what is no operand (`%tid.x`) keeps it. An operand of constraint `C` is
text: an array of char whose bytes are put into the template.

Constraints are letters in C and tags in the real front end (`TAGS`). The numbers that the notes
give are 8, 9, 10-19, 20, 21, 23 and which tags mean registers or memory; the other letters of
those two groups are assumed in their order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.expressions import emit_value
from nvir.frontend.irgen.places import emit_lvalue, generic, load, store, typed
from nvir.frontend.irgen.state import IRGenError, LValue, Refused
from nvir.frontend.tree.declarations import Variable
from nvir.frontend.tree.expressions import Cast, Expr, InitList, IntLiteral, Name, StringLiteral
from nvir.frontend.tree.layout import size_of
from nvir.frontend.tree.statements import Asm, AsmOperand
from nvir.frontend.tree.types import Array, is_aggregate, strip, underlying
from nvir.ir import layout
from nvir.ir import types as ty
from nvir.ir.nvvm_values import ASM_CLASSES
from nvir.ir.text.trace import note, step
from nvir.ir.values import Constant, Value, undef

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

SHORT_RESULT = 16  # bytes of a result that the notes take apart in the short form
NOT_VOLATILE = 0xE9F  # the real front end's number of the warning

TAGS: dict[int, str] = {
    8: "X", 9: "g", **{10 + k: str(k) for k in range(10)}, 20: "r", 21: "h", 22: "l", 23: "C",
    24: "q", 25: "m", 26: "n", 27: "o", 28: "V", 29: "i", 38: "f", 42: "d",
}
_TAG_OF = {letter: tag for tag, letter in TAGS.items()}
_THROUGH_POINTER = frozenset((0x14, 0x15, 0x16, 0x18, 0x26, 0x2A))
_MEMORY = frozenset((0x19, 0x1B, 0x1C))
_SYMBOLIC = "symbolic operand reference not supported!"
_TIED = "tied input/output operands not supported!"


@attrs.frozen
class AsmFragment:
    """A part of a template: literal text (`index` is None), or an operand."""

    text: str = ""
    index: int | None = None
    modifier: str = ""


@attrs.frozen
class Constraint:
    """What a tag stands for.

    letters    LLVM's
    address    the operand's address may be asked for
    memory     the operand lies in memory
    """

    letters: str
    address: bool = False
    memory: bool = False


@step("ASM-16", "3 tag", "tag")
def constraint(tag: int) -> Constraint:
    """A tag of the real front end as LLVM's letters and flags."""
    if tag in (8, 9):
        return Constraint("imr" if tag == 9 else "X", address=True, memory=True)
    letter = TAGS[20 if tag == 23 else tag]
    return Constraint(letter, tag in _THROUGH_POINTER, tag in _MEMORY)


# ------------------------------------------------------------------ 1 template

_PIECE = re.compile(
    r"(?P<dollar>\$)|(?P<percent>%%)|(?P<uid>%=)|(?P<name>%\[)|%(?P<modifier>[A-Za-z])?(?P<index>\d+)"
)

_LITERAL = {  # what stands in the text for a piece that is no operand, and its row
    "dollar": ("ASM-03", "$$"), "percent": ("ASM-04", "%"), "uid": ("ASM-06", "${:uid}"),
}


@step("ASM-02", "1 template", "template")
def parse_template(template: str, s: Asm | None = None) -> list[AsmFragment]:
    """The fragments of a template. Raises `IRGenError` for `%[name]` and unknown operands."""
    place = s.place if s is not None else Asm("").place
    operands = [*s.outputs, *s.inputs] if s is not None else None
    for o in operands or ():
        if o.name:
            raise Refused(_SYMBOLIC, o.place)
    out: list[AsmFragment] = []

    def literal(text: str) -> None:
        if out and out[-1].index is None:
            out[-1] = AsmFragment(out[-1].text + text)
        elif text:
            out.append(AsmFragment(text))

    at = 0
    for m in _PIECE.finditer(template):
        literal(template[at : m.start()])
        at = m.end()
        kind = str(m.lastgroup)
        if kind in _LITERAL:
            row, text = _LITERAL[kind]
            note(row, "1 part", text, found=m[0])
            literal(text)
        elif m["name"]:
            note("ASM-07", "1 part", f"refused: {_SYMBOLIC}", found=m[0])
            raise Refused(_SYMBOLIC, place)
        else:
            k = int(m["index"])
            if operands is not None and k >= len(operands):
                raise IRGenError(f"no operand {m[0]} in inline assembly", place)
            if operands is not None and operands[k].constraint.lstrip("=+&") == "C":
                text = text_of(operands[k]).replace("$", "$$")
                note("ASM-10", "1 part", text, found=m[0])
                literal(text)
            else:
                modifier = m["modifier"] or ""
                note("ASM-08" if modifier else "ASM-05", "1 part", f"operand {k}", found=m[0],
                     modifier=modifier)
                out.append(AsmFragment("", k, modifier))
    literal(template[at:])
    left = [w for m in re.finditer(r"%\S*", _PIECE.sub("", template)) if (w := m[0])]
    if left:
        note("ASM-09", "1 literal text", left, template=template)
    return out


def text_of(o: AsmOperand) -> str:
    """The bytes of a `C` operand, an array of char whose value is known, without the last NUL."""
    e: Expr | None = o.expr
    while isinstance(e, Cast):
        e = e.operand
    if isinstance(e, Name) and isinstance(e.decl, Variable):
        t, e = strip(e.decl.type), e.decl.init
        if not isinstance(t, Array) or getattr(underlying(t.element), "bits", None) != 8:
            raise IRGenError("the operand of constraint 'C' is no array of char", o.place)
    data = b""
    if isinstance(e, StringLiteral):
        data = e.value
    elif isinstance(e, InitList) and all(isinstance(_plain(x), IntLiteral) for x in e.items):
        data = bytes(_plain(x).value & 255 for x in e.items)  # type: ignore[union-attr]
    else:
        raise IRGenError("the operand of constraint 'C' is no array of char", o.place)
    return data.removesuffix(b"\0").decode("latin-1")


def _plain(e: Expr | None) -> Expr | None:
    while isinstance(e, Cast):
        e = e.operand
    return e


# ------------------------------------------------------------ 2 reconstruction


@step("ASM-03", "2 reconstruction", "fragments")
def reconstruct(fragments: list[AsmFragment]) -> str:
    """LLVM's template."""
    return "".join(
        f.text if f.index is None else f"${{{f.index}:{f.modifier}}}" if f.modifier
        else f"${f.index}" for f in fragments
    )


# --------------------------------------------------------------- 3 constraints


@attrs.define(eq=False)
class _Operands:
    """What the third phase gathers. `tied` are the read-write operands' inputs."""

    constraints: list[str] = attrs.Factory(list)
    destinations: list[tuple[LValue, ty.Type]] = attrs.Factory(list)
    arguments: list[Value] = attrs.Factory(list)
    tied: list[tuple[str, Value]] = attrs.Factory(list)


def _letter(o: AsmOperand) -> str:
    """The one letter of an operand's constraint; others are refused with their place."""
    letters = o.constraint.lstrip("=+").removeprefix("&")
    if letters.isdigit():
        note("ASM-14", "3 tied", f"refused: {_TIED}", constraint=o.constraint)
        raise Refused(_TIED, o.place)
    if letters not in _TAG_OF:
        raise IRGenError(f"unknown asm constraint '{o.constraint}'", o.place)
    return letters


def _slot(g: IRGenState, o: AsmOperand, letter: str) -> ty.Type:
    """The type in which an operand goes: its register's, or what the C type is in memory."""
    t = strip(typed(o.expr))
    if is_aggregate(t):
        raise IRGenError("an asm operand must have scalar type", o.place)
    size = size_of(t)
    wanted = ASM_CLASSES.get(letter)
    if wanted is not None and wanted.bits != size * 8:
        raise IRGenError(
            f"asm operand type size({size}) does not match type/size implied by constraint "
            f"'{letter}'", o.place,
        )
    own = g.types.memory(t)
    return own if wanted is None or isinstance(own, ty.PointerType) else wanted


def _output(g: IRGenState, o: AsmOperand, made: _Operands, k: int) -> None:
    if o.constraint[:1] not in "=+":
        raise IRGenError(f"asm output with the constraint '{o.constraint}'", o.place)
    letter = _letter(o)
    place = emit_lvalue(g, o.expr)
    row = constraint(_TAG_OF[letter])
    early = "&" if o.constraint[1:2] == "&" else ""
    if row.memory:
        made.constraints.append(f"=*{early}{row.letters}")
        note("ASM-12", "3 output", made.constraints[-1], constraint=o.constraint, number=k)
        made.arguments.append(generic(g, place.pointer))
        return
    t = _slot(g, o, letter)
    made.constraints.append(f"={early}{row.letters}")
    note("ASM-12", "3 output", made.constraints[-1], constraint=o.constraint, number=k)
    made.destinations.append((place, t))
    if o.constraint[0] == "+":
        tied = str(len(made.destinations) - 1)
        note("ASM-13", "3 read and written", f"an input tied to {tied}", constraint=o.constraint)
        made.tied.append((tied, _as(g, load(g, place), t)))


def _input(g: IRGenState, o: AsmOperand, made: _Operands) -> None:
    if o.constraint[:1] in ("=", "+"):
        raise IRGenError(f"asm input with the constraint '{o.constraint}'", o.place)
    letter = _letter(o)
    row = constraint(_TAG_OF[letter])
    if letter == "C":
        note("ASM-15", "3 text operand", f"no value, constraint {row.letters}", tag=_TAG_OF[letter])
        made.constraints.append(row.letters)
        made.arguments.append(undef(ty.I32))
        return
    made.constraints.append(row.letters)
    if row.memory and not row.address:
        made.arguments.append(generic(g, emit_lvalue(g, _stripped(o.expr)).pointer))
        return
    v = emit_value(g, o.expr)
    if letter in "ni" and not isinstance(v, Constant):
        raise IRGenError(f"the operand of asm constraint '{letter}' is no constant", o.place)
    made.arguments.append(_as(g, v, _slot(g, o, letter)))


def _stripped(e: Expr) -> Expr:
    while isinstance(e, Cast) and e.implicit:
        e = e.operand
    return e


def _as(g: IRGenState, v: Value, t: ty.Type) -> Value:
    """A value in the type of its register, bit for bit."""
    if v.type is t:
        return v
    if v.type is ty.I1:
        return fold.cast(g, "zext", v, t, "frombool")
    return fold.cast(g, "bitcast", v, t, "asmcast")


# ------------------------------------------------------------------ 4 clobbers


@step("ASM-17", "4 clobber", "name")
def clobber(name: str) -> str:
    """`memory` (tag 1) and registers by name (tag 58) as LLVM spells them."""
    return f"~{{{name}}}"


# ---------------------------------------------------------------- 5, 6, 7 and all


def emit_asm(g: IRGenState, s: Asm) -> None:
    """An asm statement. Raises `IRGenError` with the operand's place."""
    g.events.append("template")
    fragments = parse_template(s.template, s)
    g.events.append("reconstruction")
    template = reconstruct(fragments)
    g.events.append("constraints")
    made = _operands(g, s)
    g.events.append("clobbers")
    text = ",".join([*made.constraints, *(clobber(c) for c in s.clobbers)])
    g.events.append("object")
    returned = _result_type(made)
    effects = has_effects(s.volatile, len(s.outputs), list(s.clobbers))
    _warn(g, s)
    result = _object(g, returned, template, text, made, effects)
    g.events.append("results")
    _results(g, result, made.destinations)
    g.events.append("cleanup")
    note("ASM-01", "7 cleanup", "nothing is left", operands=len(made.arguments))


@step("ASM-11", "3 constraints", "s.constraints")
def _operands(g: IRGenState, s: Asm) -> _Operands:
    made = _Operands()
    for k, o in enumerate(s.outputs):
        _output(g, o, made, k)
    for o in s.inputs:
        _input(g, o, made)
    made.constraints += [c for c, _ in made.tied]
    made.arguments += [v for _, v in made.tied]
    return made


@step("ASM-18", "5 type", "made.destinations")
def _result_type(made: _Operands) -> ty.Type:
    """Nothing, the type of the one result, or a struct of several."""
    types = [t for _, t in made.destinations]
    return ty.VOID if not types else types[0] if len(types) == 1 else ty.struct(types)


@step("ASM-19", "5 side effects", "volatile", "outputs", "clobbers")
def has_effects(volatile: bool, outputs: int, clobbers: list[str]) -> bool:
    """Whether the call must stay for more than its results."""
    return volatile or not outputs or "memory" in clobbers


@step("ASM-20", "5 object", "template", "constraints", "effects")
def _object(
    g: IRGenState, returned: ty.Type, template: str, constraints: str, made: _Operands,
    effects: bool,
) -> Value:
    """The object, without alignment of the stack and in the first dialect, and its call."""
    kind = ty.function_type(returned, [v.type for v in made.arguments])
    name = "" if returned is ty.VOID else "asmresult" if len(made.destinations) == 1 else "asm"
    return g.builder.asm(kind, template, constraints, made.arguments, effects, name)


def _warn(g: IRGenState, s: Asm) -> None:
    """The real front end's warning where results are not volatile."""
    if s.outputs and not s.volatile:
        number = f"0x{NOT_VOLATILE:X}"
        told = f"asm statement with outputs is not volatile [{number}]"
        g.shared.warn(NOT_VOLATILE, told, s.place)
        note("ASM-19", "5 number", number, outputs=len(s.outputs))


@step("ASM-22", "6 results", "result", tell=lambda made, g, result, destinations: [
    f"stored at {place.pointer.name or 'a place'}" for place, _ in destinations] or "none")
def _results(g: IRGenState, result: Value, destinations: list[tuple[LValue, ty.Type]]) -> None:
    for k, (place, _) in enumerate(destinations):
        v = result
        if len(destinations) > 1:
            v, size = g.builder.extract_value(result, k, "asmresult"), layout.size_of(result.type)
            note("ASM-21", "6 part", v, number=k, of=result.type, bytes=size,
                 form="compact" if size <= SHORT_RESULT else "explicit index")
        own = g.types.value(place.type)
        if own is ty.I1:
            v = fold.cast(g, "trunc", v, ty.I1, "tobool")
        store(g, v if own is ty.I1 else _as(g, v, own), place)
