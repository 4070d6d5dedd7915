"""LLVM text for the tests of nvir/llvm: a snippet for each construct, and random modules."""

from __future__ import annotations

import random
import re

from nvir.ir import Module, Value
from nvir.ir.nvvm import Builder, const, declare, function, variable
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    I128,
    VOID,
    Type,
    array,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import undef

# Bodies of `@k(ptr %p, ptr %q, i32 %n, float %f)`, by what they show.
SNIPPETS: dict[str, str] = {
    "fence": "fence seq_cst",
    "fence acq": "fence acq_rel",
    "fence scope": 'fence syncscope("block") seq_cst',
    "dyn alloca": "%d = alloca i8, i32 %n",
    "atomic load": "%d = load atomic i32, ptr %p monotonic, align 4",
    "atomic load acq": "%d = load atomic i32, ptr %p acquire, align 4",
    "atomic load scope": """
        %d = load atomic i32, ptr %p syncscope("block") acquire, align 4
    """,
    "atomic store": "store atomic i32 %n, ptr %p release, align 4",
    "rmw fadd": "%d = atomicrmw fadd ptr %p, float %f seq_cst",
    "rmw fadd double": "%d = atomicrmw fadd ptr %p, double 1.0 seq_cst",
    "rmw fsub": "%d = atomicrmw fsub ptr %p, float %f seq_cst",
    "rmw fmax": "%d = atomicrmw fmax ptr %p, float %f seq_cst",
    "rmw nand": "%d = atomicrmw nand ptr %p, i32 %n seq_cst",
    "rmw sub": "%d = atomicrmw sub ptr %p, i32 %n seq_cst",
    "rmw xchg float": "%d = atomicrmw xchg ptr %p, float %f seq_cst",
    "rmw i16": "%d = atomicrmw add ptr %p, i16 1 seq_cst",
    "rmw i64": "%d = atomicrmw add ptr %p, i64 1 seq_cst",
    "rmw i128 xchg": "%d = atomicrmw xchg ptr %p, i128 1 seq_cst",
    "rmw acquire": "%d = atomicrmw add ptr %p, i32 1 acquire",
    "rmw scope": '%d = atomicrmw add ptr %p, i32 1 syncscope("block") monotonic',
    "rmw uinc": "%d = atomicrmw uinc_wrap ptr %p, i32 1 seq_cst",
    "rmw volatile": "%d = atomicrmw volatile add ptr %p, i32 1 seq_cst",
    "cmpxchg": "%d = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst",
    "cmpxchg acq": "%d = cmpxchg ptr %p, i32 1, i32 2 acq_rel monotonic",
    "cmpxchg weak": "%d = cmpxchg weak ptr %p, i32 1, i32 2 seq_cst seq_cst",
    "cmpxchg i16": "%d = cmpxchg ptr %p, i16 1, i16 2 seq_cst seq_cst",
    "cmpxchg i8": "%d = cmpxchg ptr %p, i8 1, i8 2 seq_cst seq_cst",
    "cmpxchg ptr": "%d = cmpxchg ptr %p, ptr %p, ptr null seq_cst seq_cst",
    "cmpxchg i128": "%d = cmpxchg ptr %p, i128 1, i128 2 seq_cst seq_cst",
    "cmpxchg scope": """
        %d = cmpxchg ptr %p, i32 1, i32 2 syncscope("block") monotonic monotonic
    """,
    "i24": """
        %a = trunc i32 %n to i24
        %b = mul i24 %a, 3
        %d = zext i24 %b to i32
    """,
    "i256": """
        %a = zext i32 %n to i256
        %b = shl i256 %a, 200
        %d = trunc i256 %b to i32
    """,
    "i128 div": """
        %a = zext i32 %n to i128
        %d = udiv i128 %a, 3
    """,
    "fneg": "%d = fneg float %f",
    "freeze": "%d = freeze i32 %n",
    "freeze float": "%d = freeze float %f",
    "poison": "%d = add i32 %n, poison",
    "bfloat load": """
        %a = load bfloat, ptr %p
        store bfloat %a, ptr %q
    """,
    "bfloat add": """
        %a = load bfloat, ptr %p
        %b = fadd bfloat %a, %a
        store bfloat %b, ptr %q
    """,
    "bfloat ext": """
        %a = load bfloat, ptr %p
        %d = fpext bfloat %a to float
    """,
    "bfloat trunc": """
        %a = fptrunc float %f to bfloat
        store bfloat %a, ptr %q
    """,
    "fp128 load": """
        %a = load fp128, ptr %p
        store fp128 %a, ptr %q
    """,
    "fp128 add": """
        %a = load fp128, ptr %p
        %b = fadd fp128 %a, %a
        store fp128 %b, ptr %q
    """,
    "half ops": """
        %h = fptrunc float %f to half
        %g = fdiv half %h, 0xH3C01
        %d = fpext half %g to float
    """,
    "frem": "%d = frem float %f, 2.0",
    "vec gep": """
        %v = insertelement <2 x i64> undef, i64 1, i32 0
        %d = getelementptr i32, ptr %p, <2 x i64> %v
    """,
    "vec odd": """
        %a = load <3 x float>, ptr %p
        store <3 x float> %a, ptr %q
    """,
    "vec big": """
        %a = load <16 x float>, ptr %p
        store <16 x float> %a, ptr %q
    """,
    "vec ptr": """
        %a = load <2 x ptr>, ptr %p
        store <2 x ptr> %a, ptr %q
    """,
    "agg load": """
        %a = load {i32, [2 x float]}, ptr %p
        store {i32, [2 x float]} %a, ptr %q
    """,
    "alloca as5": """
        %a = alloca i32, addrspace(5)
        store i32 1, ptr addrspace(5) %a
    """,
    "as5 cast": """
        %a = addrspacecast ptr %p to ptr addrspace(5)
        store i32 1, ptr addrspace(5) %a
    """,
    "as101": """
        %a = addrspacecast ptr %p to ptr addrspace(101)
        %d = load i32, ptr addrspace(101) %a
    """,
    "select fmf": """
        %c = fcmp fast olt float %f, 1.0
        %d = select fast i1 %c, float %f, float 2.0
    """,
    "flags": """
        %a = zext nneg i32 %n to i64
        %b = or disjoint i64 %a, 1
        %c = icmp samesign ult i64 %b, 5
        %d = trunc nuw nsw i64 %b to i32
        %e = getelementptr nuw i8, ptr %p, i64 %b
    """,
    "switch big": """
        switch i128 0, label %x [i128 5, label %x]
        x:
    """,
    "indirect": "call void %p(i32 %n)",
    "indirect ret": "%d = call float %p(i32 %n, ptr %q)",
    "unreachable": """
        br i1 true, label %x, label %y
        y:
        unreachable
        x:
    """,
    "i1 store": """
        %c = icmp eq i32 %n, 0
        store i1 %c, ptr %p
        %l = load i1, ptr %p
    """,
    "i1 vec": "%c = icmp eq <4 x i32> zeroinitializer, <i32 1, i32 0, i32 1, i32 3>",
    "memcpy inline volatile": """
        call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 300, i1 true)
    """,
    "memmove": "call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 37, i1 false)",
    "memcpy as": """
        %a = addrspacecast ptr %p to ptr addrspace(1)
        call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %a, ptr align 4 %q, i64 300, i1 false)
    """,
    "lifetime": """
        %a = alloca i32
        call void @llvm.lifetime.start.p0(i64 4, ptr %a)
        call void @llvm.lifetime.end.p0(i64 4, ptr %a)
    """,
    "assume": """
        %c = icmp ne i32 %n, 0
        call void @llvm.assume(i1 %c)
    """,
    "fma": "%d = call float @llvm.fma.f32(float %f, float %f, float 1.0)",
    "umin": "%d = call i32 @llvm.umin.i32(i32 %n, i32 5)",
    "smax": "%d = call i32 @llvm.smax.i32(i32 %n, i32 5)",
    "abs": "%d = call i32 @llvm.abs.i32(i32 %n, i1 false)",
    "fshl": "%d = call i32 @llvm.fshl.i32(i32 %n, i32 %n, i32 3)",
    "minnum": "%d = call float @llvm.minnum.f32(float %f, float 1.0)",
    "ctpop": "%d = call i32 @llvm.ctpop.i32(i32 %n)",
    "ctlz": "%d = call i32 @llvm.ctlz.i32(i32 %n, i1 false)",
    "bitreverse": "%d = call i32 @llvm.bitreverse.i32(i32 %n)",
    "bswap": "%d = call i32 @llvm.bswap.i32(i32 %n)",
    "sqrt": "%d = call float @llvm.sqrt.f32(float %f)",
    "fabs": "%d = call float @llvm.fabs.f32(float %f)",
    "sadd.ov": "%d = call {i32, i1} @llvm.sadd.with.overflow.i32(i32 %n, i32 5)",
    "uadd.sat": "%d = call i32 @llvm.uadd.sat.i32(i32 %n, i32 5)",
    "is.fpclass": "%d = call i1 @llvm.is.fpclass.f32(float %f, i32 3)",
    "fmuladd": "%d = call float @llvm.fmuladd.f32(float %f, float %f, float 1.0)",
    "copysign": "%d = call float @llvm.copysign.f32(float %f, float 1.0)",
    "floor": "%d = call float @llvm.floor.f32(float %f)",
    "exp2": "%d = call float @llvm.exp2.f32(float %f)",
    "sin": "%d = call float @llvm.sin.f32(float %f)",
    "expect": "%d = call i64 @llvm.expect.i64(i64 1, i64 1)",
    "vector.reduce": """
        %d = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> zeroinitializer)
    """,
    "barrier": "call void @llvm.nvvm.barrier0()",
    "membar": "call void @llvm.nvvm.membar.gl()",
    "barrier.sync": "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    "barrier.sync n": "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %n)",
    "barrier.sync count":
        "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)",
    "ldg": """
        %a = addrspacecast ptr %p to ptr addrspace(1)
        %d = call float @llvm.nvvm.ldg.global.f.f32.p1(ptr addrspace(1) %a, i32 4)
    """,
    "invariant": """
        %a = addrspacecast ptr %p to ptr addrspace(1)
        %d = load float, ptr addrspace(1) %a, align 4, !invariant.load !9
    """,
    "shfl": """
        %d = call {i32, i1} @llvm.nvvm.shfl.sync.i32(i32 -1, i32 0, i32 %n, i32 1, i32 31)
    """,
    "shfl new": """
        %d = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %n, i32 1, i32 31)
    """,
    "vote": "%d = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)",
    "atomic add intr": """
        %d = call float @llvm.nvvm.atomic.load.add.f32.p0(ptr %p, float 1.0)
    """,
    "atomic inc intr": "%d = call i32 @llvm.nvvm.atomic.load.inc.32.p0(ptr %p, i32 5)",
    "atomic add f64": """
        %d = call double @llvm.nvvm.atomic.load.add.f64.p0(ptr %p, double 1.0)
    """,
    "vprintf": "%d = call i32 @vprintf(ptr %p, ptr null)",
    "const store": """
        %a = addrspacecast ptr %p to ptr addrspace(4)
        %d = load i32, ptr addrspace(4) %a
    """,
    "tail": "tail call void @ext(i32 %n)",
    "fcall": "%d = call fast float @extf(float %f)",
    "stacksave": "%d = call ptr @llvm.stacksave.p0()",
    "extract dyn": """
        %v = insertelement <4 x i32> zeroinitializer, i32 %n, i32 %n
        %d = extractelement <4 x i32> %v, i32 %n
    """,
}
# What `legalize` refuses, by dialect.
REFUSED: dict[str, tuple[str, ...]] = {
    "fp128 add": ("llvm7", "llvm20"),
    "as101": ("llvm7", "llvm20"),
    "exp2": ("llvm7", "llvm20"),
    "sin": ("llvm7", "llvm20"),
    "stacksave": ("llvm7", "llvm20"),
    "rmw i128 xchg": ("llvm7",),
    "cmpxchg i128": ("llvm7",),
}
ARCH = {"llvm7": "sm_80", "llvm20": "sm_100"}
_CALL = re.compile(r"call (?:fast |afn )?([^@\n]*) @(llvm[\w.]+)\(([^\n]*)\)")


def module_of(body: str) -> str:
    """A module whose kernel-like function `@k` has a body; intrinsics are declared."""
    declarations = []
    for result, name, inner in _CALL.findall(body):
        types = [_type_of(a) for a in _arguments(inner)]
        declarations.append(f"declare {result} @{name}({', '.join(types)})")
    lines = [
        "declare void @ext(i32)", "declare float @extf(float)",
        "declare i32 @vprintf(ptr, ptr)", *dict.fromkeys(declarations),
        "define void @k(ptr %p, ptr %q, i32 %n, float %f) {", "entry:",
        *(line.strip() for line in body.strip().splitlines()), "ret void", "}", "!9 = !{}", "",
    ]
    return "\n".join(lines)


def _arguments(text: str) -> list[str]:
    out, depth = [""], 0
    for c in text:
        depth += (c in "<{[(") - (c in ">}])")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [a.strip() for a in out if a.strip()]


def _type_of(argument: str) -> str:
    t = argument.removesuffix("zeroinitializer").rstrip()
    t = t if t != argument else argument[: argument.rfind(" ")]
    return re.sub(r" align \d+", "", t)


# ------------------------------------------------------------ random modules

_INTS = (I8, I16, I32, I64)
_FLOATS = (FLOAT, DOUBLE, HALF)
_PAIR = struct([I32, FLOAT])


def random_module(seed: int, blocks: int = 4, size: int = 12) -> Module:
    """A module that verifies: a helper, a kernel with a loop, all kinds of instructions."""
    return _Random(seed).module(blocks, size)


class _Random:
    """Builds one module; each choice comes of the seed."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.m = Module("sm_80", level="nvvm")

    def module(self, blocks: int, size: int) -> Module:
        m, r = self.m, self.r
        self.table = variable(m, "table", array(I32, 4), 4, const(array(I32, 4), None), align=4)
        tile = array(FLOAT, 64)
        self.tile = variable(m, "tile", tile, 3, undef(tile), "internal", align=4)
        self.counter = variable(m, "counter", I32, 1, const(I32, r.randrange(100)), align=4)
        self.tid = declare(m, "llvm.nvvm.read.ptx.sreg.tid.x", I32, (), ("nounwind", "readnone"))
        self.helper = function(m, "helper", _PAIR, [("p", _PAIR), ("x", I32)])
        self.helper.linkage = "internal"
        self._helper()
        params = [("out", pointer(1)), ("n", I32), ("x", FLOAT), ("g", pointer())]
        f = function(m, "kernel", VOID, params, kind="entry")
        if r.random() < 0.5:
            f.directives["maxntid"] = (128, 1, 1)
        self._kernel(f, blocks, size)
        return m

    def _helper(self) -> None:
        b = Builder(self.helper.block("entry"))
        p, x = self.helper.arguments
        first = b.add(b.extract_value(p, 0), x)
        b.ret(b.insert_value(p, first, 0))

    def _kernel(self, f, blocks: int, size: int) -> None:
        r = self.r
        out, n, x, g = f.arguments
        b = Builder(f.block("entry"))
        self.values: list[Value] = [n, x, const(I64, 7), const(I8, -1), const(DOUBLE, 0.1)]
        self.values.append(b.call(self.tid, ()))
        self.slot = b.alloca(array(I32, 8), align=4)
        self.out, self.generic = out, g
        for _ in range(blocks):
            self._some(b, size)
            kind = r.randrange(3)
            if kind == 0:
                self._diamond(b, f)
            elif kind == 1:
                self._loop(b, f, n)
            else:
                self._switch(b, f)
        for k, v in enumerate(self.values):
            if v.type.bits >= 8 and not isinstance(v.type, type(vector(I8, 2))):
                b.store(v, b.gep(out, [const(I64, k * 2)], I64))
        b.ret_void()

    def pick(self, *types: Type) -> Value:
        found = [v for v in self.values if v.type in types]
        if found and self.r.random() < 0.9:
            return self.r.choice(found)
        t = self.r.choice(types)
        if t in _FLOATS:
            return const(t, self.r.choice([0.0, -0.0, 1.5, float("inf"), 3.25, -2.0]))
        return const(t, self.r.randrange(1 << min(t.bits, 16)))

    def _some(self, b: Builder, size: int) -> None:
        for _ in range(size):
            kind = self.r.choice(_KINDS)
            v = getattr(self, kind)(b)
            if v is not None and v.type is not VOID:
                self.values.append(v)

    def integer(self, b: Builder) -> Value:
        t = self.r.choice((*_INTS, I128))
        name = self.r.choice(("add", "sub", "mul", "and_", "or_", "xor", "shl", "lshr", "ashr",
                              "udiv", "srem"))
        flags = ("nsw",) if name in ("add", "mul") and self.r.random() < 0.3 else ()
        y = self.pick(t)
        if name in ("udiv", "srem"):
            y = b.or_(y, const(t, 1))
        if name in ("shl", "lshr", "ashr"):
            y = const(t, self.r.randrange(t.bits))
        return getattr(b, name)(self.pick(t), y, flags=flags)

    def floating(self, b: Builder) -> Value:
        t = self.r.choice(_FLOATS)
        name = self.r.choice(("fadd", "fsub", "fmul", "fdiv"))
        flags = self.r.choice(((), ("contract",), ("fast",), ("nnan", "nsz")))
        return getattr(b, name)(self.pick(t), self.pick(t), flags=flags)

    def negated(self, b: Builder) -> Value:
        return b.fneg(self.pick(*_FLOATS))

    def frozen(self, b: Builder) -> Value:
        return b.freeze(self.pick(*_INTS, FLOAT, DOUBLE))

    def compared(self, b: Builder) -> Value:
        t = self.r.choice((*_INTS, *_FLOATS))
        x, y = self.pick(t), self.pick(t)
        if t in _FLOATS:
            c = b.fcmp_ordered(self.r.choice(("<", ">=", "==")), x, y)
        else:
            c = b.icmp_signed(self.r.choice(("<", ">=", "!=")), x, y)
        return b.select(c, x, y)

    def converted(self, b: Builder) -> Value:
        v = self.pick(*_INTS, *_FLOATS)
        if v.type in _FLOATS:
            return self.r.choice((lambda: b.fptosi(v, I32), lambda: b.fptoui(v, I64)))()
        to = self.r.choice([t for t in (*_INTS, I128) if t is not v.type])
        if to.bits < v.type.bits:
            return b.trunc(v, to)
        return self.r.choice((b.zext, b.sext))(v, to)

    def memory(self, b: Builder) -> Value | None:
        k = b.and_(self.pick(I32), const(I32, 7))
        p = self.r.choice((
            lambda: b.gep(self.slot, [0, k], array(I32, 8), inbounds=True),
            lambda: b.gep(self.out, [b.zext(k, I64)], I32),
            lambda: b.addrspacecast(b.gep(self.tile, [0, k], array(FLOAT, 64)), pointer()),
            lambda: b.gep(self.generic, [k], I32),
        ))()
        if self.r.random() < 0.5:
            return b.load(p, I32, align=4, volatile=self.r.random() < 0.2)
        b.store(self.pick(I32), p, align=4)
        return None

    def atomic(self, b: Builder) -> Value:
        op = self.r.choice(("add", "xchg", "umax", "min", "and", "nand", "uinc_wrap"))
        if self.r.random() < 0.3:
            pair = b.cmpxchg(self.counter, self.pick(I32), self.pick(I32))
            return b.extract_value(pair, 0)
        if self.r.random() < 0.3:
            return b.load_atomic(self.counter, I32, self.r.choice(("monotonic", "acquire")), 4)
        if self.r.random() < 0.3:
            return b.atomic_rmw("fadd", self.generic, self.pick(FLOAT))
        return b.atomic_rmw(op, self.counter, self.pick(I32))

    def barrier(self, b: Builder) -> None:
        b.fence(self.r.choice(("acquire", "release", "seq_cst")), self.r.choice(("", "block")))

    def aggregate(self, b: Builder) -> Value:
        pair = b.insert_value(undef(_PAIR), self.pick(I32), 0)
        pair = b.insert_value(pair, self.pick(FLOAT), 1)
        return b.extract_value(b.call(self.helper, [pair, self.pick(I32)]), self.r.randrange(2))

    def lanes(self, b: Builder) -> Value:
        v: Value = undef(vector(FLOAT, 4))
        for k in range(4):
            v = b.insert_element(v, self.pick(FLOAT), k)
        w = b.shuffle_vector(v, v, [self.r.randrange(8) for _ in range(4)])
        return b.extract_element(b.fadd(v, w), self.r.randrange(4))

    def constant_memory(self, b: Builder) -> Value:
        return b.load(b.gep(self.table, [0, self.r.randrange(4)], array(I32, 4)), I32, align=4)

    def assembly(self, b: Builder) -> Value:
        from nvir.ir.types import function_type

        t = function_type(I32, [I32, I32])
        return b.asm(t, "xor.b32 $0, $1, $2;", "=r,r,r", [self.pick(I32), self.pick(I32)])

    # --------------------------------------------------------------- control

    def _condition(self, b: Builder) -> Value:
        return b.icmp_unsigned("<", self.pick(I32), self.pick(I32))

    def _diamond(self, b: Builder, f) -> None:
        yes, no, end = (f.block(n) for n in ("then", "else", "end"))
        b.cbranch(self._condition(b), yes, no)
        kept = list(self.values)
        results = []
        for block in (yes, no):
            b.position_at_end(block)
            self._some(b, 3)
            results.append(self.pick(I32))
            pointers = b.gep(self.slot, [0, len(results)], array(I32, 8))
            results.append(pointers)
            b.branch(end)
            self.values = list(kept)
        b.position_at_end(end)
        phi, where = b.phi(I32), b.phi(pointer())
        for block, k in ((yes, 0), (no, 2)):
            phi.add(results[k], block)
            where.add(results[k + 1], block)
        self.values += [phi, b.load(where, I32, align=4)]

    def _loop(self, b: Builder, f, n: Value) -> None:
        before, loop, end = b.block, f.block("loop"), f.block("done")
        b.branch(loop)
        b.position_at_end(loop)
        i = b.phi(I32)
        kept = list(self.values)
        self.values.append(i)
        self._some(b, 4)
        step = b.add(i, 1, flags=("nuw", "nsw"))
        i.add(const(I32, 0), before)
        i.add(step, b.block)
        b.cbranch(b.icmp_signed("<", step, n), loop, end)
        if self.r.random() < 0.5:
            b.block.aux = {"llvm.loop": (("llvm.loop.unroll.count", 4),)}
        self.values = kept
        b.position_at_end(end)
        self.values.append(step)

    def _switch(self, b: Builder, f) -> None:
        end = f.block("merge")
        block = b.block
        s = b.switch(self.pick(I32), end)
        phi_values = [(self.pick(I64), block)]
        for k in range(self.r.randrange(1, 4)):
            case = f.block("case")
            b.add_case(s, k * 3, case)
            b.position_at_end(case)
            v = const(I64, k)
            b.branch(end)
            phi_values.append((v, case))
        b.position_at_end(end)
        phi = b.phi(I64)
        for v, source in phi_values:
            phi.add(v, source)
        self.values.append(phi)


_KINDS = ("integer", "floating", "negated", "frozen", "compared", "converted", "memory", "atomic",
          "barrier", "aggregate", "lanes", "constant_memory", "assembly")
__all__ = ["ARCH", "I1", "REFUSED", "SNIPPETS", "module_of", "random_module"]
