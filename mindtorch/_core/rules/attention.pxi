# Rules of attention. Tensors are (batch, heads, length, width) unless a layout says otherwise.
from libc.stdint cimport int64_t

from mindtorch._core.rules.infer cimport like
from mindtorch._core.tensor.tensor cimport Shape


cdef int attention_output(Shape *shape, TensorBase query, TensorBase value) except -1:
    """That of `query`, with the last size of `value`."""
    like(shape, query)
    shape.sizes[query.ndim - 1] = value.sizes[value.ndim - 1]
    return 0


cdef int attention_softmax_stats(Shape *shape, TensorBase query) except -1:
    """That of `query`, with 8 equal numbers for each row of the scores."""
    like(shape, query)
    shape.sizes[query.ndim - 1] = 8
    return 0


cdef int npu_fusion_attention(Shape *shape, TensorBase query, TensorBase key, TensorBase value,
                              int64_t head_num) except -1:
    """That of `query`, with the width of the values."""
    cdef int last = query.ndim - 1
    cdef int64_t shared
    like(shape, query)
    if not query.ndim == key.ndim == value.ndim or head_num <= 0:
        raise RuntimeError(f"attention of {query.ndim}, {key.ndim} and {value.ndim} dimensions with {head_num} heads")
    if query.ndim == 4:
        shape.sizes[last] = value.sizes[last]
    elif query.sizes[last] // head_num:     # heads side by side: value has as many as key, which is as wide as query
        shared = key.sizes[last] // (query.sizes[last] // head_num)
        shape.sizes[last] = head_num * (value.sizes[last] // shared) if shared else 0
    return 0


cdef int npu_attention_softmax_stats(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1:
    """(batch, heads, length, 8), found in the query by its layout."""
    cdef int batch = 1 if layout == "SBH" else 0
    cdef int length = {"BNSD": 2, "SBH": 0}.get(layout, 1)
    shape.ndim = 4
    shape.sizes[0] = query.sizes[batch]
    shape.sizes[1] = head_num
    shape.sizes[2] = query.sizes[length]
    shape.sizes[3] = 8
    return 0
