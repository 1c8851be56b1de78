"""torch.cond and its like, which run at once here: branches and loops that other libraries compile."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import Tensor, stack
from mindtorch.utils import _pytree as pytree

__all__ = ["cond", "map", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """true_fn(*operands) where `pred` is true, else false_fn(*operands). pred: a bool, or a tensor of one element.

    RuntimeError for another pred, for branches that cannot be called, and for operands other than tensors and
    containers of them.

    Arguments:
        pred: a bool, or a tensor of one bool
        true_fn: a function of the operands, which runs for True
        false_fn: a function of the operands, which runs for False
        operands: the tensors, as a tuple

    Example:
        >>> x = torch.tensor([1.0, 2.0])
        >>> torch.cond(x.sum() > 2, torch.neg, torch.exp, (x,))
        tensor([-1., -2.])
    """
    if not isinstance(pred, (bool, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(
            isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(operands)):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of "
                           f"tensor leaves, but got {operands}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """`carried = body_fn(*carried)` as long as cond_fn(*carried) is true; the last `carried`.

    RuntimeError for functions that cannot be called, and for inputs that are no tuple or list.

    Arguments:
        cond_fn: a function of the inputs that says whether to go on
        body_fn: a function of the inputs that gives the next ones
        carried_inputs: the first inputs, as a tuple

    Example:
        >>> torch.while_loop(lambda x: x < 10, lambda x: (x * 2,), (torch.tensor(3),))
        (tensor(12),)
    """
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or a list, but got {type(carried_inputs)}.")
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """f(x, *args) for each slice x of `xs` along dimension 0, stacked. xs and results may be containers of tensors."""
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, Tensor) and leaf.dim() for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors of at least one dimension. Got xs {leaves}.")
    if len({leaf.shape[0] for leaf in leaves}) > 1 or not leaves[0].shape[0]:
        raise RuntimeError("Leading dimensions of mapped xs must be consistent and not 0. Got shapes "
                           f"{[leaf.shape for leaf in leaves]}.")
    found = [f(pytree.tree_unflatten([leaf[place] for leaf in leaves], spec), *args)
             for place in range(leaves[0].shape[0])]
    flat = [pytree.tree_leaves(each) for each in found]
    return pytree.tree_unflatten([stack(each) for each in zip(*flat, strict=True)], pytree.tree_structure(found[0]))
