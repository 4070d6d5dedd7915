"""What the commands share: reading a module, writing a file whole, options, errors.

Exit codes: 0 well, 1 diagnosed (an NvirError, a file that cannot be read or
written), 2 usage. No command leaves a half-written file.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import click

from nvir.ir.errors import NvirError, ParseError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module

STDIO = "-"
Language = Literal["ptx", "ori", "ll", "cu"]
_F = TypeVar("_F", bound=Callable[..., Any])


# ---------------------------------------------------------------- reading


def read_module(path: str, arch: str | None = None) -> Module:
    """The module in a file, or in standard input for "-": PTX, LLVM text, nvir's own, or CUDA C++,
    which is compiled (for `arch`, sm_80 where that is not said).

    The extension decides (.ptx, .ll, .nvir, .cu), else what the text looks like. Raises
    NvirError; warnings of reading go to standard error.
    """
    return load_module(path, arch)[0]


def load_module(path: str, arch: str | None = None) -> tuple[Module, Language]:
    """As `read_module`, with the language that the text turned out to be in."""
    data = _read(path)
    language = _language(data, path)
    if language == "ll":
        from nvir.llvm.reader import read_ll

        module = read_ll(data if path == STDIO else Path(path))
    elif language == "cu":
        module = _compiled(data, path, arch)
    elif language == "ori":
        from nvir.ir.parse import parse_ir

        module = parse_ir(data if path == STDIO else Path(path))
    else:
        from nvir.ptx.reader import read_ptx

        module = read_ptx(data if path == STDIO else Path(path))
    for warning in module.diagnostics:
        click.echo(str(warning), err=True)
    return module, language


def _compiled(data: bytes, path: str, arch: str | None) -> Module:
    """A CUDA source as the PTX that `nvir compile` prints: its registers and lines have names."""
    from nvir.compiler import compile_cuda
    from nvir.ptx.printer import print_ptx
    from nvir.ptx.reader import read_ptx

    name = path if path != STDIO else "<stdin>"
    compiled = compile_cuda(data, arch or "sm_80", name=name)
    module = read_ptx(print_ptx(compiled).encode())
    module.name = compiled.name
    module.diagnostics[:0] = compiled.diagnostics
    return module


def _read(path: str) -> bytes:
    if path == STDIO:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None


_PTX = re.compile(rb"^\s*\.(version|target|address_size|visible|entry|func)\b", re.M)
_LLVM = re.compile(
    rb"^(; ModuleID|source_filename|target (datalayout|triple)|define\b|declare\b|%[^\s=]+ = type)",
    re.M,
)
_CUDA = re.compile(rb"^[^/\n]*\b__global__\b", re.M)
_OWN = re.compile(rb"^\s*module\s+(ori|nvvm)\b", re.M)


def _language(data: bytes, path: str) -> Language:
    by_suffix: dict[str, Language] = {".ptx": "ptx", ".nvir": "ori", ".ll": "ll", ".bc": "ll",
                                      ".cu": "cu", ".cuh": "cu"}  # fmt: skip
    known = by_suffix.get(Path(path).suffix.lower())
    if known is not None:
        return known
    head = data[:65536]
    looks: tuple[tuple[Language, re.Match[bytes] | None], ...] = (
        ("cu", _CUDA.search(head)), ("ori", _OWN.search(head)), ("ptx", _PTX.search(head)),
        ("ll", _LLVM.search(head)),
    )  # fmt: skip
    found = [(m.start(), language) for language, m in looks if m is not None]
    return min(found)[1] if found else "ptx"


# ---------------------------------------------------------------- writing


def write_output(path: str | None, text: str) -> None:
    """Write text to a file, or to standard output for None and "-".

    A file is written beside its place and renamed, so that it is there whole or
    not at all. Raises NvirError where that is not possible.
    """
    if path is None or path == STDIO:
        click.echo(text, nl=False)
        return
    if not path:
        raise click.UsageError("-o '': the name of the output is empty")
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str, data: bytes) -> None:
    """Write a file whole, as `write_output` does."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_bytes(data)  # a device or a pipe has nothing to rename
            return
        _write_aside(target, data)
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None


def _write_aside(target: Path, data: bytes) -> None:
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        os.chmod(aside, mode)
        os.replace(aside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---------------------------------------------------------------- options


def known_arch(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An architecture that has a machine profile, or one that stands in; else a usage error."""
    from nvir.sm.profile import profile_for

    return _named(profile_for, value)


def known_profile(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of a machine profile or of a file; what is wrong inside the file is told later."""
    from nvir.sm.profile import profile

    return _named(profile, value)


def _named(find: Callable[[str], Any], value: str | None) -> str | None:
    if value is not None:
        try:
            find(value)
        except ParseError:
            pass
        except NvirError as e:
            raise click.BadParameter(str(e)) from None
    return value


arch_option = click.option(
    "--arch", metavar="SM", callback=known_arch,
    help="Architecture, such as sm_90; the file's target by default.",
)  # fmt: skip
profile_option = click.option(
    "--profile", metavar="NAME|FILE", callback=known_profile,
    help="Machine profile; that of --arch by default.",
)  # fmt: skip
policy_option = click.option(
    "--policy", type=click.Choice(["observed", "notes"]), default="observed", show_default=True,
    help="Heuristics as measured on the real assembler, or as the notes describe them.",
)  # fmt: skip
knob_option = click.option(
    "--knob", "knobs", multiple=True, metavar="NAME[@BLOCK]=VALUE",
    help="Set a knob, for the whole module or one block. See `nvir knobs`.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Where to write; standard output by default."
)

loop_option = click.option(
    "--loop", "which", metavar="N|LABEL",
    help="The loop: its number from 1, as `nvir report` lists loops, or its label. "
    "The first innermost loop of one block by default.",
)  # fmt: skip
kernel_option = click.option("--kernel", metavar="NAME", help="Only loops of this function.")


def reports_errors(command: _F) -> _F:
    """Print an NvirError as `file:line:col: error: …` and exit 1, never with a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kw: Any) -> Any:
        try:
            return command(*args, **kw)
        except NvirError as e:
            fail(e)
        except BrokenPipeError:
            # The reader went away; keep the interpreter from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    return wrapped  # type: ignore[return-value]  # the same signature


@contextlib.contextmanager
def command_line() -> Iterator[None]:
    """An NvirError inside is a fault of the command line: exit 2."""
    try:
        yield
    except NvirError as e:
        fail(e, 2)


def fail(error: NvirError, code: int = 1) -> NoReturn:
    """Print an error as compilers do and exit."""
    text = str(error)
    placed = isinstance(error, ParseError) or ": error: " in text.partition("\n")[0]
    click.echo(text if placed else f"error: {text}", err=True)
    sys.exit(code)


# ---------------------------------------------------------------- loops


def choose_loop(
    module: Module, which: str | None, kernel: str | None, file: str
) -> tuple[Function, Loop]:
    """The loop that the options name; a usage error lists what there is."""
    loops: list[tuple[Function, Loop]] = []
    for f in module.functions:
        if f.blocks and kernel in (None, f.name):
            f.analyze_cfg()
            loops.extend((f, x) for x in natural_loops(f))
    if not loops:
        raise click.UsageError(f"no loops in {file}" + (f", function {kernel!r}" if kernel else ""))
    if which is None:
        single = [(f, x) for f, x in loops if len(x.blocks) == 1]
        return single[0] if single else loops[0]
    if which.isdigit() and 1 <= int(which) <= len(loops):
        return loops[int(which) - 1]
    named = [(f, x) for f, x in loops if x.header.name == which]
    if len(named) == 1:
        return named[0]
    if named:
        functions = ", ".join(str(f.name) for f, _ in named)
        raise click.UsageError(f"{which} is a loop of {functions}; choose one by --kernel")
    known = ", ".join(f"{n} {x.header.name}" for n, (_, x) in enumerate(loops[:12], 1))
    raise click.UsageError(f"no loop {which!r} in {file}; there are: {known}")
