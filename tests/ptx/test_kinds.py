"""Kinds of broken PTX and what is near them and right, held to what ptxas 13.0 says of each.

`python benchmarks/broken_ptx.py` asks ptxas again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.ptx.check import check

sys.path.insert(0, str(Path(__file__).resolve().parent))

import broken

# ptxas takes these, which no page of the ISA allows, or which its own grammar reads otherwise.
ODD = (
    ".global .f32 a = 1.0 + 2.0", "0x1FFFFFFFFFFFFFFFF", ".m8n8.x8", "suld.b.4d", "%r01",
    "%f1, .5;", ".target sm_90",
    "subc.sat",
)


def _said(arch, text):
    return [d for _, d in check(text) if d.severity == "error"]


@pytest.fixture(scope="module")
def told():
    return [(said, text, _said(arch, module)) for said, text, module, arch in broken.kinds()]


@pytest.mark.parametrize("where", ["module", "statement"])
def test_what_ptxas_refuses_is_refused_at_its_line(told, where):
    of_modules = where == "module"
    lines = [(said, [d.line for d in found]) for said, text, found in told
             if said != "0" and text.startswith(("M", "F:")) == of_modules]
    hits = sum(bool(found) if said == "?" else int(said) in found for said, found in lines)
    assert len(lines) > (500 if of_modules else 900)
    assert hits >= 0.95 * len(lines)


def test_what_ptxas_takes_is_taken(told):
    wrong = [(text, found[0].message) for said, text, found in told if said == "0" and found]
    assert sum(said == "0" for said, _, _ in told) > 1000
    assert [w for w in wrong if not any(odd in w[0] for odd in ODD)] == []


def test_every_error_has_its_place_and_its_line(told):
    for _, text, found in told:
        for d in found:
            assert d.message, text
            assert d.line == 0 or d.col >= 1, text


def test_verify_each_begins_with_the_rules_of_check(tmp_path):
    file = tmp_path / "k.ptx"
    text = next(module for said, _, module, _ in broken.kinds() if said == "0")
    file.write_text(text)
    asked = ["opt", str(file), "--verify-each", "--emit", "none"]
    assert CliRunner().invoke(main, asked).exit_code == 0
    file.write_text(text + ".global .u32 c = 1.5;\n")
    run = CliRunner().invoke(main, asked)
    assert run.exit_code == 1
    assert "takes an integer as its initial value" in run.output
