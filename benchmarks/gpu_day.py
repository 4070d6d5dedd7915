"""The day with a GPU: interpreter, latencies and predictions against the hardware, one command.

    python -m benchmarks.gpu_day --minutes 25 [--out gpu_day] [--kernels 500] [--loops 40] [--small]

Needs the driver alone (libcuda, called through ctypes), numpy and attrs. Writes OUT.json (all
figures), OUT.md (one page) and OUT.profile.json (a machine profile with what was measured, for
--profile). In order, until the minutes are over; what was not done is said on the page:

    examples   every example of tests/interp/test_examples.py on both; the results compared
    random     random kernels of tests/kernels.py on both, bit by bit, but for those that read what
               they never wrote
    latencies  cycles from one operation to the next that needs it, and between independent ones;
               accesses of 4 to 16 bytes a thread, side by side
    loops      cycles an iteration of random loops as they are, after the preset `emission`, and
               tuned, against the simulated cycles of the code that nvir predicts of ptxas

Without a GPU it can be tried against the stand-in, whose clock counts steps:

    nvir exec -- python -m benchmarks.gpu_day --small
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import time
import types
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import nvir
import nvir.gpu
from nvir.gpu.driver import CtypesDriver
from nvir.ir.errors import LaunchError, NvirError, Unsupported
from nvir.sm.profile import PROFILES, profile

MAJOR, MINOR, CLOCK = 75, 76, 13  # CU_DEVICE_ATTRIBUTE_…
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# operation: (statement on the accumulator {x}, its register, row of the profile, unit of it)
OPERATIONS = {
    "prmt.b32": ("prmt.b32 {x}, {x}, %s1, 0x6520;", "r", "alu", "alu"),
    "shf.l.wrap.b32": ("shf.l.wrap.b32 {x}, {x}, %s1, %s2;", "r", "", ""),
    "mad.lo.s32": ("mad.lo.s32 {x}, {x}, %s1, %s2;", "r", "", ""),
    "popc.b32": ("popc.b32 {x}, {x};", "r", "", ""),
    "add.f32": ("add.rn.f32 {x}, {x}, %g1;", "f", "", ""),
    "fma.f32": ("fma.rn.f32 {x}, {x}, %g1, %g2;", "f", "fma", "fma"),
    "ex2.f32": ("ex2.approx.ftz.f32 {x}, {x};", "f", "xu", "xu"),
    "rsqrt.f32": ("rsqrt.approx.ftz.f32 {x}, {x};", "f", "", ""),
    "fma.f64": ("fma.rn.f64 {x}, {x}, %e1, %e2;", "d", "fp64", "fp64"),
    "fma.f16x2": ("fma.rn.f16x2 {x}, {x}, %s1, %s2;", "r", "", ""),  # ptxas: two units by turns
    "cvt.rn.f32.s32": ("cvt.rn.f32.s32 {x}, {x};", "r", "", ""),
    "shfl.idx": ("shfl.sync.idx.b32 {x}, {x}, {x}, 31, -1;", "r", "shuffle", ""),
    "ld.shared": ("ld.shared.u32 {x}, [{x}];", "r", "load_shared", ""),
    "ld.global": ("ld.global.ca.u64 {x}, [{x}];", "q", "load", ""),
}
# Accesses of a whole warp that lie side by side, each thread's at a place that holds its own
# address: (statement, register, bytes of a thread). What else is read is zero and is added up, for
# ptxas narrows a load of what nobody reads.
ACCESSES = {
    "ld.shared.b32": ("ld.shared.u32 {x}, [{x}];", "r", 4),
    "ld.shared.v2.b32": ("ld.shared.v2.u32 {{{x}, %t4}}, [{x}]; add.u32 %t8, %t8, %t4;", "r", 8),
    "ld.shared.v4.b32": ("ld.shared.v4.u32 {{{x}, %t4, %t5, %t6}}, [{x}];"
                         " add.u32 %t8, %t8, %t4; add.u32 %t5, %t5, %t6; add.u32 %t8, %t8, %t5;",
                         "r", 16),
    "ld.global.b32": ("ld.global.ca.u32 %t4, [{x}]; cvt.u64.u32 %c4, %t4; add.u64 {x}, {x}, %c4;",
                      "q", 4),
    "ld.global.b64": ("ld.global.ca.u64 {x}, [{x}];", "q", 8),
    "ld.global.v2.b64": ("ld.global.ca.v2.u64 {{{x}, %c4}}, [{x}]; add.u64 %c8, %c8, %c4;",
                         "q", 16),
    "ld.global.v4.b32": ("ld.global.ca.v4.u32 {{%t4, %t5, %t6, %t7}}, [{x}];"
                         " mov.b64 {x}, {{%t4, %t5}}; add.u32 %t8, %t8, %t6;"
                         " add.u32 %t8, %t8, %t7;", "q", 16),
    "st.shared.b32": ("st.volatile.shared.u32 [{x}], %s3;", "r", 4),
    "st.shared.v4.b32": ("st.volatile.shared.v4.u32 [{x}], {{%s3, %s3, %s3, %s3}};", "r", 16),
    "st.global.b32": ("st.volatile.global.u32 [{x}], %s3;", "q", 4),
    "st.global.v4.b32": ("st.volatile.global.v4.u32 [{x}], {{%s3, %s3, %s3, %s3}};", "q", 16),
}
CHAIN, TURNS = 64, 16
CLOCKS = 16  # where the clocks of each warp begin in the micro kernels' data, in words of 64 bits
LANES = 128  # where the addresses of ACCESSES begin in it, in words of 64 bits
UNWRITTEN = "left out, for it reads memory that it never wrote"


def micro(name: str, ways: int) -> str:
    """A kernel that times TURNS times CHAIN operations, `ways` independent ones at a time.

    ptxas makes one instruction of each for sm_90: equal operations that two of it could do at
    once, or that give back what an earlier one took, are not among OPERATIONS."""
    text, kind, stride = ACCESSES[name] if name in ACCESSES else (*OPERATIONS[name][:2], 0)
    registers = [f"%{kind}{k}" for k in range(ways)]
    body = "\n".join(text.format(x=registers[k % ways]) for k in range(CHAIN))
    width = {"r": "b32", "f": "b32", "d": "b64", "q": "b64"}[kind]
    starts = "\n".join(
        {"q": f"mov.b64 {x}, %rd1;", "d": f"ld.global.f64 {x}, [%rd1];"}.get(
            kind, f"ld.global.b32 {x}, [%rd3];"  # of each lane: shuffles of one value are folded
        ) for x in registers
    )
    first = "mov.b32 %r0, 0;" if name == "ld.shared" else ""
    if stride:  # each thread's accesses begin at its place, which lasts for all of its ways
        own = f"bar.sync 0; mov.u32 %t1, %laneid; mul.lo.u32 %t1, %t1, {stride}; "
        if kind == "r":
            own += "mov.u32 %t3, place; add.u32 %t1, %t1, %t3; st.shared.u32 [%t1], %t1;"
        else:
            own += f"cvt.u64.u32 %c3, %t1; add.u64 %c3, %c3, %rd1; add.u64 %c3, %c3, {8 * LANES};"
        place = "%t1" if kind == "r" else "%c3"
        starts = f"{own} mov.u32 %t8, 0; mov.u64 %c8, 0; " + " ".join(
            f"mov.b{32 if kind == 'r' else 64} {x}, {place};" for x in registers)
    stores = "\n".join(
        f"st.global.{width} [%rd1+{32 + 8 * k}], {x};" for k, x in enumerate(registers)
    )
    if stride:
        stores += "st.global.u32 [%rd1+16], %t8; st.global.u64 [%rd1+24], %c8;"
    return f"""{HEAD}
.shared .align 16 .b32 place[128];
.visible .entry k(.param .u64 out)
{{
 .reg .pred %p; .reg .b32 %r<9>, %s<9>, %t<10>; .reg .f32 %f<9>, %g<9>; .reg .f64 %d<9>, %e<9>;
 .reg .b64 %rd<9>, %q<9>, %c<9>;
 ld.param.u64 %rd1, [out];
 mov.u32 %t2, %laneid; mul.wide.u32 %rd2, %t2, 4; add.s64 %rd3, %rd1, %rd2;
 ld.global.b32 %s1, [%rd1+8]; ld.global.b32 %s2, [%rd1+12];
 ld.global.f32 %g1, [%rd1+16]; ld.global.f32 %g2, [%rd1+20];
 ld.global.f64 %e1, [%rd1+16]; ld.global.f64 %e2, [%rd1+24];
 mov.b32 %s3, 0; st.shared.b32 [place], %s3;
 {starts}
 {first}
 mov.u32 %t1, 0;
 bar.sync 0;
 mov.u64 %c1, %clock64;
L:
 .pragma "nounroll";
 {body}
 add.u32 %t1, %t1, 1; setp.lt.u32 %p, %t1, {TURNS}; @%p bra L;
 bar.sync 0;
 mov.u64 %c2, %clock64;
 {stores}
 mov.u32 %t3, %tid.x; shr.u32 %t3, %t3, 5; mul.wide.u32 %rd4, %t3, 16; add.s64 %rd5, %rd1, %rd4;
 st.global.u64 [%rd5+{8 * CLOCKS}], %c1; st.global.u64 [%rd5+{8 * CLOCKS + 8}], %c2;
 ret;
}}"""


def cycles(name: str, ways: int, threads: int) -> float:
    """Cycles an operation and warp of one sub-partition; of one thread's chain with one way."""
    data = np.zeros(LANES + 64, np.uint64)
    if name.startswith("ld.global"):  # pointers to themselves
        buffer = nvir.DeviceArray(data)
        data[0] = buffer.ptr
        words = ACCESSES[name][2] // 8 if name in ACCESSES else 1
        for k in range(LANES, LANES + 32 * words, max(words, 1)):  # none for 4 bytes: zeros
            data[k] = buffer.ptr + 8 * k
    nvir.gpu.launch(nvir.read_ptx(micro(name, ways)), "k", 1, threads, [data])
    clocks = data[CLOCKS:CLOCKS + threads // 16]  # warps neither start nor end together
    return float(clocks[1::2].max() - clocks[::2].min()) / (TURNS * CHAIN)


def loop_text(seed: int, clocked: bool = True) -> str:
    """A random loop of arithmetic and, in every second one, a load of a row that it walks along."""
    from benchmarks.simulate import FLOATS, INTEGERS
    from benchmarks.simulate import OPERATIONS as ARITHMETIC

    rng = random.Random(seed)
    body = []
    if seed % 2:
        body += ["ld.global.f32 %f7, [%rd4];", "add.s64 %rd4, %rd4, 128;",
                 "fma.rn.f32 %f1, %f7, %f2, %f1;"]
    for _ in range(rng.randint(2, 12)):
        f, g, h = rng.sample(FLOATS, 3)
        i, j, k = rng.sample(INTEGERS, 3)
        body.append(rng.choice(ARITHMETIC).format(f=f, g=g, h=h, i=i, j=j, k=k))
    places = [*((f, "f32") for f in FLOATS), *((i, "u32") for i in INTEGERS)]
    loads = "\n".join(f" ld.global.{t} {r}, [%rd2+{4 * k}];" for k, (r, t) in enumerate(places))
    stores = "\n".join(f" st.global.{t} [%rd2+{4 * k}], {r};" for k, (r, t) in enumerate(places))
    start, end = ("mov.u64 %c1, %clock64;", "mov.u64 %c2, %clock64; sub.s64 %c1, %c2, %c1;"
                  " st.global.u64 [%rd2+120], %c1;") if clocked else ("", "")
    lines = "\n ".join(body)
    return f"""{HEAD}
.visible .entry k(.param .u64 p, .param .u32 n)
{{
 .reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<9>, %c<4>;
 ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1;
 mov.u32 %r3, %tid.x; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd4, %rd2, %rd3;
{loads}
 mov.u32 %r2, 0;
 {start}
L:
 {lines}
 add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
 {end}
{stores}
 ret;
}}"""


ITERATIONS = 256
LEVEL = "l2"  # where the prediction has the loads of loops hit


def timed(module: Any) -> float:
    data = np.zeros(32 * (ITERATIONS + 2), np.float32)
    nvir.gpu.launch(module, "k", 1, 32, [data, np.uint32(ITERATIONS)])
    return float(data[30:32].view(np.uint64)[0]) / ITERATIONS


def predicted(module: Any, machine: Any) -> float | None:
    """The cycles of one warp for an iteration of the source's loop in the code that nvir predicts
    of ptxas, its copies and all; loads take what they take at LEVEL."""
    from nvir.assembler.body import predicted_body
    from nvir.assembler.unroll.decide import unroll_decisions
    from nvir.assembler.unroll.decision import copies
    from nvir.ir.loops import natural_loops
    from nvir.report.real import machine_loop
    from nvir.sm.simulate.body import body_stream
    from nvir.sm.simulate.engine import throughput

    function = module.functions[0]
    function.analyze_cfg()
    (loop,) = natural_loops(function)
    decided = unroll_decisions(function, machine.capability)
    factors = copies([loop], {b.name: d for b, d in decided.items()})
    body = predicted_body(function, machine, factors, timed=True)
    found = machine_loop(body, loop, machine)
    if found is None:
        return None
    stream = body_stream(body, machine, found[0])
    return float(throughput(stream, warps=1, iterations=8, memory=LEVEL)) / found[1]


def reads_unwritten(module: Any, given: Any) -> bool:
    """Whether a kernel loads shared or local memory that no thread wrote: its result is open."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in given.args]
    try:
        nvir.launch(module, "k", given.grid, given.block, args, given.dynamic_smem,
                    check=("bounds", "uninit"))
    except LaunchError:
        return True
    return False


class GpuDay:
    """The parts of the day, each with its figures in `found`."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.end = given, time.monotonic() + 60 * given.minutes
        self.found: dict[str, Any] = {"not done": []}
        self.driver = CtypesDriver()
        self.call("cuInit", 0)
        device = self.call("cuDeviceGet", 0)
        self.call("cuDevicePrimaryCtxRetain", device)  # else each launch would make it anew
        capability = 10 * self.call("cuDeviceGetAttribute", MAJOR, device)
        capability += self.call("cuDeviceGetAttribute", MINOR, device)
        known = [int(p[3:]) for p in PROFILES if p[3:].isdigit()]
        self.machine = profile(f"sm_{max(k for k in known if k <= capability)}")
        self.found["device"] = {
            "capability": capability, "profile": self.machine.name,
            "clock_khz": self.call("cuDeviceGetAttribute", CLOCK, device),
            "driver": self.call("cuDriverGetVersion"),
        }

    def call(self, name: str, *arguments: Any) -> Any:
        code, *values = getattr(self.driver, name)(*arguments)
        if code:
            raise NvirError(f"{name} gave error {code}")
        return values[0] if values else None

    def over(self, part: str, left: int) -> bool:
        """Whether the time is over; then the page says what was left out."""
        if time.monotonic() < self.end:
            return False
        self.found["not done"].append(f"{part}: {left}, for the minutes were over")
        return True

    # -------------------------------------------------------------- the parts

    def examples(self) -> None:
        without_test_tools()
        from tests.gpu import test_examples_gpu as examples

        cases = [(p.id, *p.values) for p in examples.cases()]
        cases = cases[:: max(len(cases) // 4, 1)] if self.given.small else cases
        rows: dict[str, str] = {}
        for k, (name, function, case) in enumerate(cases):
            if self.over("examples", len(cases) - k):
                break
            given = {"rng": np.random.default_rng(7)} if _takes_rng(function) else {}
            with mock.patch.object(nvir, "launch", examples.launch_for(function)):
                try:
                    function(**given, **case)
                    rows[name] = "same"
                except Unsupported as e:
                    rows[name] = f"not done: {e}"
                except LaunchError as e:
                    word = "not done" if "cuModuleLoad" in str(e) else "failed"
                    rows[name] = f"{word}: {str(e).splitlines()[0]}"
                except AssertionError as e:
                    rows[name] = f"differs: {str(e).strip()[:300]}"
        self.found["examples"] = rows

    def random(self) -> None:
        without_test_tools()
        from tests import equivalence
        from tests.kernels import random_kernel

        rows: dict[str, str] = {}
        for seed in range(self.given.kernels):
            if self.over("random kernels", self.given.kernels - seed):
                break
            text = random_kernel(seed)
            module = nvir.read_ptx(text)
            before = equivalence.behaviour(module, "k", seed)
            if before.error or before.given is None:
                rows[str(seed)] = "nothing to compare"
                continue
            if reads_unwritten(module, before.given):
                rows[str(seed)] = UNWRITTEN
                continue
            try:
                with mock.patch.object(nvir, "launch", nvir.gpu.launch):
                    after = equivalence.run(module, "k", before.given, seed=seed)
            except NvirError as e:
                rows[str(seed)] = f"failed: {str(e).splitlines()[0]}"
                continue
            approximate = ".approx" in text or "tanh" in text
            if before.buffers == after.buffers:
                rows[str(seed)] = "same"
            elif after.error:
                rows[str(seed)] = f"failed: {after.error.splitlines()[0]}"
            else:
                rows[str(seed)] = "differs, approximate" if approximate else "differs"
        self.found["random"] = rows

    def latencies(self) -> None:
        rows = {}
        names = [*OPERATIONS, *ACCESSES]
        for k, name in enumerate(names):
            if self.over("latencies", len(names) - k):
                break
            try:
                rows[name] = {
                    "latency": round(cycles(name, 1, 32), 2),
                    "interval": round(cycles(name, 4, 512) / 4, 2),
                }
            except NvirError as e:
                self.found["not done"].append(f"latency of {name}: {str(e).splitlines()[0]}")
        self.found["latencies"] = rows

    def loops(self) -> None:
        from nvir.passes.presets_loops import PRESETS

        rows = []
        for seed in range(self.given.loops):
            if self.over("loops", self.given.loops - seed):
                break
            row: dict[str, Any] = {"seed": seed}
            try:
                plain = nvir.read_ptx(loop_text(seed))
                row["predicted"] = predicted(nvir.read_ptx(loop_text(seed, False)), self.machine)
                row["as it is"] = round(timed(plain), 2)
                piped = nvir.read_ptx(loop_text(seed))
                nvir.run_passes(piped, PRESETS["emission"], profile=self.machine)
                row["pipelined"] = round(timed(piped), 2)
                row["tuned"] = round(timed(self.tuned(seed)), 2)
            except NvirError as e:
                row["failed"] = str(e).splitlines()[0]
            rows.append(row)
        self.found["loops"] = rows

    def tuned(self, seed: int) -> Any:
        from nvir import toolchain
        from nvir.tune.search import tune, tuned

        module = nvir.read_ptx(loop_text(seed))
        judge: Any = "sass" if toolchain.available("ptxas", "nvdisasm") else "model"
        tuned(module, tune(module, self.machine, self.machine.name, judge=judge), self.machine)
        return module

    # ------------------------------------------------------------ what is left

    def measured_profile(self) -> dict[str, Any]:
        """A profile that extends the device's with the measured rows; their other figures stay."""
        from nvir.sm.profile_file import _builtin

        base, source = _builtin(self.machine.name), "measured by benchmarks.gpu_day"
        out: dict[str, Any] = {
            "title": f"{self.machine.name} as measured", "extends": self.machine.name,
            "sources": {**base["sources"], "measured by benchmarks.gpu_day": "this file"},
            "latency": {}, "units": {},
        }
        for name, row in self.found["latencies"].items():
            if name in ACCESSES:
                continue
            key, unit = OPERATIONS[name][2:]
            latency = max(round(row["latency"]), 1)
            if key in base["latency"]:
                old = base["latency"][key]
                to = {k: latency if k in (key, "any") else v for k, v in old["to"].items()}
                new = {**old, "to": to, "src": source}
                if "levels" in old:
                    new["levels"] = {**old["levels"], "l1": latency}
                out["latency"][key] = new
            if unit in base["units"]:
                interval = max(round(row["interval"]), 1)
                out["units"][unit] = {**base["units"][unit], "interval": interval, "src": source}
        return out

    def page(self) -> str:
        """The figures in one page of Markdown."""
        found, device = self.found, self.found["device"]
        lines = [
            "# A day with a GPU", "",
            f"Compute capability {device['capability'] / 10}, profile {device['profile']}, driver "
            f"{device['driver']}, clock {device['clock_khz'] / 1000:g} MHz.", "",
        ]
        for part in ("examples", "random"):
            count = Counter(v.split(":")[0] for v in found.get(part, {}).values())
            lines.append(f"- {part}: " + (", ".join(f"{n} {k}" for k, n in count.items()) or "-"))
            lines += [f"    - {k}: {v}" for k, v in found.get(part, {}).items()
                      if v.startswith(("differs", "failed"))]
        lines += ["", "| operation | latency | interval | profile's latency |", "|---|---|---|---|"]
        for name, row in found.get("latencies", {}).items():
            own = self.machine.latencies.get(OPERATIONS.get(name, ("",) * 4)[2])
            shown = "" if own is None else own.to.get(OPERATIONS[name][2], own.to.get("any", ""))
            lines.append(f"| {name} | {row['latency']} | {row['interval']} | {shown} |")
        lines += ["", f"| loop | predicted, loads at {LEVEL.upper()} | as it is | pipelined | "
                  "tuned |", "|---|" + "---|" * 4]
        for row in found.get("loops", []):
            cells = (row.get(k, row.get("failed", "")) for k in
                     ("seed", "predicted", "as it is", "pipelined", "tuned"))
            lines.append("| " + " | ".join("" if c is None else str(c) for c in cells) + " |")
        lines += ["", "Not done:", "", *(f"- {x}" for x in found["not done"] or ["nothing"]), ""]
        return "\n".join(lines)


def _takes_rng(function: Any) -> bool:
    return "rng" in function.__code__.co_varnames


def without_test_tools() -> None:
    """Make pytest and hypothesis importable where they are not installed: only marks are used."""
    if importlib.util.find_spec("hypothesis") is None:
        names = ("hypothesis", "hypothesis.strategies")
        sys.modules.update({n: mock.MagicMock() for n in names if n not in sys.modules})
    if importlib.util.find_spec("pytest") is not None or "pytest" in sys.modules:
        return

    def mark(name: str) -> Any:
        def decorate(*args: Any, **_: Any) -> Any:
            if len(args) == 1 and callable(args[0]):
                return args[0]

            def keep(function: Any) -> Any:
                marks = [*getattr(function, "pytestmark", []),
                         types.SimpleNamespace(name=name, args=args)]
                function.pytestmark = marks
                return function

            return keep

        return decorate

    marks = type("Marks", (), {"__getattr__": lambda self, name: mark(name)})
    stub: Any = types.ModuleType("pytest")
    stub.mark, stub.fixture = marks(), lambda function: function
    stub.param = lambda *values, id="", marks=(): types.SimpleNamespace(values=values, id=id)
    stub.MonkeyPatch = object
    sys.modules["pytest"] = stub


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--out", default="gpu_day")
    parser.add_argument("--kernels", type=int, default=500)
    parser.add_argument("--loops", type=int, default=40)
    parser.add_argument("--small", action="store_true", help="a few of each, to try it")
    given = parser.parse_args()
    if given.small:
        given.kernels, given.loops = 4, 2
    try:
        day = GpuDay(given)
    except NvirError as e:
        print(f"skipped: {e}")
        return 0
    for part in (day.examples, day.random, day.latencies, day.loops):
        started = time.monotonic()
        part()
        print(f"{part.__name__}: {time.monotonic() - started:.0f} s", flush=True)
    out = Path(given.out)
    measured = day.measured_profile()
    out.with_suffix(".profile.json").write_text(json.dumps(measured, indent=1))
    profile(str(out.with_suffix(".profile.json")))  # it must be one
    out.with_suffix(".json").write_text(json.dumps(day.found, indent=1))
    page = day.page()
    out.with_suffix(".md").write_text(page)
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
