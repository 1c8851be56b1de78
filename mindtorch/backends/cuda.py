"""torch.backends.cuda: the switches of libraries that are not there."""
from contextlib import contextmanager

from mindtorch import _settings

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
           "mem_efficient_sdp_enabled", "sdp_kernel"]


class _Matmul:
    """Switches for matrix products. allow_tf32 is another view of torch.get_float32_matmul_precision()."""

    _SWITCHES = {"allow_fp16_reduced_precision_reduction": True, "allow_bf16_reduced_precision_reduction": True,
                 "allow_fp16_accumulation": False, "fp32_precision": "none"}

    def __init__(self):
        vars(self).update(self._SWITCHES)

    @property
    def allow_tf32(self):
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value):
        _settings.set_float32_matmul_precision("high" if value else "highest")

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name, value):
        if name != "allow_tf32" and name not in self._SWITCHES:
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _Matmul()
_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    """False."""
    return False


def is_flash_attention_available():
    """False."""
    return False


def _switch(kind):
    def enable(enabled):
        """Sets the switch of one way to compute attention; it changes nothing."""
        _kernels[kind] = bool(enabled)

    def enabled():
        """What the switch of one way to compute attention was set to; True at first."""
        return _kernels[kind]
    enable.__name__, enabled.__name__ = f"enable_{kind}_sdp", f"{kind}_sdp_enabled"
    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Sets the four switches for the length of a `with` block."""
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _kernels.update(before)
