"""`nvir sweep`: kernels of many files under many settings, over worker processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from nvir.cli.common import (
    arch_option,
    block_option,
    command_line,
    policy_option,
    progress,
    reports_errors,
)
from nvir.ir.errors import NvirError


def _factors(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> list[int]:
    try:
        found = [0 if v.strip() == "auto" else int(v) for v in (value or "auto").split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of factors") from None
    if not all(0 <= n <= 1024 for n in found):
        raise click.BadParameter("factors are from 1 to 1024, or auto")
    return list(dict.fromkeys(found))


@click.command("sweep")
@click.argument("path")
@click.option(
    "--knob", "ranges", multiple=True, metavar="NAME=A..B[:STEP]",
    help="Values of a knob: NAME=100..300 takes 5, NAME=100..300:50, NAME=1,2,4.",
)
@click.option(
    "--factor", "factors", metavar="N,N", callback=_factors,
    help="Unroll factors of all loops; auto leaves them to the policy.  [default: auto]",
)
@click.option("--loop", metavar="LABEL", help="Only this loop takes the factor and is measured.")
@block_option
@arch_option
@policy_option
@click.option(
    "-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, metavar="N",
    help="Worker processes; the processors by default.",
)
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786.")
@click.option(
    "-o", "--output", default="sweep.jsonl", show_default=True, metavar="FILE",
    help="Where rows are appended as they come; one that is there is taken up again.",
)
@reports_errors
def command(
    path: str, ranges: tuple[str, ...], factors: list[int], loop: str | None, block: int | None,
    arch: str | None, policy: str, jobs: int, scheduler: str | None, output: str,
) -> None:
    """Measure each kernel in the files of PATH under every combination of settings.

    Prints instructions, II, registers, blocks an SM and simulated cycles an iteration. Interrupted,
    it goes on from FILE when it is started again.

    \b
    Examples:
      nvir sweep folder --factor 1,2,4 --knob UnrollBudget=100..300 -o sweep.jsonl
    """
    from nvir.report.sweep import parse_range, settings_of, sweep, sweep_text

    with command_line():
        settings = settings_of([parse_range(r) for r in ranges], factors)
    try:
        with progress("rows") as tell:
            rows = sweep(
                Path(path), settings, Path(output), arch=arch, policy=policy, workers=jobs,
                scheduler=scheduler, progress=tell, loop=loop, block=block,
            )
    except OSError as e:
        raise NvirError(f"{e.filename or output}: {e.strerror or e}") from None
    click.echo(sweep_text(rows), nl=False)
    if any(r.get("error") for r in rows):
        sys.exit(1)
