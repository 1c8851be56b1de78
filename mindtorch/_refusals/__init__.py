"""Names of torch that programs may import and mention, and that say why they refuse when they are called.

Functions of the torch namespace and methods of Tensor, by what mindtorch lacks. What is implemented leaves these lists.
"""

_QUANTIZED = "mindtorch has no quantized dtypes. Keep the tensor in a floating-point dtype"
_LIBRARY = "this is for a library of another device. Call the function of torch.nn.functional or torch.linalg"
_STATISTICS = "statistics are not shared between devices here. Call torch.nn.functional.batch_norm"
_NESTED = "mindtorch has no nested tensors. Pad the tensors with torch.nn.utils.rnn.pad_sequence"
_VIEW = "mindtorch has no lazily copied tensors. Call clone()"
_PRIVATE = "this is private to PyTorch, and has no counterpart in mindtorch"
_REMOVED = "torch has removed it. Call the function of torch.linalg: eig, eigvalsh, eigh, lstsq or solve"
_COMPLEX32 = "mindtorch has no dtype torch.complex32. Use torch.complex64"

_FUNCTIONS = {
    _QUANTIZED: """
        choose_qparams_optimized empty_quantized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr
        q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell quantized_lstm_cell
        quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell
        quantized_rnn_tanh_cell""",
    _LIBRARY: """
        cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
        cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler miopen_batch_norm miopen_convolution
        miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
        miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution
        mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer""",
    _STATISTICS: """
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats""",
    _REMOVED: "eig lstsq matrix_rank solve symeig",
    _PRIVATE: "embedding_bag native_norm slice_inverse"}
_METHODS = {
    _QUANTIZED: """
        int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme""",
    _LIBRARY: "to_mkldnn",
    _NESTED: """
        to_padded_tensor _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides""",
    _VIEW: "_lazy_clone",
    _REMOVED: "eig lstsq solve symeig",
    _PRIVATE: """
        index reinforce slice_inverse _addmm_activation _sparse_mask_projection
        _autocast_to_full_precision _autocast_to_reduced_precision _philox_normal_
        _philox_uniform_""",
    _COMPLEX32: "chalf"}


def _refusing(prefix, name, reason):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"{prefix}{name}: {reason}.")
    refuse.__name__, refuse.__doc__, refuse.refuses = name, f"NotImplementedError: {reason}.", True
    refuse.__module__ = "torch_npu" if prefix == "torch_npu." else "torch"
    return refuse


def refusing_functions(prefix, lists):
    """Functions that refuse: names by reason in `lists`, behind `prefix` in the message."""
    return {name: _refusing(prefix, name, reason) for reason, names in lists.items() for name in names.split()}


FUNCTIONS = refusing_functions("torch.", _FUNCTIONS)
METHODS = refusing_functions("Tensor.", _METHODS)
