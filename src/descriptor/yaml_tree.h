/*
 * yaml_tree.h - a document as it is kept; for those who make one:
 * yaml_parse.c from text, packed.c from what is compiled in.
 */
#ifndef MFU_YAML_TREE_H
#define MFU_YAML_TREE_H

#include <stdint.h>

#include "base/arena.h"

struct mfu_error;

enum mfu_node_style { MFU_PLAIN, MFU_QUOTED, MFU_BLOCK }; /* word, 'word' or "word", | or > */

struct mfu_yaml_node {
    unsigned char type;  /* enum mfu_node_type */
    unsigned char style; /* of a scalar: enum mfu_node_style */
    int line, column;    /* of the node itself; from one */
    int key_line, key_column;
    uint32_t key_hash;
    const char *key;  /* in a mapping, else NULL */
    const char *text; /* of a scalar, else NULL */
    size_t count;
    struct mfu_yaml_node **members;
    struct mfu_yaml_node *next; /* in the list from which `members` is made */
};

struct mfu_yaml {
    const char *name;
    struct mfu_yaml_node *root;
    struct mfu_arena arena;
};

#define MFU_YAML_LARGEST (1u << 20) /* bytes of a text; a real descriptor has 3000 */

/* Reads the nodes of a document that has its name; 0 or -1 with `err`. */
int mfu_yaml_fill(struct mfu_yaml *, const char *text, size_t length, struct mfu_error *err);

#endif
