/*
 * arena_layout.h - memory of a program that lays everything out beforehand.
 */
#ifndef MFU_ARENA_LAYOUT_H
#define MFU_ARENA_LAYOUT_H

struct mfu_step;

/* llm.c: activations of all layers, scratch and logits, in one allocation that
 * is there all the time; fills the program's constants and makes its tensors
 * take no room of their own. */
void mfu_arena_layout(struct mfu_step *);

#endif
