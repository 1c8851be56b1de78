"""Operators by name: their schemas, kernels and calls. torch.ops and torch.library are its public side."""
