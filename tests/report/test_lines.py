"""The listing by line: counts, glyphs, columns, source places, the peak and its reasons."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from corpus import EXAMPLES, examples
from rich.console import Console

import nvir
from nvir.analysis.places import SourceLines
from nvir.analysis.pressure import register_pressure
from nvir.ir import Module
from nvir.ir.builder import Builder
from nvir.report.lines import LineListing, line_listing, module_json
from nvir.report.listing import listing_text
from nvir.report.places import LARGEST_SOURCE, source_text
from nvir.report.table import print_lines

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
.loc 1 3 1
ld.param.u64 %rd1, [a];
ld.param.u32 %r9, [n];
.loc 1 4 1
ld.global.u32 %r7, [%rd1];
mov.u32 %r1, 0;
mov.u32 %r2, 0;
$L:
.loc 1 5 1
mad.lo.s32 %r2, %r1, %r1, %r2;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, %r9;
@%p1 bra $L;
.loc 1 6 1
add.s32 %r2, %r2, %r7;
st.global.u32 [%rd1], %r2;
ret;
}
.file 1 "k.cu"
""".replace("%r<9>", "%r<10>")


@pytest.fixture
def listing() -> LineListing:
    module = nvir.read_ptx(PTX)
    return line_listing(module.functions[0], module, PTX.splitlines())


def test_each_instruction_has_its_line_text_and_count(listing: LineListing) -> None:
    rows = {r.line: r for r in listing.rows if r.instruction is not None}
    p = register_pressure(listing.function)
    expected = {i.line: n for i, n in zip(p.instructions, p.counts, strict=True) if not i.is_phi}
    assert {n: r.live for n, r in rows.items() if n} == {n: c for n, c in expected.items() if n}
    assert rows[17].text == "add.s32 %r1, %r1, 1;"


def test_glyphs_are_those_of_nvdisasm(listing: LineListing) -> None:
    rows = {r.line: r for r in listing.rows if r.instruction is not None}
    assert rows[8].marks == {"%rd1": "^"}
    assert rows[17].marks["%r1"] == "x"
    assert rows[17].marks["%r7"] == ":"
    assert rows[18].marks == {
        "%p1": "^", "%r1": "v", "%r9": "v", "%rd1": ":", "%r7": ":", "%r2": ":"
    }
    assert "%r9" not in rows[22].marks


def test_a_column_holds_one_register_at_a_time(listing: LineListing) -> None:
    for row in listing.rows:
        columns = [listing.columns[n] for n in row.marks]
        assert len(columns) == len(set(columns))


def test_the_peak_tells_who_is_alive_and_why(listing: LineListing) -> None:
    assert listing.peak is not None
    assert listing.peak_place == "k.cu:5"
    why = {v.name: v.why for v in listing.at_peak}
    assert why["%r1"] == "carried around loop $L"
    assert why["%r7"] == "only passes through loop $L, used behind it"
    assert "%rd1" not in why  # a kernel parameter is in the constant bank
    loaded = next(v for v in listing.at_peak if v.name == "%r7")
    assert (loaded.type, loaded.registers, loaded.defined, loaded.last_use) == ("b32", 1, 11, 21)


def test_the_text_has_legend_peak_and_sources(listing: LineListing, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("\n\n\nsum += v;\nfor (;;)\n")
    text = listing_text(listing, source_text(listing.source.paths, [tmp_path]))
    assert "^ written  v read  x both  : alive" in text
    assert text.count("◀ peak") == 1
    assert "── k.cu:4 sum += v;" in text
    assert "live at the peak (line" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_no_file_outside_the_folders_is_read(tmp_path: Path) -> None:
    """PTX may name any file: the system's, a pipe that never ends, a link that leads outside."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("x")
    (inside / "sub" / "a.cu").write_text("a")
    (inside / "link").symlink_to(outside / "secret")
    os.mkfifo(inside / "pipe")
    with open(inside / "large", "wb") as f:
        f.truncate(LARGEST_SOURCE + 1)
    names = ["sub/a.cu", str(inside / "sub" / "a.cu"), str(outside / "secret"), "../out/secret",
             "link", "pipe", "/dev/zero", "large", "", ".", "a\0b"]
    found = source_text(dict(enumerate(names)), [inside])
    assert found == {0: ["a"], 1: ["a"]}
    assert source_text({1: "/build/secret"}, [inside, outside]) == {1: ["x"]}


def test_json_has_the_same_facts(listing: LineListing) -> None:
    document = module_json([listing], "sm_80")
    (f,) = document["functions"]
    assert document["schema"] == "nvir.lines/1"
    assert f["peak"]["source"] == "k.cu:5"
    assert {v["name"] for v in f["peak"]["values"]} == {v.name for v in listing.at_peak}
    assert [x["line"] for x in f["lines"]] == [r.line or None for r in listing.rows]


def test_places_of_inlined_calls_lead_to_the_kernel() -> None:
    path = EXAMPLES / "blur_texture.sm_80.ptx"
    module = nvir.read_ptx(path)
    f = module.functions[0]
    source = SourceLines(f, module, path.read_text().splitlines())
    fetch = next(i for i in f.instructions() if i.form.name == "tex")
    assert [name for name, _ in source.places(fetch)][::2] == [
        "texture_indirect_functions.h", "blur_texture.cu"
    ]
    place = source.place(fetch)
    assert place is not None
    assert place.startswith("blur_texture.cu:")


@pytest.mark.parametrize("path", examples()[::5], ids=lambda p: p.stem)
def test_real_kernels_are_listed_whole(path: Path) -> None:
    module = nvir.read_ptx(path)
    for f in module.functions:
        if f.blocks:
            made = line_listing(f, module, path.read_text().splitlines())
            shown = [r.instruction for r in made.rows if r.instruction is not None]
            assert shown == [i for i in f.instructions() if not i.is_phi]
            assert made.peak is not None
            assert all(v.why for v in made.at_peak)
            if made.peak is not None and made.at_peak:  # every register has an owner
                held = sum(v.registers for v in made.at_peak)
                assert held == made.peak.scheduled, made.function.name
            assert str(f.name) in listing_text(made)


def test_a_function_built_by_hand_has_no_lines() -> None:
    m = Module("sm_80")
    f = m.kernel("k", [("a", "ptr.global.f32")])
    Builder(f.block("entry")).ret()
    made = line_listing(f, m)
    assert made.max_live == 0
    assert made.peak_place is None


def test_columns_are_no_emoji_on_a_terminal():
    out = io.StringIO()
    print_lines([("::v::", ""), (":x:", "red")], Console(file=out, force_terminal=True))
    assert "::v::" in out.getvalue()
    assert ":x:" in out.getvalue()


HEAD_OF_ONE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
.reg .b32 %r<3>;
"""


def test_of_a_line_of_many_instructions_each_is_shown_itself() -> None:
    for n, shown in ((2, "mov.u32 %r1, 1; mov.u32 %r1, 1;"), (200, "%r1: b32 = mov.u32 1")):
        text = HEAD_OF_ONE + "mov.u32 %r1, 1; " * n + "\nret;\n}\n"
        module = nvir.read_ptx(text)
        rows = line_listing(module["k"], module, text.splitlines()).rows
        assert rows[1].text == shown
        assert sum(len(r.text) for r in rows) < 10_000
