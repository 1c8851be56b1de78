"""Kernel slots called in a loop, without the Python level: what launch and descriptors cost by themselves."""
from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.scalar cimport Scalar, scalar_from
from mindtorch._core.device cimport DeviceType
from mindtorch._core.tensor cimport TensorBase


def add(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x + y, `count` times."""
    cdef long _
    cdef Scalar one
    scalar_from(1, &one)
    for _ in range(count):
        KERNELS[DeviceType.NPU].add_Tensor(x, y, &one, out)


def relu(TensorBase x, TensorBase out, long count):
    """out = relu(x), `count` times."""
    cdef long _
    for _ in range(count):
        KERNELS[DeviceType.NPU].relu(x, out)


def mm(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x @ y, `count` times."""
    cdef long _
    for _ in range(count):
        KERNELS[DeviceType.NPU].mm(x, y, out)
