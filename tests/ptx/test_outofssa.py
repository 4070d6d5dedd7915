"""Out-of-SSA: what was read gets its registers back; what passes made is still right."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir import Function, Instruction, Module, Unsupported, integer
from nvir.ir.opcodes.form import form
from nvir.passes.driver import run_passes
from nvir.ptx.interference import Interference, is_copy
from nvir.ptx.outofssa import EdgeCopy, assign_registers, components, sequentialise
from nvir.ptx.printer import print_ptx
from nvir.ptx.reader import read_ptx
from tests.effort import effort
from tests.kernels import random_kernel
from tests.loop_kernels import loop_kernel
from tests.wild_kernels import wild_kernel

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def kernel(body: str, registers: str = ".reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>;"):
    """A module of one kernel `k` with this body."""
    return read_ptx(f"{HEAD}.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n"
                    f"{registers}\n{body}\n}}\n")


def copies(module: Module) -> list[EdgeCopy]:
    found = assign_registers(module["k"]).copies
    return [c for group in found.values() for c in group]


def propagate_copies(function: Function) -> int:
    """Every `mov` of a register is gone and its uses name the source."""
    count = 0
    for i in list(function.instructions()):
        if is_copy(i) and i.operands[0].is_tracked:
            i.replace_with(i.operands[0])
            count += 1
    return count


# ------------------------------------------------------ running printed text

_LINE = re.compile(r"(?:@(!?)(\S+)\s+)?([a-z][\w.]*)\s*(.*);$")


def run(text: str, n: int, limit: int = 40) -> list[tuple[int, ...]]:
    """The values that the kernel of a text stores, in order, at most `limit` of them.

    Knows add, sub, mov, setp, bra, ret, ld.param, st.global: enough for the programs here,
    and nothing of nvir's reader.
    """
    lines: list[str] = []
    labels: dict[str, int] = {}
    for line in text[text.index("{") + 1 :].splitlines():
        line = line.strip()
        if line.endswith(":"):
            labels[line[:-1]] = len(lines)
        elif line and not line.startswith((".", "}", "/")):
            lines.append(line)
    regs: dict[str, int] = {}
    trace: list[tuple[int, ...]] = []
    at = 0

    def value(name: str) -> int:
        return int(name) if name.lstrip("-").isdigit() else regs.get(name, 0)

    while len(trace) < limit:
        m = _LINE.match(lines[at])
        assert m is not None, lines[at]
        sign, guard, opcode, rest = m.groups()
        at += 1
        if guard is not None and bool(regs.get(guard, 0)) == (sign == "!"):
            continue
        args = [a.strip(" []") for a in rest.split(",")]
        name = opcode.split(".")[0]
        if name == "ret":
            return trace
        if name == "bra":
            at = labels[args[0]]
        elif name == "ld":
            regs[args[0]] = n
        elif name == "st":
            trace.append(tuple(value(a) for a in args[1:]))
        elif name == "mov":
            regs[args[0]] = value(args[1])
        elif name == "add":
            regs[args[0]] = (value(args[1]) + value(args[2])) & 0xFFFFFFFF
        elif name == "setp":
            a, b = value(args[1]), value(args[2])
            regs[args[0]] = int(a < b if ".lt" in opcode else a == b)
        else:
            raise AssertionError(opcode)
    return trace


def random_program(seed: int) -> str:
    """A random control-flow graph over a few registers that are moved about a lot."""
    rng = random.Random(seed)
    regs = [f"%r{k}" for k in range(1, 6)]
    n_blocks = rng.randint(2, 7)
    lines = ["ld.param.u64 %rd1, [out];", "ld.param.u32 %r1, [n];", "setp.lt.u32 %p2, %r1, 4;"]
    lines += [f"mov.b32 {r}, {k};" for k, r in enumerate(regs[1:])]
    for b in range(n_blocks):
        lines.append(f"L{b}:")
        for _ in range(rng.randint(0, 5)):
            d, s, t = (rng.choice(regs) for _ in range(3))
            guard = rng.choice(["", "", "", "@%p2 ", "@!%p2 "])
            lines.append(rng.choice([
                f"mov.b32 {d}, {s};",
                f"{guard}mov.b32 {d}, {s};",
                f"{guard}mov.b32 {d}, {rng.randint(0, 9)};",
                f"{guard}add.u32 {d}, {s}, {t};",
                f"setp.lt.u32 %p2, {s}, {t};",
                f"st.global.u32 [%rd1], {s};",
            ]))
        if rng.random() < 0.4:  # a swap, the classic trap
            x, y = rng.sample(regs, 2)
            lines += [f"mov.b32 %r9, {x};", f"mov.b32 {x}, {y};", f"mov.b32 {y}, %r9;"]
        lines.append(f"st.global.u32 [%rd1], {rng.choice(regs)};")
        if rng.random() < 0.8:
            lines.append(f"setp.lt.u32 %p1, {rng.choice(regs)}, {rng.choice(regs)};")
            lines.append(f"@%p1 bra L{rng.randrange(n_blocks)};")
        elif rng.random() < 0.5:
            lines.append(f"bra L{rng.randrange(n_blocks)};")
    lines.append("ret;")
    return "\n".join(lines)


@settings(max_examples=150)
@given(st.integers(0, 10**6))
def test_text_after_copy_propagation_does_the_same(seed: int) -> None:
    """Random programs, copies propagated in SSA: the printed text stores what the read one did."""
    body = random_program(seed)
    module = kernel(body)
    straight = print_ptx(module)
    propagate_copies(module["k"])
    changed = print_ptx(module)
    for n in (0, 3, 50):
        expected = run("{\n" + body + "\n}", n)
        assert run(straight, n) == expected
        assert run(changed, n) == expected


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_what_was_just_read_needs_no_copy(seed: int) -> None:
    """Webs right after reading are the source's registers, whatever the program."""
    module = kernel(random_program(seed))
    assignment = assign_registers(module["k"])
    assert assignment.copies == {}
    for i in module["k"].instructions():
        for r in i.results:
            assert assignment.names[r] == r.name


# ----------------------------------------------------------- the classics

LOOP = """
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r9, [n];
    mov.b32 %r1, 0;
    mov.b32 %r2, 1;
L:  {step}
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, %r9;
    @%p1 bra L;
    st.global.u32 [%rd1], %r1;
    ret;
"""


def test_swap_problem_takes_three_moves() -> None:
    """Two phis that exchange their values each round: a cycle, opened by one spare register."""
    m = kernel(LOOP.format(step="mov.b32 %r3, %r1; mov.b32 %r1, %r2; mov.b32 %r2, %r3;"))
    assert propagate_copies(m["k"]) == 3
    found = [c for c in copies(m) if not c.source.isdigit()]
    assert len(found) == 3
    for n in range(4):
        assert run(print_ptx(m), n) == [((0, 1)[max(n, 1) % 2],)]


def test_lost_copy_problem_takes_one_move() -> None:
    """The old value of an induction is used behind the loop: one copy keeps it."""
    m = kernel("""
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r9, [n];
        mov.b32 %r1, 7;
    L:  mov.b32 %r3, %r1;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, %r9;
        @%p1 bra L;
        st.global.u32 [%rd1], %r3;
        ret;""")
    assert propagate_copies(m["k"]) == 1
    assert len([c for c in copies(m) if not c.source.isdigit()]) == 1
    assert run(print_ptx(m), 10) == [(9,)]


def test_critical_edge_is_not_split_and_not_clobbered() -> None:
    """A copy for one edge stands before a branch whose other edge still needs the old value."""
    m = kernel("""
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [n];
        mov.b32 %r2, 5;
        mov.b32 %r3, %r1;
        setp.lt.u32 %p1, %r1, 3;
        @%p1 bra J;
        mov.b32 %r3, %r2;
        st.global.u32 [%rd1], %r1;
    J:  st.global.u32 [%rd1], %r3;
        st.global.u32 [%rd1], %r1;
        ret;""")
    blocks = len(m["k"].blocks)
    propagate_copies(m["k"])
    text = print_ptx(m)
    assert len(m["k"].blocks) == blocks
    assert run(text, 1) == [(1,), (1,)]
    assert run(text, 8) == [(8,), (5,), (8,)]


def test_constant_operand_of_a_phi_is_moved_in_the_predecessor() -> None:
    m = kernel("""
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [n];
        mov.b32 %r2, 5;
        setp.lt.u32 %p1, %r1, 3;
        @%p1 bra J;
        add.u32 %r2, %r1, 1;
    J:  st.global.u32 [%rd1], %r2;
        ret;""")
    mov = next(i for i in m["k"].instructions() if is_copy(i))
    mov.replace_with(integer(5))
    (copy,) = copies(m)
    assert (copy.source, copy.type.name) == ("5", "b32")
    text = print_ptx(m)
    assert (run(text, 1), run(text, 8)) == ([(5,)], [(9,)])


def test_constant_fallback_of_a_guard_is_moved_before_the_instruction() -> None:
    m = kernel("""
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [n];
        mov.b32 %r2, 5;
        setp.lt.u32 %p1, %r1, 3;
        @%p1 add.u32 %r2, %r1, 1;
        st.global.u32 [%rd1], %r2;
        ret;""")
    mov = next(i for i in m["k"].instructions() if is_copy(i))
    mov.replace_with(integer(5))
    assert [c.source for c in copies(m)] == ["5"]
    text = print_ptx(m)
    assert (run(text, 1), run(text, 8)) == ([(2,)], [(5,)])


def test_fallback_that_lives_on_is_copied() -> None:
    """The old value is read behind the guarded instruction that would overwrite it."""
    m = kernel("""
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [n];
        mov.b32 %r2, %r1;
        setp.lt.u32 %p1, %r1, 3;
        @%p1 add.u32 %r2, %r1, 1;
        st.global.u32 [%rd1], %r2;
        st.global.u32 [%rd1], %r1;
        ret;""")
    propagate_copies(m["k"])
    assert len(copies(m)) == 1
    text = print_ptx(m)
    assert (run(text, 1), run(text, 8)) == ([(2,), (1,)], [(8,), (8,)])


def test_undef_fallback_needs_no_copy() -> None:
    m = kernel("setp.lt.u32 %p1, 1, 2; @%p1 mov.b32 %r1, 4; st.global.u32 [%rd1], %r1; ret;")
    assert copies(m) == []


def test_the_function_is_not_changed() -> None:
    m = kernel(random_program(5))
    propagate_copies(m["k"])
    before = [(i, i.operands, i.name, i.aux) for i in m["k"].instructions()]
    blocks = list(m["k"].blocks)
    print_ptx(m)
    assert [(i, i.operands, i.name, i.aux) for i in m["k"].instructions()] == before
    assert m["k"].blocks == blocks


# ------------------------------------------------------ values in flight

WGMMA = """
    mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0;
    wgmma.fence.sync.aligned;
L:  {before}
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r1, %r2, %r3, %r4}},
        %rd1, %rd2, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    {between}
    setp.lt.u32 %p1, %r5, 9;
    @%p1 bra L;
    wgmma.wait_group.sync.aligned 0;
    st.global.u32 [%rd1], %r1;
    st.global.u32 [%rd1], {last};
    ret;
"""


def test_accumulators_in_flight_coalesce() -> None:
    """A chain of wgmma around a loop is one register for each element, without a copy."""
    m = kernel(WGMMA.format(before="", between="", last="%r2"))
    assert copies(m) == []


def test_copying_a_value_in_flight_is_refused() -> None:
    """The accumulator of the round before is still wanted when the next overwrites it."""
    m = kernel(WGMMA.format(before="mov.b32 %r9, %r1;", between="", last="%r9"))
    propagate_copies(m["k"])
    with pytest.raises(Unsupported, match=r"wgmma\.mma_async"):
        assign_registers(m["k"])


def test_a_value_that_has_landed_may_be_copied() -> None:
    m = kernel(WGMMA.format(
        before="mov.b32 %r9, %r1;", between="wgmma.wait_group.sync.aligned 0;", last="%r9"
    ))
    propagate_copies(m["k"])
    assert copies(m)


# ------------------------------------------------------------ the parts


def test_sequence_of_parallel_copies_is_equivalent() -> None:
    """All maps of five registers onto five: the sequence does what the parallel copy does."""
    from nvir.ir.types import B32

    rng = random.Random(3)
    for _ in range(300):
        targets = rng.sample("abcde", rng.randint(1, 5))
        moves = {t: EdgeCopy(B32, t, rng.choice("abcde7")) for t in targets}
        moves = {t: c for t, c in moves.items() if c.source != t}
        fresh = iter("xyzw")
        regs = {r: r.upper() for r in "abcde"} | {"7": "7"}
        expected = regs | {t: regs[c.source] for t, c in moves.items()}
        for c in sequentialise(moves, lambda _, fresh=fresh: next(fresh)):
            regs[c.target] = regs[c.source]
        assert {r: regs[r] for r in "abcde"} == {r: expected[r] for r in "abcde"}


def test_components_join_transitively() -> None:
    m = Module()
    f = m.kernel("k")
    b = f.block("entry")
    a, c, d, e = (b.append(Instruction(form("mov.u32", "%s, %s"), (integer(k),))) for k in range(4))
    assert components([(a, c), (d, e), (c, e)]) == [[a, c, d, e]]
    assert components([(a, a)]) == []


def test_mov_and_its_source_do_not_interfere() -> None:
    """They hold the same value, so one register serves both although both live on."""
    m = kernel("""
        ld.param.u32 %r1, [n];
        mov.b32 %r2, %r1;
        add.u32 %r3, %r1, 1;
        st.global.u32 [%rd1], %r1; st.global.u32 [%rd1], %r2; st.global.u32 [%rd1], %r3; ret;""")
    load, mov, add = list(m["k"].entry)[:3]
    facts = Interference(m["k"])
    assert not facts.clash([load, mov])
    assert facts.clash([load, add])
    assert facts.clash([load, mov, add])


@pytest.mark.parametrize("make", [random_kernel, wild_kernel, loop_kernel])
def test_webs_are_separate_where_no_pair_of_their_nodes_interferes(make, monkeypatch):
    """Only neighbours are compared; that answers for all pairs."""
    seen = Counter()
    by_neighbours = Interference.separate

    def separate(self, a, b):
        found = by_neighbours(self, a, b)
        seen[found] += 1
        assert found == (not any(self.interfere(u, v) for u in a.nodes for v in b.nodes))
        return found

    monkeypatch.setattr(Interference, "separate", separate)
    for seed in range(12):
        module = read_ptx(make(seed, 20))
        run_passes(module, "loop-unroll<factor=4>,if-convert,copy-prop,gvn,dce")
        print_ptx(module)
    assert min(seen[True], seen[False]) >= 4


def test_values_of_one_name_in_one_block_are_joined_in_linear_work():
    """As if-conversion leaves guarded additions to one register."""
    def chain(n):
        adds = "".join(f"setp.gt.u32 %p1, %r1, {k}; @%p1 bra L{k}; add.u32 %r2, %r2, {k};\nL{k}:\n"
                       for k in range(n))
        made = kernel(f"ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n{adds}"
                      "st.global.u32 [%rd1], %r2; ret;")
        run_passes(made, "if-convert")
        return made

    text = print_ptx(chain(3))
    assert "bra" not in text
    assert text.count("%r2,") >= 4
    few, many = chain(75), chain(300)
    assert effort(lambda: print_ptx(many)) < 5 * effort(lambda: print_ptx(few))


def test_values_of_one_name_that_interfere_get_two_registers() -> None:
    """As after unrolling: copies of one source register that live at once."""
    m = kernel("""
        ld.param.u32 %r1, [n];
        add.u32 %r2, %r1, 1;
        add.u32 %r3, %r1, 2;
        st.global.u32 [%rd1], %r2; st.global.u32 [%rd1], %r3; ret;""")
    _, x, y = list(m["k"].entry)[:3]
    y.name = "%r2"
    names = assign_registers(m["k"]).names
    assert names[x] == "%r2"
    assert names[y] not in ("%r1", "%r2")


def test_float_register_under_an_integer_use_is_declared_by_class() -> None:
    """After `mov.b32 %r1, %f1` is propagated, `add.s32` names what was an `.f32` register."""
    m = kernel("""
        ld.global.f32 %f1, [%rd1];
        mov.b32 %r1, %f1;
        add.s32 %r2, %r1, 1;
        add.f32 %f2, %f1, %f1;
        st.global.u32 [%rd1], %r2; st.global.f32 [%rd1], %f2; ret;""",
        ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;")
    propagate_copies(m["k"])
    assignment = assign_registers(m["k"])
    load, _, add = list(m["k"].entry)[:3]
    name = assignment.names[load]
    assert assignment.names.registers[name].name == "b32"
    assert assignment.names.registers[assignment.names[add]].name == "f32"
