"""A kernel around a call of each intrinsic of the table, for tests that run it in both levels.

Each thread loads what the call takes from its row of the input, calls, and stores what comes back;
pointers lead to memory of its own, so that what the call wrote is seen as well.
"""

from __future__ import annotations

import attrs
import numpy as np

import nvir
from nvir.ir import Module
from nvir.ir.intrinsics import Intrinsic
from nvir.ir.nvvm import Builder, const, declare, function, variable
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I8,
    I32,
    I64,
    VOID,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    array,
    pointer,
    vector,
)
from nvir.ir.values import Constant, Value, constant

LANES = 32
ROW = 2048  # bytes of input, and of output, of a thread
MEMORY = 1 << 16
# Handles of images of 1, 2 and 3 dimensions, and of arrays of those of 1 and 2.
HANDLES = {"1d": 0x4000, "2d": 0x4010, "3d": 0x4020, "cube": 0x4020}
LAYERED = {"1d": 0x4010, "2d": 0x4020, "cube": 0x4030}
SIZES = {0x4000: (64,), 0x4010: (4, 64), 0x4020: (6, 8, 64), 0x4030: (12, 8, 8)}
# Literal operands that are no 0, and operands that PTX wants to be of some value.
LITERALS = {
    "setmaxnreg.inc.sync.aligned.u32": {0: 64}, "setmaxnreg.dec.sync.aligned.u32": {0: 64},
    "pm.event.mask": {0: 1}, "is.fpclass": {1: 0x1A5}, "flo.u": {1: 1}, "nanosleep": {0: 20},
}
COUNTED = ("barrier.sync.cnt", "barrier", "barrier.cta.sync", "barrier.sync", "barrier.arrive",
           "barrier.cta.arrive", "barrier.cta.red")


def short(row: Intrinsic) -> str:
    return row.name.removeprefix("llvm.").removeprefix("nvvm.")


def overloads(row: Intrinsic) -> list[tuple[str, Type | None]]:
    """The types that an overloaded name is tried with, each with what the name then ends in."""
    words = row.types.replace("+", " ").replace("v4", "").replace("!", "").split()
    rule = row.rule.split()[0] if row.rule else ""
    if "int" in words:
        types: list[Type] = [I32, I64]
        if rule not in ("flo", "atomic", "expect", "same"):
            types += [I8] if rule != "bswap" else []
            types += [vector(I32, 2)] if rule not in (
                "reduce", "overflow", "object.size") and "shl.sat" not in row.name else []
        return [(f".{_suffix(t)}", t) for t in types]
    if "fp" in words:
        types = [FLOAT, DOUBLE, HALF]
        if rule in ("approximate", "power"):
            types = [FLOAT, HALF]
        if rule == "atomic":
            types = [FLOAT, DOUBLE]
        return [(f".{_suffix(t)}", t) for t in types]
    if "T" in words:
        return [(f".{_suffix(t)}", t) for t in (I32, FLOAT)]
    return [("", None)]


def _suffix(t: Type) -> str:
    if isinstance(t, VectorType):
        return f"v{t.count}{_suffix(t.element)}"
    return f"{'f' if isinstance(t, FloatType) else 'i'}{t.bits}"


@attrs.define
class _Call:
    """One kernel while it is built."""

    row: Intrinsic
    b: Builder
    lane: Value
    input: Value
    memory: Value
    shared: Value
    constants: Value
    at: int = 0  # bytes of the input that operands have taken

    def place(self, base: Value, offset: int, each: int) -> Value:
        """base + offset + lane * each, in bytes."""
        by = self.b.add(self.b.mul(self.lane, const(I64, each)), const(I64, offset))
        return self.b.gep(base, [by], I8)

    def load(self, t: Type) -> Value:
        """An operand of a type, from the input."""
        p = self.place(self.input, self.at, ROW)
        self.at += 32
        if isinstance(t, IntType) and t.bits < 8:
            return self.b.trunc(self.b.load(p, I8), t)
        return self.b.load(p, t)

    def pointer(self, k: int, t: PointerType) -> Value:
        """An operand that is a pointer, to memory of this thread or of all."""
        name = short(self.row)
        each = 0 if name.startswith("wmma") else 64
        if t.space == 3 or (t.space == 0 and name.startswith(("mbarrier", "mapa", "getctarank",
                                                              "cp.async.mbarrier"))):
            p = self.place(self.shared, 4096 * k, 8 if "mbarrier" in name else 16)
            return p if t.space else self.b.addrspacecast(p, t)
        if t.space == 5 or (t.space == 0 and "to.local" in name):
            p = self.b.alloca(I64, 1)
            local = self.b.addrspacecast(p, pointer(5))
            self.b.store(const(I64, 0x123456789ABCDEF), p, 8)
            return local if t.space else p
        if t.space == 4 or (t.space == 0 and "to.constant" in name):
            return self.constants if t.space else self.b.addrspacecast(self.constants, t)
        if t.space == 0 and "to.shared" in name:
            return self.b.addrspacecast(self.place(self.shared, 0, 16), t)
        p = self.place(self.memory, 8192 * k, each)
        if t.space == 101:
            return self.b.addrspacecast(self.b.addrspacecast(p, pointer()), t)
        return p if t.space == 1 else self.b.addrspacecast(p, t)

    def operand(self, k: int, t: Type, fixed: bool) -> Value:
        name = short(self.row)
        known = LITERALS.get(name, {}).get(k)
        if known is None:
            known = _wanted(name, k, t)
        if fixed and known is None:
            known = 0
        if isinstance(t, PointerType):
            return self.pointer(k, t)
        if known is not None:
            return constant(t, known & ((1 << t.bits) - 1))
        return self.load(t)


def _wanted(name: str, k: int, t: Type) -> int | None:
    """The value that operand k has to have, where any will not do."""
    words = name.split(".")
    if isinstance(t, IntType) and t.bits == 32 and _is_mask(name, words, k):
        return -1
    if words[0] in ("barrier", "bar", "barrier0") and isinstance(t, IntType) and t.bits == 32:
        return (3, LANES)[k] if name != "barrier0" and "barrier0" not in words else None
    if words[0] == "mbarrier" and t is I32:
        return 40 if "init" in words else 1
    if words[0] == "wmma" and t is I32 and "stride" in words:
        return 32
    if words[0] in ("mapa", "shfl") and t is I32 and k > 0:
        return {"mapa": 0}.get(words[0], 3 if k == 2 else 31 if k == 3 else None)
    if words[0] in ("memcpy", "memmove", "memset") and t is I64:
        return 24
    if words[0] in ("tex", "suld", "sust", "tld4", "txq", "suq", "istypep") and k == 0:
        shape = next((w for w in words if w in HANDLES), "2d")
        return LAYERED[shape] if "array" in words else HANDLES[shape]
    if words[0] in ("suld", "sust") and t is I32 and k < 2 + words[1:].count("array") + (
        next((int(w[0]) for w in words if w in HANDLES), 1) - 1):
        return {"trap": 1}.get(words[-1])
    if words[0] in ("sshl", "ushl") and k == 1:
        return 5
    if words[0] in ("discard", "applypriority") and t is I64:
        return 128
    if words[0] == "cp" and t is I32:
        return 4 if name.endswith(".s") else 0
    return None


def _is_mask(name: str, words: list[str], k: int) -> bool:
    if words[0] in ("shfl", "match", "elect") or name == "bar.warp.sync":
        return k == 0
    if words[0] == "vote":
        return "sync" in words and k == 0
    return words[0] == "redux" and k == 1


def kernel(module: Module, row: Intrinsic, name: str, suffix: str, t: Type | None) -> None:
    """Add a kernel of that name which calls the intrinsic."""
    result, operands, fixed = row.signature(t)
    f = function(module, name, VOID, [("in", pointer(1)), ("mem", pointer(1)), ("out", pointer(1))],
                 kind="entry")
    b = Builder(f.block("entry"))
    lane = b.zext(b.call(declare(module, "llvm.nvvm.read.ptx.sreg.tid.x", I32, []), []), I64)
    shared, constants = module.globals
    c = _Call(row, b, lane, f.params[0], f.params[1], shared, constants)
    _prepare(c)
    values = [c.operand(k, x, y) for k, (x, y) in enumerate(zip(operands, fixed, strict=True))]
    callee = declare(module, row.name + suffix, result, operands)
    flags = ("afn",) if row.rule.startswith(("approximate", "power")) else ()
    made = b.call(callee, values, flags=flags)
    if result is not VOID and _is_steady(row):
        _store(c, made, result, f.params[2], _is_followed(row))
    _finish(c, f.params[2])
    b.ret_void()


def _prepare(c: _Call) -> None:
    """What has to be before: numbers in shared memory, a barrier object, an arrival."""
    name, b = short(c.row), c.b
    for k in range(4):
        p = c.place(c.shared, 16 * LANES * k, 16)
        b.store(c.load(I64), p, 8)
        b.store(c.load(I64), b.gep(p, [const(I64, 8)], I8), 8)
    module = b.module
    assert module is not None
    if "mbarrier" in name and "init" not in name:
        init = declare(module, "llvm.nvvm.mbarrier.init.shared", VOID, [pointer(3), I32])
        b.call(init, [c.place(c.shared, 0, 8), const(I32, 40)])
    if name.startswith("barrier.cluster.wait"):
        b.call(declare(module, name_of_arrival(c.row.name), VOID, []), [])
    if name.startswith(("ldmatrix", "stmatrix", "wmma", "mma", "cp.async.mbarrier")):
        b.call(declare(module, "llvm.nvvm.barrier0", VOID, []), [])


def name_of_arrival(wait: str) -> str:
    return wait.replace(".wait", ".arrive")


def _is_steady(row: Intrinsic) -> bool:
    """Whether two runs give the same: not of clocks, nor of addresses of the stack."""
    register = row.pattern.register if row.ori else None
    return not (register is not None and register.volatile) and row.rule != "stack.save"


def _is_followed(row: Intrinsic) -> bool:
    """Whether a pointer that comes back is followed, its number being nobody's business."""
    return row.rule.startswith(("same", "cast")) or "mapa" in row.name


def _store(c: _Call, made: Value, t: Type, out: Value, follow: bool) -> None:
    b = c.b
    members = list(t.elements or ()) if isinstance(t, StructType) else [t]
    for k, m in enumerate(members):
        v = b.extract_value(made, k) if isinstance(t, StructType) else made
        if isinstance(m, PointerType):
            v = b.load(v, I32) if follow else b.ptrtoint(v, I64)
        if isinstance(v.type, IntType) and v.type.bits == 1:
            v = b.zext(v, I32)
        b.store(v, c.place(out, 16 * k, ROW), 8)


def _finish(c: _Call, out: Value) -> None:
    """Store what lies in shared memory, once asynchronous copies have come."""
    b, module = c.b, c.b.module
    assert module is not None
    if short(c.row).startswith("cp.async"):
        b.call(declare(module, "llvm.nvvm.cp.async.wait.all", VOID, []), [])
    for k in range(4):
        p = c.place(c.shared, 16 * LANES * k, 16)
        b.store(b.load(p, I64), c.place(out, 1024 + 16 * k, ROW), 8)


def module_of(rows: list[tuple[Intrinsic, str, Type | None]], target: str) -> Module:
    """A module with kernels k0, k1 … of these calls."""
    module = Module(target, level="nvvm", version=(8, 8))
    variable(module, "tile", array(I8, 1 << 14), space=3)
    numbers = variable(module, "numbers", array(I8, 64), space=4)
    numbers.init = Constant(array(I8, 64), bytes(range(64)), "")
    for n, (row, suffix, t) in enumerate(rows):
        kernel(module, row, f"k{n}", suffix, t)
    return module


def run(module: Module, name: str, seed: int) -> object:
    """What a kernel leaves in memory; or the kind of its complaint."""
    rng = np.random.default_rng(seed)
    data = _numbers(rng)
    memory = rng.integers(0, 256, MEMORY, np.uint8)
    out = np.zeros(LANES * ROW, np.uint8)
    images = {h: rng.standard_normal(size).astype(np.float32) for h, size in SIZES.items()}
    try:
        nvir.launch(module, name, 1, LANES, [data, memory, out], textures=images)
    except nvir.LaunchError as e:
        return str(e).split(",")[0]
    return memory.tobytes(), out.tobytes(), *(x.tobytes() for x in images.values())


def _numbers(rng: np.random.Generator) -> np.ndarray:
    """Rows of operands: small integers, edges, floats of all sizes, any bits."""
    words = rng.integers(0, 1 << 32, LANES * ROW // 4, np.uint32)
    kind = rng.integers(0, 4, len(words))
    words[kind == 0] = rng.integers(0, 32, int((kind == 0).sum()))
    floats = (rng.standard_normal(len(words)) * 10.0 ** rng.integers(-3, 4, len(words)))
    words[kind == 1] = floats.astype(np.float32).view(np.uint32)[kind == 1]
    halves = rng.standard_normal((len(words), 2)).astype(np.float16).view(np.uint32)[:, 0]
    words[kind == 2] = halves[kind == 2]
    return words.view(np.uint8)
