"""The scalar passes at level `nvvm`: the same code, by the rows of another table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nvir
from nvir.ir import Argument, Function, Instruction, Module, constant, nvvm_form
from nvir.ir.types import I32, pointer
from nvir.passes.driver import Driver, Settings

HEAD = str(Module("sm_80", level="nvvm", name="m")) + """
func @f(%a: i32, %b: i32, %p: ptr addrspace(1), %q: ptr addrspace(1)) returns type "i32" {
"""


@pytest.fixture
def rewrite() -> Callable[..., None]:
    """As `check`, on bodies in nvir's own text; `after` None: nothing may change."""

    def run(pipeline: str, before: str, after: str | None = None) -> None:
        from nvir.ir.equal import equal_up_to_renaming

        module = nvir.parse_ir(f"{HEAD}{before}\n}}\n")
        wanted = nvir.parse_ir(f"{HEAD}{before if after is None else after}\n}}\n")
        Driver(Settings(verify_each=True, check=True)).run(module, pipeline)
        assert equal_up_to_renaming(module, wanted), str(module)

    return run


def test_dce_keeps_stores_calls_and_allocas_with_uses(rewrite):
    rewrite("dce", """entry:
  %x: i32 = add nsw %a, %b
  %y: i32 = mul %x, %x
  %l: i32 = load %p aux 4
  %v: i32 = load volatile %p aux 4
  store %a, %q aux 4
  ret %a""", """entry:
  %v: i32 = load volatile %p aux 4
  store %a, %q aux 4
  ret %a""")


def test_gvn_merges_by_row_flags_and_type(rewrite):
    """Flags are part of the spelling; the result's type tells two extensions apart."""
    rewrite("gvn", """entry:
  %x: i32 = add %a, %b
  %y: i32 = add %b, %a
  %z: i32 = add nsw %a, %b
  %s: i32 = sub %a, %b
  %t: i32 = sub %b, %a
  %u: i64 = zext %y
  %v: i64 = zext %x
  %w: i128 = zext %x
  %i: i1 = icmp slt %x, %z
  %j: i1 = icmp slt %y, %z
  %k: i1 = icmp sgt %y, %z
  store %u, %p aux 8
  store %v, %p aux 8
  store %w, %p aux 8
  store %i, %q aux 1
  store %j, %q aux 1
  store %k, %q aux 1
  %r: i32 = xor %s, %t
  ret %r""", """entry:
  %x: i32 = add %a, %b
  %z: i32 = add nsw %a, %b
  %s: i32 = sub %a, %b
  %t: i32 = sub %b, %a
  %u: i64 = zext %x
  %w: i128 = zext %x
  %i: i1 = icmp slt %x, %z
  %k: i1 = icmp sgt %x, %z
  store %u, %p aux 8
  store %u, %p aux 8
  store %w, %p aux 8
  store %i, %q aux 1
  store %i, %q aux 1
  store %k, %q aux 1
  %r: i32 = xor %s, %t
  ret %r""")


def test_gvn_loads_until_a_store(rewrite):
    rewrite("gvn", """entry:
  %x: i32 = load %p aux 4
  %y: i32 = load %p aux 4
  store %y, %q aux 4
  %z: i32 = load %p aux 4
  %r: i32 = sub %x, %z
  ret %r""", """entry:
  %x: i32 = load %p aux 4
  store %x, %q aux 4
  %z: i32 = load %p aux 4
  %r: i32 = sub %x, %z
  ret %r""")


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
  %x: i32 = add %a, %b
  br -> loop
loop:
  %h: i32 = phi [%x, entry], [%c, loop]
  %c: i32 = bitcast %h
  %f: float = bitcast %c
  %l: i32 = load %p aux 4
  store %f, %q aux 4
  %t: i1 = icmp slt %l, %c
  br %t -> loop, done
done:
  ret %c""", """entry:
  %x: i32 = add %a, %b
  br -> loop
loop:
  %f: float = bitcast %x
  %l: i32 = load %p aux 4
  store %f, %q aux 4
  %t: i1 = icmp slt %l, %x
  br %t -> loop, done
done:
  ret %x""")
