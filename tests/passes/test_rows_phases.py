"""Phases and neighbours that the notes only name."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.errors import VerifyError
from nvir.passes.phases import phase, phases
from nvir.passes.pipeline import check_order, parse_pipeline
from nvir.passes.registry import all_passes
from tests.selection import check, read

NAMED = {29: "GeneralOptimize", 34: "ExtractShaderConsts", 56: "SpeculativeHoistComInsts",
         58: "GeneralOptimizeLate"}
ROLES = {53: "varying analysis", 70: "varying analysis", 55: "late expansion"}


@pytest.mark.seed("REL-03")
def test_named_phases_are_in_the_table():
    for number, name in NAMED.items():
        assert phase(name).number == number
        assert phase(number).name == name
    for number, role in ROLES.items():
        assert phase(number).role == role
    assert "const-fold" in phase("GeneralOptimizeLate").passes
    assert [p.number for p in phases()] == list(range(159))


@pytest.mark.seed("REL-06")
def test_the_verifier_stops_what_a_pass_must_not_see():
    store = "store i32 1, ptr addrspace(1) %p"
    module = read(f"define void @k(ptr addrspace(1) %p) {{ {store} ret void }}")
    nvir.verify(module)
    module["k"].entry.last.erase()
    with pytest.raises(VerifyError):
        nvir.verify(module)
    assert "sroa" in all_passes()


@pytest.mark.seed("REL-06")
def test_128_bit_integers_are_taken_apart():
    out = np.zeros(4, np.uint32)
    ori = check(
        "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
        "  %a = load i128, ptr addrspace(1) %p, align 16\n"
        "  %b = mul i128 %a, 340282366920938463463374607431768211455\n"
        "  store i128 %b, ptr addrspace(1) %p, align 16\n  ret void\n}\n",
        [out + 7],
    )
    assert all(i.type.bits <= 64 for i in ori["k"].instructions() if i.results)


@pytest.mark.seed("REL-06")
def test_accesses_get_the_space_that_their_pointer_shows():
    """What memory-space-opt does: a generic pointer to shared memory is no generic access."""
    ori = check(
        "@tile = internal addrspace(3) global [32 x i32] undef, align 4\n"
        "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
        "  %g = addrspacecast ptr addrspace(3) @tile to ptr\n"
        "  store i32 5, ptr %g, align 4\n  %v = load i32, ptr %g, align 4\n"
        "  store i32 %v, ptr addrspace(1) %p, align 4\n  ret void\n}\n",
        [np.zeros(4, np.int32)],
    )
    spaces = {i.form.space for i in ori["k"].instructions() if i.form.name in ("ld", "st")}
    assert spaces <= {"shared", "global", "param", "param::entry"}
    assert "shared" in spaces


NVVM_ORDER = ("lower-struct-args<opt-byval>", "lower-aggr-copies<lower-aggr-func-args>")


@pytest.mark.seed("PIP-04", "GAP-53")
def test_the_order_of_the_upper_level_is_text_that_reads_back():
    """The pass numbered 418 runs before 417: the order is the pipeline's, not the number's."""
    text = ",".join(("mem2reg", *NVVM_ORDER, "vectorize-memory", "select"))
    pipeline = parse_pipeline(text)
    assert str(pipeline) == text
    assert parse_pipeline(str(pipeline)) == pipeline
    assert check_order(pipeline) == []
    (problem,) = check_order(parse_pipeline(",".join(reversed(NVVM_ORDER))))
    assert "lower-struct-args" in problem
