"""torch.nn.modules: the layers."""
from mindtorch.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from mindtorch.nn.modules.module import Module

_LAYERS = (activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout, flatten, fold,
           instancenorm, linear, linear_cross_entropy_options, loss, normalization, padding, pixelshuffle, pooling,
           rnn, sparse, transformer, upsampling)
globals().update({name: getattr(module, name) for module in _LAYERS for name in module.__all__})

__all__ = ["Module"]
__all__ += [name for module in _LAYERS for name in module.__all__]
