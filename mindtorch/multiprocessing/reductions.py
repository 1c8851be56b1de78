"""Tensors through queues and pipes of multiprocessing: sending moves them to shared memory, as share_memory_ does.

So sender and receiver see what the other writes. One that has come from another process goes on by value.
"""
from __future__ import annotations

import os
from multiprocessing import context, reduction

import numpy as np

from mindtorch import Tensor
from mindtorch._core.formats import strided
from mindtorch._cpu import backend
from mindtorch._serialization.shared_tensors import SHARED_FROM, bytes_of, check_leaf, share, tensor_on
from mindtorch._utils import marks_of, with_marks
from mindtorch.nn.parameter import Parameter

__all__ = ["init_reductions"]


def init_reductions() -> None:
    """Has multiprocessing's pickler take tensors this way.

    The sender has to live until the tensor has come.

    Example:
        >>> import io
        >>> from multiprocessing.reduction import ForkingPickler
        >>> torch.multiprocessing.reductions.init_reductions()
        >>> len(ForkingPickler.dumps(torch.ones(1000))) < 1000      # a handle, not the elements
        True
    """
    reduction.ForkingPickler.register(Tensor, _reduce_tensor)
    reduction.ForkingPickler.register(Parameter, _reduce_parameter)


def _reduce_tensor(tensor):
    if not tensor.is_cpu or tensor.layout is not strided or vars(tensor):
        return tensor.__reduce_ex__(2)
    check_leaf(tensor)
    if tensor.numel():
        storage = tensor.untyped_storage()      # held: an operator of another thread may still use the old memory
        storage.share_memory_()
        lent = _shared_handle(tensor)
        if lent is not None:
            return lent
    array = bytes_of(tensor)
    details = tensor.dtype, tuple(tensor.shape), tensor.requires_grad
    # Arguments of a new process go through its pipe: descriptors would have to stay open until it runs.
    if array.nbytes < SHARED_FROM or context.get_spawning_popen() is not None:
        return _from_bytes, (array.tobytes(), *details)
    descriptor, owner = share(memoryview(array))
    reduced = _from_descriptor, (reduction.DupFd(descriptor), array.nbytes, *details)
    del owner                   # not sooner: now there is a descriptor that does not end with it
    return reduced


def _shared_handle(tensor):
    """How the receiver comes to the same memory, where this process has made it; None where it has not."""
    whole = backend.byte_tensor_of(tensor).numpy()
    descriptor = backend.descriptor_of(whole.base, whole.ctypes.data, whole.nbytes)
    if descriptor < 0:
        return None
    geometry = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return _from_lent, (reduction.DupFd(descriptor), whole.nbytes, tensor.dtype, geometry, marks_of(tensor),
                        tensor.requires_grad)


def _reduce_parameter(parameter):
    return _as_parameter, (parameter.detach(), parameter.requires_grad, vars(parameter))


def _from_bytes(content, *details):
    return tensor_on(np.frombuffer(bytearray(content), np.uint8), *details)


def _from_lent(duplicate, nbytes, dtype, geometry, marks, requires_grad):
    descriptor = duplicate.detach()
    try:
        whole = backend.attach(descriptor, nbytes)
    finally:
        os.close(descriptor)
    return with_marks(whole.view(dtype).as_strided(*geometry).detach(), marks).requires_grad_(requires_grad)


def _from_descriptor(duplicate, nbytes, *details):
    descriptor = duplicate.detach()
    try:
        return tensor_on(backend.attach(descriptor, nbytes).numpy(), *details)
    finally:
        os.close(descriptor)


def _as_parameter(data, requires_grad, attributes):
    made = Parameter(data, requires_grad)
    vars(made).update(attributes)
    return made
