"""`nvir opt`: run a pipeline on a module, and show what its passes did."""

from __future__ import annotations

from typing import Any

import click

from nvir.cli.common import (
    arch_option,
    command_line,
    knob_option,
    knobs_of,
    output_option,
    pattern,
    policy_option,
    profile_option,
    read_with_language,
    reports_errors,
    trace_option,
    tracing,
    write_output,
)
from nvir.ir.errors import NvirError, ParseError
from nvir.ir.module import Module
from nvir.ir.verify import verify
from nvir.loading import STDIO
from nvir.passes import statistics
from nvir.passes.driver import Driver, Settings
from nvir.passes.phases import check_phase_order, pass_names
from nvir.passes.pipeline import PRESETS, check_order, parse_pipeline
from nvir.passes.registry import all_passes
from nvir.passes.remarks import Remarks
from nvir.passes.statistics import chrome_trace, stats_table, time_table


def _names(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`a,b` and repeated options, as one tuple."""
    return tuple(n.strip() for item in value for n in item.split(",") if n.strip())


class _Command(click.Command):
    """`--print-changed` may stand alone: it must not take FILE for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = "--print-changed"
        return super().parse_args(ctx, [f"{bare}=on" if a == bare else a for a in args])


@click.command("opt", cls=_Command, context_settings={"max_content_width": 100})
@click.argument("file", metavar="FILE")
@click.option("-p", "--passes", "pipeline", default="", metavar="PIPELINE",
              help="Passes in order, such as 'copy-prop,gvn,dce'; `tune` as the last puts in what "
              "`nvir tune` finds faster. --list-passes shows them.")
@click.option("--emit", type=click.Choice(["ptx", "ori", "nvir", "ll", "none"]), default=None,
              help="What to print: PTX, nvir's own text, or LLVM text. By default, what FILE is.")
@click.option("--dialect", type=click.Choice(["llvm7", "llvm20"]), default=None,
              help="Make LLVM text that libnvvm takes: LLVM 7's below compute_100, "
              "LLVM 20's from there on. Without it, text for LLVM itself.")
@output_option
@arch_option
@profile_option
@policy_option
@knob_option
@trace_option
@click.option("--verify-each", is_flag=True, help="Verify before the first pass and after each.")
@click.option("--check", is_flag=True, help="Also hold each pass to what it declares.")
@click.option("--print-before", multiple=True, callback=_names, metavar="PASS|all",
              help="Print each function before these passes, to standard error.")
@click.option("--print-after", multiple=True, callback=_names, metavar="PASS|all",
              help="Print each function after these passes.")
@click.option("--print-changed", type=click.Choice(["on", "quiet", "diff"]), default=None,
              metavar="[=quiet|diff]", help="Print each function after a pass that changed it.")
@click.option("--filter-funcs", multiple=True, callback=_names, metavar="PATTERN",
              help="Print only functions that match.")
@click.option("--skip", multiple=True, callback=_names, metavar="PASS|PHASE",
              help="Leave passes out, by their name or the real phase's.")
@click.option("--opt-bisect-limit", type=int, metavar="N",
              help="Run only the first N runs of passes on functions; -1 prints each with its "
              "number.")
@click.option("--time-passes", is_flag=True, help="Print what each pass took.")
@click.option("--time-trace", metavar="FILE", help="The same as a Chrome trace.")
@click.option("--stats", is_flag=True, help="Print the passes' counters.")
@click.option("--stats-json", metavar="FILE", help="Write the counters as JSON.")
@click.option("--remarks", metavar="PATTERN",
              help="Print remarks of the passes that match: text, `.`, `.*`, `^`, `$`, `|`.")
@click.option("--remarks-file", metavar="FILE",
              help="Write them: .json, .yaml (LLVM's format), else text.")
@click.option("--readback", is_flag=True,
              help="Have ptxas assemble the result; remark which software pipelines it keeps.")
@click.option("--print-pipeline", is_flag=True, help="Print the pipeline as it was understood.")
@click.option("--list-passes", is_flag=True, is_eager=True, expose_value=False,
              callback=lambda ctx, param, on: _list_passes(ctx, param, on),
              help="List the passes and exit.")
@reports_errors
def command(
    file: str, pipeline: str, emit: str | None, dialect: str | None, output: str | None,
    arch: str | None, profile: str | None, policy: str, knobs: tuple[str, ...], traced: bool,
    verify_each: bool, check: bool,
    print_before: tuple[str, ...], print_after: tuple[str, ...], print_changed: Any,
    filter_funcs: tuple[str, ...], skip: tuple[str, ...], opt_bisect_limit: int | None,
    time_passes: bool, time_trace: str | None, stats: bool, stats_json: str | None,
    remarks: str | None, remarks_file: str | None, readback: bool, print_pipeline: bool,
) -> None:
    """Run passes on the PTX, LLVM text or IR in FILE ('-' is standard input) and print the result.

    Without -p nothing is changed: the file is read, and printed again from its IR. LLVM text that
    is printed as PTX is selected first.

    \b
    Examples:
      nvir opt kernel.ptx -p copy-prop,gvn,dce -o smaller.ptx
      nvir opt kernel.ptx -p 'loop-simplify,gemm-pipeline<stages=3>,dce' --remarks gemm --readback
      nvir opt kernel.ptx --emit ori
      nvir opt kernel.ll --dialect llvm7 -o for_libnvvm.ll
    """
    with command_line():
        before, _, last = pipeline.rpartition(",")
        tunes = last.strip() == "tune"  # no pass: it asks ptxas
        steps = parse_pipeline(before if tunes else pipeline)
        values = knobs_of(knobs, policy)  # type: ignore[arg-type]  # click checked it
        machine = _machine(profile, arch)
        wanted = None if remarks is None else pattern(remarks)
        for name in (*skip, *(n for n in (*print_before, *print_after) if n != "all")):
            pass_names(name)
    if print_pipeline:
        click.echo(str(steps), err=True)
    problems = check_order(steps)
    if policy == "documented":  # passes that stand for several phases may come at any of them
        problems += check_phase_order(
            s.pass_.phases[0] for s in steps if len(s.pass_.phases) == 1)
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    module, language = read_with_language(file)
    if (verify_each or check) and language == "ptx" and file != STDIO:
        _refuse(file, module)
    settings = Settings.from_environment(
        verify_each=verify_each or check, check=check, print_before=print_before,
        print_after=print_after, print_changed=print_changed or "", filter_funcs=filter_funcs,
        skip=skip, opt_bisect_limit=opt_bisect_limit,
    )
    driver = Driver(settings)
    with tracing(traced, policy):
        ctx = driver.run(module, steps, knobs=values, profile=machine)
    if emit == "ptx" and module.level == "nvvm":
        from nvir.passes.select import LOWER

        driver.run(module, parse_pipeline(LOWER), knobs=values, profile=machine)
    printed = emit or language
    if dialect and printed == "ll":
        driver.run(module, parse_pipeline(f"legalize<dialect={dialect}>"), knobs=values,
                   profile=machine)
    if tunes:
        from nvir.cli.tune import put_winners

        if module.level != "ori":
            raise NvirError("tune needs PTX, or a pipeline that makes it")
        put_winners(module, arch, profile)
    if readback:
        _read_back(module, ctx.remarks, arch, show=wanted is None)
    outputs = [(output, _emitted(module, printed, dialect or "llvm20"))]
    if remarks_file:
        outputs.append((remarks_file, _remarks_text(ctx.remarks, remarks_file)))
    if time_trace:
        outputs.append((time_trace, chrome_trace(driver.timings)))
    if stats_json:
        outputs.append((stats_json, statistics.stats_json(ctx.counters)))
    for path, text in outputs:
        if text is not None:
            write_output(path, text)
    if wanted is not None:
        click.echo(ctx.remarks.filter(wanted).to_text(), err=True, nl=False)
    if time_passes:
        click.echo(time_table(driver.timings), err=True, nl=False)
    if stats:
        click.echo(stats_table(ctx.counters), err=True, nl=False)


def _read_back(module: Module, remarks: Remarks, arch: str | None, show: bool) -> None:
    """Add what ptxas makes of pipelined loops to the remarks; tell it where these are not shown."""
    from nvir.report.schedule.readback import readback_remarks

    if module.level != "ori":
        raise NvirError("--readback needs PTX, or a pipeline that makes it")
    found = readback_remarks(module, arch)
    for r in found:
        remarks.add(r)
    if not found:
        click.echo("no loop is pipelined, so there is nothing to read back", err=True)
    elif show:
        click.echo("".join(f"{r}\n" for r in found), err=True, nl=False)


def _emitted(module: Module, language: str, dialect: str) -> str | None:
    if language == "none":
        return None
    if language in ("ori", "nvir"):
        verify(module)  # it is read again under the verifier's rules, which PTX need not keep
        return str(module)
    if language == "ll":
        from nvir.llvm.printer import print_ll

        return print_ll(module, dialect)
    from nvir.ptx.printer import print_ptx

    text: str = print_ptx(module)
    return text


def _refuse(file: str, module: Module) -> None:
    """Raise what `nvir check` finds in the PTX of a file: passes shall start from what is right."""
    from pathlib import Path

    from nvir.ptx.check import check

    errors = [d for _, d in check(Path(file)) if d.severity == "error"]
    if errors:
        raise ParseError(errors)


def _machine(name: str | None, arch: str | None) -> Any:
    """The profile that was named, or the one that fits --arch; None: that of the file's target."""
    from nvir.sm.profile import profile, profile_for

    if name is not None:
        return profile(name)
    return None if arch is None else profile_for(arch)


def _remarks_text(remarks: Remarks, path: str) -> str:
    if path.endswith(".json"):
        return remarks.to_json() + "\n"
    return remarks.to_yaml() if path.endswith((".yaml", ".yml")) else remarks.to_text()


def _list_passes(ctx: click.Context, _: click.Parameter, on: bool) -> None:
    if not on:
        return
    for p in all_passes().values():
        options = "".join(
            f"\n    {o.key}={str(o.default).lower() if o.type is bool else o.default}"
            for o in p.option_table().values()
        )
        click.echo(f"{p.name:<12} {p.summary} ({p.level}){options}")
    for name, text in PRESETS.items():
        click.echo(f"{name:<12} short for {text}")
    ctx.exit()
