"""How operators compute on parts of tensors: a rule for each kind of operator.

A rule yields strategies to compute along one dimension of a mesh. A strategy has the placements of the tensors that it
takes, by the names of arguments, those of its results, and, where the operator itself would not do, a function in its
place. On replicated tensors every operator computes as it is; an operator without a rule has only that strategy.
"""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch
from mindtorch._core._gen.rows import ROWS
from mindtorch.distributed.tensor._redistribute import redistribute_local_tensor
from mindtorch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

__all__ = ["Call", "Strategy", "strategies_of"]

_SUM, _WHOLE = Partial(), Replicate()


class Strategy(NamedTuple):
    """Placements of tensors by argument and of results in order, and the function to call instead of the operator.

    That function takes the mesh before the operator's arguments.
    """

    inputs: dict[str, Placement]
    outputs: list[Placement]
    compute: Callable | None = None


class Call(NamedTuple):
    """An operator with its arguments, in which specs stand for tensors, and what it returns."""

    name: str
    values: dict[str, Any]
    tensors: list[tuple[str, DTensorSpec]]
    results: list[TensorMeta]
    parts: int          # into how many a dimension would be cut
    dim: int            # of the mesh, along which the call is cut
    strided: _StridedShard | None = None    # how a tensor is cut there, if not plainly
    placements: Any = None      # what a function of register_sharding gives for the arguments

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self.values[name].shape

    def cuts_evenly(self, length: int) -> bool:
        """Whether all parts of a dimension would be equally long."""
        return length % self.parts == 0


def _all(call, place):
    return {name: place for name, _ in call.tensors}


# --- element by element ----------------------------------------------------------------------------------------------

# Of these the sum of results is the result of the sum, if the tensors of the first list are partial, the others whole.
_LINEAR = {"add": ["self", "other"], "sub": ["self", "other"], "neg": ["self"], "clone": ["self"],
           "detach": ["self"], "alias": ["self"], "_to_copy": ["self"], "copy": ["self", "src"], "div": ["self"]}


def _sharded_inputs(call, dim):
    """Every tensor cut where the result is cut at `dim`; broadcast ones are whole."""
    shape = call.results[0].shape
    places = {}
    for name, spec in call.tensors:
        own = dim - (len(shape) - spec.ndim)
        places[name] = Shard(own) if own >= 0 and spec.shape[own] == shape[dim] else _WHOLE
    return places


def _pointwise(call):
    if call.values.get("reduction"):
        return
    ndim = len(call.results[0].shape)
    for dim in range(ndim):
        yield Strategy(_sharded_inputs(call, dim), [Shard(dim)] * len(call.results))
    partial = [["self"], ["other"]] if call.name == "mul" else [_LINEAR[call.name]] if call.name in _LINEAR else []
    given = dict(call.tensors)
    for names in partial:
        if all(name in given for name in names) or (call.name == "mul" and names[0] in given):
            for op in ("sum", "avg"):
                yield Strategy(_all(call, _WHOLE) | dict.fromkeys(names, Partial(op)), [Partial(op)])


def _like(call):
    """A new tensor of self's shape; the elements of `self` are not used."""
    for dim in range(len(call.results[0].shape)):
        yield Strategy({"self": Shard(dim)}, [Shard(dim)])
    yield Strategy({"self": _SUM}, [_WHOLE])


def _new(call):
    for dim, length in enumerate(call.results[0].shape):
        if call.results[0].shape == call.shape("self"):
            yield Strategy({"self": Shard(dim)}, [Shard(dim)])
        elif dim < len(call.shape("self")) and call.shape("self")[dim] == length:
            yield Strategy({"self": Shard(dim)}, [_WHOLE])
    yield Strategy({"self": _SUM}, [_WHOLE])


# --- sums and norms ---------------------------------------------------------------------------------------------------

def _reduced(call):
    dims, ndim = call.values.get("dim"), len(call.shape("self"))
    if dims is None or dims == ():
        return set(range(ndim))
    return {dim % ndim for dim in ((dims,) if isinstance(dims, int) else dims)} if ndim else set()


_PARTIAL = {"sum": "sum", "nansum": "sum", "mean": "avg", "amax": "max", "amin": "min", "max": "max", "min": "min",
            "prod": "product"}


def _reduction(call):
    reduced = _reduced(call)
    op = _PARTIAL.get(call.name)
    if call.name == "linalg_vector_norm":
        op = f"norm_{float(call.values.get('ord', 2))}"
    for dim, length in enumerate(call.shape("self")):
        if dim not in reduced:
            kept = dim if call.values.get("keepdim") else dim - sum(each < dim for each in reduced)
            yield Strategy({"self": Shard(dim)}, [Shard(kept)] * len(call.results))
        elif op and len(call.results) == 1 and (op == "sum" or op.startswith("norm_") or call.cuts_evenly(length)):
            yield Strategy({"self": Shard(dim)}, [Partial(op)])
    if call.name in ("sum", "mean"):
        yield Strategy({"self": _SUM}, [_SUM])


# --- products ---------------------------------------------------------------------------------------------------------

# The dimensions of the operands and of the result. What is added to the product comes first and has the result's.
_PRODUCTS = {"mm": ("self=mk mat2=kn", "mn"), "bmm": ("self=bmk mat2=bkn", "bmn"), "mv": ("self=mk vec=k", "m"),
             "dot": ("self=k tensor=k", ""), "addmm": ("self=mn mat1=mk mat2=kn", "mn"),
             "addmv": ("self=m mat=mk vec=k", "m"), "baddbmm": ("self=bmn batch1=bmk batch2=bkn", "bmn"),
             "addbmm": ("self=mn batch1=bmk batch2=bkn", "mn")}


def _product(call):
    written, result = _PRODUCTS[call.name]
    operands = [operand.split("=") for operand in written.split()]
    for letter in sorted(set("".join(dims for _, dims in operands))):
        inputs = {}
        for name, dims in operands:
            shape = call.shape(name)
            dim = dims.find(letter) - (len(dims) - len(shape))
            if letter not in dims or dim < 0 or shape[dim] == 1 != call.results[0].shape[result.find(letter)]:
                inputs[name] = _SUM if dims == result and letter not in result else _WHOLE
            else:
                inputs[name] = Shard(dim)
        yield Strategy(inputs, [Shard(result.index(letter)) if letter in result else _SUM])
    if len(operands) == 2:
        for name, _ in operands:
            yield Strategy(_all(call, _WHOLE) | {name: _SUM}, [_SUM])


# --- views ------------------------------------------------------------------------------------------------------------

def _with_partial(call, name="self"):
    for op in ("sum", "avg"):
        yield Strategy({name: Partial(op)}, [Partial(op)] * len(call.results))


def _reshaped(call):
    """Dimensions that are joined or split: the outermost of those joined, and of those that they become, may be cut."""
    before, after = call.shape("self"), call.results[0].shape
    left = [dim for dim, size in enumerate(before) if size != 1]
    right = [dim for dim, size in enumerate(after) if size != 1]
    i = j = 0
    while i < len(left) and j < len(right):
        first, last = left[i], right[j]
        m, n, i, j = before[first], after[last], i + 1, j + 1
        same = m == n
        while m != n:
            if m < n and i < len(left):
                m, i = m * before[left[i]], i + 1
            elif n < m and j < len(right):
                n, j = n * after[right[j]], j + 1
            else:
                return
        if same or (call.cuts_evenly(before[first]) and call.cuts_evenly(after[last])):
            yield Strategy({"self": Shard(first)}, [Shard(last)])
    yield from _with_partial(call)


def _expanded(call):
    shift = len(call.results[0].shape) - len(call.shape("self"))
    for dim, size in enumerate(call.shape("self")):
        if call.results[0].shape[dim + shift] == size:
            yield Strategy({"self": Shard(dim)}, [Shard(dim + shift)])
    yield from _with_partial(call)


def _permuted(call):
    order = list(range(len(call.shape("self"))))
    if call.name == "permute":
        order = [dim % len(order) for dim in call.values["dims"]]
    elif len(order) > 1:
        one, other = (call.values["dim0"], call.values["dim1"]) if call.name == "transpose" else (0, 1)
        order[one], order[other] = order[other], order[one]
    for dim, source in enumerate(order):
        yield Strategy({"self": Shard(source)}, [Shard(dim)])
    yield from _with_partial(call)


def _along_dim(call):
    """Operators that need one dimension whole; `select` and `unbind` remove it, `stack` makes it."""
    names = [name for name, _ in call.tensors]
    shape, ndim = call.tensors[0][1].shape, call.tensors[0][1].ndim
    made = call.name == "stack"
    whole = call.values.get("dim", 0) % (ndim + made) if ndim + made else 0
    for dim in range(ndim):
        if dim == whole and not made:
            if call.name == "slice" and shape == call.results[0].shape:
                yield Strategy({"self": Shard(dim)}, [Shard(dim)])
            continue
        after = dim + (made and dim >= whole) - (call.name in ("select", "unbind") and dim > whole)
        yield Strategy(dict.fromkeys(names, Shard(dim)), [Shard(after)] * len(call.results))
    if call.name in ("select", "slice", "split", "split_with_sizes", "unbind", "cat", "stack"):
        given = {spec.placements[call.dim] for _, spec in call.tensors}
        # The norms of many gradients are joined before they are reduced: in one collective.
        joined = [place.reduce_op for place in given if len(given) == 1 and isinstance(place, Partial)]
        for op in dict.fromkeys(("sum", "avg", *joined)):
            yield Strategy(dict.fromkeys(names, Partial(op)), [Partial(op)] * len(call.results))


# --- networks ---------------------------------------------------------------------------------------------------------

def _normalisation(call):
    """Layers that normalise the last dimensions: the others may be cut; parameters are whole, their gradients sums."""
    places = {name: _WHOLE if name in ("weight", "bias") else None for name, _ in call.tensors}
    ndim = len(call.shape("input"))
    inner = call.values.get("normalized_shape") or call.shape("weight")
    for dim in range(ndim - len(inner)):
        yield Strategy({name: place or Shard(dim) for name, place in places.items()},
                       [_SUM if "backward" in call.name and number else Shard(dim)
                   for number in range(len(call.results))])


def _attention(call):
    """Examples and heads may be cut."""
    for dim in (0, 1):
        given = {name: spec for name, spec in call.tensors if name != "hidden"}
        if call.values.get("drop") is None and all(call.cuts_evenly(spec.shape[dim]) for spec in given.values()):
            yield Strategy(_all(call, _WHOLE) | dict.fromkeys(given, Shard(dim)), [Shard(dim)] * len(call.results))


def _embedding(call):
    ndim = len(call.shape("indices"))
    for dim in range(ndim):
        yield Strategy({"weight": _WHOLE, "indices": Shard(dim)}, [Shard(dim)])
    yield Strategy({"weight": Shard(1), "indices": _WHOLE}, [Shard(ndim)])
    if call.cuts_evenly(call.shape("weight")[0]):
        dim, rows = call.dim, call.shape("weight")[0] // call.parts

        def own_rows(mesh, weight, indices, *options, **named):
            """The embeddings whose rows are here; zeros for the others."""
            local = indices - rows * mesh.get_local_rank(dim)
            absent = (local < 0) | (local >= rows)
            found = mindtorch.nn.functional.embedding(local.masked_fill(absent, 0), weight)
            return found.masked_fill(absent.unsqueeze(-1), 0)

        yield Strategy({"weight": Shard(0), "indices": _WHOLE}, [_SUM], own_rows)


def _embedding_backward(call):
    ndim = len(call.shape("indices"))
    for dim in range(ndim):
        yield Strategy({"grad_output": Shard(dim), "indices": Shard(dim)}, [_SUM])
    yield Strategy({"grad_output": Shard(ndim), "indices": _WHOLE}, [Shard(1)])
    yield Strategy({"grad_output": _SUM, "indices": _WHOLE}, [_SUM])


# Classes that are cut: each rank has the logits of some, and no rank gathers them.

def _all_reduced(mesh, dim, tensor, op):
    return redistribute_local_tensor(tensor, tensor.shape, mesh, [Partial(op) if at == dim else _WHOLE
                                                                 for at in range(mesh.ndim)], [_WHOLE] * mesh.ndim)


def _log_softmax(call):
    yield from _along_dim(call)
    at, ndim = call.dim, len(call.results[0].shape)
    dim = call.values["dim"] % max(ndim, 1)
    if not ndim or not call.cuts_evenly(call.results[0].shape[dim]):
        return

    def forward(mesh, self, dim, half_to_float):
        x = self.float() if half_to_float else self
        shifted = x - _all_reduced(mesh, at, x.amax(dim, keepdim=True), "max")
        return shifted - _all_reduced(mesh, at, shifted.exp().sum(dim, keepdim=True), "sum").log()

    def backward(mesh, grad_output, output, dim, input_dtype):
        total = _all_reduced(mesh, at, grad_output.sum(dim, keepdim=True), "sum")
        return (grad_output - output.exp() * total).to(input_dtype)

    yield Strategy(_all(call, Shard(dim)), [Shard(dim)], backward if "backward" in call.name else forward)


def _nll_loss(call):
    shape, at = call.shape("self"), call.dim
    classes = 1 if len(shape) > 1 else 0
    if not call.cuts_evenly(shape[classes]):
        return
    count = shape[classes] // call.parts
    operator, is_backward = getattr(mindtorch.ops.aten, call.name), "backward" in call.name

    def own_classes(mesh, self, target, weight, reduction, ignore_index, **gradient):
        """As if targets of other ranks' classes were ignored. The total weight is that of all targets."""
        first = count * mesh.get_local_rank(at)
        ignored, local = target == ignore_index, target - first
        local = local.masked_fill(ignored | (local < 0) | (local >= count), -1)
        part = None if weight is None else weight.narrow(0, first, count)
        if is_backward:
            return operator(self=self, target=local, weight=part, reduction=reduction, ignore_index=-1, **gradient)
        loss, _ = operator(self, local, part, reduction and 2, -1)
        weights = self.new_ones(()).expand(target.shape) if weight is None else weight[target.masked_fill(ignored, 0)]
        total = weights.masked_fill(ignored, 0).sum()
        return (loss / total if reduction == 1 else loss), total

    yield Strategy(_all(call, _WHOLE) | {"self": Shard(classes)}, [Shard(classes)] if is_backward else [_SUM, _WHOLE],
              own_classes)


# --- which rule -------------------------------------------------------------------------------------------------------

_RULES: dict[str, Callable[[Call], Iterator[Strategy]]] = {}
for _rule, _names in (
        (_pointwise, "clone detach alias _to_copy copy fill zero"),
        (_like, "zeros_like ones_like full_like empty_like"),
        (_new, "new_zeros new_ones new_full new_empty"),
        (_product, " ".join(_PRODUCTS)),
        (_reshaped, "view _unsafe_view reshape squeeze unsqueeze"), (_expanded, "expand"),
        (_permuted, "t transpose permute"),
        (_along_dim, "select slice split split_with_sizes unbind cat stack cumsum cumprod sort topk _softmax "
                     "_softmax_backward_data"),
        (_log_softmax, "_log_softmax _log_softmax_backward_data"),
        (_nll_loss, "nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward"),
        (_reduction, "sum mean max min all any"),
        (_normalisation, "native_layer_norm native_layer_norm_backward _fused_rms_norm _rms_norm_backward"),
        (_attention, "_fused_attention _fused_attention_backward"),
        (_embedding, "embedding"), (_embedding_backward, "embedding_dense_backward")):
    _RULES.update(dict.fromkeys(_names.split(), _rule))
# Elementwise rows that also read elements in other places.
_NOT_BY_ELEMENT = {"_dropout", "_rrelu", "binomial", "index_put", "masked_scatter"}
# Rules by which it does not matter which of the elements a rank has, if it has those in the same places of all tensors.
_BY_ANY_ELEMENTS = {_pointwise, _like, _reduction}


@cache
def _rule_of(name):
    """By name, else by what the operator's rows say of the result."""
    if name in _RULES:
        return _RULES[name]
    outputs = [row["outputs"][0] for key, row in ROWS.items() if key.partition(".")[0] == name and row.get("outputs")]
    if any(output["shape"][0] in ("reduce_dims", "reduce_dim") for output in outputs):
        return _reduction
    if any(output.get("elementwise") for output in outputs) and name not in _NOT_BY_ELEMENT:
        return _pointwise
    return None


def _registered(call):
    """The strategies that a program gives, of which none cuts a dimension into more parts than it has elements."""
    shapes = [spec.shape for _, spec in call.tensors]
    for outputs, arguments in call.placements:
        places = [place for place in arguments if place is not None]
        if len(places) != len(shapes):
            raise ValueError(f"register_sharding: {call.name} has {len(shapes)} tensors among its arguments, and the "
                             f"function gives {len(places)} placements")
        if all(shape[place.dim] >= call.parts for shape, place in zip(shapes, places, strict=True)
               if isinstance(place, Shard)):
            yield Strategy({name: place for (name, _), place in zip(call.tensors, places, strict=True)}, outputs)


def strategies_of(call: Call) -> Iterator[Strategy]:
    """The strategies to compute an operator along a mesh dimension; the first one on whole tensors."""
    if call.placements is not None:
        yield from _registered(call)
        return
    yield Strategy(_all(call, _WHOLE), [_WHOLE] * len(call.results))
    rule = _rule_of(call.name)
    if rule is None:
        return

    def strided(place):
        return _StridedShard(place.dim, split_factor=call.strided.split_factor) if isinstance(place, Shard) else place

    for strategy in rule(call):
        yield strategy
        if call.strided and rule in _BY_ANY_ELEMENTS:
            yield Strategy({name: strided(place) for name, place in strategy.inputs.items()},
                           [strided(place) for place in strategy.outputs], strategy.compute)
