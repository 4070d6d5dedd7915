"""`nvir run`: run a kernel in the interpreter, without a GPU."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import click

from nvir.cli.common import (
    Seconds,
    known_names,
    listed,
    read_module,
    reports_errors,
    whole_number,
    write_bytes,
)
from nvir.ir.document import read_file
from nvir.ir.errors import LaunchError, NvirError
from nvir.loading import STDIO

_EXTENTS = 32  # that numpy of every version takes
_PIECE = 1 << 20  # elements; even, for random words of 32 bits come in pairs
_SCALARS = {
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "s8": "i1", "s16": "i2", "s32": "i4",
    "s64": "i8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "b8": "u1", "b16": "u2",
    "b32": "u4", "b64": "u8", "f16": "f2", "f32": "f4", "f64": "f8",
}
_ARRAY = re.compile(r"(zeros|ones|range|random):(\w+)\[([\d,x ]+)\](?:@(\d+))?$")
_SCALAR = re.compile(r"(\w+):(.+)$")


def parse_dim(text: str) -> tuple[int, ...]:
    """ "16,8" as a triple's beginning."""
    try:
        numbers = tuple(int(part) for part in re.split(r"[,x]", text))
    except ValueError:
        numbers = ()
    if not 1 <= len(numbers) <= 3:
        raise click.UsageError(f"{text!r}: expected X, X,Y or X,Y,Z")
    return numbers


def parse_argument(text: str, most: int = 1 << 31) -> Any:
    """An argument as it is written on the command line, of `most` bytes; see the command's help."""
    import numpy as np

    if text.endswith(".npy"):
        return _saved(text, most)
    m = _ARRAY.match(text)
    if m is not None:
        return _array(m, most)
    m = _SCALAR.match(text)
    if m is not None and m[1] in _SCALARS:
        dtype = np.dtype(_SCALARS[m[1]])
        try:
            value = float(m[2]) if dtype.kind == "f" else int(m[2], 0)
            return np.array([value]).astype(dtype)[0] if dtype.kind == "f" else dtype.type(value)
        except (ValueError, OverflowError):
            raise click.UsageError(f"{m[2]!r} is no {m[1]}") from None
    if m is not None and m[1] == "bytes":
        try:
            return bytes.fromhex(m[2])
        except ValueError:
            raise click.UsageError(f"{m[2]!r}: expected hexadecimal digits") from None
    for convert in (lambda t: int(t, 0), float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise click.UsageError(
        f"argument {text!r}: expected a number, TYPE:NUMBER, zeros:TYPE[N], ones:…, range:…, "
        "random:TYPE[N]@SEED, bytes:HEX or FILE.npy"
    )


def _saved(path: str, most: int) -> Any:
    """The array in a file of numpy's."""
    import io

    import numpy as np

    try:
        data = read_file(path, most, regular=True)
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None
    try:
        found = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        return np.ascontiguousarray(found, found.dtype.newbyteorder("="))  # as a GPU has them
    except Exception as e:  # many, of numpy's and of Python's reader of the header
        why = str(e).partition("\n")[0]
        raise NvirError(f"{path}: no array that can be read: {why}") from None


def _array(m: re.Match[str], most: int) -> Any:
    import numpy as np

    kind, type, shape_text, seed = m.groups()
    if type not in _SCALARS:
        raise click.UsageError(f"{type!r} is no type: {', '.join(_SCALARS)}")
    dtype = np.dtype(_SCALARS[type])
    extents = [whole_number(n) for n in re.split(r"[,x ]+", shape_text.strip(", x")) if n]
    first = whole_number(seed or "0")
    if None in extents or first is None:
        raise click.UsageError(f"{m[0][:80]!r}: a number is too large")
    shape = tuple(n for n in extents if n is not None)
    if len(shape) > _EXTENTS:
        raise click.UsageError(f"{m[0][:80]!r} has {len(shape)} extents; {_EXTENTS} are the most")
    count = math.prod(shape)
    if count * dtype.itemsize > most:
        raise click.UsageError(f"{m[0]!r} takes {count * dtype.itemsize} bytes of {most} that are "
                               "left; --max-bytes allows more")
    made = np.empty(count, dtype)
    rng = np.random.default_rng(first)
    for start in range(0, count, _PIECE):  # what they are made of takes more memory
        end = min(start + _PIECE, count)
        made[start:end] = _elements(kind, rng, start, end, dtype)
    return made.reshape(shape)


def _elements(kind: str, rng: Any, start: int, end: int, dtype: Any) -> Any:
    import numpy as np

    if kind in ("zeros", "ones"):
        return dtype.type(kind == "ones")
    if kind == "range":
        with np.errstate(over="ignore"):
            return np.arange(start, end).astype(dtype)
    if dtype.kind == "f":
        return rng.random(end - start).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, end - start, dtype, endpoint=True)


def tracer(launch: Any, thread: int, echo: Callable[[str], None]) -> Callable[..., None]:
    """A function that prints what one thread (by its number in the grid) computes."""
    from nvir.interp.wave import describe

    def trace(c: Any, i: Any, values: tuple[Any, ...]) -> None:
        import numpy as np

        wave = c.wave
        lane = thread - wave.first * wave.threads
        if not 0 <= lane < wave.n or not wave.alive[lane]:
            return
        at = np.flatnonzero(c.lane_numbers() == lane)
        if not len(at):
            return
        shown = []
        for r, x in zip(i.results, values, strict=False):
            bits = x[0] if len(x) == 1 else x[int(at[0])]
            shown.append(f"{r.name or '_'} = {_shown(bits, str(r.type))}")
        place = f"{i.line:5}: " if i.line else ""
        text = f"{place}{describe(i)}"
        echo(f"{text:<60} {', '.join(shown)}".rstrip())

    return trace


def _shown(bits: Any, type: str) -> str:
    import numpy as np

    if bits.dtype == bool:
        return "true" if bits else "false"
    if bits.ndim:
        return hex(int(bits[0]) | int(bits[1]) << 64)
    if type in ("f32", "f64", "f16"):
        return repr(float(np.asarray(bits).reshape(1).view(f"f{bits.itemsize}")[0]))
    if type[0] == "s":
        return str(int(np.asarray(bits).reshape(1).view(f"i{bits.itemsize}")[0]))
    value = int(bits)
    return str(value) if value < 4096 else hex(value)


@click.command("run")
@click.argument("file")
@click.option("--kernel", metavar="NAME", help="Which kernel; may be left out if there is one.")
@click.option("--grid", default="1", show_default=True, metavar="X,Y,Z", help="Blocks of the grid.")
@click.option("--block", default="32", show_default=True, metavar="X,Y,Z", help="Threads a block.")
@click.option("--arg", "arguments", multiple=True, metavar="VALUE",
              help="An argument, in the order of the parameters.")
@click.option("--dynamic-smem", type=click.IntRange(0), default=0, metavar="BYTES",
              help="Bytes of dynamic shared memory.")
@click.option("--dump", "dumps", multiple=True, metavar="[N=]FILE.npy",
              help="Save array argument N (from 0), or the arrays in order.")
@click.option("--check", "checks", multiple=True, type=click.Choice(["uninit", "race", "barrier"]),
              help="Report loads of bytes never written, races in shared memory, or barriers that "
              "not all threads of a warp come to.")
@click.option("--trace", type=click.IntRange(0), metavar="THREAD",
              help="Print each instruction of one thread (numbered over the grid).")
@click.option("--profile", "profiles", is_flag=True, help="Executed instructions of each block.")
@click.option("--max-steps", type=click.IntRange(1), default=10**8, show_default=True, metavar="N",
              help="Stop after so many instructions.")
@click.option("--max-seconds", type=Seconds(), default=15, show_default=True, metavar="S",
              help="Stop after so much processor time.")
@click.option("--max-bytes", type=click.IntRange(1), default=1 << 28, show_default=True,
              metavar="N", help="The most global memory, and the most of local memory.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@reports_errors
def command(
    file: str, kernel: str | None, grid: str, block: str, arguments: tuple[str, ...],
    dynamic_smem: int, dumps: tuple[str, ...], checks: tuple[str, ...], trace: int | None,
    profiles: bool, max_steps: int, max_seconds: float, max_bytes: int, as_json: bool,
) -> None:
    """Run a kernel of FILE on numpy lanes.

    An argument is a number, TYPE:NUMBER (i32:5, f32:1.5), zeros:TYPE[N], ones:TYPE[N],
    range:TYPE[N], random:TYPE[N]@SEED, bytes:HEX for a struct, or FILE.npy. Arrays may
    have several extents: zeros:f32[16,16].

    \b
    Examples:
      nvir run saxpy.ptx --grid 2 --block 32 --arg 50 --arg f32:2 \\
          --arg range:f32[50] --arg ones:f32[50]
    """
    module = read_module(file)
    name = _kernel_name(module, kernel, file)
    values: list[Any] = []
    left = max_bytes
    for text in arguments:
        values.append(parse_argument(text, left))
        left -= values[-1].nbytes if getattr(values[-1], "ndim", 0) else 0
    from nvir.interp.grid import GridLaunch

    targets = _dump_targets(dumps, values)
    piped = any(path == STDIO for _, path in targets)
    if piped and (as_json or profiles or trace is not None):
        raise click.UsageError("--dump - has standard output for itself: no --json, --profile or "
                               "--trace")
    run = GridLaunch(
        module, name, parse_dim(grid), parse_dim(block), dynamic_smem, max_steps,
        ("bounds", *checks), max_bytes, max_seconds=max_seconds,
    )
    try:
        run.bind(values, {}, {})
    except TypeError as e:
        raise click.UsageError(str(e)) from None
    if trace is not None:
        run.program.trace = tracer(run, trace, lambda text: click.echo(text, err=as_json))
    try:
        result = run.run()
    except LaunchError as e:
        name, line, column = e.place
        at = f"{name}:{line}:{column}: error" if line else file
        raise NvirError(f"{at}: {e}") from None
    for k, path in targets:
        _save(path, values[k])
    rows = _profile(module, result)
    if as_json:
        arrays = {
            str(k): _summary(v) for k, v in enumerate(values) if hasattr(v, "shape") and v.ndim
        }
        click.echo(json.dumps({
            "schema": "nvir.run/1", "kernel": name, "stdout": result.stdout, "steps": result.steps,
            "profile": rows if profiles else None, "arrays": arrays,
        }, indent=1))
        return
    click.echo(result.stdout, nl=False, err=piped)
    if profiles:
        _print_profile(rows)
    if not targets and not profiles and trace is None:
        for k, v in enumerate(values):
            if hasattr(v, "shape") and v.ndim:
                click.echo(f"argument {k}: {_summary(v)}")


def _kernel_name(module: Any, kernel: str | None, file: str) -> str:
    names = [str(f.name) for f in module.kernels]
    if kernel is None:
        if not names:
            raise NvirError(f"{file} has no kernel")
        if len(names) != 1:
            raise click.UsageError(
                f"choose with --kernel from the kernels of {file}: {listed(names)}"
            )
        return names[0]
    found = known_names(kernel, names, file)
    if len(found) > 1:
        raise click.UsageError(f"{kernel!r} means several kernels of {file}: {listed(found)}")
    return found[0]


def _dump_targets(dumps: tuple[str, ...], values: list[Any]) -> list[tuple[int, str]]:
    arrays = [k for k, v in enumerate(values) if hasattr(v, "shape") and v.ndim]
    out = []
    for position, text in enumerate(dumps):
        number, sign, path = text.partition("=")
        if sign and (named := whole_number(number)) is not None:
            k = named
        elif position < len(arrays):
            k, path = arrays[position], text
        else:
            raise click.UsageError(f"{text!r}: there are only {len(arrays)} arrays to save")
        if k not in arrays:
            raise click.UsageError(f"{text!r}: argument {k} is no array")
        out.append((k, path))
    return out


def _save(path: str, array: Any) -> None:
    import io

    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, array)
    write_bytes(path, buffer.getvalue())


def _summary(array: Any) -> str:
    head = ", ".join(str(x) for x in array.reshape(-1)[:8].tolist())
    more = ", …" if array.size > 8 else ""
    return f"{array.dtype}{list(array.shape)} [{head}{more}]"


def _profile(module: Any, result: Any) -> list[dict[str, Any]]:
    """Threads and thread instructions of each block that ran, in layout order."""
    rows = []
    for f in module.functions:
        counts = result.block_counts.get(str(f.name), {})
        for b in f.blocks:
            if b.name in counts:
                size = sum(not (i.form.is_phi or i.form.op.pseudo) for i in b)
                rows.append({
                    "function": str(f.name), "block": b.name, "line": b.line or None,
                    "threads": counts[b.name], "instructions": size * counts[b.name],
                })
    return rows


def _print_profile(rows: list[dict[str, Any]]) -> None:
    total = sum(r["instructions"] for r in rows) or 1
    width = max([len(r["block"]) for r in rows] + [5])
    function = None
    for r in rows:
        if r["function"] != function:
            function = r["function"]
            click.echo(f"{function}\n  {'block':<{width}}  {'line':>6} {'threads':>12} "
                       f"{'instructions':>14}  share")
        share = 100 * r["instructions"] / total
        click.echo(
            f"  {r['block']:<{width}}  {r['line'] or '':>6} {r['threads']:>12} "
            f"{r['instructions']:>14}  {share:4.1f}%"
        )
    click.echo(f"  {'total':<{width}}  {'':>6} {'':>12} {total:>14}")
