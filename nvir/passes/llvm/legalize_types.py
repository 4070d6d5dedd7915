"""Types that a dialect lacks, carried by integers: bfloat by i16 (llvm7), fp128 by i128 (both).

What only moves values (loads, stores, phis, calls, aggregates …) keeps its form under the other
type. Arithmetic on bfloat is done in float and rounded once more, which is exact for +, -, *, / and
remainder: float has more than twice its precision. The rounding is `cvt.rn.bf16.f32`.

    %c = fadd bfloat %a, %b     ==>   %x = … float of %a, %b (shifted left by 16)
                                      %s = fadd float %x, %y
                                      %c = call i16 asm "cvt.rn.bf16.f32 $0, $1;", "=h,f"(float %s)

Vectors of bfloat are worked on element by element. Raises Unsupported for arithmetic on fp128, for
conversions to bfloat of integers of more than 64 bits, and for intrinsics of either type.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Function, Instruction, Module, Unsupported, capability
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder, const, declare
from nvir.ir.nvvm_values import ConstantExpr, Poison, poison
from nvir.ir.values import Constant, Undef, Value, constant, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.llvm.stand_ins import drop

_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem"))
COMPUTES = _ARITHMETIC | {
    "fneg", "fcmp", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "atomicrmw",
}


def rewrite_types(module: Module, dialect: str) -> bool:
    """Carry the types that the dialect lacks by integers; False if there are none."""
    carriers: dict[ty.Type, ty.Type] = {ty.FP128: ty.I128}
    if dialect == "llvm7":
        carriers[ty.BFLOAT] = ty.I16
    rewriter = _Rewriter(module, carriers, dialect)
    if not rewriter.needed():
        return False
    rewriter.run()
    return True


class _Rewriter:
    """The types of one module on their way."""

    def __init__(self, module: Module, carriers: dict[ty.Type, ty.Type], dialect: str) -> None:
        self.module, self.carriers, self.dialect = module, carriers, dialect
        self.memo: dict[ty.Type, ty.Type] = dict(carriers)
        self.values: dict[Value, Value] = {}

    def type(self, t: ty.Type) -> ty.Type:
        """A type with the carriers in it; itself where it has none."""
        known = self.memo.get(t)
        if known is None:
            self.memo[t] = t  # of a struct that contains a pointer to itself
            known = self.memo[t] = self._type(t)
        return known

    def _type(self, t: ty.Type) -> ty.Type:
        if isinstance(t, ty.ArrayType):
            return ty.array(self.type(t.element), t.count)
        if isinstance(t, ty.VectorType):
            return ty.vector(self.type(t.element), t.count)
        if isinstance(t, ty.FunctionType):
            params = [self.type(p) for p in t.params]
            return ty.function_type(self.type(t.result), params, t.variadic)
        if isinstance(t, ty.StructType) and t.elements is not None:
            body = [self.type(e) for e in t.elements]
            if body == [*t.elements]:
                return t
            if t.label is None:
                return ty.struct(body, t.packed)
            new = ty.named_struct(t.label)
            new.set_body(body, t.packed)
            return new
        return t

    def data(self, x: Any) -> Any:
        """Types inside aux data and attributes."""
        if isinstance(x, ty.Type):
            return self.type(x)
        if x.__class__ is tuple:
            return tuple(map(self.data, x))
        return x

    def constant(self, v: Value) -> Value:
        """A constant of the carried types, bits kept."""
        if v.is_tracked:
            return v
        known = self.values.get(v)
        if known is None:
            known = self.values[v] = self._constant(v)
        return known

    def _constant(self, v: Value) -> Value:
        t = self.type(v.type)
        if isinstance(v, Undef):
            return poison(t) if isinstance(v, Poison) else undef(t)
        if isinstance(v, ConstantExpr):
            operands = tuple(map(self.constant, v.operands))
            if t is v.type and operands == v.operands and self.data(v.aux) is v.aux:
                return v
            return ConstantExpr(v.spelling, operands, t, self.data(v.aux))
        if not isinstance(v, Constant) or t is v.type:
            return v
        if isinstance(v.value, tuple):
            return constant(t, tuple(map(self.constant, v.value)))
        if v.value.__class__ is int and isinstance(t, ty.IntType):
            return const(t, v.value)
        return constant(t, v.value)

    # --------------------------------------------------------------- walk

    def needed(self) -> bool:
        """Whether the module mentions a type that is carried."""
        module = self.module
        for v in module.globals:
            if self.type(v.value_type) is not v.value_type:
                return True
        for f in module.functions:
            types = [f.return_type, *(p.type for p in f.params)]
            if any(self.type(t) is not t for t in types):
                return True
            for i in f.instructions():
                if self.type(i.type) is not i.type or self.data(i.aux) != i.aux:
                    return True
                if any(self.type(v.type) is not v.type for v in i._operands):
                    return True
        return False

    def run(self) -> None:
        for f in list(self.module.functions):
            if f.name.startswith("llvm.") and any(
                    self.type(t) is not t for t in (f.return_type, *(p.type for p in f.params))):
                drop(f)  # unless it is called
        for v in self.module.globals:
            v.value_type = self.type(v.value_type)
            if isinstance(v.init, Value):
                v.init = self.constant(v.init)
        computing = [self._computing(f) for f in self.module.functions]  # of the types as they are
        for f in self.module.functions:
            self._head(f)
        for f, found in zip(list(self.module.functions), computing, strict=True):
            self._body(f, found)

    def _head(self, f: Function) -> None:
        touched = [f.return_type, *(p.type for p in f.params)]
        if f.name.startswith("llvm.") and any(self.type(t) is not t for t in touched):
            raise Unsupported(f"the intrinsic {f.name}", self.dialect)
        if f.blocks and "signature" not in (f.aux or {}) and any(
                self.type(t) is not t for t in touched):
            f.aux = {**(f.aux or {}), "signature": (f.return_type, tuple(touched[1:]))}
        f.return_type = self.type(f.return_type)
        for p in f.arguments:
            p.type = self.type(p.type)
            p.attributes = self.data(p.attributes)

    def _computing(self, f: Function) -> list[tuple[Instruction, ty.Type, ty.Type]]:
        """What computes with carried types: of which type, and to which."""
        found = [(i, i._operands[0].type if i._operands else i.type, i.type)
                 for i in f.instructions() if i.form.name in COMPUTES]
        return [x for x in found if not self.carriers.keys().isdisjoint(map(element, x[1:]))]

    def _body(
        self, f: Function, computing: list[tuple[Instruction, ty.Type, ty.Type]]
    ) -> None:
        done: set[Value] = set()
        for i in f.instructions():
            new = tuple(map(self.constant, i._operands))
            if new != i._operands:
                i.set_operands(new)
            if i not in done:
                done.add(i)
                i.type = self.type(i.type)
                if not i.form.terminator and not i.form.is_call and not i.form.is_phi:
                    i.aux = self.data(i.aux)
        for i, source, target in computing:
            self._compute(i, source, target)
        for i in list(f.instructions()):
            if i.form.name == "bitcast" and i._operands[0].type is i.type:
                i.replace_with(i._operands[0])

    def _compute(self, i: Instruction, source: ty.Type, target: ty.Type) -> None:
        """An operation on bfloat or on vectors of them, its operands and result i16 by now."""
        if ty.FP128 in (element(source), element(target)):
            t = source if element(source) in self.carriers else target
            raise self._refusal(i, f"{i.form.name} of {t}")
        b = Builder.ahead_of(i)
        if not isinstance(i.type, ty.VectorType):
            i.replace_with(self._scalar(b, i, i._operands, source, target))
            return
        whole: Value = undef(i.type)
        for k in range(i.type.count):
            lane = tuple(b.extract_element(v, k) for v in i._operands)
            made = self._scalar(b, i, lane, element(source), element(target))
            whole = b.insert_element(whole, made, k)
        i.replace_with(whole)

    def _refusal(self, i: Instruction, what: str) -> Unsupported:
        where = f"@{i.function.name}" if i.function is not None else ""
        return Unsupported(what, self.dialect, where)

    def _scalar(
        self, b: Builder, i: Instruction, operands: tuple[Value, ...], source: ty.Type,
        target: ty.Type,
    ) -> Value:
        """The result of one element."""
        name = i.form.name
        if name in _ARITHMETIC:
            x, y = map(_widened, (b, b), operands)
            return self._rounded(b, b.insert(i.form.spelling, (x, y), ty.FLOAT))
        if name == "fneg":
            return b.xor(operands[0], const(ty.I16, -0x8000))
        if name == "fcmp":
            x, y = map(_widened, (b, b), operands)
            return b.insert(i.form.spelling, (x, y), ty.I1)
        if name == "fptrunc" and isinstance(source, ty.FloatType) and source.bits == 32:
            return self._rounded(b, operands[0])
        if name in ("fpext", "fptoui", "fptosi") and source is ty.BFLOAT:
            wide = _widened(b, operands[0])
            return wide if target is ty.FLOAT else b.insert(i.form.spelling, (wide,), target)
        if name in ("uitofp", "sitofp") and source.bits <= 64:
            return self._rounded(b, self._to_odd(b, name, operands[0]))
        if name == "fptrunc" and source is ty.DOUBLE:
            return self._rounded(b, self._to_odd(b, name, operands[0]))
        raise self._refusal(i, f"{name} {source} to {target}")

    def _to_odd(self, b: Builder, name: str, x: Value) -> Value:
        """A double or an integer as a float whose last bit tells that something was cut off, so
        that rounding once more is as good as rounding once."""
        word, back = {"uitofp": ("ull2f", b.fptoui), "sitofp": ("ll2f", b.fptosi),
                      "fptrunc": ("d2f", b.fpext)}[name]
        wide = ty.DOUBLE if name == "fptrunc" else ty.I64
        if x.type is not wide:
            x = (b.zext if name == "uitofp" else b.sext)(x, wide)
        cut = b.call(declare(self.module, f"llvm.nvvm.{word}.rz", ty.FLOAT, [wide],
                             ("nounwind",)), [x])
        again = back(cut, wide)
        differs = b.fcmp_unordered("!=", again, x) if wide is ty.DOUBLE else (
            b.icmp_signed("!=", again, x))
        return b.bitcast(b.or_(b.bitcast(cut, ty.I32), b.zext(differs, ty.I32)), ty.FLOAT)

    def _rounded(self, b: Builder, x: Value) -> Value:
        """The bfloat nearest to a float, ties to even."""
        if 0 < capability(self.module.target) < 80:
            raise Unsupported("rounding to bfloat", self.module.target)
        return b.asm(ty.function_type(ty.I16, [ty.FLOAT]), "cvt.rn.bf16.f32 $0, $1;", "=h,f", [x])


def _widened(b: Builder, x: Value) -> Value:
    """The float that has the bits of a bfloat on top."""
    return b.bitcast(b.shl(b.zext(x, ty.I32), 16), ty.FLOAT)
