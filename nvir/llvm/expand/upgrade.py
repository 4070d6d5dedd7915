"""Intrinsics that the reader writes as others, or as plain instructions.

    {i32, i1} @llvm.nvvm.shfl.sync.i32(mask, 2, a, b, c)  ==>  @llvm.nvvm.shfl.sync.down.i32p
    {i32, i1} @llvm.nvvm.vote.sync(mask, 0, p)            ==>  {undef, @llvm.nvvm.vote.all.sync}
    float @llvm.experimental.constrained.fadd.f32(a, b, mode, exceptions)       ==>  fadd
    <4 x i32> @llvm.vp.mul.v4i32(a, b, mask, length)                            ==>  mul

Numba and other front ends of libnvvm call the first two; LLVM has what they become alone. A
constrained operation says what rounding and exceptions may be assumed: nvir's own mode is among
them. Lanes that a mask or length leaves out of an operation are poison, so it is done for all,
but where it would divide by nothing.

Those of many instructions are in expansions.py.

Source   NVVM IR Specification, "Warp-level Intrinsics"; LLVM Language Reference; LLVM's
         AutoUpgrade.cpp and ExpandVectorPredication.cpp for what stands for what.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from nvir.ir import (
    I1,
    I16,
    I32,
    I64,
    Argument,
    Constant,
    Function,
    Instruction,
    Type,
    constant,
    struct,
)
from nvir.ir import types as ty
from nvir.ir.intrinsics import find
from nvir.ir.intrinsics.arithmetic import EXTREMA
from nvir.ir.nvvm import Builder, const, const_like, declare
from nvir.ir.nvvm_values import Node
from nvir.ir.values import Value, undef
from nvir.ir.verify.nvvm import element
from nvir.llvm.lexer import Stop

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader

_SHUFFLES = ("idx", "up", "down", "bfly")
_VOTES = ("all", "any", "uni", "ballot")
BINARY = frozenset((
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
    "fadd", "fsub", "fmul", "fdiv", "frem",
))
CASTS = frozenset((
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
    "ptrtoint", "inttoptr",
))
# What a reduction begins with where it has no start, and what a lane left out counts for.
_NEUTRAL = {"add": 0, "or": 0, "xor": 0, "umax": 0, "mul": 1, "and": -1, "umin": -1, "fadd": -0.0,
            "fmul": 1.0}
# What constrained operations may say.
_ROUNDINGS = frozenset((
    "round.dynamic", "round.tonearest", "round.downward", "round.upward", "round.towardzero",
    "round.tonearestaway", "fpexcept.ignore", "fpexcept.maytrap", "fpexcept.strict",
))
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
Expansion = Callable[["Expander", list[Value]], Value | None]


class Expander(Builder):
    """Writes what a call stands for where the reader is.

    name, result   the intrinsic's full name and the type that it gives
    """

    def __init__(self, b: DefinitionReader, name: str, result: Type) -> None:
        assert b.current is not None
        super().__init__(b.current)
        self.reader, self.name, self.result = b, name, result

    def insert(self, *given: object, **more: object) -> Instruction:
        made = super().insert(*given, **more)  # type: ignore[arg-type]  # as the builder has them
        made.line = self.reader.line + 1
        return made

    def intrinsic(self, name: str, result: Type, operands: list[Value]) -> Value:
        """What the call of an intrinsic is, which may be one that is expanded."""
        expansion = expansion_of(name)
        if expansion is not None:
            saved, self.name, self.result = (self.name, self.result), name, result
            found = expansion(self, operands)
            self.name, self.result = saved
            if found is not None:
                return found
        module = self.module
        assert module is not None
        words = ("convergent", "nounwind") if ".sync" in name else ("nounwind",)
        return self.call(declare(module, name, result, [v.type for v in operands], words), operands)

    def fail(self, what: str = "") -> NoReturn:
        self.reader.unsupported(what or f"the intrinsic {self.name}", self.reader.start)

    def number(self, v: Value) -> int:
        """A literal operand."""
        if not isinstance(v, Constant):
            self.fail(f"{self.name} of a mode that is no number")
        return int(v.value or 0)

    def lanes(self, v: Value) -> list[Value]:
        assert isinstance(v.type, ty.VectorType)
        return [self.extract_element(v, k) for k in range(v.type.count)]

    def joined(self, lanes: list[Value]) -> Value:
        """The vector of these elements."""
        out: Value = undef(ty.vector(lanes[0].type, len(lanes)))
        for k, v in enumerate(lanes):
            out = self.insert_element(out, v, k)
        return out

    def splat(self, v: Value, count: int) -> Value:
        first = self.insert_element(undef(ty.vector(v.type, count)), v, 0)
        return self.shuffle_vector(first, undef(first.type), (0,) * count)


def upgrade_operands(name: str, given: list[Any], size: Any) -> bool:
    """Make a list of what an intrinsic is given, or of its parameters, that of the version read:
    copies had an alignment up to LLVM 6, marks of a lifetime a size up to 21."""
    if len(given) == 5 and name.startswith(_COPIES):
        del given[3]
    elif len(given) == 1 and name.startswith(("llvm.lifetime.start", "llvm.lifetime.end")):
        given.insert(0, size)
    else:
        return False
    return True


# Intrinsics that gave another type in an older version: what they give, and what they gave.
OLDER_RESULTS: dict[str, tuple[Type, Type]] = {"llvm.nvvm.match.any.sync.i64": (I32, I64)}


def upgrade_declaration(f: Function) -> None:
    """Give an intrinsic that is declared as an older version had it, or a newer, its signature."""
    types: list[Any] = [p.type for p in f.params]
    if upgrade_operands(str(f.name), types, I64):
        f.params = [Argument(t, None, f, k) for k, t in enumerate(types)]
    if f.return_type is OLDER_RESULTS.get(str(f.name), (None, None))[1]:
        f.return_type = OLDER_RESULTS[str(f.name)][0]


def upgraded(b: DefinitionReader, name: str, result: Type, operands: list[Value]) -> Value | None:
    """What a call of an intrinsic with an expansion is; None where it stays as it is. All of it is
    placed; what gives nothing is a value of type void."""
    expansion = expansion_of(name)
    assert expansion is not None
    e = Expander(b, name, result)
    made = expansion(e, operands)
    (b.reader.expanded if made is not None else b.reader.kept).add(name)
    b.goes_on(e.block)
    return made


@functools.lru_cache(maxsize=1 << 12)
def expansion_of(name: str) -> Expansion | None:
    """How the calls of an intrinsic of this full name are written; None for most."""
    from nvir.llvm.expand.expansions import EXPANSIONS

    if name.startswith("llvm.experimental.constrained."):
        return _constrained
    if name.startswith("llvm.vp."):
        return _predicated
    table = EXPANSIONS | _OLDER
    row = find(name)
    key = row.name if row is not None else name
    while key not in table:
        key, dot, _ = key.rpartition(".")
        if not dot or row is not None:
            return None
    return table[key]


# ------------------------------------------------------------------ of NVVM


def _shuffle(e: Expander, given: list[Value]) -> Value:
    mode = _SHUFFLES[e.number(given[1]) & 3]
    return e.intrinsic(f"llvm.nvvm.shfl.sync.{mode}.i32p", struct([I32, I1]),
                       [given[0], *given[2:]])


def _vote(e: Expander, given: list[Value]) -> Value:
    k = e.number(given[1]) & 3
    result = I32 if k == 3 else I1
    vote = e.intrinsic(f"llvm.nvvm.vote.{_VOTES[k]}.sync", result, [given[0], *given[2:]])
    return e.insert_value(undef(struct([I32, I1])), vote, int(k != 3))


def _match(e: Expander, given: list[Value]) -> Value | None:
    """The lanes of equal values, of 64 bits up to LLVM 15."""
    if e.result is I32:
        return None
    e.reader.reader.kept.add(e.name)
    return e.zext(e.intrinsic(e.name, I32, given), e.result)


_NO = constant(ty.I1, 0)
OLD_BITS: tuple[tuple[str, str, tuple[str, ...], tuple[Value, ...]], ...] = (
    ("popc.", "ctpop", ("i", "ll"), ()), ("clz.", "ctlz", ("i", "ll"), (_NO,)),
    ("brev", "bitreverse", ("32", "64"), ()), ("abs.", "abs", ("i", "ll"), (_NO,)),
)


def _older(word: str, *more: Value) -> Expansion:
    """The intrinsic of all targets that one of NVVM was, its result as narrow as the old one's."""
    def expand(e: Expander, operands: list[Value]) -> Value:
        t = operands[0].type
        made = e.intrinsic(f"llvm.{word}.{t}", t, [operands[0], *more])
        return made if made.type is e.result else e.trunc(made, e.result)

    return expand


def _rotate(which: str, swap: bool = False) -> Expansion:
    def expansion(e: Expander, given: list[Value]) -> Value:
        x = given[0]
        n: Value = const(x.type, 32) if swap else given[1]
        if n.type is not x.type:
            n = e.zext(n, x.type)
        return e.intrinsic(f"llvm.{which}.{x.type.name}", x.type, [x, x, n])

    return expansion


def _from_half(e: Expander, given: list[Value]) -> Value | None:
    if not isinstance(e.result, ty.FloatType):
        return None
    x = e.bitcast(given[0], ty.HALF)
    return x if e.result is ty.HALF else e.fpext(x, e.result)


def _to_half(e: Expander, given: list[Value]) -> Value | None:
    x = given[0]
    if not isinstance(x.type, ty.FloatType):
        return None
    return e.bitcast(x if x.type is ty.HALF else e.fptrunc(x, ty.HALF), I16)


_OLDER: dict[str, Expansion] = {
    "llvm.nvvm.shfl.sync.i32": _shuffle,
    "llvm.nvvm.vote.sync": _vote,
    "llvm.nvvm.match.any.sync.i64": _match,
    "llvm.nvvm.rotate.b32": _rotate("fshl"),
    "llvm.nvvm.rotate.b64": _rotate("fshl"),
    "llvm.nvvm.rotate.right.b64": _rotate("fshr"),
    **{f"llvm.nvvm.{old}{ending}": _older(word, *more)
       for old, word, endings, more in OLD_BITS for ending in endings},
    "llvm.nvvm.swap.lo.hi.b64": _rotate("fshl", swap=True),
    "llvm.convert.from.fp16": _from_half,
    "llvm.convert.to.fp16": _to_half,
}


# ------------------------------------------- constrained, and of vector lengths


def _plain(e: Expander, word: str, given: list[Value], tail: str) -> Value | None:
    """The instruction or intrinsic that a word is: fadd, sitofp, sqrt."""
    if word in BINARY:
        return e.insert(word, given, given[0].type)
    rounds = word == "trunc" and isinstance(element(e.result), ty.FloatType)
    if (word in CASTS and not rounds) or word == "fneg":
        return e.insert(word, given, e.result)
    name = f"llvm.{word}{tail}"
    if find(name) is None and expansion_of(name) is None:
        e.fail()
    return e.intrinsic(name, e.result, given)


def split_name(name: str, prefix: str) -> tuple[str, str]:
    """The word behind a prefix, and the types of the overload behind it."""
    rest = name[len(prefix):]
    m = re.search(r"(?:\.(?:v\d+)?(?:i\d+|f\d+|bf16|p\d+))*$", rest)
    assert m is not None
    return rest[:m.start()], m[0]


def _constrained(e: Expander, given: list[Value]) -> Value | None:
    word, tail = split_name(e.name, "llvm.experimental.constrained.")
    words = [v.content for v in given if isinstance(v, Node)]
    operands = [v for v in given if not isinstance(v, Node)]
    for said in words[word in ("fcmp", "fcmps"):]:
        if str(said) not in _ROUNDINGS:
            raise Stop(f"'{said}' is no mode that LLVM has",
                       e.reader.start)
    if word in ("fcmp", "fcmps"):
        return e.insert(f"fcmp {words[0]}", operands, e.result)
    return _plain(e, word, operands, tail)


def _predicated(e: Expander, given: list[Value]) -> Value | None:
    """llvm.vp.*: the last operands are the mask and how many lanes there are."""
    word, tail = split_name(e.name, "llvm.vp.")
    if word in ("select", "merge"):
        mask, a, b, length = given
        if word == "merge":
            mask = _active(e, mask, length)
        return e.select(mask, a, b)
    if word in ("icmp", "fcmp"):
        node = given[2]
        assert isinstance(node, Node)
        return e.insert(f"{word} {node.content}", given[:2], e.result)
    *operands, mask, length = given
    if word.startswith("reduce."):
        return _reduced(e, word, operands, _active(e, mask, length), tail)
    if word in ("load", "store", "gather", "scatter"):
        mask = _active(e, mask, length)
        rest: list[Value] = [undef(e.result)] if e.result is not ty.VOID else []
        return e.intrinsic(f"llvm.masked.{word}{tail}", e.result,
                           [*operands, const(I32, 1), mask, *rest])
    if word[1:] in ("div", "rem"):
        b = operands[1]
        operands[1] = e.select(_active(e, mask, length), b, const_like(b, 1))
    return _plain(e, word, operands, tail)


def _active(e: Expander, mask: Value, length: Value) -> Value:
    """The lanes that are of the operation."""
    t = mask.type
    assert isinstance(t, ty.VectorType)
    steps = constant(ty.vector(I32, t.count), tuple(const(I32, k) for k in range(t.count)))
    return e.and_(mask, e.icmp_unsigned("<", steps, e.splat(length, t.count)))


def _reduced(e: Expander, word: str, given: list[Value], mask: Value, tail: str) -> Value:
    """A start, then the lanes; those left out count for nothing."""
    start, v = given
    what = word.removeprefix("reduce.")
    t = start.type
    neutral: Value = start  # of an extremum
    if what in _NEUTRAL:
        neutral = const(t, _NEUTRAL[what])
    assert isinstance(v.type, ty.VectorType)
    v = e.select(mask, v, e.splat(neutral, v.type.count))
    name = f"llvm.vector.{word}{tail}"
    if what in ("fadd", "fmul"):
        return e.intrinsic(name, t, [start, v])
    total = e.intrinsic(name, t, [v])
    if what in BINARY:
        return e.insert(what, (start, total), t)
    scalar = re.sub(r"^\.v\d+", ".", tail)
    return e.intrinsic(f"llvm.{EXTREMA.get(what, what)}{scalar}", t, [start, total])


__all__ = [
    "BINARY", "CASTS", "OLDER_RESULTS", "Expander", "Expansion", "expansion_of", "split_name",
    "upgrade_declaration", "upgrade_operands", "upgraded",
]
