"""How operators compute on BatchedTensors: a rule for each kind of operator, and a loop over samples for the others.

A rule gets a Call and returns what the operator gives for all samples at once. The rows of the op table say what is
elementwise; whatever has an argument that names dimensions counts these from behind the batch. Where neither is so,
the table at the end names the rule.
"""
from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import mindtorch
from mindtorch._core._gen.rows import ROWS
from mindtorch._library.custom_ops import vmap_rule_of
from mindtorch._library.registry import is_provided
from mindtorch._ops.composite.common import wrap_dim
from mindtorch._ops.derivatives.reduce import evenly_distribute_backward
from mindtorch.autograd.function import Function
from mindtorch.func._batched_tensor import (
    BatchedTensor,
    all_samples,
    as_batched,
    current_level,
    levels_of,
    value_of,
)
from mindtorch.func._given_rules import apply_given_rule, apply_to_samples
from mindtorch.func._random_states import random_states, restore

__all__ = ["is_random", "run_batched"]

_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")
_ITEM = ("vmap: It looks like you're calling .item() on a Tensor, or a function that depends on elements: a batch has "
         "others for each sample")


class Call:
    """An operator, its arguments by name, and the levels that these have a batch of."""

    def __init__(self, func, args, kwargs):
        self.func, (self.name, names) = func, _signature(func)
        self.values = {**dict(zip(names, args, strict=False)), **kwargs}
        self.tensors, found = {}, set()
        for name, value in self.values.items():
            if isinstance(value, mindtorch.Tensor):
                self.tensors[name] = value
                found.update(levels_of(value))
            elif isinstance(value, (list, tuple)):
                found.update(*map(levels_of, value))
        self.levels = tuple(sorted(found, key=lambda level: level.number)) if len(found) > 1 else tuple(found)
        self.sizes = tuple(level.size for level in self.levels)
        self.count = len(self.levels)

    def written(self):
        """The name of the argument that the operator writes to, or None."""
        return _written(self.func)

    def front(self, tensor, ndim=0):
        """The value with dimensions of all levels in front, of size 1 where it has no batch, and at least `ndim`."""
        value, own = value_of(tensor), levels_of(tensor)
        if own == self.levels and tensor.dim() >= ndim:
            return value
        batch = [level.size if level in own else 1 for level in self.levels]
        return value.view(*batch, *[1] * (ndim - tensor.dim()), *tensor.shape)

    def full(self, tensor):
        """The value with the batch of all levels."""
        return all_samples(tensor, self.levels)

    def all_full(self):
        """All tensors, and those in lists, with the batch of all levels."""
        return {name: self.full(value) if name in self.tensors else [self.full(each) for each in value]
                if isinstance(value, (list, tuple)) and value and isinstance(value[0], mindtorch.Tensor) else value
                for name, value in self.values.items()}

    def run(self, values):
        """The operator on values; its results with the batch of all levels."""
        return self.batched(_call_by_name(self.func, values))

    def batched(self, result):
        """Values as tensors of a sample; what was written to is the argument itself."""
        written = self.written()
        if written is not None:
            return self.values[written]
        if isinstance(result, mindtorch.Tensor):
            return BatchedTensor(result, self.levels)
        return type(result)(self.batched(each) for each in result) if type(result) in (list, tuple) else tuple(
            self.batched(each) for each in result)


@cache
def _signature(func):
    """The name of the operator, and those of its arguments."""
    return func._schema.name.partition("::")[2], [argument.name for argument in func._schema.arguments]


@cache
def _required(func):
    """The arguments without a default of an operator of ours; None of others."""
    if not is_provided(func.namespace):
        return None
    return [argument.name for argument in func._schema.positional if not argument.default]


def _call_by_name(func, values):
    """func(**values). Calls the function directly where the operator is ours and has no registered kernel."""
    required, kernels = _required(func), func._operator.kernels
    if required is None or [*kernels] != ["CompositeImplicitAutograd"]:
        return func(**values)
    function = kernels["CompositeImplicitAutograd"][-1]
    return function(*[values[name] for name in required],
                    **{name: value for name, value in values.items() if name not in required})


@cache
def _written(func):
    return next((a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write), None)


def run_batched(func: Any, args: tuple, kwargs: dict, level: Any = None) -> Any:
    """What `func` gives for arguments with BatchedTensors; of `level` too, where the operator draws for each sample."""
    call = Call(func, args, kwargs)
    if level is not None and level not in call.levels:
        call.levels, call.sizes, call.count = (*call.levels, level), (*call.sizes, level.size), call.count + 1
    written = call.written()
    if written is not None and levels_of(call.values[written]) != call.levels:
        raise RuntimeError(
            f"vmap: {call.name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
            "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being "
            f"vmapped over in a vmap. Please try to use out-of-place operators instead of {call.name}.")
    given = vmap_rule_of(func._schema.name)
    if given is not None:
        return apply_given_rule(given, args, kwargs)
    rule = _draw if is_random(func) else _rule_of(func)
    result = rule(call)
    return _loop(call) if result is NotImplemented else result


@cache
def is_random(func):
    """Whether the operator draws random numbers."""
    return any(a.name == "generator" for a in func._schema.arguments) or func._schema.name.endswith(
        ("_dropout", "rrelu", "binomial", "::rand", "::randn", "::randint", "::randperm", "rand_like", "randn_like",
         "randint_like"))


# --- one sample after the other ---------------------------------------------------------------------------------------

_warning = False


def warn_of_loops(on):
    """Have each operator warn, or not, that is called for each sample since it has no rule."""
    global _warning
    _warning = on


def are_loops_warned_of():
    """What warn_of_loops was last told."""
    return _warning


def _loop(call):
    """The operator, called for each sample."""
    if _warning and not is_random(call.func):
        warnings.warn(f"There is a performance drop because we have not yet implemented the batching rule for "
                      f"{call.func._schema.name}.", UserWarning, stacklevel=2)
    level, written = current_level(), call.written()
    same = random_states() if is_random(call.func) and level is not None and level.randomness == "same" else None

    def of_sample(**values):
        if same is not None:
            restore(same)
        result = call.func(**values)
        if not isinstance(result, (mindtorch.Tensor, list, tuple)):
            raise RuntimeError(_ITEM)
        return None if written else result          # what was written to is the argument's own memory

    of_sample.__name__ = call.name
    result = apply_to_samples(of_sample, (), call.values, call.levels)
    return result if written is None else call.values[written]


def _draw(call):
    """Random numbers: where each sample has its own, those in the shape of a tensor are drawn for all at once."""
    level, written = current_level(), call.written()
    if level is None or level.randomness != "different":
        return _loop(call)
    if written is None:
        return _rule_of(call.func)(call) if call.name.endswith("_like") else _loop(call)
    rank = call.values[written].dim()
    return call.run(call.values | {name: call.front(tensor, rank) for name, tensor in call.tensors.items()})


def _map(value, function):
    return function(value) if isinstance(value, mindtorch.Tensor) else tuple(function(each) for each in value)


# --- element by element -----------------------------------------------------------------------------------------------

def _pointwise(call):
    """Shapes are broadcast behind the batch."""
    tensors = call.tensors
    rank = max(tensor.dim() for tensor in tensors.values())
    of_first = _has_shape_of_first(call.name)
    values = call.values | {
        name: all_samples(tensor, call.levels) if of_first and tensor.dim() == rank else
        call.front(tensor, rank) if levels_of(tensor) or tensor.dim() == rank else tensor
        for name, tensor in tensors.items()}
    if rank or len(tensors) > 1:
        _promote(call, values)
    reduction = values.get("reduction", _default_reduction(call.func))
    if not reduction:
        return call.run(values)
    inner = tuple(range(call.count, call.count + rank))
    if call.name.endswith("_backward"):
        size = math.prod(call.values["self"].shape)
        result = call.func(**(values | {"reduction": 0}))
        return call.batched(result / size if reduction == 1 else result)
    result = all_samples(call.run(values | {"reduction": 0}), call.levels)
    return call.batched(result if not rank else result.mean(inner) if reduction == 1 else result.sum(inner))


@cache
def _has_shape_of_first(name):
    """Whether the result has the shape of the first operand, and not that of all together."""
    return any(row["outputs"][0].get("elementwise") and not row["outputs"][0]["shape"][0].startswith("broadcast")
               for key, row in ROWS.items() if key.partition(".")[0] == name and row.get("outputs"))


@cache
def _default_reduction(func):
    return next((argument.default_value for argument in func._schema.arguments if argument.name == "reduction"), 0)


def _promote(call, values):
    """Casts where the dtype would be another, because a tensor without dimensions has one with its batch."""
    kinds = {tensor.dtype for tensor in call.tensors.values() if tensor.dtype is not mindtorch.bool}
    if len(kinds) < 2:
        return
    first, *others = (tensor for tensor in call.tensors.values() if tensor.dtype is not mindtorch.bool)
    dtype = first.dtype
    for other in others:
        dtype = mindtorch.result_type(mindtorch.empty(first.shape, dtype=dtype, device="meta"), other)
    for name, tensor in call.tensors.items():
        if tensor.dtype is not mindtorch.bool and tensor.dtype is not dtype and name != call.written():
            values[name] = values[name].to(dtype)


def _masked_fill(call):
    """where, if each sample is filled with a value of its own."""
    self, mask, value = (call.values[name] for name in ("self", "mask", "value"))
    rank = max(self.dim(), mask.dim())
    self, mask = call.front(self, rank), call.front(mask, rank)
    if not levels_of(value):
        return call.run(call.values | {"self": self.expand(*call.sizes, *self.shape[call.count:]), "mask": mask})
    value = call.front(value.to(self.dtype), rank)
    result = mindtorch.where(mask, value, self)
    if call.written():
        self.copy_(result)
    return call.batched(result)


def _prelu(call):
    self, weight = call.values["self"], call.values["weight"]
    if not levels_of(weight):
        return _pointwise(call)
    rank = max(self.dim(), weight.dim())
    self, weight = call.front(self, rank), call.front(weight, rank)
    return call.batched(mindtorch.where(self > 0, self, weight * self))


def _each_sample(call):
    """Operators on the last dimensions, whatever comes before."""
    return call.run(call.all_full())


def _matrices(call):
    """Operators on the last dimensions of several tensors, the others of which are broadcast behind the batch."""
    rank = max(tensor.dim() for tensor in call.tensors.values())
    return call.run(call.values | {name: call.front(tensor, rank) for name, tensor in call.tensors.items()})


def _new(call):
    """A new tensor for each sample."""
    return call.run(call.values | {"self": value_of(call.values["self"]), "size": (*call.sizes, *call.values["size"])})


def _fill(call):
    """A tensor may have a number for each sample."""
    value = call.values["value"]
    if not isinstance(value, mindtorch.Tensor):
        return _pointwise(call)
    if value.dim():
        return NotImplemented
    result = call.full(call.values["self"]) if call.written() else call.full(call.values["self"]).clone()
    return call.batched(result.copy_(call.front(value, result.dim() - call.count)))


# --- dimensions -------------------------------------------------------------------------------------------------------

def _shifted(dim, rank, count):
    return wrap_dim(dim, rank) + count


def _along_dim(call):
    """Operators that name dimensions: they are counted from behind the batch."""
    first = next((each for each in call.values.values() if isinstance(each, mindtorch.Tensor)), None)
    if first is None:
        first = next(each[0] for each in call.values.values() if isinstance(each, (list, tuple)))
    rank = first.dim() + (call.name in ("stack", "unsqueeze"))
    values, flat = call.all_full(), False
    names = {argument.name for argument in call.func._schema.arguments}
    for argument in call.func._schema.arguments:
        name = argument.name
        if name not in _DIMS:
            continue
        given, of_list = values.get(name, argument.default_value), "List" in str(argument.type)
        if isinstance(given, int) and not of_list:
            values[name] = _shifted(given, rank, call.count)
        elif given or isinstance(given, int):
            given = (given,) if isinstance(given, int) else given
            values[name] = [_shifted(each, rank, call.count) for each in given]
        elif not of_list or call.name == "roll":
            flat = True
        elif "keepdim" in names:
            values[name] = list(range(call.count, call.count + max(rank, 1)))
    if call.name == "permute":
        values["dims"] = [*range(call.count), *(values["dims"] if rank else ())]
    elif rank == 0:
        return _without_dims(call, values | {"dim": call.count} if flat and "keepdim" in names else values)
    if flat:
        return _all_elements(call, values) if "keepdim" in names else _flat(call, values)
    return call.run(values)


def _cat(call):
    """Without the tensors of no elements and one dimension that cat leaves out."""
    tensors = [each for each in call.values["tensors"] if each.shape != (0,)] or call.values["tensors"]
    call.values["tensors"] = tensors
    return _along_dim(call)


def _flat(call, values):
    """roll without dims: along all dimensions in one."""
    result = call.func(**(values | {"self": values["self"].flatten(call.count), "dims": [call.count]}))
    return call.batched(result.view(*call.sizes, *call.values["self"].shape))


def _without_dims(call, values):
    """Tensors without dimensions count as those with one of size 1, which the results lose again."""
    result = call.func(**{name: value.unsqueeze(-1) if name in call.tensors and not call.tensors[name].dim() else value
                          for name, value in values.items()})
    lose = call.values.get("keepdim", True) and not any(tensor.dim() for tensor in call.tensors.values())
    return call.batched(_map(result, lambda each: each.squeeze(-1) if lose and each.dim() > call.count else each)
                        if call.written() is None else result)


def _all_elements(call, values):
    """A reduction over all elements, which takes one dimension or all."""
    shape = call.values["self"].shape
    result = call.func(**(values | {"self": values["self"].flatten(call.count), "dim": call.count, "keepdim": False}))
    if call.values.get("keepdim"):
        result = _map(result, lambda each: each.view(*call.sizes, *[1] * len(shape)))
    return call.batched(result)


def _reduction_of_all(call):
    """max(self) and its like: the row with a dim, along all dimensions in one. Level says why a derivative inside the
    vmap gets that of max(self)."""
    values = call.all_full()
    elements = values.pop("self").reshape(*call.sizes, call.values["self"].numel())
    if call.name in ("max", "min", "median", "nanmedian"):
        return call.batched(_Selection.apply(elements, call.name) if call.levels[-1].derivatives else
                            getattr(mindtorch, call.name)(elements, dim=-1)[0])
    return call.batched(getattr(mindtorch, call.name)(elements, dim=call.count, **values))


class _Selection(Function):
    """max(self) and its like of the last dimension: all elements that are the result share its gradient."""

    @staticmethod
    def forward(ctx, elements, name):
        result = getattr(mindtorch, name)(elements, dim=-1)[0]
        ctx.save_for_backward(elements, result)
        return result

    @staticmethod
    def backward(ctx, grad):
        elements, result = ctx.saved_tensors
        return evenly_distribute_backward(grad.unsqueeze(-1), elements, result.unsqueeze(-1), -1), None


def _squeeze(call):
    self = call.values["self"]
    return call.batched(value_of(self).squeeze(tuple(call.count + dim for dim, size in enumerate(self.shape)
                                                     if size == 1)))


def _expand(call):
    size = call.values["size"]
    value = call.front(call.values["self"], len(size))
    # torch views it first, which computes the strides of dimensions of size 1 anew.
    return call.batched(value.view(value.shape).expand(*call.sizes, *size))


def _view(call):
    return call.run(call.values | {"self": value_of(call.values["self"]), "size": [*call.sizes, *_inferred(call)]})


def _inferred(call):
    """The size that is asked for, with the number that -1 stands for."""
    size, numel = list(call.values["size"]), call.values["self"].numel()
    if -1 in size:
        known = math.prod(each for each in size if each != -1)
        if not known or numel % known:
            raise RuntimeError(f"shape '{size}' is invalid for input of size {numel}")
        size[size.index(-1)] = numel // known
    return size


def _t(call):
    self = value_of(call.values["self"])
    return call.batched(self.mT if self.dim() - call.count == 2 else self)


def _as_strided(call):
    self, value = call.values["self"], value_of(call.values["self"])
    offset = call.values.get("storage_offset")
    return call.batched(value.as_strided(
        [*call.sizes, *call.values["size"]], [*value.stride()[:call.count], *call.values["stride"]],
        self.storage_offset() if offset is None else offset))


def _repeat(call):
    repeats = call.values["repeats"]
    return call.batched(call.front(call.values["self"], len(repeats)).repeat(*[1] * call.count, *repeats))


# --- products ---------------------------------------------------------------------------------------------------------

def _product(call):
    """Products of matrices and vectors, as matmul; what is added to one comes first."""
    *added, left, right = call.tensors.values()
    columns = left.dim() == 1, right.dim() == 1
    one, other = (value_of(each) if not levels_of(each) else call.full(each) for each in (left, right))
    if columns[0]:
        one = one.unsqueeze(-2)
    if columns[1]:
        other = other.unsqueeze(-1)
    result = one @ other
    result = result.squeeze(-2) if columns[0] else result
    result = result.squeeze(-1) if columns[1] else result
    if added:
        alpha, beta = call.values.get("alpha", 1), call.values.get("beta", 1)
        result = result if alpha == 1 else result * alpha
        term = call.front(added[0], result.dim() - (call.count if levels_of(left) or levels_of(right) else 0))
        result = result + (term if beta == 1 else term * beta) if beta else result.expand(*call.sizes, *result.shape)
    written = call.written()
    if written is not None:
        value_of(call.values[written]).copy_(result)
    return call.batched(result)


def _outer(call):
    one, other = call.tensors.values()
    return call.batched(call.front(one).unsqueeze(-1) * call.front(other).unsqueeze(-2))


# --- indices ----------------------------------------------------------------------------------------------------------

def _places(call):
    """How an index of tensors is computed for all samples: the order of dimensions in which the indexed ones are
    first, the indices with that of the sample, and where their dimensions belong. None where masks are among them.
    """
    given = call.values["indices"]
    places = [dim for dim, index in enumerate(given) if index is not None]
    if not places or any(given[dim].dtype in (mindtorch.bool, mindtorch.uint8) for dim in places):
        return None
    rank, count = call.values["self"].dim(), call.count
    ndim = max(given[dim].dim() for dim in places)
    order = [*range(count), *(count + dim for dim in places),
             *(count + dim for dim in range(rank) if dim not in places)]
    device = given[places[0]].device
    indices = [call.front(given[dim], ndim) for dim in places]
    samples = [mindtorch.arange(size, device=device).view(*[1] * place, -1, *[1] * (count - place - 1 + ndim))
               for place, size in enumerate(call.sizes)]
    together = places == list(range(places[0], places[0] + len(places)))
    return order, [*samples, *indices], ndim, count + (places[0] if together else 0)


def _index(call):
    found = _places(call)
    if found is None:
        return NotImplemented
    order, indices, ndim, place = found
    self = call.values["self"]
    if not levels_of(self):
        drop = call.count
        result = self.permute([each - drop for each in order[drop:]])[tuple(indices[drop:])]
        if result.dim() < drop + ndim:
            return NotImplemented
    else:
        result = call.full(self).permute(order)[tuple(indices)]
    return call.batched(result.movedim(list(range(call.count, call.count + ndim)), list(range(place, place + ndim))))


def _index_put(call):
    found = _places(call)
    if found is None:
        return NotImplemented
    order, indices, ndim, place = found
    self, values = call.values["self"], call.values["values"]
    rank = self.dim() - (len(indices) - call.count) + ndim          # of what is indexed
    value = call.full(self) if call.written() else call.full(self).clone()
    term = call.front(values, rank)
    term = term.movedim(list(range(place, place + ndim)), list(range(call.count, call.count + ndim)))
    value.permute(order).index_put_(tuple(indices), term, bool(call.values.get("accumulate", False)))
    return call.batched(value)


def _index_select(call):
    dim = _shifted(call.values["dim"], call.values["self"].dim(), 0)
    index = call.values["index"]
    if not levels_of(index):
        return _with_index(call)
    if not call.values["self"].dim() or not index.dim():
        return NotImplemented
    return mindtorch.ops.aten.index.Tensor(call.values["self"], [None] * dim + [index])


def _with_index(call):
    """index_add and its like, of one index for all samples."""
    index, rank = call.values["index"], call.values["self"].dim()
    if levels_of(index) or not rank or "value" in call.tensors:
        return NotImplemented
    return call.run(call.all_full() | {"index": index, "dim": _shifted(call.values["dim"], rank, call.count)})


def _embedding(call):
    """Tables of the samples lie one below the other, and indices count from where the sample's begins."""
    weight, indices = call.values["weight"], call.values["indices"]
    if not levels_of(weight):
        return call.run(call.values | {"indices": value_of(indices)})
    if call.values.get("padding_idx", -1) >= 0:
        return NotImplemented
    sample = mindtorch.arange(math.prod(call.sizes), device=indices.device).view(*call.sizes, *[1] * indices.dim())
    return call.run(call.values | {"weight": call.full(weight).flatten(0, call.count),
                                   "indices": call.full(indices) + sample * weight.shape[0]})


# --- networks ---------------------------------------------------------------------------------------------------------

# Operators on [examples, channels, ...], by the number of dimensions of the rest; examples may be missing.
_NETWORK = {
    2: "max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d adaptive_max_pool2d max_unpool2d upsample_nearest2d "
       "_upsample_nearest_exact2d upsample_bilinear2d upsample_bicubic2d _upsample_bilinear2d_aa "
       "_upsample_bicubic2d_aa reflection_pad2d replication_pad2d grid_sampler_2d im2col channel_shuffle",
    3: "max_pool3d_with_indices avg_pool3d _adaptive_avg_pool3d adaptive_max_pool3d max_unpool3d upsample_nearest3d "
       "_upsample_nearest_exact3d upsample_trilinear3d reflection_pad3d replication_pad3d grid_sampler_3d",
    1: "upsample_nearest1d _upsample_nearest_exact1d upsample_linear1d reflection_pad1d replication_pad1d col2im"}


def _examples(call):
    """The samples become examples of one larger batch."""
    first = next(iter(call.tensors.values()))
    inner = _inner_dims(call.name)
    alone = first.dim() == inner + 1
    lead = first.shape[:0 if alone else 1]
    values = call.values | {name: call.full(tensor).flatten(0, call.count - alone)
                            for name, tensor in call.tensors.items()}
    if "input_size" in values:
        values["input_size"] = [math.prod(call.sizes) * values["input_size"][0], *values["input_size"][1:]]
    result = call.func(**values)
    return call.batched(_map(result, lambda each: each.unflatten(0, (*call.sizes, *lead))))


@cache
def _inner_dims(name):
    base = name.removesuffix("_backward")
    return next((dims for dims, names in _NETWORK.items() if base in names.split()), 2)


def _convolution(call):
    """Samples with weights of their own are groups of channels, others examples."""
    input, weight, bias = (call.values[name] for name in ("input", "weight", "bias"))
    if not levels_of(weight) and not levels_of(bias):
        examples = call.full(input)
        result = call.func(**(call.values | {"input": examples.flatten(0, call.count)}))
        return call.batched(result.unflatten(0, examples.shape[:call.count + 1]))
    count, samples = call.count, math.prod(call.sizes)
    inner = list(range(count + 1, input.dim() + count))
    channels = call.full(input).permute(count, *range(count), *inner).flatten(1, count + 1)
    values = call.values | {"input": channels, "weight": call.full(weight).flatten(0, count), "bias": None,
                            "groups": call.values["groups"] * samples}
    result = call.func(**values).unflatten(1, (*call.sizes, -1))
    result = result.permute(*range(1, count + 1), 0, *inner)
    if bias is not None:
        result = result + call.front(bias).view(*call.front(bias).shape[:count], 1, -1, *[1] * (input.dim() - 2))
    return call.batched(result)


def _layer_norm(call):
    """The parameters are applied afterwards where they have a batch."""
    weight, bias, input = call.values["weight"], call.values["bias"], call.full(call.values["input"])
    if not levels_of(weight) and not levels_of(bias):
        return call.run(call.values | {"input": input})
    result, mean, rstd = call.func(**(call.values | {"input": input, "weight": None, "bias": None}))
    rank = input.dim() - call.count
    result = result if weight is None else result * call.front(weight, rank)
    result = result if bias is None else result + call.front(bias, rank)
    return tuple(map(call.batched, (result, mean, rstd)))


def _group_norm(call):
    input, values = call.values["input"], call.values
    examples = values["N"] * math.prod(call.sizes)
    plain = {"input": call.full(input).flatten(0, call.count), "weight": None, "bias": None, "N": examples}
    result, mean, rstd = call.func(**(values | plain))
    result = result.unflatten(0, (*call.sizes, values["N"]))
    for name in ("weight", "bias"):
        if values[name] is not None:
            each = call.front(values[name])
            each = each.view(*each.shape[:call.count], 1, -1, *[1] * (input.dim() - 2))
            result = result * each if name == "weight" else result + each
    return tuple(map(call.batched, (result, *(each.unflatten(0, (*call.sizes, values["N"])) for each in (mean, rstd)))))


def _batch_norm(call):
    """Samples are channels: each has statistics of its own."""
    running = call.values["running_mean"]
    if running is not None and call.values["training"] and levels_of(running) != call.levels:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.")
    input, count = call.values["input"], call.count
    if running is not None and call.values["training"]:
        return NotImplemented
    inner = list(range(count + 1, input.dim() + count))
    values = call.values | {name: None if value is None else call.full(value).flatten()
                            for name, value in call.values.items() if name in
                            ("weight", "bias", "running_mean", "running_var")}
    values["input"] = call.full(input).permute(count, *range(count), *inner).flatten(1, count + 1)
    result, *saved = call.func(**values)
    result = result.unflatten(1, (*call.sizes, -1)).permute(*range(1, count + 1), 0, *inner)
    saved = [each.view(*call.sizes, -1) if each.numel() else each.expand(*call.sizes, 0) for each in saved]
    return tuple(map(call.batched, (result, *saved)))


def _nll_loss(call):
    """As gather of the targets' elements and a mean by weights."""
    self, target, weight, reduction, ignored = (
        call.values[name] for name in ("self", "target", "weight", "reduction", "ignore_index"))
    dim = 1 if self.dim() > 1 else 0
    counted = target != ignored
    known = mindtorch.where(counted, target, 0)
    of_target = counted.to(self.dtype) if weight is None else weight[known] * counted
    losses = -self.gather(dim, known.unsqueeze(dim)).squeeze(dim) * of_target
    total = of_target.sum()
    if reduction == 0:
        return losses, total * 0
    return losses.sum() / total if reduction == 1 else losses.sum(), total


# --- which rule -------------------------------------------------------------------------------------------------------

def _composed(rule):
    """A rule in terms of other operators on BatchedTensors."""
    return lambda call: tuple(result if levels_of(result) == call.levels else as_batched(
        all_samples(result, call.levels), call.levels) for result in rule(call))


def _item(call):
    raise RuntimeError(_ITEM)


def _dynamic_shape(call):
    raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
                       f"over {call.func._schema.name}, whose results have another shape for each sample.")


def _masked_select(call):
    if levels_of(call.values["mask"]):
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask), which selects "
                           "another number of elements for each sample. Call torch.where in its place.")
    return NotImplemented


def _no_rule(call):
    return NotImplemented


# Which have a row of all elements, and one of a dimension.
_REDUCTIONS = ("sum", "mean", "max", "min", "prod", "median", "nanmedian", "all", "any")
_RULES = {}
for _rule, _names in (
        (_pointwise, "clone detach alias _to_copy copy zero zeros_like ones_like full_like empty_like rand_like "
                     "randn_like randint_like lift_fresh view_as_real view_as_complex _conj _neg_view resolve_conj "
                     "resolve_neg real imag conj conj_physical where"),
        (_each_sample, "tril triu constant_pad_nd linalg_inv linalg_inv_ex linalg_cholesky linalg_cholesky_ex "
                       "linalg_lu_factor_ex linalg_qr _linalg_svd lu_unpack linalg_eigvalsh linalg_eigh linalg_eig "
                       "linalg_slogdet linalg_det geqrf one_hot"),
        (_matrices, "triangular_solve cholesky_solve _cdist_forward _cdist_backward"),
        (_masked_fill, "masked_fill"), (_prelu, "_prelu_kernel"),
        (_new, "new_zeros new_ones new_full new_empty"), (_fill, "fill"),
        (_reduction_of_all, " ".join(_REDUCTIONS)),
        (_cat, "cat"), (_expand, "expand"), (_view, "view _unsafe_view reshape"), (_squeeze, "squeeze"), (_t, "t"),
        (_as_strided, "as_strided"), (_repeat, "repeat"),
        (_product, "mm bmm mv dot matmul addmm addmv baddbmm"), (_outer, "outer ger"),
        (_index, "index"), (_index_put, "index_put"), (_index_select, "index_select"),
        (_with_index, "index_add index_copy index_fill"), (_embedding, "embedding"),
        (_examples, " ".join(f"{name} {name}_backward" for names in _NETWORK.values() for name in names.split())),
        (_convolution, "convolution"), (_layer_norm, "native_layer_norm"), (_group_norm, "native_group_norm"),
        (_batch_norm, "native_batch_norm"), (_composed(_nll_loss), "nll_loss_forward nll_loss2d_forward"),
        (_item, "_local_scalar_dense"), (_masked_select, "masked_select"),
        (_no_rule, "repeat_interleave masked_scatter put take multinomial histc "
                   "linalg_solve_ex _prelu_kernel_backward renorm")):
    _RULES.update(dict.fromkeys(_names.split(), _rule))


@cache
def _rule_of(func):
    """By what the operator writes or takes, by name, else by what its rows say."""
    namespace, _, name = func._schema.name.partition("::")
    if namespace not in ("aten", "mindtorch"):
        return _loop
    base = name.removesuffix("_") if _written(func) else name
    names = {argument.name for argument in func._schema.arguments}
    if base in (*_REDUCTIONS, "squeeze") and names & set(_DIMS):
        return _along_dim
    if base in _RULES:
        return _RULES[base]
    outputs = [row["outputs"][0] for key, row in ROWS.items() if key.partition(".")[0] == base and row.get("outputs")]
    if any(output.get("dynamic_shape") for output in outputs):
        return _dynamic_shape
    if any(output.get("elementwise") for output in outputs):
        return _pointwise
    return _along_dim if names & set(_DIMS) else _loop
