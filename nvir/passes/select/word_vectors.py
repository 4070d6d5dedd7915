"""Vectors of small numbers that are only moved and combined bit by bit, in words.

    %v = load <16 x i8>, ptr %p, align 16         %v = load <4 x i32>, ptr %p, align 16
    %x = xor <16 x i8> %v, splat (i8 85)    ==>   %x = xor <4 x i32> %v, splat (i32 1431655765)
    store <16 x i8> %x, ptr %q, align 16          store <4 x i32> %x, ptr %q, align 16

A store, or a cast to another type, is rewritten where its value comes of loads, literals, casts and
bitwise operations that nothing else uses. `<8 x i1>` is one number, as it is in memory.
`vectorize-memory` does it, behind which no pass asks for elements.
"""

from __future__ import annotations

from nvir.ir import Block, Constant, Instruction, OpKind, Type, Value, constant
from nvir.ir.layout import align_of
from nvir.ir.nvvm import Builder, const
from nvir.ir.types import I32, IntType, VectorType, int_type, vector
from nvir.passes.select.lanes import element

_BITWISE = frozenset(("and", "or", "xor"))
MAX_TREE = 64


def rewrite_bits(block: Block) -> int:
    """Rewrite the stores and casts of a block; how many were."""
    ends = [i for i in block if (i.form.kind is OpKind.STORE or _repacks(i))
            and _words(i.operands[0].type) is not None]
    return sum(map(_rewrite, ends))


def _repacks(i: Instruction) -> bool:
    """Whether an instruction is a cast to elements of another size: others stay in registers."""
    return i.form.name == "bitcast" and element(i.type).bits != element(i.operands[0].type).bits


def _words(t: Type) -> Type | None:
    """What a vector is in words; None for what is better left as it is."""
    if not isinstance(t, VectorType) or not isinstance(t.element, IntType):
        return None
    size, bits = t.element.bits, t.count * t.element.bits
    if size not in (1, 2, 4, 8, 16):
        return None
    if bits % 32 == 0:
        return vector(I32, bits // 32) if bits > 32 else I32
    return int_type(bits) if size < 8 and bits in (8, 16) else None


def _is_plain(i: Instruction) -> bool:
    return not i.form.volatile and "atomic" not in i.form.mods


def _rewrite(end: Instruction) -> bool:
    value = end.operands[0]
    tree = _tree(value)
    if not tree or not _is_plain(end):
        return False
    t = value.type
    words = _words(t)
    assert words is not None
    made: dict[Value, Value] = {}
    for i in reversed(tree):  # operands before users
        b = Builder.ahead_of(i)
        if i.form.name == "load":
            made[i] = b.insert(i.form.spelling, i.operands, words, "", i.aux or align_of(t))
        elif i.form.name == "bitcast":
            made[i] = _cast(b, i.operands[0], words)
        else:
            a, c = (made.get(v) or _literal(v, words) for v in i.operands)
            made[i] = b.insert(i.form.name, (a, c), words)
    if end.form.kind is OpKind.STORE:
        end.set_operands((made[value], end.operands[1]))
        end.aux = end.aux or align_of(t)
    else:
        end.replace_with(_cast(Builder.ahead_of(end), made[value], end.type))
    for i in tree:
        i.erase()
    return True


def _cast(b: Builder, v: Value, t: Type) -> Value:
    return v if v.type is t else b.bitcast(v, t)


def _tree(value: Value) -> list[Instruction]:
    """The instructions that a value is made by, each after its users; none where one is another or
    used elsewhere."""
    order: dict[Instruction, None] = {}
    work = [value]
    while work:
        v = work.pop()
        if isinstance(v, Constant):
            continue
        if not isinstance(v, Instruction) or len(order) > MAX_TREE or v in order \
                or v.use_count != 1:
            return []
        order[v] = None
        if v.form.name in _BITWISE:
            work.extend(v.operands)
        elif not _is_leaf(v):
            return []
    return list(order)


def _is_leaf(i: Instruction) -> bool:
    return _repacks(i) or (i.form.name == "load" and _is_plain(i))


def _literal(v: Value, words: Type) -> Value:
    """A constant of narrow elements in words."""
    assert isinstance(v, Constant)
    t = v.type
    assert isinstance(t, VectorType)
    bits, values = t.element.bits, v.value or (const(t.element, 0),) * t.count
    number = 0
    for k, x in enumerate(values):
        number |= (int(getattr(x, "value", 0) or 0) & ((1 << bits) - 1)) << k * bits
    if not isinstance(words, VectorType):
        return const(words, number)
    return constant(words, tuple(
        const(I32, number >> 32 * k & 0xFFFFFFFF) for k in range(words.count)))
