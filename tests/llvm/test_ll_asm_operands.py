"""Operands of inline assembly and narrow atomics in the forms that libnvvm takes."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.passes.driver import run_passes
from nvir.passes.presets import preset
from nvir.toolchain import available, libnvvm


def legal(text: str, dialect: str) -> str:
    module = nvir.read_ll(text)
    run_passes(module, f"legalize<dialect={dialect};stand-ins=false>", verify=True)
    return nvir.print_ll(module, dialect)


ASM = """define i32 @f(ptr addrspace(1) %p, i1 %c, <2 x half> %v, half %h) {
  %r = call { i32, i1 } asm "@$2 ld.b32 $0, [$3]; mov.pred $1, $2; // $4 $5", "=r,=b,b,l,r,h"
    (i1 %c, ptr addrspace(1) %p, <2 x half> %v, half %h)
  %a = extractvalue { i32, i1 } %r, 0
  ret i32 %a
}
define void @g(ptr addrspace(1) %p) {
  call void asm sideeffect "st.b32 [$0], 1;", "l"(ptr addrspace(1) %p)
  ret void
}
"""


def test_a_pointer_that_is_a_number_is_not_nonnull():
    """libnvvm ended its process where an integer had an attribute of pointers."""
    text = legal("""define void @f(ptr addrspace(3) %p, ptr %q) {
  call void asm sideeffect "st.shared.b32 [$0], 1;", "r"(ptr addrspace(3) nonnull %p)
  call void @g(ptr nonnull %q)
  ret void
}
declare void @g(ptr)""", "llvm7")
    assert "(i32 %0)" in text
    assert "(i8* nonnull %q)" in text


def test_llvm_7_gets_integers():
    text = legal(ASM, "llvm7")
    assert "setp.ne.u32 nvir_p2, $2, 0;" in text
    assert "selp.u32 $1, 1, 0, nvir_p1;" in text
    assert '"=r,=r,r,l,r,h"(i32 ' in text
    assert "ptrtoint" in text


def test_llvm_20_keeps_pointers_and_predicates():
    text = legal(ASM, "llvm20")
    assert '"=r,=b,b,l,r,h"(i1 %c, ptr addrspace(1) %p, i32 ' in text
    plain = 'define i32 @f(i32 %x) {\n  %y = call i32 asm "mov.b32 $0, $1;", "=r,r"(i32 %x)\n' \
            "  ret i32 %y\n}\n"
    assert "bitcast" not in legal(plain, "llvm7")


@pytest.mark.parametrize(("code", "wrong"), [
    ("0", ""), ("%0", ""), ("0|n", ""), ("1", "1"), ("%43", "43"), ("5|n", "5"),
    ("\N{SUPERSCRIPT TWO}", "\N{SUPERSCRIPT TWO}"), ("9" * 5000, "9" * 60)])
def test_a_tied_operand_names_an_output(code, wrong):
    text = ('define i32 @f(i32 %x) {\n'
            f'  %y = call i32 asm "add.s32 $0, $0, 1;", "=r,{code}"(i32 %x)\n  ret i32 %y\n}}\n')
    if wrong:
        with pytest.raises(nvir.NvirError, match=f"there is no output {wrong} of the assembly"):
            nvir.read_ll(text)
    else:
        run_passes(nvir.read_ll(text), preset(1), verify=True)


@pytest.mark.skipif(not available("libnvvm"), reason="libnvvm is not installed")
@pytest.mark.parametrize(("dialect", "arch"), [("llvm7", "sm_80"), ("llvm20", "sm_100")])
def test_libnvvm_takes_both(dialect, arch):
    assert libnvvm.verify(legal(ASM, dialect), arch).ok
    assert libnvvm.verify(legal(NARROW, dialect), arch).ok


NARROW = """define ptx_kernel void @k(ptr %p, ptr %out) {
  %q = getelementptr i8, ptr %p, i64 2
  %a = atomicrmw add ptr %q, i8 200 monotonic
  %b = atomicrmw umax ptr %p, i16 9 monotonic
  %r = getelementptr i8, ptr %p, i64 5
  %c = cmpxchg ptr %r, i8 6, i8 77 monotonic monotonic
  %d = cmpxchg ptr %r, i8 6, i8 78 monotonic monotonic
  %ca = extractvalue { i8, i1 } %c, 0
  %cb = extractvalue { i8, i1 } %c, 1
  %db = extractvalue { i8, i1 } %d, 1
  %o1 = getelementptr i8, ptr %out, i64 1
  %o2 = getelementptr i8, ptr %out, i64 2
  %o3 = getelementptr i8, ptr %out, i64 3
  %o4 = getelementptr i8, ptr %out, i64 4
  store i8 %a, ptr %out
  store i16 %b, ptr %o4
  store i8 %ca, ptr %o1
  %cz = zext i1 %cb to i8
  %dz = zext i1 %db to i8
  store i8 %cz, ptr %o2
  store i8 %dz, ptr %o3
  ret void
}
"""


@pytest.mark.parametrize("dialect", ["llvm7", "llvm20"])
def test_narrow_atomics_leave_their_neighbours_alone(dialect):
    data = np.array([3, 0, 100, 4, 5, 6, 7, 8], dtype=np.uint8)
    out = np.zeros(8, dtype=np.uint8)
    module = nvir.read_ll(legal(NARROW, dialect))
    run_passes(module, preset(1))
    nvir.launch(module, "k", 1, 1, [data, out])
    assert data.tolist() == [9, 0, 44, 4, 5, 77, 7, 8]
    assert out.tolist()[:6] == [100, 6, 1, 0, 3, 0]


@pytest.mark.parametrize(("call", "name"), [
    ("call { i32, i1 } @llvm.nvvm.shfl.sync.i32(i32 -1, i32 2, i32 %x, i32 1, i32 31)",
     "shfl.sync.down.b32"),
    ("call { i32, i1 } @llvm.nvvm.vote.sync(i32 -1, i32 3, i1 true)", "vote.sync.ballot.b32"),
])
def test_older_warp_intrinsics_are_read_as_the_newer(call, name):
    params = "i32, i32, i32, i32, i32" if "shfl" in call else "i32, i32, i1"
    callee = call.split("@")[1].split("(")[0]
    m = nvir.read_ll(f"declare {{ i32, i1 }} @{callee}({params})\n"
                     f"define i32 @f(i32 %x) {{\n  %r = {call}\n"
                     "  %v = extractvalue { i32, i1 } %r, 0\n  ret i32 %v\n}\n")
    run_passes(m, preset(1), verify=True)
    assert name in nvir.print_ptx(m)


def test_tied_operands_of_operations_under_way_are_not_copied() -> None:
    """The second product adds to what the first still writes: no copy may read it before the
    wait."""
    outputs = "=f,=f,=f,=f,0,1,2,3,l,l"
    product = ('asm sideeffect "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0,$1,$2,$3}, '
               f'$8, $9, 1, 1, 1, 0, 0;", "{outputs}"')
    four = "{float, float, float, float}"
    lines = []
    for k, of in enumerate(("float %f", None)):
        given = [of] * 4 if of else [f"float %a0.{j}" for j in range(4)]
        lines.append(f"%r{k} = call {four} {product}({', '.join(given)}, i64 %d, i64 %d)")
        lines += [f"%a{k}.{j} = extractvalue {four} %r{k}, {j}" for j in range(4)]
    body = "\n  ".join(lines)
    module = nvir.read_ll(f"""define ptx_kernel void @k(ptr %p, float %f, i64 %d) {{
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  {body}
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  store float %a1.2, ptr %p
  ret void
}}
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
""")
    module.target = "sm_90a"
    nvir.run_passes(module, preset(3), verify=True)
    between = nvir.print_ptx(module).split("wgmma.mma_async")[1]
    assert "mov" not in between


VECTORS = """define ptx_kernel void @k(ptr %i, ptr %o) {
  %h = load <2 x i16>, ptr %i
  %b = load <4 x i8>, ptr %i
  %c = call i32 asm "xor.b32 $0, $1, $2;", "=r,r,r"(<2 x i16> %h, <4 x i8> <i8 1, i8 2, i8 3, i8 4>)
  %d = call { <2 x i16>, i32, <4 x i8> } asm "not.b32 $0, $3; mov.b32 $1, $4; mov.b32 $2, $3;",
    "=r,=r,=r,r,2"(<4 x i8> %b, <4 x i8> %b)
  %e = call <2 x half> asm "mov.b32 $0, $1;", "=r|=r,r|n"(i32 7)
  %d0 = extractvalue { <2 x i16>, i32, <4 x i8> } %d, 0
  %d2 = extractvalue { <2 x i16>, i32, <4 x i8> } %d, 2
  store i32 %c, ptr %o
  %p1 = getelementptr i32, ptr %o, i32 1
  store <2 x i16> %d0, ptr %p1
  %p2 = getelementptr i32, ptr %o, i32 2
  store <4 x i8> %d2, ptr %p2
  %p3 = getelementptr i32, ptr %o, i32 3
  store <2 x half> %e, ptr %p3
  ret void
}
"""


@pytest.mark.parametrize("level", [0, 3])
def test_a_vector_is_in_one_register(level):
    module = nvir.read_ll(VECTORS)
    run_passes(module, preset(level), verify=True)
    out = np.zeros(4, np.uint32)
    nvir.launch(module, "k", 1, 1, [np.array([0x12345678], np.uint32), out])
    assert [*map(hex, out)] == [hex(0x12345678 ^ 0x04030201),
                                hex(0xEDCBA987), "0x12345678", "0x7"]


@pytest.mark.parametrize("call", [
    'call i32 asm "mov.b32 $0, $1;", "=r,r"(<4 x i16> zeroinitializer)',
    'call <3 x i8> asm "mov.b32 $0, $1;", "=r,r"(i32 1)',
])
def test_a_vector_that_fits_no_register_is_refused(call):
    t = call.split(" asm")[0].removeprefix("call ")
    module = nvir.read_ll(f"define {t} @f() {{\n  %r = {call}\n  ret {t} %r\n}}\n")
    with pytest.raises(nvir.Unsupported, match="inline assembly"):
        run_passes(module, preset(1))
