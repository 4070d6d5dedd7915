"""The opcode rows of `ori`: every mnemonic of PTX ISA 9.0.

A section for each family of the ISA's chapter 9, in four modules. Importing this package
registers the rows in `nvir.ir.opcodes.ORI`; nothing else is exported.

A row stands for the words of a mnemonic that settle what its operands are and
what it does; `Table.find` takes the longest row that a spelling starts with,
and what follows are modifiers. So `add` serves integers and floats, while
`add.cc` is a row of its own because it makes the carry flag, and
`bar.warp.sync` because its operand is no barrier number. What modifiers change
(`.volatile`, `.acquire`, `.nc`, a state space) `nvir.ir.opcodes.form` adds to the row.

Source: "Parallel Thread Execution ISA", version 9.0, NVIDIA; operand forms
checked against ptxas 13.0 (tests/ir/test_ori_table.py). `since` is the ISA
version that brought the mnemonic and, from sm_20 on, the first target.
"""

from __future__ import annotations

from nvir.ir.opcodes.ori import arithmetic, control, matrix, memory  # noqa: F401
