"""All candidates in one module, assembled at once and decoded: what each really becomes.

Every instruction of the kernels gets a number, which its copies keep; the module is assembled with
these numbers as the lines of its source, so that each machine instruction tells which instruction
of the kernel it comes of. What a pass built itself has the number BUILT.

Cost    a call of ptxas and one of nvdisasm; where ptxas refuses the module, some more, until it is
        known which candidates it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import attrs

from nvir.assembler.body import predicted_body
from nvir.ir import Function, Location, Module, NvirError
from nvir.ir.clone import clone_module
from nvir.ptx.printer import print_ptx
from nvir.sm.body import MachineBody
from nvir.sm.occupancy import static_shared_memory
from nvir.sm.profile import Profile

BUILT = 1 << 22  # the number of what stands in no kernel as it was


@attrs.frozen(eq=False)
class Code:
    """What became of a candidate: its body, registers a thread, bytes of stores and loads that
    were spilled, bytes of static shared memory. `factors`: loop header → copies, as predicted."""

    body: MachineBody
    registers: int
    spill_bytes: int
    shared: int
    factors: Mapping[str, int] = attrs.Factory(dict)


def numbered(module: Module, kernels: Sequence[Function]) -> Module:
    """A copy of a module without debug data and of its kernels only some, whose instructions have
    numbers in place of lines."""
    copy = clone_module(module, {f for f in module.kernels if f not in kernels})
    copy.debug.files, copy.debug.sections = [(1, "tune", "")], []
    n = 0
    for f in copy.functions:
        for i in f.instructions():
            n += 1
            i.line, i.loc = n, None
    return copy


def assemble(
    module: Module, candidates: Sequence[Function], arch: str, profile: Profile
) -> dict[str, Code]:
    """The code of each candidate by its name; those that ptxas refuses are left out.

    `module` is the numbered one; its kernels are not assembled. Raises ToolMissing.
    """
    if not candidates:
        return {}
    from nvir.toolchain import ToolError, bodies, ptxas

    made = ptxas(_text(module, candidates), arch, options=("-lineinfo",))
    if made.cubin is None:
        half = len(candidates) // 2
        if not half:
            return {}
        first = assemble(module, candidates[:half], arch, profile)
        return first | assemble(module, candidates[half:], arch, profile)
    try:
        found = bodies(made.cubin, arch, lines="source")
    except ToolError as e:
        raise NvirError(f"nvdisasm: {str(e).splitlines()[0]}") from None
    out = {}
    for f in candidates:
        name = str(f.name)
        info, body = made.kernels.get(name), found.get(name)
        if info is not None and body is not None and info.registers is not None:
            spills = info.spill_stores + info.spill_loads
            out[name] = Code(body, info.registers, spills, info.smem)
    return out


def refusal(module: Module, kernel: Function, arch: str) -> str:
    """What ptxas says of a kernel that it makes no code of."""
    from nvir.toolchain import ptxas

    error = ptxas(_text(module, [kernel]), arch).error
    return f"ptxas refuses it for {arch}: {re.sub(r'^line [0-9]+: ', '', error)}"


def _text(module: Module, candidates: Sequence[Function]) -> str:
    kept = module.functions, module.order
    places: dict[int, Location] = {}
    for f in candidates:
        for i in f.instructions():
            n = i.line or BUILT
            if n not in places:
                places[n] = Location(1, n)
            i.loc = places[n]
    module.functions = [*(f for f in kept[0] if f.kind != "entry"), *candidates]
    try:
        return print_ptx(module)
    finally:
        module.functions, module.order = kept


def predict_all(
    candidates: Sequence[Function], profile: Profile, factors: Mapping[str, Mapping[str, int]]
) -> dict[str, Code]:
    """The predicted code of each candidate; `factors`: candidate → header → copies that the
    assembler will make. Those that cannot be predicted are left out."""
    out = {}
    for f in candidates:
        copies = factors.get(str(f.name), {})
        try:
            body = predicted_body(f, profile, copies, timed=True)
        except NvirError:
            continue
        shared = static_shared_memory(f)
        out[str(f.name)] = Code(body, body.registers or 0, body.spill_bytes or 0, shared, copies)
    return out
