/*
 * preallocated.h - memory of a program that lays everything out beforehand.
 */
#ifndef MFU_PREALLOCATED_H
#define MFU_PREALLOCATED_H

struct mfu_builder;

/* llm.c: activations of all layers, scratch and logits, in one allocation that
 * is there all the time; fills the program's constants and makes its tensors
 * take no room of their own. */
void mfu_preallocate(struct mfu_builder *);

#endif
