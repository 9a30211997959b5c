/*
 * grid.c - launch configurations as the libraries write them down.
 *
 * Sources: FlashAttention 2 csrc/flash_attn/src/flash_{fwd,bwd}_launch_template.h
 * (tiles, warps; grid = (blocks of rows, batch, heads)); PyTorch
 * ATen/native/cuda: thread_constants.h (4 warps, 4 elements per thread),
 * layer_norm_kernel.cu (a block per row), PersistentSoftmax.cuh (up to 1024
 * columns: a warp per row, two rows up to 128), SoftMax.cu (else a block per
 * row), Reduce.cuh, MultiTensorApply.cuh (512 threads, chunks of 65536).  GEMM:
 * tiles of cost/gemm.c with CUTLASS's usual blocks.  Registers and the tiles of
 * FlashAttention 3 are typical values, not read from a compiler.
 */
#include "kernel/grid.h"

#include <math.h>

#define WARP 32.  /* threads */
#define KIB 1024. /* bytes */

/* ---- GEMM ---------------------------------------------------------------- */

/* Bytes: three stages of 64 of K for each row of both operands (typical). */
#define STAGE_BYTES (3 * 64.)

/* Registers of a thread beside its accumulators: operands, addresses (typical). */
#define OTHER_REGISTERS 64.

struct mfu_grid mfu_grid_gemm(const struct mfu_kernel *k, int tile_m, int tile_n, int split, bool persistent)
{
    double rows = ceil(k->m / tile_m), columns = ceil(k->n / tile_n);
    double threads = tile_m * tile_n > 128 * 64 ? 256 : 128;

    return (struct mfu_grid){
        .blocks = mfu_kernel_at_once(k) * rows * columns * split,
        .threads = persistent ? 384 : threads, /* two warpgroups and a producer */
        .registers = persistent ? 168 : fmin(255, tile_m * tile_n / threads + OTHER_REGISTERS),
        .shared_bytes = persistent ? 200 * KIB : (tile_m + tile_n) * STAGE_BYTES,
        .padded_flops = 2 * k->batch * rows * tile_m * columns * tile_n * k->k,
        .persistent = persistent,
    };
}

/* ---- attention ----------------------------------------------------------- */

struct tile {
    double head; /* up to this head size */
    double rows, columns, warps;
    double shared_kib; /* 0: Q, K, V tiles in 16 bits */
};

/* Cards that lend a block 99 KiB or less (compute capability 8.6, 8.9, 12.0). */
#define LARGE_SHARED (144 * KIB)
/* Cards of 227 KiB (9.0, 10.0) have kernels that are written for them. */
#define HOPPER_SHARED (220 * KIB)

// clang-format off
static const struct tile flash_forward[] = {
    {64, 128, 128, 4, 0}, {128, 128, 64, 4, 0}, {192, 128, 64, 8, 0}, {INFINITY, 128, 64, 8, 0}};
static const struct tile flash_forward_small[] = {      /* causal; d <= 64 as above */
    {64, 128, 128, 4, 0}, {192, 64, 64, 4, 0}, {INFINITY, 64, 64, 4, 0}};
static const struct tile flash_backward[] = {           /* rows: of keys */
    {32, 128, 128, 8, 104}, {64, 128, 128, 8, 144}, {96, 128, 64, 8, 92}, {128, 128, 64, 8, 144},
    {192, 64, 64, 8, 136}, {INFINITY, 64, 64, 8, 144}};
static const struct tile flash_backward_small[] = {
    {32, 128, 128, 8, 96}, {64, 128, 64, 8, 80}, {96, 128, 64, 8, 92}, {INFINITY, 64, 64, 8, 88}};
static const struct tile hopper_forward[] = {           /* a producer warpgroup more */
    {64, 192, 128, 16, 200}, {INFINITY, 128, 128, 12, 200}};
static const struct tile hopper_backward[] = {
    {64, 128, 128, 12, 200}, {INFINITY, 128, 64, 12, 200}};
static const struct tile memeff_any[] = {
    {64, 64, 64, 4, 24}, {INFINITY, 32, 128, 4, 40}};       /* operands stream through */
// clang-format on

static const struct tile *tile_of(const struct mfu_kernel *k, double most_shared_bytes, bool *hopper)
{
    enum mfu_tiles tiles = mfu_attentions[k->attention].tiles;
    bool small = most_shared_bytes < LARGE_SHARED; /* false for unknown */
    const struct tile *t;

    *hopper = tiles == MFU_TILES_HOPPER || (tiles == MFU_TILES_FLASH_OR_HOPPER && most_shared_bytes > HOPPER_SHARED);
    if (tiles == MFU_TILES_MEMEFF)
        t = memeff_any;
    else if (*hopper)
        t = k->backward ? hopper_backward : hopper_forward;
    else if (k->backward)
        t = small ? flash_backward_small : flash_backward;
    else
        t = small ? flash_forward_small : flash_forward;
    while (k->k > t->head)
        t++;
    return t;
}

/* Causal kernels skip blocks above the diagonal and compute the whole of those
 * on it: half a block per row too much. */
static double whole_blocks(const struct mfu_kernel *k, const struct tile *t)
{
    double computed = k->flops / ((k->backward ? 10 : 4) * k->k * k->n * k->batch * k->pairs);
    double across = k->backward ? t->rows : t->columns;

    return computed > 0.9 ? ceil(k->m / across) * across / k->m : fmin((k->m + across) / (k->m + 1), 2);
}

struct mfu_grid mfu_grid_attention(const struct mfu_kernel *k, double most_shared_bytes)
{
    bool hopper;
    const struct tile *t = tile_of(k, most_shared_bytes, &hopper);
    double head = ceil(k->k / 32) * 32, shared = (t->rows + 2 * t->columns) * head * 2;
    double threads = t->warps * WARP, registers = mfu_attentions[k->attention].registers;

    return (struct mfu_grid){
        .blocks = k->batch * k->n * ceil(k->m / t->rows),
        .threads = threads,
        .registers = registers > 0 ? registers : fmin(255, floor(65536 / threads / 8) * 8),
        .shared_bytes = t->shared_kib > 0 ? t->shared_kib * KIB : shared,
        .padded_flops = k->flops * whole_blocks(k, t) * head / k->k,
        .persistent = hopper,
    };
}

/* ---- kernels that stream ------------------------------------------------- */

struct shape {
    double threads, registers, elements; /* of a block; 0: one row */
};

/* Threads of PyTorch's block-per-row softmax: a power of two, each thread with
 * four elements or more. */
static double softmax_threads(double columns)
{
    double threads = WARP, most = fmin(columns / 4, 1024);

    while (threads < most / 2)
        threads *= 2;
    return fmin(2 * threads, 1024);
}

static struct shape softmax(const struct mfu_kernel *k)
{
    if (k->n > 1024)
        return (struct shape){softmax_threads(k->n), 32, 0};
    return (struct shape){128, 32, (k->n <= 128 ? 8 : 4) * k->n};
}

static struct shape shape_of(const struct mfu_kernel *k)
{
    static const struct shape elementwise = {128, 32, 512}, triton = {128, 32, 1024}, chunk = {512, 64, 65536};
    static const struct shape norm = {128, 40, 0}, reduction = {256, 32, 16 * 256};
    enum mfu_blocks blocks = mfu_kinds[k->kind].blocks;
    bool rows = k->n > 1 && k->m > 1;

    if (blocks == MFU_BLOCKS_CHUNKS)
        return chunk;
    if (k->traffic == MFU_C_DRAM_SOFTMAX || (blocks == MFU_BLOCKS_SOFTMAX && rows))
        return softmax(k);
    if ((k->traffic == MFU_C_DRAM_NORM || k->traffic == MFU_C_DRAM_NORM_BACKWARD) && rows)
        return norm;
    if (k->traffic == MFU_C_DRAM_REDUCTION)
        return reduction;
    if (blocks == MFU_BLOCKS_NORM && rows)
        return (struct shape){256, 40, 0}; /* compiled: one row, 8 warps */
    return k->traffic == MFU_C_DRAM_FUSED ? triton : elementwise;
}

struct mfu_grid mfu_grid_stream(const struct mfu_kernel *k)
{
    struct shape s = shape_of(k);
    double elements = k->m * k->n * k->batch / fmax(1, k->launches);
    double of_block = s.elements > 0 ? s.elements : k->n;

    if (mfu_kinds[k->kind].blocks == MFU_BLOCKS_CHANNELS) /* NCCL: 8 to 32 channels, a block each */
        return (struct mfu_grid){.blocks = 16, .threads = 512, .registers = 96, .shared_bytes = 80 * KIB};
    return (struct mfu_grid){
        .blocks = fmax(1, ceil(elements / fmax(1, of_block))),
        .threads = s.threads,
        .registers = s.registers,
        .padded_flops = k->flops,
    };
}

struct mfu_grid mfu_grid_plain(double blocks, double threads)
{
    return (struct mfu_grid){.blocks = blocks, .threads = threads};
}
