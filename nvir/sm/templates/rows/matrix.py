"""Matrix operations of warps, warp groups and the tensor core; their loads and stores.

The shape in the name of a SASS operation (`16816`: m16 n8 k16) tells the profile what it costs.
"""

from __future__ import annotations

import re

from nvir.sm.templates.table import Shape, fixed, rule

_SHAPE = re.compile(r"^m(\d+)n(\d+)k(\d+)$")


def _shape(s: Shape) -> tuple[int, int, int] | None:
    for m in s.mods:
        found = _SHAPE.match(m)
        if found:
            return int(found[1]), int(found[2]), int(found[3])
    return None


def _family(of: str, to: str, m: int, n: int, k: int) -> str:
    """The operation for one product of sources of type `of` into `to`."""
    if of == "f64":
        return f"DMMA.{m}{n}{k}"
    if of in ("s8", "u8"):
        return f"IMMA.{m}{n}{k}"
    if of in ("s4", "u4"):
        return f"IMMA.{m}{n}{k}.S4"
    if of == "b1":
        return f"BMMA.{m}{n}{k}"
    if of in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"):
        return f"QMMA.{m}{n}{k}"
    wide = ".F32" if to == "f32" else ""
    tf32 = ".TF32" if of == "tf32" else ""
    return f"HMMA.{m}{n}{k}{wide}{tf32}"


@rule("mma.sync mma.sp.sync mma.sp::ordered_metadata.sync")
def mma(s: Shape) -> str | None:
    shape = _shape(s)
    names = [t.name for t in s.types]
    if shape is None or len(names) < 3:
        return None
    m, n, k = shape
    to, of = names[0], names[1]
    if ".sp" in s.name:
        k //= 2  # half of the first matrix is zero and not multiplied
    if of == "f64" and k > 4 and not s.on("deep_dmma"):
        parts = k // 4 * (m // 8)
        return "; ".join(["DMMA.884 D, A"] * parts)
    if of in ("e4m3", "e5m2") and not s.on("fp8_matrix"):
        half = "; ".join(["F2FP t0, A"] * 6)
        return f"{half}; HMMA.16816.F32 t1, A t0; HMMA.16816.F32 D, A t1"
    return f"{_family(of, to, m, n, k)} D, A"


@rule("wmma.mma")
def wmma(s: Shape) -> str | None:
    """A product of 16x16 tiles is several of the operations that the machine has."""
    shape = _shape(s)
    names = [t.name for t in s.types]
    if shape is None or not names:
        return None
    m, n, k = shape
    to = names[0]
    of = names[1] if len(names) > 2 else "f16"
    if of in ("f16", "bf16"):
        return "; ".join([f"{_family(of, to, 16, 8, 16)} D, A"] * 2)
    if of == "tf32":
        return "; ".join([f"{_family(of, to, 16, 8, 4)} D, A"] * 4)
    if of in ("s8", "u8"):
        return "; ".join([f"{_family(of, to, 16, 8, 16)} D, A"] * 2)
    if of == "f64":
        return f"{_family(of, to, 8, 8, 4)} D, A"
    return f"{_family(of, to, m, n, k)} D, A"


@rule("wmma.load wmma.store")
def wmma_memory(s: Shape) -> str | None:
    """Lanes compute their addresses from the lane number and the stride."""
    space = s.form.space.partition("::")[0]
    load = s.name == "wmma.load"
    family = {"global": "LDG" if load else "STG", "shared": "LDS" if load else "STS"}.get(
        space, "LD" if load else "ST"
    )
    count = max(1, (s.results if load else s.form.n_sources - 2) // 2)
    address = "S2R t0; MOV t1; SHF t2, t0; SHF t3, t0; LOP3 t3, t3; IMAD.WIDE t4 t5, t2 A; "
    address += "LEA t6 p0, t4 A; LEA t7, t5 p0; IMAD.WIDE t8 t9, t6 A; "
    if load:
        moved = "; ".join(f"{family} d{2 * k} d{2 * k + 1}, t6 t7 t8 t9" for k in range(count))
        column = (s.has("b") and s.has("row")) or (s.has("a") and s.has("col"))
        if column and s.type in ("f16", "bf16"):
            moved += "".join(f"; MOVM d{2 * k}, d{2 * k}" for k in range(count))
        return address + moved
    return address + "; ".join([f"{family} , A t6 t7 t8 t9"] * count)


fixed({
    "ldmatrix": "LDSM D, A",
    "stmatrix": "STSM , A",
    "movmatrix": "MOVM d, a",
    "wgmma.fence": "WARPGROUP",
    "wgmma.commit_group": "",
    "wgmma.wait_group": "WARPGROUP",
    "tcgen05.wait::ld tcgen05.wait::st": "DEPBAR",
    "tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync": "",
    "tcgen05.ld": "LDTM D, A",
    "tcgen05.st": "STTM , A",
    "tcgen05.commit": "R2UR t0, A; UTCBAR , t0",
    "tcgen05.alloc": "R2UR t0, A; UTCATOMSWS t1, t0; STS , A t1",
    "tcgen05.dealloc": "R2UR t0, A; UTCATOMSWS , t0",
    "tcgen05.relinquish_alloc_permit": "UTCATOMSWS",
    "tcgen05.cp": "R2UR t0, A; R2UR t1, A; UTCCP , t0 t1",
    "tcgen05.shift": "R2UR t0, A; UTCSHIFT , t0",
})


@rule("wgmma.mma_async wgmma.mma_async.sp")
def wgmma(s: Shape) -> str | None:
    shape = _shape(s)
    names = [t.name for t in s.types]
    if shape is None or len(names) < 3:
        return None
    m, n, k = shape
    of = names[1]
    family = {"s8": "IGMMA", "u8": "IGMMA", "b1": "BGMMA", "e4m3": "QGMMA", "e5m2": "QGMMA"}.get(
        of, "HGMMA"
    )
    return f"R2UR t0, A; R2UR t1, A; R2UR t2, A; R2UR t3, A; {family}.{m}x{n}x{k} D, A t0 t1 t2 t3"


@rule("tcgen05.mma tcgen05.mma.ws tcgen05.mma.sp tcgen05.mma.ws.sp")
def tcgen05_mma(s: Shape) -> str | None:
    kind = next((m for m in s.mods if m.startswith("kind::")), "kind::f16")
    family = {
        "kind::f16": "UTCHMMA", "kind::tf32": "UTCHMMA", "kind::i8": "UTCIMMA",
        "kind::f8f6f4": "UTCQMMA", "kind::mxf8f6f4": "UTCQMMA", "kind::mxf4": "UTCOMMA",
        "kind::mxf4nvf4": "UTCOMMA",
    }.get(kind)
    return (
        f"R2UR t0, A; R2UR t1, A; R2UR t2, A; R2UR t3, A; {family} , t0 t1 t2 t3"
        if family
        else None
    )
