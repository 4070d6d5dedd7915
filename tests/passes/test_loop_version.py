"""loop-version: one loop for operands apart, one for others, and the test between them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nvir
from nvir.analysis.analyses import Analyses
from nvir.ir.cfg import successors
from nvir.ir.errors import ParseError
from nvir.passes.driver import Driver, Settings
from nvir.passes.loop.simplify.plain_test import plain_test
from tests.effort import effort

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 base, .param .u32 n, .param .s32 p, .param .s32 q, .param .s32 r)
{
  .reg .pred %p<3>; .reg .f32 %f<9>; .reg .b32 %r<12>; .reg .b64 %rd<16>;
  ld.param.u64 %rd1, [base];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r1, [n];
  ld.param.s32 %r2, [p];
  ld.param.s32 %r3, [q];
  ld.param.s32 %r4, [r];
  cvt.s64.s32 %rd2, %r2;
  cvt.s64.s32 %rd3, %r3;
  cvt.s64.s32 %rd4, %r4;
  add.s64 %rd2, %rd1, %rd2;
  add.s64 %rd3, %rd1, %rd3;
  add.s64 %rd4, %rd1, %rd4;
"""
SUM = HEAD + """
  mov.u32 %r5, 0;
L:
  mul.wide.s32 %rd5, %r5, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.f32 %f1, [%rd2];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd2], %f3;
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p1, %r5, %r1;
  @%p1 bra L;
  ret;
}
"""
BUFFER = 1024


def run(module: nvir.Module, n: int, p: int, q: int, r: int) -> bytes:
    data = np.arange(BUFFER // 4, dtype=np.float32)
    nvir.launch(module, "k", 1, 1, [data, np.uint32(n), np.int32(p), np.int32(q), np.int32(r)])
    return data.tobytes()


def versioned(text: str, then: str = "") -> tuple[nvir.Module, list[str]]:
    module = nvir.read_ptx(text)
    found = nvir.run_passes(module, f"loop-version{then},dce", verify=True)
    module = nvir.read_ptx(nvir.print_ptx(module))
    return module, [x.name for x in found if x.pass_name == "loop-version"]


def test_a_sum_in_memory_is_a_register_where_operands_are_apart():
    module, names = versioned(SUM)
    assert names == ["Versioned"]
    k = module["k"]
    k.analyze_cfg()
    stores = sorted(sum(i.form.writes for i in x.header) for x in k.loops())
    assert stores == [0, 1]
    assert any(len(successors(b)) == 2 and b.loop_depth == 0 for b in k.blocks)


@pytest.mark.parametrize(("p", "apart"), [
    (0, True), (60, True), (64, False), (100, False), (124, False), (128, True)])
def test_the_test_is_exact_at_both_ends(p: int, apart: bool):
    """q reads 64 to 128."""
    module, _ = versioned(SUM)
    plain = nvir.read_ptx(SUM)
    assert run(module, 16, p, 64, 0) == run(plain, 16, p, 64, 0)
    data = np.zeros(BUFFER // 4, np.float32)
    done = nvir.launch(
        module, "k", 1, 1, [data, np.uint32(16), np.int32(p), np.int32(64), np.int32(0)])
    k = module["k"]
    k.analyze_cfg()
    (fast,) = [x.header.name for x in k.loops() if not any(i.form.writes for i in x.header)]
    assert (done.block_counts["k"].get(fast, 0) > 0) == apart


@pytest.mark.parametrize(("change", "code"), [
    (("mov.u32 %r5, 0;", "mov.u32 %r5, 0;\n  mov.u32 %r1, 5;"), "Versioned"),
    (("st.global.f32 [%rd2]", "st.volatile.global.f32 [%rd2]"), "NotVersionedAccess"),
    (("add.s32 %r5, %r5, 1", "shl.b32 %r5, %r5, 1"), "NotVersionedCount"),
    (("mul.wide.s32 %rd5, %r5, 4", "mul.wide.s32 %rd5, %r5, %r5"), "NotVersionedAddress"),
    (("[%rd6]", "[%rd2+4]"), "NotVersionedNothing"),
    (("[%rd2]", "[%rd6]"), "NotVersionedNothing"),
    (("add.f32 %f3, %f1, %f2;", "add.f32 %f3, %f1, %f2;\n  bar.sync 0;"), "NotVersionedAccess"),
])
def test_what_is_versioned(change: tuple[str, str], code: str):
    assert versioned(SUM.replace(*change))[1] == [code]


def test_an_index_that_wraps_takes_the_old_loop():
    """%r5 runs past 2**31: its addresses are not those of a straight line."""
    text = SUM.replace("mov.u32 %r5, 0;", "mov.u32 %r5, 2147483640;").replace(
        "setp.lt.s32 %p1, %r5, %r1", "setp.ne.s32 %p1, %r5, -2147483640").replace(
        "mul.wide.s32 %rd5, %r5, 4;",
        "and.b32 %r6, %r5, 15;\n  mul.wide.s32 %rd5, %r6, 4;")
    assert versioned(text)[1] == ["NotVersionedAddress"]
    text = SUM.replace("mov.u32 %r5, 0;", "mov.u32 %r5, -3;\n  mov.u32 %r1, 5;").replace(
        "mul.wide.s32", "mul.wide.u32").replace("add.s64 %rd6, %rd3, %rd5;",
        "and.b64 %rd5, %rd5, 31;\n  add.s64 %rd6, %rd3, %rd5;")
    done = Driver(Settings(check=True)).run(nvir.read_ptx(text), "loop-version")
    assert [x.name for x in done.remarks] == ["NotVersionedAddress"]


def test_an_access_that_may_stand_still_is_tested_to_move():
    """y[i] = y[i] + 1 with a run-time stride, which is 0 or less than a word where q says so."""
    text = SUM.replace("[%rd2]", "[%rd8]").replace("[%rd6]", "[%rd8]").replace(
        "mov.u32 %r5, 0;", "mov.u32 %r5, 0;\n  mov.u64 %rd8, %rd2;").replace(
        "add.s32 %r5, %r5, 1;", "add.s32 %r5, %r5, 1;\n  add.s64 %rd8, %rd8, %rd9;").replace(
        "add.s64 %rd4, %rd1, %rd4;", "cvt.s64.s32 %rd9, %r3;")
    module, names = versioned(text, ",loop-pipeline<depth=2;force>")
    assert names == ["Versioned"]
    for stride in (0, 4, -4, 8):
        assert run(module, 9, 512, stride, 0) == run(nvir.read_ptx(text), 9, 512, stride, 0)


def random_loop(rng: random.Random) -> str:
    """A loop over two or three operands at run-time places: an index or pointers, up or down."""
    step = rng.choice((1, 1, 2, 3, -1, -2))
    compare = rng.choice(("lt.s32", "le.s32", "lt.u32", "ne.s32") if step > 0 else (
        "gt.s32", "ge.s32", "ne.s32"))
    start, end = ("0", "%r1") if step > 0 else ("%r1", "0")
    if compare.startswith("ne"):
        step = 1 if step > 0 else -1
    stride = "%r10" if step > 0 and compare[:2] != "ne" and rng.random() < 0.3 else str(step)
    late = rng.random() < 0.7
    tested = "%r5" if late else "%r7"
    pointers = rng.random() < 0.4
    q = "%rd8" if pointers else "%rd6"
    sums = rng.random() < 0.6
    more = rng.random() < 0.5
    body = [
        f"ld.global.f32 %f2, [{q}+{rng.choice((0, 0, 4, 8))}];",
        "ld.global.f32 %f1, [%rd2];" if sums else "mov.f32 %f1, 0f3F800000;",
        "fma.rn.f32 %f4, %f2, 0f3F000000, %f1;",
        "st.global.f32 [%rd2], %f4;",
        "add.s64 %rd7, %rd4, %rd5;", "add.f32 %f5, %f4, 0f40000000;",
        "st.global.f32 [%rd7], %f5;",
    ][: 7 if more else 4]
    return HEAD + "\n".join([
        f"  mov.u32 %r5, {start};", f"  add.s32 %r10, %r1, {step - 1};",
        "  shr.u32 %r10, %r10, 1;", "  max.s32 %r10, %r10, 1;",
        "  mov.u64 %rd8, %rd3;", "L:", "  mov.u32 %r7, %r5;",
        "  mul.wide.s32 %rd5, %r5, 4;", "  add.s64 %rd6, %rd3, %rd5;", *body,
        f"  mad.wide.s32 %rd8, {stride}, 4, %rd8;" if pointers else "",
        f"  add.s32 %r5, %r5, {stride};", f"  setp.{compare} %p1, {tested}, {end};",
        "  @%p1 bra L;", "  ret;", "}"]) + "\n"


def test_random_loops_do_the_same_on_operands_apart_and_overlapping():
    taken = 0
    for seed in range(50):
        rng = random.Random(seed)
        text = random_loop(rng)
        plain = nvir.read_ptx(text)
        then = rng.choice(("", ",loop-pipeline<depth=2;force>", ",loop-unroll<factor=2>"))
        module, names = versioned(text, then)
        taken += names == ["Versioned"]
        for _ in range(4):
            n = rng.randint(1, 12)
            places = [rng.randrange(64, BUFFER - 128, 4) if rng.random() < 0.3 else
                      rng.randrange(200, 260, 4) for _ in range(3)]
            assert run(module, n, *places) == run(plain, n, *places), (seed, n, places, then)
    assert taken > 33


def test_a_sum_with_the_counter_is_compared_no_more():
    text = SUM.replace("mov.u32 %r5, 0;", "neg.s32 %r8, %r1;\n  mov.u32 %r5, 0;").replace(
        "setp.lt.s32 %p1, %r5, %r1;", "add.s32 %r9, %r5, %r8;\n  setp.ne.s32 %p1, %r9, 0;")
    assert versioned(text)[1] == ["NotVersionedCount"]
    module = nvir.read_ptx(text)
    k = module["k"]
    nvir.run_passes(module, "loop-simplify")
    k.analyze_cfg()
    (loop,) = Analyses.of(k).loops
    assert plain_test(loop)
    nvir.verify(module)
    again = nvir.read_ptx(nvir.print_ptx(module))
    for n in (1, 2, 7):
        assert run(again, n, 0, 64, 0) == run(nvir.read_ptx(text), n, 0, 64, 0)
    found = nvir.run_passes(again, "loop-version")
    assert [x.name for x in found] == ["Versioned"]


@pytest.mark.parametrize("compare", ["lt.s32", "ne.s32"])
def test_a_counter_that_moves_on_in_several_sums_gets_one(compare: str):
    text = SUM.replace("add.s32 %r5, %r5, 1;", "add.s32 %r6, %r5, %r4;\n  add.s32 %r5, %r6, %r4;")
    text = text.replace("lt.s32", compare)
    assert versioned(text)[1] == ["NotVersionedCount"]
    module = nvir.read_ptx(text)
    nvir.run_passes(module, "loop-simplify")
    (loop,) = Analyses.of(module["k"]).loops
    assert plain_test(loop)
    nvir.verify(module)
    again = nvir.read_ptx(nvir.print_ptx(module))
    assert nvir.run_passes(nvir.read_ptx(nvir.print_ptx(module)), "loop-version")[0].name == (
        "Versioned" if compare == "lt.s32" else "NotVersionedAddress")
    for n in (2, 8, 12):
        assert run(again, n, 0, 64, 1) == run(nvir.read_ptx(text), n, 0, 64, 1)


def test_a_loop_that_is_only_made_ready_is_told_as_changed():
    """The address of the store is a sum with a mask: no linear one. What the loop carries is read
    behind it, so it was closed by a phi first."""
    text = HEAD + """
  mov.u32 %r5, %r1;
L:
  and.b32 %r6, %r4, 7;
  mad.wide.u32 %rd5, %r6, 4, %rd2;
  st.global.b32 [%rd5], %r4;
  ld.global.b32 %r2, [%rd4];
  xor.b32 %r3, %r3, %r2;
  add.s32 %r5, %r5, -1;
  setp.gt.s32 %p1, %r5, 0;
  @%p1 bra L;
  xor.b32 %r3, %r3, %r1;
  st.global.b32 [%rd3], %r3;
  ret;
}
"""
    done = Driver(Settings(check=True)).run(nvir.read_ptx(text), "loop-version")
    assert [x.name for x in done.remarks] == ["NotVersionedAddress"]


@pytest.mark.parametrize("name", ["loop-version", "loop-vectorize-memory"])
def test_accesses_of_one_object_cost_no_more_each_where_there_are_more(name):
    def work(n):
        body = "".join(
            f"ld.global.u32 %r6, [%rd1+{16 * k}]; st.global.u32 [%rd1+{16 * k + 8}], %r6;"
            for k in range(n))
        module = nvir.read_ptx(f"{HEAD}mov.u32 %r5, 0;\nL:\n{body}\nadd.s32 %r5, %r5, 1;\n"
                               "setp.lt.s32 %p1, %r5, %r1;\n@%p1 bra L;\nret;\n}\n")
        return effort(lambda: nvir.run_passes(module, name))

    work(20)
    assert work(400) < 5 * work(100)


@pytest.mark.parametrize("name", ["loop-version", "loop-vectorize-memory"])
def test_a_loop_that_is_asked_for_has_to_be_there(name: str) -> None:
    module = nvir.read_ptx(SUM)
    before = str(module)
    with pytest.raises(ParseError, match=f"pass '{name}': there is no loop 'M'; there are L"):
        nvir.run_passes(module, f"{name}<loop=M>")
    assert str(module) == before
    assert list(nvir.run_passes(module, f"{name}<loop=L>"))


def test_a_word_of_which_another_access_reads_a_part_stays_in_memory():
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in];
mov.u64 %d3, 0; mov.u32 %r1, 0; mov.u32 %r3, 7; setp.eq.u32 %p1, %r1, 0;
L:
st.global.u64 [%d1+16], %d3;
@%p1 ld.global.u32 %r3, [%d1+20];
ld.global.u32 %r4, [%d2];
add.s64 %d2, %d2, 4; add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 5; @%p2 bra L;
st.global.u32 [%d1+12], %r3;
ret;
}
"""
    results = []
    for passes in ("", "loop-version"):
        module = nvir.read_ptx(text)
        if passes:
            nvir.run_passes(module, passes)
        out = np.full(8, 0xD3C7B156, np.uint32)
        nvir.launch(module, "k", 1, 1, [out, np.zeros(8, np.uint32)])
        results.append(out.tolist())
    assert results[0] == results[1]
    assert results[0][3] == 0
