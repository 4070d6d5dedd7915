"""Clang's types as the tree's.

Typedef names are followed (a tree has no use for them); records and enumerations are made once,
a record's fields when something asks for its layout or a member. CUDA's vector types are the
tree's own records, so that `threadIdx` can be copied to a `uint3`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
from nvir.frontend.cuda.libclang import children, kind_of, pointer_of, type_kind
from nvir.frontend.tree.layout import LayoutError, field_bits, layout
from nvir.ir.errors import Unsupported

if TYPE_CHECKING:
    from nvir.frontend.cuda.reader import Reader

_NAMES: dict[str, tree.CType] = {
    **tree.ARITHMETIC, "void": tree.VOID, "std::nullptr_t": tree.Pointer(tree.VOID),
    "long double": tree.DOUBLE, "__fp16": tree.HALF, "_Bool": tree.ARITHMETIC["bool"],
    "char8_t": tree.ARITHMETIC["unsigned char"], "nullptr_t": tree.Pointer(tree.VOID),
}
_SPACES = {0: "", 1: "device", 3: "shared", 4: "constant", 5: "local"}


class TypeReader:
    """Types of one translation unit; each is converted once."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.known: dict[int, tree.CType] = {}
        self.records: dict[int, tree.Record] = {}
        self.declared: dict[tree.Record, Any] = {}  # the cursors of records
        self.enums: dict[int, tree.Enum] = {}

    def read(self, t: Any) -> tree.CType:
        key = pointer_of(t)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._qualified(t.get_canonical())
        return found

    def _qualified(self, t: Any) -> tree.CType:
        made = self._type(t)
        const, volatile = t.is_const_qualified(), t.is_volatile_qualified()
        if const or volatile:
            made = tree.qualified(made, const, volatile)
        if t.is_restrict_qualified() and isinstance(made, tree.Pointer | tree.Qualified):
            inner = made.type if isinstance(made, tree.Qualified) else made
            made = tree.Qualified(inner, const, volatile, restrict=True)
        return made

    def _type(self, t: Any) -> tree.CType:
        kind = type_kind(t)
        if kind == "POINTER":
            pointee = t.get_pointee()
            space = _SPACES.get(pointee.get_address_space(), "")
            return tree.Pointer(self.read(pointee), space)
        if kind in ("LVALUEREFERENCE", "RVALUEREFERENCE"):
            return tree.Reference(self.read(t.get_pointee()), kind == "RVALUEREFERENCE")
        if kind == "CONSTANTARRAY":
            return tree.Array(self.read(t.element_type), t.element_count)
        if kind == "INCOMPLETEARRAY":
            return tree.Array(self.read(t.element_type), None)
        if kind == "RECORD":
            return self.record(t.get_declaration(), t)
        if kind == "ENUM":
            return self.enum(t.get_declaration())
        if kind in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            params = tuple(self.read(p) for p in t.argument_types()) if kind[8] == "P" else ()
            return tree.FunctionType(self.read(t.get_result()), params, t.is_function_variadic())
        if kind in ("VECTOR", "EXTVECTOR"):
            return tree.Vector(self.read(t.element_type), t.element_count)
        return self._named(t)

    def _named(self, t: Any) -> tree.CType:
        name = t.spelling
        for word in ("const ", "volatile ", "__restrict ", "__attribute__((address_space(3))) ",
                     "__attribute__((address_space(1))) "):
            name = name.replace(word, "")
        found = _NAMES.get(name.strip())
        if found is None:
            raise Unsupported(f"the type '{t.spelling}'", where=self.reader.where())
        return found

    # ------------------------------------------------------------- records

    def record(self, declaration: Any, t: Any) -> tree.Record:
        declaration = declaration.get_definition() or declaration
        key = pointer_of(declaration)
        found = self.records.get(key)
        if found is not None:
            return found
        name = declaration.spelling
        if name in tree.VECTORS and self.reader.is_own(declaration):
            made = tree.VECTORS[name]
            self.records[key] = made
            self.declared[made] = declaration
            return made
        kind = {"UNION_DECL": "union", "CLASS_DECL": "class"}.get(kind_of(declaration), "struct")
        if "(" in name or not name:
            name = "anon"
        made = self.records[key] = tree.Record(name, kind, place=self.reader.place(declaration))
        self.declared[made] = declaration
        if t.get_size() >= 0:
            self._body(made, declaration, t)
        return made

    def _body(self, made: tree.Record, declaration: Any, t: Any) -> None:
        if self.reader.is_closure(declaration):
            return  # a lambda's captures become its fields when it is read
        fields = self._bases(declaration, t)
        for f in t.get_fields():
            name = "" if "(" in f.spelling else f.spelling
            width = f.get_bitfield_width() if f.is_bitfield() else None
            field = tree.Field(name, self.read(f.type), width, place=self.reader.place(f))
            if width is not None:
                try:
                    field_bits(field)
                except LayoutError as e:
                    raise self.reader.unsupported(str(e), f) from None
            fields.append(field)
        made.set_fields(fields)
        made.align = max(t.get_align(), 1)
        self._laid_out(made, t)

    def _laid_out(self, made: tree.Record, t: Any) -> None:
        """Whether the tree's layout is clang's; a packed record is found by trying."""
        try:
            size = layout(made).size
            if size != t.get_size() and t.get_align() == 1:
                made.packed, made.layout_cache = True, None
                size = layout(made).size
        except LayoutError:
            return
        if size != t.get_size():
            made.layout_cache = None
            made.size = t.get_size()

    def _bases(self, declaration: Any, t: Any) -> list[tree.Field]:
        fields: list[tree.Field] = []
        for base in self.reader.bases(declaration):
            made = tree.strip(self.read(base))
            if isinstance(made, tree.Record) and not made.fields:
                continue  # an empty base takes no room; its address is the object's
            fields.append(tree.Field("", made, base=True))
        if not fields and not self.reader.bases(declaration):
            first = next(iter(t.get_fields()), None)
            own = first.get_field_offsetof() if first is not None else 0
            if own > 0:
                virtual = any(kind_of(k) in ("CXX_METHOD", "DESTRUCTOR") and k.is_virtual_method()
                              for k in children(declaration))
                what = "virtual functions" if virtual else "a base class of a template"
                raise Unsupported(
                    f"{what} of '{t.spelling}'" if virtual else f"'{t.spelling}': {what}",
                    where=str(self.reader.place(declaration)),
                )
        return fields

    def enum(self, declaration: Any) -> tree.Enum:
        key = pointer_of(declaration)
        found = self.enums.get(key)
        if found is None:
            name = declaration.spelling
            found = self.enums[key] = tree.Enum(
                "anon" if "(" in name else name, self.read(declaration.enum_type), (),
                declaration.is_scoped_enum(),
            )
        return found
