"""`nvir schedule`: the modulo schedule of a loop as a reservation table."""

from __future__ import annotations

import json

import click

from nvir.cli.common import (
    arch_option,
    json_option,
    output_option,
    profile_option,
    read_module,
    reports_errors,
    write_output,
)
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module


@click.command("schedule")
@click.argument("file")
@click.option(
    "--loop", "which", metavar="N|LABEL",
    help="The loop: its number from 1, as `nvir report` lists loops, or its label. "
    "The first innermost loop of one block by default.",
)  # fmt: skip
@click.option("--kernel", metavar="NAME", help="Only loops of this function.")
@click.option(
    "--level", type=click.Choice(["l1", "l2", "dram"]), default="l1", show_default=True,
    help="Where loads hit.",
)  # fmt: skip
@click.option("--dot", is_flag=True, help="Print the dependence graph as DOT instead.")
@arch_option
@profile_option
@json_option
@output_option
@reports_errors
def command(
    file: str, which: str | None, kernel: str | None, level: str, dot: bool, arch: str | None,
    profile: str | None, as_json: bool, output: str | None,
) -> None:  # fmt: skip
    """Show how far a loop of FILE could be software-pipelined, and what binds.

    The machine is that of the profile; the assembler itself does not pipeline loops.
    """
    from nvir.report.schedule import schedule_json, schedule_text
    from nvir.sm.loopgraph import graph_dot, loop_graph
    from nvir.sm.pipeline import schedule_loop
    from nvir.sm.profile import profile as profile_named
    from nvir.sm.profile import profile_for

    module = read_module(file)
    function, loop = _chosen(module, which, kernel, file)
    machine = profile_named(profile) if profile else profile_for(arch or module.target)
    policy = "notes" if machine.name == "sm_80_notes" else "observed"
    found = loop_graph(loop, machine, level=level, policy=policy)
    made = schedule_loop(found)
    if dot:
        write_output(output, graph_dot(found, made.times))
    elif as_json:
        write_output(output, json.dumps(schedule_json(made, str(function.name)), indent=2) + "\n")
    else:
        write_output(output, schedule_text(made, str(function.name)))


def _chosen(
    module: Module, which: str | None, kernel: str | None, file: str
) -> tuple[Function, Loop]:
    """The loop that the options name; a usage error lists what there is."""
    loops: list[tuple[Function, Loop]] = []
    for f in module.functions:
        if f.blocks and kernel in (None, f.name):
            f.analyze_cfg()
            loops.extend((f, x) for x in natural_loops(f))
    if not loops:
        raise click.UsageError(f"no loops in {file}" + (f", function {kernel!r}" if kernel else ""))
    if which is None:
        single = [(f, x) for f, x in loops if len(x.blocks) == 1]
        return single[0] if single else loops[0]
    if which.isdigit() and 1 <= int(which) <= len(loops):
        return loops[int(which) - 1]
    named = [(f, x) for f, x in loops if x.header.name == which]
    if len(named) == 1:
        return named[0]
    if named:
        functions = ", ".join(str(f.name) for f, _ in named)
        raise click.UsageError(f"{which} is a loop of {functions}; choose one by --kernel")
    known = ", ".join(f"{n} {x.header.name}" for n, (_, x) in enumerate(loops[:12], 1))
    raise click.UsageError(f"no loop {which!r} in {file}; there are: {known}")
