"""Values: whatever an instruction may name as an operand.

    Value
    ├─ Instruction      its own value when it has exactly one result (instruction.py)
    ├─ Result           one of several results of an instruction
    ├─ Argument         a register parameter of a function
    ├─ Constant         a literal
    ├─ Undef            a register that is read before it is written
    ├─ SpecialRegister  %tid.x, %clock64 …
    └─ Symbol           a name in memory or code: variables, parameters, functions

Uses are kept for the first three (and Undef's need none): each value knows the
instructions that name it. Constants, special registers and symbols are shared
over functions and modules, so their uses are not tracked.

The use structure is sized for the common case. `_uses` is None (no use), one
Instruction (a single use), or a dict from user to how many of its operands
name the value. A list would make replacing a value of high fan-out quadratic;
a dict for every value would double the memory of a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nvir.ir.types import IMM, ScalarType, Type

if TYPE_CHECKING:
    from nvir.ir.function import Function
    from nvir.ir.instruction import Instruction


class _Untracked:
    """Stands in `_uses` of values whose uses are not kept."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNTRACKED"


UNTRACKED = _Untracked()


class Value:
    """Anything with a type that an operand can name. Compared by identity.

    `name` is a hint, not an identity: several values may carry the name of one
    source register, and printing makes names unique where it must.
    """

    __slots__ = ("_uses", "name", "type")
    _uses: Any
    name: str | None
    type: Type

    def __init__(self, type: Type, name: str | None = None) -> None:
        self.type = type
        self.name = name
        self._uses = None

    # ------------------------------------------------------------- uses

    @property
    def users(self) -> Iterator[Instruction]:
        """Each instruction that names this value, once, in the order of first use."""
        u = self._uses
        if u is None or u is UNTRACKED:
            return iter(())
        if u.__class__ is dict:
            return iter(tuple(u))
        return iter((u,))

    @property
    def use_count(self) -> int:
        """How many operands name this value."""
        u = self._uses
        if u is None or u is UNTRACKED:
            return 0
        return sum(u.values()) if u.__class__ is dict else 1

    def uses_by(self, user: Instruction) -> int:
        """How many operands of `user` name this value."""
        u = self._uses
        return u.get(user, 0) if u.__class__ is dict else int(u is user)

    @property
    def has_uses(self) -> bool:
        u = self._uses
        return u is not None and u is not UNTRACKED

    @property
    def is_tracked(self) -> bool:
        return self._uses is not UNTRACKED

    def add_use(self, user: Instruction) -> None:
        u = self._uses
        if u is None:
            self._uses = user
        elif u.__class__ is dict:
            u[user] = u.get(user, 0) + 1
        elif u is not UNTRACKED:
            self._uses = {u: 2} if u is user else {u: 1, user: 1}

    def drop_use(self, user: Instruction) -> None:
        u = self._uses
        if u is user:
            self._uses = None
        elif u.__class__ is dict:
            n = u[user]
            if n > 1:
                u[user] = n - 1
            else:
                del u[user]
                if not u:
                    self._uses = None

    def replace_all_uses_with(self, new: Value) -> None:
        """Every operand that names this value names `new` instead (RAUW).

        Raises TypeError when the register classes differ.
        """
        if new is self:
            return
        if not same_class(self.type, new.type):
            raise TypeError(f"cannot replace a {self.type} by a {new.type}")
        for user in self.users:
            user.replace_operand(self, new)

    # ------------------------------------------------------------ class

    @property
    def is_constant(self) -> bool:
        """Whether the value is known before the program runs: literals, undef and symbols."""
        return False

    @property
    def definer(self) -> Instruction | None:
        """The instruction that makes this value, or None."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or '?'}: {self.type}>"


def same_class(a: Type, b: Type) -> bool:
    """Whether values of these types can stand for each other: one register class at `ori`,
    one type at `nvvm`. A literal fits every class."""
    if a is b:
        return True
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return a.cls is b.cls or a is IMM or b is IMM
    return False


class Result(Value):
    """One of several results of an instruction, at position `index`."""

    __slots__ = ("index", "instruction")

    def __init__(
        self, instruction: Instruction, index: int, type: Type, name: str | None = None
    ) -> None:
        self.type = type
        self.name = name
        self._uses = None
        self.instruction = instruction
        self.index = index

    @property
    def definer(self) -> Instruction:
        return self.instruction


class Argument(Value):
    """A parameter that arrives in a register: `.func (…) f (.reg .b32 %a)`, or any of `nvvm`."""

    __slots__ = ("attributes", "function", "index")

    def __init__(
        self, type: Type, name: str | None, function: Function | None = None, index: int = 0
    ) -> None:
        super().__init__(type, name)
        self.function = function
        self.index = index
        self.attributes: tuple[Any, ...] = ()


class Constant(Value):
    """A literal. Interned by `constant`; compare by identity or by `.type` and `.value`.

    `value` is an int: the number itself for type `imm` and the integer types,
    the bit pattern for the floating types. At `nvvm`, aggregates hold a tuple
    of values, and None is `zeroinitializer`. `name` is the literal's text.
    """

    __slots__ = ("value",)

    def __init__(self, type: Type, value: Any, text: str) -> None:
        self.type = type
        self.value = value
        self.name: str = text
        self._uses = UNTRACKED

    @property
    def is_constant(self) -> bool:
        return True

    def __reduce__(self) -> tuple[object, ...]:
        return constant, (self.type, self.value)


_constants: dict[tuple[Type, Any], Constant] = {}


def constant(type: Type, value: Any) -> Constant:
    """The constant of this type and value (bit pattern for floats); one object for each."""
    key = (type, value)
    c = _constants.get(key)
    if c is None:
        c = _constants[key] = Constant(type, value, literal_text(type, value))
    return c


def integer(value: int) -> Constant:
    """An integer literal of `ori`, which takes the width of the instruction that names it."""
    c = _constants.get((IMM, value))
    return c if c is not None else constant(IMM, value)


def literal_text(type: Type, value: Any) -> str:
    """How the literal is spelled: PTX's `0f`/`0d` forms for its floats, else the number."""
    if type.name == "f32":
        return f"0f{value:08X}"
    if type.name == "f64":
        return f"0d{value:016X}"
    if isinstance(type, ScalarType):
        return str(value)
    if type.name == "i1":
        return "true" if value else "false"
    if value is None:
        return "null" if type.name.startswith("ptr") else "zeroinitializer"
    if type.name in ("half", "bfloat", "float", "double", "fp128"):
        return f"0x{value:0{max(type.bits // 4, 1)}X}"
    return str(value)


class Undef(Value):
    """No particular value, of some type; one object for each type."""

    __slots__ = ()

    def __init__(self, type: Type) -> None:
        self.type = type
        self.name: str = "undef"
        self._uses = UNTRACKED

    @property
    def is_constant(self) -> bool:
        return True

    def __reduce__(self) -> tuple[object, ...]:
        return undef, (self.type,)


_undefs: dict[Type, Undef] = {}


def undef(type: Type) -> Undef:
    u = _undefs.get(type)
    if u is None:
        u = _undefs[type] = Undef(type)
    return u


class SpecialRegister(Value):
    """A read-only register of the machine, such as `%tid.x`.

    `volatile` ones (clocks, counters, %smid …) may differ from read to read, so
    no two reads are one; `uniform` ones agree for all threads of a CTA. `bits` is
    how many low bits may be set on any machine; 0: all of the type's.
    """

    __slots__ = ("bits", "uniform", "volatile")

    def __init__(
        self, name: str, type: Type, volatile: bool, uniform: bool, bits: int = 0
    ) -> None:
        self.bits = bits
        self.type = type
        self.name: str = name
        self._uses = UNTRACKED
        self.volatile = volatile
        self.uniform = uniform

    def __reduce__(self) -> tuple[object, ...]:
        from nvir.ir.special import special_register

        return special_register, (self.name,)


class Symbol(Value):
    """A name that stands for an address: a variable of any state space, or a function.

    Its type is that of the address. Uses are not tracked: a symbol is shared by
    all functions of a module.
    """

    __slots__ = ()

    def __init__(self, type: Type, name: str) -> None:
        self.type = type
        self.name: str = name
        self._uses = UNTRACKED

    @property
    def is_constant(self) -> bool:
        return True


class SymbolOffset(Value):
    """`symbol + offset` as an operand, optionally converted by `generic(…)`; a constant.

    `mask` is 0xFF, 0xFF00 … for the byte-selecting form of initialisers.
    """

    __slots__ = ("generic", "mask", "offset", "symbol")

    def __init__(
        self, symbol: Symbol, offset: int = 0, generic: bool = False, mask: int = 0
    ) -> None:
        self.type = symbol.type
        self._uses = UNTRACKED
        self.symbol, self.offset, self.generic, self.mask = symbol, offset, generic, mask

    @property
    def name(self) -> str:  # type: ignore[override]  # follows the symbol when it is renamed
        base = f"generic({self.symbol.name})" if self.generic else str(self.symbol.name)
        text = f"{base}{self.offset:+d}" if self.offset else base
        return f"{self.mask:#x}({text})" if self.mask else text

    @property
    def is_constant(self) -> bool:
        return True
