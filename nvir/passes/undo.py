"""What a module was before passes ran on it, to go back to when one of them fails.

Method   The objects stay, and are changed in place: what each of their slots held is noted in one
         tuple, containers as copies. Going back fills the slots again, so objects that passes made
         drop out, and functions, blocks and instructions taken from the module still belong to it.
Cost     Linear; a third of a copy of the module, and nothing that the collector has to find.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from nvir.ir import Function, Module
from nvir.ir.instruction import Instruction, Loose
from nvir.ir.module import DebugData

_CONTAINERS = frozenset({dict, list, set})  # what a slot holds besides may not change


@functools.cache
def _slots(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of a class's slots, and what reads them all; `_uses` comes first."""
    names = {s for c in kind.__mro__ for s in c.__dict__.get("__slots__", ())} - {"__weakref__"}
    ordered = tuple(sorted(names, key=lambda s: (s != "_uses", s)))
    return ordered, attrgetter(*ordered)


class Memento:
    """The state of a module at one time."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.fields = _kept(module.__dict__)
        d = module.debug
        self.debug = list(d.files), [(name, list(lines)) for name, lines in d.sections], d.producer
        self.states: list[tuple[Any, Sequence[Any]]] = []
        for v in module.globals:
            self._note(v)
        for f in module.functions:
            for x in (f, *f.params, *f.returns, *f.locals, *f.blocks):
                self._note(x)
            self._instructions(f)

    def _note(self, x: Any) -> None:
        values = [v if v.__class__ not in _CONTAINERS else _kept(v) if v else v.copy()
                  for v in _slots(x.__class__)[1](x)]
        self.states.append((x, values))

    def _instructions(self, f: Function) -> None:
        note, read = self.states.append, _slots(Instruction)[1]
        for b in f.blocks:
            i = b.first
            while i is not None:
                state = read(i)
                if state[0].__class__ is dict:  # its uses
                    state = (state[0].copy(), *state[1:])
                note((i, state))
                if i.aux is not None and isinstance(i.aux, Loose):
                    self._note(i.aux)
                if i._results is not None:
                    for r in i._results:
                        self._note(r)
                i = i.next

    def restore(self) -> None:
        """Make the module what it was. May be done once: the containers noted are its own then."""
        edits = {f: f.edits for f in (*self.module.functions, *self.fields["functions"])}
        self.module.__dict__.clear()
        self.module.__dict__.update(self.fields)
        self.module.debug = DebugData(*self.debug)
        for x, state in self.states:
            for name, value in zip(_slots(x.__class__)[0], state, strict=True):
                setattr(x, name, value)
        for f in self.module.functions:
            f.known, f.edits = None, edits[f] + 1


def _kept(x: Any) -> Any:
    """A container anew, with the same elements."""
    if x.__class__ is not dict:
        return x.copy()
    if _CONTAINERS.isdisjoint(map(type, x.values())):
        return x.copy()
    return {k: _kept(v) if v.__class__ in _CONTAINERS else v for k, v in x.items()}
