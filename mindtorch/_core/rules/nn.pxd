"""Rules of matrix products, convolution, pooling, norms and losses: shapes and errors."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- matrices --------------------------------------------------------------------------------------------------------
# Rules of matrices and Fourier transforms, which op rows name as they name those of infer.pxd and dispatch.pxd.
#
# `op` is the name that messages begin with: "linalg.inv".


# numbers
cdef int64_t num_rows(TensorBase a) except? -1
cdef int64_t num_columns(TensorBase a) except? -1
cdef int64_t min_rows_columns(TensorBase a) except? -1                 # the smaller of both
cdef int64_t if_else(bint condition, int64_t one, int64_t other) except? -1
cdef bint equals(object mode, str name) except? -1
cdef bint differs(object mode, str name) except? -1

# shapes; those of a batch of matrices are its dimensions but the last two
cdef int matrix_shape(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1
cdef int matrix_shape_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1   # else (0,)
cdef int vector_shape(Shape *shape, TensorBase a, int64_t length) except -1
cdef int batch_shape(Shape *shape, TensorBase a) except -1
cdef int linalg_solve(Shape *shape, TensorBase a, TensorBase b, bint left) except -1
cdef int triangular_solve(Shape *shape, TensorBase b, TensorBase a) except -1
# a's matrices in the batch of both
cdef int triangular_solve_coefficient(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1
cdef int baddbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addmv(Shape *shape, TensorBase self, TensorBase mat, TensorBase vec) except -1
cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int outer(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int fft_r2c(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1      # of a real signal
cdef int attention_output(Shape *shape, TensorBase query, TensorBase value) except -1
cdef int attention_softmax_stats(Shape *shape, TensorBase query) except -1     # eight equal numbers for each query
cdef int ctc_loss(Shape *shape, TensorBase log_probs) except -1          # ctc: (time, batch, classes)
cdef int ctc_log_alpha(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1
cdef int fft_c2r(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1    # the last of `dim`

# dtypes
cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *      # the real dtype of a norm
cdef ScalarType norm_operand_dtype(TensorBase self, ScalarType dtype) except *    # what it is computed in

# checks
cdef int check_matrices(TensorBase a, str op) except -1                     # floating or complex, 2 dimensions
cdef int check_square(TensorBase a, str op) except -1                       # the same, and square
cdef int check_lu_pivots(TensorBase lu, TensorBase pivots) except -1        # the same batch
cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1
cdef int check_ldl_pivots(TensorBase factors, TensorBase pivots) except -1
cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1
cdef int check_qr_mode(object mode) except -1                                  # of qr
cdef int check_uplo(object UPLO) except -1
cdef int check_fft_r2c(TensorBase self) except -1                     # real numbers for a Fourier transform
cdef int check_fft_c2c(TensorBase self) except -1
cdef int check_matrix(TensorBase self) except -1
cdef int check_fft_dims(TensorBase self, const Shape *dim) except -1            # of a Fourier transform, one at least
cdef int cdist(Shape *shape, TensorBase x1, TensorBase x2) except -1       # of rows, in the batch of both
cdef int with_batch_of(Shape *shape, TensorBase a, TensorBase other) except -1  # a's matrices in the batch of the other
cdef int pdist(Shape *shape, TensorBase a) except -1                           # of rows, each once
cdef int row_shape(Shape *shape, TensorBase a) except -1                         # of a matrix
cdef int check_cdist(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1
cdef int check_pdist(TensorBase self) except -1
cdef int check_lstm_cell(TensorBase input_gates, TensorBase hidden_gates, TensorBase cx) except -1
cdef int check_lstm_gradients(TensorBase grad_hy, TensorBase grad_cy, TensorBase cx, TensorBase cy,
                              TensorBase workspace) except -1


# --- convolution, pooling, padding, resampling -----------------------------------------------------------------------
# Shapes of what slides over images or changes their size: convolution, pooling, padding. torch's rules and errors.
#
# Rows name these as they name the rules of infer.pxd. Lists have an entry for each dimension of the image.


cdef int convolution(Shape *shape, TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                     const Shape *padding, const Shape *dilation, bint transposed, const Shape *output_padding,
                     int64_t groups) except -1
cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1
cdef int max_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
                  const Shape *dilation, bint ceil_mode) except -1
cdef int avg_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                  const Shape *padding, bint ceil_mode) except -1          # without dilation
cdef int resize_last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1
cdef int pad_shape(Shape *shape, TensorBase self, const Shape *padding) except -1     # pairs, from the last dimension
cdef int pad_strides(Shape *strides, TensorBase self, const Shape *padding) except -1
cdef int check_cut(TensorBase self, const Shape *padding) except -1
cdef int grid_sampler(Shape *shape, TensorBase input, TensorBase grid) except -1  # a place of the grid for each pixel
cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1
cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1
cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1
cdef int check_tensor_kernel_not_integral(ScalarType dtype, str op) except -1
cdef int check_tensor_kernel_real(ScalarType dtype, str op) except -1                        # no bool, complex
cdef int check_upsample(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_antialias(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1
cdef int check_grid_sampler(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode,
                            int64_t padding_mode) except -1
cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1
cdef int check_max_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1
cdef int check_max_unpool3d(const Shape *stride, const Shape *padding) except -1
cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1
cdef int check_adaptive_pool(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_im2col(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                      const Shape *stride) except -1
# The gradient of what a pool has picked, and the places of it: one size, and the planes of what was pooled.
cdef int check_max_pool_backward(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1
cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1


# --- norms -----------------------------------------------------------------------------------------------------------
# Shapes, dtypes and checks of the rows that normalise; rows name them as they do those of infer.pxd.


# shapes
cdef int layer_norm_stats(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1     # 1 in its place
cdef int group_norm_stats(Shape *shape, int64_t samples, int64_t groups) except -1
cdef int vector_of_size(Shape *shape, int64_t size) except -1
cdef int batch_norm_stats(Shape *shape, TensorBase input, bint wanted) except -1     # as many numbers, or none

# dtypes
# That of the first parameter there is, else the input's; parameters may be None.
cdef ScalarType norm_parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept

# checks
# `text` is what stands before the shape where the message tells the input's: "[*, " or "[*".
cdef int check_layer_norm(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1
# The first parameter there is has the input's dtype, and the others have it too; or all are float32, of a 16-bit input.
cdef int check_norm_parameter_dtypes(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                                     TensorBase running_var) except -1
cdef int check_group_norm(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                          int64_t group) except -1
cdef int check_batch_norm(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var, bint training) except -1
cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1


# --- losses ----------------------------------------------------------------------------------------------------------
# Shapes, dtypes and checks of losses and of the activation functions beside them. torch's rules and errors.
#
# Rows name these as they name the rules of infer.pxd. A reduction is 0 for none, 1 for the mean, 2 for the sum.


cdef int elementwise_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
# Weights, which may be None, are spread over the losses, not the losses over them.
cdef int weighted_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, TensorBase pos_weight,
                       int64_t reduction) except -1
cdef int nll_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int nll_loss2d(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
cdef int glu(Shape *shape, TensorBase self, int64_t dim) except -1

cdef ScalarType mse_loss_dtype(TensorBase self, TensorBase target, int64_t reduction) except *

cdef int check_loss_mean_dtype(ScalarType dtype, int64_t reduction) except -1
cdef int check_smooth_l1_beta(double beta) except -1                                        # smooth_l1_loss
cdef int check_kl_div(TensorBase self, TensorBase target) except -1           # kl_div
cdef int check_bce_with_logits(TensorBase self, TensorBase target) except -1  # binary_cross_entropy_with_logits
cdef int check_not_differentiated(TensorBase tensor, str function, str argument) except -1  # what has no derivative
cdef int check_nll_loss_target(TensorBase target) except -1
cdef int check_nll_loss2d(TensorBase self, TensorBase target) except -1
cdef int check_multilabel_margin(TensorBase self, TensorBase target) except -1               # multilabel_margin_loss
cdef int check_glu(TensorBase self, int64_t dim) except -1                     # glu
cdef int check_fake_quantize(TensorBase self, TensorBase scale, TensorBase zero_point, int64_t axis,
                             int64_t quant_min, int64_t quant_max) except -1
cdef int check_celu(const Scalar *alpha) except -1


# --- operators of torch_npu ------------------------------------------------------------------------------------------
# Rules of torch_npu's own operators; rows name them as they name those of infer.pxd.


# shapes
cdef int swiglu(Shape *shape, TensorBase input) except -1                          # gated, of the last dimension
cdef int rms_norm_rstd(Shape *shape, TensorBase input, TensorBase gamma) except -1  # of what gamma's dimensions span
cdef int npu_group_norm_stats(Shape *shape, TensorBase input, int64_t groups) except -1            # of channels
cdef int moe_gating_topk(Shape *shape, TensorBase x, int64_t k) except -1  # k experts for each token
cdef int moe_init_routing(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1
cdef int moe_row_indices(Shape *shape, TensorBase tensor) except -1
cdef int moe_permute(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1
cdef int moe_unpermute(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1
cdef int moe_token_grads(Shape *shape, TensorBase tokens, int64_t rows) except -1
cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1                      # None: (0,)
cdef int npu_fusion_attention(Shape *shape, TensorBase query, TensorBase key, TensorBase value,
                              int64_t head_num) except -1
cdef int npu_attention_softmax_stats(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1

# checks
cdef int check_gamma(TensorBase input, TensorBase gamma) except -1          # RuntimeError: not the last dimensions
cdef int check_rotary_mode(object mode) except -1
cdef int check_not_none(TensorBase tensor, str name) except -1                 # NotImplementedError for None
cdef int check_dropless(const Shape *drop_pad_mode) except -1
cdef int check_not_padded(bint padded_mode) except -1
cdef int check_none(TensorBase tensor, str name) except -1              # NotImplementedError
