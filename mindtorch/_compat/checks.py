"""torch._check and its like: conditions that raise, with a message that is made only then."""

__all__ = ["FatalError", "_assert_tensor_metadata", "_check", "_check_index", "_check_is_size",
           "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value",
           "_check_with"]

_EXPECTED = "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an " \
            "enhancement request to PyTorch.)"


class FatalError(Exception):
    """An error after which a program should end. Nothing in mindtorch raises it.

    Example:
        >>> issubclass(torch.FatalError, Exception)
        True
    """


def _check_with(error_type, cond, message):
    """Raises `error_type(message())` where `cond`, a bool, is False."""
    from mindtorch import SymBool
    if not isinstance(cond, bool | SymBool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_EXPECTED)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None):
    """RuntimeError where `cond` is False; `message` is a function that returns its text."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError where `cond` is False."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError where `cond` is False."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError where `cond` is False."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError where `cond` is False."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError where `i` is negative, or above `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises `error_type` where an element of `cond`, a tensor of bools, is False."""
    import mindtorch
    if not isinstance(cond, mindtorch.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != mindtorch.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError where an element of `cond`, a tensor of bools, is False."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    """RuntimeError where an attribute of the tensor `a` is not the one given."""
    from mindtorch import device as device_class
    from mindtorch._ops.composite.common import c_type, scalar_type
    for what, wanted, found, says in (
            ("sizes", size and list(size), list(a.shape), None),
            ("strides", stride and list(stride), stride and list(a.stride()), None),
            ("dtype", dtype, a.dtype, lambda: (scalar_type(dtype), c_type(a.dtype))),
            ("device", device and device_class(device), a.device, None),
            ("layout", layout, a.layout, lambda: (_layout_name(layout), _layout_name(a.layout)))):
        if wanted is not None and wanted != found:
            expected, got = says() if says else (wanted, found)
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {expected}, Got: {got}")


def _layout_name(layout):
    """As torch's messages have it: SparseCsr."""
    return str(layout).removeprefix("torch.").title().replace("_", "").removesuffix("Coo")
