"""Batches through a pipe: a pickle without the bytes of its arrays, then those bytes, read straight to their place."""
import contextlib
import fcntl
import io
import os
import pickle

import numpy as np

import mindtorch

__all__ = ["receive", "send", "widen"]

_PIPE_BYTES = 1 << 20           # each wake-up of the reader brings up to this many


def widen(connection):
    """Give the pipe behind `connection` a large buffer where the system lets us; a small one is only slower."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(connection.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _tensor(array, dtype, shape, requires_grad):
    """A tensor on the array's own memory, which nobody else holds."""
    return mindtorch.from_numpy(array).view(dtype).view(shape).requires_grad_(requires_grad)


class _Pickler(pickle.Pickler):
    """Leaves the bytes of tensors and arrays to `buffers`, and spares CPU tensors the copy that unpickling makes."""

    def __init__(self, file, buffers):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)

    def reducer_override(self, obj):
        if type(obj) is not mindtorch.Tensor or obj.device.type != "cpu" or vars(obj):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue).")
        array = obj.detach().contiguous().flatten().view(mindtorch.uint8).numpy()
        return _tensor, (array, obj.dtype, tuple(obj.shape), obj.requires_grad)


def pack(message):
    """(pickle, views of the memory that belongs to it). What cannot be pickled raises before a byte is sent."""
    file, buffers = io.BytesIO(), []
    _Pickler(file, buffers).dump(message)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def send(connection, message):
    head, views = pack(message)
    connection.send([view.nbytes for view in views])
    connection.send_bytes(head)
    for view in views:
        _write(connection.fileno(), view)


def receive(connection):
    """The next message. EOFError where the sender has gone."""
    sizes = connection.recv()
    head = connection.recv_bytes()
    return pickle.loads(head, buffers=[_read(connection.fileno(), size) for size in sizes])


def _write(descriptor, view):
    done = 0
    while done < view.nbytes:
        done += os.write(descriptor, view[done:])


def _read(descriptor, size):
    memory = np.empty(size, np.uint8)
    view, done = memoryview(memory), 0
    while done < size:
        count = os.readv(descriptor, [view[done:]])
        if count == 0:
            raise EOFError
        done += count
    return memory
