"""torch._subclasses.fake_utils: what operators make of fake tensors, held against what they compute."""
from mindtorch import Tensor, strided
from mindtorch._compat.prims_common import MetadataMismatchError, compare_tensor_meta
from mindtorch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
    is_fake,
)
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_leaves, tree_map_only

__all__ = ["CrossRefFakeMode", "output_alias_each_other", "outputs_alias_inputs", "outputs_are_inputs"]


def _storages(values):
    """What tells the storages of the tensors apart, one for each tensor."""
    return [tensor.untyped_storage()._cdata for tensor in _tensors(values) if tensor.layout is strided]


def outputs_alias_inputs(outputs, inputs):
    """Whether a tensor of `outputs` shares memory with one of `inputs`."""
    return not set(_storages(outputs)).isdisjoint(_storages(inputs))


def outputs_are_inputs(outputs, inputs):
    """Whether a tensor of `outputs` is one of `inputs`."""
    return not {id(tensor) for tensor in _tensors(outputs)}.isdisjoint(id(tensor) for tensor in _tensors(inputs))


def output_alias_each_other(outputs):
    """Whether two tensors of `outputs` share memory."""
    storages = _storages(outputs)
    return len(set(storages)) < len(storages)


class CrossRefFakeMode(TorchDispatchMode):
    """Within it each operator runs on fake tensors too; MetadataMismatchError where results differ.

    What is compared are shapes, dtypes, devices and, with check_strides, strides. Operators whose results depend on
    elements, or that have no fake kernel, are not compared, nor are those for which `ignore_op_fn(func)` is true.

    Example:
        >>> from mindtorch._subclasses.fake_utils import CrossRefFakeMode
        >>> with CrossRefFakeMode():
        ...     torch.ones(2, 3) @ torch.ones(3)
        tensor([3., 3.])
    """

    def __init__(self, ignore_op_fn=None, *, check_strides=True, check_aliasing=True, only_check_ops_with_meta=True):
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides = check_strides

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        compared = not self.ignore_op_fn(func) and func._opname not in ("lift_fresh", "detach", "set_") and not any(
            map(is_fake, _tensors((args, kwargs))))
        fake = self._on_fake_tensors(func, args, kwargs) if compared else None
        real = func(*args, **kwargs)
        if fake is not None:
            for mine, its in zip(_tensors(fake), _tensors(real), strict=True):
                try:
                    compare_tensor_meta(mine, its, check_strides=self.check_strides)
                except MetadataMismatchError as error:
                    raise MetadataMismatchError(f"When comparing the output of {func} on FakeTensor and concrete "
                                                f"Tensors, found mismatched tensor metadata: {error}") from error
        return real

    def _on_fake_tensors(self, func, args, kwargs):
        try:
            with FakeTensorMode() as mode:
                return func(*tree_map_only(Tensor, mode.from_tensor, tuple(args)),
                            **tree_map_only(Tensor, mode.from_tensor, dict(kwargs)))
        except (DynamicOutputShapeException, UnsupportedFakeTensorException, UnsupportedOperatorException):
            return None


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
