// The runtime's names, so that host code parses. Nothing here is ever compiled.
#pragma once
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600, cudaErrorUnknown = 999 };
typedef enum cudaError_t cudaError;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
struct CUstream_st; struct CUevent_st; struct cudaArray;
typedef CUstream_st *cudaStream_t;
typedef CUevent_st *cudaEvent_t;
typedef cudaArray *cudaArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
struct cudaDeviceProp {
    char name[256]; size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, memPitch, textureAlignment;
    int regsPerBlock, warpSize_, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, memoryClockRate, memoryBusWidth, l2CacheSize, computeMode, integrated, canMapHostMemory, concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, unifiedAddressing, managedMemory, concurrentManagedAccess, cooperativeLaunch, asyncEngineCount, kernelExecTimeoutEnabled, deviceOverlap, tccDriver;
};
struct CUgraph_st; struct CUgraphExec_st; typedef CUgraph_st *cudaGraph_t; typedef CUgraphExec_st *cudaGraphExec_t;
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore, cudaLaunchAttributeAccessPolicyWindow, cudaLaunchAttributeCooperative, cudaLaunchAttributeSynchronizationPolicy, cudaLaunchAttributeClusterDimension, cudaLaunchAttributeClusterSchedulingPolicyPreference, cudaLaunchAttributeProgrammaticStreamSerialization, cudaLaunchAttributeProgrammaticEvent, cudaLaunchAttributePriority };
union cudaLaunchAttributeValue { char pad[64]; int cooperative, programmaticStreamSerializationAllowed, priority; struct { unsigned x, y, z; } clusterDim; };
struct cudaLaunchAttribute { cudaLaunchAttributeID id; cudaLaunchAttributeValue val; };
struct cudaLaunchConfig_t { dim3 gridDim, blockDim; size_t dynamicSmemBytes; cudaStream_t stream; cudaLaunchAttribute *attrs; unsigned numAttrs; };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaMemcpy3DParms { cudaArray_t srcArray; cudaPos srcPos; cudaPitchedPtr srcPtr; cudaArray_t dstArray; cudaPos dstPos; cudaPitchedPtr dstPtr; cudaExtent extent; cudaMemcpyKind kind; };
struct cudaFuncAttributes { size_t sharedSizeBytes, constSizeBytes, localSizeBytes; int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion; };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D };
struct cudaResourceDesc { cudaResourceType resType; union { struct { cudaArray_t array; } array; struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear; struct { void *devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D; } res; };
struct cudaTextureDesc { cudaTextureAddressMode addressMode[3]; cudaTextureFilterMode filterMode; cudaTextureReadMode readMode; int sRGB; float borderColor[4]; int normalizedCoords; unsigned int maxAnisotropy; };
struct cudaResourceViewDesc { int format; };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrConcurrentManagedAccess = 89 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4, cudaHostRegisterDefault = 0, cudaDeviceMapHost = 8, cudaDeviceScheduleBlockingSync = 4, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaCpuDeviceId = -1, cudaArrayDefault = 0, cudaArraySurfaceLoadStore = 2, cudaDeviceScheduleAuto = 0, cudaMemAdviseSetReadMostly = 1, cudaMemAdviseSetPreferredLocation = 3, cudaMemAdviseSetAccessedBy = 5 };

cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
// whatever its arguments are, a call of the runtime's is right
#define __NVIR_RT(name) template <class... A> cudaError_t name(A &&...);
__NVIR_RT(cudaMalloc) __NVIR_RT(cudaFree) __NVIR_RT(cudaMemcpy) __NVIR_RT(cudaMemcpyAsync) __NVIR_RT(cudaMemset)
__NVIR_RT(cudaMemsetAsync) __NVIR_RT(cudaMallocHost) __NVIR_RT(cudaFreeHost) __NVIR_RT(cudaHostAlloc) __NVIR_RT(cudaMallocManaged)
__NVIR_RT(cudaMallocPitch) __NVIR_RT(cudaMalloc3D) __NVIR_RT(cudaMallocArray) __NVIR_RT(cudaMalloc3DArray) __NVIR_RT(cudaFreeArray)
__NVIR_RT(cudaMemcpy2D) __NVIR_RT(cudaMemcpy3D) __NVIR_RT(cudaMemcpy2DAsync) __NVIR_RT(cudaMemset2D) __NVIR_RT(cudaMemcpyToArray) __NVIR_RT(cudaMemcpy2DToArray)
__NVIR_RT(cudaMemcpyToSymbol) __NVIR_RT(cudaMemcpyFromSymbol) __NVIR_RT(cudaMemcpyToSymbolAsync) __NVIR_RT(cudaGetSymbolAddress) __NVIR_RT(cudaGetSymbolSize)
__NVIR_RT(cudaDeviceSynchronize) __NVIR_RT(cudaThreadSynchronize) __NVIR_RT(cudaDeviceReset) __NVIR_RT(cudaThreadExit) __NVIR_RT(cudaSetDevice) __NVIR_RT(cudaGetDevice)
__NVIR_RT(cudaGetDeviceCount) __NVIR_RT(cudaGetDeviceProperties) __NVIR_RT(cudaDeviceGetAttribute) __NVIR_RT(cudaDeviceSetCacheConfig) __NVIR_RT(cudaFuncSetCacheConfig)
__NVIR_RT(cudaDeviceSetSharedMemConfig) __NVIR_RT(cudaFuncSetAttribute) __NVIR_RT(cudaFuncGetAttributes) __NVIR_RT(cudaMemGetInfo) __NVIR_RT(cudaDeviceSetLimit)
__NVIR_RT(cudaEventCreate) __NVIR_RT(cudaEventCreateWithFlags) __NVIR_RT(cudaEventRecord) __NVIR_RT(cudaEventSynchronize) __NVIR_RT(cudaEventElapsedTime) __NVIR_RT(cudaEventDestroy) __NVIR_RT(cudaEventQuery)
__NVIR_RT(cudaStreamCreate) __NVIR_RT(cudaStreamCreateWithFlags) __NVIR_RT(cudaStreamSynchronize) __NVIR_RT(cudaStreamDestroy) __NVIR_RT(cudaStreamWaitEvent) __NVIR_RT(cudaStreamQuery) __NVIR_RT(cudaStreamAddCallback)
__NVIR_RT(cudaCreateTextureObject) __NVIR_RT(cudaDestroyTextureObject) __NVIR_RT(cudaCreateSurfaceObject) __NVIR_RT(cudaDestroySurfaceObject) __NVIR_RT(cudaBindTexture) __NVIR_RT(cudaUnbindTexture) __NVIR_RT(cudaBindTexture2D) __NVIR_RT(cudaBindTextureToArray)
__NVIR_RT(cudaLaunchKernel) __NVIR_RT(cudaLaunchCooperativeKernel) __NVIR_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor) __NVIR_RT(cudaOccupancyMaxPotentialBlockSize)
__NVIR_RT(cudaHostRegister) __NVIR_RT(cudaHostUnregister) __NVIR_RT(cudaHostGetDevicePointer) __NVIR_RT(cudaSetDeviceFlags) __NVIR_RT(cudaMemPrefetchAsync) __NVIR_RT(cudaMemAdvise)
__NVIR_RT(cudaDriverGetVersion) __NVIR_RT(cudaRuntimeGetVersion) __NVIR_RT(cudaProfilerStart) __NVIR_RT(cudaProfilerStop) __NVIR_RT(cudaDeviceEnablePeerAccess) __NVIR_RT(cudaDeviceCanAccessPeer) __NVIR_RT(cudaMemcpyPeer)
__NVIR_RT(cudaGetLastError) __NVIR_RT(cudaPeekAtLastError) __NVIR_RT(cudaDeviceGetStreamPriorityRange) __NVIR_RT(cudaStreamCreateWithPriority) __NVIR_RT(cudaMallocAsync) __NVIR_RT(cudaFreeAsync) __NVIR_RT(cudaChooseDevice)
__NVIR_RT(cudaLaunchKernelEx) __NVIR_RT(cudaLaunchKernelExC) __NVIR_RT(cudaStreamIsCapturing) __NVIR_RT(cudaStreamBeginCapture) __NVIR_RT(cudaStreamEndCapture) __NVIR_RT(cudaGraphInstantiate) __NVIR_RT(cudaGraphLaunch) __NVIR_RT(cudaGraphDestroy) __NVIR_RT(cudaGraphExecDestroy) __NVIR_RT(cudaLaunchHostFunc) __NVIR_RT(cudaPointerGetAttributes) __NVIR_RT(cudaMemcpyPeerAsync) __NVIR_RT(cudaMemcpy3DAsync) __NVIR_RT(cudaMemcpyFromSymbolAsync) __NVIR_RT(cudaDeviceGetLimit) __NVIR_RT(cudaDeviceGetPCIBusId) __NVIR_RT(cudaHostGetFlags) __NVIR_RT(cudaGetDeviceFlags) __NVIR_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) __NVIR_RT(cudaOccupancyMaxActiveClusters)
const char *cudaGetErrorString(cudaError_t);
const char *cudaGetErrorName(cudaError_t);
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc();
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, cudaChannelFormatKind);
cudaExtent make_cudaExtent(size_t, size_t, size_t);
cudaPos make_cudaPos(size_t, size_t, size_t);
cudaPitchedPtr make_cudaPitchedPtr(void *, size_t, size_t, size_t);

// C's library, as far as sources call it without an include that is found
extern "C" {
struct _IO_FILE; typedef _IO_FILE FILE;
extern FILE *stdin, *stdout, *stderr;
__host__ __device__ int printf(const char *, ...);
int fprintf(FILE *, const char *, ...); int sprintf(char *, const char *, ...); int snprintf(char *, size_t, const char *, ...);
int scanf(const char *, ...); int fscanf(FILE *, const char *, ...); int sscanf(const char *, const char *, ...);
FILE *fopen(const char *, const char *); int fclose(FILE *); size_t fread(void *, size_t, size_t, FILE *); size_t fwrite(const void *, size_t, size_t, FILE *);
char *fgets(char *, int, FILE *); int fflush(FILE *); int puts(const char *); int putchar(int); int fseek(FILE *, long, int); long ftell(FILE *); int feof(FILE *); int getchar(void); int fputs(const char *, FILE *); void rewind(FILE *); void perror(const char *); int fputc(int, FILE *); int fgetc(FILE *);
void *calloc(size_t, size_t); void *realloc(void *, size_t);
__host__ __device__ void *malloc(size_t); __host__ __device__ void free(void *);
void exit(int) __attribute__((noreturn)); void abort(void) __attribute__((noreturn));
int atoi(const char *); double atof(const char *); long atol(const char *); long strtol(const char *, char **, int); unsigned long strtoul(const char *, char **, int); double strtod(const char *, char **); float strtof(const char *, char **);
int rand(void); void srand(unsigned); int rand_r(unsigned *); double drand48(void); void srand48(long); long random(void); void srandom(unsigned); char *getenv(const char *); int system(const char *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
int strcmp(const char *, const char *); int strncmp(const char *, const char *, size_t); size_t strlen(const char *); char *strcpy(char *, const char *); char *strncpy(char *, const char *, size_t); char *strcat(char *, const char *); char *strstr(const char *, const char *); char *strchr(const char *, int); char *strrchr(const char *, int); char *strdup(const char *); char *strtok(char *, const char *); char *strerror(int); int memcmp(const void *, const void *, size_t); int strcasecmp(const char *, const char *); int isdigit(int); int isspace(int); int isalpha(int); int toupper(int); int tolower(int);
typedef long time_t; typedef long clock_t_; time_t time(time_t *);
struct timeval { long tv_sec, tv_usec; }; struct timezone { int tz_minuteswest, tz_dsttime; }; int gettimeofday(timeval *, void *);
struct timespec { long tv_sec, tv_nsec; }; int clock_gettime(int, timespec *);
int getopt(int, char *const *, const char *); extern char *optarg; extern int optind; unsigned sleep(unsigned); int usleep(unsigned); int access(const char *, int);
}
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define CLOCKS_PER_SEC 1000000
#define CLOCK_MONOTONIC 1
#define CLOCK_REALTIME 0
void *operator new(size_t); void *operator new[](size_t); void operator delete(void *) noexcept; void operator delete[](void *) noexcept;

// memory functions of device code: loops, as calls of the library's do not exist there; under policy documented intrinsics
__NVIR_NOTED void *memcpy(void *to, const void *from, size_t n) { char *d = (char *)to; const char *s = (const char *)from; for (size_t i = 0; i < n; ++i) d[i] = s[i]; return to; }
__NVIR_NOTED void *memmove(void *to, const void *from, size_t n) { char *d = (char *)to; const char *s = (const char *)from; if (d < s) for (size_t i = 0; i < n; ++i) d[i] = s[i]; else for (size_t i = n; i > 0; --i) d[i - 1] = s[i - 1]; return to; }
__NVIR_NOTED void *memset(void *to, int c, size_t n) { char *d = (char *)to; for (size_t i = 0; i < n; ++i) d[i] = (char)c; return to; }
