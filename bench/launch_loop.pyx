"""Kernels called in a loop, without the Python level: what launch and descriptors cost by themselves."""
from cpython.ref cimport PyObject

from mindtorch._core.tensor.tensor cimport NPU
from mindtorch._core.operators.operator cimport Argument, Operator, find_operator, run_kernel
from mindtorch._core.tensor.dtype cimport Float, Scalar, scalar_from_python
from mindtorch._core.tensor.tensor cimport Shape, TensorBase

cdef Operator ADD = find_operator("add.Tensor")
cdef Operator RELU = find_operator("relu")
cdef Operator MM = find_operator("mm")
cdef Operator SUM = find_operator("sum.dim_IntList")


def add(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x + y, `count` times."""
    cdef Argument arguments[4]
    cdef Scalar one
    cdef long _
    scalar_from_python(1, &one)
    arguments[0].object, arguments[1].object = <PyObject *>x, <PyObject *>y
    arguments[2].scalar, arguments[3].object = &one, <PyObject *>out
    for _ in range(count):
        run_kernel(ADD, NPU, arguments, out.dtype)


def relu(TensorBase x, TensorBase out, long count):
    """out = relu(x), `count` times."""
    cdef Argument arguments[2]
    cdef long _
    arguments[0].object, arguments[1].object = <PyObject *>x, <PyObject *>out
    for _ in range(count):
        run_kernel(RELU, NPU, arguments, out.dtype)


def mm(TensorBase x, TensorBase y, TensorBase out, long count):
    """out = x @ y, `count` times."""
    cdef Argument arguments[3]
    cdef long _
    arguments[0].object, arguments[1].object, arguments[2].object = <PyObject *>x, <PyObject *>y, <PyObject *>out
    for _ in range(count):
        run_kernel(MM, NPU, arguments, out.dtype)


def sum(TensorBase x, TensorBase out, long count):
    """out = x.sum(), `count` times."""
    cdef Argument arguments[5]
    cdef Shape everything
    cdef long _
    everything.ndim = 0
    arguments[0].object, arguments[1].ints = <PyObject *>x, &everything
    arguments[2].integer, arguments[3].integer, arguments[4].object = False, Float, <PyObject *>out
    for _ in range(count):
        run_kernel(SUM, NPU, arguments, out.dtype)
