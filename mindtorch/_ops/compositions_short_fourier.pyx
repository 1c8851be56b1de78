"""Formulas of Fourier transforms: where the last dimensions are short, one product with a matrix transforms them all.
Others go to compositions_fourier.py.
"""
from functools import cache
from math import prod

from libc.stdint cimport int64_t

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport Table
from mindtorch._core.dtype cimport KIND
from mindtorch._core.scalar cimport COMPLEX_KIND, ComplexDouble, Double, Float, ScalarType
from mindtorch._core.tensor cimport TensorBase, make_plain

from mindtorch._ops import compositions_fourier as fourier


@cache
def table_of(make, tuple lengths, int64_t normalization, *key):
    """None where the matrix would be too large."""
    return Table(make, lengths, fourier.scale_of(normalization, lengths), *key) if prod(lengths) <= fourier.LARGEST \
        else None


cdef tuple last_lengths(TensorBase x, tuple dim):
    """Of these dimensions; None where others lie among them."""
    cdef int first = x.ndim - <int>len(dim), d
    for d in dim:
        if d < first:
            return None
    return tuple([x.sizes[d] for d in range(first, x.ndim)])


cdef TensorBase in_lines(TensorBase x, int64_t width, ScalarType dtype):
    """The numbers of a tensor, two for a complex one."""
    cdef int64_t parts = 2 if KIND[<int>x.dtype] == COMPLEX_KIND else 1
    cdef int64_t sizes[2]
    sizes[0], sizes[1] = x.numel * parts // width, width
    return make_plain(x.storage, dtype, 2, sizes, NULL, x.offset * parts)


cdef TensorBase product(TensorBase x, Table table, TensorBase out):
    cdef ScalarType dtype = Double if x.dtype == ComplexDouble or x.dtype == Double else Float
    if not x.contiguous:
        x = (<object>x).contiguous()
    matrix = table.on(in_lines(x, 1, dtype))
    run.matmul(in_lines(x, matrix.sizes[0], dtype), matrix, in_lines(out, matrix.sizes[1], dtype))
    return out


def complex_to_complex(TensorBase x, tuple dim, int64_t normalization, bint forward, TensorBase out):
    cdef int sign = -1 if forward else 1
    lengths = last_lengths(x, dim)
    if out.contiguous and lengths is not None:
        table = table_of(fourier.matrix_of_pairs, lengths, normalization, sign)
        if table is not None:
            return product(x, table, out)
    return fourier.transform(x, dim, normalization, sign)


def real_to_complex(TensorBase x, tuple dim, int64_t normalization, bint onesided, TensorBase out):
    cdef int last = dim[len(dim) - 1]
    lengths = last_lengths(x, dim)
    if out.contiguous and lengths is not None and last == x.ndim - 1:
        table = table_of(fourier.matrix_of_real, lengths, normalization, out.sizes[last])
        if table is not None:
            return product(x, table, out)
    return fourier.transform_of_real(x, dim, normalization, onesided)


def complex_to_real(TensorBase x, tuple dim, int64_t normalization, int64_t length, TensorBase out):
    cdef int last = dim[len(dim) - 1]
    lengths = last_lengths(out, dim)
    if out.contiguous and lengths is not None and last == x.ndim - 1:
        table = table_of(fourier.matrix_to_real, lengths, normalization)
        if table is not None:
            return product(x if x.sizes[last] == length // 2 + 1 else x.narrow(last, 0, length // 2 + 1), table, out)
    return fourier.transform_to_real(x, dim, normalization, length)
