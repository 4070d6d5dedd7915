"""A first estimate of the registers that the assembler will use, and where.

What it models, of what ptxas does between the PTX and its registers:

    constant bank   kernel parameters, literals, addresses of variables, %ntid and %nctaid are
                    operands there: they take no register, nor do copies or cvta of them
    copies          a copy shares the register of what it copies
    scheduling      loads move up within their block, so that their latency is hidden; what
                    nothing waits for moves down: each block is list-scheduled by critical path
    restraint       that takes no block beyond HOIST_LIMIT registers which can do with less in
                    its own order
    reserve         RESERVE more than the largest number of live registers; with calls at
                    least what the calling convention sets aside

Not modelled: unrolling, the uniform registers of later machines, spilling, alignment of
vectors. It is an estimate; the allocator will take its place.

Method   List scheduling with coarse latencies, then the backward walk of
         `analysis.pressure` over the new order.
Cost     n log n in the instructions of a block.
Fit      RESERVE and HOIST_LIMIT are the best constants over 209 kernels of nvcc (examples,
         CUB, CUTLASS, llama.cpp) against `ptxas -v`: within 2 registers on 45 %, where MaxLive
         as written plus 2 has 32 %; benchmarks/pressure.py prints the figures. Linear fits on
         more facts (loads, calls, divisions, sizes) gain nothing under cross-validation.
"""

from __future__ import annotations

import heapq

import attrs

from nvir.analysis.liveness import Liveness, liveness
from nvir.analysis.pressure import width
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.types import PRED
from nvir.ir.values import SpecialRegister, Value

RESERVE = 5
HOIST_LIMIT = 28  # up to here more registers cost no occupancy: 32 a thread fill every SM
CALL_REGISTERS = 24  # R0 to R23 are the callee's under the calling convention
MAX_REGISTERS = 255

# Cycles until a result can be used, coarse and relative: what counts is the order they give.
_GLOBAL, _SHARED, _MATRIX, _DOUBLE, _SPECIAL, _PLAIN = 12, 6, 8, 6, 14, 4
_SLOW = frozenset(("div", "rem", "sqrt", "rcp", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh"))


@attrs.frozen(eq=False)
class RegisterEstimate:
    """What the assembler will use.

    registers  a thread
    max_live   of the assembler's order, as far as it is modelled
    peak       the instruction at which most are live, the first in the text; None of an empty
               function
    counts     live registers at each instruction in that order
    """

    registers: int
    max_live: int
    peak: Instruction | None
    counts: dict[Instruction, int]


def estimate_registers(function: Function, live: Liveness | None = None) -> RegisterEstimate:
    """The estimate for one function. `live` saves work where it is known."""
    if not function.blocks:
        return RegisterEstimate(RESERVE, 0, None, {})
    live = live if live is not None else liveness(function)
    homes = _homes(function)
    counts: dict[Instruction, int] = {}
    caps: dict[Block, int] = {}
    for block in function.rpo:
        _count(schedule(block), block, live, homes, counts)
        hoisted = max((counts[i] for i in _code(block)), default=0)
        if hoisted > HOIST_LIMIT:
            written: dict[Instruction, int] = {}
            _count(_code(block), block, live, homes, written)
            caps[block] = max(HOIST_LIMIT, min(hoisted, max(written.values())))
    return _judge(function, counts, caps)


def _judge(
    function: Function, counts: dict[Instruction, int], caps: dict[Block, int]
) -> RegisterEstimate:
    """The estimate from the counts of each block's schedule and what the blocks are held to."""
    peak, best, most, calls = _first(function), (0, 0), 0, False
    for block in function.blocks:
        cap = caps.get(block, MAX_REGISTERS)
        for i in block:
            calls = calls or i.form.is_call
            n = counts.get(i)
            if n is None:
                continue
            held = min(n, cap)
            if (held, n) > best:  # of those that are held down, the one that is most
                best, peak = (held, n), i
            counts[i] = held
            most = max(most, held)
    registers = max(most + RESERVE, CALL_REGISTERS if calls else 0)
    return RegisterEstimate(min(registers, MAX_REGISTERS), most, peak, counts)


def live_at(function: Function, instruction: Instruction, live: Liveness) -> list[Value]:
    """The values that are live at an instruction in the schedule, in the order of definition.

    They may be more than the estimate's count, where that is held down.
    """
    block = instruction.block
    if block is None or instruction.form.is_phi:
        raise ValueError("an instruction that stands in a block, and no phi, is needed")
    held = _count(schedule(block), block, live, _homes(function), {}, instruction)
    # A set has no order that two runs share; what people read must have one.
    defined = (r for i in function.instructions() for r in i.results)
    rank = {v: k for k, v in enumerate(defined)}
    return sorted((v for v in held if width(v.type)), key=lambda v: rank.get(v, -1))


def _first(function: Function) -> Instruction | None:
    return next(function.instructions(), None)


def _code(block: Block) -> list[Instruction]:
    return [i for i in block if not i.form.is_phi]


# ------------------------------------------------------------ what takes a register


def _homes(function: Function) -> dict[Value, Value | None]:
    """For values that need no register of their own: whose they share, None for no register."""
    kernel = function.kind == "entry"
    homes: dict[Value, Value | None] = {}
    for block in function.rpo:
        i = block.first
        while i is not None:
            f = i.form
            if f.guard is None and not f.is_phi:
                if f.name in ("mov", "cvta"):
                    if len(i._operands) == 1 and i._results is None:
                        _share(i, homes)
                elif f.name == "ld" and kernel and f.space.startswith("param"):
                    for r in i.results:
                        homes[r] = None
            i = i.next
    return homes


def _share(i: Instruction, homes: dict[Value, Value | None]) -> None:
    """A copy: of a constant, of what is in the constant bank, or of a register as wide."""
    v = i._operands[0]
    if v.is_tracked:
        home = homes.get(v, v)
        if home is None or home.type.bits == i.type.bits:
            homes[i] = home
    elif not isinstance(v, SpecialRegister) or str(v.name).startswith(("%ntid", "%nctaid")):
        homes[i] = None


def _count(
    order: list[Instruction], block: Block, live: Liveness, homes: dict[Value, Value | None],
    counts: dict[Instruction, int], until: Instruction | None = None,
) -> set[Value]:  # fmt: skip
    """Live registers at each instruction of a block in the given order.

    Stops at `until` and returns what its count is made of.
    """
    alive: set[Value] = set()
    registers = 0
    for v in live.live_out_values(block):
        home = homes.get(v, v)
        if home is not None and home not in alive:
            alive.add(home)
            registers += width(home.type)
    for i in reversed(order):
        most = registers
        behind = alive | set(i.results) if i is until else alive
        for r in i.results:
            if r in alive:
                alive.discard(r)
                registers -= width(r.type)
            elif r not in homes:
                most += width(r.type)
        for v in i._operands:
            if v.is_tracked and v.type is not PRED:
                home = homes.get(v, v)
                if home is not None and home not in alive:
                    alive.add(home)
                    registers += width(home.type)
        counts[i] = most if most > registers else registers
        if i is until:
            return behind if most > registers else alive
    return alive


# ------------------------------------------------------------ the assembler's order


def _latency(i: Instruction) -> int:
    f = i.form
    name = f.name
    if f.reads:
        if f.space.startswith("param"):
            return 1
        if f.space == "const":
            return _PLAIN
        return _SHARED if f.space.startswith("shared") or name == "ldmatrix" else _GLOBAL
    if name.startswith("shfl"):
        return _SHARED
    if "mma" in name:
        return _MATRIX
    if name in _SLOW:
        return _SPECIAL
    return _DOUBLE if f.type is not None and f.type.name == "f64" else _PLAIN


def schedule(block: Block) -> list[Instruction]:
    """The instructions of a block without its phis, in the order of a critical-path list schedule.

    Operands come first, stores and loads that may meet keep their order, and nothing passes a
    barrier, a call or whatever else has a place of its own.
    """
    code = _code(block)
    n = len(code)
    if n < 3:
        return code
    below, waits = _dependences(code)
    height = [0] * n
    for k in range(n - 1, -1, -1):
        best = 0
        for c, latency in below[k]:
            h = latency + height[c]
            if h > best:
                best = h
        height[k] = best
    ready = [(-height[k], k) for k in range(n) if not waits[k]]
    heapq.heapify(ready)
    later: list[tuple[int, int]] = []
    earliest = [0] * n
    order: list[Instruction] = []
    time = 0
    while ready or later:
        while later and later[0][0] <= time:
            k = heapq.heappop(later)[1]
            heapq.heappush(ready, (-height[k], k))
        if not ready:
            time = later[0][0]
            continue
        k = heapq.heappop(ready)[1]
        order.append(code[k])
        for c, latency in below[k]:
            at = time + latency
            if at > earliest[c]:
                earliest[c] = at
            waits[c] -= 1
            if not waits[c]:
                heapq.heappush(later, (earliest[c], c))
        time += 1
    return order


def _dependences(code: list[Instruction]) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """For each instruction (successor, latency) pairs, and how many predecessors it has."""
    number = {i: k for k, i in enumerate(code)}
    below: list[list[tuple[int, int]]] = [[] for _ in code]
    waits = [0] * len(code)

    def edge(a: int, b: int, latency: int) -> None:
        if a >= 0:
            below[a].append((b, latency))
            waits[b] += 1

    fence = store = -1
    since_fence: list[int] = []
    loads: list[int] = []
    for k, i in enumerate(code):
        f = i.form
        for v in i._operands:
            d = v.definer
            if d is not None:
                source = number.get(d)
                if source is not None and source < k:
                    edge(source, k, _latency(d))
        if f.terminator:
            for a in range(k):
                if not below[a]:
                    edge(a, k, 0)
            continue
        if f.sync or f.is_call or f.pinned or f.convergent:
            for a in since_fence:
                edge(a, k, 0)
            edge(fence, k, 0)
            fence, store, since_fence, loads = k, -1, [], []
        elif f.writes:
            for a in loads:
                edge(a, k, 0)
            edge(store, k, 0)
            edge(fence, k, 0)
            store, loads = k, []
            since_fence.append(k)
        elif f.reads and not f.invariant and not f.space.startswith("param"):
            edge(store, k, 0)
            edge(fence, k, 0)
            loads.append(k)
            since_fence.append(k)
    return below, waits
