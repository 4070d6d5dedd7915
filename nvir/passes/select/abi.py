"""How values are passed: parameters of kernels and functions, results, calls.

A kernel's scalars have their own width (`.param .u8`), a function's integers below 32 bits
are widened to `.b32`. Vectors, aggregates, i128 and `byval` memory are arrays of bytes with the
alignment of their type, or the one that `nvvm.annotations` or `callalign` give.

Source: PTX Writer's Guide to Interoperability; what nvcc prints.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Argument, Function, Module, Param, Unsupported, Value
from nvir.ir.layout import align_of, size_of
from nvir.ir.types import B8, I32, SCALARS, FloatType, IntType, PointerType, Type, array
from nvir.passes.select.parts import parts
from nvir.passes.select.rules.convert import extended, resize
from nvir.passes.select.rules.memory import load_value, store_value
from nvir.passes.select.selector import AddressParts, Parts, Selector, width
from nvir.passes.select.spaces import PARAM, SPACE_NAMES


def attribute(attributes: tuple[Any, ...], name: str) -> Any:
    """The value of an attribute: True for a word, None where there is none."""
    if name in attributes:
        return True
    for a in attributes:
        if a.__class__ is tuple and a and a[0] == name:
            return a[1]
    return None


def _is_scalar(t: Type) -> bool:
    return isinstance(t, PointerType) or (isinstance(t, IntType | FloatType) and t.bits <= 64)


def _is_narrow(t: Type) -> bool:
    return isinstance(t, IntType) and t.bits < 32


MAX_ALIGN = 128  # of parameters in PTX


def alignments(module: Module) -> dict[str, dict[int, int]]:
    """function → place → bytes: the alignments that `nvvm.annotations` give to results (place 0)
    and parameters (from 1), where they are more than the type's."""
    aux = module.aux if isinstance(module.aux, dict) else {}
    found: dict[str, dict[int, int]] = {}
    for node in aux.get("metadata", {}).get("nvvm.annotations", ()):
        for key, word in zip(node[1::2], node[2::2], strict=False):
            if key == "align" and isinstance(word, int):
                found.setdefault(str(node[0].name), {})[word >> 16] = word & 0xFFFF
    return found


def parameter(
    name: str, t: Type, index: int, kernel: bool, attributes: tuple[Any, ...] = (), hint: str = "",
    least: int = 0,
) -> Param:
    """The declaration of a parameter or result of type `t`; `hint` is its name in the source,
    `least` the alignment that it has at least if it is an object."""
    text = {"name": hint} if hint else {}
    memory = attribute(attributes, "byval")
    if isinstance(memory, Type):
        given = attribute(attributes, "align") or 0
        return _object(name, memory, max(int(given), least), index, text)
    if not _is_scalar(t):
        return _object(name, t, least, index, text)
    if kernel and isinstance(t, PointerType):
        space = SPACE_NAMES.get(t.space) or "global"
        align = attribute(attributes, "align") or 1
        text["ptr"] = f".{space} .align {align}"
    return Param(name, SCALARS[_declared(t, kernel)], index, attributes=text)


def _object(name: str, t: Type, least: int, index: int, text: dict[str, str]) -> Param:
    align = max(align_of(t), least)
    if align > MAX_ALIGN:
        raise Unsupported(f"a parameter aligned to {align} bytes: PTX has {MAX_ALIGN} at most")
    return Param(name, array(B8, max(size_of(t), 1)), index, align=align, attributes=text)


def _declared(t: Type, kernel: bool) -> str:
    if isinstance(t, FloatType):
        return {"half": "b16", "bfloat": "b16", "float": "f32", "double": "f64"}[t.name]
    bits = 64 if isinstance(t, PointerType) else max(size_of(t) * 8, 8)
    return f"u{bits}" if kernel else f"b{max(bits, 32)}"


def declare(f: Function, target: Function, aligned: dict[int, int]) -> None:
    """The parameters and results of an ori function from those of its nvvm source; `aligned` are
    their given alignments by place."""
    kernel = f.is_kernel
    for k, a in enumerate(f.params):
        name = f"{target.name}_param_{k}"
        p = parameter(name, a.type, k, kernel, a.attributes, str(a.name or ""),
                      aligned.get(k + 1, 0))
        target.params.append(p)
    if parts(f.return_type) and not kernel:  # nobody takes what a kernel returns
        target.returns.append(parameter("func_retval0", f.return_type, 0, False,
                                        least=aligned.get(0, 0)))


# ----------------------------------------------------------- moving a value


def read(s: Selector, p: Param, t: Type, kernel: bool) -> Parts:
    """A value of type `t` out of a parameter."""
    if kernel or not _is_narrow(t):
        return load_value(s, AddressParts(p, 0, PARAM), t, p.align or align_of(t))
    wide = s.op("ld.param.b32", (p, 0))
    if t.bits == 1:
        return (s.op("setp.ne.s32", s.op("and.b32", wide, 1), 0),)
    return (resize(s, wide, 32, width(t)),)


def write(s: Selector, p: Param, x: Parts, t: Type, attributes: tuple[Any, ...] = ()) -> None:
    """A value of type `t` into a parameter."""
    if not _is_narrow(t):
        store_value(s, AddressParts(p, 0, PARAM), x, t, p.align or align_of(t))
        return
    how = "s" if attribute(attributes, "signext") else "z"
    s.op("st.param.b32", (p, 0), extended(s, x[0], t, width(I32), how))


def arguments(s: Selector) -> None:
    """Load the parameters of the function at the head of its entry."""
    f = s.source
    for a, p in zip(f.params, s.target.params, strict=True):
        if not a.has_uses:
            continue
        memory = attribute(a.attributes, "byval")
        if isinstance(memory, Type):
            _memory(s, a, p, memory)
            continue
        s.values[a] = read(s, p, a.type, f.is_kernel)
        if isinstance(a.type, PointerType) and a in s.spaces:
            name = SPACE_NAMES[s.spaces[a]]
            s.values[a] = (s.op(f"cvta.to.{name}.u64", s.values[a][0]),)


def _memory(s: Selector, a: Argument, p: Param, t: Type) -> None:
    """A parameter in memory: read where it is, or copied where it is written or escapes."""
    from nvir.passes.select.rules.copies import copy_bytes
    from nvir.passes.select.rules.memory import depot

    here = AddressParts(p, 0, PARAM)
    if s.spaces.get(a) != PARAM:
        place = depot(s, size_of(t), p.align)
        copy_bytes(s, place, here, size_of(t), p.align)
        here = place
    s.addresses[a] = here
    s.values[a] = (here.base,)


def known_spaces(f: Function) -> dict[Argument, int]:
    """Where the pointers that a function takes point to, as far as its kind tells."""
    from nvir.passes.select.spaces import GLOBAL, LOCAL

    out: dict[Argument, int] = {}
    for a in f.params:
        if not isinstance(a.type, PointerType):
            continue
        if isinstance(attribute(a.attributes, "byval"), Type):
            out[a] = PARAM if _only_read(a, f.is_kernel) else LOCAL
        elif f.is_kernel and a.type.space == 0:
            out[a] = GLOBAL
    return out


def _only_read(a: Argument, any_index: bool) -> bool:
    """Whether all that is done with a pointer is to load from it, at constant offsets unless
    `any_index`: only a kernel's parameters have addresses."""
    work: list[Value] = [a]
    while work:
        v = work.pop()
        for u in v.users:
            name = u.form.name
            if name == "getelementptr" and u.operands.count(v) == 1:
                if not any_index and not all(k.is_constant for k in u.operands[1:]):
                    return False
                work.append(u)
            elif name != "load" or u.form.volatile or "atomic" in u.form.mods:
                return False
    return True
