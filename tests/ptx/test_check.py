"""`nvir check`: what it refuses, where, and that it refuses nothing that the assembler takes."""

from __future__ import annotations

import codecs
import json
import random
import re
import subprocess
import sys
from functools import partial
from itertools import islice, product
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.ir.opcodes.form import find_row, form
from nvir.ir.opcodes.legal import combinations
from nvir.ir.types import SCALARS
from nvir.ptx import read_ptx
from nvir.ptx.check import check
from nvir.ptx.inline import check_inline
from nvir.toolchain import available, find

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import broken
from corpus import examples
from effort import effort

HEAD = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .b128 %q<4>;
    {shared}
    {statement}
    ret;
}}
"""


def found(statement="", version="9.0", target="sm_90a", shared=""):
    text = HEAD.format(statement=statement, version=version, target=target, shared=shared)
    text = text.replace(".reg .b128 %q<4>;", "") if version < "8.3" else text
    return [(code, d.line, d.message) for code, d in check(text) if d.severity == "error"]


WRONG = [  # statement, code, part of the message, and a near miss that is right
    ("mul.s32 %r1, %r2, %r3;", "modifiers", "one of .hi, .lo, .wide", "mul.lo.s32 %r1, %r2, %r3;"),
    ("add.rn.s32 %r1, %r2, %r3;", "modifiers", "takes no .rn", "add.rn.f32 %r1, %r2, %r3;"),
    ("add.b32 %r1, %r2, %r3;", "modifiers", "add.b32 takes a type", "and.b32 %r1, %r2, %r3;"),
    ("add.s32 %r1, %r2, %r3, %r4;", "syntax", "3 operands, 4 given", "add.s32 %r1, %r2, %r3;"),
    ("ld.global.v4.u32 {%r1, %r2, %r3}, [%d1];", "operands", "this one is of 3",
     "ld.global.v2.u32 {%r1, %r2}, [%d1];"),
    ("cvt.u32.f32 %r1, %r2;", "modifiers", "one of .rni", "cvt.rzi.u32.f32 %r1, %r2;"),
    ("cvt.f32.f64 %r1, %d2;", "modifiers", "one of .rn", "cvt.f64.f32 %d1, %r2;"),
    ("setp.lo.s32 %p1, %r1, %r2;", "modifiers", ".lo", "setp.lo.u32 %p1, %r1, %r2;"),
    ("fma.f32 %r1, %r2, %r3, %r4;", "modifiers", "one of .rn", "fma.rn.f32 %r1, %r2, %r3, %r4;"),
    ("mov.b64 %d2, 1; add.s32 %r1, %d2, %r3;", "types", "%d2 is of type b64",
     "add.s64 %d1, %d2, %d3;"),
    ("prefetch.local.L2::evict_last [%d1];", "modifiers", "",
     "prefetch.global.L2::evict_last [%d1];"),
    ("add /* c */ .rn.s32 %r1, %r2, %r3;", "modifiers", "no .rn",
     "add /* c */ .s32 %r1, %r2, %r3;"),
    ("cp.async.wait_group %r1;", "literal", "%r1 stands", "cp.async.wait_group 1;"),
    ("frob.u32 %r1, %r2;", "unknown-instruction", "frob.u32", "brev.b32 %r1, %r2;"),
]


@pytest.mark.parametrize(("wrong", "code", "part", "right"), WRONG)
def test_an_error_has_its_line_and_its_near_miss_none(wrong, code, part, right):
    (got,) = found(wrong)
    assert got[:2] == (code, 8)
    assert part in got[2]
    assert found(right) == []


def test_what_is_newer_than_version_or_target():
    statement = "redux.sync.add.u32 %r1, %r2, %r3;"
    assert found(statement, "6.0")[0][0] == "version"
    assert "sm_80" in found(statement, "8.0", "sm_75")[0][2]
    assert found(statement, "8.0", "sm_80") == []
    assert found("wgmma.fence.sync.aligned;", "8.0", "sm_90")[0][0] == "version"


def test_a_byte_order_mark_is_read_and_refused():
    data = (Path(__file__).parents[2] / "examples" / "ptx" / "saxpy.sm_80.ptx").read_bytes()
    found = [str(e) for _, e in check(codecs.BOM_UTF8 + data)]
    assert len(found) == 1 + len(check(data))
    assert "1:1: error: ptxas takes no byte order mark" in found[0]
    assert read_ptx(codecs.BOM_UTF8 + data).functions


def test_targets_and_shared_memory():
    assert found(target="sm_999")[0][:2] == ("target", 2)
    assert found(shared=".shared .b8 b[8];\n.shared .b8 a[49153];")[0][:2] == ("shared", 8)
    assert found(shared=".shared .b8 a[49152];") == []


def test_an_architecture_older_than_the_target_is_told(tmp_path):
    assert [c for c, _ in check(HEAD.format(statement="", version="9.0", target="sm_80",
                                            shared=""), arch="sm_75")] == ["target"]
    assert check(HEAD.format(statement="", version="9.0", target="sm_80", shared=""),
                 arch="sm_90") == []
    file = tmp_path / "k.ptx"
    file.write_text(HEAD.format(statement="", version="9.0", target="sm_80", shared=""))
    assert CliRunner().invoke(main, ["check", str(file), "--arch", "sm_75"]).exit_code == 1
    assert CliRunner().invoke(main, ["check", str(file), "--arch", "sm_86"]).exit_code == 0
    run = CliRunner().invoke(main, ["check", str(file), "--arch", "sm_999"])
    assert run.exit_code == 2
    assert "no target sm_999 is known" in run.output


@pytest.mark.parametrize(("target", "arch", "part"), [
    ("sm_90a", "sm_90a", ""), ("sm_90a", "sm_90", "alone"), ("sm_90a", "sm_100a", "alone"),
    ("sm_100f", "sm_103", ""), ("sm_100f", "sm_120", "family"), ("sm_90", "sm_100", ""),
])
def test_targets_of_one_architecture_or_family(target, arch, part):
    text = HEAD.format(statement="", version="9.0", target=target, shared="")
    found = [d.message for _, d in check(text, arch=arch)]
    assert len(found) == bool(part)
    assert all(part in m for m in found)


def test_all_errors_of_a_text_are_told():
    assert [f[0] for f in found("mul.s32 %r1, %r2, %r3; add.s32 %r1, %r2, 1.5;")] == [
        "modifiers", "literal"]
    assert found("add.s32 %r1, %zz, ;")[0][0] == "syntax"


@pytest.mark.parametrize("path", examples(), ids=lambda p: p.stem)
def test_what_compilers_make_is_right(path):
    assert [str(d) for _, d in check(path) if d.severity == "error"] == []


def test_the_command(tmp_path):
    file = tmp_path / "k.ptx"
    file.write_text(HEAD.format(statement=WRONG[0][0], version="9.0", target="sm_90", shared=""))
    run = CliRunner().invoke(main, ["check", str(file), "--json"])
    (row,) = json.loads(run.output)["diagnostics"]
    assert (run.exit_code, row["line"], row["column"], row["code"]) == (1, 8, 5, "modifiers")
    sarif = json.loads(CliRunner().invoke(main, ["check", str(file), "--sarif"]).output)
    assert sarif["runs"][0]["results"][0]["ruleId"] == "modifiers"
    github = CliRunner().invoke(main, ["check", str(file), "--github"]).output
    assert github.startswith(f"::error file={file},line=8,col=5")
    odd = tmp_path / "a b,c:%.ptx"
    odd.write_text(file.read_text())
    sarif = CliRunner().invoke(main, ["check", str(odd), "--sarif"]).output
    assert f'"uri": "{tmp_path}/a%20b%2Cc%3A%25.ptx"' in sarif
    github = CliRunner().invoke(main, ["check", str(odd), "--github"]).output
    assert github.startswith(f"::error file={tmp_path}/a b%2Cc%3A%25.ptx,line=8")
    file.write_text(file.read_text().replace("mul.s32", "mul.lo.s32"))
    assert CliRunner().invoke(main, ["check", str(file)]).exit_code == 0


def test_several_files_and_folders(tmp_path):
    good = HEAD.format(statement="", version="9.0", target="sm_90", shared="")
    bad = good.replace("ret;", "mul.s32 %r1, %r2, 1; ret;")
    (tmp_path / "below").mkdir()
    for name, text in (("a.ptx", good), ("below/b.ptx", bad), ("notes.txt", bad)):
        (tmp_path / name).write_text(text)
    (tmp_path / "below/c.cuh").write_text('__device__ void f() { asm("mul.s32 %0, 1;"); }\n')
    run = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert run.exit_code == 1
    assert run.output.splitlines()[-1] == "2 errors in 2 of 3 files"
    assert f"{tmp_path}/below/c.cuh:1:28: error" in run.output
    run = CliRunner().invoke(main, ["check", *map(str, tmp_path.glob("a*")), str(tmp_path),
                                    "--json"])
    document = json.loads(run.output)
    assert document["schema"] == "nvir.checks/1"
    assert [len(f["diagnostics"]) for f in document["files"]] == [0, 1, 1]
    run = CliRunner().invoke(main, ["check", *[str(tmp_path / "a.ptx")] * 2])
    assert (run.exit_code, run.output) == (0, f"{tmp_path}/a.ptx: no errors\n")
    (tmp_path / "d.cu").write_text("int x;\n")
    run = CliRunner().invoke(main, ["check", str(tmp_path / "d.cu")])
    assert (run.exit_code, run.output) == (0, f"{tmp_path}/d.cu: no errors in asm statements\n")
    (tmp_path / "d.cu").write_bytes(b"int\0x;\n")
    run = CliRunner().invoke(main, ["check", str(tmp_path / "d.cu")])
    assert (run.exit_code, "d.cu:1:1: error: this is a binary file" in run.output) == (1, True)


def _statements(seed):
    """Spellings of the table's rows and others near them, with registers of the right classes."""
    random.seed(seed)
    find_row("ret")
    registers = {"pred": "%p", "b16": "%h", "b8": "%h", "b64": "%d", "b128": "%q"}
    spellings = {}
    for name, legal in combinations().items():
        for slots in legal:
            if any(s.words == ("*",) for s in slots):
                continue
            choices = [[*s.words, *([None] if s.optional else [])] for s in slots]
            some = list(islice(product(*choices), 4000))
            for choice in random.sample(some, min(4, len(some))):
                mods = [m for m in choice if m]
                if not mods:
                    continue
                k = random.randrange(len(mods))
                other = [*mods[:-1], random.choice(["rn", "ftz"]), mods[-1]]
                for m in (mods, mods[:k] + mods[k + 1:], other):
                    spellings[".".join((name, *m))] = name
    for spelling, name in spellings.items():
        row, _ = find_row(spelling)
        operands = [o for o in row.operands if not o.optional]
        if row.name != name or row.terminator or any(o.role == "address" for o in operands):
            continue
        f = form(spelling, ", ".join(["%s"] * len(operands)))
        types = [t.cls.name for t in f.result_types if t.name != "cc"] + [
            SCALARS[w[-1].name].cls.name if w else "b32" for w in f.source_types]
        words = [f"{registers.get(t, '%r')}{k % 3 + 1}" for k, t in enumerate(types)]
        if name == "lop3":
            continue
        yield f"{spelling} {', '.join(words)};"


@pytest.mark.oracle
@pytest.mark.skipif(not available(), reason="needs ptxas")
def test_nothing_is_refused_that_the_assembler_takes(tmp_path):
    statements = list(_statements(3))
    text = HEAD.format(statement="\n".join(statements), version="9.0", target="sm_100a", shared="")
    (tmp_path / "k.ptx").write_text(text)
    command = [str(find("ptxas")), "-arch=sm_100a", "k.ptx", "-o", "k.cubin"]
    done = subprocess.run(command, cwd=tmp_path,
                          capture_output=True, text=True)
    refused = {int(n) for n in re.findall(r"line (\d+); error", done.stderr + done.stdout)}
    ours = {d.line: d.message for c, d in check(text) if c == "modifiers"}
    wrong = [m for line, m in ours.items() if line not in refused]
    assert len(ours) > 300
    assert len(wrong) <= len(ours) * 0.01, wrong


def test_a_predicate_behind_the_vector_of_a_fetch():
    head = HEAD.format(version="9.0", target="sm_90", shared=".reg .f32 %f<4>;", statement="{}")
    fetch = "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}|%p1, [%d1, {%f1, %f2}];"
    for text, right in ((fetch, True), (fetch.replace("}]", "}|%p1]"), False)):
        assert (not check(head.replace("{}", text))) == right


def test_kinds_of_broken_ptx_are_found_at_their_line():
    """Of the rules that broken.py breaks (ptxas refuses all) 97 % are known."""
    found = [any(d.severity == "error" and d.line == broken.LINE for _, d in check(text))
             for _, text, _ in broken.cases()]
    assert len(found) > 640
    assert sum(found) >= 0.97 * len(found)


def test_odd_ptx_that_the_assembler_takes_is_right():
    texts = list(broken.cases(broken.VALID))
    assert len(texts) > 150
    assert [(s, d.message) for s, text, _ in texts for _, d in check(text)
            if d.severity == "error"] == []


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_an_address_of_32_bits(target):
    statement = "mov.b32 %r2, 0; ld.global.u32 %r1, [%r2]; ld.shared.u32 %r1, [%r2];"
    text = HEAD.format(statement=statement, version="9.0", target=target, shared="")
    (got,) = check(text)  # ptxas warns before sm_90
    assert (got[0], got[1].severity) == ("address", "error" if target == "sm_90" else "warning")
    assert "%r2 has 32 bits" in got[1].message


ASM = r"""// asm("mul.s32 %0, %1, %1;");
__global__ void k(int *p) {
  int a = 1, b; float f = 2;
  asm volatile("{\n\t.reg .pred %%p;\n\t"
               "setp.lt.s32 %%p, %1, 3; LINE\n\t"
               "}" : "=r"(b) : "r"(g(a)), "l"(p), "f"(f));
}
"""


@pytest.mark.parametrize(
    ("line", "column", "part"),
    [("add.s32 %0, %1, 5;", 0, ""), ("mul.s32 %0, %1, %1;", 41, "one of .hi"),
     ("@%%p st.global.u32 [%2], %1;", 0, ""), ("add.s32 %0, %1, %2;", 57, "of type b64"),
     ("fma.f32 %3, %3, %3, %3;", 41, "one of .rn"), ("frob.x %0;", 41, "no instruction")],
)
def test_assembly_in_a_cuda_source(line, column, part, tmp_path):
    file = tmp_path / "k.cu"
    file.write_text(ASM.replace("LINE", line))
    run = CliRunner().invoke(main, ["check", str(file), "--json"])
    rows = json.loads(run.output)["diagnostics"]
    assert [(r["line"], r["column"]) for r in rows] == ([(5, column)] if column else [])
    assert all(part in r["message"] for r in rows)


def test_asm_statements_are_told_apart_by_their_own_parentheses():
    """Neither a parenthesis in a string or a character nor one that lacks reaches another's."""
    text = """asm("mul.s32 %0, %0, 1; // (" : "+r"(a[')' - f()]));
    asm("mov.b32 %0, 5;" : "=r"(b);
    asm("add.s32 %0, %0, %1; // )" : "+r"(c));
    asm("add.s32 %0, %0, 1;" : "+r"(d));
    """
    found = [(d.line, d.message) for _, d in check_inline(text, "k.cu")]
    assert found == [(1, "mul.s32 needs one of .hi, .lo, .wide"),
                     (3, "%1 is no operand: there is one operand")]
    begun = partial(check_inline, text.replace("d)", "e)"), "k.cu")
    assert effort(begun) < effort(partial(check_inline, text.replace("5", "6").replace("1", "7"),
                                          "k.cu")) / 2  # only what changed is looked at


ODD_ASM = r"""#define ADD "add.s32 %0, %1, 1;"
__global__ void k(int *p) {
  int a = 1, b;
  asm volatile("" ::: "memory");
  asm volatile("// nothing" ::: "memory");
  asm volatile(R"(mov.b32 %0, 0; // \
     LINE)" : "=r"(b));
  asm volatile(ADD : "=r"(b) : "r"(a));
  asm volatile("{ " ADD "}" : "=r"(b) : "r"(a));
  asm volatile("{.reg .pred P;\nL_%=: setp.eq.s32 P, %0, 0; @P bra L_%=; }" :: "r"(a));
}
"""


@pytest.mark.parametrize(
    ("line", "places"), [("add.s32 %0, %0, 1;", []), ("mul.s32 %0, %0, 1;", [(7, 6)])]
)
def test_strings_that_are_empty_raw_or_of_a_macro(line, places):
    found = check_inline(ODD_ASM.replace("LINE", line), "k.cu")
    assert [(d.line, d.col) for _, d in found] == places


@pytest.mark.parametrize(("string", "said"), [
    ("add.s32 %0, %1, 1", ["expected ';' at the end of this statement"]),
    ("add.s32 %0, %1, 1;", []), ("{ add.s32 %0, %1, 1; }", []), ("// add.s32 %0, %1, 1", []),
])
def test_an_asm_statement_ends_itself(string, said):
    """As nvcc has it, which adds no semicolon; on lines that a macro joins, too."""
    text = f"""#define ADD(b, a) \\
    asm volatile("{string}" \\
                 : \\
                   [x] "=r"(b) \\
                 : "r"(a))
    """
    assert [d.message for _, d in check_inline(text, "k.cu")] == said


@pytest.mark.parametrize(
    ("line", "column", "said"),
    [("add.s32 %0, %1, %4;", 57, "%4 is no operand: there are 4 operands"),
     ("add.s32 %0, %1, 5;", 0, ""), ("add.s32 %[b], %1, 1;", 49, "no names of operands")],
)
def test_operands_that_an_asm_statement_lacks(line, column, said):
    found = [d for _, d in check_inline(ASM.replace("LINE", line), "k.cu")]
    if column:
        assert [(d.line, d.col) for d in found] == [(5, column)]
        assert said in found[0].message
    else:
        assert not found
    macro = ASM.replace("LINE", "add.s32 %0, %1, %5;").replace('"f"(f)', '"f"(f) MORE')
    assert not check_inline(macro, "k.cu")


@pytest.mark.parametrize(("statement", "said"), [
    ("ld.acquire.global.u32 %r1, [%d1];", "needs one of .cta, .cluster, .gpu, .sys"),
    ("min.xorsign.f32 %r1, %r2, %r3;", "needs .abs"),
    ("ld.shared.nc.u32 %r1, [%r2];", "takes .nc with .global only"),
    ("ld.volatile.cg.u32 %r1, [%d1];", "takes .volatile or .cg, not both"),
    ("atom.global.inc.s32 %r1, [%d1], %r2;", "takes .u32 where .s32 stands"),
    ("mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r1, %r2}, {%r5}, "
     "{%r0, %r1, %r2, %r3};", "takes .col where .row stands"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r1, %r2}, "
     "{%r5, %r6}, {%r0, %r1, %r2, %r3};", "has 1 register in matrix b, 2 given"),
    ("bar.sync;", "needs 1 operand, 0 given"),
    ("mov.b64 %d1, {%r1, %r2, %r3};", "takes vectors of 2 or 4, this one is of 3"),
    ("stackrestore.u64 %r1;", "takes a register of 64 bits as operand 1"),
])
def test_what_is_said_is_what_is_wrong(statement, said):
    found = check(HEAD.format(version="9.0", target="sm_90", shared="", statement=statement))
    assert any(d.message.endswith(said) for _, d in found)


@pytest.mark.parametrize(("statement", "pointed"), [
    ("add.s32 %r1, %r2, %r3; mad.wide.s32 %r1, %r2, %r3, %d1;", "%r1, %r2, %r3, %d1"),
    ("mov.b64 %d2, 1; add.s32 %r1, %d2, %r3;", "%d2, %r3"),
    ("add.rn.s32 %r1, %r2, %r3;", ".rn.s32"),
    ("mul.s32 %r1, %r2, %r3;", "mul.s32"),
])
def test_what_is_wrong_of_a_statement_is_pointed_at(statement, pointed):
    text = HEAD.format(version="9.0", target="sm_90", shared="", statement=statement)
    (_, d), = check(text)
    assert d.source[d.col - 1 :].startswith(pointed)


def test_registers_are_told_by_their_number():
    """`%r01` is `%r1`, as ptxas has it."""
    found = read_ptx(HEAD.format(version="9.0", target="sm_90", shared="",
                                 statement="mov.u32 %r1, 7; add.s32 %r2, %r01, 1;"))
    made, used = list(found.functions[0].instructions())[:2]
    assert used.operands[0] is made.results[0]


def test_characters_that_are_not_ascii_are_shown():
    text = HEAD.format(version="9.0", target="sm_90", shared="// Länge", statement="")
    found = [(d.line, d.col, d.message) for _, d in check(text)]
    assert found == [(7, 9, "PTX is ASCII text, 'ä' is not")]


def test_llvm_text_is_checked_as_such(tmp_path):
    file = tmp_path / "k.ll"
    file.write_text("define void @f(i32 %a) {\n  %b = add i64 %a, 1\n  ret void\n}\n")
    run = CliRunner().invoke(main, ["check", str(file)])
    assert (run.exit_code, run.output.split(": ")[:2]) == (1, [f"{file}:2:16", "error"])
    file.write_text(file.read_text().replace("i64", "i32"))
    assert CliRunner().invoke(main, ["check", str(file)]).exit_code == 0


def test_rules_hold_beside_statements_that_cannot_be_read():
    """One run tells all errors; what follows from a wrong statement alone is not told. Only the
    header's are told alone, for rules depend on it."""
    text = HEAD.format(version="8.0", target="sm_80", shared="", statement="""
    prmt.b32 %r1, %r2, %r3;
    bra LX;
    mul.s32 %r1, %r2, %r3; shfl.sync.bfly.b32 %r1, %r2, 1, 31;
    bar.sync 17;""").replace(".reg .b128 %q<4>;", "")
    assert [(tag, d.line, d.source.strip()[:8]) for tag, d in check(text)] == [
        ("syntax", 9, "prmt.b32"), ("syntax", 10, "bra LX;"), ("modifiers", 11, "mul.s32 "),
        ("syntax", 11, "mul.s32 "), ("literal", 12, "bar.sync")]
    undeclared = text.replace(".reg .pred %p<4>;", ".reg .b33 %p<4>;")
    assert {tag for tag, _ in check(undeclared)} == {"syntax", "modifiers", "literal"}
    assert {tag for tag, _ in check(text.replace(".target sm_80", ".target 80"))} == {"syntax"}


def test_rules_are_read_beside_an_error_in_one_reading():
    """Errors cost no second reading, and calls are looked at beside them."""
    calls = "".join(f"{{ .param .b32 a{k}; st.param.b32 [a{k}], %r1; call f, (a{k}, a{k}); }}\n"
                    for k in range(100))
    text = HEAD.format(statement=calls, version="8.0", target="sm_80", shared="").replace(
        ".visible", ".func f(.param .b32 a);\n.visible", 1).replace(".reg .b128 %q<4>;", "")
    broken = text.replace("st.param.b32 [a50], %r1;", "st.param.b32 [a50], %x;")
    assert [tag for tag, _ in check(broken)].count("call") == len(check(text)) == 100
    assert effort(partial(check, broken)) < 1.1 * effort(partial(check, text))


@pytest.mark.parametrize("around", [
    "{}", "mov.b64 %d1, 5; {}", "@%p1 bra M; {} ret; M: mov.b64 %d1, 5;", "ret; M: {} @%p1 bra M;",
])
def test_a_register_has_its_name_whether_or_not_anything_writes_it(around):
    """No flow is looked at: ptxas refuses a statement wherever it stands."""
    statement = around.format("add.s32 %r1, %d1, %r3;")
    assert [m.partition(" is of")[0] for _, _, m in found(statement)] == ["%d1"]


def test_a_message_points_at_its_own_statement_of_a_line():
    text = HEAD.format(statement="add.s32 %r1, %r2, 1; add.s32 %r1, %d1, %r3; add.s32 %r1, %d1, 2;",
                       version="9.0", target="sm_90", shared="")
    places = {d.col: d.source[d.col - 1 :][:3] for _, d in check(text)}
    assert list(places.values()) == ["%d1"] * 2


@pytest.mark.parametrize(("base", "taken"), [("%h1", True), ("%r2", True), ("%q1", False)])
def test_an_address_of_fewer_bits_is_taken(base, taken):
    assert (found(f"ld.shared.u32 %r1, [{base}];") == []) == taken


def test_vectors_with_a_count_are_made_when_they_are_named():
    """An inner range hides the outer one as long as its scope lasts; a million cost nothing."""
    hidden = """.reg .v4 .f32 v<4>; mov.f32 v1.x, 0f00000000;
    { .reg .v2 .f64 v<2>; mov.f64 v1.y, v0.x; st.global.v2.f64 [%d1], v1; }
    st.global.v4.f32 [%d1], v1; mov.f32 v2.g, v3.a;"""
    assert found(hidden) == []
    assert "'v1.x'" in found("{ .reg .v2 .f32 v<4>; } mov.f32 v1.x, 0f00000000;")[0][2]
    for wrong in ("mov.b32 %r1, v4.x;", "mov.b32 %r1, v01.x;", "mov.b32 %r1, v1.z;",
                  ".reg .v2 .f32 v<9>;"):
        assert len(found(f".reg .v2 .f32 v<4>; {wrong}")) == 1
    many = "".join(f".reg .v4 .f32 w{k}_<100000>;" for k in range(100))
    assert effort(partial(found, many)) < 20_000
    assert "more than 131072 variables" in found(".shared .b8 s<131073>;")[0][2]


def test_scattered_branches_cost_what_their_lines_do():
    """As SSA form these have a phi of most registers in most blocks: their number squared."""
    def text(n):
        rng = random.Random(n)
        body = [f"L{k}: add.u32 %r{rng.randrange(n)}, %r{rng.randrange(n)}, 1;\n"
                f"@%p1 bra L{rng.randrange(n)};" for k in range(n)]
        return HEAD.format(statement="\n".join(body), version="9.0", target="sm_90", shared="") \
            .replace("%r<8>", f"%r<{n}>")

    few, many = (effort(partial(check, text(n))) for n in (150, 600))
    assert many < 4.2 * few
