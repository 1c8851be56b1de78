"""torch.fx.experimental: queries about tracing below operators, which mindtorch does not do."""
