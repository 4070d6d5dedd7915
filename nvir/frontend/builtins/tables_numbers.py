"""Rows of arithmetic: bits, conversions, roundings, half precision, SIMD in a word, mathematics."""

from __future__ import annotations

from typing import Any

Table = tuple[dict[str, Any], str]

_INTRINSIC = {"family": "bits", "strategy": "intrinsic"}

BITS: list[Table] = [
    (_INTRINSIC, """
int __popc(unsigned x) -> llvm.ctpop.i32 $0
int __popcll(unsigned long long x) -> i64:llvm.ctpop.i64 $0
int __clz(int x) -> llvm.ctlz.i32 $0 false
int __clzll(long long x) -> i64:llvm.ctlz.i64 $0 false
unsigned __brev(unsigned x) -> llvm.bitreverse.i32 $0
unsigned long long __brevll(unsigned long long x) -> llvm.bitreverse.i64 $0
unsigned __byte_perm(unsigned a, unsigned b, unsigned s) -> asm prmt.b32 =, $0, $1, $2;
int __mulhi(int a, int b) -> llvm.nvvm.mulhi.i $0 $1
unsigned __umulhi(unsigned a, unsigned b) -> llvm.nvvm.mulhi.ui $0 $1
long long __mul64hi(long long a, long long b) -> llvm.nvvm.mulhi.ll $0 $1
unsigned long long __umul64hi(unsigned long long, unsigned long long) -> llvm.nvvm.mulhi.ull $0 $1
int __mul24(int a, int b) -> llvm.nvvm.mul24.i $0 $1
unsigned __umul24(unsigned a, unsigned b) -> llvm.nvvm.mul24.ui $0 $1
unsigned __sad(int a, int b, unsigned c) -> llvm.nvvm.sad.i $0 $1 $2
unsigned __usad(unsigned a, unsigned b, unsigned c) -> llvm.nvvm.sad.ui $0 $1 $2
int __dp4a(int a, int b, int c) -> asm dp4a.s32.s32 =, $0, $1, $2;
unsigned __dp4a(unsigned a, unsigned b, unsigned c) -> asm dp4a.u32.u32 =, $0, $1, $2;
int __dp2a_lo(int a, int b, int c) -> asm dp2a.lo.s32.s32 =, $0, $1, $2;
int __dp2a_hi(int a, int b, int c) -> asm dp2a.hi.s32.s32 =, $0, $1, $2;
unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) -> asm dp2a.lo.u32.u32 =, $0, $1, $2;
unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) -> asm dp2a.hi.u32.u32 =, $0, $1, $2;
unsigned __funnelshift_l(unsigned, unsigned, unsigned) -> asm shf.l.wrap.b32 =, $0, $1, $2;
unsigned __funnelshift_lc(unsigned, unsigned, unsigned) -> asm shf.l.clamp.b32 =, $0, $1, $2;
unsigned __funnelshift_r(unsigned, unsigned, unsigned) -> asm shf.r.wrap.b32 =, $0, $1, $2;
unsigned __funnelshift_rc(unsigned, unsigned, unsigned) -> asm shf.r.clamp.b32 =, $0, $1, $2;
"""),
    ({"family": "bits", "strategy": "inline"}, """
int __ffs(int x) -> py find_first
int __ffsll(long long x) -> py find_first
int __hadd(int a, int b) -> py average signed down
int __rhadd(int a, int b) -> py average signed up
unsigned __uhadd(unsigned a, unsigned b) -> py average unsigned down
unsigned __urhadd(unsigned a, unsigned b) -> py average unsigned up
int abs(int x) -> py absolute
long labs(long x) -> py absolute
long long llabs(long long x) -> py absolute
long abs(long x) -> py absolute
long long abs(long long x) -> py absolute
int __float_as_int(float x) -> py bits
unsigned __float_as_uint(float x) -> py bits
float __int_as_float(int x) -> py bits
float __uint_as_float(unsigned x) -> py bits
long long __double_as_longlong(double x) -> py bits
double __longlong_as_double(long long x) -> py bits
short __half_as_short(half x) -> py bits
unsigned short __half_as_ushort(half x) -> py bits
half __short_as_half(short x) -> py bits
half __ushort_as_half(unsigned short x) -> py bits
int __double2hiint(double x) -> py half_of_double hi
int __double2loint(double x) -> py half_of_double lo
double __hiloint2double(int hi, int lo) -> py double_of_halves
"""),
    ({"family": "bits", "strategy": "table", "types": (
        "int", "unsigned", "long", "unsigned long", "long long", "unsigned long long")}, """
T min(T a, T b) -> py extremum min
T max(T a, T b) -> py extremum max
"""),
    ({"family": "bits", "strategy": "inline"}, """
unsigned umin(unsigned a, unsigned b) -> py extremum min
unsigned umax(unsigned a, unsigned b) -> py extremum max
long long llmin(long long a, long long b) -> py extremum min
long long llmax(long long a, long long b) -> py extremum max
unsigned long long ullmin(unsigned long long a, unsigned long long b) -> py extremum min
unsigned long long ullmax(unsigned long long a, unsigned long long b) -> py extremum max
"""),
]

_MODES = ("rn", "rz", "ru", "rd")
_LLVM_MODE = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}
_INTEGER = {"int": ("int", "i"), "uint": ("unsigned", "ui"), "ll": ("long long", "ll"),
            "ull": ("unsigned long long", "ull")}


def _conversions() -> str:
    lines = []
    for mode in _MODES:
        m = _LLVM_MODE[mode]
        for name, (c, short) in _INTEGER.items():
            for real, letter in (("float", "f"), ("double", "d")):
                lines.append(f"{c} __{real}2{name}_{mode}({real} x) -> "
                             f"llvm.nvvm.{letter}2{short}.{m} $0")
                if real == "float" or name in ("ll", "ull"):
                    lines.append(f"{real} __{name}2{real}_{mode}({c} x) -> "
                                 f"llvm.nvvm.{short}2{letter}.{m} $0")
        lines.append(f"float __double2float_{mode}(double x) -> llvm.nvvm.d2f.{m} $0")
    lines.append("double __int2double_rn(int x) -> llvm.nvvm.i2d.rn $0")
    lines.append("double __uint2double_rn(unsigned x) -> llvm.nvvm.ui2d.rn $0")
    return "\n".join(lines)


CONVERSIONS: list[Table] = [({"family": "conversion", "strategy": "table"}, _conversions())]


def _rounded() -> str:
    lines = []
    for mode in _MODES:
        m = _LLVM_MODE[mode]
        for real, c, d, fma in (("float", "f", "f", "__fmaf"), ("double", "d", "d", "__fma")):
            two = f"({real} a, {real} b)"
            for name in ("add", "mul"):
                lines.append(f"{real} __{c}{name}_{mode}{two} -> llvm.nvvm.{name}.{m}.{d} $0 $1")
            lines.append(f"{real} __{c}sub_{mode}{two} -> py subtract {m}")
            lines.append(f"{real} __{c}div_{mode}{two} -> llvm.nvvm.div.{m}.{d} $0 $1")
            lines.append(f"{real} __{c}rcp_{mode}({real} a) -> llvm.nvvm.rcp.{m}.{d} $0")
            lines.append(f"{real} __{c}sqrt_{mode}({real} a) -> llvm.nvvm.sqrt.{m}.{d} $0")
            lines.append(f"{real} {fma}_{mode}({real} a, {real} b, {real} c) -> "
                         f"llvm.nvvm.fma.{m}.{d} $0 $1 $2")
    return "\n".join(lines)


FLOATS: list[Table] = [
    ({"family": "float", "strategy": "table"}, _rounded()),
    ({"family": "float", "strategy": "intrinsic"}, """
float __frsqrt_rn(float x) -> libm frsqrt_rn
float __fdividef(float a, float b) -> llvm.nvvm.div.approx.f $0 $1
float __saturatef(float x) -> llvm.nvvm.saturate.f $0
float __sinf(float x) -> llvm.nvvm.sin.approx.f $0
float __cosf(float x) -> llvm.nvvm.cos.approx.f $0
float __log2f(float x) -> llvm.nvvm.lg2.approx.f $0
float __exp2f(float x) -> llvm.nvvm.ex2.approx.f $0
float rsqrtf(float x) -> llvm.nvvm.rsqrt.approx.f $0
float rsqrt(float x) -> llvm.nvvm.rsqrt.approx.f $0
float __tanhf(float x) -> asm tanh.approx.f32 =, $0; @sm=75
"""),
    ({"family": "float", "strategy": "inline"}, """
float __expf(float x) -> py fast exp
float __exp10f(float x) -> py fast exp10
float __logf(float x) -> py fast log
float __log10f(float x) -> py fast log10
float __powf(float x, float y) -> py fast pow
float __tanf(float x) -> py fast tan
void __sincosf(float x, float *s, float *c) -> py fast_sincos
"""),
]


def _halves() -> list[Table]:
    both = {"family": "half", "strategy": "inline", "types": ("half", "bfloat16")}
    rows = [f"T __h{name}(T a, T b) -> py half_arithmetic {op}" for name, op in (
        ("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("div", "fdiv"), ("min", "min"),
        ("max", "max"))]
    rows += ["T __hfma(T a, T b, T c) -> py half_arithmetic fma", "T __hneg(T a) -> py half_negate",
             "T __habs(T a) -> py half_absolute", "bool __hisnan(T a) -> py half_compare uno"]
    rows += [f"bool __h{name}(T a, T b) -> py half_compare {op}" for name, op in (
        ("eq", "oeq"), ("ne", "one"), ("lt", "olt"), ("le", "ole"), ("gt", "ogt"), ("ge", "oge"),
        ("equ", "ueq"), ("neu", "une"), ("ltu", "ult"), ("leu", "ule"), ("gtu", "ugt"),
        ("geu", "uge"))]
    rows += [f"T h{f}(T a) -> py half_by_float {f}f" for f in (
        "sqrt", "rsqrt", "exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "floor",
        "ceil", "trunc", "rint", "tanh")]
    conversions = """
float __half2float(half x) -> py convert
half __float2half(float x) -> py convert
half __float2half_rn(float x) -> py convert
half __float2half_rz(float x) -> asm cvt.rz.f16.f32 =, $0;
half __float2half_ru(float x) -> asm cvt.rp.f16.f32 =, $0;
half __float2half_rd(float x) -> asm cvt.rm.f16.f32 =, $0;
half __double2half(double x) -> py convert
float __bfloat162float(bfloat16 x) -> py convert
bfloat16 __float2bfloat16(float x) -> py convert
bfloat16 __float2bfloat16_rn(float x) -> py convert
bfloat16 __float2bfloat16_rz(float x) -> asm cvt.rz.bf16.f32 =, $0; @sm=80
half __int2half_rn(int x) -> py convert
half __uint2half_rn(unsigned x) -> py convert
half __short2half_rn(short x) -> py convert
int __half2int_rz(half x) -> py convert
unsigned __half2uint_rz(half x) -> py convert
int __half2int_rn(half x) -> asm cvt.rni.s32.f16 =, $0;
unsigned __float2tf32(float x) -> asm cvt.rna.tf32.f32 =, $0; @sm=80
"""
    packed = []
    for name, t, gate in (("half2", "f16x2", ""), ("bf162", "bf16x2", " @sm=90")):
        for op in ("add", "sub", "mul"):
            packed.append(f"unsigned __{name}_{op}(unsigned a, unsigned b) -> "
                          f"asm {op}.rn.{t} =, $0, $1;{gate}")
        packed.append(f"unsigned __{name}_fma(unsigned a, unsigned b, unsigned c) -> "
                      f"asm fma.rn.{t} =, $0, $1, $2; @sm=80")
        packed.append(f"unsigned __{name}_from_floats(float lo, float hi) -> "
                      f"asm cvt.rn.{t}.f32 =, $1, $0; @sm=80")
    return [(both, "\n".join(rows)), ({"family": "half", "strategy": "inline"}, conversions),
            ({"family": "half", "strategy": "table"}, "\n".join(packed))]


HALVES = _halves()


def _video() -> str:
    """SIMD within a word. What PTX has an instruction for is that; comparisons and saturating
    negation are put together of them."""
    lines = []
    for lanes in (2, 4):
        for sign, t in (("s", "s32"), ("u", "u32")):
            kinds = f"{t}.{t}.{t}"
            for name, op in (("absdiff", "vabsdiff"), ("min", "vmin"), ("max", "vmax")):
                lines.append(f"unsigned __v{name}{sign}{lanes}(unsigned a, unsigned b) -> "
                             f"asm {op}{lanes}.{kinds} =, $0, $1, %z;")
            for op in ("add", "sub"):
                lines.append(f"unsigned __v{op}{sign}s{lanes}(unsigned a, unsigned b) -> "
                             f"asm v{op}{lanes}.{kinds}.sat =, $0, $1, %z;")
            lines.append(f"unsigned __vsad{sign}{lanes}(unsigned a, unsigned b) -> "
                         f"asm vabsdiff{lanes}.{kinds}.add =, $0, $1, %z;")
            for cmp in ("lt", "le", "gt", "ge"):
                lines += _comparison(lanes, cmp + sign, cmp, t)
        lines.append(f"unsigned __vavgu{lanes}(unsigned a, unsigned b) -> "
                     f"asm vavrg{lanes}.u32.u32.u32 =, $0, $1, %z;")
        lines.append(f"unsigned __vavgs{lanes}(unsigned a, unsigned b) -> "
                     f"asm vavrg{lanes}.s32.s32.s32 =, $0, $1, %z;")
        for op in ("add", "sub"):
            lines.append(f"unsigned __v{op}{lanes}(unsigned a, unsigned b) -> "
                         f"asm v{op}{lanes}.u32.u32.u32 =, $0, $1, %z;")
        lines.append(f"unsigned __vneg{lanes}(unsigned a) -> "
                     f"asm vsub{lanes}.u32.u32.u32 =, %z, $0, %z;")
        lines.append(f"unsigned __vabs{lanes}(unsigned a) -> "
                     f"asm vabsdiff{lanes}.s32.s32.s32 =, $0, %z, %z;")
        for cmp in ("eq", "ne"):
            lines += _comparison(lanes, cmp, cmp, "u32")
    return "\n".join(lines)


def _comparison(lanes: int, name: str, cmp: str, t: str) -> list[str]:
    head = "(unsigned a, unsigned b) -> "
    return [
        f"unsigned __vset{name}{lanes}{head}asm vset{lanes}.{t}.{t}.{cmp} =, $0, $1, %z;",
        f"unsigned __vcmp{name}{lanes}{head}py lane_masks {lanes} {t} {cmp}",
    ]


VIDEO: list[Table] = [({"family": "video", "strategy": "table"}, _video())]

# Functions of one argument that nvir's own mathematics has, in float and double.
ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
       "atanh", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf",
       "erfc", "sinpi", "cospi", "rcbrt", "logb", "normcdf")
TWO = ("pow", "fmod", "hypot", "atan2", "fdim", "nextafter")


def _math() -> str:
    lines = []
    for real, s in (("float", "f"), ("double", "")):
        one, two = f"({real} x)", f"({real} x, {real} y)"
        for name in ONE:
            lines.append(f"{real} {name}{s}{one} -> libm {name}{s}")
        for name in TWO:
            lines.append(f"{real} {name}{s}{two} -> libm {name}{s}")
        for name in ("fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "sqrt", "round"):
            lines.append(f"{real} {name}{s}{one} -> py real {name}")
        for name in ("fmin", "fmax", "copysign"):
            lines.append(f"{real} {name}{s}{two} -> py real {name}")
        lines.append(f"{real} fma{s}({real} x, {real} y, {real} z) -> py real fma")
        lines.append(f"{real} ldexp{s}({real} x, int n) -> libm ldexp{s}")
        lines.append(f"{real} scalbn{s}({real} x, int n) -> libm ldexp{s}")
        lines.append(f"int ilogb{s}{one} -> libm ilogb{s}")
        lines.append(f"{real} frexp{s}({real} x, int *e) -> libm frexp{s}")
        lines.append(f"{real} modf{s}({real} x, {real} *i) -> libm modf{s}")
        lines.append(f"void sincos{s}({real} x, {real} *s, {real} *c) -> libm sincos{s}")
        lines.append(f"long long llrint{s}{one} -> py to_integer rint")
        lines.append(f"long lrint{s}{one} -> py to_integer rint")
        lines.append(f"long long llround{s}{one} -> py to_integer round")
        lines.append(f"long lround{s}{one} -> py to_integer round")
        if s:  # C++ overloads of the names without the letter
            for name in ONE:
                lines.append(f"float {name}(float x) -> libm {name}f")
            for name in TWO:
                lines.append(f"float {name}(float x, float y) -> libm {name}f")
            for name in ("fabs", "floor", "ceil", "trunc", "rint", "sqrt", "round"):
                lines.append(f"float {name}(float x) -> py real {name}")
            for name in ("fmin", "fmax", "min", "max"):
                lines.append(f"float {name}(float x, float y) -> py real f{name[-3:]}")
            lines.append("float abs(float x) -> py real fabs")
            lines.append("float fma(float x, float y, float z) -> py real fma")
    lines.append("double abs(double x) -> py real fabs")
    lines.append("double min(double x, double y) -> py real fmin")
    lines.append("double max(double x, double y) -> py real fmax")
    lines.append("double rsqrt(double x) -> libm rsqrt")
    for name, what in (("isnan", "uno"), ("isinf", "inf"), ("isfinite", "finite"),
                       ("signbit", "sign")):
        for real in ("float", "double"):
            lines.append(f"int {name}({real} x) -> py classify {what}")
    return "\n".join(lines)


# What nvir's own mathematics lacks, by the parameters.
_FOREIGN = {
    "({t} x)": ("tgamma", "lgamma", "erfcx", "erfinv", "erfcinv", "normcdfinv", "j0", "j1", "y0",
                "y1", "cyl_bessel_i0", "cyl_bessel_i1"),
    "({t} x, {t} y)": ("rhypot", "remainder"),
    "({t} x, {t} y, {t} z)": ("norm3d", "rnorm3d"),
    "({t} x, {t} y, {t} z, {t} w)": ("norm4d", "rnorm4d"),
    "(int n, {t} x)": ("jn", "yn"),
    "({t} x, {t} y, int *q)": ("remquo",),
    "(int n, const {t} *p)": ("norm", "rnorm"),
}


def _foreign() -> str:
    return "\n".join(
        f"{t} {name}{s}{params.format(t=t)} -> libdevice {name}{s}"
        for t, s in (("double", ""), ("float", "f"))
        for params, names in _FOREIGN.items() for name in names
    )


MATH: list[Table] = [({"family": "math", "strategy": "delegation"}, f"{_math()}\n{_foreign()}")]
