"""`nvir diff`: two versions of a module compared, for people and for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from nvir.cli.common import (
    arch_option,
    command_line,
    json_option,
    output_option,
    policy_option,
    profile_option,
    read_module,
    reports_errors,
    write_output,
)
from nvir.ir.errors import NvirError
from nvir.loading import STDIO

if TYPE_CHECKING:
    from nvir.passes.knobs import Policy

CROSSED = 3


@click.command("diff")
@click.argument("before")
@click.argument("after", required=False)
@arch_option
@profile_option
@policy_option
@click.option(
    "--block", type=click.IntRange(1, 1024), metavar="THREADS",
    help="Threads a block; .reqntid or .maxntid by default, else 256.",
)
@click.option("--dynamic-smem", type=click.IntRange(0), default=0, metavar="BYTES",
              help="Dynamic shared memory at launch.")
@click.option("--kernel", metavar="NAME", help="Only this function.")
@click.option(
    "--fail-on", metavar="LIMITS", default=None,
    help="How much worse a figure may get, e.g. registers=+2,instructions=+5%; exit 3 beyond. "
    "By default registers=+2,occupancy=0,missing=0; '' for none.",
)
@click.option("--ptxas", "ask_ptxas", is_flag=True, help="Compare what ptxas says of registers.")
@click.option("--model", "as_model", is_flag=True,
              help="Of one PTX file: its predicted and its real machine code side by side.")
@json_option
@output_option
@reports_errors
def command(
    before: str, after: str | None, arch: str | None, profile: str | None, policy: Policy,
    block: int | None, dynamic_smem: int, kernel: str | None, fail_on: str | None,
    ask_ptxas: bool, as_model: bool, as_json: bool, output: str | None,
) -> None:
    """Compare registers, instructions, loops and occupancy of the kernels of two PTX files.

    Exit 3 where a kernel of AFTER is worse than that of BEFORE by more than a threshold.

    \b
    Examples:
      nvir diff old.ptx new.ptx --fail-on registers=+2,instructions=+5%
      nvir diff --model kernel.ptx --kernel saxpy
    """
    if as_model:
        if after is not None or before == STDIO:
            raise click.UsageError("--model is about one PTX file")
        write_output(output, _side_by_side(before, arch, profile, kernel))
        return
    if after is None:
        raise click.UsageError("Missing argument 'AFTER' (or --model, for one file)")
    from nvir.report import Launch, report
    from nvir.report.diff import DEFAULT, compare, diff_text, parse_thresholds
    from nvir.report.real import NOTHING, real_of

    with command_line():
        thresholds = parse_thresholds(DEFAULT if fail_on is None else fail_on)
    if before == STDIO and after == STDIO:
        raise click.UsageError("only one of the two can be standard input")
    if ask_ptxas and STDIO in (before, after):
        raise click.UsageError("--ptxas needs two PTX files")
    made = []
    for file in (before, after):
        module = read_module(file, arch, "ori")
        real = NOTHING
        if ask_ptxas:
            real = real_of(module, Path(file), arch or module.target).required()
        one = report(
            module, arch=arch, profile=profile, policy=policy,
            launch=Launch(block, dynamic_smem), schedule=True, real=real,
        )
        one = attrs.evolve(one, file=file if file != STDIO else "standard input")
        if kernel is not None:
            chosen = tuple(f for f in one.functions if f.name == kernel)
            one = attrs.evolve(one, functions=chosen)
        made.append(one)
    if kernel is not None and not any(r.functions for r in made):
        raise click.UsageError(f"neither file has a function {kernel!r}")
    diff = compare(made[0], made[1], thresholds)
    if not diff.functions:
        raise NvirError(f"neither {before} nor {after} has a function with a body")
    write_output(
        output, json.dumps(diff.to_json(), indent=2) + "\n" if as_json else diff_text(diff)
    )
    if diff.crossings:
        click.get_current_context().exit(CROSSED)


def _side_by_side(file: str, arch: str | None, profile: str | None, kernel: str | None) -> str:
    from nvir.report.bodies import both_bodies, side_by_side
    from nvir.report.model import machine_for

    module = read_module(file, arch, "ori")
    target = arch or module.target
    pairs = both_bodies(
        Path(file), module, target, machine_for(profile, target, file, []), kernel
    )
    if not pairs:
        raise NvirError(f"{file} has no kernel with a body" + (f" {kernel!r}" if kernel else ""))
    source = Path(file).read_text("utf-8", "replace").splitlines()
    return "\n".join(side_by_side(mine, real, source) for mine, real in pairs)
