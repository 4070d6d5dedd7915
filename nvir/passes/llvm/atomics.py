"""Atomic operations in the forms that libnvvm takes.

It has neither fences nor atomic loads and stores: a fence is a barrier of memory (`membar.cta`,
`.gl`, `.sys`, each a sequentially consistent fence of its scope), an atomic load or store PTX's own
instruction as inline assembly, of the order and scope asked for; so are exchanges of 16 bits and,
for LLVM 7, sums of floats and counters. The reader knows such assembly for what it is. What else it
lacks of `atomicrmw` is a loop of compare-and-exchange.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import Block, Instruction, Unsupported, Value, undef
from nvir.ir.nvvm import Builder, const_like, declare
from nvir.ir.opcodes.atomic_assembly import (
    ORDERS,
    SCOPES,
    AtomicAccess,
    of_failure,
    stronger,
)
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    I16,
    I32,
    I64,
    VOID,
    FloatType,
    IntType,
    PointerType,
    Type,
    VectorType,
    function_type,
    int_type,
    pointer,
)
from nvir.passes.llvm.narrow_atomics import narrow, on_word

_BARRIERS = {
    "": "sys", "system": "sys", "device": "gl", "gpu": "gl", "agent": "gl", "cluster": "gl",
    "block": "cta", "cta": "cta", "workgroup": "cta",
}
_BY_LOOP = frozenset(
    ("nand", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmax", "fmin", "fsub"))
# The type of memory and the register's of those that assembly takes; pointers are of 64 bits.
_KINDS: dict[str, tuple[str, Type]] = {
    "i8": ("b8", I16), "i16": ("b16", I16), "half": ("b16", I16), "bfloat": ("b16", I16),
    "i32": ("b32", I32), "i64": ("b64", I64), "float": ("f32", FLOAT), "double": ("f64", DOUBLE),
}


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
    ordering, scope, _ = i.aux
    t = i.type if i.type is not VOID else i._operands[0].type
    if not isinstance(t, IntType | FloatType | PointerType) or t.bits not in (8, 16, 32, 64):
        raise _refuse(f"an atomic {i.form.name} of {t}", dialect, i)
    b = Builder.ahead_of(i)
    b.loc = i.loc
    is_load = i.form.name == "load"
    order = ORDERS[ordering]
    if order == "acq_rel":  # of seq_cst, behind its fence
        order = "acquire" if is_load else "release"
    if is_load:
        _replace(i, _assembled(b, i, "ld", order, ordering, scope, i._operands[0], (), t, dialect))
    else:
        v, p = i._operands
        _assembled(b, i, "st", order, ordering, scope, p, (v,), VOID, dialect)
        i.erase()
        _drop(v)
    return True


def _assembled(b: Builder, i: Instruction, what: str, order: str, ordering: str, scope: str,
               p: Value, values: tuple[Value, ...], result: Type, dialect: str) -> Value:
    """An access as inline assembly: its values in registers that assembly takes."""
    where = SCOPES.get(scope)
    if where is None:
        raise _refuse(f'the scope "{scope}"', dialect, i)
    if _space(p) not in (0, 1, 3):
        p = b.addrspacecast(p, pointer())
    t = values[0].type if values else result
    kind, register = _KINDS.get(t.name) or ("b64", I64)
    kind = {("add", "b16"): "f16", ("inc", "b32"): "u32", ("dec", "b32"): "u32"}.get(
        (what, kind), kind)
    access = AtomicAccess(what, order, where, _space(p), kind, ordering == "seq_cst")
    given = [p, *(_in_register(b, v, register) for v in values)]
    return b.asm(function_type(register if result is not VOID else VOID, [v.type for v in given]),
                 *access.written(), given, side_effect=True, name=i.name or "")


def _replace(i: Instruction, made: Value) -> None:
    """Let what assembly gives stand for an access, and for what casts that to its type."""
    register = made.type
    for user in list(i.users):
        if user.form.name in ("zext", "bitcast") and user.type is register is not i.type:
            made.name = made.name or user.name
            user.replace_with(made)
    if i.type is register or i.has_uses:
        i.replace_with(_of_register(Builder.ahead_of(i), made, i.type))
    else:
        i.erase()


def _drop(*values: Value) -> None:
    """Erase casts that nobody uses any more."""
    for v in values:
        if isinstance(v, Instruction) and v.form.name in ("trunc", "bitcast") and not v.has_uses:
            v.erase()


def _in_register(b: Builder, v: Value, register: Type) -> Value:
    if isinstance(v, Instruction) and v.form.name in ("trunc", "bitcast") and (
            v._operands[0].type is register):
        return v._operands[0]  # the bits above are not written
    if isinstance(v.type, PointerType):
        return b.ptrtoint(v, I64)
    if v.type.bits < register.bits:
        return b.zext(v, register)
    return v if v.type is register else b.bitcast(v, register)


def _of_register(b: Builder, v: Value, t: Type) -> Value:
    if isinstance(t, PointerType):
        return b.inttoptr(v, t)
    if t.bits < v.type.bits:
        return b.trunc(v, t)
    return v if v.type is t else b.bitcast(v, t)


def _rmw(i: Instruction, dialect: str) -> bool:
    operation = i.form.mods[0]
    p, v = i._operands
    t = v.type
    if isinstance(t, IntType) and t.bits in (8, 16) and operation in ("and", "or", "xor"):
        on_word(i, operation)
        return True
    if isinstance(t, IntType) and t.bits < 16:
        narrow(i, split, _COMPUTED[operation], of_failure(i.aux[0]))
        return True
    if t.name == "half" and operation == "fadd" and dialect == "llvm7":
        return _direct(i, "add", dialect)
    if isinstance(t, IntType | FloatType) and t.bits == 16 and (
            dialect == "llvm7" or isinstance(t, IntType)):
        _loop(i, operation, dialect)
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
        return _direct(i, operation[1:4], dialect)
    if operation == "fsub" and t.name == "double":
        b = Builder.ahead_of(i)
        i.replace_operand(v, b.fsub(const_like(v, -0.0), v))
        return _direct(i, "add", dialect)
    if operation in _BY_LOOP or isinstance(t, VectorType):
        _loop(i, operation, dialect)
        return True
    if isinstance(t, FloatType):
        return _float_rmw(i, operation, dialect)
    return False


def _direct(i: Instruction, what: str, dialect: str) -> bool:
    """An operation that PTX has."""
    ordering, scope, _ = i.aux
    p, v = i._operands
    b = Builder.ahead_of(i)
    b.loc = i.loc
    _replace(i, _assembled(b, i, what, ORDERS[ordering], ordering, scope, p, (v,), v.type,
                           dialect))
    _drop(v)
    return True


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
        _direct(i, "add", dialect)
    else:
        raise _refuse(f"atomicrmw {operation}", dialect, i)
    return True


def _loop(i: Instruction, operation: str, dialect: str) -> None:
    """old = *p; do { seen = old; old = cmpxchg(p, seen, f(seen)); } while (old != seen)"""
    p, v = i._operands
    ordering, scope, align = i.aux
    t = v.type
    if t.bits not in (16, 32, 64):
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
    first = _assembled(b, i, "ld", "relaxed", "monotonic", scope, p, (), bits, dialect)
    first.name = None
    b = Builder(loop)
    seen = b.phi(bits)
    seen.add(first, block)
    old: Value = seen if bits is t else b.bitcast(seen, t)
    new: Value = _COMPUTED[operation](b, old, v)
    new = new if bits is t else b.bitcast(new, bits)
    exchanged = b.cmpxchg(p, seen, new, ordering, of_failure(ordering), "", scope, align)
    found = b.extract_value(exchanged, 0)
    seen.add(found, loop)
    b.cbranch(b.extract_value(exchanged, 1), after, loop)
    result: Value = found
    if bits is not t:
        result = Builder(after, after.first_non_phi).bitcast(found, t)
    i.replace_with(result)
    if t.bits == 16:
        _exchange_half_word(exchanged, dialect)
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
    if t.bits == 16:
        _exchange_half_word(i, dialect)
        return True
    if t.bits < 32:
        narrow(i, split, None, i.aux[1])
        return True
    if t.bits > 64 and dialect == "llvm7":
        raise _refuse(f"cmpxchg of {t}", dialect, i)
    return False


def _exchange_half_word(i: Instruction, dialect: str) -> None:
    p, old, new = i._operands
    success, failure, scope, _ = i.aux
    order = stronger(success, failure)
    b = Builder.ahead_of(i)
    b.loc = i.loc
    found = _assembled(b, i, "cas", ORDERS[order], order, scope, p, (old, new), old.type,
                       dialect)
    users = [u for u in i.users if u.form.name == "extractvalue"]
    made = None if all(u.aux == (0,) for u in users) else b.icmp_signed("==", found, old)
    for u in users:
        found.name = found.name or u.name
        u.replace_with(found if u.aux == (0,) or made is None else made)
    if i.has_uses:
        whole = b.insert_value(undef(i.type), found, 0)
        i.replace_with(b.insert_value(whole, made or b.icmp_signed("==", found, old), 1))
    else:
        i.erase()
    _drop(old, new)


RULES: dict[str, Callable[[Instruction, str], bool]] = {
    "fence": _fence, "load": _access, "store": _access, "atomicrmw": _rmw, "cmpxchg": _cmpxchg,
}
