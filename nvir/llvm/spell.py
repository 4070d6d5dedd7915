"""Types, constants and names as LLVM text has them, in one dialect.

    llvm20    opaque pointers: `ptr addrspace(1)`
    llvm7     typed pointers: a value has one printed type, `float addrspace(1)*` where it is an
              address whose element is known, and `i8 addrspace(1)*` wherever types are given
              by others: in memory, in aggregates, in function types
"""

from __future__ import annotations

import struct as binary
from typing import Any

from nvir.ir import Constant, Function, Symbol, Undef, Unsupported, Value, Variable
from nvir.ir import types as ty
from nvir.ir.nvvm_values import DEBUG_DECLARE, ConstantExpr, Poison
from nvir.llvm.floats import to_double
from nvir.llvm.lexer import quoted_bytes, spelled

CASTS = frozenset((
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
    "inttoptr", "bitcast", "addrspacecast",
))
# Flags that the LLVM 7 does not know; each is a promise, so leaving it out is sound. Where that
# would cost code, the printer of bodies takes another row.
NEW_FLAGS = frozenset(("nusw", "nneg", "disjoint", "samesign"))


class Speller:
    """Spells what belongs to a module in one dialect."""

    def __init__(self, typed: bool) -> None:
        self.typed = typed  # pointers have their element's type
        self.dialect = "llvm7" if typed else "llvm20"
        self.refused: frozenset[ty.Type] = frozenset(
            (ty.BFLOAT, ty.FP128) if typed else ()
        )
        self.types: dict[ty.Type, str] = {}
        self.labels: dict[str, ty.StructType] = {}
        self.named: dict[ty.StructType, str] = {}  # in the order met
        self.scalars: dict[Constant, str] = {}

    # -------------------------------------------------------------- types

    def type(self, t: ty.Type) -> str:
        text = self.types.get(t)
        if text is None:
            text = self.types[t] = self._type(t)
        return text

    def _type(self, t: ty.Type) -> str:
        if isinstance(t, ty.PointerType):
            return self.pointer_to("i8", t) if self.typed else t.name
        if isinstance(t, ty.StructType):
            if t.label is not None:
                return self._named(t)
            return body_text([self.type(e) for e in t.elements or ()], t.packed)
        if isinstance(t, ty.ArrayType):
            return f"[{t.count} x {self.type(t.element)}]"
        if isinstance(t, ty.VectorType):
            return f"<{t.count} x {self.type(t.element)}>"
        if isinstance(t, ty.FunctionType):
            params = [self.type(p) for p in t.params] + ["..."] * t.variadic
            return f"{self.type(t.result)} ({', '.join(params)})"
        if t in self.refused:
            raise Unsupported(f"the type {t}", self.dialect)
        if isinstance(t, ty.IntType | ty.FloatType) or t.name in (
            "void",
            "label",
            "metadata",
            "token",
        ):
            return t.name
        raise Unsupported(f"the type {t}", "nvvm")

    def _named(self, t: ty.StructType) -> str:
        label, n = str(t.label), 0
        while self.labels.setdefault(label, t) is not t:
            n += 1
            label = f"{t.label}.{n}"
        self.named[t] = text = f"%{spelled(label)}"
        for e in t.elements or ():
            if e is not t:
                self.type(e)
        return text

    def definitions(self) -> list[str]:
        """`%S = type { … }` of the named structs met so far, and of those that they name."""
        out, done = [], 0
        while done < len(self.named):
            t, name = [*self.named.items()][done]
            done += 1
            body = "opaque"
            if t.elements is not None:
                body = body_text([self.type(e) for e in t.elements], t.packed)
            out.append(f"{name} = type {body}")
        return out

    def pointer_to(self, inner: str, t: ty.Type) -> str:
        """The typed pointer to a printed type in the space of pointer type `t`."""
        space = getattr(t, "space", 0)
        return f"{inner} addrspace({space})*" if space else f"{inner}*"

    def symbol_type(self, s: Symbol) -> str:
        """The printed type of a symbol's address."""
        if not self.typed:
            return self.type(s.type)
        if isinstance(s, Function):
            return self.pointer_to(self.function_type(s), ty.pointer())
        assert isinstance(s, Variable)
        return self.pointer_to(self.type(s.value_type), s.type)

    def parameters(self, f: Function) -> list[str]:
        """The printed types of a function's parameters."""
        return [self.parameter(f, p) for p in f.arguments]

    def parameter(self, f: Function, p: Any) -> str:
        if f.name == DEBUG_DECLARE:
            return "metadata"
        if self.typed and isinstance(p.type, ty.PointerType):
            for a in p.attributes:
                if isinstance(a, tuple) and a[0] in ("byval", "sret"):
                    return self.pointer_to(self.type(a[1]), p.type)
            inner = typed_intrinsic(f)
            if inner is not None:
                return self.pointer_to(self.type(inner), p.type)
        return self.type(p.type)

    def function_type(self, f: Function) -> str:
        params = self.parameters(f)
        if f.aux and f.aux.get("variadic"):
            params.append("...")
        return f"{self.type(f.return_type)} ({', '.join(params)})"

    # ---------------------------------------------------------- constants

    def symbol(self, s: Symbol) -> str:
        name = s.name
        if self.typed and isinstance(s, Function) and name.startswith("llvm."):
            name = typed_name(s, self)
        return f"@{spelled(name)}"

    def printed_type(self, v: Value) -> str:
        """The type that a constant is printed with."""
        if isinstance(v, Symbol):
            return self.symbol_type(v)
        if self.typed and isinstance(v, ConstantExpr) and isinstance(v.type, ty.PointerType):
            if v.form.name == "getelementptr":
                return self.pointer_to(self.type(gep_element(v.aux, v.operands)), v.type)
            if v.form.name == "addrspacecast":
                inner = self.printed_type(v.operands[0])
                return self.pointer_to(_pointee(inner), v.type)
        return self.type(v.type)

    def constant(self, v: Value, wanted: str | None = None) -> str:
        """A constant without its type; `wanted` is the printed type it must have."""
        if v.__class__ is Constant and v.value.__class__ is int:
            text = self.scalars.get(v)
            if text is None:
                text = self.scalars[v] = scalar_text(v)
            return text
        if isinstance(v, Undef):
            if self.typed and isinstance(v, Poison):
                raise Unsupported("poison", "llvm7")
            return str(v.name)
        if isinstance(v, Constant):
            return self._aggregate(v)
        if isinstance(v, Symbol):
            text = self.symbol(v)
        elif isinstance(v, ConstantExpr):
            text = self._expression(v)
        else:
            raise Unsupported(f"a {v.__class__.__name__} at level nvvm", "nvvm")
        if self.typed and isinstance(v.type, ty.PointerType):
            own = self.printed_type(v)
            wanted = wanted or self.type(v.type)
            if own != wanted:
                return f"bitcast ({own} {text} to {wanted})"
        return text

    def typed_constant(self, v: Value) -> str:
        return f"{self.type(v.type)} {self.constant(v)}"

    def _aggregate(self, c: Constant) -> str:
        t, value = c.type, c.value
        if value is None:
            if isinstance(t, ty.IntType):
                return "false" if t.bits == 1 else "0"
            return "null" if isinstance(t, ty.PointerType) else "zeroinitializer"
        if isinstance(value, bytes):
            return f"c{quoted_bytes(value)}"
        if isinstance(t, ty.ArrayType) and t.element is ty.I8:
            numbers = [getattr(v, "value", None) for v in value]
            if all(isinstance(x, int) for x in numbers):
                return f"c{quoted_bytes(bytes(x & 255 for x in numbers))}"  # type: ignore[operator]
        inner = ", ".join(self.typed_constant(v) for v in value)
        if isinstance(t, ty.ArrayType):
            return f"[{inner}]"
        if isinstance(t, ty.VectorType):
            return f"<{inner}>"
        text = f"{{ {inner} }}" if inner else "{}"
        return f"<{text}>" if isinstance(t, ty.StructType) and t.packed else text

    def _expression(self, e: ConstantExpr) -> str:
        row, mods = e.form.name, " ".join(self.flags(e.form.mods))
        head = f"{row} {mods}".rstrip()
        operands = e.operands
        if row == "getelementptr":
            inner = self.type(e.aux)
            base = operands[0]
            base_type = self.type(base.type)
            if self.typed:
                base_type = self.pointer_to(inner, base.type)
            parts = [inner, f"{base_type} {self.constant(base, base_type)}"]
            parts += [self.typed_constant(v) for v in operands[1:]]
            return f"{head} ({', '.join(parts)})"
        if row in CASTS:
            v = operands[0]
            own = self.printed_type(v)
            to = self.type(e.type)
            if row == "addrspacecast" and self.typed:
                to = self.printed_type(e)
            return f"{head} ({own} {self.constant(v, own)} to {to})"
        text = ", ".join(self.typed_constant(v) for v in operands)
        if e.aux is not None:
            text += "".join(f", {k}" for k in e.aux)
        return f"{head} ({text})"

    def flags(self, mods: tuple[str, ...]) -> list[str]:
        if not self.typed:
            return [m for m in mods if m != "samesign"]  # younger than LLVM 19
        return [m for m in mods if m not in NEW_FLAGS]


def _pointee(text: str) -> str:
    """`float` of `float addrspace(1)*`."""
    text = text.removesuffix("*").rstrip()
    if text.endswith(")") and " addrspace(" in text:
        head, _, tail = text.rpartition(" addrspace(")
        if tail[:-1].isdigit():
            return head
    return text


def body_text(members: list[str], packed: bool) -> str:
    text = f"{{ {', '.join(members)} }}" if members else "{}"
    return f"<{text}>" if packed else text


def gep_element(source: ty.Type, operands: tuple[Value, ...]) -> ty.Type:
    """The type of the element that a getelementptr leads to; `operands` with the base."""
    t = source
    for v in operands[2:]:
        if isinstance(t, ty.StructType):
            t = (t.elements or ())[int(getattr(v, "value", 0) or 0)]
        elif isinstance(t, ty.ArrayType | ty.VectorType):
            t = t.element
    return t


# ----------------------------------------------------------------- scalars


def scalar_text(c: Constant) -> str:
    """A number: decimal where that is exact and short, else its pattern."""
    t, value = c.type, c.value
    if isinstance(t, ty.FloatType):
        return float_text(t, value)
    if t.name == "i1":
        return "true" if value else "false"
    if isinstance(t, ty.PointerType):
        return "null"
    return str(value)


def float_text(t: ty.FloatType, bits: int) -> str:
    if t.name == "half":
        return f"0xH{bits:04X}"
    if t.name == "bfloat":
        return f"0xR{bits:04X}"
    if t.name == "fp128":
        return f"0xL{bits & (1 << 64) - 1:016X}{bits >> 64:016X}"
    double = to_double(t, bits)
    x = binary.unpack("<d", double.to_bytes(8, "little"))[0]
    short = f"{x:.6e}"
    if "n" not in short and float(short) == x:
        return short
    return f"0x{double:016X}"


# -------------------------------------------------------------- intrinsics


def typed_intrinsic(f: Function) -> ty.Type | None:
    """What the pointer that an intrinsic takes points to in LLVM 7, if not i8."""
    name = f.name
    if name.startswith(("llvm.nvvm.ldg.", "llvm.nvvm.ldu.")):
        return f.return_type
    if name.startswith(("llvm.nvvm.atomic.load.", "llvm.nvvm.atomic.")):
        return f.return_type
    return None


def typed_name(f: Function, spell: Speller) -> str:
    """`llvm.memcpy.p0i8.p1i8.i64` for `llvm.memcpy.p0.p1.i64`."""
    inner = typed_intrinsic(f)
    suffix = "i8" if inner is None else mangled(inner)
    parts = f.name.split(".")
    return ".".join(
        f"{p}{suffix}" if p[0:1] == "p" and p[1:].isdigit() else p for p in parts
    )


def mangled(t: ty.Type) -> str:
    """A type in the name of an intrinsic."""
    if isinstance(t, ty.VectorType):
        return f"v{t.count}{mangled(t.element)}"
    if isinstance(t, ty.PointerType):
        return f"p{t.space}i8"
    if isinstance(t, ty.FloatType):
        return "bf16" if t.name == "bfloat" else f"f{t.bits}"
    return t.name

