/*
 * completers.c - what Tab proposes for an argument.
 */
#include "repl/completers.h"

#include <string.h>

#include "answer/metric/path.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/session.h"
#include "repl/topics.h"
#include "scenario/keys.h"

const char *mfu_offer_commands(struct mfu_session *s, size_t i)
{
    (void)s;
    return i < mfu_command_count ? mfu_commands[i]->name : NULL;
}

const char *mfu_offer_gpus(struct mfu_session *s, size_t i)
{
    size_t n;
    const char *const *names = mfu_catalog_gpus(s->catalog, &n);

    return i < n ? names[i] : NULL;
}

const char *mfu_offer_clusters(struct mfu_session *s, size_t i)
{
    size_t n;
    const char *const *names = mfu_catalog_clusters(s->catalog, &n);

    return i < n ? names[i] : i == n ? "usual" : NULL;
}

const char *mfu_offer_models(struct mfu_session *s, size_t i)
{
    size_t n;
    const char *const *names = mfu_catalog_models(s->catalog, &n);

    return i < n ? names[i] : NULL;
}

const char *mfu_offer_kept(struct mfu_session *s, size_t i)
{
    return i < (size_t)s->memory.n_kept ? s->memory.kept[i].name : NULL;
}

const char *mfu_offer_keys(struct mfu_session *s, size_t i)
{
    struct mfu_key k = mfu_key_at(&s->memory.now, (int)i);

    return k.kind == MFU_KEY_NONE ? NULL : mfu_key_name(&s->memory.now, k);
}

const char *mfu_offer_given_keys(struct mfu_session *s, size_t i)
{
    struct mfu_key k;

    for (int n = 0; (k = mfu_key_at(&s->memory.now, n)).kind != MFU_KEY_NONE; n++)
        if (mfu_key_given(&s->memory.now, k) && i-- == 0)
            return mfu_key_name(&s->memory.now, k);
    return NULL;
}

const char *mfu_offer_unset(struct mfu_session *s, size_t i)
{
    return i == 0 ? "all" : mfu_offer_given_keys(s, i - 1);
}

const char *mfu_offer_values(struct mfu_session *s, size_t i)
{
    const char *key = s->typing.argc ? s->typing.argv[s->typing.argc - 1] : "";
    const char *const *choices;

    if (mfu_parse_subject(key))
        return mfu_parse_subject(key) == 'g' ? mfu_offer_gpus(s, i) : mfu_offer_models(s, i);
    choices = mfu_key_choices(mfu_key_find_set(s->memory.now.model, key, NULL, NULL));
    for (size_t n = 0; choices && choices[n]; n++)
        if (n == i)
            return choices[n];
    return NULL;
}

/* One list behind the other: where `i` is behind the `n` of the first, what remains. */
static const char *either(struct mfu_session *s, size_t i, size_t n, mfu_offer_fn *first, mfu_offer_fn *second)
{
    return i < n ? first(s, i) : second(s, i - n);
}

static const char *results(struct mfu_session *s, size_t i)
{
    struct mfu_result r;

    return mfu_result_at(i, &r) ? r.name : mfu_figure_offer(i - mfu_result_count(), s->offered);
}

const char *mfu_offer_results(struct mfu_session *s, size_t i)
{
    return either(s, i, mfu_result_count() + mfu_figure_offer_count(), results, mfu_offer_keys);
}

static const char *const shown[] = {"cluster", "coefficients", "gpu", "model"};

static const char *wholes(struct mfu_session *s, size_t i)
{
    (void)s;
    return shown[i];
}

const char *mfu_offer_shown(struct mfu_session *s, size_t i)
{
    return either(s, i, sizeof shown / sizeof shown[0], wholes, mfu_offer_keys);
}

static const char *topics(struct mfu_session *s, size_t i)
{
    (void)s;
    return i < mfu_topic_count ? mfu_topics[i].name : NULL;
}

static const char *commands_and_keys(struct mfu_session *s, size_t i)
{
    return either(s, i, mfu_command_count, mfu_offer_commands, mfu_offer_keys);
}

const char *mfu_offer_topics(struct mfu_session *s, size_t i)
{
    return either(s, i, mfu_topic_count, topics, commands_and_keys);
}

/* A mark for complete.c, which completes the typed path from its folder. */
const char *mfu_offer_files(struct mfu_session *s, size_t i)
{
    (void)s, (void)i;
    return NULL;
}
