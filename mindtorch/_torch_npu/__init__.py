"""torch_npu for programs that import it beside torch: `torch_npu.npu` is torch.npu. The alias knows it by that name.

Its own operators, npu_*, are rows of _ops/rows/torch_npu.toml; what they do by torch's operators is written here. The
rest of its names says, when it is called, what mindtorch lacks (_refused.py).
"""
from importlib import import_module as _import_module

from mindtorch import npu
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._torch_npu import _attention, _boxes, _formats, _moe, _quantization, _refused, _renamed
from mindtorch.version import __version__ as __version__

__all__ = ["npu"]

for _names in ({name: function for name, function in _OPERATORS.items() if name[0] != "_"},
               *({name: getattr(module, name) for name in module.__all__}
                 for module in (_attention, _boxes, _formats, _moe, _quantization, _refused, _renamed))):
    globals().update(_names)
    __all__ += list(_names)


def __getattr__(name):
    if name in ("optim", "profiler"):
        return _import_module(f"mindtorch._torch_npu.{name}")
    more = ", nor has torch_npu 2.13" if name.startswith("npu_") else ""
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}': mindtorch does not have it{more}")
