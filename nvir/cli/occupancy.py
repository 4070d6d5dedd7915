"""`nvir occupancy`: blocks on an SM, what limits them, and what one more block would take."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from nvir.cli.common import (
    dynamic_smem_option,
    json_option,
    known_profile,
    output_option,
    reports_errors,
    write_output,
)
from nvir.loading import STDIO
from nvir.sm.occupancy import Need, Occupancy, blocks_text, bound_text, occupancy
from nvir.sm.profile import Profile, profile

MAX_REGISTERS = 255
MAX_THREADS = 1024
_UNITS = {
    "warps": "threads a block",
    "registers": "registers a thread",
    "shared memory": "bytes of shared memory a block",
    "barriers": "barriers a block",
}

Row = tuple[int, int, Occupancy]  # registers from, to, and what they give


@click.command("occupancy")
@click.option(
    "--arch", default="sm_80", show_default=True, metavar="SM", callback=known_profile,
    help="Architecture.",
)
@click.option(
    "--profile", "profile_name", metavar="NAME|FILE", callback=known_profile,
    help="Machine profile instead.",
)
@click.option(
    "--regs", type=click.IntRange(0, MAX_REGISTERS), required=True, metavar="N",
    help="Registers a thread.",
)
@click.option(
    "--block", type=click.IntRange(1, MAX_THREADS), required=True, metavar="THREADS",
    help="Threads a block.",
)
@dynamic_smem_option
@click.option(
    "--static-smem", type=click.IntRange(0), default=0, metavar="BYTES",
    help="Shared memory that the kernel declares.",
)
@click.option(
    "--barriers", type=click.IntRange(0, 16), default=1, show_default=True, metavar="N",
    help="Named barriers.",
)
@json_option
@output_option
@reports_errors
def command(
    arch: str,
    profile_name: str | None,
    regs: int,
    block: int,
    dynamic_smem: int,
    static_smem: int,
    barriers: int,
    as_json: bool,
    output: str | None,
) -> None:
    """Blocks of a kernel on one SM, the limiter, and the curve over register counts.

    \b
    Examples:
      nvir occupancy --arch sm_90 --regs 64 --block 256
      nvir occupancy --regs 40 --block 128 --static-smem 16384
    """
    machine = profile(profile_name or arch)

    def at(registers: int) -> Occupancy:
        return occupancy(
            machine, registers, block, dynamic_smem, static_smem=static_smem, barriers=barriers
        )

    result, rows = at(regs), curve(at)
    if as_json:
        asked = {
            "arch": machine.name,
            "registers": regs,
            "block": block,
            "dynamic_smem": dynamic_smem,
            "static_smem": static_smem,
            "barriers": barriers,
        }
        write_output(output, json.dumps(_as_json(asked, result, rows), indent=1) + "\n")
        return
    used = f"{dynamic_smem + static_smem} bytes of shared memory"
    head = f"{machine.name} · {regs} registers a thread, {block} threads a block, {used}\n\n"
    head += "".join(f"  {line}".rstrip() + "\n" for line in _summary(machine, result)) + "\n"
    if output in (None, STDIO) and sys.stdout.isatty():
        click.echo(head, nl=False)
        _print_rich(rows, regs)
    else:
        write_output(output, head + _plain(rows, regs))


def curve(at: Callable[[int], Occupancy]) -> list[Row]:
    """The steps of the occupancy over 1 to 255 registers; `at` gives that of a register count.

    A step stands for its highest count, whose limiters it shows.
    """
    rows: list[Row] = []
    for registers in range(1, MAX_REGISTERS + 1):
        here = at(registers)
        if rows and rows[-1][2].blocks_per_sm == here.blocks_per_sm:
            rows[-1] = (rows[-1][0], registers, here)
        else:
            rows.append((registers, registers, here))
    return rows


def _summary(machine: Profile, result: Occupancy) -> list[str]:
    if result.blocks_per_sm:
        by = bound_text(result.warps_per_sm, result.fraction, result.limiter)
        head = f"{blocks_text(result.blocks_per_sm)}: {by}"
    else:
        head = f"does not launch: too many {_excess(result)}"
    reserved = machine.limits.shared_reserved_per_block
    limits = ", ".join(
        f"{factor} {'no limit' if bound is None else bound}"
        for factor, bound in result.limits.items()
    )
    more = " and ".join(map(_need, result.one_more)) or "not possible"
    if result.blocks_per_sm == machine.limits.max_blocks_per_sm:
        more = "not possible: all block slots are taken"
    return [
        head,
        "",
        f"{'one more block' if result.blocks_per_sm else 'to launch':<19}{more}",
        f"blocks allowed by  {limits}",
        f"registers          {result.regs_per_block} allocated to a block",
        f"shared memory      {result.smem_per_block} bytes allocated to a block, "
        f"{reserved} of them for the driver",
    ]


def _excess(result: Occupancy) -> str:
    return " and ".join(_UNITS[factor] for factor in result.limiters)


def _need(need: Need) -> str:
    return f"at most {need.at_most} {_UNITS[need.factor]} ({need.fewer} fewer)"


_HEAD = ("registers", "blocks", "warps", "occupancy", "limited by")


def _cells(row: Row) -> tuple[str, ...]:
    first, last, here = row
    registers = f"{first}" if first == last else f"{first} to {last}"
    limiter = here.limiter if here.blocks_per_sm else f"{here.limiter}: does not launch"
    return (
        registers,
        str(here.blocks_per_sm),
        str(here.warps_per_sm),
        f"{here.fraction:.0%}",
        limiter,
    )


def _plain(rows: list[Row], regs: int) -> str:
    lines = []
    for mark, cells in [("", _HEAD), *((_mark(row, regs), _cells(row)) for row in rows)]:
        *numbers, limiter = cells
        lines.append(f"{mark:>2}{''.join(f'{c:>12}' for c in numbers)}  {limiter}\n")
    return "".join(lines)


def _mark(row: Row, regs: int) -> str:
    return ">" if row[0] <= max(regs, 1) <= row[1] else ""


def _print_rich(rows: list[Row], regs: int) -> None:
    from rich.table import Table

    from nvir.report.table import terminal

    table = Table(box=None, pad_edge=True)
    for name in _HEAD[:-1]:
        table.add_column(name, justify="right")
    table.add_column(_HEAD[-1])
    for row in rows:
        table.add_row(*_cells(row), style="bold green" if _mark(row, regs) else None)
    terminal().print(table)


def _as_json(asked: dict[str, Any], result: Occupancy, rows: list[Row]) -> dict[str, Any]:
    return {
        "schema": "nvir.occupancy/1",
        **asked,
        "blocks_per_sm": result.blocks_per_sm,
        "warps_per_sm": result.warps_per_sm,
        "fraction": result.fraction,
        "limiters": list(result.limiters),
        "limits": result.limits,
        "regs_per_block": result.regs_per_block,
        "smem_per_block": result.smem_per_block,
        "one_more": [
            {"factor": n.factor, "now": n.now, "at_most": n.at_most} for n in result.one_more
        ],
        "curve": [
            {
                "registers": last,
                "blocks_per_sm": here.blocks_per_sm,
                "warps_per_sm": here.warps_per_sm,
                "fraction": here.fraction,
                "limiters": list(here.limiters),
            }
            for _, last, here in rows
        ],
    }
