"""`nvir knobs`: the table of knobs, all or those that match."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import click

from nvir.cli.common import (
    command_line,
    json_option,
    knob_option,
    policy_option,
    reports_errors,
)
from nvir.cli.common import pattern as simple
from nvir.ir.errors import NvirError
from nvir.passes.knobs import Knob, Knobs, all_knobs


@click.command("knobs")
@click.argument("pattern", default="")
@click.option("--read", "read_by", metavar="PASS", help="Only those that this pass reads.")
@click.option("--active", is_flag=True, help="Only those that some pass reads.")
@policy_option
@knob_option
@json_option
@reports_errors
def command(
    pattern: str, read_by: str | None, active: bool, policy: str, knobs: tuple[str, ...],
    as_json: bool,
) -> None:
    """List the knobs whose name or meaning matches PATTERN (text, `.`, `.*`, `^`, `$`, `|`).

    Defaults are those under --policy; the value is shown where --knob changes it. How many are
    listed, and how many no pass reads, is printed to standard error. Knobs that only the other
    policy reads say so.

    \b
    Examples:
      nvir knobs unroll --active
      nvir knobs --read licm
    """
    with command_line():
        wanted = simple(pattern, re.IGNORECASE)
        values = Knobs.parse(knobs, policy)  # type: ignore[arg-type]  # click checked it
    rows = [
        k for k in all_knobs()
        if (wanted.search(k.name) or wanted.search(k.meaning))
        and (read_by is None or read_by in k.readers)
        and (k.readers or not active)
    ]
    if as_json:
        body = {"schema": "nvir.knobs/1", "knobs": [_as_json(k, values) for k in rows]}
        click.echo(json.dumps(body, indent=1))
        return
    if not rows:
        by = f" and is read by {read_by!r}" if read_by else ""
        raise NvirError(f"no knob matches {pattern!r}{by}")
    if sys.stdout.isatty():
        _print_rich(rows, values)
    else:
        _print_plain(rows, values)
    inert = sum(bool(k.inert) for k in rows)
    click.echo(f"{len(rows)} of {len(all_knobs())} knobs, {inert} of them inert", err=True)


def _as_json(k: Knob, values: Knobs) -> dict[str, Any]:
    return {
        "name": k.name, "number": k.number, "type": k.type, "value": _plain(values.get(k.name)),
        "default": _plain(k.default_for(values.policy)), "origin": k.origin,
        "range": [k.low, k.high] if k.type in ("INT", "FLOAT", "DOUBLE") else None,
        "choices": list(k.choices) or None, "kind": int(values.kind(k.name)),
        "readers": list(k.readers), "inert": k.inert or None, "meaning": k.meaning,
        "silent": k.is_silent(values.policy) or bool(k.idle and values.policy == "documented"),
    }


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, frozenset):
        return ",".join(sorted(value)) or "{}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cells(k: Knob, values: Knobs) -> tuple[str, ...]:
    number = "" if k.number is None else str(k.number)
    default, value = k.default_for(values.policy), values.get(k.name)
    changed = "" if value == default else _shown(value)
    status = ", ".join(k.readers) if k.readers else "inert"
    if k.idle and "documented" in (k.policy, values.policy):
        status += f" ({k.idle})"
    elif k.is_silent(values.policy):
        status += f" under policy {k.policy}"
    meaning = f"{k.meaning} [inert: {k.inert}]" if k.inert else k.meaning
    return k.name, number, k.type, _shown(default), changed, k.origin, status, meaning


_HEAD = ("knob", "number", "type", "default", "value", "origin", "read by", "meaning")


def _print_plain(rows: list[Knob], values: Knobs) -> None:
    table = [_HEAD, *(_cells(k, values) for k in rows)]
    widths = [max(len(row[c]) for row in table) for c in range(len(_HEAD) - 1)]
    for row in table:
        line = "  ".join(f"{cell:<{w}}" for cell, w in zip(row, [*widths, 0], strict=True))
        click.echo(line.rstrip())


def _print_rich(rows: list[Knob], values: Knobs) -> None:
    from rich.table import Table

    from nvir.report.table import terminal

    table = Table(box=None, pad_edge=False)
    for name in _HEAD:
        table.add_column(name, overflow="fold")
    for k in rows:
        table.add_row(*_cells(k, values), style=None if k.readers else "dim")
    terminal().print(table)
