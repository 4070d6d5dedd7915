"""`nvir tune`: candidates for the kernels of a file, judged, and the winners written."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from nvir.cli.common import (
    arch_option,
    block_option,
    dynamic_smem_option,
    json_option,
    kernel_option,
    known_names,
    output_option,
    profile_option,
    read_compiled,
    reports_errors,
    trials,
    write_output,
)
from nvir.ir.errors import NvirError
from nvir.ir.module import Module
from nvir.loading import STDIO

if TYPE_CHECKING:
    from nvir.sm.profile import Profile
    from nvir.tune.search import Launches, Tuning

MOST_TRIPS = 1 << 40  # of a loop by --trip
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")


def _trips(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    found = {}
    for text in values:
        header, _, n = text.rpartition("=")
        trips = float(n) if _NUMBER.fullmatch(n) else 0.0
        if not header or not 0 < trips <= MOST_TRIPS:
            raise click.BadParameter(
                f"{text[:80]!r} is not HEADER=N with N above 0, up to {MOST_TRIPS}")
        found[header] = trips
    return found


@click.command("tune")
@click.argument("file")
@kernel_option
@arch_option
@profile_option
@click.option("--trip", "trips", multiple=True, metavar="HEADER=N", callback=_trips,
              help="Iterations of a loop of the PTX (to 2^40, or 23.5), by label or KERNEL:LABEL; "
              "may be repeated. A loop of 4 copies has 1/4 of the source's.")
@block_option
@dynamic_smem_option
@click.option("--level", type=click.Choice(("l1", "l2", "dram")), default="l2", show_default=True,
              help="Where global loads are taken to hit.")
@click.option("--no-launch-bounds", is_flag=True, help="Try loops alone.")
@click.option("--model", is_flag=True, help="Judge by the model even where there is ptxas.")
@click.option("--backend", type=click.Choice(("nvir", "nvcc")),
              help="Who compiles a .cu file; nvcc by default where it is installed.")
@click.option("--source", metavar="FILE.cu", type=click.Path(exists=True, dir_okay=False),
              help="The CUDA source of a PTX file, in which nvcc tries what is to be written; the "
              ".cu beside it by default, if nvcc makes the same PTX of it.")
@click.option("--measure", "measures", is_flag=True,
              help="Time what is best on the first GPU; needs --grid, --block and each --arg.")
@click.option("--grid", metavar="X,Y,Z", help="Blocks of the grid, for --measure.")
@click.option("--arg", "arguments", multiple=True, metavar="VALUE",
              help="An argument, in the order of the parameters and as for `nvir run`.")
@click.option("--all", "every", is_flag=True, help="List every candidate.")
@json_option
@output_option
@reports_errors
def command(
    file: str, kernel: str | None, arch: str | None, profile: str | None, trips: dict[str, float],
    block: int | None, dynamic_smem: int, level: str, no_launch_bounds: bool, model: bool,
    backend: str | None, source: str | None, measures: bool, grid: str | None,
    arguments: tuple[str, ...], every: bool, as_json: bool, output: str | None,
) -> None:
    """Find what makes the kernels of FILE faster: unrolling, pipelining, launch bounds.

    FILE is PTX, CUDA C++ (for sm_80 without --arch), LLVM text or nvir's own. Every candidate is
    assembled by ptxas and judged by its machine code, over the whole kernel: cycles of one warp
    alone and at full occupancy. Without ptxas, the model judges. -o writes the PTX of the winners.
    What to write in CUDA for it is tried by nvcc where it is installed and the source is at hand.

    \b
    Examples:
      nvir tune kernel.ptx --trip '$L__BB0_2=1024' -o faster.ptx
      nvir tune kernel.cu --arch sm_90 --json
      nvir tune kernel.ptx --source kernel.cu
    """
    from nvir.analysis.analyses import Analyses
    from nvir.report.table import plain, print_lines, terminal
    from nvir.report.tuning.promised import promised
    from nvir.report.tuning.table import tuning_json, tuning_lines
    from nvir.report.tuning.written import tried
    from nvir.toolchain.nvcc import compiles
    from nvir.tune.search import Launches, tuned

    is_source = file.endswith((".cu", ".cuh"))
    if source is not None and is_source:
        raise click.UsageError("--source is for a PTX file")
    backend = backend or ("nvcc" if is_source and compiles() else "nvir")
    module = read_compiled(file, arch, ["nvcc"] if backend == "nvcc" else None)
    names = [str(f.name) for f in module.kernels]
    if not names:
        raise NvirError(f"{file}: there is no kernel to tune")
    chosen = names if kernel is None else known_names(kernel, names, file)
    headers = [(str(f.name), str(x.header.name))
               for f in module.kernels for x in Analyses.of(f).loops]
    known_loops = {name for k, header in headers for name in (header, f"{k}:{header}")}
    for given in trips:
        if given not in known_loops:
            known = ", ".join(sorted({header for _, header in headers})) or "none"
            raise click.UsageError(f"no loop {given!r} in {file}; there are: {known}")
    if not measures and (grid or arguments):
        raise click.UsageError("--grid and --arg are for --measure")
    launch = _launch(module, chosen, grid, block, arguments) if measures else None
    request = Launches(block, dynamic_smem, trips, level, not no_launch_bounds)
    found, machine = judged(module, arch, profile, request, model, chosen)
    if launch is not None:
        from nvir.report.tuning.measured import measure

        measure(found.kernels[0], module, machine, *launch, dynamic_smem)
    made = None
    if backend == "nvcc" and found.judge == "sass":
        made = tried(found, trials(module, file, arch, machine, ["nvcc"], dynamic_smem), request)
    elif found.judge == "sass" and not is_source:
        lined = _with_places(module, file, source, arch)
        if lined is not None:
            there = trials(lined, str(lined.name), arch, machine, ["nvcc"], dynamic_smem)
            made = tried(found, there, request)
    sure = promised(found, module, machine, request) if made is None else {}
    document = tuning_json(found, made, sure) if as_json else None
    lines = [] if as_json else list(tuning_lines(found, module, every, made, sure))
    if output is not None and output != STDIO:
        from nvir.ptx.printer import print_ptx

        tuned(module, found, machine)
        write_output(output, print_ptx(module))
    if document is not None:
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    elif sys.stdout.isatty():
        print_lines(lines, terminal())
    else:
        click.echo(plain(lines), nl=False)


def _with_places(
    module: Module, file: str, source: str | None, arch: str | None
) -> Module | None:
    """What nvcc makes of the source of a PTX file, with places: the same code, or nothing."""
    from nvir.report.tuning.written import same_code
    from nvir.toolchain.nvcc import compiles

    beside = os.path.splitext(file)[0] + ".cu"
    if source is None and not (
        file.endswith(".ptx") and os.path.isfile(beside) and compiles()
    ):
        return None
    try:
        made = read_compiled(source or beside, arch or module.target, ["nvcc"])
    except NvirError:
        if source is not None:
            raise
        return None
    if same_code(module, made):
        return made
    if source is not None:
        raise NvirError(f"{source}: nvcc makes other code of it than {file} holds")
    return None


def _launch(
    module: Module, kernels: list[str], grid: str | None, block: int | None,
    arguments: tuple[str, ...],
) -> tuple[tuple[int, ...], tuple[int, ...], list[Any]]:
    """Grid, block and arguments of what is to be measured."""
    from nvir import gpu
    from nvir.cli.run import parse_argument, parse_dim

    if len(kernels) != 1:
        raise click.UsageError("--measure takes one kernel: choose with --kernel")
    if grid is None or block is None:
        raise click.UsageError("--measure needs --grid and --block")
    count = len(module[kernels[0]].params)
    if len(arguments) != count:
        raise click.UsageError(
            f"{kernels[0]} takes {count} arguments, {len(arguments)} given by --arg")
    values = [parse_argument(a) for a in arguments]
    if not gpu.available():
        raise NvirError("--measure needs an NVIDIA GPU and its driver; there is none here")
    return parse_dim(grid), (block,), values


def judged(
    module: Module, arch: str | None, profile: str | None, request: Launches | None = None,
    model: bool = False, kernels: list[str] | None = None,
) -> tuple[Tuning, Profile]:
    """The tuning of a module by what there is to judge, and the machine that it is for."""
    from nvir.sm.profile import profile as named_profile
    from nvir.sm.profile import profile_for
    from nvir.toolchain import available
    from nvir.tune.search import tune

    target = arch or module.target
    machine = named_profile(profile) if profile is not None else profile_for(target)
    real = not model and available("ptxas", "nvdisasm")
    return tune(module, machine, target, request, kernels=kernels,
                judge="sass" if real else "model"), machine


def put_winners(module: Module, arch: str | None = None, profile: str | None = None) -> None:
    """Replace the kernels of a module by what is faster; says so on standard error."""
    from nvir.report.table import plain
    from nvir.report.tuning.table import tuning_lines
    from nvir.tune.search import tuned

    found, machine = judged(module, arch, profile)
    click.echo(plain(tuning_lines(found, module)), err=True, nl=False)
    tuned(module, found, machine)
