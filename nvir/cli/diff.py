"""`nvir diff`: two versions of a module compared, for people and for CI."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from nvir.cli.common import (
    arch_option,
    block_option,
    command_line,
    dynamic_smem_option,
    json_option,
    kernel_option,
    known_names,
    output_option,
    policy_option,
    profile_option,
    read_module,
    reports_errors,
    write_output,
)
from nvir.ir.errors import NvirError
from nvir.loading import STDIO, read_bytes

if TYPE_CHECKING:
    from nvir.passes.knobs import Policy
    from nvir.report.model import ModuleReport

CROSSED = 3


@click.command("diff")
@click.argument("before")
@click.argument("after", required=False)
@arch_option
@profile_option
@policy_option
@block_option
@dynamic_smem_option
@kernel_option
@click.option(
    "--fail-on", metavar="LIMITS", default=None,
    help="How much worse a figure may get, e.g. registers=+2,instructions=+5%; exit 3 beyond. "
    "By default registers=+2,occupancy=0,missing=0; '' for none.",
)
@click.option(
    "--thresholds", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="More limits, in a file, one a line, # before remarks.",
)
@click.option("--junit", "style", flag_value="junit", help="Print JUnit, a case a kernel.")
@click.option("--github", "style", flag_value="github", help="Print GitHub annotations.")
@click.option("--ptxas", "ask_ptxas", is_flag=True, help="Compare what ptxas says of registers.")
@click.option("--model", "as_model", is_flag=True,
              help="Of one PTX file: its predicted and its real machine code side by side.")
@json_option
@output_option
@reports_errors
def command(
    before: str, after: str | None, arch: str | None, profile: str | None, policy: Policy,
    block: int | None, dynamic_smem: int, kernel: str | None, fail_on: str | None,
    thresholds: Path | None, style: str | None, ask_ptxas: bool, as_model: bool, as_json: bool,
    output: str | None,
) -> None:
    """Compare registers, instructions, loops and occupancy of the kernels of two PTX files.

    BEFORE and AFTER are files or folders; REVISION:PATH takes them from git. Files of folders are
    compared by their names. Registers and occupancy are predicted; with --ptxas they are real, and
    spills (stores and loads together) and stack are known, also those of a kernel that is added.

    Exit 3 where a kernel of AFTER is worse than that of BEFORE by more than a threshold.

    With --model, of BEFORE alone: what nvir predicts of each kernel beside what ptxas makes of it.
    Below the registers stand the operations of which there are too many or too few (predicted,
    real, within loops both in brackets), then by line of the PTX the number of the first, the live
    registers and the operations; * marks lines that differ. Pipes are not compared.

    \b
    Examples:
      nvir diff old.ptx new.ptx --fail-on registers=+2,instructions=+5%
      nvir diff main:kernels kernels --ptxas --fail-on spills=0,stack=0 --junit -o report.xml
      nvir diff --model kernel.ptx --kernel saxpy
    """
    if as_model:
        if after is not None or before == STDIO:
            raise click.UsageError("--model is about one PTX file")
        if style is not None:
            raise click.UsageError(f"--model or --{style}, not both")
        write_output(output, _side_by_side(before, arch, profile, kernel, as_json))
        return
    if after is None:
        raise click.UsageError("Missing argument 'AFTER' (or --model, for one file)")
    from nvir.report import Launch, report
    from nvir.report.diff import (
        DEFAULT,
        Diff,
        compare,
        diff_github,
        diff_junit,
        diff_text,
        parse_thresholds,
    )
    from nvir.report.names import named
    from nvir.report.real import NOTHING, real_of

    with command_line():
        if thresholds is not None:
            fail_on = f"{read_bytes(str(thresholds)).decode('utf-8', 'replace')}\n{fail_on or ''}"
        limits = parse_thresholds(DEFAULT if fail_on is None else fail_on)
    real = {"spills", "stack"}.intersection(t.metric for t in limits)
    if real and not ask_ptxas:
        raise click.UsageError(f"a limit on {' and '.join(sorted(real))} needs --ptxas")
    if style is not None and as_json:
        raise click.UsageError(f"--json or --{style}, not both")
    if not before or not after:
        raise click.UsageError("a file has no name: ''")
    if before == STDIO and after == STDIO:
        raise click.UsageError("only one of the two can be standard input")
    if ask_ptxas and STDIO in (before, after):
        raise click.UsageError("--ptxas needs two PTX files")

    def made(file: str, shown: str) -> ModuleReport:
        module = read_module(file, arch, "ori")
        real = NOTHING
        if ask_ptxas:
            real = real_of(module, arch or module.target).required()
        one = report(
            module, arch=arch, profile=profile, policy=policy,
            launch=Launch(block, dynamic_smem), schedule=True, real=real,
        )
        one = attrs.evolve(one, file=shown if file != STDIO else "standard input")
        if kernel is not None:
            wanted = named(kernel, [f.name for f in one.functions])
            one = attrs.evolve(one, functions=tuple(f for f in one.functions if f.name in wanted))
        return one

    diffs: list[Diff] = []
    lost: list[str] = []
    new_files: list[str] = []
    with contextlib.ExitStack() as stack:
        old, new = (stack.enter_context(_place(x)) for x in (before, after))
        several = os.path.isdir(old) and os.path.isdir(new)
        if os.path.isdir(old) != os.path.isdir(new):
            raise click.UsageError(f"one of {before} and {after} is a folder, the other is not")
        for a, b, name in _pairs(Path(old), Path(new)) if several else [(old, new, None)]:
            shown = _named(after, name)
            if not b:
                lost.append(shown)
                continue
            now = made(b, shown)
            if not a:
                new_files.append(shown)
            was = made(a, _named(before, name)) if a else attrs.evolve(now, file="", functions=())
            diffs.append(compare(was, now, limits))
    if kernel is not None and not any(d.functions for d in diffs):
        raise click.UsageError(f"neither file has a function {kernel!r}")
    fails = any(t.metric == "missing" for t in limits) and lost
    told = [f"{x}: is missing" for x in lost] + [f"{x}: is new" for x in new_files]
    if not any(d.functions for d in diffs) and not told:
        raise NvirError(f"neither {before} nor {after} has a function with a body")
    if style is not None:
        text = (diff_junit if style == "junit" else diff_github)(
            diffs, lost if fails else [])
    elif not several:
        text = json.dumps(diffs[0].to_json(), indent=2) + "\n" if as_json else diff_text(diffs[0])
    elif as_json:
        rows = [d.to_json() for d in diffs]
        text = json.dumps({"schema": "nvir.diffs/1", "files": rows, "lost": told}, indent=1) + "\n"
    else:
        text = "\n".join([*map(diff_text, diffs), *(f"{x}\n" for x in told)])
    write_output(output, text)
    if fails or any(d.crossings for d in diffs):
        click.get_current_context().exit(CROSSED)


@contextlib.contextmanager
def _place(given: str) -> Iterator[str]:
    """A path as it is; REVISION:PATH as git has it, in a folder that is gone afterwards."""
    revision, colon, path = given.partition(":")
    if given == STDIO or not colon or os.path.exists(given):
        yield given
        return
    if revision.startswith("-"):
        raise click.UsageError(f"{given!r}: no revision begins with '-'")
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = subprocess.run(
                ["git", "archive", "--format=tar", revision, "--", path],
                capture_output=True, check=True,
            )
        except (OSError, subprocess.CalledProcessError) as e:
            told = getattr(e, "stderr", b"") or str(e).encode()
            raise NvirError(f"{given}: {told.decode('utf-8', 'replace').strip()}") from None
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as tar:
            tar.extractall(folder, filter="data")
        yield os.path.join(folder, path)


def _named(given: str, name: str | None) -> str:
    """The path, without a revision, of what was given or of the file of that name in it."""
    path = given if given == STDIO or os.path.exists(given) else given.partition(":")[2] or given
    return path if name is None else Path(path, name).as_posix()


def _pairs(before: Path, after: Path) -> Iterator[tuple[str, str, str]]:
    """(file before, file after, name) of two folders; "" where there is none."""
    from nvir.loading import SUFFIXES

    old, new = (
        {p.relative_to(top).as_posix(): str(p) for p in top.rglob("*")
         if p.suffix in SUFFIXES and os.path.isfile(p)} for top in (before, after)
    )
    for name in sorted({*old, *new}):
        yield old.get(name, ""), new.get(name, ""), name


def _side_by_side(
    file: str, arch: str | None, profile: str | None, kernel: str | None, as_json: bool
) -> str:
    from nvir.report.bodies import SCHEMA, both_bodies, side_by_side, to_json
    from nvir.report.model import machine_for

    module = read_module(file, arch, "ori")
    target = arch or module.target
    pairs = both_bodies(
        Path(file), module, target, machine_for(profile, target, file, []),
        kernel and known_names(kernel, [str(f.name) for f in module.kernels], file)
    )
    if not pairs:
        raise NvirError(f"{file} has no kernel with a body")
    source = Path(file).read_text("utf-8", "replace").splitlines()
    if as_json:
        rows = [to_json(mine, real, source) for mine, real in pairs]
        document = {"schema": SCHEMA, "file": file, "arch": target, "kernels": rows}
        return json.dumps(document, indent=1) + "\n"
    return "\n".join(side_by_side(mine, real, source) for mine, real in pairs)
