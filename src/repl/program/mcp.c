/*
 * mcp.c - the planner as tools for assistants.
 *
 * A tool is a command: the arguments of a call describe the scenario (model, gpu, settings)
 * and its words; the answer is the command's JSON.
 */
#include "repl/program/mcp.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "scenario/keys.h"

#define REVISION "2025-06-18"
#define WORDS 64 /* of one command */

/* Where memory has no room for an answer. */
#define NO_MEMORY "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}"

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 }; /* JSON-RPC */

static const struct tool {
    const char *name, *command, *description;
    const char *words; /* what they are, in a call that has some; NULL: none */
} tools[] = {
    {"plan", "plan", "Predict memory, step time, tokens/s and MFU of a training run, and whether it fits the GPU.",
     NULL},
    {"memory", "memory", "Where every byte of GPU memory goes at the highest moment of a training step.", NULL},
    {"why", "why", "Why the MFU is not 100 %: a ledger of losses that adds up, down to the kernels.",
     "mfu, slow, vram, ..."},
    {"advise", "advise", "What to change in this training run, each change planned, with its gain.", NULL},
    {"search", "search", "Find the best settings or the best layout on many GPUs.",
     "such as: maximize tokens_per_s over batch=1..64*2 checkpoint=all where fits; or: layout maximize tokens_per_s"},
    {"kernels", "kernels", "Every kernel of a training step with its time, FLOPs, bytes and bound.", NULL},
    {"explain", "explain", "Explain a term of training performance in the figures of this scenario.",
     "the term, such as arithmetic intensity"},
    {"models", "model", "The models that are known by name.", NULL},
    {"gpus", "gpu", "The GPUs that are known by name.", NULL},
    {"settings", "show", "Every setting with its meaning, value and origin: the keys that `settings` takes.", NULL},
};
#define N_TOOLS (sizeof tools / sizeof tools[0])

static json_t *text_property(const char *description)
{
    return json_pack("{ssss}", "type", "string", "description", description);
}

static json_t *describe(const struct tool *t)
{
    json_t *properties = json_pack(
        "{sososo}", "model", text_property("name, or path of a YAML file or of a config.json; default gpt2"), "gpu",
        text_property("name, such as h100-sxm or \"RTX 4090\"; default rtx4070"), "settings",
        json_pack("{ssss}", "type", "object", "description",
                  "keys and values: batch, accum, seq, precision, runtime, checkpoint, gpus, zero, tp, pp, lora ..."));

    if (t->words && json_object_set_new(properties, "words", text_property(t->words)) < 0) {
        json_decref(properties);
        return NULL;
    }
    return json_pack("{sssss{ssso}}", "name", t->name, "description", t->description, "inputSchema", "type", "object",
                     "properties", properties);
}

/* ---- a call --------------------------------------------------------------- */

static int set_value(struct mfu_scenario *s, const char *key, const json_t *value, struct mfu_error *err)
{
    if (json_is_string(value))
        return mfu_scenario_set(s, key, json_string_value(value), err);
    if (json_is_boolean(value))
        return mfu_scenario_set(s, key, json_is_true(value) ? "on" : "off", err);
    if (!json_is_number(value))
        return mfu_fail(err, MFU_EINPUT, "settings.%.60s: expected a number, a text, true or false", key);
    return mfu_scenario_set_number(s, key, json_number_value(value), err);
}

/* The scenario of a call: nothing of the one before. */
static int describe_scenario(struct mfu_session *s, json_t *arguments, struct mfu_error *err)
{
    struct mfu_scenario next = s->start;
    const char *gpu = json_string_value(json_object_get(arguments, "gpu"));
    const char *model = json_string_value(json_object_get(arguments, "model")), *key;
    json_t *settings = json_object_get(arguments, "settings"), *value;
    struct mfu_config config;

    if ((gpu && mfu_choose_gpu(s, &next, gpu, err) < 0) || (model && mfu_choose_model(s, &next, model, err) < 0))
        return -1;
    json_object_foreach(settings, key, value) if (set_value(&next, key, value, err) < 0) return -1;
    if (mfu_scenario_resolve(&next, &config, err) < 0)
        return -1;
    s->memory.now = next;
    s->memory.n_past = s->memory.n_future = 0;
    return 0;
}

/* Splits at blanks, in place. */
static int split(char *words, char **argv)
{
    int argc = 1;

    for (char *rest = words, *word; (word = strsep(&rest, " \t\n")) && argc < WORDS - 1;)
        if (*word)
            argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

/* Runs the command; its JSON, or the error, in *text, to be freed. */
static int call(struct mfu_session *s, const struct tool *t, json_t *arguments, char **text, struct mfu_error *err)
{
    const struct mfu_command *c = mfu_command_find(t->command);
    const char *given = json_string_value(json_object_get(arguments, "words"));
    char *words = strdup(given && t->words ? given : ""), name[32], *argv[WORDS] = {name};
    FILE *out = s->out;
    size_t size = 0;
    int status, argc;

    snprintf(name, sizeof name, "%s", t->command);
    *text = NULL;
    if (!words || !(s->out = open_memstream(text, &size))) {
        s->out = out;
        free(words);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    argc = split(words, argv);
    s->lost = false;
    s->columns = NULL;
    s->n_columns = 0;
    status = describe_scenario(s, arguments, err);
    if (status == 0 && (argc - 1 < c->least_args || (c->most_args >= 0 && argc - 1 > c->most_args)))
        status = mfu_fail(err, MFU_EINPUT, "words: expected '%s %s'", c->name, c->usage);
    if (status == 0)
        status = mfu_command_run(s, c, argc, argv, err);
    status = mfu_check_memory(s, status, err);
    if (fclose(s->out) != 0 && status == 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->out = out;
    free(words);
    return status;
}

/* The tool that is called, or NULL. */
static const struct tool *tool_of(json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));

    for (size_t i = 0; name && i < N_TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* NULL: out of memory. */
static json_t *call_tool(struct mfu_session *s, const struct tool *t, json_t *params)
{
    struct mfu_error err = {0}, unread = {0};
    char *text = NULL;
    json_t *result, *answer = NULL;

    if (call(s, t, json_object_get(params, "arguments"), &text, &err) == 0 && text)
        answer = mfu_json_read(text, strlen(text), 0, &unread);
    if (unread.code == MFU_ENOMEM)
        err = unread;
    if (err.code) {
        char message[MFU_ERROR_TEXT + 128];

        snprintf(message, sizeof message, "%s%s%s%s", err.text, *err.suggestion ? " (did you mean '" : "",
                 err.suggestion, *err.suggestion ? "'?)" : "");
        result = json_pack("{s[{ssss}]sb}", "content", "type", "text", "text", message, "isError", 1);
    } else if (json_is_object(answer))
        result = json_pack("{s[{ssss}]sO}", "content", "type", "text", "text", text, "structuredContent", answer);
    else
        result = json_pack("{s[{ssss}]}", "content", "type", "text", "text", text ? text : "");
    json_decref(answer);
    free(text);
    memset(&s->place, 0, sizeof s->place);
    return result;
}

/* ---- messages -------------------------------------------------------------- */

static json_t *list_tools(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < N_TOOLS; i++)
        if (json_array_append_new(list, describe(&tools[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return json_pack("{so}", "tools", list);
}

static json_t *greet(void)
{
    return json_pack("{sss{s{}}s{ssss}ss}", "protocolVersion", REVISION, "capabilities", "tools", "serverInfo", "name",
                     "mfuplan", "version", MFUPLAN_VERSION, "instructions",
                     "Ask `plan` before proposing a training configuration; every figure is a prediction with a 90 % "
                     "interval, in SI units.");
}

static json_t *failure(json_t *id, int code, const char *message)
{
    return json_pack("{sssOs{siss}}", "jsonrpc", "2.0", "id", id ? id : json_null(), "error", "code", code, "message",
                     message);
}

/* The answer to a message; NULL to a notification. */
static json_t *answer(struct mfu_session *s, json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params"), *result;
    const struct tool *t;

    if (!json_is_object(message) || !method)
        return failure(id, INVALID_REQUEST, "expected a JSON-RPC 2.0 request");
    if (!id)
        return NULL;
    if (strcmp(method, "initialize") == 0)
        result = greet();
    else if (strcmp(method, "ping") == 0)
        result = json_object();
    else if (strcmp(method, "tools/list") == 0)
        result = list_tools();
    else if (strcmp(method, "tools/call") != 0)
        return failure(id, NO_METHOD, "no such method");
    else if (!(t = tool_of(params)))
        return failure(id, INVALID_PARAMS, "no such tool");
    else
        result = call_tool(s, t, params);
    return json_pack("{sssOso}", "jsonrpc", "2.0", "id", id, "result", result);
}

int mfu_mcp_serve(struct mfu_session *s, FILE *in, FILE *out, struct mfu_error *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    s->json = true;
    s->quiet = true;
    while ((n = getline(&line, &size, in)) > 0) {
        struct mfu_error problem = {0};
        json_t *message, *reply;
        bool silent, failed; /* a notification has no answer */
        char *text;

        mfu_error_unheard();
        if (strspn(line, " \t\r\n") == (size_t)n)
            continue;
        message = n < MFU_LINE_MAX * 16 ? mfu_json_read(line, (size_t)n, JSON_REJECT_DUPLICATES, &problem) : NULL;
        reply = message                  ? answer(s, message)
            : problem.code == MFU_ENOMEM ? NULL
                                         : failure(NULL, PARSE_ERROR, "this is not JSON");
        silent = !reply && message && !json_object_get(message, "id");
        json_decref(message);
        text = reply ? mfu_json_dumps(reply, JSON_COMPACT) : NULL;
        json_decref(reply);
        failed = !silent && (fprintf(out, "%s\n", text ? text : NO_MEMORY) < 0 || fflush(out) != 0);
        free(text);
        if (failed)
            break;
    }
    free(line);
    return ferror(out) ? mfu_fail(err, MFU_EIO, "standard output cannot be written") : 0;
}
