"""`nvir explain`: one page about one loop."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nvir.cli.common import (
    arch_option,
    block_option,
    choose_loop,
    chosen_functions,
    dynamic_smem_option,
    json_option,
    kernel_option,
    knob_option,
    knobs_of,
    output_option,
    page_width,
    policy_option,
    profile_option,
    read_compiled,
    reports_errors,
    trials,
    via_option,
    write_output,
)
from nvir.ir.function import Function
from nvir.ir.loops import Loop
from nvir.ir.module import Module

if TYPE_CHECKING:
    from nvir.passes.knobs import Policy
    from nvir.report.explain.noted import Compared
    from nvir.sm.profile import Profile


@click.command("explain")
@click.argument("file")
@click.option(
    "--loop", "which", metavar="N|LABEL",
    help="The loop: its number from 1, as `nvir report` lists loops, or its label. "
    "The innermost loop that runs most instructions by default.",
)
@kernel_option
@arch_option
@profile_option
@policy_option
@knob_option
@via_option
@block_option
@dynamic_smem_option
@click.option("--compare", is_flag=True,
              help="What the notes, the observed rules and the installed ptxas each do with it.")
@click.option("--tune", "tunes", is_flag=True, help="Show what `nvir tune` finds for its loop.")
@click.option("--no-vary", is_flag=True, help="Do not look for knobs that change a decision.")
@click.option(
    "--verbose", is_flag=True,
    help="Codes, the numbers that decided, and the knobs that would change a decision.",
)
@click.option("--model", "as_model", is_flag=True,
              help="Registers and the peak by nvir's model of ptxas, though ptxas is there.")
@json_option
@output_option
@reports_errors
def command(
    file: str, which: str | None, kernel: str | None, arch: str | None, profile: str | None,
    policy: Policy, knobs: tuple[str, ...], via: list[str], block: int | None,
    dynamic_smem: int, compare: bool,
    tunes: bool, no_vary: bool, verbose: bool, as_model: bool, as_json: bool,
    output: str | None,
) -> None:
    """Explain a loop of FILE: what the compilers make of it and why, and what would change that.

    Shows structure, trip count, the loop of the source, the decision of every loop pass, and what
    each unroll factor costs and gains; with --verbose the numbers that decided and the knobs that
    would change a decision with the value from which they do. With --policy documented also the
    trace: each step of the notes with its row, its inputs and its outcome; of a function without a
    loop the trace alone. Where ptxas is installed, registers, the peak, the loop's code and its row
    in the table of factors are those that it makes; other factors are modelled beside it.

    \b
    Examples:
      nvir explain kernel.ptx --loop 2
      nvir explain kernel.ptx --knob UnrollBudget=300 --arch sm_90 --verbose
      nvir explain kernel.ptx --policy documented --compare
    """
    from nvir.ir.text.trace import Trace
    from nvir.report.explain.loop import explain
    from nvir.report.explain.noted import made_before, noted_function
    from nvir.report.explain.text import explain_text, noted_text
    from nvir.report.model import Launch, machine_for
    from nvir.report.real import real_of

    settings = knobs_of(knobs, policy)
    compiling = Trace()
    with compiling if policy == "documented" else contextlib.nullcontext():
        module = read_compiled(file, arch, via, knobs=settings)
    if profile is None and policy == "documented":
        profile = "sm_80_notes"
    machine = machine_for(profile, arch or module.target, file, [])
    if policy == "documented":
        bare = _without_loops(module, kernel, file) if which is None else None
        if bare is not None:
            noted = noted_function(bare, module, machine, arch or module.target, settings,
                                   made_before(compiling, bare))
            text = json.dumps(noted.to_json(), indent=2, ensure_ascii=False) + "\n" if as_json \
                else noted_text(noted, page_width(output))
            write_output(output, text)
            return
    function, loop = _chosen(module, which, kernel, file)
    body = real = None
    if not (as_model or knobs) and policy == "observed":
        entry = str(function.name) if function.kind == "entry" else None
        real = real_of(module, arch or module.target, decode=True, only=entry)
        body = real.bodies.get(str(function.name))
        if real.note:
            click.echo(f"note: {real.note}", err=True)
    made = explain(
        function, loop, module, machine, arch=arch, knobs=settings,
        launch=Launch(block, dynamic_smem), vary=not no_vary and (verbose or as_json),
        compared=_compared(function, loop, module, machine, arch, file) if compare else (),
        body=body, before=made_before(compiling, function),
    )
    if real is not None:
        tried = trials(module, file, arch, machine, via, dynamic_smem)
        made = tried.explained(made, function, block, real)
    document, text = made.to_json(), ""
    if tunes:
        from nvir.cli.tune import judged
        from nvir.report.table import plain
        from nvir.report.tuning.promised import promised
        from nvir.report.tuning.table import tuning_json, tuning_lines
        from nvir.tune.search import Launches

        only = Launches(block, dynamic_smem, launch_bounds=False, loop=str(loop.header.name))
        found, _ = judged(module, arch, profile, only, kernels=[str(function.name)])
        sure = promised(found, module, machine, only)
        document["tune"] = tuning_json(found, sure=sure)
        text = "\n" + plain(tuning_lines(found, module, every=True, sure=sure))
    if as_json:
        write_output(output, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        write_output(output, explain_text(made, page_width(output), verbose) + text)


def _compared(
    function: Function, loop: Loop, module: Module, machine: Profile, arch: str | None, file: str
) -> tuple[Compared, ...]:
    from nvir.report.explain.noted import compare

    path = Path(file) if file.endswith(".ptx") else None
    return compare(function, loop, module, machine, arch or module.target, path)


def _without_loops(module: Module, kernel: str | None, file: str) -> Function | None:
    """The function that is told of where none of those that are meant has a loop: the first kernel,
    else the first."""
    chosen = chosen_functions(module, kernel, file)
    for f in chosen:
        f.analyze_cfg()
    if any(f.back_edges for f in chosen):
        return None
    return min(chosen, key=lambda f: f.kind != "entry", default=None)


def _chosen(
    module: Module, which: str | None, kernel: str | None, file: str
) -> tuple[Function, Loop]:
    """The loop that is named, else the hottest of the first function that has any."""
    from nvir.report.explain.loop import hottest

    if which is None:
        for f in chosen_functions(module, kernel, file):
            f.analyze_cfg()
            found = hottest(f)
            if found is not None:
                return f, found
    return choose_loop(module, which, kernel, file)
