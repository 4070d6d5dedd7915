"""Text that llvm-as refuses is refused, each kind with a place and a reason.

wrong_text.ll holds the kinds, each below a line `;;; name`. They are written from the Language
Reference and LLVM 19's parser; a test asks llvm-as itself where it is installed.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

import nvir
from nvir.ir.errors import NvirError, ParseError, Unsupported, VerifyError
from nvir.passes.presets import preset
from tests.llvm.ll_modules import module_of

_PARTS = re.split(r"^;;; (.*)\n", (pathlib.Path(__file__).parent / "wrong_text.ll").read_text(),
                  flags=re.MULTILINE)[1:]
KINDS = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_text_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(NvirError) as caught:
        nvir.verify(nvir.read_ll(KINDS[kind]))
    e = caught.value
    assert isinstance(e, ParseError | Unsupported | VerifyError)
    first = e.errors[0] if isinstance(e, ParseError) else e.place
    assert first is not None
    assert first.line >= 1
    assert first.col >= 1
    assert first.source.strip() in KINDS[kind]


def test_what_selection_does_not_take_has_the_line_of_the_text() -> None:
    module = nvir.read_ll("""define ptx_kernel void @k(ptr %p) {
  %x = load i64, ptr %p
  %y = call i64 @llvm.none.i64(i64 %x)
  store i64 %y, ptr %p
  ret void
}
declare i64 @llvm.none.i64(i64)
""")
    with pytest.raises(Unsupported, match=r"<text>:3:3: error: .*llvm\.none\.i64 at k\n +%y ="):
        nvir.run_passes(module, preset(3))


@pytest.mark.parametrize(("text", "what"), [
    ("@t = thread_local global i32 0\ndefine i32 @f() {\n  %v = load i32, ptr @t\n  ret i32 %v\n}",
     "1:6: error: .*thread_local"),
    ("define i32 @f(ptr %p) {\n  %v = ptrtoaddr ptr %p to i64\n  %i = trunc i64 %v to i32\n"
     "  ret i32 %i\n}", "2:8: error: .*ptrtoaddr"),
])
def test_what_is_not_supported_is_named_and_not_what_follows_from_it(text: str, what: str) -> None:
    with pytest.raises(Unsupported, match=what):
        nvir.read_ll(text)


NOT_TAKEN = """declare i32 @z.personality(...)
@z.thread = thread_local(localexec) global i32 77
%z.long = type { x86_fp80, [9 x i32] }
declare <vscale x 4 x i32> @llvm.smax.nxv4i32(<vscale x 4 x i32>, <vscale x 4 x i32>)
define i64 @z.f(ptr %p) personality ptr @z.personality {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @z.thread)
  %e = getelementptr [4 x %z.long], ptr %p, i64 77, i32 3
  %l = load x86_fp80, ptr %e
  %m = fadd x86_fp80 %l, 0xK3FFF8000000000000000
  %i = invoke i64 @z.f(ptr %a) [ "deopt"(i32 10, ptr null) ]
          to label %ok unwind label %bad
ok:
  ret i64 %i
bad:
  %lp = landingpad { ptr, i32 }
          cleanup
  resume { ptr, i32 } %lp
}
define <vscale x 4 x i32> @z.v(<vscale x 4 x i32> %v) prefix i32 123 {
  %b = call <vscale x 4 x i32> @llvm.smax.nxv4i32(<vscale x 4 x i32> %v,
      <vscale x 4 x i32> zeroinitializer)
  %i = insertelement <vscale x 4 x i32> %b, i32 77, i32 9
  ret <vscale x 4 x i32> %i
}
"""


@pytest.mark.parametrize(("lines", "wrong"), [
    ("indirectbr i32 %n, [label %a,\n    label %a]\na:\n  unreachable", "indirectbr of a i32"),
    ("indirectbr ptr %p, [label %a,\n    label %a]\na:\n  unreachable", ""),
    ("br label %a\na:\n  %l = landingpad i32\n  ret void", "'cleanup', 'catch' or 'filter'"),
    ("%l = landingpad i32\n  cleanup\n  ret void", "a landingpad in the entry"),
    ("br label %a\na:\n  %l = landingpad i32\n  cleanup\n  ret void", ""),
    ("resume void undef", "resume of a void"),
    ("call void @f() [ \"deopt\"(), \"deopt\"() ]\n  ret void", "'deopt' stands twice"),
    ("store ptr blockaddress(@f, %z), ptr %p\n  ret void", "no block '%z'"),
    ("store ptr blockaddress(@f, %z), ptr %p\n  br label %z\nz:\n  ret void", ""),
    ("store ptr blockaddress(@g, %z), ptr %p\n  ret void", "'@g' is no function"),
    ("store ptr ptrauth (ptr @f, i32 0), ptr %p\n  ret void", ""),
    ("store ptr dso_local_equivalent @f, ptr %p\n  ret void", ""),
    ("ret void\n}\n@t = thread_local global i32 1.0\ndefine void @h() {\n  ret void",
     "no integer"),
    ("ret void\n}\n@t = ifunc void ()\ndefine void @h() {\n  ret void", "expected ','"),
])
def test_what_is_not_supported_is_to_be_right(lines: str, wrong: str) -> None:
    with pytest.raises(ParseError if wrong else Unsupported, match=wrong or None):
        nvir.read_ll(f"define void @f(ptr %p, i32 %n) {{\n  {lines}\n}}\n")


@pytest.mark.parametrize("before", [True, False])
def test_errors_are_told_beside_what_is_not_supported(before: bool) -> None:
    with pytest.raises(Unsupported, match="thread_local"):
        nvir.read_ll(NOT_TAKEN)
    count = 0
    for kind, text in KINDS.items():
        try:
            nvir.read_ll(text)
        except ParseError as alone:
            with pytest.raises(ParseError) as e:
                nvir.read_ll(NOT_TAKEN + text if before else f"{text}\n{NOT_TAKEN}")
            line = alone.errors[0].line + before * NOT_TAKEN.count("\n")
            assert any(d.line == line for d in e.value.errors), kind
            count += 1
        except NvirError:
            pass
    assert count > 900


@pytest.mark.skipif(shutil.which("llvm-as-19") is None, reason="llvm-as-19 is not installed")
@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=() if k % 10 == 0 else pytest.mark.slow)
    for k, kind in enumerate(KINDS)])  # a process each
def test_llvm_refuses_it_too(kind: str) -> None:
    done = subprocess.run(["llvm-as-19", "-o", "/dev/null", "-"], input=KINDS[kind], text=True,
                          capture_output=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize(("body", "wrong"), [
    ("call void @ext(i32 align 4 %n)", "'align' is of pointers"),
    ("%r = load ptr, ptr %p, !align !9", "align is one i64"),
    ("%r = load ptr, ptr %p, !align !7", "a power of two"),
    ("%r = load i32, ptr %p, !nonnull !9", "nonnull is of pointers"),
    ("%r = fadd float %f, %f, !fpmath !6", "one float above zero"),
    ("%r = add i32 %n, 1, !tbaa !9", "add has no access tag"),
    ("br i1 true, label %a, label %a, !prof !5\na:", "1 branch weights of 2 branches"),
    ('%r = call i32 asm "x", "=r,5"(i32 1)', "there is no output 5"),
    ("%r = load ptr, ptr %p, !align !8, !nonnull !9", ""),
    ("%r = fadd float %f, %f, !fpmath !4", ""),
    ("br i1 true, label %a, label %a, !prof !3\na:", ""),
    ('%r = call i32 asm "x", "=r,0"(i32 1)', ""),
])
def test_metadata_and_attributes_stand_where_they_mean_something(body, wrong):
    nodes = ('!3 = !{!"branch_weights", i32 1, i32 2}\n!4 = !{float 2.5}\n'
             '!5 = !{!"branch_weights", i32 1}\n!6 = !{float -1.0}\n!7 = !{i64 3}\n!8 = !{i64 8}\n')
    text = module_of(body) + nodes
    if not wrong:
        nvir.read_ll(text)
        return
    with pytest.raises(nvir.ParseError, match=wrong):
        nvir.read_ll(text)


@pytest.mark.parametrize("n", [1 << 32, (1 << 32) - 1])
def test_launch_bounds_have_32_bits(n):
    for text in (
        f'define ptx_kernel void @k() "nvvm.maxntid"="64,{n}" {{ ret void }}\n',
        'define void @k() { ret void }\n!nvvm.annotations = !{!0}\n'
        f'!0 = !{{ptr @k, !"kernel", i32 1, !"maxntidx", i64 {n}}}',
    ):
        if n >> 32:
            with pytest.raises(nvir.ParseError, match="maxntid takes numbers of 32 bits") as caught:
                nvir.read_ll(text)
            assert caught.value.errors[0].line == 1
        else:
            assert n in nvir.read_ll(text)["k"].directives["maxntid"]


@pytest.mark.parametrize(
    "broken", ["load i24, ptr %", "load null, ptr %p", "load volatile , ptr %p"])
def test_what_follows_from_a_broken_line_is_told_of_that_line_alone(broken):
    """Its value is an operand of an intrinsic that is written as other code."""
    with pytest.raises(ParseError) as caught:
        nvir.read_ll(f"""define i24 @f(ptr %p) {{
  %a = {broken}
  %r = call {{i24, i1}} @llvm.smul.with.overflow.i24(i24 %a, i24 3)
  %x = extractvalue {{i24, i1}} %r, 0
  %y = extractvalue {{i24, i1}} %r, 1
  %z = select i1 %y, i24 0, i24 %x
  ret i24 %z
}}
""")
    assert [e.line for e in caught.value.errors] == [2]


def test_a_declaration_that_nobody_calls_may_say_anything():
    """As in LLVM, whose verifier looks at calls."""
    text = "declare i32 @llvm.ctpop.i32(i32, i1)\n"
    nvir.read_ll(text)
    with pytest.raises(nvir.ParseError, match=r"3:17: error: a call of llvm.ctpop.i32 with 2 op"):
        nvir.read_ll(text + "define void @f() {\n  %r = call i32 @llvm.ctpop.i32(i32 1, i1 0)\n"
                     "  ret void\n}\n")


def test_a_type_that_contains_itself_has_no_size():
    text = "%a = type { i32, %b }\n%b = type { i32, %a }\ndefine void @f(%a* %p) {\n  ret void\n}\n"
    nvir.verify(nvir.read_ll(text))
    with pytest.raises(nvir.ParseError, match=r"4:15: error: %b is opaque"):
        nvir.read_ll(text.replace("ret", "%x = alloca [2 x %a]\n  ret"))


def test_what_a_terminal_would_obey_is_not_told():
    """Words that the reader does not know are quoted, not escapes; letters of any script are."""
    with pytest.raises(ParseError) as caught:
        nvir.read_ll("\x1b[31m @x = global i32 0\n")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(ParseError) as caught:
        nvir.read_ll("größe\n")
    assert "größe" in str(caught.value)


@pytest.mark.parametrize("text", [
    "@N = global i32 0\n", "define void @N() { ret void }\n",
    "define void @k(i32 %N) { ret void }\n", "define void @k() {\nN:\n  ret void\n}\n",
    "define void @k() {\n  %N = add i32 1, 1\n  ret void\n}\n",
])
def test_numbers_that_are_names_have_a_thousand_digits_at_most(text):
    nvir.read_ll(text.replace("N", "9" * 1000))
    with pytest.raises(nvir.ParseError, match="a number of 5000 digits; 1000 are the most"):
        nvir.read_ll(text.replace("N", "9" * 5000))


@pytest.mark.parametrize(("first", "levels", "refused"), [
    ("!{!1, !1}", 40, False),  # no property of a loop: nobody asks for it
    ('!{!0, !1, !{!"llvm.loop.x", !1}}', 10, False),
    ('!{!0, !1, !{!"llvm.loop.x", !1}}', 40, True),
])
def test_nodes_that_each_name_the_next_twice(first: str, levels: int, refused: bool) -> None:
    nodes = [f"!{k} = !{{!{k + 1}, !{k + 1}}}" for k in range(1, levels)]
    text = "\n".join([
        "define void @f() {", "br label %l", "l:", "br label %l, !llvm.loop !0", "}",
        f"!0 = {first}", *nodes, f"!{levels} = !{{}}", ""])
    if not refused:
        assert nvir.read_ll(text).functions
        return
    with pytest.raises(ParseError, match="metadata that stands for more than 100,000 elements"):
        nvir.read_ll(text)
