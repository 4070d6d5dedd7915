"""What ptxas refuses of declarations that can be read: variables, initial values, prototypes.

Each function gives the message, or None where nothing is wrong. The reader asks with the place at
hand, notes what it is told (`PtxText.refuse`) and goes on.

Source   PTX ISA 9.0, "State Spaces, Types, and Variables" and "Performance-Tuning Directives";
         held to what ptxas 13.0 refuses by tests/ptx/test_kinds.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from nvir.ir import (
    SCALARS,
    CallInfo,
    Constant,
    Function,
    Instruction,
    Module,
    Symbol,
    SymbolOffset,
    Type,
    Undef,
    Variable,
    capability,
)
from nvir.ir.function import are_sizes
from nvir.ir.types import IMM, ArrayType, ScalarType
from nvir.ir.values import Argument

# Types of registers and variables; all others are of instructions alone.
DECLARED = frozenset(
    ["pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
     "s64", "f16", "f16x2", "f32", "f64"]
)
OPAQUE = frozenset(("texref", "samplerref", "surfref"))
CONST_LIMIT = 1 << 16  # bytes of a module's .const variables
# Directives behind a function's header: how many numbers follow (at least, at most), of which
# functions they are, and the first PTX ISA and machine.
_DIRECTIVES: dict[str, tuple[int, int, str, tuple[int, int], int]] = {
    "maxntid": (1, 3, "entry", (1, 3), 0), "reqntid": (1, 3, "entry", (2, 1), 0),
    "minnctapersm": (1, 1, "entry", (2, 0), 0), "maxnreg": (1, 1, "entry", (1, 3), 0),
    "reqnctapercluster": (1, 3, "entry", (7, 8), 90), "maxclusterrank": (1, 1, "entry", (7, 8), 90),
    "explicitcluster": (0, 0, "entry", (7, 8), 90),
    "blocksareclusters": (0, 0, "entry", (9, 0), 90),
    "noreturn": (0, 0, "func", (6, 4), 30), "abi_preserve": (1, 1, "func", (9, 0), 80),
    "abi_preserve_control": (1, 1, "func", (9, 0), 80),
}
_POSITIVE = frozenset(("maxntid", "reqntid", "minnctapersm", "maxnreg"))
_APART = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))


def type_problem(type: ScalarType, vector: int) -> str | None:
    """A type or vector that nothing can be declared of."""
    if type.name not in DECLARED and type.name not in OPAQUE:
        return f".{type.name} is a type of instructions, nothing can be declared of it"
    if vector > 4:
        return f".v{vector} is for loads and stores, a declaration takes .v2 or .v4"
    if vector > 1 and type.name == "pred":
        return "predicates cannot be declared as vectors"
    if type.bits * vector > 128:
        return f".v{vector} .{type.name} has {type.bits * vector} bits, a vector may have 128"
    return None


def variable_problem(v: Variable, local: bool, module: Module) -> str | None:
    """A variable where none of its kind can stand."""
    element, space = v.element_type, v.space
    assert isinstance(element, ScalarType)
    if element.name in OPAQUE:
        return _opaque_problem(v, local, module)
    single = element.name in ("u32", "u64") and v.value_type is element
    if "tex" in v.attributes and not single:
        return ".tex takes a single .u32 or .u64"
    if "tex" in v.attributes and module.version >= (1, 5):
        return ".tex is gone from PTX 1.5 on: use .global .texref"
    if element.name == "pred":
        return f"'{v.name}' is a predicate, which can only be a register"
    if local and v.linkage:
        return f".{v.linkage} is for variables of the module, not of a function"
    if not local and space in ("local", "param"):
        return f"a .{space} variable can only be declared in a function"
    if v.linkage == "common" and space != "global":
        return f".common variables are .global, this one is .{space}"
    if "managed" in v.attributes.get("attribute", "") and space != "global":
        return f".managed variables are .global, this one is .{space}"
    if v.linkage != "extern" and v.init is None and _incomplete(v.value_type):
        return f"'{v.name}' has no size: only an .extern variable may leave it out"
    return None


def _opaque_problem(v: Variable, local: bool, module: Module) -> str | None:
    name = v.element_type.name
    if local or v.space != "global":
        return f".{name} variables are .global variables of the module, or parameters of kernels"
    return mode_problem(name, module)


def mode_problem(type: str, module: Module) -> str | None:
    """A sampler by itself, where textures are read with their own."""
    if type == "samplerref" and "texmode_independent" not in module.target_options:
        return ".samplerref needs '.target …, texmode_independent'"
    return None


def _incomplete(type: Type) -> bool:
    return isinstance(type, ArrayType) and type.count == 0


def initial_problem(v: Variable) -> str | None:
    """An initial value that its variable cannot have."""
    if v.init is None:
        return None
    if v.linkage == "extern":
        return f"'{v.name}' is .extern: its initial value stands where it is defined"
    if v.space not in ("global", "const"):
        return f"only .global and .const variables have initial values, '{v.name}' is .{v.space}"
    return _value_problem(v.init, v.value_type, v.vector)


def _value_problem(init: Any, type: Type, vector: int) -> str | None:
    todo = [(init, type, vector)]
    while todo:
        x, t, vector = todo.pop()
        if isinstance(t, ArrayType):
            if not isinstance(x, tuple):
                return f"an array takes its initial values in braces, '{_shown(x)}' stands alone"
            if len(x) > t.count:
                return f"{len(x)} initial values for {t.count} elements"
            todo += [(v, t.element, vector) for v in reversed(dict.fromkeys(x))]
        elif vector > 1:
            if not isinstance(x, tuple) or len(x) != vector:
                given = len(x) if isinstance(x, tuple) else 1
                return (f"a vector of {vector} takes {vector} initial values in braces, "
                        f"{given} given")
            todo += [(v, t, 1) for v in reversed(x)]
        elif isinstance(x, tuple):
            return f"a single .{t} takes one initial value without braces"
        elif (wrong := _scalar_problem(x, t)) is not None:
            return wrong
    return None


def _scalar_problem(init: Any, type: Type) -> str | None:
    assert isinstance(type, ScalarType)
    if isinstance(init, Constant):
        if (type.is_float and type.bits < 32) or type.name == "f16x2":
            return f"variables of .{type} have no initial value"
        if type.is_float and init.type is IMM:
            return f".{type} takes a float as its initial value, {init.name} is an integer"
        if type.kind in "us" and init.type is not IMM:
            return f".{type} takes an integer as its initial value, not a float"
        return None
    symbol = init.symbol if isinstance(init, SymbolOffset) else init
    if not isinstance(symbol, Symbol):
        return None
    mask = init.mask if isinstance(init, SymbolOffset) else None
    if type.name not in (("u8", "u32", "u64") if mask else ("u32", "u64")):
        return f"the address of '{symbol.name}' is an initial value of .u32 or .u64, not of .{type}"
    if mask and mask not in {0xFF << 8 * k for k in range(8)}:
        return f"the mask {mask:#x} does not select one byte"
    if isinstance(symbol, Variable) and symbol.space not in ("global", "const"):
        return f"'{symbol.name}' is .{symbol.space}: only addresses of .global and .const are known"
    return None


def _shown(init: Any) -> str:
    return str(getattr(init, "name", init))


def again_problem(known: Variable, v: Variable) -> str | None:
    """Two declarations of one variable that differ; one of them is `.extern`."""
    if known.linkage == "extern" and not v.linkage:
        return f"'{v.name}' was declared .extern, its definition is .visible, .weak or .common"
    one, two = known.value_type, v.value_type
    if known.vector != v.vector or not (one == two or _open(one, two)):
        return f"'{v.name}' was declared {_declared(known)}, here {_declared(v)}"
    return None


def _open(one: Type, two: Type) -> bool:
    """Whether two arrays differ only in that one has no size."""
    return isinstance(one, ArrayType) and isinstance(two, ArrayType) \
        and one.element == two.element and 0 in (one.count, two.count)


def _declared(p: Any) -> str:
    if isinstance(p, Argument):
        return f".reg .{p.type}"
    sizes, t = "", p.value_type
    while isinstance(t, ArrayType):
        sizes, t = f"{sizes}[{t.count or ''}]", t.element
    vector = f".v{p.vector} " if p.vector > 1 else ""
    align = f".align {p.align} " if p.align else ""
    return f".{p.space} {align}{vector}.{t}{sizes}"


# ---------------------------------------------------------------------------------- functions


def parameter_problems(f: Function, returns: bool, module: Module) -> Iterator[str]:
    """Parameters or results that a function cannot have."""
    listed = f.returns if returns else f.params
    memory = [p for p in listed if isinstance(p, Variable)]
    if returns and f.kind == "entry" and listed:
        yield "a kernel has no result"
    if returns and len(listed) > 1 and memory:
        yield "several results are .reg, only a single one can be .param"
    for p in memory:
        element = p.element_type
        if element.name == "pred":
            yield f"'{p.name}' is a predicate, which can only be a register"
        elif element.name == "f16x2" or p.vector > 1:
            yield f"'{p.name}' cannot be a .param: declare an array of .b8, aligned"
        elif element.name in OPAQUE and f.kind != "entry":
            yield f"a .{element.name} is a parameter of kernels only"
        elif mode := mode_problem(element.name, module):
            yield mode
        elif isinstance(p.value_type, ArrayType) and isinstance(p.value_type.element, ArrayType):
            yield f"'{p.name}' is an array of arrays, a parameter has one size"
        elif _incomplete(p.value_type) and (returns or f.kind == "entry" or p is not memory[-1]):
            yield f"'{p.name}' has no size: only the last parameter of a .func may leave it out"
    names = [p.name for p in (*f.returns, *f.params)]
    times = Counter(names)
    twice = next((n for n in names if times[n] > 1), None)
    if not returns and twice is not None:
        yield f"'{twice}' is declared twice"
    if f.kind == "entry" and not returns and not any(_incomplete(p.value_type) for p in memory):
        yield from _space_problem(memory, module)


def _space_problem(params: list[Variable], module: Module) -> Iterator[str]:
    size = 0
    for p in params:
        align = _align(p)
        size = -(-size // align) * align + p.size
    new = module.version >= (8, 1) and capability(module.target) >= 70
    limit = 32764 if new else 4352
    if size > limit:
        hint = "" if new else " (32764 from PTX 8.1 and sm_70 on)"
        yield f"the parameters have {size} bytes, a kernel's may have {limit}{hint}"


def again_function_problem(known: Function, f: Function) -> str | None:
    """Two declarations of one function that differ."""
    if known.kind != f.kind:
        return f"'{f.name}' was declared .{known.kind}, here .{f.kind}"
    for what, one, two in (("results", known.returns, f.returns),
                           ("parameters", known.params, f.params)):
        if len(one) != len(two):
            return f"'{f.name}' was declared with {len(one)} {what}, here it has {len(two)}"
        for a, b in zip(one, two, strict=True):
            if _slot(a) != _slot(b):
                return (f"'{b.name}' of '{f.name}' was declared {_declared(a)}, "
                        f"here {_declared(b)}")
    if known.linkage != f.linkage and (known.linkage, f.linkage) not in _WEAKER:
        was, now = (f".{x.linkage}" if x.linkage else "without linkage" for x in (known, f))
        return f"'{f.name}' was declared {was}, here {now}"
    if ("noreturn" in known.directives) != ("noreturn" in f.directives):
        return f"only one declaration of '{f.name}' says .noreturn"
    return None


_WEAKER = (("visible", ""), ("weak", ""))


def _slot(p: Any) -> tuple[Any, ...]:
    if isinstance(p, Argument):
        return ("reg", p.type)
    return (p.space, p.value_type, p.vector, _align(p))


def _align(p: Variable) -> int:
    return max(p.align, p.element_type.bits // 8, 1)


def directive_problem(
    name: str, numbers: tuple[int, ...], f: Function, module: Module
) -> str | None:
    """A directive behind a function's header: not known, not for it, or with wrong numbers."""
    if name not in _DIRECTIVES:
        if name == "maxnctapersm" and module.version >= (2, 1):
            return ".maxnctapersm is gone from PTX 2.1 on: use .minnctapersm"
        return None if name.startswith("attribute") else f"no directive .{name} is known"
    least, most, kind, version, machine = _DIRECTIVES[name]
    if kind != f.kind:
        return f".{name} is for .{kind}, this is a .{f.kind}"
    if not least <= len(numbers) <= most:
        wanted = f"{least} to {most} numbers" if most > least else f"{most or 'no'} number"
        return f".{name} takes {wanted}, {len(numbers)} given"
    if name in _POSITIVE and 0 in numbers:
        return f".{name} takes numbers from 1 on, not 0"
    if not are_sizes(numbers):
        return f".{name} takes numbers of 32 bits"
    if module.version < version or capability(module.target) < machine:
        return (f".{name} needs PTX {version[0]}.{version[1]} and sm_{machine or 10}, the module "
                f"has {module.version[0]}.{module.version[1]} and {module.target}")
    if name == "noreturn" and f.returns:
        return f"'{f.name}' has a result, so it cannot be .noreturn"
    for pair in _APART:
        if name in pair and all(d in f.directives for d in pair):
            return f".{pair[0]} and .{pair[1]} exclude each other"
    if name == "blocksareclusters" and not {"reqntid", "reqnctapercluster"} <= f.directives.keys():
        return ".blocksareclusters needs .reqntid and .reqnctapercluster"
    return None


# -------------------------------------------------------------------------------------- calls

# What is passed, or taken: in a register or not, bits of it in all, whether an array, alignment,
# whether a float, an integer or either ("f", "i", "").
_Formal = tuple[bool, int, bool, int, str]
_Signature = tuple[str, tuple[_Formal, ...], tuple[_Formal, ...]]  # with the name
_FORMAL = re.compile(
    r"\.(param|reg)\s*(?:\.align\s+(\d+)\s*)?(?:\.v[24]\s*)?\.(\w+)\s*[\w$%]+\s*(?:(\[)\s*(\w*)\s*\])?"
)


_KINDS = {"f": "a float", "i": "an integer"}


class CallRules:
    """What calls of a module keep to; what callees take and make is read once for each."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[Any, list[_Signature]] = {}

    def problem(self, i: Instruction, info: CallInfo, f: Function) -> str | None:
        """What does not fit the callee, or the prototype of an indirect call."""
        callee = info.callee
        given, made = list(i.sources), [*info.return_params, *i.results]
        if callee is None:
            target = given.pop(0)
            if isinstance(target.type, ScalarType) and target.type.is_float:
                return f"'{target.name}' is declared .{target.type}, no address to call"
        if callee is None and info.prototype is None:
            return "a call through a register ends with the label of a .callprototype or " \
                ".calltargets"
        if isinstance(callee, Function) and callee.kind == "entry":
            return f"'{callee.name}' is a kernel: only a .func can be called"
        key = callee if callee is not None else (f, info.prototype)
        if key not in self._known:
            self._known[key] = [_signature(callee)] if isinstance(callee, Function) else \
                _listed(str(info.prototype), f, self.module)
        wrong = (_mismatch(*signature, given, made) for signature in self._known[key])
        return next(filter(None, wrong), None)


def _signature(f: Function) -> _Signature:
    return str(f.name), tuple(map(_formal, f.params)), tuple(map(_formal, f.returns))


def _listed(label: str, f: Function, module: Module) -> list[_Signature]:
    """What a call through a register may meet, each kind once: that of a prototype, or those of
    the functions of a list."""
    text = f.prototypes.get(label, "")
    if text.startswith(".calltargets"):
        names = {n.strip() for n in text.removeprefix(".calltargets").split(",")}
        kinds: dict[Any, _Signature] = {}
        for x in (_signature(x) for x in module.functions if x.name in names):
            kinds.setdefault(x[1:], x)
        return list(kinds.values())
    groups = re.match(r"\.callprototype\s*(\([^()]*\))?\s*_\s*(\([^()]*\))?", text)
    return [(label, _written(groups[2]), _written(groups[1]))] if groups is not None else []


def _written(text: str | None) -> tuple[_Formal, ...]:
    """The parameters that a prototype lists."""
    found = []
    for space, align, type, array, count in _FORMAL.findall(text or ""):
        t = SCALARS.get(type, SCALARS["b32"])
        n = int(count, 0) if count else 0 if array else 1
        found.append((space == "reg", t.bits * n, bool(array), int(align or t.bits // 8), _kind(t)))
    return tuple(found)


def _kind(t: Any) -> str:
    return "" if not isinstance(t, ScalarType) or t.kind == "b" else "f" if t.is_float else "i"


def _formal(p: Any) -> _Formal:
    if isinstance(p, Variable):
        array = isinstance(p.value_type, ArrayType)
        return (False, p.size * 8, array, _align(p), _kind(p.element_type))
    bits = p.type.bits if isinstance(p.type, ScalarType) else 0
    return (True, bits, False, bits // 8, _kind(p.type))


def _mismatch(
    name: str, params: tuple[_Formal, ...], returns: tuple[_Formal, ...], given: list[Any],
    made: list[Any],
) -> str | None:
    for what, formals, actuals in (("arguments", params, given), ("results", returns, made)):
        if len(formals) != len(actuals):
            return f"{name} has {len(formals)} {what}, the call {len(actuals)}"
        for formal, v in zip(formals, actuals, strict=True):
            problem = _argument_problem(formal, v, name)
            if problem is not None:
                return problem
    return None


def _argument_problem(formal: _Formal, v: Any, name: str) -> str | None:
    in_register, bits, array, align, kind = formal
    if isinstance(v, Constant):
        wrong = "i" if v.type is IMM else "f"
        if array or (kind and kind != wrong):
            return f"{v.name} is passed to {name} where it takes " + (
                "an array" if array else "a float" if kind == "f" else "an integer")
        return None
    if isinstance(v, Variable) and v.space != "param":
        return f"'{v.name}' is .{v.space}: a call passes .param variables and registers"
    if not isinstance(v, Variable) and not isinstance(v.type, ScalarType):
        return None
    _, has, is_array, aligned, own = _formal(v)
    if is_array != array or (bits and has != bits):
        own_name = "an argument" if isinstance(v, Undef) else f"'{v.name}'"
        return (f"{own_name} has {has // 8} bytes{' in an array' if is_array else ''}, {name} has "
                f"{bits // 8}{' in an array' if array else ''} there")
    if kind and own and kind != own:
        return f"'{v.name}' is {_KINDS[own]}, {name} takes {_KINDS[kind]} there"
    if isinstance(v, Variable) and not in_register and aligned != align:
        return f"'{v.name}' is aligned to {aligned}, {name} to {align}"
    return None
