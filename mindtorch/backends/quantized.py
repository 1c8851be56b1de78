"""torch.backends.quantized: there are no quantized tensors, so one engine can be chosen, "none"."""
engine, supported_engines = "none", ["none"]
