"""What the verifier asks of instructions of `nvvm`: exact types, and no store to constant memory.

There is no implicit conversion at this level: the operands of an instruction
have the very types that it says, as in LLVM. Vectors work by element.

Source: LLVM Language Reference; address spaces as in NVVM IR.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from nvir.ir import types as ty
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction
from nvir.ir.layout import fields
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.opcodes import NVVM, Op, OpKind
from nvir.ir.opcodes.form import Form, load_rows
from nvir.ir.opcodes.nvvm import FLOAT_TESTS, INT_TESTS
from nvir.ir.values import Argument, Constant, Value

if TYPE_CHECKING:
    from nvir.ir.verify import FunctionCheck

CONSTANT_SPACE = 4


def check_instruction(check: FunctionCheck, i: Instruction) -> bool:
    """Fail, or tell whether the form and the types alone were what decided."""
    wrong, forms_alone = problem(i, check.function)
    if wrong:
        check.fail(wrong, i)
    return forms_alone


def problem(i: Instruction, function: Function) -> tuple[str | None, bool]:
    """What is wrong with an instruction of a function, or None; and whether its form and types
    alone decided that. The reader of LLVM text asks this for each line."""
    rule = _RULES.get(i.form.name)
    if rule is None:
        return f"no rule for row {i.form.name}", False
    forms_alone = i.aux is None and not i.form.terminator
    return _count_problem(i) or rule(i, function), forms_alone


def _count_problem(i: Instruction) -> str | None:
    row = i.form.op
    least, most = _counts(i.form)
    if not least <= len(i._operands) <= most:
        return f"{row.name} has {len(i._operands)} operands, its row {least}"
    if row.name == "splitStruct":
        return None  # its rule counts the results
    if i._results is not None:
        return "an instruction of nvvm has at most one result"
    if not row.is_call and (i.type is not ty.VOID) != (i.form.n_results == 1):
        return f"{row.name} has {'a' if i.type is not ty.VOID else 'no'} result"
    return None


@functools.cache
def _counts(form: Form) -> tuple[int, float]:
    """How many operands a row takes at least and at most."""
    sources = [o for o in form.op.operands if o.role != "def"]
    least = sum(not (o.optional or o.variadic) for o in sources)
    return least, math.inf if any(o.variadic for o in sources) else len(sources)


# ------------------------------------------------------------------- types


def element(t: ty.Type) -> ty.Type:
    """The type that an operation on `t` works on: that of a vector's elements, else `t`."""
    return t.element if isinstance(t, ty.VectorType) else t


def _lanes(t: ty.Type) -> int:
    return t.count if isinstance(t, ty.VectorType) else 0


def _is_int(t: ty.Type) -> bool:
    return isinstance(element(t), ty.IntType)


def _is_float(t: ty.Type) -> bool:
    return isinstance(element(t), ty.FloatType)


def _is_pointer(t: ty.Type) -> bool:
    return isinstance(element(t), ty.PointerType)


def _differ(*types: ty.Type) -> str | None:
    """A complaint unless all the types are one."""
    if any(t is not types[0] for t in types):
        return f"types differ: {', '.join(dict.fromkeys(t.name for t in types))}"
    return None


def member(aggregate: ty.Type, path: object) -> ty.Type | None:
    """The type of the member of a struct or array that a tuple of indices leads to, or None."""
    t: ty.Type | None = aggregate
    for k in path if isinstance(path, tuple) else (None,):
        if not isinstance(k, int):
            return None
        if isinstance(t, ty.ArrayType) and 0 <= k < t.count:
            t = t.element
        elif isinstance(t, ty.StructType) and t.elements is not None and 0 <= k < len(t.elements):
            t = t.elements[k]
        else:
            return None
    return t


# -------------------------------------------------------------------- rules

Rule = Callable[[Instruction, Function], "str | None"]


def _all_same(of: Callable[[ty.Type], bool], what: str) -> Rule:
    def rule(i: Instruction, f: Function) -> str | None:
        if not of(i.type):
            return f"{i.form.name} is for {what}, not {i.type}"
        return _differ(i.type, *(v.type for v in i._operands))

    return rule


def _compare(of: Callable[[ty.Type], bool], what: str, tests: Collection[str]) -> Rule:
    def rule(i: Instruction, f: Function) -> str | None:
        a, b = i._operands
        if not i.form.mods or i.form.mods[0] not in tests:
            return f"{i.form.name} begins with its test: one of {', '.join(sorted(tests))}"
        if not of(a.type):
            return f"{i.form.name} is for {what}, not {a.type}"
        if element(i.type) is not ty.I1 or _lanes(i.type) != _lanes(a.type):
            return f"{i.form.name} of {a.type} gives {i.type}"
        return _differ(a.type, b.type)

    return rule


def _cast(
    source: Callable[[ty.Type], bool], target: Callable[[ty.Type], bool], order: int = 0
) -> Callable[[ty.Type, ty.Type], bool]:
    """Which conversions a row makes. `order`: 1 to more bits, -1 to fewer, 0 whatever."""

    def right(a: ty.Type, b: ty.Type) -> bool:
        bits = element(b).bits - element(a).bits
        return source(a) and target(b) and _lanes(a) == _lanes(b) and bits * order >= abs(order)

    return right


def _bitcast(a: ty.Type, b: ty.Type) -> bool:
    spaces = {getattr(element(t), "space", None) for t in (a, b)}
    return bool(a.bits) and a.bits == b.bits and len(spaces) == 1


def _address_space(a: ty.Type, b: ty.Type) -> bool:
    return _is_pointer(a) and _is_pointer(b) and element(a) is not element(b) and (
        _lanes(a) == _lanes(b))


def cast_problem(row: str, source: ty.Type, target: ty.Type) -> str | None:
    """Why a row of casts does not make `target` of `source`, or None."""
    return None if CASTS[row](source, target) else f"{row} cannot make {target} of {source}"


def _cast_rule(i: Instruction, f: Function) -> str | None:
    return cast_problem(i.form.name, i._operands[0].type, i.type)


def _pointer_at(index: int, stores: bool) -> Rule:
    def rule(i: Instruction, f: Function) -> str | None:
        p = i._operands[index].type
        if not isinstance(p, ty.PointerType):
            return f"{i.form.name} takes a pointer, not {p}"
        if stores and p.space == CONSTANT_SPACE:
            return f"{i.form.name} writes to address space 4, which is constant"
        words = 0  # before the scope and the alignment
        if i.form.op.kind is OpKind.ATOMIC or "atomic" in i.form.mods:
            words = 1 + (i.form.name == "cmpxchg")
        if words and not (isinstance(i.aux, tuple) and len(i.aux) == words + 2
                          and all(isinstance(x, str) for x in i.aux[:-1])):
            return f"{i.form.name} lacks an ordering, scope or alignment"
        if problem := _alignment_problem(i):
            return problem
        value = i.type if index == 0 else i._operands[0].type
        if not value.bits and not isinstance(value, ty.StructType | ty.ArrayType):
            return f"{i.form.name} of a value of type {value}"
        if i.form.name == "atomicrmw":
            return _differ(i.type, i._operands[1].type) or _operation(i)
        return _atomic_problem(value) if "atomic" in i.form.mods else None

    return rule


def _alignment_problem(i: Instruction) -> str | None:
    """The alignment is the aux of an access, or its last member; 0 and None stand for the type's
    own."""
    n = (i.aux or (None,))[-1] if isinstance(i.aux, tuple) else i.aux
    if n is None or (isinstance(n, int) and n >= 0 and not n & (n - 1)):
        return None
    return f"{i.form.name} has an alignment of {n}, which is no power of two"


def _atomic_problem(t: ty.Type) -> str | None:
    """What one atomic access can move: whole bytes, a power of two of them."""
    if (
        not isinstance(t, ty.IntType | ty.FloatType | ty.PointerType)
        or t.bits < 8
        or t.bits & (t.bits - 1)
    ):
        return f"there is no atomic access to {t}"
    return None


def _operation(i: Instruction) -> str | None:
    if not i.form.mods:
        return "atomicrmw begins with its operation, as 'atomicrmw add'"
    name, t = i.form.mods[0], i.type
    if name == "xchg":
        return _atomic_problem(t)
    if name[0] == "f":
        return None if _is_float(t) else f"atomicrmw {name} is for floats, not {t}"
    if not isinstance(t, ty.IntType):
        return f"atomicrmw {name} is for integers, not {t}"
    return _atomic_problem(t)


def _cmpxchg(i: Instruction, f: Function) -> str | None:
    old = i._operands[1].type
    problem = _pointer_at(0, True)(i, f) or _differ(old, i._operands[2].type)
    problem = problem or _atomic_problem(old)
    if problem is None and isinstance(old, ty.FloatType):
        return f"cmpxchg is for integers and pointers, not {old}"
    t = i.type
    if problem is None and not (isinstance(t, ty.StructType) and t.elements == (old, ty.I1)):
        return f"cmpxchg of {old} gives {t}"
    return problem


def gep_problem(source: ty.Type, operands: tuple[Value, ...]) -> str | None:
    """Why a pointer and indices do not lead into a value of type `source`, or None."""
    at: ty.Type = source
    if isinstance(source, ty.FunctionType) or source in (ty.VOID, ty.LABEL, ty.METADATA):
        return f"getelementptr into {source}"
    if len({v.type.count for v in operands if isinstance(v.type, ty.VectorType)}) > 1:
        return "getelementptr of vectors of different lengths"
    wrong = next((v.type for v in operands[1:] if not _is_int(v.type)), None)
    if wrong is not None:
        return f"getelementptr has an index of type {wrong}"
    for v in operands[2:]:
        if isinstance(at, ty.StructType):
            k = getattr(v, "value", None)
            if v.type.__class__ is ty.VectorType and isinstance(k, tuple):
                k = getattr(k[0], "value", None) if len({*k}) == 1 else -1
            k = 0 if k is None and isinstance(v, Constant) else k
            if element(v.type) is not ty.I32:
                return f"a member of {at} is told by an i32, not {v.type}"
            if not isinstance(k, int) or at.elements is None or not 0 <= k < len(at.elements):
                return f"{at} has no such member"
            at = at.elements[k]
        elif isinstance(at, ty.ArrayType | ty.VectorType):
            at = at.element
        else:
            return f"{at} has no members"
    return None


def _gep(i: Instruction, f: Function) -> str | None:
    base = i._operands[0]
    if not _is_pointer(base.type) or element(i.type) is not element(base.type):
        return f"getelementptr from {base.type} gives {i.type}"
    if not isinstance(i.aux, ty.Type):
        return "getelementptr has no source element type"
    return gep_problem(i.aux, i._operands)


def _alloca(i: Instruction, f: Function) -> str | None:
    if not isinstance(i.type, ty.PointerType) or i.type.space not in (0, 5):
        return f"alloca gives {i.type}"
    if not isinstance(i.aux, tuple) or not isinstance(i.aux[0], ty.Type):
        return "alloca has no allocated type"
    if len(i.aux) != 2 or not isinstance(i.aux[1], int | None):
        return f"alloca has (type, alignment), not {i.aux!r}"
    if problem := _alignment_problem(i):
        return problem
    count = i._operands[0].type
    return None if isinstance(count, ty.IntType) else f"alloca of {count} elements"


def _select(i: Instruction, f: Function) -> str | None:
    c, a, b = (v.type for v in i._operands)
    if element(c) is not ty.I1 or _lanes(c) not in (0, _lanes(a)):
        return f"select on {c}"
    return _differ(i.type, a, b)


def _extract(i: Instruction, f: Function) -> str | None:
    t = member(i._operands[0].type, i.aux)
    return f"{i._operands[0].type} has no member {i.aux}" if t is None else _differ(i.type, t)


def _insert(i: Instruction, f: Function) -> str | None:
    whole, part = i._operands
    t = member(whole.type, i.aux)
    if t is None:
        return f"{whole.type} has no member {i.aux}"
    return _differ(i.type, whole.type) or _differ(part.type, t)


def _split(i: Instruction, f: Function) -> str | None:
    t = i._operands[0].type
    if not isinstance(t, ty.StructType | ty.ArrayType):
        return f"splitStruct of {t}, which is no aggregate"
    leaves = tuple(r.type for r in i.results)
    if leaves != tuple(leaf for _, leaf in fields(t)):
        return f"the results of splitStruct are not the leaves of {t}"
    return None if i.aux == (t, ty.struct(leaves)) else "splitStruct does not name its two types"


def _vector(i: Instruction, f: Function) -> str | None:
    v, *rest = i._operands
    if not isinstance(v.type, ty.VectorType):
        return f"{i.form.name} takes a vector, not {v.type}"
    if i.form.name == "extractelement":
        return _differ(i.type, v.type.element) or _index(rest[0].type)
    if i.form.name == "insertelement":
        return (
            _differ(i.type, v.type) or _differ(rest[0].type, v.type.element)
            or _index(rest[1].type)
        )
    lanes = i.aux if isinstance(i.aux, tuple) else ()
    if not isinstance(i.type, ty.VectorType) or len(lanes) != i.type.count:
        return f"shufflevector of {len(lanes)} lanes gives {i.type}"
    if any(not -1 <= k < 2 * v.type.count for k in lanes):
        return "shufflevector names a lane that is not there"
    return _differ(v.type, rest[0].type) or _differ(i.type.element, v.type.element)


def _index(t: ty.Type) -> str | None:
    return None if isinstance(t, ty.IntType) else f"an index of type {t}"


def _freeze(i: Instruction, f: Function) -> str | None:
    return _differ(i.type, i._operands[0].type)


def _ret(i: Instruction, f: Function) -> str | None:
    given = i._operands[0].type if i._operands else ty.VOID
    wanted = f.return_type
    return None if given is wanted else f"ret of {given}, the function returns {wanted}"


def _br(i: Instruction, f: Function) -> str | None:
    if len(i.aux) != len(i._operands) + 1:
        return f"br with {len(i._operands)} conditions has {len(i.aux)} successors"
    if i._operands and i._operands[0].type is not ty.I1:
        return f"br on {i._operands[0].type}"
    return None


def _switch(i: Instruction, f: Function) -> str | None:
    value, *cases = i._operands
    if len(i.aux) != len(cases) + 1:
        return f"switch of {len(cases)} cases has {len(i.aux)} successors"
    literals = [c.value or 0 for c in cases if isinstance(c, Constant)]
    if not isinstance(value.type, ty.IntType) or len(literals) < len(cases):
        return "switch is for integers and literal cases"
    differ = _differ(value.type, *(c.type for c in cases))
    if differ is None and len({n % (1 << value.type.bits) for n in literals}) < len(cases):
        return "switch has a case twice"
    return differ


def _call(i: Instruction, f: Function) -> str | None:
    info = i.aux
    if not isinstance(info, CallInfo):
        return "a call needs a CallInfo as aux"
    callee = info.callee
    if isinstance(callee, InlineAsm):
        return _assembly(i, callee)
    if not isinstance(callee, Function):
        if callee is None and not (i._operands and _is_pointer(i._operands[0].type)):
            return "an indirect call has no pointer to call"
        return None
    variadic = isinstance(callee.aux, dict) and bool(callee.aux.get("variadic"))
    params = [p for p in callee.params if isinstance(p, Argument)]
    if callee.name.startswith(_COPIES) and i._operands and (
        getattr(i._operands[0].type, "space", 0) == CONSTANT_SPACE
    ):
        return TO_CONSTANT
    if len(i._operands) != len(params) and not (variadic and len(i._operands) > len(params)):
        return f"the call passes {len(i._operands)} arguments, {callee.name} takes {len(params)}"
    for v, p in zip(i._operands, params, strict=False):
        if v.type is not p.type:
            return f"{v.name} is of type {v.type}, {callee.name} takes {p.type}"
    return _differ(i.type, callee.return_type)


def _assembly(i: Instruction, asm: InlineAsm) -> str | None:
    """The result and the arguments are as many as the constraints say."""
    every = asm.constraints.split(",") if asm.constraints else []
    if any(c[:1] == "!" for c in every):
        return "labels in constraints are of callbr"
    kinds = ["=~".find(c[:1]) % 3 for c in every]  # output 0, clobber 1, input 2
    if any(not c.strip("=~*&%") or c.count("{") != c.count("}") for c in every):
        return f"'{asm.constraints[:60]}' are no constraints of assembly"
    parts = [c for c in every if not c.startswith("~")]
    outputs = [c for c in parts if c.startswith("=") and not c.startswith("=*")]
    if any(c[0] != "=" and d[0] == "=" for c, d in itertools.pairwise(parts)):
        return "an output of the assembly stands behind an input"
    if any(a == 1 != b for a, b in itertools.pairwise(kinds)):
        return "an input or output of the assembly stands behind what it clobbers"
    t = i.type
    given = 0 if t is ty.VOID else len(t.elements or ()) if isinstance(t, ty.StructType) else 1
    if len(outputs) != given or (given == 1 and isinstance(t, ty.StructType)):
        return f"assembly of {len(outputs)} outputs gives {t}"
    wanted = len(parts) - len(outputs)
    if wanted != len(i._operands):
        return f"assembly of {wanted} inputs gets {len(i._operands)} arguments"
    tied = {c.lstrip("&%") for part in parts[len(outputs):] for c in part.split("|")}
    wrong = sorted(c for c in tied if c.isdigit() and c not in map(str, range(len(outputs))))
    return f"there is no output {wrong[0][:60]} of the assembly" if wrong else None


TO_CONSTANT = "memmove/memcpy cannot target constant address space"
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


def _nothing(i: Instruction, f: Function) -> str | None:
    return None


def _conversion(row: Op) -> Callable[[ty.Type, ty.Type], bool]:
    """Which conversions a row makes, by the classes and widths that it names."""
    if row.kind is OpKind.COPY:
        return _bitcast if row.name == "bitcast" else _address_space
    (target, _), (source, _) = (_CLASSES[o.type] for o in row.operands)
    return _cast(source, target, {"narrower": -1, "wider": 1}.get(row.width, 0))


_CLASSES: dict[str, tuple[Callable[[ty.Type], bool], str]] = {
    "int": (_is_int, "integers"), "float": (_is_float, "floats"), "ptr": (_is_pointer, "pointers"),
}
load_rows()
CASTS: dict[str, Callable[[ty.Type, ty.Type], bool]] = {
    row.name: _conversion(row)
    for row in NVVM.rows.values()
    if row.kind in (OpKind.RESIZE, OpKind.CONVERT, OpKind.COPY)
}
_RULES: dict[str, Rule] = {
    "ret": _ret, "br": _br, "switch": _switch, "unreachable": _nothing, "fence": _nothing,
    "call": _call, "select": _select, "freeze": _freeze, "alloca": _alloca, "getelementptr": _gep,
    "load": _pointer_at(0, False), "store": _pointer_at(1, True),
    "atomicrmw": _pointer_at(0, True), "cmpxchg": _cmpxchg,
    "extractvalue": _extract, "insertvalue": _insert, "extractelement": _vector,
    "splitStruct": _split, "insertelement": _vector, "shufflevector": _vector,
    "icmp": _compare(lambda t: _is_int(t) or _is_pointer(t), "integers and pointers", INT_TESTS),
    "fcmp": _compare(_is_float, "floats", FLOAT_TESTS),
}
_RULES.update(dict.fromkeys(CASTS, _cast_rule))
_RULES.update(
    (row.name, _all_same(*_CLASSES[row.operands[0].type]))
    for row in NVVM.rows.values()
    if row.name not in _RULES and row.operands and row.operands[0].type in _CLASSES
)
