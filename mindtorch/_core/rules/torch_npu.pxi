# Rules of torch_npu's own operators.
from libc.stdint cimport int64_t

from mindtorch._core.rules.infer cimport like, matrix_of_sizes
from mindtorch._core.tensor.dtype cimport Char, ScalarType, Undefined, dtype_name
from mindtorch._core.tensor.tensor cimport Shape, shape_text


cdef int rms_norm_rstd(Shape *shape, TensorBase input, TensorBase gamma) except -1:
    """That of the input, with 1 in place of the dimensions that gamma has."""
    cdef int i
    like(shape, input)
    for i in range(input.ndim - gamma.ndim, input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int npu_group_norm_stats(Shape *shape, TensorBase input, int64_t groups) except -1:
    """(batch, groups); the groups must divide the channels."""
    if input.ndim < 2 or groups <= 0 or input.sizes[1] % groups:
        raise RuntimeError(f"{groups} groups of channels in a tensor of shape {shape_text(input.ndim, input.sizes)}: "
                           "expected a divisor of its second dimension")
    return matrix_of_sizes(shape, input.sizes[0], groups)


cdef int require_matrix(TensorBase tensor, str name) except -1:
    if tensor.ndim != 2:
        raise RuntimeError(f"{name} has {tensor.ndim} dimensions, expected 2")
    return 0


cdef int moe_gating_topk(Shape *shape, TensorBase x, int64_t k) except -1:
    """That of the scores, with `k` experts for each token."""
    like(shape, x)
    if not 2 <= x.ndim <= 3 or not 1 <= k <= x.sizes[x.ndim - 1]:
        raise RuntimeError(f"{k} experts of scores of shape {shape_text(x.ndim, x.sizes)}: expected 2 or 3 dimensions, "
                           "and 1 to all of the last one")
    shape.sizes[x.ndim - 1] = k
    return 0


cdef int moe_init_routing(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1:
    """(rows, width): a row for each token and each of its experts, at most active_num tokens."""
    require_matrix(x, "x")
    require_matrix(expert_idx, "expert_idx")
    if active_num < 0:
        raise RuntimeError(f"active_num is {active_num}, expected 0 or more")
    return matrix_of_sizes(shape, min(x.sizes[0], active_num) * expert_idx.sizes[1], x.sizes[1])


cdef int moe_row_indices(Shape *shape, TensorBase tensor) except -1:
    """(n,) for the number of elements."""
    shape.ndim = 1
    shape.sizes[0] = tensor.numel
    return 0


cdef int moe_permute(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1:
    """(rows, width): a row for each index, or as many as `kept` says."""
    cdef int64_t rows = indices.numel
    require_matrix(tokens, "tokens")
    if kept.ndim and kept.sizes[0] != 0:        # as the end of a slice
        rows = max(0, min(rows, kept.sizes[0] if kept.sizes[0] > 0 else rows + kept.sizes[0]))
    return matrix_of_sizes(shape, rows, tokens.sizes[1])


cdef int moe_unpermute(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1:
    """(tokens, width): the rows of a token are added up, so there are fewer by the number of choices."""
    cdef int64_t choices = 1
    require_matrix(tokens, "permuted_tokens")
    if probs is not None:
        require_matrix(probs, "probs")
        choices = max(probs.sizes[1], 1)
    return matrix_of_sizes(shape, sorted_indices.numel // choices, tokens.sizes[1])


cdef int moe_token_grads(Shape *shape, TensorBase tokens, int64_t rows) except -1:
    """(rows, width of the tokens)."""
    require_matrix(tokens, "grad_permuted_tokens")
    return matrix_of_sizes(shape, rows, tokens.sizes[1])


cdef int npu_vector(Shape *shape, int64_t size) except -1:
    """(size,)."""
    shape.ndim = 1
    shape.sizes[0] = max(0, size)
    return 0


cdef int npu_grouped_rows(Shape *shape, TensorBase x, TensorBase weight) except -1:
    """(m, n) of (m, k) and a matrix (k, n) for each group of rows."""
    if x.ndim != 2 or weight.ndim != 3 or x.sizes[1] != weight.sizes[1]:
        raise RuntimeError(f"x and weight have the shapes {shape_text(x.ndim, x.sizes)} and "
                           f"{shape_text(weight.ndim, weight.sizes)}, expected (m, k) and (groups, k, n)")
    return matrix_of_sizes(shape, x.sizes[0], weight.sizes[2])


cdef int npu_grouped_columns(Shape *shape, TensorBase x, TensorBase weight, TensorBase group_list) except -1:
    """(groups, m, n) of (m, k) and (k, n), of which k is divided into groups."""
    if x.ndim != 2 or weight.ndim != 2 or x.sizes[1] != weight.sizes[0]:
        raise RuntimeError(f"x and weight have the shapes {shape_text(x.ndim, x.sizes)} and "
                           f"{shape_text(weight.ndim, weight.sizes)}, expected (m, k) and (k, n)")
    shape.ndim = 3
    shape.sizes[0], shape.sizes[1], shape.sizes[2] = group_list.numel, x.sizes[0], weight.sizes[1]
    return 0


cdef int npu_expanded_rows(Shape *shape, TensorBase x, TensorBase expert_idx) except -1:
    """(rows, width): a row for each token and each of its experts."""
    require_matrix(x, "x")
    require_matrix(expert_idx, "expert_idx")
    return matrix_of_sizes(shape, expert_idx.numel, x.sizes[1])


cdef int npu_expert_counts(Shape *shape, int64_t expert_num, const Shape *active, int64_t count_type) except -1:
    """(experts,) of the range `active`; (expert_num, 2) for pairs of an expert and its count."""
    if count_type == 2:
        return matrix_of_sizes(shape, max(0, expert_num), 2)
    return npu_vector(shape, active.sizes[1] - active.sizes[0] if active.ndim == 2 else expert_num)


cdef int box_pairs(Shape *shape, TensorBase boxes, TensorBase others) except -1:
    """(m, n) for m boxes and n others."""
    require_matrix(boxes, "bboxes")
    require_matrix(others, "gtboxes")
    return matrix_of_sizes(shape, boxes.sizes[0], others.sizes[0])


cdef int token_scales(Shape *shape, TensorBase tokens) except -1:
    """(*batch,) of (*batch, n): one number for each token. There must be two dimensions or more."""
    if tokens.ndim < 2:
        raise RuntimeError(f"input has {tokens.ndim} dimensions, expected 2 or more")
    like(shape, tokens)
    shape.ndim -= 1
    return 0


cdef int check_gamma(TensorBase input, TensorBase gamma) except -1:
    """gamma must have the shape of the input's last dimensions."""
    cdef int i, skipped = input.ndim - gamma.ndim
    for i in range(gamma.ndim):
        if skipped < 0 or gamma.sizes[i] != input.sizes[skipped + i]:
            raise RuntimeError(f"gamma has the shape {shape_text(gamma.ndim, gamma.sizes)}, which is not that of the "
                               f"last dimensions of {shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_rotary_mode(object mode) except -1:
    """The mode must be "half" or "interleave"."""
    if mode not in ("half", "interleave"):
        raise RuntimeError(f"rotary_mode is {mode!r}, expected half or interleave")
    return 0


cdef int check_not_none(TensorBase tensor, str name) except -1:
    """NotImplementedError where the argument `name` is None."""
    if tensor is None:
        raise NotImplementedError(f"{name} is None, which is not supported on npu")
    return 0


cdef int check_dropless(const Shape *drop_pad_mode) except -1:
    """NotImplementedError unless drop_pad_mode is 0."""
    if drop_pad_mode.ndim and drop_pad_mode.sizes[0]:
        raise NotImplementedError(f"drop_pad_mode {drop_pad_mode.sizes[0]} is not supported on npu: only 0 is")
    return 0


cdef int check_not_padded(bint padded_mode) except -1:
    """NotImplementedError where padded_mode is True."""
    if padded_mode:
        raise NotImplementedError("padded_mode is not supported on npu: only False is")
    return 0


cdef int check_none(TensorBase tensor, str name) except -1:
    """NotImplementedError unless the argument `name` is None."""
    if tensor is not None:
        raise NotImplementedError(f"{name} is not supported on npu: only None is")
    return 0


cdef int check_dynamic_quant(ScalarType dst_type, object quant_mode, double dst_type_max) except -1:
    """NotImplementedError unless the results are int8, with a scale for each token."""
    if dst_type != Undefined and dst_type != Char:
        raise NotImplementedError(f"dst_type {dtype_name(dst_type)} is not supported on npu: only Char is")
    if quant_mode != "pertoken":
        raise NotImplementedError(f"quant_mode {quant_mode!r} is not supported on npu: only 'pertoken' is")
    if dst_type_max:
        raise NotImplementedError("dst_type_max is not supported on npu: only 0.0 is")
    return 0
