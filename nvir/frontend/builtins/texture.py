"""Textures and surfaces: `<name>_<type>`, as the real front end calls them.

    tex2D_float4(t, x, y)      the texture's element type is the suffix: float, int, uint, uchar …,
                               with 1, 2 or 4 components
    tex1Dfetch_int(t, i)       by an integer index
    surf2Dread_uint(s, x, y)   x counts bytes; surf2Dwrite_float(v, s, x, y); a further argument
                               says what is outside: 0 zero, 1 the edge, 2 (or none) a trap

Coordinates follow CUDA: 1D, 2D, 3D, Cubemap, 1DLayered, 2DLayered; `Lod` takes a level, `Grad` two
vectors. Elements of 8 and 16 bits are read as 32 and cut down.

Where the call's own type is known (a reader of C++ instantiated the template), `tex2D` without a
suffix takes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
from nvir.frontend.builtins.texture_names import NAME, RANK, element_type
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.ir import DOUBLE, I32, I64, Constant, Type, Value, function_type, struct
from nvir.ir.types import FLOAT as F32
from nvir.ir.types import VOID as NOTHING

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


class _Site:
    """One call."""

    def __init__(
        self, g: IRGenState, e: tree.Call, f: tree.Function, args: list[Value | LValue]
    ) -> None:
        self.g, self.e, self.f, self.args = g, e, f, args
        m = NAME.match(f.name)
        assert m is not None
        self.m = m
        t = element_type(m["type"]) if m["type"] else None
        self.type: tree.CType = t if t is not None else f.result if m["what"] != "write" else (
            f.params[0].type)
        s = tree.strip(self.type)
        fields = [x.type for x in s.fields or ()] if isinstance(s, tree.Record) else [self.type]
        self.fields = fields
        element = tree.strip(fields[0])
        if not isinstance(element, tree.Arithmetic) or len(fields) not in (1, 2, 4):
            raise IRGenError(f"'{f.name}' of no texture's element type", e.place)
        self.element = element
        plain_unsigned = element is tree.CHAR and g.options.plain_char_unsigned
        self.signed = tree.is_signed(element) and not plain_unsigned
        layered = "a" if m["layered"] else ""
        self.place = f"{layered}{'cube' if m['shape'] == 'Cubemap' else m['shape'].lower()}"

    def value(self, k: int) -> Value:
        v = self.args[k]
        assert isinstance(v, Value)
        return v

    def asm(self, text: str, result: Type, args: list[Value], letters: list[str]) -> Any:
        kind = function_type(result, [a.type for a in args])
        return self.g.builder.asm(kind, text, ",".join([*letters, "~{memory}"]), args, True)

    def cut(self, v: Value, t: Type) -> Value:
        from nvir.frontend.irgen import fold

        if v.type is t:
            return v
        row = "trunc" if t.bits < v.type.bits else "bitcast"
        return fold.cast(self.g, row, v, t, "conv")


def emit(g: IRGenState, e: tree.Call, f: tree.Function, args: list[Value | LValue]) -> Value | None:
    s = _Site(g, e, f, args)
    if s.m["kind"] == "tex":
        return _sample(s)
    if s.m["what"] != "write":
        return _read(s)
    _write(s)
    return None


def _coordinates(s: _Site, first: int) -> tuple[list[Value], int]:
    """The layer first, then x, y, z; of three, the fourth that PTX wants is the last again."""
    rank = RANK[s.m["shape"]]
    at = [s.value(first + k) for k in range(rank)]
    used = first + rank
    if s.m["layered"]:
        at.insert(0, s.value(used))
        used += 1
    if len(at) == 3:
        at.append(at[-1])
    return at, used


def _letters(values: list[Value]) -> list[str]:
    return ["f" if v.type is F32 else "l" if v.type is I64 else "r" for v in values]


def _braces(first: int, n: int) -> str:
    inner = ", ".join(f"${first + k}" for k in range(n))
    return f"{{{inner}}}" if n > 1 else inner


def _sample(s: _Site) -> Value:
    """tex gives four components of 32 bits; those that the type has are kept."""
    real = tree.is_float(s.element)
    t = F32 if real else I32
    kind = "f32" if real else "s32" if s.signed else "u32"
    at, used = _coordinates(s, 1)
    extra = s.args[used:]
    values = [s.value(0), *at]
    coordinate = "s32" if s.m["what"] == "fetch" else "f32"
    mode, tail = "", ""
    n = 4 + len(values)
    if s.m["what"] == "Lod":
        mode, tail = ".level", f", ${n}"
        values.append(s.value(used))
    elif s.m["what"] == "Grad":
        mode = ".grad"
        for v in extra:
            parts = _vector(s, v)
            tail += f", {_braces(4 + len(values), len(parts))}"
            values += parts
    elif s.m["what"] == "gather":
        return _gather(s, kind, values, t)
    text = (f"tex{mode}.{s.place}.v4.{kind}.{coordinate} {_braces(0, 4)}, "
            f"[$4, {{{', '.join(f'${5 + k}' for k in range(len(at)))}}}]{tail};")
    letters = ["=f" if real else "=r"] * 4 + _letters(values)
    made = s.asm(text, struct([t] * 4), values, letters)
    return _given(s, [s.g.builder.extract_value(made, k) for k in range(len(s.fields))])


def _gather(s: _Site, kind: str, values: list[Value], t: Type) -> Value:
    channel = getattr(s.value(len(s.args) - 1), "value", None)
    if not isinstance(channel, int) or not 0 <= channel < 4:
        raise IRGenError("the component of a gather must be a constant from 0 to 3", s.e.place)
    text = (f"tld4.{'rgba'[channel]}.{s.place}.v4.{kind}.f32 {_braces(0, 4)}, "
            "[$4, {$5, $6}];")
    letters = ["=f" if t is F32 else "=r"] * 4 + _letters(values)
    made = s.asm(text, struct([t] * 4), values, letters)
    return _given(s, [s.g.builder.extract_value(made, k) for k in range(len(s.fields))])


def _vector(s: _Site, v: Value | LValue) -> list[Value]:
    if not isinstance(v, LValue):
        return [v]
    r = tree.strip(v.type)
    assert isinstance(r, tree.Record)
    n = len(r.fields or ())
    return [s.g.builder.load(s.g.builder.gep(v.pointer, [k], F32, True), F32, "", 4)
            for k in range(n)]


def _given(s: _Site, parts: list[Value]) -> Value:
    """The components as the type that was asked for."""
    memory = [s.g.types.memory(t) for t in s.fields]
    parts = [s.cut(v, t) for v, t in zip(parts, memory, strict=True)]
    if not isinstance(tree.strip(s.type), tree.Record):
        return parts[0]
    place = s.g.alloca(s.type, "agg.tmp")
    for k, (v, t) in enumerate(zip(parts, memory, strict=True)):
        s.g.builder.store(v, s.g.builder.gep(place.pointer, [k], t, True), t.bits // 8)
    return place.pointer


def _width(s: _Site) -> tuple[str, Type, str]:
    """PTX's type of an element, the register's, its constraint."""
    bits = s.element.bits
    if bits == 64:
        return "b64", I64, "l"
    return f"b{bits}", I32, "r"


def _outside(s: _Site, first: int) -> str:
    """What an access outside of a surface does: the argument behind the coordinates."""
    k = first + RANK[s.m["shape"]] + bool(s.m["layered"])
    if k >= len(s.args):
        return "trap"
    mode = s.args[k]
    if not isinstance(mode, Constant) or mode.value not in (0, 1, 2):
        raise IRGenError(f"the boundary mode of '{s.f.name}' is no constant 0, 1 or 2", s.e.place)
    return ("zero", "clamp", "trap")[int(mode.value)]


def _read(s: _Site) -> Value:
    at, _ = _coordinates(s, 1)
    kind, t, letter = _width(s)
    n = len(s.fields)
    vector = f".v{n}" if n > 1 else ""
    values = [s.value(0), *at]
    text = (f"suld.b.{s.place}{vector}.{kind}.{_outside(s, 1)} {_braces(0, n)}, "
            f"[${n}, {{{', '.join(f'${n + 1 + k}' for k in range(len(at)))}}}];")
    result = struct([t] * n) if n > 1 else t
    made = s.asm(text, result, values, [f"={letter}"] * n + _letters(values))
    parts = [s.g.builder.extract_value(made, k) for k in range(n)] if n > 1 else [made]
    return _given(s, parts)


def _write(s: _Site) -> None:
    at, _ = _coordinates(s, 2)
    kind, t, letter = _width(s)
    v = s.args[0]
    memory = s.g.types.memory(s.fields[0])
    b = s.g.builder
    if isinstance(v, LValue):
        parts: list[Value] = [
            b.load(b.gep(v.pointer, [k], memory, True), memory, "", memory.bits // 8)
            for k in range(len(s.fields))
        ]
    else:
        parts = [v]
    parts = [_widened(s, p, t) for p in parts]
    n = len(parts)
    values = [s.value(1), *at, *parts]
    vector = f".v{n}" if n > 1 else ""
    text = (f"sust.b.{s.place}{vector}.{kind}.{_outside(s, 2)} "
            f"[$0, {{{', '.join(f'${1 + k}' for k in range(len(at)))}}}], "
            f"{_braces(1 + len(at), n)};")
    s.asm(text, NOTHING, values, [*_letters(values[: -n or None]), *([letter] * n)])


def _widened(s: _Site, v: Value, t: Type) -> Value:
    from nvir.frontend.irgen import fold

    if v.type is t:
        return v
    return fold.cast(s.g, "bitcast" if v.type in (F32, DOUBLE) else "zext", v, t, "conv")


