/*
 * measured_year.c - of which year the software of a row's run is.
 *
 * As stated; else of the PyTorch or the container that it names, of its program's published runs, or the last year of its
 * source or its notes.  It cannot be older than what the row names: a card, a model, a precision, a kind of attention.  Where
 * nothing says, it is soon after the newest of these, and other years are possible; where these have no year, it is current.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/setting.h"

/* The years of releases: PyTorch's (its release notes), whose minor versions are the last of their year; likewise of CUDA's toolkit
 * (developer.nvidia.com/cuda-toolkit-archive) and ROCm (github.com/ROCm/rocm-core/releases), which are older than what uses them. */
static const struct release {
    const char *of;
    int major, minor, year;
} releases[] = {{"torch|pytorch", 1, 0, 2018},  {"torch|pytorch", 1, 3, 2019},  {"torch|pytorch", 1, 7, 2020},
                {"torch|pytorch", 1, 10, 2021}, {"torch|pytorch", 1, 13, 2022}, {"torch|pytorch", 2, 1, 2023},
                {"torch|pytorch", 2, 5, 2024},  {"torch|pytorch", 2, 9, 2025},  {"torch|pytorch", 2, 99, 2026},
                {"cuda", 11, 2, 2020},          {"cuda", 11, 5, 2021},          {"cuda", 11, 8, 2022},
                {"cuda", 12, 0, 2022},          {"cuda", 12, 3, 2023},          {"cuda", 12, 6, 2024},
                {"cuda", 12, 9, 2025},          {"cuda", 13, 1, 2025},          {"cuda", 13, 99, 2026},
                {"rocm", 5, 4, 2022},           {"rocm", 5, 7, 2023},           {"rocm", 6, 0, 2023},
                {"rocm", 6, 3, 2024},           {"rocm", 6, 4, 2025},           {"rocm", 7, 1, 2025},
                {"rocm", 7, 99, 2026}};

/* The year of the release that the text names of a program ("torch 2.1", "PyTorch 1.13.0a0", "torch==2.4"); 0: none. */
static int release_year(const char *text, const char *of)
{
    int major, minor;

    for (const char *end, *p = text; (p = mfu_place_said(text, p, of, &end)); p = end)
        for (const struct release *i = releases; i < releases + sizeof releases / sizeof *releases
             && sscanf(end + strspn(end, " =v_-"), "%d.%d", &major, &minor) == 2;
             i++)
            if (strcmp(i->of, of) == 0 && major == i->major && minor <= i->minor)
                return i->year;
    return 0;
}

/* The year of NVIDIA's container that the text names ("21.11 NGC", "nvcr.io/nvidia/pytorch:24.05-py3", "NeMo 24.07"): its PyTorch is
 * of that month; 0: none. */
static int container_year(const char *text)
{
    double year = floor(mfu_number_before(text, "NGC|py3"));
    int major, month, end;

    for (const char *behind, *p = text;
         isnan(year) && (p = mfu_place_said(text, p, "NGC|nemo|pytorch|container", &behind)); p = behind)
        if (sscanf(behind + strspn(behind, " :="), "%2d.%2d%n", &major, &month, &end) == 2 && month >= 1 && month <= 12)
            year = major;
    return year >= 15 && year < 100 ? 2000 + (int)year : 0;
}

#define LATEST 2039 /* 2048 is a length */

/* The last year from 2015 on that the text names; 0: none. */
static int last_year(const char *text)
{
    int year = 0, found;

    for (const char *p = strstr(text, "20"); p; p = strstr(p + 1, "20"))
        if ((p == text || !isdigit((unsigned char)p[-1])) && isdigit((unsigned char)p[2])
            && isdigit((unsigned char)p[3]) && (found = 2000 + 10 * (p[2] - '0') + p[3] - '0') >= 2015
            && found <= LATEST)
            year = found;
    return year;
}

const char *mfu_first_month(const char *text)
{
    int end = 0;

    for (; *text; text++)
        if (sscanf(text, "20%*1[0-9]%*1[0-9]-%*1[01]%*1[0-9]%n", &end) == 0 && end == 7)
            return text;
    return NULL;
}

/* What came with software of a year, where a row names it (TransformerEngine 0.1 of 2022-10; PyTorch 2.0; arXiv 2205.14135,
 * 2307.08691 and 2407.08608; TransformerEngine 2.0 and 2.8; torchao 0.5; DeepSeek-V3 of 2024-12). */
static const struct {
    enum mfu_setting_id id;
    int choice, year;
} firsts[] = {{MFU_S_PRECISION, MFU_FP8, 2022},
              {MFU_S_PRECISION, MFU_FP8_CURRENT, 2024},
              {MFU_S_PRECISION, MFU_FP8_BLOCK, 2024},
              {MFU_S_PRECISION, MFU_MXFP8, 2025},
              {MFU_S_PRECISION, MFU_NVFP4, 2025},
              {MFU_S_PRECISION, MFU_MXFP4, 2025},
              {MFU_S_RUNTIME, MFU_COMPILE, 2023},
              {MFU_S_RUNTIME, MFU_LLMC, 2024},
              {MFU_S_TRAINER, MFU_TRAINER_TORCHTITAN, 2024}};
static const struct {
    const char *attention;
    int year;
} attentions[] = {{"flash1", 2022}, {"flash2", 2023}, {"flash3", 2024}};

static const char *const named[] = {"framework", "notes", "source"};

/* The year of the newest thing that the row names, and which that is; 0: nothing has a year. */
static int newest(const struct mfu_row *r, const char **what)
{
    const struct mfu_scenario *s = &r->run->scenario;
    const char *attention = mfu_row_cell(r, "attention");
    struct mfu_config config; /* a runtime may follow the program */
    double year = 0;

    mfu_scenario_resolve(s, &config, NULL);
#define NAMED(its, text)                                                                                               \
    if ((its) > year) {                                                                                                \
        year = (its);                                                                                                  \
        *what = (text);                                                                                                \
    }
    NAMED(s->gpu->released, s->gpu->slug)
    if (r->model_named)
        NAMED(s->model->released, s->model->slug)
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if ((int)config.setting[firsts[i].id] == firsts[i].choice
            && !(r->run->other_compiler && firsts[i].id != MFU_S_PRECISION)) /* PyTorch's, in XLA's place */
            NAMED(firsts[i].year, mfu_settings[firsts[i].id].choices[firsts[i].choice])
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
        if (mfu_same_letters(attention, attentions[i].attention))
            NAMED(attentions[i].year, attentions[i].attention)
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        NAMED(release_year(mfu_row_cell(r, named[i]), "cuda"), "its CUDA")
        NAMED(release_year(mfu_row_cell(r, named[i]), "rocm"), "its ROCm")
    }
#undef NAMED
    return (int)year;
}

/* Who states no year measured so many after the newest thing that is named (the median of 48 sources that state one), and not
 * before this one, since most that is published is newer; software of the last is current. */
#define USUAL_AGE 1
#define USUAL_FIRST 2023
#define CURRENT 2026

bool mfu_row_set_year(struct mfu_row *r)
{
    const char *by = "the PyTorch that is named", *what = "";
    int year = 0, least = newest(r, &what);
    bool guessed;

    if (!mfu_cell_empty(r, "software"))
        return mfu_row_set(r, "software", mfu_row_cell(r, "software"));
    for (size_t i = 0; i < sizeof named / sizeof *named && !year; i++)
        if (!(year = release_year(mfu_row_cell(r, named[i]), "torch|pytorch")))
            year = container_year(mfu_row_cell(r, named[i]));
    if ((guessed = !year)) {
        by = "its published runs";
        year = mfu_trainers[(int)r->run->scenario.setting[MFU_S_TRAINER]].usual_software;
    }
    if (!year) {
        by = "the last year that the source names";
        year = last_year(mfu_row_cell(r, "source"));
        if (year && mfu_says(mfu_row_cell(r, "source"), "et al") && !mfu_says(mfu_row_cell(r, "source"), "arxiv")) {
            by = "the year before the proceedings'"; /* what was reviewed had been run; a preprint is of its own year */
            year--;
        }
    }
    if (!year) {
        by = "the last year that the notes name";
        year = last_year(mfu_row_cell(r, "notes"));
    }
    r->year_open = !year;
    r->least_year = least;
    if (!year && least > 0 && least + USUAL_AGE < CURRENT)
        return mfu_row_take(r, "software=%.0f: usual for %s of %d", fmax(least + USUAL_AGE, USUAL_FIRST), what, least);
    if (!year)
        return true;
    if (guessed && year < least)
        return mfu_row_take(r, "software=%d: that of %s, not %d", least, what, year);
    return mfu_row_take(r, "software=%d: %s", year, by);
}

bool mfu_row_is_before(const struct mfu_row *r, double year)
{
    double its = r->run->scenario.setting[MFU_S_SOFTWARE];

    return its > 0 && its < year && !r->year_open;
}

bool mfu_row_before_fused_attention(const struct mfu_row *r)
{
    const char *month = mfu_first_month(mfu_row_cell(r, "source"));

    return month ? strncmp(month, MFU_FIRST_FUSED_ATTENTION, 7) < 0
                 : mfu_row_is_before(r, atoi(MFU_FIRST_FUSED_ATTENTION));
}
