"""torch.autograd.Function: operators with a derivative written by the user."""
from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

from mindtorch._core import hooks
from mindtorch._core.autograd.engine import FunctionNode, apply_custom_function
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.autograd import forward_ad
from mindtorch.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


class FunctionCtx(FunctionNode):
    """`ctx`: the object that forward and backward of a Function share.

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.factor = 2              # attributes are kept for backward
        ...         return x * ctx.factor
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.factor
        >>> x = torch.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """

    non_differentiable_ids = frozenset()            # of results; for forward mode, which asks after they were let go

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep inputs or outputs for backward, which finds them in `saved_tensors`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Keep tensors for forward-mode differentiation."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs forward wrote to; they must be among its results."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no derivative."""
        self.non_differentiable = tensors
        self.non_differentiable_ids = frozenset(map(id, tensors))

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for results that have no gradient."""
        self.materialize_grads = value


class FunctionMeta(type):
    """Gives each Function its node class, so that `y.grad_fn` is called MyFunctionBackward.

    Arguments:
        name: the name of the class
        bases: its bases
        namespace: its attributes

    Example:
        >>> type(torch.autograd.Function) is torch.autograd.function.FunctionMeta
        True
    """

    def __init__(cls, name: str, bases: Any, namespace: Any) -> None:
        cls._backward_cls = type(name + "Backward", (FunctionCtx,), {"_forward_cls": cls})
        super().__init__(name, bases, namespace)


class Function(metaclass=FunctionMeta):
    """Subclass it with static methods `forward(ctx, *inputs)` and `backward(ctx, *grads)`; use `Name.apply(*inputs)`.

    With a `setup_context(ctx, inputs, output)`, forward takes no ctx.

    Arguments:
        *args: refused: a Function is used by `apply`
        **kwargs: refused

    Example:
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x ** 3
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 3 * x ** 2 * grad
        >>> x = torch.tensor([2.0], requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor([12.])
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
                      "should invoke them on the class itself. Instantiating an autograd function will raise an error "
                      "in a future version of PyTorch.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Make forward and "
                           "backward static methods, and call the class's `apply`.")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operator. To be written by the subclass."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Stores in ctx what backward needs, for a forward that takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of forward's inputs, one each. To be written by the subclass."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of forward's results, by those of its inputs. To be written by the subclass."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The results for a batch, and their batch dimensions; `info` has batch_size and randomness."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record it. Of a batch of vmap, as the static method `vmap` says, or of each sample."""
        if hooks.apply_function_to_batch is not None:
            found = hooks.apply_function_to_batch(cls, cls.apply, args, kwargs)
            if found is not NotImplemented:
                return found
        takes_ctx = cls.setup_context is Function.setup_context
        if not takes_ctx:               # setup_context gets forward's defaults too
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        node = cls._backward_cls()
        if forward_ad._current_level >= 0 and forward_ad.has_dual(args):
            return forward_ad.apply_function(
                cls, node, lambda: apply_custom_function(cls, node, args, kwargs, takes_ctx), args)
        return apply_custom_function(cls, node, args, kwargs, takes_ctx)


class InplaceFunction(Function):
    """A Function that may work in place; `inplace` is for subclasses.

    Arguments:
        inplace: whether forward writes to its input

    Example:
        >>> class Clear(torch.autograd.function.InplaceFunction):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.zero_()
        >>> Clear.apply(torch.ones(2))
        tensor([0., 0.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


hooks.Function = Function


def once_differentiable(function: Any) -> Any:
    """Decorates a backward that cannot be differentiated itself.

    Arguments:
        function: the backward of a Function

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor([6.])
    """
    @functools.wraps(function)
    def inside(ctx, *args):
        from mindtorch import is_grad_enabled
        with no_grad():
            results = function(ctx, *args)
        if not is_grad_enabled() or not any(isinstance(a, TensorBase) and a.requires_grad for a in args):
            return results
        single = not isinstance(results, tuple)
        results = (results,) if single else results
        raises = DelayedError("trying to differentiate twice a function that was marked with @once_differentiable", 1)
        poisoned = tuple(raises(result.detach().requires_grad_()) if isinstance(result, TensorBase) else result
                         for result in results)
        return poisoned[0] if single else poisoned
    return inside


class _Error(Function):
    """The tensors as they are; its backward raises a RuntimeError."""

    @staticmethod
    def forward(ctx: Any, message: str, *tensors: Any) -> Any:
        ctx.message = message
        return tuple(tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(ctx.message)


class DelayedError:
    """torch._C._functions.DelayedError(message, count)(*tensors): the tensors, whose backward raises `message`."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message

    def __call__(self, *tensors: Tensor) -> Any:
        results = _Error.apply(self.message, *tensors)
        return results[0] if len(tensors) == 1 else results


class _UndefinedGrad(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return tensor.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> None:
        return None


class UndefinedGrad:
    """torch._C._functions.UndefinedGrad()(tensor): the tensor, whose backward passes on None."""

    def __call__(self, tensor: Tensor) -> Any:
        return _UndefinedGrad.apply(tensor)
