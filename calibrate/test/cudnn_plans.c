/*
 * cudnn_plans.c - has the cuDNN of this machine choose and compile kernels of
 * attention, for GPUs that need not be there.
 *
 * Which graphs cuDNN recognises as attention is written nowhere; this finds out
 * for the version at hand, up to the compiled kernels.  Nothing is launched.
 */
#include <float.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_graph.h"
#include "cudnn.h"

#define LEAST_VERSION 90800 /* earlier ones compile for a GPU of this machine only */

static const struct gpu {
    const char *name;
    int capability, sms, shared_bytes, l2_bytes, threads, blocks;
} gpus[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040, 2048, 32},
    {"NVIDIA GeForce RTX 4090", 890, 128, 101376, 75497472, 1536, 24},
    {"NVIDIA H100 80GB HBM3", 900, 132, 232448, 52428800, 2048, 32},
};

static const struct mfu_attention_shape shapes[] = {
    {8, 12, 12, 1024, 64, true, true},
    {2, 32, 32, 2048, 128, false, true},
    {2, 32, 8, 2048, 128, true, true},
    {1, 2, 2, 64, 128, false, true},
};

/* The GPU as cuDNN writes and reads one; what no two of ours differ in is
 * written out. */
static int start_for(struct mfu_cudnn *c, const struct gpu *g)
{
    char json[1024];

    snprintf(json, sizeof json,
             "{\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64],"
             " \"regsPerBlock\": 65536, \"maxRegistersPerSM\": 65536, \"warpSize\": 32,"
             " \"maxSharedMemoryPerBlock\": 49152, \"reservedSharedMemoryPerBlock\": 1024,"
             " \"oversizedSharedMemoryPerBlock\": 0, \"maxThreadsPerBlock\": 1024, \"pciDeviceId\": 0,"
             " \"isTccDriver\": 0, \"supportCoopLaunch\": 1, \"totalGlobalMem\": 25769803776,"
             " \"smClockRateKHz\": 1980000, \"memClockRateKHz\": 2619000, \"memoryBusWidth\": 5120,"
             " \"cudaDeviceId\": 0, \"driverVer\": 13000, \"smCountOrigin\": 0,"
             " \"deviceName\": \"%s\", \"deviceVer\": %d, \"multiProcessorCount\": %d,"
             " \"maxSharedMemoryPerBlockOptin\": %d, \"l2CacheSize\": %d, \"maxThreadsPerSM\": %d,"
             " \"maxCtasPerSM\": %d}",
             g->name, g->capability, g->sms, g->shared_bytes, g->l2_bytes, g->threads, g->blocks);
    return mfu_cudnn_start_for(c, json);
}

/* Nothing is launched, so there is nothing to wait for, and no CUDA runtime. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

static int is_compiler(struct dl_phdr_info *library, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    return strstr(library->dlpi_name, "libnvrtc.so") != NULL;
}

/* Makes a plan and binds it to addresses at which nothing lies. */
static struct mfu_cudnn_plan *plan(struct mfu_cudnn *c, const struct mfu_graph *g)
{
    static _Alignas(256) char place[256];
    struct mfu_cudnn_plan *p = mfu_cudnn_plan(c, g);
    void *data[MFU_ATTENTION_TENSORS];

    for (int i = 0; i < MFU_ATTENTION_TENSORS; i++)
        data[i] = place;
    if (!p || mfu_cudnn_bind(p, data, place) == 0)
        return p;
    mfu_cudnn_forget(p);
    return NULL;
}

/* How many of the graphs cuDNN has no kernels for. */
static int try_all(struct mfu_cudnn *c, const struct gpu *g)
{
    const float unseen = mfu_cudnn_version(c) < 91000 ? -FLT_MAX : -INFINITY;
    int failed = 0;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int backward = 0; backward < 2; backward++) {
            const struct mfu_attention_shape *s = &shapes[i];
            struct mfu_cudnn_plan *p;
            struct mfu_graph graph;

            (backward ? mfu_attention_backward : mfu_attention_forward)(&graph, s, unseen);
            p = plan(c, &graph);
            printf("%-6s %s, %d x %d, %d of %d heads, %s, %s%s%s\n", p ? "ok" : "FAILED", g->name, s->seq, s->dim,
                   s->kv_heads, s->heads, s->causal ? "causal" : "full", backward ? "backward" : "forward",
                   p ? "" : ": ", p ? "" : mfu_cudnn_error(c));
            failed += !p;
            mfu_cudnn_forget(p);
        }
    return failed;
}

static int leave_out(const char *why)
{
    printf("cuDNN's plans are not tested: %s\n", why);
    return 0;
}

int main(void)
{
    char why[120];
    struct mfu_cudnn *c = mfu_cudnn_open(why, sizeof why);
    int failed = 0;

    if (!c)
        return leave_out(why);
    if (mfu_cudnn_version(c) < LEAST_VERSION) {
        mfu_cudnn_close(c);
        return leave_out("libcudnn.so.9 is older than 9.8");
    }
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
        if (start_for(c, &gpus[i]) == 0) {
            failed += try_all(c, &gpus[i]);
        } else {
            printf("FAILED %s: %s\n", gpus[i].name, mfu_cudnn_error(c));
            failed++;
        }
    mfu_cudnn_close(c);
    if (failed && !dl_iterate_phdr(is_compiler, NULL))
        return leave_out("cuDNN finds no libnvrtc to compile with");
    return failed ? 1 : 0;
}
