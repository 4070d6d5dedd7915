"""Names, hovers, hints and edits of one version of a text, without an editor."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from nvir.ir import NvirError
from nvir.loading import load
from nvir.lsp import answers
from nvir.lsp.document import Document
from nvir.lsp.hover import hover
from nvir.lsp.outline import Lines
from nvir.report.model import report

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/ptx"

PTX = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[64];
.visible .entry one(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
again:
	add.s32 %r2, %r2, 1;
	{ .reg .b32 %r2; mov.u32 %r2, %tid.x; st.global.u32 [%rd1], %r2; }
	setp.lt.s32 %p1, %r2, 16;
	@%p1 bra again;
	st.global.u32 [%rd1], %r2;
	ret;
}
.visible .entry two(.param .u64 p)
{
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	ret;
}
"""
LL = """target triple = "nvptx64-nvidia-cuda"
define void @f(ptr %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %q = getelementptr float, ptr %p, i32 %i
  %v = load float, ptr %q
  store float %v, ptr %p
  %j = add i32 %i, 2
  %c = icmp slt i32 %j, 16
  br i1 %c, label %loop, label %out
out:
  ret void
}
define void @g(i32 %i) {
  ret void
}
"""
CU = r"""__global__ void k(int *p, int a) {
    int b;
    asm volatile("{ .reg .b32 %%t<4>; // it
                 "add.s32 %%t1, %1, 5;\n\t"
                 "L: setp.lt.s32 %%p, %%t1, 3;\n\t"
                 "@%%p bra L; add.s32 %0, %%t1, %1; }" : "=r"(b) : "r"(a + 1));
}
""".replace(" // it", r'\n"')


def asked(text, word, nth=1, file="k.ptx"):
    """A document and the offset of the nth place of a word."""
    k = -1
    for _ in range(nth):
        k = text.index(word, k + 1)
    return Document(text, file), k


def lines(doc, spans):
    return [doc.lines.position(s[0])[0] + 1 for s in spans]


@pytest.mark.parametrize(("word", "nth", "defined", "declared", "mentions"), [
    ("%r2, 16", 1, [14], [8], [12, 14, 14, 16, 18]),  # the outer one, as the add writes it
    ("%r2, %r2", 1, [12, 14], [8], None),  # written here: every place that writes it
    ("%r2; }", 1, [15], [15], [15, 15, 15]),  # the one of the inner braces
    ("again;", 1, [13], [13], [13, 17]),
    ("p];", 2, [21], [21], [21, 24]),  # the second kernel's own parameter
    ("table", 1, [4], [4], [4]),
    ("1;", 1, [], [], []), ("%tid", 1, [], [], []),
])
def test_names_by_scope(word, nth, defined, declared, mentions):
    doc, at = asked(PTX, word, nth)
    assert lines(doc, answers.definitions(doc, at)) == defined
    assert lines(doc, answers.declarations(doc, at)) == declared
    if mentions is not None:
        assert lines(doc, [s for s, _ in answers.references(doc, at)]) == mentions


def test_what_reaches_a_read_goes_through_phis():
    doc, at = asked(PTX, "%r2, 1;")
    assert lines(doc, answers.definitions(doc, at)) == [12, 14]
    broken, at = asked(PTX.replace("ret;", "ret", 1), "%r2, 1;")  # not read: all that writes it
    assert lines(broken, answers.definitions(broken, at)) == [12, 14]


def renamed(text, word, new, file="k.ptx", nth=1):
    doc, at = asked(text, word, nth, file)
    for (start, end), put in sorted(answers.rename(doc, at, new), reverse=True):
        text = text[:start] + put + text[end:]
    return text


def test_renaming():
    got = renamed(PTX, "again", "$more")
    assert got == PTX.replace("again", "$more")
    got = renamed(PTX, "%r2, 16", "%sum")  # of a range: declared by itself, others stay
    assert Document(got, "k.ptx").findings() == []
    assert ".reg .b32 %r<8>;\n\t.reg .b32\t%sum;" in got
    assert "mov.u32 %r2, %tid.x" in got
    assert "setp.lt.s32 %p1, %sum" in got
    assert renamed(LL, "%i =", "k", "k.ll").count("%k") == 3
    assert "@g(i32 %i)" in renamed(LL, "%i =", "k", "k.ll")
    assert renamed(CU, "L;", "M", "k.cu") == CU.replace("L:", "M:").replace("L;", "M;")


@pytest.mark.parametrize(("text", "word", "new", "file"), [
    (PTX, "again", "add", "k.ptx"), (PTX, "again", "p", "k.ptx"), (PTX, "again", "a b", "k.ptx"),
    (PTX, "%tid", "%x", "k.ptx"), (CU, "%1", "%x", "k.cu"), (CU, "%%t1", "%x", "k.cu"),
    (LL, "%i =", "j", "k.ll"),
])
def test_names_that_will_not_do(text, word, new, file):
    with pytest.raises(NvirError):
        renamed(text, word, new, file)


def test_hovers_say_types_registers_and_why():
    doc, at = asked(PTX, "setp")
    text, span = hover(doc, at)
    assert PTX[slice(*span)] == "setp.lt.s32"
    assert "a comparison" in text
    assert "| `%r2` | a, read | s32 |" in text
    assert "3 registers live before, 3 behind" in text
    assert "| `%rd1` | b64 | 10 | 18 | invariant in loop again, used at line 15 |" in text
    assert "next value of %r2 in loop again" in text
    assert "trip 16" in hover(*asked(PTX, "again;"))[0]
    assert "special register of type u32" in hover(*asked(PTX, "%tid"))[0]
    assert "register of type b64" in hover(*asked(PTX, "%rd1,"))[0]
    assert hover(*asked(PTX, "0;")) is None
    assert "does not know" in hover(*asked(PTX.replace("setp.lt", "setq.lt"), "setq"))[0]


def test_hints_are_the_figures_of_the_report():
    file = EXAMPLES / "softmax.sm_80.ptx"
    doc = Document(file.read_text("utf-8"), file.name, arch="sm_80")
    told = [h.text for h in answers.hints(doc, (0, len(doc.text)))]
    for f in report(load(file)).functions:
        assert f"{f.predicted} registers predicted · live {f.max_live}" in told
        for x in f.loops:
            trip = "unknown" if x.trip_count is None else x.trip_count
            assert any(t.startswith(f"loop · trip {trip} · live {x.max_live}") for t in told)
    every = [h.text for h in answers.hints(doc, (0, len(doc.text)), "lines")]
    assert len(every) > 100
    assert not list(answers.hints(doc, (0, len(doc.text)), "none"))


def test_loops_of_numbered_blocks():
    # as release builds of clang have it
    numbered = LL.replace("%loop", "%0").replace("loop:", "0:")
    doc, at = asked(numbered, "0:", file="k.ll")
    assert [h.text for h in answers.hints(doc, (0, len(numbered)))][1] == "loop · trip 8 · live 5"
    assert "header of a loop" in hover(doc, at)[0]
    loops = [n for f in answers.symbols(doc) for n in f.children if n.kind == "loop"]
    assert [n.name for n in loops] == ["0"]


def test_llvm_text():
    doc, at = asked(LL, "%j, 16", file="k.ll")
    assert lines(doc, answers.definitions(doc, at)) == [10]
    assert lines(doc, [s for s, _ in answers.references(doc, at)]) == [6, 10, 11]
    assert [h.text for h in answers.hints(doc, (0, len(LL)))][1] == "loop · trip 8 · live 5"
    assert "an i1" in hover(*asked(LL, "br i1", file="k.ll"))[0]
    names = [c.name for c in answers.symbols(doc)[0].children]
    assert names == ["entry", "loop", "out"]


def test_assembly_in_cuda():
    doc, at = asked(CU, "%1", file="k.cu")
    assert "operand `\"r\"(a + 1)`, b32" in hover(doc, at)[0]
    (span,) = answers.definitions(doc, at)
    assert CU[slice(*span)] == '"r"(a + 1)'
    assert [CU[slice(*s)] for s, _ in answers.references(*asked(CU, "%%t1", file="k.cu"))] == [
        "%%t1"] * 3
    (symbol,) = answers.symbols(doc)
    assert symbol.name == "add.s32 %t1, %1, 5; …"
    assert hover(*asked(CU, "int b", file="k.cu")) is None
    assert [d.line for _, d in doc.findings()] == [5, 6]  # %p is declared nowhere


def test_a_broken_text_keeps_what_parses():
    for broken in (PTX.replace("mov.u32 %r2, 0;", "mov.u32 %r2,"), PTX.replace("}\n.vis", ".vis")):
        doc = Document(broken, "k.ptx")
        assert doc.findings()
        one, two = [s for s in answers.symbols(doc) if s.kind == "kernel"]
        assert [c.name for c in one.children] == ["again"]
        assert (two.name, two.detail.split(" · ")[1]) == ("two", "live 2")
    for text in ("", "}}}{{{", '"', ".entry", ".visible .entry x(", "@", "%", "\x00", "L:" * 9):
        for file in ("k.ptx", "k.ll", "k.cu"):
            for shown in (text, f'asm("{text}" :: "r"(', f"define void @f(%x) {{\n{text}"):
                doc = Document(shown, file)
                doc.findings(), answers.tokens(doc), answers.symbols(doc), list(answers.folds(doc))
                for k in range(len(shown)):
                    hover(doc, k), answers.definitions(doc, k), answers.references(doc, k)


@pytest.mark.parametrize(("text", "file", "expected"), [
    (PTX, "k.ptx", [(".version", "type"), ("8.0", "number"), ("one", "function"),
                    ("p", "parameter"), ("setp.lt.s32", "keyword"), ("%p1", "variable"),
                    ("again", "macro")]),
    (LL, "k.ll", [("void", "type"), ("@f", "function"), ("%j", "variable"), ("icmp", "keyword"),
                  ("%loop", "macro"), ("16", "number")]),
    (CU, "k.cu", [("add.s32", "keyword"), ("%%t1", "variable"), ("L", "macro")]),
])
def test_colours(text, file, expected):
    doc = Document(text, file)
    made = answers.tokens(doc)
    got = [(text[slice(*s)], kind) for s, kind in made]
    assert all(pair in got for pair in expected)
    assert all(a[0][1] <= b[0][0] for a, b in itertools.pairwise(made))
    assert not any("\n" in word for word, _ in got)


def test_facts_of_a_function_that_did_not_change_are_kept():
    old = Document(PTX, "k.ptx")
    list(answers.hints(old, (0, len(PTX))))
    new = Document(PTX.replace("[p];\n\tret", "[p] ;\n\tret"), "k.ptx", known=old.facts_by_text)
    list(answers.hints(new, (0, len(new.text))))
    same = [x is y for x, y in zip(
        old.facts_by_text.values(), new.facts_by_text.values(), strict=True)]
    assert same == [True, False]
    moved = Document(PTX.replace("sm_80", "sm_90"), "k.ptx", known=old.facts_by_text)
    list(answers.hints(moved, (0, len(moved.text))))
    assert not set(map(id, moved.facts_by_text.values())) & set(
        map(id, old.facts_by_text.values()))


def test_places_count_as_editors_do():
    at = Lines("a😀b\r\n\tc\n")
    assert [at.position(k) for k in (0, 1, 2, 3, 5, 6)] == [
        (0, 0), (0, 1), (0, 3), (0, 4), (1, 0), (1, 1)]
    assert [at.offset(*p) for p in ((0, 3), (0, 99), (1, 1), (7, 0))] == [2, 3, 6, 8]
