"""loop-vectorize-memory: neighbours become vector accesses where their addresses are aligned."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nvir
from nvir.passes.driver import Driver, Settings
from tests.passes.test_loop_version import BUFFER, HEAD, run

PAIRS = HEAD + """
  mov.u32 %r5, 0;
L:
  ld.global.f32 %f1, [%rd3];
  ld.global.f32 %f2, [%rd3+4];
  sub.f32 %f3, %f1, %f2;
  st.global.f32 [%rd2], %f3;
  st.global.f32 [%rd2+4], %f1;
  add.s64 %rd3, %rd3, 8;
  add.s64 %rd2, %rd2, 8;
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p1, %r5, %r1;
  @%p1 bra L;
  ret;
}
"""


def joined(text: str) -> tuple[nvir.Module, list[str]]:
    module = nvir.read_ptx(text)
    done = Driver(Settings(check=True)).run(module, "loop-vectorize-memory")
    names = [x.name for x in done.remarks]
    nvir.verify(module)
    return nvir.read_ptx(nvir.print_ptx(module)), names


def vectors(module: nvir.Module) -> list[str]:
    found = (i.form for i in module["k"].instructions())
    return sorted(f.spelling for f in found if {"v2", "v4"} & set(f.mods))


@pytest.mark.parametrize("p", [384, 388, 412])
@pytest.mark.parametrize("q", [400, 404, 512])
def test_pairs_are_vectors_where_both_addresses_are_aligned(p: int, q: int):
    module, names = joined(PAIRS)
    assert names == ["Joined"]
    assert vectors(module) == ["ld.global.v2.f32", "st.global.v2.f32"]
    assert run(module, 9, p, q, 0) == run(nvir.read_ptx(PAIRS), 9, p, q, 0)
    data = np.zeros(BUFFER // 4, np.float32)
    done = nvir.launch(
        module, "k", 1, 1, [data, np.uint32(9), np.int32(p), np.int32(q), np.int32(0)])
    fast = next(str(b.name) for b in module["k"].blocks
                if any(".v2" in i.form.spelling for i in b))
    aligned = p % 8 == 0 and q % 8 == 0
    assert done.block_counts["k"].get(fast, 0) == (9 if aligned else 0)


def offsets(*numbers: int) -> str:
    """Loads of words so far from their pointer, and a sum of them."""
    body = [f"ld.global.f32 %f1, [%rd3+{n}];\n  add.f32 %f2, %f2, %f1;" for n in numbers]
    return PAIRS[: PAIRS.index("  ld.global")] + "\n".join(body) + """
  st.global.f32 [%rd2], %f2;
  add.s64 %rd3, %rd3, 16;
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p1, %r5, %r1;
  @%p1 bra L;
  ret;
}
"""


@pytest.mark.parametrize(("text", "found"), [
    (offsets(0, 4, 8, 12), ["ld.global.v4.f32"]),
    (offsets(12, 4, 8, 0), ["ld.global.v4.f32"]),
    (offsets(0, 4, 8), ["ld.global.v2.f32"]),
    (offsets(4, 8, 12), ["ld.global.v2.f32"]),  # 8 and 12: of 4 and 8 none is aligned with others
    (offsets(4, 8), []),
    (offsets(0, 8), []),
    (offsets(0, 4).replace("%rd3, 16", "%rd3, 12"), []),
    (offsets(0, 4, 8, 12).replace("%rd3, 16", "%rd3, 24"), ["ld.global.v2.f32"] * 2),
    (offsets(0, 4).replace("ld.global", "ld.volatile.global"), []),
    (PAIRS.replace("ld.global.f32 %f2", "@%p1 ld.global.f32 %f2"), ["st.global.v2.f32"]),
    # a store between two loads that may write what the second reads
    (PAIRS.replace("ld.global.f32 %f2, [%rd3+4];", "st.global.f32 [%rd4], %f1;\n"
                   "  ld.global.f32 %f2, [%rd3+4];"), ["st.global.v2.f32"]),
    # one that writes what the second reads, and is nothing to the first
    (PAIRS.replace("ld.global.f32 %f2, [%rd3+4];", "st.global.f32 [%rd3+4], %f1;\n"
                   "  ld.global.f32 %f2, [%rd3+4];"), ["st.global.v2.f32"]),
    # between two stores a load of what the first may have written
    (PAIRS.replace("st.global.f32 [%rd2+4]", "ld.global.f32 %f4, [%rd4];\n"
                   "  st.global.f32 [%rd2+4]"), ["ld.global.v2.f32"]),
    (PAIRS.replace("  sub.f32", "  bar.sync 0;\n  sub.f32"),
     ["ld.global.v2.f32", "st.global.v2.f32"]),
    (PAIRS.replace("  ld.global.f32 %f2", "  bar.sync 0;\n  ld.global.f32 %f2"),
     ["st.global.v2.f32"]),
])
def test_what_is_joined(text: str, found: list[str]):
    module, names = joined(text)
    assert vectors(module) == found
    assert names == ["Joined" if found else "NotJoinedNothing"]
    plain = nvir.read_ptx(text)
    for q in (512, 516, 520):
        assert run(module, 5, 384, q, 640) == run(plain, 5, 384, q, 640)


@pytest.mark.parametrize(("line", "fits"), [
    ("mov.u32 %r6, %ctaid.x;", True),  # 4 · row · k: the row does not matter where k does
    ("mov.u32 %r6, %tid.x;", True),
    ("mov.u32 %r6, %tid.x;\n  mov.u32 %r3, %laneid;", False),  # no factor is the same for all
])
def test_rows_of_a_matrix_are_aligned_where_their_length_is(line: str, fits: bool):
    text = offsets(0, 4).replace(
        "  mov.u32 %r5, 0;", f"  {line}\n  mul.lo.s32 %r6, %r6, %r3;\n  mov.u32 %r5, 0;\n"
        "  mul.wide.s32 %rd5, %r6, 4;\n  add.s64 %rd3, %rd4, %rd5;")
    assert joined(text)[1] == ["Joined" if fits else "NotJoinedNothing"]


@pytest.mark.parametrize(("scale", "fits"), [(4, False), (8, True)])
def test_words_of_neighbouring_lanes_are_never_all_aligned(scale: int, fits: bool):
    text = offsets(0, 4).replace(
        "  mov.u32 %r5, 0;", f"  mov.u32 %r5, 0;\n  mov.u32 %r6, %tid.x;\n"
        f"  mul.wide.u32 %rd5, %r6, {scale};\n  add.s64 %rd3, %rd3, %rd5;")
    assert joined(text)[1] == ["Joined" if fits else "NotJoinedNothing"]


def test_what_is_known_to_be_aligned_needs_no_second_version():
    text = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<4>;
  mov.u32 %r1, 0;
L:
  and.b32 %r2, %r1, 1;
  mul.lo.s32 %r2, %r2, 8;
  ld.local.f32 %f1, [%r2];
  ld.local.f32 %f2, [%r2+4];
  add.f32 %f3, %f1, %f2;
  st.local.f32 [%r2], %f3;
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 9;
  @%p1 bra L;
  ret;
}
"""
    module, names = joined(text)
    assert names == ["Joined"]
    assert vectors(module) == ["ld.local.v2.f32"]
    assert len(module["k"].blocks) == len(nvir.read_ptx(text)["k"].blocks)


def test_random_loops_do_the_same_wherever_their_operands_lie():
    done = 0
    for seed in range(40):
        rng = random.Random(seed)
        lines = []
        for _ in range(rng.randint(2, 7)):
            base, at = rng.choice(("%rd2", "%rd3")), 4 * rng.randint(0, 4)
            if rng.random() < 0.6:
                lines.append(f"  ld.global.f32 %f{rng.randint(1, 6)}, [{base}+{at}];")
            else:
                lines.append(f"  st.global.f32 [{base}+{at}], %f{rng.randint(1, 6)};")
            if rng.random() < 0.3:
                lines.append(f"  add.f32 %f{rng.randint(1, 6)}, %f1, %f{rng.randint(1, 6)};")
        steps = [f"  add.s64 {x}, {x}, {8 * rng.randint(0, 3)};" for x in ("%rd2", "%rd3")]
        start = "".join(f"  cvt.rn.f32.u32 %f{k}, %r{k % 3 + 1};\n" for k in range(1, 7))
        text = HEAD + start + "  mov.u32 %r5, 0;\nL:\n" + "\n".join([*lines, *steps]) + """
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p1, %r5, %r1;
  @%p1 bra L;
  ret;
}
"""
        module, names = joined(text)
        done += names == ["Joined"]
        for _ in range(4):
            p, q = (rng.randrange(384, 448, 4) for _ in range(2))
            n = rng.randint(1, 6)
            assert run(module, n, p, q, 0) == run(nvir.read_ptx(text), n, p, q, 0), (seed, p, q)
    assert done > 5
