"""torch.distributed.elastic: what torchrun is made of."""
