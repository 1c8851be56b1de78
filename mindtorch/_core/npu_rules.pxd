"""Rules of torch_npu's own operators; rows name them as they name those of infer.pxd."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int gated_last(Shape *shape, TensorBase input) except -1                          # gated, of the last dimension
cdef int deviations(Shape *shape, TensorBase input, TensorBase gamma) except -1        # of what gamma's dimensions span
cdef int groups_of(Shape *shape, TensorBase input, int64_t groups) except -1            # of channels
cdef int chosen(Shape *shape, TensorBase x, int64_t k) except -1                       # k experts for each token
cdef int routed(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1
cdef int places_of(Shape *shape, TensorBase tensor) except -1
cdef int permuted(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1
cdef int unpermuted(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1
cdef int rows_of_tokens(Shape *shape, TensorBase tokens, int64_t rows) except -1
cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1                      # None: (0,)
cdef int attention_of(Shape *shape, TensorBase query, TensorBase key, TensorBase value, int64_t head_num) except -1
cdef int attention_sums(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1

# checks
cdef int check_gamma(TensorBase input, TensorBase gamma) except -1          # RuntimeError: not the last dimensions
cdef int check_rotary(object mode) except -1
cdef int check_given(TensorBase tensor, str name) except -1                 # NotImplementedError for None
cdef int check_dropless(const Shape *drop_pad_mode) except -1
cdef int check_not_padded(bint padded_mode) except -1
cdef int check_left_out(TensorBase tensor, str name) except -1              # NotImplementedError
