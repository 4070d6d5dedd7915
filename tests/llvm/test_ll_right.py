"""Text that llvm-as takes is read and printed again, each kind of it: words, numbers, orders.

right_text.ll holds the kinds, each below a line `;;; name`, written from the Language Reference.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

import nvir

_PARTS = re.split(r"^;;; (.*)\n", (pathlib.Path(__file__).parent / "right_text.ll").read_text(),
                  flags=re.MULTILINE)[1:]
KINDS = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_text_is_read_and_printed_again(kind):
    module = nvir.read_ll(KINDS[kind])
    nvir.verify(module)
    text = nvir.print_ll(module, "llvm20")
    assert nvir.print_ll(nvir.read_ll(text), "llvm20") == text


@pytest.mark.skipif(shutil.which("opt-19") is None, reason="opt-19 is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_opt_takes_it_and_what_is_printed(kind):
    for text in (KINDS[kind], nvir.print_ll(nvir.read_ll(KINDS[kind]), "llvm20")):
        done = subprocess.run(["opt-19", "-passes=verify", "-o", "/dev/null", "-"], input=text,
                              text=True, capture_output=True, check=False)
        assert not done.returncode, done.stderr
