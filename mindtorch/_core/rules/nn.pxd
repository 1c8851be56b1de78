"""Rules of operators of networks, by the files that nn.pyx includes; docs/rules.md says what each does."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase

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
cdef int check_max_pool_backward(TensorBase grad_output, TensorBase self, TensorBase indices, int dims) except -1

# padding
cdef int pad_shape(Shape *shape, TensorBase self, const Shape *padding) except -1
cdef int pad_strides(Shape *strides, TensorBase self, const Shape *padding) except -1
cdef int check_cut(TensorBase self, const Shape *padding) except -1
cdef int check_pad(TensorBase self, const Shape *padding, bint reflect) except -1

# resampling
cdef int resize_last_dims(Shape *shape, TensorBase self, const Shape *sizes) except -1
cdef int grid_sampler(Shape *shape, TensorBase input, TensorBase grid) except -1
cdef int affine_grid(Shape *shape, TensorBase theta, const Shape *size) except -1
cdef int check_upsample(TensorBase self, const Shape *output_size, str op) except -1
cdef int check_antialias(TensorBase self, const Shape *output_size, str op) except -1
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
cdef int check_bce_with_logits(TensorBase self, TensorBase target) except -1
cdef int check_not_differentiated(TensorBase tensor, str function, str argument) except -1
cdef int check_nll_loss_target(TensorBase target) except -1
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
cdef int check_gamma(TensorBase input, TensorBase gamma) except -1
cdef int check_rotary_mode(object mode) except -1
cdef int check_not_none(TensorBase tensor, str name) except -1
cdef int check_dropless(const Shape *drop_pad_mode) except -1
cdef int check_not_padded(bint padded_mode) except -1
cdef int check_none(TensorBase tensor, str name) except -1
