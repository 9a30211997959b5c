/*
 * huggingface.c - TrainingArguments of Hugging Face's Trainer, as JSON or YAML, and
 * the YAML of two programs around it: axolotl (base_model, micro_batch_size; 067b021c,
 * utils/schemas) and LLaMA-Factory (finetuning_type; ff6d4d12, hparams).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "descriptor/module_kinds.h"
#include "read/config/import.h"

static const char liger[] = "Liger's kernels: set kernel_package liger, and loss_chunks for its loss",
                  fsdp[] = "how FSDP wraps and fetches",
                  strategy[] = "not read by the trainer: fsdp and reshard_after_forward say it";
static const char adapters[] = "adapters of another kind", quantised[] = "how the base is quantised",
                  targets[] = "which modules";
static const char loop[] = "how answers are written and used again: an option of iteration";
static const char fill[] = "how full sequences are: set doc_len and doc_sigma";
static const char others[] = "another optimizer", decided[] = "another entry decides whether it counts",
                  vocabulary[] = "a vocabulary of another size: set vocab_size";
static const char unpaired[] = "another kind of training (KTO)";
static const char unknown[] = "no model of this name is known: choose one";

#define PACKING "true=on false=off"
/* Losses of TRL (1.10) that read the same log-probabilities: of its SFT, of pairs, of loops. */
#define LOSSES                                                                                                         \
    "nll=- dft=- sigmoid=- hinge=- ipo=- robust=- exo_pair=- nca_pair=- bco_pair=- sppo_hard=- aot=- aot_pair=- "      \
    "apo_zero=- apo_down=- discopop=- simpo=- grpo=- bnpo=- dr_grpo=- dapo=- cispo=- sapo=- luspo=-"
#define OPTIMIZERS                                                                                                     \
    "adamw_torch=adamw-foreach adamw_torch_fused=adamw adamw_apex_fused=adamw "                                        \
    "adamw_hf=adamw-loop adamw_bnb_8bit=adam8bit adamw_8bit=adam8bit paged_adamw_8bit=paged-adam8bit "                 \
    "paged_adamw_32bit=paged-adamw paged_adamw=paged-adamw paged_lion_32bit=paged-lion "                               \
    "adamw_torch_8bit=adam8bit "                                                                                       \
    "adafactor=adafactor sgd=sgd lion=lion lion_32bit=lion muon=muon"

// clang-format off
static const struct mfu_import_row rows[] = {
    {"per_device_train_batch_size per_gpu_train_batch_size micro_batch_size", .key = "batch"},
    {"gradient_accumulation_steps", .key = "accum"},
    {"max_seq_length max_length block_size cutoff_len sequence_len model_max_length", .key = "seq"},
    {"bf16", .key = "precision", .values = "true=bf16 auto=bf16 full=bf16 false=-", .note = "off"},
    {"fp16", .key = "precision", .values = "true=fp16 false=-", .note = "off"},
    {"tf32", .key = "precision", .values = "true=tf32 false=-", .note = "off"},
    {"pure_bf16 bfloat16", .key = "precision", .values = "true=bf16-pure false=-", .note = "off"},
    {"torch_dtype dtype", .key = "precision", .values = "auto=- float32=- bfloat16=bf16-pure",
     .note = "the weights' alone"},
    {"bf16_full_eval fp16_full_eval eval_packing eval_sample_packing val_set_size val_size per_device_eval_batch_size "
     "per_gpu_eval_batch_size eval*", .note = MFU_NOTE_EVALUATION},
    {"fp16_opt_level", .note = "apex's level"},
    {"fp16_backend", .values = "auto=- amp=-", .note = "autocast is planned", .unmodelled = true},
    {"half_precision_backend", .values = "auto=- cuda_amp=-", .note = "autocast is planned", .unmodelled = true},
    {"torch_compile", .key = "runtime", .values = "true=compile false=eager auto=compile"},
    {"torch_compile_backend", .values = "inductor=-", .note = "details of the compiler", .unmodelled = true},
    {"torch_compile_* torchdynamo", .note = "details of the compiler", .unmodelled = true},
    {"gradient_checkpointing", .key = "checkpoint", .values = "true=full false=none"},
    {"disable_gradient_checkpointing", .key = "checkpoint", .values = "true=none false=full"},
    {"gradient_checkpointing_kwargs.use_reentrant use_reentrant_gc", .note = "the same memory, about the same time"},
    {"gradient_checkpointing_kwargs*", .note = "details of checkpointing", .unmodelled = true},
    {"max_grad_norm", .key = "grad_clip"},
    {"optim optimizer", .key = "optimizer", .values = OPTIMIZERS},
    {"adafactor", .key = "optimizer", .values = "true=adafactor false=-", .note = "off"},
    {"optim_args", .note = "arguments of the optimizer", .unmodelled = true},
    {"optim_target_modules*", .note = "GaLore", .unmodelled = true},
    {"attn_implementation", .key = "attention",
     .values = "flash_attention_2=flash sdpa=flash eager=math flash_attention_3=flash3 "
     "kernels-community/flash-attn=flash kernels-community/flash-attn2=flash kernels-community/flash-attn3=flash3 "
     "kernels-community/vllm-flash-attn3=flash3"},
    {"flash_attn", .key = "attention", .values = "auto=- fa2=flash sdpa=flash disabled=math"},
    {"flash_attention sdp_attention", .key = "attention", .values = "true=flash false=-", .note = "off"},
    {"xformers_attention", .key = "attention", .values = "true=memeff false=-", .note = "off"},
    {"use_liger_kernel enable_liger_kernel", .note = liger, .unmodelled = true},
    {"liger_rms_norm liger_glu_activation liger_rope", .key = "kernel_package", .values = "true=liger false=-",
     .note = "off"},
    {"liger_*", .note = liger, .unmodelled = true},
    {"plugins*", .note = "plugins", .unmodelled = true},
    {"deepspeed", .note = "import that file, too", .unmodelled = true},
    {"deepspeed.zero_optimization.stage", .key = "zero"},
    {"deepspeed.*", .note = "import it as a file of its own, too", .unmodelled = true},
    {"fsdp", .values = "=-", .note = "taken apart below", .unmodelled = true},
    {"fsdp[*", .values = "auto_wrap=-", .note = "taken apart below", .unmodelled = true},
    {"fsdp_config.activation_checkpointing", .key = "checkpoint", .values = "true=full false=-", .note = "off"},
    {"fsdp_config.offload_params", .key = "offload_params", .values = "true=on false=off"},
    {"activation_offloading", .key = "offload_activations", .values = "true=on false=off legacy=on", .note = "disk",
     .unmodelled = true},
    {"fsdp_config.limit_all_gathers", .values = "true=-", .note = "gathers that run ahead", .unmodelled = true},
    {"fsdp_config.forward_prefetch", .note = "gathers that run ahead", .unmodelled = true},
    {"fsdp_config.mixed_precision_policy*", .note = "types of weights and sums", .unmodelled = true},
    {"fsdp_config.xla* use_ipex use_mps_device", .note = "another device", .unmodelled = true},
    {"fsdp_config.reshard_after_forward", .key = "reshard_after_forward",
     .values = "true=- full_shard=- FULL_SHARD=- false=off"},
    {"fsdp_config.sharding_strategy", .note = strategy},
    {"fsdp_config* fsdp_transformer_layer_cls_to_wrap fsdp_min_num_params", .note = fsdp},
    {"fsdp_*", .note = "details of FSDP", .unmodelled = true},
    {"ddp_timeout", .note = "timeouts"},
    {"ddp_backend", .values = "nccl=-", .note = "how ranks talk", .unmodelled = true},
    {"ddp_*", .note = "details of DDP", .unmodelled = true},
    {"adapter", .values = "lora=- qlora=-", .note = adapters, .unmodelled = true},
    {"finetuning_type", .values = "full=- lora=- freeze=-", .note = adapters, .unmodelled = true},
    {"use_peft", .values = "true=- false=-", .note = adapters, .unmodelled = true},
    {"lora_r lora_rank", .key = "lora"},
    {"lora_dropout", .key = "lora_dropout"},
    {"use_dora peft_use_dora", .key = "dora", .values = "true=on false=off"},
    {"lora_target* lora_modules_to_save* additional_target*", .note = targets, .unmodelled = true},
    {"lora_mlp_kernel lora_qkv_kernel lora_o_kernel", .key = "lora_kernels", .values = "true=fused false=-",
     .note = "off"},
    {"lora_alpha use_rslora pissa_* loraplus_* peft_init_lora_weights peft_use_rslora neftune_noise_alpha "
     "train_on_inputs learning_rate weight_decay adam_* lr_scheduler* warmup_* num_train_epochs max_steps seed "
     "data_seed", .note = MFU_NOTE_TRAINING},
    {"lora_model_dir lora_fan_in_fan_out lora_task_type lora_on_cpu base_model_config model_revision trust_remote_code "
     "strict debug wandb_* saves_per_epoch plot_loss local_rank skip_memory_metrics ray_* include_* ignore_data_skip "
     "restore_callback_* output_dir overwrite_output_dir logging* log_* save* report_to report_to[* run_name "
     "push_to_hub* hub_* disable_tqdm resume_from_checkpoint adapter_name_or_path adapter_folder cache_dir media_dir "
     "tokenized_path export_* hf_hub_token ms_hub_token om_hub_token swanlab_* use_swanlab use_wandb use_mlflow "
     "mlflow_* hf_mlflow_* use_comet comet_* trackio_* use_trackio use_tensorboard gradio_* profiler_* "
     "use_otel_metrics otel_* hf_use_auth_token auto_resume_from_checkpoints axolotl_config_path low_cpu_mem_usage "
     "print_param_status is_falcon_derived_model is_llama_derived_model is_mistral_derived_model is_qwen_derived_model",
     .note = MFU_NOTE_FILES},
    {"lora_bias", .key = "trainable", .values = "none=- all=biases lora_only=adapted-biases"},
    {"lora_layers_to_transform*", .note = "adapters in some layers only", .unmodelled = true},
    {"use_unsloth*", .note = "unsloth's kernels and offload: set kernel_package unsloth, lora_kernels fused",
     .unmodelled = true},
    {"peft_autocast_adapter_dtype", .key = "lora_dtype", .values = "true=- false=16bit", .note = "fp32"},
    {"lora* peft*", .note = "adapters of another kind", .unmodelled = true},
    {"freeze_trainable_layers", .key = "trainable_layers"},
    {"freeze_trainable_modules", .values = "all=-", .note = "parts of layers", .unmodelled = true},
    {"freeze_vision_tower freeze_multi_modal_projector", .note = "see what trains"},
    {"freeze_language_model", .note = "a language model that is frozen beside its image encoder", .unmodelled = true},
    {"freeze_*", .note = "only part of the weights is trained", .unmodelled = true},
    {"unfrozen_parameters*", .note = "only part of the weights is trained: set trainable", .unmodelled = true},
    {"load_in_8bit", .key = "base_precision", .values = "true=int8 false=-", .note = "off"},
    {"load_in_4bit", .key = "base_precision", .values = "true=nf4 false=-", .note = "off"},
    {"quantization_bit", .key = "base_precision", .values = "4=nf4-double 8=int8"},
    {"quantization_method", .values = "bitsandbytes=- bnb=-", .note = quantised, .unmodelled = true},
    {"quantization_type", .values = "nf4=-", .note = quantised, .unmodelled = true},
    {"double_quantization bnb_4bit_use_double_quant use_bnb_nested_quant", .note = quantised},
    {"bnb_4bit_quant_type", .values = "nf4=- fp4=-", .note = quantised, .unmodelled = true},
    {"bnb_*", .note = quantised},
    {"upcast_*", .values = "false=-", .note = "types of single layers", .unmodelled = true},
    {"gptq", .values = "false=-", .note = quantised, .unmodelled = true},
    {"packing sample_packing", .key = "packing", .values = PACKING},
    {"pad_to_sequence_len pad_to_multiple_of packing_strategy sample_packing_*", .note = fill},
    {"neat_packing", .key = "packing", .values = "true=on false=-", .note = "attention crosses documents"},
    {"padding_free", .values = "false=-", .note = fill, .unmodelled = true},
    {"group_by_length batch_flattening", .note = fill, .unmodelled = true},
    {"auto_find_batch_size", .note = "halves the batch until it fits: `solve batch`", .unmodelled = true},
    {"model_name_or_path base_model model_name", .note = unknown, .unmodelled = true},
    {"model_type", .note = "the model's name says it"},
    {"use_cpu no_cuda", .note = "training on the CPU", .unmodelled = true},
    {"torch_empty_cache_steps", .note = "empties the allocator's cache", .unmodelled = true},
    {"dataloader_* dataset* train_file test_datasets* template chat_template* max_samples overwrite_cache "
     "special_tokens* tokens[* tokenizer* accelerator_config* split_batches length_column_name "
     "preprocessing_num_workers remove_unused_columns", .note = MFU_NOTE_LOADING},
    {"do_* prediction_loss_only load_best_model_at_end metric_for_best_model greater_is_better batch_eval_metrics "
     "jit_mode_eval use_legacy_prediction_loop infer_*", .note = MFU_NOTE_EVALUATION},
    {"label_smoothing_factor", .values = "0=- 0.0=-", .note = "the Trainer's own loss, of log-probabilities",
     .unmodelled = true},
    {"label_* epsilon* temperature top_p top_k scale_rewards center_rewards_coefficient mask_truncated_completions "
     "importance_sampling_level assistant_only_loss completion_only_loss ref_model_mixup_alpha ref_model_sync_steps "
     "reward_weights*", .note = MFU_NOTE_TRAINING},
    {"stage", .key = "objective", .values = "sft=- pt=- dpo=dpo rm=reward", .note = "another kind of training",
     .unmodelled = true},
    {"rl", .key = "objective", .values = "dpo=dpo ipo=dpo orpo=orpo simpo=orpo grpo=grpo gdpo=grpo false=-",
     .note = "another kind of training", .unmodelled = true},
    {"reward_model", .key = "objective", .values = "true=reward false=-", .note = "another kind of training",
     .unmodelled = true},
    {"max_completion_length", .key = "completion"},
    {"num_generations", .note = "each of them is an answer of the batch"},
    {"steps_per_generation num_iterations use_vllm vllm_* vllm.* generation_batch_size", .note = loop},
    {"max_prompt_length", .note = "a part of seq"},
    {"beta", .note = "weight of the reference"},
    {"loss_type", .values = LOSSES, .note = "another loss", .unmodelled = true},
    {"sync_ref_model", .note = "now and then"},
    {"desirable_weight undesirable_weight", .note = unpaired, .unmodelled = true},
    {"reward_funcs*", .note = "functions that score"},
    {"pref_loss", .key = "objective", .values = "orpo=orpo simpo=orpo sigmoid=- hinge=- ipo=-",
     .note = "another loss over pairs", .unmodelled = true},
    {"pref_* rl_beta dpo_label_smoothing dpo_beta orpo_* num_epochs early_stopping_patience loss_watchdog_* past_index "
     "average_tokens_across_devices ppo_*", .note = MFU_NOTE_TRAINING},
    {"dpo_use_logits_to_keep", .values = "false=-", .note = "logits of answers alone", .unmodelled = true},
    {"dpo_*", .note = "another loss over pairs", .unmodelled = true},
    {"precompute_ref_log_probs", .key = "reference", .values = "true=cached false=-",
     .note = "each micro-batch passes through the reference"},
    {"full_determinism", .note = "deterministic kernels", .unmodelled = true},
    {"mp_parameters", .values = "=-", .note = "SageMaker's model parallelism", .unmodelled = true},
    {"tpu_*", .note = "another device"},
    {"chunked_cross_entropy", .key = "loss_chunks", .values = "true=8 false=-", .note = "off"},
    {"chunked_cross_entropy_num_chunks", .key = "loss_chunks"},
    {"eager_attention", .key = "attention", .values = "true=math false=-", .note = "off"},
    {"flex_attention", .note = "kernels of FlexAttention", .unmodelled = true},
    {"sage_attention", .note = "kernels in 8 bits", .unmodelled = true},
    {"flash_attn_*", .note = "other kernels", .unmodelled = true},
    {"shift_attn", .note = "attention in groups", .unmodelled = true},
    {"context_parallel_size sequence_parallel_degree", .key = "cp"},
    {"tensor_parallel_size", .key = "tp"},
    {"dp_shard_size", .key = "dp_shard"},
    {"dp_replicate_size", .values = "1=-", .note = "copies of what is sharded: set dp_shard", .unmodelled = true},
    {"fp8", .note = "products in fp8: set precision fp8", .unmodelled = true},
    {"fp8_*", .note = "of fp8"},
    {"qat* use_onebitllms", .note = "quantisation while training", .unmodelled = true},
    {"use_muon", .key = "optimizer", .values = "true=muon false=-", .note = "off"},
    {"use_galore use_apollo use_badam use_adam_mini", .note = others, .unmodelled = true},
    {"galore_* apollo_* badam_* oft_* qgalore_* dion_* kt_* megatron_bridge_args* hyper_parallel_* pose_*",
     .note = decided},
    {"lisa_*", .note = "layers that take turns", .unmodelled = true},
    {"relora*", .note = "adapters that are merged on the way", .unmodelled = true},
    {"use_llama_pro", .note = "layers that are added", .unmodelled = true},
    {"mixture_of_depths", .note = "tokens that leave layers out", .unmodelled = true},
    {"use_kt use_hyper_parallel", .note = "another engine", .unmodelled = true},
    {"use_mca use_megatron_bridge", .note = "Megatron's engine: set trainer megatron", .unmodelled = true},
    {"layer_offloading", .note = "layers that wait on the host", .unmodelled = true},
    {"tiled_mlp*", .note = "the MLP in pieces", .unmodelled = true},
    {"use_pose", .note = "skipped positions", .unmodelled = true},
    {"fp32_norm*", .note = "types of single layers", .unmodelled = true},
    {"embeddings_skip_upcast", .note = "types of single layers"},
    {"resize_vocab shrink_embeddings resize_token_embeddings_to_32x", .note = vocabulary, .unmodelled = true},
    {"quantize_moe_experts", .note = quantised, .unmodelled = true},
    {"experts_implementation", .note = "kernels of experts", .unmodelled = true},
    {"use_kernels", .note = "kernels of the hub", .unmodelled = true},
    {"use_v1_kernels", .note = "kernels of another package", .unmodelled = true},
    {"device_map", .values = "auto=-", .note = "where layers are", .unmodelled = true},
    {"max_memory* gpu_memory_limit", .note = "where layers are", .unmodelled = true},
    {"image_max_pixels image_size", .note = "sizes of images", .unmodelled = true},
    {"video_*", .note = "sizes of videos", .unmodelled = true},
    {"image_* audio_* streaming* pretraining_dataset* interleave_probs mix_strategy preprocessing_* "
     "data_shared_file_system disable_shuffling shuffle_merged_datasets skip_prepare_dataset default_system* "
     "enable_thinking tool_format add_tokens add_special_tokens split_special_tokens use_fast_tokenizer eot_tokens* "
     "processor_*", .note = MFU_NOTE_LOADING},
    {"ref_model*", .note = "another reference than the model", .unmodelled = true},
    {"reward_model_*", .note = loop, .unmodelled = true},
    {"kto_* mask_history train_on_prompt train_from_scratch create_new_adapter rope_scaling moe_aux_loss_coef "
     "simpo_gamma ld_alpha cpo_alpha embedding_lr* cosine_* lr_* early_stopping_steps loftq_*", .note = MFU_NOTE_TRAINING},
    {"generat* sglang_* compute_accuracy bench_* max_new_tokens use_kv_cache", .note = MFU_NOTE_EVALUATION},
    {.names = NULL},
};

static const char *const defaults[] = {
    "per_device_train_batch_size per_gpu_train_batch_size micro_batch_size", "8", "gradient_accumulation_steps", "1",
    "optim optimizer", "adamw_torch", "max_grad_norm", "1.0",
    "gradient_checkpointing disable_gradient_checkpointing fsdp_config.activation_checkpointing", "false",
    "torch_compile", "false", NULL};
// clang-format on

static bool is_given(struct mfu_import *m, const char *name)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e && strcmp(e->note, MFU_NOT_SET) != 0;
}

/* The catalog's GPT-2 is nanoGPT's; Hugging Face's is OpenAI's checkpoint. */
static void find_model(struct mfu_import *m)
{
    static const char *const names[] = {"model_name_or_path", "base_model", "model_name"};
    const struct mfu_model *model;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mfu_entry *e = mfu_import_find(m, names[i]);

        if (!e || !mfu_import_model(m, e))
            continue;
        if (!(model = mfu_catalog_model(m->catalog, e->set, NULL)) || strcmp(model->family, "gpt2") != 0)
            return;
        mfu_import_assume(m, "bias", "1", "of the checkpoint");
        mfu_import_assume(m, "vocab_size", "50257", "of the checkpoint");
        mfu_import_assume(m, "dropout", "0.1", "of the checkpoint");
        mfu_import_assume(m, "upcast_logits", "1", "as transformers computes the loss");
        return;
    }
}

/* Adapters of fp32 train under autocast beside weights that were loaded in bf16. */
static bool adapted(struct mfu_import *m)
{
    struct mfu_entry *e = mfu_import_find(m, "adapter");

    return e && (strcmp(e->value, "lora") == 0 || strcmp(e->value, "qlora") == 0);
}

/* Weights in bf16 leave nothing to autocast; beside 16 bits tf32 has little to do. */
static void find_precision(struct mfu_import *m)
{
    static const char *const wider[] = {"bf16", "fp16", "tf32"};
    struct mfu_entry *bf16 = mfu_import_find(m, "bf16");
    bool half = mfu_import_is_set(m, "bf16") || mfu_import_is_set(m, "fp16"),
         pure = mfu_import_is_set(m, "torch_dtype") || mfu_import_is_set(m, "pure_bf16");

    if (mfu_import_is_set(m, "bf16") && mfu_import_find(m, "base_model") && !adapted(m)) {
        mfu_import_set(m, bf16, "precision", "axolotl loads the weights in bf16", "bf16-pure");
        pure = false;
    }
    for (size_t i = 0; i < 3; i++)
        if (mfu_import_is_set(m, wider[i]) && (pure || (half && i == 2)))
            mfu_import_leave(mfu_import_find(m, wider[i]), MFU_IGNORED,
                             pure ? "the weights are in bf16" : "beside 16-bit autocast nothing large is left in fp32");
    if (!half && !pure && !mfu_import_is_set(m, "tf32"))
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
}

/* What adapters need that are off, or of another method, stays in the file. */
static void forget(struct mfu_import *m, const char *const *names, const char *note)
{
    for (; *names; names++)
        for (int i = 0; i < m->n; i++)
            if (strncmp(m->entries[i].name, *names, strlen(*names)) == 0)
                mfu_import_leave(&m->entries[i], MFU_IGNORED, note);
}

/*
 * What is not quantised: peft makes norms, embeddings and head fp32, these programs do not leave them so.  axolotl
 * 0.18.0 casts them back (loaders/model.py, _configure_embedding_dtypes), LLaMA-Factory 0.9.6 never calls peft's function
 * (model_utils/checkpointing.py), nor does TRL's SFTTrainer of 2026, whose adapters are 16 bit, too (sft_trainer.py).
 */
static void find_rest(struct mfu_import *m, bool axolotl, bool factory)
{
    if (!mfu_import_is_set(m, "load_in_4bit") && !mfu_import_is_set(m, "load_in_8bit")
        && !mfu_import_is_set(m, "quantization_bit"))
        return;
    mfu_import_assume(m, "fp32_rest", "off",
                      axolotl       ? "axolotl casts it back"
                          : factory ? "LLaMA-Factory leaves it"
                                    : "TRL leaves it");
    if (!axolotl && !factory)
        mfu_import_assume(m, "lora_dtype", "16bit", "TRL casts adapters to bf16");
}

/* axolotl (adapter: qlora), LLaMA-Factory (finetuning_type: lora) and TRL (use_peft). */
static void find_adapters(struct mfu_import *m)
{
    static const char *const of_adapters[] = {"lora",         "use_dora", "peft_use",          "load_in", "bnb_",
                                              "quantization", "double_q", "additional_target", NULL};
    static const char *const of_freezing[] = {"freeze_trainable", "freeze_extra", NULL};
    struct mfu_entry *base = mfu_import_find(m, "load_in_4bit");
    bool axolotl = mfu_import_find(m, "base_model") != NULL, factory = mfu_import_find(m, "finetuning_type") != NULL;
    bool lora = mfu_import_is(m, "adapter", "lora") || mfu_import_is(m, "adapter", "qlora")
        || mfu_import_is(m, "finetuning_type", "lora") || mfu_import_is(m, "use_peft", "true");

    if (!mfu_import_is(m, "finetuning_type", "freeze"))
        forget(m, of_freezing, "all layers train");
    else if (!mfu_import_is_set(m, "freeze_trainable_layers"))
        mfu_import_assume(m, "trainable_layers", "2", "LLaMA-Factory's default");
    if (!lora) {
        forget(m, of_adapters, "there are no adapters");
        return;
    }
    if (!mfu_import_is_set(m, "lora_r") && !mfu_import_is_set(m, "lora_rank"))
        mfu_import_assume(m, "lora", factory || axolotl ? "8" : "16", "the program's default");
    if (mfu_import_is(m, "lora_target_linear", "true")) {
        mfu_import_set(m, mfu_import_find(m, "lora_target_linear"), "lora_targets", "", "all-linear");
    } else if (mfu_import_is(m, "lora_target", "all") || mfu_import_is(m, "lora_target_modules", "all-linear")) {
        mfu_import_set(
            m, mfu_import_find(m, mfu_import_is(m, "lora_target", "all") ? "lora_target" : "lora_target_modules"),
            "lora_targets", "", "all-linear");
    } else if (!mfu_import_list(m, "lora_target_modules", "lora_targets", "")
               && !mfu_import_list(m, "lora_target", "lora_targets", "")) {
        mfu_import_assume(m, "lora_targets", factory ? "all-linear" : "q_proj,v_proj", "the program's default");
    }
    if (!mfu_import_list(m, "lora_modules_to_save", "trainable", "train beside the adapters, as copies"))
        mfu_import_list(m, "additional_target", "trainable", "train beside the adapters, as copies");
    if (base && base->set
        && (axolotl || mfu_import_is(m, "bnb_4bit_use_double_quant", "true")
            || mfu_import_is(m, "use_bnb_nested_quant", "true")))
        mfu_import_set(m, base, "base_precision", "with double quantisation", "nf4-double");
    if (mfu_import_is(m, "double_quantization", "false") && mfu_import_is(m, "quantization_bit", "4"))
        mfu_import_set(m, mfu_import_find(m, "quantization_bit"), "base_precision", "", "nf4");
    if (mfu_import_is_set(m, "pure_bf16"))
        mfu_import_assume(m, "lora_dtype", "16bit", "of a model in bf16");
    find_rest(m, axolotl, factory);
}

/* Image encoders: LLaMA-Factory (0.9.6, finetuning_args.py) freezes them and their projectors unless it is told otherwise,
 * beside adapters, too.  Other programs adapt whatever has the name. */
static void find_tower(struct mfu_import *m)
{
    bool factory = mfu_import_find(m, "finetuning_type") != NULL;
    bool vision = !factory || mfu_import_is(m, "freeze_vision_tower", "false");
    bool projector = !factory || mfu_import_is(m, "freeze_multi_modal_projector", "false");
    char words[160] = "";

    if (mfu_import_adapt_tower(m, vision, projector) || (vision && projector))
        return;
    mfu_modules_format(words, sizeof words,
                       MFU_MODULES_ALL
                           & ~((vision ? 0 : MFU_MODULE_BIT(VISION)) | (projector ? 0 : MFU_MODULE_BIT(PROJECTOR))));
    mfu_import_assume(m, "trainable", words, "LLaMA-Factory freezes the rest");
}

static bool mentions(const struct mfu_entry *e, const char *word)
{
    return strstr(e->value, word) != NULL;
}

/* "full_shard auto_wrap", or a list of such words. */
static void take_sharding(struct mfu_import *m, struct mfu_entry *e)
{
    const char *note =
        mfu_import_gpus(m) > 1 ? "FSDP over all GPUs" : "FSDP over all GPUs: set gpus to how many there are";

    if (mentions(e, "full_shard"))
        mfu_import_set(m, e, "zero", note, "3");
    else if (mentions(e, "shard_grad_op"))
        mfu_import_set(m, e, "reshard_after_forward", note, "off");
    else if (mentions(e, "hybrid_shard"))
        mfu_import_hybrid(m, e, mentions(e, "hybrid_shard_zero2"));
    else if (mentions(e, "no_shard") || strcmp(e->value, "true") == 0)
        mfu_import_leave(e, MFU_IGNORED, "nothing is sharded by it");
    if (mentions(e, "offload"))
        mfu_import_assume(m, "offload_params", "on", "FSDP with offload");
}

/* In axolotl fsdp_config or fsdp_version
 * turns it on (0.12, utils/trainer.py, prepare_optim_env). */
static void find_sharding(struct mfu_import *m)
{
    bool on = false;
    int n = m->n;

    for (int i = 0; i < n; i++) {
        struct mfu_entry *e = &m->entries[i];

        if (e->fate != MFU_UNMODELLED || (strcmp(e->name, "fsdp") != 0 && strncmp(e->name, "fsdp[", 5) != 0))
            continue;
        on = true;
        take_sharding(m, e);
    }
    if (!on && mfu_import_find(m, "fsdp_version")) { /* axolotl: no list, FSDP2 */
        mfu_import_set(m, mfu_import_find(m, "fsdp_version"), "zero", "FSDP over all GPUs", "3");
        on = true;
    }
    for (int i = 0; i < n && !on && mfu_import_find(m, "base_model"); i++)
        if (strncmp(m->entries[i].name, "fsdp_config.", 12) == 0) {
            mfu_import_assume(m, "zero", "3", "FSDP over all GPUs: fsdp_config turns it on");
            on = true;
        }
    for (int i = 0; i < n && !on; i++)
        if (strncmp(m->entries[i].name, "fsdp_", 5) == 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "FSDP is off");
    if (is_given(m, "deepspeed") || mfu_import_find(m, "deepspeed.zero_optimization.stage"))
        mfu_import_assume(m, "trainer", "deepspeed", "its engine runs the loop");
    else if (!on)
        mfu_import_assume(m, "zero", "0", "neither FSDP nor DeepSpeed");
    mfu_import_assume(m, "loop", "transformers", "the loop of transformers' Trainer");
}

/* What one program writes into a block or with a prefix, others have beside the rest: axolotl's trl.num_generations, TRL's
 * model_init_kwargs.attn_implementation, accelerate's fsdp_config.fsdp_offload_params. */
static int take_apart(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    static const char *const blocks[][2] = {
        {"trl.", ""}, {"model_init_kwargs.", ""}, {"fsdp_config.fsdp_", "fsdp_config."}};

    if (mfu_import_tree(m, path, text, err) < 0)
        return -1;
    for (int i = 0; i < m->n; i++)
        for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
            size_t n = strlen(blocks[k][0]), kept = strlen(blocks[k][1]);
            char name[128];

            if (strncmp(m->entries[i].name, blocks[k][0], n) != 0)
                continue;
            snprintf(name, sizeof name, "%s%s", blocks[k][1], m->entries[i].name + n);
            m->entries[i].said = m->entries[i].name;
            m->entries[i].name = kept ? mfu_arena_copy(&m->arena, name, strlen(name)) : m->entries[i].name + n;
            if (!m->entries[i].name)
                return mfu_import_fail(m, path, err);
        }
    return 0;
}

/* Packed sequences are full; what attention computes in them depends on the documents.  LLaMA-Factory (ff6d4d12,
 * data/processor/supervised.py, data/collator.py) packs without neat_packing under a mask of ones: only
 * flash_attention_2 reads where documents begin from their positions, in a batch of one. */
static void note_packing(struct mfu_import *m)
{
    struct mfu_entry *plain = mfu_import_find(m, "packing"), *neat = mfu_import_find(m, "neat_packing");
    struct mfu_entry *flash = mfu_import_find(m, "flash_attn");

    if (plain && plain->set && mfu_import_find(m, "cutoff_len") && !(neat && neat->set && strcmp(neat->set, "on") == 0)
        && !(flash && strcmp(flash->value, "fa2") == 0 && mfu_import_number(m, "per_device_train_batch_size") == 1))
        mfu_import_leave(plain, MFU_IGNORED, "attention crosses documents, as in full sequences of one: neat_packing");
    for (int i = 0; i < m->n; i++)
        if (m->entries[i].set && strcmp(m->entries[i].key, "packing") == 0 && strcmp(m->entries[i].set, "on") == 0)
            m->entries[i].note = "as if one document filled each sequence: set doc_len and doc_sigma";
}

/* LLaMA-Factory: of pairs of answers pref_loss says more than stage, wherever they stand. */
static void find_objective(struct mfu_import *m)
{
    struct mfu_entry *loss = mfu_import_find(m, "pref_loss"), *stage = mfu_import_find(m, "stage");

    if (loss && loss->set && stage && stage->set)
        mfu_import_leave(stage, MFU_IGNORED, "pref_loss says which");
}

/* A loop that writes its own answers: of GRPOConfig (TRL 1.10, f2cd5771), or of axolotl's trl block.  Where nothing
 * weighs the reference (beta 0, TRL's default) there is none. */
static void find_loop(struct mfu_import *m)
{
    struct mfu_entry *completion = mfu_import_find(m, "max_completion_length");
    struct mfu_entry *beta = mfu_import_find(m, "beta"), *prompt = mfu_import_find(m, "max_prompt_length");

    if (!completion && !mfu_import_find(m, "num_generations"))
        return;
    if (!mfu_import_find(m, "rl"))
        mfu_import_assume(m, "objective", "grpo", "the file is a GRPOConfig's");
    if (!beta || strtod(beta->value, NULL) == 0)
        mfu_import_assume(m, "reference", "none", "beta is 0");
    if (!completion)
        mfu_import_assume(m, "completion", "512", "TRL's default");
    if (prompt && !mfu_import_find(m, "sequence_len"))
        mfu_import_assume_number(m, "seq",
                                 mfu_import_number(m, "max_prompt_length")
                                     + (completion ? mfu_import_number(m, "max_completion_length") : 512),
                                 "prompt and completion");
}

/* Pairs of answers (TRL's DPOConfig, CPOConfig ...): a file that weighs a reference and writes no answers. */
static void find_pairs(struct mfu_import *m)
{
    if (is_given(m, "beta") && !mfu_import_find(m, "rl") && !mfu_import_find(m, "stage")
        && !mfu_import_find(m, "max_completion_length") && !mfu_import_find(m, "num_generations"))
        mfu_import_lack(m, "objective", "", "which loss over pairs is not in the file: set objective");
    else if (is_given(m, "center_rewards_coefficient") && !mfu_import_find(m, "stage"))
        mfu_import_assume(m, "objective", "reward", "the file is a RewardConfig's");
}

/* vLLM in the process that trains (TRL's default): it holds its share of the card all the time, unless it sleeps. */
static void find_engine(struct mfu_import *m)
{
    double share = mfu_import_number(m, "vllm_gpu_memory_utilization");
    char bytes[32];

    if (!mfu_import_is(m, "use_vllm", "true") || mfu_import_is(m, "vllm_mode", "server")
        || mfu_import_is(m, "vllm_enable_sleep_mode", "true"))
        return;
    if (!m->start->gpu) {
        mfu_import_lack(m, "vram_reserved", "", "vLLM holds memory beside training: set vram_reserved");
        return;
    }
    snprintf(bytes, sizeof bytes, "%.0f", (isnan(share) ? 0.3 : share) * m->start->gpu->capacity_bytes);
    mfu_import_assume(m, "vram_reserved", bytes, "vLLM's share of the card, beside training");
}

/* axolotl's loss in pieces: as many as are stated, else 8; both keys set nothing where it is off. */
static void find_chunks(struct mfu_import *m)
{
    struct mfu_entry *chunked = mfu_import_find(m, "chunked_cross_entropy"),
                     *stated = mfu_import_find(m, "chunked_cross_entropy_num_chunks");

    if (!stated || !stated->set)
        return;
    if (chunked && chunked->set)
        mfu_import_leave(chunked, MFU_IGNORED, "chunked_cross_entropy_num_chunks says in how many pieces");
    else
        mfu_import_leave(stated, MFU_IGNORED, "chunked_cross_entropy is off");
}

/* Norms, rotary, gates and the loss.  That one computes head and loss for as many rows at once as make logits about as large
 * as its input (mfu_liger_loss_chunks()).  Losses that are made of the logits themselves, of other objectives, leave it in LLaMA-Factory (0.9.6, model/model_utils/liger_kernel.py). */
static void take_liger(struct mfu_import *m)
{
    struct mfu_entry *e =
        mfu_import_find(m, mfu_import_find(m, "use_liger_kernel") ? "use_liger_kernel" : "enable_liger_kernel");
    double tokens = mfu_import_set_number(m, "batch") * mfu_import_set_number(m, "seq");
    double width = mfu_import_dim(m, "n_embd"), words = mfu_import_dim(m, "vocab_size");

    if (!e || strcasecmp(e->value, "true") != 0)
        return;
    mfu_import_set(m, e, "kernel_package", "its norms, rotary and gates", "liger");
    for (int i = 0; i < m->n; i++)
        if (m->entries[i].set && strcmp(m->entries[i].key, "objective") == 0) {
            if (!mfu_import_find(m, "finetuning_type"))
                mfu_import_lack(m, "liger's loss", "", "its loss of this objective, in pieces");
            return;
        }
    if (!isnan(mfu_import_set_number(m, "loss_chunks")))
        return;
    if (isnan(width) || isnan(words) || !(tokens > 0)) {
        mfu_import_lack(m, "loss_chunks", "", "set it: Liger's loss, in pieces");
        return;
    }
    mfu_import_assume_number(m, "loss_chunks", mfu_liger_loss_chunks(tokens, width, words), "its loss, in pieces");
}

/* axolotl tells PyTorch's allocator before it trains (utils/__init__.py, set_pytorch_cuda_alloc_conf, since 0.4.1). */
static void find_allocator(struct mfu_import *m)
{
    if (mfu_import_find(m, "base_model"))
        mfu_import_assume(m, "expandable_segments", "on",
                          "axolotl sets it; its roundup_power2_divisions, blocks up to 6 % larger, is not planned");
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *checkpoint = mfu_import_find(m, "gradient_checkpointing"), *optimizer;

    m->title = mfu_import_find(m, "base_model") ? "axolotl configuration"
        : mfu_import_find(m, "finetuning_type") ? "LLaMA-Factory configuration"
                                                : m->title;
    find_model(m);
    find_adapters(m);
    find_allocator(m);
    find_tower(m);
    find_precision(m);
    find_sharding(m);
    find_loop(m);
    find_engine(m);
    find_pairs(m);
    mfu_import_need_length(m);
    note_packing(m);
    find_objective(m);
    if (mfu_import_is_set(m, "use_muon") && (optimizer = mfu_import_find(m, "optim")))
        mfu_import_leave(optimizer, MFU_IGNORED, "use_muon says which");
    find_chunks(m);
    take_liger(m);
    if (mfu_import_find(m, "finetuning_type") && checkpoint && checkpoint->fate == MFU_ASSUMED)
        mfu_import_set(m, checkpoint, "checkpoint", "LLaMA-Factory switches it on", "full");
}

const struct mfu_import_format mfu_import_format_huggingface = {
    .name = "huggingface",
    .title = "Hugging Face TrainingArguments",
    .marks = "per_device_train_batch_size|gradient_checkpointing|per_gpu_train_batch_size|"
             "base_model:&micro_batch_size:",
    .take_apart = take_apart,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
