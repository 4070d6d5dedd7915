"""inline: which calls are replaced by bodies, and how."""

from __future__ import annotations

import numpy as np
import pytest

from nvir import read_ll, run_passes
from nvir.ir import Function
from nvir.passes.driver import Driver, Settings
from nvir.passes.scalar import inline
from tests.rewrites import keeps_behaviour, rewrites, same_program
from tests.selection import read, run


def test_returns_meet_in_a_phi():
    rewrites("inline", """
        define i32 @f(i1 %c, i32 %x) {
          br i1 %c, label %a, label %b
        a:
          ret i32 %x
        b:
          %y = add i32 %x, 1
          ret i32 %y
        }
        define i32 @g(i1 %c, i32 %x) {
          %r = call i32 @f(i1 %c, i32 %x)
          %s = mul i32 %r, 3
          ret i32 %s
        }""", """
        define i32 @f(i1 %c, i32 %x) {
          br i1 %c, label %a, label %b
        a:
          ret i32 %x
        b:
          %y = add i32 %x, 1
          ret i32 %y
        }
        define i32 @g(i1 %c, i32 %x) {
          br label %in
        in:
          br i1 %c, label %a, label %b
        a:
          br label %after
        b:
          %y = add i32 %x, 1
          br label %after
        after:
          %r = phi i32 [%x, %a], [%y, %b]
          %s = mul i32 %r, 3
          ret i32 %s
        }""")


def test_allocas_go_to_the_callers_entry_and_uncalled_functions_go():
    rewrites("inline,simplify-cfg", """
        define internal void @f(i32 %x, ptr %out) {
          %a = alloca i32
          store i32 %x, ptr %a
          %v = load volatile i32, ptr %a
          store i32 %v, ptr %out
          ret void
        }
        define void @g(i1 %c, i32 %x, ptr %out) {
          br i1 %c, label %do, label %done
        do:
          call void @f(i32 %x, ptr %out)
          br label %done
        done:
          ret void
        }""", """
        define void @g(i1 %c, i32 %x, ptr %out) {
          %a = alloca i32
          br i1 %c, label %do, label %done
        do:
          store i32 %x, ptr %a
          %v = load volatile i32, ptr %a
          store i32 %v, ptr %out
          br label %done
        done:
          ret void
        }""")


CALLS = """
        define {linkage} i32 @f(i32 %x) {attributes} {{
          %y = add i32 %x, 1
          %z = {inner}
          ret i32 %z
        }}
        define i32 @g(i32 %x) {{
          %r = call i32 @f(i32 %x)
          %s = call i32 @f(i32 %r)
          ret i32 %s
        }}"""


@pytest.mark.parametrize(
    ("linkage", "attributes", "inner", "pipeline", "reason"),
    [
        ("", "noinline", "add i32 %y, 2", "inline", "it says noinline"),
        ("", "", "call i32 @f(i32 %y)", "inline", "it is recursive"),
        ("weak", "", "add i32 %y, 2", "inline", "a linker may replace it"),
        ("", "", "add i32 %y, 2", "inline<threshold=1>", "its size 3 is above 1"),
    ],
)
def test_what_is_not_inlined(linkage, attributes, inner, pipeline, reason):
    text = CALLS.format(linkage=linkage, attributes=attributes, inner=inner)
    ctx = rewrites(pipeline, text)
    reasons = {r.args["reason"] for r in ctx.remarks}
    assert reason in reasons


@pytest.mark.parametrize(("callee", "call", "reason"), [
    ("define i32 @f(i32 %y) {\n  %a = alloca i32, i32 %y\n  %z = load volatile i32, ptr %a\n"
     "  ret i32 %z\n}", "call i32 @f(i32 %x)", "it makes room on the stack while it runs"),
])
def test_bodies_that_fit_nowhere_else(callee, call, reason):
    ctx = rewrites("inline", f"{callee}\ndefine i32 @g(i32 %x) {{\n  %r = {call}\n"
                             "  ret i32 %r\n}")
    assert reason in {r.args["reason"] for r in ctx.remarks}


def test_always_inline_and_single_calls_ignore_the_size():
    text = CALLS.format(linkage="", attributes="alwaysinline", inner="add i32 %y, 2")
    module = read(text)
    import nvir

    remarks = nvir.run_passes(module, "inline<threshold=1>")
    assert [r.args["reason"] for r in remarks] == ["it says alwaysinline"] * 2
    single = CALLS.format(linkage="internal", attributes="", inner="add i32 %y, 2").replace(
        "%s = call i32 @f(i32 %r)", "%s = add i32 %r, 0"
    )
    module = read(single)
    remarks = nvir.run_passes(module, "inline<threshold=1>")
    assert [r.name for r in remarks] == ["Inlined", "FunctionRemoved"]
    assert [f.name for f in module.functions] == ["g"]


def test_a_chain_that_doubles_is_inlined_as_far_as_it_has_room(monkeypatch):
    monkeypatch.setattr(inline, "MAX_ALWAYS", 1000)
    first = "define internal void @f0(ptr %p) alwaysinline { store i32 1, ptr %p ret void }\n"
    chain = first + "".join(
        f"define internal void @f{n}(ptr %p) alwaysinline {{ call void @f{n - 1}(ptr %p) "
        f"call void @f{n - 1}(ptr %p) ret void }}\n" for n in range(1, 30))
    module = read(chain + "define ptx_kernel void @k(ptr %p) { call void @f29(ptr %p) ret void }")
    import nvir

    remarks = nvir.run_passes(module, "inline")
    assert "its caller would have more than 1000 instructions" in {
        r.args.get("reason") for r in remarks}
    assert max(sum(map(len, f.blocks)) for f in module.functions) <= 1000


BYVAL = """
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    define internal i32 @f(ptr SPACE byval({ i32, i32 }) align 16 %s) alwaysinline {
      %p = getelementptr { i32, i32 }, ptr SPACE %s, i32 0, i32 1
      %x = load i32, ptr SPACE %p
      store i32 77, ptr SPACE %p
      %y = load i32, ptr SPACE %p
      %z = mul i32 %x, %y
      ret i32 %z
    }
    define ptx_kernel void @k(ptr addrspace(1) %out) {
      %a = alloca { i32, i32 }
      %m = CAST
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %p = getelementptr { i32, i32 }, ptr SPACE %m, i32 0, i32 1
      store i32 %t, ptr SPACE %p
      %r = call i32 @f(ptr SPACE byval({ i32, i32 }) align 16 %m)
      %s = load i32, ptr SPACE %p
      %u = add i32 %r, %s
      %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
      store i32 %u, ptr addrspace(1) %o
      ret void
    }"""


@pytest.mark.parametrize(("space", "cast"), [
    ("", "getelementptr i8, ptr %a, i64 0"),
    ("addrspace(5)", "addrspacecast ptr %a to ptr addrspace(5)"),
])
def test_memory_passed_by_value_is_copied_into_the_caller(space, cast):
    """The callee writes into its copy: what the caller has stays."""
    module = read(BYVAL.replace("SPACE", space).replace("CAST", cast))
    Driver(Settings(verify_each=True, check=True)).run(module, "inline")
    assert "call i32 @f" not in str(module)
    assert len(module.functions) < 5
    (out,), _ = run(module, [np.zeros(32, np.int32)])
    assert out.tolist() == [77 * t + t for t in range(32)]


def test_a_body_that_never_returns_leaves_its_result_undefined():
    rewrites("inline", """
        define internal i32 @f(ptr %p) alwaysinline {
          store volatile i32 1, ptr %p
          unreachable
        }
        define i32 @g(ptr %p) {
          %r = call i32 @f(ptr %p)
          %s = add i32 %r, 1
          ret i32 %s
        }""", """
        define i32 @g(ptr %p) {
          br label %in
        in:
          store volatile i32 1, ptr %p
          unreachable
        after:
          %s = add i32 undef, 1
          ret i32 %s
        }""")


def test_a_chain_of_calls_is_inlined_to_its_end():
    text = "\n".join(
        f"define internal i32 @f{k}(i32 %x) {{\n"
        + (f"%y = call i32 @f{k - 1}(i32 %x)\n" if k else "%y = add i32 %x, 1\n")
        + "ret i32 %y\n}"
        for k in range(30)
    )
    text += """
        define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) {
          %v = call i32 @f29(i32 %n)
          store i32 %v, ptr addrspace(1) %out
          ret void
        }"""
    copy = keeps_behaviour(read(text), "inline,simplify-cfg")
    assert [f.name for f in copy.functions] == ["k"]


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    same_program(seed, "inline", accepted=seed == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400, 500))
def test_many_random_programs(seed):
    same_program(seed, "sroa,mem2reg,inline,sroa,mem2reg", accepted=True)


@pytest.mark.parametrize(("more", "moved"), [
    ("", True),
    ("define i32 @h(i32 %x) {\n%r = call i32 @f(i32 %x)\nret i32 %r\n}\n", False),
    ("@other = alias i32 (i32), ptr @f\n", False),
    ("@place = addrspace(1) global ptr @f\n", False),
])
def test_the_last_caller_takes_the_body_itself(more, moved):
    """So that a chain of n functions holds n bodies, not as many for each of them."""
    module = read("define i32 @g(i32 %x) {\n%r = call i32 @f(i32 %x)\nret i32 %r\n}\n" + more
                  + "define internal i32 @f(i32 %x) {\n%y = mul i32 %x, %x\nret i32 %y\n}\n")
    body = next(module["f"].instructions())
    Driver(Settings(check=True)).run(module, "inline")
    assert all(not i.form.is_call for f in module.functions for i in f.instructions())
    assert (body.block is not None and body.block.function is module["g"]) == moved
    assert ("f" in [f.name for f in module.functions]) == ("@f\n" in more)


def test_the_control_flow_of_a_chain_of_functions_is_not_renewed_at_each_call(monkeypatch):
    renewed = 0
    real = Function.analyze_cfg

    def counted(self):
        nonlocal renewed
        renewed += len(self.blocks)
        real(self)

    monkeypatch.setattr(Function, "analyze_cfg", counted)

    def work(n):
        nonlocal renewed
        chain = "".join(
            f"define internal i32 @f{k}(i32 %a) {{\n"
            + (f" %r = call i32 @f{k - 1}(i32 %a)\n ret i32 %r\n}}\n" if k
               else " ret i32 %a\n}\n") for k in range(n))
        module = read_ll(f"{chain}define i32 @k(i32 %a) {{\n %r = call i32 @f{n - 1}(i32 %a)\n"
                         " ret i32 %r\n}\n")
        renewed = 0
        run_passes(module, "inline")
        assert len(module.functions) == 1
        return renewed

    assert work(80) < 3 * work(40)
