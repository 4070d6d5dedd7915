"""`nvir fmt`: PTX in a canonical layout, comments and all."""

from __future__ import annotations

import click

from nvir.cli.common import output_option, reports_errors, write_output
from nvir.ir.errors import NvirError
from nvir.loading import STDIO, has_directive, read_bytes


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--in-place", is_flag=True, help="Write each file where it stands.")
@click.option("--check", "only_check", is_flag=True,
              help="Write nothing; exit 1 where a file has another layout.")
@output_option
@click.pass_context
@reports_errors
def command(
    ctx: click.Context, files: tuple[str, ...], in_place: bool, only_check: bool,
    output: str | None,
) -> None:
    """Lay out the PTX in FILE: a statement a line, one indent, one space after a comma.

    Comments and blank lines stay; nothing but white space changes.

    \b
    Examples:
      nvir fmt kernel.ptx -o nice.ptx
      nvir fmt kernels/*.ptx --check
    """
    from nvir.ptx.layout import laid_out
    from nvir.ptx.source import load

    if in_place and (STDIO in files or output is not None):
        raise click.UsageError("--in-place goes with neither standard input nor -o")
    other = []
    for file in files:
        data = read_bytes(file)
        shown = "<stdin>" if file == STDIO else file
        if load(data, shown) and not has_directive(data):  # what is no PTX is left as it is
            raise NvirError(f"{file} is no PTX: no line of it begins with a directive")
        text = data.decode("utf-8", "surrogateescape")
        made = laid_out(text)
        if made != text:
            other.append(file)
        if only_check:
            continue
        if not in_place:
            write_output(output, made)
        elif made != text:
            write_output(file, made)
    if only_check and other:
        click.echo("".join(f"{f}: another layout\n" for f in other), nl=False)
        ctx.exit(1)
