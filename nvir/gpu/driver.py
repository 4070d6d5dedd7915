"""The driver API through ctypes: the calls that `nvir.gpu` makes, by name.

Each returns (code, results…). With so few calls, NVIDIA's Python bindings would bring nothing but
rules of their own for the types of arguments.
"""

from __future__ import annotations

import ctypes
from typing import Any

from nvir.ir.errors import NvirError

# Call → symbol and its arguments in order; > marks one that the call fills in, * a list.
_CALLS = {
    "cuInit": "cuInit I",
    "cuDriverGetVersion": "cuDriverGetVersion >i",
    "cuDeviceGetCount": "cuDeviceGetCount >i",
    "cuDeviceGet": "cuDeviceGet >i i",
    "cuDeviceGetAttribute": "cuDeviceGetAttribute >i i i",
    "cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRetain >P i",
    "cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRelease_v2 i",
    "cuCtxSetCurrent": "cuCtxSetCurrent P",
    "cuCtxSynchronize": "cuCtxSynchronize",
    "cuModuleLoadDataEx": "cuModuleLoadDataEx >P s I *i *P",
    "cuModuleUnload": "cuModuleUnload P",
    "cuModuleGetFunction": "cuModuleGetFunction >P P s",
    "cuModuleGetGlobal": "cuModuleGetGlobal_v2 >Q >N P s",
    "cuMemAlloc": "cuMemAlloc_v2 >Q N",
    "cuMemFree": "cuMemFree_v2 Q",
    "cuMemcpyHtoD": "cuMemcpyHtoD_v2 Q P N",
    "cuMemcpyDtoH": "cuMemcpyDtoH_v2 P Q N",
    "cuFuncSetAttribute": "cuFuncSetAttribute P i i",
    "cuLaunchKernel": "cuLaunchKernel P I I I I I I I P P P",
    "cuEventCreate": "cuEventCreate >P I",
    "cuEventDestroy": "cuEventDestroy_v2 P",
    "cuEventRecord": "cuEventRecord P P",
    "cuEventSynchronize": "cuEventSynchronize P",
    "cuEventElapsedTime": "cuEventElapsedTime >f P P",
    "cuGetErrorString": "cuGetErrorString i >s",
}
_TYPES: dict[str, Any] = {
    "f": ctypes.c_float, "i": ctypes.c_int, "I": ctypes.c_uint, "N": ctypes.c_size_t,
    "Q": ctypes.c_uint64, "P": ctypes.c_void_p, "s": ctypes.c_char_p,
}


class CtypesDriver:
    """libcuda's calls by name. Raises NvirError where there is no driver."""

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise NvirError("there is no NVIDIA driver: libcuda.so.1 was not found") from None

    def __getattr__(self, name: str) -> Any:
        if name not in _CALLS:
            raise AttributeError(name)
        symbol, *kinds = _CALLS[name].split()
        function = getattr(self.library, symbol)

        def call(*given: Any) -> tuple[Any, ...]:
            rest = iter(given)
            filled: list[Any] = []
            arguments: list[Any] = []
            for kind in kinds:
                if kind[0] == ">":
                    filled.append(_TYPES[kind[1]]())
                    arguments.append(ctypes.byref(filled[-1]))
                elif kind[0] == "*":
                    values = next(rest)
                    arguments.append((_TYPES[kind[1]] * len(values))(*values))
                else:
                    arguments.append(_TYPES[kind](next(rest)))
            return (function(*arguments), *(x.value or 0 for x in filled))

        return call

