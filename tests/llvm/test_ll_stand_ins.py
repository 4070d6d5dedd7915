"""What a dialect lacks is a function that stands for it, and the operation when read again."""

from __future__ import annotations

import pytest

import nvir

OPERATIONS = {
    "i8": "%r = atomicrmw add ptr %p, i8 %b seq_cst, align 1",
    "volatile": "%r = load atomic volatile i8, ptr %p monotonic, align 1",
    "exchange": "%c = cmpxchg volatile ptr %p, i8 %b, i8 3 acq_rel monotonic, align 1\n"
                "  %r = extractvalue { i8, i1 } %c, 0",
    "rounded": "%x = call float @llvm.rint.f32(float %f)\n  %r = fptosi float %x to i8",
    "twice": "%x = call i8 @llvm.sadd.sat.i8(i8 %b, i8 %b)\n"
             "  %r = call i8 @llvm.sadd.sat.i8(i8 %x, i8 %x)",
    "literal": "%x = call i8 @llvm.usub.sat.i8(i8 %b, i8 1)\n"
               "  %r = call i8 @llvm.usub.sat.i8(i8 %x, i8 2)",
    "reduced": "%v = insertelement <2 x i8> <i8 1, i8 2>, i8 %b, i32 0\n"
               "  %r = call i8 @llvm.vector.reduce.umax.v2i8(<2 x i8> %v)",
    "half": "%h = fptrunc float %f to half\n  %x = call half @llvm.floor.f16(half %h)\n"
            "  %r = fptosi half %x to i8",
    "bfloat": "%h = uitofp i8 %b to bfloat\n  %x = fmul bfloat %h, %h\n"
              "  store bfloat %x, ptr %p, align 2\n  %r = fptosi bfloat %x to i8",
    "converted": "%s = sext i8 %b to i16\n  %h = sitofp i16 %s to bfloat\n"
                 "  %0 = bitcast bfloat %h to i16\n  %y = uitofp i16 %0 to bfloat\n"
                 "  store bfloat %y, ptr %p, align 2\n  %r = trunc i16 %0 to i8",
    "fence": 'fence syncscope("block") acquire\n  %r = add i8 %b, 1',
    "pair": "%w = zext i8 %b to i24\n"
            "  %o = call { i24, i1 } @llvm.sadd.with.overflow.i24(i24 %w, i24 77)\n"
            "  %x = extractvalue { i24, i1 } %o, 0\n  %r = trunc i24 %x to i8",
    "assembly": '%c = icmp eq i8 %b, 3\n'
                '  %r = call i8 asm "{ selp.b16 $0, 1, 2, $1; }", "=h,b"(i1 %c)',
    "odd": "%w = sext i8 %b to i65\n  %q = sdiv i65 %w, 7\n  %r = trunc i65 %q to i8",
}


def text_of(body: str) -> str:
    return f"define i8 @k(ptr %p, i8 %b, float %f) {{\nentry:\n  {body}\n  ret i8 %r\n}}\n"


def again(text: str, dialect: str) -> tuple[str, nvir.Module]:
    """The text for libnvvm, and the module that it is read as."""
    module = nvir.read_ll(text)
    nvir.run_passes(module, f"legalize<dialect={dialect}>", verify=True)
    made = nvir.print_ll(module, dialect)
    back = nvir.read_ll(made)
    nvir.verify(back)
    return made, back


def body_of(module: nvir.Module, name: str = "k") -> list[str]:
    text = nvir.print_ll(module)
    body = text[text.index(f"@{name}(") :]
    return [line.strip() for line in body[: body.index("\n}")].split("\n")]


@pytest.mark.parametrize("dialect", ["llvm7", "llvm20"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_read_again(name, dialect):
    text = text_of(OPERATIONS[name])
    _, back = again(text, dialect)
    assert body_of(back) == body_of(nvir.read_ll(text))
    assert not [f for f in back.functions if f.name.startswith("nvir_")]


def test_equal_operations_share_a_function_and_literals_are_part_of_it():
    made, _ = again(text_of(OPERATIONS["twice"]), "llvm7")
    assert made.count("define linkonce_odr") == 1
    made, _ = again(text_of(OPERATIONS["literal"]), "llvm7")
    assert made.count("define linkonce_odr") == 2


def test_what_the_dialect_has_stays():
    made, _ = again(text_of("%r = add i8 %b, 1"), "llvm7")
    assert "nvir-stands-for" not in made


@pytest.mark.parametrize("change", [
    lambda text: text.replace("i32 255, ", "i32 254, "), lambda text: text.partition("\n")[2],
    lambda text: text.replace("printed by nvir", "by nvir"),
])
def test_a_text_that_was_changed_is_what_it_says(change):
    made, _ = again(text_of(OPERATIONS["i8"]), "llvm20")
    assert change(made) != made
    changed = nvir.read_ll(change(made))
    assert [f.name for f in changed.functions] == ["k", "nvir_atomicrmw_add_i8"]


def test_flags_that_llvm_7_lacks_are_read_again():
    text = text_of("%x = zext nneg i8 %b to i32\n  %y = or disjoint i32 %x, 256\n"
                   "  %z = icmp samesign ult i32 %y, %x\n  %w = select i1 %z, i32 %x, i32 %y\n"
                   "  %r = trunc nuw i32 %w to i8")
    made, back = again(text, "llvm7")
    assert "trunc i32 %w to i8, !nvir.was" in made
    assert body_of(back) == body_of(nvir.read_ll(text))
    assert "nuw i32" not in nvir.print_ll(nvir.read_ll(made.partition("\n")[2]))


SIGNED = """
define half @f(half %h) {
entry:
  %x = fadd half %h, %h
  ret half %x
}
define half @k(half %h, ptr %p) {
entry:
  %x = call contract half @f(half %h)
  ret half %x
}
"""


def test_an_intrinsic_of_bfloat_that_nobody_calls_is_left_out():
    made, _ = again("declare bfloat @llvm.fabs.bf16(bfloat)\ndefine void @k(bfloat %x) {\n"
                    "  ret void\n}\n", "llvm7")
    assert "fabs" not in made


def test_halves_are_passed_as_such_again():
    made, back = again(SIGNED, "llvm7")
    assert "define i16 @f(i16 %h)" in made
    assert "contract" not in made
    assert body_of(back, "f")[2:] == ["%x = fadd half %h, %h", "ret half %x"]
    assert body_of(back)[2:] == ["%x = call half @f(half %h)", "ret half %x"]


def test_a_function_that_is_called_by_its_address_keeps_its_signature():
    text = SIGNED.replace("  ret half %x\n}\n", "  store ptr @f, ptr %p\n  ret half %x\n}\n")
    text = text.replace("@f(half %h) {", "@f(half %h, ptr %p) {")
    text = text.replace("contract half @f(half %h)", "half @f(half %h, ptr %p)")
    _, back = again(text, "llvm7")
    assert body_of(back, "f")[0].startswith("@f(i16 %h")
