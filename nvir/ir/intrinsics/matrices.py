"""Intrinsics of matrix fragments: ldmatrix, stmatrix, movmatrix, wmma, mma.

    llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16
    llvm.nvvm.mma.m16n8k16.row.col.f32.f32          (of f16: the types of D and C)
    llvm.nvvm.mma.m16n8k32.row.col.satfinite.s8     (else those of A and B)

The elements of a fragment are shared out evenly to the 32 lanes, in registers of 32 bits (two
halves) or of their own type; wmma holds halves twice, mma of 8×8×4 has four matrices at once.

Source: PTX ISA, "Warp-level Matrix Instructions"; LLVM's IntrinsicsNVVM.td for the names.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8,
         "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}
_WORDS = {"f16": "v2f16", "f32": "float", "f64": "double"}
_LAYOUTS = ("row", "col")
Shape = tuple[int, int, int]


def _name(shape: Shape) -> str:
    return "m{}n{}k{}".format(*shape)


def _fragment(shape: Shape, role: str, t: str, wmma: bool) -> tuple[int, str]:
    """How many registers of which type a lane holds of A, B, C or D."""
    m, n, k = shape
    elements = {"a": m * k, "b": k * n}.get(role, m * n)
    bits = _BITS[t]
    if wmma and t == "f16" and role in "ab":
        return 8, "v2f16"
    if shape == (8, 8, 4) and t != "f64":  # four quads of lanes, each with matrices of its own
        elements *= 4
    return max(elements * min(bits, 32) // 1024, 1), _WORDS.get(t, "i32")


def _accumulator(t: str) -> str:
    return {"bf16": "f32", "tf32": "f32", "f64": "f64"}.get(t, "s32")


def _product(
    name: str, ori: str, shape: Shape, types: tuple[str, str, str, str], wmma: bool
) -> Intrinsic:
    """A product with its D, A, B and C."""
    d, a, b, c = (_fragment(shape, r, t, wmma) for r, t in zip("dabc", types, strict=True))
    groups, at = [], 0
    for count, _ in (a, b, c):
        groups.append(f"{{${at}+{count}}}")
        at += count
    words = " ".join(f"{count}*{word}" for count, word in (d, a, b, c))
    return Intrinsic(f"llvm.nvvm.{name}", words, f"{ori} {', '.join(groups)}")


# ------------------------------------------------------------------------- mma

_MMA_INTEGERS: tuple[tuple[str, tuple[Shape, ...]], ...] = (
    ("8", ((8, 8, 16), (16, 8, 16), (16, 8, 32))), ("4", ((8, 8, 32), (16, 8, 32), (16, 8, 64))),
)
_MMA_FLOATS: tuple[tuple[str, tuple[Shape, ...]], ...] = (
    ("bf16", ((16, 8, 8), (16, 8, 16))), ("tf32", ((16, 8, 4), (16, 8, 8))),
    ("f64", ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
)


def _mma() -> Iterator[Intrinsic]:
    for a in _LAYOUTS:
        for b in _LAYOUTS:
            for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
                yield _mma_of_halves((8, 8, 4), f"{a}.{b}", d, c)
    for shape in ((16, 8, 8), (16, 8, 16)):
        for t in ("f16", "f32"):
            yield _mma_of_halves(shape, "row.col", t, t)
    for t, shapes in _MMA_FLOATS:
        for shape in shapes:
            yield _mma_of(shape, t, t, "")
    for bits, integer_shapes in _MMA_INTEGERS:
        for shape in integer_shapes:
            for x in "su":
                for y in "su":
                    for saturate in ("", ".satfinite"):
                        yield _mma_of(shape, x + bits, y + bits, saturate)
    for shape in ((8, 8, 128), (16, 8, 128), (16, 8, 256)):
        for how in ("xor", "and"):
            ori = f"mma.sync.aligned.{_name(shape)}.row.col.s32.b1.b1.s32.{how}.popc"
            name = f"mma.{how}.popc.{_name(shape)}.row.col.b1"
            yield _product(name, ori, shape, ("s32", "b1", "b1", "s32"), False)
    for shape in ((16, 8, 16), (16, 8, 32)):
        for t in ("f16", "f32"):
            for x in ("e4m3", "e5m2"):
                for y in ("e4m3", "e5m2"):
                    words = f"{_name(shape)}.row.col.{t}.{x}.{y}.{t}"
                    ori = f"mma.sync.aligned.{words}"
                    yield _product(f"mma.{words}", ori, shape, (t, x, y, t), False)


def _mma_of_halves(shape: Shape, layout: str, d: str, c: str) -> Intrinsic:
    ori = f"mma.sync.aligned.{_name(shape)}.{layout}.{d}.f16.f16.{c}"
    name = f"mma.{_name(shape)}.{layout}.{d}.{c}"
    return _product(name, ori, shape, (d, "f16", "f16", c), False)


def _mma_of(shape: Shape, a: str, b: str, saturate: str) -> Intrinsic:
    c = _accumulator(a)
    ori = f"mma.sync.aligned.{_name(shape)}.row.col{saturate}.{c}.{a}.{b}.{c}"
    name = f"mma.{_name(shape)}.row.col{saturate}.{a}{'' if a == b else f'.{b}'}"
    return _product(name, ori, shape, (c, a, b, c), False)


# ------------------------------------------------------------------------- wmma

_WIDE: tuple[Shape, ...] = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
# Types of A and B, and those of C, by shape.
_WMMA: tuple[tuple[tuple[Shape, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (_WIDE, ("f16", "bf16", "s8", "u8"), ("f16", "f32", "s32")),
    (((16, 16, 8),), ("tf32",), ("f32",)),
    (((8, 8, 4),), ("f64",), ("f64",)),
    (((8, 8, 32),), ("s4", "u4"), ("s32",)),
    (((8, 8, 128),), ("b1",), ("s32",)),
)


def _wmma() -> Iterator[Intrinsic]:
    for shapes, inputs, accumulators in _WMMA:
        for shape in shapes:
            for role, types in (("a", inputs), ("b", inputs), ("c", accumulators)):
                for t in types:
                    for layout in _fragment_layouts(role, t):
                        yield from _transfers(shape, role, layout, t)
            for t in inputs:
                for a in _fragment_layouts("a", t):
                    for b in _fragment_layouts("b", t):
                        yield from _wmma_products(shape, f"{a}.{b}", t)


def _fragment_layouts(role: str, t: str) -> tuple[str, ...]:
    """Elements of less than a byte lie one way only."""
    if _BITS[t] >= 8:
        return _LAYOUTS
    return ("row",) if role == "a" else ("col",)


def _transfers(shape: Shape, role: str, layout: str, t: str) -> Iterator[Intrinsic]:
    """Loads of A, B or C, and stores of D, with and without a stride."""
    count, word = _fragment(shape, role, t, True)
    for stride, step, t_step in (("", "", ""), (".stride", ", ${}", " i32")):
        name = f"llvm.nvvm.wmma.{_name(shape)}.load.{role}.{layout}{stride}.{t}"
        ori = f"wmma.load.{role}.sync.aligned.{layout}.{_name(shape)}@0.{t} [$0]{step.format(1)}"
        yield Intrinsic(name, f"{count}*{word} ptr{t_step}", ori)
        if role != "c":
            continue
        name = f"llvm.nvvm.wmma.{_name(shape)}.store.d.{layout}{stride}.{t}"
        group = f"[$0], {{$1+{count}}}{step.format(count + 1)}"
        ori = f"wmma.store.d.sync.aligned.{layout}.{_name(shape)}@0.{t} {group}"
        yield Intrinsic(name, f"void ptr {count}*{word}{t_step}", ori)


def _wmma_products(shape: Shape, layout: str, t: str) -> Iterator[Intrinsic]:
    head, where = f"wmma.{_name(shape)}.mma", f"sync.aligned.{layout}.{_name(shape)}"
    if t == "f16":
        for d in ("f16", "f32"):
            for c in ("f16", "f32"):
                for end in ("", ".satfinite"):
                    kinds = f"{d}.{c}{end}"
                    yield _product(f"{head}.{layout}.{kinds}", f"wmma.mma.{where}.{kinds}",
                                   shape, (d, t, t, c), True)
        return
    c = _accumulator(t)
    kinds = f"{c}.{t}.{t}.{c}"
    if t == "b1":
        for how in (".xor.popc", ".and.popc"):
            yield _product(f"{head}{how}.{layout}.{t}", f"wmma.mma{how}.{where}.{kinds}", shape,
                           (c, t, t, c), True)
        return
    modes = ("", ".rn", ".rz", ".rm", ".rp") if t == "f64" else ("",)
    ends = ("", ".satfinite") if c == "s32" else ("",)
    for mode in modes:
        for end in ends:
            yield _product(f"{head}.{layout}{mode}.{t}{end}",
                           f"wmma.mma.{where}{mode}.{kinds}{end}", shape, (c, t, t, c), True)


# -------------------------------------------------------------------- whole matrices


def _matrices() -> Iterator[Intrinsic]:
    for n in (1, 2, 4):
        for trans in ("", ".trans"):
            words = f"sync.aligned.m8n8.x{n}{trans}"
            yield Intrinsic(f"llvm.nvvm.ldmatrix.{words}.b16", f"{n}*i32 ptr3",
                            f"ldmatrix.{words}@0.b16 [$0]")
            yield Intrinsic(f"llvm.nvvm.stmatrix.{words}.b16", f"void ptr3 {n}*i32",
                            f"stmatrix.{words}@0.b16 [$0], {{$1+{n}}}")
    moved = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield Intrinsic(f"llvm.nvvm.{moved}", "i32 i32", f"{moved} $0:r")


def rows() -> Iterator[Intrinsic]:
    yield from _matrices()
    yield from _mma()
    yield from _wmma()
