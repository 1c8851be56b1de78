"""Layers that learn the shapes of their parameters from their first input."""
from __future__ import annotations

from typing import Any

from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Stands before a class of modules. The first call has `initialize_parameters` give the parameters their shapes,
    and makes the module one of `cls_to_become`, if that is not None.

    Arguments:
        *args: the arguments of the layer
        **kwargs: the arguments of the layer by name

    Example:
        >>> model = torch.nn.LazyLinear(3)
        >>> isinstance(model, torch.nn.modules.lazy.LazyModuleMixin), model.has_uninitialized_params()
        (True, True)
        >>> _ = model(torch.ones(1, 2))
        >>> model
        Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """Give shapes to the parameters and buffers; gets what forward gets. Subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> Any:
        """Whether a parameter or buffer of this module has no shape yet."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def _replicate_for_data_parallel(self):
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. "
                           "Run a dummy forward pass to correctly initialize the modules")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._own_state_().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Takes the shapes from the state that is about to be loaded."""
        for name, own in self._own_state_().items():
            loaded = state_dict.get(prefix + name)
            if is_lazy(own) and loaded is not None and not is_lazy(loaded):
                with no_grad():
                    own.materialize(loaded.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        """The hook before the first forward."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            module.__dict__.pop(name).remove()
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
