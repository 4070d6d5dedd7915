"""Reading single instructions: one function a kind, from behind the row's name to its end.

Each takes the body that is read, whose next token is `body.t[body.k]`, and the row's name. It
gives the instruction, not yet placed; another value where the result is only another name of
that; or None for what is left out knowingly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.ir import Constant, Instruction, Undef, Value, constant, nvvm_form
from nvir.ir import types as ty
from nvir.ir.opcodes.nvvm import FLOAT_TESTS, INT_TESTS
from nvir.ir.verify.nvvm import element, gep_problem, member
from nvir.llvm.calls import fast_of, read_call
from nvir.llvm.expand.upgrade import Expander
from nvir.llvm.grammar import FLAGS, UNSIZED
from nvir.llvm.lexer import Stop
from nvir.llvm.variadic import next_argument

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader

_BINARY = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or",
           "xor", "fadd", "fsub", "fmul", "fdiv", "frem")
_CASTS = ("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp",
          "ptrtoint", "inttoptr", "bitcast", "addrspacecast")
_RMW = frozenset((
    "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub",
    "fmax", "fmin", "fmaximum", "fminimum", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat",
))
ONE = constant(ty.I32, 1)
# The orderings that an access of its kind cannot have.
_NO_READ = frozenset(("release", "acq_rel"))
_NO_WRITE = frozenset(("acquire", "acq_rel"))
_NO_FAILURE = frozenset(("unordered", "release", "acq_rel"))


def _binary(body: DefinitionReader, row: str) -> Instruction:
    tokens = body.t
    spelling = body.flags(row) if tokens[body.k] in FLAGS else row
    t = body.type()
    values, k = body.values, body.k  # the common case by hand: two values that are known
    a, b = values.get(tokens[k]), values.get(tokens[k + 2])
    if a is not None and a.type is t and b is not None and b.type is t and (
        tokens[k + 1] == ","
    ):
        body.k = k + 3
    else:
        a = body.value(t)
        body.expect(",")
        b = body.value(t)
    return Instruction(nvvm_form(spelling), (a, b), t)


def _unary(body: DefinitionReader, row: str) -> Instruction:
    v = body.typed() if row == "freeze" else None
    spelling = row
    if v is None:
        spelling = body.flags(row)
        v = body.typed()
    return Instruction(nvvm_form(spelling), (v,), v.type)


def _compare(body: DefinitionReader, row: str) -> Instruction:
    flags = body.flags(row)[len(row):]
    test = body.t[body.k]
    if test not in (INT_TESTS if row == "icmp" else FLOAT_TESTS):
        body.fail("a predicate such as " + ("'slt'" if row == "icmp" else "'olt'"))
    body.k += 1
    t, a, b = body.pair()
    of = ty.vector(ty.I1, t.count) if isinstance(t, ty.VectorType) else ty.I1
    return Instruction(nvvm_form(f"{row} {test}{flags}"), (a, b), of)


def _cast(body: DefinitionReader, row: str) -> Value:
    spelling = body.flags(row)
    v = body.typed()
    body.expect("to")
    t = body.type()
    if row == "bitcast" and t is v.type and isinstance(element(t), ty.PointerType):
        return v
    return Instruction(nvvm_form(spelling), (v,), t)


def _select(body: DefinitionReader, row: str) -> Instruction:
    at = body.k
    spelling = body.flags(row)
    c = body.typed()
    body.expect(",")
    a = body.typed()
    body.expect(",")
    b = body.typed()
    if spelling is not row:
        fast_of(a.type, row, at)
    return Instruction(nvvm_form(spelling), (c, a, b), a.type)


_ACCESS = ("atomic", "volatile")


def _memory_flags(body: DefinitionReader, row: str) -> str:
    if body.accept("atomic"):
        row += " atomic"
    if body.accept("volatile"):
        row += " volatile"
    return row


def _order_and_align(body: DefinitionReader, row: str) -> Any:
    if " atomic" not in row:
        return body.align()
    scope = body.scope()
    at = body.k
    ordering = body.ordering()
    if ordering in _NO_READ if row[0] == "l" else ordering in _NO_WRITE:
        raise Stop(f"an atomic {row.split()[0]} is not {ordering}", at)
    align = body.align()
    if not align:
        raise Stop(f"an atomic {row.split()[0]} has an alignment", body.k - 1)
    return (ordering, scope, align)


def _load(body: DefinitionReader, row: str) -> Instruction:
    if body.t[body.k] in _ACCESS:
        row = _memory_flags(body, row)
    at = body.k
    t = body.type()
    body.concrete(t, at)
    body.expect(",")
    p = body.typed()
    packed = _packed(t) if t.__class__ is ty.VectorType else None
    if packed is not None:
        made = Instruction(nvvm_form(row), (p,), packed, aux=_order_and_align(body, row))
        body.place(made)
        return Instruction(nvvm_form("bitcast"), (made,), t)
    return Instruction(nvvm_form(row), (p,), t, aux=_order_and_align(body, row))


def _packed(t: ty.Type) -> ty.Type | None:
    """The integer that a vector is in memory if its elements are no whole bytes; else None."""
    if isinstance(t, ty.VectorType) and t.element.bits % 8:
        return ty.int_type(t.count * t.element.bits)
    return None


def _store(body: DefinitionReader, row: str) -> Instruction:
    if body.t[body.k] in _ACCESS:
        row = _memory_flags(body, row)
    at = body.k
    v = body.typed()
    if v.type.__class__ is ty.StructType:
        body.concrete(v.type, at)
    packed = _packed(v.type) if v.type.__class__ is ty.VectorType else None
    if packed is not None:
        v = Instruction(nvvm_form("bitcast"), (v,), packed)
        body.place(v)
    body.expect(",")
    p = body.typed()
    return Instruction(nvvm_form(row), (v, p), aux=_order_and_align(body, row))


def _alloca(body: DefinitionReader, row: str) -> Instruction:
    body.accept("inalloca")
    at = body.k
    t = body.type()
    body.concrete(t, at)
    count: Value = ONE
    align = space = 0
    counted = False
    while body.t[body.k] == "," and body.t[body.k + 1][:1] != "!":
        word = body.t[body.k + 1]
        if word == "align":
            align = body.align()
            continue
        body.k += 1
        if word == "addrspace":
            space = body.address_space()
        elif counted or align:
            body.fail("metadata")
        else:
            count, counted = body.typed(), True
    return Instruction(nvvm_form(row), (count,), ty.pointer(space), aux=(t, align))


def _gep(body: DefinitionReader, row: str) -> Instruction:
    tokens = body.t
    spelling = body.flags(row)
    at = body.k
    source = body.type()
    if source.__class__ is not ty.IntType:
        body.concrete(source, at)
    body.expect(",")
    operands = [body.typed()]
    while tokens[body.k] == "," and tokens[body.k + 1][:1] != "!":
        body.k += 1
        if tokens[body.k] == "inrange":
            body.k += 1
        operands.append(body.typed())
    t = operands[0].type
    lanes = 0
    for v in operands:
        if v.type.__class__ is ty.VectorType:
            lanes = v.type.count
            break
    if lanes and not isinstance(t, ty.VectorType):
        t = ty.vector(t, lanes)
    wrong = gep_problem(source, tuple(operands)) if lanes or len(operands) > 2 else None
    if wrong:
        raise Stop(wrong, at)
    return Instruction(nvvm_form(spelling), tuple(operands), t, aux=source)


def _atomicrmw(body: DefinitionReader, row: str) -> Instruction:
    volatile = " volatile" if body.accept("volatile") else ""
    operation = body.t[body.k]
    if operation not in _RMW:
        body.fail("an operation such as 'add'")
    body.k += 1
    p = body.typed()
    body.expect(",")
    v = body.typed()
    scope = body.scope()
    at = body.k
    aux = (body.ordering(), scope, body.align())
    if aux[0] == "unordered":
        raise Stop("atomicrmw is not unordered", at)
    return Instruction(nvvm_form(f"{row} {operation}{volatile}"), (p, v), v.type, aux=aux)


def _cmpxchg(body: DefinitionReader, row: str) -> Instruction:
    for word in ("weak", "volatile"):
        row += f" {word}" if body.accept(word) else ""
    p = body.typed()
    body.expect(",")
    old = body.typed()
    body.expect(",")
    new = body.typed()
    scope = body.scope()
    at = body.k
    aux = (body.ordering(), body.ordering(), scope, body.align())
    if aux[0] == "unordered" or aux[1] in _NO_FAILURE:
        raise Stop(f"cmpxchg does not have the orderings {aux[0]} {aux[1]}", at)
    t = ty.struct([old.type, ty.I1])
    return Instruction(nvvm_form(row), (p, old, new), t, aux=aux)


def _fence(body: DefinitionReader, row: str) -> Instruction:
    scope = body.scope()
    at = body.k
    ordering = body.ordering()
    if ordering in ("unordered", "monotonic"):
        raise Stop(f"a fence is not {ordering}", at)
    return Instruction(nvvm_form(row), (), aux=(ordering, scope))


def _path(body: DefinitionReader) -> tuple[int, ...]:
    out = []
    while body.t[body.k] == "," and body.t[body.k + 1][:1] != "!":
        body.k += 1
        out.append(body.number("an index"))
    if not out:
        body.fail("',' and an index")
    return tuple(out)


def _extractvalue(body: DefinitionReader, row: str) -> Instruction:
    at = body.k
    v = body.typed()
    path = _path(body)
    t = member(v.type, path)
    if t is None and v.type is not ty.VOID:
        raise Stop(f"{v.type} has no member {', '.join(map(str, path))}", at)
    return Instruction(nvvm_form(row), (v,), t or ty.VOID, aux=path)


def _insertvalue(body: DefinitionReader, row: str) -> Instruction:
    whole = body.typed()
    body.expect(",")
    part = body.typed()
    return Instruction(nvvm_form(row), (whole, part), whole.type, aux=_path(body))


def _extractelement(body: DefinitionReader, row: str) -> Instruction:
    v = body.typed()
    body.expect(",")
    return Instruction(nvvm_form(row), (v, body.typed()), element(v.type))


def _insertelement(body: DefinitionReader, row: str) -> Instruction:
    v = body.typed()
    body.expect(",")
    x = body.typed()
    body.expect(",")
    return Instruction(nvvm_form(row), (v, x, body.typed()), v.type)


def _shufflevector(body: DefinitionReader, row: str) -> Instruction:
    a = body.typed()
    body.expect(",")
    b = body.typed()
    body.expect(",")
    at = body.k
    mask = body.constant(body.type())
    lanes = _lanes(mask)
    if lanes is None or element(mask.type) is not ty.I32:
        raise Stop("the lanes are no vector of i32 numbers", at)
    t = ty.vector(element(a.type), len(lanes))
    return Instruction(nvvm_form(row), (a, b), t, aux=lanes)


def _phi(body: DefinitionReader, row: str) -> Instruction:
    spelling = body.flags(row)
    at = body.k
    t = body.type()
    if t in UNSIZED or isinstance(t, ty.FunctionType):
        raise Stop(f"there are no phis of type {t}", at)
    last = body.current.last if body.current is not None else None
    if last is not None and not last.form.is_phi:
        raise Stop("a phi stands behind another instruction", at - 1)
    values, blocks = [], []
    tokens = body.t
    while True:
        body.expect("[")
        values.append(body.value(t))
        body.expect(",")
        token = tokens[body.k]
        if token[:1] != "%":
            body.fail("a label")
        blocks.append(body.target(token, body.k))
        body.k += 1
        body.expect("]")
        if tokens[body.k] != "," or tokens[body.k + 1] != "[":
            break
        body.k += 1
    if spelling is not row:
        fast_of(t, row, at)
    i = Instruction(nvvm_form(spelling), tuple(values), t, aux=tuple(blocks))
    body.phis.append((i, at))
    return i


# ------------------------------------------------------------------ control


def _ret(body: DefinitionReader, row: str) -> Instruction:
    t = body.type()
    operands = () if t is ty.VOID else (body.value(t),)
    return Instruction(nvvm_form(row), operands, aux=())


def _br(body: DefinitionReader, row: str) -> Instruction:
    if body.t[body.k] == "label":
        return Instruction(nvvm_form(row), (), aux=(body.block(),))
    c = body.typed()
    body.expect(",")
    yes = body.block()
    body.expect(",")
    return Instruction(nvvm_form(row), (c,), aux=(yes, body.block()))


def _switch(body: DefinitionReader, row: str) -> Instruction:
    v = body.typed()
    body.expect(",")
    blocks = [body.block()]
    cases: dict[Value, None] = {}
    body.expect("[")
    while not body.accept("]"):
        at = body.k
        case = body.constant(body.type())
        if case.type is not v.type or case in cases:
            raise Stop(f"a case twice, or not of type {v.type}", at)
        cases[case] = None
        body.expect(",")
        blocks.append(body.block())
    return Instruction(nvvm_form(row), (v, *cases), aux=tuple(blocks))


def _va_arg(body: DefinitionReader, row: str) -> Value:
    """The next further argument: at its alignment; the list moves on behind it."""
    at = body.k
    place = body.typed()
    if not isinstance(place.type, ty.PointerType):
        body.fail("a pointer", at)
    body.expect(",")
    at = body.k
    t = body.type()
    body.concrete(t, at)
    return next_argument(Expander(body, row, t), place, t)


def _unreachable(body: DefinitionReader, row: str) -> Instruction:
    return Instruction(nvvm_form(row), (), aux=())


def _call(body: DefinitionReader, row: str) -> Value | None:
    return read_call(body, row)


def _lanes(mask: Value) -> tuple[int, ...] | None:
    t = mask.type
    if not isinstance(t, ty.VectorType) or not isinstance(t.element, ty.IntType):
        return None
    if isinstance(mask, Undef):
        return (-1,) * t.count
    if not isinstance(mask, Constant):
        return None
    if mask.value is None:
        return (0,) * t.count
    lanes = [-1 if isinstance(v, Undef) else getattr(v, "value", None) for v in mask.value]
    literal = all(isinstance(k, int) and (k >= 0 or isinstance(v, Undef))
                  for k, v in zip(lanes, mask.value, strict=True))
    return tuple(lanes) if literal else None  # type: ignore[arg-type]


METHODS: dict[str, Any] = {
    "load": _load, "store": _store, "alloca": _alloca, "getelementptr": _gep,
    "fneg": _unary, "freeze": _unary, "icmp": _compare, "fcmp": _compare,
    "select": _select, "atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg,
    "fence": _fence, "extractvalue": _extractvalue, "insertvalue": _insertvalue,
    "extractelement": _extractelement, "insertelement": _insertelement,
    "shufflevector": _shufflevector, "phi": _phi, "ret": _ret, "br": _br,
    "switch": _switch, "va_arg": _va_arg, "unreachable": _unreachable, "call": _call,
    "tail": _call, "musttail": _call, "notail": _call,
    **dict.fromkeys(_BINARY, _binary), **dict.fromkeys(_CASTS, _cast),
}
