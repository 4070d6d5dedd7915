"""What each opcode row does when it runs, as a table for each level.

`EMITTERS[row](e)` writes Python for `e.instr` (emit.py). `SPECIALS[row](plan, i)` makes an object
with `run(wave, group)` for the rows that look beyond one group: calls, barriers, warp exchanges.
A row in neither is `Unsupported`. Another level is another `Rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from nvir.interp.leaves import EmittedStep
from nvir.ir import Instruction, Unsupported
from nvir.ir.opcodes.ori.modifiers import unknown_modifiers


@attrs.define
class Rows:
    """The rows of one level.

    choice   `choice(e, term)` is the expression that a terminator decides by
    leaves   `leaves(plan, value)` are the scalars that a value consists of
    storage  where variables, parameters and frames lie (layout.py, nvvm/storage.py)
    """

    level: str
    emitters: dict[str, Callable[[Any], None]]
    specials: dict[str, Callable[[Any, Instruction], Any]]
    choice: Callable[[Any, Instruction], str]
    guard_split: Any
    leaves: Callable[[Any, Any], tuple[Any, ...]]
    storage: Any

    def emit(self, e: Any, i: Any) -> None:
        if i.__class__ is EmittedStep:
            i.write(e)
            return
        emitter = self.emitters.get(i.form.name)
        if emitter is None:
            raise unsupported(i)
        if self.level == "ori" and (unknown := unknown_modifiers(i.form)):
            raise unsupported(i, f"no modifier .{unknown[0]} is known")
        emitter(e)

    def special(self, plan: Any, i: Instruction) -> Any:
        maker = self.specials.get(i.form.name)
        return None if maker is None else maker(plan, i)


def unsupported(i: Instruction, why: str = "") -> Unsupported:
    """The error for an instruction that the interpreter does not run."""
    function = i.function
    place = f"line {i.line}" if i.line else ""
    if function is not None:
        place = f"{place} of {function.name}".strip() if place else str(function.name)
    what = f"{i.form.spelling} in the interpreter" + (f" ({why})" if why else "")
    return Unsupported(what, where=place)
