"""Reference pages from nvir's own tables: opcodes, passes, knobs, machines, commands, the API.

    python docs/reference.py [FOLDER]     writes them, to look at without a site

Nothing here is written twice: an opcode's line comes from its row, a pass's page from the head of
its file, its options, codes and knobs. A table cell's text is escaped, never interpreted.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import textwrap
import typing
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import click

import nvir.ir.opcodes.ori
from nvir.cli import COMMANDS
from nvir.ir import opcodes
from nvir.ir.opcodes import ADDRESS, DEF, NVVM, ORI, TIED, Op, Operand
from nvir.ir.opcodes import nvvm as nvvm_rows
from nvir.passes.knobs import all_knobs
from nvir.passes.registry import NoOptions, Pass, all_passes
from nvir.sm.profile import PROFILES, profile

ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[str, str]:
    """Path under docs/ → Markdown of every generated page."""
    out = {"reference/commands.md": command_page()}
    out["reference/api.md"] = api_page()
    out["reference/knobs.md"] = knob_page()
    out["reference/machines.md"] = machine_page()
    out["reference/remarks.md"] = remark_page()
    passes = all_passes()
    out["reference/passes/index.md"] = pass_index(passes.values())
    for p in passes.values():
        out[f"reference/passes/{p.name}.md"] = pass_page(p)
    families = opcode_families()
    out["reference/opcodes/index.md"] = opcode_index(families)
    for name, (module, rows) in families.items():
        out[f"reference/opcodes/{name}.md"] = opcode_page(name, module, rows)
    return out


# ---------------------------------------------------------------- Markdown


def cell(text: object) -> str:
    """Text as it is, inside a table."""
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return re.sub(r"([*_`\[\]])", r"\\\1", " ".join(escaped.split()))


def code(text: object) -> str:
    """Text in code type, inside a table; nothing for nothing."""
    words = " ".join(str(text).split()).replace("|", "&#124;")
    words = words.replace("&#124;", "\\|")
    return f"`{words}`" if words else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


_FIELD = re.compile(r"([A-Z]\w+) {2,}(\S.*)")


def docstring(module: ModuleType) -> tuple[str, str]:
    """The first sentence of a module's docstring, and the rest as Markdown.

    Indented paragraphs are text as it stands; paragraphs that begin with `Word   ` are the fields
    of a file's head and become a list.
    """
    text = textwrap.dedent(module.__doc__ or "").strip()
    title, _, rest = text.partition("\n\n")
    return " ".join(title.split()), "\n".join(_markdown(rest))


def _markdown(text: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", text):
        lines = part.splitlines()
        if not lines:
            continue
        if all(line.startswith("  ") for line in lines) and lines[0].startswith("    "):
            yield from ("```text", textwrap.dedent(part), "```", "")
        elif _FIELD.match(lines[0]):
            yield from _fields(lines)
            yield ""
        else:
            yield from (escape(line) for line in lines)
            yield ""


def _fields(lines: list[str]) -> Iterator[str]:
    for line in lines:
        m = _FIELD.match(line)
        yield f"- **{m[1]}** {escape(m[2])}" if m else f"    {escape(line.strip())}"


def escape(text: str) -> str:
    """Prose of a docstring: angle brackets and stars are meant, code spans stay."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_\[\]<])", r"\\\1", p) for p in parts[::2]]
    return "`".join(parts)


# ---------------------------------------------------------------- opcodes


def opcode_families() -> dict[str, tuple[ModuleType, list[Op]]]:
    """File of opcode rows → (module, its rows in order).

    The table keeps the order in which the files add their rows, so a row whose name is put together
    from parts is of the file of the row before it.
    """
    modules = {i.name: importlib.import_module(f"nvir.ir.opcodes.ori.{i.name}")
               for i in pkgutil.iter_modules(nvir.ir.opcodes.ori.__path__)}
    spelled: dict[str, str] = {}
    for name, module in modules.items():
        if "op" in vars(module) or "ops" in vars(module):
            source = Path(str(module.__file__)).read_text("utf-8")
            for words in re.findall(r'"([a-z_][\w. :]*)"', source):
                for word in words.split():
                    spelled.setdefault(word, name)
    out: dict[str, tuple[ModuleType, list[Op]]] = {}
    current = "both-levels"
    out[current] = (opcodes, [])
    for row in ORI.rows.values():
        found = spelled.get(row.name) or spelled.get(row.name.partition(".")[0])
        if found is not None and (found not in out or found == current):
            current = found
        out.setdefault(current, (modules.get(current, opcodes), []))[1].append(row)
    out["nvvm"] = (nvvm_rows, list(NVVM.rows.values()))
    return {name.replace("_", "-"): family for name, family in out.items() if family[1]}


def signature(operands: Iterable[Operand]) -> str:
    """The operand positions as a row spells them: "d|p, a, [b], c?"."""
    out = []
    for o in operands:
        text = f"[{o.name}]" if o.role == ADDRESS else o.name
        text = f"+{text}" if o.role == TIED else text
        text += "|p" if o.paired and o.role == DEF else ""
        text += f":{o.type}" if o.type else ""
        out.append(text + "?" * o.optional + "*" * o.variadic)
    return ", ".join(out)


EFFECTS = ("reads", "writes", "pinned", "sync", "convergent", "commutes", "terminator")


def opcode_page(name: str, module: ModuleType, rows: list[Op]) -> str:
    title, rest = docstring(module)
    body = table(
        ("opcode", "operands", "effects", "since", "meaning"),
        (
            (
                code(r.name), code(signature(r.operands)),
                ", ".join(e for e in EFFECTS if getattr(r, e)), cell(r.since), cell(r.doc),
            )
            for r in rows
        ),
    )
    return f"# {name}\n\n{escape(title)}\n\n{rest}\n\n{body}"


def opcode_index(families: dict[str, tuple[ModuleType, list[Op]]]) -> str:
    rows = (
        (f"[{name}]({name}.md)", str(len(ops)), escape(docstring(module)[0]))
        for name, (module, ops) in families.items()
    )
    return (
        "# Opcodes\n\nOne row an opcode: operands, results, effects. `d` is a result, `[b]` an "
        "address, `+d` a register that is read and written, `c?` may be left out, `a*` any "
        "number.\n\n"
        + table(("family", "rows", "holds"), rows)
    )


# ---------------------------------------------------------------- passes


def pass_index(passes: Iterable[Pass]) -> str:
    rows = (
        (f"[{p.name}]({p.name}.md)", p.level, ", ".join(map(str, p.phases)), cell(p.summary))
        for p in passes
    )
    return (
        "# Passes\n\nIn the order of the registry. Phases are those of the real tool.\n\n"
        + table(("pass", "level", "phases", "does"), rows)
    )


def pass_page(p: Pass) -> str:
    module = importlib.import_module(p.run.__module__)
    title, rest = docstring(module)
    out = [f"# {p.name}\n\n{escape(title)}\n\n{rest}"]
    facts = [f"level `{p.level}`", f"unit `{p.unit}`"]
    facts += [f"phases {', '.join(map(str, p.phases))}"] if p.phases else []
    facts += ["may change blocks and edges"] if p.cfg else []
    out.append(f"*{'; '.join(facts)}.* Source: `{p.run.__module__.replace('.', '/')}.py`\n")
    if p.options is not NoOptions:
        out.append("## Options\n\n" + table(("option", "type", "default"), (
            (code(key), cell(_type_name(o.type)), code(o.default))
            for key, o in p.option_table().items()
        )))
    knobs = [k for k in all_knobs() if p.name in k.readers]
    if knobs:
        out.append("## Knobs\n\n" + table(("knob", "default", "meaning"), (
            (code(k.name), code(k.default), cell(k.meaning)) for k in knobs
        )))
    if p.codes:
        out.append("## Remarks\n\n" + table(("remark", "kind", "code", "says"), (
            (code(c.name), c.kind, cell(c.number), cell(c.text)) for c in p.codes
        )))
    return "\n".join(out)


def _type_name(t: object) -> str:
    members = typing.get_args(t)
    if typing.get_origin(t) is typing.Literal:
        return " or ".join(map(str, members))
    return getattr(t, "__name__", "") if not members else str(t)


# ---------------------------------------------------------------- the rest


def knob_page() -> str:
    rows = (
        (
            code(k.name), cell(k.number if k.number is not None else ""), cell(k.type),
            code(k.default), cell("" if k.observed is None else k.observed), cell(k.origin),
            ", ".join(f"[{r}](passes/{r}.md)" if r in all_passes() else cell(r) for r in k.readers)
            or f"inert: {cell(k.inert)}",
            cell(k.meaning),
        )
        for k in all_knobs()
    )
    head = ("knob", "number", "type", "default", "observed", "origin", "read by", "meaning")
    return (
        "# Knobs\n\nSet one with `--knob NAME=VALUE` or `run_passes(…, knobs={…})`. A default is "
        "the notes' (policy `documented`); where another was observed it holds under policy "
        "`observed`.\n\n"
        + table(head, rows)
    )


def remark_page() -> str:
    """Every remark of every pass, with the real tool's code where it has one."""
    from nvir.assembler.unroll.decision import UnrollCode

    rows = (
        (code(c.name), f"[{p.name}](passes/{p.name}.md)", c.kind, cell(c.number), cell(c.text))
        for p in all_passes().values()
        for c in p.codes
    )
    numbers = ((cell(c.number), cell(c.text), code(c.string)) for c in UnrollCode)
    return (
        "# Remarks and reason codes\n\nWhat passes say of each loop or function: `passed` was "
        "done, `missed` was not, with the reason, `analysis` is a figure. `nvir opt --remarks "
        "PASS` prints them, `--remarks-file FILE` writes them as JSON, YAML or text.\n\n"
        + table(("remark", "pass", "kind", "code", "says"), rows)
        + "\n## Codes of a loop that is not unrolled\n\n"
        + table(("code", "means", "string"), numbers)
    )


def machine_page() -> str:
    out = ["# Machines\n\nThe profiles as data, with the source of each figure.\n"]
    for name in PROFILES:
        p = profile(name)
        out.append(f"## {name}\n\n{cell(p.title)}\n")
        out.append(table(("unit", "pipes", "busy, cycles", "latency row", "source"), (
            (code(u.name), cell(", ".join(u.pipes)), str(u.interval), code(u.writes), cell(u.src))
            for u in p.units.values()
        )))
        out.append(table(("result of", "cycles to its readers", "memory levels", "source"), (
            (
                code(row), cell(", ".join(f"{k} {v}" for k, v in r.to.items())),
                cell(", ".join(f"{k} {v}" for k, v in r.levels.items())), cell(r.src),
            )
            for row, r in p.latencies.items()
        )))
    return "\n".join(out)


def command_page() -> str:
    out = ["# Commands\n\nExit codes: 0 well, 1 diagnosed, 2 usage, 3 a threshold crossed.\n"]
    for name, (module, summary) in COMMANDS.items():
        command = importlib.import_module(module).command
        ctx = click.Context(command, info_name=f"nvir {name}", max_content_width=96)
        out.append(f"## nvir {name}\n\n{cell(summary)}\n\n```text\n{command.get_help(ctx)}\n```\n")
    return "\n".join(out)


API = {
    "Reading and printing": ("nvir.read_ptx", "nvir.print_ptx", "nvir.parse_ir", "nvir.print_ir",
                             "nvir.read_ll", "nvir.print_ll", "nvir.verify"),
    "Passes": ("nvir.run_passes",),
    "Running": ("nvir.launch", "nvir.DeviceArray", "nvir.LaunchResult"),
    "Pictures": ("nvir.cfg_dot", "nvir.to_networkx"),
    "Machine": ("nvir.sm.profile.profile", "nvir.sm.occupancy.occupancy",
                "nvir.sm.graph.DependenceGraph", "nvir.sm.schedule.driver.modulo_schedule",
                "nvir.sm.schedule.check.check_schedule", "nvir.sm.simulate.engine.simulate"),
    "Building": ("nvir.ir.module.Module", "nvir.ir.function.Function", "nvir.ir.block.Block",
                 "nvir.ir.builder.Builder", "nvir.ir.nvvm.Builder"),
    "Errors": ("nvir.ir.errors",),
}


def api_page() -> str:
    """What mkdocstrings fills in; a public name is given where it is defined."""
    from nvir import _EXPORTS

    out = ["# Python API\n\nNames in `nvir` are imported when first used.\n"]
    for title, names in API.items():
        out.append(f"## {title}\n")
        for name in names:
            short = name.removeprefix("nvir.")
            out.append(f"::: {_EXPORTS[short]}.{short}\n" if short in _EXPORTS else f"::: {name}\n")
    return "\n".join(out)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/reference")
    for path, text in pages().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    print(f"{len(pages())} pages in {folder}")


if __name__ == "__main__":
    main()
