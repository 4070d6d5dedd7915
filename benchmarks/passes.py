"""Dead code elimination and value numbering, beside xdsl's on the same program in one run.

    python benchmarks/passes.py [--sizes 1000,10000,100000] [--repeat 3] [--json out.json]

The program is one block of integer operations on recent values, a tenth of them
equal to an earlier one and a third of them dead. Times are CPU microseconds an
operation, the least of the repeats, building not counted; the collector is paused
for both. xdsl is the extra `bench`; without it only nvir is measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from nvir.ir.builder import Builder
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import all_passes

Op = tuple[str, int, int]


def program(n: int, seed: int = 1) -> Iterator[tuple[Op, bool]]:
    """(operation, operand numbers) and whether its value is stored."""
    rnd = random.Random(seed)
    done: list[Op] = []
    for k in range(2, n + 2):
        if done and rnd.random() < 0.1:
            op = rnd.choice(done[-50:])
        else:
            near = range(max(0, k - 20), k)
            op = (rnd.choice(("add", "sub", "mul", "xor")), rnd.choice(near), rnd.choice(near))
        done.append(op)
        yield op, rnd.random() < 0.02


def build_nvir(n: int) -> Function:
    f = Module("sm_80").kernel("k", params=[("a", "ptr.global.u32")])
    b = Builder(f.block("entry"))
    address = f.params[0]
    values: list[Any] = [b.load("global.u32", address), b.load("global.u32", address)]
    make: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda x, y: b.add(x, y, type="s32"),
        "sub": lambda x, y: b.sub(x, y, type="s32"),
        "mul": lambda x, y: b.mul(x, y, type="lo.s32"),
        "xor": lambda x, y: b.xor(x, y, type="b32"),
    }
    for (name, x, y), stored in program(n):
        values.append(make[name](values[x], values[y]))
        if stored:
            b.store("global.u32", address, values[-1])
    b.ret()
    f.analyze_cfg()
    return f


def build_xdsl(n: int) -> Any:
    from xdsl.dialects import arith, builtin, test
    from xdsl.dialects.builtin import i32
    from xdsl.ir import Block, Region

    rows = {"add": arith.AddiOp, "sub": arith.SubiOp, "mul": arith.MuliOp, "xor": arith.XOrIOp}
    source = test.TestOp(result_types=[i32, i32])
    block = Block([source])
    values: list[Any] = list(source.results)
    for (name, x, y), stored in program(n):
        op = rows[name](values[x], values[y])
        block.add_op(op)
        values.append(op.results[0])
        if stored:
            block.add_op(test.TestOp(operands=[values[-1]]))
    return builtin.ModuleOp(Region(block))


def run_nvir(name: str) -> Callable[[Function], None]:
    row = all_passes()[name]

    def run(f: Function) -> None:
        assert f.module is not None
        ctx = Context(f.module, Knobs())
        ctx.pass_, ctx.options, ctx.function = row, row.options(), f
        assert row.run(f, ctx)

    return run


def xdsl_passes() -> dict[str, Callable[[Any], None]]:
    from xdsl.context import Context as XContext
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
    from xdsl.transforms.dead_code_elimination import dce

    return {
        "dce": lambda m: dce(m),
        "gvn": lambda m: CommonSubexpressionElimination().apply(XContext(), m),
    }


def best(build: Callable[[int], Any], run: Callable[[Any], None], n: int, repeat: int) -> float:
    """Microseconds an operation."""
    times = []
    for _ in range(repeat):
        unit = build(n)
        gc.collect()
        gc.disable()
        start = time.process_time()
        run(unit)
        times.append(time.process_time() - start)
        gc.enable()
    return min(times) / n * 1e6


@attrs.frozen
class Row:
    """Microseconds an operation; `xdsl` None where it was not measured."""

    name: str
    size: int
    nvir: float
    xdsl: float | None


def measure(sizes: list[int], repeat: int) -> Iterator[Row]:
    try:
        peers = xdsl_passes()
    except ImportError:
        peers = {}
        print("xdsl is not installed (extra `bench`): measuring nvir alone")
    for name in ("dce", "gvn"):
        for n in sizes:
            ours = best(build_nvir, run_nvir(name), n, repeat)
            theirs = best(build_xdsl, peers[name], n, repeat) if name in peers else None
            yield Row(name, n, ours, theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    print(f"{'pass':<5}{'operations':>12}{'nvir us/op':>12}{'xdsl us/op':>12}{'ratio':>8}")
    for row in measure([int(s) for s in options.sizes.split(",")], options.repeat):
        rows.append(row)
        theirs = f"{row.xdsl:>12.2f}{row.xdsl / row.nvir:>8.1f}" if row.xdsl else ""
        print(f"{row.name:<5}{row.size:>12}{row.nvir:>12.2f}{theirs}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump([attrs.asdict(r) for r in rows], f, indent=1)


if __name__ == "__main__":
    main()
