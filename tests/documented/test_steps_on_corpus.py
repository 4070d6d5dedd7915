"""Each documented step is missed on files of a corpus too, or on an example where none asks for it.

    python -m pytest tests/documented/test_steps_on_corpus.py                       the examples
    NVIR_CORPUS=DIR python -m pytest --slow tests/documented/test_steps_on_corpus.py -s   all

DIR holds PTX files, however deep, and may hold CUDA sources with an `index.json` that says how each
is compiled (benchmarks/cuda_corpus.py). Every step is taken out as in test_steps.py, on the files
on which it leaves an event, the smallest first, until one gives another result, or another event of
another step. The steps of `EXAMPLE` are tried on their examples instead, on every run; those of
`OTHERWISE` on what another compiler, or other flags, make of a source, too.
"""

from __future__ import annotations

import json
import os
import runpy
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import attrs
import pytest

import nvir
from nvir.compiler import compile_module, compile_tree, read_source
from nvir.frontend.check import check
from nvir.frontend.cuda import Source, read_cuda, source_of
from nvir.frontend.irgen import Options, generate
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.ir.text.trace import Trace, plain
from nvir.passes.knobs import Knobs
from nvir.report.schedule.post_ra import pipelined
from nvir.sm.profile import profile
from nvir.toolchain.clang import clang_ll
from nvir.toolchain.nvcc import nvcc_ptx
from tests.documented import test_steps as steps

ROOT = Path(os.environ.get("NVIR_CORPUS", ""))
COUNTED: dict[str, int] = {}  # group → its steps that were missed on files
on_corpus = pytest.mark.skipif(not ROOT.name, reason="NVIR_CORPUS names no folder of PTX files")


@attrs.frozen
class Absent:
    """A step that no file of a corpus asks for: an example that does, and what the files lack."""

    example: str
    lacks: str
    files: str = "149 PTX files of nvcc and 139 of nvir"


# Of a corpus of 149 CUDA sources and nvcc's PTX of them.
FORMS, FORMS_PTX = "loop_forms.cu", "ptx/loop_forms.sm_80.ptx"
TREE = "trees/calls.py"
OUTSIDE = Absent(FORMS_PTX, "a nest with a mark outside")
APART = Absent(FORMS_PTX, "neighbours that count alike and do not depend on each other")
READ = "110 sources that nvir's own reader takes"
SAID = "words for it in a source of 149"
EXAMPLE: dict[str, dict[str, Absent]] = {
    "unroll": {"direction": Absent(FORMS_PTX, "a loop that runs away from its bound"),
               "nounroll_inwards": OUTSIDE, "passed_over": OUTSIDE,
               "pre_scan": Absent(FORMS_PTX, "a call of a function of one block"),
               "swaps": Absent(FORMS, "a bound on the left")},
    "pipeline": {"feasible": Absent("ptx/gemm_tile.sm_80.ptx",
                                    "an operation that needs lanes together behind other tests")},
    "fuse": dict.fromkeys(("_drop_repeated", "_fuse", "_join_variables", "_shift", "patch"),
                          APART),
    "memory": {"guard": Absent("../tests/documented/copies.ll",
                               "a copy as long as only a run knows", f"{READ}, 30 clang's,")},
    "calls": {"_alignments": Absent("device_calls.cu", "a call by a pointer", READ),
              **dict.fromkeys(("_bundles", "_special", "is_special_intrinsic"), Absent(
                  TREE, "preserved registers, and numbers of intrinsics, which none can say",
                  SAID))},
    "asm": {"clobber": Absent("warp_specialised.cu", "a clobber", "149 sources"),
            "has_effects": Absent("warp_specialised.cu", "assembly with effects beside its results",
                                  READ)},
}

# Of these the ones that another make of the corpus' sources asks for: group, steps, source, make.
LLAMA = "llama-cpp-python/vendor/llama.cpp/ggml/src/ggml-cuda"
OTHERWISE = [
    ("unroll", {"pre_scan", "swaps"}, "gpunufft/CUDA/src/gpu/atomic/atomic_gpuNUFFT.cu", "nvcc"),
    ("unroll", {"nounroll_inwards", "passed_over"},
     "cuprox/src/cuprox/preprocess/scaling.cu", "clang"),
    ("pipeline", {"feasible"}, f"{LLAMA}/sum.cu", "nvcc"),
    ("calls", {"_alignments"}, f"{LLAMA}/template-instances/fattn-vec-instance-f16-f16.cu",
     "older toolkit"),
    ("asm", {"has_effects"}, "gpuwm-hex-*/tests/rrfs_gfl/gfl_driver.cuh", "its headers"),
    ("asm", {"clobber"}, "nccl_device/coop.h", "a kernel that calls it"),
    ("memory", {"guard"}, "cuda/std/__algorithm/copy.h", "clang, a kernel that calls it"),
    ("fuse", {"_drop_repeated", "_fuse", "_join_variables", "_shift", "patch"},
     "cub/block/block_load.cuh", "PTX of clang -O0 and nvir"),
]

# Sources of which nvir makes PTX with neighbouring loops; nvcc unrolled these.
BY_NVIR = {"fuse": ("lightgbm/src/objective/cuda/cuda_multiclass_objective.cu",
                    "lightgbm/src/objective/cuda/cuda_rank_objective.cu",
                    "llama-cpp-python/vendor/llama.cpp/ggml/src/ggml-cuda/sumrows.cu")}
# One that clang reads, in which a phi joins structs.
BY_CLANG = {"structs": ("xgboost/cpp_src/src/tree/gpu_hist/leaf_sum.cu",)}

# Steps whose result is all that they give: one that says what stands for it cannot be missed.
BY_VALUE = {"direction", "nounroll_inwards", "passed_over", "pre_scan", "stride_fits", "swaps",
            "feasible", "_structure", "_count_alike"}


def registers(file: Any) -> Iterator[Any]:
    """What phase 24 makes of the loops, on registers."""
    module = nvir.read_ptx(file)
    for f in module.functions:
        for loop in natural_loops(f) if f.blocks else ():
            if len(loop.blocks) == 1 and len(loop.header) < 60:
                for mode in (0, 1):
                    machine = steps.gated(profile("sm_80_notes"), mode)
                    try:
                        with Trace():  # of phase 24, which has a group of its own
                            kernel = pipelined(loop, module, machine, "l1")
                        yield steps.placed(kernel, machine)
                    except NvirError:
                        break


def unrolling(file: Any) -> Iterator[Any]:
    """With an override string that names blocks of this file."""
    heads = [str(loop.header.name) for f in nvir.read_ptx(file).functions if f.blocks
             for loop in natural_loops(f)]
    yield from steps.unrolling(file, f"-{heads[0]}-+{heads[-1]}+" if heads else "")


Run = Callable[[], Iterator[Any]]
OF_PTX: dict[str, Callable[[Any], Iterator[Any]]] = {
    "unroll": unrolling, "hoist": steps.hoisting, "pipeline": steps.pipelining,
    "fuse": steps.fusing, "registers": registers,
}


@cache
def sources() -> dict[str, Source]:
    """The CUDA sources of an index, as clang is to read them, by their keys."""
    made = {}
    index = ROOT / "index.json"
    entries: dict[str, Any] = json.loads(index.read_text()) if index.is_file() else {}
    for key, e in entries.items():
        root = ROOT / "src" / f"{e['package']}-{e['version']}"
        path = root / key.partition("/")[2]
        folders = (ROOT / "stubs", *sorted((ROOT / "headers").glob("*/include")))
        include = [str(root / x) for x in e["includes"]] + [str(x) for x in folders]
        given = [x[2:] for x in e["flags"] if x.startswith("-D")]
        made[key] = Source(path.read_text("utf-8", "surrogateescape"), str(path), tuple(include),
                           tuple(given))
    return made


@cache
def unit_of(key: str) -> Any:
    """The tree of a source, None of one that nvir does not read by itself."""
    try:
        return check(read_cuda(sources()[key], "sm_80")[0])
    except NvirError:
        return None


def units(group: str) -> Iterator[Any]:
    """Trees of the sources, the smallest first; for inline assembly first those that have some, for
    headers have some, too."""
    has = lambda key: group == "asm" and "asm" in sources()[key].text  # noqa: E731
    small = sorted(sources(), key=lambda key: (not has(key), len(sources()[key].text)))
    return (unit for key in small if (unit := unit_of(key)) is not None)


def splits(unit: Any) -> Iterator[Any]:
    yield from steps.split(generate(unit, Options(policy="documented")))


def splits_whole(unit: Any) -> Iterator[Any]:
    """Of objects that travel whole, as the real front end has them, their uses in one block."""
    module = generate(unit, Options(policy="observed"))
    nvir.run_passes(module, "inline,simplify-cfg", policy="documented")
    yield from steps.split(module)


def splits_in_loops(unit: Any) -> Iterator[Any]:
    """The same with knobs under which each copy of two bytes is one of memory, and a loop."""
    module = generate(unit, Options(policy="observed"))
    nvir.run_passes(module, "inline,simplify-cfg", policy="documented")
    small = {"max-aggr-copy-size": 1, "memmove-unroll-threshold": 1}
    yield from steps.split(module, **small)


@cache
def compiled(unit: Any) -> bytes:
    """PTX that nvir makes of a tree."""
    module = compile_tree(unit, lines=False, knobs=Knobs(policy="documented"))
    return nvir.print_ptx(module).encode()


def with_libraries(key: str) -> Source:
    """A source that finds the headers of CUDA's libraries."""
    source = sources()[key]
    more = sorted(map(str, (ROOT / "headers").glob("*/*/include")))
    return attrs.evolve(source, include=(*source.include, *more))


def read_module(key: str) -> nvir.Module:
    """The module of a source that needs CUDA's own headers, which clang reads."""
    return read_source(with_libraries(key), "sm_80", lines=False)[0]


@cache
def compiled_source(key: str) -> bytes:
    """PTX that nvir makes of such a source."""
    module = read_module(key)
    compile_module(module, knobs=Knobs(policy="documented"))
    return nvir.print_ptx(module).encode()


def splits_source(key: str) -> Iterator[Any]:
    yield from steps.split(read_module(key))


def compiling(group: str, unit: Any) -> Iterator[Any]:
    yield from OF_PTX[group](compiled(unit))


def compiling_source(group: str, key: str) -> Iterator[Any]:
    unit = unit_of(key)
    yield from OF_PTX[group](compiled_source(key) if unit is None else compiled(unit))


def tried(group: str) -> Iterator[Run]:
    """A run of a group for each file of the corpus, the smallest first."""
    if group in OF_PTX:
        small = sorted((p.stat().st_size, p) for p in ROOT.rglob("*.ptx"))
        yield from (partial(OF_PTX[group], p) for _, p in small)
        yield from (partial(compiling_source, group, key) for key in BY_NVIR.get(group, ())
                    if key in sources())
    else:
        yield from of_trees(group, lambda: units(group))
        yield from (partial(splits_source, key) for key in BY_CLANG.get(group, ())
                    if key in sources())


def of_trees(group: str, trees: Callable[[], Iterable[Any]]) -> Iterator[Run]:
    ways: tuple[Callable[[Any], Iterator[Any]], ...] = (steps.generating,)
    if group in ("memory", "structs"):
        ways = (splits, splits_whole, *((splits_in_loops,) if group == "memory" else ()))
    yield from (partial(way, unit) for way in ways for unit in trees())


@on_corpus
@pytest.mark.slow
@pytest.mark.parametrize("group", steps.GROUPS)
def test_no_step_of_a_group_is_idle_on_the_corpus(group: str) -> None:
    idle, files = set(steps.REMOVED[group]) - set(EXAMPLE.get(group, ())), 0
    start, wanted = time.process_time(), len(idle)
    for run in tried(group):
        files += 1
        idle -= missed(group, idle, run)
        if not idle:
            break
    if not files:
        pytest.skip(f"no file under {ROOT} that {group} reads")
    COUNTED[group] = wanted - len(idle)
    shown = "; ".join(f"{n} ({x.files} lack {x.lacks})" for n, x in EXAMPLE.get(group, {}).items())
    print(f"\n{group}: {wanted - len(idle)} of {len(steps.REMOVED[group])} steps missed in {files} "
          f"runs, {time.process_time() - start:.0f} s of CPU; on examples: {shown or 'none'}; "
          f"idle: {', '.join(sorted(idle)) or 'none'}", flush=True)
    assert not idle


@on_corpus
@pytest.mark.slow
def test_the_sum_is_that_of_the_documentation() -> None:
    if set(COUNTED) != set(steps.GROUPS):
        pytest.skip("not all groups ran before")
    every = {g: len(steps.REMOVED[g]) for g in steps.GROUPS}
    missed_on_files = sum(COUNTED.values())
    print(f"\nin all: {missed_on_files} of {sum(every.values())} steps missed on files", flush=True)
    assert missed_on_files == sum(every.values()) - sum(map(len, EXAMPLE.values()))


def by_nvcc(key: str, folder: Path) -> bytes:
    """PTX of nvcc where cicc leaves calls and tests as they are written."""
    made, index = with_libraries(key), json.loads((ROOT / "index.json").read_text())
    own = [x for x in index[key]["flags"] if x != "-ptx" and not x.startswith("-arch")]
    options = [*own, "-Xcicc", "-O1", *(f"-I{x}" for x in made.include)]
    done = nvcc_ptx(Path(made.name), "sm_80", options, timeout=600)
    assert done.ptx is not None, done.log
    return done.ptx.encode()


def by_clang(key: str, folder: Path) -> bytes:
    """PTX of clang where it unrolls nothing, and says so of each loop."""
    made = with_libraries(key)
    flags = ("-fno-unroll-loops", "-Xclang", "-S")
    done = clang_ll(made.text, made.name, "sm_80", made.include, made.define, flags=flags,
                    optimise=1)
    assert done.text is not None, done.told
    return done.text.encode()


def by_older_toolkit(key: str, folder: Path) -> Any:
    """The tree of a source beside one of the corpus, which asks for the toolkit's version: what
    newer ones have, 8-bit floats, nvir's own headers do not."""
    (old := folder / "old.h").write_text(
        "#include <cuda_runtime.h>\n#undef CUDART_VERSION\n#define CUDART_VERSION 11070\n")
    near = sources()[f"{LLAMA}/sum.cu"]
    path = Path(near.name).parent / key.removeprefix(f"{LLAMA}/")
    given = attrs.evolve(near, text=path.read_text("utf-8"), name=str(path),
                         flags=("-include", str(old)))
    return check(read_cuda(given, "sm_80")[0])


def by_its_headers(key: str, folder: Path) -> Any:
    """The tree of a part of a source behind the parts that it wants before it."""
    path = next((ROOT / "src").glob(key))
    maths = path.parents[2] / "src/hexcore/data/mpasphys-maths/glibc_flt32.cuh"
    first = (maths, path.with_name("gfl_support.cuh"))
    flags = tuple(word for part in first for word in ("-include", str(part)))
    return check(read_cuda(Source(path.read_text("utf-8"), str(path), flags=flags), "sm_80")[0])


CALLING = {  # a library's header: how a kernel calls it
    "nccl_device/coop.h":
        "int *p) { ncclCoopWarpSpan s(0, 2, 1); s.sync(); p[0] = s.size(); }",
    "cuda/std/__algorithm/copy.h": "int *p, int *q, int n) { cuda::std::copy(p, p + n, q); }",
    "cub/block/block_load.cuh": """int *p, int *q) {
  int a[8], b[8];
  cub::LoadDirectStriped<128>(threadIdx.x, p, a);
  cub::LoadDirectStriped<128>(threadIdx.x, q, b);
  for (int i = 0; i < 8; ++i) p[threadIdx.x + i * 128] = a[i] + b[i]; }""",
}


def calling(key: str) -> Source:
    text = (f'#include <cuda/std/utility>\n#include <{key}>\n'
            f'extern "C" __global__ void k({CALLING[key]}\n')
    return attrs.evolve(with_libraries(f"{LLAMA}/sum.cu"), text=text, name="k.cu")


def by_a_kernel(key: str, folder: Path) -> Any:
    """The tree of a library's header under a kernel that calls it."""
    return check(read_cuda(calling(key), "sm_80")[0])


def by_clang_and_a_kernel(key: str, folder: Path, optimise: int = 2) -> str:
    """The same as LLVM text of clang."""
    made = calling(key)
    done = clang_ll(made.text, made.name, "sm_80", made.include, made.define, optimise=optimise)
    assert done.text is not None, done.told
    return done.text


def by_clang_and_nvir(key: str, folder: Path) -> bytes:
    """PTX that nvir makes where clang leaves even what its header unrolls."""
    module = nvir.read_ll(by_clang_and_a_kernel(key, folder, optimise=0))
    compile_module(module, knobs=Knobs(policy="documented"))
    return nvir.print_ptx(module).encode()


def splits_text(text: str) -> Iterator[Any]:
    yield from steps.split(nvir.read_ll(text))


MAKES = {"nvcc": by_nvcc, "clang": by_clang, "older toolkit": by_older_toolkit,
         "its headers": by_its_headers, "a kernel that calls it": by_a_kernel,
         "clang, a kernel that calls it": by_clang_and_a_kernel,
         "PTX of clang -O0 and nvir": by_clang_and_nvir}


@on_corpus
@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize(("group", "names", "key", "make"), OTHERWISE)
def test_another_make_of_a_source_asks_for_a_step(group, names, key, make, tmp_path):
    way = {**OF_PTX, "memory": splits_text}.get(group, steps.generating)
    run = partial(way, MAKES[make](key, tmp_path))
    assert missed(group, set(EXAMPLE[group]), run) >= names


@pytest.mark.parametrize(
    ("group", "file"), [(g, f) for g, rows in EXAMPLE.items()
                        for f in dict.fromkeys(x.example for x in rows.values())]
)
def test_an_example_asks_for_what_no_corpus_does(group: str, file: str) -> None:
    path = steps.EXAMPLES / file
    wanted = {n for n, x in EXAMPLE[group].items() if x.example == file}
    if path.suffix == ".ptx":
        runs: Iterable[Run] = [partial(OF_PTX[group], path)]
    elif path.suffix == ".ll":
        runs = [lambda: steps.split(nvir.read_ll(path))]
    else:
        tree = (runpy.run_path(str(path))["tree"]() if path.suffix == ".py"
                else read_cuda(source_of(path), "sm_90")[0])
        unit = check(tree)
        runs = [partial(compiling, group, unit)] if group in OF_PTX else of_trees(
            group, lambda: [unit])
    assert set().union(*(missed(group, wanted, run) for run in runs)) == wanted


def test_the_documentation_counts_the_steps_as_they_are() -> None:
    page = (steps.EXAMPLES.parent / "docs" / "documented.md").read_text("utf-8")
    steps_in_all = sum(map(len, steps.REMOVED.values()))
    no_file = sum(map(len, EXAMPLE.values()))
    assert f"each of {steps_in_all} out" in page
    assert f"{steps_in_all - no_file} of them are missed. The other\n{no_file} no file" in page


def missed(group: str, names: Iterable[str], run: Run) -> set[str]:
    """Which of some steps a run misses where they are taken out."""
    was = steps.outcome_of(run)
    return set() if isinstance(was[0], str) else {
        n for n in names if is_missed(group, n, run, was)
    }


def is_missed(group: str, name: str, run: Run, was: steps.Outcome) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        row = steps.take_out(group, name, patch)
        given = [e.outcome for e in was[1] if (e.row, e.step) == row]
        if row[0] and not given:
            return False  # it does not run on this file
        if name in BY_VALUE and all(x == plain(steps.REMOVED[group][name]()) for x in given):
            return False  # it says just what stands for it
        return steps.differs(was, steps.outcome_of(run), row)
