"""torch.autograd.functional: jacobians, hessians and their products with vectors.

Products with a vector from the right (jvp, hvp) take the gradient of a vjp with respect to its vector.
"""
from __future__ import annotations

from typing import Any

from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

# Errors of strict mode: there is no gradient, or it does not depend on the inputs.
_STRICT = "This is not allowed in strict mode"
_NO_OUTPUT = f"The output of the user-provided function is independent of input {{}}. {_STRICT}."
_NO_JACOBIAN = f"The jacobian of the user-provided function is independent of input {{}}. {_STRICT}"
_NO_HESSIAN = f"The hessian of the user-provided function is independent of input {{}}. {_STRICT}"
_CONSTANT = ("While computing the hessian, found that the jacobian of the user-provided function with respect to input "
             f"{{}} is independent of the input. {_STRICT}. You should ensure that your function is twice "
             "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
             "for example).")
_RETURNS_ONE = "user-provided function returns a single Tensor with a single element"
_TAKES_ONE = "input to the user-provided function is a single Tensor with a single element"


@enable_grad()
def vjp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), v times its Jacobian), one product per input; `v` may be left out for a result of one element.

    Example:
        >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    single, given = _inputs("vjp", inputs, create_graph)
    outputs, single_output = _call("vjp", func, given, strict)
    vectors = _vector("vjp", v, outputs, single_output, _RETURNS_ONE)
    products = _gradients(outputs, given, vectors, create_graph, strict, _NO_OUTPUT)
    return _packed(outputs, single_output, create_graph), _packed(products, single, create_graph)


@enable_grad()
def jvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), its Jacobian times v), one product per output; `v` is shaped as the inputs.

    Example:
        >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    single, given = _inputs("jvp", inputs, create_graph)
    vectors = _vector("jvp", v, given, single, _TAKES_ONE)
    outputs, single_output = _call("jvp", func, given, strict)
    products = _times_from_right(outputs, given, vectors, create_graph, strict, _NO_OUTPUT)
    return _packed(outputs, single_output, create_graph), _packed(products, single_output, create_graph)


@enable_grad()
def vhp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), v times its Hessian), for a func with one result of one element.

    Example:
        >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    single, given = _inputs("vhp", inputs, create_graph)
    vectors = _vector("vhp", v, given, single, _TAKES_ONE)
    outputs, slopes = _slopes("vhp", func, given, strict)
    products = _gradients(slopes, given, vectors, create_graph, strict, _NO_JACOBIAN + ".", _NO_HESSIAN)
    return _packed(outputs, True, create_graph), _packed(products, single, create_graph)


@enable_grad()
def hvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), its Hessian times v), for a func with one result of one element. vhp is the cheaper one.

    Example:
        >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    single, given = _inputs("hvp", inputs, create_graph)
    vectors = _vector("hvp", v, given, single, _TAKES_ONE)
    outputs, slopes = _slopes("hvp", func, given, strict)
    products = _times_from_right(slopes, given, vectors, create_graph, strict, _NO_JACOBIAN + ".", _NO_HESSIAN)
    return _packed(outputs, True, create_graph), _packed(products, single, create_graph)


@enable_grad()
def jacobian(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """The derivatives of each output by each input, of shape (*output.shape, *input.shape).

    One tensor, or tuples where there are several outputs or inputs: outputs outermost. `vectorize` and `strategy` are
    torch's ways to the same values, which are computed row by row here in any case.

    Arguments:
        strategy: "reverse-mode" or "forward-mode" differentiation

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function '
                             'has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
                             'prefer to use "reverse-mode".')
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and "
                                  '`strategy="forward-mode"` are not supported together (yet). Please either set '
                                  '`create_graph=False` or `strategy="reverse-mode"`.')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                                  "implemented for `vectorize=True`.")
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")
    single, given = _inputs("jacobian", inputs, create_graph)
    outputs, single_output = _call("jacobian", func, given, strict)
    table = tuple(_rows(out, given, create_graph, strict, vectorize, number) for number, out in enumerate(outputs))
    table = _grad_postprocess(table, create_graph)
    if single:
        table = tuple(row[0] for row in table)
    return table[0] if single_output else table


@enable_grad()
def hessian(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The second derivatives of a func with one result of one element, by each pair of inputs.

    Arguments:
        outer_jacobian_strategy: "reverse-mode" or "forward-mode" for the outer derivative

    Example:
        >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    single, _ = _tensors("inputs", "hessian", inputs)

    def single_result(*given):
        return _scalar_result("hessian", func, given, strict).squeeze()

    def slopes(*given):
        found = jacobian(single_result, given[0] if single else given, create_graph=True)
        for index, slope in enumerate((found,) if single else found):
            if strict and not slope.requires_grad:
                raise RuntimeError(_CONSTANT.format(index))
        return found

    return jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


# --- arguments and results -------------------------------------------------------------------------------------------

def _tensors(argument, function, value):
    """(whether one tensor was given, a tuple of tensors)."""
    from mindtorch import Tensor
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    for index, item in enumerate(values):
        if not isinstance(item, Tensor):
            what = f"given {argument}" if single else f"value at index {index}"
            raise TypeError(f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the "
                            f"{what} has type {type(item)}.")
    return single, values


def _inputs(function, inputs, create_graph):
    """Copies of the inputs that require gradients, separate from the caller's graph."""
    single, values = _tensors("inputs", function, inputs)
    if create_graph:
        return single, tuple(map(separate_copy, values))
    return single, tuple(x.detach().requires_grad_() for x in values)


def separate_copy(tensor: Any) -> Any:
    """`tensor` again, differentiable by itself: a view of one that has a history, else a leaf.

    A view that was made in no_grad has none, though it says that it requires a gradient.
    """
    view = tensor.view_as(tensor) if tensor.requires_grad else tensor
    return view if view.grad_fn is not None else tensor.detach().requires_grad_()


def _call(function, func, inputs, strict):
    single, outputs = _tensors("outputs of the user-provided function", function, func(*inputs))
    _check_differentiable(outputs, strict)
    return outputs, single


def _check_differentiable(outputs, strict):
    for index, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode.")


def _scalar_result(function, func, inputs, strict):
    """The result of func(*inputs), which must be a tensor of one element."""
    outputs, single = _call(function, func, inputs, strict)
    if not single:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0]


def _slopes(function, func, inputs, strict):
    """The result of a function with one element, and its gradients, which can be differentiated."""
    from mindtorch import ones_like
    outputs = (_scalar_result(function, func, inputs, strict),)
    return outputs, _gradients(outputs, inputs, (ones_like(outputs[0]),), True, strict, _NO_OUTPUT, _CONSTANT)


def _vector(function, v, like, single, may_be_missing_if):
    from mindtorch import ones_like
    if v is None:
        if not single or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {may_be_missing_if}.")
        return (ones_like(like[0]),)
    _, vectors = _tensors("v", function, v)
    if len(vectors) != len(like):
        if len(like) == 1:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            entry = f"Entry {index} in " if len(like) > 1 else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return vectors


def _gradients(outputs, inputs, vectors, create_graph, strict, independent, constant=_NO_JACOBIAN):
    """autograd.grad with zeros for inputs that took no part; RuntimeError for those where `strict`."""
    from mindtorch import autograd, zeros_like
    pairs = [(out, v) for out, v in zip(outputs, vectors, strict=True) if out.requires_grad]
    found = (None,) * len(inputs)
    if pairs:
        found = autograd.grad([out for out, _ in pairs], inputs, [v for _, v in pairs], retain_graph=True,
                              create_graph=create_graph, allow_unused=True)
    for index, gradient in enumerate(found):
        if strict and gradient is None:
            raise RuntimeError(independent.format(index))
        if strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(constant.format(index) + ("" if constant.endswith(".") else " when create_graph=True."))
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _times_from_right(outputs, inputs, vectors, create_graph, strict, independent, constant=_NO_JACOBIAN):
    """The Jacobian of `outputs` times `vectors`: what a vjp gives is linear in its vector, with that Jacobian."""
    from mindtorch import zeros_like
    weights = tuple(zeros_like(out).requires_grad_() for out in outputs)
    products = _gradients(outputs, inputs, weights, True, False, "")
    for index, product in enumerate(products):
        if strict and not product.requires_grad:
            raise RuntimeError(independent.format(index))
    found = _gradients(products, weights, vectors, create_graph, False, "")
    for index, product in enumerate(found):
        if strict and create_graph and not product.requires_grad:
            raise RuntimeError(constant.format(index) + " when create_graph=True.")
    return found


def _rows(out, inputs, create_graph, strict, vectorize, number):
    """The jacobians of one output, one for each input. torch refuses complex ones unless it has to `vectorize`."""
    from mindtorch import stack
    if out.numel() == 0:
        return tuple(x.new_zeros((*out.shape, *x.shape)) for x in inputs)
    parts = [_gradients((element,), inputs, (element.new_ones(()) if vectorize else None,), create_graph, strict,
                        f"Output {number} of the user-provided function is independent of input {{}}. {_STRICT}.")
             for element in out.reshape(-1).unbind(0)]
    return tuple(stack(column).view((*out.shape, *x.shape)) for column, x in zip(zip(*parts, strict=True), inputs,
                                                                               strict=True))


def _packed(tensors, single, create_graph):
    tensors = tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)
    return tensors[0] if single else tensors


# Names that packages call, though they are private: how arguments and results of the functions above are packed.

def _as_tuple(inp, arg_name=None, fn_name=None):
    """`inp` as a tuple of tensors; of a named argument, after whether it was one."""
    if arg_name is None and fn_name is None:
        return inp if isinstance(inp, tuple) else (inp,)
    single, tensors = _tensors(arg_name, fn_name, inp)
    return not single, tensors


def _grad_postprocess(inputs, create_graph):
    """`inputs`, tensors or tuples of them, without their graphs unless these are wanted."""
    if isinstance(inputs, tuple):
        return tuple(_grad_postprocess(each, create_graph) for each in inputs)
    return inputs if create_graph else inputs.detach()


def _tuple_postprocess(res, to_unpack):
    """`res` as it was before _as_tuple; a pair `to_unpack` is of a tuple and of the tuples in it."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple(each[0] for each in res)
    return res if outer else res[0]


def _construct_standard_basis_for(tensors, tensor_numels):
    """For tensors of `tensor_numels` elements, the columns of one identity matrix that belong to each of them."""
    total, start, found = sum(tensor_numels), 0, []
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        columns = tensor.new_zeros(total, count)
        columns.diagonal(-start).fill_(1)
        found.append(columns)
        start += count
    return tuple(found)


_complete_docstrings(globals(), "autograd")
