"""LLVM's own intrinsics. No instruction of ori says them for all types, so each names a rule."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic


def _integers() -> Iterator[Intrinsic]:
    for name, operands, bits in (
        ("ctpop", "int", -1), ("ctlz", "int i1!", -1), ("cttz", "int i1!", -1),
        ("bitreverse", "int", 0), ("bswap", "int", 0), ("abs", "int i1!", 0),
    ):
        yield Intrinsic(f"llvm.{name}", f"int {operands}", rule=name, bits=bits)
    for name in ("smin", "smax", "umin", "umax"):
        yield Intrinsic(f"llvm.{name}", "int int int", rule="integer.extremum")
    for name in ("fshl", "fshr"):
        yield Intrinsic(f"llvm.{name}", "int int int int", rule="funnel")
    for sign in "su":
        for what in ("add", "sub", "shl"):
            yield Intrinsic(f"llvm.{sign}{what}.sat", "int int int", rule="saturating")
        for what in ("add", "sub", "mul"):
            yield Intrinsic(f"llvm.{sign}{what}.with.overflow", "int+i1 int int", rule="overflow")


def _floats() -> Iterator[Intrinsic]:
    for name in ("fma", "fmuladd"):
        yield Intrinsic(f"llvm.{name}", "fp fp fp fp", rule="fma")
    for name in ("fabs", "sqrt", "round", "canonicalize"):
        yield Intrinsic(f"llvm.{name}", "fp fp", rule=name)
    for name, how in (("floor", "rmi"), ("ceil", "rpi"), ("trunc", "rzi"), ("rint", "rni"),
                      ("nearbyint", "rni"), ("roundeven", "rni")):
        yield Intrinsic(f"llvm.{name}", "fp fp", rule=f"to.integral {how}")
    for name, how in (("minnum", "min"), ("maxnum", "max"), ("minimumnum", "min"),
                      ("maximumnum", "max"), ("minimum", "min NaN"), ("maximum", "max NaN")):
        yield Intrinsic(f"llvm.{name}", "fp fp fp", rule=f"extremum {how}")
    yield Intrinsic("llvm.copysign", "fp fp fp", rule="copysign")
    yield Intrinsic("llvm.is.fpclass", "i1 fp i32!", rule="is.fpclass")
    for sign in "su":
        yield Intrinsic(f"llvm.fpto{sign}i.sat", "i32 fp", rule=f"to.integer {sign}")
    # By what PTX has: an approximation, of a multiple of the operand, or a multiple of it.
    for name, ptx, before, behind in (
        ("sin", "sin", 0, 0), ("cos", "cos", 0, 0), ("tanh", "tanh", 0, 0), ("exp2", "ex2", 0, 0),
        ("log2", "lg2", 0, 0), ("exp", "ex2", 0x3FB8AA3B, 0), ("exp10", "ex2", 0x40549A78, 0),
        ("log", "lg2", 0, 0x3F317218), ("log10", "lg2", 0, 0x3E9A209B),
    ):
        yield Intrinsic(f"llvm.{name}", "fp fp", rule=f"approximate {ptx} {before} {behind}")
    yield Intrinsic("llvm.pow", "fp fp fp", rule="power")


def _vectors() -> Iterator[Intrinsic]:
    for what in ("add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin"):
        yield Intrinsic(f"llvm.vector.reduce.{what}", "int v4int", rule=f"reduce {what}")
    for what in ("fmax", "fmin"):
        yield Intrinsic(f"llvm.vector.reduce.{what}", "fp v4fp", rule=f"reduce {what}")
    for what in ("fadd", "fmul"):
        yield Intrinsic(f"llvm.vector.reduce.{what}", "fp fp v4fp", rule=f"reduce {what}")


def _memory() -> Iterator[Intrinsic]:
    both = "reads writes"
    for inline in ("", ".inline"):
        yield Intrinsic(f"llvm.memcpy{inline}", "void ptr ptr i64 i1!", rule="copy", effect=both)
        yield Intrinsic(f"llvm.memset{inline}", "void ptr i8 i64 i1!", rule="fill", effect="writes")
    yield Intrinsic("llvm.memmove", "void ptr ptr i64 i1!", rule="copy overlapping", effect=both)
    yield Intrinsic("llvm.objectsize", "int ptr i1! i1! i1!", rule="object.size")
    yield Intrinsic("llvm.ptrmask", "ptr ptr i64", rule="pointer.mask")
    yield Intrinsic("llvm.stacksave", "ptr", rule="stack.save", effect="reads")
    yield Intrinsic("llvm.stackrestore", "void ptr", rule="stack.restore", effect="writes")


# Said to analyses. Nothing is left of them in PTX, and running them does nothing. Operands that are
# metadata are left out.
_HINTS = (
    ("lifetime.start", "i64! ptr"), ("lifetime.end", "i64! ptr"), ("assume", "i1"),
    ("donothing", ""), ("sideeffect", ""), ("invariant.end", "ptr i64! ptr"),
    ("experimental.noalias.scope.decl", ""), ("pseudoprobe", "i64! i64! i32! i64!"),
    ("var.annotation", "ptr ptr ptr i32 ptr"), ("prefetch", "ptr i32! i32! i32!"),
    ("fake.use", "T"), ("codeview.annotation", ""), ("dbg.value", ""), ("dbg.declare", ""),
    ("dbg.label", ""), ("dbg.assign", ""),
)
# Their first operand is their result.
_SAME = (
    ("expect", "int int int"), ("expect.with.probability", "int int int double!"),
    ("annotation", "int int ptr ptr i32"), ("ptr.annotation", "ptr ptr ptr ptr i32 ptr"),
    ("ssa.copy", "int int"), ("launder.invariant.group", "ptr ptr"),
    ("strip.invariant.group", "ptr ptr"), ("arithmetic.fence", "fp fp"),
    ("threadlocal.address", "ptr ptr"), ("preserve.array.access.index", "ptr ptr i32! i32!"),
    ("preserve.struct.access.index", "ptr ptr i32! i32!"),
    ("nvvm.texsurf.handle.internal", "i64 ptr"),
)


def _hints() -> Iterator[Intrinsic]:
    for name, operands in _HINTS:
        yield Intrinsic(f"llvm.{name}", f"void {operands}", rule="nothing", effect="hint")
    for name, types in _SAME:
        yield Intrinsic(f"llvm.{name}", types, rule="same")
    yield Intrinsic("llvm.invariant.start", "ptr i64! ptr", rule="number 0", effect="hint")
    yield Intrinsic("llvm.is.constant", "i1 T", rule="number 0")
    yield Intrinsic("llvm.nvvm.reflect", "i32 ptr", rule="number 0")
    yield Intrinsic("__nvvm_reflect", "i32 ptr", rule="number 0")


def rows() -> Iterator[Intrinsic]:
    for family in (_integers, _floats, _vectors, _memory, _hints):
        yield from family()
