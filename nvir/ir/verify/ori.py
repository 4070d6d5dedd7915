"""What the verifier asks of instructions of `ori`: layout, register classes, guards, ties, carry.

Classes are checked as ptxas does. Registers must have the width of the type,
whatever its kind; those of `ld`, `st` and `cvt` may be wider. Literals fit every class,
and symbols may be taken at any width. Which type a source has says the row's signature
(`nvir.ir.opcodes`); matrix fragments, coordinates of textures and the like are not checked.

Source: PTX ISA 9.0, "Operand Size Exceeding Instruction-Type Size" and the
instructions' own pages; held to what ptxas accepts by the corpus of tests/.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from nvir.ir.block import Block
from nvir.ir.cfg import successors
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Loose
from nvir.ir.opcodes import TIED, UNKNOWN
from nvir.ir.opcodes.form import count_problem, misfit_operands
from nvir.ir.symbols import Variable
from nvir.ir.types import CC, IMM, PRED, ScalarType, Type
from nvir.ir.values import Argument, Constant, Undef, Value, same_class

if TYPE_CHECKING:
    from nvir.ir.verify import FunctionCheck

def check_instruction(check: FunctionCheck, i: Instruction) -> bool:
    """Fail, or tell whether the form and the types alone were what decided."""
    form = i.form
    if form.carry_in or form.carry_out:
        check.carries = True
    if form.name == "ret":
        _check_return(check, i)
        return False
    if form.is_call or form.op is UNKNOWN:
        _check_loose(check, i)
        return False
    problem = layout_problem(i) or class_problem(i)
    if problem is not None:
        check.fail(problem, i)
    if form.op.async_until and any(o.role == TIED for o in form.op.operands):
        _check_in_flight(check, i)
        return False
    return not (form.carry_in or form.carry_out or form.terminator or _is_lenient(i))


# ------------------------------------------------------------ one instruction


def layout_problem(i: Instruction) -> str | None:
    """What is wrong with the number of operands and results, guard, fallbacks, ties, or None."""
    f, operands, results = i.form, i._operands, i.results
    lacking = misfit_operands(f) or count_problem(f)
    if lacking is not None:
        return lacking
    if len(operands) != f.n_operands:
        return f"{f.spelling} has {len(operands)} operands, its form {f.n_operands}"
    if len(results) != f.n_results:
        return f"{f.spelling} has {len(results)} results, its form {f.n_results}"
    if f.guard_index >= 0 and operands[f.guard_index].type is not PRED:
        return f"the guard is of type {operands[f.guard_index].type}"
    for r, o in f.ties:
        if not same_class(operands[o].type, results[r].type):
            what = "fallback" if 0 <= f.guard_index < o else "tied operand"
            return (
                f"{what} {operands[o].name} is of type {operands[o].type}, "
                f"its result {results[r].type}"
            )
    if f.carry_in:
        carry = operands[f.n_sources + sum(o.role == TIED for o in f.op.operands)]
        if carry.type is not CC:
            return f"the carry is of type {carry.type}"
    return None


def class_problem(
    i: Instruction, narrow: bool = False, passed: Collection[int] = ()
) -> str | None:
    """What is wrong with the register classes of results and written sources, or None; with
    `narrow` an address may have 8 or 16 bits, as the assembler takes it. Slots in `passed` (a
    result's number, ~ a source's) are not looked at."""
    f = i.form
    for k, (r, made) in enumerate(zip(i.results, f.result_types, strict=True)):
        if k not in passed and not _result_fits(r.type, made, f.op.relaxed):
            return f"{r.name or 'a result'} is of type {r.type}, {f.spelling} makes {made}"
    for base, offset in f.addresses:
        if offset >= 0 and not (isinstance(v := i._operands[offset], Constant) and v.type is IMM):
            added = getattr(v, "name", None) or "a symbol"
            return f"{added} is added to an address, which takes a whole number only"
        widths = (8, 16, 32, 64) if narrow else (32, 64)
        if i._operands[base].type.bits not in widths and _in_register(i._operands[base]):
            return f"the address {i._operands[base].name} is of type {i._operands[base].type}"
    for k, (v, wanted) in enumerate(zip(i._operands, f.source_types, strict=False)):
        odd = isinstance(v.type, ScalarType) and ~k not in passed and not _source_fits(
            v.type, wanted, f.op.relaxed)
        if wanted and odd and _in_register(v):
            names = " or ".join(sorted({t.name for t in wanted}))
            name = "a register that nothing writes" if isinstance(v, Undef) else v.name
            return f"{name} is of type {v.type}, {f.spelling} takes {names}"
    return None


def _is_lenient(i: Instruction) -> bool:
    """Whether a source is right only because it is no register: the address of a variable. No
    register is of a literal's type, so literals decide by their types."""
    wanted = i.form.source_types
    return any(
        w and not _in_register(v) and isinstance(v.type, ScalarType) and v.type is not IMM
        and not _source_fits(v.type, w, i.form.op.relaxed)
        for v, w in zip(i._operands, wanted, strict=False)
    )


def _in_register(v: Value) -> bool:
    return v.is_tracked or isinstance(v, Undef)


def _source_fits(type: Type, wanted: tuple[ScalarType, ...], wider: bool) -> bool:
    if not isinstance(type, ScalarType):
        return False
    return any(
        type.cls is t.cls or (wider and type.bits > t.bits and PRED not in (type, t))
        for t in wanted
    )


def _result_fits(type: Type, wanted: ScalarType, wider: bool) -> bool:
    if not isinstance(type, ScalarType):
        return False
    if type.cls is wanted.cls:
        return True
    special = (PRED, CC)
    return wider and type.bits > wanted.bits and type not in special and wanted not in special


# --------------------------------------------------------- calls and returns


def _check_return(check: FunctionCheck, i: Instruction) -> None:
    """`ret` has an operand for each result that the function returns in a register."""
    returns = [r for r in check.function.returns if isinstance(r, Argument)]
    n = i.form.n_operands
    values = i._operands[n:]
    if len(values) != len(returns):
        check.fail(f"ret has {len(values)} values, the function returns {len(returns)}", i)
    _check_guard(check, i, i.form.guard_index)
    for v, r in zip(values, returns, strict=True):
        if not same_class(v.type, r.type):
            check.fail(f"{v.name} is of type {v.type}, the function returns {r.type}", i)


def _check_guard(check: FunctionCheck, i: Instruction, index: int) -> None:
    if index >= 0 and i._operands[index].type is not PRED:
        check.fail(f"the guard is of type {i._operands[index].type}", i)


def _check_loose(check: FunctionCheck, i: Instruction) -> None:
    """Calls and unknown mnemonics say themselves how their operands lie."""
    aux = i.aux
    if not isinstance(aux, Loose) or (i.form.is_call and not isinstance(aux, CallInfo)):
        check.fail("calls and unknown mnemonics need their layout as aux", i)
    guarded = i.form.guard is not None
    n, results, operands = aux.n_sources, i.results, i._operands
    expected = n + (1 + len(results) if guarded else 0)
    if len(operands) != expected:
        check.fail(f"{len(operands)} operands, its layout has {expected}", i)
    if aux.guard_index != (n if guarded else -1):
        check.fail("the layout names another operand as guard", i)
    _check_guard(check, i, aux.guard_index)
    for r, o in aux.ties:
        if not (0 <= r < len(results) and 0 <= o < len(operands)):
            check.fail("a tie names an operand or result that is not there", i)
        if not same_class(operands[o].type, results[r].type):
            check.fail(
                f"tied operand {operands[o].name} is of type {operands[o].type}, "
                f"its result {results[r].type}", i
            )
    if guarded and {r for r, o in aux.ties if o > n} != set(range(len(results))):
        check.fail("a result has no fallback", i)
    if isinstance(aux, CallInfo):
        _check_call(check, i, aux)


def _check_call(check: FunctionCheck, i: Instruction, info: CallInfo) -> None:
    for p in info.return_params:
        check.in_sight(p, i)  # type: ignore[arg-type]  # they are variables
    for v in (*info.return_params, *i.sources):
        if isinstance(v, Variable) and (v.space != "param" or v not in check.own):
            check.fail(f"{v.name} is passed, and is no .param variable of the function", i)
    callee = info.callee
    if callee is None:
        if not i.sources:
            check.fail("an indirect call has no address", i)
        if info.prototype is not None and info.prototype not in check.function.prototypes:
            check.fail(f"the function has no prototype {info.prototype}", i)
        return
    if not isinstance(callee, Function):
        check.fail(f"{getattr(callee, 'name', callee)} is called, and is no function", i)
    check.in_sight(callee, i)
    problem = call_problem(i, info, may_drop=True)
    if problem is not None:
        check.fail(problem, i)


def call_problem(i: Instruction, info: CallInfo, may_drop: bool = False) -> str | None:
    """What does not fit the parameters and results of the function that is called by name, or
    None; with `may_drop` none of the results need be taken."""
    callee, given = info.callee, (*i.results, *info.return_params)
    if not isinstance(callee, Function):
        return None
    passed, taken, made = len(i.sources), len(callee.params), len(callee.returns)
    if passed != taken:
        return f"the call passes {passed} arguments, {callee.name} takes {taken}"
    if len(given) != made and (given or not may_drop):
        return f"the call takes {len(given)} results of {made}"
    for v, p in zip((*i.sources, *given), (*callee.params, *callee.returns), strict=False):
        if isinstance(v, Constant | Variable) or not isinstance(p, Argument):
            continue
        if not same_class(v.type, p.type):
            name = "an argument" if isinstance(v, Undef) else v.name
            return f"{name} is of type {v.type}, {callee.name} has {p.type} there"
    return None


# --------------------------------------------------------- carry, asynchrony


def check_carries(check: FunctionCheck) -> None:
    """Each use of a carry must see its definition as the last one on every path: there is one
    carry flag. Forward data flow; a state is the carry that is set, or that paths differ."""
    out: dict[Block, Any] = {}
    work = list(reversed(check.order))
    while work:
        b = work.pop()
        state = _carry_through(check, b, out, report=False)
        if b not in out or out[b] is not state:
            out[b] = state
            work.extend(successors(b))
    for b in check.order:
        _carry_through(check, b, out, report=True)


_PATHS_DIFFER = object()


def _carry_through(
    check: FunctionCheck, block: Block, out: dict[Block, Any], report: bool
) -> Any:
    states = [out[p] for p in check.preds[block] if p in out]
    state = states[0] if states else None
    if any(s is not state for s in states):
        state = _PATHS_DIFFER
    for i in block:
        f = i.form
        if f.carry_in or f.carry_out:
            if report:
                for v in i._operands:
                    if v.type is CC and v.is_tracked and v is not state:
                        check.fail("another carry is set here: live ranges of it overlap", i)
            if f.carry_out:
                state = i.results[-1]
    return state


def _check_in_flight(check: FunctionCheck, start: Instruction) -> None:
    """What `start` reads and writes until its wait has no other use before that.

    A following asynchronous operation may take it over as its own tied operand. A
    wait for all but n groups ends what was committed before these n.
    """
    waits = start.form.op.async_until
    flying = {start.results[r] for r, _ in start.ties}
    flying.update(start._operands[o] for _, o in start.ties if start._operands[o].is_tracked)
    commits = 0
    i = start.next
    while i is not None:
        row = i.form.op
        tied = {o for _, o in i.ties} if row.async_until == waits else frozenset()
        for k, v in enumerate(i._operands):
            if v in flying and k not in tied:
                check.fail(f"{v.name} is in use until {' or '.join(waits)}", i)
        if row.name in waits:
            pending = i._operands[0] if i._operands else None
            if not isinstance(pending, Constant) or pending.value < commits:
                return
        commits += row.name.endswith(".commit_group")
        i = i.next
