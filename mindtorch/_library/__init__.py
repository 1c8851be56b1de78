"""Operators by name: their schemas, kernels and calls. torch.ops and torch.library are its public side."""


def __getattr__(name):
    if name == "utils":
        from importlib import import_module
        return import_module("mindtorch._library.utils")
    raise AttributeError(f"module 'torch._library' has no attribute '{name}'")
