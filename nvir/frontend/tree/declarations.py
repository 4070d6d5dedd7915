"""Declarations: variables, parameters, functions, and the unit that holds them."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from nvir.frontend.tree.expressions import Expr
from nvir.frontend.tree.place import Node
from nvir.frontend.tree.statements import Compound
from nvir.frontend.tree.types import VOID, CType, Enum, FunctionType, Record, Typedef

MEMORY = ("", "device", "constant", "shared", "managed", "local")


@attrs.define(eq=False)
class Declaration(Node):
    """Root of declarations. `link_name` is the symbol's, where it is not the name."""

    name: str
    link_name: str = attrs.field(default="", kw_only=True)

    @property
    def symbol(self) -> str:
        return self.link_name or self.name


@attrs.define(eq=False)
class Variable(Declaration):
    """A variable of a file or a block.

    memory      "" (a block's variable: the stack; a file's: host or generic), "device",
                "constant", "shared", "managed"
    storage     "", "extern" or "static"
    align       bytes, 0 for the type's own
    direct_init whether `init` is written `x(init)` or `x{...}`; no difference for scalars
    cleanup     an expression to evaluate where the variable's scope ends (a destructor's call)
    template_dependent, builtin   of declarations that a reader made
    used        keep it although nothing refers to it
    """

    type: CType
    init: Expr | None = None
    memory: str = attrs.field(
        default="", kw_only=True, validator=attrs.validators.in_(MEMORY)
    )
    storage: str = attrs.field(
        default="", kw_only=True, validator=attrs.validators.in_(("", "extern", "static"))
    )
    align: int = attrs.field(default=0, kw_only=True)
    cleanup: Expr | None = attrs.field(default=None, kw_only=True)
    template_dependent: bool = attrs.field(default=False, kw_only=True)
    builtin: bool = attrs.field(default=False, kw_only=True)
    used: bool = attrs.field(default=False, kw_only=True)


@attrs.define(eq=False)
class Parameter(Declaration):
    """A parameter; `name` "" is an unnamed one.

    this            the implicit object of a method
    grid_constant   `__grid_constant__`
    hidden          made by a front end, not written by the user
    """

    type: CType
    this: bool = attrs.field(default=False, kw_only=True)
    grid_constant: bool = attrs.field(default=False, kw_only=True)
    hidden: bool = attrs.field(default=False, kw_only=True)
    align: int = attrs.field(default=0, kw_only=True)


@attrs.frozen
class LaunchBounds:
    """`__launch_bounds__(max_threads, min_blocks, max_cluster)`; 0 where not given."""

    max_threads: int = 0
    min_blocks: int = 0
    max_cluster: int = 0


@attrs.frozen
class Attributes:
    """What qualifies a function beyond its type.

    kernel, device, host    __global__, __device__, __host__
    inline                  "", "inline", "always" (__forceinline__), "never" (__noinline__)
    launch_bounds, max_registers (__maxnreg__), required_block (reqntid), cluster_dims
    section                 the name of a section, or ""
    preserve                preserve_n_data, _control, _after; -1 is unset
    custom_abi              full_custom_abi
    no_return, pure, const  as GCC has them
    builtin                 the compiler knows what it does: `irgen.builtins` lowers it
    noted_builtin           so under policy `documented`; elsewhere its body is called
    intrinsic               number of an intrinsic that is special to the real front end, or 0
    """

    kernel: bool = False
    device: bool = True
    host: bool = False
    inline: str = attrs.field(
        default="", validator=attrs.validators.in_(("", "inline", "always", "never"))
    )
    launch_bounds: LaunchBounds | None = None
    max_registers: int = 0
    required_block: tuple[int, int, int] | None = None
    cluster_dims: tuple[int, int, int] | None = None
    section: str = ""
    preserve: tuple[int, int, int] = (-1, -1, -1)
    custom_abi: bool = False
    no_return: bool = False
    pure: bool = False
    const: bool = False
    builtin: bool = False
    noted_builtin: bool = False
    intrinsic: int = 0


@attrs.define(eq=False)
class Function(Declaration):
    """A function; `body` is None for a declaration.

    storage   "", "extern", "static", or "weak" (inline functions and template instances)
    """

    result: CType = VOID
    params: tuple[Parameter, ...] = ()
    body: Compound | None = None
    variadic: bool = attrs.field(default=False, kw_only=True)
    storage: str = attrs.field(
        default="", kw_only=True, validator=attrs.validators.in_(("", "extern", "static", "weak"))
    )
    attributes: Attributes = attrs.field(factory=Attributes, kw_only=True)

    @property
    def type(self) -> FunctionType:
        return FunctionType(self.result, tuple(p.type for p in self.params), self.variadic)

    @property
    def is_kernel(self) -> bool:
        return self.attributes.kernel


@attrs.define(eq=False)
class Enumerator(Declaration):
    """A constant of an enumeration, as a name finds it."""

    value: int
    type: CType


@attrs.define(eq=False)
class Unit:
    """A translation unit: what one source holds of device code.

    declarations  functions and variables in order
    types         records, enums and typedefs that are worth a name in dumps; a unit may use
                  types that are not listed
    cplusplus     typed by C++'s rules where they differ from C's (comparisons give bool)
    trusted       a compiler has checked it: types that stand in the tree hold, and whatever it
                  converts silently may be converted
    """

    declarations: list[Declaration] = attrs.field(factory=list)
    types: list[Record | Enum | Typedef] = attrs.field(factory=list)
    file: str = "<tree>"
    cplusplus: bool = False
    source: str = attrs.field(default="", repr=False)
    trusted: bool = False

    @property
    def functions(self) -> list[Function]:
        return [d for d in self.declarations if isinstance(d, Function)]

    @property
    def variables(self) -> list[Variable]:
        return [d for d in self.declarations if isinstance(d, Variable)]

    def add(self, *declarations: Declaration | Iterable[Declaration]) -> Unit:
        for d in declarations:
            if isinstance(d, Declaration):
                self.declarations.append(d)
            else:
                self.declarations.extend(d)
        return self
