"""Selection of control flow, calls, kernel attributes, atomics, values in pieces."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nvir.ir.errors import Unsupported
from nvir.passes.select import select_module
from tests.selection import check, ptx, read

TID = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"


def switch(cases, bits=32):
    """A kernel whose threads leave a number by their case."""
    arms = "".join(f"    i{bits} {c}, label %c{k}\n" for k, c in enumerate(cases))
    blocks = "".join(f"c{k}:\n  br label %end\n" for k in range(len(cases)))
    phi = ", ".join(f"[ {k + 100}, %c{k} ]" for k in range(len(cases)))
    return f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i{bits}, ptr addrspace(1) %in, i32 %t
  %x = load i{bits}, ptr addrspace(1) %p
  switch i{bits} %x, label %end [
{arms}  ]
{blocks}end:
  %r = phi i32 [ 7, %entry ], {phi}
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %r, ptr addrspace(1) %q
  ret void
}}"""


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize(
    "cases", [[1], [3, -2], [0, 1, 2, 4, 5], [-3, -2, 0, 1], [1, 50, 100, -100, 7, 9, -1]]
)
def test_switches(bits, cases):
    dtype = {8: np.int8, 32: np.int32, 64: np.int64}[bits]
    given = np.array([*cases, *(c + 1 for c in cases), *range(32)], dtype)[:32]
    check(switch(cases, bits), [given, np.zeros(32, np.int32)])


@pytest.mark.parametrize("cases", [[1], [0, 1, 2, 3, -4], [1 << 64, -(1 << 99), 5, 1 << 99, -1]])
def test_switches_on_several_words(cases):
    """As compares of words; what is stored says which case a number was. i70 is extended."""
    for bits in (128, 70):
        cases = sorted({c % (1 << bits) - (1 << bits) * (c >> bits - 1 & 1) for c in cases})
        given = [*cases, *(c + 1 for c in cases), *(c ^ 1 << 66 for c in cases), *range(32)][:32]
        words = [n >> 64 * k & (1 << 64) - 1 for n in given for k in range(2)]
        check(switch(cases, bits), [np.array(words, np.uint64), np.zeros(32, np.int32)])


def test_a_wide_switch_on_a_literal():
    text = switch([1 << 70, 3], 128).replace("switch i128 %x", f"switch i128 {1 << 70}")
    assert "setp" not in ptx(text)


ENDS = """
a:
  br label %end
b:
  br label %end
end:
  %r = phi i32 [ 1, %a ], [ 2, %b ]
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %r, ptr addrspace(1) %q
  ret void
}"""


@pytest.mark.parametrize(("branch", "expected"), [
    ("switch i32 %t, label %a []", lambda t: 1),
    ("switch i1 %odd, label %b [ i1 true, label %a ]", lambda t: 1 if t & 1 else 2),
    ("switch i1 %odd, label %a [ i1 false, label %b ]", lambda t: 1 if t & 1 else 2),
    ("switch i1 %odd, label %a [ i1 true, label %b\n i1 false, label %b ]", lambda t: 2),
    ("br i1 true, label %b, label %a", lambda t: 2),
    ("br i1 false, label %b, label %a", lambda t: 1),
    ("br i1 %odd, label %b, label %b", lambda t: 2),
    ("switch i32 %t, label %a [ i32 3, label %b\n i32 9, label %a ]",
     lambda t: 2 if t == 3 else 1),
])
def test_branches_that_have_one_way_or_two(branch, expected):
    from tests.selection import run

    text = f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %t to i1
  {branch}
{ENDS}"""
    ori = check(text, [np.zeros(32, np.int32)])
    (out,), _ = run(ori, [np.zeros(32, np.int32)])
    assert out.tolist() == [expected(t) for t in range(32)]


def test_dense_switches_become_tables_and_sparse_ones_do_not():
    assert "brx.idx" in ptx(switch([0, 1, 2, 3]))
    assert "brx.idx" not in ptx(switch([0, 1, 2]))
    assert "brx.idx" not in ptx(switch([0, 100, 200, 300]))


def test_phis_of_every_kind_and_swaps():
    """Loop-carried pairs that swap, predicates, addresses of variables, wide integers."""
    check(f"""@a = internal addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@b = internal addrspace(1) global [4 x i32] [i32 10, i32 20, i32 30, i32 40]
{TID}
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %t to i1
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %x = phi i32 [ %t, %entry ], [ %y, %loop ]
  %y = phi i32 [ 5, %entry ], [ %x, %loop ]
  %c = phi i1 [ %odd, %entry ], [ %d, %loop ]
  %p = phi ptr addrspace(1) [ @a, %entry ], [ @b, %loop ]
  %w = phi i128 [ 3, %entry ], [ %v, %loop ]
  %h = phi half [ 0xH3C00, %entry ], [ %g, %loop ]
  %g = fadd half %h, %h
  %v = mul i128 %w, 12345678901234567890
  %d = xor i1 %c, true
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %e = load i32, ptr addrspace(1) %p
  %hi = lshr i128 %v, 64
  %low = trunc i128 %hi to i32
  %z = zext i1 %c to i32
  %gb = bitcast half %g to i16
  %gz = zext i16 %gb to i32
  %s0 = mul i32 %x, 31
  %s1 = add i32 %s0, %y
  %s2 = add i32 %s1, %e
  %s3 = xor i32 %s2, %low
  %s4 = add i32 %s3, %z
  %s5 = add i32 %s4, %gz
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %s5, ptr addrspace(1) %o
  ret void
}}""", [np.zeros(32, np.int32), np.int32(4)])


def test_calls_pass_and_return_values_of_every_type():
    check(f"""%s = type {{ i8, i64, [2 x float] }}
{TID}
define internal %s @mix(i1 %c, i8 signext %b, i16 %h, i32 %w, i64 %l, half %f, <2 x float> %v,
                        %s %s, i128 %q) noinline {{
  %z = zext i1 %c to i64
  %e = sext i8 %b to i64
  %he = zext i16 %h to i64
  %we = sext i32 %w to i64
  %x = fpext half %f to float
  %v0 = extractelement <2 x float> %v, i32 0
  %v1 = extractelement <2 x float> %v, i32 1
  %g = fadd float %x, %v1
  %ql = trunc i128 %q to i64
  %o = extractvalue %s %s, 1
  %a = add i64 %z, %e
  %a1 = add i64 %a, %he
  %a2 = add i64 %a1, %we
  %a3 = add i64 %a2, %l
  %a4 = add i64 %a3, %ql
  %a5 = add i64 %a4, %o
  %r = insertvalue %s %s, i64 %a5, 1
  %r1 = insertvalue %s %r, float %g, 2, 0
  %r2 = insertvalue %s %r1, float %v0, 2, 1
  %r3 = insertvalue %s %r2, i8 %b, 0
  ret %s %r3
}}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = trunc i32 %t to i1
  %n = sub i32 0, %t
  %b = trunc i32 %n to i8
  %h = trunc i32 %n to i16
  %l = zext i32 %t to i64
  %q = shl i64 %l, 33
  %f = sitofp i32 %n to half
  %x = sitofp i32 %t to float
  %v = insertelement <2 x float> <float 1.5, float 2.5>, float %x, i32 1
  %s = insertvalue %s zeroinitializer, i64 %q, 1
  %w = zext i32 %t to i128
  %r = call %s @mix(i1 %c, i8 signext %b, i16 %h, i32 %n, i64 %q, half %f, <2 x float> %v, %s %s,
                    i128 %w)
  %o = getelementptr %s, ptr addrspace(1) %out, i32 %t
  store %s %r, ptr addrspace(1) %o
  ret void
}}""", [np.zeros(32 * 24, np.uint8)])


def test_memory_passed_by_value_is_a_copy():
    check(f"""%s = type {{ [4 x i32] }}
{TID}
define internal i32 @change(ptr byval(%s) align 4 %p, i32 %i) noinline {{
  %e = getelementptr %s, ptr %p, i32 0, i32 0, i32 %i
  %x = load i32, ptr %e
  store i32 -1, ptr %e
  %y = load i32, ptr %p
  %r = sub i32 %x, %y
  ret i32 %r
}}
define ptx_kernel void @k(ptr byval(%s) align 4 %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = and i32 %t, 3
  %a = alloca %s
  %v = load %s, ptr %in
  store %s %v, ptr %a
  %r = call i32 @change(ptr byval(%s) align 4 %a, i32 %i)
  %e = getelementptr %s, ptr %a, i32 0, i32 0, i32 %i
  %x = load i32, ptr %e
  %f = getelementptr %s, ptr %in, i32 0, i32 0, i32 %i
  %y = load i32, ptr %f
  %z = add i32 %x, %y
  %w = mul i32 %z, %r
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %w, ptr addrspace(1) %o
  ret void
}}""", [np.array([3, 5, 7, 9], np.int32).tobytes(), np.zeros(32, np.int32)])


def test_calls_through_pointers():
    check(f"""@table = internal addrspace(1) constant [2 x ptr] [ptr @one, ptr @two]
{TID}
define internal i32 @one(i32 %x) {{
  %r = add i32 %x, 100
  ret i32 %r
}}
define internal i32 @two(i32 %x) {{
  %r = mul i32 %x, 3
  ret i32 %r
}}
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [2 x ptr], ptr addrspace(1) @table, i32 0, i32 %n
  %f = load ptr, ptr addrspace(1) %p
  %r = call i32 %f(i32 %t)
  %g = call i32 @one(i32 %r)
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %g, ptr addrspace(1) %o
  ret void
}}""", [np.zeros(32, np.int32), np.int32(1)])


def test_vprintf():
    text = """@fmt = private unnamed_addr addrspace(1) constant [9 x i8] c"%d %.2f\\0A\\00", align 1
declare i32 @vprintf(ptr, ptr)
define ptx_kernel void @k(i32 %x) {
  %b = alloca { i32, double }, align 8
  store i32 %x, ptr %b
  %q = getelementptr { i32, double }, ptr %b, i32 0, i32 1
  store double 2.5, ptr %q
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @fmt to ptr), ptr %b)
  ret void
}"""
    check(text, [np.int32(42)], block=1)


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "float", "double", "half"])
def test_atomics(type):
    """Every operation on one word by 32 threads leaves what the interpreter of nvvm leaves."""
    integer = type[0] == "i"
    names = "xchg add sub and or xor nand max min umax umin uinc_wrap udec_wrap" if integer else \
        "xchg fadd fsub fmax fmin"
    size = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8, "half": 2}[type]
    lines = []
    for k, name in enumerate(names.split()):
        lines.append(f"""  %p{k} = getelementptr i8, ptr addrspace(1) %p, i32 {8 * k + 8 - size}
  %r{k} = atomicrmw {name} ptr addrspace(1) %p{k}, {type} %v monotonic""")
    convert = f"trunc i32 %t to {type}" if size < 4 else f"zext i32 %t to {type}"
    if type == "i32":
        convert = "add i32 %t, 0"
    value = convert if integer else f"sitofp i32 %t to {type}"
    n = len(lines)
    check(f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v = {value}
{chr(10).join(lines)}
  ret void
}}""", [np.full(8 * n, 1 if integer else 0, np.uint8)])


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
def test_compare_and_exchange(type):
    check(f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = zext i32 %t to i64
  %v = {"trunc" if type != "i64" else "add"} i64 %w{f" to {type}" if type != "i64" else ", 0"}
  %q = getelementptr {type}, ptr addrspace(1) %p, i32 %t
  %e = mul {type} %v, 2
  %r = cmpxchg ptr addrspace(1) %q, {type} %e, {type} 77 acq_rel monotonic
  %old = extractvalue {{ {type}, i1 }} %r, 0
  %ok = extractvalue {{ {type}, i1 }} %r, 1
  %z = select i1 %ok, {type} 1, {type} %old
  %o = getelementptr {type}, ptr addrspace(1) %out, i32 %t
  store {type} %z, ptr addrspace(1) %o
  ret void
}}""", [np.arange(0, 256, dtype=np.uint8), np.zeros(256, np.uint8)])


@pytest.mark.parametrize("type", ["i8", "i16"])
@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_bits_of_a_part_are_one_operation_on_its_word(name, type):
    text = f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {type}, ptr addrspace(1) %in, i32 %t
  %n = mul i32 %t, 7919
  %v = trunc i32 %n to {type}
  %x = atomicrmw {name} ptr addrspace(1) %p, {type} %v monotonic
  %o = getelementptr {type}, ptr addrspace(1) %out, i32 %t
  store {type} %x, ptr addrspace(1) %o
  ret void
}}"""
    check(text, [np.arange(64, 128, dtype=np.uint8), np.zeros(64, np.uint8)])
    made = ptx(text)
    assert f"atom.relaxed.sys.global.{name}.b32" in made
    assert ".cas" not in made
    assert ".cas" in ptx(text.replace(f"atomicrmw {name}", "atomicrmw nand"))
    unused = ptx(text.replace(f"store {type} %x", f"store {type} %v"))
    assert f"red.relaxed.sys.global.{name}.b32" in unused


def test_orders_and_scopes():
    text = ptx("""define void @f(ptr addrspace(1) %p, i32 %x) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("device") acquire
  %b = atomicrmw add ptr addrspace(1) %p, i32 %a syncscope("block") release
  %c = atomicrmw max ptr addrspace(1) %p, i32 %b seq_cst
  %d = atomicrmw add ptr addrspace(1) %p, i32 %c monotonic
  fence syncscope("block") seq_cst
  fence acq_rel
  %l = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  store atomic i32 %l, ptr addrspace(1) %p release, align 4
  %v = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %v, ptr addrspace(1) %p
  ret void
}""")
    for expected in (
        "atom.acquire.gpu.global.add.u32", "atom.release.cta.global.add.u32", "fence.sc.sys",
        "atom.acq_rel.sys.global.max.s32", "red.relaxed.sys.global.add.u32", "fence.sc.cta",
        "fence.acq_rel.sys", "ld.acquire.gpu.global.u32", "st.release.sys.global.u32",
        "ld.volatile.global.u32", "st.volatile.global.u32",
    ):
        assert expected in text, expected


def test_ordered_loads_and_stores():
    """A load that is sequentially consistent stands behind a fence, so does a store."""
    text = ptx("""define void @f(ptr addrspace(1) %p) {
  %l = load atomic i32, ptr addrspace(1) %p syncscope("device") seq_cst, align 4
  store atomic i32 %l, ptr addrspace(1) %p syncscope("block") seq_cst, align 4
  ret void
}""")
    lines = [x.split()[0] for x in text.splitlines() if x.strip()[:2] in ("fe", "ld", "st")]
    places = [lines.index(x) for x in ("fence.sc.gpu;", "ld.acquire.gpu.global.u32",
                                       "fence.sc.cta;", "st.release.cta.global.u32")]
    assert places == sorted(places)


@pytest.mark.parametrize(("orders", "expected"), [
    ("monotonic acquire", "atom.acquire"), ("release acquire", "atom.acq_rel"),
    ("monotonic monotonic", "atom.relaxed"), ("acquire acquire", "atom.acquire"),
])
def test_a_failure_that_orders_more_than_the_success(orders, expected):
    text = ptx(f"""define i32 @f(ptr addrspace(1) %p) {{
  %r = cmpxchg ptr addrspace(1) %p, i32 1, i32 2 {orders}
  %o = extractvalue {{ i32, i1 }} %r, 0
  ret i32 %o
}}""")
    assert f"{expected}.sys.global.cas.b32" in text


@pytest.mark.parametrize(("line", "message"), [
    ('%a = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("wide") monotonic',
     'the synchronisation scope "wide"'),
    ("%a = atomicrmw add ptr addrspace(1) %p, i128 1 monotonic", "atomicrmw add of i128"),
    ("%a = atomicrmw nand ptr addrspace(1) %p, i128 1 monotonic", "atomicrmw nand of i128"),
    ("%a = cmpxchg ptr addrspace(1) %p, i128 1, i128 2 monotonic monotonic", "cmpxchg of i128"),
])
def test_atomics_that_ptx_lacks_are_named(line, message):
    module = read(f"define void @f(ptr addrspace(1) %p) {{\n  {line}\n  ret void\n}}")
    with pytest.raises(Unsupported) as error:
        select_module(module)
    assert message in str(error.value)


def test_vectors_in_pieces():
    check(f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr <4 x i32>, ptr addrspace(1) %in, i32 %t
  %v = load <4 x i32>, ptr addrspace(1) %p
  %i = and i32 %t, 3
  %x = extractelement <4 x i32> %v, i32 %i
  %w = insertelement <4 x i32> %v, i32 -1, i32 %i
  %s = shufflevector <4 x i32> %w, <4 x i32> %v, <4 x i32> <i32 3, i32 7, i32 0, i32 5>
  %c = icmp sgt <4 x i32> %s, %v
  %m = select <4 x i1> %c, <4 x i32> %s, <4 x i32> %v
  %a = add <4 x i32> %m, <i32 1, i32 2, i32 3, i32 4>
  %e = insertelement <4 x i32> %a, i32 %x, i32 2
  %b = bitcast <4 x i32> %e to <8 x i16>
  %q = bitcast <8 x i16> %b to <2 x i64>
  %h = bitcast <2 x i64> %q to i128
  %g = lshr i128 %h, 8
  %r = bitcast i128 %g to <16 x i8>
  %u = bitcast <4 x i1> %c to i4
  %n = zext i4 %u to i8
  %z = insertelement <16 x i8> %r, i8 %n, i32 15
  %o = getelementptr <16 x i8>, ptr addrspace(1) %out, i32 %t
  store <16 x i8> %z, ptr addrspace(1) %o
  ret void
}}""", [np.random.default_rng(0).integers(-99, 99, 128, np.int32), np.zeros(512, np.uint8)])


def test_undefined_values():
    check("""define ptx_kernel void @k(ptr addrspace(1) %out, i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %p = phi i32 [ undef, %entry ], [ 5, %a ]
  %f = freeze i32 poison
  %z = and i32 %f, 0
  %s = add i32 %z, 5
  store i32 %s, ptr addrspace(1) %out
  ret void
}""", [np.zeros(1, np.int32), np.bool_(True)], block=1)


def test_kernels_keep_their_directives_and_linkage():
    text = ptx("""
define ptx_kernel void @k() "nvvm.maxntid"="128,2" "nvvm.minctasm"="4" "nvvm.maxnreg"="64" {
  ret void
}
define internal void @own() noinline {
  ret void
}
define weak_odr void @w() {
  ret void
}
define void @seen() {
  call void @own()
  ret void
}
declare void @other(i32)
""")
    for expected in (".visible .entry k(", ".maxntid 128, 2", ".minnctapersm 4", ".maxnreg 64",
                     "\n.func own(", ".weak .func w(", ".visible .func seen("):
        assert expected in text, expected
    assert "other" not in text


def test_names_that_ptx_does_not_take():
    text = ptx("define void @a.b() {\n ret void\n}\n@x.y = addrspace(1) global i32 0")
    assert "a_$_b" in text
    assert "x_$_y" in text


def test_assembly_at_module_level_is_named():
    with pytest.raises(Unsupported, match="module level"):
        select_module(read('module asm "what is this"\ndefine void @f() {\n ret void\n}'))


def test_unreachable_traps():
    assert "trap;\n\texit;" in ptx("define void @f() {\n unreachable\n}")


def test_calls_of_variadic_functions_are_named():
    with pytest.raises(Unsupported, match="variadic function, printf"):
        select_module(read("""declare i32 @printf(ptr, ...)
define void @f(ptr %p) {
  %r = call i32 (ptr, ...) @printf(ptr %p, i32 1)
  ret void
}"""))


@pytest.mark.parametrize(("place", "number", "printed"), [
    ("$2", 5, "5"), ("${2:n}", 5, "-5"), ("${2:n}", -5, "5"), ("${2:c}", -5, "-5")])
def test_a_literal_of_assembly_may_be_negated(place, number, printed):
    text = ptx(f"""define i32 @f(i32 %x) {{
  %r = call i32 asm "add.s32 $0, $1, {place};", "=r,r,n"(i32 %x, i32 {number})
  ret i32 %r
}}""")
    assert re.search(rf"add\.s32 \t%asm0, %r\d, {printed};", text)
