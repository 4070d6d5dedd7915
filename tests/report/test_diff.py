"""Comparing two modules: figures, thresholds, kernels that come and go."""

from __future__ import annotations

import attrs
import pytest

import nvir
from nvir.ir.errors import NvirError
from nvir.report import report
from nvir.report.diff import DEFAULT, compare, diff_text, matched, parse_thresholds

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def module(name: str = "k", values: int = 2, trips: int = 8):
    loads = "".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(1, values + 1))
    stores = "".join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(1, values + 1))
    text = f"""{HEAD}.visible .entry {name}(.param .u64 a)
    {{ .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [a]; {loads} bar.sync 0; mov.u32 %r90, 0;
    L: add.s32 %r90, %r90, 1; setp.lt.s32 %p1, %r90, {trips}; @%p1 bra L;
    {stores} ret; }}
    """
    return report(nvir.read_ptx(text))


def test_the_same_module_has_no_difference() -> None:
    d = compare(module(), module(), parse_thresholds(DEFAULT))
    assert [f.status for f in d.functions] == ["same"]
    assert d.crossings == []
    assert "1 function without a difference" in diff_text(d)


def test_more_registers_cross_the_default_and_fewer_do_not() -> None:
    worse = compare(module(values=2), module(values=12), parse_thresholds(DEFAULT))
    assert any("registers" in c for c in worse.crossings)
    assert "! allowed registers=+2" in diff_text(worse)
    better = compare(module(values=12), module(values=2), parse_thresholds(DEFAULT))
    assert better.crossings == []


def test_a_threshold_is_met_at_its_value_and_crossed_above() -> None:
    a, b = module(values=2), module(values=5)
    before, after = a.functions[0].predicted, b.functions[0].predicted
    assert before is not None
    assert after is not None
    more = after - before
    assert more > 0
    assert compare(a, b, parse_thresholds(f"registers=+{more}")).crossings == []
    assert compare(a, b, parse_thresholds(f"registers=+{more - 1}")).crossings
    assert compare(a, b, parse_thresholds("instructions=+100%")).crossings == []
    assert compare(a, b, parse_thresholds("instructions=+1%")).crossings


def test_a_lost_kernel_and_lost_occupancy() -> None:
    d = compare(module("k"), module("other"), parse_thresholds(DEFAULT))
    assert [f.status for f in d.functions] == ["removed", "added"]
    assert d.crossings == ["k: is missing"]
    a = module()
    (f,) = a.functions
    assert f.occupancy is not None
    fewer = attrs.evolve(f, occupancy=attrs.evolve(f.occupancy, warps_per_sm=1))
    lost = compare(a, attrs.evolve(a, functions=(fewer,)), parse_thresholds(DEFAULT))
    assert any("occupancy" in c for c in lost.crossings)


def test_loops_are_compared_one_by_one() -> None:
    d = compare(module(trips=8), module(trips=9))
    (f,) = d.functions
    (loop,) = f.loops
    assert loop[0] == "L"
    assert [(c.metric, c.before, c.after) for c in loop[1]] == [("trip", 8, 9)]
    assert d.to_json()["functions"][0]["loops"][0]["changes"][0]["after"] == 9


def test_loops_are_matched_by_label_then_line_then_order() -> None:
    (one,) = module().functions[0].loops

    def loop(header: str, source: str | None = None, depth: int = 1):
        return attrs.evolve(one, header=header, source=source, depth=depth)

    def pairs(a, b):
        return [(x.header, y.header) for x, y in matched(a, b)]

    # One is added before: the others are found by label, or by line under new labels.
    assert pairs([loop("A"), loop("B")], [loop("N"), loop("A"), loop("B")]) == [
        ("A", "A"), ("B", "B"),
    ]
    old = [loop("A", "k.cu:3"), loop("B", "k.cu:9")]
    new = [loop("A", "k.cu:1"), loop("B", "k.cu:3"), loop("C", "k.cu:9")]
    assert pairs(old, new) == [("A", "B"), ("B", "C")]
    assert pairs([loop("A"), loop("B")], [loop("X"), loop("Y")]) == [("A", "X"), ("B", "Y")]
    assert pairs([loop("A")], []) == []


@pytest.mark.parametrize("text", ["regs=2", "registers", "registers=-1", "registers=x", "=2"])
def test_bad_thresholds_are_named(text: str) -> None:
    with pytest.raises(NvirError):
        parse_thresholds(text)


def test_no_thresholds() -> None:
    assert parse_thresholds("") == ()
    assert compare(module(values=2), module(values=40)).crossings == []
