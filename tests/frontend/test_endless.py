"""What clang does not end with is left behind, with an error that says what it took."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.frontend import depth

DOUBLING = """template<class A, class B> struct P {};
template<int N> struct T { typedef P<typename T<N - 1>::t, typename T<N - 1>::t> t; };
template<> struct T<0> { typedef int t; };
template<class T> __global__ void k(T *p) {}
template __global__ void k<T<LEVELS>::t>(T<LEVELS>::t *);
"""


@pytest.mark.parametrize(("levels", "refused"), [(20, True), (6, False)])
def test_a_type_that_doubles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, levels: int,
                             refused: bool) -> None:
    file = tmp_path / "k.cu"
    file.write_text(DOUBLING.replace("LEVELS", str(levels)))
    if refused:
        monkeypatch.setattr(depth, "MAX_SECONDS", 0.1)
    made = CliRunner().invoke(main, ["compile", str(file)])
    said = f"{file}: error: clang took more than 0.1 s and did not end"
    assert (made.exit_code, said in made.output) == (int(refused), refused)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_question_for_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, pipe = tmp_path / "k.cu", tmp_path / "pipe"
    file.write_text('#if __has_include("pipe")\n#endif\n__global__ void k(int *p) { *p = 1; }\n')
    os.mkfifo(pipe)
    monkeypatch.setattr(depth, "MAX_IDLE", 0.5)
    made = CliRunner().invoke(main, ["compile", str(file)])
    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))  # which ends the thread
    assert made.exit_code == 1
    assert f"{file}: error: clang waited for more than 0.5 s" in made.output
    pipe.unlink()
    pipe.touch()
    monkeypatch.undo()  # a loaded machine may leave it without a turn for half a second
    assert CliRunner().invoke(main, ["compile", str(file)]).exit_code == 0


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "MAX_MEMORY", -1)
    with pytest.raises(depth.Endless, match="MiB"):
        depth.on_a_large_stack(lambda: depth.bounded(lambda: time.sleep(0.3)))
