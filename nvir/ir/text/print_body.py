"""Printing the instructions of a body in nvir's own text.

The common instruction is a template on its form, filled with names; `_general` writes any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nvir.ir.errors import Unsupported
from nvir.ir.instruction import CallInfo, Instruction, Location, Loose
from nvir.ir.opcodes import DEF, UNKNOWN
from nvir.ir.opcodes.form import Form, assign_operands, operand_parts
from nvir.ir.text.datum import label_text, quoted, type_text
from nvir.ir.types import VOID, Type
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.ir.text.print import TextNames


def block_lines(
    block: Iterable[Instruction], names: TextNames, marks: dict[
        Instruction, set[str]
    ], out: list[str]
) -> None:
    """Append the text of a block's instructions.

    The common instruction has a template on its form for its result's type. The block's
    templates are joined, and filled with the names of all results and operands at once.
    """
    lines: list[str] = []
    slots: list[Value] = []
    put, put_slot = lines.append, slots.append
    for i in block:
        templates = i.form.text
        if templates == "":
            templates = i.form.text = {} if _is_simple(i.form) else None
        type = i.type
        if (
            templates is None or i.aux is not None or i._results is not None
            or (i.name == "_" and i._uses is None)
        ):
            line = _general(i, names).replace("%", "%%")
        else:
            line = templates.get(type)
            if line is None:
                line = templates[type] = _template(i.form, type)
            if type is not VOID:
                put_slot(i)
            slots += i._operands
        if i.loc is not None:
            line += _location(i.loc).replace("%", "%%")
        if marks and i in marks:
            text = names.datum(tuple(sorted(marks[i])))
            line += f"  !marks {text}".replace("%", "%%")
        put(line)
    if lines:
        out.append("\n".join(lines) % tuple(map(names.__getitem__, slots)))


def _location(loc: Location) -> str:
    text = f"  !loc {loc.file} {loc.line} {loc.col}"
    return f"{text} {quoted(loc.inlined)}" if loc.inlined else text


def _is_simple(f: Form) -> bool:
    """Whether the text is the shape filled with results and operands in their own order."""
    return (
        f.op.level == "ori" and f.order is None and f.n_results in (0, 1) and f.guard is None
        and not (f.terminator or f.is_call or f.is_phi or f.carry_in or f.carry_out or f.ties)
        and f.op is not UNKNOWN and len(f.slots) == f.n_results + f.n_operands
        and "-%s" not in f.shape and split_shape(f)[0] == ["%s"] * f.n_results
    )


def split_shape(f: Form) -> tuple[list[str], list[str]]:
    """The parts of a shape left and right of the `=`: leading results, and the rest."""
    parts = operand_parts(f.shape)
    if f.op is UNKNOWN:
        return [], parts
    roles = [o.role for o in assign_operands(parts, f.op.operands)]
    n = 0
    while n < len(roles) and roles[n] == DEF:
        n += 1
    if DEF in roles[n:]:
        raise Unsupported(f"{f.spelling}: a result behind a source, in nvir's own text")
    return parts[:n], parts[n:]


def _template(f: Form, type: Type) -> str:
    left, right = split_shape(f)
    lead = f"  %s: {type.name} = " if left else "  "
    volatile = "volatile " if f.volatile else ""
    return f"{lead}{volatile}{f.spelling} {', '.join(right)}".rstrip()


def _general(i: Instruction, names: TextNames) -> str:
    """Any instruction, without location and marks."""
    f = i.form
    if f.op.level == "nvvm":
        return _nvvm(i, names)
    if f.is_phi:
        return _phi(i, names)
    results = _results(i, names)
    guard = f"@{f.guard}{names[i.guard]} " if f.guard is not None and i.guard is not None else ""
    volatile = "volatile " if f.volatile else ""
    right, aux = _operation(i, names)
    text = f"  {results}{guard}{volatile}{f.spelling} {right}".rstrip()
    fallbacks = i.fallbacks
    if fallbacks and not f.terminator:
        text += f" else {', '.join(map(names.__getitem__, fallbacks))}"
    if f.terminator:
        text += _targets(i)
        aux = None
    return text if aux is None else f"{text}  !aux {names.datum(aux)}"


def _operation(i: Instruction, names: TextNames) -> tuple[str, Any]:
    """The operands as text, and what of `aux` that does not show."""
    f, aux = i.form, i.aux
    if isinstance(aux, CallInfo):
        return _call(i, aux, names), None
    if isinstance(aux, Loose):
        return f"{_filled(i, f.shape, i._operands, names)} ties {names.datum(aux.ties)}", None
    if f.op is UNKNOWN or f.is_call:
        raise Unsupported(f"{f.spelling} without its layout in `aux`")
    if f.terminator:
        text = ", ".join(map(names.__getitem__, i._operands[: f.n_sources]))
        back = i._operands[f.n_operands :]  # registers that a `ret` hands to the caller
        text += f" with {', '.join(map(names.__getitem__, back))}" if back else ""
        return text.lstrip(), aux
    left, right = split_shape(f)
    skipped = sum(p.count("%s") for p in left)
    tied = dict(f.ties)
    shown = [i._operands[~s if s < 0 else tied[s]] for s in f.slots[skipped:]]
    text = _filled(i, ", ".join(right), shown, names)
    if f.carry_in:
        carry = f.guard_index - 1 if f.guard_index >= 0 else f.n_operands - 1
        text += f" carry {names[i._operands[carry]]}"
    return text, aux


def _filled(i: Instruction, shape: str, operands: Iterable[Value], names: TextNames) -> str:
    """The shape filled. Behind a `-` of the shape a literal has its type, to be told from -8."""
    spell = names.datum if "-%s" in shape else names.__getitem__
    shown = tuple(map(spell, operands))
    return shape % shown[: shape.count("%s")]


def _call(i: Instruction, info: CallInfo, names: TextNames) -> str:
    callee = "indirect" if info.callee is None else names[info.callee]
    n = info.n_sources
    text = f"{callee} ({', '.join(map(names.__getitem__, i._operands[:n]))})"
    if info.return_params:
        text += f" -> ({', '.join(map(names.__getitem__, info.return_params))})"
    if info.prototype is not None:
        text += f" prototype {quoted(info.prototype)}"
    g, n = info.guard_index, len(i.results)
    if info.ties != (tuple((k, g + 1 + k) for k in range(n)) if g >= 0 else ()):
        text += f" ties {names.datum(info.ties)}"
    return text


def _results(i: Instruction, names: TextNames) -> str:
    """`{%f1: f32, %f2: f32} = `, with `+` before those that the shape does not place."""
    f = i.form
    shown = [_result(r, names) for r in i.results]
    if not shown:
        return ""
    if f.is_call or f.op is UNKNOWN:
        return f"+{{{', '.join(shown)}}} = "
    left, _ = split_shape(f)
    n = sum(p.count("%s") for p in left)
    text = ", ".join(left) % tuple(shown[:n])
    if n < len(shown):
        text += f"{', ' if n else ''}+{{{', '.join(shown[n:])}}}"
    return f"{text} = "


def _result(r: Value, names: TextNames) -> str:
    name = "_" if r.name == "_" and r._uses is None else names[r]
    return f"{name}: {type_text(r.type)}"


def _phi(i: Instruction, names: TextNames) -> str:
    result = _result(i, names)
    pairs = [f"[{names[v]}, {label_text(b.name)}]" for v, b in i.incoming]
    return f"  {result} = phi {', '.join(pairs)}".rstrip()


def _targets(i: Instruction) -> str:
    labels = [label_text(b.name) for b in i.aux or ()]
    if i.form.name == "bra" and len(labels) == 1 + (i.form.guard is not None):
        return f" {' else '.join(labels)}"
    return f" -> {', '.join(labels)}" if labels else ""


def _nvvm(i: Instruction, names: TextNames) -> str:
    if i.form.is_phi:
        return _phi(i, names)
    results = [_result(r, names) for r in i.results]
    text = f"  {', '.join(results)}{' = ' if results else ''}{i.form.spelling}"
    if i._operands:
        text += f" {', '.join(names.datum(v) for v in i._operands)}"
    if i.form.terminator:
        return text + _targets(i)
    return text if i.aux is None else f"{text}  !aux {names.datum(i.aux)}"
