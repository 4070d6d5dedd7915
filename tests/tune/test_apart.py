"""Versions for operands apart whose loads come first: the same results, whatever overlaps."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import nvir
from nvir import sm
from nvir.report.tuning.advice import changes
from nvir.tune.candidates import Choices, LoopSetting, changed, context
from tests.passes.test_loop_version import BUFFER, HEAD, run

SM_80 = sm.profile("sm_80")
WIDE = """  .reg .b64 %n<4>;
  cvt.u64.u32 %n1, %r1;
"""


def rows(rng: random.Random) -> str:
    """A loop with copies as nvcc unrolls it: each loads, computes and stores in a row of its own,
    %r4 words apart, in place or from one operand to another; some read what an earlier copy
    wrote. The counter has 32 or 64 bits."""
    copies, bits, place = rng.randint(1, 4), rng.choice((32, 64)), rng.random()
    indexed = rng.random() < 0.5
    head, body, tail = [], [], []
    for k in range(copies):
        start = f"%a{k}"
        head += [f"  mul.lo.s32 %i{k}, %r4, {k};", f"  mul.wide.s32 %a{k}, %i{k}, 4;"]
        head += [] if indexed else [f"  add.s64 %b{k}, %rd3, {start};",
                                    f"  add.s64 %a{k}, %rd2, {start};"]
        if indexed:
            body += [f"  mul.wide.s32 %w{k}, %i{k}, 4;", f"  add.s64 %a{k}, %rd2, %w{k};",
                     f"  add.s64 %b{k}, %rd3, %w{k};"]
            tail += [f"  mad.lo.s32 %i{k}, %r4, {copies}, %i{k};"]
        else:
            tail += [f"  mad.wide.s32 %{x}{k}, %r4, {4 * copies}, %{x}{k};" for x in "ab"]
        source = f"[%a{k}]" if place < 0.4 else f"[%b{k}]"
        if k and place > 0.9:
            source = f"[%a{k - 1}]"
        body += [f"  ld.global.f32 %f1, {source};", "  fma.rn.f32 %f2, %f1, 0f3F000000, %f1;",
                 f"  st.global.f32 [%a{k}], %f2;"]
    counter, bound = ("%r5", "%r1") if bits == 32 else ("%n2", "%n1")
    step, test = rng.choice(((1, "lt.u"), (2, "lt.s"), (3, "le.u"), (-1, "ne.s"), (-2, "gt.s")))
    start, end = ("0", bound) if step > 0 else (bound, "0")
    names = ("%a", "%b", "%w")
    registers = " ".join(f"{x}<4>," for x in names).rstrip(",")
    return HEAD + WIDE + "\n".join([
        f"  .reg .b64 {registers}; .reg .b32 %i<4>;", *head,
        f"  mov.b{bits} {counter}, {start};", "L:", *body, *tail,
        f"  add.s{bits} {counter}, {counter}, {step};",
        f"  setp.{test}{bits} %p1, {counter}, {end};", "  @%p1 bra L;", "  ret;", "}"]) + "\n"


def candidate(text: str, setting: LoopSetting) -> nvir.Module | None:
    module = nvir.read_ptx(text)
    made, _ = changed(module["k"], Choices((("L", setting),)), "k", context(module, SM_80))
    if made is None:
        return None
    module.functions[0] = module.order[0] = made
    made.module = module
    return nvir.read_ptx(nvir.print_ptx(module))


def test_random_rows_do_the_same_on_operands_apart_and_overlapping():
    made = 0
    for seed in range(12):
        rng = random.Random(seed)
        text = rows(rng)
        plain = nvir.read_ptx(text)
        setting = LoopSetting(rng.choice((None, None, 2, 4)), apart=True)
        after = candidate(text, setting)
        made += after is not None
        for _ in range(4 if after is not None else 0):
            n = rng.randint(1, 8)
            stride = rng.choice((0, 1, 1, 2, 3, -1))
            p, q = (rng.randrange(384, BUFFER - 512, 4) if rng.random() < 0.3
                    else rng.randrange(400, 420, 4) for _ in range(2))
            assert run(after, n, p, q, stride) == run(plain, n, p, q, stride), (
                seed, str(setting), n, p, q, stride)
    assert made > 9


def test_loads_come_first_and_are_taken_where_rows_are_apart():
    rng = random.Random(1)
    while "ld.global.f32 %f1, [%b3]" not in (text := rows(rng)):
        pass
    after = candidate(text, LoopSetting(apart=True))
    assert after is not None
    k = after["k"]
    k.analyze_cfg()
    orders = {str(x.header.name): [i.form.name for i in x.header if i.form.name in ("ld", "st")]
              for x in k.loops()}
    (fast,) = [h for h, x in orders.items() if x == ["ld"] * 4 + ["st"] * 4]
    data = np.zeros(BUFFER, np.float32)
    for q, taken in ((2048, True), (4, False)):
        done = nvir.launch(after, "k", 1, 1, [
            data, np.uint32(8), np.int32(0), np.int32(q), np.int32(1)])
        assert (done.block_counts["k"].get(fast, 0) > 0) == taken


# p[i] += q[i] where q[i] < 4, i < n; p lies `at` bytes behind q
BRANCHES = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 q, .param .u32 n, .param .u32 at)
{
  .reg .pred %p<3>; .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd2, [q];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r3, [at];
  cvt.u64.u32 %rd3, %r3;
  add.s64 %rd1, %rd2, %rd3;
  mov.u32 %r2, 0;
L:
  ld.global.f32 %f1, [%rd2];
  setp.geu.f32 %p1, %f1, 0f40800000;
  @%p1 bra NEXT;
  ld.global.f32 %f2, [%rd1];
  add.f32 %f1, %f1, %f2;
  st.global.f32 [%rd1], %f1;
  SIDE
NEXT:
  add.s64 %rd1, %rd1, 4;
  add.s64 %rd2, %rd2, 4;
  add.s32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, %r1;
  @%p2 bra L;
  ret;
}
"""


@pytest.mark.parametrize("setting", [
    LoopSetting(converted=True), LoopSetting(4, converted=True),
    LoopSetting(None, 1, converted=True), LoopSetting(apart=True, converted=True),
    LoopSetting(2, apart=True, converted=True)], ids=str)
def test_loops_of_branches_made_guards_do_the_same_on_operands_apart_and_overlapping(setting):
    text = BRANCHES.replace("SIDE", "")
    plain, after = nvir.read_ptx(text), candidate(text, setting)
    assert after is not None
    given = np.random.default_rng(5).integers(0, 8, BUFFER).astype(np.float32)
    for n, at in itertools.product(range(1, 8), (0, 4, 8, 2048)):
        results = []
        for module in (plain, after):
            data = given.copy()
            nvir.launch(module, "k", 1, 1, [data, np.uint32(n), np.uint32(at)])
            results.append(data.tobytes())
        assert results[0] == results[1], (n, at)


def test_branches_that_are_no_guards_stay():
    assert candidate(BRANCHES.replace("SIDE", "bar.sync 0;"), LoopSetting(converted=True)) is None


@pytest.mark.parametrize(("more", "use", "told"), [
    ("", "", "take the PTX"),
    (", .param .u64 b", "st.global.u32 [%rd2], %r;", "`__restrict__` on a and b"),
    (", .param .u64 b", "st.global.u64 [%rd1], %rd2;", "take the PTX"),  # b is a number
    (", .param .b8 b[8]", "st.global.u32 [%rd2], %r;", "take the PTX"),  # of a structure
])
def test_what_cannot_be_written_with_one_pointer_is_left_to_the_ptx(more, use, told):
    module = nvir.read_ptx(f""".version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 a{more}) {{
.reg .pred %p; .reg .b32 %r; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a];{" ld.param.u64 %rd2, [b];" * bool(more)} mov.u32 %r, 0;
L: st.global.u32 [%rd1], %r; {use}
add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 9; @%p bra L;
ret; }}""")
    module["k"].analyze_cfg()
    settings = Choices(loops=(("L", LoopSetting(apart=True)),))
    assert [c.text.startswith(told) for c in changes(module, "k", settings, 256)] == [True]
