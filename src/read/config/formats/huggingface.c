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

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "per_device_train_batch_size") || strstr(text, "gradient_checkpointing")
        || strstr(text, "per_gpu_train_batch_size")
        || (strstr(text, "base_model:") && strstr(text, "micro_batch_size:"));
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "files and logging";
static const char evaluation[] = "evaluation is not part of a step", loading[] = "the loader: set dataloader_ms";
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
    {"per_device_train_batch_size", "batch", NULL, NULL, false},
    {"per_gpu_train_batch_size", "batch", NULL, NULL, false},
    {"micro_batch_size", "batch", NULL, NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"max_seq_length", "seq", NULL, NULL, false},
    {"max_length", "seq", NULL, NULL, false},
    {"block_size", "seq", NULL, NULL, false},
    {"cutoff_len", "seq", NULL, NULL, false},
    {"sequence_len", "seq", NULL, NULL, false},
    {"model_max_length", "seq", NULL, NULL, false},
    {"bf16", "precision", "true=bf16 auto=bf16 full=bf16 false=-", "off", false},
    {"fp16", "precision", "true=fp16 false=-", "off", false},
    {"tf32", "precision", "true=tf32 false=-", "off", false},
    {"pure_bf16", "precision", "true=bf16-pure false=-", "off", false},
    {"torch_dtype", "precision", "auto=- float32=- bfloat16=bf16-pure", "the weights' alone", false},
    {"dtype", "precision", "auto=- float32=- bfloat16=bf16-pure", "the weights' alone", false},
    {"bf16_full_eval", NULL, NULL, evaluation, false}, {"fp16_full_eval", NULL, NULL, evaluation, false},
    {"fp16_opt_level", NULL, NULL, "apex's level", false}, {"fp16_backend", NULL, "auto=- amp=-", "autocast is planned", true},
    {"half_precision_backend", NULL, "auto=- cuda_amp=-", "autocast is planned", true},
    {"torch_compile", "runtime", "true=compile false=eager auto=compile", NULL, false},
    {"torch_compile_backend", NULL, "inductor=-", "details of the compiler", true},
    {"torch_compile_*", NULL, NULL, "details of the compiler", true},
    {"gradient_checkpointing", "checkpoint", "true=full false=none", NULL, false},
    {"disable_gradient_checkpointing", "checkpoint", "true=none false=full", NULL, false},
    {"gradient_checkpointing_kwargs.use_reentrant", NULL, NULL, "the same memory, about the same time", false},
    {"gradient_checkpointing_kwargs*", NULL, NULL, "details of checkpointing", true},
    {"max_grad_norm", "grad_clip", NULL, NULL, false},
    {"optim", "optimizer", OPTIMIZERS, NULL, false},
    {"optimizer", "optimizer", OPTIMIZERS, NULL, false},
    {"adafactor", "optimizer", "true=adafactor false=-", "off", false},
    {"optim_args", NULL, NULL, "arguments of the optimizer", true},
    {"optim_target_modules*", NULL, NULL, "GaLore", true},
    {"attn_implementation", "attention",
     "flash_attention_2=flash sdpa=flash eager=math flash_attention_3=flash3 kernels-community/flash-attn=flash "
     "kernels-community/flash-attn2=flash kernels-community/flash-attn3=flash3 kernels-community/vllm-flash-attn3=flash3",
     NULL, false},
    {"flash_attn", "attention", "auto=- fa2=flash sdpa=flash disabled=math", NULL, false},
    {"flash_attention", "attention", "true=flash false=-", "off", false},
    {"sdp_attention", "attention", "true=flash false=-", "off", false},
    {"xformers_attention", "attention", "true=memeff false=-", "off", false},
    {"use_liger_kernel", NULL, NULL, liger, true}, {"enable_liger_kernel", NULL, NULL, liger, true},
    {"liger_rms_norm", "kernel_package", "true=liger false=-", "off", false},
    {"liger_glu_activation", "kernel_package", "true=liger false=-", "off", false},
    {"liger_rope", "kernel_package", "true=liger false=-", "off", false},
    {"liger_*", NULL, NULL, liger, true},
    {"plugins*", NULL, NULL, "plugins", true},
    {"deepspeed", NULL, NULL, "import that file, too", true},
    {"deepspeed.zero_optimization.stage", "zero", NULL, NULL, false},
    {"deepspeed.*", NULL, NULL, "import it as a file of its own, too", true},
    {"fsdp", NULL, "=-", "taken apart below", true}, {"fsdp[*", NULL, "auto_wrap=-", "taken apart below", true},
    {"fsdp_config.activation_checkpointing", "checkpoint", "true=full false=-", "off", false},
    {"fsdp_config.offload_params", "offload_params", "true=on false=off", NULL, false},
    {"activation_offloading", "offload_activations", "true=on false=off legacy=on", "disk", true},
    {"fsdp_config.limit_all_gathers", NULL, "true=-", "gathers that run ahead", true},
    {"fsdp_config.forward_prefetch", NULL, NULL, "gathers that run ahead", true},
    {"fsdp_config.mixed_precision_policy*", NULL, NULL, "types of weights and sums", true},
    {"fsdp_config.xla*", NULL, NULL, "another device", true},
    {"fsdp_config.reshard_after_forward", "reshard_after_forward", "true=- full_shard=- FULL_SHARD=- false=off", NULL, false},
    {"fsdp_config.sharding_strategy", NULL, NULL, strategy, false},
    {"fsdp_config*", NULL, NULL, fsdp, false}, {"fsdp_transformer_layer_cls_to_wrap", NULL, NULL, fsdp, false},
    {"fsdp_min_num_params", NULL, NULL, fsdp, false},
    {"fsdp_*", NULL, NULL, "details of FSDP", true},
    {"ddp_timeout", NULL, NULL, "timeouts", false}, {"ddp_backend", NULL, "nccl=-", "how ranks talk", true},
    {"ddp_*", NULL, NULL, "details of DDP", true},
    {"adapter", NULL, "lora=- qlora=-", adapters, true},
    {"finetuning_type", NULL, "full=- lora=- freeze=-", adapters, true}, {"use_peft", NULL, "true=- false=-", adapters, true},
    {"lora_r", "lora", NULL, NULL, false}, {"lora_rank", "lora", NULL, NULL, false},
    {"lora_dropout", "lora_dropout", NULL, NULL, false},
    {"use_dora", "dora", "true=on false=off", NULL, false}, {"peft_use_dora", "dora", "true=on false=off", NULL, false},
    {"lora_target*", NULL, NULL, targets, true}, {"lora_modules_to_save*", NULL, NULL, targets, true},
    {"additional_target*", NULL, NULL, targets, true},
    {"lora_mlp_kernel", "lora_kernels", "true=fused false=-", "off", false},
    {"lora_qkv_kernel", "lora_kernels", "true=fused false=-", "off", false},
    {"lora_o_kernel", "lora_kernels", "true=fused false=-", "off", false},
    {"lora_alpha", NULL, NULL, training, false}, {"lora_model_dir", NULL, NULL, files, false},
    {"lora_fan_in_fan_out", NULL, NULL, files, false}, {"lora_task_type", NULL, NULL, files, false},
    {"use_rslora", NULL, NULL, training, false}, {"pissa_*", NULL, NULL, training, false},
    {"loraplus_*", NULL, NULL, training, false}, {"lora_bias", "trainable", "none=- all=biases lora_only=adapted-biases", NULL, false},
    {"lora_layers_to_transform*", NULL, NULL, "adapters in some layers only", true},
    {"use_unsloth*", NULL, NULL, "unsloth's kernels and offload: set kernel_package unsloth, lora_kernels fused", true},
    {"peft_autocast_adapter_dtype", "lora_dtype", "true=- false=16bit", "fp32", false},
    {"peft_init_lora_weights", NULL, NULL, training, false}, {"peft_use_rslora", NULL, NULL, training, false},
    {"lora_on_cpu", NULL, NULL, files, false},
    {"lora*", NULL, NULL, "adapters of another kind", true}, {"peft*", NULL, NULL, "adapters of another kind", true},
    {"freeze_trainable_layers", "trainable_layers", NULL, NULL, false},
    {"freeze_trainable_modules", NULL, "all=-", "parts of layers", true},
    {"freeze_vision_tower", NULL, NULL, "see what trains", false},
    {"freeze_multi_modal_projector", NULL, NULL, "see what trains", false},
    {"freeze_language_model", NULL, NULL, "a language model that is frozen beside its image encoder", true},
    {"freeze_*", NULL, NULL, "only part of the weights is trained", true},
    {"unfrozen_parameters*", NULL, NULL, "only part of the weights is trained: set trainable", true},
    {"load_in_8bit", "base_precision", "true=int8 false=-", "off", false},
    {"load_in_4bit", "base_precision", "true=nf4 false=-", "off", false},
    {"quantization_bit", "base_precision", "4=nf4-double 8=int8", NULL, false},
    {"quantization_method", NULL, "bitsandbytes=- bnb=-", quantised, true},
    {"quantization_type", NULL, "nf4=-", quantised, true}, {"double_quantization", NULL, NULL, quantised, false},
    {"bnb_4bit_use_double_quant", NULL, NULL, quantised, false}, {"use_bnb_nested_quant", NULL, NULL, quantised, false},
    {"bnb_4bit_quant_type", NULL, "nf4=- fp4=-", quantised, true}, {"bnb_*", NULL, NULL, quantised, false},
    {"upcast_*", NULL, "false=-", "types of single layers", true},
    {"gptq", NULL, "false=-", quantised, true},
    {"packing", "packing", PACKING, NULL, false}, {"sample_packing", "packing", PACKING, NULL, false},
    {"pad_to_sequence_len", NULL, NULL, fill, false}, {"pad_to_multiple_of", NULL, NULL, fill, false},
    {"neat_packing", "packing", "true=on false=-", "attention crosses documents", false}, {"packing_strategy", NULL, NULL, fill, false},
    {"sample_packing_*", NULL, NULL, fill, false}, {"eval_packing", NULL, NULL, evaluation, false},
    {"padding_free", NULL, "false=-", fill, true},
    {"eval_sample_packing", NULL, NULL, evaluation, false}, {"group_by_length", NULL, NULL, fill, true},
    {"auto_find_batch_size", NULL, NULL, "halves the batch until it fits: `solve batch`", true},
    {"neftune_noise_alpha", NULL, NULL, training, false},
    {"model_name_or_path", NULL, NULL, unknown, true}, {"base_model", NULL, NULL, unknown, true},
    {"model_name", NULL, NULL, unknown, true}, {"model_type", NULL, NULL, "the model's name says it", false},
    {"base_model_config", NULL, NULL, files, false}, {"model_revision", NULL, NULL, files, false},
    {"use_cpu", NULL, NULL, "training on the CPU", true}, {"no_cuda", NULL, NULL, "training on the CPU", true},
    {"torch_empty_cache_steps", NULL, NULL, "empties the allocator's cache", true},
    {"dataloader_*", NULL, NULL, loading, false}, {"dataset*", NULL, NULL, loading, false},
    {"train_file", NULL, NULL, loading, false}, {"test_datasets*", NULL, NULL, loading, false},
    {"val_set_size", NULL, NULL, evaluation, false},
    {"val_size", NULL, NULL, evaluation, false}, {"template", NULL, NULL, loading, false},
    {"chat_template*", NULL, NULL, loading, false},
    {"max_samples", NULL, NULL, loading, false}, {"overwrite_cache", NULL, NULL, loading, false},
    {"train_on_inputs", NULL, NULL, training, false},
    {"special_tokens*", NULL, NULL, loading, false}, {"tokens[*", NULL, NULL, loading, false},
    {"tokenizer*", NULL, NULL, loading, false},
    {"trust_remote_code", NULL, NULL, files, false}, {"accelerator_config*", NULL, NULL, loading, false},
    {"split_batches", NULL, NULL, loading, false}, {"length_column_name", NULL, NULL, loading, false},
    {"preprocessing_num_workers", NULL, NULL, loading, false}, {"remove_unused_columns", NULL, NULL, loading, false},
    {"per_device_eval_batch_size", NULL, NULL, evaluation, false},
    {"per_gpu_eval_batch_size", NULL, NULL, evaluation, false}, {"eval*", NULL, NULL, evaluation, false},
    {"do_*", NULL, NULL, evaluation, false}, {"prediction_loss_only", NULL, NULL, evaluation, false},
    {"load_best_model_at_end", NULL, NULL, evaluation, false}, {"metric_for_best_model", NULL, NULL, evaluation, false},
    {"greater_is_better", NULL, NULL, evaluation, false}, {"batch_eval_metrics", NULL, NULL, evaluation, false},
    {"learning_rate", NULL, NULL, training, false}, {"weight_decay", NULL, NULL, training, false},
    {"adam_*", NULL, NULL, training, false}, {"lr_scheduler*", NULL, NULL, training, false},
    {"warmup_*", NULL, NULL, training, false}, {"num_train_epochs", NULL, NULL, training, false},
    {"max_steps", NULL, NULL, training, false}, {"seed", NULL, NULL, training, false},
    {"label_smoothing_factor", NULL, "0=- 0.0=-", "the Trainer's own loss, of log-probabilities", true},
    {"data_seed", NULL, NULL, training, false}, {"label_*", NULL, NULL, training, false},
    {"stage", "objective", "sft=- pt=- dpo=dpo rm=reward", "another kind of training", true},
    {"rl", "objective", "dpo=dpo ipo=dpo orpo=orpo simpo=orpo grpo=grpo gdpo=grpo false=-", "another kind of training",
     true},
    {"reward_model", "objective", "true=reward false=-", "another kind of training", true},
    {"max_completion_length", "completion", NULL, NULL, false},
    {"num_generations", NULL, NULL, "each of them is an answer of the batch", false},
    {"steps_per_generation", NULL, NULL, loop, false}, {"num_iterations", NULL, NULL, loop, false},
    {"use_vllm", NULL, NULL, loop, false},
    {"vllm_*", NULL, NULL, loop, false}, {"vllm.*", NULL, NULL, loop, false},
    {"generation_batch_size", NULL, NULL, loop, false},
    {"max_prompt_length", NULL, NULL, "a part of seq", false},
    {"beta", NULL, NULL, "weight of the reference", false},
    {"epsilon*", NULL, NULL, training, false}, {"temperature", NULL, NULL, training, false},
    {"top_p", NULL, NULL, training, false}, {"top_k", NULL, NULL, training, false},
    {"loss_type", NULL, LOSSES, "another loss", true}, {"scale_rewards", NULL, NULL, training, false},
    {"center_rewards_coefficient", NULL, NULL, training, false},
    {"mask_truncated_completions", NULL, NULL, training, false}, {"importance_sampling_level", NULL, NULL, training, false},
    {"assistant_only_loss", NULL, NULL, training, false}, {"completion_only_loss", NULL, NULL, training, false},
    {"sync_ref_model", NULL, NULL, "now and then", false}, {"ref_model_mixup_alpha", NULL, NULL, training, false},
    {"ref_model_sync_steps", NULL, NULL, training, false},
    {"desirable_weight", NULL, NULL, unpaired, true}, {"undesirable_weight", NULL, NULL, unpaired, true},
    {"reward_weights*", NULL, NULL, training, false}, {"reward_funcs*", NULL, NULL, "functions that score", false},
    {"pref_loss", "objective", "orpo=orpo simpo=orpo sigmoid=- hinge=- ipo=-", "another loss over pairs", true},
    {"pref_*", NULL, NULL, training, false}, {"rl_beta", NULL, NULL, training, false},
    {"dpo_label_smoothing", NULL, NULL, training, false}, {"dpo_beta", NULL, NULL, training, false},
    {"dpo_use_logits_to_keep", NULL, "false=-", "logits of answers alone", true},
    {"dpo_*", NULL, NULL, "another loss over pairs", true}, {"orpo_*", NULL, NULL, training, false},
    {"precompute_ref_log_probs", "reference", "true=cached false=-", "each micro-batch passes through the reference",
     false},
    {"num_epochs", NULL, NULL, training, false},
    {"early_stopping_patience", NULL, NULL, training, false}, {"loss_watchdog_*", NULL, NULL, training, false},
    {"strict", NULL, NULL, files, false}, {"debug", NULL, NULL, files, false}, {"wandb_*", NULL, NULL, files, false},
    {"saves_per_epoch", NULL, NULL, files, false},
    {"plot_loss", NULL, NULL, files, false}, {"past_index", NULL, NULL, training, false},
    {"full_determinism", NULL, NULL, "deterministic kernels", true},
    {"local_rank", NULL, NULL, files, false}, {"skip_memory_metrics", NULL, NULL, files, false},
    {"ray_*", NULL, NULL, files, false},
    {"include_*", NULL, NULL, files, false}, {"ignore_data_skip", NULL, NULL, files, false},
    {"restore_callback_*", NULL, NULL, files, false},
    {"jit_mode_eval", NULL, NULL, evaluation, false}, {"use_legacy_prediction_loop", NULL, NULL, evaluation, false},
    {"average_tokens_across_devices", NULL, NULL, training, false},
    {"mp_parameters", NULL, "=-", "SageMaker's model parallelism", true},
    {"use_ipex", NULL, NULL, "another device", true}, {"use_mps_device", NULL, NULL, "another device", true},
    {"tpu_*", NULL, NULL, "another device", false}, {"torchdynamo", NULL, NULL, "details of the compiler", true},
    {"output_dir", NULL, NULL, files, false}, {"overwrite_output_dir", NULL, NULL, files, false},
    {"logging*", NULL, NULL, files, false}, {"log_*", NULL, NULL, files, false}, {"save*", NULL, NULL, files, false},
    {"report_to", NULL, NULL, files, false}, {"report_to[*", NULL, NULL, files, false},
    {"run_name", NULL, NULL, files, false},
    {"push_to_hub*", NULL, NULL, files, false}, {"hub_*", NULL, NULL, files, false},
    {"disable_tqdm", NULL, NULL, files, false}, {"resume_from_checkpoint", NULL, NULL, files, false},
    {"chunked_cross_entropy", "loss_chunks", "true=8 false=-", "off", false},
    {"chunked_cross_entropy_num_chunks", "loss_chunks", NULL, NULL, false},
    {"eager_attention", "attention", "true=math false=-", "off", false},
    {"flex_attention", NULL, NULL, "kernels of FlexAttention", true},
    {"sage_attention", NULL, NULL, "kernels in 8 bits", true}, {"flash_attn_*", NULL, NULL, "other kernels", true},
    {"shift_attn", NULL, NULL, "attention in groups", true}, {"context_parallel_size", "cp", NULL, NULL, false},
    {"sequence_parallel_degree", "cp", NULL, NULL, false}, {"tensor_parallel_size", "tp", NULL, NULL, false},
    {"dp_shard_size", "dp_shard", NULL, NULL, false},
    {"dp_replicate_size", NULL, "1=-", "copies of what is sharded: set dp_shard", true},
    {"bfloat16", "precision", "true=bf16-pure false=-", "off", false},
    {"fp8", NULL, NULL, "products in fp8: set precision fp8", true}, {"fp8_*", NULL, NULL, "of fp8", false},
    {"qat*", NULL, NULL, "quantisation while training", true},
    {"use_onebitllms", NULL, NULL, "quantisation while training", true},
    {"use_muon", "optimizer", "true=muon false=-", "off", false}, {"use_galore", NULL, NULL, others, true},
    {"use_apollo", NULL, NULL, others, true}, {"use_badam", NULL, NULL, others, true},
    {"use_adam_mini", NULL, NULL, others, true}, {"galore_*", NULL, NULL, decided, false},
    {"apollo_*", NULL, NULL, decided, false}, {"badam_*", NULL, NULL, decided, false},
    {"oft_*", NULL, NULL, decided, false}, {"qgalore_*", NULL, NULL, decided, false},
    {"dion_*", NULL, NULL, decided, false}, {"lisa_*", NULL, NULL, "layers that take turns", true},
    {"relora*", NULL, NULL, "adapters that are merged on the way", true},
    {"use_llama_pro", NULL, NULL, "layers that are added", true},
    {"mixture_of_depths", NULL, NULL, "tokens that leave layers out", true},
    {"use_kt", NULL, NULL, "another engine", true}, {"kt_*", NULL, NULL, decided, false},
    {"use_mca", NULL, NULL, "Megatron's engine: set trainer megatron", true},
    {"use_megatron_bridge", NULL, NULL, "Megatron's engine: set trainer megatron", true},
    {"megatron_bridge_args*", NULL, NULL, decided, false}, {"use_hyper_parallel", NULL, NULL, "another engine", true},
    {"hyper_parallel_*", NULL, NULL, decided, false},
    {"layer_offloading", NULL, NULL, "layers that wait on the host", true},
    {"tiled_mlp*", NULL, NULL, "the MLP in pieces", true}, {"use_pose", NULL, NULL, "skipped positions", true},
    {"pose_*", NULL, NULL, decided, false}, {"batch_flattening", NULL, NULL, fill, true},
    {"fp32_norm*", NULL, NULL, "types of single layers", true},
    {"embeddings_skip_upcast", NULL, NULL, "types of single layers", false},
    {"resize_vocab", NULL, NULL, vocabulary, true}, {"shrink_embeddings", NULL, NULL, vocabulary, true},
    {"resize_token_embeddings_to_32x", NULL, NULL, vocabulary, true},
    {"use_reentrant_gc", NULL, NULL, "the same memory, about the same time", false},
    {"quantize_moe_experts", NULL, NULL, quantised, true},
    {"experts_implementation", NULL, NULL, "kernels of experts", true},
    {"use_kernels", NULL, NULL, "kernels of the hub", true},
    {"use_v1_kernels", NULL, NULL, "kernels of another package", true},
    {"device_map", NULL, "auto=-", "where layers are", true}, {"max_memory*", NULL, NULL, "where layers are", true},
    {"gpu_memory_limit", NULL, NULL, "where layers are", true},
    {"image_max_pixels", NULL, NULL, "sizes of images", true}, {"image_size", NULL, NULL, "sizes of images", true},
    {"video_*", NULL, NULL, "sizes of videos", true},
    {"image_*", NULL, NULL, loading, false}, {"audio_*", NULL, NULL, loading, false},
    {"ref_model*", NULL, NULL, "another reference than the model", true}, {"reward_model_*", NULL, NULL, loop, true},
    {"ppo_*", NULL, NULL, training, false}, {"kto_*", NULL, NULL, training, false},
    {"adapter_name_or_path", NULL, NULL, files, false}, {"adapter_folder", NULL, NULL, files, false},
    {"cache_dir", NULL, NULL, files, false}, {"media_dir", NULL, NULL, files, false},
    {"tokenized_path", NULL, NULL, files, false}, {"export_*", NULL, NULL, files, false},
    {"hf_hub_token", NULL, NULL, files, false}, {"ms_hub_token", NULL, NULL, files, false},
    {"om_hub_token", NULL, NULL, files, false}, {"swanlab_*", NULL, NULL, files, false},
    {"use_swanlab", NULL, NULL, files, false}, {"use_wandb", NULL, NULL, files, false},
    {"use_mlflow", NULL, NULL, files, false}, {"mlflow_*", NULL, NULL, files, false},
    {"hf_mlflow_*", NULL, NULL, files, false}, {"use_comet", NULL, NULL, files, false},
    {"comet_*", NULL, NULL, files, false}, {"trackio_*", NULL, NULL, files, false},
    {"use_trackio", NULL, NULL, files, false}, {"use_tensorboard", NULL, NULL, files, false},
    {"gradio_*", NULL, NULL, files, false}, {"profiler_*", NULL, NULL, files, false},
    {"use_otel_metrics", NULL, NULL, files, false}, {"otel_*", NULL, NULL, files, false},
    {"hf_use_auth_token", NULL, NULL, files, false}, {"auto_resume_from_checkpoints", NULL, NULL, files, false},
    {"axolotl_config_path", NULL, NULL, files, false}, {"low_cpu_mem_usage", NULL, NULL, files, false},
    {"print_param_status", NULL, NULL, files, false}, {"is_falcon_derived_model", NULL, NULL, files, false},
    {"is_llama_derived_model", NULL, NULL, files, false}, {"is_mistral_derived_model", NULL, NULL, files, false},
    {"is_qwen_derived_model", NULL, NULL, files, false}, {"infer_*", NULL, NULL, evaluation, false},
    {"generat*", NULL, NULL, evaluation, false}, {"sglang_*", NULL, NULL, evaluation, false},
    {"compute_accuracy", NULL, NULL, evaluation, false}, {"bench_*", NULL, NULL, evaluation, false},
    {"max_new_tokens", NULL, NULL, evaluation, false}, {"use_kv_cache", NULL, NULL, evaluation, false},
    {"streaming*", NULL, NULL, loading, false}, {"pretraining_dataset*", NULL, NULL, loading, false},
    {"interleave_probs", NULL, NULL, loading, false}, {"mix_strategy", NULL, NULL, loading, false},
    {"preprocessing_*", NULL, NULL, loading, false}, {"data_shared_file_system", NULL, NULL, loading, false},
    {"disable_shuffling", NULL, NULL, loading, false}, {"shuffle_merged_datasets", NULL, NULL, loading, false},
    {"skip_prepare_dataset", NULL, NULL, loading, false}, {"default_system*", NULL, NULL, loading, false},
    {"enable_thinking", NULL, NULL, loading, false}, {"tool_format", NULL, NULL, loading, false},
    {"add_tokens", NULL, NULL, loading, false}, {"add_special_tokens", NULL, NULL, loading, false},
    {"split_special_tokens", NULL, NULL, loading, false}, {"use_fast_tokenizer", NULL, NULL, loading, false},
    {"eot_tokens*", NULL, NULL, loading, false}, {"processor_*", NULL, NULL, loading, false},
    {"mask_history", NULL, NULL, training, false}, {"train_on_prompt", NULL, NULL, training, false},
    {"train_from_scratch", NULL, NULL, training, false}, {"create_new_adapter", NULL, NULL, training, false},
    {"rope_scaling", NULL, NULL, training, false}, {"moe_aux_loss_coef", NULL, NULL, training, false},
    {"simpo_gamma", NULL, NULL, training, false}, {"ld_alpha", NULL, NULL, training, false},
    {"cpo_alpha", NULL, NULL, training, false}, {"embedding_lr*", NULL, NULL, training, false},
    {"cosine_*", NULL, NULL, training, false}, {"lr_*", NULL, NULL, training, false},
    {"early_stopping_steps", NULL, NULL, training, false}, {"loftq_*", NULL, NULL, training, false},
    {NULL, NULL, NULL, NULL, false},
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

static bool is_set(struct mfu_import *m, const char *name)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e && e->set;
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
    bool half = is_set(m, "bf16") || is_set(m, "fp16"), pure = is_set(m, "torch_dtype") || is_set(m, "pure_bf16");

    if (is_set(m, "bf16") && mfu_import_find(m, "base_model") && !adapted(m)) {
        mfu_import_set(m, bf16, "precision", "axolotl loads the weights in bf16", "bf16-pure");
        pure = false;
    }
    for (size_t i = 0; i < 3; i++)
        if (is_set(m, wider[i]) && (pure || (half && i == 2)))
            mfu_import_leave(mfu_import_find(m, wider[i]), MFU_IGNORED,
                             pure ? "the weights are in bf16" : "beside 16-bit autocast nothing large is left in fp32");
    if (!half && !pure && !is_set(m, "tf32"))
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
}

static bool is(struct mfu_import *m, const char *name, const char *value)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e && strcasecmp(e->value, value) == 0;
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
    if (!is_set(m, "load_in_4bit") && !is_set(m, "load_in_8bit") && !is_set(m, "quantization_bit"))
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
    bool lora = is(m, "adapter", "lora") || is(m, "adapter", "qlora") || is(m, "finetuning_type", "lora")
        || is(m, "use_peft", "true");

    if (!is(m, "finetuning_type", "freeze"))
        forget(m, of_freezing, "all layers train");
    else if (!is_set(m, "freeze_trainable_layers"))
        mfu_import_assume(m, "trainable_layers", "2", "LLaMA-Factory's default");
    if (!lora) {
        forget(m, of_adapters, "there are no adapters");
        return;
    }
    if (!is_set(m, "lora_r") && !is_set(m, "lora_rank"))
        mfu_import_assume(m, "lora", factory || axolotl ? "8" : "16", "the program's default");
    if (is(m, "lora_target_linear", "true")) {
        mfu_import_set(m, mfu_import_find(m, "lora_target_linear"), "lora_targets", "", "all-linear");
    } else if (is(m, "lora_target", "all") || is(m, "lora_target_modules", "all-linear")) {
        mfu_import_set(m, mfu_import_find(m, is(m, "lora_target", "all") ? "lora_target" : "lora_target_modules"),
                       "lora_targets", "", "all-linear");
    } else if (!mfu_import_list(m, "lora_target_modules", "lora_targets", "")
               && !mfu_import_list(m, "lora_target", "lora_targets", "")) {
        mfu_import_assume(m, "lora_targets", factory ? "all-linear" : "q_proj,v_proj", "the program's default");
    }
    if (!mfu_import_list(m, "lora_modules_to_save", "trainable", "train beside the adapters, as copies"))
        mfu_import_list(m, "additional_target", "trainable", "train beside the adapters, as copies");
    if (base && base->set
        && (axolotl || is(m, "bnb_4bit_use_double_quant", "true") || is(m, "use_bnb_nested_quant", "true")))
        mfu_import_set(m, base, "base_precision", "with double quantisation", "nf4-double");
    if (is(m, "double_quantization", "false") && is(m, "quantization_bit", "4"))
        mfu_import_set(m, mfu_import_find(m, "quantization_bit"), "base_precision", "", "nf4");
    if (is_set(m, "pure_bf16"))
        mfu_import_assume(m, "lora_dtype", "16bit", "of a model in bf16");
    find_rest(m, axolotl, factory);
}

/* Image encoders: LLaMA-Factory (0.9.6, finetuning_args.py) freezes them and their projectors unless it is told otherwise,
 * beside adapters, too.  Other programs adapt whatever has the name. */
static void find_tower(struct mfu_import *m)
{
    bool factory = mfu_import_find(m, "finetuning_type") != NULL;
    bool vision = !factory || is(m, "freeze_vision_tower", "false");
    bool projector = !factory || is(m, "freeze_multi_modal_projector", "false");
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

    if (!is(m, "use_vllm", "true") || is(m, "vllm_mode", "server") || is(m, "vllm_enable_sleep_mode", "true"))
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
    if (is_set(m, "use_muon") && (optimizer = mfu_import_find(m, "optim")))
        mfu_import_leave(optimizer, MFU_IGNORED, "use_muon says which");
    find_chunks(m);
    take_liger(m);
    if (mfu_import_find(m, "finetuning_type") && checkpoint && checkpoint->fate == MFU_ASSUMED)
        mfu_import_set(m, checkpoint, "checkpoint", "LLaMA-Factory switches it on", "full");
}

const struct mfu_import_format mfu_import_format_huggingface = {
    .name = "huggingface",
    .title = "Hugging Face TrainingArguments",
    .recognise = recognise,
    .take_apart = take_apart,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
