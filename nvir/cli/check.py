"""`nvir check`: what the assembler would refuse, found without it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nvir.cli.common import arch_option, output_option, reports_errors, write_output
from nvir.ir.errors import Diagnostic, NvirError
from nvir.loading import STDIO, SUFFIXES

if TYPE_CHECKING:
    from nvir.report.findings import Findings


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@arch_option
@click.option("--json", "style", flag_value="json", help="Print JSON.")
@click.option("--sarif", "style", flag_value="sarif", help="Print SARIF, for code scanning.")
@click.option("--github", "style", flag_value="github", help="Print GitHub annotations.")
@output_option
@click.pass_context
@reports_errors
def command(
    ctx: click.Context, files: tuple[str, ...], arch: str | None, style: str | None,
    output: str | None,
) -> None:
    """Check the PTX in FILE: every error with its line and column. Exits with 1 if there is one.

    Of a folder every .ptx, .ll, .nvir, .cu and .cuh file in it is checked. Of a CUDA
    source the strings of `asm` statements are checked, at their places in it; of LLVM text and
    nvir's own what cannot be read or breaks a rule.

    \b
    Examples:
      nvir check kernel.ptx
      nvir check kernels/ more.ptx
      nvir check kernels/ --github
    """
    from nvir.report.findings import as_github, as_json, as_sarif, as_text
    from nvir.report.sweep import files_in

    single = len(files) == 1 and not os.path.isdir(files[0])
    names = files if single else [
        str(f) for x in files for f in ([x] if x == STDIO else files_in(Path(x), _READ))]
    found = [(name, _find(name, arch, single)) for name in dict.fromkeys(names)]
    if style == "json":
        write_output(output, as_json(found, several=not single))
    else:
        shown = {"sarif": as_sarif, "github": as_github}.get(style or "", as_text)
        write_output(output, shown(found))
    if any(d.severity == "error" for _, rows in found for _, d in rows):
        ctx.exit(1)


_READ = (*SUFFIXES, ".cuh")


def _find(file: str, arch: str | None, single: bool) -> Findings:
    """What is wrong in a file; one of several that cannot be read has that as its error."""
    from nvir.loading import read_bytes
    from nvir.report.findings import find

    try:
        return find(read_bytes(file), file, arch)
    except NvirError as e:
        if single:
            raise
        return [("unreadable", Diagnostic(str(e).removeprefix(f"{file}: "), file))]
