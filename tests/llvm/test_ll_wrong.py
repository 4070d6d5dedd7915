"""Text that llvm-as refuses is refused, each kind with a place and a reason.

wrong_text.ll holds the kinds, each below a line `;;; name`. They are written from the Language
Reference and LLVM 19's parser; a test asks llvm-as itself where it is installed.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

import nvir
from nvir.ir.errors import NvirError, ParseError, Unsupported, VerifyError
from nvir.passes.presets import preset

_PARTS = re.split(r"^;;; (.*)\n", (pathlib.Path(__file__).parent / "wrong_text.ll").read_text(),
                  flags=re.MULTILINE)[1:]
KINDS = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))
# What LLVM refuses and nvir takes: words of attributes that may be newer than it, and what only
# a count of all uses would tell.
TAKEN = {
    "attribute group: unknown word", "uselistorder: too many for the uses",
}


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in TAKEN])
def test_a_wrong_text_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(NvirError) as caught:
        nvir.verify(nvir.read_ll(KINDS[kind]))
    e = caught.value
    assert isinstance(e, ParseError | Unsupported | VerifyError)
    first = e.errors[0] if isinstance(e, ParseError) else e.place
    assert first is not None
    assert first.line >= 1
    assert first.col >= 1
    assert first.source.strip() in KINDS[kind]


def test_what_selection_does_not_take_has_the_line_of_the_text() -> None:
    module = nvir.read_ll("""define ptx_kernel void @k(ptr %p) {
  %x = load i64, ptr %p
  %y = call i64 @llvm.none.i64(i64 %x)
  store i64 %y, ptr %p
  ret void
}
declare i64 @llvm.none.i64(i64)
""")
    with pytest.raises(Unsupported, match=r"<text>:3:3: error: .*llvm\.none\.i64 at k\n +%y ="):
        nvir.run_passes(module, preset(3))


@pytest.mark.parametrize("kind", sorted(TAKEN))
def test_what_nvir_takes_all_the_same_is_read(kind: str) -> None:
    nvir.read_ll(KINDS[kind])


@pytest.mark.skipif(shutil.which("llvm-as-19") is None, reason="llvm-as-19 is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_llvm_refuses_it_too(kind: str) -> None:
    done = subprocess.run(["llvm-as-19", "-o", "/dev/null", "-"], input=KINDS[kind], text=True,
                          capture_output=True, check=False)
    assert done.returncode != 0
