"""libclang, with the functions that its Python binding leaves out.

    library()              clang.cindex, loaded once; NvirError where it is not installed
    kind_of(c), type_kind(t)   "CALL_EXPR", "POINTER" …: the binding's names, without its way there
    children(c)            the cursors in one, as a list
    attributes_of(c)       those of a declaration's that are attributes
    position(c)            file ("" where there is none), line, column and offset
    is_expression(c), is_value(c), is_preprocessing(c)   of its kind; a value is a statement, too
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
_TEMPLATE_PARAMETERS, _PREPROCESSING = range(27, 30), range(500, 600)  # kinds of cursors
_EXPRESSIONS, _STATEMENTS, _ATTRIBUTES = range(100, 200), range(200, 300), range(400, 500)


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
    _declare(lib, cindex)
    os.environ["LIBCLANG_NOTHREADS"] = "1"  # its own threads have stacks of 8 MiB
    return cindex


def _declare(lib: Any, cindex: Any) -> None:
    cursor, result = cindex.Cursor, ctypes.c_void_p
    number, file = ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p)
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
        ("clang_getExpansionLocation", [cindex.SourceLocation, file, number, number, number], None),
    ):
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, returned


@functools.cache
def _lib() -> Any:
    return library().conf.lib


class _Names(dict[int, str]):
    """The names of one of the binding's enumerations; ValueError of a number that it lacks."""

    def __init__(self, enumeration: str) -> None:
        self.enumeration = enumeration

    def __missing__(self, number: int) -> str:
        kinds = getattr(library(), self.enumeration)
        name: str = kinds.from_id(number).name
        self[number] = name
        return name


_KINDS, _TYPES = _Names("CursorKind"), _Names("TypeKind")


def kind_of(c: Any) -> str:
    return _KINDS[c._kind_id]


def type_kind(t: Any) -> str:
    return _TYPES[t._kind_id]


def is_expression(c: Any) -> bool:
    return c._kind_id in _EXPRESSIONS


def is_value(c: Any) -> bool:
    return c._kind_id in _EXPRESSIONS or c._kind_id in _STATEMENTS


def is_preprocessing(c: Any) -> bool:
    return c._kind_id in _PREPROCESSING


@functools.cache
def _visitors() -> tuple[Any, Any]:
    """What libclang calls for each child: one that takes all, one that stops behind attributes."""
    def each(child: Any, _: Any, made: list[Any]) -> int:
        made.append(child)
        return 1

    def first(child: Any, _: Any, made: list[Any]) -> int:
        if child._kind_id in _ATTRIBUTES:
            made.append(child)
        elif child._kind_id not in _TEMPLATE_PARAMETERS:  # which stand before them
            return 0
        return 1

    make = library().callbacks["cursor_visit"]
    return make(each), make(first)


def children(c: Any) -> list[Any]:
    return _visited(c, 0)


def attributes_of(c: Any) -> list[Any]:
    return _visited(c, 1)


def _visited(c: Any, way: int) -> list[Any]:
    made: list[Any] = []
    _lib().clang_visitChildren(c, _visitors()[way], made)
    unit = c._tu
    for child in made:
        child._tu = unit  # which lives as long
    return made


def position(c: Any) -> tuple[str, int, int, int]:
    number = ctypes.c_uint
    file, line, column, offset = ctypes.c_void_p(), number(), number(), number()
    _lib().clang_getExpansionLocation(
        c.location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column),
        ctypes.byref(offset))
    names: dict[int | None, str] = c._tu.__dict__.setdefault("names_of_files", {None: ""})
    name = names.get(file.value)
    if name is None:
        cindex = library()
        name = names[file.value] = cindex.File(ctypes.cast(file, cindex.c_object_p)).name
    return name, line.value, column.value, offset.value


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
