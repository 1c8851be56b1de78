"""torch._subclasses.meta_utils: tensors of the meta device like given ones, which share memory as those do."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from mindtorch import Tensor, UntypedStorage, empty, enable_grad, no_grad, strided, view_as_complex, view_as_real
from mindtorch._core.tensor.views import set_bits_of
from mindtorch.nn import Parameter

__all__ = ["MetaConverter", "assert_metadata_eq", "is_sparse_any"]


def is_sparse_any(t: Any) -> bool:
    """Whether `t` is a sparse tensor."""
    return isinstance(t, Tensor) and t.layout is not strided


def assert_metadata_eq(assert_eq: Callable[[Any, Any], None], m1: Tensor, m2: Tensor, *, skip_symbolic: bool = False,
                       skip_leaf: bool = False) -> None:
    """Call `assert_eq` with each property of both tensors, and of their gradients and bases, but device and elements.

    skip_symbolic leaves out sizes and strides, skip_leaf whether they are leaves.
    """
    assert_eq(m1.dtype, m2.dtype)
    assert_eq(m1.layout, m2.layout)
    if not skip_symbolic:
        assert_eq(m1.shape, m2.shape)
    if not skip_leaf:
        assert_eq(m1.is_leaf, m2.is_leaf)
    for question in ("is_inference", "is_conj", "is_neg", "dense_dim", "sparse_dim"):
        if question[:2] == "is" or m1.layout is not strided:
            assert_eq(getattr(m1, question)(), getattr(m2, question)())
    assert_eq(m1.requires_grad, m2.requires_grad)
    grads = [tensor.grad if tensor.is_leaf or tensor.retains_grad else None for tensor in (m1, m2)]
    assert_eq(grads[0] is None, grads[1] is None)
    if grads[0] is not None and grads[1] is not None:
        assert_metadata_eq(assert_eq, *grads, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)
    if m1.layout is strided:
        if not skip_symbolic:
            assert_eq(m1.stride(), m2.stride())
            assert_eq(m1.storage_offset(), m2.storage_offset())
        assert_eq(m1._is_view(), m2._is_view())
        if m1._is_view() and m2._is_view():
            assert_metadata_eq(assert_eq, m1._base, m2._base, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)


class MetaConverter:
    """Called with a tensor, returns one of the meta device with its dtype, shape, strides and place in the autograd.

    The same tensor gives the same result again, as long as that lives. Tensors that share memory give tensors that
    share a storage, a view gives a view of the base's. What is no tensor, and sparse tensors, are returned as they are;
    `successful()` tells whether all tensors could be converted.

    Example:
        >>> from mindtorch._subclasses.meta_utils import MetaConverter
        >>> x = torch.ones(2, 3)
        >>> convert = MetaConverter()
        >>> view = convert(x.t())
        >>> view.device, view.stride(), view._base is convert(x)
        (device(type='meta'), (1, 3), True)
    """

    def __init__(self) -> None:
        self.tensor_memo: dict[int, Any] = weakref.WeakValueDictionary()    # id of a tensor -> what it was converted to
        self.storage_memo: dict[int, Any] = {}      # address of a storage -> (its meta storage, a tensor that uses it)
        self._known: dict[int, weakref.ref] = {}        # id of a tensor -> a reference, as ids come again
        self.hit = self.miss = self.arg_cnt = 0

    def successful(self) -> bool:
        """Whether a tensor was converted, and none was not."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any, *args: Any, **kwargs: Any) -> Any:
        self.arg_cnt += isinstance(t, Tensor)
        if not isinstance(t, Tensor):
            return t
        if is_sparse_any(t) or type(t) not in (Tensor, Parameter):
            self.miss += 1
            return t
        self.hit += 1
        return self._converted(t)

    def _converted(self, t):
        known = self._known.get(id(t))
        made = self.tensor_memo.get(id(t)) if known is not None and known() is t else None
        if made is None:
            made = self._view(t) if t._is_view() else self._whole(t)
            if t.is_leaf and t.grad is not None:
                made.grad = self._converted(t.grad)
            self._known[id(t)] = weakref.ref(t)
            self.tensor_memo[id(t)] = made
        return made

    def _whole(self, t):
        """A tensor that is no view."""
        with no_grad():
            made = self._placed(empty(0, dtype=t.dtype, device="meta"), t)
        if not t.requires_grad:
            return made
        made.requires_grad_()
        if not t.is_leaf:                       # it gets a node
            with enable_grad():
                made = made.clone()
            with no_grad():
                self._placed(made, t)
        return made

    def _placed(self, made, t):
        """`made` as the part of t's storage that t is."""
        storage = t.untyped_storage()
        known, user = self.storage_memo.get(storage._cdata, (None, _nothing))
        if user() is None or user().untyped_storage()._cdata != storage._cdata:     # another storage had the address
            known = UntypedStorage(storage.nbytes(), device="meta")
        self.storage_memo[storage._cdata] = known, weakref.ref(t)
        set_bits_of(made.set_(known, t.storage_offset(), t.size(), t.stride()), t.is_conj(), t.is_neg())
        return made

    def _view(self, t):
        """A view of what t's base is converted to."""
        base = self._converted(t._base)
        if t.requires_grad and not t.is_leaf and not base.requires_grad:        # of a view that is a leaf
            with no_grad():
                base = base.view_as(base)
            base.requires_grad_()
        with enable_grad() if not t.is_leaf else no_grad():
            if t.dtype is not base.dtype:           # view(dtype) makes no view
                base = view_as_complex(base) if t.is_complex() else view_as_real(base)
            made = base.as_strided(t.size(), t.stride(), t.storage_offset())
            made = made.conj() if made.is_conj() != t.is_conj() else made
            made = made._neg_view() if made.is_neg() != t.is_neg() else made
        return made.requires_grad_() if t.requires_grad and t.is_leaf else made


def _nothing():
    """What a reference to nothing returns."""
