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
from typing import TYPE_CHECKING

from nvir.frontend.builtins.handlers import FUNCTIONS
from nvir.frontend.builtins.work import Work
from nvir.frontend.irgen import fold
from nvir.frontend.tree.types import is_float, is_signed, is_void, underlying
from nvir.ir import Unsupported, Value
from nvir.ir import types as ty
from nvir.ir.nvvm import const, declare

if TYPE_CHECKING:
    pass


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
    function: Callable[..., Value | None] = FUNCTIONS[words[0]]
    return function(w, *words[1:])


def _mathematics(w: Work, name: str) -> Value:
    from nvir.frontend.libm import function, libdevice

    make = libdevice if w.g.options.libdevice else function
    callee = make(w.g.shared, name)
    wanted = [a.type for a in callee.arguments]
    args = [w.fit(w.value(k), t) for k, t in enumerate(wanted)]
    made = w.b.call(callee, args, "" if callee.return_type is ty.VOID else name)
    return w.give(made) if callee.return_type is not ty.VOID else made


def _of_libdevice(w: Work, name: str) -> Value:
    if not w.g.options.libdevice:
        what = f"the function '{w.row.name}', which libdevice has: compile with --backend libnvvm"
        raise Unsupported(what, where=str(w.e.place))
    types = [w.g.types.value(t) for t in w.types]
    result = ty.VOID if is_void(w.result) else w.g.types.value(w.result)
    callee = declare(w.g.module, f"__nv_{name}", result, types, ("nounwind",))
    args = [w.fit(w.value(k), t) for k, t in enumerate(types)]
    made: Value = w.b.call(callee, args, "" if result is ty.VOID else name)
    return made


_OPERAND = re.compile(r"\$(\d+)(?::(\w+))?$")


def operand(w: Work, word: str) -> Value:
    m = _OPERAND.match(word)
    if m is None:
        if word in ("true", "false"):
            return const(ty.I1, int(word == "true"))
        return const(ty.I32, int(word, 0))
    v = w.value(int(m[1]))
    how = m[2] or ""
    if how == "p":
        return w.fit(v, ty.I1)
    if how.startswith("s") and how[1:].isdigit():
        return fold.cast(w.g, "addrspacecast", v, ty.pointer(int(how[1:])))
    if how.startswith("i"):
        return w.fit(v, ty.int_type(int(how[1:])))
    return v


def _intrinsic(w: Work, name: str, words: list[str]) -> Value | None:
    result = w.want
    if ":" in name:
        text, _, name = name.partition(":")
        result = ty.parse_type(text)
    name = _named(w, name)
    convergent = w.row.family in ("sync", "vote", "shuffle")
    made: Value = w.intrinsic(name, result, [operand(w, x) for x in words], "", convergent)
    return None if w.want is ty.VOID else w.give(made)


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
    shift = 0 if result is ty.VOID else 1
    args: list[Value] = []
    seen: dict[str, int] = {}

    def place(m: re.Match[str]) -> str:
        if m[0] == "=":
            return "$0"
        if m[0] not in seen:
            v = const(ty.I32, 0) if m[0] == "%z" else operand(w, m[0])
            signed = m[0] != "%z" and is_signed(underlying(w.types[int(m[1])]))
            seen[m[0]] = len(args)
            args.append(w.fit(v, _register(v.type), signed))
        return f"${seen[m[0]] + shift}"

    template = _PLACE.sub(place, _named(w, text))
    made = w.asm(template, wide, args, effects)
    return None if result is ty.VOID else w.give(made)


def _register(t: ty.Type) -> ty.Type:
    """The type in which assembly takes a value."""
    if t is ty.I1 or t is ty.I8:
        return ty.I32
    if isinstance(t, ty.FloatType) and t.bits == 16:
        return ty.int_type(16)
    if (
        not isinstance(t, ty.FloatType | ty.IntType | ty.PointerType)
        and t is not ty.VOID
        and t.bits == 32
    ):
        return ty.I32
    return t
