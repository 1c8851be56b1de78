"""Contexts of torch.utils.checkpoint that keep the results of some operators, so that backward need not repeat them."""
from collections import defaultdict
from enum import Enum

from mindtorch import Tensor
from mindtorch._library.overloads import OpOverload, OpOverloadPacket, ops
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_map

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

SAC_IGNORED_OPS = {getattr(packet, form) for packet in (
    ops.aten.detach, ops.aten.sym_size, ops.aten.sym_stride, ops.aten.sym_storage_offset, ops.aten.sym_numel)
    for form in packet.overloads()}


class CheckpointPolicy(Enum):
    """Whether the result of an operator is kept, or computed again. PREFER_ and MUST_ mean the same here.

    Example:
        >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADING = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)
_RECOMPUTED, _USED = object(), object()         # in place of a kept result


class SelectiveCheckpointContext:
    """A policy's first argument: whether this is the recomputation, and the result of the first run.

    Arguments:
        is_recompute: whether it is the second run
        op_output: the result of the operator in the first run; None in that run

    Example:
        >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).is_recompute
        False
    """

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


class _SavedResult:
    """A result, and its version when it was saved."""

    def __init__(self, value):
        self.val = value.detach() if isinstance(value, Tensor) else value
        self.version = self.val._version if isinstance(value, Tensor) else None

    def get_val(self, allow_mutation):
        """The result. RuntimeError where it was written to since, unless that is allowed."""
        if self.version is not None and not allow_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: keeps what the policy says."""

    def __init__(self, policy_fn, storage):
        super().__init__()
        self.policy_fn, self.storage, self._calls = policy_fn, storage, defaultdict(int)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self.policy_fn(context, func, *args, **kwargs)
        if policy in _OFFLOADING:
            raise NotImplementedError("selective checkpoint: offloading to the CPU is not available, use SAVE")
        saves = policy if isinstance(policy, bool) else policy in _SAVING
        self.storage[func][self._calls[func]] = tree_map(_SavedResult, result) if saves else _RECOMPUTED
        self._calls[func] += 1
        return result


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: returns what was kept."""

    def __init__(self, policy_fn, storage, allow_cache_entry_mutation=False):
        super().__init__()
        self.storage, self._calls = storage, defaultdict(int)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __enter__(self):
        self._calls.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        place = self._calls[func]
        self._calls[func] += 1
        if place not in self.storage.get(func, ()):
            raise RuntimeError(f"{func} (call {place}) encountered during backward but not found in storage: the two "
                               "runs of the checkpointed function call different operators")
        kept = self.storage[func][place]
        if kept is _USED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region "
                               "computed under selective activation checkpoint.")
        if kept is _RECOMPUTED:
            return func(*args, **kwargs)
        self.storage[func][place] = _USED
        return tree_map(lambda each: each.get_val(self.allow_cache_entry_mutation), kept)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts that `context_fn` of checkpoint gives.

    policy_fn_or_list: a list of overloads (torch.ops.aten.mm.default) whose results are kept, or a function of a
    SelectiveCheckpointContext, the overload and its arguments that returns a CheckpointPolicy, or whether to keep it.

    Arguments:
        policy_fn_or_list: a function (context, operator, ...) that gives a CheckpointPolicy; or operators to keep
        allow_cache_entry_mutation: whether results that are kept may be written to

    Example:
        >>> from functools import partial
        >>> products = [torch.ops.aten.mm.default]
        >>> contexts = partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, products)
        >>> x = torch.ones(2, 2, requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint(
        ...     lambda x: (x @ x).relu(), x, use_reentrant=False, context_fn=contexts)
        >>> y.sum().backward()
        >>> x.grad
        tensor([[4., 4.],
                [4., 4.]])
    """
    policy = policy_fn_or_list
    if isinstance(policy, list):
        for op in policy:
            if not isinstance(op, OpOverload):
                hint = (f"Please update the OpOverloadPacket to a specific OpOverload, such as {op}.default."
                        if isinstance(op, OpOverloadPacket) else "")
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                                 f"{hint}")
        policy = _saving(policy)
    elif not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage = defaultdict(dict)
    return (_CachingTorchDispatchMode(policy, storage),
            _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation))


def _saving(operators):
    def policy(context, op, *args, **kwargs):
        return op in operators
    return policy
