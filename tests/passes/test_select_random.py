"""Selection leaves what random kernels compute as the interpreter of nvvm has it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import nvir
from nvir.ir.clone import clone_module
from nvir.passes.select import LOWER, select_module
from tests.nvvm_modules import THREADS, arguments, kernels
from tests.selection import assembles, run, same

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]


def check(module):
    nvir.verify(module)
    args = arguments()
    before, _ = run(module, args, block=THREADS)
    ori = select_module(module)
    nvir.verify(ori)
    same(before, run(ori, args, block=THREADS)[0])
    lowered = clone_module(module)
    nvir.run_passes(lowered, LOWER, verify=True)
    same(before, run(lowered, args, block=THREADS)[0])
    return ori


@settings(max_examples=20, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    check(module)


@pytest.mark.oracle
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
@settings(max_examples=4, suppress_health_check=RELAXED)
@given(module=kernels())
def test_random_kernels_assemble(target, module):
    module.target = target
    assembles(select_module(module))


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=RELAXED)
@given(kernels(30))
def test_many_random_kernels(module):
    assembles(check(module))
