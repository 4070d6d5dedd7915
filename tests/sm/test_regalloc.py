"""Allocation of the machine list: proper, aligned, within limits; banks."""

from __future__ import annotations

import pytest
from corpus import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import random_kernel
from wild_kernels import wild_kernel

import nvir
from nvir.ir.errors import NvirError
from nvir.sm import profile
from nvir.sm.regalloc import allocate, check_allocation
from nvir.sm.regalloc.allocation import width
from nvir.sm.regalloc.banks import is_conflict, placement

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
        assert bool(a.spilled) == (free.registers > limit)
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


@pytest.mark.seed("PRA-06")
@pytest.mark.parametrize(("mode", "blocked", "fast"), [(0, False, False), (1, False, True),
                                                      (1, True, False), (2, True, True)])
def test_the_tensor_class_takes_its_fast_path(mode, blocked, fast) -> None:
    banks = P80.banks
    tensor = banks.bounds[5]
    assert banks.takes_fast_path(tensor, mode, blocked) is fast
    assert not banks.takes_fast_path(tensor - 1, mode, blocked)


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
