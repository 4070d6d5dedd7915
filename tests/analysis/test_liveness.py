"""Liveness against its definition, worked out by brute force on small graphs."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.analysis.liveness import Liveness, liveness
from nvir.ir import Argument, Block, Function, Instruction, Module, Value, integer, undef
from nvir.ir.cfg import successors
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, PRED, U32

ADD, PHI, BRA, RET = form("add.u32", "%s, %s, %s"), form("phi"), form("bra"), form("ret")
BRANCH = form("bra", "", "")
SETP = form("setp.lt.u32", "%s, %s, %s")


def add(block: Block, x: Value, y: Value, name: str | None = None) -> Instruction:
    return block.append(Instruction(ADD, (x, y), U32, name))


def loop() -> tuple[Function, dict[str, Value]]:
    """entry: a, n;  L: x = phi [a, entry], [y, L]; y = x + 1; p; bra L;  out: uses y, a."""
    f = Module().kernel("k")
    entry, body, out = f.block("entry"), f.block("L"), f.block("out")
    a = add(entry, integer(1), integer(2), "a")
    n = add(entry, integer(3), a, "n")
    entry.append(Instruction(BRA, aux=(body,)))
    x = body.append(Instruction(PHI, (), U32, "x", ()))
    y = add(body, x, integer(1), "y")
    p = body.append(Instruction(SETP, (y, n), PRED, "p"))
    body.append(Instruction(BRANCH, (p,), aux=(body, out)))
    x.set_incoming((a, y), (entry, body))
    z = add(out, y, a, "z")
    out.append(Instruction(RET))
    return f, {"a": a, "n": n, "x": x, "y": y, "p": p, "z": z}


def test_phi_operands_are_live_out_of_predecessors_and_results_not_live_in() -> None:
    f, v = loop()
    live = liveness(f)
    entry, body, out = f.blocks
    assert live.live_in_values(entry) == []
    assert live.live_out_values(entry) == [v["a"], v["n"]]
    assert live.live_in_values(body) == [v["a"], v["n"]]
    assert live.live_out_values(body) == [v["a"], v["n"], v["y"]]
    assert live.live_in_values(out) == [v["a"], v["y"]]
    assert live.live_out_values(out) == []
    assert not live.is_live_in(v["x"], body)
    assert v["x"] not in live.live_out_values(body)
    assert v["y"] in live.live_out_values(body)


def test_values_that_stay_in_their_block_are_not_numbered() -> None:
    f, v = loop()
    assert not {v["p"], v["z"], v["x"]} & set(liveness(f).values)


def test_walk_backwards_gives_what_is_live_behind_each_instruction() -> None:
    f, v = loop()
    live = liveness(f)
    steps = [(i, set(s)) for i, s in live.backwards(f.blocks[1])]
    crossing = {v["a"], v["n"], v["y"]}
    assert [i for i, _ in steps] == [f.blocks[1].last, v["p"], v["y"]]
    assert [s for _, s in steps] == [crossing, crossing | {v["p"]}, crossing]
    assert [i for i, _ in live.backwards(f.blocks[2])][-1] is v["z"]


def test_arguments_are_live_from_the_entry() -> None:
    f = Module().function("f")
    a = Argument(B32, "%a", f)
    f.params.append(a)
    entry, next_ = f.block("entry"), f.block("next")
    entry.append(Instruction(BRA, aux=(next_,)))
    add(next_, a, integer(1))
    next_.append(Instruction(RET))
    live = liveness(f)
    assert live.live_in_values(entry) == live.live_out_values(entry) == [a]


def test_many_values_far_apart() -> None:
    """Live values come back in the order of definition, however many there are."""
    f = Module().kernel("k")
    entry, out = f.block("entry"), f.block("out")
    values = [add(entry, integer(k), integer(1)) for k in range(300)]
    entry.append(Instruction(BRA, aux=(out,)))
    for v in values:
        add(out, v, values[0])
    out.append(Instruction(RET))
    live = liveness(f)
    assert live.live_out_values(entry) == values
    assert live.live_in_values(out) == values


# ------------------------------------------------------------ brute force


def random_function(seed: int) -> Function:
    """A random graph of blocks with adds and phis; strictness does not matter to liveness."""
    rng = random.Random(seed)
    f = Module().kernel("k")
    blocks = [f.block(f"b{k}") for k in range(rng.randint(1, 8))]
    values: list[Value] = [integer(1), undef(U32)]
    made: list[Instruction] = []
    for b in blocks:
        for _ in range(rng.randint(0, 2)):
            phi = b.append(Instruction(PHI, (), U32, None, ()))
            values.append(phi)
            made.append(phi)
        for _ in range(rng.randint(0, 3)):
            i = add(b, integer(1), integer(2))
            values.append(i)
            made.append(i)
        kind = rng.random()
        if kind < 0.2:
            b.append(Instruction(RET))
        elif kind < 0.5:
            b.append(Instruction(BRA, aux=(rng.choice(blocks),)))
        else:
            p = b.append(Instruction(SETP, (integer(1), integer(2)), PRED))
            targets = (rng.choice(blocks), rng.choice(blocks))
            b.append(Instruction(BRANCH, (p,), aux=targets))
    preds = predecessors(f)
    for i in made:
        if i.form.is_phi:
            i.set_incoming([rng.choice(values) for _ in preds[i.block]], preds[i.block])
        else:
            i.set_operands((rng.choice(values), rng.choice(values)))
    return f


def predecessors(f: Function) -> dict[Block, list[Block]]:
    preds: dict[Block, list[Block]] = {b: [] for b in f.blocks}
    for b in f.blocks:
        for s in successors(b):
            preds[s].append(b)
    return preds


def live_out_by_paths(f: Function, v: Value, b: Block) -> bool:
    """Whether a path from the end of `b` reaches a use of `v` before its definition."""
    seen: set[Block] = set()
    work = [(b, s) for s in successors(b)]
    while work:
        source, block = work.pop()
        if any(v is o and p is source for phi in block.phis for o, p in phi.incoming):
            return True
        if block in seen:
            continue
        seen.add(block)
        defined = isinstance(v, Instruction) and v.block is block
        if defined:
            continue
        if any(v in i.operands for i in block if not i.form.is_phi):
            return True
        work.extend((block, s) for s in successors(block))
    return False


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_live_out_is_what_paths_say(seed: int) -> None:
    """Random graphs: the bit sets agree with the definition."""
    f = random_function(seed)
    live = liveness(f)
    for i in f.instructions():
        for v in i.results:
            expected = {b for b in f.blocks if live_out_by_paths(f, v, b)}
            assert {b for b in f.blocks if v in live.live_out_values(b)} == expected
            for b in f.blocks:
                used = any(v in j.operands for j in b if not j.form.is_phi)
                enters = v.block is not b and (used or b in expected)
                assert live.is_live_in(v, b) == enters


def test_a_long_chain_of_blocks_needs_no_recursion() -> None:
    f = Module().kernel("k")
    entry = f.block("b0")
    a = add(entry, integer(1), integer(2))
    block = entry
    for k in range(5000):
        following = Block(f"c{k}", f)
        f.blocks.append(following)
        block.append(Instruction(BRA, aux=(following,)))
        block = following
    add(block, a, a)
    block.append(Instruction(RET))
    live = liveness(f)
    assert isinstance(live, Liveness)
    assert all(live.live_out_values(b) == [a] for b in f.blocks[:-1])
