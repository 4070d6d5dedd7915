"""libnvvm in its child process: verdicts, PTX, crashes, options."""

from __future__ import annotations

import os
import signal

import pytest

from nvir.toolchain import ToolError, libnvvm
from nvir.toolchain.libnvvm import _shared_child

pytestmark = pytest.mark.oracle

LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
BODY = """
target triple = "nvptx64-nvidia-cuda"
define void @k(double addrspace(1)* %p, double %x) {
entry:
  %y = call double @__nv_sin(double %x)
  store double %y, double addrspace(1)* %p
  ret void
}
declare double @__nv_sin(double)
!nvvm.annotations = !{!1}
!1 = !{void (double addrspace(1)*, double)* @k, !"kernel", i32 1}
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
"""
GOOD = f'target datalayout = "{LAYOUT}"' + BODY


def test_a_good_module_verifies_and_compiles():
    assert libnvvm.verify(GOOD).ok
    result = libnvvm.compile(GOOD, "sm_80", libdevice=True)
    assert result.ok
    assert ".visible .entry k(" in result.ptx
    assert ".target sm_80" in result.ptx
    assert "__nv_sin" not in result.ptx  # linked and inlined


def test_the_newer_compiler_takes_the_same_text():
    assert ".target sm_100" in libnvvm.compile(GOOD, "sm_100", libdevice=True).ptx


def test_rejected_text_has_a_log_and_the_apis_status():
    result = libnvvm.verify("gibberish")
    assert not result.ok
    assert not result.crashed
    assert result.status == "NVVM_ERROR_INVALID_IR"
    assert "top-level entity" in result.log


def test_compile_also_verifies():
    """Compile alone lets a wrong triple through."""
    wrong = GOOD.replace("nvptx64-nvidia-cuda", "x86_64-unknown-linux")
    result = libnvvm.compile(wrong, libdevice=True)
    assert not result.verified
    assert not result.ok


def test_a_crash_is_a_result_and_the_next_call_works():
    result = libnvvm.compile(BODY, "sm_100")  # no datalayout takes the library down
    assert result.crashed
    assert not result.ok
    assert "signal" in result.log
    assert libnvvm.verify(GOOD).ok


def test_a_killed_child_is_replaced():
    libnvvm.verify(GOOD)
    child = _shared_child()._process
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert libnvvm.verify(GOOD).ok
    assert _shared_child()._process.pid != child.pid


def test_private_options_print_and_do_not_stick():
    """-Xllc options are global in LLVM: the child that saw them is not used again."""
    printed = libnvvm.compile(GOOD, options=["-Xllc", "-print-isel-input"])
    assert "define void @k" in printed.output
    assert libnvvm.compile(GOOD).output == ""


def test_an_unknown_option_is_a_rejection():
    result = libnvvm.compile(GOOD, options=["-no-such-option"])
    assert result.status == "NVVM_ERROR_INVALID_OPTION"


def test_a_timeout_raises_and_the_next_call_works():
    assert libnvvm.verify(GOOD).ok
    os.kill(_shared_child()._process.pid, signal.SIGSTOP)  # it answers nothing, however slow
    with pytest.raises(ToolError, match="did not answer within"):
        libnvvm.compile(GOOD, timeout=0.01)
    assert libnvvm.verify(GOOD).ok


def test_version():
    assert libnvvm.version()["ir"] >= (2, 0)
