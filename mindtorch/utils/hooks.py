"""torch.utils.hooks: handles of registered hooks, and the hooks around the backward of a module."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.removable_handle import RemovableHandle
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.autograd.function import Function

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """A decorator of hooks: warn_if_has_hooks does not mention them.

    Arguments:
        f: the hook

    Example:
        >>> hook = torch.utils.hooks.unserializable_hook(lambda grad: grad)
        >>> hook.__torch_unserializable__
        True
    """
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of each hook of a tensor that would be lost where the tensor is saved.

    Arguments:
        tensor: the tensor

    Example:
        >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(1))
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                          "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                          stacklevel=2)


class BackwardHook:
    """The full backward hooks of one call of a module: identity nodes before and behind it, with hooks on them.

    Arguments:
        module: the module
        user_hooks: the full backward hooks
        user_pre_hooks: the full backward pre-hooks

    Example:
        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_full_backward_hook(lambda module, given, taken: print(taken[0].shape))
        >>> layer(torch.ones(3, 1, requires_grad=True)).sum().backward()
        torch.Size([3, 1])
    """

    def __init__(self, module: Module, user_hooks: Any, user_pre_hooks: Any) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None             # between the node behind the module and the node before it
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index = self.output_tensors_index = None

    def setup_input_hook(self, args: Any) -> Any:
        """The arguments, having passed the node before the module."""
        self.n_inputs = len(args)
        args, self.input_tensors_index = _through_identity(args, self._inputs_done)
        return args

    def setup_output_hook(self, output: Any) -> Any:
        """The output, having passed the node behind the module."""
        outputs = output if isinstance(output, tuple) else (output,)
        self.n_outputs = len(outputs)
        outputs, self.output_tensors_index = _through_identity(outputs, self._outputs_begin)
        return outputs if isinstance(output, tuple) else outputs[0]

    def _inputs_done(self, grad_inputs, _):
        if self.grad_outputs is None:        # the gradient did not come through the module's output
            return None
        result = _place_values(self.input_tensors_index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            found = hook(self.module, result, self.grad_outputs)
            if found is not None:
                if len(found) != len(result):
                    raise RuntimeError("Backward hook returned an invalid number of grad_input, got "
                                       f"{len(found)}, but expected {len(result)}")
                result = found
        self.grad_outputs = None
        return tuple(result[i] for i in self.input_tensors_index)

    def _outputs_begin(self, _, grad_outputs):
        gradients = _place_values(self.output_tensors_index, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = hook(self.module, gradients)
            if found is not None:
                if len(found) != len(gradients):
                    raise RuntimeError("Backward pre hook returned an invalid number of grad_output, got "
                                       f"{len(found)}, but expected {len(gradients)}")
                gradients = found
        self.grad_outputs = gradients
        if self.input_tensors_index is None:
            self._without_inputs()
        return tuple(gradients[i] for i in self.output_tensors_index)

    def _without_inputs(self):
        """No node before the module: its hooks are called here, and have nothing to change."""
        warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since "
                      "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module."
                      "html#torch.nn.Module.register_full_backward_hook for more details.", stacklevel=5)
        for hook in self.user_hooks:
            found = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all(item is None for item in found)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                   "None or None for all gradients.")
        self.grad_outputs = None


class BackwardHookFunction(Function):
    """The identity. Its node carries the hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


def _place_values(indices, values, size):
    """`values` at their places in a tuple of `size`, None elsewhere."""
    found = [None] * size
    for index, value in zip(indices, values, strict=True):
        found[index] = value
    return tuple(found)


def _through_identity(values, hook):
    """The tuple with its tensors led through one node, which gets the hook, and their indices; None if unrecorded."""
    indices = [i for i, value in enumerate(values) if isinstance(value, TensorBase)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in indices):
        return values, None
    passed = BackwardHookFunction.apply(*[values[i] for i in indices])
    next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None).register_hook(hook)
    changed = list(values)
    for index, tensor in zip(indices, passed, strict=True):
        changed[index] = tensor
    return (tuple(changed) if type(values) is tuple else type(values)(*changed)), indices
