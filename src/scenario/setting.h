/*
 * setting.h - one row per key that a user can set.
 *
 * `set`, `show`, `unset`, Tab, help, JSON and `save` all read this table: a new
 * key is a new row and nothing else.  The dimensions of
 * an architecture are not here: they belong to the model file; coefficients
 * are in descriptor/coefficient.h.
 */
#ifndef MFU_SETTING_H
#define MFU_SETTING_H

#include <stddef.h>
#include <stdbool.h>
#include "base/quantity.h"
#include "scenario/processor.h"

struct mfu_error;

/* X(identifier, key, aliases, dimension, least, most, initial, choices, group, help,
 *   fields of struct mfu_setting that differ from 0) */
#define MFU_COUNT_OF_GPUS MFU_COUNT, 1, 65536, 1, NULL, "parallel"
#define MFU_SETTINGS(X)                                                                                                \
    X(BATCH, "batch",                                                                                                  \
      "batch_size micro_batch micro_batch_size per_device_train_batch_size train_micro_batch_size_per_gpu "            \
      "device_batch_size mbs",                                                                                         \
      MFU_COUNT, 1, 1e6, 1, NULL, "batch", "sequences per GPU in one forward pass (micro-batch)")                      \
    X(ACCUM, "accum",                                                                                                  \
      "gradient_accumulation_steps grad_accum grad_accum_steps gradient_accumulation accumulate_grad_batches",         \
      MFU_COUNT, 1, 1e6, 1, NULL, "batch", "micro-steps per optimizer step on each data-parallel rank",                \
      .keeps_graph = true)                                                                                             \
    X(DOC_LEN, "doc_len", "document_length mean_document_length", MFU_TOKENS, 0, 1e9, 0, NULL, "batch",                \
      "mean number of tokens of a document (sample) before it is cut to seq; 0: each fills its sequence")              \
    X(DOC_SIGMA, "doc_sigma", "", MFU_COUNT, 0, 3, 0, NULL, "batch",                                                   \
      "standard deviation of the logarithm of document lengths (lognormal); 0: all are alike", .fractional = true)     \
    X(TOO_LONG, "too_long", "", MFU_COUNT, 0, 1, 0, mfu_too_long_names, "batch",                                       \
      "what becomes of documents that are longer than seq: cut, or dropped, so that those that are left are shorter")  \
    X(PADDING, "padding", "", MFU_COUNT, 0, MFU_PADDING_COUNT - 1, 0, mfu_padding_names, "batch",                      \
      "how far documents are padded that are not packed: to seq, or to the longest of their batch, of any documents "  \
      "or of like ones (alike: sorted or grouped by length), so that batches differ and the allocator reserves more "  \
      "(doc_len and doc_sigma say by how much)")                                                                       \
    X(PADDING_MASK, "padding_mask", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "batch",                                 \
      "whether attention gets a mask of the padding, as PyTorch's sdpa in transformers does where a batch has any: "   \
      "then its memory-efficient kernel computes all pairs")                                                           \
    X(PACKING, "packing", "sample_packing neat_packing packed", MFU_COUNT, 0, 1, 0, mfu_switch_names, "batch",         \
      "whether several documents share a sequence, each of which attends to itself alone (varlen); off: each is "      \
      "padded to seq")                                                                                                 \
    X(PRECISION, "precision", "dtype", MFU_COUNT, 0, MFU_PRECISION_COUNT - 1, MFU_BF16, mfu_precision_names,           \
      "numerics", "arithmetic of the matrix products (fp16, bf16: autocast with fp32 weights)")                        \
    X(RUNTIME, "runtime", "", MFU_COUNT, 0, MFU_RUNTIME_COUNT - 1, MFU_EAGER, mfu_runtime_names, "runtime",            \
      "software that runs the step")                                                                                   \
    X(PACKAGE, "kernel_package", "", MFU_COUNT, 0, MFU_PACKAGE_COUNT - 1, MFU_PACKAGE_NONE, mfu_package_names,         \
      "runtime", "kernels that stand in for the model's own code: norms, rotary; Liger's: gates, too")                 \
    X(TRAINER, "trainer", "", MFU_COUNT, 0, MFU_TRAINER_COUNT - 1, MFU_TRAINER_DDP, mfu_trainer_names, "runtime",      \
      "program that trains: what it overlaps, how it sums gradients, how long its host takes")                         \
    X(ATTENTION, "attention", "", MFU_COUNT, 0, MFU_ATTENTION_COUNT - 1, MFU_FLASH, mfu_attention_names, "runtime",    \
      "kernel that computes attention")                                                                                \
    X(CHECKPOINT, "checkpoint", "act_ckpt", MFU_COUNT, 0, MFU_CHECKPOINT_COUNT - 1, MFU_NONE, mfu_checkpoint_names,    \
      "runtime", "activations that are computed again in backward")                                                    \
    X(CHECKPOINT_BUDGET, "checkpoint_budget", "activation_memory_budget memory_budget", MFU_COUNT, 0, 1, 0.5, NULL,    \
      "runtime",                                                                                                       \
      "share of what a layer keeps without checkpointing that it may keep with `checkpoint budget`: the results "      \
      "whose recomputation would be most FLOPs",                                                                       \
      .fractional = true)                                                                                              \
    X(CHECKPOINT_LAYERS, "checkpoint_layers", "", MFU_COUNT, 0, 10000, 0, NULL, "runtime",                             \
      "layers that `checkpoint` is of, the first of each stage (Megatron's recompute_method block); 0: all")           \
    X(RECOMPUTE_MODULES, "recompute_modules", "", MFU_COUNT, 0, (1u << MFU_RECOMPUTED_MODULE_COUNT) - 1,               \
      MFU_RECOMPUTED_BIT(AGAIN_CORE_ATTN), NULL, "runtime",                                                            \
      "modules of a layer that `checkpoint selective` computes again (Megatron): core_attn, layernorm, moe_act, "      \
      "mla_up_proj, mlp, shared_experts, moe",                                                                         \
      .set_of = mfu_recomputed_module_names)                                                                           \
    X(OFFLOAD_OPTIMIZER, "offload_optimizer", "optimizer_cpu_offload cpu_offload_optimizer", MFU_COUNT, 0, 1, 0,       \
      mfu_switch_names, "runtime",                                                                                     \
      "whether states and masters are in the host's memory, and the CPU updates the weights (ZeRO-Offload)")           \
    X(OFFLOAD_PARAMS, "offload_params",                                                                                \
      "offload_param fsdp_offload_params fsdp_cpu_offload cpu_offload enable_cpu_offload", MFU_COUNT, 0, 1, 0,         \
      mfu_switch_names, "runtime",                                                                                     \
      "whether weights are in the host's memory, and come block by block as they are used (FSDP, ZeRO 3)")             \
    X(OFFLOAD_ACTIVATIONS, "offload_activations",                                                                      \
      "activation_offloading enable_activation_offloading cpu_offloading_activations", MFU_COUNT, 0, 1, 0,             \
      mfu_switch_names, "runtime", "whether what layers save for backward waits in the host's memory")                 \
    X(NVME_OPTIMIZER, "nvme_optimizer", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "runtime",                           \
      "whether what offload_optimizer moves is on the host's NVMe drives instead, but for what is being updated "      \
      "(ZeRO-Infinity)")                                                                                               \
    X(NVME_PARAMS, "nvme_params", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "runtime",                                 \
      "whether what offload_params moves is on the host's NVMe drives instead, but for max_in_cpu")                    \
    X(SUB_GROUP_SIZE, "sub_group_size", "stage3_sub_group_size", MFU_COUNT, 1, 1e13, 1e9, NULL, "runtime",             \
      "parameters that a process updates at once (DeepSpeed), with nvme_optimizer")                                    \
    X(NVME_BUFFERS, "nvme_buffers", "", MFU_COUNT, 1, 1024, 4, NULL, "runtime",                                        \
      "pinned buffers of a sub-group's size through which states come from NVMe (DeepSpeed's buffer_count)")           \
    X(NVME_PIPELINE, "nvme_pipeline", "", MFU_COUNT, 0, 3, 0, mfu_nvme_pipeline_names, "runtime",                      \
      "which traffic with NVMe runs while the CPU updates a sub-group: reading the next, writing the last "            \
      "(DeepSpeed's pipeline_read, pipeline_write)")                                                                   \
    X(NVME_PARAM_BUFFERS, "nvme_param_buffers", "", MFU_COUNT, 1, 65536, 5, NULL, "runtime",                           \
      "pinned buffers through which weights come from NVMe, each")                                                     \
    X(NVME_PARAM_BUFFER, "nvme_param_buffer", "", MFU_COUNT, 1, 1e13, 1e8, NULL, "runtime",                            \
      "of so many parameters (DeepSpeed's buffer_size)")                                                               \
    X(MAX_IN_CPU, "max_in_cpu", "", MFU_COUNT, 0, 1e13, 1e9, NULL, "runtime",                                          \
      "parameters of a process that nvme_params leaves in the host's memory")                                          \
    X(OPTIMIZER, "optimizer", "", MFU_COUNT, 0, MFU_OPTIMIZER_COUNT - 1, MFU_ADAMW, mfu_optimizer_names, "runtime",    \
      "optimizer and its implementation")                                                                              \
    X(OPTIMIZER_RANK, "optimizer_rank", "galore_rank", MFU_COUNT, 0, 65536, 0, NULL, "runtime",                        \
      "rows or columns to which GaLore and APOLLO project the gradient of a matrix; 0: 128, APOLLO-Mini 1")            \
    X(EXP_AVG, "exp_avg_dtype", "", MFU_COUNT, 0, MFU_STATE_TYPE_COUNT - 1, MFU_STATE_OWN, mfu_state_type_names,       \
      "numerics", "type of Adam's first moment, where it is not the optimizer's own (TransformerEngine's FusedAdam)")  \
    X(EXP_AVG_SQ, "exp_avg_sq_dtype", "", MFU_COUNT, 0, MFU_STATE_TYPE_COUNT - 1, MFU_STATE_OWN, mfu_state_type_names, \
      "numerics", "the same of the second moment")                                                                     \
    X(MAIN_PARAMS, "main_params_dtype", "master_weight_dtype", MFU_COUNT, 0, MFU_MASTER_COUNT - 1, MFU_MASTER_FP32,    \
      mfu_master_names, "numerics",                                                                                    \
      "type of the masters beside 16-bit weights: fp16 with a scale, or the 16 bits by which fp32 ones differ from "   \
      "bf16 weights (FusedAdam's store_param_remainders)")                                                             \
    X(OBJECTIVE, "objective", "rl preference_loss", MFU_COUNT, 0, MFU_OBJECTIVE_COUNT - 1, MFU_NEXT_TOKEN,             \
      mfu_objective_names, "training",                                                                                 \
      "what is learnt: the next token, which of two answers is better (dpo, orpo, reward: a sample of the batch is a " \
      "pair), the policy of a loop that writes its own answers (grpo), or their value")                                \
    X(REFERENCE, "reference", "", MFU_COUNT, 0, MFU_REFERENCE_COUNT - 1, MFU_REFERENCE_MODEL, mfu_reference_names,     \
      "training",                                                                                                      \
      "source of the log-probabilities before training (dpo, grpo): a frozen model, base: the model without "          \
      "its adapters, cached: computed before, none: not asked")                                                        \
    X(LORA, "lora", "lora_r lora_rank adapter_rank virtual_tokens num_virtual_tokens", MFU_COUNT, 0, 65536, 0, NULL,   \
      "training",                                                                                                      \
      "rank of the adapters (LoRA) that train beside frozen weights, or the number of virtual tokens; 0: none")        \
    X(ADAPTER, "adapter", "peft_type peft_method", MFU_COUNT, 0, MFU_METHOD_COUNT - 1, MFU_METHOD_NONE,                \
      mfu_method_names, "training", "method of peft that trains little beside frozen weights; lora is its size")       \
    X(LOKR_FACTOR, "lokr_factor", "decompose_factor", MFU_COUNT, 0, 65536, 0, NULL, "training",                        \
      "rows and columns of the smaller factor of LoKr; 0: near the square root")                                       \
    X(ADAPTER_BLOCKS, "adapter_blocks", "boft_block_num", MFU_COUNT, 0, 65536, 0, NULL, "training",                    \
      "blocks into which OFT and BOFT cut an input row; 0: lora says their size")                                      \
    X(IA3_INPUTS, "ia3_inputs", "feedforward_modules", MFU_COUNT, 0, MFU_MODULES_ALL, MFU_MODULE_BIT(DOWN), NULL,      \
      "training", "targets of IA3 whose input is scaled, not their result", .modules = true)                           \
    X(PROMPT_ENCODER, "prompt_encoder", "encoder_hidden_size", MFU_COUNT, 0, 1048576, 0, NULL, "training",             \
      "width inside the MLP that makes learned tokens (p-tuning; 0: the model's) or learned keys (prefix-tuning; "     \
      "0: none does)")                                                                                                 \
    X(LORA_TARGETS, "lora_targets", "lora_target_modules target_modules lora_target", MFU_COUNT, 0, MFU_MODULES_ALL,   \
      MFU_MODULE_ALL_LINEAR, NULL, "training",                                                                         \
      "linears that have adapters: all-linear, attention, mlp, q_proj,v_proj", .modules = true)                        \
    X(LORA_DROPOUT, "lora_dropout", "", MFU_COUNT, 0, 0.99, 0, NULL, "training",                                       \
      "probability of zeroing an element of an adapter's input", .fractional = true)                                   \
    X(LORA_KERNELS, "lora_kernels", "", MFU_COUNT, 0, MFU_ADAPTER_KIND_COUNT - 1, MFU_ADAPTER_PEFT, mfu_adapter_names, \
      "training", "code that computes adapters: peft's modules, plain ones in the model's type, fused kernels")        \
    X(LORA_DTYPE, "lora_dtype", "adapter_dtype", MFU_COUNT, 0, 1, 0, mfu_adapter_types, "training",                    \
      "type of the adapters' weights (peft: fp32)")                                                                    \
    X(DORA, "dora", "use_dora peft_use_dora", MFU_COUNT, 0, 1, 0, mfu_switch_names, "training",                        \
      "DoRA: adapters with a trained magnitude of each output")                                                        \
    X(TRAINABLE_TOKENS, "trainable_tokens", "trainable_token_indices", MFU_COUNT, 0, 1048576, 0, NULL, "training",     \
      "tokens whose entries of the table train beside LoRA (peft): each pass copies the whole table, as the head "     \
      "does "                                                                                                          \
      "where it has the same")                                                                                         \
    X(TRAINABLE, "trainable", "", MFU_COUNT, 0, MFU_MODULES_ALL, MFU_MODULES_ALL, NULL, "training",                    \
      "weights of the model that train: all, none, or kinds of them (norms, biases, embeddings, head, attention, "     \
      "mlp)",                                                                                                          \
      .modules = true)                                                                                                 \
    X(TRAINABLE_LAYERS, "trainable_layers", "freeze_trainable_layers", MFU_COUNT, 0, 10000, 0, NULL, "training",       \
      "number of layers that train, the last ones, with all others and what is around them frozen, or which: 20..31; " \
      "0: all layers")                                                                                                 \
    X(TRAINABLE_FROM, "trainable_from", "", MFU_COUNT, -1, 10000, -1, NULL, "training",                                \
      "number of the first of the layers that train, from 0 on; -1: they are the last ones")                           \
    X(BASE, "base_precision", "base", MFU_COUNT, 0, MFU_BASE_COUNT - 1, MFU_BASE_AS_TRAINED, mfu_base_names,           \
      "training", "form in which weights are held that were loaded: those that adapters leave frozen, or all")         \
    X(QUANT_BLOCK, "quant_block", "bnb_4bit_blocksize quant_block_size group_size", MFU_COUNT, 0, 4096, 0, NULL,       \
      "training", "weights of a 4-bit base that share a scale; 0: as its program has it", .least_but_0 = 32)           \
    X(FP32_REST, "fp32_rest", "prepare_kbit", MFU_COUNT, 0, 1, 0, mfu_switch_names, "training",                        \
      "embeddings, norms and head in fp32 beside a quantised base (peft's prepare_model_for_kbit_training)")           \
    X(OPTIMIZER_IN_BACKWARD, "optimizer_in_backward", "optimizer_in_bwd fused_backward_pass", MFU_COUNT, 0, 1, 0,      \
      mfu_switch_names, "training",                                                                                    \
      "update of each weight as soon as its gradient is there, which is not kept (compiled: layer by layer)")          \
    X(ZERO_GRAD, "zero_grad", "", MFU_COUNT, 0, MFU_ZERO_GRAD_COUNT - 1, MFU_ZERO_GRAD_FREE, mfu_zero_grad_names,      \
      "training",                                                                                                      \
      "what becomes of gradients after the update: they are freed, or filled with zeros and added to (PyTorch's "      \
      "default before 2.0, 2023)")                                                                                     \
    X(EMA, "ema", "", MFU_COUNT, 0, MFU_EMA_COUNT - 1, 0, mfu_ema_names, "training",                                   \
      "running mean of the weights that train (diffusion, images), updated after each step: by one kernel over all "   \
      "(lerp: timm), two with a copy (foreach: diffusers' foreach_ema), or three for each tensor (loop: diffusers)")   \
    X(GRAD_CLIP, "grad_clip", "clip_grad max_grad_norm gradient_clipping gradient_clip_val", MFU_COUNT, 0, 1e9, 1,     \
      NULL, "runtime", "largest gradient norm; 0 switches clipping off", .fractional = true)                           \
    X(HALF_WEIGHTS, "half_weights", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "numerics",                              \
      "16-bit weights and gradients with fp32 masters in the optimizer: FSDP's mixed precision, DeepSpeed, apex O2; "  \
      "ZeRO uses this unless "                                                                                         \
      "you set it to off")                                                                                             \
    X(FP8_WEIGHTS, "fp8_param_gather", "fp8_param", MFU_COUNT, 0, 1, 0, mfu_switch_names, "numerics",                  \
      "weights of linears held and gathered in fp8 (Megatron's distributed optimizer)")                                \
    X(CUDA_GRAPHS, "cuda_graphs", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "runtime",                                 \
      "replay of the step as CUDA graphs")                                                                             \
    X(GRAPH_SCOPE, "cuda_graph_scope", "", MFU_COUNT, 0, MFU_GRAPH_SCOPE_COUNT - 1, 0, mfu_graph_scope_names,          \
      "runtime", "what CUDA graphs replay: all, or of layers with experts the rest (attention)")                       \
    X(LOSS_CHUNKS, "loss_chunks", "", MFU_COUNT, 1, 4096, 1, NULL, "runtime",                                          \
      "pieces in which head and loss are computed (1: at once)")                                                       \
    X(TRAIN_METRICS, "train_metrics", "", MFU_COUNT, 0, 16, 0, NULL, "runtime",                                        \
      "metrics that the trainer computes from the logits of every micro-step (cross-entropy, perplexity: each reads "  \
      "them all again)")                                                                                               \
    X(GPUS, "gpus", "n_gpus num_gpus world_size", MFU_COUNT_OF_GPUS, "GPUs in all")                                    \
    X(NODES, "nodes", "nnodes num_nodes num_machines", MFU_COUNT_OF_GPUS, "machines that hold the GPUs",               \
      .keeps_graph = true)                                                                                             \
    X(DP, "dp", "data_parallel data_parallel_size data_parallel_degree", MFU_COUNT_OF_GPUS,                            \
      "GPUs that split the batch (data parallel)")                                                                     \
    X(DP_SHARD, "dp_shard", "data_parallel_shard_degree", MFU_COUNT, 0, 65536, 0, NULL, "parallel",                    \
      "of dp, GPUs over which ZeRO and FSDP shard; the others hold copies (HSDP); 0: all")                             \
    X(TP, "tp", "tensor_parallel tensor_parallel_size tensor_parallel_degree tensor_model_parallel_size",              \
      MFU_COUNT_OF_GPUS, "GPUs that split each layer (tensor parallel)")                                               \
    X(PP, "pp", "pipeline_parallel pipeline_parallel_size pipeline_parallel_degree pipeline_model_parallel_size",      \
      MFU_COUNT_OF_GPUS, "GPUs that split the layers (pipeline parallel)")                                             \
    X(VPP, "vpp", "virtual_pipeline_model_parallel_size num_virtual_stages_per_pipeline_rank", MFU_COUNT_OF_GPUS,      \
      "virtual pipeline stages per GPU", .keeps_graph = true)                                                          \
    X(SCHEDULE, "schedule", "pipeline_parallel_schedule pp_engine pp_schedule", MFU_COUNT, 0, 255, 0,                  \
      mfu_schedule_names, "parallel", "order in which pipeline stages run forward and backward", .keeps_graph = true)  \
    X(OVERLAP_P2P, "overlap_p2p", "overlap_p2p_comm overlap_p2p_communication", MFU_COUNT, 0, 1, 0, mfu_switch_names,  \
      "parallel", "whether messages of a pipeline travel while the sender computes", .keeps_graph = true)              \
    X(FIRST_STAGE_LESS, "first_stage_less", "first_stage_less_layers", MFU_COUNT, 0, 1000, 0, NULL, "parallel",        \
      "layers that the first pipeline stage has less than others, since it holds the embedding")                       \
    X(LAST_STAGE_LESS, "last_stage_less", "last_stage_less_layers", MFU_COUNT, 0, 1000, 0, NULL, "parallel",           \
      "layers that the last pipeline stage has less than others, since it holds the head")                             \
    X(CP, "cp", "context_parallel context_parallel_size context_parallel_degree", MFU_COUNT_OF_GPUS,                   \
      "GPUs that split the sequence (context parallel)")                                                               \
    X(CONTEXT, "cp_comm_type", "context_parallel_rotate_method", MFU_COUNT, 0, MFU_CONTEXT_KIND_COUNT - 1, 0,          \
      mfu_context_names, "parallel",                                                                                   \
      "how attention meets the rest of a sequence under cp: keys around a ring, keys gathered, heads exchanged "       \
      "(Ulysses), or heads among neighbours and keys around the rest")                                                 \
    X(CP_HEADS, "cp_heads", "", MFU_COUNT, 0, 65536, 0, NULL, "parallel",                                              \
      "of cp, GPUs that exchange heads where cp_comm_type is a2a+p2p (hierarchical_context_parallel_sizes); 0: those " \
      "of a node")                                                                                                     \
    X(EP, "ep", "expert_parallel expert_parallel_size expert_parallel_degree expert_model_parallel_size",              \
      MFU_COUNT_OF_GPUS, "GPUs that split the experts (expert parallel)")                                              \
    X(ETP, "etp", "expert_tensor_parallel_size expert_tensor_parallel_degree", MFU_COUNT_OF_GPUS,                      \
      "GPUs that split each expert (expert tensor parallel); ep x etp divide tp x cp x dp")                            \
    X(DISPATCHER, "moe_dispatcher", "moe_token_dispatcher_type", MFU_COUNT, 0, MFU_DISPATCHER_COUNT - 1, 0,            \
      mfu_dispatcher_names, "parallel",                                                                                \
      "how tokens reach experts elsewhere: a copy for each expert, or for each rank and node (flex: DeepEP, "          \
      "HybridEP)")                                                                                                     \
    X(EXPERT_LOAD, "expert_load", "", MFU_COUNT, 1, 4096, 1.1, NULL, "parallel",                                       \
      "tokens of the fullest expert of a layer over the mean; what routers with a loss for their balance come to, 1 "  \
      "where a benchmark forces it",                                                                                   \
      .keeps_graph = true, .fractional = true)                                                                         \
    X(CAPACITY, "capacity_factor", "moe_expert_capacity_factor", MFU_COUNT, 0, 4096, 0, NULL, "parallel",              \
      "places of an expert over the mean of its tokens; the rest are dropped; 0: there are always enough (dropless)",  \
      .fractional = true)                                                                                              \
    X(PAD_EXPERTS, "pad_experts", "moe_pad_expert_input_to_capacity", MFU_COUNT, 0, 1, 0, mfu_switch_names,            \
      "parallel", "whether each expert computes all its places, filled or not (needs capacity_factor)")                \
    X(FP8_DISPATCH, "fp8_dispatch", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "parallel",                              \
      "whether tokens, and gradients of results, go to their experts in fp8 (DeepSeek-V3; Megatron's "                 \
      "moe_dispatch_fwd_dtype and moe_combine_bwd_dtype)")                                                             \
    X(OVERLAP_MOE, "overlap_moe",                                                                                      \
      "overlap_moe_expert_parallel_comm moe_a2a_overlap pipeline_parallel_expert_parallel_overlap", MFU_COUNT, 0, 1,   \
      0, mfu_switch_names, "parallel",                                                                                 \
      "whether tokens travel to experts and back while another microbatch computes: a forward merged with a backward", \
      .keeps_graph = true)                                                                                             \
    X(RANK_ORDER, "rank_order", "", MFU_COUNT, 0, 1, 0, mfu_rank_order_names, "parallel",                              \
      "axes of parallelism from neighbours to ranks far apart: pp before dp keeps a pipeline together")                \
    X(SP, "sp", "sequence_parallel", MFU_COUNT, 0, 1, 0, mfu_switch_names, "parallel",                                 \
      "sequence parallelism beside tensor parallelism")                                                                \
    X(TP_OVERLAP, "tp_overlap", "", MFU_COUNT, 0, MFU_TP_OVERLAP_COUNT - 1, 0, mfu_tp_overlap_names, "parallel",       \
      "what of tensor parallelism's messages runs beside products: nothing, those of input gradients (Megatron), all " \
      "(user buffers, async TP)")                                                                                      \
    X(LOSS_FUSION, "cross_entropy_fusion", "cross_entropy_loss_fusion cross_entropy_fusion_impl", MFU_COUNT, 0,        \
      MFU_LOSS_FUSION_COUNT - 1, 0, mfu_loss_fusion_names, "runtime",                                                  \
      "kernels of a loss over split classes: Megatron's, one for each line of Python, or as torch.compile merges "     \
      "them (native); "                                                                                                \
      "TransformerEngine's, flash-attn's")                                                                             \
    X(ZERO, "zero", "zero_stage", MFU_COUNT, 0, 3, 0, NULL, "parallel",                                                \
      "ZeRO stage: 0 none, 1 optimizer, 2 gradients, 3 weights (FSDP); of 16-bit weights, see half_weights")           \
    X(RESHARD, "reshard_after_forward", "reshard fsdp_reshard_after_forward", MFU_COUNT, 0, 1, 1, mfu_switch_names,    \
      "parallel",                                                                                                      \
      "whether FSDP lets a block's weights go behind its forward pass (FULL_SHARD) and not behind its backward pass "  \
      "(SHARD_GRAD_OP)")                                                                                               \
    X(EFFICIENT_LINEAR, "memory_efficient_linear", "", MFU_COUNT, 0, 1, 1, mfu_switch_names, "parallel",               \
      "whether linear layers let DeepSpeed's zero 3 free what was gathered: zero.Init sees to it, which Transformers " \
      "calls where TrainingArguments exist before from_pretrained; else autograd holds every weight until backward")   \
    X(OVERLAP_GRAD_REDUCE, "overlap_grad_reduce", "overlap_comm", MFU_COUNT, 0, 1, 1, mfu_switch_names, "parallel",    \
      "whether gradients are summed beside backward")                                                                  \
    X(GRAD_REDUCE, "grad_reduce", "grad_reduce_dtype reduce_dtype communication_data_type mixed_precision_reduce",     \
      MFU_COUNT, 0, MFU_REDUCE_COUNT - 1, 0, mfu_reduce_names, "parallel",                                             \
      "type in which gradients are summed over GPUs: that in which they are added up, fp32, or bf16, which a buffer "  \
      "that is summed where it lies (Megatron) then has, too")                                                         \
    X(OVERLAP_PARAM_GATHER, "overlap_param_gather", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "parallel",              \
      "whether ZeRO 1 gathers new weights beside the next forward")                                                    \
    X(GRAD_BUCKET, "grad_bucket", "", MFU_BYTES, 1, 1e12, 25 * 0x1p20, NULL, "parallel",                               \
      "gradients that are summed in one message beside backward (bucket_cap_mb, ddp_bucket_size)")                     \
    X(DISTRIBUTED_DEBUG, "distributed_debug", "torch_distributed_debug", MFU_COUNT, 0, MFU_DEBUG_DETAIL, 0,            \
      mfu_debug_names, "environment",                                                                                  \
      "checks of torch.distributed: with detail the hosts agree on every collective before it runs",                   \
      .keeps_graph = true)                                                                                             \
    X(LOOP, "loop", "", MFU_COUNT, 0, 1, 0, mfu_loop_names, "environment",                                             \
      "loop around the model: a plain one, or transformers' Trainer, which looks at each loss and walks all weights "  \
      "while the GPU waits",                                                                                           \
      .keeps_graph = true)                                                                                             \
    X(SOFTWARE, "software", "", MFU_COUNT, 0, 2100, 0, NULL, "environment",                                            \
      "year of the libraries (CUDA, cuBLAS, PyTorch); 0: today's", .keeps_graph = true, .least_but_0 = 2015)           \
    X(EXPANDABLE_SEGMENTS, "expandable_segments", "", MFU_COUNT, 0, 1, 0, mfu_switch_names, "environment",             \
      "the allocator's expandable segments (PYTORCH_CUDA_ALLOC_CONF)", .keeps_graph = true)                            \
    X(VRAM_RESERVED, "vram_reserved", "", MFU_BYTES, 0, 1e13, 0, NULL, "environment",                                  \
      "memory that the desktop and other processes hold", .keeps_graph = true)                                         \
    X(DATALOADER, "dataloader", "", MFU_COUNT, 0, 1, 0, mfu_dataloader_names, "environment",                           \
      "what a loader does beside the step where dataloader_ms does not say: nothing, or jpeg: its workers read, "      \
      "decode and crop photographs (host.jpeg)",                                                                       \
      .keeps_graph = true)                                                                                             \
    X(DATALOADER_MS, "dataloader_ms", "", MFU_COUNT, 0, 1e7, 0, NULL, "environment",                                   \
      "loading time per micro-batch, in ms; levers, sweep, search and solve scale it with the batch",                  \
      .keeps_graph = true, .fractional = true)                                                                         \
    X(LOADER_WORKERS, "dataloader_workers", "dataloader_num_workers num_workers", MFU_COUNT, 1, 4096, 1, NULL,         \
      "environment", "processes per GPU that prepare samples beside it", .keeps_graph = true)                          \
    X(SAMPLE_MS, "sample_ms", "", MFU_COUNT, 0, 1e7, 0, NULL, "environment",                                           \
      "time of one worker for one sample, in ms: dataloader_ms follows", .keeps_graph = true, .fractional = true)      \
    X(SAMPLE_BYTES, "sample_bytes", "", MFU_BYTES, 0, 1e12, 0, NULL, "environment",                                    \
      "size of a sample in storage: dataloader_ms follows", .keeps_graph = true)                                       \
    X(STORAGE_RATE, "storage_rate", "", MFU_BYTES_PER_S, 0, 1e15, 0, NULL, "environment",                              \
      "rate at which a machine reads samples, all its GPUs together; 0: no limit", .keeps_graph = true,                \
      .least_but_0 = 1)                                                                                                \
    X(CLOCK_MHZ, "clock_mhz", "", MFU_COUNT, 0, 10000, 0, NULL, "environment",                                         \
      "SM clock under load in MHz; 0: what the coefficients sustain", .keeps_graph = true, .fractional = true,         \
      .least_but_0 = 1)                                                                                                \
    X(CPU, "cpu", "processor host_cpu", MFU_COUNT, 0, MFU_PROCESSOR_COUNT - 1, MFU_CPU_UNKNOWN, mfu_processor_names,   \
      "environment",                                                                                                   \
      "processor of the machine: how fast one thread of it runs Python and launches; unknown: a usual server of its "  \
      "years",                                                                                                         \
      .keeps_graph = true)                                                                                             \
    X(CPU_MARK, "cpu_mark", "", MFU_COUNT, 0, 20000, 0, NULL, "environment",                                           \
      "single-thread rating of the processor by PassMark; host times shrink in proportion; 0: unknown",                \
      .keeps_graph = true, .fractional = true, .least_but_0 = 200)                                                     \
    X(POWER_W, "power_w", "", MFU_COUNT, 0, 100000, 0, NULL, "environment",                                            \
      "board power limit in watts; 0: the GPU's own", .keeps_graph = true, .fractional = true, .least_but_0 = 1,       \
      .unit = MFU_WATTS)

enum mfu_setting_id {
#define X(id, ...) MFU_S_##id,
    MFU_SETTINGS(X)
#undef X
        MFU_SETTING_COUNT
};

struct mfu_setting {
    const char *key;
    const char *aliases; /* separated by blanks */
    enum mfu_dim dim;
    double least, most, initial;
    const char *const *choices; /* NULL-terminated; NULL if it is a number */
    const char *group;
    const char *help;          /* completes the sentence "KEY is the ..." */
    bool keeps_graph;          /* no operation and no tensor depends on it: it changes how long things take
                            or how much room there is */
    bool modules;              /* a set of kinds of weights (descriptor/module_kinds.h), a bit each */
    const char *const *set_of; /* a set of these names, NULL-terminated, a bit each; NULL: it is none */
    bool fractional;           /* a count that need not be a whole number */
    double least_but_0;        /* 0 leaves it open; other values are not below this */
    enum mfu_dim unit;         /* that a value may carry, too (320W); MFU_COUNT: none */
};

extern const struct mfu_setting mfu_settings[MFU_SETTING_COUNT];
extern const char *const mfu_switch_names[];   /* "off", "on", NULL */
extern const char *const mfu_too_long_names[]; /* "cut", "drop", NULL */
extern const char *const mfu_padding_names[];  /* "seq", "longest", "alike", NULL */

/* Types of the states and masters of TransformerEngine's FusedAdam. */
enum { MFU_STATE_OWN, MFU_STATE_FP32, MFU_STATE_BF16, MFU_STATE_FP16, MFU_STATE_FP8, MFU_STATE_TYPE_COUNT };
extern const char *const mfu_state_type_names[MFU_STATE_TYPE_COUNT + 1];
enum { MFU_MASTER_FP32, MFU_MASTER_FP16, MFU_MASTER_REMAINDERS, MFU_MASTER_COUNT };
extern const char *const mfu_master_names[MFU_MASTER_COUNT + 1];

/* Bits: reads ahead, writes behind. */
enum { MFU_NVME_READS_AHEAD = 1, MFU_NVME_WRITES_BEHIND = 2 };
extern const char *const mfu_nvme_pipeline_names[]; /* "none", "read", "write", "both", NULL */

/* Megatron-LM's usual order, and that of --use-tp-pp-dp-mapping and of Llama 3 (3.3.2). */
extern const char *const mfu_rank_order_names[];

/* Types of the sums of gradients. */
enum { MFU_REDUCE_AS_ADDED, MFU_REDUCE_FP32, MFU_REDUCE_BF16, MFU_REDUCE_COUNT };
extern const char *const mfu_reduce_names[MFU_REDUCE_COUNT + 1];

/* What zero_grad() does (PyTorch torch/optim/optimizer.py: set_to_none, whose default is true from 2.0 on). */
enum { MFU_ZERO_GRAD_FREE, MFU_ZERO_GRAD_FILL, MFU_ZERO_GRAD_COUNT };
extern const char *const mfu_zero_grad_names[MFU_ZERO_GRAD_COUNT + 1];
#define MFU_ZERO_GRAD_FREES_SINCE 2023

/* How a running mean of the weights is updated (timm 1.0.31, utils/model_ema.py: ModelEmaV3; diffusers 0.42.1,
 * training_utils.py: EMAModel.step). */
enum { MFU_EMA_OFF, MFU_EMA_LERP, MFU_EMA_FOREACH, MFU_EMA_LOOP, MFU_EMA_COUNT };
extern const char *const mfu_ema_names[MFU_EMA_COUNT + 1];

/* What a loader does. */
enum { MFU_PADDING_SEQ, MFU_PADDING_LONGEST, MFU_PADDING_ALIKE, MFU_PADDING_COUNT };
enum { MFU_LOADER_NOTHING, MFU_LOADER_JPEG, MFU_LOADER_COUNT };
#define MFU_USUAL_WORKERS                                                                                              \
    6 /* that decode for a GPU: cores for each in p4d; 4 in torch's and timm's examples, 5 in DGX-1, 10 in DeiT */
extern const char *const mfu_dataloader_names[MFU_LOADER_COUNT + 1];

#define MFU_DEBUG_DETAIL 2 /* TORCH_DISTRIBUTED_DEBUG, of off, info, detail */
extern const char *const mfu_debug_names[];
extern const char *const mfu_loop_names[];

/* Writes a value as `set` would read it back ("bf16", "8", "2 GiB").  `buf` has
 * room for MFU_QUANTITY_MAX. */
const char *mfu_setting_format(char *buf, enum mfu_setting_id, double value);

/* Whose choice a word of an expression is: that of the setting named before it (-1: none is) if it has one of this name,
 * as in `base_precision == bf16`, else of the first that has.  The setting, and which of its choices; -1: no setting has
 * it. */
int mfu_setting_of_choice(const char *word, int before, int *choice);

/* A choice as a number that belongs to its setting alone, so that no two settings are equal by accident
 * (attention == bf16); a switch is 0 or 1. */
double mfu_setting_choice_number(int setting, double choice);

/* A value that is a word: a choice, or a set of kinds of weights; NULL: it is a number. */
const char *mfu_setting_word(char buf[MFU_QUANTITY_MAX], enum mfu_setting_id, double value);

/* 1 where `text` switches something on (on, true, yes, 1), 0 where it switches it off; -1: neither. */
int mfu_switch_in(const char *text);

/* The choice that `text` names, by its own name or one of other programs; -1: none.
 * In *stands_for (NULL: not wanted) whether that is only planned as the choice. */
int mfu_setting_choice(enum mfu_setting_id, const char *text, bool *stands_for);

#endif
