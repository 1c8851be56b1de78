"""torch.distributed.elastic: the parts of torchrun."""
