/*
 * fuzz_validate.c - no table of measured runs makes validation misbehave.
 *
 * The first byte says whether the usual header stands before the text.  Every
 * row is predicted or skipped with a reason, and the sums agree with the rows.
 */
#include <math.h>

#include "answer/validate/validate.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The columns that matter, the most important first: short rows then say much. */
static const char header[] =
    "family,gpu,n_layer,n_embd,n_head,seq_len,micro_batch,compile,precision,step_time_ms,grad_accum,"
    "mem_allocated_gib,mem_reserved_gib,outcome,attention,optimizer,act_ckpt,vocab,d_ff,n_kv_head,head_dim,"
    "dropout,bias,tied,n_experts,experts_active,n_gpus,global_batch,tokens_per_s,mfu_pct,mfu_peak_tflops,"
    "mfu_convention,sharding,model,notes,id,source,tp,pp,act_offload,tokens_per_s_gpu\n";

static void check_row(const struct mfu_validated *v)
{
    if (v->skipped[0])
        return;
    REQUIRE(v->predicted_step_s > 0 && isfinite(v->predicted_step_s));
    REQUIRE(v->low_s > 0 && v->low_s <= v->predicted_step_s && v->predicted_step_s <= v->high_s);
    REQUIRE(v->predicted_allocated_bytes > 0 && isfinite(v->predicted_allocated_bytes));
    REQUIRE(v->predicted_reserved_bytes >= v->predicted_allocated_bytes);
    REQUIRE(v->gpu[0] && v->runtime[0] && v->ran >= -1 && v->ran <= 1);
}

static void check_sum(const struct mfu_errors_summary *s, size_t most)
{
    REQUIRE(s->n <= most);
    if (s->n)
        REQUIRE(s->median >= 0 && s->p90 >= s->median && s->mape >= 0 && fabs(s->bias) <= s->mape * (1 + 1e-9));
}

static void check(const struct mfu_validation *all)
{
    size_t skipped = 0;

    for (size_t i = 0; i < all->n_rows; i++) {
        check_row(&all->rows[i]);
        skipped += all->rows[i].skipped[0] != '\0';
    }
    REQUIRE(skipped == all->n_skipped && all->n_groups <= 5 * (all->n_rows - skipped));
    check_sum(&all->step, all->n_rows - skipped);
    check_sum(&all->allocated, all->n_rows - skipped);
    check_sum(&all->reserved, all->n_rows - skipped);
    for (size_t i = 0; i < all->n_groups; i++)
        check_sum(&all->groups[i].step, all->step.n);
    REQUIRE(all->ran_called_fit <= all->ran && all->oom_called_oom <= all->oom);
    REQUIRE(all->ran + all->oom + skipped <= all->n_rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mfu_catalog *catalog;
    size_t first = size && data[0] % 4 ? sizeof header - 1 : 0;
    uint8_t *text = malloc(first + size + 1);
    struct mfu_validation *all;
    struct mfu_error err = {0};

    REQUIRE(text && (catalog || (catalog = mfu_catalog_open(fixture_catalog(), NULL, NULL))));
    memcpy(text, header, first);
    if (size)
        memcpy(text + first, data + 1, size - 1);
    all = mfu_validate(catalog, fixture_file(text, first + (size ? size - 1 : 0)), &err);
    if (all)
        check(all);
    else
        REQUIRE(err.code != MFU_OK && err.text[0] != '\0');
    mfu_validation_free(all);
    free(text);
    return 0;
}
