"""Selection of intrinsics and inline assembly (tests/test_intrinsics.py has the whole table)."""

from __future__ import annotations

import numpy as np
import pytest

from nvir.ir.errors import Unsupported
from nvir.passes.select import select_module
from tests.selection import assembles, check, ptx, read

TID = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"


def test_what_lanes_exchange():
    check(f"""{TID}
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare {{ float, i1 }} @llvm.nvvm.shfl.sync.down.f32p(i32, float, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.redux.sync.umax(i32, i32)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 5, i32 31)
  %f = sitofp i32 %a to float
  %s = call {{ float, i1 }} @llvm.nvvm.shfl.sync.down.f32p(i32 -1, float %f, i32 3, i32 31)
  %v = extractvalue {{ float, i1 }} %s, 0
  %p = extractvalue {{ float, i1 }} %s, 1
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %p)
  %y = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %p)
  %z = zext i1 %y to i32
  %m = call i32 @llvm.nvvm.redux.sync.umax(i32 %a, i32 -1)
  %l = and i32 %t, 3
  %n = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %l)
  %i = fptosi float %v to i32
  %x1 = xor i32 %b, %n
  %x2 = add i32 %x1, %i
  %x3 = add i32 %x2, %m
  %x4 = add i32 %x3, %z
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %x4, ptr addrspace(1) %o
  ret void
}}""", [np.zeros(32, np.int32)])


@pytest.mark.oracle
def test_matrix_fragments_assemble():
    """wmma and mma of several shapes and types, the halves of fragments packed by twos."""
    h8 = "{ " + ", ".join(["<2 x half>"] * 8) + " }"
    f8 = "{ " + ", ".join(["float"] * 8) + " }"

    def pieces(name, t, kind, n):
        return "".join(f"  %{name}{k} = extractvalue {t} %{name}, {k}\n" for k in range(n))

    def typed(name, kind, n):
        return ", ".join(f"{kind} %{name}{k}" for k in range(n))

    halves = ", ".join(["<2 x half>"] * 16)
    text = ptx(f"""
declare {h8} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p3(ptr addrspace(3), i32)
declare {h8} @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p3(ptr addrspace(3), i32)
declare {f8} @llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32({halves}, {", ".join(["float"] * 8)})
declare void @llvm.nvvm.wmma.m16n16k16.store.d.row.stride.f32.p1(ptr addrspace(1),
  {", ".join(["float"] * 8)}, i32)
declare {{ float, float, float, float }} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(
  {", ".join(["<2 x half>"] * 6)}, float, float, float, float)
declare {{ i32, i32, i32, i32 }} @llvm.nvvm.mma.m16n8k32.row.col.satfinite.s8(i32, i32, i32, i32,
  i32, i32, i32, i32, i32, i32)
define void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 %x) {{
  %a = call {h8} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p3(ptr addrspace(3) %s, i32 16)
  %b = call {h8} @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p3(ptr addrspace(3) %s, i32 16)
{pieces("a", h8, "<2 x half>", 8)}{pieces("b", h8, "<2 x half>", 8)}
  %d = call {f8} @llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32({typed("a", "<2 x half>", 8)},
    {typed("b", "<2 x half>", 8)}, {", ".join(["float 0.0"] * 8)})
{pieces("d", f8, "float", 8)}
  %m = call {{ float, float, float, float }} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(
    {typed("a", "<2 x half>", 4)}, {typed("b", "<2 x half>", 2)}, {typed("d", "float", 4)})
  %m0 = extractvalue {{ float, float, float, float }} %m, 0
  %i = call {{ i32, i32, i32, i32 }} @llvm.nvvm.mma.m16n8k32.row.col.satfinite.s8(i32 %x, i32 %x,
    i32 %x, i32 %x, i32 %x, i32 %x, i32 0, i32 0, i32 0, i32 0)
  %i0 = extractvalue {{ i32, i32, i32, i32 }} %i, 0
  store i32 %i0, ptr addrspace(1) %g
  call void @llvm.nvvm.wmma.m16n16k16.store.d.row.stride.f32.p1(ptr addrspace(1) %g, float %m0,
    float %d1, float %d2, float %d3, float %d4, float %d5, float %d6, float %d7, i32 16)
  ret void
}}""")
    for expected in ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16",
                     "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
                     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                     "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32",
                     "wmma.store.d.sync.aligned.row.m16n16k16.global.f32"):
        assert expected in text


@pytest.mark.oracle
def test_textures_and_surfaces_assemble():
    ptx("""
declare { float, float, float, float } @llvm.nvvm.tex.unified.2d.v4f32.f32(i64, float, float)
declare { i32, i32, i32, i32 } @llvm.nvvm.tex.unified.3d.v4s32.s32(i64, i32, i32, i32)
declare { float, float, float, float } @llvm.nvvm.tex.unified.2d.array.level.v4f32.f32(i64, i32,
  float, float, float)
declare { i32, i32 } @llvm.nvvm.suld.2d.v2i32.trap(i64, i32, i32)
declare void @llvm.nvvm.sust.b.1d.i32.clamp(i64, i32, i32)
declare i32 @llvm.nvvm.txq.width(i64)
define float @f(i64 %t, float %x, i32 %i) {
  %a = call { float, float, float, float } @llvm.nvvm.tex.unified.2d.v4f32.f32(i64 %t, float %x,
    float 1.0)
  %b = call { i32, i32, i32, i32 } @llvm.nvvm.tex.unified.3d.v4s32.s32(i64 %t, i32 %i, i32 1, i32 2)
  %c = call { float, float, float, float } @llvm.nvvm.tex.unified.2d.array.level.v4f32.f32(i64 %t,
    i32 %i, float %x, float %x, float 2.0)
  %s = call { i32, i32 } @llvm.nvvm.suld.2d.v2i32.trap(i64 %t, i32 %i, i32 %i)
  %s1 = extractvalue { i32, i32 } %s, 1
  call void @llvm.nvvm.sust.b.1d.i32.clamp(i64 %t, i32 %i, i32 %s1)
  %w = call i32 @llvm.nvvm.txq.width(i64 %t)
  %a2 = extractvalue { float, float, float, float } %a, 2
  %c1 = extractvalue { float, float, float, float } %c, 1
  %b3 = extractvalue { i32, i32, i32, i32 } %b, 3
  %i1 = add i32 %b3, %w
  %fi = sitofp i32 %i1 to float
  %r = fadd float %a2, %c1
  %r1 = fadd float %r, %fi
  ret float %r1
}""")


def test_an_unknown_intrinsic_is_named():
    with pytest.raises(Unsupported, match=r"llvm\.nvvm\.no\.such"):
        select_module(read("""declare void @llvm.nvvm.no.such()
define void @f() {
  call void @llvm.nvvm.no.such()
  ret void
}"""))


# ------------------------------------------------------------ inline assembly


def asm(template, constraints, operands="i32 %t, i32 %n", result="i32"):
    return f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %r = call {result} asm sideeffect "{template}", "{constraints}"({operands})
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %r, ptr addrspace(1) %o
  ret void
}}"""


@pytest.mark.parametrize(
    ("template", "constraints", "operands", "expected"),
    [
        ("add.s32 $0, $1, $2;", "=r,r,r", "i32 %t, i32 %n", lambda t: t + 9),
        ("mad.lo.s32 $0, $1, $2, $3;", "=r,r,r,0", "i32 %t, i32 %n, i32 5", lambda t: t * 9 + 5),
        ("{ .reg .b32 x; shl.b32 x, $1, 2; sub.s32 $0, x, $2; }", "=r,r,r", "i32 %t, i32 %n",
         lambda t: 4 * t - 9),
        ("add.s32 $0, $1, $2;", "=r,r,n", "i32 %t, i32 77", lambda t: t + 77),
        ("add.s32 $0, $1, $2;", "=r,r,rn", "i32 %t, i32 77", lambda t: t + 77),
        ("add.s32 $0, $1, $2;", "=r|=r,0|r,n|r", "i32 %t, i32 77", lambda t: t + 77),
        ("add.s32 $0, $1, $2;", "=r|=r,0|r,n|r", "i32 %t, i32 %n", lambda t: t + 9),
        ("{ .reg .pred p; setp.lt.s32 p, $1, $2; @p mov.b32 $0, 1; @!p mov.b32 $0, 2; }", "=r,r,r",
         "i32 %t, i32 %n", lambda t: np.where(t < 9, 1, 2)),
        ("{ .reg .pred p; mov.b32 $0, $1; loop: add.s32 $0, $0, 1; setp.lt.s32 p, $0, $2; "
         "@p bra loop; }", "=r,r,r", "i32 %t, i32 %n", lambda t: np.maximum(t + 1, 9)),
    ],
)
def test_inline_assembly(template, constraints, operands, expected):
    """The statements become ori instructions; what they compute is what PTX says."""
    import nvir

    module = select_module(read(asm(template, constraints, operands)))
    nvir.verify(module)
    assembles(module)
    out = np.zeros(32, np.int32)
    nvir.launch(module, "k", 1, 32, [out, np.int32(9)])
    assert (out == expected(np.arange(32))).all()


def test_inline_assembly_of_two_results():
    import nvir

    text = asm("add.s32 $0, $2, 1; mul.lo.s32 $1, $2, 2;", "=r,=r,r", "i32 %t", "{ i32, i32 }")
    text = text.replace("  %o =", "  %a = extractvalue { i32, i32 } %r, 0\n  %b = extractvalue "
                        "{ i32, i32 } %r, 1\n  %s = add i32 %a, %b\n  %o =")
    module = select_module(read(text.replace("store i32 %r", "store i32 %s")))
    assembles(module)
    out = np.zeros(32, np.int32)
    nvir.launch(module, "k", 1, 32, [out, np.int32(9)])
    assert (out == 3 * np.arange(32) + 1).all()


@pytest.mark.parametrize(
    ("template", "constraints", "problem"),
    [("add.s32 $0, $1, $2;", "=r,r,m", '"m"'), ("add.s32 $0, $1, $2;", "=r,r|r,n|m", r"n\|m"),
      ("add.s32 $0, $1, nothing;", "=r,r,r", "nothing")],
)
def test_what_inline_assembly_cannot_is_named(template, constraints, problem):
    with pytest.raises(Unsupported, match=problem):
        select_module(read(asm(template, constraints)))


WIDE = """
define ptx_kernel void @k(ptr addrspace(1) %p, i128 %x) {
  %r = call { i128, i32 } asm "mov.b32 $1, 7; { .reg .b64 a, b, c, d; mov.b128 {a, b}, $2; \
mov.b128 {c, d}, $0; add.s64 a, a, d; mov.b128 $0, {b, a}; }", "=q,=r,q,0"(i128 %x, i128 %c)
  %a = extractvalue { i128, i32 } %r, 0
  %b = extractvalue { i128, i32 } %r, 1
  store i128 %a, ptr addrspace(1) %p
  %q = getelementptr i128, ptr addrspace(1) %p, i32 1
  store i32 %b, ptr addrspace(1) %q
  ret void
}""".replace("%c)", f"{5 << 64})")


def test_operands_of_128_bits_are_joined_and_taken_apart():
    import nvir

    module = select_module(read(WIDE, "sm_90"))
    nvir.verify(module)
    assert module.version == (8, 3)  # and no more than it takes
    assembles(module)
    out = np.zeros(4, np.uint64)
    nvir.launch(module, "k", 1, 1, [out, (11 << 64 | 30).to_bytes(16, "little")])
    assert out.tolist() == [11, 35, 7, 0]


def test_operands_of_128_bits_need_an_i128_and_sm_70():
    with pytest.raises(Unsupported, match="before sm_70"):
        select_module(read(WIDE, "sm_60"))
    wrong = asm("mov.b128 $0, $1;", "=r,q", "<2 x i64> zeroinitializer")
    with pytest.raises(Unsupported, match='"q" that is no i128'):
        select_module(read(wrong))
