"""What post-RA software pipelining writes down, as the notes tell it; and the schedulers' names.

The notes have a record of 96 bytes for each instruction, a slot of 64 bytes for each stage and a
table of dependence rows at block * 24 + stage; here each is a class with the fields that are known.
A flags byte of the instruction says which way phase C goes: bit 4 with a stage in bits 5 to 7 (it
stands where the modulo schedule put it), bit 0 with a stage in bits 1 to 3 (it is carried across
iterations: by banks).

Source  notes on ptxas, its post-RA scheduler. Offsets of fields were taken from decompiled code and
        overlap in places (a stage's bitmap and its first instruction), so none is kept.
"""

from __future__ import annotations

import enum

import attrs

from nvir.assembler.postra.code import Reg
from nvir.ir.errors import NvirError, Unsupported
from nvir.ir.text.trace import Brief, step
from nvir.sm.profile import RegisterBanks

MODULO, CARRIED = 0x10, 0x01
STAGE_BITS = 7  # a stage has three bits


class Route(enum.Enum):
    """How phase C places an operation."""

    MODULO = "modulo"  # at the cycle that the modulo schedule gave it
    BANK = "bank"  # by register banks: the first cycle without a conflict
    TENSOR = "tensor"  # as MODULO, though carried: its register is of the tensor class
    NONE = "none"  # not of this stage, or of none: nobody scheduled it across iterations


def encode(route: Route, stage: int) -> int:
    """The flags byte. Raises Unsupported for a stage that three bits do not hold."""
    if not 0 <= stage <= STAGE_BITS:
        raise Unsupported(f"stage {stage} in a field of three bits")
    if route is Route.NONE:
        return 0
    return MODULO | stage << 5 if route is Route.MODULO else CARRIED | stage << 1


@step("PRA-05", "C bank class", "register", tell=lambda made, *a:
      Brief(f"class {made[0]}, offset {made[1]}", {"class": made[0], "offset": made[1]}))
def bank_class(register: int, banks: RegisterBanks) -> tuple[int, int]:
    """The class of a register among the seven, and its offset there."""
    return banks.classify(register)


@step("PRA-06", "C tensor gate", "banks.tensor_mode", "banks.tensor_blocked")
def tensor_gate(banks: RegisterBanks) -> bool:
    """Whether what is carried in the tensor class skips placement by banks: in mode 0 never, in 1
    unless blocked, in others always."""
    return banks.tensor_mode != 0 and not (banks.tensor_mode == 1 and banks.tensor_blocked)


@step("PRA-04", "C route", "flags", "stage", "register")
def decode(flags: int, stage: int, register: int | None, banks: RegisterBanks) -> Route:
    """The way of an operation with this flags byte, while `stage` is placed.

    register  the number of the register that it is carried in, None of one that is not
    Raises NvirError for what is no byte.
    """
    if not 0 <= flags <= 0xFF:
        raise NvirError(f"flags {flags}: not a byte")
    if flags & MODULO and flags >> 5 == stage:
        return Route.MODULO
    if flags & CARRIED and flags >> 1 & 7 == stage:
        tensor = register is not None and bank_class(register, banks)[0] == banks.TENSOR
        return Route.TENSOR if tensor and tensor_gate(banks) else Route.BANK
    return Route.NONE


@attrs.frozen
class SchedulingRecord:
    """Where an operation was put, and what it had to wait for.

    cycle                  of its iteration, from 0
    max_predecessor_cycle  the first cycle at which what it needs of its own iteration is there
    max_dependency_cycle   the same of all iterations: A.cycle + latency - distance * II
    flags                  the notes' byte; None where the stage does not fit it
    bank, offset           class of its first general register, of the notes' seven
    """

    cycle: int
    stage: int
    pipe: str
    route: Route
    max_predecessor_cycle: int
    max_dependency_cycle: int
    flags: int | None
    bank: int
    offset: int


@attrs.frozen
class StageSlot:
    """One stage of the kernel: its operations in order of issue, the registers it reads, writes."""

    stage: int
    operations: tuple[int, ...]
    reads: frozenset[Reg]
    writes: frozenset[Reg]


@attrs.frozen
class LivenessRow:
    """Of one register: the stages, as bits, that find a value in it and that leave one."""

    live_in: int
    live_out: int = 0


# ---------------------------------------------------------------- the schedulers


@attrs.frozen
class VariantRow:
    """A variant of the post-RA scheduler. `model` is what stands for it in nvir, "" if nothing."""

    name: str
    model: str
    reason: str = ""

    def require(self) -> str:
        """`model`; raises Unsupported, with the reason, where there is none."""
        if not self.model:
            raise Unsupported(f"the scheduler {self.name}: {self.reason}")
        return self.model


class Variant(enum.Enum):
    """The scheduler's variants that the notes name, of about twelve."""

    SOFTWARE_PIPELINE = VariantRow("SoftwarePipeline", "nvir.assembler.postra.schedule")
    LOOP = VariantRow("LoopScheduler", "nvir.sm.listsched", "a body in order, one iteration")
    TENSOR = VariantRow(
        "TensorScheduler", "nvir.assembler.postra.place", "the tensor gate of phase C"
    )
    DUAL_ISSUE = VariantRow(
        "DualIssueScheduler", "", "machines from sm_70 on issue one instruction a cycle and warp"
    )
    PREFETCH = VariantRow(
        "PrefetchScheduler", "", "what it prefetches, and when, is not in the notes"
    )

    @classmethod
    def named(cls, name: str) -> Variant:
        """The variant of that name, with or without "Scheduler". Raises Unsupported."""
        for v in cls:
            if name in (v.value.name, v.value.name.removesuffix("Scheduler")):
                return v
        raise Unsupported(
            f"the scheduler variant {name!r}: the notes name {', '.join(v.value.name for v in cls)}"
            " of about twelve"
        )
