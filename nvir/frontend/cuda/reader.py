"""From clang's cursors to the tree: what is read, and the declarations.

    Reader(parsed).unit() -> Unit     the kernels of a source, and all that they reach

Method   a worklist. The roots are the kernels: functions that are `__global__`, and instances
         of kernel templates that any function body, also of the host, names. Reading a body
         finds the functions it calls, which are read in turn. So host code is never read, and
         a template exists here only as instantiated.
Cost     linear in the cursors of what is reached.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from typing import Any

import attrs

from nvir.frontend import tree
from nvir.frontend.builtins.registry import rows
from nvir.frontend.cuda.calls import CallReader
from nvir.frontend.cuda.expressions import ExpressionReader
from nvir.frontend.cuda.kernel_names import nvcc_name
from nvir.frontend.cuda.libclang import (
    attributes_of,
    children,
    evaluate,
    initialiser,
    kind_of,
    pointer_of,
    position,
    type_kind,
)
from nvir.frontend.cuda.parse import Parsed
from nvir.frontend.cuda.statements import StatementReader
from nvir.frontend.cuda.text import string_value
from nvir.frontend.cuda.types import TypeReader
from nvir.ir.errors import Diagnostic, Unsupported

_METHODS = {"CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION"}
_BODIES = {"FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION", "DESTRUCTOR"}
_SCOPES = {"NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "STRUCT_DECL", "CLASS_DECL"}
_MEMORY = {"CUDASHARED_ATTR": "shared", "CUDACONSTANT_ATTR": "constant",
           "CUDADEVICE_ATTR": "device"}
_SECTION = re.compile(r'(?:gnu :: )?(?:__)?section(?:__)? \( ("[^"]*") \)$')
_LIBRARY = {"malloc", "free"}  # what device code links with
_SUFFIXES = {"unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint",
             "signed char": "char"}


@attrs.define
class Annotations:
    """What nvir's own header says of a declaration through annotate attributes, clang's own
    attributes, by name, and the section that one of them names."""

    names: dict[str, list[int]] = attrs.Factory(dict)
    section: str = ""

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def numbers(self, name: str) -> list[int]:
        return self.names.get(name, [])


class Reader(StatementReader, ExpressionReader, CallReader):
    """The reading of one translation unit."""

    def __init__(self, parsed: Parsed, unrolls: bool = False) -> None:
        self.parsed = parsed
        self.unrolls, self.budget = unrolls, 0
        self.types = TypeReader(self)
        self.failed: tree.Place | None = None  # where an Unsupported was raised
        self.at: Any = None  # the cursor that is being read, for messages
        self.functions: dict[int, tree.Function] = {}
        self.queue: deque[tuple[Any, tree.Function]] = deque()
        self.declared: dict[int, tree.Variable | tree.Parameter] = {}
        self.globals: list[tree.Variable] = []
        self.order: list[tree.Function] = []
        self.this: tree.Parameter | None = None
        self.captures: dict[int, str] = {}  # variables that are fields of the closure around
        self.closures: dict[int, dict[int, str]] = {}
        self.bound: dict[int, tuple[tree.Variable, int]] = {}  # names of structured bindings
        self.cursors: list[Any] = []  # of the functions that were read
        self.bodiless: list[Any] = []  # function templates, of instances without a body
        self.variables: list[Any] = []  # the cursors of variables of device memory
        self.template_values: dict[str, int] = {}
        self.temporaries = 0
        self.top = parsed.declarations

    # ------------------------------------------------------------- the unit

    def unit(self) -> tree.Unit:
        for kernel in self.kernels():
            self.function(kernel)
        for v in self.device_variables():
            self.global_variable(v)
        while self.queue:
            cursor, made = self.queue.popleft()
            self.body(cursor, made)
        declarations = [*self.globals, *self.order]
        return tree.Unit(
            declarations, [r for r in self.types.declared if r.fields is not None],
            file=self.parsed.file, cplusplus=True, source=self.parsed.source, trusted=True,
        )

    def kernels(self) -> list[Any]:
        """The kernels of the source, in order, instances of templates behind the others."""
        found: dict[int, Any] = {}
        bodies: list[Any] = []
        todo = list(self.top)
        while todo:
            c = todo.pop()
            name = kind_of(c)
            if name in _SCOPES:
                todo += children(c)
            if name in _BODIES:
                if self.has(c, "CUDAGLOBAL_ATTR"):
                    if c.is_definition():
                        found.setdefault(pointer_of(c.canonical), c)
                else:
                    bodies.append(c)
            elif name in ("VAR_DECL", "FUNCTION_TEMPLATE"):
                bodies.append(c)
        for body in sorted(bodies, key=lambda c: c.location.offset):
            self.launched(body, found)
        return sorted(found.values(), key=lambda c: c.location.offset)

    def launched(self, body: Any, found: dict[int, Any]) -> None:
        """Instances of kernel templates that a body names, through instances of its callees."""
        todo, seen = [body], set()
        while todo:
            for c in children(todo.pop()):
                todo.append(c)
                if kind_of(c) not in ("DECL_REF_EXPR", "MEMBER_REF_EXPR", "CALL_EXPR"):
                    continue
                target = c.referenced
                if target is None or kind_of(target) not in _BODIES or self.is_own(target):
                    continue
                key = pointer_of(target.canonical)
                if key in seen or key in found:
                    continue
                seen.add(key)
                if self.has(target, "CUDAGLOBAL_ATTR"):
                    found[key] = target.get_definition() or target
                elif self.is_instance(target):
                    todo.append(target.get_definition() or target)

    def missing(self) -> list[Diagnostic]:
        """The instances of kernel templates that clang saw in use, of a template of which fewer
        were read."""
        read = Counter(pointer_of(self.template_of(c).canonical) for c in self.cursors
                       if c.get_num_template_arguments() > 0 and self.has(c, "CUDAGLOBAL_ATTR"))
        return [told for template, uses in self.parsed.kernel_uses()
                if len(uses) > read[pointer_of(template.canonical)]
                for told in uses.values()]

    def is_instance(self, c: Any) -> bool:
        """Whether a function is an instance of a template, or of one's member."""
        while c is not None and kind_of(c) not in ("TRANSLATION_UNIT", "NAMESPACE"):
            if c.get_num_template_arguments() > 0:
                return True
            c = c.semantic_parent
        return False

    def device_variables(self) -> list[Any]:
        found, todo = [], deque(self.top)
        while todo:
            c = todo.popleft()
            if kind_of(c) in ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL"):
                todo += children(c)
            elif kind_of(c) == "VAR_DECL":
                external = c.storage_class.name == "EXTERN" and initialiser(c) is None
                if not external and any(self.has(c, a) for a in _MEMORY):
                    found.append(c)
        return found

    # ----------------------------------------------------------- questions

    def place(self, c: Any) -> tree.Place:
        file, line, column, _ = position(c)
        return tree.Place(file, line, column) if file else tree.NOWHERE

    def where(self) -> str:
        return str(self.place(self.at)) if self.at is not None else self.parsed.file

    def unsupported(self, what: str, c: Any = None) -> Unsupported:
        c = c if c is not None else self.at
        self.failed = self.place(c) if c is not None else None
        return Unsupported(what, where=str(self.place(c)) if c is not None else self.parsed.file)

    def is_own(self, c: Any) -> bool:
        """Whether a declaration stands in nvir's own headers (or is clang's)."""
        file = position(c)[0]
        return not file or self.parsed.is_own(file)

    def has(self, c: Any, attribute: str) -> bool:
        return any(kind_of(k) == attribute for k in attributes_of(c))

    def annotations(self, c: Any) -> Annotations:
        made = Annotations()
        for k in attributes_of(c):
            name = kind_of(k)
            if name == "ANNOTATE_ATTR":
                values = [evaluate(v) for v in children(k)]
                if beyond := [v for v in values if v is not None and not math.isfinite(v)]:
                    raise self.unsupported(f"{k.spelling.removeprefix('nvir.')} of {beyond[0]}", c)
                made.names[k.spelling] = [int(v) for v in values if v is not None]
            elif name == "UNEXPOSED_ATTR" and not self.is_own(c):  # libclang names few of them
                found = _SECTION.match(" ".join(t.spelling for t in k.get_tokens()))
                made.section = made.section or (string_value(found[1]) if found else "")
            elif name.endswith("_ATTR"):
                made.names[name] = []
        return made

    def is_closure(self, declaration: Any) -> bool:
        return "(lambda at" in declaration.type.spelling

    def bases(self, declaration: Any) -> list[Any]:
        """The types of a class's bases; of an instance, what its template says of itself."""
        found = [c for c in children(declaration) if kind_of(c) == "CXX_BASE_SPECIFIER"]
        if not found and declaration.get_num_template_arguments() > 0:
            template = self.template_of(declaration)
            if template is not None:
                found = [c for c in children(template)
                         if kind_of(c) == "CXX_BASE_SPECIFIER"]
                if any(c.type.get_size() < 0 for c in found):
                    return []
        return [c.type for c in found]

    def template_of(self, declaration: Any) -> Any:
        return self.parsed.cindex.conf.lib.clang_getSpecializedCursorTemplate(declaration)

    # ----------------------------------------------------------- functions

    def function(self, c: Any) -> tree.Function:
        """The tree's function of a declaration; its body is read later."""
        key = pointer_of(c.canonical)
        found = self.functions.get(key)
        if found is not None:
            return found
        definition = c.get_definition() or c
        notes = self.annotations(definition)
        if definition is not c:
            more = self.annotations(c)
            notes.names = more.names | notes.names
            notes.section = notes.section or more.section
        made = tree.Function(
            definition.spelling, self.types.read(definition.result_type),
            self.parameters(definition, notes), storage=self.storage(definition),
            variadic=type_kind(definition.type) == "FUNCTIONPROTO"
            and definition.type.is_function_variadic(),
            link_name=definition.mangled_name.lstrip("\x01"),
            attributes=self.attributes(notes), place=self.place(definition),
        )
        if made.attributes.kernel:
            made.link_name = nvcc_name(made.link_name)
        self.functions[key] = made
        if self.is_own(definition) and not definition.is_definition():
            known = made.name not in _LIBRARY
            made.attributes = attrs.evolve(made.attributes, builtin=known)
            self.typed_name(made, definition)
        if made.link_name.startswith("llvm."):  # the compiler calls the intrinsic itself
            made.name = made.link_name
            made.attributes = attrs.evolve(made.attributes, builtin=True)
        if made.attributes.builtin:
            return made
        # an overload of the program's own hides no builtin
        if made.name in rows() and not made.attributes.noted_builtin:
            made.name = made.link_name
        self.order.append(made)
        if definition.is_definition():
            self.queue.append((definition, made))
        elif definition.get_num_template_arguments() > 0:  # clang made no body of the template's
            self.bodiless.append(self.template_of(definition))
        return made

    def typed_name(self, made: tree.Function, c: Any) -> None:
        """`tex2D<float4>` is the builtin `tex2D_float4`."""
        if not made.name.startswith(("tex", "surf")) or c.get_num_template_arguments() < 1:
            return
        t = tree.strip(self.types.read(c.get_template_argument_type(0)))
        text = t.name if isinstance(t, tree.Record) else _SUFFIXES.get(tree.spell(t), tree.spell(t))
        made.name = f"{made.name}_{text}"

    def storage(self, c: Any) -> str:
        if c.storage_class.name == "STATIC" and kind_of(c) == "FUNCTION_DECL":
            return "static"
        return "weak" if c.get_num_template_arguments() > 0 else ""

    def attributes(self, notes: Annotations) -> tree.Attributes:
        bounds = notes.numbers("nvir.launch_bounds")
        cluster = notes.numbers("nvir.cluster_dims")
        block = notes.numbers("nvir.block_size")
        registers = notes.numbers("nvir.maxnreg")
        inline = next((w for w in ("always", "never") if f"nvir.inline.{w}" in notes), "")
        data, control, after = (next(iter(notes.numbers(f"nvir.preserve_n_{x}")), -1)
                                for x in ("data", "control", "after"))
        return tree.Attributes(
            kernel="CUDAGLOBAL_ATTR" in notes, inline=inline,
            launch_bounds=tree.LaunchBounds(*bounds[:3]) if bounds else None,
            max_registers=registers[0] if registers else 0,
            cluster_dims=_triple(cluster) if cluster else None,
            required_block=_triple(block) if block else None,
            preserve=(data, control, after),
            section=notes.section, const="CONST_ATTR" in notes,
            noted_builtin="nvir.noted_builtin" in notes,
        )

    def parameters(self, c: Any, notes: Annotations) -> tuple[tree.Parameter, ...]:
        made: list[tree.Parameter] = []
        if self.is_method(c):
            owner = self.types.read(c.semantic_parent.type)
            t = tree.qualified(owner, const=c.is_const_method())
            made.append(tree.Parameter("this", tree.Pointer(t), this=True, place=self.place(c)))
        taken: set[str] = set()
        for number, k in enumerate(c.get_arguments()):
            name = k.spelling if k.spelling not in taken else f"{k.spelling}_{number}"  # a pack's
            taken.update({name} - {""})
            t = self.types.read(k.type)
            if isinstance(
                t, tree.Array | tree.FunctionType
            ):  # as written; what travels is a pointer
                t = tree.Pointer(t.element if isinstance(t, tree.Array) else t)
            p = tree.Parameter(
                name, t, place=self.place(k),
                grid_constant="nvir.grid_constant" in self.annotations(k),
            )
            self.declared[pointer_of(k)] = p
            made.append(p)
        return tuple(made)

    def is_method(self, c: Any) -> bool:
        if kind_of(c) == "FUNCTION_TEMPLATE":
            return False
        return kind_of(c) in _METHODS and not c.is_static_method()

    def body(self, c: Any, made: tree.Function) -> None:
        """Read the body of a function that was declared."""
        block = next((k for k in children(c) if kind_of(k) == "COMPOUND_STMT"), None)
        if block is None:
            return
        self.cursors.append(c)
        self.this = made.params[0] if made.params and made.params[0].this else None
        self.captures = self.captured_names(c)
        self.template_values = self.template_arguments(c)
        statements = []
        if kind_of(c) == "CONSTRUCTOR":
            statements += self.member_initialisers(c)
        made.body = self.compound(block, before=statements)

    def template_arguments(self, c: Any) -> dict[str, int]:
        """The values of a template's parameters by name, for pragmas that name them."""
        values: dict[str, int] = {}
        while c is not None and kind_of(c) not in ("TRANSLATION_UNIT", "NAMESPACE"):
            count = c.get_num_template_arguments()
            if count > 0:
                template = self.template_of(c)
                names = [k.spelling for k in children(template)
                         if kind_of(k).startswith("TEMPLATE_") and "PARAMETER" in kind_of(k)]
                for k, name in enumerate(names[:count]):
                    try:
                        kind = c.get_template_argument_kind(k).name
                    except ValueError:  # a kind that the binding has no name for: a pack
                        continue
                    if kind == "INTEGRAL":
                        values.setdefault(name, c.get_template_argument_value(k))
            c = c.semantic_parent
        return values

    # ----------------------------------------------------------- variables

    def global_variable(self, c: Any) -> tree.Variable:
        """A variable of a file, a namespace or a class."""
        key = pointer_of(c.canonical)
        found = self.declared.get(key)
        if isinstance(found, tree.Variable):
            return found
        if c.spelling in tree.SPECIAL_VARIABLES and self.is_own(c):
            return tree.SPECIAL_VARIABLES[c.spelling]
        definition = c.get_definition() or c
        made = self.variable(definition)
        if not made.memory:
            made.memory = "constant"  # clang lets device code read constants of the host
        else:
            self.variables.append(definition)
        made.link_name = definition.mangled_name.lstrip("\x01")
        if definition.storage_class.name == "STATIC":
            made.storage = "static"
        self.declared[key] = made
        self.globals.append(made)
        start = initialiser(definition)
        built = None if start is None else self.construction(start)
        if built is not None and not list(built.get_arguments()):
            start = None  # a default constructor, which does nothing there
        if start is not None and made.memory != "shared":
            made.init = self.initial_value(start, made.type)
        return made

    def variable(self, c: Any) -> tree.Variable:
        """A variable without its initialiser."""
        notes = self.annotations(c)
        memory = next((m for a, m in _MEMORY.items() if a in notes), "")
        if "nvir.managed" in notes:
            memory = "managed"
        t = self.types.read(c.type)
        extern = c.storage_class.name == "EXTERN" and initialiser(c) is None
        aligned = notes.numbers("nvir.align")
        return tree.Variable(
            c.spelling, t, memory=memory, storage="extern" if extern else "",
            align=max(aligned, default=0), place=self.place(c),
        )

    def record_of(self, t: tree.CType) -> tree.Record | None:
        s = tree.strip(t)
        if isinstance(s, tree.Reference):
            s = tree.strip(s.referent)
        return s if isinstance(s, tree.Record) else None

    def macro(self, name: str) -> list[str] | None:
        """The tokens of a macro, without its name."""
        return self.parsed.macro(name)


def _triple(numbers: list[int]) -> tuple[int, int, int]:
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z
