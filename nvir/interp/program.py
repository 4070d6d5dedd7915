"""A module made ready to run: where its symbols lie, plans of its functions, shared constants."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from nvir.interp.layout import Array, MemoryLayout, Windows, parameter_layout
from nvir.interp.leaves import real
from nvir.interp.memory import PARAMETERS, Arena
from nvir.interp.plan import FunctionPlan
from nvir.interp.rows import Rows
from nvir.ir import Function, LaunchError, Module, Param, Unsupported, Variable
from nvir.ir.values import Constant, Symbol, SymbolOffset
from nvir.ir.verify import verify


@functools.cache
def rows_of(level: str) -> Rows:
    """The rows of a level, "ori" or "nvvm"."""
    if level == "ori":
        from nvir.interp.ori_level import ori

        return ori()
    from nvir.interp.nvvm import nvvm_rows

    return nvvm_rows()


_OPAQUE = ("texref", "samplerref", "surfref")


class Program:
    """Everything that one launch shares. Built by grid.py: globals, then parameters, then `seal`.

    reached       the kernel and the functions that it may call
    signature     the kernel's parameters
    params        generic address of each of them
    shared        layout of the shared variables that the kernel can reach; `dynamic` is the offset
                  of `.extern .shared` arrays
    functions_at  function by its (made up) address
    trace         called with (group, instruction, results) after each instruction, or None
    stack_size    bytes of a thread's dynamic stack
    literals      (vector of one element, offset, access, number) of each parameter that code holds
    """

    def __init__(self, module: Module, kernel: Function, arena: Arena | None = None) -> None:
        self.module, self.kernel = module, kernel
        self.rows: Rows = rows_of(module.level)
        self.storage = self.rows.storage
        self.signature = self.storage.signature(kernel)
        self.windows = Windows.of(module.address_size)
        self.arena = Arena(self.windows.arena) if arena is None else arena
        self.plans: dict[Function, FunctionPlan] = {}
        self.params: dict[Param, int] = {}
        self.addresses: dict[Any, int] = {}
        self.functions_at: dict[int, Function] = {}
        self.trace: Callable[..., None] | None = None
        self.handles: dict[int, Any] = {}
        self.textures: dict[Any, Any] = {}
        self.literals: list[tuple[Array, Array, Any, int]] = []
        self._constants: dict[tuple[int, Any], Array] = {}
        self._named: dict[Function, list[Symbol]] = {}
        self.reached = self._reached()
        for f in self.reached:
            verify(f)
        self._place_functions()
        self._place_shared()
        self.stack_size = (1 << 14) if any(map(self.storage.uses_stack, self.reached)) else 0

    def uses(self, row: str) -> bool:
        """Whether what may run has an operation of this row."""
        return any(i.form.name == row for f in self.reached for i in f.instructions())

    @functools.cached_property
    def separable(self) -> bool:
        """Whether CTAs can't tell in which order they run: no calls, no atomics of memory that they
        share, no loads that wait for others."""
        return not any(
            form.is_call
            or (form.reads and form.writes and form.space != "shared")
            or (form.reads and (form.pinned or form.sync or form.volatile))
            for f in self.reached
            for form in {i.form for i in f.instructions()}
        )

    def source_of(self, i: Any) -> str:
        """`file:line` of an instruction where the module has line tables, else ""."""
        loc = None if i is None else getattr(real(i), "loc", None)
        files = {number: name for number, name, *_ in self.module.debug.files}
        return f"{files[loc.file]}:{loc.line}" if loc is not None and loc.file in files else ""

    def place_of(self, i: Any) -> tuple[str, int, int]:
        """(file, line, column) of an instruction in the text that was given: the source where that
        was compiled, else the text that was read; the line 0 where it has none."""
        i, module = real(i), self.module
        sources = {number: name for number, name, *_ in module.debug.files}
        if module.name in sources.values():  # what was read is the compiler's, not the user's
            found = i.loc is not None and sources.get(i.loc.file) == module.name
            return module.name, *((i.loc.line, i.loc.col) if found else (0, 0))
        name, lines = module.read_lines()
        if not 0 < i.line <= len(lines):
            return module.name, 0, 0
        word = re.compile(rf"(?<![\w.%$]){re.escape(i.form.spelling)}(?![\w.])")
        same = [x for x in i.block.function.instructions()
                if x.line == i.line and x.form.spelling == i.form.spelling]
        columns = [m.start() + 1 for m in word.finditer(lines[i.line - 1])]
        at = columns[same.index(i)] if len(columns) == len(same) else 1
        return name, i.line, at

    def _place_functions(self) -> None:
        for k, f in enumerate(self.module.functions):
            address = self.windows.code + 16 * (k + 1)
            self.addresses[f] = address
            self.functions_at[address] = f

    def _place_shared(self) -> None:
        """Static shared variables one after the other; dynamic ones all begin behind them."""
        self.shared = MemoryLayout()
        dynamic: list[Variable] = []
        align = 16
        for v in self._shared_variables():
            size = self.storage.size(v)
            if v.linkage == "extern" and size == 0:
                dynamic.append(v)
                align = max(align, self.storage.align(v))
            else:
                # Vector accesses of arrays that are declared too loosely work on hardware, where
                # variables happen to be aligned; let them work here always.
                least = min(16, 1 << (max(size, 1).bit_length() - 1))
                self.shared.reserve(v, size, max(self.storage.align(v), least))
        self.dynamic = -(-self.shared.size // align) * align if dynamic else self.shared.size
        for v in dynamic:
            self.shared.offsets[v] = self.dynamic

    def _shared_variables(self) -> Iterable[Variable]:
        used = {v for f in self.reached for v in self._named[f]}
        for v in self.module.globals:
            if v.space == "shared" and v in used:
                yield v
        for f in self.reached:
            yield from (v for v in f.locals if v.space == "shared")

    def _reached(self) -> list[Function]:
        """The kernel and what it may call: all functions whose address is taken count."""
        found = [self.kernel]
        seen = {self.kernel}
        for f in found:
            named = self._named[f] = self._symbols_of(f)
            targets = [v for v in named if isinstance(v, Function)]
            for i in f.instructions():
                if i.form.is_call:
                    callee = getattr(i.aux, "callee", None)
                    if isinstance(callee, Function):
                        targets.append(callee)
                    elif callee is None:
                        targets.extend(g for g in self.module.functions if not g.is_kernel)
            for t in targets:
                if t not in seen:
                    seen.add(t)
                    found.append(t)
        return found

    def _symbols_of(self, function: Function) -> list[Symbol]:
        """The functions and variables that the operands of a function name."""
        operands: Iterable[Any] = (v for i in function.instructions() for v in i.operands)
        if self.rows.level != "ori":
            from nvir.ir.nvvm_values import symbols_in

            operands = [s for v in operands if v.is_constant for s in symbols_in(v)]
        named = dict.fromkeys(v for v in operands if isinstance(v, (Symbol, SymbolOffset)))
        return [v.symbol if isinstance(v, SymbolOffset) else v for v in named]

    # -------------------------------------------------------------- memory

    def place_globals(self, given: dict[str, Any]) -> None:
        """Reserve global and const variables; those in `given` take the size of its arrays."""
        for v in self._all_globals():
            if v.space not in ("global", "const"):
                continue
            if v.element_type.name in _OPAQUE:
                self.addresses[v] = self.windows.code + 0x1000_0000 + 16 * len(self.addresses)
                self.handles[self.addresses[v]] = v
                continue
            size = self.storage.size(v)
            array = given.get(str(v.name))
            if array is not None:
                if size and array.nbytes != size:
                    raise LaunchError(
                        f"global {v.name} has {size} bytes, {array.nbytes} given",
                        kernel=str(self.kernel.name),
                    )
                size = array.nbytes
            elif v.linkage == "extern" and not v.init:
                raise LaunchError(
                    f"{v.name} is declared extern: give it in `globals`",
                    kernel=str(self.kernel.name),
                )
            align = max(self.storage.align(v), 16)
            self.addresses[v] = self.arena.allocate(
                f"{v.space} {v.name}", size, align, v.space == "const", array
            )

    def _all_globals(self) -> Iterable[Variable]:
        yield from (v for v in self.module.globals if not str(v.name).startswith("llvm."))
        for f in self.module.functions:
            yield from (v for v in f.locals if v.space in ("global", "const"))

    def place_parameters(self) -> None:
        layout = parameter_layout(self.signature)
        base = self.arena.allocate(PARAMETERS, max(layout.size, 1), 256, True)
        self.params = {p: base + at for p, at in layout.offsets.items()}

    def set_parameters(self, data: bytes) -> None:
        """Give the parameters new bytes; code that was made keeps them as literals."""
        from nvir.interp.access import gather

        base = next(iter(self.params.values()))
        self.arena.bytes_at(base, len(data))[:] = np.frombuffer(data, np.uint8)
        for value, at, access, k in self.literals:
            value[...] = gather(self.arena, at, access, k)

    def initialise(self) -> None:
        """Write the initial values of the variables, after `arena.seal`."""
        for v in self._all_globals():
            address = self.addresses.get(v)
            if v.init is not None and address is not None and v.space in ("global", "const"):
                image = self.storage.image(self, v)
                self.arena.bytes_at(address, len(image))[:] = image

    def initial(self, value: Any) -> int:
        """The number that a scalar of an initialiser stands for."""
        if isinstance(value, Constant):
            if isinstance(value.value, tuple):
                raise Unsupported(f"an initial value of type {value.type} among scalars")
            return int(value.value)
        if isinstance(value, SymbolOffset):
            space, base = self.place(None, value.symbol)
            base += value.offset
            if value.generic and space == "shared":
                base += self.windows.shared
            if value.mask:
                shift = (value.mask & -value.mask).bit_length() - 1
                return (base & value.mask) >> shift
            return base
        return self.place(None, value)[1]

    def place(self, plan: FunctionPlan | None, symbol: Any) -> tuple[str, int]:
        """(space, address in it) of a symbol; of a frame's variable the offset in the frame."""
        at = self.addresses.get(symbol)
        if at is not None:
            return ("", at) if isinstance(symbol, Function) else ("global", at)
        at = self.params.get(symbol)
        if at is not None and (plan is None or plan.function is self.kernel):
            return "global", at
        at = self.shared.offsets.get(symbol)
        if at is not None:
            return "shared", at
        if plan is not None:
            at = plan.frame.offsets.get(symbol)
            if at is not None:
                return "local", at
        raise Unsupported(f"the address of {symbol.name} in .{getattr(symbol, 'space', 'code')}")

    # --------------------------------------------------------------- plans

    def plan(self, function: Function) -> FunctionPlan:
        plan = self.plans.get(function)
        if plan is None:
            plan = self.plans[function] = FunctionPlan(function, self)
        return plan

    def pair(self, value: int) -> Array:
        """A vector of one element of 128 bits."""
        key = (value, None)
        found = self._constants.get(key)
        if found is None:
            words = [value & (1 << 64) - 1, value >> 64 & (1 << 64) - 1]
            found = self._constants[key] = np.array([words], np.uint64)
        return found

    def constant(self, value: int, dtype: Any) -> Array:
        """A vector of one element with the low bits of `value`."""
        key = (value, dtype)
        found = self._constants.get(key)
        if found is None:
            bits = 8 * dtype.itemsize
            if dtype.kind == "b":
                found = np.array([bool(value)])
            else:
                found = np.array([value & ((1 << bits) - 1)], f"u{dtype.itemsize}").view(dtype)
            self._constants[key] = found
        return found
