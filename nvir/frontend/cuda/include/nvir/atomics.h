// Atomic operations: the compiler's own, chosen by the type behind the pointer.
#pragma once
__NVIR_BUILTIN int atomicAdd(int *, int);
__NVIR_BUILTIN unsigned int atomicAdd(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAdd(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicAdd(float *, float);
__NVIR_BUILTIN double atomicAdd(double *, double);
__NVIR_BUILTIN int atomicSub(int *, int);
__NVIR_BUILTIN unsigned int atomicSub(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicExch(int *, int);
__NVIR_BUILTIN unsigned int atomicExch(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicExch(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicExch(float *, float);
__NVIR_BUILTIN int atomicMin(int *, int);
__NVIR_BUILTIN unsigned int atomicMin(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMin(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMin(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicMax(int *, int);
__NVIR_BUILTIN unsigned int atomicMax(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMax(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMax(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicAnd(int *, int);
__NVIR_BUILTIN unsigned int atomicAnd(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAnd(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicOr(int *, int);
__NVIR_BUILTIN unsigned int atomicOr(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicOr(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicXor(int *, int);
__NVIR_BUILTIN unsigned int atomicXor(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicXor(unsigned long long *, unsigned long long);
__NVIR_BUILTIN unsigned int atomicInc(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned int atomicDec(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicCAS(int *, int, int);
__NVIR_BUILTIN unsigned int atomicCAS(unsigned int *, unsigned int, unsigned int);
__NVIR_BUILTIN unsigned long long atomicCAS(unsigned long long *, unsigned long long, unsigned long long);
__NVIR_BUILTIN unsigned short atomicCAS(unsigned short *, unsigned short, unsigned short);
__device__ inline unsigned long atomicAdd(unsigned long *p, unsigned long v) { return (unsigned long)atomicAdd((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicExch(unsigned long *p, unsigned long v) { return (unsigned long)atomicExch((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMin(unsigned long *p, unsigned long v) { return (unsigned long)atomicMin((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMax(unsigned long *p, unsigned long v) { return (unsigned long)atomicMax((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicAnd(unsigned long *p, unsigned long v) { return (unsigned long)atomicAnd((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicOr(unsigned long *p, unsigned long v) { return (unsigned long)atomicOr((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicXor(unsigned long *p, unsigned long v) { return (unsigned long)atomicXor((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicCAS(unsigned long *p, unsigned long c, unsigned long v) { return (unsigned long)atomicCAS((unsigned long long *)p, (unsigned long long)c, (unsigned long long)v); }
__NVIR_BUILTIN int atomicAdd_block(int *, int);
__NVIR_BUILTIN unsigned int atomicAdd_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAdd_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicAdd_block(float *, float);
__NVIR_BUILTIN double atomicAdd_block(double *, double);
__NVIR_BUILTIN int atomicSub_block(int *, int);
__NVIR_BUILTIN unsigned int atomicSub_block(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicExch_block(int *, int);
__NVIR_BUILTIN unsigned int atomicExch_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicExch_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicExch_block(float *, float);
__NVIR_BUILTIN int atomicMin_block(int *, int);
__NVIR_BUILTIN unsigned int atomicMin_block(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMin_block(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMin_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicMax_block(int *, int);
__NVIR_BUILTIN unsigned int atomicMax_block(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMax_block(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMax_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicAnd_block(int *, int);
__NVIR_BUILTIN unsigned int atomicAnd_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAnd_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicOr_block(int *, int);
__NVIR_BUILTIN unsigned int atomicOr_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicOr_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicXor_block(int *, int);
__NVIR_BUILTIN unsigned int atomicXor_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicXor_block(unsigned long long *, unsigned long long);
__NVIR_BUILTIN unsigned int atomicInc_block(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned int atomicDec_block(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicCAS_block(int *, int, int);
__NVIR_BUILTIN unsigned int atomicCAS_block(unsigned int *, unsigned int, unsigned int);
__NVIR_BUILTIN unsigned long long atomicCAS_block(unsigned long long *, unsigned long long, unsigned long long);
__NVIR_BUILTIN unsigned short atomicCAS_block(unsigned short *, unsigned short, unsigned short);
__device__ inline unsigned long atomicAdd_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicAdd_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicExch_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicExch_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMin_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicMin_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMax_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicMax_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicAnd_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicAnd_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicOr_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicOr_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicXor_block(unsigned long *p, unsigned long v) { return (unsigned long)atomicXor_block((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicCAS_block(unsigned long *p, unsigned long c, unsigned long v) { return (unsigned long)atomicCAS_block((unsigned long long *)p, (unsigned long long)c, (unsigned long long)v); }
__NVIR_BUILTIN int atomicAdd_system(int *, int);
__NVIR_BUILTIN unsigned int atomicAdd_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAdd_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicAdd_system(float *, float);
__NVIR_BUILTIN double atomicAdd_system(double *, double);
__NVIR_BUILTIN int atomicSub_system(int *, int);
__NVIR_BUILTIN unsigned int atomicSub_system(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicExch_system(int *, int);
__NVIR_BUILTIN unsigned int atomicExch_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicExch_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN float atomicExch_system(float *, float);
__NVIR_BUILTIN int atomicMin_system(int *, int);
__NVIR_BUILTIN unsigned int atomicMin_system(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMin_system(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMin_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicMax_system(int *, int);
__NVIR_BUILTIN unsigned int atomicMax_system(unsigned int *, unsigned int);
__NVIR_BUILTIN long long atomicMax_system(long long *, long long);
__NVIR_BUILTIN unsigned long long atomicMax_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicAnd_system(int *, int);
__NVIR_BUILTIN unsigned int atomicAnd_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicAnd_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicOr_system(int *, int);
__NVIR_BUILTIN unsigned int atomicOr_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicOr_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN int atomicXor_system(int *, int);
__NVIR_BUILTIN unsigned int atomicXor_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned long long atomicXor_system(unsigned long long *, unsigned long long);
__NVIR_BUILTIN unsigned int atomicInc_system(unsigned int *, unsigned int);
__NVIR_BUILTIN unsigned int atomicDec_system(unsigned int *, unsigned int);
__NVIR_BUILTIN int atomicCAS_system(int *, int, int);
__NVIR_BUILTIN unsigned int atomicCAS_system(unsigned int *, unsigned int, unsigned int);
__NVIR_BUILTIN unsigned long long atomicCAS_system(unsigned long long *, unsigned long long, unsigned long long);
__NVIR_BUILTIN unsigned short atomicCAS_system(unsigned short *, unsigned short, unsigned short);
__device__ inline unsigned long atomicAdd_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicAdd_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicExch_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicExch_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMin_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicMin_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicMax_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicMax_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicAnd_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicAnd_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicOr_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicOr_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicXor_system(unsigned long *p, unsigned long v) { return (unsigned long)atomicXor_system((unsigned long long *)p, (unsigned long long)v); }
__device__ inline unsigned long atomicCAS_system(unsigned long *p, unsigned long c, unsigned long v) { return (unsigned long)atomicCAS_system((unsigned long long *)p, (unsigned long long)c, (unsigned long long)v); }
