"""The opcode rows that people write most, as typed methods; the builder finds the others by name.

Each takes its operands in PTX's order. `type` are the modifiers behind the mnemonic ("s32",
"rn.f32"), by default those of the first register. Further arguments are those of `Builder.op`:
`otherwise` (the value where a guard is false), `name` (of the register), `offset`.
A value comes back, a tuple of several, or the instruction where nothing results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nvir.ir.errors import NvirError
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import DEF, ORI
from nvir.ir.opcodes.form import Form
from nvir.ir.symbols import Param
from nvir.ir.types import SCALARS, ScalarType
from nvir.ir.values import Constant, Value

if TYPE_CHECKING:
    from nvir.ir.builder import Builder

Operand = Value | int | float | bool  # numbers become literals of the instruction's type
_Method = TypeVar("_Method", bound=Callable[..., Any])


def type_of(*operands: Any) -> str:
    """The type that an instruction takes from its operands: the first register's."""
    for x in operands:
        if isinstance(x, Param):
            return str(x.element_type.name)
        if isinstance(x, Value) and not isinstance(x, Constant):
            return x.type.name
    raise NvirError("the operands tell no type: give type=")


def method_of(name: str) -> Callable[..., Any]:
    """`Builder.<name>(*operands, type=…)`, with a plan for each type and operand count.

    A row with one result and plain sources is built directly; the rest by `op`.
    """
    plans: dict[tuple[str | None, int], tuple[Form, ScalarType] | None] = {}

    def method(self: Builder, *operands: Any, type: str | None = None, **kw: Any) -> Any:
        key = (type, len(operands))
        plan = plans.get(key) if not kw and self._guard is None else None
        if plan is not None:
            f, result = plan
            for v in operands:
                if not isinstance(v, Value) or v.__class__ is Param:
                    operands = tuple([self.value(x, f.type) for x in operands])
                    break
            i = Instruction(f, operands, result)
            i.loc = self.loc
            if self.before is None:
                return self.block.append(i)
            i.insert_before(self.before)
            return i
        spelling = f"{name}.{type}" if type else name
        if needs_type(name):
            if type is None:
                spelling = f"{name}.{_default_type(name, operands)}"
            elif not any(part in SCALARS for part in str(type).split(".")):
                raise NvirError(f"{name}: type={type!r} names no type such as s32 or rn.f32")
        made = self.op(spelling, *operands, **kw)
        if type is not None and not kw and self._guard is None and isinstance(made, Instruction):
            f = made.form
            if f.n_results == 1 and f.n_operands == f.n_sources and "[" not in f.shape:
                plans[key] = (f, made.type)  # type: ignore[assignment]
        return made

    method.__name__ = name
    return method


def needs_type(name: str) -> bool:
    """Whether a row's instructions end in a type: those whose result follows one."""
    found = ORI.find(name)
    if found is None:
        return False
    row, mods = found
    has_type = any(m in SCALARS for m in mods)
    if has_type or not any(o.role == DEF for o in row.operands):
        return False
    return row.bits or row.result in ("last", "first", "wide")


def _default_type(name: str, operands: Sequence[Any]) -> str:
    """The type that an instruction takes from its operands, as its row writes it."""
    type = type_of(*operands)
    found = ORI.find(name)
    if found is not None and found[0].bits and type in SCALARS and type != "pred":
        return f"b{SCALARS[type].bits}"
    return type


def _row(written: _Method) -> _Method:
    """The method of the row that `written` names; its signature and words are those of the text."""
    name = written.__name__.rstrip("_").replace("_", ".")
    return cast(_Method, functools.wraps(written)(method_of(name)))


class Operations:
    """Mixed into `Builder`."""

    @_row
    def add(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`x + y`; integers wrap."""

    @_row
    def sub(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`x - y`; integers wrap."""

    @_row
    def div(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`x / y`; floats want a rounding in `type` ("rn.f32")."""

    @_row
    def rem(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The remainder of `x / y`, with the sign of x."""

    @_row
    def min(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The smaller one."""

    @_row
    def max(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The larger one."""

    @_row
    def sad(
        self, x: Operand, y: Operand, z: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """`|x - y| + z`."""

    @_row
    def fma(
        self, x: Operand, y: Operand, z: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """`x·y + z`, rounded once; wants a rounding in `type` ("rn.f32")."""

    @_row
    def neg(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`-x`."""

    @_row
    def abs(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`|x|`."""

    @_row
    def copysign(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The magnitude of y with the sign of x."""

    @_row
    def sqrt(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The square root; `type` says how ("rn.f32", "approx.f32")."""

    @_row
    def rsqrt(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`1 / √x` ("approx.f32")."""

    @_row
    def rcp(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """`1 / x`; `type` says how."""

    @_row
    def sin(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The sine ("approx.f32")."""

    @_row
    def cos(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The cosine ("approx.f32")."""

    @_row
    def lg2(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The binary logarithm ("approx.f32")."""

    @_row
    def ex2(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """2 to the power x ("approx.f32")."""

    @_row
    def tanh(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The hyperbolic tangent ("approx.f32")."""

    @_row
    def and_(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """Bitwise and."""

    @_row
    def or_(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """Bitwise or."""

    @_row
    def xor(self, x: Operand, y: Operand, *, type: str | None = None, **more: Any) -> Any:
        """Bitwise exclusive or."""

    @_row
    def not_(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """All bits turned."""

    @_row
    def shl(self, x: Operand, n: Operand, *, type: str | None = None, **more: Any) -> Any:
        """x moved up by n bits; n at least the width gives 0."""

    @_row
    def shr(self, x: Operand, n: Operand, *, type: str | None = None, **more: Any) -> Any:
        """x moved down by n bits, signs or zeros by the type."""

    @_row
    def lop3(
        self, x: Operand, y: Operand, z: Operand, table: Operand, *,
        type: str | None = None, **more: Any,
    ) -> Any:
        """Any logic of three operands by its truth table (0 to 255)."""

    @_row
    def prmt(
        self, x: Operand, y: Operand, selector: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """Four bytes of the eight of x and y."""

    @_row
    def popc(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """How many bits are set."""

    @_row
    def clz(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """How many leading bits are clear."""

    @_row
    def bfind(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The place of the highest bit that differs from the sign, or all ones."""

    @_row
    def brev(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """The bits in reverse."""

    @_row
    def bfe(
        self, x: Operand, place: Operand, length: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """A field of bits, extended by its type."""

    @_row
    def bfi(
        self, x: Operand, y: Operand, place: Operand, length: Operand, *,
        type: str | None = None, **more: Any,
    ) -> Any:
        """x in a field of y."""

    @_row
    def selp(
        self, x: Operand, y: Operand, predicate: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """x where the predicate holds, else y."""

    @_row
    def mov(self, x: Operand, *, type: str | None = None, **more: Any) -> Any:
        """A copy, or the address of a symbol."""

    @_row
    def dp4a(
        self, x: Operand, y: Operand, z: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """z and four products of bytes."""

    @_row
    def shfl_sync(
        self, x: Operand, lane: Operand, clamp: Operand, mask: Operand, *,
        type: str | None = None, **more: Any,
    ) -> Any:
        """Another lane's x; `type` says which ("bfly.b32", "idx.b32")."""

    @_row
    def vote_sync(
        self, predicate: Operand, mask: Operand, *, type: str | None = None, **more: Any
    ) -> Any:
        """What the lanes of a mask say ("all.pred", "any.pred", "ballot.b32")."""

    @_row
    def activemask(self, *, type: str | None = None, **more: Any) -> Any:
        """The lanes that run here."""
