"""The names of texture and surface functions, and what functions they declare (see texture.py)."""

from __future__ import annotations

import re

from nvir.frontend.tree.declarations import Attributes, Function, Parameter
from nvir.frontend.tree.types import CHAR, FLOAT, INT, SCHAR, ULONGLONG, VOID, CType
from nvir.frontend.tree.vectors import VECTORS

# Integer subtypes of the real front end, 0 to 10; that of plain char follows a flag.
SUBTYPES = ("char", "schar", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
            "longlong", "ulonglong")
RANK = {"1D": 1, "2D": 2, "3D": 3, "Cubemap": 3}
NAME = re.compile(
    r"(?:__i)?(?P<kind>tex|surf)(?P<shape>1D|2D|3D|Cubemap)(?P<layered>Layered)?"
    r"(?P<what>fetch|Lod|Grad|gather|read|write)?(?:_(?P<type>[a-z]\w*))?$"
)


def type_name(subtype: int, signed_char: bool = True) -> str:
    """The name of an integer subtype; plain char is schar or uchar by the flag."""
    name = SUBTYPES[subtype]
    return ("schar" if signed_char else "uchar") if name == "char" else name


def texture_name(texture: str, subtype: int, signed_char: bool = True) -> str:
    return f"{texture}_{type_name(subtype, signed_char)}"


def is_texture(name: str) -> bool:
    return NAME.match(name) is not None


def element_type(text: str) -> CType | None:
    """The type behind a suffix."""
    if text in VECTORS:
        return VECTORS[text]
    plain = {"float": FLOAT, "int": INT, "char": CHAR, "schar": SCHAR}.get(text)
    if plain is not None:
        return plain
    one = VECTORS.get(f"{text}1")
    return one.fields[0].type if one is not None and one.fields else None


def declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    m = NAME.match(name)
    if m is None or m["type"] is None:
        return None
    t = element_type(m["type"])
    if t is None:
        return None
    params = _parameters(m, t)
    if m["kind"] == "surf" and len(args) == len(params) + 1:
        params.append(INT)
    if len(args) != len(params):
        return None
    made = tuple(Parameter(f"a{k}", p) for k, p in enumerate(params))
    result = VOID if m["what"] == "write" else t
    return Function(name, result, made, attributes=Attributes(builtin=True))


def _parameters(m: re.Match[str], t: CType) -> list[CType]:
    rank = RANK[m["shape"]]
    integer = m["kind"] == "surf" or m["what"] == "fetch"
    at: list[CType] = [INT if integer else FLOAT] * rank
    if m["layered"]:
        at.append(INT)
    if m["what"] == "Lod":
        at.append(FLOAT)
    if m["what"] == "Grad":
        at += [FLOAT if rank == 1 else VECTORS["float2" if rank == 2 else "float4"]] * 2
    if m["what"] == "gather":
        at.append(INT)
    handle: list[CType] = [ULONGLONG]
    return [t, *handle, *at] if m["what"] == "write" else [*handle, *at]
