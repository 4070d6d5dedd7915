"""Selection of intrinsics and inline assembly: every row of the table assembles."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nvir.ir import Module
from nvir.ir.errors import Unsupported
from nvir.ir.nvvm import Builder, const, declare, function
from nvir.ir.opcodes.form import form
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I16,
    I32,
    I64,
    SCALARS,
    VOID,
    pointer,
    struct,
    vector,
)
from nvir.passes.select import select_module
from nvir.passes.select.intrinsic_table import table
from tests.selection import assembles, check, ptx, read

# Targets that a row needs, by what its name holds; the others are tried at sm_80.
NEEDS = {
    "cluster": "sm_90", "mapa": "sm_90", "getctarank": "sm_90", "griddepcontrol": "sm_90",
    "stmatrix": "sm_90", "elect": "sm_90", "movmatrix": "sm_80", "setmaxnreg": "sm_90a",
    "bulk": "sm_90", "redux.sync.f": "sm_100a", "reserved": "sm_90", "current.graph": "sm_80",
    "current_graph": "sm_80", "explicit": "sm_90", "aggr": "sm_90",
}
KINDS = {"f32": FLOAT, "f64": DOUBLE, "f16": HALF, "b16": I16, "pred": I1}


def target_of(name):
    return next((t for word, t in NEEDS.items() if word in name), "sm_80")


def type_of(scalar, bits=0):
    if scalar.name in KINDS:
        return KINDS[scalar.name]
    return {16: I16, 32: I32, 64: I64}.get(max(scalar.bits, 16), I32)


def signature(name, row):
    """Result and operand types of a row, from the types that its spelling names."""
    spelling, _, text = row.partition(" ")
    if spelling == "mov" and text.startswith("%"):
        from nvir.ir.special import special_register

        t = special_register(text).type
        return (None, []) if t.bits in (128, 1) else (I64 if t.bits == 64 else I32, [])
    if spelling == "cast":
        space = {"global": 1, "shared": 3, "constant": 4, "local": 5, "param": 101}[text]
        own, generic = pointer(space), pointer()
        if space == 101:
            return None, []
        return (generic, [own]) if ".to.gen" in name else (own, [generic])
    if spelling.startswith("="):
        return (I32, []) if spelling == "=32" else (I32, [I32])
    pair = spelling.endswith("|p")
    spelling = spelling.removesuffix("|p").replace("@0", ".shared")
    tokens = [t.strip() for t in re.split(r",(?![^{]*\})", text) if t.strip()]
    f = form(spelling)
    types = [SCALARS[m] for m in f.mods if m in SCALARS]
    operands: dict[int, object] = {}
    for t in tokens:
        m = re.match(r"\[\$(\d)(?:\.(\d+))?\]$", t)
        if m:
            space = int(m[2]) if m[2] else 3
            operands[int(m[1])] = pointer(space)
        elif m := re.match(r"\{\$(\d)\+(\d)\}", t):
            for k in range(int(m[1]), int(m[1]) + int(m[2])):
                operands[k] = I32
        elif m := re.match(r"\$(\d)", t):
            operands[int(m[1])] = source_type(f, types, int(m[1]))
            if f.name == "vote.sync" and t == tokens[0]:
                operands[int(m[1])] = I1
    result = result_type(f, name, types, pair)
    return result, [operands[k] for k in sorted(operands)]


def source_type(f, types, k):
    name = f.name
    if name == "isspacep":
        return pointer()
    if name in ("movmatrix", "vote.sync"):
        return I32
    if name in ("shfl.sync", "redux.sync"):
        return type_of(types[-1]) if types[-1].is_float and k == 0 else I32
    if name.startswith("match"):
        return type_of(types[-1]) if k == 1 else I32
    if name == "mbarrier.pending_count" or (name == "mbarrier.test_wait" and k == 1):
        return I64
    if name in ("mapa", "getctarank"):
        return (pointer(3) if "shared::cluster" in f.spelling else pointer()) if k == 0 else I32
    if not types or name.startswith("mbarrier"):
        return I32
    return type_of(types[-1])


def result_type(f, name, types, pair):
    if not any(o.role == "def" for o in f.op.operands) or ("noComplete" in name and "init" in name):
        return VOID
    if f.name.startswith("mbarrier.arrive"):
        return I64
    if f.name == "ldmatrix":
        n = int(re.search(r"\.x(\d)", f.spelling)[1])
        return I32 if n == 1 else struct([I32] * n)
    if pair:
        value = I32
        return struct([value, I1])
    if f.name in ("mapa", "getctarank"):
        if f.name == "getctarank":
            return I32
        return pointer(3) if "shared::cluster" in f.spelling else pointer()
    if "x2.f32" in f.spelling and f.name == "cvt":
        return vector(HALF, 2)
    if f.name == "cvt":
        return {"f16": I16, "bf16": I16, "tf32": I32}.get(types[0].name) or type_of(types[0])
    t = f.rule_type(f.op.result)
    return I1 if t.name == "pred" else type_of(t)


def immediate(name, k):
    """Whether operand k must be a literal."""
    return "wait.group" in name or "setmaxnreg" in name or "pm.event" in name


def module_of(names, target):
    """One device function for each row."""
    module = Module(target, level="nvvm", version=(8, 6))
    rows = table()
    for n, name in enumerate(names):
        result, operands = signature(name, rows[name])
        if result is None:
            continue
        f = function(module, f"f{n}", result, [(f"a{k}", t) for k, t in enumerate(operands)])
        b = Builder(f.block("entry"))
        args = [const(t, 8 if "setmaxnreg" not in name else 32) if immediate(name, k) else v
                for k, (t, v) in enumerate(zip(operands, f.params, strict=True))]
        made = b.call(declare(module, name, result, operands), args)
        if result is VOID:
            b.ret_void()
        else:
            b.ret(made)
    return module


# `barrier.cluster.*.aligned` and the like come in pairs; these forms take operands that the types
# of a spelling do not show, and have tests of their own.
APART = re.compile(r"dp[24]a|mov\.|lohi|fns|prefetchu|discard|isspacep\.(const|param)")


@pytest.mark.oracle
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_90a", "sm_100a"])
def test_every_row_assembles(target):
    names = [n for n, row in table().items() if target_of(n) == target and not APART.search(row)]
    assert len(names) > (200 if target == "sm_80" else 1)
    assembles(select_module(module_of(names, target)))


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
    [("add.s32 $0, $1, $2;", "=r,r,m", '"m"'), ("add.s32 $0, $1, nothing;", "=r,r,r", "nothing")],
)
def test_what_inline_assembly_cannot_is_named(template, constraints, problem):
    with pytest.raises(Unsupported, match=problem):
        select_module(read(asm(template, constraints)))
