"""What IR generation carries along: options, the module's state, the function's state.

`IRGenState` is made afresh for each function and holds the fields that the notes list: module,
builder, current function, return block, return slot and its alignment, whether cleanups are
pending, whether this is device code, the cleanup stack, the allocapt marker, the buffer of
printf, and the map from declarations to places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend.irgen.metadata import Bundles
from nvir.frontend.irgen.types import Types
from nvir.frontend.tree.declarations import Declaration, Function, Unit, Variable
from nvir.frontend.tree.expressions import Expr, StringLiteral
from nvir.frontend.tree.layout import align_of, size_of
from nvir.frontend.tree.place import Place
from nvir.frontend.tree.types import CType, is_volatile
from nvir.ir import Block, Diagnostic, Instruction, Location, Module, NvirError, Type, Value
from nvir.ir.function import Function as IRFunction
from nvir.ir.nvvm import Builder

if TYPE_CHECKING:
    from nvir.frontend.irgen.abi import ABI


class IRGenError(NvirError):
    """A tree that cannot be turned into IR: the notes' diagnostics, with the source place."""

    def __init__(self, message: str, place: Place) -> None:
        self.message, self.place = message, place
        super().__init__(f"{place}: error: {message}" if place.line else message)

    def show(self, unit: Unit) -> None:
        """Have the message show the source line, as far as the unit has its source."""
        lines = unit.source.splitlines()
        p = self.place
        if 0 < p.line <= len(lines) and p.file in ("", unit.file):
            line = lines[p.line - 1]
            told = Diagnostic(self.message, p.file or unit.file, p.line, p.column, line)
            self.args = (str(told),)


class Refused(IRGenError):
    """What the real front end refuses, in its words: under policy `documented` that stands, and no
    other front end is asked."""


class TargetLacks(IRGenError):
    """What the architecture has not (or no longer), by the name that the source calls it."""


@attrs.frozen
class Options:
    """How to generate.

    arch               the target, "sm_80"
    policy             "observed" (what cicc 13.0 does) or "documented"
    lines              give instructions their source places
    whole_program      device functions are internal: nothing outside the module calls them
    keep_allocapt      leave the marker in, to look at
    libdevice_casts    float to integer through `__nv_float2int_rz` and its like
    libdevice          mathematical functions are libdevice's (`__nv_sinf`), for whoever links it
    kernel_attrs       attributes of functions as named metadata too, as the notes lay it out
    byval_demotion     names of byval parameters that get a `__val_param` copy
    param_debug_info   say which parameter lives where (`llvm.dbg.declare`), where lines are kept
    plain_char_unsigned  textures of plain char are read as those of unsigned char
    contract           products and sums may become one fma, as nvcc's -fmad=true has it
    """

    arch: str = "sm_80"
    policy: str = attrs.field(
        default="observed", validator=attrs.validators.in_(("observed", "documented"))
    )
    lines: bool = True
    whole_program: bool = True
    keep_allocapt: bool = False
    libdevice_casts: bool = False
    libdevice: bool = False
    kernel_attrs: bool = False
    byval_demotion: frozenset[str] = frozenset()
    param_debug_info: bool = False
    plain_char_unsigned: bool = False
    contract: bool = True


@attrs.frozen
class BitField:
    """Where a bit-field lies in its storage unit: `bits` from bit `shift` of `unit` bits.

    pieces   (byte offset, bytes) of the accesses that make up the unit, low bytes first, where
             no single one may
    """

    shift: int
    bits: int
    unit: int
    signed: bool
    pieces: tuple[tuple[int, int], ...] = ()


@attrs.frozen
class LValue:
    """A place in memory and what lies there.

    `bit_field` and `lane` (the index of an element of a vector) say that it is a part of what
    the pointer points to, which then is an integer of `unit` bits, or the vector.
    """

    pointer: Value
    type: CType
    align: int
    volatile: bool = False
    bit_field: BitField | None = None
    lane: Value | None = None
    vector: Type | None = None


class ModuleState:
    """What the functions of a module share."""

    def __init__(self, unit: Unit, options: Options) -> None:
        self.unit, self.options = unit, options
        self.module = Module(options.arch, level="nvvm", name=unit.file)
        self.types = Types()
        self.variables: dict[Variable, Value] = {}
        self.definitions: dict[str, Variable] = {  # what `extern` declarations may mean
            v.symbol: v for v in unit.variables if v.storage != "extern" or v.init is not None
        }
        self.initialising: dict[Variable, None] = {}  # whose initial values are being made
        self.functions: dict[Function, IRFunction] = {}
        self.abis: dict[Function, ABI] = {}
        self.by_name: dict[str, Any] = {}  # symbols that are taken
        self.strings: dict[bytes, Value] = {}
        self.literals: dict[StringLiteral, Value] = {}
        self.files: dict[str, int] = {}
        self.metadata: dict[str, list[Any]] = {}
        self.used: list[Value] = []
        self.bundles = Bundles()
        self.warnings: list[tuple[int, Diagnostic]] = []  # the real front end's number, and what

    def warn(self, number: int, message: str, place: Place) -> None:
        """Tell of a place once."""
        file = place.file or self.unit.file
        made = Diagnostic(message, file, place.line, place.column, severity="warning")
        if (number, made) not in self.warnings:
            self.warnings.append((number, made))

    def file_number(self, name: str) -> int:
        number = self.files.get(name)
        if number is None:
            number = self.files[name] = len(self.files) + 1
            self.module.debug.files.append((number, name, ""))
        return number

    def unique_symbol(self, name: str) -> str:
        """`name`, or with a number behind it where that is taken."""
        made, n = name, 0
        while made in self.by_name:
            n += 1
            made = f"{name}_{n}"
        return made


@attrs.define(eq=False)
class Target:
    """Where `break` and `continue` lead. `latches` are the blocks that go back to the header."""

    break_block: Block
    continue_block: Block | None
    cleanups: int  # how many were pending outside
    latches: list[Block] = attrs.Factory(list)


class IRGenState:
    """The state of one function's generation."""

    def __init__(self, module_state: ModuleState, decl: Function, function: IRFunction) -> None:
        self.shared = module_state
        self.module = module_state.module
        self.types = module_state.types
        self.options = module_state.options
        self.decl, self.function = decl, function
        self.builder = Builder(function.block("entry"))
        if self.options.contract:
            self.builder.float_flags = ("contract",)
        self.return_block: Block | None = None
        self.retval: LValue | None = None
        self.return_align = 0
        self.has_cleanups = False
        self.in_kernel = decl.attributes.device or decl.attributes.kernel
        self.cleanup_stack: list[Expr] = []
        self.allocapt: Instruction | None = None
        self.printf_buffer: Instruction | None = None
        self.places: dict[Declaration, LValue] = {}
        self.targets: list[Target] = []
        self.switches: list[Instruction] = []
        self.labels: dict[str, Block] = {}
        self.label_marks: dict[str, int] = {}  # cleanups pending at the labels passed so far
        self.gotos: dict[str, list[tuple[Block, list[Expr]]]] = {}  # forward, with cleanups
        self.trace: list[str] = []  # the steps of the skeleton as they ran
        self.events: list[str] = []  # the phases of calls and of inline assembly as they ran

    # ------------------------------------------------------------ blocks

    @property
    def block(self) -> Block:
        return self.builder.block

    @property
    def terminated(self) -> bool:
        return self.builder.block.terminator is not None

    def new_block(self, name: str) -> Block:
        """A block that is in no function's list yet: `start` puts it at the end."""
        return Block(self.function.unique_block_name(name), self.function)

    def start(self, block: Block) -> None:
        """Go on in a block, which now gets its place in the layout."""
        self.function.blocks.append(block)
        self.function.cfg_changed()
        self.builder.position_at_end(block)

    def branch(self, target: Block) -> None:
        """Go to a block, unless control has gone elsewhere already."""
        if not self.terminated:
            self.builder.branch(target)

    def cond_branch(self, cond: Value, then: Block, other: Block) -> None:
        known = getattr(cond, "value", None) if cond.is_constant else None
        if known is not None:
            self.branch(then if known else other)
        elif then is other:
            self.branch(then)
        else:
            self.builder.cbranch(cond, then, other)

    def ensure_block(self) -> None:
        """After a jump, code that only a label can reach goes to a block of its own."""
        if self.terminated:
            self.start(self.new_block("unreachable"))

    # ------------------------------------------------------------ places

    def at(self, place: Place) -> Location | None:
        """Give what is made from now on a source place; the one before is returned."""
        before = self.builder.loc
        if self.options.lines and place.line:
            number = self.shared.file_number(place.file or self.shared.unit.file)
            self.builder.loc = Location(number, place.line, place.column)
        return before

    def alloca(self, t: CType, name: str, align: int = 0, count: Value | None = None) -> LValue:
        """Stack memory for an object; see `alloca.create_alloca`."""
        from nvir.frontend.irgen.alloca import create_alloca

        wanted = max(align, align_of(t))
        made = create_alloca(self, self.types.memory(t), name, size_of(t), wanted, count)
        return LValue(made, t, made.aux[1], is_volatile(t))

    def declare(self, d: Declaration, place: LValue) -> None:
        """Note where a declaration lives."""
        if d in self.places:
            raise IRGenError("unexpected: declaration for variable already exists!", d.place)
        self.places[d] = place

    def call_intrinsic(self, name: str, result: Type, args: Sequence[Value], label: str = "",
                       attributes: Sequence[Any] = ()) -> Instruction:
        """A call of an intrinsic, which is declared at its first use."""
        from nvir.ir.nvvm import declare

        f = declare(self.module, name, result, [a.type for a in args], attributes)
        return self.builder.call(f, list(args), label)
