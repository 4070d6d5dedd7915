"""`nvir cfg`: control-flow graphs as DOT or SVG."""

from __future__ import annotations

import os
import re

import click

from nvir.cli.common import (
    chosen_functions,
    kernel_option,
    listed,
    made_folder,
    output_option,
    read_module,
    reports_errors,
    write_output,
)
from nvir.ir.errors import NvirError


@click.command("cfg")
@click.argument("file")
@kernel_option
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
    """Draw the control-flow graphs of FILE: DOT, or SVG where the output is named *.svg, or an SVG
    of each function where it is a folder.

    \b
    Examples:
      nvir cfg kernel.ptx -o cfg.dot
      nvir cfg kernel.ptx --kernel sgemm -o cfg.svg
      nvir cfg kernel.ptx -o pictures/
    """
    from nvir.report.pictures import module_dot, svg

    module = read_module(file)
    functions = chosen_functions(module, kernel, file)
    if not functions:
        raise NvirError(f"{file} has no function with a body")
    wants_svg = output is not None and output.lower().endswith(".svg")
    if loop is not None:
        functions = [f for f in functions if any(b.name == loop for b in f.blocks)] or functions
    if output is not None and (output.endswith(("/", os.sep)) or os.path.isdir(output)):
        made_folder(output)
        for f in functions:
            name = re.sub(r"[^\w.$-]", "_", str(f.name))[:200]
            picture = svg(module_dot(module, [f], max_lines=max_lines, loop=loop))
            write_output(os.path.join(output, f"{name}.svg"), picture)
        return
    if wants_svg and len(functions) > 1:
        names = listed([str(f.name) for f in functions])
        raise click.UsageError(f"an SVG holds one graph: choose with --kernel from {names}")
    dot = module_dot(module, functions, max_lines=max_lines, loop=loop)
    write_output(output, svg(dot) if wants_svg else dot)
