"""The passes `select` and `vectorize-memory` in pipelines."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.errors import Unsupported
from nvir.passes.select import LOWER, select_module
from tests.selection import check, read

TEXT = """define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %a = alloca [8 x i32], align 4
  %i = and i32 %n, 7
  %e = getelementptr [8 x i32], ptr %a, i32 0, i32 %i
  store i32 %n, ptr %e
  %x = load i32, ptr %e
  store i32 %x, ptr addrspace(1) %p
  ret void
}"""


def test_the_pass_changes_the_level_in_place_and_tells():
    module = read(TEXT)
    f = module["k"]
    remarks = nvir.run_passes(module, LOWER, verify=True)
    assert module.level == "ori"
    assert module["k"] is not f
    assert module["k"].module is module
    told = {r.code.name: r.args for r in remarks}
    assert told["LocalMemory"] == {"bytes": 32, "allocas": 1}
    assert told["Selected"]["instructions"] == 7


def test_passes_after_it_work_on_the_new_level():
    module = read(TEXT)
    with pytest.raises(Unsupported, match="'select' on level ori"):
        nvir.run_passes(module, "select,select")
    with pytest.raises(Unsupported, match="level ori"):
        nvir.run_passes(module, "select,vectorize-memory")
    assert module.level == "nvvm"  # refused before anything ran


def test_what_cannot_be_selected_leaves_the_module():
    module = read("define i2000000 @f(i2000000 %x) {\n ret i2000000 %x\n}")
    before = str(module)
    with pytest.raises(Unsupported, match="type i2000000"):
        nvir.run_passes(module, "select")
    assert (module.level, str(module)) == ("nvvm", before)


def test_a_module_of_ori_is_refused():
    with pytest.raises(Unsupported, match="level 'ori'"):
        select_module(nvir.Module())


def test_options_reach_the_pass():
    module = read("""define float @f(float %x, float %y, float %z) {
      %p = fmul float %x, %y
      %s = fadd float %p, %z
      ret float %s
    }""")
    nvir.run_passes(module, "select<fp-contract=fast;ftz=true>")
    assert "fma.rn.ftz.f32" in nvir.print_ptx(module)


# ------------------------------------------------------------ vectorize-memory


def forms(body, pipeline="vectorize-memory"):
    """The accesses of a function body after the pass, as (row, type)."""
    module = read(f"""declare void @other()
define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %i, float %x) {{
{body}
  ret void
}}""")
    nvir.run_passes(module, pipeline, verify=True)
    return [(i.form.name, str(i.type if i.form.name == "load" else i.operands[0].type))
            for i in module["f"].instructions() if i.form.name in ("load", "store")]


def loads(n, align, between=""):
    lines = []
    for k in range(n):
        lines.append(f"  %a{k} = getelementptr float, ptr addrspace(1) %p, i64 %i\n"
                     f"  %b{k} = getelementptr i8, ptr addrspace(1) %a{k}, i64 {4 * k}\n"
                     f"  %v{k} = load float, ptr addrspace(1) %b{k}, align {4 if k else align}\n"
                     f"  {between}")
    return "\n".join(lines)


def stores(n, align, between=""):
    return "\n".join(
        f"  %c{k} = getelementptr i8, ptr addrspace(1) %q, i64 {4 * k}\n"
        f"  store float %x, ptr addrspace(1) %c{k}, align {4 if k else align}\n  {between}"
        for k in range(n)
    )


def test_aligned_neighbours_are_joined():
    assert forms(loads(4, 16)) == [("load", "<4 x float>")]
    assert forms(stores(4, 16)) == [("store", "<4 x float>")]
    assert forms(loads(3, 8)) == [("load", "<2 x float>"), ("load", "float")]


def test_what_is_not_aligned_or_not_next_to_it_is_not():
    assert forms(loads(4, 4)) == [("load", "float")] * 4
    assert forms(loads(4, 8)) == [("load", "<2 x float>")] * 2
    assert forms(loads(1, 16)) == [("load", "float")]


def test_a_write_between_keeps_loads_apart():
    between = "store float %x, ptr addrspace(1) %q, align 4"
    assert ("load", "<2 x float>") not in forms(loads(2, 16, between))
    assert ("load", "<2 x float>") not in forms(loads(2, 16, "call void @other()"))


def test_a_read_between_keeps_stores_apart():
    between = "%l{} = load float, ptr addrspace(1) %p, align 4"
    body = stores(2, 16).split("\n")
    body.insert(2, between.format(0))
    assert ("store", "<2 x float>") not in forms("\n".join(body))


def test_joined_accesses_do_the_same():
    check("""declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a1 = getelementptr [4 x i32], ptr addrspace(1) %p, i32 %t, i32 1
  %x1 = load i32, ptr addrspace(1) %a1, align 4
  %a0 = getelementptr [4 x i32], ptr addrspace(1) %p, i32 %t, i32 0
  %x0 = load i32, ptr addrspace(1) %a0, align 16
  %a3 = getelementptr [4 x i32], ptr addrspace(1) %p, i32 %t, i32 3
  %x3 = load i32, ptr addrspace(1) %a3, align 4
  %a2 = getelementptr [4 x i32], ptr addrspace(1) %p, i32 %t, i32 2
  %x2 = load i32, ptr addrspace(1) %a2, align 4
  store i32 %x0, ptr addrspace(1) %a1, align 4
  store i32 %x1, ptr addrspace(1) %a0, align 16
  store i32 %x2, ptr addrspace(1) %a3, align 4
  store i32 %x3, ptr addrspace(1) %a2, align 4
  ret void
}""", [np.arange(128, dtype=np.int32)])


BYTES = """  %v = load <8 x i8>, ptr addrspace(1) %p, align 8
  %w = load <8 x i8>, ptr addrspace(1) %q, align 8
  %c = and <8 x i8> %w, <i8 1, i8 2, i8 -1, i8 4, i8 5, i8 6, i8 7, i8 8>
  %x1 = xor <8 x i8> %v, %c
  store <8 x i8> %x1, ptr addrspace(1) %q, align 8"""


def test_bytes_that_are_combined_bit_by_bit_are_words():
    assert forms(BYTES) == [("load", "<2 x i32>")] * 2 + [("store", "<2 x i32>")]
    assert forms(BYTES.replace("8 x i8", "4 x i16").replace(", i8 5, i8 6, i8 7, i8 8", "")
                 .replace("i8 ", "i16 ")) == [("load", "<2 x i32>")] * 2 + [("store", "<2 x i32>")]
    assert forms("%v = load <4 x i8>, ptr addrspace(1) %p\n"
                 "store <4 x i8> %v, ptr addrspace(1) %q") == [("load", "i32"), ("store", "i32")]
    module = read(f"define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {{\n"
                  f"{BYTES}\n  ret void\n}}")
    nvir.run_passes(module, "vectorize-memory,select", verify=True)
    p, q = np.arange(8, dtype=np.uint8), np.full(8, 0xF3, np.uint8)
    wanted = p ^ (q & np.array([1, 2, 255, 4, 5, 6, 7, 8], np.uint8))
    nvir.launch(module, "k", 1, 1, [p, q])
    assert q.tolist() == wanted.tolist()


@pytest.mark.parametrize(("old", "new"), [
    ("xor", "add"), ("load <8 x i8>, ptr addrspace(1) %p", "load volatile <8 x i8>, ptr "
                     "addrspace(1) %p"),
    ("store", "store volatile"), ("8 x i8", "6 x i8"),
    ("  store", "  %e = extractelement <8 x i8> %v, i32 0\n  store"),
])
def test_bytes_that_are_used_otherwise_stay(old, new):
    text = BYTES.replace(old, new)
    if "6 x" in new:
        text = text.replace(", i8 7, i8 8", "")
    assert all("i8" in t for _, t in forms(text))


def test_metadata_keeps_a_loop_rolled():
    """As llc marks it; a loop without stays to the assembler."""
    text = """define ptx_kernel void @k(ptr addrspace(1) %p) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %q
  %j = add i32 %i, 1
  %c = icmp ne i32 %j, 9
  br i1 %c, label %loop, label %done, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
"""
    for body, wanted in ((text, True), (text.replace(", !llvm.loop !0", ""), False)):
        module = read(body)
        nvir.run_passes(module, "select")
        assert ('.pragma "nounroll"' in nvir.print_ptx(module)) == wanted


STEPS = """define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) SAID {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %x = load i32, ptr addrspace(1) %a
  %i1 = or i32 %i, 1
  %b = getelementptr i32, ptr addrspace(1) %p, i32 %i1
  %y = load i32, ptr addrspace(1) %b
  %s = add i32 %x, %y
  store i32 %s, ptr addrspace(1) %a
  store i32 %s, ptr addrspace(1) %b
  %j = add i32 %i, 2
  %c = icmp ne i32 %j, %n
  br i1 %c, label %loop, label %done, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
"""
ODD = ("  store i32 %s, ptr addrspace(1) %b\n", "")
ONE = ("%j = add i32 %i, 2", "%j = add i32 %i, 1")
WISH = ('!"llvm.loop.mustprogress"', '!"llvm.loop.unroll.count", i32 4')


@pytest.mark.parametrize(("said", "changes", "wanted"), [
    ("", (), "its body is copies already"),  # two steps, two of each access
    ("", (ODD,), ""),
    ("", (ONE,), ""),
    ("", (WISH,), ""),
    ("optsize", (ODD,), "the function is optsize"),
    ("minsize", (ONE,), "the function is minsize"),
    ("optsize", (WISH,), ""),
    ("nounwind", (ONE,), ""),
])
def test_copies_of_the_producer_and_functions_for_size_stay_rolled(said, changes, wanted):
    text = STEPS.replace("SAID", said)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    module = read(text)
    remarks = nvir.run_passes(module, "select")
    told = [r.args["why"] for r in remarks if r.name == "LeftRolled"]
    assert told == ([wanted] if wanted else [])
    assert ('.pragma "nounroll"' in nvir.print_ptx(module)) == bool(wanted)


ROUNDS = """define ptx_kernel void @k(ptr addrspace(1) %p, i32 %x, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %a = phi i32 [%x, %entry], [%d, %loop]
  %b = shl i32 %a, 3
  %c = add i32 %b, %i
  %d = shl i32 %c, 3
  %j = add i32 %i, 2
  %t = icmp ne i32 %j, %n
  br i1 %t, label %loop, label %done
done:
  store i32 %d, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize(("old", "new", "wanted"), [
    ("shl", "shl", True), ("%d = shl", "%d = add", False), ("%i, 2", "%i, 3", False)])
def test_copies_that_access_nothing_are_told_by_their_operations(old, new, wanted):
    module = read(ROUNDS.replace(old, new))
    nvir.run_passes(module, "select")
    assert ('.pragma "nounroll"' in nvir.print_ptx(module)) == wanted
