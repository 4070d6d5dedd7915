"""mbarrier objects: 64-bit words in shared memory that count arrivals and bytes.

    bits  0..19   arrivals that each phase expects        20..39  arrivals still pending
    bits 40..61   bytes still expected (tx), signed        62      phase parity     63  valid

A phase is complete when no arrival and no byte is pending; then the parity flips and the pending
count is the expected one again. A phase token (the result of an arrival) is the word before it.
Waiting never blocks here: a test that fails makes its threads give way, and their loop tries again.
Source: PTX ISA 9.0, section 9.7.13.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.access import blame, locate, positions
from nvir.interp.layout import Array, register_dtype
from nvir.interp.memory import Fault
from nvir.interp.rows import unsupported
from nvir.interp.rows.memory import space_of
from nvir.ir.values import Constant

_COUNT = (1 << 20) - 1
_TX = (1 << 22) - 1
_VALID = 1 << 63
_PARITY = 62
_EVERY = np.zeros(2)


def pack(expected: int, pending: int, tx: int, parity: int) -> int:
    return (
        _VALID | parity << _PARITY | (tx & _TX) << 40 | (pending & _COUNT) << 20 | expected & _COUNT
    )


def unpack(word: int) -> tuple[int, int, int, int]:
    """(expected, pending, tx, parity); raises `Fault` for a word that is no barrier."""
    if not word & _VALID:
        raise Fault("this mbarrier was not initialised")
    tx = (word >> 40) & _TX
    return (
        word & _COUNT,
        (word >> 20) & _COUNT,
        tx - (1 << 22) if tx >> 21 else tx,
        (word >> _PARITY) & 1,
    )


def settle(expected: int, pending: int, tx: int, parity: int) -> int:
    """The word, in the next phase if this one is complete."""
    if pending == 0 and tx == 0:
        return pack(expected, expected, 0, parity ^ 1)
    return pack(expected, pending, tx, parity)


def arrive(word: int, count: int, expect: int = 0, drop: bool = False, stay: bool = False) -> int:
    """`count` arrivals, after `expect` more bytes; `drop` expects fewer from the next phase on."""
    expected, pending, tx, parity = unpack(word)
    if count > pending:
        raise Fault(f"{count} arrivals at an mbarrier that expects {pending} more in this phase")
    if stay and count >= pending:
        raise Fault("an arrival with .noComplete would complete the phase")
    return settle(expected - (count if drop else 0), pending - count, tx + expect, parity)


def add_bytes(word: int, count: int) -> int:
    """Expect more bytes (or, negative, count bytes that have come)."""
    expected, pending, tx, parity = unpack(word)
    return (
        settle(expected, pending, tx + count, parity)
        if count < 0
        else pack(expected, pending, tx + count, parity)
    )


def update(
    c: Any, space: str, addresses: Array, guard: Array | None, change: Callable[..., int],
    *operands: Array,
) -> Array:
    """Apply `change(word, *operands) -> word` lane by lane; returns the words before (uint64)."""
    pos = positions(c, _EVERY, guard)
    n = c.m if pos is None else len(pos)
    out = np.zeros(c.m, np.uint64)
    if n == 0:
        return out
    lanes = np.arange(c.m) if pos is None else pos
    where = np.broadcast_to(addresses, (c.m,))[lanes]
    numbers = [np.broadcast_to(x, (c.m,))[lanes].tolist() for x in operands]
    try:
        for region, offsets, which in locate(c, space, where, lanes, 8, True):
            words = region.views[8]
            members = range(n) if which is None else which.tolist()
            for k, at in zip(members, (offsets >> 3).tolist(), strict=True):
                before = int(words[at])
                out[lanes[k]] = before
                try:
                    words[at] = change(before, *(x[k] for x in numbers))
                except Fault as fault:
                    fault.lane = int(c.lane_numbers()[lanes[k]])
                    fault.address = int(where[k])
                    raise
    except Fault as fault:
        raise blame(fault, c, lanes) from None
    c.wave.writes += 1
    if c.wave.watch is not None:
        c.wave.watch.synchronised(c)
    return out


def object_address(e: Any, which: int = 0) -> tuple[str, str]:
    """(expression, space) of the instruction's barrier operand."""
    i = e.instr
    text, symbol_space = e.address(*i.form.addresses[which])
    return text, space_of(e, i.form, symbol_space)


def _after(e: Any) -> int:
    """Number of the first source behind the first address."""
    return 2 if e.instr.form.addresses[0][1] >= 0 else 1


def _update(e: Any, change: Callable[..., int], *operands: str) -> str:
    text, space = object_address(e)
    rest = "".join(f", {x}" for x in operands)
    guard = e.guard or "None"
    return f"{e.bind(update)}(c, {space!r}, {text}, {guard}, {e.bind(change)}{rest})"


def _init(word: int, count: int) -> int:
    if not 1 <= count <= _COUNT:
        raise Fault(f"an mbarrier cannot expect {count} arrivals")
    return pack(count, count, 0, 0)


def emit_init(e: Any) -> None:
    e.line(_update(e, _init, e.source(_after(e), "u32")))


def emit_inval(e: Any) -> None:
    e.line(_update(e, lambda word: 0))


def emit_expect(e: Any) -> None:
    e.line(_update(e, add_bytes, e.source(_after(e), "u32")))


def emit_complete(e: Any) -> None:
    e.line(_update(e, lambda word, count: add_bytes(word, -count), e.source(_after(e), "u32")))


def emit_arrive(e: Any) -> None:
    """mbarrier.arrive and arrive_drop, with a count, with bytes to expect, or with neither."""
    i = e.instr
    mods = i.form.mods
    drop, stay = i.form.name.endswith("drop"), "noComplete" in mods
    k = _after(e)
    operand = e.source(k, "u32") if k < i.form.n_sources else ""

    def with_count(word: int, count: int) -> int:
        return arrive(word, count, 0, drop, stay)

    def with_bytes(word: int, count: int) -> int:
        return arrive(word, 1, count, drop, stay)

    def alone(word: int) -> int:
        return arrive(word, 1, 0, drop, stay)

    if "expect_tx" in mods:
        call = _update(e, with_bytes, operand)
    elif operand:
        call = _update(e, with_count, operand)
    else:
        call = _update(e, alone)
    if i.results:
        e.results(call)
    else:
        e.line(call)


def emit_wait(e: Any) -> None:
    """test_wait and try_wait: a phase token, or with .parity the parity of the phase."""
    i = e.instr
    k = _after(e)
    parity = "parity" in i.form.mods
    token = e.source(k, "u32" if parity else "b64")
    text, space = object_address(e)
    guard = e.guard or "None"
    e.results(f"{e.bind(_test)}(c, {space!r}, {text}, {token}, {parity}, {guard})")


def _test(
    c: Any, space: str, addresses: Array, token: Array, parity: bool, guard: Array | None
) -> Array:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    done = np.zeros(c.m, bool)
    if not len(lanes):
        return done
    where = np.broadcast_to(addresses, (c.m,))[lanes]
    wanted = np.broadcast_to(token, (c.m,))[lanes].astype(np.uint64)
    if not parity:
        wanted = wanted >> np.uint64(_PARITY)
    wanted = wanted & np.uint64(1)
    try:
        for region, offsets, which in locate(c, space, where, lanes, 8, False):
            words = region.views[8][offsets >> 3]
            if not (words >> np.uint64(63)).all():
                at = int((words >> np.uint64(63) == 0).argmax())
                raise Fault("this mbarrier was not initialised", at, int(where[at]))
            mine = slice(None) if which is None else which
            now = (words >> np.uint64(_PARITY)) & np.uint64(1)
            seen = now != wanted[mine]
            done[lanes[mine]] = seen
            if c.wave.watch is not None:
                c.wave.watch.on_phase(offsets[seen], wanted[mine][seen])
    except Fault as fault:
        raise blame(fault, c, lanes) from None
    if c.wave.watch is not None:
        c.wave.watch.synchronised(c)
    if not done[lanes].all():
        c.keep_waiting()
    return done


def emit_pending(e: Any) -> None:
    token = e.source(0, "b64")
    dtype = e.bind(register_dtype(e.instr.type))
    shift, mask = e.constant(20, np.uint64), e.constant(_COUNT, np.uint64)
    e.results(f"(({token} >> {shift}) & {mask}).astype({dtype})")


EMITTERS = {
    "mbarrier.init": emit_init, "mbarrier.inval": emit_inval, "mbarrier.expect_tx": emit_expect,
    "mbarrier.complete_tx": emit_complete, "mbarrier.arrive": emit_arrive,
    "mbarrier.arrive_drop": emit_arrive, "mbarrier.test_wait": emit_wait,
    "mbarrier.try_wait": emit_wait, "mbarrier.pending_count": emit_pending,
}

__all__ = ["EMITTERS", "Constant", "add_bytes", "arrive", "unsupported", "update"]
