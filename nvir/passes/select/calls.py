"""Calls by the `.param` convention, direct and through a pointer.

    call i32 @f(i32 %x)   ==>   st.param.b32 [param0], %r1;
                                call.uni (retval0), f, (param0);
                                ld.param.b32 %r2, [retval0];

A call through a pointer names a `.callprototype`, made once for each signature.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import VOID, CallInfo, Function, Instruction, Param, Type, Unsupported, Value, form
from nvir.ir.layout import size_of
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.text.trace import note
from nvir.passes.select import abi
from nvir.passes.select.lanes import Rule
from nvir.passes.select.parts import parts
from nvir.passes.select.selector import Parts, Selector


def _call(s: Selector, i: Instruction) -> Parts:
    info = i.aux
    assert isinstance(info, CallInfo)
    callee = info.callee
    if isinstance(callee, InlineAsm):
        from nvir.passes.select.asm import inline

        return inline(s, i, callee)
    if isinstance(callee, Function) and callee.is_declaration:
        from nvir.passes.select.intrinsics import rule_of

        rule = rule_of(str(callee.name))
        if rule is not None:
            return rule(s, i)
        if str(callee.name).startswith("llvm."):
            raise s.fail(f"the intrinsic {callee.name}")
    if callee is not None and not isinstance(callee, Function):
        raise Unsupported(f"a call of {callee.name}", where=str(s.source.name))
    given = i.operands if callee is not None else i.operands[1:]
    if callee is not None and (callee.is_kernel or len(given) != len(callee.params)):
        what = "a kernel" if callee.is_kernel else "a variadic function"
        raise Unsupported(f"a call of {what}, {callee.name}", where=str(s.source.name))
    return _emit(s, i, callee, given)


def _attributes(info: CallInfo, callee: Function | None, k: int) -> tuple[Any, ...]:
    """Of argument k: what the call says and what the callee's declaration says."""
    out: tuple[Any, ...] = ()
    if isinstance(info, NvvmCall) and k < len(info.arguments):
        out += info.arguments[k]
    if callee is not None and k < len(callee.params):
        out += callee.params[k].attributes
    return out


def _emit(
    s: Selector, i: Instruction, callee: Function | None, given: tuple[Value, ...]
) -> Parts:
    passed: list[Param] = []
    n = sum(isinstance(v, Param) for v in s.target.locals)
    address = s.pointer(i.operands[0]) if callee is None else None
    aligned = s.module.alignments.get(str(callee.name), {}) if callee is not None else dict(
        enumerate(getattr(i.aux, "callalign", ())))
    for k, v in enumerate(given):
        attributes = _attributes(i.aux, callee, k)
        p = abi.parameter(f"param{n + k}", v.type, k, False, attributes,
                          least=aligned.get(k + 1, 0))
        s.target.locals.append(p)
        passed.append(p)
        _pass(s, p, v, attributes)
    returned: list[Param] = []
    if parts(i.type):
        returned.append(abi.parameter(f"retval{n + len(given)}", i.type, 0, False,
                                      least=aligned.get(0, 0)))
        s.target.locals.extend(returned)
    operands: tuple[Value, ...] = tuple(passed)
    info = CallInfo(len(passed), return_params=tuple(returned))
    if callee is not None:
        target = s.module.symbol(callee)
        info.callee = target
        spelling = "call.uni"
    else:
        assert address is not None
        operands = (s.reg(address, "b64"), *operands)
        info.n_sources = len(operands)
        info.prototype = _prototype(s, passed, returned)
        note("CAL-18", "call by pointer", s.target.prototypes[info.prototype],
             callalign=getattr(i.aux, "callalign", ()))
        spelling = "call"
    s.b.insert(Instruction(form(spelling), operands, VOID, None, info))
    return abi.read(s, returned[0], i.type, False) if returned else ()


def _pass(s: Selector, p: Param, v: Value, attributes: tuple[Any, ...]) -> None:
    memory = abi.attribute(attributes, "byval")
    if isinstance(memory, Type):
        from nvir.passes.select.rules.copies import copy_bytes
        from nvir.passes.select.selector import AddressParts
        from nvir.passes.select.spaces import PARAM

        given = int(abi.attribute(attributes, "align") or 1)
        copy_bytes(s, AddressParts(p, 0, PARAM), s.address(v), size_of(memory), given)
        return
    abi.write(s, p, s.use(v), v.type, attributes)


def _prototype(s: Selector, passed: list[Param], returned: list[Param]) -> str:
    """The label of a `.callprototype` of these parameters."""
    results = ", ".join(_declared(p) for p in returned)
    head = f"({results}) " if results else "() "
    text = f".callprototype {head}_ ({', '.join(_declared(p) for p in passed)})"
    for label, known in s.target.prototypes.items():
        if known == text:
            return label
    label = f"prototype_{len(s.target.prototypes)}"
    s.target.prototypes[label] = text
    return label


def _declared(p: Param) -> str:
    align = f".align {p.align} " if p.align else ""
    extent = "".join(f"[{d}]" for d in p.dimensions)
    return f".param {align}.{p.element_type.name} _{extent}"


RULES: dict[str, Rule] = {"call": _call}
