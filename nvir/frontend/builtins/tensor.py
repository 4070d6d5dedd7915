"""Matrix functions: fragments loaded and stored, products of a warp and of a warpgroup.

A fragment is an array of registers that a pointer points to, as in CUDA's own header: the layout
(0 row, 1 column; of a product, A's and B's in two bits) must be known at compile time.

Source: PTX ISA, "Warp-level Matrix Instructions", "Asynchronous Warpgroup Level Matrix
Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend.builtins.work import Work, letter
from nvir.frontend.irgen.state import IRGenError
from nvir.ir import DOUBLE, FLOAT, I32, VOID, Type, Value, function_type, struct

FP8_VERSION = (8, 4)  # of PTX, that has products of 8-bit floats
_LAYOUTS = ("row", "col")


def _register(kind: str) -> Type:
    """The type of a fragment's registers."""
    if kind == "f64":
        return DOUBLE
    return FLOAT if kind == "f32" else I32


def _layout(w: Work, k: int) -> str:
    n = w.number(k)
    if n not in (0, 1):
        raise IRGenError(f"{w.row.name}: the layout is 0 (row) or 1 (column)", w.e.place)
    return _LAYOUTS[n]


def _list(first: int, n: int) -> str:
    return "{" + ", ".join(f"${first + k}" for k in range(n)) + "}"


def _loaded(w: Work, p: Value, t: Type, n: int) -> list[Value]:
    return [w.b.load(w.b.gep(p, [k], t, True), t, "", t.bits // 8) for k in range(n)]


def _stored(w: Work, made: Value, p: Value, t: Type, n: int) -> None:
    for k in range(n):
        part = w.b.extract_value(made, k) if n > 1 else made
        w.b.store(part, w.b.gep(p, [k], t, True), t.bits // 8)


def matrix_load(w: Work, shape: str, what: str, kind: str, count: str) -> None:
    """wmma.load: (registers, memory, leading dimension, layout)."""
    n, t = int(count), _register(kind)
    layout = _layout(w, 3)
    text = f"wmma.load.{what}.sync.aligned.{layout}.{shape}.{kind} {_list(0, n)}, [${n}], ${n + 1};"
    result = struct([t] * n) if n > 1 else t
    made = w.asm(text, result, [w.value(1), w.fit(w.value(2), I32)], True)
    _stored(w, made, w.value(0), t, n)


def matrix_store(w: Work, shape: str, kind: str, count: str) -> None:
    """wmma.store: (memory, registers, leading dimension, layout)."""
    n, t = int(count), _register(kind)
    values = _loaded(w, w.value(1), t, n)
    layout = _layout(w, 3)
    text = (f"wmma.store.d.sync.aligned.{layout}.{shape}.{kind} [$0], {_list(1, n)}, ${n + 1};")
    w.asm(text, VOID, [w.value(0), *values, w.fit(w.value(2), I32)], True)


def matrix_product(w: Work, shape: str, kinds: str, d: str, a: str, b: str, c: str) -> None:
    """wmma.mma: D = A B + C; the layout's bit 1 says that A, bit 0 that B lies by columns."""
    layout = w.number(4)
    satfinite = ".satfinite" if len(w.args) > 5 and w.number(5) and kinds in ("s8", "u8") else ""
    first, second = _LAYOUTS[layout >> 1 & 1], _LAYOUTS[layout & 1]
    nd, na, nb, nc = (int(n) for n in (d, a, b, c))
    if "." in kinds:
        spelled = kinds
        td, tc = (_register(k) for k in kinds.split("."))
        ta: Type = I32
    else:
        out = {"s8": "s32", "u8": "s32", "f64": "f64"}.get(kinds, "f32")
        spelled = f"{out}.{kinds}.{kinds}.{out}"
        td = tc = _register(out)
        ta = _register(kinds)
    rounding = ".rn" if kinds == "f64" else ""
    values = [*_loaded(w, w.value(1), ta, na), *_loaded(w, w.value(2), ta, nb),
              *_loaded(w, w.value(3), tc, nc)]
    at = nd
    lists = []
    for n in (na, nb, nc):
        lists.append(_list(at, n))
        at += n
    text = (f"wmma.mma.sync.aligned.{first}.{second}.{shape}{rounding}.{spelled}{satfinite} "
            f"{_list(0, nd)}, {', '.join(lists)};")
    made = w.asm(text, struct([td] * nd) if nd > 1 else td, values, True)
    _stored(w, made, w.value(0), td, nd)


def warp_product(w: Work, shape: str, kinds: str, d: str, a: str, b: str, c: str) -> None:
    """mma.sync of row by column."""
    nd, na, nb, nc = (int(n) for n in (d, a, b, c))
    if "e4m3" in kinds or "e5m2" in kinds:
        w.g.module.version = max(w.g.module.version, FP8_VERSION)
    values = [*_loaded(w, w.value(1), I32, na), *_loaded(w, w.value(2), I32, nb),
              *_loaded(w, w.value(3), FLOAT, nc)]
    text = (f"mma.sync.aligned.{shape}.row.col.{kinds} {_list(0, nd)}, {_list(nd, na)}, "
            f"{_list(nd + na, nb)}, {_list(nd + na + nb, nc)};")
    made = w.asm(text, struct([FLOAT] * nd), values, True)
    _stored(w, made, w.value(0), FLOAT, nd)


def warpgroup_product(w: Work, columns: str, kind: str) -> None:
    """wgmma.mma_async of two matrices in shared memory, waited for: D lies in an array, and its
    registers must not be stored before. They are read and written, so each is an output with an
    input tied to it."""
    n = int(columns) // 2
    old = _loaded(w, w.value(0), FLOAT, n)
    scale_d = w.value(3)
    modes = [w.number(k) for k in range(4, 8)]
    negate = [-1 if m else 1 for m in modes[:2]]
    transpose = [int(bool(m)) for m in modes[2:]]
    shape = f"m64n{columns}k16"
    text = (
        f"{{ .reg .pred p; setp.ne.b32 p, ${n + 2}, 0; wgmma.fence.sync.aligned; "
        f"wgmma.mma_async.sync.aligned.{shape}.f32.{kind}.{kind} {_list(0, n)}, "
        f"${n}, ${n + 1}, p, {negate[0]}, {negate[1]}, {transpose[0]}, {transpose[1]}; "
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"
    )
    args = [w.value(1), w.value(2), w.fit(scale_d, I32), *old]
    letters = ["=f"] * n + [letter(v.type) for v in args[:3]] + [str(k) for k in range(n)]
    result = struct([FLOAT] * n)
    signature = function_type(result, [v.type for v in args])
    made = w.b.asm(signature, text, ",".join([*letters, "~{memory}"]), args, True)
    _stored(w, made, w.value(0), FLOAT, n)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matrix_load": matrix_load, "matrix_store": matrix_store, "matrix_product": matrix_product,
    "warp_product": warp_product, "warpgroup_product": warpgroup_product,
}
