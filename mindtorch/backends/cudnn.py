"""torch.backends.cudnn: the switches of a library that is not there."""
from mindtorch.backends import _switches

__path__ = []       # modules below it come from the table of refusals

_set, _flags = _switches.install(__name__, enabled=True, benchmark=False, benchmark_limit=None, deterministic=False,
                                 allow_tf32=True, fp32_precision="none")


def is_available():
    """False."""
    return False


def version():
    """None: there is no cuDNN."""


def is_acceptable(tensor):
    """False: no tensor is cuDNN's business."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None,
              _fp32_precision="none"):
    """Sets the switches that are not None; the values before."""
    return _set(enabled=_enabled, benchmark=_benchmark, benchmark_limit=_benchmark_limit,
                deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision)


def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True,
          fp32_precision="none"):
    """Sets the switches for the length of a `with` block."""
    return _flags(enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
                  allow_tf32=allow_tf32, fp32_precision=fp32_precision)
