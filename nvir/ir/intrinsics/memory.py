"""Intrinsics of memory: address spaces, caches, atomics, asynchronous copies, mbarriers."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic

_SPACES = {"global": 1, "shared": 3, "constant": 4, "local": 5, "param": 101}
# NVVM's names where the generic address and one of shared memory are told apart.
_SHARED = (("", "", "[$0.0]", "ptr"), (".shared", ".shared", "[$0.3]", "ptr3"))


def _pointers() -> Iterator[Intrinsic]:
    for name, n in _SPACES.items():
        yield Intrinsic(f"llvm.nvvm.ptr.{name}.to.gen", f"ptr ptr{n}", rule=f"cast {n} 0")
        yield Intrinsic(f"llvm.nvvm.ptr.gen.to.{name}", f"ptr{n} ptr", rule=f"cast 0 {n}")
    for name in ("const", "global", "local", "shared", "shared.cluster"):
        yield Intrinsic(f"llvm.nvvm.isspacep.{name}", "i1 ptr",
                        f"isspacep.{name.replace('.', '::')} $0:r")
    for name, space, t in (("", "", "ptr"), (".shared.cluster", ".shared::cluster", "ptr3")):
        yield Intrinsic(f"llvm.nvvm.mapa{name}", f"{t} {t} i32", f"mapa{space}.u64 $0:r, $1")
        yield Intrinsic(f"llvm.nvvm.getctarank{name}", f"i32 {t}",
                        f"getctarank{space}.u64 $0:r")


def _caches() -> Iterator[Intrinsic]:
    for level in ("L1", "L2"):
        for name, space in (("", 0), (".global", 1), (".local", 5)):
            t = f"ptr{space or ''}"
            yield Intrinsic(f"llvm.nvvm.prefetch{name}.{level}", f"void {t}",
                            f"prefetch{name}.{level} [$0.{space}]")
    yield Intrinsic("llvm.nvvm.prefetchu.L1", "void ptr", "prefetchu.L1 [$0.0]")
    for name, space, t in (("", 0, "ptr"), (".global", 1, "ptr1")):
        yield Intrinsic(f"llvm.nvvm.discard{name}.L2", f"void {t} i64!",
                        f"discard{name}.L2 [$0.{space}], 128")
        yield Intrinsic(f"llvm.nvvm.applypriority{name}.L2.evict.normal", f"void {t} i64!",
                        f"applypriority{name}.L2::evict_normal [$0.{space}], 128")
    for kind, t in (("i", "int"), ("f", "fp"), ("p", "ptr")):
        for what in ("ldg", "ldu"):
            yield Intrinsic(f"llvm.nvvm.{what}.global.{kind}", f"{t} ptr1 i32!",
                            rule=f"read.only {what}", effect="reads")


def _atomics() -> Iterator[Intrinsic]:
    for what, rule, t in (("inc", "uinc_wrap", "32"), ("dec", "udec_wrap", "32"),
                          ("add", "fadd", "f32"), ("add", "fadd", "f64")):
        word = {"32": "i32", "f32": "float", "f64": "double"}[t]
        yield Intrinsic(f"llvm.nvvm.atomic.load.{what}.{t}", f"{word} ptr {word}",
                        rule=f"atomic {rule} gpu", effect="reads writes")
    words = {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}
    for scope in ("cta", "sys"):
        for what in ("add", "exch", "max", "min", "inc", "dec", "and", "or", "xor"):
            yield Intrinsic(f"llvm.nvvm.atomic.{what}.gen.i.{scope}", "int ptr int",
                            rule=f"atomic {words.get(what, what)} {scope}",
                            effect="reads writes")
        yield Intrinsic(f"llvm.nvvm.atomic.add.gen.f.{scope}", "fp ptr fp",
                        rule=f"atomic fadd {scope}", effect="reads writes")


def _copies() -> Iterator[Intrinsic]:
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        for n in sizes:
            name = f"llvm.nvvm.cp.async.{cache}.shared.global.{n}"
            ori = f"cp.async.{cache}.shared.global [$0.3], [$1.1], {n}"
            yield Intrinsic(name, "void ptr3 ptr1", ori)
            yield Intrinsic(f"{name}.s", "void ptr3 ptr1 i32", f"{ori}, $2")
    for name, operand in (
        ("commit.group", ""), ("wait.group", "i32!"), ("wait.all", ""), ("bulk.commit.group", ""),
        ("bulk.wait.group", "i32!"), ("bulk.wait.group.read", "i32!"),
    ):
        spelling = name.replace(".group", "_group").replace(".all", "_all")
        yield Intrinsic(f"llvm.nvvm.cp.async.{name}", f"void {operand}",
                        f"cp.async.{spelling}{' $0' if operand else ''}")


def _mbarriers() -> Iterator[Intrinsic]:
    for name, space, at, t in _SHARED:
        for noinc in ("", ".noinc"):
            yield Intrinsic(f"llvm.nvvm.cp.async.mbarrier.arrive{noinc}{name}", f"void {t}",
                            f"cp.async.mbarrier.arrive{noinc}{space}.b64 {at}")
        yield Intrinsic(f"llvm.nvvm.mbarrier.init{name}", f"void {t} i32",
                        f"mbarrier.init{space}.b64 {at}, $1")
        yield Intrinsic(f"llvm.nvvm.mbarrier.inval{name}", f"void {t}",
                        f"mbarrier.inval{space}.b64 {at}")
        for what in ("arrive", "arrive_drop"):
            dotted = f"llvm.nvvm.mbarrier.{what.replace('_', '.')}"
            yield Intrinsic(f"{dotted}{name}", f"i64 {t}", f"mbarrier.{what}{space}.b64 {at}")
            yield Intrinsic(f"{dotted}.noComplete{name}", f"i64 {t} i32",
                            f"mbarrier.{what}.noComplete{space}.b64 {at}, $1")
        yield Intrinsic(f"llvm.nvvm.mbarrier.test.wait{name}", f"i1 {t} i64",
                        f"mbarrier.test_wait{space}.b64 {at}, $1")
    yield Intrinsic("llvm.nvvm.mbarrier.pending.count", "i32 i64", "mbarrier.pending_count.b64 $0")


def rows() -> Iterator[Intrinsic]:
    for family in (_pointers, _caches, _atomics, _copies, _mbarriers):
        yield from family()
