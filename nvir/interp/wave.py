"""Waves: resident CTAs side by side as one vector of lanes, and the groups that run on them.

A group is lanes at one place (a segment, in one calling context). Groups run one at a time, the
earliest place first (plan.py's order), so lanes that took different ways wait for each other where
the ways meet, and merge. That is the fastest order but not a fair one; so a group has a `turn`, and
the least turn goes first. A group that goes round a loop too often while others wait, that sleeps,
or whose barrier object is not ready gives way: its turn becomes the last one. So every thread makes
progress, as on hardware since sm_70: a spin lock within a warp works. CTAs of all waves are
resident together where they wait for each other: a wave that only gives way hands over to the next
(grid.py).

Blocked groups (barriers, warp exchanges) are parked with what they wait on. When nothing can run
and something is parked, that is a deadlock, and each parked group is named. So it is when all that
can run goes round loops: every group has come back to its place with the values that it had there
before, and nobody has stored anything meanwhile.

Lanes   Lane = CTA * threads + thread, without padding, so that whole vectors stay whole. Warp
        operations use `warp_of` and `lane_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from nvir.interp.emit import compile_edge, compile_segment
from nvir.interp.groups import ALL, Activation, LaneGroup, LaneTable
from nvir.interp.layout import Array, align_up
from nvir.interp.leaves import real
from nvir.interp.memory import ByteRegion, Fault
from nvir.ir.errors import LaunchError

if TYPE_CHECKING:
    from nvir.interp.plan import Edge, FunctionPlan, Segment
    from nvir.interp.program import Program

STACK_LIMIT = 1 << 20  # bytes of local memory a thread
DEEPEST = 4000  # calls; a place's order is as long as its way, so that memory is its square
CALLS_LIMIT = 1 << 29  # bytes of all values that callers of a wave keep
SWEEP = 1000  # contexts from which on those that nobody is in are looked for
VAIN = 16  # times that groups give way, nothing stored meanwhile, before their values are compared
FRUITLESS = 2000  # tests of barrier objects, with nothing done between, that make a deadlock


class Wave:
    """CTAs `first` to `first + n_ctas` of a grid, resident together.

    launch      the limits and the error context (grid.py)
    n           lanes; `live` of them have not exited, `alive` says which
    epoch       counts runs in the whole form
    writes      counts stores, so that waiting can tell whether anything has changed
    stuck       whether all that can run only goes round: none but another wave can help it
    parked      blocked groups and what they wait on
    """

    def __init__(self, launch: Any, first: int, n_ctas: int) -> None:
        self.launch = launch
        self.program: Program = launch.program
        self.windows = self.program.windows
        self.arena = self.program.arena
        self.first, self.n_ctas, self.threads = first, n_ctas, launch.threads
        self.n = self.live = n_ctas * launch.threads
        self.iota = np.arange(self.n)
        self.alive = np.ones(self.n, bool)
        self.cta_of = self.iota // self.threads
        self.thread_of = self.iota % self.threads
        self.warps_per_cta = -(-self.threads // 32)
        self.warp_of = self.cta_of * self.warps_per_cta + self.thread_of // 32
        self.lane_id = self.thread_of % 32
        self.n_warps = n_ctas * self.warps_per_cta
        self.epoch = self.writes = self.yields = 0
        self.waited = False
        self.fruitless, self.written = 0, 0
        self.stuck = False
        self.returned: dict[tuple[Activation, Segment], int] = {}  # values at a place
        self.same: set[tuple[Activation, Segment]] = set()  # places with the same ones as before
        self.unchanged = (0, 0, VAIN)  # stores, times given way then, and after which to look
        self.held = 0  # bytes of the values of callers
        self.contexts, self.sweep_at = 0, SWEEP
        self.watch = launch.make_watch(self)
        self.trace = self.program.trace
        self._memory()
        self.registers: dict[str, Array] = {}
        self.parked: dict[LaneGroup, str] = {}
        self.state: dict[str, Any] = {}
        self.on_exit: list[Any] = []
        self.pool: dict[tuple[Activation, Segment], LaneGroup] = {}
        self.tables: dict[tuple[FunctionPlan, int], LaneTable] = {}
        plan = self.program.plan(self.program.kernel)
        self.root = Activation(plan, self.table(plan, 0), self.frames_start, None, None, None)
        self._reserve(self.root)
        g = LaneGroup(self, self.root, None)
        self.program.storage.start(self, g)
        self.arrive(g, plan.entry)

    def _memory(self) -> None:
        shadow = "uninit" in self.launch.check
        self.shared_size = self.launch.shared_size
        self.shared_step = -(-max(self.shared_size, 16) // 128) * 128
        self.shared = ByteRegion(self.n_ctas * self.shared_step, shadow)
        self.shared_bases = self.cta_of * self.shared_step
        self.frames_start = self.launch.stack_size
        self.local_stride = 0
        self.local = ByteRegion(16, shadow)
        self._stack: Array | None = None

    # ------------------------------------------------------------- contexts

    def table(self, plan: FunctionPlan, depth: int) -> LaneTable:
        t = self.tables.get((plan, depth))
        if t is None:
            t = self.tables[plan, depth] = LaneTable(self)
        return t

    def child(self, node: Activation, call: Any, plan: FunctionPlan) -> Activation:
        """The context of a callee."""
        found = node.children.get((call, plan))
        if found is None:
            if (plan, node.depth + 1) not in self.tables:  # contexts of a depth share a table
                self.held += sum(a.nbytes for a in node.table.v.values())
                if self.held > CALLS_LIMIT:
                    raise Fault(f"stack overflow: {node.depth} calls deep")
            base = align_up(node.base + node.plan.frame.size, plan.frame.align)
            table = self.table(plan, node.depth + 1)
            found = Activation(plan, table, base, node, call, call.after)
            node.children[call, plan] = found
            self._reserve(found)
            self.contexts += 1
            if self.contexts > self.sweep_at:
                self._sweep(found)
        return found

    def _sweep(self, entered: Activation) -> None:
        """Forget the contexts that nobody is in: calls that call twice make twice as many at each
        depth."""
        used = {self.root}
        for g in (*self.pool.values(), *self.parked):
            used.update(_callers(g.node, used))
        used.update(_callers(entered, used))
        for node in used:
            node.children = {k: x for k, x in node.children.items() if x in used}
        self.returned, self.same = {}, set()
        self.contexts = len(used)
        self.sweep_at = max(SWEEP, 2 * self.contexts)

    def _reserve(self, node: Activation) -> None:
        """Make local memory large enough for a frame."""
        need = node.base + node.plan.frame.size
        most = self.launch.max_bytes // self.n
        if need > min(STACK_LIMIT, most) or node.depth > DEEPEST:
            more = "; --max-bytes allows more" if need > most else ""
            raise Fault(f"stack overflow: {node.depth} calls deep, {need} bytes a thread{more}")
        if need <= self.local_stride:
            return
        stride = max(min(2 * self.local_stride, most // 16 * 16), align_up(need, 16))
        region = ByteRegion(self.n * stride, self.local.written is not None)
        if self.local_stride:
            for new, old in ((region.data, self.local.data), (region.written, self.local.written)):
                if new is not None and old is not None:
                    rows = old[: self.n * self.local_stride].reshape(self.n, -1)
                    new[: self.n * stride].reshape(self.n, -1)[:, : self.local_stride] = rows
        self.local, self.local_stride = region, stride

    def stack(self) -> Array:
        """The dynamic stack's top for each lane; it grows down from the first frame."""
        if self._stack is None:
            self._stack = np.full(self.n, self.frames_start, np.uint64)
        return self._stack

    def alloca(self, g: LaneGroup, size: Array, align: int, guard: Array | None) -> Array:
        """Take bytes from the dynamic stacks of the group's lanes."""
        stack = self.stack().astype(np.int64)
        here = stack if g.whole else stack[g.sel]
        top = (here - size) // align * align
        if guard is not None:
            top = np.where(guard, top, here)
        if g.mask is not None:
            top = np.where(g.mask, top, here)
        if int(top.min()) < 0:
            raise Fault(
                f"stack overflow: alloca beyond {self.frames_start} bytes", int(top.argmin())
            )
        stack[g.sel if not g.whole else ALL] = top
        self._stack = stack.astype(np.uint64)
        return np.asarray(top)

    def restore_stack(self, g: LaneGroup, pointer: Array, guard: Array | None = None) -> None:
        stack = self.stack().copy()
        here = stack if g.whole else stack[g.sel]
        top = pointer.astype(np.uint64)
        if guard is not None:
            top = np.where(guard, top, here)
        stack[ALL if g.whole else g.sel] = top
        self._stack = stack

    def cluster_base(self, c: Any, pos: Array | None, rank: Array) -> Array:
        """Where the shared memory of the CTA of a rank begins, for each place; -1 is its own."""
        lanes = c.lane_numbers() if pos is None else c.lane_numbers()[pos]
        cta, size = self.cta_of[lanes], self.launch.cluster_size
        if int(rank.max()) >= size:
            raise Fault(f"a shared address of CTA {int(rank.max())} of a cluster of {size}",
                        int(rank.argmax()))
        return np.asarray(np.where(rank < 0, cta, cta // size * size + rank) * self.shared_step)

    # ----------------------------------------------------------- the groups

    def group(self, node: Activation, lanes: Array, like: LaneGroup) -> LaneGroup:
        """A new group that stands where `like` does in the order of turns."""
        g = LaneGroup(self, node, lanes)
        g.turn, g.seg, g.order = like.turn, like.seg, like.order
        return g

    def arrive(self, g: LaneGroup, seg: Segment) -> None:
        """Put a group at a place, to run when its turn comes; merge with who is there."""
        g.seg = seg
        g.order = (*g.node.order, *seg.key)
        key = (g.node, seg)
        other = self.pool.get(key)
        if other is not None:
            g.turn = min(g.turn, other.turn)
            g.spins = min(g.spins, other.spins)
            lanes = np.concatenate((g.lanes(), other.lanes()))
            lanes.sort()
            g.set_lanes(lanes)
        self.pool[key] = g

    def park(self, g: LaneGroup, reason: str) -> None:
        """A group cannot go on; whoever parked it calls `unpark`."""
        self.parked[g] = reason

    def unpark(self, g: LaneGroup) -> None:
        self.parked.pop(g, None)

    def run(self, patience: int) -> bool:
        """Run until all lanes have exited (True), or `patience` times all gave way (False)."""
        pool = self.pool
        end = self.yields + patience
        while pool:
            if len(pool) == 1:
                key, g = next(iter(pool.items()))
            else:
                key = min(pool, key=lambda k: (pool[k].turn, pool[k].order))
                g = pool[key]
            if g.yielding:
                g.yielding = False
                self._compare(key, g)
                if self.stuck and not patience:
                    self.deadlock()
            if self.yields >= end and patience:
                return False
            del pool[key]
            self.waited = False
            self._run(g)
            self._check_waiting(g)
        if self.parked:
            self._deadlock()
        return True

    def _compare(self, key: tuple[Activation, Segment], g: LaneGroup) -> None:
        """Note whether a group that gave way has come back as it was. What counts its rounds never
        does: it is asked half as often each time."""
        self.stuck = False
        stores, since, after = self.unchanged
        if self.launch.host_stores:
            return
        if stores != self.writes:
            self.unchanged = self.writes, self.yields, VAIN
            self.returned, self.same = {}, set()
        elif self.yields - since >= after:
            now = g.state()
            if self.returned.get(key, now) != now:
                self.unchanged = stores, since, 2 * (self.yields - since)
                self.returned, self.same = {}, set()
            elif key in self.returned:
                self.same.add(key)
            self.returned[key] = now
            self.stuck = self.pool.keys() <= self.same

    def deadlock(self) -> None:
        """Say that nothing will change any more."""
        for g in self.pool.values():
            on_object = g.seg.where().form.name.startswith("mbarrier")
            self.park(g, "waiting for an mbarrier" if on_object else
                      "going round a loop in which nothing changes any more,")
        self._deadlock()

    def _check_waiting(self, g: LaneGroup) -> None:
        """Notice that all groups only test barrier objects which nobody can complete any more."""
        if not self.waited or self.writes != self.written:
            self.fruitless, self.written = 0, self.writes
            return
        self.fruitless += 1
        if self.fruitless > FRUITLESS + 2 * len(self.pool):
            for other in self.pool.values():
                self.park(other, "waiting for an mbarrier")
            self._deadlock()

    def _run(self, g: LaneGroup) -> None:
        """Run a group until it divides, blocks, gives way, or meets another."""
        launch = self.launch
        pool = self.pool
        while True:
            seg = g.seg
            if seg.first:
                seg.count += g.n
            launch.steps += seg.size
            if launch.steps > launch.pause:
                over, option = launch.over()
                if over:
                    self.fail(f"{over}{self._others()}; {option} allows more", g, seg.where())
            g.begin()
            choice = self._execute(g, seg)
            if seg.special is not None:
                self._special(g, seg)
                return
            if g.yielding:
                self._give_way(g)
            edge = self._leave(g, seg, choice)
            if edge is None:
                return
            g.seg = edge.target
            if edge.patience:
                g.spins += 1
                if g.spins >= edge.patience:
                    self._give_way(g)
            if pool or g.yielding:
                self.arrive(g, edge.target)
                return

    def _execute(self, g: LaneGroup, seg: Segment) -> Any:
        code = seg.whole if g.whole else seg.part
        if code is None:
            code = compile_segment(seg, g.whole)
            if g.whole:
                seg.whole = code
            else:
                seg.part = code
        code.left -= 1
        if not code.left:
            code.compile()
        try:
            return code.run(g, g.v, g.sel)
        except Fault as fault:
            self.fail(fault.message, g, self._guilty(fault, code), fault)

    def _guilty(self, fault: Fault, code: Any) -> Any:
        tb = fault.__traceback__
        while tb is not None:
            found = code.guilty(tb.tb_frame, tb.tb_lineno)
            if found is not None:
                return found
            tb = tb.tb_next
        return None

    def _special(self, g: LaneGroup, seg: Segment) -> None:
        g.whole, g.m, g.mask = False, g.n, None  # specials see the group's own lanes
        if self.trace is not None and seg.special.instruction is not None:
            self.trace(g, seg.special.instruction, ())
        yielding, g.yielding = g.yielding, False
        if yielding:
            self._give_way(g)
        try:
            seg.special.run(self, g)
        except Fault as fault:
            self.fail(fault.message, g, seg.special.instruction, fault)

    def _give_way(self, g: LaneGroup) -> None:
        g.yielding = True
        g.spins = 0
        self.yields += 1
        if self.pool:
            g.turn = max(g.turn, *(o.turn for o in self.pool.values()), 0) + 1

    # ------------------------------------------------------------ terminators

    def _leave(self, g: LaneGroup, seg: Segment, choice: Any) -> Edge | None:
        """Follow the terminator: the edge that all lanes take, or None when that is settled."""
        term = seg.term
        assert term is not None
        name = term.form.name
        if name in ("bra", "br"):
            edges = seg.edges or seg.plan.edges(seg)
            if choice is None:
                return self._follow(g, edges[0])
            inside, outside = self._branch(g, choice)
            if outside is None:
                return self._follow(g, edges[0])
            if inside is None:
                return self._follow(g, edges[1])
            self._send(inside, edges[0])
            self._send(outside, edges[1])
            return None
        if name in ("brx.idx", "switch"):
            return self._indexed(g, seg, choice)
        if choice is not None:
            inside, outside = self._branch(g, choice)
            if inside is not None:
                self._end(inside, seg)
            if outside is not None:
                self._send(outside, (seg.edges or seg.plan.edges(seg))[0])
            return None
        self._end(g, seg)
        return None

    def _branch(self, g: LaneGroup, p: Array) -> tuple[LaneGroup | None, LaneGroup | None]:
        if len(p) == 1:
            return (g, None) if p[0] else (None, g)
        if g.mask is not None:
            p = p[g.sel]
        k = int(np.count_nonzero(p))
        if k == g.n:
            return g, None
        if k == 0:
            return None, g
        return g.divide(p)

    def _follow(self, g: LaneGroup, edge: Edge) -> Edge:
        if edge.moves:
            if g.whole:
                if edge.whole is None:
                    edge.whole = compile_edge(g.node.plan, edge, True)
                _run(edge.whole, g)
            else:
                if edge.part is None:
                    edge.part = compile_edge(g.node.plan, edge, False)
                _run(edge.part, g)
        return edge

    def _send(self, g: LaneGroup, edge: Edge) -> None:
        """Follow an edge after a division, and wait at its end."""
        g.whole, g.m, g.mask = False, g.n, None
        self.fresh(g)
        self._follow(g, edge)
        if edge.patience:
            g.spins += 1
            if g.spins >= edge.patience:
                self._give_way(g)
        self.arrive(g, edge.target)

    def fresh(self, g: LaneGroup) -> None:
        g.table.fresh()

    def _indexed(self, g: LaneGroup, seg: Segment, index: Array) -> Edge | None:
        edges = seg.edges or seg.plan.edges(seg)
        if len(index) == 1:
            which = int(index[0])
            if which >= len(edges):
                self.fail(f"entry {which} of a jump table of {len(edges)}", g, seg.term)
            return self._follow(g, edges[which])
        if g.mask is not None:
            index = index[g.sel]
        lanes = g.lanes()
        for which in np.unique(index).tolist():
            here = lanes[index == which]
            if which >= len(edges):
                g.set_lanes(here)
                self.fail(f"entry {which} of a jump table of {len(edges)}", g, seg.term)
            self._send(self.group(g.node, here, g), edges[which])
        return None

    def _end(self, g: LaneGroup, seg: Segment) -> None:
        """Return from a call, or end the threads."""
        term = seg.term
        assert term is not None
        node = g.node
        if term.form.name == "ret" and node.parent is not None:
            g.whole, g.m, g.mask = False, g.n, None
            values = term.operands[1 if term.guard is not None else 0 :]
            returned = [g.fetch(x, t) for v in values for x, t in node.plan.typed_leaves(v)]
            if node.table.saved_stack is not None:
                stack = self.stack()
                stack[g.sel] = node.table.saved_stack[g.sel]
            node.call.leave(self, g, returned)
            return
        self.exit(g)

    def exit(self, g: LaneGroup) -> None:
        """End the threads of a group."""
        lanes = g.lanes()
        self.alive = self.alive.copy()
        self.alive[lanes] = False
        self.live -= g.n
        for hook in tuple(self.on_exit):
            hook(self)

    # ---------------------------------------------------------------- errors

    def place_of(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(CTA, thread) coordinates of a lane."""
        cta = self.first + int(self.cta_of[lane])
        place: tuple[Any, Any] = self.launch.coordinates(cta, int(self.thread_of[lane]))
        return place

    def fail(self, message: str, g: LaneGroup, i: Any, fault: Fault | None = None) -> None:
        """Raise the LaunchError of a fault."""
        lane = fault.lane if fault is not None else None
        if lane is None and fault is not None and fault.position is not None:
            lane = int(g.lane_numbers()[min(fault.position, g.m - 1)])
        if lane is None:
            lane = int(g.lanes()[0])
        cta, thread = self.place_of(lane)
        raise LaunchError(
            message,
            kernel=str(self.program.kernel.name),
            cta=cta,
            thread=thread,
            instruction="" if i is None else describe(i),
            line=getattr(i, "line", 0) or None,
            address=None if fault is None else fault.address,
            source=self.program.source_of(i),
            place=("", 0, 0) if i is None else self.program.place_of(i),
        ) from fault

    def _others(self) -> str:
        """Who waits while a group runs on, in few words."""
        said = [f"{g.n} threads are {reason}" for g, reason in islice(self.parked.items(), 2)]
        return f" while {' and '.join(said)}" if said else ""

    def _deadlock(self) -> None:
        lines = []
        for g, reason in self.parked.items():
            i = g.seg.where()
            if g.seg.special is not None and reason != "waiting for an mbarrier":
                i = g.seg.special.instruction
            cta, thread = self.place_of(int(g.lanes()[0]))
            place = f"line {i.line}: " if i.line else ""
            source = self.program.source_of(i)
            lines.append(
                f"    {g.n} threads of {self.program.kernel.name}, first block {cta} thread "
                f"{thread}, {reason} at\n        {place}{describe(i)}"
                + (f"\n        {source}" if source else "")
            )
        raise LaunchError(
            "deadlock: no thread can go on\n" + "\n".join(lines),
            kernel=str(self.program.kernel.name),
        )


def _callers(node: Activation | None, known: set[Activation]) -> Iterator[Activation]:
    """A context and those that it was called from, up to one that is known."""
    while node is not None and node not in known:
        yield node
        node = node.parent


def _run(code: Any, g: LaneGroup) -> None:
    code.left -= 1
    if not code.left:
        code.compile()
    code.run(g, g.v, g.sel)


def describe(i: Any) -> str:
    """An instruction as PTX, by the names of its source registers."""
    i = real(i)
    form = i.form
    if form.op.level == "nvvm":
        return " ".join(str(i).split())
    names = [str(r.name or "_") for r in i.results] + [str(v.name or "?") for v in i.operands]
    if form.is_call:
        callee = i.aux.callee.name if i.aux.callee is not None else i.operands[0].name
        return f"{form.spelling} {callee}"
    if form.n_results < 0 or form.is_phi:
        return f"{form.spelling} {', '.join(names)}"
    shown = names if form.order is None else [names[k] for k in form.order]
    want = form.ptx.count("%s")
    text = form.ptx % tuple(shown[:want]) if len(shown) >= want else form.spelling
    return " ".join(text.split())
