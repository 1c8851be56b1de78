"""torch.distributed.algorithms.model_averaging: ranks train on their own and average their parameters at times."""
