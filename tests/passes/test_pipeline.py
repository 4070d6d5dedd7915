"""Pipeline text, order constraints, and the real tool's phases."""

from __future__ import annotations

from typing import Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvir.ir.errors import NvirError, ParseError
from nvir.passes import phases
from nvir.passes.phases import ORI_ORDER, check_phase_order, pass_names, phase
from nvir.passes.pipeline import ORDER, PRESETS, Pipeline, Step, check_order, parse_pipeline
from nvir.passes.registry import Pass, all_passes


@attrs.frozen
class Unroll:
    factor: int = 0
    partial: bool = False
    share: float | None = None
    mode: Literal["fast", "slow"] = "fast"
    lower_aggr_func_args: bool = False
    opt_byval: bool = True


def nothing(unit, ctx):
    return False


FAKE = {
    name: Pass(name, nothing, "", options=Unroll)
    for name in ("loop-unroll", "lower-aggr-copies", "lower-struct-args")
}
FAKE["dce"] = Pass("dce", nothing, "")


def parse(text: str) -> Pipeline:
    return parse_pipeline(text, FAKE)


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("", ""),
        ("  ", ""),
        ("dce", "dce"),
        (" dce , dce ", "dce,dce"),
        ("function(dce,loop(loop-unroll<factor=4>)),dce", "dce,loop-unroll<factor=4>,dce"),
        ("module(function())", ""),
        ("module(dce,function(dce))", "dce,dce"),
        ("loop-unroll<factor=4;partial>", "loop-unroll<factor=4;partial>"),
        ("loop-unroll<partial=true; factor = 0x10>", "loop-unroll<factor=16;partial>"),
        ("loop-unroll<no-opt-byval;share=0.5;mode=slow>",
         "loop-unroll<share=0.5;mode=slow;no-opt-byval>"),
        ("loop-unroll<factor=0;mode=fast>", "loop-unroll"),
        ("loop-unroll<partial=True>,loop-unroll<opt-byval=FALSE>",
         "loop-unroll<partial>,loop-unroll<no-opt-byval>"),
        ("loop-unroll<>", "loop-unroll"),
    ],
)
def test_text_is_printed_flat_and_reads_back(text, flat):
    assert str(parse(text)) == flat
    assert parse(flat) == parse(text)


@pytest.mark.seed("PIP-06")
@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ('-Xcicc "-passes=lower-aggr-copies<lower-aggr-func-args>"',
         "lower-aggr-copies<lower-aggr-func-args>"),
        ('-Xcicc "-passes=lower-aggr-copies"', "lower-aggr-copies"),
        ("-passes='lower-struct-args<no-opt-byval>,dce'", "lower-struct-args<no-opt-byval>,dce"),
        ("-passes=dce", "dce"),
        ("--passes=dce", "dce"),
    ],
)
def test_the_real_tools_spelling(text, flat):
    assert str(parse(text)) == flat


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("dec", 1, "unknown pass 'dec'; did you mean 'dce'?"),
        ("dce,zzzzzz", 5, "unknown pass 'zzzzzz'; there are clean, dce, emission, "),
        ("dce,", 5, "a pass is expected here"),
        (",dce", 1, "a pass is expected here"),
        ("dce dce", 5, "',' is expected here"),
        ("function(dce", 13, "a ')' is missing"),
        ("dce)", 4, "',' is expected here"),
        ("loop-unroll<facto=4>", 13, "no option 'facto'; did you mean 'factor'?"),
        ("dce<x>", 5, "pass 'dce' has no option 'x'; it has none"),
        ("loop-unroll<factor=x>", 13, "option 'factor' of pass 'loop-unroll' takes an integer"),
        ("loop-unroll<factor>", 13, "takes a value of type int"),
        ("loop-unroll<mode=odd>", 13, "takes one of fast, slow"),
        ("loop-unroll<share=x>", 13, "takes a number"),
        ("loop-unroll<partial=2>", 13, "takes true or false"),
        ("loop-unroll<factor=1;factor=2>", 22, "given twice"),
        ("loop-unroll<factor=1", 21, "';' is expected here"),
        ('-passes="dec', 13, 'the closing " is missing'),
        ('-passes="dec"', 10, "unknown pass 'dec'"),
    ],
)
def test_faults_are_shown_at_their_column(text, column, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    (error,) = caught.value.errors
    assert (error.col, error.source) == (column, text)
    assert message in error.message


@given(st.text(alphabet="dce,<>()= loop-unroll;\"'", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        pipeline = parse(text)
    except ParseError:
        return
    assert parse(str(pipeline)) == pipeline


def test_deep_nesting_needs_no_deep_recursion():
    n = 50_000
    assert str(parse("function(" * n + "dce" + ")" * n)) == "dce"


def test_a_list_may_hold_text_steps_and_passes():
    mine = Pass("mine", nothing, "not registered", options=Unroll)
    pipeline = parse_pipeline(["dce", mine, Step(mine, Unroll(factor=2))], FAKE)
    assert str(pipeline) == "dce,mine,mine<factor=2>"
    assert len(pipeline) == 3
    with pytest.raises(TypeError, match="not int"):
        parse_pipeline([3], FAKE)  # type: ignore[list-item]


def test_options_need_defaults():
    @attrs.frozen
    class Bare:
        factor: int

    with pytest.raises(TypeError, match="has no default"):
        Pass("x", nothing, "", options=Bare).option_table()


# ------------------------------------------------------------ the registry


def test_names_are_file_names():
    for p in all_passes().values():
        assert p.run.__module__.rsplit(".", 1)[1] == p.name.replace("-", "_")
        assert p.summary
        codes = [c.name for c in p.codes]
        assert len(set(codes)) == len(codes)


def test_presets_hold_registered_passes_in_order():
    for text in PRESETS.values():
        assert check_order(parse_pipeline(text)) == []
    assert str(parse_pipeline("clean")) == PRESETS["clean"]


def test_order_names_registered_passes():
    for earlier, later, why in ORDER:
        assert {earlier, later} <= all_passes().keys()
        assert why


def test_wrong_order_is_told_with_the_reason():
    (problem,) = check_order(parse_pipeline("gvn,copy-prop"))
    assert problem.startswith("'copy-prop' should precede 'gvn': a copy hides")
    assert check_order(parse_pipeline("copy-prop,gvn")) == []
    assert check_order(parse_pipeline("gvn")) == []


# ------------------------------------------------------ the real phases


@pytest.mark.seed("PIP-01")
def test_order_of_the_phases():
    assert ORI_ORDER == (
        3, 13, 15, 16, 18, 19, 21, 22, 23, 24, 25, 29, 34, 35, 55, 58, 59, 63, 65, 66, 78, 79,
        87, 88, 108,
    )
    assert check_phase_order(ORI_ORDER) == []


@pytest.mark.seed("PIP-02", "PIP-03")
@pytest.mark.parametrize(
    ("wrong", "pair"),
    [
        ((21, 18), (18, 21)), ((22, 18), (18, 22)), ((22, 21), (21, 22)), ((24, 22), (22, 24)),
        ((35, 29), (29, 35)), ((59, 55), (55, 59)), ((59, 58), (58, 59)), ((63, 59), (59, 63)),
        ((66, 63), (63, 66)), ((66, 65), (65, 66)), ((79, 78), (78, 79)), ((88, 87), (87, 88)),
    ],
)
def test_each_constraint_catches_its_violation(wrong, pair):
    (problem,) = check_phase_order(wrong)
    assert problem.startswith(f"phase {pair[0]} should precede phase {pair[1]}: ")
    assert check_phase_order(pair) == []


@pytest.mark.seed("PIP-05")
def test_every_phase_is_found_by_number():
    assert len(phases.phases()) == 159
    for n in range(159):
        assert phase(n).number == n
        assert phase(phase(n).name).number == n
    assert phase(22).name == "OriLoopUnrolling"
    assert phase(7).is_noop
    assert phase(16).passes == ("dce",)
    with pytest.raises(NvirError, match="0 to 158"):
        phase(159)
    with pytest.raises(NvirError, match="did you mean 'OriLoopUnrolling'"):
        phase("OriLoopUnroling")


@pytest.mark.seed("DIA-12")
def test_dump_names_mean_phases():
    assert phases.DUMP_NAMES == {
        "LoopUnrolling": (22,), "HoistInvariants": (35, 66, 79, 88), "LoopFusion": (59,)
    }
    assert phase("LoopUnrolling").number == 22
    assert pass_names("dce") == ("dce",)
    assert pass_names("OriPerformLiveDeadFirst") == ("dce",)
    assert pass_names("HoistInvariants") == tuple(
        p.name for p in all_passes().values() if set(p.phases) & {35, 66, 79, 88}
    )
