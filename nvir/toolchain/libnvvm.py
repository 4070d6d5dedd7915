"""libnvvm, NVIDIA's NVVM IR compiler: verifies LLVM text and compiles it to PTX.

The library can take its process down on bad input, so it lives in a child. The
child is kept between calls (a verify is then 0.2 ms, not the 40 ms of loading
the library) and replaced after a crash or a timeout. LLVM keeps options such as
`-Xllc ...` in global variables, so calls with other than the documented options
get a child of their own.

Verify and Compile are both called: Compile alone accepts modules that Verify
rejects. Neither rejects an unknown intrinsic or a bad asm constraint, so whoever
needs to be sure assembles the PTX too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from nvir.toolchain._nvvm_worker import read_frame, write_frame
from nvir.toolchain.errors import ToolError
from nvir.toolchain.find import find

_WORKER = Path(__file__).with_name("_nvvm_worker.py")
_STATELESS = ("-arch=", "-opt=", "-ftz=", "-prec-sqrt=", "-prec-div=", "-fma=", "-nvvm-version=")
_STATELESS_FLAGS = frozenset({"-g", "-generate-line-info"})


@attrs.frozen
class NvvmResult:
    """What libnvvm said. `ok` means that Verify, and Compile where asked for, succeeded.

    `status` is the API's name of the first failure; `output` is what the library printed by
    itself (`-Xllc -print-isel-input`); a crash gives `crashed` True and the signal in `log`.
    """

    ok: bool
    verified: bool
    ptx: str | None
    log: str
    status: str
    output: str
    crashed: bool
    ms: float


def verify(
    module: str | bytes,
    arch: str = "sm_80",
    options: Sequence[str] = (),
    *,
    libdevice: bool = False,
    timeout: float = 60.0,
) -> NvvmResult:
    """Check a module of NVVM IR (LLVM text) against the dialect of `arch`."""
    return _call(module, arch, options, libdevice, timeout, compile=False)


def compile(
    module: str | bytes,
    arch: str = "sm_80",
    options: Sequence[str] = (),
    *,
    libdevice: bool = False,
    timeout: float = 60.0,
) -> NvvmResult:
    """Verify a module of NVVM IR and compile it to PTX for `arch` ("sm_80" or "compute_80").

    `libdevice` links NVIDIA's mathematical functions. Rejected modules and crashes give a
    result with `ok` False; raises ToolMissing, or ToolError after `timeout` seconds.
    """
    return _call(module, arch, options, libdevice, timeout, compile=True)


def version() -> dict[str, tuple[int, int]]:
    """The versions of the library ("version"), of the IR ("ir") and its debug data ("debug")."""
    with _lock:
        return {key: tuple(value) for key, value in _shared_child().greeting.items()}


def _call(
    module: str | bytes,
    arch: str,
    options: Sequence[str],
    libdevice: bool,
    timeout: float,
    *,
    compile: bool,
) -> NvvmResult:
    text = module.decode("utf-8", "surrogateescape") if isinstance(module, bytes) else module
    request = {
        "module": text,
        "options": [f"-arch={arch.replace('sm_', 'compute_')}", *options],
        "compile": compile,
        "libdevice": str(find("libdevice")) if libdevice else "",
    }
    start = time.perf_counter()
    if all(o.startswith(_STATELESS) or o in _STATELESS_FLAGS for o in options):
        with _lock:
            answer = _shared_child().ask(request, timeout)
    else:
        child = _Child()
        try:
            answer = child.ask(request, timeout)
        finally:
            child.close()
    ms = (time.perf_counter() - start) * 1e3
    return NvvmResult(
        ok=not answer["status"], crashed=answer.pop("crashed", False), ms=ms, **answer
    )


# --- the child ---------------------------------------------------------------------------


class _Child:
    """One process with the library loaded, answering one request at a time."""

    def __init__(self) -> None:
        self.owner = os.getpid()  # a fork must not share the pipes
        command = [sys.executable, "-I", "-S", str(_WORKER), str(find("libnvvm"))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        greeting = self._read(60.0)
        if greeting is None:
            raise ToolError(f"libnvvm could not be loaded from {command[-1]}")
        self.greeting: dict[str, Any] = greeting

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and self.owner == os.getpid()

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        assert self._process.stdin
        try:
            write_frame(self._process.stdin, request)
            answer = self._read(timeout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            code = self.close()
            how = f"signal {-code}" if code < 0 else f"status {code}"
            log = f"libnvvm ended its process with {how}"
            return {
                "status": "crash", "verified": False, "ptx": None, "log": log, "output": "",
                "crashed": True,
            }
        assert isinstance(answer, dict)
        return answer

    def _read(self, timeout: float) -> Any:
        """The next answer, or None if the process is gone; ToolError after `timeout` s."""
        assert self._process.stdout
        late = threading.Event()

        def expire() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            answer = read_frame(self._process.stdout)
        finally:
            timer.cancel()
        if answer is None and late.is_set():
            self.close()
            raise ToolError(f"libnvvm did not answer within {timeout:g} s")
        return answer

    def close(self) -> int:
        """End the process; its status. Negative: the signal that had ended it."""
        if self._process.stdin and self._process.stdout:
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):  # unsent bytes for a process that is gone
                    stream.close()
        try:
            return self._process.wait(timeout=5)  # it ends at the end of its input
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_lock = threading.Lock()
_child: _Child | None = None


def _shared_child() -> _Child:
    global _child
    if _child is None or not _child.alive:
        _child = _Child()
    return _child


@atexit.register
def _close_child() -> None:
    if _child is not None and _child.alive:
        _child.close()
