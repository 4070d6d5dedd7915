"""The whole way down: a source or a tree to NVVM IR, through the passes, to ori.

    compile_cuda(source, arch)   a `.cu` file or its text, to a module that runs and prints PTX
    compile_tree(unit, arch)     the same of a typed tree
    ptx_by_libnvvm(unit, arch)   PTX of a typed tree by NVIDIA's own back end, libdevice linked
    pipelines(optimise)          what a level of optimisation runs (nvir.passes.presets)

The assembler optimises, too: what it does well (scheduling, allocation, most loops) is left to it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nvir.ir.errors import Diagnostic, NvirError, ParseError, Unsupported
from nvir.ir.module import Module, capability
from nvir.toolchain.errors import ToolError

if TYPE_CHECKING:
    from nvir.frontend.cuda.source import Source
    from nvir.frontend.irgen import Options
    from nvir.frontend.tree.declarations import Unit
    from nvir.passes.knobs import Knobs

FrontEnd = Literal["auto", "libclang", "clang"]
_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_VECTORISED = 40_000  # tokens of a statement: clang's vectoriser takes their square in time
_GIVEN = ("vprintf", "__assertfail", "malloc", "free")  # every kernel has these
# what `#pragma unroll N` asks for; the assembler is told to leave the result alone
UNROLL_ASKED = "loop-unroll<asked>,const-fold,copy-prop,gvn,dce,keep-rolled"


def compile_cuda(source: Any, arch: str = "sm_80", *, optimise: int = 3, level: str = "ori",
                 lines: bool = True, front_end: FrontEnd = "auto", relocatable: bool = False,
                 knobs: Knobs | None = None, **options: Any) -> Module:
    """Compile a CUDA source: a path, or the text itself (a str with a newline, or bytes).

    optimise   0 to 3, as -O
    level      "ori", what `nvir.launch` and `nvir.print_ptx` take, or "nvvm"
    lines      keep the source's lines in the code
    front_end  who reads C++, as `read_source` has it
    relocatable  as -rdc=true: functions that are called may be another file's
    knobs      of the passes, with the policy
    Further options: `name`, `include`, `define` (sequences as -I and -D take them), `std`,
    `fast_math`. Clang's warnings are the module's diagnostics.

    Raises ParseError with clang's diagnostics where a function that a kernel reaches is wrong or
    no kernel is there, Unsupported with its place for what cannot be compiled.
    """
    from nvir.frontend.cuda import source_of

    options.setdefault("unroll", optimise >= 2)
    given = source_of(source, **options)
    module, warnings = read_source(given, arch, optimise, lines, front_end, knobs)
    compile_module(module, optimise, level, given.fast_math, knobs=knobs)
    if not relocatable:
        check_resolved(module, given.name, given.text)
    module.diagnostics += warnings
    return module


def check_resolved(module: Module, file: str, text: str) -> None:
    """Raise ParseError where code of a source file of this text calls a function that is declared
    alone, as ptxas does, and which no runtime gives."""
    from nvir.analysis.callees import callee_name

    files = {number: name for number, name, *_ in module.debug.files}
    declared = {str(f.name) for f in module.functions if not f.blocks} - set(_GIVEN)
    wrong: dict[str, Diagnostic] = {}
    for f in module.functions if module.level == "ori" else ():
        for i in (i for b in f.blocks for i in b if i.form.is_call):
            name = callee_name(i)
            if name in declared and name not in wrong:
                at = (files.get(i.loc.file, ""), i.loc.line, i.loc.col) if i.loc else (module.name,)
                wrong[name] = Diagnostic(f"{name} is called and has no body in this file", *at)
    if wrong:
        from nvir.frontend.cuda.asm_sizes import with_source

        lines = text.split("\n")
        raise ParseError([with_source(d, file, lines) for d in wrong.values()])


def read_source(given: Source, arch: str, optimise: int = 3, lines: bool = True,
                front_end: FrontEnd = "auto", knobs: Knobs | None = None,
                contract: bool = True) -> tuple[Module, list[Diagnostic]]:
    """A CUDA source as a module of level nvvm, and warnings.

    contract   products and sums may become fma (nvcc's -fmad), but not at -O0

    front_end  "libclang" reads clang's tree with nvir's own headers; "clang" has a clang program
               compile it with CUDA's, CCCL's and the C++ library's; "auto", where that program is,
               begins with the second for headers that CUDA brings and nvir does not, else with the
               first, and goes on to the other where that refuses. Under policy `documented` what
              its front end refuses stands, and a warning says where clang read instead
    """
    check_source(given)
    read: list[Unit] = []  # what is refused behind that is no error of the source to libclang

    def own() -> tuple[Module, list[Diagnostic]]:
        from nvir.frontend.cuda import read_cuda
        from nvir.toolchain.headers.kept import of_library

        unit, warnings = read_cuda(given, arch, of_library)
        read.append(unit)
        return _generated(unit, arch, lines, knobs, contract and optimise > 0), warnings

    if front_end == "libclang" or (front_end == "auto" and not _has_clang()):
        return own()
    clang = functools.partial(_by_clang, given, arch, optimise, lines, contract)
    if front_end == "clang":
        return clang()
    real = _wants_headers(given)
    first, second = (clang, own) if real else (own, clang)
    documented = knobs is not None and knobs.policy == "documented"

    def told(made: tuple[Module, list[Diagnostic]], why: str) -> tuple[Module, list[Diagnostic]]:
        said = f"clang reads this source, not the documented front end: {why}"
        return made[0], [*made[1], *[Diagnostic(said, given.name, severity="warning")] * documented]

    try:
        return told(first(), "it wants CUDA's own headers") if real else first()
    except NvirError as refused:
        from nvir.frontend.depth import Endless
        from nvir.frontend.irgen.state import Refused, TargetLacks

        if isinstance(refused, Endless) or (documented and isinstance(refused, Refused)):
            raise
        try:
            return second() if real else told(second(), str(refused).partition("\n")[0])
        except NvirError as e:
            theirs, ours = (refused, e) if real else (e, refused)
            missing = isinstance(theirs, ParseError) and _NOT_FOUND.match(theirs.errors[0].message)
            limit = isinstance(ours, Unsupported) or (read and not isinstance(ours, TargetLacks))
            clearer = limit and not isinstance(theirs, Unsupported)
            raise theirs if real or missing or clearer else ours from None


def _generated(unit: Unit, arch: str, lines: bool, knobs: Knobs | None,
               contract: bool) -> Module:
    from nvir.frontend.check import check
    from nvir.frontend.irgen import generate

    return generate(check(unit), generation(arch, lines, knobs, contract=contract))


def _by_clang(given: Source, arch: str, optimise: int, lines: bool,
              contract: bool) -> tuple[Module, list[Diagnostic]]:
    """The module that clang's LLVM text holds, its kernels under nvcc's names."""
    from nvir.frontend.cuda.asm_sizes import with_source, wrong_sizes
    from nvir.frontend.cuda.kernel_names import nvcc_name
    from nvir.frontend.cuda.source import no_kernel
    from nvir.frontend.cuda.text import too_long
    from nvir.llvm.reader import read_ll
    from nvir.passes.llvm.contract import set_contract
    from nvir.toolchain.clang import clang_ll

    flags = given.flags
    if too_long(given.text, _VECTORISED) is not None:  # else 20,000 terms take 160 s
        flags = ("-fno-slp-vectorize", *flags)
    try:
        made = clang_ll(given.text, given.name, arch, given.include, given.define, given.std,
                        given.fast_math, flags, optimise=optimise, lines=lines)
    except ToolError as e:
        raise NvirError(str(e)) from None
    if made.died:
        raise Unsupported(f"clang ended without an answer ({made.died})", where=given.name)
    if made.text is None:
        raise ParseError(made.errors(given.name))
    module = read_ll(made.text.encode())
    module.target, module.name = arch, Path(given.name).stem
    if optimise or not contract:
        set_contract(module, contract)
    if wrong := wrong_sizes(module):
        if not lines:
            return _by_clang(given, arch, optimise, True, contract)  # for its place
        rows = given.text.split("\n")
        raise ParseError([with_source(d, given.name, rows) for d in wrong])
    for f in module.kernels:
        f.name = nvcc_name(str(f.name))
    if not module.kernels:
        raise ParseError(no_kernel(given.text, given.name))
    return module, [d for d in made.told if d.severity == "warning"]


def _has_clang() -> bool:
    from nvir.toolchain.find import available

    return available("clang++", "CUDA's headers")


def check_source(given: Source) -> None:
    """Raise ParseError for what clang may not end with: where a source includes a device or a
    pipe, and where it has more than is taken of what costs the square or doubles."""
    from nvir.frontend.cuda.limits import too_much
    from nvir.toolchain.headers.includes import Own

    Own(given.text, given.name, [*(f"-I{folder}" for folder in given.include),
                               *(f"-D{text}" for text in given.define), *given.flags]).refuse()
    if found := too_much(given.text):
        said, at = found
        start = given.text.rfind("\n", 0, at) + 1
        line = given.text[start:].partition("\n")[0]
        raise ParseError(Diagnostic(
            said, given.name, given.text.count("\n", 0, at) + 1, at - start + 1, line))


def _wants_headers(given: Source) -> bool:
    """Whether a source, or a header of its own, includes what CUDA brings and nvir does not.
    Includes count whatever `#if` they stand in."""
    from nvir.frontend.cuda.own_header import HEADERS
    from nvir.toolchain.find import header_folders
    from nvir.toolchain.headers.includes import Own

    own = Own(given.text, given.name, [f"-I{folder}" for folder in given.include])
    real = [*header_folders(), *own.cuda]
    return any(not os.path.isfile(HEADERS / name) and any(os.path.isfile(f / name) for f in real)
               for name in own.named)


def compile_tree(unit: Unit, arch: str = "sm_80", optimise: int = 3, level: str = "ori",
                 lines: bool = True, fast_math: bool = False,
                 observe: Callable[[str, Module], None] | None = None,
                 knobs: Knobs | None = None, floats: Sequence[str] = ()) -> Module:
    """Compile a typed tree. `observe(stage, module)` sees the module at "nvvm" (as generated),
    "optimised" and "ori"; `knobs` hold for IR generation and for every pass, `floats` are options
    of selection, such as "ftz=true"."""
    module = _generated(unit, arch, lines, knobs, may_contract(floats) and optimise > 0)
    return compile_module(module, optimise, level, fast_math, observe, knobs, floats)


def read_module(file: Path, arch: str | None = None) -> Module:
    """LLVM text as a verified module for an architecture, by default the one that it names."""
    from nvir.ir.verify import verify
    from nvir.llvm.reader import read_ll

    module = read_ll(file)
    verify(module)
    module.target = arch or module.target
    return module


def compile_module(module: Module, optimise: int = 3, level: str = "ori", fast_math: bool = False,
                   observe: Callable[[str, Module], None] | None = None,
                   knobs: Knobs | None = None, floats: Sequence[str] = ()) -> Module:
    """Compile a module of level nvvm, as `compile_tree` does the one that it generates. `floats`
    are options of selection, such as "ftz=true"."""
    from nvir.passes.driver import run_passes

    def stage(name: str, pipeline: str) -> None:
        if pipeline:
            run_passes(module, pipeline, knobs=knobs)
        if observe is not None:
            observe(name, module)

    before, after = pipelines(optimise, fast_math, floats)
    stage("nvvm", "")
    stage("optimised", before)
    if level == "nvvm":
        return module
    lower(module, after, optimise, knobs)
    stage("ori", "")
    return module


def may_contract(floats: Sequence[str]) -> bool:
    """Whether products and sums of a CUDA source may become fma under these options of selection:
    as nvcc has it, unless they say no."""
    return "fp-contract=off" not in floats


def generation(arch: str, lines: bool = True, knobs: Knobs | None = None,
               libdevice: bool = False, contract: bool = True) -> Options:
    """The options of IR generation; some are knobs of the real front end."""
    from nvir.frontend.irgen import Options
    from nvir.passes.knobs import Knobs

    given = knobs or Knobs()
    return Options(
        arch=arch, lines=lines, policy=given.policy, libdevice=libdevice,
        byval_demotion=frozenset(given.get("byval-names")),
        param_debug_info=given.get("param-debug-info"),
        plain_char_unsigned=given.get("plain-char-unsigned"), contract=contract,
    )


def ptx_by_libnvvm(unit: Unit, arch: str = "sm_80", optimise: int = 3, fast_math: bool = False,
                   level: str = "ori",
                   observe: Callable[[str, Module], None] | None = None,
                   knobs: Knobs | None = None, floats: Sequence[str] = ()) -> str:
    """PTX, without source lines, that libnvvm makes of a typed tree's NVVM IR, with NVIDIA's
    libdevice linked for the mathematical functions. `optimise` 0 is libnvvm's -opt=0, anything
    else its -opt=3; `observe` sees the module at "nvvm". Level "nvvm" ends there and gives "".

    Raises ToolMissing where libnvvm or libdevice is not installed, NvirError with libnvvm's words
    where it refuses the module.
    """
    from nvir.frontend.check import check
    from nvir.frontend.irgen import generate

    module = generate(check(unit), generation(arch, False, knobs, True, may_contract(floats)))
    floats = ("fp-contract=fast", *floats)  # the last word counts
    return libnvvm_ptx(module, arch, optimise, fast_math, level, observe, knobs, floats)


def libnvvm_ptx(module: Module, arch: str, optimise: int = 3, fast_math: bool = False,
                level: str = "ori", observe: Callable[[str, Module], None] | None = None,
                knobs: Knobs | None = None, floats: Sequence[str] = ()) -> str:
    """The same of a module of level nvvm, whose own flags say what may become fma, unless `floats`
    does: options of selection."""
    from nvir.llvm.printer import print_ll
    from nvir.passes.driver import run_passes
    from nvir.passes.llvm.contract import set_contract
    from nvir.toolchain import libnvvm

    if observe is not None:
        observe("nvvm", module)
    if level == "nvvm":
        return ""
    dialect = dialect_of(arch)
    run_passes(module, f"legalize<dialect={dialect}>", knobs=knobs)
    if not may_contract(floats):
        set_contract(module, False)
    options = {"opt": 3 if optimise else 0, "fma": 0}
    if fast_math:
        options |= {"ftz": 1, "prec-sqrt": 0, "prec-div": 0, "fma": 1}
    for name, _, value in (x.partition("=") for x in floats):
        options["fma" if name == "fp-contract" else name] = int(value in ("true", "fast"))
    result = libnvvm.compile(print_ll(module, dialect), arch,
                             [f"-{name}={value}" for name, value in options.items()],
                             libdevice=True)
    if not result.ok or result.ptx is None:
        raise NvirError(f"libnvvm refuses the module: {(result.log or result.status).strip()}")
    return result.ptx


def dialect_of(arch: str) -> str:
    """The NVVM IR that libnvvm takes for an architecture: that of LLVM 20 from sm_100 on."""
    return "llvm20" if capability(arch) >= 100 else "llvm7"


def lower(module: Module, pipeline: str, optimise: int = 3, knobs: Knobs | None = None) -> None:
    """Bring an optimised module of level nvvm to ori by the second of `pipelines`, and do with its
    loops what their metadata asks for."""
    from nvir.passes.driver import run_passes

    asked = _asked(module)
    run_passes(module, pipeline, knobs=knobs)
    if asked and _mark(module, asked) and optimise >= 2:
        run_passes(module, UNROLL_ASKED, knobs=knobs)
    for f in module.functions:  # what could not be done is nothing for the assembler
        for b in f.blocks:
            b.pragmas = tuple(p for p in b.pragmas if not p.startswith("unroll"))


def _asked(module: Module) -> dict[tuple[str, str], str]:
    """(function, block) of blocks that go back in a loop -> the pragma that its metadata means,
    where it is to be unrolled; selection marks those that are not."""
    found = {}
    for f in module.functions:
        for b in f.blocks:
            if not isinstance(b.aux, dict):
                continue
            for key, *value in b.aux.get("llvm.loop", ()):
                if key == "llvm.loop.unroll.full":
                    found[str(f.name), b.name] = "unroll"
                elif key == "llvm.loop.unroll.count" and value:
                    found[str(f.name), b.name] = f"unroll {value[0]}"
    return found


def _mark(module: Module, asked: dict[tuple[str, str], str]) -> bool:
    """Put the pragmas on headers: selection keeps the names of blocks, so a loop is the innermost
    around what was its latch. Tells whether any loop is to be unrolled."""
    from nvir.ir.loops import natural_loops

    unroll = False
    for f in module.functions:
        wanted = {block: p for (name, block), p in asked.items() if name == str(f.name)}
        if not wanted or not f.blocks:
            continue
        f.analyze_cfg()
        for loop in sorted(natural_loops(f), key=lambda x: len(x.blocks)):
            held = [b.name for b in loop.blocks if b.name in wanted]
            pragmas = [wanted.pop(name) for name in held]
            if pragmas:  # what is asked for goes before keep-rolled's marks
                loop.header.pragmas = tuple(dict.fromkeys(pragmas))
            unroll |= bool(pragmas)
    return unroll


def pipelines(optimise: int, fast_math: bool = False,
              floats: Sequence[str] = ()) -> tuple[str, str]:
    """The passes of a level before selection, and from it on. `floats` come after the options of
    selection that the level and `fast_math` have."""
    from nvir.passes.presets import preset

    before, mark, after = f",{preset(optimise)}".rpartition(",select")
    held, rest = after.removeprefix("<").split(">", 1) if after.startswith("<") else ("", after)
    if fast_math:
        held = "fp-contract=fast;fast-math;ftz;prec-div=false;prec-sqrt=false"
    keys = {x.partition("=")[0] for x in floats}
    options = [*(x for x in held.split(";") if x and x.partition("=")[0] not in keys), *floats]
    after = mark.removeprefix(",") + (f"<{';'.join(options)}>" if options else "") + rest
    if optimise >= 2:  # the assembler unrolls loops that test at their end
        after += ",loop-simplify,loop-rotate,const-fold,copy-prop,gvn,dce,keep-rolled"
    return before.removeprefix(","), after
