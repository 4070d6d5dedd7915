// Device intrinsics, in terms of NVVM's.
#pragma once
#define __NVIR_I(result, name, args, text) __device__ __host__ result name args __NVIR_INTRINSIC(text)
__device__ void __syncthreads();
__NVIR_I(void, __nvir_bar_warp, (unsigned), "llvm.nvvm.bar.warp.sync");
__device__ inline void __syncwarp(unsigned mask = 0xffffffffu) { __nvir_bar_warp(mask); }
__NVIR_I(int, __nvir_bar_popc, (int), "llvm.nvvm.barrier0.popc");
__NVIR_I(int, __nvir_bar_and, (int), "llvm.nvvm.barrier0.and");
__NVIR_I(int, __nvir_bar_or, (int), "llvm.nvvm.barrier0.or");
__device__ inline int __syncthreads_count(int p) { return __nvir_bar_popc(p); }
__device__ inline int __syncthreads_and(int p) { return __nvir_bar_and(p); }
__device__ inline int __syncthreads_or(int p) { return __nvir_bar_or(p); }
__NVIR_I(void, __threadfence_block, (), "llvm.nvvm.membar.cta");
__NVIR_I(void, __threadfence, (), "llvm.nvvm.membar.gl");
__NVIR_I(void, __threadfence_system, (), "llvm.nvvm.membar.sys");
__NVIR_I(void, __trap, (), "llvm.trap");
__NVIR_I(void, __brkpt, (), "llvm.debugtrap");
__NVIR_I(void, __nanosleep, (unsigned), "llvm.nvvm.nanosleep");
__NVIR_I(unsigned, __activemask, (), "llvm.nvvm.activemask");
__NVIR_I(unsigned, __nvir_laneid, (), "llvm.nvvm.read.ptx.sreg.laneid") __NVIR_PURE;
__NVIR_I(unsigned, __nvir_lanemask_lt, (), "llvm.nvvm.read.ptx.sreg.lanemask.lt") __NVIR_PURE;
__NVIR_I(unsigned, __nvir_smid, (), "llvm.nvvm.read.ptx.sreg.smid");
__NVIR_I(unsigned, __nvir_clock, (), "llvm.nvvm.read.ptx.sreg.clock");
__NVIR_I(unsigned long long, __nvir_clock64, (), "llvm.nvvm.read.ptx.sreg.clock64");
__NVIR_I(unsigned long long, __nvir_globaltimer, (), "llvm.nvvm.read.ptx.sreg.globaltimer");
typedef long clock_t;
__device__ __host__ inline clock_t clock() { return (int)__nvir_clock(); }
__device__ inline long long clock64() { return (long long)__nvir_clock64(); }

// votes and matches
__NVIR_BUILTIN int __all_sync(unsigned, int); __NVIR_BUILTIN int __any_sync(unsigned, int); __NVIR_BUILTIN int __uni_sync(unsigned, int); __NVIR_BUILTIN unsigned __ballot_sync(unsigned, int);
__device__ inline unsigned __ballot(int p) { return __ballot_sync(0xffffffffu, p); }
__device__ inline int __all(int p) { return __all_sync(0xffffffffu, p); }
__device__ inline int __any(int p) { return __any_sync(0xffffffffu, p); }
#define __NVIR_MATCH(t) __NVIR_BUILTIN unsigned __match_any_sync(unsigned, t); __NVIR_BUILTIN unsigned __match_all_sync(unsigned, t, int *);
__NVIR_MATCH(int) __NVIR_MATCH(unsigned) __NVIR_MATCH(long) __NVIR_MATCH(unsigned long) __NVIR_MATCH(long long) __NVIR_MATCH(unsigned long long) __NVIR_MATCH(float) __NVIR_MATCH(double)

// shuffles
#define __NVIR_SHFL(name, lane) \
    __NVIR_BUILTIN int name(unsigned, int, lane, int = 32); __NVIR_BUILTIN unsigned name(unsigned, unsigned, lane, int = 32); \
    __NVIR_BUILTIN long name(unsigned, long, lane, int = 32); __NVIR_BUILTIN unsigned long name(unsigned, unsigned long, lane, int = 32); \
    __NVIR_BUILTIN long long name(unsigned, long long, lane, int = 32); __NVIR_BUILTIN unsigned long long name(unsigned, unsigned long long, lane, int = 32); \
    __NVIR_BUILTIN float name(unsigned, float, lane, int = 32); __NVIR_BUILTIN double name(unsigned, double, lane, int = 32);
__NVIR_SHFL(__shfl_sync, int)
__NVIR_SHFL(__shfl_up_sync, unsigned)
__NVIR_SHFL(__shfl_down_sync, unsigned)
__NVIR_SHFL(__shfl_xor_sync, int)
template <class T> __device__ inline T __shfl(T v, int l, int w = 32) { return __shfl_sync(0xffffffffu, v, l, w); }
template <class T> __device__ inline T __shfl_up(T v, unsigned l, int w = 32) { return __shfl_up_sync(0xffffffffu, v, l, w); }
template <class T> __device__ inline T __shfl_down(T v, unsigned l, int w = 32) { return __shfl_down_sync(0xffffffffu, v, l, w); }
template <class T> __device__ inline T __shfl_xor(T v, int l, int w = 32) { return __shfl_xor_sync(0xffffffffu, v, l, w); }
#define __NVIR_REDUCE(name) __NVIR_BUILTIN int name(unsigned, int); __NVIR_BUILTIN unsigned name(unsigned, unsigned);
__NVIR_REDUCE(__reduce_add_sync) __NVIR_REDUCE(__reduce_min_sync) __NVIR_REDUCE(__reduce_max_sync)
__NVIR_BUILTIN unsigned __reduce_and_sync(unsigned, unsigned); __NVIR_BUILTIN unsigned __reduce_or_sync(unsigned, unsigned); __NVIR_BUILTIN unsigned __reduce_xor_sync(unsigned, unsigned);

// bits
__NVIR_I(int, __nvir_ctpop32, (unsigned), "llvm.ctpop.i32") __NVIR_PURE;
__NVIR_I(long long, __nvir_ctpop64, (unsigned long long), "llvm.ctpop.i64") __NVIR_PURE;
__NVIR_I(unsigned, __brev, (unsigned), "llvm.bitreverse.i32") __NVIR_PURE;
__NVIR_I(unsigned long long, __brevll, (unsigned long long), "llvm.bitreverse.i64") __NVIR_PURE;
__NVIR_I(unsigned, __byte_perm, (unsigned, unsigned, unsigned), "llvm.nvvm.prmt") __NVIR_PURE;
__NVIR_I(int, __mulhi, (int, int), "llvm.nvvm.mulhi.i") __NVIR_PURE;
__NVIR_I(unsigned, __umulhi, (unsigned, unsigned), "llvm.nvvm.mulhi.ui") __NVIR_PURE;
__NVIR_I(long long, __mul64hi, (long long, long long), "llvm.nvvm.mulhi.ll") __NVIR_PURE;
__NVIR_I(unsigned long long, __umul64hi, (unsigned long long, unsigned long long), "llvm.nvvm.mulhi.ull") __NVIR_PURE;
__NVIR_I(int, __mul24, (int, int), "llvm.nvvm.mul24.i") __NVIR_PURE;
__NVIR_I(unsigned, __umul24, (unsigned, unsigned), "llvm.nvvm.mul24.ui") __NVIR_PURE;
__NVIR_I(unsigned, __sad, (int, int, unsigned), "llvm.nvvm.sad.i") __NVIR_PURE;
__NVIR_I(unsigned, __usad, (unsigned, unsigned, unsigned), "llvm.nvvm.sad.ui") __NVIR_PURE;
__NVIR_I(unsigned, __nvir_fshl, (unsigned, unsigned, unsigned), "llvm.fshl.i32") __NVIR_PURE;
__NVIR_I(unsigned, __nvir_fshr, (unsigned, unsigned, unsigned), "llvm.fshr.i32") __NVIR_PURE;
__NVIR_I(int, __nvir_dp4a_ss, (int, int, int), "llvm.nvvm.idp4a.s.s") __NVIR_PURE;
__NVIR_I(unsigned, __nvir_dp4a_uu, (unsigned, unsigned, unsigned), "llvm.nvvm.idp4a.u.u") __NVIR_PURE;
__NVIR_FN int __popc(unsigned v) { return __nvir_ctpop32(v); }
__NVIR_FN int __popcll(unsigned long long v) { return (int)__nvir_ctpop64(v); }
__NVIR_BUILTIN int __clz(int); __NVIR_BUILTIN int __clzll(long long); __NVIR_BUILTIN int __ffs(int); __NVIR_BUILTIN int __ffsll(long long);
__NVIR_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return __nvir_fshl(hi, lo, n); }
__NVIR_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return __nvir_fshr(hi, lo, n); }
__NVIR_FN int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
__NVIR_FN int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
__NVIR_FN int __dp4a(int a, int b, int c) { return __nvir_dp4a_ss(a, b, c); }
__NVIR_FN unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return __nvir_dp4a_uu(a, b, c); }

// pointers and caches
typedef __attribute__((address_space(3))) void __nvir_shared;
typedef __attribute__((address_space(1))) void __nvir_global;
__NVIR_FN size_t __cvta_generic_to_shared(const void *p) { return (size_t)(unsigned)(size_t)(const __nvir_shared *)p; }
__NVIR_FN size_t __cvta_generic_to_global(const void *p) { return (size_t)(const __nvir_global *)p; }
__NVIR_FN void *__cvta_shared_to_generic(size_t p) { return (void *)(__nvir_shared *)p; }
__NVIR_FN unsigned __isShared(const void *p) { unsigned r; asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p)); return r; }
__NVIR_FN unsigned __isGlobal(const void *p) { unsigned r; asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p)); return r; }
#define __NVIR_LOAD(name) \
    __NVIR_BUILTIN int name(const int *); \
    __NVIR_BUILTIN unsigned name(const unsigned *); \
    __NVIR_BUILTIN long name(const long *); \
    __NVIR_BUILTIN long long name(const long long *); \
    __NVIR_BUILTIN unsigned long name(const unsigned long *); \
    __NVIR_BUILTIN unsigned long long name(const unsigned long long *); \
    __NVIR_BUILTIN short name(const short *); \
    __NVIR_BUILTIN unsigned short name(const unsigned short *); \
    __NVIR_BUILTIN char name(const char *); \
    __NVIR_BUILTIN signed char name(const signed char *); \
    __NVIR_BUILTIN unsigned char name(const unsigned char *); \
    __NVIR_BUILTIN float name(const float *); \
    __NVIR_BUILTIN double name(const double *); \
    __NVIR_BUILTIN int2 name(const int2 *); \
    __NVIR_BUILTIN int4 name(const int4 *); \
    __NVIR_BUILTIN uint2 name(const uint2 *); \
    __NVIR_BUILTIN uint4 name(const uint4 *); \
    __NVIR_BUILTIN float2 name(const float2 *); \
    __NVIR_BUILTIN float4 name(const float4 *); \
    __NVIR_BUILTIN double2 name(const double2 *); \
    __NVIR_BUILTIN short2 name(const short2 *); \
    __NVIR_BUILTIN short4 name(const short4 *); \
    __NVIR_BUILTIN ushort2 name(const ushort2 *); \
    __NVIR_BUILTIN ushort4 name(const ushort4 *); \
    __NVIR_BUILTIN char2 name(const char2 *); \
    __NVIR_BUILTIN char4 name(const char4 *); \
    __NVIR_BUILTIN uchar2 name(const uchar2 *); \
    __NVIR_BUILTIN uchar4 name(const uchar4 *); \
    __NVIR_BUILTIN longlong2 name(const longlong2 *); \
    __NVIR_BUILTIN ulonglong2 name(const ulonglong2 *);
__NVIR_LOAD(__ldg) __NVIR_LOAD(__ldcg) __NVIR_LOAD(__ldca) __NVIR_LOAD(__ldcs) __NVIR_LOAD(__ldlu) __NVIR_LOAD(__ldcv)
#define __NVIR_STORE(name) \
    __NVIR_BUILTIN void name(int *, int); \
    __NVIR_BUILTIN void name(unsigned *, unsigned); \
    __NVIR_BUILTIN void name(long *, long); \
    __NVIR_BUILTIN void name(long long *, long long); \
    __NVIR_BUILTIN void name(unsigned long *, unsigned long); \
    __NVIR_BUILTIN void name(unsigned long long *, unsigned long long); \
    __NVIR_BUILTIN void name(short *, short); \
    __NVIR_BUILTIN void name(unsigned short *, unsigned short); \
    __NVIR_BUILTIN void name(char *, char); \
    __NVIR_BUILTIN void name(signed char *, signed char); \
    __NVIR_BUILTIN void name(unsigned char *, unsigned char); \
    __NVIR_BUILTIN void name(float *, float); \
    __NVIR_BUILTIN void name(double *, double); \
    __NVIR_BUILTIN void name(int2 *, int2); \
    __NVIR_BUILTIN void name(int4 *, int4); \
    __NVIR_BUILTIN void name(uint2 *, uint2); \
    __NVIR_BUILTIN void name(uint4 *, uint4); \
    __NVIR_BUILTIN void name(float2 *, float2); \
    __NVIR_BUILTIN void name(float4 *, float4); \
    __NVIR_BUILTIN void name(double2 *, double2); \
    __NVIR_BUILTIN void name(short2 *, short2); \
    __NVIR_BUILTIN void name(short4 *, short4); \
    __NVIR_BUILTIN void name(ushort2 *, ushort2); \
    __NVIR_BUILTIN void name(ushort4 *, ushort4); \
    __NVIR_BUILTIN void name(char2 *, char2); \
    __NVIR_BUILTIN void name(char4 *, char4); \
    __NVIR_BUILTIN void name(uchar2 *, uchar2); \
    __NVIR_BUILTIN void name(uchar4 *, uchar4); \
    __NVIR_BUILTIN void name(longlong2 *, longlong2); \
    __NVIR_BUILTIN void name(ulonglong2 *, ulonglong2);
__NVIR_STORE(__stcg) __NVIR_STORE(__stcs) __NVIR_STORE(__stwb) __NVIR_STORE(__stwt)

// conversions and bit patterns
__NVIR_I(int, __float_as_int, (float), "llvm.nvvm.bitcast.f2i") __NVIR_PURE;
__NVIR_I(float, __int_as_float, (int), "llvm.nvvm.bitcast.i2f") __NVIR_PURE;
__NVIR_I(long long, __double_as_longlong, (double), "llvm.nvvm.bitcast.d2ll") __NVIR_PURE;
__NVIR_I(double, __longlong_as_double, (long long), "llvm.nvvm.bitcast.ll2d") __NVIR_PURE;
__NVIR_FN unsigned __float_as_uint(float v) { return (unsigned)__float_as_int(v); }
__NVIR_FN float __uint_as_float(unsigned v) { return __int_as_float((int)v); }
__NVIR_FN int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
__NVIR_FN int __double2loint(double v) { return (int)__double_as_longlong(v); }
__NVIR_FN double __hiloint2double(int h, int l) { return __longlong_as_double(((long long)h << 32) | (unsigned)l); }
#define __NVIR_CONVERSION(mode, ix) \
    __NVIR_I(int, __float2int_##mode, (float), "llvm.nvvm.f2i." #mode) __NVIR_PURE; \
    __NVIR_I(unsigned, __float2uint_##mode, (float), "llvm.nvvm.f2ui." #mode) __NVIR_PURE; \
    __NVIR_I(long long, __float2ll_##mode, (float), "llvm.nvvm.f2ll." #mode) __NVIR_PURE; \
    __NVIR_I(unsigned long long, __float2ull_##mode, (float), "llvm.nvvm.f2ull." #mode) __NVIR_PURE; \
    __NVIR_I(int, __double2int_##mode, (double), "llvm.nvvm.d2i." #mode) __NVIR_PURE; \
    __NVIR_I(unsigned, __double2uint_##mode, (double), "llvm.nvvm.d2ui." #mode) __NVIR_PURE; \
    __NVIR_I(long long, __double2ll_##mode, (double), "llvm.nvvm.d2ll." #mode) __NVIR_PURE; \
    __NVIR_I(float, __double2float_##mode, (double), "llvm.nvvm.d2f." #mode) __NVIR_PURE; \
    __NVIR_I(float, __int2float_##mode, (int), "llvm.nvvm.i2f." #mode) __NVIR_PURE; \
    __NVIR_I(float, __uint2float_##mode, (unsigned), "llvm.nvvm.ui2f." #mode) __NVIR_PURE; \
    __NVIR_I(float, __ll2float_##mode, (long long), "llvm.nvvm.ll2f." #mode) __NVIR_PURE; \
    __NVIR_I(float, __fadd_##ix, (float, float), "llvm.nvvm.add." #mode ".f") __NVIR_PURE; \
    __NVIR_I(float, __fmul_##ix, (float, float), "llvm.nvvm.mul." #mode ".f") __NVIR_PURE; \
    __NVIR_I(float, __fmaf_##ix, (float, float, float), "llvm.nvvm.fma." #mode ".f") __NVIR_PURE; \
    __NVIR_I(float, __fdiv_##ix, (float, float), "llvm.nvvm.div." #mode ".f") __NVIR_PURE; \
    __NVIR_I(float, __fsqrt_##ix, (float), "llvm.nvvm.sqrt." #mode ".f") __NVIR_PURE; \
    __NVIR_I(float, __frcp_##ix, (float), "llvm.nvvm.rcp." #mode ".f") __NVIR_PURE; \
    __NVIR_I(double, __dadd_##ix, (double, double), "llvm.nvvm.add." #mode ".d") __NVIR_PURE; \
    __NVIR_I(double, __dmul_##ix, (double, double), "llvm.nvvm.mul." #mode ".d") __NVIR_PURE; \
    __NVIR_I(double, __fma_##ix, (double, double, double), "llvm.nvvm.fma." #mode ".d") __NVIR_PURE; \
    __NVIR_I(double, __ddiv_##ix, (double, double), "llvm.nvvm.div." #mode ".d") __NVIR_PURE; \
    __NVIR_I(double, __dsqrt_##ix, (double), "llvm.nvvm.sqrt." #mode ".d") __NVIR_PURE; \
    __NVIR_I(double, __drcp_##ix, (double), "llvm.nvvm.rcp." #mode ".d") __NVIR_PURE; \
    __NVIR_FN float __fsub_##ix(float a, float b) { return __fadd_##ix(a, -b); } \
    __NVIR_FN double __dsub_##ix(double a, double b) { return __dadd_##ix(a, -b); }
__NVIR_CONVERSION(rn, rn) __NVIR_CONVERSION(rz, rz) __NVIR_CONVERSION(rm, rd) __NVIR_CONVERSION(rp, ru)
__NVIR_FN double __int2double_rn(int v) { return (double)v; }
__NVIR_FN double __uint2double_rn(unsigned v) { return (double)v; }
#define __float2int_rd __float2int_rm
#define __float2int_ru __float2int_rp
#define __float2uint_rd __float2uint_rm
#define __float2uint_ru __float2uint_rp
#define __double2int_rd __double2int_rm
#define __double2int_ru __double2int_rp

// 8 and 16 bits side by side
__NVIR_FN unsigned __vadd4(unsigned a, unsigned b) { return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u); }
__NVIR_FN unsigned __vadd2(unsigned a, unsigned b) { return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u); }

// asynchronous copies
__NVIR_I(void, __nvir_cp_async_ca_4, (__attribute__((address_space(3))) void *, const __attribute__((address_space(1))) void *), "llvm.nvvm.cp.async.ca.shared.global.4");
__NVIR_I(void, __nvir_cp_async_ca_8, (__attribute__((address_space(3))) void *, const __attribute__((address_space(1))) void *), "llvm.nvvm.cp.async.ca.shared.global.8");
__NVIR_I(void, __nvir_cp_async_cg_16, (__attribute__((address_space(3))) void *, const __attribute__((address_space(1))) void *), "llvm.nvvm.cp.async.cg.shared.global.16");
__NVIR_I(void, __nvir_cp_async_commit, (), "llvm.nvvm.cp.async.commit.group");
__NVIR_I(void, __nvir_cp_async_wait_all, (), "llvm.nvvm.cp.async.wait.all");
__NVIR_I(void, __nvir_cp_async_wait, (int), "llvm.nvvm.cp.async.wait.group");

// assertions stop the kernel
__device__ __host__ inline void __nvir_assert(bool ok) { if (!ok) __trap(); }
#undef assert
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) __nvir_assert(bool(e))
#endif
