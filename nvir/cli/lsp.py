"""`nvir lsp`: what editors ask of PTX, LLVM text and assembly in CUDA sources."""

from __future__ import annotations

import sys

import click

from nvir.cli.common import arch_option, reports_errors
from nvir.ir import NvirError


@click.command("lsp")
@arch_option
@click.option("--hints", type=click.Choice(["loops", "lines", "none"]), default="loops",
              show_default=True, help="Hints at functions, loops and peaks, or at every line too.")
@reports_errors
def command(arch: str | None, hints: str) -> None:
    """Serve an editor over standard input and output (Language Server Protocol).

    Of PTX, LLVM text and the PTX in `asm` statements of CUDA sources: the errors of `nvir check`
    as one types, what an instruction does and what is live there, trip counts and registers as
    hints, symbols, folds, definitions, references, renaming, and `nvir fmt` for PTX. docs/editor.md
    says how to hook it into an editor. An editor may send `arch` and `hints` as initialisation
    options.

    \b
    Examples:
      nvir lsp
      nvir lsp --arch sm_90 --hints lines
    """
    try:
        from nvir.lsp.server import Framed, serve
    except ImportError as e:
        raise NvirError(f"nvir lsp needs pygls: pip install 'nvir[lsp]' ({e})") from None
    serve(Framed(sys.stdin.buffer), arch, hints)  # type: ignore[arg-type]  # one of the choices
