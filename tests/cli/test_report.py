"""`nvir report`, `nvir diff`, `nvir cfg`: their output, and a clear line for every nonsense."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from corpus import EXAMPLES

from nvir import toolchain
from nvir.cli import main
from nvir.sm import occupancy

SGEMM = str(EXAMPLES / "sgemm.sm_80.ptx")
SAXPY = str(EXAMPLES / "saxpy.sm_80.ptx")


def run(*args: str, code: int = 0, stdin: bytes | None = None) -> str:
    """Output and messages of a command that must end with `code`, without a traceback."""
    result = CliRunner().invoke(main, list(args), input=stdin)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result.output


# ------------------------------------------------------------------------ report


def test_json_has_the_keys_and_types_of_the_contract() -> None:
    document = json.loads(run("report", SGEMM, "--json"))
    assert document["schema"] == "nvir.report/1"
    (f,) = document["functions"]
    assert (f["name"], f["kind"]) == ("sgemm", "entry")
    assert set(f["registers"]) >= {"max_live", "predicates", "predicted"}
    assert all(isinstance(f["registers"][k], int) for k in ("max_live", "predicates", "predicted"))
    assert set(f["occupancy"]) == {"blocks_per_sm", "warps_per_sm", "fraction", "limiter"}
    (loop,) = f["loops"]
    for key, kind in (
        ("header", str), ("line", int), ("depth", int), ("blocks", int), ("instructions", int),
        ("max_live", int),
    ):
        assert isinstance(loop[key], kind)
    assert f["peak"]["source"] == "sgemm.cu:26"
    assert any("assumed" in d["message"] for d in document["diagnostics"])


def test_one_note_for_all_kernels_without_a_block_size(tmp_path: Path) -> None:
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    names = ("_Z1aIiEvPi", "_Z1bPf", "c", "d")
    file = tmp_path / "k.ptx"
    file.write_text(head + "".join(f".visible .entry {n}() {{ ret; }}\n" for n in names))
    notes = [x for x in run("report", str(file)).splitlines() if "assumed" in x]
    assert len(notes) == 1
    assert notes[0].startswith("note: 4 kernels (a<int>, b, c and others): block size 256")


@pytest.mark.parametrize("width", ["80", "100", "140"])
def test_tables_keep_to_the_width(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    text = run("report", str(EXAMPLES / "conv3d.sm_80.ptx"))
    at = next(k for k, x in enumerate(text.splitlines()) if x.startswith("  loop"))
    header, *rows = text.splitlines()[at : at + 4]
    assert all(len(x) <= int(width) for x in (header, *rows))
    assert all(name in header for name in ("line", "trip", "body", "live"))
    assert [("129" in x or "116" in x or "37" in x) for x in rows].count(True) >= 2
    assert "\x1b" not in text
    assert all(x == x.rstrip() for x in text.splitlines())


def test_a_long_name_is_cut_in_the_text_and_whole_in_json(tmp_path: Path) -> None:
    name = "_ZN" + "4cute5Tuple" * 400 + "E"
    path = tmp_path / "long.ptx"
    path.write_text(
        f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}()\n{{\nret;\n}}\n"
    )
    heading = run("report", str(path)).splitlines()[2]
    assert heading.startswith("kernel cute::Tuple::")
    assert "…" in heading
    assert len(heading) < 120
    assert json.loads(run("report", str(path), "--json"))["functions"][0]["name"] == name


def test_lines_as_text_and_json_and_into_a_file(tmp_path: Path) -> None:
    root = str(Path(SGEMM).parents[1])  # sources are opened below the root alone
    text = run("report", SGEMM, "--lines", "--source", "--source-root", root)
    assert "◀ peak" in text
    assert "sum += a_tile[y][i] * b_tile[i][x];" in text
    document = json.loads(run("report", SGEMM, "--lines", "--json"))
    assert document["functions"][0]["peak"]["source"] == "sgemm.cu:26"
    out = tmp_path / "lines.txt"
    assert run("report", SAXPY, "--lines", "--kernel", "saxpy4", "-o", str(out)) == ""
    assert "kernel saxpy4" in out.read_text()
    assert "kernel saxpy " not in out.read_text()


def test_standard_input_is_a_file() -> None:
    text = run("report", "-", stdin=Path(SAXPY).read_bytes())
    assert text.startswith("standard input · sm_80")
    assert "kernel saxpy4" in text
    run("report", "-", "--lines", stdin=Path(SAXPY).read_bytes())


@pytest.mark.oracle
def test_figures_are_those_of_the_real_assembler_where_it_is_there() -> None:
    text = run("report", SGEMM)
    assert text.startswith("sgemm.sm_80.ptx · sm_80 · policy observed · ptxas\n")
    assert "32 registers" in text  # what ptxas says, and the prediction where it differs
    assert "no spills" in text
    (f,) = json.loads(run("report", SGEMM, "--json"))["functions"]
    assert {"registers": 32, "spill_stores": 0, "spill_loads": 0}.items() <= f["ptxas"].items()
    assert f["registers"]["source"] == "ptxas"
    (entry,) = json.loads(run("report", SGEMM, SGEMM, "--json"))["files"][:1]
    assert entry["report"]["functions"] == [f]


@pytest.mark.oracle
def test_occupancy_is_that_of_the_registers_shown(tmp_path: Path) -> None:
    path = str(EXAMPLES / "horner.sm_80.ptx")
    (f, *_) = json.loads(run("report", path, "--json"))["functions"]
    (g, *_) = json.loads(run("report", path, "--json", "--model"))["functions"]
    assert (f["registers"]["source"], g["registers"]["source"]) == ("ptxas", "model")
    assert "ptxas" not in g
    for kernel, registers in ((f, f["ptxas"]["registers"]), (g, g["registers"]["predicted"])):
        found = occupancy("sm_80", registers, 256)
        assert kernel["occupancy"]["blocks_per_sm"] == found.blocks_per_sm
        assert kernel["occupancy"]["limiter"] == found.limiter


@pytest.mark.oracle
def test_what_the_assembler_refuses_is_reported_by_the_model() -> None:
    document = json.loads(run("report", SGEMM, "--arch", "sm_70", "--json"))
    assert document["functions"][0]["registers"]["source"] == "model"
    assert any("sm_70" in d["message"] and "model" in d["message"] for d in document["diagnostics"])
    assert "refuses it" in run("report", SGEMM, "--arch", "sm_70", "--ptxas", code=1)


def test_without_the_assembler_the_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(tool: str) -> Path:
        raise toolchain.ToolMissing(tool)

    monkeypatch.setattr(sys.modules["nvir.toolchain.ptxas"], "find", gone)
    sys.modules["nvir.toolchain.assembled"]._decoded.cache_clear()
    text = run("report", SGEMM)
    assert "registers predicted" in text
    assert "ptxas" not in text.splitlines()[0]
    assert "ptxas" in run("report", SGEMM, "--ptxas", code=1)


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "s.cubin"
    path.write_bytes(toolchain.ptxas(Path(SGEMM), "sm_80").cubin or b"")
    return path


@pytest.mark.oracle
def test_a_cubin_gives_registers_and_occupancy(cubin: Path) -> None:
    text = run("report", str(cubin))
    assert "32 registers" in text
    assert "blocks/SM" in text
    assert "no loops" not in text
    (f,) = json.loads(run("report", str(cubin), "--json"))["functions"]
    assert f["registers"]["predicted"] == 32
    assert 20 < f["registers"]["max_live"] <= 32
    assert "no PTX" in run("report", str(cubin), "--lines", code=1)


@pytest.mark.oracle
def test_a_fat_binary_gives_the_ptx_inside(cubin: Path, tmp_path: Path) -> None:
    tool = toolchain.find("cuobjdump").with_name("fatbinary")
    if not tool.exists():
        pytest.skip("no fatbinary beside cuobjdump")
    fat = tmp_path / "s.fatbin"
    images = [f"kind=ptx,sm=80,file={SGEMM}", f"kind=elf,sm=80,file={cubin}",
              f"kind=ptx,sm=90,file={SAXPY}"]
    subprocess.run([tool, f"--create={fat}", *(f"--image3={i}" for i in images)], check=True)
    assert "kernel saxpy" in run("report", str(fat))
    assert "kernel sgemm" in run("report", str(fat), "--arch", "sm_80")
    assert "holds no PTX for sm_75" in run("report", str(fat), "--arch", "sm_75", code=1)
    assert "◀ peak" in run("report", str(fat), "--lines")


def test_a_binary_without_cuobjdump_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_args: object, **_kw: object) -> None:
        raise toolchain.ToolMissing("cuobjdump")

    monkeypatch.setattr(toolchain, "embedded", missing)
    path = tmp_path / "a.out"
    path.write_bytes(b"\x7fELF" + bytes(100))
    message = run("report", str(path), code=1)
    assert "cuobjdump was not found; install it with" in message
    assert len(message.splitlines()) == 1


# ---------------------------------------------------------------------- nonsense


@pytest.mark.parametrize("command", ["report", "cfg", "diff"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"), ("folder", "folder"), (b"", "empty"),
        (b"\x00\x01\xfe binary", "binary"), (b"int main() {}", "error"),
    ],
)
def test_files_that_are_no_ptx(command: str, content: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ptx"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    args = [str(path), SGEMM] if command == "diff" else [str(path)]
    code = 1
    if says == "folder":  # `report` takes folders, an empty one is told; `diff` takes two
        told = {"report": ("holds no file", 1), "diff": ("is a folder, the other is not", 2)}
        says, code = told.get(command, ("Is a directory", 1))
    assert says in run(command, *args, code=code)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["report", SGEMM, "--arch", "foo"], 2, "no machine profile for 'foo'"),
        (["report", SGEMM, "--profile", "nope"], 2, "no machine profile"),
        (["report", SGEMM, "--kernel", "nope"], 2, "there are: sgemm"),
        (["report", SGEMM, "--block", "0"], 2, "--block"),
        (["report", SGEMM, "--source"], 2, "--lines"),
        (["report", SGEMM, "--lines", "--ptxas"], 2, "--ptxas"),
        (["report", SGEMM, "-o", "/no/such/folder/x"], 1, "No such file"),
        (["report"], 2, "Missing argument"),
        (["cfg", SGEMM, "--kernel", "nope"], 2, "there are: sgemm"),
        (["cfg", SGEMM, "--loop", "nope"], 1, "no loop"),
        (["diff", SGEMM], 2, "Missing argument"),
        (["diff", SGEMM, SGEMM, "--fail-on", "regs=1"], 2, "no figure is called 'regs'"),
        (["diff", SGEMM, SGEMM, "--kernel", "nope"], 2, "neither file"),
        (["diff", "-", "-"], 2, "only one"),
        (["diff", SGEMM, SGEMM, "--json", "--junit"], 2, "not both"),
        (["rapport"], 2, "report"),
    ],
)
def test_nonsense_is_one_clear_message(args: list[str], code: int, says: str) -> None:
    assert says in run(*args, code=code)


# -------------------------------------------------------------------------- diff


def test_diff_of_a_file_with_itself_and_with_a_worse_one() -> None:
    assert "without a difference" in run("diff", SGEMM, SGEMM)
    text = run("diff", SAXPY, SGEMM, code=3)
    assert "saxpy: is missing" in text
    run("diff", SAXPY, SGEMM, "--fail-on", "")


def test_diff_as_json_and_of_other_machines() -> None:
    other = str(EXAMPLES / "sgemm.sm_120.ptx")
    document = json.loads(run("diff", SGEMM, other, "--json", "--fail-on", "instructions=+200%"))
    assert document["schema"] == "nvir.diff/1"
    assert document["after"]["arch"] == "sm_120"
    changes = {c["metric"]: c for c in document["functions"][0]["changes"]}
    assert changes["instructions"]["before"] == 125


@pytest.mark.oracle
def test_diff_by_what_ptxas_says() -> None:
    other = str(EXAMPLES / "sgemm.sm_90.ptx")
    assert "sgemm" in run("diff", SGEMM, other, "--ptxas", "--fail-on", "spills=0")


# --------------------------------------------------------------------------- cfg


def test_pictures_have_loops_sources_and_stable_ids() -> None:
    dot = run("cfg", str(EXAMPLES / "nested_break.sm_80.ptx"))
    assert dot == run("cfg", str(EXAMPLES / "nested_break.sm_80.ptx"))
    assert "subgraph cluster_bb3" in dot
    assert "loop $L__BB0_5 · depth 2 · trip param_4" in dot
    assert "nested_break.cu:16-19" in dot
    assert "!loc" not in dot
    only = run("cfg", str(EXAMPLES / "nested_break.sm_80.ptx"), "--loop", "$L__BB0_5")
    assert "bb5 " in only
    assert "bb0 " not in only


def test_a_folder_with_a_broken_file_reports_the_others(tmp_path: Path) -> None:
    """A job's error comes back from its worker process as the place in the file."""
    shutil.copy(SGEMM, tmp_path / "good.ptx")
    (tmp_path / "half.ptx").write_text(Path(SGEMM).read_text("utf-8")[:700])
    said = run("report", str(tmp_path), code=1)
    assert "sgemm" in said
    assert "half.ptx:" in said
    assert "died" not in said


@pytest.mark.oracle
def test_lines_count_the_registers_of_the_real_code() -> None:
    (f, *_) = json.loads(run("report", SAXPY, "--lines", "--json"))["functions"]
    body = toolchain.assembled(Path(SAXPY), "sm_80").bodies[f["name"]]
    assert f["registers"]["source"] == "ptxas"
    assert f["registers"]["real"] == body.registers
    assert f["peak"]["scheduled"] == body.live_counts().max_live()
    at = {i.line for b, n in zip(body.blocks, body.live_counts().blocks, strict=True)
          for i, live in zip(b.instructions, n, strict=True) if live[0] == f["peak"]["scheduled"]}
    assert f["peak"]["line"] in at
    (g, *_) = json.loads(run("report", SAXPY, "--lines", "--json", "--model"))["functions"]
    assert g["registers"]["source"] == "model"
    assert g["registers"]["predicted"] == f["registers"]["predicted"]
