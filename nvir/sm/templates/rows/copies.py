"""Moves: of values, of literals, of special registers, of addresses, and between widths.

A move of a register is no operation, both are one register. So are halves of a pair.
"""

from __future__ import annotations

from nvir.sm.templates.table import Shape, rule

# Read from the constant bank, where the launch has put them.
_CONSTANT = ("%ntid", "%nctaid", "%gridid", "%envreg", "%total_smem", "%dynamic_smem",
             "%aggr_smem", "%nwarpid", "%nsmid", "%reserved")
_CLOCKS = ("%clock", "%globaltimer", "%pm")


@rule("mov")
def mov(s: Shape) -> str | None:
    if s.special:
        return _special(s)
    if s.symbols:
        return _address(s)
    sources, results = s.form.n_sources, s.results
    if sources == 1 and results == 1:
        return _whole(s)
    if sources == results:
        return "; ".join(_element(s, k) for k in range(sources))
    if sources > results:
        return _pack(s, sources)
    return _unpack(s, results)


def _special(s: Shape) -> str:
    name = s.special.partition(".")[0]
    if name.startswith(_CONSTANT):
        return "= d 0"
    if name.startswith(_CLOCKS):
        return "CS2R d"
    return "S2R d" + ("; MOV d.h" if s.bits == 64 else "")


def _address(s: Shape) -> str:
    """Addresses are known when the kernel starts; shared ones from sm_90 on need the window's."""
    if not s.on("shared_window"):
        return "= d.l 0; = d.h 0" if s.bits == 64 else "= d 0"
    window = "S2R t0; MOV t1; LEA d.l, t0 t1"
    return f"{window}; MOV d.h" if s.bits == 64 else window


def _whole(s: Shape) -> str:
    known = s.literal(0)
    if known == 0:
        return "= d.l 0; = d.h 0" if s.bits == 64 else "= d 0"
    if s.bits == 64:
        return "= d.l a.l; = d.h a.h" if known is None else "MOV d.l; MOV d.h"
    if s.bits == 128:
        return "; ".join(f"= d.{k} a.{k}" for k in range(4))
    return "= d a" if known is None else "MOV d"


def _element(s: Shape, k: int) -> str:
    source, result = f"s{k}", f"d{k}"
    if s.literal(k) is None:
        return f"= {result}.l {source}.l; = {result}.h {source}.h"
    return f"MOV {result}.l; MOV {result}.h" if s.literal(k) else f"= {result} 0"


def _pack(s: Shape, count: int) -> str | None:
    """Several registers as one: pairs are named, halves of a register are merged."""
    part = s.bits // count
    if all(s.literal(k) == 0 for k in range(count)):
        return _whole(Shape(s.form, (0,), s.features))
    if part >= 32:
        words = part // 32
        out = []
        for k in range(count):
            for w in range(words):
                target = f"d.{k * words + w}"
                known = s.literal(k) is not None
                out.append(f"MOV {target}" if known else f"= {target} s{k}.{w}")
        return "; ".join(out)
    if part == 16:
        pairs = range(0, count, 2)
        return "; ".join(f"PRMT d.{k // 2}, s{k} s{k + 1}" for k in pairs)
    if count == 2:
        return "PRMT d, s0 s1"
    return "; ".join(
        f"PRMT t{k}, s{4 * k} s{4 * k + 1}; PRMT t{k + 4}, s{4 * k + 2} s{4 * k + 3}; "
        f"PRMT d.{k}, t{k} t{k + 4}"
        for k in range(count // 4)
    )


def _unpack(s: Shape, count: int) -> str | None:
    part = s.bits // count
    if s.literal(0) is not None:
        return (
            "; ".join(f"MOV d{k}" for k in range(count))
            if s.literal(0)
            else "; ".join(f"= d{k} 0" for k in range(count))
        )
    if part >= 32:
        words = part // 32
        return "; ".join(
            f"= d{k}.{w} a.{k * words + w}" for k in range(count) for w in range(words)
        )
    per = 32 // part
    return "; ".join(
        f"= d{k} a.{k // per}" if k % per == 0 else f"PRMT d{k}, a.{k // per}" for k in range(count)
    )
