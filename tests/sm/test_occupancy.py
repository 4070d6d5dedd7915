"""Occupancy is NVIDIA's, to the last block and bit of the limiter mask."""

from __future__ import annotations

import importlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import nvir
import nvir.sm
from nvir.cli.occupancy import command
from nvir.ir.errors import NvirError
from nvir.sm import occupancy
from nvir.sm.occupancy import max_registers, static_shared_memory
from nvir.sm.profile import PROFILES, profile

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT.parent / "shared" / "data" / "occupancy_golden.json"
ARCHS = PROFILES[:8]

launches = st.tuples(
    st.sampled_from(ARCHS),
    st.integers(0, 260),
    st.integers(1, 1100),
    st.one_of(st.integers(0, 240_000), st.sampled_from([0, 1024, 49152, 166912, 232448])),
    st.integers(0, 16),
)


def test_every_golden_row():
    """Blocks, limiting factors and allocations of the real calculator."""
    if not GOLDEN.exists():
        pytest.skip(f"{GOLDEN} is not there")
    rows = json.loads(GOLDEN.read_text())["rows"]
    assert len(rows) == 2400
    for arch, regs, block, dynamic, *expected in rows:
        got = occupancy(arch, regs, block, dynamic)
        mine = [got.blocks_per_sm, got.limiter_mask, got.regs_per_block, got.smem_per_block]
        assert mine == expected, (arch, regs, block, dynamic)


@pytest.mark.parametrize(
    ("arch", "regs", "block", "smem", "blocks", "mask", "limiters"),
    [
        # 40 registers: 1280 a warp, 12 warps a sub-partition, 48 over 8
        ("sm_80", 40, 256, 0, 6, 2, ("registers",)),
        # 33 registers are allocated as 40
        ("sm_80", 33, 256, 0, 6, 2, ("registers",)),
        ("sm_80", 32, 256, 0, 8, 3, ("warps", "registers")),
        # five warps: the file has room for 12, eight of them as one block of five and three over
        ("sm_80", 168, 160, 0, 2, 2, ("registers",)),
        # 17 warps of 3072: 52224 would fit 65536, but the launch check counts 20 warps
        ("sm_80", 96, 544, 0, 1, 2, ("registers",)),
        ("sm_80", 104, 544, 0, 0, 2, ("registers",)),
        # the last byte that may be asked for, and one more
        ("sm_80", 16, 32, 166_912, 1, 4, ("shared memory",)),
        ("sm_80", 16, 32, 166_913, 0, 4, ("shared memory",)),
        ("sm_75", 16, 32, 65_536, 1, 4, ("shared memory",)),
        ("sm_75", 16, 32, 65_537, 0, 4, ("shared memory",)),
        # no reserved kilobyte before sm_80
        ("sm_70", 16, 32, 0, 32, 8, ("blocks",)),
        ("sm_86", 16, 32, 0, 16, 8, ("blocks",)),
        ("sm_120", 16, 32, 0, 24, 24, ("blocks", "barriers")),
        # threads, registers beyond the hardware's
        ("sm_80", 16, 1024, 0, 2, 1, ("warps",)),
        ("sm_80", 16, 1025, 0, 0, 1, ("warps",)),
        ("sm_80", 256, 32, 0, 8, 2, ("registers",)),
        ("sm_80", 257, 32, 0, 0, 2, ("registers",)),
        ("sm_80", 0, 32, 0, 32, 8, ("blocks",)),
    ],
)
def test_cases_by_hand(arch, regs, block, smem, blocks, mask, limiters):
    got = occupancy(arch, regs, block, smem)
    assert (got.blocks_per_sm, got.limiter_mask, got.limiters) == (blocks, mask, limiters)


def test_static_and_dynamic_shared_memory_add_up():
    assert occupancy("sm_80", 32, 128, 20_000, static_smem=4_000) == occupancy(
        "sm_80", 32, 128, 24_000
    )


def test_shared_memory_is_rounded_with_the_reserved_kilobyte():
    assert occupancy("sm_80", 32, 128, 1).smem_per_block == 1152
    assert occupancy("sm_70", 32, 128, 1).smem_per_block == 256
    assert occupancy("sm_70", 32, 128, 0).smem_per_block == 0


def test_barriers_bind_from_sm_90_on():
    """64 barriers on an SM of sm_90, 24 on sm_120; older ones do not count them."""
    assert occupancy("sm_80", 16, 32, barriers=16).blocks_per_sm == 32
    few = occupancy("sm_90", 16, 32, barriers=16)
    assert (few.blocks_per_sm, few.limiters) == (4, ("barriers",))
    # the calculator keeps the block slots in its mask, although they no longer bind
    assert few.limiter_mask == 8 | 16
    assert occupancy("sm_120", 16, 32, barriers=2).blocks_per_sm == 12
    assert occupancy("sm_120", 16, 32, barriers=0).limiter_mask == 8


def test_what_one_more_block_takes():
    got = occupancy("sm_80", 40, 256)
    assert got.registers_for_one_more == 32
    both = occupancy("sm_80", 64, 256, 40_000)
    assert both.blocks_per_sm == 4
    assert {(n.factor, n.at_most) for n in both.one_more} == {
        ("registers", 48),
        ("shared memory", 32_512),
    }
    assert both.registers_for_one_more is None
    full = occupancy("sm_80", 16, 32)
    assert (full.one_more, full.registers_for_one_more) == ((), None)


@given(launches)
def test_needs_are_enough_and_no_stricter_than_needed(launch):
    """Meeting all needs gives a block more; missing one by a step does not."""
    arch, regs, block, smem, barriers = launch
    before = occupancy(arch, regs, block, smem, barriers=barriers)
    if not before.one_more:
        return
    asked = {"registers": regs, "warps": block, "shared memory": smem, "barriers": barriers}

    def blocks(amounts):
        return occupancy(
            arch,
            amounts["registers"],
            amounts["warps"],
            amounts["shared memory"],
            barriers=amounts["barriers"],
        ).blocks_per_sm

    met = {**asked, **{n.factor: n.at_most for n in before.one_more}}
    assert blocks(met) > before.blocks_per_sm
    for need in before.one_more:
        if (need.factor, need.at_most) != ("registers", 255):
            assert blocks({**met, need.factor: need.at_most + 1}) == before.blocks_per_sm


@given(launches)
def test_fewer_of_anything_never_costs_a_block(launch):
    arch, regs, block, smem, barriers = launch
    before = occupancy(arch, regs, block, smem, barriers=barriers).blocks_per_sm
    if regs:
        assert occupancy(arch, regs - 1, block, smem, barriers=barriers).blocks_per_sm >= before
    if block > 32:
        assert occupancy(arch, regs, block - 32, smem, barriers=barriers).blocks_per_sm >= before
    if smem:
        assert occupancy(arch, regs, block, smem - 1, barriers=barriers).blocks_per_sm >= before


@given(st.sampled_from(ARCHS), st.integers(1, 1024), st.integers(1, 16))
def test_max_registers_is_the_inverse(arch, block, blocks):
    """The register count that it names fits, the next one does not."""
    most = max_registers(arch, block, blocks)
    bound = occupancy(arch, most, block).limits["registers"]
    assert most == 0 or bound >= blocks
    if most < 255:
        assert occupancy(arch, most + 1, block).limits["registers"] < blocks


def test_a_profile_may_stand_for_its_name():
    assert occupancy(profile("sm_90"), 64, 256) == occupancy("sm_90a", 64, 256)
    assert occupancy("sm_80_notes", 64, 256) == occupancy("sm_80", 64, 256)


def test_the_function_is_not_shadowed_by_its_module():
    importlib.import_module("nvir.sm.occupancy")
    importlib.import_module("nvir.sm.profile")
    assert callable(nvir.sm.occupancy)
    assert callable(nvir.sm.profile)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("sm_80", -1, 32), "registers"),
        (("sm_80", 32, 0), "threads a block"),
        (("sm_80", 32, -32), "threads a block"),
        (("sm_80", 32, 32, -1), "dynamic"),
        (("sm_81", 32, 32), "sm_80"),
        (("volta", 32, 32), "all: sm_70, "),
    ],
)
def test_nonsense_is_refused_by_name(args, named):
    with pytest.raises(NvirError, match=named):
        occupancy(*args)


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError):
        occupancy("sm_80", 32.5, 32)
    with pytest.raises(TypeError):
        occupancy("sm_80", True, 32)


# -- against the header itself, compiled

_ORACLE = """
#include <stdio.h>
#include <limits.h>
#include "cuda_occupancy.h"
int main(void) {
  int major, minor, threads, regs, block, barriers;
  long sm, optin, reserved, dynamic, fixed;
  while (scanf("%d %d %d %ld %ld %ld %d %d %ld %ld %d", &major, &minor, &threads, &sm, &optin,
               &reserved, &regs, &block, &dynamic, &fixed, &barriers) == 11) {
    cudaOccDeviceProp p = {0};
    cudaOccFuncAttributes a = {0};
    cudaOccDeviceState s = {0};
    cudaOccResult r = {0};
    p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = threads; p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.warpSize = 32; p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = sm;
    p.numSms = 1; p.sharedMemPerBlockOptin = optin; p.reservedSharedMemPerBlock = reserved;
    a.maxThreadsPerBlock = INT_MAX; a.numRegs = regs; a.sharedSizeBytes = fixed;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; a.maxDynamicSharedSizeBytes = dynamic;
    a.numBlockBarriers = barriers; s.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, block, dynamic)) return 1;
    printf("%d %u %d %zu\\n", r.activeBlocksPerMultiprocessor, r.limitingFactors,
           r.allocatedRegistersPerBlock, r.allocatedSharedMemPerBlock);
  }
  return 0;
}
"""


def _header_folder() -> Path | None:
    try:
        import nvidia
    except ImportError:
        return None
    for root in nvidia.__path__:
        for header in Path(root).glob("*/include/cuda_occupancy.h"):
            return header.parent
    return None


def _random_launch(rng: random.Random) -> tuple[str, int, int, int, int, int]:
    arch = rng.choice(ARCHS)
    optin = profile(arch).limits.shared_per_block_optin
    return (
        arch,
        rng.choice([0, 8, 32, 33, 96, 104, 168, 255, 256, 257, rng.randint(0, 300)]),
        rng.choice([1, 32, 33, 160, 544, 1024, 1025, rng.randint(1, 1200)]),
        rng.choice([0, 0, 1, 1024, 49_152, optin, optin + 1, optin - 127, rng.randint(0, 240_000)]),
        rng.choice([0, 0, 1, 49_152, rng.randint(0, 50_000)]),
        rng.choice([0, 1, 1, 2, 5, 16, 40]),
    )


@pytest.mark.oracle
def test_agrees_with_the_compiled_header(tmp_path):
    """Random launches with edges: any barriers, static memory, registers and threads too many."""
    folder, compiler = _header_folder(), shutil.which("cc")
    if folder is None or compiler is None:
        pytest.skip("needs cuda_occupancy.h (extra `oracle`) and a C compiler")
    source, program = tmp_path / "oracle.c", tmp_path / "oracle"
    source.write_text(_ORACLE)
    subprocess.run([compiler, f"-I{folder}", source, "-o", program], check=True)
    rng = random.Random(7)
    launches = [_random_launch(rng) for _ in range(20_000)]
    lines = []
    for arch, regs, block, dynamic, static, barriers in launches:
        machine = profile(arch)
        limits = machine.limits
        numbers = (
            machine.capability // 10,
            machine.capability % 10,
            limits.max_threads_per_sm,
            limits.shared_per_sm,
            limits.shared_per_block_optin,
            limits.shared_reserved_per_block,
            regs,
            block,
            dynamic,
            static,
            barriers,
        )
        lines.append(" ".join(map(str, numbers)))
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True)
    assert done.returncode == 0
    for launch, line in zip(launches, done.stdout.splitlines(), strict=True):
        arch, regs, block, dynamic, static, barriers = launch
        got = occupancy(arch, regs, block, dynamic, static_smem=static, barriers=barriers)
        mine = (got.blocks_per_sm, got.limiter_mask, got.regs_per_block, got.smem_per_block)
        assert " ".join(map(str, mine)) == line, launch


# -- the command


def run(*args):
    return CliRunner().invoke(command, args)


def test_command_prints_limiter_needs_and_curve():
    done = run("--arch", "sm_80", "--regs", "40", "--block", "256")
    assert done.exit_code == 0
    assert "6 blocks/SM: 48 of 64 warps (75%), limited by registers" in done.output
    assert "at most 32 registers a thread (8 fewer)" in done.output
    marked = [line for line in done.output.splitlines() if line.lstrip().startswith(">")]
    assert [line.split() for line in marked] == [
        [">", "33", "to", "40", "6", "48", "75%", "registers"]
    ]


def test_command_writes_a_file(tmp_path):
    target = tmp_path / "o.txt"
    shown = run("--regs", "40", "--block", "256")
    written = run("--regs", "40", "--block", "256", "-o", str(target))
    assert (written.exit_code, written.output) == (0, "")
    assert target.read_text() == shown.output


def test_command_refuses_a_bad_profile_file(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"extends": "sm_80", "occupancy": {"warp_size": -1}}')
    done = run("--regs", "40", "--block", "256", "--profile", str(bad))
    assert done.exit_code == 1
    assert f"{bad}:1:36: error: profile key occupancy.warp_size: less than 1: -1" in done.output


def test_command_json_has_the_same_figures():
    done = run("--arch", "sm_90a", "--regs", "64", "--block", "384", "--json")
    got = json.loads(done.output)
    expected = occupancy("sm_90", 64, 384)
    assert got["arch"] == "sm_90"
    assert got["blocks_per_sm"] == expected.blocks_per_sm
    assert got["limiters"] == list(expected.limiters)
    assert got["one_more"] == [{"factor": "registers", "now": 64, "at_most": 56}]
    assert got["curve"][-1]["registers"] == 255
    blocks = [step["blocks_per_sm"] for step in got["curve"]]
    assert blocks == sorted(blocks, reverse=True)


def test_command_says_what_keeps_a_kernel_from_launching():
    done = run("--regs", "255", "--block", "1024", "--dynamic-smem", "300000")
    assert done.exit_code == 0
    assert "does not launch: too many registers a thread and bytes of shared memory" in done.output
    assert "to launch          at most 64 registers a thread (191 fewer) and" in done.output


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("--regs", "40"), "--block"),
        (("--regs", "256", "--block", "32"), "255"),
        (("--regs", "40", "--block", "0"), "1024"),
        (("--regs", "40", "--block", "32", "--dynamic-smem", "-1"), "--dynamic-smem"),
        (("--regs", "forty", "--block", "32"), "forty"),
        (("--regs", "40", "--block", "32", "--arch", "sm_81"), "nearest: sm_80"),
        (("--regs", "40", "--block", "32", "--barriers", "17"), "16"),
    ],
)
def test_command_nonsense_is_a_usage_error(args, named):
    done = run(*args)
    assert done.exit_code == 2
    assert named in done.output


def test_shared_memory_of_what_is_called_counts_once_for_each_kernel():
    """Also where an answer for one function is kept for the next."""
    module = nvir.read_ptx(b""".version 8.0
.target sm_80
.address_size 64
.shared .b8 a[6];
.shared .b32 b;
.func f() { .reg .b32 %r; mov.b32 %r, b; ret; }
.func g() { ret; }
.func h() { call f; call g; ret; }
.visible .entry k() { .reg .b32 %r; call g; mov.b32 %r, a; call h; call f; ret; }
.visible .entry e() { call g; ret; }
""")
    known = {}
    found = {str(f.name): static_shared_memory(f, known) for f in reversed(module.functions)}
    assert found == {"e": 0, "k": 12, "h": 4, "g": 0, "f": 4}
    assert found == {str(f.name): static_shared_memory(f) for f in module.functions}


def test_reports_of_one_module_look_at_each_function_once(monkeypatch):
    """With what they share; without it each looks at all that it leads to."""
    from nvir.report.model import Kept, report

    text = "".join(f".func f{n}() {{ {f'call f{n + 1};' if n < 19 else ''} ret; }}\n"
                   for n in reversed(range(20)))
    module = nvir.read_ptx(f".version 8.0\n.target sm_80\n.address_size 64\n{text}".encode())
    seen = []
    room = sys.modules["nvir.sm.occupancy"]  # nvir.sm has a function of this name
    look = room._named
    monkeypatch.setattr(room, "_named", lambda f: seen.append(f) or look(f))
    kept = Kept(module)
    names = [str(f.name) for f in module.functions]
    shared = [report(module, kernel=n, kept=kept) for n in names]
    assert len(seen) == 20
    assert shared == [report(module, kernel=n) for n in names]
    assert len(seen) == 20 + 210
