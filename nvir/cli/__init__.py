"""The `nvir` command. Each subcommand is one file, imported only when it is called."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import click

import nvir

# subcommand -> module with `command`, in the order in which help lists them
COMMANDS = {
    "report": ("nvir.cli.report", "Loops, registers and occupancy of each kernel."),
    "explain": ("nvir.cli.explain", "One page about a loop: decisions, knobs, unroll factors."),
    "explore": ("nvir.cli.explore", "A page: source, PTX, machine code linked; what-ifs, edits."),
    "tune": ("nvir.cli.tune", "Candidates for each kernel, judged by real code; the winners."),
    "sweep": ("nvir.cli.sweep", "Kernels of many files under many settings, as a table."),
    "check": ("nvir.cli.check", "What the assembler would refuse of PTX, by line."),
    "lsp": ("nvir.cli.lsp", "Serve an editor: errors, hovers, hints, symbols of PTX and LLVM."),
    "fmt": ("nvir.cli.fmt", "Lay out PTX, comments and all."),
    "opt": ("nvir.cli.opt", "Run passes and print PTX or IR."),
    "compile": ("nvir.cli.compile", "Compile CUDA C++ or a typed tree to PTX."),
    "run": ("nvir.cli.run", "Run a kernel without a GPU."),
    "exec": ("nvir.cli.exec", "Run a CUDA program without a GPU."),
    "cfg": ("nvir.cli.cfg", "Draw control-flow graphs as DOT or SVG."),
    "schedule": ("nvir.cli.schedule", "Modulo schedule of a loop, and what binds it."),
    "simulate": ("nvir.cli.simulate", "Cycles of a loop on an SM, by number of warps."),
    "occupancy": ("nvir.cli.occupancy", "Blocks an SM from registers, threads and memory."),
    "diff": ("nvir.cli.diff", "Compare the kernels of two files; exit 3 beyond a threshold."),
    "machine": ("nvir.cli.machine", "What a machine profile says, and how two differ."),
    "knobs": ("nvir.cli.knobs", "List the knobs of the passes."),
}


@contextlib.contextmanager
def _as_compilers() -> Iterator[None]:
    """Usage errors are printed as all others are: `error: …`, behind the usage."""
    try:
        yield
    except click.UsageError as e:
        e.show = functools.partial(_show, e)  # type: ignore[method-assign]
        raise


def _show(e: click.UsageError, file: Any = None) -> None:
    ctx = e.ctx
    if isinstance(e, click.exceptions.NoArgsIsHelpError):
        click.echo(e.format_message(), err=True)
        return
    if ctx is not None:
        click.echo(ctx.get_usage(), err=True)
        names = ctx.help_option_names
        if names and ctx.command.get_help_option(ctx) is not None:
            click.echo(f"Try '{ctx.command_path} {names[0]}' for help.\n", err=True)
    click.echo(f"error: {e.format_message()}", err=True)


def _open_streams() -> None:
    """Streams that whoever called has closed: no file shall take their numbers. To read the first
    or to write the second fails; of errors nobody hears."""
    modes = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for number, (name, mode) in enumerate(modes.items()):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


@contextlib.contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """Within, SIGTERM ends the command as SIGINT does: tools that run are killed, their folders
    removed. Workers that are forked end at once."""
    own = os.getpid()

    def end(*_: object) -> None:
        if os.getpid() != own:
            os._exit(128 + signal.SIGTERM)
        sys.exit(128 + signal.SIGTERM)

    first = threading.current_thread() is threading.main_thread()
    if not first or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Lazy(click.Group):
    """A group whose subcommands are imported when they are needed."""

    def main(self, *args: Any, **kw: Any) -> Any:
        _open_streams()
        try:
            with _ended_as_interrupted():
                return super().main(*args, **kw)
        except OSError as e:
            if e.filename is not None:  # of the machine: no room, or a folder that is gone
                name = os.fsdecode(e.filename) if isinstance(e.filename, bytes) else e.filename
                sys.exit(f"error: {name}: {e.strerror or e}")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nor is it tried again at the end
            sys.exit(f"error: standard output: {e.strerror}")
        except MemoryError:
            sys.exit("error: out of memory")

    def make_context(self, *args: Any, **kw: Any) -> click.Context:
        with _as_compilers():
            return super().make_context(*args, **kw)

    def invoke(self, ctx: click.Context) -> Any:
        with _as_compilers():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as e:
            import difflib

            near = difflib.get_close_matches(args[0], list(COMMANDS), 1)
            if not near:
                raise
            raise click.UsageError(f"{e.message} Did you mean '{near[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(nvir.__version__, prog_name="nvir")
def main() -> None:
    """Read PTX, see and transform its loops, judge schedules; no GPU needed.

    FILE is PTX, CUDA C++, LLVM text or nvir's own text; '-' reads standard input.

    \b
    Begin with
      nvir report kernel.ptx      what there is
      nvir explain kernel.ptx     why a loop is as it is
    """
    gc.set_threshold(50_000, 20, 20)  # a command makes many objects that all stay alive
