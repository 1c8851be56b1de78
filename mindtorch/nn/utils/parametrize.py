"""Parameters and buffers that a chain of modules computes from others at each access."""
from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn.modules.container import ModuleDict, ModuleList
from mindtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.modules.module import Module

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache_enabled = 0
_cache: dict[tuple[int, str], TensorBase] = {}      # (identity of a module, name) -> the tensor, within `cached`


@contextmanager
def cached() -> Any:
    """Within this context every parametrized tensor is computed once.

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> with nn.utils.parametrize.cached():
        ...     print(net.weight is net.weight)
        True
    """
    global _cache_enabled, _cache
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _register_parameter_or_buffer(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _kind(value):
    return type(value).__name__


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, and what they compute it from: `original`, or `original0`, `original1`, ...
    where the first module takes several. `is_tensor` says which, `ntensors` how many.

    Arguments:
        modules: the parametrizations, in the order in which they apply
        original: the parameter

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> [name for name, _ in net.parametrizations.weight.named_parameters()]
        ['original0', 'original1']
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(self):
                new = _inverse(module, new)
        if not isinstance(new, (TensorBase, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{_kind(new)}")
        self.is_tensor = isinstance(new, TensorBase)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._register_one_(original, new)
        else:
            self._register_several_(original, new)
        if not unsafe:
            self._check_(shape, dtype)

    def _register_one_(self, original, new):
        if original.dtype != new.dtype:
            raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: "
                             f"{original.dtype}\nright_inverse(original).dtype: {new.dtype}")
        if original.device != new.device:
            raise ValueError("When `right_inverse` outputs one tensor, it may not change the device.\n"
                             f"original.device: {original.device}\nright_inverse(original).device: {new.device}")
        original.data = new.data            # the same parameter: optimizers may know it
        _register_parameter_or_buffer(self, "original", original)

    def _register_several_(self, original, new):
        for place, part in enumerate(new):
            if not isinstance(part, TensorBase):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                                 f"element {place} of the sequence with type {_kind(part)}.")
            kept = Parameter(part) if isinstance(original, Parameter) else part
            _register_parameter_or_buffer(self, f"original{place}", kept.requires_grad_(original.requires_grad))

    def _check_(self, shape, dtype):
        """The tensor must look as it did before it was computed."""
        found = self()
        if not isinstance(found, TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {_kind(found)}.")
        for what, before, after in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if before != after:
                raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless "
                                 f"`unsafe` flag is enabled.\nunparametrized {what}: {before}\nparametrized {what}: "
                                 f"{after}")

    def originals(self) -> Any:
        """The tensors that all is computed from, by name."""
        names = ["original"] if self.is_tensor else [f"original{place}" for place in range(self.ntensors)]
        return {name: getattr(self, name) for name in names}

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the computed tensor is `value`, as far as the modules can tell."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_kind(module)} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            self._check_values_(value)
            for new, (name, original) in zip(values, self.originals().items(), strict=True):
                if new.dtype != original.dtype:
                    which = "The tensor" if self.is_tensor else f"Tensor {name.removeprefix('original')}"
                    raise ValueError(f"{which} returned by `right_inverse` has dtype {new.dtype} while `{name}` has "
                                     f"dtype {original.dtype}")
            for new, original in zip(values, self.originals().values(), strict=True):
                original.data = new.data

    def _check_values_(self, value):
        if self.is_tensor:
            if not isinstance(value, TensorBase):
                raise ValueError(f"`right_inverse` should return a tensor. Got {_kind(value)}")
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_kind(value)}.")
        if len(value) != self.ntensors:
            raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                             f"sequence of length {len(value)}.")
        for place, part in enumerate(value):
            if not isinstance(part, TensorBase):
                raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                                 f"element {place} of type {_kind(part)}.")

    def forward(self) -> Tensor:
        first, *rest = self
        found = first(*self.originals().values())
        for module in rest:
            found = module(found)
        return found


def _inverse(module, value):
    """The tensor from which `module` computes `value`; `value` itself if the module has no right_inverse."""
    if not hasattr(module, "right_inverse"):
        return value
    try:
        return module.right_inverse(value)
    except NotImplementedError:
        return value


# --- the class of a parametrized module ------------------------------------------------------------------------------

def _refuse_to_pickle(self):
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _deep_copied(self, memo):
    """The class of the module is no class that an importer finds: it is handed on."""
    if id(self) not in memo:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return memo[id(self)]


def _computed(name):
    """The attribute `name` of a parametrized module."""
    def get(self):
        if not _cache_enabled:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(get, put)


def _set_class(module):
    """Give the module a class of its own that has its parametrized tensors as properties. Copies of the module keep
    the class that they have.
    """
    base = type_before_parametrizations(module)
    own = {name: _computed(name) for name in module.parametrizations}
    own["__getstate__"] = _refuse_to_pickle
    if not hasattr(base, "__deepcopy__"):
        own["__deepcopy__"] = _deep_copied
    made = type(f"Parametrized{base.__name__}", (base,), own)
    made._before_parametrizations = base
    module.__class__ = made


def type_before_parametrizations(module: Module) -> type:
    """The class that the module has or had without parametrizations.

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> type(net) is nn.Linear, nn.utils.parametrize.type_before_parametrizations(net) is nn.Linear
        (False, True)
    """
    return getattr(type(module), "_before_parametrizations", type(module))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor of that name, or any, is parametrized.

    Arguments:
        tensor_name: the name of the parameter; None means any

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> nn.utils.parametrize.is_parametrized(net, "weight"), nn.utils.parametrize.is_parametrized(net, "bias")
        (True, False)
    """
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return tensor_name in known if tensor_name is not None else len(known) > 0


# --- registering and removing ----------------------------------------------------------------------------------------

def _check_addition(module, name, parametrization):
    """Whether one more parametrization keeps the tensor's shape and dtype, both ways."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, TensorBase):
        raise ValueError(f"A parametrization must return a tensor. Got {_kind(after)}.")
    for what, old, new in (("dtype", before.dtype, after.dtype), ("shape", before.shape, after.shape)):
        if old != new:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the "
                             f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {old}\n"
                             f"parametrization(module.{name}).{what}: {new}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, TensorBase):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_kind(back)}")
    for what, old, new in (("dtype", before.dtype, back.dtype), ("shape", before.shape, back.shape)):
        if old != new:
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                             f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {old}\n"
                             f"returned {what}: {new}")


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> Module:
    """Have `module.tensor_name` computed by `parametrization` from what it is now, or from right_inverse of that.

    Unless `unsafe`, shape and dtype must stay. Gives the module, whose class is now one derived from its own.

    Arguments:
        parametrization: a module that makes the parameter from another tensor

    Example:
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).t()
        >>> net = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
        >>> torch.equal(net.weight, net.weight.t())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        chain = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = chain
        _set_class(module)
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make `tensor_name` a parameter or buffer again: as it is computed, or the original.

    Arguments:
        leave_parametrized: whether the parameter keeps its present value, in place of the original

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> net = nn.utils.parametrize.remove_parametrizations(net, "weight")
        >>> sorted(name for name, _ in net.named_parameters())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        kept = chain.original
        if leave_parametrized:
            with no_grad():
                kept.data = chain().data
    elif leave_parametrized:
        kept = chain()
        kept = Parameter(kept) if kept.requires_grad else kept
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    del module.parametrizations[tensor_name]
    if is_parametrized(module):
        _set_class(module)
    else:
        module.__class__ = type_before_parametrizations(module)
        del module.parametrizations
    _register_parameter_or_buffer(module, tensor_name, kept)
    return module


def transfer_parametrizations_and_params(from_module: Module, to_module: Module,
                                         tensor_name: str | None = None) -> Module:
    """Parametrize `to_module` as the other is; the two share modules and originals afterwards.

    Arguments:
        from_module: the module with parametrizations
        to_module: the module that gets them
        tensor_name: the name of the parameter; None means all

    Example:
        >>> net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> other = nn.utils.parametrize.transfer_parametrizations_and_params(net, nn.Linear(2, 3))
        >>> torch.equal(other.weight, net.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            value = getattr(from_module, name)
            kept = value.detach().clone()
            _register_parameter_or_buffer(to_module, name, Parameter(kept) if value.requires_grad else kept)
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        for original, tensor in source.originals().items():
            setattr(to_module.parametrizations[name], original, tensor)
    return to_module


_complete_docstrings(globals(), "nn.utils")
