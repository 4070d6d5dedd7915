"""The whole way down: a source or a tree to NVVM IR, through the passes, to ori.

    compile_cuda(source, arch)   a `.cu` file or its text, to a module that runs and prints PTX
    compile_tree(unit, arch)     the same of a typed tree
    ptx_by_libnvvm(unit, arch)   PTX of a typed tree by NVIDIA's own back end, libdevice linked
    pipelines(optimise)          what a level of optimisation runs (nvir.passes.presets)

The assembler optimises, too: what it does well (scheduling, allocation, most loops) is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.frontend.tree.declarations import Unit
from nvir.ir.module import Module

if TYPE_CHECKING:
    from nvir.frontend.irgen import Options
    from nvir.passes.knobs import Knobs


def compile_cuda(source: Any, arch: str = "sm_80", *, optimise: int = 3, level: str = "ori",
                 lines: bool = True, **options: Any) -> Module:  # fmt: skip
    """Compile a CUDA source: a path, or the text itself (a str with a newline, or bytes).

    optimise   0 to 3, as -O
    level      "ori", what `nvir.launch` and `nvir.print_ptx` take, or "nvvm"
    lines      keep the source's lines in the code
    Further options: `name`, `include`, `define` (sequences as -I and -D take them), `std`,
    `fast_math`. Clang's warnings are the module's diagnostics.

    Raises ParseError with clang's diagnostics where a function that a kernel reaches is wrong or
    no kernel is there, Unsupported with its place for what cannot be compiled.
    """
    from nvir.frontend.cuda import read_cuda, source_of

    options.setdefault("unroll", optimise >= 2)
    given = source_of(source, **options)
    unit, warnings = read_cuda(given, arch)
    module = compile_tree(unit, arch, optimise, level, lines, given.fast_math)
    module.diagnostics += warnings
    return module


def compile_tree(unit: Unit, arch: str = "sm_80", optimise: int = 3, level: str = "ori",
                 lines: bool = True, fast_math: bool = False,
                 observe: Callable[[str, Module], None] | None = None,
                 knobs: Knobs | None = None) -> Module:  # fmt: skip
    """Compile a typed tree. `observe(stage, module)` sees the module at "nvvm" (as generated),
    "optimised" and "ori"; `knobs` hold for IR generation and for every pass."""
    from nvir.frontend.check import check
    from nvir.frontend.irgen import generate
    from nvir.passes.driver import run_passes

    def stage(name: str, pipeline: str) -> None:
        if pipeline:
            run_passes(module, pipeline, knobs=knobs)
        if observe is not None:
            observe(name, module)

    before, after = pipelines(optimise, fast_math)
    module = generate(check(unit), generation(arch, lines, knobs))
    stage("nvvm", "")
    stage("optimised", before)
    if level == "nvvm":
        return module
    kept = _latches_to_keep(module)
    run_passes(module, after, knobs=knobs)
    _forbid_unrolling(module, kept)
    stage("ori", "")
    return module


def generation(arch: str, lines: bool = True, knobs: Knobs | None = None,
               libdevice: bool = False) -> Options:  # fmt: skip
    """The options of IR generation; some are knobs of the real front end."""
    from nvir.frontend.irgen import Options
    from nvir.passes.knobs import Knobs

    given = knobs or Knobs()
    return Options(
        arch=arch, lines=lines, policy=given.policy, libdevice=libdevice,
        byval_demotion=frozenset(given.get("byval-names")),
        plain_char_unsigned=given.get("plain-char-unsigned"),
    )


def ptx_by_libnvvm(unit: Unit, arch: str = "sm_80", optimise: int = 3, lines: bool = True,
                   fast_math: bool = False, level: str = "ori",
                   observe: Callable[[str, Module], None] | None = None,
                   knobs: Knobs | None = None) -> str:  # fmt: skip
    """PTX that libnvvm makes of a typed tree's NVVM IR, with NVIDIA's libdevice linked for the
    mathematical functions. `optimise` 0 is libnvvm's -opt=0, anything else its -opt=3;
    `observe` sees the module at "nvvm". Level "nvvm" ends there and gives "".

    Raises ToolMissing where libnvvm or libdevice is not installed, NvirError with libnvvm's words
    where it refuses the module.
    """
    from nvir.frontend.check import check
    from nvir.frontend.irgen import generate
    from nvir.ir.errors import NvirError
    from nvir.llvm.printer import print_ll
    from nvir.passes.driver import run_passes
    from nvir.toolchain import libnvvm

    module = generate(check(unit), generation(arch, lines, knobs, libdevice=True))
    if observe is not None:
        observe("nvvm", module)
    if level == "nvvm":
        return ""
    dialect = dialect_of(arch)
    run_passes(module, f"legalize<dialect={dialect}>", knobs=knobs)
    options = [f"-opt={3 if optimise else 0}"]
    if fast_math:
        options += ["-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1"]
    result = libnvvm.compile(print_ll(module, dialect), arch, options, libdevice=True)
    if not result.ok or result.ptx is None:
        raise NvirError(f"libnvvm refuses the module: {(result.log or result.status).strip()}")
    return result.ptx


def dialect_of(arch: str) -> str:
    """The NVVM IR that libnvvm takes for an architecture: that of LLVM 20 from sm_100 on."""
    number = int("".join(c for c in arch if c.isdigit()) or 80)
    return "llvm20" if number >= 100 else "llvm7"


def _latches_to_keep(module: Module) -> set[tuple[str, str]]:
    """(function, block) of the blocks that go back in loops under `#pragma unroll 1`."""
    return {
        (str(f.name), b.name) for f in module.functions for b in f.blocks
        if isinstance(b.aux, dict)
        and ("llvm.loop.unroll.disable",) in b.aux.get("llvm.loop", ())
    }  # fmt: skip


def _forbid_unrolling(module: Module, latches: set[tuple[str, str]]) -> None:
    """Selection keeps the names of blocks: the innermost loop around such a latch is not to be
    unrolled by the assembler either."""
    from nvir.ir.loops import natural_loops

    for f in module.functions:
        wanted = {block for name, block in latches if name == str(f.name)}
        if not wanted or not f.blocks:
            continue
        f.analyze_cfg()
        for loop in sorted(natural_loops(f), key=lambda x: len(x.blocks)):
            held = {b.name for b in loop.blocks} & wanted
            if held:
                wanted -= held
                if "nounroll" not in loop.header.pragmas:
                    loop.header.pragmas = (*loop.header.pragmas, "nounroll")


def pipelines(optimise: int, fast_math: bool = False) -> tuple[str, str]:
    """The passes of a level before selection, and from it on."""
    from nvir.passes.presets import preset

    before, mark, after = f",{preset(optimise)}".rpartition(",select")
    if fast_math:
        options = "fp-contract=fast;fast-math;ftz;prec-div=false;prec-sqrt=false"
        after = f"<{options}>{after[after.index('>') + 1 :] if after.startswith('<') else after}"
    after = mark.removeprefix(",") + after
    if optimise >= 2:  # the assembler unrolls loops that test at their end
        after += ",loop-simplify,loop-rotate,const-fold,copy-prop,gvn,dce"
    return before.removeprefix(","), after
