"""`nvir report`: loops, registers and occupancy of each kernel, as tables or JSON."""

from __future__ import annotations

import json
import sys

import attrs
import click

from nvir.cli.common import (
    arch_option,
    json_option,
    output_option,
    policy_option,
    profile_option,
    read_module,
    reports_errors,
    write_output,
)


@click.command("report")
@click.argument("file")
@arch_option
@profile_option
@policy_option
@click.option(
    "--block", type=click.IntRange(1, 1024), metavar="THREADS",
    help="Threads a block; .reqntid or .maxntid by default, else 256.",
)  # fmt: skip
@click.option(
    "--dynamic-smem", type=click.IntRange(0), default=0, metavar="BYTES",
    help="Dynamic shared memory at launch.",
)  # fmt: skip
@click.option("--kernel", metavar="NAME", help="Only this function.")
@json_option
@output_option
@reports_errors
def command(
    file: str, arch: str | None, profile: str | None, policy: str, block: int | None,
    dynamic_smem: int, kernel: str | None, as_json: bool, output: str | None,
) -> None:  # fmt: skip
    """Report the loops, registers and occupancy of each kernel in FILE."""
    from nvir.report import Launch, report

    module = read_module(file)
    if kernel is not None:
        names = [f.name for f in module.functions if f.blocks]
        if kernel not in names:
            known = ", ".join(str(n) for n in names[:12]) or "none"
            raise click.UsageError(f"no function {kernel!r} in {file}; there are: {known}")
    made = report(
        module, arch=arch, profile=profile, policy=policy, launch=Launch(block, dynamic_smem)
    )
    made = attrs.evolve(made, file=file if file != "-" else "standard input")
    if kernel is not None:
        made = attrs.evolve(
            made, functions=tuple(f for f in made.functions if f.name == kernel)
        )
    if as_json:
        write_output(output, json.dumps(made.to_json(), indent=2) + "\n")
        return
    from nvir.report.table import make_console, print_report

    if output in (None, "-"):
        print_report(made, make_console(sys.stdout.isatty()))
        return
    console = make_console(False)
    with console.capture() as captured:
        print_report(made, console)
    write_output(output, captured.get())
