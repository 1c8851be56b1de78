"""torch.overrides: classes that stand in for tensors, by a method __torch_function__ of their own."""
from mindtorch._C import _disabled_torch_function_impl
from mindtorch._tensor import Tensor

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property"]


def is_tensor_like(inp):
    """Whether `inp` is a Tensor, or of a class that has __torch_function__."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args):
    """Whether one of the arguments is of a class that has __torch_function__, which Tensor itself has not."""
    return any(_overrides(type(argument)) for argument in relevant_args)


def _overrides(kind):
    return getattr(kind, "__torch_function__", _disabled_torch_function_impl) is not _disabled_torch_function_impl


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the first __torch_function__ answers that does: subclasses are asked before their bases.

    TypeError where all return NotImplemented.
    """
    kinds = []
    for argument in relevant_args:
        kind = type(argument)
        if _overrides(kind) and kind not in kinds:
            place = next((i for i, known in enumerate(kinds) if issubclass(kind, known)), len(kinds))
            kinds.insert(place, kind)
    for kind in kinds:
        result = kind.__torch_function__(public_api, tuple(kinds), args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {kinds}")


def is_tensor_method_or_property(func):
    """Whether `func` is a method of Tensor, or the getter of one of its properties."""
    name = getattr(func, "__name__", "")
    return func in (vars(Tensor).get(name), getattr(Tensor, name, None)) or name == "__get__"
