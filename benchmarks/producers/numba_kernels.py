"""Kernels that make.py has Numba compile, without a GPU."""

import math

from numba import cuda, float32, float64, int32, int64, types
from numba.cuda import libdevice


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def stride(x, y):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        y[i] = math.sqrt(abs(x[i])) + 1


def matmul(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if x >= c.shape[0] or y >= c.shape[1]:
        return
    t = float32(0)
    for k in range(a.shape[1] // 16):
        sa[tx, ty] = a[x, ty + k * 16]
        sb[tx, ty] = b[tx + k * 16, y]
        cuda.syncthreads()
        for j in range(16):
            t += sa[tx, j] * sb[j, ty]
        cuda.syncthreads()
    c[x, y] = t


def reduce_(x, out):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def hist(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % bins.size, 1)


def mandel(img, x0, y0, dx, dy, iters):
    i, j = cuda.grid(2)
    if i < img.shape[0] and j < img.shape[1]:
        c = complex(x0 + i * dx, y0 + j * dy)
        z = 0j
        for k in range(iters):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                img[i, j] = k
                return
        img[i, j] = iters


def local_(x, y):
    t = cuda.local.array(8, float32)
    i = cuda.grid(1)
    for k in range(8):
        t[k] = x[i * 8 + k]
    for k in range(8):
        for m in range(7 - k):
            if t[m] > t[m + 1]:
                t[m], t[m + 1] = t[m + 1], t[m]
    for k in range(8):
        y[i * 8 + k] = t[k]


def divide(a, b, q, r):
    i = cuda.grid(1)
    if i < a.size:
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]


def maths(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (
            math.sin(x[i])
            + math.exp(x[i]) * math.log(abs(x[i]) + 1)
            + math.pow(x[i], 2.5)
            + math.floor(x[i])
        )


def shuffle(x, y):
    i = cuda.grid(1)
    v = x[i]
    for k in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
    y[i] = v + cuda.popc(cuda.ballot_sync(0xFFFFFFFF, v > 3))


def branches(x, op, y):
    i = cuda.grid(1)
    if i < x.size:
        o = op[i]
        if o == 0:
            y[i] = x[i] + 1
        elif o == 1:
            y[i] = x[i] * 2
        elif o == 2:
            y[i] = x[i] ** 2
        elif o == 3:
            y[i] = -x[i]
        else:
            y[i] = 0


def tuples(x, y, shape):
    i = cuda.grid(1)
    a, b, c = shape
    if i < a * b * c:
        p = (i // (b * c), i // c % b, i % c)
        y[p] = x[p] * (p[0] + p[1] + p[2])


def cas(x, old):
    i = cuda.grid(1)
    old[i] = cuda.atomic.cas(x, i % 4, 0, i)
    cuda.atomic.max(x, 4, i)
    cuda.atomic.min(x, 5, i)


def fastm(x, y):
    i = cuda.grid(1)
    y[i] = libdevice.fast_sinf(x[i]) + libdevice.rsqrtf(x[i]) + cuda.fma(x[i], x[i], 1.0)


def bits(x, y):
    i = cuda.grid(1)
    y[i] = cuda.brev(x[i]) ^ cuda.clz(x[i]) ^ cuda.ffs(x[i]) ^ (x[i] << 3) ^ (x[i] >> 2)


def stencil(a, b):
    i, j = cuda.grid(2)
    if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def slices(a, out):
    i = cuda.grid(1)
    row = a[i]
    s = 0.0
    for v in row[1:-1]:
        s += v
    out[i] = s


def scan(x, y):
    s = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        v = s[t]
        if t >= d:
            v += s[t - d]
        cuda.syncthreads()
        s[t] = v
        cuda.syncthreads()
        d *= 2
    y[t] = s[t]


def nbody(p, f, eps):
    i = cuda.grid(1)
    if i < p.shape[0]:
        ax = ay = az = float32(0)
        for j in range(p.shape[0]):
            dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
            d2 = dx * dx + dy * dy + dz * dz + eps
            inv = float32(1) / math.sqrt(d2 * d2 * d2)
            ax += dx * inv
            ay += dy * inv
            az += dz * inv
        f[i, 0] = ax
        f[i, 1] = ay
        f[i, 2] = az


def ranges(x, lo, hi, step, y):
    i = cuda.grid(1)
    s = 0
    for k in range(lo, hi, step):
        if k == i:
            continue
        s += x[k] * k
    y[i] = s


f, d, i4, i8 = float32, float64, int32, int64
KERNELS = [
    (saxpy, (f, f[:], f[:]), {}),
    (stride, (f[::1], f[::1]), {}),
    (matmul, (f[:, ::1], f[:, ::1], f[:, ::1]), {}),
    (reduce_, (d[:], d[:]), {}),
    (hist, (i4[:], i4[:]), {}),
    (mandel, (i4[:, :], d, d, d, d, i4), {}),
    (local_, (f[:], f[:]), {}),
    (divide, (i8[:], i8[:], i8[:], i8[:]), {}),
    (maths, (d[:], d[:]), {}),
    (shuffle, (i4[:], i4[:]), {}),
    (branches, (f[:], i4[:], f[:]), {}),
    (tuples, (f[:, :, :], f[:, :, :], types.UniTuple(i8, 3)), {}),
    (cas, (i4[:], i4[:]), {}),
    (fastm, (f[:], f[:]), {"fastmath": True}),
    (bits, (i4[:], i4[:]), {"lineinfo": True}),
    (stencil, (f[:, ::1], f[:, ::1]), {"fastmath": True}),
    (slices, (d[:, :], d[:]), {}),
    (scan, (i4[:], i4[:]), {"debug": True, "opt": False}),
    (nbody, (f[:, ::1], f[:, ::1], f), {"lineinfo": True}),
    (ranges, (i4[:], i8, i8, i8, i8[:]), {"debug": True, "opt": False}),
]
