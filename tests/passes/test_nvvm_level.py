"""The scalar passes at level `nvvm`: the same code, by the rows of another table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nvir.ir import Argument, Function, Instruction, Module, constant, nvvm_form
from nvir.ir.types import I32, VOID, parse_type, pointer
from nvir.passes.driver import Driver, Settings
from tests.passes.conftest import numbered


def build(text: str) -> Module:
    """`x: i32 = add nsw a b`, `h: i32 = phi x@entry c@loop`, `br t loop done`, `label:`; the
    function takes a, b (i32) and p, q (pointers to global memory)."""
    module = Module("sm_80", level="nvvm")
    f = module.add_function(Function("f"))
    types = {"a": I32, "b": I32, "p": pointer(1), "q": pointer(1)}
    f.params = [Argument(t, n, f, k) for k, (n, t) in enumerate(types.items())]
    values = {p.name: p for p in f.params}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    blocks = {line[:-1]: f.block(line[:-1]) for line in lines if line.endswith(":")}
    late = []
    for line in lines:
        if line.endswith(":"):
            block = blocks[line[:-1]]
            continue
        left, _, right = line.rpartition(" = ")
        name, _, kind = left.partition(": ")
        words = right.split()
        operands = [w for w in words[1:] if w.partition("@")[0] in values or "@" in w]
        flags = [w for w in words[1:] if w not in operands and w not in blocks]
        targets = tuple(blocks[w] for w in words[1:] if w in blocks)
        aux = targets if words[0] in ("br", "ret") else 4 if words[0] in ("load", "store") else None
        i = Instruction(
            nvvm_form(" ".join([words[0], *flags])),
            () if words[0] == "phi" else tuple(values[w] for w in operands),
            parse_type(kind) if kind else VOID, name or None, () if words[0] == "phi" else aux,
        )
        block.append(i)
        values[name] = i
        if words[0] == "ret" and operands:
            f.return_type = I32
        if words[0] == "phi":
            late.append((i, [w.split("@") for w in operands]))
    for phi, pairs in late:
        phi.set_incoming([values[v] for v, _ in pairs], [blocks[b] for _, b in pairs])
    return module


@pytest.fixture
def rewrite() -> Callable[..., None]:
    """As `check`, on bodies that `build` reads."""

    def run(pipeline: str, before: str, after: str) -> None:
        module = build(before)
        Driver(Settings(verify_each=True, check=True)).run(module, pipeline)
        assert numbered(module) == numbered(build(after))

    return run


def test_dce_keeps_stores_calls_and_allocas_with_uses(rewrite):
    rewrite("dce", """entry:
  x: i32 = add nsw a b
  y: i32 = mul x x
  l: i32 = load p
  v: i32 = load volatile p
  store a q
  ret a""", """entry:
  v: i32 = load volatile p
  store a q
  ret a""")


def test_gvn_merges_by_row_flags_and_type(rewrite):
    """Flags are part of the spelling; the result's type tells two extensions apart."""
    rewrite("gvn", """entry:
  x: i32 = add a b
  y: i32 = add b a
  z: i32 = add nsw a b
  s: i32 = sub a b
  t: i32 = sub b a
  u: i64 = zext y
  v: i64 = zext x
  w: i128 = zext x
  i: i1 = icmp slt x z
  j: i1 = icmp slt y z
  k: i1 = icmp sgt y z
  store u p
  store v p
  store w p
  store i q
  store j q
  store k q
  r: i32 = xor s t
  ret r""", """entry:
  x: i32 = add a b
  z: i32 = add nsw a b
  s: i32 = sub a b
  t: i32 = sub b a
  u: i64 = zext x
  w: i128 = zext x
  i: i1 = icmp slt x z
  k: i1 = icmp sgt x z
  store u p
  store u p
  store w p
  store i q
  store i q
  store k q
  r: i32 = xor s t
  ret r""")


def test_gvn_loads_until_a_store(rewrite):
    rewrite("gvn", """entry:
  x: i32 = load p
  y: i32 = load p
  store y q
  z: i32 = load p
  r: i32 = sub x z
  ret r""", """entry:
  x: i32 = load p
  store x q
  z: i32 = load p
  r: i32 = sub x z
  ret r""")


def test_two_allocas_are_two_places():
    module = Module("sm_80", level="nvvm")
    f = module.add_function(Function("f"))
    value = Argument(I32, "a", f, 0)
    f.params = [value]
    entry = f.block("entry")
    for _ in range(2):
        place = Instruction(nvvm_form("alloca"), (constant(I32, 1),), pointer(5), aux=(I32, 4))
        entry.append(place)
        entry.append(Instruction(nvvm_form("store"), (value, place), aux=4))
    entry.append(Instruction(nvvm_form("ret"), (), aux=()))
    Driver(Settings(check=True)).run(module, "gvn,dce")
    assert len(entry) == 5


def test_copy_prop_takes_casts_to_the_same_type_and_loop_phis(rewrite):
    rewrite("copy-prop", """entry:
  x: i32 = add a b
  br loop
loop:
  h: i32 = phi x@entry c@loop
  c: i32 = bitcast h
  f: float = bitcast c
  l: i32 = load p
  store f q
  t: i1 = icmp slt l c
  br t  loop done
done:
  ret c""", """entry:
  x: i32 = add a b
  br loop
loop:
  f: float = bitcast x
  l: i32 = load p
  store f q
  t: i1 = icmp slt l x
  br t  loop done
done:
  ret x""")
