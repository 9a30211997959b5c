/*
 * Laws of image sizes at random: each is planned, or refused with a setting that can be planned; a sequence has the tokens of
 * its images; larger images are no less work.  And those of sequences whose batches differ in length.
 */
#include "../unit/any_scenario.h"
#include "owned.h"
#include "plan/buckets.h"

#define TRIES 400

static struct mfu_plan plan, other;
static struct mfu_simulation simulation;

/* A model with images, and a size of theirs (and of the sequence) at random; what was set is `told`. */
static bool any_images(struct mfu_scenario *s, double *image, struct mfu_error *err)
{
    const struct mfu_model *m;
    char text[24];

    do
        m = mfu_catalog_model(catalog, models[any(n_models)], NULL);
    while (mfu_model_dim_find(m, "image", NULL) < 0 && mfu_model_dim_find(m, "height", NULL) < 0);
    *s = mfu_scenario_start(m, mfu_catalog_gpu(catalog, "h200-sxm", NULL));
    s->gpu_given = s->model_given = true;
    *image = (double)(1 + any(any(3) ? 1200 : 40));
    snprintf(text, sizeof text, "%.0f", *image);
    snprintf(told, sizeof told, "model %s; set image %s", m->slug, text);
    if (mfu_scenario_set(s, mfu_model_dim_find(m, "image", NULL) < 0 ? "height" : "image", text, err) < 0)
        return false;
    if (mfu_model_writes(m) && any(2)) {
        snprintf(text, sizeof text, "%d", 1 + (int)any(2000));
        snprintf(told + strlen(told), sizeof told - strlen(told), " seq %s", text);
        assert_int_equal(mfu_scenario_set(s, "seq", text, err), 0);
    }
    return true;
}

/* Does what a refusal says: "(set seq 577)". */
static bool follow(struct mfu_scenario *s, const struct mfu_error *err)
{
    const char *hint = strstr(err->text, "(set ");
    char key[24], value[24];

    return hint && sscanf(hint, "(set %23s %23[0-9.])", key, value) == 2 && mfu_scenario_set(s, key, value, NULL) == 0;
}

static void sizes_are_planned_or_refused_with_what_works(void **unused)
{
    int refused = 0, planned = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        struct mfu_scenario s;
        struct mfu_error err = {0};
        double image;

        if (!any_images(&s, &image, &err)) { /* a dim follows that is no size */
            HOLDS(err.text[0] != '\0');
            continue;
        }
        /* An image of whole tokens may be more than the sequence has; one of which nothing is left is doubled, from a pixel
         * to SSD's hundred. */
        for (int k = 0; k < 10; k++) {
            err = (struct mfu_error){0};
            if (mfu_plan_make(&plan, &s, &err) == 0)
                break;
            refused += k == 0;
            if (!follow(&s, &err))
                breaks("%s\n  in: %s", err.text, told);
        }
        HOLDS(!err.text[0]);
        planned += !err.text[0];
        if (!err.text[0])
            HOLDS(plan.step.time_s > 0 && plan.memory.peak.bytes > plan.program.constant_bytes[MFU_PART_WEIGHTS]);
    }
    assert_true(refused > 20 && planned > TRIES / 4);
}

/* Windows of two that stand side by side leave out the last row and column of an odd edge; a picture of which they leave
 * nothing is refused, as torch refuses it.  torchvision 0.29.2, vgg16().features and densenet121().features under
 * FlopCounterMode: what one more column costs is the first maps' alone. */
static void windows_side_by_side_leave_out_the_edge(void **unused)
{
    static const struct {
        const char *model;
        double more; /* FLOP of forward, of 225 pixels beside 224 */
    } all[] = {{"vgg-16", 30727916928. - 30693261312.}, {"densenet-121", 5752895872. - 5666275328.}};
    PLAN p = {0};

    (void)unused;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, all[i].model, NULL),
                                                   mfu_catalog_gpu(catalog, "h100-sxm", NULL));
        double flops[2];

        for (int k = 0; k < 2; k++) {
            assert_true(replan(&p, &s, "image", 224 + k));
            flops[k] = p.sums.forward_flops;
        }
        assert_true(fabs(flops[1] - flops[0] - all[i].more) < 1e-9 * flops[0]);
        assert_false(replan(&p, &s, "image", 20));
    }
}

static void larger_images_are_no_less_work(void **unused)
{
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        struct mfu_scenario s;
        struct mfu_error err = {0};
        double image;

        if (!any_images(&s, &image, &err) || mfu_model_dim_find(s.model, "image", NULL) < 0
            || mfu_plan_make(&plan, &s, &err) < 0 || !replan(&other, &s, "image", image + 1 + (double)any(300)))
            continue;
        n++;
        HOLDS(other.mfu.model_flops >= plan.mfu.model_flops * (1 - EXACT));
    }
    assert_true(n > 50);
}

/* A step is no shorter than the time in which its loader decodes the photographs, nor than without it; more workers hold
 * it up less, and an interval knows that a loader may be slower. */
static void photographs_hold_up_a_step(void **unused)
{
    int waits = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        struct mfu_scenario s;
        struct mfu_error err = {0};
        double image, few_s;

        if (!any_images(&s, &image, &err) || mfu_plan_make(&plan, &s, &err) < 0
            || mfu_scenario_set(&s, "dataloader", "jpeg", NULL) < 0
            || mfu_scenario_set(&s, "host.jpeg", any(2) ? "1s" : "10ms", NULL) < 0
            || !replan(&other, &s, "dataloader_workers", 1))
            continue;
        few_s = other.step.time_s;
        waits += other.limit == MFU_LIMIT_INPUT;
        HOLDS(few_s >= plan.step.time_s * (1 - EXACT) && few_s >= mfu_plan_loader_s(&other) * (1 - EXACT));
        HOLDS(other.step.high_s >= plan.step.high_s * (1 - EXACT));
        if (replan(&other, &s, "dataloader_workers", 2 + (double)any(60)))
            HOLDS(other.step.time_s <= few_s * (1 + EXACT));
    }
    assert_true(waits > 20);
}

static bool as_much(double a, double b)
{
    return fabs(a - b) <= EXACT * b;
}

/* A picture that is turned by a quarter is as much work and memory; a square is what `image` says. */
static void turned_pictures_cost_as_much(void **unused)
{
    int n = 0;
    bool planned;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        const struct mfu_model *m = mfu_catalog_model(catalog, models[any(n_models)], NULL);
        unsigned height = 16 * (4 + (unsigned)any(60)), width = any(2) ? height : 16 * (4 + (unsigned)any(60));
        struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(catalog, "h200-sxm", NULL)), turned;
        char text[2][24];

        if (mfu_model_dim_find(m, "height", NULL) < 0)
            continue;
        snprintf(told, sizeof told, "model %s; set height %u width %u", m->slug, height, width);
        snprintf(text[0], sizeof text[0], "%u", height);
        snprintf(text[1], sizeof text[1], "%u", width);
        turned = s;
        assert_int_equal(mfu_scenario_set(&s, "height", text[0], NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "width", text[1], NULL), 0);
        assert_int_equal(mfu_scenario_set(&turned, "height", text[1], NULL), 0);
        assert_int_equal(mfu_scenario_set(&turned, "width", text[0], NULL), 0);
        planned = mfu_plan_make(&plan, &s, NULL) == 0;
        HOLDS(planned == (mfu_plan_make(&other, &turned, NULL) == 0)); /* not, where a U-Net does not halve it */
        HOLDS(planned || m->n_whole > 0);
        if (!planned)
            continue;
        n++;
        HOLDS(as_much(plan.step.time_s, other.step.time_s) && as_much(plan.memory.peak.bytes, other.memory.peak.bytes)
              && plan.config.seq == other.config.seq);
        if (height != width || mfu_model_dim_find(m, "image", NULL) < 0)
            continue;
        assert_int_equal(mfu_scenario_unset(&turned, "height", NULL), 0);
        assert_int_equal(mfu_scenario_unset(&turned, "width", NULL), 0);
        assert_int_equal(mfu_scenario_set(&turned, "image", text[0], NULL), 0);
        HOLDS(mfu_plan_make(&other, &turned, NULL) == 0 && as_much(plan.step.time_s, other.step.time_s));
    }
    assert_true(n > 5);
}

/* Sequences: batches of like documents are no longer than batches of any, those without the longest no longer than cut ones;
 * steps lie between those of the shortest and the longest, and what holds the longest holds all. */
static void lengths_lie_between_their_batches(void **unused)
{
    static const char *const told_of[][2] = {
        {"longest", "cut"}, {"alike", "cut"}, {"longest", "drop"}, {"alike", "drop"}};
    struct mfu_buckets_options options = {.images = NAN, .step = 64};

    (void)unused;
    for (int i = 0; i < 6; i++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, i % 2 ? "llama-3.2-1b" : "gpt2", NULL),
                                                   mfu_catalog_gpu(catalog, "h200-sxm", NULL));
        double tokens[4];
        char mean[16], sigma[16];

        snprintf(mean, sizeof mean, "%u", 100 + (unsigned)any(400)); /* of which not all are dropped at 512 */
        snprintf(sigma, sizeof sigma, "0.%u", 1 + (unsigned)any(9));
        snprintf(told, sizeof told, "model %s; set seq 512 batch 4 doc_len %s doc_sigma %s", s.model->slug, mean,
                 sigma);
        assert_int_equal(mfu_scenario_set(&s, "seq", "512", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "batch", "4", NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "doc_len", mean, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "padding", "longest", NULL), 0);
        HOLDS(mfu_buckets_plan(&s, "5", &options, &plan, &simulation, &(struct mfu_buckets){0}, NULL) < 0);
        assert_int_equal(mfu_scenario_set(&s, "doc_sigma", sigma, NULL), 0);
        for (int k = 0; k < 4; k++) {
            struct mfu_buckets b;

            assert_int_equal(mfu_scenario_set(&s, "padding", told_of[k][0], NULL), 0);
            assert_int_equal(mfu_scenario_set(&s, "too_long", told_of[k][1], NULL), 0);
            assert_int_equal(mfu_buckets_plan(&s, "5", &options, &plan, &simulation, &b, NULL), 0);
            HOLDS(b.n == 5 && b.step_s >= b.row[0].step_s * (1 - EXACT) && b.step_s <= b.row[4].step_s * (1 + EXACT));
            HOLDS(b.low_s <= b.step_s && b.step_s <= b.high_s && b.memory_tokens == 512);
            for (size_t r = 0; r < b.n; r++)
                HOLDS(b.row[r].tokens <= 512 && b.row[r].memory_bytes <= b.memory_bytes
                      && (r == 0 || b.row[r].tokens >= b.row[r - 1].tokens));
            tokens[k] = b.tokens;
        }
        HOLDS(tokens[1] <= tokens[0] && tokens[3] <= tokens[2] && tokens[2] <= tokens[0] && tokens[3] <= tokens[1]);
    }
}

/* One size is its plan; several lie between the least and the most of them, nearer to the most the more ranks wait for each
 * other; the largest must fit; every picture of an epoch is in a batch that is full or left over. */
static void buckets_lie_between_their_sizes(void **unused)
{
    (void)unused;
    for (int i = 0; i < 6; i++) {
        const struct mfu_model *m = mfu_catalog_model(catalog, i % 2 ? "dit-xl-2" : "sd3-medium", NULL);
        struct mfu_buckets_options options = {.images = 1000 + (double)any(9000), .step = 64};
        struct mfu_scenario s = mfu_scenario_start(m, mfu_catalog_gpu(catalog, "h200-sxm", NULL));
        double least = INFINITY, most = 0, memory = 0, ranks[2];
        struct mfu_buckets b;
        char sizes[96];

        snprintf(sizes, sizeof sizes, "512x512:%u,256x%u:%u,%ux256", 1 + (unsigned)any(9), 256 * (2 + (unsigned)any(3)),
                 1 + (unsigned)any(9), 64 * (3 + (unsigned)any(9)));
        snprintf(told, sizeof told, "model %s; buckets %s", m->slug, sizes);
        assert_int_equal(mfu_scenario_set(&s, "batch", i % 3 ? "4" : "1", NULL), 0);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(mfu_scenario_set(&s, "gpus", k ? "8" : "1", NULL), 0);
            assert_int_equal(mfu_buckets_plan(&s, sizes, &options, &plan, &simulation, &b, NULL), 0);
            ranks[k] = b.waits_s / b.step_s;
        }
        for (size_t k = 0; k < b.n; k++) {
            least = fmin(least, b.row[k].step_s);
            most = fmax(most, b.row[k].step_s);
            memory = fmax(memory, b.row[k].memory_bytes);
        }
        HOLDS(b.n == 3 && b.step_s >= least && b.step_s <= most * (1 + EXACT)
              && b.row[b.largest].memory_bytes == memory);
        HOLDS(ranks[0] < EXACT && ranks[1] > 0);
        HOLDS(b.left_images < 3 * plan.config.batch
              && b.epoch_s >= options.images / b.samples_per_s * (1 - 1e-3) - b.step_s);
        HOLDS((b.left_images == 0) == (plan.config.batch == 1 || b.partial_batches == 0));
        snprintf(sizes, sizeof sizes, "%.0fx%.0f", b.row[1].width, b.row[1].height);
        least = b.row[1].step_s;
        assert_int_equal(mfu_buckets_plan(&s, sizes, &options, &plan, &simulation, &b, NULL), 0);
        HOLDS(b.step_s == plan.step.time_s && as_much(b.step_s, least) && b.tokens == plan.config.seq);
        assert_int_equal(mfu_buckets_plan(&s, "7", &options, &plan, &simulation, &b, NULL), 0);
        for (size_t k = 0; k < b.n; k++)
            HOLDS(b.row[k].width * b.row[k].height <= pow(mfu_config_dim(&plan.config, "image"), 2)
                  && fmod(b.row[k].width, 64) == 0 && as_much(b.row[k].share, 1. / 7));
    }
}

/* Plans a model of pictures in a precision. */
static bool pictures(const char *gpu, const char *model, const char *precision)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, model, NULL), mfu_catalog_gpu(catalog, gpu, NULL));

    s.gpu_given = s.model_given = true;
    assert_int_equal(mfu_scenario_set(&s, "batch", "16", NULL), 0);
    assert_int_equal(mfu_scenario_set(&s, "precision", precision, NULL), 0);
    return mfu_plan_make(&plan, &s, NULL) == 0;
}

/* Hardware FLOP are those of the kernels, of Winograd's, too, and the gradient of the pictures themselves, which the conventions
 * count and nothing asks for. */
static void hardware_flops_are_those_of_the_kernels(void **unused)
{
    static const char *const precisions[] = {"fp32", "tf32", "bf16"};

    (void)unused;
    for (int q = 0; q < 3; q++) {
        double flops = 0, first = 0;

        assert_true(pictures("rtx4070", "resnet-50", precisions[q]));
        for (int k = 0; k < plan.program.n_segments; k++)
            for (int i = 0; i < plan.program.segments[k].count; i++) {
                const struct mfu_launch *l = &plan.program.launches[plan.program.segments[k].first + i];
                double of_it = mfu_segment_times(&plan.program, &plan.program.segments[k]) * l->work->kernel.flops;

                if (!mfu_kind_is_product(l->work->kernel.kind))
                    continue;
                first = first > 0 ? first : of_it;
                flops += of_it;
            }
        assert_near(plan.mfu.hardware_flops, flops + first, EXACT);
        assert_true(q == 2 ? plan.mfu.hfu == plan.mfu.mfu : plan.mfu.hfu < 0.9 * plan.mfu.mfu);
    }
}

/* TF32 only allows tensor cores.  A kernel is chosen by the card's peaks, of which TF32's and fp32's products reach other
 * shares: so much may one be slower.  Not of cards between these (A10, L40S), where copies to TF32's layout decide. */
static void tf32_is_no_slower_than_fp32(void **unused)
{
    static const char *const cards[] = {"rtx4070", "rtx3090", "rtx4090", "a100-80gb-sxm", "h100-sxm"};
    static const char *const names[] = {"resnet-50", "ssd300-v1.1", "vgg-16", "convnext-tiny", "vit-b-16"};

    (void)unused;
    for (size_t c = 0; c < sizeof cards / sizeof *cards; c++)
        for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
            double fp32_s;

            assert_true(pictures(cards[c], names[m], "fp32"));
            fp32_s = plan.step.time_s;
            assert_true(pictures(cards[c], names[m], "tf32"));
            assert_true(plan.step.time_s <= 1.02 * fp32_s);
        }
}

static int close_all(void **state_)
{
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    mfu_simulation_release(&simulation);
    return close_any(state_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_planned_or_refused_with_what_works),
        cmocka_unit_test(larger_images_are_no_less_work),
        cmocka_unit_test(photographs_hold_up_a_step),
        cmocka_unit_test(windows_side_by_side_leave_out_the_edge),
        cmocka_unit_test(turned_pictures_cost_as_much),
        cmocka_unit_test(buckets_lie_between_their_sizes),
        cmocka_unit_test(lengths_lie_between_their_batches),
        cmocka_unit_test(hardware_flops_are_those_of_the_kernels),
        cmocka_unit_test(tf32_is_no_slower_than_fp32),
    };

    return cmocka_run_group_tests(tests, open_any, close_all);
}
