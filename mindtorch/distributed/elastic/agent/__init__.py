"""torch.distributed.elastic.agent."""
