"""Files that the tests of the page look at, and how to open them."""

from __future__ import annotations

from pathlib import Path

from nvir.explore.data import Version
from nvir.explore.options import Options

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SGEMM = EXAMPLES / "sgemm.ptx"
LOOP = "$L__BB0_2"
# A kernel, a register, a file and a comment whose names are markup, and the end of a script.
NASTY = r"""
.version 8.0
.target sm_80
.address_size 64
// </script><img src=x onerror="document.title='owned'"> <!-- ]]>
.file 1 "</script><b id=owned>.cu"
.visible .entry k(.param .u64 p, .param .u32 n)
{
 .reg .pred %p1; .reg .f32 %f1, %f2; .reg .b32 %r1, %r2; .reg .b64 %rd1;
 .loc 1 3 0
 ld.param.u64 %rd1, [p];
 ld.param.u32 %r2, [n];
 mov.u32 %r1, 0;
 mov.f32 %f1, 0f00000000;
$L:
 ld.global.f32 %f2, [%rd1];
 fma.rn.f32 %f1, %f2, %f1, %f2;
 add.s64 %rd1, %rd1, 4;
 add.s32 %r1, %r1, 1;
 setp.lt.s32 %p1, %r1, %r2;
 @%p1 bra $L;
 st.global.f32 [%rd1], %f1;
 ret;
}
"""


def version(path: Path = SGEMM, **options: object) -> Version:
    """A file as the page opens it; only predictions unless `model=False`."""
    made = Options(folders=(path.parent,), **{"model": True, **options})  # type: ignore[arg-type]
    return Version(path.read_text("utf-8"), str(path), made)
