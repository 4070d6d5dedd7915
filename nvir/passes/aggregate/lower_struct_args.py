"""Struct parameters become scalars and, where they must be in memory, an explicit copy there.

    define void @f({i32, float} %s)            splitStruct at the entry; extractvalues of %s name
                                               its results
    define void @f(ptr byval(%S) %p)           with `opt-byval`:
        only read                              loads stay, from where the parameter was passed
        written, or its address escapes        %p.local = alloca %S
                                               call void @llvm.memcpy(ptr %p.local, ptr %p, …)

A kernel's parameters may be read at any index; those of a device function have no address, so reads
at an index that is not constant want the copy too. As in the real tool, a device function's
parameters are treated as local memory (`devicefn-param-always-local`) unless they are only read and
`lower-read-only-devicefn-byval` is set.

Method   Values: `splitStruct` at the entry. Memory: the uses of each byval parameter are walked;
         who only reads it, at constant places or in a kernel, reads where it was passed.
Knobs    lsa-opt turns the pass on. hoist-load-param: loads at constant places of a parameter that
         is only read are done once, in the entry. nvptx-force-min-byval-param-align: parameters in
         memory are aligned to 4 bytes at least, here and in calls. nvptx-early-byval-copy: calls
         pass a copy of their own.
Keeps    blocks. The caller's memory: byval memory is the callee's.
Leaves   the memcpys, and loads of structs: lower-aggr-copies is next.
Cost     One visit an instruction; a walk over the uses of each byval parameter.
Source   the notes' lower-struct-args; LLVM Language Reference, "byval".
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.analysis.addresses import split_indices
from nvir.ir import Argument, CallInfo, Function, Instruction, Module, OpKind, Value
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm import Builder, const, declare
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.ssa.rewrite import substitute
from nvir.ir.types import I1, I8, I64, VOID, PointerType, Type
from nvir.passes.aggregate.leaves import composite, is_aggregate, leaf_range, leaves
from nvir.passes.aggregate.lower_aggr_copies import copy_kind
from nvir.passes.aggregate.objects import alignment
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.select.abi import attribute

SPLIT = passed("StructParameter", "%{name} ({bytes} bytes) is taken apart at the entry")
DIRECT = passed("ByvalDirect", "%{name} ({bytes} bytes) is read where it was passed: {why}")
COPIED = passed("ByvalCopied", "%{name} ({bytes} bytes) is copied to local memory: {why}")
HOISTED = passed("ParameterHoisted", "{count} loads of %{name} are done in the entry")
ALIGNED = passed("ByvalAligned", "%{name} is aligned to {align} bytes")
CALLER = passed("ByvalCallerCopy", "the call of {callee} passes a copy of {bytes} bytes")
CODES = (SPLIT, DIRECT, COPIED, HOISTED, ALIGNED, CALLER)
MIN_ALIGN = 4


@attrs.frozen
class Options:
    """opt_byval: also parameters that are passed in memory."""

    opt_byval: bool = False


@attrs.define
class Uses:
    """What is done with a byval parameter. `loads`: with their constant offset, or None."""

    written: str = ""
    dynamic: bool = False
    copied: bool = False
    loads: list[tuple[Instruction, int | None]] = attrs.Factory(list)


def run(module: Module, ctx: Context) -> bool:
    if not ctx.knob("lsa-opt"):
        return False
    byval = ctx.options.opt_byval or ctx.knob("opt-byval")
    changed = False
    if ctx.knob("nvptx-force-min-byval-param-align"):
        changed |= _align_parameters(module, ctx)
    early = ctx.knob("nvptx-early-byval-copy")
    for f in [f for f in module.functions if f.blocks]:
        ctx.function = f
        changed |= _split_values(f, ctx)
        if byval:
            for a in f.arguments:
                if memory_type(a.attributes) is not None and a.has_uses:
                    changed |= _byval(f, a, ctx)
        if early:
            changed |= _copy_for_calls(f, ctx)
    ctx.function = None
    return changed


def memory_type(attributes: tuple[Any, ...]) -> Type | None:
    """The type of the memory that a `byval` parameter stands for."""
    t = attribute(attributes, "byval")
    return t if isinstance(t, Type) else None


# ------------------------------------------------------------- struct values


def _split_values(f: Function, ctx: Context) -> bool:
    changed = False
    for a in f.arguments:
        extracts = [u for u in a.users if u.form.name == "extractvalue"]
        if not is_aggregate(a.type) or not extracts or not leaves(a.type):
            continue
        b = Builder(f.entry, f.entry.first)
        i = b.insert("splitStruct", (a,), aux=(a.type, composite(a.type)))
        names = [f"{a.name or 'arg'}.{k}" for k in range(len(leaves(a.type)))]
        i.set_results([leaf.type for leaf in leaves(a.type)], names)
        results = i.results
        for u in extracts:
            if not is_aggregate(u.type):
                u.replace_with(results[leaf_range(a.type, u.aux)[0]])
        ctx.remark(SPLIT, None, name=a.name or "?", bytes=size_of(a.type))
        changed = True
    return changed


# -------------------------------------------------------------------- byval


def uses_of(p: Value, apart: Instruction | None = None) -> Uses:
    """Walk all that is derived from a pointer, apart from one use."""
    found = Uses()
    work: list[tuple[Value, int | None]] = [(p, 0)]
    while work:
        v, offset = work.pop()
        for u in v.users:
            if u is apart:
                continue
            name = u.form.name
            if name == "getelementptr" and u.operands.count(v) == 1 and u.operands[0] is v:
                parts = split_indices(u)
                exact = parts is not None and not parts[1] and offset is not None
                found.dynamic |= not exact
                work.append((u, offset + parts[0] if exact else None))  # type: ignore[operator,index]
            elif u.form.kind is OpKind.COPY:
                work.append((u, offset))
            elif name == "load" and "atomic" not in u.form.mods:
                found.loads.append((u, offset))
            elif _only_copied(u, v):
                found.copied = True
            else:
                found.written = found.written or _how(u, v)
    return found


def _only_copied(u: Instruction, v: Value) -> bool:
    """Whether a call does no more with an address than to copy from it."""
    if u.operands.count(v) != 1:
        return False
    if copy_kind(u) in ("memcpy", "memmove"):
        return u.operands[1] is v
    return any(u.operands[k] is v for k, _ in byval_arguments(u))


def _how(u: Instruction, v: Value) -> str:
    name = u.form.name
    if copy_kind(u) or u.form.kind is OpKind.ATOMIC or (
        name == "store" and u.operands[0] is not v
    ):
        return "it is written"
    if name == "call":
        callee = getattr(u.aux.callee, "name", "a function")
        return f"its address is passed to {callee}"
    return f"its address is used by {name}"


def _byval(f: Function, a: Argument, ctx: Context) -> bool:
    """Leave one parameter where it is, or copy it."""
    t = memory_type(a.attributes)
    assert t is not None
    uses = uses_of(a)
    name = a.name or "?"
    reason = _needs_copy(f, uses, ctx)
    if reason:
        if _is_copied(a):
            return False
        _local_copy(f, a, t)
        ctx.remark(COPIED, None, name=name, bytes=size_of(t), why=reason)
        ctx.count("copied")
        return True
    ctx.remark(DIRECT, None, name=name, bytes=size_of(t), why="it is only read")
    return _hoist(f, a, t, uses, ctx) if ctx.knob("hoist-load-param") else False


def _needs_copy(f: Function, uses: Uses, ctx: Context) -> str:
    if uses.written or f.is_kernel:
        return uses.written
    if uses.dynamic:
        return "it is read at an index that is not constant"
    always = ctx.knob("devicefn-param-always-local")
    if always and not ctx.knob("lower-read-only-devicefn-byval"):
        return "parameters of device functions are local memory"
    return ""


def _is_copied(a: Argument) -> bool:
    """Whether all that is done with it is the copy that this pass makes."""
    return all(copy_kind(u) == "memcpy" and u.operands[0] is not a for u in a.users)


def _local_copy(f: Function, a: Argument, t: Type) -> None:
    align = max(int(attribute(a.attributes, "align") or 0), align_of(t))
    b = Builder(f.entry, f.entry.first)
    own: Value = b.alloca(t, 1, f"{a.name or 'byval'}.local", align)
    if own.type is not a.type:
        own = b.addrspacecast(own, a.type)
    a.replace_all_uses_with(own)
    given = int(attribute(a.attributes, "align") or 0) or align_of(t)
    copy_memory(b, own, a, size_of(t), align, given)


def copy_memory(b: Builder, to: Value, source: Value, size: int, *aligns: int) -> None:
    """A memcpy at the builder's place."""
    assert isinstance(to.type, PointerType)
    assert isinstance(source.type, PointerType)
    assert b.module is not None
    name = f"llvm.memcpy.p{to.type.space}.p{source.type.space}.i64"
    callee = declare(b.module, name, VOID, [to.type, source.type, I64, I1])
    info = NvvmCall(4, callee=callee, arguments=(*((("align", n),) for n in aligns), (), ()))
    b.insert("call", (to, source, const(I64, size), const(I1, 0)), aux=info)


def _hoist(f: Function, a: Argument, t: Type, uses: Uses, ctx: Context) -> bool:
    """Do the loads at constant places once, at the head of the entry."""
    b = Builder(f.entry, f.entry.first)
    made: dict[tuple[int, Type], Instruction] = {}
    replaced: dict[Value, Value] = {}
    base = int(attribute(a.attributes, "align") or 0) or align_of(t)
    for i, offset in uses.loads:
        if offset is None or i.form.volatile or is_aggregate(i.type):
            continue
        if not 0 <= offset <= size_of(t) - size_of(i.type):
            continue  # out of its memory: undefined where it runs, so it must not run more often
        key = (offset, i.type)
        if key not in made:
            p = b.gep(a, [const(I64, offset)], I8, name="ptr") if offset else a
            low = base | offset
            made[key] = b.load(p, i.type, i.name or "", low & -low)
        replaced[i] = made[key]
    if not replaced:
        return False
    substitute(replaced)
    for v in replaced:
        assert isinstance(v, Instruction)
        v.erase()
    ctx.remark(HOISTED, None, name=a.name or "?", count=len(replaced))
    return True


# ------------------------------------------------------------ calls, alignment


def byval_arguments(i: Instruction) -> list[tuple[int, Type]]:
    """(position among the operands, type) of what a call passes in memory."""
    info = i.aux
    if not isinstance(info, CallInfo) or isinstance(info.callee, InlineAsm) or copy_kind(i):
        return []
    first = 0 if info.callee is not None else 1
    params = info.callee.arguments if isinstance(info.callee, Function) else []
    said = info.arguments if isinstance(info, NvvmCall) else ()
    out = []
    for k in range(len(i.operands) - first):
        t = memory_type(said[k]) if k < len(said) else None
        if t is None and k < len(params):
            t = memory_type(params[k].attributes)
        if t is not None:
            out.append((k + first, t))
    return out


def _copy_for_calls(f: Function, ctx: Context) -> bool:
    """Calls pass copies of their own."""
    changed = False
    for i in list(f.instructions()):
        if i.form.is_call:
            for k, t in byval_arguments(i):
                changed |= _pass_copy(f, i, k, t, align_of(t), ctx)
    return changed


def _pass_copy(f: Function, i: Instruction, k: int, t: Type, align: int, ctx: Context) -> bool:
    """Replace operand k by a copy, unless it is one of these already."""
    v = i.operands[k]
    if isinstance(v, Instruction) and v.form.name == "alloca" and v.name == "byval.copy":
        return False
    assert i.block is not None
    own: Value = Builder(f.entry, f.entry.first).alloca(t, 1, "byval.copy", align)
    b = Builder(i.block, i)
    b.loc = i.loc
    if own.type is not v.type:
        own = b.addrspacecast(own, v.type)
    given = alignment(v, 1)
    copy_memory(b, own, v, size_of(t), align, given)
    i.set_operand(k, own)
    callee = getattr(i.aux.callee, "name", None)
    ctx.remark(CALLER, i, callee=f"@{callee}" if callee else "a pointer", bytes=size_of(t))
    return True


def _align_parameters(module: Module, ctx: Context) -> bool:
    """byval parameters of less than 4 bytes alignment get that; calls pass memory that has it."""
    changed = False
    for f in module.functions:
        ctx.function = f
        for a in f.arguments:
            t = memory_type(a.attributes)
            if t is not None and _raised(a.attributes, t) is not a.attributes:
                a.attributes = _raised(a.attributes, t)
                ctx.remark(ALIGNED, None, name=a.name or "?", align=MIN_ALIGN)
                changed = True
        for i in list(f.instructions()):
            if i.form.is_call:
                for k, t in byval_arguments(i):
                    changed |= _align_argument(f, i, k, t, ctx)
    return changed


def _raised(attributes: tuple[Any, ...], t: Type) -> tuple[Any, ...]:
    """The attributes with the least alignment, where they say or imply less."""
    given = int(attribute(attributes, "align") or 0) or align_of(t)
    if given >= MIN_ALIGN:
        return attributes
    kept = [a for a in attributes if not (isinstance(a, tuple) and a and a[0] == "align")]
    return (*kept, ("align", MIN_ALIGN))


def _align_argument(f: Function, i: Instruction, k: int, t: Type, ctx: Context) -> bool:
    info = i.aux
    first = 0 if info.callee is not None else 1
    n = k - first
    said = list(info.arguments) if isinstance(info, NvvmCall) else []
    said += [()] * (len(i.operands) - first - len(said))
    full = said[n] if memory_type(said[n]) is not None else (*said[n], ("byval", t))
    raised = _raised(full, t)
    if raised is full:
        return False
    if alignment(i.operands[k], 1) < MIN_ALIGN:
        _pass_copy(f, i, k, t, MIN_ALIGN, ctx)
    said[n] = raised
    if isinstance(info, NvvmCall):
        i.aux = attrs.evolve(info, arguments=tuple(said))
    else:
        i.aux = NvvmCall(info.n_sources, info.guard_index, info.ties, info.callee,
                         info.return_params, info.prototype, arguments=tuple(said))
    return True


