"""`nvir explore`: a file as a page, with figures and what-ifs beside its lines."""

from __future__ import annotations

from pathlib import Path

import click

from nvir.cli.common import (
    arch_option,
    block_option,
    dynamic_smem_option,
    fail,
    known_names,
    progress,
    read_compiled,
    reports_errors,
    via_option,
    write_output,
)
from nvir.ir.errors import NvirError
from nvir.loading import STDIO, read_bytes


@click.command("explore")
@click.argument("file")
@arch_option
@click.option("--export", "export", metavar="PAGE.html",
              help="Write one file that needs no server and no network, and end.")
@click.option("--against", metavar="FILE", help="An older version of FILE, to show what changed.")
@click.option("--kernel", "kernels", metavar="NAME", multiple=True,
              help="With --export: only these functions; may be repeated.")
@block_option
@dynamic_smem_option
@click.option("--source-root", metavar="FOLDER", multiple=True,
              type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Where source files lie, beside the folder of FILE.")
@via_option
@click.option("--model", is_flag=True, help="Show predictions alone, though ptxas is there.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="Port on 127.0.0.1; any free one by default.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser.")
@reports_errors
def command(
    file: str, arch: str | None, export: str | None, against: str | None,
    kernels: tuple[str, ...], block: int | None, dynamic_smem: int,
    source_root: tuple[Path, ...], via: list[str], model: bool, port: int, opens: bool,
) -> None:
    """Show FILE as a page: source, PTX and machine code side by side, linked by line, with live
    registers, loops and what each compiler did with them, what-ifs, a timeline and the CFG.

    FILE is PTX, CUDA C++ or LLVM text; with --via nvcc makes the PTX of CUDA C++, which is then
    what one edits, with the source beside it. Edits in the page are analysed as one types. The page
    is for this machine alone: the server listens on 127.0.0.1 and wants the token of the printed
    address.

    \b
    Examples:
      nvir explore kernel.ptx
      nvir explore kernel.ptx --against old.ptx
      nvir explore kernel.cu --arch sm_90 --export kernel.html
    """
    from nvir.explore.options import Options

    if kernels and export is None:
        raise click.UsageError("--kernel goes with --export")
    text, name = _text(file, arch, via)
    folder = () if file == STDIO else (Path(file).parent,)
    options = Options(arch, block, dynamic_smem, (*folder, *source_root), model)
    if export is None:
        other = None if against is None else _text(against, arch, via)
        try:
            from nvir.explore.server import serve
        except ImportError:
            raise NvirError("nvir explore needs pip install 'nvir[explore]'; "
                            "--export needs nothing") from None

        def ready(url: str) -> None:
            click.echo(f"{url}\nCtrl-C ends it")
            if opens:
                click.launch(url)

        serve(text, name, options, port=port, other=other, ready=ready)
        return
    from nvir.explore.data import Version, everything
    from nvir.explore.export import page

    version = Version(text, name, options)
    if version.broken:
        for d in version.broken:
            click.echo(str(d), err=True)
        fail(NvirError(f"{file}: cannot be read"))
    names = [str(f.name) for f in version.module.functions if f.blocks]
    wanted = [n for k in kernels for n in known_names(k, names, file)]
    older = Version(*_text(against, arch, via), options) if against is not None else None
    with progress("answers") as tell:
        made = []
        for n, row in enumerate(everything(version, older, wanted)):
            made.append(row)
            tell(n + 1, len(made))
    write_output(export, page(made))


def _text(file: str, arch: str | None, via: list[str]) -> tuple[str, str]:
    """The text that the page opens, and its name: of what nvcc compiles it is the PTX."""
    if via and file.endswith((".cu", ".cuh")):
        return read_compiled(file, arch, via).text or "", str(Path(file).with_suffix(".ptx"))
    name = "standard input" if file == STDIO else file
    return read_bytes(file).decode("utf-8", "replace"), name
