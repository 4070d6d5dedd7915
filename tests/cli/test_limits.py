"""Absurd input ends soon, in bounded memory, with one message and no traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

N = 100_000
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
BODY = """.visible .entry k(.param .u64 p) {
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, 0;
"""
ORI = "module ori target sm_80 version 8.0 address_size 64"
NVVM = ORI.replace("ori", "nvvm")


def kernel(body: str, registers: int = 9) -> str:
    return f"{HEAD}{BODY.replace('%r<9>', f'%r<{registers}>')}{body}\nret;\n}}\n"


def loops(n: int) -> str:
    """n loops, each around the next."""
    heads = "".join(f"L{k}:\nadd.s32 %r1, %r1, 1;\n" for k in range(n))
    latches = "".join(
        f"setp.lt.s32 %p1, %r1, {k};\n@%p1 bra L{k};\n" for k in reversed(range(n))
    )
    return kernel(heads + latches)


PTX = {
    "parentheses": kernel(f"mov.u32 %r1, {'(' * N}1{')' * N};"),
    "scopes left open": kernel("{\n" * N),
    "loops": loops(3000),
    "an integer of many digits": kernel(f"mov.u32 %r1, {'9' * N};"),
    "registers": kernel("", 4_000_000_000),
    "nested braces of zeroes": f"{HEAD}.global .u32 a[2] = {'{' * N}0{'}' * N};\n",
}
OWN = {
    "nested data": f"{ORI} aux {'(' * N}{')' * N}\n",
    "an integer of many digits":
        f"{ORI}\nfunc @f() {{\nentry:\n  %r: b32 = mov.u32 {'9' * N}\n  ret\n}}\n",
    "a size of many digits": f"{ORI}\nglobal @a: shared [{'9' * 6000} x b8]\n",
    "nested types": f"{NVVM}\nglobal @a: global {'[2 x ' * N}i32{']' * N}\n",
}
LLVM = {
    "nested types": f"@a = global {'[2 x ' * N}i32{']' * N} zeroinitializer\n",
    "nested expressions": f"@a = global i64 {'add (i64 ' * N}1{', i64 1)' * N}\n",
    "nested metadata": f"!0 = {'!{' * N}{'}' * N}\n",
    "an initial value": "@a = addrspace(1) global {[1000000000000 x i8], i32} "
        "{[1000000000000 x i8] zeroinitializer, i32 1}\n",
    "an integer of many digits":
        f"define void @f() {{\n  %a = add i32 {'9' * N}, 1\n  ret void\n}}\n",
}
MEMBERS = "%t0 = type {{ {} }}\n" + "".join(
    f"%t{k} = type {{{{ %t{k - 1}, %t{k - 1} }}}}\n" for k in range(1, 41)
) + "define void @f(ptr %p) {{\n  %x = load %t40, ptr %p\n  ret void\n}}\n"
MOVED = (
    "define void @f(ptr %p) {{\n  %x = load {0}, ptr %p\n  store {0} %x, ptr %p\n  ret void\n}}\n"
)
LLVM |= {
    "members": MEMBERS.format("i32"),
    "elements": MOVED.format("[1000000000 x i32]"),
}
JSON = {"nested": "[" * N + "]" * N, "an integer of many digits": f'{{"schema": {"9" * N}}}'}
CASES = [
    *((name, "k.ptx", text, "report") for name, text in PTX.items()),
    *((name, "k.nvir", text, "opt") for name, text in OWN.items()),
    *((name, "k.ll", text, "opt -p select --emit ptx") for name, text in LLVM.items()),
    ("bits", "k.ll", MOVED.format("i8388607"), "opt -p legalize<dialect=llvm7>"),
    *((name, "k.json", text, command) for name, text in JSON.items()
      for command in ("compile", "schedule")),
]


def run(
    words: list[str], folder, memory: int = 2 << 30, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`nvir words` in a process of bounded memory and time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    return subprocess.run(
        [sys.executable, "-m", "nvir", *words], cwd=folder, preexec_fn=limit,
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [pytest.param(file, text, command, id=f"{command} {file}: {name}")
     for name, file, text, command in CASES],
)
def test_absurd_files_end_in_an_error(name, text, command, tmp_path):
    (tmp_path / name).write_text(text)
    command, *options = command.split()
    result = run([command, name, *options], tmp_path)
    assert "Traceback" not in result.stderr
    assert "error" in result.stderr
    assert result.returncode in (1, 2)
    assert len(result.stderr) < 10_000, "a message of readable length"


TAKEN = {
    "members of no size": (
        "k.ll", MEMBERS.format("[1000000000 x [0 x i32]]"), ["opt", "-p", "select", "--emit", "ptx"]
    ),
    "scopes": ("k.ptx", kernel("{\n" * N + "}\n" * N), ["report"]),
    "shared memory": ("k.ptx", kernel(".shared .b8 s[99999999999];\nmov.u32 %r1, s;"), ["report"]),
    "zeroes": (
        "k.ll", "@a = addrspace(3) global [1000000000000 x i8] undef\n"
        "define void @f() {\n  %p = getelementptr i8, ptr addrspace(3) @a, i64 5\n"
        "  store i8 1, ptr addrspace(3) %p\n  ret void\n}\n",
        ["opt", "-p", "select", "--emit", "ptx"],
    ),
}


@pytest.mark.parametrize(("name", "text", "words"), TAKEN.values(), ids=TAKEN)
def test_what_is_large_but_holds_nothing_is_taken(name, text, words, tmp_path):
    (tmp_path / name).write_text(text)
    result = run([words[0], name, *words[1:]], tmp_path)
    assert result.returncode == 0, result.stderr


COUNTED = kernel(
    "L:\nst.global.u32 [%rd1], %r1;\nadd.s32 %r1, %r1, 1;\n"
    "setp.lt.s32 %p1, %r1, 1000000000;\n@%p1 bra L;"
)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "k.ptx", "--knob", "UnrollBudget=1000000000"],
        ["opt", "k.ptx", "-p", "loop-simplify,loop-unroll<factor=1000000000>"],
    ],
    ids=["budget", "factor"],
)
def test_enormous_unrolling_is_bounded(words, tmp_path):
    """It is refused, or done within bounds; never tried."""
    (tmp_path / "k.ptx").write_text(COUNTED)
    result = run(words, tmp_path)
    assert "Traceback" not in result.stderr
    assert result.returncode in (0, 1, 2)
    assert len(result.stdout) < 1_000_000


def test_too_little_memory_is_one_line(tmp_path):
    (tmp_path / "k.ptx").write_text(kernel("add.s32 %r1, %r1, 1;\n" * 100_000))
    result = run(["report", "k.ptx", "--model"], tmp_path, 80 << 20)
    assert (result.returncode, result.stderr) == (1, "error: out of memory\n")
    assert run(["fmt", "k.ptx"], tmp_path, 200 << 20).returncode == 0, "read in pieces"


@pytest.mark.parametrize("columns", ["0", "1", "9" * 5000, "\u00b2"])
def test_any_width_of_a_terminal_is_taken(columns, tmp_path):
    (tmp_path / "k.ptx").write_text(COUNTED)
    result = run(["report", "k.ptx", "--model"], tmp_path, COLUMNS=columns)
    assert (result.returncode, result.stderr) == (0, "")
    assert "kernel k" in result.stdout


def test_a_revision_is_no_option_of_git(tmp_path):
    (tmp_path / "k.ptx").write_text(COUNTED)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    result = run(["diff", "--", "--output=made:k.ptx", "k.ptx"], tmp_path)
    assert result.returncode == 2
    assert "no revision begins with '-'" in result.stderr
    assert not (tmp_path / "made").exists()


def test_all_streams_may_be_closed(tmp_path):
    (tmp_path / "k.ptx").write_text(COUNTED)
    done = subprocess.run(
        ["sh", "-c", '"$0" -m nvir report k.ptx <&- >&- 2>&-', sys.executable], cwd=tmp_path,
    )
    assert done.returncode == 1


@pytest.mark.parametrize(("target", "tangled"), [
    (lambda k: (7919 * k + 3) % 375, True), (lambda k: k + 1, False)], ids=["far", "near"])
def test_a_picture_of_a_tangle_is_drawn_with_less_care(tmp_path, target, tangled):
    """Each block leads to the next and to one far away, or near: the first took minutes."""
    body = "".join(f"X{k}: setp.lt.u32 %p1, %r1, {k};\n@%p1 bra X{target(k)};\n"
                   f"add.s32 %r1, %r1, 1;\n" for k in range(375))
    (tmp_path / "k.ptx").write_text(kernel(body + "X375:\n"))
    result = run(["cfg", "k.ptx"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert ("nslimit" in result.stdout) == tangled
