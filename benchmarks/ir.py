"""The IR's own speed beside xdsl's, in one run on the same programs.

    python benchmarks/ir.py [--sizes 1000,10000,100000,1000000] [--repeat 3]

The program is straight-line code in one function: an add, a multiply, and every
eighth operation a load. Each figure is the best of several runs in µs an operation (a
block, for the control flow). Figures are printed as a table, with the ratio to xdsl
where it has the same operation, and the target.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from nvir.ir import Function, Instruction, Module, form, integer
from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.clone import clone_module
from nvir.ir.parse import parse_ir
from nvir.ir.text import print_ir
from nvir.ir.types import B32, B64, PRED
from nvir.ir.values import undef
from nvir.ir.verify import verify

XDSL_LIMIT = 100_000
TARGETS = {"build": 12.0, "print": 30.0, "parse": 20.0, "clone": 8.0}


def build(n: int) -> Module:
    """A kernel of n operations and a return."""
    m = Module()
    b = m.kernel("k", [("a", "u64")]).block("entry")
    add, mul = form("add.s32", "%s, %s, %s"), form("mul.lo.s32", "%s, %s, %s")
    load = form("ld.global.u32", "%s, [%s+%s]")
    parameter = (b.function.params[0],)
    base = b.append(Instruction(form("ld.param.u64", "%s, [%s]"), parameter, B64, "%rd1"))
    append, offset = b.append, integer(4)
    x: Any = append(Instruction(load, (base, offset), B32, "%r0"))
    y = x
    with bulk():
        for k in range(n):
            if k & 7 == 7:
                x, y = y, append(Instruction(load, (base, offset), B32, f"%r{k}"))
            else:
                x, y = y, append(Instruction(mul if k & 1 else add, (x, y), B32, f"%r{k}"))
    append(Instruction(form("ret"), aux=()))
    return m


def control_flow(n: int) -> Function:
    """About n blocks: diamonds in loops, nested two deep."""
    f = Function("f", "entry", Module())
    f.blocks = blocks = [Block(f"b{k}", f) for k in range(n)]
    jump, branch, p = form("bra"), form("bra", "", ""), (undef(PRED),)
    for k, b in enumerate(blocks[:-1]):
        other = k // 16 * 16 + 1 if k % 16 == 15 else k // 4 * 4 + 1 if k % 4 == 3 else k + 2
        if k % 2 and other < n and other != k + 1:
            b.append(Instruction(branch, p, aux=(blocks[k + 1], blocks[other])))
        else:
            b.append(Instruction(jump, aux=(blocks[k + 1],)))
    blocks[-1].append(Instruction(form("ret"), aux=()))
    return f


def best(run: Callable[[], Any], repeat: int) -> float:
    """CPU seconds of the quickest of several runs (other processes do not count)."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        result = run()
        times.append(time.process_time() - start)
        del result
    return min(times)


def measure(n: int, repeat: int) -> dict[str, float]:
    """µs an operation of each step; `bytes` an instruction."""
    m = build(n)
    text = print_ir(m)
    out = {
        "build": best(lambda: build(n), repeat), "print": best(lambda: print_ir(m), repeat),
        "parse": best(lambda: parse_ir(text), repeat),
        "clone": best(lambda: clone_module(m), repeat), "verify": best(lambda: verify(m), repeat),
    }  # fmt: skip
    f = control_flow(n if n <= 100_000 else 100_000)
    flow = best(lambda: (f.analyze_cfg(), f.loops()), repeat)
    result = {k: v / n * 1e6 for k, v in out.items()}
    result["cfg"] = flow / len(f.blocks) * 1e6
    return result


def bytes_each(n: int = 20_000) -> float:
    """Memory of one instruction with its uses and its share of everything."""
    build(10)
    tracemalloc.start()
    m = build(n)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del m
    return size / n


def xdsl_program(n: int) -> Any:
    """The same program: arith.addi, arith.muli, memref.load."""
    from xdsl.builder import Builder
    from xdsl.dialects import arith, builtin, memref
    from xdsl.rewriter import InsertPoint

    module = builtin.ModuleOp([])
    b = Builder(InsertPoint.at_end(module.body.block))
    zero = b.insert(arith.ConstantOp.from_int_and_width(0, builtin.IndexType()))
    buffer = b.insert(memref.AllocOp.get(builtin.i32, shape=[16]))
    x = y = b.insert(memref.LoadOp.get(buffer.results[0], [zero.results[0]])).results[0]
    for k in range(n):
        if k & 7 == 7:
            op: Any = memref.LoadOp.get(buffer.results[0], [zero.results[0]])
        else:
            op = (arith.MuliOp if k & 1 else arith.AddiOp)(x, y)
        x, y = y, b.insert(op).results[0]
    return module


def measure_xdsl(n: int, repeat: int) -> dict[str, float]:
    """xdsl's µs an operation; {} where it is not installed."""
    try:
        from xdsl.context import Context
        from xdsl.dialects import arith, builtin, memref
        from xdsl.parser import Parser
    except ImportError:
        return {}
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, memref.MemRef):
        context.load_dialect(dialect)
    m = xdsl_program(n)
    text = str(m)
    out = {
        "build": best(lambda: xdsl_program(n), repeat), "print": best(lambda: str(m), repeat),
        "parse": best(lambda: Parser(context, text).parse_module(), repeat),
        "clone": best(m.clone, repeat), "verify": best(m.verify, repeat),
    }  # fmt: skip
    return {k: v / n * 1e6 for k, v in out.items()}


def side_by_side(n: int, repeat: int) -> tuple[dict[str, float], dict[str, float]]:
    """The least of both, measured in turns: a machine that slows down slows both."""
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(repeat):
        for least, new in (
            (ours, measure(n, 1)), (theirs, measure_xdsl(n, 1) if n <= XDSL_LIMIT else {})
        ):  # fmt: skip
            for step, us in new.items():
                least[step] = min(us, least.get(step, us))
    return ours, theirs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--sizes", default="1000,10000,100000,1000000")
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    for n in map(int, given.sizes.split(",")):
        ours, theirs = side_by_side(n, given.repeat)
        print(f"\n{n} operations        nvir µs   xdsl µs   ratio  target")
        for step, us in ours.items():
            other = theirs.get(step)
            beside = f"{other:9.1f} {other / us:7.1f}" if other else " " * 17
            target = f"{TARGETS[step]:7.0f}" if step in TARGETS else ""
            print(f"  {step:20}{us:10.2f} {beside} {target}")
    print(f"\nbytes an instruction  {bytes_each():.0f} (at most 600)")
    print("cfg is µs a block (at most 3, up to 100,000 blocks)")


if __name__ == "__main__":
    main()
