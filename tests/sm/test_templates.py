"""Templates: every row has one or is listed, and the real assembler agrees with them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import nvir.ir.opcodes.ori  # noqa: F401
from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.form import form
from nvir.ptx.reader import read_ptx
from nvir.sm import machine, profile
from nvir.sm.templates import Shape, rows_with_rules, template
from nvir.sm.templates.table import fixed, parse, rule
from nvir.toolchain import available

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "ptx").glob("*.ptx"))
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")

# Rows without a template: no fixed sequence of operations, or none seen yet.
LACKING = frozenset((
    "alloca", "clusterlaunchcontrol.query_cancel", "clusterlaunchcontrol.try_cancel", "istypep",
    "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk", "st.bulk", "tcgen05.ld.red",
    "tensormap.cp_fenceproxy", "unknown", "vabsdiff2", "vadd2", "vadd4", "vavrg2", "vavrg4",
    "vmad", "vmax2", "vmax4", "vmin2", "vmin4", "vset", "vset2", "vset4", "vsub2", "vsub4",
))


def test_rows_without_a_template_are_those_that_are_listed():
    rows = {name for name, op in ORI.rows.items() if not op.pseudo}
    assert rows - rows_with_rules() == LACKING
    assert rows_with_rules() <= rows


def families(spelling, shape, literals=(None, None, None), arch="sm_80"):
    found = template(Shape(form(spelling, shape), tuple(literals), profile(arch).features))
    return [step.family for step in found if step.family != "="]


THREE = "%s, %s, %s"


def test_64_bit_sums_are_two_halves_joined_by_a_carry():
    low, high = template(Shape(form("add.s64", THREE), (None, None), profile("sm_80").features))
    assert (low.family, high.family) == ("IADD3", "IADD3.X")
    carry = low.results[1]
    assert carry in high.sources
    assert [s[2] for s in low.sources] == [0, 0]


@pytest.mark.parametrize(
    ("spelling", "literals", "wanted"),
    [
        ("add.s32", (None, None), ["IADD"]),
        ("add.s32", (None, 0), []),
        ("mul.lo.s32", (None, None), ["IMAD"]),
        ("mul.lo.s32", (None, 8), ["SHF"]),
        ("mul.lo.s32", (None, 12), ["IMAD"]),
        ("mul.wide.s32", (None, 4), ["IMAD.WIDE"]),
        ("add.f32", (None, None), ["FADD"]),
        ("sub.f64", (None, None), ["DADD"]),
        ("and.b64", (None, 12), ["LOP3", "MOV"]),
        ("and.b64", (None, None), ["LOP3", "LOP3"]),
        ("setp.lt.s64", (None, None), ["ISETP", "ISETP"]),
        ("setp.lt.s64", (None, 0), ["ISETP"]),
        ("setp.gt.s64", (None, 0), ["ISETP", "ISETP"]),
        ("min.s64", (None, None), ["ISETP", "ISETP", "SEL", "SEL"]),
        ("shl.b64", (None, 2), ["SHF", "SHF"]),
        ("div.approx.ftz.f32", (None, None), ["MUFU", "FMUL"]),
    ],
)
def test_what_a_row_becomes(spelling, literals, wanted):
    assert families(spelling, THREE, literals) == wanted


def test_architectures_differ_where_the_machines_do():
    assert families("cvt.rn.f32.s32", "%s, %s", (None,), "sm_80") == ["I2F"]
    assert families("cvt.rn.f32.s32", "%s, %s", (None,), "sm_90") == ["I2FP"]
    assert families("cvt.rm.f32.s32", "%s, %s", (None,), "sm_90") == ["I2F"]


def test_slow_paths_are_marked_rare():
    steps = template(Shape(form("div.rn.f32", THREE), (None, None), profile("sm_80").features))
    rare = [s.family for s in steps if s.rare]
    assert rare == ["MOV", "CALL"]
    assert "CALL" not in [s.family for s in steps if not s.rare]


def test_a_text_that_is_no_template_is_refused():
    with pytest.raises(ValueError, match="'x9' is no operand"):
        parse("IADD x9, a")
    with pytest.raises(ValueError, match="two templates for the row 'add'"):
        rule("add")(lambda shape: None)
    with pytest.raises(ValueError, match="two templates for the row 'bra'"):
        fixed({"bra": "BRA"})


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_operation_of_the_examples_is_one_that_the_machine_has(arch):
    p = profile(arch)
    for path in EXAMPLES:
        target = int(path.name.split(".")[-2][3:])
        if target > p.capability:
            continue
        for function in read_ptx(path).functions:
            for op in machine(function, p, strict=True):
                assert p.has(op.family), f"{op.family} of {op.parent} in {path.name}"


def benchmark():
    spec = importlib.util.spec_from_file_location("templates", ROOT / "benchmarks/templates.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules["templates"] = found
    spec.loader.exec_module(found)
    return found


@pytest.mark.oracle
@pytest.mark.skipif(
    not (available("ptxas") and available("nvdisasm")), reason="needs ptxas and nvdisasm"
)
@pytest.mark.parametrize(("arch", "exact"), [("sm_80", 0.98), ("sm_90a", 0.97), ("sm_100a", 0.97)])
def test_the_assembler_makes_the_operations_that_are_predicted(arch, exact):
    """Of a sample of the examples' uses, weighted by how often they occur."""
    b = benchmark()
    uses = b.trimmed(b.uses_of(EXAMPLES[::4]), 1)
    found = list(b.outcomes(b.Counter(dict(uses.most_common(120))), arch))
    assert len(found) > 80
    assert all(o.expected is not None for o in found)
    weight = sum(o.weight for o in found)
    wrong = [o for o in found if not o.exact]
    text = "\n".join(f"{o.use}: {o.difference}" for o in wrong)
    assert sum(o.weight for o in wrong) <= (1 - exact) * weight, text
