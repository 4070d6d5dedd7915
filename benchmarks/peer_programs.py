"""The programs of benchmarks/peers.py, built with each of the libraries.

Straight-line code   `steps(n)`: n integer operations on recent values, every eighth a load, a tenth
                     equal to an earlier one; two of a hundred values are stored, a fourth is dead
Loops                `loops(n)`: counted loops of `TRIPS` trips whose unrolled bodies have n
                     operations together
Control flow         `edges(n)`: n blocks, diamonds in loops nested two deep
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from nvir.ir import Function, Instruction, Module, integer
from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.bulk import bulk
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, B64, PRED
from nvir.ir.values import undef

TRIPS, BODY = 8, 10
NAMES = ("add", "sub", "mul", "xor")


def steps(n: int, seed: int = 1) -> Iterator[tuple[tuple[str, int, int], bool]]:
    """(operation, numbers of its operands) and whether its value is stored; two values are given
    before."""
    rnd = random.Random(seed)
    done: list[tuple[str, int, int]] = []
    for k in range(2, n + 2):
        if k % 8 == 0:
            op = ("load", 0, 0)
        elif done and rnd.random() < 0.1:
            op = rnd.choice(done[-50:])
        else:
            least = max(0, k - 20)
            op = (rnd.choice(NAMES), rnd.randrange(least, k), rnd.randrange(least, k))
        done.append(op)
        yield op, rnd.random() < 0.02


def edges(n: int) -> list[tuple[int, ...]]:
    """Successors of each of n blocks."""
    out: list[tuple[int, ...]] = []
    for k in range(n - 1):
        back = k // 16 * 16 + 1 if k % 16 == 15 else k // 4 * 4 + 1 if k % 4 == 3 else k + 2
        out.append((k + 1, back) if k % 2 and back < n and back != k + 1 else (k + 1,))
    return [*out, ()]


# ---------------------------------------------------------------------- nvir


def nvir_straight(program: list[Any]) -> Module:
    """From instructions, as xdsl's is from operations."""
    m = Module("sm_80")
    b = m.kernel("k", params=[("a", "u64")]).block("entry")
    forms = {
        "add": form("add.s32", "%s, %s, %s"), "sub": form("sub.s32", "%s, %s, %s"),
        "mul": form("mul.lo.s32", "%s, %s, %s"), "xor": form("xor.b32", "%s, %s, %s"),
    }
    load, store = form("ld.global.u32", "%s, [%s+%s]"), form("st.global.u32", "[%s], %s")
    append = b.append
    base = append(Instruction(form("ld.param.u64", "%s, [%s]"), (b.function.params[0],), B64))
    address = (base, integer(4))
    values = [append(Instruction(load, address, B32)) for _ in range(2)]
    with bulk():
        for (name, x, y), stored in program:
            if name == "load":
                i = append(Instruction(load, address, B32))
            else:
                i = append(Instruction(forms[name], (values[x], values[y]), B32))
            values.append(i)
            if stored:
                append(Instruction(store, (base, i)))
    append(Instruction(form("ret"), aux=()))
    return m


def nvir_builder(program: list[Any]) -> Module:
    """The same by the methods of the builder, as people write it."""
    m = Module("sm_80")
    b = Builder(m.kernel("k", params=[("a", "ptr.global.u32")]).block("entry"))
    base = b.value(b.function.params[0])
    make: dict[str, Any] = {
        "add": lambda x, y: b.add(x, y, type="s32"), "sub": lambda x, y: b.sub(x, y, type="s32"),
        "mul": lambda x, y: b.mul(x, y, type="lo.s32"),
        "xor": lambda x, y: b.xor(x, y, type="b32"),
        "load": lambda x, y: b.load("global.u32", base),
    }
    values = [make["load"](0, 0) for _ in range(2)]
    for (name, x, y), stored in program:
        i = make[name](values[x], values[y])
        values.append(i)
        if stored:
            b.store("global.u32", base, i)
    b.ret()
    return m


def nvir_flow(targets: list[tuple[int, ...]]) -> Function:
    f = Function("f", "entry", Module())
    f.blocks = blocks = [Block(f"b{k}", f) for k in range(len(targets))]
    jump, branch, p = form("bra"), form("bra", "", ""), (undef(PRED),)
    for b, to in zip(blocks, targets, strict=True):
        aux = tuple(blocks[t] for t in to)
        if not to:
            b.append(Instruction(form("ret"), aux=()))
        else:
            b.append(Instruction(branch if len(to) == 2 else jump, p[: len(to) - 1], aux=aux))
    return f


def ptx_loops(n: int) -> str:
    """PTX of the loops."""
    body = "xor.b32 %r2, %r2, %r1;\nmul.lo.s32 %r2, %r2, %r2;\n" * (BODY // 2)
    parts = [
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{",
        ".reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n.reg .pred %p<2>;\nld.param.u64 %rd1, [p];",
        "ld.global.u32 %r2, [%rd1];",
    ]
    for k in range(max(1, n // (TRIPS * BODY))):
        parts += [f"mov.u32 %r1, 0;\nL{k}:", body, "add.s32 %r1, %r1, 1;"]
        parts.append(f"setp.lt.s32 %p1, %r1, {TRIPS};\n@%p1 bra L{k};")
    return "\n".join([*parts, "st.global.u32 [%rd1], %r2;\nret;\n}\n"])


# ---------------------------------------------------------------------- xdsl


def xdsl_straight(program: list[Any]) -> Any:
    from xdsl.dialects import arith, builtin, memref
    from xdsl.ir import Block, Region

    rows = {"add": arith.AddiOp, "sub": arith.SubiOp, "mul": arith.MuliOp, "xor": arith.XOrIOp}
    block = Block()
    zero = arith.ConstantOp.from_int_and_width(0, builtin.IndexType())
    buffer = memref.AllocOp.get(builtin.i32, shape=[16])
    block.add_ops([zero, buffer])
    source, index = buffer.results[0], [zero.results[0]]
    values = []
    for _ in range(2):
        load = memref.LoadOp.get(source, index)
        block.add_op(load)
        values.append(load.results[0])
    for (name, x, y), stored in program:
        if name == "load":
            op: Any = memref.LoadOp.get(source, index)
        else:
            op = rows[name](values[x], values[y])
        block.add_op(op)
        values.append(op.results[0])
        if stored:
            block.add_op(memref.StoreOp.get(op.results[0], source, index))
    return builtin.ModuleOp(Region(block))


def xdsl_loops(n: int) -> Any:
    from xdsl.dialects import arith, builtin, scf
    from xdsl.ir import Block, Region

    index = builtin.IndexType()
    block = Block()
    constants = [arith.ConstantOp.from_int_and_width(k, index) for k in (0, TRIPS, 1)]
    block.add_ops(constants)
    low, high, step = (c.results[0] for c in constants)
    x: Any = low
    for _ in range(max(1, n // (TRIPS * BODY))):
        body = Block(arg_types=[index, index])
        counter, carried = body.args
        for k in range(BODY):
            op: Any = arith.MuliOp(carried, carried) if k % 2 else arith.XOrIOp(carried, counter)
            body.add_op(op)
            carried = op.results[0]
        body.add_op(scf.YieldOp(carried))
        loop = scf.ForOp(low, high, step, [x], body)
        block.add_op(loop)
        x = loop.results[0]
    return builtin.ModuleOp(Region(block))


def xdsl_flow(targets: list[tuple[int, ...]]) -> Any:
    from xdsl.dialects import arith, cf
    from xdsl.ir import Block, Region

    blocks = [Block() for _ in targets]
    condition = arith.ConstantOp.from_int_and_width(1, 1)
    blocks[0].add_op(condition)
    for b, to in zip(blocks, targets, strict=True):
        if len(to) == 2:
            b.add_op(cf.ConditionalBranchOp(condition.results[0], blocks[to[0]], [],
                                            blocks[to[1]], []))
        elif to:
            b.add_op(cf.BranchOp(blocks[to[0]]))
    return Region(blocks)


# ---------------------------------------------------------------- LLVM


def llvm_straight(program: list[Any]) -> Any:
    """With llvmlite's builder, which is Python."""
    from llvmlite import ir

    i32 = ir.IntType(32)
    m = ir.Module("k")
    m.triple = "nvptx64-nvidia-cuda"
    f = ir.Function(m, ir.FunctionType(ir.VoidType(), [ir.PointerType(addrspace=1)]), "k")
    b = ir.IRBuilder(f.append_basic_block("entry"))
    base = f.args[0]
    make: dict[str, Any] = {"add": b.add, "sub": b.sub, "mul": b.mul, "xor": b.xor}
    values = [b.load(base, typ=i32) for _ in range(2)]
    for (name, x, y), stored in program:
        i = b.load(base, typ=i32) if name == "load" else make[name](values[x], values[y])
        values.append(i)
        if stored:
            b.store(i, base)
    b.ret_void()
    return m


def llvm_loops(n: int) -> str:
    """LLVM text of the loops."""
    out = ["define void @k(ptr %p) {", "entry:", "  %start = load i32, ptr %p", "  br label %L0"]
    count = max(1, n // (TRIPS * BODY))
    before, came = "%start", "entry"
    for k in range(count):
        out += [f"L{k}:", f"  %i{k} = phi i32 [0, %{came}], [%n{k}, %L{k}]"]
        out.append(f"  %x{k} = phi i32 [{before}, %{came}], [%y{k}.{BODY - 1}, %L{k}]")
        x = f"%x{k}"
        for j in range(BODY):
            step = f"mul i32 {x}, {x}" if j % 2 else f"xor i32 {x}, %i{k}"
            out.append(f"  %y{k}.{j} = {step}")
            x = f"%y{k}.{j}"
        out += [f"  %n{k} = add i32 %i{k}, 1", f"  %c{k} = icmp slt i32 %n{k}, {TRIPS}"]
        out.append(f"  br i1 %c{k}, label %L{k}, label %{f'L{k + 1}' if k + 1 < count else 'end'}")
        before, came = x, f"L{k}"
    return "\n".join([*out, "end:", f"  store i32 {before}, ptr %p", "  ret void", "}", ""])
