"""The intermediate representation: one set of classes for both levels.

`Module` holds `Function`s and variables, a function `Block`s, a block
`Instruction`s; instructions use and make `Value`s. A level (`ori`, close to the
machine; `nvvm`, LLVM-like) is a table of opcodes, not a second set of classes.
"""

from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.bulk import bulk
from nvir.ir.cfg import EdgePlace, dominator_tree, interpose_all, successors
from nvir.ir.errors import (
    Diagnostic, LaunchError, NvirError, ParseError, PassError, Unsupported, VerifyError, expect,
)
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Location, Loose
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module, capability
from nvir.ir.opcodes import NVVM, ORI, UNKNOWN, Op, OpKind
from nvir.ir.opcodes.form import Form, form, nvvm_form
from nvir.ir.symbols import Param, Variable
from nvir.ir.types import (
    B16, B32, B64, BFLOAT, CC, DOUBLE, F32, F64, FLOAT, I1, I8, I16, I32, I64, IMM, LABEL, METADATA,
    PRED, SCALARS, VOID, ArrayType, FloatType, FunctionType, IntType, PointerType, ScalarType,
    StructType, Type, VectorType, array, function_type, int_type, named_struct, pointer, struct,
    vector,
)
from nvir.ir.values import (
    Argument, Constant, Result, SpecialRegister, Symbol, SymbolOffset, Undef, Value, constant,
    integer, undef,
)

__all__ = [
    "B16", "B32", "B64", "BFLOAT", "CC", "DOUBLE", "F32", "F64", "FLOAT", "I1", "I8", "I16", "I32",
    "I64", "IMM", "LABEL", "METADATA", "NVVM", "ORI", "PRED", "SCALARS", "UNKNOWN", "VOID",
    "Argument", "ArrayType", "Block", "Builder", "CallInfo", "Constant", "Diagnostic", "EdgePlace",
    "FloatType", "Form", "Function", "FunctionType", "Instruction", "IntType", "LaunchError",
    "Location", "Loop", "Loose", "Module", "NvirError", "Op", "OpKind", "Param", "ParseError",
    "PassError", "PointerType", "Result", "ScalarType", "SpecialRegister", "StructType", "Symbol",
    "SymbolOffset", "Type", "Undef", "Unsupported", "Value", "Variable", "VectorType",
    "VerifyError", "array", "bulk", "capability", "constant", "dominator_tree", "expect", "form",
    "function_type", "int_type", "integer", "interpose_all", "named_struct", "natural_loops",
    "nvvm_form", "pointer", "struct", "successors", "undef", "vector",
]
