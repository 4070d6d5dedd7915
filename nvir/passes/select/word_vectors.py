"""Vectors of bytes and half words that are only moved and combined bit by bit, in words.

    %v = load <16 x i8>, ptr %p, align 16         %v = load <4 x i32>, ptr %p, align 16
    %x = xor <16 x i8> %v, splat (i8 85)    ==>   %x = xor <4 x i32> %v, splat (i32 1431655765)
    store <16 x i8> %x, ptr %q, align 16          store <4 x i32> %x, ptr %q, align 16

A store is rewritten where all that it writes comes of loads, literals and bitwise operations that
nothing else uses. `vectorize-memory` does it, behind which no pass asks for elements.
"""

from __future__ import annotations

from nvir.ir import Block, Constant, Instruction, Type, Value, constant
from nvir.ir.layout import align_of
from nvir.ir.nvvm import Builder, const
from nvir.ir.types import I32, IntType, VectorType, vector

_BITWISE = frozenset(("and", "or", "xor"))
MAX_TREE = 64


def rewrite_stores(block: Block) -> int:
    """Rewrite the stores of a block; how many were."""
    stores = [i for i in block if i.form.name == "store" and _in_words(i.operands[0].type)]
    return sum(map(_rewrite, stores))


def _in_words(t: Type) -> bool:
    return isinstance(t, VectorType) and isinstance(t.element, IntType) \
        and t.element.bits in (8, 16) and t.count * t.element.bits % 32 == 0


def _is_plain(i: Instruction) -> bool:
    return not i.form.volatile and "atomic" not in i.form.mods


def _rewrite(store: Instruction) -> bool:
    value, place = store.operands
    tree = _tree(value, store)
    if not tree or not _is_plain(store):
        return False
    t = value.type
    assert isinstance(t, VectorType)
    n = t.count * t.element.bits // 32
    words = vector(I32, n) if n > 1 else I32
    made: dict[Value, Value] = {}
    for i in reversed(tree):  # operands before users
        b = Builder.ahead_of(i)
        if i.form.name == "load":
            made[i] = b.insert(i.form.spelling, i.operands, words, "", i.aux or align_of(t))
        else:
            a, c = (made.get(v) or _literal(v, words) for v in i.operands)
            made[i] = b.insert(i.form.name, (a, c), words)
    store.set_operands((made[value], place))
    store.aux = store.aux or align_of(t)
    for i in tree:
        i.erase()
    return True


def _tree(value: Value, store: Instruction) -> list[Instruction]:
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
        elif v.form.name != "load" or not _is_plain(v):
            return []
    return list(order)


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
