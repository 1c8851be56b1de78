"""Formats of torch.save and torch.load, and how tensors travel between processes."""
