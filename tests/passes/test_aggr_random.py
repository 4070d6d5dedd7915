"""Random kernels full of aggregates do the same before and after each aggregate pass."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.clone import clone_module
from nvir.passes.select import select_module
from nvir.toolchain import libnvvm
from tests.aggregate_modules import kernels
from tests.aggregates import aggregates_left
from tests.nvvm_modules import THREADS, arguments
from tests.nvvm_modules import kernels as plain_kernels
from tests.selection import assembles, run, same

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]
LOWER = "lower-struct-args<opt-byval>,lower-aggr-copies"
PIPELINES = ("lower-aggr-copies", "split-structs", "lower-aggr-copies<lower-aggr-func-args>", LOWER,
             f"{LOWER},mem2reg,sroa,mem2reg")
KNOBS = ({}, {"lower-read-only-devicefn-byval": 1, "hoist-load-param": 1},
         {"nvptx-early-byval-copy": 1, "memmove-unroll-threshold": 2},
         {"nvptx-force-min-byval-param-align": 1, "max-aggr-copy-size": 4})


def check(module, pipeline, policy, knobs):
    nvir.verify(module)
    args = arguments()
    before, _ = run(module, args, block=THREADS)
    lowered = clone_module(module)
    nvir.run_passes(lowered, pipeline, verify=True, policy=policy, knobs=knobs)
    same(before, run(lowered, args, block=THREADS)[0])
    assert not aggregates_left(lowered)
    ori = select_module(clone_module(lowered))
    nvir.verify(ori)
    same(before, run(ori, args, block=THREADS)[0])
    return lowered, ori


MODULES = (kernels(), st.sampled_from(PIPELINES), st.sampled_from(("observed", "documented")),
           st.sampled_from(KNOBS))


@pytest.mark.seed("STR-01", "STR-12")
@settings(max_examples=20, suppress_health_check=RELAXED, deadline=None)
@given(*MODULES)
def test_random_kernels(module, pipeline, policy, knobs):
    check(module, pipeline, policy, knobs)


@pytest.mark.oracle
@settings(max_examples=4, suppress_health_check=RELAXED, deadline=None)
@given(kernels(6), st.sampled_from((("llvm7", "sm_80"), ("llvm20", "sm_100"))))
def test_the_real_tools_take_them(module, target):
    accepted(*check(module, LOWER, "observed", {}), *target)


def accepted(lowered, ori, dialect, arch):
    assembles(ori)
    lowered.target = arch
    nvir.run_passes(lowered, f"legalize<dialect={dialect}>", verify=True)
    result = libnvvm.compile(nvir.print_ll(lowered, dialect=dialect), arch)
    assert result.ok, result.log


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=RELAXED, deadline=None)
@given(*MODULES)
def test_many_random_kernels(module, pipeline, policy, knobs):
    check(module, pipeline, policy, knobs)


@pytest.mark.slow
@pytest.mark.oracle
@settings(max_examples=60, suppress_health_check=RELAXED, deadline=None)
@given(kernels(), st.sampled_from((("llvm7", "sm_80"), ("llvm20", "sm_100"))))
def test_many_are_taken_by_the_real_tools(module, target):
    accepted(*check(module, LOWER, "observed", {}), *target)


@settings(max_examples=10, suppress_health_check=RELAXED, deadline=None)
@given(plain_kernels(8), st.sampled_from(("observed", "documented")))
def test_kernels_of_all_kinds(module, policy):
    """Those of the whole level, in which aggregates are few."""
    check(module, LOWER, policy, {})
