"""What the commands share: reading a module, writing a file whole, options, errors.

Exit codes: 0 well, 1 diagnosed (an NvirError, a file that cannot be read or
written), 2 usage. No command leaves a half-written file.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from nvir.ir.bulk import freeze
from nvir.ir.document import read_file
from nvir.ir.errors import NvirError, ParseError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.loading import STDIO, Language

if TYPE_CHECKING:
    from nvir.ir.text.trace import TraceEvent
    from nvir.passes.knobs import Knobs, Policy
    from nvir.report.explain.trials import Trials
    from nvir.sm.profile import Profile

NARROWEST, WIDEST = 72, 118  # columns of a page of text
_F = TypeVar("_F", bound=Callable[..., Any])


# ---------------------------------------------------------------- reading


def read_module(
    path: str, arch: str | None = None, level: str | None = None, knobs: Knobs | None = None
) -> Module:
    """The module in a file, as `nvir.load` reads it; warnings go to standard error."""
    return read_with_language(path, arch, level, knobs)[0]


def read_with_language(
    path: str, arch: str | None = None, level: str | None = None, knobs: Knobs | None = None
) -> tuple[Module, Language]:
    """As `read_module`, with the language that the text turned out to be in."""
    from nvir.loading import load_as

    # The module lives as long as the command: the collector need never walk it.
    gc.disable()
    try:
        module, language = load_as(path, arch, level=level, knobs=knobs)
        freeze()
    finally:
        gc.enable()
    for warning in module.diagnostics:
        click.echo(str(warning), err=True)
    return module, language


def read_compiled(
    path: str, arch: str | None, via: list[str] | None = None, source: str | None = None,
    knobs: Knobs | None = None,
) -> Module:
    """The module in a file at level ori; `via` is nvcc with its options, which then compiles a CUDA
    source instead of nvir, or `source` in its place. Else nvir compiles it, with the knobs."""
    from nvir.ptx.reader import read_ptx
    from nvir.toolchain import nvcc_ptx

    if not via:
        return read_module(path, arch, "ori", knobs)
    if path == STDIO or not path.endswith((".cu", ".cuh")):
        raise click.UsageError(f"nvcc compiles a .cu file, and {path} is none")
    if not os.path.isfile(path):
        raise NvirError(f"{path}: no such file")
    program = via[0] if os.sep in via[0] else None
    made = nvcc_ptx(Path(source or path), arch or "sm_80", ["-lineinfo", *via[1:]], program=program)
    if made.ptx is None:
        raise NvirError(f"{path}: error: nvcc: {made.log.strip() or 'it says nothing'}")
    module = read_ptx(made.ptx.encode())
    module.name = path
    return module


def trials(
    module: Module, file: str, arch: str | None, machine: Profile, via: list[str], dynamic: int = 0
) -> Trials:
    """What there is to carry advice about a module out with."""
    from nvir.report.explain.trials import Trials

    def recompile(lines: list[str]) -> Module | None:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, os.path.basename(file))
            Path(path).write_text("\n".join(lines), "utf-8", "surrogateescape")
            beside = f"-I{Path(file).absolute().parent}"
            try:
                return read_compiled(file, arch, [*via, beside], path)
            except NvirError:  # what nvcc refuses is no advice
                return None

    target = arch or module.target
    if not via:
        return Trials(module, target, machine, dynamic)
    lines = read_file(Path(file)).decode("utf-8", "surrogateescape").split("\n")
    return Trials(module, target, machine, dynamic, os.path.basename(file), lines, recompile)


def _nvcc_command(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    via = shlex.split(value or "")
    if via and Path(via[0]).name != "nvcc":
        raise click.UsageError("--via takes nvcc, with options behind it if need be")
    return via


# ---------------------------------------------------------------- writing


def write_output(path: str | None, text: str) -> None:
    """Write text to a file, or to standard output for None and "-".

    A file is written beside its place and renamed, so that it is there whole or
    not at all. Raises NvirError where that is not possible.
    """
    if path is None or path == STDIO:
        data = text.encode("utf-8", "surrogateescape")  # what is no UTF-8 goes out as it came
        click.echo(text if data.isascii() else data, nl=False)
        return
    if not path:
        raise click.UsageError("-o '': the name of the output is empty")
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def page_width(output: str | None) -> int:
    """Columns for a page of text: those of the terminal, within bounds; the most in a file."""
    if output not in (None, STDIO):
        return WIDEST
    import shutil

    return min(max(shutil.get_terminal_size((WIDEST, 24)).columns, NARROWEST), WIDEST)


def made_folder(path: str) -> Path:
    """A folder, made with those around it where it is not there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None
    return Path(path)


def write_bytes(path: str, data: bytes) -> None:
    """Write a file whole, or to standard output, as `write_output` does."""
    if path == STDIO:
        click.echo(data, nl=False)
        return
    if path.endswith(("/", os.sep)):
        raise NvirError(f"{path}: names a folder, not a file")
    target = Path(os.path.realpath(path))
    try:
        if os.path.exists(target) and not stat.S_ISREG(target.stat().st_mode):
            target.write_bytes(data)  # a device or a pipe has nothing to rename
            return
        _write_aside(target, data)
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None


def _write_aside(target: Path, data: bytes) -> None:
    import tempfile

    mode = target.stat().st_mode & 0o777 if os.path.exists(target) else 0o666 & ~_umask()
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


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal that tells how many of all are done; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# ---------------------------------------------------------------- options


def known_arch(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An architecture that has a machine profile, or one that stands in; else a usage error."""
    from nvir.ptx.rules.targets import TARGETS, is_known

    if value is not None and is_known(value):
        return value
    from nvir.sm.profile import PROFILES, profile_for

    if value is not None and value.startswith(("sm_", "compute_")) and value not in PROFILES:
        raise click.BadParameter(f"no target {value} is known; there are: {', '.join(TARGETS)}")
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
)
profile_option = click.option(
    "--profile", metavar="NAME|FILE", callback=known_profile,
    help="Machine profile; that of --arch by default.",
)
class _PolicyName(click.Choice[str]):
    """A choice of policies that still takes the old name of `documented`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        return super().convert("documented" if value == "notes" else value, param, ctx)


policy_option = click.option(
    "--policy", type=_PolicyName(["observed", "documented"]), default="observed",
    show_default=True,
    help="Heuristics as measured on the real assembler, or as the notes describe them.",
)
trace_option = click.option(
    "--trace", "traced", is_flag=True,
    help="Print what each noted step did, with its row, to standard error; needs --policy "
    "documented.",
)
knob_option = click.option(
    "--knob", "knobs", multiple=True, metavar="NAME[@BLOCK]=VALUE",
    help="Set a knob, for the whole module or one block. See `nvir knobs`.",
)
via_option = click.option(
    "--via", metavar="NVCC", callback=_nvcc_command,
    help="Let this compiler make PTX of CUDA C++ instead of nvir: nvcc, or 'nvcc OPTIONS'.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Where to write; standard output by default."
)

loop_option = click.option(
    "--loop", "which", metavar="N|LABEL",
    help="The loop: its number from 1, as `nvir report` lists loops, or its label. "
    "The first innermost loop of one block by default.",
)
kernel_option = click.option("--kernel", metavar="NAME", help="Only this function.")
block_option = click.option(
    "--block", type=click.IntRange(1, 1024), metavar="THREADS",
    help="Threads a block; .reqntid or .maxntid by default, else 256.",
)
dynamic_smem_option = click.option(
    "--dynamic-smem", type=click.IntRange(0), default=0, metavar="BYTES",
    help="Bytes of dynamic shared memory at launch.",
)


class Seconds(click.FloatRange):
    """Seconds that end: `nan` is neither more nor less than 0, `inf` no limit."""

    def __init__(self, most: float | None = None) -> None:
        super().__init__(0, most)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


def reports_errors(command: _F) -> _F:
    """Print an NvirError as `file:line:col: error: …`, or a tool's, and exit 1, never with a
    traceback."""

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
        except Exception as e:
            from nvir.toolchain.errors import ToolError

            if not isinstance(e, ToolError):
                raise
            fail(e)  # a tool that is missing or does not answer

    return wrapped  # type: ignore[return-value]  # the same signature


@contextlib.contextmanager
def command_line() -> Iterator[None]:
    """An NvirError inside is a fault of the command line: exit 2."""
    try:
        yield
    except NvirError as e:
        fail(e, 2)


def fail(error: Exception, code: int = 1) -> NoReturn:
    """Print an error as compilers do and exit."""
    text = str(error)
    placed = isinstance(error, ParseError) or ": error: " in text.partition("\n")[0]
    click.echo(text if placed else f"error: {text}", err=True)
    sys.exit(code)


# ---------------------------------------------------------------- numbers and patterns


def whole_number(text: str) -> int | None:
    """The number that decimal digits write; None for other text and for more than 18 digits."""
    return int(text) if len(text) <= 18 and text.isascii() and text.isdigit() else None


_ATOM = re.compile(r"\\.|\.\*|[^\\()\[\]{}+?*^$|]", re.DOTALL)
_PATTERN = re.compile(rf"(\^?)((?:{_ATOM.pattern})*)(\$?)", re.DOTALL)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A simple regular expression: plain text, `.` and `.*`, `^` and `$` at the ends, `|` between
    alternatives, a backslash before a sign that means itself. Whatever it is, a search takes no
    longer than the square of the text. Raises NvirError for other operators."""
    made, at = [], 0
    while (m := _PATTERN.match(text, at)) is not None:
        made.append(_alternative(*m.groups()))
        at = m.end() + 1
        if m.end() == len(text):
            return re.compile("|".join(made), flags)
        if text[m.end()] != "|":
            break
    raise NvirError(f"{text[:80]!r} is no simple regular expression: plain text, . and .*, ^ and $ "
                    "at the ends, | between alternatives, and a backslash before other signs")


def _alternative(start: str, middle: str, end: str) -> str:
    """The same where no `.*` is tried twice: what is found first leaves the most for the rest."""
    parts = [""]
    for atom in _ATOM.findall(middle):
        if atom == ".*":
            parts.append("")
        else:
            parts[-1] += atom if atom == "." else re.escape(atom[-1])
    if len(parts) == 1:
        return start + parts[0] + end
    first, *inner, last = parts
    return f"{start}{first}{''.join(f'(?>.*?{x})' for x in inner)}.*?{last}{end}"


# ---------------------------------------------------------------- functions and loops


def known_names(kernel: str, names: list[str], file: str) -> list[str]:
    """The functions that are meant, as in PTX or as in C++; a usage error lists what there is."""
    from nvir.report.names import named

    found = named(kernel, names)
    if not found:
        raise click.UsageError(f"no function {kernel!r} in {file}; there are: {listed(names)}")
    return found


def listed(names: list[str]) -> str:
    """Names of functions as C++ has them, of many the first."""
    from nvir.report.names import spoken

    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return (", ".join(map(spoken, names[:12])) or "none") + more


def chosen_functions(module: Module, kernel: str | None, file: str) -> list[Function]:
    """The functions with a body, or those that `kernel` names."""
    found = [f for f in module.functions if f.blocks]
    if kernel is None:
        return found
    wanted = known_names(kernel, [str(f.name) for f in found], file)
    return [f for f in found if str(f.name) in wanted]


def choose_loop(
    module: Module, which: str | None, kernel: str | None, file: str
) -> tuple[Function, Loop]:
    """The loop that the options name; a usage error lists what there is."""
    loops: list[tuple[Function, Loop]] = []
    chosen = chosen_functions(module, kernel, file)
    for f in chosen:
        f.analyze_cfg()
        loops.extend((f, x) for x in natural_loops(f))
    if not loops:
        where = f"{file}, function {kernel!r}" if kernel else file
        raise NvirError(f"{where} has no loop" if chosen else f"{file} has no function with a body")
    if which is None:
        single = [(f, x) for f, x in loops if len(x.blocks) == 1]
        return single[0] if single else loops[0]
    number = whole_number(which)
    if number and number <= len(loops):
        return loops[number - 1]
    named = [(f, x) for f, x in loops if x.header.name == which]
    if len(named) == 1:
        return named[0]
    if named:
        functions = listed([str(f.name) for f, _ in named])
        raise click.UsageError(f"{which} is a loop of {functions}; choose one by --kernel")
    known = ", ".join(f"{n} {x.header.name}" for n, (_, x) in enumerate(loops[:12], 1))
    raise click.UsageError(f"no loop {which!r} in {file}; there are: {known}")


def knobs_of(settings: tuple[str, ...], policy: Policy) -> Knobs:
    """The knobs of `--knob`, with a word on those that nothing reads under the policy, and at the
    end on settings of blocks that no pass asked about."""
    from nvir.passes.knobs import Knobs, knob

    with command_line():
        made = Knobs.parse(settings, policy)
    for name in dict.fromkeys(n.partition("@")[0] for n in made.overrides()):
        row = knob(name)
        why = row.inert or (row.idle if policy == "documented" else "")
        if row.is_silent(policy):
            why = f"policy {policy} does not read it; give --policy {row.policy}"
        if why:
            click.echo(f"warning: knob {name} changes nothing: {why}", err=True)
    click.get_current_context().call_on_close(functools.partial(_tell_unmet, made, policy))
    return made


def _tell_unmet(knobs: Knobs, policy: Policy) -> None:
    from nvir.passes.knobs import knob

    for name, block in knobs.unmet():
        row = knob(name)
        if not (row.inert or row.is_silent(policy)):
            click.echo(f"warning: knob {name}@{block} changes nothing: no pass asked for it at a "
                       f"block {block}", err=True)


@contextlib.contextmanager
def tracing(wanted: bool, policy: str) -> Iterator[None]:
    """Where `--trace` is given: print the events of the noted steps that run inside."""
    if not wanted:
        yield
        return
    if policy != "documented":
        raise click.UsageError("--trace tells the noted steps: give --policy documented")
    from nvir.ir.text.trace import Trace

    with Trace() as trace:
        try:
            yield
        finally:  # what ran before a refusal too
            click.echo("".join(_traced(trace)), err=True, nl=False)


def _traced(trace: Sequence[TraceEvent]) -> Iterator[str]:
    """The lines of a trace, under the names of functions where it is of several: loops of two may
    be called alike."""
    several, function = len({e.function for e in trace if e.function}) > 1, ""
    for e in trace:
        if several and e.function not in ("", function):
            function = e.function
            yield f"in {function}\n"
        yield f"{e.at}: {e}\n" if e.at else f"{e}\n"
