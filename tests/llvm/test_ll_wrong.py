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
from nvir.ir.errors import NvirError, ParseError

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
    if isinstance(caught.value, ParseError):
        first = caught.value.errors[0]
        assert first.message
        assert first.line >= 1
        assert first.col >= 1
    else:
        assert "@" in str(caught.value) or "at <text>:" in str(caught.value)


@pytest.mark.parametrize("kind", sorted(TAKEN))
def test_what_nvir_takes_all_the_same_is_read(kind: str) -> None:
    nvir.read_ll(KINDS[kind])


@pytest.mark.skipif(shutil.which("llvm-as-19") is None, reason="llvm-as-19 is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_llvm_refuses_it_too(kind: str) -> None:
    done = subprocess.run(["llvm-as-19", "-o", "/dev/null", "-"], input=KINDS[kind], text=True,
                          capture_output=True, check=False)
    assert done.returncode != 0
