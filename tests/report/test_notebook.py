"""What a notebook shows of modules, functions and schedules."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import nvir
from nvir.ir import Module
from nvir.ir.errors import NvirError
from nvir.report import pictures
from nvir.sm.loopgraph import loop_graph
from nvir.sm.schedule.loops import schedule_loop

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def horner() -> Module:
    return nvir.read_ptx(EXAMPLES / "ptx" / "horner.sm_80.ptx")


@pytest.fixture
def drawn(monkeypatch):
    """A renderer that is always there: it gives the DOT text back as a comment."""
    picture = '<?xml version="1.0"?>\n<svg width="100pt" height="60pt"><title>{}</title></svg>'
    monkeypatch.setattr(
        "nvir.report.notebook.svg", lambda dot: picture.format(dot.count("shape=record"))
    )


def test_a_function_shows_its_report_above_its_graph(horner, drawn):
    shown = horner["horner"]._repr_html_()
    assert "62 instructions" in shown
    assert "horner_fixed" not in shown
    assert shown.index("</pre>") < shown.index("<svg ")
    assert "<?xml" not in shown


def test_a_module_shows_all_of_its_functions_one_below_another(horner, drawn):
    picture = ET.fromstring(horner._repr_svg_())
    inner = [x for x in picture if x.tag.endswith("svg")]
    assert [x.get("y") for x in inner] == ["0", "104"]
    assert (picture.get("width"), picture.get("height")) == ("133", "184")
    shown = horner._repr_html_()
    assert "kernel horner\n" in shown
    assert "kernel horner_fixed" in shown


def test_a_module_of_many_functions_says_which_are_not_drawn(drawn):
    m = Module("sm_80")
    for k in range(10):
        f = m.kernel(f"k{k}")
        nvir.ir.builder.Builder(f.block("entry")).ret()
    shown = m._repr_html_()
    assert shown.count("<svg ") == 9
    assert "not drawn: k8, k9" in shown


def test_where_nothing_renders_the_text_stands_alone(horner, monkeypatch):
    def fails(dot: str) -> str:
        raise NvirError("SVG needs Graphviz")

    monkeypatch.setattr("nvir.report.notebook.svg", fails)
    assert horner._repr_svg_() is None
    assert horner["horner"]._repr_svg_() is None
    assert "<svg" not in horner._repr_html_()
    assert "62 instructions" in horner._repr_html_()


def test_a_declaration_and_the_level_nvvm_have_something_to_show(drawn):
    m = nvir.read_ll("define void @f(i32 %x) {\n  ret void\n}\ndeclare void @g()\n")
    assert "nvvm" in m._repr_html_()
    assert "&lt;" not in m._repr_html_()
    assert m["f"]._repr_svg_() is not None
    assert m["g"]._repr_svg_() is None
    assert "Function" in m["g"]._repr_html_()


def test_a_schedule_shows_table_and_picture(horner):
    f = horner["horner"]
    f.analyze_cfg()
    made = schedule_loop(loop_graph(f.loops()[1], nvir.sm.profile("sm_80")))
    assert "II 24" in made._repr_svg_()
    assert ET.fromstring(made._repr_svg_()).tag.endswith("svg")
    shown = made._repr_html_()
    assert "mod 24" in shown
    assert shown.index("</pre>") < shown.index("<svg ")


@pytest.mark.skipif(not pictures.shutil.which("dot"), reason="no dot installed")
def test_real_pictures_are_well_formed(horner):
    ET.fromstring(horner._repr_svg_())
    ET.fromstring(f"<div>{horner['horner']._repr_html_()}</div>")


def test_a_report_shows_itself_as_text() -> None:
    from nvir.report import report

    path = Path(__file__).resolve().parents[2] / "examples" / "ptx" / "saxpy.sm_80.ptx"
    made = report(nvir.read_ptx(path))
    assert "kernel saxpy" in made._repr_html_()
    assert "\x1b" not in made._repr_html_()
