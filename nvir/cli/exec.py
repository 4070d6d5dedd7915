"""`nvir exec`: run a CUDA program without a GPU."""

from __future__ import annotations

import sys

import click

from nvir.cli.common import Seconds, reports_errors


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.option("--passes", default="", metavar="PIPELINE",
              help="Run these passes on the program's PTX first; presets are those of `nvir opt`.")
@click.option("--policy", type=click.Choice(["observed", "documented"]), default="observed",
              show_default=True, help="Heuristics of the passes.")
@click.option("--tune", is_flag=True, help="Take the winners of `nvir tune` for its kernels.")
@click.option("--arch", metavar="SM", help="The device; by default the newest that the program has "
              "PTX for, and sm_80 at least.")
@click.option("--check", is_flag=False, flag_value="race,uninit,barrier", default="",
              metavar="[=KINDS]",
              help="End the program at the first kernel that goes wrong; look for races in shared "
              "memory (race), for reads of bytes never written (uninit) and for barriers that not "
              "all threads of a warp come to (barrier) as well.")
@click.option("--stats", is_flag=True, help="At the end, what each source line cost.")
@click.option("--memory", type=click.IntRange(16), default=4096, show_default=True, metavar="MIB",
              help="The device's memory.")
@click.option("--max-steps", type=click.IntRange(1), default=10**8, metavar="N",
              help="Instructions of one launch, beyond which it is taken to hang.")
@click.option("--max-seconds", type=Seconds(), default=60, show_default=True, metavar="S",
              help="Processor time of one launch, beyond which it is an error.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@reports_errors
def command(
    passes: str, policy: str, tune: bool, arch: str | None, check: str, stats: bool, memory: int,
    max_steps: int, max_seconds: float, program: tuple[str, ...],
) -> None:
    """Run PROGRAM with its kernels in the interpreter.

    PROGRAM is a file that nvcc built, or anything that starts one; its own exit status is the
    command's, or 1 where it ended with 0 although a kernel failed. Needs a C compiler the first
    time, and PTX in the program (nvcc embeds it by default).

    \b
    Examples:
      nvir exec -- ./vector_add 1000
      nvir exec --check -- ./test_reduction
      nvir exec --passes emission --stats -- ctest
    """
    import shutil

    from nvir.exec.server import ExecSettings, execute, machine
    from nvir.interp.grid import CHECKS

    kinds = tuple(filter(None, check.split(",")))
    if unknown := set(kinds) - set(CHECKS):
        raise click.UsageError(f"--check knows {', '.join(CHECKS)}, not {', '.join(unknown)}")
    if passes:
        from nvir.passes.pipeline import parse_pipeline

        parse_pipeline(passes)
    settings = ExecSettings(
        machine(arch, shutil.which(program[0]) or program[0]), passes, policy, tune, kinds, stats,
        memory << 20, max_steps, max_seconds,
    )
    sys.exit(execute(program, settings))
