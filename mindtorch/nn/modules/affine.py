"""The last step of all norms: times a weight, plus a bias."""
from __future__ import annotations

from mindtorch import empty
from mindtorch.nn import init
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parameter import Parameter


class Affine(Module):
    """A weight initialised to 1 and a bias initialised to 0."""

    weight: Parameter

    def _set_affine_(self, shape, wanted, device, dtype):
        """Parameters of this shape by the names in `wanted`, or None where it says so."""
        for name, is_wanted in wanted.items():
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if is_wanted else None)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        for name, parameter in self.named_parameters(recurse=False):
            (init.ones_ if name == "weight" else init.zeros_)(parameter)
