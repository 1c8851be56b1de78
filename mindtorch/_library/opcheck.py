"""torch.library.opcheck: whether an operator does what its schema and its registrations say."""
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._library import fake, registry
from mindtorch._library.custom_ops import CustomOpDef
from mindtorch._library.keys import backend_of
from mindtorch._library.overloads import OpOverload, OpOverloadPacket
from mindtorch.utils._pytree import tree_leaves, tree_map

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """A test of opcheck that failed."""


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Test an operator with these arguments; {test: "SUCCESS", or what went wrong}.

    test_schema: nothing is written to that the schema does not say, and results are new. test_autograd_registration:
    it has a registered derivative. test_faketensor: the fake kernel makes results of the same shape, dtype
    and device. Those are all; torch's tests of its compiler have no counterpart. OpCheckError for the first failure,
    unless raise_exception is false.

    Arguments:
        args: the arguments of a call, as a tuple
        kwargs: the arguments by name; None means none
        test_utils: the checks, a name or several
        raise_exception: whether a failure raises an error, in place of being returned
        atol: not read
        rtol: not read

    Example:
        >>> @torch.library.custom_op("example::same", mutates_args=())
        ... def same(x: torch.Tensor) -> torch.Tensor:
        ...     return x.clone()
        >>> @same.register_fake
        ... def _(x):
        ...     return torch.empty_like(x)
        >>> torch.library.opcheck(same, (torch.ones(2),))["test_schema"]
        'SUCCESS'
    """
    operator = _operator_of(op)
    wanted = tuple(_TESTS) if test_utils is None else ((test_utils,) if isinstance(test_utils, str) else test_utils)
    if not set(wanted) <= set(_TESTS):
        raise ValueError(f"opcheck(op, ..., test_utils={tuple(wanted)}), expected test_utils to be subset of "
                         f"{tuple(_TESTS)} but it was not")
    results = {}
    for name in wanted:
        bound = operator.binder.bind(args, kwargs or {})
        try:
            _TESTS[name](op, operator, *tree_map(_copied, bound))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} "
                                   "(scroll up for stack trace)") from error
            results[name] = error
    return results


def _operator_of(op):
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if not isinstance(op, OpOverload):
        raise ValueError("opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
                         f"torch.ops.aten.sin.default, got {type(op)}")
    return registry.find(op.name())


def _copied(value):
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, TensorBase) else value


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, TensorBase)]


def _test_schema(op, operator, args, kwargs):
    arguments = operator.schema.positional[:len(args)]
    pairs = [*zip(arguments, args, strict=True),
             *((a, kwargs[a.name]) for a in operator.schema.arguments if a.name in kwargs)]
    before = [[(tensor, tensor.detach().clone()) for tensor in _tensors([value])] for _, value in pairs]
    result = operator.dispatch(args, kwargs)
    for (argument, _), known in zip(pairs, before, strict=True):
        if not argument.is_write and not all(tensor.equal(copy) for tensor, copy in known):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
    given = {tensor.untyped_storage().data_ptr() for _, value in pairs for tensor in _tensors([value])} - {0}
    if not any(part.alias_info for part in operator.schema.returns) and any(
            tensor.untyped_storage().data_ptr() in given for tensor in _tensors([result])):
        raise RuntimeError(f"The results of {operator.qualname} are not defined to alias arguments but do")


def _test_autograd_registration(op, operator, args, kwargs):
    tensors = _tensors([args, kwargs])
    if any(tensor.requires_grad for tensor in tensors) and operator.autograd_kernel(backend_of(tensors)) is None:
        raise AssertionError(f"{operator.qualname} has no autograd kernel: please register one with "
                             "torch.library.register_autograd")


def _test_faketensor(op, operator, args, kwargs):
    function = fake.fake_of(operator.qualname)
    if function is None and operator.kernel("CompositeImplicitAutograd") is not None:
        return
    if function is None:
        raise RuntimeError(f"There was no fake impl registered for {op}. This is necessary for torch.compile/export/fx "
                           "tracing to work. Please use `register_fake` to add an fake impl.")
    real = _tensors([operator.dispatch(*tree_map(_copied, (args, kwargs)))])
    size = max((tensor.size(0) for tensor in real if tensor.dim()), default=0)
    made = _tensors([fake.run(function, size, args, kwargs)])
    for place, (mine, theirs) in enumerate(zip(made, real, strict=True)):
        for what in ("shape", "dtype", "device"):
            if getattr(mine, what) != getattr(theirs, what):
                raise AssertionError(f"result {place} of the fake kernel has {what} {getattr(mine, what)}, that of the "
                                     f"operator {getattr(theirs, what)}")


_TESTS = {"test_schema": _test_schema, "test_autograd_registration": _test_autograd_registration,
          "test_faketensor": _test_faketensor}
