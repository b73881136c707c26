#!/bin/bash
TP=8
PP=8
DISTRIBUTED_ARGS="--nproc_per_node 8 --nnodes 24"
MODEL_ARGS="
    --num-layers 80 --hidden-size 12288 --num-attention-heads 96
    --seq-length 2048 --max-position-embeddings 2048
"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $MODEL_ARGS \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
    --num-layers-per-virtual-pipeline-stage 5 \
    --micro-batch-size 2 --global-batch-size 288 --fp16 \
    --recompute-granularity full --recompute-method uniform \
    --lr 6.0e-5 --weight-decay 0.1
