"""Second derivatives of attention in one operator, with the weights computed once more."""
from mindtorch._ops.derivatives import ops


def _shared(heads, query):
    """Each head of key or value once for every head of query that shares it."""
    times = query.shape[1] // heads.shape[1]
    return heads if times == 1 else heads.repeat_interleave(times, 1)


def _gathered(grad, heads):
    """The sum over the heads of query that share one of key or value."""
    return grad if grad.shape == heads.shape else grad.unflatten(1, (heads.shape[1], -1)).sum(2)


def _weights(query, keys, hidden, scale, next_tokens):
    scores = ops.matmul(query * scale, keys.mT)
    if hidden is None:
        return scores.softmax(-1)
    rows = ops.arange(query.shape[2], device=query.device).unsqueeze(1)
    hidden = hidden | (ops.arange(keys.shape[2], device=query.device) > rows + next_tokens)
    # A query that may look nowhere has no weights.
    blind = hidden.all(-1, True)
    return scores.masked_fill(hidden & ~blind, float("-inf")).softmax(-1).masked_fill(blind, 0)


def attention_double_backward(grads, grad_output, query, key, value, hidden, drop, scale, keep, next_tokens):
    """Gradients of grad_output, query, key and value, from those of the gradients of query, key and value.

    With P the weights, M what dropout multiplies them by and G = M grad_output V': the gradient of the scores is
    D = P (G - sum(P G)), and what arrives there is X = scale (gq K' + Q gk'). The rest is the product rule over D, P
    and G.
    """
    def kept(weights):
        return weights if drop is None else ops._dropout(weights, drop, 1 - keep)
    keys, values = _shared(key, query), _shared(value, query)
    of_query, of_key, of_value = (ops.zeros_like(of) if grad is None else grad
                                  for grad, of in zip(grads, (query, key, value), strict=True))
    of_key, of_value = _shared(of_key, query), _shared(of_value, query)
    weights = _weights(query, keys, hidden, scale, next_tokens)
    of_weights = kept(ops.matmul(grad_output, values.mT))
    common = (weights * of_weights).sum(-1, True)
    of_scores = weights * (of_weights - common)
    arriving = scale * (ops.matmul(of_query, keys.mT) + ops.matmul(query, of_key.mT))
    mean = (weights * arriving).sum(-1, True)
    through = weights * (arriving - mean)
    direct = of_weights * (arriving - mean) - arriving * common + kept(ops.matmul(grad_output, of_value.mT))
    again = weights * (direct - (weights * direct).sum(-1, True))
    through = kept(through)
    return (ops.matmul(through, values) + ops.matmul(kept(weights), of_value),
            scale * (ops.matmul(again, keys) + ops.matmul(of_scores, of_key)),
            _gathered(scale * (ops.matmul(again.mT, query) + ops.matmul(of_scores.mT, of_query)), key),
            _gathered(ops.matmul(through.mT, grad_output), value))
