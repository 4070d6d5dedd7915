"""Policy `observed` of licm: each number with a loop on either side of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import nvir
from nvir.assembler.hoist.weights import Costs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .f32 x, .param .f32 y, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<99>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; ld.global.f32 %f3, [%rd1]; ld.global.f32 %f4, [%rd1+4];
mov.u32 %r2, 0;
"""
END = "st.global.f32 [%rd1+64], %f3; ret; }"
FMA = "fma.rn.f32 %f3, %f3, %f1, %f2;\n"
MUL = "mul.f32 %f{0}, %f4, 0f4000000{0}; fma.rn.f32 %f3, %f3, %f{0}, %f2;\n"
LOAD = "ld.global.f32 %f{0}, [%rd1+{0}00]; fma.rn.f32 %f3, %f3, %f{0}, %f2;\n"
OVERHEAD = 3 + 4  # loop control, and two moves for each of two carried values


def loop(body: str, size: int) -> nvir.Module:
    """A loop of `size` instructions as the rule counts them."""
    own = body.count(";")
    text = f"{HEADER}L:\n{body}{FMA * (size - own - OVERHEAD)}"
    return nvir.read_ptx(
        text + "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n" + END
    )


def leaving(module: nvir.Module, id: int = 0) -> int:
    remarks = nvir.run_passes(module, f"licm<id={id}>", verify=True)
    return sum(int(r.args["count"]) for r in remarks if r.name == "Hoisted")


def flips(body: str, last: int, hoisted: int, beyond: int = 0, id: int = 0) -> None:
    """Up to a size of `last` so many leave, one instruction later `beyond`."""
    assert leaving(loop(body, last), id) == hoisted
    assert leaving(loop(body, last + 1), id) == beyond


def test_one_instruction_for_one_value():
    flips(MUL.format(5), 200, 1)


def test_a_chain_is_worth_its_length():
    chain = "mul.rz.f32 %f5, %f4, 0f40000001; add.f32 %f6, %f5, %f4;\n"
    flips(chain + "fma.rn.f32 %f3, %f3, %f6, %f2;\n", 400, 2)


def test_a_product_and_its_sum_are_one():
    chain = "mul.f32 %f5, %f4, 0f40000001; add.f32 %f6, %f5, %f4;\n"
    body = chain + "fma.rn.f32 %f3, %f3, %f6, %f2;\n"
    assert leaving(loop(body, 201)) == 2  # as written, one more than the machine has
    assert leaving(loop(body, 202)) == 0


@pytest.mark.parametrize(("operation", "own"), [
    ("shl.b32 %r20, %r20, 3; add.s32 %r21, %r20, %r1;", 1),
    ("shl.b32 %r20, %r20, 3; xor.b32 %r21, %r20, %r1;", 2),
    ("mul.lo.s32 %r20, %r20, %r1; add.s32 %r21, %r20, %r1;", 1),
    ("mul.lo.s32 %r20, %r20, %r1; xor.b32 %r21, %r20, %r1;", 2),
    ("mul.lo.s32 %r20, %r20, %r1; add.s32 %r22, %r20, 9; add.s32 %r21, %r20, %r22;", 2),
    ("mul.hi.s32 %r20, %r20, %r1; add.s32 %r21, %r20, %r1;", 2),
    ("mul.wide.u32 %rd2, %r20, 4; add.s64 %rd3, %rd2, %rd1;", 1),
    ("shl.b64 %rd2, %rd4, 4; add.s64 %rd3, %rd2, %rd1;", 2),
])
def test_a_scaled_sum_is_one(operation, own):
    """`own`: how many the machine has for them."""
    address = "[%rd3]" if "rd3" in operation else "[%r21]"
    space = "global" if "rd3" in operation else "shared"
    body = f"xor.b32 %r20, %r2, 7; {operation} st.{space}.f32 {address}, %f3;\n"
    first = "cvt.u64.u32 %rd4, %r2; " * ("rd4" in operation)
    flips(first + MUL.format(5) + body, 200 + operation.count(";") - own, 1)


def test_two_values_cost_two_registers():
    flips(MUL.format(5) + MUL.format(6), 200, 2)


def test_a_global_load_is_worth_twelve():
    flips(LOAD.format(5), 2400, 1)


def test_beside_a_load_the_others_count_a_fifth():
    flips(LOAD.format(5) + MUL.format(6), 1220, 2)  # 61·200 / (5·2)


def test_a_load_that_stays_makes_the_others_a_fifth_too():
    body = "ld.volatile.global.f32 %f9, [%rd1]; add.f32 %f3, %f3, %f9;\n" + MUL.format(5)
    flips(body, 40, 1)


def test_loads_go_alone_where_two_others_do_not_pay():
    body = LOAD.format(5) + MUL.format(6) + MUL.format(7)
    flips(body, 826, 3, beyond=1)  # 62·200 / (5·3)


def test_approximations_that_are_sequences_count_as_such():
    flips("ex2.approx.f32 %f5, %f4; fma.rn.f32 %f3, %f3, %f5, %f2;\n", 1195, 1)


def test_later_instances_want_ten_times_as_much():
    flips(MUL.format(5), 30, 1, id=1)


def test_warp_wide_operations_are_for_the_later_instances():
    body = "shfl.sync.bfly.b32 %f9, %f3, 1, 31, -1; add.f32 %f3, %f3, %f9;\n" + MUL.format(5)
    assert leaving(loop(body, 25), 0) == 0
    assert leaving(loop(body, 25), 1) == 1


@pytest.mark.parametrize("what", ["div.rn.f32 %f3, %f3, %f2;\n", "sqrt.rn.f32 %f3, %f3;\n"])
def test_a_slow_path_keeps_everything(what):
    assert leaving(loop(what + MUL.format(5), 30)) == 0


def test_a_fence_keeps_loads_and_nothing_else():
    nc = "ld.global.nc.f32 %f5, [%rd1+8]; fma.rn.f32 %f3, %f3, %f5, %f2;\n"
    assert leaving(loop(nc, 30)) == 1
    assert leaving(loop(nc + "membar.gl;\n", 30)) == 0
    assert leaving(loop(MUL.format(5) + "membar.gl;\n", 30)) == 1


def test_a_store_keeps_loads_of_its_space_whatever_the_address():
    body = LOAD.format(5) + "st.global.f32 [%rd1+4000], %f3;\n"
    assert leaving(loop(body, 30)) == 0
    assert leaving(loop(LOAD.format(5), 30)) == 1


def branchy(header: int, skipped: int, latch: int, where: str) -> nvir.Module:
    put = {k: MUL.format(5) if k == where else "" for k in "hsl"}
    return nvir.read_ptx(
        f"{HEADER}L: {put['h']}{FMA * header}setp.gt.f32 %p3, %f3, %f1; @%p3 bra S;\n"
        f"{put['s']}{FMA * skipped}S: {put['l']}{FMA * latch}"
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n" + END
    )


def test_each_block_is_judged_by_its_own_size():
    assert leaving(branchy(150, 20, 5, "h")) == leaving(branchy(5, 20, 150, "l")) == 1
    assert leaving(branchy(150, 150, 150, "h")) == 1
    assert leaving(branchy(200, 20, 5, "h")) == leaving(branchy(5, 20, 200, "l")) == 0


def test_loads_leave_the_header_only():
    for skipped, count in ((9, 0), (8, 1)):  # eight become guarded: then there is one block
        module = nvir.read_ptx(
            f"{HEADER}L: {FMA}setp.gt.f32 %p3, %f3, %f1; @%p3 bra S;\n{FMA * skipped}S: {FMA * 9}"
            + LOAD.format(5) + "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n"
            + END
        )
        assert leaving(module) == count


def test_a_skipped_block_has_a_budget_of_its_own():
    # 22·1 / size; its size has the product, its reader and the move to the phi beside the others
    assert leaving(branchy(5, 19, 5, "s")) == 1
    assert leaving(branchy(5, 20, 5, "s")) == 0


def test_a_skipped_block_loses_nothing_that_holds_a_register_more():
    text = str(MUL.format(5).replace("%f4", "%f1"))  # a parameter is in no register
    module = nvir.read_ptx(
        f"{HEADER}L: {FMA}setp.gt.f32 %p3, %f3, %f1; @%p3 bra S;\n{text}{FMA * 9}S: {FMA * 9}"
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n" + END
    )
    assert leaving(module) == 0


def middle(body: str, fill: int, skipped: int = 20) -> nvir.Module:
    """A loop of header, middle and latch with skipped blocks between; the body is in the middle."""
    return nvir.read_ptx(
        f"{HEADER}L: {FMA}setp.gt.f32 %p3, %f3, %f1; @%p3 bra S;\n{FMA * skipped}S: {body}"
        f"{FMA * fill}setp.gt.f32 %p4, %f3, %f2; @%p4 bra T;\n{FMA * skipped}T: {FMA}"
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n" + END
    )


def test_blocks_between_header_and_latch_are_judged_like_skipped_ones():
    # 22·1 / size: beside the others the product, its reader, the comparison, two moves
    assert leaving(middle(MUL.format(5), 16)) == 1
    assert leaving(middle(MUL.format(5), 17)) == 0
    assert leaving(middle(MUL.format(5).replace("%f4", "%f1"), 3)) == 0  # holds a register more


def test_loads_leave_the_middle_where_branches_become_guards():
    load = "ld.global.nc.f32 %f5, [%rd1+80]; fma.rn.f32 %f3, %f3, %f5, %f2;\n"
    assert leaving(middle(load, 3)) == 0
    assert leaving(middle(load, 9, skipped=3)) == 1


INPUTS = "".join(f"ld.global.f32 %f{40 + k}, [%rd1+{8 + 4 * k}];\n" for k in range(12))
INPUTS += "ld.global.u32 %r12, [%rd1+80];\n"
STEP = "add.s32 {0}, {0}, 1; setp.lt.s32 {1}, {0}, %r1; @{1} bra {2};\n"


def nest(
    inner: str, outer: str = "", size: int = 5, after: int = 20, arch: str = "sm_80"
) -> nvir.Module:
    return nvir.read_ptx(
        HEADER.replace("sm_80", arch) + f"{INPUTS}L: {outer}mov.u32 %r3, 0;\nM: {inner}{FMA * size}"
        + STEP.format("%r3", "%p2", "M") + FMA * after + STEP.format("%r2", "%p1", "L")
        + "st.global.f32 [%rd1+68], %f4;" + END
    )


def own(k: int, chain: str = "") -> str:
    """A product of an input that nothing else reads; `chain`: more of it."""
    return (f"mul.rz.f32 %f{20 + k}, %f{40 + k}, 0f4000000{k:X};\n{chain}"
            f"fma.rn.f32 %f3, %f3, %f{20 + k}, %f2;\n")


def depths(module: nvir.Module, spelling: str) -> list[int]:
    leaving(module)
    function = module["k"]
    function.analyze_cfg()
    return sorted(b.loop_depth for b in function.blocks for i in b if i.form.spelling == spelling)


SHARED = MUL.replace("mul.f32", "mul.rz.f32")  # its input is read after the loops too


def test_what_holds_no_register_more_leaves_the_nest():
    assert depths(nest(own(1)), "mul.rz.f32") == [0]
    assert depths(nest(SHARED.format(5)), "mul.rz.f32") == [1]
    assert depths(nest(own(1) + SHARED.format(5)), "mul.rz.f32") == [0, 1]


def test_an_input_read_twice_ends_nowhere():
    twice = "mul.rz.f32 %f21, %f21, %f41;\n"
    assert depths(nest(own(1, twice)), "mul.rz.f32") == [1, 1]
    assert depths(nest(own(1, twice.replace("%f41", "%f42"))), "mul.rz.f32") == [0, 0]


def test_a_value_read_twice_is_weighed_by_itself():
    square = own(1, "mul.rz.f32 %f21, %f21, %f21;\n")
    assert depths(nest(square), "mul.rz.f32") == [0, 1]


def test_a_wider_result_holds_a_register_more():
    wide = "cvt.f64.f32 %fd1, %f41; add.f64 %fd2, %fd2, %fd1;\n"
    back = "cvt.f64.f32 %fd1, %f41; cvt.rn.f32.f64 %f9, %fd1; add.f32 %f3, %f3, %f9;\n"
    for body, depth in ((back, 0), (wide, 1)):
        module = nvir.read_ptx(
            HEADER.replace(".reg .b64", ".reg .f64 %fd<4>; .reg .b64")
            + f"mov.f64 %fd2, 0d0000000000000000;\n{INPUTS}L: mov.u32 %r3, 0;\nM: {body}{FMA * 5}"
            + STEP.format("%r3", "%p2", "M") + FMA * 20 + STEP.format("%r2", "%p1", "L")
            + "st.global.f64 [%rd1+128], %fd2;" + END
        )
        assert depths(module, "cvt.f64.f32") == [depth]


def test_a_predicate_holds_a_register_like_any_value():
    text = "setp.lt.s32 %p5, {}, 7; selp.f32 %f9, %f3, %f1, %p5; add.f32 %f3, %f9, %f3;\n"
    own_input, parameter = text.format("%r12"), text.format("%r1")
    for body, depth in ((own_input, 0), (parameter, 1)):
        assert min(depths(nest("", body), "setp.lt.s32")) == depth
    both = own_input + text.replace("%p5", "%p6").format("%r12")  # it ends at neither
    assert min(depths(nest("", both), "setp.lt.s32")) == 1


def test_what_left_an_inner_loop_is_judged_as_one_block():
    ten = "".join(own(k) for k in range(10))
    assert depths(nest(ten), "mul.rz.f32") == [0] * 10
    assert depths(nest(ten + own(10)), "mul.rz.f32") == [1] * 11  # 11·10 / 11 < 11
    assert depths(nest(ten + SHARED.format(5)), "mul.rz.f32") == [1] * 11  # 10·10 / 11 < 10


@pytest.mark.parametrize(("after", "last"), [(20, 4), (3, 1)])
def test_the_header_of_a_nest(after, last):
    """A product, its reader, two moves each for the sum and the counters; a short latch has its
    three instructions of loop control there too."""
    assert depths(nest("", own(1) + FMA * last, after=after), "mul.rz.f32") == [0]
    assert depths(nest("", own(1) + FMA * (last + 1), after=after), "mul.rz.f32") == [1]


def test_a_load_leaves_the_header_of_a_nest_and_not_twice():
    load = "ld.global.nc.f32 %f5, [%rd1+8]; fma.rn.f32 %f3, %f3, %f5, %f2;\n"
    assert depths(nest("", load), "ld.global.nc.f32") == [0]
    assert depths(nest(load), "ld.global.nc.f32") == [1]


@pytest.mark.parametrize(("size", "arch", "depth"), [
    (250, "sm_80", 1), (252, "sm_80", 0), (252, "sm_90", 1),
])
def test_around_a_large_loop_everything_leaves(size, arch, depth):
    load = "ld.global.nc.f32 %f5, [%rd1+8]; fma.rn.f32 %f3, %f3, %f5, %f2;\n"
    assert depths(nest(load, size=size, arch=arch), "ld.global.nc.f32") == [depth]


def test_warp_wide_operations_inside_keep_a_nest():
    shuffle = "shfl.sync.bfly.b32 %f9, %f3, 1, 31, -1; add.f32 %f3, %f3, %f9;\n"
    assert depths(nest("", own(1)), "mul.rz.f32") == [0]
    assert depths(nest(shuffle, own(1)), "mul.rz.f32") == [1]
    assert depths(nest(shuffle, own(1), arch="sm_90"), "mul.rz.f32") == [0]


@pytest.mark.oracle
def test_agreement_with_the_real_assembler():
    import licm_agreement

    judged = [j for j in licm_agreement.judge_generated(60, 78, "sm_80") if j.ptxas is not None]
    same = sum(j.ptxas == j.nvir for j in judged)
    assert same / len(judged) > 0.93
    single = [j for j in judged if j.shape == "single"]
    assert sum(j.ptxas == j.nvir for j in single) / len(single) > 0.95


# ------------------------------------------------------------------- what it weighs


def test_a_cost_is_that_of_the_form_unless_operands_decide():
    module = nvir.read_ptx(HEADER + """mul.lo.u32 %r3, %r1, %r2; add.u32 %r4, %r3, 1;
        mul.lo.u32 %r5, %r1, %r4; xor.b32 %r6, %r5, 3; div.u32 %r7, %r6, %r5; div.u32 %r8, %r6, 7;
        mov.u32 %r9, %tid.x; mov.u32 %r10, %r9; st.global.u32 [%rd1], %r10;""" + END)
    cost = Costs(80)
    found: dict[str, list[int]] = {}
    for _ in range(2):  # what was worked out once is the same again
        for i in module["k"].entry:
            found.setdefault(i.form.name, []).append(cost.of(i))
    assert found["mul"] == [0, 1] * 2  # a sum reads the first, and what is no sum the other
    assert found["div"] == [21, 18] * 2  # by a literal it is shorter
    assert found["mov"] == [0, 1, 0] * 2  # a special register is read by an instruction
    assert found["xor"] == found["st"][:2] == [1, 1]
    assert {f.name for f in cost.fixed} >= {"xor", "st", "add"}
    assert {f.name for f in cost.fixed}.isdisjoint(("mul", "div", "mov"))
