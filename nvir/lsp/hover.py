"""What stands under the cursor, as Markdown: an instruction, a register, a label, a function.

What an instruction does is its row's sentence, its operands' types are those of its form, legal
modifiers those of `nvir.ir.opcodes.legal`; live registers are those of `nvir report --lines`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nvir.analysis.induction import body_runs
from nvir.analysis.pressure import width
from nvir.ir import NVVM, Instruction, Loop
from nvir.ir.opcodes import ADDRESS, DEF, TIED, Op
from nvir.ir.opcodes.form import Form, assign_operands, find_row, form, load_rows, operand_parts
from nvir.ir.opcodes.legal import Combination, combinations
from nvir.ir.special import special_register
from nvir.lsp.document import Document, RoutineFacts, TextView
from nvir.lsp.outline import DeclaredName, InstructionText, Mention
from nvir.ptx.statements import ATOM
from nvir.report.lines import LiveValue, held_values
from nvir.report.names import spoken
from nvir.report.source_loops import decision_text

SHOWN = 12  # registers that a hover lists
_ROLES = {DEF: "written", TIED: "read and written", ADDRESS: "address"}
_EFFECTS = {
    "reads": "reads memory", "writes": "writes memory", "sync": "orders memory",
    "convergent": "the lanes of a warp run it together", "pinned": "is never moved or removed",
}


def hover(doc: Document, offset: int) -> tuple[str, tuple[int, int]] | None:
    """Markdown for what stands at an offset of the document, and its span there."""
    place = doc.locate(offset)
    if place is None:
        return None
    view, at = place
    statement = view.outline.statement_at(at)
    on_opcode = statement is not None and at <= statement.start + len(statement.opcode)
    if statement is not None and on_opcode:
        span = (statement.start, statement.start + len(statement.opcode))
        text = _instruction(doc, view, statement)
    else:
        mention = view.outline.at(at)
        if mention is None:
            return None
        span = (mention.start, mention.end)
        name = mention.scope.find(mention.text)
        text = _special(mention.text) if name is None else _name(doc, view, mention, name)
    outward = view.outward(*span)
    return (text, outward) if text and outward is not None else None


# ------------------------------------------------------------------ instructions


def _instruction(doc: Document, view: TextView, s: InstructionText) -> str:
    if view.language == "ll":
        load_rows()
        row = NVVM.rows.get(s.opcode)
        out = [f"**`{s.opcode}`**" + (f" — {row.doc}" if row is not None else "")]
        return "\n\n".join([*out, *_live(doc, view, s)])
    found = find_row(s.opcode)
    if found is None:
        return f"**`{s.opcode}`** — an instruction that nvir does not know"
    row = found[0]
    out = [f"**`{s.opcode}`** — {row.doc}"]
    effects = [text for key, text in _EFFECTS.items() if getattr(row, key)]
    since = f"PTX {row.since.replace(' ', ', ')}" if row.since else ""
    out.append(" · ".join(filter(None, [f"since {since}" if since else "", *effects])))
    out += [_operands(s, row), _modifiers(row), *_live(doc, view, s)]
    text = "\n\n".join(filter(None, out))
    return text if view.asm is None else text.replace("%asm", "%")


def _operands(s: InstructionText, row: Op) -> str:
    """The operands, each with what is done with it and the types that it may have."""
    if row.is_call or not s.operands.strip():
        return ""
    pieces = ["".join(p.split()) for p in ATOM.split(s.operands)]
    shape = "%s".join(pieces[::2])
    f = form(s.opcode, shape)
    parts = operand_parts(shape)
    atoms = iter(pieces[1::2])
    types = _types(f)
    lines = ["| operand | | type |", "|---|---|---|"]
    for part, operand in zip(parts, assign_operands(parts, row.operands), strict=True):
        taken = part.count("%s")
        text = part
        for _ in range(taken):
            text = text.replace("%s", next(atoms), 1)
        fits = [next(types, "") for _ in range(taken)]
        told = "" if part.startswith("[") else next(filter(None, fits), "")
        role = _ROLES.get(operand.role, "read")
        lines.append(f"| `{text}` | {operand.name}, {role} | {told} |")
    return "\n".join(lines)


def _types(f: Form) -> Iterator[str]:
    """The types of the atoms, in the order of the text."""
    for slot in f.slots:
        if slot >= 0:
            yield str(f.result_types[slot]) if slot < len(f.result_types) else ""
        else:
            fits = f.source_types[-1 - slot] if -1 - slot < len(f.source_types) else ()
            yield " or ".join(map(str, fits))


def _modifiers(row: Op) -> str:
    legal = combinations().get(row.name)
    if not legal:
        return ""
    shown = [f"`{row.name}{_combination(slots)}`" for slots in legal[:4]]
    return "forms " + ", ".join(shown) + (" …" if len(legal) > 4 else "")


def _combination(slots: Combination) -> str:
    out = ""
    for slot in slots:
        words = "|".join(f".{w}" for w in slot.words)
        text = words if len(words) < 48 else words[:44].rpartition("|")[0] + "|…"
        out += f"[{text}]" if slot.optional else f"({text})" if len(slot.words) > 1 else text
    return out


def _live(doc: Document, view: TextView, s: InstructionText) -> list[str]:
    """Registers alive before and behind an instruction, and what holds them."""
    routine = view.outline.routine_at(s.start)
    facts = doc.facts(view, routine) if routine is not None else None
    if facts is None:
        return []
    found = facts.at_line(view.line(s.start), s.opcode)
    if not found:
        return []
    i = found[0]
    before, after = facts.around(i)
    counts = [sum(width(v.type) for v in x) for x in (before, after)]
    unit = "registers" if facts.facts is not None else "registers' worth of values"
    whose = " as written" if view.asm is None else ", of those that the statement declares"
    head = f"**{counts[0]} {unit} live before, {counts[1]} behind**{whose}"
    if view.asm is not None:
        return [head]
    scheduled = facts.facts.estimate.counts.get(i) if facts.facts is not None else None
    if scheduled is not None:
        head += f"; {scheduled} in the assembler's order, predicted"
    held = held_values(dict.fromkeys([*before, *after]), i, facts.live)
    return [head, _held(held)] if held else [head]


def _held(values: Sequence[LiveValue]) -> str:
    rows = [
        f"| `{v.name}` | {v.type} | {v.defined or ''} | {v.last_use or ''} | {v.why} |"
        for v in values[:SHOWN]
    ]
    more = [f"\nand {len(values) - SHOWN} more"] if len(values) > SHOWN else []
    head = ["| live | type | defined, line | last used | because |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, *more])


# ------------------------------------------------------------------ names


def _special(text: str) -> str:
    found = special_register(text)
    if found is None:
        return ""
    same = "the same in all threads of a block" if found.uniform else "differs between threads"
    changes = ", two reads may differ" if found.volatile else ""
    return f"**`{text}`** — special register of type {found.type}, {same}{changes}"


def _name(doc: Document, view: TextView, mention: Mention, name: DeclaredName) -> str:
    owner = name.owner
    facts = doc.facts(view, owner) if owner is not None else None
    if name.kind == "label":
        return _label(name, facts)
    if name.kind in ("kernel", "function"):
        return _function(doc, view, name)
    operand = view.operand(name.text)
    if operand is not None:
        shown = doc.text[slice(*operand)]
        return f"**`%{name.text.removeprefix('%asm')}`** — operand `{shown}`, {name.type}"
    out = [f"**`{mention.text}`** — {name.kind}" + f" of type {name.type}" * bool(name.type)]
    if name.kind in ("register", "value"):
        mentions = view.outline.mentions_of(name)
        for title, roles in (("written", ("write", "both")), ("read", ("read", "both"))):
            lines = dict.fromkeys(view.line(m.start) for m in mentions if m.role in roles)
            if view.asm is None and lines:
                out.append(f"{title} at line {_listed(list(lines))}")
    if facts is not None and mention.statement is not None:
        out += _why_alive(view, mention, facts)
    return "\n\n".join(out)


def _listed(lines: list[int]) -> str:
    return ", ".join(map(str, lines[:SHOWN])) + (" …" if len(lines) > SHOWN else "")


def _why_alive(view: TextView, mention: Mention, facts: RoutineFacts) -> list[str]:
    """How long the register is alive that an instruction names."""
    assert mention.statement is not None
    found = facts.at_line(view.line(mention.statement.start), mention.statement.opcode)
    for i in found[:1]:
        values = [v for v in (*i.results, *i.operands) if v.is_tracked and v.name == mention.text]
        return [
            f"{v.registers} × 32 bits, alive from line {v.defined} to its last use at line "
            f"{v.last_use}: {v.why}"
            for v in held_values(values[:1], i, facts.live) if view.asm is None
        ]
    return []


def _several(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _label(name: DeclaredName, facts: RoutineFacts | None) -> str:
    text = name.text.removeprefix("%")
    loop = loop_of(facts, name.block)
    if facts is None or loop is None:
        return f"**`{text}`** — label"
    size = _several(len(loop.blocks), "block")
    out = [f"**`{text}`** — header of a loop of depth {loop.depth}, {size}"]
    out.append(" · ".join(loop_words(loop, facts)))
    decision = facts.facts.unroll.get(name.block) if facts.facts is not None else None
    if decision is not None:
        out.append(decision_text(decision))
    return "\n\n".join(out)


def loop_of(facts: RoutineFacts | None, header: str) -> Loop | None:
    return next((x for x in facts.loops if x.header.name == header), None) if facts else None


def loop_words(loop: Loop, facts: RoutineFacts) -> list[str]:
    """How often a loop runs, and the registers that are live in it."""
    trips = body_runs(loop)
    return [f"trip {trips.text if trips is not None else 'unknown'}",
            f"live {facts.pressure.of_loop(loop)}"]


def function_words(facts: RoutineFacts) -> list[str]:
    """The registers of a function: live in its text, and of a kernel those predicted."""
    told = [f"live {facts.pressure.max_live}"]
    if facts.facts is not None and facts.function.kind == "entry":
        told.insert(0, f"{facts.facts.estimate.registers} registers predicted")
    return told


def peak_of(facts: RoutineFacts) -> Instruction | Any:
    """Where most registers are live: in the assembler's order where that is known."""
    return facts.facts.estimate.peak if facts.facts is not None else facts.pressure.peak


def _function(doc: Document, view: TextView, name: DeclaredName) -> str:
    routines = [r for r in view.outline.routines if r.name == name.text and r.body >= 0]
    out = [f"**`{spoken(name.text)}`** — {name.kind}"]
    facts = doc.facts(view, routines[0]) if routines else None
    if facts is not None:
        peak = peak_of(facts)
        at = [f"peak at line {peak.line}"] if peak is not None and peak.line > 0 else []
        out.append(" · ".join([*function_words(facts), *at, _several(len(facts.loops), "loop")]))
    return "\n\n".join(out)
