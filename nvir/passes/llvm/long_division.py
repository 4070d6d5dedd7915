"""Quotients and remainders of integers that libnvvm's LLVM 7 cannot divide, of more than 128 bits.

    %q = udiv i256 %a, %b
        ==>
    for bit 255 … 0 { rest = rest << 1 | next bit of %a; if rest >= %b { rest -= %b; set the bit } }

Signed ones divide absolute values; the quotient is negative where the signs differ, the remainder
where the dividend is.

Source   LLVM's IntegerDivision.cpp does the same for targets without a division.
"""

from __future__ import annotations

from nvir.ir import Instruction, Value
from nvir.ir.nvvm import Builder, const
from nvir.passes.llvm.atomics import split


def long_division(i: Instruction) -> None:
    """Replace a quotient or remainder by a loop over its bits."""
    block, (x, y), t = i.block, i._operands, i.type
    assert block is not None
    after = split(block, i, "division.end")
    loop = block.function.block("division.loop", after=block)
    jump = block.terminator
    assert jump is not None
    jump.set_successor(after, loop)
    b = Builder(block, jump)
    signed, quotient = i.form.name[0] == "s", i.form.name[1:] == "div"
    top = t.bits - 1
    x_sign, y_sign = (b.ashr(v, top) for v in (x, y))
    if signed:
        x, y = (b.sub(b.xor(v, s), s) for v, s in ((x, x_sign), (y, y_sign)))
    b = Builder(loop)
    zero, one = const(t, 0), const(t, 1)
    left, rest, dividend = b.phi(t), b.phi(t), b.phi(t)
    shifted = b.or_(b.shl(rest, one), b.lshr(dividend, top))
    fits = b.or_(b.icmp_unsigned(">=", shifted, y), b.icmp_signed("<", rest, zero))  # shifted out
    taken = b.select(fits, b.sub(shifted, y), shifted)
    # The quotient's bits come in where the dividend's have gone out.
    found = b.or_(b.shl(dividend, one), b.zext(fits, t))
    less = b.sub(left, one)
    for phi, first, next_one in ((left, const(t, top), less), (rest, zero, taken),
                                 (dividend, x, found)):
        phi.add(first, block)
        phi.add(next_one, loop)
    b.cbranch(b.icmp_signed("==", left, zero), after, loop)
    result: Value = found if quotient else taken
    if signed:
        b = Builder.ahead_of(i)
        sign = b.xor(x_sign, y_sign) if quotient else x_sign
        result = b.sub(b.xor(result, sign), sign)
    i.replace_with(result)
    block.function.cfg_changed()
