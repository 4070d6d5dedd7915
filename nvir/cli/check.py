"""`nvir check`: what the assembler would refuse, found without it."""

from __future__ import annotations

import click

from nvir.cli.common import arch_option, output_option, reports_errors, write_output


@click.command("check")
@click.argument("file")
@arch_option
@click.option("--json", "style", flag_value="json", help="Print JSON.")
@click.option("--sarif", "style", flag_value="sarif", help="Print SARIF, for code scanning.")
@click.option("--github", "style", flag_value="github", help="Print GitHub annotations.")
@output_option
@click.pass_context
@reports_errors
def command(
    ctx: click.Context, file: str, arch: str | None, style: str | None, output: str | None
) -> None:
    """Check the PTX in FILE: every error with its line and column. Exits with 1 if there is one.

    Of a CUDA source the strings of `asm` statements are checked, at their places in it; of LLVM
    text and nvir's own what cannot be read or breaks a rule.

    \b
    Examples:
      nvir check kernel.ptx
      nvir check kernel.ptx --github
    """
    from nvir.loading import read_bytes
    from nvir.report.findings import as_github, as_json, as_sarif, as_text, find

    found = find(read_bytes(file), file, arch)
    styles = {"json": as_json, "sarif": as_sarif, "github": as_github}
    write_output(output, styles.get(style or "", as_text)(file, found))
    if any(d.severity == "error" for _, d in found):
        ctx.exit(1)
