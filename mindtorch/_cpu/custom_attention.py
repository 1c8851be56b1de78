"""CPU references of attention in one operator, over (batch, heads, length, width)."""
import numpy as np


def _shared(heads, query):
    """Each head of key or value once for every head of query that shares it."""
    return np.repeat(heads, query.shape[1] // heads.shape[1], axis=1)


def _scores(query, key, hidden, scale, next_tokens):
    """What the softmax is taken of: -inf where a query may not look."""
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * query.dtype.type(scale)
    if hidden is None:
        return scores
    places = np.arange(scores.shape[-2])[:, None]
    return np.where(hidden | (np.arange(scores.shape[-1]) > places + next_tokens), -np.inf, scores)


def _kept(weights, drop, keep):
    """What dropout leaves of the weights, of a mask of one bit each."""
    if drop is None:
        return weights
    bits = np.unpackbits(drop, count=weights.size, bitorder="little").reshape(weights.shape)
    return weights * bits / weights.dtype.type(keep)


def attention(query, key, value, hidden, drop, scale, keep, next_tokens):
    """The result, and eight times for each query the largest score and the sum of exponentials."""
    scores = _scores(query, _shared(key, query), hidden, scale, next_tokens)
    most = np.max(scores, axis=-1, keepdims=True)
    most = np.where(np.isneginf(most), 0, most)      # a query that may look nowhere
    weights = np.exp(scores - most)
    total = np.sum(weights, axis=-1, keepdims=True)
    weights = _kept(weights / np.where(total == 0, 1, total), drop, keep)
    result = np.matmul(weights, _shared(value, query))
    return result, np.repeat(most, 8, axis=-1), np.repeat(total, 8, axis=-1)


def attention_backward(grad, query, key, value, hidden, drop, most, total, result, scale, keep, next_tokens):
    """The gradients of query, key and value."""
    keys, values = _shared(key, query), _shared(value, query)
    total = np.where(total == 0, 1, total)[..., :1]
    weights = np.exp(_scores(query, keys, hidden, scale, next_tokens) - most[..., :1]) / total
    of_weights = _kept(np.matmul(grad, np.swapaxes(values, -1, -2)), drop, keep)
    common = np.sum(grad * result, axis=-1, keepdims=True)
    of_scores = weights * (of_weights - common) * query.dtype.type(scale)
    of_keys = np.matmul(np.swapaxes(of_scores, -1, -2), query)
    of_values = np.matmul(np.swapaxes(_kept(weights, drop, keep), -1, -2), grad)
    return np.matmul(of_scores, keys), _gathered(of_keys, key), _gathered(of_values, value)


def _gathered(grads, heads):
    """The sum over the heads of query that share one of key or value."""
    batch, count = heads.shape[:2]
    return np.sum(grads.reshape(batch, count, -1, *heads.shape[2:]), axis=2)
