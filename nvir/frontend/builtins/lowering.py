"""What the right side of a row means.

    llvm.nvvm.prmt $0 $1 $2         a call of an intrinsic;  i1:llvm... says what it gives where
                                    that is not the C type
    asm prmt.b32 =, $0, $1, $2;     assembly, `=` being the result, `%z` a register with 0; `asm!`
                                    has effects
    py name word ...                a function of `inline` and its relatives
    libm name                       a function of nvir's own mathematics
    libdevice name                  one that only NVIDIA's libdevice has

Operands: $k an argument; $k:p as a truth value, $k:s3 a pointer into an address space, $k:i64 an
integer of that width; a number is an i32, true and false i1. {w} is the width of T, {u} is u or
s by its sign, {f} its name in PTX.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend.builtins.registry import Builtin
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.state import Address, IRGenError
from nvir.frontend.tree.expressions import Call
from nvir.frontend.tree.types import CType, is_float, is_signed, is_void, underlying
from nvir.ir.errors import Unsupported
from nvir.ir.module import capability
from nvir.ir.nvvm import const, declare
from nvir.ir.types import (
    I1,
    I8,
    I32,
    VOID,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    function_type,
    int_type,
    parse_type,
    pointer,
)
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_LETTERS = {16: "h", 32: "r", 64: "l", 128: "q"}


@attrs.define(eq=False)
class Work:
    """One call of a builtin: the row, its T, the values of the arguments, C's types."""

    g: IRGenState
    e: Call
    row: Builtin
    t: CType | None
    args: list[Value | Address]
    types: list[CType]
    result: CType

    @property
    def b(self) -> Any:
        return self.g.builder

    @property
    def sm(self) -> int:
        return capability(self.g.options.arch)

    def value(self, k: int) -> Value:
        v = self.args[k]
        if isinstance(v, Address):
            raise IRGenError(f"argument {k + 1} of {self.row.name} is an object", self.e.place)
        return v

    def number(self, k: int) -> int:
        """An argument that must be known at compile time."""
        v = self.value(k)
        n = getattr(v, "value", None) if v.is_constant else None
        if not isinstance(n, int):
            message = f"argument {k + 1} of {self.row.name} must be a constant"
            raise IRGenError(message, self.e.place)
        return n

    @property
    def want(self) -> Type:
        """The IR type of the result; VOID for none."""
        return VOID if is_void(self.result) else self.g.types.value(self.result)

    def intrinsic(self, name: str, result: Type, args: list[Value], label: str = "",
                  convergent: bool = False) -> Any:
        words = ("convergent", "nounwind") if convergent else ("nounwind",)
        return self.g.call_intrinsic(name, result, args, label, words)

    def asm(self, template: str, result: Type, args: list[Value], effects: bool = False) -> Any:
        """Assembly whose operands are $0 (the result, or each part of a struct) and on."""
        parts = list(result.elements or ()) if isinstance(result, StructType) else [result]
        outputs = [] if result is VOID else [f"={letter(t)}" for t in parts]
        inputs = [letter(v.type) for v in args]
        clobbers = ["~{memory}"] if effects else []
        text = ",".join([*outputs, *inputs, *clobbers])
        kind = function_type(result, [v.type for v in args])
        return self.b.asm(kind, template, text, args, effects, "")

    def fit(self, v: Value, to: Type, signed: bool = False) -> Value:
        """A value in another type: integers resized, truth values widened, bits kept."""
        if v.type is to or to is VOID:
            return v
        if to is I1:
            return self.b.icmp_unsigned("!=", v, 0) if v.type is not I1 else v
        if isinstance(v.type, IntType) and isinstance(to, IntType):
            row = "trunc" if v.type.bits > to.bits else "sext" if signed and v.type is not I1 else (
                "zext")
            return fold.cast(self.g, row, v, to, "conv")
        if isinstance(v.type, PointerType) and isinstance(to, PointerType):
            return fold.cast(self.g, "addrspacecast", v, to)
        if isinstance(v.type, PointerType):
            return fold.cast(self.g, "ptrtoint", v, to)
        if isinstance(to, PointerType):
            return fold.cast(self.g, "inttoptr", v, to)
        if isinstance(v.type, FloatType) and isinstance(to, FloatType) and v.type.bits != to.bits:
            return fold.cast(self.g, "fpext" if to.bits > v.type.bits else "fptrunc", v, to)
        return fold.cast(self.g, "bitcast", v, to)

    def give(self, v: Value) -> Value:
        """The value of the call."""
        return self.fit(v, self.want, signed=is_signed(underlying(self.result)))

    def place(self) -> Address:
        """Where a result that is an object is left."""
        return self.g.alloca(self.result, "agg.tmp")


def letter(t: Type) -> str:
    """The constraint of a register for a type."""
    if isinstance(t, PointerType):
        return "l"
    if isinstance(t, FloatType) and t.bits >= 32:
        return "f" if t.bits == 32 else "d"
    return _LETTERS.get(t.bits, "r")


# ------------------------------------------------------------------ texts


def lower(w: Work) -> Value | None:
    """Emit a call by its row."""
    head, _, rest = w.row.lowering.partition(" ")
    if head in ("asm", "asm!"):
        return _assembly(w, rest, head == "asm!")
    if head == "py":
        return _python(w, rest.split())
    if head == "libm":
        return _mathematics(w, rest)
    if head == "libdevice":
        return _of_libdevice(w, rest)
    return _intrinsic(w, head, rest.split())


def _python(w: Work, words: list[str]) -> Value | None:
    from nvir.frontend.builtins.handlers import FUNCTIONS

    function: Callable[..., Value | None] = FUNCTIONS[words[0]]
    return function(w, *words[1:])


def _mathematics(w: Work, name: str) -> Value:
    from nvir.frontend.libm import function, libdevice

    make = libdevice if w.g.options.libdevice else function
    callee = make(w.g.shared, name)
    wanted = [a.type for a in callee.arguments]
    args = [w.fit(w.value(k), t) for k, t in enumerate(wanted)]
    made = w.b.call(callee, args, "" if callee.return_type is VOID else name)
    return w.give(made) if callee.return_type is not VOID else made


def _of_libdevice(w: Work, name: str) -> Value:
    if not w.g.options.libdevice:
        what = f"the function '{w.row.name}', which libdevice has: compile with --backend libnvvm"
        raise Unsupported(what, where=str(w.e.place))
    types = [w.g.types.value(t) for t in w.types]
    result = VOID if is_void(w.result) else w.g.types.value(w.result)
    callee = declare(w.g.module, f"__nv_{name}", result, types, ("nounwind",))
    args = [w.fit(w.value(k), t) for k, t in enumerate(types)]
    made: Value = w.b.call(callee, args, "" if result is VOID else name)
    return made


_OPERAND = re.compile(r"\$(\d+)(?::(\w+))?$")


def operand(w: Work, word: str) -> Value:
    m = _OPERAND.match(word)
    if m is None:
        if word in ("true", "false"):
            return const(I1, int(word == "true"))
        return const(I32, int(word, 0))
    v = w.value(int(m[1]))
    how = m[2] or ""
    if how == "p":
        return w.fit(v, I1)
    if how.startswith("s") and how[1:].isdigit():
        return fold.cast(w.g, "addrspacecast", v, pointer(int(how[1:])))
    if how.startswith("i"):
        return w.fit(v, int_type(int(how[1:])))
    return v


def _intrinsic(w: Work, name: str, words: list[str]) -> Value | None:
    result = w.want
    if ":" in name:
        text, _, name = name.partition(":")
        result = parse_type(text)
    name = _named(w, name)
    convergent = w.row.family in ("sync", "vote", "shuffle")
    made: Value = w.intrinsic(name, result, [operand(w, x) for x in words], "", convergent)
    return None if w.want is VOID else w.give(made)


def _named(w: Work, text: str) -> str:
    """{w} {u} {f} {i} in a text, by T."""
    if "{" not in text or w.t is None:
        return text
    t = w.g.types.value(w.t)
    real = is_float(w.t)
    words = {
        "w": str(t.bits or 64), "u": "s" if is_signed(underlying(w.t)) else "u",
        "f": f"f{t.bits}" if real else f"{'s' if is_signed(underlying(w.t)) else 'u'}{t.bits}",
    }
    return re.sub(r"\{([wuf])\}", lambda m: words[m[1]], text)


_PLACE = re.compile(r"\$(\d+)(?::(\w+))?|=|%z")


def _assembly(w: Work, text: str, effects: bool) -> Value | None:
    """Arguments narrower than a register are widened, results cut down again."""
    result = w.want
    wide = _register(result)
    shift = 0 if result is VOID else 1
    args: list[Value] = []
    seen: dict[str, int] = {}

    def place(m: re.Match[str]) -> str:
        if m[0] == "=":
            return "$0"
        if m[0] not in seen:
            v = const(I32, 0) if m[0] == "%z" else operand(w, m[0])
            signed = m[0] != "%z" and is_signed(underlying(w.types[int(m[1])]))
            seen[m[0]] = len(args)
            args.append(w.fit(v, _register(v.type), signed))
        return f"${seen[m[0]] + shift}"

    template = _PLACE.sub(place, _named(w, text))
    made = w.asm(template, wide, args, effects)
    return None if result is VOID else w.give(made)


def _register(t: Type) -> Type:
    """The type in which assembly takes a value."""
    if t is I1 or t is I8:
        return I32
    if isinstance(t, FloatType) and t.bits == 16:
        return int_type(16)
    if not isinstance(t, FloatType | IntType | PointerType) and t is not VOID and t.bits == 32:
        return I32
    return t
