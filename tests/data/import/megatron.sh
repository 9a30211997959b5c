#!/bin/bash
# Runs a "7B" model
GPUS_PER_NODE=8
NNODES=1
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
TP=1

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
)
GPT_MODEL_ARGS=(
    --num-layers 24
    --hidden-size 2048
    --num-attention-heads 16
    --seq-length 2048
    --max-position-embeddings 2048
    --swiglu
    --normalization RMSNorm
    --disable-bias-linear
)
TRAINING_ARGS=(
    --micro-batch-size 4
    --global-batch-size 256
    --lr 6.0e-5
    --bf16
    --clip-grad 1.0
    --tensor-model-parallel-size ${TP}
    --recompute-granularity selective
    --frobnicate 7
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]}
