/*
 * module_kinds.h - what a weight is for, a row each: by these names people say
 * which weights train and which get adapters.  What is in front of a language model is a kind as a whole, which names
 * that begin so say ("vision.q").
 *
 * `aliases` are names of modules in other programs; `operations` ends of the names
 * that model files give to operations, tried from the first row on.
 */
#ifndef MFU_MODULE_KINDS_H
#define MFU_MODULE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_model_op;

/* X(identifier, name, aliases, operations) */
#define MFU_MODULE_KINDS(X)                                                                                            \
    X(ADD_QUERY, "add_q", "add_q_proj", "attn.add_q")                                                                  \
    X(ADD_KEY, "add_k", "add_k_proj", "attn.add_k")                                                                    \
    X(ADD_VALUE, "add_v", "add_v_proj", "attn.add_v")                                                                  \
    X(ADD_OUT, "add_o", "to_add_out", "attn.add_o")                                                                    \
    X(CONTEXT_UP, "context_up", "ff_context.net.0.proj linear_in", "mlp_context.fc1 mlp_context.gate_up")              \
    X(CONTEXT_DOWN, "context_down", "ff_context.net.2 linear_out", "mlp_context.fc2 mlp_context.down")                 \
    X(QUERY, "q", "q_proj query wq to_q", "q")                                                                         \
    X(KEY, "k", "k_proj key wk to_k", "k")                                                                             \
    X(VALUE, "v", "v_proj value wv to_v", "v")                                                                         \
    X(QKV, "qkv", "c_attn query_key_value wqkv qkv_proj in_proj to_qkv_mlp_proj", "qkv qkv_mlp")                       \
    X(OUT, "o", "o_proj out_proj wo output_proj c_proj to_out to_out.0", "attn.o attn1.o attn2.o attn.out attn.proj")  \
    X(GATE, "gate", "gate_proj w1", "mlp.gate shared.gate")                                                            \
    X(UP, "up", "up_proj w3 w2_in c_fc fc1 fc_in dense_h_to_4h ff.net.0.proj",                                         \
      "mlp.up mlp.fc mlp.fc1 ffn.up ff.gate_up shared.up")                                                             \
    X(GATE_UP, "gate_up", "gate_up_proj linear_in", "mlp.gate_up shared.gate_up")                                      \
    X(DOWN, "down", "down_proj w2 c_proj fc2 fc_out dense_4h_to_h ff.net.2 linear_out",                                \
      "mlp.down mlp.proj mlp.fc2 ffn.down ff.down shared.down")                                                        \
    X(EXPERTS, "experts", "moe", "moe.gate moe.up moe.down")                                                           \
    X(HEAD, "head", "lm_head output embed_out", "lm_head head decoder score classifier")                               \
    X(EMBEDDINGS, "embeddings", "embedding embed_tokens wte word_embeddings tok_embeddings", "")                       \
    X(NORMS, "norms", "norm layernorm rmsnorm input_layernorm post_attention_layernorm", "")                           \
    X(BIASES, "biases", "bias", "")                                                                                    \
    X(ADAPTED_BIASES, "adapted-biases", "lora_only", "")                                                               \
    X(VISION, "vision", "vision_tower vision_model image_encoder", "")                                                 \
    X(PROJECTOR, "projector", "multi_modal_projector mm_projector connector", "")                                      \
    X(OTHERS, "others", "", "")

enum mfu_module_kind {
#define X(id, ...) MFU_MODULE_##id,
    MFU_MODULE_KINDS(X)
#undef X
        MFU_MODULE_COUNT
};
#define MFU_MODULE_BIT(id) (1u << MFU_MODULE_##id)
#define MFU_MODULES_ALL ((1u << MFU_MODULE_COUNT) - 1)
/* The linears of layers: the rows before the experts'. */
#define MFU_MODULE_ALL_LINEAR (MFU_MODULE_BIT(EXPERTS) - 1)

/* The kind that an operation's weight is of. */
enum mfu_module_kind mfu_module_kind(const struct mfu_model_op *);

/* A set of kinds from "q_proj,v_proj", "all-linear", "norms,biases"; 0: none.  On
 * failure -1, with the word that is not known in `unknown`. */
int mfu_modules_parse(const char *text, unsigned *set, char *unknown, size_t size);
/* The same back, in the fewest words; returns buf. */
const char *mfu_modules_format(char *buf, size_t size, unsigned set);
/* The i-th word that a set may be made of; NULL behind the last. */
const char *mfu_modules_word(size_t i);

#endif
