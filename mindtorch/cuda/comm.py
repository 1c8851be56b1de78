"""torch.cuda.comm: there are no CUDA devices to copy between."""
