"""`nvir simulate`: cycles of a loop on one sub-partition, by number of warps."""

from __future__ import annotations

import json

import click

from nvir.cli.common import (
    arch_option,
    choose_loop,
    json_option,
    kernel_option,
    loop_option,
    output_option,
    profile_option,
    read_module,
    reports_errors,
    write_output,
)

WARPS = (1, 2, 4, 8, 16)


@click.command("simulate")
@click.argument("file")
@loop_option
@kernel_option
@click.option(
    "--warps", multiple=True, type=click.IntRange(1, 64), metavar="N",
    help="Warps on the sub-partition; may be given more than once.  [default: 1 2 4 8 16]",
)
@click.option(
    "--warps-per-block", type=click.IntRange(1, 64), metavar="N",
    help="Warps of a block on the sub-partition, which meet at barriers; all by default.",
)
@click.option(
    "--memory", "--level", "memory", type=click.Choice(["l1", "l2", "dram"]),
    default="l1", show_default=True,
    help="Where accesses of global memory hit.",
)
@click.option(
    "--sectors", type=click.IntRange(1, 32), default=4, show_default=True, metavar="N",
    help="32-byte sectors that a warp's access touches for each 4 bytes a lane.",
)
@click.option(
    "--order", type=click.Choice(["list", "source", "pipelined"]), default="list",
    show_default=True,
    help="As an assembler would order the body, as it is written, or as a modulo schedule.",
)
@click.option(
    "--iterations", type=click.IntRange(4), default=32, show_default=True, metavar="N",
    help="Iterations of each warp; the middle half of them is measured.",
)
@click.option(
    "--trace", metavar="FILE", help="Write the timeline of the last run as Chrome trace JSON."
)
@arch_option
@profile_option
@json_option
@output_option
@reports_errors
def command(
    file: str, which: str | None, kernel: str | None, warps: tuple[int, ...],
    warps_per_block: int | None, memory: str, sectors: int, order: str, iterations: int,
    trace: str | None, arch: str | None, profile: str | None, as_json: bool, output: str | None,
) -> None:
    """Simulate a loop of FILE on one sub-partition of an SM, cycle by cycle.

    Tells the cycles until each warp has gone one iteration further, which pipe is busiest and
    what warps wait for. Of a loop of several blocks it takes the longest way through.

    \b
    Examples:
      nvir simulate kernel.ptx --loop 2 --warps 8 --memory l2
    """
    from nvir.report.simulation import simulation_json, simulation_text
    from nvir.sm.loopgraph import loop_graph
    from nvir.sm.profile import profile as profile_named
    from nvir.sm.profile import profile_for
    from nvir.sm.schedule.loops import schedule_loop
    from nvir.sm.simulate import Memory, loop_stream, schedule_stream, simulate

    module = read_module(file, arch, "ori")
    function, loop = choose_loop(module, which, kernel, file)
    machine = profile_named(profile) if profile else profile_for(arch or module.target)
    if order == "pipelined":
        stream = schedule_stream(schedule_loop(loop_graph(loop, machine, level=memory)))
    else:
        stream = loop_stream(loop, machine, order="list" if order == "list" else "source")
    runs = [
        simulate(
            stream, warps=n, iterations=iterations, warps_per_block=warps_per_block,
            memory=Memory(memory, sectors), timeline=trace is not None,
        )
        for n in warps or WARPS
    ]
    if trace is not None:
        write_output(trace, runs[-1].chrome_trace())
    if as_json:
        document = simulation_json(stream, str(function.name), runs)
        write_output(output, json.dumps(document, indent=1) + "\n")
    else:
        write_output(output, simulation_text(stream, str(function.name), runs))
