"""The legal combinations of modifiers of the common rows, keyed by row: legal.txt.

Combinations stand apart by `;`. In each, a word or several joined by `|` must be there, those
with `?` may, and `*` stands for any others. Types come in their order, other modifiers in any:
ptxas asks no more. Capitals are sets of words. `nvir.ptx.check` holds instructions to this
table; rows that it lacks are not held to anything.

Source   PTX ISA 9.0; held to what ptxas 13.0 refuses by tests/ptx/test_check.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from nvir.ir.types import SCALARS

_SETS = {
    "RND": "rn|rz|rm|rp", "RNI": "rni|rzi|rmi|rpi", "INT": "u16|u32|u64|s16|s32|s64",
    "BYTES": "u8|u16|u32|u64|s8|s16|s32|s64", "BITS": "b16|b32|b64", "BOOL": "and|or|xor",
    "CMP": "eq|ne|lt|le|gt|ge", "CMPU": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "SPACE": "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster",
    "OPEN": "global|local|shared|shared::cta|shared::cluster", "VEC": "v2|v4|v8",
    "WRITE": "global|local|param|param::func|shared|shared::cta|shared::cluster",
    "NEAR": "shared|shared::cta|shared::cluster", "SCOPE": "cta|cluster|gpu|sys",
    "HINT": "L2::cache_hint", "FETCH": "L2::64B|L2::128B|L2::256B",
    "ORDER": "acquire|release|acq_rel",
    "EVICT1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_first|L2::evict_last|L2::evict_normal",
    "MEM": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "LEVEL": "L1|L2", "HALF": "f16|f16x2|bf16|bf16x2",
    "GEOMETRY": "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms",
    "F8X2": "e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2", "WMMA": "m16n16k16|m32n8k16|m8n32k16",
    "F8": "e4m3|e5m2|e3m2|e2m3|e2m1", "CTAS": "cta_group::1|cta_group::2",
    "MMORDER": "weak|relaxed|acquire", "X128": "|".join(f"x{1 << n}" for n in range(8)),
    **{f"WG{k}": "|".join(f"m64n{n}k{k}" for n in range(8, 257, 8)) for k in (8, 16, 32, 64, 256)},
    "CMPF": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
}

LAYOUTS = frozenset(("row", "col"))
COMBINES = frozenset(_SETS["BOOL"].split("|"))  # modifiers that take a further operand
SPACES = frozenset(_SETS["SPACE"].split("|"))
# Without `.sync` these are gone from PTX 6.4 and sm_70 on.
APART = frozenset(("shfl", "vote"))
# Literals that an operand may be, by row, modifier and the operand's number.
_BARRIERS = {
    (f"{bar}{cta}.{does}", "", k): legal
    for bar in ("bar", "barrier") for cta in ("", ".cta") for does in ("sync", "arrive")
    for k, legal in ((0, range(16)), (1, range(0, 1 << 32, 32)))
}
LITERALS: dict[tuple[str, str, int], Sequence[int]] = {
    ("cp.async", "ca", 2): (4, 8, 16), ("cp.async", "cg", 2): (16,), **_BARRIERS,
    ("setmaxnreg", "", 0): range(24, 257, 8), ("pmevent", "", 0): range(16),
    ("pmevent", "mask", 0): range(1 << 16),
    ("applypriority", "", 1): (128,), ("discard", "", 1): (128,),
}
# Operands that can't be in a register, by row.
IN_THE_CODE = {
    "cp.async": 2, "lop3": 3, "cp.async.wait_group": 0, "cp.async.bulk.wait_group": 0,
    "wgmma.wait_group": 0, "setmaxnreg": 0, "pmevent": 0, "applypriority": 1, "discard": 1,
}
# Modifiers that stand directly behind the name.
_PARTS = frozenset(("lo", "hi", "wide"))
BEHIND_NAME = {
    "cvta": frozenset(("to",)), "mul": _PARTS, "mad": _PARTS, "mul24": _PARTS, "mad24": _PARTS,
    "dp2a": _PARTS, "shf": frozenset("lr"), "tex": frozenset(("base", "level", "grad")),
    "txq": frozenset(("level",)), "setmaxnreg": frozenset(("inc", "dec")),
    **dict.fromkeys(("suld", "sust", "sured"), frozenset("bp")),
}
VECTORS = frozenset(("mov", "st.async"))  # take several registers without `.v2`
# Of those that only compute: what takes or makes several registers in braces.
IN_BRACES = frozenset(("mov", "cvt", "clusterlaunchcontrol.query_cancel"))
# Rows whose single result may be thrown away with "_".
DISCARDS = frozenset(("setp", "atom", "lop3", "match.all.sync", "elect.sync", "mbarrier.arrive",
                      "mbarrier.arrive_drop"))
_MOVERS = frozenset(("ldmatrix", "stmatrix", "tcgen05.ld", "tcgen05.st"))
_TIMES = {"m16n16": 2, "16x128b": 2, "16x256b": 4}
_VECTORS = {"ld": 256, "st": 256, "ldu": 128, "mov": 128}
# Coordinates that a texture or surface of each geometry takes.
COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4}
_BITS = {"u4": 4, "s4": 4, "b1": 1}  # of elements that no register can have
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def matrix_registers(row: str, mods: tuple[str, ...]) -> int:
    """Registers in braces that a row has which moves matrices `.x1`, `.x2` …; 0: not such a row."""
    if row not in _MOVERS:
        return 0
    count = next((int(m[1:]) for m in mods if re.match(r"x\d+$", m)), 0)
    return count * next((_TIMES[m] for m in mods if m in _TIMES), 1)


def vector_bits(row: str, space: str) -> int:
    """Bits that a vector of a load, store or move may have; 0: not told here."""
    most = _VECTORS.get(row, 0)
    return most if space in ("", "global") else min(most, 128)


def fragments(row: str, mods: tuple[str, ...]) -> tuple[int, ...]:
    """Registers of each operand of a matrix instruction, in its order; () where not told here."""
    shape = next(filter(None, map(_SHAPE.match, mods)), None)
    types = [m for m in mods if m in SCALARS or m in _BITS]
    if shape is None or any(x.startswith("kind") for x in mods):
        return ()
    m, n, k = map(int, shape.groups())

    def lies_in(elements: int, type: str, lanes: int = 32) -> int:
        bits = _BITS.get(type) or SCALARS[type].bits
        return max(elements * bits // (lanes * max(bits, 32)), 1)

    products = len(types) == 4 and (row == "mma.sync" or (row == "wmma.mma" and types[1] != "f16"))
    if products:
        d, a, b, c = types
        four = 4 if shape[0] == "m8n8k4" and a == "f16" else 1  # products of a quarter warp each
        sizes = (m * n, d), (m * k, a), (k * n, b), (m * n, c)
        return tuple(lies_in(size * four, type) for size, type in sizes)
    if row == "wmma.mma" and len(types) == 2:
        return (lies_in(m * n, types[0]), 8, 8, lies_in(m * n, types[1]))
    if row.startswith("mma.sp") and len(types) == 4:
        sizes = (m * n, types[0]), (m * k // 2, types[1]), (k * n, types[2]), (m * n, types[3])
        return tuple(lies_in(size, type) for size, type in sizes)
    if row == "wgmma.mma_async" and len(types) == 3:
        return (lies_in(m * n, types[0], 128),)
    if row in ("wmma.load", "wmma.store") and len(types) == 1:
        size = {"a": m * k, "b": k * n}.get(mods[0], m * n)
        twice = types[0] == "f16" and mods[0] in "ab"  # each element lies in two lanes
        return (8,) if twice else (lies_in(size, types[0]),)
    return ()


@attrs.frozen
class ModifierSlot:
    """One place of a combination: the words that may stand there, and whether one must."""

    words: tuple[str, ...]
    optional: bool

    def __str__(self) -> str:
        return ", ".join(f".{w}" for w in self.words)


Combination = tuple[ModifierSlot, ...]


@functools.cache
def combinations() -> dict[str, tuple[Combination, ...]]:
    """Row name -> its legal combinations."""
    found: dict[str, tuple[Combination, ...]] = {}
    text = Path(__file__).with_name("legal.txt").read_text("utf-8")
    for entry in text.strip().replace("\n    ", " ").splitlines():
        names, forms = re.split(r":(?=\s|$)", entry, maxsplit=1)
        legal = tuple(tuple(map(_slot, form.split())) for form in forms.split(";"))
        found.update(dict.fromkeys(names.split(), legal))
    return found


@attrs.frozen
class Age:
    """What an instruction with some modifiers needs: one of each group of words must be there."""

    words: tuple[tuple[str, ...], ...]
    version: tuple[int, int]
    machine: str  # the number of the first one, or a key of MACHINES

    def __str__(self) -> str:
        wanted = MACHINES.get(self.machine, (f"sm_{self.machine}",))
        machine = "" if self.machine == "0" else f" and {' or '.join(wanted)}"
        return f"PTX {self.version[0]}.{self.version[1]}{machine}"


# Features of some machines and their families alone.
MACHINES = {
    "HOPPER": ("sm_90a",), "RS": ("sm_100a", "sm_103a"),
    "REDUX": ("sm_100a", "sm_100f", "sm_101a", "sm_101f", "sm_103a", "sm_103f"),
    "TC5": tuple(f"sm_{n}{x}" for n in (100, 101, 103, 110) for x in "af"),
    "BLOCK": tuple(f"sm_{n}{x}" for n in (120, 121) for x in "af"),
    "ARCH": tuple(f"sm_{n}{x}" for n in (100, 101, 103, 110, 120, 121) for x in "af"),
}


@functools.cache
def ages(row: str) -> tuple[Age, ...]:
    """What the modifiers of a row need: ages.txt, `WORDS VERSION MACHINE` with `;` between."""
    found: list[Age] = []
    for names, forms in _age_entries():
        if not any(fnmatchcase(row, n) for n in names):
            continue
        for form in forms:
            *words, version, machine = form.split()
            groups = words[0].split("+") if words else []
            major, minor = map(int, version.split("."))
            found.append(Age(tuple(_slot(g).words for g in groups), (major, minor), machine))
    return tuple(found)


@functools.cache
def _age_entries() -> list[tuple[list[str], list[str]]]:
    text = Path(__file__).with_name("ages.txt").read_text("utf-8")
    lines = text.strip().replace("\n    ", " ").splitlines()
    entries = (re.split(r":(?=\s)", line, maxsplit=1) for line in lines)
    return [(names.split(), forms.split(";")) for names, forms in entries]


@attrs.frozen
class OperandPlace:
    """What one operand may be, as operands.txt writes it.

    kind     "[]" an address, "[t]" one of a tensor with its coordinates, "{}" registers in braces,
             "p" a predicate, "i" an integer in the code, "f" a float there in 0 to 1, "_" nothing,
             "r" a register, "16", "32" … a register of as many bits or an integer, "r32" not an
             integer, "32p" or a predicate, "32f" a register or a float, "x" any
    count    of registers in braces, 0: any
    values   that an integer may have, or None
    only     the modifier with which it is there; "" always
    """

    kind: str
    count: int = 0
    values: Sequence[int] | None = None
    only: str = ""
    optional: bool = False

    def __str__(self) -> str:
        what = _PLACES.get(self.kind, f"a register of {self.kind.strip('rpf')} bits")
        what += {"32p": " or a predicate", "32f": " or a float"}.get(self.kind, "")
        between = " " if self.kind in _PLACES else " or an integer: "
        return what if self.values is None else what + between + listed(self.values)


_PLACES = {
    "[]": "an address", "[t]": "a tensor map with coordinates", "{}": "registers in braces",
    "p": "a predicate", "i": "an integer in the code", "f": "a float above 0, up to 1", "_": "'_'",
    "r": "a register", "x": "an operand",
}
_PLACE = re.compile(
    r"(?:([^=]+)=)?(\[t?\]|\{\d*\}|32[pf]|r?(?:8|16|32|64)|[ipfrx_])(?:(:|\*|\^)?(-?\d+)(?:\.\.(\d+))?(?:\*(\d+))?)?(\?)?$"
)


def listed(legal: Sequence[int]) -> str:
    """The values of a list, in words."""
    if isinstance(legal, range) and len(legal) > 2:
        steps = f"multiples of {legal.step} from " if legal.step > 1 else ""
        return f"{steps}{legal[0]} to {legal[-1]}"
    return " or ".join(map(str, legal))


@functools.cache
def places(row: str, mods: tuple[str, ...]) -> tuple[OperandPlace, ...] | None:
    """The operands of a row with these modifiers, or None where they are not told here."""
    for words, forms in _place_entries().get(row, ()):
        if all(not group.isdisjoint(mods) for group in words):
            return tuple(p for p in forms if not p.only or p.only in mods)
    return None


@functools.cache
def _place_entries() -> dict[str, list[tuple[list[frozenset[str]], list[OperandPlace]]]]:
    found: dict[str, list[tuple[list[frozenset[str]], list[OperandPlace]]]] = {}
    for line in Path(__file__).with_name("operands.txt").read_text("utf-8").splitlines():
        head, forms = re.split(r":(?=\s|$)", line, maxsplit=1)
        names, words = _heads(head.split())
        for name in names:
            found.setdefault(name, []).append((words, [_place(x) for x in forms.split()]))
    return found


def _heads(words: list[str]) -> tuple[list[str], list[frozenset[str]]]:
    from nvir.ir.opcodes import ORI

    names = [w for w in words if w in ORI.rows]
    groups = [g for w in words[len(names):] for g in w.strip("+").split("+")]
    return names, [frozenset(_slot(g).words) for g in groups]


def _place(text: str) -> OperandPlace:
    m = _PLACE.match(text.partition("|")[0])
    if m is None:
        raise ValueError(f"operand {text!r} of operands.txt has no known form")
    only, kind, sign, low, high, step, optional = m.groups()
    count = int(kind[1:-1] or 0) if kind[0] == "{" else 0
    values: Sequence[int] | None = None
    if sign == "*":
        values = range(0, 1 << 32, int(low))
    elif sign == "^":
        values = [1 << k for k in range(32) if int(low) <= 1 << k <= int(high)]
    elif low is not None:
        values = range(int(low), int(high) + 1, int(step or 1))
    alternative = "|" in text and not text.endswith("|p")
    return OperandPlace(
        "x" if alternative else "{}" if kind[0] == "{" else kind, count, values, only or "",
        bool(optional) or text.endswith("?|p"),
    )


def _slot(word: str) -> ModifierSlot:
    words = "|".join(_SETS.get(n, n) for n in word.rstrip("?").split("|"))
    return ModifierSlot(tuple(words.split("|")), word.endswith("?"))
