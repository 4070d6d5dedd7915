"""Rows of memory: cached accesses, copies, barrier objects, bulk copies; and of matrices."""

from __future__ import annotations

from typing import Any

Table = tuple[dict[str, Any], str]

_ANY = {"family": "memory", "strategy": "delegation", "types": ("*",)}


def _cached() -> str:
    lines = ["T __ldg(const T *p) -> py load_cached nc"]
    for name in ("ca", "cg", "cs", "lu", "cv"):
        lines.append(f"T __ld{name}(const T *p) -> py load_cached {name}")
    for name in ("wb", "cg", "cs", "wt"):
        lines.append(f"void __st{name}(T *p, T v) -> py store_cached {name}")
    return "\n".join(lines)


def _barriers() -> str:
    """Barrier objects in shared memory, with the names of CUDA's primitives."""
    p = "unsigned long long *b"
    return f"""
void __mbarrier_init({p}, unsigned n) -> asm! mbarrier.init.shared.b64 [$0:s3], $1;
void __mbarrier_inval({p}) -> asm! mbarrier.inval.shared.b64 [$0:s3];
unsigned long long __mbarrier_arrive({p}) -> asm! mbarrier.arrive.shared.b64 =, [$0:s3];
unsigned long long __mbarrier_arrive_and_drop({p}) -> \
asm! mbarrier.arrive_drop.shared.b64 =, [$0:s3];
bool __mbarrier_test_wait({p}, unsigned long long t) -> py wait_barrier test_wait token
bool __mbarrier_try_wait({p}, unsigned long long t) -> py wait_barrier try_wait token @sm=90
bool __mbarrier_test_wait_parity({p}, unsigned phase) -> py wait_barrier test_wait parity
bool __mbarrier_try_wait_parity({p}, unsigned phase) -> py wait_barrier try_wait parity @sm=90
unsigned long long __mbarrier_arrive_expect_tx({p}, unsigned n) -> \
asm! mbarrier.arrive.expect_tx.shared.b64 =, [$0:s3], $1; @sm=90
void __mbarrier_expect_tx({p}, unsigned n) -> \
asm! mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0:s3], $1; @sm=90
""".replace("\\\n", "")


def _bulk() -> str:
    """Bulk copies; those of tensors take the map and 1 to 5 coordinates."""
    b = "unsigned long long *b"
    head = "cp.async.bulk"
    lines = [
        f"void __cp_async_bulk_shared_global(void *to, const void *p, unsigned n, {b}) -> asm! "
        f"{head}.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[$0:s3], [$1:s1], $2, [$3:s3]; @sm=90",
        "void __cp_async_bulk_global_shared(void *to, const void *p, unsigned n) -> asm! "
        f"{head}.global.shared::cta.bulk_group [$0:s1], [$1:s3], $2; @sm=90",
        f"void __cp_async_bulk_commit_group() -> asm! {head}.commit_group; @sm=90",
        "void __cp_async_bulk_wait_group(int n) -> py wait_group cp.async.bulk.wait_group @sm=90",
        "void __cp_async_bulk_wait_group_read(int n) -> "
        "py wait_group cp.async.bulk.wait_group.read @sm=90",
        "void __fence_proxy_async() -> asm! fence.proxy.async; @sm=90",
    ]
    for n in range(1, 6):
        params = ", ".join(f"int c{k}" for k in range(n))
        at = ", ".join(f"${k + 2}" for k in range(n))
        name, tensor = f"tensor_{n}d", f"{head}.tensor.{n}d"
        lines.append(
            f"void __cp_async_bulk_{name}_shared_global(void *to, const void *map, {params}, {b}) "
            f"-> asm! {tensor}.shared::cluster.global.mbarrier::complete_tx::bytes "
            f"[$0:s3], [$1, {{{at}}}], [${n + 2}:s3]; @sm=90"
        )
        lines.append(
            f"void __cp_async_bulk_{name}_global_shared(const void *map, const void *p, {params}) "
            f"-> asm! {tensor}.global.shared::cta.bulk_group [$0, {{{at}}}], [$1:s3]; @sm=90"
        )
        lines.append(
            f"void __cp_async_bulk_prefetch_{name}(const void *map, {params}) -> asm! "
            f"cp.async.bulk.prefetch.tensor.{n}d.L2.global [$0, "
            f"{{{', '.join(f'${k + 1}' for k in range(n))}}}]; @sm=90"
        )
    return "\n".join(lines)


MEMORY: list[Table] = [
    (_ANY, _cached()),
    ({"family": "memory", "strategy": "delegation"}, """
void *memcpy(void *to, const void *p, size_t n) -> py copy_memory
void *memmove(void *to, const void *p, size_t n) -> py copy_memory move
void *memset(void *to, int v, size_t n) -> py fill_memory
void __pipeline_memcpy_async(void *, const void *, size_t, size_t zeros = 0) -> py copy_async @sm=80
void __pipeline_commit() -> llvm.nvvm.cp.async.commit.group @sm=80
void __pipeline_wait_prior(unsigned n) -> py wait_group cp.async.wait_group @sm=80
void __pipeline_wait_all() -> llvm.nvvm.cp.async.wait.all @sm=80
void __pipeline_arrive_on(unsigned long long *) -> py arrive_on @sm=80
int __isGlobal(const void *p) -> i1:llvm.nvvm.isspacep.global $0
int __isShared(const void *p) -> i1:llvm.nvvm.isspacep.shared $0
int __isLocal(const void *p) -> i1:llvm.nvvm.isspacep.local $0
int __isConstant(const void *p) -> i1:llvm.nvvm.isspacep.const $0
size_t __cvta_generic_to_global(const void *p) -> py to_space 1
size_t __cvta_generic_to_shared(const void *p) -> py to_space 3
size_t __cvta_generic_to_constant(const void *p) -> py to_space 4
size_t __cvta_generic_to_local(const void *p) -> py to_space 5
void *__cvta_global_to_generic(size_t p) -> py from_space 1
void *__cvta_shared_to_generic(size_t p) -> py from_space 3
void *__cvta_constant_to_generic(size_t p) -> py from_space 4
void *__cvta_local_to_generic(size_t p) -> py from_space 5
void __prefetch_global_l1(const void *p) -> asm! prefetch.global.L1 [$0:s1];
void __prefetch_global_l2(const void *p) -> asm! prefetch.global.L2 [$0:s1];
void *malloc(size_t n) -> py external malloc
void free(void *p) -> py external free
"""),
    ({"family": "barrier", "strategy": "gated"}, _barriers()),
    ({"family": "tma", "strategy": "gated"}, _bulk()),
]

# The fragments of CUDA's matrix functions: prefix and shape → (type of A and B, registers of A,
# of B, of C; C type of A's and B's registers; least architecture).
SHAPES = ("m16n16k16", "m32n8k16", "m8n32k16")
_AB8 = {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)}
_AB16 = {"m16n16k16": (4, 4), "m32n8k16": (8, 2), "m8n32k16": (2, 8)}


def _loads(prefix: str, shape: str, parts: list[tuple[str, str, str, int]], gate: str) -> list[str]:
    """Rows of `ld_a`, `ld_b`, `ld_c`, `st_c`: (name, fragment, type, registers)."""
    lines = []
    for name, what, kind, n in parts:
        c = {"f32": "float", "f64": "double", "tf32": "float"}.get(kind, "int")
        c = "int" if name != what and kind in ("f16", "bf16") else c
        if name.startswith("st"):
            sig = f"({c} *to, const {c} *from, unsigned ldm, int layout)"
            lines.append(f"void {prefix}_{shape}_{name}{sig} -> "
                         f"py matrix_store {shape} {kind} {n}{gate}")
        else:
            sig = f"({c} *to, const {c} *from, unsigned ldm, int layout)"
            lines.append(f"void {prefix}_{shape}_{name}{sig} -> "
                         f"py matrix_load {shape} {what} {kind} {n}{gate}")
    return lines


def _hmma() -> list[str]:
    lines = []
    for shape in SHAPES:
        p = "__hmma"
        lines += _loads(p, shape, [
            ("ld_a", "a", "f16", 8), ("ld_b", "b", "f16", 8), ("ld_c_f16", "c", "f16", 4),
            ("ld_c_f32", "c", "f32", 8), ("st_c_f16", "d", "f16", 4), ("st_c_f32", "d", "f32", 8),
        ], " @sm=70")
        for d, nd in (("f32", 8), ("f16", 4)):
            for c, nc in (("f32", 8), ("f16", 4)):
                ct = {"f32": "float", "f16": "int"}
                lines.append(
                    f"void {p}_{shape}_mma_{d}{c}({ct[d]} *d, const int *a, const int *b, "
                    f"const {ct[c]} *c, int layout, int satf) -> "
                    f"py matrix_product {shape} {d}.{c} {nd} 8 8 {nc} @sm=70"
                )
    return lines


def _imma() -> list[str]:
    lines = []
    for shape in SHAPES:
        na, nb = _AB8[shape]
        for t in ("s8", "u8"):
            lines += _loads("__imma", shape, [
                (f"ld_a_{t}", "a", t, na), (f"ld_b_{t}", "b", t, nb),
            ], " @sm=72")
            lines.append(
                f"void __imma_{shape}_mma_{t}(int *d, const int *a, const int *b, const int *c, "
                f"int layout, int satf) -> py matrix_product {shape} {t} 8 {na} {nb} 8 @sm=72"
            )
        lines += _loads("__imma", shape, [("ld_c", "c", "s32", 8), ("st_c_i32", "d", "s32", 8)],
                        " @sm=72")
    return lines


def _others() -> list[str]:
    lines = []
    for shape in SHAPES:
        na, nb = _AB16[shape]
        p = "__mma_bf16"
        lines += _loads(p, shape, [
            ("ld_a", "a", "bf16", na), ("ld_b", "b", "bf16", nb),
        ], " @sm=80")
        lines.append(
            f"void {p}_{shape}_mma_f32(float *d, const int *a, const int *b, const float *c, "
            f"int layout, int satf) -> py matrix_product {shape} bf16 8 {na} {nb} 8 @sm=80"
        )
    t = "m16n16k8"
    lines += [
        f"void __mma_tf32_{t}_ld_a(int *to, const int *from, unsigned ldm, int layout) -> "
        f"py matrix_load {t} a tf32 4 @sm=80",
        f"void __mma_tf32_{t}_ld_b(int *to, const int *from, unsigned ldm, int layout) -> "
        f"py matrix_load {t} b tf32 4 @sm=80",
        f"void __mma_tf32_{t}_ld_c(float *to, const float *from, unsigned ldm, int layout) -> "
        f"py matrix_load {t} c f32 8 @sm=80",
        f"void __mma_{t}_st_c_f32(float *to, const float *from, unsigned ldm, int layout) -> "
        f"py matrix_store {t} f32 8 @sm=80",
        f"void __mma_tf32_{t}_mma_f32(float *d, const int *a, const int *b, const float *c, "
        f"int layout, int satf) -> py matrix_product {t} tf32 8 4 4 8 @sm=80",
    ]
    t, d = "m8n8k4", "double"
    for name, what, n in (("ld_a", "a", 1), ("ld_b", "b", 1), ("ld_c", "c", 2)):
        lines.append(f"void __dmma_{t}_{name}({d} *to, const {d} *from, unsigned ldm, int layout) "
                     f"-> py matrix_load {t} {what} f64 {n} @sm=80")
    lines.append(f"void __dmma_{t}_st_c_f64({d} *to, const {d} *from, unsigned ldm, int layout) "
                 f"-> py matrix_store {t} f64 2 @sm=80")
    lines.append(f"void __dmma_{t}_mma_f64({d} *d, const {d} *a, const {d} *b, const {d} *c, "
                 f"int layout, int unused) -> py matrix_product {t} f64 2 1 1 2 @sm=80")
    return lines


def _fp8() -> list[str]:
    """8-bit floats exist as mma.sync alone."""
    lines = []
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            lines.append(
                f"void __mma_m16n8k32_{a}_{b}_f32(float *d, const int *a, const int *b, "
                f"const float *c) -> py warp_product m16n8k32 f32.{a}.{b}.f32 4 4 2 4 @sm=89"
            )
    for k, a in ((16, "f16"), (16, "bf16")):
        lines.append(
            f"void __mma_m16n8k{k}_{a}_{a}_f32(float *d, const int *a, const int *b, "
            f"const float *c) -> py warp_product m16n8k{k} f32.{a}.{a}.f32 4 4 2 4 @sm=80"
        )
    return lines


def _wgmma() -> list[str]:
    lines = [
        "void __wgmma_fence() -> asm! wgmma.fence.sync.aligned; @sm=90",
        "void __wgmma_commit_group() -> asm! wgmma.commit_group.sync.aligned; @sm=90",
        "void __wgmma_wait_group(int n) -> py wait_group wgmma.wait_group.sync.aligned @sm=90",
    ]
    desc = "unsigned long long"
    for n in (8, 16, 32, 64, 128, 256):
        for t in ("f16", "bf16"):
            lines.append(
                f"void __wgmma_m64n{n}k16_f32_{t}(float *d, {desc} a, {desc} b, int scale_d, "
                "int negate_a, int negate_b, int transpose_a, int transpose_b) -> "
                f"py warpgroup_product {n} {t} @sm=90"
            )
    return lines


TENSOR: list[Table] = [
    ({"family": "wmma", "strategy": "delegation"},
     "\n".join([*_hmma(), *_imma(), *_others(), *_fp8()])),
    ({"family": "wgmma", "strategy": "gated"}, "\n".join(_wgmma())),
]
