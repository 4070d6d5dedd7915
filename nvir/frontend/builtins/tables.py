"""The rows: what each family's functions are called, take and become. See `lowering` for the
language on the right, `@sm=90` for the least architecture.

Source: CUDA C++ Programming Guide (Device Intrinsics, Atomic Functions, Warp Functions), CUDA Math
API, the names in CUDA's own headers; PTX ISA for what they mean.
"""

from __future__ import annotations

from typing import Any

from nvir.frontend.builtins.tables_memory import MEMORY, TENSOR
from nvir.frontend.builtins.tables_numbers import BITS, CONVERSIONS, FLOATS, HALVES, MATH, VIDEO

Table = tuple[dict[str, Any], str]

_INTEGERS = ("int", "unsigned", "long", "unsigned long", "long long", "unsigned long long")
_WORDS = (*_INTEGERS, "float", "double", "half", "bfloat16")

_SYNC: list[Table] = [
    ({"family": "sync", "strategy": "intrinsic"}, """
void __syncthreads() -> llvm.nvvm.barrier0
int __syncthreads_count(int p) -> llvm.nvvm.barrier0.popc $0
int __syncthreads_and(int p) -> llvm.nvvm.barrier0.and $0
int __syncthreads_or(int p) -> llvm.nvvm.barrier0.or $0
void __syncwarp(unsigned mask = 0xffffffff) -> llvm.nvvm.bar.warp.sync $0
void __barrier_sync(unsigned id) -> llvm.nvvm.barrier.sync $0
void __barrier_sync_count(unsigned id, unsigned n) -> llvm.nvvm.barrier.sync.cnt $0 $1
void __threadfence_block() -> llvm.nvvm.membar.cta
void __threadfence() -> llvm.nvvm.membar.gl
void __threadfence_system() -> llvm.nvvm.membar.sys
void __trap() -> llvm.trap
void __brkpt() -> llvm.debugtrap
"""),
    ({"family": "sync", "strategy": "intrinsic"}, """
unsigned __activemask() -> asm! activemask.b32 =;
void __nanosleep(unsigned ns) -> asm! nanosleep.u32 $0; @sm=70
void __cluster_barrier_arrive() -> asm! barrier.cluster.arrive.aligned; @sm=90
void __cluster_barrier_arrive_relaxed() -> asm! barrier.cluster.arrive.relaxed.aligned; @sm=90
void __cluster_barrier_wait() -> asm! barrier.cluster.wait.aligned; @sm=90
void cudaGridDependencySynchronize() -> asm! griddepcontrol.wait; @sm=90
void cudaTriggerProgrammaticLaunchCompletion() -> asm! griddepcontrol.launch_dependents; @sm=90
long clock() -> py clock clock
long long clock64() -> py clock clock64
unsigned long long __globaltimer() -> py clock globaltimer
unsigned __fns(unsigned mask, unsigned base, int offset) -> asm fns.b32 =, $0, $1, $2;
"""),
]

_WARP: list[Table] = [
    ({"family": "vote", "strategy": "delegation"}, """
int __all_sync(unsigned m, int p) -> i1:llvm.nvvm.vote.all.sync $0 $1:p
int __any_sync(unsigned m, int p) -> i1:llvm.nvvm.vote.any.sync $0 $1:p
int __uni_sync(unsigned m, int p) -> i1:llvm.nvvm.vote.uni.sync $0 $1:p
unsigned __ballot_sync(unsigned m, int p) -> llvm.nvvm.vote.ballot.sync $0 $1:p
int __all(int p) -> i1:llvm.nvvm.vote.all $0:p @below=70
int __any(int p) -> i1:llvm.nvvm.vote.any $0:p @below=70
int __uni(int p) -> i1:llvm.nvvm.vote.uni $0:p @below=70
unsigned __ballot(int p) -> llvm.nvvm.vote.ballot $0:p @below=70
"""),
    ({"family": "shuffle", "strategy": "delegation", "types": _WORDS}, """
T __shfl(T v, int lane, int width = 32) -> py shuffle idx legacy @below=70
T __shfl_up(T v, unsigned by, int width = 32) -> py shuffle up legacy @below=70
T __shfl_down(T v, unsigned by, int width = 32) -> py shuffle down legacy @below=70
T __shfl_xor(T v, int mask, int width = 32) -> py shuffle bfly legacy @below=70
T __shfl_sync(unsigned m, T v, int lane, int width = 32) -> py shuffle idx
T __shfl_up_sync(unsigned m, T v, unsigned by, int width = 32) -> py shuffle up
T __shfl_down_sync(unsigned m, T v, unsigned by, int width = 32) -> py shuffle down
T __shfl_xor_sync(unsigned m, T v, int mask, int width = 32) -> py shuffle bfly
"""),
    ({"family": "warp", "strategy": "table",
      "types": ("int", "unsigned", "long long", "unsigned long long", "float", "double")}, """
unsigned __match_any_sync(unsigned m, T v) -> py match_any @sm=70
unsigned __match_all_sync(unsigned m, T v, int *p) -> py match_all @sm=70
"""),
    ({"family": "warp", "strategy": "table", "types": ("int", "unsigned")}, """
T __reduce_add_sync(unsigned m, T v) -> asm! redux.sync.add.{f} =, $1, $0; @sm=80
T __reduce_min_sync(unsigned m, T v) -> asm! redux.sync.min.{f} =, $1, $0; @sm=80
T __reduce_max_sync(unsigned m, T v) -> asm! redux.sync.max.{f} =, $1, $0; @sm=80
unsigned __reduce_and_sync(unsigned m, unsigned v) -> asm! redux.sync.and.b32 =, $1, $0; @sm=80
unsigned __reduce_or_sync(unsigned m, unsigned v) -> asm! redux.sync.or.b32 =, $1, $0; @sm=80
unsigned __reduce_xor_sync(unsigned m, unsigned v) -> asm! redux.sync.xor.b32 =, $1, $0; @sm=80
"""),
]

_RMW = {
    "Add": ("add", (*_INTEGERS, "float", "double", "half", "bfloat16")),
    "Sub": ("sub", ("int", "unsigned")),
    "Exch": ("xchg", (*_INTEGERS, "float")),
    "Min": ("min", _INTEGERS), "Max": ("max", _INTEGERS),
    "Inc": ("uinc_wrap", ("unsigned",)), "Dec": ("udec_wrap", ("unsigned",)),
    "And": ("and", _INTEGERS), "Or": ("or", _INTEGERS), "Xor": ("xor", _INTEGERS),
}
_SCOPES = {"": "agent", "_block": "workgroup", "_system": ""}


def _atomics() -> list[Table]:
    out: list[Table] = []
    for suffix, scope in _SCOPES.items():
        for name, (what, types) in _RMW.items():
            header = {"family": "atomic", "strategy": "delegation", "types": types}
            row = f"T atomic{name}{suffix}(T *p, T v) -> py atomic {what} {scope or 'system'}"
            out.append((header, row))
        header = {"family": "atomic", "strategy": "delegation",
                  "types": (*_INTEGERS, "unsigned short")}
        row = f"T atomicCAS{suffix}(T *p, T old, T new) -> py compare_and_swap {scope or 'system'}"
        out.append((header, row))
    return out


TABLES: list[Table] = [
    *_SYNC, *_WARP, *_atomics(), *BITS, *CONVERSIONS, *FLOATS, *HALVES, *VIDEO, *MATH, *MEMORY,
    *TENSOR,
]
