"""Printing a module of level `nvvm` as LLVM text.

    print_ll(module, dialect="llvm7")     what libnvvm takes below compute_100
    print_ll(module, dialect="llvm20")    what it takes from compute_100 on, and LLVM itself

The text is what `legalize<dialect>` left: a row or type that the dialect lacks raises
Unsupported. Blocks have names, attributes stand in place, metadata comes last. Reading the text
gives a module that prints the same text.

Cost     One walk over the instructions; in the typed dialect a cast where a type differs.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Function, Module, PointerType, Undef, Value, Variable, bulk
from nvir.ir.errors import NvirError, Unsupported
from nvir.ir.layout import DATA_LAYOUT, TRIPLE
from nvir.llvm.attributes import OF_NUMBER, OF_TEXT, OF_TYPE, known_to_llvm7, known_to_llvm20
from nvir.llvm.body_printer import BodyPrinter
from nvir.llvm.lexer import quoted, spelled
from nvir.llvm.metadata import ATTRIBUTES
from nvir.llvm.metadata_printer import MetadataPrinter
from nvir.llvm.spell import Speller
from nvir.llvm.stand_ins import SIGNATURE, STANDS_FOR, signed

DIALECTS = ("llvm7", "llvm20")
# PTX's words for linkage, which builders of other levels use.
_LINKAGE = {"visible": "", "extern": "external"}
_NEEDS_VALUE = ("internal", "private", "weak", "weak_odr", "linkonce", "linkonce_odr", "common",
                "appending", "available_externally")
_ATTRIBUTE_OF = {directive: name for name, directive in ATTRIBUTES.items()}


def print_ll(module: Module, dialect: str = "llvm20") -> str:
    """The module as LLVM text. `dialect`: "llvm20" (opaque pointers, what LLVM itself takes) or
    "llvm7" (typed ones), as everywhere in nvir the former unless told.

    Raises Unsupported, naming it, for what the dialect lacks; see the pass `legalize`.
    """
    if not isinstance(module, Module):
        raise TypeError(f"print_ll takes a module, not {module.__class__.__name__}")
    if dialect not in DIALECTS:
        raise ValueError(f"the dialect is {' or '.join(DIALECTS)}, not {dialect!r}")
    if module.level != "nvvm":
        raise NvirError(f"LLVM text is for modules of level nvvm; this one is of {module.level}")
    with bulk():
        return _Printer(module, dialect).text()


class _Printer:
    """One module on the way to text."""

    def __init__(self, module: Module, dialect: str) -> None:
        self.module, self.dialect = module, dialect
        self.spell = Speller(typed=dialect == "llvm7")
        self.metadata = MetadataPrinter(module, self.spell)
        self._attributes: dict[tuple[Any, bool], str] = {}
        self.tells = False  # of rows, operations and signatures that are printed as others

    def text(self) -> str:
        m = self.module
        self.metadata.declare()
        symbols: list[str] = []
        for item in m.order:
            if isinstance(item, Function):
                symbols += self._function(item)
            else:
                symbols.append(self._variable(item))
        aux = m.aux if isinstance(m.aux, dict) else {}
        out = []
        if m.name != "module":
            out.append(f"source_filename = {quoted(m.name)}")
        out.append(f"target datalayout = {quoted(DATA_LAYOUT)}")
        out.append(f"target triple = {quoted(TRIPLE)}")
        for line in str(aux.get("asm", "")).splitlines():
            out.append(f"module asm {quoted(line)}")
        out.append("")
        definitions = self.spell.definitions()
        out += [*definitions, ""] if definitions else []
        out += symbols
        out += ["", *self.metadata.lines(), ""]
        text = "\n".join(out)
        return signed(text) if self.tells else text

    # ----------------------------------------------------------- variables

    def _variable(self, v: Variable) -> str:
        t = v.type
        if not isinstance(t, PointerType):
            raise Unsupported(f"variable {v.name}, whose address is no pointer", "nvvm")
        linkage = _LINKAGE.get(v.linkage, v.linkage)
        init = v.init
        if init is None and linkage in _NEEDS_VALUE:
            value = "undef" if v.space in ("shared", "local") else "zeroinitializer"
        elif init is None:
            linkage, value = linkage or "external", ""
        elif isinstance(init, Value):
            value = self.spell.constant(init)
            if isinstance(init, Undef):
                value = "undef"
        else:
            raise Unsupported(f"the initial value of {v.name}, which is none of nvvm", "nvvm")
        words = [linkage] if linkage else []
        words += [w for w in ("unnamed_addr",) if w in v.attributes]
        if t.space:
            words.append(f"addrspace({t.space})")
        words += [w for w in ("externally_initialized",) if w in v.attributes]
        words.append("constant" if "constant" in v.attributes else "global")
        words.append(self.spell.type(v.value_type))
        if value:
            words.append(value)
        text = f"@{spelled(v.name)} = {' '.join(words)}"
        if "section" in v.attributes:
            text += f", section {quoted(v.attributes['section'])}"
        return f"{text}, align {v.align}" if v.align else text

    # ----------------------------------------------------------- functions

    def _function(self, f: Function) -> list[str]:
        spell = self.spell
        aux = f.aux if isinstance(f.aux, dict) else {}
        if "alias" in aux:
            return [self._alias(f, aux["alias"])]
        words = ["declare" if f.is_declaration else "define"]
        linkage = _LINKAGE.get(f.linkage, f.linkage)
        if linkage and not (f.is_declaration and linkage != "extern_weak"):
            words.append(linkage)
        if f.kind == "entry" and not spell.typed:
            words.append("ptx_kernel")
        words.append(self.attributes(aux.get("returns", ()), True).strip())
        words.append(spell.type(f.return_type))
        body = None if f.is_declaration else BodyPrinter(self, f)
        params = []
        for a, kind in zip(f.arguments, spell.parameters(f), strict=True):
            text = kind + self.attributes(a.attributes, True)
            counted = spell.typed and not a.name  # LLVM 7 takes no `i32 %0` here
            params.append(f"{text} {body.names[a]}" if body and not counted else text)
        if len(f.arguments) != len(f.params):
            raise Unsupported(f"@{f.name}, whose parameters are not those of nvvm", "nvvm")
        if aux.get("variadic"):
            params.append("...")
        head = f"{' '.join(filter(None, words))} {spell.symbol(f)}({', '.join(params)})"
        own = (*aux.get("attributes", ()), *self._launch(f), *self._before(f, aux))
        head += self.attributes(own, False)
        if aux.get("section") and not spell.typed:  # libnvvm takes none on functions
            head += f" section {quoted(aux['section'])}"
        if body is None:
            return [head]
        head += self.metadata.subprogram(f)
        return ["", f"{head} {{", *body.body(), "}"]

    def _alias(self, f: Function, target: Function) -> str:
        linkage = f"{f.linkage} " if f.linkage else ""
        kind = self.spell.function_type(target)
        name = self.spell.symbol_type(target)
        return f"{self.spell.symbol(f)} = {linkage}alias {kind}, {name} {self.spell.symbol(target)}"

    def _launch(self, f: Function) -> tuple[Any, ...]:
        if self.spell.typed:
            return ()
        return tuple(
            (_ATTRIBUTE_OF[k], ",".join(map(str, v)))
            for k, v in f.directives.items() if k in _ATTRIBUTE_OF
        )

    def _before(self, f: Function, aux: dict[str, Any]) -> tuple[Any, ...]:
        """What `legalize` had a function stand for, and its signature before, for the reader
        (stand_ins.py)."""
        if "stands_for" in aux:
            self.tells = True
            return ((STANDS_FOR, _operation_text(aux["stands_for"])),)
        if "signature" not in aux or f.is_declaration:
            return ()
        result, params = aux["signature"]
        spell = Speller(typed=False)
        text = f"{spell.type(result)} ({', '.join(map(spell.type, params))})"
        self.tells = self.tells or not spell.named
        return () if spell.named else ((SIGNATURE, text),)

    def attributes(self, attributes: tuple[Any, ...], parameter: bool) -> str:
        """Attributes as text, each behind a blank; those that the dialect does not know are left
        out. `parameter`: of a parameter, argument or result, else of a function or call."""
        if not attributes:
            return ""
        key = (tuple(attributes), parameter)
        known = self._attributes.get(key)
        if known is None:
            fits = known_to_llvm7 if self.spell.typed else known_to_llvm20
            known = "".join(f" {self._attribute(a)}" for a in attributes if fits(a) and (
                parameter or a[0] != "align"))  # code's alignment: libnvvm refuses it
            self._attributes[key] = known
        return known

    def _attribute(self, a: Any) -> str:
        if not isinstance(a, tuple):
            return str(a)
        name, value = a
        if name in OF_TYPE:
            return str(name) if self.spell.typed else f"{name}({self.spell.type(value)})"
        if name == "align":
            return f"align {value}"
        if name in OF_NUMBER or name in OF_TEXT:
            return f"{name}({value})"
        return f"{quoted(name)}={quoted(str(value))}" if value else quoted(name)


def _operation_text(f: Function) -> str:
    """A function of one block as `i8 (ptr %0) { … }` in the text of LLVM itself."""
    assert f.module is not None
    printer = _Printer(f.module, "llvm20")
    printer.metadata.inline = True
    body = BodyPrinter(printer, f)
    params = ", ".join(f"{printer.spell.type(a.type)} {body.names[a]}" for a in f.arguments)
    lines = " ".join(line.strip() for line in body.body())
    return f"{printer.spell.type(f.return_type)} ({params}) {{ {lines} }}"
