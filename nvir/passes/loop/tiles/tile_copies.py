"""Stores of a tile as asynchronous copies: which bytes come from which load, and under which guard.

    ld.global.v4.f32 {%a, %b, %c, %d}, [%p];       cp.async.cg.shared.global [%q], [%p], 16;
    st.shared.v4.f32 [%q], {%a, %b, %c, %d};  ==>

    @%out bra J          (else arm: ld %v, [%p])   J: %n = phi [0, …], [4, arm]
    J: %x = phi [0, …], [%v, arm]             ==>     cp.async.ca.shared.global [%q], [%p], 4, %n;
       st.shared.f32 [%q], %x

A stored element has a `Shape`: a load; 0; or the choice of a phi, a select or a guard among these,
with one load in all. Neighbouring elements of one shape are one `CopyPiece` of 4, 8 or 16 bytes,
never more than the load and the store themselves moved at once, so its alignment is theirs: an
access of PTX is aligned to its size. Where the choice falls on 0 the copy reads no byte and fills
with zero.

Cost     linear in the stored elements and the phis between.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from nvir.analysis.induction import constant_of
from nvir.ir import SCALARS, Block, Builder, Constant, Instruction, Value, form, integer
from nvir.passes.loop.tiles.reasons import TileReason, TileRefused

_PLAIN = frozenset((
    "global", "nc", "weak", "ca", "cg", "cs", "lu", "v2", "v4", "v8", "L1::evict_normal",
    "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B",
    "L2::128B", "L2::256B",
))  # modifiers of a load that say nothing about its value
_STORE = frozenset(("shared", "shared::cta", "weak", "v2", "v4", "v8"))


@attrs.frozen(eq=False)
class Load:
    """Elements of a load: the leaf of a shape."""

    load: Instruction


@attrs.frozen(eq=False)
class Zero:
    """Nothing is read, the bytes are 0."""


@attrs.frozen(eq=False)
class CopyChoice:
    """A phi, or a select or guard (with the predicate), among shapes. One load in all of them.

    at      the phi, or the instruction that selects
    arms    a shape for each operand: of the phi in its order; else where true and where false
    known   the base of the load's address is there at `at`, whichever arm was taken
    """

    at: Instruction
    arms: tuple[Shape, ...]
    known: bool


Shape = Load | Zero | CopyChoice
ZERO = Zero()


@attrs.frozen(eq=False)
class CopyPiece:
    """`size` bytes at `offset` of a store that come from `source` bytes into a load."""

    offset: int
    size: int
    shape: Shape
    source: int

    @property
    def load(self) -> Instruction:
        found = load_of(self.shape)
        assert found is not None
        return found


@attrs.frozen(eq=False)
class Store:
    """A store of a tile. `pieces` empty: it stays a store, of a value that no load makes."""

    store: Instruction
    pieces: tuple[CopyPiece, ...]

    @property
    def bytes(self) -> int:
        return width(self.store) * len(stored(self.store))


def width(i: Instruction) -> int:
    """Bytes of an element of a load or store."""
    return max(i.form.type.bits // 8, 1) if i.form.type is not None else 1


def stored(store: Instruction) -> tuple[Value, ...]:
    """The values that a store writes, in the order of their addresses."""
    base, offset = store.form.addresses[0]
    return store.operands[max(base, offset) + 1 : store.form.n_sources]


def address(i: Instruction, k: int = 0) -> tuple[Value, int]:
    """Base and literal offset of an access."""
    base, offset = i.form.addresses[k]
    if offset < 0:
        return i.operands[base], 0
    literal = i.operands[offset]
    if not isinstance(literal, Constant) or not isinstance(literal.value, int):
        raise TileRefused(TileReason.ADDRESS, i.form.spelling)
    return i.operands[base], literal.value


def load_of(shape: Shape) -> Instruction | None:
    """The load of a shape, or None if it is 0 always."""
    work = [shape]
    while work:
        s = work.pop()
        if isinstance(s, Load):
            return s.load
        if isinstance(s, CopyChoice):
            work += s.arms
    return None


def needed(shape: Shape) -> list[Value]:
    """What a copy of this shape needs: the load's address, predicates, the phis' branches."""
    out: list[Value] = []
    work = [shape]
    while work:
        s = work.pop()
        if isinstance(s, Load):
            i = s.load
            out += [o for k, o in enumerate(i.operands) if k < i.form.n_sources]
            if i.guard is not None:
                out.append(i.guard)
        elif isinstance(s, CopyChoice):
            work += s.arms
            if s.at.form.name == "selp":
                out.append(s.at.operands[2])
    return out


class Shapes:
    """Shapes of the values that the loading part stores.

    inside   whether an instruction belongs to the part
    """

    def __init__(self, inside: Callable[[Instruction], bool], header: Block) -> None:
        self.inside, self.header = inside, header
        self._known: dict[Value, tuple[Shape, int] | None] = {}
        self._same: dict[tuple[object, ...], CopyChoice] = {}
        self._loads: dict[Instruction, Load] = {}
        self.through: set[Instruction] = set()  # what lies between loads and stores

    def store(self, store: Instruction) -> Store:
        """How a store is made asynchronous. Raises TileRefused."""
        f = store.form
        spelling = f.spelling
        if any(m not in _STORE for m in f.mods if m not in SCALARS) or f.volatile:
            raise TileRefused(TileReason.OPERATION, spelling)
        values = stored(store)
        found = [self.of(v, store) for v in values]
        if all(s is None or isinstance(s[0], Zero) for s in found):
            if any(self._is_loaded(v) for v in values):
                raise TileRefused(TileReason.CONVERTED, spelling)
            return Store(store, ())
        if any(s is None for s in found):
            raise TileRefused(TileReason.CONVERTED, spelling)
        return Store(store, _pieces(store, [s for s in found if s is not None]))

    def of(self, value: Value, store: Instruction, depth: int = 32) -> tuple[Shape, int] | None:
        """(shape, byte of the load at which the element begins), or None for another value."""
        if value in self._known:
            return self._known[value]
        found = self._of(value, store, depth) if depth else None
        self._known[value] = found
        return found

    def _of(self, value: Value, store: Instruction, depth: int) -> tuple[Shape, int] | None:
        if constant_of(value) == 0:
            return ZERO, 0
        d = value.definer
        if d is None or not self.inside(d):
            return None
        f = d.form
        if f.name == "mov" and len(d.operands) == 1 and f.guard is None:
            self.through.add(d)
            return self.of(d.operands[0], store, depth - 1)
        if f.name == "ld":
            return self._load(d, value, store)
        if f.is_phi and d.block is not self.header:
            arms = [self.of(v, store, depth - 1) for v in d.operands]
            return self._choice(d, (d.block, *d.aux), arms)
        if f.name == "selp" and f.guard is None:
            arms = [self.of(v, store, depth - 1) for v in d.operands[:2]]
            return self._choice(d, ("selp", d.operands[2]), arms)
        return None

    def _load(self, d: Instruction, value: Value, store: Instruction) -> tuple[Shape, int] | None:
        f = d.form
        if f.space != "global":
            return None
        plain = all(m in _PLAIN or m in SCALARS for m in f.mods)
        if not plain or f.pinned or f.sync or f.volatile:
            raise TileRefused(TileReason.SPACE, f.spelling)
        k = d.results.index(value)
        leaf = self._loads.setdefault(d, Load(d))
        at = k * width(d)
        if width(d) != width(store) or d.results[k].type.bits > 8 * width(d):
            raise TileRefused(TileReason.CONVERTED, store.form.spelling)
        if f.guard is None:
            return leaf, at
        if store.form.guard == f.guard and store.guard is d.guard:
            return leaf, at  # both run or neither
        if constant_of(d.fallbacks[k]) != 0:
            raise TileRefused(TileReason.GUARD, store.form.spelling)
        return self._choice(d, ("guard", d), [(leaf, at), (ZERO, 0)])

    def _choice(
        self, d: Instruction, key: tuple[object, ...], arms: list[tuple[Shape, int] | None]
    ) -> tuple[Shape, int] | None:
        known = [a for a in arms if a is not None]
        at = {k for s, k in known if not isinstance(s, Zero)}
        loads = {load_of(s) for s, _ in known} - {None}
        if not loads:
            return (ZERO, 0) if len(known) == len(arms) else None
        if len(known) < len(arms) or len(loads) > 1 or len(at) > 1:
            raise TileRefused(TileReason.GUARD, d.form.spelling)
        self.through.add(d)
        shapes = tuple(s for s, _ in known)
        if all(s is shapes[0] for s in shapes):
            return shapes[0], at.pop()
        load = next(x for x in loads if x is not None)
        reached = not d.is_phi or _reaches(address(load)[0], d)
        made = self._same.setdefault((*key, *map(id, shapes)), CopyChoice(d, shapes, reached))
        return made, at.pop()

    def _is_loaded(self, value: Value) -> bool:
        """Whether a value is computed from what the part loads from global memory."""
        work, seen = [value], set()
        while work:
            d = work.pop().definer
            if d is None or d in seen or not self.inside(d) or (
                d.is_phi and d.block is self.header
            ):
                continue
            seen.add(d)
            if d.form.reads and not d.form.space.startswith(("param", "const")):
                return True
            work += d.operands
        return False


def _pieces(store: Instruction, elements: list[tuple[Shape, int]]) -> tuple[CopyPiece, ...]:
    """The largest pieces, from the first element on, that load and store both move at once."""
    size = width(store)
    total = size * len(elements)
    out: list[CopyPiece] = []
    k = 0
    while k < len(elements):
        shape, at = elements[k]
        load = load_of(shape)
        if load is None:
            raise TileRefused(TileReason.CONVERTED, store.form.spelling)
        most = min(total, width(load) * len(load.results))
        for bytes in (16, 8, 4):
            n = bytes // size
            run = elements[k : k + n]
            if (
                n and len(run) == n and bytes <= most and k * size % bytes == 0
                and at % bytes == 0
                and all(s is shape and o == at + m * size for m, (s, o) in enumerate(run))
            ):
                out.append(CopyPiece(k * size, bytes, shape, at))
                k += n
                break
        else:
            raise TileRefused(TileReason.SIZE, store.form.spelling)
    return tuple(out)


class Writer:
    """Writes the copies of stores in a copied part.

    copies    original instruction or block -> its copy (see `clone_blocks`)
    """

    def __init__(self, copies: dict[object, object]) -> None:
        self.copies = copies
        self._sizes: dict[tuple[CopyChoice, int], Value] = {}
        self._bases: dict[CopyChoice, Value] = {}

    def write(self, piece: CopyPiece, b: Builder, target: tuple[Value, int]) -> None:
        """One copy at the builder's place, to base and offset."""
        load = piece.load
        base = self._base(piece.shape)
        at = address(load)[1] + piece.source
        size = self._size(piece.shape, piece.size)
        kind = "cg" if piece.size == 16 else "ca"
        rest = () if size is None else (size,)
        b.op(
            f"cp.async.{kind}.shared.global", (target[0], target[1] + piece.offset), (base, at),
            piece.size, *rest,
        )

    def base(self, piece: CopyPiece) -> Value:
        """The base of the address that a piece is copied from."""
        return self._base(piece.shape)

    def _size(self, shape: Shape, full: int) -> Value | None:
        """The bytes that are read; None: all."""
        if isinstance(shape, Load):
            return None
        if isinstance(shape, Zero):
            return integer(0)
        key = (shape, full)
        if key not in self._sizes:
            arms = [self._size(s, full) or integer(full) for s in shape.arms]
            self._sizes[key] = self._pick(shape, arms, "b32")
        return self._sizes[key]

    def _base(self, shape: Shape) -> Value:
        """The base of the load's address; where nothing is read, any."""
        if isinstance(shape, Load):
            return self._copy(address(shape.load)[0])
        assert isinstance(shape, CopyChoice)
        if shape not in self._bases:
            load = load_of(shape)
            assert load is not None
            base = address(load)[0]
            if shape.known:
                self._bases[shape] = self._copy(base)
            else:
                arms = [
                    integer(0) if isinstance(s, Zero) else self._base(s) for s in shape.arms
                ]
                self._bases[shape] = self._pick(shape, arms, base.type.name)
        return self._bases[shape]

    def _pick(self, shape: CopyChoice, arms: list[Value], type: str) -> Value:
        at = shape.at
        here = self.copies[at]
        assert isinstance(here, Instruction)
        if at.is_phi:
            assert here.block is not None
            new = Instruction(form("phi"), tuple(arms), SCALARS[type], None, here.aux)
            return here.block.insert_phi(new)
        if at.form.name == "selp":
            p, negated = here.operands[2], False
        else:
            assert here.guard is not None
            p, negated = here.guard, here.form.guard == "!"
        if negated:
            arms = arms[::-1]
        b = Builder.ahead_of(here)
        return b.compute(f"selp.{type}", arms[0], arms[1], p)

    def _copy(self, value: Value) -> Value:
        found = self.copies.get(value, value)
        assert isinstance(found, Value)
        return found


def _reaches(value: Value, phi: Instruction) -> bool:
    """Whether a value is known wherever the phi is (in the original code, annotated)."""
    d = value.definer
    if d is None or d.block is None:
        return True
    assert phi.block is not None
    return d.block is not phi.block and d.block.dominates(phi.block)
