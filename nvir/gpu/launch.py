"""`nvir.gpu.launch`: what `nvir.launch` does on numpy lanes, done by the CUDA driver.

The module is printed as PTX and compiled by the driver for the first device.
Buffers, scalars and structs become what they become in the interpreter; arrays
are copied back in place. Everything that was made is released again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from nvir.gpu.driver import CtypesDriver
from nvir.interp.arguments import DeviceArray, check_array, parameter_bytes, placeholders
from nvir.interp.grid import LaunchResult
from nvir.interp.texture import Texture
from nvir.ir.errors import LaunchError, NvirError, Unsupported
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.ptx.printer import print_ptx

_DYNAMIC_SMEM = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, …_SIZE_BYTES
_LOG_SIZE = 1 << 14
_PLAIN_SMEM = 48 << 10  # dynamic shared memory beyond this has to be asked for


class _Cuda:
    """Calls of the driver by name; an error code becomes a LaunchError for `kernel`."""

    def __init__(self, driver: Any, kernel: str) -> None:
        self.driver, self.kernel = driver, kernel

    def __call__(self, name: str, *arguments: Any) -> Any:
        code, *values = getattr(self.driver, name)(*arguments)
        if int(code):
            _, text = self.driver.cuGetErrorString(code)
            said = text.decode() if isinstance(text, bytes) else str(text)
            raise LaunchError(f"{name}: {said}", kernel=self.kernel)
        return values[0] if len(values) == 1 else values or None


def available() -> bool:
    """Whether there is a GPU that can be launched on."""
    try:
        cuda = _Cuda(CtypesDriver(), "")
        cuda("cuInit", 0)
        return int(cuda("cuDeviceGetCount")) > 0
    except NvirError:
        return False


def launch(
    module: Module, kernel: str, grid: int | Sequence[int], block: int | Sequence[int],
    args: Sequence[Any], dynamic_smem: int = 0, *, globals: Mapping[str, Any] | None = None,
    textures: Mapping[Any, Any] | None = None, max_steps: int = 10**8,
    check: Sequence[str] = ("bounds",), driver: Any = None,
) -> LaunchResult:
    """Run a kernel on the first GPU; arguments as for `nvir.launch`.

    `max_steps` and `check` are the interpreter's and mean nothing here. What the
    kernel prints goes to the process's standard output, so `stdout` is empty, and
    so is `block_counts`. `driver` stands in for CtypesDriver.

    Raises LaunchError for what the driver reports, Unsupported for textures,
    NvirError where there is no GPU.
    """
    del max_steps, check
    if textures:
        raise Unsupported("textures", module.target, "nvir.gpu.launch")
    cuda = _Cuda(driver if driver is not None else CtypesDriver(), kernel)
    with ExitStack() as stack:
        loaded, buffers, run = _prepared(stack, cuda, module, kernel, args)
        for name, value in (globals or {}).items():
            _write_global(cuda, loaded, name, value, buffers)
        run(_dim3(grid), _dim3(block), dynamic_smem)
        cuda("cuCtxSynchronize")
        buffers.download()
        finals = {name: _read_global(cuda, loaded, name, v) for name, v in (globals or {}).items()}
    return LaunchResult("", {}, finals)


def measure(
    module: Module, kernel: str, grid: int | Sequence[int], block: int | Sequence[int],
    args: Sequence[Any], dynamic_smem: int = 0, *, runs: int = 21, warm: float = 0.05,
    driver: Any = None,
) -> float:
    """Microseconds that a launch takes on the first GPU: the median of `runs` in a row, behind
    launches for `warm` seconds, in which the clock rises. Arrays stay as they are here; on the
    device each run goes on with what the one before left. Raises as `launch`.
    """
    cuda = _Cuda(driver if driver is not None else CtypesDriver(), kernel)
    with ExitStack() as stack:
        _, _, run = _prepared(stack, cuda, module, kernel, args)
        marks = [cuda("cuEventCreate", 0) for _ in range(runs + 1)]
        for mark in marks:
            stack.callback(cuda, "cuEventDestroy", mark)
        end = time.monotonic() + warm
        while True:
            run(_dim3(grid), _dim3(block), dynamic_smem)
            cuda("cuCtxSynchronize")
            if time.monotonic() >= end:
                break
        cuda("cuEventRecord", marks[0], 0)
        for mark in marks[1:]:  # nothing is waited for in between, or the clock would fall again
            run(_dim3(grid), _dim3(block), dynamic_smem)
            cuda("cuEventRecord", mark, 0)
        cuda("cuEventSynchronize", marks[-1])
        times = [float(cuda("cuEventElapsedTime", *pair)) for pair in pairwise(marks)]
    return 1000 * statistics.median(times)


def _prepared(
    stack: ExitStack, cuda: _Cuda, module: Module, kernel: str, args: Sequence[Any]
) -> tuple[Any, _DeviceBuffers, Callable[..., None]]:
    """The loaded module, the buffers with what the arguments hold, and what launches the kernel."""
    function = module[kernel]
    if len(args) != len(function.params):
        raise TypeError(f"{kernel} takes {len(function.params)} arguments, {len(args)} given")
    stack.enter_context(_context(cuda))
    loaded = stack.enter_context(_loaded(cuda, module))
    buffers = _DeviceBuffers(cuda, stack)
    parameters = [
        buffers.parameter(a, p, k)
        for k, (a, p) in enumerate(zip(args, function.params, strict=True))
    ]
    buffers.upload()
    return loaded, buffers, partial(_run, cuda, loaded, function, parameters)


@contextmanager
def _context(cuda: _Cuda) -> Iterator[None]:
    cuda("cuInit", 0)
    device = cuda("cuDeviceGet", 0)
    cuda("cuCtxSetCurrent", cuda("cuDevicePrimaryCtxRetain", device))
    try:
        yield
    finally:
        cuda("cuDevicePrimaryCtxRelease", device)


@contextmanager
def _loaded(cuda: _Cuda, module: Module) -> Iterator[Any]:
    """The module as the driver compiles it; its log in the error."""
    text = print_ptx(module).encode("utf-8", "surrogateescape") + b"\0"
    log = np.zeros(_LOG_SIZE, np.uint8)
    options = [_ERROR_LOG, _ERROR_LOG_SIZE]
    try:
        handle = cuda("cuModuleLoadDataEx", text, 2, options, [log.ctypes.data, _LOG_SIZE])
    except LaunchError as e:
        said = log.tobytes().partition(b"\0")[0].decode("utf-8", "replace").strip()
        raise LaunchError(f"{e.message}\n{said}" if said else e.message) from None
    try:
        yield handle
    finally:
        cuda("cuModuleUnload", handle)


class _DeviceBuffers:
    """Device memory for arrays; the same array is one buffer."""

    def __init__(self, cuda: _Cuda, stack: ExitStack) -> None:
        self.cuda, self.stack = cuda, stack
        self.known: dict[int, tuple[Any, int]] = {}  # id of the array → (array, address)

    def address(self, array: Any) -> int:
        found = self.known.get(id(array))
        if found is not None:
            return found[1]
        check_array(array)
        memory = self.cuda("cuMemAlloc", max(array.nbytes, 1))
        self.stack.callback(self.cuda, "cuMemFree", memory)
        self.known[id(array)] = (array, int(memory))
        return int(memory)

    def parameter(self, value: Any, param: Any, number: int) -> Any:
        """The bytes of an argument, as a numpy array."""
        if isinstance(value, DeviceArray):
            value = value.array
        if isinstance(value, Texture):
            raise Unsupported("textures as arguments", where="nvir.gpu.launch")
        if isinstance(value, np.ndarray) and value.ndim:
            data = self.address(value).to_bytes(8, "little")
        else:
            data = parameter_bytes(value, param, number)
        return self.resolved(np.frombuffer(data, np.uint8).copy())

    def resolved(self, data: Any) -> Any:
        """Bytes with the placeholders of `DeviceArray.ptr` replaced by addresses."""
        for k, array, offset in placeholders(data):
            data[8 * k : 8 * k + 8] = np.frombuffer(
                (self.address(array.array) + offset).to_bytes(8, "little"), np.uint8
            )
        return data

    def upload(self) -> None:
        done: set[int] = set()
        while len(done) < len(self.known):  # a buffer's contents may name further buffers
            for key, (array, address) in list(self.known.items()):
                if key in done:
                    continue
                done.add(key)
                data = self.resolved(np.frombuffer(array.tobytes(), np.uint8).copy())
                if data.size:
                    self.cuda("cuMemcpyHtoD", address, data.ctypes.data, data.size)

    def download(self) -> None:
        for array, address in self.known.values():
            if array.nbytes and array.flags.writeable:
                self.cuda("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)


def _run(
    cuda: _Cuda, loaded: Any, function: Function, parameters: list[Any],
    grid: tuple[int, int, int], block: tuple[int, int, int], dynamic_smem: int,
) -> None:
    handle = cuda("cuModuleGetFunction", loaded, str(function.name).encode())
    if dynamic_smem > _PLAIN_SMEM:
        cuda("cuFuncSetAttribute", handle, _DYNAMIC_SMEM, dynamic_smem)
    pointers = np.array([p.ctypes.data for p in parameters], np.uint64)
    cuda("cuLaunchKernel", handle, *grid, *block, dynamic_smem, 0, pointers.ctypes.data, 0)


def _write_global(cuda: _Cuda, loaded: Any, name: str, value: Any, buffers: _DeviceBuffers) -> None:
    address, size = cuda("cuModuleGetGlobal", loaded, name.encode())
    data = buffers.resolved(np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8).copy())
    if data.size > int(size):
        raise LaunchError(f"global {name} has {int(size)} bytes, {data.size} given")
    cuda("cuMemcpyHtoD", int(address), data.ctypes.data, data.size)


def _read_global(cuda: _Cuda, loaded: Any, name: str, like: Any) -> Any:
    address, _ = cuda("cuModuleGetGlobal", loaded, name.encode())
    out = np.empty_like(np.ascontiguousarray(like))
    cuda("cuMemcpyDtoH", out.ctypes.data, int(address), out.nbytes)
    return out


def _dim3(d: int | Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*((d,) if isinstance(d, int) else tuple(d)), 1, 1)[:3]
    return (int(x), int(y), int(z))
