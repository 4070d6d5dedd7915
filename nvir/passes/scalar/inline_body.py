"""One call replaced by the body that it calls; the mechanics of inline."""

from __future__ import annotations

from nvir.ir import I1, I64, VOID, Block, Function, Instruction, PointerType, Type, nvvm_form
from nvir.ir.clone import clone_function
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm import Builder, declare
from nvir.ir.values import Argument, Constant, Value, constant, undef


def inline_call(site: Instruction, callee: Function, *, sole: bool = False) -> None:
    """Put a copy of a function's body in place of a call of it; of the last one the body itself."""
    block = site.block
    assert block is not None
    caller = block.function
    after = _split_behind(block, site)
    values = {p: _argument(p, v, site) for p, v in zip(callee.params, site.operands, strict=True)}
    copies = _copy(callee, caller, values, block, sole)
    returns: list[tuple[Value, Block]] = []
    for b in copies:
        last = b.terminator
        if last is not None and last.form.name == "ret":
            returns.append((last.operands[0] if last.operands else site, b))
            last.erase()
            b.append(Instruction(nvvm_form("br"), (), aux=(after,), loc=site.loc))
    _hoist_allocas(copies, caller)
    block.append(Instruction(nvvm_form("br"), (), aux=(copies[0],), loc=site.loc))
    if site.type is not VOID:
        site.replace_all_uses_with(_returned(site, returns, after))
    site.erase()
    caller.cfg_changed()


def _copy(
    callee: Function, caller: Function, values: dict[Argument, Value], block: Block, sole: bool
) -> list[Block]:
    """A copy of a body behind a block of the caller, `values` in place of the parameters."""
    copy = callee if sole else clone_function(callee)
    for old, p in zip(callee.params, copy.params, strict=True):
        p.replace_all_uses_with(values[old])
    caller.marks.update(copy.marks)
    blocks = copy.take_blocks()
    for b in blocks:
        b.function = caller
        b.name = caller.unique_block_name(b.name)
    at = caller.blocks.index(block) + 1
    caller.blocks[at:at] = blocks
    return blocks


def _returned(site: Instruction, returns: list[tuple[Value, Block]], after: Block) -> Value:
    if not returns:
        return undef(site.type)
    if len(returns) == 1:
        return returns[0][0]
    phi = Instruction(nvvm_form("phi"), (), site.type, site.name, (), site.loc)
    after.insert_phi(phi)
    phi.set_incoming([v for v, _ in returns], [b for _, b in returns])
    return phi


def _split_behind(block: Block, site: Instruction) -> Block:
    """Move what follows a call to a block of its own; phis name that as their predecessor."""
    function = block.function
    after = function.block(f"{block.name}.after", after=block)
    i = site.next
    while i is not None:
        following = i.next
        i.remove()
        after.append(i)
        i = following
    after.aux, block.aux = block.aux, None
    last = after.terminator
    for s in dict.fromkeys(last.successors if last is not None else ()):
        for phi in s.phis:
            phi.aux = tuple([after if p is block else p for p in phi.aux])
    return after


def _argument(p: Argument, v: Value, site: Instruction) -> Value:
    """What stands for a parameter: the argument, or a copy of the memory that it points to."""
    of: Type | None = next(
        (a[1] for a in p.attributes if isinstance(a, tuple) and a[0] == "byval"), None
    )
    if of is None:
        return v
    block = site.block
    assert block is not None
    module = block.function.module
    assert module is not None
    align = max([align_of(of), *(a[1] for a in p.attributes
                                 if isinstance(a, tuple) and a[0] == "align")])
    entry = Builder(block.function.entry, block.function.entry.first_non_phi)
    place: Value = entry.alloca(of, name=f"{p.name or 'arg'}.copy", align=align)
    b = Builder(block, site)
    b.loc = site.loc
    if v.type is not place.type:
        place = b.addrspacecast(place, v.type)
    assert isinstance(v.type, PointerType)
    space = v.type.space
    name = f"llvm.memcpy.p{space}.p{space}.i64"
    copy = declare(module, name, VOID, [v.type, v.type, I64, I1])
    b.call(copy, [place, v, constant(I64, size_of(of)), constant(I1, 0)])
    return place


def _hoist_allocas(copies: list[Block], caller: Function) -> None:
    """Allocas of the body's entry belong to the caller's: else a loop would grow the stack."""
    anchor = caller.entry.first
    for i in copies[0]:
        if i.form.name == "alloca" and isinstance(i.operands[0], Constant):
            if anchor is None or anchor.block is not caller.entry:
                anchor = caller.entry.first_non_phi
            assert anchor is not None
            i.move_before(anchor)

