/*
 * collective.c - links of a node and the all-reduce over them.
 */
#include "cost/collective.h"

#include <math.h>

#include "descriptor/gpu.h"
#include <stdio.h>
#include <string.h>

/* NVLink switches reduce in flight (NVLS) from this many GPUs on (estimated: the
 * published rates beyond the links' own are of 8 GPUs). */
#define NVLS_FROM 5

/* Bytes per second of one direction of a PCIe slot such as "4x16"; 0 unknown. */
static double pcie_bytes_s(const char *text)
{
    /* Of one lane, by generation, after its line code (PCI-SIG). */
    static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
    int generation, lanes;

    if (sscanf(text, "%dx%d", &generation, &lanes) != 2 || generation < 1 || generation > 6)
        return 0;
    return lane[generation] * lanes;
}

struct mfu_link mfu_link_of(const struct mfu_machine *m, const struct mfu_gpu *g, double gpus)
{
    struct mfu_link link = {
        .latency_s = m->c[MFU_C_LINK_LATENCY], .step_s = m->c[MFU_C_LINK_STEP], .ramp_s = m->c[MFU_C_LINK_RAMP]};
    double slot = pcie_bytes_s(g->pcie);
    enum mfu_coefficient way;

    if (g->nvlink_bytes_s > 0 && strstr(g->peer, "nvlink")) {
        bool bridge = strstr(g->peer, "bridge") != NULL || g->nvlink_bytes_s < 150e9;

        if (!bridge || gpus <= 2) {
            way = !bridge && gpus >= NVLS_FROM && m->c[MFU_C_LINK_NVLS] > 0 ? MFU_C_LINK_NVLS : MFU_C_LINK_NVLINK;
            link.kind = "NVLink";
            link.bytes_s = g->nvlink_bytes_s / 2 * m->c[way];
            link.sigma = g->coefficients.sigma[way];
            return link;
        }
    }
    link.assumed = g->peer[0] == '\0' || slot <= 0;
    if (slot <= 0)
        slot = pcie_bytes_s("4x16");
    way = strstr(g->peer, "pcie") || strstr(g->peer, "nvlink") ? MFU_C_LINK_PCIE : MFU_C_LINK_HOST;
    link.kind = way == MFU_C_LINK_PCIE ? "PCIe peer to peer" : "PCIe through the host";
    link.bytes_s = slot * m->c[way];
    link.sigma = g->coefficients.sigma[way];
    if (gpus > 2) {
        link.bytes_s *= m->c[MFU_C_LINK_SHARED];
        link.sigma = hypot(link.sigma, g->coefficients.sigma[MFU_C_LINK_SHARED]);
    }
    return link;
}

double mfu_all_reduce_s(const struct mfu_link *link, double gpus, double bytes)
{
    if (gpus <= 1 || bytes <= 0)
        return 0;
    return link->latency_s + 2 * (gpus - 1) * (link->step_s + bytes / gpus / link->bytes_s)
        + link->ramp_s * sqrt(bytes);
}

double mfu_gather_s(const struct mfu_link *link, double gpus, double bytes)
{
    if (gpus <= 1 || bytes <= 0)
        return 0;
    return link->latency_s + (gpus - 1) * (link->step_s + bytes / gpus / link->bytes_s)
        + link->ramp_s * sqrt(bytes) / 2;
}
