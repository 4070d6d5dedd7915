/* Graphs: a list of operations in the order in which they were added or captured; a launch runs them.
 * That order is one of those that the dependencies allow, for a node depends on earlier ones only.
 * Included by standin.c.
 */

typedef struct { void *to; const void *from; size_t to_pitch, from_pitch, width, height; int kind; } Copy2D;
typedef struct { void *to; size_t pitch; unsigned value, element; size_t width, height; } Fill;
typedef struct { void (*f)(void *); void *data; } HostCall;
typedef struct { void *host; dim3 grid, block; unsigned smem; void **args, **extra; } KernelNode;

static int run_copy(void *data) {
    Copy2D *c = data;
    return c->height == 1 ? cudaMemcpy(c->to, c->from, c->width, c->kind) : cudaMemcpy2D(c->to, c->to_pitch, c->from, c->from_pitch, c->width, c->height, c->kind);
}
static int run_copy3d(void *data) { return cudaMemcpy3D(data); }
static int run_fill(void *data) {
    Fill *f = data;
    READY;
    for (size_t y = 0; y < f->height; y++) {
        char *row = (char *)f->to + y * f->pitch;
        REFUSE(!INSIDE(row) || !fits(row, f->width * f->element), INVALID_VALUE);
        for (size_t x = 0; x < f->width; x++) memcpy(reach(row + x * f->element), &f->value, f->element);
        wrote(row, f->width * f->element);
    }
    return 0;
}
static int run_host(void *data) { READY; ((HostCall *)data)->f(((HostCall *)data)->data); return 0; }
static int run_graph(void *data) {
    Graph *g = *(Graph **)data;
    int e = 0;
    for (int k = 0; k < g->count && !e; k++) e = g->nodes[k]->run(g->nodes[k]->data);
    return e;
}

static int doing(int (*run)(void *), const void *data, size_t size) { /* now, or when the graph runs */
    if (!capture) return run((void *)data);
    add_node(capture, run, data, size);
    return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) { (void)stream; Copy2D c = {to, from, 0, 0, size, 1, kind}; return doing(run_copy, &c, sizeof c); }
int cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, int kind, void *stream) { (void)stream; Copy2D c = {to, from, tp, fp, w, h, kind}; return doing(run_copy, &c, sizeof c); }
int cudaMemcpy3DAsync(const Copy3D *c, void *stream) { (void)stream; return doing(run_copy3d, c, sizeof *c); }
int cudaMemset2DAsync(void *p, size_t pitch, int value, size_t w, size_t h, void *stream) { (void)stream; Fill f = {p, pitch, value, 1, w, h}; return doing(run_fill, &f, sizeof f); }
int cudaMemsetAsync(void *p, int value, size_t size, void *stream) { return cudaMemset2DAsync(p, size, value, size, 1, stream); }
int cudaLaunchHostFunc(void *stream, void (*f)(void *), void *data) { (void)stream; HostCall h = {f, data}; return doing(run_host, &h, sizeof h); }

int cudaGraphCreate(Graph **graph, unsigned flags) { (void)flags; *graph = calloc(1, sizeof **graph); return ready(); }
int cudaStreamBeginCapture(void *stream, int mode) { (void)stream, (void)mode; READY; REFUSE(capture, 900); return cudaGraphCreate(&capture, 0); }
int cudaStreamEndCapture(void *stream, Graph **graph) { (void)stream; REFUSE(!capture, 903); *graph = capture; capture = 0; return note(broken); }
int cudaStreamIsCapturing(void *stream, int *status) { (void)stream; *status = capture != 0; return 0; }
int cudaStreamGetCaptureInfo(void *stream, int *status) { return cudaStreamIsCapturing(stream, status); }
int cudaStreamGetCaptureInfo_v2(void *stream, int *status) { return cudaStreamIsCapturing(stream, status); }
int cudaStreamGetCaptureInfo_v3(void *stream, int *status) { return cudaStreamIsCapturing(stream, status); }
int cudaThreadExchangeStreamCaptureMode(int *mode) { (void)mode; return 0; }

static int added(Node **node, Graph *g, int (*run)(void *), const void *data, size_t size) {
    add_node(g, run, data, size);
    if (node) *node = g->nodes[g->count - 1];
    return 0;
}
int cudaGraphAddKernelNode(Node **node, Graph *g, const Node **before, size_t n, const KernelNode *k) {
    (void)before, (void)n;
    Graph *outer = capture;
    capture = g;
    int e = cudaLaunchKernel(k->host, k->grid, k->block, k->args, k->smem, 0);
    capture = outer;
    if (!e && node) *node = g->nodes[g->count - 1];
    return e;
}
int cudaGraphAddMemcpyNode(Node **node, Graph *g, const Node **before, size_t n, const Copy3D *c) { (void)before, (void)n; return added(node, g, run_copy3d, c, sizeof *c); }
int cudaGraphAddMemcpyNode1D(Node **node, Graph *g, const Node **before, size_t n, void *to, const void *from, size_t size, int kind) { (void)before, (void)n; Copy2D c = {to, from, 0, 0, size, 1, kind}; return added(node, g, run_copy, &c, sizeof c); }
int cudaGraphAddMemsetNode(Node **node, Graph *g, const Node **before, size_t n, const Fill *f) { (void)before, (void)n; return added(node, g, run_fill, f, sizeof *f); }
int cudaGraphAddHostNode(Node **node, Graph *g, const Node **before, size_t n, const HostCall *h) { (void)before, (void)n; return added(node, g, run_host, h, sizeof *h); }
int cudaGraphAddChildGraphNode(Node **node, Graph *g, const Node **before, size_t n, Graph *child) { (void)before, (void)n; return added(node, g, run_graph, &child, sizeof child); }
static int run_nothing(void *data) { (void)data; return 0; }
int cudaGraphAddEmptyNode(Node **node, Graph *g, const Node **before, size_t n) { (void)before, (void)n; return added(node, g, run_nothing, "", 1); }
int cudaGraphAddDependencies(void) { return ready(); }
int cudaGraphGetNodes(Graph *g, Node **nodes, size_t *n) {
    if (nodes) memcpy(nodes, g->nodes, sizeof *nodes * (*n < (size_t)g->count ? *n : (size_t)g->count));
    *n = g->count;
    return 0;
}
int cudaGraphClone(Graph **copy, Graph *g) { /* nodes keep their addresses: an executable's are changed by them */
    int e = cudaGraphCreate(copy, 0);
    for (int k = 0; k < g->count; k++) { GROW((*copy)->nodes, (*copy)->count); (*copy)->nodes[(*copy)->count++] = g->nodes[k]; }
    return e;
}
int cudaGraphInstantiate(Graph **exec, Graph *g) { return cudaGraphClone(exec, g); }
int cudaGraphInstantiateWithFlags(Graph **exec, Graph *g) { return cudaGraphClone(exec, g); }
int cudaGraphExecKernelNodeSetParams(Graph *exec, Node *node, const KernelNode *k) {
    (void)exec;
    Graph made = {0};
    int e = cudaGraphAddKernelNode(0, &made, 0, 0, k);
    if (!e) node->data = made.nodes[0]->data;
    return e;
}
int cudaGraphExecUpdate(Graph *exec, Graph *g, int *result) { exec->nodes = g->nodes, exec->count = g->count; if (result) *result = 0; return ready(); }
int cudaGraphUpload(void) { return ready(); }
int cudaGraphLaunch(Graph *exec, void *stream) { (void)stream; return doing(run_graph, &exec, sizeof exec); }
int cudaGraphDestroy(void) { return 0; }
int cudaGraphExecDestroy(void) { return 0; }
