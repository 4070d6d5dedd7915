"""Which operands of a machine operation must lie in consecutive registers.

    vectors    what stands between braces in the PTX and is read or written by one operation: data
               of 64- and 128-bit accesses, fragments of matrix operations, texture results
    wide       values of 64 bits and more whose words a `mov` put together out of others
    ties       an operand that must have the register of a result: accumulators that a wgmma adds
               to, and what a guarded operation leaves where its guard is false

Parts below 32 bits (`.v4.u8`) are packed into one register by the machine and are no tuple here.
A part that is a literal, or unknown, has no register of its own: it is a hole, to be filled by a
move. Addresses whose sum an access took over are looked for among the addends.

Cost    linear in the operands of the instruction, for each of its operations.
Source  SASS of ptxas 13.0.88: LDG.128, HMMA, LDSM, TEX name the first register of aligned groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.ir import Instruction, Value
from nvir.ir.opcodes.form import Form, operand_parts
from nvir.sm.machine import Expansion
from nvir.sm.operation import MachineInstruction, Register, Temporary, words_of

_WORD = 32
_ACCESS = 4  # registers of the widest access to memory


@attrs.frozen
class Tuples:
    """Tuples of one operation, as positions in its results and sources; -1: a hole.

    ties   (position in the results, position in the sources)
    """

    written: tuple[tuple[int, ...], ...] = ()
    read: tuple[tuple[int, ...], ...] = ()
    ties: tuple[tuple[int, int], ...] = ()


NONE = Tuples()
_GROUPS: dict[Form, tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]] = {}


def alignment(width: int) -> int:
    """What the first register of so many must be a multiple of."""
    return 1 if width == 1 else 2 if width == 2 else 4


def tuples_of(op: MachineInstruction, expansion: Expansion) -> Tuples:
    """The tuples of an operation whose registers are final (`Expansion.finish`, `fuse`)."""
    i = op.parent
    if i.form.is_call or i.form.is_phi or i.form.name == "mov":
        return NONE
    results, operands = _groups(i.form)
    written: list[tuple[int, ...]] = []
    for group in results:
        made = _words([i.results[k] for k in group], i.form)
        if made is not None:
            written += _slices(made, op.results, op)
    read: list[tuple[int, ...]] = []
    at = 0
    for group in operands:
        values = [i.operands[k] for k in group]
        words = _words(values, i.form)
        if words is None:
            continue
        found = [
            None if isinstance(w[0], Value) and not w[0].is_tracked else expansion.resolve(w)
            for w in words
        ]
        place = _find(found, op.sources, at)
        if place is not None and (-1 not in place or _fills(op)):
            read += _cut(place, op)
            at = max(at, max(place) + 1)
        elif place is None and len(group) > 1 and not any(found) and _stores(op):
            read += _cut((-1,) * len(found), op)
        elif not (len(group) == 1 and _through_sum(values[0], op, expansion, read)):
            read += _slices(found, op.sources, op)
    if (op.family or "").startswith(_WIDE):
        written += _temporary_pairs(op.results, len(op.results))
        read += _temporary_pairs(op.sources, 2 if op.family == "IMAD.WIDE" else len(op.sources))
    written = [t for t in written if not _is_one_value(t, op.results)]
    read = [t for t in read if not _is_one_value(t, op.sources)]
    ties = _ties(op, expansion)
    return Tuples(tuple(written), tuple(read), ties) if written or read or ties else NONE


_WIDE = ("IMAD.WIDE", "DADD", "DMUL", "DFMA", "DSETP")


def _temporary_pairs(registers: Sequence[Register], last: int) -> list[tuple[int, ...]]:
    """Pairs of a template's temporaries among the last registers of a 64-bit operation."""
    found: list[tuple[int, ...]] = []
    k = max(0, len(registers) - last)
    while k + 1 < len(registers):
        a, b = registers[k][0], registers[k + 1][0]
        if (
            isinstance(a, Temporary) and isinstance(b, Temporary) and a is not b
            and not a.is_predicate and not b.is_predicate
        ):
            found.append((k, k + 1))
            k += 1
        k += 1
    return found


def _is_one_value(place: tuple[int, ...], registers: Sequence[Register]) -> bool:
    """Whether a tuple is one value, whose words are side by side anyway."""
    if -1 in place:
        return False
    words = [registers[k] for k in place]
    v = words[0][0]
    return (
        not isinstance(v, Temporary) and len(words) == words_of(v)
        and all(r == (v, k) for k, r in enumerate(words))
    )


_ACCESSES = ("LD", "ST", "ATOM", "RED", "TEX", "TLD", "SULD", "SUST")


def _fills(op: MachineInstruction) -> bool:
    """Whether literals within what an operation reads have to stand in registers."""
    family = op.family or ""
    return family.startswith(_ACCESSES) or "MMA" in family


def _stores(op: MachineInstruction) -> bool:
    return (op.family or "").startswith("ST")


def _groups(f: Form) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """(result groups, operand groups) of a form: what braces hold, and each operand alone."""
    known = _GROUPS.get(f)
    if known is None:
        results: list[tuple[int, ...]] = []
        operands: list[tuple[int, ...]] = []
        n = 0
        for part in operand_parts(f.shape):
            text = part
            inner = text.count("{")
            count = text.count("%s")
            slots = f.slots[n : n + count]
            n += count
            if inner == 1 and text.lstrip("[").startswith("{"):
                (results if slots and slots[0] >= 0 else operands).append(_indices(slots))
            else:
                operands += _address(text, slots)
        grouped = {k for g in operands for k in g}
        rest = [(k,) for k in range(f.n_sources) if k not in grouped]
        known = _GROUPS[f] = (tuple(results), tuple(sorted([*operands, *rest])))
    return known


def _indices(slots: Sequence[int]) -> tuple[int, ...]:
    return tuple(s if s >= 0 else ~s for s in slots)


def _address(text: str, slots: Sequence[int]) -> list[tuple[int, ...]]:
    """Coordinates between braces within an address, as of textures: `[%s, {%s, %s}]`."""
    if "{" not in text:
        return []
    before = text[: text.index("{")].count("%s")
    within = text[text.index("{") : text.index("}")].count("%s")
    inside = slots[before : before + within]
    return [_indices(inside)] if inside and max(inside) < 0 else []


def _words(values: Sequence[Value], f: Form) -> list[Register] | None:
    """The 32-bit words of a vector; None where it is none, or of parts that are packed.

    Literals have no width of their own: that of the instruction's type counts.
    """
    own = f.type.bits if f.type is not None else _WORD
    words: list[Register] = []
    for v in values:
        bits = v.type.bits or own
        if bits < _WORD:
            return None
        words += [(v, w) for w in range((bits + _WORD - 1) // _WORD)]
    return words if len(words) > 1 else None


def _find(
    words: Sequence[Register | None], registers: Sequence[Register], start: int
) -> tuple[int, ...] | None:
    """Where all words stand, one behind the other, in an operation's registers; holes are -1."""
    known = [w for w in words if w is not None]
    if not known:
        return None
    n = len(known)
    for first in (start, *range(len(registers) - n + 1)):
        if list(registers[first : first + n]) == known:
            place, k = [], first
            for w in words:
                place.append(-1 if w is None else k)
                k += w is not None
            return tuple(place)
    return None


def _slices(
    words: Sequence[Register | None], registers: Sequence[Register], op: MachineInstruction
) -> list[tuple[int, ...]]:
    """Runs of at least two words that an operation reads or writes of a vector."""
    found: list[tuple[int, ...]] = []
    run: list[int] = []
    for w in (*words, None):
        if w is not None and w in registers:
            run.append(registers.index(w))
            continue
        if len(run) > 1:
            found += _cut(tuple(run), op)
        run = []
    return found


def _cut(place: tuple[int, ...], op: MachineInstruction) -> list[tuple[int, ...]]:
    """Accesses take at most four registers; a matrix operation as many as its fragment has."""
    is_matrix, is_wmma = "MMA" in (op.family or "MMA"), op.parent.form.name.startswith("wmma")
    if is_matrix and not is_wmma:
        return [place]
    unit = 2 if is_wmma and not is_matrix else _ACCESS
    parts = [place[k : k + unit] for k in range(0, len(place), unit)]
    return [p for p in parts if len(p) > 1]


def _through_sum(
    value: Value, op: MachineInstruction, expansion: Expansion, read: list[tuple[int, ...]]
) -> bool:
    """The pair that an access reads in place of a sum that is part of it."""
    if not isinstance(value, Instruction) or value.form.name != "add":
        return False
    for v in value.operands[:2]:
        words = _words([v], op.parent.form)
        if words is None or not v.is_tracked:
            continue
        place = _find([expansion.resolve(w) for w in words], op.sources, 0)
        if place is not None and -1 not in place:
            read.append(place)
            return True
    return False


def _ties(op: MachineInstruction, expansion: Expansion) -> tuple[tuple[int, int], ...]:
    """Results that start from an operand, as far as this operation makes the whole result."""
    i = op.parent
    found: list[tuple[int, int]] = []
    for r, k in i.form.ties:
        if k >= len(i.operands):
            continue
        result, source = i.results[r], i.operands[k]
        words: list[Register] = [(result, w) for w in range(words_of(result))]
        if result.type.bits < 8 or not all(w in op.results for w in words):
            continue
        if not source.is_tracked:
            continue
        for w, register in enumerate(words):
            home = expansion.resolve((source, w))
            if home is not None and home in op.sources:
                last = len(op.sources) - 1 - op.sources[::-1].index(home)
                found.append((op.results.index(register), last))
    return tuple(found)
