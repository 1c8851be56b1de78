"""torch.library: operators of one's own, with their schemas, kernels and derivatives."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from mindtorch._library import registry
from mindtorch._library.autograd import autograd_kernel, check_differentiable
from mindtorch._library.custom_ops import (
    CustomOpDef,
    autocast_kernel,
    custom_op,
    definition_of,
    set_vmap_rule,
    triton_op,
)
from mindtorch._library.fake import get_ctx
from mindtorch._library.infer_schema import infer_schema
from mindtorch._library.keys import key_of_device
from mindtorch._library.libraries import Library
from mindtorch._library.opcheck import opcheck
from mindtorch._library.overloads import OpOverload
from mindtorch._library.registry import fallthrough as fallthrough_kernel
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings

__all__ = ["Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract", "infer_schema",
           "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
           "register_torch_dispatch", "register_vmap", "triton_op"]

_kept = []              # libraries of functions that were given none: they stay


def _library(namespace, lib, kind="FRAGMENT"):
    if lib is not None:
        return lib
    made = Library(namespace, kind)
    _kept.append(made)
    return made


@contextmanager
def _scoped_library(*args, **kwargs):
    """A Library that is destroyed at the end."""
    made = Library(*args, **kwargs)
    try:
        yield made
    finally:
        made._destroy()


def _qualname_of(op, caller):
    """"ns::name" of an operator that is given by name, as an overload or as a CustomOpDef."""
    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, CustomOpDef):
        return op._qualname
    if not isinstance(op, str):
        raise ValueError(f"{caller}({op}): got unexpected type for op: {type(op)}")
    return op


def _namespace_of(qualname):
    names = qualname.split("::")
    if len(names) != 2:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname '
                         "passed to the torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return names[0]


def _definition(op):
    return op if isinstance(op, CustomOpDef) else definition_of(op)


def define(qualname: Any, schema: Any = None, *, lib: Any = None, tags: Any = ()) -> Any:
    """Define the operator "ns::name" with a schema "(Tensor x) -> Tensor".

    As `define(lib, "name(Tensor x) -> Tensor")` it decorates a function that is to be its kernel.

    Example:
        >>> torch.library.define("example::sum_of_squares", "(Tensor x) -> Tensor")
        >>> @torch.library.impl("example::sum_of_squares", "default")
        ... def sum_of_squares(x):
        ...     return (x * x).sum()
        >>> torch.ops.example.sum_of_squares(torch.tensor([1.0, 2.0]))
        tensor(5.)
    """
    if isinstance(qualname, Library):
        return _define_and_implement(qualname, schema)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace = _namespace_of(qualname)
    if not schema.startswith("("):
        raise ValueError('define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but '
                         f'got "{schema}"')
    _library(namespace, lib).define(qualname.partition("::")[2] + schema, tags=tags)
    return None


def _define_and_implement(lib, schema):
    def wrap(function):
        lib.define(schema)
        lib.impl(schema.split("(")[0].strip(), function)
        return function
    return wrap


def impl(qualname: str, types: str | Sequence[str], func: Any = None, *, lib: Any = None) -> object:
    """Register a kernel of "ns::name" for types of devices ("cpu", "npu", or several), or for all with "default".

    A decorator without `func`; as `impl(lib, "name", "CPU")` for a dispatch key.

    Arguments:
        types: types of devices such as "cpu", or "default" for all

    Example:
        >>> torch.library.define("example::negated", "(Tensor x) -> Tensor")
        >>> @torch.library.impl("example::negated", "cpu")
        ... def negated(x):
        ...     return -x
        >>> torch.ops.example.negated(torch.ones(2))
        tensor([-1., -1.])
    """
    if isinstance(qualname, Library):
        return _implement(qualname, types, func or "")
    return _register_kernel(qualname, types, func, lib)


def _implement(lib, name, key):
    def wrap(function):
        lib.impl(name, function, key)
        return function
    return wrap


def _register_kernel(qualname, types, func, lib):
    kinds = [types] if isinstance(types, str) else list(types)
    keys = {"CompositeExplicitAutograd" if kind == "default" else
            key_of_device(kind.lower()) for kind in kinds}
    owner = _library(_namespace_of(qualname), lib)

    def register(function):
        for key in sorted(keys):
            owner.impl(qualname, function, key)
    return register if func is None else register(func)


def register_kernel(op: Any, device_types: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Register a kernel of an operator for types of devices, or for all with None. Usable as a decorator.

    Example:
        >>> @torch.library.custom_op("example::place", mutates_args=(), device_types="cpu")
        ... def place(x: torch.Tensor) -> torch.Tensor:
        ...     return torch.zeros_like(x)
        >>> @torch.library.register_kernel("example::place", "npu")
        ... def _(x):
        ...     return torch.ones_like(x)
        >>> place(torch.empty(1, device="npu"))
        tensor([1.], device='npu:0')
    """
    qualname = _qualname_of(op, "register_kernel")
    known = _definition(op)
    if known is not None:
        return known.register_kernel(device_types, func) if func is not None else known.register_kernel(device_types)
    return _register_kernel(qualname, "default" if device_types is None else device_types, func, lib)


def register_fake(op: Any, func: Callable | None = None, /, *, lib: Any = None, _stacklevel: int = 1,
                  allow_override: bool = True) -> Any:
    """Keep a function that makes an operator's results without computing them, which opcheck calls.

    Usable as a decorator. The operator need not be defined yet.

    Arguments:
        allow_override: not read

    Example:
        >>> @torch.library.custom_op("example::halved", mutates_args=())
        ... def halved(x: torch.Tensor) -> torch.Tensor:
        ...     return x / 2
        >>> @torch.library.register_fake("example::halved")
        ... def _(x):
        ...     return torch.empty_like(x)
        >>> halved(torch.ones(2, device="meta")).shape
        torch.Size([2])
    """
    qualname = _qualname_of(op, "register_fake")
    namespace = _namespace_of(qualname)

    def register(function):
        known = _definition(op)
        if known is not None:
            return known.register_fake(function)
        _library(namespace, lib)._register_fake(qualname, function)
        return function
    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """The older name of register_fake.

    Example:
        >>> torch.library.define("example::shaped", "(Tensor x) -> Tensor")
        >>> @torch.library.impl_abstract("example::shaped")
        ... def shaped(x):
        ...     return x.new_empty(3)
        >>> torch.ops.example.shaped(torch.ones(2, device="meta")).shape
        torch.Size([3])
    """
    return register_fake(qualname, func, lib=lib) if func is not None else register_fake(qualname, lib=lib)


class _Formula:
    """The functions that register_autograd was given."""

    def __init__(self, backward: Any, setup_context: Any) -> None:
        self.backward, self.setup_context = backward, setup_context


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Callable | None = None,
                      lib: Any = None) -> None:
    """Give an operator its derivative: `backward(ctx, *grads)` returns a gradient for each input.

    `setup_context(ctx, inputs, output)` runs after the operator and saves what backward needs. RuntimeError for an
    operator that writes to its arguments or returns views.

    Arguments:
        backward: a function of a context and gradients, which returns those of the arguments
        setup_context: a function of context, inputs and output that keeps what backward needs

    Example:
        >>> @torch.library.custom_op("example::quadrupled", mutates_args=())
        ... def quadrupled(x: torch.Tensor) -> torch.Tensor:
        ...     return 4 * x
        >>> torch.library.register_autograd("example::quadrupled", lambda ctx, grad: 4 * grad)
        >>> x = torch.ones(2, requires_grad=True)
        >>> quadrupled(x).sum().backward()
        >>> x.grad
        tensor([4., 4.])
    """
    qualname = _qualname_of(op, "register_autograd")
    known = _definition(op)
    if known is not None:
        known.register_autograd(backward, setup_context=setup_context)
        return
    namespace = _namespace_of(qualname)
    operator = registry.find(qualname)
    if operator is None:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{qualname.partition('::')[2]}'")
    shown = f"{operator.schema.name.replace('::', '.')}.{operator.schema.overload_name or 'default'}"
    check_differentiable(shown, operator.schema)
    _library(namespace, lib).impl(qualname, autograd_kernel(operator, _Formula(backward, setup_context)), "Autograd")


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Have autocast, on a type of device, cast the floating-point tensors of a call to the dtype `cast_inputs`.

    Arguments:
        device_type: the type of the device, such as "npu"
        cast_inputs: the dtype that tensors among the arguments are cast to

    Example:
        >>> @torch.library.custom_op("example::dtype_of", mutates_args=())
        ... def dtype_of(x: torch.Tensor) -> torch.Tensor:
        ...     return x.clone()
        >>> torch.library.register_autocast("example::dtype_of", "cpu", torch.bfloat16)
        >>> with torch.autocast("cpu"):
        ...     print(dtype_of(torch.ones(1)).dtype)
        torch.bfloat16
    """
    qualname = _qualname_of(op, "register_autocast")
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    operator = registry.find(qualname)
    if operator is None:
        raise AttributeError(f"'_OpNamespace' '{_namespace_of(qualname)}' object has no attribute "
                             f"'{qualname.partition('::')[2]}'")
    _library(_namespace_of(qualname), lib).impl(qualname, autocast_kernel(operator, device_type, cast_inputs),
                                                f"Autocast{key_of_device(device_type)}")


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Callable | None = None, /, *,
                            lib: Any = None) -> Any:
    """Give what an operator does for tensors of a class, or in a mode: func(class or mode, op, types, args, kwargs).

    It is called in place of their __torch_dispatch__. Usable as a decorator.

    Arguments:
        torch_dispatch_class: the class of tensors, or the mode

    Example:
        >>> from mindtorch.utils._python_dispatch import TorchDispatchMode
        >>> class Quiet(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         return func(*args, **(kwargs or {}))
        >>> @torch.library.custom_op("example::tenfold", mutates_args=())
        ... def tenfold(x: torch.Tensor) -> torch.Tensor:
        ...     return 10 * x
        >>> @torch.library.register_torch_dispatch("example::tenfold", Quiet)
        ... def _(mode, func, types, args, kwargs):
        ...     return args[0] + 100
        >>> with Quiet():
        ...     print(tenfold(torch.ones(1)))
        tensor([101.])
    """
    qualname = _qualname_of(op, "register_torch_dispatch")
    namespace = _namespace_of(qualname)

    def register(function):
        _library(namespace, lib)._register_torch_dispatch_rule(qualname, torch_dispatch_class, function)
        return function
    return register if func is None else register(func)


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Give a rule for batches, `rule(info, in_dims, *args)`, which returns results and their batch dimensions.

    Arguments:
        lib: not read

    Example:
        >>> @torch.library.custom_op("example::doubled_rows", mutates_args=())
        ... def doubled_rows(x: torch.Tensor) -> torch.Tensor:
        ...     return 2 * x
        >>> _ = torch.library.register_vmap("example::doubled_rows", lambda info, dims, x: (2 * x, dims[0]))
        >>> torch.vmap(doubled_rows)(torch.ones(2, 2))
        tensor([[2., 2.],
                [2., 2.]])
    """
    qualname = _qualname_of(op, "register_vmap")

    def register(rule):
        set_vmap_rule(qualname, rule)
        return rule
    return register if func is None else register(func)


_complete_docstrings(globals(), "library")
__getattr__ = module_getattr(__name__)
