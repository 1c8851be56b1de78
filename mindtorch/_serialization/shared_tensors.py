"""Tensors between processes: their elements as byte arrays, large ones in shared memory."""
import numpy as np

import mindtorch
from mindtorch._cpu import backend

SHARED_FROM = 1 << 16           # bytes; below that, mapping memory takes longer than copying


def check_leaf(tensor):
    """RuntimeError for a tensor with a history."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue).")


def bytes_of(tensor):
    """The elements of a CPU tensor as an array of bytes. RuntimeError for one with a history."""
    check_leaf(tensor)
    return tensor.detach().contiguous().resolve_conj().resolve_neg().flatten().view(mindtorch.uint8).numpy()


def tensor_on(array, dtype, shape, requires_grad):
    """A tensor on the array's memory. The array must not be used elsewhere."""
    content = backend.as_byte_tensor(array.base)
    if content is None:
        content = mindtorch.from_numpy(array).as_strided((array.size,), (1,))     # an empty array may have stride 0
    return content.view(dtype).view(shape).detach().requires_grad_(requires_grad)


def share(view):
    """(descriptor, owner) of shared memory with the bytes of `view`, which is copied unless it is shared already."""
    array = np.frombuffer(view, np.uint8)
    owner = getattr(view.obj, "base", None)
    descriptor = backend.descriptor_of(owner, array.ctypes.data, array.nbytes)
    if descriptor < 0:
        copy = backend.allocate_shared(array.nbytes).numpy()
        copy[:] = array
        owner = copy.base
        descriptor = backend.descriptor_of(owner, copy.ctypes.data, copy.nbytes)
    return descriptor, owner
