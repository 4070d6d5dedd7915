"""Which invariants hold no register more before the loop than in it.

    mul %y, %x, 2        %x is read here alone: it ends where %y begins, and %y may leave
    add %z, %w, 2        %w is read elsewhere too: %z would be live beside it

Taken out of a loop, a value is live all through it. That costs nothing where what it is made of
ends in its place. So a tree of operations is weighed by its root: the registers that it makes, less
those of the inputs that nothing else reads. A value with several readers ends at none of them: it
is an input like any other, and has to be free by itself.

    parameters, literals, addresses   in the constant bank or the instruction: never a register
    predicates                        as any other register
    special registers that all lanes share are read as cheaply before the loop

Cost    a visit an instruction.
Source  ptxas 13.0.88, observed (hoist/decide.py): it holds around loops, not in them.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.ir import Form, Instruction, OpKind, SpecialRegister, Value

_UNIFORM = ("%ctaid", "%nctaid", "%ntid", "%gridid")


def holds_no_more(invariant: Sequence[Instruction]) -> list[Instruction]:
    """Those of `invariant`, definitions before uses, that may leave without a register more."""
    net: dict[Instruction, int] = {}
    for i in invariant:
        net[i] = _net(i, net)
    free: set[Instruction] = set()
    for i in invariant:
        if net[i] <= 0 and _needs(i, net, free):
            free.add(i)
    return [i for i in invariant if i in free]


def _net(i: Instruction, net: dict[Instruction, int]) -> int:
    """Registers held by a tree's root less those that end in the tree."""
    operands = i.operands
    if i.form.name == "mov" and operands and isinstance(operands[0], SpecialRegister):
        return 0 if str(operands[0].name).startswith(_UNIFORM) else 1
    n = sum(registers(r) for r in i.results)
    for v in operands:
        d = v.definer
        if d is None or v.use_count != 1 or d.form.space == "param":
            continue
        if i.form.reads and not _ends(d):
            continue
        inner = net.get(d)
        n -= registers(v) if inner is None else registers(v) - inner
    return n


def _ends(maker: Instruction) -> bool:
    """Whether an address ends with what it is made of: sums with constants and scalings are part
    of the access."""
    while _scales_or_adds(maker.form):
        parts = [v for v in maker.operands if not _is_constant(v)]
        if len(parts) == len(maker.operands):
            break
        d = parts[0].definer if parts else None
        if d is None or parts[0].use_count != 1:
            return False
        maker = d
    return True


def _scales_or_adds(f: Form) -> bool:
    return f.name == "shl" or (f.kind is OpKind.SUM and f.commutes)


def _is_constant(v: Value) -> bool:
    d = v.definer
    return v.is_constant or (d is not None and d.form.name == "mov" and d.operands[0].is_constant)


def _needs(root: Instruction, net: dict[Instruction, int], free: set[Instruction]) -> bool:
    """Let a tree's operations leave with its root, where the other inputs are free already."""
    tree: list[Instruction] = []
    work = [root]
    while work:
        i = work.pop()
        tree.append(i)
        for v in i.operands:
            d = v.definer
            if d is None or d not in net or d in free:
                continue
            if v.use_count != 1:
                return False
            work.append(d)
    free.update(tree)
    return True


def registers(v: Value) -> int:
    """Registers of 32 bits that a value takes; a predicate counts as one."""
    return max(1, -(-v.type.bits // 32))
