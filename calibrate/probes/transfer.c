/*
 * transfer.c - copies between pinned host memory and the GPU, and to a peer.
 */
#include "bench.h"

enum { H2D, D2H, PEER, KINDS };

static const char *const kind_names[KINDS] = {"h2d", "d2h", "peer"};
static const double sizes[] = {64e3, 1e6, 16e6, 256e6};

#define SIZES (sizeof sizes / sizeof sizes[0])

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

/* Another GPU that this one can write to directly, or -1. */
static int peer_of(const struct mfu_bench *b)
{
    int count = 0;
    int can = 0;

    cudaGetDeviceCount(&count);
    for (int i = 0; i < count; i++)
        if (i != b->device && cudaDeviceCanAccessPeer(&can, b->device, i) == cudaSuccess && can)
            return i;
    return -1;
}

static int launch(struct mfu_bench *b, void *arg, int set)
{
    const struct copy *c = arg;

    (void)set;
    MFU_CUDA(b, cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDefault, b->stream));
    return 0;
}

static size_t points(const struct mfu_bench *b)
{
    return (peer_of(b) < 0 ? 2 : 3) * SIZES;
}

static int measure(struct mfu_bench *b, int kind, void *here, void *there, size_t bytes)
{
    struct copy c = {.to = kind == H2D ? here : there, .from = kind == H2D ? there : here, .bytes = bytes};
    const struct mfu_work work = {.launch = launch, .arg = &c, .sets = 1};
    struct mfu_timing timing;

    if (mfu_bench_measure(b, &work, &timing) < 0)
        return -1;
    return mfu_bench_record(b, &timing, "probe: transfer, kind: %s, bytes: %zu", kind_names[kind], bytes);
}

static int run_peer(struct mfu_bench *b, void *here, size_t bytes)
{
    const int peer = peer_of(b);
    void *there = NULL;
    cudaError_t access;
    int status;

    access = cudaDeviceEnablePeerAccess(peer, 0);
    if (access != cudaSuccess && access != cudaErrorPeerAccessAlreadyEnabled)
        return mfu_bench_cuda(b, access, "cudaDeviceEnablePeerAccess");
    cudaGetLastError();
    MFU_CUDA(b, cudaSetDevice(peer));
    status = mfu_bench_cuda(b, cudaMalloc(&there, bytes), "cudaMalloc");
    MFU_CUDA(b, cudaSetDevice(b->device));
    if (status == 0)
        status = measure(b, PEER, here, there, bytes);
    cudaFree(there);
    return status;
}

static int run(struct mfu_bench *b, size_t point)
{
    const int kind = (int)(point / SIZES);
    const size_t bytes = (size_t)sizes[point % SIZES];
    void *here = mfu_bench_room(b, (double)bytes);
    void *there = NULL;
    int status;

    if (!here)
        return MFU_SKIPPED;
    if (kind == PEER)
        return run_peer(b, here, bytes);
    MFU_CUDA(b, cudaMallocHost(&there, bytes));
    for (size_t i = 0; i < bytes; i++) /* touched, and not zero */
        ((unsigned char *)there)[i] = (unsigned char)(i * 2654435761u >> 24);
    status = measure(b, kind, here, there, bytes);
    cudaFreeHost(there);
    return status;
}

MFU_PROBE(transfer) = {
    .name = "transfer",
    .summary = "copies from and to pinned host memory, and to a peer",
    .points = points,
    .run = run,
};
