"""Control-flow annotations: µs a block for graphs of 10^2 to 10^5 blocks.

    python benchmarks/cfg.py [--sizes 100,1000,10000,100000] [--repeat 5] [--check]

Shapes: a chain, loops nested as deep as the logarithm of the size, a ladder of two-way
joins, one header with a loop around everything, switches, and a ladder entered
sideways (irreducible). Each row gives the best of several runs for edges, RPO, dominators, back
edges and depths (`analyze`), and for the loops derived from them. `--check` fails where
a reducible shape takes more than 3 µs a block (CPU time; a busy machine inflates it).
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from nvir.ir import Function, Instruction, Module, integer
from nvir.ir.block import Block
from nvir.ir.opcodes.form import form
from nvir.ir.types import PRED
from nvir.ir.values import undef

TARGET = 3.0


def chain(n: int) -> Iterator[tuple[int, ...]]:
    for k in range(n - 1):
        yield (k + 1,)
    yield ()


def nested(n: int) -> Iterator[tuple[int, ...]]:
    """Block k may branch back to the start of the aligned power of two that it ends."""
    for k in range(n - 1):
        size = (k + 1) & -(k + 1)  # the largest power of two that divides k + 1
        start = k + 1 - size
        yield (k + 1, max(start, 1)) if size > 1 else (k + 1,)
    yield ()


def ladder(n: int) -> Iterator[tuple[int, ...]]:
    for k in range(n):
        yield tuple(t for t in (k + 1, k + 2) if t < n)


def one_loop(n: int) -> Iterator[tuple[int, ...]]:
    for k in range(n - 2):
        yield (k + 1, n - 1) if k and k % 4 == 0 else (k + 1,)
    yield (1, n - 1)
    yield ()


def switches(n: int) -> Iterator[tuple[int, ...]]:
    """Eight ways and a join, over and over."""
    for k in range(n):
        join = k - k % 10 + 10
        if k % 10 == 0:
            yield tuple(t for t in range(k + 1, k + 9) if t < n) or ()
        else:
            yield (join,) if join < n else ()


def sideways(n: int) -> Iterator[tuple[int, ...]]:
    """Pairs of blocks that branch to each other, both entered from before."""
    for k in range(n):
        base = k - k % 4
        out = {0: (base + 1, base + 2), 1: (base + 2, base + 3), 2: (base + 1, base + 3)}
        yield tuple(t for t in out.get(k % 4, (base + 4,)) if t < n)


SHAPES = {f.__name__: f for f in (chain, nested, ladder, one_loop, switches, sideways)}
IRREDUCIBLE = {"sideways"}


def build(edges: Iterator[tuple[int, ...]]) -> Function:
    f = Function("f", "entry", Module())
    targets = list(edges)
    f.blocks = blocks = [Block(f"b{k}", f) for k in range(len(targets))]
    for b, to in zip(blocks, targets, strict=True):
        aux = tuple(blocks[t] for t in to)
        if not to:
            i = Instruction(form("ret"), aux=())
        elif len(to) == 1:
            i = Instruction(form("bra"), aux=aux)
        elif len(to) == 2:
            i = Instruction(form("bra", "", ""), (undef(PRED),), aux=aux)
        else:
            i = Instruction(form("brx.idx", "%s"), (integer(0),), aux=aux)
        b.append(i)
    return f


def best(run: Callable[[], Any], repeat: int) -> float:
    """CPU seconds of the quickest run."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default="100,1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    slow = []
    print(f"{'shape':10} {'blocks':>7} {'analyze':>8} {'loops':>7} {'sum':>7}   µs a block")
    for name, shape in SHAPES.items():
        for n in map(int, options.sizes.split(",")):
            f = build(shape(n))
            gc.collect()
            gc.disable()
            # Short runs are measured together: the clock is no finer than they are.
            rounds = max(1, 2000 // n)
            analyze = best(lambda: [f.analyze_cfg() for _ in range(rounds)], options.repeat)  # noqa: B023
            loops = best(lambda: [f.loops() for _ in range(rounds)], options.repeat)  # noqa: B023
            gc.enable()
            a, b = (t / rounds / n * 1e6 for t in (analyze, loops))
            print(f"{name:10} {n:7} {a:8.2f} {b:7.2f} {a + b:7.2f}")
            if a + b > TARGET and name not in IRREDUCIBLE:
                slow.append(f"{name} of {n}")
    if slow and options.check:
        print(f"over {TARGET} µs a block: {', '.join(slow)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
