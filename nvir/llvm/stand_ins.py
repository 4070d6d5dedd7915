"""What `legalize` made of a module, back: operations that a function stands for, and signatures.

    define linkonce_odr i8 @nvir_atomicrmw_add_i8(ptr %0, i8 %1) alwaysinline nounwind
        "nvir-stands-for"="i8 (ptr %0, i8 %1) { … %2 = atomicrmw add ptr %0, i8 %1 seq_cst … }"
    %old = call i8 @nvir_atomicrmw_add_i8(ptr %p, i8 %v)
        ==>
    %old = atomicrmw add ptr %p, i8 %v seq_cst

    define i16 @f(i16 %x) "nvir-signature"="half (half)"    ==>    define half @f(half %x)

The attribute says what the function is, whose body does the same in another compiler's words. A
signature stays as it is where the function's address is used: calls through it are of that one.

All this is believed of a text as it was printed, which its first line tells by a checksum: who
changes the text, or has a tool that does, has the bodies.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from nvir.ir import (
    Argument,
    CallInfo,
    Constant,
    Function,
    Instruction,
    Module,
    NvirError,
    Type,
    Value,
)
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder, declare
from nvir.ir.nvvm_values import symbols_of
from nvir.ir.values import constant, undef

STANDS_FOR, SIGNATURE = "nvir-stands-for", "nvir-signature"
_MARK = "; printed by nvir, "
Reader = Callable[[str], Module]
# How a value is made one of the type that carries it, and back.
_TO, _BACK = ("bitcast", "zext"), ("bitcast", "trunc")


def signed(text: str) -> str:
    """A text with the line that says that it is as it was printed."""
    return f"{_MARK}{zlib.crc32(text.encode('utf-8', 'surrogateescape')):08x}\n{text}"


def is_own(text: str) -> bool:
    """Whether a text is as it was printed."""
    if not text.startswith(_MARK):
        return False
    first, _, rest = text.partition("\n")
    return signed(rest).partition("\n")[0] == first


def restore(module: Module, read: Reader) -> None:
    """Put operations in the place of calls of what stands for them, and give functions the
    signatures that they had."""
    operations: dict[Value, Function] = {}
    signatures: dict[Value, Function] = {}
    for f in module.functions:
        for a in (f.aux or {}).get("attributes", ()):
            if a.__class__ is tuple and a[0] in (STANDS_FOR, SIGNATURE):
                found = _function(a, read)
                if found is not None and len(found.params) == len(f.params):
                    (operations if a[0] == STANDS_FOR else signatures)[f] = found
    if operations or signatures:
        _Restorer(module, operations, signatures).run()


def _function(attribute: tuple[str, str], read: Reader) -> Function | None:
    """The function that an attribute describes; None where it is no text of `legalize`'s."""
    word, text = attribute
    kind = "define" if word == STANDS_FOR else "declare"
    try:
        f = read(f"{kind} {text.replace(' (', ' @f(', 1)}\n").functions
    except NvirError:
        return None
    made = next((x for x in f if x.name == "f"), None)
    return made if made is not None and len(made.blocks) == (word == STANDS_FOR) else None


class _Restorer:
    """One module on the way back."""

    def __init__(self, module: Module, operations: dict[Value, Function],
                 signatures: dict[Value, Function]) -> None:
        self.module, self.operations, self.signatures = module, operations, signatures

    def run(self) -> None:
        taken = {s for i in self._instructions() for s in symbols_of(i)}
        for i in [*self._instructions()]:
            callee = i.aux.callee if isinstance(i.aux, CallInfo) else None
            if callee in self.operations:
                self._operation(i, self.operations[callee])
            elif callee in self.signatures and callee not in taken:
                self._call(i, self.signatures[callee])
        for f, was in self.signatures.items():
            assert isinstance(f, Function)
            f.aux["attributes"] = tuple(a for a in f.aux["attributes"] if a[0] != SIGNATURE)
            if f not in taken:
                _definition(f, was)
        for f in self.operations:
            if f not in taken:
                assert isinstance(f, Function)
                self.module.functions.remove(f)
                self.module.order.remove(f)

    def _instructions(self) -> Iterator[Instruction]:
        for f in self.module.functions:
            if f not in self.operations:
                yield from f.instructions()

    def _operation(self, i: Instruction, was: Function) -> None:
        """An operation in the place of a call."""
        b = Builder.ahead_of(i)
        b.loc = i.loc
        own: dict[Value, Value] = {a: _as(b, v, a.type)
                                   for a, v in zip(was.arguments, i.operands, strict=True)}
        result: Value | None = None
        for j in was.entry:
            operands = [own.get(v, v) for v in j.operands]
            if j.form.terminator:
                result = operands[0] if operands else None
                break
            own[j] = new = b.insert(j.form.spelling, operands, j.type, "", self._aux(j.aux))
            new.line = i.line
        _replace(i, result)

    def _aux(self, aux: Any) -> Any:
        """What a call says, its callee one of this module."""
        if not isinstance(aux, CallInfo):
            return aux
        if not isinstance(aux.callee, Function):
            return attrs.evolve(aux)
        f = aux.callee
        attributes = (f.aux or {}).get("attributes", ())
        callee = declare(self.module, str(f.name), f.return_type, [p.type for p in f.params],
                         attributes)
        return attrs.evolve(aux, callee=callee)

    def _call(self, i: Instruction, was: Function) -> None:
        b = Builder.ahead_of(i)
        b.loc = i.loc
        operands = [_as(b, v, p.type) for v, p in zip(i.operands, was.params, strict=True)]
        new = b.insert(i.form.spelling, operands, was.return_type, "", i.aux)
        new.line = i.line
        _replace(i, None if i.type is ty.VOID else new)


def _definition(f: Function, was: Function) -> None:
    """Give a function the types that it had."""
    for p, old in zip(f.arguments, was.arguments, strict=True):
        if p.type is old.type:
            continue
        t, recasts, users = p.type, _recasts(p, old.type), [*p.users]
        p.type = old.type
        for u in recasts:
            given = u.operands
            u.replace_with(p)
            _drop(given)
        users = [u for u in users if u.block is not None]
        if users:
            first = f.entry.first
            assert first is not None
            back = _as(Builder.ahead_of(first), p, t)
            for u in users:
                u.set_operands(tuple(back if v is p else v for v in u.operands))
    if f.return_type is not was.return_type:
        f.return_type = was.return_type
        for block in f.blocks:
            end = block.last
            if end is not None and end.form.name == "ret":
                given = end.operands
                end.set_operands((_as(Builder.ahead_of(end), given[0], f.return_type),))
                _drop(given)


def _replace(i: Instruction, made: Value | None) -> None:
    """Let a value stand for a call, and for what makes that one of its type."""
    given = i.operands
    name = i.name
    if made is not None and made.type is not i.type:
        for user in _recasts(i, made.type):
            name, parts = name or user.name, user.operands
            user.replace_with(made)
            _drop(parts)
    if made is not None and isinstance(made, Instruction):
        made.name = name
    if i.has_uses:
        assert made is not None
        i.replace_with(_as(Builder.ahead_of(i), made, i.type))
    elif i.block is not None:  # else it went with what was made of it
        i.erase()
    _drop(given)


def _recasts(i: Argument | Instruction, t: Type) -> list[Instruction]:
    """What makes of a value the one of another type that it carries."""
    if not isinstance(t, ty.StructType | ty.ArrayType):
        return [u for u in i.users if u.form.name in _BACK and u.type is t]
    chains = [u for e in i.users for c in (e, *e.users) for u in c.users
              if u.form.name == "insertvalue" and u.type is t]
    ends: dict[Instruction, None] = {}
    for u in chains:
        while (last := next((x for x in u.users if x.form.name == "insertvalue"
                             and x._operands[0] is u and x.type is t), None)) is not None:
            u = last
        if _whole(u, i.type) is i:
            ends[u] = None
    return [*ends]


def _whole(v: Value, t: Type) -> Value | None:
    """The value of type `t` that one of another type was made of, member by member."""
    members = _members(v.type)
    parts: dict[int, Value] = {}
    while isinstance(v, Instruction) and v.form.name == "insertvalue" and len(v.aux) == 1:
        parts.setdefault(v.aux[0], v._operands[1])
        v = v._operands[0]
    found: set[Value] = set()
    for k, x in parts.items():
        if isinstance(x, Instruction) and x.form.name in (*_TO, *_BACK):
            x = x._operands[0]
        if not (isinstance(x, Instruction) and x.form.name == "extractvalue" and x.aux == (k,)):
            return None
        found.add(x._operands[0])
    whole = found.pop() if len(found) == 1 and len(parts) == len(members) else None
    return whole if whole is not None and whole.type is t else None


def _members(t: Type) -> list[Type]:
    if isinstance(t, ty.ArrayType):
        return [t.element] * t.count
    return list(t.elements or ()) if isinstance(t, ty.StructType) else []


def _drop(values: Sequence[Value]) -> None:
    """Erase what only made one type of another, and is not used any more."""
    work = [*values]
    while work:
        v = work.pop()
        if isinstance(v, Instruction) and not v.has_uses and v.block is not None and (
                v.form.name in (*_TO, *_BACK, "insertvalue", "extractvalue")):
            work += v.operands
            v.erase()


def _as(b: Builder, v: Value, t: Type) -> Value:
    """A value as one of another type, by the cast that is not needed, or by one more."""
    if v.type is t:
        return v
    if isinstance(v, Instruction) and v.form.name in _TO and v._operands[0].type is t:
        return v._operands[0]
    members = _members(t)
    if members:
        out = _whole(v, t)
        if out is None:
            out = undef(t)
            for k, m in enumerate(members):
                out = b.insert_value(out, _as(b, b.extract_value(v, k), m), k)
        return out
    if isinstance(v, Constant) and v.value.__class__ is int and isinstance(t, ty.FloatType):
        return constant(t, v.value & (1 << t.bits) - 1)
    if isinstance(_element(t), ty.IntType) and isinstance(_element(v.type), ty.IntType):
        return b.trunc(v, t) if _element(t).bits < _element(v.type).bits else b.zext(v, t)
    return b.bitcast(v, t)


def _element(t: Type) -> Type:
    return t.element if isinstance(t, ty.VectorType) else t
