"""`nvir cfg`: control-flow graphs as DOT or SVG."""

from __future__ import annotations

import click

from nvir.cli.common import output_option, read_module, reports_errors, write_output
from nvir.ir.errors import NvirError


@click.command("cfg")
@click.argument("file")
@click.option("--kernel", metavar="NAME", help="Only this function.")
@click.option("--loop", metavar="LABEL", help="Only the loop with this header.")
@click.option(
    "--max-lines", type=click.IntRange(0), default=12, show_default=True, metavar="N",
    help="Instructions shown of each block; 0 for labels alone.",
)
@output_option
@reports_errors
def command(
    file: str, kernel: str | None, loop: str | None, max_lines: int, output: str | None
) -> None:
    """Draw the control-flow graphs of FILE: DOT, or SVG where the output is named *.svg.

    \b
    Examples:
      nvir cfg kernel.ptx -o cfg.dot
      nvir cfg kernel.ptx --kernel sgemm -o cfg.svg
    """
    from nvir.report.pictures import module_dot, svg

    module = read_module(file)
    functions = [f for f in module.functions if f.blocks and kernel in (None, f.name)]
    if not functions:
        names = ", ".join(str(f.name) for f in module.functions if f.blocks)
        if not names:
            raise NvirError(f"{file} has no function with a body")
        raise click.UsageError(f"no function {kernel!r} in {file}; there are: {names}")
    wants_svg = output is not None and output.lower().endswith(".svg")
    if loop is not None:
        functions = [f for f in functions if any(b.name == loop for b in f.blocks)] or functions
    if wants_svg and len(functions) > 1:
        names = ", ".join(str(f.name) for f in functions)
        raise click.UsageError(f"an SVG holds one graph: choose with --kernel from {names}")
    dot = module_dot(module, functions, max_lines=max_lines, loop=loop)
    write_output(output, svg(dot) if wants_svg else dot)
