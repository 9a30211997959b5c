#include "repl/assign.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/describe.h"
#include "repl/output.h"

static int list(struct mfu_session *s, struct mfu_error *err)
{
    const struct mfu_cluster *now = mfu_scenario_cluster(&s->memory.now);
    struct mfu_name_list list;

    list.names = mfu_catalog_clusters(s->catalog, &list.n);
    if (s->json)
        return mfu_list_names(s, &mfu_record_clusters, &list, "", err);
    mfu_show_cluster(s, &s->memory.now);
    putc('\n', s->out);
    return mfu_list_names(s, &mfu_record_clusters, &list, now ? now->slug : "", err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario next = s->memory.now;
    const struct mfu_cluster *old = mfu_scenario_cluster(&next);

    if (argc == 1)
        return list(s, err);
    if (mfu_choose_cluster(s, &next, argv[1], err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_scenario_cluster(&next) == old)
        mfu_say_cluster(s, &next); /* else it is told as a change */
    if (mfu_install(s, &next, true, err) < 0)
        return -1;
    if (s->json) {
        struct mfu_cluster_answer a = mfu_cluster_answer(&s->memory.now);

        return mfu_answer(s, &mfu_record_cluster, &a, err);
    }
    return 0;
}

const struct mfu_command mfu_command_cluster = {
    .name = "cluster",
    .usage = "[NAME|FILE|usual]",
    .group = "describe",
    .summary = "the machines and the network",
    .help = "Chooses the machines that the GPUs stand in and the network between them, by\n"
            "name, alias or file; the GPU becomes one that they hold.  Without a name tells\n"
            "all about the present ones and lists the known ones.  Until then, and after\n"
            "`cluster usual`, those count that are usual for the GPU.\n"
            "\n"
            "    cluster\n"
            "    cluster dgx-h100; kernel all_reduce 1GiB nodes 4\n"
            "    cluster usual",
    .most_args = 1,
    .offer = {mfu_offer_clusters},
    .pages = true,
    .run = run,
    .answers = MFU_ANSWERS(&mfu_record_cluster, &mfu_record_clusters),
};
