"""What the names of a function body stand for: registers, scopes, symbols, literals."""

from __future__ import annotations

import re
from typing import Any

from nvir.ir import F32, F64, SCALARS, Form, ScalarType, Type
from nvir.ir.special import special_register
from nvir.ptx.literals import literal, to_f32
from nvir.ptx.rules import declared
from nvir.ptx.source import PtxText
from nvir.ptx.statements import (
    ATOM,
    MAX_REGISTERS,
    REG_NAME,
    SINK,
    RawBlock,
    RawFunction,
)

_DIGITS = len(str(MAX_REGISTERS))  # of the number of a register


class LabelScope:
    __slots__ = ("declared", "labels", "numbered", "outer", "prefixes", "ranges", "saved")

    def __init__(self, outer: LabelScope | None) -> None:
        self.outer = outer
        self.labels: dict[str, RawBlock] = {}
        self.declared: set[str] = set()  # names that this scope declares
        self.saved: list[tuple[str, Any]] = []  # names that this scope shadows
        self.numbered: dict[str, list[str]] = {}  # of those by what stands before a number
        self.prefixes: dict[str, Any] = {}  # those it declares, and what they were outside
        self.ranges: dict[str, VectorRange | None] = {}  # the same of vectors


class VectorRange:
    """`.reg .v4 .f32 v<100>`: how many, of which size and type; `made` has the registers of those
    that were named."""

    __slots__ = ("count", "made", "size", "type")

    def __init__(self, count: int, size: int, type: ScalarType) -> None:
        self.count, self.size, self.type = count, size, type
        self.made: dict[str, list[int]] = {}


class Names:
    """The names of one body. `module` resolves symbols (see reader.ModuleReader).

    names      atom text → register number, or a value; filled as atoms turn up
    prefixes   prefix → (count, type, first number by index) of `%r<100>`
    vectors    vector register → its number of elements
    ranges     prefix → the vectors that are declared with a count
    volatile   whether the statement at hand reads a volatile special register
    """

    def __init__(self, source: PtxText, module: Any, function: Any) -> None:
        self.source, self.module, self.function = source, module, function
        self.raw = RawFunction()
        self.names: dict[str, Any] = {"_": SINK}
        self.prefixes: dict[str, tuple[int, ScalarType, dict[int, int]]] = {}
        self.vectors: dict[str, int] = {}
        self.ranges: dict[str, VectorRange] = {}
        self.scope = LabelScope(None)
        self.volatile = False

    def _leave_scope(self) -> None:
        scope = self.scope
        for name, old in reversed(scope.saved):
            if old is None:
                self.names.pop(name, None)
            else:
                self.names[name] = old
        for prefix, before in reversed(scope.prefixes.items()):
            numbers = self.prefixes[prefix][2]
            for k in numbers:
                self.names.pop(f"{prefix}{k}", None)
            if before is None:
                del self.prefixes[prefix]
            else:
                self.prefixes[prefix] = before
        for prefix, outer in scope.ranges.items():
            self._hide(self.ranges.pop(prefix))
            if outer is not None:
                self.ranges[prefix] = outer
        self.scope = scope.outer or scope

    def _declare(self, name: str, value: Any, offset: int) -> None:
        """Bind a name in the innermost scope; an outer meaning returns when it ends."""
        scope = self.scope
        if name in scope.declared:
            self.source.error(f"'{name}' is declared twice", offset)
            return
        scope.declared.add(name)
        if name in scope.labels or (scope.outer is None and (
            name in self.module.own or isinstance(self.names.get(name), int)
        )):
            self.source.refuse(f"'{name}' is declared twice", offset)
        prefix = name.rstrip("0123456789")
        for k in range(max(len(prefix), len(name) - _DIGITS), len(name)):
            scope.numbered.setdefault(name[:k], []).append(name)
        if prefix != name and prefix in scope.prefixes:
            self._check_number(name, prefix, offset)
        self.scope.saved.append((name, self.names.get(name)))
        self.names[name] = value

    def _check_number(self, name: str, prefix: str, offset: int) -> None:
        """`%r2` beside `%r<4>` in one scope."""
        if name in (f"{prefix}{int(name[len(prefix):][:9])}",) \
                and int(name[len(prefix):]) < self.prefixes[prefix][0]:
            self.source.refuse(f"'{name}' is declared twice: {prefix}<"
                               f"{self.prefixes[prefix][0]}> has it", offset)

    def new_register(self, name: str | None, type: Type) -> int:
        raw = self.raw
        raw.reg_names.append(name)
        raw.reg_types.append(type)
        return len(raw.reg_names) - 1

    def _registers(self, text: str, offset: int) -> None:
        """`.reg .b32 %r<100>, x;`, `.reg .v4 .f32 v;`"""
        words = re.match(r"((?:\s*\.\w+)*)", text)
        qualifiers = words[1].split() if words else []
        names = text[words.end() :] if words else text
        qualifiers = [q for part in qualifiers for q in part.split(".") if q]
        if "align" in qualifiers[:1]:  # without a meaning for a register
            qualifiers, names = qualifiers[1:], names.lstrip("0123456789 \t")
            again = re.match(r"((?:\s*\.\w+)*)", names)
            qualifiers += again[1].replace(".", " ").split() if again else []
            names = names[again.end():] if again else names
        vector = {"v2": 2, "v4": 4}.get(qualifiers[0] if qualifiers else "", 0)
        spelling = qualifiers[-1] if qualifiers else ""
        type = SCALARS.get(spelling)
        if type is None:
            self.source.error(f"no register type is spelled '.{spelling}'", offset)
            return
        self.source.refuse(declared.type_problem(type, vector or 1), offset)
        if type.name == "b128" and self.module.module.version < (8, 3):
            self.source.refuse(".b128 needs PTX 8.3", offset)
        if type.name in declared.OPAQUE:
            self.source.refuse(f".{type.name} is no type of registers", offset)
        if len(qualifiers) > 1 + bool(vector):
            self.source.refuse(f"unexpected '.{qualifiers[-2]}' before .{spelling}", offset)
        if not names.strip():
            return
        for item in names.split(","):
            m = REG_NAME.match(item)
            if m is None:
                self.source.error(f"expected a register name, not '{item.strip()}'", offset)
                continue
            name, count = m[1], m[2]
            if vector:
                self._vectors(name, count, vector, type, offset)
            elif count is not None:
                self._parameterised(name, int(count[:9]), type, offset)
            else:
                self._declare(name, self.new_register(name, type), offset)

    def _vectors(
        self, name: str, count: str | None, size: int, type: ScalarType, offset: int
    ) -> None:
        """`.reg .v2 .b32 v;` and `.reg .v2 .b32 v<4>;`: a register for each element."""
        if count is None:
            for part, colour in zip("xyzw"[:size], "rgba", strict=False):  # two names of one
                register = self.new_register(f"{name}_{part}", type)
                self._declare(f"{name}.{part}", register, offset)
                self._declare(f"{name}.{colour}", register, offset)
            self.vectors[name] = size
            return
        if int(count[:9]) > MAX_REGISTERS:
            self.source.error(f"{count[:9]} vectors in one declaration are too many", offset)
        elif name in self.scope.ranges:
            self.source.error(f"registers '{name}<…>' are declared twice", offset)
        else:
            before = self.scope.ranges[name] = self.ranges.get(name)
            if before is not None:
                self._hide(before)
            self.ranges[name] = VectorRange(int(count[:9]), size, type)

    def _hide(self, vectors: VectorRange) -> None:
        for own in vectors.made:
            self.vectors.pop(own, None)
            for part in "xyzwrgba":
                self.names.pop(f"{own}.{part}", None)

    def _vector(self, name: str) -> int:
        """How many elements the vector of a name has, 0 if it is none; one of a range gets its
        registers when it is first named."""
        size = self.vectors.get(name, 0)
        k = len(name.rstrip("0123456789")) if self.ranges and not size else len(name)
        while k < len(name):
            found, number = self.ranges.get(name[:k]), name[k:]
            if found is not None and number == str(int(number[:9])) and int(number) < found.count:
                parts = "xyzw"[: found.size]
                if name not in found.made:
                    found.made[name] = [self.new_register(f"{name}_{p}", found.type) for p in parts]
                for part, colour, register in zip(parts, "rgba", found.made[name], strict=False):
                    self.names[f"{name}.{part}"] = self.names[f"{name}.{colour}"] = register
                self.vectors[name] = found.size
                return found.size
            k += 1
        return size

    def _parameterised(self, prefix: str, count: int, type: ScalarType, offset: int) -> None:
        before = self.prefixes.get(prefix)
        if count > MAX_REGISTERS:
            self.source.error(f"{count} registers in one declaration are too many", offset)
            return
        if before is not None and self.scope.outer is None:
            self.source.error(f"registers '{prefix}<…>' are declared twice", offset)
            return
        if prefix in self.scope.prefixes:
            self.source.refuse(f"registers '{prefix}<…>' are declared twice", offset)
        for name in self.scope.numbered.get(prefix, ()):
            number = name[len(prefix):]
            if str(int(number)) == number and int(number) < count:
                self.source.refuse(f"'{name}' is declared twice: {prefix}<{count}> has it", offset)
        if before is not None:  # shadowed: the outer ones must be looked up anew
            for k in before[2]:
                self.names.pop(f"{prefix}{k}", None)
        self.scope.prefixes.setdefault(prefix, before)
        self.prefixes[prefix] = (count, type, {})

    def _resolve(self, atom: str, f: Form | None, m: re.Match[str]) -> Any:
        """The register number or value of an atom not met before; None after an error."""
        first = atom[0]
        if first.isdigit() or first in "-." or atom == "WARP_SZ":
            c = literal(atom)
            if c is None:
                self.source.error(f"'{atom}' is no literal", self._where(atom, m))
                return None
            if c.type is F64 and atom[:2] not in ("0d", "0D"):
                if f is not None and f.type is F32:
                    return to_f32(c)  # a decimal fraction takes the instruction's type
                return c
            self.names[atom] = c
            return c
        number = self._register(atom)
        if number is None and self.ranges and self._vector(atom.partition(".")[0]):
            number = self.names.get(atom)
        if number is not None:
            return number
        special = special_register(atom) if first == "%" else None
        if special is not None:
            if special.volatile:
                self.volatile = True
            else:
                self.names[atom] = special
            return special
        symbol = self.module.symbol(atom, self.function)
        if symbol is not None:
            self.names[atom] = symbol
            return symbol
        kind = "register" if first == "%" else "identifier"
        self.source.error(f"undeclared {kind} '{atom}'", self._where(atom, m))
        return None

    def _register(self, atom: str) -> int | None:
        """The number of a register declared as `%r<100>`, or None."""
        k = len(atom.rstrip("0123456789"))
        while k < len(atom):  # `%r1<10>` may be declared beside `%r<100>`
            entry = self.prefixes.get(atom[:k])
            digits = atom[k:]
            if entry is not None and len(digits) < 10:
                count, type, numbers = entry
                index = int(digits)
                if index < count:
                    name = f"{atom[:k]}{index}"  # `%r01` is `%r1`
                    number = numbers.get(index)
                    if number is None:
                        number = numbers[index] = self.new_register(name, type)
                    self.names[name] = number
                    return number
            k += 1
        return None

    def _where(self, atom: str, m: re.Match[str]) -> int:
        """Offset of an atom within its statement."""
        for part in ATOM.finditer(m[4]):
            if part[0] == atom:
                return m.start(4) + part.start()
        return m.start(2) if m[2] == atom else m.start(3)


def find_label(name: str, scope: LabelScope | None) -> RawBlock | None:
    while scope is not None:
        block = scope.labels.get(name)
        if block is not None:
            return block
        scope = scope.outer
    return None
