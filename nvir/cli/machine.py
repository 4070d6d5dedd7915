"""`nvir machine`: what a machine profile says, where each figure comes from, and how two differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs
import click

from nvir.cli.common import (
    json_option,
    known_profile,
    output_option,
    reports_errors,
    write_output,
)
from nvir.sm.profile import PROFILES, Profile

Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, head, rows


@click.command("machine")
@click.argument("name", default="", callback=lambda c, p, v: known_profile(c, p, v or None))
@click.argument("other", default="", callback=lambda c, p, v: known_profile(c, p, v or None))
@json_option
@output_option
@reports_errors
def command(name: str | None, other: str | None, as_json: bool, output: str | None) -> None:
    """The profile NAME: pipes, units, latencies, latency classes, limits, each with its source.

    Without NAME the profiles are listed; with OTHER only what differs is. Both are names or JSON
    files: one with `"extends": "sm_80"`, or `"extends": "other.json"`, states what differs, by key,
    and is used by its path. What --json prints of one is such a file, whole.

    \b
    Examples:
      nvir machine sm_90
      nvir machine sm_80 sm_80_notes
      nvir machine mine.json --json
    """
    from nvir.sm.profile import profile

    if name is None:
        found = [profile(n) for n in PROFILES]
        body: Any = {"profiles": [{"name": p.name, "title": p.title} for p in found]}
        lines = [f"{p.name:<12} {p.title}" for p in found]
    elif other is None:
        one = profile(name)
        body = facts(name, one)
        lines = [f"{one.name}: {one.title}"]
        for title, head, rows in tables(one):
            lines += ["", title, *_aligned([head, *rows])]
    else:
        one, two = profile(name), profile(other)
        apart = list(differences(facts(name, one), facts(other, two)))
        body = {"names": [one.name, two.name],
                "differences": [{"key": k, "values": [a, b]} for k, a, b in apart]}
        rows = [(k, _shown(a), _shown(b)) for k, a, b in apart if k != "name"]
        lines = _aligned([("key", one.name, two.name), *rows]) if rows else [
            f"{one.name} and {two.name} are equal"]
    if as_json:
        from nvir.sm.profile_file import SCHEMA

        text = json.dumps({"schema": SCHEMA, **body}, indent=1, ensure_ascii=False)
    else:
        text = "\n".join(lines)
    write_output(output, text + "\n")


def facts(said: str, p: Profile) -> dict[str, Any]:
    """A profile as a profile file has it, with its name; `said` is what it was asked for by."""
    from nvir.sm.profile_file import document, is_path, noted_opcodes

    return {"name": p.name, **document(said if is_path(said) else p.name),
            **({"opcodes": noted_opcodes()} if p.class_pipes else {})}


def tables(p: Profile) -> Iterator[Table]:
    """What people look at, section by section."""
    from nvir.sm.latency import CLASSES, FAMILIES, class_cycles

    yield "pipes of a sub-partition", ("pipe", "units", "", "source"), [
        (x.name, str(x.units), "of the SM" if x.shared else "", x.src) for x in p.pipes.values()
    ]
    yield "units (JSON: units, of the class kinds)", (
        "unit", "pipes", "interval", "class", "source"), [
        (u.name, "|".join(u.pipes), str(u.interval), str(u.latency_class), u.src)
        for u in p.units.values()
    ]
    yield "latencies, cycles", ("producer", "by reader", "by level", "source"), [
        (name, _shown(dict(r.to)), _shown(dict(r.levels)), r.src)
        for name, r in p.latencies.items()
    ]
    yield "latency classes", ("class", "pipe", "cycles", "operations"), [
        (str(c), p.class_pipes.get(c, "–"),
         str(class_cycles(p, c)) if c in CLASSES else "–",
         CLASSES[c].meaning if c in CLASSES else "a pipe without a class")
        for c in sorted({*CLASSES, *p.class_pipes})
    ]
    if p.class_pipes:
        yield "classes by opcode number", ("opcodes", "operations", "assumed"), [
            (f"{f.first:#x}" + (f"–{f.last:#x}" if f.last > f.first else ""), f.category, f.assumed)
            for f in FAMILIES
        ]
    banks = attrs.asdict(p.banks)
    yield "register banks", ("key", "value", "source"), [
        (k, _shown(v), banks["src"]) for k, v in banks.items() if k != "src"
    ]
    figures = {"machine": p.machine, "memory": p.memory, "occupancy": attrs.asdict(p.limits)}
    yield "figures", ("figure", "value", "source"), [
        (f"{section}.{k}", _shown(v), p.figure_sources.get(f"{section}.{k}", ""))
        for section, values in figures.items() for k, v in values.items()
    ]


def differences(a: Any, b: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The keys at which two profiles differ, and both values; None where a key is missing. Where
    figures come from is no difference."""
    a, b = (x["value"] if isinstance(x, dict) and "value" in x else x for x in (a, b))
    if not (isinstance(a, dict) and isinstance(b, dict)):
        if a != b:
            yield at, a, b
        return
    for k in dict.fromkeys((*a, *b)):
        if k not in ("src", "sources", "figure_sources"):
            yield from differences(a.get(k), b.get(k), f"{at}.{k}".lstrip("."))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) or "–"
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [min(48, max(len(r[c]) for r in rows)) for c in range(len(rows[0]) - 1)]
    return [
        "  " + "  ".join(f"{x:<{w}}" for x, w in zip(r, [*widths, 0], strict=True)).rstrip()
        for r in rows
    ]
