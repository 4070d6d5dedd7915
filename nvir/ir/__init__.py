"""The intermediate representation: one set of classes for both levels.

`Module` holds `Function`s and variables, a function `Block`s, a block
`Instruction`s; instructions use and make `Value`s. A level (`ori`, close to the
machine; `nvvm`, LLVM-like) is a table of opcodes, not a second set of classes.
"""

from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.errors import (
    Diagnostic,
    LaunchError,
    NvirError,
    ParseError,
    PassError,
    Unsupported,
    VerifyError,
)
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Location, Loose
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ir.opcodes import NVVM, ORI, Op
from nvir.ir.opcodes.form import Form, form, nvvm_form
from nvir.ir.symbols import Param, Variable
from nvir.ir.values import (
    Argument,
    Constant,
    Result,
    SpecialRegister,
    Symbol,
    SymbolOffset,
    Undef,
    Value,
    constant,
    integer,
    undef,
)

__all__ = [
    "NVVM", "ORI", "Argument", "Block", "Builder", "CallInfo", "Constant", "Diagnostic", "Form",
    "Function",
    "Instruction", "LaunchError", "Location", "Loop", "Loose", "Module", "NvirError", "Op", "Param",
    "ParseError", "PassError", "Result", "SpecialRegister", "Symbol", "SymbolOffset", "Undef",
    "Unsupported", "Value", "Variable", "VerifyError", "constant", "form", "integer",
    "natural_loops", "nvvm_form", "undef",
]
