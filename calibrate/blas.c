/*
 * blas.c - cuBLAS for what PyTorch sends there, cuBLASLt for fp8.
 */
#include "blas.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define WORKSPACE ((size_t)64 << 20) /* twice what NVIDIA recommends for Hopper */

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *const mfu_layout_names[] = {"TN", "NN", "NT"};

/* The headers give types, the libraries the functions.  TEXT() expands macros
 * such as `#define cublasCreate cublasCreate_v2` first. */
/* clang-format off: a table */
#define BLAS_FUNCTIONS(X)                                                                                              \
    X(create, cublasCreate)                                                                                            \
    X(destroy, cublasDestroy)                                                                                          \
    X(set_stream, cublasSetStream)                                                                                     \
    X(set_workspace, cublasSetWorkspace)                                                                               \
    X(get_property, cublasGetProperty)                                                                                 \
    X(gemm_ex, cublasGemmEx)
/* clang-format on */
/* clang-format off: a table */
#define LT_FUNCTIONS(X)                                                                                                \
    X(lt_create, cublasLtCreate)                                                                                       \
    X(lt_destroy, cublasLtDestroy)                                                                                     \
    X(lt_matmul, cublasLtMatmul)                                                                                       \
    X(lt_matmul_desc_create, cublasLtMatmulDescCreate)                                                                 \
    X(lt_matmul_desc_destroy, cublasLtMatmulDescDestroy)                                                               \
    X(lt_matmul_desc_set_attribute, cublasLtMatmulDescSetAttribute)                                                    \
    X(lt_matrix_layout_create, cublasLtMatrixLayoutCreate)                                                             \
    X(lt_matrix_layout_destroy, cublasLtMatrixLayoutDestroy)                                                           \
    X(lt_matmul_preference_create, cublasLtMatmulPreferenceCreate)                                                     \
    X(lt_matmul_preference_destroy, cublasLtMatmulPreferenceDestroy)                                                   \
    X(lt_matmul_preference_set_attribute, cublasLtMatmulPreferenceSetAttribute)                                        \
    X(lt_matmul_algo_get_heuristic, cublasLtMatmulAlgoGetHeuristic)
/* clang-format on */

#define MEMBER(member, function) __typeof__(&function) member;

/* What cuBLASLt was asked last: the same again needs no new search. */
struct plan {
    struct mfu_gemm shape;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
    bool ready;
};

struct mfu_blas {
    struct mfu_cublas library;
    cublasHandle_t handle;
    cublasLtHandle_t lt;
    void *workspace;
    float *one; /* on the device: scale of an fp8 operand */
    char version[48];
    struct plan plan;
    struct {
        BLAS_FUNCTIONS(MEMBER)
        LT_FUNCTIONS(MEMBER)
    } f;
};

/* Looks up all functions; returns the name of one that is missing, or NULL. */
static const char *find_functions(struct mfu_blas *b)
{
    const char *missing = NULL;

#define FIND(member, name, library)                                                                                    \
    *(void **)&b->f.member = dlsym(library, name);                                                                     \
    if (!b->f.member)                                                                                                  \
        missing = name;
#define FIND_BLAS(member, function) FIND(member, TEXT(function), b->library.blas)
#define FIND_LT(member, function) FIND(member, TEXT(function), b->library.lt)
    BLAS_FUNCTIONS(FIND_BLAS)
    LT_FUNCTIONS(FIND_LT)
    return missing;
}

struct mfu_blas *mfu_blas_open(cudaStream_t stream, char *why, size_t size)
{
    const float one = 1;
    const char *missing;
    int part[3] = {0};
    struct mfu_blas *b = calloc(1, sizeof *b);

    if (!b) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    if (mfu_cublas_find(&b->library) < 0) {
        snprintf(why, size,
                 "cuBLAS 12 or 13 was not found, neither in Python's packages nor in a CUDA toolkit "
                 "(is its folder in LD_LIBRARY_PATH?)");
        goto failed;
    }
    missing = find_functions(b);
    if (missing) {
        snprintf(why, size, "libcublas has no %s: it does not fit this program", missing);
        goto failed;
    }
    if (cudaMalloc(&b->workspace, WORKSPACE) != cudaSuccess || cudaMalloc((void **)&b->one, sizeof one) != cudaSuccess
        || cudaMemcpy(b->one, &one, sizeof one, cudaMemcpyHostToDevice) != cudaSuccess) {
        snprintf(why, size, "the GPU has no memory left for cuBLAS's workspace");
        goto failed;
    }
    if (b->f.create(&b->handle) != CUBLAS_STATUS_SUCCESS) {
        b->handle = NULL;
        snprintf(why, size, "cuBLAS could not be started on this GPU");
        goto failed;
    }
    if (b->f.lt_create(&b->lt) != CUBLAS_STATUS_SUCCESS) {
        b->lt = NULL;
        snprintf(why, size, "cuBLASLt could not be started on this GPU");
        goto failed;
    }
    b->f.set_stream(b->handle, stream);
    b->f.set_workspace(b->handle, b->workspace, WORKSPACE);
    for (int i = 0; i < 3; i++)
        b->f.get_property((libraryPropertyType)(MAJOR_VERSION + i), &part[i]);
    snprintf(b->version, sizeof b->version, "%d.%d.%d", part[0], part[1], part[2]);
    return b;
failed:
    mfu_blas_close(b);
    return NULL;
}

static void forget_plan(struct mfu_blas *b)
{
    if (b->plan.operation)
        b->f.lt_matmul_desc_destroy(b->plan.operation);
    if (b->plan.a)
        b->f.lt_matrix_layout_destroy(b->plan.a);
    if (b->plan.b)
        b->f.lt_matrix_layout_destroy(b->plan.b);
    if (b->plan.c)
        b->f.lt_matrix_layout_destroy(b->plan.c);
    b->plan = (struct plan){0};
}

void mfu_blas_close(struct mfu_blas *b)
{
    if (!b)
        return;
    if (b->lt)
        forget_plan(b), b->f.lt_destroy(b->lt);
    if (b->handle)
        b->f.destroy(b->handle);
    cudaFree(b->workspace);
    cudaFree(b->one);
    if (b->library.blas) {
        dlclose(b->library.blas);
        dlclose(b->library.lt);
    }
    free(b);
}

const char *mfu_blas_version(const struct mfu_blas *b)
{
    return b->version;
}

static cudaDataType_t type_of(enum mfu_dtype dtype)
{
    switch (dtype) {
    case MFU_FP16: return CUDA_R_16F;
    case MFU_BF16: return CUDA_R_16BF;
#if CUBLAS_VERSION >= 111100 || CUBLAS_VER_MAJOR >= 12
    case MFU_FP8: return CUDA_R_8F_E4M3;
#endif
    default: return CUDA_R_32F;
    }
}

static bool same_shape(const struct mfu_gemm *x, const struct mfu_gemm *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->dtype == y->dtype && x->fp32_result == y->fp32_result
        && x->layout == y->layout;
}

/* fp8 wants both operands with k innermost, TN, and a scale for each. */
static int plan_fp8(struct mfu_bench *bench, const struct mfu_gemm *g)
{
    struct mfu_blas *b = bench->blas;
    struct plan *p = &b->plan;
    cublasOperation_t transposed = CUBLAS_OP_T;
    cudaDataType_t result = g->fp32_result ? CUDA_R_32F : CUDA_R_16BF;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found;
    size_t workspace = WORKSPACE;
    int n_found = 0;
    int ok;

    if (p->ready && same_shape(&p->shape, g))
        return 0;
    forget_plan(b);
    p->shape = *g;
    ok = b->f.lt_matmul_desc_create(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS
        && b->f.lt_matrix_layout_create(&p->a, type_of(MFU_FP8), g->k, g->n, g->k) == CUBLAS_STATUS_SUCCESS
        && b->f.lt_matrix_layout_create(&p->b, type_of(MFU_FP8), g->k, g->m, g->k) == CUBLAS_STATUS_SUCCESS
        && b->f.lt_matrix_layout_create(&p->c, result, g->n, g->m, g->n) == CUBLAS_STATUS_SUCCESS
        && b->f.lt_matmul_preference_create(&preference) == CUBLAS_STATUS_SUCCESS;
    if (ok) {
        b->f.lt_matmul_desc_set_attribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
#if CUBLAS_VERSION >= 111100 || CUBLAS_VER_MAJOR >= 12
        const void *scale = b->one;
        const signed char fast = 1; /* sums in registers only, as frameworks have it */

        b->f.lt_matmul_desc_set_attribute(p->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale);
        b->f.lt_matmul_desc_set_attribute(p->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale, sizeof scale);
        b->f.lt_matmul_desc_set_attribute(p->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
#endif
        b->f.lt_matmul_preference_set_attribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                sizeof workspace);
        ok = b->f.lt_matmul_algo_get_heuristic(b->lt, p->operation, p->a, p->b, p->c, p->c, preference, 1, &found,
                                               &n_found)
                == CUBLAS_STATUS_SUCCESS
            && n_found > 0;
    }
    if (preference)
        b->f.lt_matmul_preference_destroy(preference);
    if (!ok)
        return mfu_bench_fail(bench, "cuBLASLt has no fp8 product of %d x %d x %d here", g->m, g->n, g->k);
    p->algorithm = found.algo;
    p->ready = true;
    return 0;
}

static int gemm_fp8(struct mfu_bench *bench, const struct mfu_gemm *g)
{
    const float alpha = g->scale;
    const float beta = g->accumulate ? 1 : 0;
    struct mfu_blas *b = bench->blas;
    cublasStatus_t status;

    if (g->layout != MFU_TN)
        return mfu_bench_fail(bench, "fp8 products are measured as TN");
    if (plan_fp8(bench, g) < 0)
        return -1;
    status = b->f.lt_matmul(b->lt, b->plan.operation, &alpha, g->b, b->plan.a, g->a, b->plan.b, &beta, g->c, b->plan.c,
                            g->c, b->plan.c, &b->plan.algorithm, b->workspace, WORKSPACE, bench->stream);
    if (status != CUBLAS_STATUS_SUCCESS)
        return mfu_bench_fail(bench, "cuBLASLt: status %d at %d x %d x %d fp8", (int)status, g->m, g->n, g->k);
    return 0;
}

int mfu_blas_gemm(struct mfu_bench *bench, const struct mfu_gemm *g)
{
    /* Row-major C = A B is column-major C^T = B^T A^T: b comes first. */
    const bool turn_b = g->layout == MFU_TN;
    const bool turn_a = g->layout == MFU_NT;
    const cublasOperation_t op_b = turn_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_a = turn_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int row_b = turn_b ? g->k : g->n;
    const int row_a = turn_a ? g->m : g->k;
    const cudaDataType_t type = type_of(g->dtype);
    const cudaDataType_t result = g->fp32_result ? CUDA_R_32F : type;
    const cublasComputeType_t compute = g->dtype == MFU_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const float alpha = g->scale;
    const float beta = g->accumulate ? 1 : 0;
    struct mfu_blas *b = bench->blas;
    cublasStatus_t status;

    if (g->dtype == MFU_FP8)
        return gemm_fp8(bench, g);
    status = b->f.gemm_ex(b->handle, op_b, op_a, g->n, g->m, g->k, &alpha, g->b, type, row_b, g->a, type, row_a, &beta,
                          g->c, result, g->n, compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        return mfu_bench_fail(bench, "cuBLAS: status %d at %d x %d x %d %s", (int)status, g->m, g->n, g->k,
                              mfu_dtype_names[g->dtype]);
    return 0;
}
