"""Tile kernels by a small generator: loads of global memory, stores to shared tiles, a barrier,
arithmetic from the tiles, a barrier; of many shapes.

    case = tile_case(seed)              a random `Shape`
    text = tile_kernel(Shape(...))      PTX of `k(a, b, c, n, limit)`
    run(module, shape, n, limit)        the words that it writes

One block loads a tile of `threads * vector * copies` words from `a`, and of one word a thread from
`b`, in each of n iterations; elements at or beyond `limit` are guarded as the shape says. The sum
that thread t keeps is over words of both tiles that other threads stored.
"""

from __future__ import annotations

import random

import attrs
import numpy as np

import nvir
from nvir.ir.module import Module

ROOM = 64  # iterations that the buffers are made for


@attrs.frozen
class Shape:
    """threads   of a block, a power of two
    vector    words of an access of tile a: 1, 2, 4
    copies    accesses of tile a a thread; more than one: by a loop if `looped`
    guard     "none", "phi", "select" (the load stands), "predicate", "arms" (a store on either way)
    barriers  "end", "top"
    math      "unrolled", "loop", "pointer" (a pointer runs), "direct" (the variable's name)
    counter   "up", "ne", "down"
    nested    the loop runs twice, in another one
    table     another shared variable is read by the arithmetic
    shared    the arithmetic needs a value that the loading part computes
    one       both tiles are one variable
    generic   the arithmetic reads by generic addresses
    fixed     the block's shape is declared
    pointed   a and b are declared to be aligned to 16 bytes
    """

    threads: int = 32
    vector: int = 1
    copies: int = 1
    looped: bool = False
    guard: str = "none"
    barriers: str = "end"
    math: str = "unrolled"
    counter: str = "up"
    nested: bool = False
    table: bool = False
    shared: bool = False
    one: bool = False
    generic: bool = False
    fixed: bool = False
    pointed: bool = False
    target: str = "sm_80"

    @property
    def words(self) -> int:
        """Of tile a."""
        return self.threads * self.vector * self.copies


def tile_case(seed: int) -> Shape:
    """A random shape."""
    r = random.Random(seed)
    vector, guard = r.choice((1, 1, 2, 4)), r.choice(("none", "phi", "select", "predicate", "arms"))
    copies = r.choice((1, 1, 2))
    return Shape(
        r.choice((32, 64)), vector, copies, copies > 1 and guard != "arms" and r.random() < 0.5,
        guard, r.choice(("end", "top")), r.choice(("unrolled", "loop", "pointer", "direct")),
        r.choice(("up", "ne", "down")), r.random() < 0.25, r.random() < 0.3, r.random() < 0.3,
        r.random() < 0.3, r.random() < 0.2,
    )


def tile_kernel(s: Shape) -> str:
    """The kernel's PTX."""
    pointer = ".ptr .global .align 16 " if s.pointed else ""
    out = [
        f".version 8.0\n.target {s.target}\n.address_size 64",
        f".visible .entry k(.param .u64 {pointer}a, .param .u64 {pointer}b, .param .u64 c,"
        f" .param .u32 n, .param .u32 limit)\n{f'.reqntid {s.threads} ' if s.fixed else ''}{{",
        ".reg .pred %p<40>; .reg .b32 %r<200>; .reg .b64 %rd<80>;",
    ]
    tile_b = 4 * s.words
    if s.one:
        out.append(f".shared .align 16 .b8 ta[{tile_b + 4 * s.threads}];")
        b_name, b_at = "ta", tile_b
    else:
        out.append(f".shared .align 16 .b8 ta[{tile_b}];")
        out.append(f".shared .align 4 .b8 tb[{4 * s.threads}];")
        b_name, b_at = "tb", 0
    if s.table:
        out.append(".shared .align 4 .b8 tab[" + str(4 * s.threads) + "];")
    bytes_a = 4 * s.vector
    out.append(f"""
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n]; ld.param.u32 %r2, [limit];
    cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, ta; mov.u32 %r5, {b_name};
    mad.lo.s32 %r6, %r3, {bytes_a}, %r4;
    shl.b32 %r7, %r3, 2; add.s32 %r8, %r7, %r5;
    mov.u32 %r9, 0;
    mad.lo.s32 %r10, %r3, 7, 3; and.b32 %r11, %r10, {s.threads - 1}; shl.b32 %r12, %r11, 2;
    add.s32 %r13, %r12, %r4; add.s32 %r14, %r12, %r5;""")
    if s.generic:
        out.append("cvt.u64.u32 %rd20, %r13; cvta.shared.u64 %rd21, %rd20;")
    if s.table:
        out.append(
            "mov.u32 %r15, tab; shl.b32 %r16, %r3, 2;"
            " add.s32 %r15, %r15, %r16; st.shared.u32 [%r15], %r16;"
        )
    out.append("mov.u32 %r90, 2;\nAGAIN:" if s.nested else "")
    out.append("setp.eq.s32 %p1, %r1, 0; @%p1 bra DONE;")
    out.append(f"mul.wide.s32 %rd4, %r3, {bytes_a}; add.s64 %rd5, %rd1, %rd4;")
    out.append("mul.wide.s32 %rd6, %r3, 4; add.s64 %rd7, %rd2, %rd6;")
    out.append(f"mul.lo.s32 %r20, %r3, {s.vector}; mov.u32 %r21, %r1; mov.u32 %r22, 0;\nLOOP:")
    if s.barriers == "top":
        out.append("bar.sync 0;")
    out.append(_loads(s, b_at))
    out.append("bar.sync 0;")
    out.append(_math(s, b_name, b_at))
    if s.barriers == "end":
        out.append("bar.sync 0;")
    out.append(
        f"add.s64 %rd5, %rd5, {4 * s.words}; add.s64 %rd7, %rd7, {4 * s.threads};"
        f"add.s32 %r20, %r20, {s.words};"
    )
    test = {
        "up": "add.s32 %r22, %r22, 1; setp.lt.s32 %p2, %r22, %r1;",
        "ne": "add.s32 %r22, %r22, 1; setp.ne.s32 %p2, %r22, %r1;",
        "down": "add.s32 %r21, %r21, -1; setp.gt.s32 %p2, %r21, 0;",
    }[s.counter]
    out.append(f"{test} @%p2 bra LOOP;\nDONE:")
    if s.nested:
        if s.barriers == "top":
            out.append("bar.sync 0;")
        out.append("add.s32 %r90, %r90, -1; setp.ne.s32 %p3, %r90, 0; @%p3 bra AGAIN;")
    out.append(
        "mul.wide.s32 %rd8, %r3, 4; add.s64 %rd9, %rd3, %rd8; st.global.u32 [%rd9], %r9; ret;\n}"
    )
    return "\n".join(x for x in out if x)


def _loads(s: Shape, b_at: int) -> str:
    out = []
    if s.looped:
        out.append("mov.u32 %r30, 0; mov.u32 %r31, %r6; mov.u64 %rd11, %rd5; mov.u32 %r32, %r20;")
        out.append("COPY:")
        out.append(_copy(s, "[%rd11]", "[%r31]", "%r32", "0"))
        bytes = 4 * s.vector * s.threads
        out.append(
            f"add.s64 %rd11, %rd11, {bytes}; add.s32 %r31, %r31, {bytes};"
            f"add.s32 %r32, %r32, {bytes // 4}; add.s32 %r30, %r30, 1;"
            f"setp.lt.s32 %p4, %r30, {s.copies}; @%p4 bra COPY;"
        )
    else:
        for k in range(s.copies):
            at = 4 * s.vector * s.threads * k
            out.append(f"add.s32 %r32, %r20, {at // 4};")
            out.append(_copy(s, f"[%rd5+{at}]", f"[%r6+{at}]", "%r32", str(k)))
    out.append("ld.global.u32 %r60, [%rd7];")
    out.append(f"st.shared.u32 [%r8+{b_at}], %r60;")
    if s.shared:
        out.append("mad.lo.s32 %r70, %r22, 3, %r20;")
    return "\n".join(out)


def _copy(s: Shape, source: str, target: str, index: str, tag: str) -> str:
    v = s.vector
    regs = [f"%r{40 + k}" for k in range(v)]
    kind = f".v{v}.u32" if v > 1 else ".u32"
    values = "{" + ", ".join(regs) + "}" if v > 1 else regs[0]
    zero = " ".join(f"mov.u32 {x}, 0;" for x in regs)
    load, store = f"ld.global.nc{kind} {values}, {source};", f"st.shared{kind} {target}, {values};"
    outside = f"add.s32 %r33, {index}, {v - 1}; setp.ge.s32 %p5, %r33, %r2;"
    if s.guard == "phi":
        return f"{outside} {zero} @%p5 bra J{tag}; {load}\nJ{tag}: {store}"
    if s.guard == "select":
        picks = " ".join(f"selp.b32 {x}, 0, {x}, %p5;" for x in regs)
        return f"{outside} {load} {picks} {store}"
    if s.guard == "predicate":
        return f"{outside} {zero} @!%p5 {load} {store}"
    if s.guard == "arms":
        return (
            f"{outside} @%p5 bra Z{tag}; {load} {store} bra J{tag};\nZ{tag}: {zero} {store}\n"
            f"J{tag}:"
        )
    return f"{load} {store}"


def _math(s: Shape, b_name: str, b_at: int) -> str:
    steps = 4
    out = []
    read = "ld" if s.generic else "ld.shared"
    base = "%rd21" if s.generic else "%r13"
    use = "mad.lo.s32 %r9, %r80, %r81, %r9; mul.lo.s32 %r9, %r9, 5;"
    if s.math == "unrolled":
        for k in range(steps):
            at = 4 * (k % s.vector)
            out.append(f"{read}.u32 %r80, [{base}+{at}];")
            out.append(f"ld.shared.u32 %r81, [%r14+{b_at}]; {use}")
    elif s.math == "direct":
        for k in range(steps):
            out.append(f"ld.shared.u32 %r80, [ta+{4 * k}]; ld.shared.u32 %r81, [{b_name}+{b_at}];")
            out.append(use)
    elif s.math == "loop":
        out.append("mov.u32 %r82, 0;\nMATH: shl.b32 %r83, %r82, 2;")
        out.append(f"and.b32 %r83, %r83, {4 * s.threads - 1};")
        out.append("add.s32 %r84, %r83, %r4; add.s32 %r85, %r83, %r5;")
        out.append(f"ld.shared.u32 %r80, [%r84]; ld.shared.u32 %r81, [%r85+{b_at}]; {use}")
        out.append("add.s32 %r82, %r82, 1; setp.lt.s32 %p6, %r82, 8; @%p6 bra MATH;")
    else:
        out.append("mov.u32 %r86, %r4; add.s32 %r87, %r4, 32;\nMATH:")
        out.append(f"ld.shared.u32 %r80, [%r86]; ld.shared.u32 %r81, [%r14+{b_at}]; {use}")
        out.append("add.s32 %r86, %r86, 4; setp.ne.s32 %p6, %r86, %r87; @%p6 bra MATH;")
    if s.table:
        out.append("ld.shared.u32 %r88, [%r15]; add.s32 %r9, %r9, %r88;")
    if s.shared:
        out.append("xor.b32 %r9, %r9, %r70;")
    return "\n".join(out)


def run(module: Module, s: Shape, n: int, limit: int | None = None, **kw: object) -> np.ndarray:
    """What the kernel writes after n iterations; elements of a at or beyond `limit` are 0."""
    rng = np.random.default_rng(n)
    a = rng.integers(0, 1 << 31, max(s.words * max(n, 1), 4), np.uint32)
    b = rng.integers(0, 1 << 31, s.threads * max(n, 1), np.uint32)
    c = np.zeros(s.threads, np.uint32)
    inside = s.words * n if limit is None else limit
    checks = ("bounds", "uninit", "race")
    nvir.launch(module, "k", 1, s.threads, [a, b, c, n, inside], check=checks, **kw)
    return c


def expected(s: Shape, n: int, limit: int | None = None) -> np.ndarray:
    """The same, worked out by numpy."""
    rng = np.random.default_rng(n)
    a = rng.integers(0, 1 << 31, max(s.words * max(n, 1), 4), np.uint32)
    b = rng.integers(0, 1 << 31, s.threads * max(n, 1), np.uint32)
    inside = s.words * n if limit is None else limit
    t = np.arange(s.threads)
    acc = np.zeros(s.threads, np.uint32)
    for _ in range(2 if s.nested else 1):
        for i in range(n):
            ta = a[i * s.words : (i + 1) * s.words].copy()
            if s.guard != "none":
                first = i * s.words + np.arange(s.words) // s.vector * s.vector
                ta[first + s.vector - 1 >= inside] = 0
            tb = b[i * s.threads : (i + 1) * s.threads]
            at = (t * 7 + 3) & (s.threads - 1)
            steps = {"unrolled": 4, "direct": 4, "loop": 8, "pointer": 8}[s.math]
            for k in range(steps):
                x = ta[at + k % s.vector] if s.math == "unrolled" else ta[k]
                y = {"unrolled": tb[at], "direct": tb[0], "loop": tb[k], "pointer": tb[at]}[s.math]
                acc = (acc + np.broadcast_to(x, t.shape) * y) * np.uint32(5)
            if s.table:
                acc = acc + (t * 4).astype(np.uint32)
            if s.shared:
                r22 = i if s.counter != "down" else 0
                acc ^= (r22 * 3 + t * s.vector + i * s.words).astype(np.uint32)
    return acc

