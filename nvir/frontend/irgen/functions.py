"""Functions: the skeleton in its ten steps, the prolog, the end.

    1 type through its typedefs   2 metadata    3 section     4 block `entry`   5 `allocapt`
    6 block `return`, detached    7 `retval`    8 its alignment   9 insertion state   10 prolog

then the body, the return block appended last, unreachable blocks and the marker removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.abi import ABI, SRET, Kind, Passing
from nvir.frontend.irgen.alloca import insert_marker, remove_marker
from nvir.frontend.irgen.metadata import debug_type, setup_function_metadata
from nvir.frontend.irgen.places import at_pointer, copy
from nvir.frontend.irgen.state import IRGenError, IRGenState, LValue, Refused
from nvir.frontend.irgen.statements import emit_block
from nvir.frontend.tree.declarations import Function, Parameter
from nvir.frontend.tree.layout import align_of
from nvir.frontend.tree.types import is_aggregate, is_void, is_volatile, strip
from nvir.ir import VOID, Argument, Block, successors
from nvir.ir.function import Function as IRFunction
from nvir.ir.nvvm_values import DEBUG_DECLARE, Node
from nvir.ir.text.trace import Brief, is_traced, note, within

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import ModuleState


def emit_function(
    shared: ModuleState, decl: Function, function: IRFunction, abi: ABI
) -> IRGenState:
    """Generate the body of a declared function; its state is returned, for those who look."""
    assert decl.body is not None
    g = IRGenState(shared, decl, function)
    within(str(function.name))
    _skeleton(g, decl, function, abi)
    emit_prolog(g, decl, function, abi)
    _did(g, decl, "prolog", f"{len(decl.params)} parameters")
    emit_block(g, decl.body)
    _end(g, abi)
    return g


def _skeleton(g: IRGenState, decl: Function, function: IRFunction, abi: ABI) -> None:
    result = strip(decl.type.result)
    _did(g, decl, "type", result)
    setup_function_metadata(g.shared, decl, function)
    _did(g, decl, "metadata", "a kernel" if decl.attributes.kernel else "a function")
    if decl.attributes.section:
        function.aux = {**(function.aux or {}), "section": decl.attributes.section}
    _did(g, decl, "section", decl.attributes.section or "none", "FN-07")
    g.at(decl.place)
    _did(g, decl, "entry", function.entry, "FN-02")  # made with the state, as its builder
    insert_marker(g)
    _did(g, decl, "allocapt", "first in entry", "FN-03")
    g.return_block = g.new_block("return")
    _did(g, decl, "return", g.return_block)
    if is_void(result):
        g.retval = None
    elif abi.sret and is_aggregate(result):
        g.retval = at_pointer(function.arguments[0], decl.result)
    else:
        g.retval = g.alloca(decl.result, "retval")
    slot = "the first argument" if abi.sret else "none" if g.retval is None else g.retval.pointer
    note("FN-05", "return slot", slot, result=result, sret=abi.sret)
    _did(g, decl, "retval", slot)
    g.return_align = 0 if is_void(result) else align_of(result)
    _did(g, decl, "alignment", g.return_align, "FN-06")
    _did(g, decl, "insertion", g.builder.block)  # in entry still: allocas stand at the marker


def _did(g: IRGenState, decl: Function, name: str, outcome: object, row: str = "FN-01") -> None:
    """Note one of the ten steps of a function, by its own row where it has one."""
    g.trace.append(name)
    note(row, f"{len(g.trace)} {name}", outcome, function=decl.name)


# ---------------------------------------------------------------------- prolog

MISMATCH = "Argument mismatch in generation function prolog!"


def emit_prolog(g: IRGenState, decl: Function, function: IRFunction, abi: ABI) -> None:
    """Walk parameters, IR arguments and their passing in step; give each parameter a place."""
    arguments = function.arguments
    cursor = 0
    if abi.sret:
        arguments[0].name = "agg.result"
        note("FN-11", "struct return", "the first argument is agg.result", sret=abi.sret)
        cursor = 1
    wanted = cursor + len(decl.params)
    if len(arguments) != wanted or len(abi.params) != len(decl.params):
        note("FN-10", "prolog", f"refused: {MISMATCH}", arguments=len(arguments), wanted=wanted)
        raise Refused(MISMATCH, decl.place)
    for p, passing in zip(decl.params, abi.params, strict=True):
        argument = arguments[cursor]
        argument.name = parameter_name(p)
        if p.this or not p.name:
            note("FN-20", "name", argument.name, this=p.this)
        note("FN-09", "prolog", Brief(
            f"{passing.kind.name} argument {cursor} of {argument.type}",
            {"kind": passing.kind, "argument": cursor, "type": str(argument.type)},
        ), parameter=argument.name, index=cursor + 1 - abi.sret)
        _parameter(g, p, argument, passing)
        cursor += 1


def parameter_name(p: Parameter) -> str:
    return "this" if p.this else p.name or "temp_param"


def _parameter(g: IRGenState, p: Parameter, argument: Argument, passing: Passing) -> None:
    aggregate = is_aggregate(p.type)
    g.at(p.place)
    if passing.kind in (Kind.INDIRECT, SRET) and not aggregate:
        message = "Non-aggregate arguments passed indirectly are not supported!"
        raise Refused(message, p.place)
    if passing.kind is Kind.COERCE:
        how = "tmp, stored as the other type" if aggregate else "a bitcast"
        note("FN-15", "variant 3, of another type", how, parameter=parameter_name(p),
             to=argument.type)
        _coerced(g, p, argument)
    elif passing.kind is Kind.BYVAL and passing.byval and p.name in g.options.byval_demotion:
        tmp = g.alloca(p.type, "tmp")
        copy(g, tmp, at_pointer(argument, p.type))
        tmp.pointer.name = f"__val_param{p.name}"
        note("FN-13", "variant 2, byval demoted", tmp.pointer.name, parameter=parameter_name(p))
        emit_param_decl(g, p, tmp)
    elif passing.kind in (Kind.INDIRECT, Kind.BYVAL):
        # the object is there already; its address is the parameter's place
        byval = passing.kind is Kind.BYVAL
        note("FN-14" if byval else "FN-12", f"variant {passing.kind:d}, by address",
             "its address is its place", parameter=parameter_name(p))
        emit_param_decl(g, p, at_pointer(argument, p.type))
    else:
        note("FN-12", "variant 0, by value", f"stored at {parameter_name(p)}.addr",
             parameter=parameter_name(p))
        _direct(g, p, argument)


def _direct(g: IRGenState, p: Parameter, argument: Argument) -> None:
    """`<param>.addr`: the incoming value stored where the parameter lives."""
    place = g.alloca(p.type, f"{parameter_name(p)}.addr", p.align)
    g.builder.store(argument, place.pointer, place.align)
    emit_param_decl(g, p, place)


def _coerced(g: IRGenState, p: Parameter, argument: Argument) -> None:
    """A value of another type of the parameter's size: put down as that, read as the other."""
    if is_aggregate(p.type):
        tmp = g.alloca(p.type, "tmp")
        g.builder.store(argument, tmp.pointer, tmp.align)
        emit_param_decl(g, p, tmp)
        return
    place = g.alloca(p.type, f"{parameter_name(p)}.addr", p.align)
    value = fold.cast(g, "bitcast", argument, g.types.memory(p.type), "coerce")
    g.builder.store(value, place.pointer, place.align)
    emit_param_decl(g, p, place)


def emit_param_decl(g: IRGenState, p: Parameter, place: LValue) -> None:
    """Register where a parameter lives, and say so to a debugger if that is asked for."""
    volatile = is_volatile(p.type)
    note("FN-16", "EmitParamDecl", place.pointer, parameter=parameter_name(p))
    g.declare(p, LValue(place.pointer, p.type, place.align, volatile))
    asked, placed = g.options.param_debug_info, g.builder.loc is not None
    note("FN-19", "declare", asked and placed, parameter=parameter_name(p),
         number=g.decl.params.index(p) + 1, param_debug_info=asked, lines=placed)
    if asked and placed:
        what = Node((parameter_name(p), g.decl.params.index(p) + 1, *debug_type(p.type)))
        g.call_intrinsic(DEBUG_DECLARE, VOID, [place.pointer, what, Node(())])


# ------------------------------------------------------------------------- end


def _end(g: IRGenState, abi: ABI) -> None:
    """Fall through to the return block, append it, and tidy up."""
    assert g.return_block is not None
    g.branch(g.return_block)
    g.start(g.return_block)
    note("FN-02", "appended last", g.return_block, first=g.function.entry)
    if g.retval is None or abi.sret:
        g.builder.ret_void()
    else:  # as it lies in memory, in the type that it travels as
        slot, result = g.retval, g.function.return_type
        g.builder.ret(g.builder.load(slot.pointer, result, "", slot.align, slot.volatile))
    placed = set(g.function.blocks)
    missing = next((n for n, b in g.labels.items() if b not in placed), None)
    if missing is not None:
        raise IRGenError(f"use of undeclared label '{missing}'", g.decl.place)
    remove_unreachable(g.function)
    remove_marker(g)
    if is_traced():
        ways = sum(g.return_block in successors(b) for b in g.function.blocks)
        how = "ret" if g.retval is None or abi.sret else "load and ret"
        note("FN-08", "return block", how if ways else "left out: nothing leads to it", edges=ways)


def remove_unreachable(function: IRFunction) -> None:
    """Delete the blocks that nothing leads to, and their entries in phis."""
    reached: set[Block] = set()
    work = [function.entry]
    while work:
        b = work.pop()
        if b in reached:
            continue
        reached.add(b)
        work.extend(s for s in successors(b) if s not in reached)
    dead = [b for b in function.blocks if b not in reached]
    if not dead:
        return
    note("FN-22", "blocks that nothing leads to", "removed", blocks=dead)
    for b in dead:
        for s in successors(b):
            if s in reached:
                _drop_phi_entries(s, b)
    for b in dead:
        for i in b:
            i.set_operands(())
    function.blocks[:] = [b for b in function.blocks if b in reached]
    for b in dead:
        function._names.discard(b.name)
    function.cfg_changed()


def _drop_phi_entries(block: Block, source: Block) -> None:
    for phi in block.phis:
        kept = [(v, b) for v, b in phi.incoming if b is not source]
        phi.set_incoming([v for v, _ in kept], [b for _, b in kept])
