"""simplify-cfg: each rule on a hit and a near miss."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from nvir import read_ll, run_passes
from nvir.ir import Instruction, Module
from nvir.ir.nvvm import Builder, function
from nvir.ir.types import I32, VOID, pointer
from tests.nvvm_modules import kernels
from tests.rewrites import growth, keeps_behaviour, rewrites, same_program

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]
EFFECT = "declare void @effect(i32)\ndeclare void @llvm.nvvm.barrier0()\n"


def test_constant_branches_fold_and_what_is_left_goes():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i32 %a) {
        entry:
          br i1 true, label %yes, label %no
        yes:
          call void @effect(i32 %a)
          ret void
        no:
          call void @effect(i32 2)
          br label %yes
        }""", EFFECT + """
        define void @f(i32 %a) {
        entry:
          call void @effect(i32 %a)
          ret void
        }""")


def test_a_cycle_that_is_cut_off_goes_with_its_phis():
    """Two phis that are each other's only value stood where a block was to be absorbed."""
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i32 %a) {
        entry:
          br i1 false, label %head, label %out
        head:
          %x = phi i32 [ 0, %entry ], [ %y, %latch ]
          %y = phi i32 [ 1, %entry ], [ %x, %latch ]
          call void @effect(i32 %x)
          br label %latch
        latch:
          br label %head
        out:
          call void @effect(i32 %a)
          ret void
        }""", EFFECT + """
        define void @f(i32 %a) {
        entry:
          call void @effect(i32 %a)
          ret void
        }""")


def test_a_negated_condition_swaps_the_ways():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c) {
        entry:
          %n = xor i1 %c, true
          br i1 %n, label %one, label %two
        one:
          call void @effect(i32 1)
          ret void
        two:
          call void @effect(i32 2)
          ret void
        }""", EFFECT + """
        define void @f(i1 %c) {
        entry:
          %n = xor i1 %c, true
          br i1 %c, label %two, label %one
        one:
          call void @effect(i32 1)
          ret void
        two:
          call void @effect(i32 2)
          ret void
        }""")


def test_a_way_to_unreachable_is_not_taken():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c) {
        entry:
          br i1 %c, label %never, label %go
        never:
          unreachable
        go:
          call void @effect(i32 2)
          ret void
        }""", EFFECT + """
        define void @f(i1 %c) {
        entry:
          call void @effect(i32 2)
          ret void
        }""")


SWITCH = EFFECT + """
        define void @f(i32 %a) {{
        entry:
          switch i32 {value}, label %other [ {cases} ]
        one:
          call void @effect(i32 1)
          ret void
        two:
          call void @effect(i32 2)
          ret void
        other:
          call void @effect(i32 3)
          ret void
        }}"""


def test_a_switch_on_a_literal():
    before = SWITCH.format(value="7", cases="i32 1, label %one i32 7, label %two")
    rewrites("simplify-cfg", before, EFFECT + """
        define void @f(i32 %a) {
        entry:
          call void @effect(i32 2)
          ret void
        }""")


def test_a_switch_of_one_case_is_a_branch():
    before = SWITCH.format(value="%a", cases="i32 1, label %one i32 9, label %other")
    rewrites("simplify-cfg", before, EFFECT + """
        define void @f(i32 %a) {
        entry:
          %c = icmp eq i32 %a, 1
          br i1 %c, label %one, label %other
        one:
          call void @effect(i32 1)
          ret void
        other:
          call void @effect(i32 3)
          ret void
        }""")


def test_a_switch_of_two_cases_stays():
    rewrites("simplify-cfg", SWITCH.format(value="%a", cases="i32 1, label %one i32 2, label %two"))


def test_a_diamond_is_a_select():
    rewrites("simplify-cfg", """
        define i32 @f(i1 %c, i32 %a) {
        entry:
          br i1 %c, label %x, label %y
        x:
          %p = add i32 %a, 1
          br label %join
        y:
          %q = mul i32 %a, 3
          br label %join
        join:
          %v = phi i32 [%p, %x], [%q, %y]
          ret i32 %v
        }""", """
        define i32 @f(i1 %c, i32 %a) {
        entry:
          %p = add i32 %a, 1
          %q = mul i32 %a, 3
          %v = select i1 %c, i32 %p, i32 %q
          ret i32 %v
        }""")


@pytest.mark.parametrize(
    "work",
    [
        "%p = load i32, ptr %m",  # may trap
        "%p = sdiv i32 7, %a",  # may divide by 0
        "store i32 1, ptr %m\n%p = add i32 %a, 1",
        "call void @llvm.nvvm.barrier0()\n%p = add i32 %a, 1",  # convergent
        "%o = mul i32 %a, %a\n%n = mul i32 %o, %a\n%l = mul i32 %n, %o\n%k = mul i32 %l, %n\n"
        "%p = mul i32 %k, %l",  # too much
    ],
)
def test_what_is_not_run_where_it_was_not(work):
    rewrites("simplify-cfg", EFFECT + f"""
        define i32 @f(i1 %c, i32 %a, ptr %m) {{
        entry:
          br i1 %c, label %x, label %join
        x:
          {work}
          br label %join
        join:
          %v = phi i32 [%p, %x], [%a, %entry]
          ret i32 %v
        }}""")


def test_and_of_two_branches_is_one():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c, i1 %d) {
        entry:
          br i1 %c, label %next, label %out
        next:
          br i1 %d, label %then, label %out
        then:
          call void @effect(i32 1)
          br label %out
        out:
          ret void
        }""", EFFECT + """
        define void @f(i1 %c, i1 %d) {
        entry:
          %t = select i1 %c, i1 %d, i1 false
          br i1 %t, label %then, label %out
        then:
          call void @effect(i32 1)
          br label %out
        out:
          ret void
        }""")


def test_a_load_before_the_second_branch_keeps_it():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c, ptr %p) {
        entry:
          br i1 %c, label %next, label %out
        next:
          %d = load i1, ptr %p
          br i1 %d, label %then, label %out
        then:
          call void @effect(i32 1)
          br label %out
        out:
          ret void
        }""")


def test_a_phi_of_constants_decides_its_branch():
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c, i32 %a) {
        entry:
          br i1 %c, label %x, label %y
        x:
          call void @effect(i32 1)
          br label %join
        y:
          call void @effect(i32 2)
          br label %join
        join:
          %t = phi i1 [true, %x], [false, %y]
          br i1 %t, label %p, label %q
        p:
          call void @effect(i32 3)
          ret void
        q:
          call void @effect(i32 4)
          ret void
        }""", EFFECT + """
        define void @f(i1 %c, i32 %a) {
        entry:
          br i1 %c, label %x, label %y
        x:
          call void @effect(i32 1)
          call void @effect(i32 3)
          ret void
        y:
          call void @effect(i32 2)
          call void @effect(i32 4)
          ret void
        }""")


def test_a_barrier_keeps_the_condition_that_it_had():
    """Deciding the branch early would run the barrier on two ways."""
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i1 %c, i32 %a) {
        entry:
          br i1 %c, label %x, label %y
        x:
          call void @effect(i32 1)
          br label %join
        y:
          call void @effect(i32 2)
          br label %join
        join:
          %t = phi i1 [true, %x], [false, %y]
          call void @llvm.nvvm.barrier0()
          br i1 %t, label %p, label %q
        p:
          call void @effect(i32 3)
          ret void
        q:
          call void @effect(i32 4)
          ret void
        }""")


def test_a_loop_keeps_its_one_latch():
    """`continue` leads to the latch, not to the header."""
    rewrites("simplify-cfg", EFFECT + """
        define void @f(i32 %n) {
        entry:
          br label %loop
        loop:
          %i = phi i32 [0, %entry], [%j, %latch]
          %j = add i32 %i, 1
          %c = icmp eq i32 %i, 3
          br i1 %c, label %work, label %latch
        work:
          call void @effect(i32 %i)
          %d = icmp eq i32 %j, %n
          br i1 %d, label %done, label %latch
        latch:
          br label %loop
        done:
          ret void
        }""")


def diamonds(n: int) -> Module:
    module = Module("sm_80", level="nvvm")
    f = function(module, "f", VOID, [("p", pointer(1)), ("n", I32)])
    b = Builder(f.block("entry"))
    v = f.params[1]
    for k in range(n):
        yes, no, join = f.block(), f.block(), f.block()
        here = b.block
        b.cbranch(b.icmp_signed("<", v, k), yes, no)
        for block in (yes, no):
            b.position_at_end(block)
            b.branch(join)
        b.position_at_end(join)
        phi = b.phi(I32)
        phi.set_incoming([v, b.add(phi, k) if here is None else f.params[1]], [yes, no])
        b.store(phi, f.params[0])
        v = phi
    b.ret_void()
    return module


def ladder(n: int, through: bool) -> Module:
    """Conditions that all leave to one join: directly, or through blocks in each other."""
    steps = "".join(
        f"b{k}:\n %c{k} = icmp sgt i32 %n, {3 * k}\n"
        f" br i1 %c{k}, label %b{k + 1}, label %e{k if through else 0}\n" for k in range(n)
    )
    last = n - 1 if through else 0
    joins = "".join(
        f"e{k}:\n %p{k} = phi i32 [ %p{k + 1}, %e{k + 1} ], [ {k}, %b{k} ]\n"
        f" br label %e{k - 1}\n" for k in range(last - 1, 0, -1)
    )
    if through:
        joins = (f"e{last}:\n %p{last} = phi i32 [ {n}, %b{n} ], [ {last}, %b{last} ]\n"
                 f" br label %e{last - 1}\n{joins}e0:\n"
                 " %p0 = phi i32 [ %p1, %e1 ], [ 0, %b0 ]\n")
    else:
        joins = "e0:\n %p0 = phi i32 " + ", ".join(f"[ {k}, %b{k} ]" for k in range(n + 1)) + "\n"
    return read_ll(
        "define void @f(ptr %p, i32 %n) {\nentry:\n br label %b0\n"
        f"{steps}b{n}:\n br label %e{last}\n{joins} store i32 %p0, ptr %p\n ret void\n}}"
    )


@pytest.mark.parametrize("make", [
    diamonds, lambda n: ladder(n, True), lambda n: ladder(n, False)
], ids=["diamonds", "through", "direct"])
def test_cost_is_linear(make):
    assert growth(make, "simplify-cfg") < 1.5


@settings(max_examples=20, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    keeps_behaviour(module, "simplify-cfg")


@pytest.mark.parametrize("seed", range(8, 10))
def test_random_programs(seed):
    same_program(seed, "mem2reg,simplify-cfg", accepted=seed == 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 400))
def test_many_random_programs(seed):
    same_program(seed, "sroa,mem2reg,simplify-cfg", accepted=True)


def test_ways_of_a_switch_that_bring_different_values_stay_apart():
    """Led past its empty block, a case would come to the join by an edge of another value."""
    text = """
        define void @f(ptr %p, i32 %n) {
        entry:
          switch i32 %n, label %join [ i32 1, label %one
            i32 2, label %two ]
        one:
          br label %join
        two:
          br label %join
        join:
          %x = phi i32 [ 3, %entry ], [ 5, %one ], [ 7, %two ]
          store i32 %x, ptr %p, align 4
          ret void
        }"""
    rewrites("simplify-cfg", text, text)
    same = text.replace("5, %one", "3, %one")
    with pytest.raises(AssertionError):  # that one goes
        rewrites("simplify-cfg", same, same)


def test_the_entries_of_a_phi_are_copied_once_for_all_that_are_joined(monkeypatch):
    """Each branch that joins another takes an entry from the phi: a copy of all is a walk in C."""
    copied = 0

    def counted(name):
        real = getattr(Instruction, name)

        def act(self, *args):
            nonlocal copied
            copied += len(self.aux)
            return real(self, *args)

        monkeypatch.setattr(Instruction, name, act)

    for name in ("replace_incoming", "set_incoming", "arriving"):
        counted(name)

    def copies(n: int) -> int:
        nonlocal copied
        copied = 0
        run_passes(ladder(n, False), "simplify-cfg")
        return copied

    assert copies(400) < 6 * copies(100)
