"""`nvir compile`: a CUDA source, LLVM text or a typed tree, all the way to PTX or to a cubin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nvir.cli.common import (
    command_line,
    knob_option,
    knobs_of,
    known_arch,
    made_folder,
    output_option,
    policy_option,
    reports_errors,
    trace_option,
    tracing,
    write_bytes,
    write_output,
)
from nvir.frontend import FLOATS
from nvir.ir.document import json_document
from nvir.ir.errors import NvirError, Unsupported
from nvir.ir.module import Module
from nvir.loading import STDIO, language_of, read_bytes

EMIT = ("tree", "nvvm", "ll", "ori", "ptx", "cubin")
OF_SOURCES = {"include": "-I", "define": "-D", "undefine": "-U", "first": "-include",
              "std": "-std"}  # parameters that say how clang reads

_AS_NVCC = ("-w", "-lineinfo", "--generate-line-info", "-G", "--device-debug", "-g", "-ptx", "-m64",
            *(f"{dash}{name}" for dash in ("-", "--") for name in (
                "expt-relaxed-constexpr", "expt-extended-lambda", "extended-lambda")))


def refuse(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    """nvcc's option of that name is another command's work."""
    if given:
        with command_line():
            raise Unsupported("-dlink, linking code of several files")


def one_file(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str:
    """The file, "" where a database may say it."""
    if len(given) > 1:
        with command_line():
            raise Unsupported(f"{len(given)} files in one command; compile each by itself")
    if not given and not ctx.params.get("database"):
        raise click.MissingParameter(ctx=ctx, param=param)
    return given[0] if given else ""


def source_options(command: Any) -> Any:
    """`-I`, `-D`, `-std` …: how clang reads a source."""
    for option in (
        click.option("--as-nvcc", *_AS_NVCC, "ignored", is_flag=True, hidden=True),
        click.option("-include", "--include", "first", multiple=True, metavar="FILE",
                     help="A header to read before the source."),
        click.option("-U", "undefine", multiple=True, metavar="NAME", help="No such macro."),
        click.option("--fast-math", "--use_fast_math", "-use_fast_math", is_flag=True,
                     help="Approximations of functions and divisions will do."),
        click.option("--std", "-std", default="c++17", show_default=True, metavar="STD",
                     help="The language's version."),
        click.option("-D", "define", multiple=True, metavar="NAME[=VALUE]", help="A macro."),
        click.option("-I", "include", multiple=True, metavar="DIR", help="A folder of headers."),
    ):
        command = option(command)
    return command


def float_options(command: Any) -> Any:
    """`-ftz`, `-prec-div` …, whose values are in the context's `meta`."""
    for name in FLOATS:
        command = click.option(f"-{name}", f"--{name}", type=bool, hidden=True, expose_value=False,
                               callback=_keep_float)(command)
    return command


def _keep_float(ctx: click.Context, param: click.Parameter, given: bool | None) -> None:
    if given is not None:
        ctx.meta[param.opts[0]] = given


def _floats(known: dict[str, bool]) -> list[str]:
    """The options of selection for nvcc's of floats: those given, over those of a database."""
    given = known | {name: value for name in FLOATS
                     if (value := click.get_current_context().meta.get(f"-{name}")) is not None}
    return [f"fp-contract={'fast' if value else 'off'}" if name == "fmad"
            else f"{name}={str(value).lower()}" for name, value in given.items()]


@click.command("compile")
@click.argument("file", nargs=-1, metavar="FILE", callback=one_file)
@click.option("-p", "database", metavar="DIR", is_eager=True,
              help="Take nvcc's options of FILE from the compile_commands.json there.")
@click.option("-rdc", "--relocatable-device-code", "relocatable", type=bool, default=False,
              help="Functions of other files may be called.")
@click.option("-dc", "relocates", is_flag=True, hidden=True)
@click.option("-dlink", "linked", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-O", "optimise", type=click.IntRange(0, 3), default=3, show_default=True,
              metavar="LEVEL", help="How much to optimise.")
@click.option("-maxrregcount", "--maxrregcount", "most", type=click.IntRange(0), hidden=True)
@click.option("--arch", "-arch", "--gpu-architecture", metavar="SM", default="sm_80",
              show_default=True, callback=known_arch, help="Architecture, such as sm_90.")
@click.option("--backend", type=click.Choice(("nvir", "libnvvm")), default="nvir",
              show_default=True,
              help="Who makes PTX: nvir, or NVIDIA's library with libdevice.")
@click.option("--front-end", type=click.Choice(("auto", "libclang", "clang")), default="auto",
              show_default=True, help="Who reads C++: libclang with nvir's headers; a clang "
              "program with CUDA's own; or the second where the first can't.")
@click.option("--emit", type=click.Choice(EMIT), help="What to write; by the name of -o, else ptx.")
@click.option("--keep", metavar="DIR", help="Write every stage into a folder.")
@click.option("--report", "reports", is_flag=True, help="Report loops and registers at the end.")
@click.option("--tune", "tunes", is_flag=True,
              help="Put what `nvir tune` finds faster in the place of each kernel.")
@click.option("--no-lines", is_flag=True, help="Leave out source lines (.loc).")
@float_options
@source_options
@policy_option
@knob_option
@trace_option
@output_option
@reports_errors
def command(
    file: str, optimise: int, arch: str, backend: str, front_end: str, emit: str | None,
    keep: str | None, reports: bool, tunes: bool, no_lines: bool, include: tuple[str, ...],
    define: tuple[str, ...], std: str, fast_math: bool, knobs: tuple[str, ...], output: str | None,
    first: tuple[str, ...], undefine: tuple[str, ...], ignored: bool, database: str | None,
    relocatable: bool, relocates: bool, policy: str, traced: bool, most: int | None,
) -> None:
    """Compile FILE: CUDA C++ (.cu), LLVM text (.ll), a tree as JSON, or a Python program that makes
    one.

    A Python program holds a variable `unit`, or a function `unit()` or `main()` that returns the
    tree. No CUDA toolkit is needed, but for --emit cubin, which asks ptxas, and for
    --backend libnvvm.

    nvcc's -ftz, -prec-div, -prec-sqrt and -fmad are taken, -maxrregcount with --emit cubin. LLVM
    text says by `contract` which products and sums may become fma: -fmad=true makes all of them,
    -fmad=false none. --expt-extended-lambda, --expt-relaxed-constexpr, -w, -lineinfo and -G are
    taken and change nothing: lines are always there.

    \b
    Examples:
      nvir compile kernel.cu --arch sm_90 -o kernel.ptx
      nvir compile kernel.cu --backend libnvvm -O 2
      nvir compile kernel.ll -O 3 --emit cubin
      nvir compile -p build kernel.cu
      nvir compile kernel.cu --emit ll -DTILE=16 -I include
    """
    from nvir.compiler import (
        check_resolved,
        compile_module,
        compile_tree,
        libnvvm_ptx,
        ptx_by_libnvvm,
    )
    given = knobs_of(knobs, policy)  # type: ignore[arg-type]  # click checked it
    click.get_current_context().with_resource(tracing(traced, policy))
    floats = _floats({})
    if database is not None:
        from nvir.frontend.cuda.database import command_of

        found = command_of(database, file or None)
        file, fast_math = found.file, fast_math or found.fast_math
        include, define = (*include, *found.include), (*found.define, *define)
        first, undefine = (*found.first, *first), (*found.undefine, *undefine)
        arch = (found.arch if not _said("arch") else None) or arch
        std = (found.std if not _said("std") else None) or std
        most = found.most if most is None else most
        floats = _floats(found.floats)
    flags = (*(f"-U{name}" for name in undefine), *(x for f in first for x in ("-include", f)))
    kind = emit or {".cubin": "cubin", ".nvir": "ori", ".ll": "ll", ".json": "tree"}.get(
        Path(output or "").suffix, "ptx"
    )
    stages: dict[str, str | bytes] = {}
    wanted = set(EMIT) if keep is not None else {kind}
    given_module = _read_ll(file, arch, kind)
    is_text = given_module is not None
    unit: Any = None
    if given_module is not None:
        arch = given_module.target
    else:
        needs_tree = kind == "tree" or (front_end != "clang" and (
            keep is not None or backend == "libnvvm"))
        options = (include, define, std, fast_math, optimise, flags)
        try:
            unit, warnings = read_tree(file, arch, *options, None if needs_tree else front_end,
                                       not no_lines, given, floats)
        except NvirError:
            if not needs_tree or kind == "tree" or front_end == "libclang":
                raise
            unit, warnings = read_tree(file, arch, *options, front_end, not no_lines, given,
                                       floats)
        if isinstance(unit, Module):
            given_module, unit = unit, None
        for w in warnings:
            click.echo(str(w), err=True)
    wanted -= {"tree"} if given_module is not None else set()

    def see(stage: str, module: Module) -> None:
        if stage == "nvvm":
            for warning in module.diagnostics:
                click.echo(str(warning), err=True)
            _nvvm(stages, module, wanted, "nvvm")
        elif stage == "optimised" and keep is not None:
            _nvvm(stages, module, wanted, "optimised")

    level = "nvvm" if wanted <= {"tree", "nvvm", "ll"} else "ori"
    if "tree" in wanted:
        from nvir.frontend.tree.json_form import to_json

        stages["tree"] = json.dumps(to_json(unit), indent=1) + "\n"
    module = None
    if wanted != {"tree"}:
        if backend == "nvir" and given_module is not None:
            module = compile_module(given_module, optimise, level, fast_math, see, given,
                                    floats)
        elif backend == "nvir":
            module = compile_tree(unit, arch, optimise, level, not no_lines, fast_math, see,
                                  given, floats)
        elif ptx := (
            libnvvm_ptx(given_module, arch, optimise, fast_math, level, see, given,
                        floats if is_text else ("fp-contract=fast", *floats))
            if given_module is not None
            else ptx_by_libnvvm(unit, arch, optimise, fast_math, level, see, given, floats)
        ):
            from nvir.ptx.reader import read_ptx

            module, stages["ptx"] = read_ptx(ptx), ptx
        if backend == "nvir" and module is not None and not (relocatable or relocates) \
                and not is_text:
            check_resolved(module, file, read_bytes(file).decode("utf-8", "replace"))
        if module is not None and tunes and level == "ori":
            from nvir.cli.tune import put_winners

            put_winners(module, arch)
            stages.pop("ptx", None)
        if module is not None:
            _finish(stages, module, wanted, kind, arch, most)
    if keep is not None:
        _keep(keep, Path(file).stem if file != STDIO else "kernel", stages)
    made = stages[kind]
    if keep is None or output is not None:
        if isinstance(made, bytes):
            write_bytes(output or f"{Path(file).stem}.cubin", made)
        else:
            write_output(output, made)
    if reports and module is not None and level == "ori":
        _report(module, arch)


def _read_ll(file: str, arch: str, kind: str) -> Module | None:
    """The module in a file of LLVM text; None of other files. Without --arch it is for the
    architecture that it names."""
    if file == STDIO or Path(file).suffix.lower() in (".json", ".py") \
            or language_of(read_bytes(file), file) != "ll":
        return None
    from nvir.compiler import read_module

    if kind == "tree":
        raise NvirError(f"{file}: LLVM text has no tree")
    for name, option in OF_SOURCES.items():
        if _said(name):
            raise click.UsageError(f"{option} is for CUDA sources, and {file} is LLVM text")
    return read_module(Path(file), arch if _said("arch") else None)


def _said(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def read_tree(file: str, arch: str, include: tuple[str, ...] = (), define: tuple[str, ...] = (),
              std: str = "c++17", fast_math: bool = False,
              optimise: int = 3, flags: tuple[str, ...] = (), front_end: Any = None,
              lines: bool = True, knobs: Any = None,
              floats: Sequence[str] = ()) -> tuple[Any, list[Any]]:
    """The tree in a file, by its suffix, and warnings; of CUDA C++ the module that a front end
    makes of it, unless that is None."""
    suffix = Path(file).suffix.lower()
    if suffix == ".json":
        from nvir.frontend.tree.json_form import from_json

        return from_json(json_document(read_bytes(file), file)), []
    if suffix == ".py":
        return _program(file), []
    if suffix in (".ptx", ".nvir"):
        raise NvirError(f"{file}: takes CUDA sources (.cu), LLVM text (.ll) and trees (.json, "
                        ".py); `nvir opt` reads PTX")
    from nvir.compiler import check_source, may_contract, read_source
    from nvir.frontend.cuda.source import Source

    text = read_bytes(file).decode("utf-8", "surrogateescape")
    name = "<stdin>" if file == STDIO else file
    source = Source(text, name, include, define, std, fast_math, optimise >= 2, flags)
    if front_end is not None:
        return read_source(source, arch, optimise, lines, front_end, knobs,
                           may_contract(floats))
    from nvir.frontend.cuda.read import read_cuda

    check_source(source)
    return read_cuda(source, arch)


def _program(file: str) -> Any:
    """The tree that a Python program makes."""
    import runpy

    from nvir.frontend.tree.declarations import Unit

    read_bytes(file)
    try:
        found = runpy.run_path(file)
        candidates = [found.get(name) for name in ("unit", "tree", "main")]
        made = [
            v() if callable(v) and getattr(v, "__module__", "") == found["__name__"] else v
            for v in candidates  # `unit` may be the builder's function of that name
        ]
    except NvirError:
        raise
    except (Exception, SystemExit) as e:  # the program is the user's: what it raises is told
        raise NvirError(f"{file}: {type(e).__name__}: {e}") from None
    named = [v for v in made if isinstance(v, Unit)]
    others = [v for v in found.values() if isinstance(v, Unit)]
    if named or len(others) == 1:
        return (named or others)[0]
    raise NvirError(f"{file}: a variable or function `unit` that gives the tree is missing")


def _nvvm(stages: dict[str, str | bytes], module: Module, wanted: set[str], name: str) -> None:
    if "nvvm" in wanted:
        from nvir.ir.text.print import print_ir

        stages[name] = print_ir(module)
    if name == "nvvm" and "ll" in wanted:
        from nvir.compiler import dialect_of
        from nvir.ir.clone import clone_module
        from nvir.llvm.printer import print_ll
        from nvir.passes.driver import run_passes

        dialect = dialect_of(module.target)
        for f in module.functions:
            section = (f.aux or {}).get("section") if dialect == "llvm7" else None
            if section:
                click.echo(f"warning: {f.name}: its section {section!r} is left out: libnvvm takes "
                           "none on functions before sm_100", err=True)
        copy = clone_module(module)
        run_passes(copy, f"legalize<dialect={dialect}>")
        stages["ll"] = print_ll(copy, dialect)


def _finish(stages: dict[str, str | bytes], module: Module, wanted: set[str], kind: str,
            arch: str, most: int | None) -> None:
    if module.level != "ori":
        return
    if "ori" in wanted:
        from nvir.ir.text.print import print_ir

        stages["ori"] = print_ir(module)
    if wanted & {"ptx", "cubin"} and "ptx" not in stages:
        from nvir.ptx.printer import print_ptx

        stages["ptx"] = print_ptx(module)
    if "cubin" in wanted:
        made = _assembled(str(stages["ptx"]), arch, kind == "cubin", most)
        if made is not None:
            stages["cubin"] = made


def _assembled(ptx: str, arch: str, needed: bool, most: int | None) -> bytes | None:
    """The cubin, of at most so many registers where that is said; without ptxas None, or an error
    where it is what was asked for."""
    from nvir.toolchain.errors import ToolError
    from nvir.toolchain.ptxas import ptxas

    try:
        result = ptxas(ptx, arch, options=() if most is None else (f"-maxrregcount={most}",))
    except ToolError:
        if needed:
            raise
        return None
    if not result.ok:
        raise NvirError(f"ptxas refuses the code: {result.log.strip()}")
    return result.cubin


def _keep(folder: str, stem: str, stages: dict[str, str | bytes]) -> None:
    """Every stage as a file: tree, NVVM IR as generated and optimised, ori, PTX, cubin."""
    names = {"tree": "tree.json", "nvvm": "1.nvvm.nvir", "ll": "1.nvvm.ll",
             "optimised": "2.optimised.nvir", "ori": "3.ori.nvir", "ptx": "ptx",
             "cubin": "cubin"}
    place = made_folder(folder)
    for stage, made in stages.items():
        path = str(place / f"{stem}.{names[stage]}")
        if isinstance(made, bytes):
            write_bytes(path, made)
        else:
            write_output(path, made)


def _report(module: Module, arch: str) -> None:
    from nvir.report import Launch, report
    from nvir.report.table import report_text

    made = report(module, arch=arch, profile=None, policy="observed", launch=Launch(None, 0))
    click.echo(report_text(made), nl=False, err=True)
