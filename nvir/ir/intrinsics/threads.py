"""Intrinsics of threads: special registers, barriers, fences, what the lanes of a warp exchange."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic
from nvir.ir.special import special_names, special_register
from nvir.ir.types import U32


def _special_registers() -> Iterator[Intrinsic]:
    for name in special_names():
        register = special_register(name)
        assert register is not None
        t = U32 if name == "%gridid" else register.type  # LLVM reads the lower half
        if t.bits > 64 or name[-2:] in (".r", ".g", ".b", ".a"):
            continue  # whole vectors, and PTX's other names of their elements
        ori = f"mov.{t.name} {name}"
        word = name[1:]
        types = "i1" if t.bits == 1 else f"i{t.bits}"
        for spelled in {word.replace("_", "."), word, word.replace("cluster_", "cluster.")}:
            yield Intrinsic(f"llvm.nvvm.read.ptx.sreg.{spelled}", types, ori, bits=register.bits)
    yield Intrinsic("llvm.nvvm.is_explicit_cluster", "i1", "mov.pred %is_explicit_cluster")
    yield Intrinsic("llvm.nvvm.read.ptx.sreg.warpsize", "i32", rule="number 32", bits=6)


def _barriers() -> Iterator[Intrinsic]:
    for name, types, ori in (
        ("barrier0", "", "bar.sync 0"),
        ("barrier.n", "i32", "bar.sync $0"),
        ("bar.sync", "i32", "bar.sync $0"),
        ("barrier", "i32 i32", "bar.sync $0, $1"),
        ("barrier.sync", "i32", "barrier.sync $0"),
        ("barrier.sync.cnt", "i32 i32", "barrier.sync $0, $1"),
        ("bar.warp.sync", "i32", "bar.warp.sync $0"),
        ("membar.cta", "", "membar.cta"),
        ("membar.gl", "", "membar.gl"),
        ("membar.sys", "", "membar.sys"),
        ("fence.sc.cluster", "", "fence.sc.cluster"),
        ("wgmma.fence.sync.aligned", "", "wgmma.fence.sync.aligned"),
        ("wgmma.commit_group.sync.aligned", "", "wgmma.commit_group.sync.aligned"),
        ("wgmma.wait_group.sync.aligned", "i64!", "wgmma.wait_group.sync.aligned $0"),
        ("fence.mbarrier_init.release.cluster", "", "fence.mbarrier_init.release.cluster"),
        ("fence.proxy.alias", "", "fence.proxy.alias"),
        ("fence.proxy.async", "", "fence.proxy.async"),
        ("fence.proxy.async.global", "", "fence.proxy.async.global"),
        ("fence.proxy.async.shared_cta", "", "fence.proxy.async.shared::cta"),
        ("fence.proxy.async.shared_cluster", "", "fence.proxy.async.shared::cluster"),
        ("griddepcontrol.wait", "", "griddepcontrol.wait"),
        ("griddepcontrol.launch.dependents", "", "griddepcontrol.launch_dependents"),
        ("nanosleep", "i32", "nanosleep.u32 $0"),
    ):
        yield Intrinsic(f"llvm.nvvm.{name}", f"void {types}", ori)
    for aligned, name in ((".aligned", "bar"), ("", "barrier")):
        for kind in ("", ".cta"):
            base = f"llvm.nvvm.barrier{kind}"
            yield Intrinsic(f"{base}.sync{aligned}.all", "void i32", f"{name}.sync $0")
            yield Intrinsic(f"{base}.sync{aligned}.count", "void i32 i32", f"{name}.sync $0, $1")
            yield Intrinsic(f"{base}.arrive{aligned}.count", "void i32 i32",
                            f"{name}.arrive $0, $1")
    for what in ("arrive", "arrive.relaxed", "wait"):
        for aligned in ("", ".aligned"):
            spelling = f"barrier.cluster.{what}{aligned}"
            yield Intrinsic(f"llvm.nvvm.{spelling}", "void", spelling)


def _reductions() -> Iterator[Intrinsic]:
    """Barriers that count or join a predicate. The older ones take and give an i32."""
    for what in ("popc", "and", "or"):
        yield Intrinsic(f"llvm.nvvm.barrier0.{what}", "i32 i32", rule=f"barrier.red {what}",
                        effect="convergent writes")
        kind, result = ("u32", "i32") if what == "popc" else ("pred", "i1")
        for aligned, name in ((".aligned", "bar"), ("", "barrier")):
            base = f"llvm.nvvm.barrier.cta.red.{what}{aligned}"
            spelling = f"{name}.red.{what}.{kind}"
            yield Intrinsic(f"{base}.all", f"{result} i32 i1", f"{spelling} $0, $1")
            yield Intrinsic(f"{base}.count", f"{result} i32 i32 i1", f"{spelling} $0, $1, $2")


def _warp() -> Iterator[Intrinsic]:
    for mode in ("up", "down", "bfly", "idx"):
        for kind, t in (("i32", "i32"), ("f32", "float")):
            name, ori = f"llvm.nvvm.shfl.sync.{mode}.{kind}", f"shfl.sync.{mode}.b32"
            yield Intrinsic(name, f"{t} i32 {t} i32 i32", f"{ori} $1:r, $2, $3, $0")
            yield Intrinsic(f"{name}p", f"{t}+i1 i32 {t} i32 i32", f"{ori}|p $1:r, $2, $3, $0")
    for what in ("all", "any", "uni", "ballot"):
        t, kind = ("i32", "b32") if what == "ballot" else ("i1", "pred")
        ori = f"vote.sync.{what}.{kind}"
        yield Intrinsic(f"llvm.nvvm.vote.{what}.sync", f"{t} i32 i1", f"{ori} $1, $0")
        yield Intrinsic(f"llvm.nvvm.vote.{what}", f"{t} i1", f"{ori} $0, -1")
    for n in ("32", "64"):
        yield Intrinsic(f"llvm.nvvm.match.any.sync.i{n}", f"i32 i32 i{n}",
                        f"match.any.sync.b{n} $1:r, $0")
        yield Intrinsic(f"llvm.nvvm.match.all.sync.i{n}p", f"i32+i1 i32 i{n}",
                        f"match.all.sync.b{n}|p $1:r, $0")
    kinds = {"add": "s32", "min": "s32", "max": "s32", "umin": "u32", "umax": "u32",
             "and": "b32", "or": "b32", "xor": "b32"}
    for what, kind in kinds.items():
        ori = f"redux.sync.{what[-3:].lstrip('u')}.{kind} $0:r, $1"
        yield Intrinsic(f"llvm.nvvm.redux.sync.{what}", "i32 i32 i32", ori)
    for what in ("min", "max"):
        for how in ("", ".abs", ".NaN", ".abs.NaN"):
            yield Intrinsic(f"llvm.nvvm.redux.sync.f{what}{how}", "float float i32",
                            f"redux.sync.{what}{how}.f32 $0:r, $1")
    yield Intrinsic("llvm.nvvm.activemask", "i32", "activemask.b32")
    yield Intrinsic("llvm.nvvm.elect.sync", "i32+i1 i32", "elect.sync|p $0")


def _control() -> Iterator[Intrinsic]:
    yield Intrinsic("llvm.trap", "void", "trap")
    yield Intrinsic("llvm.ubsantrap", "void i8!", "trap")
    yield Intrinsic("llvm.debugtrap", "void", "brkpt")
    yield Intrinsic("llvm.nvvm.exit", "void", rule="exit", effect="convergent writes")
    yield Intrinsic("llvm.nvvm.pm.event.mask", "void i16!", "pmevent.mask $0")
    for what in ("inc", "dec"):
        spelling = f"setmaxnreg.{what}.sync.aligned.u32"
        yield Intrinsic(f"llvm.nvvm.{spelling}", "void i32!", f"{spelling} $0")


def rows() -> Iterator[Intrinsic]:
    for family in (_special_registers, _barriers, _reductions, _warp, _control):
        yield from family()
