"""Selecting a module: its variables and functions, the target, the options.

    nvir.passes.select.select_module(module) -> Module

Symbols keep their names, with `_$_` for what PTX does not take. Variables become scalars or
arrays of bytes, with trailing zeros left out; one that holds addresses an array of
words, or, where an address is not aligned, of masked bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs

from nvir.ir import Constant, Function, Symbol, SymbolOffset, Undef, Value, bulk, constant, integer
from nvir.ir.errors import ParseError, Unsupported
from nvir.ir.intrinsics import find
from nvir.ir.layout import align_of, size_of
from nvir.ir.module import Module, capability, default_version
from nvir.ir.nvvm_values import named_in
from nvir.ir.symbols import Variable
from nvir.ir.types import B8, B64, SCALARS, ArrayType, FloatType, IntType, PointerType, array
from nvir.passes.select import abi, constants
from nvir.passes.select.function import select_function
from nvir.passes.select.options import Options
from nvir.passes.select.selector import Selector

MAX_INITIAL = 1 << 28  # bytes of an initial value that is not all zeroes
_NOT_IN_NAMES = re.compile(r"[^\w$]")
_DIRECTIVES = ("maxntid", "reqntid", "minnctapersm", "maxnreg", "maxclusterrank",
               "reqnctapercluster", "explicitcluster", "noreturn")


class ModuleSelector:
    """What the functions of a module share. `sm` is the target's number: 80, 90 …"""

    def __init__(self, source: Module, options: Options) -> None:
        self.source, self.options = source, options
        self.target = Module(
            source.target, version=_version(source), name=source.name,
            address_size=source.address_size,
        )
        self.sm = capability(source.target) or 80
        self.symbols: dict[Symbol, Symbol] = {}
        self.names: set[str] = set()
        self.assembled: dict[str, Symbol] = {}  # what assembly at module level makes
        self.named = named_in(source)
        self.alignments = abi.alignments(source)
        self.selected: list[Selector] = []

    # ------------------------------------------------------------- names

    def fresh_name(self, base: str) -> str:
        """`base` with the first number that is free."""
        k = 0
        while f"{base}{k}" in self.names:
            k += 1
        self.names.add(f"{base}{k}")
        return f"{base}{k}"

    def _name(self, name: str) -> str:
        clean = _NOT_IN_NAMES.sub("_$_", name)
        if clean[:1].isdigit() or not clean:
            clean = f"_{clean}"
        while clean in self.names:
            clean += "_"
        self.names.add(clean)
        return clean

    def symbol(self, v: Symbol) -> Symbol:
        """What stands for a symbol in the new module."""
        found = self.symbols.get(v)
        if found is None:
            raise Unsupported(f"the symbol {v.name}, which is not of this module")
        return found

    # --------------------------------------------------------------- all

    def run(self) -> Module:
        source, target = self.source, self.target
        if isinstance(source.aux, dict) and source.aux.get("asm"):
            self._assembly(str(source.aux["asm"]))
        target.debug = attrs.evolve(source.debug)
        target.target_options = source.target_options
        # As in LLVM a kernel's names come first: others make way for them.
        for x in source.order:
            if isinstance(x, Function):
                self._head(x)
            elif not str(x.name).startswith("llvm."):
                self._variable(x)
        for x in source.globals:
            if x in self.symbols and x.init is not None:
                self._initialise(x)
        for x in source.functions:
            if isinstance(x.aux, dict) and "alias" in x.aux:
                alias = self.symbols[x]
                assert isinstance(alias, Function)
                alias.aux = {"alias": self.symbols[x.aux["alias"]]}
        target.globals[:] = in_order_of_names(target.globals)
        for f in source.functions:
            if f in self.symbols and _is_defined(f):
                new = self.symbols[f]
                assert isinstance(new, Function)
                s = Selector(self, f, new)
                select_function(s)
                self.selected.append(s)
        return target

    def _assembly(self, text: str) -> None:
        """PTX at module level joins the module; what the source only declares may be in it."""
        from nvir.ptx.reader import read_ptx

        t = self.target
        version = ".".join(map(str, t.version))
        head = f".version {version}\n.target {t.target}\n.address_size {t.address_size}\n"
        try:
            read = read_ptx(head + text)
        except ParseError as e:
            raise Unsupported(f"assembly at module level: {e.errors[0].message}") from None
        for x in read.order:
            if isinstance(x, Function):
                t.add_function(x)
            else:
                t.add_global(x)
            self.names.add(str(x.name))
            self.assembled[str(x.name)] = x

    def _head(self, f: Function) -> None:
        name = str(f.name)
        aliased = f.aux.get("alias") if isinstance(f.aux, dict) else None
        called = f in self.named and not find(name)
        defined = _is_defined(f)
        if name.startswith("llvm.") or not (defined or called or aliased):
            return
        if not f.blocks and name in self.assembled:
            self.symbols[f] = self.assembled[name]
            return
        new = Function(self._name(name), f.kind, self.target)
        new.linkage = _linkage(f.linkage, declared=not defined)
        new.loc = f.loc
        new.pragmas, new.flags = f.pragmas, set(f.flags)
        abi.declare(f, new, self.alignments.get(name, {}))
        # A kernel has the bounds of its launch, a function that it does not return.
        new.directives = {n: v for n, v in f.directives.items() if n in _DIRECTIVES
                          and (n == "noreturn") == (f.kind == "func")}
        self.symbols[f] = self.target.add_function(new)

    # --------------------------------------------------------- variables

    def _variable(self, v: Variable) -> None:
        t = v.value_type
        size, align = size_of(t), max(v.align, align_of(t))
        extern = v.linkage in ("extern", "external", "extern_weak", "available_externally")
        if extern and v not in self.named:
            return
        if extern and v.name in self.assembled:
            self.symbols[v] = self.assembled[str(v.name)]
            return
        new = Variable(self._name(str(v.name)), v.space, B8, align=align, address_type=B64)
        undefined = isinstance(t, ArrayType) and t.count == 0
        if v.linkage == "common" and v.space != "global":
            new.linkage = "weak"  # PTX has .common for .global alone
        elif v.space == "shared":
            new.linkage = "extern" if extern or undefined else ""
        else:
            new.linkage = _linkage(v.linkage, declared=extern or (undefined and v.init is None))
        scalar = _scalar(t)
        new.value_type = SCALARS[scalar] if scalar else array(B8, size)
        if "managed" in v.attributes:
            new.attributes["attribute"] = ".managed"
        self.symbols[v] = self.target.add_global(new)

    def _initialise(self, v: Variable) -> None:
        new = self.symbols[v]
        assert isinstance(new, Variable)
        if isinstance(v.init, Undef) or (isinstance(v.init, Constant) and v.init.value is None):
            return  # zeroes, of which there may be any number
        t = v.value_type
        if size_of(t) > MAX_INITIAL:
            raise Unsupported(f"an initial value of {size_of(t)} bytes, {v.name}")
        data, found = bytearray(size_of(t)), dict[int, Value]()
        constants.place(v.init, t, 0, data, found)
        if v.space in ("shared", "local"):
            if any(data) or found:
                raise Unsupported(f"a variable of {v.space} memory with an initial value, {v.name}")
            return
        if found:
            self._with_addresses(new, data, found)
        elif any(data):
            number = int.from_bytes(data, "little")
            if new.dimensions:
                new.init = tuple(map(integer, bytes(data).rstrip(b"\0")))
            elif new.value_type.name in ("f32", "f64"):
                new.init = constant(new.value_type, number)
            else:
                new.init = integer(number)

    def _with_addresses(self, new: Variable, data: bytearray, found: dict[int, Value]) -> None:
        whole_words = all(at % 8 == 0 and size_of(v.type) >= 8 for at, v in found.items())
        if whole_words and len(data) % 8 == 0 and new.align >= 8:
            new.value_type = array(SCALARS["u64"], len(data) // 8) if len(data) > 8 \
                else SCALARS["u64"]
            words = [
                self._address(found[at]) if at in found
                else integer(int.from_bytes(data[at : at + 8], "little"))
                for at in range(0, len(data), 8)
            ]
            new.init = tuple(words) if len(words) > 1 else words[0]
            return
        bytes_: list[Value] = [integer(b) for b in data]
        for at, v in found.items():
            whole = self._address(v)
            for k in range(min(8, size_of(v.type))):  # `ptrtoint … to i32` is the low half
                bytes_[at + k] = SymbolOffset(
                    whole.symbol, whole.offset, whole.generic, 0xFF << 8 * k
                )
        new.value_type, new.init = array(SCALARS["u8"], len(data)), tuple(bytes_)

    def _address(self, v: Value) -> SymbolOffset:
        a = constants.address(v)
        assert a.symbol is not None
        generic = constants.is_generic_address(v)
        return SymbolOffset(self.symbol(a.symbol), a.offset, generic)


def in_order_of_names(variables: list[Variable]) -> list[Variable]:
    """The variables, each behind those that its initial value names, else in their order: the
    assembler takes no address of a variable that it has not read yet."""
    made: dict[Variable, None] = {}
    for v in variables:
        todo: dict[Variable, Iterator[Variable]] = {v: _named_by(v)}  # the way down, innermost last
        while todo and v not in made:
            inner = next(reversed(todo))
            below = next((x for x in todo[inner] if x not in made), None)
            if below is None:
                made[inner] = None
                del todo[inner]
            elif below in todo:
                names = ", ".join(str(x.name) for x in todo)
                raise Unsupported(f"initial values that name each other: {names}")
            else:
                todo[below] = _named_by(below)
    return list(made)


def _named_by(v: Variable) -> Iterator[Variable]:
    words = v.init if isinstance(v.init, tuple) else (v.init,)
    return iter([w.symbol for w in words if isinstance(w, SymbolOffset)
                 and isinstance(w.symbol, Variable)])


def _scalar(t: Any) -> str:
    """The PTX type of a variable that is no array of bytes, or nothing."""
    if isinstance(t, PointerType):
        return "u64"
    if isinstance(t, IntType) and t.bits in (8, 16, 32, 64):
        return f"u{t.bits}"
    if isinstance(t, FloatType):
        return {"float": "f32", "double": "f64", "half": "u16", "bfloat": "u16"}.get(t.name, "")
    return ""


def _is_defined(f: Function) -> bool:
    """Whether the module has the function's code, not just a copy for the passes to look at."""
    return bool(f.blocks) and f.linkage != "available_externally"


def _linkage(word: str, declared: bool) -> str:
    """PTX's word for LLVM's."""
    if declared or word in ("extern", "available_externally"):
        return "extern"
    if word in ("internal", "private"):
        return ""
    if word.startswith(("weak", "linkonce")):
        return "weak"
    return "common" if word == "common" else "visible"


def _version(source: Module) -> tuple[int, int]:
    return max(source.version, default_version(source.target))


def select_module(module: Module, options: Options | None = None) -> Module:
    """A module of level `nvvm` as a new one of level `ori`; the old one is not changed.

    Raises Unsupported, naming what PTX cannot do or this pass does not, and the function.
    """
    if module.level != "nvvm":
        raise Unsupported(f"selecting a module of level '{module.level}'")
    with bulk():
        return ModuleSelector(module, options or Options()).run()

