"""What a machine instruction reads and writes, from its text: which operands, how many registers.

nvdisasm names only the first register of an operand, so how many follow is said here: by the
modifiers of the opcode (".64", ".128", ".WIDE"), or by the family's row in `_WIDTHS`. What is
written are the leading predicates, the first register, and the predicates right behind it (the
carry of an IADD3); families that write nothing, or two registers, have a row in `_WRITES`.

A family without a row of its own follows the general rule, so that newer machines decode too.

Cost    a dictionary look-up for each distinct text of opcode and operands.
Source  listings of nvdisasm 13.0 with live registers (-plr), which show reads and writes; checked
        by counting live registers over whole programs (benchmarks/bodies.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nvir.sm.body import Span

Mods = frozenset[str]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REGISTER = re.compile(r"(?<![\w.$])(UR|R|UP|P)(\d+)((?:\.\w+)*)")
_PREDICATE = re.compile(r"!?U?P(?:\d|T|R)$")
_ZERO_OR_REGISTER = re.compile(r"[-~|!]*U?R(?:\d+|Z)")
_BACKQUOTED = re.compile(r"`\([^)]*\)|\(\*.*?\*\)")
_STACK_POINTER = Span("R", 1, 1)  # live up to the end, as -plr shows
_LITERAL = re.compile(r"0x[0-9a-f]+$")

# How many leading operands are written, where that is not "predicates, one register, predicates".
_NOTHING = _names("""
    ACQBULK ARRIVES BAR BPT BRA BREAK BRX BRXU BSSY BSYNC CALL CCTL CCTLL CCTLT CGAERRBAR DEPBAR
    ELECT_NONE ENDCOLLECTIVE ERRBAR EXIT FENCE JMP JMX JMXU KILL LDGDEPBAR LDGSTS LEPC_NONE MEMBAR
    NANOSLEEP NOP PREEXIT RED REDAS REDG REDS RET RTT SETCTAID ST STAS STG STL STS STSM SUST SURED
    UBLKCP UBLKPF UBLKRED UCGABAR_ARV UCGABAR_WAIT USETMAXREG USETSHMSZ UTMACCTL UTMACMDFLUSH
    UTMALDG UTMALST UTMAPF UTMAREDG UTMASTG UTCATOMSWS UTCBAR UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA
    UTCSHIFT UMEMSETS UVIRTCOUNT WARPGROUP WARPSYNC YIELD STT BMOV_NONE FOOTPRINT_NONE USTGS UREDGR
    UGETNEXTWORKID WARPGROUPSET
""")
_TWO = _names("ISETP FSETP DSETP HSETP2 PLOP3 UISETP UPLOP3 UFSETP PSETP")
_TEXTURE = _names("TEX TLD TLD4 TXD TXQ TMML SULD SUQ SUATOM")
_CARRY = _names("""
    IADD3 UIADD3 LEA ULEA IMAD UIMAD IADD LOP3 ULOP3 LDG LD LDS LDL LDC VIADD SHFL MATCH B2R
    ATOMG ATOM ATOMS VOTE VOTEU R2UR SYNCS BMOV FLO POPC QSPC ELECT
""")
_WIDE_MODS = frozenset(("64", "F64", "S64", "U64"))


def operands_of(
    opcode: str, operands: Sequence[str], guard: str
) -> tuple[tuple[Span, ...], tuple[Span, ...], Span | None]:
    """(written, read, guard): spans of an instruction as nvdisasm prints it."""
    family, _, rest = opcode.partition(".")
    ordered = rest.split(".") if rest else []
    mods = frozenset(ordered)
    texts = [_BACKQUOTED.sub("", t) for t in operands]
    count = _written(family, texts)
    widths = _widths(family, ordered, mods, texts, count)
    long = 2 if "E" in mods and texts and not any(".64" in t for t in texts) else 1
    writes: list[Span] = []
    reads: list[Span] = []
    for k, text in enumerate(texts):
        found = _spans(text, widths[k], long)
        (writes if k < count else reads).extend(found)
    if family in ("R2P", "P2R", "UP2UR", "UR2UP", "R2UP"):
        _packed(family, texts, writes, reads)
    if family == "EXIT":
        reads.append(_STACK_POINTER)
    held = _spans(guard, 1)
    reads.extend(held)
    return tuple(writes), tuple(reads), held[0] if held else None


def _spans(text: str, width: int, long: int = 1) -> list[Span]:
    """The registers that an operand names.

    `width` is for those outside of brackets, from 8 on (less 8) for those in brackets as well;
    `long` for an address without a suffix (sm_70, sm_75: two where the opcode has ".E").
    """
    found = []
    for m in _REGISTER.finditer(text):
        file, number, suffix = m[1], int(m[2]), m[3]
        before = text[: m.start()]
        words = width
        if file in ("P", "UP"):
            words = 1
        elif "[" in before or suffix:
            if ".64" in suffix:
                words = 2
            elif before.endswith("gdesc["):
                words = 4
            elif before.endswith(("desc[", "cx[")) and not before.endswith("idesc["):
                words = 2
            elif "[" in before:
                words = long if file == "R" and not suffix else 1
        if width > 8 and "[" in before:
            words = width - 8
        found.append(Span(file, number, words))
    return found


def _written(family: str, texts: Sequence[str]) -> int:
    """How many leading operands are written."""
    if family in _NOTHING or not texts:
        return 0
    if family in _TWO:
        return 2
    if family == "FCHK" or texts[0] in ("PR", "UPR"):
        return 1
    n = 0
    while n < len(texts) and _PREDICATE.match(texts[n]) and not texts[n].startswith("!"):
        n += 1
    if n == len(texts):
        return max(1, n - 1)
    if n and not _register_at(texts, n):
        return n
    n += 1
    if family in _TEXTURE:
        if n < len(texts) and _register_at(texts, n) and _texture_has_two(family, texts):
            n += 1
        return n
    if family in _CARRY:
        while n < len(texts) and _PREDICATE.match(texts[n]) and not texts[n].startswith("!"):
            if family in ("VOTE", "VOTEU") and n == len(texts) - 1:
                break
            n += 1
    return n


def _register_at(texts: Sequence[str], n: int) -> bool:
    return n < len(texts) and _ZERO_OR_REGISTER.match(texts[n]) is not None


def _texture_has_two(family: str, texts: Sequence[str]) -> bool:
    return family not in ("SULD", "SUQ", "SUATOM")


# ------------------------------------------------------------------------------- widths


def _size(mods: Mods) -> int:
    """Registers of what an access to memory moves in each lane."""
    if "256" in mods:
        return 4  # two operands of four
    if "128" in mods:
        return 4
    return 2 if mods & _WIDE_MODS else 1


def _access(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    n = _size(mods)
    return [n] * len(texts)


def _double(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    return [2] * len(texts)


def _single(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    return [1] * len(texts)


def _convert(mods_in_order: Sequence[str], texts: Sequence[str], family: str) -> list[int]:
    """F2I.U64.F64, I2F.F64.S64, F2F.F32.F64, FRND.F64: result type first where two stand."""
    types = [m for m in mods_in_order if re.fullmatch(r"[FSU](64|32|16|8)|BF16.*", m)]
    wide = [m.endswith("64") for m in types]
    if family == "FRND":
        into = source = any(wide)
    elif family == "I2F":
        into = any(m == "F64" for m in types)
        source = any(m in ("S64", "U64") for m in types)
    elif family == "F2I":
        into = any(m in ("S64", "U64") for m in types)
        source = any(m == "F64" for m in types)
    else:
        into = bool(wide) and wide[0]
        source = len(wide) > 1 and wide[-1]
    return [2 if into else 1] + [2 if source else 1] * (len(texts) - 1)


def _imad(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    widths = [1] * len(texts)
    if "WIDE" in mods:
        widths[:count] = [2] * count
    if "WIDE" in mods or "HI" in mods:
        at = count + 2
        if at < len(texts):
            widths[at] = 2
    return widths


def _matrix_loads(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    return [4 if "4" in mods else 2 if "2" in mods else 1] * len(texts)


def _texture(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    """Results by the mask of components, coordinates by the shape of the texture."""
    mask = 1
    shape = ""
    for t in texts:
        if _LITERAL.match(t):
            mask = int(t, 16) or mask
        elif re.fullmatch(r"(ARRAY_)?([123]D|CUBE|1D_BUFFER)", t):
            shape = t
    n = mask.bit_count()
    widths = [1] * len(texts)
    half = -(-n // 2) if count == 2 else n
    if count == 2:
        widths[0], widths[1] = (n - min(n, 2), min(n, 2))
    elif count:
        widths[0] = half
    size = 1 if "1D" in shape else 3 if "3D" in shape or "CUBE" in shape else 2
    size += "ARRAY" in shape
    if count < len(texts):
        widths[count] = min(size, 4)
    for k in range(count + 1, len(texts)):
        widths[k] = 1
    return widths


# (m, n, k) of HMMA, IMMA, …: registers of result, first, second source and addend, where 32-bit
# accumulators and one-byte elements are scaled below.
_FRAGMENTS: dict[str, dict[str, tuple[int, int, int]]] = {
    "HMMA": {"884": (4, 2, 2), "1684": (4, 2, 1), "1688": (4, 2, 1), "16816": (4, 4, 2),
             "16832": (4, 4, 4)},
    "IMMA": {"8816": (2, 1, 1), "8832": (2, 1, 1), "16816": (4, 2, 1), "16832": (4, 4, 2),
             "16864": (4, 4, 2), "168128": (4, 4, 4)},
    "BMMA": {"88128": (2, 1, 1), "168128": (4, 2, 1), "168256": (4, 4, 2)},
    "DMMA": {"884": (4, 2, 2), "1684": (8, 4, 2), "1688": (8, 8, 4), "16816": (8, 16, 8)},
    "QMMA": {"16816": (4, 2, 1), "16832": (4, 4, 2), "16864": (4, 4, 4)},
    "OMMA": {"16864": (4, 4, 2), "168128": (4, 4, 4)},
}


def _matrix(family: str, mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    shape = next((m for m in mods if m in _FRAGMENTS[family]), "")
    made, a, b = _FRAGMENTS[family].get(shape, (4, 4, 2))
    if family == "IMMA" and shape == "16832" and not mods & {"S8", "U8"} and mods & {"S4", "U4"}:
        a, b = 2, 1
    if family in ("HMMA", "QMMA") and "F32" not in mods:
        made = 2  # half-precision accumulators
    if shape == "884" and family == "HMMA":
        made = 8 if "F32" in mods else 4
    if "SP" in mods:
        a = max(1, a // 2)
    return _each_register(texts, [made, a, b, made])


def _each_register(texts: Sequence[str], widths: Sequence[int]) -> list[int]:
    """The widths of the register operands in turn; the rest, such as a selector, have one."""
    out = [1] * len(texts)
    k = 0
    for n, t in enumerate(texts):
        if _ZERO_OR_REGISTER.match(t) and k < len(widths):
            out[n] = widths[k]
            k += 1
    return out


def _warpgroup(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    """HGMMA.64x128x16.F32 R24, R8, gdesc[UR4], R24: 64 × n results over 128 threads."""
    shape = next((m for m in mods if re.fullmatch(r"\d+x\d+x\d+", m)), "64x8x16")
    n = int(shape.split("x")[1]) // 2
    if not mods & {"F32", "S32"}:
        n //= 2
    out = [1] * len(texts)
    registers = [k for k, t in enumerate(texts) if re.match(r"R(\d+|Z)", t)]
    for k in registers:
        out[k] = n if k == registers[0] or k == registers[-1] else 4
    for k, t in enumerate(texts):
        if "gdesc" in t:
            out[k] = 8 + (2 if len(registers) > 2 else 4)
    return out


def _tensor_copies(mods: Mods, texts: Sequence[str], count: int) -> list[int]:
    """UTMALDG.2D [UR8], [UR4]: addresses and coordinates, then the descriptor's address."""
    first = next((int(m[0]) for m in mods if re.fullmatch(r"[1-5]D", m)), 1) + 2
    return [8 + (first if k == 0 else 2) for k in range(len(texts))]


_Widths = Callable[[Mods, Sequence[str], int], list[int]]
_WIDTHS: dict[str, _Widths] = {
    **dict.fromkeys(_names("DADD DMUL DFMA DSETP DMNMX FADD2 FMUL2 FFMA2"), _double),
    **dict.fromkeys(_names("SHF USHF MUFU S2R S2UR SHFL R2UR PRMT UPRMT FLO POPC LEPC"), _single),
    **dict.fromkeys(_names("HADD2 HMUL2 HFMA2 HSETP2 HMNMX2 LEA ULEA I2FP F2FP I2IP"), _single),
    **dict.fromkeys(_names("IMAD UIMAD"), _imad),
    **dict.fromkeys(_names("LDSM STSM MOVM LDSMT"), _matrix_loads),
    **dict.fromkeys(_TEXTURE, _texture),
    **dict.fromkeys(_names("HGMMA IGMMA QGMMA BGMMA"), _warpgroup),
    **dict.fromkeys(_names("UTMALDG UTMASTG UTMAREDG UTMAPF"), _tensor_copies),
}
_CONVERSIONS = _names("I2F F2I F2F FRND I2I UI2F UF2I UF2F UFRND")
_JUMPS = _names("CALL RET BRX JMX BRXU JMXU JMP")


def _widths(
    family: str, ordered: Sequence[str], mods: Mods, texts: Sequence[str], count: int
) -> list[int]:
    """Registers of each operand outside of brackets."""
    if family in _WIDTHS:
        return _WIDTHS[family](mods, texts, count)
    if family in _FRAGMENTS:
        return _matrix(family, mods, texts, count)
    if family in _CONVERSIONS:
        return _convert(ordered, texts, family)
    if family in ("CS2R", "CS2UR"):
        return [1 if "32" in mods else 2] * len(texts)
    if family in _JUMPS:
        return [2] * len(texts)
    return _access(mods, texts, count)


def _packed(family: str, texts: Sequence[str], writes: list[Span], reads: list[Span]) -> None:
    """Moves between a register and the predicates that a mask names."""
    file = "UP" if family.startswith("U") or family == "R2UP" else "P"
    mask = next((int(t, 16) for t in reversed(texts) if _LITERAL.match(t)), 0x7F)
    into = writes if family in ("R2P", "R2UP", "UR2UP") else reads
    into.extend(Span(file, k, 1) for k in range(7) if mask >> k & 1)
