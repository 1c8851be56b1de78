"""Batches from one process to another: a pickle without the bytes of its arrays, then those bytes.

Large arrays go in shared memory of which only the descriptor is sent, the others through the socket. Where a worker has
made its batch in shared memory right away (`empty_shared`), nothing is copied.
"""
from __future__ import annotations

import errno
import io
import os
import pickle
import socket
from typing import TYPE_CHECKING, Any

import numpy as np

import mindtorch
from mindtorch._cpu import backend
from mindtorch._serialization.shared_tensors import SHARED_FROM, bytes_of, share, tensor_on

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["empty_shared", "receive", "send"]


def empty_shared(shape: Any, dtype: dtype) -> Any:
    """A tensor for a batch that is to be sent: in shared memory if it is large."""
    nbytes = int(np.prod(shape)) * dtype.itemsize
    if nbytes < SHARED_FROM:
        return mindtorch.empty(shape, dtype=dtype)
    return backend.allocate_shared(nbytes).view(dtype).view(shape)


class _Pickler(pickle.Pickler):
    """Leaves the bytes of tensors and arrays to `buffers`, and spares CPU tensors the copy that unpickling makes."""

    def __init__(self, file: Any, buffers: Any) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)

    def reducer_override(self, obj: Any) -> Any:
        if (type(obj) is not mindtorch.Tensor or obj.device.type != "cpu" or obj.layout is not mindtorch.strided
                or vars(obj)):
            return NotImplemented
        return tensor_on, (pickle.PickleBuffer(bytes_of(obj)), obj.dtype, tuple(obj.shape), obj.requires_grad)


def pack(message: Any) -> Any:
    """(pickle, views of the memory that belongs to it). What cannot be pickled raises before a byte is sent."""
    file, buffers = io.BytesIO(), []
    _Pickler(file, buffers).dump(message)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def _socket(connection):
    """The socket below a connection of a duplex Pipe, to be closed after use; the connection stays open."""
    opened = socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)
    opened.setblocking(True)            # whatever socket.setdefaulttimeout says
    return opened


def send(connection: Any, message: Any) -> None:
    """Sends `message` through a connection of a duplex Pipe. OSError where there is no memory left to share."""
    head, views = pack(message)
    shared = {i: share(view) for i, view in enumerate(views) if view.nbytes >= SHARED_FROM}
    connection.send([(view.nbytes, i in shared) for i, view in enumerate(views)])
    connection.send_bytes(head)
    if not views:
        return
    with _socket(connection) as end:
        for i, view in enumerate(views):
            if i in shared:
                socket.send_fds(end, [b"d"], [shared[i][0]])
            else:
                end.sendall(view)


def receive(connection: Any) -> Any:
    """The next message. EOFError where the sender has gone, RuntimeError where this process has too many open files."""
    sizes = connection.recv()
    head = connection.recv_bytes()
    buffers = []
    if sizes:
        try:
            with _socket(connection) as end:
                buffers = [_attach(end, size) if is_shared else _read(end, size) for size, is_shared in sizes]
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            raise RuntimeError("Too many open files. Communication with the workers is no longer possible. Please "
                               "increase the limit using `ulimit -n` in the shell") from error
    return pickle.loads(head, buffers=buffers)


def _attach(end, size):
    sent, descriptors, _, _ = socket.recv_fds(end, 1, 1, socket.MSG_CMSG_CLOEXEC)
    if not sent:
        raise EOFError
    if not descriptors:                 # the system drops one for which this process has no room
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    try:
        return backend.attach(descriptors[0], size).numpy()
    finally:
        os.close(descriptors[0])


def _read(end, size):
    memory = np.empty(size, np.uint8)
    view, done = memoryview(memory), 0
    while done < size:
        count = end.recv_into(view[done:])
        if count == 0:
            raise EOFError
        done += count
    return memory
