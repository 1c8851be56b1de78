"""How calls of custom operators are recorded: by a formula given with register_autograd, or not at all."""
import warnings

from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._library.keys import AutoDispatchBelowAutograd, backend_of
from mindtorch._library.registry import tensors_in
from mindtorch.autograd.function import Function
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["autograd_kernel", "check_differentiable", "warn_in_backward"]

_NOT_REGISTERED = (
    "{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
    "This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future version "
    "of PyTorch. If your operator is differentiable, please ensure you have registered an autograd kernel to the "
    "correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator is "
    "not differentiable, or to squash this warning and use the previous behavior, please register "
    "torch::CppFunction::makeFallthrough() to DispatchKey::Autograd.")


def check_differentiable(subject, schema):
    """RuntimeError for an operator that writes to its arguments or returns views, which no formula is for."""
    if any(part.alias_info is not None for part in (*schema.arguments, *schema.returns)):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {subject} with schema "
                           f"{schema}. Please create a functional operator and register an autograd formula for that.")
    refuse_keyword_tensors("register_autograd with kwarg-only Tensor args. In the original definition of the op, "
                           "please make your tensors not kwarg-only.", schema)


def refuse_keyword_tensors(what, schema):
    """NotImplementedError where a tensor can only be given by name."""
    if any(a.kwarg_only and a.type.leaf == "Tensor" for a in schema.arguments):
        raise NotImplementedError(f"{what} Got: {schema}")


def autograd_kernel(operator, formula):
    """The Autograd kernel of an operator: `formula` has its `backward` and its `setup_context`, or None for either."""
    schema = operator.schema
    name = f"GeneratedBackwardFor_{schema.name.replace('::', '_')}_{schema.overload_name or 'default'}"

    def backend_call(args, kwargs):
        backend = backend_of(list(tensors_in(args)), [*args, *kwargs.values()])
        with AutoDispatchBelowAutograd():
            return operator.run(backend, args, kwargs)

    def forward(ctx, call, *flat):
        args = tree_unflatten(list(flat), call.inputs)
        result = backend_call(args, call.keywords)
        if formula.setup_context is not None:
            given, others = operator.binder.filled(args, call.keywords)
            flat_needs, ctx.needs_input_grad = ctx.needs_input_grad, call.needs(ctx)
            keywords = {"keyword_only_inputs": others} if others else {}
            formula.setup_context(ctx=ctx, inputs=given, output=result, **keywords)
            ctx.needs_input_grad = flat_needs
        ctx._call = call
        results, call.outputs = tree_flatten(result)
        return tuple(results)

    def backward(ctx, *flat):
        call = ctx._call
        if formula.backward is None:
            raise RuntimeError(f"Trying to backward through {_shown(operator)} but no autograd formula was registered. "
                               "Please use register_autograd to add one.")
        needs, ctx.needs_input_grad = ctx.needs_input_grad, call.needs(ctx)
        try:
            result = tree_unflatten(list(flat), call.outputs)
            many = len(schema.returns) > 1
            grads = formula.backward(ctx, *result) if many else formula.backward(ctx, result)
        finally:
            ctx.needs_input_grad = needs
        return (None, *_gradients_of(call.inputs, grads))

    function = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    def kernel(*args, **kwargs):
        if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_in(args))):
            with no_grad():
                return backend_call(args, kwargs)
        flat, inputs = tree_flatten(operator.binder.filled(args, kwargs)[0])
        call = _Call(inputs, kwargs)
        return tree_unflatten(list(function.apply(call, *flat)), call.outputs)
    return kernel


class _Call:
    """State of one call beside ctx: the structure of inputs and results, without tensors."""

    def __init__(self, inputs, keywords):
        self.inputs, self.keywords, self.outputs = inputs, keywords, None

    def needs(self, ctx):
        """ctx.needs_input_grad, nested as the inputs are."""
        return tree_unflatten(list(ctx.needs_input_grad[1:]), self.inputs)


def _shown(operator):
    return f"{operator.schema.name.replace('::', '.')}.{operator.schema.overload_name or 'default'}"


def _gradients_of(nested, grads):
    """The gradients that a formula returned, one for each leaf of the inputs."""
    grads = tuple(grads) if isinstance(grads, (tuple, list)) else (grads,)
    inputs = tree_unflatten([None] * nested.num_leaves, nested)
    grads = (*grads, *[None] * (len(inputs) - len(grads)))
    if all(grad is None for grad in grads[len(inputs):]):
        grads = grads[:len(inputs)]
    flat = []
    for place, grad in enumerate(grads):
        value = inputs[place] if place < len(inputs) else None
        if isinstance(value, (list, tuple)):
            of_each = [None] * len(value) if grad is None else grad
            if not isinstance(of_each, (list, tuple)) or len(of_each) != len(value):
                raise RuntimeError("Expected the return from backward to be of the same structure as the inputs. Got: "
                                   f"{tree_flatten(grads)[1]} (return from backward), {nested} (inputs)")
            flat += of_each
        else:
            flat.append(grad)
    return flat


class _WarnNotImplemented(Function):
    """The node of a result without a derivative: backward warns, and no gradient flows."""

    @staticmethod
    def forward(ctx, name, result, *inputs):
        ctx.name, ctx.count = name, len(inputs)
        return result.detach()

    @staticmethod
    def backward(ctx, grad):
        warnings.warn(_NOT_REGISTERED.format(name=ctx.name), stacklevel=2)
        return (None,) * (ctx.count + 2)


def warn_in_backward(operator, given, result, written):
    """`result`, whose backward warns that the operator has no autograd kernel."""
    name = operator.schema.name

    def warn(grad):
        warnings.warn(_NOT_REGISTERED.format(name=name), stacklevel=2)

    def noted(value):
        if isinstance(value, (list, tuple)):
            return type(value)([noted(item) for item in value])
        if not isinstance(value, TensorBase) or not (value.is_floating_point() or value.is_complex()):
            return value
        if value.requires_grad:
            if id(value) not in written:
                value.register_hook(warn)
            return value
        return _WarnNotImplemented.apply(name, value, *given) if id(value) not in written else value
    return noted(result)
