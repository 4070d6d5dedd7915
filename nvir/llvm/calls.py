"""Reading calls: of functions, pointers, inline assembly, intrinsics."""

from __future__ import annotations

import functools
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from nvir.ir import Argument, CallInfo, Function, Instruction, Value, constant, nvvm_form, undef
from nvir.ir import types as ty
from nvir.ir.intrinsics import find, has_literals, mismatch
from nvir.ir.nvvm_values import InlineAsm, Node, NvvmCall
from nvir.llvm.attributes import NAMES, has
from nvir.llvm.expand.accesses import access_of
from nvir.llvm.expand.signatures import (
    asks_for_operands,
    declaration_problem,
    is_known,
    literal_problem,
)
from nvir.llvm.expand.upgrade import (
    OLDER_RESULTS,
    expansion_of,
    upgrade_declaration,
    upgrade_operands,
    upgraded,
)
from nvir.llvm.grammar import FLAGS
from nvir.llvm.lexer import Stop, name_in

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader

# LLVM's names of calling conventions; those of other machines are C's here, as for llc.
CONVENTIONS = frozenset((
    "ccc", "fastcc", "coldcc", "ptx_kernel", "ptx_device", "spir_func", "spir_kernel", "tailcc",
    "preserve_mostcc", "preserve_allcc", "preserve_nonecc", "swiftcc", "swifttailcc", "ghccc",
    "anyregcc", "win64cc", "cfguard_checkcc", "cxx_fast_tlscc", "graalcc", "hhvmcc", "hhvm_ccc",
    "intel_ocl_bicc", "x86_stdcallcc", "x86_fastcallcc", "x86_regcallcc", "x86_thiscallcc",
    "x86_vectorcallcc", "x86_64_sysvcc", "arm_apcscc", "arm_aapcscc", "arm_aapcs_vfpcc",
    "aarch64_vector_pcs", "aarch64_sve_vector_pcs", "riscv_vector_cc", "m68k_rtdcc",
))
_NUMBER = re.compile(r"cc(\d{0,9})\Z")  # cc 71, or cc71 as one word
_NUMBERED = {0: "", 8: "fastcc", 9: "coldcc", 71: "ptx_kernel", 72: "ptx_device",
             75: "spir_func", 76: "spir_kernel"}
type_of = attrgetter("type")
_ASM_FLAGS = ("sideeffect", "alignstack", "inteldialect", "unwind")
# Calls that say something to a debugger or an alias analysis alone.
SILENT = ("@llvm.dbg.", "@llvm.experimental.noalias.scope.decl", "@llvm.pseudoprobe")
_POINTEE = re.compile(r"\.p(\d+)[a-z_]\w*(?=\.|\Z)")


@functools.lru_cache(maxsize=4096)
def opaque_name(name: str) -> str:
    """An intrinsic's name as opaque pointers have it: `llvm.memcpy.p0i8.p1i8.i64` without i8."""
    return _POINTEE.sub(r".p\1", name) if name.startswith("llvm.") else name


def read_call(b: DefinitionReader, row: str) -> Value | None:
    """`[tail] call [flags] [convention] [attributes] T @f(arguments) [attributes]`"""
    spelling = "call"
    if row != "call":
        b.expect("call")
        spelling = f"call {row}"
    flags_at = b.k
    flags = b.flags("call") if b.t[flags_at] in FLAGS else "call"
    called = convention(b)
    result_attributes = b.reader.attributes.parameter(b)
    if b.t[b.k] == "addrspace":
        b.address_space()
    at = b.k
    t = b.type()
    callee_at = b.k
    silent = b.t[callee_at].startswith("@llvm.") and b.t[callee_at].startswith(SILENT)
    callee = _callee(b)
    if silent:
        _skip_silent(b, callee_at)
        b.reader.attributes.function(b)
        return None
    operands, arguments = _arguments(b)
    if callee is None:
        result = t.result if isinstance(t, ty.FunctionType) else t
        callee = _declared(b, b.t[callee_at], result, operands, callee_at)
    f: Any = callee if isinstance(callee, Function) else None
    intrinsic = f is not None and f.name.startswith("llvm.")
    if intrinsic and upgrade_operands(f.name, operands, constant(ty.I64, -1)):
        upgrade_operands(f.name, arguments, ())
    behind = b.k
    attributes = b.reader.attributes.function(b)
    if attributes:
        b.reader.attributes.of_call(attributes, behind)
    bundles = _bundles(b, f)
    result = t.result if isinstance(t, ty.FunctionType) else t
    if result in (ty.LABEL, ty.METADATA):
        raise Stop(f"a call does not give a {result}", at)
    if result_attributes:
        b.reader.attributes.of_type(result_attributes, result, at, result=True)
    if any(arguments) and not intrinsic:
        _hold_arguments(arguments, callee, callee_at)
    if flags != "call":
        fast_of(result, "call", flags_at)
        spelling += flags[4:]
    if isinstance(t, ty.FunctionType):
        _check_type(t, operands, at)
    # As another call of these types does, none of which is void.
    fits = (f, result, *map(type_of, operands)) in b.good
    direct = fits or (
        isinstance(callee, InlineAsm) if f is None else _fits(f, result, operands))
    if f is not None and not direct:
        _mismatch(b, f, result, operands, callee_at)
    if intrinsic and not fits and any(v.type is ty.VOID for v in operands):
        return undef(result)  # an operand is of a broken line
    if intrinsic and not (fits and f in b.reader.by_types):
        # A declaration without a call may say anything.
        wrong = (not fits and declaration_problem(f)) or literal_problem(f.name, operands)
        if wrong:
            raise Stop(f"a call of {f.name} {wrong}", callee_at)
    if intrinsic and expansion_of(f.name) is not None:
        made = upgraded(b, f.name, result, operands)
        if made is not None:
            return made if made.type is not ty.VOID else None
    if isinstance(callee, InlineAsm) and (
            made := access_of(b, callee, result, operands)) is not None:
        return made if result is not ty.VOID else None
    values = tuple(operands) if direct else (callee, *operands)
    known = callee if direct else None
    if result_attributes or attributes or any(arguments) or bundles:
        info: CallInfo = NvvmCall(
            len(values), callee=known, attributes=attributes, arguments=tuple(arguments),
            result=result_attributes, bundles=bundles,
        )
    else:
        info = CallInfo(len(values), callee=known)
    call = Instruction(nvvm_form(spelling), values, result, aux=info)
    if isinstance(t, ty.FunctionType) and t.variadic and not direct:
        b.reader.by_pointer[call] = len(t.params)
    if intrinsic and not (fits and f in b.reader.by_types):
        _hold_to_row(b, f, call, callee_at)
    if row == "musttail":
        b.must_tail.append((call, called))
    return call


def _hold_to_row(b: DefinitionReader, f: Function, call: Instruction, at: int) -> None:
    """A call of an intrinsic has the types that the table says, and literals where it does."""
    row = find(f.name)
    wrong = mismatch(row, call) if row is not None else None
    if wrong:
        for v in call._operands:
            v.drop_use(call)
        raise Stop(f"a call of {f.name} {wrong}", at)
    if not (asks_for_operands(f.name) or (row is not None and has_literals(row))):
        b.reader.by_types.add(f)


def _hold_arguments(arguments: list[tuple[Any, ...]], callee: Value, at: int) -> None:
    """`immarg` is of intrinsics alone, `elementtype` of these and of assembly."""
    for words in arguments:
        if has(words, "immarg"):
            raise Stop("'immarg' is of intrinsics", at)
        if has(words, "elementtype") and not isinstance(callee, InlineAsm):
            raise Stop("'elementtype' is of intrinsics and assembly", at)


def fast_of(t: ty.Type, row: str, at: int) -> None:
    """Flags of fast mathematics are for floats, vectors and arrays of them."""
    while isinstance(t, ty.VectorType | ty.ArrayType):
        t = t.element
    if not isinstance(t, ty.FloatType) and not isinstance(t, ty.StructType):
        raise Stop(f"{row} of {t} with flags that are for floats", at)


_ONCE = ("deopt", "gc-transition", "funclet", "cfguardtarget", "preallocated", "gc-live", "kcfi")


def _bundles(b: DefinitionReader, f: Function | None) -> tuple[tuple[str, int], ...]:
    """`[ "preserve_n_data"(i32 4), … ]`: bundles of one number each are kept. Those of
    llvm.assume are promises, so leaving them out is sound; no others are known."""
    if b.t[b.k] != "[":
        return ()
    b.k += 1
    out: list[tuple[str, int]] = []
    told: set[str] = set()
    while b.t[b.k] != "]":
        at, tag = b.k, b.string("an operand bundle's name")
        b.expect("(")
        if f is not None and f.name == "llvm.assume":
            _promise(b, tag, at)
        elif tag.startswith("preserve_n_") and b.accept("i32"):
            out.append((tag, b.number()))
        else:
            if tag in told and tag in _ONCE:
                raise Stop(f"'{tag}' stands twice at a call", at)
            told.add(tag)
            b.passes_over(f"the operand bundle {tag[:60]} of a call", at)
            while b.t[b.k] != ")":
                b.typed()
                if b.t[b.k] != ")":
                    b.expect(",")
        b.expect(")")
        if b.t[b.k] == ",":
            b.k += 1
    b.k += 1
    return tuple(out)


def _promise(b: DefinitionReader, tag: str, at: int) -> None:
    """`(ptr %p, i64 16)` of a bundle of llvm.assume."""
    if tag not in NAMES and tag not in ("ignore", "cold", "separate_storage"):
        raise Stop(f"llvm.assume takes names of attributes, not '{tag[:60]}'", at)
    operands: list[Value] = []
    while b.t[b.k] != ")":
        if operands:
            b.expect(",")
        operands.append(b.typed())
    if tag == "align" and (
        len(operands) not in (2, 3) or not isinstance(operands[0].type, ty.PointerType)
        or not all(isinstance(v.type, ty.IntType) for v in operands[1:])
    ):
        raise Stop("an assumed alignment takes a pointer, a number and, if any, another number", at)


def _skip_silent(b: DefinitionReader, at: int) -> None:
    """Pass over the arguments of a call that is left out: those of llvm.dbg are metadata."""
    start = b.k
    b.skip_brackets()
    if not b.t[at].startswith("@llvm.dbg."):
        return
    if b.t[start + 1] not in ("metadata", ")"):
        raise Stop(f"the arguments of {b.t[at][1:]} are metadata", start + 1)
    b.known_nodes(start)


def convention(g: Any) -> str:
    """The calling convention at `k`; "" for C's."""
    token = g.t[g.k]
    if token in CONVENTIONS:
        g.k += 1
        return str(token) if token != "ccc" else ""
    if token[:2] == "cc" and (found := _NUMBER.match(token)) is not None:
        g.k += 1
        number = int(found[1]) if found[1] else g.number()
        return _NUMBERED.get(number, f"cc {number}")
    return ""


def _declared(
    b: DefinitionReader, token: str, result: ty.Type, operands: list[Value], at: int
) -> Function:
    """An intrinsic that is called without a declaration, as LLVM takes it from 18 on."""
    f = Function(opaque_name(name_in(token)), "func", b.reader.module)
    if not is_known(f.name):
        raise Stop(f"use of undefined symbol '{token}'", at)
    f.type, f.return_type = ty.pointer(), result
    f.params = [Argument(v.type, None, f, k) for k, v in enumerate(operands)]
    upgrade_declaration(f)
    b.reader.add(token, f, at)
    b.reader.places[f] = at
    b.reader.module.add_function(f)
    return f


def _callee(b: DefinitionReader) -> Value | None:
    """What is called; None for an intrinsic that is not declared."""
    token, at = b.t[b.k], b.k
    if token == "asm":
        b.k += 1
        flags = []
        while b.t[b.k] in _ASM_FLAGS:
            flags.append(b.t[b.k])
            b.k += 1
        template = b.string("the assembly's text")
        b.expect(",")
        return InlineAsm(template, b.string("the constraints"), tuple(flags))
    if token[:1] == "@":
        b.k += 1
        found: Value | None = b.symbols.get(token) or b.stand_ins.get(token)
        if found is None and token.startswith(SILENT):
            return InlineAsm("", "")
        if found is None and not token.startswith("@llvm."):
            raise Stop(f"use of undefined symbol '{token}'", at)
        return found
    return b.value(ty.pointer())


def _arguments(b: DefinitionReader) -> tuple[list[Value], list[tuple[Any, ...]]]:
    operands: list[Value] = []
    attributes: list[tuple[Any, ...]] = []
    b.expect("(")
    t = b.t
    if t[b.k] == ")":
        b.k += 1
        return operands, attributes
    while True:
        at = b.k
        kind: ty.Type = b.type()
        if kind is ty.METADATA:
            operands.append(_metadata(b))
            attributes.append(())
        else:
            token = t[b.k]
            v = b.values.get(token)
            if v is not None and v.type is kind:
                b.k += 1
                attributes.append(())
            else:
                words = b.reader.attributes.parameter(b)
                attributes.append(words)
                if words:
                    b.reader.attributes.of_type(words, kind, at)
                if kind is ty.VOID:
                    raise Stop("an argument of type void", at)
                v = b.value(kind)
            operands.append(v)
        if t[b.k] == ")":
            b.k += 1
            return operands, attributes
        b.expect(",")


def _metadata(b: DefinitionReader) -> Value:
    m = b.reader.metadata
    m.k = b.k
    token = b.t[b.k]
    if token[:1] != "!":
        b.unsupported("a value as metadata")
    content = m.resolved(m.element(), b.k)
    b.k = m.k
    return Node(content)


def _check_type(t: ty.FunctionType, operands: list[Value], at: int) -> None:
    given = [v.type for v in operands]
    n = len(t.params)
    if given[:n] != [*t.params] or (len(given) > n and not t.variadic):
        raise Stop(f"the arguments are not those of {t}", at)


def _fits(f: Function, result: ty.Type, operands: list[Value]) -> bool:
    params = f.params  # of this level, all of them values
    if result is OLDER_RESULTS.get(str(f.name), (None, None))[1]:
        result = f.return_type
    variadic = bool(f.aux and f.aux.get("variadic"))
    return (
        f.return_type is result
        and (len(operands) == len(params) or (variadic and len(operands) > len(params)))
        and all(v.type is p.type for v, p in zip(operands, params, strict=False))
    )


def _mismatch(
    b: DefinitionReader, f: Function, result: ty.Type, operands: list[Value], at: int
) -> None:
    """A call whose types are not the callee's is one through a pointer, as in LLVM. It is wrong for
    an intrinsic, and where pointers have types: there it takes a cast, `bitcast (… @f to …)`."""
    if b.t[at][:1] != "@" or not (b.text.typed or f.name.startswith("llvm.")):
        return
    if len(operands) != len(f.arguments) and not (f.aux and f.aux.get("variadic")):
        raise Stop(f"the call passes {len(operands)} arguments, {f.name} takes "
                   f"{len(f.arguments)}", at)
    if f.return_type is not result:
        raise Stop(f"{f.name} returns {f.return_type}, not {result}", at)
    for v, p in zip(operands, f.arguments, strict=False):
        if v.type is not p.type and v.type is not ty.VOID:
            raise Stop(f"{v.name or 'an argument'} is of type {v.type}, {f.name} takes {p.type}",
                       at)


