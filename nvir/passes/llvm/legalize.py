"""Rewriting what a dialect of NVVM IR lacks: what this pass leaves, libnvvm takes.

    llvm7     below compute_100: bfloat is i16, fneg a subtraction, freeze a move, poison undef;
              newer atomics and intrinsics become older ones or code (intrinsics.py), vectors of
              i1 and of pointers are worked on by element (odd_types.py)
    llvm20    from compute_100 on
    both      fp128 is moved as i128; fences are barriers of memory, atomic accesses volatile ones
              between such; stack memory in space 5 is cast from the generic space

    %y = fneg float %x                  ==>   %y = fsub float -0.0, %x
    fence syncscope("block") acq_rel    ==>   call void @llvm.nvvm.membar.cta()
    %f = freeze i32 %x                  ==>   %f = call i32 asm "mov.b32 $0, $1;", "=r,r"(i32 %x)

Method   Types first (legalize_types.py), then a rule for each row that needs one, then intrinsics
         by name. A fence is never weakened and a frozen value is really one value.
Keeps    blocks, but for the loops of operations that only compare-and-exchange can do.
Raises   Unsupported, naming it, for what has no such form: libm-like intrinsics without `afn`
         (`llvm.sin`; link libdevice instead), arithmetic on fp128, atomics of i128 on llvm7.
Cost     One visit an instruction.
Source   NVVM IR Specification 2.0; libnvvm 13.0's own verdicts (tests/llvm/test_ll_libnvvm.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import attrs

from nvir.ir import Function, Instruction, Module, Unsupported
from nvir.ir import types as ty
from nvir.ir.intrinsics import find
from nvir.ir.nvvm import Builder, const, const_like, declare
from nvir.ir.nvvm_values import ConstantExpr, InlineAsm, NvvmCall, Poison, named_in
from nvir.ir.values import Argument, Constant, Symbol, Undef, Value, constant, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.aggregate.leaves import leaves
from nvir.passes.context import Context
from nvir.passes.llvm import asm_operands, assembly, intrinsics
from nvir.passes.llvm.atomics import RULES as ATOMICS
from nvir.passes.llvm.legalize_types import COMPUTES, rewrite_types
from nvir.passes.llvm.odd_types import RULES as ODD_TYPES
from nvir.passes.llvm.odd_types import in_memory
from nvir.passes.llvm.signatures import rewrite_signatures
from nvir.passes.llvm.stand_ins import drop, order_last, stand_in
from nvir.passes.remarks import Code

CODES: tuple[Code, ...] = ()


@attrs.frozen
class Options:
    """The dialect that the text will be in; whether what it lacks becomes the call of a function
    that is read again as what it stands for (stand_ins.py), or code in its place."""

    dialect: Literal["llvm7", "llvm20"] = "llvm20"
    stand_ins: bool = True


def run(module: Module, ctx: Context) -> bool:
    dialect = ctx.options.dialect
    changed = ctx.options.stand_ins and _kept(module, dialect)
    changed |= dialect == "llvm7" and _lower_bfloat(module)
    changed |= rewrite_signatures(module, dialect)
    changed |= rewrite_types(module, dialect)
    for f in list(module.functions):
        for i in list(f.instructions()):
            what = legalize(i, dialect)
            if what:
                changed = True
                ctx.count("rewritten")
    changed |= _strip(module)
    order_last(module)
    if not ctx.options.stand_ins:
        for f in module.functions:
            (f.aux or {}).pop("signature", None)
    if dialect == "llvm20":
        changed |= _halves(module)
    if dialect == "llvm7":
        for v in module.globals:
            if isinstance(v.init, Value):
                v.init = without_poison(v.init)
    return changed


def _kept(module: Module, dialect: str) -> bool:
    """Keep what the dialect lacks in functions that stand for it."""
    found = [i for f in module.functions for i in f.instructions() if _is_lost(i, dialect)]

    def rewrite(i: Instruction) -> bool:
        return _is_carried(i, dialect) or legalize(i, dialect)

    return bool(found) and stand_in(module, found, rewrite, dialect)


def _is_lost(i: Instruction, dialect: str) -> bool:
    """Whether an operation may be rewritten to what is not read as the operation again."""
    name = i.form.name
    if name == "call":
        callee = i.aux.callee
        if isinstance(callee, InlineAsm):
            return True
        return isinstance(callee, Function) and str(callee.name).startswith("llvm.") and not (
            _is_nothing(callee, dialect) or _AGAIN.match(str(callee.name)))
    if name == "freeze":
        return dialect == "llvm7" and not (
            isinstance(i._operands[0], Undef) or well_defined(i._operands[0]))
    if name in ("load", "store"):
        t = i.type if name == "load" else i._operands[0].type
        return {"atomic", "volatile"} <= set(i.form.mods) or _is_carried(i, dialect) or (
            dialect == "llvm7" and in_memory(t) is not t)
    return name in ATOMICS or name in _LOST or _is_carried(i, dialect)


def _is_carried(i: Instruction, dialect: str) -> bool:
    """Whether an operation is on bfloat, which LLVM 7 has as i16."""
    return dialect == "llvm7" and i.form.name in _CARRIED and (
        ty.BFLOAT in (element(i.type), *(element(v.type) for v in i._operands)))


def _strip(module: Module) -> bool:
    """Leave out what libnvvm does not take and no code of it hangs on."""
    changed = False
    named: set[Symbol] | None = None
    for v in list(module.globals):
        changed |= v.attributes.pop("section", None) is not None
        unused = v.linkage == "extern_weak"
        if unused:
            named = named_in(module) if named is None else named
            unused = v not in named
        if unused or v.name == "llvm.compiler.used":
            module.globals.remove(v)
            module.order.remove(v)
            changed = True
        elif v.space == "shared" and isinstance(v.init, Constant) and v.init.value in (None, 0):
            v.init = undef(v.value_type)  # no shared memory has an initial value
            changed = True
    for f in module.functions:
        attributes = (f.aux or {}).get("attributes", ())
        kept = tuple(a for a in attributes if a not in _NO_ATTRIBUTES)
        if len(kept) < len(attributes):
            f.aux["attributes"] = kept
            changed = True
    return changed


def _halves(module: Module) -> bool:
    """Variables of half or bfloat as i16: libnvvm's newer dialect ends its process at them."""
    changed = False
    for v in module.globals:
        if v.value_type in (ty.HALF, ty.BFLOAT):
            v.value_type = ty.I16
            if isinstance(v.init, Value):
                bits = v.init.value if isinstance(v.init, Constant) else None
                v.init = undef(ty.I16) if bits is None else const(ty.I16, int(bits))
            changed = True
    return changed


_NO_ATTRIBUTES = frozenset("""
    nobuiltin naked returns_twice ssp sspreq sspstrong jumptable noredzone noimplicitfloat
    nonlazybind sanitize_address sanitize_memory sanitize_thread sanitize_hwaddress sanitize_memtag
""".split())  # noqa: SIM905


def _lower_bfloat(module: Module) -> bool:
    """Rewrite the intrinsics and atomic operations of bfloat while it is still told from i16."""
    changed = False
    for f in list(module.functions):
        for i in list(f.instructions()):
            types = (i.type, *(v.type for v in i._operands))
            if i.form.name in ("call", "atomicrmw") and ty.BFLOAT in map(element, types):
                changed |= legalize(i, "llvm7")
    return changed


def legalize(i: Instruction, dialect: str) -> bool:
    """Rewrite one instruction if the dialect lacks it; Unsupported if that is not possible."""
    changed = False
    if dialect == "llvm7":
        new = tuple(map(without_poison, i._operands))
        if any(a is not b for a, b in zip(new, i._operands, strict=True)):
            i.set_operands(new)
            changed = True
    for table in (ATOMICS, RULES, ODD_TYPES):
        rule = table.get(i.form.name)
        if rule is not None and rule(i, dialect):
            return True
    return changed


def without_poison(v: Value) -> Value:
    """A constant with undef for poison: undef is one of the values that poison may be."""
    if isinstance(v, Poison):
        return undef(v.type)
    if isinstance(v, Constant) and v.value.__class__ is tuple:
        new = tuple(map(without_poison, v.value))
        return v if new == v.value else constant(v.type, new)
    if isinstance(v, ConstantExpr):
        new = tuple(map(without_poison, v.operands))
        return v if new == v.operands else v.with_operands(new)
    return v


def refuse(what: str, dialect: str, i: Instruction) -> Unsupported:
    where = f"@{i.function.name}" if i.function is not None else ""
    return Unsupported(what, dialect, where)


# -------------------------------------------------------------------- rows


def _fneg(i: Instruction, dialect: str) -> bool:
    if dialect != "llvm7":
        return False
    b = Builder.ahead_of(i)
    x = i._operands[0]
    i.replace_with(b.fsub(const_like(x, -0.0), x, i.name or "", i.form.mods))
    return True


# The constraint and the instruction that move a value of a type; i8 and i1 pass as i16, i32.
_MOVES = {"i16": ("h", "b16"), "i32": ("r", "b32"), "i64": ("l", "b64"), "float": ("f", "f32"),
          "double": ("d", "f64")}


def _freeze(i: Instruction, dialect: str) -> bool:
    if dialect != "llvm7":
        return False
    x = i._operands[0]
    if isinstance(x, Undef):
        i.replace_with(
            const(x.type, None) if not isinstance(x.type, ty.IntType) else const(x.type, 0)
        )
    elif well_defined(x):
        i.replace_with(x)
    else:
        b = Builder.ahead_of(i)
        i.replace_with(_moved(b, x, dialect, i))
    return True


def well_defined(v: Value) -> bool:
    """Whether a value surely is neither undef nor poison."""
    if isinstance(v, Argument):
        return "noundef" in v.attributes
    return isinstance(v, Constant) and not isinstance(v.value, tuple)


def _moved(b: Builder, x: Value, dialect: str, i: Instruction) -> Value:
    """The value through a move that the optimiser does not see into."""
    t = x.type
    if isinstance(t, ty.PointerType):
        return b.inttoptr(_moved(b, b.ptrtoint(x, ty.I64), dialect, i), t)
    if isinstance(t, ty.IntType) and t.bits > 64:
        words = [
            b.trunc(b.lshr(x, at) if at else x, ty.int_type(min(64, t.bits - at)))
            for at in range(0, t.bits, 64)
        ]
        moved = [b.zext(_moved(b, w, dialect, i), t) for w in words]
        whole: Value = moved[0]
        for k, v in enumerate(moved[1:], 1):
            whole = b.or_(whole, b.shl(v, 64 * k))
        return whole
    if isinstance(t, ty.IntType) and t.name not in _MOVES:
        wide = next(w for w in (ty.I16, ty.I32, ty.I64) if w.bits > t.bits)
        return b.trunc(_moved(b, b.zext(x, wide), dialect, i), t)
    if t.name == "half":
        return b.bitcast(_moved(b, b.bitcast(x, ty.I16), dialect, i), t)
    out: Value = undef(t)
    if isinstance(t, ty.VectorType):
        for k in range(t.count):
            out = b.insert_element(out, _moved(b, b.extract_element(x, k), dialect, i), k)
        return out
    if isinstance(t, ty.StructType | ty.ArrayType):
        for leaf in leaves(t):
            part = _moved(b, b.extract_value(x, leaf.path), dialect, i)
            out = b.insert_value(out, part, leaf.path)
        return out
    if t.name not in _MOVES:
        raise refuse(f"freeze of {t}", dialect, i)
    letter, kind = _MOVES[t.name]
    return b.asm(ty.function_type(t, [t]), f"mov.{kind} $0, $1;", f"={letter},{letter}", [x])


def _alloca(i: Instruction, dialect: str) -> bool:
    if getattr(i.type, "space", 0) == 0:
        return False
    b = Builder.ahead_of(i)
    new = b.insert("alloca", i._operands, ty.pointer(), i.name or "", i.aux)
    i.replace_with(b.addrspacecast(new, i.type))
    return True


def _space(i: Instruction, dialect: str) -> bool:
    t = element(i.type)
    if isinstance(t, ty.PointerType) and t.space not in (0, 1, 3, 4, 5):
        raise refuse(f"address space {t.space}", dialect, i)
    return False


def _split(i: Instruction, dialect: str) -> bool:
    """splitStruct, NVVM's own, as the extractvalues that it stands for."""
    b = Builder.ahead_of(i)
    b.loc = i.loc
    whole = i._operands[0]
    used = [
        b.extract_value(whole, leaf.path, r.name or "") if r.has_uses else r
        for leaf, r in zip(leaves(whole.type), i.results, strict=True)
    ]
    i.replace_with(used)
    return True


# --------------------------------------------------------------- intrinsics


def _call(i: Instruction, dialect: str) -> bool:
    callee = i.aux.callee
    if isinstance(callee, InlineAsm):
        return asm_operands.fit(i, callee, dialect)
    if not isinstance(callee, Function) or not callee.name.startswith("llvm."):
        return False
    name = str(callee.name)[5:]
    old = dialect == "llvm7"
    if _barrier(i, callee) or (old and (_shuffle(i, callee) or _of_spaces(i, callee))):
        return True
    row = assembly.statement(f"llvm.{name}", dialect)
    if row is not None:
        assembly.as_assembly(i, row, dialect)
        drop(callee)
        return True
    if _is_nothing(callee, dialect):
        if i.type is not ty.VOID:
            i.replace_with(i._operands[0])
        else:
            i.erase()
        drop(callee)
        return True
    if name.startswith("nvvm."):
        return False
    new = intrinsics.lowered(Builder.ahead_of(i), i, dialect)
    if new is not None:
        i.replace_with(new)
        drop(callee)
        return True
    base = name.split(".")[0]
    if base in _NO_FORM or (dialect == "llvm7" and _NEWER.match(name)):
        raise refuse(f"the intrinsic llvm.{name}", dialect, i)
    return False


def _is_nothing(callee: Function, dialect: str) -> bool:
    """Whether an intrinsic that the dialect lacks is its operand, or a hint."""
    row = find(str(callee.name))
    if row is None:
        return False
    if row.rule == "same":
        known = row.name in _SAME or (dialect != "llvm7" and row.name.startswith(_SAME_LATER))
        return not known
    return row.name == "llvm.prefetch" or (dialect == "llvm7" and row.name in _HINTS)


def _barrier(i: Instruction, callee: Function) -> bool:
    """Barriers of a block under the names that libnvvm knows: `barrier0()`, `barrier.n(id)`; of a
    number of threads, as assembly."""
    kind = str(callee.name).removeprefix("llvm.nvvm.barrier.cta.sync.aligned.")
    if kind not in ("all", "count") or callee.module is None:
        return False
    operands: tuple[Value, ...] = i._operands
    b = Builder.ahead_of(i)
    if kind == "count":
        asm = InlineAsm("bar.sync $0, $1;", "r,r,~{memory}", ("sideeffect",))
        info = NvvmCall(2, callee=asm, attributes=("convergent", "nounwind"))
        b.insert("call", operands, aux=info)
        i.erase()
        drop(callee)
        return True
    name = "llvm.nvvm.barrier.n"
    if isinstance(operands[0], Constant) and operands[0].value == 0:
        name, operands = "llvm.nvvm.barrier0", ()
    attributes = ("convergent", "nounwind")
    old = declare(callee.module, name, ty.VOID, [v.type for v in operands], attributes)
    b.call(old, operands)
    i.erase()
    drop(callee)
    return True


def _shuffle(i: Instruction, callee: Function) -> bool:
    """A shuffle with its predicate by the mode's number, as LLVM 7 has it (nvir.llvm.upgrade)."""
    found = _WITH_PREDICATE.fullmatch(str(callee.name))
    if found is None or callee.module is None:
        return False
    b = Builder.ahead_of(i)
    mask, x, *rest = i._operands
    number = b.bitcast(x, ty.I32) if found[2] == "f32" else x
    operands = (mask, const_like(mask, _MODES.index(found[1])), number, *rest)
    attributes = ("convergent", "nounwind")
    pair = ty.struct([ty.I32, ty.I1])
    old = declare(callee.module, "llvm.nvvm.shfl.sync.i32", pair,
                  [v.type for v in operands], attributes)
    made: Value = b.call(old, operands)
    if found[2] == "f32":
        lane = b.bitcast(b.extract_value(made, 0), ty.FLOAT)
        whole = b.insert_value(undef(i.type), lane, 0)
        made = b.insert_value(whole, b.extract_value(made, 1), 1)
    i.replace_with(made)
    drop(callee)
    return True


def _of_spaces(i: Instruction, callee: Function) -> bool:
    """llvm.nvvm.ptr.global.to.gen and its like: casts."""
    if not _OF_SPACES.match(str(callee.name)):
        return False
    i.replace_with(Builder.ahead_of(i).addrspacecast(i._operands[0], i.type))
    drop(callee)
    return True


_SAME = frozenset((
    "llvm.expect", "llvm.launder.invariant.group", "llvm.strip.invariant.group", "llvm.annotation",
    "llvm.nvvm.texsurf.handle.internal", "llvm.threadlocal.address",
))
_SAME_LATER = ("llvm.ptr.annotation", "llvm.nvvm.move.", "llvm.ssa.copy", "llvm.arithmetic.fence",
               "llvm.expect.with.probability")
_HINTS = ("llvm.invariant.end", "llvm.var.annotation", "llvm.pseudoprobe")
_MODES = ("idx", "up", "down", "bfly")
_WITH_PREDICATE = re.compile(r"llvm\.nvvm\.shfl\.sync\.(idx|up|down|bfly)\.([if]32)p")
_CARRIED = COMPUTES - {"atomicrmw"} | {"load", "store"}
_LOST = ODD_TYPES.keys() - {"load", "store", "addrspacecast", "getelementptr"}
_OF_SPACES = re.compile(r"llvm\.nvvm\.ptr\.((global|shared|constant|local)\.to\.gen|gen\.to\.)")
# What is rewritten to calls that the reader knows.
_AGAIN = re.compile(r"llvm\.(fabs\.f(32|64)$|nvvm\.barrier\.cta\.|nvvm\.shfl\.sync\.\w+\.i32p$)|"
                    + _OF_SPACES.pattern)


_NO_FORM = frozenset((
    "tan", "pow", "powi", "stacksave", "stackrestore", "sincos", "ldexp", "frexp",
))
_NEWER = re.compile(
    r"([su]add\.sat|[su]sub\.sat|sshl\.sat|ushl\.sat|vector\.|maximum|minimum|"
    r"roundeven|fpto[su]i\.sat|threadlocal|umul\.fix|smul\.fix|matrix\.|masked\.|"
    r"[su]cmp|fptrunc\.round)"
)
RULES: dict[str, Callable[[Instruction, str], bool]] = {
    "fneg": _fneg, "freeze": _freeze, "alloca": _alloca, "call": _call,
    "addrspacecast": _space, "inttoptr": _space,
    "splitStruct": _split,
}
