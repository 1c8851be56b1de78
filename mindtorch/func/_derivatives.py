"""Derivatives of functions: torch.func's grad, vjp, jvp and Jacobians, by way of autograd's graphs.

A function is called with copies for its arguments. One for a tensor that has no history is a leaf of its own, and
what depends on such leaves alone comes back without history; one for any other is a view, so that derivatives of
derivatives, and backward through a result, find their way. Where a vmap runs, copies have its batch, so that each
sample has a gradient of its own; the history is that of their values (_batched_tensor.py).
"""
from __future__ import annotations

import functools
from contextlib import contextmanager, nullcontext
from typing import Any

import mindtorch
from mindtorch._core.autograd.node import set_saves_inference
from mindtorch.autograd.forward_ad import check_dual
from mindtorch.autograd.functional import separate_copy
from mindtorch.func._batched_tensor import (
    add_batch_dims,
    all_samples,
    as_batched,
    levels_of,
    remove_batch_dims,
    running_levels,
    value_of,
)
from mindtorch.func._random_states import refused_randomness
from mindtorch.func._vmap import vmap
from mindtorch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _outside_inference_mode(transform):
    """The function, which in inference mode runs as in no_grad: it needs a graph, and tensors that have one."""
    @functools.wraps(transform)
    def wrapper(*args, **kwargs):
        if not mindtorch.is_inference_mode_enabled():
            return transform(*args, **kwargs)
        with mindtorch.inference_mode(False), mindtorch.no_grad():
            return transform(*args, **kwargs)
    return wrapper


def _outside_inference(tensor):
    """The tensor, or a copy of one of inference mode, which nodes may save."""
    return tensor.clone() if tensor.is_inference() else tensor


@contextmanager
def _recorded(primals):
    """Operators are recorded inside. Where the primals have no history, so that nobody else sees the graph, it may
    save tensors of inference mode."""
    alone = not any(value_of(leaf).requires_grad for leaf in tree_leaves(primals) if isinstance(leaf, mindtorch.Tensor))
    before = set_saves_inference(True)
    levels = tuple(running_levels())
    for level in levels:
        level.derivatives += 1
    try:
        set_saves_inference(alone or before)
        with mindtorch.enable_grad():
            yield
    finally:
        set_saves_inference(before)
        for level in levels:
            level.derivatives -= 1


def _tracked_copies(values, own):
    """The tree of copies for tensors, and a list of them; those that are leaves are added to `own`, a dictionary.

    It has, by the id of a copy, the copy and the tensor whose memory it shows. Of the other copies, which are views, it
    has the bases, by ("base", id); and of all copies the originals, by ("copy", id).
    """
    leaves, spec = tree_flatten(values)
    levels = tuple(running_levels())
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, mindtorch.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        value = all_samples(leaf, levels) if levels else leaf
        tracked = separate_copy(_outside_inference(value))
        own["copy", id(tracked)] = tracked, leaf
        if tracked.is_leaf:
            own[id(tracked)] = tracked, value
        else:
            own["base", id(tracked._base)] = tracked._base, tracked._base
        leaves[i] = as_batched(tracked, levels)
    return tree_unflatten(leaves, spec), leaves


def _has_other_leaves(tensor, own):
    """Whether `tensor` depends on leaves that are not in `own`."""
    tensor = value_of(tensor)
    if tensor.is_leaf:
        return tensor.requires_grad and id(tensor) not in own
    variables = (getattr(node, "variable", None) for node in _nodes_behind(tensor.grad_fn))
    return any(leaf is not None and id(leaf) not in own for leaf in variables)


def _nodes_behind(node, ends=frozenset()):
    """The nodes of the graph from `node` on, up to those of `ends`."""
    seen, left = set(), [node]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        if node not in ends:
            left.extend(following for following, _ in node.next_functions)


# Nodes of the operators whose change is, in torch's forward mode, a sum of products with the operands.
_PRODUCTS = frozenset(f"{name}Backward0" for name in (
    "Mul", "Div", "Addcmul", "Addcdiv", "Lerp", "Dot", "Mv", "Mm", "Bmm", "Addmv", "Addmm", "Baddbmm", "Matmul",
    "ThresholdBackward", "MseLossBackward", "L1LossBackward"))


def _with_history_of_products(changes, outputs, leaves, own):
    """The changes of `outputs`; those require a gradient, of zeros, that would otherwise not do so where torch's do.

    The change of x * y is dx * y + x * dy, and torch adds the second term where dy is 0, too: so its change requires a
    gradient where x does. Here a change is what two backward passes give, which leave that term out, and a backward
    through it would raise an error where torch gives zeros.
    """
    tied = [leaf for leaf in leaves if not value_of(leaf).is_leaf]
    origins = {value_of(leaf).grad_fn for leaf in tied}
    if not origins or not mindtorch.is_grad_enabled():
        return changes

    def with_history(change, output):
        if value_of(change).requires_grad and _has_other_leaves(change, own):
            return change
        reached = {origin for node in _nodes_behind(value_of(output).grad_fn, origins) if node.name() in _PRODUCTS
                   for origin in origins.intersection(_nodes_behind(node, origins))}
        never = mindtorch.zeros((), dtype=mindtorch.bool, device=change.device)
        # These are products, too, for a derivative of the derivative.
        zeros = [(mindtorch.where(never, leaf, 0) * 1).sum().to(change.dtype) for leaf in tied
                 if value_of(leaf).grad_fn in reached and leaf.is_complex() <= change.is_complex()]
        return change.detach() + sum(zeros) if zeros else change
    return [with_history(change, output) for change, output in zip(changes, outputs, strict=True)]


def _results(tree, own, primals_themselves=True):
    """The tree with detached tensors, where they depend on nothing outside this call; under no_grad all are.

    A copy that is a result is the original, or a view of it.
    """
    keep = mindtorch.is_grad_enabled()

    def result_of(leaf):
        if not isinstance(leaf, mindtorch.Tensor) or not value_of(leaf).requires_grad:
            return leaf
        if primals_themselves and ("copy", id(leaf)) in own:
            return own["copy", id(leaf)][1]
        return leaf if keep and _has_other_leaves(leaf, own) else _without_history(leaf, own)
    return tree_map(result_of, tree)


def _without_history(tensor, own):
    """The tensor detached; a view of a copy is one of the original, so that writes go both ways.

    Of an original that requires a gradient it says so, too, as other views that are made under no_grad.
    """
    base = tensor if tensor._base is None else tensor._base
    copy, original = own.get(id(base)) or own.get(("base", id(base)), (None, None))
    if (copy is base and not original.is_inference() and tensor.dtype == original.dtype
            and tensor.is_conj() == original.is_conj() and tensor.is_neg() == original.is_neg()):
        return original.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return tensor.detach()


def _pair(result, has_aux, name):
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for leaf in tree_leaves(result[1]):
        if not isinstance(leaf, mindtorch.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return result


def _tensor_leaves(tree, name):
    leaves = tree_leaves(tree)
    for leaf in leaves:
        if not isinstance(leaf, mindtorch.Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                               f"{type(leaf)}")
    if not leaves:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    return leaves


def _differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _require_real(name, kind, leaves):
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, mindtorch.Tensor) and leaf.is_complex():
            raise RuntimeError(f"{name}: Expected all {kind} to be real but received complex tensor at flattened input "
                               f"idx: {index}")


def _gradients(outputs, inputs, cotangents):
    """The gradients of the inputs, zeros if unused; differentiable again."""
    used = [(value_of(output), _outside_inference(remove_batch_dims(cotangent, levels_of(output))))
            for output, cotangent in zip(outputs, cotangents, strict=True) if value_of(output).requires_grad]
    if not used:
        return [mindtorch.zeros_like(each) for each in inputs]
    outputs, cotangents = zip(*used, strict=True)
    found = mindtorch.autograd.grad(outputs, [value_of(each) for each in inputs], cotangents, create_graph=True,
                                    allow_unused=True)
    return [mindtorch.zeros_like(each) if grad is None else add_batch_dims(grad, levels_of(each))
            for each, grad in zip(inputs, found, strict=True)]


def _chosen(argnums, args):
    """The arguments that are differentiated: one, or a tuple of them."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    places = tuple(number % len(args) for number in numbers)
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
    return tuple(args[number] for number in argnums) if isinstance(argnums, tuple) else args[argnums]


def _replaced(args, argnums, chosen):
    args = list(args)
    for number, value in zip(argnums, chosen, strict=True) if isinstance(argnums, tuple) else [(argnums, chosen)]:
        args[number] = value
    return args


def grad_and_value(func: Any, argnums: int = 0, has_aux: bool = False) -> Any:
    """A function that returns the gradient and the value of the scalar function `func`; with `has_aux` also the rest.

    `argnums` says which arguments, containers of tensors too, are differentiated.

    Example:
        >>> torch.func.grad_and_value(lambda x: x ** 3)(torch.tensor(2.0))
        (tensor(12.), tensor(8.))
    """
    @_outside_inference_mode
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        own, chosen = {}, _chosen(argnums, args)
        with _recorded(chosen):
            chosen, leaves = _tracked_copies(chosen, own)
            output, aux = _pair(func(*_replaced(args, argnums, chosen), **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, mindtorch.Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                                   f"{type(output)}")
            if output.dim() != 0:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
                                   f"with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            if output.is_complex():
                raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                                   f"{output.dtype}")
            found = _gradients([output], leaves, [mindtorch.ones_like(output)])
            found = tree_unflatten(found, tree_flatten(chosen)[1])
        return _results((found, (output, aux) if has_aux else output), own)
    return wrapper


def grad(func: Any, argnums: int = 0, has_aux: bool = False) -> Any:
    """A function that returns the gradient of `func`, a scalar function; see grad_and_value.

    Example:
        >>> torch.func.grad(lambda x: x ** 3)(torch.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapper


@_outside_inference_mode
def vjp(func: Any, *primals: Any, has_aux: bool = False) -> Any:
    """func(*primals), a function that takes its cotangents back to the primals, and with `has_aux` what is beside.

    Example:
        >>> value, pull = torch.func.vjp(lambda x: x ** 2, torch.tensor(3.0))
        >>> value, pull(torch.tensor(1.0))
        (tensor(9.), (tensor(6.),))
    """
    own = {}
    with _recorded(primals):
        inputs, leaves = _tracked_copies(primals, own)
        output, aux = _pair(func(*inputs), has_aux, "vjp(f, *primals)")
        outputs = _tensor_leaves(output, "vjp(f, *primals)")
    for each in outputs:
        if not _differentiable(each):
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                               f"with dtype {each.dtype}")

    @_outside_inference_mode
    def back(cotangents, retain_graph=True, create_graph=None):
        given, wanted = tree_flatten(cotangents), tree_flatten(output)[1]
        if given[1] != wanted:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                               f"to the function. cotangents: {given[1]}, primal output: {wanted}")
        with _recorded(primals):
            found = tree_unflatten(_gradients(outputs, leaves, given[0]), tree_flatten(primals)[1])
        return _results(found, own)

    results = _results((output, aux) if has_aux else output, own)
    return (results[0], back, results[1]) if has_aux else (results, back)


@_outside_inference_mode
def jvp(func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """func(*primals), and how it changes where the primals, a tuple, change by the tangents.

    Arguments:
        primals: the arguments, as a tuple
        tangents: the direction, a tensor for each argument, as a tuple
        strict: whether a result that depends on no primal is an error, in place of zeros

    Example:
        >>> torch.func.jvp(lambda x: x ** 2, (torch.tensor(3.0),), (torch.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
        raise RuntimeError(f"{name}: Expected primals and tangents to have the same python structure. For example, if "
                           "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{tree_flatten(primals)[1]} and tangents with structure {tree_flatten(tangents)[1]}")
    for kind, leaves in (("primals", tree_leaves(primals)), ("tangents", tree_leaves(tangents))):
        if not leaves:
            raise RuntimeError(f"{name}: Expected {kind} to contain at least one Tensor.")
        for leaf in leaves:
            if not isinstance(leaf, mindtorch.Tensor):
                raise RuntimeError(f"{name}: Expected {kind} to only contain Tensors, got {type(leaf)}")
    for primal, tangent in zip(tree_leaves(primals), tree_leaves(tangents), strict=True):
        check_dual(primal, tangent)
    output, aux, own, along, leaves = _linearized(func, primals, has_aux, name, strict)
    changes, spec = tree_flatten(along(tree_leaves(tangents)))
    # A write to one is a write to it alone, unless it is a view of a tangent.
    known = {id(each) for tangent in tree_leaves(tangents) for each in (tangent, getattr(tangent, "_base", None))}
    changes = [each if each._base is None or id(each._base) in known else each.clone() for each in changes]
    changes = tree_unflatten(_with_history_of_products(changes, tree_leaves(output), leaves, own), spec)
    results = _results((output, changes, aux), own, primals_themselves=False)
    return results if has_aux else results[:2]


def _linearized(func, primals, has_aux, name, strict=False):
    """func(*primals), what is beside it, the leaves of this call, the function from tangents to the change, and the
    copies of the primals that `func` got.

    Numbers that are no fractions do not change.
    """
    own = {}
    with _recorded(primals):
        inputs, leaves = _tracked_copies(primals, own)
        output, aux = _pair(func(*inputs), has_aux, name)
        outputs, spec = _tensor_leaves(output, name), tree_flatten(output)[1]
        if strict and not all(value_of(each).requires_grad for each in outputs):
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                               "This is not allowed with strict=True.")
        changing = [each for each in outputs if _differentiable(each)]
        # Gradients are linear in the cotangents: their derivative by these, along the tangents, is the change. It is
        # the same at all cotangents; formulas with logarithms have none at 0.
        _, cotangents = _tracked_copies([mindtorch.ones_like(each).detach() for each in changing], own)
        gradients = _gradients(changing, leaves, cotangents)

    def along(tangents):
        with _recorded(primals):
            changes = iter(_gradients(gradients, cotangents, tangents) if changing else ())
            return tree_unflatten([next(changes) if _differentiable(each) else mindtorch.zeros_like(each)
                                   for each in outputs], spec)
    return output, aux, own, along, leaves


def linearize(func, *primals):
    """func(*primals), and the function that gives how it changes where the primals change by the tangents.

    Example:
        >>> value, derivative = torch.func.linearize(lambda x: x ** 2, torch.tensor(3.0))
        >>> value, derivative(torch.tensor(1.0))
        (tensor(9.), tensor(6.))
    """
    output, _, own, along, _ = _linearized(func, primals, False, "linearize(f, *primals)")

    def change(*tangents):
        if tree_flatten(primals)[1] != tree_flatten(tangents)[1]:
            raise RuntimeError("Expected the tangents to have the python structure of the primals: "
                               f"{tree_flatten(tangents)[1]} is not {tree_flatten(primals)[1]}")
        for primal, tangent in zip(tree_leaves(primals), tree_leaves(tangents), strict=True):
            if primal.shape != tangent.shape or primal.dtype is not tangent.dtype:
                raise RuntimeError(f"Expected a tangent of shape {list(primal.shape)} and {primal.dtype}, but got "
                                   f"{list(tangent.shape)} and {tangent.dtype}")
        return _results(along(tree_leaves(tangents)), own)

    return _results(output, own), change


def jacrev(func: Any, argnums: int = 0, *, has_aux: bool = False, chunk_size: Any = None,
           _preallocate_and_copy: bool = False) -> Any:
    """A function that gives the Jacobian of `func`: per output and argument, a tensor of the shape of both together.

    Backward passes are a batch, of all rows of the Jacobian or of `chunk_size` at a time.

    Example:
        >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_outside_inference_mode
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        primals, of_chosen = _of_chosen(func, argnums, args, kwargs)
        _require_real("jacrev", "inputs", tree_leaves(primals))
        output, back, *aux = vjp(of_chosen, *primals, has_aux=has_aux)
        outputs, spec = tree_flatten(output)
        _require_real("jacrev", "outputs", outputs)
        gradients = _over_basis(lambda *rows: back(tree_unflatten(list(rows), spec)), outputs, chunk_size)
        found = [[gradient.reshape(each.shape + leaf.shape) for gradient, leaf in zip(part, tree_leaves(primals),
                                                                                      strict=True)]
                 for part, each in zip(_split(gradients, outputs), outputs, strict=True)]
        structure = tree_flatten(_chosen(argnums, args))[1]
        found = tree_unflatten([tree_unflatten(part, structure) for part in found], spec)
        return (found, aux[0]) if has_aux else found
    return wrapper


def jacfwd(func: Any, argnums: int = 0, has_aux: bool = False, *, chunk_size: Any = None,
           randomness: str = "error") -> Any:
    """jacrev's result by the forward mode: columns are a batch, of all columns or of `chunk_size` at a time.

    Arguments:
        randomness: "error", "different" or "same": what random operators do

    Example:
        >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 1.0]))
        tensor([[1.0000, 0.0000],
                [0.0000, 0.5403]])
    """
    @_outside_inference_mode
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        primals, of_chosen = _of_chosen(func, argnums, args, kwargs)
        leaves = tree_leaves(primals)
        _require_real("jacfwd", "inputs", leaves)
        for leaf in filter(lambda each: isinstance(each, mindtorch.Tensor), leaves):
            check_dual(leaf, leaf)
        with refused_randomness() if randomness == "error" else nullcontext():
            output, aux, own, along, inputs = _linearized(of_chosen, primals, has_aux, "jvp(f, primals, tangents)")
        _require_real("jacfwd", "outputs", tree_leaves(output))
        columns = _over_basis(lambda *tangents: along(list(tangents)), leaves, chunk_size, randomness)
        columns = _with_history_of_products(columns, tree_leaves(output), inputs, own)
        structure, chosen = tree_flatten(output)[1], tree_flatten(_chosen(argnums, args))[1]
        parts = _split(columns, leaves)
        found = [tree_unflatten([part[number].movedim(0, -1).reshape(each.shape + leaf.shape)
                                 for part, leaf in zip(parts, leaves, strict=True)], chosen)
                 for number, each in enumerate(tree_leaves(output))]
        results = _results((tree_unflatten(found, structure), aux), own)
        return results if has_aux else results[0]
    return wrapper


def _of_chosen(func, argnums, args, kwargs):
    """The arguments that are differentiated, in a tuple, and `func` as a function of them."""
    def of_chosen(*chosen):
        return func(*_replaced(args, argnums, chosen if isinstance(argnums, tuple) else chosen[0]), **kwargs)
    chosen = _chosen(argnums, args)
    return chosen if isinstance(argnums, tuple) else (chosen,), of_chosen


def _over_basis(function, tensors, chunk_size, randomness="different"):
    """The leaves of `function` for each unit vector of the space of all `tensors`, stacked."""
    size, place, basis = sum(each.numel() for each in tensors), 0, []
    for each in tensors:
        unit = each.new_zeros((size, each.numel()))
        unit[place:place + each.numel()].fill_diagonal_(1)
        basis.append(unit.view(size, *each.shape))
        place += each.numel()
    if size == 1:
        return [leaf.unsqueeze(0) for leaf in tree_leaves(function(*(each[0] for each in basis)))]
    return vmap(lambda *rows: tree_leaves(function(*rows)), randomness=randomness, chunk_size=chunk_size)(*basis)


def _split(stacked, tensors):
    """For each of `tensors`, the part of all stacked leaves that belongs to its elements."""
    sizes = [each.numel() for each in tensors]
    columns = [each.split(sizes) for each in stacked]
    return list(zip(*columns, strict=True)) if columns else [()] * len(sizes)


def hessian(func: Any, argnums: int = 0) -> Any:
    """A function that gives the second derivatives of `func`: the Jacobian of its Jacobian.

    Example:
        >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
