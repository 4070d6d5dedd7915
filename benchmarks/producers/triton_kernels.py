"""Kernels that make.py has Triton compile, without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, o, s, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * s + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + r * s + i, v / tl.sum(v, axis=0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sa + (k + rk)[None, :], mask=(k + rk)[None, :] < K, other=0.0)
        y = tl.load(b + (k + rk)[:, None] * sb + rn[None, :], mask=(k + rk)[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(
        c + rm[:, None] * sc + rn[None, :],
        acc.to(tl.float16),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@triton.jit
def layernorm(x, w, b, o, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + r * n + i, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(m, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    y = d / tl.sqrt(var + eps) * tl.load(w + i, mask=m) + tl.load(b + i, mask=m)
    tl.store(o + r * n + i, y, mask=m)


@triton.jit
def hist(x, o, n, B: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    h = tl.histogram(v, K)
    tl.atomic_add(o + tl.arange(0, K), h)


@triton.jit
def cumsum(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def rope(x, c, s, o, n, H: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, H)
    a = tl.load(x + r * 2 * H + i)
    b = tl.load(x + r * 2 * H + H + i)
    cc = tl.load(c + r * H + i)
    ss = tl.load(s + r * H + i)
    tl.store(o + r * 2 * H + i, a * cc - b * ss)
    tl.store(o + r * 2 * H + H + i, a * ss + b * cc)


@triton.jit
def dropout(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    keep = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(keep, v / (1 - p), 0.0), mask=i < n)


@triton.jit
def gelu(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    y = 0.5 * v * (1 + tl.erf(v * 0.70710678))
    tl.store(o + i, y.to(tl.bfloat16), mask=i < n)


@triton.jit
def attention(q, k, v, o, n, D: tl.constexpr, B: tl.constexpr):
    s = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    qq = tl.load(q + s[:, None] * D + d[None, :])
    m = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for j in range(0, n, B):
        t = j + tl.arange(0, B)
        kk = tl.load(k + t[None, :] * D + d[:, None])
        vv = tl.load(v + t[:, None] * D + d[None, :])
        p = tl.dot(qq, kk)
        mn = tl.maximum(m, tl.max(p, 1))
        p = tl.exp2(p - mn[:, None])
        al = tl.exp2(m - mn)
        total = total * al + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), vv, acc * al[:, None])
        m = mn
    tl.store(o + s[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def intdiv(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a, b = tl.load(x + i, mask=m), tl.load(y + i, mask=m, other=1)
    tl.store(o + i, a // b + a % 7 - (a >> 3), mask=m)


@triton.jit
def cas(p, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.atomic_cas(p + i % 4, i * 0, i))
    tl.atomic_max(p + 4 + i % 2, i)


@triton.jit
def argmax(x, o, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * n + i, mask=i < n, other=-1e9)
    tl.store(o + r, tl.argmax(v, axis=0))


@triton.jit
def sort(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.sort(tl.load(x + i)))


F, H, W, BF, C = "*fp32", "*fp16", "i32", "*bf16", "constexpr"
CASES = [
    (add, {"x": F, "y": F, "o": F, "n": W, "B": C}, {"B": 512}),
    (softmax, {"x": F, "o": F, "s": W, "n": W, "B": C}, {"B": 1024}),
    (
        matmul,
        {"a": H, "b": H, "c": H, "M": W, "N": W, "K": W, "sa": W, "sb": W, "sc": W,
         "BM": C, "BN": C, "BK": C},
        {"BM": 64, "BN": 64, "BK": 32},
    ),
    (layernorm, {"x": F, "w": F, "b": F, "o": F, "n": W, "eps": "fp32", "B": C}, {"B": 1024}),
    (hist, {"x": "*i32", "o": "*i32", "n": W, "B": C, "K": C}, {"B": 512, "K": 64}),
    (cumsum, {"x": F, "o": F, "B": C}, {"B": 256}),
    (rope, {"x": F, "c": F, "s": F, "o": F, "n": W, "H": C}, {"H": 64}),
    (dropout, {"x": F, "o": F, "n": W, "p": "fp32", "seed": W, "B": C}, {"B": 512}),
    (gelu, {"x": BF, "o": BF, "n": W, "B": C}, {"B": 512}),
    (attention, {"q": H, "k": H, "v": H, "o": H, "n": W, "D": C, "B": C}, {"D": 64, "B": 64}),
    (intdiv, {"x": "*i32", "y": "*i32", "o": "*i32", "n": W, "B": C}, {"B": 256}),
    (cas, {"p": "*i32", "o": "*i32", "B": C}, {"B": 128}),
    (argmax, {"x": F, "o": "*i32", "n": W, "B": C}, {"B": 512}),
    (sort, {"x": F, "o": F, "B": C}, {"B": 128}),
]


def compiled():
    """(name, LLVM text, PTX) of each case for two architectures."""
    for fn, signature, constants in CASES:
        for cc in (80, 90):
            pointers = [k for k, t in enumerate(signature.values()) if t.startswith("*")]
            aligned = cc == 90 or fn in (matmul, attention)
            attrs = {(k,): [["tt.divisibility", 16]] for k in pointers} if aligned else {}
            source = ASTSource(fn=fn, signature=signature, constexprs=constants, attrs=attrs)
            made = triton.compile(source, target=GPUTarget("cuda", cc, 32))
            yield f"{fn.__name__}.sm{cc}", made.asm["llir"], made.asm["ptx"]
