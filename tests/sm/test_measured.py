"""The fixed latencies of the profiles against the distances that ptxas leaves.

Each kernel is one chain of dependent instructions with nothing to fill the gaps, so the stall
counts between an instruction and the reader of its result are the latency that ptxas knows.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from nvir import toolchain
from nvir.sm.profile import Profile, profile

pytestmark = pytest.mark.oracle

_KERNEL = """
.visible .entry {name}(.param .u64 p, .param .u32 q, .param .u32 s)
{{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b64 %a<8>;
  ld.param.u64 %a0, [p]; ld.param.u32 %r1, [q]; ld.param.u32 %r2, [s];
  cvta.to.global.u64 %a1, %a0;
  ld.global.u32 %r0, [%a1]; ld.global.f32 %f0, [%a1+4]; ld.global.f64 %d0, [%a1+8];
  ld.global.f32 %f1, [%a1+16]; ld.global.f64 %d1, [%a1+24];
{body}
  st.global.u32 [%a1+32], %r0; st.global.f32 [%a1+36], %f0; st.global.f64 [%a1+40], %d0;
  ret;
}}
"""

# name -> the chain; each line reads what the one before made
_CHAINS = {
    "logic": "shf.l.wrap.b32 %r0, %r0, %r0, 5; xor.b32 %r0, %r0, %r1;" * 4,
    "float": "fma.rn.f32 %f0, %f0, %f1, %f1;" * 6,
    "mixed": "mad.lo.s32 %r0, %r0, %r1, %r2; shr.u32 %r0, %r0, 3; xor.b32 %r0, %r0, %r1;" * 4,
    "high": "mul.hi.u32 %r0, %r0, %r1;" * 6,
    "double": "fma.rn.f64 %d0, %d0, %d1, %d1;" * 6,
    "special": "fma.rn.f32 %f0, %f0, %f1, %f1; ex2.approx.ftz.f32 %f0, %f0;" * 4,
    "address": "mad.lo.s32 %r0, %r0, %r1, %r2; mul.wide.s32 %a2, %r0, 4; add.s64 %a3, %a1, %a2;"
    "ld.global.u32 %r0, [%a3];" * 3,
    "guard": "setp.gt.s32 %p0, %r0, %r1; @%p0 ld.global.u32 %r0, [%a1+64];" * 3,
}

_ARCHS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
_FIXED = re.compile(r"U?R\d+|U?P\d")


@cache
def distances(arch: str) -> dict[tuple[str, str, bool], tuple[int, int]]:
    """(producer unit, consumer unit, by guard) -> (fewest cycles seen, the profile's latency)."""
    text = f".version 8.7\n.target {arch}\n.address_size 64\n"
    text += "".join(_KERNEL.format(name=n, body=b) for n, b in _CHAINS.items())
    made = toolchain.ptxas(text, arch)
    assert made.ok, made.error
    machine, seen = profile(arch), {}
    for code in toolchain.disassemble(made.cubin, live=False).values():
        _walk(code, machine, seen)
    return seen


def _walk(code, machine: Profile, seen) -> None:
    written: dict[str, tuple[int, str]] = {}  # register -> when, by what
    now = 0
    for one in code:
        results, sources = _roles(one)
        reads = [(r, False) for o in sources for r in _FIXED.findall(o)]
        reads += [(r, True) for r in _FIXED.findall(one.guard)]
        for register, guard in reads:
            if register in written and machine.has(one.opcode):
                when, producer = written[register]
                key = (machine.operation(producer).unit, machine.operation(one.opcode).unit, guard)
                known = machine.latency(producer, one.opcode, guard=guard)
                seen[key] = min(seen.get(key, (99, known)), (now - when, known))
        for register in results:
            written.pop(register, None)
            if one.control.write_barrier is None and not machine.operation(one.opcode).variable:
                written[register] = (now, one.opcode)
        now += max(1, one.control.stall)


def _roles(one) -> tuple[list[str], list[str]]:
    """Registers written (the low half of a pair) and operands read."""
    if one.name in ("STG", "EXIT", "BRA", "RET", "NOP") or not one.operands:
        return [], list(one.operands)
    count = 1
    while count < len(one.operands) and re.fullmatch(r"U?P[\dT]", one.operands[count - 1]):
        count += 1  # a comparison writes predicates first
    if one.name not in ("ISETP", "FSETP"):
        count = 1
    return [r for o in one.operands[:count] for r in _FIXED.findall(o)], list(one.operands[count:])


@pytest.fixture(autouse=True)
def _tools():
    if not (toolchain.available("ptxas") and toolchain.available("nvdisasm")):
        pytest.skip("needs ptxas and nvdisasm (extra `oracle`)")


@pytest.mark.parametrize("arch", _ARCHS)
def test_no_latency_is_longer_than_ptxas_has_it(arch):
    """A reader that ptxas issues earlier than the profile allows would prove the figure wrong.

    A reader of the low half of a wide product may be earlier: the profile has the high half.
    """
    seen = distances(arch)
    assert len(seen) >= 8
    for (producer, consumer, guard), (cycles, known) in seen.items():
        slack = 2 if producer == "imad_wide" else 0
        assert known <= cycles + slack, (producer, consumer, guard)


@pytest.mark.parametrize("arch", _ARCHS)
def test_chains_are_as_tight_as_the_profile_says(arch):
    seen = distances(arch)
    pairs = [
        ("alu", "alu", False),
        ("fma", "fma", False),
        ("imad", "alu", False),
        ("imad_hi", "imad_hi", False),
        ("imad", "imad_wide", False),
        ("compare", "load", True),
    ]
    if not profile(arch).operation("DFMA").variable:
        pairs.append(("fp64", "fp64", False))
    for pair in pairs:
        assert pair in seen, pair
        cycles, known = seen[pair]
        assert cycles == known, pair
