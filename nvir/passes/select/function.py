"""Selecting one function: a walk in reverse post-order, then phis, then a sweep of the dead.

Method   Each nvvm block gets one ori block, in the same layout; a rule may split the block at hand.
         A phi gets a phi for each of its parts, filled when all values are known: what an
         incoming constant needs (an address in a register) is made at the end of its block.
Cost     Linear.
"""

from __future__ import annotations

import functools

from nvir.analysis.analyses import Analyses
from nvir.ir import VOID, Block, Builder, Function, Instruction, PointerType, Unsupported, Value
from nvir.ir.block import NOUNROLL
from nvir.passes.select import abi, spaces
from nvir.passes.select.lanes import Rule
from nvir.passes.select.parts import parts
from nvir.passes.select.rolled import rolled
from nvir.passes.select.selector import Selector


@functools.cache
def _rules() -> dict[str, Rule]:
    from nvir.passes.select import calls
    from nvir.passes.select.rules import (
        aggregates,
        atomics,
        compare,
        control,
        convert,
        division,
        floating,
        integer,
        memory,
    )

    families = (
        integer, division, floating, compare, convert, memory, aggregates, control, calls, atomics,
    )
    return {name: rule for family in families for name, rule in family.RULES.items()}


def select_function(s: Selector) -> None:
    """Fill `s.target` with the selection of `s.source`."""
    f = s.source
    if f.cfg_state != "fresh":
        f.analyze_cfg()
    reached = set(f.rpo)
    for b in f.blocks:
        if b in reached:
            s.blocks[b] = copy = s.target.block(b.name)
            copy.loc = b.loc
            copy.flags = b.flags
    s.keeps_undef = "freeze" not in Analyses.of(f).rows or \
        not any(i.form.name == "freeze" for b in f.rpo for i in b)
    s.spaces = spaces.infer(f, abi.known_spaces(f))
    s.b = Builder(s.blocks[f.entry])
    abi.arguments(s)
    made: list[tuple[Instruction, list[Instruction]]] = []
    for b in f.rpo:
        if b is not f.entry:
            s.start(s.blocks[b])
        s.here = b
        try:
            _block(s, b, made)
        except Unsupported as e:
            raise _placed(s, e) from None
    _fill_phis(s, made)
    _keep_rolled(s)
    _sweep(s.target)


def _keep_rolled(s: Selector) -> None:
    """Tell the assembler of the loops that are not to be unrolled."""
    for loop, why in rolled(s.source).items():
        header = s.blocks[loop.header]
        header.pragmas = (NOUNROLL,)
        s.rolled[header] = why


def _placed(s: Selector, e: Unsupported) -> Unsupported:
    """With the place of the instruction at hand in the text, and in the source, if it has one."""
    at, place = s.b.loc, s.module.source.place(s.line)
    files = {number: name for number, name, *_ in s.module.source.debug.files}
    where = e.where
    if at is not None and at.file in files:
        source = f"{files[at.file]}:{at.line}:{at.col}"
        where = f"{where}, {source}" if where else source
    return Unsupported(e.what, e.target, where, place)


def _block(s: Selector, b: Block, made: list[tuple[Instruction, list[Instruction]]]) -> None:
    rules = _rules()
    builder = s.b
    for i in b:
        form = i.form
        builder.loc = i.loc
        s.line = i.line or s.line
        if form.is_phi:
            phis = [builder.phi(p.reg) for p in parts(i.type)]
            made.append((i, phis))
            s.values[i] = tuple(phis)
            continue
        rule = rules.get(form.name)
        if rule is None:
            raise Unsupported(form.spelling, where=str(s.source.name))
        out = rule(s, i)
        if i.type is not VOID:
            s.values[i] = out


# --------------------------------------------------------------------- phis


def _fill_phis(s: Selector, made: list[tuple[Instruction, list[Instruction]]]) -> None:
    """Edge by edge, so that constants of one edge share what they need."""
    by_edge: dict[tuple[Block, Block], list[tuple[list[Instruction], Instruction, Value]]] = {}
    for i, phis in made:
        block = i.block
        assert block is not None
        for v, b in dict(zip(i.aux, i.operands, strict=True)).items():
            if (v, block) in s.edges:
                by_edge.setdefault((v, block), []).append((phis, i, b))
    incoming: dict[Instruction, tuple[list[Value], list[Block]]] = {
        p: ([], []) for _, phis in made for p in phis
    }
    for (source, target), entries in by_edge.items():
        for at in s.edges[source, target]:
            s.start(at)
            s.b.before = at.last
            for phis, i, v in entries:
                values = (s.held(v, s.spaces.of(i)),) if isinstance(i.type, PointerType) \
                    else s.use(v)
                for phi, x in zip(phis, values, strict=True):
                    incoming[phi][0].append(x)
                    incoming[phi][1].append(at)
    for phi, (values_, blocks) in incoming.items():
        phi.set_incoming(values_, blocks)


# -------------------------------------------------------------------- sweep


def _sweep(f: Function) -> None:
    """Remove what nothing uses, users before what they use: addresses that went into
    immediates, products that went into mad and fma."""
    f.analyze_cfg()
    work = [i for b in f.rpo for i in b if i._uses is None and not i.form.has_effect]
    while work:
        i = work.pop()
        if i._uses is not None or i.form.has_effect or i.block is None or (
            i._results is not None and any(r.has_uses for r in i._results)
        ):
            continue
        operands = i.operands
        f.marks.pop(i, None)
        i.erase()
        work.extend(d for v in operands if (d := v.definer) is not None and d is not i)
