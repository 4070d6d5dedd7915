"""What an outside judge's trees found: constructors of vectors, declarations before definitions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.compiler import compile_tree
from nvir.frontend.build import (
    addr,
    assign,
    call,
    cast,
    kernel,
    let,
    name,
    names,
    threadIdx,
    unit,
    variable,
)
from nvir.frontend.check import TreeError
from nvir.frontend.tree.declarations import Unit
from nvir.frontend.tree.json_form import from_json, to_json

o, f, u = names("o f u")


def ran(tree: Unit, optimise: int = 3) -> list[int]:
    out = np.zeros(4, np.int64)
    nvir.launch(compile_tree(tree, optimise=optimise), "k", 1, 4, [out])
    return out.tolist()


def vectors() -> Unit:
    t = threadIdx.x
    return unit(kernel(
        "k", "long long *o",
        let("float4 f", call("make_float4", t, 2, 3, 4)),
        assign(f, call("make_float4", f.w, 1, 0, t)),
        let("uchar2 u", call("make_uchar2", 300, t)),
        assign(o[t], cast("int", f.x * 100 + f.w) + u.x * 1000 + u.y),
    ))


@pytest.mark.parametrize("optimise", [0, 3])
def test_constructors_of_vectors(optimise: int) -> None:
    assert ran(vectors(), optimise) == [400 + t + 44000 + t for t in range(4)]
    assert ran(from_json(json.loads(json.dumps(to_json(vectors()))))) == ran(vectors())


@pytest.mark.parametrize(("made", "message"), [
    (call("make_float5", 1), "use of undeclared name 'make_float5'"),
    (call("float4", 1), "use of undeclared name 'float4'"),
    (call("make_float4", 1, 2), "too few arguments: 2 for 4"),
])
def test_what_constructs_no_vector(made: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        compile_tree(unit(kernel("k", "long long *o", assign(o[0], cast("int", made)))))


def test_a_mistake_in_json_shows_its_place() -> None:
    """That of the innermost node around it, with the source line where the tree has its source."""
    tree = unit(kernel("k", "long long *o", assign(o[0], 3)))
    tree.source = "\n".join(f"line {k}" for k in range(1, 400))
    data = to_json(tree)
    stmt = data["declarations"][0]["body"]["body"][0]
    line = int(stmt["expr"]["place"].split(":")[-2])
    stmt["expr"]["op"] = 5
    with pytest.raises(nvir.NvirError) as caught:
        from_json(data)
    head, shown, caret = str(caught.value).split("\n")
    assert f":{line}:1: error: declarations[0].body.body.[0].expr.op: str is wanted, not 5" in head
    assert (shown.strip(), caret.strip()) == (f"line {line}", "^")
    stmt["expr"]["place"] = "here"
    with pytest.raises(nvir.NvirError, match=r"^<tree>: declarations\[0\]"):
        from_json(data)


def test_a_declaration_before_the_definition_means_the_same_variable() -> None:
    declared = variable("int later", memory="device", storage="extern")
    body = kernel("k", "long long *o", assign(o[threadIdx.x], name("later") + 1))
    before = unit(declared, body, variable("int later", 41, memory="device"))
    text = nvir.print_ptx(compile_tree(before))
    assert ".extern" not in text
    assert ran(before) == [42] * 4
    other = kernel("k", "long long *o", assign(o[threadIdx.x], name("later") + 1))
    alone = nvir.print_ptx(compile_tree(unit(declared, other)))
    assert ".extern .global .align 4 .u32 later" in alone


def test_a_pointer_to_what_is_defined_later() -> None:
    pointer = variable("int *p", addr(name("later")), memory="device")
    tree = unit(variable("int later", memory="device", storage="extern"), pointer,
                variable("int later", 7, memory="device"),
                kernel("k", "long long *o", assign(o[threadIdx.x], name("p")[0])))
    assert ran(tree) == [7] * 4
