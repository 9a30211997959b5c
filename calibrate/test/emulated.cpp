/*
 * emulated.cpp - the checks of all probes, their kernels run by emulate.h.
 *
 * The bench and cuBLAS are replaced by memory and loops of the CPU.
 */
#include "emulate.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#include "blas.h"
#include "random.h"
#include "reference.h"

static constexpr size_t STACK = 256 << 10;
static constexpr int MOST_THREADS = 1024;
static constexpr size_t ROOM = (size_t)256 << 20;

struct mfu_emulated_place mfu_emulated;

/* Coroutines of the block that runs. */

struct coroutine {
    ucontext_t context;
    std::vector<char> stack;
    bool done;
};

struct barrier {
    int arrived, generation;
};

static coroutine thread[MOST_THREADS];
static ucontext_t scheduler;
static barrier block_barrier, warp_barrier[MOST_THREADS / 32];
static float slots[MOST_THREADS];
static const std::function<void()> *body;
static bool moved; /* something happened in this round */

static void pause_thread()
{
    const uint3 me = mfu_emulated.thread;

    swapcontext(&thread[me.x].context, &scheduler);
    mfu_emulated.thread = me;
}

static void wait_at(barrier *b, int threads)
{
    const int generation = b->generation;

    moved = true;
    if (++b->arrived == threads) {
        b->arrived = 0;
        b->generation++;
        return;
    }
    while (b->generation == generation)
        pause_thread();
}

void mfu_emulate_block_barrier()
{
    wait_at(&block_barrier, (int)mfu_emulated.threads.x);
}

void mfu_emulate_warp_barrier()
{
    wait_at(&warp_barrier[mfu_emulated.thread.x / 32], 32);
}

float *mfu_emulate_slots()
{
    return slots;
}

static void start_thread()
{
    (*body)();
    thread[mfu_emulated.thread.x].done = true;
    moved = true;
}

static void run_block(int threads)
{
    block_barrier = {};
    for (int i = 0; i < threads; i++) {
        coroutine *t = &thread[i];

        warp_barrier[i / 32] = {};
        t->stack.resize(STACK);
        t->done = false;
        getcontext(&t->context);
        t->context.uc_stack.ss_sp = t->stack.data();
        t->context.uc_stack.ss_size = STACK;
        t->context.uc_link = &scheduler;
        makecontext(&t->context, start_thread, 0);
    }
    for (int left = threads; left > 0;) {
        left = 0;
        moved = false;
        for (int i = 0; i < threads; i++) {
            if (thread[i].done)
                continue;
            mfu_emulated.thread = {(unsigned)i, 0, 0};
            swapcontext(&scheduler, &thread[i].context);
            left += !thread[i].done;
        }
        if (!moved) {
            fprintf(stderr, "a barrier is not reached by all threads of the block\n");
            exit(1);
        }
    }
}

void mfu_emulate(dim3 blocks, int threads, const std::function<void()> &kernel)
{
    body = &kernel;
    mfu_emulated.blocks = blocks;
    mfu_emulated.threads = dim3(threads);
    for (unsigned y = 0; y < blocks.y; y++)
        for (unsigned x = 0; x < blocks.x; x++) {
            mfu_emulated.block = {x, y, 0};
            run_block(threads);
        }
}

/* The bench. */

extern "C" {

const char *const mfu_dtype_names[MFU_DTYPES] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
const char *const mfu_layout_names[] = {"TN", "NN", "NT"};
volatile int mfu_interrupted;

size_t mfu_dtype_size(enum mfu_dtype dtype)
{
    return dtype == MFU_BF16 ? 2 : 4;
}

int mfu_bench_cuda(struct mfu_bench *b, cudaError_t, const char *call)
{
    return mfu_bench_fail(b, "%s is not emulated", call);
}

void *mfu_bench_room(struct mfu_bench *b, double bytes)
{
    void *p = b->room + b->room_used;

    b->room_used += ((size_t)bytes + 255) / 256 * 256;
    if (b->room_used <= b->room_size)
        return p;
    mfu_bench_fail(b, "the room of the emulation is full");
    return nullptr;
}

void mfu_bench_clear(struct mfu_bench *b)
{
    b->room_used = 0;
}

int mfu_bench_sets(const struct mfu_bench *, double)
{
    return 1;
}

int mfu_bench_upload(struct mfu_bench *, void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

int mfu_bench_download(struct mfu_bench *, void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

int mfu_bench_zero(struct mfu_bench *, void *to, size_t bytes)
{
    memset(to, 0, bytes);
    return 0;
}

int mfu_bench_normal(struct mfu_bench *, void *to, double n, enum mfu_dtype dtype, float scale, unsigned seed)
{
    for (size_t i = 0; i < (size_t)n; i++) {
        const float x = scale * mfu_random_normal(i, seed);

        if (dtype == MFU_BF16)
            ((unsigned short *)to)[i] = mfu_ref_to_bf16(x);
        else
            ((float *)to)[i] = x;
    }
    return 0;
}

int mfu_bench_measure(struct mfu_bench *b, const struct mfu_work *, struct mfu_timing *)
{
    return mfu_bench_fail(b, "an emulation is not timed");
}

int mfu_bench_record(struct mfu_bench *, const struct mfu_timing *, const char *, ...)
{
    return 0;
}

} // extern "C"

/* cuBLAS. */

static std::vector<float> numbers(const void *from, size_t n, enum mfu_dtype dtype)
{
    std::vector<float> x(n);

    for (size_t i = 0; i < n; i++)
        x[i] = dtype == MFU_BF16 ? mfu_ref_from_bf16(((const unsigned short *)from)[i]) : ((const float *)from)[i];
    return x;
}

extern "C" int mfu_blas_gemm(struct mfu_bench *, const struct mfu_gemm *g)
{
    const enum mfu_dtype result = g->fp32_result ? MFU_FP32 : g->dtype;
    const size_t n_a = (size_t)g->m * g->k;
    const size_t n_b = (size_t)g->n * g->k;
    const size_t n_c = (size_t)g->m * g->n;

    std::vector<float> a = numbers(g->a, n_a, g->dtype);
    std::vector<float> b = numbers(g->b, n_b, g->dtype);
    std::vector<float> c = numbers(g->c, n_c, result);

    mfu_ref_gemm(g->layout, a.data(), b.data(), c.data(), g->m, g->n, g->k, g->accumulate);
    for (size_t j = 0; j < n_c; j++)
        if (result == MFU_BF16)
            ((unsigned short *)g->c)[j] = mfu_ref_to_bf16(c[j]);
        else
            ((float *)g->c)[j] = c[j];
    return 0;
}

/* Runs the checks of all probes that have one. */
int main()
{
    struct mfu_bench b = {};
    int failed = 0;

    b.gpu.major = 9;
    b.gpu.multiProcessorCount = 3; /* so that blocks go round more than once */
    b.gpu.l2CacheSize = 1 << 20;
    b.room = (char *)calloc(ROOM, 1);
    b.room_size = ROOM;
    for (size_t i = 0; i < mfu_probe_count && b.room; i++) {
        const struct mfu_probe *p = mfu_probes[i];
        const bool holds = !p->check || p->check(&b) == 0;

        if (p->check)
            printf("%-6s %s%s%s\n", holds ? "ok" : "FAILED", p->name, holds ? "" : ": ", holds ? "" : b.error);
        b.room_used = 0;
        failed += !holds;
    }
    free(b.room);
    return failed ? 1 : 0;
}
