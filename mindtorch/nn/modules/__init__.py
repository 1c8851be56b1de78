"""torch.nn.modules: the layers."""
from importlib import import_module as _import_module

from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.nn.modules.module import Module

_LAYERS = [_import_module(f"mindtorch.nn.modules.{name}") for name in (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "linear", "linear_cross_entropy_options", "loss", "normalization", "padding",
    "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling")]
globals().update({name: getattr(module, name) for module in _LAYERS for name in module.__all__})

__all__ = ["Module"]
__all__ += [name for module in _LAYERS for name in module.__all__]

_complete_docstrings(globals(), "layers", __all__[1:])
