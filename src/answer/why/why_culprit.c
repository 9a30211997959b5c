/*
 * why_culprit.c - the kernel that adds most to a part, and what about it does.
 */
#include <math.h>
#include <stdio.h>

#include "answer/why/why.h"
#include "base/translation.h"
#include "base/short.h"

/* Bytes over time without overhead, of the DRAM's peak. */
static double of_bandwidth(const struct mfu_plan *p, const struct mfu_culprit *c)
{
    return (c->kernel.read_bytes + c->kernel.write_bytes) / (c->price.time_s - c->price.overhead_s)
        / p->machine.bandwidth_bytes_s;
}

static const char *share_of_dram(const struct mfu_plan *p, const struct mfu_culprit *c, char buf[48])
{
    snprintf(buf, 48, mfu_translate("%.0f %% of the DRAM's rate"), 100 * of_bandwidth(p, c));
    return buf;
}

/* Dims that are no multiples of 8, the first that is. */
static double odd(const struct mfu_kernel *k)
{
    return fmod(k->n, 8) != 0 ? k->n : fmod(k->k, 8) != 0 ? k->k : k->m;
}

static void gemm(const struct mfu_plan *p, enum mfu_breakdown_part part, const struct mfu_culprit *c, char *text,
                 size_t size)
{
    const struct mfu_kernel *k = &c->kernel;
    const struct mfu_machine *m = &p->machine;
    struct mfu_tiling t = mfu_gemm_tiling(m, k);
    double intensity = k->flops / (k->read_bytes + k->write_bytes);

    switch (part) {
    case MFU_P_CLOCK:
        snprintf(text, size, mfu_translate("the best GEMM reaches %s of a rated %s"),
                 Q(m->gemm_flops[k->math], MFU_FLOP_PER_S), Q(m->peak_flops[k->math], MFU_FLOP_PER_S));
        break;
    case MFU_P_EDGES:
        snprintf(text, size, mfu_translate("%.0f x %.0f in tiles of %d x %d"), k->m, k->n, t.tile_m, t.tile_n);
        break;
    case MFU_P_TILES:
        snprintf(text, size, mfu_translate("tiles of %d x %d instead of 256 x 128"), t.tile_m, t.tile_n);
        break;
    case MFU_P_RAMP:
        snprintf(text, size,
                 mfu_translate("starting and ending a tile costs as much as %.0f extra steps along K (%.0f)"),
                 m->c[MFU_C_GEMM_K0], k->k);
        break;
    case MFU_P_WAVES:
        if (t.waves / ceil(t.waves) > 0.98) /* smaller tiles that come out even */
            snprintf(text, size, mfu_translate("tiles of only %d x %d, so that %.0f of them fill %.0f SMs"), t.tile_m,
                     t.tile_n, t.blocks, m->sms);
        else
            snprintf(text, size, mfu_translate("%.0f tiles on %.0f SMs: %.2f waves, run as %.0f"), t.blocks, m->sms,
                     t.waves, ceil(t.waves));
        break;
    case MFU_P_ALIGNMENT: snprintf(text, size, mfu_translate("%.0f is no multiple of 8"), odd(k)); break;
    case MFU_P_UNTILED:
        snprintf(text, size, mfu_translate("%s of %s while it runs"),
                 Q(k->flops / (c->price.time_s - c->price.overhead_s), MFU_FLOP_PER_S),
                 Q(m->peak_flops[k->math], MFU_FLOP_PER_S));
        break;
    case MFU_P_THROTTLE:
        snprintf(text, size, mfu_translate("%.0f %% slower at full power"),
                 100 * (c->price.compute_s / t.compute_s - 1));
        break;
    case MFU_P_ROOF:
        snprintf(text, size, mfu_translate("%.0f FLOP per byte; it takes %.0f to be free of DRAM"), intensity,
                 m->gemm_flops[k->math] / (m->c[MFU_C_GEMM_BANDWIDTH] * m->bandwidth_bytes_s));
        break;
    default: snprintf(text, size, mfu_translate("%.0f x %.0f x %.0f"), k->m, k->n, k->k);
    }
}

static void attention(const struct mfu_plan *p, enum mfu_breakdown_part part, const struct mfu_culprit *c, char *text,
                      size_t size)
{
    const struct mfu_kernel *k = &c->kernel;
    double running_s = c->price.time_s - c->price.overhead_s;

    switch (part) {
    case MFU_P_A_LENGTH: snprintf(text, size, mfu_translate("%.0f tokens per sequence"), k->m); break;
    case MFU_P_A_HEAD: snprintf(text, size, mfu_translate("head_dim %.0f"), k->k); break;
    case MFU_P_A_WAVES:
        snprintf(text, size, mfu_translate("%.0f blocks on %.0f SMs: %.2f waves"), c->price.blocks, p->machine.sms,
                 c->price.waves);
        break;
    default:
        snprintf(text, size, mfu_translate("%s of %s while it runs"), Q(k->flops / running_s, MFU_FLOP_PER_S),
                 Q(p->machine.peak_flops[k->math], MFU_FLOP_PER_S));
    }
}

void mfu_why_culprit(const struct mfu_plan *p, enum mfu_breakdown_part part, const struct mfu_culprit *c, char *text,
                     size_t size)
{
    const struct mfu_kernel *k = &c->kernel;

    text[0] = '\0';
    if (!c->name[0])
        return;
    if (part == MFU_P_GAPS)
        snprintf(text, size, mfu_translate("%s per kernel"), Q(p->machine.c[MFU_C_KERNEL_OVERHEAD], MFU_SECONDS));
    else if (mfu_kind_is_gemm(k->kind))
        gemm(p, part, c, text, size);
    else if (mfu_kind_is_attention(k->kind))
        attention(p, part, c, text, size);
    else
        snprintf(text, size, mfu_translate("%s each, %s, %.1f FLOP per byte"),
                 Q(k->read_bytes + k->write_bytes, MFU_BYTES),
                 of_bandwidth(p, c) > 1 ? mfu_translate("faster than DRAM, some from L2")
                                        : share_of_dram(p, c, (char[48]){0}),
                 k->flops / (k->read_bytes + k->write_bytes));
}
