"""Names of torch_npu's operators that mindtorch lacks. Calling one says what is missing, and what to do instead."""
from mindtorch._refusals import refusing_functions as _refusing_functions

_COMMUNICATION = "mindtorch computes and communicates in separate operators. Call torch.matmul and torch.distributed"
_FLOAT_STATUS = "only the first Ascend 910 has an overflow flag. Call torch.isfinite"
_OPTIMIZER = "mindtorch steps by operators of its own. Call torch.optim.Adam or AdamW with fused=True"
_BACKWARD = "mindtorch derives operators itself. Call the operator that it belongs to, and backward() of its result"
_RECURRENT = "mindtorch has recurrent layers under torch's names alone. Call torch.nn.LSTM or torch.nn.GRU"
_BOXES = "mindtorch has of boxes npu_iou alone. Call torchvision.ops, or write it with torch's operators"
_CACHE = "mindtorch has no paged caches of keys and values. Write rows with npu_scatter_nd_update_"
_ATTENTION = (
    "mindtorch has of fused attention npu_fusion_attention and torch's own. Call one of them, or write it "
    "with torch's operators")
_QUANTIZED = (
    "mindtorch has of quantization npu_quantize, npu_dynamic_quant, npu_quant_matmul, npu_grouped_matmul, "
    "npu_weight_quant_batchmatmul and npu_add_rms_norm_quant. Call one of them, or compute in float16 or "
    "bfloat16")
_EXPERTS = (
    "mindtorch routes tokens to experts by npu_moe_init_routing_v2, npu_moe_token_permute and "
    "npu_moe_token_unpermute. Call these")
_FUSED = "mindtorch has no fused operator of this kind. Write it with torch's operators"

LISTS = {
    _COMMUNICATION: """
        npu_all_gather_base_mm npu_all_gather_quant_mm npu_all_to_all_matmul npu_all_to_all_quant_matmul
        npu_alltoallv_gmm npu_alltoallv_quant_gmm npu_attention_to_ffn npu_attention_worker_combine
        npu_ffn_to_attention npu_ffn_worker_batching npu_gmm_alltoallv npu_matmul_all_to_all
        npu_mm_all_reduce_base npu_mm_reduce_scatter_base npu_moe_distribute_combine
        npu_moe_distribute_combine_add_rms_norm npu_moe_distribute_combine_v2 npu_moe_distribute_dispatch
        npu_moe_distribute_dispatch_v2 npu_moe_update_expert npu_quant_gmm_alltoallv
        npu_quant_matmul_all_to_all npu_quant_mm_reduce_scatter""",
    _FLOAT_STATUS: """
        npu_alloc_float_status npu_clear_float_status npu_get_float_status""",
    _OPTIMIZER: """
        npu_apply_adam npu_apply_adam_w npu_bert_apply_adam""",
    _BACKWARD: """
        npu_attn_softmax_backward_ npu_binary_cross_entropy_with_logits_backward
        npu_block_sparse_attention_backward npu_bmm_v2_mat1_backward npu_bmm_v2_mat2_backward
        npu_ciou_backward npu_confusion_transpose_backward npu_conv2d_backward npu_conv3d_backward
        npu_conv_transpose2d_backward npu_conv_transpose3d_backward npu_convolution_backward
        npu_convolution_transpose_backward npu_cross_entropy_loss_backward npu_deformable_conv2dbk
        npu_dense_lightning_indexer_grad_kl_loss npu_diou_backward npu_dropout_backward
        npu_dropout_with_add_softmax_backward npu_fused_attention_qkv_grad
        npu_fused_attention_score_backward npu_fused_attention_score_grad npu_fused_floyd_attention_backward
        npu_fused_linear_cross_entropy_loss_with_max_sum_backward npu_fusion_attention_grad_v2
        npu_fusion_attention_grad_v3 npu_gather_backward npu_gather_sparse_index_backward npu_giou_backward
        npu_group_norm_swish_grad npu_gru_backward npu_layernorm_grad npu_lightning_indexer_grad
        npu_lstm_backward npu_lstm_cell_backward npu_lstm_data_backward npu_masked_causal_conv1d_backward
        npu_max_backward npu_mhc_post_backward npu_mhc_pre_backward npu_mhc_sinkhorn_backward
        npu_min_backward npu_moe_gating_top_k_backward npu_moe_token_permute_with_routing_map_grad
        npu_moe_token_unpermute_grad_v2 npu_moe_token_unpermute_with_routing_map_grad
        npu_multi_head_attention_backward npu_nsa_compress_grad npu_nsa_select_attention_grad
        npu_ps_roi_pooling_backward npu_quant_fusion_attention_backward npu_renorm_backward npu_roi_alignbk
        npu_softmax_cross_entropy_with_logits_backward npu_sparse_flash_attention_grad
        npu_sparse_lightning_indexer_grad_kl_loss npu_swiglu_group_quant_backward""",
    _RECURRENT: """
        npu_gru npu_lstm npu_lstm_cell npu_lstm_data""",
    _BOXES: """
        npu_anchor_response_flags npu_batch_nms npu_bounding_box_decode npu_bounding_box_encode npu_ciou
        npu_deformable_conv2d npu_diou npu_giou npu_grid_assign_positive npu_nms_rotated npu_nms_v4
        npu_nms_with_mask npu_ps_roi_pooling npu_ptiou npu_random_choice_with_mask npu_roi_align
        npu_rotated_box_decode npu_rotated_box_encode npu_rotated_iou npu_rotated_overlaps npu_sub_sample
        npu_yolo_boxes_encode""",
    _CACHE: """
        npu_advance_step_flashattn npu_dequant_rope_quant_kvcache npu_gather_pa_kv_cache
        npu_gather_pa_kv_cache_functional npu_kv_rmsnorm_rope_cache npu_kv_rmsnorm_rope_cache_v2
        npu_kv_rmsnorm_rope_cache_v2_functional npu_prefetch npu_qkv_rms_norm_rope_cache
        npu_qkv_rms_norm_rope_cache_functional npu_rope_quant_kvcache npu_scatter_list npu_scatter_list_
        npu_scatter_pa_cache npu_scatter_pa_kv_cache npu_scatter_pa_kv_cache_functional""",
    _ATTENTION: """
        npu_attention_update npu_attn_softmax_ npu_block_sparse_attention npu_chunk_gated_delta_rule
        npu_dense_lightning_indexer_softmax_lse npu_fused_attention_layernorm_qkv_fwd
        npu_fused_attention_score npu_fused_attention_score_fwd npu_fused_causal_conv1d
        npu_fused_causal_conv1d_v2 npu_fused_floyd_attention npu_fused_infer_attention_score_v2
        npu_fusion_attention_v2 npu_fusion_attention_v3 npu_kv_quant_sparse_flash_attention
        npu_lightning_indexer npu_masked_causal_conv1d npu_mla_prolog npu_mla_prolog_v2 npu_mla_prolog_v3
        npu_mla_prolog_v3_functional npu_multi_head_attention npu_nsa_compress npu_nsa_compress_attention
        npu_nsa_compress_attention_infer npu_nsa_compress_infer npu_nsa_select_attention
        npu_nsa_select_attention_infer npu_quant_fusion_attention npu_quant_lightning_indexer
        npu_recurrent_gated_delta_rule npu_recurrent_gated_delta_rule_functional npu_ring_attention_update
        npu_sparse_flash_attention""",
    _QUANTIZED: """
        npu_add_quant_gmm npu_add_quant_gmm_ npu_add_quant_matmul npu_add_quant_matmul_
        npu_add_rms_norm_dynamic_mx_quant npu_add_rms_norm_dynamic_quant npu_add_rms_norm_v2
        npu_add_rms_norm_v2_functional npu_anti_mx_quant npu_anti_quant npu_batch_gather_matmul
        npu_batch_gather_matmul_ npu_convert_weight_to_int4pack npu_dequant_bias npu_dequant_swiglu_quant
        npu_dual_level_quant_matmul npu_dynamic_block_mx_quant npu_dynamic_block_quant
        npu_dynamic_dual_level_mx_quant npu_dynamic_mx_quant npu_dynamic_mx_quant_with_dual_axis
        npu_dynamic_quant_asymmetric npu_gelu_quant npu_group_quant npu_grouped_dynamic_block_quant
        npu_grouped_dynamic_mx_quant npu_grouped_matmul_add npu_grouped_matmul_add_
        npu_grouped_matmul_finalize_routing npu_grouped_matmul_swiglu_quant
        npu_grouped_matmul_swiglu_quant_v2 npu_ifmr npu_kronecker_quant npu_matmul_compress_dequant
        npu_moe_init_routing_quant npu_quant_conv2d npu_quant_grouped_matmul_dequant
        npu_quant_matmul_dequant npu_quant_matmul_gelu npu_quant_matmul_reduce_sum npu_quant_max
        npu_quant_scatter npu_quant_scatter_ npu_rms_norm_dynamic_mx_quant npu_rms_norm_quant
        npu_rms_norm_quant_v2 npu_rotate_quant npu_swiglu_group_quant npu_swiglu_mx_quant
        npu_swiglu_mx_quant_with_dual_axis npu_swiglu_quant npu_transpose_quant_batchmatmul
        npu_weight_quant_preprocess""",
    _EXPERTS: """
        npu_moe_gating_top_k_softmax_v2 npu_moe_re_routing npu_moe_token_permute_with_routing_map
        npu_moe_token_unpermute_with_routing_map""",
    _FUSED: """
        npu_add_rms_norm_cast npu_change_data_ptr npu_clipped_swiglu npu_cross_entropy_loss
        npu_dropout_do_mask npu_dropout_gen_mask npu_dropout_with_add_softmax npu_ffn
        npu_fused_cross_entropy_loss_with_max_sum npu_fused_linear_online_max_sum npu_fused_matmul
        npu_gather_sparse_index npu_group_norm_swish npu_hans_decode npu_hans_encode npu_indexing
        npu_interleave_rope npu_masked_fill_range npu_masked_softmax_with_rel_pos_bias npu_mhc_post
        npu_mhc_pre npu_mhc_sinkhorn npu_mrope npu_normalize_batch npu_scatter npu_sign_bits_pack
        npu_sign_bits_unpack npu_sim_exponential_ npu_stride_add npu_stride_copy npu_top_k_top_p_sample
        npu_transpose_batchmatmul"""}

FUNCTIONS = _refusing_functions("torch_npu.", LISTS)
__all__ = list(FUNCTIONS)
globals().update(FUNCTIONS)
