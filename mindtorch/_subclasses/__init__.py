"""torch._subclasses: what programs ask about tensors without data, of which mindtorch has none."""
from mindtorch._refusals.modules import refused_names

__getattr__ = refused_names(__name__)
