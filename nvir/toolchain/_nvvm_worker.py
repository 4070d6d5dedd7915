"""The child process that holds libnvvm; run as a script, it imports nothing of nvir.

    python -I -S _nvvm_worker.py /path/to/libnvvm.so

Requests come on standard input and answers go to standard output, each a frame: four
bytes of length (big-endian), then that many bytes of JSON. What the library itself
prints goes to a file and comes back as `output`. The parent reads the end of the
stream when the library takes the process down.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import tempfile
from typing import IO, Any

_OK = 0


class Library:
    """libnvvm through ctypes: each call checks the result that the API gives."""

    def __init__(self, path: str) -> None:
        self._lib = ctypes.CDLL(path)
        self._lib.nvvmGetErrorString.restype = ctypes.c_char_p

    def version(self) -> dict[str, Any]:
        numbers = [ctypes.c_int() for _ in range(6)]
        self._lib.nvvmVersion(*map(ctypes.byref, numbers[:2]))
        self._lib.nvvmIRVersion(*map(ctypes.byref, numbers[2:]))
        values = [n.value for n in numbers]
        return {"version": values[:2], "ir": values[2:4], "debug": values[4:]}

    def process(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify a module and, if asked, compile it whatever Verify says."""
        program = ctypes.c_void_p()
        status = self._lib.nvvmCreateProgram(ctypes.byref(program))
        if status != _OK:
            return {"status": self._error(status), "verified": False, "log": "", "ptx": None}
        try:
            return self._run(program, request)
        finally:
            self._lib.nvvmDestroyProgram(ctypes.byref(program))

    def _run(self, program: ctypes.c_void_p, request: dict[str, Any]) -> dict[str, Any]:
        module = request["module"].encode("utf-8", "surrogateescape")
        status = self._add(self._lib.nvvmAddModuleToProgram, program, module, b"module")
        if status == _OK and request["libdevice"]:
            with open(request["libdevice"], "rb") as file:
                bitcode = file.read()
            add = self._lib.nvvmLazyAddModuleToProgram
            status = self._add(add, program, bitcode, b"libdevice")
        if status != _OK:
            log = self._text(program, "ProgramLog")
            return {"status": self._error(status), "verified": False, "log": log, "ptx": None}
        words = [option.encode() for option in request["options"]]
        options = (ctypes.c_char_p * len(words))(*words)
        status = self._lib.nvvmVerifyProgram(program, len(words), options)
        verified, log, ptx = status == _OK, self._text(program, "ProgramLog"), None
        if request["compile"]:
            compiled = self._lib.nvvmCompileProgram(program, len(words), options)
            log = self._text(program, "ProgramLog") or log
            if compiled == _OK:
                ptx = self._text(program, "CompiledResult")
            status = status or compiled
        return {"status": self._error(status), "verified": verified, "log": log, "ptx": ptx}

    @staticmethod
    def _add(call: Any, program: ctypes.c_void_p, data: bytes, name: bytes) -> int:
        return int(call(program, data, ctypes.c_size_t(len(data)), name))

    def _text(self, program: ctypes.c_void_p, what: str) -> str:
        size = ctypes.c_size_t()
        if getattr(self._lib, f"nvvmGet{what}Size")(program, ctypes.byref(size)) != _OK:
            return ""
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        if getattr(self._lib, f"nvvmGet{what}")(program, buffer) != _OK:
            return ""
        return buffer.value.decode("utf-8", "replace")

    def _error(self, status: int) -> str:
        if status == _OK:
            return ""
        return str(self._lib.nvvmGetErrorString(status).decode())


def read_frame(stream: IO[bytes]) -> Any:
    """The next message, or None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    size = struct.unpack(">I", head)[0]
    body = stream.read(size)
    return json.loads(body) if len(body) == size else None


def write_frame(stream: IO[bytes], message: Any) -> None:
    """Send one message."""
    body = json.dumps(message).encode()
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    printed = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    libc = ctypes.CDLL(None)
    library = Library(sys.argv[1])
    write_frame(answers, library.version())
    while (request := read_frame(sys.stdin.buffer)) is not None:
        printed.seek(0)
        printed.truncate()
        answer = library.process(request)
        libc.fflush(None)
        printed.seek(0)
        answer["output"] = printed.read().decode("utf-8", "replace")
        write_frame(answers, answer)


if __name__ == "__main__":
    main()
