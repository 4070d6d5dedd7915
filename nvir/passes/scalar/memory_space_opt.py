"""Generic pointers that can point to one memory only become pointers to that memory.

    %g = addrspacecast ptr addrspace(3) @tile to ptr
    %p = getelementptr float, ptr %g, i32 %i         %p = getelementptr float,
    %x = load float, ptr %p                    ==>        ptr addrspace(3) @tile, i32 %i
                                                     %x = load float, ptr addrspace(3) %p

A generic access tests its address at run time, and may alias everything.

Method   Which space a pointer points to is found by optimistic data flow (`select.spaces.infer`),
         from casts, allocas, kernel parameters, through geps, phis and selects. Each of them
         whose space is known then gets a twin in it: geps, phis and selects anew on the twins
         of their operands, a cast for what begins a chain. Loads, stores, atomics, copies and
         comparisons take the twins; what needs a generic pointer (calls, stores of the pointer)
         keeps it. A generic pointer that a kernel takes points to global memory, as in
         CUDA, where a launch passes no other (option kernel-args).
Needs    SSA.
Keeps    blocks and edges. Every access.
Leaves   circles of generic pointers without other uses to dce; allocas as they are, whose
         accesses selection knows to be local.
Skips    pointers into the constant memory that are stored through (the error is another's).
Cost     Linear in the instructions that make or take pointers, times the data flow's rounds.
Source   LLVM's InferAddressSpaces and NVPTXLowerArgs; NVVM's memory-space-opt.
"""

from __future__ import annotations

import functools

import attrs

from nvir.analysis.callees import callee_name, memory_transfer
from nvir.ir import (
    Form,
    Function,
    Instruction,
    OpKind,
    PointerType,
    Variable,
    nvvm_form,
    pointer,
)
from nvir.ir.nvvm import declare
from nvir.ir.ssa.rewrite import discard
from nvir.ir.values import Argument, Constant, Undef, Value, constant, undef
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.select.spaces import GENERIC, GLOBAL, LOCAL, Spaces, infer

SPECIFIC = passed(
    "SpacesKnown", "{pointers} generic pointers point to one memory; {accesses} accesses say which"
)
CODES = (SPECIFIC,)


@attrs.frozen
class Options:
    """kernel_args: pointers that a kernel takes point to global memory."""

    kernel_args: bool = True


def run(function: Function, ctx: Context) -> bool:
    given: dict[Argument, int] = {}
    if function.is_kernel and ctx.options.kernel_args:
        given = {p: GLOBAL for p in function.arguments if _is_plain_generic(p)}
    spaces = infer(function, given)
    twins = _Twins(function, spaces)
    accesses = twins.rewrite()
    if not accesses:
        return False
    ctx.count("accesses", accesses)
    ctx.remark(SPECIFIC, pointers=len(twins.twin), accesses=accesses)
    return True


def _is_plain_generic(p: Argument) -> bool:
    byval = any(isinstance(a, tuple) and a[0] == "byval" for a in p.attributes)
    return isinstance(p.type, PointerType) and p.type.space == GENERIC and not byval


@functools.cache
def _concerns(form: Form) -> bool:
    """Whether an instruction of this form may be an access."""
    return form.kind in (OpKind.LOAD, OpKind.STORE, OpKind.ATOMIC) or form.is_call \
        or form.name == "icmp"


class _Twins:
    """The specific pointers of one function, made when an access asks for one."""

    def __init__(self, function: Function, spaces: Spaces) -> None:
        self.function, self.spaces = function, spaces
        self.twin: dict[Value, Value] = {}
        self.phis: list[tuple[Instruction, Instruction]] = []

    def space(self, v: Value) -> int:
        """The space that a generic pointer is known to point to; 0: none, or not generic."""
        if not isinstance(v.type, PointerType) or v.type.space != GENERIC:
            return GENERIC
        if isinstance(v, Instruction) and v.form.name == "alloca":
            return GENERIC
        if isinstance(v, Variable) or v.is_constant:
            return GENERIC
        return self.spaces.get(v, GENERIC)

    def rewrite(self) -> int:
        """Give the accesses specific pointers; returns how many got one."""
        accesses = 0
        for block in self.function.blocks:
            for i in block:
                if _concerns(i.form):
                    accesses += self._access(i)
        k = 0
        while k < len(self.phis):  # operands may make further phis
            old, new = self.phis[k]
            k += 1
            new.set_incoming([self.of(v, new.type) for v in old.operands], old.aux)
        for v in reversed(self.twin):  # made behind what they are made of
            if isinstance(v, Instruction) and v._uses is None and v.form.pure:
                discard((v,), self.function)
        return accesses

    def _access(self, i: Instruction) -> int:
        name = i.form.name
        if i.form.kind in (OpKind.LOAD, OpKind.ATOMIC):
            return self._take(i, (0,))
        if name == "store":
            return self._take(i, (1,))
        if name == "icmp" and isinstance(i.operands[0].type, PointerType):
            return self._compare(i)
        if i.form.is_call and memory_transfer(i) is not None:
            return self._transfer(i)
        return 0

    def _take(self, i: Instruction, positions: tuple[int, ...]) -> int:
        made = 0
        operands = list(i.operands)
        for k in positions:
            space = self.space(operands[k])
            if self._worth(operands[k], space):
                operands[k] = self.of(operands[k], pointer(space))
                made = 1
        if made:
            i.set_operands(tuple(operands))
        return made

    def _worth(self, v: Value, space: int) -> bool:
        """Local memory that an alloca of this function is has no other name in generic space."""
        return space not in (GENERIC, LOCAL)

    def _compare(self, i: Instruction) -> int:
        spaces = {self.space(v) for v in i.operands if not _is_null(v)}
        if len(spaces) != 1 or GENERIC in spaces or any(map(_is_null, i.operands)):
            return 0
        space = spaces.pop()
        if not self._worth(i.operands[0], space) or space != GLOBAL:
            return 0
        type = pointer(space)
        i.set_operands(tuple([self.of(v, type) for v in i.operands]))
        return 1

    def _transfer(self, i: Instruction) -> int:
        """A copy's pointers, and the intrinsic for their spaces."""
        name = callee_name(i)
        count = 1 if ".memset." in name else 2
        before = [v.type for v in i.operands[:count]]
        if not self._take(i, tuple(range(count))):
            return 0
        module = self.function.module
        assert module is not None
        info = i.aux
        stem = ".".join(name.split(".")[:2])
        spaces = ".".join(f"p{v.type.space}" for v in i.operands[:count])  # type: ignore[attr-defined]
        types = [v.type for v in i.operands]
        assert before != types[:count]
        callee = declare(module, f"{stem}.{spaces}.{types[2].name}", i.type, types)
        i.aux = attrs.evolve(info, callee=callee)
        return 1

    # ------------------------------------------------------------- twins

    def of(self, v: Value, type: PointerType | object) -> Value:
        """A pointer to the same place in a specific space, which is known to be its own."""
        assert isinstance(type, PointerType)
        found = self.twin.get(v)
        if found is not None and found.type is type:
            return found
        # Chains may be long: make what is missing from their beginnings on.
        work = [v]
        while work:
            x = work[-1]
            if x in self.twin and self.twin[x].type is type:
                work.pop()
                continue
            needs = [y for y in self._sources(x, type) if y not in self.twin]
            if needs:
                work.extend(needs)
                continue
            self.twin[x] = self._make(x, type)
            work.pop()
        return self.twin[v]

    def _sources(self, v: Value, type: PointerType) -> list[Value]:
        """The pointers whose twins a twin is made of; not those of phis, which may be circles."""
        if not isinstance(v, Instruction) or self.space(v) != type.space:
            return []
        if _keeps_space(v):
            return [v.operands[0]]
        return list(v.operands[1:]) if v.form.kind is OpKind.SELECT else []

    def _make(self, v: Value, type: PointerType) -> Value:
        if isinstance(v, Undef):
            return undef(type)
        if _is_null(v):
            return constant(type, None)
        name = v.form.name if isinstance(v, Instruction) else ""
        if isinstance(v, Instruction) and self.space(v) == type.space:
            if name == "addrspacecast" and v.operands[0].type is type:
                return v.operands[0]
            if _keeps_space(v):
                operands = (self.twin[v.operands[0]], *v.operands[1:])
                return self._place(v, v.form.spelling, operands, type, v.aux)
            if name == "select":
                operands = (v.operands[0], *(self.twin[x] for x in v.operands[1:]))
                return self._place(v, v.form.spelling, operands, type, v.aux)
            if name == "phi":
                new = Instruction(v.form, (), type, v.name, (), v.loc)
                new.insert_before(v)
                self.phis.append((v, new))
                return new
        return self._cast(v, type)

    def _place(self, at: Instruction, spelling: str, operands: tuple[Value, ...], type: PointerType,
               aux: object) -> Instruction:
        new = Instruction(nvvm_form(spelling), operands, type, at.name, aux, at.loc)
        new.insert_before(at)
        return new

    def _cast(self, v: Value, type: PointerType) -> Instruction:
        """A cast where a pointer begins: behind its instruction, or in the entry."""
        new = Instruction(nvvm_form("addrspacecast"), (v,), type, v.name, None)
        if isinstance(v, Instruction):
            assert v.block is not None
            anchor = v.block.first_non_phi if v.form.is_phi else v.next
            new.loc = v.loc
        else:
            anchor = self.function.entry.first_non_phi
        assert anchor is not None
        new.insert_before(anchor)
        return new


def _is_null(v: Value) -> bool:
    return isinstance(v, Constant) and v.value is None


def _keeps_space(i: Instruction) -> bool:
    """Whether the result is an address in the space of the first operand."""
    return i.form.kind in (OpKind.ADDRESS, OpKind.FREEZE) or i.form.name == "bitcast"
