"""One function on its way from nvvm to ori: what is made so far, and how to make more.

The walk (function.py) visits the instructions once, in reverse post-order, and hands each to
the rule of its row; rules live in one file a family. A rule asks `use` for the parts of its
operands, makes instructions by `op`, and returns the parts of its result.

Pointers are held as an address of the space that they are known to point to (spaces.py),
as a base and a constant offset that no instruction adds until a register is needed:
`address` gives both for an access, `pointer` a register with what the type says.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs

from nvir.analysis.known_bits import KnownBits
from nvir.ir import Block, Builder, Form, Function, Instruction, Unsupported, form
from nvir.ir.intrinsics import written
from nvir.ir.nvvm_values import ConstantExpr
from nvir.ir.opcodes import DEF
from nvir.ir.types import B16, PRED, VOID, IntType, PointerType, ScalarType, Type
from nvir.ir.values import (
    Argument,
    Constant,
    Symbol,
    SymbolOffset,
    Undef,
    Value,
    constant,
    integer,
    undef,
)
from nvir.passes.select import constants
from nvir.passes.select.parts import RegisterPart, parts
from nvir.passes.select.spaces import CONST, GENERIC, GLOBAL, LOCAL, PARAM, SPACE_NAMES, Spaces

if TYPE_CHECKING:
    from nvir.passes.select.module import ModuleSelector

Parts = tuple[Value, ...]
Operand = Any  # Value | int | list[Value | int] | tuple[Value, int] | tuple[Value, list[Value]]
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
MAX_OFFSET = 1 << 31
_MODIFIERS = {space: f".{name}" if name else "" for space, name in SPACE_NAMES.items()}


@attrs.define
class AddressParts:
    """`base + offset` bytes in `space`; base is a register or a symbol of that space."""

    base: Value
    offset: int
    space: int

    @property
    def modifier(self) -> str:
        """What follows the mnemonic: ".global", nothing for a generic address."""
        if self.space not in _MODIFIERS:
            raise Unsupported(f"address space {self.space}")
        return _MODIFIERS[self.space]

    def ordered(self, order: str) -> str:
        """`order`, such as ".volatile", and the space: PTX takes no ".volatile" where no other
        thread writes."""
        plain = not order or (order == ".volatile" and self.space in (CONST, LOCAL, PARAM))
        return self.modifier if plain else f"{order}{self.modifier}"

    def plus(self, bytes: int) -> AddressParts:
        return AddressParts(self.base, self.offset + bytes, self.space)

    @property
    def operand(self) -> tuple[Value, int]:
        return self.base, self.offset


class Selector:
    """The state of one function.

    source, target   the function of nvvm, and the one of ori that is filled
    module           what the functions share: symbols, options, the target's number
    values           parts of each value that was selected
    addresses        base and offset of each pointer that has a constant offset
    bits             what is known of the bits of the source's values
    extended         registers whose bits above a width are zeros ("z") or its sign ("s")
    blocks           the first ori block of each nvvm block
    edges            (from, to) of nvvm → the ori blocks that branch there
    """

    def __init__(self, module: ModuleSelector, source: Function, target: Function) -> None:
        self.module, self.source, self.target = module, source, target
        self.options, self.sm = module.options, module.sm
        self.spaces = Spaces()
        self.values: dict[Value, Parts] = {}
        self.addresses: dict[Value, AddressParts] = {}
        self.extended: dict[Value, tuple[str, int]] = {}
        self.bits = KnownBits()
        # Pointers that nothing else leads where they do; whether nothing is written through them.
        self.restricted = [a for a in source.params if "noalias" in a.attributes]
        self.only_read: dict[Argument, bool] = {}
        # what was loaded in pieces → its pieces, by (offset, bytes)
        self.loaded_pieces: dict[Value, dict[tuple[int, int], Value]] = {}
        self.blocks: dict[Block, Block] = {}
        self.rolled: dict[Block, str] = {}  # headers of loops marked nounroll, and why
        self.edges: dict[tuple[Block, Block], list[Block]] = {}
        self.here: Block | None = None  # the nvvm block at hand
        self.line = 0  # in the text that was read, of the instruction at hand
        self.depot: Any = None
        self.keeps_undef = True
        self._cache: dict[Any, Value] = {}
        self.b: Builder = None  # type: ignore[assignment]  # set before the first block

    # ------------------------------------------------------------ making

    def op(self, spelling: str, *operands: Operand) -> Value:
        """One ori instruction, of one result or of none.

        An operand is a value, a number, a list for `{…}`, or a tuple for an address: (base,
        offset), or (base, list) for the `[t, {x, y}]` of textures.
        """
        return self.emit(spelling, operands)

    def ops(self, spelling: str, *operands: Operand, shape: str = "") -> Parts:
        """One ori instruction of several results; `shape` is that of the results."""
        return self.emit(spelling, operands, shape).results

    def emit(
        self, spelling: str, operands: tuple[Operand, ...], result: str = ""
    ) -> Instruction:
        """An instruction at the end of the block at hand. The shape of its results follows from
        the row and the modifiers `.v2`, `.v4`, `.v8`, unless `result` gives it."""
        shapes, values = written(operands)
        f, types, only = _made(spelling, result, tuple(shapes))
        b = self.b
        i = Instruction(f, tuple(values), only, None, None, b.loc)
        if len(types) > 1:
            i.set_results(types, [None] * len(types))
        if b.before is None:
            b.block.append(i)
        else:
            i.insert_before(b.before)
        return i

    def start(self, block: Block) -> None:
        """Go on in another ori block. What was cached is not known to dominate it."""
        self.b.at_end(block)
        self._cache.clear()

    def new_block(self, name: str) -> Block:
        """An ori block that follows the one at hand."""
        return self.target.block(name, after=self.b.block)

    def cached(self, key: Any, make: Any) -> Value:
        """What `make()` gave for this key in this block."""
        v = self._cache.get(key)
        if v is None:
            v = self._cache[key] = make()
        return v

    def fail(self, what: str) -> Unsupported:
        return Unsupported(what, where=str(self.source.name))

    # ------------------------------------------------------------ values

    def use(self, v: Value) -> Parts:
        """The registers or literals of a value."""
        if v.type.__class__ is PointerType:
            return (self.pointer(v),)
        found = self.values.get(v)
        if found is not None:
            return found
        if isinstance(v, Constant):
            plain: Any = constants.literals(v)
            if plain is not None:
                self.values[v] = plain
                return plain  # type: ignore[no-any-return]
            return tuple(p for m in constants.members(v) for p in self.use(m))
        if isinstance(v, Undef):
            return tuple(self.undefined(p) for p in parts(v.type))
        if isinstance(v, ConstantExpr):
            return self._constant_number(v)
        raise self.fail(f"the operand {v.name} of type {v.type}")

    def undefined(self, part: RegisterPart) -> Value:
        return undef(part.reg) if self.keeps_undef else constants.zero(part)

    def one(self, v: Value) -> Value:
        """The single register or literal of a scalar."""
        found = self.use(v)
        if len(found) != 1:
            raise self.fail(f"a value of type {v.type} in one register")
        return found[0]

    def reg(self, v: Value, type: str) -> Value:
        """The value in a register: literals get a `mov`."""
        if isinstance(v, Constant | Symbol | SymbolOffset):
            if v.type is PRED:
                return v  # printed as a register that is set first
            return self.cached((v, type), lambda: self.op(f"mov.{type}", v))
        return v

    def known(self, v: Value, how: str, bits: int) -> Value:
        """Note that a register's bits above the low `bits` are zeros ("z") or the sign ("s")."""
        if not isinstance(v, Constant):
            self.extended[v] = how, bits
        return v

    def is_known(self, v: Value, how: str, bits: int) -> bool:
        """Whether a register is known to be so; zeros above fewer bits are signs as well."""
        found = self.extended.get(v)
        if found is None or found[1] > bits:
            return False
        return found[0] == how or (found[0] == "z" and found[1] < bits)

    def _constant_number(self, v: ConstantExpr) -> Parts:
        if not isinstance(v.type, IntType) or v.type.bits > 64:
            raise self.fail(f"the constant expression {v.name}")
        bits = v.type.bits
        if v.form.name == "trunc":
            wide = self.one(v.operands[0])
            return (wide if bits > 32 else self.op(f"cvt.u{max(16, _width(bits))}.u64", wide),)
        if v.form.name == "sub" and not isinstance(v.operands[1], Constant):
            a, b = (constants.address(x) for x in v.operands)
            if b.symbol is not None and a.symbol is not b.symbol:
                x, y = (self.one(x) for x in v.operands)
                return (self.op(f"sub.s{_width(bits)}", self.reg(x, f"b{_width(bits)}"), y),)
        a = constants.address(v)
        if a.symbol is None:
            return (integer(constants.signed(a.offset, bits)),)
        pointer = v.operands[0] if v.form.name == "ptrtoint" else None
        generic = pointer is not None and isinstance(pointer.type, PointerType) \
            and pointer.type.space == GENERIC
        number = self.symbol(a, generic or pointer is None)
        if bits == 64:
            return (number,)
        return (self.op(f"cvt.u{_width(bits)}.u64", number),)

    # ---------------------------------------------------------- pointers

    def address(self, v: Value) -> AddressParts:
        """Base, offset and space of a pointer, for an access."""
        known = self.addresses.get(v)
        if known is not None:
            return known
        found = self.values.get(v)
        if found is not None:
            base = found[0]
            if isinstance(base, Constant):  # ptxas takes a number as an address nowhere but here
                base = self.reg(base, "b64")
            return AddressParts(base, 0, self.spaces.of(v))
        if v.is_constant:
            a = constants.address(v)
            space = a.space if a.symbol is not None else _space_of(v)
            if a.symbol is None:
                number = self.cached(("number", a.offset), lambda: self.op("mov.u64", a.offset))
                return AddressParts(number, 0, space)
            if isinstance(a.symbol, Function):
                return AddressParts(self.symbol(a, False), 0, GENERIC)
            return AddressParts(self.module.symbol(a.symbol), a.offset, space)
        raise self.fail(f"the pointer {v.name}")

    def register(self, a: AddressParts) -> Value:
        """The address in a register, as an address of its space."""
        base = a.base
        if isinstance(base, Symbol):
            base = self.cached(("symbol", base), lambda: self.op("mov.u64", a.base))
        if not a.offset:
            return base
        return self.cached(("plus", base, a.offset), lambda: self.op("add.s64", base, a.offset))

    def pointer(self, v: Value) -> Value:
        """The pointer in a register or as a literal, in the space that its type says."""
        if isinstance(v, Undef):
            return self.undefined(parts(v.type)[0])
        if isinstance(v, Constant):
            return integer(v.value or 0)
        a = self.address(v)
        space = _space_of(v)
        if a.space == space:
            return self.register(a)
        if space != GENERIC:
            raise self.fail(f"an address of space {a.space} as one of space {space}")
        return self.generic(a)

    def generic(self, a: AddressParts) -> Value:
        """The generic address of a place, in a register."""
        if a.space == GENERIC:
            return self.register(a)
        r = self.register(a)
        return self.cached(("generic", r, a.space), lambda: self.op(f"cvta{a.modifier}.u64", r))

    def held(self, v: Value, space: int) -> Value:
        """A pointer as an address of `space`, for what joins several: a literal null is 0."""
        if isinstance(v, Undef):
            return self.undefined(parts(v.type)[0])
        if isinstance(v, Constant):
            return integer(v.value or 0)
        a = self.address(v)
        return self.into(a, space)

    def into(self, a: AddressParts, space: int) -> Value:
        """A place as an address of another space, in a register."""
        if a.space == space:
            return self.register(a)
        if space == GENERIC:
            return self.generic(a)
        whole = self.generic(a)
        name = AddressParts(whole, 0, space).modifier
        return self.cached(("to", whole, space), lambda: self.op(f"cvta.to{name}.u64", whole))

    def pointed(self, v: Value, made: Parts) -> Parts:
        """A pointer that a launch passes, in a struct: as an address of the space that is known."""
        if self.spaces.get(v) != GLOBAL:
            return made
        return (self.into(AddressParts(made[0], 0, GENERIC), GLOBAL),)

    def symbol(self, a: constants.SymbolAddress, generic: bool) -> Value:
        """The address of a symbol in a register."""
        assert a.symbol is not None
        if isinstance(a.symbol, Function):
            f = self.module.symbol(a.symbol)
            return self.cached(("symbol", f), lambda: self.op("mov.u64", f))
        place = AddressParts(self.module.symbol(a.symbol), a.offset, a.space)
        return self.generic(place) if generic else self.register(place)

    def fitting(self, a: AddressParts) -> AddressParts:
        """The same address with an offset that an instruction can hold."""
        if -MAX_OFFSET <= a.offset < MAX_OFFSET:
            return a
        return AddressParts(self.register(a), 0, a.space)


@functools.cache
def _made(
    spelling: str, result: str, shapes: tuple[str, ...]
) -> tuple[Form, list[ScalarType], Type]:
    """The form of an instruction whose operands have these shapes, the types of its results, and
    the one of a single result."""
    shape = result or _result_shape(spelling)
    f = form(spelling, ", ".join((shape, *shapes) if shape else shapes))
    # There are no registers of 8 bits.
    types = [B16 if t.bits == 8 else t for t in f.result_types] if f.n_results else []
    return f, types, types[0] if len(types) == 1 else VOID


@functools.cache
def _result_shape(spelling: str) -> str:
    """How the results of a spelling are written: one register, a vector, or nothing."""
    f = form(spelling)
    if not any(o.role == DEF for o in f.op.operands):
        return ""
    n = next((n for word, n in _VECTORS.items() if word in f.mods), 1)
    return "%s" if n == 1 else "{" + ", ".join(["%s"] * n) + "}"


def _space_of(v: Value) -> int:
    return v.type.space if isinstance(v.type, PointerType) else GENERIC


def _width(bits: int) -> int:
    return 16 if bits <= 16 else 32 if bits <= 32 else 64


def width(t: Type) -> int:
    """Bits of the register that a scalar lies in: 16, 32 or 64."""
    return _width(t.bits)


def predicate(truth: bool) -> Constant:
    return constant(PRED, int(truth))


__all__ = [
    "AddressParts", "Parts", "Selector", "predicate", "width",
]
