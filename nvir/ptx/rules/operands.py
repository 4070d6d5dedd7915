"""Rules of the operands of one instruction: literals, registers, names, addresses.

Each function gives the message, or None where nothing is wrong.

Source   PTX ISA 9.0, and what ptxas 13.0 accepts (tests/ptx/test_kinds.py).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any

from nvir.ir import (
    F32,
    F64,
    IMM,
    PRED,
    SCALARS,
    Constant,
    Function,
    Instruction,
    Module,
    ScalarType,
    Symbol,
    SymbolOffset,
    Type,
    Undef,
    Value,
    Variable,
    capability,
)
from nvir.ir.floats import FORMATS, number
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import Form, count_problem, form_places, operand_parts, present
from nvir.ir.opcodes.legal import (
    COMBINES,
    DISCARDS,
    IN_THE_CODE,
    LITERALS,
    SPACES,
    OperandPlace,
    combinations,
    listed,
)
from nvir.ir.special import first_with
from nvir.ir.types import U64
from nvir.ir.values import SpecialRegister
from nvir.ptx.rules import declared


def discard_problem(i: Instruction) -> str | None:
    """A result that is thrown away where one must be taken."""
    f = i.form
    if f.op.name == "lop3" and len(i.results) > 1:
        combines = not COMBINES.isdisjoint(f.mods)
        if combines == (i.results[1].name == "_"):
            made = "a predicate beside its result" if combines else "one result"
            return f"{f.spelling} makes {made}"
    if "}|" in f.shape and i.results[-1].name == "_":
        return f"{f.spelling} takes a predicate behind '|', not '_'"
    if not i.results or f.is_call:
        return None
    if i.results[0].name != "_":
        alone = f.op.kind is OpKind.ATOMIC and f.n_results == 1 and any(
            re.fullmatch(r"v\d+", m) for m in f.mods)
        return f"{f.spelling} makes a vector: registers in braces, or '_'" if alone else None
    single = not f.shape.startswith("{")
    if single and f.op.name not in DISCARDS and f.op.kind is not OpKind.MBARRIER:
        return f"{f.spelling} takes no '_' for its result"
    if not single and all(r.name == "_" for r in i.results):
        return f"{f.spelling} takes at least one register for its results"
    return None


def texture_problem(i: Instruction) -> str | None:
    """A texture or surface that is none, or an array's index that is a float."""
    f = i.form
    if f.op.memory not in ("texture", "surface") or not f.addresses:
        return None
    v = i.operands[f.addresses[0][0]]
    if isinstance(v, Constant):
        return f"{f.spelling} takes a texture or surface where {_written(v)} stands"
    if isinstance(v, Variable) and getattr(v.element_type, "name", "") not in declared.OPAQUE \
            and "tex" not in v.attributes:
        return f"{v.name} is no texture or surface"
    if not isinstance(_symbol(v), Symbol) and v.type.bits not in (0, 64):
        return f"{shown(v)} has {v.type.bits} bits, a texture's or surface's handle has 64"
    arrays = [m for m in f.mods if m in ("a1d", "a2d", "acube")]
    if arrays and "{" in f.shape.partition("[")[2]:
        index = i.operands[f.addresses[0][0] + 1]
        if isinstance(index.type, ScalarType) and index.type.is_float:
            return f"{shown(index)} is a float, the index into an array of textures is .u32"
    return None


def fragment_problem(i: Instruction) -> str | None:
    """Literals in a matrix, or registers of floats for elements that are packed."""
    f = i.form
    if f.op.kind is not OpKind.MATRIX or not f.op.name.startswith("mma"):
        return None
    types = [m for m in f.mods if m in SCALARS][:4]
    for k, (type, (_, values)) in enumerate(zip(types, _by_operand(i), strict=False)):
        v, literals = values[0], [v for v in values if isinstance(v, Constant)]
        if len(literals) == len(values):
            kinds = {"f64": (F32, F64, IMM), "f32": (F32,), "s32": (IMM,)}.get(type, ())
            if (k < 3 and type != "f64") or any(v.type not in kinds for v in literals):
                return f"{f.spelling} takes registers, {_written(literals[0])} is a literal"
        elif len(values) > 1 and type not in ("f32", "f64") and all(map(_is_float, values)) \
                and not literals and "x" not in str(v.type):
            return f"{shown(v)} is declared .{v.type}, the elements are .{type} in .b32"
    return None


_parts = functools.lru_cache(maxsize=1024)(operand_parts)


def _by_operand(i: Instruction) -> list[tuple[str, list[Value]]]:
    """Each written operand with its values: the base and the offset of an address are one's."""
    slots = iter(i.form.slots)
    return [(part, [i.results[s] if s >= 0 else i.sources[~s]
                    for s in itertools.islice(slots, part.count("%s"))])
            for part in _parts(i.form.shape)]


def _is_float(v: Value) -> bool:
    return isinstance(v.type, ScalarType) and v.type.is_float


def _is_float_literal(v: Value) -> bool:
    return isinstance(v, Constant) and v.type is not IMM


def _in_braces(i: Instruction) -> Iterator[tuple[list[int], list[Value]]]:
    """The slots and values of each operand in braces."""
    if "{" not in i.form.shape:
        return
    slots = iter(i.form.slots)
    for part, values in _by_operand(i):
        own = list(itertools.islice(slots, len(values)))
        if part.startswith("{"):
            yield own, values


def _plain(i: Instruction) -> set[int]:
    """Slots of vectors that may be of any kind: literals beside registers, and registers of floats
    beside one that is not."""
    found: set[int] = set()
    for own, values in _in_braces(i):
        held = [v for v in values if not isinstance(v, Constant)]
        if len(values) < 2 or not held:
            continue
        bits = not all(map(_is_float, held)) or any(map(_is_float_literal, values))
        found.update(slot for slot, v in zip(own, values, strict=True)
                     if bits or isinstance(v, Constant))
    return found


def beside_numbers(i: Instruction) -> set[int]:
    """Slots of predicates in braces beside an integer of 32 bits: ptxas takes them there."""
    return {
        slot for own, values in _in_braces(i)
        if any(v.type.bits == 32 and not _is_float(v) and v.type is not IMM for v in values)
        for slot, v in zip(own, values, strict=True) if v.type is PRED
    }


def vector_problem(i: Instruction) -> str | None:
    """Elements of several widths or kinds in braces, or the address of a variable there."""
    if "{" not in i.form.shape:
        return None
    for part, values in _by_operand(i):
        if not part.startswith("{") or len(values) < 2:
            continue
        named = next((v for v in values if isinstance(_symbol(v), Variable)), None)
        if named is not None:
            name = _symbol(named).name
            return f"braces hold registers and literals: move the address of {name} first"
        held = [v for v in values if not isinstance(v, Constant) and v.name != "_"]
        widths = sorted({v.type.bits for v in held} - {1})
        if len(widths) > 1:
            return f"registers in braces are of one width, these have {widths} bits"
        for pair in itertools.pairwise(values):
            integer = next((v for v in pair if isinstance(v, Constant) and v.type is IMM), None)
            if integer is not None and any(map(_is_float, pair)):
                return f"{_written(integer)} is an integer beside a float in braces"
    return None


_ATOMS = re.compile(r"(\+?)%s")  # 1: what is added to an address


def literal_problem(i: Instruction) -> str | None:
    """A literal that the operand cannot be, or a register where only a literal stands."""
    f = i.form
    fixed = IN_THE_CODE.get(f.op.name, -1)
    if fixed >= 0 or f.op.name in _LIMITED:
        problem = _place_of_literal_problem(i, fixed)
        if problem is not None:
            return problem
    return literal_kind_problem(i)


_LIMITED = frozenset(row for row, _, _ in LITERALS)


def _place_of_literal_problem(i: Instruction, fixed: int) -> str | None:
    f = i.form
    sources = [i.sources[~slot] for slot, at in zip(f.slots, _ATOMS.finditer(f.shape), strict=True)
               if slot < 0 and not at[1]]
    if 0 <= fixed < len(sources) and not isinstance(sources[fixed], Constant):
        return f"{f.spelling} takes a literal where {shown(sources[fixed])} stands"
    for k, v in enumerate(sources):
        legal = next(filter(None, (LITERALS.get((f.op.name, m, k)) for m in (*f.mods, ""))), None)
        if legal is not None and isinstance(v, Constant) and v.value & 0xFFFFFFFF not in legal:
            return f"{f.spelling} takes {listed(legal)}, not {v.value}"
    return None


@functools.cache
def looks_at_values(f: Form) -> bool:
    """Whether a rule asks for the value of a literal, not for its type alone."""
    told = any(p.values is not None or p.kind == "f" for p in form_places(f) or ())
    return told or f.op.name in _LIMITED


def symbol_problem(i: Instruction) -> str | None:
    """A sign before a register, or the address of a variable, where none can stand."""
    f = i.form
    if "-%s" in f.shape and f.op.name == "vmad":
        a, b, c = ("-" in part for part in operand_parts(f.shape)[1:])
        if "po" in f.mods or (c and a != b):
            return f"{f.spelling} takes '-' before a factor or the summand, without .po"
    elif "-%s" in f.shape and not all(isinstance(v, Constant) for v in i.sources[-1:]):
        return f"{f.spelling} takes no '-' before a register"
    if "!" in f.shape:
        for k, at in enumerate(re.finditer(r"(!?)%s", f.shape)):
            slot = f.slots[k]
            v = i.results[slot] if slot >= 0 else i.sources[~slot]
            if at[1] and v.type is not PRED and not isinstance(v, Constant):
                return f"'!' stands before a predicate, {shown(v)} is none"
    if f.op.kind is OpKind.COPY and f.op.name != "mov":
        held = [v for v in i.sources if isinstance(_symbol(v), Variable)]
        space = f.space.partition("::")[0]
        own = next((v for v in held if "to" in f.mods and isinstance(v, Variable)), None)
        if own is not None:
            return f"{f.spelling} takes registers: move the address of {own.name} first"
        wrong = next((v for v in held if "to" not in f.mods and _symbol(v).space != space), None)
        return None if wrong is None else _in_space(wrong, f.spelling)
    if f.op.kind is OpKind.COPY:
        named = any(isinstance(_symbol(v), Symbol) for v in i.sources)
        if named and f.type is not None and f.type.is_float:
            return f"an address is an integer, {f.spelling} takes a float"
        if f.shape.count("{") > 1 and not {"v2", "v4"}.intersection(f.mods):
            return f"{f.spelling} packs or unpacks: one operand is a single register"
        if "{" in f.shape and f.type is not None and f.type.kind != "b" \
                and not {"v2", "v4"}.intersection(f.mods):
            return f"{f.spelling} packs and unpacks plain bits: .b{f.type.bits}"
        return None
    bases = {base for base, _ in f.addresses}
    if f.op.memory or f.op.name == "mapa":
        return None
    for k, v in enumerate(i.sources):
        if k not in bases and isinstance(v, Variable):
            return f"{f.spelling} takes registers: move the address of {v.name} first"
    return None


def _in_space(v: Value, spelling: str) -> str:
    return f"{_symbol(v).name} is in .{_symbol(v).space} memory, not in that of {spelling}"


def literal_kind_problem(i: Instruction) -> str | None:
    """An integer where a float stands, or the other way round; halves are no literals at all."""
    plain = _plain(i)
    for k, (v, wanted) in enumerate(zip(i.sources, i.form.source_types, strict=False)):
        if not isinstance(v, Constant) or not wanted or ~k in plain:
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


def register_kind_problem(i: Instruction) -> str | None:
    """A register declared for floats where an integer stands, or the other way round."""
    f = i.form
    plain = _plain(i)
    made = ((r, (t,)) for k, (r, t) in enumerate(zip(i.results, f.result_types, strict=True))
            if k not in plain)
    taken = ((v, t) for k, (v, t) in enumerate(zip(i.sources, f.source_types, strict=False))
             if ~k not in plain and (v.is_tracked or isinstance(v, Undef)))
    for v, wanted in (*made, *taken):
        if wanted and not any(_same_kind(v.type, t) for t in wanted):
            return f"{shown(v)} is declared .{v.type}, {f.spelling} takes .{wanted[0]} there"
    for base, _ in f.addresses:
        if not _same_kind(i.operands[base].type, U64):
            return f"{shown(i.operands[base])} is declared .{i.operands[base].type}, no address"
    return None


def _same_kind(declared: Type, wanted: ScalarType) -> bool:
    if not isinstance(declared, ScalarType) or "b" in (declared.kind, wanted.kind) \
            or "x" in declared.name:  # packed, as bits
        return True
    if declared.is_float and wanted.is_float:
        return declared.bits == wanted.bits or "x" in wanted.name
    return declared.is_float == wanted.is_float


def shown(v: Value) -> str:
    return "a register" if isinstance(v, Undef) or not v.name else v.name


def _takes(type: ScalarType, v: Constant) -> bool:
    if type.is_float:
        return type in (F32, F64) and v.type is not IMM
    same = {"b32": F32, "b64": F64}.get(type.name)  # bits take the float that has as many
    return v.type is IMM or (v.type is same and same is not None)


def special_problem(i: Instruction, module: Module) -> tuple[str, str] | None:
    """A special register that the machine lacks, or that the instruction can't read."""
    f = i.form
    if not any(isinstance(v, SpecialRegister) for v in i.sources):
        return None
    plain = {slot for own, _ in _in_braces(i) for slot in own}
    bases = {base for base, _ in f.addresses}
    for k, v in enumerate(i.sources):
        if not isinstance(v, SpecialRegister):
            continue
        version, machine = first_with(v.name)
        if module.version < version or capability(module.target) < machine:
            return "version", (f"{v.name} needs PTX {version[0]}.{version[1]} and sm_{machine}, "
                               f"the module has {module.version[0]}.{module.version[1]} and "
                               f"{module.target}")
        floats = any(SCALARS[m].is_float for m in f.mods if m in SCALARS)
        in_braces = bases and "{" in f.shape.partition("[")[2]  # coordinates
        if in_braces or ~k in plain or (k in bases and "." not in v.name):
            continue
        if floats or f.op.kind not in (OpKind.COPY, OpKind.CONVERT):
            return "types", f"{v.name} can be read by mov of an integer type, not by {f.spelling}"
        if f.op.name == "mov" and f.type is not None and "{" not in f.shape:
            bits, held = f.type.bits, v.type.bits
            older = {"%gridid": (16, 32)}.get(v.name, (16, held))
            if bits != held and (v.name[:4] not in _OLDER or bits not in older):
                return "types", f"{v.name} has {held} bits, {f.spelling} takes {bits}"
    return None


_OLDER = ("%tid", "%nti", "%cta", "%nct", "%gri")  # had 16 bits in PTX 1


def memory_problem(i: Instruction, function: Function) -> str | None:
    """A register added to an address, a store to a parameter, a vector of mixed registers."""
    f = i.form
    for base, offset in f.addresses:
        if offset >= 0 and not isinstance(i.operands[offset], Constant):
            return f"an address is a register and a literal, not two registers: {f.spelling}"
        held = i.operands[base]
        if held.type is PRED:
            return f"{shown(held)} is a predicate, no address"
        if offset >= 0 and i.operands[offset].type is not IMM:
            return f"an offset is an integer: {f.spelling}"
        literal = isinstance(held, Constant) and not f.op.memory
        if literal and f.space != "local" and f.op.kind is not OpKind.FENCE:
            return f"an address in .{f.space or 'generic'} memory is a register or a name"
        if f.op.kind is OpKind.STORE and function.kind == "entry" and held in function.params:
            return f"{held.name} is a parameter of the kernel, which can't be written"
    wrong = _space_problem(i)
    if wrong is not None:
        return _in_space(wrong, f.spelling)
    return None


def _space_problem(i: Instruction) -> Value | None:
    """A variable that is not in the memory of the instruction."""
    f = i.form
    if not f.addresses:
        return None
    spaces = [m.partition("::")[0] for m in f.mods if m in SPACES]
    if f.op.memory or not spaces:
        return None
    for k, (base, _) in enumerate(f.addresses):
        v = _symbol(i.operands[base])
        if isinstance(v, Variable) and k < len(spaces) and v.space != spaces[k]:
            return i.operands[base]
    return None


def mixed_problem(i: Instruction) -> str | None:
    """Sums of halves in single precision: what is added has the type of the result."""
    types = [m for m in i.form.mods if m in SCALARS]
    if types[:1] == ["f32"] and types[1:] in (["f16"], ["bf16"]) and len(i.sources) > 1 \
            and i.form.op.name in combinations():
        last = i.sources[-1]
        if isinstance(last.type, ScalarType) and last.type.bits not in (0, 32):
            return f"{shown(last)} is of type {last.type}, {i.form.spelling} adds f32"
    return None


def address_problem(i: Instruction) -> str | None:
    """A 32-bit register as an address of global or generic memory."""
    f = i.form
    several = [m for m in f.mods if m.split("::")[0] in ("global", "shared")] \
        if len(f.addresses) > 1 else []
    for k, (base, _) in enumerate(f.addresses):
        space = f.space if len(f.addresses) < 2 else several[k] if k < len(several) else "shared"
        v = i.operands[base]
        held = space in ("", "global") and not f.op.memory and f.op.kind is not OpKind.ASYNC_COPY
        held = held and (v.is_tracked or isinstance(v, Undef))
        if held and isinstance(v.type, ScalarType) and v.type.bits == 32:
            memory = space or "generic"
            return f"{shown(v)} has {v.type.bits} bits, an address in {memory} memory has 64"
    if f.op.name == "cvta" and "u32" in f.mods:
        return f"{f.spelling} makes an address of 32 bits, the module's have 64"
    if f.op.name == "mov" and f.type is not None and f.type.bits == 32 and any(
        isinstance(v, Variable) and v.space == "global" for v in i.sources
    ):
        return "an address in global memory has 64 bits, mov takes 32"
    return None


def _symbol(v: Value) -> Any:
    """What an operand names in memory: itself, or what it is an offset of."""
    return v.symbol if isinstance(v, SymbolOffset) else v


def place_problem(i: Instruction) -> str | None:
    """Operands that are not those of operands.txt."""
    f = i.form
    parts = _parts(f.shape)
    wanted = form_places(f)
    if wanted is None:
        return None
    left = present(wanted, len(parts))
    if left is None:
        return count_problem(f)
    for k, (place, (part, values)) in enumerate(zip(left, _by_operand(i), strict=True)):
        if not _fits_place(place, part, values, f):
            return f"{f.spelling} takes {place} as operand {k + 1}"
    return None


def _fits_place(place: OperandPlace, part: str, values: list[Value], f: Form) -> bool:
    kind, v = place.kind, values[0] if values else None
    if kind == "[t]":
        rank = next((m for m in f.mods if m in _RANKS), "")  # without one its modifiers are wrong
        n = "5" if any("4" in m and m.startswith("tile::") for m in f.mods) else rank[:1]
        return part.startswith("[") and n in ("", str(part.partition("{")[2].count("%s")))
    if kind in ("[]", "{}"):
        return part.startswith(kind[0]) and place.count in (0, len(values))
    if (kind == "x" and place.values is None) or v is None:
        return True
    if isinstance(v, Constant):
        if kind == "f":
            return v.type is not IMM and 0 < number(FORMATS[v.type.name], v.value) <= 1
        if kind == "32f":
            return v.type is not IMM
        if kind[0] in "r_" or (v.type is not IMM and kind != "x"):
            return False
        return place.values is None or v.value in place.values
    if kind == "f":
        return True
    if kind == "i" or part.startswith(("[", "{")):
        return False
    if kind == "_":
        return v.name == "_"
    if not isinstance(v.type, ScalarType) or isinstance(_symbol(v), Symbol):
        return kind[0] != "r"
    if kind in ("r", "x") or v.type is PRED:
        return kind in ("p", "32p", "r", "x")
    if kind == "p":
        return False
    return v.type.bits == int(kind.strip("prf"))


_RANKS = frozenset(("1d", "2d", "3d", "4d", "5d"))


