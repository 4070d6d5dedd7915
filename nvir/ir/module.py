"""Modules: what one PTX or LLVM file holds."""

from __future__ import annotations

import functools
import re
from typing import Any

import attrs

from nvir.ir.display import Displayed
from nvir.ir.errors import Diagnostic, NvirError
from nvir.ir.function import Function
from nvir.ir.symbols import Param, Variable, address_type
from nvir.ir.types import SCALARS, U64


@attrs.define
class DebugData:
    """What a file says for debuggers: kept whole and printed back in place.

    files       (number, name, rest of the directive) of each `.file`
    sections    `.section` texts as (name, lines)
    producer    what the file's first lines say of the compiler that wrote it, or ""
    """

    files: list[tuple[int, str, str]] = attrs.Factory(list)
    sections: list[tuple[str, list[str]]] = attrs.Factory(list)
    producer: str = ""


class Module(Displayed):
    """A compilation unit of one level.

    level       "ori" or "nvvm"
    target      e.g. "sm_80"; `target_options` further words of `.target`
    version     PTX ISA (major, minor)
    address_size  32 or 64
    globals     variables in declaration order
    functions   in definition order, declarations included
    order       globals and functions as the file interleaves them
    diagnostics warnings of reading
    text        the PTX that it was read from, to which its lines belong, until a pass runs on it
    aux         named metadata, data layout and the like of `nvvm`
    lines       name and lines of the LLVM or own text that its instructions' `line` counts in
    """

    def __init__(
        self,
        target: str = "sm_80",
        *,
        level: str = "ori",
        version: tuple[int, int] | None = None,
        name: str = "module",
        address_size: int = 64,
    ) -> None:
        if not isinstance(target, str):
            raise TypeError(f'the target is a name such as "sm_80", not {target!r}')
        if level not in ("ori", "nvvm"):
            raise ValueError(f"level is 'ori' or 'nvvm', not {level!r}")
        self.level = level
        self.name = name
        self.target = target
        self.target_options: tuple[str, ...] = ()
        self.version = version or default_version(target)
        self.address_size = address_size
        self.globals: list[Variable] = []
        self.functions: list[Function] = []
        self.order: list[Variable | Function] = []
        self.pragmas: tuple[str, ...] = ()
        self.debug = DebugData()
        self.diagnostics: list[Diagnostic] = []
        self.text: str | None = None
        self.refused: list[Diagnostic] = []  # what ptxas refuses of the text that was read
        self.aux: Any = None
        self.lines: tuple[str, list[str]] | None = None

    def place(self, line: int) -> Diagnostic | None:
        """The beginning of a line of the text that was read, counted from 1; None for no line."""
        name, lines = self.read_lines()
        if not 0 < line <= len(lines):
            return None
        source = lines[line - 1]
        return Diagnostic("", name, line, len(source) - len(source.lstrip()) + 1, source)

    def read_lines(self) -> tuple[str, list[str]]:
        """The name and the lines of the text that was read; none where a pass has run on PTX."""
        return self.lines or (self.name, (self.text or "").splitlines())

    def __getitem__(self, name: str) -> Function:
        """The function of that name; KeyError with the names there are."""
        for f in self.functions:
            if f.name == name:
                return f
        known = ", ".join(str(f.name) for f in self.functions) or "none"
        raise KeyError(f"no function {name!r}; the module has {known}")

    @property
    def kernels(self) -> list[Function]:
        return [f for f in self.functions if f.kind == "entry" and not f.is_declaration]

    def add_function(self, function: Function) -> Function:
        function.module = self
        self.functions.append(function)
        self.order.append(function)
        return function

    def add_global(self, variable: Variable) -> Variable:
        self.globals.append(variable)
        self.order.append(variable)
        return variable

    # ------------------------------------------------ building by hand

    def kernel(self, name: str, params: list[tuple[str, str]] | None = None) -> Function:
        """A visible kernel. Parameter types are PTX scalars ("u32") or "ptr.global.f32".

        A pointer is a `.u64` parameter whose `attributes` tell what it points to:
        the builder converts it to that state space where it is first used.
        """
        f = Function(name, "entry", self)
        f.linkage = "visible"
        self._add_params(f, params)
        return self.add_function(f)

    def function(
        self, name: str, params: list[tuple[str, str]] | None = None, result: str | None = None
    ) -> Function:
        """A device function whose parameters and result lie in `.param` space, as nvcc has them."""
        f = Function(name, "func", self)
        self._add_params(f, params)
        if result is not None:
            f.returns.append(self._param("func_retval0", "retval", result, 0))
        return self.add_function(f)

    def _add_params(self, f: Function, params: list[tuple[str, str]] | None) -> None:
        for k, pair in enumerate(params or []):
            if not (isinstance(pair, tuple | list) and [type(x) for x in pair] == [str, str]):
                raise TypeError(f'a parameter is a pair such as ("n", "u32"), not {pair!r}')
            f.params.append(self._param(f"{f.name}_param_{k}", pair[0], pair[1], k))

    def _param(self, symbol: str, name: str, type: str, index: int) -> Param:
        at = address_type(self.address_size)
        if type.startswith("ptr"):
            _, _, pointee = type.partition(".")
            return Param(
                symbol, U64, index, attributes={"name": name, "points": pointee}, address_type=at
            )
        if type not in SCALARS:
            raise NvirError(f"parameter {name!r}: no type is spelled {type!r}")
        return Param(symbol, SCALARS[type], index, attributes={"name": name}, address_type=at)

    def variable(
        self, name: str, space: str, type: str, count: int | None = None, *, align: int = 0,
        init: Any = None, linkage: str = "",
    ) -> Variable:
        """A module-scope variable: `m.variable("tile", "shared", "f32", 256)`."""
        from nvir.ir.types import array

        scalar = SCALARS[type]
        return self.add_global(
            Variable(
                name,
                space,
                scalar if count is None else array(scalar, count),
                align=align,
                init=init,
                linkage=linkage,
                address_type=address_type(self.address_size),
            )
        )

    def __repr__(self) -> str:
        return f"<Module {self.name}: {self.level}, {self.target}, {len(self.functions)} functions>"


# The first PTX ISA version that knows a target; a module is written in the
# oldest one that serves, but no older than 7.0, so that plain features are there.
_FIRST_VERSION = {
    "sm_50": (4, 0), "sm_52": (4, 1), "sm_53": (4, 2), "sm_60": (5, 0), "sm_61": (5, 0),
    "sm_62": (5, 0), "sm_70": (6, 0), "sm_72": (6, 1), "sm_75": (6, 3), "sm_80": (7, 0),
    "sm_86": (7, 1), "sm_87": (7, 4), "sm_89": (7, 8), "sm_90": (7, 8), "sm_90a": (8, 0),
    "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8), "sm_101": (8, 6), "sm_101a": (8, 6),
    "sm_101f": (8, 8), "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8), "sm_120": (8, 7),
    "sm_120a": (8, 7), "sm_120f": (8, 8), "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
    "sm_88": (9, 0), "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0),
}


@functools.cache
def capability(target: str) -> int:
    """The number of an architecture: 80 of "sm_80", 90 of "sm_90a"; 0 of a name without one."""
    found = re.search(r"\d{1,9}", target)  # no target has more
    return int(found[0]) if found is not None else 0


def first_version(target: str) -> tuple[int, int]:
    """The first PTX ISA version that knows a target; (0, 0) where that is not told here."""
    return _FIRST_VERSION.get(target, (0, 0))


def default_version(target: str) -> tuple[int, int]:
    """A PTX ISA version under which `target` may be named."""
    if target in _FIRST_VERSION:
        return max(_FIRST_VERSION[target], (8, 0))
    return (9, 0) if capability(target) >= 100 else (8, 0)
