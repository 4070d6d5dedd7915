"""The printed text before its judges: libnvvm in both dialects, ptxas, LLVM's own parser."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
import pytest

import nvir
from nvir.ir import Module
from nvir.ir.intrinsics import table
from nvir.toolchain import libnvvm, ptxas
from tests import intrinsic_calls
from tests.llvm.ll_modules import ARCH, REFUSED, SNIPPETS, module_of, random_module

DIALECTS = tuple(ARCH)


def legal_text(module: Module, dialect: str) -> str:
    """The module's text after `legalize`; it must read back to a module that gives it again."""
    nvir.run_passes(module, f"legalize<dialect={dialect}>", verify=True)
    text = nvir.print_ll(module, dialect)
    again = nvir.read_ll(text)
    nvir.verify(again)
    nvir.run_passes(again, f"legalize<dialect={dialect}>")  # names of a mode by its number
    assert nvir.print_ll(again, dialect) == text
    return text


def accepted(text: str, dialect: str) -> str:
    """The PTX of a text that libnvvm verifies and compiles."""
    result = libnvvm.compile(text, ARCH[dialect])
    assert result.verified, result.log
    assert result.ok, result.log
    assert " llvm." not in result.ptx  # no intrinsic is left for a linker to find
    assert "llvm_" not in result.ptx
    return result.ptx


@pytest.mark.oracle
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SNIPPETS)
def test_every_construct_is_accepted_or_refused_by_name(name, dialect):
    module = nvir.read_ll(module_of(SNIPPETS[name]))
    nvir.verify(module)
    if dialect in REFUSED.get(name, ()):
        with pytest.raises(nvir.Unsupported, match=dialect):
            legal_text(module, dialect)
        return
    accepted(legal_text(module, dialect), dialect)


@pytest.mark.oracle
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", range(12))
def test_random_modules_are_accepted(seed, dialect):
    accepted(legal_text(random_module(seed), dialect), dialect)


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_modules_are_accepted(seed, dialect):
    accepted(legal_text(random_module(seed, blocks=6), dialect), dialect)


@pytest.mark.oracle
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_ptx_of_random_modules_assembles(dialect):
    for seed in range(3):
        ptx = accepted(legal_text(random_module(seed), dialect), dialect)
        result = ptxas(ptx, ARCH[dialect])
        assert result.ok, result.log


@pytest.mark.parametrize("seed", range(6))
def test_llvm_itself_parses_the_newer_dialect(seed):
    text = legal_text(random_module(seed), "llvm20")
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize("seed", range(6))
def test_what_llvm_prints_again_is_read_again(seed):
    """LLVM's own printer: groups of attributes, its numbers, its spelling of constants."""
    text = legal_text(random_module(seed), "llvm20")
    printed = str(llvm.parse_assembly(text))
    again = nvir.read_ll(printed)
    nvir.verify(again)
    nvir.run_passes(again, "legalize<dialect=llvm20>")  # what was written as assembly
    twice = str(llvm.parse_assembly(nvir.print_ll(again, "llvm20")))
    assert _bodies(twice) == _bodies(printed)


def _bodies(text: str) -> list[str]:
    """Lines of functions and variables; attributes and numbers of metadata may move."""
    lines = [line.split(" #")[0].split(", !")[0] for line in text.splitlines()]
    return [
        line for line in lines
        if line.strip() and not line.startswith((";", "source_filename", "attributes", "!"))
    ]


@pytest.mark.oracle
def test_launch_bounds_and_kernels_arrive():
    text = (
        'define ptx_kernel void @k() "nvvm.maxntid"="64,2,1" "nvvm.minctasm"="3" {\n ret void\n}\n'
        "define void @plain() {\n ret void\n}\n"
    )
    for dialect in DIALECTS:
        ptx = accepted(legal_text(nvir.read_ll(text), dialect), dialect)
        assert ".visible .entry k(" in ptx
        assert ".maxntid 64, 2, 1" in ptx
        assert ".minnctapersm 3" in ptx
        assert ".visible .func plain(" in ptx


@pytest.mark.oracle
def test_lines_arrive():
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %p) !dbg !1 {\n"
        "  store volatile i32 1, ptr addrspace(1) %p, !dbg !3\n  ret void\n}\n"
        '!1 = distinct !DISubprogram(name: "k", scope: !2, file: !2, line: 7)\n'
        '!2 = !DIFile(filename: "k.cu", directory: "/src")\n'
        "!3 = !DILocation(line: 9, column: 5, scope: !1)\n"
    )
    for dialect in DIALECTS:
        ptx = accepted(legal_text(nvir.read_ll(text), dialect), dialect)
        assert '"/src/k.cu"' in ptx
        assert "\t.loc\t1 9 5" in ptx


def _refused(calls: list[Any], dialect: str) -> list[str]:
    """The names of intrinsics whose calls libnvvm or ptxas does not take behind `legalize`."""
    module = intrinsic_calls.module_of(calls, f"{_ARCHS[dialect]}a")
    nvir.run_passes(module, f"legalize<dialect={dialect}>")
    made = libnvvm.compile(nvir.print_ll(module, dialect), _ARCHS[dialect])
    if made.ok and " llvm." not in made.ptx and ptxas(made.ptx, f"{_ARCHS[dialect]}a").ok:
        return []
    half = len(calls) // 2
    if not half:
        return [calls[0][0].name]
    return _refused(calls[:half], dialect) + _refused(calls[half:], dialect)


_ARCHS = {"llvm7": "sm_90", "llvm20": "sm_100"}
# What no PTX has, what other machines have, and what `legalize` refuses by name.
_APART = re.compile(
    r"__.*|llvm\.(dbg|codeview|experimental|fake|stack|pow|thread).*|llvm\.nvvm\.(reflect|wgmma|"
    r"ptr\.\w+\.to\.param|ptr\.param|setmaxnreg|redux.sync.f|(atomic\.(inc|dec)|flo).*|"
    r"wmma.*\.f(16|32)\.f(16|32)\.satfinite|tex\.(?!unified)|(ldg|ldu)\.global\.p|"
    r"atomic\.load\.add).*")


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_intrinsic_of_the_table_is_taken(dialect):
    calls = [(row, suffix, t) for row in table().values() if not _APART.fullmatch(row.name)
             for suffix, t in intrinsic_calls.overloads(row)]
    assert not [n for k in range(0, len(calls), 24) for n in _refused(calls[k : k + 24], dialect)]
