/* The driver API: most of it is the runtime's under another name. Included by standin.c. */

typedef uint64_t Pointer;
typedef struct { int id; Kernel *made; } Module;

#define ALSO(name, target) int name() __attribute__((alias(#target)))

int cuInit(unsigned flags) { (void)flags; return connect_once() ? 0 : 100; }
int cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
int cuDeviceGet(int *device, int number) { REFUSE(number, BAD_DEVICE); *device = 0; return 0; }
int cuDeviceGetCount(int *count) { return cudaGetDeviceCount(count); }
int cuDeviceGetName(char *name, int room, int device) {
    char text[256];
    int e = properties(text, device, 0);
    if (!e) snprintf(name, room, "%s", text);
    return e;
}
int cuDeviceGetUuid(char *uuid, int device) { (void)device; memset(uuid, 7, 16); return 0; }
ALSO(cuDeviceGetUuid_v2, cuDeviceGetUuid);
int cuDeviceTotalMem(size_t *bytes, int device) { (void)device; READY; *bytes = memory_size; return 0; }
ALSO(cuDeviceTotalMem_v2, cuDeviceTotalMem);
int cuDeviceGetAttribute(int *value, int what, int device) { return cudaDeviceGetAttribute(value, what, device); }
int cuDeviceComputeCapability(int *major, int *minor, int device) { (void)device; READY; *major = device_attributes[75], *minor = device_attributes[76]; return 0; }
int cuDeviceCanAccessPeer(int *can, int a, int b) { return cudaDeviceCanAccessPeer(can, a, b); }
int cuDeviceGetPCIBusId(char *id, int room, int device) { return cudaDeviceGetPCIBusId(id, room, device); }

static __thread void *current;
static int one_context; /* its address is the only context */
int cuDevicePrimaryCtxRetain(void **context, int device) { REFUSE(device, BAD_DEVICE); *context = &one_context; return connect_once() ? 0 : 100; }
int cuDevicePrimaryCtxRelease(int device) { (void)device; return 0; }
int cuDevicePrimaryCtxReset(int device) { (void)device; return cudaDeviceReset(); }
int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) { (void)device, (void)flags; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { (void)device; *flags = 0, *active = 1; return 0; }
ALSO(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);
ALSO(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset);
ALSO(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);
int cuCtxCreate(void **context) { *context = current = &one_context; return connect_once() ? 0 : 100; }
ALSO(cuCtxCreate_v2, cuCtxCreate);
ALSO(cuCtxCreate_v3, cuCtxCreate);
ALSO(cuCtxCreate_v4, cuCtxCreate);
int cuCtxDestroy(void *context) { (void)context; drain(); current = 0; return 0; }
ALSO(cuCtxDestroy_v2, cuCtxDestroy);
int cuCtxSetCurrent(void *context) { current = context; return 0; }
int cuCtxPushCurrent(void *context) { current = context; return 0; }
ALSO(cuCtxPushCurrent_v2, cuCtxPushCurrent);
int cuCtxPopCurrent(void **context) { if (context) *context = current; current = 0; return 0; }
ALSO(cuCtxPopCurrent_v2, cuCtxPopCurrent);
int cuCtxGetCurrent(void **context) { *context = current; return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }
int cuCtxGetFlags(unsigned *flags) { *flags = 0; return 0; }
int cuCtxGetApiVersion(void *context, unsigned *version) { (void)context; *version = 3020; return 0; }
int cuCtxSynchronize(void) { return ready(); }
int cuCtxSetLimit(int what, size_t value) { return cudaDeviceSetLimit(what, value); }
int cuCtxGetLimit(size_t *value, int what) { return cudaDeviceGetLimit(value, what == 2 ? 2 : what); }
int cuCtxSetCacheConfig(int config) { (void)config; return 0; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { return cudaDeviceGetStreamPriorityRange(least, greatest); }

int cuModuleLoadData(Module **module, const void *image) {
    READY;
    REFUSE(!module || !image, INVALID_VALUE);
    if (*(uint32_t *)image == 0x466243B1) image = *(void **)((char *)image + 8);
    size_t size = container(image);
    if (!size) size = memcmp(image, ELFMAG, 4) ? strlen(image) : 64;
    Module *m = calloc(1, sizeof *m);
    int e = load(image, size, &m->id);
    if (e) { free(m); return note(e); }
    *module = m;
    return 0;
}
int cuModuleLoadDataEx(Module **module, const void *image, unsigned n, int *options, void **values) {
    int e = cuModuleLoadData(module, image);
    for (unsigned k = 0; k < n; k++) {
        if (options[k] == 4 || options[k] == 6) values[k] = 0; /* nothing is in the logs */
        if ((options[k] == 3 || options[k] == 5) && values[k]) *(char *)values[k] = 0;
    }
    return e;
}
int cuModuleLoadFatBinary(Module **module, const void *image) { return cuModuleLoadData(module, image); }
int cuModuleLoad(Module **module, const char *name) {
    FILE *f = fopen(name, "rb");
    REFUSE(!f, 301);
    char *data = calloc(1, 1 << 26);
    size_t n = fread(data, 1, (1 << 26) - 1, f);
    fclose(f);
    int e = n ? cuModuleLoadData(module, data) : note(INVALID_VALUE);
    free(data);
    return e;
}
int cuModuleUnload(Module *module) { (void)module; return ready(); }
int cuModuleGetFunction(Kernel **kernel, Module *module, const char *name) {
    READY;
    for (Kernel *k = module->made; k; k = (Kernel *)k->host) if (!strcmp(k->name, name)) { *kernel = k; return 0; }
    Kernel *k = calloc(1, sizeof *k);
    k->name = strdup(name), k->host = module->made;
    int e = resolve(k, module->id);
    if (e) { free(k); return note(e == BAD_FUNCTION ? NOT_FOUND : e); }
    module->made = *kernel = k;
    return 0;
}
int cuModuleGetGlobal(Pointer *p, size_t *size, Module *module, const char *name) {
    READY;
    uint64_t got[2];
    int32_t id = module->id;
    int e = ask2(VARIABLE, &id, 4, name, strlen(name), got, sizeof got);
    REFUSE(e, NOT_FOUND);
    if (p) *p = got[0];
    if (size) *size = got[1];
    for (int k = 0; k < n_variables; k++) if (variables[k].address == (char *)got[0]) return 0;
    GROW(variables, n_variables);
    variables[n_variables++] = (Var){0, strdup(name), 0, 0, (char *)got[0], got[1]};
    return 0;
}
ALSO(cuModuleGetGlobal_v2, cuModuleGetGlobal);
int cuLibraryLoadData(Module **library, const void *image) { return cuModuleLoadData(library, image); }
int cuLibraryUnload(Module *library) { return cuModuleUnload(library); }
int cuLibraryGetModule(Module **module, Module *library) { *module = library; return 0; }
int cuLibraryGetKernel(Kernel **kernel, Module *library, const char *name) { return cuModuleGetFunction(kernel, library, name); }
int cuLibraryGetGlobal(Pointer *p, size_t *size, Module *library, const char *name) { return cuModuleGetGlobal(p, size, library, name); }
int cuKernelGetFunction(Kernel **function, Kernel *kernel) { *function = kernel; return 0; }

/* The driver's linker takes one PTX module; what it "links" is that text again. */
typedef struct { char *text; size_t size; } Linker;
int cuLinkCreate(unsigned n, int *options, void **values, Linker **linker) { (void)n, (void)options, (void)values; *linker = calloc(1, sizeof **linker); return ready(); }
int cuLinkAddData(Linker *l, int type, const void *data, size_t size) {
    if (type != 1 || l->text) return nvir_unsupported("linking anything but one PTX module by cuLinkAddData");
    l->text = memcpy(calloc(1, size + 1), data, size), l->size = size + 1;
    return 0;
}
int cuLinkComplete(Linker *l, void **image, size_t *size) { REFUSE(!l->text, INVALID_VALUE); *image = l->text; if (size) *size = l->size; return 0; }
int cuLinkDestroy(Linker *l) { (void)l; return 0; } /* the image may still be in use */
ALSO(cuLinkCreate_v2, cuLinkCreate);
ALSO(cuLinkAddData_v2, cuLinkAddData);

int cuMemAlloc(Pointer *p, size_t size) { REFUSE(!size, INVALID_VALUE); return allocate((void **)p, size, DEVICE_MEMORY); }
ALSO(cuMemAlloc_v2, cuMemAlloc);
int cuMemAllocAsync(Pointer *p, size_t size, void *stream) { (void)stream; return cuMemAlloc(p, size); }
int cuMemAllocManaged(Pointer *p, size_t size, unsigned flags) { return cudaMallocManaged((void **)p, size, flags); }
int cuMemAllocHost(void **p, size_t size) { return allocate(p, size, HOST_MEMORY); }
ALSO(cuMemAllocHost_v2, cuMemAllocHost);
int cuMemHostAlloc(void **p, size_t size, unsigned flags) { (void)flags; return allocate(p, size, HOST_MEMORY); }
int cuMemHostGetDevicePointer(Pointer *p, void *host, unsigned flags) { return cudaHostGetDevicePointer((void **)p, host, flags); }
ALSO(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer);
int cuMemHostRegister(void *p, size_t size, unsigned flags) { return cudaHostRegister(p, size, flags); }
ALSO(cuMemHostRegister_v2, cuMemHostRegister);
int cuMemHostUnregister(void *p) { return cudaHostUnregister(p); }
int cuMemAllocPitch(Pointer *p, size_t *pitch, size_t width, size_t height, unsigned element) { (void)element; return cudaMallocPitch((void **)p, pitch, width, height); }
ALSO(cuMemAllocPitch_v2, cuMemAllocPitch);
int cuMemFree(Pointer p) { return release((void *)p); }
ALSO(cuMemFree_v2, cuMemFree);
int cuMemFreeAsync(Pointer p, void *stream) { (void)stream; return release((void *)p); }
int cuMemFreeHost(void *p) { return release(p); }
int cuMemGetInfo(size_t *available, size_t *total) { return cudaMemGetInfo(available, total); }
ALSO(cuMemGetInfo_v2, cuMemGetInfo);
int cuMemGetAddressRange(Pointer *start, size_t *size, Pointer p) {
    READY;
    Range *r = range_of((void *)p);
    REFUSE(!r, INVALID_VALUE);
    if (start) *start = (Pointer)r->start;
    if (size) *size = r->size;
    return 0;
}
ALSO(cuMemGetAddressRange_v2, cuMemGetAddressRange);
int cuPointerGetAttribute(void *out, int what, Pointer p) {
    READY;
    Range *r = range_of((void *)p);
    REFUSE(!r, INVALID_VALUE);
    if (what == 1) *(void **)out = &one_context;
    else if (what == 2) *(int *)out = r->kind == HOST_MEMORY ? 1 : 2;
    else if (what == 3 || what == 4) *(Pointer *)out = p;
    else if (what == 8) *(int *)out = r->kind == MANAGED_MEMORY;
    else if (what == 9) *(int *)out = 0;
    else return note(NOT_SUPPORTED);
    return 0;
}
int cuMemcpy(Pointer to, Pointer from, size_t n) { return copy((void *)to, (void *)from, n); }
int cuMemcpyAsync(Pointer to, Pointer from, size_t n, void *s) { (void)s; return cuMemcpy(to, from, n); }
ALSO(cuMemcpyHtoD, cuMemcpy);
ALSO(cuMemcpyHtoD_v2, cuMemcpy);
ALSO(cuMemcpyDtoH, cuMemcpy);
ALSO(cuMemcpyDtoH_v2, cuMemcpy);
ALSO(cuMemcpyDtoD, cuMemcpy);
ALSO(cuMemcpyDtoD_v2, cuMemcpy);
ALSO(cuMemcpyHtoDAsync, cuMemcpyAsync);
ALSO(cuMemcpyHtoDAsync_v2, cuMemcpyAsync);
ALSO(cuMemcpyDtoHAsync, cuMemcpyAsync);
ALSO(cuMemcpyDtoHAsync_v2, cuMemcpyAsync);
ALSO(cuMemcpyDtoDAsync, cuMemcpyAsync);
ALSO(cuMemcpyDtoDAsync_v2, cuMemcpyAsync);
#define FILL(bits)                                                                                  \
    int cuMemsetD##bits(Pointer p, uint##bits##_t value, size_t n) {                                \
        READY;                                                                                      \
        REFUSE(!fits((void *)p, n * bits / 8), INVALID_VALUE);                                      \
        for (size_t k = 0; k < n; k++) ((uint##bits##_t *)reach((void *)p))[k] = value;             \
        wrote((void *)p, n * bits / 8);                                                             \
        return 0;                                                                                   \
    }                                                                                               \
    ALSO(cuMemsetD##bits##_v2, cuMemsetD##bits);                                                    \
    ALSO(cuMemsetD##bits##Async, cuMemsetD##bits)
FILL(8);
FILL(16);
FILL(32);

int cuLaunchKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem, void *stream, void **args, void **extra) {
    (void)stream;
    REFUSE(!k, BAD_HANDLE);
    const void *packed = 0;
    for (void **x = extra; x && *x; x += 2) if (*x == (void *)1) packed = x[1];
    return launch(k, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, args, packed, smem, 0, 0);
}
int cuLaunchCooperativeKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem, void *stream, void **args) {
    (void)stream;
    REFUSE(!k, BAD_HANDLE);
    return launch(k, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, args, 0, smem, 0, 1);
}
int cuLaunchKernelEx(const struct { dim3 grid, block; unsigned smem; void *stream; const char *attrs; unsigned count; } *c, Kernel *k, void **args, void **extra) {
    (void)extra;
    Config config = {c->grid, c->block, c->smem, c->stream, c->attrs, c->count};
    return launch_with(k, &config, args);
}
int cuFuncGetAttribute(int *value, int what, Kernel *k) {
    static const int fact[] = {3, 2, 6, 5, 4, 7};
    REFUSE(what < 0 || what > 15, INVALID_VALUE);
    *value = what < 6 ? k->facts[fact[what]] : what == 6 ? device_attributes[75] * 10 + device_attributes[76] : what == 8 ? k->dynamic : 0;
    return 0;
}
int cuKernelGetAttribute(int *value, int what, Kernel *k, int device) { (void)device; return cuFuncGetAttribute(value, what, k); }
int cuFuncSetAttribute(Kernel *k, int what, int value) { if (what == 8) k->dynamic = value; return ready(); }
int cuKernelSetAttribute(int what, int value, Kernel *k, int device) { (void)device; return cuFuncSetAttribute(k, what, value); }

int cuFuncSetCacheConfig(Kernel *k, int config) { (void)k, (void)config; return 0; }
int cuFuncGetName(const char **name, Kernel *k) { *name = k->name; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *k, int threads, size_t smem) { READY; return occupancy(blocks, k, threads, smem); }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Kernel *k, int threads, size_t smem, unsigned flags) { (void)flags; return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, k, threads, smem); }

int cuStreamCreate(void **stream, unsigned flags) { return cudaStreamCreateWithFlags(stream, flags); }
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) { return cudaStreamCreateWithPriority(stream, flags, priority); }
int cuStreamDestroy(void *stream) { return cudaStreamDestroy(stream); }
ALSO(cuStreamDestroy_v2, cuStreamDestroy);
int cuStreamSynchronize(void *stream) { return cudaStreamSynchronize(stream); }
int cuStreamQuery(void *stream) { return cudaStreamQuery(stream); }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return cudaStreamWaitEvent(stream, event, flags); }
int cuStreamAddCallback(void *stream, void (*f)(void *, int, void *), void *data, unsigned flags) { return cudaStreamAddCallback(stream, f, data, flags); }
int cuLaunchHostFunc(void *stream, void (*f)(void *), void *data) { return cudaLaunchHostFunc(stream, f, data); }
int cuEventCreate(void **event, unsigned flags) { return cudaEventCreateWithFlags((Event **)event, flags); }
int cuEventDestroy(void *event) { return cudaEventDestroy(event); }
ALSO(cuEventDestroy_v2, cuEventDestroy);
int cuEventRecord(Event *event, void *stream) { return cudaEventRecord(event, stream); }
int cuEventSynchronize(void *event) { return cudaEventSynchronize(event); }
int cuEventQuery(void *event) { return cudaEventQuery(event); }
int cuEventElapsedTime(float *ms, Event *a, Event *b) { return cudaEventElapsedTime(ms, a, b); }
ALSO(cuEventElapsedTime_v2, cuEventElapsedTime);
int cuGetErrorString(int error, const char **text) { *text = cudaGetErrorString(error); return 0; }
/* The driver's name of an error is the runtime's in capitals (cudaErrorInvalidValue, CUDA_ERROR_INVALID_VALUE), but for some. */
int cuGetErrorName(int error, const char **text) {
    static const struct { int code; const char *name; } others[] = {
        {2, "OUT_OF_MEMORY"}, {3, "NOT_INITIALIZED"}, {4, "DEINITIALIZED"}, {200, "INVALID_IMAGE"}, {201, "INVALID_CONTEXT"},
        {209, "NO_BINARY_FOR_GPU"}, {400, "INVALID_HANDLE"}, {500, "NOT_FOUND"}, {719, "LAUNCH_FAILED"}};
    static char *known[1000];
    REFUSE(error < 0 || error > 999, INVALID_VALUE);
    for (unsigned k = 0; k < sizeof others / sizeof *others; k++)
        if (others[k].code == error && !known[error]) asprintf(&known[error], "CUDA_ERROR_%s", others[k].name);
    if (!known[error]) {
        char name[128] = "CUDA", *to = name + 4;
        for (const char *from = cudaGetErrorName(error) + 4; *from && to < name + 120; from++) {
            if (*from >= 'A' && *from <= 'Z') *to++ = '_';
            *to++ = *from >= 'a' && *from <= 'z' ? *from - 32 : *from;
        }
        *to = 0;
        known[error] = strdup(name);
    }
    *text = known[error];
    return 0;
}
int cuGetProcAddress_v2(const char *name, void **p, int version, uint64_t flags, int *status) {
    (void)version, (void)flags;
    Dl_info own;
    dladdr((void *)cuInit, &own);
    void *self = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *p = self ? dlsym(self, !strcmp(name, "cuGetProcAddress") ? "cuGetProcAddress_v2" : name) : 0;
    if (status) *status = *p ? 0 : 1;
    return *p ? 0 : NOT_FOUND;
}
int cuGetProcAddress(const char *name, void **p, int version, uint64_t flags) { return cuGetProcAddress_v2(name, p, version, flags, 0); }
/* What a runtime without symbols asks the driver for, undocumented. */
int cuGetExportTable(const void **table, const void *id) {
    (void)id;
    *table = 0;
    fprintf(stderr, "nvir exec: this program holds a CUDA runtime without symbols; link it with -cudart shared, or do not strip it\n");
    return NOT_SUPPORTED;
}
