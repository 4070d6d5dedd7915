"""Building `nvvm` code by hand, in the manner of llvmlite's IRBuilder.

    m = Module(level="nvvm")
    f = function(m, "scale", VOID, [("a", pointer(1)), ("n", I64)], kind="entry")
    a, n = f.arguments
    b = Builder(f.block("entry"))
    p = b.gep(a, [n], FLOAT)
    b.store(b.fmul(b.load(p, FLOAT), 2.0), p)
    b.ret_void()

Names of methods and their order of arguments are llvmlite's. Pointers are
opaque, so `load`, `gep` and `alloca` take the element type. A Python number beside
a value becomes a constant of its type. `flags` are LLVM's words ("nsw", "fast").

What LLVM text says beyond instructions stands in these places:

    Function.kind        "entry" for a kernel (metadata or calling convention in the text)
    Function.linkage     LLVM's word: "" (external), "internal", "private", "weak_odr" …
    Function.directives  {"maxntid": (256, 1, 1), "reqntid": …, "minnctapersm": (4,),
                         "maxnreg": (64,)}: from annotations or "nvvm.…" attributes
    Function.aux         {"attributes": (…), "returns": (…), "variadic": True}, each where given.
                         An attribute is a word ("nounwind", "convergent") or a pair of name and
                         value: ("align", 16), ("memory", "none"), ("target-cpu", "sm_80")
    Argument.attributes  the same: ("noalias", ("align", 8), ("byval", T))
    Variable             `space` PTX's name; `type` the pointer type; `init` a constant value of
                         `value_type` or None; `attributes` {"constant": "", "unnamed_addr": "",
                         "managed": ""}; `linkage` LLVM's word
    Block.aux            {"llvm.loop": (("llvm.loop.unroll.count", 4), …)} on a latch
    Instruction.loc      line and column of `!dbg`; files are `module.debug.files`
    Module.aux           {"datalayout": text, "triple": text, "asm": text, "metadata": {name:
                         (nodes)}, "comdats": …}: a node is a tuple of None, int, str, Value, node
    Module.target        from "target-cpu", where the text has one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from nvir.ir import types as ty
from nvir.ir.block import Block
from nvir.ir.builder.literals import float_constant
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Location
from nvir.ir.module import Module
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.opcodes.form import nvvm_form
from nvir.ir.symbols import Variable
from nvir.ir.values import Argument, Constant, Value, constant
from nvir.ir.verify.nvvm import element, member

_SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "one",
            "ord": "ord"}
_UNORDERED = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "ueq", "!=": "une",
              "uno": "uno"}


VARIABLE_SPACES = {0: "global", 1: "global", 3: "shared", 4: "const", 5: "local"}


def function(
    module: Module,
    name: str,
    result: ty.Type = ty.VOID,
    params: Sequence[tuple[str, ty.Type]] = (),
    kind: str = "func",
) -> Function:
    """Add a function to a module of level `nvvm`; `kind` "entry" makes it a kernel."""
    f = Function(name, kind, module)
    f.type = ty.pointer()
    f.return_type = result
    f.params = [Argument(t, n or None, f, k) for k, (n, t) in enumerate(params)]
    return module.add_function(f)


def variable(
    module: Module, name: str, typ: ty.Type, space: int = 1, init: Value | None = None,
    linkage: str = "", align: int = 0, constant: bool = False,
) -> Variable:
    """Add a variable in an address space (0 and 1 are global, 3 shared, 4 constant, 5 local)."""
    v = Variable(
        name, VARIABLE_SPACES[space], typ, align=align, init=init, linkage=linkage,
        attributes={"constant": ""} if constant else {}, address_type=ty.pointer(space),
    )
    return module.add_global(v)


def declare(
    module: Module, name: str, result: ty.Type = ty.VOID, params: Sequence[ty.Type] = (),
    attributes: Sequence[Any] = (), variadic: bool = False,
) -> Function:
    """The declared function of that name, made at the first call: intrinsics, libdevice."""
    for f in module.functions:
        if f.name == name:
            return f
    f = function(module, name, result, [("", t) for t in params])
    f.aux = {"attributes": tuple(attributes)} if attributes else None
    if variadic:
        f.aux = {**(f.aux or {}), "variadic": True}
    return f


def const(type: ty.Type, x: Any) -> Constant:
    """A Python number as a constant: integers as the signed number of that width (booleans as 0
    and 1), floats rounded to the type; None is null, or zero of an aggregate."""
    if isinstance(type, ty.IntType) and isinstance(x, int):
        return constant(type, _wrap(int(x), type.bits))
    if isinstance(type, ty.FloatType) and isinstance(x, int | float):
        return constant(type, _float_bits(type, float(x)))
    if x is None:
        return constant(type, None)
    raise TypeError(f"{x!r} is no constant of type {type}")


def _wrap(x: int, bits: int) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if bits > 1 and x >> (bits - 1) else x


def _float_bits(type: ty.FloatType, x: float) -> int:
    scalar = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(type.name)
    if scalar is None:
        raise NvirError(f"no Python number gives a {type}")
    return int(float_constant(x, ty.SCALARS[scalar]).value)


def _arithmetic(row: str) -> Callable[..., Instruction]:
    def method(
        self: Builder, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] = ()
    ) -> Instruction:
        a, b = self._two(lhs, rhs)
        return self.insert(" ".join((row, *flags)), (a, b), a.type, name)

    method.__name__ = row
    method.__doc__ = f"LLVM's `{row}` of two operands of one type."
    return method


def _floating(row: str) -> Callable[..., Instruction]:
    def method(
        self: Builder, lhs: Any, rhs: Any, name: str = "", flags: Sequence[str] | None = None
    ) -> Instruction:
        a, b = self._two(lhs, rhs)
        said = self.float_flags if flags is None else flags
        return self.insert(" ".join((row, *said)), (a, b), a.type, name)

    method.__name__ = row
    method.__doc__ = f"LLVM's `{row}` of two operands of one type; `flags` else `float_flags`."
    return method


def _conversion(row: str) -> Callable[..., Instruction]:
    def method(self: Builder, value: Value, typ: ty.Type, name: str = "") -> Instruction:
        return self.insert(row, (value,), typ, name)

    method.__name__ = row
    method.__doc__ = f"LLVM's `{row}` to a type."
    return method


class Builder:
    """Appends instructions to a block, or places them before an instruction.

    block, before   where the next instruction goes (`before` None: at the end)
    loc             the source location that new instructions get
    float_flags     of `fadd`, `fsub`, `fmul`, `fdiv` and `frem` for which none are given, such as
                    ("contract",)
    """

    def __init__(self, block: Block, before: Instruction | None = None) -> None:
        self.block, self.before = block, before
        self.loc: Location | None = None
        self.float_flags: tuple[str, ...] = ()

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

    @property
    def module(self) -> Module | None:
        return self.block.function.module

    def position_at_end(self, block: Block) -> None:
        self.block, self.before = block, None

    def position_at_start(self, block: Block) -> None:
        self.block, self.before = block, block.first

    def position_before(self, instruction: Instruction) -> None:
        if instruction.block is None:
            raise ValueError("the instruction is in no block")
        self.block, self.before = instruction.block, instruction

    def position_after(self, instruction: Instruction) -> None:
        if instruction.block is None:
            raise ValueError("the instruction is in no block")
        self.block, self.before = instruction.block, instruction.next

    @contextmanager
    def goto_block(self, block: Block) -> Iterator[None]:
        """Inside, build at the end of `block`, before its terminator if it has one."""
        saved = self.block, self.before
        self.block, self.before = block, block.terminator
        try:
            yield
        finally:
            self.block, self.before = saved

    def append_basic_block(self, name: str | None = None) -> Block:
        return self.function.block(name)

    def insert(
        self,
        spelling: str,
        operands: Sequence[Value],
        type: ty.Type = ty.VOID,
        name: str = "",
        aux: Any = None,
    ) -> Instruction:
        """Place any instruction: the row's name with its flags, operands, result type, aux."""
        form = nvvm_form(spelling)
        if aux is None and form.terminator:
            aux = ()
        i = Instruction(form, tuple(operands), type, name or None, aux, self.loc)
        if self.before is None:
            return self.block.append(i)
        i.insert_before(self.before)
        return i

    # --------------------------------------------------- arithmetic

    def _two(self, lhs: Any, rhs: Any) -> tuple[Value, Value]:
        """Two operands of one type, of which one may be a number."""
        if not isinstance(lhs, Value):
            if not isinstance(rhs, Value):
                raise NvirError("two numbers have no type: make one of them by const(type, x)")
            return _like(lhs, rhs), rhs
        return lhs, _like(rhs, lhs)

    add = _arithmetic("add")
    sub = _arithmetic("sub")
    mul = _arithmetic("mul")
    udiv = _arithmetic("udiv")
    sdiv = _arithmetic("sdiv")
    urem = _arithmetic("urem")
    srem = _arithmetic("srem")
    shl = _arithmetic("shl")
    lshr = _arithmetic("lshr")
    ashr = _arithmetic("ashr")
    xor = _arithmetic("xor")
    and_ = _arithmetic("and")
    or_ = _arithmetic("or")
    fadd = _floating("fadd")
    fsub = _floating("fsub")
    fmul = _floating("fmul")
    fdiv = _floating("fdiv")
    frem = _floating("frem")

    def neg(self, value: Value, name: str = "") -> Instruction:
        """0 - value."""
        return self.sub(const_like(value, 0), value, name)

    def not_(self, value: Value, name: str = "") -> Instruction:
        """value ^ -1."""
        return self.xor(value, const_like(value, -1), name)

    def fneg(self, value: Value, name: str = "", flags: Sequence[str] = ()) -> Instruction:
        return self.insert(" ".join(("fneg", *flags)), (value,), value.type, name)

    # -------------------------------------------------- comparisons

    def _compare(self, row: str, table: dict[str, str], cmpop: str, lhs: Any, rhs: Any, name: str,
                 flags: Sequence[str]) -> Instruction:
        if cmpop not in table:
            raise NvirError(f"no comparison {cmpop!r}; there are {' '.join(table)}")
        a, b = self._two(lhs, rhs)
        return self.insert(" ".join((row, table[cmpop], *flags)), (a, b), _truth(a.type), name)

    def icmp_signed(self, cmpop: str, lhs: Any, rhs: Any, name: str = "") -> Instruction:
        """`cmpop` is one of < <= > >= == !=."""
        return self._compare("icmp", _SIGNED, cmpop, lhs, rhs, name, ())

    def icmp_unsigned(self, cmpop: str, lhs: Any, rhs: Any, name: str = "") -> Instruction:
        return self._compare("icmp", _UNSIGNED, cmpop, lhs, rhs, name, ())

    def fcmp_ordered(self, cmpop: str, lhs: Any, rhs: Any, name: str = "",
                     flags: Sequence[str] = ()) -> Instruction:
        """False where an operand is NaN; also "ord", true where none is."""
        return self._compare("fcmp", _ORDERED, cmpop, lhs, rhs, name, flags)

    def fcmp_unordered(self, cmpop: str, lhs: Any, rhs: Any, name: str = "",
                       flags: Sequence[str] = ()) -> Instruction:
        """True where an operand is NaN; also "uno", true only there."""
        return self._compare("fcmp", _UNORDERED, cmpop, lhs, rhs, name, flags)

    def select(self, cond: Value, lhs: Any, rhs: Any, name: str = "") -> Instruction:
        a, b = self._two(lhs, rhs)
        return self.insert("select", (cond, a, b), a.type, name)

    # --------------------------------------------------- conversions

    trunc = _conversion("trunc")
    zext = _conversion("zext")
    sext = _conversion("sext")
    fptrunc = _conversion("fptrunc")
    fpext = _conversion("fpext")
    fptoui = _conversion("fptoui")
    fptosi = _conversion("fptosi")
    uitofp = _conversion("uitofp")
    sitofp = _conversion("sitofp")
    ptrtoint = _conversion("ptrtoint")
    inttoptr = _conversion("inttoptr")
    bitcast = _conversion("bitcast")
    addrspacecast = _conversion("addrspacecast")

    # -------------------------------------------------------- memory

    def alloca(self, typ: ty.Type, size: Value | int = 1, name: str = "",
               align: int = 0) -> Instruction:
        """Stack memory for `size` values of a type."""
        count = const(ty.I32, size) if isinstance(size, int) else size
        return self.insert("alloca", (count,), ty.pointer(), name, (typ, align))

    def load(self, ptr: Value, typ: ty.Type, name: str = "", align: int = 0,
             volatile: bool = False) -> Instruction:
        return self.insert(_flag("load", volatile), (ptr,), typ, name, align)

    def store(self, value: Value, ptr: Value, align: int = 0,
              volatile: bool = False) -> Instruction:
        return self.insert(_flag("store", volatile), (value, ptr), aux=align)

    def gep(self, ptr: Value, indices: Sequence[Value | int], typ: ty.Type, inbounds: bool = False,
            name: str = "") -> Instruction:
        """The address of an element; `typ` is what `ptr` points to, ints are i32 indices."""
        values = [const(ty.I32, k) if isinstance(k, int) else k for k in indices]
        spelling = "getelementptr inbounds" if inbounds else "getelementptr"
        return self.insert(spelling, (ptr, *values), ptr.type, name, typ)

    def atomic_rmw(self, op: str, ptr: Value, val: Value, ordering: str = "monotonic",
                   name: str = "", scope: str = "", align: int = 0) -> Instruction:
        aux = (ordering, scope, align)
        return self.insert(f"atomicrmw {op}", (ptr, val), val.type, name, aux)

    def cmpxchg(self, ptr: Value, cmp: Value, val: Value, ordering: str = "seq_cst",
                failordering: str | None = None, name: str = "", scope: str = "",
                align: int = 0) -> Instruction:
        """{old value, whether it was exchanged}."""
        aux = (ordering, failordering or ordering, scope, align)
        return self.insert("cmpxchg", (ptr, cmp, val), ty.struct([cmp.type, ty.I1]), name, aux)

    def fence(self, ordering: str, scope: str = "") -> Instruction:
        return self.insert("fence", (), aux=(ordering, scope))

    def load_atomic(self, ptr: Value, typ: ty.Type, ordering: str = "monotonic", align: int = 0,
                    name: str = "", scope: str = "", volatile: bool = False) -> Instruction:
        """A load that other threads' accesses are ordered with; `scope` "" is the system."""
        row = _flag("load atomic", volatile)
        return self.insert(row, (ptr,), typ, name, (ordering, scope, align))

    def store_atomic(self, value: Value, ptr: Value, ordering: str = "monotonic", align: int = 0,
                     scope: str = "", volatile: bool = False) -> Instruction:
        row = _flag("store atomic", volatile)
        return self.insert(row, (value, ptr), aux=(ordering, scope, align))

    def asm(self, ftype: ty.FunctionType, asm: str, constraint: str, args: Sequence[Value],
            side_effect: bool = False, name: str = "") -> Instruction:
        """A call of inline assembly; several outputs come as a struct, as in LLVM."""
        callee = InlineAsm(asm, constraint, ("sideeffect",) if side_effect else ())
        if [v.type for v in args] != [*ftype.params]:
            given = ", ".join(v.type.name for v in args)
            raise NvirError(f"the assembly takes {ftype}, given are ({given})")
        info = CallInfo(len(args), callee=callee)
        return self.insert("call", tuple(args), ftype.result, name, info)

    # ------------------------------------------------ values in pieces

    def extract_value(self, agg: Value, idx: int | Sequence[int], name: str = "") -> Instruction:
        path = (idx,) if isinstance(idx, int) else tuple(idx)
        return self.insert("extractvalue", (agg,), _member(agg.type, path), name, path)

    def insert_value(self, agg: Value, value: Value, idx: int | Sequence[int],
                     name: str = "") -> Instruction:
        path = (idx,) if isinstance(idx, int) else tuple(idx)
        _member(agg.type, path)
        return self.insert("insertvalue", (agg, value), agg.type, name, path)

    def extract_element(self, vec: Value, idx: Value | int, name: str = "") -> Instruction:
        k = const(ty.I32, idx) if isinstance(idx, int) else idx
        return self.insert("extractelement", (vec, k), element(vec.type), name)

    def insert_element(self, vec: Value, value: Value, idx: Value | int,
                       name: str = "") -> Instruction:
        k = const(ty.I32, idx) if isinstance(idx, int) else idx
        return self.insert("insertelement", (vec, value, k), vec.type, name)

    def shuffle_vector(self, a: Value, b: Value, lanes: Sequence[int],
                       name: str = "") -> Instruction:
        """Lanes of `a` followed by `b` in a new order; -1 for an undefined one."""
        result = ty.vector(element(a.type), len(lanes))
        return self.insert("shufflevector", (a, b), result, name, tuple(lanes))

    def freeze(self, value: Value, name: str = "") -> Instruction:
        return self.insert("freeze", (value,), value.type, name)

    # -------------------------------------------------------- control

    def phi(self, typ: ty.Type, name: str = "") -> Instruction:
        """A phi at the block's head; give it values by `phi.add(value, block)`."""
        i = Instruction(nvvm_form("phi"), (), typ, name or None, (), self.loc)
        return self.block.insert_phi(i)

    def branch(self, target: Block) -> Instruction:
        return self.insert("br", (), aux=(target,))

    def cbranch(self, cond: Value, truebr: Block, falsebr: Block) -> Instruction:
        return self.insert("br", (cond,), aux=(truebr, falsebr))

    def switch(self, value: Value, default: Block) -> Instruction:
        """A switch without cases; `add_case` adds them."""
        return self.insert("switch", (value,), aux=(default,))

    def add_case(self, switch: Instruction, value: int | Constant, block: Block) -> None:
        """Lead a switch to `block` where its value is `value`."""
        case = _like(value, switch.operands[0])
        switch.set_operands((*switch.operands, case))
        switch.aux = (*switch.aux, block)
        if switch.block is not None:
            switch.block.function.cfg_changed()

    def ret_void(self) -> Instruction:
        return self.insert("ret", ())

    def ret(self, value: Any) -> Instruction:
        v = value if isinstance(value, Value) else const(self.function.return_type, value)
        return self.insert("ret", (v,))

    def unreachable(self) -> Instruction:
        return self.insert("unreachable", ())

    def call(self, fn: Function | Value, args: Sequence[Any], name: str = "",
             result: ty.Type = ty.VOID, flags: Sequence[str] = ()) -> Instruction:
        """A call; `result` is the result's type where `fn` is a pointer."""
        spelling = " ".join(("call", *flags))
        if not isinstance(fn, Function):
            operands = (fn, *args)
            return self.insert(spelling, operands, result, name, CallInfo(len(operands)))
        params = fn.arguments
        if len(args) < len(params):
            raise NvirError(f"{fn.name} takes {len(params)} arguments, {len(args)} given")
        values = [
            x if isinstance(x, Value) else const(params[k].type, x) for k, x in enumerate(args)
        ]
        return self.insert(spelling, values, fn.return_type, name, CallInfo(len(values), callee=fn))

    @contextmanager
    def if_then(self, pred: Value) -> Iterator[Block]:
        """Build what runs where `pred` holds; afterwards go on where both paths meet."""
        then, end = self.function.block("if"), self.function.block("endif")
        self.cbranch(pred, then, end)
        self.position_at_end(then)
        yield end
        if self.block.terminator is None:
            self.branch(end)
        self.position_at_end(end)


def const_like(value: Value, x: Any) -> Constant:
    """The number `x` in the type of a value; for a vector, in every element."""
    t = value.type
    if isinstance(t, ty.VectorType):
        one = const(t.element, x)
        return constant(t, (one,) * t.count)
    return const(t, x)


def _like(x: Any, value: Value) -> Value:
    return x if isinstance(x, Value) else const_like(value, x)


def _truth(t: ty.Type) -> ty.Type:
    return ty.vector(ty.I1, t.count) if isinstance(t, ty.VectorType) else ty.I1


def _member(t: ty.Type, path: tuple[int, ...]) -> ty.Type:
    found = member(t, path)
    if found is None:
        raise NvirError(f"{t} has no member {path}")
    return found


def _flag(row: str, volatile: bool) -> str:
    return f"{row} volatile" if volatile else row
