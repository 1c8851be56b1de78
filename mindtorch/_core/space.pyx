"""One block of memory for all tensors of a formula in Cython, and views of them: space.pxd."""
from libc.string cimport memcmp

from mindtorch._core._gen.kernels cimport KERNELS
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport Bool, Int, Long
from mindtorch._core.tensor cimport allocate, make_plain, make_view

cdef enum:
    LINE = 512          # bytes: where each tensor of a Space begins
    TENSORS = 16        # so many of them have room for what is lost between them
    DIMS = 8            # of ACLNN's tensors

MOST = 1 << 24          # numbers in a table
cdef int64_t most = MOST


cdef int shape_of(Shape *shape, TensorBase x) except -1:
    cdef int i
    shape.ndim = x.ndim
    for i in range(x.ndim):
        shape.sizes[i] = x.sizes[i]
    return 0


cdef class Space:

    cdef TensorBase cut(self, Shape *shape, int width, ScalarType dtype):
        cdef size_t begin = self.used
        cdef size_t size = ITEMSIZE[<int>dtype]
        self.left -= width
        self.used += (self.like.numel * width * size + LINE - 1) // LINE * LINE
        if self.left < 0 or self.used > self.storage.nbytes:
            raise RuntimeError("a formula has asked for less memory than it takes")
        return make_plain(self.storage, dtype, shape.ndim, shape.sizes, NULL, begin // size)

    cdef TensorBase room(self):
        cdef Shape shape
        shape_of(&shape, self.like)
        return self.cut(&shape, 1, self.like.dtype)

    cdef TensorBase truth(self):
        cdef Shape shape
        shape_of(&shape, self.like)
        return self.cut(&shape, 1, Bool)

    cdef TensorBase table(self, TensorBase row):
        cdef Shape shape
        shape_of(&shape, self.like)
        shape.sizes[shape.ndim] = row.numel
        shape.ndim += 1
        return self.cut(&shape, row.numel, self.like.dtype)


cdef Space space_for(TensorBase like, int numbers):
    cdef Space space = Space.__new__(Space)
    cdef int64_t lost = TENSORS * LINE // ITEMSIZE[<int>like.dtype]
    space.like = like
    space.left = numbers
    space.storage = allocate(like.numel * numbers + lost, like.dtype, like.device_type, like.device_index)
    return space


cpdef bint fits(TensorBase out, int64_t width):
    return out.numel * width <= most and out.ndim < DIMS


cdef bint same_sizes(TensorBase a, TensorBase b):
    return a.ndim == b.ndim and memcmp(a.sizes, b.sizes, a.ndim * sizeof(int64_t)) == 0


cdef TensorBase spread(TensorBase x, TensorBase out):
    cdef Shape strides
    cdef int i, less = out.ndim - x.ndim
    if x.device_type != out.device_type:
        x = x.to((<object>out).device)
    if same_sizes(x, out):
        return x
    for i in range(out.ndim):
        strides.sizes[i] = 0 if i < less or x.sizes[i - less] == 1 else x.strides[i - less]
    return make_view(x, out.ndim, out.sizes, strides.sizes, x.offset)


cdef TensorBase upright(TensorBase x):
    return inserted(x, x.ndim)


cdef TensorBase inserted(TensorBase x, int dim):
    cdef Shape shape
    cdef Shape strides
    cdef int i
    for i in range(x.ndim):
        shape.sizes[i + (i >= dim)] = x.sizes[i]
        strides.sizes[i + (i >= dim)] = x.strides[i]
    shape.sizes[dim] = 1
    strides.sizes[dim] = 1
    return make_plain(x.storage, x.dtype, x.ndim + 1, shape.sizes, strides.sizes, x.offset)


cdef TensorBase part(TensorBase x, int dim, int64_t first, int64_t count):
    cdef Shape shape
    shape_of(&shape, x)
    shape.sizes[dim] = count
    return make_plain(x.storage, x.dtype, x.ndim, shape.sizes, x.strides, x.offset + first * x.strides[dim])


cdef TensorBase integers(TensorBase x):
    cdef ScalarType dtype = Long if ITEMSIZE[<int>x.dtype] == 8 else Int
    return make_plain(x.storage, dtype, x.ndim, x.sizes, x.strides, x.offset)


cdef TensorBase columns(TensorBase table, int64_t first, int64_t count):
    return part(table, table.ndim - 1, first, count)


cdef TensorBase first_of(TensorBase table):
    return make_plain(table.storage, table.dtype, table.ndim - 1, table.sizes, table.strides, table.offset)


cdef int total(TensorBase table, TensorBase out) except -1:
    cdef Shape last
    last.ndim = 1
    last.sizes[0] = table.ndim - 1
    return KERNELS[out.device_type].sum_dim_IntList(table, &last, False, out.dtype, out)
