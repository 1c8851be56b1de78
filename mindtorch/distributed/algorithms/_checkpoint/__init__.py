"""torch.distributed.algorithms._checkpoint: activation checkpointing of modules by wrappers."""
