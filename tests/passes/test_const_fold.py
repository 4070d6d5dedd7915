"""Constant folding: the evaluator, the propagation, and the rewrites."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir import floats
from nvir.ir.clone import clone_module
from nvir.ir.instruction import Instruction
from nvir.ir.nvvm import const
from nvir.ir.opcodes.evaluate import HOST, evaluate, fold_approximate
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.types import SCALARS, parse_type
from nvir.ir.values import constant, integer
from nvir.passes.driver import Driver, Settings
from tests.differential import random_case
from tests.effort import effort
from tests.equivalence import same_behaviour
from tests.passes.conftest import body, function

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
CASES = 60


def f32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def f64(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def one(spelling: str, *bits: int, approximate: bool = False) -> int | None:
    """What an instruction of literals evaluates to."""
    f = form(spelling, ", ".join(["%s"] * (len(bits) + 1)))
    types = [SCALARS[m] for m in f.mods if m in ("f32", "f64")]
    values = tuple(constant(types[-1], b) if types else integer(b) for b in bits)
    return evaluate(Instruction(f, values, f.result_types[0]), approximate=approximate)


# ------------------------------------------------------------ the evaluator

X = 1.5
TABLE = {
    38: ("cos.approx.f32", f32(X), f32(math.cos(X))),
    215: ("sin.approx.f32", f32(X), f32(math.sin(X))),
    59: ("ex2.approx.f32", f32(X), f32(2.0**X)),
    106: ("lg2.approx.f32", f32(X), f32(math.log2(X))),
    221: ("sqrt.approx.f32", f32(X), f32(math.sqrt(X))),
    192: ("rsqrt.approx.f32", f32(X), f32(1 / math.sqrt(X))),
    180: ("rcp.approx.f32", f32(X), f32(1 / X)),
    33: ("cvt.rpi.f32.f32", f32(X), f32(2.0)),
    68: ("cvt.rmi.f32.f32", f32(X), f32(1.0)),
    199: ("cvt.rn.f32.f64", f64(1.1), f32(1.1)),
    130: ("mov.b32", 42, 42),
}


@pytest.mark.seed("CF-01")
@pytest.mark.parametrize("number", TABLE)
def test_the_opcodes_of_the_notes(number: int) -> None:
    spelling, x, expected = TABLE[number]
    assert one(spelling, x, approximate=True) == expected


@pytest.mark.seed("CF-01")
def test_the_table_names_twelve_opcodes_and_the_folder_of_several_operands() -> None:
    numbers = [n for h in HOST for n in h.number]
    assert len(HOST) == 12
    assert set(numbers) == {*TABLE, 133, 137}
    assert one("mad.lo.s32", 6, 7, -2) == 40
    assert one("fma.rn.f32", f32(1.5), f32(2.0), f32(0.25)) == f32(3.25)


@pytest.mark.seed("CF-01")
def test_approximate_functions_wait_to_be_asked_for() -> None:
    """The hardware's last bits are its own; the exact evaluator gives none."""
    assert one("sin.approx.f32", f32(X)) is None
    assert one("sqrt.approx.f32", f32(X)) is None
    assert one("sqrt.rn.f32", f32(2.0)) == f32(math.sqrt(2.0))


@pytest.mark.seed("CF-02")
@pytest.mark.parametrize("name", ["rcp", "rsqrt"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_reciprocal_of_zero_is_infinity(name: str, zero: float) -> None:
    expected = f32(math.copysign(math.inf, zero))
    assert one(f"{name}.approx.f32", f32(zero), approximate=True) == expected
    if name == "rcp":
        assert one("rcp.rn.f32", f32(zero)) == expected
        assert one("rcp.rn.f64", f64(zero)) == f64(math.copysign(math.inf, zero))


@pytest.mark.seed("CF-03")
@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, -math.inf])
def test_the_logarithm_of_what_is_not_positive_is_left_alone(x: float) -> None:
    assert one("lg2.approx.f32", f32(x), approximate=True) is None
    assert one("lg2.approx.f32", f32(8.0), approximate=True) == f32(3.0)


@pytest.mark.seed("CF-04")
@pytest.mark.parametrize("x", [-0.5, 0.5, -0.0, 0.0, 2.5, -2.5, 1e30, -math.inf])
def test_whole_numbers_keep_the_sign(x: float) -> None:
    x32 = np.float32(x)
    assert one("cvt.rpi.f32.f32", f32(x)) == f32(float(np.ceil(x32)))
    assert one("cvt.rmi.f32.f32", f32(x)) == f32(float(np.floor(x32)))
    assert one("cvt.rzi.f64.f64", f64(x)) == f64(float(np.trunc(x)))
    assert one("cvt.rni.f64.f64", f64(x)) == f64(float(np.rint(x)))


@pytest.mark.seed("CF-05")
@given(st.floats(allow_nan=False))
@settings(max_examples=300, deadline=None)
def test_narrowing_rounds_as_asked(x: float) -> None:
    """Nearest as numpy's; the directed modes are the neighbours on their side."""
    with np.errstate(over="ignore"):
        nearest = np.float32(x)
    assert one("cvt.rn.f32.f64", f64(x)) == f32(float(nearest))
    down, up, zero = (one(f"cvt.{m}.f32.f64", f64(x)) for m in ("rm", "rp", "rz"))
    assert down is not None
    assert up is not None
    low, high = floats.number(floats.F32, down), floats.number(floats.F32, up)
    assert low <= x <= high
    with np.errstate(over="ignore"):
        above = np.nextafter(np.float32(low), np.float32(math.inf))
    assert low == high == x or above == high
    assert zero == (down if x > 0 else up) or x == 0


@pytest.mark.seed("CF-05")
def test_conversions_between_integers_and_floats() -> None:
    assert one("cvt.rn.f32.s32", 16777217) == f32(16777216.0)
    assert one("cvt.rp.f32.s32", 16777217) == f32(16777218.0)
    assert one("cvt.rzi.s32.f32", f32(-1.9)) == 0xFFFFFFFF
    assert one("cvt.rzi.u8.f32", f32(300.0)) == 255
    assert one("cvt.rn.f16.f32", f32(65520.0)) == 0x7C00
    assert one("cvt.rz.f16.f32", f32(65520.0)) == 0x7BFF


@pytest.mark.seed("CF-07")
@pytest.mark.parametrize(
    ("spelling", "args"),
    [
        ("sqrt.rn.f32", (-1.0,)), ("add.f32", (math.inf, -math.inf)), ("mul.f32", (0.0, math.inf)),
        ("div.rn.f32", (0.0, 0.0)), ("add.f32", (math.nan, 1.0)), ("sqrt.approx.f32", (-4.0,)),
        ("rsqrt.approx.f32", (-4.0,)), ("sin.approx.f32", (math.inf,)),
        ("cvt.rzi.s32.f32", (math.nan,)),
    ],
)
def test_not_a_number_is_the_machines_business(spelling: str, args: tuple[float, ...]) -> None:
    assert one(spelling, *map(f32, args), approximate=True) is None


@pytest.mark.seed("CF-07")
def test_infinities_follow_ieee() -> None:
    inf = f32(math.inf)
    assert one("add.f32", inf, f32(1.0)) == inf
    assert one("sqrt.rn.f32", inf) == inf
    assert one("sqrt.rn.f32", f32(-0.0)) == f32(-0.0)
    assert one("div.rn.f32", f32(-1.0), f32(0.0)) == f32(-math.inf)
    assert one("mul.rz.f32", f32(3e38), f32(3e38)) == 0x7F7FFFFF
    assert one("ex2.approx.f32", f32(200.0), approximate=True) == inf


def test_subnormals_under_ftz() -> None:
    assert one("add.ftz.f32", 1, f32(1.0)) == f32(1.0)
    assert one("mul.ftz.f32", f32(2.0**-100), f32(2.0**-40)) is None
    assert one("mul.f32", f32(2.0**-100), f32(2.0**-40)) == 1 << 9
    assert fold_approximate(form("ex2.approx.f32", "%s, %s"), 1) is None


def test_guards_and_literals_of_another_width() -> None:
    """A guard that is known decides; a literal that the assembler would convert is not read."""
    f = function("""
        ld.param.u32 %r1, [n];
        setp.eq.u32 %p1, %r1, 0;
        mov.u32 %r2, 5;
        @%p1 add.u32 %r2, %r1, 7;
        st.global.u32 [1024], %r2;
        ret;
    """)
    (add,) = [i for i in f.instructions() if i.form.name == "add"]
    p, r1, r2 = add.guard, add.operands[0], add.fallbacks[0]
    assert evaluate(add, {p: 1, r1: 3}) == 10
    assert evaluate(add, {p: 0, r2: 5}) == 5
    assert evaluate(add, {r1: 3, r2: 5}) is None
    wide = constant(SCALARS["f64"], f64(1.0))
    f_mov = form("add.f32", "%s, %s, %s")
    assert evaluate(Instruction(f_mov, (wide, wide), SCALARS["f32"])) is None


I32, FLOAT, DOUBLE = (parse_type(t) for t in ("i32", "float", "double"))


@pytest.mark.parametrize(
    ("spelling", "operands", "type", "expected"),
    [
        ("add", (const(I32, 5), const(I32, -7)), "i32", 0xFFFFFFFE),
        ("icmp slt", (const(I32, -1), const(I32, 0)), "i1", 1),
        ("zext", (const(I32, -1),), "i64", 0xFFFFFFFF),
        ("fadd", (const(FLOAT, 1.5), const(FLOAT, 0.25)), "float", f32(1.75)),
        ("fptrunc", (const(DOUBLE, 1.1),), "float", f32(1.1)),
        ("fcmp olt", (const(FLOAT, 1.0), const(FLOAT, 2.0)), "i1", 1),
        ("fcmp uno", (const(FLOAT, 1.0), const(FLOAT, 2.0)), "i1", 0),
        ("sitofp", (const(I32, -3),), "double", f64(-3.0)),
        ("fptosi", (const(FLOAT, -3.7),), "i32", 0xFFFFFFFD),
        ("fptoui", (const(FLOAT, -3.7),), "i32", None),  # poison
        ("sdiv", (const(I32, 1), const(I32, 0)), "i32", None),
        ("bitcast", (const(FLOAT, 1.0),), "i32", 0x3F800000),
    ],
)
def test_the_other_level(spelling, operands, type, expected) -> None:
    assert evaluate(Instruction(nvvm_form(spelling), operands, parse_type(type))) == expected


# ----------------------------------------------------------------- the pass


@pytest.mark.seed("CF-06")
def test_results_become_moves(check) -> None:
    check("const-fold", """
        mov.u32 %r1, 6;
        mul.lo.u32 %r2, %r1, 7;
        cvt.rn.f32.u32 %f1, %r2;
        st.global.f32 [1024], %f1;
        ret;
    """, """
        mov.u32 %r1, 6;
        mov.b32 %r2, 42;
        mov.f32 %f1, 0f42280000;
        st.global.f32 [1024], %f1;
        ret;
    """)


def test_what_depends_on_a_parameter_stays(check) -> None:
    check("const-fold", """
        ld.param.u32 %r1, [n];
        mov.u32 %r3, 4;
        mul.lo.u32 %r2, %r1, %r3;
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra L;
        st.global.u32 [1024], %r2;
    L:
        ret;
    """)


def test_a_decided_branch(check) -> None:
    """The phi has one value left, and the branch jumps."""
    ctx = check("const-fold", """
        mov.u32 %r1, 6;
        setp.gt.u32 %p1, %r1, 7;
        @%p1 bra THEN;
        mov.u32 %r2, 1;
        bra JOIN;
    THEN:
        mov.u32 %r2, 2;
    JOIN:
        st.global.u32 [1024], %r2;
        ret;
    """, """
        mov.u32 %r1, 6;
        mov.pred %p1, 0;
        bra A;
    A:
        mov.u32 %r2, 1;
        bra JOIN;
    JOIN:
        mov.b32 %r2, 1;
        st.global.u32 [1024], %r2;
        ret;
    """)
    assert [r.name for r in ctx.remarks] == ["Folded", "BranchDecided", "UnreachableRemoved"]


def test_branches_stay_where_they_are_not_wanted(check) -> None:
    check("const-fold<branches=false>", """
        mov.pred %p1, 0;
        @%p1 bra THEN;
        mov.u32 %r2, 1;
        bra JOIN;
    THEN:
        mov.u32 %r2, 2;
    JOIN:
        st.global.u32 [1024], %r2;
        ret;
    """)


@pytest.mark.parametrize(("start", "leaves"), [("1", False), ("%q", True)])
def test_a_branch_on_a_phi_that_is_one_number_jumps(start: str, leaves: bool) -> None:
    """What nothing leads to goes only when nobody names it any more; not if the phi varies."""
    module = nvir.parse_ir(f"""module ori target sm_80 version 8.0 address_size 64
kernel @k() {{
entry:
  %t: b32 = mov.u32 %tid.x
  %q: pred = setp.eq.s32 %t, 3
  bra L
L:
  %p: pred = phi [{start}, entry], [%p, M]
  @%q bra M else N
N:
  bra M
M:
  @%p bra L else out
out:
  ret
}}
""")
    nvir.run_passes(module, "const-fold")
    nvir.verify(module)
    blocks = {str(b.name) for b in module.functions[0].blocks}
    assert ("out" in blocks) == leaves


def test_a_loop_whose_variable_stands_still(check) -> None:
    """Optimistic: the phi is 5 because nothing in the loop makes it anything else."""
    check("const-fold", """
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 5;
    L:
        mul.lo.u32 %r3, %r2, 2;
        sub.u32 %r2, %r3, %r2;
        add.u32 %r1, %r1, -1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra L;
        st.global.u32 [1024], %r2;
        ret;
    """, """
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 5;
    L:
        mov.b32 %r4, 5;
        mov.b32 %r3, 10;
        mov.b32 %r2, 5;
        add.u32 %r1, %r1, -1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra L;
        st.global.u32 [1024], %r2;
        ret;
    """)


def test_a_loop_whose_variable_moves(check) -> None:
    check("const-fold", """
        mov.u32 %r2, 0;
    L:
        add.u32 %r2, %r2, 1;
        setp.ne.u32 %p1, %r2, 10;
        @%p1 bra L;
        st.global.u32 [1024], %r2;
        ret;
    """)


def test_undefined_values_are_not_chosen(check) -> None:
    check("const-fold", """
        ld.param.u32 %r1, [n];
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra L;
        mov.u32 %r2, 1;
    L:
        st.global.u32 [1024], %r2;
        ret;
    """)


LLVM = """
target triple = "nvptx64-nvidia-cuda"
define i32 @f(i32 %n) {
entry:
  %a = mul i32 6, 7
  %c = icmp sgt i32 %a, 50
  br i1 %c, label %then, label %else
then:
  br label %join
else:
  switch i32 %a, label %join [ i32 41, label %then
                               i32 42, label %last ]
join:
  %x = phi i32 [ %n, %then ], [ 9, %else ]
  ret i32 %x
last:
  %y = add i32 %n, %a
  ret i32 %y
}
"""


def test_the_other_level_gets_literals() -> None:
    module = nvir.read_ll(LLVM)
    Driver(Settings(verify_each=True, check=True)).run(module, "const-fold")
    f = module["f"]
    assert [b.name for b in f.blocks] == ["entry", "else", "last"]
    (add,) = [i for i in f.instructions() if i.form.name == "add"]
    assert add.operands[1] is const(I32, 42)
    assert not [i for i in f.instructions() if i.form.name in ("mul", "icmp", "phi", "switch")]


SLOW = ("spin_lock", "grid_barrier", "scan_lookback", "warp_specialised")
PATHS = [p for p in sorted(EXAMPLES.glob("*.ptx"))[::4] if not p.stem.startswith(SLOW)]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_examples_behave_the_same(path: Path) -> None:
    module = nvir.read_ptx(path)
    before = clone_module(module)
    Driver(Settings(verify_each=True)).run(module, "const-fold,copy-prop,dce")
    for f in module.functions:
        if f.is_kernel:
            same_behaviour(before, module, str(f.name))


@pytest.mark.parametrize("seed", range(CASES))
def test_random_kernels_behave_the_same(seed: int) -> None:
    failure = random_case(seed, 12, ("const-fold", "copy-prop", "const-fold", "print")).failure()
    assert failure is None, failure


@pytest.mark.oracle
def test_folded_kernels_assemble() -> None:
    from nvir import toolchain

    text = body("""
        ld.param.u64 %rd2, [a];
        mov.u32 %r1, 6;
        setp.gt.u32 %p1, %r1, 7;
        and.pred %p2, %p1, %p1;
        selp.b64 %rd1, 1, 2, %p2;
        cvt.u16.u32 %rs1, %r1;
        cvt.rn.f64.u32 %fd1, %r1;
        st.global.u64 [%rd2], %rd1;
        st.global.u16 [%rd2+8], %rs1;
        st.global.f64 [%rd2+16], %fd1;
        @%p2 st.global.u16 [%rd2+8], %rs1;
        ret;
    """)
    module = nvir.read_ptx(text.replace(".func (.reg .b32 %out) callee(.reg .b32 %in);", ""))
    Driver(Settings(verify_each=True)).run(module, "const-fold")
    text = nvir.print_ptx(module)
    assert text.count("mov.") == 6
    assert toolchain.ptxas(text, arch="sm_90a").ok


def test_it_is_linear() -> None:
    """Four times the code, about four times the work."""

    def work(n: int) -> int:
        lines = "\n".join(f"add.u32 %r{k % 50}, %r{(k + 1) % 50}, {k};" for k in range(n))
        inits = "\n".join(f"mov.u32 %r{k}, {k};" for k in range(51))
        f = function(f"{inits}\n{lines}\nst.global.u32 [1024], %r1;\nret;")
        return effort(lambda: Driver(Settings()).run(f.module, "const-fold"))

    assert work(2000) < 4 * 1.5 * work(500)


def test_a_block_is_not_left_before_it_was_walked() -> None:
    """The latch is walked before the block behind the loop, whose branch falls with the counter:
    what that leads to reads a load that nobody has looked at yet. V goes, U must not."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; setp.ne.u32 %p3, %r1, 0; mov.u32 %r2, 0;
mov.u32 %r4, 1; setp.eq.u32 %p4, %r4, 2; @%p4 bra V;
H: setp.eq.u32 %p1, %r2, 0; @%p3 bra B;
add.u32 %r2, %r2, 1; setp.gt.u32 %p3, %r2, 3; bra H;
B: ld.global.u32 %r3, [%rd1]; @%p1 bra S;
ret;
S: setp.gt.u32 %p2, %r3, 5; @%p2 bra U;
st.global.u32 [%rd1], 1; ret;
U: st.global.u32 [%rd1], 2; ret;
V: st.global.u32 [%rd1], 3; ret; }
"""
    for loaded, n, expected in ((4, 1, 1), (6, 1, 2), (6, 0, 6)):
        module = nvir.read_ptx(text)
        nvir.run_passes(module, "const-fold", verify=True)
        data = np.array([loaded], np.uint32)
        nvir.launch(module, "k", 1, 1, [data, n])
        assert data[0] == expected
