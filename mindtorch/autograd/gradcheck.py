"""torch.autograd.gradcheck: gradients from backward beside those from small differences.

Jacobians are tables of Python numbers: what is checked is small, and the check must not lean on what it checks. A
complex number counts as two real ones, its parts: the gradient dL/d(re) + i dL/d(im) of a real L holds what both get.
"""
from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy

from mindtorch._core.tensor.torch_dispatch import is_wrapper
from mindtorch.autograd.function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Gradients that are wrong."""


def gradcheck(func: Any, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False,
              check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True,
              fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Whether the gradients of func(*inputs) agree with (f(x + eps) - f(x - eps)) / 2eps, within atol and rtol.

    Inputs that require a gradient should be float64 or complex128. GradcheckError where they disagree; False instead,
    with `raise_exception` False. `fast_mode` compares sums with random weights, and elements where those disagree.
    `check_batched_grad` compares batches of gradients with the gradients one by one, `check_batched_forward_grad` those
    of tangents.

    Arguments:
        func: a function of tensors
        inputs: the tensors; one, or a tuple
        eps: the step of the differences
        atol: the absolute tolerance
        rtol: the relative tolerance
        raise_exception: whether a difference raises an error, in place of False
        nondet_tol: by how much two runs may differ
        check_undefined_grad: whether gradients that are None are tried as well
        check_grad_dtypes: whether the dtypes of gradients are compared
        check_batched_grad: whether gradients in batches, by vmap, are tried
        check_batched_forward_grad: whether forward derivatives in batches are tried
        check_forward_ad: whether forward derivatives are tried
        check_backward_ad: whether backward is tried
        fast_mode: whether random directions are compared, in place of each element
        masked: not read

    Example:
        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, (x,))
        True
    """
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    func, inputs = _of_values(func, _tuple(inputs))
    try:
        _check_inputs(inputs)
        if not check_backward_ad:
            _check_forward(func, inputs, eps, atol, rtol, check_batched_forward_grad)
            return True
        outputs = _differentiable(func(*inputs))
        if not outputs:
            return _check_nothing_differentiable(func, inputs, eps)
        if not fast_mode or not _sums_agree(func, inputs, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes):
            _check_jacobians(func, inputs, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
        _check_zero_gradients(outputs, inputs)
        if check_batched_grad:
            _check_batched_gradients(outputs, inputs)
        if check_undefined_grad:
            _check_undefined_gradients(func, inputs)
        if check_forward_ad:
            _check_forward(func, inputs, eps, atol, rtol, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Any, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """gradcheck of the gradients of func(*inputs), which are functions of the inputs and of `grad_outputs`.

    grad_outputs: gradients of the outputs; random numbers where None. `check_rev_over_rev` checks backward of the
    gradients, `check_fwd_over_rev` their forward mode.

    Arguments:
        func: a function of tensors
        inputs: the tensors; one, or a tuple
        grad_outputs: the gradient of each output; None for one of one element means 1
        eps: the step of the differences
        atol: the absolute tolerance
        rtol: the relative tolerance
        gen_non_contig_grad_outputs: whether grad_outputs that are made lie non-contiguous in memory
        raise_exception: whether a difference raises an error, in place of False
        nondet_tol: by how much two runs may differ
        check_undefined_grad: whether gradients that are None are tried as well
        check_grad_dtypes: whether the dtypes of gradients are compared
        check_batched_grad: whether gradients in batches, by vmap, are tried
        check_fwd_over_rev: whether forward over backward is tried
        check_rev_over_rev: whether backward over backward is tried
        fast_mode: whether random directions are compared, in place of each element
        masked: whether elements that a sparse tensor lacks are left out

    Example:
        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(torch.exp, (x,))
        True
    """
    if not check_rev_over_rev and not check_fwd_over_rev:
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    inputs = _tuple(inputs)
    if grad_outputs is None:
        random = numpy.random.default_rng(0)
        grad_outputs = tuple(_random_like(out, random, gen_non_contig_grad_outputs)
                             for out in _differentiable(func(*inputs)))
    grad_outputs = _tuple(grad_outputs)
    differentiable = [place for place, _ in _differentiable_inputs(inputs + grad_outputs)]

    def gradients(*arguments):
        from mindtorch import autograd
        given, of_outputs = arguments[:len(inputs)], arguments[len(inputs):]
        for place in differentiable:
            arguments[place].requires_grad_()           # dual tensors do not yet
        wanted = tuple(given[place] for place in differentiable if place < len(inputs))
        found = autograd.grad(_differentiable(func(*given)), wanted, of_outputs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode,
                     masked=masked)


def _of_values(func, inputs):
    """The function and its inputs with the values of sparse tensors in the place of these, and with dense results."""
    from mindtorch import strided
    from mindtorch._sparse.tensors import values_of, with_values
    sparse = {i: x for i, x in enumerate(inputs) if _is_tensor(x) and x.layout is not strided}

    def wrapped(*arguments):
        found = func(*[with_values(sparse[i].detach(), x) if i in sparse else x for i, x in enumerate(arguments)])
        dense = tuple(out.to_dense() if _is_tensor(out) and out.layout is not strided else out for out in _tuple(found))
        return dense if isinstance(found, (tuple, list)) else dense[0]

    return wrapped, tuple(values_of(x.detach()).clone().requires_grad_(x.requires_grad) if i in sparse else x
                          for i, x in enumerate(inputs))


# --- inputs and outputs ----------------------------------------------------------------------------------------------

def _is_tensor(value):
    from mindtorch import Tensor
    return isinstance(value, Tensor)


def _tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs):
    return tuple(out for out in _tuple(outputs) if _is_tensor(out) and out.requires_grad)


def _differentiable_inputs(inputs):
    """(position, input) of those that require a gradient."""
    return [(i, x) for i, x in enumerate(inputs) if _is_tensor(x) and x.requires_grad]


def _random_like(tensor, random, strided):
    import mindtorch
    shape = (*tensor.shape, 2) if strided else tuple(tensor.shape)
    values = mindtorch.empty(shape, dtype=tensor.dtype, device=tensor.device)
    parts = random.standard_normal((2, *shape))
    values.copy_(mindtorch.tensor(parts[0] + 1j * parts[1] if tensor.is_complex() else parts[0]))
    return (values[..., 0] if strided else values).requires_grad_()


def _check_inputs(inputs):
    wanted = _differentiable_inputs(inputs)
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have "
                         "requires_grad=True.")
    for index, tensor in wanted:
        if str(tensor.dtype) not in ("torch.float64", "torch.complex128"):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4)
        if any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck.")


# --- jacobians: lists of rows, one per element of the input, two per complex one -------------------------------------

def _numbers(tensor):
    """The elements as a flat array of float64, on the host; of complex ones the parts, one behind the other."""
    kind = numpy.complex128 if tensor.is_complex() else numpy.float64
    if is_wrapper(tensor):
        values = [element.item() for element in tensor.detach().reshape(-1).unbind()]
    else:
        values = tensor.detach().resolve_conj().cpu().tolist()
    return numpy.array(values, dtype=kind).reshape(-1).view(numpy.float64)


def _units(tensor):
    """The unit vectors of an element: 1, and 1j for a complex one."""
    return (1.0, 1j) if tensor.is_complex() else (1.0,)


def _numerical(func, inputs, tensor, eps, select):
    """The numerical Jacobian of each output that `select` picks, with respect to `tensor`."""
    data, rows = tensor.data, []

    def results():
        return [_numbers(out) for out in select(func(*_safe_from_writes(inputs, tensor)))]

    for index in itertools.product(*(range(size) for size in tensor.shape)):
        before = data[index].item()
        for part in _units(tensor):
            data[index] = before + eps * part
            above = results()
            data[index] = before - eps * part
            below = results()
            data[index] = before
            rows.append([(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)])
    return rows


def _safe_from_writes(inputs, tensor):
    """The inputs, with a clone of one of them where a function could write to it.

    A leaf, to which none can, stays: the function may take the gradient by it without using it, as by a parameter.
    """
    return [x.clone() if x is tensor and not x.is_leaf else x for x in inputs]


def _tensor_of(numbers, like):
    """The inverse of _numbers."""
    import mindtorch
    values = numbers.view(numpy.complex128) if like.is_complex() else numbers
    return mindtorch.tensor(values.reshape(like.shape), dtype=like.dtype, device=like.device)


def _sums_agree(func, inputs, outputs, eps, atol, rtol, nondet_tol, check_dtypes):
    """Whether all jacobians agree in v J u, for one random u and v of positive numbers each."""
    random = numpy.random.default_rng(0)
    wanted, places = _differentiable_inputs(inputs), _positions(func(*inputs))
    weights = [random.random(len(_numbers(out))) for out in outputs]
    sums = []
    for output, v in zip(outputs, weights, strict=True):
        found = _gradients(output, wanted, _tensor_of(v, output), check_dtypes)
        again = _gradients(output, wanted, _tensor_of(v, output), check_dtypes)
        if not all(numpy.allclose(a, b, 0, nondet_tol) for a, b in zip(found, again, strict=True)):
            return False
        sums.append(found)
    for which, (_, tensor) in enumerate(wanted):
        u = random.random(len(_numbers(tensor)))
        step, data = _tensor_of(eps * u, tensor), tensor.data
        before = data.clone()
        ends = []
        for moved in (before + step, before - step):
            data.copy_(moved)
            results = _tuple(func(*_safe_from_writes(inputs, tensor)))
            ends.append([_numbers(results[place]) for place in places])
        data.copy_(before)
        for number, v in enumerate(weights):
            numerical = (ends[0][number] - ends[1][number]) @ v / (2 * eps)
            if not abs(sums[number][which] @ u - numerical) <= atol * u.sum() * v.sum() + rtol * abs(numerical):
                return False
    return True


def _gradients(output, wanted, of_output, check_dtypes):
    """Per input of `wanted` the gradient's numbers, where the output has the gradient `of_output`."""
    from mindtorch import autograd
    found = autograd.grad(output, [x for _, x in wanted], of_output, retain_graph=True, allow_unused=True)
    for gradient, (_, tensor) in zip(found, wanted, strict=True):
        if gradient is not None and check_dtypes and gradient.dtype is not tensor.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        if gradient is not None and gradient.shape != tensor.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
    return [numpy.zeros(len(_units(x)) * x.numel()) if g is None else _numbers(g)
            for g, (_, x) in zip(found, wanted, strict=True)]


def _analytical(output, wanted, check_dtypes):
    """Per input of `wanted` a matrix: the gradients of each element of `output`, as columns."""
    from mindtorch import zeros_like
    columns = [numpy.zeros((len(_units(tensor)) * tensor.numel(), len(_units(output)) * output.numel()))
               for _, tensor in wanted]
    unit = zeros_like(output)
    places = itertools.product(itertools.product(*(range(size) for size in output.shape)), _units(output))
    for column, (index, part) in enumerate(places):
        unit.data[index] = part
        found = _gradients(output, wanted, unit.clone(), check_dtypes)
        unit.data[index] = 0.0
        for matrix, gradient in zip(columns, found, strict=True):
            matrix[:, column] = gradient
    return columns


def _positions(outputs):
    return [i for i, out in enumerate(_tuple(outputs)) if _is_tensor(out) and out.requires_grad]


def _check_jacobians(func, inputs, outputs, eps, atol, rtol, nondet_tol, check_dtypes):
    wanted = _differentiable_inputs(inputs)
    places = _positions(func(*inputs))

    def select(results):
        results = _tuple(results)
        return [results[place] for place in places]

    numerical = [_numerical(func, inputs, tensor, eps, select) for _, tensor in wanted]
    for number, output in enumerate(outputs):
        analytical = _analytical(output, wanted, check_dtypes)
        again = _analytical(output, wanted, check_dtypes)
        for which, (index, _) in enumerate(wanted):
            moved = numpy.array([row[number] for row in numerical[which]]).reshape(analytical[which].shape)
            if not numpy.allclose(analytical[which], moved, rtol, atol):
                part = _wrong_part(output, analytical[which], moved, rtol, atol)
                raise GradcheckError(f"{part}Jacobian mismatch for output {number} with respect to input {index},\n"
                                     f"numerical:{moved}\nanalytical:{analytical[which]}\n")
            if not numpy.allclose(analytical[which], again[which], 0, nondet_tol):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                    f"nondeterminism was {nondet_tol}.")


def _check_forward(func, inputs, eps, atol, rtol, batched):
    """Forward mode: the tangents of the results, for tangents that are 1 in one element of an input."""
    from mindtorch import zeros_like
    from mindtorch.autograd import forward_ad
    places = [i for i, out in enumerate(_tuple(func(*inputs))) if _is_tensor(out) and (
        out.is_floating_point() or out.is_complex())]

    def select(results):
        results = _tuple(results)
        return [results[place] for place in places]

    def tangents_of(tensor, along):
        with forward_ad.dual_level():
            duals = {place: forward_ad.make_dual(x.detach(), along if x is tensor else (x * 0).detach().clone())
                     for place, x in _differentiable_inputs(inputs)}
            results = select(func(*[duals.get(place, x) for place, x in enumerate(inputs)]))
            tangents = [forward_ad.unpack_dual(result).tangent for result in results]
        return [zeros_like(result) if tangent is None else tangent
                for result, tangent in zip(results, tangents, strict=True)]

    for index, tensor in _differentiable_inputs(inputs):
        if batched:
            _check_batched_tangents(lambda along, tensor=tensor: tangents_of(tensor, along), tensor)
        rows, unit = [], zeros_like(tensor).detach()
        for element in itertools.product(*(range(size) for size in tensor.shape)):
            for part in _units(tensor):
                unit[element] = part
                rows.append([_numbers(tangent) for tangent in tangents_of(tensor, unit.clone())])
                unit[element] = 0.0
        numerical = _numerical(func, inputs, tensor, eps, select)
        for number in range(len(places)):
            moved, found = (numpy.array([row[number] for row in table]) for table in (numerical, rows))
            if not numpy.allclose(found, moved, rtol, atol):
                raise GradcheckError(f"Jacobian computed with forward mode mismatch for output {number} with respect "
                                     f"to input {index},\nnumerical:{moved}\nanalytical:{found}\n")


def _wrong_part(output, analytical, moved, rtol, atol):
    """Which part of a complex output has another gradient, for a message."""
    if not output.is_complex():
        return ""
    right = numpy.allclose(analytical[:, 1::2], moved[:, 1::2], rtol, atol)
    return f"While considering the {'real' if right else 'imaginary'} part of complex outputs only, "


def _check_nothing_differentiable(func, inputs, eps):
    """No result requires a gradient: then none may depend on the inputs."""
    def select(results):
        return [out for out in _tuple(results) if _is_tensor(out) and (out.is_floating_point() or out.is_complex())]
    for _, tensor in _differentiable_inputs(inputs):
        for row in _numerical(func, inputs, tensor, eps, select):
            if any(change.any() for change in row):
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return True


# --- gradients that are zero, or not there ---------------------------------------------------------------------------

def _check_zero_gradients(outputs, inputs):
    from mindtorch import autograd, zeros_like
    wanted = [x for _, x in _differentiable_inputs(inputs)]
    found = autograd.grad(outputs, wanted, [zeros_like(out) for out in outputs], retain_graph=True, allow_unused=True)
    for gradient, tensor in zip(found, wanted, strict=True):
        if gradient is None:
            continue
        if _numbers(gradient).any():
            raise GradcheckError("backward not multiplied by grad_output")
        if gradient.dtype is not tensor.dtype:
            raise GradcheckError("grad is incorrect type")
        if gradient.device != tensor.device:
            raise GradcheckError("grad is incorrect device")
        if gradient.shape != tensor.shape:
            raise GradcheckError("grad is incorrect size")


def _check_batched_gradients(outputs, inputs):
    """Checks that a batch of gradients goes back as each of them does."""
    from mindtorch import allclose, autograd, stack
    wanted = [x for _, x in _differentiable_inputs(inputs)]
    random = numpy.random.default_rng(0)
    for out in outputs:
        grads = [_random_like(out, random, False).detach() for _ in range(2)]
        single = [autograd.grad(out, wanted, each, retain_graph=True, allow_unused=True) for each in grads]
        batch = autograd.grad(out, wanted, stack(grads), retain_graph=True, allow_unused=True, is_grads_batched=True)
        for found, *expected in zip(batch, *single, strict=True):
            if found is not None and not allclose(found, stack(expected), equal_nan=True):
                raise GradcheckError("While testing batched gradients: vmap of the backward pass gives other gradients "
                                     f"than a loop over the batch.\nbatch:\n{found}\nloop:\n{stack(expected)}")


def _check_batched_tangents(tangents_of, tensor):
    """Checks that a batch of tangents goes forward as each of them does."""
    from mindtorch import allclose, func, stack
    random = numpy.random.default_rng(0)
    along = [_random_like(tensor, random, False).detach() for _ in range(2)]
    single = [tangents_of(each) for each in along]
    for found, *expected in zip(func.vmap(tangents_of)(stack(along)), *single, strict=True):
        if not allclose(found, stack(expected), equal_nan=True):
            raise GradcheckError("While testing batched tangents: vmap of the forward mode gives other tangents than a "
                                 f"loop over the batch.\nbatch:\n{found}\nloop:\n{stack(expected)}")


def _check_undefined_gradients(func, inputs):
    """Checks that backward accepts undefined gradients of unused results."""
    outputs = _differentiable(func(*inputs))
    wanted = [x for _, x in _differentiable_inputs(inputs)]
    missing = [set(range(len(outputs)))]
    if len(outputs) > 1:
        missing += [{i} for i in range(len(outputs))]
    for some in missing:
        try:
            found = _with_undefined(_differentiable(func(*inputs)), wanted, some)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined "
                "output gradients' in 'tools/autograd/derivatives.yaml'") from error
        if len(some) == len(outputs) and any(g is not None and _numbers(g).any() for g in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please "
                "look at 'Notes about undefined output gradients' in 'tools/autograd/derivatives.yaml'")


def _with_undefined(outputs, wanted, missing):
    """The gradients of `wanted` where those of the outputs in `missing` are not there."""
    from mindtorch import autograd, zeros_like
    passed = _Undefine.apply(frozenset(missing), *outputs)
    return autograd.grad(passed, wanted, [zeros_like(out) for out in passed], allow_unused=True)


class _Undefine(Function):
    """Passes tensors on, and takes the gradients of some of them away."""

    @staticmethod
    def forward(ctx: Any, missing: Any, *tensors: Any) -> Any:
        ctx.missing = missing
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, *(None if i in ctx.missing else grad for i, grad in enumerate(grads))
