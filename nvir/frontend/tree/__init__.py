"""The typed tree: what a CUDA program is, in attrs classes with source places.

    place.py          Place, Node
    types.py          C's types and questions about them
    layout.py         sizes, alignments, offsets, members by name
    vectors.py        float4 and its like, threadIdx and its like
    expressions.py    expressions and the operator table
    statements.py     statements
    declarations.py   variables, parameters, functions, the unit
    json_form.py      all of it as JSON, both ways; json_schema.py: its schema
"""

from nvir.frontend.tree.declarations import (
    Attributes, Declaration, Enumerator, Function, LaunchBounds, Parameter, Unit, Variable,
)
from nvir.frontend.tree.expressions import (
    ASSIGNMENT, BINARY, OPERATORS, UNARY, Assign, Binary, Call, Cast, CompoundLiteral, Conditional,
    Designated, Expr, FloatLiteral, Index, InitList, IntLiteral, Member, Name, NullPointer,
    Operator, SizeOf, StatementExpr, Step, StringLiteral, Temporary, Unary,
)
from nvir.frontend.tree.layout import (
    LayoutError, RecordLayout, align_of, find_base, find_member, has_const_member, size_of,
)
from nvir.frontend.tree.place import NOWHERE, Node, Place
from nvir.frontend.tree.statements import (
    Asm, AsmOperand, Break, Case, Compound, Continue, DeclStmt, Default, Do, Empty, ExprStmt, For,
    Goto, If, Label, Return, Stmt, Switch, Unroll, While,
)
from nvir.frontend.tree.types import (
    ARITHMETIC, BFLOAT16, BOOL, CHAR, CHAR16, CHAR32, DOUBLE, FLOAT, HALF, INT, INT128, LONG,
    LONGLONG, PTRDIFF_T, SCHAR, SHORT, SIZE_T, SPACES, UCHAR, UINT, UINT128, ULONG, ULONGLONG,
    USHORT, VOID, WCHAR, Arithmetic, Array, CType, Enum, Field, FunctionType, Pointer, Qualified,
    Record, Reference, Typedef, Vector, Void, is_aggregate, is_arithmetic, is_float, is_integer,
    is_pointer, is_scalar, is_signed, is_void, is_volatile, qualified, qualifiers, same,
    space_of_qualifier, spell, strip, type_class, type_tag, underlying,
)
from nvir.frontend.tree.vectors import (
    BLOCK_DIM, BLOCK_IDX, DIM3, FIXED_WIDTH, GRID_DIM, SPECIAL_VARIABLES, THREAD_IDX, UINT3,
    VECTORS, WARP_SIZE,
)

__all__ = [
    "ARITHMETIC", "ASSIGNMENT", "BFLOAT16", "BINARY", "BLOCK_DIM", "BLOCK_IDX", "BOOL", "CHAR",
    "CHAR16", "CHAR32", "DIM3", "DOUBLE", "FIXED_WIDTH", "FLOAT", "GRID_DIM", "HALF", "INT",
    "INT128", "LONG", "LONGLONG", "NOWHERE", "OPERATORS", "PTRDIFF_T", "SCHAR", "SHORT", "SIZE_T",
    "SPACES", "SPECIAL_VARIABLES", "THREAD_IDX", "UCHAR", "UINT", "UINT3", "UINT128", "ULONG",
    "ULONGLONG", "UNARY", "USHORT", "VECTORS", "VOID", "WARP_SIZE", "WCHAR", "Arithmetic", "Array",
    "Asm", "AsmOperand", "Assign", "Attributes", "Binary", "Break", "CType", "Call", "Case", "Cast",
    "Compound", "CompoundLiteral", "Conditional", "Continue", "DeclStmt", "Declaration", "Default",
    "Designated", "Do", "Empty", "Enum", "Enumerator", "Expr", "ExprStmt", "Field", "FloatLiteral",
    "For", "Function", "FunctionType", "Goto", "If", "Index", "InitList", "IntLiteral", "Label",
    "LaunchBounds", "LayoutError", "Member", "Name", "Node", "NullPointer", "Operator", "Parameter",
    "Place", "Pointer", "Qualified", "Record", "RecordLayout", "Reference", "Return", "SizeOf",
    "StatementExpr", "Step", "Stmt", "StringLiteral", "Switch", "Temporary", "Typedef", "Unary",
    "Unit", "Unroll", "Variable", "Vector", "Void", "While", "align_of", "find_base", "find_member",
    "has_const_member", "is_aggregate", "is_arithmetic", "is_float", "is_integer", "is_pointer",
    "is_scalar", "is_signed", "is_void", "is_volatile", "qualified", "qualifiers", "same",
    "size_of", "space_of_qualifier", "spell", "strip", "type_class", "type_tag", "underlying",
]
