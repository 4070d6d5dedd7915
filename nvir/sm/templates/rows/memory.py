"""Loads, stores, atomics, asynchronous copies and barrier objects.

The data of a store and of an atomic must be in registers, so literals but zero need moves.
Shared-memory atomics that the machine has no operation for are loops around a compare-and-swap.
"""

from __future__ import annotations

from nvir.sm.templates.table import Shape, fixed, rule

_LOAD = {"global": "LDG", "shared": "LDS", "local": "LDL", "const": "LDC", "": "LD"}
_STORE = {"global": "STG", "shared": "STS", "local": "STL", "": "ST"}


def space_of(s: Shape) -> str:
    return s.form.space.partition("::")[0]


def _data_moves(s: Shape, first: int) -> str:
    """A register for each literal of the data that is stored; 64-bit ones take two."""
    wide = s.bits == 64
    values = s.literals[first:]
    known = [v for v in values if v is not None]
    if not any(known):
        return ""
    count = (
        len(values) * (2 if wide else 1)
        if len(values) == 1
        else ((2 if wide else 1) * len(known) if len(set(known)) > 1 or wide else len(known))
    )
    return "MOV t9; " * count


def _window(s: Shape) -> str:
    """What addresses take beyond the operation: a local one is relative to the stack."""
    space = space_of(s)
    if space == "local" and not s.symbols:
        return "IADD t8, a.l; "
    if not s.symbols:
        return ""
    if space == "shared" and s.on("shared_window"):
        return "UMOV t7; S2UR t6; ULEA t8, t7 t6; "
    if space == "global":
        return "LDC t7 t8; " if s.on("constant_loads") else "MOV t7; MOV t8; "
    return ""


def _ordered(s: Shape) -> tuple[str, str]:
    """Fences that `.acquire` and `.release` become, before and after."""
    if s.has("cta") or not s.has("acquire", "release", "acq_rel", "sc"):
        return "", ""
    cga = "CGAERRBAR; " if s.on("clusters") else ""
    before = f"MEMBAR; ERRBAR; {cga}" if s.has("release", "acq_rel", "sc") else ""
    after = "; CCTL" if s.has("acquire", "acq_rel", "sc") else ""
    return before, after


@rule("ld ldu")
def ld(s: Shape) -> str | None:
    space = space_of(s)
    if space == "param":
        return "; ".join(f"= d{k}.l 0; = d{k}.h 0" for k in range(s.results))
    if space == "const" and s.symbols:
        wide = 2 if s.bits == 64 else 1
        return "LDC D" if s.on("constant_loads") else "; ".join(["MOV D"] * s.results * wide)
    if space not in _LOAD:
        return None
    after = _ordered(s)[1] if space in ("", "global") else ""
    return f"{_window(s)}{_LOAD[space]} {_loaded(s)}, A t8{_spread(s)}{after}"


def _loaded(s: Shape) -> str:
    return "d.l" if s.results == 1 and s.result_bits == 64 and s.bits < 64 else "D"


def _spread(s: Shape) -> str:
    """What narrow elements take to reach registers of their own, or wider ones."""
    count = s.results
    if count > 1 and s.bits < 32:
        per = 32 // s.bits
        moved = [k for k in range(count) if s.bits == 8 or k % per]
        return "".join(f"; PRMT d{k}, d{k}" for k in moved)
    if count == 1 and s.result_bits == 64 and s.bits < 64:
        return "; SHF d.h, d.l" if s.kind == "s" else "; MOV d.h"
    return ""


@rule("st")
def st(s: Shape) -> str | None:
    space = space_of(s)
    if space == "param":
        return ""
    if space not in _STORE:
        return None
    first = 1 + sum(1 for _, k in s.form.addresses if k >= 0)
    count = s.form.n_sources - first
    pack = ""
    if count > 1 and s.bits < 32:
        per = 32 // s.bits
        pack = "".join(f"PRMT t{k % 8}, s{first + k}; " for k in range(count) if k % per)
    before = _ordered(s)[0] if space in ("", "global") else ""
    return f"{before}{_window(s)}{_data_moves(s, first)}{pack}{_STORE[space]} , A t8"


_COMPARE_AND_SWAP = (
    "BSSY; LDS t0, A; {work}; ATOMS t2, A t0 t1; ISETP p0, t2 t0; BRA , p0; BSYNC; = d t2"
)


@rule("atom")
def atom(s: Shape) -> str | None:
    space = space_of(s)
    first = 1 + sum(1 for _, k in s.form.addresses if k >= 0)
    moved = _data_moves(s, first)
    if space == "shared":
        if s.has("add") and s.kind == "f":
            family = {"f64": "DADD", "f32": "FADD"}.get(s.type, "HADD2")
            loop = _COMPARE_AND_SWAP.format(work=f"{family} t1, t0 A")
            return loop.replace("ISETP p0, t2 t0; ", "") if s.on("swap_tells") else loop
        if s.bits == 64 and s.has("add", "min", "max", "and", "or", "xor"):
            loop = "BSSY; LDS t0 t1, A; IADD3 t2 p0, t0 A; IADD3.X t3, t1 A p0; "
            tests = "" if s.on("swap_tells") else "ISETP p1, t4 t0; ISETP p2, t5 t1 p1; "
            return loop + f"ATOMS t4 t5, A t0 t1 t2 t3; {tests}BRA , p2; BSYNC; = d.l t4; = d.h t5"
        return f"{_window(s)}{moved}ATOMS d, A t8"
    before, after = _ordered(s)
    if space == "" and s.bits == 64 and s.has("cas"):
        return (
            f"{before}{moved}BSSY; ATOM d, A; BRA , p0; LD t0 t1, A; ISETP p1, t0 A; "
            f"ISETP p2, t1 A p1; SEL t2, t0 p2; SEL t3, t1 p2; ST , A t2 t3; BSYNC{after}"
        )
    if space == "" and (s.bits == 64 or (s.has("add") and s.kind == "f")):
        return f"{before}{moved}BSSY; ATOM d, A; BRA , p0; LD t0, A; ST , A t0; BSYNC{after}"
    return f"{before}{_window(s)}{moved}ATOM d, A t8{after}"


@rule("red")
def red(s: Shape) -> str | None:
    space = space_of(s)
    first = 1 + sum(1 for _, k in s.form.addresses if k >= 0)
    moved = _data_moves(s, first)
    if space == "shared":
        if s.has("add") and s.kind == "f":
            return _COMPARE_AND_SWAP.format(work="FADD t1, t0 A").replace("; = d t2", "")
        return f"{moved}ATOMS , A"
    before, _ = _ordered(s)
    return f"{before}{_window(s)}{moved}RED , A t8"


fixed({
    "prefetch prefetchu": "CCTL , A",
    "applypriority discard": "CCTL , A",
    "createpolicy.cvt": "MOV d.l, a.l; MOV d.h",
    "cp.async.commit_group": "LDGDEPBAR",
    "cp.async.wait_group": "DEPBAR",
    "cp.async.wait_all": "LDGDEPBAR; DEPBAR",
    "cp.async.mbarrier.arrive": "ARRIVES , A",
    "cp.async.bulk.wait_group": "DEPBAR; CCTL",
    "cp.async.bulk.commit_group": "UTMACMDFLUSH",
    "multimem.ld_reduce": "LDGMC D, A",
    "multimem.st": "STG , A",
    "multimem.red": "RED , A",
    "st.async": "STAS , A",
    "red.async": "REDAS , A",
    "tensormap.replace": "STG , A",
})


@rule("createpolicy.fractional createpolicy.range")
def createpolicy(s: Shape) -> str | None:
    return "MOV d.l; MOV d.h" if s.name.endswith("fractional") else None


@rule("cp.async")
def cp_async(s: Shape) -> str | None:
    wide = "LDS t7; LDS t8; LDS t9; " if s.on("shared_window") else ""
    zero_fill = s.form.n_sources > 3 and s.literals[-1] is None
    if not zero_fill:
        return f"{wide}LDGSTS , A"
    return (
        f"{wide}ISETP p0, A; IADD3 t0 p1, b.l; IADD3.X t1, b.h p1; IADD t2, A; LOP3 t3, t2; "
        "LDGSTS , A t0 t1 t3 p0"
    ).replace("IADD t2, A; LOP3 t3, t2", "IADD t2, b.l; LOP3 t3, t2")


@rule("cp.async.bulk.tensor cp.reduce.async.bulk.tensor")
def tensor_copy(s: Shape) -> str | None:
    """Operands of the copy engine are uniform registers, read lane by lane."""
    family = "UTMASTG" if s.has("bulk_group") else "UTMALDG"
    if s.name.startswith("cp.reduce"):
        family = "UTMAREDG"
    return (
        "R2UR t0, A; R2UR t1, A; R2UR t2, A; R2UR t3, A; R2UR t4, A; "
        + f"{family} , t0 t1 t2 t3 t4"
    )


@rule("cp.async.bulk cp.reduce.async.bulk")
def bulk_copy(s: Shape) -> str | None:
    family = "UBLKRED" if s.name.startswith("cp.reduce") else "UBLKCP"
    return f"R2UR t0, A; R2UR t1, A; R2UR t2, A; R2UR t3, A; {family} , t0 t1 t2 t3"


@rule("cp.async.bulk.prefetch cp.async.bulk.prefetch.tensor")
def bulk_prefetch(s: Shape) -> str | None:
    family = "UTMAPF" if s.name.endswith("tensor") else "UBLKPF"
    return f"R2UR t0, A; R2UR t1, A; R2UR t2, A; {family} , t0 t1 t2"


def _address_of_barrier(s: Shape) -> str:
    return "MOV t7; ULEA t8, t7; " if s.symbols else ""


@rule("mbarrier.init")
def mbarrier_init(s: Shape) -> str | None:
    if not s.on("barrier_unit"):
        return (
            "MOV t0; MOV t1; STS , A t0 t1"
            if s.literals[-1]
            else "IADD t0, A; IADD t1, t0; STS , A t1"
        )
    return "IADD t0, A; SHF t1, t0; SHF t2, t1; SYNCS , A t2"


@rule("mbarrier.arrive mbarrier.arrive_drop")
def mbarrier_arrive(s: Shape) -> str | None:
    if not s.on("barrier_unit"):
        drop = "ATOMS d, A; " if s.name.endswith("drop") else ""
        return f"MEMBAR; {drop}ATOMS D, A"
    return _address_of_barrier(s) + "SYNCS D, A"


@rule("mbarrier.test_wait mbarrier.try_wait")
def mbarrier_wait(s: Shape) -> str | None:
    if not s.on("barrier_unit"):
        return "LDS t0, A; LOP3 d, t0 A"
    parity = "SHF t0, A; " if s.has("parity") else ""
    if s.form.n_sources > 2 and s.name.endswith("try_wait"):
        return f"{parity}SYNCS p0, A t0; NANOSLEEP , p0; SYNCS d, A t0"
    return f"{_address_of_barrier(s)}{parity}SYNCS d, A t0"


@rule("mbarrier.expect_tx mbarrier.complete_tx mbarrier.inval")
def mbarrier_other(s: Shape) -> str | None:
    return _address_of_barrier(s) + "SYNCS , A" if s.on("barrier_unit") else ""


@rule("mbarrier.pending_count")
def pending_count(s: Shape) -> str | None:
    return "SHF t0, a.l; LOP3 d, t0"
