"""Statements: blocks by the notes' names, jumps, cleanups, loops with their pragmas.

    if      if.then if.else if.end          for     for.cond for.body for.inc for.end
    while   while.cond while.body while.end do      do.body do.cond do.end
    switch  sw.bb sw.default sw.epilog      labels  their own names

Code behind a jump that no label reaches is emitted into blocks without predecessors, which the
end of the function removes. Cleanups (calls of destructors) are frames on a stack: the end of a
scope runs those that it opened, a jump those of all scopes that it leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
from nvir.frontend.check.evaluate import evaluate
from nvir.frontend.irgen.expressions import (
    emit_bool,
    emit_effect,
    emit_value,
    number,
)
from nvir.frontend.irgen.initialisers import emit_init
from nvir.frontend.irgen.intrinsic.inline_asm import emit_asm
from nvir.frontend.irgen.places import emit_lvalue, generic, typed
from nvir.frontend.irgen.state import IRGenError, LValue, Target
from nvir.frontend.irgen.variables import global_symbol
from nvir.ir import Block, Constant, Value
from nvir.ir.text.trace import note

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_stmt(g: IRGenState, s: tree.Stmt) -> None:
    """The dispatch over statements."""
    rule = _RULES.get(type(s))
    if rule is None:
        raise IRGenError(f"unsupported statement! ({type(s).__name__})", s.place)
    g.ensure_block()
    g.at(s.place)
    rule(g, s)


def _empty(g: IRGenState, s: tree.Empty) -> None:
    pass


def _expression(g: IRGenState, s: tree.ExprStmt) -> None:
    emit_effect(g, s.expr)


def emit_block(g: IRGenState, s: tree.Compound) -> None:
    mark = len(g.cleanup_stack)
    for inner in s.body:
        emit_stmt(g, inner)
    if s.scope:
        end_scope(g, mark)


# ------------------------------------------------------------------ cleanups


def end_scope(g: IRGenState, mark: int) -> None:
    """Run and drop the cleanups that were pushed since `mark`."""
    run_cleanups(g, mark)
    del g.cleanup_stack[mark:]
    g.has_cleanups = bool(g.cleanup_stack)


def run_cleanups(g: IRGenState, mark: int) -> None:
    """Emit the cleanups above `mark`, innermost first; the stack stays as it is."""
    pending = g.cleanup_stack[mark:]
    if not pending or g.terminated:
        return
    saved = g.cleanup_stack
    g.cleanup_stack = saved[:mark]
    for e in reversed(pending):
        emit_effect(g, e)
    g.cleanup_stack = saved


# --------------------------------------------------------------- declarations


def _declaration(g: IRGenState, s: tree.DeclStmt) -> None:
    for v in s.variables:
        emit_variable(g, v)


def emit_variable(g: IRGenState, v: tree.Variable) -> None:
    """A variable of a block: on the stack, or of the module if it is static or shared."""
    g.at(v.place)
    if v.memory not in ("", "local") or v.storage in ("static", "extern"):
        global_symbol(g.shared, v, g.decl)
        return
    place = g.alloca(v.type, v.name, v.align)
    g.declare(v, place)
    if v.init is not None:
        emit_init(g, v.init, place)
    if v.cleanup is not None:
        g.cleanup_stack.append(v.cleanup)
        g.has_cleanups = True


# ------------------------------------------------------------------- branches


def _scoped(g: IRGenState, s: tree.Stmt) -> None:
    mark = len(g.cleanup_stack)
    emit_stmt(g, s)
    end_scope(g, mark)


def _if(g: IRGenState, s: tree.If) -> None:
    cond = emit_bool(g, s.cond)
    then, end = g.new_block("if.then"), g.new_block("if.end")
    other = g.new_block("if.else") if s.other is not None else end
    g.cond_branch(cond, then, other)
    g.start(then)
    _scoped(g, s.then)
    g.branch(end)
    if s.other is not None:
        g.start(other)
        _scoped(g, s.other)
        g.branch(end)
    g.start(end)


def _loop(g: IRGenState, end: Block, to: Block) -> Target:
    target = Target(end, to, len(g.cleanup_stack))
    g.targets.append(target)
    return target


def _body(g: IRGenState, body: tree.Stmt) -> None:
    _scoped(g, body)
    g.targets.pop()


def _while(g: IRGenState, s: tree.While) -> None:
    cond, body, end = (g.new_block(f"while.{n}") for n in ("cond", "body", "end"))
    g.branch(cond)
    g.start(cond)
    g.cond_branch(emit_bool(g, s.cond), body, end)
    target = _loop(g, end, cond)
    g.start(body)
    _body(g, s.body)
    if not g.terminated:
        target.latches.append(g.block)
        g.branch(cond)
    mark_latches(target.latches, s.unroll)
    g.start(end)


def _do(g: IRGenState, s: tree.Do) -> None:
    body, cond, end = (g.new_block(f"do.{n}") for n in ("body", "cond", "end"))
    g.branch(body)
    _loop(g, end, cond)
    g.start(body)
    _body(g, s.body)
    g.branch(cond)
    g.start(cond)
    g.at(s.cond.place)
    g.cond_branch(emit_bool(g, s.cond), body, end)
    mark_latches([g.block], s.unroll)
    g.start(end)


def _for(g: IRGenState, s: tree.For) -> None:
    mark = len(g.cleanup_stack)
    if s.init is not None:
        emit_stmt(g, s.init)
    cond, body, inc, end = (g.new_block(f"for.{n}") for n in ("cond", "body", "inc", "end"))
    g.branch(cond)
    g.start(cond)
    if s.cond is None:
        g.branch(body)
    else:
        g.at(s.cond.place)
        g.cond_branch(emit_bool(g, s.cond), body, end)
    _loop(g, end, inc)
    g.start(body)
    _body(g, s.body)
    g.branch(inc)
    g.start(inc)
    if s.step is not None:
        g.at(s.step.place)
        emit_effect(g, s.step)
    g.branch(cond)
    mark_latches([g.block], s.unroll)
    g.start(end)
    end_scope(g, mark)


def loop_properties(unroll: tree.Unroll | None) -> tuple[tuple[Any, ...], ...]:
    """The metadata of a pragma: fully, never, or a count."""
    if unroll is None:
        return ()
    if unroll.count is None:
        return (("llvm.loop.unroll.full",),)
    if unroll.count <= 1:
        return (("llvm.loop.unroll.disable",),)
    return (("llvm.loop.unroll.count", unroll.count),)


def mark_latches(latches: list[Block], unroll: tree.Unroll | None) -> None:
    """Say on the blocks that go back to the header what a pragma said of the loop."""
    properties = loop_properties(unroll)
    if properties:
        for b in latches:
            b.aux = {**(b.aux or {}), "llvm.loop": properties}


# --------------------------------------------------------------------- switch


def _switch(g: IRGenState, s: tree.Switch) -> None:
    value = emit_value(g, s.cond)
    end = g.new_block("sw.epilog")
    switch = g.builder.switch(value, end)
    g.switches.append(switch)
    g.targets.append(Target(end, None, len(g.cleanup_stack)))
    g.ensure_block()
    _scoped(g, s.body)
    g.targets.pop()
    g.switches.pop()
    g.branch(end)
    g.start(end)


def _case(g: IRGenState, s: tree.Case) -> None:
    switch = g.switches[-1]
    low = evaluate(s.value)
    high = low if s.last is None else evaluate(s.last)
    if not isinstance(low, int) or not isinstance(high, int):
        raise IRGenError("a case is no integer constant", s.place)
    block = _labelled(g, "sw.bb")
    for v in range(low, high + 1):
        case = number(g, v, typed(s.value))
        assert isinstance(case, Constant)
        g.builder.add_case(switch, case, block)
    if s.body is not None:
        emit_stmt(g, s.body)


def _labelled(g: IRGenState, name: str) -> Block:
    """A block that code falls into, but for one without anything in it yet."""
    block = g.new_block(name)
    g.branch(block)
    g.start(block)
    return block


def _default(g: IRGenState, s: tree.Default) -> None:
    switch = g.switches[-1]
    block = _labelled(g, "sw.default")
    switch.aux = (block, *switch.aux[1:])
    g.function.cfg_changed()
    if s.body is not None:
        emit_stmt(g, s.body)


# ---------------------------------------------------------------------- jumps


def label_block(g: IRGenState, name: str) -> Block:
    block = g.labels.get(name)
    if block is None:
        block = g.labels[name] = g.new_block(name)
    return block


def _label(g: IRGenState, s: tree.Label) -> None:
    block = label_block(g, s.name)
    g.branch(block)
    g.label_marks[s.name] = len(g.cleanup_stack)
    for source, pending in g.gotos.pop(s.name, ()):
        _leave(g, source, pending, len(g.cleanup_stack))
        g.branch(block)
    g.start(block)
    if s.body is not None:
        emit_stmt(g, s.body)


def _leave(g: IRGenState, block: Block, pending: list[tree.Expr], mark: int) -> None:
    """Emit at the end of a block the cleanups of the scopes that a jump from there leaves."""
    g.builder.position_at_end(block)
    saved, g.cleanup_stack = g.cleanup_stack, pending
    run_cleanups(g, mark)
    g.cleanup_stack = saved


def _goto(g: IRGenState, s: tree.Goto) -> None:
    """A jump. Which scopes a forward one leaves is known when its label comes: until then its
    block stays open. A label lies in no scope that the jump would enter past a destructor."""
    if g.cleanup_stack and s.label not in g.label_marks:
        g.gotos.setdefault(s.label, []).append((g.block, list(g.cleanup_stack)))
        label_block(g, s.label)
        g.start(g.new_block("unreachable"))
        return
    run_cleanups(g, g.label_marks.get(s.label, 0))
    g.branch(label_block(g, s.label))


def _break(g: IRGenState, s: tree.Break) -> None:
    target = g.targets[-1]
    run_cleanups(g, target.cleanups)
    g.branch(target.break_block)


def _continue(g: IRGenState, s: tree.Continue) -> None:
    loop = next((t for t in reversed(g.targets) if t.continue_block is not None), None)
    if loop is None or loop.continue_block is None:
        raise IRGenError("'continue' outside of a loop", s.place)
    run_cleanups(g, loop.cleanups)
    if not g.terminated:
        loop.latches.append(g.block)
        g.branch(loop.continue_block)


def _return(g: IRGenState, s: tree.Return) -> None:
    if s.value is not None:
        if g.retval is None or tree.is_void(g.decl.result):
            emit_effect(g, s.value)
        else:
            emit_return_value(g, s.value, g.retval)
    run_cleanups(g, 0)
    assert g.return_block is not None
    stored = s.value is not None and g.retval is not None
    note("FN-08", "return", f"{'a store, ' if stored else ''}to {g.return_block.name}",
         line=s.place.line)
    g.branch(g.return_block)


def emit_return_value(g: IRGenState, e: tree.Expr, to: LValue) -> None:
    """Put what is returned into the return slot."""
    if isinstance(tree.strip(to.type), tree.Reference):
        g.builder.store(generic(g, emit_lvalue(g, e).pointer), to.pointer, to.align)
    else:
        emit_init(g, e, to)


def _asm(g: IRGenState, s: tree.Asm) -> None:
    emit_asm(g, s)


# --------------------------------------------------------- statement expressions


def emit_statement_expr(g: IRGenState, e: tree.StatementExpr, to: LValue | None) -> Value | None:
    """`({ … })`: the last expression's value, or that value put at `to`."""
    mark = len(g.cleanup_stack)
    *before, last = e.body.body or (tree.Empty(),)
    for s in before:
        emit_stmt(g, s)
    g.ensure_block()
    made: Value | None = None
    if not isinstance(last, tree.ExprStmt) or tree.is_void(typed(e)):
        emit_stmt(g, last)
    elif to is not None:
        emit_init(g, last.expr, to)
    elif tree.is_aggregate(typed(e)):
        emit_effect(g, last.expr)
    else:
        made = emit_value(g, last.expr)
    g.ensure_block()
    end_scope(g, mark)
    return made


_RULES: dict[type[tree.Stmt], Any] = {
    tree.Empty: _empty, tree.ExprStmt: _expression, tree.Compound: emit_block,
    tree.DeclStmt: _declaration, tree.If: _if, tree.While: _while, tree.Do: _do, tree.For: _for,
    tree.Switch: _switch, tree.Case: _case, tree.Default: _default, tree.Label: _label,
    tree.Goto: _goto, tree.Break: _break, tree.Continue: _continue, tree.Return: _return,
    tree.Asm: _asm,
}
