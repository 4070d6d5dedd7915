"""`nvir schedule`: the modulo schedule of a loop as a reservation table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from nvir.cli.common import (
    Seconds,
    arch_option,
    choose_loop,
    json_option,
    kernel_option,
    loop_option,
    output_option,
    profile_option,
    read_module,
    reports_errors,
    tracing,
    write_output,
)

if TYPE_CHECKING:
    from nvir.ir.loops import Loop
    from nvir.sm.profile import Profile


@click.command("schedule")
@click.argument("file")
@loop_option
@kernel_option
@click.option(
    "--memory", "--level", "level", type=click.Choice(["l1", "l2", "dram"]),
    default="l1", show_default=True,
    help="Where accesses of global memory hit.",
)
@click.option("--dot", is_flag=True, help="Print the dependence graph as DOT instead.")
@click.option("--svg", is_flag=True, help="Draw it; the default where the output is named *.svg.")
@click.option("--trace", is_flag=True, help="Print iterations as a Chrome trace instead. With "
              "--post-ra: under policy documented, on sm_80_notes or the profile that is given, "
              "the kernel that phase 24 makes of the loop, and what each step did to standard "
              "error.")
@click.option("--lifetimes", is_flag=True, help="Print how long each register lives as well.")
@click.option(
    "--solver", type=click.Choice(["none", "auto", "cpsat"]), default="auto", show_default=True,
    help="Let OR-tools settle the intervals below the one found, and the fewest registers, where "
    "they are open without it. auto: where it is installed. The answer is the same each "
    "time, but may be another without it.",
)
@click.option(
    "--budget", type=Seconds(1e5), default=4.0, show_default=True,
    metavar="SECONDS",
    help="Seconds for OR-tools in all, as it counts them itself: each takes one to three of "
    "the processor. At most 50 % of them go to intervals, at most 12.5 % to registers. What "
    "is done before takes one to three seconds of the processor for 40 to 200 operations.",
)
@click.option(
    "--post-ra", is_flag=True,
    help="Pipeline it on the registers that allocation gives instead, and list each instruction: "
    "cycle, stage, pipe, stall count, barriers (set: w results, r operands read), bank conflicts.",
)
@click.option(
    "--spread", is_flag=True,
    help="With --post-ra: values get registers after the schedule, as many as cost no occupancy.",
)
@click.option(
    "--copies", type=click.IntRange(1, 16), default=1, show_default=True, metavar="N",
    help="With --post-ra: N iterations a pass of the kernel, each with registers of its own.",
)
@click.option(
    "--registers", type=click.IntRange(min=1), metavar="N",
    help="With --post-ra: at most N registers a thread; the rest goes to local memory.",
)
@arch_option
@profile_option
@json_option
@output_option
@reports_errors
def command(
    file: str, which: str | None, kernel: str | None, level: str, dot: bool, svg: bool, trace: bool,
    lifetimes: bool, solver: str, budget: float, post_ra: bool, spread: bool, copies: int,
    registers: int | None, arch: str | None, profile: str | None, as_json: bool, output: str | None,
) -> None:
    """Show how far a loop of FILE could be software-pipelined, and what binds.

    The machine is that of the profile; the assembler itself does not pipeline loops.

    \b
    Examples:
      nvir schedule kernel.ptx --loop 2
      nvir schedule kernel.ptx -o schedule.svg
      nvir schedule kernel.ptx --post-ra --spread
    """
    from nvir.report.schedule.figures import schedule_json, schedule_text
    from nvir.report.schedule.post_ra import pipelined
    from nvir.report.schedule.svg import lifetimes_text, schedule_svg, schedule_trace
    from nvir.sm.loopgraph import graph_dot, loop_graph
    from nvir.sm.profile import profile as profile_named
    from nvir.sm.profile import profile_for
    from nvir.sm.schedule.loops import schedule_loop

    module = read_module(file, arch, "ori")
    function, loop = choose_loop(module, which, kernel, file)
    if profile is None and post_ra and trace:
        profile = "sm_80_notes"
    machine = profile_named(profile) if profile else profile_for(arch or module.target)
    noted = machine.name == "sm_80_notes" or (post_ra and trace)
    policy = "documented" if noted else "observed"
    if post_ra:
        if dot or svg or lifetimes:
            raise click.UsageError("--post-ra is a listing, as text or with --json")
        if noted and (spread or copies > 1):
            raise click.UsageError(
                "--spread and --copies look for an interval; under policy documented that is "
                "what phase 24 gives")
        name = str(function.name)
        with tracing(trace, policy):
            if noted:
                loop = pipelined(loop, module, machine, level)
            page = _post_ra(name, loop, machine, level, policy, spread, copies, registers, as_json)
        write_output(output, page)
        return
    if spread or registers is not None or copies > 1:
        raise click.UsageError("--spread, --copies and --registers need --post-ra")
    found = loop_graph(loop, machine, level=level, policy=policy)
    made = schedule_loop(found, solver=solver, budget_s=budget, effort="most")
    if dot:
        write_output(output, graph_dot(found, made.times))
    elif as_json:
        write_output(output, json.dumps(schedule_json(made, str(function.name)), indent=2) + "\n")
    elif trace:
        write_output(output, schedule_trace(made) + "\n")
    elif svg or (output is not None and output.lower().endswith(".svg")):
        write_output(output, schedule_svg(made, str(function.name)))
    else:
        page = schedule_text(made, str(function.name))
        write_output(output, page + ("\n" + lifetimes_text(made) if lifetimes else ""))


def _post_ra(
    function: str, loop: Loop, machine: Profile, level: str, policy: str, spread: bool, copies: int,
    registers: int | None, as_json: bool,
) -> str:
    from nvir.report.schedule.post_ra import listing, listing_json, listing_text

    made = listing(
        loop, machine, level=level, policy=policy, spread=spread, limit=registers, copies=copies
    )
    if as_json:
        return json.dumps(listing_json(made, function), indent=2) + "\n"
    return listing_text(made, function)
