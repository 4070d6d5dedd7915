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
from collections.abc import Iterator, Sequence

from nvir.ir import (
    F32,
    F64,
    IMM,
    SCALARS,
    UNKNOWN,
    Constant,
    Function,
    Instruction,
    Module,
    Op,
    ScalarType,
    SymbolOffset,
    Type,
    Undef,
    Value,
    Variable,
    capability,
)
from nvir.ir.errors import Diagnostic, ParseError
from nvir.ir.floats import FORMATS, number
from nvir.ir.module import first_version
from nvir.ir.opcodes import ADDRESS, OpKind
from nvir.ir.opcodes.form import Form, operand_parts
from nvir.ir.opcodes.legal import (
    APART,
    COORDINATES,
    IN_THE_CODE,
    LITERALS,
    SPACES,
    Combination,
    combinations,
    fragments,
)
from nvir.ir.opcodes.ori.modifiers import unknown_modifiers
from nvir.ir.special import first_with
from nvir.ir.types import U64
from nvir.ir.values import SpecialRegister
from nvir.ir.verify.ori import call_problem, class_problem
from nvir.ptx import declared
from nvir.ptx.reader import KNOWN_VERSION, read_ptx
from nvir.ptx.source import load

WIDE = 100  # the first architecture with accesses of 256 bits
NO_32_BIT = 90  # architectures from which on a 32-bit address is an error
SHARED_LIMIT = 0xC000  # bytes of static shared memory of a block, on every machine
_TARGET = re.compile(r"(?:sm|compute)_(\d+)([af]?)$")
_COMBINES = frozenset(("and", "or", "xor"))  # modifiers that take a further operand
_SIZES = (10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87,
          88, 89, 90, 100, 101, 103, 110, 120, 121)
TARGETS = tuple(f"sm_{n}" for n in _SIZES)


def _misfit(slots: Combination, mods: tuple[str, ...]) -> tuple[int, str]:
    """How far modifiers are from a combination, and the first thing that is wrong; 0: they fit."""
    left = list(mods)
    lacking = []
    for slot in slots:
        if slot.words == ("*",):
            left = [m for m in left if m in SCALARS] if slot is slots[0] else []
            continue
        hit = next((m for m in left if m in slot.words), None)
        for ordered in (SCALARS, SPACES):
            if hit is not None and hit in ordered and hit != next(m for m in left if m in ordered):
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
    if lacking and row.kind in (OpKind.COMPARE, OpKind.LOGIC) and not _COMBINES.isdisjoint(f.mods):
        return f"{f.spelling} combines its result with a predicate, and none is given"
    if lacking and "L2::cache_hint" in f.mods:
        return f"{f.spelling} takes a cache policy as its last operand, and none is given"
    if lacking and "expect_tx" in f.mods:
        return f"{f.spelling} takes a number of bytes, and none is given"
    if row.name == "elect.sync" and "|" not in parts[0]:
        return "elect.sync makes a predicate beside its lane, and none is given"
    for operand, part in zip(row.operands, parts, strict=False):
        if operand.role == ADDRESS and not part.startswith("["):
            return f"'{f.name}' takes an address in brackets where none stands"
    types = [m for m in f.mods if m in SCALARS]
    packs = types[:1] and types[0].endswith("x2") and types[1:] == ["f32"] and "rs" not in f.mods
    adds = row.name == "cvt.pack" and len(types) == 3
    least = 3 if packs else 4 if "cas" in f.mods or adds else 0
    most = 3 if packs else 2 if row.name == "cvt" and "rs" not in f.mods else len(parts)
    if not least <= len(parts) <= most:
        return f"{f.spelling} takes {least or most} operands, {len(parts)} given"
    wanted = next((int(m[1:]) for m in f.mods if re.match(r"v\d+$", m)), 0)
    written = parts[1:] if row.writes else parts
    if row.kind is OpKind.MATRIX_MOVE and "m8n8" in f.mods and written[0].startswith("{"):
        matrices = next((m for m in f.mods if re.match(r"x\d$", m)), "x0")
        if written[0].count("%s") != int(matrices[1]):
            return f"{f.spelling} has {matrices[1]} registers, {written[0].count('%s')} given"
    for k, (n, part) in enumerate(zip(fragments(row.name, f.mods), written, strict=False)):
        if part.count("%s") != n or not part.startswith("{"):
            return f"{f.spelling} has {n} registers in fragment {k}, {part.count('%s')} given"
    geometry = next((m for m in f.mods if m in COORDINATES), "")
    if f.op.memory == "texture" and geometry and "{" in f.shape:
        held = next(p for p in parts if p.startswith("[")).partition("{")[2].count("%s")
        if held and held < COORDINATES[geometry]:
            return f"{f.spelling} takes {COORDINATES[geometry]} coordinates, {held} given"
    for part in parts:
        size = part.count("%s") if part.startswith("{") else 1
        if size > 1 and not wanted and row.name != "mov" and any(
            s.words[0] == "v2" for slots in combinations().get(row.name, ()) for s in slots
        ):
            return f"{f.spelling} takes no vector without .v{size}"
        if wanted and size != wanted and not part.startswith("[") and row.name != "mov":
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


_NEEDS = {
    "bf16": 80, "bf16x2": 80, "NaN": 80, "tf32": 80, "e4m3x2": 89, "e5m2x2": 89, "cluster": 90,
    "shared::cluster": 90, "async": 90, "expect_tx": 90, "f32x2": 100,
    **dict.fromkeys(("m16n8k4", "m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128", "m16n8k256"), 80),
}


@functools.cache
def _modifier_age(mods: tuple[str, ...], target: str) -> str | None:
    wide = ("v8" in mods, "v4" in mods and not {"b64", "u64", "s64", "f64"}.isdisjoint(mods))
    if any(wide) and capability(target) < WIDE:
        return f"accesses of 256 bits need sm_{WIDE}, the target is {target}"
    for m in mods:
        if capability(target) < _NEEDS.get(m, 0):
            return f"'.{m}' needs sm_{_NEEDS[m]}, the target is {target}"
    return None


def _literal_kind_problem(i: Instruction) -> str | None:
    """An integer where a float stands, or the other way round; halves are no literals at all."""
    for v, wanted in zip(i.sources, i.form.source_types, strict=False):
        if not isinstance(v, Constant) or not wanted:
            continue
        if not any(_takes(t, v) for t in wanted):
            kinds = {"no literal" if t.is_float and t not in (F32, F64) else
                     "a float" if t.is_float else "an integer" for t in wanted}
            takes = " or ".join(sorted(kinds))
            return f"{i.form.spelling} takes {takes} where {_written(v)} stands"
    return None


def _written(v: Constant) -> str:
    """A literal as people write it: 1.5 for 0d3FF8000000000000."""
    return v.name if v.type is IMM else f"{number(FORMATS[v.type.name], v.value):g}"


def _register_kind_problem(i: Instruction) -> str | None:
    """A register declared for floats where an integer stands, or the other way round."""
    f = i.form
    made = ((r, (t,)) for r, t in zip(i.results, f.result_types, strict=True))
    taken = ((v, t) for v, t in zip(i.sources, f.source_types, strict=False)
             if v.is_tracked or isinstance(v, Undef))
    for v, wanted in (*made, *taken):
        if wanted and not any(_same_kind(v.type, t) for t in wanted):
            return f"{_name(v)} is declared .{v.type}, {f.spelling} takes .{wanted[0]} there"
    for base, _ in f.addresses:
        if not _same_kind(i.operands[base].type, U64):
            return f"{_name(i.operands[base])} is declared .{i.operands[base].type}, no address"
    return None


def _same_kind(declared: Type, wanted: ScalarType) -> bool:
    if not isinstance(declared, ScalarType) or "b" in (declared.kind, wanted.kind) \
            or "x" in declared.name:  # packed, as bits
        return True
    if declared.is_float and wanted.is_float:
        return declared.bits == wanted.bits or "x" in wanted.name
    return declared.is_float == wanted.is_float


def _name(v: Value) -> str:
    return "a register" if isinstance(v, Undef) or not v.name else v.name


def _takes(type: ScalarType, v: Constant) -> bool:
    if type.is_float:
        return type in (F32, F64) and v.type is not IMM
    same = {"b32": F32, "b64": F64}.get(type.name)  # bits take the float that has as many
    return v.type is IMM or (v.type is same and same is not None)


def _special_problem(i: Instruction, module: Module) -> tuple[str, str] | None:
    """A special register that the machine lacks, or that the instruction can't read."""
    f = i.form
    for v in i.sources:
        if not isinstance(v, SpecialRegister):
            continue
        version, machine = first_with(v.name)
        if module.version < version or capability(module.target) < machine:
            return "version", (f"{v.name} needs PTX {version[0]}.{version[1]} and sm_{machine}, "
                               f"the module has {module.version[0]}.{module.version[1]} and "
                               f"{module.target}")
        floats = f.type is not None and f.type.is_float
        if floats or f.op.kind not in (OpKind.COPY, OpKind.CONVERT):
            return "types", f"{v.name} can be read by mov of an integer type, not by {f.spelling}"
        if f.op.name == "mov" and f.type is not None and "{" not in f.shape:
            bits, held = f.type.bits, v.type.bits
            older = 16 if v.name.startswith(_OF_16_BITS) else 32 if v.name == "%gridid" else held
            if bits not in (held, older):
                return "types", f"{v.name} has {held} bits, {f.spelling} takes {bits}"
    return None


_OF_16_BITS = ("%tid.", "%ntid.", "%ctaid.", "%nctaid.")  # in PTX 1


def _memory_problem(i: Instruction, function: Function) -> str | None:
    """A register added to an address, a store to a parameter, a vector of mixed registers."""
    f = i.form
    for base, offset in f.addresses:
        if offset >= 0 and not isinstance(i.operands[offset], Constant):
            return f"an address is a register and a literal, not two registers: {f.spelling}"
        held = i.operands[base]
        if f.op.kind is OpKind.STORE and function.kind == "entry" and held in function.params:
            return f"{held.name} is a parameter of the kernel, which can't be written"
    if f.op.kind is OpKind.STORE and "{" in f.shape:
        widths = {v.type.bits for v in i.sources[1:] if v.is_tracked or isinstance(v, Undef)}
        if len(widths) > 1:
            return f"{f.spelling} stores registers of one width, these have {sorted(widths)} bits"
    return None


def _mixed_problem(i: Instruction) -> str | None:
    """Sums of halves in single precision: what is added has the type of the result."""
    types = [m for m in i.form.mods if m in SCALARS]
    if types[:1] == ["f32"] and types[1:] in (["f16"], ["bf16"]) and len(i.sources) > 1 \
            and i.form.op.name in combinations():
        last = i.sources[-1]
        if isinstance(last.type, ScalarType) and last.type.bits not in (0, 32):
            return f"{_name(last)} is of type {last.type}, {i.form.spelling} adds f32"
    return None


def _listed(legal: Sequence[int]) -> str:
    if not isinstance(legal, range):
        return " or ".join(map(str, legal))
    steps = f"multiples of {legal.step} from " if legal.step > 1 else ""
    return f"{steps}{legal[0]} to {legal[-1]}"


def _problems(i: Instruction, module: Module, function: Function) -> Iterator[tuple[str, str]]:
    """Code and message of what is wrong with one instruction."""
    f = i.form
    if f.op is UNKNOWN:
        yield "unknown-instruction", f"no instruction '{f.spelling}' is known"
        return
    unknown = unknown_modifiers(f) if module.version <= KNOWN_VERSION else []
    if unknown:
        yield "modifiers", f"no modifier .{unknown[0]} of {f.name} is known"
        return
    if f.is_call:
        problem = call_problem(i, i.aux) or declared.call_problem(i, i.aux, function, module)
        if problem is not None:
            yield "call", problem
        return
    if f.op.pseudo:
        return
    found = {
        "modifiers": _modifiers_problem(f.op, f.mods),
        "operands": _operands_problem(f),
        "version": _age_problem(f.op, module.version, module.target)
        or _modifier_age(f.mods, module.target),
        "types": class_problem(i, undefined=True) or _mixed_problem(i)
        or _register_kind_problem(i),
    }
    if f.op.name in APART and module.version >= (6, 4) and capability(module.target) >= 70:
        found["version"] = f"'{f.op.name}' without .sync is gone from PTX 6.4 on sm_70 and newer"
    for m in ("", *f.mods):
        for k, v in enumerate(i.sources):
            legal = LITERALS.get((f.op.name, m, k))
            if legal is not None and isinstance(v, Constant) and v.value not in legal:
                found["literal"] = f"{f.spelling} takes {_listed(legal)}, not {v.value}"
    found["literal"] = found.get("literal") or _literal_kind_problem(i)
    fixed = IN_THE_CODE.get(f.op.name, -1)
    if 0 <= fixed < len(i.sources) and not isinstance(i.sources[fixed], Constant):
        found["literal"] = f"{f.spelling} takes a literal where {_name(i.sources[fixed])} stands"
    special = _special_problem(i, module)
    if special is not None:
        found[special[0]] = special[1]
    found["memory"] = _memory_problem(i, function)
    if module.address_size == 64:
        found["address"] = _address_problem(i)
    yield from ((code, message) for code, message in found.items() if message is not None)


def _address_problem(i: Instruction) -> str | None:
    """A 32-bit register as an address of global or generic memory."""
    f = i.form
    several = [m for m in f.mods if m.split("::")[0] in ("global", "shared")]
    for k, (base, _) in enumerate(f.addresses):
        space = f.space if len(f.addresses) < 2 else several[k] if k < len(several) else "shared"
        v = i.operands[base]
        held = space in ("", "global") and (v.is_tracked or isinstance(v, Undef))
        if held and isinstance(v.type, ScalarType) and v.type.bits < 64:
            memory = space or "generic"
            return f"{_name(v)} has {v.type.bits} bits, an address in {memory} memory has 64"
    return None


def check(
    source: object, targets: tuple[str, ...] = (), arch: str | None = None,
    module: Module | None = None,
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found; of a text that cannot be read, the reader's errors.

    `source` is as for `nvir.read_ptx`; `targets` are known beside those of PTX ISA 9.0.
    `arch` is what the module is to be assembled for, by default its own target; `module` is what
    the text was read as, where that is known.
    """
    text = load(source)
    try:
        module = module or read_ptx(source)
    except ParseError as e:
        return [("syntax", d) for d in e.errors]
    lines = text.text.splitlines()
    found: list[tuple[str, Diagnostic]] = []

    def tell(code: str, message: str, line: int, word: str, severity: str = "error") -> None:
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        col = max(shown.find(word), 0) + 1
        found.append((code, Diagnostic(message, text.file, line, col, shown, severity)))

    at = max((n for n, s in enumerate(lines[:100], 1) if s.strip().startswith(".target")), default=0)
    if module.target not in targets and not is_known(module.target):
        tell("target", f"no target {module.target} is known", at, module.target)
    elif arch is not None and (problem := _arch_problem(module.target, arch)) is not None:
        tell("target", f"the module's target {module.target} {problem}", at, module.target)
    elif module.version < first_version(module.target):
        first = ".".join(map(str, first_version(module.target)))
        tell("version", f"{module.target} needs PTX {first}, the module says "
             f"{module.version[0]}.{module.version[1]}", at, module.target)
    found.extend(("declaration", d) for d in module.refused)
    constants = sum(v.size for v in module.globals if v.space == "const" and v.linkage != "extern")
    if constants > declared.CONST_LIMIT:
        tell("constants", f"the module has {constants} bytes of .const variables, it may have "
             f"{declared.CONST_LIMIT}", 0, "")
    for d in module.diagnostics:
        if not d.message.startswith(("unknown instruction", "unknown modifier")):
            found.append(("reader", d))
    for f in module.functions:
        size = _shared_size(f, module) if f.kind == "entry" else 0
        if size > SHARED_LIMIT:
            tell("shared", f"{f.name} has {size} bytes of shared memory, a block may have "
                 f"{SHARED_LIMIT}", 0, "")
        for i in f.instructions():
            for code, message in _problems(i, module, f):
                lenient = code == "address" and capability(arch or module.target) < NO_32_BIT
                tell(code, message, i.line, i.form.spelling, "warning" if lenient else "error")
    return sorted(found, key=lambda x: (x[1].line, x[1].col))


def _shared_size(f: Function, module: Module) -> int:
    """Bytes of the shared variables of a kernel, and of those of the module that it names."""
    own = [v for v in f.locals if isinstance(v, Variable)]
    every = [v for v in (*own, *module.globals) if v.space == "shared" and v.linkage != "extern"]
    if sum(v.size for v in every) <= SHARED_LIMIT:
        return 0
    named = {v.symbol if isinstance(v, SymbolOffset) else v
             for i in f.instructions() for v in i.operands}
    return sum(v.size for v in every if v in own or v in named)


def _arch_problem(target: str, arch: str) -> str | None:
    """Why a module of that target cannot be assembled for an architecture."""
    own, given = target.rpartition("_")[2], arch.rpartition("_")[2]
    if capability(target) > capability(arch):
        return f"is newer than {arch}"
    if own.endswith("a") and own != given:
        return f"is for that architecture alone, not for {arch}"
    if own.endswith("f") and capability(target) // 10 != capability(arch) // 10:
        return f"is for its family alone, not for {arch}"
    return None


def is_known(target: str) -> bool:
    """Whether PTX ISA 9.0 has a target of that name."""
    match = _TARGET.match(target)
    size = int(match[1]) if match is not None else 0
    least = {"": 0, "a": 90, "f": 100}[match[2]] if match is not None else 0
    return size in _SIZES and size >= least
