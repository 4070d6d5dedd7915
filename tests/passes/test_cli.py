"""`nvir opt` and `nvir knobs`, and what the commands share."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.cli.common import pattern, read_module, reports_errors, write_output
from nvir.ir.errors import Diagnostic, NvirError, ParseError
from nvir.passes.knobs import all_knobs

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %r1;
add.s32 %r3, %r2, 5;
st.global.u32 [%rd1], %r2;
ret;
}
"""


@pytest.fixture
def ptx(tmp_path) -> Path:
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    return path


def nvir_(*args, stdin=None):
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin)


# ------------------------------------------------------------------- opt


def test_opt_prints_ptx_after_the_passes(ptx):
    out = nvir_("opt", ptx, "-p", "copy-prop,dce")
    assert out.exit_code == 0
    assert "mov.u32" in out.stdout
    assert "add.s32" not in out.stdout
    assert str(nvir.read_ptx(out.stdout).kernels[0].name) == "k"


def test_opt_without_passes_only_prints_again(ptx):
    out = nvir_("opt", ptx)
    assert "add.s32" in out.stdout


def test_opt_reads_standard_input_and_writes_a_file(tmp_path):
    target = tmp_path / "out.ptx"
    out = nvir_("opt", "-", "-p", "dce", "-o", target, stdin=PTX)
    assert (out.exit_code, out.stdout) == (0, "")
    assert ".visible .entry k" in target.read_text()
    assert os.listdir(tmp_path) == ["out.ptx"]


def test_opt_emits_own_text_and_reads_it_back(ptx, tmp_path):
    text = nvir_("opt", ptx, "--emit", "ori").stdout
    own = tmp_path / "k.nvir"
    own.write_text(text)
    assert nvir_("opt", own).stdout == text  # what comes as IR goes as IR
    assert nvir_("opt", "-", stdin=text).stdout == text
    assert nvir_("opt", own, "--emit", "ptx").stdout == nvir_("opt", ptx).stdout


def test_opt_emits_no_own_text_that_is_not_read_again(ptx):
    """PTX whose result is of another class, which ptxas refuses as well."""
    ptx.write_text(PTX.replace("add.s32 %r3, %r2, 5", "add.s64 %r3, %rd1, 5"))
    result = nvir_("opt", ptx, "--emit", "nvir")
    assert result.exit_code == 1
    assert "%r3 is of type b32, add.s64 makes s64" in result.output


def test_opt_emits_nothing_when_asked(ptx):
    assert nvir_("opt", ptx, "-p", "dce", "--emit", "none").stdout == ""


def test_opt_tells_what_the_driver_did(ptx, tmp_path):
    stats, trace = tmp_path / "s.json", tmp_path / "t.json"
    out = nvir_("opt", ptx, "-p", "function(copy-prop),dce", "--emit", "none", "--verify-each",
                "--check", "--stats", "--stats-json", stats, "--time-passes", "--time-trace",
                trace, "--print-pipeline", "--opt-bisect-limit", "-1", "--print-after", "dce",
                "--remarks", "dce")
    assert out.exit_code == 0, out.output
    assert "copy-prop,dce\n" in out.stderr
    assert "BISECT: running pass (2) dce on k" in out.stderr
    assert "; *** IR Dump After dce on k ***" in out.stderr
    assert "remark: removed 1 dead instruction," in out.stderr
    assert "propagated" not in out.stderr
    assert "wall time" in out.stderr
    assert json.loads(stats.read_text())["dce.removed"] == 1
    assert json.loads(trace.read_text())["traceEvents"]


@pytest.mark.parametrize("suffix", ["json", "yaml", "txt"])
def test_opt_writes_remarks_by_extension(ptx, tmp_path, suffix):
    path = tmp_path / f"r.{suffix}"
    nvir_("opt", ptx, "-p", "dce", "--emit", "none", "--remarks-file", path)
    text = path.read_text()
    assert "dead" in text
    assert {"json": "{", "yaml": "--- !Passed", "txt": f"{ptx}"}[suffix] in text


def test_print_changed_may_stand_before_the_file(ptx):
    out = nvir_("opt", "--print-changed", ptx, "-p", "dce,dce", "--emit", "none")
    assert "omitted because no change" in out.stderr
    out = nvir_("opt", "--print-changed=diff", ptx, "-p", "dce", "--emit", "none")
    assert any(line.startswith("-") and "add.s32" in line for line in out.stderr.splitlines())


def test_a_doubtful_order_is_a_warning(ptx):
    out = nvir_("opt", ptx, "-p", "gvn,copy-prop", "--emit", "none")
    assert out.exit_code == 0
    assert "warning: 'copy-prop' should precede 'gvn'" in out.stderr


def test_opt_lists_the_passes():
    out = nvir_("opt", "--list-passes")
    assert out.exit_code == 0
    assert {line.split()[0] for line in out.stdout.splitlines()} >= {"dce", "gvn", "copy-prop"}
    assert "    approximate=false" in out.stdout.splitlines()  # as pipeline text has it


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-p", "dce,gvm"], "<pipeline>:1:5: error: unknown pass 'gvm'; did you mean 'gvn'?"),
        (["--knob", "UnrolBudget=3"], "error: no knob is named 'UnrolBudget'"),
        (["--knob", "UnrollBudget=x"], "error: knob UnrollBudget (INT) takes an integer"),
        (["--profile", "sm_1"], "error: "),
        (["--remarks", "("], "error: '(' is no simple regular expression"),
        (["--skip", "nothing"], "error: no phase is named 'nothing'"),
        (["--print-after", "gvm"], "error: no phase is named 'gvm'"),
        (["--policy", "fast"], "Invalid value for '--policy'"),
        (["--emit", "sass"], "Invalid value for '--emit'"),
    ],
)
def test_faults_of_the_command_line_exit_with_2(ptx, args, message):
    out = nvir_("opt", ptx, *args)
    assert out.exit_code == 2
    assert message in out.stderr
    assert out.stdout == ""


def test_bad_input_is_told_at_its_place_and_exits_with_1(tmp_path):
    bad = tmp_path / "bad.ptx"
    bad.write_text(PTX.replace("add.s32 %r3", "add.s32 %q3"))
    out = nvir_("opt", bad, "-o", tmp_path / "out.ptx")
    assert out.exit_code == 1
    assert f"{bad}:10:" in out.stderr
    assert "error:" in out.stderr
    assert "Traceback" not in out.output
    assert not (tmp_path / "out.ptx").exists()


@pytest.mark.parametrize("data", [b"", b"\x7fELF\0\0\0", b"\xff\xfe\0", b"module", b"func @"])
@pytest.mark.parametrize("name", ["x.ptx", "x.nvir", "x"])
def test_any_bytes_are_read_or_refused(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    out = nvir_("opt", path)
    assert out.exit_code in (0, 1)
    assert out.exception is None or isinstance(out.exception, SystemExit)


def test_a_missing_file_and_a_folder_exit_with_1(tmp_path):
    for path in (tmp_path / "none.ptx", tmp_path):
        out = nvir_("opt", path)
        assert out.exit_code == 1
        assert out.stderr.startswith(f"error: {path}: ")


# ----------------------------------------------------------------- shared


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "out"
    write_output(str(target), "old")
    os.chmod(target, 0o640)

    def fail(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(os, "replace", fail)
        with pytest.raises(NvirError, match=r"out: No space left"):
            write_output(str(target), "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]
    write_output(str(target), "new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_links_and_devices_are_written_through(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("")
    link.symlink_to(real)
    write_output(str(link), "x")
    assert link.is_symlink()
    assert real.read_text() == "x"
    write_output(os.devnull, "x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(NvirError, match="No such file"):
        write_output(str(tmp_path / "no" / "out"), "x")


def test_language_follows_the_extension_then_the_text(tmp_path):
    path = tmp_path / "k.txt"
    path.write_text("// a comment\n" + PTX)
    assert read_module(str(path)).kernels[0].name == "k"


def test_errors_become_messages_and_codes():
    @click.command()
    @click.argument("kind")
    @reports_errors
    def command(kind: str) -> None:
        if kind == "parse":
            raise ParseError(Diagnostic("odd", "f.ptx", 3, 2, "abc"))
        raise NvirError("wrong")

    out = CliRunner().invoke(command, ["parse"])
    assert (out.exit_code, out.stderr) == (1, "f.ptx:3:2: error: odd\n    abc\n     ^\n")
    out = CliRunner().invoke(command, ["other"])
    assert (out.exit_code, out.stderr) == (1, "error: wrong\n")


# ------------------------------------------------------------------ knobs


def test_knobs_are_listed_and_filtered():
    rows = nvir_("knobs").stdout.splitlines()
    assert len(rows) == 94
    assert rows[0].split()[:4] == ["knob", "number", "type", "default"]
    some = nvir_("knobs", "^unrollbudget$").stdout.splitlines()
    assert len(some) == 2
    assert some[1].split()[:4] == ["UnrollBudget", "INT", "140", "noted"]
    changed = nvir_("knobs", "^unrollbudget$", "--knob", "UnrollBudget=7").stdout.splitlines()
    assert changed[1].split()[:5] == ["UnrollBudget", "INT", "140", "7", "noted"]
    assert nvir_("knobs", "unset").exit_code == 1
    assert nvir_("knobs", "(").exit_code == 2


@pytest.mark.seed("GAP-58")
@pytest.mark.parametrize(
    ("text", "found"),
    [("gvn|^licm$", ["gvn", "licm"]), ("^l.*m$", ["licm"]), ("l.*p.*s.*y", ["loop-simplify"]),
     ("l..m", ["licm"]), ("", ["gvn", "licm", "loop-simplify"]), (r"loop\-s", ["loop-simplify"]),
     ("m.*m", []), ("p.*l.*o", [])],
)
def test_simple_patterns(text, found):
    wanted = pattern(text)
    assert [x for x in ("gvn", "licm", "loop-simplify") if wanted.search(x)] == found


@pytest.mark.parametrize(
    "text", ["(a)", "a*", "a+", "[a]", "a{2}", "a?", "a^b", "a$b", "\\", "a|*"]
)
def test_other_operators_are_refused(text):
    with pytest.raises(NvirError, match="is no simple regular expression"):
        pattern(text)


def test_patterns_are_found_in_bounded_time():
    assert not pattern(".*a" * 40 + "b$").search("a" * 300)


def test_knobs_say_why_nobody_reads_them_and_how_many_there_are():
    all_rows = nvir_("knobs")
    inert = [k for k in all_knobs() if k.inert]
    assert all_rows.stderr == f"93 of 93 knobs, {len(inert)} of them inert\n"
    by_name = {line.split()[0]: line for line in all_rows.stdout.splitlines()}
    for k in inert:
        assert by_name[k.name].endswith(f"[inert: {k.inert}]")
    assert "inert" not in nvir_("knobs", "--active").stdout


@pytest.mark.parametrize(
    ("setting", "told"),
    [("UnrolBudget=3", "did you mean UnrollBudget"), ("UnrollBudget=x", "takes an integer"),
     ("HoistLate=4", "takes one of 0, 1, 2, 3"), ("UnrollBudget=-1", "from 0 to 2147483647")],
)
def test_a_knob_set_wrongly_is_a_usage_error(setting, told):
    out = nvir_("knobs", "--knob", setting)
    assert out.exit_code == 2
    assert told in out.stderr


def test_knobs_as_json_show_what_holds():
    out = nvir_("knobs", "--json", "--knob", "UnrollBudget=7", "--policy", "documented")
    body = json.loads(out.stdout)
    assert body["schema"] == "nvir.knobs/1"
    rows = {k["name"]: k for k in body["knobs"]}
    assert (rows["UnrollBudget"]["value"], rows["UnrollBudget"]["default"]) == (7, 140)
    assert rows["UnrollBudget"]["kind"] == 1
    assert rows["memmove-unroll-threshold"]["value"] == 128
    assert rows["byval-names"]["value"] == []
    assert rows["HoistLate"]["choices"] == [0, 1, 2, 3]
    assert nvir_("knobs", "--knob", "x").exit_code == 2


def test_knobs_that_one_policy_alone_reads_say_so():
    """The list is what the sources read: in the documented room, and nowhere else."""
    import ast
    from pathlib import Path

    from nvir.passes.knobs import all_knobs

    read: dict[bool, set[str]] = {True: set(), False: set()}
    room = Path(nvir.__file__).parent
    for f in room.rglob("*.py"):
        if f.parts[len(room.parts)] == "cli":
            continue
        for n in ast.walk(ast.parse(f.read_text("utf-8"))):
            if isinstance(n, ast.Constant) and isinstance(n.value, str):
                read["documented" in f.parts].add(n.value)
    for k in all_knobs():  # what is read while it is unset is read with it
        for names in read.values():
            if k.alias and k.name in names:
                names.add(k.alias)
    names = {k.name for k in all_knobs()}
    alone = {k.name for k in all_knobs() if k.policy == "documented"}
    assert names & read[True] - read[False] == alone
    assert "loop-unroll under policy documented" in nvir_("knobs", "^UnrollInstLimit$").stdout
    shown = nvir_("knobs", "^UnrollInstLimit$", "--policy", "documented").stdout
    assert "under policy" not in shown
    assert "under policy" not in nvir_("knobs", "^UnrollBudget$").stdout


@pytest.mark.seed("PIP-02")
@pytest.mark.parametrize(("policy", "order", "told"), [
    ("documented", "loop-unroll,loop-simplify", ["phase 18 should precede phase 22"]),
    ("documented", "loop-simplify,loop-unroll", []),
    ("observed", "loop-unroll,loop-simplify", []),
])
def test_phases_in_another_order_than_the_notes_have_warn(tmp_path, policy, order, told):
    (tmp_path / "k.ptx").write_text(PTX)
    result = CliRunner().invoke(
        main, ["opt", str(tmp_path / "k.ptx"), "-p", order, "--policy", policy])
    found = [x for x in result.stderr.splitlines() if x.startswith("warning: phase")]
    assert [x.removeprefix("warning: ").partition(":")[0] for x in found] == told
