"""Arguments of a launch: arrays become buffers, scalars and structs become parameter bytes."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.ir import Param, ScalarType

_FLOAT: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


class DeviceArray:
    """An array with an address that can be written into a struct before the launch.

    `ptr` is a placeholder (plus a byte offset, if wanted). A launch makes a buffer of the array and
    puts its address wherever it finds the placeholder: in struct arguments, in other buffers and in
    given globals, at offsets that are multiples of 8. Pass the object itself as an argument too.
    """

    def __init__(self, array: Array) -> None:
        check_array(array)
        self.array = array
        number = next(_numbers) & 0xFFFF
        self.ptr = (_MAGIC << 48) | (number << 32)
        _living[number] = self


_MAGIC = 0x5EED
_numbers = itertools.count(1)
_living: weakref.WeakValueDictionary[int, DeviceArray] = weakref.WeakValueDictionary()


def placeholders(data: Array) -> list[tuple[int, DeviceArray, int]]:
    """(index of the 8-byte word, array, byte offset) of each placeholder in bytes."""
    if not _living:
        return []
    words = data[: len(data) // 8 * 8].view(np.uint64)
    found = []
    for k in np.flatnonzero(words >> np.uint64(48) == _MAGIC).tolist():
        word = int(words[k])
        array = _living.get((word >> 32) & 0xFFFF)
        if array is not None:
            found.append((k, array, word & 0xFFFFFFFF))
    return found


def check_array(array: Any) -> None:
    """Raise TypeError unless the array can be a buffer."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"a buffer is a numpy array, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise TypeError("a buffer must be C-contiguous: pass numpy.ascontiguousarray(x)")
    if array.dtype.hasobject:
        raise TypeError("a buffer cannot hold Python objects")


def parameter_bytes(value: Any, param: Param, number: int) -> bytes:
    """A by-value argument as the bytes of its parameter. Raises TypeError where it does not fit."""
    size = param.size
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
    elif isinstance(value, np.generic):
        data = _scalar_bytes(value, param)
    elif isinstance(value, bool | int | float):
        data = _number(value, param, number)
    else:
        raise TypeError(
            f"argument {number} ({param.name}) is a {type(value).__name__}: give a numpy array, a "
            "scalar, bytes, or a DeviceArray"
        )
    if len(data) != size:
        raise TypeError(f"argument {number} ({param.name}) has {len(data)} bytes, not {size}")
    return data


def _scalar_bytes(value: np.generic, param: Param) -> bytes:
    data = value.tobytes()
    if len(data) == param.size or value.dtype.kind == "V":
        return data
    if value.dtype.kind in "iub" and param.element_type.bits // 8 == param.size:
        return int(value).to_bytes(param.size, "little", signed=int(value) < 0)
    return data


def _number(value: int | float, param: Param, number: int) -> bytes:
    """A Python number by the parameter's declared type."""
    type = param.element_type
    assert isinstance(type, ScalarType)
    if param.dimensions or param.vector > 1:
        raise TypeError(f"argument {number} ({param.name}) is an array of bytes: give bytes")
    if type.name in _FLOAT:
        return bytes(_FLOAT[type.name](value).tobytes())
    if isinstance(value, float):
        if type.kind == "b" and type.bits in (32, 64):
            return np.array([value], f"f{type.bits // 8}").tobytes()
        raise TypeError(f"argument {number} ({param.name}) is .{type.name}, not a float")
    bits = max(type.bits, 8)
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise TypeError(f"argument {number} ({param.name}): {value} does not fit .{type.name}")
    return (int(value) & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
