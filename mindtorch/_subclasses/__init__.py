"""torch._subclasses: what programs ask about tensors without data, of which mindtorch has none."""
