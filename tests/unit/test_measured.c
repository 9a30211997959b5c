/* test_measured.c - tables of runs as people write them: what is read, what is
 * filled in, and why a row is left out. */
#include "catalog.h"
#include "scratch.h"

#include "answer/validate/validate.h"
#include "base/error.h"
#include "base/field.h"

/* The latest answers: each is there until the eighth behind it, or the last test. */
static struct mfu_validation *latest[8];

static int close_all(void **state)
{
    for (size_t i = 0; i < LENGTH(latest); i++)
        mfu_validation_free(latest[i]);
    return close_catalog(state);
}

static struct mfu_validation *validate(const char *text, struct mfu_error *err)
{
    static size_t n;
    struct mfu_validation **all = &latest[n++ % LENGTH(latest)];
    SCRATCH s = scratch_new();

    mfu_validation_free(*all);
    *all = mfu_validate(catalog, scratch_file(&s, "runs.csv", text), err);
    return *all;
}

static struct mfu_validation *__attribute__((format(printf, 1, 2))) table(const char *format, ...)
{
    struct mfu_error err = {0};
    struct mfu_validation *all;
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!(all = validate(text, &err)))
        fail_msg("%s", err.text);
    return all;
}

#define COLUMNS                                                                                                        \
    "gpu,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,grad_accum,precision,compile,optimizer,attention"
#define CELLS "rtx4070,gpt2,1024,12,12,768,50304,8,64,bf16-amp,torch.compile,adamw-fused,flash2"

/* One run with another column behind it. */
static struct mfu_validation *one(const char *column, const char *cell)
{
    struct mfu_validation *all = table(COLUMNS ",%s\n" CELLS ",%s\n", column, cell);

    assert_int_equal(all->n_rows, 1);
    return all;
}

static void numbers_are_read_whole(void **state)
{
    static const struct {
        const char *column, *cell, *why;
    } rows[] = {
        {"step_time_ms", "\"9,34\"", "in milliseconds and nothing else"},
        {"step_time_ms", "\"0,340\"", "and nothing else"},
        {"step_time_ms", "\"9340,123\"", "and nothing else"},
        {"step_time_ms", "9.34 h", "step_time_ms '9.34 h': expected a number above 0"},
        {"step_time_ms", "9340k", "and nothing else"},
        {"step_time_ms", "-5", "expected a number above 0"},
        {"step_time_ms", "0", "expected a number above 0"},
        {"step_time_ms", "inf", "expected a number above 0"},
        {"step_time_ms", "1e30", "up to 1e+09"},
        {"step_time_ms", "0x10", "expected a number"},
        {"mem_allocated_gib", "7 of 12", "in GiB and nothing else"},
        {"mem_reserved_gib", "7000", "a rtx4070 has 12 GiB"},
        {"mem_allocated_gib", "0", "expected a number above 0"},
        {"tokens_per_s", "56 k tokens/s/GPU", "in tokens per second"},
        {"tokens_per_s", "56k-57k", "in tokens per second"},
        {"n_gpus", "1.5", "n_gpus '1.5': expected a whole number from 1"},
        {"mfu_pct", "30-40%", "in per cent"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one(rows[i].column, rows[i].cell);

        if (!strstr(all->rows[0].skipped, rows[i].why))
            fail_msg("%s %s: '%s'", rows[i].column, rows[i].cell, all->rows[0].skipped);
        assert_int_equal(all->step.n + all->allocated.n + all->reserved.n + all->ran, 0);
        assert_int_equal(all->n_skipped, 1);
    }
}

/* Which files the program reads is not for a table to say. */
static void no_cell_opens_a_file(void **state)
{
    static const char *const rows[] = {MFUPLAN_SOURCE_DIR "/gpus/rtx4070.yaml,gpt2,",
                                       MFUPLAN_SOURCE_DIR "/gpus/rtx4070,gpt2,",
                                       "rtx4070,," MFUPLAN_SOURCE_DIR "/models/gpt2.yaml",
                                       "rtx4070," MFUPLAN_SOURCE_DIR "/models/gpt2.yaml,",
                                       "rtx4070.yaml,gpt2,",
                                       "rtx4070,,gpt2.yaml",
                                       "rtx4070,gpt2.yaml,"};

    (void)state;
    if (chdir(MFUPLAN_SOURCE_DIR "/models") != 0)
        fail_msg("no folder of models");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("gpu,family,model,seq_len,micro_batch,step_time_ms,n_layer,n_head,n_embd\n"
                                           "%s,1024,8,100,12,12,768\n",
                                           rows[i]);

        if (!all->rows[0].skipped[0])
            fail_msg("%s is read", rows[i]);
    }
}

/* Numbers that a model's file only names for its sections are no columns: of "step" a table has the steps that it timed.  What
 * models have in common are, by any of its names. */
static void a_column_sets_no_constant_of_a_file(void **state)
{
    static const char *const columns[] = {"step", "none", "one", "first"};

    (void)state;
    for (size_t i = 0; i < LENGTH(columns); i++) {
        struct mfu_validation *with = table("gpu,model,micro_batch,samples_per_s,%s\nrtx4070,resnest-50d,32,300,7\n"
                                            "rtx4070,rwkv7-1.5b,1,3,7\n",
                                            columns[i]),
                              *without = table("gpu,model,micro_batch,samples_per_s\nrtx4070,resnest-50d,32,300\n"
                                               "rtx4070,rwkv7-1.5b,1,3\n");

        for (size_t r = 0; r < 2; r++)
            assert_true(fabs(with->rows[r].predicted_step_s - without->rows[r].predicted_step_s) < 1e-12);
    }
    {
        struct mfu_validation *laid =
            table("gpu,model,micro_batch,samples_per_s,precision,memory_format\n"
                  "rtx4070,resnet-50,32,300,fp16,\nrtx4070,resnet-50,32,300,fp16,channels_last\n");

        assert_true(laid->rows[1].predicted_step_s < laid->rows[0].predicted_step_s);
    }
}

/* What is counted may stand behind how many there are. */
static void counts_may_name_what_they_count(void **state)
{
    struct mfu_validation *all = table("gpu,model,n_gpus,gpus_per_node,seq_len,micro_batch,step_time_ms\n"
                                       "a100-80gb-sxm,gpt2,8,4,1024,16,400\n"
                                       "a100-80gb-sxm,gpt2,8 GPUs,4 GPUs,1024 tokens,16,400\n"
                                       "a100-80gb-sxm,gpt2,8 layers,4,1024,16,400\n");

    (void)state;
    assert_true(all->rows[0].predicted_step_s > 0);
    assert_near(all->rows[1].predicted_step_s, all->rows[0].predicted_step_s, 1e-12);
    assert_near(all->rows[1].high_s, all->rows[0].high_s, 1e-12);
    assert_non_null(strstr(all->rows[2].skipped, "n_gpus '8 layers': expected a whole number"));
}

/* Another program's name for a dimension that models have in common is a column. */
static void other_names_of_dimensions_are_columns(void **state)
{
    struct mfu_validation *all = table("gpu,model,micro_batch,precision,samples_per_s,memory_format\n"
                                       "rtx3090,resnet50,256,fp16-amp,1200,channels_last\n"
                                       "rtx3090,resnet50,256,fp16-amp,1200,contiguous\n"
                                       "rtx3090,resnet50,256,fp16-amp,1200,\n");

    (void)state;
    assert_true(all->rows[0].predicted_step_s < 0.95 * all->rows[1].predicted_step_s);
    assert_near(all->rows[2].predicted_step_s, all->rows[1].predicted_step_s, 1e-9);
}

static void what_is_stated_is_used(void **state)
{
    static const struct {
        const char *columns, *cells;
        double step_s;
        const char *assumed;
    } rows[] = {
        {"step_time_ms", "9340", 9.34, NULL},
        {"step_time_ms", " 9.34e3 ", 9.34, NULL},
        {"step_time_ms", "\"9,340\"", 9.34, "step_time_ms=9340 for 9,340"},
        {"step_time_ms", "9.34s", 9.34, "step_time_ms=9340 for 9.34s"},
        {"step_time_ms", "~9340 ms", 9.34, "step_time_ms=9340 for ~9340 ms"},
        {"tokens_per_s", "\"56,133\"", 9.34, "tokens_per_s=56133 for 56,133"},
        {"tokens_per_s", "56.133k tokens/s", 9.34, "tokens_per_s=56133 for 56.133k tokens/s"},
        {"tokens_per_s", "56133", 9.34, NULL},
        {"tokens_per_s_gpu", "56133", 9.34, NULL},
        {"tokens_per_s_gpu", "56.133k tok/s/GPU", 9.34, "tokens_per_s_gpu=56133 for 56.133k tok/s/GPU"},
        {"mfu_pct,mfu_peak_tflops,mfu_convention", "15.38,312,nanogpt", 9.34, NULL},
        {"mfu_pct,mfu_convention", "15.38,nanogpt", 9.34, "mfu_peak_tflops=312 of nanogpt"},
        {"mfu_pct,mfu_peak_tflops,mfu_convention", "77,58.3,megatron", 9.32, NULL},
        {"mfu_pct,mfu_convention", "71.35,6N", 9.4, "mfu_peak_tflops=58.3 of 6n"},
        {"mfu_pct,mfu_peak_tflops,mfu_convention", "82.3,58.3,palm (6N + 12LdT)", 9.39, NULL},
        {"step_time_ms,global_batch", "9340,8", 9.34, "global_batch 8 is not used"},
        {"step_time_ms,global_batch", "9340,512", 9.34, NULL},
        {"step_time_ms,tokens_per_s", "9340,100000", 9.34, "tokens_per_s 100000 is not used"},
        {"step_time_ms,params_m", "9340,350", 9.34, "params_m 350 is not used: the model has 124.4"},
        {"step_time_ms,params_m", "9340,124.4", 9.34, NULL},
        {"step_time_ms,params_m", "9340,124M", 9.34, "params_m '124M' is not used"},
        {"step_time_ms,norm", "9340,rmsnorm", 9.34, "norm: the model's, not rmsnorm"},
        {"step_time_ms,pos", "9340,rope", 9.34, "pos: the model's, not rope"},
        {"step_time_ms,pos", "9340,alibi", 9.34, "pos: the model's, not alibi"},
        {"step_time_ms,pos", "9340,none", 9.34, "pos: the model's, not none"},
        {"step_time_ms,norm", "9340,batchnorm", 9.34, "norm: the model's, not batchnorm"},
        {"step_time_ms,mlp", "9340,relu", 9.34, NULL},
        {"step_time_ms,mlp", "9340,xielu", 9.34, "mlp: the model's, not xielu"},
        {"step_time_ms,pos,norm,mlp,bias", "9340,Absolute,LayerNorm,GELU,0", 9.34, NULL},
        {"step_time_ms,pos,norm,mlp,bias", "9340,learned,layernorm,gelu,0", 9.34, NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one(rows[i].columns, rows[i].cells);
        const struct mfu_validated *v = &all->rows[0];

        if (v->skipped[0])
            fail_msg("%s %s: %s", rows[i].columns, rows[i].cells, v->skipped);
        assert_near(v->measured_step_s, rows[i].step_s, 0.002);
        assert_int_equal(all->step.n, 1);
        if (rows[i].assumed ? !strstr(v->assumed, rows[i].assumed)
                            : strstr(v->assumed, "not") || strstr(v->assumed, "peak"))
            fail_msg("%s %s: '%s'", rows[i].columns, rows[i].cells, v->assumed);
    }
}

static void what_cannot_be_read_says_so(void **state)
{
    static const struct {
        const char *columns, *cells, *why;
    } rows[] = {
        {"mfu_pct,mfu_convention", "40,ours", "mfu_convention 'ours' is not known: expected nanogpt, palm"},
        {"mfu_pct,mfu_convention", "40,megatron x3/4", "is not known"},
        {"mfu_pct,mfu_convention", "0.15,nanogpt", "a fraction, not per cent?"},
        {"id", "x", "neither time, memory nor outcome is stated"},
        {"step_time_ms,sharding,tp", "9000,FSDP+TP2,4", "contradict each other"},
        {"step_time_ms,sharding", "9000,FSDP+EP", "of how many GPUs is not stated"},
        {"step_time_ms,act_ckpt", "9000,full except the first 2 layers", "is not known"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one(rows[i].columns, rows[i].cells);

        if (!strstr(all->rows[0].skipped, rows[i].why))
            fail_msg("%s %s: '%s'", rows[i].columns, rows[i].cells, all->rows[0].skipped);
    }
}

static void empty_cells_take_defaults(void **state)
{
    static const struct {
        const char *text, *assumed;
    } rows[] = {
        {"gpu,model,micro_batch,step_time_ms\nrtx4070,gpt2,8,250\n", "family=gpt2"},
        {"gpu,model,micro_batch,step_time_ms\nrtx4070,gpt2,8,250\n", "n_embd: the model's"},
        {"gpu,model,micro_batch,step_time_ms\nrtx4070,gpt2,8,250\n", "seq: the model's"},
        {"gpu,model,family,n_layer,micro_batch,step_time_ms\nrtx4070,gpt2-xl,gpt2,6,1,250\n", "n_embd: the model's"},
        {"gpu,model,micro_batch,step_time_ms\nv100,gpt2,8,250\n", "gpu=v100-"},
        {"gpu,model,micro_batch,n_gpus,step_time_ms\na100-80gb-sxm,gpt2,8,8,250\n", "sharding=ddp"},
        {"gpu, model, micro_batch, step_time_ms\nRTX 4070, gpt2, 8, 250\n", "accum=1"},
        {"gpu,model,micro_batch,tp,step_time_ms\nRTX 4070,gpt2,8,-,250\n", "accum=1"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("%s", rows[i].text);

        if (all->rows[0].skipped[0] || !strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%s%s / %s", rows[i].text, all->rows[0].skipped, all->rows[0].assumed);
        assert_near(all->rows[0].measured_step_s, 0.25, 1e-9);
    }
}

/* Blocks, links and machines that no default stands for. */
static void what_is_another_machine_is_left_out(void **state)
{
    struct mfu_validation *all = one("mlp", "swiglu");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "mlp swiglu: the graph of gpt2 has one without a gate");
    all = table("gpu,model,micro_batch,n_gpus,sharding,intra_link,step_time_ms\n"
                "a100-80gb-sxm,gpt2,8,8,ddp,pcie4,200\na100-80gb-sxm,gpt2,8,8,ddp,nvlink3,200\n"
                "cpu,gpt2,8,1,none,,200\nrtx4070,gpt2,8,2,ddp,pcie4,200\n");
    assert_string_equal(all->rows[0].skipped, "intra_link pcie4: 8 GPUs of a100-80gb-sxm exchange over NVLink");
    assert_string_equal(all->rows[1].skipped, "");
    assert_string_equal(all->rows[2].skipped, "measured on a CPU");
    assert_string_equal(all->rows[3].skipped, "");
}

/* A property that only words name counts wherever they stand, unless they deny it. */
static void words_name_what_is_not_modelled(void **state)
{
    static const struct {
        const char *column, *cell, *why; /* why NULL: planned */
    } rows[] = {
        {"notes", "LoRA on all linears", "adapters (LoRA)"},
        {"notes", "LoRA r=16 on all linears", NULL},
        {"notes", "finetuned with qlora, 4 bit", "adapters (QLoRA)"},
        {"method", "lora", NULL},
        {"notes", "optimizer states: CPU offload", "offload"},
        {"notes", "run with --offload", "offload"},
        {"sharding", "none (Offloaded)", "offload"},
        {"notes", "embeddings frozen", "frozen weights"},
        {"lora_rank", "8", "adapters"},
        {"notes", "no LoRA here", NULL},
        {"notes", "without any CPU offload", NULL},
        {"notes", "not frozen", NULL},
        {"notes", "explorations of exploration", NULL},
        {"notes", "no. LoRA", "adapters (LoRA)"},
        {"notes", "PagedAdamW from bitsandbytes", NULL},
        {"notes", "no config was found (act_ckpt/offload left empty)", NULL},
        {"notes", "offload of 40 layers", "a part of the layers"},
        {"tp", "8", "the number of GPUs is not stated"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char columns[64], cells[96];
        struct mfu_validation *all;

        snprintf(columns, sizeof columns, "step_time_ms,%s", rows[i].column);
        snprintf(cells, sizeof cells, "9340,\"%s\"", rows[i].cell);
        all = one(columns, cells);
        if (rows[i].why ? !strstr(all->rows[0].skipped, rows[i].why) : all->rows[0].skipped[0] != '\0')
            fail_msg("%s %s: '%s'", rows[i].column, rows[i].cell, all->rows[0].skipped);
    }
}

/* An encoder's tokens are its sequence length, its container's month the year of its software; what the model's file
 * says of dropout stands where nothing is stated; sequences of many lengths are no time of the longest. */
static void encoders_are_read_by_their_task(void **state)
{
    static const struct {
        const char *model, *tokens, *assumed, *why, *task; /* why NULL: planned */
    } rows[] = {
        {"BERT-large SQuAD", "384", "n_labels=2: fine-tuning head", NULL, ""},
        {"BERT-large SQuAD", "128", "dropout: the model's", NULL, ""},
        {"BERT-large pre-training", "128", "masked=19", NULL, ""},
        {"BERT-large", "128", "masked=19", NULL, "masked lm pre-training"},
        {"BERT-large", "128", "mlm=1: masked tokens", NULL, "masked lm"},
        {"BERT-large pre-training", "128", "software=2021", NULL, ""},
        {"BERT-large pre-training", "512", "", "sequences of many lengths", ""},
    };
    double step_s[LENGTH(rows)];

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,source,model,family,tokens,task,micro_batch,precision,compile,framework,step_time_ms\n"
                  "a100-80gb-sxm,NVIDIA/DeepLearningExamples,%s,bert,%s,%s,32,fp16-amp,jit,pytorch 21.11 NGC,300\n",
                  rows[i].model, rows[i].tokens, rows[i].task);

        if (rows[i].why ? !strstr(all->rows[0].skipped, rows[i].why)
                        : all->rows[0].skipped[0] || !strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%zu: '%s', assumed '%s'", i, all->rows[0].skipped, all->rows[0].assumed);
        step_s[i] = all->rows[0].predicted_step_s;
    }
    assert_true(step_s[1] < step_s[0]);
}

/* Photographs are decoded beside a training that says so; a run that says neither may be one, and its interval has it. */
static void images_are_decoded_where_they_are_real(void **state)
{
    static const char *const notes[] = {"synthetic data", "", "90 epochs of ImageNet"};
    struct mfu_validation *all[LENGTH(notes)];
    double high_s[LENGTH(notes)], step_s[LENGTH(notes)];

    (void)state;
    for (size_t i = 0; i < LENGTH(notes); i++) {
        all[i] = table("gpu,model,micro_batch,precision,compile,optimizer,memory_format,img_size,step_time_ms,notes\n"
                       "h100-sxm,resnet-50,256,fp16-amp,eager,sgd,channels_last,224,100,%s\n",
                       notes[i]);
        assert_string_equal(all[i]->rows[0].skipped, "");
        step_s[i] = all[i]->rows[0].predicted_step_s;
        high_s[i] = all[i]->rows[0].high_s;
        assert_true(!strstr(all[i]->rows[0].assumed, "dataloader=jpeg") == (i < 2));
    }
    assert_true(step_s[0] == step_s[1] && step_s[1] < step_s[2]);
    assert_true(high_s[0] < high_s[1] && high_s[1] >= high_s[2] * 0.99);
}

/* What words and names say of a run that is a setting here. */
static void words_that_are_settings_are_set(void **state)
{
    static const struct {
        const char *model, *gpus, *sharding, *optimizer, *notes, *assumed; /* assumed NULL: left out */
    } rows[] = {
        {"Llama-3.2-1B", "16", "hsdp", "adamw-fused", "", "dp_shard=8"},
        {"Llama-3.2-1B", "8", "fsdp:optim_grads_params", "adamw-fused", "", ""},
        {"Llama-3.2-1B", "1", "none", "adamw (in backward)", "", "optimizer_in_backward=on"},
        {"Llama-3.2-1B", "1", "none", "adam8bit (in backward)", "", "optimizer=adam8bit"},
        {"Llama-3.2-1B", "1", "none", "8-bit GaLore (rank 1024)", "", "optimizer=galore8bit"},
        {"Llama-3.2-1B", "1", "none", "galore_adamw_8bit_layerwise", "", "optimizer_in_backward=on"},
        {"Llama-3.2-1B", "1", "none", "Muon + AdamW", "", "optimizer=muon"},
        {"Llama-3.2-1B", "8", "zero3", "adamw (DeepSpeed CPU offload)", "", "offload_optimizer=on"},
        {"Llama-3.2-1B", "8", "fsdp", "adamw-fused", "with CPU offload", "offload_params=on"},
        {"Llama-3.2-1B", "1", "none", "adamw-fused", "activation offload", "offload_activations=on"},
        {"Llama-3.2-1B", "2", "none", "adamw-fused", "several GPUs = device_map model split", "schedule=sequential"},
        {"Llama-3.2-1B", "1", "none", "adamw-fused", "sequences padded to max length", "padding_mask=on"},
        {"Llama-3.2-1B", "8", "zero1", "adamw-fused", "Grads reduced in bf16", "grad_reduce=bf16"},
        {"Llama-3.2-1B LoRA", "1", "none", "adamw-fused", "", "lora=16: the rank is not stated"},
        {"Llama-3.2-1B QLoRA", "1", "none", "adamw-fused", "", "base_precision=nf4"},
        {"Llama-3.2-1B Instruct (bf16)", "1", "none", "adamw-fused", "", ""},
        {"meta-llama/Llama-3.2-1B-Instruct", "1", "none", "adamw-fused", "", ""},
        {"Llama-3.2-90B", "16", "hsdp", "adamw-fused", "", NULL},
        {"Llama-3.2-1B 90B", "16", "hsdp", "adamw-fused", "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,n_gpus,gpus_per_node,family,model,seq_len,micro_batch,grad_accum,precision,compile,optimizer,"
                  "attention,act_ckpt,sharding,notes,step_time_ms\n"
                  "h100-sxm,%s,8,llama,%s,2048,1,1,bf16-pure,eager,%s,flash2,full,%s,%s,9340\n",
                  rows[i].gpus, rows[i].model, rows[i].optimizer, rows[i].sharding, rows[i].notes);

        if (!rows[i].assumed ? !strstr(all->rows[0].skipped, "size is not stated")
                             : all->rows[0].skipped[0] || !strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%zu: '%s', assumed '%s'", i, all->rows[0].skipped, all->rows[0].assumed);
    }
}

/* A pipeline's schedule by any of its names; another is named, that of something else is not. */
static void schedules_are_read_from_notes(void **state)
{
    static const struct {
        const char *notes, *assumed; /* NULL: nothing of a schedule */
    } rows[] = {
        {"schedule zbv-formatted", "schedule=zb-v, by the notes"},
        {"pipeline schedule: V-Half", "schedule=v-half, by the notes"},
        {"good; schedule v-min", "schedule=v-min, by the notes"},
        {"schedule zbq (ours); good", "schedule: 'zbq' is not modelled"},
        {"schedule is zb-v", "schedule=zb-v, by the notes"},
        {"lr schedule linear", NULL},
        {"cosine schedule", NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,n_gpus,model,seq_len,micro_batch,grad_accum,pp,compile,step_time_ms,notes\n"
                  "h100-sxm,8,llama-2-7b,4096,1,32,8,megatron,3000,%s\n",
                  rows[i].notes);

        assert_string_equal(all->rows[0].skipped, "");
        if (!strstr(all->rows[0].assumed, rows[i].assumed ? rows[i].assumed : "schedule") == !!rows[i].assumed)
            fail_msg("%s: assumed '%s'", rows[i].notes, all->rows[0].assumed);
    }
}

/* Adapters by their columns: less memory than full training, other memory on a quantised base; words that stand for
 * the same are the same; what cannot be planned is named. */
static void adapters_are_read_by_their_columns(void **state)
{
    static const struct {
        const char *cells, *why; /* why NULL: planned */
    } rows[] = {
        {"9340,full,,none,", NULL},
        {"9340,lora,8,none,all linear", NULL},
        {"9340,qlora,8,nf4,all linear (*_proj)", NULL},
        {"9340,lora,8,none,\"qkv,o,up,down\"", NULL},
        {"9340,lora,,none,", NULL},
        {"9340,frod,8,none,", "method 'frod' is not modelled"},
        {"9340,lora,8,none,nothing", "lora_targets"},
    };
    double bytes[LENGTH(rows)];

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one("step_time_ms,method,lora_rank,quant,lora_targets", rows[i].cells);

        if (rows[i].why ? !strstr(all->rows[0].skipped, rows[i].why) : all->rows[0].skipped[0] != '\0')
            fail_msg("%s: '%s'", rows[i].cells, all->rows[0].skipped);
        bytes[i] = all->rows[0].predicted_allocated_bytes;
    }
    assert_true(bytes[1] < bytes[0] && bytes[2] < bytes[0] && bytes[2] != bytes[1]);
    assert_near(bytes[3], bytes[1], 0);
}

/* A processor that is named is that; one that nobody knows is said not to be known. */
static void the_processor_of_a_row_counts(void **state)
{
    static const char *const cells[] = {"", "2x EPYC 7742", "Fast 3000"};
    double high_s[LENGTH(cells)];

    (void)state;
    for (size_t i = 0; i < LENGTH(cells); i++) {
        char two[64];
        struct mfu_validation *all = one("step_time_ms,cpu", (snprintf(two, sizeof two, "9340,%s", cells[i]), two));

        assert_string_equal(all->rows[0].skipped, "");
        high_s[i] = all->rows[0].high_s;
        assert_int_equal(strstr(all->rows[0].assumed, "cpu=unknown for Fast 3000") != NULL, i == 2);
    }
    assert_true(high_s[1] != high_s[0]);
    assert_near(high_s[2], high_s[0], 0);
}

/* Software named behind a method is what its settings say; a word that is none of them is named. */
static void software_beside_a_method_is_settings(void **state)
{
    static const struct {
        const char *method, *assumed, *why; /* why NULL: planned */
    } rows[] = {
        {"lora", "", NULL},
        {"lora+cce", "loss_chunks=64 for cce", NULL},
        {"lora+hf+unsloth", "kernel_package=unsloth for unsloth", NULL},
        {"lora+hf+fa2", "attention=flash2 for fa2", NULL},
        {"lora+nothing", "", "'nothing' of method 'lora+nothing' is not modelled"},
        {"frod+cce", "", "method 'frod' is not modelled"},
    };
    double bytes[LENGTH(rows)];

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all;
        char cells[64];

        snprintf(cells, sizeof cells, "9340,%s,8", rows[i].method);
        all = one("step_time_ms,method,lora_rank", cells);
        if (rows[i].why ? !strstr(all->rows[0].skipped, rows[i].why) : all->rows[0].skipped[0] != '\0')
            fail_msg("%s: '%s'", cells, all->rows[0].skipped);
        if (!strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%s: '%s'", cells, all->rows[0].assumed);
        bytes[i] = all->rows[0].predicted_allocated_bytes;
    }
    assert_true(bytes[1] < bytes[0]);
    assert_true(bytes[2] < bytes[3]);
}

/* What one row says of a card, a length and an outcome. */
static struct mfu_validation *with_outcome(const char *gpu, double seq, const char *outcome)
{
    struct mfu_validation *all =
        table("gpu,mem_as_printed,outcome,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,grad_accum,precision,"
              "compile,optimizer,attention,act_ckpt\n"
              "%s,12 GB card,%s,gpt2,%.0f,12,12,768,50304,1,1,bf16-amp,eager,adamw-fused,flash2,none\n",
              gpu, outcome, seq);

    assert_int_equal(all->n_rows, 1);
    return all;
}

static bool fits(double seq)
{
    struct mfu_validation *all = with_outcome("rtx4070", seq, "oom");
    bool yes = all->rows[0].fits;

    assert_string_equal(all->rows[0].skipped, "");
    return yes;
}

/* The longest sequence that fits does not depend on what the row states, fits, and one that is longer does not. */
static void the_longest_sequence_that_fits_is_found(void **state)
{
    struct mfu_validation *all = with_outcome("rtx4070", 1024, "limit");
    double longest = all->rows[0].predicted_seq;

    (void)state;
    assert_string_equal(all->rows[0].skipped, "");
    assert_near(all->rows[0].measured_seq, 1024, 0);
    assert_int_equal(all->seq.n, 1);
    assert_int_equal(all->seq_near, 0);
    assert_int_equal(all->ran + all->oom, 0);
    assert_true(longest > 1024 && fits(longest) && fits(0.87 * longest) && !fits(1.15 * longest));
    all = with_outcome("rtx4070", longest, "limit");
    assert_near(all->rows[0].predicted_seq, longest, 0);
    assert_int_equal(all->seq_near, 1);
    all = with_outcome("", longest, "limit"); /* another card, as large */
    assert_near(all->rows[0].predicted_seq, longest, 0.1 * longest);
    all = with_outcome("rtx4070", NAN, "limit");
    assert_non_null(strstr(all->rows[0].skipped, "seq_len"));
    all = with_outcome("", longest, "ran");
    assert_string_equal(all->rows[0].skipped, "");
    assert_int_equal(all->ran, 1);
}

/* A row that trains another number of weights than its columns say is told from one that cannot be modelled. */
static void rows_that_train_other_weights_are_told(void **state)
{
    struct mfu_validation *all = one("step_time_ms,method,lora_rank,trainable_m", "9340,lora,8,77");

    (void)state;
    assert_true(all->rows[0].trains_other);
    assert_non_null(strstr(all->rows[0].skipped, "trainable_m 77"));
    all = one("step_time_ms,method", "9340,frod");
    assert_false(all->rows[0].trains_other);
}

/* The libraries are those of the PyTorch that is named, else of the source's last year, else usual for what is named. */
static void the_year_of_the_libraries_is_read(void **state)
{
    static const struct {
        const char *column, *cell, *assumed; /* NULL: none */
    } rows[] = {
        {"notes", "torch 2.1.0 cu121 image of 2025", "software=2023: the PyTorch"},
        {"notes", "PyTorch 1.13.0a0+d0d6b1f", "software=2022: the PyTorch"},
        {"notes", "torch==2.6", "software=2025: the PyTorch"},
        {"framework", "pytorch 1.4", "software=2020: the PyTorch"},
        {"source", "somebody's blog (2022-2024)", "software=2024: the last year"},
        {"source", "Nobody et al. 2024 (ICML 24) Table 1", "software=2023: the year before"},
        {"source", "Nobody et al. 2023 (arXiv 2305.05198)", "software=2023: the last year"},
        {"source", "somebody's blog (2021)", "software=2023: that of rtx4070, not 2021"},
        {"notes", "torch 1.13 nightly", "software=2022: the PyTorch"},
        {"source", "file 1020233 of 120 GiB", "software=2024: usual for rtx4070 of 2023"},
        {"notes", "torchrun --nproc 8", "software=2024: usual for rtx4070 of 2023"},
        {"software", "2019", NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one(rows[i].column, rows[i].cell);
        const char *found = strstr(all->rows[0].assumed, "software=");

        if (rows[i].assumed ? !found || strncmp(found, rows[i].assumed, strlen(rows[i].assumed)) != 0 : found != NULL)
            fail_msg("%s: '%s'", rows[i].cell, all->rows[0].assumed);
    }
}

/* Two columns that say nothing widen more than each, and less than both after each other; a year that nothing states widens,
 * too. */
static void what_is_open_adds_up(void **state)
{
    static const char *const cells[] = {"none,flash2,2025", ",flash2,2025", "none,,2025", ",,2025", "none,flash2,"};
    double up[LENGTH(cells)], down[LENGTH(cells)];

    (void)state;
    for (size_t i = 0; i < LENGTH(cells); i++) {
        struct mfu_validation *all =
            table("gpu,n_gpus,model,seq_len,micro_batch,grad_accum,precision,compile,optimizer,sharding,step_time_ms,"
                  "act_ckpt,attention,software\n"
                  "h100-sxm,1,gpt2-large,1024,4,1,bf16-amp,eager,adamw-fused,none,300,%s\n",
                  cells[i]);
        const struct mfu_validated *v = &all->rows[0];

        assert_string_equal(v->skipped, "");
        up[i] = log(v->high_s / v->predicted_step_s);
        down[i] = log(v->predicted_step_s / v->low_s);
    }
    assert_true(up[1] > up[0] && up[2] > up[0]);
    assert_true(up[3] > fmax(up[1], up[2]) && up[3] < up[1] + up[2] - up[0]);
    assert_true(up[4] + down[4] > up[0] + down[0]);
}

/* What ran and fits with none of what is open is the nearest to it, and not what was read first. */
static void what_ran_is_nearest_to_what_fits(void **state)
{
    struct mfu_validation *all =
        table("gpu,n_gpus,model,seq_len,micro_batch,grad_accum,precision,compile,attention,optimizer,sharding,"
              "step_time_ms,outcome\n"
              "rtx3090,1,gpt2-xl,1024,4,1,bf16-amp,eager,flash2,adamw,none,3000,ran\n");

    (void)state;
    assert_false(all->rows[0].fits);
    assert_non_null(strstr(all->rows[0].assumed, "checkpoint=full: not stated"));
}

/* diffusers' scripts encode images in each step, unless the row says that latents are cached; names of its models and
 * 8-bit optimizers are read in any order. */
static void scripts_of_diffusers_encode_in_the_step(void **state)
{
    static const char columns[] =
        "id,gpu,micro_batch,precision,step_time_ms,model,framework,cached_latents,method,lora_rank,optimizer";
    static const struct {
        const char *cells, *assumed, *not ; /* NULL: nothing */
    } rows[] = {
        {"900,SD v1.4,diffusers,,LoRA,4,8-bit Adam", "autoencoder=1, as diffusers", "optimizer=adamw"},
        {"900,Stable Diffusion 2 base,diffusers,,LoRA,4,8-bit AdamW", "lora_targets=q,k,v,o", "optimizer=adamw"},
        {"900,SDXL base 1.0,diffusers,,lora,4,adamw8bit", "text_encoders=1", NULL},
        {"900,SDXL base 1.0,diffusers,,full,,adamw8bit", "autoencoder_fp32=1", "autoencoder=1"},
        {"900,stable-diffusion-2-1,diffusers,1,lora,4,adamw", "text_encoders=1", "autoencoder=1"},
        {"900,stable-diffusion-2-1,SimpleTuner,,lora,4,adamw", NULL, "as diffusers"},
        {"900,resnet50,timm,,full,,sgd", "dataloader_workers=4, as timm", NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct mfu_validated *row = &table("%s\na,a100,1,fp16,%s\n", columns, rows[i].cells)->rows[0];

        if (row->skipped[0] || (rows[i].assumed && !strstr(row->assumed, rows[i].assumed))
            || (rows[i].not &&strstr(row->assumed, rows[i].not )))
            fail_msg("%s: %s '%s'", rows[i].cells, row->skipped, row->assumed);
    }
}

/* An average with the start of the run in it is no step's time: the run still says whether it fits. */
static void the_start_of_a_run_is_no_step(void **state)
{
    struct mfu_validation *steady = one("step_time_ms,notes,outcome", "9340,average of 100 steps,ran");
    struct mfu_validation *all = one("step_time_ms,notes,outcome", "9340,average of the whole run,ran");

    (void)state;
    assert_true(isfinite(steady->rows[0].measured_step_s));
    assert_string_equal(all->rows[0].skipped, "");
    assert_true(isnan(all->rows[0].measured_step_s));
    assert_non_null(strstr(all->rows[0].assumed, "a whole run"));
    assert_int_equal(all->ran, 1);
}

/* Attention that is not stated is that of its time; a program's own code is read where its attention is meant. */
static void software_has_what_its_time_had(void **state)
{
    static const struct {
        const char *source, *attention, *assumed; /* assumed NULL: nothing of it */
    } rows[] = {
        {"somebody (2023-02)", "", "attention=math: PyTorch had no other"},
        {"somebody (2022)", "", "attention=math: PyTorch had no other"},
        {"somebody (2023-04)", "", NULL},
        {"somebody (2023-02)", "flash2", NULL},
        {"Dao-AILab/flash-attention training", "flash1", "runtime=fused"},
        {"Dao-AILab/flash-attention training", "math", NULL},
        {"rasbt/LLMs-from-scratch", "math", "norm_kind=4"},
        {"rasbt/LLMs-from-scratch", "flash2", "keep_logits=0"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,model,micro_batch,compile,source,attention,step_time_ms\na100-80gb-sxm,gpt2,4,eager,%s,%s,77\n",
                  rows[i].source, rows[i].attention);

        if (rows[i].assumed ? !strstr(all->rows[0].assumed, rows[i].assumed)
                            : strstr(all->rows[0].assumed, "=math") || strstr(all->rows[0].assumed, "runtime=")
                    || strstr(all->rows[0].assumed, "norm_kind"))
            fail_msg("%s, %s: %s%s", rows[i].source, rows[i].attention, all->rows[0].assumed, all->rows[0].skipped);
    }
}

/* d_ff is the width of a routed expert, the notes say how many those are. */
static void models_with_experts_are_read(void **state)
{
    static const char *const noted[] = {"n_dense=2, by the notes", "recompute_modules=mla_up_proj, by the notes",
                                        "cuda_graphs=on, by the notes"};
    struct mfu_validation *all = table(
        "gpu,n_gpus,gpus_per_node,family,n_layer,n_head,head_dim,n_embd,d_ff,vocab,seq_len,n_experts,experts_active,"
        "micro_batch,global_batch,ep,sharding,compile,act_ckpt,notes,step_time_ms\n"
        "b200,8,8,deepseek-v2,4,128,128,5120,1536,102400,4096,160,6,1,64,8,zero1,megatron+te,selective,"
        "recompute_modules=mla_up_proj; 2 dense layers; cuda_graph=full_iteration,600\n"
        "b200,8,8,qwen3-moe,48,32,128,2048,700,151936,4096,128,8,1,64,8,zero1,megatron+te,none,,600\n"
        "b200,8,8,qwen3-moe,48,32,128,2048,1400,151936,4096,128,8,1,64,8,zero1,megatron+te,none,,600\n"
        "b200,8,8,qwen3-moe,48,32,128,2048,700,151936,4096,128,8,1,64,8,zero1,megatron+te,selective,"
        "recompute_modules=moe_act+layernorm,600\n"
        "b200,8,8,qwen3-moe,48,32,128,2048,700,151936,4096,128,8,1,64,8,zero1,megatron+te,selective,"
        "recompute_modules=moe_rest,600\n");

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(all->rows[i].skipped, "");
        assert_non_null(strstr(all->rows[0].assumed, noted[i]));
    }
    assert_true(all->rows[2].predicted_allocated_bytes - all->rows[1].predicted_allocated_bytes
                > 48. * 128 / 8 * 3 * 2048 * 700 * 6);
    assert_non_null(strstr(all->rows[3].assumed, "recompute_modules=moe_act,layernorm, by the notes"));
    assert_true(all->rows[3].predicted_allocated_bytes < all->rows[1].predicted_allocated_bytes);
    assert_non_null(strstr(all->rows[4].skipped, "moe_rest"));
}

/* Experts beside GPT's blocks, or whose MLP is stated to have no gate, are pairs of matrices, not Mixtral's triples: 12 layers
 * of 64 experts of 2 * 768 * 3072 parameters, of which a rank of 8 has an eighth in 16 bytes at least. */
static void experts_without_a_gate_are_read(void **state)
{
    struct mfu_validation *all =
        table("gpu,n_gpus,gpus_per_node,model,family,n_layer,n_head,n_embd,vocab,seq_len,n_experts,experts_active,mlp,"
              "micro_batch,ep,sharding,compile,bias,step_time_ms\n"
              "h100-sxm,8,8,dMoE-Small,,12,12,768,51200,1024,64,1,,8,8,ddp,eager,0,600\n"
              "h100-sxm,8,8,small,moe-mcore,12,12,768,51200,1024,64,1,gelu,8,8,ddp,eager,0,600\n"
              "h100-sxm,8,8,125M+MoE-64,,12,12,768,51200,1024,64,1,gelu,8,8,ddp,eager,0,600\n"
              "h100-sxm,8,8,small,moe-mcore,12,12,768,51200,1024,64,1,swiglu,8,8,ddp,eager,0,600\n"
              "h100-sxm,8,8,small,gpt,12,12,768,51200,1024,,,gelu,8,,ddp,eager,0,600\n"
              "h100-sxm,8,8,small,gpt3,12,12,768,51200,1024,64,1,gelu,8,8,ddp,eager,0,600\n");
    double experts = 12. * 64 / 8 * 2 * 768 * 3072 * 16, dense = 12. * 2 * 768 * 3072 * 16, more[2];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(all->rows[i].skipped, "");
    assert_near(all->rows[5].predicted_step_s, all->rows[1].predicted_step_s, 1e-9);
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(strstr(all->rows[i].assumed, "graph of gpt-moe"));
        more[0] = all->rows[i].predicted_allocated_bytes - all->rows[4].predicted_allocated_bytes;
        assert_true(more[0] > experts - dense && more[0] < 1.3 * (experts - dense));
    }
    assert_non_null(strstr(all->rows[3].assumed, "graph of mixtral for moe-mcore"));
    more[1] = all->rows[3].predicted_allocated_bytes - all->rows[0].predicted_allocated_bytes;
    assert_near(more[1] / experts, 0.5 * more[0] / (experts - dense), 0.1);
}

/* Where a row's sizes are those of the model that it names, it is that model, whose recipe may differ from its family's. */
static void a_model_of_stated_sizes_is_the_named_one(void **state)
{
    static const char text[] =
        "gpu,n_gpus,gpus_per_node,source,model,family,n_layer,n_head,n_kv_head,head_dim,n_embd,d_ff,vocab,seq_len,n_"
        "experts,"
        "experts_active,micro_batch,grad_accum,ep,pp,sharding,compile,act_ckpt,precision,step_time_ms\n"
        "h100-sxm,64,8,Megatron-Bridge,Qwen3_235B_a22B,qwen3-moe,94,64,4,128,4096,1536,151936,4096,128,8,1,64,8,8,"
        "zero1,"
        "megatron+te,none,bf16-amp,60000\n"
        "h100-sxm,64,8,Megatron-Bridge,Qwen3_235B_a22B,qwen3-moe,92,64,4,128,4096,1536,151936,4096,128,8,1,64,8,4,"
        "zero1,"
        "megatron+te,none,bf16-amp,60000\n"
        "h100-sxm,64,8,Megatron-Bridge,mine,qwen3-moe,94,64,4,128,4096,1536,151936,4096,128,8,1,64,8,8,zero1,"
        "megatron+te,none,bf16-amp,60000\n";
    struct mfu_error err = {0};
    struct mfu_validation *all = validate(text, &err);

    (void)state;
    assert_non_null(all);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(all->rows[i].skipped, "");
    assert_true(all->rows[0].predicted_step_s > all->rows[2].predicted_step_s); /* copies of rows for each expert */
    assert_true(all->rows[1].predicted_step_s > 0);
}

/* TorchScript of single functions leaves the rest eager; gradients of 16-bit indices were slow before PyTorch 1.13. */
static void transformer_xl_is_eager(void **state)
{
    struct mfu_validation *all =
        table("gpu,family,model,micro_batch,compile,precision,framework,step_time_ms\n"
              "a100-80gb-sxm,transformer-xl,Transformer-XL large,8,jit,fp16-amp,pytorch 20.06 NGC,142\n"
              "a100-80gb-sxm,transformer-xl,Transformer-XL large,8,eager,fp16-amp-o2,pytorch 22.01 NGC,142\n"
              "a100-80gb-sxm,transformer-xl,Transformer-XL large,8,eager,fp16-amp-o2,pytorch 23.10 NGC,142\n");

    (void)state;
    assert_non_null(strstr(all->rows[0].assumed, "runtime=eager for jit"));
    assert_non_null(strstr(all->rows[1].skipped, "before PyTorch 1.13"));
    assert_string_equal(all->rows[2].skipped, "");
}

/* What stands in brackets behind a name is no owner before it. */
static void names_with_remarks_are_read(void **state)
{
    struct mfu_validation *all = table(
        "gpu,n_gpus,gpus_per_node,model,family,seq_len,micro_batch,global_batch,ep,sharding,act_ckpt,compile,"
        "step_time_ms\n"
        "b200,8,8,Nemotron 3 Nano (52-layer hybrid Mamba/MoE),nemotron-h-moe,8192,1,64,8,zero1,none,megatron+te,6000\n"
        "b200,8,8,Nemotron_3_Super,nemotron-h-moe,8192,1,64,8,zero1,none,megatron+te,20000\n");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "");
    assert_string_equal(all->rows[1].skipped, "");
    assert_true(all->rows[1].predicted_allocated_bytes > 3 * all->rows[0].predicted_allocated_bytes);
}

/* Encoder and decoder of translation: a batch is so many tokens, of two in brackets the smaller is that of fp32; a rate in
 * samples may be one of tokens. */
static void batches_of_tokens_are_read(void **state)
{
    struct mfu_validation *all =
        table("gpu,n_gpus,model,family,precision,samples_per_s,notes\n"
              "a100-40gb-sxm,1,Transformer big (WMT14),transformer-encdec,bf16-amp,80000,"
              "samples_per_s is TOKENS/s; max tokens per GPU: 10240\n"
              "a100-40gb-sxm,1,transformer-big,,bf16-amp,80000,\"samples_per_s is tokens/s, --max-tokens 5120\"\n"
              "a100-40gb-sxm,1,transformer-big,seq2seq,fp32,80000,"
              "\"samples_per_s is TOKENS/s; max tokens per GPU: (10240, 2560)\"\n");
    static const double tokens[] = {10240, 5120, 2560};

    (void)state;
    for (size_t i = 0; i < LENGTH(tokens); i++) {
        assert_string_equal(all->rows[i].skipped, "");
        assert_near(all->rows[i].measured_step_s, tokens[i] / 80000, 1e-9);
    }
}

/* A name's words in this order, where all longer names that have them are of one shape; a size in it is whole. */
static void names_are_known_by_their_words(void **state)
{
    static const struct {
        const char *name, *model; /* NULL: none */
    } rows[] = {{"electra-large", "electra-large-discriminator"},
                {"OLMo-2-13B", ""},
                {"OLMo2-13B", ""},
                {"Qwen3-235B", "Qwen3-235B-A22B"},
                {"granite 1.8B", NULL}, /* no granite-3.1-8b */
                {"pythia-7b", NULL},
                {"GPT-120B", ""}, /* no gpt-oss-120b, but as many parameters in GPT's layers */
                {"ViT", NULL},    /* whatever the next cell says */
                {"deit_small", ""},
                {"vit_base_r26_s32_224", ""}, /* more than a size */
                {"ViT-Huge", ""}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,n_gpus,model,id,micro_batch,step_time_ms\nb200,64,%s,L,1,5000\n", rows[i].name);
        char text[80];

        snprintf(text, sizeof text, "model=%s for", rows[i].model ? rows[i].model : "");
        if ((*all->rows[0].skipped != '\0') != !rows[i].model
            || (rows[i].model && *rows[i].model && !strstr(all->rows[0].assumed, text)))
            fail_msg("%s: %s %s", rows[i].name, all->rows[0].assumed, all->rows[0].skipped);
    }
}

/* A GPT of so many parameters, whatever its shape, is planned with about as many; what takes so many GPUs a layer has heads for them. */
static void a_size_is_a_shape(void **state)
{
    static const double sizes[] = {0.2, 1.1, 4.2, 9, 19.7, 55, 120, 240, 800}; /* billions */

    (void)state;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        double layers = 0, width = 0;
        struct mfu_validation *all;
        const char *at;
        char text[64];

        snprintf(text, sizeof text, "h100-sxm,1024,8,gpt,GPT-%gB,1,2048,9000", sizes[i]);
        all = table("gpu,n_gpus,tp,family,model,micro_batch,seq_len,step_time_ms\n%s\n", text);
        at = strstr(all->rows[0].assumed, "n_embd=");
        if (*all->rows[0].skipped || !at || sscanf(at, "n_embd=%lf, %lf layers", &width, &layers) != 2)
            fail_msg("%s: %s", text, all->rows[0].skipped);
        assert_near(width * (12 * layers * width + 50304) / 1e9, sizes[i], 0.12 * sizes[i]);
    }
}

/* Image models by the size in their names; samples are steps by the batch. */
static void image_models_are_read(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,family,img_size,patch,micro_batch,precision,compile,optimizer,samples_per_s\n"
              "rtx3090,vit_small_patch32_384,vit,384,32,64,fp16-amp,eager,sgd,1280\n"
              "rtx3090,deit-tiny-patch16-224,deit,,,64,fp16-amp,eager,sgd,1280\n"
              "rtx3090,vit_small_r27_s32_224,vit,224,32,64,fp16-amp,eager,sgd,1280\n"
              "rtx3090,vit_base_patch16_doubleplus_240,vit,240,16,64,fp16-amp,eager,sgd,1280\n");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(all->rows[i].skipped, "");
        assert_near(all->rows[i].measured_step_s, 64. / 1280, 1e-9);
    }
    /* 22.9 M parameters on 145 tokens against 5.7 M on 197: 3 forwards of 2 FLOP each. */
    assert_near(all->rows[0].model_flops / all->rows[1].model_flops, 22.4 * 145 / (5.7 * 197), 0.1);
    assert_string_equal(all->rows[2].skipped, "the model's size is not stated");
    assert_string_equal(all->rows[3].skipped, "the model's size is not stated");
}

/* Of one GPU the whole batch is one micro-batch where it fits, as with those micro-batches that are stated; else it is added up. */
static void one_gpu_adds_up_what_does_not_fit_at_once(void **state)
{
    struct mfu_validation *all =
        table("gpu,n_gpus,model,micro_batch,global_batch,precision,compile,optimizer,attention,step_time_ms\n"
              "rtx3090,1,swin_tiny_patch4_window7_224,,96,fp16-amp,eager,sgd,math,200\n"
              "rtx3090,1,swin_tiny_patch4_window7_224,96,96,fp16-amp,eager,sgd,math,200\n"
              "rtx3090,1,swin_tiny_patch4_window7_224,,8192,fp16-amp,eager,sgd,math,20000\n");

    (void)state;
    assert_non_null(strstr(all->rows[0].assumed, "batch=96, accum=1: not stated, the whole batch fits"));
    assert_near(all->rows[0].predicted_step_s, all->rows[1].predicted_step_s, 1e-9);
    assert_null(strstr(all->rows[2].assumed, "accum=1:"));
    assert_non_null(strstr(all->rows[2].assumed, "accum="));
}

/* A rate counts what a timer inside the loop left out, unless it is of another run; a benchmark does nothing between steps. */
static void a_rate_counts_what_a_timer_leaves_out(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,micro_batch,precision,compile,optimizer,step_time_ms,samples_per_s,notes\n"
              "rtx3090,vit_small_patch32_224,64,fp16-amp,eager,sgd,50,1270,\n"
              "rtx3090,vit_small_patch32_224,64,fp16-amp,eager,sgd,50,1200,\n"
              "rtx3090,vit_small_patch32_224,64,fp16-amp,eager,sgd,50,,\n"
              "rtx3090,vit_small_patch32_224,64,fp16-amp,eager,sgd,50,,benchmark.py: 40 timed steps\n");

    (void)state;
    assert_near(all->rows[0].measured_step_s, 64. / 1270, 1e-9);
    assert_near(all->rows[1].measured_step_s, 0.05, 1e-9);
    assert_near(all->rows[2].measured_step_s, 0.05, 1e-9);
    assert_non_null(strstr(all->rows[3].assumed, "step.constant=0"));
    assert_near(all->rows[2].predicted_step_s - all->rows[3].predicted_step_s, 4e-3, 0.01);
}

/* A family that no row of the reader names is that of the catalog's models that are called so. */
static void families_are_those_of_the_catalog(void **state)
{
    static const struct {
        const char *family, *n_embd, *says; /* in `assumed`, or where it starts with a blank why it is left out */
    } rows[] = {
        {"gpt_neox", "6144", "graph of gpt-neox-20b"},
        {"pythia", "1024", "graph of pythia-410m"},
        {"Falcon", "4544", "graph of Falcon 7B"},
        {"phi3", "5120", "graph of"},
        {"phi-2", "2560", "graph of Phi-2"},
        {"llama3", "8192", "graph of Llama 3 70B"},
        {"glm4", "4096", "graph of GLM-4 9B"},
        {"olmo", "2048", "graph of OLMo 1B"},
        {"qwen2.5", "768", "n_kv_head=12: the model's"},
        {"deepseek", "4096", " family 'deepseek' is not modelled"}, /* of two families */
        {"deepseek-r1", "7168", "graph of DeepSeek"},
        {"minimax", "4096", " family 'minimax' is not modelled"}, /* of another generation */
        {"open", "4096", " family 'open' is not modelled"},
        {"flan-t5", "1024", "graph of flan-t5-large"},
        {"mini", "4096", " family 'mini' is not modelled"},
        {"g", "4096", " family 'g' is not modelled"},
        {"internlm", "4096", "graph of internlm-7b"},
        {"internlm2", "6144", "graph of internlm2_5-20b"},
        {"cerebras-gpt", "4096", "graph of Cerebras-GPT-6.7B"},
        {"xlm-roberta", "1024", "graph of xlm-roberta-large"},
        {"llama-like", "4096", "family=llama for llama-like"},
        {"GPT-2 style", "4096", "family=GPT-2 for"},
        {"dense transformer", "4096", "graph of gpt2 for dense transformer: nothing more"},
        {"decoder", "4096", "graph of gpt2 for decoder: nothing more"},
        {"transformer", "4096", " family 'transformer' is not modelled"}, /* with an encoder or without */
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("gpu,family,seq_len,n_layer,n_head,n_embd,vocab,micro_batch,step_time_ms\n"
                                           "a100-80gb-sxm,%s,1024,2,%d,%s,32000,1,900\n",
                                           rows[i].family, atoi(rows[i].n_embd) == 768 ? 12 : 32, rows[i].n_embd);
        const char *said;

        said = *rows[i].says == ' ' ? all->rows[0].skipped : all->rows[0].assumed;
        if (!strstr(said, rows[i].says + (*rows[i].says == ' ')))
            fail_msg("%s: '%s', assumed '%s'", rows[i].family, all->rows[0].skipped, all->rows[0].assumed);
    }
}

/* A program that ran other kernels then is another program. */
static void older_programs_are_refused(void **state)
{
    struct mfu_validation *all = table("gpu,model,micro_batch,compile,source,step_time_ms\n"
                                       "a100-80gb-sxm,gpt2,4,llm.c,somebody (2024-04-20),77\n"
                                       "a100-80gb-sxm,gpt2,4,llm.c,somebody (2024-10),77\n"
                                       "a100-80gb-sxm,gpt2,4,llm.c,somebody (2024),77\n"
                                       "a100-80gb-sxm,gpt2,4,eager,somebody (2023-01),77\n");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "llm.c of 2024-04: runtime llmc models its kernels from 2024-06 on");
    for (size_t i = 1; i < 4; i++)
        assert_string_equal(all->rows[i].skipped, "");
}

/* What the stated run cannot be is refused, or read as what it must have been. */
static void contradictions_are_refused(void **state)
{
    struct mfu_validation *all = one("mem_allocated_gib", "1.2"); /* weights and Adam: 1.39 GiB */

    (void)state;
    assert_non_null(strstr(all->rows[0].skipped, "contradicts itself: 1.2 GiB measured"));
    all = one("mem_reserved_gib,mem_allocated_gib", "7.1,3.1"); /* allocated between steps */
    assert_string_equal(all->rows[0].skipped, "");
    assert_true(isnan(all->rows[0].measured_allocated_bytes) && all->rows[0].measured_reserved_bytes > 0);
    assert_non_null(strstr(all->rows[0].assumed, "mem_allocated_gib 3.1 is not used"));
    all = one("mem_reserved_gib,mem_allocated_gib", "7.1,6.1");
    assert_false(isnan(all->rows[0].measured_allocated_bytes));
    all = one("step_time_ms", "4000"); /* 136 TFLOP/s of 58.3 */
    assert_non_null(strstr(all->rows[0].skipped, "contradicts itself: "));
    assert_non_null(strstr(all->rows[0].skipped, "in bf16"));
    /* 8 x 1024 tokens of 855 MFLOP in 120 ms are 58 TFLOP/s; A100's CUDA cores do 19.5. */
    all = table("gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,attention,compile,act_ckpt,step_time_ms\n"
                "a100-80gb-sxm,gpt2,1024,1,8,1,fp32,memeff,eager,none,120\n");
    assert_string_equal(all->rows[0].skipped, "");
    assert_non_null(strstr(all->rows[0].assumed, "precision=tf32: "));
}

/* A meter is believed before a label: memory that only recomputation explains says that there was some, and memory that
 * nothing explains says nothing. */
static void measured_memory_tells_of_recomputation(void **state)
{
    static const char *const head =
        "gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,attention,compile,act_ckpt,"
        "sharding,optimizer,step_time_ms,mem_reserved_gib\n";
    static const char *const row = "%sh100-sxm,%s,1024,1,%d,1,bf16-amp,flash2,eager,%s,none,adamw-fused,800,%.3f\n";
    static const struct {
        const char *model;
        int batch;
    } runs[] = {{"gpt2-xl", 12}, {"gpt2-large", 20}, {"gpt2-medium", 32}};

    (void)state;
    for (size_t i = 0; i < LENGTH(runs); i++) {
        double kept = NAN, kept_s = NAN, again = NAN, again_s = NAN, measured[3];
        struct mfu_validation *all = table(row, head, runs[i].model, runs[i].batch, "none", 75.);

        kept = all->rows[0].predicted_reserved_bytes / 0x1p30;
        kept_s = all->rows[0].predicted_step_s;
        all = table(row, head, runs[i].model, runs[i].batch, "full", 75.);
        again = all->rows[0].predicted_reserved_bytes / 0x1p30;
        again_s = all->rows[0].predicted_step_s;
        assert_true(again < kept / 1.5);
        measured[0] = kept;
        measured[1] = 0.8 * kept;
        measured[2] = again;
        for (size_t j = 0; j < LENGTH(measured); j++) {
            all = table(row, head, runs[i].model, runs[i].batch, "none", measured[j]);
            assert_int_equal(strstr(all->rows[0].assumed, "checkpoint=full: far less memory") != NULL, j == 2);
            assert_int_equal(isnan(all->rows[0].measured_reserved_bytes), j == 2); /* it is no evidence any more */
        }
        assert_near(all->rows[0].predicted_step_s, again_s, 1e-9);
        assert_true(all->rows[0].low_s < kept_s); /* the label may be right */
        all =
            table(row, head, runs[i].model, runs[i].batch, "", again); /* nor does a blank stand for no recomputation */
        assert_non_null(strstr(all->rows[0].assumed, "take other memory than was measured"));
        assert_near(all->rows[0].predicted_step_s, again_s, 1e-9);
    }
}

/* Memory that is what the plan says, of the rank and in the sense in which the program prints it, makes no reading doubtful. */
static void memory_as_planned_tells_nothing_new(void **state)
{
    static const char *const programs[] = {"Megatron-LM", "torchtitan"},
                             *const notes[] = {"", "memory of the last rank"};
    static const char *const row = "gpu,model,seq_len,n_gpus,micro_batch,grad_accum,tp,pp,framework,act_ckpt,notes,"
                                   "mem_allocated_gib,mem_reserved_gib,step_time_ms\n"
                                   "h100-sxm,llama-3.1-8b,4096,32,4,8,4,2,%s,none,%s,%s,%s,9000\n";

    (void)state;
    for (size_t i = 0; i < 2 * LENGTH(programs); i++) {
        const char *program = programs[i / 2], *note = notes[i % 2];
        struct mfu_validated plain = table(row, program, note, "", "")->rows[0];
        char gib[24];

        assert_true(plain.predicted_step_s > 0);
        for (int reserved = 0; reserved < 2; reserved++) {
            const struct mfu_validated *v;

            snprintf(gib, sizeof gib, "%.4f",
                     (reserved ? plain.predicted_reserved_bytes : plain.predicted_allocated_bytes) / 0x1p30);
            v = &table(row, program, note, reserved ? "" : gib, reserved ? gib : "")->rows[0];
            if (v->predicted_step_s != plain.predicted_step_s || strcmp(v->assumed, plain.assumed) != 0)
                fail_msg("%s, %s: %s; %s", program, note, v->assumed, v->skipped);
        }
    }
}

/* An empty cell that decides much widens the interval by what it may have been, and what did not fit gives way
 * to what did. */
static void what_is_open_widens_the_interval(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,attention,compile,act_ckpt,sharding,optimizer,"
              "step_time_ms,outcome\n"
              "h100-sxm,gpt2,1024,1,32,4,bf16-amp,flash2,eager,none,none,adamw-fused,800,ran\n"
              "h100-sxm,gpt2,1024,1,32,4,bf16-amp,flash2,eager,,none,adamw-fused,800,ran\n"
              "h100-sxm,llama-2-7b,4096,8,1,1,bf16-amp,flash2,eager,full,,adamw-fused,2000,ran\n");

    (void)state;
    assert_near(all->rows[1].predicted_step_s, all->rows[0].predicted_step_s, 1e-9);
    assert_near(all->rows[1].low_s, all->rows[0].low_s, 1e-9);
    assert_true(all->rows[1].high_s > 1.1 * all->rows[0].high_s); /* blocks may have been run again */
    assert_true(all->rows[2].fits);                               /* DDP's 7 B of 16 bytes are no fit */
    assert_non_null(strstr(all->rows[2].assumed, "not stated, and without it the run would not have fitted"));
}

/* A pipeline's stages are in parts where few microbatches would leave it idle, and its program has such. */
static void few_microbatches_are_interleaved(void **state)
{
    static const struct {
        const char *compile, *batch, *vpp, *sharding;
        bool parts;
    } rows[] = {
        {"Megatron-Core", "16", "", "", true},         {"Megatron-Core", "1024", "", "", false},
        {"Megatron-Core", "16", "1", "", false},       {"torchtitan", "16", "", "fsdp", true},
        {"Megatron-DeepSpeed", "1024", "", "", false}, {"", "16", "", "fsdp", true},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table(
            "gpu,model,seq_len,n_gpus,tp,pp,vpp,global_batch,micro_batch,precision,compile,sharding,step_time_ms\n"
            "h100-sxm,llama-3-70b,4096,64,4,8,%s,%s,1,bf16,%s,%s,%d\n",
            rows[i].vpp, rows[i].batch, rows[i].compile, rows[i].sharding, 100 * atoi(rows[i].batch));

        if (all->rows[0].skipped[0] || (strstr(all->rows[0].assumed, "vpp=") != NULL) != rows[i].parts)
            fail_msg("%s %s: %s; %s", rows[i].compile, rows[i].batch, all->rows[0].assumed, all->rows[0].skipped);
        if (!*rows[i].compile)
            assert_non_null(strstr(all->rows[0].assumed, "trainer=torchtitan: layers are split over GPUs and stages"));
    }
}

/* Words as people write them, and the program's own. */
static void spellings_are_understood(void **state)
{
    static const struct {
        const char *column, *cell, *as;
    } rows[] = {
        {"precision", "bf16", "bf16-amp"},
        {"precision", "fp16", "fp16-amp"},
        {"precision", "BF16-AMP", "bf16-amp"},
        {"precision", "bfloat16", "bf16-amp"},
        {"precision", "float32", "fp32"},
        {"compile", "compile", "torch.compile"},
        {"compile", "Eager", "eager"},
        {"compile", "llmc", "llm.c"},
        {"compile", "inductor", "torch.compile"},
        {"compile", "torch.compile (max-autotune)", "torch.compile"},
        {"compile", "reduce-overhead", "torch.compile + cuda graphs"},
        {"compile", "Lightning", "eager"},
        {"compile", "nemo", "megatron-bridge"},
        {"compile", "yes", "torch.compile"},
        {"compile", "HF Trainer", "hf"},
        {"compile", "Megatron-Core v0.7", "megatron-core"},
        {"compile", "DeepSpeed + Megatron", "megatron-deepspeed"},
        {"precision", "BF16 mixed precision", "bf16-amp"},
        {"precision", "FP16 autocast with GradScaler", "fp16-amp"},
        {"act_ckpt", "full recompute", "full"},
        {"act_ckpt", "gradient checkpointing", "full"},
        {"act_ckpt", "no recomputation", "none"},
        {"act_ckpt", "selective AC", "selective"},
        {"act_ckpt", "no", "none"},
        {"act_ckpt", "full recompute; no cpu offload", "full"},
        {"sharding", "DDP (no ZeRO)", "ddp"},
        {"sharding", "ZeRO-3 (no offload)", "zero3"},
        {"sharding", "fsdp = off; zero1", "zero1"},
        {"sharding", "ddp (fsdp: no)", "ddp"},
        {"sharding", "fsdp: no", "none"},
        {"sharding", "without FSDP", "none"},
        {"sharding", "no", "none"},
        {"sharding", "ZeRO: off", "none"},
        {"compile", "eager (tf32)", "eager"},
        {"sharding", "FSDP FULL_SHARD", "fsdp-full"},
        {"sharding", "ZeRO-2 (P_os+g)", "zero2"},
        {"sharding", "dist-opt (Megatron)", "zero1"},
        {"sharding", "hsdp(2x4)", "hsdp (2 x 4)"},
        {"sharding", "Gemini", "fsdp-full"},
        {"optimizer", "Muon+AdamW", "muon"},
        {"optimizer", "LionW", "lion"},
        {"model", "GPT-2 (124M)", "gpt2"},
        {"model", "gpt2_1558M", "gpt2-xl"},
        {"model", "llama32_1b", "llama-3.2-1b"},
        {"gpu", "NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"},
        {"gpu", "A100 80G SXM", "a100-80gb-sxm"},
        {"gpu", "DGX A100 80GB", "a100-80gb-sxm"},
        {"gpu", "8xA100 SXM4 40 GB", "a100-40gb-sxm"},
        {"gpu", "A100 (p4de.24xlarge)", "p4de.24xlarge"},
        {"gpu", "H100-80GB-HBM3", "h100-sxm"},
        {"gpu", "H100 96GB", "h100-sxm-96gb"},
        {"gpu", "NVIDIA A100-PCIE-40GB", "a100-40gb-pcie"},
        {"gpu", "AMD MI300X", "mi300x"},
        {"gpu", "NVIDIA GeForce RTX 4090 24GB", "rtx4090"},
        {"gpu", "L40S-48GB", "l40s"},
        {"precision", "amp-bf16", "bf16-amp"},
        {"precision", "bf16 (mixed)", "bf16-amp"},
        {"precision", "pure bf16", "bf16-pure"},
        {"precision", "bf16 (pure)", "bf16-pure"},
        {"optimizer", "adamw (8bit)", "adam8bit"},
        {"precision", "O1", "fp16-amp"},
        {"act_ckpt", "on", "full"},
        {"act_ckpt", "full (uniform)", "full"},
        {"act_ckpt", "False", "none"},
        {"act_ckpt", "every 2nd layer", "6 of 12 layers"},
        {"act_ckpt", "12 of 12 layers", "full"},
        {"act_ckpt", "selective-op", "selective"},
        {"sharding", "fully_shard", "fsdp-full"},
        {"sharding", "ZeRO stage 2", "zero2"},
        {"sharding", "distributed optimizer", "zero1"},
        {"optimizer", "fused AdamW", "adamw-fused"},
        {"attention", "fa2", "flash2"},
        {"attention", "eager", "math"},
        {"sharding", "DDP", "ddp"},
        {"sharding", "fsdp", "fsdp-full"},
        {"sharding", "ZeRO-1", "zero1"},
        {"optimizer", "AdamW", "adamw"},
        {"optimizer", "adamw_torch", "adamw"},
        {"optimizer", "adamw8bit", "adam8bit"},
        {"attention", "flash-attn", "flash2"},
        {"attention", "FlashAttention-2", "flash2"},
        {"model", "openai-community/gpt2", "gpt2"},
        {"model", "meta-llama/Llama-3.2-1B", "llama-3.2-1b"},
        {"model", "Qwen/Qwen3-0.6B-Base", "Qwen3-0.6B"},
        {"tied", "True", "1"},
        {"intra_link", "NVLink", "nvlink3"},
    };
    static const char *const names[] = {"gpu",          "model",     "n_gpus",     "micro_batch", "seq_len",
                                        "step_time_ms", "precision", "compile",    "sharding",    "optimizer",
                                        "attention",    "tied",      "intra_link", "act_ckpt"};
    static const char *const cells[] = {"a100-80gb-sxm", "gpt2", "8",     "2", "1024", "220", "bf16-amp",
                                        "torch.compile", "ddp",  "adamw", "",  "",     "",    "none"};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all;
        char text[1024] = "";

        for (size_t row = 0; row < 3; row++)
            for (size_t k = 0; k < LENGTH(names); k++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%c",
                         row == 0                                    ? names[k]
                             : strcmp(names[k], rows[i].column) != 0 ? cells[k]
                             : row == 1                              ? rows[i].cell
                                                                     : rows[i].as,
                         k + 1 < LENGTH(names) ? ',' : '\n');
        all = table("%s", text);
        if (all->rows[0].skipped[0] || all->rows[1].skipped[0]
            || all->rows[0].predicted_step_s != all->rows[1].predicted_step_s)
            fail_msg("%s %s: '%s', %s: '%s', %g and %g s", rows[i].column, rows[i].cell, all->rows[0].skipped,
                     rows[i].as, all->rows[1].skipped, all->rows[0].predicted_step_s, all->rows[1].predicted_step_s);
    }
}

/* What a cell says does not part what is assumed. */
static void a_cell_is_one_assumption(void **state)
{
    struct mfu_validation *all = one("act_ckpt,fsdp,step_time_ms", "full recompute; no cpu offload,fsdp: no,9340");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "");
    assert_non_null(strstr(all->rows[0].assumed, "full recompute, no cpu offload"));
}

/* Layers that are named are of all stages, virtual ones too; the setting is of each. */
static void layers_are_of_stages(void **state)
{
    struct mfu_validation *all = one("n_gpus,pp,vpp,step_time_ms,act_ckpt", "4,2,3,9340,6 of 12 layers");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "");
    assert_non_null(strstr(all->rows[0].assumed, "checkpoint_layers=1:"));
    for (int experts = 0; experts < 2; experts++) {
        all = one("act_ckpt,notes", experts ? "selective,experts in every 2nd layer" : "selective,SAC every 2nd layer");
        assert_int_equal(strstr(all->rows[0].assumed, "checkpoint_layers=6:") != NULL, !experts);
    }
}

/* What hardware computes beyond the model's share: a forward of all layers is a third, of eight two ninths; attention
 * alone, or what is said to be kept, makes no layers. */
static void layers_again_are_in_the_hardwares_share(void **state)
{
    static const struct {
        const char *cells;
        int layers;
    } rows[] = {{"selective,30,40.3", 12}, {"selective,36,44", 8}, {",30,40", 12},
                {"selective,30,31", 0},    {"none,30,40", 0},      {"selective,30,", 0}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = one("act_ckpt,mfu_pct,hfu_pct", rows[i].cells);
        char said[32];

        snprintf(said, sizeof said, "checkpoint_layers=%d:", rows[i].layers);
        assert_int_equal(strstr(all->rows[0].assumed, rows[i].layers ? said : "checkpoint_layers") != NULL,
                         rows[i].layers > 0);
    }
}

/* A model that no GPU holds, on several of which nothing says how they share it. */
static void layouts_are_not_guessed(void **state)
{
    static const struct {
        const char *model, *columns;
        bool open;
    } rows[] = {{"llama-2-70b", ",,", true},
                {"llama-2-7b", ",,", false},
                {"llama-2-70b", "8,1,", false},
                {"llama-2-70b", ",,fsdp", false}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,attention,compile,act_ckpt,optimizer,"
                  "step_time_ms,outcome,tp,pp,sharding\n"
                  "h100-sxm,%s,4096,16,1,1,bf16-amp,flash2,megatron+te,none,adamw,9000,ran,%s\n",
                  rows[i].model, rows[i].columns);

        assert_int_equal(strstr(all->rows[0].skipped, "not predictable: tp, pp and sharding") != NULL, rows[i].open);
    }
}

static void outcomes_count_without_figures(void **state)
{
    struct mfu_validation *all = one("outcome", "ran");

    (void)state;
    assert_int_equal(all->n_skipped, 0);
    assert_int_equal(all->ran, 1);
    assert_int_equal(all->ran_called_fit, 1);
    assert_int_equal(all->step.n, 0);
    all = one("outcome,micro_batch", "OOM,");
    assert_int_equal(all->oom, 1);
    all = one("outcome,tp", "ran,4");
    assert_int_equal(all->n_skipped, 1);
    assert_int_equal(all->rows[0].ran, 1);
    all = one("notes,tp", "x,4");
    assert_int_equal(all->rows[0].ran, -1);
}

/* A micro-batch that follows, that can be one only, that is open, and that decides nothing. */
static void a_micro_batch_may_be_open(void **state)
{
    struct mfu_validation *all = table(
        "gpu,model,seq_len,n_gpus,micro_batch,grad_accum,global_batch,precision,attention,compile,act_ckpt,sharding,"
        "optimizer,step_time_ms,mem_reserved_gib,outcome\n"
        "h100-sxm,llama-3-8b,8192,8,1,1,8,bf16-amp,flash2,eager,full,fsdp-full,adamw-fused,900,40,ran\n"
        "h100-sxm,llama-3-8b,8192,8,,,8,bf16-amp,flash2,eager,full,fsdp-full,adamw-fused,900,40,ran\n"
        "h100-sxm,llama-3-8b,8192,8,,,64,bf16-amp,flash2,eager,full,fsdp-full,adamw-fused,6000,40,ran\n"
        "h100-sxm,llama-3-8b,8192,8,1,8,64,bf16-amp,flash2,eager,full,fsdp-full,adamw-fused,6000,40,ran\n"
        "rtx4090,llama-3-8b,8192,1,,,,bf16-amp,flash2,eager,full,none,adamw-fused,,,oom\n"
        "h100-sxm,gpt2,1024,1,,,,bf16-amp,flash2,eager,none,none,adamw-fused,,,oom\n"
        "h100-sxm,gpt2,1024,8,,,12,bf16-amp,flash2,eager,none,ddp,adamw-fused,100,,ran\n"
        "h100-sxm,llama-3-8b,8192,8,,,64,bf16-amp,flash2,eager,full,fsdp-full,adamw-fused,6000,,ran\n");
    const struct mfu_validated *row = all->rows;

    (void)state;
    assert_string_equal(row[1].skipped, "");
    assert_near(row[1].predicted_step_s, row[0].predicted_step_s, 1e-9);
    assert_non_null(strstr(row[1].assumed, "batch=1: a step has one sequence"));
    assert_true(row[1].measured_reserved_bytes > 0);
    assert_non_null(strstr(row[2].assumed, "not stated, nearest to the memory"));
    assert_non_null(strstr(row[7].assumed, "not stated, it fits"));
    assert_true(isnan(row[2].measured_reserved_bytes)); /* which follows what is not known */
    assert_true(row[2].low_s <= row[3].predicted_step_s && row[3].predicted_step_s <= row[2].high_s);
    assert_true(row[2].high_s - row[2].low_s > row[3].high_s - row[3].low_s);
    assert_false(row[4].fits);
    assert_string_equal(row[4].skipped, "");
    assert_non_null(strstr(row[5].skipped, "the micro-batch is not stated, and one sequence fits"));
    assert_non_null(strstr(row[6].skipped, "no whole micro-batch"));
}

/* A run whose memory is what a micro-batch is predicted to take was one of that micro-batch, whatever it is. */
static void memory_tells_the_micro_batch(void **state)
{
    static const char columns[] =
        "gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,attention,compile,act_ckpt,"
        "sharding,optimizer,tokens_per_s_gpu,mem_reserved_gib,outcome\n";
    static const int sizes[] = {1, 2, 4, 8};

    (void)state;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        char text[768], chosen[40];
        struct mfu_validation *stated, *open;

        snprintf(text, sizeof text,
                 "%sh100-sxm,llama-3-8b,4096,8,%d,1,bf16-amp,flash2,eager,full,fsdp-full,adamw,9000,,ran\n", columns,
                 sizes[i]);
        stated = table(text);
        snprintf(text, sizeof text,
                 "%sh100-sxm,llama-3-8b,4096,8,,1,bf16-amp,flash2,eager,full,fsdp-full,adamw,9000,%.3f,ran\n", columns,
                 stated->rows[0].predicted_reserved_bytes / 0x1p30);
        open = table(text);
        snprintf(chosen, sizeof chosen, "batch=%d", sizes[i]);
        assert_non_null(strstr(open->rows[0].assumed, chosen));
        assert_near(open->rows[0].predicted_step_s, stated->rows[0].predicted_step_s, 1e-9);
    }
}

/* What a program does where its rows say nothing is of its time: Megatron-LM's README calls selective recomputation the
 * default from 2022 on, and whoever built on it earlier kept what it had. */
static void what_is_usual_has_a_year(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,seq_len,n_gpus,micro_batch,grad_accum,precision,compile,step_time_ms,source\n"
              "a100-80gb-sxm,gpt3-350m,2048,8,4,8,bf16-amp,megatron,2000,somebody (2021)\n"
              "a100-80gb-sxm,gpt3-350m,2048,8,4,8,bf16-amp,megatron,2000,somebody (2023)\n"
              "a100-80gb-sxm,gpt3-350m,2048,8,4,8,bf16-amp,megatron-deepspeed,2000,somebody (2023)\n");

    (void)state;
    assert_non_null(strstr(all->rows[0].assumed, "checkpoint=full, usual for megatron"));
    assert_non_null(strstr(all->rows[1].assumed, "checkpoint=selective, usual for megatron"));
    assert_non_null(strstr(all->rows[2].assumed, "checkpoint=full, usual for megatron-deepspeed"));
}

/* torchtune's recipes recompute unless a row says otherwise. */
static void a_recipe_recomputes_where_nothing_is_said(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,seq_len,micro_batch,grad_accum,precision,compile,act_ckpt,step_time_ms,source\n"
              "a100-80gb-sxm,llama-3.2-1b,2048,2,1,bf16-pure,eager,,400,pytorch/torchtune README\n"
              "a100-80gb-sxm,llama-3.2-1b,2048,2,1,bf16-pure,eager,none,400,pytorch/torchtune README\n"
              "a100-80gb-sxm,llama-3.2-1b,2048,2,1,bf16-pure,eager,full,400,pytorch/torchtune README\n");

    (void)state;
    assert_near(all->rows[0].predicted_step_s, all->rows[2].predicted_step_s, 1e-9);
    assert_true(all->rows[0].predicted_step_s > 1.1 * all->rows[1].predicted_step_s);
}

/* transformers' GPT-2 has OpenAI's formula of GELU in parts and dropout, nanoGPT's neither; a stated dropout counts. */
static void a_model_is_its_library_s(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,family,seq_len,micro_batch,grad_accum,precision,attention,compile,dropout,step_time_ms\n"
              "a100-80gb-sxm,GPT-2 124M,gpt2,1024,8,1,bf16-amp,math,eager,,200\n"
              "a100-80gb-sxm,GPT-2 124M (Huggingface),gpt2,1024,8,1,bf16-amp,math,eager,0,200\n"
              "a100-80gb-sxm,GPT-2 124M (Huggingface),gpt2,1024,8,1,bf16-amp,math,eager,,200\n"
              "a100-80gb-sxm,Llama 3.2 1B (Huggingface),llama,1024,8,1,bf16-amp,math,eager,,200\n");
    const struct mfu_validated *row = all->rows;

    (void)state;
    assert_true(row[1].predicted_step_s > 1.05 * row[0].predicted_step_s);
    assert_true(row[2].predicted_step_s > 1.05 * row[1].predicted_step_s);
    assert_non_null(strstr(row[2].assumed, "activation=6, as Huggingface does"));
    assert_null(strstr(row[3].assumed, "activation=6"));
}

/* Rates of pipelines say nothing of how full they are; one microbatch alone would be idle stages. */
static void pipelines_are_filled(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,seq_len,n_gpus,tp,pp,micro_batch,grad_accum,precision,compile,act_ckpt,sharding,optimizer,"
              "tokens_per_s_gpu\n"
              "h100-sxm,llama-3-8b,8192,16,1,4,2,,bf16-amp,megatron+te,full,zero1,adamw-fused,5000\n"
              "h100-sxm,llama-3-8b,8192,16,1,4,16,,bf16-amp,megatron+te,full,zero1,adamw-fused,5000\n"
              "h100-sxm,llama-3-8b,8192,16,1,4,1,16,bf16-amp,megatron+te,full,zero1,adamw-fused,5000\n");

    (void)state;
    assert_non_null(strstr(all->rows[0].assumed, "accum=32: microbatches of the pipeline, not stated"));
    assert_true(all->rows[0].high_s > 1.3 * all->rows[0].predicted_step_s);
    assert_non_null(strstr(all->rows[1].assumed, "micro_batch 16 is that of a rank"));
    assert_near(all->rows[1].predicted_step_s, all->rows[2].predicted_step_s, 1e-9);
}

/* FLOP/s and an MFU whose convention is not stated are times, whose intervals are wider. */
static void flops_are_times(void **state)
{
    struct mfu_validation *all = one("mfu_pct,mfu_peak_tflops,mfu_convention", "40,100,palm"), *other, *causal;
    double counted;

    (void)state;
    other = one("mfu_pct,mfu_peak_tflops,mfu_convention", "40,100,");
    assert_near(other->rows[0].measured_step_s, all->rows[0].measured_step_s, 1e-9);
    assert_true(other->rows[0].high_s > all->rows[0].high_s);
    causal =
        one("mfu_pct,mfu_peak_tflops,mfu_convention", "40,100,causal"); /* fewer FLOP: a shorter time was measured */
    counted = causal->rows[0].measured_step_s / all->rows[0].measured_step_s;
    assert_true(counted < 1 && other->rows[0].high_s >= all->rows[0].high_s / counted * (1 - 1e-9));
    assert_non_null(strstr(other->rows[0].assumed, "mfu_convention=palm: not stated"));
    other = one("model_tflops_gpu,mfu_convention", "0,palm"); /* no rate, no time */
    assert_true(other->rows[0].skipped[0] && isnan(other->rows[0].measured_step_s));
    other = one("model_tflops_gpu,mfu_convention", "40,palm");
    assert_near(other->rows[0].measured_step_s, all->rows[0].measured_step_s, 1e-9);
    assert_near(other->rows[0].low_s, all->rows[0].low_s, 1e-9);
}

/* A size has its decimal point; what a cell denies or says of a part of the layers is not planned as the whole. */
static void words_are_not_read_into_others(void **state)
{
    static const struct {
        const char *column, *cell, *skipped;
    } refused[] = {
        {"act_ckpt", "some layers", "act_ckpt 'some layers' is not known: expected none, selective, full or budget"},
        {"optimizer", "adammw", "optimizer 'adammw' is not known: did you mean adamw?"},
        {"sharding", "FSDP + TP", "sharding 'FSDP + TP': of how many GPUs is not stated (tp)"},
        {"precision", "nf4", "precision 'nf4' is that of frozen weights: the column method does not state adapters"},
        {"act_ckpt", "not stated", "is not known"},
        {"attention", "no flash attention", "is not known"},
        {"sharding", "2-stage 1f1b", "sharding"},
        {"compile", "tf 2.4", "'tf' of compile"},
    };
    struct mfu_validation *all = table(
        "gpu,model,family,seq_len,micro_batch,precision,attention,compile,act_ckpt,optimizer,method,tokens_per_s\n"
        "h100-sxm,GPT3-13B,gpt3,2048,1,bf16-amp,flash2,eager,none,adamw-fused,,1000\n"
        "h100-sxm,67B,gpt3,2048,1,bf16-amp,flash2,eager,none,adamw-fused,,1000\n"
        "h100-sxm,llama32_1b,,2048,1,bf16-amp,flash2,eager,none,adamw-fused,,1000\n"
        "h100-sxm,llama-3-8b-bnb-4bit,,2048,1,bf16-amp,flash2,eager,none,adamw-fused,lora,1000\n"
        "h100-sxm,llama-3-8b-bnb-4bit,,2048,1,bf16-amp,flash2,eager,none,adamw-fused,qlora,1000\n"
        "h100-sxm,DiT-XL/2,,,8,bf16-amp,flash2,eager,none,adamw-fused,,\n");

    (void)state;
    assert_true(all->rows[0].model_flops > 6 * 12.8e9 * 2048 && all->rows[0].model_flops < 7 * 12.8e9 * 2048);
    assert_true(all->rows[1].model_flops > 6 * 60e9 * 2048); /* not of 6.7B */
    assert_non_null(strstr(all->rows[2].assumed, "model=llama-3.2-1b for llama32_1b"));
    assert_non_null(strstr(all->rows[3].skipped, "how the base is held is not stated"));
    assert_non_null(strstr(all->rows[4].assumed, "base_precision=nf4"));
    assert_non_null(strstr(all->rows[5].assumed, "image=256"));
    for (size_t i = 0; i < LENGTH(refused); i++) {
        char text[1024], cells[256];

        snprintf(cells, sizeof cells, "h100-sxm,gpt2,1024,4,2,%s,100", refused[i].cell);
        snprintf(text, sizeof text, "gpu,model,seq_len,n_gpus,micro_batch,%s,step_time_ms\n%s\n", refused[i].column,
                 cells);
        all = table(text);
        if (!strstr(all->rows[0].skipped, refused[i].skipped))
            fail_msg("%s: %s; %s", refused[i].cell, all->rows[0].skipped, all->rows[0].assumed);
    }
}

/* Networks by their ports and rates; what is no GPU by its name; a program that is not known widens. */
static void machines_and_programs_are_read(void **state)
{
    static const struct {
        const char *columns, *cells, *assumed;
    } rows[] = {
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,HDR IB x8,1000", "cluster=dgx-a100 for HDR IB x8"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,4x HDR,1000", "cluster=hgx-a100-4nic"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,4x Omni-Path 100,1000", "cluster=jean-zay"},
        {"n_gpus,gpus_per_node,notes,step_time_ms", "16,8,tuned on Jean Zay in 2022,1000",
         "cluster=jean-zay, by the notes"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,400gbps-node,1000", "cluster=p4d"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,10 Gbps Ethernet,1000", "cluster=boxes-10gbe"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,1.25 GBps Ethernet,1000", "cluster=boxes-10gbe"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,1.25 Gbytes/s Ethernet,1000", "cluster=boxes-10gbe"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,200G RoCE,1000", "cluster: the usual one"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,4xHDR,1000", "cluster=hgx-a100-4nic"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,8x HDR100,1000", "cluster=hgx-a100-4nic"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,4x Slingshot 11,1000", "cluster=hgx-a100-4nic"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,HDR IB x99999999,1000", "cluster: the usual one"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,8x8x8x8,1000", "cluster: the usual one"},
        {"n_gpus,gpus_per_node,inter_link,step_time_ms", "16,8,100 Gbps fiber,1000", "cluster="},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table(COLUMNS ",%s\na100-80gb-sxm%s,%s\n", rows[i].columns, strchr(CELLS, ','), rows[i].cells);

        if (!strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%s: %s %s", rows[i].cells, all->rows[0].assumed, all->rows[0].skipped);
    }
    for (int i = 0; i < 2; i++) {
        struct mfu_validation *all =
            table(i ? "gpu,model,step_time_ms\nTPU v4,gpt2,100\n" : "gpu,model,step_time_ms\nAscend 910B,gpt2,100\n");

        assert_non_null(strstr(all->rows[0].skipped, "is no GPU"));
    }
}

/* Cards in slots are as many in a machine as are said to be, which have no network between them; what has switches of its own is
 * built as it is. */
static void machines_hold_what_they_are_said_to(void **state)
{
    static const struct {
        const char *gpu;
        int gpus, each;
        const char *skipped, *assumed;
    } rows[] = {{"rtx4090", 8, 8, "", ""},
                {"rtx4090", 10, 10, "", "machines of 10 GPUs"},
                {"l40s", 10, 10, "", "machines of 10 GPUs"},
                {"rtx4090", 64, 64, "machines of rtx4090 have 8", ""},
                {"h100-sxm", 16, 16, "machines of h100-sxm have 8", ""},
                {"h100-sxm", 32, 16, "", "gpus_per_node 16: machines of h100-sxm have 8"}};
    double eight = NAN;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("gpu,n_gpus,gpus_per_node,model,seq_len,micro_batch,sharding,step_time_ms\n"
                                           "%s,%d,%d,llama-3.2-1b,1024,1,fsdp,1000\n",
                                           rows[i].gpu, rows[i].gpus, rows[i].each);
        const struct mfu_validated *v = &all->rows[0];

        if (*rows[i].skipped ? !strstr(v->skipped, rows[i].skipped)
                             : *v->skipped || !strstr(v->assumed, rows[i].assumed))
            fail_msg("%d of %s: %s; %s", rows[i].each, rows[i].gpu, v->skipped, v->assumed);
        if (i == 0)
            eight = v->predicted_step_s;
        if (i == 1)
            assert_true(v->predicted_step_s < 1.2 * eight);
    }
}

/* XLA stands where PyTorch's compiler would, with what is known less, no year of PyTorch's and no reserved memory; images in
 * TensorFlow's 16 bits lie as its layout optimizer lays them. */
static void xla_is_read(void **state)
{
    static const char *const stacks[] = {"torch.compile", "xla", "jax", "xla-te", "JAX/XLA", "MaxText"};
    double low_s = 0;
    struct mfu_validation *all;

    (void)state;
    for (size_t i = 0; i < LENGTH(stacks); i++) {
        all = table("gpu,model,seq_len,micro_batch,precision,attention,compile,mem_reserved_gib,step_time_ms\n"
                    "a100-80gb-sxm,gpt2,1024,4,bf16-amp,cudnn,%s,10,100\n",
                    stacks[i]);
        assert_string_equal(all->rows[0].skipped, "");
        assert_string_equal(all->rows[0].runtime, "compile");
        assert_true(isnan(all->rows[0].measured_reserved_bytes) == (i > 0));
        assert_true((strstr(all->rows[0].assumed, "usual for compile") != NULL) == (i == 0));
        if (i == 0)
            low_s = all->rows[0].low_s;
        else
            assert_true(all->rows[0].low_s < low_s);
    }
    all = table("gpu,model,img_size,micro_batch,precision,compile,framework,step_time_ms\n"
                "a100-40gb-sxm,resnet50,224,256,fp16-amp,xla,tensorflow 1 NGC,108\n"
                "a100-40gb-sxm,resnet50,224,256,tf32,xla,tensorflow 1 NGC,108\n"
                "a100-40gb-sxm,resnet50,224,256,fp16-amp,xla,jax,108\n"
                "a100-40gb-sxm,resnet50,224,256,fp16-amp,,tensorflow,108\n");
    assert_non_null(strstr(all->rows[0].assumed, "channels_last=1"));
    for (int i = 1; i < 3; i++)
        assert_null(strstr(all->rows[i].assumed, "channels_last=1"));
    assert_true(all->rows[0].predicted_step_s < all->rows[2].predicted_step_s);
}

/* A source names the program of its rows, but not of those that say to run PyTorch's own layers. */
static void a_source_names_programs_of_their_own_layers(void **state)
{
    static const struct {
        const char *source, *compile, *assumed;
        bool absent;
    } rows[] = {
        {"NeMo on a workstation", "", "trainer=megatron-bridge, ", false},
        {"NeMo on a workstation", "fused", "trainer=megatron-bridge, ", false},
        {"NeMo on a workstation", "eager", "trainer=megatron-bridge", true},
        {"NeMo on a workstation", "torch.compile", "trainer=megatron-bridge", true},
        {"NVIDIA-NeMo/Automodel", "", "trainer=torchtitan, by what is said", false},
        {"torchtitan", "eager", "trainer=torchtitan, by what is said", false},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("source,compile,gpu,model,seq_len,micro_batch,precision,step_time_ms\n%s,%s,h100-sxm,llama-3.2-1b,"
                  "2048,1,bf16-amp,100\n",
                  rows[i].source, rows[i].compile);

        if ((strstr(all->rows[0].assumed, rows[i].assumed) == NULL) != rows[i].absent)
            fail_msg("%s %s: %s %s", rows[i].source, rows[i].compile, all->rows[0].assumed, all->rows[0].skipped);
    }
}

/* Without a card memory is compared, of no stated size no outcome, and a time is of one GPU. */
static void memory_is_compared_without_a_card(void **state)
{
    static const struct {
        const char *memory, *size, *assumed;
        int ran;
    } rows[] = {
        {"6.5", "", "not stated, and memory is compared alone", 0},
        {"6.5", "said of an 80GB card", "its memory is as large as stated", 1},
        {"6.5", "would not fit on a 24 GB card", "not stated, and memory is compared alone", 0},
        {"6.5", "doesn't fit a 24 GB card; ran on an 80 GB card", "gpu=a100-80gb", 1},
        {"95", "", "not stated, and memory is compared alone", 0},
        {"", "", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table(COLUMNS ",mem_allocated_gib,notes,step_time_ms,outcome\n%s,%s,%s,9340,ran\n",
                                           strchr(CELLS, ','), rows[i].memory, rows[i].size);

        assert_true(isnan(all->rows[0].measured_step_s));
        assert_int_equal(all->ran, rows[i].ran);
        if (!rows[i].assumed)
            assert_string_equal(all->rows[0].skipped, "the GPU is not stated");
        else if (!strstr(all->rows[0].assumed, rows[i].assumed) || all->rows[0].skipped[0])
            fail_msg("%s %s", all->rows[0].assumed, all->rows[0].skipped);
        else
            assert_false(isnan(all->rows[0].measured_allocated_bytes));
    }
}

/* A trainer that is assumed runs as it does, and recomputes a part of its layers before it does all. */
static void an_assumed_trainer_has_its_runtime(void **state)
{
    struct mfu_validation *all =
        table("gpu,n_gpus,gpus_per_node,model,n_layer,n_head,n_embd,seq_len,global_batch,precision,tp,pp,sharding,step_"
              "time_ms\n"
              "h100-sxm,8192,8,llama-3.1-405b,126,128,16384,8192,2048,bf16,8,16,zero2,12500\n");

    (void)state;
    assert_non_null(strstr(all->rows[0].assumed, "trainer=megatron-te"));
    assert_non_null(strstr(all->rows[0].assumed, "runtime=fused, as megatron-te does"));
    assert_string_equal(all->rows[0].runtime, "fused");
    assert_null(strstr(all->rows[0].assumed, "checkpoint=full"));
}

/* What the notes say of the layout, of who holds what and of what overlaps; and what they deny. */
static void layouts_in_prose_are_read(void **state)
{
    static const struct {
        const char *notes, *assumed, *absent;
    } rows[] = {
        {"model-parallel size 16", "tp=4, pp=4: model-parallel size 16", "zero"},
        {"Model-parallel size 2 (split not stated)", "tp=2, pp=1", NULL},
        {"Model-parallel size 1", "sharding=ddp", "tp="},
        {"model-parallel size not stated", "sharding=ddp", "tp="},
        {"overlapped grad-reduce/param-gather/tp-comm; others", "overlap_param_gather=on", "ddp"},
        {"overlapped grad-reduce/param-gather/tp-comm; others", "tp_overlap=products", NULL},
        {"--overlap-grad-reduce --overlap_param_gather", "sharding=zero1, by what is said", NULL},
        {"tp_comm_overlap; distributed optimizer", "tp_overlap=products", "ddp"},
        {"no overlap of grad-reduce and param-gather", "", "overlap_"},
        {"overlap_grad_reduce=false; distributed optimizer", "sharding=zero1", "overlap_"},
        {"overlapped data loading; grad-reduce bf16", "grad_reduce=bf16", "overlap_"},
        {"no distributed optimizer", "sharding=ddp", "zero"},
        /* of an A100's 300 GB/s */
        {"rates in GB/s: intra-node AR 33.0 AG 30.1", "link.nvlink=0.110, by the notes", NULL},
        {"rates in GB/s: intra-node AR 230 AG 200", "sharding=ddp", "link."},
        {"intra-node all-reduce bandwidth 33 GB/s", "link.nvlink=0.110", NULL},
        {"NVLink test: allreduce 33GB/s", "link.nvlink=0.110", NULL},
        {"intra-node allreduce of 33 ms", "sharding=ddp", "link."},
        {"inter-node all-reduce 20 GB/s", "sharding=ddp", "link."},
        {"intra-node AR 1.5 GB/s", "link.nvlink=0.010, by the notes: a test of collectives, which is below", NULL},
        {"--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4", "tp=8, pp=4", NULL},
        {"tensor_model_parallel_size=4", "tp=4, pp=1", NULL},
        {"--expert-model-parallel-size 8 --virtual-pipeline-model-parallel-size 2", "sharding=ddp", "tp="},
        {"no model-parallel size 8", "sharding=ddp", "tp="},
        {"model-parallel size 2000000000", "sharding=ddp", "tp="},
        {"overlap_grad_reduce: false; overlap_param_gather: false; use_distributed_optimizer: false", "sharding=ddp",
         "overlap_"},
        {"tp-comm-overlap: off", "sharding=ddp", "overlap=products"},
        {"tp-comm-overlap: on", "tp_overlap=products", NULL},
        {"overlap_param_gather (off)", "sharding=ddp", "overlap_"},
        {"overlap_grad_reduce=0 overlap_param_gather=1", "overlap_param_gather=on", "overlap_grad_reduce"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table(COLUMNS ",n_gpus,gpus_per_node,step_time_ms,notes\na100-80gb-sxm%s,64,8,1000,%s\n",
                  strchr(CELLS, ','), rows[i].notes);
        const char *assumed;

        assumed = all->rows[0].assumed;
        if (!strstr(assumed, rows[i].assumed) || (rows[i].absent && strstr(assumed, rows[i].absent)))
            fail_msg("%s: %s %s", rows[i].notes, assumed, all->rows[0].skipped);
    }
}

/* A node that is not stated has the usual eight GPUs; what is denied is not in the host's memory; 13.6 GB are not 6. */
static void what_is_not_stated_is_not_one(void **state)
{
    static const struct {
        const char *column, *text, *assumed, *absent;
    } rows[] = {
        {"notes", "model-parallel size 16",
         "tp=4, pp=4: model-parallel size 16 by the notes, tensor ranks within a node of 8", NULL},
        {"cpu_offload", "optimizer (no params)", "offload_optimizer=on", "offload_params"},
        {"cpu_offload", "\"activations only, not weights\"", "offload_activations=on", "offload_params"},
        {"cpu_offload", "params and optimizer", "offload_params=on", NULL},
    };
    struct mfu_validation *all;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *assumed;

        all = table(COLUMNS ",n_gpus,step_time_ms,%s\na100-80gb-sxm%s,64,1000,%s\n", rows[i].column, strchr(CELLS, ','),
                    rows[i].text);
        assumed = all->rows[0].assumed;
        if (!strstr(assumed, rows[i].assumed) || (rows[i].absent && strstr(assumed, rows[i].absent)))
            fail_msg("%s: %s %s", rows[i].text, assumed, all->rows[0].skipped);
    }
    all = table(COLUMNS ",notes,mem_allocated_gib\n%s,13.6 GB card,4\n", strchr(CELLS, ','));
    assert_string_equal(all->rows[0].skipped, "the GPU is not stated");
}

/* The words of people who have not read what a column may hold. */
static void words_are_read_as_meant(void **state)
{
    static const struct {
        const char *columns, *cells, *assumed, *skipped; /* skipped NULL: planned */
    } rows[] = {
        /* a process has a rank, too; what the notes compare with or name without a number */
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,2,trained with LoRA; memory printed by rank 2,1000", "",
         "nor a rank in the notes"},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,2,LoRA on global rank 3,1000", "", "nor a rank in the notes"},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,2,full fine-tuning; LoRA r=16 needs less,1000", "",
         "nor a rank in the notes"},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,2,LoRA of all linears with rank 16,1000", "method=lora, lora_rank=16", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,2,lora_r: 8,1000", "method=lora, lora_rank=8, by the notes", NULL},
        /* names that deny, and 8 bits of something else */
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,step_time_ms",
         "l40s,sdpa,bf16,2,gpt2,1024,8,NoFSDP,100", "", "sharding: 'NoFSDP'"},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,step_time_ms",
         "l40s,sdpa,bf16,2,gpt2,1024,8,optim_grad,100", "", "is not known: did you mean optim_grads?"},
        {"gpu,attention,precision,model,seq_len,micro_batch,optimizer,step_time_ms",
         "h100-sxm,,bf16,llama-3.2-1b,1024,1,AdamW (8bit states),900", "optimizer=adamw8bit for AdamW (8bit states)",
         NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,optimizer,step_time_ms",
         "h100-sxm,,bf16,llama-3.2-1b,1024,1,Adam + 8 bit weights,900", "optimizer=adamw for", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,compile,act_ckpt,step_time_ms",
         "h100-sxm,,bf16,gpt2,1024,8,llm.c,-r 0,100", "checkpoint=none, by llm.c's -r", NULL},
        /* links of another kind are listed */
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,notes,step_time_ms",
         "rtx4090,sdpa,bf16,2,gpt2,1024,8,PCIe 4.0 x8,500", "PCIe x8 of the notes is not modelled", NULL},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,notes,step_time_ms",
         "rtx4090,sdpa,bf16,2,gpt2,1024,8,P2P disabled,500", "no P2P by the notes is not modelled", NULL},
        /* names in the marks of a configuration, choices that say nothing, kinds of layers */
        {"gpu,precision,model,seq_len,micro_batch,attention,step_time_ms",
         "a100-80gb-sxm,bf16,gpt2,1024,8,\"[[[\"\"flash\"\"], 12]]\",100", "attention=flash for [[[", NULL},
        {"gpu,precision,model,seq_len,micro_batch,attention,step_time_ms", "a100-80gb-sxm,bf16,gpt2,1024,8,auto,100",
         "attention: the program's choice for auto", NULL},
        {"gpu,precision,model,seq_len,micro_batch,attention,step_time_ms", "a100-80gb-sxm,bf16,gpt2,1024,8,global,100",
         "of any kernel, for global", NULL},
        {"gpu,precision,model,seq_len,micro_batch,attention,compile,step_time_ms",
         "mi300x,bf16,llama-3-8b,1024,1,cudnn_flash_te,jax,900", "TransformerEngine's choice for cudnn_flash_te", NULL},
        /* what waits in the host's memory */
        {"gpu,attention,precision,model,seq_len,micro_batch,act_ckpt,step_time_ms",
         "h100-sxm,sdpa,bf16,llama-3.2-1b,1024,1,checkpointing with CPU offload,900", "offload_activations=on", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,act_ckpt,step_time_ms",
         "h100-sxm,sdpa,bf16,llama-3.2-1b,1024,1,full; no offload,900", "checkpoint=full", NULL},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,optimizer,step_time_ms",
         "h100-sxm,sdpa,bf16,8,llama-3.2-1b,1024,1,zero3,adam (adam_offload),900",
         "offload_optimizer=on, by what is said", NULL},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,optimizer,step_time_ms",
         "h100-sxm,sdpa,bf16,8,llama-3.2-1b,1024,1,zero3,DeepSpeedCPUAdam,900", "offload_optimizer=on, by what is said",
         NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,optimizer,step_time_ms",
         "h100-sxm,,bf16,llama-3.2-1b,1024,1,AdamW 8-bit moments,900", "optimizer=adamw8bit for AdamW 8-bit moments",
         NULL},
        /* what llm.c computes again has numbers */
        {"gpu,attention,precision,model,seq_len,micro_batch,compile,act_ckpt,step_time_ms",
         "h100-sxm,,bf16,gpt2,1024,8,llm.c,-r 1,100", "checkpoint=selective, by llm.c's -r", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,compile,act_ckpt,step_time_ms",
         "h100-sxm,,bf16,gpt2,1024,8,llm.c,recompute=2,100", "checkpoint=full, by llm.c's -r", NULL},
        /* classes and configurations that name how ranks share */
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,step_time_ms",
         "l40s,sdpa,bf16,2,gpt2,1024,8,MegatronFSDPManager,100", "sharding=fsdp-full for MegatronFSDPManager", NULL},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,sharding,step_time_ms",
         "l40s,sdpa,bf16,2,gpt2,1024,8,optim_grads_params,100", "", NULL},
        /* programs whose loops answer, compare answers, or are no PyTorch */
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,gpt2,1024,8,GRPOTrainer,100", "", "a reference model"},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,gpt2,1024,8,ORPOTrainer,100", "objective=orpo, by the notes", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,compile,notes,step_time_ms",
         "l40s,sdpa,bf16,gpt2,1024,8,TinyJit,tinygrad BEAM=2,100", "", "'tinygrad' of notes is not modelled"},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,notes,step_time_ms",
         "h100-sxm,sdpa,bf16,8,llama-3.2-1b,1024,1,NeMo AutoModel,900", "trainer=torchtitan, by what is said", NULL},
        {"gpu,attention,precision,n_gpus,model,seq_len,micro_batch,tp,pp,notes,step_time_ms",
         "h100-sxm,sdpa,bf16,8,llama-2-7b,1024,8,2,2,picotron; pp_engine afab,900", "schedule=gpipe, by the notes",
         NULL},
        /* what only the notes state */
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,gpt2,1024,8,--update-freq 16,1000", "accum=16, by the notes", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-2-7b,1024,2,QLoRA r=16; load_in_4bit,1000", "method=qlora, lora_rank=16, by the notes",
         NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-3.2-1b,1024,1,no LoRA (rank 8),1000", "", NULL},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "l40s,sdpa,bf16,llama-2-7b,1024,2,LoRA,1000", "", "nor a rank in the notes"},
        {"gpu,attention,precision,model,seq_len,micro_batch,notes,step_time_ms",
         "h100-sxm,sdpa,bf16,llama-3.2-1b,1024,1,liger_rms_norm,900", "kernel_package=liger, by the notes", NULL},
        /* ranks that share a sequence, where no tensor ranks do */
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,sp,step_time_ms",
         "h100-sxm,llama-3.2-1b,8,zero3,65536,1,8,2000", "cp=8: ranks that share a sequence; cp_comm_type=a2a", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,step_time_ms,notes",
         "h100-sxm,llama-3.2-1b,8,zero3,65536,1,2000,Ulysses SP=4", "cp=4: ranks that share a sequence", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,step_time_ms,notes",
         "h100-sxm,llama-3.2-1b,8,zero3,65536,1,2000,ring attention; sequence parallel size 2",
         "cp=2: ranks that share a sequence; cp_comm_type=p2p", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,attention,step_time_ms",
         "h100-sxm,llama-3.2-1b,8,zero3,65536,1,ring,2000",
         "cp=8: ranks that share a sequence, of a node: not stated; cp_comm_type=p2p", NULL},
        /* of a node where it is not stated how many, with some of the heads each, and none without a sequence */
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,attention,step_time_ms",
         "h100-sxm,llama-3.2-1b,64,zero3,65536,1,ring,2000", "cp=8: ranks", NULL},
        {"gpu,model,n_gpus,n_head,sharding,seq_len,micro_batch,attention,step_time_ms",
         "h100-sxm,gpt2,8,12,zero3,8192,1,ulysses,2000", "cp=4: ranks", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,global_batch,attention,step_time_ms",
         "h100-sxm,llama-3.2-1b,16,zero3,65536,1,ring,2000", "cp=16: ranks", NULL},
        /* how many further tokens are predicted, and whether */
        {"gpu,n_gpus,model,seq_len,micro_batch,step_time_ms,notes", "b200,256,deepseek-v3,4096,1,9000,MTP 2", "",
         "n_mtp: 2 is outside"},
        {"gpu,n_gpus,model,seq_len,micro_batch,step_time_ms,notes",
         "b200,256,deepseek-v3,4096,1,9000,one node has MTP 8 GPUs", "n_mtp=1, by the notes", NULL},
        {"gpu,n_gpus,model,seq_len,micro_batch,step_time_ms,notes", "b200,256,deepseek-v3,4096,1,9000,1 MTP layer",
         "n_mtp=1, by the notes", NULL},
        /* a name with several meanings: a version of it is nearer than another word */
        {"gpu,model,seq_len,micro_batch,step_time_ms", "h100-sxm,Granite 8B,2048,1,300", "model=granite-3", NULL},
        {"gpu,model,n_layer,seq_len,micro_batch,step_time_ms", "h100-sxm,Granite 8B,36,2048,1,300",
         "model=granite-8b-code", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms,notes", "h100-sxm,mistral-7b,8192,1,900,sliding window 1024",
         "window=1024, by the notes", NULL},
        {"gpu,model,n_gpus,tp,seq_len,micro_batch,sp,compile,step_time_ms",
         "h100-sxm,llama-3.2-1b,8,8,65536,1,8,megatron+te,2000", "sharding=ddp", NULL},
        {"gpu,model,n_gpus,pp,seq_len,micro_batch,grad_accum,step_time_ms,notes",
         "h100-sxm,moonlight-16b-a3b,64,4,2048,1,16,900,DualPipe", "moe_dispatcher=flex, by the notes", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,sp,step_time_ms,notes",
         "h100-sxm,llama-3.2-1b,8,zero3,65536,1,2,2000,ring all-reduce", "cp_comm_type=a2a", NULL},
        /* a program that the run is compared with is not its own */
        {"gpu,model,seq_len,micro_batch,step_time_ms,notes", "h100-sxm,llama-3.2-1b,2048,4,200,faster than axolotl",
         "checkpoint=none; optimizer: default; gpus=1", NULL},
        /* runs on Volta are older than Megatron's TransformerEngine, if no year says otherwise */
        {"gpu,model,n_gpus,tp,seq_len,micro_batch,compile,step_time_ms",
         "v100-32gb-sxm,gpt2-large,8,4,1024,4,megatron,900", "checkpoint=selective, usual for megatron; optimizer",
         NULL},
        {"source,gpu,model,n_gpus,tp,seq_len,micro_batch,compile,step_time_ms",
         "a blog (2025),v100-32gb-sxm,gpt2-large,8,4,1024,4,megatron,900", "trainer=megatron-te: megatron's default",
         NULL},
        /* layers that are split over GPUs are no plain loop's */
        {"gpu,model,n_gpus,tp,seq_len,micro_batch,step_time_ms", "h100-sxm,llama-2-7b,8,8,4096,4,900",
         "trainer=megatron-te: layers are split", NULL},
        {"gpu,model,n_gpus,tp,sharding,seq_len,micro_batch,step_time_ms", "h100-sxm,llama-2-7b,16,8,fsdp,4096,4,900",
         "trainer=torchtitan: layers are split", NULL},
        {"gpu,model,n_gpus,tp,compile,seq_len,micro_batch,step_time_ms", "h100-sxm,llama-2-7b,8,8,eager,4096,4,900",
         "sharding=ddp", NULL},
        {"gpu,model,n_gpus,tp,micro_batch,step_time_ms", "h100-sxm,vit-l-16,8,2,64,900",
         "sp=off: not modelled of vit-l-16", NULL},
        {"gpu,model,n_gpus,tp,micro_batch,step_time_ms", "h100-sxm,mamba2-1.3b,8,2,1,900", "sp=off: not modelled",
         NULL},
        /* TransformerEngine has its maker's attention */
        {"gpu,model,seq_len,micro_batch,attention,compile,step_time_ms",
         "mi300x,llama-3.2-1b,1024,4,te,megatron+te,200", "attention: TransformerEngine's choice for te", NULL},
        {"gpu,model,seq_len,micro_batch,attention,compile,step_time_ms",
         "h100-sxm,llama-3.2-1b,1024,4,te,megatron+te,200", "attention=cudnn for te", NULL},
        /* cards, with what stands beside their names */
        {"gpu,model,seq_len,micro_batch,step_time_ms", "H100-80GB 500W,gpt2,1024,4,200", "power_w=500", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "4 x RTX 4090,gpt2,1024,4,200", "gpu=rtx4090 for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "RTX Titan,gpt2,1024,4,200", "gpu=titan-rtx for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "DGX-2 V100-32GB,gpt2,1024,4,200", "gpu=v100-32gb", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "24GB consumer GPU RTX 3090,gpt2,1024,4,200", "gpu=rtx3090",
         NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "H100 350W,gpt2,1024,4,200", "gpu=h100-pcie for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "H100 700W,gpt2,1024,4,200", "gpu=h100-sxm for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "H100 0x1p9W,gpt2,1024,4,200", "", "no GPU is called"},
        /* boards of PyTorch's developers, in tables of theirs alone, and where nothing else is said */
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "h100-sxm,pytorch/ao README,gpt2,1024,4,200",
         "gpu=h100-sxm-96gb: that of", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "H100 80GB,pytorch/ao README,gpt2,1024,4,200",
         "gpu=h100-sxm for", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "H100 700W,pytorch/ao README,gpt2,1024,4,200",
         "gpu=h100-sxm for", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "H100,mlperf/ao README,gpt2,1024,4,200",
         "gpu=h100-sxm for", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "NVIDIA H100 NVL,pytorch/ao README,gpt2,1024,4,200",
         "gpu=h100-nvl for", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "H100,pytorch/pytorch#137053,gpt2,1024,4,200",
         "gpu=h100-sxm for", NULL},
        {"gpu,source,model,seq_len,micro_batch,step_time_ms", "H100,pytorch/torchtitan issue 500,gpt2,1024,4,200",
         "gpu=h100-sxm for", NULL},
        {"gpu,source,notes,model,seq_len,micro_batch,step_time_ms",
         "b200,pytorch/ao README,power-limited B200,gpt2,1024,4,200", "power_w=750", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "3090 x 4,gpt2,1024,4,200", "gpu=rtx3090 for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "4 x 3090,gpt2,1024,4,200", "gpu=rtx3090 for", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "A100 x 8,gpt2,1024,4,200", "gpu=a100", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "RTX 3090 24GB 300 watt,gpt2,1024,4,200", "power_w=300", NULL},
        {"gpu,model,seq_len,micro_batch,mem_reserved_gib", ",gpt2,1024,4,30", "", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", ",gpt2,1024,4,200", "", "the GPU is not stated"},
        /* shapes that nothing is called by */
        {"gpu,model,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,mlp,step_time_ms",
         "h100-sxm,175B Foo,2,1024,16,50257,1024,4,gelu,30", "graph of gpt2 for Foo", NULL},
        {"gpu,model,n_layer,n_embd,n_head,d_ff,vocab,seq_len,micro_batch,pos,step_time_ms",
         "h100-sxm,Foo-7B,2,1024,16,2816,32000,1024,4,rope,30", "graph of llama-2-7b for Foo", NULL},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,FooLM,2,1024,16,50257,1024,4,30", "graph of gpt2 for FooLM", NULL},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,conformer,2,1024,16,50257,1024,4,30", "", "family 'conformer' is not modelled"},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,perceiver,2,1024,16,50257,1024,4,30", "", "family 'perceiver' is not modelled"},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,gpt5,2,1024,16,50257,1024,4,30", "", "family 'gpt5' is not modelled"},
        {"gpu,family,n_layer,n_embd,n_head,seq_len,micro_batch,step_time_ms", "h100-sxm,FooLM,2,1024,16,1024,4,30", "",
         "nor its vocabulary"},
        {"gpu,family,n_layer,n_embd,n_head,seq_len,micro_batch,step_time_ms", "h100-sxm,FooLM,16,4096,32,1024,1,300",
         "graph of gpt2 for FooLM", NULL},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,mlp,step_time_ms",
         "h100-sxm,FooLM,16,4096,32,32000,1024,1,swiglu,300", "", "the width of its gated MLP"},
        {"gpu,model,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,Hyena-4,2,1024,16,50257,1024,4,30", "", "family 'Hyena' is not modelled"},
        {"gpu,family,n_layer,n_embd,n_head,d_ff,vocab,seq_len,n_experts,experts_active,micro_batch,step_time_ms",
         "h100-sxm,llama,2,1024,16,2816,32000,1024,8,2,4,30", "graph of mixtral-8x7b", NULL},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,n_experts,experts_active,micro_batch,step_time_ms",
         "h100-sxm,gpt2,2,1024,16,50257,1024,8,2,4,30", "graph of gpt-moe", NULL},
        {"gpu,family,n_layer,n_embd,n_head,vocab,seq_len,n_experts,experts_active,micro_batch,step_time_ms",
         "h100-sxm,bert,2,1024,16,30522,512,8,2,4,30", "", "n_experts 8: bert-base has no experts"},
        {"gpu,model,seq_len,n_experts,micro_batch,step_time_ms", "h100-sxm,llama-2-7b,1024,8,1,300", "",
         "n_experts 8: llama-2-7b has no experts"},
        {"gpu,model,n_gpus,sharding,seq_len,n_experts,micro_batch,step_time_ms",
         "h100-sxm,mixtral-8x7b,8,fsdp,1024,4,1,900", "n_experts=4, not the 8 of mixtral-8x7b", NULL},
        {"gpu,model,mlp,seq_len,micro_batch,step_time_ms", "h100-sxm,gpt2,\"ReLU, 2 layers\",1024,4,90",
         "mlp: the model's", NULL},
        {"gpu,model,mlp,seq_len,micro_batch,step_time_ms", "h100-sxm,Nemotron-4 15B,squared ReLU,4096,1,3000",
         "gpus=8, zero=3: not stated", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "h100-sxm,Llama 3 8B,1024,1,300", "", NULL},
        {"gpu,model,seq_len,micro_batch,step_time_ms", "h100-sxm,Llama 3 45B,1024,1,300", "", "known is stated"},
        {"gpu,model,n_gpus,tp,pp,compile,n_layer,n_embd,n_head,vocab,seq_len,micro_batch,step_time_ms",
         "h100-sxm,GPT 7B,16,4,2,FooScale,8,4096,32,51200,2048,1,900", "trainer=megatron-te", NULL},
        {"source,gpu,model,n_gpus,tp,pp,n_kv_head,compile,seq_len,micro_batch,step_time_ms",
         "somebody (2023),h100-sxm,starcoder,16,4,2,1,Megatron-LM,2048,1,900",
         "n_kv_head=4: each tensor rank has a copy", NULL},
        /* what is frozen, adapted, offloaded, computed again */
        {"gpu,model,seq_len,micro_batch,method,quant,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,QLoRA,\"4-bit NormalFloat, double quant\",300", "base_precision=nf4-double", NULL},
        {"gpu,model,seq_len,micro_batch,method,quant,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,QLoRA,nf4 without double quantization,300", "base_precision=nf4 for", NULL},
        {"gpu,model,seq_len,micro_batch,method,quant,step_time_ms", "h100-sxm,llama-2-7b,1024,1,LoRA,LLM.int8(),300",
         "base_precision=int8 for", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,step_time_ms", "h100-sxm,llama-2-7b,1024,1,LoRA (qkvo),8,300",
         "", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,PEFT-LoRA PyTorch,8,300", "", NULL},
        {"gpu,model,seq_len,micro_batch,method,trainable_m,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,LoRA (r=64),159.9,300", "lora_targets=all-linear", NULL},
        {"gpu,model,seq_len,micro_batch,method,trainable_m,lora_targets,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,LoRA (rank 64),67.1,qkvo,300", "", NULL},
        {"gpu,model,seq_len,micro_batch,method,trainable_m,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,\"LoRA (r=64, qkvo)\",67.1,300", "", NULL},
        {"gpu,source,model,seq_len,micro_batch,precision,step_time_ms",
         "h100-sxm,pytorch/torchtitan,llama-3-8b,1024,1,fp8,400", "precision=fp8-current: torchao", NULL},
        /* sizes and forms that a row does not state follow from what trains, small multiples of a usual size alone */
        {"gpu,model,seq_len,micro_batch,method,lora_rank,lora_targets,trainable_m,step_time_ms",
         "l40s,llama-3.2-1b,512,1,adalora,8,\"q,v\",1.278336,300", "lora=12: so many", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,lora_targets,trainable_m,step_time_ms",
         "l40s,llama-3.2-1b,512,1,lora,16,\"q,v\",0.65536,300", "adapter=lora-fa", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,trainable_m,step_time_ms",
         "l40s,llama-3.2-1b,512,1,deft,16,1.31072,300", "adapter=para", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,step_time_ms", "l40s,llama-3.2-1b,512,1,oft,0,300",
         "peft's default", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,step_time_ms", "l40s,llama-3.2-1b,512,1,full,0,300", "", NULL},
        {"gpu,model,seq_len,micro_batch,method,trainable_m,step_time_ms", "l40s,llama-3.2-1b,512,1,fourierft,0.192,300",
         "lora=2000: so many", NULL},
        {"gpu,model,seq_len,micro_batch,method,trainable_m,step_time_ms", "l40s,llama-3.2-1b,512,1,fourierft,1.008,300",
         "", "was set otherwise"},
        {"gpu,model,seq_len,micro_batch,method,step_time_ms", "h100-sxm,llama-2-7b,1024,1,QLoRA (8-bit),300",
         "base_precision=int8 for 8-bit", NULL},
        {"gpu,model,seq_len,micro_batch,method,lora_rank,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,QLoRA (Unsloth),8,300", "base_precision=nf4", NULL},
        {"gpu,model,seq_len,micro_batch,cpu_offload,step_time_ms",
         "h100-sxm,llama-2-7b,1024,1,optimizer and gradients,900", "offload_optimizer=on", NULL},
        {"gpu,model,seq_len,micro_batch,compile,step_time_ms", "h100-sxm,llama-3-8b,4096,1,Liger-Kernel,900",
         "loss_chunks=32 for liger", NULL},
        {"gpu,model,seq_len,micro_batch,compile,step_time_ms", "h100-sxm,gpt2,1024,4,Hugging Face Trainer,90",
         "activation=6, as transformers does", NULL},
        {"gpu,model,seq_len,micro_batch,act_ckpt,step_time_ms", "h100-sxm,gpt2,1024,4,every layer,90",
         "checkpoint=full", NULL},
        {"gpu,model,seq_len,micro_batch,act_ckpt,step_time_ms", "h100-sxm,gpt2,1024,4,every block,90",
         "checkpoint=full", NULL},
        {"gpu,model,seq_len,micro_batch,act_ckpt,step_time_ms", "h100-sxm,gpt2,1024,4,every second layer,90",
         "checkpoint_layers=6", NULL},
        {"gpu,model,seq_len,micro_batch,act_ckpt,step_time_ms", "h100-sxm,gpt2,1024,4,every third block,90", "",
         "is not known"},
        {"gpu,model,seq_len,micro_batch,act_ckpt,step_time_ms", "h100-sxm,gpt2,1024,4,alternate layers,90",
         "checkpoint_layers=6", NULL},
        {"gpu,model,seq_len,micro_batch,attention,step_time_ms", "h100-sxm,gpt2,1024,4,standard,90", "", NULL},
        {"gpu,model,n_gpus,sharding,seq_len,micro_batch,step_time_ms", "v100-32gb,gpt2,1,ZeRO-2,1024,4,300", "", NULL},
        /* what came of it */
        {"gpu,model,seq_len,micro_batch,outcome", "rtx3060,gpt2-xl,1024,8,CUDA out of memory", "", NULL},
        {"gpu,model,seq_len,micro_batch,outcome", "rtx3060,gpt2-xl,1024,8,out-of-memory", "", NULL},
        {"gpu,model,seq_len,micro_batch,outcome", "rtx3060,gpt2,1024,1,fits", "gpus=1", NULL},
        {"gpu,model,seq_len,micro_batch,outcome", "rtx3060,gpt2-xl,1024,8,never fits its memory", "", NULL},
        {"gpu,model,seq_len,micro_batch,task,step_time_ms", "h100-sxm,gpt2,1024,4,self-supervised,90", "", NULL},
        {"gpu,model,micro_batch,task,step_time_ms", "h100-sxm,vit-b-16,4,self-supervised,90", "", "a teacher"},
        {"gpu,model,micro_batch,task,step_time_ms", "h100-sxm,resnet-50,4,moco,90", "", "a teacher"},
        {"gpu,model,seq_len,micro_batch,notes,step_time_ms", "h100-sxm,gpt2,1024,4,self-supervised with a teacher,90",
         "", "a teacher"},
        {"gpu,model,seq_len,micro_batch,notes,step_time_ms", "h100-sxm,gpt2,1024,4,distillation,90", "", "a teacher"},
        {"gpu,model,seq_len,micro_batch,notes,step_time_ms", "h100-sxm,gpt2,1024,4,distillation loss is off,90", "",
         NULL},
        {"gpu,model,step_time_ms", "h100-sxm,gpt2,90", "", "neither the micro-batch nor the length"},
        {"gpu,n_gpus,model,step_time_ms,tokens_per_s_gpu", "h100-sxm,1,gpt2,100,327680", "32 sequences of 1024 tokens",
         NULL},
        {"gpu,n_gpus,model,step_time_ms,tokens_per_s_gpu", "h100-sxm,1,gpt2,100,15000", "",
         "neither the micro-batch nor the length"},
        /* what is not stated at all, of a run that ran */
        {"gpu,model,seq_len,tokens_per_s_gpu,outcome", "a100-80gb-sxm,llama-2-70b,4096,300,ran", "zero=3: not stated",
         NULL},
        {"gpu,model,n_gpus,tp,pp,compile,precision,act_ckpt,seq_len,micro_batch,grad_accum,step_time_ms,outcome",
         "a100-40gb-sxm,gpt3-175b,512,8,8,eager,bf16,full,2048,1,16,30000,ran", "zero=1: not stated", NULL},
        {"gpu,model,n_gpus,compile,seq_len,micro_batch,step_time_ms",
         "h100-sxm,llama-2-7b,8,Somebody's-Megatron,4096,1,900", "runtime=fused for Megatron", NULL},
        /* who holds the states and how they travel, by what the program's published runs have */
        {"gpu,model,n_gpus,tp,compile,seq_len,micro_batch,step_time_ms",
         "h100-sxm,llama-2-13b,64,4,Megatron-LM,4096,1,900", "zero=1, usual for megatron-te; overlap_grad_reduce=on",
         NULL},
        {"gpu,model,n_gpus,compile,sharding,seq_len,micro_batch,notes,step_time_ms",
         "h100-sxm,llama-2-7b,8,Megatron-LM,zero1,4096,1,flags: bf16,900", "checkpoint=none; optimizer", NULL},
        {"gpu,model,n_gpus,tp,compile,sharding,seq_len,micro_batch,step_time_ms",
         "h100-sxm,llama-2-13b,64,4,Megatron-LM,ddp,4096,1,900", "checkpoint=none; optimizer", NULL},
        {"gpu,model,n_gpus,tp,compile,seq_len,micro_batch,step_time_ms", "h100-sxm,llama-2-13b,64,4,NeMo,4096,1,900",
         "zero=1, usual for megatron-bridge; grad_reduce=bf16", NULL},
        {"gpu,model,n_gpus,seq_len,micro_batch,step_time_ms,outcome", "a100-80gb-sxm,llama-2-7b,8,8192,2,9000,ran",
         "checkpoint=full: not stated", NULL},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[1024];
        struct mfu_validation *all;
        const struct mfu_validated *v;

        snprintf(text, sizeof text, "%s\n%s\n", rows[i].columns, rows[i].cells);
        all = table(text);
        v = &all->rows[0];
        if (!strstr(v->assumed, rows[i].assumed)
            || (rows[i].skipped ? !strstr(v->skipped, rows[i].skipped) : v->skipped[0]))
            fail_msg("%s: '%s', assumed '%s'", rows[i].cells, v->skipped, v->assumed);
        if (strstr(rows[i].columns, "outcome") && !rows[i].skipped)
            assert_int_equal(v->fits, !strstr(rows[i].cells, "memory"));
    }
}

/* Where nothing says on how many a run ran that one does not hold: as many as shard it; a rate of each is a time, and an
 * interval spans what more would take, while a step of a batch that so many share is none. */
static void gpus_that_are_not_stated_hold_the_run(void **state)
{
    struct mfu_validation *all = table("gpu,model,seq_len,tokens_per_s_gpu,outcome\n"
                                       "a100-80gb-sxm,llama-2-70b,4096,300,ran\n");
    const struct mfu_validated *v = &all->rows[0];
    const char *count = strstr(v->assumed, "gpus=");
    int gpus;

    (void)state;
    assert_string_equal(v->skipped, "");
    assert_non_null(count);
    assert_int_equal(sscanf(count, "gpus=%d", &gpus), 1);
    assert_in_range(gpus, 16, 256); /* 69e9 parameters of 16 bytes and a little more */
    assert_null(strstr(count + 1, "gpus="));
    assert_true(v->measured_step_s > 0);
    assert_int_equal(all->ran_called_fit, 1);
    all = table("gpu,model,seq_len,global_batch,step_time_ms,outcome\n"
                "a100-80gb-sxm,llama-2-70b,4096,1024,30000,ran\n");
    assert_non_null(strstr(all->rows[0].assumed, "gpus="));
    assert_true(isnan(all->rows[0].measured_step_s));
    all = table("gpu,model,seq_len,tokens_per_s_gpu,sharding,outcome\n" /* a stated sharding stays */
                "a100-80gb-sxm,llama-2-7b,4096,300,zero1,ran\n");
    assert_non_null(strstr(all->rows[0].assumed, "gpus="));
    assert_null(strstr(all->rows[0].assumed, "zero=3"));
}

/* What ran out of memory did so with what is assumed: nothing is chosen for its speed. */
static void what_ran_out_of_memory_is_as_assumed(void **state)
{
    static const char *const outcomes[] = {"ran", "oom"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct mfu_validation *all = table("gpu,n_gpus,tp,pp,model,seq_len,micro_batch,global_batch,compile,outcome\n"
                                           "a100-80gb-sxm,64,4,4,llama-2-70b,4096,1,16,Megatron-Core,%s\n",
                                           outcomes[i]);

        assert_string_equal(all->rows[0].skipped, "");
        assert_int_equal(strstr(all->rows[0].assumed, "vpp=") != NULL, i == 0);
    }
}

/* A loader decodes photographs where the words say that there were some. */
static void words_of_data_are_read_whole(void **state)
{
    static const struct {
        const char *model, *notes;
        bool decodes;
    } rows[] = {{"resnet50", "random crop and real data", true},
                {"resnet50", "random erasing; ImageNet", true},
                {"resnet50", "random data", false},
                {"resnet50", "synthetic ImageNet shapes", false},
                {"resnet50", "finished in a few hours", false},
                {"wan-2.1-1.3b", "real videos", false},
                {"gpt2", "real text", false}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("gpu,model,micro_batch,step_time_ms,notes\na100-80gb-sxm,%s,8,2000,%s\n",
                                           rows[i].model, rows[i].notes);

        if ((strstr(all->rows[0].assumed, "dataloader=jpeg") != NULL) != rows[i].decodes)
            fail_msg("%s, %s: %s %s", rows[i].model, rows[i].notes, all->rows[0].assumed, all->rows[0].skipped);
    }
}

/* What is not stated is what is usual and fits: the larger of two cards, then what the program shards by, then layers that
 * are computed again, and weights of 16 bits last, where the program has them. */
static void what_is_usual_comes_first(void **state)
{
    static const struct {
        const char *columns, *cells, *assumed, *never;
        bool fits;
    } rows[] = {
#define FULL "gpu,model,n_gpus,seq_len,micro_batch,precision,compile,act_ckpt,sharding,step_time_ms,outcome"
        {FULL, "A100,llama-2-7b,8,2048,1,bf16,,,,900,ran", "zero=3: not stated", "checkpoint=full: not", true},
        {FULL, "A100,llama-2-7b,8,2048,1,bf16,deepspeed,,,900,ran", "zero=2: not stated", "pure", true},
        {FULL, "A100,llama-2-7b,8,2048,1,bf16,deepspeed,,ZeRO,900,ran", "gpu=a100-80gb-sxm: not stated", "pure", true},
        {FULL, "A100 40GB,llama-2-7b,8,2048,1,bf16,deepspeed,,ZeRO,900,ran", "zero=3: not stated", "pure", true},
        {FULL, "A100 40GB,llama-2-7b,8,2048,1,bf16,deepspeed,,ZeRO-1,900,ran", "", "zero=", false},
        {FULL, "A100 (Ampere) 80GB,llama-2-7b,8,8192,2,bf16,,,FSDP,9000,ran", "checkpoint=full: not stated", "pure",
         true},
        {FULL, "A100 (80 GB),llama-2-7b,1,2048,1,bf16,HF,yes,,900,ran", "precision=bf16-pure: not stated",
         "gpu=a100-40gb", true},
        {FULL, "A100 (80 GB),llama-2-7b,1,2048,1,bf16,deepspeed,yes,,900,ran", "", "pure", false},
        {FULL, "A100,gpt2-xl,1,1024,8,bf16,HF,,,900,ran", "gpu=a100-80gb-sxm: not stated", "pure", true},
        {FULL, "A100 40GB,gpt2-xl,1,1024,8,bf16,HF,,,900,ran", "checkpoint=full: not stated", "pure", true},
        {FULL, "V100,gpt2-large,1,1024,4,fp16,HF,,,900,ran", "gpu=v100-32gb-sxm: not stated", "checkpoint=full", true},
        /* what ran out of memory did so with what is said, and with the least that is usual */
        {FULL, "A100,gpt2-xl,1,1024,8,bf16,HF,,,,oom", "gpu=a100-40gb-sxm for", "without it", false},
        {FULL, "A100,llama-2-7b,8,2048,1,bf16,,,,,oom", "sharding=ddp", "without it", false},
        /* half of the layers where that is enough */
        {"gpu,model,n_gpus,tp,seq_len,micro_batch,precision,compile,source,step_time_ms,outcome",
         "a100-80gb-sxm,llama-2-13b,8,2,4096,2,bf16,Megatron-LM,(2025),1900,ran",
         "checkpoint_layers=20, checkpoint=full: not stated", "zero=3", true},
        {"gpu,model,n_gpus,pp,ep,seq_len,global_batch,precision,step_time_ms,outcome",
         "H800 80GB,DeepSeek-V2,1024,16,8,4096,9216,bf16,20000,ran",
         "recompute_modules=layernorm,moe_act,mla_up_proj, checkpoint=selective: not stated", "checkpoint=full", true},
        {FULL, "a100-40gb-sxm,llama-2-7b,8,4096,2,bf16,,,fsdp2,4000,ran", "checkpoint=selective: not stated",
         "checkpoint_layers", true},
        {FULL ",gpus_per_node", "a100-40gb-sxm,llama-2-70b,512,4096,1,bf16,,full,HSDP,9000,ran,8",
         "dp_shard=", "zero=", true},
#undef FULL
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("%s\n%s\n", rows[i].columns, rows[i].cells);
        const struct mfu_validated *v = &all->rows[0];

        if (v->skipped[0] || !strstr(v->assumed, rows[i].assumed) || strstr(v->assumed, rows[i].never)
            || v->fits != rows[i].fits)
            fail_msg("%s: %d '%s' '%s'", rows[i].cells, v->fits, v->skipped, v->assumed);
    }
}

/* A measured time chooses nothing; measured memory does, and is then not compared. */
static void memory_chooses_and_time_does_not(void **state)
{
    const struct mfu_validated *v =
        table("gpu,model,n_gpus,seq_len,micro_batch,precision,step_time_ms,mem_reserved_gib\n"
              "a100-80gb-sxm,llama-2-7b,8,2048,1,bf16,900,\n"
              "a100-80gb-sxm,llama-2-7b,8,2048,1,bf16,3000,\n"
              "a100-80gb-sxm,llama-2-7b,8,2048,1,bf16,900,26\n"
              "a100-80gb-sxm,llama-2-7b,8,2048,1,bf16,900,68\n")
            ->rows;

    (void)state;
    assert_string_equal(v[0].assumed, v[1].assumed);
    assert_near(v[0].predicted_step_s, v[1].predicted_step_s, 1e-9);
    assert_true(v[3].predicted_reserved_bytes > 1.3 * v[2].predicted_reserved_bytes);
    assert_true(isnan(v[3].measured_reserved_bytes));
}

/* What a program does where nothing is said depends on its year. */
static void programs_have_years(void **state)
{
    static const struct {
        const char *source, *compile, *sharding, *assumed, *never;
    } rows[] = {
        {"(2021)", "Megatron-LM", "", "attention=math, usual for megatron", "trainer="},
        {"(2023)", "Megatron-LM", "", "attention=math, usual for megatron", "trainer="},
        {"(2025)", "Megatron-LM", "", "trainer=megatron-te: megatron's default since 2024", "attention=math"},
        {"", "Megatron-LM", "", "trainer=megatron-te: megatron's default since 2024", "checkpoint=full"},
        {"(2023)", "Megatron-DeepSpeed", "", "attention=math, usual for megatron-deepspeed", "trainer="},
        {"(2025)", "Megatron-DeepSpeed", "", "attention: default", "attention=math"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("source,compile,sharding,gpu,model,n_gpus,tp,seq_len,micro_batch,step_time_ms\n"
                  "%s,%s,%s,a100-80gb-sxm,gpt2-large,8,4,1024,4,900\n",
                  rows[i].source, rows[i].compile, rows[i].sharding);
        const struct mfu_validated *v = &all->rows[0];

        if (v->skipped[0] || !strstr(v->assumed, rows[i].assumed) || strstr(v->assumed, rows[i].never))
            fail_msg("%s %s: '%s' '%s'", rows[i].source, rows[i].compile, v->skipped, v->assumed);
    }
}

/* What a program does that a row names by its source or its software holds where no column says otherwise. */
static void programs_do_what_columns_leave_open(void **state)
{
    static const struct {
        const char *source, *compile, *act_ckpt, *model, *assumed, *never;
    } rows[] = {
        {"axolotl examples", "", "", "llama-4-scout", "checkpoint=full, as axolotl does", "loop=transformers, as"},
        {"axolotl examples", "", "none", "llama-4-scout", "dense_experts=1, as transformers does", "checkpoint=full"},
        {"Meta's blog", "", "", "llama-4-scout", "", "dense_experts=1"},
        {"a blog", "LLaMA-Factory", "", "llama-2-7b", "loop=transformers, its Trainer", "attention=flash2"},
        {"a blog", "LLaMA-Factory", "", "llama-2-7b", "checkpoint=full, as LLaMA-Factory does", "other"},
        {"facebookresearch/lingua", "", "", "llama-3.2-1b", "runtime=compile, as facebookresearch/lingua does",
         "loop="},
        {"facebookresearch/lingua", "eager", "", "llama-3.2-1b", "", "runtime=compile"},
        {"modded-nanogpt", "", "", "gpt2", "runtime=compile, as modded-nanogpt does", "nanoGPT does"},
        {"https://hf.co/blog", "", "", "gpt2", "", "loop="},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("source,compile,act_ckpt,gpu,model,method,quant,seq_len,micro_batch,step_time_ms\n"
                  "%s,%s,%s,b200,%s,qlora,nf4,1024,1,900\n",
                  rows[i].source, rows[i].compile, rows[i].act_ckpt, rows[i].model);
        const struct mfu_validated *v = &all->rows[0];

        if (v->skipped[0] || !strstr(v->assumed, rows[i].assumed) || strstr(v->assumed, rows[i].never))
            fail_msg("%s %s: '%s' '%s'", rows[i].source, rows[i].compile, v->skipped, v->assumed);
    }
}

/* What a card cannot do, a program leaves out there. */
static void programs_do_what_the_card_can(void **state)
{
    struct mfu_validation *all = table("source,gpu,model,precision,seq_len,micro_batch,act_ckpt,step_time_ms\n"
                                       "axolotl,t4,gpt2,fp16,512,1,none,900\n"
                                       "axolotl,a100-80gb-sxm,gpt2,fp16,512,1,none,900\n");

    (void)state;
    assert_string_equal(all->rows[0].skipped, "");
    assert_null(strstr(all->rows[0].assumed, "attention=flash2"));
    assert_non_null(strstr(all->rows[1].assumed, "attention=flash2, as axolotl does"));
}

/* What programs are said to do are settings that there are. */
static void programs_do_what_can_be_set(void **state)
{
    static const char *const programs[] = {"QwenLM",
                                           "ms-swift",
                                           "torchtune",
                                           "nanotron",
                                           "torchtitan",
                                           "nanoGPT",
                                           "benchmark.py",
                                           "diffusers",
                                           "DeepLearningExamples",
                                           "Automodel",
                                           "Megatron-Bridge",
                                           "NeMo",
                                           "flash-attention training",
                                           "LLMs-from-scratch",
                                           "LLM-from-scratch",
                                           "vTrain",
                                           "huggingface",
                                           "litgpt",
                                           "axolotl",
                                           "LLaMA-Factory",
                                           "alignment-handbook",
                                           "FastChat",
                                           "artidoro",
                                           "alpaca-lora",
                                           "LongLoRA",
                                           "xtuner",
                                           "LMFlow",
                                           "llama-recipes",
                                           "metaseq",
                                           "jzhang38",
                                           "InternEvo",
                                           "facebookresearch/lingua",
                                           "nanochat",
                                           "modded-nanogpt"};
    static const char *const methods[] = {"", "full", "lora", "qlora"};

    (void)state;
    for (size_t i = 0; i < LENGTH(programs) * LENGTH(methods); i++) {
        struct mfu_validation *all = table("source,gpu,n_gpus,model,method,lora_rank,seq_len,micro_batch,step_time_ms\n"
                                           "%s,h200-sxm,8,tinyllama-1.1b,%s,8,1024,1,900\n",
                                           programs[i / LENGTH(methods)], methods[i % LENGTH(methods)]);

        if (strstr(all->rows[0].skipped, "expected"))
            fail_msg("%s %s: %s", programs[i / LENGTH(methods)], methods[i % LENGTH(methods)], all->rows[0].skipped);
    }
}

/* A program's runs of a year are not older than what a row names; a model's family is older than the model. */
static void software_is_no_older_than_what_it_runs(void **state)
{
    static const struct {
        const char *gpu, *model, *precision, *assumed;
    } rows[] = {
        {"a100-80gb-sxm", "llama-2-7b", "bf16", "software=2023: its published runs"},
        {"b200", "llama-2-7b", "bf16", "software=2024: that of b200, not 2023"},
        {"h100-sxm", "llama-3-8b", "bf16", "software=2024: that of llama-3-8b, not 2023"},
        {"b200", "llama-3-8b", "mxfp8", "software=2025: that of mxfp8, not 2023"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table("gpu,model,precision,n_gpus,compile,seq_len,micro_batch,step_time_ms\n"
                                           "%s,%s,%s,8,nanotron,4096,1,900\n",
                                           rows[i].gpu, rows[i].model, rows[i].precision);

        if (!strstr(all->rows[0].assumed, rows[i].assumed))
            fail_msg("%s %s: '%s'", rows[i].gpu, rows[i].model, all->rows[0].assumed);
    }
}

/* A length that is not stated may be shorter than the model's, and is before layers are computed again that nobody says. */
static void a_length_may_be_open(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,n_gpus,sharding,seq_len,micro_batch,precision,compile,model_tflops_gpu\n"
              "h200-sxm,Llama 3 8B,8,fsdp-full,,4,bf16,eager,400\n"
              "h200-sxm,Llama 3 8B,8,fsdp-full,8192,4,bf16,eager,400\n"
              "h200-sxm,Llama 3 8B,8,fsdp-full,8192,1,bf16,eager,400\n"
              "h200-sxm,Llama 3 8B,8,fsdp-full,,1,bf16,eager,400\n");
    const struct mfu_validated *row = all->rows;

    (void)state;
    for (size_t i = 0; i < all->n_rows; i++)
        assert_string_equal(row[i].skipped, "");
    assert_non_null(strstr(row[0].assumed, "seq=2048: not stated"));
    assert_null(strstr(row[0].assumed, "checkpoint=full"));
    assert_non_null(strstr(row[1].assumed, "checkpoint=full: not stated"));
    assert_near(row[3].predicted_step_s, row[2].predicted_step_s, 1e-9);
    assert_true(row[3].high_s / row[3].low_s > row[2].high_s / row[2].low_s);
}

/* FLOP/s and tokens a second together say how many layers there are, where that is open, by any convention; where it is
 * stated, that the row is of another model. */
static void rates_say_the_layers(void **state)
{
    static const struct {
        double gflop;
        const char *n_layer, *assumed, *skipped;
    } rows[] = {{23.44, "", "n_layer=16: of as many", ""},
                {41.6, "", "n_layer: the model's", ""},
                {55, "", "n_layer: the model's", ""}, /* computed again */
                {23.44, "16", "", ""},
                {23.44, "32", "", "contradicts itself: 23.44 GFLOP a token"},
                {90, "32", "", "contradicts itself"}};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all =
            table("gpu,model,n_gpus,pp,n_layer,seq_len,micro_batch,compile,tokens_per_s_gpu,model_tflops_gpu\n"
                  "mi300x,Llama 2 7B,8,8,%s,4096,1,megatron,10000,%g\n",
                  rows[i].n_layer, 10 * rows[i].gflop);
        const struct mfu_validated *v = &all->rows[0];

        if (!strstr(v->assumed, rows[i].assumed)
            || (rows[i].skipped[0] ? !strstr(v->skipped, rows[i].skipped) : v->skipped[0]))
            fail_msg("%g '%s': '%s' '%s'", rows[i].gflop, rows[i].n_layer, v->skipped, v->assumed);
        if (!rows[i].n_layer[0] && rows[i].gflop > 24)
            assert_null(strstr(v->assumed, "by the rates"));
    }
    /* a whole model with a wrong rate is no smaller one: nothing speaks of layers */
    assert_non_null(strstr(table("gpu,model,n_gpus,seq_len,micro_batch,tokens_per_s_gpu,model_tflops_gpu\n"
                                 "mi300x,Llama 2 7B,8,4096,1,10000,234.4\n")
                               ->rows[0]
                               .skipped,
                           "contradicts itself: 23.44 GFLOP a token"));
}

/* A step whose micro-steps nobody counted, and tokens of an encoder and a decoder, contradict no rate. */
static void rates_say_nothing_of_tokens_that_are_not_counted(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,n_gpus,n_layer,seq_len,micro_batch,grad_accum,compile,step_time_ms,model_tflops_gpu\n"
              "h100-sxm,Llama 2 7B,8,32,4096,1,,eager,8000,400\n"
              "h100-sxm,Llama 2 7B,8,32,4096,1,1,eager,8000,400\n"
              "h100-sxm,t5-base,8,12,512,8,1,eager,200,6\n");

    (void)state;
    assert_null(strstr(all->rows[0].skipped, "GFLOP a token"));
    assert_non_null(strstr(all->rows[1].skipped, "GFLOP a token"));
    assert_null(strstr(all->rows[2].skipped, "GFLOP a token"));
}

/* What ran out of memory keeps its verdict where its time could be anything; each setting is noted once. */
static void a_verdict_needs_no_time(void **state)
{
    struct mfu_validation *all = table("gpu,model,n_gpus,seq_len,micro_batch,precision,compile,outcome,step_time_ms\n"
                                       "h100-sxm,pythia-70m,1,32768,8,bf16,torch.compile,oom,500\n"
                                       "rtx3090,llama-2-7b,16,2048,1,bf16,eager,ran,\n");
    const struct mfu_validated *row = all->rows;

    (void)state;
    assert_string_equal(row[0].skipped, "");
    assert_non_null(strstr(row[0].assumed, "not predictable: attention is not stated"));
    assert_true(isnan(row[0].measured_step_s) && isnan(row[0].error) && row[0].fits_known);
    assert_int_equal(all->oom, 1);
    assert_non_null(strstr(row[1].assumed, "zero=3: not stated"));
    assert_null(strstr(row[1].assumed, "sharding=ddp"));
    assert_null(strstr(row[1].assumed, "; ; "));
}

/* A micro-batch that nobody would choose for its speed widens nothing. */
static void slow_micro_batches_are_nobodys_choice(void **state)
{
    struct mfu_validation *all =
        table("gpu,model,n_gpus,seq_len,micro_batch,global_batch,precision,compile,attention,act_ckpt,sharding,"
              "step_time_ms\n"
              "a100-80gb-sxm,gpt2-medium,8,1024,,512,fp16-amp,eager,flash2,none,ddp,1000\n");
    const struct mfu_validated *v = &all->rows[0];

    (void)state;
    assert_string_equal(v->skipped, "");
    assert_true(v->high_s < 3 * v->predicted_step_s);
}

/* A loop of one's own around TransformerEngine's layers: nothing else is fused, and what notes say of weights and attention
 * counts. */
static void layers_of_te_are_in_loops(void **state)
{
    static const struct {
        const char *precision, *notes, *assumed, *never;
    } rows[] = {
        {"bf16-pure", "", "upcast_logits=1", "attention=math"},
        {"bf16-amp", "with CK fused attention", "attention: default", "upcast_logits"},
        {"bf16-amp", "before the CK fused attention", "attention=math, by what is said", "upcast_logits"},
        {"fp8", "AdamW on bf16 params (no fp32 master)", "base_precision=bf16", "attention=math"},
        {"fp8", "fused attention; before warm-up ended", "attention: default", "base_precision"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct mfu_validated *v =
            table("gpu,model,compile,precision,seq_len,micro_batch,step_time_ms,mem_allocated_gib,notes\n"
                  "h100-sxm,gpt2,te,%s,1024,8,90,9,%s\n",
                  rows[i].precision, rows[i].notes)
                ->rows;

        if (v->skipped[0] || !strstr(v->assumed, rows[i].assumed) || strstr(v->assumed, rows[i].never))
            fail_msg("%s: '%s' '%s'", rows[i].notes, v->skipped, v->assumed);
        assert_string_equal(v->runtime, "te");
    }
}

/* Megatron-core in a loop of one's own pads no vocabulary and has the dropout of its configuration. */
static void a_loop_around_megatron_core_is_no_megatron(void **state)
{
    const struct mfu_validated *v =
        table("gpu,model,compile,precision,seq_len,micro_batch,vocab,step_time_ms,notes\n"
              "h100-sxm,gpt2,te,bf16,1024,8,50257,90,a Megatron-core model in a plain loop\n"
              "h100-sxm,gpt2,megatron-core,bf16,1024,8,50257,90,\n")
            ->rows;

    (void)state;
    assert_string_equal(v[0].runtime, "te");
    assert_string_equal(v[1].runtime, "fused");
    for (int i = 0; i < 2; i++)
        if (v[i].skipped[0] || !strstr(v[i].assumed, i ? "dropout=0" : "dropout=0.1")
            || (strstr(v[i].assumed, "vocab_size=") != NULL) != i)
            fail_msg("%d: '%s' '%s'", i, v[i].skipped, v[i].assumed);
    assert_non_null(strstr(v[0].assumed, "trainer=megatron-te"));
}

/* Hours of a whole training are more than its steps take; a rate that was printed is of steps. */
static void hours_are_more_than_steps(void **state)
{
    static const struct {
        const char *notes;
        bool whole;
    } rows[] = {{"", false},
                {"82432 GPU hours for 1.0e+12 tokens", true},
                {"from 30B tokens in 14 hours", true},
                {"2.7 days for 400K steps", true},
                {"180K GPU hours per trillion tokens", true},
                {"derived as global_batch*seq/tokens_per_s", false},
                {"the runner is idle for hours, tokens are packed", false},
                {"tokens/s from 'train total tokens'", false},
                {"ran for two days; 195 ms of 100 steps", false}};
    struct mfu_validation *plain = NULL;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_validation *all = table(
            "gpu,model,n_gpus,seq_len,micro_batch,precision,attention,act_ckpt,compile,sharding,step_time_ms,notes\n"
            "a100-80gb-sxm,llama-2-7b,64,2048,4,bf16,flash2,none,eager,fsdp-full,2500,\"%s\"\n",
            rows[i].notes);
        const struct mfu_validated *v = &all->rows[0];

        if (i == 0)
            plain = all;
        assert_string_equal(v->skipped, "");
        if (rows[i].whole != (strstr(v->assumed, "goodput=") != NULL))
            fail_msg("'%s': '%s'", rows[i].notes, v->assumed);
        if (i == 1) {
            assert_true(v->predicted_step_s > plain->rows[0].predicted_step_s);
            assert_true(v->high_s / v->predicted_step_s > plain->rows[0].high_s / plain->rows[0].predicted_step_s);
            assert_near(v->low_s, plain->rows[0].low_s, 1e-12);
        }
    }
}

/* However long its cells are, whole. */
static void all_assumptions_are_listed(void **state)
{
    char cpu[700], text[720], small[40] = "";
    struct mfu_validation *all;

    (void)state;
    memset(cpu, 'x', sizeof cpu - 1);
    cpu[sizeof cpu - 1] = '\0';
    all = table("gpu,model,seq_len,micro_batch,cpu,norm,step_time_ms\nh100-sxm,gpt2,1024,4,%s,batchnorm,90\n", cpu);
    snprintf(text, sizeof text, "cpu=unknown for %s; ", cpu);
    if (!strstr(all->rows[0].assumed, text) || !strstr(all->rows[0].assumed, "norm: the model's, not batchnorm"))
        fail_msg("%s", all->rows[0].assumed);
    mfu_words_add(small, sizeof small, "one");
    mfu_words_add(small, sizeof small, "a piece that is longer than the room");
    mfu_words_add(small, sizeof small, "another that is longer than the room");
    assert_string_equal(small, "one; and more");
}

static void other_tables_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"id;gpu;micro_batch;step_time_ms\na;rtx4070;8;100\n", "separated by semicolons"},
        {"id\tgpu\tmicro_batch\na\trtx4070\t8\n", "separated by tabs"},
        {"name,city\na,b\n", "expected a header line with names such as gpu, family"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};

        assert_null(validate(rows[i].text, &err));
        if (!strstr(err.text, rows[i].part))
            fail_msg("%s", err.text);
        assert_int_equal(err.line, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_whole),
        cmocka_unit_test(no_cell_opens_a_file),
        cmocka_unit_test(a_column_sets_no_constant_of_a_file),
        cmocka_unit_test(counts_may_name_what_they_count),
        cmocka_unit_test(other_names_of_dimensions_are_columns),
        cmocka_unit_test(what_is_stated_is_used),
        cmocka_unit_test(what_cannot_be_read_says_so),
        cmocka_unit_test(empty_cells_take_defaults),
        cmocka_unit_test(what_is_another_machine_is_left_out),
        cmocka_unit_test(words_name_what_is_not_modelled),
        cmocka_unit_test(words_that_are_settings_are_set),
        cmocka_unit_test(schedules_are_read_from_notes),
        cmocka_unit_test(encoders_are_read_by_their_task),
        cmocka_unit_test(images_are_decoded_where_they_are_real),
        cmocka_unit_test(adapters_are_read_by_their_columns),
        cmocka_unit_test(the_processor_of_a_row_counts),
        cmocka_unit_test(software_beside_a_method_is_settings),
        cmocka_unit_test(the_longest_sequence_that_fits_is_found),
        cmocka_unit_test(memory_is_compared_without_a_card),
        cmocka_unit_test(rows_that_train_other_weights_are_told),
        cmocka_unit_test(the_year_of_the_libraries_is_read),
        cmocka_unit_test(what_is_open_adds_up),
        cmocka_unit_test(what_ran_is_nearest_to_what_fits),
        cmocka_unit_test(scripts_of_diffusers_encode_in_the_step),
        cmocka_unit_test(the_start_of_a_run_is_no_step),
        cmocka_unit_test(software_has_what_its_time_had),
        cmocka_unit_test(models_with_experts_are_read),
        cmocka_unit_test(experts_without_a_gate_are_read),
        cmocka_unit_test(a_model_of_stated_sizes_is_the_named_one),
        cmocka_unit_test(transformer_xl_is_eager),
        cmocka_unit_test(names_with_remarks_are_read),
        cmocka_unit_test(names_are_known_by_their_words),
        cmocka_unit_test(batches_of_tokens_are_read),
        cmocka_unit_test(a_size_is_a_shape),
        cmocka_unit_test(image_models_are_read),
        cmocka_unit_test(one_gpu_adds_up_what_does_not_fit_at_once),
        cmocka_unit_test(a_rate_counts_what_a_timer_leaves_out),
        cmocka_unit_test(families_are_those_of_the_catalog),
        cmocka_unit_test(older_programs_are_refused),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(measured_memory_tells_of_recomputation),
        cmocka_unit_test(memory_as_planned_tells_nothing_new),
        cmocka_unit_test(what_is_open_widens_the_interval),
        cmocka_unit_test(few_microbatches_are_interleaved),
        cmocka_unit_test(spellings_are_understood),
        cmocka_unit_test(a_cell_is_one_assumption),
        cmocka_unit_test(layers_are_of_stages),
        cmocka_unit_test(layers_again_are_in_the_hardwares_share),
        cmocka_unit_test(layouts_are_not_guessed),
        cmocka_unit_test(outcomes_count_without_figures),
        cmocka_unit_test(a_micro_batch_may_be_open),
        cmocka_unit_test(memory_tells_the_micro_batch),
        cmocka_unit_test(what_is_usual_has_a_year),
        cmocka_unit_test(a_recipe_recomputes_where_nothing_is_said),
        cmocka_unit_test(a_model_is_its_library_s),
        cmocka_unit_test(pipelines_are_filled),
        cmocka_unit_test(flops_are_times),
        cmocka_unit_test(words_are_not_read_into_others),
        cmocka_unit_test(machines_and_programs_are_read),
        cmocka_unit_test(machines_hold_what_they_are_said_to),
        cmocka_unit_test(xla_is_read),
        cmocka_unit_test(a_source_names_programs_of_their_own_layers),
        cmocka_unit_test(layouts_in_prose_are_read),
        cmocka_unit_test(an_assumed_trainer_has_its_runtime),
        cmocka_unit_test(what_is_not_stated_is_not_one),
        cmocka_unit_test(words_are_read_as_meant),
        cmocka_unit_test(what_is_usual_comes_first),
        cmocka_unit_test(memory_chooses_and_time_does_not),
        cmocka_unit_test(programs_have_years),
        cmocka_unit_test(programs_do_what_columns_leave_open),
        cmocka_unit_test(programs_do_what_the_card_can),
        cmocka_unit_test(programs_do_what_can_be_set),
        cmocka_unit_test(software_is_no_older_than_what_it_runs),
        cmocka_unit_test(a_length_may_be_open),
        cmocka_unit_test(rates_say_the_layers),
        cmocka_unit_test(rates_say_nothing_of_tokens_that_are_not_counted),
        cmocka_unit_test(a_verdict_needs_no_time),
        cmocka_unit_test(slow_micro_batches_are_nobodys_choice),
        cmocka_unit_test(hours_are_more_than_steps),
        cmocka_unit_test(a_loop_around_megatron_core_is_no_megatron),
        cmocka_unit_test(layers_of_te_are_in_loops),
        cmocka_unit_test(gpus_that_are_not_stated_hold_the_run),
        cmocka_unit_test(what_ran_out_of_memory_is_as_assumed),
        cmocka_unit_test(words_of_data_are_read_whole),
        cmocka_unit_test(all_assumptions_are_listed),
        cmocka_unit_test(other_tables_are_refused),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_all);
}
