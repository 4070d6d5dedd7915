"""Atomic operations in the forms that libnvvm takes.

It has neither fences nor atomic loads and stores: a fence is a barrier of memory (`membar.cta`,
`.gl`, `.sys`, each a sequentially consistent fence of its scope), an atomic load or store a
volatile one, which PTX makes a relaxed access of system scope, with barriers where its
ordering asks for them. What LLVM 7 lacks of `atomicrmw` becomes an NVVM intrinsic (relaxed, so with
barriers as well) or a loop of compare-and-exchange.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import Block, Instruction, Unsupported, Value, nvvm_form, undef
from nvir.ir.nvvm import Builder, const_like, declare
from nvir.ir.types import I64, VOID, FloatType, IntType, PointerType, Type, VectorType, int_type
from nvir.passes.llvm.narrow_atomics import narrow

_BARRIERS = {
    "": "sys", "system": "sys", "device": "gl", "gpu": "gl", "agent": "gl", "cluster": "gl",
    "block": "cta", "cta": "cta", "workgroup": "cta",
}
_BY_LOOP = frozenset(
    ("nand", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmax", "fmin", "fsub"))
_BEFORE = frozenset(("release", "acq_rel", "seq_cst"))
_BEHIND = frozenset(("acquire", "acq_rel", "seq_cst"))


def _refuse(what: str, dialect: str, i: Instruction) -> Unsupported:
    return Unsupported(what, dialect, f"@{i.function.name}" if i.function is not None else "")


def _barrier(b: Builder, scope: str, i: Instruction, dialect: str) -> None:
    if scope in ("singlethread", "thread", "wavefront", "warp"):
        if scope in ("warp", "wavefront"):
            raise _refuse(f'a fence of scope "{scope}"', dialect, i)
        return
    level = _BARRIERS.get(scope)
    if level is None:
        raise _refuse(f'the scope "{scope}"', dialect, i)
    assert b.module is not None
    f = declare(b.module, f"llvm.nvvm.membar.{level}", VOID, (), ("nounwind",))
    b.call(f, ())


def _fence(i: Instruction, dialect: str) -> bool:
    _, scope = i.aux
    b = Builder.ahead_of(i)
    _barrier(b, scope, i, dialect)
    i.erase()
    return True


def _access(i: Instruction, dialect: str) -> bool:
    """A load or store, if atomic."""
    if "atomic" not in i.form.mods:
        return False
    ordering, scope, align = i.aux
    t = i.type if i.type is not VOID else i._operands[0].type
    if not isinstance(t, IntType | FloatType | PointerType) or t.bits not in (8, 16, 32, 64):
        raise _refuse(f"an atomic {i.form.name} of {t}", dialect, i)
    i.set_form(nvvm_form(f"{i.form.name} volatile"))
    i.aux = align
    _surround(i, ordering, scope, dialect)
    return True


def _surround(i: Instruction, ordering: str, scope: str, dialect: str) -> None:
    if ordering in _BEFORE:
        _barrier(Builder.ahead_of(i), scope, i, dialect)
    if ordering in _BEHIND:
        _barrier(Builder(i.block, i.next), scope, i, dialect)  # type: ignore[arg-type]


def _rmw(i: Instruction, dialect: str) -> bool:
    operation = i.form.mods[0]
    p, v = i._operands
    t = v.type
    if isinstance(t, IntType) and t.bits < 32:
        narrow(i, split, _COMPUTED[operation], _failure(i.aux[0]))
        return True
    if t.bits == 16 and dialect == "llvm7":
        _of_bits(i, operation, t)
        return True
    if isinstance(t, PointerType) and operation == "xchg":
        b = Builder.ahead_of(i)
        old = b.atomic_rmw("xchg", p, b.ptrtoint(v, I64), *_order(i))
        i.replace_with(b.inttoptr(old, t))
        return True
    if dialect != "llvm7":
        return False
    if t.bits == 128:
        raise _refuse(f"atomicrmw {operation} of {t}", dialect, i)
    if operation in ("uinc_wrap", "udec_wrap") and t.bits == 32:
        word = "inc" if operation[1] == "i" else "dec"
        _intrinsic(i, f"llvm.nvvm.atomic.load.{word}.32.p{_space(p)}", v, dialect)
        return True
    if operation in _BY_LOOP or isinstance(t, VectorType):
        _loop(i, operation, dialect)
        return True
    if isinstance(t, FloatType):
        return _float_rmw(i, operation, dialect)
    return False


def _of_bits(i: Instruction, operation: str, t: Type) -> None:
    """Of half or bfloat, on the integer that lies in memory."""
    b = Builder.ahead_of(i)
    p, v = i._operands
    bits = int_type(16)
    old = b.atomic_rmw("xchg", p, b.bitcast(v, bits), *_order(i))
    i.replace_with(b.bitcast(old, t))

    def compute(b: Builder, old: Value, new: Value) -> Value:
        x, y = b.bitcast(old, t), b.bitcast(new, t)
        return b.bitcast(_COMPUTED[operation](b, x, y), bits)

    narrow(old, split, compute, _failure(old.aux[0]))


def _order(i: Instruction) -> tuple[str, str, str, int]:
    ordering, scope, align = i.aux
    return ordering, i.name or "", scope, align


def _space(p: Value) -> int:
    return int(getattr(p.type, "space", 0))


def _float_rmw(i: Instruction, operation: str, dialect: str) -> bool:
    p, v = i._operands
    b = Builder.ahead_of(i)
    if operation == "xchg":
        bits = int_type(v.type.bits)
        old = b.atomic_rmw("xchg", p, b.bitcast(v, bits), *_order(i))
        i.replace_with(b.bitcast(old, v.type))
    elif operation == "fadd" and v.type.name in ("float", "double"):
        name = f"llvm.nvvm.atomic.load.add.f{v.type.bits}.p{_space(p)}"
        _intrinsic(i, name, v, dialect)
    else:
        raise _refuse(f"atomicrmw {operation}", dialect, i)
    return True


def _intrinsic(i: Instruction, name: str, v: Value, dialect: str) -> None:
    ordering, scope, _ = i.aux
    p = i._operands[0]
    b = Builder.ahead_of(i)
    assert b.module is not None
    attributes = ("argmemonly", "nounwind")
    new = b.call(declare(b.module, name, v.type, [p.type, v.type], attributes), [p, v])
    i.replace_with(new)
    _surround(new, ordering, scope, dialect)


def _loop(i: Instruction, operation: str, dialect: str) -> None:
    """old = *p; do { seen = old; old = cmpxchg(p, seen, f(seen)); } while (old != seen)"""
    p, v = i._operands
    ordering, scope, align = i.aux
    t = v.type
    if t.bits not in (32, 64):
        raise _refuse(f"atomicrmw {operation} of {t}", dialect, i)
    bits = int_type(t.bits)
    block, behind = i.block, i.next
    assert block is not None
    assert behind is not None  # a terminator at the latest
    function = block.function
    after = split(block, behind)
    loop = function.block("atomic.loop", after=block)
    jump = block.terminator
    assert jump is not None
    jump.set_successor(after, loop)
    b = Builder(block, jump)
    first = b.load(p, bits, align=align or t.bits // 8, volatile=True)
    b = Builder(loop)
    seen = b.phi(bits)
    seen.add(first, block)
    old: Value = seen if bits is t else b.bitcast(seen, t)
    new: Value = _COMPUTED[operation](b, old, v)
    new = new if bits is t else b.bitcast(new, bits)
    exchanged = b.cmpxchg(p, seen, new, ordering, _failure(ordering), "", scope, align)
    found = b.extract_value(exchanged, 0)
    seen.add(found, loop)
    b.cbranch(b.extract_value(exchanged, 1), after, loop)
    result: Value = found
    if bits is not t:
        result = Builder(after, after.first_non_phi).bitcast(found, t)
    i.replace_with(result)
    function.cfg_changed()


def split(block: Block, at: Instruction, name: str = "atomic.end") -> Block:
    """Move `at` and all behind it to a new block, to which the old one jumps."""
    after = block.function.block(name, after=block)
    i: Instruction | None = at
    while i is not None:
        following = i.next
        i.remove()
        after.append(i)
        i = following
    after.aux, block.aux = block.aux, None
    for target in dict.fromkeys(after.last.aux if after.last is not None else ()):
        for phi in target.phis:
            phi.set_incoming(phi.operands, [after if x is block else x for x in phi.aux])
    Builder(block).branch(after)
    return after


def _failure(ordering: str) -> str:
    return {"acq_rel": "acquire", "release": "monotonic"}.get(ordering, ordering)


def _nand(b: Builder, old: Value, v: Value) -> Value:
    return b.not_(b.and_(old, v))


def _inc(b: Builder, old: Value, v: Value) -> Value:
    return b.select(b.icmp_unsigned(">=", old, v), const_like(v, 0), b.add(old, 1))


def _dec(b: Builder, old: Value, v: Value) -> Value:
    wraps = b.or_(b.icmp_unsigned("==", old, 0), b.icmp_unsigned(">", old, v))
    return b.select(wraps, v, b.sub(old, 1))


def _sub_if(b: Builder, old: Value, v: Value) -> Value:
    return b.select(b.icmp_unsigned(">=", old, v), b.sub(old, v), old)


def _sub_sat(b: Builder, old: Value, v: Value) -> Value:
    return b.select(b.icmp_unsigned(">=", old, v), b.sub(old, v), const_like(v, 0))


def _fmax(b: Builder, old: Value, v: Value) -> Value:
    """maxnum: the number where the other is none."""
    better = b.or_(b.fcmp_ordered(">", old, v), b.fcmp_unordered("uno", v, v))
    return b.select(better, old, v)


def _fmin(b: Builder, old: Value, v: Value) -> Value:
    better = b.or_(b.fcmp_ordered("<", old, v), b.fcmp_unordered("uno", v, v))
    return b.select(better, old, v)


_COMPUTED: dict[str, Callable[[Builder, Value, Value], Value]] = {
    "nand": _nand, "uinc_wrap": _inc, "udec_wrap": _dec, "usub_cond": _sub_if,
    "usub_sat": _sub_sat, "fmax": _fmax, "fmin": _fmin,
    "xchg": lambda b, old, v: v, "add": Builder.add, "sub": Builder.sub, "and": Builder.and_,
    "or": Builder.or_, "xor": Builder.xor, "fadd": Builder.fadd, "fsub": Builder.fsub,
    "max": lambda b, old, v: b.select(b.icmp_signed(">", old, v), old, v),
    "min": lambda b, old, v: b.select(b.icmp_signed("<", old, v), old, v),
    "umax": lambda b, old, v: b.select(b.icmp_unsigned(">", old, v), old, v),
    "umin": lambda b, old, v: b.select(b.icmp_unsigned("<", old, v), old, v),
}


def _cmpxchg(i: Instruction, dialect: str) -> bool:
    p, old, new = i._operands
    t: Type = old.type
    if isinstance(t, PointerType):
        b = Builder.ahead_of(i)
        success, failure, scope, align = i.aux
        pair = b.cmpxchg(p, b.ptrtoint(old, I64), b.ptrtoint(new, I64), success, failure, "",
                         scope, align)
        first = b.insert_value(undef(i.type), b.inttoptr(b.extract_value(pair, 0), t), 0)
        i.replace_with(b.insert_value(first, b.extract_value(pair, 1), 1))
        return True
    if t.bits < 32:
        narrow(i, split, None, i.aux[1])
        return True
    if t.bits > 64 and dialect == "llvm7":
        raise _refuse(f"cmpxchg of {t}", dialect, i)
    return False


RULES: dict[str, Callable[[Instruction, str], bool]] = {
    "fence": _fence, "load": _access, "store": _access, "atomicrmw": _rmw, "cmpxchg": _cmpxchg,
}
