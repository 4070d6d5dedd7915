"""Reports of cubins, fat binaries, objects, libraries and executables.

cuobjdump takes out what is inside. PTX is reported as if it had been given; where there is only
machine code, registers, shared memory and occupancy come from `cuobjdump -res-usage`, live
registers and code size from nvdisasm where it is installed. Loops are then not known.
"""

from __future__ import annotations

from pathlib import Path

import attrs

from nvir.assembler.regalloc.targets import ASSUMED_BLOCK
from nvir.ir import Diagnostic, Module, NvirError, capability
from nvir.report.model import (
    FunctionReport,
    Launch,
    ModuleReport,
    machine_for,
    occupancy_figures,
)
from nvir.report.real import RealFigures

_MAGIC = (
    b"\x7fELF",  # cubins, objects, executables
    b"\x50\xed\x55\xba",  # fat binaries
    b"!<arch>\n",  # static libraries
    b"MZ",  # executables of Windows
)


_LAUNCH = Launch()


def is_binary(data: bytes) -> bool:
    """Whether these first bytes of a file are those of something that cuobjdump may read."""
    return data.startswith(_MAGIC)


@attrs.frozen
class BinaryContents:
    """What a binary holds for one architecture: PTX modules, or only machine code."""

    arch: str
    modules: tuple[Module, ...]
    others: tuple[str, ...]  # further architectures


def open_binary(source: bytes | Path, arch: str | None = None) -> BinaryContents:
    """The PTX of `arch`, else of the newest architecture that there is PTX of.

    Without PTX `modules` is empty and `arch` that of the newest cubin. Raises NvirError where the
    file holds no device code, cuobjdump is missing or cannot read it, or the PTX is bad.
    """
    from nvir.ptx.reader import read_ptx
    from nvir.toolchain import ToolError, ToolMissing, embedded

    name = source.name if isinstance(source, Path) else "<stdin>"
    try:
        images = embedded(source)
    except ToolMissing as e:
        raise NvirError(f"{name} is no text but a binary: {e}") from None
    except ToolError as e:
        raise NvirError(f"{name}: {str(e).splitlines()[0]}") from None
    if not images:
        raise NvirError(f"{name} holds neither PTX nor machine code for a GPU")
    texts = [i for i in images if i.kind == "ptx"]
    archs = sorted({i.arch for i in texts or images}, key=_age)
    if arch is not None and texts and arch not in archs:
        raise NvirError(f"{name} holds no PTX for {arch}, but for {', '.join(archs)}")
    chosen = arch if arch in archs else archs[-1]
    modules = tuple(read_ptx(i.data) for i in texts if i.arch == chosen)
    return BinaryContents(chosen, modules, tuple(a for a in archs if a != chosen))


def _age(arch: str) -> tuple[int, str]:
    return capability(arch), arch


def report_machine_code(
    source: bytes | Path, contents: BinaryContents, *, profile: str | None = None,
    launch: Launch = _LAUNCH,
) -> ModuleReport:
    """Registers, shared memory and occupancy of the kernels of a binary without PTX."""
    from nvir.toolchain import ToolError, resource_usage

    name = source.name if isinstance(source, Path) else "<stdin>"
    diagnostics = [
        Diagnostic("there is only machine code in it: loops are not known", name, severity="note")
    ]
    machine = machine_for(profile, contents.arch, name, diagnostics)
    try:
        usage = resource_usage(source)
    except ToolError as e:
        raise NvirError(f"{name}: {str(e).splitlines()[0]}") from None
    code = _code(source)
    block = launch.block or ASSUMED_BLOCK
    functions = []
    for kernel, figures in usage.items():
        registers, shared = figures.get("REG", 0), figures.get("SHARED", 0)
        size, live, predicates = code.get(kernel, (0, 0, 0))
        functions.append(FunctionReport(
            kernel, "entry", size, live, predicates, registers, None, None, live, block, shared,
            occupancy_figures(
                kernel, machine, registers, block, shared, launch, name, diagnostics
            ), (), False, RealFigures(registers),
        ))
    if launch.block is None and functions:
        diagnostics.append(
            Diagnostic(f"block size {block} is assumed; give --block", name, severity="note")
        )
    return ModuleReport(name, contents.arch, "observed", tuple(functions), tuple(diagnostics))


def _code(source: bytes | Path) -> dict[str, tuple[int, int, int]]:
    """(instructions, live registers, live predicates) by kernel; {} where nvdisasm is not there
    or cannot read the file, which is so for all but cubins."""
    from nvir.toolchain import ToolError, disassemble, embedded

    out: dict[str, tuple[int, int, int]] = {}
    try:
        for image in embedded(source, ("cubin",)):
            for kernel, code in disassemble(image.data).items():
                out[kernel] = (
                    len(code),
                    max((i.live.get("GPR", 0) for i in code), default=0),
                    max((i.live.get("PRED", 0) for i in code), default=0),
                )
    except ToolError:
        return {}
    return out


def join(reports: list[ModuleReport]) -> ModuleReport:
    """Several modules of one binary as one report."""
    return attrs.evolve(
        reports[0],
        functions=tuple(f for r in reports for f in r.functions),
        diagnostics=tuple(d for r in reports for d in r.diagnostics),
    )
