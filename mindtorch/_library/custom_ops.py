"""torch.library.custom_op: an operator from a Python function."""
from contextlib import contextmanager

from mindtorch._core.tensor.attributes import increment_version
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._library import registry
from mindtorch._library.autograd import autograd_kernel, check_differentiable, refuse_keyword_tensors
from mindtorch._library.infer_schema import infer_schema, mutated_names
from mindtorch._library.keys import ExcludeDispatchKeyGuard, key_of_device
from mindtorch._library.libraries import Library, parse_qualname
from mindtorch._library.overloads import ops
from mindtorch._library.registry import tensors_in
from mindtorch._library.schema import parse_schema

__all__ = ["CustomOpDef", "custom_op"]

_definitions = {}       # "ns::name" -> CustomOpDef
_vmap_rules = {}        # "ns::name" -> what register_vmap was given
_ALIASING = (
    "{name} (with implementation in {module}): The output of this custom operator (1) must not also be an input to "
    "this custom operator and (2) may not alias any inputs to this custom operator or other returns. The most common "
    "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y.")


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an operator "ns::name" of a function: a decorator, or called with the function. Returns a CustomOpDef.

    mutates_args: names of the tensors that it writes to, or "unknown". device_types: "cpu", "npu" or several, the
    devices that the function is the kernel of; all of them where it is None. schema: "(Tensor x) -> Tensor", inferred
    from the annotations where it is None.

    Example:
        >>> @torch.library.custom_op("example::twice", mutates_args=())
        ... def twice(x: torch.Tensor) -> torch.Tensor:
        ...     return 2 * x
        >>> torch.ops.example.twice(torch.ones(2))
        tensor([2., 2.])
    """
    def define(function):
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, short = parse_qualname(name)
        found = CustomOpDef(namespace, short, text, function, tags or ())
        if schema is not None:
            given, said = set(mutates_args), mutated_names(found._operator.schema)
            if mutates_args != "unknown" and given != said:
                found._lib._destroy()
                raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                                 f"`schema={schema}. The schema suggests that the op mutates {said or set()}which is "
                                 "different from what was provided to us in `mutates_args`. Please make these "
                                 "consistent.")
        found.register_kernel(device_types)(function)
        return found
    return define if fn is None else define(fn)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """custom_op for a function that calls Triton kernels by wrap_triton, which refuses: mindtorch runs none.

    The operator runs where its function calls none, as on devices with kernels of their own.

    Example:
        >>> @torch.library.triton_op("example::thrice", mutates_args=())
        ... def thrice(x: torch.Tensor) -> torch.Tensor:
        ...     return 3 * x
        >>> thrice(torch.ones(2))
        tensor([3., 3.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


class CustomOpDef:
    """A custom operator: it is called as one, and takes kernels, a fake kernel and a derivative."""

    def __init__(self, namespace, name, schema, fn, tags=()):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._tags = tags
        self.backward = self.setup_context = None       # the formula, read by the Autograd kernel
        parsed = parse_schema(f"{name}{schema}")
        refuse_keyword_tensors("custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only.",
                               parsed)
        previous = _definitions.pop(self._qualname, None)
        _vmap_rules.pop(self._qualname, None)
        if previous is not None:
            previous._lib._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        self._lib.define(f"{name}{schema}", tags=tags)
        self._operator = registry.find(self._qualname)
        self._disabled = set()
        self._lib.impl(name, autograd_kernel(self._operator, self), "Autograd")
        _definitions[self._qualname] = self

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self):
        return getattr(getattr(ops, self._namespace), self._name).default

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args, **kwargs):
        return self._operator(args, kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Make a function the kernel for those types of devices, or for all with None. Usable as a decorator."""
        kinds = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
        keys = ["CompositeExplicitAutograd" if kind is None else key_of_device(kind) for kind in kinds]

        def register(function):
            for kind, key in zip(kinds, keys, strict=True):
                self._lib.impl(self._name, self._kernel(kind, function), key)
            return function
        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """Give a function that makes results of the right shape and dtype without computing them.

        Calls with tensors on the meta device run it, and torch.library.opcheck.
        """
        self._lib._register_fake(self._name, fn)
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Give the derivative, `backward(ctx, *grads)`; `setup_context(ctx, inputs, output)` saves for it."""
        check_differentiable(self, self._operator.schema)
        self.backward, self.setup_context = backward, setup_context

    def register_vmap(self, func=None):
        """Give a rule for batches, `rule(info, in_dims, *args)`, which returns results and their batch dimensions."""
        def register(rule):
            set_vmap_rule(self._qualname, rule)
            return rule
        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs):
        """Have autocast cast the floating-point tensors of a call to a dtype, on that type of device."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self._lib.impl(self._name, autocast_kernel(self._operator, device_type, cast_inputs),
                       f"Autocast{key_of_device(device_type)}")

    @contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Within it, the kernel of that type of device is used, or the function that the operator was made of."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def _kernel(self, kind, function):
        """`function` as a kernel: what it returns must not share memory, and what it may write to counts a write."""
        written = mutated_names(self._operator.schema)
        places = [i for i, a in enumerate(self._operator.schema.positional) if a.name in written]

        def kernel(*args, **kwargs):
            result = (self._init_fn if kind in self._disabled else function)(*args, **kwargs)
            self._refuse_aliases(args, kwargs, result, function)
            increment_version(tensors_in([args[place] for place in places if place < len(args)]))
            return result
        return kernel

    def _refuse_aliases(self, args, kwargs, result, function):
        known = {tensor.untyped_storage().data_ptr() for tensor in tensors_in([*args, *kwargs.values()])} - {0}
        for tensor in tensors_in(result if isinstance(result, tuple) else [result]):
            address = tensor.untyped_storage().data_ptr()
            if address in known:
                raise RuntimeError(_ALIASING.format(name=self._name, module=function.__module__))
            known |= {address} - {0}


def autocast_kernel(operator, device_type, dtype):
    """The kernel that casts floating-point tensors, and calls the operator without autocast."""
    def cast(value):
        if isinstance(value, TensorBase):
            low = value.is_floating_point() and value.device.type == device_type and str(value.dtype) != "torch.float64"
            return value.to(dtype) if low else value
        return [cast(item) for item in value] if isinstance(value, (list, tuple)) else value

    def kernel(*args, **kwargs):
        from mindtorch.amp import autocast
        with ExcludeDispatchKeyGuard([f"Autocast{key_of_device(device_type)}"]), autocast(device_type, enabled=False):
            return operator(tuple(map(cast, args)), {name: cast(value) for name, value in kwargs.items()})
    return kernel


def definition_of(qualname):
    """The CustomOpDef of that name, None where the operator was not made by custom_op."""
    return _definitions.get(qualname)


def set_vmap_rule(qualname, rule):
    """Keep the rule for batches of an operator."""
    _vmap_rules[qualname] = rule


def vmap_rule_of(qualname):
    """The rule for batches that register_vmap was given for an operator, or None."""
    return _vmap_rules.get(qualname)
