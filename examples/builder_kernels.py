"""Four kernels written through the builder: saxpy, tiled sgemm, a shuffle reduction, a search
that breaks out of a nested loop.

    python examples/builder_kernels.py [saxpy|sgemm|reduce|first_negative] [sm_80]

prints the PTX of one of them. Each function returns a verified module.
"""

from __future__ import annotations

import sys

import nvir
from nvir.ir import Module
from nvir.ir.builder import Builder

TILE = 16


def saxpy(target: str = "sm_80") -> Module:
    """y[i] = a * x[i] + y[i] for i < n."""
    m = Module(target)
    f = m.kernel("saxpy", [("n", "u32"), ("a", "f32"), ("x", "ptr.global.f32"),
                           ("y", "ptr.global.f32")])
    n, a, x, y = f.params
    entry, work, done = f.block("entry"), f.block("work"), f.block("done")

    b = Builder(entry)
    i = b.global_id()
    b.cond_br(b.setp("ge", i, n, type="u32"), done, work)

    b.at_end(work)
    place = b.element(y, i, size=4)
    xi = b.load("global.nc.f32", b.element(x, i, size=4))
    b.store("global.f32", place, b.fma(a, xi, b.load("global.f32", place), type="rn.f32"))
    b.br(done)

    b.at_end(done)
    b.ret()
    nvir.verify(m)
    return m


def sgemm(target: str = "sm_80") -> Module:
    """c = a @ b for row-major n by n matrices, n a multiple of 16; blocks of 16 by 16 threads.

    Each block walks over tiles of a and b in shared memory; what is a loop over the
    elements of a tile in CUDA is a loop of Python here, which unrolls it.
    """
    m = Module(target)
    tile_a = m.variable("tile_a", "shared", "f32", TILE * TILE, align=4)
    tile_b = m.variable("tile_b", "shared", "f32", TILE * TILE, align=4)
    f = m.kernel("sgemm", [("n", "u32"), ("a", "ptr.global.f32"), ("b", "ptr.global.f32"),
                           ("c", "ptr.global.f32")])
    f.directives["reqntid"] = (TILE, TILE, 1)
    n, a, b_matrix, c = f.params
    entry, loop, done = f.block("entry"), f.block("loop"), f.block("done")

    b = Builder(entry)
    tx, ty = b.special("tid.x"), b.special("tid.y")
    row = b.mad(b.special("ctaid.y"), TILE, ty, type="lo.u32")
    column = b.mad(b.special("ctaid.x"), TILE, tx, type="lo.u32")
    own = b.shl(b.mad(ty, TILE, tx, type="lo.u32"), 2, type="b32")
    to_a = b.add(b.symbol_address(tile_a), own, type="u32")
    to_b = b.add(b.symbol_address(tile_b), own, type="u32")
    row_of_a = b.add(b.symbol_address(tile_a), b.shl(ty, 6, type="b32"), type="u32")
    column_of_b = b.add(b.symbol_address(tile_b), b.shl(tx, 2, type="b32"), type="u32")
    from_a = b.element(a, b.mad(row, n, tx, type="lo.u32"), size=4)
    from_b = b.element(b_matrix, b.mad(ty, n, column, type="lo.u32"), size=4)
    row_bytes = b.mul(n, 4 * TILE, type="wide.u32")
    b.br(loop)

    b.at_end(loop)
    k, total = b.phi("u32"), b.phi("f32")
    at_a, at_b = b.phi("u64"), b.phi("u64")
    b.store("shared.f32", to_a, b.load("global.f32", at_a))
    b.store("shared.f32", to_b, b.load("global.f32", at_b))
    b.barrier()
    sums = total
    for j in range(TILE):
        left = b.load("shared.f32", row_of_a, offset=4 * j)
        right = b.load("shared.f32", column_of_b, offset=4 * TILE * j)
        sums = b.fma(left, right, sums, type="rn.f32")
    b.barrier()
    next_k = b.add(k, TILE, type="u32")
    k.add(b.value(0), entry)
    k.add(next_k, loop)
    total.add(b.value(0.0), entry)
    total.add(sums, loop)
    at_a.add(from_a, entry)
    at_a.add(b.add(at_a, 4 * TILE, type="u64"), loop)
    at_b.add(from_b, entry)
    at_b.add(b.add(at_b, row_bytes, type="u64"), loop)
    b.cond_br(b.setp("lt", next_k, n, type="u32"), loop, done)

    b.at_end(done)
    b.store("global.f32", b.element(c, b.mad(row, n, column, type="lo.u32"), size=4), sums)
    b.ret()
    nvir.verify(m)
    return m


def reduce(target: str = "sm_80") -> Module:
    """out[0] += the sum of x[0..n): each thread sums in strides of the grid, each warp over its
    lanes by shuffles, and its first lane adds to the total."""
    m = Module(target)
    f = m.kernel("reduce", [("n", "u32"), ("x", "ptr.global.f32"), ("out", "ptr.global.f32")])
    n, x, out = f.params
    entry, loop, combine = f.block("entry"), f.block("loop"), f.block("combine")

    b = Builder(entry)
    first = b.global_id()
    stride = b.mul(b.special("ntid.x"), b.special("nctaid.x"), type="lo.u32")
    b.cond_br(b.setp("lt", first, n, type="u32"), loop, combine)

    b.at_end(loop)
    i, partial = b.phi("u32"), b.phi("f32")
    added = b.add(partial, b.load("global.f32", b.element(x, i, size=4)), type="rn.f32")
    following = b.add(i, stride, type="u32")
    i.add(first, entry)
    i.add(following, loop)
    partial.add(b.value(0.0), entry)
    partial.add(added, loop)
    b.cond_br(b.setp("lt", following, n, type="u32"), loop, combine)

    b.at_end(combine)
    total = b.phi("f32")
    total.add(b.value(0.0), entry)
    total.add(added, loop)
    for distance in (16, 8, 4, 2, 1):
        other = b.shfl_sync(total, distance, 31, -1, type="bfly.b32")
        total = b.add(total, other, type="rn.f32")
    lane = b.and_(b.special("tid.x"), 31, type="b32")
    with b.guard(b.setp("eq", lane, 0, type="u32")):
        b.op("red.global.add.f32", out, total)
    b.ret()
    nvir.verify(m)
    return m


def first_negative(target: str = "sm_80") -> Module:
    """out[r] = the first column of row r of an integer matrix that is negative, else the number
    of columns. One thread walks over rows in strides; the inner loop breaks."""
    m = Module(target)
    f = m.kernel("first_negative", [("rows", "u32"), ("columns", "u32"), ("a", "ptr.global.s32"),
                                    ("out", "ptr.global.u32")])
    rows, columns, a, out = f.params
    entry, each_row = f.block("entry"), f.block("each_row")
    each_column, go_on = f.block("each_column"), f.block("go_on")
    found, done = f.block("found"), f.block("done")

    b = Builder(entry)
    start = b.global_id()
    stride = b.mul(b.special("ntid.x"), b.special("nctaid.x"), type="lo.u32")
    b.cond_br(b.setp("lt", start, rows, type="u32"), each_row, done)

    b.at_end(each_row)
    row = b.phi("u32")
    begin = b.element(a, b.mul(row, columns, type="lo.u32"), size=4)
    b.cond_br(b.setp("eq", columns, 0, type="u32"), found, each_column)

    b.at_end(each_column)
    column, place = b.phi("u32"), b.phi("u64")
    negative = b.setp("lt", b.load("global.s32", place), 0, type="s32")
    b.cond_br(negative, found, go_on)  # the break

    b.at_end(go_on)
    next_column = b.add(column, 1, type="u32")
    next_place = b.add(place, 4, type="u64")
    b.cond_br(b.setp("lt", next_column, columns, type="u32"), each_column, found)
    column.add(b.value(0), each_row)
    column.add(next_column, go_on)
    place.add(begin, each_row)
    place.add(next_place, go_on)

    b.at_end(found)
    result = b.phi("u32")
    result.add(b.value(0), each_row)
    result.add(column, each_column)
    result.add(next_column, go_on)
    b.store("global.u32", b.element(out, row, size=4), result)
    next_row = b.add(row, stride, type="u32")
    row.add(start, entry)
    row.add(next_row, found)
    b.cond_br(b.setp("lt", next_row, rows, type="u32"), each_row, done)

    b.at_end(done)
    b.ret()
    nvir.verify(m)
    return m


KERNELS = {f.__name__: f for f in (saxpy, sgemm, reduce, first_negative)}

if __name__ == "__main__":
    name, target, *_ = [*sys.argv[1:], *("saxpy", "sm_80")[len(sys.argv) - 1 :]]
    if name not in KERNELS:
        sys.exit(f"no kernel {name!r}; there are: {', '.join(KERNELS)}")
    print(nvir.print_ptx(KERNELS[name](target)))
