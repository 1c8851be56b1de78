"""torch.ao: only the places that models mark for quantization."""
