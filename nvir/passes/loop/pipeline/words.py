"""Loads of several narrow elements as loads of words, so that words are what is in flight.

    ld.global.v4.u8 {%a, %b, %c, %d}, [%p]    ==>    ld.global.u32 %w, [%p]
                                                     bfe.u32 %t, %w, 0, 8;  cvt.u16.u32 %a, %t;  …

The machine loads the word and takes it apart. As a value for each element the assembler does so
where the load stands, and waits for it there; taken apart by instructions of the body, it is done
in the step that uses the elements.

Keeps    what is loaded: the word is as wide and as aligned as the elements were together.
Skips    loads under a guard, volatile and ordered ones, of single elements, of words.
Cost     linear in the block's instructions.
Source   what ptxas 13.0 makes of examples/histogram.cu, pipelined.
"""

from __future__ import annotations

import functools
import re

from nvir.ir import B32, Block, Form, Instruction, Value, form, integer
from nvir.ir.ssa.rewrite import substitute

_NARROW = re.compile(r"(ld\..*)\.v([24])\.([bus])(8|16)")
_WIDER = {"b32": "", "b16": "cvt.u16.u32", "b64": "cvt.{}64.{}32"}


def narrow_loads(block: Block) -> list[tuple[Instruction, re.Match[str]]]:
    """The loads of narrow vectors in a block that words can be loaded for."""
    return [
        (i, found) for i in block
        if (found := _narrow(i.form)) and all(r.type.name in _WIDER for r in i.results)
    ]


@functools.cache
def _narrow(f: Form) -> re.Match[str] | None:
    return _NARROW.fullmatch(f.spelling) if f.guard is None and not f.pinned else None


def join_words(block: Block) -> int:
    """Load words for the narrow vectors that a block loads; how many loads it changed."""
    new: dict[Value, Value] = {}
    gone = []
    for i, found in narrow_loads(block):
        _join(block, i, found, new)
        gone.append(i)
    if gone:
        substitute(new)
    for i in gone:
        i.erase()
    return len(gone)


def _join(
    block: Block, i: Instruction, found: re.Match[str], new: dict[Value, Value]
) -> None:
    start, count, kind, bits = found[1], int(found[2]), found[3], int(found[4])
    address = i.form.shape[i.form.shape.index("[") :]
    if count * bits == 64:
        words = Instruction(form(f"{start}.v2.u32", f"{{%s, %s}}, {address}"), i.operands, B32)
        words.set_results([B32, B32], ["", ""])
    else:
        spelling = f"{start}.u{count * bits}"
        words = Instruction(form(spelling, f"%s, {address}"), i.operands, B32)
    words.loc, words.line = i.loc, i.line
    marks = block.function.marks
    if i in marks:
        marks[words] = set(marks[i])
    last = _behind(i, words)
    for k, r in enumerate(i.results):
        word = words.results[k * bits // 32] if count * bits == 64 else words
        signed = "s" if kind == "s" else "u"
        take = Instruction(
            form(f"bfe.{signed}32", "%s, %s, %s, %s"),
            (word, integer(k * bits % 32), integer(bits)), B32,
        )
        last = _behind(last, take)
        if convert := _WIDER[r.type.name].format(signed, signed):
            take = Instruction(form(convert, "%s, %s"), (take,), r.type)
            last = _behind(last, take)
        new[r] = take


def _behind(place: Instruction, i: Instruction) -> Instruction:
    i.insert_after(place)
    return i
