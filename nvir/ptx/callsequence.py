"""The `.param` variables of calls, and the scopes that declare them.

    { // callseq 0
    .param .b32 param0;
    .param .b32 retval0;
    st.param.b32 [param0], %r1;
    call.uni (retval0), twice, (param0);
    ld.param.b32 %r2, [retval0];
    }

A scope spans from the first to the last instruction that names one of its
variables. Calls whose spans overlap share a scope; a variable that is named in
several blocks is declared for the whole function.
"""

from __future__ import annotations

from nvir.ir import CallInfo, Function, Instruction, SymbolOffset, Variable
from nvir.ptx.declarations import variable
from nvir.ptx.registers import RegisterNames


class CallScopes:
    """What to print around the calls of a function.

    opening   text before an instruction
    closing   text behind an instruction
    outside   the local variables to declare at the top of the function
    """

    def __init__(self, function: Function, names: RegisterNames, first: int) -> None:
        self.opening: dict[Instruction, str] = {}
        self.closing: dict[Instruction, str] = {}
        self.outside: list[Variable] = []
        self.count = first
        call_params = {v for v in function.locals if v.space == "param"}
        touched = _touches(function, call_params) if call_params else {}
        for v in function.locals:
            if v not in call_params or (v in touched and len({i.block for i in touched[v]}) > 1):
                self.outside.append(v)
                touched.pop(v, None)
        self._name(self.outside, names, names.reserved)
        for variables, begin, end in _spans(touched):
            self._name(variables, names, {str(v.name) for v in self.outside})
            declared = "".join(f"\t{variable(v, names[v])};\n" for v in variables)
            self.opening[begin] = f"\t{{ // callseq {self.count}\n{declared}"
            self.closing[end] = f"\t}} // callseq {self.count}\n"
            self.count += 1

    def _name(self, variables: list[Variable], names: RegisterNames, taken: set[str]) -> None:
        """Give each its own name where it can have it, else a variation that is free."""
        used: set[str] = set(taken) if taken is not names.reserved else taken
        for v in variables:
            name = base = str(v.name)
            k = 0
            while name in used:
                k += 1
                name = f"{base}_{k}"
            used.add(name)
            names[v] = name


def _touches(function: Function, wanted: set[Variable]) -> dict[Variable, list[Instruction]]:
    """The instructions that name each variable, in layout order."""
    found: dict[Variable, list[Instruction]] = {}
    for i in function.instructions():
        operands = i.operands
        if isinstance(i.aux, CallInfo):
            operands = (*operands, *i.aux.return_params)
        for v in operands:
            if isinstance(v, SymbolOffset):
                v = v.symbol
            if v in wanted:
                found.setdefault(v, []).append(i)
    return found


def _spans(
    touched: dict[Variable, list[Instruction]],
) -> list[tuple[list[Variable], Instruction, Instruction]]:
    """Variables grouped by overlapping spans, with the first and last instruction of each group."""
    numbers: dict[Instruction, int] = {}
    for block in dict.fromkeys(i.block for found in touched.values() for i in found):
        if block is not None:
            base = len(numbers)
            numbers.update({i: base + k for k, i in enumerate(block)})
    ordered = sorted(touched.items(), key=lambda t: numbers[t[1][0]])
    groups: list[tuple[list[Variable], Instruction, Instruction]] = []
    for v, found in ordered:
        begin, end = found[0], found[-1]
        if groups and numbers[begin] <= numbers[groups[-1][2]]:
            variables, start, last = groups[-1]
            variables.append(v)
            groups[-1] = (variables, start, end if numbers[end] > numbers[last] else last)
        else:
            groups.append(([v], begin, end))
    return groups
