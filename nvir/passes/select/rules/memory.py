"""Loads, stores, address computations and stack memory.

A value of any type is moved part by part. Neighbours of one width go together as `.v2` or
`.v4` where the alignment proves that the access is aligned to its whole size; 16-bit ones
pair up in 32-bit words where four would not reach. What is aligned to less than its width, or has
an odd number of bytes (i24), moves in the largest pieces that are aligned; a vector of i1 as the
number that it is.

    getelementptr        base + index·size, the constant part kept for the access's immediate;
                         mul.wide where the index is an extended i32; the constant of an
                         index `i + 3` that cannot wrap joins the immediate
    alloca               a piece of the function's local depot; where the count is not
                         constant or the place is in a loop, PTX's alloca
"""

from __future__ import annotations

import functools

from nvir.analysis.callees import intrinsic
from nvir.ir import Argument, Constant, Instruction, Value, Variable, integer
from nvir.ir import types as ty
from nvir.ir.layout import align_of, align_up, fields, size_of, struct_layout
from nvir.passes.select.lanes import Rule
from nvir.passes.select.parts import RegisterPart, count, parts
from nvir.passes.select.rules.convert import extended, recast
from nvir.passes.select.rules.integer import zext
from nvir.passes.select.selector import MAX_OFFSET, AddressParts, Parts, Selector
from nvir.passes.select.spaces import GENERIC, GLOBAL, LOCAL

_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
_FLOATS = {"half": "b16", "bfloat": "b16", "float": "f32", "double": "f64"}
Group = list[RegisterPart]


# ------------------------------------------------------------------ addresses


def _gep(s: Selector, i: Instruction) -> Parts:
    if isinstance(i.type, ty.VectorType):
        return tuple(_gep_lane(s, i, k) for k in range(i.type.count))
    base = i.operands[0]
    if isinstance(base, Constant):
        a = AddressParts(s.reg(integer(base.value or 0), "b64"), 0, s.spaces.of(i))
    else:
        a = s.address(base)
    t: ty.Type = i.aux
    first = True
    for v in i.operands[1:]:
        if first:
            size, first = size_of(t), False
        elif isinstance(t, ty.StructType):
            assert isinstance(v, Constant)
            k = v.value or 0
            a = a.plus(struct_layout(t).offsets[k])
            t = (t.elements or ())[k]
            continue
        else:
            assert isinstance(t, ty.ArrayType | ty.VectorType)
            t = t.element
            size = size_of(t)
        a = _indexed(s, a, v, size)
    a = s.fitting(a)
    s.addresses[i] = a
    return (a.base,)


def _gep_lane(s: Selector, i: Instruction, k: int) -> Value:
    """Pointer k of a vector of pointers, each computed by itself."""

    def lane(v: Value) -> Value:
        return s.use(v)[k if isinstance(v.type, ty.VectorType) else 0]

    a = AddressParts(s.reg(lane(i.operands[0]), "b64"), 0, s.spaces.of(i))
    t: ty.Type = i.aux
    for n, v in enumerate(i.operands[1:]):
        x = lane(v)
        if n and isinstance(t, ty.StructType):
            assert isinstance(x, Constant)
            a = a.plus(struct_layout(t).offsets[x.value or 0])
            t = (t.elements or ())[x.value or 0]
            continue
        if n:
            assert isinstance(t, ty.ArrayType | ty.VectorType)
            t = t.element
        size = size_of(t)
        if isinstance(x, Constant):
            a = a.plus((x.value or 0) * size)
        elif size:
            of = v.type.element if isinstance(v.type, ty.VectorType) else v.type
            if of.bits > 64:
                raise s.fail(f"an index of type {v.type}")
            by = _scaled(s, x, of, size, "" if of.bits == 64 else "s")
            a = AddressParts(s.op("add.s64", a.base, by), a.offset, a.space)
    return s.register(a)


def _indexed(s: Selector, a: AddressParts, v: Value, size: int) -> AddressParts:
    """The address of element v of an array at `a`."""
    if isinstance(v, Constant):
        return a.plus((v.value or 0) * size)
    if not size:
        return a
    core, extra, kind = _split_index(s, v)
    key = ("element", a.base, core, size, kind)

    def make() -> Value:
        base = s.register(AddressParts(a.base, 0, a.space))
        x = s.use(core)[0]
        return s.op("add.s64", base, _scaled(s, x, core.type, size, kind))

    return AddressParts(s.cached(key, make), a.offset + extra * size, a.space)


def _split_index(s: Selector, v: Value) -> tuple[Value, int, str]:
    """An index as (value, constant to add, extension): `sext(x + 3)` is (x, 3, "s") where x + 3
    cannot wrap; extension "" for what has 64 bits."""
    kind = "" if v.type.bits == 64 else "s"
    if isinstance(v, Instruction) and v.form.name in ("sext", "zext") and v.type.bits == 64:
        kind = v.form.name[0]
        if v.operands[0].type is ty.I1:
            return v, 0, ""
        v = v.operands[0]
    if isinstance(v, Instruction) and v.form.name in ("add", "or"):
        x, c = v.operands
        mods = v.form.mods
        safe = {"s": "nsw", "z": "nuw", "": ""}[kind]
        if v.form.name == "or":
            exact = "disjoint" in mods or s.bits.disjoint(x, c)
        else:
            exact = not safe or safe in mods or _cannot_wrap(x, c)
        if isinstance(c, Constant) and exact:
            return x, int(c.value), kind
    return v, 0, kind


def _cannot_wrap(x: Value, c: Value) -> bool:
    """Whether x + c stays below half of the type's range, x being small and c not negative."""
    bound = _bound(x)
    return bound is not None and isinstance(c, Constant) and c.value >= 0 \
        and bound + c.value < 1 << (x.type.bits - 1)


def _bound(v: Value) -> int | None:
    """The largest number that an unsigned value can be, where its definition shows it."""
    if isinstance(v, Constant):
        return v.value if isinstance(v.value, int) and v.value >= 0 else None
    if not isinstance(v, Instruction):
        return None
    name = v.form.name
    if name == "call":
        row = intrinsic(v)
        return (1 << row.bits) - 1 if row is not None and row.bits > 0 else None
    if name in ("and", "lshr") and isinstance(v.operands[1], Constant):
        c = v.operands[1].value
        if name == "lshr":
            return ((1 << v.type.bits) - 1) >> c if 0 < c < v.type.bits else None
        return c if c >= 0 else None
    return None


def _scaled(s: Selector, x: Value, t: ty.Type, size: int, kind: str) -> Value:
    """index · size in 64 bits, of an index of type `t` in register `x`."""

    bits = t.bits
    if bits > 64:
        kind = ""
    sign = "s" if kind == "s" else "u"
    if kind and bits <= 32:
        x = extended(s, x, t, 32, kind)
        if size == 1:
            return s.op(f"cvt.{sign}64.{sign}32", x)
        if size < 1 << 31:
            return s.op(f"mul.wide.{sign}32", s.reg(x, "b32"), size)
    if kind:
        x = extended(s, x, t, 64, kind)
    if size & (size - 1) == 0:
        return x if size == 1 else s.op("shl.b64", x, size.bit_length() - 1)
    return s.op("mul.lo.s64", x, size)


def known_align(s: Selector, a: AddressParts, align: int) -> int:
    """The alignment of an address: what is said, or what its symbol shows."""
    if isinstance(a.base, Variable):
        own = a.base.align or 1
        here = own if not a.offset else min(own, a.offset & -a.offset)
        return max(align, here)
    return align


# ---------------------------------------------------------------- the pieces


def groups(shape: tuple[RegisterPart, ...], align: int) -> list[Group]:
    """Parts that move together, in order; one that is not aligned stands alone."""
    out: list[Group] = []
    k = 0
    while k < len(shape):
        first = shape[k]
        n = 1
        for wanted in (4, 2):
            run = shape[k : k + wanted]
            if len(run) == wanted and wanted * first.bytes <= 16 and _contiguous(run) \
                    and _alignment(align, first.offset) >= wanted * first.bytes:
                n = wanted
                break
        out.append(list(shape[k : k + n]))
        k += n
    return out


def _contiguous(run: tuple[RegisterPart, ...]) -> bool:
    size = run[0].bytes
    return size in _TYPES and all(
        p.bytes == size and p.offset == run[0].offset + j * size for j, p in enumerate(run)
    )


def _alignment(align: int, offset: int) -> int:
    return min(align, offset & -offset) if offset else align


def _pieces(part: RegisterPart, align: int) -> list[tuple[int, int]]:
    """(offset, bytes) of what a part moves in, where it does not move at once."""
    at, left = part.offset, part.bytes
    out = []
    while left:
        size = min(8, _alignment(align, at), 1 << (left.bit_length() - 1))
        out.append((at, size))
        at, left = at + size, left - size
    return out


def spelled(part: RegisterPart) -> str:
    if isinstance(part.scalar, ty.FloatType):
        return _FLOATS[part.scalar.name]
    return _TYPES[part.bytes]


@functools.lru_cache(maxsize=1024)
def _fields_with_bits(t: ty.Type) -> tuple[tuple[int, ty.Type], ...]:
    """Where the leaves of a type lie, if one is a vector whose elements are no whole bytes: it lies
    in memory bit by bit, as an integer does. Else nothing: each part has a place of its own."""
    parts(t)  # too many are refused
    found = fields(t)
    return found if any(map(_is_in_bits, (leaf for _, leaf in found))) else ()


def _is_in_bits(t: ty.Type) -> bool:
    return isinstance(t, ty.VectorType) and bool(t.element.bits % 8)


def _as_number(t: ty.Type) -> ty.Type:
    """The integer that a vector is in memory; other types are themselves."""
    if not _is_in_bits(t):
        return t
    assert isinstance(t, ty.VectorType)
    return ty.int_type(t.count * t.element.bits)


# --------------------------------------------------------------------- loads


def load_value(
    s: Selector, a: AddressParts, t: ty.Type, align: int, order: str = "", nc: bool = False,
    as_signed: bool = False, name: str = "ld",
) -> Parts:
    """The parts of a `t` at an address. `order` follows the mnemonic: ".volatile" …"""
    if pieces := _fields_with_bits(t):
        return tuple(p for at, leaf in pieces for p in recast(s, load_value(
            s, a.plus(at), _as_number(leaf), _alignment(align, at), order, nc, name=name,
        ), _as_number(leaf), leaf))
    a = _in_reach(s, a, parts(t))
    align = known_align(s, a, align)
    head = f"{name}{a.ordered(order)}{'.nc' if nc else ''}"
    out: list[Value] = []
    for group in _moved(t, align):
        out += _load_group(s, head, a, group, align, as_signed)
    return tuple(out)


def _in_reach(s: Selector, a: AddressParts, shape: tuple[RegisterPart, ...]) -> AddressParts:
    last = shape[-1].offset if shape else 0
    if -MAX_OFFSET <= a.offset + last < MAX_OFFSET:
        return a
    return s.fitting(a.plus(last)).plus(-last)


@functools.lru_cache(maxsize=4096)
def _moved(t: ty.Type, align: int) -> list[Group]:
    """What the parts of a value are moved in: as `groups`, with eight 16-bit parts as one group of
    four words."""
    shape = parts(t)
    if len(shape) < 8 or any(p.bytes != 2 for p in shape):
        return groups(shape, align)
    out: list[Group] = []
    k = 0
    while k < len(shape):
        run = shape[k : k + 8]
        if len(run) == 8 and _contiguous(run) and _alignment(align, run[0].offset) >= 16:
            out.append(list(run))
            k += 8
        else:
            out.extend(groups(run, align))
            k += 8
    return out


def _load_group(
    s: Selector, head: str, a: AddressParts, group: Group, align: int, as_signed: bool
) -> list[Value]:
    first = group[0]
    at = a.base, a.offset + first.offset
    if len(group) == 8:
        words = s.ops(f"{head}.v4.b32", at)
        return [h for w in words for h in s.ops("mov.b32", w, shape="{%s, %s}")]
    if len(group) > 1:
        kind = spelled(first)
        if any(spelled(p) != kind for p in group):
            kind = f"b{8 * first.bytes}"
        loaded = s.ops(f"{head}.v{len(group)}.{kind}", at)
        return [_as_part(s, v, p, kind) for v, p in zip(loaded, group, strict=True)]
    if first.bytes in _TYPES and _alignment(align, first.offset) >= first.bytes:
        kind = spelled(first)
        if as_signed and kind == "u8" and first.bits == 8:
            return [s.known(s.op(f"{head}.s8", at), "s", 8)]
        return [_as_part(s, s.op(f"{head}.{kind}", at), first, kind)]
    return [_load_pieces(s, head, a, first, align)]


def _as_part(s: Selector, v: Value, p: RegisterPart, kind: str) -> Value:
    """What was loaded as `kind`, in the register of its part."""
    if p.reg is ty.PRED:
        return s.op("setp.ne.s16", s.op("and.b16", v, 1), 0)
    if p.reg is ty.B64 and p.bytes < 8:  # the highest word of an i65 … i96
        return s.op(f"cvt.u64.u{max(16, 8 * p.bytes)}", v)
    if kind == "u8":
        return s.known(v, "z", 8) if p.bits == 8 else v
    if kind[0] == "b" and p.reg.is_float:
        return s.op(f"mov.{p.reg.name}", v)
    return v


def _load_pieces(s: Selector, head: str, a: AddressParts, p: RegisterPart, align: int) -> Value:
    w = p.reg.bits
    total: Value | None = None
    loaded: dict[tuple[int, int], Value] = {}
    for at, size in _pieces(p, align):
        v = s.op(f"{head}.{_TYPES[size]}", a.plus(at).operand)
        loaded[at - p.offset, size] = v
        own = max(16, 8 * size)
        if own != w:
            v = s.op(f"cvt.u{w}.u{own}", v)
        if at > p.offset:
            v = s.op(f"shl.b{w}", v, 8 * (at - p.offset))
        total = v if total is None else s.op(f"or.b{w}", total, v)
    assert total is not None
    whole = s.op(f"mov.{p.reg.name}", total) if p.reg.is_float else total
    s.loaded_pieces[whole] = loaded
    return whole


def _load(s: Selector, i: Instruction) -> Parts:
    a = s.address(_pointer(s, i.operands[0]))
    if "atomic" in i.form.mods:
        from nvir.passes.select.rules.atomics import atomic_load

        return atomic_load(s, i, a)
    volatile = ".volatile" if i.form.volatile else ""
    a = _seen_by_others(s, a, volatile)
    nc = not volatile and a.space == GLOBAL and (
        "invariant" in i.form.mods or _is_read_only(s, i.operands[0])
    )
    return s.pointed(i, load_value(
        s, a, i.type, i.aux or align_of(i.type), volatile, nc, _only_signed(i)
    ))


def _is_read_only(s: Selector, v: Value) -> bool:
    """Whether nothing in the kernel writes where a pointer leads: `const T *__restrict__`."""
    return bool(s.restricted) and s.source.is_kernel and all(
        isinstance(root, Argument) and "noalias" in root.attributes and _only_read(s, root)
        for root in _roots(v)
    )


def _roots(v: Value) -> list[Value]:
    """What a pointer leads into, by address computations, casts and what joins several."""
    seen: dict[Value, None] = {v: None}
    work, found = [v], []
    while work:
        x = work.pop()
        if not isinstance(x, Instruction):
            found.append(x)
            continue
        name = x.form.name
        if name in ("getelementptr", "bitcast", "addrspacecast", "freeze"):
            more: tuple[Value, ...] = x.operands[:1]
        elif name in ("phi", "select"):
            more = x.operands[name == "select" :]
        else:
            found.append(x)
            continue
        work += [y for y in more if y not in seen]
        seen.update(dict.fromkeys(more))
    return found


def _only_read(s: Selector, a: Argument) -> bool:
    """Whether the kernel only loads through a pointer: it says so, or all its uses do."""
    if "readonly" in a.attributes or "readnone" in a.attributes:
        return True
    known = s.only_read.get(a)
    if known is None:
        known = s.only_read[a] = _all_uses_load(a)
    return known


def _all_uses_load(a: Argument) -> bool:
    seen: set[Value] = {a}
    work: list[Value] = [a]
    while work:
        for u in work.pop().users:
            if u.form.name in ("getelementptr", "bitcast", "addrspacecast", "phi", "select"):
                if u not in seen:
                    seen.add(u)
                    work.append(u)
            elif u.form.name == "icmp":
                continue
            elif u.form.name != "load" or u.form.volatile or "atomic" in u.form.mods:
                return False
    return True


def _seen_by_others(s: Selector, a: AddressParts, order: str) -> AddressParts:
    """A volatile access to stack memory goes by its generic address: PTX has it volatile there."""
    if order and a.space == LOCAL:
        return AddressParts(s.into(AddressParts(a.base, 0, LOCAL), GENERIC), a.offset, GENERIC)
    return a


def _pointer(s: Selector, v: Value) -> Value:
    if isinstance(v.type, ty.VectorType):
        raise s.fail("an access through a vector of pointers")
    return v


def _only_signed(i: Instruction) -> bool:
    return i.type.bits == 8 and i.has_uses and all(u.form.name == "sext" for u in i.users)


# -------------------------------------------------------------------- stores


def store_value(
    s: Selector, a: AddressParts, x: Parts, t: ty.Type, align: int, order: str = ""
) -> None:
    """Write the parts of a `t` to an address."""
    left = list(x)
    for at, leaf in _fields_with_bits(t):
        number, own = _as_number(leaf), left[: count(leaf)]
        del left[: len(own)]
        store_value(s, a.plus(at), recast(s, tuple(own), leaf, number), number,
                    _alignment(align, at), order)
    if not left:
        return
    a = _in_reach(s, a, parts(t))
    align = known_align(s, a, align)
    head = f"st{a.ordered(order)}"
    done = 0
    for group in _moved(t, align):
        _store_group(s, head, a, group, align, list(x[done : done + len(group)]))
        done += len(group)


def _store_group(
    s: Selector, head: str, a: AddressParts, group: Group, align: int, x: list[Value]
) -> None:
    first = group[0]
    at = a.base, a.offset + first.offset
    if len(group) == 8:
        words = [s.op("mov.b32", [_h(s, lo), _h(s, hi)]) for lo, hi in
                 zip(x[::2], x[1::2], strict=True)]
        s.op(f"{head}.v4.b32", at, words)
        return
    stored = [_to_memory(s, v, p) for v, p in zip(x, group, strict=True)]
    if len(group) > 1:
        kind = spelled(first)
        if any(spelled(p) != kind for p in group):
            kind = f"b{8 * first.bytes}"
        s.op(f"{head}.v{len(group)}.{kind}", at, stored)
    elif first.bytes in _TYPES and _alignment(align, first.offset) >= first.bytes:
        s.op(f"{head}.{spelled(first)}", at, stored[0])
    else:
        _store_pieces(s, head, a, first, align, stored[0])


def _h(s: Selector, v: Value) -> Value:
    return s.reg(v, "b16")


def _to_memory(s: Selector, v: Value, p: RegisterPart) -> Value:
    """A part as a register (or literal) of whole bytes."""
    if p.reg is ty.PRED:
        if isinstance(v, Constant):
            return integer(int(v.value))
        return s.op("selp.b16", 1, 0, v)
    return zext(s, v, p.bits) if p.bits % 8 else v


def _store_pieces(
    s: Selector, head: str, a: AddressParts, p: RegisterPart, align: int, v: Value
) -> None:
    loaded = s.loaded_pieces.get(v, {})
    if [(at - p.offset, size) for at, size in _pieces(p, align)] == [*loaded]:
        for (at, size), piece in loaded.items():  # they were never more than this
            s.op(f"{head}.{_TYPES[size]}", a.plus(p.offset + at).operand, piece)
        return
    w = p.reg.bits
    if p.reg.is_float:
        v = s.op(f"mov.b{w}", v)
    v = s.reg(v, f"b{w}")
    for at, size in _pieces(p, align):
        piece = s.op(f"shr.u{w}", v, 8 * (at - p.offset)) if at > p.offset else v
        s.op(f"{head}.{_TYPES[size]}", a.plus(at).operand, piece)


def _store(s: Selector, i: Instruction) -> Parts:
    v, pointer = i.operands
    a = s.address(_pointer(s, pointer))
    if "atomic" in i.form.mods:
        from nvir.passes.select.rules.atomics import atomic_store

        return atomic_store(s, i, a)
    order = ".volatile" if i.form.volatile else ""
    a = _seen_by_others(s, a, order)
    store_value(s, a, s.use(v), v.type, i.aux or align_of(v.type), order)
    return ()


# --------------------------------------------------------------- stack memory


def _alloca(s: Selector, i: Instruction) -> Parts:
    t, align = i.aux
    align = max(align, align_of(t))
    n = i.operands[0]
    if isinstance(n, Constant) and s.here is not None and not s.here.loop_depth:
        a = depot(s, size_of(t) * n.value, align)
        s.addresses[i] = a
        return (a.base,)

    bytes = s.op("mul.lo.s64", s.reg(extended(s, s.one(n), n.type, 64, "z"), "b64"), size_of(t))
    return (s.op("alloca.u64", bytes, max(align, 8)),)


def depot(s: Selector, size: int, align: int) -> AddressParts:
    """A piece of the function's local memory."""
    v = s.depot
    if v is None:
        name = s.module.fresh_name("__local_depot")
        v = s.depot = Variable(name, "local", ty.array(ty.B8, 0), align=align)
        s.target.locals.append(v)
    used = align_up(v.size if v.dimensions[0] else 0, align)
    v.value_type = ty.array(ty.B8, max(used + size, 1))
    v.align = max(v.align, align)
    return AddressParts(v, used, LOCAL)


RULES: dict[str, Rule] = {
    "getelementptr": _gep,
    "load": _load,
    "store": _store,
    "alloca": _alloca,
}
