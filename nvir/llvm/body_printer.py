"""Printing a function's body, one method a kind of instruction.

In the typed dialect a pointer that is used under another type than its own is cast first; the
cast is made once for each block. Values without a name are numbered in the order of
the text, casts have names, so that numbers stay dense.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nvir.analysis.known_bits import KnownBits
from nvir.ir import Argument, Block, CallInfo, Constant, Function, Instruction, Unsupported, Value
from nvir.ir.nvvm_values import DEBUG_DECLARE, InlineAsm, Node, NvvmCall
from nvir.ir.types import VOID, ArrayType, PointerType, StructType, Type, VectorType
from nvir.llvm.lexer import quoted, spelled
from nvir.llvm.spell import CASTS, Speller, gep_element

_NOT_FLAGS = frozenset(("volatile", "atomic", "invariant", "tail", "musttail", "notail", "weak"))
_MATH_FLAGS = frozenset(("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"))
_INTEGERS = re.compile(r"(?:<\d+ x )?i\d")  # as LLVM 7 has halves
_PROMISES = frozenset((("disjoint",), ("nneg",)))
# What an LLVM 7 lacks: `legalize` rewrites it or says that it cannot.
WAS = "nvir.was"  # metadata: the row, where it is printed as another or loses a flag
WITH_FLAGS = frozenset(("or", "zext", "trunc", "uitofp", "getelementptr", "icmp", "phi", "select"))
NEW_ROWS = frozenset(("fneg", "freeze"))


class BodyPrinter:
    """Prints one function."""

    def __init__(self, module: Any, function: Function) -> None:
        self.module, self.function = module, function
        self.spell: Speller = module.spell
        self.typed: bool = self.spell.typed
        self.names: dict[Any, str] = {}
        self.printed: dict[Value, str] = {}  # printed types of pointers that are not i8*
        self.casts: dict[tuple[Value, str], str] = {}
        self.taken: set[str] = set()
        self.out: list[str] = []
        self.cast_count = 0
        self.bits = KnownBits()
        self.edges: dict[tuple[Block, Value], str] = {}
        self.at_end: dict[Block, list[tuple[Value, str]]] = {}
        self._name_all()

    # -------------------------------------------------------------- names

    def _name_all(self) -> None:
        f, names, taken = self.function, self.names, self.taken
        for b in f.blocks:
            names[b] = self._fresh(b.name if not b.name.isdigit() else f"bb{b.name}")
        number = 0
        for a in f.arguments:
            if a.name:
                names[a] = f"%{self._fresh(a.name)}"
            else:
                names[a] = f"%{number}"
                number += 1
            if self.typed and isinstance(a.type, PointerType):
                self.printed[a] = self._argument_type(a)
        for b in f.blocks:
            for i in b:
                if i.form.name == "splitStruct":
                    for r in i.results:
                        names[r] = f"%{self._fresh(str(r.name or 'split'))}"
                    continue
                if i.type is VOID:
                    continue
                hint = i.name
                if hint is None:
                    names[i] = f"%{number}"
                    number += 1
                elif hint in taken:
                    names[i] = f"%{self._fresh(hint)}"
                else:
                    taken.add(hint)
                    names[i] = f"%{spelled(hint)}"
                if self.typed and isinstance(i.type, PointerType):
                    self._shape(i)

    def _fresh(self, name: str) -> str:
        n, candidate = 0, name
        while candidate in self.taken:
            n += 1
            candidate = f"{name}.{n}"
        self.taken.add(candidate)
        return spelled(candidate)

    def _argument_type(self, a: Argument) -> str:
        own: str = self.spell.parameter(self.function, a)
        return own

    def _shape(self, i: Instruction) -> None:
        """The printed type of a pointer that an instruction makes, if not `i8*`."""
        if i.form.name == "alloca":
            self.printed[i] = self.spell.pointer_to(self.spell.type(i.aux[0]), i.type)
        elif i.form.name == "getelementptr":
            inner = gep_element(i.aux, i._operands)
            self.printed[i] = self.spell.pointer_to(self.spell.type(inner), i.type)

    # ----------------------------------------------------------- operands

    def name(self, v: Value) -> str:
        """A value without its type, as its canonical type."""
        text = self.names.get(v)
        if text is None:
            constant: str = self.spell.constant(v)
            return constant
        if v in self.printed:
            return self._cast(v, self.spell.type(v.type))
        return text

    def typed_name(self, v: Value) -> str:
        """`float %x`; pointers of the typed dialect as `i8*`."""
        return f"{self.spell.type(v.type)} {self.name(v)}"

    def address(self, v: Value, inner: Type) -> str:
        """A pointer with its type, as one to `inner`."""
        spell: Speller = self.spell
        if not self.typed:
            return f"{spell.type(v.type)} {self.name(v)}"
        if not isinstance(v.type, PointerType):
            raise Unsupported("vectors of pointers", "llvm7", str(self.function.name))
        wanted = spell.pointer_to(spell.type(inner), v.type)
        return f"{wanted} {self.pointer_as(v, wanted)}"

    def pointer_as(self, v: Value, wanted: str) -> str:
        """The name of a pointer that has the printed type `wanted`."""
        if v in self.names:
            return self._cast(v, wanted)
        return self.spell.constant(v, wanted)

    def _cast(self, v: Value, wanted: str) -> str:
        own = self.printed.get(v) or self.spell.type(v.type)
        if own == wanted:
            return self.names[v]
        known = self.casts.get((v, wanted))
        if known is None:
            known = self.casts[v, wanted] = f"%{self._cast_name()}"
            self.out.append(f"  {known} = bitcast {own} {self.names[v]} to {wanted}")
        return known

    def _cast_name(self) -> str:
        while True:
            self.cast_count += 1
            name = f"cast.{self.cast_count}"
            if name not in self.taken:
                return name

    # ---------------------------------------------------------------- body

    def body(self) -> list[str]:
        """The lines between the braces."""
        f, out, names = self.function, self.out, self.names
        self._edge_casts()
        for b in f.blocks:
            self.casts.clear()
            out.append(f"{names[b]}:")
            for i in b:
                if i.form.terminator:
                    for v, name in self.at_end.get(b, ()):
                        own, wanted = self.printed[v], self.spell.type(v.type)
                        out.append(f"  {name} = bitcast {own} {names[v]} to {wanted}")
                if i.form.name == "splitStruct":
                    out += self._split(i)
                    continue
                method = _METHODS.get(i.form.name)
                if method is None or (self.typed and i.form.name in NEW_ROWS):
                    raise Unsupported(i.form.name, self.module.dialect, f"@{f.name}")
                line = method(self, i)
                head = f"  {names[i]} = " if i.type is not VOID else "  "
                out.append(f"{head}{line}{self._attachments(i)}")
        return out

    def _edge_casts(self) -> None:
        """Name the casts at the ends of blocks, of pointers that phis take as `i8*`."""
        if not self.typed:
            return
        for b in self.function.blocks:
            for i in b.phis:
                for v, source in i.incoming:
                    own = self.printed.get(v)
                    if own and own != self.spell.type(v.type) and (source, v) not in self.edges:
                        name = f"%{self._cast_name()}"
                        self.edges[source, v] = name
                        self.at_end.setdefault(source, []).append((v, name))

    def _attachments(self, i: Instruction) -> str:
        out = ""
        metadata = self.module.metadata
        if i.form.name == "load" and "invariant" in i.form.mods:
            out += f", !invariant.load {metadata.add('!{}')}"
        if self.typed and i.form.mods and i.form.name in WITH_FLAGS and self._lost(i):
            self.module.tells = True
            out += f", !{WAS} {metadata.add(f'!{{!{quoted(i.form.spelling)}}}')}"
        if isinstance(i.aux, NvvmCall) and i.aux.callalign:
            words = ", ".join(f"i32 {k << 16 | n}" for k, n in enumerate(i.aux.callalign) if n)
            out += f", !callalign {metadata.add(f'!{{{words}}}')}"
        if i.form.terminator and i.block is not None and isinstance(i.block.aux, dict):
            properties = i.block.aux.get("llvm.loop")
            if properties is not None:
                out += f", !llvm.loop {metadata.loop(i.block, properties)}"
        place: str = metadata.place(i, self.function)
        return out + place

    # --------------------------------------------------------- instructions

    def head(self, i: Instruction) -> str:
        """The row with its flags, those alone that the dialect has."""
        f = i.form
        if not f.mods:
            return f.name
        if self.typed and f.mods in _PROMISES:
            return self._kept(i)
        mods = [m for m in self.spell.flags(f.mods) if m not in _NOT_FLAGS]
        if self.typed:
            if f.name in ("phi", "select"):
                mods = [m for m in mods if m not in _MATH_FLAGS]
            if f.name in ("getelementptr", "trunc"):
                mods = [m for m in mods if m in ("inbounds",)]
        return " ".join((f.name, *mods))

    def _lost(self, i: Instruction) -> bool:
        """Whether the row is printed as another or without a flag that it has."""
        mods = set(i.form.mods)
        if i.form.name == "icmp":
            return "samesign" in mods
        return not mods <= set(self.head(i).split(" "))

    def _kept(self, i: Instruction) -> str:
        """A row whose promise the LLVM 7 has no word for: another that is equal by the promise,
        where the promise counts and would not be found out from the operands."""
        name = i.form.name
        if name == "or" and not self.bits.disjoint(*i._operands):
            return "add nuw nsw"  # an offset of addresses
        if name == "zext" and any(
                u.form.name == "mul" and any(_is_row(v, "sext") for v in u._operands)
                for u in i.users):
            return "sext"  # a full product of numbers that are extended alike
        return name

    def _operation(self, i: Instruction) -> str:
        first, *rest = i._operands
        text = f"{self.head(i)} {self.typed_name(first)}"
        return ", ".join((text, *(self.name(v) for v in rest)))

    def _compare(self, i: Instruction) -> str:
        test, *flags = i.form.mods
        words = " ".join((i.form.name, *self.spell.flags(tuple(flags)), test))
        a, b = i._operands
        return f"{words} {self.typed_name(a)}, {self.name(b)}"

    def _each_typed(self, i: Instruction) -> str:
        return f"{self.head(i)} {', '.join(map(self.typed_name, i._operands))}"

    def _cast_row(self, i: Instruction) -> str:
        v = i._operands[0]
        own = self.printed.get(v)
        source = f"{own} {self.names[v]}" if own else self.typed_name(v)
        return f"{self.head(i)} {source} to {self.spell.type(i.type)}"

    def _memory_head(self, i: Instruction) -> str:
        words = [i.form.name]
        words += [w for w in ("atomic", "volatile") if w in i.form.mods]
        return " ".join(words)

    def _order_and_align(self, i: Instruction) -> str:
        if "atomic" in i.form.mods:
            ordering, scope, align = i.aux
            return f"{_scope(scope)} {ordering}, align {align or self._natural(i)}"
        return f", align {i.aux}" if i.aux else ""

    def _natural(self, i: Instruction) -> int:
        from nvir.ir.layout import align_of

        return align_of(i.type if i.type is not VOID else i._operands[0].type)

    def _load(self, i: Instruction) -> str:
        t = self.spell.type(i.type)
        address = self.address(i._operands[0], i.type)
        return f"{self._memory_head(i)} {t}, {address}{self._order_and_align(i)}"

    def _store(self, i: Instruction) -> str:
        v, p = i._operands
        address = self.address(p, v.type)
        text = f"{self._memory_head(i)} {self.typed_name(v)}, {address}"
        return text + self._order_and_align(i)

    def _alloca(self, i: Instruction) -> str:
        t, align = i.aux
        text = f"alloca {self.spell.type(t)}"
        count = i._operands[0]
        if not (isinstance(count, Constant) and count.value == 1 and count.type.name == "i32"):
            text += f", {self.typed_name(count)}"
        text += f", align {align}" if align else ""
        space = getattr(i.type, "space", 0)
        return f"{text}, addrspace({space})" if space else text

    def _gep(self, i: Instruction) -> str:
        base, *indices = i._operands
        if self.typed and isinstance(i.type, VectorType):
            raise Unsupported("vectors of pointers", "llvm7", f"@{self.function.name}")
        parts = [self.spell.type(i.aux), self.address(base, i.aux)]
        parts += map(self.typed_name, indices)
        return f"{self.head(i)} {', '.join(parts)}"

    def _atomicrmw(self, i: Instruction) -> str:
        p, v = i._operands
        ordering, scope, align = i.aux
        operation = i.form.mods[0]
        volatile = " volatile" if "volatile" in i.form.mods else ""
        text = f"atomicrmw{volatile} {operation} {self.address(p, v.type)}, {self.typed_name(v)}"
        return f"{text}{_scope(scope)} {ordering}{self._atomic_align(align)}"

    def _atomic_align(self, align: int) -> str:
        return f", align {align}" if align and not self.typed else ""

    def _cmpxchg(self, i: Instruction) -> str:
        p, old, new = i._operands
        success, failure, scope, align = i.aux
        words = [w for w in ("weak", "volatile") if w in i.form.mods]
        head = " ".join(("cmpxchg", *words))
        text = f"{head} {self.address(p, old.type)}, {self.typed_name(old)}, {self.typed_name(new)}"
        return f"{text}{_scope(scope)} {success} {failure}{self._atomic_align(align)}"

    def _fence(self, i: Instruction) -> str:
        ordering, scope = i.aux
        return f"fence{_scope(scope)} {ordering}"

    def _member(self, i: Instruction) -> str:
        text = ", ".join(map(self.typed_name, i._operands))
        return f"{i.form.name} {text}, {', '.join(map(str, i.aux))}"

    def _split(self, i: Instruction) -> list[str]:
        """NVVM's own splitStruct as the extractvalues that it stands for."""
        whole = self.typed_name(i._operands[0])
        return [
            f"  {self.names[r]} = extractvalue {whole}, {', '.join(map(str, path))}"
            for r, path in zip(i.results, _paths(i._operands[0].type), strict=True) if r.has_uses
        ]

    def _shuffle(self, i: Instruction) -> str:
        lanes = ", ".join("i32 undef" if k < 0 else f"i32 {k}" for k in i.aux)
        mask = f"<{len(i.aux)} x i32> <{lanes}>"
        return f"shufflevector {', '.join(map(self.typed_name, i._operands))}, {mask}"

    def _phi(self, i: Instruction) -> str:
        edges, names = self.edges, self.names
        entries = []
        for v, b in i.incoming:
            name = edges.get((b, v)) or names.get(v) or self.spell.constant(v)
            entry = f"[ {name}, %{names[b]} ]"
            last = b.last
            edge_count = last.aux.count(i.block) if last is not None and len(last.aux) > 1 else 1
            entries += [entry] * edge_count  # LLVM has an entry for each edge, not for each block
        return f"{self.head(i)} {self.spell.type(i.type)} {', '.join(entries)}"

    # -------------------------------------------------------------- control

    def _ret(self, i: Instruction) -> str:
        return f"ret {self.typed_name(i._operands[0])}" if i._operands else "ret void"

    def _br(self, i: Instruction) -> str:
        targets = ", ".join(f"label %{self.names[b]}" for b in i.aux)
        if not i._operands:
            return f"br {targets}"
        return f"br {self.typed_name(i._operands[0])}, {targets}"

    def _switch(self, i: Instruction) -> str:
        value, *cases = i._operands
        default, *targets = i.aux
        lines = [f"switch {self.typed_name(value)}, label %{self.names[default]} ["]
        for c, b in zip(cases, targets, strict=True):
            lines.append(f"    {self.typed_name(c)}, label %{self.names[b]}")
        return "\n".join((*lines, "  ]"))

    def _unreachable(self, i: Instruction) -> str:
        return "unreachable"

    # ---------------------------------------------------------------- calls

    def _call(self, i: Instruction) -> str:
        info: CallInfo = i.aux
        own = info if isinstance(info, NvvmCall) else None
        attributes = self.module.attributes
        callee, operands = info.callee, i._operands
        if callee is None:
            operands = operands[1:]
        if isinstance(callee, Function) and callee.name == DEBUG_DECLARE:
            return self._declare(i, *operands[:2])
        arguments = self._arguments(callee, operands)
        kinds = [kind for kind, _ in arguments]
        if own and own.arguments:
            notes = own.arguments[-len(operands) :] if operands else ()
            arguments = [
                (kind + attributes(note, True), name)
                for (kind, name), note in zip(arguments, notes, strict=True)
            ]
        result = self.spell.type(i.type)
        if isinstance(callee, InlineAsm):
            flags = "".join(f" {w}" for w in callee.flags)
            target = f"asm{flags} {quoted(callee.template)}, {quoted(callee.constraints)}"
        elif isinstance(callee, Function):
            target = self.spell.symbol(callee)
            if callee.aux and callee.aux.get("variadic"):
                result = self.spell.function_type(callee)
        else:
            target = self._target(i._operands[0], result, kinds)
        words: list[str] = [w for w in ("tail", "musttail", "notail") if w in i.form.mods]
        words.append("call")
        if not _INTEGERS.match(result):
            words += [m for m in i.form.mods if m in _MATH_FLAGS]
        if own and own.result:
            words.append(attributes(own.result, True).strip())
        texts = ", ".join(f"{kind} {name}" for kind, name in arguments)
        text = " ".join(filter(None, (*words, result, f"{target}({texts})")))
        text += attributes(own.attributes, False) if own else ""
        if own and own.bundles:
            text += f" [ {', '.join(f'{quoted(tag)}(i32 {n})' for tag, n in own.bundles)} ]"
        return text

    def _declare(self, i: Instruction, place: Value, what: Any) -> str:
        """Where a parameter lives."""
        kind = self.printed.get(place) or self.spell.type(place.type)
        variable = self.module.metadata.parameter(self.function, i.loc, *what.content)
        return (f"call void @{DEBUG_DECLARE}(metadata {kind} {self.names[place]}, "
                f"metadata {variable}, metadata !DIExpression())")

    def _arguments(self, callee: Value | None, operands: tuple[Value, ...]) -> list[Any]:
        """(printed type, name) of each."""
        out = []
        wanted = self.spell.parameters(callee) if isinstance(callee, Function) else []
        for k, v in enumerate(operands):
            if isinstance(v, Node):
                out.append(("metadata", self.module.metadata.element(v.content)))
            elif self.typed and isinstance(v.type, PointerType) and k < len(wanted):
                out.append((wanted[k], self.pointer_as(v, wanted[k])))
            else:
                out.append((self.spell.type(v.type), self.name(v)))
        return out

    def _target(self, callee: Value, result: str, kinds: list[str]) -> str:
        """The pointer that an indirect call calls, as one to a function."""
        if not self.typed:
            return self.name(callee)
        return self.pointer_as(callee, f"{result} ({', '.join(kinds)})*")


def _paths(t: Type) -> list[tuple[int, ...]]:
    """The ways to the leaves of a type, in the order of `layout.fields`."""
    if isinstance(t, StructType):
        members: list[Type] = list(t.elements or ())
    elif isinstance(t, ArrayType):
        members = [t.element] * t.count
    else:
        return [()]
    return [(k, *rest) for k, m in enumerate(members) for rest in _paths(m)]


def _is_row(v: Value, name: str) -> bool:
    return isinstance(v, Instruction) and v.form.name == name


def _scope(scope: str) -> str:
    return f" syncscope({quoted(scope)})" if scope else ""


_METHODS: dict[str, Callable[[BodyPrinter, Instruction], str]] = {
    "load": BodyPrinter._load, "store": BodyPrinter._store, "alloca": BodyPrinter._alloca,
    "getelementptr": BodyPrinter._gep, "atomicrmw": BodyPrinter._atomicrmw,
    "cmpxchg": BodyPrinter._cmpxchg, "fence": BodyPrinter._fence, "phi": BodyPrinter._phi,
    "extractvalue": BodyPrinter._member, "insertvalue": BodyPrinter._member,
    "shufflevector": BodyPrinter._shuffle, "ret": BodyPrinter._ret, "br": BodyPrinter._br,
    "switch": BodyPrinter._switch, "unreachable": BodyPrinter._unreachable,
    "call": BodyPrinter._call, "icmp": BodyPrinter._compare, "fcmp": BodyPrinter._compare,
    **dict.fromkeys(("select", "extractelement", "insertelement"), BodyPrinter._each_typed),
    **dict.fromkeys(CASTS, BodyPrinter._cast_row),
    **dict.fromkeys(
        ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or",
         "xor", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "freeze"),
        BodyPrinter._operation,
    ),
}
