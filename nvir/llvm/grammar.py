"""Types and constants of LLVM text, in both dialects: the part of the grammar that all others use.

A typed pointer `T addrspace(n)*` is read as the opaque `ptr addrspace(n)`; `pointee` remembers the
last `T`, for attributes that used to take it from there (`byval`). Constants are memoised by type
and token. Casts between pointer types of one space vanish.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NoReturn

import nvir.ir.opcodes.nvvm  # noqa: F401  # fills the table
from nvir.ir import NVVM, Function, Instruction, Symbol, Value, constant, undef
from nvir.ir import types as ty
from nvir.ir.nvvm_values import ConstantExpr, poison
from nvir.ir.text.datum import MAX_DEPTH
from nvir.ir.verify.nvvm import CASTS
from nvir.llvm.floats import float_bits
from nvir.llvm.lexer import END, Stop, Text, bytes_in, name_in, unquoted
from nvir.llvm.literals import (
    bracket_fits,
    expression_problem,
    folded,
    hexadecimal,
    is_zero,
    members,
    zero,
)

SIMPLE: dict[str, ty.Type] = {
    "void": ty.VOID, "half": ty.HALF, "bfloat": ty.BFLOAT, "float": ty.FLOAT, "double": ty.DOUBLE,
    "fp128": ty.FP128, "label": ty.LABEL, "metadata": ty.METADATA, "token": ty.TOKEN,
    "ptr": ty.pointer(), **{f"i{n}": ty.int_type(n) for n in (1, 8, 16, 32, 64, 128)},
}
# Types that nvir does not take, and what is read on with in their place.
NOT_TAKEN: dict[str, ty.Type] = {
    "x86_fp80": ty.FloatType("x86_fp80", 80, 63), "ppc_fp128": ty.FloatType("ppc_fp128", 128, 105),
    "x86_mmx": ty.vector(ty.I64, 1), "x86_amx": ty.vector(ty.I32, 256),
    "target": ty.vector(ty.I64, 2),
}
_PLACES = ("blockaddress", "dso_local_equivalent", "no_cfi", "ptrauth")
UNSIZED = frozenset((ty.VOID, ty.LABEL, ty.METADATA, ty.TOKEN))  # of no value in memory
_SCALARS = frozenset((ty.IntType, ty.FloatType, ty.PointerType))
_MORE_TYPE = frozenset(("*", "addrspace", "("))
FLAGS = frozenset((
    "nsw", "nuw", "exact", "disjoint", "nneg", "inbounds", "nusw", "samesign",
    "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc",
))
_FAST = frozenset(("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"))
_WRAPS = frozenset(("nsw", "nuw"))
_EXACT = frozenset(("exact",))
FLAGS_OF: dict[str, frozenset[str]] = {
    **dict.fromkeys(("add", "sub", "mul", "shl", "trunc"), _WRAPS),
    **dict.fromkeys(("udiv", "sdiv", "lshr", "ashr"), _EXACT), "or": frozenset(("disjoint",)),
    **dict.fromkeys(("zext", "uitofp"), frozenset(("nneg",))), "icmp": frozenset(("samesign",)),
    "getelementptr": frozenset(("inbounds", "nusw", "nuw")),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "select", "phi",
                     "call", "fptrunc", "fpext", "sitofp"), _FAST),
}
MAX_DIGITS = 4000
MAX_SEEN = 8  # types that begin with the same tokens and are remembered
_INTEGER = re.compile(r"-?\d+\Z", re.ASCII).match
_FLOAT = re.compile(r"[-+]?(?:\d|inf|[qs]?nan)|f0x", re.ASCII).match
_HEX = re.compile(r"[us]0x[0-9A-Fa-f]+\Z").match
_NUMBER = re.compile(r"[-+]?\d[\w.+-]*\Z", re.ASCII).match

MAX_ALIGN = 1 << 32
_OPENING = frozenset("([{<")
_CLOSING = frozenset(")]}>")
# Constant expressions that LLVM dropped before pointers lost their types.
_NO_MORE = frozenset((
    "udiv", "sdiv", "urem", "srem", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "select",
    "extractvalue", "insertvalue", "shl", "lshr", "ashr", "and", "or", "zext", "sext", "fptrunc",
    "fpext", "uitofp", "sitofp", "fptoui", "fptosi", "icmp", "fcmp",
))

class Grammar:
    """A place in a text (`k`, the number of the next token) and what names mean there.

    structs   named types by token; structs are made when first named
    symbols   variables and functions by token
    stand_ins what aliases stand for, by token
    """

    def __init__(self, text: Text) -> None:
        self.text, self.t, self.k = text, text.tokens, 0
        self.structs: dict[str, ty.Type] = {}
        self.struct_uses: dict[str, int] = {}
        self.symbols: dict[str, Symbol] = {}
        self.stand_ins: dict[str, Value] = {}
        self.told_blocks: list[tuple[Function, str, int]] = []  # of functions, told outside of them
        self.seen_types: dict[tuple[str, str, str], list[tuple[list[str], ty.Type]]] = {}
        self.numbers: dict[str, int] = {}
        self.memo: dict[tuple[ty.Type, str], Value] = {}
        self.pointee: ty.Type = ty.I8
        self.start = 0  # the first token of the line or entity that is being read

    def share(self, other: Grammar) -> None:
        """Take another's names."""
        self.structs, self.struct_uses = other.structs, other.struct_uses
        self.symbols, self.memo, self.stand_ins = other.symbols, other.memo, other.stand_ins
        self.told_blocks = other.told_blocks
        self.seen_types, self.numbers = other.seen_types, other.numbers

    # ------------------------------------------------------------- tokens

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        at = self.k if at is None else at
        if at > self.start and self.text.begins_line(at):
            raise Stop(f"expected {expected}, found the end of the line", at, behind=True)
        token = self.t[at]
        found = f"'{token[:60]}'" if token != END else "the end of the file"
        raise Stop(f"expected {expected}, found {found}", at)

    def unsupported(self, what: str, at: int | None = None) -> NoReturn:
        raise Stop(what, self.k if at is None else at, unsupported=True)

    def passes_over(self, what: str, at: int) -> None:
        """Tell of what nvir does not take; reading goes on here, for errors are told before it."""
        self.stopped(Stop(what, at, unsupported=True))

    def stopped(self, e: Stop) -> None:
        """Note an error; reading goes on."""
        raise NotImplementedError

    def expect(self, token: str) -> None:
        if self.t[self.k] != token:
            self.fail(f"'{token}'")
        self.k += 1

    def accept(self, token: str) -> bool:
        if self.t[self.k] == token:
            self.k += 1
            return True
        return False

    def number(self, what: str = "a number") -> int:
        token = self.t[self.k]
        known = self.numbers.get(token)
        if known is None:
            if not (token.isdigit() and token.isascii() and len(token) <= MAX_DIGITS):
                self.fail(what)
            known = self.numbers[token] = int(token)
        self.k += 1
        return known

    def alignment(self) -> int:
        at = self.k
        n = self.number()
        if n == 0 or n & (n - 1) or n > MAX_ALIGN:
            raise Stop("an alignment is a power of two", at)
        return n

    def string(self, what: str = "a string") -> str:
        token = self.t[self.k]
        if token[:1] != '"' or len(token) < 2 or token[-1] != '"':
            self.fail(what)
        self.k += 1
        return unquoted(token)

    def skip_brackets(self) -> None:
        """Pass over a bracket at `k` with all that is in it."""
        depth, t, k = 0, self.t, self.k
        while (token := t[k]) != END:
            k += 1
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            if depth <= 0:
                break
        self.k = k

    def use_list_order(self) -> None:
        """`uselistorder T v, { 1, 0 }`: the order of uses is dropped, the indices are checked."""
        self.k += 1
        t = self.type()
        at = self.k
        v = self.value_of(t)
        one = self.k == at + 1
        count = self.order_indices()
        most = self._uses(at, v) if one else None
        if most is not None and most < count:
            raise Stop(f"{count} indices for '{self.t[at][:40]}', which has {most} uses", at)

    def _uses(self, at: int, v: Any) -> int | None:
        """How many uses a value has at most, an order of which has been read from `at`: it is
        written for each, in the order, and where it is defined. None for what has no one text."""
        token = self.t[at]
        times, here = self.written(token[0] == "%"), self.t[at:self.k].count(token)
        if _INTEGER(token):
            implied = times["zeroinitializer"] if token == "0" else (
                times["alloca"] if token == "1" else 0)
            return None if any(map(_HEX, times)) else (
                times[token] - here + implied + self.text.folded)
        if token[0] not in "%@":
            return None
        numbered = token[1:].isdigit()  # such an instruction need not name itself
        defined = token[0] == "@" or (isinstance(v, Instruction) and not numbered)
        return times[token] - here - defined

    def order_indices(self) -> int:
        """`, { 1, 0 }`: how many they are."""
        self.expect(",")
        at = self.k
        self.expect("{")
        indices: list[int] = []
        while not self.accept("}"):
            if indices:
                self.expect(",")
            indices.append(self.number())
        if len(indices) < 2:
            raise Stop("an order has two indices at least", at)
        if sorted(indices) != [*range(len(indices))] or indices == sorted(indices):
            raise Stop("an order has each index once, and changes something", at)
        return len(indices)

    def written(self, local: bool) -> Counter[str]:
        """Hook: how often each token is written, in the function if local, or in the text."""
        return self.text.written

    def value_of(self, t: ty.Type) -> Any:
        """Hook: a value of type `t` at `k`; outside of functions a constant."""
        return self.constant(t)

    # -------------------------------------------------------------- types

    def type(self, depth: int = 0) -> ty.Type:
        """The type at `k`."""
        t, k = self.t, self.k
        found = SIMPLE.get(t[k])
        if found is None:
            found = self._type(depth)
        else:
            self.k = k + 1
        if t[self.k] in _MORE_TYPE:
            found = self._more(found, depth)
        return found

    def _more(self, found: ty.Type, depth: int) -> ty.Type:
        """What follows a type: `*`, `addrspace(1)*`, or a function's parameters."""
        t = self.t
        while True:
            token, at = t[self.k], self.k
            if token == "(":
                found = self._function_type(found, depth)
            elif token in ("*", "addrspace"):
                space = self.address_space() if token == "addrspace" else 0
                if isinstance(found, ty.PointerType) and not self.text.typed and token == "*" and (
                    "ptr" in (t[at - 1], t[at - 5])
                ):
                    raise Stop("'ptr*' is no type, 'ptr' is", at)
                if t[at - 1] != "ptr" or token == "*":
                    self.expect("*")
                    self.text.typed = True
                    if found in UNSIZED:
                        raise Stop(f"there are no pointers to {found}", at)
                self.pointee = found
                found = ty.pointer(space)
            else:
                return found

    def address_space(self) -> int:
        self.k += 1
        self.expect("(")
        space = self.number("an address space")
        if space >= 1 << 24:
            raise Stop("an address space has 24 bits", self.k - 1)
        self.expect(")")
        return space

    def _type(self, depth: int) -> ty.Type:
        """A type of more than one token; one that was read before is known by its tokens."""
        t, at = self.t, self.k
        if t[at] not in "[{<":
            return self._fresh_type(depth)
        seen = self.seen_types.setdefault((t[at + 1], t[at + 2], t[at + 3]), [])
        for tokens, known in seen:
            end = at + len(tokens)
            if t[at:end] == tokens:
                self.k = end
                return known
        found = self._fresh_type(depth)
        if len(seen) < MAX_SEEN:
            seen.append((t[at : self.k], found))
        return found

    def _fresh_type(self, depth: int) -> ty.Type:
        token, at = self.t[self.k], self.k
        if depth > MAX_DEPTH:
            self.unsupported(f"a type nested deeper than {MAX_DEPTH}")
        self.k += 1
        if token[:1] == "%":
            return self.named(token, at)
        if token[:1] == "i" and token[1:].isdigit() and len(token) < 10:
            try:
                return ty.int_type(int(token[1:]))
            except ValueError as e:
                raise Stop(str(e), at) from None
        if token == "[":
            return self._sequence(ty.array, "]", depth)
        if token == "{":
            return ty.struct(self._members(depth))
        if token == "<":
            if self.accept("{"):
                body = self._members(depth)
                self.expect(">")
                return ty.struct(body, packed=True)
            if self.t[self.k] == "vscale":
                self.passes_over("a scalable vector", self.k)
                self.k += 1
                self.expect("x")
            return self._sequence(ty.vector, ">", depth)
        if token in NOT_TAKEN:
            self.passes_over(f"the type {token}", at)
            if token == "target":  # target("spirv.Image", …)
                self.skip_brackets()
            return NOT_TAKEN[token]
        return self.fail("a type", at)

    def named(self, token: str, at: int) -> ty.Type:
        found = self.structs.get(token)
        if found is None:
            found = self.structs[token] = ty.named_struct(name_in(token))
            self.struct_uses[token] = at
        return found

    def _sequence(self, make: Any, close: str, depth: int) -> ty.Type:
        at = self.k
        count = self.number("a count")
        self.expect("x")
        inner = self.type(depth + 1)
        self._sized(inner, at)
        if make is ty.vector and not isinstance(inner, ty.IntType | ty.FloatType | ty.PointerType):
            raise Stop(f"there are no vectors of {inner}", at)
        if make is ty.vector and count == 0:
            raise Stop("a vector has at least one element", at)
        self.expect(close)
        made: ty.Type = make(inner, count)
        return made

    def _sized(self, t: ty.Type, at: int) -> None:
        if t in UNSIZED or isinstance(t, ty.FunctionType):
            raise Stop(f"there are no values of type {t} in memory", at)

    def _members(self, depth: int) -> list[ty.Type]:
        out: list[ty.Type] = []
        if self.accept("}"):
            return out
        while True:
            at = self.k
            out.append(self.type(depth + 1))
            self._sized(out[-1], at)
            if self.accept("}"):
                return out
            self.expect(",")

    def _function_type(self, result: ty.Type, depth: int) -> ty.Type:
        if result in (ty.LABEL, ty.METADATA) or isinstance(result, ty.FunctionType):
            raise Stop(f"a function does not return a {result}", self.k)
        if depth > MAX_DEPTH:
            self.unsupported(f"a type nested deeper than {MAX_DEPTH}")
        self.expect("(")
        params: list[ty.Type] = []
        variadic = False
        while not self.accept(")"):
            if params or variadic:
                self.expect(",")
            if self.accept("..."):
                variadic = True
            else:
                at = self.k
                params.append(self.type(depth + 1))
                if params[-1] is ty.VOID or isinstance(params[-1], ty.FunctionType):
                    raise Stop(f"a parameter of type {params[-1]}", at)
                self.skip_words()
        return ty.function_type(result, params, variadic)

    def skip_words(self) -> None:
        """Hook: attributes behind a parameter's type."""

    # ---------------------------------------------------------- constants

    def constant(self, t: ty.Type, depth: int = 0) -> Value:
        """The constant of type `t` at `k`."""
        token = self.t[self.k]
        known = self.memo.get((t, token))
        if known is not None:
            self.k += 1
            return known
        if depth > MAX_DEPTH:
            self.unsupported(f"a constant nested deeper than {MAX_DEPTH}")
        at, c = self.k, token[:1]
        self.k += 1
        if c == "@":
            return self.symbol(t, token, at)
        if c in "{[<" and c:
            self.k = at
            return self._aggregate(t, depth)
        if token in NVVM and token != "ret":
            return self._expression(t, token, at, depth)
        if token == "splat":
            return self._splat(t, at, depth)
        if token in _PLACES:
            return self._place(t, token, at, depth)
        if token[-3:] == "nan" and self.t[self.k] == "(":  # +nan(0x1)
            token += "".join(self.t[self.k : self.k + 3])
            self.k += 3
        v = self._literal(t, token, at)
        self.memo[t, token] = v
        return v

    def _place(self, t: ty.Type, token: str, at: int, depth: int) -> Value:
        """`blockaddress(@f, %b)` and its like, which nvir does not take; they are to be right."""
        self.passes_over(f"the constant {token}", at)
        if token not in ("blockaddress", "ptrauth"):
            return self.constant(t, depth + 1)
        self.expect("(")
        if token == "ptrauth":
            self.constant(self.type(), depth + 1)
            while self.accept(","):
                self.constant(self.type(), depth + 1)
        else:
            f, name = self.symbols.get(self.t[self.k]), self.k
            if not isinstance(f, Function):
                raise Stop(f"'{self.t[name][:60]}' is no function", name)
            self.k += 1
            self.expect(",")
            self.told_blocks.append((f, self.t[self.k], self.k))
            self.k += 1
        self.expect(")")
        return zero(t)

    def concrete(self, t: ty.Type, at: int) -> None:
        """A type of values in memory whose size is known."""
        if t.__class__ in _SCALARS:
            return
        self._sized(t, at)
        opaque = opaque_in(t)
        if opaque is not None:
            raise Stop(f"{opaque} is opaque: its size is not known", at)

    def symbol(self, t: ty.Type, token: str, at: int) -> Value:
        found: Value | None = self.symbols.get(token) or self.stand_ins.get(token)
        if found is None:
            raise Stop(f"use of undefined symbol '{token}'", at)
        if token.startswith("@llvm.") and isinstance(found, Function):
            raise Stop("an intrinsic is called, and has no address", at)
        if found.type is not t:
            raise Stop(f"'{token}' is of type {found.type}, here {t}", at)
        return found

    def _literal(self, t: ty.Type, token: str, at: int) -> Value:
        if token == "undef" or token == "poison":
            return undef(t) if token == "undef" else poison(t)
        if token == "zeroinitializer" or (token == "null" and isinstance(t, ty.PointerType)):
            return zero(t)
        if isinstance(t, ty.IntType):
            if token in ("true", "false") and t.bits == 1:
                return constant(t, int(token == "true"))
            if token[1:3] == "0x" and _HEX(token):
                return self._integer(t, hexadecimal(token))
            if _NUMBER(token):
                if not _INTEGER(token):
                    raise Stop(f"'{token[:40]}' is no integer, as {t} needs", at)
                if len(token) > MAX_DIGITS:
                    raise Stop("the number is too long", at)
                return self._integer(t, int(token))
        elif isinstance(t, ty.FloatType) and _FLOAT(token):
            bits = float_bits(t, token)
            if bits is None:
                exact = ", or not exactly one" if "." in token else ""
                raise Stop(f"'{token[:40]}' is no {t}{exact}", at)
            return constant(t, bits)
        elif token[:2] == 'c"' and isinstance(t, ty.ArrayType) and t.element is ty.I8:
            data = bytes_in(token[1:])
            if len(data) != t.count:
                raise Stop(f"a string of {len(data)} bytes for {t}", at)
            if not any(data):
                return zero(t)
            return constant(t, tuple([constant(ty.I8, b - 256 if b > 127 else b) for b in data]))
        return self.fail(f"a constant of type {t}", at)

    def _integer(self, t: ty.IntType, value: int) -> Value:
        bits = t.bits
        value &= (1 << bits) - 1  # LLVM up to 19 takes a number that is too large, and wraps it
        if bits == 1:
            return constant(t, value)
        return constant(t, value - (1 << bits) if value >> (bits - 1) > 0 else value)

    def _aggregate(self, t: ty.Type, depth: int) -> Value:
        at, packed = self.k, False
        opening = self.t[at]
        self.k += 1
        if opening == "<" and self.t[self.k] == "{":
            packed, opening = True, "{"
            self.k += 1
        closing = {"{": "}", "[": "]", "<": ">"}[opening]
        items: list[Value] = []
        while not self.accept(closing):
            if items:
                self.expect(",")
            items.append(self.constant(self.type(), depth + 1))
        if packed:
            self.expect(">")
        wanted = members(t)
        if wanted is None or [v.type for v in items] != wanted or not bracket_fits(t, opening) or (
            isinstance(t, ty.StructType) and t.packed != packed
        ):
            raise Stop(f"this is no constant of type {t}", at)
        if items and all(is_zero(v) for v in items):
            return zero(t)
        return constant(t, tuple(items)) if items else zero(t)

    def _splat(self, t: ty.Type, at: int, depth: int) -> Value:
        self.expect("(")
        v = self.constant(self.type(), depth + 1)
        self.expect(")")
        if not isinstance(t, ty.VectorType) or t.element is not v.type:
            raise Stop(f"this is no constant of type {t}", at)
        return zero(t) if is_zero(v) else constant(t, (v,) * t.count)

    def _expression(self, t: ty.Type, row: str, at: int, depth: int) -> Value:
        """`row flags (operands)`, `row (operand to T)`, `getelementptr (T, operands)`."""
        words = [row]
        if row in ("icmp", "fcmp"):
            words.append(self.t[self.k])
            self.k += 1
        while self.t[self.k] in FLAGS or self.t[self.k] == "inrange":
            if self.t[self.k] == "inrange":  # a promise on where the result points
                self.k += 1
                if self.t[self.k] == "(":
                    self.skip_brackets()
                continue
            words.append(self.t[self.k])
            self.k += 1
        self.expect("(")
        aux: Any = None
        if row == "getelementptr":
            aux = self.type()
            self.expect(",")
        path: list[int] = []
        operands = []
        while True:
            self.accept("inrange")
            if row in ("extractvalue", "insertvalue") and self.t[self.k].isdigit():
                path.append(self.number())
            else:
                operands.append(self.constant(self.type(), depth + 1))
            if not self.accept(","):
                break
        if path:
            aux = tuple(path)
        if row in CASTS:
            self.expect("to")
            if self.type() is not t:
                raise Stop(f"this is no constant of type {t}", at)
        self.expect(")")
        if row == "bitcast" and operands[0].type is t:
            return operands[0]
        if row in _NO_MORE and not self.text.typed:
            raise Stop(f"{row} is no constant expression", at)
        problem = expression_problem(" ".join(words), tuple(operands), t, aux)
        if problem:
            raise Stop(problem, at)
        known = folded(" ".join(words), operands, t)
        return known or ConstantExpr(" ".join(words), tuple(operands), t, aux)


def opaque_in(t: ty.Type) -> ty.StructType | None:
    """The struct without a body that a type is or has in it."""
    structs = [x for x in ty.types_in((t,)) if isinstance(x, ty.StructType)]
    return next((x for x in structs if x.elements is None), None)
