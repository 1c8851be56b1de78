"""Kernel slots called in a loop, without the Python level: what launch and descriptors cost by themselves."""
from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.device cimport NPU
from mindtorch._core.scalar cimport Float, Scalar, scalar_from
from mindtorch._core.tensor cimport Shape, TensorBase


def add(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x + y, `count` times."""
    cdef long _
    cdef Scalar one
    scalar_from(1, &one)
    for _ in range(count):
        KERNELS[<int>NPU].add_Tensor(x, y, &one, out)


def relu(TensorBase x, TensorBase out, long count):
    """out = relu(x), `count` times."""
    cdef long _
    for _ in range(count):
        KERNELS[<int>NPU].relu(x, out)


def mm(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x @ y, `count` times."""
    cdef long _
    for _ in range(count):
        KERNELS[<int>NPU].mm(x, y, out)


def sum(TensorBase x, TensorBase out, long count):
    """out = x.sum(), `count` times."""
    cdef long _
    cdef Shape everything
    everything.ndim = 0
    for _ in range(count):
        KERNELS[<int>NPU].sum_dim_IntList(x, &everything, False, Float, out)
