"""Copies and fills of memory become loads and stores, struct values scalars.

    call void @llvm.memmove(ptr %d, ptr %s, i64 8, i1 false)     ==>   copies.py
    %v = load {i32, float}, ptr %p                               ==>   split.py

Method   Struct values first, for large ones become memmoves. Then each memcpy, memmove and memset
         gets a plan (plan.py) from what is known of length, alignments and operands, and its code
         (copies.py). Blocks are cut once however many copies they hold.
Needs    nothing; dominators are renewed after it.
Keeps    volatility (each access is volatile, none are merged), source locations.
Leaves   aggregate values at the edges only: parameters and results of calls. Stack memory: mem2reg
         and SROA take it; a remark says why what is left will stay.
Raises   VerifyError where a copy's target is constant memory, however it was cast.
Cost     One visit an instruction; a copy costs what it writes.
Source   the notes' memmove unrolling and struct splitting, with corrections: lengths of zero,
         alignments by offset, remainders in the right order; widths and limits as libnvvm 13.0 has
         them.
"""

from __future__ import annotations

import functools

import attrs

from nvir.analysis.analyses import Analyses
from nvir.ir import Constant, Function, Instruction, Module, Value, VerifyError
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.text.trace import note, step, within
from nvir.ir.types import PointerType, pointer
from nvir.ir.verify.nvvm import TO_CONSTANT
from nvir.passes.aggregate import func_args, split, stack
from nvir.passes.aggregate.copies import Request, lower
from nvir.passes.aggregate.cutting import Cut
from nvir.passes.aggregate.objects import (
    address_space,
    alignment,
    order,
    place,
    raise_alignment,
)
from nvir.passes.aggregate.plan import CopyLimits, CopyPlan, make_plan
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.select.abi import attribute
from nvir.passes.select.spaces import CONST

LOWERED = passed(
    "CopyLowered",
    "{kind} of {bytes} bytes: {count} elements of {unit} and a rest of {rest}, {form}, "
    "{paths}: {why}",
)
CODES = (LOWERED, *split.CODES, *func_args.CODES, *stack.CODES)
KINDS = ("memcpy", "memmove", "memset")


@attrs.frozen
class Options:
    """lower_aggr_func_args: also struct parameters of functions that only this module calls.
    plain_names: a period in place of the comma that the real tool has in a name.
    wide: policy documented: elements as wide as the alignment allows (v4.b32 for 16 bytes).
    forward: policy documented: memcpy goes forward alone, as its operands do not overlap.
    held: policy observed: what a few registers hold is read whole, then written, in one direction.
    """

    lower_aggr_func_args: bool = False
    plain_names: bool = False
    wide: bool = False
    forward: bool = False
    held: bool = False


def limits(ctx: Context) -> CopyLimits:
    notes = ctx.policy == "documented"
    return CopyLimits(
        unroll=min(
            ctx.knob("memmove-unroll-threshold"), ctx.knob("lower-aggr-unrolled-stores-limit")
        ),
        bytewise=notes,
        forward_memcpy=not notes or ctx.options.forward,
        params_are_local=ctx.knob("devicefn-param-always-local"),
        wide=ctx.options.wide,
        held=ctx.options.held,
    )


def split_limits(ctx: Context) -> split.SplitLimits:
    return split.SplitLimits(
        copy_bytes=ctx.knob("max-aggr-copy-size"),
        store_elements=ctx.knob("large-aggr-store-limit"),
        unchecked=ctx.knob("skiploweraggcopysafechk"),
        padding=ctx.policy != "documented",
    )


def run(module: Module, ctx: Context) -> bool:
    what = limits(ctx)
    values = split_limits(ctx)
    changed = False
    arguments = ctx.options.lower_aggr_func_args or ctx.knob("lower-aggr-func-args")
    note("MEM-02", "pass", "structs, then copies", index=417, lower_aggr_func_args=arguments)
    if arguments:
        changed = func_args.flatten_parameters(module, ctx)
    for f in list(module.functions):
        if f.blocks:
            ctx.function = f
            within(str(f.name))
            changed |= split.split_values(f, values, ctx)
            changed |= lower_copies(f, what, ctx)
            stack.tell(f, ctx)
    ctx.function = None
    if changed:
        drop_unused(module)
    return changed


def copy_kind(i: Instruction) -> str:
    """"memcpy", "memmove" or "memset" for a call of that intrinsic, else ""."""
    callee = getattr(i.aux, "callee", None) if i.form.is_call else None
    if not isinstance(callee, Function):
        return ""
    return _kind_named(str(callee.name))


@functools.cache
def _kind_named(name: str) -> str:
    match name.split("."):
        case ["llvm", kind, form, *_] if kind in KINDS and form != "element":
            return kind
    return ""


@step("MEM-01", "copies", "f")
def lower_copies(f: Function, what: CopyLimits, ctx: Context) -> bool:
    """All copies and fills of a function; False where there is none."""
    if "call" not in Analyses.of(f).rows:
        return False
    blocks = []
    found = False
    for block in f.blocks:
        first = next((i for i in block if i.form.is_call and copy_kind(i)), None)
        if first is None:
            blocks.append(block)
            continue
        found = True
        cut = Cut(block, first)
        for i in cut.rest:
            kind = copy_kind(i)
            if kind:
                _one(cut, i, kind, what, ctx)
            else:
                cut.keep(i)
        cut.close()
        blocks += cut.placed
    if found:
        f.blocks = blocks
    return found


def _one(cut: Cut, i: Instruction, kind: str, what: CopyLimits, ctx: Context) -> None:
    to, second, length, flag = i.operands
    size = None
    if isinstance(length, Constant):
        size = int(length.value or 0) & ((1 << length.type.bits) - 1)  # lengths have no sign
    if address_space(to, what.params_are_local) == CONST:
        name, text = str(cut.block.function.name), str(i).strip()
        note("MEM-21", "target", f"refused: {TO_CONSTANT}", kind=kind)
        raise VerifyError(TO_CONSTANT, name, text)
    fill = kind == "memset"
    if not what.bytewise:
        for p in (to,) if fill else (to, second):
            raise_alignment(p)
    to_align, source_align = _alignment(i, 0), _alignment(i, 0 if fill else 1)
    how = "disjoint" if fill else order(to, second, size, what.params_are_local)
    b = Builder(cut.here)
    b.loc = i.loc
    request = Request(
        kind,
        _qualified(b, to) if size != 0 else to,
        None if fill else _qualified(b, second) if size != 0 else second,
        second if fill else None,
        length, to_align, source_align,
        not (isinstance(flag, Constant) and not flag.value),
        "memmove" if what.bytewise and not fill else kind,
        not ctx.options.plain_names,
    )
    note("MEM-06", "spaces", f"{request.to.type} from " + (
        str(request.source.type) if request.source else "a byte"), volatile=request.volatile)
    plan = make_plan(kind, size, min(to_align, source_align), how, what)
    _tell(ctx, i, kind, plan)
    lower(cut, request, plan, i.loc)
    i.erase()
    note("MEM-18", "cleanup", f"{kind} erased, no use of it is left", kind=kind)


def _alignment(i: Instruction, k: int) -> int:
    """Of operand k: what the call, the declaration and its object say."""
    said = 1
    if isinstance(i.aux, NvvmCall) and k < len(i.aux.arguments):
        said = int(attribute(i.aux.arguments[k], "align") or 1)
    return alignment(i.operands[k], said)


def _qualified(b: Builder, p: Value) -> Value:
    """The same address in the space that its object surely lies in."""
    assert isinstance(p.type, PointerType)
    space = place(p).space
    if space in (0, p.type.space):
        return p
    if isinstance(p, Instruction) and p.form.name == "addrspacecast":
        return p.operands[0]
    return b.addrspacecast(p, pointer(space))


def _tell(ctx: Context, i: Instruction, kind: str, plan: CopyPlan) -> None:
    ctx.count(kind)
    known = plan.size is not None
    ctx.remark(
        LOWERED, i,
        kind=kind,
        bytes=plan.size if known else "a number of",
        count=plan.count if known else "all whole",
        unit="1 byte" if plan.unit == 1 else f"{plan.unit} bytes",
        rest=sum(n for _, n in plan.tail) if known else f"less than {plan.unit}",
        form=plan.form,
        paths="both directions" if plan.paths == "both" else plan.paths,
        why=plan.why,
    )


def drop_unused(module: Module) -> None:
    """Declarations of copying intrinsics that nobody calls any more."""
    called = {
        getattr(i.aux, "callee", None)
        for f in module.functions for i in f.instructions() if i.form.is_call
    }
    dead = {
        f for f in module.functions
        if f.is_declaration and f not in called
        and str(f.name).startswith(tuple(f"llvm.{k}." for k in KINDS))
    }
    if dead:
        module.functions[:] = [f for f in module.functions if f not in dead]
        module.order[:] = [x for x in module.order if x not in dead]
