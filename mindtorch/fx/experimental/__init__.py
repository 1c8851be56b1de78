"""torch.fx.experimental: what programs ask about tracing below operators, which mindtorch does not do."""
