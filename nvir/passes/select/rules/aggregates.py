"""Values in pieces: what is inserted and extracted are parts, so nothing is computed.

Elements at an index that is not constant are chosen by comparing the index with each place:
registers have no addresses, and ptxas makes of it what a load from local memory would cost at best.
"""

from __future__ import annotations

from nvir.ir import Constant, Instruction, Value, VectorType
from nvir.passes.select.lanes import Rule
from nvir.passes.select.parts import count, member_slice, parts
from nvir.passes.select.rules.compare import chosen
from nvir.passes.select.rules.integer import zext
from nvir.passes.select.selector import Parts, Selector, width


def _extractvalue(s: Selector, i: Instruction) -> Parts:
    v = i.operands[0]
    return s.use(v)[member_slice(v.type, i.aux)]


def _insertvalue(s: Selector, i: Instruction) -> Parts:
    whole, part = i.operands
    out = list(s.use(whole))
    out[member_slice(whole.type, i.aux)] = s.use(part)
    return tuple(out)


def _split(s: Selector, i: Instruction) -> Parts:
    found = s.use(i.operands[0])
    made: Parts = ()
    for r in i.results:
        s.values[r] = s.pointed(r, found[len(made) : len(made) + count(r.type)])
        made += s.values[r]
    return made


def _lane(v: Value, t: VectorType) -> int | None:
    if not isinstance(v, Constant):
        return None
    return int(v.value or 0) % t.count  # beyond the end it is poison


def _extractelement(s: Selector, i: Instruction) -> Parts:
    v, index = i.operands
    t = v.type
    assert isinstance(t, VectorType)
    x, n = s.use(v), count(t.element)
    k = _lane(index, t)
    if k is not None:
        return x[k * n : (k + 1) * n]
    shape = parts(t.element)
    out = x[:n]
    for lane in range(1, t.count):
        here = _is_lane(s, index, lane)
        there = x[lane * n : (lane + 1) * n]
        out = tuple(
            chosen(s, here, b, a, p.reg.name) for a, b, p in zip(out, there, shape, strict=True)
        )
    return out


def _insertelement(s: Selector, i: Instruction) -> Parts:
    v, part, index = i.operands
    t = v.type
    assert isinstance(t, VectorType)
    x, new, n = s.use(v), s.use(part), count(t.element)
    k = _lane(index, t)
    if k is not None:
        return (*x[: k * n], *new, *x[(k + 1) * n :])
    shape = parts(t.element)
    out: list[Value] = []
    for lane in range(t.count):
        here = _is_lane(s, index, lane)
        old = x[lane * n : (lane + 1) * n]
        out.extend(
            chosen(s, here, a, b, p.reg.name) for a, b, p in zip(new, old, shape, strict=True)
        )
    return tuple(out)


def _is_lane(s: Selector, index: Value, lane: int) -> Value:
    w = width(index.type)
    x = s.one(index)
    return s.cached(
        ("lane", x, lane), lambda: s.op(f"setp.eq.s{w}", zext(s, x, index.type.bits), lane)
    )


def _shufflevector(s: Selector, i: Instruction) -> Parts:
    a, b = i.operands
    t = a.type
    assert isinstance(t, VectorType)
    n = count(t.element)
    both = (*s.use(a), *s.use(b))
    missing = tuple(s.undefined(p) for p in parts(t.element))
    return tuple(
        v for k in i.aux for v in (both[k * n : (k + 1) * n] if k >= 0 else missing)
    )


RULES: dict[str, Rule] = {
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
    "splitStruct": _split,
    "extractelement": _extractelement,
    "insertelement": _insertelement,
    "shufflevector": _shufflevector,
}
