"""class Module: the base of all networks."""
from __future__ import annotations

import builtins
import inspect
import itertools
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from mindtorch import __future__ as _future
from mindtorch import bfloat16 as bfloat16_
from mindtorch import device as device_
from mindtorch import dtype as dtype_
from mindtorch import float16, float32, float64, no_grad
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.torch_dispatch import is_wrapper
from mindtorch._tensor.factories import scalar_tensor
from mindtorch._tensor.type_info import typename
from mindtorch.nn.modules.module_hooks import (
    GLOBAL,
    ModuleHooks,
    call_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from mindtorch.nn.modules.module_state import (
    _EXTRA_STATE_KEY_SUFFIX,  # noqa: F401 - torch has these two here
    ModuleState,
    _IncompatibleKeys,  # noqa: F401
)
from mindtorch.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor, device, dtype
    from mindtorch.types import Device

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook"]

# The dictionaries of hooks that every module has.
HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
         "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
         "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


def _forward_unimplemented(self, *input):
    """The computation of every call. Subclasses define it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(ModuleHooks, ModuleState):
    """A part of a network. It registers parameters, buffers and modules that are assigned to its attributes.

    Example:
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = nn.Linear(2, 1)
        ...     def forward(self, x):
        ...         return self.layer(x).relu()
        >>> Net()(torch.ones(3, 2)).shape
        torch.Size([3, 1])
    """

    training: bool

    dump_patches = False
    _version = 1
    call_super_init = False         # whether __init__ hands its arguments on, for classes with another base

    forward = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                                f"'{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} "
                                "were given")
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None,
            **{name: OrderedDict() for name in HOOKS}, _modules={})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- registering --------------------------------------------------------------------------------------------------

    def _check_name_(self, kind, name, registered):
        """Refuse what cannot be the name of a parameter, buffer or module."""
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in registered:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter; state_dict has it if `persistent`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name_("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                            "required)")
        self._buffers[name] = call_registration_hooks(GLOBAL.buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or a name whose parameter is None."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name_("parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                            "None required)")
        if param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                             f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                             "the forward() method.")
        self._parameters[name] = call_registration_hooks(GLOBAL.parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module below this one, or a name whose module is None."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name_("module", name, self._modules)
        self._modules[name] = call_registration_hooks(GLOBAL.module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """add_module under another name."""
        self.add_module(name, module)

    # --- attributes ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Tensor | Module:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Tensor | Module) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget_(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget_(name, "_parameters", "_buffers")
            own["_modules"][name] = call_registration_hooks(GLOBAL.module_registration_hooks, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            own["_modules"][name] = call_registration_hooks(GLOBAL.module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer_(name, value)
        else:
            super().__setattr__(name, value)

    def _forget_(self, name, *kinds):
        """Whatever `name` is, except one of the kind that it becomes: no longer."""
        own = self.__dict__
        own.pop(name, None)
        for kind in kinds:
            own[kind].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def _set_buffer_(self, name, value):
        """Assign to a buffer. A register_buffer that knows no `persistent` may stand in a subclass."""
        if value is not None and not isinstance(value, TensorBase):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or "
                            "None expected)")
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        if (getattr(self.register_buffer, "__func__", None) is Module.register_buffer
                or "persistent" in inspect.signature(self.register_buffer).parameters):
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements "
                               "register_buffer() without the persistent argument is not allowed.")

    def __delattr__(self, name: str) -> None:
        for kind in (self._parameters, self._buffers, self._modules):
            if name in kind:
                del kind[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = itertools.chain(dir(type(self)), self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> Any:
        return self.__dict__.copy()

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        for name in HOOKS:                          # an older version may have had fewer
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # --- by path ------------------------------------------------------------------------------------------------------

    def _attribute_(self, name):
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path below this one; this one for ""."""
        found = self
        for name in target.split(".") if target else ():
            found = found._attribute_(name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path; with `strict` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._attribute_(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._attribute_(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        found = owner._attribute_(name)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # --- walking ------------------------------------------------------------------------------------------------------

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with `recurse`, of those below."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) for each of them."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with `recurse`, of those below."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) for each of them."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The modules directly below."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) for each module directly below."""
        names = {}
        for name, module in self._modules.items():
            names.setdefault(module, name)
        names.pop(None, None)
        return ((name, module) for module, name in names.items())

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(name, module) for this module and all below."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # --- changing all of it -------------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call fn(module) for every module below, then for this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the contents of parameters, of their gradients and of buffers by fn(tensor).

        Parameters and gradients keep their identity: what else refers to them (ties, optimizers) sees the change. Where
        torch.__future__ says so, and on the way to or from the device meta, new parameters take their place; wrappers
        are swapped with new ones.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            if _future.get_swap_module_params_on_conversion() or is_wrapper(param):
                self._swap_(name, param, grad, fn)
                continue
            data = fn(param.data)
            if _future.get_overwrite_module_params_on_conversion() or data.is_meta != param.is_meta:
                self._parameters[name] = new = Parameter(data, param.requires_grad)
                new.grad = None if grad is None else fn(grad.detach()).requires_grad_(grad.requires_grad)
            else:
                param.data = data
                if grad is not None:
                    grad.data = fn(grad.data)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap_(self, name, param, grad, fn):
        """Exchanges a parameter's contents, and its gradient's, with what fn makes of them."""
        from mindtorch.utils._swap import swap_tensors
        param.grad = None
        try:
            swap_tensors(param, Parameter(fn(param.data), param.requires_grad))
            if grad is not None:
                with no_grad():
                    new = fn(grad)
                swap_tensors(grad, new.requires_grad_(grad.requires_grad))
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        finally:
            param.grad = grad

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers to memory that other processes share: Tensor.share_memory_."""
        for tensor in (*self.parameters(), *(param.grad for param in self.parameters()), *self.buffers()):
            if tensor is not None:
                tensor.share_memory_()
        return self

    def cuda(self, device: int | device | None = None) -> Self:
        """AssertionError, as from a torch that was built without CUDA; nothing for a module without tensors."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """torch.compile for this module: does nothing."""
        from mindtorch.compiler import compile
        compile(self.forward, *args, **kwargs)

    def _replicate_for_data_parallel(self):
        """A module with the same attributes whose parameters, buffers and modules can be changed apart."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(_parameters={}, _buffers=dict(self._buffers), _modules=dict(self._modules),
                             _is_replica=True)
        return made

    def npu(self, device: Device = None) -> Self:
        """Move all parameters and buffers to an NPU."""
        return self._apply(lambda tensor: tensor.npu(device))

    def cpu(self) -> Self:
        """Move all parameters and buffers to host memory."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type: dtype | str) -> Self:
        """Cast all parameters and buffers."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast_(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Cast all floating point parameters and buffers to float32."""
        return self._cast_(float32)

    def double(self) -> Self:
        """Cast all floating point parameters and buffers to float64."""
        return self._cast_(float64)

    def half(self) -> Self:
        """Cast all floating point parameters and buffers to float16."""
        return self._cast_(float16)

    def bfloat16(self) -> Self:
        """Cast all floating point parameters and buffers to bfloat16."""
        return self._cast_(bfloat16_)

    def to_empty(self, *, device: Device | None, recurse: bool = True) -> Self:
        """Move to a device without copying: the contents are uninitialised."""
        from mindtorch import empty_like
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move and cast: to(device, dtype, non_blocking), to(dtype), to(tensor), memory_format=. Only dtypes of
        floating point and complex numbers, and only tensors of such are cast.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                f"dtype={dtype}")
            if dtype.is_complex:
                warnings.warn("Complex modules are a new feature under active development whose design may change, and "
                              "some modules might not work as expected when using complex tensors as parameters or "
                              "buffers.", stacklevel=2)

        def convert(tensor):
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            try:
                return tensor.to(device=device, dtype=wanted, non_blocking=non_blocking, **layout)
            except NotImplementedError as error:
                if not tensor.is_meta:
                    raise
                raise NotImplementedError(f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module."
                                          "to() when moving module from meta to a different device.") from None

        return self._apply(convert)

    def train(self, mode: bool = True) -> Self:
        """Set training mode of this module and all below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether gradients are computed for the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    # --- printing -----------------------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text in the repr besides the child modules. Subclasses define it."""
        return ""

    def __repr__(self) -> str:
        said = self.extra_repr()
        extra = said.split("\n") if said else []
        below = [f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()]
        if len(extra) == 1 and not below:
            return f"{self._get_name()}({extra[0]})"
        lines = "".join(f"\n  {line}" for line in extra + below)
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"


def _addindent(s_, numSpaces):
    """The text with its lines after the first indented."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _parse_to(args, kwargs):
    """(device, dtype, non_blocking, memory_format) of a call of `to`, None for what it does not name."""
    if "copy" in kwargs:
        raise RuntimeError(".to() does not accept copy argument")
    kwargs = dict(kwargs)
    memory_format = kwargs.pop("memory_format", None)
    if "tensor" in kwargs:
        args = (kwargs.pop("tensor"), *args)
    moved = scalar_tensor(0.0).to(*args, **kwargs)        # refuses what no form of `to` takes
    given = [value for value in (*args, kwargs.get("device"), kwargs.get("dtype")) if value is not None]
    likes = any(isinstance(value, TensorBase) for value in given)
    casts = likes or any(isinstance(value, dtype_) or value in (builtins.float, complex) for value in given)
    moves = likes or any(isinstance(value, (device_, str)) or builtins.type(value) is int for value in given)
    non_blocking = any(value is True for value in (*args, kwargs.get("non_blocking")))
    return moved.device if moves else None, moved.dtype if casts else None, non_blocking, memory_format


class _ModuleOfHooks(ModuleType):
    """The class of this module: the hooks of all modules are attributes of it too: _global_forward_hooks."""


for _name in vars(GLOBAL):
    setattr(_ModuleOfHooks, f"_global_{_name}", property(
        lambda self, name=_name: getattr(GLOBAL, name), lambda self, value, name=_name: setattr(GLOBAL, name, value)))
sys.modules[__name__].__class__ = _ModuleOfHooks
