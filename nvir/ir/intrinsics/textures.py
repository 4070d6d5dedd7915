"""Intrinsics of textures and surfaces, in the mode where a handle is one number.

    llvm.nvvm.tex.unified.2d.v4f32.f32, llvm.nvvm.suld.2d.v4i32.trap, …

PTX wants the coordinates of three dimensions in a vector of four; the last one stands twice.

Source: PTX ISA, "Texture Instructions", "Surface Instructions"; IntrinsicsNVVM.td for the names.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic

_RANK = {"1d": 1, "2d": 2, "3d": 3, "cube": 3}
_WORDS = {"f32": "float", "s32": "i32", "u32": "i32"}


def _vector(first: int, count: int) -> str:
    """`count` operands from `first` on, in braces; three are filled up to four."""
    names = [f"${first + k}" for k in range(count)]
    return "{" + ", ".join([*names, names[-1]] if count == 3 else names) + "}"


def _geometry(shape: str, layered: bool) -> tuple[str, str, int]:
    """(LLVM's words, PTX's word, how many coordinates)."""
    if layered:
        return f"{shape}.array", f"a{shape}", _RANK[shape] + 1
    return shape, shape, _RANK[shape]


def _fetches() -> Iterator[Intrinsic]:
    for shape in _RANK:
        for layered in (False, True) if shape != "3d" else (False,):
            words, ptx, n = _geometry(shape, layered)
            for t, word in _WORDS.items():
                for at in ("f32", "s32") if shape != "cube" else ("f32",):
                    where = ("i32 " if layered else "") + " ".join(
                        [_WORDS[at]] * (n - layered)
                    )
                    yield Intrinsic(f"llvm.nvvm.tex.unified.{words}.v4{t}.{at}",
                                    f"4*{word} i64 {where}",
                                    f"tex.{ptx}.v4.{t}.{at} [$0, {_vector(1, n)}]")
                    if at == "f32":
                        yield from _of_levels(words, ptx, n, _RANK[shape], t, where)


def _of_levels(
    words: str, ptx: str, n: int, rank: int, t: str, where: str
) -> Iterator[Intrinsic]:
    """The same where the level of detail is given, or follows from derivatives."""
    types, at = f"4*{_WORDS[t]} i64 {where}", f"[$0, {_vector(1, n)}]"
    yield Intrinsic(f"llvm.nvvm.tex.unified.{words}.level.v4{t}.f32", f"{types} float",
                    f"tex.level.{ptx}.v4.{t}.f32 {at}, ${n + 1}:r")
    first, second = (_vector(n + 1 + k * rank, rank) for k in (0, 1))
    yield Intrinsic(f"llvm.nvvm.tex.unified.{words}.grad.v4{t}.f32",
                    f"{types} {' '.join(['float'] * (2 * rank))}",
                    f"tex.grad.{ptx}.v4.{t}.f32 {at}, {first}, {second}")


def _gathers() -> Iterator[Intrinsic]:
    for channel in "rgba":
        for t, word in _WORDS.items():
            yield Intrinsic(f"llvm.nvvm.tld4.unified.{channel}.2d.v4{t}.f32",
                            f"4*{word} i64 float float",
                            f"tld4.{channel}.2d.v4.{t}.f32 [$0, {{$1, $2}}]")


def _surfaces() -> Iterator[Intrinsic]:
    for shape in ("1d", "2d", "3d"):
        for layered in (False, True) if shape != "3d" else (False,):
            words, ptx, n = _geometry(shape, layered)
            for count, vector in ((1, ""), (2, "v2"), (4, "v4")):
                for bits in (8, 16, 32, 64) if count < 4 else (8, 16, 32):
                    kind = f"{vector}i{bits}"
                    spelling = f"{ptx}{vector and '.' + vector}.b{bits}"
                    yield from _elements(words, spelling, n, count, bits, kind)


def _elements(
    words: str, spelling: str, n: int, count: int, bits: int, kind: str
) -> Iterator[Intrinsic]:
    """Loads and stores of `count` elements; those of 8 bits are held in 16."""
    value, where = f"{count}*i{max(bits, 16)}", " ".join(["i32"] * n)
    group = f"${n + 1}:r" if count == 1 else f"{{${n + 1}+{count}}}"
    for outside in ("clamp", "trap", "zero"):
        at = f"[$0, {_vector(1, n)}]"
        yield Intrinsic(f"llvm.nvvm.suld.{words}.{kind}.{outside}", f"{value} i64 {where}",
                        f"suld.b.{spelling}.{outside} {at}")
        yield Intrinsic(f"llvm.nvvm.sust.b.{words}.{kind}.{outside}",
                        f"void i64 {where} {value}",
                        f"sust.b.{spelling}.{outside} {at}, {group}")
    if bits == 32:  # the only width that PTX converts from
        yield Intrinsic(f"llvm.nvvm.sust.p.{words}.{kind}.trap", f"void i64 {where} {value}",
                        f"sust.p.{spelling}.trap [$0, {_vector(1, n)}], {group}")


def _queries() -> Iterator[Intrinsic]:
    both = ("width", "height", "depth", "channel.order", "channel.data.type", "array.size")
    for what, properties in (
        ("txq", (*both, "num.samples", "num.mipmap.levels")), ("suq", both),
    ):
        for name in properties:
            yield Intrinsic(f"llvm.nvvm.{what}.{name}", "i32 i64",
                            f"{what}.{name.replace('.', '_')}.b32 [$0:r]")
    for kind in ("texture", "surface", "sampler"):
        ref = {"texture": "texref", "surface": "surfref", "sampler": "samplerref"}[kind]
        yield Intrinsic(f"llvm.nvvm.istypep.{kind}", "i1 i64", f"istypep.{ref} $0:r")


def rows() -> Iterator[Intrinsic]:
    for family in (_fetches, _gathers, _surfaces, _queries):
        yield from family()
