"""Types of both levels. Every type is interned: equal types are one object, compared by `is`.

The `ori` level has the register types of PTX: a spelling (`u32`, `f32`, `b32`)
and, as `cls`, the class of registers that it lives in (`b32` for all three).
Two spellings of one class may meet in an instruction; PTX's type rules are
checked on classes. The `nvvm` level has LLVM's first-class types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nvir.ir.errors import Unsupported


class TooWide(Unsupported, ValueError):
    """An integer type that LLVM has no room for."""


class Type:
    """Root of all types. `bits` is the size of a value in a register, 0 if it has none."""

    __slots__ = ("bits", "name")

    def __init__(self, name: str, bits: int = 0) -> None:
        self.name = name
        self.bits = bits

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: object) -> Type:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return parse_type, (self.name,)


class ScalarType(Type):
    """A PTX scalar type, e.g. `u32`: `kind` is one of "b u s f p x", `cls` its register class.

    Kind "x" marks the types that are no registers: `cc` (the carry flag) and
    `imm` (an integer literal, which takes the width of the instruction).
    """

    __slots__ = ("cls", "kind")
    cls: ScalarType

    def __init__(self, name: str, bits: int, kind: str, cls: ScalarType | None) -> None:
        super().__init__(name, bits)
        self.kind = kind
        self.cls = self if cls is None else cls

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_signed(self) -> bool:
        return self.kind == "s"


PRED = ScalarType("pred", 1, "p", None)
B8 = ScalarType("b8", 8, "b", None)
B16 = ScalarType("b16", 16, "b", None)
B32 = ScalarType("b32", 32, "b", None)
B64 = ScalarType("b64", 64, "b", None)
B128 = ScalarType("b128", 128, "b", None)
CC = ScalarType("cc", 1, "x", None)
IMM = ScalarType("imm", 0, "x", None)

_CLASS_OF_BITS = {8: B8, 16: B16, 32: B32, 64: B64, 128: B128}
SCALARS: dict[str, ScalarType] = {t.name: t for t in (PRED, B8, B16, B32, B64, B128, CC, IMM)}

# spelling -> bits. What modifiers may name; those that cannot be declared as a
# register still have the class of the registers that carry them.
_SPELLINGS = {
    "u8": 8, "u16": 16, "u32": 32, "u64": 64, "u128": 128,
    "s8": 8, "s16": 16, "s32": 32, "s64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32,
    "f16x2": 32, "bf16x2": 32, "f32x2": 64, "u16x2": 32, "s16x2": 32,
    "u8x4": 32, "s8x4": 32,
    "e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 8, "ue8m0": 8, "ue4m3": 8,
    "e4m3x2": 16, "e5m2x2": 16, "e2m1x2": 8, "e2m3x2": 16, "e3m2x2": 16, "ue8m0x2": 16,
    "e4m3x4": 32, "e5m2x4": 32, "e2m1x4": 16, "e2m3x4": 32, "e3m2x4": 32,
    "b4x16": 64, "b4x16_p64": 64, "b6x16_p32": 64, "b6p2x16": 64,
    "u4": 8, "s4": 8, "b1": 8,
    "texref": 64, "samplerref": 64, "surfref": 64,
}


def _kind(spelling: str) -> str:
    if spelling[0] in "us" and spelling[1].isdigit():
        return spelling[0]
    return "b" if spelling[0] == "b" and spelling[1].isdigit() else "f"


for _name, _bits in _SPELLINGS.items():
    _k = "b" if _name.endswith("ref") else _kind(_name)
    SCALARS[_name] = ScalarType(_name, _bits, _k, _CLASS_OF_BITS[_bits])

U8, U16, U32, U64 = (SCALARS[n] for n in ("u8", "u16", "u32", "u64"))
S8, S16, S32, S64 = (SCALARS[n] for n in ("s8", "s16", "s32", "s64"))
F16, BF16, F32, F64 = (SCALARS[n] for n in ("f16", "bf16", "f32", "f64"))


# ---------------------------------------------------------------- nvvm level


class VoidType(Type):
    __slots__ = ()


class LabelType(Type):
    __slots__ = ()


class MetadataType(Type):
    __slots__ = ()


class TokenType(Type):
    __slots__ = ()


VOID = VoidType("void")
LABEL = LabelType("label")
METADATA = MetadataType("metadata")
TOKEN = TokenType("token")


class IntType(Type):
    """`iN`, two's complement, no sign of its own."""

    __slots__ = ()


class FloatType(Type):
    """`half`, `bfloat`, `float`, `double`, `fp128`, with the bits that each part of it has."""

    __slots__ = ("exponent", "fraction")

    def __init__(self, name: str, bits: int, fraction: int) -> None:
        super().__init__(name, bits)
        self.exponent, self.fraction = bits - 1 - fraction, fraction


class PointerType(Type):
    """An opaque pointer: only its address space is part of it. Spaces: `ADDRESS_SPACES`."""

    __slots__ = ("space",)

    def __init__(self, name: str, bits: int, space: int) -> None:
        super().__init__(name, bits)
        self.space = space


class ArrayType(Type):
    __slots__ = ("count", "element")

    def __init__(self, name: str, element: Type, count: int) -> None:
        super().__init__(name)
        self.element, self.count = element, count


class VectorType(Type):
    __slots__ = ("count", "element")

    def __init__(self, name: str, element: Type, count: int) -> None:
        super().__init__(name, element.bits * count)
        self.element, self.count = element, count


class StructType(Type):
    """A literal struct, or a named one (`label` set), whose body may be given later.

    A named struct is identified by its name; `elements` is None while opaque.
    """

    __slots__ = ("elements", "label", "layout", "packed")

    def __init__(
        self, name: str, elements: tuple[Type, ...] | None, packed: bool, label: str | None
    ) -> None:
        super().__init__(name)
        self.elements, self.packed, self.label = elements, packed, label
        self.layout: Any = None  # kept by nvir.ir.layout

    def set_body(self, elements: Iterable[Type], packed: bool = False) -> None:
        """Give a named struct its body; once only, unless it is the same body again."""
        body = tuple(elements)
        if self.label is None:
            raise TypeError("a literal struct has its body from the start")
        if self.elements is not None and (self.elements, self.packed) != (body, packed):
            raise TypeError(f"{self.name} already has another body")
        self.elements, self.packed = body, packed


class FunctionType(Type):
    __slots__ = ("params", "result", "variadic")

    def __init__(self, name: str, result: Type, params: tuple[Type, ...], variadic: bool) -> None:
        super().__init__(name)
        self.result, self.params, self.variadic = result, params, variadic


ADDRESS_SPACES = {0: "generic", 1: "global", 3: "shared", 4: "const", 5: "local", 101: "param"}

_interned: dict[object, Type] = {}
HALF, BFLOAT = FloatType("half", 16, 10), FloatType("bfloat", 16, 7)
FLOAT, DOUBLE = FloatType("float", 32, 23), FloatType("double", 64, 52)
FP128 = FloatType("fp128", 128, 112)


def int_type(bits: int) -> IntType:
    """The type `i<bits>`, 1 to 2**23 - 1 bits as in LLVM."""
    t = _interned.get(bits)
    if t is None:
        if bits < 1:
            raise ValueError(f"an integer of {bits} bits does not exist")
        if bits >= 1 << 23:  # that of a file, or what a pass needs for one
            raise TooWide(f"an integer of {bits} bits")
        t = _interned[bits] = IntType(f"i{bits}", bits)
    return t  # type: ignore[return-value]  # the key's kind decides the class


I1, I8, I16, I32, I64, I128 = (int_type(n) for n in (1, 8, 16, 32, 64, 128))


def pointer(space: int = 0) -> PointerType:
    key = ("ptr", space)
    t = _interned.get(key)
    if t is None:
        name = f"ptr addrspace({space})" if space else "ptr"
        t = _interned[key] = PointerType(name, 64, space)
    return t  # type: ignore[return-value]


def array(element: Type, count: int) -> ArrayType:
    key = ("array", element, count)
    t = _interned.get(key)
    if t is None:
        t = _interned[key] = ArrayType(f"[{count} x {element.name}]", element, count)
    return t  # type: ignore[return-value]


def vector(element: Type, count: int) -> VectorType:
    key = ("vector", element, count)
    t = _interned.get(key)
    if t is None:
        t = _interned[key] = VectorType(f"<{count} x {element.name}>", element, count)
    return t  # type: ignore[return-value]


def struct(elements: Iterable[Type], packed: bool = False) -> StructType:
    body = tuple(elements)
    key = ("struct", body, packed)
    t = _interned.get(key)
    if t is None:
        inner = ", ".join(e.name for e in body)
        text = f"{{ {inner} }}" if body else "{}"
        t = StructType(f"<{text}>" if packed else text, body, packed, None)
        _interned[key] = t
    return t  # type: ignore[return-value]


def named_struct(label: str) -> StructType:
    """A fresh named struct, opaque until `set_body`; not interned: modules keep their own."""
    return StructType(f"%{label}", None, False, label)


def function_type(
    result: Type, params: Iterable[Type] = (), variadic: bool = False
) -> FunctionType:
    args = tuple(params)
    key = ("function", result, args, variadic)
    t = _interned.get(key)
    if t is None:
        inner = ", ".join([*(a.name for a in args), *(["..."] if variadic else [])])
        t = _interned[key] = FunctionType(f"{result.name} ({inner})", result, args, variadic)
    return t  # type: ignore[return-value]


_FIXED: dict[str, Type] = {
    t.name: t for t in (VOID, LABEL, METADATA, TOKEN, HALF, BFLOAT, FLOAT, DOUBLE, FP128)
}


def parse_type(text: str) -> Type:
    """The type of that spelling: a scalar of PTX (`u32`), or a plain one of LLVM (`i32`, `ptr`)."""
    t = SCALARS.get(text) or _FIXED.get(text)
    if t is not None:
        return t
    if text[:1] == "i" and text[1:].isdigit():
        return int_type(int(text[1:]))
    if text == "ptr":
        return pointer()
    if text.startswith("ptr addrspace(") and text.endswith(")"):
        return pointer(int(text[14:-1]))
    raise ValueError(f"no type is spelled {text!r}")


def types_in(types: Iterable[Type]) -> Iterator[Type]:
    """The types and those of their elements, each once: structs of structs may have very many."""
    work = [*types][::-1]
    seen: set[Type] = set()
    while work:
        t = work.pop()
        if t in seen:
            continue
        seen.add(t)
        yield t
        if isinstance(t, StructType):
            work.extend(reversed(t.elements or ()))
        elif isinstance(t, ArrayType | VectorType):
            work.append(t.element)
