"""Reading LLVM text: what it means, what is tolerated, and errors at their place."""

from __future__ import annotations

import pytest

import nvir
from nvir import ParseError, Unsupported, read_ll
from nvir.ir import CallInfo, Constant
from nvir.ir.nvvm_values import ConstantExpr, InlineAsm, NvvmCall
from nvir.ir.types import FLOAT, I32, array, pointer
from nvir.ir.verify import verify
from nvir.passes.presets import preset
from tests.llvm.ll_modules import SNIPPETS, module_of

TYPED = """
%node = type { %node*, i32 }
@g = addrspace(1) global [2 x i32] [i32 1, i32 -1], align 8
@p = addrspace(1) global i32 addrspace(1)* getelementptr ([2 x i32], [2 x i32] addrspace(1)* @g, i64 0, i64 1)
define void @k(float addrspace(1)* %a, %node* byval align 8 %s, i32 %n) {
entry:
  %c = bitcast float addrspace(1)* %a to i32 addrspace(1)*
  %v = load i32, i32 addrspace(1)* %c, align 4
  %q = getelementptr inbounds %node, %node* %s, i32 0, i32 1
  store i32 %v, i32* %q
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float addrspace(1)*, %node*, i32)* @k, !"kernel", i32 1, !"maxntidx", i32 96}
"""  # noqa: E501
OPAQUE = """
%node = type { ptr, i32 }
@g = addrspace(1) global [2 x i32] [i32 1, i32 -1], align 8
@p = addrspace(1) global ptr addrspace(1) getelementptr ([2 x i32], ptr addrspace(1) @g, i64 0, i64 1)
define ptx_kernel void @k(ptr addrspace(1) %a, ptr byval(%node) align 8 %s, i32 %n) "nvvm.maxntid"="96" {
entry:
  %v = load i32, ptr addrspace(1) %a, align 4
  %q = getelementptr inbounds %node, ptr %s, i32 0, i32 1
  store i32 %v, ptr %q
  ret void
}
"""  # noqa: E501


@pytest.mark.seed("IR-17")
def test_both_dialects_give_one_module():
    assert str(read_ll(TYPED)) == str(read_ll(OPAQUE))


def test_kernels_and_bounds():
    f = read_ll(TYPED)["k"]
    assert f.kind == "entry"
    assert f.directives == {"maxntid": (96,)}


def test_casts_between_pointers_of_a_space_make_no_instruction():
    f = read_ll(TYPED)["k"]
    assert [i.form.name for i in f.instructions()] == ["load", "getelementptr", "store", "ret"]


@pytest.mark.seed("IR-19")
def test_constants_and_expressions():
    m = read_ll(TYPED)
    g, p = m.globals
    assert g.value_type is array(I32, 2)
    assert [v.value for v in g.init.value] == [1, -1]
    assert isinstance(p.init, ConstantExpr)
    assert p.init.is_constant
    assert p.init.operands[0] is g
    assert p.init.type is pointer(1)


def body(text: str, params: str = "ptr %p, i32 %n, float %f"):
    m = read_ll(f"define void @k({params}) {{\n{text}\n  ret void\n}}\n")
    verify(m)
    return m["k"]


@pytest.mark.parametrize(("text", "bits"), [
    ("1.0", 0x3F800000), ("-0.0", 0x80000000), ("0x3FB99999A0000000", 0x3DCCCCCD),
    ("0x7FF0000000000000", 0x7F800000), ("0x7FF8000000000000", 0x7FC00000),
    ("0x36A0000000000000", 1), ("1.5e3", 0x44BB8000), ("f0x3FB8AA3B", 0x3FB8AA3B),
    ("f0x7FC00001", 0x7FC00001),
])
def test_floats(text, bits):
    i = body(f"  %x = fadd float %f, {text}").entry.first
    assert i.operands[1] is nvir.ir.constant(FLOAT, bits)


@pytest.mark.parametrize(
    "text",
    ["0x3FB999999999999A", "0xH3C00", "1", "1e400", "true", "f0x", "f0x13FB8AA3B", "f0xG"],
)
def test_floats_that_are_none_of_the_type(text):
    with pytest.raises(ParseError):
        body(f"  %x = fadd float %f, {text}")


def test_numbers_count_values_and_blocks():
    f = read_ll(
        "define i32 @f(i32, i32) {\n  %3 = add i32 %0, %1\n  br label %4\n\n4:\n"
        "  %5 = phi i32 [ %3, %2 ]\n  ret i32 %5\n}\n"
    )["f"]
    verify(f.module)
    assert [b.name for b in f.blocks] == ["bb2", "bb4"]


def test_blocks_of_old_llvms_are_numbered_in_comments():
    f = read_ll(
        "define i32 @f(i1 %c) {\n  br i1 %c, label %1, label %3\n\n; <label>:1:    ; preds = %0\n"
        "  %2 = add i32 1, 2\n  br label %3\n\n; <label>:3:\n"
        "  %4 = phi i32 [ 0, %0 ], [ %2, %1 ]\n  ret i32 %4\n}\n"
    )["f"]
    verify(f.module)
    assert len(f.blocks) == 3


def test_values_named_before_they_are_defined():
    f = body(
        "entry:\n  br label %a\nb:\n  %y = add i32 %x, 1\n  br label %c\na:\n"
        "  %x = mul i32 %n, 3\n  br label %b\nc:"
    )
    add = next(i for i in f.instructions() if i.form.name == "add")
    assert add.operands[0].definer.form.name == "mul"


def test_several_edges_of_a_switch_are_one_entry():
    f = body(
        "e:\n  switch i32 %n, label %x [i32 1, label %x\n i32 2, label %y]\ny:\n  br label %x\nx:\n"
        "  %v = phi i32 [ 1, %e ], [ 1, %e ], [ 2, %y ]"
    )
    assert len(f.blocks[-1].first.operands) == 2
    text = nvir.print_ll(f.module, "llvm20")
    assert "phi i32 [ 1, %e ], [ 1, %e ], [ 2, %y ]" in text


def test_attributes():
    m = read_ll(
        "define void @f(ptr noalias nocapture align 16 dereferenceable(8) %p, ptr captures(none) "
        '%q) #0 {\n  ret void\n}\nattributes #0 = { convergent nounwind memory(none) "a"="b" '
        '"target-cpu"="sm_90" "flag" }\n'
    )
    f = m["f"]
    assert f.aux["attributes"] == (
        "convergent", "nounwind", "readnone", ("a", "b"), ("target-cpu", "sm_90"), ("flag", ""),
    )
    p, q = f.params
    assert p.attributes == ("noalias", "nocapture", ("align", 16), ("dereferenceable", 8))
    assert q.attributes == ("nocapture",)
    assert m.target == "sm_90"


def test_calls():
    f = body(
        '  call void asm sideeffect "bar.sync 0;", "~{memory}"() convergent\n'
        "  %v = tail call fast float %p(float %f)\n"
        "  call void @llvm.dbg.value(metadata i32 %n, metadata !{}, metadata !DIExpression())"
    )
    asm, indirect, _ = f.instructions()
    assert isinstance(asm.aux, NvvmCall)
    assert isinstance(asm.aux.callee, InlineAsm)
    assert asm.aux.callee.clobbers == ("memory",)
    assert asm.aux.attributes == ("convergent",)
    assert isinstance(indirect.aux, CallInfo)
    assert indirect.aux.callee is None
    assert indirect.form.mods == ("tail", "fast")


def test_places_and_loops():
    m = read_ll(
        "define void @k(i1 %c) !dbg !1 {\ne:\n  br label %l\nl:\n"
        "  br i1 %c, label %l, label %x, !dbg !3, !llvm.loop !4\nx:\n  ret void\n}\n"
        '!1 = distinct !DISubprogram(name: "k", file: !2)\n'
        '!2 = !DIFile(filename: "k.cu", directory: "/d")\n'
        "!3 = !DILocation(line: 7, column: 3, scope: !1)\n"
        '!4 = distinct !{!4, !3, !5}\n!5 = !{!"llvm.loop.unroll.count", i32 4}\n'
    )
    latch = m["k"].blocks[1]
    loc = latch.terminator.loc
    assert (loc.file, loc.line, loc.col) == (1, 7, 3)
    assert m.debug.files == [(1, "/d/k.cu", "")]
    assert latch.aux == {"llvm.loop": (("llvm.loop.unroll.count", 4),)}


def test_tolerated():
    m = read_ll(
        '; ModuleID = "x"\nsource_filename = "a/b.cu"\ntarget triple = "nvptx64-nvidia-cuda"\n'
        "$c = comdat any\n$f = comdat any\n"
        "@x = linkonce_odr dso_local hidden local_unnamed_addr addrspace(1) "
        'global i32 0, section "s", comdat($c), align 4\n'
        "define weak_odr dso_local fastcc noundef i32 @f(i32 noundef returned %x) "
        "local_unnamed_addr comdat {\n  #dbg_value(i32 %x, !3, !DIExpression(), !4)\n"
        '  %r = add i32 %x, 1, !foo !3, !bar !4 ; a comment with "quotes"\n  ret i32 %r\n}\n'
        '^0 = module: (path: "x")\n!3 = !{i32 0, i32 9}\n!4 = !{}\n'
    )
    verify(m)
    assert m.name == "b.cu"
    assert m["f"].linkage == "weak_odr"
    assert m["f"].aux["returns"] == ("noundef",)


def test_a_number_that_is_too_large_wraps_as_in_llvm():
    values = [read_ll(f"@x = global i8 {n}\n").globals[0].init.value for n in (256, 300, -129)]
    assert values == [0, 44, 127]


def test_a_comdat_with_a_quoted_name():
    text = '$"c d" = comdat any\n@lw = weak_odr constant i32 3, comdat($"c d")\n'
    assert read_ll(text).globals[0].name == "lw"


def test_a_line_of_text_and_its_instruction():
    f = body("  %a = add i32 %n, 1\n\n  %b = mul i32 %a, 2")
    assert [i.line for i in f.instructions()] == [2, 4, 5]


# ------------------------------------------------------------------- errors

# text of a body, line and column of the error, what it says
BAD = [
    ("  %x = add i32 %n", (2, 18), "expected ','"),
    ("  %x = add i32 %n, 1.5", (2, 20), "no integer"),
    ("  %x = add i32 %f, 1", (2, 16), "is of type float, here i32"),
    ("  %x = fadd i32 %n, 1", (2, 3), "fadd is for floats, not i32"),
    ("  %x = frobnicate i32 %n", (2, 8), "expected an instruction, found 'frobnicate'"),
    ("  %x = add i33x %n, 1", (2, 12), "expected a type"),
    ("  %x = load i32, i32 %n", (2, 3), "load takes a pointer, not i32"),
    ("  %x = load void, ptr %p", (2, 13), "no values of type void"),
    ("  store i32 %n, ptr addrspace(4) null", (2, 3), "address space 4, which is constant"),
    ("  store i32 %n, ptr %p, align 3", (2, 31), "power of two"),
    ("  %x = icmp foo i32 %n, 1", (2, 13), "a predicate such as 'slt'"),
    ("  %x = trunc i32 %n to i64", (2, 3), "cannot make i64 of i32"),
    ("  %x = extractvalue {i32, i32} undef, 2", (2, 21), "has no member 2"),
    ("  br label %nowhere", (2, 12), "undefined label '%nowhere'"),
    ("  %x = add i32 %n, %gone", (2, 20), "undefined value '%gone'"),
    ("  call void @gone()", (2, 13), "undefined symbol '@gone'"),
    ("  %x = add i32 %n, 1\n  %x = add i32 %n, 2", (3, 3), "'%x' is defined twice"),
    ("  %x = getelementptr {i32}, ptr %p, i32 0, i32 1", (2, 22), "no such member"),
    ("  %x = fence seq_cst", (2, 3), "fence has no result"),
    ("  fence sometimes", (2, 9), "an ordering"),
    ("  %x = atomicrmw foo ptr %p, i32 1 seq_cst", (2, 18), "an operation such as 'add'"),
    ("  %x = call i32 asm \"nop;\", \"r\"(i32 %n)", (2, 3), "assembly of 0 outputs gives i32"),
    ("  %x = add i32 %n, 1, !foo !99", (2, 28), "undefined metadata"),
    ("  %v = shufflevector <2 x i32> zeroinitializer, <2 x i32> zeroinitializer, "
     "<1 x i32> <i32 4>", (2, 3), "a lane that is not there"),
]


@pytest.mark.parametrize(("text", "place", "message"), BAD, ids=[b[2][:30] for b in BAD])
def test_errors_have_a_place(text, place, message):
    if "!foo" in text:
        text = text.replace("!foo", "!dbg")
    with pytest.raises(ParseError, match=r".") as e:
        body(text)
    assert message in str(e.value)
    assert (e.value.line, e.value.column) == place
    assert e.value.source == text.split("\n")[place[0] - 2]
    assert "^" in str(e.value)


@pytest.mark.seed("IR-17", "DIA-10")
@pytest.mark.parametrize("name", ["memcpy", "memmove"])
def test_copies_to_constant_memory_are_errors_at_their_place(name):
    text = (
        f"declare void @llvm.{name}.p4.p0.i64(ptr addrspace(4), ptr, i64, i1)\n"
        f"define void @k(ptr addrspace(4) %d, ptr %s) {{\n"
        f"  call void @llvm.{name}.p4.p0.i64(ptr addrspace(4) %d, ptr %s, i64 8, i1 false)\n"
        "  ret void\n}\n"
    )
    with pytest.raises(ParseError, match="cannot target constant address space") as e:
        read_ll(text)
    assert e.value.line == 3


WRONG_AND_RIGHT = [
    ("a range of nothing", "define void @f(ptr %p) {\n  %x = load i32, ptr %p, !range !{RANGE}\n"
     "  ret void\n}\n", "RANGE", "", "i32 0, i32 5", "a range is pairs of numbers"),
    ("brackets of a packed struct", "@g = global <{ i32, i8 }> OPEN{ i32 1, i8 2 }CLOSE\n",
     "OPEN|CLOSE", "", "<|>", "this is no constant of type"),
    ("a null in llvm.used", "@g = global i32 0\n@llvm.used = appending global [1 x ptr] [ptr X]\n",
     "X", "null", "@g", "names a symbol"),
    ("constructors without data", "@llvm.global_ctors = appending global [1 x { i32, ptrMORE }] "
     "zeroinitializer\n", "MORE", "", ", ptr", "{ i32, ptr, ptr }"),
    ("a kernel of any number of parameters", "define ptx_kernel void @k(ptr %pMORE) {\n"
     "  ret void\n}\n", "MORE", ", ...", "", "a fixed number"),
]


@pytest.mark.parametrize(
    ("text", "marks", "wrong", "right", "message"), [c[1:] for c in WRONG_AND_RIGHT],
    ids=[c[0] for c in WRONG_AND_RIGHT],
)
def test_what_llvm_refuses_is_refused(text, marks, wrong, right, message):
    names = marks.split("|")

    def put(values):
        out = text
        for name, value in zip(names, (values.split("|") * 2)[:len(names)], strict=True):
            out = out.replace(name, value)
        return out

    read_ll(put(right))
    with pytest.raises(ParseError, match=message):
        read_ll(put(wrong))


def test_all_errors_of_a_file():
    text = (
        "@x = global i33x 0\n@y = global i32 zero\n"
        "define void @f() {\n  %a = add i32 1\n  %b = add i32 %a, foo\n  ret void\n}\n"
        "define void @g( {\n  ret void\n}\nfoo\ndefine i32 @h() {\n  ret float 1.0\n}\n!0 = 5\n"
    )
    with pytest.raises(ParseError) as e:
        read_ll(text)
    assert [d.line for d in e.value.errors] == [1, 2, 4, 5, 8, 11, 13, 15]


@pytest.mark.parametrize(("text", "what"), [
    ("define void @f(x86_fp80 %x) {\n  ret void\n}\n", "x86_fp80"),
    ("define void @f(<vscale x 2 x i32> %x) {\n  ret void\n}\n", "scalable vector"),
    ("define void @f(ptr %p) {\n  %x = ptrtoaddr ptr %p to i64\n  ret void\n}\n", "ptrtoaddr"),
    ('target triple = "x86_64-unknown-linux-gnu"\n', "x86_64"),
    ("@x = thread_local global i32 0\n", "thread_local"),
])
def test_what_is_not_taken_is_named(text, what):
    with pytest.raises(Unsupported, match=what) as e:
        read_ll(text)
    assert "<text>:" in e.value.where


def test_arguments_of_the_reader(tmp_path):
    file = tmp_path / "k.ll"
    file.write_text(OPAQUE)
    assert str(read_ll(file)) == str(read_ll(str(file))) == str(read_ll(OPAQUE.encode()))
    with pytest.raises(ParseError, match="cannot read"):
        read_ll(tmp_path / "none.ll")
    with pytest.raises(ParseError, match="bitcode"):
        read_ll(b"BC\xc0\xde0000")
    with pytest.raises(TypeError, match="not int"):
        read_ll(5)


@pytest.mark.parametrize("name", SNIPPETS)
def test_own_text_and_clones_keep_every_construct(name):
    from nvir.ir.clone import clone_module
    from nvir.ir.equal import difference

    m = read_ll(module_of(SNIPPETS[name]))
    assert difference(nvir.parse_ir(str(m)), m) is None
    copy = clone_module(m)
    verify(copy)
    assert difference(copy, m) is None
    for f in copy.functions:
        for i in f.instructions():
            assert all(v.is_constant or isinstance(v, Constant) or v.is_tracked for v in i.operands)


def test_blanks_before_a_comment_cost_nothing():
    """clang puts some 50 between a label and its predecessors; a search at each was quadratic."""
    text = f"define void @f() {{\nentry:{' ' * 100_000}; preds = %x, \"y\"\n  ret void\n}}\n"
    assert len(nvir.read_ll(text).functions[0].blocks) == 1


def test_names_in_quotes_are_names():
    """Quotes that a name does not need vanish, those in strings and of other names stay."""
    text = '''@"a" = constant [4 x i8] c"%@x\\22"
@"8" = constant ptr @"a"
define void @"f.1"(ptr %"p") {
  br label %"B 1"
"B 1":
  store ptr @"a", ptr %"p"
  br label %"B2"
"B2":
  ret void
}
'''
    module = nvir.read_ll(text)
    assert [v.name for v in module.globals] == ["a", "8"]
    assert [b.name for b in module.functions[0].blocks][1:] == ["B 1", "B2"]
    assert 'c"%@x\\22"' in nvir.print_ll(module, "llvm20")


def test_bundles_of_assume_are_read_and_left_out():
    m = read_ll('''declare void @llvm.assume(i1)
define void @f(ptr %p) {
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16), "nonnull"(ptr %p), "cold"() ]
  ret void
}
''')
    assert "align" not in nvir.print_ll(m, "llvm20")
    with pytest.raises(Unsupported, match=r"2:\d+: error: .*operand bundle deopt"):
        read_ll('declare void @g()\ndefine void @f() { call void @g() [ "deopt"() ]\nret void }')


def test_a_function_has_no_bounds_of_a_launch():
    module = read_ll('define i32 @f(i32 %x) "nvvm.maxnreg"="32" { ret i32 %x }\n'
                     'define ptx_kernel void @k() "nvvm.maxnreg"="32" { ret void }\n')
    nvir.run_passes(module, preset(0))
    assert str(module).count('"maxnreg"') == 1


@pytest.mark.parametrize(("text", "value"), [
    ("i8 trunc (i32 300 to i8)", "44"), ("i32 xor (i32 -1, i32 5)", "-6"),
    ("i32 bitcast (<2 x i16> <i16 1, i16 -1> to i32)", "-65535"),
    ("<2 x i32> bitcast (<4 x i16> <i16 1, i16 2, i16 3, i16 4> to <2 x i32>)",
     "<i32 131073, i32 262147>"),
    ("float bitcast (i32 1065353216 to float)", "1.000000e+00"),
    ("i64 ptrtoint (ptr @a to i64)", "ptrtoint (ptr @a to i64)"),
    ("i32 add nsw (i32 2147483647, i32 1)", "add nsw (i32 2147483647, i32 1)"),
])
def test_expressions_of_numbers_are_folded(text, value):
    m = read_ll(f"@a = global i32 0\n@v = global {text}\n")
    assert f" {value}\n" in nvir.print_ll(m)


def test_a_word_that_was_read_without_brackets_may_have_them():
    m = read_ll("define void @f() nounwind uwtable { ret void }\n"
                "define void @g() nounwind uwtable(sync) { ret void }\n")
    assert m["f"].aux["attributes"] == ("nounwind", "uwtable")
    assert m["g"].aux["attributes"] == ("nounwind", ("uwtable", "sync"))
