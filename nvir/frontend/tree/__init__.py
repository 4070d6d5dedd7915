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
    Attributes,
    Declaration,
    Enumerator,
    Function,
    LaunchBounds,
    Parameter,
    Unit,
    Variable,
)
from nvir.frontend.tree.expressions import (
    Assign,
    Binary,
    Call,
    Cast,
    CompoundLiteral,
    Conditional,
    Designated,
    Expr,
    FloatLiteral,
    Index,
    InitList,
    IntLiteral,
    Member,
    Name,
    NullPointer,
    SizeOf,
    StatementExpr,
    Step,
    StringLiteral,
    Temporary,
    Unary,
)
from nvir.frontend.tree.place import NOWHERE, Node, Place
from nvir.frontend.tree.statements import (
    Asm,
    AsmOperand,
    Break,
    Case,
    Compound,
    Continue,
    DeclStmt,
    Default,
    Do,
    Empty,
    ExprStmt,
    For,
    Goto,
    If,
    Label,
    Return,
    Stmt,
    Switch,
    Unroll,
    While,
)

__all__ = [
    "NOWHERE", "Asm", "AsmOperand", "Assign", "Attributes", "Binary", "Break", "Call", "Case",
    "Cast", "Compound", "CompoundLiteral", "Conditional", "Continue", "DeclStmt", "Declaration",
    "Default", "Designated", "Do", "Empty", "Enumerator", "Expr", "ExprStmt", "FloatLiteral",
    "For", "Function", "Goto", "If", "Index", "InitList", "IntLiteral", "Label", "LaunchBounds",
    "Member", "Name", "Node", "NullPointer", "Parameter", "Place", "Return", "SizeOf",
    "StatementExpr", "Step", "Stmt", "StringLiteral", "Switch", "Temporary", "Unary", "Unit",
    "Unroll", "Variable", "While",
]
