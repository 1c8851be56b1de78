"""torch.backends.xnnpack: a library that is not there."""
enabled = False
