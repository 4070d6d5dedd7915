"""Occupancy: how many blocks of a kernel run on one SM at a time, and what limits them.

The least of five limits, as NVIDIA's calculator has it:

    warps          warp slots of the SM over warps of the block; none if it has too many threads
    registers      each warp gets regs · 32 rounded up to the allocation unit, from the file of its
                   own sub-partition; the launch check rounds a block's warps up to those of all
    shared memory  static + dynamic + what the driver reserves, rounded up to the allocation unit;
                   none beyond the opt-in limit
    blocks         block slots
    barriers       named barriers, where the architecture counts them (from sm_90 on)

Cost     constant.
Source   cuda_occupancy.h of the CUDA 13.0 toolkit, with the opt-in shared memory limit and the
         default carve-out.
"""

from __future__ import annotations

import operator
import sys

import attrs

from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo
from nvir.ir.symbols import Variable
from nvir.ir.values import SymbolOffset, Value
from nvir.sm.profile import Limits, Profile, profile

# NVIDIA's bits of the limiting factors, in the order that `limiters` lists them
FACTORS = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8, "barriers": 16}

_UNBOUNDED = sys.maxsize


@attrs.frozen
class Need:
    """What has to shrink for one more block: `factor` is a limiter, `at_most` the bound to meet.

    `now` and `at_most` are registers a thread, bytes of shared memory a block (static and dynamic),
    threads a block, or barriers a block.
    """

    factor: str
    now: int
    at_most: int

    @property
    def fewer(self) -> int:
        return self.now - self.at_most


@attrs.frozen
class Occupancy:
    """Blocks on one SM. `limits` has the bound of each factor alone (None: no bound).

    `limiter_mask` is the calculator's own bit field. It names the same factors as `limiters`,
    except where barriers bind: the calculator then keeps what would have bound without them.
    """

    blocks_per_sm: int
    limiters: tuple[str, ...]
    limiter_mask: int
    limits: dict[str, int | None]
    regs_per_block: int  # allocated
    smem_per_block: int  # bytes, allocated, with what the driver reserves
    warps_per_block: int
    warps_per_sm: int
    max_warps_per_sm: int
    one_more: tuple[Need, ...]  # all of these together give one more block; empty: nothing does

    @property
    def fraction(self) -> float:
        """Resident warps over the SM's warp slots, 0 to 1."""
        return self.warps_per_sm / self.max_warps_per_sm

    @property
    def limiter(self) -> str:
        """The limiters as one text."""
        return ", ".join(self.limiters)

    @property
    def registers_for_one_more(self) -> int | None:
        """The most registers a thread with which at least one more block fits.

        None where registers are not all that stands in the way.
        """
        if len(self.one_more) == 1 and self.one_more[0].factor == "registers":
            return self.one_more[0].at_most
        return None


def occupancy(
    arch: str | Profile,
    regs_per_thread: int,
    block_threads: int,
    dynamic_smem: int = 0,
    *,
    static_smem: int = 0,
    barriers: int = 1,
) -> Occupancy:
    """The occupancy of a kernel on `arch` (a profile or its name).

    A launch that the hardware refuses (too many threads, registers or bytes) has 0 blocks. Sizes
    are bytes a block, `barriers` named barriers a block. Raises `NvirError` for a block without
    threads or a negative amount, and for an architecture without a profile.
    """
    limits = (arch if isinstance(arch, Profile) else profile(arch)).limits
    regs_per_thread = _amount("registers a thread", regs_per_thread, 0)
    block_threads = _amount("threads a block", block_threads, 1)
    shared_used = _amount("bytes of dynamic shared memory", dynamic_smem, 0)
    shared_used += _amount("bytes of static shared memory", static_smem, 0)
    barriers = _amount("barriers a block", barriers, 0)

    warps = -(-block_threads // limits.warp_size)
    shared = _shared_allocated(limits, shared_used)
    alone = {
        "warps": _blocks_by_warps(limits, block_threads),
        "registers": _blocks_by_registers(limits, regs_per_thread, warps),
        "shared memory": _blocks_by_shared(limits, shared),
        "blocks": limits.max_blocks_per_sm,
    }
    blocks = min(alone.values())
    mask = sum(FACTORS[factor] for factor, bound in alone.items() if bound == blocks)
    if limits.barriers_bind and barriers:
        alone["barriers"] = limits.barriers_per_sm // barriers
        blocks = min(blocks, alone["barriers"])
        if blocks == alone["barriers"]:
            mask |= FACTORS["barriers"]
    now = {
        "warps": block_threads,
        "registers": regs_per_thread,
        "shared memory": shared_used,
        "barriers": barriers,
    }
    return Occupancy(
        blocks_per_sm=blocks,
        limiters=tuple(factor for factor, bound in alone.items() if bound == blocks),
        limiter_mask=mask,
        limits={f: None if bound == _UNBOUNDED else bound for f, bound in alone.items()},
        regs_per_block=_registers_of_warp(limits, regs_per_thread) * warps,
        smem_per_block=shared,
        warps_per_block=warps,
        warps_per_sm=blocks * warps,
        max_warps_per_sm=limits.max_warps_per_sm,
        one_more=_needs(limits, alone, blocks + 1, now, warps),
    )


def max_registers(arch: str | Profile, block_threads: int, blocks: int = 1) -> int:
    """The most registers a thread with which `blocks` blocks of that size fit on an SM.

    What `.maxnreg` may ask for; 0 if registers cannot make them fit. Looks at registers alone.
    """
    limits = (arch if isinstance(arch, Profile) else profile(arch)).limits
    block_threads = _amount("threads a block", block_threads, 1)
    blocks = _amount("blocks", blocks, 1)
    return _max_registers(limits, -(-block_threads // limits.warp_size), blocks)


def _amount(what: str, amount: int, low: int) -> int:
    if isinstance(amount, bool):
        raise TypeError(f"{what}: an int is needed, not {amount!r}")
    number = operator.index(amount)
    if number < low:
        raise NvirError(f"{what}: {number} is less than {low}")
    return number


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _registers_of_warp(limits: Limits, regs: int) -> int:
    return _round_up(regs * limits.warp_size, limits.register_unit)


def _blocks_by_warps(limits: Limits, threads: int) -> int:
    if threads > limits.max_threads_per_block:
        return 0
    return limits.max_warps_per_sm // -(-threads // limits.warp_size)


def _blocks_by_registers(limits: Limits, regs: int, warps: int) -> int:
    """A warp's registers come from its sub-partition, so what is left over there is lost.

    The launch check assumes that a block loads all sub-partitions equally, and can refuse a block
    for which there would be room.
    """
    of_warp = _registers_of_warp(limits, regs)
    assumed = of_warp * _round_up(warps, limits.subpartitions)
    if assumed > limits.registers_per_block or regs > limits.accepted_registers_per_thread:
        return 0
    if of_warp == 0:
        return _UNBOUNDED
    of_partition = limits.registers_per_sm // limits.subpartitions
    return of_partition // of_warp * limits.subpartitions // warps


def _shared_allocated(limits: Limits, size: int) -> int:
    return _round_up(size + limits.shared_reserved_per_block, limits.shared_unit)


def _blocks_by_shared(limits: Limits, allocated: int) -> int:
    if allocated > limits.shared_per_block_optin + limits.shared_reserved_per_block:
        return 0
    return limits.shared_per_sm // allocated if allocated else _UNBOUNDED


def _max_registers(limits: Limits, warps: int, blocks: int) -> int:
    """The inverse of `_blocks_by_registers`."""
    of_partition = limits.registers_per_sm // limits.subpartitions
    warps_there = -(-blocks * warps // limits.subpartitions)
    checked = limits.registers_per_block // _round_up(warps, limits.subpartitions)
    of_warp = min(of_partition // warps_there, checked)
    of_warp -= of_warp % limits.register_unit
    return min(of_warp // limits.warp_size, limits.max_registers_per_thread)


def _max_shared(limits: Limits, blocks: int) -> int:
    """The inverse of `_blocks_by_shared`, in bytes that a kernel may use; negative: none."""
    allowed = min(
        limits.shared_per_sm // blocks,
        limits.shared_per_block_optin + limits.shared_reserved_per_block,
    )
    return allowed - allowed % limits.shared_unit - limits.shared_reserved_per_block


def _needs(
    limits: Limits, alone: dict[str, int], blocks: int, now: dict[str, int], warps: int
) -> tuple[Need, ...]:
    """What has to shrink until `blocks` blocks fit, or nothing if no change does it."""
    if blocks > limits.max_blocks_per_sm:
        return ()
    bounds = {
        "warps": min(
            limits.max_warps_per_sm // blocks * limits.warp_size, limits.max_threads_per_block
        ),
        "registers": _max_registers(limits, warps, blocks),
        "shared memory": _max_shared(limits, blocks),
        "barriers": limits.barriers_per_sm // blocks,
    }
    short = [factor for factor in bounds if alone.get(factor, blocks) < blocks]
    if "warps" in short and "registers" in short:
        # with fewer threads a block needs fewer registers: judge those of the smaller block
        fewer = bounds["warps"] // limits.warp_size
        bounds["registers"] = _max_registers(limits, fewer, blocks)
        if now["registers"] <= bounds["registers"]:
            short.remove("registers")
    if any(bounds[factor] < (factor in ("warps", "registers")) for factor in short):
        return ()
    return tuple(Need(factor, now[factor], bounds[factor]) for factor in short)


Named = tuple[list[Variable], list[Function]]  # by a function: `.shared` variables, functions


def static_shared_memory(kernel: Function, known: dict[int, Named] | None = None) -> int:
    """Bytes of the `.shared` variables that the kernel and what it calls name, aligned in order.
    `known` keeps what functions of one module name for the next kernel, by their ids; those that
    lead to no variable are then passed by."""
    return shared_layout(kernel, known)[1]


def shared_layout(
    kernel: Function, known: dict[int, Named] | None = None
) -> tuple[dict[Variable, int], int]:
    """Where these variables stand, and the end."""
    known = {} if known is None else known
    used: dict[int, Variable] = {}
    seen = {id(kernel)}
    work = [kernel]
    while work:
        f = work.pop()
        if id(f) not in known:
            known[id(f)] = _named(f)
        variables, functions = known[id(f)]
        used.update((id(v), v) for v in variables if id(v) not in used)
        work += (x for x in functions if id(x) not in seen)
        seen.update(map(id, functions))
    if not used:
        known.update(dict.fromkeys(seen, ([], [])))
    size = 0
    places: dict[Variable, int] = {}
    for v in used.values():
        align = v.align or max(v.element_type.bits // 8, 1)
        places[v] = -(-size // align) * align
        size = places[v] + v.size
    return places, size


def _named(function: Function) -> Named:
    variables: dict[int, Variable] = {}
    functions: dict[int, Function] = {}
    for i in function.instructions():
        values: list[Value] = list(i.operands)
        if isinstance(i.aux, CallInfo) and i.aux.callee is not None:
            values.append(i.aux.callee)
        for v in values:
            if v.is_tracked:
                continue
            s = v.symbol if isinstance(v, SymbolOffset) else v
            if isinstance(s, Variable) and s.space == "shared":
                variables.setdefault(id(s), s)
            elif isinstance(s, Function):
                functions.setdefault(id(s), s)
    return list(variables.values()), list(functions.values())


def blocks_text(n: int) -> str:
    """How many blocks share an SM, as people read it."""
    return f"{n} block{'s' * (n != 1)}/SM"


def bound_text(warps: int, fraction: float, limiter: str | None) -> str:
    """How many warps are resident of those that could be, and what limits them."""
    if fraction >= 1:
        return f"full occupancy, {warps} warps"
    most = f"{warps} of {round(warps / fraction)} warps ({fraction:.0%}), " if warps else ""
    return f"{most}limited by {limiter.replace(', ', ' and ')}" if limiter else most.rstrip(", ")
