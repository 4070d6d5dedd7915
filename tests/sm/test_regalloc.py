"""Allocation of the machine list: proper, aligned, within limits; banks."""

from __future__ import annotations

import pytest
from corpus import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import random_kernel
from wild_kernels import wild_kernel

import nvir
from nvir.assembler.regalloc import allocate, check_allocation
from nvir.assembler.regalloc.banks import is_conflict, placement
from nvir.assembler.regalloc.check import faults_of
from nvir.assembler.regalloc.step import width
from nvir.assembler.regalloc.units import meet, union
from nvir.ir.errors import NvirError
from nvir.sm import profile

P80 = profile("sm_80")
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body: str) -> nvir.Function:
    regs = ".reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .f32 %f<99>; .reg .pred %p<20>;"
    text = f"{HEAD}.visible .entry k(.param .u64 a)\n{{\n{regs}\n{body}\nret;\n}}\n"
    return nvir.read_ptx(text)["k"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([random_kernel, wild_kernel]))
def test_the_colouring_is_proper(seed, make) -> None:
    """No two live values share a register, pairs and quads are aligned, whatever the kernel."""
    for f in nvir.read_ptx(make(seed)).functions:
        if f.blocks:
            a = allocate(f, P80)
            check_allocation(a)
            assert not a.spilled
            assert a.registers >= max((r + width(v) for v, r in a.general.items()), default=0)


def max_live(a) -> int:
    """The most general registers that are live at once."""
    most = 0
    for block, out in a.live_out.items():
        live = set(out)
        for s in reversed([s for s in a.steps if s.block is block]):
            most = max(most, sum(map(width, live | set(s.results))))
            live = (live - set(s.results)) | set(s.sources)
            most = max(most, sum(map(width, live)))
    return most


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(16, 40))
def test_a_limit_is_kept_by_spilling(seed, limit) -> None:
    for f in nvir.read_ptx(random_kernel(seed)).functions:
        if not f.blocks:
            continue
        free = allocate(f, P80)
        a = allocate(f, P80, limit=limit)
        check_allocation(a)
        assert a.registers <= limit
        assert not a.spilled or free.registers > limit
        assert a.spilled or max_live(free) < limit
        assert (a.spill_bytes > 0) == bool(a.spilled)
        assert len(set(a.spilled.values())) == len(a.spilled)


@pytest.mark.parametrize("path", examples("gemm*.sm_80.ptx"), ids=lambda p: p.stem)
def test_fragments_and_vectors(path) -> None:
    for f in nvir.read_ptx(path).functions:
        check_allocation(allocate(f, P80))
        check_allocation(allocate(f, P80, limit=32))


def test_the_checker_sees_what_is_wrong() -> None:
    f = kernel("""ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; st.global.u32 [%rd1+4], %r1;""")
    a = allocate(f, P80)
    check_allocation(a)
    first, second = [v for v in a.general if v.name in ("%r1", "%r2")]
    a.general[second] = a.general[first]
    with pytest.raises(NvirError, match="share R"):
        check_allocation(a)


def test_a_pair_off_its_place_is_seen() -> None:
    f = kernel("""ld.param.u64 %rd1, [a]; ld.global.u64 %rd2, [%rd1];
        st.global.u64 [%rd1+8], %rd2;""")
    a = allocate(f, P80)
    v = next(v for v in a.general if v.name == "%rd2")
    assert a.general[v] % 2 == 0
    a.general[v] += 1
    with pytest.raises(NvirError, match="cannot hold"):
        check_allocation(a)


# ---------------------------------------------------------------- tuples


def groups(operation) -> tuple[list[int], list[list[int]]]:
    """What a vector operation must have side by side, by the PTX alone: the number of words of its
    results, and of each of its operands that is a vector."""
    name, mods = operation.parent.form.name, operation.parent.form.mods
    if name == "ldmatrix":
        return [int(next(m for m in mods if m in ("x1", "x2", "x4"))[1:])], []
    if name == "mma.sync" and "m16n8k16" in mods:
        return [4], [[4], [2], [4]]
    for m in ("v2", "v4"):
        if m in mods and name in ("ld", "st"):
            count = int(m[1:]) * operation.parent.form.type.bits // 32
            if operation.parent.form.type.bits >= 32:
                return ([count], []) if name == "ld" else ([], [[count]])
    return [], []


def numbers(a, registers) -> list[int]:
    return [a.general[v] + w for v, w in registers]


def is_row(have, count) -> bool:
    return len(have) == count and have[0] % min(4, count) == 0 and have == list(
        range(have[0], have[0] + count))


def tuples_by_ptx(a) -> int:
    """How many vectors of an allocation were looked at; each is consecutive and aligned."""
    seen = 0
    for s in a.steps:
        op = s.operation
        if op is None or not (op.family or "").startswith(("LD", "ST", "HMMA")):
            continue
        made, read = groups(op)
        if made and op.results:
            assert is_row(numbers(a, s.written), made[0]), str(op)
            seen += 1
        have = numbers(a, [r for r in s.read if width(r[0])])
        if op.family.startswith("HMMA") and read:
            for (count,) in read:
                assert is_row(have[:count], count), str(op)
                have = have[count:]
                seen += 1
        elif read:
            (count,) = read[0]
            rows = [have[k : k + count] for k in range(len(have))]
            if any(getattr(v, "name", "") == "literal" for v, _ in s.read):  # they stand last
                rows = [[r + k for k in range(count)] for r in have]
                rows = [row for row in rows if set(have).issuperset(row)]
            assert any(is_row(row, count) for row in rows), str(op)
            seen += 1
    return seen


@pytest.mark.parametrize("path", examples("*.ptx"), ids=lambda p: p.stem)
def test_vectors_of_the_examples(path) -> None:
    """Judged from the PTX and the register numbers alone, not from what the allocator noted."""
    module = nvir.read_ptx(path)
    for f in module.functions:
        if f.blocks:
            a = allocate(f, profile("sm_80"))
            check_allocation(a)
            tuples_by_ptx(a)


V4 = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];"


@pytest.mark.parametrize(("body", "moves", "vectors"), [
    (V4 + "st.global.v4.u32 [%rd1+16], {%r1, %r2, %r3, %r4};", 0, 2),  # as it was loaded
    (V4 + "st.global.v2.u32 [%rd1+16], {%r3, %r4};", 0, 2),  # a half of it
    (V4 + "st.global.v2.u32 [%rd1+16], {%r2, %r3};", 2, 2),  # across its middle
    (V4 + "st.global.v4.u32 [%rd1+16], {%r2, %r1, %r4, %r3};", 4, 2),  # turned round
    (V4 + "st.global.v4.u32 [%rd1+16], {%r1, %r1, %r1, %r1};", 3, 2),  # one value four times
    (V4 + "st.global.v4.u32 [%rd1+16], {%r1, 0, %r3, 0};", 2, 2),  # literals
    ("st.global.v4.u32 [%rd1+16], {7, 7, 7, 7};", 4, 1),
    ("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; st.global.v2.u32 [%rd1], {%r2, %r1};", 0, 1),
    ("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; st.global.v2.u32 [%rd1], {%r2, %r1};"
     "st.global.v2.u32 [%rd1+8], {%r1, %r2};", 2, 2),  # in two tuples at other places
    ("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; st.global.v2.u32 [%rd1], {%r2, %r1};"
     "st.global.v2.u32 [%rd1+8], {%r2, %r1};", 0, 2),  # in two at the same
])
def test_moves_only_where_tuples_disagree(body, moves, vectors) -> None:
    a = allocate(kernel("ld.param.u64 %rd9, [a]; ld.global.u64 %rd1, [%rd9];" + body), P80)
    check_allocation(a)
    assert tuples_by_ptx(a) == vectors
    assert a.moved == moves


def test_a_pair_made_of_two_values() -> None:
    """A 64-bit operand that a mov put together is a pair in registers."""
    f = kernel("""ld.param.u64 %rd9, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        mov.b64 %rd2, {%r1, %r2}; atom.global.exch.b64 %rd3, [%rd9], %rd2;
        st.global.u64 [%rd9+8], %rd3;""")
    a = allocate(f, P80)
    check_allocation(a)
    atom = next(s for s in a.steps if s.operation is not None and s.operation.family == "ATOM")
    have = numbers(a, atom.read)
    assert any(is_row(have[k : k + 2], 2) for k in range(len(have)))
    low, high = (next(v for v in a.general if v.name == n) for n in ("%r1", "%r2"))
    assert a.general[high] == a.general[low] + 1
    assert a.moved == 0


def test_accumulators_of_a_loop_take_no_move() -> None:
    """They go round in the place where the operation adds to them. What `ldmatrix` loads as 0 1 2 3
    and is read as 0 2 and 1 3 is moved, once for all that read it."""
    path = next(p for p in examples("gemm_mma.sm_80.ptx"))
    a = allocate(nvir.read_ptx(path).functions[0], P80)
    assert tuples_by_ptx(a) > 100
    loop = [s for s in a.steps if s.operation is not None and "HMMA" in (s.operation.family or "")]
    assert loop
    block = loop[0].block
    moves = [m for s in a.steps if s.block is block for m in s.moves]
    pairs = {s.read[p][0] for s in loop for p in range(4, 6)}
    assert {t for t, _ in moves} <= pairs
    assert len(moves) == 16


def test_accumulators_of_wgmma_stay_where_they_are() -> None:
    """Result and operand are tied; they go round the loop, and out of it, without a move."""
    regs = ", ".join(f"%f{k}" for k in range(32))
    zeros = "".join(f"mov.f32 %f{k}, 0f00000000;\n" for k in range(32))
    f = nvir.read_ptx(f""".version 8.0\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 a)\n{{
        .reg .f32 %f<99>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .b32 %r<9>;
        ld.param.u64 %rd1, [a]; ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd1+8];
        {zeros} mov.u32 %r1, 4;\nL:\nwgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{regs}}}, %rd2, %rd3, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        add.u32 %r1, %r1, -1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
        st.global.v4.f32 [%rd1], {{%f0, %f1, %f2, %f3}}; ret;\n}}""")["k"]
    a = allocate(f, profile("sm_90"))
    check_allocation(a)
    product = next(s for s in a.steps if s.operation is not None
                   and (s.operation.family or "").startswith("HGMMA"))
    made = numbers(a, product.written)
    assert is_row(made, 32)
    assert {made[w] for w, _ in product.ties} == set(made)
    assert all(numbers(a, product.read)[r] == made[w] for w, r in product.ties)
    assert a.moved == 0


def test_the_judge_sees_a_broken_tuple() -> None:
    a = allocate(kernel("ld.param.u64 %rd1, [a];" + V4
                        + "st.global.v4.u32 [%rd1+16], {%r1, %r2, %r3, %r4};"), P80)
    assert not list(faults_of(a))
    v, w = (next(v for v in a.general if v.name == n) for n in ("%r2", "%r3"))
    a.general[v], a.general[w] = a.general[w], a.general[v]
    assert any("no aligned tuple" in x for x in faults_of(a))


def test_the_judge_sees_a_value_that_is_gone() -> None:
    a = allocate(kernel("""ld.param.u64 %rd9, [a]; ld.global.u64 %rd1, [%rd9];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; st.global.u32 [%rd1], %r1;
        st.global.u32 [%rd1+4], %r2;"""), P80)
    v, w = (next(v for v in a.general if v.name == n) for n in ("%r1", "%r2"))
    a.general[w] = a.general[v]
    assert any("does not hold what it reads" in x for x in faults_of(a))


intervals = st.lists(st.integers(0, 60), max_size=8, unique=True).map(
    lambda xs: list(zip(sorted(xs)[::2], sorted(xs)[1::2], strict=False)))


@given(intervals, intervals)
def test_lives_meet_where_they_have_a_point_in_common(a, b) -> None:
    points = [{p for s, e in x for p in range(s, e)} for x in (a, b)]
    assert meet(a, b) == bool(points[0] & points[1])
    if not meet(a, b):
        both = union(a, b)
        assert {p for s, e in both for p in range(s, e)} == points[0] | points[1]
        assert both == sorted(both)


def test_predicates_have_a_file_of_their_own() -> None:
    sets = "".join(f"setp.eq.u32 %p{k}, %r1, {k};" for k in range(1, 6))
    uses = "".join(f"@%p{k} st.global.u32 [%rd1], %r1;" for k in range(1, 6))
    a = allocate(kernel(f"ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; {sets}{uses}"), P80)
    assert a.predicate_count == 5
    assert sorted(a.predicates.values()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_that_is_no_positive_number(limit) -> None:
    with pytest.raises(NvirError, match="no positive number"):
        allocate(kernel(""), P80, limit=limit)


def test_a_limit_that_one_operation_alone_breaks() -> None:
    f = kernel("""ld.param.u64 %rd1, [a]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
        st.global.v4.u32 [%rd1+16], {%r4, %r3, %r2, %r1};""")
    with pytest.raises(NvirError, match="needs"):
        allocate(f, P80, limit=3)


@pytest.mark.seed("PRA-05", "GAP-28")
def test_the_seven_classes_are_split_at_their_bounds() -> None:
    """A register on a bound opens its class; the one below it closes the class before."""
    banks = P80.banks
    for k in range(1, 7):
        bound = banks.bounds[k]
        assert banks.classify(bound)[0] == k
        assert banks.classify(bound)[1] == 0
        assert banks.classify(bound - 1)[0] == k - 1
    assert banks.TENSOR == 5


@pytest.mark.seed("PRA-07", "PRA-10")
@given(st.lists(st.tuples(st.integers(0, 254), st.integers(0, 9)), max_size=40))
def test_no_two_operations_of_a_class_in_one_cycle(wanted) -> None:
    registers, earliest = [r for r, _ in wanted], [c for _, c in wanted]
    cycles = placement(registers, earliest, P80.banks)
    seen = {(c, P80.banks.classify(r)[0]) for c, r in zip(cycles, registers, strict=True)}
    assert len(seen) == len(wanted)
    assert all(c >= e for c, e in zip(cycles, earliest, strict=True))


def test_placement_delays_only_what_meets() -> None:
    assert placement([0, 64, 128], [0, 0, 0], P80.banks) == [0, 0, 0]
    assert placement([0, 1, 64], [0, 0, 0], P80.banks) == [0, 1, 0]


def test_three_sources_of_one_bank_meet_and_two_do_not() -> None:
    assert is_conflict([0, 2, 4])
    assert not is_conflict([0, 2, 5])
    assert not is_conflict([2, 2, 2])  # read once
