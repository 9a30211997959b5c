#include <string.h>

#include "base/quantity.h"
#include "base/suggest.h"
#include "plan/memory_timeline.h"
#include "report/export/snapshot.h"
#include "report/timeline.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/plan_view.h"
#include "answer/fields/fields.h"

static int whole(struct mfu_session *s, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.record = &mfu_record_memory, .text = mfu_text_memory, .worst = true};

    return mfu_view(s, &view, err);
}

static int stages(struct mfu_session *s, struct mfu_error *err)
{
    static const struct mfu_view_of view = {.record = &mfu_record_stages, .text = mfu_text_stages};

    return mfu_view(s, &view, err);
}

/* ---- memory timeline ----------------------------------------------------- */

static int timeline(struct mfu_session *s, struct mfu_error *err)
{
    struct mfu_memory_timeline course;
    int status = 0;

    if (mfu_session_simulate(s, mfu_memory_timeline_records(&s->memory.now), err) < 0
        || mfu_memory_timeline_of(&s->plan, &s->simulation, &course, err) < 0)
        return -1;
    if (s->json)
        status = mfu_answer(s, &mfu_record_timeline, &(struct mfu_timeline_answer){&s->plan, &course}, err);
    else
        mfu_text_timeline(s->out, &s->term, &s->plan, &course);
    mfu_memory_timeline_release(&course);
    return status;
}

/* ---- memory --snapshot FILE ---------------------------------------------- */

struct snapshot {
    const char *file;
    const struct mfu_snapshot_facts *facts;
};
// clang-format off
#define SNAPSHOT(X) \
    X(TEXT,   view,            0,         "snapshot",                 "snapshot") \
    X(TEXT,   file,            0,         x->file,                    "that was written") \
    X(NUMBER, events,          MFU_COUNT, (double)x->facts->events,   "allocations and frees") \
    X(NUMBER, segments,        MFU_COUNT, (double)x->facts->segments, "of the caching allocator") \
    X(NUMBER, blocks,          MFU_COUNT, (double)x->facts->blocks,   "in them") \
    X(NUMBER, reserved_bytes,  MFU_BYTES, x->facts->reserved_bytes,   "in segments") \
    X(NUMBER, allocated_bytes, MFU_BYTES, x->facts->allocated_bytes,  "in blocks, at the end")
MFU_FIELDS(memory_snapshot, const struct snapshot *x, SNAPSHOT)
static const struct mfu_record snapshot_record = MFU_RECORD(memory_snapshot, .command = "memory");
// clang-format on

static int snapshot(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    struct mfu_snapshot_facts facts;
    char allocated[MFU_QUANTITY_MAX], reserved[MFU_QUANTITY_MAX];

    if (mfu_may_replace(s, file, false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, 2);
    if (mfu_session_simulate_worst(s, true, err) < 0)
        return -1;
    if (mfu_snapshot_write(file, &s->plan, &s->simulation, &facts, err) < 0)
        return mfu_error_caret(s, err, 2);
    if (s->json)
        return mfu_answer(s, &snapshot_record, &(struct snapshot){file, &facts}, err);
    mfu_print_note(s, "wrote %s: %ld events, %ld segments of %s, %s allocated at the end", file, facts.events,
                   facts.segments, mfu_quantity_format(reserved, facts.reserved_bytes, MFU_BYTES),
                   mfu_quantity_format(allocated, facts.allocated_bytes, MFU_BYTES));
    if (strcmp(file + (strlen(file) > 5 ? strlen(file) - 5 : 0), ".json") != 0)
        mfu_print_note(s, "drop it on the page https://pytorch.org/memory_viz");
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const char *const views[] = {"stages", "timeline", "--snapshot"};

    if (argc == 1)
        return whole(s, err);
    if (strcmp(argv[1], "timeline") == 0 && argc == 2)
        return timeline(s, err);
    if (strcmp(argv[1], "stages") == 0 && argc == 2)
        return stages(s, err);
    if (strcmp(argv[1], "--snapshot") == 0 && argc == 3)
        return snapshot(s, argv[2], err);
    if (strcmp(argv[1], "--snapshot") == 0)
        mfu_fail(err, MFU_EINPUT, "--snapshot needs a file, such as step.pickle");
    else if (strcmp(argv[1], "timeline") == 0 || strcmp(argv[1], "stages") == 0)
        return mfu_fail_word(s, err, 2, "'%.60s': nothing was expected after %s", argv[2], argv[1]);
    else {
        mfu_fail(err, MFU_EINPUT, "'%.60s': expected nothing, stages, timeline, or --snapshot FILE", argv[1]);
        mfu_error_nearest(err, argv[1], views, 3);
    }
    return mfu_error_caret(s, err, 1);
}

static const char *offer(struct mfu_session *s, size_t i)
{
    static const char *const views[] = {"stages", "timeline", "--snapshot"};

    (void)s;
    return i < 3 ? views[i] : NULL;
}

const struct mfu_command mfu_command_memory = {
    .name = "memory",
    .usage = "[stages | timeline | --snapshot FILE [--force]]",
    .writes = true,
    .group = "plan",
    .summary = "where the memory goes",
    .help = "The parts of the memory at the moment of the peak, and the three figures that\n"
            "people mean by \"memory\": allocated by tensors, reserved by PyTorch, and used as\n"
            "nvidia-smi shows it.\n"
            "\n"
            "Of a pipeline it shows the stage that holds the most; stages shows all.\n"
            "timeline draws memory over one step.  --snapshot writes every allocation of the\n"
            "step for the page https://pytorch.org/memory_viz (FILE.pickle), or as FILE.json.\n"
            "\n"
            "    set batch 8; memory\n"
            "    set pp 4 accum 16; memory stages\n"
            "    memory timeline\n"
            "    memory --snapshot step.pickle",
    .most_args = 2,
    .offer = {offer},
    .answers = MFU_ANSWERS(&mfu_record_memory, &mfu_record_stages, &mfu_record_timeline, &snapshot_record),
    .pages = true,
    .run = run,
};
