"""libclang, with the functions that its Python binding leaves out.

    library()              clang.cindex, loaded once; NvirError where it is not installed
    binary_operator(c)     "+", "<=", "=", "+=" … of a binary operator or compound assignment
    unary_operator(c)      "-", "!", "&", "++x", "x++" … of a unary operator
    initialiser(c)         the initialiser of a variable, or None
    evaluate(c)            an int or float where an expression is constant, else None
    pointer_of(c)          the address of what a cursor stands for: declarations are told apart
                           by it, as libclang makes a new cursor at every question

Source   Index.h of LLVM 18 (CXBinaryOperatorKind, CXUnaryOperatorKind, CXEvalResultKind).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from nvir.ir.errors import NvirError

BINARY = dict(enumerate(
        (".*", "->*", "*", "/", "%", "+", "-", "<<", ">>", "<=>", "<", ">", "<=", ">=", "==", "!=",
         "&", "^", "|", "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=",
         "|=", ","), 1))
UNARY = dict(enumerate(
        ("x++", "x--", "++x", "--x", "&", "*", "+", "-", "~", "!", "__real", "__imag",
         "__extension__", "co_await"), 1))
_INT, _FLOAT = 1, 2  # kinds of evaluated results


@functools.cache
def library() -> Any:
    """The module `clang.cindex` with a loaded library behind it."""
    try:
        from clang import cindex
    except ImportError:
        raise NvirError(
            "reading CUDA sources needs libclang: pip install 'nvir[cuda-src]'"
        ) from None
    try:
        lib = cindex.conf.lib
    except Exception as e:  # LibclangError: no shared library, or one that does not fit
        raise NvirError(f"libclang cannot be loaded: {e}") from None
    for name in ("clang_getCursorBinaryOperatorKind", "clang_getCursorUnaryOperatorKind",
                 "clang_Cursor_getVarDeclInitializer"):
        if not hasattr(lib, name):
            raise NvirError(f"libclang 17 or newer is needed: this one has no {name}")
    _declare(lib, cindex.Cursor)
    os.environ["LIBCLANG_NOTHREADS"] = "1"  # its own threads have stacks of 8 MiB
    return cindex


def _declare(lib: Any, cursor: Any) -> None:
    result = ctypes.c_void_p
    for name, arguments, returned in (
        ("clang_getCursorBinaryOperatorKind", [cursor], ctypes.c_int),
        ("clang_getCursorUnaryOperatorKind", [cursor], ctypes.c_int),
        ("clang_Cursor_getVarDeclInitializer", [cursor], cursor),
        ("clang_Cursor_Evaluate", [cursor], result),
        ("clang_EvalResult_getKind", [result], ctypes.c_int),
        ("clang_EvalResult_getAsLongLong", [result], ctypes.c_longlong),
        ("clang_EvalResult_isUnsignedInt", [result], ctypes.c_uint),
        ("clang_EvalResult_getAsUnsigned", [result], ctypes.c_ulonglong),
        ("clang_EvalResult_getAsDouble", [result], ctypes.c_double),
        ("clang_EvalResult_dispose", [result], None),
    ):
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, returned


def _lib() -> Any:
    return library().conf.lib


def binary_operator(c: Any) -> str:
    return BINARY.get(_lib().clang_getCursorBinaryOperatorKind(c), "?")


def unary_operator(c: Any) -> str:
    return UNARY.get(_lib().clang_getCursorUnaryOperatorKind(c), "?")


def initialiser(c: Any) -> Any:
    made = _lib().clang_Cursor_getVarDeclInitializer(c)
    if made._kind_id == 0 or made.kind.is_invalid():
        return None
    made._tu = c._tu
    return made


def evaluate(c: Any) -> int | float | None:
    lib = _lib()
    result = lib.clang_Cursor_Evaluate(c)
    if not result:
        return None
    try:
        kind = lib.clang_EvalResult_getKind(result)
        if kind == _INT:
            if lib.clang_EvalResult_isUnsignedInt(result):
                return int(lib.clang_EvalResult_getAsUnsigned(result))
            return int(lib.clang_EvalResult_getAsLongLong(result))
        return float(lib.clang_EvalResult_getAsDouble(result)) if kind == _FLOAT else None
    finally:
        lib.clang_EvalResult_dispose(result)


def pointer_of(c: Any) -> int:
    return int(c.data[0] or 0)
