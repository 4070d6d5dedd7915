"""`nvir fmt`: one layout, comments kept, and nothing but white space changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from corpus import examples

import nvir
from nvir.cli import main
from nvir.ptx.layout import laid_out

UGLY = """.version 8.0
.target sm_80 // t
.address_size 64


// of k
.visible   .entry k( .param .u64 a,
 .param .u32 n ) {
.reg .b32 %r<3>;  .reg .b64 %d<2>; // regs
L: add.s32 %r1,%r2 ,1; /* x */ mov.b64 { %r1,%r2 }, %d1;
 @%p1   bra L; { ld.global.u32 %r1 , [ %d1 + 4 ]; }
.pragma "no  unroll"; ret; }
"""
NICE = """.version 8.0
.target sm_80 // t
.address_size 64

// of k
.visible .entry k(.param .u64 a, .param .u32 n)
{
	.reg .b32 %r<3>;
	.reg .b64 %d<2>; // regs
L:
	add.s32	%r1, %r2, 1; /* x */
	mov.b64	{%r1, %r2}, %d1;
	@%p1 bra	L;
	{
	ld.global.u32	%r1, [%d1+4];
	}
	.pragma "no  unroll";
	ret;
}
"""


def test_the_layout() -> None:
    assert laid_out(UGLY) == NICE == laid_out(NICE)


INSIDE = """.version 8.0
.visible .entry k(.param .u64 a, // first
  .param .u32 n /* s */)
{
L:
	add.s32 %r1, // b
  1,  %r2;
	mov.b64	{%r1, %r2}, %d1; // c
	add.s32 %r1,/* {;} */ %r2;
}
.global .u32 a[2] = { 1, /* x */  2 };
"""


def test_a_statement_with_comments_inside_stays() -> None:
    text = INSIDE.replace("L:\n\t", "  L:  ").replace("{%r1, %r2}, ", " { %r1,%r2} ,")
    assert laid_out(text) == INSIDE == laid_out(INSIDE)


@pytest.mark.parametrize("path", examples("s*.ptx"), ids=lambda p: p.stem)
def test_it_is_the_same_program(path: Path) -> None:
    text = path.read_text()
    made = laid_out(text)
    assert laid_out(made) == made
    assert nvir.print_ptx(nvir.read_ptx(made.encode())) == \
        nvir.print_ptx(nvir.read_ptx(text.encode()))


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(UGLY)
    assert CliRunner().invoke(main, ["fmt", str(file)]).output == NICE
    assert CliRunner().invoke(main, ["fmt", "--check", str(file)]).exit_code == 1
    assert CliRunner().invoke(main, ["fmt", "--in-place", str(file)]).exit_code == 0
    assert file.read_text() == NICE
    assert CliRunner().invoke(main, ["fmt", "--check", str(file)]).exit_code == 0


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_a_preset_of_ptx_is_what_of_it_is_for_ptx(level: str) -> None:
    module = nvir.read_ptx(examples("horner.sm_80.ptx")[0])
    nvir.run_passes(module, f"default<{level}>", verify=True)
    with pytest.raises(nvir.NvirError, match="'sroa' on level ori"):
        nvir.run_passes(module, "sroa")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("w.ptx", b"garbage {\n", "is no PTX"), ("w.cu", b"int x;\n", "is no PTX"),
    ("w.bin", b"\x7fELF\x02\x00\x01", "binary"),
])
def test_what_is_no_ptx_is_left_as_it_is(name: str, content: bytes, said: str, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(content)
    done = CliRunner().invoke(main, ["fmt", "--in-place", str(file)])
    assert done.exit_code == 1
    assert said in done.output
    assert file.read_bytes() == content
