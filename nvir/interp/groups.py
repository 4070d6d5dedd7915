"""Groups of lanes at one place, and what they stand on: calling contexts and tables of values.

The generated code (emit.py) calls the first half of `Group`'s methods with vectors as wide as `m`;
specials (rows/) call the second half, which sees the group's own lanes alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nvir.interp.emit import literal_bits, take
from nvir.interp.layout import Array, register_dtype
from nvir.interp.leaves import Register, ScalarLeaf
from nvir.interp.meaning.lanes import register
from nvir.interp.special import special_vector
from nvir.ir import IMM, Instruction
from nvir.ir.values import Argument, Constant, Result, SpecialRegister, Symbol, SymbolOffset, Value

if TYPE_CHECKING:
    from nvir.interp.plan import FunctionPlan
    from nvir.interp.wave import Wave

ALL = slice(None)
# Below this the part form serves all: compiling a second form costs more than it saves.
WHOLE_FORM_LANES = 192
_IN_TABLE = (Instruction, Result, Argument, ScalarLeaf, Register)


class LaneTable:
    """The lane vectors of one function's values, for one depth of calls: `v[slot]`.

    `owned` are slots whose vectors nothing else refers to, so that single lanes may be set.
    """

    __slots__ = ("epoch", "lanes", "owned", "saved_stack", "v", "wave")

    def __init__(self, wave: Wave) -> None:
        self.wave, self.lanes = wave, wave.n
        self.v: dict[int, Array] = {}
        self.owned: set[int] = set()
        self.epoch = -1
        self.saved_stack: Array | None = None

    def fresh(self) -> None:
        """Forget what is owned if a whole group has run since."""
        if self.epoch != self.wave.epoch:
            self.owned.clear()
            self.epoch = self.wave.epoch

    def own(self, slot: int, x: Array) -> None:
        """Give a slot a vector of its own, of all lanes, that keeps its values."""
        a = self.v.get(slot)
        if a is None:
            a = np.zeros((self.lanes, *x.shape[1:]), x.dtype)
        elif len(a) == 1:
            a = np.repeat(a, self.lanes, axis=0)
        else:
            a = a.copy()
        self.v[slot] = a
        self.owned.add(slot)

    def store(self, slot: int, g: LaneGroup, x: Array) -> None:
        """Set a slot in the group's lanes; `x` has those lanes, or one element."""
        self.fresh()
        if g.n == self.lanes:  # a copy: x may be a view of another slot
            self.v[slot] = x.copy()
            if len(x) == self.lanes:  # one element for all lanes takes no single lane's value
                self.owned.add(slot)
            else:
                self.owned.discard(slot)
            return
        if slot not in self.owned:
            self.own(slot, x)
        self.v[slot][g.sel] = x


class Activation:
    """A calling context: the function, the call it came by, and its frame in local memory."""

    __slots__ = (
        "addresses", "back", "base", "call", "children", "depth", "order", "parent", "plan",
        "table",
    )

    def __init__(
        self, plan: FunctionPlan, table: LaneTable, base: int, parent: Activation | None,
        call: Any, back: Any,
    ) -> None:
        self.plan, self.table, self.base = plan, table, base
        self.parent, self.call, self.back = parent, call, back
        self.children: dict[Any, Activation] = {}
        self.addresses: dict[int, Array] = {}  # of the frame, by offset
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.order: tuple[int, ...] = ()
        if parent is not None:
            key = back.key
            self.order = (*parent.order, key[0], key[1] - 1)


class LaneGroup:
    """Lanes at one place.

    sel     the lanes: a slice, or sorted numbers; n how many
    m       width of the vectors that generated code sees: all lanes of the wave in the whole form
    mask    which of these m really take part, or None for all
    order   of the place; `turn` goes before it
    """

    __slots__ = (
        "_lanes", "m", "mask", "n", "node", "order", "seg", "sel", "spins", "table", "turn", "v",
        "wave", "whole", "yielding",
    )

    def __init__(self, wave: Wave, node: Activation, lanes: Array | None) -> None:
        self.wave = wave
        self.enter(node)
        self.seg: Any = None
        self.turn = self.spins = 0
        self.order: tuple[int, ...] = ()
        self.yielding = False
        self.set_lanes(lanes)

    def set_lanes(self, lanes: Array | None) -> None:
        """Be these lanes (sorted numbers; None for all of the wave)."""
        n = self.wave.n if lanes is None else len(lanes)
        self.n = self.m = n
        self.whole = False
        self.mask: Array | None = None
        self._lanes = lanes
        if lanes is None or n == self.wave.n:
            self.sel: Any = ALL
        elif int(lanes[-1]) - int(lanes[0]) == n - 1:
            self.sel = slice(int(lanes[0]), int(lanes[-1]) + 1)
        else:
            self.sel = lanes

    def lanes(self) -> Array:
        """The lanes' numbers."""
        return self.wave.iota if self._lanes is None else self._lanes

    def enter(self, node: Activation) -> None:
        self.node, self.table, self.v = node, node.table, node.table.v

    # ------------------------------------------- what generated code asks for

    def begin(self) -> None:
        """Choose the form to run in."""
        wave = self.wave
        if self.n == wave.live and 2 * self.n >= wave.n and wave.n >= WHOLE_FORM_LANES:
            self.whole, self.m = True, wave.n
            self.mask = None if self.n == wave.n else wave.alive
            wave.epoch += 1
        else:
            self.whole, self.m, self.mask = False, self.n, None
            self.table.fresh()

    def lane_numbers(self) -> Array:
        """The lane of each of the m places of a vector."""
        return self.wave.iota if self.whole else self.lanes()

    def shared_base(self) -> Array:
        """Where the shared memory of each place's CTA begins."""
        base = self.wave.shared_bases
        return base if self.whole else np.asarray(base[self.sel])

    def special(self, name: str) -> Array:
        """A special register."""
        x = special_vector(self.wave, name)
        return x if self.whole else take(x, self.sel)

    def frame_address(self, offset: int) -> Array:
        known = self.node.addresses
        found = known.get(offset)
        if found is None:
            found = known[offset] = np.array([(self.node.base + offset) % (1 << 64)], np.uint64)
        return found

    def give_way(self) -> None:
        """Let the others run first from the end of this segment on."""
        self.yielding = True

    def keep_waiting(self) -> None:
        """Give way because a barrier object is not ready."""
        self.yielding = self.wave.waited = True

    def stack_pointer(self) -> Array:
        """The top of the dynamic stack of each place, as a local address."""
        stack = self.wave.stack()
        return stack if self.whole else np.asarray(stack[self.sel])

    # ----------------------------------------------------- what specials ask for

    def fetch(self, value: Value, type: str = "b32") -> Array:
        """An operand in the group's lanes: a vector of n, or of one element."""
        if value.__class__ in _IN_TABLE:
            return take(self.v[self.node.plan.slot(value)], self.sel)
        if isinstance(value, SpecialRegister):
            return take(special_vector(self.wave, value.name), self.sel)
        program = self.wave.program
        if isinstance(value, Constant):
            if type == "b128":
                return program.pair(int(value.value))
            return program.constant(literal_bits(value, type), register(type))
        if isinstance(value, Symbol | SymbolOffset):
            symbol: Any = value
            offset = 0
            if isinstance(value, SymbolOffset):
                symbol, offset = value.symbol, value.offset
            space, base = program.place(self.node.plan, symbol)
            base += offset + (self.node.base if space == "local" else 0)
            return program.constant(base, np.dtype(np.uint64))
        dtype = register_dtype(value.type) if value.type is not IMM else register(type)
        return np.zeros((1, 2) if value.type.bits == 128 else 1, dtype)

    def full(self, value: Value, type: str = "b32") -> Array:
        """As `fetch`, always with n elements."""
        x = self.fetch(value, type)
        return np.broadcast_to(x, (self.n, *x.shape[1:]))

    def store(self, value: Value, x: Array) -> None:
        """Set a result in the group's lanes."""
        self.table.store(self.node.plan.slot(value), self, x)

    def divide(self, p: Array) -> tuple[LaneGroup | None, LaneGroup | None]:
        """The groups where p (n elements) holds and where not; None for an empty one."""
        if len(p) == 1 and self.n > 1:
            return (self, None) if p[0] else (None, self)
        k = int(np.count_nonzero(p))
        if k == self.n:
            return self, None
        if k == 0:
            return None, self
        lanes = self.lanes()
        other = self.wave.group(self.node, lanes[~p], self)
        self.set_lanes(lanes[p])
        return self, other

    def state(self) -> int:
        """What the lanes do next is told by this, by their place, and by memory: their values."""
        values = ((k, take(x, self.sel).tobytes()) for k, x in sorted(self.v.items()))
        return hash((self.lanes().tobytes(), *values))

    def rows(self, of: Array | None = None) -> Array:
        """Local memory, or its shadow, as a row a lane of the wave."""
        wave = self.wave
        bytes = wave.local.data if of is None else of
        return bytes[: wave.n * wave.local_stride].reshape(wave.n, wave.local_stride)

    def copy_local(self, target: int, source: int, size: int) -> None:
        """Copy bytes, and whether they were ever written."""
        if size:
            for of in (self.wave.local.data, self.wave.local.written):
                if of is not None:
                    rows = self.rows(of)
                    rows[self.sel, target : target + size] = rows[self.sel, source : source + size]

    def read_local(self, offset: int, size: int) -> Array:
        """`size` bytes (1, 2, 4 or 8) of each lane's local memory as uint64."""
        raw = np.ascontiguousarray(self.rows()[self.sel, offset : offset + size])
        return raw.view(f"u{size}")[:, 0].astype(np.uint64)

    def write_local(self, offset: int, size: int, vector: Array) -> None:
        x = np.broadcast_to(vector.astype(f"u{size}"), (self.n,))
        raw = np.ascontiguousarray(x).view(np.uint8).reshape(self.n, size)
        self.rows()[self.sel, offset : offset + size] = raw
        if self.wave.local.written is not None:
            self.rows(self.wave.local.written)[self.sel, offset : offset + size] = True
