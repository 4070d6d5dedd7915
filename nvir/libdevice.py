"""The bodies of libdevice's functions, for modules that call them: NVIDIA's own, or nvir's.

    bodies(["__nv_sinf"], module) -> Module

Method   libdevice is bitcode, which nvir does not read; but libnvvm does, and prints what it
         selects from (`-Xllc -print-isel-input`). So a module that only names the functions is
         compiled without optimisation, and the text that libnvvm prints is read: each function
         with what it calls inlined. Tables of coefficients come from the PTX of the same run, types
         of structs from what is inserted into their values. Where libnvvm is not installed,
         nvir's own mathematics (nvir.frontend.libm) takes its place.
Cost     a third of a second for the first use of a set of functions, nothing for the next.
Source   NVIDIA, "Libdevice User's Guide"; "NVVM IR Specification", Reflection Parameters.
"""

from __future__ import annotations

import functools
import re

import attrs

from nvir.ir import Argument, Function, IntType, Module, PointerType, Type

_DEFINITION = re.compile(r"^define [^\n]*?@([\w.$]+)\(.*?^\}", re.MULTILINE | re.DOTALL)
_ATTACHED = re.compile(r", ![a-zA-Z][\w.]* !\d+")
_CALLED = re.compile(r"call (?:[a-z]+ )*?([\w.<>\[\]{} ]+?\**) @([\w.$]+)\(([^)]*)\)")
_MEMBER = re.compile(r"insertvalue (%[\w.]+) \S+, (\w+) \S+, (\d+)")
_TABLE = re.compile(
    r"^\.(?:global|const) \.align (\d+) \.b8 ([\w$]+)\[(\d+)\] = \{([\d, ]+)\};", re.MULTILINE)


def bodies(names: list[str], module: Module, ftz: bool = False) -> Module:
    """A module of level nvvm with those of the functions that are known, and what they need.
    `module` declares them, and says what they are compiled for; `ftz`: subnormals are zero."""
    declared = {f.name: _signature(f) for f in module.functions if f.name in names}
    wanted = tuple(sorted((name, text) for name, text in declared.items() if text))
    text = _by_libnvvm(wanted, module.target, ftz)
    if text is None:
        return _own([name for name, _ in wanted], module.target)
    from nvir.llvm.reader import read_ll

    return read_ll(text.encode())  # bytes are text, were they empty


def _signature(f: Function) -> str:
    """`float @__nv_powf(float, float)` in the words of an LLVM 7, "" where it has none."""
    params = [p.type for p in f.params if isinstance(p, Argument)]
    words = [_word(t) for t in (f.return_type, *params)]
    return f"{words[0]} ({', '.join(words[1:])})" if all(words) else ""


def _word(t: Type) -> str:
    if isinstance(t, PointerType):
        return "i8*" if t.space == 0 else ""
    return t.name if t.name in ("void", "float", "double") or isinstance(t, IntType) else ""


@functools.lru_cache(maxsize=64)
def _by_libnvvm(wanted: tuple[tuple[str, str], ...], arch: str, ftz: bool) -> str | None:
    """The functions as LLVM 7 text; None without libnvvm or libdevice, or where it refuses them."""
    from nvir.ir.layout import DATA_LAYOUT, TRIPLE
    from nvir.toolchain import libnvvm
    from nvir.toolchain.errors import ToolError

    uses = ", ".join(f"i8* bitcast ({t}* @{n} to i8*)" for n, t in wanted)
    lines = [f'target datalayout = "{DATA_LAYOUT}"', f'target triple = "{TRIPLE}"',
             *(f"declare {t.replace(' (', f' @{n}(', 1)}" for n, t in wanted),
             f"@llvm.used = appending global [{len(wanted)} x i8*] [{uses}], "
             'section "llvm.metadata"', "!nvvmir.version = !{!0}", "!0 = !{i32 2, i32 0}", ""]
    known = arch if int(re.sub(r"\D", "", arch) or 80) in range(75, 100) else "sm_80"
    try:
        options = ["-opt=0", "-Xllc", "-print-isel-input", *(["-ftz=1"] * ftz)]
        made = libnvvm.compile("\n".join(lines), known, options, libdevice=True)
    except ToolError:
        return None
    if not made.ok or made.ptx is None:
        return None
    return _as_module(made.output, made.ptx)


def _as_module(printed: str, ptx: str) -> str:
    """What libnvvm printed as a module: definitions, tables, and what else is called, declared."""
    found = {m[1]: _ATTACHED.sub("", m[0]) for m in _DEFINITION.finditer(printed)}
    out = []
    structs: dict[str, dict[int, str]] = {}
    for text in found.values():
        for name, t, k in _MEMBER.findall(text):
            structs.setdefault(name, {})[int(k)] = t
    for name, members in structs.items():
        out.append(f"{name} = type {{ {', '.join(t for _, t in sorted(members.items()))} }}")
    for align, name, size, numbers in _TABLE.findall(ptx):
        data = [int(n) for n in numbers.split(",")]
        text = "".join(f"\\{b:02X}" for b in data + [0] * (int(size) - len(data)))
        out.append(f"@{name} = internal addrspace(1) constant [{size} x i8] c\"{text}\", "
                   f"align {align}")
    declared: dict[str, str] = {}
    for text in found.values():
        for result, name, arguments in _CALLED.findall(text):
            if name not in found:
                types = [a.strip().rpartition(" ")[0] for a in arguments.split(",") if a.strip()]
                declared[name] = f"declare {result} @{name}({', '.join(types)})"
    return "\n".join((*out, *declared.values(), *found.values(), ""))


def _own(names: list[str], arch: str) -> Module:
    """The functions by nvir's own mathematics; what it lacks stays undefined."""
    from nvir.frontend.build import block, call, ret, stmt, unit
    from nvir.frontend.build import names as variables
    from nvir.frontend.check import check
    from nvir.frontend.irgen import Options, generate
    from nvir.frontend.libm import NAMES
    from nvir.frontend.libm.library import make
    from nvir.frontend.tree.types import VOID

    made = []
    for name in names:
        plain = name.removeprefix("__nv_")
        if plain not in NAMES:
            continue
        own = make(plain)[0]
        used = call(plain, *variables(" ".join(p.name for p in own.params)))
        body = block(stmt(used) if own.result is VOID else ret(used))
        made.append(attrs.evolve(own, name=name, body=body))
    return generate(check(unit(*made)), Options(arch=arch, lines=False, whole_program=False))
