"""Programs that call one builtin each, with arguments of the types that its row asks for."""

from __future__ import annotations

from nvir.frontend import build as b
from nvir.frontend.builtins.registry import Builtin, rows
from nvir.frontend.declarators import ctype
from nvir.frontend.tree import types as t


def all_rows() -> list[Builtin]:
    return [row for made in rows().values() for row in made]


# Arguments that must be constants, by the name of the parameter.
_CONSTANTS = {"layout": 0, "satf": 0, "unused": 0, "n": 32, "negate_a": 0, "negate_b": 0,
              "transpose_a": 0, "transpose_b": 0}


def program(row: Builtin, of: str | None = None) -> b.d.Unit:
    """A kernel that calls the row with what it loads from memory, and keeps the result."""
    chosen = None
    if row.types:
        chosen = ctype(of or (row.types[0] if row.types != ("*",) else "float4"))
    params, args, body = ["long long *out"], [], []
    for k, (text, kind) in enumerate(zip(row.params, row.parameter_types(chosen), strict=True)):
        word = text.split()[-1].lstrip("*")
        if isinstance(t.strip(kind), t.Pointer):
            params.append((kind, f"p{k}"))
            args.append(b.name(f"p{k}"))
        elif word in _CONSTANTS:
            args.append(4 if word == "n" and "group" in row.name else _CONSTANTS[word])
        elif word in ("size_t",) and "pipeline" in row.name:
            args.append(16)
        else:
            params.append((kind, f"a{k}"))
            args.append(b.name(f"a{k}"))
    made = b.call(row.name, *args)
    result = row.result_type(chosen)
    if t.is_void(result):
        body.append(b.stmt(made))
    elif isinstance(t.strip(result), t.Record):
        body.append(b.let((result, "got"), made))
        body.append(b.assign(out()[0], b.cast("long long", b.name("got").x)))
    elif isinstance(t.strip(result), t.Pointer):
        body.append(b.assign(out()[0], b.cast("long long", made)))
    else:
        body.append(b.assign(out()[0], b.cast("long long", made)))
    return b.unit(b.kernel("k", params, *body))


def out() -> b.E:
    return b.name("out")
