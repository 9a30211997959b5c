/*
 * collective.c - the collectives' probe in several processes, without a GPU.
 *
 * CUDA and NCCL are replaced: a collective is a barrier at which all processes
 * must say the same.  So it shows that they call the same collectives in the
 * same order whatever their clocks say, that one interrupted process stops all,
 * and that each sample is the slowest one's time.
 */
#include "bench.h"
#include "nccl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS 3
#define SLOWEST 1 /* rank that takes its time at every call */
#define DAWDLE_NS 300000

extern const struct mfu_probe mfu_probe_collective;

volatile int mfu_interrupted;

/* What one process brings to a collective. */
struct part {
    size_t count;
    int type, op;
    double value[2];
};

static struct shared {
    pthread_barrier_t all_here, all_read;
    struct part part[RANKS];
} * shared;

static int my_rank, calls, interrupt_at;
static size_t samples;
static double quickest = 1;

/* ---- CUDA ---------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    *s = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    (void)s;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t n)
{
    *p = malloc(n < 4096 ? n : 4096); /* nobody writes into the large ones */
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int value, size_t n)
{
    (void)p;
    (void)value;
    (void)n;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, n);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

/* ---- NCCL ---------------------------------------------------------------- */

/* Where all must say the same; the larger values for everyone. */
static int together(const struct part *mine, double *result)
{
    const struct timespec slowly = {.tv_nsec = DAWDLE_NS};

    if (my_rank == SLOWEST)
        nanosleep(&slowly, NULL);
    if (++calls == interrupt_at)
        mfu_interrupted = 1;
    shared->part[my_rank] = *mine;
    pthread_barrier_wait(&shared->all_here);
    for (int i = 0; i < RANKS; i++) {
        const struct part *p = &shared->part[i];

        if (p->count != mine->count || p->type != mine->type || p->op != mine->op)
            _exit(9);
        for (int j = 0; result && j < 2; j++)
            if (i == 0 || p->value[j] > result[j])
                result[j] = p->value[j];
    }
    pthread_barrier_wait(&shared->all_read);
    return 0;
}

static int new_id(struct mfu_nccl_id *id)
{
    memset(id, 'i', sizeof *id);
    return 0;
}

static int init_rank(mfu_nccl_comm *c, int ranks, struct mfu_nccl_id id, int rank)
{
    *c = shared;
    return ranks != RANKS || rank != my_rank || id.internal[0] != 'i' || id.internal[127] != 'i'
        || together(&(struct part){.op = 70}, NULL);
}

static int nothing(void)
{
    return 0;
}

static int destroy(mfu_nccl_comm c)
{
    return c != shared;
}

static int all_reduce(const void *from, void *to, size_t n, int type, int op, mfu_nccl_comm c, cudaStream_t s)
{
    struct part mine = {.count = n, .type = type, .op = op};

    (void)c;
    (void)s;
    if (type != MFU_NCCL_FLOAT64)
        return together(&mine, NULL);
    memcpy(mine.value, from, sizeof mine.value);
    return together(&mine, to);
}

static int all_gather(const void *from, void *to, size_t n, int type, mfu_nccl_comm c, cudaStream_t s)
{
    return all_reduce(from, to, n, type, 80, c, s);
}

static int reduce_scatter(const void *from, void *to, size_t n, int type, int op, mfu_nccl_comm c, cudaStream_t s)
{
    return all_reduce(from, to, n, type, 90 + op, c, s);
}

int mfu_nccl_open(struct mfu_nccl *n)
{
    *n = (struct mfu_nccl){.new_id = new_id,
                           .init_rank = init_rank,
                           .destroy = destroy,
                           .start = nothing,
                           .end = nothing,
                           .all_reduce = all_reduce,
                           .all_gather = all_gather,
                           .reduce_scatter = reduce_scatter};
    return 0;
}

void mfu_nccl_close(struct mfu_nccl *n)
{
    (void)n;
}

/* ---- the bench ----------------------------------------------------------- */

int mfu_bench_cuda(struct mfu_bench *b, cudaError_t status, const char *call)
{
    return status == cudaSuccess ? 0 : mfu_bench_fail(b, "%s", call);
}

int mfu_bench_record(struct mfu_bench *b, const struct mfu_timing *t, const char *format, ...)
{
    (void)b;
    (void)format;
    samples++;
    if (t->seconds < quickest)
        quickest = t->seconds;
    return 0;
}

/* ---- tests --------------------------------------------------------------- */

/* One process: 0 if its probe ended as it should. */
static int run_rank(const char *folder, int rank, int interrupted_rank)
{
    const struct mfu_probe *p = &mfu_probe_collective;
    struct mfu_bench b = {.ranks = {.rank = rank, .size = RANKS, .nodes = 1}};
    int status;

    my_rank = rank;
    interrupt_at = rank == interrupted_rank ? 60 : 0;
    snprintf(b.ranks.meet, sizeof b.ranks.meet, "%s/meet", folder);
    snprintf(b.ranks.node, sizeof b.ranks.node, "node%d", rank);
    alarm(60); /* they wait for each other for ever */
    if ((p->skip)(&b) || p->points(&b) != 1 || !p->joint)
        return 2;
    status = p->run(&b, 0);
    if (rank == 0 && b.ranks.nodes != RANKS)
        return 3;
    if (interrupted_rank >= 0)
        return status == -1 && strcmp(b.error, "interrupted") == 0 && samples < 18 ? 0 : 4;
    if (status != 0 || samples != 18)
        return 5;
    return quickest >= 1e-9 * DAWDLE_NS ? 0 : 6;
}

static void run_all(int interrupted_rank)
{
    char folder[] = "/tmp/collective.XXXXXX";
    pid_t child[RANKS];

    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < RANKS; i++) {
        child[i] = fork();
        if (child[i] == 0)
            _exit(run_rank(folder, i, interrupted_rank));
    }
    for (int i = 0; i < RANKS; i++) {
        int status = 0;

        waitpid(child[i], &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(rmdir(folder), 0); /* no word is left behind */
}

static void all_call_the_same(void **state)
{
    (void)state;
    run_all(-1);
}

static void one_is_interrupted(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++)
        run_all(i);
}

static int share(void **state)
{
    pthread_barrierattr_t of_processes;

    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -1;
    pthread_barrierattr_init(&of_processes);
    pthread_barrierattr_setpshared(&of_processes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->all_here, &of_processes, RANKS);
    pthread_barrier_init(&shared->all_read, &of_processes, RANKS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_interrupted),
        cmocka_unit_test(all_call_the_same),
    };

    return cmocka_run_group_tests(tests, share, NULL);
}
