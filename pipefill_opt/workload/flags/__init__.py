"""Command lines of training programs as MAIN documents: Megatron-LM and torchtitan."""
