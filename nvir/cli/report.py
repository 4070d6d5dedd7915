"""`nvir report`: loops, registers and occupancy of each kernel, as tables or JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from nvir.cli.common import (
    arch_option,
    block_option,
    dynamic_smem_option,
    json_option,
    kernel_option,
    known_names,
    output_option,
    policy_option,
    profile_option,
    progress,
    read_compiled,
    reports_errors,
    trials,
    via_option,
    write_output,
)
from nvir.ir.errors import NvirError
from nvir.ir.module import Module
from nvir.loading import STDIO, read_bytes

if TYPE_CHECKING:
    from nvir.passes.knobs import Policy
    from nvir.report import Launch, ModuleReport
    from nvir.report.many import FileJob
    from nvir.report.real import RealCode


@click.command("report")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@arch_option
@profile_option
@policy_option
@block_option
@dynamic_smem_option
@kernel_option
@click.option(
    "--lines", is_flag=True, help="Each line with its live registers, and who is live at the peak."
)
@click.option(
    "--schedule", is_flag=True, help="Also modulo schedule the innermost loops, for their II."
)
@click.option("--source", is_flag=True, help="With --lines: show the source lines as well.")
@click.option(
    "--source-root", metavar="FOLDER", multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --source: where source files lie; the folder of FILE by default.",
)
@via_option
@click.option("--verbose", is_flag=True, help="The codes and numbers of decisions as well.")
@click.option(
    "--model", "as_model", is_flag=True,
    help="Registers and peaks by nvir's model of ptxas, though ptxas is there.",
)
@click.option("--ptxas", "ask_ptxas", is_flag=True, help="Fail where ptxas gives no figures.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, metavar="N",
    help="Worker processes for the files of a folder; the processors by default.",
)
@click.option("--html", "as_html", is_flag=True, help="Print one self-contained HTML page.")
@json_option
@output_option
@reports_errors
def command(
    files: tuple[str, ...], arch: str | None, profile: str | None, policy: Policy,
    block: int | None, dynamic_smem: int, kernel: str | None, lines: bool, schedule: bool,
    source: bool, source_root: tuple[Path, ...], via: list[str], verbose: bool, as_model: bool,
    ask_ptxas: bool, jobs: int, as_html: bool, as_json: bool,
    output: str | None,
) -> None:
    """Report the loops, registers and occupancy of each kernel in FILE.

    FILE is PTX, CUDA C++, LLVM text, nvir's own, or a cubin, fat binary, object or executable (by
    cuobjdump). Of a folder, or of several files, it reports a line for each kernel.

    Where ptxas is installed, registers, spills, occupancy, the peak, unrolling and the resource
    bounds of loops are those of the code that it makes, and with --lines so are live registers;
    else, and with --model, nvir predicts them.

    \b
    Examples:
      nvir report kernel.ptx
      nvir report kernel.ptx --lines --kernel sgemm
      nvir report folder --json -o report.json
    """
    if source and not lines:
        raise click.UsageError("--source goes with --lines")
    if source_root and not source:
        raise click.UsageError("--source-root goes with --source")
    if as_html and (lines or as_json):
        raise click.UsageError("--html goes with neither --lines nor --json")
    if as_model and ask_ptxas:
        raise click.UsageError("--model goes without --ptxas")
    if lines and (ask_ptxas or schedule):
        raise click.UsageError("--lines goes with neither --ptxas nor --schedule")
    file = files[0]
    if len(files) > 1 or (file != STDIO and os.path.isdir(file)):
        if lines or via or as_html or kernel is not None:
            raise click.UsageError(
                "a folder or several files go with no --lines, --via, --html, --kernel"
            )
        from nvir.report.many import FileJob

        options = FileJob(
            "", arch, profile, policy, block, dynamic_smem, schedule, ask_ptxas, as_model
        )
        _many(files, options, jobs, as_json, output)
        return
    from nvir.report import Launch
    from nvir.report.model import machine_for

    launch = Launch(block, dynamic_smem)
    binary = _binary(file)
    if binary is None:
        modules, code_only = [read_compiled(file, arch, via)], None
    else:
        modules, arch, code_only = _open(binary, arch, profile, launch, lines or ask_ptxas)
    found = _real(modules, arch, policy, as_model)
    if lines:
        _lines(modules, found, arch, file, kernel, source, source_root, as_json, output)
        return
    if kernel is not None and code_only is None:
        known_names(kernel, [str(f.name) for m in modules for f in m.functions if f.blocks], file)
    if ask_ptxas:
        found = [x.required() for x in found]
    made = code_only or _report(
        modules, found, arch, profile, policy, launch, schedule, kernel, as_html
    )
    if binary is None and found[0].assembler is not None:
        machine = machine_for(profile, made.arch, file, [])
        made = trials(modules[0], file, arch, machine, via, dynamic_smem).report(made)
    made = attrs.evolve(made, file=file if file != STDIO else "standard input")
    if kernel is not None and code_only is not None:
        wanted = known_names(kernel, [f.name for f in made.functions], file)
        made = attrs.evolve(made, functions=tuple(f for f in made.functions if f.name in wanted))
    if as_html:
        from nvir.report.html.page import html_report

        if len(modules) != 1:
            raise click.UsageError("--html needs a file with one module of PTX")
        machine = machine_for(profile, made.arch, file, [])
        write_output(output, html_report(made, modules[0], machine, schedules=schedule))
        return
    if as_json:
        write_output(output, json.dumps(made.to_json(), indent=2) + "\n")
        return
    from nvir.report.table import print_lines, report_lines, report_text, terminal

    if output in (None, STDIO) and sys.stdout.isatty():
        console = terminal()
        print_lines(report_lines(made, console.width, verbose), console)
    else:
        write_output(output, report_text(made, verbose))


def _many(
    paths: tuple[str, ...], options: FileJob, jobs: int, as_json: bool, output: str | None
) -> None:
    from nvir.report.many import many_text, report_many
    from nvir.report.sweep import files_in

    files = [f for p in paths for f in files_in(Path(p))]
    with progress("files") as tell:
        document = report_many(files, options, jobs, tell)
    write_output(output, json.dumps(document, indent=1) + "\n" if as_json else many_text(document))
    if any(x["error"] for x in document["files"]):
        sys.exit(1)


def _real(
    modules: list[Module], arch: str | None, policy: Policy, as_model: bool
) -> list[RealCode]:
    """What ptxas makes of each module; nothing where the model is asked for."""
    from nvir.report.real import NOTHING, real_of

    if as_model or policy != "observed":
        return [NOTHING] * len(modules)
    return [real_of(m, arch or m.target, decode=True) for m in modules]


def _report(
    modules: list[Module], real: list[RealCode], arch: str | None, profile: str | None,
    policy: Policy, launch: Launch, schedule: bool, kernel: str | None, keep: bool,
) -> ModuleReport:
    from nvir.report import report
    from nvir.report.binaries import join

    return join([
        report(m, arch=arch, profile=profile, policy=policy, launch=launch, schedule=schedule,
               kernel=kernel, keep=keep, real=r)
        for m, r in zip(modules, real, strict=True)
    ])


def _binary(file: str) -> bytes | Path | None:
    """The file, or standard input's content, where it is a binary; None for text."""
    from nvir.report.binaries import is_binary

    if file == STDIO:
        peek = getattr(sys.stdin.buffer, "peek", None)
        try:
            if peek is None or not is_binary(peek(8)):
                return None
        except OSError as e:
            raise NvirError(f"standard input: {e.strerror}") from None
        return read_bytes(STDIO)
    try:
        if not os.path.isfile(file) and os.path.exists(file) and not os.path.isdir(file):
            return None  # a pipe: what was read of it is gone
        with open(file, "rb") as f:
            head = f.read(8)
    except OSError as e:
        raise NvirError(f"{file}: {e.strerror or e}") from None
    return Path(file) if is_binary(head) else None


def _open(
    binary: bytes | Path, arch: str | None, profile: str | None, launch: Launch, needs_ptx: bool
) -> tuple[list[Module], str, ModuleReport | None]:
    """(modules, architecture, report) of a binary; without PTX the report and no modules."""
    from nvir.report.binaries import open_binary, report_machine_code

    contents = open_binary(binary, arch)
    if contents.others:
        others = ", ".join(contents.others)
        click.echo(f"note: for {contents.arch}; --arch chooses from {others}", err=True)
    if contents.modules:
        return list(contents.modules), contents.arch, None
    if needs_ptx:
        raise NvirError(f"{binary if isinstance(binary, Path) else 'standard input'} holds no PTX")
    return [], contents.arch, report_machine_code(
        binary, contents, profile=profile, launch=launch
    )


def _lines(
    modules: list[Module], real: list[RealCode], arch: str | None, file: str, kernel: str | None,
    source: bool, source_root: tuple[Path, ...], as_json: bool, output: str | None,
) -> None:
    from nvir.report.lines import line_listing, module_json
    from nvir.report.listing import listing_lines, listing_text
    from nvir.report.places import source_text
    from nvir.report.table import print_lines, terminal

    for note in {d.message for r in real for d in r.diagnostics(file)}:
        click.echo(f"note: {note}", err=True)
    found = [
        (m, f, r) for m, r in zip(modules, real, strict=True) for f in m.functions if f.blocks
    ]
    if kernel is not None:
        wanted = known_names(kernel, [str(f.name) for _, f, _ in found], file)
        found = [x for x in found if x[1].name in wanted]
    listings = [
        line_listing(f, m, m.text.split("\n") if m.text is not None else None, arch=arch,
                     body=r.bodies.get(str(f.name)))
        for m, f, r in found
    ]
    if as_json:
        arch = arch or (modules[0].target if modules else "")
        write_output(output, json.dumps(module_json(listings, arch), indent=1) + "\n")
        return
    files = {n: name for m in modules for n, name, _ in m.debug.files}
    folders = [*([Path(file).parent] if file != STDIO else []), *source_root]
    sources = source_text(files, folders) if source else None
    if output in (None, STDIO) and sys.stdout.isatty():
        console = terminal()
        for listing in listings:
            print_lines(listing_lines(listing, console.width, sources), console)
            console.print()
        return
    write_output(output, "\n".join(listing_text(x, sources) for x in listings))
