from mindtorch._core.infer cimport like
from mindtorch._core.loss_rules cimport check_halves, gated
from mindtorch._core.tensor cimport shape_text


cdef int gated_last(Shape *shape, TensorBase input) except -1:
    check_halves(input, -1)
    return gated(shape, input, input.ndim - 1)


cdef int deviations(Shape *shape, TensorBase input, TensorBase gamma) except -1:
    cdef int i
    like(shape, input)
    for i in range(input.ndim - gamma.ndim, input.ndim):
        shape.sizes[i] = 1
    return 0


cdef int two_dims(Shape *shape, int64_t rows, int64_t columns) except -1:
    shape.ndim = 2
    shape.sizes[0] = rows
    shape.sizes[1] = columns
    return 0


cdef int groups_of(Shape *shape, TensorBase input, int64_t groups) except -1:
    if input.ndim < 2 or groups <= 0 or input.sizes[1] % groups:
        raise RuntimeError(f"{groups} groups of channels in a tensor of shape {shape_text(input.ndim, input.sizes)}: "
                           "expected a divisor of its second dimension")
    return two_dims(shape, input.sizes[0], groups)


# --- a mixture of experts --------------------------------------------------------------------------------------------

cdef int require_matrix(TensorBase tensor, str name) except -1:
    if tensor.ndim != 2:
        raise RuntimeError(f"{name} has {tensor.ndim} dimensions, expected 2")
    return 0


cdef int chosen(Shape *shape, TensorBase x, int64_t k) except -1:
    like(shape, x)
    if not 2 <= x.ndim <= 3 or not 1 <= k <= x.sizes[x.ndim - 1]:
        raise RuntimeError(f"{k} experts of scores of shape {shape_text(x.ndim, x.sizes)}: expected 2 or 3 dimensions, "
                           "and 1 to all of the last one")
    shape.sizes[x.ndim - 1] = k
    return 0


cdef int routed(Shape *shape, TensorBase x, TensorBase expert_idx, int64_t active_num) except -1:
    require_matrix(x, "x")
    require_matrix(expert_idx, "expert_idx")
    if active_num < 0:
        raise RuntimeError(f"active_num is {active_num}, expected 0 or more")
    return two_dims(shape, min(x.sizes[0], active_num) * expert_idx.sizes[1], x.sizes[1])


cdef int places_of(Shape *shape, TensorBase tensor) except -1:
    shape.ndim = 1
    shape.sizes[0] = tensor.numel
    return 0


cdef int permuted(Shape *shape, TensorBase tokens, TensorBase indices, const Shape *kept) except -1:
    cdef int64_t rows = indices.numel
    require_matrix(tokens, "tokens")
    if kept.ndim and kept.sizes[0] != 0:        # as the end of a slice
        rows = max(0, min(rows, kept.sizes[0] if kept.sizes[0] > 0 else rows + kept.sizes[0]))
    return two_dims(shape, rows, tokens.sizes[1])


cdef int unpermuted(Shape *shape, TensorBase tokens, TensorBase sorted_indices, TensorBase probs) except -1:
    cdef int64_t choices = 1
    require_matrix(tokens, "permuted_tokens")
    if probs is not None:
        require_matrix(probs, "probs")
        choices = max(probs.sizes[1], 1)
    return two_dims(shape, sorted_indices.numel // choices, tokens.sizes[1])


cdef int rows_of_tokens(Shape *shape, TensorBase tokens, int64_t rows) except -1:
    require_matrix(tokens, "grad_permuted_tokens")
    return two_dims(shape, rows, tokens.sizes[1])


cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1:
    if tensor is not None:
        return like(shape, tensor)
    shape.ndim = 1
    shape.sizes[0] = 0
    return 0


# --- attention -------------------------------------------------------------------------------------------------------

cdef int attention_of(Shape *shape, TensorBase query, TensorBase key, TensorBase value, int64_t head_num) except -1:
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


cdef int attention_sums(Shape *shape, TensorBase query, int64_t head_num, object layout) except -1:
    cdef int batch = 1 if layout == "SBH" else 0
    cdef int length = {"BNSD": 2, "SBH": 0}.get(layout, 1)
    shape.ndim = 4
    shape.sizes[0] = query.sizes[batch]
    shape.sizes[1] = head_num
    shape.sizes[2] = query.sizes[length]
    shape.sizes[3] = 8
    return 0


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int check_gamma(TensorBase input, TensorBase gamma) except -1:
    cdef int i, skipped = input.ndim - gamma.ndim
    for i in range(gamma.ndim):
        if skipped < 0 or gamma.sizes[i] != input.sizes[skipped + i]:
            raise RuntimeError(f"gamma has the shape {shape_text(gamma.ndim, gamma.sizes)}, which is not that of the "
                               f"last dimensions of {shape_text(input.ndim, input.sizes)}")
    return 0


cdef int check_rotary(object mode) except -1:
    if mode not in ("half", "interleave"):
        raise RuntimeError(f"rotary_mode is {mode!r}, expected half or interleave")
    return 0


cdef int check_given(TensorBase tensor, str name) except -1:
    if tensor is None:
        raise NotImplementedError(f"{name} is None, which is not supported on npu")
    return 0


cdef int check_dropless(const Shape *drop_pad_mode) except -1:
    if drop_pad_mode.ndim and drop_pad_mode.sizes[0]:
        raise NotImplementedError(f"drop_pad_mode {drop_pad_mode.sizes[0]} is not supported on npu: only 0 is")
    return 0


cdef int check_not_padded(bint padded_mode) except -1:
    if padded_mode:
        raise NotImplementedError("padded_mode is not supported on npu: only False is")
    return 0


cdef int check_left_out(TensorBase tensor, str name) except -1:
    if tensor is not None:
        raise NotImplementedError(f"{name} is not supported on npu: only None is")
    return 0
