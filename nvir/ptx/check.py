"""What an assembler would refuse of PTX that reads well: forms, counts, vectors, versions, targets.

    check(path or text) -> [Diagnostic, …]      in the order of the lines

Legal combinations of modifiers are those of `nvir.ir.opcodes.legal`.

Not seen: what depends on values (sizes of copies, ranges of literals) and most limits of targets
on modifiers, where the row itself is older.

Source   PTX ISA 9.0, and what ptxas 13.0 accepts of each combination (tests/ptx/test_check.py).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from nvir.ir import (
    SCALARS,
    UNKNOWN,
    Constant,
    Instruction,
    Module,
    Op,
    ScalarType,
    Undef,
    Variable,
    capability,
)
from nvir.ir.errors import Diagnostic, ParseError
from nvir.ir.opcodes import ADDRESS
from nvir.ir.opcodes.form import Form, operand_parts
from nvir.ir.opcodes.legal import APART, LITERALS, Combination, combinations
from nvir.ir.verify.ori import class_problem
from nvir.ptx.reader import read_ptx
from nvir.ptx.source import load

WIDE = 100  # the first architecture with accesses of 256 bits
NO_32_BIT = 90  # architectures from which on a 32-bit address is an error
SHARED_LIMIT = 0xC000  # bytes of static shared memory of a block, on every machine
_TARGET = re.compile(r"(?:sm|compute)_(\d+)([af]?)$")
_COMBINES = frozenset(("and", "or", "xor"))  # modifiers that take a further operand
_SIZES = (10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87,
          88, 89, 90, 100, 101, 103, 110, 120, 121)


def _misfit(slots: Combination, mods: tuple[str, ...]) -> tuple[int, str]:
    """How far modifiers are from a combination, and the first thing that is wrong; 0: they fit."""
    left = list(mods)
    lacking = []
    for slot in slots:
        if slot.words == ("*",):
            left = [m for m in left if m in SCALARS] if slot is slots[0] else []
            continue
        hit = next((m for m in left if m in slot.words), None)
        if hit is not None and hit in SCALARS and hit != next(m for m in left if m in SCALARS):
            hit = None
        if hit is not None:
            left.remove(hit)
        elif not slot.optional:
            lacking.append(slot)
    if lacking:
        types = lacking[0].words[0] in SCALARS
        what = "a type of" if types else "one of"
        return 2 * len(lacking) + len(left), f"needs {what} {lacking[0]}"
    return len(left), f"takes no .{left[0]}" if left else ""


@functools.cache
def _modifiers_problem(row: Op, mods: tuple[str, ...]) -> str | None:
    legal = combinations().get(row.name)
    if legal is None:
        return None
    misfits = [_misfit(slots, mods) for slots in legal]
    distance, wrong = min(misfits, key=lambda m: m[0])
    return f"{'.'.join((row.name, *mods))} {wrong}" if distance else None


@functools.cache
def _operands_problem(f: Form) -> str | None:
    """An operand that the modifiers ask for or forbid, or a vector of a size that there is not."""
    parts, row = operand_parts(f.shape), f.op
    lacking = len(parts) < len(row.operands) and row.operands[len(parts)].optional
    if lacking and not (f.reads or f.writes) and not _COMBINES.isdisjoint(f.mods):
        return f"{f.spelling} combines its result with a predicate, and none is given"
    for operand, part in zip(row.operands, parts, strict=False):
        if operand.role == ADDRESS and not part.startswith("["):
            return f"'{f.name}' takes an address in brackets where none stands"
    types = [m for m in f.mods if m in SCALARS]
    packs = types[:1] and types[0].endswith("x2") and types[1:] == ["f32"] and "rs" not in f.mods
    least = 3 if packs else 4 if "cas" in f.mods else 0
    if len(parts) < least:
        return f"{f.spelling} takes {least} operands, {len(parts)} given"
    if packs and len(parts) > least:
        return f"{f.spelling} takes {least} operands, {len(parts)} given"
    wanted = next((int(m[1:]) for m in f.mods if re.match(r"v\d+$", m)), 0)
    if "m8n8" in f.mods and parts[0].startswith("{"):
        matrices = next((m for m in f.mods if re.match(r"x\d$", m)), "x0")
        if parts[0].count("%s") != int(matrices[1]):
            return f"{f.spelling} makes {matrices[1]} registers, {parts[0].count('%s')} given"
    for part in parts:
        size = part.count("%s") if part.startswith("{") else 1
        if size > 1 and not wanted and any(
            s.words[0] == "v2" for slots in combinations().get(row.name, ()) for s in slots
        ):
            return f"{f.spelling} takes no vector without .v{size}"
        if wanted and size != wanted and not part.startswith("["):
            return f"{f.spelling} takes vectors of {wanted}, this one is of {size}"
    return None


@functools.cache
def _age_problem(row: Op, version: tuple[int, int], target: str) -> str | None:
    first, _, least = row.since.partition(" ")
    if first and tuple(map(int, first.split("."))) > version:
        return f"'{row.name}' is of PTX {first}, the module says {version[0]}.{version[1]}"
    needed, given = _TARGET.match(least), _TARGET.match(target)
    if needed is None or given is None:
        return None
    if int(given[1]) < int(needed[1]) or (needed[2] and not given[2]):
        return f"'{row.name}' needs {least}, the target is {target}"
    return None


_NEEDS = {"bf16": 80, "bf16x2": 80, "NaN": 80, "tf32": 80, "e4m3x2": 89, "e5m2x2": 89}


@functools.cache
def _modifier_age(mods: tuple[str, ...], target: str) -> str | None:
    wide = ("v8" in mods, "v4" in mods and not {"b64", "u64", "s64", "f64"}.isdisjoint(mods))
    if any(wide) and capability(target) < WIDE:
        return f"accesses of 256 bits need sm_{WIDE}, the target is {target}"
    for m in mods:
        if capability(target) < _NEEDS.get(m, 0):
            return f"'.{m}' needs sm_{_NEEDS[m]}, the target is {target}"
    return None


def _mixed_problem(i: Instruction) -> str | None:
    """Sums of halves in single precision: what is added has the type of the result."""
    types = [m for m in i.form.mods if m in SCALARS]
    if types[:1] == ["f32"] and types[1:] in (["f16"], ["bf16"]) and len(i.sources) > 1 \
            and i.form.op.name in combinations():
        last = i.sources[-1]
        if isinstance(last.type, ScalarType) and last.type.bits not in (0, 32):
            return f"{last.name} is of type {last.type}, {i.form.spelling} adds f32"
    return None


def _problems(i: Instruction, module: Module) -> Iterator[tuple[str, str]]:
    """Code and message of what is wrong with one instruction."""
    f = i.form
    if f.op is UNKNOWN:
        yield "unknown-instruction", f"no instruction '{f.spelling}' is known"
        return
    if f.is_call or f.op.pseudo:
        return
    found = {
        "modifiers": _modifiers_problem(f.op, f.mods),
        "operands": _operands_problem(f),
        "version": _age_problem(f.op, module.version, module.target)
        or _modifier_age(f.mods, module.target),
        "types": class_problem(i, undefined=True) or _mixed_problem(i),
    }
    if f.op.name in APART and module.version >= (6, 4) and capability(module.target) >= 70:
        found["version"] = f"'{f.op.name}' without .sync is gone from PTX 6.4 on sm_70 and newer"
    for m in ("", *f.mods):
        for k, v in enumerate(i.sources):
            legal = LITERALS.get((f.op.name, m, k))
            if legal is not None and isinstance(v, Constant) and v.value not in legal:
                found["literal"] = f"{f.spelling} takes {', '.join(map(str, legal))}, not {v.value}"
    if module.address_size == 64:
        found["address"] = _address_problem(i)
    yield from ((code, message) for code, message in found.items() if message is not None)


def _address_problem(i: Instruction) -> str | None:
    """A 32-bit register as an address of global or generic memory."""
    if i.form.space not in ("", "global"):
        return None
    for base, _ in i.form.addresses:
        v = i.operands[base]
        held = v.is_tracked or isinstance(v, Undef)
        if held and isinstance(v.type, ScalarType) and v.type.bits < 64:
            memory = i.form.space or "generic"
            return f"{v.name} has {v.type.bits} bits, an address in {memory} memory has 64"
    return None


def check(
    source: object, targets: tuple[str, ...] = (), arch: str | None = None
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found; of a text that cannot be read, the reader's errors.

    `source` is as for `nvir.read_ptx`; `targets` are known beside those of PTX ISA 9.0.
    `arch` is what the module is to be assembled for, by default its own target.
    """
    text = load(source)
    try:
        module = read_ptx(source)
    except ParseError as e:
        return [("syntax", d) for d in e.errors]
    lines = text.text.splitlines()
    found: list[tuple[str, Diagnostic]] = []

    def tell(code: str, message: str, line: int, word: str, severity: str = "error") -> None:
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        col = max(shown.find(word), 0) + 1
        found.append((code, Diagnostic(message, text.file, line, col, shown, severity)))

    match = _TARGET.match(module.target)
    at = next((n for n, s in enumerate(lines, 1) if s.strip().startswith(".target")), 0)
    if module.target not in targets and (match is None or int(match[1]) not in _SIZES):
        tell("target", f"no target {module.target} is known", at, module.target)
    elif arch is not None and capability(module.target) > capability(arch):
        tell("target", f"the module's target {module.target} is newer than {arch}", at,
             module.target)
    for d in module.diagnostics:
        if "unknown instruction" not in d.message:
            found.append(("reader", d))
    for f in module.functions:
        shared = {v for v in f.locals if isinstance(v, Variable) and v.space == "shared"}
        size = sum(v.size for v in shared if v.linkage != "extern")
        if f.kind == "entry" and size > SHARED_LIMIT:
            tell("shared", f"{f.name} has {size} bytes of shared memory, a block may have "
                 f"{SHARED_LIMIT}", 0, "")
        for i in f.instructions():
            for code, message in _problems(i, module):
                lenient = code == "address" and capability(arch or module.target) < NO_32_BIT
                tell(code, message, i.line, i.form.spelling, "warning" if lenient else "error")
    return sorted(found, key=lambda x: (x[1].line, x[1].col))


def is_known(target: str) -> bool:
    """Whether PTX ISA 9.0 has a target of that name."""
    return capability(target) in _SIZES
