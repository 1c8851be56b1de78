"""Rules of operators, by the files that rules.pyx includes; docs/rules.md says what each does."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase

# Numbers that the host reads, and waits for: they decide a size or a choice of kernels. `x` must not be empty.
cdef int64_t read_sum(TensorBase x) except? -1
cdef int read_min_max(TensorBase x, int64_t *least, int64_t *most) except -1  # one copy for both

# reductions
cdef int bincount(Shape *shape, TensorBase self, int64_t minlength) except -1
cdef int histogram(Shape *shape, int64_t bins) except -1
cdef ScalarType bincount_dtype(TensorBase self, TensorBase weights) except *
cdef ScalarType nansum_operand_dtype(TensorBase self, ScalarType dtype) except *
cdef int check_variance(ScalarType dtype, str name) except -1
cdef int check_cumulative_not_bool(TensorBase self, ScalarType dtype, str op) except -1
cdef int check_cumulative_not_complex(TensorBase self, str op) except -1
cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1
cdef int check_out_logsumexp(TensorBase out) except -1
cdef int check_aminmax(TensorBase self, const Shape *dim) except -1
cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1
cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1
cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1
cdef int check_out_histogram(TensorBase out, TensorBase self) except -1

# sorting
cdef int resize_dim(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1
cdef int like_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1
cdef int vector_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1
cdef int dim_vector_if_wanted(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1
cdef int unique_consecutive(Shape *shape, TensorBase self, const Shape *dim) except -1
cdef int unique_consecutive_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
cdef int unique_consecutive_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
cdef ScalarType index_dtype(bint out_int32) except *
cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1
cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_kthvalue(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1
cdef int check_out_indices(TensorBase out, str name) except -1
cdef int check_searchsorted(TensorBase sequence, TensorBase values, bint right, object side,
                            TensorBase sorter) except -1
cdef int check_out_searchsorted(TensorBase out, bint out_int32) except -1
cdef int check_unique(ScalarType dtype) except -1
cdef int check_unique_dim(TensorBase self, int64_t dim) except -1
cdef int check_unique_consecutive(TensorBase self, const Shape *dim) except -1

# rearrangements
cdef int repeat_shape(Shape *shape, TensorBase self, const Shape *repeats) except -1
cdef int repeat_interleave_int(Shape *shape, TensorBase self, int64_t repeats, const Shape *dim,
                               const Shape *output_size) except -1
cdef int repeat_interleave(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                           const Shape *output_size) except -1
cdef int repeat_interleave_indices(Shape *shape, TensorBase repeats, const Shape *output_size) except -1
cdef int check_flip(TensorBase self, const Shape *dims) except -1
cdef int check_roll(TensorBase self, const Shape *shifts, const Shape *dims) except -1
cdef int check_repeat_interleave(TensorBase self, TensorBase repeats, const Shape *dim) except -1
cdef int check_repeat_vector(TensorBase repeats) except -1
cdef int check_channel_shuffle(TensorBase self, int64_t groups) except -1

# indexing
cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1
cdef int index_strides(Shape *strides, TensorBase self, list indices) except -1
cdef int index_shape(Shape *shape, TensorBase self, list indices) except -1
cdef int broadcast_numel(Shape *shape, TensorBase self, TensorBase mask) except -1
cdef int nonzero_shape(Shape *shape, TensorBase self) except -1
cdef int nonzero_strides(Shape *strides, TensorBase self) except -1
cdef int one_hot(Shape *shape, TensorBase self, int64_t num_classes) except -1
# Where the dimensions that indices make begin in the result, how many they are, and their sizes.
cdef int index_dims(Shape *shape, TensorBase self, list indices, int *place) except -1
cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_scatter(TensorBase self, int64_t dim, TensorBase index, TensorBase src) except -1
cdef int check_no_overlap_with(TensorBase written, list operands) except -1
cdef int check_scatter_mode(object reduce) except -1
cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1
cdef int check_index_select(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_indices_of_nothing(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_copy(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_index_fill_value(ScalarType dtype, ScalarType index, const Scalar *value) except -1
cdef int check_index_fill_tensor(ScalarType dtype, ScalarType index, TensorBase value) except -1
cdef int check_take(TensorBase self, TensorBase index) except -1
cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1
cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1
cdef int check_masked_select(ScalarType dtype) except -1
cdef int check_one_hot(TensorBase self, int64_t num_classes) except -1
cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1
cdef int check_value_on_host(TensorBase self, TensorBase value) except -1
cdef int check_masked_fill(ScalarType dtype) except -1
cdef int check_masked_fill_tensor(TensorBase self, ScalarType mask, TensorBase value) except -1

# random
cdef int check_uniform(TensorBase self, double low, double high) except -1
cdef int check_normal(TensorBase self, double std) except -1
cdef int check_bernoulli(TensorBase self, double p) except -1
cdef int check_bernoulli_dtype(ScalarType dtype) except -1
cdef int check_bernoulli_tensor(TensorBase self, TensorBase p) except -1
cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1
cdef int check_random_full_range(TensorBase self) except -1
cdef int check_exponential(TensorBase self, double rate) except -1
cdef int check_geometric(TensorBase self, double p) except -1
cdef int check_cauchy(TensorBase self, double sigma) except -1
cdef int check_log_normal(TensorBase self, double std) except -1
cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1
cdef int check_poisson(ScalarType dtype) except -1
cdef int check_binomial(TensorBase count, TensorBase prob) except -1
cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1
cdef int check_dropout(TensorBase input, double p) except -1
cdef int dropout_mask(Shape *shape, TensorBase input) except -1
cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1

# linalg
cdef int check_triangular(TensorBase self, str op) except -1
cdef int check_trace(TensorBase self) except -1
cdef int64_t num_rows(TensorBase a) except? -1
cdef int64_t num_columns(TensorBase a) except? -1
cdef int64_t min_rows_columns(TensorBase a) except? -1
cdef int64_t if_else(bint condition, int64_t one, int64_t other) except? -1
cdef bint equals(object mode, str name) except? -1
cdef bint differs(object mode, str name) except? -1
cdef int matrix_shape(Shape *shape, TensorBase a, int64_t rows, int64_t columns) except -1
cdef int matrix_shape_if(Shape *shape, bint wanted, TensorBase a, int64_t rows, int64_t columns) except -1
cdef int by_columns(Shape *strides, bint wanted) except -1
cdef int vector_shape(Shape *shape, TensorBase a, int64_t length) except -1
cdef int batch_shape(Shape *shape, TensorBase a) except -1
cdef int linalg_solve(Shape *shape, TensorBase a, TensorBase b, bint left) except -1
cdef int triangular_solve(Shape *shape, TensorBase b, TensorBase a) except -1
cdef int triangular_solve_coefficient(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int cross(Shape *shape, TensorBase a, TensorBase b, int64_t dim) except -1
cdef int baddbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addbmm(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int addmv(Shape *shape, TensorBase self, TensorBase mat, TensorBase vec) except -1
cdef int addr(Shape *shape, TensorBase self, TensorBase a, TensorBase b) except -1
cdef int outer(Shape *shape, TensorBase a, TensorBase b) except -1
cdef ScalarType norm_dtype(TensorBase self, ScalarType dtype) except *
cdef ScalarType norm_operand_dtype(TensorBase self, ScalarType dtype) except *
cdef int check_matrices(TensorBase a, str op) except -1
cdef int check_square(TensorBase a, str op) except -1
cdef int check_cholesky_solve(TensorBase b, TensorBase factor) except -1
cdef int check_lu_pivots(TensorBase lu, TensorBase pivots, bint unpack_pivots) except -1
cdef int check_one_dtype(TensorBase a, TensorBase b, str op) except -1
cdef int check_ldl_solve(TensorBase factors, TensorBase pivots, TensorBase B) except -1
cdef int check_norm(TensorBase self, const Scalar *ord, const Shape *dim, ScalarType dtype) except -1
cdef int check_qr_mode(object mode) except -1
cdef int check_uplo(object UPLO) except -1
cdef int check_matrix(TensorBase self) except -1

# fft
cdef int fft_r2c(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1
cdef int fft_c2r(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1
cdef int check_fft_r2c(TensorBase self) except -1
cdef int check_fft_c2c(TensorBase self) except -1
cdef int check_fft_dims(TensorBase self, const Shape *dim) except -1

# distances
cdef int cdist(Shape *shape, TensorBase x1, TensorBase x2) except -1
cdef int with_batch_of(Shape *shape, TensorBase a, TensorBase other) except -1
cdef int pdist(Shape *shape, TensorBase a) except -1
cdef int row_shape(Shape *shape, TensorBase a) except -1
cdef int check_cdist(TensorBase x1, TensorBase x2, double p, const Shape *compute_mode) except -1
cdef int check_pdist(TensorBase self) except -1

# convolution
cdef int convolution(Shape *shape, TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                     const Shape *padding, const Shape *dilation, bint transposed, const Shape *output_padding,
                     int64_t groups) except -1
cdef int check_convolution(TensorBase input, TensorBase weight, TensorBase bias, const Shape *stride,
                           const Shape *padding, const Shape *dilation, const Shape *output_padding,
                           int64_t groups) except -1
cdef int im2col(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                const Shape *stride) except -1
cdef int col2im(Shape *shape, TensorBase self, const Shape *output_size, const Shape *kernel_size) except -1
cdef int check_im2col(const Shape *kernel_size, const Shape *dilation, const Shape *padding,
                      const Shape *stride) except -1
cdef int check_col2im(TensorBase self, const Shape *output_size, const Shape *kernel_size, const Shape *dilation,
                      const Shape *padding, const Shape *stride) except -1

# pooling
cdef int max_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride, const Shape *padding,
                  const Shape *dilation, bint ceil_mode) except -1
cdef int avg_pool(Shape *shape, TensorBase self, const Shape *kernel_size, const Shape *stride,
                  const Shape *padding, bint ceil_mode) except -1
cdef int check_max_unpool(TensorBase self, TensorBase indices, const Shape *output_size) except -1
cdef int check_max_unpool3d(const Shape *stride, const Shape *padding) except -1
cdef int check_adaptive_pool(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_adaptive_pool_gradient(TensorBase grad_output, str op) except -1
cdef int check_max_pool_backward(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1

# padding
cdef int pad_shape(Shape *shape, TensorBase self, const Shape *padding) except -1
cdef int pad_strides(Shape *strides, TensorBase self, const Shape *padding) except -1
cdef int check_constant_pad(TensorBase self, const Shape *padding, const Scalar *value) except -1
cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1

# resampling
cdef int resize_last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1
cdef int grid_sampler(Shape *shape, TensorBase input, TensorBase grid) except -1
cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1
cdef int check_upsample(TensorBase self, const Shape *output_size, str kernel) except -1
cdef int check_antialias(TensorBase self, const Shape *output_size, str kernel) except -1
cdef int check_upsample_backward(TensorBase grad_output, const Shape *output_size, str op) except -1
cdef int check_grid_sampler(TensorBase input, TensorBase grid, int dims, int64_t interpolation_mode,
                            int64_t padding_mode) except -1
cdef int check_affine_grid(TensorBase theta, const Shape *size) except -1

# normalization
cdef int layer_norm_stats(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1
cdef int batch_norm_stats(Shape *shape, TensorBase input, bint wanted) except -1
cdef ScalarType norm_parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept
cdef int check_layer_norm(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1
cdef int check_norm_parameter_dtypes(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                                     TensorBase running_var) except -1
cdef int check_group_norm(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                          int64_t group) except -1
cdef int check_batch_norm(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var, bint training) except -1
cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1

# activations
cdef int glu(Shape *shape, TensorBase self, int64_t dim) except -1
cdef int check_glu(TensorBase self, int64_t dim) except -1
cdef int check_fake_quantize(TensorBase self, TensorBase scale, TensorBase zero_point, int64_t axis,
                             int64_t quant_min, int64_t quant_max) except -1
cdef int check_celu(const Scalar *alpha) except -1
cdef int swiglu(Shape *shape, TensorBase input) except -1

# losses
cdef int ctc_loss(Shape *shape, TensorBase log_probs) except -1
cdef int ctc_log_alpha(Shape *shape, TensorBase log_probs, const Shape *target_lengths) except -1
cdef int elementwise_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
cdef int weighted_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, TensorBase pos_weight,
                       int64_t reduction) except -1
cdef int nll_loss(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int nll_loss2d(Shape *shape, TensorBase self, TensorBase target, TensorBase weight, int64_t reduction) except -1
cdef int multilabel_loss(Shape *shape, TensorBase self, TensorBase target, int64_t reduction) except -1
cdef ScalarType mse_loss_dtype(TensorBase self, TensorBase target, int64_t reduction) except *
cdef int check_loss_mean_dtype(ScalarType dtype, int64_t reduction) except -1
cdef int check_smooth_l1_beta(double beta) except -1
cdef int check_kl_div(TensorBase self, TensorBase target) except -1
cdef int check_bce_with_logits(TensorBase self, TensorBase target, TensorBase pos_weight) except -1
cdef int check_expands_to(TensorBase tensor, TensorBase other) except -1
cdef int check_not_differentiated(TensorBase tensor, str function, str argument) except -1
cdef int check_out_not_differentiated(TensorBase out, str op) except -1
cdef int check_nll_loss_dtypes(TensorBase self, TensorBase target, TensorBase weight) except -1
cdef int check_nll_loss2d(TensorBase self, TensorBase target) except -1
cdef int check_multilabel_margin(TensorBase self, TensorBase target) except -1

# recurrent
cdef int check_lstm_cell(TensorBase input_gates, TensorBase hidden_gates, TensorBase cx) except -1
cdef int check_lstm_gradients(TensorBase grad_hy, TensorBase grad_cy, TensorBase cx, TensorBase cy,
                              TensorBase workspace) except -1

# attention
cdef int attention_output(Shape *shape, TensorBase query, TensorBase value) except -1
cdef int attention_softmax_stats(Shape *shape, TensorBase query) except -1
cdef int npu_fusion_attention(Shape *shape, TensorBase query, TensorBase key, TensorBase value,
                              int64_t head_num) except -1
cdef int npu_attention_softmax_stats(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1

# torch_npu
cdef int rms_norm_rstd(Shape *shape, TensorBase input, TensorBase gamma) except -1
cdef int npu_group_norm_stats(Shape *shape, TensorBase input, int64_t groups) except -1
cdef int moe_gating_topk(Shape *shape, TensorBase x, int64_t k) except -1
cdef int moe_init_routing(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1
cdef int moe_row_indices(Shape *shape, TensorBase tensor) except -1
cdef int moe_permute(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1
cdef int moe_unpermute(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1
cdef int moe_token_grads(Shape *shape, TensorBase tokens, int64_t rows) except -1
cdef int npu_vector(Shape *shape, int64_t size) except -1
cdef int npu_grouped_rows(Shape *shape, TensorBase x, TensorBase weight) except -1
cdef int npu_grouped_columns(Shape *shape, TensorBase x, TensorBase weight, TensorBase group_list) except -1
cdef int npu_expanded_rows(Shape *shape, TensorBase x, TensorBase expert_idx) except -1
cdef int npu_expert_counts(Shape *shape, int64_t expert_num, const Shape *active, int64_t count_type) except -1
cdef int box_pairs(Shape *shape, TensorBase boxes, TensorBase others) except -1
cdef int token_scales(Shape *shape, TensorBase tokens) except -1
cdef int check_gamma(TensorBase input, TensorBase gamma) except -1
cdef int check_rotary_mode(object mode) except -1
cdef int check_not_none(TensorBase tensor, str name) except -1
cdef int check_dropless(const Shape *drop_pad_mode) except -1
cdef int check_not_padded(bint padded_mode) except -1
cdef int check_none(TensorBase tensor, str name) except -1
cdef int check_dynamic_quant(ScalarType dst_type, object quant_mode, double dst_type_max) except -1
