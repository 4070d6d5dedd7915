"""`nvir compile -p`: nvcc's options of a file from a compile_commands.json."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.frontend.cuda.database import command_of
from nvir.ir.errors import NvirError


def written(tmp_path, *entries):
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    return str(tmp_path)


def entry(tmp_path, command, file="k.cu"):
    key = "command" if isinstance(command, str) else "arguments"
    return {"directory": str(tmp_path), "file": file, key: command}


@pytest.mark.parametrize("command", [
    "nvcc -DN=4 '-DS=\"a b\"' -Iinc -isystem=two -U X -include first.h -std=c++20 -use_fast_math "
    "-arch=sm_90 -O3 -maxrregcount=40 -ftz true --prec-div=false "
    "-Xcompiler -fPIC -x cu -c k.cu -o k.o",
    "nvcc --define-macro N=4 --maxrregcount 40 --ftz=1 -prec-div false "
    "-D 'S=\"a b\"' --include-path inc -isystem two --undefine-macro=X "
    "--pre-include first.h --std c++20 --use_fast_math "
    "--generate-code=arch=compute_90,code=[compute_90,sm_90] -gencode arch=compute_80,code=sm_80",
])
@pytest.mark.parametrize("split", [False, True])
def test_options_as_nvcc_spells_them(tmp_path, command, split):
    import shlex

    place = written(tmp_path, entry(tmp_path, shlex.split(command) if split else command))
    made = command_of(place, str(tmp_path / "k.cu"))
    assert made.define == ["N=4", 'S="a b"']
    assert made.include == [str(tmp_path / "inc"), str(tmp_path / "two")]
    assert (made.most, made.floats) == (40, {"ftz": True, "prec-div": False})
    assert (made.undefine, made.first) == (["X"], ["first.h"])
    assert (made.std, made.arch, made.fast_math) == ("c++20", "sm_90", True)
    assert command_of(place, None).file == str(tmp_path / "k.cu")


@pytest.mark.parametrize(("entries", "said"), [
    ([], "has 0 CUDA sources; name one"),
    ([{"file": "a.cu", "command": "nvcc a.cu"}, {"file": "b.cu", "command": "nvcc"}],
     "has 2 CUDA sources"),
    ([{"file": "a.cu"}], "neither 'command' nor 'arguments'"),
    ([{"file": "a.cu", "command": "nvcc 'a.cu"}], "No closing quotation"),
    ([{"file": "a.cu", "arguments": ["nvcc", 3]}], "neither"),
    ([{"file": 3}], "not a list of objects"),
    ([{"file": "a.cu", "command": 3}], "the command for"),
])
def test_what_is_wrong_with_a_database(tmp_path, entries, said):
    with pytest.raises(NvirError, match=said):
        command_of(written(tmp_path, *entries), None)


def test_no_database_and_no_json(tmp_path):
    with pytest.raises(NvirError, match=r"compile_commands\.json: No such file"):
        command_of(str(tmp_path / "compile_commands.json"), None)
    (tmp_path / "x.json").write_text("[1,")
    with pytest.raises(NvirError, match="not JSON"):
        command_of(str(tmp_path / "x.json"), None)
    with pytest.raises(NvirError, match="has no command for"):
        command_of(written(tmp_path), "other.cu")


def test_compile_takes_them_and_the_command_line_goes_before(tmp_path):
    pytest.importorskip("clang.cindex")
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "m.h").write_text("#define M 3\n")
    (tmp_path / "k.cu").write_text(
        '#include "m.h"\n__global__ void k(int *p) { *p = N + M; }\n')
    place = written(tmp_path, entry(tmp_path, "nvcc -Iinc -DN=4 -rdc=true -arch=sm_90 k.cu"))
    made = CliRunner().invoke(main, ["compile", "-p", place])
    assert ".target sm_90" in made.output
    assert "st.global.u32 \t[%rd2], 7;" in made.output
    made = CliRunner().invoke(
        main, ["compile", "-p", place, str(tmp_path / "k.cu"), "-arch=sm_80", "-DN=5"])
    assert ".target sm_80" in made.output
    assert "[%rd2], 8;" in made.output


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["a.cu", "b.cu"], 2, "unsupported: 2 files in one command"),
    (["-dlink", "a.o"], 2, "unsupported: -dlink"),
    ([], 2, "Missing argument 'FILE'"),
])
def test_other_ways_of_nvcc_are_named(arguments, code, said):
    made = CliRunner().invoke(main, ["compile", *arguments])
    assert made.exit_code == code
    assert said in made.output


@pytest.mark.parametrize(("options", "wanted"), [
    ("", "div.rn.f32 sqrt.rn.f32 fma.rn.f32"),
    ("-ftz=true", "div.rn.ftz.f32 sqrt.rn.ftz.f32 fma.rn.ftz.f32"),
    ("-prec-div=false --prec-sqrt false", "div.full.f32 sqrt.approx.f32 fma.rn.f32"),
    ("--fmad=false -maxrregcount 32", "div.rn.f32 sqrt.rn.f32 mul.rn.f32 add.rn.f32"),
    ("-use_fast_math -prec-div=true", "div.rn.ftz.f32 sqrt.approx.ftz.f32 fma.rn.ftz.f32"),
])
@pytest.mark.parametrize("from_database", [False, True])
def test_options_of_floats(tmp_path, options, wanted, from_database):
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(float *p) { p[0] = p[1] / p[4] + sqrtf(p[2]) * p[3]; }\n")
    place = written(tmp_path, entry(tmp_path, f"nvcc {options} k.cu"))
    given = ["-p", place] if from_database else options.split()
    made = CliRunner().invoke(main, ["compile", str(source), "--front-end", "libclang", *given])
    found = [w for w in made.output.split() if w.startswith(("div", "sqrt", "fma", "mul", "add.r"))]
    assert " ".join(found) == wanted
