"""Building `ori` code by hand.

    m = Module(target="sm_80")
    f = m.kernel("scale", params=[("a", "ptr.global.f32"), ("n", "u32")])
    a, n = f.params
    b = Builder(f.block("entry"))
    done, work = f.block("done"), f.block("work")
    i = b.global_id()
    b.cond_br(b.setp("ge", i, n, type="u32"), done, work)
    b.at_end(work)
    x = b.load("global.f32", b.element(a, i, size=4))
    ...

Every opcode row is a method: its mnemonic with `_` for `.`, operands in PTX's
order, `type=` the modifiers (`b.fma(x, y, z, type="rn.f32")`,
`b.shfl_sync(v, 16, 31, -1, type="bfly.b32")`). Python numbers become literals of the
instruction's type, a list a vector operand, a parameter the value that it holds.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from nvir.ir.block import Block
from nvir.ir.builder.literals import float_constant
from nvir.ir.builder.operations import Operations, method_of, type_of
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Location
from nvir.ir.opcodes import ADDRESS, DEF, ORI, TIED, UNKNOWN, Op, Operand
from nvir.ir.opcodes.form import Form, form, load_rows
from nvir.ir.special import special_register
from nvir.ir.symbols import Param
from nvir.ir.types import SCALARS, VOID, ScalarType, Type
from nvir.ir.values import Value, integer, undef

_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


class Builder(Operations):
    """Appends instructions to a block, or places them before an instruction.

    block, before   where the next instruction goes (`before` None: at the end)
    loc             the source location that new instructions get
    """

    def __init__(self, block: Block, before: Instruction | None = None) -> None:
        self.block = block
        self.before = before
        self.loc: Location | None = None
        self._guard: tuple[Value, str] | None = None

    # --------------------------------------------------------- placing

    @classmethod
    def ahead_of(cls, instruction: Instruction) -> Self:
        """A builder that places its instructions before one that stands in a block."""
        if instruction.block is None:
            raise ValueError("the instruction is in no block")
        return cls(instruction.block, instruction)

    @property
    def function(self) -> Function:
        return self.block.function

    def at_end(self, block: Block) -> Builder:
        """Go on at the end of `block`."""
        self.block, self.before = block, None
        return self

    def at(self, before: Instruction) -> Builder:
        """Go on before an instruction."""
        if before.block is None:
            raise ValueError("the instruction is in no block")
        self.block, self.before = before.block, before
        return self

    def insert(self, instruction: Instruction) -> Instruction:
        """Place a made instruction here."""
        if self.loc is not None and instruction.loc is None:
            instruction.loc = self.loc
        if self.before is None:
            return self.block.append(instruction)
        instruction.insert_before(self.before)
        return instruction

    @contextmanager
    def guard(self, predicate: Any, negated: bool = False) -> Iterator[None]:
        """Instructions inside run only where `predicate` holds (`negated`: does not).

        A result's value elsewhere is `otherwise=` of its instruction, undef without.
        """
        before = self._guard
        self._guard = (self.value(predicate), "!" if negated else "")
        try:
            yield
        finally:
            self._guard = before

    # ---------------------------------------------------------- values

    def value(self, x: Any, type: Type | None = None) -> Value:
        """An operand as a value: numbers as literals of `type`, parameters as what they hold."""
        if isinstance(x, Param):
            return self.parameter(x)
        if isinstance(x, Value):
            return x
        if isinstance(x, bool):
            return integer(int(x))
        if isinstance(x, int | numbers.Integral):
            n = int(x)
            if type is not None and type.name in ("f32", "f64"):
                return float_constant(float(n), type)
            if not -(1 << 63) <= n < 1 << 64:
                raise NvirError(f"the literal {n} does not fit in 64 bits")
            return integer(n)
        if isinstance(x, float | numbers.Real):  # numpy's scalars as well
            return float_constant(float(x), type if type is not None else SCALARS["f32"])
        raise TypeError(f"an operand is a value or a number, not {x.__class__.__name__}")

    def parameter(self, p: Param) -> Value:
        """The value of a `.param` parameter, loaded once at the head of the entry block.

        A pointer (`"ptr.global.f32"`) is also converted to its state space.
        """
        f = self.function
        known = f.loaded_params.get(p)
        if known is not None and known.block is not None:
            return known
        kind = p.element_type
        name = f"%{p.attributes.get('name', p.name)}"
        load = Instruction(form(f"ld.param.{kind.name}", "%s, [%s]"), (p,), kind, name)
        made = [load]
        space = p.attributes.get("points", "").split(".")[0]
        if space in ("global", "shared", "local", "const"):
            to_space = form(f"cvta.to.{space}.{kind.name}", "%s, %s")
            made.append(Instruction(to_space, (load,), kind, name))
        last = next((v for v in reversed(f.loaded_params.values()) if v.block is f.entry), None)
        for i in made:
            if last is not None:
                i.insert_after(last)
            elif (first := f.entry.first_non_phi) is not None:
                i.insert_before(first)
            else:
                f.entry.append(i)
            last = i
        f.loaded_params[p] = made[-1]
        return made[-1]

    # ------------------------------------------------------ any opcode

    def compute(self, spelling: str, *operands: Any) -> Value:
        """The result of an instruction that has one, by its spelling as `op` takes it."""
        result = self.op(spelling, *operands)
        if not isinstance(result, Value) or result.type is VOID:
            raise NvirError(f"{spelling} has not one result")
        return result

    def op(self, spelling: str, *operands: Any, n: int | None = None, pair: bool = False,
           name: str | None = None, otherwise: Any = None, offset: int = 0) -> Any:
        """Any instruction by its PTX spelling and source operands, in PTX's order.

        n           results of a vector destination, where the spelling does not say
        pair        also the second, predicate result of `d|p`
        name        register name hint of the result
        otherwise   the results' value where the guard is false
        offset      of the first address operand, in bytes
        Returns the result, a tuple of several, or the instruction if it has none.
        """
        row = _row_of(spelling)
        sign = self._guard[1] if self._guard is not None else None
        f, values = self._fill(spelling, row, operands, n, pair, offset, sign)
        if f.carry_in or any(o.role == TIED for o in row.operands):
            raise NvirError(f"{spelling}: give tied and carry operands through Instruction(...)")
        if self._guard is not None:
            values.append(self._guard[0])
            values.extend(self._fallbacks(f, otherwise))
        i = Instruction(f, tuple(values))
        if f.n_results:
            i.set_results(f.result_types, [name] * f.n_results)
        self.insert(i)
        results = i.results
        return results[0] if len(results) == 1 else results or i

    def _fill(
        self, spelling: str, row: Op, operands: Sequence[Any], n: int | None, pair: bool,
        offset: int, sign: str | None,
    ) -> tuple[Form, list[Value]]:
        """The form of a spelling over these operands, and the written sources' values."""
        mods = spelling.split(".")
        type = next((SCALARS[m] for m in reversed(mods) if m in SCALARS), None)
        parts, values = [], []
        positions = [o for o in row.operands if o.role != DEF]
        if row is not UNKNOWN and not row.is_call and all(o.role != TIED for o in positions):
            _check_count(spelling, positions, operands)
        if any(o.role == DEF for o in row.operands):
            parts.append(_result_shape(n or next((_VECTORS[m] for m in mods if m in _VECTORS), 1),
                                       pair))
        for k, x in enumerate(operands):
            o = positions[min(k, len(positions) - 1)] if positions else None
            if o is not None and o.role == ADDRESS:
                base = x if isinstance(x, tuple) else (x, offset)
                at, inside = base[0], base[1]
                if isinstance(inside, list):  # [t, {x, y}]
                    elements = [self.value(e, type) for e in inside]
                    parts.append("[%s, {" + ", ".join(["%s"] * len(elements)) + "}]")
                    values += [self._address(at), *elements]
                else:
                    parts.append("[%s+%s]" if inside else "[%s]")
                    values += [self._address(at), *([integer(inside)] if inside else [])]
                offset = 0
            elif isinstance(x, list | tuple):
                parts.append("{" + ", ".join(["%s"] * len(x)) + "}")
                values += [self.value(e, type) for e in x]
            else:
                parts.append("%s")
                values.append(self.value(x, type))
        return form(spelling, ", ".join(parts), sign), values

    def _address(self, x: Any) -> Value:
        if isinstance(x, Param) and x not in self.function.params:
            return x  # a call's parameter is an address; one of the function a value
        return self.value(x)

    def _fallbacks(self, f: Form, otherwise: Any) -> list[Value]:
        if otherwise is None:
            return [undef(t) for t in f.result_types]
        given = list(otherwise) if isinstance(otherwise, list | tuple) else [otherwise]
        if len(given) != f.n_results:
            raise NvirError(f"{f.spelling} has {f.n_results} results, {len(given)} fallbacks given")
        return [self.value(v, t) for v, t in zip(given, f.result_types, strict=True)]

    def __getattr__(self, mnemonic: str) -> Callable[..., Any]:
        """The method of an opcode row; made once, then found on the class."""
        if mnemonic.startswith("__"):
            raise AttributeError(mnemonic)
        load_rows()
        name = mnemonic.rstrip("_").replace("_", ".")
        if name not in ORI and ORI.find(name) is None:
            import difflib

            near = difflib.get_close_matches(name, list(ORI.rows), 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise AttributeError(f"no opcode {name!r}{hint}")
        method = method_of(name)
        setattr(Builder, mnemonic, method)
        bound: Callable[..., Any] = method.__get__(self)
        return bound

    # ------------------------------------------------- control and phis

    def phi(self, type: str | Type, name: str | None = None) -> Instruction:
        """A phi at the block's head; give it values by `phi.add(value, block)`."""
        if isinstance(type, str) and type not in SCALARS:
            raise NvirError(f"no type is spelled {type!r}")
        t = SCALARS[type] if isinstance(type, str) else type
        return self.block.insert_phi(Instruction(form("phi"), (), t, name, ()))

    def br(self, target: Block) -> Instruction:
        return self.insert(Instruction(form("bra"), aux=(target,)))

    def cond_br(
        self, predicate: Any, then: Block, otherwise: Block, negated: bool = False
    ) -> Instruction:
        """Go to `then` where the predicate holds (`negated`: does not), else to `otherwise`."""
        f = form("bra", "", "!" if negated else "")
        return self.insert(Instruction(f, (self.value(predicate),), aux=(then, otherwise)))

    def ret(self) -> Instruction:
        return self.insert(Instruction(form("ret"), aux=()))

    def exit(self) -> Instruction:
        return self.insert(Instruction(form("exit"), aux=()))

    def call(self, callee: Function, arguments: Sequence[Any] = (), uniform: bool = True) -> Any:
        """Call a function by the `.param` convention of PTX; returns its result, or None."""
        f = self.function
        if len(arguments) != len(callee.params):
            raise NvirError(
                f"{callee.name} takes {len(callee.params)} arguments, {len(arguments)} given"
            )
        types = [_param_type(p) for p in (*callee.params, *callee.returns)]
        k = sum(isinstance(v, Param) for v in f.locals)
        passed = []
        for p, x, type in zip(callee.params, arguments, types, strict=False):
            local = Param(f"param{k}", p.value_type, align=p.align)
            k += 1
            f.locals.append(local)
            self.op(f"st.param.{type}", local, x)
            passed.append(local)
        returned = []
        for r in callee.returns:
            local = Param(f"retval{k}", r.value_type, align=r.align)
            f.locals.append(local)
            returned.append(local)
        info = CallInfo(len(passed), callee=callee, return_params=tuple(returned))
        self.insert(Instruction(form("call.uni" if uniform else "call"), tuple(passed), aux=info))
        if not returned:
            return None
        return self.op(f"ld.param.{types[-1]}", returned[0])

    # ---------------------------------------------------- conveniences

    def load(self, what: str, address: Any, offset: int = 0, **kw: Any) -> Any:
        """`b.load("global.v2.f32", address, offset)`: the value, or a tuple of a vector."""
        return self.op(f"ld.{what}", address, offset=offset, **kw)

    def store(self, what: str, address: Any, value: Any, offset: int = 0) -> Instruction:
        """`b.store("global.f32", address, value, offset)`; a list for a vector."""
        return self.op(f"st.{what}", address, value, offset=offset)  # type: ignore[no-any-return]

    def mul(self, x: Any, y: Any, type: str | None = None, **kw: Any) -> Any:
        """A product; of integers the low half, where `type` names no other."""
        return self._product("mul", (x, y), type, kw)

    def mad(self, x: Any, y: Any, z: Any, type: str | None = None, **kw: Any) -> Any:
        """`x·y + z`; of integers the low half, where `type` names no other."""
        return self._product("mad", (x, y, z), type, kw)

    def _product(
        self, name: str, operands: tuple[Any, ...], type: str | None, kw: dict[str, Any]
    ) -> Any:
        type = type or type_of(*operands)
        if type in SCALARS and SCALARS[type].kind in "us":
            name = f"{name}.lo"
        method = _products.get(name)
        if method is None:
            method = _products[name] = method_of(name)
        return method(self, *operands, type=type, **kw)

    def setp(self, compare: str, x: Any, y: Any, type: str | None = None, **kw: Any) -> Any:
        """`b.setp("lt", x, y, type="s32")`: a predicate."""
        return self.op(f"setp.{compare}.{type or type_of(x, y)}", x, y, **kw)

    def cvt(self, x: Any, modifiers: str, **kw: Any) -> Any:
        """`b.cvt(x, "rn.f32.s32")`: rounding, destination type, source type."""
        return self.op(f"cvt.{modifiers}", x, **kw)

    def special(self, name: str, type: str | None = None) -> Value:
        """The value of a special register, e.g. `b.special("tid.x")`."""
        r = special_register(f"%{name.lstrip('%')}")
        if r is None:
            raise NvirError(f"no special register is named {name!r}")
        f = form(f"mov.{type or r.type.name}", "%s, %s", None, r.volatile)
        return self.insert(Instruction(f, (r,), r.type))

    def global_id(self, axis: str = "x") -> Value:
        """`ctaid·ntid + tid` along an axis, as u32."""
        ctaid, ntid, tid = (self.special(f"{s}.{axis}") for s in ("ctaid", "ntid", "tid"))
        return self.compute("mad.lo.u32", ctaid, ntid, tid)

    def element(self, base: Any, index: Any, size: int) -> Value:
        """The address of element `index` (32 bits) of an array with elements of `size` bytes."""
        i = self.value(index)
        wide = self.op("mul.wide.s32" if i.type.name[0] == "s" else "mul.wide.u32", i, size)
        return self.compute("add.s64", self.value(base), wide)

    def symbol_address(self, symbol: Value, type: str = "u32") -> Value:
        """The address of a variable in its own space, in a register."""
        return self.compute(f"mov.{type}", symbol)

    def barrier(self, number: int = 0) -> Instruction:
        return self.op("bar.sync", number)  # type: ignore[no-any-return]


_products: dict[str, Callable[..., Any]] = {}


def _row_of(spelling: str) -> Op:
    load_rows()
    found = ORI.find(spelling)
    if found is None:
        raise NvirError(f"no opcode is spelled {spelling!r}")
    return found[0]


def _check_count(spelling: str, positions: Sequence[Operand], given: Sequence[Any]) -> None:
    least = sum(not (o.optional or o.variadic) for o in positions)
    most = len(positions)
    if len(given) < least or (len(given) > most and not any(o.variadic for o in positions)):
        wanted = str(most) if least == most else f"{least} to {most}"
        raise NvirError(f"{spelling} takes {wanted} operands, {len(given)} given")


def _result_shape(n: int, pair: bool) -> str:
    if pair:
        return "%s|%s"
    return "%s" if n == 1 else "{" + ", ".join(["%s"] * n) + "}"


def _param_type(p: Any) -> str:
    """The modifier that moves a parameter: its type, or its class where that is none of `ld`."""
    t = p.value_type if isinstance(p, Param) else None
    if not isinstance(t, ScalarType):
        raise NvirError(f"parameter {p.name}: Builder.call passes scalars in .param space only")
    return t.cls.name if t.bits < 32 else t.name
