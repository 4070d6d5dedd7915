"""Names and declared types of registers.

A web of values that all come from one source register keeps its name; others get
a fresh one, `%r<N>` in the manner of nvcc. A register keeps its declared spelling
(f32, u32, …) unless a use would refuse it, as `add.s32` refuses an `.f32`
register; then it is declared by its class, `.b32`, which every use takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nvir.ir import ORI, PRED, SCALARS, Form, Function, OpKind, ScalarType
from nvir.ir.special import special_register
from nvir.ir.values import Argument, Constant, Symbol, SymbolOffset, Undef, Value
from nvir.ptx.interference import Node, Split

# nvcc's prefix for each type of register; other spellings go by their class.
PREFIXES = {
    "pred": "%p", "b8": "%rc", "b16": "%rs", "f32": "%f", "b32": "%r", "f64": "%fd", "b64": "%rd",
    "b128": "%rq",
}
_IDENTIFIER = re.compile(r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)$")
_valid: set[str] = set()  # memo of spellings that can name a register
_VALID_LIMIT = 1 << 18


# A prefix and a plain number ("%r", "12", ""), or a name that stands alone ("", "", "%acc").
NUMBERED = re.compile(r"^(?:([^\d\n]+)(0|[1-9]\d{0,6})|(.+))$", re.MULTILINE)


class RegisterNames(dict[Any, str]):
    """What each operand is printed as: node or value → text.

    Registers of values are entered by `Namer`. Literals, symbols and special
    registers spell themselves when first looked up; an undef then gets a
    register that nobody writes, a literal predicate one that `prologue` sets.

    registers   every register that the body declares, with its type; complete
                when all operands have been looked up
    prologue    (register, literal) of predicates that the body sets first
    functions   the functions that were looked up
    """

    def __init__(self) -> None:
        super().__init__()
        self.registers: dict[str, ScalarType] = {}
        self.arguments: dict[str, ScalarType] = {}
        self.reserved: set[str] = set()
        self.prologue: list[tuple[str, str]] = []
        self.functions: list[Function] = []
        self._next: dict[str, int] = {}
        self._group: dict[str, ScalarType | None] | None = None

    def __missing__(self, v: Value) -> str:
        if isinstance(v, Undef):
            assert isinstance(v.type, ScalarType)
            name = self.fresh(v.type)
        elif isinstance(v, Constant) and v.type is PRED:
            name = self.fresh(PRED)
            self.prologue.append((name, v.name))
        else:
            name = self.source(v)
            if isinstance(v, Function):
                self.functions.append(v)
        self[v] = name
        return name

    def source(self, v: Node) -> str:
        """The name, or the literal itself where a `mov` takes it."""
        if isinstance(v, Constant):
            return v.name
        if isinstance(v, SymbolOffset) and v.symbol in self:
            base = SymbolOffset(Symbol(v.type, self[v.symbol]), v.offset, v.generic, v.mask)
            return base.name
        known = self.get(v)
        if known is not None:
            return known
        return str(v.name) if isinstance(v, Value) and not v.is_tracked else self[v]

    def type_of(self, name: str) -> ScalarType:
        """The declared type of a register."""
        return self.registers.get(name) or self.arguments[name]

    def fresh(self, type: ScalarType) -> str:
        """A new register for this type, under nvcc's prefix unless that means another here."""
        groups = self._groups()
        for spelled in (type, type.cls):
            prefix = PREFIXES.get(spelled.name, "")
            if prefix and groups.setdefault(prefix, spelled) is spelled:
                break
        else:
            spelled, prefix = type.cls, f"%nv_{type.cls.name}_"
            groups.setdefault(prefix, spelled)
        k = self._next.get(prefix, 1)
        while (name := f"{prefix}{k}") in self.registers or name in self.reserved:
            k += 1
        self._next[prefix] = k + 1
        self.registers[name] = spelled
        return name

    def _groups(self) -> dict[str, ScalarType | None]:
        """The type of the registers under each prefix, None where they differ."""
        if self._group is None:
            self._group = {}
            declared = {**self.registers, **self.arguments}
            split = NUMBERED.findall("\n".join(declared))
            for (prefix, index, _), type in zip(split, declared.values(), strict=True):
                if prefix:
                    if self._group.setdefault(prefix, type) is not type:
                        self._group[prefix] = None
                    self._next[prefix] = max(self._next.get(prefix, 0), int(index) + 1)
        return self._group


class Namer:
    """Gives every web its register."""

    def __init__(self, function: Function, reserved: Iterable[str]) -> None:
        self.function = function
        self.names = RegisterNames()
        self.names.reserved.update(reserved)
        self.later: list[tuple[ScalarType, Iterable[Node]]] = []

    def name(self, singles: list[Value], classes: list[list[Node]]) -> RegisterNames:
        for a in (*self.function.params, *self.function.returns):
            if isinstance(a, Argument):
                self._argument(a)
        for web in classes:
            self._web(web)
        self._singles(singles)
        for type, nodes in self.later:
            name = self.names.fresh(type)
            for v in nodes:
                self.names[v] = name
        return self.names

    def _argument(self, a: Argument) -> None:
        names = self.names
        name = str(a.name)
        if not is_register_name(name) or name in names.arguments:
            name = f"%arg{len(names.arguments)}"
        assert isinstance(a.type, ScalarType)
        names[a] = name
        names.arguments[name] = a.type
        names.reserved.add(name)

    def _web(self, web: list[Node]) -> None:
        names = self.names
        values = [v for v in web if isinstance(v, Value)]
        if not values:
            values = [s.source for s in web if isinstance(s, Split) and s.source.is_tracked]
        fixed = next((names[v] for v in values if isinstance(v, Argument)), None)
        if fixed is not None:
            for v in web:
                names[v] = fixed
            return
        types = {v.type for v in values}
        type = values[0].type
        assert isinstance(type, ScalarType)
        declared = type
        if len(types) > 1 or any(_refused(v, type) for v in values):
            type = type.cls
        hints = {v.name for v in values} - {None, "_"}
        hint = hints.pop() if len(hints) == 1 else None
        if hint is None or type is not declared or not self._free(hint):
            self.later.append((type, web))
            return
        names.registers[hint] = type
        for v in web:
            names[v] = hint

    def _singles(self, singles: list[Value]) -> None:
        names = self.names
        registers, reserved = names.registers, names.reserved
        for v in singles:
            if v.__class__ is Argument:
                continue
            name, type = v.name, v.type
            assert type.__class__ is ScalarType
            if type.kind != "b" and v._uses is not None and _refused(v, type):
                self.later.append((type.cls, (v,)))
            elif (
                name in registers or name is None or name in reserved or name == "_"
                or not (name in _valid or is_register_name(name))
            ):
                if name == "_" and v._uses is None:
                    names[v] = "_"
                else:
                    self.later.append((type, (v,)))
            else:
                registers[name] = type
                names[v] = name

    def _free(self, name: str) -> bool:
        names = self.names
        return (
            is_register_name(name) and name not in names.registers and name not in names.reserved
        )


def is_register_name(name: str) -> bool:
    """Whether PTX takes this as the name of a register."""
    if name in _valid:
        return True
    good = (
        _IDENTIFIER.match(name) is not None
        and name not in keywords()
        and special_register(name) is None
    )
    if good:
        if len(_valid) > _VALID_LIMIT:
            _valid.clear()
        _valid.add(name)
    return good


_keywords: set[str] = set()


def keywords() -> set[str]:
    """Words that the assembler keeps for itself."""
    if not _keywords:
        _keywords.add("WARP_SZ")
        _keywords.update(row.split(".")[0] for row in ORI.rows)
    return _keywords


# ------------------------------------------------------------- type rules


def _refused(v: Value, type: ScalarType) -> bool:
    """Whether some use of the value would refuse a register declared with this type."""
    if type.kind not in "fus":
        return False
    memo = _bad_slots[type.kind == "f"]
    for user in v.users:
        f = user.form
        bad = memo.get(f)
        if bad is None:
            bad = memo[f] = _find_bad_slots(f, type.kind)
        if bad and any(user._operands[k] is v for k in bad):
            return True
    return False


_bad_slots: tuple[dict[Form, tuple[int, ...]], dict[Form, tuple[int, ...]]] = ({}, {})


def _find_bad_slots(f: Form, kind: str) -> tuple[int, ...]:
    """Source operands of a form that refuse registers of this kind ("f", or "u" and "s").

    Untyped (`.b32`) instructions take every register. Addresses are integers.
    The last type of an arithmetic mnemonic, or of a store, is that of its
    sources; other rows (matrices, bulk copies) mix them.
    """
    if f.is_phi or f.n_operands < 0 or f.terminator:
        return ()
    floating = kind == "f"
    bases = {base for base, _ in f.addresses}
    kinds = [SCALARS[m].kind for m in f.mods if m in SCALARS]
    refuses = "us" if floating else "f"
    if f.name == "slct":  # d, a, b of the first type, c of the last
        per_slot = [kinds[0], kinds[0], kinds[-1]] if kinds else []
        bad = [k for k, t in enumerate(per_slot) if t in refuses]
    elif kinds and kinds[-1] in refuses and (f.op.pure or f.kind in (OpKind.STORE, OpKind.ATOMIC)):
        bad = list(range(f.n_sources))
    else:
        bad = []
    if floating:
        bad.extend(bases)
    else:
        bad = [k for k in bad if k not in bases]
    return tuple(dict.fromkeys(bad))
