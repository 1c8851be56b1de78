"""torch.autograd.forward_ad: dual tensors, which carry a tangent, and what functions make of them.

Within a dual_level a mode of __torch_function__ sees every call. Where an argument is dual, the tangent of the result
is the derivative, along the tangents, of the gradients by their cotangents, in which they are linear: two backward
passes, of whatever has a backward that can be differentiated. Views give views of the tangent.
"""
import threading
import weakref
from typing import Any, NamedTuple

from mindtorch._core import hooks
from mindtorch._core.autograd.node import _set_grad_enabled, is_grad_enabled
from mindtorch._core.python import torch_function

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_state = threading.local()              # .levels: the open levels, one at most; .disabled: whether tangents are ignored

_current_level = -1                     # of all threads; -1: none is open

_VIEWS = frozenset((
    "_conj", "_neg_view", "adjoint", "chunk", "conj", "diagonal", "expand", "expand_as", "flatten", "imag",
    "movedim", "moveaxis", "narrow", "permute", "real", "reshape", "select", "split", "split_with_sizes", "squeeze",
    "swapaxes", "swapdims", "t", "tensor_split", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view",
    "view_as", "view_as_real", "view_as_complex", "__getitem__"))
_VIEWING_PROPERTIES = frozenset(("T", "mT", "H", "mH", "real", "imag"))
# These change what a tensor is, or tell it: they are not differentiated.
_UNCHANGED = frozenset((
    "backward", "detach", "requires_grad_", "register_hook", "retain_grad", "register_post_accumulate_grad_hook",
    "gradcheck", "gradgradcheck", "as_subclass", "zeros_like", "ones_like", "empty_like", "rand_like",
    "randn_like", "full_like", "data_ptr", "set_", "_is_view", "new_zeros", "new_ones", "new_empty", "new_full"))


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, or None where it has none.

    Arguments:
        primal: the tensor
        tangent: its derivative; None for none

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     print(torch.autograd.forward_ad.unpack_dual(torch.tensor(3.0)).tangent)
        None
    """

    primal: Any
    tangent: Any


class _Level:
    """An open dual_level: the tangents of its tensors, and the mode that hands them on."""

    def __init__(self):
        self.tangents = {}              # identity of a tensor -> (a weak reference to it, its tangent)
        self.made = weakref.WeakValueDictionary()           # the tensors of make_dual, by identity
        self.mode = _ForwardMode()
        torch_function.push_mode(self.mode)

    def get(self, tensor):
        return self.tangents.get(id(tensor), (None, None))[1]

    def set(self, tensor, tangent):
        identity, tangents = id(tensor), self.tangents
        tangents[identity] = weakref.ref(tensor, lambda _: tangents.pop(identity, None)), tangent


def _levels():
    if not hasattr(_state, "levels"):
        _state.levels, _state.disabled = [], False
    return _state.levels


def _current():
    levels = _levels()
    return levels[-1] if levels else None


def _tangent(value):
    level = _current()
    return None if level is None or not _is_tensor(value) else level.get(value)


hooks.tangent_of = _tangent


def _is_tensor(value):
    from mindtorch import Tensor
    return isinstance(value, Tensor)


def _is_differentiable(value):
    return _is_tensor(value) and (value.is_floating_point() or value.is_complex())


# --- levels ----------------------------------------------------------------------------------------------------------

def enter_dual_level():
    """Open a level, in which tensors may have tangents. It is left by exit_dual_level.

    Example:
        >>> level = torch.autograd.forward_ad.enter_dual_level()
        >>> torch.autograd.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    if _levels():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels().append(_Level())
    _current_level += 1
    return 0


def exit_dual_level(*, level=None):
    """Close the level: all tangents go.

    Arguments:
        level: the level; -1 means the innermost

    Example:
        >>> level = torch.autograd.forward_ad.enter_dual_level()
        >>> torch.autograd.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    levels = _levels()
    wanted = len(levels) - 1 if level is None else level
    if wanted < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if wanted != len(levels) - 1:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    levels.pop()
    _current_level -= 1
    torch_function.pop_mode()


class dual_level:
    """A context in which tensors may be dual.

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     print(torch.autograd.forward_ad.unpack_dual(x * x).tangent)
        tensor(6.)
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exception):
        exit_dual_level()


class _set_fwd_grad_enabled:
    """A context in which tangents are handed on, or ignored."""

    def __init__(self, mode):
        self.prev = _is_fwd_grad_enabled()
        _switch_fwd_grad(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        _switch_fwd_grad(self.prev)


def _switch_fwd_grad(enabled):
    """Have functions of this thread hand tangents on, or not."""
    _levels()
    _state.disabled = not enabled


def _is_fwd_grad_enabled():
    """Whether functions of this thread hand tangents on."""
    _levels()
    return not _state.disabled


# --- dual tensors ----------------------------------------------------------------------------------------------------

def make_dual(tensor, tangent, *, level=None):
    """A view of the tensor that carries the tangent, which must have its size.

    Arguments:
        tensor: the tensor
        tangent: its derivative, of the same shape
        level: the level; -1 means the innermost

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     print(torch.autograd.forward_ad.unpack_dual(x.sin()).tangent)
        tensor(-0.9900)
    """
    if level is None and _current() is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    check_dual(tensor, tangent)
    if tensor.dtype is not tangent.dtype:
        raise RuntimeError(f"Expected the tangent to have the dtype of the primal, {tensor.dtype}, but got "
                           f"{tangent.dtype}")
    if _tangent(tangent) is not None:
        raise RuntimeError("Trying to set a tangent that has a forward gradient at the same level, this is not "
                           "supported.")
    dual = _without_modes(lambda: tensor.view_as(tensor))
    _current().set(dual, tangent)
    _current().made[id(dual)] = dual
    return dual


def check_dual(tensor, tangent):
    """ValueError for what has no derivative, RuntimeError for a tangent of another size."""
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original "
                           f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given "
                           f"forward gradient is of size {list(tangent.shape)}.")


def unpack_dual(tensor, *, level=None):
    """The tensor without its tangent, and the tangent.

    Arguments:
        tensor: the tensor
        level: the level; -1 means the innermost

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     print(torch.autograd.forward_ad.unpack_dual(x).primal)
        tensor(3.)
    """
    if _current() is None and level is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_without_modes(lambda: tensor.view_as(tensor)), _tangent(tensor))


def _without_modes(function):
    """function() outside of the level: tangents are neither asked for nor handed on."""
    levels = _levels()
    before, _state.disabled = _state.disabled, True
    try:
        return function()
    finally:
        _state.disabled = before
        assert levels is _levels()


# --- functions of dual tensors ---------------------------------------------------------------------------------------

class _ForwardMode:
    """The mode of a level: the tangents of what functions return."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if _state.disabled or not any(_tangent(value) is not None for value in _flat((args, kwargs))):
            return function(*args, **kwargs)
        name = function.__name__
        if name == "__get__":
            name = _property_name(function)
            if name not in _VIEWING_PROPERTIES:
                return function(*args, **kwargs)
        elif name == "detach_":
            _current().tangents.pop(id(args[0]), None)
            return function(*args, **kwargs)
        elif name in ("__set__", "__repr__", "__format__", "__deepcopy__") or name in _UNCHANGED:
            return function(*args, **kwargs)
        if name in _VIEWS or name in _VIEWING_PROPERTIES:
            return _view(function, args, kwargs)
        if kwargs.get("out") is not None:
            raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it "
                                      "is an out= function")
        if (name.endswith("_") and not name.endswith("__")) or name == "__setitem__" or (
                name.startswith("__i") and name not in ("__index__", "__int__", "__invert__", "__iter__")):
            return _inplace(function, args, kwargs)
        result, tangents = _differentiated(function, args, kwargs)
        _assign(result, tangents)
        return result


def _property_name(getter):
    from mindtorch.overrides import resolve_name
    return (resolve_name(getter) or "").removesuffix(".__get__").rpartition(".")[2]


def _flat(values):
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, (list, tuple, dict)):
            yield from _flat(value)
        else:
            yield value


def _mapped(values, change):
    """The arguments with `change` applied to their tensors."""
    if isinstance(values, dict):
        return {key: _mapped(value, change) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        items = [_mapped(value, change) for value in values]
        return type(values)(*items) if hasattr(values, "_fields") else type(values)(items)
    return change(values) if _is_tensor(values) else values


def _results(result):
    return [each for each in _flat([result]) if _is_tensor(each)]


def _assign(result, tangents):
    for each, tangent in zip(_results(result), tangents, strict=True):
        if tangent is not None:
            _current().set(each, tangent)


def _view(function, args, kwargs):
    """A view of the first argument, and the same view of its tangent."""
    result = function(*args, **kwargs)
    tangent = _tangent(args[0]) if args else None
    if tangent is not None:
        _assign(result, _results(function(tangent, *args[1:], **kwargs)))
    return result


def _differentiated(function, args, kwargs):
    """function(*args, **kwargs) and the tangents of the tensors in it, None where it does not depend on dual ones."""
    from mindtorch.autograd import grad
    stand_ins, before = {}, is_grad_enabled()

    def stand_in(value):
        if _tangent(value) is None:
            return value
        if id(value) not in stand_ins:
            own = value.view_as(value) if value.requires_grad and before else value.detach().requires_grad_()
            stand_ins[id(value)] = own, _tangent(value), value
        return stand_ins[id(value)][0]

    _set_grad_enabled(True)
    try:
        result = function(*_mapped(args, stand_in), **_mapped(kwargs, stand_in))
        found = _results(result)
        recorded = [each for each in found if each.requires_grad]
        tangents = [None] * len(found)
        if recorded:
            inputs = [own for own, _, _ in stand_ins.values()]
            along = [tangent for _, tangent, _ in stand_ins.values()]
            for place, each in enumerate(found):
                if each.requires_grad:
                    tangents[place] = _along(grad, each, inputs, along, function)
    finally:
        _set_grad_enabled(before)
    leaves = any(value.requires_grad and before for _, _, value in stand_ins.values())
    others = any(_is_tensor(value) and value.requires_grad and before and id(value) not in stand_ins
                 for value in _flat((args, kwargs)))
    if not leaves and not others:
        result = _mapped([result], lambda each: each.detach() if each.requires_grad else each)[0]
        keeps = any(tangent.requires_grad for _, tangent, _ in stand_ins.values()) and before
        tangents = [each if each is None or keeps else each.detach() for each in tangents]
    return result, tangents


def _along(grad, output, inputs, along, function):
    """How the output changes where the inputs change along the tangents; None where it does not depend on them."""
    from mindtorch import ones_like, zeros_like
    cotangent = ones_like(output).requires_grad_()      # at 0, formulas with logarithms have no derivative
    try:
        found = grad(output, inputs, cotangent, create_graph=True, allow_unused=True)
    except NotImplementedError as error:
        raise NotImplementedError(f"Trying to use forward AD with {function.__name__} that does not support it: "
                                  f"{error}") from error
    pairs = [(gradient, tangent) for gradient, tangent in zip(found, along, strict=True)
             if gradient is not None and gradient.requires_grad]
    if not pairs:
        return zeros_like(output).detach() if any(gradient is not None for gradient in found) else None
    gradients, tangents = zip(*pairs, strict=True)
    change, = grad(gradients, [cotangent], tangents, create_graph=True, allow_unused=True)
    if change is None:
        return zeros_like(output).detach()
    shared = any(change.untyped_storage()._cdata == tangent.untyped_storage()._cdata for tangent in tangents)
    return change.clone() if shared else change         # in-place functions write to the tangent of the result


def grad_of_duals(run, create_graph):
    """The gradients that run() gives, with a graph, and their tangents: forward mode of backward."""
    from mindtorch.autograd import grad
    found = _without_modes(run)
    duals = [dual for dual in _current().made.values() if dual.requires_grad and _tangent(dual) is not None]
    if not duals:
        return found
    along, results = [_tangent(dual) for dual in duals], []
    for gradient in found:
        tangent = None
        if gradient is not None and gradient.requires_grad:
            tangent = _without_modes(lambda each=gradient: _along(grad, each, duals, along, run))
        results.append(gradient if gradient is None or create_graph else gradient.detach())
        if tangent is not None:
            _current().set(results[-1], tangent if create_graph else tangent.detach())
    return tuple(results)


def _inplace(function, args, kwargs):
    """An in-place function: what it computes is written to its first argument, and its tangent to that one's."""
    from mindtorch import zeros_like
    target, others = args[0], args[1:]
    level = _current()

    def on_copy(value, *rest, **options):
        copied = value.clone()
        function(copied, *rest, **options)
        return copied

    before = level.get(target)
    if before is None:
        level.set(target, zeros_like(target).detach())
    _, (tangent,) = _differentiated(on_copy, args, kwargs)
    result = function(target, *others, **kwargs)
    if before is None:
        level.set(target, tangent)
    elif tangent is not None:
        before.copy_(tangent)
    return result


# --- autograd.Function -----------------------------------------------------------------------------------------------

def has_dual(args):
    """Whether an argument of a Function is dual in the open level."""
    return bool(_levels()) and not _state.disabled and any(_tangent(value) is not None for value in args)


def apply_function(function, node, run, args):
    """run() of an autograd.Function, and the tangents of its results by its `jvp`."""
    from mindtorch import zeros_like
    tangents = [_tangent(value) for value in args]
    if node.materialize_grads:
        tangents = [zeros_like(value).detach() if tangent is None and _is_differentiable(value) else tangent
                    for value, tangent in zip(args, tangents, strict=True)]
    given = [(value, _tangent(value), value._version) for value in args if _tangent(value) is not None]
    result = _without_modes(run)
    found = _without_modes(lambda: function.jvp(node, *tangents))
    found = found if isinstance(found, tuple) else (found,)
    outputs = result if isinstance(result, tuple) else (result,)
    if len(found) != len(outputs):
        raise RuntimeError(f"{function.__name__}.jvp returned {len(found)} tangents for {len(outputs)} results")
    for place, (output, tangent) in enumerate(zip(outputs, found, strict=True)):
        if tangent is None:
            continue
        if not _is_differentiable(output) or id(output) in node.non_differentiable_ids:
            raise RuntimeError(f"Function's jvp returned a gradient at position {place}, but the corresponding "
                               "forward output is not a differentiable Tensor. You should return None at that position "
                               "instead.")
        _check_aliasing(output, tangent, given)
        _current().set(output, tangent)
    return result


def _check_aliasing(output, tangent, given):
    """RuntimeError where a result is an input, or a view of it, and its tangent is not that of the input, or of it."""
    for value, along, version in given:
        if output is value and value._version != version:
            if tangent is not along:
                raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If "
                                   "the forward is modifying an input inplace, then the jvp function must modify the "
                                   "corresponding gradient inplace.")
        elif output is value or (output._base is not None and any(
                output._base is each for each in (value, value._base))):
            _check_view(tangent, along)


def _check_view(tangent, along):
    if not tangent._is_view():
        raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                           "returning a view.")
    if tangent._base is not (along._base if along._is_view() else along):
        which = "same base as the given" if along._is_view() else "given"
        raise RuntimeError(f"A custom Function is returning a view but the jvp is not returning a view of the {which} "
                           "grad input.")
