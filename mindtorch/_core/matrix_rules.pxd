"""Rules of matrices and Fourier transforms, which op rows name as they name those of infer.pxd and dispatch.pxd.

`op` is the name that messages begin with: "linalg.inv".
"""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# numbers
cdef int64_t rows_of(TensorBase a) except? -1
cdef int64_t columns_of(TensorBase a) except? -1
cdef int64_t least_of(TensorBase a) except? -1                 # the smaller of both
cdef int64_t pick(bint condition, int64_t one, int64_t other) except? -1
cdef bint equals(object mode, str name) except? -1
cdef bint differs(object mode, str name) except? -1

# shapes; those of a batch of matrices are its dimensions but the last two
cdef int matrices(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1
cdef int matrices_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1   # else (0,)
cdef int vectors(Shape *shape, TensorBase a, int64_t length) except -1
cdef int batch(Shape *shape, TensorBase a) except -1
cdef int solution(Shape *shape, TensorBase a, TensorBase b, bint left) except -1
cdef int triangular(Shape *shape, TensorBase b, TensorBase a) except -1
cdef int square_batch(Shape *shape, TensorBase a, TensorBase b) except -1   # a's matrices in the batch of both
cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1
cdef int baddbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addmv(Shape *shape, TensorBase self, TensorBase mat, TensorBase vec) except -1
cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int outer(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int halved(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1      # of a real signal
cdef int attended(Shape *shape, TensorBase query, TensorBase value) except -1
cdef int attention_statistics(Shape *shape, TensorBase query) except -1     # eight equal numbers for each query
cdef int losses_of_paths(Shape *shape, TensorBase log_probs) except -1          # ctc: (time, batch, classes)
cdef int scores_of_paths(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1
cdef int resized(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1    # the last of `dim`

# dtypes
cdef ScalarType complex_dtype(ScalarType dtype) except *
cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *      # the real dtype of a norm
cdef ScalarType norm_operand(TensorBase self, ScalarType dtype) except *    # what it is computed in

# checks
cdef int check_matrices(TensorBase a, str op) except -1                     # floating or complex, 2 dimensions
cdef int check_square(TensorBase a, str op) except -1                       # the same, and square
cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1
cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1
cdef int check_mode(object mode) except -1                                  # of qr
cdef int check_triangle(object UPLO) except -1
cdef int check_transformable(TensorBase self) except -1                     # real numbers for a Fourier transform
cdef int check_complex(TensorBase self) except -1
cdef int check_matrix(TensorBase self) except -1
cdef int check_axes(TensorBase self, const Shape *dim) except -1            # of a Fourier transform, one at least
cdef int distances(Shape *shape, TensorBase x1, TensorBase x2) except -1       # of rows, in the batch of both
cdef int in_batch(Shape *shape, TensorBase a, TensorBase other) except -1      # a's matrices in the batch of the other
cdef int pairs(Shape *shape, TensorBase a) except -1                           # of rows, each once
cdef int one_row(Shape *shape, TensorBase a) except -1                         # of a matrix
cdef int check_distances(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1
cdef int check_pairs(TensorBase self) except -1
cdef int check_lstm_cell(TensorBase input_gates, TensorBase hidden_gates, TensorBase cx) except -1
cdef int check_lstm_gradients(TensorBase grad_hy, TensorBase grad_cy, TensorBase cx, TensorBase cy,
                              TensorBase workspace) except -1
