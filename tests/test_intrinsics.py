"""The table of intrinsics: each is selected if and only if the interpreter runs it, and alike."""

from __future__ import annotations

import contextlib
import random
import re

import numpy as np
import pytest

import nvir
from nvir import toolchain
from nvir.interp.nvvm import generic
from nvir.ir import Module
from nvir.ir.errors import Unsupported
from nvir.ir.intrinsics import find, table
from nvir.ir.intrinsics.intrinsic import parse_pattern
from nvir.ir.layout import size_of
from nvir.ir.nvvm import Builder, declare, function
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    VOID,
    StructType,
    VectorType,
    int_type,
    pointer,
    struct,
    vector,
)
from nvir.passes.select import select_module
from nvir.passes.select.intrinsics import RULES, SCALARS
from tests.intrinsic_calls import module_of, overloads, run, short

MANY = ("wmma", "mma", "tex", "tld4", "suld", "sust")  # families of hundreds of forms
CALLS = [(row, suffix, t) for row in table().values() for suffix, t in overloads(row)]
FEW = [c for c in CALLS if not short(c[0]).startswith(MANY)]
REST = [c for c in CALLS if short(c[0]).startswith(MANY)]
FAULTS = {"llvm.trap", "llvm.ubsantrap"}  # end the launch, on both levels


def disagreements(calls):
    """What is selected or run of these calls and not the other, or to another result."""
    bad = []
    for seed, (row, suffix, t) in enumerate(calls):
        module = module_of([(row, suffix, t)], "sm_100a")
        nvir.verify(module)
        try:
            ori = select_module(module)
            nvir.verify(ori)
            nvir.print_ptx(ori)
            before, after = run(module, "k0", seed), run(ori, "k0", seed)
        except Unsupported as e:
            bad.append((row.name + suffix, str(e)))
            continue
        if before != after or isinstance(before, str) != (row.name in FAULTS):
            bad.append((row.name + suffix, before if isinstance(before, str) else "differs"))
    return bad


@pytest.mark.parametrize("part", range(8))
def test_each_intrinsic_is_selected_and_runs_alike(part):
    assert not disagreements(FEW[part::8])


def test_matrices_and_images_are_selected_and_run_alike():
    """One form of each kind: the others differ in layout, type or shape alone."""
    kinds = {}
    for call in REST:
        words = [w for w in short(call[0]).split(".") if not w.startswith(("row", "col", "m16"))]
        kinds.setdefault(tuple(words[:4]), call)
    assert len(kinds) > 100
    assert not disagreements(list(kinds.values())[::3])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_all_matrices_and_images_are_selected_and_run_alike(part):
    assert not disagreements(REST[part::8])


def test_both_have_every_rule_and_no_other():
    named = {row.rule.split()[0] for row in table().values() if row.rule}
    assert named == {*RULES, *SCALARS} == {*generic.RULES, *generic.SPECIALS}


def test_a_row_says_one_thing():
    for row in table().values():
        assert bool(row.ori) != bool(row.rule), row.name


def called(name, result, operands):
    module = Module("sm_80", level="nvvm")
    f = function(module, "k", VOID, [("out", pointer(1)), ("x", I32)], kind="entry")
    b = Builder(f.block("entry"))
    made = b.call(declare(module, name, result, operands), [f.params[1]] * len(operands))
    if result is not VOID:
        b.store(made, f.params[0])
    b.ret_void()
    return module


@pytest.mark.parametrize("name", [
    "llvm.nvvm.barrier.cta.sync.aligned.some", "llvm.nvvm.shfl.sync.bfly.i128",
    "llvm.nvvm.mulhi", "llvm.nvvm.wmma.m16n16k16.load.a.row.f64", "llvm.nonsense.i32",
])
def test_both_refuse_what_the_table_has_not(name):
    """Nor is a longer name taken for the shorter one that it starts with."""
    assert find(name) is None
    module = called(name, I32, [I32])
    with pytest.raises(Unsupported, match="the intrinsic"):
        select_module(module)
    with pytest.raises(Unsupported, match="the intrinsic"):
        run_alone(module)


def run_alone(module):
    nvir.launch(module, "k", 1, 1, [np.zeros(4, np.int32), np.int32(3)])


def test_types_of_an_overload_fall_away():
    assert find("llvm.ctpop.v4i32") is find("llvm.ctpop")
    assert find("llvm.memcpy.p0.p1.i64") is find("llvm.memcpy")
    assert find("llvm.nvvm.ptr.shared.to.gen.p0.p3").rule == "cast 3 0"
    assert find("llvm.nvvm.shfl.sync.up.i32").name == "llvm.nvvm.shfl.sync.up.i32"


def test_effects_are_those_of_the_instruction():
    def of(name):
        row = find(f"llvm.{name}")
        return row.is_pure, row.is_convergent, row.touches_memory

    assert of("nvvm.fma.rn.f") == (True, False, False)
    assert of("nvvm.read.ptx.sreg.tid.x") == (True, False, False)
    assert of("nvvm.read.ptx.sreg.clock") == (False, False, False)
    assert of("nvvm.shfl.sync.up.i32") == (False, True, False)
    assert of("nvvm.barrier0") == (False, True, True)
    assert of("nvvm.ldu.global.i") == (False, False, True)
    assert of("lifetime.start") == (False, False, False)
    assert of("smax") == (True, False, False)


def test_a_body_of_the_same_name_is_called():
    """A module that has linked libdevice calls its functions."""
    module = Module("sm_80", level="nvvm")
    own = function(module, "__nv_abs", I32, [("x", I32)])
    Builder(own.block("entry")).ret(7)
    f = function(module, "k", VOID, [("out", pointer(1)), ("x", I32)], kind="entry")
    b = Builder(f.block("entry"))
    b.store(b.call(own, [f.params[1]]), f.params[0])
    b.ret_void()
    assert "call.uni" in nvir.print_ptx(select_module(module))
    assert "abs.s32" in nvir.print_ptx(select_module(called("__nv_abs", I32, [I32])))


TYPES = [I1, I8, I16, I32, I64, int_type(128), HALF, FLOAT, DOUBLE, VOID, pointer(), pointer(1),
         pointer(3), vector(I32, 2), vector(FLOAT, 4), vector(HALF, 2), struct([I32, I1])]


@pytest.mark.parametrize("seed", range(4))
def test_calls_of_other_types_are_refused_in_words(seed):
    """A declaration may say anything: never a traceback, on either level."""
    rng = random.Random(seed)
    rows = rng.sample(list(table().values()), 150)
    for row in [*rows, *(r for r in table().values() if r.rule)]:
        given = rng.choices([t for t in TYPES if t is not VOID], k=rng.randrange(5))
        module = Module("sm_90", level="nvvm")
        f = function(module, "k", VOID, [(f"a{k}", t) for k, t in enumerate(given)], kind="entry")
        b = Builder(f.block("entry"))
        b.call(declare(module, row.name, rng.choice(TYPES), given), list(f.params))
        b.ret_void()
        args = [bytes(size_of(t)) if isinstance(t, VectorType | StructType) or t.bits > 64
                else np.uint64(0) for t in given]
        for attempt in (lambda m=module: nvir.print_ptx(select_module(m)),
                        lambda m=module, a=args: nvir.launch(m, "k", 1, 1, a)):
            with contextlib.suppress(nvir.NvirError):
                attempt()


@pytest.mark.parametrize(("call", "made"), [
    ("i32 @llvm.nvvm.read.ptx.sreg.gridid()", "mov.u32 %gridid"),  # its lower half
    ("i64 @llvm.nvvm.read.ptx.sreg.clock64()", "volatile mov.u64 %clock64"),
    ("i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %p, i32 3, i32 %n)",
     "atom.relaxed.cta.cas.b32 [%0], %2, %1"),
    ("i32 @llvm.nvvm.atomic.xor.gen.i.sys.i32.p0(ptr %p, i32 %n)",
     "atom.relaxed.sys.xor.b32 [%0], %1"),
    ("{float, float, float, float} @llvm.nvvm.tex.2d.v4f32.s32(i64 %t, i64 %s, i32 %n, i32 %n)",
     "tex.2d.v4.f32.s32 [%2, %3, {%1, %1}]"),
    ("{i32, i32, i32, i32} @llvm.nvvm.tld4.g.2d.v4u32.f32(i64 %t, i64 %s, float 0.0, float 1.0)",
     "tld4.g.2d.v4.u32.f32 [%1, %2, {%3, %4}]"),
])
def test_what_a_call_in_a_text_becomes(call, made):
    types = re.sub(r"(?<=[\w)]) [%\d][\w.]*(?=[,)])", "", call)
    module = nvir.read_ll((
        f"declare {types}\ndefine void @f(ptr %p, i32 %n, i64 %t, i64 %s) {{\n  %r = call {call}\n"
        f"  store {call[:call.index(' @')]} %r, ptr %p\n  ret void\n}}\n").encode())
    assert f"= {made}\n" in nvir.print_ir(select_module(module))


def test_what_is_wrong_with_a_call_is_said():
    with pytest.raises(Unsupported, match=r"llvm.ctpop.i32 with 2 operands"):
        run_alone(called("llvm.ctpop.i32", I32, [I32, I32]))
    with pytest.raises(Unsupported, match=r"a call of llvm.nvvm.mulhi.i with 1 operands"):
        select_module(called("llvm.nvvm.mulhi.i", I32, [I32]))
    with pytest.raises(Unsupported, match=r"llvm.nvvm.cp.async.wait.group with operand 0 that is"):
        select_module(called("llvm.nvvm.cp.async.wait.group", VOID, [I32]))


@pytest.mark.parametrize("text", ["add.s32 $0:x", "ld.global.b32 [$0]", "mov.u32 %nothing"])
def test_what_is_not_the_notation_is_refused(text):
    with pytest.raises(ValueError):
        parse_pattern(text)


def assembled(calls, target="sm_100a"):
    """The names that ptxas refuses among these."""
    module = module_of(calls, target)
    if toolchain.ptxas(nvir.print_ptx(select_module(module)), target).ok:
        return []
    if len(calls) == 1:  # sm_90a alone has wgmma
        again = target != "sm_90a" and "wgmma" in calls[0][0].name
        return assembled(calls, "sm_90a") if again else [calls[0][0].name]
    half = len(calls) // 2
    return assembled(calls[:half]) + assembled(calls[half:])


@pytest.mark.oracle
@pytest.mark.parametrize("calls", [FEW, REST[::5]], ids=["few", "many"])
def test_every_row_assembles(calls):
    # wmma of floats lost .satfinite with PTX ISA 6.5. Of fetches with a sampler apart, which llc
    # writes so too, ptxas 13.0 takes one and two dimensions; at layers it ends its process.
    taken = [c for c in calls if not (c[0].name.endswith("satfinite") and "wmma" in c[0].name
                                      and ".f" in c[0].name)
             and not re.match(r"llvm\.nvvm\.tex\.(\w+\.array|3d|cube)\.", c[0].name)]
    refused = [n for k in range(0, len(taken), 80) for n in assembled(taken[k : k + 80])]
    assert not refused


def test_signatures_are_those_of_llvm():
    """LLVM's verifier takes every declaration whose name it knows."""
    llvm = pytest.importorskip("llvmlite.binding")
    apart = ("llvm.dbg", "llvm.codeview", "llvm.experimental", "llvm.threadlocal",
             "llvm.preserve", "__")  # operands that are metadata or carry attributes
    for row, suffix, t in CALLS:
        if row.name.startswith((*apart, "llvm.nvvm.tex", "llvm.nvvm.su")) or (
            "wmma" in row.name and "stride" not in row.name
        ):
            continue
        text = nvir.print_ll(module_of([(row, suffix, t)], "sm_90"), dialect="llvm20")
        llvm.parse_assembly(text).verify()
